//! The same as on a screen, on plain lines: for pipes, files and `--once`.

use crate::draw::{findings_panel, links_panel, map_panel, nics_panel, panel::Panel, pauses_panel};
use crate::header::Header;
use crate::model::{LinkOrder, NicOrder, View};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::Line;
use std::fmt::Write;

/// Lines of each table.
const MOST: usize = 10;
/// Lines of how pauses spread.
const MOST_PAUSES: usize = 25;

/// A view as text of so many columns, with escape codes if there is colour.
pub fn render(header: &Header, view: &View, width: usize, colour: bool) -> String {
    let clock = header.clock();
    let mut page = String::new();
    let title = format!("xoff watch  {}  {}", header.fabric, header.source);
    let _ = writeln!(page, "{}", crate::clean(&title));
    for line in crate::draw::panel::wrap(&crate::clean(&header.words(Some(view))), width) {
        let _ = writeln!(page, "{line}");
    }

    let panels = [
        (findings_panel(view, clock, width, colour), usize::MAX),
        (map_panel(view, width, None, colour), usize::MAX),
        (links_panel(view, LinkOrder::default(), width, colour), MOST),
        (pauses_panel(view, width, colour), MOST_PAUSES),
        (nics_panel(view, NicOrder::default(), width, colour), MOST),
    ];
    for (panel, most) in panels {
        section(&mut page, &panel, most, width, colour);
    }
    for missing in &view.missing {
        for line in crate::draw::panel::wrap(&format!("Not known: {missing}."), width) {
            let _ = writeln!(page, "{line}");
        }
    }
    page
}

fn section(page: &mut String, panel: &Panel, most: usize, width: usize, colour: bool) {
    let title = panel.title_line(width, 0, most, false, colour);
    let lines = panel.lines.iter().take(most);
    for line in std::iter::once(&title).chain(&panel.head).chain(lines) {
        put(page, line, colour);
    }
}

/// A line without blanks at its end; escape codes only if there is colour.
fn put(page: &mut String, line: &Line<'_>, colour: bool) {
    let mut text = String::new();
    for span in &line.spans {
        let codes = if colour { codes(line.style.patch(span.style)) } else { String::new() };
        if codes.is_empty() {
            text.push_str(&span.content);
        } else {
            let _ = write!(text, "\u{1b}[{codes}m{}\u{1b}[0m", span.content);
        }
    }
    page.push_str(text.trim_end());
    page.push('\n');
}

/// What a terminal is told to show a style.
fn codes(style: Style) -> String {
    let mut codes: Vec<&str> = Vec::new();
    if style.add_modifier.contains(Modifier::BOLD) {
        codes.push("1");
    }
    if style.add_modifier.contains(Modifier::REVERSED) {
        codes.push("7");
    }
    codes.extend(match style.fg {
        Some(Color::DarkGray) => Some("90"),
        Some(Color::Green) => Some("32"),
        Some(Color::Yellow) => Some("33"),
        Some(Color::Red) => Some("31"),
        _ => None,
    });
    codes.join(";")
}
