use super::*;
use crate::model::Tier;
use proptest::prelude::*;

fn fabric(text: &str) -> Fabric {
    Fabric::from_toml(text).unwrap_or_else(|errors| panic!("{errors:#?}"))
}

fn fat_tree(k: u32) -> Fabric {
    fabric(&format!("[fabric]\nkind = 'fat-tree'\nk = {k}\nleaf = 'ideal'"))
}

/// Every pair is connected by a path that visits no node twice and as many hops as stated.
fn hops(fabric: &Fabric, routes: &Routes, a: u32, b: u32) -> usize {
    let path = routes.shortest_path(fabric, NicId(a), NicId(b)).expect("a path");
    let mut nodes: Vec<NodeId> = path.iter().map(|p| fabric.ports[p.index()].node).collect();
    nodes.sort_unstable();
    nodes.dedup();
    assert_eq!(nodes.len(), path.len(), "a node is visited twice");
    path.len()
}

#[test]
fn a_fat_tree_has_all_its_paths() {
    let fabric = fat_tree(8);
    let routes = Routes::new(&fabric);
    // Same edge, same pod, other pod: 1, k/2 and (k/2)^2 paths over 2, 4 and 6 links.
    for (to, links, choices) in [(1, 2, 1), (4, 4, 4), (127, 6, 16)] {
        assert_eq!(hops(&fabric, &routes, 0, to), links);
        assert_eq!(routes.path_choices(&fabric, NicId(0), NicId(to)), choices);
    }
}

#[test]
fn routes_to_a_few_are_the_same_routes() {
    let fabric = fat_tree(8);
    let all = Routes::new(&fabric);
    let few = Routes::towards(&fabric, &[NicId(5), NicId(100), NicId(101)]);
    let distance = distances(&fabric, NicId(5));
    for switch in (0..fabric.switches.len() as u32).map(SwitchId) {
        for nic in [5, 100, 101].map(NicId) {
            assert_eq!(few.candidates(switch, nic), all.candidates(switch, nic));
        }
        assert!(few.candidates(switch, NicId(60)).is_empty());
    }
    for nic in (0..128).filter(|nic| *nic != 5) {
        assert_eq!(distance(NicId(nic)), Some(hops(&fabric, &all, 5, nic)));
    }
}

#[test]
fn parallel_links_are_choices() {
    let fabric = fabric(
        "[cluster]\nhosts = 8\n[fabric]\nleaves = 2\nspines = 2\n[links.leaf-spine]\nparallel = 3",
    );
    let routes = Routes::new(&fabric);
    assert_eq!(routes.candidates(SwitchId(0), NicId(7)).len(), 6);
    // Three ways up over each spine, three ways down.
    assert_eq!(routes.path_choices(&fabric, NicId(0), NicId(7)), 18);
    assert_eq!(routes.path_choices(&fabric, NicId(0), NicId(1)), 1);
}

#[test]
fn static_routes_win_and_may_loop() {
    let fabric = fabric(
        "[cluster]\nhosts = 4\n[fabric]\nleaves = 2\nspines = 2\n\
         [[route]]\nat = 'leaf0'\nto = 'server3'\nvia = 'spine1'\n\
         [[route]]\nat = 'spine1'\nto = 'server3-nic0'\nvia = 'leaf0'",
    );
    let routes = Routes::new(&fabric);
    let [port] = routes.candidates(SwitchId(0), NicId(3)) else { panic!("one port") };
    assert_eq!(fabric.port_name(*port), "leaf0→spine1");
    assert_eq!(routes.candidates(SwitchId(0), NicId(2)).len(), 2);
    assert_eq!(routes.shortest_path(&fabric, NicId(0), NicId(3)), None);
    assert!(routes.shortest_path(&fabric, NicId(1), NicId(2)).is_some());
}

