//! The cabling plan: every link with rack, unit, device, port and label at both ends.

use super::Plan;
use super::bill::LevelCables;
use super::management::Owner;
use super::parts::Medium;
use super::racks::{Device, Place};
use super::shape::{Level, Shape};
use super::wiring::{Link, PortNumber};
use std::collections::BTreeMap;
use std::fmt::{self, Write};
use xoff_fabric::model::Tier;
use xoff_units::Length;

/// What a cable is plugged into, as the resolved fabric names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum End {
    /// A NIC of a server.
    Nic {
        /// The server.
        server: u64,
        /// Which of its NICs.
        nic: u64,
    },
    /// A switch.
    Switch {
        /// Where it stands.
        tier: Tier,
        /// Which of its tier.
        number: u64,
    },
}

impl End {
    /// What stands in a rack.
    pub const fn device(self) -> Device {
        match self {
            End::Nic { server, .. } => Device::Server(server),
            End::Switch { tier, number } => Device::Switch(tier, number),
        }
    }
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            End::Nic { server, nic } => write!(f, "server{server}-nic{nic}"),
            End::Switch { tier, number } => write!(f, "{}{number}", tier.name()),
        }
    }
}

/// A link, and the cable it runs in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cable<'a> {
    /// Between what.
    pub level: Level,
    /// The number of its cable within the level, from 1; the links of a cable that fans out share
    /// it.
    pub number: u64,
    /// Which of several links in a cable that fans out.
    pub leg: Option<u64>,
    /// Its lower end.
    pub from: End,
    /// The port there.
    pub from_port: PortNumber,
    /// Its upper end.
    pub to: End,
    /// The port there.
    pub to_port: PortNumber,
    /// The rail it belongs to, in a design with rails.
    pub rail: Option<u64>,
    /// The length of its cable.
    pub length: Length,
    /// What carries it.
    pub medium: &'a Medium,
}

impl Cable<'_> {
    /// What is written on the cable: `H00012`, and `H00012-2` on a leg.
    pub fn label(&self) -> String {
        let letter = match self.level {
            Level::Host => 'H',
            Level::LeafSpine => 'L',
            Level::SpineCore => 'S',
        };
        match self.leg {
            Some(leg) => format!("{letter}{:05}-{leg}", self.number),
            None => format!("{letter}{:05}", self.number),
        }
    }
}

/// The columns of the cabling plan.
const COLUMNS: &str = "cable,leg,network,from_rack,from_unit,from_device,from_port,from_label,\
                       to_rack,to_unit,to_device,to_port,to_label,rail,rate,lanes,length_m,part,\
                       from_end,from_form,to_end,to_form\n";

impl Plan {
    /// Every link of the chosen design, in the order in which the resolved fabric has them.
    pub fn for_each_cable<'a>(&'a self, mut visit: impl FnMut(Cable<'a>)) {
        let shape = &self.design.shape;
        self.wiring.for_each(shape, &self.hall, |link| visit(cable(shape, &link)));
    }

    /// The cabling plan as CSV: a row for each link of all networks. The links of a cable that fans
    /// out have its label and a leg each.
    pub fn cabling_csv(&self) -> String {
        let mut text = String::with_capacity(self.design.all_links() as usize * 200 + 300);
        text += COLUMNS;
        let places = self.places();
        let level = |level: &LevelCables| (level.level, level.rate.to_string());
        let rates: BTreeMap<Level, String> = self.design.cables.iter().map(level).collect();
        self.for_each_cable(|cable| {
            let Some(rate) = rates.get(&cable.level) else { return };
            let names = (cable.from.to_string(), cable.to.to_string());
            let places = (places.get(&cable.from.device()), places.get(&cable.to.device()));
            row(&mut text, "compute", &cable, names, places, rate);
        });
        for side in &self.sides.networks {
            let rates: BTreeMap<Level, String> = side.cables.iter().map(level).collect();
            side.wiring.for_each(&side.shape, &side.hall, |link| {
                let Some(rate) = rates.get(&link.run.level) else { return };
                let (purpose, run) = (side.purpose, link.run);
                let upper = Device::Side(purpose, run.level.upper(), run.upper);
                let (lower, name) = match run.level.lower() {
                    Some(tier) => {
                        let device = Device::Side(purpose, tier, run.lower);
                        (device, device.to_string())
                    }
                    None => {
                        let (device, nic) = side.hosts[run.lower as usize];
                        (device, format!("{device}-{}{nic}", purpose.name()))
                    }
                };
                let cable = cable(&side.shape, &link);
                let places = (places.get(&lower), places.get(&upper));
                let names = (name, upper.to_string());
                row(&mut text, purpose.name(), &cable, names, places, rate);
            });
        }
        self.management_rows(&mut text, &places);
        text
    }

