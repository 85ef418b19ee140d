//! [`Machine`]: workers that pass pieces along links, each doing one step after the other.
//!
//! A worker stands for one channel of one rank (or one direction of it). Its [`Part`] says what each
//! step takes and gives; a step goes slice by slice, each as soon as its inputs have arrived and its
//! outputs have room. That is NCCL's kernel and proxy in one.

mod repeat;

pub(crate) use repeat::Places;

use super::Settings;
use super::cost::Cost;
use super::ends::Ends;
use super::late::Lateness;
use super::link::{Link, SLOTS, Way};
use super::part::{Op, Part};
use super::shape::Shape;
use crate::layout::GpuId;
use crate::program::{Action, Queue, Token, Traffic};
use xoff_units::{Bytes, Span};

/// No link.
const NONE: u32 = u32::MAX;

/// What the tokens of a machine say is done.
mod kind {
    pub(super) const LANDED: u8 = 0;
    pub(super) const STAGED: u8 = 1;
    pub(super) const CLEARED: u8 = 2;
    /// The receiver's proxy has passed a piece on.
    pub(super) const PASSED: u8 = 3;
    pub(super) const WAITED: u8 = 4;
    pub(super) const LAUNCHED: u8 = 5;
}

/// What all workers share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Terms {
    /// Pieces that a buffer has room for.
    pub(crate) window: u32,
    /// Queue pairs of a connection.
    pub(crate) queues: u32,
    /// Size of a clear-to-send.
    pub(crate) clear_to_send: Bytes,
    /// What workers and proxies take.
    pub(crate) cost: Cost,
    lateness: Lateness,
}

impl Terms {
    /// The terms of some settings, with so many pieces in a buffer.
    pub(crate) fn new(settings: &Settings, window: u32) -> Self {
        let Settings { queues, clear_to_send, cost, lateness, .. } = *settings;
        Self { window, queues, clear_to_send, cost, lateness }
    }

    /// What passes on a GPU before it begins.
    pub(crate) fn launch(&self, gpu: GpuId) -> Span {
        self.cost.launch + self.lateness.of(gpu)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Not launched, or in a wait.
    Busy,
    Ready,
    Done,
}

#[derive(Debug, Clone)]
pub(crate) struct Worker {
    pub(crate) gpu: GpuId,
    pub(crate) part: Part,
    pub(crate) channel: u32,
    pub(crate) inputs: [u32; 3],
    pub(crate) outputs: [u32; 3],
    lap: u32,
    step: u32,
    slice: u32,
    state: State,
    /// The step it is at, the bytes of its chunk, and those of the slice it is at.
    op: Op,
    chunk: u64,
    bytes: u32,
}

/// Workers that pass pieces along links. Made by [`super::program`].
#[derive(Debug, Clone)]
pub struct Machine {
    pub(crate) workers: Vec<Worker>,
    pub(crate) links: Vec<Link>,
    /// By channel.
    pub(crate) shapes: Vec<Shape>,
    pub(crate) terms: Terms,
    /// Links of one channel that may join the same two NICs.
    pub(crate) lanes: u32,
    /// Workers that may be able to go on. Kept for its memory.
    ready: Vec<u32>,
    /// The bytes of a slice that was worked on last, and its time: slices are mostly alike.
    worked: (u32, Span),
    active: usize,
    pub(crate) ends: Ends,
}

impl Machine {
    pub(crate) fn new(terms: Terms, lanes: u32, shapes: Vec<Shape>, ends: Ends) -> Self {
        let (workers, links, ready) = Default::default();
        let worked = (0, terms.cost.work(Bytes::ZERO));
        Self { workers, links, shapes, terms, lanes, ready, worked, active: 0, ends }
    }

    /// Adds a worker; its number.
    pub(crate) fn worker(&mut self, gpu: GpuId, channel: u32, part: Part) -> u32 {
        let (inputs, outputs) = ([NONE; 3], [NONE; 3]);
        let (lap, step, slice, state) = (0, 0, 0, State::Busy);
        let (op, chunk, bytes) = (part.op(0), 0, 0);
        self.workers.push(Worker {
            gpu,
            part,
            channel,
            inputs,
            outputs,
            lap,
            step,
            slice,
            state,
            op,
            chunk,
            bytes,
        });
        self.workers.len() as u32 - 1
    }

    /// Joins output `out` of one worker with input `into` of another.
    pub(crate) fn link(&mut self, (from, out): (u32, usize), (to, into): (u32, usize), way: Way) {
        let number = self.links.len() as u32;
        self.workers[from as usize].outputs[out] = number;
        self.workers[to as usize].inputs[into] = number;
        self.links.push(Link::new(from, to, way));
    }

