//! The past as it is cut into windows and columns.

use super::*;
use crate::profile::snapshot::Items;

const TICK: Nanos = SECOND / 10;

/// A snapshot after `tick` samples of a run that predicts 100 images a second.
fn snapshot(tick: u64, epoch: u32) -> Snapshot {
    Snapshot {
        at: tick * TICK,
        epoch,
        items: Items { predicted: tick * 10, ..Items::default() },
        ..Snapshot::empty()
    }
}

fn history(ticks: impl IntoIterator<Item = u64>) -> History {
    let mut history = History::default();
    ticks.into_iter().for_each(|tick| history.push(Arc::new(snapshot(tick, 0))));
    history
}

fn seconds(history: &History, length: Length) -> f64 {
    history.window(length).unwrap().seconds()
}

#[test]
fn windows_have_the_length_asked_for_or_what_there_is() {
    let long = history(0..1000);
    assert!((seconds(&long, Length::Second) - 1.0).abs() < 1e-9);
    assert!((seconds(&long, Length::FiveSeconds) - 5.0).abs() < 0.31);
    assert!((seconds(&long, Length::HalfMinute) - 30.0).abs() < 0.31);
    assert!((long.whole().unwrap().seconds() - 99.9).abs() < 1e-9);
    let short = history(0..3);
    assert!((seconds(&short, Length::HalfMinute) - 0.2).abs() < 1e-9);
    assert!(history(0..1).window(Length::Second).is_none());
    assert!(history([]).latest().is_none());
}

#[test]
fn a_change_starts_its_own_window() {
    let mut history = history(0..100);
    assert!((seconds(&history, Length::SinceChange) - 9.9).abs() < 1e-9);
    (100..120).for_each(|tick| history.push(Arc::new(snapshot(tick, 1))));
    assert!((seconds(&history, Length::SinceChange) - 1.9).abs() < 1e-9);
}

/// A run that predicts `batch` images every `every` ticks.
fn in_batches(batch: u64, every: u64, ticks: u64) -> History {
    let mut history = History::default();
    for tick in 0..ticks {
        let mut snapshot = snapshot(tick, 0);
        snapshot.items.predicted = tick / every * batch;
        snapshot.knobs.set(KnobId::InferBatch, KnobValue::Int(batch));
        history.push(Arc::new(snapshot));
    }
    history
}

#[test]
fn the_default_window_holds_two_batches() {
    // 32 images every 1.5 s: a second may hold none of them.
    for ticks in 100..120 {
        let slow = in_batches(32, 15, ticks);
        let window = slow.window(Length::Second).unwrap();
        assert!(window.seconds() < 4.3, "{}", window.seconds());
        let rate = window.throughput().unwrap();
        assert!((14.0..33.0).contains(&rate), "{rate} img/s in {} s", window.seconds());
    }
    let slow = in_batches(32, 15, 115);
    let long = seconds(&slow, Length::Second);
    assert_eq!(slow.length_name(Length::Second), format!("{long:.0} s"));
    assert!((seconds(&in_batches(8, 1, 100), Length::Second) - 1.0).abs() < 1e-9);
}

#[test]
fn a_verdict_speaks_of_no_time_before_the_latest_change() {
    let mut history = history(0..100);
    let change = KnobChange {
        at: 100 * TICK,
        epoch: 1,
        knob: "infer.batch".into(),
        from: "8".into(),
        to: "16".into(),
    };
    let mut lengths = Vec::new();
    for tick in 100..130 {
        let changes = Arc::new(vec![change.clone()]);
        history.push(Arc::new(Snapshot { changes, ..snapshot(tick, 1) }));
        lengths.push(history.verdict().unwrap().seconds());
    }
    // Nothing has come out since it shows: what was before still holds.
    assert!((lengths[2] - 1.0).abs() < 1e-9 && (lengths[8] - 0.5).abs() < 1e-9);
    assert!((lengths[20] - 1.0).abs() < 1e-9, "{lengths:?}");
}

