//! What all builders need, settled once: the cluster, and the kinds of NIC, switch and cable.

use super::cables::{self, Given};
use super::switches::{self, SwitchKind};
use super::wiring::MAX_NICS;
use crate::catalogue::Catalogue;
use crate::diagnostic::code;
use crate::document::{Report, keys};
use crate::file::{DEFAULT_NIC, FabricFile, Kind, LinkSettings, TransportSection};
use crate::model::{Cable, Tier};
use crate::suggest;
use std::collections::BTreeMap;
use xoff_units::{Length, Rate, Span};

/// NICs that are all alike.
#[derive(Debug, Clone)]
pub(super) struct NicKind {
    pub(super) model: String,
    pub(super) rate: Rate,
    pub(super) latency: Span,
}

impl NicKind {
    /// Stands for a NIC that is reported as unknown.
    fn usual() -> Self {
        let (rate, latency) = (Rate::from_gbps(400), Span::from_ns(500));
        Self { model: DEFAULT_NIC.to_owned(), rate, latency }
    }
}

/// Servers, and what is in each.
#[derive(Debug, Clone, Copy)]
pub(super) struct ClusterSize {
    pub(super) servers: u32,
    pub(super) gpus: u32,
    pub(super) nics: u32,
}

impl ClusterSize {
    pub(super) fn all_nics(self) -> u64 {
        u64::from(self.servers) * u64::from(self.nics)
    }
}

/// What all builders need.
pub(super) struct Terms<'a> {
    pub(super) file: &'a FabricFile,
    pub(super) catalogue: &'a Catalogue,
    pub(super) cluster: ClusterSize,
    pub(super) nic: NicKind,
    /// Transports of NICs other than the cluster's, by model.
    pub(super) transports: &'a BTreeMap<String, TransportSection>,
    pub(super) nvlink: Rate,
    pub(super) nvlink_latency: Span,
    pub(super) nvls: bool,
    pub(super) leaf: SwitchKind,
    pub(super) spine: SwitchKind,
    pub(super) core: SwitchKind,
    pub(super) host_cable: Cable,
    pub(super) leaf_spine_cable: Cable,
    pub(super) spine_core_cable: Cable,
}

impl<'a> Terms<'a> {
    pub(super) fn settle(
        file: &'a FabricFile,
        catalogue: &'a Catalogue,
        transports: &'a BTreeMap<String, TransportSection>,
        report: &mut Report<'_>,
    ) -> Option<Self> {
        let cluster = Some(cluster(file, report)).filter(|size| within_limits(*size, report));
        let nic = nic(file, catalogue, report);
        let layout = &file.fabric;
        let leaf = layout.leaf.as_deref().unwrap_or("generic");
        let spine = layout.spine.as_deref().unwrap_or(leaf);
        let core = layout.core.as_deref().unwrap_or(spine);
        // A tier that copies another's silicon would repeat the complaint about it.
        let known = |name: &str| catalogue.silicon.contains_key(name);
        let leaf_silicon = switches::silicon(leaf, Tier::Leaf, catalogue, report);
        let spine_silicon = match layout.spine.is_some() || known(spine) {
            true => switches::silicon(spine, Tier::Spine, catalogue, report),
            false => leaf_silicon.clone(),
        };
        let core_silicon = match layout.core.is_some() || known(core) {
            true => switches::silicon(core, Tier::Core, catalogue, report),
            false => spine_silicon.clone(),
        };
        let leaf = switches::kind(Tier::Leaf, leaf_silicon?, file, catalogue, report);
        let spine = switches::kind(Tier::Spine, spine_silicon?, file, catalogue, report);
        let core = switches::kind(Tier::Core, core_silicon?, file, catalogue, report);
        let mut cable = |own: &LinkSettings, key: &str, rate: Rate, metres: u64| {
            let given = Given {
                own,
                own_path: keys!["links", key],
                all: &file.links.all,
                default_rate: rate,
                default_length: Length::from_m(metres),
            };
            cables::cable(&given, catalogue, report)
        };
        let links = &file.links;
        let port_rate = Rate::from_bps(nic.rate.bps() / u64::from(layout.homing.ports()));
        let host_cable = cable(&links.host, "host", port_rate, 5);
        let uplink = |lower: &SwitchKind, upper: &SwitchKind| {
            default_uplink(file, host_cable.rate, lower, upper)
        };
        let leaf_spine_cable = cable(&links.leaf_spine, "leaf-spine", uplink(&leaf, &spine), 30);
        let spine_core_cable = cable(&links.spine_core, "spine-core", uplink(&spine, &core), 100);
        Some(Self {
            file,
            catalogue,
            cluster: cluster?,
            nvlink: file.cluster.nvlink.unwrap_or(Rate::from_gbps(3_600)),
            nvlink_latency: nvlink_latency(file, report),
            nvls: file.cluster.nvls.unwrap_or(false),
            nic,
            transports,
            leaf,
            spine,
            core,
            host_cable,
            leaf_spine_cable,
            spine_core_cable,
        })
    }
}

/// Uplinks run at the fastest rate both ends have; in a fat tree all links are alike.
fn default_uplink(file: &FabricFile, host: Rate, lower: &SwitchKind, upper: &SwitchKind) -> Rate {
    let unlimited = lower.silicon.unlimited() || upper.silicon.unlimited();
    if unlimited || matches!(file.fabric.kind, Kind::FatTree | Kind::Custom) {
        return host;
    }
    lower.silicon.port_rate.min(upper.silicon.port_rate)
}

