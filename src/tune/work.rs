//! Works: named settings of knobs, each of which becomes a curve of its own.

use crate::pipeline::knobs::{KnobError, KnobId, KnobValue, KnobValues, nearest};

/// A work as data.
#[derive(Debug)]
pub struct WorkSpec {
    /// What it is called on the command line and in files.
    pub name: &'static str,
    /// What a legend says.
    pub title: &'static str,
    /// Its settings, as after `--set`.
    pub settings: &'static [&'static str],
}

/// All works, in the order of the help.
pub const WORKS: &[WorkSpec] = &[
    WorkSpec {
        name: "native",
        title: "native threads, no GIL",
        settings: &["preprocess.work=image", "preprocess.gil=off"],
    },
    WorkSpec {
        name: "gil-release",
        title: "GIL released during the native work",
        settings: &["preprocess.work=image", "preprocess.gil=release"],
    },
    WorkSpec {
        name: "gil-hold",
        title: "GIL held through the native work",
        settings: &["preprocess.work=image", "preprocess.gil=hold"],
    },
    WorkSpec {
        name: "loop-hold",
        title: "pure-Python loop holding the GIL",
        settings: &["preprocess.work=loop", "preprocess.gil=hold"],
    },
    WorkSpec {
        name: "lock-pool",
        title: "one mutex around each image",
        settings: &["preprocess.work=image", "preprocess.gil=off", "preprocess.lock=pool"],
    },
];

/// A work of a sweep.
#[derive(Clone, Debug, PartialEq)]
pub struct Work {
    /// What it is called on the command line and in files.
    pub name: String,
    /// What a legend says.
    pub title: String,
    /// The knobs that it sets; all others stay as the sweep's.
    pub settings: Vec<(KnobId, KnobValue)>,
}

/// No work of that name.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("no work is named `{name}`{}; works: {}", hint(near.as_deref()), names())]
pub struct WorkError {
    name: String,
    near: Option<String>,
}

fn hint(near: Option<&str>) -> String {
    near.map_or_else(String::new, |near| format!(" (did you mean `{near}`?)"))
}

fn names() -> String {
    WORKS.iter().map(|work| work.name).collect::<Vec<_>>().join(", ")
}

impl Work {
    /// The knobs as the sweep has them: the only curve where no work was named.
    pub fn as_set() -> Self {
        Self { name: "as-set".into(), title: "as set".into(), settings: Vec::new() }
    }

    /// The work of a name.
    ///
    /// # Errors
    /// Where there is none; the nearest is named.
    pub fn by_name(name: &str) -> Result<Self, WorkError> {
        let found = WORKS.iter().find(|work| work.name == name.trim());
        let spec = found.ok_or_else(|| WorkError {
            name: name.to_owned(),
            near: nearest(name, WORKS.iter().map(|work| work.name)),
        })?;
        let settings = spec.settings.iter().filter_map(|text| setting(text).ok());
        Ok(Self {
            name: spec.name.to_owned(),
            title: spec.title.to_owned(),
            settings: settings.collect(),
        })
    }

    /// The knobs of a point: the sweep's with the work's and then `more` on top.
    pub fn knobs(&self, base: &KnobValues, more: &[(KnobId, KnobValue)]) -> KnobValues {
        let mut knobs = base.clone();
        for &(id, value) in self.settings.iter().chain(more) {
            knobs.set(id, value);
        }
        knobs
    }
}

fn setting(text: &str) -> Result<(KnobId, KnobValue), KnobError> {
    let mut knobs = KnobValues::defaults(1);
    let id = knobs.set_from(text)?;
    Ok((id, knobs.get(id)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_work_sets_knobs_that_there_are() {
        for spec in WORKS {
            for text in spec.settings {
                assert!(setting(text).is_ok(), "{}: {text}", spec.name);
            }
            let work = Work::by_name(spec.name).unwrap();
            assert_eq!(work.settings.len(), spec.settings.len());
        }
    }

    #[test]
    fn a_mistyped_work_is_told_the_nearest() {
        let error = Work::by_name("nativ").unwrap_err().to_string();
        assert!(error.contains("did you mean `native`?") && error.contains("lock-pool"), "{error}");
    }

    #[test]
    fn a_point_has_the_sweeps_knobs_with_the_works_on_top() {
        let base = KnobValues::defaults(4);
        let work = Work::by_name("lock-pool").unwrap();
        let threads = (KnobId::PreprocessThreads, KnobValue::Int(9));
        let knobs = work.knobs(&base, &[threads]);
        assert_eq!(knobs.get(KnobId::PreprocessLock).to_string(), "pool");
        assert_eq!(knobs.get(KnobId::PreprocessThreads), KnobValue::Int(9));
        assert_eq!(knobs.get(KnobId::InferBatch), base.get(KnobId::InferBatch));
    }
}
