use super::parse;
use crate::device::{Device, Port, PortName, RemarkKind};
use crate::number::{Dscp, Priorities, Priority, Queue};
use crate::place::{FileId, Said};
use crate::qos::{Levels, Reaction, Trust};
use crate::system::{Input, System};
use xoff_fabric::model::{Ecn, Scheduling, WatchdogAction};
use xoff_units::{Bytes, Ratio, Span};

fn read(text: &str) -> Device {
    parse(&Input { name: "x", file: FileId(0), text })
}

fn port<'d>(device: &'d Device, name: &str) -> &'d Port {
    &device.ports[&PortName::new(name)]
}

fn strange(device: &Device) -> usize {
    device.count(RemarkKind::Unknown) + device.count(RemarkKind::Malformed)
}

fn thresholds(device: &Device, queue: usize) -> Option<(u64, u64, bool)> {
    let wred = port(device, "Ethernet1").queues[queue].wred.get()?;
    match wred.levels {
        Levels::Sizes(Ecn { kmin, kmax, .. }) => Some((kmin.get(), kmax.get(), wred.marks)),
        Levels::Fill { .. } | Levels::Counts { .. } => None,
    }
}

fn three() -> Priorities {
    Priorities::only(Priority::new(3).unwrap())
}

#[test]
fn thresholds_in_every_unit() {
    let with = |line: &str, port: &str| {
        read(&format!("interface Ethernet1\n   {port}\n   tx-queue 3\n      {line}\n"))
    };
    let ecn = |unit: &str| {
        let line =
            format!("random-detect ecn minimum-threshold 2 {unit} maximum-threshold 9 {unit}");
        with(&line, "speed 400g")
    };
    for (unit, factor) in [
        ("segments", 208),
        ("bytes", 1),
        ("kbytes", 1_000),
        ("mbytes", 1_000_000),
        ("microseconds", 50_000),
        ("milliseconds", 50_000_000),
    ] {
        let device = ecn(unit);
        assert_eq!(thresholds(&device, 3), Some((2 * factor, 9 * factor, true)), "{unit}");
        assert_eq!(strange(&device), 0, "{unit}");
    }
    // A time says nothing where the rate is not known: it is remarked, at its line.
    let line =
        "random-detect ecn minimum-threshold 2 microseconds maximum-threshold 9 microseconds";
    let device = with(line, "no shutdown");
    assert_eq!(thresholds(&device, 3), None);
    assert!(port(&device, "Ethernet1").queues[3].wred.get().unwrap().marks);
    assert_eq!((strange(&device), device.remarks.last().unwrap().place.first), (1, 4));
}

#[test]
fn drop_precedences_and_marking_beside_them() {
    let device = read(
        "interface Ethernet1\n   uc-tx-queue 3\n      \
         random-detect drop drop-precedence 1 minimum-threshold 5 kbytes maximum-threshold 6 kbytes drop-probability 80\n      \
         random-detect drop drop-precedence 0 minimum-threshold 3 kbytes maximum-threshold 4 kbytes drop-probability 80\n   \
         uc-tx-queue 4\n      \
         random-detect ecn minimum-threshold 1 kbytes maximum-threshold 2 kbytes\n      \
         random-detect drop minimum-threshold 3 kbytes maximum-threshold 4 kbytes drop-probability 80\n   \
         uc-tx-queue 5\n      random-detect drop drop-precedence 7 minimum-threshold 1 bytes maximum-threshold 2 bytes\n",
    );
    assert_eq!(thresholds(&device, 3), Some((3_000, 4_000, false)));
    assert_eq!(thresholds(&device, 4), Some((1_000, 2_000, true)));
    assert_eq!(thresholds(&device, 5), None);
    assert_eq!(strange(&device), 1);
}

#[test]
fn a_rewrite_classifies_nothing() {
    let device = read(
        "qos map traffic-class 3 to dscp 26\nqos map dscp 24-25 34 to traffic-class 5 drop-precedence 2\n\
         qos map traffic-class 0-2 to tx-queue 1\ninterface Ethernet1\n   no switchport\n",
    );
    let maps = &port(&device, "Ethernet1").maps;
    let class = |dscp: u8| maps.dscp_to_class[usize::from(dscp)].get().map(|class| class.get());
    assert_eq!([26, 0, 8, 48, 24, 25, 34].map(class), [3, 1, 0, 6, 5, 5, 5].map(Some));
    assert!(!maps.dscp_to_class[26].is_said());
    assert_eq!(maps.queue_of(Dscp::new(0).unwrap()), Queue::new(1));
    assert_eq!(strange(&device), 0);
}

