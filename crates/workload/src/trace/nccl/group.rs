//! Identities in an NCCL log: processes, communicators, ranks.

use super::super::builder::Builder;
use super::super::error::{Outcome, TraceError};
use super::super::group::{GroupId, Members};
use super::super::model::Rank;
use super::super::note::At;
use super::line;
use std::collections::{BTreeMap, BTreeSet};

/// Processes and communicators, as the log names them one by one.
#[derive(Debug, Default)]
pub(super) struct Groups {
    processes: Vec<Process>,
    /// By `host:pid` and GPU.
    process_ids: BTreeMap<(String, u32), u32>,
    communicators: Vec<Communicator>,
    /// By `host:pid` and address. The GPU does not matter: one thread may call for all of them. An
    /// address may be used again.
    current: BTreeMap<(String, String), u32>,
    /// How many communicators of a size a process has made without saying which they are.
    nameless: BTreeMap<(u32, u32), u32>,
}

#[derive(Debug, Default)]
struct Process {
    /// Size and rank in the largest communicator.
    largest: Option<(u32, u32)>,
    /// What the log says outright.
    global: Option<u32>,
}

#[derive(Debug)]
struct Communicator {
    process: u32,
    rank: Option<u32>,
    key: Key,
}

/// What the ranks of a communicator have in common.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    Id(String, u32),
    /// The size, and the how manieth of that size it is in its process.
    Order(u32, u32),
}

impl Key {
    const fn ranks(&self) -> u32 {
        match self {
            Key::Id(_, ranks) | Key::Order(ranks, _) => *ranks,
        }
    }
}

impl Groups {
    /// The number of a process and GPU.
    pub(super) fn process(&mut self, name: &str, device: u32) -> u32 {
        let next = self.processes.len() as u32;
        let id = *self.process_ids.entry((name.to_owned(), device)).or_insert(next);
        if id == next {
            self.processes.push(Process::default());
        }
        id
    }

    /// A communicator is made, or its making is complete.
    pub(super) fn made(
        &mut self,
        process: u32,
        name: &str,
        made: &line::Communicator<'_>,
        builder: &Builder,
        at: At<'_>,
    ) -> Outcome<()> {
        let ranks = size(made.ranks, builder, at)?;
        let rank = u32::try_from(made.rank).ok().filter(|rank| *rank < ranks);
        let Some(rank) = rank else {
            let text = format!("rank {} of {ranks} in a communicator", made.rank);
            return Err(TraceError::new(at.file, at.place, text));
        };
        let place = (name.to_owned(), made.pointer.to_owned());
        // Both its start and its end are logged, and are one communicator.
        if let Some(known) = self.current.get(&place).map(|id| &self.communicators[*id as usize]) {
            let same = match (&known.key, made.id) {
                (Key::Id(id, size), Some(new)) => id == new && *size == ranks,
                (Key::Order(size, _), None) => *size == ranks,
                _ => false,
            };
            if same && known.rank == Some(rank) {
                return Ok(());
            }
        }
        let key = match made.id {
            Some(id) => Key::Id(id.to_owned(), ranks),
            None => self.nameless(process, ranks),
        };
        self.add(place, Communicator { process, rank: Some(rank), key }, builder, at)?;
        let largest = &mut self.processes[process as usize].largest;
        if largest.is_none_or(|(size, _)| size < ranks) {
            *largest = Some((ranks, rank));
        }
        Ok(())
    }

    /// A communicator is used; it may not have been heard of.
    pub(super) fn used(
        &mut self,
        name: &str,
        device: u32,
        call: &line::Operation<'_>,
        builder: &mut Builder,
        at: At<'_>,
    ) -> Outcome<u32> {
        let ranks = size(call.ranks, builder, at)?;
        let place = (name.to_owned(), call.communicator.to_owned());
        let known = self.current.get(&place).copied();
        let known = known.filter(|id| self.communicators[*id as usize].key.ranks() == ranks);
        let id = match known {
            Some(id) => id,
            None => {
                builder.notes.assumed("communicator whose making is not in the log", at);
                let process = self.process(name, device);
                let key = self.nameless(process, ranks);
                self.add(place, Communicator { process, rank: None, key }, builder, at)?
            }
        };
        if let Some(global) = call.global_rank {
            let rank = builder.rank(global, at)?;
            let process = self.process_of(id);
            self.processes[process as usize].global = Some(rank.0);
        }
        Ok(id)
    }

    /// The process of a communicator.
    pub(super) fn process_of(&self, communicator: u32) -> u32 {
        self.communicators[communicator as usize].process
    }

    fn nameless(&mut self, process: u32, ranks: u32) -> Key {
        let order = self.nameless.entry((process, ranks)).or_default();
        *order += 1;
        Key::Order(ranks, *order - 1)
    }

