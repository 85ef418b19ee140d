//! A design with everything that follows from it.

use super::bill::{self, Bill, LevelCables};
use super::floor::{Floor, Hall, switch_units};
use super::price::{Money, Price, Prices};
use super::refusal::Refusal;
use super::shape::{Level, Shape};
use super::size;
use super::wiring::Wiring;
use super::wish::{Ask, Network, Wish};
use serde::Serialize;
use xoff_fabric::catalogue::Catalogue;
use xoff_fabric::model::Tier;
use xoff_units::{Rate, Ratio};

/// A fabric that can be built.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Design {
    /// What the switches speak.
    pub network: Network,
    /// The NIC.
    pub nic: String,
    /// Silicon of each tier from the hosts up.
    pub silicon: Vec<String>,
    /// The counts.
    pub shape: Shape,
    /// The cables.
    pub cables: Vec<LevelCables>,
    /// The parts.
    pub bill: Bill,
    /// Price of all parts over the number of GPUs.
    pub price_per_gpu: Price,
    /// What one half of the GPUs can send to the other half at once, in one direction.
    pub bisection: Rate,
    /// The same as a share of what their NICs could send.
    pub bisection_share: Ratio,
    /// Switches on the longest path.
    pub most_hops: u64,
    /// GPUs that reach each other through one switch, with NVLink to the right rail.
    pub one_hop_gpus: u64,
    /// What is lost when a part fails.
    pub failures: Vec<Failure>,
    /// GPUs that the same switches and link rates hold at most.
    pub grows_to: u64,
}

/// What fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Part {
    /// A NIC, its cable or its port.
    Nic,
    /// A leaf.
    Leaf,
    /// A cable between a leaf and a spine.
    LeafUplink,
    /// A spine.
    Spine,
    /// A core.
    Core,
}

/// What is lost when a part fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Failure {
    /// What fails.
    pub part: Part,
    /// GPUs of the servers that are affected.
    pub gpus: u64,
    /// The share of their bandwidth that is lost: at their NICs for a NIC or leaf, above their leaf
    /// or pod for the rest.
    pub lost: Ratio,
}

impl Failure {
    /// Whether the GPUs lose the network altogether.
    pub fn cuts_off(&self) -> bool {
        matches!(self.part, Part::Nic | Part::Leaf) && self.lost == Ratio::ONE
    }
}

impl Design {
    /// The design in a few words.
    pub fn name(&self) -> String {
        let shape = &self.shape;
        let tiers = match shape.tiers {
            1 => "1 switch".to_owned(),
            tiers => format!("{tiers} tiers"),
        };
        let rails = match shape.rails {
            1 => "single-rail".to_owned(),
            rails => format!("{rails} rails"),
        };
        let gbps = shape.host_rate.bps() / 1_000_000_000;
        let homing = match (shape.homing, shape.planes) {
            (1, _) => "",
            (_, 1) => ", dual-homed",
            _ => ", dual-plane",
        };
        let gbps = gbps * shape.homing;
        format!("{} {gbps}G, {rails}, {tiers}{homing}", self.network.name())
    }

    /// Switches of a tier.
    pub fn switches(&self, tier: Tier) -> u64 {
        self.shape.switches(tier)
    }

    /// All cables; one that fans out is one.
    pub fn all_cables(&self) -> u64 {
        self.cables.iter().map(|level| level.cables).sum()
    }

    /// All links.
    pub fn all_links(&self) -> u64 {
        self.cables.iter().map(|level| level.links).sum()
    }
}

/// What a design is made from.
pub(super) struct Inputs<'a> {
    pub(super) catalogue: &'a Catalogue,
    pub(super) prices: &'a Prices,
    pub(super) floor: Floor,
}

