//! Settings of a fabric file that must not only be read: what each does to traffic.

use crate::scene::{Scene, near};

/// Four servers of 4 NICs, a server per leaf: all traffic between servers crosses four spines by hash.
const ECMP: &str = "[cluster]\ngpus = 16\ngpus-per-server = 4\nnic = 'connectx-7'\n\
                    [fabric]\nkind = 'leaf-spine'\nleaf = 'tomahawk-4'\nhosts-per-leaf = 4\nspines = 4\n";

const COLLECTIVE: &str = "kind = 'all-reduce'\nsize = '16MiB'\nalgorithm = 'ring'\ncost = 'none'\n";
const STEP: &str = "kind = 'training-step'\n\
    model = { layers = 4, hidden = 512, heads = 8, ffn = 1024, vocabulary = 8192 }\nsequence = 1024\n\
    micro-batches = 4\ntp = 1\npp = 4\ndp = 4\n";
const CACHE: &str = "kind = 'kv-cache'\nprefill = [0, 1]\ndecode = [2, 3]\ntokens = 100\n\
    bytes-per-token = '40KB'\nrequests-per-second = 20000\nrequests = 20\n";
const FLOWS: &str = "kind = 'permutation'\nsize = '4MB'\n";

/// Hash of a run, and connections that it used.
fn run(fabric: &str, workload: &str) -> u64 {
    let scenario = format!("fabric = ''\n[[workload]]\n{workload}");
    Scene::of("settings", &scenario, fabric).run().report.hash
}

#[test]
fn connections_have_the_queue_pairs_of_the_fabric_unless_a_workload_says_otherwise() {
    let four = format!("{ECMP}[transport]\nqueue-pairs = 4\n");
    for workload in [COLLECTIVE, STEP, CACHE] {
        let own = run(ECMP, &format!("{workload}qps = 4\n"));
        assert_ne!(run(ECMP, workload), own, "one and four are not the same: {workload}");
        assert_eq!(run(&four, workload), own, "{workload}");
        assert_eq!(run(&four, &format!("{workload}qps = 1\n")), run(ECMP, workload));
    }
    assert_eq!(run(&four, FLOWS), run(ECMP, FLOWS), "a flow has one queue pair");
}

/// More queue pairs find more of the paths: the mean over seeds, since a hash decides.
#[test]
fn more_queue_pairs_spread_an_all_reduce_better() {
    let time = |pairs: u32| {
        let fabric = format!("{ECMP}[transport]\nqueue-pairs = {pairs}\n");
        let scenario = format!("fabric = ''\n[[workload]]\n{COLLECTIVE}");
        let scene = Scene::of("queue pairs", &scenario, &fabric);
        let total: f64 = (1..=5)
            .map(|seed| {
                let run = scene.run_seeded(seed);
                run.report.jobs[0].runs[0].time().expect("an end").as_us_f64()
            })
            .sum();
        total / 5.0
    };
    let (one, sixteen) = (time(1), time(16));
    println!("one queue pair {one:.0} us, sixteen {sixteen:.0} us");
    assert!(sixteen < 0.9 * one, "{sixteen} us against {one} us");
}

/// Three leaves of four hosts on one spine, by one link each: what two leaves send to the third meets at the spine.
const NARROW: &str = "[cluster]\nhosts = 12\nnic = 'connectx-7'\n\
    [fabric]\nkind = 'leaf-spine'\nleaf = 'tomahawk-4'\nhosts-per-leaf = 4\nspines = 1\n\
    oversubscription = '4:1'\n[links.leaf-spine]\nrate = '400Gbps'\nparallel = 1\n";

/// Both leaves to the third, with lossless drops allowed.
const MEET: &str = "fabric = ''\n[allow]\nlossless-drops = true\nunfinished = true\n\
    [[workload]]\nkind = 'flows'\nlist = [\n\
    { source = 'server0', destination = 'server8', size = '4MB' },\n\
    { source = 'server1', destination = 'server9', size = '4MB' },\n\
    { source = 'server4', destination = 'server10', size = '4MB' },\n\
    { source = 'server5', destination = 'server11', size = '4MB' }]\n";