#[test]
fn a_nic_on_two_switches_is_reached_over_both() {
    let fabric = fabric(
        "[fabric]\nkind = 'custom'\nleaf = 'ideal'\n\
         [[node]]\nname = 'a'\nkind = 'nic'\n[[node]]\nname = 'b'\nkind = 'nic'\n\
         [[node]]\nname = 'x'\nkind = 'switch'\n[[node]]\nname = 'y'\nkind = 'switch'\n\
         [[node]]\nname = 'top'\nkind = 'switch'\ntier = 'spine'\n\
         [[link]]\nends = 'a x'\n[[link]]\nends = 'a y'\n[[link]]\nends = 'b top'\n\
         [[link]]\nends = 'x top'\n[[link]]\nends = 'y top'",
    );
    let routes = Routes::new(&fabric);
    let top = SwitchId(2);
    assert_eq!(routes.candidates(top, NicId(0)).len(), 2);
    assert_eq!(routes.candidates(SwitchId(0), NicId(0)).len(), 1);
    assert_eq!(routes.candidates(SwitchId(1), NicId(0)).len(), 1);
    assert_eq!(routes.path_choices(&fabric, NicId(1), NicId(0)), 2);
}

#[test]
fn unreachable_has_no_candidates() {
    // A switch that nothing is plugged into.
    let mut model = (*fat_tree(4)).clone();
    let mut lonely = model.switches[0].clone();
    lonely.ports = model.ports.len() as u32..model.ports.len() as u32;
    model.switches.push(lonely);
    let fabric = Fabric::new(model);
    let routes = Routes::new(&fabric);
    let last = SwitchId(fabric.switches.len() as u32 - 1);
    assert!(routes.candidates(last, NicId(0)).is_empty());
}

#[test]
fn ten_thousand_nics_fit() {
    let fabric = fabric(
        "[cluster]\ngpus = 16384\nnic = 'connectx-7'\n[fabric]\nkind = 'three-tier'\n\
         leaf = 'tomahawk-5'",
    );
    let routes = Routes::new(&fabric);
    assert!(routes.table.len() + routes.ports.len() < 20_000_000);
    assert_eq!(hops(&fabric, &routes, 0, 16_383), 6);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn every_candidate_leads_closer(k in 1u32..5, a: u32, b: u32) {
        let fabric = fat_tree(2 * k);
        let nics = fabric.nics.len() as u32;
        let (a, b) = (NicId(a % nics), NicId(b % nics));
        let routes = Routes::new(&fabric);
        prop_assume!(a != b);
        let length = |from: NicId| routes.shortest_path(&fabric, from, b).map(|p| p.len());
        prop_assert!(length(a).is_some());
        for (index, switch) in fabric.switches.iter().enumerate() {
            let candidates = routes.candidates(SwitchId(index as u32), b);
            prop_assert!(!candidates.is_empty());
            prop_assert!(candidates.windows(2).all(|w| w[0] < w[1]), "deterministic order");
            for port in candidates {
                prop_assert!(switch.ports.contains(&port.0));
                let peer = fabric.ports[fabric.ports[port.index()].peer.index()].node;
                // Up and then down, never down and then up.
                if let Some(next) = fabric.node_switch(peer)
                    && switch.tier == Tier::Core
                {
                    prop_assert_eq!(fabric.switches[next.index()].tier, Tier::Spine);
                }
            }
        }
    }
}

/// The cables between two nodes.
fn dead(fabric: &Fabric, links: &[&str]) -> BTreeSet<CableId> {
    let names = crate::names::Names::of(fabric);
    links.iter().flat_map(|link| names.cables(link).unwrap()).collect()
}

fn neighbours(fabric: &Fabric, routes: &Routes, switch: &str, nic: u32) -> Vec<String> {
    let switch = crate::names::Names::of(fabric).switch(switch).unwrap();
    let ports = routes.candidates(switch, NicId(nic)).iter();
    let peers = ports.map(|port| fabric.ports[fabric.ports[port.index()].peer.index()].node);
    peers.map(|node| fabric.node_name(node).to_owned()).collect()
}

#[test]
fn a_spine_without_its_leaf_does_not_send_packets_back_up() {
    let fabric = fabric("[cluster]\nhosts = 9\n[fabric]\nleaves = 3\nspines = 3");
    let routes = Routes::around(&fabric, &dead(&fabric, &["leaf0 spine1"]));
    assert_eq!(neighbours(&fabric, &routes, "leaf1", 0), ["spine0", "spine2"]);
    assert_eq!(neighbours(&fabric, &routes, "leaf0", 8), ["spine0", "spine2"]);
    assert_eq!(neighbours(&fabric, &routes, "leaf1", 8), ["spine0", "spine1", "spine2"]);
    assert_eq!(neighbours(&fabric, &routes, "spine1", 0), [""; 0]);
}

