//! Saved runs: what was written comes back, whatever becomes of the file.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "support/scenario.rs"]
#[expect(dead_code, reason = "other tests use the rest")]
mod scenario;

use std::path::PathBuf;
use std::sync::Arc;

use pipetop::export::report::Report;
use pipetop::pipeline::knobs::{KnobId, KnobValue};
use pipetop::profile::snapshot::{Label, LabelWord, Metric, Snapshot};
use pipetop::profile::window::Window;
use pipetop::record::stream::write::Encoder;
use pipetop::record::stream::{Figures, OpenError, Stream};
use tempfile::TempDir;

const MIB: u64 = 1 << 20;

/// Snapshots of all kinds of runs, one after another as if they were one.
fn runs() -> Vec<Vec<Arc<Snapshot>>> {
    vec![
        scenario::preprocess_limited().snapshots(),
        scenario::with_failures().snapshots(),
        scenario::lock_limited().snapshots(),
        scenario::many_threads(64).snapshots(),
        scenario::missing_values(),
        scenario::bare(),
        scenario::gpus::on_gpu(scenario::gpus::Kind::Two),
        scenario::gpus::on_gpu(scenario::gpus::Kind::Lost),
    ]
}

fn figures(run: &[Arc<Snapshot>]) -> Figures {
    let at = |index: usize| Arc::clone(&run[index]);
    Figures { warm: at(run.len() / 5), end: at(run.len() - 2), done: at(run.len() - 1) }
}

fn saved(run: &[Arc<Snapshot>], limit: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut encoder = Encoder::begin(&mut bytes, limit).unwrap();
    for snapshot in run {
        encoder.push(snapshot).unwrap();
    }
    encoder.end(&figures(run)).unwrap();
    bytes
}

