//! The hottest links, and the NICs that trouble others.

use super::panel::{Column, Panel, cut, fitting, number, percent, row};
use super::tone::Tone;
use crate::model::{Link, LinkOrder, NicOrder, Offender, View};
use ratatui::text::{Line, Span};
use xoff_report::{Number, Unit};

/// The steps that a trend shows.
const TREND: usize = 12;

const LINKS: [Column; 8] = [
    Column { head: "peak", width: 6 },
    Column { head: "paused", width: 8 },
    Column { head: "drops", width: 7 },
    Column { head: "marks/s", width: 9 },
    Column { head: "mean", width: 7 },
    Column { head: "damaged", width: 9 },
    Column { head: "rate", width: 10 },
    Column { head: "trend", width: TREND + 2 },
];

const NICS: [Column; 5] = [
    Column { head: "pauses", width: 8 },
    Column { head: "timeouts", width: 10 },
    Column { head: "resent", width: 8 },
    Column { head: "out of order", width: 14 },
    Column { head: "CNPs sent", width: 11 },
];

/// The narrowest first column.
const LEAST: usize = 14;

pub(crate) fn links(view: &View, order: LinkOrder, width: usize, colour: bool) -> Panel {
    let (watched, all) = view.links_watched;
    let mut title = format!("Links by {}", order.word());
    if watched < all {
        let (watched, all) = (Number::count(watched as u64), Number::count(all as u64));
        title = format!("{title}, {watched} of {all} with counters");
    }
    let (count, left) = fitting(&LINKS, width, LEAST);
    let lines = order.sort(&view.links).into_iter().map(|link| {
        let text = row(&link.name, left, &link_cells(link)[..count], &LINKS);
        Line::from(Span::styled(text, link_tone(link).style(colour)))
    });
    table(title, "link", lines.collect(), &LINKS[..count], left, "no counters of links", colour)
}

fn link_cells(link: &Link) -> Vec<String> {
    let peak = if link.up == Some(false) { "down".to_owned() } else { percent(link.peak) };
    vec![
        peak,
        percent(link.paused),
        number(link.drops),
        number(link.marks),
        percent(link.mean),
        number(link.damaged),
        Unit::BitsPerSecond.show(link.rate.bps() as f64),
        trend(&link.trend),
    ]
}

/// The last steps, each by its height; a step that is not known is a blank.
fn trend(steps: &[f32]) -> String {
    const HEIGHTS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let last = &steps[steps.len().saturating_sub(TREND)..];
    let height = |share: &f32| match share.is_nan() {
        true => ' ',
        false => HEIGHTS[((share * 8.0) as usize).min(7)],
    };
    last.iter().map(height).collect()
}

fn link_tone(link: &Link) -> Tone {
    let over = |value: Option<f64>, limit: f64| value.is_some_and(|value| value > limit);
    if link.up == Some(false) || over(link.drops, 0.5) || over(link.paused, 0.5) {
        Tone::Bad
    } else if over(link.paused, 0.02) || over(link.peak, 0.85) || over(link.damaged, 0.5) {
        Tone::Warn
    } else {
        Tone::Plain
    }
}

pub(crate) fn nics(view: &View, order: NicOrder, width: usize, colour: bool) -> Panel {
    let (watched, all) = view.nics_watched;
    let mut title = format!("NICs in trouble by {}", order.word());
    if watched < all {
        let (watched, all) = (Number::count(watched as u64), Number::count(all as u64));
        title = format!("{title}, {watched} of {all} with counters");
    }
    let (count, left) = fitting(&NICS, width, LEAST);
    let lines = order.sort(&view.offenders).into_iter().map(|nic| {
        let tone = match nic.pausing.is_some_and(|share| share > 0.02) {
            true => Tone::Bad,
            false => Tone::Plain,
        };
        let text = row(&nic.name, left, &nic_cells(nic)[..count], &NICS);
        Line::from(Span::styled(text, tone.style(colour)))
    });
    let none = match watched {
        0 => "no counters of NICs",
        _ => "no NIC pauses, sends again or times out",
    };
    table(title, "NIC", lines.collect(), &NICS[..count], left, none, colour)
}

fn nic_cells(nic: &Offender) -> Vec<String> {
    vec![
        percent(nic.pausing),
        number(nic.timeouts),
        number(nic.retransmitted),
        number(nic.out_of_sequence),
        number(nic.notified),
    ]
}

fn table(
    title: String,
    first: &str,
    mut lines: Vec<Line<'static>>,
    columns: &[Column],
    left: usize,
    none: &str,
    colour: bool,
) -> Panel {
    let dim = Tone::Dim.style(colour);
    if lines.is_empty() {
        let width = left + columns.iter().map(|column| column.width).sum::<usize>();
        lines.push(Line::styled(cut(none, width), dim));
        return Panel { title, head: None, lines };
    }
    let heads: Vec<String> = columns.iter().map(|column| column.head.to_owned()).collect();
    let head = Line::styled(row(first, left, &heads, columns), dim);
    Panel { title, head: Some(head), lines }
}
