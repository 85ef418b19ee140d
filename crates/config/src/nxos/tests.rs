use super::parse;
use crate::device::{Device, Port, PortName, RemarkKind};
use crate::number::{Group, Priorities, Priority, Queue};
use crate::place::{FileId, Said};
use crate::qos::{Levels, Trust};
use crate::system::{Input, System};
use xoff_fabric::model::Scheduling;
use xoff_units::Bytes;

fn read(text: &str) -> Device {
    parse(&Input { name: "x", file: FileId(0), text })
}

fn port<'d>(device: &'d Device, name: &str) -> &'d Port {
    &device.ports[&PortName::new(name)]
}

fn strange(device: &Device) -> usize {
    device.count(RemarkKind::Unknown) + device.count(RemarkKind::Malformed)
}

fn three() -> Priorities {
    Priorities::only(Priority::new(3).unwrap())
}

const NETWORK: &str = "policy-map type network-qos N\n  class type network-qos c-8q-nq3\n    mtu 9216\n    \
                       pause pfc-cos 3\nsystem qos\n  service-policy type network-qos N\n";

#[test]
fn modes_of_pfc() {
    let text = format!(
        "{NETWORK}interface Ethernet1/1\n  priority-flow-control mode on send-tlv\n\
         interface Ethernet1/2\n  priority-flow-control mode off\n\
         interface Ethernet1/3\n  priority-flow-control mode auto\n\
         interface Ethernet1/4\n  priority-flow-control mode on\n\
         interface Ethernet1/4\n  no priority-flow-control\n\
         interface Ethernet1/5\n  priority-flow-control mode on\n  default priority-flow-control mode\n"
    );
    let device = read(&text);
    assert_eq!(strange(&device), 0, "{:?}", device.remarks);
    let pfc = |name: &str| port(&device, name).pfc;
    assert_eq!(pfc("Ethernet1/1").get(), Some(three()));
    for (name, line) in [("Ethernet1/2", 10), ("Ethernet1/3", 12), ("Ethernet1/4", 16)] {
        let said = pfc(name);
        assert_eq!(said.get(), Some(Priorities::NONE), "{name}");
        assert_eq!(said.place().map(|place| place.first), Some(line), "{name}");
    }
    assert_eq!(pfc("Ethernet1/5"), Said::Default(Priorities::NONE));
    let wrong = read("interface Ethernet1/1\n  priority-flow-control mode sometimes\n");
    assert_eq!(strange(&wrong), 1);
}

#[test]
fn pauses_that_are_only_obeyed_and_other_classes() {
    let device = read(
        "policy-map type network-qos N\n  class type network-qos MINE\n    pause pfc-cos 3 receive\n  \
         class type network-qos c-nq2\n    pause no-drop\n  class type network-qos c-8q-nq-default\n    mtu 9216\n\
         class-map type network-qos match-any MINE\n  match qos-group 4\n\
         system qos\n  service-policy type network-qos N\n\
         interface Ethernet1/1\n  priority-flow-control mode on\n",
    );
    assert_eq!(strange(&device), 0, "{:?}", device.remarks);
    let port = port(&device, "Ethernet1/1");
    assert_eq!(port.pfc.get(), Some(three().with(Priority::new(2).unwrap())));
    assert_eq!(port.maps.pfc_to_queue[3].get(), Queue::new(4));
    assert_eq!(port.maps.pfc_to_group[3].get(), None);
    assert_eq!(port.maps.pfc_to_group[2].get(), Group::new(2));
    let no = read(&format!(
        "{}interface Ethernet1/1\n  priority-flow-control mode on\n",
        NETWORK.replace("pause pfc-cos 3\n", "pause pfc-cos 3\n    no pause\n")
    ));
    assert_eq!(self::port(&no, "Ethernet1/1").pfc.get(), Some(Priorities::NONE));
}