/// A file in a folder that goes with it.
struct Saved(PathBuf, #[expect(dead_code, reason = "it is removed when this goes")] TempDir);

impl Saved {
    fn new(bytes: &[u8]) -> Self {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("run.pipetop");
        std::fs::write(&path, bytes).unwrap();
        Self(path, folder)
    }

    fn open(&self) -> Result<Stream, OpenError> {
        Stream::open(&self.0)
    }
}

fn all(stream: &mut Stream) -> Vec<Arc<Snapshot>> {
    let mut all = Vec::new();
    while let Some(chunk) = stream.next_chunk().unwrap() {
        all.extend(chunk);
    }
    all
}

/// As it is when it comes from a file.
fn recorded(snapshot: &Snapshot) -> String {
    let mut snapshot = snapshot.clone();
    snapshot.labels.push(Label { word: LabelWord::Recorded, what: "run".to_owned() });
    format!("{snapshot:?}")
}

#[test]
fn every_snapshot_comes_back_as_it_was() {
    for run in runs() {
        let mut stream = Saved::new(&saved(&run, 64 * MIB)).open().unwrap();
        assert_eq!(stream.notices(), [""; 0]);
        assert_eq!(stream.count(), run.len() as u64);
        assert_eq!(stream.span(), (run[0].at, run[run.len() - 1].at));
        let back = all(&mut stream);
        assert_eq!(back.len(), run.len());
        for (back, snapshot) in back.iter().zip(&run) {
            assert_eq!(format!("{back:?}"), recorded(snapshot));
        }
        let figures = stream.figures().unwrap();
        assert_eq!(format!("{:?}", figures.end), recorded(&run[run.len() - 2]));
    }
}

#[test]
fn a_seek_begins_at_a_key_no_later_than_asked_for() {
    let run = scenario::preprocess_limited().snapshots();
    let mut stream = Saved::new(&saved(&run, 64 * MIB)).open().unwrap();
    for seconds in [0, 5, 11, 25, 39, 4000] {
        let at = seconds * 1_000_000_000;
        stream.seek(at);
        let chunk = stream.next_chunk().unwrap().unwrap();
        let first = &chunk[0];
        assert!(first.at <= at.max(run[0].at), "{} for {at}", first.at);
        assert!(at.min(40_000_000_000) < first.at + 11_000_000_000, "{} for {at}", first.at);
        let same = run.iter().find(|snapshot| snapshot.at == first.at).unwrap();
        assert_eq!(format!("{first:?}"), recorded(same));
    }
}

/// Wherever it is cut, what stands whole before the cut can be read.
#[test]
fn a_file_that_is_cut_off_opens_up_to_its_last_whole_chunk() {
    let run = &scenario::preprocess_limited().snapshots()[..60];
    let whole = saved(run, 64 * MIB);
    let mut counts = Vec::new();
    for length in (0..whole.len()).step_by(97).chain([whole.len() - 1]) {
        match Saved::new(&whole[..length]).open() {
            Ok(mut stream) => {
                let back = all(&mut stream);
                assert_eq!(back.len() as u64, stream.count());
                for (back, snapshot) in back.iter().zip(run) {
                    assert_eq!(back.at, snapshot.at);
                }
                let notices = stream.notices().join("\n");
                assert!(notices.contains("cut off") || notices.contains("not ended"), "{notices}");
                counts.push(back.len());
            }
            Err(OpenError::Foreign(_)) => assert!(length < 12),
            Err(OpenError::Empty(_)) => assert!(length < 9000, "{length}"),
            Err(error) => panic!("{error}"),
        }
    }
    assert!(counts.is_sorted() && counts.last() == Some(&60), "{counts:?}");
}

#[test]
fn damage_is_told_and_what_is_before_it_is_there() {
    let run = &scenario::preprocess_limited().snapshots()[..60];
    let mut bytes = saved(run, 64 * MIB);
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x10;
    let mut stream = Saved::new(&bytes).open().unwrap();
    let notices = stream.notices().join("\n");
    assert!(notices.contains("damaged at byte"), "{notices}");
    assert!(!all(&mut stream).is_empty());
}

#[test]
fn what_is_no_saved_run_is_named() {
    for (bytes, part) in [
        (&b""[..], "not a saved run"),
        (b"{\"version\": 3}", "not a saved run"),
        (b"PIPETOP\0\x01\0\0\0", "no snapshot"),
    ] {
        let error = Saved::new(bytes).open().unwrap_err().to_string();
        assert!(error.contains(part) && error.contains("run.pipetop"), "{error}");
    }
    let mut later = saved(&scenario::starting().snapshots(), MIB * 8);
    later[8] = 9;
    let error = Saved::new(&later).open().unwrap_err().to_string();
    let version = env!("CARGO_PKG_VERSION");
    assert!(error.contains("format 9"), "{error}");
    assert!(error.contains(&format!("written by pipetop {version}")), "{error}");
}

#[test]
fn a_full_stream_counts_what_it_drops_and_still_has_the_report() {
    let run = scenario::preprocess_limited().snapshots();
    let whole = saved(&run, 64 * MIB);
    let limit = MIB + whole.len() as u64 / 2;
    let bytes = saved(&run, limit);
    assert!(bytes.len() < whole.len() && bytes.len() as u64 <= limit);
    let mut stream = Saved::new(&bytes).open().unwrap();
    let kept = all(&mut stream).len() as u64;
    assert!(kept > 20 && kept < 400, "{kept}");
    let notices = stream.notices().join("\n");
    assert!(notices.contains(&format!("{} of 400 snapshots", 400 - kept)), "{notices}");
    assert_eq!(stream.figures().unwrap().done.at, run[399].at);
}

/// A stream is small: a key is some kilobytes, and what follows it a few hundred bytes a snapshot.
#[test]
fn differences_are_small() {
    let run = scenario::preprocess_limited().snapshots();
    let bytes = saved(&run, 64 * MIB);
    let each = bytes.len() / run.len();
    assert!(each < 1200, "{each} bytes a snapshot");
}

fn kept(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/streams").join(name)
}

/// A run that was saved in the first version of the format: it opens, and says what it said then.
#[test]
fn a_run_saved_in_version_1_says_what_it_said() {
    let mut stream = Stream::open(&kept("v1.pipetop")).unwrap();
    assert_eq!((stream.program(), stream.count()), ("0.1.0", 143));
    assert_eq!(stream.notices(), [""; 0]);
    let all = all(&mut stream);
    assert_eq!(all.len(), 143);
    assert!(all.is_sorted_by_key(|snapshot| snapshot.at));
    let Figures { warm, end, done } = stream.figures().unwrap().clone();
    assert_eq!((done.items.predicted, done.items.failed), (74_761, 12_460));
    assert_eq!(done.items.failed_items[0].name, "tests/data/answers.json");
    let changes: Vec<_> = done.changes.iter().map(|c| (c.knob.as_str(), c.to.as_str())).collect();
    assert_eq!(changes, [("preprocess.lock", "none"), ("preprocess.threads", "4")]);
    assert_eq!(done.knob(KnobId::PreprocessThreads), KnobValue::Int(4));
    assert_eq!(done.label_words(), ["emulated", "recorded"]);
    let report = serde_json::to_value(Report::new(&warm, &end, &done)).unwrap();
    let was = std::fs::read_to_string(kept("v1.json")).unwrap();
    let was: serde_json::Value = serde_json::from_str(&was).unwrap();
    // Whatever the report had then it has still; it may have more.
    for (key, value) in was.as_object().unwrap() {
        has(&report[key], value, key);
    }
}

/// That all of an older value is in a newer one.
fn has(new: &serde_json::Value, old: &serde_json::Value, at: &str) {
    use serde_json::Value;
    match (new, old) {
        (Value::Object(new), Value::Object(old)) => {
            for (key, value) in old {
                has(new.get(key).unwrap_or(&Value::Null), value, &format!("{at}.{key}"));
            }
        }
        (Value::Array(new), Value::Array(old)) => {
            assert_eq!(new.len(), old.len(), "{at}");
            for (index, (new, old)) in new.iter().zip(old).enumerate() {
                has(new, old, &format!("{at}.{index}"));
            }
        }
        _ => assert_eq!(new, old, "{at}"),
    }
}

/// The same with GPUs in it, of a made-up run.
#[test]
fn gpus_saved_in_version_1_are_there() {
    let mut stream = Stream::open(&kept("v1-gpus.pipetop")).unwrap();
    let all = all(&mut stream);
    assert_eq!(all.len(), 30);
    let last = &all[29];
    assert_eq!(last.gpus.len(), 2);
    let names: Vec<_> = last.gpus.iter().map(|gpu| gpu.facts.name.as_str()).collect();
    assert_eq!(names, ["NVIDIA H200"; 2]);
    assert!(last.gpus[0].value(Metric::SmOccupancy).is_some());
    let window = Window::between(&all[0], last);
    assert!(window.gpu(0).unwrap().mean(Metric::Busy).is_some());
}

/// Wrote the file of the test above; a new version of the format gets files of its own.
#[test]
#[ignore = "writes a file that is kept"]
fn write_the_gpus_of_this_version() {
    let run = scenario::gpus::on_gpu(scenario::gpus::Kind::Two);
    let name = format!("v{}-gpus.pipetop", pipetop::record::stream::VERSION);
    std::fs::write(kept(&name), saved(&run[..30], 64 * MIB)).unwrap();
}
