//! [`Analysis`]: how long a step takes where no transfer hinders another.
//!
//! Every stage goes through its script. A collective takes its closed form ([`collective::bound`]) on its
//! group, one after the other within a group; what is sent to another stage takes its bytes over the
//! rate and a latency. Data-parallel groups take turns on their NIC; groups of other dimensions that share
//! it do not slow each other down: what they do to each other is for [`Step::program`] on a network to
//! show.

use super::cost::{Call, Event};
use super::groups::{COMMS, Comm};
use super::script::{Direction, Op, Script};
use super::step::{Step, StepError};
use super::volume::Dimension;
use crate::collective::{self, Algorithm, Collective, Network, Settings};
use crate::layout::{Layout, RankId};
use std::collections::{BTreeMap, VecDeque};
use xoff_units::{Ratio, Span};

/// How long a step takes, and what for: means over the GPUs, which add up to its time.
#[derive(Debug, Clone, PartialEq)]
pub struct Analysis {
    /// The step.
    pub time: Span,
    /// Computing.
    pub compute: Span,
    /// Waiting for transfers of a dimension: what is not hidden behind computing. Along the
    /// pipeline that is the bubble, too.
    pub waiting: BTreeMap<Dimension, Span>,
}

impl Analysis {
    /// Waiting for collectives: exposed communication, without the pipeline's bubble.
    pub fn exposed(&self) -> Span {
        let own = self.waiting.iter().filter(|(dimension, _)| **dimension != Dimension::Pipeline);
        own.fold(Span::ZERO, |sum, (_, &span)| sum + span)
    }

    /// Waiting for other stages.
    pub fn bubble(&self) -> Span {
        self.waiting.get(&Dimension::Pipeline).copied().unwrap_or(Span::ZERO)
    }
}

/// What a step's time means.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StepFigures {
    /// From its begin to its end.
    pub time: Span,
    /// Tokens trained on, per second.
    pub tokens_per_second: f64,
    /// Model FLOPs utilisation: the operations that the step is worth over those that its GPUs could
    /// have done at their peak. Causal attention counts as what it is, half of all pairs.
    pub mfu: f64,
    /// The share of time in which a GPU does not compute, on average.
    pub idle: f64,
}

/// How collectives of a step are done.
pub(super) const fn algorithm(collective: Collective) -> Algorithm {
    match collective {
        Collective::AllToAll
        | Collective::SendRecv
        | Collective::Gather { .. }
        | Collective::Scatter { .. } => Algorithm::Pxn,
        _ => Algorithm::Ring,
    }
}

impl Step {
    /// The figures of a step that took `time`.
    pub fn figures(&self, time: Span) -> Result<StepFigures, StepError> {
        let seconds = time.as_s_f64();
        let peak = self.gpu.peak.per_second() as f64 * f64::from(self.gpus());
        let share = |amount: f64| if seconds > 0.0 { amount / seconds } else { 0.0 };
        Ok(StepFigures {
            time,
            tokens_per_second: share(self.tokens() as f64),
            mfu: share(self.worth() / peak),
            idle: 1.0 - share(self.compute()?.as_s_f64()),
        })
    }

    /// What a GPU computes, on average over the stages.
    pub fn compute(&self) -> Result<Span, StepError> {
        let stages = self.parallelism.pipeline;
        let mut sum = 0;
        for stage in 0..stages {
            sum += u128::from(Script::new(self, stage)?.compute().as_ps());
        }
        Ok(Span::from_ps((sum / u128::from(stages)) as u64))
    }

    /// What each GPU computes, by rank.
    pub fn compute_by_rank(&self) -> Result<Vec<Span>, StepError> {
        let stages = (0..self.parallelism.pipeline).map(|stage| Script::new(self, stage));
        let stages: Vec<Span> =
            stages.map(|script| Ok(script?.compute())).collect::<Result<_, StepError>>()?;
        let stage = |rank| self.parallelism.position(rank).stage as usize;
        Ok((0..self.gpus()).map(|rank| stages[stage(rank)]).collect())
    }

    /// The pipeline's bubble by its formula: of p stages with v parts each and m micro-batches it
    /// is (p-1)/(v x m) of what they compute (D. Narayanan et al., 2021, section 2.2).
    pub fn bubble(&self) -> Result<Span, StepError> {
        let spread = &self.parallelism;
        let passes = u64::from(spread.chunks) * u64::from(self.micro_batches());
        let share = Ratio::new(u64::from(spread.pipeline) - 1, passes);
        Ok(Span::from_ps(share.of(self.compute()?.as_ps())))
    }

    /// How long the step takes on the GPUs of a layout, where no transfer hinders another.
    pub fn analytic(&self, layout: &Layout, network: &Network) -> Result<Analysis, StepError> {
        self.check_ranks(layout)?;
        let mut stages = Vec::new();
        for stage in 0..self.parallelism.pipeline {
            stages.push(Stage::new(self, stage, layout, network)?);
        }
        let mut walk = Walk { stages };
        walk.go();
        walk.analysis()
    }

    pub(super) fn check_ranks(&self, layout: &Layout) -> Result<(), StepError> {
        if layout.ranks() == self.gpus() {
            return Ok(());
        }
        Err(StepError::Ranks { wanted: self.parallelism.gpus(), given: layout.ranks() })
    }
}