fn meet(extra: &str) -> Scene {
    Scene::of("narrow", MEET, &format!("{NARROW}{extra}"))
}

#[test]
fn switches_without_marking_mark_nothing() {
    let marked = |extra: &str| {
        let scene = meet(extra);
        let run = scene.run();
        ["spine0→leaf2", "leaf0→spine0"].map(|port| run.data(port).marked)
    };
    let [spine, leaf] = marked("");
    assert!(spine > 0 && leaf > 0, "{spine} at the spine, {leaf} at the leaf");
    for off in [
        "[switch.spine.ecn]\nenabled = false\n",
        "[[device]]\nname = 'spine0'\necn = { enabled = false }\n",
        "[[switch.spine.class]]\nid = 3\necn = { enabled = false }\n",
    ] {
        let [spine, leaf] = marked(off);
        assert!(spine == 0 && leaf > 0, "{off}: {spine} at the spine, {leaf} at the leaf");
    }
}

#[test]
fn a_switch_without_pfc_neither_pauses_nor_obeys() {
    let blind = "[transport.congestion]\nkind = 'none'\n";
    let small = "[[device]]\nname = 'spine0'\npfc = { xoff = '500KB' }\n[[device.class]]\nid = 3\negress-delay = '10us'\n";
    let with = meet(&format!("{blind}{small}"));
    let run = with.run();
    assert_eq!(run.data("spine0→leaf2").dropped_packets, 0);
    assert!(run.data("spine0→leaf0").xoff_sent > 0);
    let without = meet(&format!("{blind}[switch.spine.pfc]\nenabled = false\n{small}"));
    let run = without.run();
    assert!(run.data("spine0→leaf2").dropped_packets > 0, "10 us of queue overflow");
    assert_eq!(run.data("spine0→leaf0").xoff_sent, 0);
    // A receiver that takes nothing in pauses its leaf, which pauses the spine; that does not listen.
    let slow = "[nic.receive]\nrate = '50Gbps'\n";
    let early = "[[device]]\nname = 'leaf2'\npfc = { xoff = '300KB' }\n";
    let deaf = meet(&format!("{blind}{slow}[switch.spine.pfc]\nenabled = false\n{early}"));
    let run = deaf.run();
    assert!(run.data("leaf2→spine0").xoff_sent > 0);
    assert_eq!(run.data("spine0→leaf2").pauses_received, 0);
    assert_eq!(run.data("spine0→leaf2").paused, xoff_units::Span::ZERO);
}

#[test]
fn a_switch_with_another_map_queues_elsewhere() {
    let scene = meet("[[device]]\nname = 'spine0'\n[[device.class]]\nid = 3\ndscp = [24]\n");
    let run = scene.run();
    let sent = |port: &str| {
        let classes = &run.report.ports[scene.port(port).index()];
        [0, 3].map(|class: usize| classes[class].tx_packets)
    };
    let [best_effort, rdma] = sent("spine0→leaf2");
    assert!(best_effort > 3_000 && rdma == 0, "{best_effort} and {rdma} packets");
    let [best_effort, rdma] = sent("leaf0→spine0");
    assert!(best_effort == 0 && rdma > 1_500, "{best_effort} and {rdma} packets");
}

