//! What a diagnosis says of recordings made by hand: what is known, what is not, and what follows from it.

use xoff_diagnose::fabric::{Cause, Confidence, Diagnosis, Root, Scene, diagnose, spreads};
use xoff_fabric::model::{Fabric, PortId};
use xoff_telemetry::Metric;
use xoff_telemetry::recording::{Key, Place, Recorder, Recording, Steps, Timestamp};
use xoff_units::Span;

const STEPS: Steps = Steps { start: Timestamp(0), step: Span::from_ms(15_000), count: 4 };

fn fabric() -> Fabric {
    let text = "[cluster]\nhosts = 8\nnic = 'generic-100g'\n[fabric]\nkind = 'leaf-spine'\nleaves = 2\nspines = 2\n\
                leaf = 'ideal'\n";
    let setup = xoff_fabric::load_fabric(text).into_result().expect("a fabric");
    setup.fabric
}

/// A recording in which every port sends, receives what its peer sends, and nothing else happens; `change` then says what does.
struct Made<'a> {
    fabric: &'a Fabric,
    recorder: Recorder,
}

impl<'a> Made<'a> {
    fn sound(fabric: &'a Fabric) -> Self {
        let mut made = Self { fabric, recorder: Recorder::new(STEPS) };
        for port in (0..fabric.ports.len() as u32).map(PortId) {
            for (metric, priority, value) in [
                (Metric::TxPackets, Some(3), 1e6),
                (Metric::TxBytes, Some(3), 4e9),
                (Metric::RxPackets, None, 1e6),
                (Metric::Up, None, 1.0),
                (Metric::LinkDowns, None, 0.0),
                (Metric::CrcErrors, None, 0.0),
                (Metric::PausedTime, Some(3), 0.0),
                (Metric::PauseTransitions, Some(3), 0.0),
                (Metric::PfcReceived, Some(3), 0.0),
                (Metric::PfcSent, Some(3), 0.0),
                (Metric::BufferDrops, Some(3), 0.0),
            ] {
                made.all(port, metric, priority, value);
            }
        }
        made
    }

    fn place(&self, port: PortId) -> Place {
        let device = self.fabric.node_name(self.fabric.ports[port.index()].node).to_owned();
        Place::Port { device, port: self.fabric.port_name(port) }
    }

    /// The same value in all steps.
    fn all(&mut self, port: PortId, metric: Metric, priority: Option<u8>, value: f64) {
        let place = self.place(port);
        let place = self.recorder.place(place);
        (0..STEPS.count)
            .for_each(|step| self.recorder.put(Key { place, metric, priority }, step, value));
    }

    fn named(&mut self, name: &str, metric: Metric, priority: Option<u8>, value: f64) -> &mut Self {
        self.all(port(self.fabric, name), metric, priority, value);
        self
    }

    fn finish(self) -> Recording {
        self.recorder.finish()
    }
}

fn port(fabric: &Fabric, name: &str) -> PortId {
    let mut ports = (0..fabric.ports.len() as u32).map(PortId);
    ports.find(|port| fabric.port_name(*port) == name).expect("a port")
}

fn of(fabric: &Fabric, recording: &Recording) -> Diagnosis {
    diagnose(&Scene::new(fabric, recording, 0..STEPS.count))
}

fn first(diagnosis: &Diagnosis) -> (Cause, &str) {
    let first = diagnosis.findings.first().expect("a finding");
    (first.cause, first.place.as_str())
}

#[test]
fn nothing_wrong_says_what_was_ruled_out_and_what_is_not_known() {
    let fabric = fabric();
    let diagnosis = of(&fabric, &Made::sound(&fabric).finish());
    assert!(diagnosis.findings.is_empty(), "{:?}", diagnosis.findings);
    for cause in [Cause::LinkDown, Cause::BadOptic, Cause::BlackHole, Cause::PauseStorm] {
        assert!(diagnosis.ruled_out.contains(&cause), "{cause:?}");
    }
    // There are no marks in this recording, so that nothing follows from them.
    assert!(!diagnosis.ruled_out.contains(&Cause::EcnOff));
    let missing: Vec<&str> = diagnosis.missing.iter().map(|m| m.what.as_str()).collect();
    assert!(
        missing.iter().any(|what| what.contains("xoff_ecn_marked_packets_total")),
        "{missing:?}"
    );
    assert!(missing.iter().any(|what| what.contains("what is usual")), "{missing:?}");
}

