//! The management network: consoles, management controllers and power strips, on 1G copper.
//!
//! Two ports for each server (its controller and its own management port), one for each switch and
//! two for each rack (power strips). Racks that stand in order share a switch of 48 x 1G, of which
//! 44 are planned; it stands in the middle one of them. It has two uplinks of 25G, to both switches
//! of a pair with 48 x 25G; pairs are joined by the front end, which is not counted here.

use super::bill::{Bill, Item, Line, Purpose, Role};
use super::design::Inputs;
use super::floor::Hall;
use super::parts::{Ends, Medium};
use super::price::{Money, Price};
use super::racks::Device;
use super::refusal::Refusal;
use super::shape::Shape;
use super::side::Sides;
use super::spares::Spares;
use super::wish::Wish;
use serde::Serialize;
use std::collections::BTreeMap;
use xoff_fabric::catalogue::{Form, Lane, Lanes, Milliwatts, Port};
use xoff_fabric::model::Tier;
use xoff_units::{Length, Rate};

/// Ports of a switch that are planned.
const PLANNED: usize = 44;
/// Switches under a pair with 25G ports.
const PER_PAIR: usize = 48;
/// Longest cable of twisted pairs.
const COPPER: Length = Length::from_m(100);
/// USD for a switch with 48 x 1G, for one with 48 x 25G, for a cable and for its metre, in
/// hundredths; our estimates.
const PRICES: (u64, u64, u64, u64) = (1_500, 8_000, 300, 40);
/// Power of both switches, in thousandths of a watt; our estimates.
const POWER: (u32, u32) = (80_000, 250_000);

/// What a switch of a tier draws, in thousandths of a watt.
pub(super) const fn power(tier: Tier) -> u64 {
    (if matches!(tier, Tier::Leaf) { POWER.0 } else { POWER.1 }) as u64
}

/// The management network.
#[derive(Debug, Clone, Serialize)]
pub struct Management {
    /// How it was sized.
    pub rule: String,
    /// Ports in use.
    pub ports: u64,
    /// Switches with 1G ports.
    pub switches: u64,
    /// Switches with 25G ports.
    pub aggregation: u64,
    /// The parts.
    pub bill: Bill,
    #[serde(skip)]
    pub(super) cables: Vec<Run>,
    /// The rack of each switch with 1G ports, and of each with 25G ports.
    #[serde(skip)]
    pub(super) racks: [Vec<u32>; 2],
}

/// What a port belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Owner {
    /// A server or a switch.
    Device(Device),
    /// The power strips of a rack.
    Strips(u32),
}

/// A port below the switches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Socket {
    pub(super) of: Owner,
    pub(super) port: &'static str,
}

/// One cable.
#[derive(Debug, Clone)]
pub(super) struct Run {
    pub(super) from: Socket,
    /// The switch above it.
    pub(super) to: Device,
    pub(super) to_port: u64,
    pub(super) length: Length,
    /// `None` for twisted pairs.
    pub(super) medium: Option<Medium>,
}

/// The management network of everything that stands in a hall.
pub(super) fn management(
    inputs: &Inputs<'_>,
    wish: &Wish,
    shape: &Shape,
    hall: &mut Hall,
    sides: &Sides,
) -> Result<Management, Refusal> {
    let blocks = fill(sockets(shape, hall, sides));
    let pairs = blocks.len().div_ceil(PER_PAIR).max(1);
    let first = hall.add_racks(1) as u32;
    let racks =
        [blocks.iter().map(|block| block[block.len() / 2].0).collect(), vec![first; 2 * pairs]];
    let mut cables = twisted(hall, &blocks, &racks[0])?;
    uplinks(inputs, hall, &racks, &mut cables)?;
    let (switches, aggregation) = (blocks.len() as u64, 2 * pairs as u64);
    let mut lines = lines(inputs, switches, aggregation, &cables);
    Spares::of(wish.spares).add(&mut lines);
    Ok(Management {
        rule: "2 ports per server, 1 per switch, 2 per rack, 44 of 48 used; 2 x 25G up".to_owned(),
        ports: cables.iter().filter(|cable| cable.medium.is_none()).count() as u64,
        switches,
        aggregation,
        bill: Bill::new(lines),
        cables,
        racks,
    })
}

