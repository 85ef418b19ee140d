//! The networks beside the one between GPUs: storage, front end and management.
//!
//! Storage and front end are Ethernet of their own, sized as the compute network is, with one cable
//! per NIC and all leaves under the same spines:
//!
//! - **Storage**: a `connectx-7` (400G) in each GPU server and two in each storage server, 2:1 above
//!   the leaves (`tomahawk-5`, or `tomahawk-6` where that is too small). A storage server for every
//!   eight GPU servers, at least two, unless a number is given; 2U, 1.2 kW.
//! - **Front end**: a `connectx-6` (200G) in each GPU server, 3:1 above the leaves (`spectrum-2`,
//!   or `tomahawk-4`).
//!
//! A leaf stands in the rack of the middle one of its hosts; spines and storage servers stand in
//! rows of their own at the end of the hall. [`super::management`] has the management network.

use super::bill::{self, Bill, LevelCables, Purpose};
use super::design::{self, Inputs};
use super::floor::{Floor, Hall, switch_units};
use super::management::{self, Management};
use super::racks::Device;
use super::refusal::Refusal;
use super::shape::Shape;
use super::wiring::Wiring;
use super::wish::{Ask, Wish};
use serde::Serialize;
use xoff_fabric::catalogue::Silicon;
use xoff_fabric::model::Tier;
use xoff_units::Ratio;

/// Units of a storage server.
pub(super) const STORAGE_UNITS: u64 = 2;
/// What a storage server draws, in thousandths of a watt; our estimate.
pub(super) const STORAGE_POWER: u64 = 1_200_000;
/// Storage servers in a rack.
const STORAGE_PER_RACK: u64 = 16;

/// A network beside the one between GPUs.
#[derive(Debug, Clone, Serialize)]
pub struct Side {
    /// What it is for.
    pub purpose: Purpose,
    /// How it was sized.
    pub rule: String,
    /// Silicon of each tier from the hosts up.
    pub silicon: Vec<String>,
    /// The NIC.
    pub nic: String,
    /// The counts; its servers are the hosts, one for each NIC.
    pub shape: Shape,
    /// The cables.
    pub cables: Vec<LevelCables>,
    /// The parts.
    pub bill: Bill,
    /// The host and its NIC, by the number of the NIC.
    #[serde(skip)]
    pub(super) hosts: Vec<(Device, u64)>,
    #[serde(skip)]
    pub(super) hall: Hall,
    #[serde(skip)]
    pub(super) wiring: Wiring,
    #[serde(skip)]
    pub(super) switches: [Silicon; 3],
}

/// All networks beside the one between GPUs.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Sides {
    /// Storage and front end.
    pub networks: Vec<Side>,
    /// Storage servers.
    pub storage_servers: u64,
    /// The management network.
    pub management: Option<Management>,
    /// The rack of each storage server.
    #[serde(skip)]
    pub(super) storage_racks: Vec<u32>,
}

/// A rule for a network.
struct Rule {
    purpose: Purpose,
    nic: &'static str,
    /// Switches to try, the smallest first.
    leaves: &'static [&'static str],
    ratio: Ratio,
}

const STORAGE: Rule = Rule {
    purpose: Purpose::Storage,
    nic: "connectx-7",
    leaves: &["tomahawk-5", "tomahawk-6"],
    ratio: Ratio::new(2, 1),
};
const FRONTEND: Rule = Rule {
    purpose: Purpose::Frontend,
    nic: "connectx-6",
    leaves: &["spectrum-2", "tomahawk-4"],
    ratio: Ratio::new(3, 1),
};

/// The networks that a wish asks for; the hall gets racks for what stands apart.
pub(super) fn sides(
    inputs: &Inputs<'_>,
    wish: &Wish,
    shape: &Shape,
    hall: &mut Hall,
) -> Result<Sides, Refusal> {
    let mut sides = Sides::default();
    let servers = (0..shape.servers).map(|server| (Device::Server(server), 0));
    if let Some(given) = wish.storage {
        let count = given.unwrap_or(shape.servers.div_ceil(8).max(2));
        if count == 0 || count > shape.servers.saturating_mul(64) {
            return Err(Refusal::new(
                format!("--storage: {count} storage servers for {} servers", shape.servers),
                ["--storage without a number: one for every eight servers"],
            ));
        }
        let first = hall.add_racks(count.div_ceil(STORAGE_PER_RACK));
        let racks = (0..count).map(|server| (first + server / STORAGE_PER_RACK) as u32);
        sides.storage_racks = racks.collect();
        sides.storage_servers = count;
        let storage = (0..count).flat_map(|s| [(Device::Storage(s), 0), (Device::Storage(s), 1)]);
        let hosts = servers.clone().chain(storage).collect();
        sides.networks.push(side(inputs, wish, &STORAGE, hosts, hall, &sides.storage_racks)?);
    }
    if wish.frontend {
        sides.networks.push(side(inputs, wish, &FRONTEND, servers.collect(), hall, &[])?);
    }
    // The racks of a later network are known to the earlier ones, too.
    for side in &mut sides.networks {
        side.hall.racks.clone_from(&hall.racks);
    }
    if wish.management {
        sides.management = Some(management::management(inputs, wish, shape, hall, &sides)?);
    }
    Ok(sides)
}

