//! What a run at the fidelity `fast` remembers.

use super::alike::Kinds;
use super::crowd::Crowd;
use super::record::{Counted, Known, Memory};
use crate::Settings;
use crate::fluid::call::Whole;
use crate::fluid::refusal::Refusal;
use crate::fluid::shares::LinkId;
use crate::fluid::state::Owner;
use crate::id::JobId;
use crate::report::{FlowCounters, Shortcuts};
use std::collections::BTreeSet;
use std::ops::{Index, IndexMut};
use std::sync::Arc;
use xoff_fabric::scenario::Fidelity;
use xoff_units::{Instant, Span};

/// A collective or a message under way, or one of an episode that is not over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct MemberId(pub(crate) u32);

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct EpisodeId(u32);

/// One collective or message.
#[derive(Debug)]
pub(crate) struct Member {
    pub(super) owner: Owner,
    pub(super) job: JobId,
    pub(super) whole: Arc<Whole>,
    start: Instant,
    /// In the order in which all began.
    order: u64,
    /// Stands for its end, and for nothing else's: changes when the end does.
    turn: u32,
    pub(super) over: bool,
    /// Nothing until it is settled.
    pub(super) episode: Option<EpisodeId>,
}

impl Member {
    pub(super) fn new(owner: Owner, job: JobId, whole: Arc<Whole>, start: Instant) -> Self {
        Self { owner, job, whole, start, order: 0, turn: 0, over: false, episode: None }
    }

    /// Its start, and how long it takes while nothing is in its way.
    pub(super) fn alone(&self) -> (Instant, Span) {
        (self.start, self.whole.time)
    }
}

/// Members that crowd links together, from the start of the first to the end of the last.
#[derive(Debug, Default)]
pub(crate) struct Episode {
    /// In the order in which they began.
    pub(super) members: Vec<MemberId>,
    /// How often it was simulated as it grew.
    pub(super) trials: u32,
    /// What happens in it; nothing where one member is alone and crowds nothing.
    pub(super) known: Option<Known>,
}

/// What tells episodes apart: which collectives, and when after the first of them.
pub(super) type Key = Vec<(u32, Span)>;

/// A table whose places are used again.
#[derive(Debug)]
pub(super) struct Places<T> {
    all: Vec<Option<T>>,
    free: Vec<u32>,
}

impl<T> Default for Places<T> {
    fn default() -> Self {
        Self { all: Vec::new(), free: Vec::new() }
    }
}

impl<T> Places<T> {
    fn add(&mut self, value: T) -> u32 {
        if let Some(place) = self.free.pop() {
            self.all[place as usize] = Some(value);
            return place;
        }
        self.all.push(Some(value));
        self.all.len() as u32 - 1
    }

    fn take(&mut self, place: u32) -> T {
        self.free.push(place);
        self.all[place as usize].take().expect("a place in use")
    }
}

impl Places<Member> {
    /// A member that ends now, if that is the end that it still has.
    pub(super) fn due(&self, id: MemberId, turn: u32) -> Option<&Member> {
        self.all[id.0 as usize].as_ref().filter(|member| !member.over && member.turn == turn)
    }
}

impl Index<MemberId> for Places<Member> {
    type Output = Member;

    fn index(&self, id: MemberId) -> &Member {
        self.all[id.0 as usize].as_ref().expect("a member of an episode")
    }
}

impl IndexMut<MemberId> for Places<Member> {
    fn index_mut(&mut self, id: MemberId) -> &mut Member {
        self.all[id.0 as usize].as_mut().expect("a member of an episode")
    }
}

impl Index<EpisodeId> for Places<Episode> {
    type Output = Episode;

    fn index(&self, id: EpisodeId) -> &Episode {
        self.all[id.0 as usize].as_ref().expect("an episode under way")
    }
}

impl IndexMut<EpisodeId> for Places<Episode> {
    fn index_mut(&mut self, id: EpisodeId) -> &mut Episode {
        self.all[id.0 as usize].as_mut().expect("an episode under way")
    }
}

/// An episode that is over.
pub(super) struct Closed {
    pub(super) known: Option<Known>,
    /// Of its members.
    pub(super) wholes: Vec<Arc<Whole>>,
    pub(super) jobs: Vec<JobId>,
}

/// All of it.
#[derive(Debug)]
pub(crate) struct Fast {
    /// How episodes are simulated.
    pub(super) settings: Settings,
    pub(super) members: Places<Member>,
    pub(super) episodes: Places<Episode>,
    /// Members that have begun at this instant.
    pub(super) arrived: Vec<MemberId>,
    crowd: Crowd,
    begun: u64,
    turns: u32,
    pub(super) memory: Memory,
    pub(super) kinds: Kinds,
    /// What episodes that are over have counted.
    pub(crate) counted: Counted,
    pub(crate) tally: Shortcuts,
    /// Jobs whose queue pairs have been slowed down by congestion control.
    cut: BTreeSet<JobId>,
    /// Why the run is not to be had this way.
    pub(crate) gave_up: Option<Refusal>,
}

