//! Work in rounds, as graphs: parameter servers and halo exchange.

use crate::layout::{GpuId, Layout, RankId};
use crate::program::{Graph, GraphBuilder, GraphError, NodeId, Queue, Work};
use crate::storage::parts;
use xoff_fabric::model::NicId;
use xoff_units::{Bytes, Span};

/// Most nodes of a graph: some hundreds of megabytes.
pub const MOST_NODES: u64 = 4_000_000;

/// A round of a parameter server.
#[derive(Debug, Clone)]
pub struct ParameterRound {
    /// The GPUs that work, and their NICs.
    pub workers: Vec<(GpuId, NicId)>,
    /// The NICs of the servers; each has an equal part of the parameters.
    pub servers: Vec<NicId>,
    /// Gradients of a worker, and parameters.
    pub size: Bytes,
    /// What a worker computes first.
    pub compute: Span,
    /// What a server computes when it has all gradients.
    pub update: Span,
}

impl ParameterRound {
    /// Nodes of its graph.
    pub fn nodes(&self) -> u64 {
        let (workers, servers) = (self.workers.len() as u64, self.servers.len() as u64);
        workers + servers + 2 * workers * servers
    }

    /// Bytes that cross the network.
    pub fn bytes(&self) -> Bytes {
        Bytes::new(self.size.get().saturating_mul(2 * self.workers.len() as u64))
    }

    /// The round: all gradients to all servers, then from each, as soon as it has those of all
    /// workers, its part of the parameters to all of them.
    pub fn graph(&self) -> Result<Graph, GraphError> {
        let mut graph = GraphBuilder::default();
        let compute = |&(gpu, _): &(GpuId, NicId)| Work::Compute { gpu, span: self.compute };
        let computed: Vec<NodeId> =
            self.workers.iter().map(|worker| graph.after(compute(worker), &[])).collect();
        for (&server, bytes) in self.servers.iter().zip(parts(self.size, self.servers.len())) {
            let mut pushed = Vec::with_capacity(self.workers.len());
            for ((&(_, nic), &after), number) in self.workers.iter().zip(&computed).zip(0..) {
                let work = Work::Network { from: nic, to: server, queue: Queue(number), bytes };
                pushed.push(graph.after(work, &[after]));
            }
            let gpu = self.workers.first().map_or(GpuId(0), |worker| worker.0);
            let updated = graph.after(Work::Compute { gpu, span: self.update }, &pushed);
            for (&(_, nic), number) in self.workers.iter().zip(0..) {
                let work = Work::Network { from: server, to: nic, queue: Queue(number), bytes };
                graph.after(work, &[updated]);
            }
        }
        graph.build()
    }
}

/// Ranks on a grid that swap faces with their neighbours.
#[derive(Debug, Clone)]
pub struct HaloExchange {
    /// Ranks along each side; none is zero.
    pub grid: Vec<u32>,
    /// Whether opposite edges are neighbours.
    pub periodic: bool,
    /// Bytes of a face.
    pub face: Bytes,
    /// What a rank computes in each round.
    pub compute: Span,
    /// How many rounds.
    pub rounds: u32,
}

impl HaloExchange {
    /// Ranks of the grid.
    pub fn ranks(&self) -> u64 {
        self.grid.iter().fold(1, |all: u64, &side| all.saturating_mul(side.into()))
    }

    /// At most so many nodes has its graph.
    pub fn nodes(&self) -> u64 {
        let each = 1 + 2 * self.grid.len() as u64;
        self.ranks().saturating_mul(each).saturating_mul(self.rounds.into())
    }

    /// The neighbours of a rank. The last side of the grid counts first.
    pub fn neighbours(&self, rank: u32) -> Vec<RankId> {
        let mut found = Vec::new();
        let mut stride = 1;
        for &side in self.grid.iter().rev() {
            let at = rank / stride % side;
            let base = rank - at * stride;
            let mut add = |to: u32| found.push(RankId(base + to * stride));
            let around = self.periodic && side > 1;
            if at + 1 < side || around {
                add((at + 1) % side);
            }
            if at > 0 || around {
                add((at + side - 1) % side);
            }
            stride *= side;
        }
        found
    }

    /// Bytes that go between servers, and those that stay inside.
    pub fn bytes(&self, layout: &Layout) -> (Bytes, Bytes) {
        let (mut network, mut inside) = (0u64, 0u64);
        for rank in 0..self.ranks() as u32 {
            for peer in self.neighbours(rank) {
                let far = layout.seat(RankId(rank)).domain != layout.seat(peer).domain;
                *(if far { &mut network } else { &mut inside }) += 1;
            }
        }
        let all = |faces: u64| {
            let faces = faces.saturating_mul(self.rounds.into());
            Bytes::new(self.face.get().saturating_mul(faces))
        };
        (all(network), all(inside))
    }

