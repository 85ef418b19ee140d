//! [`bound`]: the time below which a collective cannot lie on an idle network, in closed form.
//!
//! Three terms; the first two as in every alpha-beta model (R. W. Hockney, "The communication challenge for MPP", 1994;
//! for pipelined rings and trees: R. Thakur, R. Rabenseifner, W. Gropp, "Optimization of collective
//! communication operations in MPICH", 2005):
//!
//! - **wire**: the bytes of the busiest port over its rate;
//! - **path**: the longest chain of pieces that wait for each other, each with its time on the wire and its
//!   latency.
//!
//! - **credit**: the pieces of the busiest connection, a buffer of them for every round trip of piece and
//!   clear-to-send.
//!
//! In a ring all run side by side, and the time is the largest of them; wire and credit begin after a
//! clear-to-send and end with the latency of the last piece. In a tree or chain the first piece goes
//! the whole path, and the others follow as fast as the busiest port or the buffers let them; where pieces go up
//! and come down again, the two directions overlap.
//!
//! Between pairs, where one port stands for all, the time is that of the port, by recurrence ([`super::pairs`]).
//!
//! For PAT, where all ranks do the same, the time is that of one rank, by recurrence.
//!
//! On [`crate::ideal`] the forms hold within 2 % where one term stands out, and for rings, pairs and gathers nearly
//! everywhere. Where wire and path are about equal, trees take up to a fifth longer, since waiting for a port
//! then holds up the chain, piece by piece. No closed form has that; the tests' equations, one for every
//! piece, do, and the times are theirs to the picosecond.

use super::aggregate::Speeds;
use super::direct::Direct;
use super::exchange::Exchange;
use super::link::{Link, Way};
use super::machine::{Machine, Worker};
use super::pairs::{self, Costs};
use super::part::{Effect, Part};
use super::pat::{Idle, Pat};
use super::shape::Shape;
use super::traffic::{Loads, of_machine};
use super::{Algorithm, Collective, CollectiveError, Settings, program};
use crate::ideal::Moved;
use crate::layout::Layout;
use crate::program::Program;
use xoff_units::{Bytes, Rate, Ratio, Span};

/// An ideal network: rates are those of the fabric, less what protocols take; latencies are fixed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Network {
    /// From the first bit sent to the first bit received, NIC to NIC.
    pub latency: Span,
    /// The same, from GPU to GPU.
    pub nvlink_latency: Span,
    /// The share of a NIC's rate that is left for payload.
    pub nic_share: Ratio,
    /// The share of an NVLink's rate that is left for payload.
    pub nvlink_share: Ratio,
}

impl Default for Network {
    fn default() -> Self {
        Self {
            latency: Span::ZERO,
            nvlink_latency: Span::ZERO,
            nic_share: Ratio::ONE,
            nvlink_share: Ratio::ONE,
        }
    }
}

impl Network {
    /// What a NIC of this rate carries.
    pub fn nic(&self, rate: Rate) -> Rate {
        Rate::from_bps(self.nic_share.of(rate.bps()))
    }

    /// What an NVLink of this rate carries.
    pub fn nvlink(&self, rate: Rate) -> Rate {
        Rate::from_bps(self.nvlink_share.of(rate.bps()))
    }
}

/// What a collective takes at least.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Bound {
    /// The busiest port.
    pub wire: Span,
    /// The longest chain of pieces.
    pub path: Span,
    /// The busiest connection: a buffer for every round trip.
    pub credit: Span,
    /// All together: the closed form of the time.
    pub time: Span,
}

/// The bound of a collective on an ideal network.
pub fn bound(
    collective: Collective,
    algorithm: Algorithm,
    size: Bytes,
    layout: &Layout,
    settings: &Settings,
    network: &Network,
) -> Result<Bound, CollectiveError> {
    let terms = Terms {
        nic: network.nic(layout.nic_rate()),
        nvlink: network.nvlink(layout.nvlink().unwrap_or(Rate::ZERO)),
        network: *network,
        settings: *settings,
    };
    Ok(match program(collective, algorithm, size, layout, settings)? {
        Program::Machine(machine) => terms.machine(&machine),
        Program::Exchange(exchange) => terms.exchange(&exchange),
        Program::Direct(direct) => terms.direct(&direct),
        Program::Aggregate(aggregate) => {
            aggregate.bound(&Speeds { nic: terms.nic, nvlink: terms.nvlink, network })
        }
        Program::Pat(pat) => terms.pat(&pat),
        _ => Bound::default(),
    })
}

