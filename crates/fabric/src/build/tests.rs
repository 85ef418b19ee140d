use crate::diagnostic::{Diagnostic, code};
use crate::load::load_fabric;
use crate::model::{ClassId, Fabric, NodeId, PortId, Threshold, Tier};
use xoff_transport::config::{Congestion, Notification};
use xoff_units::{Bytes, Rate, Ratio, Span};

fn fabric(text: &str) -> Fabric {
    let fabric = Fabric::from_toml(text).unwrap_or_else(|errors| panic!("{errors:#?}"));
    consistent(&fabric);
    fabric
}

/// The invariants of the model.
fn consistent(fabric: &Fabric) {
    for (index, port) in fabric.ports.iter().enumerate() {
        let peer = &fabric.ports[port.peer.index()];
        assert_eq!(peer.peer, PortId(index as u32), "peers point at each other");
        assert_eq!(peer.cable, port.cable);
        assert!(fabric.node_ports(port.node).any(|p| p.index() == index));
    }
    let nodes = fabric.nics.len() + fabric.switches.len();
    let counted: usize = (0..nodes).map(|n| fabric.node_ports(NodeId(n as u32)).count()).sum();
    assert_eq!(counted, fabric.ports.len());
    assert!(fabric.switches.is_sorted_by_key(|s| s.tier));
    for (index, nic) in fabric.nics.iter().enumerate() {
        assert!(fabric.servers[nic.server.index()].nics.contains(&(index as u32)));
        assert!(!nic.ports.is_empty());
    }
}

fn tiers(fabric: &Fabric) -> [usize; 3] {
    [Tier::Leaf, Tier::Spine, Tier::Core]
        .map(|tier| fabric.switches.iter().filter(|s| s.tier == tier).count())
}

fn codes(text: &str) -> Vec<&'static str> {
    load_fabric(text).diagnostics.iter().map(|d| d.code.0).collect()
}

#[test]
fn the_smallest_useful_file() {
    let fabric = fabric(
        "[cluster]\ngpus = 256\nnic = \"connectx-7\"\n[fabric]\nkind = \"rail\"\nleaf = \"tomahawk-5\"\n",
    );
    assert_eq!((fabric.servers.len(), fabric.nics.len()), (32, 256));
    assert_eq!(tiers(&fabric), [8, 2, 0]);
    // NIC 3 of every server hangs on leaf 3.
    for server in &fabric.servers {
        let port = fabric.nics[server.nics.start as usize + 3].ports.start;
        assert!(fabric.port_name(PortId(port)).ends_with("→leaf3"));
    }
    // 32 hosts at 400G, and as much upwards.
    let leaf = &fabric.switches[0];
    let rate = |port: u32| fabric.cable(PortId(port)).rate.bps();
    let total: u64 = leaf.ports.clone().map(rate).sum();
    assert_eq!(total, 2 * 32 * Rate::from_gbps(400).bps());
    assert_eq!(fabric.classes[3].dscp, 26);
    assert_eq!(leaf.dscp_to_class[26], ClassId(3));
    assert_eq!(leaf.dscp_to_class[48], ClassId(6));
    assert_eq!(leaf.dscp_to_class[0], ClassId(0));
}

#[test]
fn a_multi_rail_pod_of_a_51t_leaf_has_512_nics() {
    let text =
        "[cluster]\ngpus = 1024\nnic = 'connectx-7'\n[fabric]\nkind = 'rail'\nleaf = 'tomahawk-5'";
    let fabric = fabric(text);
    // 64 servers x 8 NICs per pod, two pods.
    assert_eq!(tiers(&fabric)[0], 16);
    let down = fabric.switches[0].ports.clone().filter(|&p| {
        fabric.node_switch(fabric.ports[fabric.ports[p as usize].peer.index()].node).is_none()
    });
    assert_eq!(down.count(), 64);
}

