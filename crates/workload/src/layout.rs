//! [`Layout`]: which GPU of a fabric each rank of a job is.

use crate::collective::Groups;
use crate::stream::Stream;
use std::collections::BTreeMap;
use std::sync::Arc;
use xoff_fabric::model::{Fabric, NicId, Server, ServerId};
use xoff_units::{Rate, Ratio, Span};

/// A GPU, counted through the servers of a fabric.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct GpuId(pub u32);

impl GpuId {
    /// The id as an index.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A rank of a job, counted from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct RankId(pub u32);

impl RankId {
    /// The id as an index.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// How the ranks of a job come to sit on GPUs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Placement {
    /// The first GPUs of the fabric, in order.
    Packed,
    /// Whole servers, but any of them in any order: what a scheduler leaves after a while.
    Fragmented {
        /// Seed of the draw.
        seed: u64,
    },
    /// These GPUs, rank by rank.
    Listed(Vec<GpuId>),
}

/// Why a job cannot be placed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LayoutError {
    /// More ranks than GPUs.
    #[error("{wanted} ranks are to be placed, and the fabric has {there} GPUs with a NIC")]
    TooMany {
        /// Ranks wanted.
        wanted: u32,
        /// GPUs there.
        there: u32,
    },
    /// No ranks at all.
    #[error("a job needs at least one rank")]
    Empty,
    /// A GPU that the fabric does not have, or one in a server without a NIC.
    #[error("there is no GPU {0} with a NIC in its server")]
    NoGpu(u32),
    /// A GPU listed twice.
    #[error("GPU {0} is listed twice")]
    Twice(u32),
    /// Two ranks that could talk to each other by no way.
    #[error("GPU {0} shares its NIC with another rank, and their server has no NVLink")]
    NoWay(u32),
}

/// Where a rank sits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seat {
    /// Its GPU.
    pub gpu: GpuId,
    /// The NIC that is nearest to it.
    pub nic: NicId,
    /// The number of that NIC within its server.
    pub rail: u32,
    /// The NVLink domain it is in, counted through the job.
    pub domain: u32,
}

/// Which GPU each rank of a job is, and which ranks share an NVLink domain.
#[derive(Debug, Clone)]
pub struct Layout {
    seats: Vec<Seat>,
    /// Ranks of each domain, in rank order. Domains in the order of their first rank.
    domains: Vec<Vec<RankId>>,
    /// NICs of the server that has most.
    rails: u32,
    /// The slowest of the job's NICs.
    nic_rate: Rate,
    /// The slowest NVLink of the job's domains with more than one rank.
    nvlink: Option<Rate>,
    /// The switches that add up for the job.
    aggregation: Option<Arc<Groups>>,
    /// The number of the first port of the NVSwitches, if those of all its domains add up.
    nvls: Option<u32>,
}

impl Layout {
    /// Places `ranks` ranks, or as many as there are GPUs (or entries in the list) if that is not
    /// said. GPUs of a server without NVLink are each a domain of their own: what they have to say
    /// to each other goes over the network.
    pub fn new(
        fabric: &Fabric,
        ranks: Option<u32>,
        placement: &Placement,
    ) -> Result<Self, LayoutError> {
        let gpus = gpus(fabric);
        let there = gpus.iter().flatten().count() as u32;
        let wanted = match placement {
            Placement::Listed(list) => ranks.unwrap_or(list.len() as u32),
            _ => ranks.unwrap_or(there),
        };
        let order = match placement {
            Placement::Packed => all(&gpus),
            Placement::Fragmented { seed } => fragmented(fabric, &gpus, *seed),
            Placement::Listed(list) => checked(list, &gpus)?,
        };
        if wanted == 0 {
            return Err(LayoutError::Empty);
        }
        if wanted as usize > order.len() {
            return Err(LayoutError::TooMany { wanted, there: order.len() as u32 });
        }
        let layout = Self::seated(fabric, &gpus, &order[..wanted as usize]);
        layout.check()?;
        Ok(layout)
    }

