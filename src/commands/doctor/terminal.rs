//! The terminal: whether there is one, its size, colours and characters.

use std::io::IsTerminal;

use super::Finding;

/// The least size at which the dashboard draws.
const LEAST: (u16, u16) = (60, 16);
/// The size at which it is at home.
const HOME: (u16, u16) = (120, 36);

pub(super) fn examine() -> Vec<Finding> {
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let mut findings = vec![size(), kind(variable("TERM").as_deref())];
    findings.push(colour(
        variable("NO_COLOR").is_some(),
        variable("COLORTERM").as_deref(),
        variable("TERM").as_deref(),
    ));
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(variable);
    findings.push(characters(locale.as_deref()));
    let inside = [("TMUX", "tmux"), ("STY", "screen"), ("SSH_CONNECTION", "ssh")];
    let inside: Vec<_> =
        inside.iter().filter(|(name, _)| variable(name).is_some()).map(|(_, what)| *what).collect();
    if !inside.is_empty() {
        findings.push(Finding::note("through", inside.join(", ")));
    }
    findings
}

fn size() -> Finding {
    if !std::io::stdout().is_terminal() {
        return Finding::note("size", "stdout is no terminal: a run prints a report")
            .way_out("start pipetop in a terminal to see the dashboard");
    }
    match ratatui::crossterm::terminal::size() {
        Ok((columns, rows)) => judged(columns, rows),
        Err(error) => Finding::missing("size", format!("the terminal does not tell: {error}"))
            .way_out("try another terminal, or --headless"),
    }
}

fn judged(columns: u16, rows: u16) -> Finding {
    let size = format!("{columns}x{rows}");
    if columns < LEAST.0 || rows < LEAST.1 {
        Finding::missing("size", format!("{size}: too small for the dashboard"))
            .way_out(format!("make it {}x{} or larger, or use --headless", LEAST.0, LEAST.1))
    } else if columns < HOME.0 || rows < HOME.1 {
        Finding::ok("size", size)
            .way_out(format!("from {}x{} on the dashboard shows more", HOME.0, HOME.1))
    } else {
        Finding::ok("size", size)
    }
}

fn kind(term: Option<&str>) -> Finding {
    match term {
        Some("dumb") => Finding::missing("TERM", "dumb: no dashboard can be drawn")
            .way_out("set TERM to what the terminal is, as in xterm-256color, or use --headless"),
        Some(term) => Finding::ok("TERM", term),
        None => Finding::note("TERM", "not set"),
    }
}

fn colour(no_color: bool, colorterm: Option<&str>, term: Option<&str>) -> Finding {
    if no_color {
        return Finding::note("colour", "off: NO_COLOR is set").way_out("--color always overrules");
    }
    match (colorterm, term) {
        (Some("truecolor" | "24bit"), _) => Finding::ok("colour", "24 bit"),
        (_, Some(term)) if term.contains("direct") => Finding::ok("colour", "24 bit"),
        (_, Some(term)) if term.contains("256color") => Finding::ok("colour", "256 colours"),
        (_, Some("dumb") | None) => Finding::note("colour", "none is told of"),
        (_, Some(_)) => Finding::ok("colour", "16 colours")
            .way_out("COLORTERM=truecolor, where the terminal has 24-bit colour"),
    }
}

fn characters(locale: Option<&str>) -> Finding {
    let utf8 = |locale: &str| {
        let lower = locale.to_ascii_lowercase();
        lower.contains("utf-8") || lower.contains("utf8")
    };
    match locale {
        Some(locale) if utf8(locale) => Finding::ok("characters", format!("UTF-8 ({locale})")),
        Some(locale) => Finding::note("characters", format!("the locale {locale} is not UTF-8"))
            .way_out("set LANG=C.UTF-8, or use --ascii where lines look broken"),
        None => Finding::note("characters", "no locale is set; UTF-8 is taken for granted")
            .way_out("--ascii where lines look broken"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Status;
    use super::*;

    #[test]
    fn a_terminal_is_too_small_small_or_fine() {
        assert_eq!(judged(59, 40).status, Status::Missing);
        assert_eq!(judged(200, 15).status, Status::Missing);
        assert!(judged(80, 24).status == Status::Ok && judged(80, 24).way_out.is_some());
        assert!(judged(120, 36).way_out.is_none());
    }

    #[test]
    fn colours_and_characters_are_told_from_the_environment() {
        assert_eq!(colour(true, Some("truecolor"), None).found, "off: NO_COLOR is set");
        assert_eq!(colour(false, Some("truecolor"), Some("xterm")).found, "24 bit");
        assert_eq!(colour(false, None, Some("screen-256color")).found, "256 colours");
        assert_eq!(colour(false, None, Some("xterm")).found, "16 colours");
        assert_eq!(characters(Some("de_DE.UTF-8")).status, Status::Ok);
        assert_eq!(characters(Some("POSIX")).status, Status::Note);
        assert_eq!(kind(Some("dumb")).status, Status::Missing);
    }
}
