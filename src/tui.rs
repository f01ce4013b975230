//! The live dashboard: it sees nothing but [`Snapshot`](crate::profile::snapshot::Snapshot)s and gives
//! out nothing but [`Command`](crate::pipeline::knobs::Command)s.
//!
//! ```text
//! keys, mouse, resize ─┐
//!                      ├─► Event ─► App::handle ─► Effect (a command, suspend, quit)
//! snapshots ───────────┘             │
//!                                    └─ App ─► layout (pure) ─► screens ─► widgets ─► frame
//! ```
//!
//! Drawing never changes anything, and where a click lands is told by the same pure layout that the
//! drawing used.

pub mod advice;
pub mod app;
pub mod capture;
pub mod event;
pub mod feed;
pub mod format;
mod input;
pub mod keymap;
pub mod layout;
pub mod pace;
pub mod readings;
pub mod reel;
pub mod run;
pub mod screens;
pub mod script;
pub mod table;
pub mod terminal;
pub mod theme;
pub mod unseen;
pub mod widgets;

pub use feed::Feed;
pub use run::{Exit, Left, Options, TuiError, run, run_unseen};
pub use theme::{ColorChoice, ascii_wanted};
