//! GOAL: a writer, and schedules that come back.

use super::{read, read_as};
use proptest::prelude::*;
use std::fmt::Write;
use xoff_units::{Bytes, Span};
use xoff_workload::trace::{
    Edge, Effort, Format, Message, OperationId, Rank, Stream, Tag, Who, Work,
};

#[derive(Debug, Clone)]
pub(crate) struct Statement {
    work: Work,
    cpu: Option<u32>,
    needs: Vec<(usize, Edge)>,
}

const RANKS: u32 = 5;

pub(crate) fn write(ranks: &[Vec<Statement>]) -> String {
    let mut text = format!("/* made here */\nnum_ranks {RANKS}\n\n");
    for (rank, statements) in ranks.iter().enumerate() {
        let _ = writeln!(text, "rank {rank} {{");
        for (at, one) in statements.iter().enumerate() {
            let _ = write!(text, "l{at}: ");
            let _ = match one.work {
                Work::Compute(effort) => write!(text, "calc {}", effort.span.as_ps() / 1000),
                Work::Send(message) => {
                    let to = message.peer.map_or(0, |peer| peer.0);
                    write!(text, "send {}b to {to}{}", message.bytes.unwrap().get(), tag(&message))
                }
                Work::Receive(message) => {
                    let from = message.peer.map_or(-1, |peer| i64::from(peer.0));
                    let size = message.bytes.unwrap().get();
                    write!(text, "recv {size}b from {from}{}", tag(&message))
                }
                _ => Ok(()),
            };
            if let Some(cpu) = one.cpu {
                let _ = write!(text, " cpu {cpu}");
            }
            text.push('\n');
            for (on, edge) in &one.needs {
                let word = if *edge == Edge::Start { "irequires" } else { "requires" };
                let _ = writeln!(text, "l{at} {word} l{on} // why not");
            }
        }
        text += "}\n\n";
    }
    text
}

fn tag(message: &Message) -> String {
    match message.tag {
        Some(Tag(0)) => String::new(),
        Some(Tag(tag)) => format!(" tag {tag}"),
        None => " tag -1".to_owned(),
    }
}

fn statement() -> impl Strategy<Value = (Work, Option<u32>, Vec<(prop::sample::Index, Edge)>)> {
    let bytes = any::<u64>().prop_map(|size| Some(Bytes::new(size)));
    let peer = (0..RANKS).prop_map(Rank);
    let send = (peer.clone(), bytes.clone(), any::<u32>()).prop_map(|(peer, bytes, tag)| {
        Work::Send(Message { peer: Some(peer), bytes, tag: Some(Tag(tag)) })
    });
    let receive = (proptest::option::of(peer), bytes, proptest::option::of(any::<u32>()));
    let receive = receive
        .prop_map(|(peer, bytes, tag)| Work::Receive(Message { peer, bytes, tag: tag.map(Tag) }));
    let compute = (0u64..1 << 50)
        .prop_map(|ns| Work::Compute(Effort { span: Span::from_ns(1) * ns, ..Effort::default() }));
    let edge = prop_oneof![Just(Edge::Control), Just(Edge::Start)];
    let needs = prop::collection::vec((any::<prop::sample::Index>(), edge), 0..3);
    (prop_oneof![send, receive, compute], proptest::option::of(any::<u32>()), needs)
}

pub(crate) fn schedule() -> impl Strategy<Value = Vec<Vec<Statement>>> {
    let rank = prop::collection::vec(statement(), 0..12).prop_map(|all| {
        let make = |(at, (work, cpu, needs)): (usize, (Work, Option<u32>, Vec<_>))| {
            let needs: Vec<(prop::sample::Index, Edge)> = if at == 0 { Vec::new() } else { needs };
            let mut needs: Vec<_> = needs.iter().map(|(on, edge)| (on.index(at), *edge)).collect();
            needs.sort_unstable();
            needs.dedup();
            Statement { work, cpu, needs }
        };
        all.into_iter().enumerate().map(make).collect()
    });
    prop::collection::vec(rank, RANKS as usize)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn schedules_come_back(ranks in schedule()) {
        let trace = read("x.goal", write(&ranks).as_bytes())
            .map_err(|error| TestCaseError::fail(error.to_string()))?;
        prop_assert_eq!((trace.format, trace.ranks), (Format::Goal, RANKS));
        let mut at = 0;
        for (rank, statements) in ranks.iter().enumerate() {
            let first = at;
            for one in statements {
                let found = trace.operations[at as usize];
                prop_assert_eq!(found.who, Who::One(Rank(rank as u32)));
                prop_assert_eq!(found.work, one.work);
                prop_assert_eq!(found.stream, one.cpu.map(Stream));
                let needs: Vec<_> = trace
                    .needs(OperationId(at))
                    .iter()
                    .map(|need| ((need.on.0 - first) as usize, need.edge))
                    .collect();
                prop_assert_eq!(&needs, &one.needs);
                at += 1;
            }
        }
        prop_assert_eq!(at as usize, trace.operations.len());
        prop_assert!(trace.notes.is_empty());
    }

    #[test]
    fn any_text_is_read_or_refused(text in "[a-z0-9 :{}\\-/*\n]{0,200}") {
        let _ = read_as(Format::Goal, "x", text.as_bytes());
        let framed = format!("num_ranks 3\nrank 1 {{\n{text}\n}}\n");
        let _ = read_as(Format::Goal, "x", framed.as_bytes());
    }
}

/// A fixed schedule, for tests that count.
pub(crate) fn fixed(statements: u64) -> String {
    let mut random = xoff_workload::stream::Stream::new(1, 0, "goal");
    let mut ranks = Vec::new();
    for _ in 0..RANKS {
        let mut all = Vec::new();
        for at in 0..statements {
            let message = Message {
                peer: Some(Rank(random.below(RANKS.into()) as u32)),
                bytes: Some(Bytes::new(random.below(1 << 30))),
                tag: Some(Tag(random.below(3) as u32)),
            };
            let span = Span::from_ns(1) * random.below(10_000);
            let work = match random.below(3) {
                0 => Work::Send(message),
                1 => Work::Receive(message),
                _ => Work::Compute(Effort { span, ..Effort::default() }),
            };
            let edge = if random.below(4) == 0 { Edge::Start } else { Edge::Control };
            let needs = if at > 0 { vec![(random.below(at) as usize, edge)] } else { Vec::new() };
            all.push(Statement { work, cpu: None, needs });
        }
        ranks.push(all);
    }
    write(&ranks)
}
