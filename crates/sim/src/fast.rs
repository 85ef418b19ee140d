//! Fidelity `fast`: packets where collectives crowd links, and nothing twice.
//!
//! Everything above the wire is the same code as at the other fidelities, and collectives are handed out whole as at the
//! fidelity of flows. What differs is how long one takes:
//!
//! - One that crowds no link, neither alone nor with others that are under way, takes as long as its program takes on a network
//!   without queues ([`xoff_workload::ideal`]), if packets certainly take as long.
//! - All others, those that crowd a link together as one, are an [episode](state::Episode): it is
//!   [simulated packet by packet](trial), from the first start to the last end, on the same paths, and nothing else with it.
//! - An episode that has been simulated before, or one that is [alike](alike) on other switches, is not simulated again: its
//!   times and counters are those of the first. A training step repeats itself layer by layer.
//!
//! When a collective begins that crowds a link of an episode under way, the episode is simulated anew with it, which changes nothing
//! that has happened before. What is not exact: what shares links without crowding them does not delay each other, and where packets are
//! marked at random, what is alike takes the same time though it would not have.
//!
//! Queue pairs are fresh in every episode. When congestion control has cut rates in one, and its job then sends on, the run is
//! simulated packet by packet as a whole, for those rates would last. So are runs with anything else than collectives and training
//! steps in them, or with faults ([`refusal`]). Their reports say why.

pub(crate) mod alike;
pub(crate) mod crowd;
pub(crate) mod record;
pub(crate) mod refusal;
pub(crate) mod state;
pub(crate) mod trial;

use crate::engine::Engine;
use crate::event::EventQueue;
use crate::fluid::call::{Pull, Whole};
use crate::fluid::refusal::Refusal;
use crate::fluid::state::Owner;
use crate::id::JobId;
use crate::job::state::Next;
use crate::report::Outcome;
use record::Known;
use state::{EpisodeId, Fast, Member, MemberId};
use std::sync::Arc;
use trial::Part;
use xoff_units::{Instant, Span};

/// An episode that grows is simulated anew so often. One that goes on growing is not worth it: packets throughout take less.
const MOST_TRIALS: u32 = 6;

