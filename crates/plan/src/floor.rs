//! The floor: where racks stand, and how long cables become.
//!
//! Servers fill racks, racks fill rows. The leaves of a pod stand in a rack of their own in the
//! middle of the racks they serve; a leaf that serves whole servers alone stands in the middle one
//! of their racks. Spines and cores stand in rows of their own in the middle of the hall. Rows
//! stand in columns, so that the hall is about as wide as it is long. A cable goes up to a tray,
//! along and across at right angles, and down again; it is bought in a usual length.

use super::refusal::Refusal;
use super::shape::{Run, Shape};
use super::{Level, racks::Device};
use serde::Serialize;
use xoff_fabric::model::Tier;
use xoff_units::Length;

/// The measures of a hall.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Floor {
    /// Servers in one rack.
    pub servers_per_rack: u64,
    /// Switches in a rack that has nothing else.
    pub switches_per_rack: u64,
    /// Racks side by side.
    pub racks_per_row: u64,
    /// From one rack to the next.
    pub rack_pitch: Length,
    /// From one row to the next; also the aisle between columns of rows.
    pub row_pitch: Length,
    /// From a device up to the tray.
    pub drop: Length,
    /// Height of a rack.
    pub rack_units: u64,
    /// Height of a server.
    pub server_units: u64,
    /// What a server draws, NICs included, in thousandths of a watt; without it, so much for each
    /// of its GPUs.
    pub server_milliwatts: Option<u64>,
    /// What a rack may draw, in thousandths of a watt.
    pub rack_milliwatts: u64,
}

/// What a server draws for each GPU: 10.2 kW of 8-GPU servers with 700 W GPUs, as their data sheets
/// give it.
const MILLIWATTS_PER_GPU: u64 = 1_275_000;

impl Default for Floor {
    fn default() -> Self {
        Self {
            servers_per_rack: 4,
            switches_per_rack: 8,
            racks_per_row: 20,
            rack_pitch: Length::from_mm(600),
            row_pitch: Length::from_m(3),
            drop: Length::from_mm(1_500),
            rack_units: 48,
            server_units: 8,
            server_milliwatts: None,
            rack_milliwatts: 45_000_000,
        }
    }
}

/// Height of a switch with so many cages: 32 in 1U, 64 in 2U, 128 in 4U; a chassis of 288 in 16U.
pub(super) fn switch_units(cages: u64) -> u64 {
    match cages {
        0..=32 => 1,
        33..=64 => 2,
        65..=128 => 4,
        _ => cages.div_ceil(18),
    }
}

/// A cable that stays in its rack.
const IN_RACK: Length = Length::from_m(2);

/// Lengths that cables are sold in, in metres; beyond them, every hundred.
const USUAL: [u64; 16] = [1, 2, 3, 5, 7, 10, 15, 20, 30, 40, 50, 75, 100, 150, 200, 300];

/// The next usual length.
fn usual(length: Length) -> Length {
    let metres = length.as_mm().div_ceil(1_000);
    let found = USUAL.iter().copied().find(|usual| *usual >= metres);
    Length::from_m(found.unwrap_or(metres.div_ceil(100) * 100))
}

impl Floor {
    pub(super) fn check(&self) -> Result<(), Refusal> {
        let counts = [self.servers_per_rack, self.switches_per_rack, self.racks_per_row];
        if counts.iter().any(|count| !(1..=1_000).contains(count)) {
            return Err(Refusal::new(
                "nothing fits on this floor",
                ["1 to 1000 servers and switches in a rack, and racks in a row"],
            ));
        }
        if !(1..=1_000).contains(&self.rack_units) || !(1..=100).contains(&self.server_units) {
            return Err(Refusal::new(
                "no rack or server has this height",
                ["--rack-units 1 to 1000", "--server-units 1 to 100"],
            ));
        }
        let lengths = [self.rack_pitch, self.row_pitch, self.drop];
        if lengths.iter().any(|length| *length > Length::from_m(100)) {
            return Err(Refusal::new(
                "racks and rows are too far apart",
                ["up to 100m between racks, between rows and up to the tray"],
            ));
        }
        Ok(())
    }
}

impl Floor {
    /// What a server with so many GPUs draws, in thousandths of a watt.
    pub fn server_power(&self, gpus: u64) -> u64 {
        self.server_milliwatts.unwrap_or(gpus.saturating_mul(MILLIWATTS_PER_GPU))
    }
}

/// Where a rack stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Spot {
    pub(super) row: u64,
    pub(super) place: u64,
    x: u64,
    y: u64,
}

