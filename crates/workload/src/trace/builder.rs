//! [`Builder`]: gathers a trace, within limits, and sees to it that its dependencies make sense.

use super::error::{Outcome, Place, TraceError};
use super::group::{Group, GroupId, Members};
use super::model::{Edge, Need, Operation, OperationId, Origins, Rank, Trace};
use super::note::{At, Notes};
use super::sniff::Format;
use std::collections::BTreeMap;

/// What a trace may hold, so that no file can fill the memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Most ranks.
    pub ranks: u32,
    /// Most operations, of all ranks together.
    pub operations: u32,
    /// Most dependencies between them.
    pub dependencies: u32,
    /// Most members of all groups together.
    pub members: u32,
}

impl Default for Limits {
    /// A million ranks and some five gigabytes.
    fn default() -> Self {
        Self {
            ranks: 1 << 20,
            operations: 50_000_000,
            dependencies: 200_000_000,
            members: 16_000_000,
        }
    }
}

/// A trace that is being read.
pub(crate) struct Builder {
    limits: Limits,
    ranks: u32,
    operations: Vec<Operation>,
    offsets: Vec<u32>,
    needs: Vec<Need>,
    groups: Vec<Group>,
    known: BTreeMap<Group, GroupId>,
    origins: Origins,
    members: u32,
    pub(crate) notes: Notes,
    pub(crate) connections: Vec<super::model::Connection>,
}

/// A dependency between two operations of a section, both counted from its first one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Link {
    pub(crate) from: u32,
    pub(crate) on: u32,
    pub(crate) edge: Edge,
}

/// Operations of a section that wait for each other, in order, counted from its first one.
#[derive(Debug)]
pub(crate) struct Cycle(pub(crate) Vec<u32>);

impl Builder {
    pub(crate) fn new(limits: Limits) -> Self {
        Self {
            limits,
            ranks: 0,
            operations: Vec::new(),
            offsets: vec![0],
            needs: Vec::new(),
            groups: Vec::new(),
            known: BTreeMap::new(),
            origins: Origins::default(),
            members: 0,
            notes: Notes::default(),
            connections: Vec::new(),
        }
    }

    pub(crate) fn limits(&self) -> Limits {
        self.limits
    }

    /// Ranks so far.
    pub(crate) fn ranks(&self) -> u32 {
        self.ranks
    }

    /// There are so many ranks, at least.
    pub(crate) fn at_least(&mut self, ranks: u64, at: At<'_>) -> Outcome<()> {
        match u32::try_from(ranks) {
            Ok(ranks) if ranks <= self.limits.ranks => {
                self.ranks = self.ranks.max(ranks);
                Ok(())
            }
            _ => {
                let most = self.limits.ranks;
                let text =
                    format!("{ranks} ranks; at most {most} are taken: is it the right file?");
                Err(TraceError::new(at.file, at.place, text))
            }
        }
    }

    /// A rank of the job, which may be a new one.
    pub(crate) fn rank(&mut self, number: u64, at: At<'_>) -> Outcome<Rank> {
        self.at_least(number.saturating_add(1), at)?;
        // It fits: it is below a limit of 32 bits.
        Ok(Rank(number as u32))
    }

    /// Adds an operation; its dependencies come with [`Builder::link`].
    pub(crate) fn push(&mut self, operation: Operation, at: At<'_>) -> Outcome<()> {
        if self.operations.len() >= self.limits.operations as usize {
            let most = self.limits.operations;
            let text = format!("more than {most} operations; take a shorter part of the run");
            return Err(TraceError::new(at.file, at.place, text));
        }
        self.operations.push(operation);
        self.origins.push(at.file, at.place);
        Ok(())
    }

    /// Operations added so far.
    pub(crate) fn len(&self) -> u32 {
        self.operations.len() as u32
    }

    /// The dependencies of all operations since the last call, each counted from the first of them.
    /// They need not be sorted. Refused if there is a cycle.
    pub(crate) fn link(&mut self, mut links: Vec<Link>, file: &str) -> Outcome<Result<(), Cycle>> {
        let first = self.offsets.len() as u32 - 1;
        let count = self.len() - first;
        links.retain(|link| link.from < count && link.on < count);
        links.sort_unstable();
        links.dedup();
        if self.needs.len() + links.len() > self.limits.dependencies as usize {
            let most = self.limits.dependencies;
            let text = format!("more than {most} dependencies; take a shorter part of the run");
            return Err(TraceError::new(file, Place::File, text));
        }
        if let Some(cycle) = find_cycle(count, &links) {
            return Ok(Err(cycle));
        }
        let mut links = links.into_iter().peekable();
        for at in 0..count {
            while let Some(link) = links.next_if(|link| link.from == at) {
                let on = OperationId(first + link.on);
                self.needs.push(Need { on, edge: link.edge });
            }
            self.offsets.push(self.needs.len() as u32);
        }
        Ok(Ok(()))
    }