    /// Makes it ready to start, once all workers and links are there. `None` if pieces cannot be
    /// counted.
    pub(crate) fn complete(mut self) -> Option<Self> {
        for number in 0..self.workers.len() {
            let worker = &self.workers[number];
            for (input, &link) in worker.inputs.iter().enumerate() {
                if link != NONE {
                    let pieces = pieces(worker, &self.shapes[worker.channel as usize], 1 << input);
                    self.links[link as usize].expected = pieces?;
                }
            }
        }
        for number in 0..self.workers.len() {
            self.load(number);
        }
        let active = self.workers.iter().filter(|w| w.state != State::Done);
        self.active = active.clone().count();
        active.for_each(|worker| self.ends.begin(worker.gpu));
        Some(self)
    }

    pub(crate) fn start(&mut self, out: &mut Vec<Action>) {
        if self.active == 0 {
            return out.push(Action::Finished);
        }
        for number in 0..self.workers.len() as u32 {
            let worker = &self.workers[number as usize];
            let (gpu, span) = (worker.gpu, self.terms.launch(worker.gpu));
            if worker.state == State::Done {
                continue;
            }
            if span.is_zero() {
                self.launch(number, out);
            } else {
                out.push(Action::Wait { token: Token::new(kind::LAUNCHED, 0, number), gpu, span });
            }
        }
        self.run(out);
    }

    pub(crate) fn done(&mut self, token: Token, out: &mut Vec<Action>) {
        let index = token.index();
        let of_worker = token.kind() >= kind::WAITED;
        let most = if of_worker { self.workers.len() } else { self.links.len() };
        if index >= most || token.kind() > kind::LAUNCHED {
            debug_assert!(false, "a token of another program");
            return;
        }
        match token.kind() {
            kind::LANDED => self.arrive(index, token.slot(), out),
            kind::PASSED => self.land(index, token.slot()),
            kind::STAGED => {
                self.links[index].staged += 1;
                self.pump(index, out);
            }
            kind::CLEARED => {
                self.links[index].cleared += 1;
                self.pump(index, out);
            }
            kind::WAITED => {
                self.workers[index].state = State::Ready;
                self.fire(index, out);
                self.ready.push(index as u32);
            }
            _ => self.launch(index as u32, out),
        }
        self.run(out);
    }

    /// A piece has arrived: over the network at the receiver's proxy, otherwise at the worker.
    fn arrive(&mut self, number: usize, slot: u8, out: &mut Vec<Action>) {
        let link = &self.links[number];
        let span = match link.way {
            Way::Network { .. } => self.terms.cost.delay(Bytes::new(link.size(slot).into())),
            Way::Local | Way::Nvlink { .. } => Span::ZERO,
        };
        if span.is_zero() {
            return self.land(number, slot);
        }
        let token = Token::new(kind::PASSED, slot, number as u32);
        let gpu = self.workers[link.receiver as usize].gpu;
        out.push(Action::Wait { token, gpu, span });
    }

    /// A piece is in the worker's hands.
    fn land(&mut self, number: usize, slot: u8) {
        let link = &mut self.links[number];
        link.land(slot);
        if let Way::Network { .. } = link.way {
            self.ready.push(link.sender);
        }
        self.ready.push(link.receiver);
    }

    /// The worker begins: its buffers are free.
    fn launch(&mut self, number: u32, out: &mut Vec<Action>) {
        self.workers[number as usize].state = State::Ready;
        for input in self.workers[number as usize].inputs {
            if input != NONE {
                self.grant(input as usize, out);
            }
        }
        self.ready.push(number);
    }

    fn run(&mut self, out: &mut Vec<Action>) {
        while let Some(number) = self.ready.pop() {
            while self.advance(number as usize, out) {}
        }
    }

    /// One slice, if it can go now; whether it went.
    fn advance(&mut self, number: usize, out: &mut Vec<Action>) -> bool {
        let worker = &self.workers[number];
        if worker.state != State::Ready || !self.may_go(worker) {
            return false;
        }
        let (bytes, gpu) = (worker.bytes, worker.gpu);
        let span = if worker.op.takes == 0 { Span::ZERO } else { self.work(bytes) };
        if span.is_zero() {
            self.fire(number, out);
            return true;
        }
        let token = Token::new(kind::WAITED, 0, number as u32);
        out.push(Action::Wait { token, gpu, span });
        self.workers[number].state = State::Busy;
        false
    }

    fn may_go(&self, worker: &Worker) -> bool {
        let window = self.terms.window;
        let link = |number: u32| &self.links[number as usize];
        used(worker.op.takes, worker.inputs).all(|input| link(input).has_piece())
            && used(worker.op.gives, worker.outputs).all(|output| link(output).has_room(window))
    }

    /// The time that taking in a slice takes on its GPU.
    fn work(&mut self, bytes: u32) -> Span {
        if self.worked.0 != bytes {
            self.worked = (bytes, self.terms.cost.work(Bytes::new(bytes.into())));
        }
        self.worked.1
    }

