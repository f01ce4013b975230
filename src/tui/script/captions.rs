//! Captions with figures in them: `{throughput} img/s on {engine}`.

use crate::profile::limit::{Limit, limit};
use crate::tui::app::App;
use crate::tui::format::rate;

/// What may stand in braces.
const NAMES: [&str; 6] = ["throughput", "limit", "input", "engine", "labels", "time"];

/// A caption as it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caption(String);

impl Caption {
    /// Reads a caption.
    ///
    /// # Errors
    /// Where what stands in braces is not known; the text says what is.
    pub(super) fn read(text: &str) -> Result<Self, String> {
        let mut rest = text;
        while let Some((_, after)) = rest.split_once('{') {
            let (name, after) = after.split_once('}').ok_or("a `{` is never closed")?;
            if !NAMES.contains(&name) {
                let all = NAMES.map(|name| format!("{{{name}}}")).join(", ");
                return Err(format!("`{{{name}}}` stands for nothing; what does: {all}"));
            }
            rest = after;
        }
        Ok(Self(text.to_owned()))
    }

    /// Whether it says nothing.
    pub(super) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The caption as it is to be shown now.
    pub fn say(&self, app: &App) -> String {
        let mut said = String::new();
        let mut rest = self.0.as_str();
        while let Some((before, after)) = rest.split_once('{') {
            let (name, after) = after.split_once('}').unwrap_or((after, ""));
            said.push_str(before);
            said.push_str(&figure(name, app));
            rest = after;
        }
        // Where nothing is synthetic, emulated or recorded, no empty brackets say so.
        (said + rest).replace(" ()", "")
    }
}

fn figure(name: &str, app: &App) -> String {
    let Some(snapshot) = app.snapshot() else { return "—".to_owned() };
    match name {
        "throughput" => rate(app.window().and_then(|window| window.throughput())),
        "limit" => match app.history().verdict().map(|window| limit(&window)) {
            Some(Limit::Stage(stage)) => stage.to_string(),
            Some(Limit::Input) => "input".to_owned(),
            Some(Limit::Measuring) | None => "—".to_owned(),
        },
        "input" => snapshot.run.input.name.clone(),
        "engine" => snapshot.run.engine.name.clone(),
        "labels" => snapshot.label_words().join(", "),
        _ => format!("{:.1} s", snapshot.at as f64 / 1e9),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use ratatui::layout::Rect;

    use super::*;
    use crate::profile::snapshot::{EngineInfo, Label, LabelWord, RunInfo, Snapshot};
    use crate::tui::event::Event;

    #[test]
    fn what_stands_in_braces_is_told_as_it_is_now() {
        let caption =
            Caption::read("on {engine} ({labels}): {throughput} img/s, {limit} limits").unwrap();
        let mut app = App::default();
        assert_eq!(caption.say(&app), "on — (—): — img/s, — limits");
        let engine = EngineInfo { name: "emulated 90 img/s".into(), ..EngineInfo::default() };
        let run = Arc::new(RunInfo { engine, sample_hz: 10.0, ..RunInfo::default() });
        for second in 0..3 {
            let mut snapshot = Snapshot { run: Arc::clone(&run), ..Snapshot::empty() };
            snapshot.at = second * 1_000_000_000;
            snapshot.items.predicted = second * 250;
            snapshot.labels = vec![Label { word: LabelWord::Emulated, what: "engine".into() }];
            app.handle(Event::Snapshot(Arc::new(snapshot)), Rect::ZERO);
        }
        let said = caption.say(&app);
        assert!(said.starts_with("on emulated 90 img/s (emulated): 250"), "{said}");
    }

    #[test]
    fn unknown_figures_are_refused_with_those_that_there_are() {
        assert!(Caption::read("{speed}").unwrap_err().contains("{throughput}"));
        assert!(Caption::read("{engine").unwrap_err().contains("never closed"));
    }
}
