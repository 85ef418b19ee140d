//! Which ranks work together.
//!
//! Rank = tensor + TP x (context + CP x (data + DP x stage)). Experts are spread over neighbours among the
//! CP x DP ranks.

use super::parallelism::Parallelism;
use super::volume::Dimension;
use crate::layout::RankId;

/// A kind of group. Each has queue pairs of its own and runs one collective after the other, as a
/// communicator does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Comm {
    Tensor,
    Context,
    Expert,
    /// Ranks with the same dense parameters.
    Data,
    /// Ranks with the same experts.
    ExpertData,
    /// Ranks of an expert-parallel group in the same place of their servers.
    ExpertRail,
    /// Ranks of an expert-parallel group in one server.
    ExpertServer,
    /// Ranks that share the tables of a recommender: all of them.
    Tables,
}

/// All kinds, in the order of their numbers.
pub(super) const COMMS: [Comm; 8] = [
    Comm::Tensor,
    Comm::Context,
    Comm::Expert,
    Comm::Data,
    Comm::ExpertData,
    Comm::ExpertRail,
    Comm::ExpertServer,
    Comm::Tables,
];

impl Comm {
    pub(super) const fn index(self) -> usize {
        self as usize
    }

    pub(super) const fn dimension(self) -> Dimension {
        match self {
            Comm::Tensor => Dimension::Tensor,
            Comm::Context => Dimension::Context,
            Comm::Expert | Comm::ExpertRail | Comm::ExpertServer => Dimension::Expert,
            Comm::Data | Comm::ExpertData => Dimension::Data,
            Comm::Tables => Dimension::Tables,
        }
    }
}

/// Where a rank is in each dimension.
#[derive(Debug, Clone, Copy)]
pub(super) struct Position {
    tensor: u32,
    /// Among the context and data ranks.
    replica: u32,
    pub(super) stage: u32,
}

impl Parallelism {
    /// Ranks of a group.
    pub(super) fn size(&self, comm: Comm) -> u32 {
        match comm {
            Comm::Tensor => self.tensor,
            Comm::Context => self.context,
            Comm::Expert => self.expert,
            Comm::Data | Comm::Tables => self.replicas(),
            Comm::ExpertData => self.replicas() / self.expert,
            Comm::ExpertRail => self.expert / self.expert_node,
            Comm::ExpertServer => self.expert_node,
        }
    }

    pub(super) fn position(&self, rank: u32) -> Position {
        Position {
            tensor: rank % self.tensor,
            replica: rank / self.tensor % self.replicas(),
            stage: rank / self.tensor / self.replicas(),
        }
    }

    fn rank(&self, position: Position) -> RankId {
        let Position { tensor, replica, stage } = position;
        RankId(tensor + self.tensor * (replica + self.replicas() * stage))
    }

    /// The rank in the same place of another stage.
    pub(super) fn peer(&self, rank: u32, stage: u32) -> RankId {
        self.rank(Position { stage, ..self.position(rank) })
    }

    /// The members of a rank's group, in their order.
    pub(super) fn members(&self, comm: Comm, rank: u32) -> Vec<RankId> {
        let own = self.position(rank);
        // The group's first rank, and how far the next is.
        let (first, step) = match comm {
            Comm::Tensor => {
                let at = |tensor| self.rank(Position { tensor, ..own });
                return (0..self.tensor).map(at).collect();
            }
            Comm::Context => (own.replica - own.replica % self.context, 1),
            Comm::Expert => (own.replica - own.replica % self.expert, 1),
            Comm::Data | Comm::Tables => (0, 1),
            Comm::ExpertData => (own.replica % self.expert, self.expert),
            Comm::ExpertRail => {
                let group = own.replica - own.replica % self.expert;
                (group + own.replica % self.expert_node, self.expert_node)
            }
            Comm::ExpertServer => (own.replica - own.replica % self.expert_node, 1),
        };
        let at = |number| self.rank(Position { replica: first + number * step, ..own });
        (0..self.size(comm)).map(at).collect()
    }