/// Shares the ports of all racks out to switches, in the order of racks; a rack stays with one
/// switch unless it has more ports than that.
fn fill(sockets: BTreeMap<u32, Vec<Socket>>) -> Vec<Vec<(u32, Socket)>> {
    let mut blocks: Vec<Vec<(u32, Socket)>> = vec![Vec::new()];
    for (rack, list) in sockets {
        let used = blocks.last().map_or(0, Vec::len);
        if used > 0 && used + list.len() > PLANNED {
            blocks.push(Vec::new());
        }
        for socket in list {
            if blocks.last().is_some_and(|block| block.len() == PLANNED) {
                blocks.push(Vec::new());
            }
            if let Some(block) = blocks.last_mut() {
                block.push((rack, socket));
            }
        }
    }
    blocks
}

/// The cables of twisted pairs, from every socket to the switch of its block.
fn twisted(hall: &Hall, blocks: &[Vec<(u32, Socket)>], racks: &[u32]) -> Result<Vec<Run>, Refusal> {
    let mut cables = Vec::new();
    for (at, block) in blocks.iter().enumerate() {
        for (number, (rack, socket)) in block.iter().enumerate() {
            let length = hall.between(*rack, racks[at]);
            if length > COPPER {
                return Err(Refusal::new(
                    format!("a management cable of {length} is longer than twisted pairs reach"),
                    ["racks that stand closer together", "more --servers-per-rack"],
                ));
            }
            cables.push(Run {
                from: *socket,
                to: Device::Side(Purpose::Management, Tier::Leaf, at as u64),
                to_port: number as u64 + 1,
                length,
                medium: None,
            });
        }
    }
    Ok(cables)
}

/// What has a port, rack by rack.
fn sockets(shape: &Shape, hall: &Hall, sides: &Sides) -> BTreeMap<u32, Vec<Socket>> {
    let mut sockets: BTreeMap<u32, Vec<Socket>> = BTreeMap::new();
    let mut add = |rack: u32, of: Owner, ports: &[&'static str]| {
        let list = sockets.entry(rack).or_default();
        list.extend(ports.iter().map(|port| Socket { of, port }));
    };
    for server in 0..shape.servers {
        let device = Device::Server(server);
        add(hall.rack(device), Owner::Device(device), &["bmc", "mgmt"]);
    }
    for (at, rack) in sides.storage_racks.iter().enumerate() {
        add(*rack, Owner::Device(Device::Storage(at as u64)), &["bmc", "mgmt"]);
    }
    for tier in [Tier::Leaf, Tier::Spine, Tier::Core] {
        for number in 0..shape.switches(tier) {
            let device = Device::Switch(tier, number);
            add(hall.rack(device), Owner::Device(device), &["mgmt"]);
        }
        for side in &sides.networks {
            for number in 0..side.shape.switches(tier) {
                let rack = side.hall.rack(Device::Switch(tier, number));
                let device = Device::Side(side.purpose, tier, number);
                add(rack, Owner::Device(device), &["mgmt"]);
            }
        }
    }
    for rack in 0..hall.racks.len() as u32 {
        add(rack, Owner::Strips(rack), &["pdu-a", "pdu-b"]);
    }
    sockets
}

