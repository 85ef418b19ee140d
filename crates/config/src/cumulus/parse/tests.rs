use super::*;
use crate::cumulus::roce::USUAL_ECN;
use crate::device::{Port, PortName};
use crate::number::Group;
use crate::place::FileId;
use crate::qos::Levels;
use xoff_fabric::model::{Ecn, Threshold};
use xoff_units::Ratio;

fn read(text: &str) -> Device {
    commands(&Input { name: "leaf0", file: FileId(0), text })
}

fn port<'d>(device: &'d Device, name: &str) -> &'d Port {
    &device.ports[&PortName::new(name)]
}

fn remarks(device: &Device) -> Vec<(u32, RemarkKind)> {
    device.remarks.iter().map(|remark| (remark.place.first, remark.kind)).collect()
}

const BOUND: &str = "nv set interface swp1 qos congestion-control profile E\n";

#[test]
fn thresholds_alone_turn_marking_on() {
    let text = "nv set qos congestion-control E traffic-class 3 min-threshold 40000\n\
                nv set qos congestion-control E traffic-class 3 max-threshold 200000\n";
    let device = read(&format!("{text}{BOUND}"));
    let wred = port(&device, "swp1").queues[3].wred.get().unwrap();
    assert!(wred.marks);
    let wanted = Ecn { kmin: Bytes::new(40_000), kmax: Bytes::new(200_000), pmax: Ratio::ONE };
    assert_eq!(wred.levels, Levels::Sizes(wanted));
    // What is not said is as usual.
    let device = read(&format!("{}{BOUND}", text.lines().next().unwrap().to_owned() + "\n"));
    let wred = port(&device, "swp1").queues[3].wred.get().unwrap();
    assert_eq!(wred.levels.sizes(None).unwrap().kmax, USUAL_ECN.kmax);
    // RED changes nothing about it, and off is off.
    let red = "nv set qos congestion-control E traffic-class 3 red enable\n";
    let device = read(&format!("{text}{red}{BOUND}"));
    assert!(port(&device, "swp1").queues[3].wred.get().unwrap().marks);
    let off = "nv set qos congestion-control E traffic-class 3 ecn disable\n";
    let device = read(&format!("{text}{off}{BOUND}"));
    assert!(!port(&device, "swp1").queues[3].wred.get().unwrap().marks);
}

#[test]
fn thresholds_can_be_shares_of_the_queue() {
    let text = "nv set qos congestion-control E traffic-class 3 mode relative\n\
                nv set qos congestion-control E traffic-class 3 min-threshold-percent 20\n\
                nv set qos congestion-control E traffic-class 3 max-threshold-percent 80\n";
    let device = read(&format!("{text}{BOUND}"));
    let wred = port(&device, "swp1").queues[3].wred.get().unwrap();
    let share = |percent| Ratio::new(percent, 100);
    let wanted = Levels::Fill { min: share(20), max: share(80), pmax: share(100) };
    assert_eq!((wred.levels, remarks(&device)), (wanted, vec![]));
}

#[test]
fn pfc_has_headroom_when_a_lossless_pool_has_memory() {
    let pfc = "nv set qos pfc P switch-priority 3\nnv set interface swp1 qos pfc profile P\n";
    let bare = read(pfc);
    assert_eq!(port(&bare, "swp1").groups[3].headroom.get(), Some(Bytes::ZERO));
    let pool = "nv set qos traffic-pool default-lossless memory-percent 50\n";
    let device = read(&format!("{pool}{pfc}"));
    assert_eq!(port(&device, "swp1").groups[3].headroom, Said::Absent);
    assert_eq!(remarks(&device), []);
    let empty = pool.replace("50", "0");
    let device = read(&format!("{empty}{pfc}"));
    assert_eq!(port(&device, "swp1").groups[3].headroom.get(), Some(Bytes::ZERO));
    let wrong = read(&pool.replace("50", "150"));
    assert_eq!(remarks(&wrong), [(1, RemarkKind::Malformed)]);
}

#[test]
fn the_map_of_queues_is_the_box_s() {
    let text = "nv set qos egress-queue-mapping default-global switch-priority 3 traffic-class 5\n\
                nv set qos egress-queue-mapping ROCE switch-priority 4 traffic-class 6\n\
                nv set interface swp1-2 qos egress-queue-mapping profile ROCE\n";
    let device = read(text);
    assert_eq!(remarks(&device), [(2, RemarkKind::Unknown), (3, RemarkKind::Unknown)]);
    for name in ["swp1", "swp2"] {
        let maps = &port(&device, name).maps;
        assert_eq!(maps.class_to_queue[3].get(), Queue::new(5));
        assert_eq!(maps.class_to_queue[4].get(), Queue::new(4));
    }
}

