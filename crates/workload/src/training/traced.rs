//! A step as a [`Trace`], to be written for other tools or replayed.

use super::groups::Comm;
use super::script::{Direction, Op, Script};
use super::step::{Step, StepError};
use crate::collective::Collective as Plain;
use crate::trace::{
    At, Basis, Builder, Collective, CollectiveKind, Edge, Effort, Format, Limits, Link, Members,
    Message, Operation, Place, Rank, Tag, Trace, Who, Work,
};

impl Step {
    /// What every GPU computes and sends, with its dependencies. What collectives cost beside the network is not in it.
    pub fn trace(&self) -> Result<Trace, StepError> {
        let mut builder = Builder::new(Limits::default());
        let at = At { file: "step", place: Place::File, rank: None };
        let large = |_| StepError::TooLarge;
        builder.at_least(u64::from(self.gpus()), at).map_err(large)?;
        let scripts: Result<Vec<_>, _> =
            (0..self.parallelism.pipeline).map(|stage| Script::new(self, stage)).collect();
        let scripts = scripts?;
        for rank in 0..self.gpus() {
            let stage = self.parallelism.position(rank).stage;
            let mut writer =
                Writer { step: self, rank, stage, builder: &mut builder, links: Vec::new() };
            writer.script(&scripts[stage as usize])?;
            let links = writer.links;
            builder.link(links, "step").map_err(large)?.map_err(|_| StepError::TooLarge)?;
        }
        Ok(builder.finish(Format::Chakra))
    }
}

/// The operations of a rank.
struct Writer<'a> {
    step: &'a Step,
    rank: u32,
    stage: u32,
    builder: &'a mut Builder,
    links: Vec<Link>,
}

impl Writer<'_> {
    fn script(&mut self, script: &Script) -> Result<(), StepError> {
        let mut count = 0;
        // What the next operation waits for, and the calls of each kind of group.
        let mut waits: Vec<u32> = Vec::new();
        let mut calls: Vec<Vec<u32>> = vec![Vec::new(); super::groups::COMMS.len()];
        for op in &script.ops {
            let work = match *op {
                Op::Await(comm, number) => {
                    waits.extend(calls[comm.index()].get(number as usize - 1));
                    continue;
                }
                Op::Compute(span) => Work::Compute(Effort { span, ..Effort::default() }),
                Op::Begin(call) => {
                    calls[call.comm().index()].push(count);
                    Work::Collective(self.collective(call)?)
                }
                Op::Send(direction) => Work::Send(self.message(direction, true)?),
                Op::Receive(direction) => Work::Receive(self.message(direction, false)?),
            };
            let who = Who::One(Rank(self.rank));
            let at =
                At { file: "step", place: Place::Node(count.into()), rank: Some(Rank(self.rank)) };
            let operation = Operation { who, work, stream: None, measured: None };
            self.builder.push(operation, at).map_err(|_| StepError::TooLarge)?;
            let link = |&on: &u32| Link { from: count, on, edge: Edge::Data };
            self.links.extend(waits.iter().map(link));
            // A rank goes on beside what it has begun to send.
            if matches!(op, Op::Compute(_) | Op::Receive(_)) {
                waits = vec![count];
            }
            count += 1;
        }
        Ok(())
    }

    fn collective(&mut self, call: super::cost::Call) -> Result<Collective, StepError> {
        let event = self.step.event(call)?;
        let kind = match event.collective {
            Plain::AllReduce => CollectiveKind::AllReduce,
            Plain::AllGather => CollectiveKind::AllGather,
            Plain::ReduceScatter => CollectiveKind::ReduceScatter,
            _ => CollectiveKind::AllToAll,
        };
        let comm: Comm = call.comm();
        let members = self.step.parallelism.members(comm, self.rank);
        let members = members.iter().map(|rank| Rank(rank.0)).collect();
        let at = At { file: "step", place: Place::File, rank: None };
        let name = comm.dimension().name();
        let group = self.builder.group(name, Members::List(members), at);
        let group = group.map_err(|_| StepError::TooLarge)?;
        Ok(Collective { kind, group, bytes: Some(event.size), basis: Basis::Buffer, root: None })
    }

    fn message(&self, direction: Direction, is_send: bool) -> Result<Message, StepError> {
        let stages = self.step.parallelism.pipeline;
        let onward = (direction == Direction::Forward) == is_send;
        let other = if onward { self.stage + 1 } else { self.stage + stages - 1 } % stages;
        let peer = self.step.parallelism.peer(self.rank, other);
        let bytes = Some(self.step.hand_over()?);
        Ok(Message { peer: Some(Rank(peer.0)), bytes, tag: Some(Tag(direction as u32)) })
    }
}
