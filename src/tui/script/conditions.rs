//! What a script can wait for, told from what the screen knows.

use crate::pipeline::Stage;
use crate::probe::clock::Nanos;
use crate::profile::limit::{Limit, limit};
use crate::profile::snapshot::{Phase, Snapshot};
use crate::tui::app::App;

const SECOND: Nanos = 1_000_000_000;
/// Steady is what differs by no more than this share in three seconds.
const STEADY: f64 = 0.1;

/// Something that may be so.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Condition {
    /// Images come out.
    Running,
    /// This limits the throughput.
    Limit(Limit),
    /// The throughput of each of the last three seconds is about the same.
    Steady,
    /// The throughput is above so many images a second.
    Above(f64),
    /// The throughput is below so many images a second.
    Below(f64),
}

/// What can be waited for, for messages.
pub(super) const CONDITIONS: &str =
    "running, limit STAGE, limit input, throughput steady, throughput above N, throughput below N";

impl Condition {
    /// Reads a condition; the error says what there is.
    pub(super) fn read(text: &str) -> Result<Self, String> {
        let words: Vec<_> = text.split_whitespace().collect();
        let read = match words[..] {
            ["running"] => Some(Self::Running),
            ["limit", "input"] => Some(Self::Limit(Limit::Input)),
            ["limit", name] => {
                let stage = Stage::ALL.into_iter().find(|stage| stage.name() == name);
                stage.map(|stage| Self::Limit(Limit::Stage(stage)))
            }
            ["throughput", "steady"] => Some(Self::Steady),
            ["throughput", "above", rate] => rate.parse().ok().map(Self::Above),
            ["throughput", "below", rate] => rate.parse().ok().map(Self::Below),
            _ => None,
        };
        read.ok_or_else(|| {
            format!("`{text}` cannot be waited for; what can be: {CONDITIONS} (stages: load, preprocess, infer, decode, respond)")
        })
    }

    /// Whether it is so.
    pub(super) fn holds(self, app: &App) -> bool {
        let rate = || app.window().and_then(|window| window.throughput());
        match self {
            Self::Running => app.snapshot().is_some_and(|now| now.phase == Phase::Running),
            Self::Limit(wanted) => {
                let verdict = app.history().verdict();
                let running = verdict.filter(|window| window.to().phase == Phase::Running);
                running.is_some_and(|window| limit(&window) == wanted)
            }
            Self::Steady => steady(app),
            Self::Above(least) => rate().is_some_and(|rate| rate > least),
            Self::Below(most) => rate().is_some_and(|rate| rate < most),
        }
    }
}

/// Whether the last three seconds, none of them before the last turn of a knob, had about the same
/// throughput.
fn steady(app: &App) -> bool {
    let Some(now) = app.snapshot() else { return false };
    let turned = now.changes.last().map_or(0, |change| change.at);
    if now.at < turned + 3 * SECOND + SECOND / 2 {
        return false;
    }
    let near = |at: Nanos| {
        let kept = app.history().kept().filter(|snapshot| snapshot.at.abs_diff(at) < SECOND);
        kept.min_by_key(|snapshot| snapshot.at.abs_diff(at))
    };
    let edges: Option<Vec<&Snapshot>> = (0..4).map(|back| near(now.at - back * SECOND)).collect();
    let Some(edges) = edges else { return false };
    let rates: Vec<f64> = edges
        .windows(2)
        .map(|pair| {
            let images = pair[0].items.predicted.saturating_sub(pair[1].items.predicted);
            images as f64 / (pair[0].at.saturating_sub(pair[1].at)).max(1) as f64
        })
        .collect();
    let (least, most) =
        (rates.iter().copied().fold(f64::MAX, f64::min), rates.iter().copied().fold(0.0, f64::max));
    least > 0.0 && most - least <= STEADY * most
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_are_read_and_others_refused_with_what_there_is() {
        assert_eq!(
            Condition::read("limit preprocess"),
            Ok(Condition::Limit(Limit::Stage(Stage::Preprocess)))
        );
        assert_eq!(Condition::read("limit input"), Ok(Condition::Limit(Limit::Input)));
        assert_eq!(Condition::read(" throughput  steady"), Ok(Condition::Steady));
        assert_eq!(Condition::read("throughput above 120.5"), Ok(Condition::Above(120.5)));
        for bad in ["", "limit", "limit gpu", "throughput above", "throughput above fast", "steady"]
        {
            assert!(Condition::read(bad).unwrap_err().contains("throughput steady"), "{bad}");
        }
    }
}