#[test]
fn a_fat_tree_counts_as_it_should() {
    for k in [2u32, 4, 8, 16] {
        let fabric = fabric(&format!("[fabric]\nkind = 'fat-tree'\nk = {k}"));
        assert_eq!(fabric.nics.len() as u32, k * k * k / 4);
        assert_eq!(tiers(&fabric).map(|n| n as u32), [k * k / 2, k * k / 2, k * k / 4]);
        assert!(fabric.switches.iter().all(|s| s.ports.len() as u32 == k));
        assert_eq!(fabric.servers[0].gpus, 1);
    }
    let chosen = fabric("[cluster]\nhosts = 100\n[fabric]\nkind = 'fat-tree'");
    assert_eq!(tiers(&chosen)[2], 16);
}

#[test]
fn oversubscription_thins_the_uplinks() {
    let base = "[cluster]\ngpus = 1024\nnic = 'connectx-7'\n[fabric]\nkind = 'leaf-spine'\n\
                leaf = 'tomahawk-5'\nhosts-per-leaf = 32\n";
    let uplinks = |extra: &str| {
        let fabric = fabric(&format!("{base}{extra}"));
        fabric.switches[0].ports.len() - 32
    };
    assert_eq!(uplinks(""), 16);
    assert_eq!(uplinks("oversubscription = '2:1'"), 8);
    assert_eq!(uplinks("oversubscription = '4:1'"), 4);
    assert_eq!(uplinks("spines = 4"), 4);
}

#[test]
fn a_fabric_with_spines_has_two_unless_the_file_says_otherwise() {
    let pod = "[cluster]\ngpus = 64\nnic = 'connectx-7'\n[fabric]\nleaf = 'tomahawk-5'\n";
    let counts = |extra: &str| tiers(&fabric(&format!("{pod}{extra}")));
    // One spine has ports for all of these uplinks.
    assert_eq!(counts("kind = 'rail'"), [8, 2, 0]);
    assert_eq!(counts("kind = 'leaf-spine'\nleaves = 4"), [4, 2, 0]);
    assert_eq!(counts("kind = 'rail'\nhoming = 'dual'"), [16, 2, 0]);
    // Two hosts on a leaf fill one uplink of 800G; there are two all the same.
    assert_eq!(counts("kind = 'leaf-spine'\nhosts-per-leaf = 2"), [32, 2, 0]);
    assert_eq!(counts("kind = 'three-tier'\nhosts-per-leaf = 2\nleaves-per-pod = 8"), [32, 8, 2]);
    let tree = "[cluster]\nhosts = 2\n[fabric]\nkind = 'fat-tree'\n";
    assert_eq!(tiers(&fabric(tree)), [8, 8, 4]);
    // What a file says is built: a number, or a ratio that leaves a leaf one uplink.
    assert_eq!(counts("kind = 'rail'\nspines = 1"), [8, 1, 0]);
    assert_eq!(counts("kind = 'rail'\noversubscription = '4:1'"), [8, 1, 0]);
    assert_eq!(counts("kind = 'rail'\noversubscription = '2:1'"), [8, 2, 0]);
}

/// The one finding of a file.
fn only_finding(text: &str) -> String {
    let found = load_fabric(text).diagnostics;
    let [only] = &found[..] else { panic!("{found:#?}") };
    format!("{only} | {}", &text[only.span.clone()])
}

#[test]
fn spines_that_oversubscribe_say_so_with_the_arithmetic() {
    let pod = "[cluster]\ngpus = 256\nnic = 'connectx-7'\n[fabric]\nkind = 'rail'\n\
               leaf = 'tomahawk-5'\nhosts-per-leaf = 16\n";
    let found = only_finding(&format!("{pod}spines = 2\n"));
    for part in [
        "warning[xoff::oversubscribed]",
        "16 x 400Gbps down (6.4Tbps)",
        "2 x 800Gbps up to the spines (1.6Tbps)",
        "oversubscribed 4:1, and the file asks for 1:1",
        "8 uplinks carry it: `[links.leaf-spine] parallel = 4`",
        "`oversubscription = \"4:1\"` accepts it",
        "| 2",
    ] {
        assert!(found.contains(part), "no `{part}` in {found}");
    }
    let silent = |extra: &str| {
        let text = format!("{pod}{extra}");
        assert_eq!(load_fabric(&text).diagnostics, [], "{text}");
    };
    silent("spines = 2\noversubscription = '4:1'\n");
    silent("spines = 2\n[links.leaf-spine]\nparallel = 4\n");
    silent("spines = 8\n");
    // A ratio that the counts contradict is no excuse.
    let less = "spines = 2\noversubscription = '2:1'\n[links.leaf-spine]\nparallel = 1\n";
    assert!(only_finding(&format!("{pod}{less}")).contains("asks for 2:1"));
    let tiers = "[cluster]\ngpus = 512\nnic = 'connectx-7'\n[fabric]\nkind = 'three-tier'\n\
                 leaf = 'tomahawk-5'\nhosts-per-leaf = 16\nleaves-per-pod = 8\ncores = 8\n\
                 [links.spine-core]\nparallel = 2\n";
    let found = only_finding(tiers);
    assert!(found.contains("up to the cores") && found.contains("oversubscribed 4:1"), "{found}");
}

