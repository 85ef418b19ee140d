//! [`run`]: a program on a network without switches, queues or loss, to see what the program itself
//! allows.
//!
//! Every NIC sends and receives at its rate, one whole transfer after the other, and so does every GPU
//! into its NVLink domain ([`Ports`]); a transfer is on both ends' wires at once (nothing is stored in between) and its
//! first bit arrives after a latency: one for all pairs ([`run`]), or that of the way that each pair has in a fabric
//! ([`run_on_paths`]). Whole transfers, not packets: turns are coarser, but sums and the last arrival are the same, at a
//! hundredth of the events. Clear-to-sends pass by data: a NIC that takes turns packet by packet does not make them wait.

mod paths;
mod repeat;

pub use crate::ports::Moved;
pub use paths::Paths;

use crate::agenda::{Agenda, Rank};
use crate::collective::Network;
use crate::layout::{self, GpuId};
use crate::ports::{Ports, Transfer};
use crate::program::{Action, Program, Queue, Token, Traffic};
use repeat::Repeats;
use std::collections::BTreeSet;
use xoff_fabric::model::{Fabric, NicId};
use xoff_units::{Bytes, Instant, Rate, Span};

/// What a program did on the ideal network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// When it finished.
    pub end: Instant,
    /// Actions carried out.
    pub actions: u64,
    /// Data that each NIC sent and received, without clear-to-sends.
    pub nics: Vec<Moved>,
    /// What each GPU sent and received over NVLink; then the ports of NVSwitches, where those add up.
    pub gpus: Vec<Moved>,
    /// Clear-to-sends.
    pub clear_to_sends: u64,
    /// Most clear-to-sends and data asked for by them under way at once.
    pub most_under_way: u64,
}

/// Why a program did not come to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum IdealError {
    /// Nothing is under way, and the program has not finished.
    #[error("the program is stuck after {0} actions")]
    Stuck(u64),
    /// It finished with something under way, or went on afterwards.
    #[error("the program finished before its last action was done")]
    Early,
    /// A NIC or GPU that the fabric does not have, or one without a rate.
    #[error("the program uses a NIC or GPU that cannot send")]
    NoSuchPort,
    /// It hands out whole collectives, whose transfers are not known here.
    #[error("the program hands out its collectives whole")]
    Whole,
    /// Beyond what time can be counted.
    #[error("the program takes longer than 213 days")]
    TooLong,
}

/// What happens.
#[derive(Debug, Clone, Copy)]
enum What {
    /// What this stands for is done.
    Done(Token),
    /// The first bit of a transfer arrives.
    Arrives(Kind, Transfer),
    /// A port may send the next transfer.
    Free(Kind, u32),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Nic,
    Nvlink,
}

impl What {
    /// What is done comes first, then what arrives, connection by connection, and ports choose last, when all that
    /// comes to them at that instant is there. So the order is not left to chance: where all ranks begin at
    /// once, all begin with their first connection.
    fn rank(&self) -> Rank {
        let (class, source) = match self {
            What::Done(_) => (0, 0),
            What::Arrives(_, transfer) => (1, transfer.connection()),
            What::Free(_, port) => (2, *port),
        };
        Rank { class, source }
    }
}

/// Runs a program to its end on a network that is the same between all pairs.
pub fn run(
    program: &mut Program,
    fabric: &Fabric,
    network: &Network,
) -> Result<Outcome, IdealError> {
    with_network(fabric, network, |network, servers| run_over(program, network, servers))
}

/// Calls `run` with the rates and latencies of a network that is the same between all pairs.
fn with_network<T>(
    fabric: &Fabric,
    network: &Network,
    run: impl FnOnce((Vec<Rate>, Far<'_>), (Vec<Rate>, Near<'_>)) -> T,
) -> T {
    let nics =
        (0..fabric.nics.len() as u32).map(|nic| network.nic(layout::rate(fabric, NicId(nic))));
    let gpus = layout::nvlinks(fabric).into_iter().map(|rate| network.nvlink(rate));
    let latency = |_: NicId, _: NicId, _: Bytes| network.latency;
    let own = layout::gpu_count(fabric);
    let near = |gpu: GpuId| if gpu.0 < own { network.nvlink_latency } else { Span::ZERO };
    run((nics.collect(), &latency), (gpus.collect(), &near))
}

