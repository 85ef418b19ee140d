//! AICB's own workloads: CSV with a row per communication, for all ranks or stage by stage.
//!
//! A line `[rank0 ~ rank127]`, or `[ pp_stage0: [rank0, rank1, …] ]` for each pipeline stage, says whose rows follow;
//! older files have none, and are then taken for as many ranks as a tensor-parallel group has times a data-parallel one. Sizes are those of the whole buffer, as AICB runs them. Rows are done one after the other, messages
//! next to each other together; a send is not waited for. Tensor-parallel ranks are neighbours, then come data-parallel ones, then stages.

use super::builder::{Builder, Link};
use super::error::{Outcome, Place, TraceError};
use super::group::{GroupId, Members};
use super::model::{
    Basis, Collective, CollectiveKind, Edge, Effort, Message, Operation, Rank, Who, Work,
};
use super::names::{self, Call};
use super::note::At;
use super::source::{Line, Source};
use std::collections::BTreeMap;
use xoff_units::{Bytes, Span};

const HEADER: &[u8] = b"comm_type,comm_group";

/// Whether a file begins like one of these.
pub(super) fn begins(text: &[u8]) -> bool {
    let mut lines = text.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii);
    let first = lines.next().unwrap_or_default();
    let named = first.starts_with(b"[") && first.windows(4).any(|word| word == b"rank");
    first.starts_with(HEADER) || named && lines.next().is_some_and(|line| line.starts_with(HEADER))
}

/// Which ranks work together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    All,
    Tensor,
    Data,
    Pipeline,
    Expert,
    Embedding,
    Other,
}

/// What a row does.
#[derive(Debug, Clone, Copy)]
enum Act {
    Collective {
        kind: CollectiveKind,
        group: Kind,
        size: Option<u32>,
        root: Option<u32>,
    },
    /// To or from the next stage, or the one before.
    Message {
        is_send: bool,
        next: bool,
    },
    Compute(Span),
}

#[derive(Debug, Clone, Copy)]
struct Row {
    act: Act,
    bytes: Bytes,
    line: Place,
}

/// Ranks that do the same.
#[derive(Debug, Default)]
struct Section {
    /// None: the file does not say which.
    ranks: Option<(u32, u32)>,
    rows: Vec<Row>,
}

/// Reads a workload.
pub(super) fn read(mut source: Source<'_>, builder: &mut Builder) -> Outcome<()> {
    let name = source.name.clone();
    let mut reader = Reader::default();
    let mut buffer = Vec::new();
    loop {
        match source.line(&mut buffer)? {
            Line::End => break,
            Line::TooLong => return Err(source.line_error("a line of more than 1 MiB")),
            Line::Whole => {}
        }
        let at = At { file: &name, place: source.line_place(), rank: None };
        reader.line(&String::from_utf8_lossy(&buffer), builder, at)?;
    }
    reader.write(builder, &name)
}

#[derive(Debug, Default)]
struct Reader {
    sections: Vec<Section>,
    columns: BTreeMap<String, usize>,
    count: usize,
}

impl Reader {
    fn line(&mut self, line: &str, builder: &mut Builder, at: At<'_>) -> Outcome<()> {
        let line = line.trim();
        if line.is_empty() {
            return Ok(());
        }
        if line.starts_with('[') {
            let ranks = ranks(line).ok_or_else(|| {
                let text = "expected ranks one after the other, like `[rank0 ~ rank7]`";
                TraceError::new(at.file, at.place, text)
            })?;
            builder.at_least(u64::from(ranks.1) + 1, at)?;
            self.sections.push(Section { ranks: Some(ranks), rows: Vec::new() });
            return Ok(());
        }
        let cells = cells(line);
        if cells[0] == "comm_type" {
            self.columns =
                cells.iter().zip(0..).map(|(name, at)| ((*name).to_owned(), at)).collect();
            return Ok(());
        }
        let Some(row) = self.row(&cells, builder, at)? else { return Ok(()) };
        self.count += 1;
        if self.count > builder.limits().operations as usize {
            return Err(TraceError::new(at.file, at.place, "more rows than can be held"));
        }
        if self.sections.is_empty() {
            self.sections.push(Section::default());
        }
        if let Some(section) = self.sections.last_mut() {
            section.rows.push(row);
        }
        Ok(())
    }