#[test]
fn turns_of_queues() {
    let device = read(
        "qos profile P\n   tx-queue 1\n      bandwidth percent 40\n   tx-queue 3\n      no priority\n      \
         bandwidth percent 60\n   tx-queue 6\n      priority strict\ninterface Ethernet1\n   service-profile P\n\
         interface Ethernet2\n   service-profile P\n   tx-queue 3\n      priority strict\n",
    );
    let turn = |name: &str, queue: usize| port(&device, name).queues[queue].scheduling.get();
    assert_eq!(turn("Ethernet1", 1), Some(Scheduling::Weighted(40)));
    assert_eq!(turn("Ethernet1", 3), Some(Scheduling::Weighted(60)));
    // Below a queue that takes turns nothing is strict; above it everything is.
    assert_eq!(turn("Ethernet1", 2), None);
    assert_eq!(turn("Ethernet1", 5), Some(Scheduling::Strict));
    assert_eq!(turn("Ethernet1", 6), Some(Scheduling::Strict));
    assert_eq!(turn("Ethernet2", 3), Some(Scheduling::Strict));
}

#[test]
fn ranges_and_what_takes_back() {
    let device = read(
        "qos profile P\n   qos trust dscp\n   priority-flow-control on\n   priority-flow-control priority 3 no-drop\n   \
         priority-flow-control priority 4 no-drop\n   no priority-flow-control priority 4\n   \
         priority-flow-control pause watchdog\n   priority-flow-control pause watchdog port timer timeout 0.1\n   \
         uc-tx-queue 3\n      random-detect ecn minimum-threshold 1 kbytes maximum-threshold 2 kbytes\n\
         interface Ethernet1/1-2/1,10/1\n   mtu 9214\n   service-profile P\n\
         interface Ethernet2/1\n   no mtu\n   no switchport\n   no service-profile P\n\
         interface Ethernet10/1\n   priority-flow-control off\n   no qos trust\n   default mtu\n   \
         switchport access vlan 7\n   no priority-flow-control pause watchdog\n   no flowcontrol receive\n",
    );
    assert_eq!(strange(&device), 0, "{:?}", device.remarks);
    let [one, two, ten] = ["1/1", "2/1", "10/1"].map(|n| port(&device, &format!("Ethernet{n}")));
    assert_eq!((one.mtu.get(), one.pfc.get()), (Some(Bytes::new(9214)), Some(three())));
    assert_eq!(one.watchdog.detect.get(), Some(Span::from_ms(100)));
    assert_eq!(
        (two.mtu, two.pfc),
        (Said::Default(Bytes::new(1500)), Said::Default(Priorities::NONE))
    );
    assert_eq!(two.trust, Said::Default(Trust::Dscp));
    assert_eq!(ten.pfc.place().map(|place| place.first), Some(19));
    assert_eq!((ten.pfc.get(), ten.trust.get()), (Some(Priorities::NONE), Some(Trust::Nothing)));
    assert_eq!((ten.mtu, ten.watchdog.on.get()), (Said::Default(Bytes::new(9214)), Some(false)));
    let malformed = read("interface Ethernet8-1\n   mtu 9214\n");
    assert_eq!((malformed.count(RemarkKind::Malformed), malformed.ports.len()), (1, 0));
    let gone = read("interface Ethernet1\n   mtu 9214\ndefault interface Ethernet1\n");
    assert!(gone.ports.is_empty());
}

#[test]
fn bundles_defaults_and_all_off() {
    let device = read(
        "interface defaults\n   mtu 9000\nqos profile P\n   priority-flow-control on\n   \
         priority-flow-control priority 3 no-drop\ninterface Port-Channel7\n   mtu 9214\n   service-profile P\n\
         interface Ethernet1\n   channel-group 7 mode active\ninterface Ethernet2\n   service-profile Q\n",
    );
    let one = port(&device, "Ethernet1");
    assert_eq!((one.mtu.get(), one.pfc.get()), (Some(Bytes::new(9214)), Some(three())));
    assert_eq!(port(&device, "Ethernet2").mtu.get(), Some(Bytes::new(9000)));
    assert_eq!(device.ports.len(), 2);
    // A profile that is not there applies nothing, and that is remarked.
    assert_eq!(device.count(RemarkKind::Malformed), 1);
    let off = "priority-flow-control all off\npriority-flow-control pause watchdog action no-drop\n\
               interface Ethernet1\n   priority-flow-control on\n   priority-flow-control priority 3 no-drop\n";
    let device = read(off);
    let one = port(&device, "Ethernet1");
    assert_eq!((one.pfc.get(), one.pfc.place().unwrap().first), (Some(Priorities::NONE), 1));
    assert_eq!(one.watchdog.reaction.get(), Some(Reaction::Act(WatchdogAction::Forward)));
}

#[test]
fn probabilities_are_read() {
    let device = read(
        "interface Ethernet1\n   uc-tx-queue 3\n      random-detect ecn minimum-threshold 2000 segments \
         maximum-threshold 10000 segments max-mark-probability 20 weight 0\n",
    );
    let wred = port(&device, "Ethernet1").queues[3].wred.get().unwrap();
    let Levels::Sizes(ecn) = wred.levels else { panic!("{wred:?}") };
    assert_eq!((ecn.kmin.get(), ecn.pmax), (416_000, Ratio::new(1, 5)));
}