impl<Q: EventQueue> Engine<'_, Q> {
    /// Whether only what crowds links is simulated by packets.
    pub(crate) fn is_fast(&self) -> bool {
        self.fluid.as_ref().is_some_and(|fluid| fluid.fast.is_some())
    }

    fn fast(&mut self) -> &mut Fast {
        self.fluid().fast.as_deref_mut().expect("only called at the fidelity `fast`")
    }

    /// A collective or a message begins.
    pub(crate) fn enter_fast(&mut self, job: JobId, owner: Owner, whole: Arc<Whole>) {
        let now = self.now;
        if whole.usage.is_empty() || whole.time.is_zero() {
            return self.tell_owner(owner, now.plus(whole.time));
        }
        if self.fast().has_cut_rates(job) && !whole.trial().ways.is_empty() {
            return self.give_up(Refusal::Rates);
        }
        self.fast().begin(Member::new(owner, job, whole, now));
        if !std::mem::replace(&mut self.fluid().settles, true) {
            self.schedule_job(now, Next::Settle);
        }
    }

    /// The run is not to be had this way: who asked for it starts it anew, with packets throughout.
    fn give_up(&mut self, reason: Refusal) {
        self.fast().gave_up = Some(reason);
        self.stop(Outcome::Interrupted);
    }

    /// Everything that begins at this instant has begun: finds out how long it takes.
    pub(crate) fn settle_fast(&mut self) {
        self.fluid().settles = false;
        let arrived = std::mem::take(&mut self.fast().arrived);
        for id in arrived {
            if self.fast().members[id].episode.is_none() {
                let fluid = self.fluid.as_deref_mut().expect("flows are there");
                let fast = fluid.fast.as_deref_mut().expect("the fidelity is `fast`");
                let together = fast.component(id, |link| fluid.shares.capacity(link));
                self.resolve(&together);
            }
        }
    }

    /// These crowd links together, at least one of them from now on.
    fn resolve(&mut self, together: &[MemberId]) {
        let fast = self.fast();
        if fast.trials(together) >= MOST_TRIALS {
            return self.give_up(Refusal::Overlap);
        }
        let episode = fast.merge(together);
        if self.is_plain(episode) {
            let fast = self.fast();
            fast.tally.plain += 1;
            let (start, time) = fast.members[fast.episodes[episode].members[0]].alone();
            return self.expect(episode, start, &[Some(time)]);
        }
        let Some(known) = self.known(episode) else { return };
        let first = self.fast().first_start(episode);
        let ends = known.record.ends.clone();
        self.fast().remember_cuts(episode, &known.record.counters);
        self.fast().episodes[episode].known = Some(known);
        self.expect(episode, first, &ends);
    }

    /// Whether an episode is one collective that crowds no link.
    fn is_plain(&mut self, episode: EpisodeId) -> bool {
        let fluid = self.fluid();
        let fast = fluid.fast.as_deref().expect("the fidelity is `fast`");
        let [only] = fast.episodes[episode].members[..] else { return false };
        let whole = &fast.members[only].whole;
        let crowds = |(link, pull): (_, Pull)| pull.crowds(fluid.shares.capacity(link));
        whole.in_step && whole.is_certain && !whole.pulls().any(crowds)
    }

    /// What happens in an episode: remembered, or simulated now. Nothing if that was interrupted.
    fn known(&mut self, episode: EpisodeId) -> Option<Known> {
        let key = self.fast().key(episode);
        if let Some(known) = self.fast().memory.get(&key) {
            let known = known.clone();
            self.fast().tally.remembered += 1;
            return Some(known);
        }
        let parts = self.parts(episode);
        let fabric = self.fabric;
        let alike = self.fast().kinds.key(fabric, &parts);
        if let Some((own, names)) = &alike
            && let Some(record) = self.fast().memory.alike(own)
        {
            let known = Known { record, names: Some(names.clone()) };
            self.fast().tally.remembered += 1;
            self.fast().memory.keep(key, known.clone());
            return Some(known);
        }
        let report = self.try_out(&parts);
        if report.outcome != Outcome::Completed {
            self.stop(report.outcome);
            return None;
        }
        let fast = self.fast();
        fast.tally.simulated += 1;
        fast.tally.hops_simulated += report.packet_hops;
        fast.episodes[episode].trials += 1;
        let known = Known::new(report, alike.as_ref().map(|(_, names)| names.clone()));
        if let (Some((own, _)), Some(_)) = (alike, &known.names) {
            fast.memory.keep_alike(own, known.record.clone());
        }
        fast.memory.keep(key, known.clone());
        Some(known)
    }

    /// What takes part in an episode, ready to be simulated.
    fn parts(&mut self, episode: EpisodeId) -> Vec<Part> {
        let jobs: Vec<_> = self.fast().parts(episode);
        let part = |(whole, job, offset)| {
            let (class, clear_to_send) = self.hosts.jobs.classes(job);
            Part { whole, offset, class, clear_to_send }
        };
        jobs.into_iter().map(part).collect()
    }

    /// The members of an episode end so long after an instant.
    fn expect(&mut self, episode: EpisodeId, first: Instant, ends: &[Option<Span>]) {
        let now = self.now;
        let members = self.fast().episodes[episode].members.clone();
        debug_assert_eq!(members.len(), ends.len(), "an end for each member");
        for (id, end) in members.into_iter().zip(ends) {
            let Some(turn) = self.fast().move_end(id) else { continue };
            if let Some(end) = end {
                self.schedule_job(first.plus(*end).max(now), Next::CallEnds { member: id, turn });
            }
        }
    }

    /// A collective or message is over, if its end has not moved.
    pub(crate) fn end_member(&mut self, id: MemberId, turn: u32) {
        let fast = self.fast();
        let Some(&Member { owner, job, .. }) = fast.members.due(id, turn) else { return };
        let closed = fast.end(id);
        self.tell_owner(owner, self.now);
        let class = self.hosts.jobs.class(job);
        let Some(closed) = closed else { return };
        match closed.known {
            Some(known) => {
                for (&job, counters) in closed.jobs.iter().zip(&known.record.counters) {
                    self.hosts.jobs.count_reactions(job, counters);
                }
                self.fast().counted.add(&known);
            }
            None => {
                for whole in closed.wholes {
                    self.fluid().count(class, &whole.usage, 1.0);
                }
            }
        }
    }
}
