//! The binary of LogGOPSim (`txt2bin`): a cookie, the number of ranks, where each rank's data begins and ends, then
//! rank by rank the nodes and a list of what follows each. Numbers are little-endian and not aligned.

use super::super::builder::{Builder, Link};
use super::super::error::{Outcome, Place, TraceError};
use super::super::model::{Edge, Effort, Message, Operation, Rank, Stream, Tag, Who, Work};
use super::super::note::At;
use super::super::source::Source;
use xoff_units::{Bytes, Span};

/// The cookie of a schedule, and of one that LogGOPSim has begun to run: it counts dependencies down in the file, which
/// are not read here.
const COOKIES: [u64; 2] = [4223, 2342];

/// Any rank, any tag.
const ANY: u32 = u32::MAX;

/// Whether a file begins like one of these.
pub(in super::super) fn is_binary(head: &[u8]) -> bool {
    let cookie = head.first_chunk::<8>().map(|bytes| u64::from_le_bytes(*bytes));
    cookie.is_some_and(|cookie| COOKIES.contains(&cookie))
}

/// Reads a schedule.
pub(super) fn read(source: Source<'_>, builder: &mut Builder) -> Outcome<()> {
    let name = source.name.clone();
    let mut file = File { source, buffer: Vec::new() };
    file.u64()?;
    let ranks = file.u32()?;
    let [_cpus, _nics] = [file.u8()?, file.u8()?];
    let at = At { file: &name, place: Place::File, rank: None };
    if ranks == 0 {
        return Err(TraceError::new(&name, Place::File, "a schedule for no rank at all"));
    }
    builder.at_least(u64::from(ranks), at)?;
    // Places count from after the cookie.
    let mut next = 4 + 2 + 16 * u64::from(ranks);
    for rank in 0..ranks {
        let (begin, end) = (file.u64()?, file.u64()?);
        if begin != next || end < begin {
            let text = format!("the data of rank {rank} is not where the one before ends");
            return Err(TraceError::new(&name, Place::File, text));
        }
        next = end;
    }
    for rank in 0..ranks {
        let at = At { rank: Some(Rank(rank)), ..at };
        file.rank(Rank(rank), ranks, builder, at)?;
    }
    Ok(())
}

struct File<'s> {
    source: Source<'s>,
    buffer: Vec<u8>,
}

/// A node's followers: how many there are, and where they begin in the list.
#[derive(Debug, Clone, Copy)]
struct Followers {
    count: [u32; 2],
    first: [u32; 2],
}

