use super::*;
use crate::device::{PortName, RemarkKind};
use crate::number::{Class, Dscp, Queue};
use crate::place::FileId;
use xoff_fabric::model::{Scheduling, Threshold};
use xoff_units::{Rate, Span};

fn read(text: &str) -> Device {
    Junos::Commands.parse(&Input { name: "leaf0", file: FileId(0), text })
}

fn port<'d>(device: &'d Device, name: &str) -> &'d Port {
    &device.ports[&PortName::new(name)]
}

fn remarks(device: &Device) -> Vec<(u32, RemarkKind)> {
    let mut all: Vec<_> = device.remarks.iter().map(|r| (r.place.first, r.kind)).collect();
    all.retain(|(_, kind)| *kind != RemarkKind::Foreign);
    all
}

/// Class of service as validated designs have it: the lossless class is not in the queue of its
/// priority, and notifications are in that one.
const COS: &str = "\
set class-of-service classifiers dscp d forwarding-class CNP loss-priority low code-points 110000
set class-of-service classifiers dscp d forwarding-class NO-LOSS loss-priority low code-points 011010
set class-of-service drop-profiles dp1 interpolate fill-level [ 55 90 ]
set class-of-service drop-profiles dp1 interpolate drop-probability [ 0 100 ]
set class-of-service shared-buffer ingress buffer-partition lossless percent 66
set class-of-service shared-buffer ingress buffer-partition lossless dynamic-threshold 10
set class-of-service shared-buffer ingress buffer-partition lossless-headroom percent 24
set class-of-service shared-buffer egress buffer-partition lossy percent 10
set class-of-service dedicated-buffer ingress percent 15
set class-of-service dedicated-buffer egress percent 30
set class-of-service forwarding-classes class CNP queue-num 3
set class-of-service forwarding-classes class NO-LOSS queue-num 4 no-loss pfc-priority 3
set class-of-service forwarding-classes class mcast-fc queue-num 8
set class-of-service congestion-notification-profile cnp pfc-watchdog
set class-of-service congestion-notification-profile cnp input dscp code-point 011010 pfc
set class-of-service congestion-notification-profile cnp output ieee-802.1 code-point 011 flow-control-queue 4
set class-of-service interfaces et-* congestion-notification-profile cnp
set class-of-service interfaces et-* scheduler-map sm1
set class-of-service interfaces et-* unit * classifiers dscp d
set class-of-service scheduler-maps sm1 forwarding-class CNP scheduler s2
set class-of-service scheduler-maps sm1 forwarding-class NO-LOSS scheduler s1
set class-of-service schedulers s1 drop-profile-map loss-priority any protocol any drop-profile dp1
set class-of-service schedulers s1 explicit-congestion-notification
set class-of-service schedulers s1 buffer-dynamic-threshold 9
set class-of-service schedulers s2 priority strict-high
";

#[test]
fn classes_are_told_apart_by_name_and_queue() {
    let text = format!("{COS}set interfaces et-0/0/0 mtu 9216\n");
    let device = read(&text);
    assert_eq!(remarks(&device), []);
    let port = port(&device, "et-0/0/0");
    let class = |dscp: u8| port.maps.dscp_to_class[usize::from(dscp)].get();
    let queue = |dscp: u8| port.maps.queue_of(Dscp::new(dscp).unwrap());
    assert_eq!((class(26), queue(26)), (Class::new(3), Queue::new(4)));
    assert_eq!((class(48), queue(48)), (Class::new(4), Queue::new(3)));
    assert_eq!((class(0), queue(0)), (Class::new(0), Queue::new(0)));
    assert_eq!(port.pfc.get().unwrap().to_string(), "3");
    assert_eq!(port.maps.pfc_to_queue[3].get(), Queue::new(4));
    assert!(port.queues[4].wred.get().unwrap().marks);
    assert_eq!(port.queues[3].scheduling.get(), Some(Scheduling::Strict));
    let alpha = Threshold::Dynamic(Ratio::new(8, 1));
    assert_eq!(port.groups[3].threshold.get(), Some(alpha));
    assert_eq!(port.watchdog.detect, Said::Default(Span::from_ms(200)));
}

#[test]
fn no_headroom_is_said_by_nothing_for_it() {
    let text =
        format!("{COS}set interfaces et-0/0/0 mtu 9216\n").replace("percent 24", "percent 0");
    let device = read(&text);
    assert_eq!(port(&device, "et-0/0/0").groups[3].headroom.get(), Some(Bytes::ZERO));
}