    fn management_rows(&self, text: &mut String, places: &BTreeMap<Device, Place>) {
        let Some(management) = &self.sides.management else { return };
        for (at, run) in management.cables.iter().enumerate() {
            let (place, name) = match run.from.of {
                Owner::Device(device) => (places.get(&device).copied(), device.to_string()),
                Owner::Strips(rack) => {
                    let spot = &self.hall.racks[rack as usize];
                    let place = Place { row: spot.row + 1, rack: spot.place + 1, unit: 0 };
                    (Some(place), place.rack_label())
                }
            };
            let from = place.unwrap_or_default();
            let to = places.get(&run.to).copied().unwrap_or_default();
            let (part, forms, rate, lanes) = match &run.medium {
                None => ("cat6", ["RJ45"; 2], "1Gbps", "RJ45"),
                Some(medium) => {
                    let forms = [medium.lower.form.name(), medium.upper.form.name()];
                    (medium.name.as_str(), forms, "25Gbps", "1 x 25G")
                }
            };
            let to_name = run.to.to_string();
            let row = Row {
                cable: format!("M{:05}", at + 1),
                leg: None,
                network: "management",
                ends: [
                    (from, &name, run.from.port.to_owned()),
                    (to, &to_name, run.to_port.to_string()),
                ],
                rail: None,
                rate,
                lanes,
                length: run.length,
                part,
                plugs: [(part, forms[0]), (part, forms[1])],
            };
            row.write(text);
        }
    }
}

/// One row of the plan.
struct Row<'a> {
    cable: String,
    leg: Option<u64>,
    network: &'a str,
    /// Place, device and port of both ends.
    ends: [(Place, &'a str, String); 2],
    rail: Option<u64>,
    rate: &'a str,
    lanes: &'a str,
    length: Length,
    part: &'a str,
    /// What is plugged in at both ends, and its form.
    plugs: [(&'a str, &'a str); 2],
}

impl Row<'_> {
    fn write(&self, text: &mut String) {
        let some = |number: Option<u64>| number.map_or(String::new(), |number| number.to_string());
        let _ = write!(text, "{},{},{}", self.cable, some(self.leg), self.network);
        for (place, device, port) in &self.ends {
            let (rack, unit) = (place.rack_label(), place.unit);
            let _ =
                write!(text, ",{rack},{unit},{device},{port},{rack}-U{unit:02}-{device}-{port}");
        }
        let (rail, metres) = (some(self.rail), self.length.as_mm() / 1_000);
        let [(lower, lower_form), (upper, upper_form)] = self.plugs;
        let _ = writeln!(
            text,
            ",{rail},{},{},{metres},{},{lower},{lower_form},{upper},{upper_form}",
            self.rate, self.lanes, self.part
        );
    }
}

/// The row of a link. Labels of other networks begin with a letter of their own: `TH00012` is of
/// storage.
fn row(
    text: &mut String,
    network: &str,
    cable: &Cable<'_>,
    (from_name, to_name): (String, String),
    (from, to): (Option<&Place>, Option<&Place>),
    rate: &str,
) {
    let (from, to) = (from.copied().unwrap_or_default(), to.copied().unwrap_or_default());
    let prefix = match network {
        "storage" => "T",
        "frontend" => "F",
        _ => "",
    };
    let label = cable.label();
    let medium = cable.medium;
    let lanes = medium.lanes.to_string();
    let ports = (cable.from_port.to_string(), cable.to_port.to_string());
    let row = Row {
        cable: format!("{prefix}{}", label.split('-').next().unwrap_or_default()),
        leg: cable.leg,
        network,
        ends: [(from, &from_name, ports.0), (to, &to_name, ports.1)],
        rail: cable.rail,
        rate,
        lanes: &lanes,
        length: cable.length,
        part: medium.patch.as_ref().map_or(medium.name.as_str(), |patch| patch.ends.as_str()),
        plugs: [&medium.lower, &medium.upper].map(|plug| (plug.part.as_str(), plug.form.name())),
    };
    row.write(text);
}

fn cable<'a>(shape: &Shape, link: &Link<'a>) -> Cable<'a> {
    let run = link.run;
    let from = match run.level.lower() {
        Some(tier) => End::Switch { tier, number: run.lower },
        None => End::Nic {
            server: run.lower / shape.nics_per_server,
            nic: run.lower % shape.nics_per_server,
        },
    };
    Cable {
        level: run.level,
        number: link.cable,
        leg: link.leg,
        from,
        from_port: link.from_port,
        to: End::Switch { tier: run.level.upper(), number: run.upper },
        to_port: link.to_port,
        rail: rail(shape, run.level, run.lower),
        length: link.length,
        medium: link.medium,
    }
}

fn rail(shape: &Shape, level: Level, lower: u64) -> Option<u64> {
    match level {
        _ if shape.rails == 1 => None,
        Level::Host => Some(lower % shape.rails),
        Level::LeafSpine => Some(lower / shape.homing % shape.rails),
        Level::SpineCore => None,
    }
}
