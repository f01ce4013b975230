//! The text of a script.

use std::fmt::Display;
use std::ops::Range;
use std::time::Duration;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::conditions::Condition;
use super::{Act, Caption, Step, When, keys};
use crate::pipeline::knobs::{KnobValues, nearest};
use crate::probe::clock::Nanos;
use crate::tui::screens::Screen;

/// How long a condition may take to come to be.
const TIMEOUT: Nanos = 10_000_000_000;

/// The keys of a step, in the order in which they act.
const KEYS: [&str; 11] =
    ["at", "when", "timeout", "optional", "screen", "key", "seek", "set", "caption", "wait", "end"];

/// What is wrong, and where in the text.
pub(super) struct Fault {
    pub(super) at: Range<usize>,
    pub(super) message: String,
}

impl Fault {
    fn new(at: Range<usize>, message: impl Display) -> Self {
        Self { at, message: message.to_string() }
    }
}

type Key<'a> = Spanned<std::borrow::Cow<'a, str>>;
type Field<'a> = Spanned<DeValue<'a>>;

/// Reads all steps.
pub(super) fn steps(text: &str, replay: bool) -> Result<Vec<Step>, Fault> {
    let table = DeTable::parse(text).map_err(|error| {
        Fault::new(error.span().unwrap_or(0..0), format!("no TOML: {}", error.message()))
    })?;
    let mut steps = Vec::new();
    for (key, value) in table.get_ref() {
        let DeValue::Array(list) = value.get_ref() else {
            return Err(Fault::new(key.span(), outside(key.get_ref())));
        };
        if key.get_ref() != "step" {
            return Err(Fault::new(key.span(), outside(key.get_ref())));
        }
        for step in list {
            let DeValue::Table(fields) = step.get_ref() else {
                return Err(Fault::new(step.span(), "a step begins with a line [[step]]"));
            };
            steps.push(one(fields, step.span(), replay)?);
        }
    }
    if steps.is_empty() {
        return Err(Fault::new(0..0, "there is no step in it: a step begins with a line [[step]]"));
    }
    Ok(steps)
}

fn outside(name: &str) -> String {
    format!("`{name}` belongs to no step: a script is steps alone, each under a line [[step]]")
}

fn one(fields: &DeTable<'_>, at: Range<usize>, replay: bool) -> Result<Step, Fault> {
    for (key, _) in fields {
        let name = key.get_ref().as_ref();
        if !KEYS.contains(&name) {
            let near = nearest(name, KEYS.into_iter());
            let near = near.map_or_else(String::new, |near| format!(" (did you mean `{near}`?)"));
            let all = KEYS.join(", ");
            return Err(Fault::new(
                key.span(),
                format!("a step has no `{name}`{near}; it has: {all}"),
            ));
        }
    }
    let field = |name: &str| fields.get_key_value(name);
    let when = when(&field)?;
    let mut acts = Vec::new();
    if let Some((_, value)) = field("screen") {
        acts.push(Act::Screen(screen(value)?));
    }
    if let Some((_, value)) = field("key") {
        acts.extend(pressed(value)?);
    }
    if let Some((key, value)) = field("seek") {
        if !replay {
            return Err(Fault::new(
                key.span(),
                "a live run cannot be sought through: a replay can",
            ));
        }
        acts.push(Act::Seek(seconds(value)?));
    }
    if let Some((key, value)) = field("set") {
        if replay {
            return Err(Fault::new(key.span(), "the knobs of a replay stand as they were"));
        }
        let mut values = KnobValues::defaults(1);
        let set = values.set_from(text(value)?);
        let id = set.map_err(|error| Fault::new(value.span(), error))?;
        acts.push(Act::Set(id, values.get(id)));
    }
    if let Some((_, value)) = field("caption") {
        let caption = Caption::read(text(value)?.trim());
        let caption = caption.map_err(|error| Fault::new(value.span(), error))?;
        acts.push(Act::Caption(Some(caption).filter(|caption| !caption.is_empty())));
    }
    let wait = field("wait").map_or(Ok(0), |(_, value)| seconds(value))?;
    if field("end").map_or(Ok(false), |(_, value)| yes(value))? {
        acts.push(Act::End);
    }
    // The line of its first key says more than that of its brackets.
    let line_at = fields.keys().map(|key| key.span().start).min().unwrap_or(at.start);
    if acts.is_empty() && wait == 0 {
        return Err(Fault::new(line_at..line_at, "the step does nothing"));
    }
    Ok(Step { at: line_at, when, acts, wait })
}

fn when<'a>(field: &impl Fn(&str) -> Option<(&'a Key<'a>, &'a Field<'a>)>) -> Result<When, Fault> {
    let timeout =
        field("timeout").map(|(key, value)| seconds(value).map(|s| (key, s))).transpose()?;
    let optional =
        field("optional").map(|(key, value)| yes(value).map(|o| (key, o))).transpose()?;
    match (field("at"), field("when")) {
        (Some(_), Some((key, _))) => {
            Err(Fault::new(key.span(), "a step has `at` or `when`, not both"))
        }
        (None, Some((_, value))) => {
            let words = text(value)?.to_owned();
            let condition =
                Condition::read(&words).map_err(|error| Fault::new(value.span(), error))?;
            let timeout = timeout.map_or(TIMEOUT, |(_, timeout)| timeout);
            let optional = optional.is_some_and(|(_, optional)| optional);
            Ok(When::Is { condition, words, timeout, optional })
        }
        (at, None) => {
            if let Some(key) = timeout.map(|(key, _)| key).or(optional.map(|(key, _)| key)) {
                return Err(Fault::new(key.span(), "it means something beside `when` alone"));
            }
            at.map_or(Ok(When::Next), |(_, value)| Ok(When::At(seconds(value)?)))
        }
    }
}

