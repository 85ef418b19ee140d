//! [`choose`]: which algorithm NCCL's tuner would take, by its own estimates.
//!
//! The tuner adds a latency and a bandwidth term for every algorithm and protocol and takes the
//! smallest sum. Tables and formulas are those of NCCL 2.30; the correction factors by size that it applies to
//! trees are left out.

use super::{Algorithm, Collective};
use crate::layout::{Layout, nvls_rate};
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

/// What the tuner would choose among the algorithms that it knows for this collective. `None` for
/// collectives that it does not tune: those have one algorithm.
pub fn choose(collective: Collective, size: Bytes, layout: &Layout) -> Option<Choice> {
    let tuned: &[Algorithm] = match collective {
        // Inside one server a tree is a chain, and NCCL does not use it.
        Collective::AllReduce if layout.domains().len() == 1 => match layout.nvls() {
            Some(_) => &[Algorithm::Ring, Algorithm::Nvls],
            None => &[Algorithm::Ring],
        },
        Collective::AllReduce => &[Algorithm::Ring, Algorithm::Tree],
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
    if algorithm == Algorithm::Nvls {
        return nvls(protocol, size, layout);
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
        RING.base[column] + (all - far) * RING.nvlink[column] + far * RING.network[column]
    };
    Span::from_ns(latency)
        + bus(algorithm, protocol, layout).time_for(moved(collective, size, ranks))
}

/// NVLS inside a server: a latency of 25 us, and then every GPU sends and receives everything and its share once
/// more. It knows no flags: other protocols never are the choice.
fn nvls(protocol: Protocol, size: Bytes, layout: &Layout) -> Span {
    if protocol != Protocol::Simple {
        return Span::MAX;
    }
    let ranks = u64::from(layout.ranks());
    let rate = nvls_rate(layout.nvlink().unwrap_or(Rate::ZERO));
    let moved = Bytes::new(size.get().saturating_add(size.get() / ranks));
    Span::from_us(25) + rate.time_for(moved)
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
fn bus(algorithm: Algorithm, protocol: Protocol, layout: &Layout) -> Rate {
    let whole = match (layout.domains().len(), layout.nvlink()) {
        (1, Some(nvlink)) => nvlink.bps(),
        _ => layout.nic_rate().bps().saturating_mul(u64::from(layout.rails())),
    };
    let protocol = match protocol {
        Protocol::Ll => Ratio::new(1, 2),
        Protocol::Ll128 => Ratio::new(92, 100),
        Protocol::Simple => Ratio::ONE,
    };
    let algorithm = if algorithm == Algorithm::Tree { Ratio::new(92, 100) } else { Ratio::ONE };
    Rate::from_bps(algorithm.of(protocol.of(whole)))
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
