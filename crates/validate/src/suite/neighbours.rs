//! Traffic of different owners side by side: storage beside a collective, key-value caches beside decoding, two tenants.
//!
//! Each owner is a tenant of the scenario and is also simulated alone, with the same paths and draws, so that what they
//! cost each other can be told from what the fabric costs both. They work on up to [`MOST`] servers from everywhere, and
//! each NIC moves the same in every fabric: the experiments take a small part of the suite at any size.

use super::layout::Layout;
use super::load::queue_pairs;
use crate::experiment::Experiment;
use crate::phase::Phase;
use xoff_fabric::model::{Fabric, NicId, PortId};
use xoff_fabric::scenario::{
    AlgorithmSetting, Checkpoint, Collective, Common, CostName, CostSetting, KvCache, NodeRef,
    PlacementSetting, ServerSet, TokenSetting, Workload, Writer,
};
use xoff_units::{Bytes, Span};

/// A checkpoint is written beside a collective.
pub(crate) const STORAGE: &str = "storage";
/// Caches go to decode servers that exchange tokens.
pub(crate) const SERVING: &str = "kv-cache";
/// Two tenants train.
pub(crate) const TENANTS: &str = "tenants";
/// Names of their traffic.
pub(crate) const TRAINING: &str = "training";
pub(crate) const CHECKPOINT: &str = "checkpoint";
pub(crate) const CACHES: &str = "caches";
pub(crate) const DECODING: &str = "decoding";

/// Servers at most, and with `--quick`.
const MOST: usize = 16;
const QUICK: usize = 8;
/// What a collective works on, for each NIC of a server.
const REDUCED: u64 = 8 << 20;
/// What a GPU writes of a checkpoint: half of what its NIC sends for the collective.
const WRITTEN: Bytes = Bytes::new(8 << 20);
/// One server in so many stores.
const PER_STORAGE: usize = 4;
/// What a NIC sends of a cache, in tokens of the usual size.
const CACHE_OF_NIC: u64 = 1 << 20;
const TOKENS: u32 = 1_000;
/// The share of the prefill servers' rate that caches take on average.
const CACHE_LOAD: f64 = 0.2;
/// Requests for each prefill server.
const REQUESTS: usize = 16;
/// What a decoding GPU exchanges in one step, and how many steps there are.
const EXCHANGED: Bytes = Bytes::new(1 << 20);
const STEPS: u32 = 4;

pub(super) fn experiments(fabric: &Fabric, quick: bool) -> Vec<Experiment> {
    let Some(cast) = Cast::new(fabric, if quick { QUICK } else { MOST }) else {
        return Vec::new();
    };
    [cast.storage(), cast.serving(), cast.tenants()].into_iter().flatten().collect()
}

/// The servers that take part.
struct Cast<'a> {
    fabric: &'a Fabric,
    servers: Vec<usize>,
    /// NICs of each, all alike.
    nics: u64,
}

impl<'a> Cast<'a> {
    /// Servers from everywhere; none where servers differ, as roles would then decide what is measured.
    fn new(fabric: &'a Fabric, most: usize) -> Option<Self> {
        let all = fabric.servers.len();
        let nics = fabric.servers.first()?.nics.len() as u64;
        let has_gpus = fabric.servers.iter().all(|server| server.gpus > 0);
        if !Layout::of(fabric).alike || nics == 0 || !has_gpus {
            return None;
        }
        let count = all.min(most);
        let servers = (0..count).map(|at| at * all / count).collect();
        Some(Self { fabric, servers, nics })
    }

    /// Everyone trains but one server in four, which store what the others write.
    fn storage(&self) -> Option<Experiment> {
        let stores = (self.servers.len() / PER_STORAGE).max(1);
        let storage: Vec<usize> = self.every(PER_STORAGE).into_iter().take(stores).collect();
        let others: Vec<usize> =
            self.servers.iter().copied().filter(|server| !storage.contains(server)).collect();
        if others.len() < 2 {
            return None;
        }
        let checkpoint = Checkpoint {
            size: WRITTEN,
            storage: list(&storage),
            servers: Some(list(&others)),
            each: Writer::Gpu,
            stripes: None,
            stagger: None,
            common: owned(CHECKPOINT),
        };
        let title = format!(
            "{} servers run an AllReduce and write {WRITTEN} per GPU to {} storage servers",
            others.len(),
            storage.len()
        );
        let experiment = Experiment::new(STORAGE, Phase::Workload, title)
            .with(self.reduction(&others, TRAINING))
            .with(Workload::Checkpoint(checkpoint));
        Some(experiment)
    }

    /// Half of the servers send caches to the other half, whose GPUs exchange what they decode.
    fn serving(&self) -> Option<Experiment> {
        let (prefill, decode) = self.halves()?;
        let bytes = CACHE_OF_NIC * self.nics;
        let rate = self.fabric.nic_rate(&self.fabric.nics[0]).bps() as f64 / 8.0;
        let seconds = CACHE_OF_NIC as f64 / rate.max(1.0);
        let caches = KvCache {
            prefill: list(&prefill),
            decode: list(&decode),
            model: None,
            element_bytes: None,
            bytes_per_token: Some(Bytes::new(bytes / u64::from(TOKENS))),
            tokens: TokenSetting::Fixed(TOKENS),
            requests_per_second: (CACHE_LOAD * prefill.len() as f64 / seconds).max(1.0) as u32,
            requests: (REQUESTS * prefill.len()) as u32,
            objective: None,
            qps: Some(queue_pairs(self.fabric)).filter(|&number| number > 1),
            common: owned(CACHES),
        };
        let exchange = Collective {
            size: Some(EXCHANGED),
            repeat: Some(STEPS),
            algorithm: AlgorithmSetting::Auto,
            qps: Some(queue_pairs(self.fabric)).filter(|&number| number > 1),
            placement: PlacementSetting::Gpus(self.gpus(&decode)),
            cost: CostSetting::Named(CostName::None),
            common: owned(DECODING),
            ..Collective::default()
        };
        let title = format!(
            "{} prefill servers send caches of {} to {} decode servers, which exchange tokens",
            prefill.len(),
            Bytes::new(bytes),
            decode.len()
        );
        let experiment = Experiment::new(SERVING, Phase::Workload, title)
            .with(Workload::KvCache(caches))
            .with(Workload::AllToAllCollective(exchange.into()));
        Some(experiment)
    }