#[test]
fn weights_of_one_switch_share_its_links() {
    let flow = |class: u8, from: u32| {
        format!(
            "[[workload]]\nkind = 'flows'\nclass = {class}\n\
             list = [{{ source = 'server{from}', destination = 'server2', size = '20MB' }}]\n"
        )
    };
    let share = |rules: &str| {
        let scenario = format!("fabric = ''\n{}{}", flow(3, 0), flow(4, 1));
        let fabric = format!(
            "[cluster]\nhosts = 3\nnic = 'connectx-7'\n[fabric]\nkind = 'single'\n\
             [transport.congestion]\nkind = 'none'\n[[class]]\nid = 4\nlossless = true\n\
             scheduling = 50\n{rules}"
        );
        let scene = Scene::of("weights", &scenario, &fabric);
        let run = scene.run_until(1, Some(xoff_units::Span::from_us(400)));
        let classes = &run.report.ports[scene.port("leaf0→server2-nic0").index()];
        classes[3].tx_bytes as f64 / classes[4].tx_bytes as f64
    };
    near("equal weights", share(""), 1.0, 0.02);
    let local = "[[device]]\nname = 'leaf0'\n[[device.class]]\nid = 3\nscheduling = 75\n\
                 [[device.class]]\nid = 4\nscheduling = 25\n";
    near("three to one", share(local), 3.0, 0.03);
}

/// Two pairs of hosts on one switch.
fn pairs(rules: &str) -> Scene {
    let scenario = "fabric = ''\n[[workload]]\nkind = 'flows'\nlist = [\n\
        { source = 'server0', destination = 'server1', size = '80MB' },\n\
        { source = 'server2', destination = 'server3', size = '80MB' }]\n";
    let fabric = "[cluster]\nhosts = 4\nnic = 'connectx-7'\n[fabric]\nkind = 'single'\n\
                  [transport.congestion]\nkind = 'none'\n";
    Scene::of("pairs", scenario, &format!("{fabric}{rules}"))
}

/// Goodput of both pairs, in Gb/s.
fn goodput(rules: &str) -> [f64; 2] {
    let scene = pairs(rules);
    let run = scene.run();
    [("server0-nic0", "server1-nic0"), ("server2-nic0", "server3-nic0")]
        .map(|(from, to)| 640e6 / run.completion(from, to).as_us_f64() / 1e3)
}

#[test]
fn a_nic_takes_in_what_the_file_says_of_it() {
    let [one, other] = goodput("[[host]]\nservers = ['server1']\nreceive = { rate = '100Gbps' }\n");
    // 4,096 of 4,158 bytes that a NIC takes in are payload; what the buffer holds at the end counts, too.
    near("the slow NIC", one, 100.0 * 4096.0 / 4158.0, 0.02);
    assert!(other > 370.0, "{other} Gb/s between the others");
}

#[test]
fn a_packet_rate_limits_senders_and_receivers() {
    // A million packets of 4 KiB a second, of which acknowledgements take some at the sender's peer.
    for end in ["server0", "server1"] {
        let rules = format!("[[host]]\nservers = ['{end}']\npacket-rate = '1Mpps'\n");
        let [one, other] = goodput(&rules);
        near(&format!("packets of {end}"), one, 4096.0 * 8.0 / 1e3, 0.15);
        assert!(other > 370.0, "{other} Gb/s between the others");
    }
    let fast = goodput("[nic]\npacket-rate = '200Mpps'\n");
    assert!(fast.iter().all(|&rate| rate > 370.0), "{fast:?} Gb/s where packets are large");
}

#[test]
fn packets_land_where_their_dscp_says() {
    let scene = pairs("[[host]]\nservers = ['server0']\ndscp = { data = 24 }\n");
    let run = scene.run();
    let sent = |port: &str| {
        let classes = &run.report.ports[scene.port(port).index()];
        [0, 3].map(|class: usize| classes[class].tx_packets)
    };
    let [best_effort, rdma] = sent("leaf0→server1-nic0");
    assert!(best_effort > 19_000 && rdma == 0, "{best_effort} and {rdma} packets");
    let [best_effort, rdma] = sent("leaf0→server3-nic0");
    assert!(best_effort == 0 && rdma > 19_000, "{best_effort} and {rdma} packets");
    // What server1 answers has the DSCP that it writes itself.
    let [best_effort, rdma] = sent("leaf0→server0-nic0");
    assert!(best_effort == 0 && rdma > 0, "{best_effort} and {rdma} acknowledgements");
}
