//! [`Group`]: the ranks that take part in a collective.

use super::model::Rank;

/// A group by its place in [`super::Trace::groups`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupId(pub u32);

/// A process group, or communicator.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Group {
    /// As the trace calls it; empty for all ranks.
    pub name: String,
    /// Its members.
    pub members: Members,
}

/// The members of a group.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Members {
    /// Every rank of the job.
    All {
        /// How many these are.
        ranks: u32,
    },
    /// These, in the order of the group.
    List(Vec<Rank>),
    /// The job is cut into many groups like this one, and each rank means its own: `size` ranks,
    /// `stride` apart.
    Every {
        /// Ranks in each.
        size: u32,
        /// Distance between neighbours.
        stride: u32,
    },
    /// The trace does not name the members.
    Unknown {
        /// How many, if it says that.
        size: Option<u32>,
    },
}

impl Group {
    /// How many ranks are in it, if that is known.
    pub fn size(&self) -> Option<u32> {
        match &self.members {
            Members::All { ranks } => Some(*ranks),
            Members::List(list) => u32::try_from(list.len()).ok(),
            Members::Every { size, .. } => Some(*size),
            Members::Unknown { size } => *size,
        }
    }

    /// The `index`th member of the group that `rank` is in, if that is known.
    pub fn member(&self, rank: Rank, index: u32) -> Option<Rank> {
        match &self.members {
            Members::All { ranks } => (index < *ranks).then_some(Rank(index)),
            Members::List(list) => list.get(index as usize).copied(),
            Members::Every { size, stride } if index < *size && *stride > 0 => {
                let (rank, size, stride) =
                    (u64::from(rank.0), u64::from(*size), u64::from(*stride));
                let block = size * stride;
                let first = rank / block * block + rank % stride;
                u32::try_from(first + u64::from(index) * stride).ok().map(Rank)
            }
            Members::Every { .. } | Members::Unknown { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rank_finds_its_own_group() {
        // 16 ranks, tensor parallel by 4: the data-parallel group of rank 6 is 2, 6, 10, 14.
        let members = Members::Every { size: 4, stride: 4 };
        let group = Group { name: "dp".into(), members };
        let found: Vec<_> = (0..4).filter_map(|at| group.member(Rank(6), at)).collect();
        assert_eq!(found, [2, 6, 10, 14].map(Rank));
        assert_eq!(group.member(Rank(6), 4), None);
        let none = Group { name: String::new(), members: Members::Every { size: 1, stride: 0 } };
        assert_eq!(none.member(Rank(0), 0), None);
        let far = Members::Every { size: u32::MAX, stride: u32::MAX };
        assert_eq!(Group { name: String::new(), members: far }.member(Rank(0), 9), None);
    }
}