#[test]
fn three_tiers_have_their_own_oversubscription() {
    let fabric = fabric(
        "[cluster]\ngpus = 2048\nnic = 'connectx-7'\n[fabric]\nkind = 'three-tier'\n\
         leaf = 'tomahawk-5'\nhosts-per-leaf = 64\nleaves-per-pod = 8\nspines = 8\n\
         oversubscription = '1:1'\nspine-oversubscription = '4:1'",
    );
    let [leaves, spines, cores] = tiers(&fabric);
    assert_eq!((leaves, spines), (32, 32));
    // A spine has 8 leaves x 4 links down and a quarter of that up.
    let spine = fabric.switches.iter().find(|s| s.tier == Tier::Spine).unwrap();
    assert_eq!(spine.ports.len(), 32 + 8);
    assert!(cores >= 8 && cores % 8 == 0);
}

#[test]
fn rails_go_up_three_tiers() {
    let fabric = fabric(
        "[cluster]\ngpus = 16384\nnic = 'connectx-7'\n[fabric]\nkind = 'three-tier'\nrails = true\n\
         leaf = 'tomahawk-5'",
    );
    assert_eq!(tiers(&fabric)[0], 256);
    let leaf = |nic: usize| {
        let peer = fabric.ports[fabric.nics[nic].ports.start as usize].peer;
        fabric.node_name(fabric.ports[peer.index()].node).to_owned()
    };
    for server in 0..64 {
        assert_eq!(leaf(server * 8 + 5), "leaf5");
    }
    assert_eq!(leaf(64 * 8 + 5), "leaf13");
    // Full bandwidth on every tier.
    for switch in fabric.switches.iter().filter(|s| s.tier != Tier::Core) {
        let total: u64 = switch.ports.clone().map(|p| fabric.cable(PortId(p)).rate.bps()).sum();
        assert_eq!(total, Rate::from_gbps(51_200).bps(), "{}", switch.name);
    }
}

/// The leaves of a NIC, by name.
fn leaves_of(fabric: &Fabric, nic: usize) -> Vec<String> {
    let peers = fabric.nics[nic].ports.clone().map(|port| fabric.ports[port as usize].peer);
    peers.map(|peer| fabric.node_name(fabric.ports[peer.index()].node).to_owned()).collect()
}

#[test]
fn dual_homed_nics_are_on_two_leaves() {
    let text = "[cluster]\ngpus = 256\nnic = 'connectx-7'\n[fabric]\nkind = 'rail'\n\
                leaf = 'tomahawk-5'\nhosts-per-leaf = 16\nhoming = 'dual'";
    let dual = fabric(text);
    // Two pods of 16 servers, two leaves for each of 8 rails.
    assert_eq!(tiers(&dual)[0], 32);
    for server in 0..16 {
        assert_eq!(leaves_of(&dual, server * 8 + 3), ["leaf6", "leaf7"]);
        assert_eq!(leaves_of(&dual, (server + 16) * 8), ["leaf16", "leaf17"]);
    }
    // Each port has half the NIC's rate, and leaves have as much upwards as downwards.
    let rate = |port: u32| dual.cable(PortId(port)).rate;
    assert!(dual.nics[0].ports.clone().all(|port| rate(port) == Rate::from_gbps(200)));
    for leaf in dual.switches.iter().filter(|switch| switch.tier == Tier::Leaf) {
        let total: u64 = leaf.ports.clone().map(|port| rate(port).bps()).sum();
        assert_eq!(total, 2 * 16 * Rate::from_gbps(200).bps(), "{}", leaf.name);
    }

    let text = "[cluster]\nhosts = 48\n[fabric]\nkind = 'leaf-spine'\nleaf = 'ideal'\n\
                leaves = 6\nspines = 2\nhoming = 'dual'\n[links.host]\nrate = '100Gbps'";
    let dual = fabric(text);
    assert_eq!(tiers(&dual), [6, 2, 0]);
    assert_eq!(leaves_of(&dual, 15), ["leaf0", "leaf1"]);
    assert_eq!(leaves_of(&dual, 16), ["leaf2", "leaf3"]);
    assert_eq!(leaves_of(&dual, 47), ["leaf4", "leaf5"]);
    assert_eq!(dual.cable(PortId(dual.nics[0].ports.start)).rate, Rate::from_gbps(100));
}

