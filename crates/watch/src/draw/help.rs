//! The keys, and what the letters of the map mean.

use super::panel::wrap;
use super::tone::Tone;
use ratatui::text::{Line, Span};

/// Keys and what they do.
const KEYS: [(&str, &str); 11] = [
    ("q Ctrl-C", "quit; so does Esc, where nothing covers the screen"),
    ("d", "the whole diagnosis with its evidence, and back"),
    ("tab", "the next panel; shift-tab the one before"),
    ("j k ↓ ↑", "scroll the panel marked »; page keys by a page"),
    ("s", "another order of the table: of links, or of NICs where » is"),
    ("r", "of a metric store: ask it now"),
    ("space", "of a recording: play (from its start where it has ended), pause"),
    ("→ ←", "of a recording: one step on, one step back"),
    ("g G", "of a recording: its first step, its last step (Home, End)"),
    ("+ -", "of a recording: twice or half as many steps per second"),
    ("?", "this help, and back"),
];

/// What the characters of the map mean, the worst first.
const LETTERS: [(&str, &str); 8] = [
    ("D", "all links of the device are down"),
    ("d", "some of its links are down"),
    ("S", "a NIC that pauses its switch for 2 % of a step or more"),
    ("P", "a port of it was paused for half of a step or more"),
    ("p", "a port of it was paused for 2 % of a step or more"),
    ("?", "no counters"),
    ("▁ to █", "its busiest port in its busiest step, in eighths of its rate"),
    ("·", "less than 1 % of it"),
];

const NOTES: &str = "Figures are of the window that is shown: mean and marks/s over all of it, peak and paused of its worst \
                     step, drops and other counts in sum. A dash is a series that is missing, which is not zero. \
                     With more devices than columns a cell is the worst of several. A device that a finding is \
                     about is shown inverse.";

pub(super) fn lines(width: usize, colour: bool) -> Vec<Line<'static>> {
    let strong = Tone::Strong.style(colour);
    let mut lines = vec![Line::styled("Keys", strong)];
    let mut list = |title: &'static str, pairs: &[(&'static str, &'static str)]| {
        if !title.is_empty() {
            lines.push(Line::raw(""));
            lines.push(Line::styled(title, strong));
        }
        for (key, text) in pairs {
            for (number, text) in wrap(text, width.saturating_sub(12)).into_iter().enumerate() {
                let key = if number == 0 { key } else { "" };
                let key = Span::styled(format!("  {key:9} "), strong);
                lines.push(Line::from(vec![key, Span::raw(text)]));
            }
        }
    };
    list("", &KEYS);
    list("Map", &LETTERS);
    lines.push(Line::raw(""));
    lines.extend(wrap(NOTES, width).into_iter().map(Line::raw));
    lines
}
