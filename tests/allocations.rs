//! Once warm, preprocessing allocates nothing: an own allocator counts what each thread asks for.

#![expect(unsafe_code, reason = "an allocator is unsafe to write")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use pipetop::pipeline::infer::{Geometry, InputSpec, builtin};
use pipetop::pipeline::pixels::{PixelFormat, PixelsMut};
use pipetop::pipeline::preprocess::{Filter, MAX_PIXELS, Options, Preprocessor};

/// The system's allocator, counting.
struct Counting;

thread_local! {
    // Without a destructor and made at compile time: reading it allocates nothing.
    static ASKED: Cell<u64> = const { Cell::new(0) };
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

// SAFETY: all is left to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ASKED.set(ASKED.get() + 1);
        // SAFETY: the caller's.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: the caller's.
        unsafe { System.dealloc(memory, layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ASKED.set(ASKED.get() + 1);
        // SAFETY: the caller's.
        unsafe { System.realloc(memory, layout, size) }
    }
}

const PHOTOS: [&[u8]; 6] = [
    include_bytes!("data/abstract-spiral_3.jpg"),
    include_bytes!("data/canyon-wren_1.jpg"),
    include_bytes!("data/lake-sherburne_3.jpg"),
    include_bytes!("data/oakland-zoo-otters_0.jpg"),
    include_bytes!("data/roman-colosseum_2.jpg"),
    include_bytes!("data/tea-gardens_3.jpg"),
];

/// Allocations of this thread while `work` runs.
fn asked(work: impl FnOnce()) -> u64 {
    let before = ASKED.get();
    work();
    ASKED.get() - before
}

#[test]
fn the_counter_counts() {
    assert_eq!(asked(|| drop(std::hint::black_box(Vec::<u8>::with_capacity(9)))), 1);
    assert_eq!(asked(|| ()), 0);
}

#[test]
#[cfg_attr(not(target_arch = "x86_64"), ignore = "the general JPEG decoder allocates")]
fn nothing_is_allocated_for_photos_once_the_buffers_are_there() {
    for format in PixelFormat::ALL {
        for geometry in [Geometry::Crop { short_side: 256 }, Geometry::Squash] {
            let spec = InputSpec { format, geometry, ..builtin::INPUT };
            for scaled in [false, true] {
                let mut preprocessor = Preprocessor::new(&spec, MAX_PIXELS);
                let (mut floats, mut bytes) = (vec![0.0; spec.values()], vec![0; spec.values()]);
                let mut all = |filter| {
                    for photo in PHOTOS {
                        let out = if format == PixelFormat::U8Nhwc {
                            PixelsMut::U8(&mut bytes)
                        } else {
                            PixelsMut::F32(&mut floats)
                        };
                        let header = preprocessor.header(photo).expect("a photo");
                        let options = Options { filter, scaled };
                        preprocessor.run(photo, &header, options, out).expect("a photo");
                    }
                };
                // Buffers change places between pictures: all of them have grown after a few.
                for _ in 0..3 {
                    Filter::ALL.into_iter().for_each(&mut all);
                }
                let count = asked(|| Filter::ALL.into_iter().for_each(&mut all));
                assert_eq!(count, 0, "{} of {format}, scaled {scaled}", spec.framing());
            }
        }
    }
}