#[test]
fn policies_sort_packets_before_the_maps_of_the_box() {
    let text = "ip access-list RDMA\n   10 permit udp any any eq 4791 dscp 26\n\
                class-map type qos match-any NOTES\n   match dscp 48\n\
                class-map type qos match-any DATA\n   match ip access-group RDMA\n\
                policy-map type quality-of-service IN\n   class NOTES\n      set traffic-class 7\n   \
                class DATA\n      set traffic-class 5\n      set dscp 26\n   class class-default\n      set traffic-class 1\n\
                interface Ethernet1\n   service-policy type qos input IN\n\
                interface Ethernet2\n   no switchport\n";
    let device = read(text);
    let class = |name: &str, dscp: usize| {
        port(&device, name).maps.dscp_to_class[dscp].get().map(crate::number::Class::get)
    };
    assert_eq!([26, 48, 24].map(|dscp| class("Ethernet1", dscp)), [Some(5), Some(7), Some(1)]);
    assert_eq!([26, 48, 24].map(|dscp| class("Ethernet2", dscp)), [Some(3), Some(6), Some(3)]);
    assert_eq!(port(&device, "Ethernet1").trust.get(), Some(Trust::Dscp));
    assert_eq!(strange(&device), 0);
    // A list that names no DSCP, and a policy that is not there.
    let device = read(&text.replace(" dscp 26\nclass", "\nclass").replace("input IN", "input OUT"));
    assert_eq!(device.count(RemarkKind::Unknown), 1);
    assert_eq!(device.count(RemarkKind::Malformed), 1);
}

#[test]
fn tunnels_and_the_ports_that_go_into_them() {
    let text = "interface Ethernet1\n   switchport access vlan 10\n\
                interface Ethernet2\n   switchport trunk allowed vlan 20-30\n   switchport mode trunk\n\
                interface Ethernet3\n   no switchport\n   vrf red\n\
                interface Ethernet4\n   no switchport\n\
                interface Vxlan1\n   vxlan source-interface Loopback1\n   vxlan vlan 10 vni 10010\n   vxlan vlan 25-26 vni 10025-10026\n   \
                vxlan vrf red vni 50001\n";
    let device = read(text);
    let tunnelled = |device: &Device, number: u8| {
        port(device, &format!("Ethernet{number}")).tunnelled.get().unwrap()
    };
    assert_eq!([1, 2, 3, 4].map(|n| tunnelled(&device, n)), [true, true, true, false]);
    let data = Dscp::new(26).unwrap();
    let class = crate::number::Class::new(3);
    assert_eq!(device.tunnels.outer(data, class), Dscp::new(24));
    assert_eq!(device.tunnels.marks, Said::Default(false));
    let more = "   vxlan qos ecn propagation\n   vxlan qos dscp propagation encapsulation\n\
                qos map traffic-class 3 to dscp 2\n";
    let device = read(&format!("{text}{more}"));
    assert_eq!(device.tunnels.outer(data, class), Some(data));
    assert_eq!(device.tunnels.marks.get(), Some(true));
    let device = read(&format!("{text}{}", more.replace("   vxlan", "   no vxlan")));
    assert_eq!(device.tunnels.outer(data, class), Dscp::new(2));
    assert_eq!(device.tunnels.marks.get(), Some(false));
    assert_eq!(strange(&device), 0);
}

/// A queue that takes turns makes those below it take turns: above a strict one only strict ones stand.
#[test]
fn strict_queues_stand_at_the_top() {
    let turns = |shares: [u32; 8]| {
        let mut device = Device::new("leaf0", super::Eos.id());
        let turn = |share| match share {
            0 => Scheduling::Strict,
            share => Scheduling::Weighted(share),
        };
        let queue = |share| crate::qos::QueueSettings {
            scheduling: Said::meant(turn(share)),
            ..Default::default()
        };
        device.port("Ethernet1/1").queues = std::sync::Arc::new(shares.map(queue));
        let mut limits = Vec::new();
        let fitting = super::Eos.fit(&device, &mut limits);
        let turns =
            port(&fitting, "Ethernet1/1").queues.map(|queue| match queue.scheduling.get() {
                Some(Scheduling::Weighted(share)) => share,
                _ => 0,
            });
        (turns, limits)
    };
    let (fitting, limits) = turns([48, 1, 1, 47, 1, 1, 0, 1]);
    assert_eq!(fitting, [49, 1, 1, 47, 1, 1, 0, 0]);
    assert!(limits.iter().any(|limit| limit.starts_with("queue 7 is strict, too")), "{limits:?}");
    // What is needed stays, and that is said.
    let (fitting, limits) = turns([40, 1, 1, 0, 1, 1, 1, 55]);
    assert_eq!(fitting, [40, 1, 1, 0, 1, 1, 1, 55]);
    assert!(limits.iter().any(|limit| limit.contains("is not strict")), "{limits:?}");
    let (fitting, limits) = turns([49, 1, 1, 47, 1, 1, 0, 0]);
    assert_eq!((fitting, limits.len()), ([49, 1, 1, 47, 1, 1, 0, 0], 0));
}
