//! What is wrong, a line each.

use super::panel::Panel;
use super::tone::Tone;
use crate::model::{Active, Since, View};
use crate::time::Clock;
use ratatui::text::{Line, Span};
use xoff_diagnose::fabric::Confidence;

pub(crate) fn panel(view: &View, clock: Clock, width: usize, colour: bool) -> Panel {
    let mut lines: Vec<Line<'static>> =
        view.findings.iter().map(|finding| line(finding, clock, width, colour)).collect();
    if lines.is_empty() {
        let (text, tone) = match view.links_watched.0 {
            0 => ("no counters of this fabric: nothing was looked at", Tone::Warn),
            _ => ("nothing wrong is to be seen in these counters", Tone::Good),
        };
        lines.push(Line::styled(super::panel::cut(text, width), tone.style(colour)));
    }
    Panel { title: format!("Findings ({})", view.findings.len()), head: None, lines }
}

/// How sure a finding is, as a tone.
pub(crate) const fn tone(confidence: Confidence) -> Tone {
    match confidence {
        Confidence::Certain => Tone::Bad,
        Confidence::Likely => Tone::Warn,
        Confidence::Possible => Tone::Dim,
    }
}

fn line(finding: &Active, clock: Clock, width: usize, colour: bool) -> Line<'static> {
    let sure = format!("{:8} ", finding.confidence.words());
    let text = format!("{}: {}, {}", finding.place, finding.cause.words(), since(finding, clock));
    Line::from(vec![
        Span::styled(sure, tone(finding.confidence).style(colour)),
        Span::raw(super::panel::cut(&text, width.saturating_sub(9))),
    ])
}

/// Since when, in words.
pub(crate) fn since(finding: &Active, clock: Clock) -> String {
    match finding.since {
        Since::At(at) => format!("since {}", clock.show(at)),
        Since::Before(at) => format!("since {} or earlier", clock.show(at)),
    }
}