#[test]
fn homing_that_cannot_be_is_reported_on_its_line() {
    let problem = |text: &str| {
        let loaded = load_fabric(text);
        let errors: Vec<_> = loaded.diagnostics.iter().filter(|found| found.is_error()).collect();
        let [problem] = errors[..] else { panic!("{:#?}", loaded.diagnostics) };
        assert_eq!(problem.code, code::TOPOLOGY);
        (problem.line(text), problem.message.clone(), problem.help.clone().unwrap_or_default())
    };
    let dual = "[cluster]\ngpus = 32\n[fabric]\nleaf = 'ideal'\nhoming = 'dual'\n";
    for kind in ["single", "fat-tree", "three-tier"] {
        let (line, message, help) = problem(&format!("{dual}kind = '{kind}'"));
        assert_eq!(line, 5, "{message}");
        assert!(message.contains("pairs of leaves"), "{message}");
        assert!(help.contains("`rail`"), "{help}");
    }
    let (line, message, help) = problem(&format!("{dual}kind = 'leaf-spine'\nleaves = 5"));
    assert_eq!(line, 7);
    assert!(message.contains("5 leaves do not come out even for pairs"), "{message}");
    assert!(help.contains("multiple of 2"), "{help}");
    let (_, message, help) = problem(&format!("{dual}kind = 'rail'\nleaves = 8"));
    assert!(message.contains("pairs for 8 rails") && help.contains("multiple of 16"), "{help}");
    assert!(codes(&format!("{dual}kind = 'rail'\nleaves = 0")).contains(&code::IMPOSSIBLE.0));
    let (_, _, help) =
        problem(&format!("{dual}kind = 'leaf-spine'\nleaves = 2\nhosts-per-leaf = 5"));
    assert!(help.contains("14 leaves"), "{help}");
}

#[test]
fn too_few_ports_are_counted() {
    let text = "[cluster]\nhosts = 300\nnic = 'connectx-7'\n[fabric]\nkind = 'single'\nleaf = 'tomahawk-5'";
    let loaded = load_fabric(text);
    let [problem] = &loaded.diagnostics[..] else { panic!("{:#?}", loaded.diagnostics) };
    assert_eq!(problem.code, code::PORTS);
    assert_eq!(problem.line(text), 6);
    assert!(problem.message.contains("needs 300 ports"), "{}", problem.message);
    let text = "[cluster]\nhosts = 130\nnic = 'connectx-7'\n[fabric]\nkind = 'single'\nleaf = 'tomahawk-5'";
    let problem = &load_fabric(text).diagnostics[0];
    assert!(problem.message.contains("needs 65 ports of 800Gbps"), "{}", problem.message);
    let text =
        "[cluster]\nhosts = 2\nnic = 'connectx-8'\n[fabric]\nkind = 'single'\nleaf = 'trident-3'";
    assert!(codes(text).contains(&code::PORTS.0));
}