#[test]
fn modes_of_roce() {
    let paused = |text: &str| {
        let device = read(&format!("{text}\nnv set interface swp1 link state up\n"));
        assert_eq!(remarks(&device), [], "{text}");
        let port = port(&device, "swp1");
        let marks = port.queues[3].wred.get().is_some_and(|wred| wred.marks);
        (port.pfc.get().unwrap().to_string(), marks, port.cable.get())
    };
    let of =
        |set: &str, marks, cable: Option<u64>| (set.to_owned(), marks, cable.map(Length::from_m));
    assert_eq!(paused("nv set qos roce"), of("3", true, Some(100)));
    assert_eq!(paused("nv set qos roce mode lossless-single-ipool"), of("3", true, Some(100)));
    assert_eq!(paused("nv set qos roce mode lossy"), of("none", true, None));
    assert_eq!(paused("nv set qos roce mode lossy\nnv set qos roce"), of("none", true, None));
    assert_eq!(paused("nv set qos roce mode dci-1"), of("3", true, Some(100)));
    assert_eq!(paused("nv set qos roce mode lossy-multi-tc"), of("none", true, None));
    assert_eq!(paused("nv set qos roce\nnv set qos roce cable-length 40"), of("3", true, Some(40)));
    assert_eq!(paused("nv set qos roce\nnv set qos roce state disabled"), of("none", false, None));
    let device = read("nv set qos roce mode fast\n");
    assert_eq!(remarks(&device), [(1, RemarkKind::Malformed)]);
}

#[test]
fn a_mode_with_trimming_has_maps_of_its_own() {
    let device = read("nv set qos roce mode lossy-multi-tc\nnv set interface swp1 link state up\n");
    let maps = &port(&device, "swp1").maps;
    let class = |dscp: usize| maps.dscp_to_class[dscp].get().map(Class::get);
    assert_eq!([0, 2, 26, 48, 63].map(class), [0, 1, 4, 5, 0].map(Some));
}

#[test]
fn the_pause_threshold_is_the_box_s() {
    let text = "nv set qos advance-buffer-config default-global ingress-lossless-buffer shared-alpha alpha_8\n\
                nv set qos roce\nnv set interface swp1 link state up\n";
    let device = read(text);
    let groups = &port(&device, "swp1").groups;
    let alpha = Threshold::Dynamic(Ratio::new(8, 1));
    assert_eq!(groups[3].threshold.get(), Some(alpha));
    assert_eq!(groups[0].threshold, Said::Absent);
    assert_eq!(port(&device, "swp1").maps.group_of(Dscp::new(26).unwrap()), Group::new(3));
    let wrong = read(&text.replace("alpha_8", "alpha_9"));
    assert_eq!(remarks(&wrong), [(1, RemarkKind::Malformed)]);
}

#[test]
fn what_a_port_does_by_itself() {
    let device = read("nv set interface swp1 link state up\n");
    let port = port(&device, "swp1");
    assert_eq!(port.mtu, Said::Default(Bytes::new(9216)));
    assert_eq!(port.queues[0].wred, Said::Default(super::super::USUAL_MARKING));
    assert_eq!(port.queues[3].wred, Said::Absent);
}

#[test]
fn lists_of_ports() {
    assert_eq!(ports_of_list("swp1,swp3-4"), ["swp1", "swp3", "swp4"]);
    assert_eq!(ports_of_list("swp1s0-1,swp2"), ["swp1s0", "swp1s1", "swp2"]);
    assert_eq!(ports_of_list("swp1-2,51"), ["swp1", "swp2", "swp51"]);
    assert_eq!(ports_of_list("swp1-swp2"), ["swp1", "swp2"]);
    assert_eq!(ports_of_list("swp1-99999999"), ["swp1-99999999"]);
    let device = read("nv set interface swp1-32 qos fast on\n");
    assert_eq!(remarks(&device), [(1, RemarkKind::Unknown)]);
}

#[test]
fn yaml_that_ends_in_the_middle() {
    let whole = "- set:\n    interface:\n      swp1:\n        qos:\n          pfc-watchdog: {}\n";
    let cut =
        |text: &str| yaml(&Input { name: "x", file: FileId(0), text }).count(RemarkKind::Truncated);
    assert_eq!(cut(whole), 0);
    assert_eq!(cut(&format!("{whole}cumulus@leaf0:mgmt:~$\n")), 0);
    for end in [whole.len() - 4, whole.len() - 6, whole.len() - 24, whole.len() - 30, 20] {
        assert_eq!(cut(&whole[..end]), 1, "{}", &whole[..end]);
    }
}