#[test]
fn an_empty_recording_rules_nothing_out() {
    let fabric = fabric();
    let diagnosis = of(&fabric, &Recorder::new(STEPS).finish());
    assert!(diagnosis.findings.is_empty() && diagnosis.ruled_out.is_empty(), "{diagnosis:?}");
    let missing: Vec<&str> = diagnosis.missing.iter().map(|m| m.what.as_str()).collect();
    assert!(missing.contains(&"there are no counters of any switch"), "{missing:?}");
    assert!(missing.contains(&"there are no counters of any NIC"), "{missing:?}");
}

#[test]
fn series_of_other_devices_are_counted() {
    let fabric = fabric();
    let mut made = Made::sound(&fabric);
    let place = Place::Port { device: "old-switch".into(), port: "Ethernet0".into() };
    let place = made.recorder.place(place);
    made.recorder.put(Key { place, metric: Metric::LinkDowns, priority: None }, 0, 9.0);
    let diagnosis = of(&fabric, &made.finish());
    assert!(diagnosis.findings.is_empty());
    let unknown = diagnosis.missing.iter().find(|m| m.what.contains("belong to no port"));
    assert!(unknown.expect("said").what.contains("old-switch Ethernet0"));
}

/// Pauses that spread over a spine lead back to the NIC that sends them.
#[test]
fn a_pause_is_followed_over_two_switches() {
    let fabric = fabric();
    let mut made = Made::sound(&fabric);
    let held = 14.5;
    for name in ["leaf0→server0-nic0", "spine0→leaf0", "spine1→leaf0", "leaf1→spine0"] {
        made.named(name, Metric::PausedTime, Some(3), held);
    }
    let diagnosis = of(&fabric, &made.finish());
    assert_eq!(first(&diagnosis), (Cause::PauseStorm, "server0-nic0"));
    let evidence = diagnosis.findings[0].evidence.join("\n");
    assert!(evidence.contains("leaf1→spine0"), "{evidence}");
    assert_eq!(diagnosis.findings.len(), 1, "what it causes is not reported beside it");
}

/// The same pause with resumes in between is a slow host and no storm.
#[test]
fn a_port_that_is_let_go_on_again_has_a_slow_receiver() {
    let fabric = fabric();
    let mut made = Made::sound(&fabric);
    made.named("leaf0→server0-nic0", Metric::PausedTime, Some(3), 13.0);
    made.named("leaf0→server0-nic0", Metric::PauseTransitions, Some(3), 4_000.0);
    let diagnosis = of(&fabric, &made.finish());
    assert_eq!(first(&diagnosis), (Cause::SlowReceiver, "server0-nic0"));
}

/// A dead switch is known by its neighbours, and is reported alone.
#[test]
fn a_switch_without_counters_is_found_by_its_neighbours() {
    let fabric = fabric();
    let mut made = Made::sound(&fabric);
    for name in ["leaf0→spine1", "leaf1→spine1"] {
        made.named(name, Metric::Up, None, 0.0);
    }
    let recording = made
        .finish()
        .filtered(|_, place| !matches!(place, Place::Port { device, .. } if device == "spine1"));
    let diagnosis = of(&fabric, &recording);
    assert_eq!(first(&diagnosis), (Cause::SwitchDown, "spine1"));
    assert_eq!(diagnosis.findings[0].confidence, Confidence::Certain);
    assert!(diagnosis.findings[0].evidence.iter().any(|line| line == "it has no counters"));
    assert_eq!(diagnosis.findings.len(), 1);
}

