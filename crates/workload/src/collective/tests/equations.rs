//! The chunk pipeline as equations, solved by going over them until nothing changes.
//!
//! Nothing here has events, tokens or state machines: every piece has the times at which it may leave, leaves and has
//! landed, and each is the largest of those it waits for, with its time on the wire and its latency added. Ports
//! are the only ones that choose: told when pieces come, they serve them in turn. Programs on
//! [`crate::ideal`] have to take as long.

mod exchange;
mod machine;

use super::*;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// Of each collective and algorithm.
const CASES: u32 = 6;

/// A piece of a connection: which of its pieces, by number.
type Name = (usize, usize);

/// A piece that passes two ports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Passage {
    /// When it comes to the first.
    comes: u64,
    piece: Name,
    bytes: u64,
    from: u32,
    to: u32,
}

/// When each of them leaves a port that gives connections turns, by bytes.
fn leave(mut all: Vec<Passage>, rate: Rate) -> Vec<(u64, Passage)> {
    all.sort_unstable();
    let mut next: BTreeMap<usize, u64> = BTreeMap::new();
    let (mut waiting, mut left) = (BinaryHeap::new(), Vec::new());
    let (mut free, mut turn) = (0, 0);
    let mut coming = all.into_iter().peekable();
    loop {
        let now = match (waiting.is_empty(), coming.peek()) {
            (true, None) => return left,
            (true, Some(passage)) => passage.comes.max(free),
            (false, _) => free,
        };
        while let Some(passage) = coming.next_if(|passage| passage.comes <= now) {
            let connection = passage.piece.0;
            let own = next.get(&connection).copied().unwrap_or(0).max(turn);
            next.insert(connection, own + passage.bytes);
            waiting.push(Reverse((own, passage)));
        }
        if let Some(Reverse((own, passage))) = waiting.pop() {
            turn = own;
            left.push((now, passage));
            free = now + rate.time_for(Bytes::new(passage.bytes)).as_ps();
        }
    }
}

/// When pieces have landed that pass ports of this rate, so far apart. Receivers take what comes first.
fn land(all: Vec<Passage>, rate: Rate, latency: Span) -> Vec<(Name, u64)> {
    let mut senders: BTreeMap<u32, Vec<Passage>> = BTreeMap::new();
    all.into_iter().for_each(|passage| senders.entry(passage.from).or_default().push(passage));
    let mut receivers: BTreeMap<u32, Vec<(u64, Passage)>> = BTreeMap::new();
    for (left, passage) in senders.into_values().flat_map(|all| leave(all, rate)) {
        receivers.entry(passage.to).or_default().push((left + latency.as_ps(), passage));
    }
    let mut landed = Vec::new();
    for mut all in receivers.into_values() {
        all.sort_unstable_by_key(|&(arrives, passage)| (arrives, passage.piece));
        let mut free = 0;
        for (arrives, passage) in all {
            free = free.max(arrives) + rate.time_for(Bytes::new(passage.bytes)).as_ps();
            landed.push((passage.piece, free));
        }
    }
    landed
}

/// The two kinds of ports.
struct Ports {
    network: Network,
    nic: Rate,
    nvlink: Rate,
    /// From a free buffer to the word of it at the sender.
    ask: u64,
}

impl Ports {
    fn new(layout: &Layout, settings: &Settings, network: Network) -> Self {
        let nic = network.nic(layout.nic_rate());
        let nvlink = network.nvlink(layout.nvlink().unwrap_or(Rate::ZERO));
        let ask = (nic.time_for(settings.clear_to_send) + network.latency).as_ps();
        Self { network, nic, nvlink, ask }
    }

    fn far(&self, all: Vec<Passage>) -> Vec<(Name, u64)> {
        land(all, self.nic, self.network.latency)
    }

    fn near(&self, all: Vec<Passage>) -> Vec<(Name, u64)> {
        land(all, self.nvlink, self.network.nvlink_latency)
    }
}

/// A collective somewhere, with its time and what the equations say.
#[derive(Debug)]
#[expect(dead_code, reason = "printed when an assertion fails")]
struct Case {
    servers: u32,
    gpus: u32,
    collective: Collective,
    algorithm: Algorithm,
    size: u64,
    settings: Settings,
    network: Network,
    end: Span,
    expected: Span,
}

