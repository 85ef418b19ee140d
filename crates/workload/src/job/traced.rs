//! A job as a trace, to be written for other tools.

use super::Job;
use crate::collective::Collective as Plain;
use crate::trace::{
    At, Basis, Builder, Collective, CollectiveKind, Edge, Format, Limits, Link, Members, Operation,
    Place, Rank, Trace, Who, Work,
};

impl Job {
    /// What the job does, once: a training step, or its collectives one after the other with all their repetitions. What
    /// else there is is refused.
    pub fn trace(&self) -> Result<Trace, String> {
        if let Some(training) = &self.training {
            return training.step.trace().map_err(|error| error.to_string());
        }
        if self.runs.is_empty() {
            return Err("only collectives and training steps can be written as traces".to_owned());
        }
        let wrong = |error: crate::trace::TraceError| error.message;
        let at = At { file: "job", place: Place::File, rank: None };
        let mut builder = Builder::new(Limits::default());
        builder.at_least(u64::from(self.layout.ranks()), at).map_err(wrong)?;
        let group = builder.group("", Members::All { ranks: 0 }, at).map_err(wrong)?;
        let (mut links, mut count) = (Vec::new(), 0);
        for run in &self.runs {
            let (kind, root) = match run.collective {
                Plain::AllReduce => (CollectiveKind::AllReduce, None),
                Plain::AllGather => (CollectiveKind::AllGather, None),
                Plain::ReduceScatter => (CollectiveKind::ReduceScatter, None),
                Plain::AllToAll => (CollectiveKind::AllToAll, None),
                Plain::Broadcast { root } => (CollectiveKind::Broadcast, Some(Rank(root.0))),
                Plain::Gather { root } => (CollectiveKind::Gather, Some(Rank(root.0))),
                Plain::Reduce { root } => (CollectiveKind::Reduce, Some(Rank(root.0))),
                Plain::Scatter { root } => (CollectiveKind::Scatter, Some(Rank(root.0))),
                Plain::SendRecv => return Err("`send-recv` is no collective of a trace".to_owned()),
            };
            let (bytes, basis) = (Some(run.size), Basis::Buffer);
            let work = Work::Collective(Collective { kind, group, bytes, basis, root });
            for _ in 0..run.repeat {
                let one = Operation { who: Who::Every, work, stream: None, measured: None };
                builder.push(one, at).map_err(wrong)?;
                let before: Option<u32> = u32::checked_sub(count, 1);
                links.extend(before.map(|on| Link { from: count, on, edge: Edge::Control }));
                count += 1;
            }
        }
        let linked = builder.link(links, "job").map_err(wrong)?;
        linked.map_err(|_| "operations that wait for each other".to_owned())?;
        Ok(builder.finish(Format::Chakra))
    }
}

#[cfg(test)]
mod tests {
    use crate::programs;
    use crate::testing::workloads;
    use crate::trace::OperationId;
    use xoff_fabric::model::Fabric;

    #[test]
    fn collectives_are_written_and_services_are_not() {
        let fabric = Fabric::from_toml("[cluster]\ngpus = 16\n[fabric]\nkind = 'rail'\n").unwrap();
        let jobs = |text: &str| programs(&workloads(text), &fabric, 1).unwrap();
        let job = &jobs("kind='all-gather'\nsizes='1KiB..4KiB'\nrepeat=2")[0];
        let trace = job.trace().unwrap();
        assert_eq!((trace.ranks, trace.operations.len(), trace.dependencies()), (16, 6, 5));
        assert_eq!(trace.needs(OperationId(3))[0].on, OperationId(2));
        let halo = &jobs("kind='halo'\ngrid=[4, 4]\nsize='1MB'")[0];
        assert!(halo.trace().unwrap_err().contains("only collectives"));
    }
}