#[test]
fn tunnels_and_the_ports_that_go_into_them() {
    let text = "nv set interface swp1 bridge domain br_default access 10\n\
                nv set interface swp2 bridge domain br_default\n\
                nv set interface swp3 ip vrf RED\nnv set interface swp4 link mtu 9216\n\
                nv set bridge domain br_default vlan 10 vni 10\nnv set vrf RED evpn vni 4001\n\
                nv set nve vxlan source address 10.10.10.1\n";
    let device = read(text);
    let tunnelled = |name: &str| port(&device, name).tunnelled.get().unwrap();
    assert_eq!(["swp1", "swp2", "swp3", "swp4"].map(tunnelled), [true, true, true, false]);
    let (data, class) = (Dscp::new(26).unwrap(), Class::new(3));
    assert_eq!(device.tunnels.outer(data, class), Dscp::new(24));
    let set = |line: &str| read(&format!("{text}nv set nve vxlan {line}\n"));
    let copied = set("encapsulation dscp action copy");
    assert_eq!(copied.tunnels.outer(data, class), Some(data));
    let fixed = set("encapsulation dscp action set\nnv set nve vxlan encapsulation dscp value 16");
    assert_eq!(fixed.tunnels.outer(data, class), Dscp::new(16));
    let kept = set("decapsulation dscp action preserve");
    assert_eq!(kept.tunnels.inner(data, Dscp::new(16).unwrap(), class), Some(data));
    let wrong = set("encapsulation dscp action maybe");
    assert_eq!(remarks(&wrong).last(), Some(&(8, RemarkKind::Malformed)));
}

#[test]
fn what_is_unset_was_never_set() {
    let text = "nv set qos pfc P switch-priority 3,4\nnv set qos pfc P tx enable\nnv set interface swp1 qos pfc profile P\n";
    let pauses = |text: &str| port(&read(text), "swp1").pfc.get().map(|set| set.to_string());
    assert_eq!(pauses(text), Some("3,4".into()));
    let fixed = format!(
        "{text}nv unset qos pfc P switch-priority 3,4\nnv set qos pfc P switch-priority 3\n"
    );
    assert_eq!(remarks(&read(&fixed)), []);
    assert_eq!(pauses(&fixed), Some("3".into()));
    // What is not there cannot go.
    let other = read(&format!("{text}nv unset qos pfc Q\n"));
    assert_eq!(remarks(&other), [(4, RemarkKind::Unknown)]);
}

#[test]
fn what_is_unset_at_a_port() {
    let text = "nv set qos pfc P switch-priority 3\nnv set interface swp1-2 qos pfc profile P\nnv set interface swp1-2 link mtu 9000\n\
                nv set interface swp1-2 qos pfc-watchdog\n";
    let unset = |what: &str| read(&format!("{text}nv unset interface swp2 {what}\n"));
    let pauses =
        |device: &Device, name: &str| port(device, name).pfc.get().map(|set| set.to_string());
    for what in ["qos pfc", "qos pfc profile", "qos pfc profile P", "qos"] {
        let device = unset(what);
        assert_eq!(remarks(&device), [], "{what}");
        assert_eq!(pauses(&device, "swp1"), Some("3".into()), "{what}");
        assert_ne!(pauses(&device, "swp2"), Some("3".into()), "{what}");
    }
    let device = unset("qos pfc-watchdog");
    assert_eq!(
        ["swp1", "swp2"].map(|name| port(&device, name).watchdog.on.is_said()),
        [true, false]
    );
    let device = unset("link mtu");
    assert_eq!(["swp1", "swp2"].map(|name| port(&device, name).mtu.is_said()), [true, false]);
    assert_eq!(remarks(&unset("qos something")), [(5, RemarkKind::Unknown)]);
}

/// The mode of RoCE stands for the profiles for all: one that a port is bound to says everything itself.
#[test]
fn a_profile_of_its_own_says_everything_itself() {
    let text = "nv set qos roce\nnv set qos pfc P cable-length 30\nnv set qos congestion-control C traffic-class 0 ecn enable\n\
                nv set interface swp1 qos pfc profile P\nnv set interface swp1 qos congestion-control profile C\n\
                nv set interface swp2 link mtu 9000\n";
    let device = read(text);
    assert_eq!(remarks(&device), []);
    let (own, usual) = (port(&device, "swp1"), port(&device, "swp2"));
    let pauses = |port: &Port| port.pfc.get().map(|set| set.to_string());
    assert_eq!(pauses(usual), Some("3".into()));
    assert_eq!(own.pfc.get(), Some(Priorities::NONE));
    assert!(usual.queues[3].wred.is_said() && !own.queues[3].wred.is_said());
    // Whatever kind is not bound is as the mode has it.
    assert_eq!(own.queues[6].scheduling.get(), usual.queues[6].scheduling.get());
    assert_eq!(own.trust.get(), Some(Trust::Both));
}

#[test]
fn profiles_that_are_bound_and_not_defined() {
    let text = "nv set qos roce\nnv set interface swp1-4 qos pfc profile P\nnv set interface swp1 qos pfc profile default-global\n";
    assert_eq!(remarks(&read(text)), [(2, RemarkKind::Undefined)]);
    let defined = format!("{text}nv set qos pfc P switch-priority 3\n");
    assert_eq!(remarks(&read(&defined)), []);
}