    /// Of no rank: a job that goes between servers and has no ranks.
    pub(crate) fn of_nobody() -> Self {
        let (seats, domains) = (Vec::new(), Vec::new());
        let aggregation = None;
        Self {
            seats,
            domains,
            rails: 0,
            nic_rate: Rate::ZERO,
            nvlink: None,
            aggregation,
            nvls: None,
        }
    }

    /// Some of the ranks as a job of their own, in this order. Its rails are the NICs that they are
    /// nearest to: a group of GPUs uses no others.
    pub fn group(&self, ranks: &[RankId]) -> Self {
        let mut rails: Vec<u32> = ranks.iter().map(|&rank| self.seat(rank).rail).collect();
        rails.sort_unstable();
        rails.dedup();
        let mut found = BTreeMap::<u32, u32>::new();
        let mut domains: Vec<Vec<RankId>> = Vec::new();
        let mut seats = Vec::with_capacity(ranks.len());
        for (&rank, number) in ranks.iter().zip(0..) {
            let seat = self.seat(rank);
            let domain = *found.entry(seat.domain).or_insert(domains.len() as u32);
            if domain as usize == domains.len() {
                domains.push(Vec::new());
            }
            domains[domain as usize].push(RankId(number));
            let rail = rails.partition_point(|&rail| rail < seat.rail) as u32;
            seats.push(Seat { domain, rail, ..seat });
        }
        let shared = domains.iter().any(|ranks| ranks.len() > 1);
        let nvlink = self.nvlink.filter(|_| shared);
        let (rails, nic_rate) = (rails.len() as u32, self.nic_rate);
        let nvls = self.nvls.filter(|_| shared);
        Self { seats, domains, rails, nic_rate, nvlink, aggregation: None, nvls }
    }

    /// The same ranks, with switches that add up for them.
    pub fn aggregated(self, groups: Groups) -> Self {
        Self { aggregation: Some(Arc::new(groups)), ..self }
    }

    /// The switches that add up for the job, if any do.
    pub fn aggregation(&self) -> Option<&Groups> {
        self.aggregation.as_deref()
    }

    /// Ranks of different domains have different NICs.
    fn check(&self) -> Result<(), LayoutError> {
        let mut domain_of = BTreeMap::<NicId, u32>::new();
        let mut alone =
            |seat: &Seat| *domain_of.entry(seat.nic).or_insert(seat.domain) != seat.domain;
        match self.seats.iter().find(|seat| alone(seat)) {
            Some(seat) => Err(LayoutError::NoWay(seat.gpu.0)),
            None => Ok(()),
        }
    }

    fn seated(fabric: &Fabric, gpus: &[Option<Gpu>], order: &[GpuId]) -> Self {
        let mut found = BTreeMap::<u32, u32>::new();
        let mut domains: Vec<Vec<RankId>> = Vec::new();
        let mut seats = Vec::with_capacity(order.len());
        let (mut rails, mut nic_rate) = (0, Rate::from_bps(u64::MAX));
        for (&id, rank) in order.iter().zip(0..) {
            let Some(gpu) = gpus[id.index()] else { continue };
            let server = &fabric.servers[gpu.server as usize];
            // A domain is a server, or with no NVLink a GPU; numbers of the two do not meet.
            let key = if server.nvlink == Rate::ZERO { u32::MAX - id.0 } else { gpu.server };
            let domain = *found.entry(key).or_insert(domains.len() as u32);
            if domain as usize == domains.len() {
                domains.push(Vec::new());
            }
            domains[domain as usize].push(RankId(rank));
            rails = rails.max(server.nics.len() as u32);
            nic_rate = nic_rate.min(rate(fabric, gpu.nic));
            seats.push(Seat { gpu: id, nic: gpu.nic, rail: gpu.nic.0 - server.nics.start, domain });
        }
        let shared = domains.iter().filter(|ranks| ranks.len() > 1);
        let nvlink = shared
            .filter_map(|ranks| gpus[seats[ranks[0].index()].gpu.index()])
            .map(|gpu| fabric.servers[gpu.server as usize].nvlink)
            .min();
        let mut shared = domains.iter().filter(|ranks| ranks.len() > 1).peekable();
        let adds_up = |ranks: &Vec<RankId>| {
            let gpu = gpus[seats[ranks[0].index()].gpu.index()];
            gpu.is_some_and(|gpu| fabric.servers[gpu.server as usize].nvls)
        };
        let nvls = shared.peek().is_some() && shared.all(adds_up);
        let nvls = nvls.then_some(gpus.len() as u32);
        Self { seats, domains, rails, nic_rate, nvlink, aggregation: None, nvls }
    }