    fn row(&self, cells: &[&str], builder: &mut Builder, at: At<'_>) -> Outcome<Option<Row>> {
        let cell = |name: &str| self.columns.get(name).and_then(|at| cells.get(*at)).copied();
        let number = |name: &str| cell(name).and_then(|text| text.parse::<u64>().ok());
        let what = cell("comm_type").unwrap_or_default();
        let what = what.strip_prefix("CommType.").unwrap_or(what);
        let row = |act, bytes| Some(Row { act, bytes: Bytes::new(bytes), line: at.place });
        match what {
            "epoch_end" => {
                builder.notes.skipped("end of an epoch", at);
                return Ok(None);
            }
            "computation" => {
                let Some(time) = cell("_elapsed_time").and_then(|text| text.parse::<f64>().ok())
                else {
                    builder.notes.assumed("computation without a time: takes none", at);
                    return Ok(None);
                };
                // A cast saturates, and takes what is no number for zero.
                return Ok(row(Act::Compute(Span::from_ns(1) * time.round() as u64), 0));
            }
            _ => {}
        }
        let call = names::call(what);
        let Some(bytes) = number("msg_size").or((what == "barrier").then_some(0)) else {
            builder.notes.unknown("row without a size", at);
            return Ok(None);
        };
        let small = |name: &str| number(name).and_then(|number| u32::try_from(number).ok());
        let way = cell("additional").unwrap_or_default();
        Ok(match call {
            Some(Call::Collective(kind)) => {
                if kind == CollectiveKind::Barrier && bytes > 0 {
                    builder.notes.skipped("size of a barrier, which moves no data", at);
                }
                let group = group(cell("comm_group").unwrap_or_default(), builder, at);
                let (size, root) = (small("comm_group_size"), small("src"));
                row(Act::Collective { kind, group, size, root }, bytes)
            }
            Some(Call::Send | Call::Receive)
                if way.ends_with("_next") || way.ends_with("_prev") =>
            {
                let is_send = call == Some(Call::Send);
                row(Act::Message { is_send, next: way.ends_with("_next") }, bytes)
            }
            _ => {
                builder.notes.unknown(&format!("communication `{what}`"), at);
                None
            }
        })
    }

    /// The size of each kind of group, as the first row that has it says: other rows may leave it out.
    fn group_sizes(&self) -> BTreeMap<Kind, u32> {
        let mut sizes = BTreeMap::new();
        for row in self.sections.iter().flat_map(|section| &section.rows) {
            if let Act::Collective { group, size: Some(size), .. } = row.act
                && size > 0
            {
                sizes.entry(group).or_insert(size);
            }
        }
        sizes
    }

    /// How many ranks a group has, if that is known: one where no row uses such a group.
    fn degree(&self, kind: Kind, sizes: &BTreeMap<Kind, u32>) -> Option<u32> {
        let of_kind = |row: &Row| matches!(row.act, Act::Collective { group, .. } if group == kind);
        let used = || self.sections.iter().flat_map(|section| &section.rows).any(of_kind);
        sizes.get(&kind).copied().or_else(|| (!used()).then_some(1))
    }

    fn write(self, builder: &mut Builder, file: &str) -> Outcome<()> {
        let at = At { file, place: Place::File, rank: None };
        let sizes: Vec<u32> = self.sections.iter().filter_map(Section::size).collect();
        let mut stage = sizes.first().copied();
        if sizes.iter().any(|size| Some(*size) != stage) {
            return Err(TraceError::new(file, at.place, "stages of different sizes"));
        }
        let groups = self.group_sizes();
        if stage.is_none() {
            let product = self.degree(Kind::Tensor, &groups).zip(self.degree(Kind::Data, &groups));
            let product = product.and_then(|(tensor, data)| tensor.checked_mul(data));
            let said = [Kind::Tensor, Kind::Data].iter().any(|kind| groups.contains_key(kind));
            stage = product.filter(|_| said);
            let what = match stage {
                Some(_) => "no ranks named: a tensor-parallel group times a data-parallel one",
                None => "no ranks named: their number is not known",
            };
            builder.notes.assumed(what, at);
            builder.at_least(stage.unwrap_or(1).into(), at)?;
        }
        let mut writer = Writer { builder, stage, groups, links: Vec::new(), count: 0 };
        match self.sections.as_slice() {
            [only] if only.ranks.is_none_or(|(first, _)| first == 0) => {
                writer.program(only, Who::Every, at)?;
            }
            sections => {
                for section in sections {
                    let (first, last) = section.ranks.unwrap_or((0, 0));
                    for rank in first..=last {
                        writer.program(section, Who::One(Rank(rank)), at)?;
                    }
                }
            }
        }
        let links = writer.links;
        builder.link(links, file)?.map_err(|_| TraceError::new(file, at.place, "a cycle"))
    }
}

