//! Which parts are on a screen of this size, and where.

use super::map;
use crate::model::View;
use crate::screen::Panel;
use ratatui::layout::Rect;

/// A screen this wide has two columns, if it is this high.
const WIDE: u16 = 120;
const HIGH: u16 = 34;
/// A body this low has no room for a map.
const LOW: u16 = 12;

/// A part of the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    Map,
    Of(Panel),
}

/// What is to be laid out.
pub(super) struct Body<'a> {
    pub(super) area: Rect,
    pub(super) view: &'a View,
    pub(super) focus: Panel,
}

/// The parts and their places: a title and lines each.
pub(super) fn of(body: Body<'_>) -> Vec<(Part, Rect)> {
    let Body { area, .. } = body;
    match (area.width >= WIDE, area.height >= HIGH) {
        (true, true) => columns(&body),
        (false, true) => {
            let findings = natural(body.view.findings.len(), area.height / 5);
            let map = natural(map::height(body.view, usize::from(area.width)), area.height / 4);
            let rest = area.height.saturating_sub(findings + map);
            let parts = [
                (Part::Of(Panel::Findings), findings),
                (Part::Map, map),
                (Part::Of(Panel::Links), rest - 2 * (rest / 4)),
                (Part::Of(Panel::Pauses), rest / 4),
                (Part::Of(Panel::Nics), rest / 4),
            ];
            stack(area, &parts)
        }
        (_, false) => small(&body),
    }
}

/// What is wrong, the map, and the panel that the user has chosen.
fn small(body: &Body<'_>) -> Vec<(Part, Rect)> {
    let Body { area, view, focus } = *body;
    let table = if focus == Panel::Findings { Panel::Links } else { focus };
    let share = if focus == Panel::Findings { area.height / 2 } else { area.height / 4 };
    let findings = natural(view.findings.len(), share.max(2));
    let map = match area.height < LOW {
        true => 0,
        false => natural(map::height(view, usize::from(area.width)), area.height / 3),
    };
    let rest = area.height.saturating_sub(findings + map);
    let parts = [(Part::Of(Panel::Findings), findings), (Part::Map, map), (Part::Of(table), rest)];
    stack(area, &parts)
}

/// Map and links to the left; what is wrong, pauses and NICs to the right.
fn columns(body: &Body<'_>) -> Vec<(Part, Rect)> {
    let Body { area, view, .. } = *body;
    let left = Rect { width: area.width / 2, ..area };
    let gap = 2;
    let right = Rect { x: area.x + left.width + gap, width: area.width - left.width - gap, ..area };
    let map = natural(map::height(view, usize::from(left.width)), area.height / 2);
    let mut parts = stack(left, &[(Part::Map, map), (Part::Of(Panel::Links), area.height - map)]);
    let findings = natural(view.findings.len(), area.height / 3);
    let rest = area.height - findings;
    let pauses = rest / 2;
    parts.extend(stack(
        right,
        &[
            (Part::Of(Panel::Findings), findings),
            (Part::Of(Panel::Pauses), pauses),
            (Part::Of(Panel::Nics), rest - pauses),
        ],
    ));
    parts
}

/// A title and so many lines, at least one and at most so high.
fn natural(lines: usize, most: u16) -> u16 {
    u16::try_from(lines.max(1) + 1).unwrap_or(u16::MAX).min(most.max(2))
}

fn stack(area: Rect, parts: &[(Part, u16)]) -> Vec<(Part, Rect)> {
    let mut y = area.y;
    let mut out = Vec::new();
    for (part, height) in parts {
        let height = (*height).min(area.bottom().saturating_sub(y));
        if height > 0 {
            out.push((*part, Rect { y, height, ..area }));
        }
        y += height;
    }
    out
}
