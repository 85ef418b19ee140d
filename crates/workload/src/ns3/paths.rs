//! `paths.txt`: the nodes that data and ACKs of each flow passed, as recorded:
//! `data|ack source destination source-port port bytes : node node …`.

use super::flows::Flow;
use super::text::{Line, Mistakes, lines};
use super::topology::Topology;
use std::collections::{BTreeMap, VecDeque};

/// What a path line and a flow have in common: source, destination, port, bytes.
type Key = (u32, u32, u32, u64);

/// The recorded paths of data and of ACKs. Flows with equal keys take theirs in order.
#[derive(Debug, Default)]
pub(super) struct Paths {
    data: BTreeMap<Key, VecDeque<Vec<u32>>>,
    ack: BTreeMap<Key, VecDeque<Vec<u32>>>,
}

impl Paths {
    /// Pins flows to their paths; returns how many have none.
    pub(super) fn pin(&mut self, flows: &mut [Flow]) -> usize {
        let mut without = 0;
        for flow in flows {
            let key = (flow.source, flow.destination, flow.port, flow.bytes);
            let next = |paths: &mut BTreeMap<Key, VecDeque<Vec<u32>>>| {
                paths.get_mut(&key).and_then(VecDeque::pop_front)
            };
            let (data, ack) = (next(&mut self.data), next(&mut self.ack));
            // Without a recorded path of their own, ACKs take the data's path backwards.
            flow.path = data.map(|data| {
                let back = ack.unwrap_or_else(|| data.iter().rev().copied().collect());
                (data, back)
            });
            without += usize::from(flow.path.is_none());
        }
        without
    }
}

/// Reads the file.
pub(super) fn read(text: &str, topology: &Topology, mistakes: &mut Mistakes) -> Paths {
    let mut paths = Paths::default();
    for line in lines(text) {
        read_path(&line, topology, &mut paths, mistakes);
    }
    paths
}

fn read_path(
    line: &Line<'_>,
    topology: &Topology,
    paths: &mut Paths,
    mistakes: &mut Mistakes,
) -> Option<()> {
    let kind = line.words[0];
    let shaped = line.words.get(6) == Some(&":") && line.words.len() >= 10;
    if !shaped || !matches!(kind, "data" | "ack") {
        let text = "a path is `data|ack source destination source-port port bytes : nodes`, with a \
                    switch among the nodes";
        mistakes.add(line.number, text);
        return None;
    }
    let source = line.read(1, "a host's number", mistakes);
    let destination = line.read(2, "a host's number", mistakes);
    let port = line.read(4, "a port", mistakes);
    let bytes = line.read(5, "a number of bytes", mistakes);
    let nodes = (7..line.words.len()).map(|at| line.read(at, "a node's number", mistakes));
    let nodes = nodes.collect::<Vec<Option<u32>>>().into_iter().collect::<Option<Vec<u32>>>()?;
    let key = (source?, destination?, port?, bytes?);
    let data = kind == "data";
    let ends = if data { (key.0, key.1) } else { (key.1, key.0) };
    let stops = stops(&nodes, ends, topology, line.number, mistakes)?;
    let kept = if data { &mut paths.data } else { &mut paths.ack };
    kept.entry(key).or_default().push_back(stops);
    Some(())
}

/// The switches of a path that leads along links from one end to the other.
fn stops(
    nodes: &[u32],
    (from, to): (u32, u32),
    topology: &Topology,
    line: usize,
    mistakes: &mut Mistakes,
) -> Option<Vec<u32>> {
    let [first, stops @ .., last] = nodes else { return None };
    if (*first, *last) != (from, to) {
        let text =
            format!("the path leads from {first} to {last}, but the flow from {from} to {to}");
        mistakes.add(line, text);
        return None;
    }
    if let Some(host) = stops.iter().find(|stop| !topology.switches.contains(stop)) {
        mistakes.add(line, format!("{host} is not a switch; paths lead through switches"));
        return None;
    }
    if let Some(gap) = nodes.windows(2).find(|pair| !topology.joined(pair[0], pair[1])) {
        mistakes.add(line, format!("there is no link from {} to {}", gap[0], gap[1]));
        return None;
    }
    Some(stops.to_vec())
}
