//! The whole diagnosis with its evidence.

use super::findings::{since, tone};
use super::panel::wrap;
use super::tone::Tone;
use crate::model::View;
use crate::time::Clock;
use ratatui::text::{Line, Span};

pub(crate) fn lines(view: &View, clock: Clock, width: usize, colour: bool) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    let (from, to) = (clock.show(view.window.from), clock.show(view.window.to));
    lines.push(Line::styled(format!("Diagnosis of {from} to {to}"), Tone::Strong.style(colour)));
    if view.findings.is_empty() {
        lines.push(Line::raw("Nothing wrong is to be seen in these counters."));
    }
    for (number, finding) in view.findings.iter().enumerate() {
        lines.push(Line::raw(""));
        let place = format!("{}. {}: ", number + 1, finding.place);
        let sure = format!(" ({})", finding.confidence.words());
        lines.push(Line::from(vec![
            Span::styled(place, Tone::Strong.style(colour)),
            Span::raw(finding.cause.words()),
            Span::styled(sure, tone(finding.confidence).style(colour)),
        ]));
        let since = since(finding, clock);
        for text in std::iter::once(&since).chain(&finding.evidence) {
            lines.extend(indented(text, 3, width));
        }
    }
    lines.push(Line::raw(""));
    if !view.ruled_out.is_empty() {
        lines.extend(indented(&format!("Ruled out: {}.", view.ruled_out.join(", ")), 0, width));
    }
    for missing in &view.missing {
        lines.extend(indented(&format!("Not known: {missing}."), 0, width));
    }
    lines
}

fn indented(text: &str, by: usize, width: usize) -> impl Iterator<Item = Line<'static>> {
    let lines = wrap(text, width.saturating_sub(by));
    lines.into_iter().map(move |line| Line::raw(format!("{:by$}{line}", "")))
}
