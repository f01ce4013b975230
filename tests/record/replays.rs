//! The player on a clock that is turned by hand, and what the screen shows of it.

use std::sync::Arc;

use pipetop::pipeline::knobs::{Command, KnobError, KnobId, KnobValue};
use pipetop::profile::snapshot::Snapshot;
use pipetop::record::player::{Player, Steer};
use pipetop::record::stream::Stream;
use pipetop::tui::ColorChoice;
use pipetop::tui::app::{App, Effect};
use pipetop::tui::event::{Event, Pointer};
use pipetop::tui::layout::layout;
use pipetop::tui::theme::Theme;
use pipetop::tui::widgets::time_bar;
use ratatui::crossterm::event::{KeyCode, KeyEvent};
use ratatui::layout::{Position, Rect};

use crate::frame::{draw, styled, text};
use crate::saved::Saved;
use crate::scenario;

const SECOND: u64 = 1_000_000_000;
const SIZE: (u16, u16) = (120, 36);

fn run() -> Vec<Arc<Snapshot>> {
    scenario::preprocess_limited().snapshots()
}

fn at(player: &Player) -> u64 {
    player.playback().at
}

/// What the screen shows of a replay as it stands.
fn shown(player: &Player) -> String {
    let mut app = App::default();
    app.show(player.history().clone(), player.playback());
    styled(&draw(&app, &Theme::new(ColorChoice::Indexed, false), SIZE))
}

#[test]
fn it_plays_at_its_speed_and_stops_at_its_end() {
    let saved = Saved::new(&run());
    for (speed, seconds) in [(1.0, 2), (4.0, 8), (0.25, 0)] {
        let mut player = saved.player(speed, false);
        let first = at(&player);
        player.advance(5 * SECOND);
        assert!(player.advance(7 * SECOND));
        let gone = at(&player) - first;
        assert!(gone.abs_diff((speed * 2e9) as u64) <= SECOND / 10, "{gone} at {speed}");
        assert_eq!(gone / SECOND, seconds, "at {speed}");
    }
    let mut player = saved.player(16.0, false);
    player.advance(0);
    player.advance(60 * SECOND);
    assert!(player.is_over());
    assert_eq!(at(&player), player.playback().to);
    player.steer(Steer::Toggle);
    assert_eq!(at(&player), player.playback().from, "played again, it begins anew");
    assert!(player.is_playing());
}

#[test]
fn a_stream_that_was_read_in_is_played_from_its_start() {
    let saved = Saved::new(&run());
    let mut stream = Stream::open(&saved.path).unwrap();
    while stream.next_chunk().unwrap().is_some() {}
    let player = Player::new(stream, 1.0, false).unwrap();
    assert_eq!(player.history().latest().unwrap().at, run()[0].at);
}

#[test]
fn a_loop_begins_again() {
    let mut player = Saved::new(&run()).player(16.0, true);
    player.advance(0);
    player.advance(3 * SECOND);
    assert!(player.is_playing() && !player.is_over());
    assert_eq!(at(&player), player.playback().from);
}

/// Whatever way led to a moment, the same is on the screen.
#[test]
fn a_moment_looks_the_same_played_sought_and_stepped_to() {
    let saved = Saved::new(&run());
    let mut played = saved.player(1.0, false);
    played.advance(0);
    let mut sought = saved.player(1.0, false);
    sought.steer(Steer::To(40 * SECOND));
    sought.steer(Steer::Toggle);
    for tenths in (4..400).step_by(37) {
        let moment = tenths * SECOND / 10;
        played.advance(moment - played.playback().from);
        let mut fresh = saved.player(1.0, false);
        fresh.steer(Steer::To(moment));
        sought.steer(Steer::To(moment + SECOND));
        (0..10).for_each(|_| sought.steer(Steer::Step(-1)));
        let snapshots =
            [&played, &fresh, &sought].map(|player| format!("{:?}", player.history().latest()));
        assert!(snapshots.iter().all(|snapshot| *snapshot == snapshots[0]), "at {moment}");
        let bars = |shown: String| shown.replace("‖", "▶");
        assert_eq!(bars(shown(&fresh)), bars(shown(&played)), "at {moment}");
        // Its bar says that it stands still, in another style.
        let lines = |shown: &str| shown.lines().take(34).map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(lines(&shown(&sought)), lines(&shown(&played)), "at {moment}");
    }
}

