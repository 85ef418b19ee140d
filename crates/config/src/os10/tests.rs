use super::parse;
use crate::device::{Device, Port, PortName, RemarkKind};
use crate::number::{Group, Priorities, Priority, Queue};
use crate::place::{FileId, Said};
use crate::qos::{Levels, Trust};
use crate::system::{Input, System};
use xoff_fabric::model::{Scheduling, Threshold};
use xoff_units::{Bytes, Ratio};

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

const POLICIES: &str = "wred ECN\n random-detect color green minimum-threshold 500 maximum-threshold 1500 drop-probability 20\n \
    random-detect color yellow minimum-threshold 1 maximum-threshold 2 drop-probability 100\n random-detect ecn\n!\n\
    class-map type network-qos N3\n match qos-group 3\n!\nclass-map type queuing Q0\n match queue 0\n!\n\
    class-map type queuing Q3\n match queue 3\n!\ntrust dscp-map D\n qos-group 3 dscp 26\n qos-group 6 dscp 48-50, 52\n!\n\
    trust dot1p-map V\n qos-group 0 dot1p 0-2,4-7\n qos-group 3 dot1p 3\n!\n\
    qos-map traffic-class T\n queue 0 qos-group 0-2, 4-7\n queue 3 qos-group 3\n!\n\
    policy-map type network-qos P\n !\n class N3\n  pause buffer-size 100 pause-threshold 60 resume-threshold 40\n  pfc-cos 3\n!\n\
    policy-map type queuing E\n !\n class Q0\n  bandwidth percent 30\n !\n class Q3\n  bandwidth percent 70\n  random-detect ECN\n!\n";

fn with(text: &str) -> Device {
    read(&format!("{POLICIES}{text}"))
}

#[test]
fn every_port_of_a_range_gets_its_settings() {
    let device = with(
        "interface range ethernet1/1/1-1/1/2,1/1/4:1-1/1/4:2\n description \"leaf1 ethernet1/1/9:1\"\n mtu 9216\n \
         flowcontrol receive off\n priority-flow-control mode on\n service-policy input type network-qos P\n \
         service-policy output type queuing E\n ets mode on\n qos-map traffic-class T\n trust-map dscp D\n \
         dcbx version ieee\n fast and furious\n!\n",
    );
    let names: Vec<&str> = device.ports.keys().map(PortName::as_str).collect();
    assert_eq!(names, ["ethernet1/1/1", "ethernet1/1/2", "ethernet1/1/4:1", "ethernet1/1/4:2"]);
    // One line is foreign, once.
    assert_eq!((strange(&device), device.remarks.len()), (0, 1), "{:?}", device.remarks);
    for port in device.ports.values() {
        assert_eq!((port.mtu.get(), port.pfc.get()), (Some(Bytes::new(9216)), Some(three())));
        assert_eq!(port.trust.get(), Some(Trust::Dscp));
        let class = |dscp: usize| port.maps.dscp_to_class[dscp].get().map(|class| class.get());
        assert_eq!([26, 48, 50, 52, 0].map(class), [3, 6, 6, 6, 0].map(Some));
        assert_eq!(port.maps.class_to_queue[6].get(), Queue::new(0));
        assert_eq!(port.maps.pfc_to_group[3].get(), Group::new(3));
        assert_eq!(port.queues[0].scheduling.get(), Some(Scheduling::Weighted(30)));
        let wred = port.queues[3].wred.get().unwrap();
        let Levels::Sizes(ecn) = wred.levels else { panic!("{wred:?}") };
        assert_eq!((ecn.kmin.get(), ecn.kmax.get(), wred.marks), (500_000, 1_500_000, true));
        assert_eq!(ecn.pmax, Ratio::new(1, 5));
        let group = &port.groups[3];
        assert_eq!(group.threshold.get(), Some(Threshold::Static(Bytes::new(60_000))));
        assert_eq!(group.headroom.get(), Some(Bytes::new(40_000)));
        assert_eq!(group.xon_offset.get(), Some(Bytes::new(20_000)));
        let peer = port.neighbour.value().unwrap();
        assert_eq!((&*peer.device, peer.port.as_deref()), ("leaf1", Some("ethernet1/1/9:1")));
    }
    let wrong = read("interface range ethernet1/1/8-1/1/1\n mtu 9216\n");
    assert_eq!((wrong.count(RemarkKind::Malformed), wrong.ports.len()), (1, 0));
}