#[test]
fn queuing_classes_units_and_places() {
    let line = |unit: &str| {
        format!(
            "    random-detect minimum-threshold 2 {unit} maximum-threshold 4 {unit} drop-probability 7 weight 0 ecn\n"
        )
    };
    let text = |unit: &str| {
        format!(
            "class-map type queuing match-any BULK\n  match qos-group 5\n\
         policy-map type queuing Q\n  class type queuing c-out-8q-q3\n    bandwidth remaining percent 50\n{}  \
         class type queuing c-out-q2\n    priority level 1\n  class type queuing BULK\n    bandwidth percent 9\n  \
         class type queuing class-default\n    bandwidth percent 41\n    random-detect threshold burst-optimized ecn\n\
         system qos\n  service-policy type queuing output Q\ninterface Ethernet1/1-2\n  speed 400000\n\
         interface Ethernet1/2\n  service-policy type queuing output OWN\npolicy-map type queuing OWN\n  \
         class type queuing c-out-8q-q3\n    priority\n    no priority\n    random-detect burst-optimized ecn\n    no random-detect\n",
            line(unit)
        )
    };
    for (unit, factor) in [("bytes", 1), ("kbytes", 1_000), ("mbytes", 1_000_000), ("us", 50_000)] {
        let device = read(&text(unit));
        assert_eq!(strange(&device), 0, "{unit}: {:?}", device.remarks);
        let one = port(&device, "Ethernet1/1");
        let Some(Levels::Sizes(ecn)) = one.queues[3].wred.get().map(|wred| wred.levels) else {
            panic!("{unit}: {:?}", one.queues[3]);
        };
        assert_eq!((ecn.kmin.get(), ecn.kmax.get()), (2 * factor, 4 * factor), "{unit}");
        let turn = |queue: usize| one.queues[queue].scheduling.get();
        assert_eq!(turn(2), Some(Scheduling::Strict));
        assert_eq!(
            (turn(5), turn(0)),
            (Some(Scheduling::Weighted(9)), Some(Scheduling::Weighted(41)))
        );
        assert!(one.queues[0].wred.get().unwrap().marks);
        let two = port(&device, "Ethernet1/2");
        assert_eq!((two.queues[3].scheduling, two.queues[3].wred), (Said::Absent, Said::Absent));
    }
    // Packets are of any size: it marks, and nobody knows where.
    let device = read(&text("packets"));
    assert_eq!(device.count(RemarkKind::Malformed), 1);
    assert_eq!(
        device.remarks.iter().find(|r| r.kind == RemarkKind::Malformed).unwrap().place.first,
        6
    );
    assert!(port(&device, "Ethernet1/1").queues[3].wred.get().unwrap().marks);
}

#[test]
fn policies_are_taken_away_and_may_be_missing() {
    let device = read(
        "class-map type qos match-any R\n  match dscp af31\npolicy-map type qos P\n  class R\n    set qos-group 3\n\
         interface Ethernet1/1-3\n  service-policy type qos input P no-stats\n\
         interface Ethernet1/2\n  no service-policy type qos input\n\
         interface Ethernet1/3\n  service-policy type qos input GONE\n",
    );
    let trust = |name: &str| port(&device, name).trust.get();
    assert_eq!(trust("Ethernet1/1"), Some(Trust::Dscp));
    assert_eq!(trust("Ethernet1/2"), Some(Trust::Nothing));
    assert_eq!(port(&device, "Ethernet1/1").maps.dscp_to_class[26].get().map(|c| c.get()), Some(3));
    assert_eq!(device.count(RemarkKind::Malformed), 1);
    let system = format!(
        "{NETWORK}system qos\n  no service-policy type network-qos\ninterface Ethernet1/1\n  priority-flow-control mode on\n"
    );
    assert_eq!(port(&read(&system), "Ethernet1/1").pfc.get(), Some(Priorities::NONE));
}

#[test]
fn mtu_watchdog_and_names_of_ports() {
    let device = read(
        "priority-flow-control watch-dog-interval on\npriority-flow-control watch-dog interval 200\n\
         interface port-channel9\n  mtu 9216\ninterface ethernet 1/1\n  mtu 9216\ninterface Ethernet1/2\n  \
         priority-flow-control watch-dog-interval off\ninterface Ethernet1/3\n  channel-group 9 mode active\n\
         interface Ethernet1/4\n  mtu 9216\n  no mtu\ninterface Ethernet1/5.7\n  mtu 9216\n",
    );
    assert_eq!(strange(&device), 0, "{:?}", device.remarks);
    let mtu = |name: &str| port(&device, name).mtu;
    assert_eq!(mtu("Ethernet1/1").get(), Some(Bytes::new(9216)));
    assert_eq!(mtu("Ethernet1/2"), Said::Default(Bytes::new(1500)));
    assert_eq!(mtu("Ethernet1/3").get(), Some(Bytes::new(9216)));
    assert_eq!(mtu("Ethernet1/4"), Said::Default(Bytes::new(1500)));
    assert_eq!(device.ports.len(), 4);
    let watched = |name: &str| port(&device, name).watchdog.on.get();
    assert_eq!((watched("Ethernet1/1"), watched("Ethernet1/2")), (Some(true), Some(false)));
    let off = read(
        "priority-flow-control watch-dog-interval on\nno priority-flow-control watch-dog-interval\ninterface Ethernet1/1\n  mtu 9216\n",
    );
    assert_eq!(port(&off, "Ethernet1/1").watchdog.on, Said::Default(false));
}

/// Nexus 3000 and 5000 have the MTU of all ports in their network-qos policy.
#[test]
fn mtu_of_all_ports() {
    let device = read(
        "policy-map type network-qos N\n  class type network-qos class-default\n    mtu 9216\n\
         system qos\n  service-policy type network-qos N\ninterface Ethernet1/1\n  no shutdown\n",
    );
    let said = port(&device, "Ethernet1/1").mtu;
    assert_eq!((said.get(), said.place().map(|p| p.first)), (Some(Bytes::new(9216)), Some(3)));
}