impl File<'_> {
    fn bytes<const N: usize>(&mut self) -> Outcome<[u8; N]> {
        let place = Place::Byte(self.source.offset());
        self.buffer.clear();
        self.source.bytes(N as u64, &mut self.buffer)?;
        let cut = || self.source.error(place, "the file is cut off");
        self.buffer.as_slice().try_into().map_err(|_| cut())
    }

    fn u8(&mut self) -> Outcome<u8> {
        Ok(u8::from_le_bytes(self.bytes()?))
    }

    fn u32(&mut self) -> Outcome<u32> {
        Ok(u32::from_le_bytes(self.bytes()?))
    }

    fn u64(&mut self) -> Outcome<u64> {
        Ok(u64::from_le_bytes(self.bytes()?))
    }

    fn rank(&mut self, rank: Rank, ranks: u32, builder: &mut Builder, at: At<'_>) -> Outcome<()> {
        let (nodes, roots) = (self.u32()?, self.u32()?);
        for _ in 0..roots {
            self.u32()?;
        }
        let mut all = Vec::new();
        for number in 0..nodes {
            let at = At { place: Place::Node(number.into()), ..at };
            let (operation, followers) = self.node(rank, ranks, builder, at)?;
            builder.push(operation, at)?;
            all.push(followers);
        }
        let mut links = Vec::new();
        let (mut place, most) = (0, builder.limits().dependencies as usize);
        for (on, followers) in (0..).zip(&all) {
            for (way, edge) in [Edge::Control, Edge::Start].into_iter().enumerate() {
                if followers.count[way] > 0 && followers.first[way] != place {
                    let text = format!("followers of node {on} are not where they should be");
                    return Err(TraceError::new(at.file, at.place, text));
                }
                for _ in 0..followers.count[way] {
                    let from = self.u32()?;
                    if from >= nodes || links.len() >= most {
                        let text = format!("node {on} of {nodes} is followed by node {from}");
                        return Err(TraceError::new(at.file, at.place, text));
                    }
                    links.push(Link { from, on, edge });
                    place += 1;
                }
            }
        }
        builder.link(links, at.file)?.map_err(|cycle| {
            let chain = cycle.describe(|at| format!("node {at}"));
            let text = format!("in rank {rank}, {chain}, so that none can start");
            TraceError::new(at.file, at.place, text)
        })
    }

    fn node(
        &mut self,
        rank: Rank,
        ranks: u32,
        builder: &mut Builder,
        at: At<'_>,
    ) -> Outcome<(Operation, Followers)> {
        let _waits = self.u32()?;
        let (kind, peer, size, tag) = (self.u8()?, self.u32()?, self.u64()?, self.u32()?);
        let (cpu, nic) = (self.u8()?, self.u8()?);
        let (done, done_first) = (self.u32()?, self.u32()?);
        let (begun, begun_first) = (self.u32()?, self.u32()?);
        let followers = Followers { count: [done, begun], first: [done_first, begun_first] };
        let any = kind == 2 && peer == ANY;
        if kind != 3 && !any && peer >= ranks {
            let text = format!("rank {peer} of {ranks}; ranks count from 0");
            return Err(TraceError::new(at.file, at.place, text));
        }
        let message = Message {
            peer: (!any).then_some(Rank(peer)),
            bytes: Some(Bytes::new(size)),
            tag: (kind == 1 || tag != ANY).then_some(Tag(tag)),
        };
        let work = match kind {
            1 => Work::Send(message),
            2 => Work::Receive(message),
            3 => Work::Compute(Effort { span: Span::from_ns(1) * size, ..Effort::default() }),
            other => {
                let text = format!(
                    "operation of type {other}; 1 to 3 are known (if another program than LogGOPSim's txt2bin made it, \
                     give the schedule as text)"
                );
                return Err(TraceError::new(at.file, at.place, text));
            }
        };
        if nic > 0 {
            builder.notes.skipped("choice of a NIC", at);
        }
        let stream = Some(Stream(cpu.into()));
        Ok((Operation { who: Who::One(rank), work, stream, measured: None }, followers))
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::{OperationId, Options, Trace, read_stream};
    use super::*;

    /// A node with what follows it when it is done and when it has begun.
    type Node = (u8, u32, u64, u32, &'static [u32], &'static [u32]);

    fn rank(nodes: &[Node]) -> Vec<u8> {
        let mut bytes = (nodes.len() as u32).to_le_bytes().to_vec();
        bytes.extend(1u32.to_le_bytes());
        bytes.extend(0u32.to_le_bytes());
        let mut place = 0u32;
        for (kind, peer, size, tag, done, begun) in nodes {
            bytes.extend(7u32.to_le_bytes());
            bytes.push(*kind);
            bytes.extend(peer.to_le_bytes());
            bytes.extend(size.to_le_bytes());
            bytes.extend(tag.to_le_bytes());
            bytes.extend([1, 0]);
            for list in [done, begun] {
                bytes.extend((list.len() as u32).to_le_bytes());
                bytes.extend(place.to_le_bytes());
                place += list.len() as u32;
            }
        }
        let lists = nodes.iter().flat_map(|node| node.4.iter().chain(node.5));
        lists.for_each(|follower| bytes.extend(follower.to_le_bytes()));
        bytes
    }

    fn file(ranks: &[Vec<u8>]) -> Vec<u8> {
        let mut bytes = 4223u64.to_le_bytes().to_vec();
        bytes.extend((ranks.len() as u32).to_le_bytes());
        bytes.extend([2, 0]);
        let mut at = 6 + 16 * ranks.len() as u64;
        for rank in ranks {
            bytes.extend(at.to_le_bytes());
            at += rank.len() as u64;
            bytes.extend(at.to_le_bytes());
        }
        bytes.extend(ranks.concat());
        bytes
    }

    fn parse(bytes: &[u8]) -> Result<Trace, String> {
        read_stream("s.bin", bytes, Options::default()).map_err(|error| error.to_string())
    }

    fn two() -> Vec<u8> {
        let first =
            rank(&[(3, 0, 500, 0, &[1], &[2]), (1, 1, 64, 9, &[], &[]), (3, 0, 7, 0, &[], &[])]);
        file(&[first, rank(&[(2, ANY, 64, ANY, &[], &[])])])
    }

    #[test]
    fn the_same_as_the_text() {
        let trace = parse(&two()).unwrap();
        let text = "num_ranks 2\nrank 0 {\na: calc 500 cpu 1\nb: send 64b to 1 tag 9 cpu 1\n\
                    c: calc 7 cpu 1\nb requires a\nc irequires a\n}\n\
                    rank 1 {\nrecv 64b from -1 tag -1 cpu 1\n}\n";
        let other = parse(text.as_bytes()).unwrap();
        assert_eq!((trace.ranks, &trace.operations), (other.ranks, &other.operations));
        for id in (0..4).map(OperationId) {
            assert_eq!(trace.needs(id), other.needs(id));
        }
        assert_eq!(trace.origin(OperationId(2)), Some(("s.bin", Place::Node(2))));
    }

    #[test]
    fn damaged_ones_are_refused() {
        let whole = two();
        for length in 8..whole.len() {
            let said = parse(&whole[..length]).unwrap_err();
            assert!(said.contains("cut off"), "{length}: {said}");
        }
        let circle = file(&[rank(&[(3, 0, 1, 0, &[1], &[]), (3, 0, 1, 0, &[0], &[])])]);
        assert!(parse(&circle).unwrap_err().contains("waits for"));
        let peer = file(&[rank(&[(1, 5, 1, 0, &[], &[])])]);
        assert!(parse(&peer).unwrap_err().contains("rank 5 of 1"));
        let kind = file(&[rank(&[(9, 0, 1, 0, &[], &[])])]);
        assert!(parse(&kind).unwrap_err().contains("type 9"));
        let list = file(&[rank(&[(3, 0, 1, 0, &[4], &[])])]);
        assert!(parse(&list).unwrap_err().contains("followed by node 4"));
    }
}
