//! Batches by hand: what leaves when, and where each picture lies.

use super::*;
use crate::pipeline::infer::Geometry;
use crate::pipeline::pixels::{Pictures, PixelFormat};

const VALUES: usize = 3;

/// Pictures of one pixel.
const INPUT: InputSpec = InputSpec {
    side: 1,
    geometry: Geometry::Squash,
    mean: [0.0; 3],
    std: [1.0; 3],
    format: PixelFormat::F32Nchw,
};

fn batches(capacity: usize, size: usize, max_delay_ms: u64) -> Batches {
    let delay = Duration::from_millis(max_delay_ms);
    Batches::new(&Registry::default(), &INPUT, capacity, size, delay)
}

/// Fills a reserved slot with the image's own number.
fn fill(mut reservation: Reservation<'_>, index: u64) {
    match reservation.pixels() {
        PixelsMut::F32(values) => values.fill(index as f32),
        PixelsMut::U8(values) => values.fill(index as u8),
    }
    reservation.fill(Item { index, ..Item::default() });
}

fn put(batches: &Batches, index: u64) {
    fill(batches.reserve().unwrap(), index);
}

/// The numbers of a batch's images, each found in its own slot.
fn numbers(popped: Popped<Batch>) -> Vec<u64> {
    let Popped::Item(batch) = popped else { panic!("no batch: {popped:?}") };
    let values = batch.pixels.view().floats().unwrap();
    for (slot, item) in batch.items.iter().enumerate() {
        for value in &values[slot * VALUES..][..VALUES] {
            assert!((value - item.index as f32).abs() < f32::EPSILON, "{value} in slot {slot}");
        }
    }
    batch.items.iter().map(|item| item.index).collect()
}

#[test]
fn a_full_batch_leaves_whatever_the_order_of_filling() {
    let batches = batches(2, 3, 10_000);
    let (a, b, c) =
        (batches.reserve().unwrap(), batches.reserve().unwrap(), batches.reserve().unwrap());
    fill(c, 2);
    fill(a, 0);
    assert_eq!(batches.track().ready, 0);
    fill(b, 1);
    assert_eq!(batches.track().ready, 1);
    assert_eq!(numbers(batches.pop(|| true)), [0, 1, 2]);
}

#[test]
fn a_failed_image_gives_its_slot_back_to_the_same_batch() {
    let batches = batches(2, 2, 10_000);
    let (a, b) = (batches.reserve().unwrap(), batches.reserve().unwrap());
    drop(a);
    fill(b, 1);
    put(&batches, 7);
    assert_eq!(numbers(batches.pop(|| true)), [7, 1]);
    assert_eq!(batches.track().depth, 0);
}

#[test]
fn the_last_pictures_move_into_the_holes_of_a_sealed_batch() {
    let batches = batches(2, 5, 10_000);
    let mut slots: Vec<_> = (0..5).map(|_| Some(batches.reserve().unwrap())).collect();
    for index in [1, 3, 4] {
        fill(slots[index].take().unwrap(), index as u64);
    }
    batches.close();
    assert_eq!(batches.track().ready, 0, "two reservations are open");
    drop(slots);
    assert_eq!(numbers(batches.pop(|| true)), [4, 1, 3]);
    assert_eq!(batches.pop(|| true), Popped::Closed);
    assert_eq!(batches.reserve().err(), Some(NoSlot::Closed));
}

impl PartialEq for Batch {
    fn eq(&self, other: &Self) -> bool {
        self.items == other.items
    }
}

#[test]
fn a_batch_that_waited_long_enough_is_sealed_by_whoever_waits_for_it() {
    let batches = batches(2, 8, 30);
    let start = clock::now();
    put(&batches, 1);
    let late = batches.reserve().unwrap();
    std::thread::scope(|scope| {
        let popper = scope.spawn(|| numbers(batches.pop(|| true)));
        std::thread::sleep(Duration::from_millis(60));
        // Sealed, but this one still belongs to it; a new one does not.
        put(&batches, 9);
        fill(late, 2);
        assert_eq!(popper.join().unwrap(), [1, 2]);
    });
    assert!(clock::now() - start >= 30_000_000);
    assert_eq!(numbers(batches.pop(|| true)), [9]);
}

#[test]
fn a_new_size_seals_and_each_batch_keeps_its_own() {
    let batches = batches(4, 4, 10_000);
    put(&batches, 0);
    put(&batches, 1);
    batches.set_size(2);
    put(&batches, 2);
    put(&batches, 3);
    assert_eq!(batches.size_in_force(), 4);
    assert_eq!(numbers(batches.pop(|| true)), [0, 1]);
    assert_eq!(numbers(batches.pop(|| true)), [2, 3]);
    assert_eq!(batches.size_in_force(), 2);
}

#[test]
fn a_capacity_below_the_depth_drops_nothing() {
    let batches = batches(3, 1, 10_000);
    (0..3).for_each(|index| put(&batches, index));
    batches.set_capacity(1);
    std::thread::scope(|scope| {
        let pusher = scope.spawn(|| put(&batches, 3));
        for index in 0..3 {
            assert!(!pusher.is_finished(), "there was no room yet");
            assert_eq!(numbers(batches.pop(|| true)), [index]);
        }
        pusher.join().unwrap();
    });
    assert_eq!(numbers(batches.pop(|| true)), [3]);
}

#[test]
fn kept_batches_are_taken_again_until_it_is_switched_off() {
    let batches = batches(8, 2, 10_000);
    batches.set_replay(true);
    (0..6).for_each(|index| put(&batches, index));
    assert_eq!(numbers(batches.pop(|| true)), [0, 1]);
    assert!(!batches.is_replaying());
    assert_eq!(numbers(batches.pop(|| true)), [2, 3]);
    assert!(batches.is_replaying());
    for _ in 0..10 {
        let Popped::Item(batch) = batches.pop(|| true) else { panic!("nothing to take again") };
        assert!(batch.replayed && batch.items.len() == 2 && batch.items[0].index < 4);
    }
    batches.set_replay(false);
    assert_eq!(numbers(batches.pop(|| true)), [4, 5]);
}

#[test]
fn a_buffer_is_filled_again_but_not_while_somebody_reads_it() {
    let batches = batches(2, 2, 10_000);
    put(&batches, 0);
    put(&batches, 1);
    let Popped::Item(batch) = batches.pop(|| true) else { panic!("no batch") };
    let address = batch.pixels.view().floats().unwrap().as_ptr();
    batches.recycle(Arc::clone(&batch.pixels));
    put(&batches, 2);
    put(&batches, 3);
    let Popped::Item(second) = batches.pop(|| true) else { panic!("no batch") };
    assert_ne!(
        second.pixels.view().floats().unwrap().as_ptr(),
        address,
        "the first batch is still read"
    );
    batches.recycle(batch.pixels);
    put(&batches, 4);
    put(&batches, 5);
    let Popped::Item(third) = batches.pop(|| true) else { panic!("no batch") };
    assert_eq!(third.pixels.view().floats().unwrap().as_ptr(), address);
}

#[test]
fn a_batch_whose_images_all_failed_makes_room() {
    let batches = batches(1, 2, 10_000);
    let (a, b) = (batches.reserve().unwrap(), batches.reserve().unwrap());
    batches.set_size(4);
    drop(a);
    drop(b);
    assert_eq!(batches.track().depth, 0);
    put(&batches, 1);
    assert_eq!(batches.track().depth, 1);
}