#[test]
fn what_takes_back() {
    let all = "interface range ethernet 1/1/1-1/1/4\n mtu 9216\n priority-flow-control mode on\n \
               service-policy input type network-qos P\n service-policy output type queuing E\n trust-map dscp D\n";
    let device = with(&format!(
        "{all}interface ethernet1/1/1\n no priority-flow-control mode\n no mtu\n\
         interface ethernet1/1/2\n no service-policy input type network-qos P\n no service-policy output type queuing\n\
         interface ethernet1/1/3\n no trust-map\n priority-flow-control mode off\n\
         default interface ethernet1/1/4\n"
    ));
    assert_eq!(strange(&device), 0, "{:?}", device.remarks);
    let [one, two, three] = [1, 2, 3].map(|n| port(&device, &format!("ethernet1/1/{n}")));
    assert_eq!((one.pfc.get(), one.mtu), (Some(Priorities::NONE), Said::Default(Bytes::new(1532))));
    assert!(one.pfc.is_said());
    assert_eq!((two.pfc.get(), two.queues[3].scheduling), (Some(Priorities::NONE), Said::Absent));
    assert_eq!(
        (three.trust.get(), three.pfc.get()),
        (Some(Trust::Nothing), Some(Priorities::NONE))
    );
    assert_eq!(device.ports.len(), 3);
    let pauses = |line: &str| {
        let text = POLICIES.replace("  pfc-cos 3\n", line);
        let text = format!("{text}{all}");
        port(&read(&text), "ethernet1/1/1").pfc.get()
    };
    assert_eq!(pauses("  pfc-cos 3\n  no pause\n"), Some(Priorities::NONE));
    assert_eq!(pauses("  pfc-cos 3\n  no pfc-cos\n"), Some(Priorities::NONE));
}

#[test]
fn defaults_bundles_and_policies_that_are_not_there() {
    let device = with(
        "default mtu 9100\nsystem qos\n trust-map dot1p V\ninterface port-channel7\n mtu 9216\n\
         interface ethernet1/1/1\n channel-group 7 mode active\ninterface ethernet1/1/2\n \
         service-policy input type network-qos GONE\n priority-flow-control mode on\n",
    );
    assert_eq!(port(&device, "ethernet1/1/1").mtu.get(), Some(Bytes::new(9216)));
    assert_eq!(port(&device, "ethernet1/1/2").mtu.get(), Some(Bytes::new(9100)));
    assert_eq!(port(&device, "ethernet1/1/1").trust.get(), Some(Trust::Pcp));
    assert_eq!(device.count(RemarkKind::Malformed), 1);
}

#[test]
fn policies_that_classify() {
    let device = with(
        "class-map type qos R\n match ip dscp 26\npolicy-map type qos C\n class R\n  set qos-group 3\n\
         interface ethernet1/1/1\n service-policy input type qos C\n",
    );
    assert_eq!(strange(&device), 0, "{:?}", device.remarks);
    let port = port(&device, "ethernet1/1/1");
    assert_eq!(port.trust.get(), Some(Trust::Dscp));
    assert_eq!(port.maps.dscp_to_class[26].get().map(|class| class.get()), Some(3));
}

#[test]
fn what_it_cannot_say_is_said() {
    let device = with(
        "interface ethernet1/1/1\n priority-flow-control mode on\n service-policy input type network-qos P\n",
    );
    let mut limits = Vec::new();
    let fitting = super::Os10.fit(&device, &mut limits);
    assert!(port(&fitting, "ethernet1/1/1").groups[3].is_absent());
    assert!(limits.iter().any(|limit| limit.contains("headroom")), "{limits:?}");
}