    /// Two tenants whose servers take turns.
    fn tenants(&self) -> Option<Experiment> {
        let (one, two) = self.halves()?;
        let title = format!("Two tenants run an AllReduce on {} servers each", one.len());
        let experiment = Experiment::new(TENANTS, Phase::Workload, title)
            .with(self.reduction(&one, "tenant 1"))
            .with(self.reduction(&two, "tenant 2"));
        Some(experiment)
    }

    /// Every second server, and the others; none without two for each.
    fn halves(&self) -> Option<(Vec<usize>, Vec<usize>)> {
        let one = self.every(2);
        let two = self.servers.iter().copied().filter(|server| !one.contains(server)).collect();
        let two: Vec<usize> = two;
        (one.len() > 1 && two.len() > 1).then_some((one, two))
    }

    fn every(&self, step: usize) -> Vec<usize> {
        self.servers.iter().copied().step_by(step).collect()
    }

    fn reduction(&self, servers: &[usize], name: &str) -> Workload {
        Workload::AllReduce(Collective {
            size: Some(Bytes::new(REDUCED * self.nics)),
            algorithm: AlgorithmSetting::Ring,
            qps: Some(queue_pairs(self.fabric)).filter(|&number| number > 1),
            placement: PlacementSetting::Gpus(self.gpus(servers)),
            // Nothing but the network takes time, so that what is lost is the network's.
            cost: CostSetting::Named(CostName::None),
            common: owned(name),
            ..Collective::default()
        })
    }

    /// The GPUs of servers, as placements count them.
    fn gpus(&self, servers: &[usize]) -> Vec<u32> {
        let mut first = vec![0];
        for server in &self.fabric.servers {
            first.push(first[first.len() - 1] + server.gpus);
        }
        servers.iter().flat_map(|&server| first[server]..first[server + 1]).collect()
    }
}

/// Traffic of a tenant of its own.
fn owned(name: &str) -> Common {
    Common { name: Some(name.to_owned()), tenant: Some(name.to_owned()), ..Common::default() }
}

fn list(servers: &[usize]) -> ServerSet {
    ServerSet::List(servers.iter().map(|&server| NodeRef::Number(server as u32)).collect())
}

/// What a NIC of a writer sends of the checkpoint at line rate: the time that a collective beside it must lose.
pub(crate) fn time_to_write(fabric: &Fabric) -> Span {
    let gpus = fabric.servers.first().map_or(1, |server| u64::from(server.gpus));
    let nics = fabric.servers.first().map_or(1, |server| server.nics.len() as u64);
    let bytes = WRITTEN.get() * gpus / nics.max(1);
    fabric.nic_rate(&fabric.nics[NicId(0).index()]).time_for(Bytes::new(bytes))
}

/// The time that a cache takes from NICs that do nothing else: a NIC's part is one message, which keeps to one port
/// however many the NIC has.
pub(crate) fn time_of_a_cache(fabric: &Fabric) -> Span {
    let first = fabric.nics[NicId(0).index()].ports.start;
    fabric.cable(PortId(first)).rate.time_for(Bytes::new(CACHE_OF_NIC))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suite::{Choice, within};

    fn fabric(gpus: u32) -> Fabric {
        let text = format!("[cluster]\ngpus = {gpus}\n[fabric]\nkind = 'rail'\n");
        Fabric::from_toml(&text).unwrap()
    }

    #[test]
    fn they_are_made_where_there_are_servers_for_them() {
        let ids = |gpus| -> Vec<String> {
            experiments(&fabric(gpus), false).into_iter().map(|one| one.id).collect()
        };
        assert_eq!(ids(16), [""; 0]);
        assert_eq!(ids(24), [STORAGE]);
        assert_eq!(ids(32), [STORAGE, SERVING, TENANTS]);
        assert_eq!(ids(1_024), [STORAGE, SERVING, TENANTS]);
    }

    /// Each is a small part of the suite, or takes less than a second.
    #[test]
    fn they_are_cheap() {
        for (gpus, quick) in [(64, false), (64, true), (256, false), (256, true), (1_024, true)] {
            let plan = within(&fabric(gpus), &Choice { quick, ..Choice::default() }, None);
            let all = plan.hops() as f64;
            for (one, cost) in plan.experiments.iter().zip(&plan.costs) {
                if [STORAGE, SERVING, TENANTS].contains(&one.id.as_str()) {
                    let share = cost.hops as f64 / all;
                    let short = cost.hops < 1_300_000;
                    assert!(
                        share < 0.03 || short,
                        "{} of {gpus}: {share:.3}, quick {quick}",
                        one.id
                    );
                    assert!(cost.hops > 10_000, "{} moves {}", one.id, cost.hops);
                }
            }
        }
    }
}
