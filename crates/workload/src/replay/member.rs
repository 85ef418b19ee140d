//! [`Comms`]: the communicators of a job, from the groups of its trace.

use crate::trace::{Group, GroupId, Members, Rank, Trace};
use std::collections::BTreeMap;

/// A communicator by its place in [`Comms::members`].
pub(crate) type CommId = u32;

/// The communicators that are used, each with its members in their order.
#[derive(Debug, Default)]
pub(crate) struct Comms {
    known: BTreeMap<(GroupId, u32, u32), CommId>,
    pub(crate) members: Vec<Vec<u32>>,
    /// The group of each.
    pub(crate) groups: Vec<GroupId>,
}

/// Why a rank's communicator is not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unfit {
    /// The trace does not name the members.
    Unknown,
    /// The rank is not a member.
    Outsider,
    /// The job cannot be cut into groups of this size.
    Uneven,
}

/// Where a rank is: its number in the trace, and its replica.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place {
    pub(crate) rank: Rank,
    pub(crate) replica: u32,
}

/// How often the ranks of a trace are there.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scale {
    pub(crate) ranks: u32,
    pub(crate) replicas: u32,
}

impl Comms {
    /// The communicator of a rank for a group, which spans all replicas or is there in each.
    pub(crate) fn of(
        &mut self,
        trace: &Trace,
        id: GroupId,
        spans: bool,
        place: Place,
        scale: Scale,
    ) -> Result<CommId, Unfit> {
        let group = trace.group(id);
        // A SimAI workload with the short header says which groups are data parallel and not how many ranks
        // there are: one in every replica.
        let unnamed = spans && scale.replicas > 1 && group.size().is_none();
        let part = match unnamed {
            true => place.rank.0,
            false => part(group, place.rank, scale.ranks)?,
        };
        let replica = if spans { u32::MAX } else { place.replica };
        if let Some(known) = self.known.get(&(id, part, replica)) {
            return Ok(*known);
        }
        let own = (0..group.size().unwrap_or(0)).filter_map(|at| group.member(place.rank, at));
        let mut own: Vec<u32> = own.map(|rank| rank.0).collect();
        own.extend(unnamed.then_some(place.rank.0));
        let replicas = if spans { 0..scale.replicas } else { place.replica..place.replica + 1 };
        let members =
            replicas.flat_map(|replica| own.iter().map(move |rank| rank + replica * scale.ranks));
        let number = self.members.len() as CommId;
        self.members.push(members.collect());
        self.groups.push(id);
        self.known.insert((id, part, replica), number);
        Ok(number)
    }
}

/// Which of the groups like this one a rank is in.
fn part(group: &Group, rank: Rank, ranks: u32) -> Result<u32, Unfit> {
    match &group.members {
        Members::All { .. } => Ok(0),
        Members::List(list) if list.contains(&rank) => Ok(0),
        Members::List(_) => Err(Unfit::Outsider),
        Members::Every { size, stride } => {
            let block = u64::from(*size) * u64::from(*stride);
            if block == 0 || !u64::from(ranks).is_multiple_of(block) {
                return Err(Unfit::Uneven);
            }
            let block = block as u32;
            Ok(rank.0 / block * stride + rank.0 % stride)
        }
        Members::Unknown { .. } => Err(Unfit::Unknown),
    }
}
