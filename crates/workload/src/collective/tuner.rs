//! [`choose`]: which algorithm NCCL's tuner would take, by its own estimates.
//!
//! The tuner adds a latency and a bandwidth term for every algorithm and protocol and takes the
//! smallest sum. Tables and formulas are those of NCCL 2.30, on hosts with Intel processors.

use super::{Algorithm, Collective};
use crate::layout::Layout;
use xoff_units::{Bytes, Rate, Ratio, Span};

/// How data is marked as arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Protocol {
    /// Four bytes of flag with every four of data.
    Ll,
    /// Eight bytes of flag in every 128.
    Ll128,
    /// Flags beside the data.
    Simple,
}

/// An algorithm and what it is expected to take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Choice {
    /// The algorithm.
    pub algorithm: Algorithm,
    /// The protocol. Programs run Simple whatever it is.
    pub protocol: Protocol,
    /// The tuner's estimate.
    pub time: Span,
}

const PROTOCOLS: [Protocol; 3] = [Protocol::Ll, Protocol::Ll128, Protocol::Simple];

/// Latencies of an algorithm: before all, of a hop over NVLink, of a hop over the network; each for
/// LL, LL128 and Simple, in nanoseconds.
struct Latency {
    base: [u64; 3],
    nvlink: [u64; 3],
    network: [u64; 3],
}

const RING: Latency = Latency {
    base: [6_600, 14_000, 8_400],
    nvlink: [600, 1_900, 3_400],
    network: [2_700, 4_000, 14_000],
};
const TREE: Latency = Latency {
    base: [6_800, 14_000, 8_400],
    nvlink: [600, 1_250, 4_000],
    network: [5_000, 8_500, 14_000],
};

/// What trees of an AllReduce get of their bandwidth in hundredths, by powers of two from 64 bytes to 256 MiB, as NCCL's authors
/// found it; for LL, LL128 and Simple.
const TREE_SHARES: [[u64; 23]; 3] = [
    [
        100, 100, 100, 100, 90, 80, 70, 70, 70, 70, 60, 50, 40, 40, 50, 60, 70, 80, 90, 100, 100,
        100, 100,
    ],
    [
        100, 100, 100, 100, 100, 90, 80, 80, 80, 70, 60, 60, 60, 60, 60, 60, 80, 90, 90, 90, 90,
        100, 100,
    ],
    [90, 90, 90, 90, 90, 90, 90, 80, 70, 60, 60, 50, 50, 50, 50, 60, 70, 80, 70, 70, 80, 90, 90],
];

/// Between servers a step inside one takes this long at least, in nanoseconds.
const OVERHEAD: u64 = 1_000;

/// What LL gets at most of two servers and of more.
const MOST_LL: [Rate; 2] = [Rate::from_bps(39_000_000_000 * 8), Rate::from_bps(20_400_000_000 * 8)];

/// Bytes per rank and channel from which rings with Simple between servers take two fifths longer.
const PLATEAU: u64 = 64;

/// What the tuner would choose among the algorithms that it knows for this collective. `None` for
/// collectives that it does not tune: those have one algorithm.
pub fn choose(collective: Collective, size: Bytes, layout: &Layout) -> Option<Choice> {
    let tuned: &[Algorithm] = match collective {
        // Inside one server a tree is a chain, and NCCL does not use it.
        Collective::AllReduce if layout.domains().len() == 1 => match layout.nvls() {
            Some(_) => &[Algorithm::Ring, Algorithm::Nvls],
            None => &[Algorithm::Ring],
        },
        Collective::AllReduce if super::has_nvls_trees(layout) => {
            &[Algorithm::Ring, Algorithm::Tree, Algorithm::NvlsTree]
        }
        Collective::AllReduce => &[Algorithm::Ring, Algorithm::Tree],
        _ if Algorithm::Pat.is_pat_for(collective, layout) => &[Algorithm::Ring, Algorithm::Pat],
        Collective::AllGather
        | Collective::ReduceScatter
        | Collective::Broadcast { .. }
        | Collective::Reduce { .. } => &[Algorithm::Ring],
        Collective::AllToAll
        | Collective::SendRecv
        | Collective::Gather { .. }
        | Collective::Scatter { .. } => return None,
    };
    let choices = tuned.iter().flat_map(|&algorithm| {
        PROTOCOLS.map(|protocol| {
            let time = estimate(collective, algorithm, protocol, size, layout);
            Choice { algorithm, protocol, time }
        })
    });
    choices.min_by_key(|choice| choice.time)
}