/// A hall with every rack in its place.
#[derive(Debug, Clone)]
pub(super) struct Hall {
    floor: Floor,
    leaves_per_rack: u64,
    nics_per_server: u64,
    /// Racks of the network between GPUs; those of others come behind them.
    own: u64,
    /// Racks, row by row.
    pub(super) racks: Vec<Spot>,
    servers: Vec<u32>,
    leaves: Vec<u32>,
    spines: Vec<u32>,
    cores: Vec<u32>,
}

impl Hall {
    /// The hall of a fabric.
    pub(super) fn new(floor: Floor, shape: &Shape, heights: [u64; 3]) -> Self {
        // As many switches in a rack as are wanted, and as fit.
        let fit = heights
            .map(|units| floor.switches_per_rack.min(floor.rack_units / units.max(1)).max(1));
        let mut hall = Hall {
            floor,
            leaves_per_rack: fit[0],
            own: 0,
            nics_per_server: shape.nics_per_server,
            racks: Vec::new(),
            servers: Vec::new(),
            leaves: Vec::new(),
            spines: Vec::new(),
            cores: Vec::new(),
        };
        let mut rows = Rows::of(floor.racks_per_row);
        let first = rows.racks;
        for group in 0..shape.leaves / shape.leaves_per_group() {
            hall.add_group(shape, group, &mut rows);
        }
        let server_rows = rows.next_row(first);
        for tier in [Tier::Spine, Tier::Core] {
            let list = if tier == Tier::Spine { &mut hall.spines } else { &mut hall.cores };
            for switch in 0..shape.switches(tier) {
                if switch.is_multiple_of(fit[tier as usize]) {
                    rows.block(1);
                }
                list.push(rows.racks as u32 - 1);
            }
        }
        hall.racks = rows.place(floor, server_rows);
        hall.own = hall.racks.len() as u64;
        hall
    }

    /// The racks of a group of leaves and its servers: half of the servers, the leaves, the rest.
    fn add_group(&mut self, shape: &Shape, group: u64, rows: &mut Rows) {
        let servers = shape.group(group);
        let count = servers.end - servers.start;
        let server_racks = count.div_ceil(self.floor.servers_per_rack).max(1);
        let switch_racks = match shape.leaves_per_group() {
            1 => 0,
            leaves => leaves.div_ceil(self.leaves_per_rack),
        };
        let first = rows.block(server_racks + switch_racks);
        let before = server_racks / 2;
        for server in 0..count {
            let rack = server / self.floor.servers_per_rack;
            let shift = if rack < before { 0 } else { switch_racks };
            self.servers.push((first + rack + shift) as u32);
        }
        for leaf in 0..shape.leaves_per_group() {
            self.leaves.push((first + before + leaf / self.leaves_per_rack) as u32);
        }
    }

    /// The rack of a device.
    pub(super) fn rack(&self, device: Device) -> u32 {
        let (list, at) = match device {
            Device::Server(at) => (&self.servers, at),
            Device::Switch(Tier::Leaf, at) => (&self.leaves, at),
            Device::Switch(Tier::Spine, at) => (&self.spines, at),
            Device::Switch(Tier::Core, at) => (&self.cores, at),
            Device::Storage(_) | Device::Side(..) => unreachable!("not of the compute network"),
        };
        list[at as usize]
    }

    /// New racks in rows at the end of the hall. Returns the first.
    pub(super) fn add_racks(&mut self, count: u64) -> u64 {
        let first = self.racks.len() as u64;
        let own = || self.racks.iter().take(self.own as usize);
        let row = own().map(|spot| spot.row).max().unwrap_or(0) + 1;
        let y = own().map(|spot| spot.y).max().unwrap_or(0);
        let (per_row, pitch) = (self.floor.racks_per_row, self.floor.rack_pitch.as_mm());
        let step = self.floor.row_pitch.as_mm();
        let before = first - self.own;
        self.racks.extend((before..before + count).map(|at| {
            let (line, place) = (at / per_row, at % per_row);
            Spot { row: row + line, place, x: place * pitch, y: y + (line + 1) * step }
        }));
        first
    }

    /// The same hall with other devices in its racks.
    pub(super) fn with(
        &self,
        servers: Vec<u32>,
        leaves: Vec<u32>,
        spines: Vec<u32>,
        cores: Vec<u32>,
    ) -> Self {
        let racks = self.racks.clone();
        Self { nics_per_server: 1, racks, servers, leaves, spines, cores, ..*self }
    }