/// Two cables from each switch to its pair.
fn uplinks(
    inputs: &Inputs<'_>,
    hall: &Hall,
    racks: &[Vec<u32>; 2],
    cables: &mut Vec<Run>,
) -> Result<(), Refusal> {
    let port = Port { form: Form::Sfp28, lanes: Lanes::new(1, Lane::G25), shared: 1 };
    let ends = Ends { lower: port, upper: port, nic: false };
    let rate = Rate::from_gbps(25);
    for (at, rack) in racks[0].iter().enumerate() {
        for half in 0..2 {
            let above = at / PER_PAIR * 2 + half;
            let length = hall.between(*rack, racks[1][above]);
            let mode = ends.mode(inputs.catalogue, rate);
            let medium = mode.and_then(|mode| ends.medium(inputs.catalogue, mode, length));
            let medium = medium.ok_or_else(|| {
                Refusal::new(
                    format!("nothing in the catalogue carries 25G over {length} of management"),
                    ["racks that stand closer together"],
                )
            })?;
            cables.push(Run {
                from: Socket {
                    of: Owner::Device(Device::Side(Purpose::Management, Tier::Leaf, at as u64)),
                    port: if half == 0 { "up1" } else { "up2" },
                },
                to: Device::Side(Purpose::Management, Tier::Spine, above as u64),
                to_port: (at % PER_PAIR) as u64 + 1,
                length,
                medium: Some(medium),
            });
        }
    }
    Ok(())
}

fn lines(inputs: &Inputs<'_>, switches: u64, aggregation: u64, cables: &[Run]) -> Vec<Line> {
    let gbps = Rate::from_gbps;
    let item = |part: &str, rate, form: &str, detail: &str, length| Item {
        part: part.to_owned(),
        rate,
        form: form.to_owned(),
        detail: detail.to_owned(),
        length,
        reach: None,
    };
    let line = |role, item, quantity, milliwatts, price| Line {
        purpose: Purpose::Management,
        role,
        item,
        quantity,
        spares: 0,
        power: Milliwatts(milliwatts),
        power_estimate: true,
        price,
    };
    let dollars = |cents| inputs.prices.converted(Price { amount: Money(cents), estimate: true });
    let (leaf, spine) = (dollars(PRICES.0 * 100), dollars(PRICES.1 * 100));
    let small = item("management-48x1g", gbps(1), "48 x RJ45, 4 x SFP28", "", None);
    let large = item("management-48x25g", gbps(25), "48 x SFP28", "", None);
    let mut lines = vec![
        line(Role::Leaf, small, switches, POWER.0, leaf),
        line(Role::Spine, large, aggregation, POWER.1, spine),
    ];
    let mut counts: BTreeMap<(Role, Item), (u64, u32, Price)> = BTreeMap::new();
    for cable in cables {
        let length = Some(cable.length);
        let mut add = |role, item, milliwatts: u64, price| {
            let entry = counts.entry((role, item)).or_insert((0, milliwatts as u32, price));
            entry.0 += 1;
        };
        match &cable.medium {
            None => {
                let metres = cable.length.as_mm().div_ceil(1_000);
                let price = dollars(PRICES.2 + PRICES.3 * metres);
                add(Role::Cable, item("cat6", gbps(1), "RJ45 to RJ45", "", length), 0, price);
            }
            Some(medium) if medium.attached => {
                let price = inputs.prices.cable(&medium.name, gbps(25));
                let item = item(&medium.name, gbps(25), &medium.forms(), "", length);
                add(Role::Cable, item, medium.milliwatts(), price);
            }
            Some(medium) => {
                let (ends, fibre) = medium.patch.as_ref().map_or(("", ""), |p| (&p.ends, &p.fibre));
                let price = inputs.prices.fibre(cable.length);
                add(Role::Fibre, item(ends, Rate::ZERO, "", fibre, length), 0, price);
                for plug in [&medium.lower, &medium.upper] {
                    let item = item(&plug.part, plug.rate, plug.form.name(), "", None);
                    add(Role::Transceiver, item, plug.milliwatts, inputs.prices.media(&plug.part));
                }
            }
        }
    }
    lines.extend(counts.into_iter().map(|((role, item), (quantity, milliwatts, price))| {
        line(role, item, quantity, milliwatts, price)
    }));
    lines
}