/// The tuner's estimate for one algorithm and protocol.
pub fn estimate(
    collective: Collective,
    algorithm: Algorithm,
    protocol: Protocol,
    size: Bytes,
    layout: &Layout,
) -> Span {
    if matches!(algorithm, Algorithm::Nvls | Algorithm::NvlsTree) {
        return nvls(protocol, size, layout);
    }
    if algorithm == Algorithm::Pat {
        return pat(protocol, size, layout);
    }
    let column = protocol as usize;
    let ranks = u64::from(layout.ranks());
    let nodes = layout.domains().len() as u64;
    let local = layout.domains().iter().map(Vec::len).max().unwrap_or(1) as u64;
    let steps = |factor: u64| (factor * (ranks - 1), factor * (nodes - 1));
    let latency = if algorithm == Algorithm::Tree {
        let up =
            (local - 1) * TREE.nvlink[column] + u64::from(nodes.ilog2()) * TREE.network[column];
        TREE.base[column] + 2 * up
    } else {
        let (all, far) = match collective {
            Collective::AllReduce => steps(2),
            _ => steps(1),
        };
        let near = RING.nvlink[column].max(if nodes > 1 { OVERHEAD } else { 0 });
        let latency = RING.base[column] + (all - far) * near + far * RING.network[column];
        let share = size.get() / (u64::from(2 * layout.rails()) * ranks);
        let plateau = collective == Collective::AllReduce && nodes > 1 && share >= PLATEAU;
        if plateau && protocol == Protocol::Simple { latency * 14 / 10 } else { latency }
    };
    let rate = bus(algorithm, protocol, size, layout);
    Span::from_ns(latency) + rate.time_for(moved(collective, size, ranks))
}

/// NVLS inside servers: a latency of 25 us, and 42 us more for every level of a tree between them. Then every GPU sends and receives
/// everything and its share once more, and a server's NICs everything once where there are two servers, and twice where there
/// are more. It knows no flags: other protocols never are the choice.
fn nvls(protocol: Protocol, size: Bytes, layout: &Layout) -> Span {
    if protocol != Protocol::Simple {
        return Span::MAX;
    }
    let servers = layout.domains().len() as u64;
    let local = u64::from(layout.ranks()).div_ceil(servers);
    let share = Ratio::new(85, 100).of(layout.nvlink().unwrap_or(Rate::ZERO).bps());
    let moved = Bytes::new(size.get().saturating_add(size.get() / local));
    let inside = Rate::from_bps(share).time_for(moved);
    let sent = Bytes::new(size.get().saturating_mul(servers.min(3) - 1));
    let nics = layout.nic_rate().bps().saturating_mul(u64::from(layout.rails()));
    let between = Rate::from_bps(Ratio::new(92, 100).of(nics)).time_for(sent);
    let levels = u64::from(servers.next_power_of_two().ilog2());
    Span::from_us(25 + 42 * levels) + inside.max(between)
}

/// PAT: a latency of 8 us, a bit more than a quarter of a hop with Simple for every level, and 2.8 us for every rank; three quarters of the
/// bandwidth, by which the tuner divides all of the size. It has Simple only: other protocols never are the choice.
fn pat(protocol: Protocol, size: Bytes, layout: &Layout) -> Span {
    if protocol != Protocol::Simple {
        return Span::MAX;
    }
    let servers = layout.domains().len() as u64;
    let level = RING.network[Protocol::Simple as usize] * 10 / 35;
    let latency = 8_000 + u64::from(servers.ilog2()) * level + 2_800 * u64::from(layout.ranks());
    let whole = bus(Algorithm::Pat, protocol, size, layout).bps();
    Span::from_ns(latency) + Rate::from_bps(Ratio::new(3, 4).of(whole)).time_for(size)
}

