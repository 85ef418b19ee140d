//! Workers in rings, trees, chains and rails.

use super::*;
use crate::collective::link::Way;
use crate::collective::machine::{Machine, Worker};

/// A slice that a worker passes on: the pieces it takes and gives, and what that costs.
struct Slice {
    takes: Vec<Name>,
    gives: Vec<Name>,
    cost: u64,
}

/// A piece of a link.
#[derive(Debug, Clone, Default)]
struct Piece {
    bytes: u64,
    /// Worker and slice at either end.
    from: (usize, usize),
    to: (usize, usize),
    /// At the GPU that owns the NIC, where that is another.
    staged: u64,
    landed: u64,
}

struct Equations<'a> {
    machine: &'a Machine,
    ports: Ports,
    slices: Vec<Vec<Slice>>,
    pieces: Vec<Vec<Piece>>,
    /// When each slice goes.
    fired: Vec<Vec<u64>>,
}

/// When the last slice goes.
pub(super) fn time(machine: &Machine, ports: Ports) -> Span {
    let mut all = Equations::new(machine, ports);
    // Nothing waits for more than all the others, each of them once.
    let most = 10 + 4 * all.pieces.iter().map(Vec::len).sum::<usize>();
    for _ in 0..most {
        all.workers();
        if !all.pass() {
            all.workers();
            let last = all.fired.iter().flatten().copied().max();
            return Span::from_ps(last.unwrap_or(0));
        }
    }
    panic!("the equations have no solution");
}

impl<'a> Equations<'a> {
    fn new(machine: &'a Machine, ports: Ports) -> Self {
        let mut all = Self {
            machine,
            ports,
            slices: Vec::new(),
            pieces: vec![Vec::new(); machine.links.len()],
            fired: Vec::new(),
        };
        let mut taken = vec![0; machine.links.len()];
        for worker in &machine.workers {
            all.cut(worker, &mut taken);
        }
        for (worker, own) in all.slices.iter().enumerate() {
            for (slice, Slice { takes, .. }) in own.iter().enumerate() {
                takes.iter().for_each(|&(link, at)| all.pieces[link][at].to = (worker, slice));
            }
        }
        all.fired = all.slices.iter().map(|own| vec![0; own.len()]).collect();
        all
    }

    /// The slices of a worker, in its order, and the pieces that it gives.
    fn cut(&mut self, worker: &Worker, taken: &mut [usize]) {
        let shape = &self.machine.shapes[worker.channel as usize];
        let links = |mask: u8, all: [u32; 3]| {
            (0..3).filter(move |bit| mask >> bit & 1 == 1).map(move |bit| all[bit] as usize)
        };
        let mut own: Vec<Slice> = Vec::new();
        for step in 0..shape.laps * worker.part.steps() {
            let (lap, step) = (step / worker.part.steps(), step % worker.part.steps());
            let op = worker.part.op(step);
            let cut = (0..shape.slices).map(|slice| shape.slice(lap, op.chunk, slice));
            for bytes in cut.filter(|&bytes| bytes > 0) {
                let take = |link: usize| {
                    taken[link] += 1;
                    (link, taken[link] - 1)
                };
                let takes: Vec<_> = links(op.takes, worker.inputs).map(take).collect();
                let from = (self.slices.len(), own.len());
                let give = |link: usize| {
                    self.pieces[link].push(Piece { bytes, from, ..Piece::default() });
                    (link, self.pieces[link].len() - 1)
                };
                let gives = links(op.gives, worker.outputs).map(give).collect();
                let terms = &self.machine.terms;
                let work = terms.cost.work(Bytes::new(bytes));
                let cost = if takes.is_empty() { Span::ZERO } else { work };
                own.push(Slice { takes, gives, cost: cost.as_ps() });
            }
        }
        self.slices.push(own);
    }

    fn fired(&self, (worker, slice): (usize, usize)) -> u64 {
        self.fired[worker][slice]
    }

    /// When there is room for a piece at the sender or, `far`, at the receiver.
    fn room(&self, (link, at): Name, far: bool) -> u64 {
        let terms = &self.machine.terms;
        let Some(before) = at.checked_sub(terms.window as usize) else {
            return terms.cost.launch.as_ps();
        };
        let piece = &self.pieces[link][before];
        match self.machine.links[link].way {
            Way::Network { .. } if !far => piece.landed,
            _ => self.fired(piece.to),
        }
    }

    /// Every worker does one slice after the other, when it has what it takes and room for what it
    /// gives.
    fn workers(&mut self) {
        for worker in 0..self.slices.len() {
            let mut last = self.machine.terms.cost.launch.as_ps();
            for slice in 0..self.slices[worker].len() {
                let Slice { takes, gives, cost } = &self.slices[worker][slice];
                let taken = takes.iter().map(|&(link, at)| {
                    let piece = &self.pieces[link][at];
                    match self.machine.links[link].way {
                        Way::Local => self.fired(piece.from),
                        _ => piece.landed,
                    }
                });
                let room = gives.iter().map(|&piece| self.room(piece, false));
                last = taken.chain(room).fold(last, u64::max) + cost;
                self.fired[worker][slice] = last;
            }
        }
    }

    /// Every port passes on what comes to it; whether anything has changed.
    fn pass(&mut self) -> bool {
        let (mut near, mut far) = (Vec::new(), Vec::new());
        for (link, pieces) in self.pieces.iter().enumerate() {
            let mut last = 0;
            for (at, piece) in pieces.iter().enumerate() {
                let (filled, bytes, name) = (self.fired(piece.from), piece.bytes, (link, at));
                let passage = |comes, from, to| Passage { comes, piece: name, bytes, from, to };
                match self.machine.links[link].way {
                    Way::Local => {}
                    Way::Nvlink { from, to } => near.push(passage(filled, from.0, to.0)),
                    Way::Network { from, to, relay, .. } => {
                        let staged = relay.map_or(filled, |(gpu, other)| {
                            near.push(passage(filled, gpu.0, other.0));
                            piece.staged
                        });
                        let cleared = self.room(name, true) + self.ports.ask;
                        last = staged.max(cleared).max(last);
                        far.push(passage(last, from.0, to.0));
                    }
                }
            }
        }
        let (near, far) = (self.ports.near(near), self.ports.far(far));
        let mut changed = false;
        for ((link, at), time) in near {
            let piece = &mut self.pieces[link][at];
            let own = match self.machine.links[link].way {
                Way::Network { .. } => &mut piece.staged,
                _ => &mut piece.landed,
            };
            changed |= std::mem::replace(own, time) != time;
        }
        for ((link, at), time) in far {
            let piece = &mut self.pieces[link][at];
            let delay = self.machine.terms.cost.delay(Bytes::new(piece.bytes));
            let time = time + delay.as_ps();
            changed |= std::mem::replace(&mut piece.landed, time) != time;
        }
        changed
    }
}
