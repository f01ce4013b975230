//! Sweeps: the pipeline measured at each value of a knob, and what the figures say together.
//!
//! ```text
//! --over, --work ─► Plan ─► conduct ─► Sweep ─► Curve ─► screen · text · CSV · JSON · SVG
//!                            │  ▲
//!                  set knobs ▼  │ snapshots
//!                           pipeline
//! ```
//!
//! | module | what |
//! |---|---|
//! | [`axis`] | a knob and the values that it visits, as written after `--over` |
//! | [`work`] | named knob settings: one curve each |
//! | [`statistics`] | a mean with its confidence interval, from correlated slices |
//! | [`meter`] | one point: warm-up, slices, enough |
//! | [`sweep`] | all points with what was measured: what everybody else looks at |
//! | [`conduct`] | turns the knobs, one point after another |
//! | [`fit`] | the laws of Amdahl and Gunther, fitted |
//! | [`curve`] | one work's points with speed-up, ideal and fits |
//! | [`say`] | what a curve shows, in a sentence |

pub mod axis;
pub mod conduct;
pub mod curve;
pub mod fit;
pub mod meter;
pub mod say;
pub mod statistics;
pub mod sweep;
pub mod work;
