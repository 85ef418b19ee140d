mod data;
mod equations;
mod moves;
mod order;
mod published;
mod repeats;
mod times;
mod uneven;

use super::*;
use crate::ideal::{self, Outcome};
use crate::layout::Placement;
use crate::stream::Stream;
use proptest::prelude::*;
use xoff_fabric::model::Fabric;
use xoff_units::Span;

/// So many servers of so many GPUs with a 400G NIC each, on one switch.
pub(super) fn cluster(servers: u32, gpus: u32) -> Fabric {
    shared_nics(servers, gpus, gpus)
}

/// The same with so many NICs in a server.
pub(super) fn shared_nics(servers: u32, gpus: u32, nics: u32) -> Fabric {
    // The switch is nothing to a program; its ports only have to suffice.
    let text = format!(
        "[cluster]\ngpus = {}\ngpus-per-server = {gpus}\nnics-per-server = {nics}\n\
         [fabric]\nkind = 'single'\nleaf = 'tomahawk-5'\n",
        servers * gpus
    );
    let one = Fabric::from_toml(
        &text.replace(&format!("gpus = {}\n", servers * gpus), &format!("gpus = {gpus}\n")),
    )
    .unwrap();
    let mut one = (*one).clone();
    // Ports of the model are used for rates alone.
    let (server, nic) = (one.servers[0].clone(), one.nics[0].clone());
    one.servers.clear();
    one.nics.clear();
    for number in 0..servers {
        let nics = number * nics..(number + 1) * nics;
        one.nics.extend(nics.clone().map(|_| nic.clone()));
        one.servers.push(xoff_fabric::model::Server { nics, ..server.clone() });
    }
    Fabric::unchecked_for_tests(one)
}

/// Latencies of any kind.
pub(super) fn any_network(stream: &mut Stream) -> Network {
    Network {
        latency: Span::from_ns(100 + stream.below(9_000)),
        nvlink_latency: Span::from_ns(stream.below(2_000)),
        ..Network::default()
    }
}

/// Any number of channels, or the usual one.
pub(super) fn any_channels(stream: &mut Stream) -> Option<u32> {
    (stream.below(2) == 0).then(|| 1 + stream.below(8) as u32)
}

pub(super) fn packed(fabric: &Fabric) -> Layout {
    Layout::new(fabric, None, &Placement::Packed).unwrap()
}

pub(super) const COLLECTIVES: [Collective; 7] = [
    Collective::AllReduce,
    Collective::AllGather,
    Collective::ReduceScatter,
    Collective::AllToAll,
    Collective::Broadcast { root: RankId(0) },
    Collective::Reduce { root: RankId(0) },
    Collective::SendRecv,
];

/// All of them, and Gather and Scatter, which need a byte for every rank.
pub(super) const ALL: [Collective; 9] = {
    let [a, b, c, d, e, f, g] = COLLECTIVES;
    let root = RankId(0);
    [a, b, c, d, e, f, g, Collective::Gather { root }, Collective::Scatter { root }]
};

/// The same with another root, where there is one.
pub(super) fn rooted(collective: Collective, root: RankId) -> Collective {
    match collective {
        Collective::Broadcast { .. } => Collective::Broadcast { root },
        Collective::Gather { .. } => Collective::Gather { root },
        Collective::Reduce { .. } => Collective::Reduce { root },
        Collective::Scatter { .. } => Collective::Scatter { root },
        other => other,
    }
}

pub(super) fn run(
    (collective, algorithm): (Collective, Algorithm),
    size: u64,
    fabric: &Fabric,
    layout: &Layout,
    settings: &Settings,
    network: &Network,
) -> Outcome {
    let mut program = program(collective, algorithm, Bytes::new(size), layout, settings).unwrap();
    ideal::run(&mut program, fabric, network).unwrap()
}
