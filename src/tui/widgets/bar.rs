//! Bars in one row: a gauge in steps of an eighth, a slider, a sparkline, a stack of states.

use ratatui::style::Style;
use ratatui::text::Span;

use crate::profile::snapshot::Wait;
use crate::profile::window::Shares;
use crate::tui::theme::{State, Theme};

/// A cell filled from the left by 0 to 8 eighths.
const LEFT: [&str; 9] = [" ", "▏", "▎", "▍", "▌", "▋", "▊", "▉", "█"];
/// A cell filled from below by 0 to 8 eighths.
pub const BELOW: [&str; 9] = [" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"];

/// How a gauge of `width` cells shows a share: filled and empty part. What is not quite nothing
/// shows, and what is not quite all leaves a gap.
pub fn gauge(share: f64, width: u16, style: Style, theme: &Theme) -> Vec<Span<'static>> {
    let cells = usize::from(width);
    let steps = if theme.ascii { 1 } else { 8 };
    let most = cells * steps;
    let mut filled = (share.clamp(0.0, 1.0) * most as f64).round() as usize;
    if share > 0.0 && filled == 0 {
        filled = 1;
    } else if share < 0.995 && filled == most {
        filled = most.saturating_sub(1);
    }
    let filled = filled.min(most);
    let mut bar = theme.pick("█", "#").repeat(filled / steps);
    let part = filled % steps;
    if part > 0 {
        bar.push_str(LEFT[part]);
    }
    let empty = cells - filled.div_ceil(steps);
    vec![Span::styled(bar, style), Span::styled(theme.pick("┄", ".").repeat(empty), theme.line)]
}

/// A gauge whose value is not known.
pub fn unknown(width: u16, theme: &Theme) -> Vec<Span<'static>> {
    let cells = usize::from(width);
    let dash = theme.pick("—", "-");
    vec![Span::styled(format!("{dash}{}", " ".repeat(cells.saturating_sub(1))), theme.label)]
}

/// A setting on its range: a handle on a rail.
pub fn slider(position: f64, width: u16, style: Style, theme: &Theme) -> Vec<Span<'static>> {
    let cells = usize::from(width);
    if cells == 0 {
        return Vec::new();
    }
    let handle = (position.clamp(0.0, 1.0) * (cells - 1) as f64).round() as usize;
    vec![
        Span::styled(theme.pick("━", "=").repeat(handle), style),
        Span::styled(theme.pick("●", "O"), style),
        Span::styled(theme.pick("─", "-").repeat(cells - 1 - handle), theme.line),
    ]
}

/// Values of 0 to 1 as little bars; a gap is blank.
pub fn sparkline(values: &[Option<f64>], style: Style, theme: &Theme) -> Vec<Span<'static>> {
    let cell = |value: &Option<f64>| match *value {
        None => " ",
        Some(v) if theme.ascii => ["_", ".", ":", "|"][((v * 4.0) as usize).min(3)],
        Some(v) => BELOW[1 + ((v * 8.0) as usize).min(7)],
    };
    let mut spans: Vec<Span<'static>> = Vec::new();
    for value in values {
        // What is empty is drawn faintly, so that fullness stands out.
        let style = if value.is_some_and(|v| v < 0.02) { theme.line } else { style };
        match spans.last_mut() {
            Some(last) if last.style == style => last.content.to_mut().push_str(cell(value)),
            _ => spans.push(Span::styled(cell(value), style)),
        }
    }
    spans
}

/// Shares of the states, in the order of the stack.
pub type Stack = [(State, f64); State::ALL.len()];

/// Where a thread's time went, as states with their shares, in the order of the stack.
pub fn states(shares: &Shares) -> Stack {
    State::ALL.map(|state| {
        let share = match state {
            State::Running => shares.running,
            State::Runnable => shares.runnable,
            State::Wait(wait) => shares.wait(wait),
            State::Other => shares.other,
        };
        (state, share)
    })
}

/// Where a lane's time went; what lies between two waits is the rest.
pub fn lane_states(waits: &[f64; Wait::ALL.len()]) -> Stack {
    let rest = (1.0 - waits.iter().sum::<f64>()).max(0.0);
    State::ALL.map(|state| match state {
        State::Wait(wait) => (state, waits[wait as usize]),
        State::Other => (state, rest),
        State::Running | State::Runnable => (state, 0.0),
    })
}

/// The mean of several stacks; `None` of none.
pub fn mean(stacks: &[Stack]) -> Option<Stack> {
    let n = stacks.len() as f64;
    let share = |index: usize| stacks.iter().map(|stack| stack[index].1).sum::<f64>() / n;
    (!stacks.is_empty()).then(|| std::array::from_fn(|index| (State::ALL[index], share(index))))
}

/// How many of `cells` each part has, by the largest remainders, so that the cells add up; `None`
/// where there is nothing to share out.
pub fn shared_out(parts: &[(State, f64)], cells: usize) -> Option<Vec<usize>> {
    let total: f64 = parts.iter().map(|(_, share)| share.max(0.0)).sum();
    if total <= 0.0 {
        return None;
    }
    let exact = parts.iter().map(|(_, share)| share.max(0.0) / total * cells as f64);
    let exact: Vec<f64> = exact.collect();
    let mut whole: Vec<usize> = exact.iter().map(|&e| e as usize).collect();
    let mut order: Vec<usize> = (0..parts.len()).collect();
    order.sort_by(|&a, &b| (exact[b].fract()).total_cmp(&exact[a].fract()).then(a.cmp(&b)));
    let left = cells.saturating_sub(whole.iter().sum());
    for &index in order.iter().take(left) {
        whole[index] += 1;
    }
    Some(whole)
}

/// States stacked to `width` cells.
pub fn stacked(parts: &[(State, f64)], width: u16, theme: &Theme) -> Vec<Span<'static>> {
    let Some(whole) = shared_out(parts, usize::from(width)) else {
        return unknown(width, theme);
    };
    let filled = parts.iter().zip(whole).filter(|&(_, n)| n > 0);
    filled
        .map(|(&(state, _), n)| Span::styled(theme.glyph(state).repeat(n), theme.state(state)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::theme::ColorChoice;

    fn text(spans: &[Span<'_>]) -> String {
        spans.iter().map(|span| span.content.as_ref()).collect()
    }

    #[test]
    fn a_gauge_never_hides_a_little_nor_a_lack() {
        let theme = Theme::new(ColorChoice::Never, false);
        let drawn = |share| text(&gauge(share, 4, Style::new(), &theme));
        assert_eq!(drawn(0.0), "┄┄┄┄");
        assert_eq!(drawn(0.001), "▏┄┄┄");
        assert_eq!(drawn(0.5), "██┄┄");
        assert_eq!(drawn(0.99), "███▉");
        assert_eq!(drawn(1.0), "████");
    }

    #[test]
    fn a_stack_fills_its_width_exactly() {
        let theme = Theme::new(ColorChoice::Never, false);
        for width in 0..40 {
            let parts = [(State::Running, 0.333), (State::Runnable, 0.333), (State::Other, 0.334)];
            assert_eq!(text(&stacked(&parts, width, &theme)).chars().count(), usize::from(width));
        }
    }

    #[test]
    fn a_slider_has_its_handle_at_the_ends() {
        let theme = Theme::new(ColorChoice::Never, true);
        assert_eq!(text(&slider(0.0, 5, Style::new(), &theme)), "O----");
        assert_eq!(text(&slider(1.0, 5, Style::new(), &theme)), "====O");
    }
}