    /// Whether ranks of another layout sit as those of this one do: on GPUs and NICs of other numbers, but in the same
    /// order of them, in the same rails and domains. A program is the same in both but for those numbers. Jobs for which
    /// switches add up are like no other.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        let of_seats = |layout: &Self| -> Vec<(u32, u32)> {
            layout.seats.iter().map(|seat| (seat.rail, seat.domain)).collect()
        };
        let of_all = |layout: &Self| {
            let nvls = layout.nvls.is_some();
            (layout.rails, layout.nic_rate, layout.nvlink, nvls)
        };
        let is_alone = |layout: &Self| layout.aggregation.is_some();
        of_all(self) == of_all(other)
            && of_seats(self) == of_seats(other)
            && !is_alone(self)
            && !is_alone(other)
            && self.order(|seat| seat.nic.0) == other.order(|seat| seat.nic.0)
            && self.order(|seat| seat.gpu.0) == other.order(|seat| seat.gpu.0)
    }

    /// The place of what each rank has among what all have.
    fn order(&self, of: fn(&Seat) -> u32) -> Vec<usize> {
        let mut all: Vec<u32> = self.seats.iter().map(of).collect();
        all.sort_unstable();
        all.dedup();
        self.seats.iter().map(|seat| all.partition_point(|&one| one < of(seat))).collect()
    }

    /// How many ranks there are.
    pub fn ranks(&self) -> u32 {
        self.seats.len() as u32
    }

    /// Where a rank sits.
    pub fn seat(&self, rank: RankId) -> Seat {
        self.seats[rank.index()]
    }

    /// The ranks of each NVLink domain: of each server, where servers have NVLink.
    pub fn domains(&self) -> &[Vec<RankId>] {
        &self.domains
    }

    /// Ranks in a domain, if all domains have as many.
    pub fn ranks_per_domain(&self) -> Option<u32> {
        let size = self.domains.first()?.len();
        self.domains.iter().all(|ranks| ranks.len() == size).then_some(size as u32)
    }

    /// The number of the first port of the NVSwitches, if those of all domains with more than one rank add up:
    /// GPU `g` is at port `g` after it.
    pub(crate) fn nvls(&self) -> Option<u32> {
        self.nvls
    }

    /// NICs of the server that has most.
    pub fn rails(&self) -> u32 {
        self.rails
    }

    /// The rate of the slowest NIC.
    pub fn nic_rate(&self) -> Rate {
        self.nic_rate
    }

    /// The rate of one GPU into the slowest NVLink domain that has more than one rank.
    pub fn nvlink(&self) -> Option<Rate> {
        self.nvlink
    }
}

/// The rate of a NIC: of all its ports together.
pub fn rate(fabric: &Fabric, nic: NicId) -> Rate {
    let ports = fabric.node_ports(fabric.nic_node(nic));
    Rate::from_bps(ports.map(|port| fabric.cable(port).rate.bps()).sum())
}

/// GPUs of a fabric.
pub(crate) fn gpu_count(fabric: &Fabric) -> u32 {
    gpus(fabric).len() as u32
}

/// The rate of every GPU into its NVLink domain, zero where there is none; then, where NVSwitches add up, of the port of
/// theirs that leads to each GPU.
pub fn nvlinks(fabric: &Fabric) -> Vec<Rate> {
    let server = |gpu: &Gpu| &fabric.servers[gpu.server as usize];
    let rates = |rate: fn(&Server) -> Rate| {
        let rate =
            move |gpu: &Option<Gpu>| gpu.as_ref().map_or(Rate::ZERO, |gpu| rate(server(gpu)));
        gpus(fabric).iter().map(rate).collect::<Vec<_>>()
    };
    let mut all = rates(|server| server.nvlink);
    if fabric.servers.iter().any(|server| server.nvls) {
        all.extend(rates(|server| if server.nvls { nvls_rate(server.nvlink) } else { Rate::ZERO }));
    }
    all
}