#[test]
fn what_it_cannot_say_is_said() {
    let mut device = Device::new("leaf0", super::NxOs.id());
    let mut queues = [crate::qos::QueueSettings::default(); 8];
    queues[6].scheduling = Said::meant(Scheduling::Strict);
    queues[7].scheduling = Said::meant(Scheduling::Weighted(1));
    let mut groups = [crate::qos::GroupSettings::default(); 8];
    groups[3].threshold =
        Said::meant(xoff_fabric::model::Threshold::Dynamic(xoff_units::Ratio::ONE));
    groups[3].headroom = Said::meant(Bytes::new(100_000));
    let port = device.port("Ethernet1/1");
    port.queues = std::sync::Arc::new(queues);
    port.groups = std::sync::Arc::new(groups);
    let mut limits = Vec::new();
    let fitting = super::NxOs.fit(&device, &mut limits);
    assert!(!self::port(&fitting, "Ethernet1/1").groups[3].headroom.is_said());
    assert!(limits.iter().any(|limit| limit.contains("headroom")), "{limits:?}");
    assert!(limits.iter().any(|limit| limit.contains("strict")), "{limits:?}");
}

#[test]
fn classes_by_access_list() {
    let text = "ip access-list RDMA\n  10 permit udp any any eq 4791 dscp af31\n  20 permit ip any any dscp 28\n\
                class-map type qos match-any DATA\n  match access-group name RDMA\n\
                policy-map type qos IN\n  class DATA\n    set qos-group 3\n\
                interface Ethernet1/1\n  service-policy type qos input IN\n";
    let device = read(text);
    let maps = &port(&device, "Ethernet1/1").maps;
    let class = |dscp: usize| maps.dscp_to_class[dscp].get().map(crate::number::Class::get);
    assert_eq!([26, 28, 30].map(class), [Some(3), Some(3), Some(0)]);
    assert_eq!(port(&device, "Ethernet1/1").trust.get(), Some(Trust::Dscp));
    assert_eq!(strange(&device), 0);
    let device =
        read(&text.replace(" dscp af31", "").replace("  20 permit ip any any dscp 28\n", ""));
    assert_eq!(device.count(RemarkKind::Unknown), 1);
}

/// What is larger than its class allows does not fit, whatever the port says.
#[test]
fn a_paused_class_has_an_mtu() {
    let mtu = |class: &str| {
        let network = NETWORK.replace("    mtu 9216\n", class);
        let text = format!(
            "{network}interface Ethernet1/1\n  priority-flow-control mode on\n  mtu 9216\n"
        );
        port(&read(&text), "Ethernet1/1").mtu.get().map(Bytes::get)
    };
    assert_eq!(mtu("    mtu 1500\n"), Some(1500));
    assert_eq!(mtu("    mtu 9216\n"), Some(9216));
    assert_eq!(mtu(""), Some(9216));
    assert_eq!(mtu("    mtu 2240\n"), Some(9216));
}

/// Published configurations have strict queues at the top: CNPs change places with the class that is there.
#[test]
fn strict_queues_have_the_highest_numbers() {
    let mut device = Device::new("leaf0", super::NxOs.id());
    let shares = [48, 1, 1, 47, 1, 1, 0, 1];
    let queue = |share| crate::qos::QueueSettings {
        scheduling: Said::meant(match share {
            0 => Scheduling::Strict,
            share => Scheduling::Weighted(share),
        }),
        ..Default::default()
    };
    let own = device.port("Ethernet1/1");
    own.queues = std::sync::Arc::new(shares.map(queue));
    let maps = std::sync::Arc::make_mut(&mut own.maps);
    for (dscp, class) in [(26, 3), (48, 6), (56, 7)] {
        maps.dscp_to_class[dscp] =
            crate::number::Class::new(class).map_or(Said::Absent, Said::meant);
    }
    let mut limits = Vec::new();
    let fitting = super::NxOs.fit(&device, &mut limits);
    let port = port(&fitting, "Ethernet1/1");
    assert_eq!(port.queues[7].scheduling.get(), Some(Scheduling::Strict));
    assert_eq!(port.queues[6].scheduling.get(), Some(Scheduling::Weighted(1)));
    let class = |dscp: usize| port.maps.dscp_to_class[dscp].get().map(|class| class.get());
    assert_eq!([26, 48, 56].map(class), [3, 7, 6].map(Some));
    assert!(limits.iter().any(|limit| limit.contains("qos-group 7")), "{limits:?}");
    // A second time nothing moves.
    let again = super::NxOs.fit(&fitting, &mut Vec::new());
    assert!(crate::facts::Facts::same(&again, &fitting));
}