    /// A group by name and members; the same ones are the same group.
    pub(crate) fn group(&mut self, name: &str, members: Members, at: At<'_>) -> Outcome<GroupId> {
        let group = Group { name: name.to_owned(), members };
        if let Some(id) = self.known.get(&group) {
            return Ok(*id);
        }
        let count = match &group.members {
            Members::List(list) => list.len(),
            _ => 1,
        };
        let total = u64::from(self.members) + count as u64;
        if total > u64::from(self.limits.members) {
            let text = format!("groups of more than {} members in all", self.limits.members);
            return Err(TraceError::new(at.file, at.place, text));
        }
        self.members = total as u32;
        let id = GroupId(self.groups.len() as u32);
        self.groups.push(group.clone());
        self.known.insert(group, id);
        Ok(id)
    }

    /// Sets the members of a group that were not known before.
    pub(crate) fn set_members(&mut self, id: GroupId, members: Members) {
        self.groups[id.0 as usize].members = members;
    }

    /// The trace.
    pub(crate) fn finish(mut self, format: Format) -> Trace {
        // Whatever was not linked waits for nothing.
        self.offsets.resize(self.operations.len() + 1, self.needs.len() as u32);
        for group in &mut self.groups {
            if let Members::All { ranks } = &mut group.members {
                *ranks = self.ranks;
            }
        }
        let (notes, further_notes) = self.notes.into_parts();
        Trace {
            format,
            ranks: self.ranks,
            operations: self.operations,
            groups: self.groups,
            connections: self.connections,
            notes,
            further_notes,
            offsets: self.offsets,
            needs: self.needs,
            origins: self.origins,
        }
    }
}

/// Operations that wait for each other, if there are any. `links` are sorted.
fn find_cycle(count: u32, links: &[Link]) -> Option<Cycle> {
    // Almost every trace names what it waits for before it waits.
    if links.iter().all(|link| link.on < link.from) {
        return None;
    }
    let count = count as usize;
    let mut starts = vec![0usize; count + 1];
    for link in links {
        starts[link.from as usize + 1] += 1;
    }
    (0..count).for_each(|at| starts[at + 1] += starts[at]);
    /// Not seen, on the way that led here, done with.
    #[derive(Clone, Copy, PartialEq)]
    enum Mark {
        New,
        Open,
        Done,
    }
    let mut marks = vec![Mark::New; count];
    let mut way: Vec<(u32, usize)> = Vec::new();
    for root in 0..count {
        if marks[root] != Mark::New {
            continue;
        }
        marks[root] = Mark::Open;
        way.push((root as u32, starts[root]));
        while let Some((at, next)) = way.last_mut() {
            let here = *at as usize;
            if *next == starts[here + 1] {
                marks[here] = Mark::Done;
                way.pop();
                continue;
            }
            let on = links[*next].on;
            *next += 1;
            match marks[on as usize] {
                Mark::Done => {}
                Mark::New => {
                    marks[on as usize] = Mark::Open;
                    way.push((on, starts[on as usize]));
                }
                Mark::Open => {
                    let from = way.iter().position(|(at, _)| *at == on).unwrap_or(0);
                    return Some(Cycle(way[from..].iter().map(|(at, _)| *at).collect()));
                }
            }
        }
    }
    None
}

impl Cycle {
    /// `a waits for b, which waits for a`, with names.
    pub(crate) fn describe(&self, name: impl Fn(u32) -> String) -> String {
        /// Names shown of a long one.
        const SHOWN: usize = 5;
        let mut names: Vec<String> = self.0.iter().take(SHOWN).map(|at| name(*at)).collect();
        if self.0.len() > SHOWN {
            names.push("…".to_owned());
        }
        names.extend(self.0.first().map(|at| name(*at)));
        names.join(" waits for ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn link(from: u32, on: u32) -> Link {
        Link { from, on, edge: Edge::Data }
    }

    #[test]
    fn cycles_are_found_and_named() {
        let mut links = vec![link(0, 3), link(1, 0), link(3, 2), link(2, 3), link(4, 1)];
        links.sort_unstable();
        let cycle = find_cycle(5, &links).unwrap();
        assert_eq!(cycle.describe(|at| format!("n{at}")), "n3 waits for n2 waits for n3");
        assert_eq!(find_cycle(1, &[link(0, 0)]).unwrap().0, [0]);
        // A long one that would overflow a recursion.
        let many = 300_000;
        let mut ring: Vec<Link> = (0..many).map(|at| link(at, (at + 1) % many)).collect();
        ring.sort_unstable();
        assert_eq!(find_cycle(many, &ring).unwrap().0.len(), many as usize);
    }

    proptest! {
        /// Links along a random order are never a cycle; with one link back along a path, always.
        #[test]
        fn an_order_has_no_cycle(
            order in Just((0..20u32).collect::<Vec<_>>()).prop_shuffle(),
            pairs in prop::collection::vec((0usize..20, 0usize..20), 1..60),
        ) {
            let along = |&(a, b): &(usize, usize)| (a != b).then(|| {
                link(order[a.max(b)], order[a.min(b)])
            });
            let mut links: Vec<Link> = pairs.iter().filter_map(along).collect();
            links.sort_unstable();
            prop_assert!(find_cycle(20, &links).is_none());
            if let Some(first) = links.first().copied() {
                links.push(link(first.on, first.from));
                links.sort_unstable();
                prop_assert!(find_cycle(20, &links).is_some());
            }
        }
    }
}
