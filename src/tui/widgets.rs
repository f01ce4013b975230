//! The parts of the screens, one file each: `render(frame, state, …, area)`, which never changes anything.

pub mod bar;
pub mod big;
pub mod caption;
pub mod chart;
pub mod entry;
pub mod failures;
pub mod footer;
pub mod gpu;
pub mod heads;
pub mod knobs;
pub mod lengths;
pub mod machine;
pub mod note;
pub mod panel;
pub mod pipeline;
pub mod plots;
pub mod queues;
pub mod stack;
pub mod threads;
pub mod time_bar;
pub mod title;
pub mod verdict;
