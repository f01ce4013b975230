//! Replays and recordings of them: what a person sees, what a cast shows, what comes out twice.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "support/frame.rs"]
mod frame;
#[path = "support/saved.rs"]
mod saved;
#[path = "support/scenario.rs"]
#[expect(dead_code, reason = "other tests use the rest")]
mod scenario;

#[path = "record/casts.rs"]
mod casts;
#[path = "record/replays.rs"]
mod replays;
#[path = "record/scripts.rs"]
mod scripts;
