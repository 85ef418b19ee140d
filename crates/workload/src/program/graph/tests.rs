use super::*;
use proptest::prelude::*;

fn compute(us: u64) -> Work {
    Work::Compute { gpu: GpuId(0), span: Span::from_us(us) }
}

fn started(graph: &mut Graph) -> Vec<Action> {
    let mut out = Vec::new();
    graph.start(&mut out);
    out
}

fn token(action: &Action) -> Option<Token> {
    match *action {
        Action::Network { token, .. } | Action::Nvlink { token, .. } => Some(token),
        Action::Wait { token, .. } | Action::Call { token, .. } => Some(token),
        Action::Begins { .. } | Action::Ends { .. } | Action::Finished => None,
    }
}

#[test]
fn a_diamond_runs_in_its_order() {
    let mut builder = GraphBuilder::new();
    let first = builder.node(compute(1));
    let bytes = Bytes::new(5);
    let nics = (NicId(0), NicId(1));
    let sent = Work::Network { from: nics.0, to: nics.1, queue: Queue(0), bytes };
    let left = builder.after(sent, &[first]);
    let right =
        builder.after(Work::Nvlink { from: GpuId(0), to: GpuId(1), bytes }, &[first, first]);
    let join = builder.after(Work::Join, &[left, right]);
    builder.after(compute(2), &[join]);
    let mut graph = builder.build().unwrap();
    assert_eq!(graph.len(), 5);
    let mut out = started(&mut graph);
    assert_eq!(out.len(), 1);
    let mut next = |graph: &mut Graph, index: usize| {
        let done = token(&out[index]).unwrap();
        out.clear();
        graph.done(done, &mut out);
        out.clone()
    };
    let both = next(&mut graph, 0);
    assert!(matches!(both[..], [Action::Network { .. }, Action::Nvlink { .. }]), "{both:?}");
    let mut out = Vec::new();
    graph.done(token(&both[1]).unwrap(), &mut out);
    assert_eq!(out, []);
    graph.done(token(&both[0]).unwrap(), &mut out);
    assert!(matches!(out[..], [Action::Wait { .. }]));
    let last = token(&out[0]).unwrap();
    out.clear();
    graph.done(last, &mut out);
    assert_eq!(out, [Action::Finished]);
}

#[test]
fn nothing_takes_no_time() {
    assert_eq!(started(&mut GraphBuilder::new().build().unwrap()), [Action::Finished]);
    // A hundred thousand joins in a row, which recursion would not survive.
    let mut builder = GraphBuilder::new();
    let mut last = builder.node(compute(0));
    for _ in 0..100_000 {
        last = builder.after(Work::Join, &[last]);
    }
    assert_eq!(started(&mut builder.build().unwrap()), [Action::Finished]);
}

#[test]
fn what_cannot_run_is_refused_with_its_reason() {
    let mut builder = GraphBuilder::new();
    let nodes: Vec<NodeId> = (0..5).map(|_| builder.node(Work::Join)).collect();
    builder.waits(nodes[1], nodes[0]);
    let good = builder.clone();
    for (node, before) in [(1, 3), (3, 2), (2, 1), (4, 3)] {
        builder.waits(nodes[node], nodes[before]);
    }
    let Err(GraphError::Cycle(cycle)) = builder.build() else { panic!("a cycle passed") };
    let mut cycle: Vec<u32> = cycle.iter().map(|node| node.0).collect();
    cycle.sort_unstable();
    assert_eq!(cycle, [1, 2, 3]);

    let mut builder = good.clone();
    builder.waits(nodes[2], NodeId(5));
    let error = builder.build().unwrap_err();
    assert_eq!(error, GraphError::Dangling { node: 2, missing: 5, nodes: 5 });
    assert_eq!(error.to_string(), "node 2 waits for node 5, and there are 5 nodes");
    let mut builder = good.clone();
    builder.waits(NodeId(u32::MAX), nodes[0]);
    assert!(matches!(builder.build(), Err(GraphError::Dangling { .. })));

    let mut builder = good.clone();
    builder.waits(nodes[2], nodes[2]);
    assert_eq!(builder.build().unwrap_err(), GraphError::Cycle(vec![NodeId(2)]));

    let mut builder = good;
    builder.node(Work::Nvlink { from: GpuId(1), to: GpuId(1), bytes: Bytes::ZERO });
    assert_eq!(builder.build().unwrap_err(), GraphError::ToItself { node: 5 });
}

#[test]
fn a_long_cycle_is_shown_in_short() {
    let mut builder = GraphBuilder::new();
    let nodes: Vec<NodeId> = (0..1_000).map(|_| builder.node(Work::Join)).collect();
    for (place, &node) in nodes.iter().enumerate() {
        builder.waits(node, nodes[(place + 1) % nodes.len()]);
    }
    let said = builder.build().unwrap_err().to_string();
    assert!(said.contains("(1000 nodes)") && said.len() < 200, "{said}");
}

proptest! {
    /// Whatever comes back first, every node runs once, and after all that it waits for.
    #[test]
    fn every_node_runs_once_in_any_order_of_completion(
        count in 1u32..60, edges in prop::collection::vec((any::<u32>(), any::<u32>()), 0..200),
        kinds in prop::collection::vec(0u64..3, 60), picks in prop::collection::vec(any::<u32>(), 60),
    ) {
        let mut builder = GraphBuilder::new();
        for node in 0..count {
            builder.node(compute(kinds[node as usize]));
        }
        let edges: Vec<(u32, u32)> = edges
            .into_iter()
            .map(|(a, b)| (a % count, b % count))
            .filter(|(a, b)| a != b)
            .map(|(a, b)| (a.max(b), a.min(b)))
            .collect();
        edges.iter().for_each(|&(node, before)| builder.waits(NodeId(node), NodeId(before)));
        let mut graph = builder.build().unwrap();
        let mut pending = started(&mut graph);
        let mut done = vec![false; count as usize];
        let mut picks = picks.into_iter().cycle();
        let timed = |node: usize| kinds[node] > 0;
        while pending != [Action::Finished] {
            prop_assert!(!pending.contains(&Action::Finished));
            let pick = picks.next().unwrap() as usize % pending.len();
            let token = token(&pending.swap_remove(pick)).unwrap();
            let node = token.index();
            prop_assert!(!std::mem::replace(&mut done[node], true));
            for &(after, before) in &edges {
                let wrong = after as usize == node && timed(before as usize);
                prop_assert!(!wrong || done[before as usize]);
            }
            graph.done(token, &mut pending);
        }
        prop_assert!((0..count as usize).all(|node| done[node] == timed(node)));
    }
}
