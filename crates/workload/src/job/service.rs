//! From the remote disks, key-value caches, parameter servers and halos of a scenario to programs.

use super::training::unknown;
use super::{Job, ServiceRun, placement, start};
use crate::collective::Settings;
use crate::layout::{self, Layout};
use crate::logarithm::{self, exponential};
use crate::program::Program;
use crate::resolve::Resolver;
use crate::rounds::{HaloExchange, MOST_NODES, ParameterRound};
use crate::service::{Arrival, Blocks, BlocksSettings, Disk, End, Requests};
use crate::stream::{self, Stream};
use crate::training::{MODELS, Model};
use std::path::Path;
use xoff_fabric::model::{Fabric, NicId, ServerId};
use xoff_fabric::names::Role;
use xoff_fabric::scenario::{
    Common, Halo, KvCache, NvmeOf, ParameterServer, PlacementSetting, Workload,
};
use xoff_units::{Bytes, Ratio, Span};

/// Most places in all queues together, and most requests.
const MOST_PLACES: u64 = 1 << 24;
pub(super) const MOST_REQUESTS: u32 = 1_000_000;
/// Largest cache of a request: a petabyte is a mistake.
pub(super) const LARGEST_CACHE: u64 = 1 << 46;

/// What makes a job of an entry.
pub(super) struct Maker<'a> {
    pub(super) fabric: &'a Fabric,
    pub(super) names: &'a Resolver<'a>,
    pub(super) workload: u32,
    pub(super) seed: u64,
    /// The folder that files are relative to.
    pub(super) base: Option<&'a Path>,
}