impl Section {
    fn size(&self) -> Option<u32> {
        self.ranks.map(|(first, last)| last - first + 1)
    }
}

/// The operations of one rank after the other.
struct Writer<'b> {
    builder: &'b mut Builder,
    /// Ranks of a stage.
    stage: Option<u32>,
    /// Sizes of groups, for rows that do not say them.
    groups: BTreeMap<Kind, u32>,
    links: Vec<Link>,
    count: u32,
}

impl Writer<'_> {
    fn program(&mut self, section: &Section, who: Who, at: At<'_>) -> Outcome<()> {
        let tensor = section.rows.iter().find_map(|row| match row.act {
            Act::Collective { group: Kind::Tensor, size, .. } => size,
            _ => None,
        });
        // Messages next to each other are posted together, and what comes then waits for those received.
        let (mut last, mut received): (Option<u32>, Vec<u32>) = (None, Vec::new());
        for row in &section.rows {
            let at = At { place: row.line, ..at };
            let Some(work) = self.work(row, who, tensor.unwrap_or(1), at)? else { continue };
            self.builder.push(Operation { who, work, stream: None, measured: None }, at)?;
            let from = self.count;
            self.count += 1;
            let link = |on: u32| Link { from, on, edge: Edge::Control };
            self.links.extend(last.map(link));
            match work {
                Work::Send(_) => {}
                Work::Receive(_) => received.push(from),
                _ => {
                    self.links.extend(received.drain(..).map(link));
                    last = Some(from);
                }
            }
        }
        Ok(())
    }

    fn work(&mut self, row: &Row, who: Who, tensor: u32, at: At<'_>) -> Outcome<Option<Work>> {
        Ok(Some(match row.act {
            Act::Compute(span) => Work::Compute(Effort { span, ..Effort::default() }),
            Act::Message { is_send, next } => {
                let (Who::One(rank), Some(stage)) = (who, self.stage) else {
                    self.builder.notes.skipped("message of the only stage", at);
                    return Ok(None);
                };
                let peer = if next { rank.0.checked_add(stage) } else { rank.0.checked_sub(stage) };
                let Some(peer) = peer.filter(|peer| *peer < self.builder.ranks()) else {
                    self.builder.notes.skipped("message beyond the first or last stage", at);
                    return Ok(None);
                };
                let message = Message { peer: Some(Rank(peer)), bytes: Some(row.bytes), tag: None };
                if is_send { Work::Send(message) } else { Work::Receive(message) }
            }
            Act::Collective { kind, group, size, root } => {
                let group = self.group(group, size, who, tensor, at)?;
                let root = root.filter(|_| kind.has_root()).map(Rank);
                Work::Collective(Collective {
                    kind,
                    group,
                    bytes: Some(row.bytes),
                    basis: Basis::Buffer,
                    root,
                })
            }
        }))
    }

    fn group(
        &mut self,
        kind: Kind,
        size: Option<u32>,
        who: Who,
        tensor: u32,
        at: At<'_>,
    ) -> Outcome<GroupId> {
        let size = size.filter(|size| *size > 0).or_else(|| self.groups.get(&kind).copied());
        let every = |stride: Option<u32>| match (size, stride) {
            (Some(size), Some(stride)) if stride > 0 => Members::Every { size, stride },
            _ => Members::Unknown { size },
        };
        let spread = |size: u32| self.stage.map(|stage| stage / size);
        let (name, members) = match kind {
            Kind::All => ("", Members::All { ranks: 0 }),
            Kind::Tensor => ("tensor parallel", every(Some(1))),
            Kind::Data => ("data parallel", every(size.and_then(spread))),
            Kind::Pipeline => ("pipeline", every(self.stage)),
            Kind::Expert => ("expert parallel", every(Some(tensor))),
            Kind::Embedding => ("embedding", self.ends(who, size)),
            Kind::Other => ("other", Members::Unknown { size }),
        };
        if matches!(members, Members::Unknown { .. }) {
            self.builder.notes.assumed("group whose ranks are not known", at);
        }
        self.builder.group(name, members, at)
    }

    /// The first and the last stage.
    fn ends(&self, who: Who, size: Option<u32>) -> Members {
        match (who, self.stage) {
            (Who::One(Rank(rank)), Some(stage)) => {
                let first = rank % stage;
                let last = self.builder.ranks() - stage + first;
                Members::List(vec![Rank(first), Rank(last)])
            }
            _ => Members::Unknown { size },
        }
    }
}

