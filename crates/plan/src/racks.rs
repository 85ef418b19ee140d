//! The rack view: what stands where, on which unit, and what a rack draws.

use super::Plan;
use super::bill::Purpose;
use super::floor::{Hall, switch_units};
use super::management;
use super::refusal::Refusal;
use super::side::{STORAGE_POWER, STORAGE_UNITS};
use std::collections::BTreeMap;
use std::fmt::{self, Write};
use xoff_fabric::catalogue::Silicon;
use xoff_fabric::model::Tier;

/// What takes a place in a rack.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Device {
    /// A server.
    Server(u64),
    /// A storage server.
    Storage(u64),
    /// A switch of a tier.
    Switch(Tier, u64),
    /// A switch of a network beside the one between GPUs.
    Side(Purpose, Tier, u64),
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Device::Server(number) => write!(f, "server{number}"),
            Device::Storage(number) => write!(f, "storage{number}"),
            Device::Switch(tier, number) => write!(f, "{}{number}", tier.name()),
            Device::Side(purpose, tier, number) => {
                write!(f, "{}-{}{number}", purpose.name(), tier.name())
            }
        }
    }
}

/// Where a device stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Place {
    /// The row, from 1.
    pub row: u64,
    /// The rack in its row, from 1.
    pub rack: u64,
    /// The lowest unit of the rack that it takes, from 1 at the bottom.
    pub unit: u64,
}

impl Place {
    /// What is written on the rack: `R02.07` is the seventh of the second row.
    pub fn rack_label(&self) -> String {
        format!("R{:02}.{:02}", self.row, self.rack)
    }
}

/// A rack and what is in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rack {
    /// Its row, from 1.
    pub row: u64,
    /// Its place in the row, from 1.
    pub place: u64,
    /// What is in it, from the bottom.
    pub devices: Vec<Device>,
    /// What it draws at load, in thousandths of a watt: servers, switches, and what is plugged in.
    pub milliwatts: u64,
}

impl Plan {
    /// The racks, row by row.
    pub fn racks(&self) -> Vec<Rack> {
        let hall: &Hall = &self.hall;
        let spot = |spot: &super::floor::Spot| Rack {
            row: spot.row + 1,
            place: spot.place + 1,
            devices: Vec::new(),
            milliwatts: 0,
        };
        let mut racks: Vec<Rack> = hall.racks.iter().map(spot).collect();
        let shape = &self.design.shape;
        let servers = (0..shape.servers).map(Device::Server);
        let tiers = [Tier::Leaf, Tier::Spine, Tier::Core];
        let switches = tiers.into_iter().flat_map(|tier| {
            (0..shape.switches(tier)).map(move |number| Device::Switch(tier, number))
        });
        let compute = servers.chain(switches).map(|device| (hall.rack(device), device));
        for (rack, device) in compute.chain(self.side_devices()) {
            let rack = &mut racks[rack as usize];
            rack.devices.push(device);
            rack.milliwatts += self.device_power(device);
        }
        self.for_each_cable(|cable| {
            let medium = cable.medium;
            for (end, port, plug) in [
                (cable.from, cable.from_port, &medium.lower),
                (cable.to, cable.to_port, &medium.upper),
            ] {
                if port.first() {
                    racks[hall.rack(end.device()) as usize].milliwatts += plug.milliwatts;
                }
            }
        });
        for side in &self.sides.networks {
            side.wiring.for_each(&side.shape, &side.hall, |link| {
                let host = side.hall.rack(Device::Server(link.run.lower));
                let lower = link.run.level.lower();
                let below =
                    lower.map_or(host, |tier| side.hall.rack(Device::Switch(tier, link.run.lower)));
                let above = side.hall.rack(Device::Switch(link.run.level.upper(), link.run.upper));
                let medium = link.medium;
                for (rack, port, plug) in
                    [(below, link.from_port, &medium.lower), (above, link.to_port, &medium.upper)]
                {
                    racks[rack as usize].milliwatts +=
                        if port.first() { plug.milliwatts } else { 0 };
                }
            });
        }
        racks.retain(|rack| !rack.devices.is_empty());
        racks
    }

    /// What the networks beside the one between GPUs add, with its rack.
    fn side_devices(&self) -> Vec<(u32, Device)> {
        let sides = &self.sides;
        let storage = sides.storage_racks.iter().enumerate();
        let mut list: Vec<(u32, Device)> =
            storage.map(|(at, rack)| (*rack, Device::Storage(at as u64))).collect();
        for side in &sides.networks {
            for tier in [Tier::Leaf, Tier::Spine, Tier::Core] {
                list.extend((0..side.shape.switches(tier)).map(|number| {
                    let rack = side.hall.rack(Device::Switch(tier, number));
                    (rack, Device::Side(side.purpose, tier, number))
                }));
            }
        }
        if let Some(management) = &sides.management {
            for (tier, racks) in [Tier::Leaf, Tier::Spine].into_iter().zip(&management.racks) {
                list.extend(
                    racks.iter().enumerate().map(|(at, rack)| {
                        (*rack, Device::Side(Purpose::Management, tier, at as u64))
                    }),
                );
            }
        }
        list
    }