/// Reading the two ends of a link a moment apart is no loss; reading less at one end for good is.
#[test]
fn clocks_apart_are_no_black_hole() {
    let fabric = fabric();
    let late = |values: [f64; 4]| {
        let mut made = Made::sound(&fabric);
        let place = made.place(port(&fabric, "spine0→leaf0"));
        let place = made.recorder.place(place);
        let key = Key { place, metric: Metric::RxPackets, priority: None };
        values.iter().enumerate().for_each(|(step, v)| made.recorder.put(key, step, *v));
        of(&fabric, &made.finish())
    };
    assert!(late([0.8e6, 1.2e6, 0.9e6, 1.1e6]).findings.is_empty());
    let lost = late([1e6, 0.2e6, 0.1e6, 0.1e6]);
    assert_eq!(first(&lost), (Cause::BlackHole, "leaf0→spine0"));
}

/// A job that is slower while the network is as usual is not the network's fault; with a fault it is evidence.
#[test]
fn a_slower_job_is_the_networks_fault_only_if_the_network_shows_it() {
    let fabric = fabric();
    let recording = |step_time: f64, errors: f64| {
        let mut made = Made::sound(&fabric);
        let place = made.recorder.place(Place::Job { job: "train".into() });
        let key = Key { place, metric: Metric::StepTime, priority: None };
        (0..STEPS.count).for_each(|step| made.recorder.put(key, step, step_time));
        made.named("spine0→leaf0", Metric::CrcErrors, None, errors);
        made.finish()
    };
    let usual = recording(1.0, 0.0);
    let against = |now: &Recording| {
        let scene = Scene::new(&fabric, now, 0..STEPS.count).with_usual(&usual, 0..STEPS.count);
        diagnose(&scene)
    };
    assert!(against(&recording(1.05, 0.0)).findings.is_empty());
    let slower = against(&recording(1.5, 0.0));
    assert_eq!(first(&slower), (Cause::Straggler, "train"));
    let broken = against(&recording(1.5, 500.0));
    assert_eq!(first(&broken), (Cause::BadOptic, "leaf0→spine0"));
    let evidence = broken.findings[0].evidence.join("\n");
    assert!(evidence.contains("1.50 times as long as usual"), "{evidence}");
}

/// In a large fabric something is always down: it hides neither damage elsewhere nor an uneven switch, which it may explain.
#[test]
fn a_dead_link_does_not_hide_what_is_wrong_elsewhere() {
    let fabric = fabric();
    let mut made = Made::sound(&fabric);
    made.named("leaf0→server0-nic0", Metric::Up, None, 0.0);
    made.named("spine1→leaf1", Metric::CrcErrors, None, 500.0);
    made.named("leaf1→spine0", Metric::TxBytes, Some(3), 150e9);
    let diagnosis = of(&fabric, &made.finish());
    let found: Vec<(Cause, Confidence)> =
        diagnosis.findings.iter().map(|finding| (finding.cause, finding.confidence)).collect();
    assert!(found.contains(&(Cause::LinkDown, Confidence::Certain)), "{found:?}");
    assert!(found.contains(&(Cause::BadOptic, Confidence::Certain)), "{found:?}");
    // The optic is at leaf1 as well, and explains why it uses its links unevenly.
    assert!(!found.iter().any(|(cause, _)| *cause == Cause::UnevenLinks), "{found:?}");
    let mut made = Made::sound(&fabric);
    made.named("leaf0→server0-nic0", Metric::Up, None, 0.0);
    made.named("leaf1→spine0", Metric::TxBytes, Some(3), 150e9);
    let diagnosis = of(&fabric, &made.finish());
    let uneven = diagnosis.findings.iter().find(|finding| finding.cause == Cause::UnevenLinks);
    let uneven = uneven.expect("it stays");
    assert_eq!(uneven.confidence, Confidence::Possible);
    assert_eq!(uneven.follows.as_deref(), Some("leaf0→server0-nic0"));
}

