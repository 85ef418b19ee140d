//! [`Annotations`]: the calls of older profiles, which name them beside `record_param_comms`.
//!
//! Before PyTorch wrote arguments of a call, it marked the time in which a thread launched one as an event `nccl:all_to_all`
//! with the shapes of what goes in. Its kernel is that whose launch lies within: the kernel's own name may be that of
//! sends and receives, which an AllToAll is made of.

use super::event::Event;
use super::record::Record;

/// What an annotation's name begins with.
const PREFIX: &str = "nccl:";

/// Most launches that are remembered: more than any profile has.
const MOST_LAUNCHES: usize = 1 << 24;

/// A thread of a process.
type Thread = (u64, u64);

/// Calls by the time in which they were launched, and launches of kernels.
#[derive(Debug, Default)]
pub(super) struct Annotations {
    calls: Vec<(Thread, Record)>,
    launches: Vec<(u64, Thread, f64)>,
}

/// The call that an event marks: its name, and the other rank of a message (`nccl:send 0->1`, `nccl:recv 1<-0`).
pub(super) fn named(event: &Event) -> Option<(&str, Option<u64>)> {
    let name = event.name.text()?.strip_prefix(PREFIX)?;
    // The same on the time of the GPU.
    if event.category.text() == Some("gpu_user_annotation") || thread(event).is_none() {
        return None;
    }
    let (name, peers) = name.split_once(' ').unwrap_or((name, ""));
    let peer = peers.split_once("->").or_else(|| peers.split_once("<-"));
    Some((name, peer.and_then(|(_, peer)| peer.trim().parse().ok())))
}

fn thread(event: &Event) -> Option<Thread> {
    Some((event.process.whole()?, event.thread.whole()?))
}

/// What ties a kernel to its launch.
pub(super) fn correlation(event: &Event) -> Option<u64> {
    event.arguments.correlation.whole()
}

impl Annotations {
    pub(super) fn len(&self) -> usize {
        self.calls.len()
    }

    /// Remembers a call.
    pub(super) fn call(&mut self, event: &Event, record: Record) {
        self.calls.extend(thread(event).map(|thread| (thread, record)));
    }

    /// Remembers the launch of a kernel.
    pub(super) fn launch(&mut self, event: &Event) {
        let is_launch = event.name.text().is_some_and(|name| name.contains("Launch"));
        let (Some(id), Some(thread), Some(at)) =
            (correlation(event), thread(event), event.start.number())
        else {
            return;
        };
        if is_launch && self.launches.len() < MOST_LAUNCHES {
            self.launches.push((id, thread, at));
        }
    }

    /// The calls, with the times of the kernels that were launched in theirs; and the kernels that none of them
    /// launched.
    pub(super) fn with_kernels(self, kernels: Vec<Record>) -> (Vec<Record>, Vec<Record>) {
        let Self { mut calls, mut launches } = self;
        calls.sort_by(|(one, a), (other, b)| one.cmp(other).then(a.start.total_cmp(&b.start)));
        launches.sort_unstable_by_key(|(id, ..)| *id);
        // Times of launching are kept apart from those of the kernels that take their place.
        let spans: Vec<(Thread, f64, f64)> = calls
            .iter()
            .map(|(thread, call)| (*thread, call.start, call.start + call.duration))
            .collect();
        let find = |kernel: &Record| {
            let id = kernel.correlation?;
            let launch = launches.get(launches.partition_point(|(known, ..)| *known < id))?;
            let (_, thread, at) = *launch;
            let after = spans.partition_point(|&(other, start, _)| (other, start) <= (thread, at));
            let place = after.checked_sub(1).filter(|_| launch.0 == id)?;
            let (other, _, end) = spans[place];
            (other == thread && at <= end).then_some(place)
        };
        let mut left = Vec::new();
        for kernel in kernels {
            match find(&kernel) {
                Some(place) => calls[place].1.ran(&kernel),
                None => left.push(kernel),
            }
        }
        (calls.into_iter().map(|(_, call)| call).collect(), left)
    }
}