fn screen(value: &Field<'_>) -> Result<Screen, Fault> {
    let name = text(value)?;
    let found = Screen::ALL.into_iter().find(|screen| screen.name().eq_ignore_ascii_case(name));
    found.ok_or_else(|| {
        let all: Vec<_> = Screen::ALL.iter().map(|screen| screen.name().to_lowercase()).collect();
        Fault::new(
            value.span(),
            format!("no screen is named `{name}`; screens: {}", all.join(", ")),
        )
    })
}

fn pressed(value: &Field<'_>) -> Result<Vec<Act>, Fault> {
    let key = |value: &Field<'_>| {
        let key = keys::read(text(value)?).map_err(|error| Fault::new(value.span(), error))?;
        Ok(Act::Key(key))
    };
    match value.get_ref() {
        DeValue::Array(list) => list.iter().map(key).collect(),
        _ => Ok(vec![key(value)?]),
    }
}

fn text<'a>(value: &'a Field<'_>) -> Result<&'a str, Fault> {
    match value.get_ref() {
        DeValue::String(text) => Ok(text),
        _ => Err(Fault::new(value.span(), "it takes a text in quotes")),
    }
}

fn yes(value: &Field<'_>) -> Result<bool, Fault> {
    match value.get_ref() {
        DeValue::Boolean(yes) => Ok(*yes),
        _ => Err(Fault::new(value.span(), "it takes true or false")),
    }
}

/// Seconds, from 0 to a day.
fn seconds(value: &Field<'_>) -> Result<Nanos, Fault> {
    let number = match value.get_ref() {
        DeValue::Integer(number) => number.as_str().replace('_', "").parse::<f64>().ok(),
        DeValue::Float(number) => number.as_str().replace('_', "").parse().ok(),
        _ => None,
    };
    let number = number.filter(|number| (0.0..=86_400.0).contains(number));
    let number = number.ok_or_else(|| Fault::new(value.span(), "it takes seconds, as in 2.5"))?;
    Ok(Duration::from_secs_f64(number).as_nanos() as Nanos)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use ratatui::crossterm::event::{KeyCode, KeyEvent};

    use super::super::Script;
    use super::*;
    use crate::pipeline::knobs::{KnobId, KnobValue};

    #[test]
    fn a_step_may_do_many_things_in_one_order() {
        let text = "[[step]]\ncaption = 'on'\nkey = ['2', 'space']\nscreen = 'Locks'\nset = 'infer.batch=4'\nend = true\n";
        let steps = steps(text, false).ok().unwrap();
        let key = |code| Act::Key(KeyEvent::from(code));
        let expected = [
            Act::Screen(Screen::Locks),
            key(KeyCode::Char('2')),
            key(KeyCode::Char(' ')),
            Act::Set(KnobId::InferBatch, KnobValue::Int(4)),
            Act::Caption(Caption::read("on").ok()),
            Act::End,
        ];
        assert_eq!(steps[0].acts, expected);
    }

    #[test]
    fn faults_name_file_line_and_what_there_is() {
        let error = |text: &str, replay| {
            Script::parse(text, Path::new("d/demo.toml"), replay).unwrap_err().to_string()
        };
        for (text, replay, expected) in [
            ("", false, "d/demo.toml:1: there is no step"),
            (
                "[[step]]\nwait = 1\n\n[[step]]\nscren = '2'\n",
                false,
                "d/demo.toml:5: a step has no `scren` (did you mean `screen`?)",
            ),
            ("[[step]]\nkey = 'spcae'", false, "d/demo.toml:2: no key is named `spcae`"),
            (
                "[[step]]\nscreen = 'gpus'",
                false,
                "d/demo.toml:2: no screen is named `gpus`; screens: overview",
            ),
            (
                "[[step]]\nset = 'infer.batch=0'",
                false,
                "d/demo.toml:2: `0` is no value for infer.batch",
            ),
            ("[[step]]\nset = 'infer.batch=4'", true, "d/demo.toml:2: the knobs of a replay"),
            ("[[step]]\nseek = 4", false, "d/demo.toml:2: a live run"),
            (
                "[[step]]\nat = 1\nwhen = 'running'\nend = true",
                false,
                "d/demo.toml:3: a step has `at` or `when`",
            ),
            ("[[step]]\nat = -1\nend = true", false, "d/demo.toml:2: it takes seconds"),
            (
                "[[step]]\nat = 1\ntimeout = 4\nend = true",
                false,
                "d/demo.toml:3: it means something beside `when`",
            ),
            ("[[step]]\ncaption = '{speed}'", false, "d/demo.toml:2: `{speed}` stands for nothing"),
            ("\n[[step]]\nat = 1", false, "d/demo.toml:3: the step does nothing"),
            ("title = 'x'", false, "d/demo.toml:1: `title` belongs to no step"),
            ("[[step]]\nat = ", false, "d/demo.toml:2: no TOML"),
        ] {
            let error = error(text, replay);
            assert!(error.starts_with(expected), "{error}\n{expected}");
        }
    }
}