/// Ports of one switch that say the same are one finding; so are most switches of a tier.
#[test]
fn the_same_cause_in_many_places_is_one_finding() {
    let fabric = fabric();
    let mut made = Made::sound(&fabric);
    for name in ["leaf0→server0-nic0", "leaf0→server1-nic0", "leaf0→server2-nic0"] {
        made.named(name, Metric::BufferDrops, Some(3), 50.0);
    }
    let diagnosis = of(&fabric, &made.finish());
    assert_eq!(first(&diagnosis), (Cause::PfcOff, "leaf0"));
    let same = diagnosis.findings.iter().filter(|finding| finding.cause == Cause::PfcOff).count();
    assert_eq!(same, 1, "{:?}", diagnosis.findings);
    let evidence = diagnosis.findings[0].evidence.join("\n");
    assert!(evidence.contains("seen at leaf0→server"), "{evidence}");
    let mut made = Made::sound(&fabric);
    for nic in 0..6 {
        let name = format!("server{nic}-nic0→leaf{}", nic / 4);
        made.named(&name, Metric::CnpIgnored, None, 900.0);
        made.named(&name, Metric::CnpHandled, None, 0.0);
    }
    let diagnosis = of(&fabric, &made.finish());
    assert_eq!(first(&diagnosis), (Cause::CongestionControlOff, "6 of 8 NICs"));
}

/// A port that is called by a device which the plan has elsewhere is plugged in there.
#[test]
fn a_cable_that_is_not_planned_is_named() {
    let fabric = fabric();
    let mut made = Made::sound(&fabric);
    let stray = |device: &str, port: &str| Place::Port { device: device.into(), port: port.into() };
    for place in [
        stray("server0-nic0", "server0-nic0→leaf1"),
        stray("leaf1", "leaf1→server0-nic0"),
        // The same, called by the neighbour alone.
        stray("leaf1", "server0-nic0"),
        stray("toaster", "toaster→leaf1"),
    ] {
        let place = made.recorder.place(place);
        let key = Key { place, metric: Metric::TxPackets, priority: Some(3) };
        (0..STEPS.count).for_each(|step| made.recorder.put(key, step, 1e6));
    }
    let diagnosis = of(&fabric, &made.finish());
    assert_eq!(first(&diagnosis), (Cause::Miscabled, "server0-nic0→leaf1"));
    assert_eq!(diagnosis.findings[0].confidence, Confidence::Certain);
    assert_eq!(diagnosis.findings.len(), 1, "{:?}", diagnosis.findings);
    assert!(diagnosis.missing.iter().any(|missing| missing.what.contains("4 series")));
}

/// What began to fill a shared port is a burst of storage if its class is storage's, else another tenant.
#[test]
fn a_class_that_fills_a_shared_port_is_found() {
    let text = "[cluster]\nhosts = 8\nnic = 'generic-100g'\n[fabric]\nkind = 'leaf-spine'\nleaves = 2\nspines = 2\n\
                leaf = 'ideal'\n[[class]]\nid = 4\nname = 'NAME'\n";
    for (name, cause) in [("storage", Cause::StorageBurst), ("video", Cause::NoisyTenant)] {
        let setup = xoff_fabric::load_fabric(&text.replace("NAME", name)).into_result();
        let fabric = setup.expect("a fabric").fabric;
        let usual = Made::sound(&fabric).finish();
        let mut made = Made::sound(&fabric);
        // 100 Gbit/s for 15 s are 187 GB.
        made.named("leaf0→server2-nic0", Metric::TxBytes, Some(3), 60e9);
        made.named("leaf0→server2-nic0", Metric::TxBytes, Some(4), 120e9);
        made.named("leaf0→server1-nic0", Metric::TxBytes, Some(4), 60e9);
        let recording = made.finish();
        let scene = Scene::new(&fabric, &recording, 0..STEPS.count);
        let diagnosis = diagnose(&scene.with_usual(&usual, 0..STEPS.count));
        assert_eq!(diagnosis.findings[0].cause, cause, "{:?}", diagnosis.findings);
        assert_eq!(diagnosis.findings[0].place, "server1 and server2");
        // Without a time to compare with, nothing has begun.
        let alone = of(&fabric, &recording);
        assert!(
            alone.findings.iter().all(|finding| finding.cause != cause),
            "{:?}",
            alone.findings
        );
    }
}

