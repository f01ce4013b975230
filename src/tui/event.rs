//! Everything that can happen to the screen, as one type.

use ratatui::crossterm::event::{
    Event as Input, KeyEvent, KeyEventKind, MouseButton, MouseEvent, MouseEventKind,
};
use ratatui::layout::Position;
use std::sync::Arc;

use crate::profile::snapshot::Snapshot;
use crate::tune::sweep::Sweep;

/// Something that happened.
#[derive(Clone, Debug)]
pub enum Event {
    /// A key was pressed (or repeats).
    Key(KeyEvent),
    /// Text was pasted.
    Paste(String),
    /// The mouse did something at a cell.
    Mouse(Pointer, Position),
    /// The terminal has another size now: columns, rows.
    Resize(u16, u16),
    /// A new snapshot came.
    Snapshot(Arc<Snapshot>),
    /// A sweep came on.
    Sweep(Arc<Sweep>),
}

/// What the mouse did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pointer {
    /// The left button went down.
    Press,
    /// It moved with the left button down.
    Drag,
    /// The left button went up.
    Release,
    /// The wheel turned away from the person.
    WheelUp,
    /// The wheel turned towards the person.
    WheelDown,
}

impl Event {
    /// What an input of the terminal means here; `None` for what we do not heed.
    pub fn of(input: Input) -> Option<Self> {
        match input {
            Input::Key(key) if key.kind != KeyEventKind::Release => Some(Self::Key(key)),
            Input::Mouse(MouseEvent { kind, column, row, .. }) => {
                let pointer = match kind {
                    MouseEventKind::Down(MouseButton::Left) => Pointer::Press,
                    MouseEventKind::Drag(MouseButton::Left) => Pointer::Drag,
                    MouseEventKind::Up(MouseButton::Left) => Pointer::Release,
                    MouseEventKind::ScrollUp => Pointer::WheelUp,
                    MouseEventKind::ScrollDown => Pointer::WheelDown,
                    _ => return None,
                };
                Some(Self::Mouse(pointer, Position::new(column, row)))
            }
            Input::Resize(columns, rows) => Some(Self::Resize(columns, rows)),
            Input::Paste(text) => Some(Self::Paste(text)),
            _ => None,
        }
    }
}
