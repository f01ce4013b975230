//! pipetop: a live dashboard profiler for image-inference pipelines.
//!
//! One ring, one direction:
//!
//! ```text
//!            Command (set a knob, stop)
//!  ┌──────────────────────────────────────────────────────────────────┐
//!  ▼                                                                  │
//! pipeline ─ threads write their own cells ─► probe ─► profile ─► Snapshot ─► tui · report
//! load → preprocess → infer → decode → respond
//! ```
//!
//! | room | its duty |
//! |---|---|
//! | [`probe`] | clocks, histograms, thread states, instrumented locks and queues, GPUs |
//! | [`pipeline`] | the measured stages, their knobs, the queues between them |
//! | [`profile`] | sampling into snapshots, windows between them, the stage that limits |
//! | [`tune`] | sweeps over knobs: points with confidence intervals, the laws of scaling |
//! | [`export`] | the final report: text, JSON; a sweep's: text, CSV, JSON, SVG, PNG |
//! | [`record`] | saved streams of snapshots, asciicasts of the screen, pictures and films of casts |
//! | [`tui`] | the live dashboard |
//! | [`cli`], [`config`] | the command line and the config file, settled into one run's settings |
//! | [`commands`] | what each subcommand does with all of this |
//!
//! A room uses only rooms above it in this table; [`export`] and [`tui`] do not know of each other.

pub mod cli;
pub mod commands;
pub mod config;
pub mod export;
pub mod pipeline;
pub mod probe;
pub mod profile;
pub mod record;
pub mod tui;
pub mod tune;