impl Fast {
    pub(crate) fn new(ports: usize, settings: &Settings) -> Self {
        let settings = Settings {
            until: None,
            sample_period: Span::ZERO,
            scrape_period: Span::ZERO,
            fidelity: Fidelity::Packet,
            ..settings.clone()
        };
        Self {
            settings,
            members: Places::default(),
            episodes: Places::default(),
            arrived: Vec::new(),
            crowd: Crowd::default(),
            begun: 0,
            turns: 0,
            memory: Memory::default(),
            kinds: Kinds::default(),
            counted: Counted::new(ports),
            tally: Shortcuts::default(),
            cut: BTreeSet::new(),
            gave_up: None,
        }
    }

    pub(super) fn begin(&mut self, mut member: Member) {
        member.order = self.begun;
        self.begun += 1;
        let whole = member.whole.clone();
        let id = MemberId(self.members.add(member));
        self.crowd.enter(id, &whole);
        self.arrived.push(id);
    }

    /// The end of a member is another from now on; what stands for it. Nothing if it is over.
    pub(super) fn move_end(&mut self, id: MemberId) -> Option<u32> {
        self.turns += 1;
        let (turn, member) = (self.turns, &mut self.members[id]);
        member.turn = turn;
        (!member.over).then_some(turn)
    }

    /// Everything under way that is connected with a member by crowded links, itself included.
    pub(super) fn component(
        &self,
        id: MemberId,
        capacity: impl Fn(LinkId) -> f64,
    ) -> Vec<MemberId> {
        let mut found = BTreeSet::from([id]);
        let mut left = vec![id];
        while let Some(id) = left.pop() {
            for &(link, _) in self.members[id].whole.usage.iter() {
                let others = self.crowd.on(link, capacity(link));
                left.extend(others.iter().copied().filter(|other| found.insert(*other)));
            }
        }
        found.into_iter().collect()
    }

    /// How often an episode was simulated that one of these is in.
    pub(super) fn trials(&self, together: &[MemberId]) -> u32 {
        let episodes = together.iter().filter_map(|&id| self.members[id].episode);
        episodes.map(|episode| self.episodes[episode].trials).max().unwrap_or(0)
    }

    /// One episode of members and of everything in the episodes that they are in.
    pub(super) fn merge(&mut self, together: &[MemberId]) -> EpisodeId {
        let mut merged = Episode::default();
        let before: BTreeSet<EpisodeId> =
            together.iter().filter_map(|&id| self.members[id].episode).collect();
        for id in before {
            let episode = self.episodes.take(id.0);
            merged.members.extend(episode.members);
            merged.trials = merged.trials.max(episode.trials);
        }
        merged.members.extend(together.iter().filter(|&&id| self.members[id].episode.is_none()));
        merged.members.sort_unstable_by_key(|&id| self.members[id].order);
        let members = merged.members.clone();
        let id = EpisodeId(self.episodes.add(merged));
        members.into_iter().for_each(|member| self.members[member].episode = Some(id));
        id
    }

    /// The members of an episode counted this.
    pub(super) fn remember_cuts(&mut self, episode: EpisodeId, counters: &[FlowCounters]) {
        let members = self.episodes[episode].members.iter().zip(counters);
        let cut = members.filter(|(_, counters)| counters.rate_decreases > 0);
        self.cut.extend(cut.map(|(&id, _)| self.members[id].job));
    }

    /// Whether queue pairs of a job have been slowed down by congestion control.
    pub(super) fn has_cut_rates(&self, job: JobId) -> bool {
        self.cut.contains(&job)
    }

    pub(super) fn first_start(&self, episode: EpisodeId) -> Instant {
        self.members[self.episodes[episode].members[0]].start
    }

    pub(super) fn key(&self, episode: EpisodeId) -> Key {
        let first = self.first_start(episode);
        let members = self.episodes[episode].members.iter().map(|&id| &self.members[id]);
        members.map(|member| (member.whole.trial().number, member.start - first)).collect()
    }

    /// The members of an episode: what each is, whose, and when after the first it began.
    pub(super) fn parts(&self, episode: EpisodeId) -> Vec<(Arc<Whole>, JobId, Span)> {
        let first = self.first_start(episode);
        let members = self.episodes[episode].members.iter().map(|&id| &self.members[id]);
        members.map(|member| (member.whole.clone(), member.job, member.start - first)).collect()
    }

    /// A member is over; its episode, if that is over with it.
    pub(super) fn end(&mut self, id: MemberId) -> Option<Closed> {
        let member = &mut self.members[id];
        member.over = true;
        let (whole, episode) = (member.whole.clone(), member.episode?);
        self.crowd.leave(id, &whole);
        if !self.episodes[episode].members.iter().all(|&id| self.members[id].over) {
            return None;
        }
        let Episode { members, known, .. } = self.episodes.take(episode.0);
        let members: Vec<Member> = members.into_iter().map(|id| self.members.take(id.0)).collect();
        let (wholes, jobs) = members.into_iter().map(|member| (member.whole, member.job)).unzip();
        Some(Closed { known, wholes, jobs })
    }
}