/// NCCL reports of each rank: a job is what its ranks say on average, some of them missing.
#[test]
fn ranks_speak_for_their_job() {
    let fabric = fabric();
    let of_ranks = |time: f64| {
        let mut made = Made::sound(&fabric);
        for rank in 0..4 {
            let place = made.recorder.place(Place::Rank { job: "77".into(), rank });
            let key = Key { place, metric: Metric::CollectiveTime, priority: None };
            let known = (0..STEPS.count).filter(|step| !(step + rank as usize).is_multiple_of(3));
            known.for_each(|step| made.recorder.put(key, step, time * f64::from(rank + 1)));
        }
        made.finish()
    };
    let (usual, now) = (of_ranks(0.1), of_ranks(0.2));
    let scene = Scene::new(&fabric, &now, 0..STEPS.count).with_usual(&usual, 0..STEPS.count);
    assert_eq!(first(&diagnose(&scene)), (Cause::Straggler, "77"));
    let scene = Scene::new(&fabric, &usual, 0..STEPS.count).with_usual(&usual, 0..STEPS.count);
    assert!(diagnose(&scene).findings.is_empty());
}

#[test]
fn pauses_are_followed_hop_by_hop() {
    let fabric = fabric();
    let nic = fabric.nics[0].name.clone();
    let other = fabric.nics[7].name.clone();
    let way = [
        format!("leaf0→{nic}"),
        "spine0→leaf0".to_owned(),
        "leaf1→spine0".to_owned(),
        format!("{other}→leaf1"),
    ];
    let mut made = Made::sound(&fabric);
    for (name, share) in way.iter().zip([1.0, 0.9, 0.8, 0.5]) {
        made.named(name, Metric::PausedTime, Some(3), 15.0 * share);
    }
    let recording = made.finish();
    let scene = Scene::new(&fabric, &recording, 0..STEPS.count);
    let spreads = spreads(&scene);
    assert_eq!(spreads.len(), 1, "{spreads:?}");
    assert_eq!(spreads[0].root, Root::Nic(port(&fabric, &way[0])));
    let told: Vec<(String, usize)> =
        spreads[0].victims.iter().map(|v| (fabric.port_name(v.port), v.hops)).collect();
    assert_eq!(told, way.into_iter().zip(0..).collect::<Vec<_>>());
    assert!((spreads[0].victims[3].share - 0.5).abs() < 1e-6);
}

#[test]
fn ports_that_wait_for_each_other_are_all_told_once() {
    let fabric = fabric();
    let ring = ["leaf0→spine0", "spine0→leaf1", "leaf1→spine1", "spine1→leaf0"];
    let mut made = Made::sound(&fabric);
    for name in ring {
        made.named(name, Metric::PausedTime, Some(3), 15.0);
    }
    let recording = made.finish();
    let spreads = spreads(&Scene::new(&fabric, &recording, 0..STEPS.count));
    assert_eq!(spreads.len(), 1, "{spreads:?}");
    assert!(matches!(&spreads[0].root, Root::Ring(ports) if ports.len() == 4));
    let mut told: Vec<String> =
        spreads[0].victims.iter().map(|victim| fabric.port_name(victim.port)).collect();
    told.sort();
    let mut expected = ring.map(str::to_owned).to_vec();
    expected.sort();
    assert_eq!(told, expected);
}

/// A pause that is on its way when counters are read is no sign of PFC that is off.
#[test]
fn a_pause_on_its_way_is_not_ignored() {
    let fabric = fabric();
    let sent_at = |steps: &[usize]| {
        let mut made = Made::sound(&fabric);
        let place = made.place(port(&fabric, "server0-nic0→leaf0"));
        let place = made.recorder.place(place);
        let key = Key { place, metric: Metric::PfcSent, priority: Some(3) };
        steps.iter().for_each(|step| made.recorder.put(key, *step, 5.0));
        of(&fabric, &made.finish())
    };
    let off = |diagnosis: &Diagnosis| {
        diagnosis.findings.iter().any(|finding| finding.cause == Cause::PfcOff)
    };
    assert!(!off(&sent_at(&[STEPS.count - 1])), "in the last step");
    assert!(off(&sent_at(&[1])), "long ago");
}

