//! The summary for people.

use super::answer::word;
use crate::output::number::{bytes, count, time};
use crate::output::printable;
use crate::output::style::Style;
use crate::output::table::{Align, Table};
use std::fmt::Write;
use xoff_workload::trace::{Group, Members, Note, NoteKind, Summary, Tally, Trace};

/// Groups, ranks, connections and notes shown, unless all are wanted.
pub(super) const MOST: usize = 20;

/// Ranks of a group that are listed one by one.
const RANKS: usize = 8;

/// The page.
pub(super) fn render(
    trace: &Trace,
    title: &str,
    limit: usize,
    width: usize,
    style: Style,
) -> String {
    let summary = trace.summary();
    let mut page = Page { text: String::new(), limit, width, style };
    let _ = writeln!(
        page.text,
        "{}  {}: {}, {}, {}",
        style.bold(title),
        trace.format,
        some(trace.ranks.into(), "rank", "ranks"),
        some(trace.operations.len() as u64, "operation", "operations"),
        some(trace.dependencies(), "dependency", "dependencies"),
    );
    page.kinds(&summary);
    page.groups(trace, &summary);
    page.ranks(&summary);
    page.connections(trace);
    page.notes(trace);
    page.text
}

fn some(number: u64, one: &str, many: &str) -> String {
    format!("{} {}", count(number), if number == 1 { one } else { many })
}

struct Page {
    text: String,
    limit: usize,
    width: usize,
    style: Style,
}

impl Page {
    fn table(&mut self, heading: &str, table: &Table, left_out: usize) {
        if table.is_empty() {
            return;
        }
        let (heading, table) = (self.style.bold(heading), table.render(self.width, self.style));
        let _ = write!(self.text, "\n{heading}\n{table}");
        if left_out > 0 {
            let _ = writeln!(self.text, "  and {} more: --all shows them", count(left_out as u64));
        }
    }

    fn kinds(&mut self, summary: &Summary) {
        let mut table = Table::new(&[
            ("kind", Align::Left),
            ("count", Align::Right),
            ("bytes", Align::Right),
            ("without size", Align::Right),
            ("time", Align::Right),
        ]);
        for line in &summary.kinds {
            let [number, size, none, span] = cells(&line.tally);
            table.row([line.kind.to_string(), number, size, none, span]);
        }
        self.table("Operations", &table, 0);
    }

    fn groups(&mut self, trace: &Trace, summary: &Summary) {
        let mut table = Table::new(&[
            ("group", Align::Left),
            ("ranks", Align::Right),
            ("which", Align::Left),
            ("collectives", Align::Right),
            ("bytes", Align::Right),
            ("time", Align::Right),
        ]);
        let mut lines: Vec<_> = summary.groups.iter().collect();
        lines.sort_by_key(|line| std::cmp::Reverse(line.tally.bytes));
        for line in lines.iter().take(self.limit) {
            let group = trace.group(line.group);
            let size = group.size().map_or("?".to_owned(), |size| count(size.into()));
            let name = if group.name.is_empty() { "(no name)" } else { &group.name };
            let [number, bytes, _, span] = cells(&line.tally);
            table.row([name.to_owned(), size, which(group), number, bytes, span]);
        }
        self.table("Groups", &table, lines.len().saturating_sub(self.limit));
    }

    fn ranks(&mut self, summary: &Summary) {
        let mut table = Table::new(&[
            ("rank", Align::Right),
            ("communication", Align::Right),
            ("bytes", Align::Right),
            ("other", Align::Right),
            ("time", Align::Right),
        ]);
        for line in summary.ranks.iter().take(self.limit) {
            let rank = line.rank.map_or("every".to_owned(), |rank| rank.to_string());
            let [number, bytes, _, _] = cells(&line.communication);
            let [other, _, _, _] = cells(&line.other);
            let span = cells(&Tally {
                span: line.communication.span + line.other.span,
                ..Tally::default()
            });
            let [_, _, _, span] = span;
            table.row([rank, number, bytes, other, span]);
        }
        self.table("Ranks", &table, summary.ranks.len().saturating_sub(self.limit));
    }

    fn connections(&mut self, trace: &Trace) {
        let mut table = Table::new(&[
            ("from", Align::Right),
            ("to", Align::Right),
            ("via", Align::Left),
            ("lines", Align::Right),
        ]);
        for one in trace.connections.iter().take(self.limit) {
            let (from, to) = (one.from.to_string(), one.to.to_string());
            table.row([from, to, one.via.clone(), count(one.lines)]);
        }
        let left_out = trace.connections.len().saturating_sub(self.limit);
        self.table("Connections", &table, left_out);
    }

    fn notes(&mut self, trace: &Trace) {
        let style = self.style;
        if trace.notes.is_empty() {
            let _ = writeln!(self.text, "\nEverything in it was understood.");
            return;
        }
        let _ = writeln!(self.text, "\n{}", style.bold("Notes"));
        for note in trace.notes.iter().take(self.limit) {
            let _ = writeln!(self.text, "  {}", line(note, style));
        }
        let more = trace.notes.len().saturating_sub(self.limit);
        if more > 0 {
            let _ = writeln!(self.text, "  and {} more: --all shows them", count(more as u64));
        }
        if trace.further_notes > 0 {
            let further = count(trace.further_notes);
            let _ = writeln!(self.text, "  and {further} of kinds that were too many to keep");
        }
    }
}

/// `unknown  3 x attribute `x` (t.0.et byte 12, rank 0)`
fn line(note: &Note, style: Style) -> String {
    let word = word(note.kind);
    let word = match note.kind {
        NoteKind::Unknown => style.yellow(word),
        NoteKind::Assumed => style.cyan(word),
        NoteKind::Skipped => style.dim(word),
    };
    let rank = note.rank.map_or(String::new(), |rank| format!(", rank {rank}"));
    let place = printable(&format!("  ({}{}{rank})", note.file, note.place)).replace('\n', " ");
    let what = printable(&note.what).replace('\n', " ");
    format!("{word}  {} x {what}{}", count(note.count), style.dim(&place))
}

/// Count, bytes, how many without a size, time; what is zero is empty, but for the count.
fn cells(tally: &Tally) -> [String; 4] {
    let some = |text: String, zero: bool| if zero { String::new() } else { text };
    [
        count(tally.count),
        some(bytes(tally.bytes), tally.bytes.is_zero()),
        some(count(tally.unsized_count), tally.unsized_count == 0),
        some(time(tally.span), tally.span.is_zero()),
    ]
}

/// Who is in a group, in a few words.
fn which(group: &Group) -> String {
    match &group.members {
        Members::All { .. } => "all".to_owned(),
        Members::Every { stride: 1, .. } => "neighbours, one for every rank".to_owned(),
        Members::Every { stride, .. } => format!("{stride} apart, one for every rank"),
        Members::Unknown { .. } => "not known".to_owned(),
        Members::List(list) => {
            let first: Vec<String> = list.iter().take(RANKS).map(|rank| rank.to_string()).collect();
            let more = if list.len() > RANKS { " …" } else { "" };
            format!("{}{more}", first.join(" "))
        }
    }
}