/// What a GPU gets of its NVLinks where the NVSwitch adds up. NCCL's tuner counts 0.85 of it on the Hopper generation. The published
/// AllReduce of 16 GiB on 8 H100 gets 0.69, that on 16 in two servers 0.65; this is between them.
pub(crate) fn nvls_rate(nvlink: Rate) -> Rate {
    Rate::from_bps(Ratio::new(67, 100).of(nvlink.bps()))
}

/// From every GPU to others of its server, without queues.
///
/// Ports of NVSwitches have none: all of the way is counted where it begins.
pub fn nvlink_latencies(fabric: &Fabric) -> Vec<Span> {
    let latency = |gpu: &Gpu| fabric.servers[gpu.server as usize].nvlink_latency;
    let own = gpus(fabric);
    let mut all: Vec<Span> =
        own.iter().map(|gpu| gpu.as_ref().map_or(Span::ZERO, latency)).collect();
    all.resize(nvlinks(fabric).len(), Span::ZERO);
    all
}

/// The GPUs of some servers, in their order.
pub(crate) fn servers_gpus(fabric: &Fabric, servers: &[ServerId]) -> Vec<(GpuId, NicId)> {
    let mut own = vec![Vec::new(); fabric.servers.len()];
    for (gpu, id) in gpus(fabric).into_iter().zip(0..) {
        if let Some(gpu) = gpu {
            own[gpu.server as usize].push((GpuId(id), gpu.nic));
        }
    }
    servers.iter().flat_map(|server| std::mem::take(&mut own[server.index()])).collect()
}

/// The NICs nearest to the GPUs of some servers, GPU by GPU.
pub(crate) fn gpu_nics(fabric: &Fabric, servers: &[ServerId]) -> Vec<NicId> {
    servers_gpus(fabric, servers).into_iter().map(|(_, nic)| nic).collect()
}

/// A GPU that can take part.
#[derive(Debug, Clone, Copy)]
struct Gpu {
    server: u32,
    nic: NicId,
}

/// All GPUs of the fabric; none where a server has no NIC. A server that lists no GPUs is taken to
/// have one per NIC, as the hosts of a custom fabric are meant.
fn gpus(fabric: &Fabric) -> Vec<Option<Gpu>> {
    let mut gpus = Vec::new();
    for (server, number) in fabric.servers.iter().zip(0..fabric.host_servers()) {
        let nics = server.nics.len() as u32;
        let count = if server.gpus == 0 { nics } else { server.gpus };
        for gpu in 0..count {
            // Neighbouring GPUs share a NIC where there are fewer NICs, and where there are more,
            // each GPU has its own.
            let nic = u64::from(gpu) * u64::from(nics) / u64::from(count);
            let nic = NicId(server.nics.start + nic as u32);
            gpus.push((nics > 0).then_some(Gpu { server: number, nic }));
        }
    }
    gpus
}

fn all(gpus: &[Option<Gpu>]) -> Vec<GpuId> {
    (0..).zip(gpus).filter(|gpu| gpu.1.is_some()).map(|gpu| GpuId(gpu.0)).collect()
}

fn fragmented(fabric: &Fabric, gpus: &[Option<Gpu>], seed: u64) -> Vec<GpuId> {
    let mut servers: Vec<Vec<GpuId>> = vec![Vec::new(); fabric.servers.len()];
    for (gpu, id) in gpus.iter().zip(0..) {
        if let Some(gpu) = gpu {
            servers[gpu.server as usize].push(GpuId(id));
        }
    }
    Stream::new(seed, 0, "placement").shuffle(&mut servers);
    servers.concat()
}

fn checked(list: &[GpuId], gpus: &[Option<Gpu>]) -> Result<Vec<GpuId>, LayoutError> {
    let mut taken = vec![false; gpus.len()];
    for &gpu in list {
        if !gpus.get(gpu.index()).is_some_and(Option::is_some) {
            return Err(LayoutError::NoGpu(gpu.0));
        }
        if std::mem::replace(&mut taken[gpu.index()], true) {
            return Err(LayoutError::Twice(gpu.0));
        }
    }
    Ok(list.to_vec())
}

#[cfg(test)]
mod tests;