#[test]
fn frames_that_are_too_long_are_the_cause_of_timeouts() {
    let fabric = fabric();
    let mut made = Made::sound(&fabric);
    let name = fabric.port_name(PortId(fabric.nics[5].ports.start));
    let peer = fabric.ports[fabric.nics[5].ports.start as usize].peer;
    let place = fabric.port_name(peer);
    made.named(&name, Metric::Timeouts, None, 20.0);
    made.named(&place, Metric::MtuDrops, None, 500.0);
    let diagnosis = of(&fabric, &made.finish());
    assert_eq!(first(&diagnosis), (Cause::MtuTooSmall, place.as_str()), "{diagnosis:#?}");
    assert_eq!(diagnosis.findings[0].confidence, Confidence::Certain);
}

/// A queue beyond Kmax has marked what left it from there: a burst a few packets of millions, a long one many.
#[test]
fn marks_are_held_against_what_the_queue_must_have_marked() {
    let fabric = fabric();
    let port = fabric.ports[fabric.nics[5].ports.start as usize].peer;
    let ecn = fabric.ports[port.index()].classes[3].ecn.expect("marking");
    let name = fabric.port_name(port);
    let with = |queue: f64, marked: f64| {
        let mut made = Made::sound(&fabric);
        made.named(&name, Metric::QueueWatermark, Some(3), queue * ecn.kmax.get() as f64);
        made.named(&name, Metric::EcnMarked, Some(3), marked);
        let diagnosis = of(&fabric, &made.finish());
        diagnosis.findings.iter().any(|finding| finding.cause == Cause::EcnOff)
    };
    let packets = ecn.kmax.get() as f64 / 4_000.0;
    assert!(with(2.0, 0.0));
    assert!(with(100.0, packets), "a hundredth of what was to be marked");
    assert!(!with(2.0, packets / 4.0), "as many as a single burst marks");
    assert!(!with(1.2, 0.0), "hardly longer");
}

/// A value of a GPU in all steps.
fn gpu(made: &mut Made<'_>, host: &str, gpu: u32, metric: Metric, value: f64) {
    let place = made.recorder.place(Place::Gpu { host: host.into(), gpu });
    let key = Key { place, metric, priority: None };
    (0..STEPS.count).for_each(|step| made.recorder.put(key, step, value));
}

/// GPUs that idle or whose links send again are evidence where a job is slower and the network is not.
#[test]
fn gpus_say_which_host_holds_a_job_up() {
    let fabric = fabric();
    let recording = |step_time: f64, busy: f64, replays: f64| {
        let mut made = Made::sound(&fabric);
        let place = made.recorder.place(Place::Job { job: "train".into() });
        let key = Key { place, metric: Metric::StepTime, priority: None };
        (0..STEPS.count).for_each(|step| made.recorder.put(key, step, step_time));
        for server in &fabric.servers {
            gpu(&mut made, &server.name, 0, Metric::GpuBusyShare, 0.97);
            gpu(&mut made, &server.name, 0, Metric::GpuNvlinkReplays, 0.0);
        }
        gpu(&mut made, "server3", 0, Metric::GpuBusyShare, busy);
        gpu(&mut made, "server5", 0, Metric::GpuNvlinkReplays, replays);
        gpu(&mut made, "elsewhere", 0, Metric::GpuBusyShare, 0.1);
        made.finish()
    };
    let usual = recording(1.0, 0.97, 0.0);
    let against = |now: &Recording| {
        let scene = Scene::new(&fabric, now, 0..STEPS.count).with_usual(&usual, 0..STEPS.count);
        diagnose(&scene)
    };
    let slower = against(&recording(1.5, 0.4, 250.0));
    assert_eq!(first(&slower), (Cause::Straggler, "train"));
    let evidence = slower.findings[0].evidence.join("\n");
    let idle = "GPU 0 of server3 is busy for 40 % of the time, usually 97 %; most are as usual";
    assert!(evidence.contains(idle), "{evidence}");
    let again = "the NVLinks of GPU 0 of server5 sent 1000 packets again, usually 0";
    assert!(evidence.contains(again), "{evidence}");
    let unknown = slower.missing.iter().find(|missing| missing.what.contains("GPU 0 of elsewhere"));
    assert!(unknown.is_some(), "{:?}", slower.missing);
    // Where no job is slower, an idle GPU has nothing to do.
    assert!(against(&recording(1.0, 0.4, 250.0)).findings.is_empty());
    let plain = against(&recording(1.5, 0.9, 1.0));
    assert!(!plain.findings[0].evidence.join("\n").contains("GPU"), "{:?}", plain.findings);
}