/// A stage on its way through its script. Its first GPU stands for all.
struct Stage {
    script: Script,
    at: usize,
    now: Span,
    /// Time of every call, and of handing a micro-batch over in each direction.
    times: BTreeMap<Call, Span>,
    hand_over: [(Span, Span); 2],
    /// When the last call of a group is done, when each was, and when the last hand-over has left.
    free: [Span; COMMS.len()],
    done: [Vec<Span>; COMMS.len()],
    sent: [Span; 2],
    /// What is on its way here: when it arrives.
    mail: [VecDeque<Span>; 2],
    waiting: BTreeMap<Dimension, Span>,
}

impl Stage {
    fn new(step: &Step, stage: u32, layout: &Layout, network: &Network) -> Result<Self, StepError> {
        let script = Script::new(step, stage)?;
        let spread = &step.parallelism;
        let first = spread.peer(0, stage).0;
        let groups = COMMS.map(|comm| layout.group(&spread.members(comm, first)));
        let mut times = BTreeMap::new();
        for op in &script.ops {
            if let Op::Begin(call) = *op
                && !times.contains_key(&call)
            {
                let Event { comm, collective, size } = step.event(call)?;
                let group = &groups[comm.index()];
                let way = algorithm(collective);
                let settings = Settings { cost: step.cost, ..Settings::default() };
                let bound = collective::bound(collective, way, size, group, &settings, network)?;
                times.insert(call, bound.time);
            }
        }
        let stages = spread.pipeline;
        let bytes = step.hand_over()?;
        let hand_over = [(stage + 1) % stages, (stage + stages - 1) % stages].map(|to| {
            let to = spread.peer(0, to);
            match layout.nvlink() {
                Some(rate) if layout.seat(to).domain == layout.seat(RankId(first)).domain => {
                    (network.nvlink(rate).time_for(bytes), network.nvlink_latency)
                }
                _ => (network.nic(layout.nic_rate()).time_for(bytes), network.latency),
            }
        });
        Ok(Self {
            script,
            at: 0,
            now: Span::ZERO,
            times,
            hand_over,
            free: [Span::ZERO; COMMS.len()],
            done: Default::default(),
            sent: [Span::ZERO; 2],
            mail: Default::default(),
            waiting: BTreeMap::new(),
        })
    }

    fn wait(&mut self, dimension: Dimension, until: Span) {
        *self.waiting.entry(dimension).or_default() += until.saturating_sub(self.now);
        self.now = self.now.max(until);
    }

    fn begin(&mut self, call: Call) {
        let comm = call.comm();
        // Gradients of experts and of all else are under way at once, by the same NIC.
        let port = if comm == Comm::ExpertData { Comm::Data } else { comm }.index();
        let end = self.free[port].max(self.now) + self.times[&call];
        self.free[port] = end;
        self.done[comm.index()].push(end);
    }

    fn wait_for(&mut self, comm: Comm, number: u32) {
        let until = self.done[comm.index()].get(number as usize - 1).copied();
        self.wait(comm.dimension(), until.unwrap_or(Span::ZERO));
    }
}

struct Walk {
    stages: Vec<Stage>,
}

impl Walk {
    /// All stages as far as they come, until none comes further.
    fn go(&mut self) {
        loop {
            let mut moved = false;
            for stage in 0..self.stages.len() {
                moved |= self.advance(stage);
            }
            if !moved {
                return;
            }
        }
    }

    /// A stage as far as it comes; whether that was any.
    fn advance(&mut self, number: usize) -> bool {
        let count = self.stages.len();
        let before = self.stages[number].at;
        while let Some(&op) = self.stages[number].script.ops.get(self.stages[number].at) {
            let stage = &mut self.stages[number];
            match op {
                Op::Compute(span) => stage.now += span,
                Op::Begin(call) => stage.begin(call),
                Op::Await(comm, number) => stage.wait_for(comm, number),
                Op::Send(direction) => {
                    let way = direction as usize;
                    let (time, latency) = stage.hand_over[way];
                    let end = stage.sent[way].max(stage.now) + time;
                    stage.sent[way] = end;
                    let to = match direction {
                        Direction::Forward => (number + 1) % count,
                        Direction::Backward => (number + count - 1) % count,
                    };
                    self.stages[to].mail[way].push_back(end + latency);
                }
                Op::Receive(direction) => {
                    let Some(at) = stage.mail[direction as usize].pop_front() else { break };
                    stage.wait(Dimension::Pipeline, at);
                }
            }
            self.stages[number].at += 1;
        }
        self.stages[number].at > before
    }

    fn analysis(mut self) -> Result<Analysis, StepError> {
        let stuck = self.stages.iter().any(|stage| stage.at < stage.script.ops.len());
        assert!(!stuck, "a pipeline schedule that waits for itself");
        let time = self.stages.iter().map(|stage| stage.now).max().unwrap_or(Span::ZERO);
        if time == Span::MAX {
            return Err(StepError::TooLarge);
        }
        let mut sums = BTreeMap::<Dimension, u128>::new();
        let mut compute = 0;
        for stage in &mut self.stages {
            stage.wait(Dimension::Pipeline, time);
            compute += u128::from(stage.script.compute().as_ps());
            for (&dimension, span) in &stage.waiting {
                *sums.entry(dimension).or_default() += u128::from(span.as_ps());
            }
        }
        let mean = |sum: u128| Span::from_ps((sum / self.stages.len() as u128) as u64);
        let waiting = sums.into_iter().map(|(dimension, sum)| (dimension, mean(sum)));
        Ok(Analysis { time, compute: mean(compute), waiting: waiting.collect() })
    }
}
