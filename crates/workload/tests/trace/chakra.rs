//! Chakra: a writer, and nodes that come back.

use super::{gzip, read};
use proptest::prelude::*;
use xoff_units::{Bytes, Instant, Span};
use xoff_workload::trace::{
    Access, Basis, CollectiveKind, Edge, Effort, Format, Measured, Message, OperationId, Rank,
    Stream, Tag, Trace, Who, Work,
};

/// Writes protocol-buffer fields.
#[derive(Debug, Default, Clone)]
pub(crate) struct Proto(pub(crate) Vec<u8>);

impl Proto {
    fn raw(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    pub(crate) fn number(mut self, field: u64, value: u64) -> Self {
        self.raw(field << 3);
        self.raw(value);
        self
    }

    pub(crate) fn bytes(mut self, field: u64, value: &[u8]) -> Self {
        self.raw(field << 3 | 2);
        self.raw(value.len() as u64);
        self.0.extend(value);
        self
    }

    /// An attribute with a number, written as field `kind` of the schema.
    pub(crate) fn attribute(self, name: &str, kind: u64, value: u64) -> Self {
        let inner = Proto::default().bytes(1, name.as_bytes()).number(kind, value);
        self.bytes(10, &inner.0)
    }

    pub(crate) fn text_attribute(self, name: &str, value: &str) -> Self {
        let inner = Proto::default().bytes(1, name.as_bytes()).bytes(29, value.as_bytes());
        self.bytes(10, &inner.0)
    }
}

/// Writes messages with their lengths.
pub(crate) fn file(messages: &[Proto]) -> Vec<u8> {
    let mut all = Proto::default();
    for message in messages {
        all.raw(message.0.len() as u64);
        all.0.extend(&message.0);
    }
    all.0
}

pub(crate) fn metadata() -> Proto {
    Proto::default().bytes(1, b"0.0.4")
}

const INT32: u64 = 7;
const INT64: u64 = 9;
const UINT64: u64 = 13;
const BOOL: u64 = 27;

/// What a node is to say.
#[derive(Debug, Clone)]
struct Wanted {
    work: Work,
    group: u32,
    stream: Option<u32>,
    start: u64,
    took: u64,
    needs: Vec<(usize, Edge)>,
}

const KINDS: [CollectiveKind; 9] = [
    CollectiveKind::AllReduce,
    CollectiveKind::Reduce,
    CollectiveKind::AllGather,
    CollectiveKind::Gather,
    CollectiveKind::Scatter,
    CollectiveKind::Broadcast,
    CollectiveKind::AllToAll,
    CollectiveKind::ReduceScatter,
    CollectiveKind::Barrier,
];

fn number_of(kind: CollectiveKind) -> u64 {
    let at = KINDS.iter().position(|known| *known == kind).expect("all kinds are listed") as u64;
    // 8 is a second name of 7.
    if at == 8 { 9 } else { at }
}

fn write(at: usize, one: &Wanted) -> Proto {
    // Numbers far from the places, so that one cannot be taken for the other.
    let id = |at: usize| 1_000_000_007 * (at as u64 + 3);
    let mut node = Proto::default().number(1, id(at)).bytes(2, b"a name");
    let kind = match one.work {
        Work::Nothing => 1,
        Work::Memory(Access::Load, _) => 2,
        Work::Memory(Access::Store, _) => 3,
        Work::Compute(_) => 4,
        Work::Send(_) => 5,
        Work::Receive(_) => 6,
        Work::Collective(_) => 7,
    };
    node = node.number(3, kind);
    for (on, edge) in &one.needs {
        node = node.number(if *edge == Edge::Data { 5 } else { 4 }, id(*on));
    }
    node = node.number(6, one.start).number(7, one.took).bytes(8, b"\x0a\x03[1]");
    if let Some(stream) = one.stream {
        node = node.attribute("stream", INT64, stream.into());
    }
    match one.work {
        Work::Nothing => node,
        Work::Memory(_, bytes) => node.attribute("tensor_size", UINT64, bytes.get()),
        Work::Compute(effort) => node.attribute("num_ops", INT64, effort.operations).attribute(
            "tensor_size",
            UINT64,
            effort.bytes.get(),
        ),
        Work::Send(message) | Work::Receive(message) => {
            let peer = message.peer.map_or(0, |rank| rank.0.into());
            node.attribute("comm_size", INT64, message.bytes.map_or(0, Bytes::get))
                .attribute("comm_src", INT32, peer)
                .attribute("comm_dst", INT32, peer)
                .attribute("comm_tag", INT32, message.tag.map_or(0, |tag| tag.0.into()))
        }
        Work::Collective(one_collective) => {
            let node = node
                .attribute("is_cpu_op", BOOL, 0)
                .attribute("comm_type", INT64, number_of(one_collective.kind))
                .text_attribute("pg_name", &one.group.to_string());
            match one_collective.bytes {
                Some(bytes) => node.attribute("comm_size", UINT64, bytes.get()),
                None => node,
            }
        }
    }
}

fn work() -> impl Strategy<Value = Work> {
    let size = any::<u64>().prop_map(Bytes::new);
    let span = (0u64..1 << 40).prop_map(|us| Span::from_us(1) * us);
    let effort = (span, any::<u64>(), size.clone());
    let message = (0u32..64, size.clone(), any::<u32>()).prop_map(|(peer, bytes, tag)| Message {
        peer: Some(Rank(peer)),
        bytes: Some(bytes),
        tag: Some(Tag(tag)),
    });
    let collective = (0usize..9, proptest::option::of(size.clone())).prop_map(|(kind, bytes)| {
        let kind = KINDS[kind];
        let gather = kind == CollectiveKind::AllGather;
        let basis = if gather { Basis::Share } else { Basis::Buffer };
        let group = xoff_workload::trace::GroupId(0);
        Work::Collective(xoff_workload::trace::Collective { kind, group, bytes, basis, root: None })
    });
    prop_oneof![
        Just(Work::Nothing),
        effort.prop_map(|(span, operations, bytes)| {
            // Only the sign bit of an int64 cannot be a count.
            Work::Compute(Effort { span, operations: operations >> 1, bytes })
        }),
        size.clone().prop_map(|bytes| Work::Memory(Access::Load, bytes)),
        size.prop_map(|bytes| Work::Memory(Access::Store, bytes)),
        message.clone().prop_map(|one| Work::Send(half(one))),
        message.prop_map(|one| Work::Receive(half(one))),
        collective,
    ]
}

fn half(message: Message) -> Message {
    Message { bytes: message.bytes.map(|bytes| Bytes::new(bytes.get() >> 1)), ..message }
}

fn nodes() -> impl Strategy<Value = Vec<Wanted>> {
    let edge = prop_oneof![Just(Edge::Data), Just(Edge::Control)];
    let needs = prop::collection::vec((any::<prop::sample::Index>(), edge), 0..4);
    let one = (work(), 0u32..3, proptest::option::of(0u32..9), 0u64..1 << 40, 0u64..1 << 40, needs);
    prop::collection::vec(one, 1..40).prop_map(|all| {
        let make = |(at, (work, group, stream, start, took, needs)): (usize, _)| {
            let needs: Vec<(prop::sample::Index, Edge)> = needs;
            let needs = if at == 0 { Vec::new() } else { needs };
            let mut needs: Vec<_> =
                needs.iter().map(|(on, edge)| (on.index(at.max(1)), *edge)).collect();
            needs.sort_unstable();
            needs.dedup();
            Wanted { work, group, stream, start, took, needs }
        };
        all.into_iter().enumerate().map(make).collect()
    })
}

/// Makes a node whose time is also its effort.
fn settle(mut one: Wanted) -> Wanted {
    if let Work::Compute(effort) = &mut one.work {
        effort.span = Span::from_us(1) * one.took;
    }
    one
}

fn check(trace: &Trace, wanted: &[Wanted]) -> Result<(), TestCaseError> {
    prop_assert_eq!(trace.format, Format::Chakra);
    prop_assert_eq!(trace.operations.len(), wanted.len());
    for (at, (found, one)) in trace.operations.iter().zip(wanted).enumerate() {
        prop_assert_eq!(found.who, Who::One(Rank(5)));
        match (found.work, one.work) {
            (Work::Collective(found), Work::Collective(wanted)) => {
                prop_assert_eq!((found.kind, found.bytes), (wanted.kind, wanted.bytes));
                prop_assert_eq!(found.basis, wanted.basis);
                prop_assert_eq!(&trace.group(found.group).name, &one.group.to_string());
            }
            (found, wanted) => prop_assert_eq!(found, wanted),
        }
        prop_assert_eq!(found.stream, one.stream.map(Stream));
        let start = Instant::from_ps((Span::from_us(1) * one.start).as_ps());
        let measured = Measured { start, took: Span::from_us(1) * one.took };
        prop_assert_eq!(found.measured, (one.start > 0).then_some(measured));
        let needs: Vec<_> = trace
            .needs(OperationId(at as u32))
            .iter()
            .map(|need| (need.on.0 as usize, need.edge))
            .collect();
        prop_assert_eq!(&needs, &one.needs);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn nodes_come_back(nodes in nodes(), packed in any::<bool>()) {
        let nodes: Vec<Wanted> = nodes.into_iter().map(settle).collect();
        let mut messages = vec![metadata()];
        messages.extend(nodes.iter().enumerate().map(|(at, one)| write(at, one)));
        let bytes = file(&messages);
        let bytes = if packed { gzip(&bytes) } else { bytes };
        let trace = read("x.5.et", &bytes).map_err(|error| TestCaseError::fail(error.to_string()))?;
        check(&trace, &nodes)?;
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = super::read_as(Format::Chakra, "x.0.et", &bytes);
        let _ = read("x", &bytes);
    }
}