struct Terms {
    nic: Rate,
    nvlink: Rate,
    network: Network,
    settings: Settings,
}

impl Terms {
    /// The busiest port.
    fn wire(&self, loads: &Loads) -> Span {
        let busiest = |moved: &Moved| moved.sent.max(moved.received);
        let nics = loads.nics.values().map(busiest).max().map(|bytes| self.nic.time_for(bytes));
        let gpus = loads.gpus.values().map(busiest).max().map(|bytes| self.nvlink.time_for(bytes));
        nics.max(gpus).unwrap_or(Span::ZERO)
    }

    /// A piece over NVLink.
    fn near(&self, bytes: Bytes) -> Span {
        self.nvlink.time_for(bytes) + self.network.nvlink_latency
    }

    /// The way of a piece to the GPU that owns the NIC, where that is another.
    fn relay(&self, way: Way, bytes: Bytes) -> Span {
        match way {
            Way::Network { relay: Some(_), .. } => self.near(bytes),
            _ => Span::ZERO,
        }
    }

    /// What a worker spends on a piece that it receives.
    fn work(&self, bytes: Bytes) -> Span {
        self.settings.cost.work(bytes)
    }

    /// From the first bit that leaves a NIC to the first that the receiving worker sees.
    fn flight(&self, bytes: Bytes) -> Span {
        self.network.latency + self.settings.cost.delay(bytes)
    }

    /// How far pieces of a link follow each other at least: at the slower of its ports, or as its worker goes.
    fn pace(&self, way: Way, bytes: Bytes) -> Span {
        self.slowest(way, bytes).max(self.work(bytes))
    }

    /// The time of a piece at the slower of the ports of a link.
    fn slowest(&self, way: Way, bytes: Bytes) -> Span {
        match way {
            Way::Local => Span::ZERO,
            Way::Nvlink { .. } => self.nvlink.time_for(bytes),
            Way::Network { .. } => self.nic.time_for(bytes),
        }
    }

    /// A piece over a link, from one worker's step to the next worker's.
    fn hop(&self, way: Way, bytes: Bytes) -> Span {
        self.work(bytes)
            + match way {
                Way::Local => Span::ZERO,
                Way::Nvlink { .. } => self.near(bytes),
                Way::Network { .. } => {
                    self.relay(way, bytes) + self.nic.time_for(bytes) + self.flight(bytes)
                }
            }
    }

    /// A clear-to-send, before which nothing can leave.
    fn clearance(&self, way: Way) -> Span {
        match way {
            Way::Network { .. } => {
                self.nic.time_for(self.settings.clear_to_send) + self.network.latency
            }
            _ => Span::ZERO,
        }
    }

    fn machine(&self, machine: &Machine) -> Bound {
        let launch = self.settings.cost.launch;
        let wire = self.wire(&of_machine(machine));
        let credit = self.credit(machine);
        let ends = self.ends(machine);
        if machine.workers.iter().all(|worker| matches!(worker.part, Part::Same(_))) {
            let path = self.first_piece(machine);
            let [up, down] = [false, true].map(|down| self.wire(&one_way(machine, down)));
            let both = !up.is_zero() && !down.is_zero();
            let turn = if both { Span::ZERO } else { self.turn(machine, wire) };
            let path = path + turn;
            // Where pieces go up and come down again, ports are busy with the ones while the first
            // of the others is still on its way.
            let rest = if both { Span::from_ps(path.as_ps() / 2) } else { ends };
            let time = (path + self.others(machine, up.max(down))).max(wire + rest);
            return Bound { wire, path, credit, time: launch + time };
        }
        let turn = self.turn(machine, wire);
        let (path, credit) = (self.rounds(machine) + turn, credit + turn);
        let path = path.max(self.stages(machine));
        Bound { wire, path, credit, time: launch + (wire + ends).max(path).max(credit) }
    }