#[test]
fn the_ns3_profile_says_what_its_rules_say() {
    let fabric = fabric(
        "profile = 'ns3-hpcc'\n[cluster]\nhosts = 32\n[fabric]\nkind = 'leaf-spine'\nleaves = 4\nspines = 4",
    );
    assert_eq!(tiers(&fabric), [4, 4, 0]);
    assert_eq!(fabric.switches[0].ports.len(), 12);
    let port = &fabric.ports[fabric.switches[0].ports.start as usize];
    let class = port.classes[3];
    assert_eq!(class.headroom, Bytes::new(37_500));
    assert_eq!(class.reserved, Bytes::new(4096));
    assert_eq!(class.xon_offset, Bytes::new(3072));
    assert_eq!(class.threshold, Threshold::Dynamic(Ratio::new(1, 8)));
    assert_eq!(class.ecn.unwrap().kmax, Bytes::new(1_600_000));
    assert_eq!(port.pause_response, Span::ZERO);
    assert_eq!((fabric.pause.frame, fabric.pause.quanta), (Bytes::new(43), None));
    assert_eq!(fabric.cables[0].delay, Span::from_us(1));
    assert!(fabric.cables.iter().all(|c| c.rate == Rate::from_gbps(100)));
    assert!((0..8).all(|id| id == 3 || port.classes[id].reserved.is_zero()));
    let nic = &fabric.nics[0];
    assert_eq!(nic.qp.mtu, Bytes::new(1000));
    assert_eq!(nic.qp.notification, Notification::EchoInAck);
    assert_eq!(nic.latency, Span::ZERO);
    let Congestion::Dcqcn(dcqcn) = &nic.qp.congestion else { panic!("dcqcn") };
    assert!(!dcqcn.cut_at_once);
    assert_eq!(fabric.switches[0].buffer, Bytes::new(32 << 20));
    assert!(!fabric.switches[0].cut_through);
}

#[test]
fn a_file_wins_over_its_profile() {
    let fabric = fabric(
        "profile = 'ns3-hpcc'\n[cluster]\nhosts = 4\nnic-rate = '400Gbps'\n[fabric]\nkind = 'single'\n\
         [links]\nlength = '10m'\n[pfc]\nxoff = '100KB'\n[transport.congestion]\nkind = 'none'\n\
         [ecn]\nkmin = '10KB'\nkmax = '50KB'\nscale = false",
    );
    assert_eq!(fabric.cables[0].delay, Span::from_ns(50));
    assert_eq!(fabric.cables[0].rate, Rate::from_gbps(400));
    let class = fabric.ports[fabric.switches[0].ports.start as usize].classes[3];
    assert_eq!(class.threshold, Threshold::Static(Bytes::new(100_000)));
    assert_eq!(fabric.nics[0].qp.congestion, Congestion::None);
    assert_eq!(fabric.nics[0].qp.ack_every, 1);
}

#[test]
fn alpha_follows_the_rate_in_the_ns3_profile() {
    let fabric = fabric(
        "profile = 'ns3-hpcc'\n[cluster]\nhosts = 8\n[fabric]\nleaves = 2\nspines = 1\n\
         [links.leaf-spine]\nrate = '400Gbps'",
    );
    let leaf = &fabric.switches[0];
    let alpha = |port: u32| fabric.ports[port as usize].classes[3].threshold;
    assert_eq!(alpha(leaf.ports.start), Threshold::Dynamic(Ratio::new(1, 8)));
    assert_eq!(alpha(leaf.ports.end - 1), Threshold::Dynamic(Ratio::new(1, 2)));
}

#[test]
fn the_htsim_profile_is_static() {
    let fabric = fabric("profile = 'htsim'\n[fabric]\nkind = 'fat-tree'\nk = 8");
    assert_eq!(fabric.nics.len(), 128);
    let class = fabric.ports[fabric.switches[0].ports.start as usize].classes[3];
    assert_eq!(class.threshold, Threshold::Static(Bytes::new(61_440)));
    assert_eq!(class.xon_offset, Bytes::new(12_288));
    assert_eq!(class.ecn, None);
    let qp = &fabric.nics[0].qp;
    assert_eq!((qp.framing.header, qp.framing.ack), (Bytes::new(64), Bytes::new(64)));
    assert!(qp.framing.pad_last);
    assert_eq!(qp.congestion, Congestion::None);
}