    /// The number of a rank's group among those of its kind: below [`Parallelism::groups`].
    pub(super) fn group(&self, comm: Comm, rank: u32) -> u32 {
        let Position { tensor, replica, stage } = self.position(rank);
        let among = match comm {
            Comm::Tensor => return rank / self.tensor,
            Comm::Context => replica / self.context,
            Comm::Expert => replica / self.expert,
            Comm::Data | Comm::Tables => 0,
            Comm::ExpertData => replica % self.expert,
            Comm::ExpertRail => {
                replica / self.expert * self.expert_node + replica % self.expert_node
            }
            Comm::ExpertServer => replica / self.expert_node,
        };
        let count = self.replicas() / self.size(comm);
        (stage * count + among) * self.tensor + tensor
    }

    /// Groups of a kind.
    pub(super) fn groups(&self, comm: Comm) -> u32 {
        self.tensor * self.replicas() * self.pipeline / self.size(comm)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn groups_part_the_ranks(
            tensor in 1u32..5, context in 1u32..4, data in 1u32..5, pipeline in 1u32..4, pick in 0usize..9,
        ) {
            let replicas = context * data;
            let divisors: Vec<u32> = (1..=replicas).filter(|d| replicas % d == 0).collect();
            let expert = divisors[pick % divisors.len()];
            let parts: Vec<u32> = (1..=expert).filter(|d| expert.is_multiple_of(*d)).collect();
            let expert_node = parts[pick / 2 % parts.len()];
            let one = Parallelism::default();
            let spread =
                Parallelism { tensor, context, data, pipeline, expert, expert_node, ..one };
            let ranks = spread.gpus() as u32;
            for comm in COMMS {
                let mut of: Vec<Vec<u32>> = vec![Vec::new(); spread.groups(comm) as usize];
                for rank in 0..ranks {
                    of[spread.group(comm, rank) as usize].push(rank);
                }
                for (rank, group) in (0..ranks).map(|rank| (rank, spread.group(comm, rank))) {
                    let members: Vec<u32> =
                        spread.members(comm, rank).iter().map(|rank| rank.0).collect();
                    prop_assert_eq!(&members, &of[group as usize]);
                    let stage = spread.position(rank).stage;
                    prop_assert!(members.iter().all(|&rank| spread.position(rank).stage == stage));
                }
            }
        }
    }

    #[test]
    fn tp8_cp4_ep4_on_64() {
        let spread =
            Parallelism { tensor: 8, context: 4, data: 2, expert: 4, ..Parallelism::default() };
        let ranks = |comm, rank| -> Vec<u32> {
            spread.members(comm, rank).iter().map(|rank| rank.0).collect()
        };
        assert_eq!(ranks(Comm::Tensor, 9), (8..16).collect::<Vec<u32>>());
        assert_eq!(ranks(Comm::Context, 33), [33, 41, 49, 57]);
        assert_eq!(ranks(Comm::Expert, 33), [33, 41, 49, 57]);
        assert_eq!(ranks(Comm::Data, 0), [0, 8, 16, 24, 32, 40, 48, 56]);
        assert_eq!(ranks(Comm::ExpertData, 41), [9, 41]);
    }

    #[test]
    fn ep64_over_servers_of_8() {
        let spread =
            Parallelism { data: 128, expert: 64, expert_node: 8, ..Parallelism::default() };
        let ranks = |comm, rank| -> Vec<u32> {
            spread.members(comm, rank).iter().map(|rank| rank.0).collect()
        };
        assert_eq!(ranks(Comm::ExpertServer, 77), (72..80).collect::<Vec<u32>>());
        assert_eq!(ranks(Comm::ExpertRail, 77), [69, 77, 85, 93, 101, 109, 117, 125]);
        assert_eq!(ranks(Comm::ExpertData, 77), [13, 77]);
    }
}