    /// Channels that share a port begin at the same time: the last of them waits once for the first
    /// pieces of the others, and from then on they keep out of each other's way.
    fn turn(&self, machine: &Machine, wire: Span) -> Span {
        let steps = |worker: &Worker| match worker.part {
            Part::Scatter { .. } | Part::Gather { .. } => 0,
            Part::Rail { row, .. } => 2 * (row.of - 1),
            part => part.steps().max(2) - 1,
        };
        let steps = match machine.workers.iter().map(steps).max() {
            Some(steps) if steps > 0 => steps,
            _ => return Span::ZERO,
        };
        let shape = &machine.shapes[0];
        let pieces = u64::from(steps) * u64::from(shape.laps);
        let chunk = Bytes::new(shape.chunk(0, 0));
        let own = machine.links.iter().map(|link| self.slowest(link.way, chunk)).max();
        let own = own.unwrap_or(Span::ZERO);
        let turn = Span::from_ps(wire.as_ps() / pieces).saturating_sub(own);
        // Where workers are slower than their share of the port, only the first slices meet there.
        let slices = u64::from(shape.slices);
        if self.work(piece(shape)) * slices > turn + own {
            return Span::from_ps(turn.as_ps() / slices);
        }
        turn
    }

    /// The pieces that follow the first one through a tree or chain: as fast as the busiest port or the
    /// buffers let them.
    fn others(&self, machine: &Machine, wire: Span) -> Span {
        let Some(shape) = machine.shapes.first() else { return Span::ZERO };
        let (laps, window) = (u64::from(shape.laps), u64::from(machine.terms.window));
        let bytes = piece(shape);
        let last = Bytes::new(shape.slice(shape.laps - 1, 0, 0));
        let trip = |link: &Link| {
            let once = self.pace(link.way, bytes);
            let wire = self.slowest(link.way, bytes);
            let around = self.work(bytes)
                + match link.way {
                    Way::Network { .. } => wire + self.flight(bytes) + self.clearance(link.way),
                    Way::Local | Way::Nvlink { .. } => self.near(bytes),
                };
            let around = around.max(once * window);
            // The last piece may be a short one.
            let short = once.saturating_sub(self.pace(link.way, last));
            let all = around * ((laps - 1) / window) + once * ((laps - 1) % window);
            all.saturating_sub(short)
        };
        let trips = machine.links.iter().map(trip).max().unwrap_or(Span::ZERO);
        let others = Ratio::new(shape.bytes - bytes.get(), shape.bytes.max(1));
        trips.max(Span::from_ps(others.of(wire.as_ps())))
    }

    /// Before a busy port begins, the first clear-to-send arrives; after it has ended, its last
    /// piece does.
    fn ends(&self, machine: &Machine) -> Span {
        let far = machine.links.iter().find(|link| matches!(link.way, Way::Network { .. }));
        let last = machine.shapes.first().map_or(Bytes::ZERO, piece);
        match far {
            Some(link) => self.clearance(link.way) + self.flight(last) + self.work(last),
            None => self.network.nvlink_latency + self.work(last),
        }
    }

    /// The busiest link by itself: a buffer of pieces for every round trip of piece and
    /// clear-to-send, and the pieces of the last buffer once.
    fn credit(&self, machine: &Machine) -> Span {
        let window = machine.terms.window;
        let of_link = |link: &Link| {
            let receiver = &machine.workers[link.receiver as usize];
            let piece = piece(&machine.shapes[receiver.channel as usize]);
            let once = self.hop(link.way, piece);
            let trip = match link.way {
                Way::Network { .. } => {
                    let there = self.nic.time_for(piece) + self.flight(piece) + self.work(piece);
                    there + self.clearance(link.way)
                }
                Way::Local | Way::Nvlink { .. } => once,
            };
            let trips = link.expected.saturating_sub(1) / window;
            self.clearance(link.way) + trip * u64::from(trips) + once
        };
        machine.links.iter().map(of_link).max().unwrap_or(Span::ZERO)
    }

    /// A ring by itself: lap after lap, a slice goes from hop to hop, or the chunks of the lap pass
    /// its slowest port; a lap begins when the last slice of the one before has come.
    fn rounds(&self, machine: &Machine) -> Span {
        let mut longest = Span::ZERO;
        for (number, worker) in machine.workers.iter().enumerate() {
            let hops = match worker.part {
                Part::AllReduce(place) => 2 * (place.of - 1),
                Part::AllGather(place) | Part::ReduceScatter(place) => place.of - 1,
                Part::Rail { row, .. } => 2 * (row.of - 1),
                _ => continue,
            };
            let shape = &machine.shapes[worker.channel as usize];
            longest = longest.max(self.chain(machine, number, hops, shape));
        }
        longest
    }

