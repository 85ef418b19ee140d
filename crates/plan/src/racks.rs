//! The rack view: what stands where.

use super::Plan;
use super::floor::Hall;
use std::fmt::{self, Write};
use xoff_fabric::model::Tier;

/// What takes a place in a rack.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Device {
    /// A server.
    Server(u64),
    /// A switch of a tier.
    Switch(Tier, u64),
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Device::Server(number) => write!(f, "server{number}"),
            Device::Switch(tier, number) => write!(f, "{}{number}", tier.name()),
        }
    }
}

/// A rack and what is in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rack {
    /// Its row, from 1.
    pub row: u64,
    /// Its place in the row, from 1.
    pub place: u64,
    /// What is in it.
    pub devices: Vec<Device>,
}

impl Plan {
    /// The racks, row by row.
    pub fn racks(&self) -> Vec<Rack> {
        let hall: &Hall = &self.hall;
        let spot = |spot: &super::floor::Spot| Rack {
            row: spot.row + 1,
            place: spot.place + 1,
            devices: Vec::new(),
        };
        let mut racks: Vec<Rack> = hall.racks.iter().map(spot).collect();
        let shape = &self.design.shape;
        let servers = (0..shape.servers).map(Device::Server);
        let tiers = [Tier::Leaf, Tier::Spine, Tier::Core];
        let switches = tiers.into_iter().flat_map(|tier| {
            (0..shape.switches(tier)).map(move |number| Device::Switch(tier, number))
        });
        for device in servers.chain(switches) {
            racks[hall.rack(device) as usize].devices.push(device);
        }
        racks
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
            let _ = writeln!(text, "  rack {:>3}  {}", rack.place, spans(&rack.devices));
        }
        text
    }

    /// The racks as CSV: a line for each device.
    pub fn racks_csv(&self) -> String {
        let mut text = String::from("row,rack,position,device\n");
        for rack in self.racks() {
            for (position, device) in rack.devices.iter().enumerate() {
                let _ = writeln!(text, "{},{},{},{device}", rack.row, rack.place, position + 1);
            }
        }
        text
    }
}

/// `server0 … server3, leaf1`.
fn spans(devices: &[Device]) -> String {
    let alike = |a: &Device, b: &Device| match (a, b) {
        (Device::Server(_), Device::Server(_)) => true,
        (Device::Switch(a, _), Device::Switch(b, _)) => a == b,
        _ => false,
    };
    let span = |run: &[Device]| match run {
        [first, .., last] => format!("{first} … {last}"),
        [only] => only.to_string(),
        [] => String::new(),
    };
    devices.chunk_by(alike).map(span).collect::<Vec<_>>().join(", ")
}
