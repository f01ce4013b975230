//! A screen that nobody sees: frames are drawn to be recorded.

use std::convert::Infallible;
use std::io;

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::app::App;
use super::run::Surface;
use super::screens;
use super::theme::{ColorChoice, Theme};

/// A screen in memory.
#[derive(Debug)]
pub struct Unseen {
    terminal: Terminal<TestBackend>,
    theme: Theme,
}

impl Unseen {
    /// A screen of that size; in colour unless that is refused, whatever the environment says.
    pub fn new(color: ColorChoice, ascii: bool, columns: u16, rows: u16) -> Self {
        let color = if color == ColorChoice::Auto { ColorChoice::Indexed } else { color };
        let terminal = Terminal::new(TestBackend::new(columns, rows));
        let terminal = terminal.unwrap_or_else(|never: Infallible| match never {});
        Self { terminal, theme: Theme::new(color, ascii) }
    }
}

impl Surface for Unseen {
    fn draw(&mut self, app: &App, seen: &mut dyn FnMut(&Buffer)) -> io::Result<()> {
        let drawn = self.terminal.draw(|frame| {
            screens::render(frame, app, &self.theme);
            seen(frame.buffer_mut());
        });
        drawn.map(drop).map_err(|never| match never {})
    }

    fn area(&self) -> io::Result<Rect> {
        let size = self.terminal.size().unwrap_or_else(|never| match never {});
        Ok(Rect::new(0, 0, size.width, size.height))
    }

    /// It has no terminal to give back.
    fn suspend(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn renew(&mut self) -> io::Result<()> {
        Ok(())
    }
}