fn nic(file: &FabricFile, catalogue: &Catalogue, report: &mut Report<'_>) -> NicKind {
    let name = file.cluster.nic.as_deref().unwrap_or(DEFAULT_NIC);
    let Some(model) = catalogue.nics.get(name) else {
        report.error(
            code::UNKNOWN_NAME,
            keys!["cluster", "nic"],
            format!("there is no `{name}` in the catalogue of NICs"),
            suggest::help(name, catalogue.nics.keys().map(String::as_str)),
        );
        return NicKind::usual();
    };
    let rate = file.cluster.nic_rate.unwrap_or(model.rate);
    if rate.bps() == 0 {
        report.error(
            code::IMPOSSIBLE,
            keys!["cluster", "nic-rate"],
            "a NIC of rate zero sends nothing",
            format!("`{name}` runs at {}", model.rate),
        );
    }
    let latency = file.nic.latency.unwrap_or(model.latency);
    if latency > Span::from_ms(1000) {
        report.error(
            code::IMPOSSIBLE,
            keys!["nic", "latency"],
            format!("a NIC that takes {latency} is of no use"),
            "real ones take 300ns to 2us",
        );
    }
    check_cores(file, report);
    NicKind { model: model.name.clone(), rate, latency }
}

/// From GPU to GPU through an NVSwitch. NCCL's tuner counts 0.6 us for a hop with data that carries flags, of which
/// some is the kernel's.
const NVLINK_LATENCY: Span = Span::from_ns(400);

fn nvlink_latency(file: &FabricFile, report: &mut Report<'_>) -> Span {
    let latency = file.cluster.nvlink_latency.unwrap_or(NVLINK_LATENCY);
    if latency > Span::from_ms(1) {
        report.error(
            code::IMPOSSIBLE,
            keys!["cluster", "nvlink-latency"],
            format!("an NVLink that takes {latency} is of no use"),
            "real ones take 300ns to 1us",
        );
    }
    latency
}

fn check_cores(file: &FabricFile, report: &mut Report<'_>) {
    match file.nic.core_rate {
        Some(rate) if rate.bps() == 0 => report.error(
            code::IMPOSSIBLE,
            keys!["nic", "core-rate"],
            "cores that move nothing",
            "a core moves some 42Gbps through a kernel's stack",
        ),
        None if file.nic.flow_cores.is_some() => report.error(
            code::IMPOSSIBLE,
            keys!["nic", "flow-cores"],
            "`flow-cores` counts only with a `core-rate`",
            "give `core-rate`, or leave both out: then the NIC does the work",
        ),
        _ => {}
    }
}

fn within_limits(size: ClusterSize, report: &mut Report<'_>) -> bool {
    let fits = size.all_nics() <= MAX_NICS as u64;
    if !fits {
        report.error(
            code::LIMIT,
            keys!["cluster"],
            format!("the cluster has {} NICs", size.all_nics()),
            format!("xoff holds {MAX_NICS} at most"),
        );
    }
    fits
}

fn cluster(file: &FabricFile, report: &mut Report<'_>) -> ClusterSize {
    let given = &file.cluster;
    let fat_tree = file.fabric.kind == Kind::FatTree;
    let mut zero = |key: &str, value: Option<u32>| {
        if value == Some(0) {
            report.error(
                code::IMPOSSIBLE,
                keys!["cluster", key],
                format!("`{key} = 0`: there is no cluster to connect"),
                "give at least 1",
            );
        }
    };
    zero("gpus", given.gpus);
    zero("hosts", given.hosts);
    zero("gpus-per-server", given.gpus_per_server);
    zero("nics-per-server", given.nics_per_server);
    // What is reported is replaced by something possible, so that the rest is checked as well.
    let some = |value: Option<u32>| value.map(|number| number.max(1));
    if let Some(hosts) = some(given.hosts) {
        if given.gpus.is_some() {
            report.error(
                code::IMPOSSIBLE,
                keys!["cluster", "hosts"],
                "`hosts` and `gpus` both give the size of the cluster",
                "keep one of them",
            );
        }
        let gpus = some(given.gpus_per_server).unwrap_or(1);
        let nics = some(given.nics_per_server).unwrap_or(gpus);
        return ClusterSize { servers: hosts, gpus, nics };
    }
    let held = file.fabric.k.filter(|_| fat_tree).map(|k| u64::from(k).saturating_pow(3) / 4);
    let default = held.map_or(64, |hosts| u32::try_from(hosts).unwrap_or(u32::MAX));
    let gpus = some(given.gpus).unwrap_or(default.max(1));
    let usual = if fat_tree { 1 } else { gpus.min(8) };
    let per_server = some(given.gpus_per_server).unwrap_or(usual);
    if !gpus.is_multiple_of(per_server) {
        let (less, more) = (gpus / per_server * per_server, gpus.div_ceil(per_server));
        report.error(
            code::IMPOSSIBLE,
            keys!["cluster", "gpus"],
            format!("{gpus} GPUs do not fill servers of {per_server}"),
            format!(
                "{less} or {} would, or another `gpus-per-server`",
                u64::from(more) * u64::from(per_server)
            ),
        );
    }
    let nics = some(given.nics_per_server).unwrap_or(per_server);
    ClusterSize { servers: gpus.div_ceil(per_server), gpus: per_server, nics }
}