    fn add(
        &mut self,
        place: (String, String),
        communicator: Communicator,
        builder: &Builder,
        at: At<'_>,
    ) -> Outcome<u32> {
        let id = self.communicators.len() as u32;
        if id >= builder.limits().members {
            let text = format!("more than {id} communicators; take a shorter part of the run");
            return Err(TraceError::new(at.file, at.place, text));
        }
        self.communicators.push(communicator);
        self.current.insert(place, id);
        Ok(id)
    }

    /// Works out ranks and members from what was gathered.
    pub(super) fn resolve(self, builder: &mut Builder, at: At<'_>) -> Outcome<Known> {
        let world = self.communicators.iter().map(|one| one.key.ranks()).max().unwrap_or(0);
        builder.at_least(u64::from(world), at)?;
        let ranks = self.ranks(world, builder, at)?;
        let mut members: BTreeMap<&Key, BTreeMap<u32, Rank>> = BTreeMap::new();
        for one in &self.communicators {
            let known = members.entry(&one.key).or_default();
            if let Some(rank) = one.rank {
                known.insert(rank, ranks[one.process as usize]);
            }
        }
        let mut groups = BTreeMap::new();
        let mut lists: Vec<Vec<Option<Rank>>> = Vec::new();
        for (key, known) in members {
            let size = key.ranks();
            let complete = known.len() as u32 == size;
            let list: Vec<Rank> = known.values().copied().collect();
            let whole = size == world && list.iter().enumerate().all(|(at, r)| r.0 == at as u32);
            let name = match key {
                Key::Id(id, _) => id.clone(),
                Key::Order(size, order) => format!("{size} ranks #{order}"),
            };
            let kept = if complete && !whole {
                Members::List(list)
            } else if size == world {
                Members::All { ranks: 0 }
            } else {
                builder.notes.assumed("communicator whose ranks are not all in the log", at);
                Members::Unknown { size: Some(size) }
            };
            let id = builder.group(&name, kept, at)?;
            let last = known.last_key_value().map_or(0, |(rank, _)| *rank + 1);
            // Sparse ones cost no more than what the log says, give or take the limit of ranks.
            let list = if known.len() as u32 * 8 >= last {
                (0..last).map(|rank| known.get(&rank).copied()).collect()
            } else {
                Vec::new()
            };
            lists.push(list);
            groups.insert(key, (id, lists.len() - 1, size == world));
        }
        let find = |one: &Communicator| groups.get(&one.key).copied();
        let communicators = self.communicators.iter().filter_map(find).collect();
        Ok(Known { ranks, communicators, lists })
    }

    /// The rank of each process.
    fn ranks(&self, world: u32, builder: &mut Builder, at: At<'_>) -> Outcome<Vec<Rank>> {
        let said = |process: &Process| {
            let in_world = process.largest.filter(|(size, _)| *size == world);
            process.global.or(in_world.map(|(_, rank)| rank))
        };
        let said: Vec<Option<u32>> = self.processes.iter().map(said).collect();
        let different: BTreeSet<u32> = said.iter().flatten().copied().collect();
        if different.len() == said.len() {
            return said.into_iter().flatten().map(|rank| builder.rank(rank.into(), at)).collect();
        }
        builder
            .notes
            .assumed("ranks of the job are not in the log: counted by host and process", at);
        let mut ranks = vec![Rank(0); self.processes.len()];
        for (order, id) in self.process_ids.values().enumerate() {
            ranks[*id as usize] = builder.rank(order as u64, at)?;
        }
        Ok(ranks)
    }
}

/// A size that a communicator may have.
fn size(ranks: u64, builder: &Builder, at: At<'_>) -> Outcome<u32> {
    let most = builder.limits().ranks;
    match u32::try_from(ranks) {
        Ok(ranks) if ranks > 0 && ranks <= most => Ok(ranks),
        _ => {
            let text = format!("a communicator of {ranks} ranks; 1 to {most} are taken");
            Err(TraceError::new(at.file, at.place, text))
        }
    }
}

/// What is known of the identities.
#[derive(Debug)]
pub(super) struct Known {
    ranks: Vec<Rank>,
    /// Group, list of members, and whether it is the whole job.
    communicators: Vec<(GroupId, usize, bool)>,
    lists: Vec<Vec<Option<Rank>>>,
}

impl Known {
    /// The rank of a process.
    pub(super) fn rank(&self, process: u32) -> Rank {
        self.ranks[process as usize]
    }

    /// The group of a communicator.
    pub(super) fn group(&self, communicator: u32) -> GroupId {
        self.communicators[communicator as usize].0
    }

    /// A rank of a communicator as a rank of the job.
    pub(super) fn member(&self, communicator: u32, rank: u32) -> Option<Rank> {
        let (_, list, world) = self.communicators[communicator as usize];
        let listed = self.lists[list].get(rank as usize).copied().flatten();
        listed.or(world.then_some(Rank(rank)))
    }
}
