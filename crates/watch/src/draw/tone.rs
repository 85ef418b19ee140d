//! What colours mean. Without colour the words and letters say the same.

use ratatui::style::{Color, Modifier, Style};

/// What a piece of text is meant to be taken as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tone {
    Plain,
    Strong,
    Dim,
    Good,
    Warn,
    Bad,
}

impl Tone {
    pub(crate) fn style(self, colour: bool) -> Style {
        let style = Style::new();
        match (self, colour) {
            (Tone::Plain, _) => style,
            (Tone::Strong, _) => style.add_modifier(Modifier::BOLD),
            (Tone::Dim, true) => style.fg(Color::DarkGray),
            (Tone::Good, true) => style.fg(Color::Green),
            (Tone::Warn, true) => style.fg(Color::Yellow),
            (Tone::Bad, true) => style.fg(Color::Red).add_modifier(Modifier::BOLD),
            (Tone::Bad, false) => style.add_modifier(Modifier::BOLD),
            (Tone::Dim | Tone::Good | Tone::Warn, false) => style,
        }
    }
}
