//! Keys by their names: `2`, `space`, `shift+left`, `ctrl+c`, `f1`.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// Reads a key's name.
pub(super) fn read(name: &str) -> Result<KeyEvent, String> {
    let unknown = || {
        format!(
            "no key is named `{name}`: write a character, or space, enter, esc, tab, backspace, left, \
             right, up, down, home, end, pgup, pgdn, f1; with shift+, ctrl+ or alt+ before it"
        )
    };
    let mut modifiers = KeyModifiers::NONE;
    let mut rest = name;
    while let Some((modifier, after)) = rest.split_once('+').filter(|(_, after)| !after.is_empty())
    {
        modifiers |= match modifier.to_lowercase().as_str() {
            "shift" => KeyModifiers::SHIFT,
            "ctrl" => KeyModifiers::CONTROL,
            "alt" => KeyModifiers::ALT,
            _ => return Err(unknown()),
        };
        rest = after;
    }
    let mut characters = rest.chars();
    let code = match (characters.next(), characters.next()) {
        (Some(c), None) => KeyCode::Char(c),
        _ => match rest.to_lowercase().as_str() {
            "space" => KeyCode::Char(' '),
            "enter" => KeyCode::Enter,
            "esc" => KeyCode::Esc,
            "tab" if modifiers.contains(KeyModifiers::SHIFT) => KeyCode::BackTab,
            "tab" => KeyCode::Tab,
            "backspace" => KeyCode::Backspace,
            "left" => KeyCode::Left,
            "right" => KeyCode::Right,
            "up" => KeyCode::Up,
            "down" => KeyCode::Down,
            "home" => KeyCode::Home,
            "end" => KeyCode::End,
            "pgup" => KeyCode::PageUp,
            "pgdn" => KeyCode::PageDown,
            "f1" => KeyCode::F(1),
            _ => return Err(unknown()),
        },
    };
    Ok(KeyEvent::new(code, modifiers))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_read_by_name() {
        let key = |name: &str| read(name).map(|key| (key.code, key.modifiers));
        assert_eq!(key("2"), Ok((KeyCode::Char('2'), KeyModifiers::NONE)));
        assert_eq!(key("+"), Ok((KeyCode::Char('+'), KeyModifiers::NONE)));
        assert_eq!(key("Space"), Ok((KeyCode::Char(' '), KeyModifiers::NONE)));
        assert_eq!(key("shift+left"), Ok((KeyCode::Left, KeyModifiers::SHIFT)));
        assert_eq!(key("ctrl+c"), Ok((KeyCode::Char('c'), KeyModifiers::CONTROL)));
        for bad in ["", "spacebar", "hyper+x", "shift+"] {
            assert!(read(bad).is_err(), "{bad}");
        }
    }
}