fn group(name: &str, builder: &mut Builder, at: At<'_>) -> Kind {
    match name.strip_prefix("CommGroup.").unwrap_or(name) {
        "all" => Kind::All,
        "tp_group" => Kind::Tensor,
        "dp_group" => Kind::Data,
        "pp_group" => Kind::Pipeline,
        "ep_group" => Kind::Expert,
        "embedding_group" => Kind::Embedding,
        other => {
            builder.notes.unknown(&format!("group `{other}`"), at);
            Kind::Other
        }
    }
}

/// The cells of a row. Shapes of matrices have commas of their own, in parentheses.
fn cells(line: &str) -> Vec<&str> {
    let mut depth = 0i64;
    let outside = |c: char| {
        depth += i64::from(c == '(') - i64::from(c == ')');
        c == ',' && depth <= 0
    };
    line.split(outside).map(|cell| cell.trim().trim_matches('"')).collect()
}

/// The first and last rank of `[rank0 ~ rank127]` or `[ pp_stage0: [rank0, rank1] ]`, if there is none missing.
fn ranks(line: &str) -> Option<(u32, u32)> {
    let words = line.split(|c: char| !c.is_ascii_alphanumeric());
    let numbers = words.filter_map(|word| word.strip_prefix("rank")?.parse::<u32>().ok());
    let numbers: Vec<u32> = numbers.collect();
    let (first, last) = (*numbers.first()?, *numbers.last()?);
    let whole = line.contains('~') || numbers.windows(2).all(|pair| pair[1] == pair[0] + 1);
    (first <= last && whole).then_some((first, last))
}

#[cfg(test)]
mod tests {
    use super::super::{NoteKind, OperationId, Options, Trace, read_stream};
    use super::*;

    const COLUMNS: &str = "comm_type,comm_group,comm_group_size,msg_size,stage,dst,src,additional,_elapsed_time,algbw,busbw,count\n";

    fn parse(text: &str) -> Trace {
        read_stream("w.csv", text.as_bytes(), Options::default()).unwrap()
    }

    fn row(what: &str, group: &str, size: &str, bytes: &str, way: &str, time: &str) -> String {
        format!("CommType.{what},{group},{size},{bytes},s,None,0,{way},{time},None,None,1\n")
    }

    #[test]
    fn all_ranks_do_the_same() {
        let text = format!(
            "[rank0 ~ rank7]\n{COLUMNS}{}{}{}{}{}",
            row("broadcast", "CommGroup.tp_group", "2", "100", "", "None"),
            row("computation", "None", "None", "((1, 2))", "", "1500"),
            row("all_gather", "CommGroup.dp_group", "4", "4096", "", "None"),
            row("barrier", "CommGroup.all", "8", "None", "", "None"),
            row("epoch_end", "None", "None", "None", "", "None"),
        );
        let trace = parse(&text);
        assert_eq!((trace.ranks, trace.operations.len()), (8, 4));
        assert!(trace.operations.iter().all(|one| one.who == Who::Every));
        let Work::Collective(gather) = trace.operations[2].work else { panic!() };
        assert_eq!((gather.bytes, gather.basis), (Some(Bytes::new(4096)), Basis::Buffer));
        assert_eq!(trace.group(gather.group).members, Members::Every { size: 4, stride: 2 });
        let Work::Compute(effort) = trace.operations[1].work else { panic!() };
        assert_eq!(effort.span, Span::from_ns(1500));
        assert_eq!(trace.needs(OperationId(3))[0].on, OperationId(2));
        assert_eq!(trace.origin(OperationId(2)), Some(("w.csv", Place::Line(5))));
        assert!(trace.notes.iter().all(|note| note.kind == NoteKind::Skipped), "{:?}", trace.notes);
    }

    #[test]
    fn stages_send_to_each_other() {
        let p2p = |what, way| row(what, "CommGroup.pp_group", "1", "64", way, "None");
        let ends = row("all_reduce", "CommGroup.embedding_group", "2", "10", "", "None");
        let text = format!(
            "[ pp_stage0: [rank0, rank1] ]\n{COLUMNS}{}{}{}[ pp_stage1: [rank2, rank3] ]\n{COLUMNS}{}{ends}{}",
            p2p("isend", "send_next"),
            p2p("irecv", "recv_prev"),
            ends,
            p2p("irecv", "recv_prev"),
            p2p("isend", "send_next"),
        );
        let trace = parse(&text);
        // What would go beyond the first and the last stage is left out.
        assert_eq!((trace.ranks, trace.operations.len()), (4, 8));
        let Work::Send(sent) = trace.operations[2].work else { panic!() };
        assert_eq!((trace.operations[2].who, sent.peer), (Who::One(Rank(1)), Some(Rank(3))));
        let Work::Collective(reduce) = trace.operations[3].work else { panic!() };
        assert_eq!(trace.group(reduce.group).members, Members::List(vec![Rank(1), Rank(3)]));
        // A send is not waited for, a receive is.
        assert!(trace.needs(OperationId(3)).is_empty());
        assert_eq!(trace.needs(OperationId(5))[0].on, OperationId(4));
    }