#[test]
fn steps_are_single_samples_and_hold_the_replay() {
    let run = run();
    let mut player = Saved::new(&run).player(1.0, false);
    player.steer(Steer::To(run[200].at));
    player.steer(Steer::Step(1));
    assert_eq!(at(&player), run[201].at);
    player.steer(Steer::Step(-1));
    player.steer(Steer::Step(-1));
    assert_eq!(at(&player), run[199].at);
    assert!(!player.is_playing());
    player.steer(Steer::Jump(-5));
    assert_eq!(at(&player), run[149].at);
    player.steer(Steer::Jump(120));
    assert_eq!(at(&player), run[399].at);
    player.steer(Steer::Start);
    assert_eq!(at(&player), run[0].at);
}

#[test]
fn speeds_go_from_a_quarter_to_sixteen() {
    let mut player = Saved::new(&run()).player(1.0, false);
    (0..9).for_each(|_| player.steer(Steer::Faster));
    assert!((player.playback().speed - 16.0).abs() < 1e-9);
    (0..9).for_each(|_| player.steer(Steer::Slower));
    assert!((player.playback().speed - 0.25).abs() < 1e-9);
}

fn app(player: &Player) -> App {
    let mut app = App::default();
    app.show(player.history().clone(), player.playback());
    app
}

#[test]
fn a_click_on_the_time_bar_goes_there_and_a_drag_goes_on() {
    let player = Saved::new(&run()).player(1.0, false);
    let mut app = app(&player);
    let area = Rect::new(0, 0, SIZE.0, SIZE.1);
    let bar = layout(area, &app).time_bar.unwrap();
    let line = time_bar::line(bar);
    let playback = player.playback();
    let mut pointed = |pointer, x, y| app.handle(Event::Mouse(pointer, Position::new(x, y)), area);
    let to = |at| Effect::Play(Steer::To(at));
    assert_eq!(pointed(Pointer::Press, line.right() - 1, line.y), to(playback.to));
    assert_eq!(pointed(Pointer::Drag, 0, 3), to(playback.from));
    pointed(Pointer::Release, 0, 3);
    assert_eq!(pointed(Pointer::Drag, line.x + 9, line.y), Effect::None);
}

#[test]
fn the_keys_of_a_replay_steer_it_and_its_knobs_say_why_they_do_not_turn() {
    let player = Saved::new(&run()).player(1.0, false);
    let mut app = app(&player);
    let area = Rect::new(0, 0, SIZE.0, SIZE.1);
    let mut key = |code| app.handle(Event::Key(KeyEvent::from(code)), area);
    for (code, steer) in [
        (KeyCode::Char(' '), Steer::Toggle),
        (KeyCode::Char('.'), Steer::Step(1)),
        (KeyCode::Char('<'), Steer::Jump(-5)),
        (KeyCode::Char('}'), Steer::Faster),
    ] {
        assert_eq!(key(code), Effect::Play(steer));
    }
    let Effect::Send(command) = key(KeyCode::Right) else { panic!("the key is tried") };
    let Command::Set(id, value) = command else { panic!("{command:?}") };
    assert_eq!(id, KnobId::PreprocessThreads);
    let before = app.live().unwrap().knob(id);
    let error =
        KnobError::Refused { knob: id.spec().name, value: value.to_string(), reason: "a replay" };
    app.refused(&command, &error);
    assert_eq!((app.knob(id), value), (Some(before), KnobValue::Int(2)));
}

#[test]
fn a_replay_says_that_it_is_one_on_every_screen_and_at_every_size() {
    let mut player = Saved::new(&run()).player(2.0, false);
    player.steer(Steer::To(30 * SECOND));
    for size in [(60, 16), (80, 24), (120, 36), (200, 60)] {
        for screen in ['1', '2', '3', '4'] {
            let mut app = app(&player);
            let area = Rect::new(0, 0, size.0, size.1);
            app.handle(Event::Key(KeyEvent::from(KeyCode::Char(screen))), area);
            let shown = text(&draw(&app, &Theme::new(ColorChoice::Indexed, false), size));
            assert!(shown.contains(" recorded"), "{size:?} {screen}\n{shown}");
            let bar = shown.lines().nth(usize::from(size.1) - 2).unwrap();
            assert!(
                bar.contains("2×") && bar.contains("00:00:30") && bar.contains("00:00:40"),
                "{bar}"
            );
            assert!(bar.contains('●') && bar.contains('┊'), "the knob's turn: {bar}");
        }
    }
}