    /// The length of the cables of a run.
    pub(super) fn length(&self, run: Run) -> Length {
        let lower = match run.level.lower() {
            None => Device::Server(run.lower / self.nics_per_server),
            Some(tier) => Device::Switch(tier, run.lower),
        };
        let upper = Device::Switch(run.level.upper(), run.upper);
        self.between(self.rack(lower), self.rack(upper))
    }

    /// The length of a cable between two racks.
    pub(super) fn between(&self, a: u32, b: u32) -> Length {
        if a == b {
            return IN_RACK;
        }
        let (a, b) = (self.racks[a as usize], self.racks[b as usize]);
        let way = a.x.abs_diff(b.x) + a.y.abs_diff(b.y) + 2 * self.floor.drop.as_mm();
        usual(Length::from_mm(way))
    }
}

/// Racks being put into rows.
struct Rows {
    per_row: u64,
    /// Racks so far, and (row, place) of each.
    racks: u64,
    places: Vec<(u64, u64)>,
    row: u64,
    used: u64,
}

impl Rows {
    const fn of(per_row: u64) -> Self {
        Self { per_row, racks: 0, places: Vec::new(), row: 0, used: 0 }
    }

    /// Puts `count` racks side by side, in a new row if they would not fit this one. Returns the
    /// first.
    fn block(&mut self, count: u64) -> u64 {
        let first = self.racks;
        if self.used > 0 && self.used + count > self.per_row && count <= self.per_row {
            self.row += 1;
            self.used = 0;
        }
        for _ in 0..count {
            if self.used == self.per_row {
                self.row += 1;
                self.used = 0;
            }
            self.places.push((self.row, self.used));
            self.used += 1;
            self.racks += 1;
        }
        first
    }

    /// Ends the row. Returns how many rows there are.
    fn next_row(&mut self, first: u64) -> u64 {
        if self.racks > first && self.used > 0 {
            self.row += 1;
            self.used = 0;
        }
        self.row
    }

    /// Gives every rack its spot: rows from `server_rows` on stand in the middle.
    fn place(self, floor: Floor, server_rows: u64) -> Vec<Spot> {
        let rows = self.row + u64::from(self.used > 0);
        let (pitch, step) = (floor.rack_pitch.as_mm(), floor.row_pitch.as_mm());
        let width = floor.racks_per_row * pitch + step;
        // Columns of rows, so that the hall is about square.
        let lines = (rows * width / step.max(1)).isqrt().clamp(1, rows.max(1));
        let columns = rows.div_ceil(lines);
        let mut spots: Vec<(u64, u64)> =
            (0..rows).map(|row| (row / lines * width, row % lines * step)).collect();
        let centre = ((columns - 1) * width / 2, (lines - 1) * step / 2);
        let away = |spot: &(u64, u64)| spot.0.abs_diff(centre.0) + spot.1.abs_diff(centre.1);
        spots.sort_by_key(|spot| (away(spot), *spot));
        let middle = spots[..(rows - server_rows) as usize].to_vec();
        let mut outer = spots[(rows - server_rows) as usize..].to_vec();
        outer.sort_unstable();
        let row_spot = |row: u64| match row.checked_sub(server_rows) {
            Some(row) => middle[row as usize],
            None => outer[row as usize],
        };
        let spot = |&(row, place): &(u64, u64)| {
            let (x, y) = row_spot(row);
            Spot { row, place, x: x + place * pitch, y }
        };
        self.places.iter().map(spot).collect()
    }
}

/// The name of a level's length in messages.
pub(super) const fn between(level: Level) -> &'static str {
    match level {
        Level::Host => "NICs and leaves",
        Level::LeafSpine => "leaves and spines",
        Level::SpineCore => "spines and cores",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_usual_ones() {
        let length = |mm| usual(Length::from_mm(mm));
        assert_eq!(length(1), Length::from_m(1));
        assert_eq!(length(3_600), Length::from_m(5));
        assert_eq!(length(7_001), Length::from_m(10));
        assert_eq!(length(300_001), Length::from_m(400));
    }

    #[test]
    fn rows_are_filled_and_blocks_stay_together() {
        let mut rows = Rows::of(4);
        assert_eq!((rows.block(3), rows.block(2)), (0, 3));
        assert_eq!(rows.block(6), 5);
        let expected = [
            (0, 0),
            (0, 1),
            (0, 2),
            (1, 0),
            (1, 1),
            // Longer than a row: it goes on where there is room.
            (1, 2),
            (1, 3),
            (2, 0),
            (2, 1),
            (2, 2),
            (2, 3),
        ];
        assert_eq!(rows.places, expected);
    }
}