#[test]
fn every_built_in_silicon_builds_without_a_word() {
    for (name, silicon) in crate::catalogue::Catalogue::built_in().silicon {
        for kind in ["single", "leaf-spine", "rail", "fat-tree"] {
            let text = format!(
                "[cluster]\nhosts = 16\nnic = 'generic-100g'\n[fabric]\nkind = '{kind}'\nleaf = '{name}'\n\
                 {}",
                if kind == "leaf-spine" { "leaves = 4" } else { "" }
            );
            let found = load_fabric(&text).diagnostics;
            // Gigabytes of buffer take longer to drain than queue pairs wait, and that is worth a word.
            let deep = silicon.buffer > Bytes::new(1_000_000_000);
            let expected =
                |d: &&Diagnostic| d.code == code::TOPOLOGY || deep && d.code == code::TIMEOUT;
            let found: Vec<_> = found.iter().filter(|d| !expected(d)).collect();
            assert!(found.is_empty(), "{name} {kind}: {found:#?}");
        }
    }
}

#[test]
fn custom_fabrics_are_sorted_and_joined() {
    let fabric = fabric(
        "[fabric]\nkind = 'custom'\n\
         [[node]]\nname = 's1'\nkind = 'switch'\ntier = 'spine'\n\
         [[node]]\nname = 'n0'\nkind = 'nic'\nserver = 'box'\n\
         [[node]]\nname = 'n1'\nkind = 'nic'\n\
         [[node]]\nname = 'n2'\nkind = 'nic'\nserver = 'box'\n\
         [[node]]\nname = 's0'\nkind = 'switch'\nsilicon = 'spectrum-4'\n\
         [[link]]\nends = 'n0 s0'\n[[link]]\nends = 'n1 s0'\nlength = '30m'\n[[link]]\nends = 's0 n2'\n\
         [[link]]\nends = 's0 s1'\nparallel = 2\nloss = 1e-3\n",
    );
    let names: Vec<&str> = fabric.nics.iter().map(|n| n.name.as_str()).collect();
    assert_eq!(names, ["n0", "n2", "n1"]);
    assert_eq!(fabric.servers[0].nics, 0..2);
    assert_eq!(fabric.switches[0].name, "s0");
    assert_eq!(fabric.switches[0].silicon, "spectrum-4");
    assert_eq!(fabric.switches[0].ports.len(), 5);
    assert_eq!(fabric.cables[4].loss, Ratio::new(1, 1000));
}

/// Two sites with one host each, `parallel` links of 400G between them.
fn sites(silicon: &str, length: &str, parallel: u32, more: &str) -> String {
    format!(
        "[cluster]\nnic = 'connectx-7'\n[fabric]\nkind = 'custom'\nleaf = '{silicon}'\n\
         [[node]]\nname = 'a'\nkind = 'nic'\n[[node]]\nname = 'b'\nkind = 'nic'\n\
         [[node]]\nname = 'here'\nkind = 'switch'\n[[node]]\nname = 'there'\nkind = 'switch'\n\
         [[link]]\nends = 'a here'\n[[link]]\nends = 'b there'\n\
         [[link]]\nends = 'here there'\nlength = '{length}'\nparallel = {parallel}\n{more}"
    )
}

#[test]
fn headroom_between_sites_is_a_round_trip_at_the_links_rate() {
    // 5 ns/m both ways at 50 GB/s: 500 bytes for each metre.
    for (length, least) in [("10km", 5_000_000), ("40km", 20_000_000), ("100km", 50_000_000)] {
        let fabric = fabric(&sites("jericho-3-ai", length, 4, ""));
        let here = fabric.switches[0].ports.clone().map(|port| &fabric.ports[port as usize]);
        let most = here.map(|port| port.classes[3].headroom.get()).max().unwrap();
        assert!((least..least * 105 / 100).contains(&most), "{length}: {most}");
    }
    let media = |length: &str| {
        let fabric = fabric(&sites("jericho-3-ai", length, 1, ""));
        fabric.cables[2].media.clone()
    };
    assert_eq!(media("2km"), "400g-fr4");
    assert_eq!(media("10km"), "400g-lr4");
    assert_eq!(media("40km"), "400g-er8");
    assert_eq!(media("80km"), "400g-zr");
    assert_eq!(media("300km"), "400g-zr+");
}

