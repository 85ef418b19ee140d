//! A view on a screen of any size.
//!
//! Every part is a list of styled lines ([`panel::Panel`]); what fits of them is put into the buffer. The same lines make
//! [plain pages](crate::page).

mod diagnosis;
mod findings;
mod help;
mod layout;
mod map;
pub(crate) mod panel;
mod pauses;
mod tables;
pub(crate) mod tone;

pub(crate) use diagnosis::lines as diagnosis_lines;
pub(crate) use findings::panel as findings_panel;
pub(crate) use map::panel as map_panel;
pub(crate) use pauses::panel as pauses_panel;
pub(crate) use tables::{links as links_panel, nics as nics_panel};

use crate::header::{Header, SourceState};
use crate::model::View;
use crate::screen::{Overlay, Panel, Screen};
use layout::{Body, Part};
use panel::wrap;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use tone::Tone;

/// The smallest screen on which anything is shown.
pub const LEAST: (u16, u16) = (40, 10);

/// Draws everything. Without a view it says what it waits for.
pub fn screen(
    buffer: &mut Buffer,
    area: Rect,
    header: &Header,
    view: Option<&View>,
    state: &mut Screen,
) {
    if area.width < LEAST.0 || area.height < LEAST.1 {
        return too_small(buffer, area);
    }
    let top = head(header, view, area, state.colour);
    let used = top.len() as u16;
    put(buffer, area, &top);
    let foot = Rect { y: area.bottom() - 1, height: 1, ..area };
    put(buffer, foot, &[foot_line(header, state)]);
    let body = Rect { y: area.y + used, height: area.height - used - 1, ..area };
    let Some(view) = view else {
        let text = match header.state(None) {
            SourceState::Gone => "nothing has been received yet; what the source says is above",
            _ => "waiting for the first counters …",
        };
        return put(buffer, body, &[Line::raw(""), Line::raw(text)]);
    };
    match state.overlay {
        Some(overlay) => cover(buffer, body, header, view, state, overlay),
        None => parts(buffer, body, header, view, state),
    }
}

fn too_small(buffer: &mut Buffer, area: Rect) {
    let (width, height) = LEAST;
    let text =
        format!("too small: {}x{}, xoff watch needs {width}x{height}", area.width, area.height);
    let lines = wrap(&text, usize::from(area.width));
    put(buffer, area, &lines.into_iter().map(Line::raw).collect::<Vec<_>>());
}

/// What is watched, and how its source does; what does not fit into a line takes a second one if there is room.
fn head(header: &Header, view: Option<&View>, area: Rect, colour: bool) -> Vec<Line<'static>> {
    let width = usize::from(area.width);
    let mut title = format!("xoff watch  {}  {}", header.fabric, header.source);
    if let Some(view) = view {
        let count =
            |count: usize, one: &str, many: &str| xoff_report::counted(count as u64, one, many);
        title = format!(
            "{title}  {}, {}",
            count(view.nics, "NIC", "NICs"),
            count(view.switches, "switch", "switches")
        );
    }
    let state = header.state(view);
    let tone = match state {
        SourceState::Gone => Tone::Bad,
        SourceState::Stale => Tone::Warn,
        SourceState::Waiting | SourceState::Fresh | SourceState::Recorded => Tone::Plain,
    };
    let most = if area.height >= 16 { 3 } else { 1 };
    let mut lines = wrap(&crate::clean(&header.words(view)), width);
    if lines.len() > most {
        lines.truncate(most);
        if let Some(last) = lines.last_mut() {
            *last = panel::cut(&format!("{last} …"), width);
        }
    }
    let title = Line::styled(crate::clean(&title), Tone::Strong.style(colour));
    let state = lines.into_iter().map(|line| Line::styled(line, tone.style(colour)));
    std::iter::once(title).chain(state).collect()
}

fn foot_line(header: &Header, state: &Screen) -> Line<'static> {
    let play = match header.feed {
        crate::header::Feed::Recording(_) => "space play  ←→ step  ",
        crate::header::Feed::Store(_) => "r refresh  ",
    };
    let text = match state.overlay {
        Some(_) => "jk scroll  Esc back  q quit".to_owned(),
        None => format!("q quit  ? help  d diagnosis  tab panel  s order  {play}"),
    };
    Line::from(Span::styled(text, Tone::Dim.style(state.colour)))
}

/// The whole diagnosis, or the keys.
fn cover(
    buffer: &mut Buffer,
    area: Rect,
    header: &Header,
    view: &View,
    state: &mut Screen,
    overlay: Overlay,
) {
    let width = usize::from(area.width);
    let lines = match overlay {
        Overlay::Help => help::lines(width, state.colour),
        Overlay::Diagnosis => diagnosis_lines(view, header.clock(), width, state.colour),
    };
    let top = state.overlay_top(lines.len(), usize::from(area.height));
    put(buffer, area, &lines[top.min(lines.len())..]);
}

fn parts(buffer: &mut Buffer, area: Rect, header: &Header, view: &View, state: &mut Screen) {
    let colour = state.colour;
    let clock = header.clock();
    for (part, area) in layout::of(Body { area, view, focus: state.focus }) {
        let width = usize::from(area.width);
        let room = usize::from(area.height).saturating_sub(1);
        let (which, panel) = match part {
            Part::Map => (None, map_panel(view, width, Some(room), colour)),
            Part::Of(which) => {
                let panel = match which {
                    Panel::Findings => findings_panel(view, clock, width, colour),
                    Panel::Links => links_panel(view, state.links, width, colour),
                    Panel::Pauses => pauses_panel(view, width, colour),
                    Panel::Nics => nics_panel(view, state.nics, width, colour),
                };
                (Some(which), panel)
            }
        };
        let room = room.saturating_sub(panel.head.iter().count());
        let top = which.map_or(0, |which| state.top(which, panel.lines.len(), room));
        let focus = which.is_some_and(|which| which == state.focus);
        let mut lines = vec![panel.title_line(width, top, room, focus, colour)];
        lines.extend(panel.head);
        lines.extend(panel.lines.into_iter().skip(top).take(room));
        put(buffer, area, &lines);
    }
}

/// Lines from the top of an area, as many as fit.
fn put(buffer: &mut Buffer, area: Rect, lines: &[Line<'_>]) {
    let area = area.intersection(buffer.area);
    for (line, y) in lines.iter().zip(area.y..area.bottom()) {
        buffer.set_line(area.x, y, line, area.width);
    }
}