#[test]
fn times_of_the_watchdog() {
    let times = "set class-of-service congestion-notification-profile cnp pfc-watchdog poll-interval 200\n\
                 set class-of-service congestion-notification-profile cnp pfc-watchdog detection 4\n\
                 set class-of-service congestion-notification-profile cnp pfc-watchdog recovery 900\n\
                 set class-of-service congestion-notification-profile cnp pfc-watchdog watchdog-action forward\n";
    let device = read(&format!("{COS}{times}set interfaces et-0/0/0 mtu 9216\n"));
    let watchdog = port(&device, "et-0/0/0").watchdog;
    assert_eq!(watchdog.detect.get(), Some(Span::from_ms(800)));
    assert_eq!(watchdog.restore.get(), Some(Span::from_ms(900)));
    assert_eq!(watchdog.reaction.get(), Some(Reaction::Act(WatchdogAction::Forward)));
    for ms in [1, 200, 250, 1_000, 3_000, 9_999, 100_000] {
        let (poll, count) = polls(Span::from_ms(ms));
        assert_eq!(polls(Span::from_ms(poll * count)), (poll, count), "{ms}");
    }
}

#[test]
fn queues_for_multicast_are_known_and_others_are_not() {
    let class = "set class-of-service forwarding-classes class m queue-num";
    for (end, wrong) in [(" 8", 0), (" 11", 0), (" 12", 1), (" 9 no-loss pfc-priority 3", 1)] {
        let device = read(&format!("{class}{end}\n"));
        assert_eq!(device.count(RemarkKind::Malformed), wrong, "{end}");
    }
    let text = "set class-of-service classifiers dscp d forwarding-class nowhere loss-priority low code-points 000001\n";
    assert_eq!(remarks(&read(text)), [(1, RemarkKind::Malformed)]);
    assert_eq!(remarks(&read(&text.replace("nowhere", "network-control"))), []);
}

#[test]
fn channels_are_ports_and_their_cage_is_none() {
    let text = format!(
        "{COS}set interfaces et-0/0/0 number-of-sub-ports 2\nset interfaces et-0/0/0 speed 400g\n\
         set interfaces et-0/0/0:0 description facing_spine1:et-0/0/7:1\n\
         set interfaces et-0/0/1 unit 0 family inet\nset interfaces et-0/0/2 unit 0 family inet mtu 9170\n"
    );
    let device = read(&text);
    assert!(!device.ports.contains_key(&PortName::new("et-0/0/0")));
    let channel = port(&device, "et-0/0/0:0");
    assert_eq!(channel.rate.get(), Some(Rate::from_gbps(400)));
    assert_eq!(channel.mtu, Said::Default(Bytes::new(1514)));
    let neighbour = channel.neighbour.value().unwrap();
    assert_eq!(
        (neighbour.device.as_str(), neighbour.port.as_deref()),
        ("spine1", Some("et-0/0/7:1"))
    );
    // A port that carries nothing has no MTU to be judged by.
    assert_eq!(port(&device, "et-0/0/1").mtu, Said::Absent);
    assert_eq!(port(&device, "et-0/0/2").mtu, Said::Default(Bytes::new(1514)));
    // That of a port of an aggregate stands at the aggregate.
    let bundled = read("set interfaces et-0/0/3 ether-options 802.3ad ae0\n");
    assert_eq!(port(&bundled, "et-0/0/3").mtu, Said::Absent);
}

#[test]
fn groups_and_ranges_reach_ports() {
    let text = format!(
        "{COS}set groups jumbo interfaces <et-*> mtu 9216\nset apply-groups jumbo\n\
         set interfaces interface-range up member-range et-0/0/0 to et-0/0/1\n\
         set interfaces interface-range up speed 100g\nset interfaces et-0/0/1 mtu 9000\n"
    );
    let device = read(&text);
    assert_eq!(port(&device, "et-0/0/0").mtu.get(), Some(Bytes::new(9216)));
    assert_eq!(port(&device, "et-0/0/1").mtu.get(), Some(Bytes::new(9000)));
    assert_eq!(port(&device, "et-0/0/1").rate.get(), Some(Rate::from_gbps(100)));
    let nested = read("set class-of-service interfaces et-0/0/0 apply-groups x\n");
    assert_eq!(remarks(&nested), [(1, RemarkKind::Unknown)]);
}

#[test]
fn braces_that_are_cut_off_are_told() {
    let text =
        "class-of-service {\n    interfaces {\n        et-0/0/0 {\n            scheduler-map x;\n";
    let device = Junos::Braces.parse(&Input { name: "x", file: FileId(0), text });
    assert_eq!(remarks(&device), [(4, RemarkKind::Truncated)]);
}