fn case(
    (servers, gpus): (u32, u32),
    (collective, algorithm): (Collective, Algorithm),
    size: u64,
    settings: Settings,
    network: Network,
) -> Case {
    let fabric = cluster(servers, gpus);
    let layout = packed(&fabric);
    let mut made = program(collective, algorithm, Bytes::new(size), &layout, &settings).unwrap();
    let ports = Ports::new(&layout, &settings, network);
    let expected = match &made {
        Program::Machine(machine) => machine::time(machine, ports),
        Program::Exchange(exchange) => exchange::time(exchange, ports),
        _ => panic!("neither workers nor pairs"),
    };
    let end = Span::from_ps(ideal::run(&mut made, &fabric, &network).unwrap().end.as_ps());
    Case { servers, gpus, collective, algorithm, size, settings, network, end, expected }
}

/// A network, and what workers cost, of any kind.
fn any_costs(stream: &mut Stream) -> (Settings, Network) {
    let network = any_network(stream);
    let sometimes = |stream: &mut Stream| stream.below(3) == 0;
    let cost = Cost {
        launch: Span::from_us(u64::from(sometimes(stream)) * 7),
        nvls_launch: Span::ZERO,
        slice: Span::from_ns(u64::from(sometimes(stream)) * 1_700),
        copy_rate: sometimes(stream).then_some(Rate::from_gbps(188)),
        pair_rate: sometimes(stream).then_some(Rate::from_gbps(90)),
        proxy: Span::from_ns(u64::from(sometimes(stream)) * 4_300),
        flags: sometimes(stream).then_some(Flags {
            slice: Span::from_ns(stream.below(900)),
            proxy: Span::from_ns(stream.below(3_000)),
            rate: Rate::from_gbps(20 + stream.below(90)),
        }),
        lines: sometimes(stream).then_some(Flags {
            slice: Span::from_ns(stream.below(1_500)),
            proxy: Span::from_ns(stream.below(4_000)),
            rate: Rate::from_gbps(90 + stream.below(90)),
        }),
    };
    let settings = Settings { channels: any_channels(stream), cost, ..Settings::default() };
    (settings, network)
}

/// Every collective by every algorithm, of any size on any number of ranks, whatever the latencies: the time is
/// what the equations say, to the picosecond.
#[test]
fn every_collective_takes_what_the_equations_say() {
    let mut stream = Stream::new(1, 0, "equations");
    for collective in ALL {
        // Where all is sent at once there is nothing to solve.
        let algorithms = Algorithm::of(collective).iter();
        for &algorithm in algorithms.filter(|&&algorithm| algorithm != Algorithm::Direct) {
            for _ in 0..CASES {
                let gpus = [1, 1, 2, 4, 8][stream.below(5) as usize];
                let servers = 2 + stream.below(7) as u32;
                let size = 1u64 << (7 + stream.below(18));
                let size = size + stream.below(size);
                let (settings, network) = any_costs(&mut stream);
                let kind = (collective, algorithm);
                let case = case((servers, gpus), kind, size, settings, network);
                assert_eq!(case.end, case.expected, "{case:?}");
            }
        }
    }
}

/// Up to a thousand ranks.
#[test]
fn many_ranks_take_what_the_equations_say() {
    let network = Network { latency: Span::from_us(2), ..Network::default() };
    let settings = Settings { channels: Some(2), ..Settings::without_cost() };
    for (collective, algorithm, servers, gpus, size) in [
        (Collective::AllReduce, Algorithm::Tree, 1024, 1, 1 << 20),
        (Collective::Broadcast { root: RankId(700) }, Algorithm::Tree, 128, 8, 9 << 20),
        (Collective::Broadcast { root: RankId(3) }, Algorithm::Ring, 32, 8, 2 << 20),
        (Collective::AllReduce, Algorithm::Ring, 48, 1, 4 << 20),
        (Collective::AllReduce, Algorithm::Rail, 12, 8, 8 << 20),
        (Collective::AllToAll, Algorithm::Pairwise, 48, 1, 8 << 20),
        (Collective::AllToAll, Algorithm::Pxn, 8, 8, 8 << 20),
        (Collective::SendRecv, Algorithm::Pxn, 128, 8, 4 << 20),
        (Collective::Gather { root: RankId(9) }, Algorithm::Pairwise, 1024, 1, 64 << 20),
        (Collective::Scatter { root: RankId(9) }, Algorithm::Pairwise, 1024, 1, 64 << 20),
        (Collective::Reduce { root: RankId(200) }, Algorithm::Ring, 32, 8, 2 << 20),
    ] {
        let case = case((servers, gpus), (collective, algorithm), size, settings, network);
        assert_eq!(case.end, case.expected, "{case:?}");
    }
}