/// What passes the slowest port of a ring over all channels.
fn moved(collective: Collective, size: Bytes, ranks: u64) -> Bytes {
    let share = match collective {
        Collective::AllReduce => Ratio::new(2 * (ranks - 1), ranks),
        Collective::Broadcast { .. } | Collective::Reduce { .. } | Collective::SendRecv => {
            Ratio::ONE
        }
        _ => Ratio::new(ranks - 1, ranks),
    };
    Bytes::new(share.of(size.get()))
}

/// The bandwidth of all channels together: of a server's NICs, or of NVLink where there is one
/// server, less what the algorithm and the protocol take.
fn bus(algorithm: Algorithm, protocol: Protocol, size: Bytes, layout: &Layout) -> Rate {
    let servers = layout.domains().len();
    let whole = match (servers, layout.nvlink()) {
        (1, Some(nvlink)) => nvlink.bps(),
        _ => layout.nic_rate().bps().saturating_mul(u64::from(layout.rails())),
    };
    let tree = algorithm == Algorithm::Tree;
    let whole = if tree { Ratio::new(92, 100).of(whole) } else { whole };
    let share = match protocol {
        Protocol::Ll if tree => Ratio::new(10, 38),
        Protocol::Ll => Ratio::new(1, 2),
        Protocol::Ll128 => Ratio::new(92, 100),
        Protocol::Simple => Ratio::ONE,
    };
    let mut rate = share.of(whole);
    if protocol == Protocol::Ll && servers > 1 {
        rate = rate.min(MOST_LL[usize::from(servers > 2)].bps());
    }
    let power = (size.get() >> 6).checked_ilog2();
    let shares = &TREE_SHARES[protocol as usize];
    if let Some(&share) = power.and_then(|power| shares.get(power as usize)).filter(|_| tree) {
        rate = Ratio::new(share, 100).of(rate);
    }
    Rate::from_bps(rate)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collective::tests::{cluster, packed};

    #[test]
    fn latencies_are_those_of_the_table() {
        let layout = packed(&cluster(4, 8));
        let of = |algorithm, protocol| {
            estimate(Collective::AllReduce, algorithm, protocol, Bytes::ZERO, &layout)
        };
        // 62 steps, 6 of them over the network.
        let ring = 8_400 + 56 * 3_400 + 6 * 14_000;
        assert_eq!(of(Algorithm::Ring, Protocol::Simple), Span::from_ns(ring));
        assert_eq!(
            of(Algorithm::Tree, Protocol::Ll),
            Span::from_ns(6_800 + 2 * (7 * 600 + 10_000))
        );
    }

    #[test]
    fn small_ones_go_by_trees_and_large_ones_by_rings() {
        let layout = packed(&cluster(32, 8));
        let of = |size| choose(Collective::AllReduce, Bytes::new(size), &layout).unwrap();
        assert_eq!((of(8).algorithm, of(8).protocol), (Algorithm::Tree, Protocol::Ll));
        let large = of(8 << 30);
        assert_eq!((large.algorithm, large.protocol), (Algorithm::Ring, Protocol::Simple));
        // In between there is one change of algorithm, not more.
        let algorithms: Vec<_> = (3..34).map(|power| of(1 << power).algorithm).collect();
        assert_eq!(algorithms.windows(2).filter(|pair| pair[0] != pair[1]).count(), 1);
        let times: Vec<_> = (3..34).map(|power| of(1 << power).time).collect();
        assert!(times.is_sorted());
        assert_eq!(choose(Collective::AllToAll, Bytes::new(1), &layout), None);
    }

    #[test]
    fn one_rank_and_one_server_do_no_harm() {
        for (servers, gpus) in [(1, 1), (1, 8), (2, 1)] {
            let layout = packed(&cluster(servers, gpus));
            for collective in crate::collective::tests::COLLECTIVES {
                let size = Bytes::new(u64::MAX);
                assert!(choose(collective, size, &layout).is_none_or(|c| c.time > Span::ZERO));
            }
        }
    }
}