impl Maker<'_> {
    /// The job of a workload, if it is of one of these kinds.
    pub(super) fn job(&self, workload: &Workload) -> Option<Result<Job, String>> {
        Some(match workload {
            Workload::NvmeOf(entry) => self.nvme_of(entry),
            Workload::KvCache(entry) => self.kv_cache(entry),
            Workload::Inference(entry) => self.inference(entry),
            Workload::ParameterServer(entry) => self.parameter_server(entry),
            Workload::Halo(entry) => self.halo(entry),
            _ => return None,
        })
    }

    pub(super) fn made(
        &self,
        common: &Common,
        layout: Layout,
        service: ServiceRun,
    ) -> Result<Job, String> {
        Ok(Job {
            workload: self.workload,
            start: start(common)?,
            class: self.names.class(common.class)?,
            layout,
            settings: Settings::default(),
            runs: Vec::new(),
            uneven: None,
            training: None,
            replay: None,
            service: Some(service),
            keeps_connections: true,
            vxlan: common.vxlan,
            own_ports: common.tenant.is_some(),
            refused: None,
        })
    }

    fn nics(&self, servers: &[ServerId]) -> Vec<Vec<NicId>> {
        servers.iter().map(|&server| self.names.server_nics(server).collect()).collect()
    }

    fn nvme_of(&self, entry: &NvmeOf) -> Result<Job, String> {
        let front = Role { key: "initiators", set: entry.initiators.as_ref() };
        let back = Role { key: "targets", set: Some(&entry.targets) };
        let (front, back) = self.names.roles(front, back)?;
        let (initiators, targets) = (self.nics(&front).concat(), self.nics(&back).concat());
        let end = match (entry.operations, entry.duration) {
            (Some(0), _) => return Err("`operations` is 0; give 1 or more".into()),
            (Some(count), None) => End::After(count),
            (None, Some(span)) if !span.is_zero() => End::When(span),
            _ => return Err("give either `operations` or `for`".into()),
        };
        let places = initiators.len() as u64 * u64::from(entry.queue_depth);
        if places == 0 || places > MOST_PLACES {
            return Err(format!("{places} operations under way; 1 to {MOST_PLACES} can be"));
        }
        if entry.block.is_zero() {
            return Err("`block` is zero; an operation needs at least one byte".into());
        }
        let reads = entry.reads.unwrap_or(Ratio::ONE);
        let disk = Disk { block: entry.block, latency: entry.media_latency, reads };
        let settings = BlocksSettings {
            initiators,
            targets,
            depth: entry.queue_depth,
            disk,
            end,
            seed: stream::hash(self.seed, self.workload.into()),
        };
        let program = Program::Blocks(Box::new(Blocks::new(&settings)));
        let service = ServiceRun::new(program, vec![entry.block]);
        self.made(&entry.common, Layout::of_nobody(), service)
    }

    fn kv_cache(&self, entry: &KvCache) -> Result<Job, String> {
        let front = Role { key: "prefill", set: Some(&entry.prefill) };
        let back = Role { key: "decode", set: Some(&entry.decode) };
        let (front, back) = self.names.roles(front, back)?;
        let token = bytes_per_token(entry)?;
        let (least, most) = entry.tokens.bounds();
        if least == 0 || most < least {
            return Err(format!("`tokens` are {least} to {most}; prompts have one or more"));
        }
        let largest = token.get().checked_mul(most.into()).filter(|&all| all <= LARGEST_CACHE);
        if token.is_zero() || largest.is_none() {
            return Err(format!("{most} tokens of {token} are no cache that can be sent"));
        }
        if entry.requests == 0 || entry.requests > MOST_REQUESTS {
            let count = entry.requests;
            return Err(format!("`requests` is {count}; 1 to {MOST_REQUESTS} can be made"));
        }
        let Some(gap) = 1_000_000_000_000u64.checked_div(entry.requests_per_second.into()) else {
            return Err("`requests-per-second` is 0; give 1 or more".into());
        };
        let stream = |purpose| Stream::new(self.seed, self.workload.into(), purpose);
        let (mut gaps, mut tokens) = (stream("request-gap"), stream("request-tokens"));
        let (mut from, mut to) = (stream("request-prefill"), stream("request-decode"));
        let arrival = |_| {
            let after = u128::from(gap) * u128::from(exponential(gaps.next_u64()));
            let count = u64::from(least) + tokens.below(u64::from(most - least) + 1);
            Arrival {
                after: Span::from_ps((after >> logarithm::FRACTION_BITS) as u64),
                from: from.below(front.len() as u64) as u32,
                to: to.below(back.len() as u64) as u32,
                bytes: Bytes::new(token.get() * count),
            }
        };
        let arrivals: Vec<Arrival> = (0..entry.requests).map(arrival).collect();
        let queues = entry.qps.unwrap_or(self.fabric.queue_pairs);
        let requests = Requests::new(arrivals, self.nics(&front), self.nics(&back), queues);
        let sizes = requests.sizes().collect();
        let mut service = ServiceRun::new(Program::Requests(Box::new(requests)), sizes);
        service.objective = entry.objective;
        self.made(&entry.common, Layout::of_nobody(), service)
    }

    fn parameter_server(&self, entry: &ParameterServer) -> Result<Job, String> {
        let front = Role { key: "workers", set: entry.workers.as_ref() };
        let back = Role { key: "servers", set: Some(&entry.servers) };
        let (front, back) = self.names.roles(front, back)?;
        if entry.size.is_zero() {
            return Err("`size` is zero; gradients have at least one byte".into());
        }
        let round = ParameterRound {
            workers: layout::servers_gpus(self.fabric, &front),
            servers: self.nics(&back).concat(),
            size: entry.size,
            compute: entry.compute,
            update: entry.update,
        };
        room(round.nodes())?;
        let graph = round.graph().map_err(|error| error.to_string())?;
        let mut service = ServiceRun::new(Program::Graph(graph), vec![round.bytes()]);
        service.repeat = rounds(entry.rounds)?;
        self.made(&entry.common, Layout::of_nobody(), service)
    }

    fn halo(&self, entry: &Halo) -> Result<Job, String> {
        let halo = HaloExchange {
            grid: entry.grid.clone(),
            periodic: entry.periodic.unwrap_or(true),
            face: entry.size,
            compute: entry.compute,
            rounds: rounds(entry.rounds)?,
        };
        let sides = entry.grid.len();
        let ranks = u32::try_from(halo.ranks()).unwrap_or(u32::MAX);
        if !(2..=3).contains(&sides) || ranks < 2 {
            let text = "it has two or three sides and two or more ranks";
            return Err(format!("there is no grid of {:?}; {text}", entry.grid));
        }
        if entry.size.is_zero() {
            return Err("`size` is zero; a face has at least one byte".into());
        }
        room(halo.nodes())?;
        let seed = stream::hash(self.seed, self.workload.into());
        if let PlacementSetting::Gpus(list) = &entry.placement
            && list.len() as u64 != u64::from(ranks)
        {
            return Err(format!("`placement` lists {} GPUs for {ranks} ranks", list.len()));
        }
        let layout = Layout::new(self.fabric, Some(ranks), &placement(&entry.placement, seed));
        let layout = layout.map_err(|error| error.to_string())?;
        let graph = halo.graph(&layout).map_err(|error| error.to_string())?;
        let bytes = halo.bytes(&layout).0;
        let mut service = ServiceRun::new(Program::Graph(graph), vec![bytes]);
        service.rounds = halo.rounds;
        self.made(&entry.common, layout, service)
    }
}

