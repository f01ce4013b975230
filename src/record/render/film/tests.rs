use super::*;

fn header() -> Header {
    Header::new(2, 8, 2)
}

fn at(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn out(millis: u64, text: &str) -> Timed {
    Timed { at: at(millis), event: Event::Output(text.to_owned()) }
}

fn mark(millis: u64, label: &str) -> Timed {
    Timed { at: at(millis), event: Event::Marker(label.to_owned()) }
}

/// What each frame shows on its first row, and when it begins.
fn seen(film: &Film) -> Vec<(u128, String)> {
    let line = |grid: &Grid| grid.text().lines().next().unwrap_or_default().to_owned();
    film.frames.iter().map(|frame| (frame.at.as_millis(), line(&frame.grid))).collect()
}

fn cut(events: &[Timed], cutting: &Cutting) -> Film {
    film(&header(), events, cutting).unwrap()
}

#[test]
fn changes_become_frames_and_the_rest_does_not() {
    let events = [
        out(500, "\u{1b}[?25l"),
        out(1000, "a"),
        out(1003, "b"),
        mark(1200, "here"),
        out(1500, "\u{1b}[m"),
        out(2000, "c"),
        Timed { at: at(2500), event: Event::Exit(0) },
    ];
    let film = cut(&events, &Cutting::default());
    assert_eq!(seen(&film), [(0, "ab".into()), (1000, "abc".into())]);
    assert_eq!(film.length, at(1500));
    let shown: Vec<_> = film.shown().map(|(_, time)| time.as_millis()).collect();
    assert_eq!(shown, [1000, 500]);
    assert_eq!(film.size(), (8, 2));
}

#[test]
fn no_more_frames_than_wanted_and_the_last_state_is_never_lost() {
    let events: Vec<_> = (0..=100).map(|n| out(n * 10, &format!("\r{n}\u{1b}[?25l"))).collect();
    let film = cut(&events, &Cutting { fps: 10.0, ..Cutting::default() });
    let frames = seen(&film);
    assert!((10..=12).contains(&frames.len()), "{frames:?}");
    for pair in frames.windows(2) {
        // Whatever changed last is seen when the film ends, at the latest.
        assert!(pair[1].0 - pair[0].0 >= 100 || pair[1].0 == 1000, "{frames:?}");
    }
    assert_eq!(frames.last().unwrap().1, "100");
    // A frame shows what was there when it begins, give or take what comes together.
    for (time, text) in &frames {
        let n: u128 = text.parse().unwrap();
        assert!((n * 10).abs_diff(*time) <= 10, "{text} at {time}");
    }
}

#[test]
fn idle_time_is_cut_and_the_rest_made_faster() {
    let events = [out(0, "\u{1b}[?25la"), out(10_000, "b"), out(10_500, "c"), out(12_500, "d")];
    let limit = Some(at(1000));
    let film = cut(&events, &Cutting { idle_limit: limit, speed: 2.0, ..Cutting::default() });
    let times: Vec<_> = seen(&film).iter().map(|(time, _)| *time).collect();
    assert_eq!(times, [0, 500, 750, 1250]);
    assert_eq!(film.length, at(1250));
}

#[test]
fn a_part_is_cut_out_by_time_or_marker() {
    let events = [
        out(0, "\u{1b}[?25la"),
        out(1000, "b"),
        mark(1500, "two"),
        out(2000, "c"),
        out(3000, "d"),
        mark(3500, "end"),
        out(4000, "e"),
    ];
    let part = |from: &str, to: &str| Cutting {
        from: Some(from.parse().unwrap()),
        to: Some(to.parse().unwrap()),
        ..Cutting::default()
    };
    let film = cut(&events, &part("two", "end"));
    assert_eq!(seen(&film), [(0, "ab".into()), (500, "abc".into()), (1500, "abcd".into())]);
    assert_eq!(film.length, at(2000));
    let film = cut(&events, &part("1", "2s"));
    assert_eq!(seen(&film), [(0, "ab".into()), (1000, "abc".into())]);
    let error = super::film(&header(), &events, &part("three", "4")).unwrap_err();
    assert_eq!(
        error.to_string(),
        "there is no marker \"three\" in the cast; it has \"two\", \"end\""
    );
    let error = super::film(&header(), &events, &part("3", "1")).unwrap_err();
    assert_eq!(error.to_string(), "nothing is left between 3s and 1s");

    let text = |place: Option<&str>| {
        let place = place.map(|place| place.parse().unwrap());
        still(&header(), &events, place.as_ref()).unwrap().text()
    };
    assert_eq!(text(Some("1.9")), "ab\n\n");
    assert_eq!(text(Some("end")), "abcd\n\n");
    assert_eq!(text(None), "abcde\n\n");
}

#[test]
fn half_a_frame_is_never_shown() {
    let events = [
        out(0, "\u{1b}[?25la"),
        out(1000, "\u{1b}[?2026hb"),
        out(1400, "c"),
        out(1500, "d\u{1b}[?2026l"),
        out(2000, "e"),
    ];
    let film = cut(&events, &Cutting::default());
    assert_eq!(seen(&film), [(0, "a".into()), (1000, "abcd".into()), (2000, "abcde".into())]);
    let grid = still(&header(), &events, Some(&Place::At(at(1200)))).unwrap();
    assert_eq!(grid.text(), "abcd\n\n");
}

#[test]
fn resizing_is_followed_and_a_screen_too_large_refused() {
    let resize = |cols, rows| Timed { at: at(1000), event: Event::Resize { cols, rows } };
    let events = [out(0, "\u{1b}[?25la"), resize(12, 3), out(1001, "\u{1b}[3;12Hx")];
    let film = cut(&events, &Cutting::default());
    assert_eq!(film.size(), (12, 3));
    assert_eq!(film.frames[1].grid.text(), "a\n\n           x\n");
    let error = super::film(&header(), &[resize(12, 1001)], &Cutting::default()).unwrap_err();
    assert!(error.to_string().contains("12×1001 is too large"));
}

#[test]
fn an_empty_cast_is_an_empty_screen() {
    let film = cut(&[], &Cutting::default());
    assert_eq!((film.frames.len(), film.length), (1, Duration::ZERO));
}
