//! Any bytes as a JPEG, by each way from file to slot: no panic, no overflow, no byte out of bounds, no hang, and no
//! more memory than the declared size asks for.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pipetop::pipeline::infer::{Geometry, InputSpec};
use pipetop::pipeline::pixels::{PixelFormat, PixelsMut};
use pipetop::pipeline::preprocess::{Filter, Options, Preprocessor};
use std::cell::RefCell;

const SPEC: InputSpec = InputSpec {
    side: 64,
    geometry: Geometry::Crop { short_side: 73 },
    mean: [127.0; 3],
    std: [128.0; 3],
    format: PixelFormat::F32Nchw,
};

thread_local! {
    static STATE: RefCell<(Preprocessor, Vec<f32>)> =
        RefCell::new((Preprocessor::new(&SPEC, 1 << 18), vec![0.0; SPEC.values()]));
}

fuzz_target!(|bytes: &[u8]| {
    if !bytes.starts_with(&[0xff, 0xd8]) {
        return;
    }
    STATE.with_borrow_mut(|(preprocessor, out)| {
        let Ok(header) = preprocessor.header(bytes) else { return };
        for scaled in [true, false] {
            let options = Options { filter: Filter::Cubic, scaled };
            let _ = preprocessor.run(bytes, &header, options, PixelsMut::F32(out));
        }
    });
});