    /// The stages inside the servers of algorithm `rail`: scattering goes row by row, and gathering the
    /// last lap follows.
    fn stages(&self, machine: &Machine) -> Span {
        let of_worker = |worker: &Worker| match worker.part {
            Part::Gather { column, row } if column.of > 1 => {
                let shape = &machine.shapes[worker.channel as usize];
                let hop = |lap| self.near(piece_of(shape, lap)) + self.work(piece_of(shape, lap));
                let laps = shape.kinds().map(|(count, lap)| hop(lap) * u64::from(count));
                let all = laps[0] + laps[1] + hop(shape.laps - 1);
                all * u64::from(column.of - 1) * u64::from(row.of)
            }
            _ => Span::ZERO,
        };
        machine.workers.iter().map(of_worker).max().unwrap_or(Span::ZERO)
    }

    /// So many hops along a ring from a worker on, lap by lap.
    fn chain(&self, machine: &Machine, first: usize, hops: u32, shape: &Shape) -> Span {
        let laps = shape.kinds().map(|(count, lap)| match count {
            0 => Span::ZERO,
            _ => self.lap(machine, first, hops, (shape, lap)) * u64::from(count),
        });
        let link = machine.links.get(machine.workers[first].outputs[0] as usize);
        // A clear-to-send arrives while the first piece goes to the GPU that owns the NIC.
        let clearance = link.map_or(Span::ZERO, |link| {
            self.clearance(link.way).saturating_sub(self.relay(link.way, piece(shape)))
        });
        // Before and after a rail's ring, the first and last row go round the server.
        let around = |lap: u32| match machine.workers[first].part {
            Part::Rail { column, .. } if column.of > 1 => {
                let bytes = piece_of(shape, lap);
                (self.near(bytes) + self.work(bytes)) * u64::from(column.of - 1)
            }
            _ => Span::ZERO,
        };
        around(0).max(clearance) + laps[0] + laps[1] + around(shape.laps - 1)
    }

    /// So many hops along a ring from a worker on, in one lap.
    fn lap(&self, machine: &Machine, first: usize, hops: u32, (shape, lap): (&Shape, u32)) -> Span {
        let link = |worker: usize| machine.links.get(machine.workers[worker].outputs[0] as usize);
        let mut at = first;
        let (mut slices, mut slowest) = (Span::ZERO, (Span::ZERO, Span::ZERO));
        // What follows the first slice of a chunk, and all of the chunk, at a link.
        let following = |way: Way| {
            let one = |slice| self.pace(way, Bytes::new(shape.slice(lap, 0, slice)));
            let rest = (1..shape.slices).fold(Span::ZERO, |sum, slice| sum + one(slice));
            (rest, one(0) + rest)
        };
        // Where every hop is as slow, the slowest port idles between laps for one latency.
        let mut idle = self.network.latency;
        for _ in 0..hops {
            let Some(link) = link(at) else { break };
            slices += self.hop(link.way, piece_of(shape, lap));
            slowest = slowest.max(following(link.way));
            if !matches!(link.way, Way::Network { .. }) {
                idle = Span::ZERO;
            }
            at = link.receiver as usize;
        }
        // The other slices of the chunk follow the first at the slowest port.
        (slices + slowest.0).max(slowest.1 * u64::from(hops) + idle)
    }

    /// The way of the first piece through a tree or chain.
    fn first_piece(&self, machine: &Machine) -> Span {
        // Workers are made parents first or children first; so many rounds settle any of them.
        let mut ready = vec![Span::ZERO; machine.workers.len()];
        loop {
            let mut moved = false;
            for (number, link) in machine.links.iter().enumerate() {
                let sender = &machine.workers[link.sender as usize];
                let shape = &machine.shapes[sender.channel as usize];
                let bytes = Bytes::new(shape.slice(0, 0, 0));
                let relay = self.relay(link.way, bytes);
                let begin = (ready[link.sender as usize] + relay).max(self.clearance(link.way));
                // Children are served one after the other, and come one after the other.
                let begin = begin + self.slowest(link.way, bytes) * self.before(machine, number);
                let at = begin + self.hop(link.way, bytes).saturating_sub(relay);
                if at > ready[link.receiver as usize] {
                    ready[link.receiver as usize] = at;
                    moved = true;
                }
            }
            if !moved {
                return ready.into_iter().max().unwrap_or(Span::ZERO);
            }
        }
    }

    /// How many pieces of the same kind pass a port before that of a link in a tree.
    fn before(&self, machine: &Machine, number: usize) -> u64 {
        let link = &machine.links[number];
        let same = |&other: &u32| {
            let other = machine.links.get(other as usize).map(|link| link.way);
            let far = |way| matches!(way, Some(Way::Network { .. }));
            far(other) && far(Some(link.way))
        };
        let until = |links: &[u32]| {
            let place = links.iter().position(|&other| other as usize == number).unwrap_or(0);
            links[..place].iter().filter(|other| same(other)).count() as u64
        };
        let outputs = until(&machine.workers[link.sender as usize].outputs);
        outputs.max(until(&machine.workers[link.receiver as usize].inputs))
    }