/// Runs a program to its end with the same NICs and NVLinks as a fabric has, the same delay between every pair, and
/// nothing between them that could be busy.
pub fn run_on_paths(program: &mut Program, paths: &Paths<'_>) -> Result<Outcome, IdealError> {
    let fabric = paths.fabric();
    let nics = (0..fabric.nics.len() as u32).map(|nic| paths.rate(NicId(nic)));
    let latency = |from: NicId, to: NicId, bytes: Bytes| paths.latency(from, to, bytes);
    let near = layout::nvlink_latencies(fabric);
    let near = |gpu: GpuId| near.get(gpu.index()).copied().unwrap_or(Span::ZERO);
    run_over(program, (nics.collect(), &latency), (layout::nvlinks(fabric), &near))
}

/// The queue pairs of a collective in the order in which it first uses them, as the two NICs of each, the lower first, and its
/// number. Runs until all that [`Program::demands`] names have been used.
pub fn openings(
    program: &mut Program,
    paths: &Paths<'_>,
) -> Result<Vec<(NicId, NicId, Queue)>, IdealError> {
    let pair = |from: NicId, to: NicId, queue| (from.min(to), from.max(to), queue);
    let demands = program.demands();
    let mut left: BTreeSet<_> = demands.iter().map(|d| pair(d.from, d.to, d.queue)).collect();
    let mut order = Vec::with_capacity(left.len());
    let fabric = paths.fabric();
    let nics = (0..fabric.nics.len() as u32).map(|nic| paths.rate(NicId(nic)));
    let latency = |from: NicId, to: NicId, bytes: Bytes| paths.latency(from, to, bytes);
    let near = layout::nvlink_latencies(fabric);
    let near = |gpu: GpuId| near.get(gpu.index()).copied().unwrap_or(Span::ZERO);
    let watch = &mut |action: &Action| {
        if let Action::Network { from, to, queue, .. } = *action {
            let pair = pair(from, to, queue);
            if left.remove(&pair) {
                order.push(pair);
            }
        }
        !left.is_empty()
    };
    let network = (nics.collect(), &latency as Far<'_>);
    run_watched(program, network, (layout::nvlinks(fabric), &near), (None, watch))?;
    Ok(order)
}

/// How long bytes take from a NIC to another, without their time on the wire.
type Far<'a> = &'a dyn Fn(NicId, NicId, Bytes) -> Span;
/// The same from a GPU to others of its server.
type Near<'a> = &'a dyn Fn(GpuId) -> Span;
/// Sees every action that is carried out, and says whether to go on.
type Watch<'a> = &'a mut dyn FnMut(&Action) -> bool;

/// The same without skipping what repeats.
#[cfg(test)]
pub(crate) fn run_every_action(
    program: &mut Program,
    fabric: &Fabric,
    network: &Network,
) -> Result<Outcome, IdealError> {
    with_network(fabric, network, |network, servers| {
        let outcome = run_watched(program, network, servers, (None, &mut |_| true))?;
        outcome.ok_or(IdealError::Early)
    })
}

/// The same as [`run`], and how many actions were carried out.
#[cfg(test)]
pub(crate) fn run_counted(
    program: &mut Program,
    fabric: &Fabric,
    network: &Network,
) -> Result<(Outcome, u64), IdealError> {
    let mut count = 0;
    let outcome = with_network(fabric, network, |network, servers| {
        let repeats = Repeats::of(program);
        let watch = &mut |_: &Action| {
            count += 1;
            true
        };
        run_watched(program, network, servers, (repeats, watch))
    });
    outcome.and_then(|outcome| Ok((outcome.ok_or(IdealError::Early)?, count)))
}

fn run_over(
    program: &mut Program,
    network: (Vec<Rate>, Far<'_>),
    servers: (Vec<Rate>, Near<'_>),
) -> Result<Outcome, IdealError> {
    let repeats = Repeats::of(program);
    match run_watched(program, network, servers, (repeats, &mut |_| true))? {
        Some(outcome) => Ok(outcome),
        None => Err(IdealError::Early),
    }
}

/// Runs a program while `watch`, which sees every action that is carried out, says so; nothing if it did not come to its end. What repeats
/// is not carried out again where that is looked for.
fn run_watched(
    program: &mut Program,
    (nics, far): (Vec<Rate>, Far<'_>),
    (gpus, near): (Vec<Rate>, Near<'_>),
    (mut repeats, watch): (Option<Repeats>, Watch<'_>),
) -> Result<Option<Outcome>, IdealError> {
    let mut executor = Executor {
        nics: Ports::new(nics),
        gpus: Ports::new(gpus),
        far,
        near,
        events: Agenda::default(),
        actions: 0,
        under_way: 0,
        clear_to_sends: 0,
        finished: false,
    };
    let mut actions = Vec::new();
    let (mut now, mut most) = (Instant::ZERO, 0);
    program.start(&mut actions);
    loop {
        for action in actions.drain(..) {
            if !watch(&action) {
                return Ok(None);
            }
            executor.begin(now, action)?;
        }
        most = most.max(executor.under_way);
        if let (Some(repeats), Program::Machine(machine)) = (&mut repeats, &mut *program) {
            repeats.look(now, machine, &mut executor);
        }
        let Some((at, what)) = executor.events.pop() else { break };
        if at.is_never() {
            return Err(IdealError::TooLong);
        }
        now = at;
        match what {
            What::Done(token) => {
                executor.under_way -= 1;
                program.at(now);
                program.done(token, &mut actions);
            }
            What::Arrives(kind, transfer) => {
                let end = executor.ports(kind).arrive(now, &transfer);
                executor.push(end, What::Done(transfer.token));
            }
            What::Free(kind, port) => executor.next(now, kind, port),
        }
    }
    if !executor.finished {
        return Err(IdealError::Stuck(executor.actions));
    }
    Ok(Some(Outcome {
        end: now,
        actions: executor.actions,
        nics: executor.nics.into_moved(),
        gpus: executor.gpus.into_moved(),
        clear_to_sends: executor.clear_to_sends,
        most_under_way: most,
    }))
}

struct Executor<'a> {
    nics: Ports,
    gpus: Ports,
    far: Far<'a>,
    near: Near<'a>,
    events: Agenda<What>,
    actions: u64,
    under_way: u64,
    clear_to_sends: u64,
    finished: bool,
}

impl Executor<'_> {
    fn push(&mut self, at: Instant, what: What) {
        self.events.push(at, what.rank(), what);
    }

    fn ports(&mut self, kind: Kind) -> &mut Ports {
        match kind {
            Kind::Nic => &mut self.nics,
            Kind::Nvlink => &mut self.gpus,
        }
    }

    fn begin(&mut self, now: Instant, action: Action) -> Result<(), IdealError> {
        if self.finished {
            return Err(IdealError::Early);
        }
        self.actions += 1;
        self.under_way += 1;
        match action {
            Action::Network { token, from, to, traffic, bytes, .. } => {
                if !self.nics.can(from.0, to.0) {
                    return Err(IdealError::NoSuchPort);
                }
                if traffic == Traffic::ClearToSend {
                    self.clear_to_sends += 1;
                    let wire = self.nics.slower(from.0, to.0).time_for(bytes);
                    let latency = (self.far)(from, to, bytes);
                    self.push(now.plus(wire).plus(latency), What::Done(token));
                } else {
                    let (from, to, program) = (from.0, to.0, 0);
                    self.send(now, Kind::Nic, Transfer { from, to, bytes, program, token });
                }
            }
            Action::Nvlink { token, from: GpuId(from), to: GpuId(to), bytes } => {
                if !self.gpus.can(from, to) {
                    return Err(IdealError::NoSuchPort);
                }
                self.send(now, Kind::Nvlink, Transfer { from, to, bytes, program: 0, token });
            }
            Action::Wait { token, span, .. } => self.push(now.plus(span), What::Done(token)),
            Action::Call { .. } => return Err(IdealError::Whole),
            Action::Begins { .. } | Action::Ends { .. } => self.under_way -= 1,
            Action::Finished => {
                self.finished = true;
                self.under_way -= 1;
                if self.under_way > 0 {
                    return Err(IdealError::Early);
                }
            }
        }
        Ok(())
    }

    fn send(&mut self, now: Instant, kind: Kind, transfer: Transfer) {
        if let Some(at) = self.ports(kind).send(now, transfer) {
            self.push(at, What::Free(kind, transfer.from));
        }
    }

    /// A sender is free.
    fn next(&mut self, now: Instant, kind: Kind, port: u32) {
        let Some((transfer, again)) = self.ports(kind).next(now, port) else { return };
        let Transfer { from, to, bytes, .. } = transfer;
        let latency = match kind {
            Kind::Nic => (self.far)(NicId(from), NicId(to), bytes),
            Kind::Nvlink => (self.near)(GpuId(from)),
        };
        self.push(now.plus(latency), What::Arrives(kind, transfer));
        if let Some(at) = again {
            self.push(at, What::Free(kind, port));
        }
    }
}

#[cfg(test)]
mod tests;