    fn device_power(&self, device: Device) -> u64 {
        match device {
            Device::Server(_) => self.floor.server_power(self.design.shape.gpus_per_server),
            Device::Storage(_) => STORAGE_POWER,
            Device::Switch(tier, _) => u64::from(self.silicon[tier as usize].power.0),
            Device::Side(Purpose::Management, tier, _) => management::power(tier),
            Device::Side(..) => self.side_silicon(device).map_or(0, |s| u64::from(s.power.0)),
        }
    }

    /// The silicon of a switch of another network; that of management is not known.
    fn side_silicon(&self, device: Device) -> Option<&Silicon> {
        let Device::Side(purpose, tier, _) = device else { return None };
        let side = self.sides.networks.iter().find(|side| side.purpose == purpose)?;
        Some(&side.switches[tier as usize])
    }

    /// Units that a device takes.
    fn units(&self, device: Device) -> u64 {
        match device {
            Device::Server(_) => self.floor.server_units,
            Device::Storage(_) => STORAGE_UNITS,
            Device::Switch(tier, _) => switch_units(self.silicon[tier as usize].ports.into()),
            Device::Side(..) => {
                self.side_silicon(device).map_or(1, |silicon| switch_units(silicon.ports.into()))
            }
        }
    }

    /// Where every device stands: from the bottom of its rack, in order.
    pub fn places(&self) -> BTreeMap<Device, Place> {
        let mut places = BTreeMap::new();
        for rack in self.racks() {
            let mut unit = 1;
            for device in rack.devices {
                places.insert(device, Place { row: rack.row, rack: rack.place, unit });
                unit += self.units(device);
            }
        }
        places
    }

    /// Racks that draw more than a rack may.
    pub fn overloaded(&self) -> Vec<Rack> {
        let mut racks = self.racks();
        racks.retain(|rack| rack.milliwatts > self.floor.rack_milliwatts);
        racks
    }

    /// Refuses racks that are too low for what stands in them.
    pub(super) fn check_heights(&self) -> Result<(), Refusal> {
        let height = |rack: &Rack| rack.devices.iter().map(|device| self.units(*device)).sum();
        let racks = self.racks();
        let Some(tallest) = racks.iter().max_by_key(|rack| height(rack)) else { return Ok(()) };
        let (needed, there): (u64, u64) = (height(tallest), self.floor.rack_units);
        if needed <= there {
            return Ok(());
        }
        let servers = tallest.devices.iter().filter(|d| matches!(d, Device::Server(_))).count();
        let option = if servers > 0 { "--servers-per-rack" } else { "--switches-per-rack" };
        Err(Refusal::new(
            format!("{} take {needed}U, and a rack has {there}U", spans(&tallest.devices)),
            [format!("a smaller {option}"), format!("--rack-units {needed}")],
        ))
    }

    /// The racks as text: a line for each.
    pub fn racks_text(&self) -> String {
        let mut text = String::new();
        let mut row = 0;
        for rack in self.racks() {
            if rack.row != row {
                row = rack.row;
                let _ = writeln!(text, "{}row {row}", if row > 1 { "\n" } else { "" });
            }
            let load = rack.milliwatts as f64 / 1e6;
            let over = rack.milliwatts > self.floor.rack_milliwatts;
            let _ = writeln!(
                text,
                "  rack {:>3}  {load:>5.1} kW{}  {}",
                rack.place,
                if over { " !" } else { "  " },
                spans(&rack.devices)
            );
        }
        text
    }

    /// The racks as CSV: a line for each device, with what its whole rack draws and may draw.
    pub fn racks_csv(&self) -> String {
        let mut text =
            String::from("rack,row,place,unit,units,device,rack_watts,rack_watts_limit\n");
        let limit = self.floor.rack_milliwatts / 1_000;
        for rack in self.racks() {
            let mut place = Place { row: rack.row, rack: rack.place, unit: 1 };
            for device in rack.devices {
                let units = self.units(device);
                let _ = writeln!(
                    text,
                    "{},{},{},{},{units},{device},{},{limit}",
                    place.rack_label(),
                    place.row,
                    place.rack,
                    place.unit,
                    rack.milliwatts / 1_000,
                );
                place.unit += units;
            }
        }
        text
    }
}

/// `server0 … server3, leaf1`.
fn spans(devices: &[Device]) -> String {
    let alike = |a: &Device, b: &Device| match (a, b) {
        (Device::Server(_), Device::Server(_)) => true,
        (Device::Storage(_), Device::Storage(_)) => true,
        (Device::Switch(a, _), Device::Switch(b, _)) => a == b,
        (Device::Side(a, x, _), Device::Side(b, y, _)) => a == b && x == y,
        _ => false,
    };
    let span = |run: &[Device]| match run {
        [first, .., last] => format!("{first} … {last}"),
        [only] => only.to_string(),
        [] => String::new(),
    };
    devices.chunk_by(alike).map(span).collect::<Vec<_>>().join(", ")
}