    /// The slice goes: inputs are taken, outputs given, the next one is looked up.
    fn fire(&mut self, number: usize, out: &mut Vec<Action>) {
        let Worker { op, inputs, outputs, bytes, .. } = self.workers[number];
        for output in used(op.gives, outputs) {
            self.send(output, bytes, out);
        }
        for input in used(op.takes, inputs) {
            let link = &mut self.links[input as usize];
            debug_assert_eq!(link.oldest(), bytes, "sender and receiver cut differently");
            link.consumed += 1;
            match link.way {
                Way::Network { .. } => self.grant(input as usize, out),
                Way::Local | Way::Nvlink { .. } => self.ready.push(link.sender),
            }
        }
        self.workers[number].slice += 1;
        self.load(number);
        if self.workers[number].state == State::Done {
            self.ends.end(self.workers[number].gpu);
            self.active -= 1;
            if self.active == 0 {
                out.push(Action::Finished);
            }
        }
    }

    fn send(&mut self, number: u32, bytes: u32, out: &mut Vec<Action>) {
        let link = &mut self.links[number as usize];
        let slot = link.fill(bytes);
        let bytes = Bytes::new(bytes.into());
        match link.way {
            Way::Local => {
                link.land(slot);
                self.ready.push(link.receiver);
            }
            Way::Nvlink { from, to } => {
                let token = Token::new(kind::LANDED, slot, number);
                out.push(Action::Nvlink { token, from, to, bytes });
            }
            Way::Network { relay: Some((from, to)), .. } => {
                let token = Token::new(kind::STAGED, slot, number);
                out.push(Action::Nvlink { token, from, to, bytes });
            }
            Way::Network { relay: None, .. } => {
                link.staged += 1;
                self.pump(number as usize, out);
            }
        }
    }

    /// Hands pieces to the NIC as far as the receiver is ready for them.
    fn pump(&mut self, number: usize, out: &mut Vec<Action>) {
        let queues = self.terms.queues;
        let link = &mut self.links[number];
        let Way::Network { from, to, queue, .. } = link.way else { return };
        while let Some((piece, bytes)) = link.post() {
            let token = Token::new(kind::LANDED, (piece % SLOTS) as u8, number as u32);
            let queue = Queue(queue + piece % queues);
            let (traffic, bytes) = (Traffic::Data, Bytes::new(bytes.into()));
            out.push(Action::Network { token, from, to, queue, traffic, bytes });
        }
    }

    /// Returns every free buffer to its sender.
    fn grant(&mut self, number: usize, out: &mut Vec<Action>) {
        let Terms { window, clear_to_send: bytes, .. } = self.terms;
        let link = &mut self.links[number];
        let Way::Network { from, to, queue, .. } = link.way else { return };
        while link.grant(window) {
            let token = Token::new(kind::CLEARED, 0, number as u32);
            let (from, to, queue, traffic) = (to, from, Queue(queue), Traffic::ClearToSend);
            out.push(Action::Network { token, from, to, queue, traffic, bytes });
        }
    }

    /// Looks up the slice a worker is at, past the empty ones.
    fn load(&mut self, number: usize) {
        let worker = &mut self.workers[number];
        let shape = &self.shapes[worker.channel as usize];
        loop {
            if worker.slice == shape.slices {
                (worker.slice, worker.step) = (0, worker.step + 1);
            }
            if worker.step == worker.part.steps() {
                (worker.step, worker.lap) = (0, worker.lap + 1);
            }
            if worker.lap == shape.laps {
                worker.state = State::Done;
                return;
            }
            if worker.slice == 0 {
                worker.op = worker.part.op(worker.step);
                worker.chunk = shape.chunk(worker.lap, worker.op.chunk);
            }
            worker.bytes = shape.slice_of(worker.chunk, worker.slice) as u32;
            if worker.bytes > 0 {
                return;
            }
            worker.slice += 1;
        }
    }
}

/// The links that a step uses.
fn used(mask: u8, links: [u32; 3]) -> impl Iterator<Item = u32> {
    (0..3).filter(move |bit| mask >> bit & 1 == 1).map(move |bit| links[bit])
}

/// How many pieces a worker takes from an input in all.
fn pieces(worker: &Worker, shape: &Shape, input: u8) -> Option<u32> {
    if !shape.has_empty() {
        let taken = worker.part.taken(input);
        return shape.laps.checked_mul(shape.slices)?.checked_mul(taken);
    }
    let ops = || (0..worker.part.steps()).map(|step| worker.part.op(step));
    let in_lap = |lap: u32| {
        let slices = |op: Op| (0..shape.slices).filter(move |&s| shape.slice(lap, op.chunk, s) > 0);
        ops().filter(|op| op.takes & input != 0).map(|op| slices(op).count() as u64).sum::<u64>()
    };
    let of_kind = |(count, lap): (u32, u32)| match count {
        0 => Some(0),
        _ => u64::from(count).checked_mul(in_lap(lap)),
    };
    let [long, short] = shape.kinds().map(of_kind);
    u32::try_from(long?.checked_add(short?)?).ok()
}