    /// As the steady state of a pipeline does it: what is received next is asked for before the last is sent.
    #[test]
    fn messages_next_to_each_other_are_posted_together() {
        let p2p = |what, way| row(what, "CommGroup.pp_group", "1", "64", way, "None");
        let work = row("computation", "None", "None", "1", "", "10");
        let text = format!(
            "[ pp_stage0: [rank0] ]\n{COLUMNS}{}{}{work}[ pp_stage1: [rank1] ]\n{COLUMNS}{}{work}{}",
            p2p("irecv", "recv_next"),
            p2p("isend", "send_next"),
            p2p("irecv", "recv_prev"),
            p2p("isend", "send_prev"),
        );
        let trace = parse(&text);
        let needs = |at| trace.needs(OperationId(at)).iter().map(|n| n.on.0).collect::<Vec<_>>();
        assert_eq!([needs(0), needs(1), needs(2)], [vec![], vec![], vec![0]]);
        let options = crate::replay::Options::default();
        assert!(crate::replay::Replay::new(&trace, &options).is_ok());
    }

    /// A log of a run: no ranks are named, and some rows have no size of their group.
    #[test]
    fn sizes_of_groups_stand_for_ranks() {
        let text = format!(
            "{COLUMNS}{}{}{}",
            row("all_reduce", "CommGroup.dp_group", "4", "8", "", "None"),
            row("all_gather", "CommGroup.tp_group", "2", "64", "", "None"),
            row("reduce_scatter", "CommGroup.tp_group", "None", "64", "", "None"),
        );
        let trace = parse(&text);
        assert_eq!(trace.ranks, 8);
        let members = |at: usize| match trace.operations[at].work {
            Work::Collective(one) => trace.group(one.group).members.clone(),
            other => panic!("{other:?}"),
        };
        assert_eq!(members(0), Members::Every { size: 4, stride: 2 });
        assert_eq!(
            [members(1), members(2)],
            [(); 2].map(|()| Members::Every { size: 2, stride: 1 })
        );
        assert!(crate::replay::Replay::new(&trace, &crate::replay::Options::default()).is_ok());
    }

    /// As in AICB's own `multi_all_reduce_workload.csv`.
    #[test]
    fn data_parallel_ranks_may_be_all_that_is_said() {
        let text = format!(
            "{COLUMNS}{}{}",
            row("all_reduce", "CommGroup.dp_group", "16", "4096", "", "None"),
            row("all_reduce", "CommGroup.pp_group", "1", "4096", "", "None"),
        );
        let trace = parse(&text);
        assert_eq!(trace.ranks, 16);
        let plan = crate::replay::Replay::new(&trace, &crate::replay::Options::default()).unwrap();
        let [alone] = plan.left_out() else { panic!("{:?}", plan.left_out()) };
        assert!(alone.what.contains("one rank") && alone.count == 16, "{alone:?}");
    }

    #[test]
    fn what_is_not_said_is_noted() {
        let text = "comm_type,comm_group,msg_size,stage,dst,src,additional,_elapsed_time,algbw,busbw,count\n\
                    CommType.all_reduce,CommGroup.dp_group,4096,warmup,None,None,,None,None,None,1\n\
                    CommType.teleport,CommGroup.dp_group,4096,warmup,None,None,,None,None,None,1\n";
        let trace = parse(text);
        assert_eq!((trace.ranks, trace.operations.len()), (1, 1));
        let whats: Vec<&str> = trace.notes.iter().map(|note| &*note.what).collect();
        assert!(whats.contains(&"communication `teleport`"), "{whats:?}");
        assert!(whats.contains(&"no ranks named: their number is not known"), "{whats:?}");
        let torn = "[rank0, rank5]\ncomm_type,comm_group,msg_size\n";
        let error = read_stream("w.csv", torn.as_bytes(), Options::default()).unwrap_err();
        assert!(error.to_string().contains("ranks one after the other"), "{error}");
    }
}