#[test]
fn the_long_way_round_is_taken_where_it_is_the_only_one() {
    let mut text = "[fabric]\nkind = 'custom'\nleaf = 'ideal'\n".to_owned();
    for n in 0..4 {
        text += &format!(
            "[[node]]\nname = 's{n}'\nkind = 'switch'\n[[node]]\nname = 'h{n}'\nkind = 'nic'\n\
             [[link]]\nends = 'h{n} s{n}'\n[[link]]\nends = 's{n} s{}'\n",
            (n + 1) % 4
        );
    }
    let fabric = fabric(&text);
    assert_eq!(hops(&fabric, &Routes::new(&fabric), 0, 1), 3);
    let routes = Routes::around(&fabric, &dead(&fabric, &["s0 s1"]));
    assert_eq!(hops(&fabric, &routes, 0, 1), 5);
    let cut = Routes::around(&fabric, &dead(&fabric, &["s0 s1", "s2 s3"]));
    assert_eq!(cut.shortest_path(&fabric, NicId(0), NicId(1)), None);
    assert_eq!(hops(&fabric, &cut, 0, 3), 3);
}

#[test]
fn a_switch_by_itself_uses_what_is_left() {
    let fabric = fabric(
        "[cluster]\nhosts = 8\n[fabric]\nleaf = 'ideal'\nleaves = 4\nspines = 2\nhoming = 'dual'",
    );
    let dead = dead(&fabric, &["server0-nic0 leaf0", "leaf0 spine1"]);
    let routes = Routes::new(&fabric).without(&fabric, &dead);
    let next = |switch: &str, nic| neighbours(&fabric, &routes, switch, nic);
    // No way down from here, though there is one over the spines; nothing else has changed.
    assert_eq!(next("leaf0", 0), [""; 0]);
    assert_eq!(next("leaf0", 1), ["server1-nic0"]);
    assert_eq!(next("leaf1", 0), ["server0-nic0"]);
    assert_eq!(next("leaf0", 4), ["spine0"]);
    assert_eq!(next("spine0", 0), ["leaf0", "leaf1"]);
    assert_eq!(next("spine1", 1), ["leaf1"]);
    // With the whole fabric in mind, there is.
    let around = Routes::around(&fabric, &dead);
    assert_eq!(neighbours(&fabric, &around, "leaf0", 0), ["spine0"]);
    assert_eq!(neighbours(&fabric, &around, "spine0", 0), ["leaf1"]);
}

proptest! {
    /// Whatever dies, what is still joined has a way, no way uses a dead cable, and without deaths
    /// the routes are the usual ones.
    #[test]
    fn routes_around_the_dead_lead_to_the_living(
        leaves in 2u32..5, spines in 1u32..5, deaths in prop::collection::btree_set(0u32..24, 0..8),
    ) {
        let fabric = fabric(&format!("[cluster]\nhosts = {}\n[fabric]\nleaf = 'ideal'\n\
            leaves = {leaves}\nhosts-per-leaf = 2\nspines = {spines}", leaves * 2));
        let between = |c: &CableId| fabric.ports.iter().filter(|p| p.cable == *c)
            .all(|p| fabric.node_switch(p.node).is_some());
        let cables: Vec<CableId> =
            (0..fabric.cables.len() as u32).map(CableId).filter(between).collect();
        let dead: BTreeSet<CableId> =
            deaths.iter().filter_map(|d| cables.get(*d as usize)).copied().collect();
        let (usual, routes) = (Routes::new(&fabric), Routes::around(&fabric, &dead));
        let alive = Graph::of(&fabric, &dead);
        let mut found = Found::of(fabric.switches.len());
        for to in 0..fabric.nics.len() as u32 {
            let leaf = SwitchId(to / 2);
            alive.search(&[leaf], &mut found);
            for from in 0..leaves {
                let ports = routes.candidates(SwitchId(from), NicId(to));
                if dead.is_empty() {
                    prop_assert_eq!(ports, usual.candidates(SwitchId(from), NicId(to)));
                }
                prop_assert!(ports.iter().all(|p| !dead.contains(&fabric.ports[p.index()].cable)));
                prop_assert_eq!(ports.is_empty(), found.distance[from as usize] == u32::MAX);
            }
            for from in 0..fabric.nics.len() as u32 {
                let joined = found.distance[from as usize / 2] != u32::MAX;
                let path = routes.shortest_path(&fabric, NicId(from), NicId(to));
                prop_assert_eq!(path.is_some(), joined, "{} to {}", from, to);
            }
        }
    }
}
