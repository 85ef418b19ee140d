//! How pauses spread: from each root to the ports that wait, a line for each.

use super::panel::{Panel, cut, percent};
use super::tone::Tone;
use crate::model::{PauseTree, View};
use ratatui::text::{Line, Span};

pub(crate) fn panel(view: &View, width: usize, colour: bool) -> Panel {
    let title =
        format!("Pauses ({})", xoff_report::counted(view.pauses.len() as u64, "root", "roots"));
    let mut lines = Vec::new();
    for tree in &view.pauses {
        self::tree(&mut lines, tree, width, colour);
    }
    if lines.is_empty() {
        let text = match view.pauses_known {
            true => "no port is paused for 2 % of a step",
            false => "no counters of pauses",
        };
        lines.push(Line::styled(cut(text, width), Tone::Dim.style(colour)));
    }
    Panel { title, head: None, lines }
}

fn tree(lines: &mut Vec<Line<'static>>, tree: &PauseTree, width: usize, colour: bool) {
    lines.push(Line::styled(cut(&tree.root, width), Tone::Bad.style(colour)));
    for branch in &tree.branches {
        // Deeper than this no fabric is, and a line has to end.
        let indent = 2 * branch.hops.min(8);
        let share = format!(" {}", percent(Some(branch.share)));
        let room = width.saturating_sub(indent + 2 + share.chars().count());
        let tone = if branch.share >= 0.5 { Tone::Bad } else { Tone::Warn };
        lines.push(Line::from(vec![
            Span::styled(format!("{:indent$}└ ", ""), Tone::Dim.style(colour)),
            Span::raw(cut(&branch.port, room)),
            Span::styled(share, tone.style(colour)),
        ]));
    }
    if tree.more > 0 {
        let text = format!("  and {} more ports", tree.more);
        lines.push(Line::styled(text, Tone::Dim.style(colour)));
    }
}
