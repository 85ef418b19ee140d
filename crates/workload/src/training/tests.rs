use super::*;
use crate::collective::Network;
use crate::ideal;
use crate::layout::{Layout, Placement};
use xoff_fabric::model::{Fabric, Server};
use xoff_units::{Ratio, Span};

mod four_ways;
mod models;
mod published;
mod small;

/// So many servers of 8 GPUs with a 400G NIC each. Cables are those of the first server: they are
/// looked at for their rates alone.
fn cluster(servers: u32) -> Fabric {
    let text = "[cluster]\ngpus = 8\n[fabric]\nkind = 'single'\nleaf = 'tomahawk-5'\n";
    let mut model = (*Fabric::from_toml(text).unwrap()).clone();
    let (server, nics) = (model.servers[0].clone(), model.nics.clone());
    model.servers.clear();
    model.nics.clear();
    for number in 0..servers {
        model.nics.extend(nics.clone());
        model.servers.push(Server { nics: number * 8..(number + 1) * 8, ..server.clone() });
    }
    Fabric::unchecked_for_tests(model)
}

fn packed(fabric: &Fabric) -> Layout {
    Layout::new(fabric, None, &Placement::Packed).unwrap()
}

fn model(name: &str) -> Model {
    Model::named(name).unwrap().model
}

fn h100() -> Gpu {
    Gpu::named("h100").unwrap().gpu
}

/// What fabrics have by default: RoCE headers leave 98 % of packets of 4 KiB. What NCCL makes of NVLink, 350 of
/// 450 GB/s, is in the cost of collectives.
fn network() -> Network {
    Network {
        latency: Span::from_us(2),
        nvlink_latency: Span::from_ns(400),
        nic_share: Ratio::new(98, 100),
        nvlink_share: Ratio::ONE,
    }
}