fn side(
    inputs: &Inputs<'_>,
    wish: &Wish,
    rule: &Rule,
    hosts: Vec<(Device, u64)>,
    hall: &mut Hall,
    storage: &[u32],
) -> Result<Side, Refusal> {
    let own = |leaf: &str| Wish {
        gpus_per_server: Some(1),
        nics_per_server: Some(1),
        nic: Some(rule.nic.to_owned()),
        leaf: Some(leaf.to_owned()),
        rails: Some(1),
        oversubscription: Some(rule.ratio),
        spares: wish.spares,
        ..Wish::gpus(hosts.len() as u64)
    };
    let sized = rule.leaves.iter().find_map(|leaf| {
        let ask = own(leaf).settle(inputs.catalogue).ok()?;
        let shape = design::choose(&ask)?;
        Some((ask, shape))
    });
    let (ask, shape) = sized.ok_or_else(|| {
        let purpose = rule.purpose.name();
        Refusal::new(
            format!("the {purpose} network does not hold {} hosts", hosts.len()),
            [format!("a plan without --{purpose}, and one for {purpose} alone")],
        )
    })?;
    let racks = hosts.iter().map(|(device, _)| match device {
        Device::Storage(at) => storage[*at as usize],
        other => hall.rack(*other),
    });
    let racks: Vec<u32> = racks.collect();
    let own_hall = hall.beside(inputs.floor, &ask, &shape, racks);
    let wiring = Wiring::new(&ask, &shape, &own_hall, inputs.catalogue).map_err(|refusal| {
        let purpose = rule.purpose.name();
        let cures = [format!("a plan without --{purpose}, and one for {purpose} alone")];
        Refusal::new(
            format!("the {purpose} network: {}", refusal.message),
            refusal.cures.into_iter().chain(cures),
        )
    })?;
    let mut bill = bill::bill(&ask, &shape, &own_hall, &wiring, inputs.catalogue, inputs.prices);
    bill.lines.iter_mut().for_each(|line| line.purpose = rule.purpose);
    let names = ask.switches().map(|switch| switch.silicon.name.clone());
    Ok(Side {
        purpose: rule.purpose,
        rule: rule.text(),
        silicon: names.into_iter().take(shape.tiers as usize).collect(),
        nic: rule.nic.to_owned(),
        cables: bill::cables(&shape, &own_hall, &wiring),
        shape,
        bill,
        hosts,
        hall: own_hall,
        wiring,
        switches: [ask.leaf.silicon, ask.spine.silicon, ask.core.silicon],
    })
}

impl Rule {
    fn text(&self) -> String {
        let each = match self.purpose {
            Purpose::Storage => "a NIC in each server, two in each storage server",
            _ => "a NIC in each server",
        };
        format!("{each}, {}:1 above the leaves", self.ratio.numerator())
    }
}

impl Hall {
    /// The same hall as another network sees it: hosts in these racks, a leaf in the rack of the
    /// middle one of its hosts, spines and cores in new racks.
    fn beside(&mut self, floor: Floor, ask: &Ask, shape: &Shape, hosts: Vec<u32>) -> Hall {
        let per_leaf = shape.hosts_per_leaf.max(1) as usize;
        let leaves: Vec<u32> = hosts.chunks(per_leaf).map(|chunk| chunk[chunk.len() / 2]).collect();
        let mut apart = |tier: Tier| {
            let units = switch_units(ask.switches()[tier as usize].silicon.ports.into());
            let each = floor.switches_per_rack.min(floor.rack_units / units.max(1)).max(1);
            let count = shape.switches(tier);
            let first = self.add_racks(count.div_ceil(each));
            (0..count).map(|at| (first + at / each) as u32).collect::<Vec<_>>()
        };
        let (spines, cores) = (apart(Tier::Spine), apart(Tier::Core));
        self.with(hosts, leaves, spines, cores)
    }
}