fn rounds(given: Option<u32>) -> Result<u32, String> {
    match given.unwrap_or(1) {
        rounds @ 1..=1_000_000 => Ok(rounds),
        rounds => Err(format!("`rounds` is {rounds}; 1 to 1000000 can be made")),
    }
}

fn room(nodes: u64) -> Result<(), String> {
    if nodes > MOST_NODES {
        return Err(format!("these are {nodes} transfers, and at most {MOST_NODES} can be held"));
    }
    Ok(())
}

/// Bytes of a token: keys and values of all layers.
fn bytes_per_token(entry: &KvCache) -> Result<Bytes, String> {
    let name = match (&entry.model, entry.bytes_per_token) {
        (None, Some(bytes)) => return Ok(bytes),
        (Some(name), None) => name,
        _ => return Err("give either `model` or `bytes-per-token`".into()),
    };
    let names = MODELS.map(|preset| preset.name);
    let known = Model::named(name).ok_or_else(|| unknown("model", name, &names))?;
    let element = entry.element_bytes.unwrap_or(2);
    Ok(known.model.cache_per_token(element))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collective::Network;
    use crate::program::{Action, RequestId};
    use crate::testing::workloads;
    use crate::{ideal, programs};

    fn pod() -> Fabric {
        Fabric::from_toml("[cluster]\ngpus = 32\n[fabric]\nkind = 'rail'\n").unwrap()
    }

    fn job(text: &str) -> Job {
        programs(&workloads(text), &pod(), 1).unwrap().remove(0)
    }

    /// Bytes that all NICs sent on the ideal network.
    fn moved(job: &Job) -> u64 {
        let mut program = job.programs().unwrap().remove(0).program;
        let outcome = ideal::run(&mut program, &pod(), &Network::default()).unwrap();
        outcome.nics.iter().map(|nic| nic.sent.get()).sum()
    }

    #[test]
    fn every_kind_runs_and_moves_its_bytes() {
        let text = "kind='nvme-of'\ntargets=1\nblock='4KiB'\nqueue-depth=3\noperations=5\n\
                    media-latency='1us'\nreads=0.5";
        // 24 initiators: a command, perhaps a request for data, the block and a response.
        let operations = 24 * 5;
        let sent = moved(&job(text));
        let least = operations * (4096 + 64 + 16);
        assert!((least..=least + operations * 16).contains(&sent), "{sent}");
        assert!(!(sent - least).is_multiple_of(operations * 16), "all read, or all wrote");

        let text = "kind='kv-cache'\nprefill=1\ndecode=[2, 'server3']\nmodel='llama-3-70b'\n\
                    tokens=3\nrequests-per-second=1000000\nrequests=7\nqps=2";
        assert_eq!(moved(&job(text)), 7 * 3 * 320 * 1024);
        let text = "kind='parameter-server'\nservers=1\nsize='1MB'\nrounds=4\nupdate='1us'";
        assert_eq!(moved(&job(text)), 2 * 24 * 1_000_000);
        assert_eq!(job(text).service.unwrap().repeat, 4);
        let text = "kind='halo'\ngrid=[4, 8]\nsize='1MB'\nrounds=2";
        // Rows are servers: only the first side of the grid leaves them.
        assert_eq!(moved(&job(text)), 32 * 2 * 2 * 1_000_000);
    }

    #[test]
    fn the_cache_of_a_token_is_keys_and_values_of_all_layers() {
        let of = |model: &str, rest: &str| {
            let text = format!(
                "kind='kv-cache'\nprefill=1\ndecode=1\nmodel='{model}'\ntokens=1\n\
                 requests-per-second=1\nrequests=1\n{rest}"
            );
            job(&text).service.unwrap().size(RequestId(0)).get()
        };
        assert_eq!(of("llama-3-70b", ""), 2 * 80 * 8 * 128 * 2);
        assert_eq!(of("llama-3-405b", "element-bytes=1"), 2 * 126 * 8 * 128);
    }

    #[test]
    fn requests_come_at_their_rate_and_with_their_tokens() {
        let text = "kind='kv-cache'\nprefill=2\ndecode=2\nbytes-per-token='1KiB'\ntokens=[10, 20]\n\
                    requests-per-second=1000\nrequests=4000";
        let service = job(text).service.unwrap();
        let sizes: Vec<u64> =
            (0..4000).map(|number| service.size(RequestId(number)).get() / 1024).collect();
        assert!(sizes.iter().all(|tokens| (10..=20).contains(tokens)));
        assert_eq!(sizes.iter().min(), Some(&10));
        assert_eq!(sizes.iter().max(), Some(&20));
        let mut program = service.program;
        let outcome = ideal::run(&mut program, &pod(), &Network::default()).unwrap();
        let seconds = outcome.end.as_ps() as f64 / 1e12;
        assert!((3.8..4.2).contains(&seconds), "{seconds}");
    }

    #[test]
    fn a_queue_is_never_deeper_than_it_may_be() {
        let text = "kind='nvme-of'\ntargets=1\ninitiators=[0]\nblock='4KiB'\nqueue-depth=2\n\
                    for='10us'";
        let mut program = job(text).service.unwrap().program;
        let (mut actions, mut pending) = (Vec::new(), Vec::new());
        let (mut open, mut ended) = (0i32, 0);
        program.start(&mut actions);
        for step in 0.. {
            for action in actions.drain(..) {
                match action {
                    Action::Begins { .. } => open += 1,
                    Action::Ends { .. } => (open, ended) = (open - 1, ended + 1),
                    Action::Network { token, .. } => pending.push(token),
                    // The clock runs out in the middle.
                    Action::Wait { token, .. } => pending.insert(0, token),
                    Action::Finished => return assert!(open == 0 && ended >= 16, "{ended}"),
                    Action::Nvlink { .. } | Action::Call { .. } => panic!("only NICs are used"),
                }
            }
            assert!((0..=16).contains(&open), "{open} operations of eight NICs");
            let next = if step < 200 { pending.len() - 1 } else { 0 };
            program.done(pending.remove(next), &mut actions);
        }
    }

    #[test]
    fn mistakes_are_said() {
        let nvme = "kind='nvme-of'\nblock='4KiB'\nqueue-depth=1";
        let kv = "kind='kv-cache'\nprefill=1\ndecode=1\nrequests-per-second=1\nrequests=1";
        let all = [
            (format!("{nvme}\ntargets=4\noperations=1"), "no server is left"),
            (format!("{nvme}\ntargets=1"), "give either `operations` or `for`"),
            (format!("{nvme}\ntargets=1\noperations=0"), "`operations` is 0"),
            ("kind='nvme-of'\nblock='0B'\nqueue-depth=1\ntargets=1\nfor='1us'".into(), "`block`"),
            (
                "kind='nvme-of'\nblock='1B'\nqueue-depth=4294967295\ntargets=1\nfor='1us'".into(),
                "operations under way",
            ),
            (format!("{kv}\ntokens=1"), "give either `model`"),
            (format!("{kv}\ntokens=1\nmodel='gpt-9'"), "there is no model `gpt-9`"),
            (format!("{kv}\ntokens=0\nmodel='llama-3-70b'"), "`tokens` are 0 to 0"),
            (format!("{kv}\ntokens=[5, 4]\nmodel='llama-3-70b'"), "`tokens` are 5 to 4"),
            (
                format!("{kv}\ntokens=4294967295\nbytes-per-token='1000000000000000B'"),
                "no cache that can be sent",
            ),
            ("kind='parameter-server'\nservers=4\nsize='1B'".into(), "no server is left"),
            ("kind='parameter-server'\nservers=1\nsize='1B'\nrounds=0".into(), "`rounds` is 0"),
            ("kind='halo'\ngrid=[32]\nsize='1B'".into(), "there is no grid of [32]"),
            ("kind='halo'\ngrid=[0, 4]\nsize='1B'".into(), "there is no grid"),
            ("kind='halo'\ngrid=[4, 9]\nsize='1B'".into(), "36 ranks are to be placed"),
            ("kind='halo'\ngrid=[4, 4]\nsize='1B'\nrounds=999999".into(), "at most 4000000"),
            (
                "kind='halo'\ngrid=[4294967295, 4294967295, 4294967295]\nsize='1B'".into(),
                "at most 4000000",
            ),
            ("kind='halo'\ngrid=[2, 2]\nsize='1B'\nplacement=[1, 2, 3]".into(), "lists 3 GPUs"),
        ];
        for (text, said) in all {
            let wrong = programs(&workloads(&text), &pod(), 1).unwrap_err();
            assert!(wrong[0].to_string().contains(said), "{said}: {}", wrong[0]);
        }
    }
}