#[test]
fn a_distance_that_no_buffer_holds_is_refused_with_what_would_do() {
    let text = sites("tomahawk-5", "40km", 4, "");
    let loaded = load_fabric(&text);
    assert!(loaded.value.is_none());
    let error = loaded.diagnostics.iter().find(|found| found.is_error()).unwrap();
    assert_eq!((error.code, &text[error.span.clone()]), (code::HEADROOM, "'40km'"));
    let said = error.to_string();
    for part in [
        "`here→there` alone needs",
        "400Gbps over 40km with 21MB in flight",
        "(tomahawk-5) has 165MB",
        "`jericho-2c-plus` has 8GB",
        "cables of less than 20km, or links of less than 200Gbps",
        "`lossless = false`",
        "`recovery = \"selective-repeat\"`",
    ] {
        assert!(said.contains(part), "no `{part}` in {said}");
    }
    // Two classes need twice as much.
    let two = load_fabric(&sites("tomahawk-5", "40km", 4, "[[class]]\nid = 4\nlossless = true\n"));
    assert!(two.diagnostics[0].to_string().contains("fewer than 2 lossless classes"));
    // What the message proposes is accepted.
    for cured in [
        sites("jericho-2c-plus", "40km", 4, ""),
        sites("tomahawk-5", "19km", 4, ""),
        sites("tomahawk-5", "40km", 4, "rate = '180Gbps'\n"),
        sites("tomahawk-5", "40km", 4, "[[class]]\nid = 3\nlossless = false\n"),
    ] {
        let found = load_fabric(&cured).diagnostics;
        assert!(!found.iter().any(|found| found.is_error()), "{found:#?}\n{cured}");
    }
}

#[test]
fn hosts_are_limited_where_a_file_says_so() {
    let base = "[cluster]\ngpus = 16\nnic = 'connectx-7'\n[fabric]\nleaf = 'tomahawk-5'\n\
                kind = 'single'\n";
    let limits = |more: &str| {
        let loaded = load_fabric(&format!("{base}{more}"));
        let fabric = loaded.value.unwrap_or_else(|| panic!("{:#?}", loaded.diagnostics)).fabric;
        let nics = fabric.nics.iter();
        nics.map(|nic| nic.receive.map(|limit| limit.rate.bps() / 1_000_000_000))
            .collect::<Vec<_>>()
    };
    assert_eq!(limits(""), [None; 16]);
    assert_eq!(limits("[nic.pcie]\nslot = 'gen5 x16'\n"), [None; 16]);
    assert_eq!(limits("[nic.pcie]\nslot = 'gen5 x8'\n"), [Some(230); 16]);
    assert_eq!(limits("[nic.pcie]\niommu = 'passthrough'\n"), [None; 16]);
    assert_eq!(limits("[nic.pcie]\niommu = true\niommu-page = '2MiB'\n"), [None; 16]);
    let some = limits("[[host]]\nservers = ['server1']\npcie = { slot = 'gen4 x16' }\n");
    assert_eq!((&some[..8], &some[8..]), (&[None; 8][..], &[Some(230); 8][..]));
    // An entry keeps what is said for all, and a slower receive side stays the slower one.
    let both = "[nic.pcie]\nrelaxed-ordering = false\n[nic.receive]\nrate = '100Gbps'\n\
                [[host]]\nnics = ['server0-nic3']\npcie = { slot = 'gen3 x8' }\n";
    let both = limits(both);
    assert_eq!((both[2], both[3]), (Some(100), Some(57)));
    let found = only_finding(&format!("{base}[nic.pcie]\nslot = 'gen4 x16'\n"));
    for part in [
        "xoff::host",
        "carries 252.1Gbps and of these 230.5Gbps into memory",
        "gen5 x16 would carry 400Gbps",
        "| 'gen4 x16'",
    ] {
        assert!(found.contains(part), "no `{part}` in {found}");
    }
    for (wrong, expected) in [
        ("[nic.pcie]\nslot = 'gen9 x16'\n", "is not a PCIe slot"),
        ("[nic.pcie]\nmax-payload = '300B'\n", "`max-payload` cannot be 300B"),
        ("[[host]]\npcie = { slot = 'gen4 x16' }\n", "which servers differ"),
        ("[[host]]\nservers = ['server7']\n", "there is no server `server7`"),
    ] {
        let found = load_fabric(&format!("{base}{wrong}")).diagnostics;
        assert!(found.iter().any(|found| found.to_string().contains(expected)), "{found:#?}");
    }
}
