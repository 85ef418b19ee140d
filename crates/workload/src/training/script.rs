//! [`Script`]: what every GPU of a pipeline stage does, one thing after the other.

use super::cost::{Call, Cost, Half, Reach, Way};
use super::groups::{COMMS, Comm};
use super::parallelism::Zero;
use super::schedule::{Pass, passes};
use super::step::{Recompute, Step, StepError};
use super::subject::{Subject, Transformer};
use xoff_units::Span;

/// Which way a micro-batch goes through the pipeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    Forward,
    Backward,
}

/// One thing that a GPU does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Op {
    Compute(Span),
    /// Joins a call of its group, and goes on.
    Begin(Call),
    /// Waits until so many calls of its group are done.
    Await(Comm, u32),
    /// Sends to the next stage (backward: the one before), and goes on.
    Send(Direction),
    /// Waits for what the stage before (backward: the next) sent.
    Receive(Direction),
}

/// What every GPU of a stage does.
#[derive(Debug, Clone)]
pub(super) struct Script {
    pub(super) ops: Vec<Op>,
}

impl Script {
    /// The script of a stage. Fails if it would have more lines than can be run.
    pub(super) fn new(step: &Step, stage: u32) -> Result<Self, StepError> {
        const MOST_LINES: u64 = 1 << 26;
        let step = match &step.subject {
            Subject::Transformer(model) => Transformer { step, model },
            Subject::Recommender(model) => return Ok(model.script(step)),
            Subject::Whole(model) => return Ok(model.script(step)),
        };
        let layers = u64::from(step.model.layers.div_ceil(step.parallelism.pipeline)) + 2;
        if layers * u64::from(step.micro_batches()) * 40 > MOST_LINES {
            return Err(StepError::TooLarge);
        }
        let mut writer = Writer {
            step,
            stage,
            cost: step.cost(),
            ops: Vec::new(),
            begun: [0; COMMS.len()],
            gathered: Vec::new(),
            leading: (0..step.parallelism.chunks).map(|chunk| step.leading(stage, chunk)).collect(),
        };
        writer.write();
        Ok(Self { ops: writer.ops })
    }

    /// What a GPU of the stage computes.
    pub(super) fn compute(&self) -> Span {
        let span = |op: &Op| match op {
            Op::Compute(span) => *span,
            _ => Span::ZERO,
        };
        self.ops.iter().map(span).fold(Span::ZERO, |sum, span| sum + span)
    }
}

/// A call that a later line waits for; none if the group is one rank.
type Ticket = Option<(Comm, u32)>;

/// Parameters that are gathered and whose gradients are scattered together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Bucket {
    Embedding,
    /// Chunk, and layer within it.
    Layer(u32, u32),
    Head,
}

struct Writer<'a> {
    step: Transformer<'a>,
    stage: u32,
    cost: Cost,
    ops: Vec<Op>,
    begun: [u32; COMMS.len()],
    /// Gathered parameters that no pass has waited for.
    gathered: Vec<(Bucket, [Ticket; 2])>,
    /// By chunk: its first layers that have no experts though others have.
    leading: Vec<u32>,
}