    /// The rounds of all ranks. A rank computes, sends its faces, and goes on to the next round when it
    /// has the faces of its neighbours: ranks that are not neighbours may be rounds apart.
    pub fn graph(&self, layout: &Layout) -> Result<Graph, GraphError> {
        let ranks = self.ranks() as u32;
        let mut graph = GraphBuilder::default();
        let mut before: Vec<Vec<NodeId>> = vec![Vec::new(); ranks as usize];
        for _ in 0..self.rounds {
            let mut next: Vec<Vec<NodeId>> = vec![Vec::new(); ranks as usize];
            for rank in 0..ranks {
                let own = layout.seat(RankId(rank));
                let work = Work::Compute { gpu: own.gpu, span: self.compute };
                let computed = graph.after(work, &before[rank as usize]);
                next[rank as usize].push(computed);
                for (peer, face) in self.neighbours(rank).into_iter().zip(0..) {
                    let other = layout.seat(peer);
                    let work = if own.domain == other.domain {
                        Work::Nvlink { from: own.gpu, to: other.gpu, bytes: self.face }
                    } else {
                        // GPUs that share a NIC have queues of their own.
                        let queue = Queue(rank << 3 | face);
                        Work::Network { from: own.nic, to: other.nic, queue, bytes: self.face }
                    };
                    let arrived = graph.after(work, &[computed]);
                    next[peer.index()].push(arrived);
                }
            }
            before = next;
        }
        graph.build()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collective::Network;
    use crate::ideal;
    use crate::layout::Placement;
    use crate::program::Program;
    use xoff_fabric::model::Fabric;

    fn halo(grid: &[u32], periodic: bool) -> HaloExchange {
        let (face, compute) = (Bytes::new(1_000_000), Span::from_us(10));
        HaloExchange { grid: grid.to_vec(), periodic, face, compute, rounds: 3 }
    }

    #[test]
    fn neighbours_are_mutual_and_as_many_as_the_grid_has() {
        for (grid, periodic, edges) in [
            (vec![4, 3], true, 4 * 3 * 4),
            (vec![4, 3], false, 2 * (3 * 3 + 4 * 2)),
            (vec![2, 2, 2], true, 8 * 6),
            (vec![1, 5], true, 10),
            (vec![3, 1, 1], false, 4),
        ] {
            let halo = halo(&grid, periodic);
            let all: Vec<(u32, u32)> = (0..halo.ranks() as u32)
                .flat_map(|rank| halo.neighbours(rank).into_iter().map(move |n| (rank, n.0)))
                .collect();
            assert_eq!(all.len(), edges, "{grid:?}");
            for &(a, b) in &all {
                assert!(a != b && all.contains(&(b, a)), "{grid:?} {a} {b}");
            }
        }
    }

    #[test]
    fn a_round_takes_its_computing_and_its_faces() {
        // Every rank has a NIC to itself: four faces out and in at 400 Gb/s, 80 us, and 10 us before.
        let text = "[cluster]\nhosts = 16\nnic-rate = '400Gbps'\n[fabric]\nkind = 'single'\n";
        let fabric = Fabric::from_toml(text).unwrap();
        let layout = Layout::new(&fabric, Some(16), &Placement::Packed).unwrap();
        let halo = halo(&[4, 4], true);
        let mut program = Program::Graph(halo.graph(&layout).unwrap());
        let network = Network::default();
        let outcome = ideal::run(&mut program, &fabric, &network).unwrap();
        let took = outcome.end.as_ps() as f64 / 3e6;
        assert!((90.0..100.0).contains(&took), "{took} us");
        assert_eq!(halo.bytes(&layout), (Bytes::new(16 * 4 * 3 * 1_000_000), Bytes::ZERO));
        let sent: u64 = outcome.nics.iter().map(|nic| nic.sent.get()).sum();
        assert_eq!(sent, halo.bytes(&layout).0.get());
    }

    #[test]
    fn parameters_go_forth_and_back() {
        // Three workers, one server: its NIC receives and then sends three times a megabyte, 20 us each.
        let text = "[cluster]\nhosts = 4\nnic-rate = '400Gbps'\n[fabric]\nkind = 'single'\n";
        let fabric = Fabric::from_toml(text).unwrap();
        let round = ParameterRound {
            workers: (0..3).map(|n| (GpuId(n), NicId(n))).collect(),
            servers: vec![NicId(3)],
            size: Bytes::new(1_000_000),
            compute: Span::from_us(5),
            update: Span::from_us(7),
        };
        let mut program = Program::Graph(round.graph().unwrap());
        let network = Network::default();
        let outcome = ideal::run(&mut program, &fabric, &network).unwrap();
        assert_eq!(outcome.end.as_ps(), (5 + 60 + 7 + 60) * 1_000_000);
        assert_eq!(round.nodes(), 3 + 1 + 6);
        assert_eq!(outcome.nics.iter().map(|nic| nic.sent).sum::<Bytes>(), round.bytes());
    }
}