impl Inputs<'_> {
    /// The design for a wish, the hall it stands in, and its wiring.
    pub(super) fn design(&self, wish: &Wish) -> Result<(Design, Hall, Wiring), Refusal> {
        let ask = wish.settle(self.catalogue)?;
        let shape = choose(&ask).ok_or_else(|| super::cure::refuse(wish, &ask, self.catalogue))?;
        let heights = ask.switches().map(|switch| switch_units(switch.silicon.ports.into()));
        let hall = Hall::new(self.floor, &shape, heights);
        let wiring = Wiring::new(&ask, &shape, &hall, self.catalogue)?;
        let cables = bill::cables(&shape, &hall, &wiring);
        let bill = bill::bill(&ask, &shape, &hall, &wiring, self.catalogue, self.prices);
        let rates = (shape.leaf_spine_rate, shape.spine_core_rate);
        let names = ask.switches().map(|switch| switch.silicon.name.clone());
        let (bisection, bisection_share) = bisection(&shape);
        let gpus = shape.gpus().max(1);
        let design = Design {
            network: ask.network,
            nic: ask.nic.name.clone(),
            silicon: names.into_iter().take(shape.tiers as usize).collect(),
            price_per_gpu: Price { amount: Money(bill.price.amount.0 / gpus), ..bill.price },
            bisection,
            bisection_share,
            most_hops: 2 * shape.tiers - 1,
            one_hop_gpus: ask.gpus_of(shape.servers_per_group().min(shape.servers) * ask.nics),
            failures: failures(&shape),
            grows_to: size::capacity(&ask, shape.tiers, shape.rails, rates),
            shape,
            cables,
            bill,
        };
        Ok((design, hall, wiring))
    }
}

/// The shape for a wish: the fewest tiers that suffice, and a leaf for each rail unless one switch
/// holds all.
pub(super) fn choose(ask: &Ask) -> Option<Shape> {
    let tiers = ask.tiers.map_or(1..=3, |tiers| tiers..=tiers);
    tiers
        .flat_map(|tiers| rails(ask, tiers).map(move |rails| (tiers, rails)))
        .find_map(|(tiers, rails)| size::size(ask, tiers, rails).ok())
}

/// The rails to try with this many tiers.
pub(super) fn rails(ask: &Ask, tiers: u64) -> Option<u64> {
    match (ask.rails, tiers) {
        (Some(rails), _) => Some(rails),
        (None, 1) => Some(1),
        (None, _) => Some(ask.nics),
    }
}

/// What crosses the middle: half of the narrowest level, or of what the NICs send if that is less.
fn bisection(shape: &Shape) -> (Rate, Ratio) {
    let total = |level| shape.cables(level).saturating_mul(shape.rate(level).bps());
    let hosts = total(Level::Host);
    let narrowest = shape.levels().map(total).min().unwrap_or(hosts).min(hosts);
    (Rate::from_bps(narrowest / 2), Ratio::new(narrowest, hosts.max(1)))
}

fn failures(shape: &Shape) -> Vec<Failure> {
    let nic_share = Ratio::new(1, shape.nics_per_server);
    let per_server = shape.gpus_per_server;
    let group = shape.servers_per_group().min(shape.servers) * per_server;
    let leaf_share = Ratio::new(1, shape.leaves_per_group());
    let mut list = vec![
        Failure { part: Part::Nic, gpus: per_server, lost: nic_share },
        Failure { part: Part::Leaf, gpus: group, lost: leaf_share },
    ];
    if shape.tiers > 1 {
        let one_of = |count: u64| Ratio::new(1, count.max(1));
        let pod_groups = shape.leaves_per_pod / shape.leaves_per_group();
        let pod = (pod_groups * shape.servers_per_group()).min(shape.servers) * per_server;
        let uplink = one_of(shape.leaf_uplinks());
        list.push(Failure { part: Part::LeafUplink, gpus: group, lost: uplink });
        let spines = shape.spines_per_pod * shape.planes;
        list.push(Failure { part: Part::Spine, gpus: pod, lost: one_of(spines) });
    }
    if shape.tiers > 2 {
        let lost = Ratio::new(1, shape.switches(Tier::Core).max(1));
        list.push(Failure { part: Part::Core, gpus: shape.gpus(), lost });
    }
    list
}