impl Writer<'_> {
    fn write(&mut self) {
        let micro_batches = self.step.micro_batches();
        let zero = self.step.parallelism.zero;
        if matches!(zero, Zero::Optimizer | Zero::Gradients) {
            for bucket in self.buckets() {
                self.gather(bucket);
            }
        }
        for pass in passes(&self.step.parallelism, self.stage, micro_batches) {
            match pass.backward {
                false => self.forward(pass),
                true => self.backward(pass, pass.micro + 1 == micro_batches),
            }
        }
        for comm in [Comm::Data, Comm::ExpertData] {
            if self.begun[comm.index()] > 0 {
                self.ops.push(Op::Await(comm, self.begun[comm.index()]));
            }
        }
    }

    /// All parameters of the stage, in the order of their first use.
    fn buckets(&self) -> Vec<Bucket> {
        let chunks = self.step.parallelism.chunks;
        let mut buckets = Vec::new();
        for chunk in 0..chunks {
            buckets.extend(self.is_first(chunk).then_some(Bucket::Embedding));
            let layers = self.step.layers(self.stage, chunk);
            buckets.extend((0..layers).map(|layer| Bucket::Layer(chunk, layer)));
            buckets.extend(self.has_head(chunk).then_some(Bucket::Head));
        }
        buckets
    }

    fn is_first(&self, chunk: u32) -> bool {
        self.stage == 0 && chunk == 0
    }

    fn is_last(&self, chunk: u32) -> bool {
        let spread = &self.step.parallelism;
        self.stage + 1 == spread.pipeline && chunk + 1 == spread.chunks
    }

    fn is_leading(&self, chunk: u32, layer: u32) -> bool {
        layer < self.leading[chunk as usize]
    }

    /// Whether a chunk ends with a matrix that is not the embedding of the same GPU.
    fn has_head(&self, chunk: u32) -> bool {
        let shared = self.step.model.tied && self.step.parallelism.pipeline == 1;
        self.is_last(chunk) && !shared
    }

    fn compute(&mut self, span: Span) {
        match self.ops.last_mut() {
            Some(Op::Compute(last)) => *last += span,
            _ => self.ops.push(Op::Compute(span)),
        }
    }

    fn begin(&mut self, call: Call) -> Ticket {
        let comm = call.comm();
        if self.step.parallelism.size(comm) == 1 {
            return None;
        }
        self.ops.push(Op::Begin(call));
        self.begun[comm.index()] += 1;
        Some((comm, self.begun[comm.index()]))
    }

    fn wait(&mut self, ticket: Ticket) {
        if let Some((comm, number)) = ticket {
            self.ops.push(Op::Await(comm, number));
        }
    }

    /// Begins a call and waits for it.
    fn run(&mut self, call: Call) {
        let ticket = self.begin(call);
        self.wait(ticket);
    }

    /// Begins to gather parameters.
    fn gather(&mut self, bucket: Bucket) {
        let tickets = self.parameters(bucket, Half::Gather);
        self.gathered.push((bucket, tickets));
    }

    /// Waits for parameters, if they were not there before.
    fn need(&mut self, bucket: Bucket) {
        let place = self.gathered.iter().position(|(known, _)| *known == bucket);
        if let Some(place) = place {
            let (_, tickets) = self.gathered.remove(place);
            tickets.into_iter().for_each(|ticket| self.wait(ticket));
        }
    }

    /// Begins to sum the gradients of parameters.
    fn reduce(&mut self, bucket: Bucket) {
        let half = match self.step.parallelism.zero {
            Zero::Off => Half::Both,
            _ => Half::Scatter,
        };
        self.parameters(bucket, half);
    }

    fn parameters(&mut self, bucket: Bucket, half: Half) -> [Ticket; 2] {
        match bucket {
            Bucket::Embedding | Bucket::Head => [self.begin(Call::Embedding(half)), None],
            Bucket::Layer(chunk, layer) if self.is_leading(chunk, layer) => {
                [self.begin(Call::Leading(half)), None]
            }
            Bucket::Layer(..) => {
                let dense = self.begin(Call::Layer(half));
                let experts = self.step.model.experts.is_some();
                [dense, if experts { self.begin(Call::ExpertLayer(half)) } else { None }]
            }
        }
    }

    /// With sharded parameters, a pass gathers what comes next while it works on what it has.
    fn prefetch(&mut self, bucket: Option<Bucket>) {
        if let (Some(bucket), Zero::Parameters) = (bucket, self.step.parallelism.zero) {
            self.gather(bucket);
        }
    }

    fn forward(&mut self, pass: Pass) {
        let chunk = pass.chunk;
        let layers = self.step.layers(self.stage, chunk);
        self.prefetch(self.is_first(chunk).then_some(Bucket::Embedding));
        let layer = |number| (number < layers).then_some(Bucket::Layer(chunk, number));
        self.prefetch(layer(0));
        match self.is_first(chunk) {
            true => self.need(Bucket::Embedding),
            false => self.ops.push(Op::Receive(Direction::Forward)),
        }
        for number in 0..layers {
            let head = (number + 1 == layers && self.has_head(chunk)).then_some(Bucket::Head);
            self.prefetch(layer(number + 1).or(head));
            self.need(Bucket::Layer(chunk, number));
            self.forward_layer(self.is_leading(chunk, number));
        }
        if !self.is_last(chunk) {
            return self.ops.push(Op::Send(Direction::Forward));
        }
        if layers == 0 {
            self.prefetch(self.has_head(chunk).then_some(Bucket::Head));
        }
        self.need(Bucket::Head);
        self.compute(self.cost.head);
    }

    fn backward(&mut self, pass: Pass, last: bool) {
        let chunk = pass.chunk;
        let layers = self.step.layers(self.stage, chunk);
        self.prefetch(self.has_head(chunk).then_some(Bucket::Head));
        let layer = |number: Option<u32>| number.map(|number| Bucket::Layer(chunk, number));
        self.prefetch(layer(layers.checked_sub(1)));
        if self.is_last(chunk) {
            self.need(Bucket::Head);
            self.compute(self.cost.head * 2);
            if last && self.has_head(chunk) {
                self.reduce(Bucket::Head);
            }
        } else {
            self.ops.push(Op::Receive(Direction::Backward));
        }
        for number in (0..layers).rev() {
            self.prefetch(layer(number.checked_sub(1)));
            self.need(Bucket::Layer(chunk, number));
            self.backward_layer(self.is_leading(chunk, number));
            if last {
                self.reduce(Bucket::Layer(chunk, number));
            }
        }
        match self.is_first(chunk) {
            false => self.ops.push(Op::Send(Direction::Backward)),
            true if last => self.reduce(Bucket::Embedding),
            true => {}
        }
    }

    /// Keys and values are gathered while queries are computed.
    fn forward_layer(&mut self, leading: bool) {
        let Cost { keys, queries, attention, output, .. } = self.cost;
        self.run(Call::Tokens(Half::Gather));
        self.compute(keys);
        let ticket = self.begin(Call::Keys(Half::Gather));
        self.compute(queries);
        self.wait(ticket);
        self.compute(attention + output);
        self.run(Call::Tokens(Half::Scatter));
        self.block(1, leading);
    }

    /// Keys and values are gathered again, since a rank keeps its own only; their gradients are scattered
    /// while those of the queries are computed.
    fn backward_layer(&mut self, leading: bool) {
        let Cost { keys, queries, attention, output, .. } = self.cost;
        if self.step.recompute == Recompute::Full {
            self.forward_layer(leading);
        }
        self.block(2, leading);
        self.run(Call::Tokens(Half::Gather));
        let ticket = self.begin(Call::Keys(Half::Gather));
        self.compute(output * 2);
        self.wait(ticket);
        let again = u64::from(self.step.recompute == Recompute::Selective);
        self.compute(attention * (2 + again));
        let ticket = self.begin(Call::Keys(Half::Scatter));
        self.compute(queries * 2);
        self.wait(ticket);
        self.compute(keys * 2);
        self.run(Call::Tokens(Half::Scatter));
    }

    /// The feed-forward block, forward or `times` that for backward.
    fn block(&mut self, times: u64, leading: bool) {
        if leading {
            self.run(Call::Tokens(Half::Gather));
            self.compute(self.cost.leading * times);
            return self.run(Call::Tokens(Half::Scatter));
        }
        let experts = self.step.model.experts.is_some();
        if experts {
            self.route(Way::Dispatch);
        }
        self.run(Call::Block(Half::Gather));
        self.compute(self.cost.block * times);
        self.run(Call::Block(Half::Scatter));
        if experts {
            self.route(Way::Combine);
        }
    }

    /// Tokens to their experts or back. Servers pass on what they have while the rest is on its way, so that network and
    /// NVLink are busy at once.
    fn route(&mut self, way: Way) {
        if !self.step.routes_by_servers() {
            return self.run(Call::Experts(way, Reach::All));
        }
        let reaches = [Reach::Servers, Reach::Inside];
        let tickets = reaches.map(|reach| self.begin(Call::Experts(way, reach)));
        tickets.into_iter().for_each(|ticket| self.wait(ticket));
    }
}