    /// Everything at once: the busiest port, and the way of its last byte.
    fn direct(&self, direct: &Direct) -> Bound {
        let loads = direct.rounds().loads();
        let wire = self.wire(&loads);
        let (far, near) = (self.network.latency, self.network.nvlink_latency);
        let path = if loads.nics.is_empty() { near } else { far };
        let time = self.settings.cost.launch + wire + path;
        Bound { wire, path, credit: Span::ZERO, time }
    }

    /// Parallel aggregated trees: one rank stands for all.
    fn pat(&self, pat: &Pat) -> Bound {
        let ask = self.nic.time_for(self.settings.clear_to_send) + self.network.latency;
        let idle = Idle { nic: self.nic, latency: self.network.latency, ask };
        pat.bound(&idle, self.wire(&pat.loads()))
    }

    /// Rounds between pairs: each waits for its clear-to-sends, then its message comes, as fast as
    /// the buffer lets it.
    fn exchange(&self, exchange: &Exchange) -> Bound {
        let wire = self.wire(&exchange.rounds().loads());
        let latency = self.network.latency;
        let ask = self.nic.time_for(self.settings.clear_to_send) + latency;
        let near = self.network.nvlink_latency;
        let window = u64::from(exchange.window());
        let (lanes, ranks) = exchange.rounds().extent();
        let (mut longest, mut ends) = (Span::ZERO, near);
        // Ranks at the ends of a server have partners in other places than the first: two suffice.
        for (rank, lane) in (0..lanes).flat_map(|lane| [(0, lane), (ranks - 1, lane)]) {
            let mut path = Span::ZERO;
            for round in exchange.rounds().of(rank, lane).filter(|round| round.pieces > 0) {
                let piece = Bytes::new(round.piece(0));
                let channels = exchange.rounds().channels();
                let work = match round.is_far() {
                    true => self.settings.cost.pair_work(piece, channels),
                    false => self.work(piece),
                };
                let (begin, wire, trip) = match round.is_far() {
                    true => (ask, self.nic.time_for(piece), self.flight(piece) + work),
                    false => (Span::ZERO, self.nvlink.time_for(piece), near + work),
                };
                if round.is_far() {
                    ends = ask + trip;
                }
                let (more, pace) = (u64::from(round.pieces.saturating_sub(1)), wire.max(work));
                let buffers = (wire + begin + trip) * (more / window) + pace * (more % window);
                // The last piece may be a short one.
                let last = Bytes::new(round.piece(round.pieces - 1));
                let rate = if round.is_far() { self.nic } else { self.nvlink };
                // Who has nothing else to receive has asked before.
                let asks = if round.asked && !path.is_zero() { Span::ZERO } else { begin };
                path += asks + rate.time_for(last) + trip + buffers.max(pace * more);
            }
            longest = longest.max(path);
        }
        let path = longest;
        let time = match exchange.rounds().has_one_port() {
            true => {
                let of = |lane| exchange.rounds().of(0, lane).collect();
                let costs = Costs {
                    nic: self.nic,
                    nvlink: self.nvlink,
                    latency,
                    nvlink_latency: near,
                    ask,
                    cost: self.settings.cost,
                    channels: exchange.rounds().channels(),
                    window: exchange.window(),
                    turns: exchange.rounds().is_symmetric(),
                };
                pairs::time((0..lanes).map(of).collect(), costs)
            }
            false => (wire + ends).max(path),
        };
        Bound { wire, path, credit: Span::ZERO, time: self.settings.cost.launch + time }
    }
}

/// What goes up or down the trees of a machine.
fn one_way(machine: &Machine, down: bool) -> Loads {
    let mut part = machine.clone();
    part.links.retain(|link| match machine.workers[link.receiver as usize].part {
        Part::Same(op) => (op.effect == Effect::Forward) == down,
        _ => false,
    });
    of_machine(&part)
}

/// The largest piece of a shape.
fn piece(shape: &Shape) -> Bytes {
    piece_of(shape, 0)
}

/// The largest piece of a lap.
fn piece_of(shape: &Shape, lap: u32) -> Bytes {
    Bytes::new(shape.slice(lap, 0, 0))
}