#[test]
fn replays_of_a_gpu_are_evidence_of_a_slow_receiver() {
    let fabric = fabric();
    let nic = fabric.nics[0].name.clone();
    let server = fabric.servers[fabric.nics[0].server.index()].name.clone();
    let mut made = Made::sound(&fabric);
    made.named(&format!("leaf0→{nic}"), Metric::PausedTime, Some(3), 8.0);
    made.named(&format!("leaf0→{nic}"), Metric::PauseTransitions, Some(3), 900.0);
    gpu(&mut made, &server, 0, Metric::GpuPcieReplays, 100.0);
    gpu(&mut made, "server4", 0, Metric::GpuPcieReplays, 100.0);
    let diagnosis = of(&fabric, &made.finish());
    assert_eq!(first(&diagnosis), (Cause::SlowReceiver, nic.as_str()));
    let evidence = diagnosis.findings[0].evidence.join("\n");
    let own = format!("the PCIe link of GPU 0 of {server} sent 400 packets again");
    assert!(evidence.contains(&own) && !evidence.contains("server4"), "{evidence}");
}

/// Collectives that have much less than the fabric gives are slow without a time to compare with, possibly not for the network.
#[test]
fn collectives_are_held_against_the_fabric_at_rest() {
    let fabric = fabric();
    let diagnosed = |now: f64, errors: f64| {
        let mut made = Made::sound(&fabric);
        let place = made.recorder.place(Place::Job { job: "test".into() });
        let key = Key { place, metric: Metric::BusBandwidth, priority: None };
        made.recorder.put(key, 3, now);
        made.named("spine0→leaf0", Metric::CrcErrors, None, errors);
        let recording = made.finish();
        let scene = Scene::new(&fabric, &recording, 0..STEPS.count);
        diagnose(&scene.with_at_rest([("test".to_owned(), 40e9), ("other".to_owned(), 1e9)]))
    };
    let slow = diagnosed(10e9, 0.0);
    assert_eq!(first(&slow), (Cause::Straggler, "test"));
    assert_eq!(slow.findings[0].confidence, Confidence::Possible);
    let words =
        "the collectives of `test` have 10.0 GB/s of bus bandwidth, 25 % of what the fabric";
    assert!(slow.findings[0].evidence[0].starts_with(words), "{:?}", slow.findings);
    assert_eq!(slow.measured.len(), 1);
    let fine = diagnosed(36e9, 0.0);
    assert!(fine.findings.is_empty() && fine.measured[0].contains("90 %"), "{fine:?}");
    let broken = diagnosed(10e9, 500.0);
    assert_eq!(first(&broken), (Cause::BadOptic, "leaf0→spine0"));
    assert!(broken.findings[0].evidence.iter().any(|line| line.starts_with(words)));
}

/// A device that fell silent goes on sending as before, for all that is known; its link went down as often as was seen.
#[test]
fn events_are_not_made_up_for_gaps() {
    let fabric = fabric();
    let mut made = Made::sound(&fabric);
    let port = PortId(fabric.nics[5].ports.start);
    let place = made.place(port);
    let place = made.recorder.place(place);
    let key = Key { place, metric: Metric::LinkDowns, priority: None };
    (1..STEPS.count).for_each(|step| made.recorder.put(key, step, f64::NAN));
    made.recorder.put(key, 0, 3.0);
    let diagnosis = of(&fabric, &made.finish());
    assert_eq!(diagnosis.findings[0].cause, Cause::LinkFlaps, "{diagnosis:#?}");
    assert!(diagnosis.findings[0].evidence[0].contains("link-down events: 3,"), "{diagnosis:#?}");
}