#[test]
fn nothing_grows() {
    let mut history = History::default();
    // A thousand samples a second for a while, then the usual ten.
    for at in (0..20_000).map(|i| i * 1_000_000).chain((201..9000).map(|i| i * TICK)) {
        history.push(Arc::new(Snapshot { at, ..snapshot(0, 0) }));
        assert!(history.recent.len() <= MOST_SNAPSHOTS && history.older.len() <= MOST_SNAPSHOTS);
        assert!(history.points.len() <= MOST_POINTS);
    }
    assert!(history.older.len() + history.recent.len() < 150);
}

#[test]
fn a_missed_stretch_is_a_gap_and_a_late_sample_is_none() {
    let mut history = history((0..98).chain(160..200));
    let columns = history.columns(Series::Throughput, 20, 20 * SECOND);
    let drawn: String = columns.iter().map(|c| if c.is_some() { '#' } else { ' ' }).collect();
    assert_eq!(drawn, "##########      ####");
    let second = columns[5].unwrap();
    assert!((second - 100.0).abs() < 1e-6, "{second}");
    // Columns narrower than the distance of samples have no holes.
    history.push(Arc::new(snapshot(200, 0)));
    let fine = history.columns(Series::Throughput, 40, 2 * SECOND);
    assert!(fine.iter().all(Option::is_some), "{fine:?}");
}

#[test]
fn a_chart_moves_by_whole_columns() {
    let mut history = history(0..300);
    let before = history.columns(Series::Throughput, 30, 15 * SECOND);
    history.push(Arc::new(snapshot(300, 0)));
    let after = history.columns(Series::Throughput, 30, 15 * SECOND);
    assert_eq!(before[1..], after[..29]);
}

#[test]
fn another_run_starts_anew() {
    let mut history = history(0..100);
    history.push(Arc::new(snapshot(3, 0)));
    assert!(history.window(Length::HalfMinute).is_none());
    assert_eq!(history.points.len(), 1);
}

#[test]
fn changes_fall_into_the_columns_of_their_time() {
    let mut history = history(0..100);
    let change = |at| KnobChange {
        at,
        epoch: 1,
        knob: "infer.batch".into(),
        from: "8".into(),
        to: "16".into(),
    };
    let mut last = snapshot(100, 1);
    last.changes = Arc::new(vec![change(SECOND / 2), change(19 * SECOND / 2)]);
    history.push(Arc::new(last));
    let columns = |n: usize, span| -> Vec<usize> {
        history.marks(n, span).into_iter().map(|(column, _)| column).collect()
    };
    assert_eq!(columns(11, 11 * SECOND), [0, 9]);
    assert_eq!(columns(5, 5 * SECOND), [3], "the older one has left the chart");
    assert_eq!(history.columns(Series::Throughput, 0, SECOND), []);
}

#[test]
fn the_past_of_what_snapshots_hold_can_be_told_by_columns() {
    let long = history(0..1000);
    for columns in [7, 60, 200] {
        let windows = long.column_windows(columns, 60 * SECOND);
        assert_eq!(windows.len(), columns);
        for window in windows {
            let rate = window.unwrap().throughput().unwrap();
            assert!((rate - 100.0).abs() < 1e-6, "{rate} in one of {columns}");
        }
    }
    let young = history(0..200);
    let young = young.column_windows(60, 60 * SECOND);
    assert_eq!(young.iter().filter(|window| window.is_some()).count(), 20);
    let torn = history((0..300).chain(400..500));
    let torn = torn.column_windows(60, 60 * SECOND);
    let drawn: String = torn.iter().map(|c| if c.is_some() { '#' } else { ' ' }).collect();
    assert_eq!(
        drawn.trim_start(),
        format!("{}{}{}", "#".repeat(30), " ".repeat(10), "#".repeat(10))
    );
    assert_eq!(history([]).column_windows(3, SECOND).len(), 3);
}
