//! RDMA data in tunnels: what the outer header has to keep.

use xoff_config::Files;
use xoff_config::audit::{self, Report};
use xoff_config::device::RemarkKind;
use xoff_config::place::FileId;
use xoff_config::system::{Input, SystemId};
use xoff_fabric::Severity;

const QOS: &str = "qos profile ROCE\n   qos trust dscp\n   priority-flow-control on\n   priority-flow-control priority 3 no-drop\n   \
                   uc-tx-queue 3\n      no priority\n      bandwidth percent 90\n      random-detect ecn minimum-threshold 150 kbytes \
                   maximum-threshold 1500 kbytes max-mark-probability 100\n   uc-tx-queue 6\n      priority strict\n";

/// Two leaves whose hosts are in the overlay, with a statement about tunnels and one about maps.
fn eos(tunnels: &str, maps: &str) -> Report {
    let mut files = Files::default();
    for number in [1, 2] {
        let text = format!(
            "hostname leaf{number}\n{QOS}interface Ethernet1/1\n   mtu 9214\n   speed 400g\n   switchport access vlan 10\n   \
             service-profile ROCE\ninterface Ethernet2/1\n   mtu 9214\n   speed 400g\n   no switchport\n   service-profile ROCE\n\
             interface Vxlan1\n   vxlan vlan 10 vni 10010\n{tunnels}qos map dscp 26 to traffic-class 3\n{maps}"
        );
        files.add(format!("leaf{number}.cfg"), text);
    }
    let found = audit::read(&files);
    audit::audit_with(&found.devices, &found.cables, None)
}

fn about(report: &Report, rule: &str) -> Vec<(Severity, usize)> {
    let own = report.findings.iter().filter(|finding| finding.rule.id == rule);
    own.map(|finding| (finding.severity, finding.ports.len())).collect()
}

const CARRIED: &str = "   vxlan qos ecn propagation\n";

#[test]
fn the_class_of_the_outer_header_is_followed() {
    // By its class, RDMA data is written as 24, which is in class 3, too.
    assert_eq!(about(&eos(CARRIED, ""), "tunnel-class"), []);
    // Unless a map has 24 elsewhere, or writes something else.
    let error = [(Severity::Error, 1), (Severity::Error, 1)];
    assert_eq!(about(&eos(CARRIED, "qos map dscp 24 to traffic-class 1\n"), "tunnel-class"), error);
    let zero = "qos map traffic-class 3 to dscp 0\n";
    let report = eos(CARRIED, zero);
    assert_eq!(about(&report, "tunnel-class"), error);
    assert!(report.findings[0].message.contains("outer DSCP 0"), "{}", report.findings[0].message);
    let copied = format!("{CARRIED}   vxlan qos dscp propagation encapsulation\n");
    assert_eq!(about(&eos(&copied, zero), "tunnel-class"), []);
}

#[test]
fn marks_are_carried() {
    let warning = [(Severity::Warning, 1), (Severity::Warning, 1)];
    assert_eq!(about(&eos("", ""), "tunnel-marks"), warning);
    assert_eq!(about(&eos(CARRIED, ""), "tunnel-marks"), []);
}

#[test]
fn ports_outside_of_the_overlay_are_left_alone() {
    let elsewhere = "   vxlan vlan 10 vni 10010\n";
    let mut files = Files::default();
    let text = format!(
        "hostname leaf1\n{QOS}interface Ethernet1/1\n   mtu 9214\n   switchport access vlan 11\n   service-profile ROCE\n\
         interface Vxlan1\n{elsewhere}qos map traffic-class 3 to dscp 0\n"
    );
    files.add("leaf1.cfg", text);
    let found = audit::read(&files);
    let report = audit::audit_with(&found.devices, &found.cables, None);
    assert_eq!(about(&report, "tunnel-class"), []);
    assert_eq!(about(&report, "tunnel-marks"), []);
}

#[test]
fn sonic_s_pipes_lose_the_class_and_its_remapping_does_not() {
    let maps = |more: &str| {
        format!(
            "{{\"DEVICE_METADATA\": {{\"localhost\": {{\"hostname\": \"tor1\"}}}},\n\
             \"DSCP_TO_TC_MAP\": {{\"AZURE\": {{\"0\": \"0\", \"2\": \"2\", \"26\": \"3\", \"48\": \"6\"}}}},\n\
             \"TC_TO_QUEUE_MAP\": {{\"AZURE\": {{\"0\": \"0\", \"2\": \"2\", \"3\": \"3\", \"6\": \"6\"}}}},\n\
             \"TC_TO_DSCP_MAP\": {{\"TUNNEL\": {{\"3\": \"2\"}}}},\n\
             \"PORT\": {{\"Ethernet0\": {{\"speed\": \"100000\"}}, \"Ethernet4\": {{\"speed\": \"100000\"}}}},\n\
             \"PORT_QOS_MAP\": {{\"Ethernet0,Ethernet4\": {{\"dscp_to_tc_map\": \"AZURE\", \"tc_to_queue_map\": \"AZURE\", \
             \"pfc_enable\": \"2,3\"}}}},\n\"MUX_CABLE\": {{\"Ethernet0\": {{\"state\": \"auto\"}}}},\n\
             \"TUNNEL\": {{\"MuxTunnel0\": {{\"tunnel_type\": \"IPINIP\"{more}}}}}}}\n"
        )
    };
    let audited = |more: &str| {
        let mut files = Files::default();
        files.add("tor1.json", maps(more));
        let found = audit::read(&files);
        let report = audit::audit_with(&found.devices, &found.cables, None);
        about(&report, "tunnel-class").len()
    };
    assert_eq!(audited(", \"dscp_mode\": \"uniform\""), 0);
    assert_eq!(audited(", \"dscp_mode\": \"pipe\""), 1);
    assert_eq!(audited(", \"dscp_mode\": \"pipe\", \"encap_tc_to_dscp_map\": \"TUNNEL\""), 0);
}

/// What is read and not judged is said, where there is RoCE.
#[test]
fn what_is_not_followed_is_said() {
    let roce = "hostname leaf\nclass-map type qos match-any ROCE\n  match dscp 26\npolicy-map type qos IN\n  class ROCE\n    \
                set qos-group 3\n    set dscp 10\npolicy-map type network-qos N\n  class type network-qos c-8q-nq3\n    \
                mtu 9216\n    pause pfc-cos 3\nsystem qos\n  service-policy type network-qos N\ninterface Ethernet1/1\n  \
                priority-flow-control mode on\n  mtu 9216\n  service-policy type qos input IN\n";
    let notes = |text: &str| {
        let mut files = Files::default();
        files.add("leaf.cfg", text);
        let found = audit::read(&files);
        audit::audit_with(&found.devices, &found.cables, None).notes
    };
    let tunnel = "interface nve1\n  no shutdown\n  member vni 10010\n    suppress-arp\n";
    let said = |notes: &[String], word: &str| notes.iter().any(|note| note.contains(word));
    let both = notes(&format!("{roce}{tunnel}"));
    assert!(said(&both, "nx-os, 1 of 1 devices put packets into tunnels"), "{both:?}");
    assert!(said(&both, "nx-os, 1 of 1 devices rewrite DSCPs"), "{both:?}");
    let neither = notes(&roce.replace("    set dscp 10\n", ""));
    assert!(!said(&neither, "tunnels") && !said(&neither, "rewrite"), "{neither:?}");
}

#[test]
fn tunnels_of_other_systems_are_seen() {
    let count = |system: SystemId, text: &str| {
        let device = system.system().parse(&Input { name: "x", file: FileId(0), text });
        (device.count(RemarkKind::Tunnel), device.count(RemarkKind::Rewrite))
    };
    let set = "set vlans v10 vlan-id 10\nset vlans v10 vxlan vni 10010\n\
               set class-of-service interfaces et-0/0/1 unit 0 rewrite-rules dscp R\n";
    assert_eq!(count(SystemId::JunosSet, set), (1, 1));
    let braces = "vlans { v10 { vlan-id 10; vxlan { vni 10010; } } }\n";
    assert_eq!(count(SystemId::Junos, braces), (1, 0));
    assert_eq!(count(SystemId::PicOs, "set vxlans vni 10010 vlan 10\n"), (1, 0));
    let os10 = "virtual-network 10\n vxlan-vni 10010\n!\nvirtual-network 11\n!\n";
    assert_eq!(count(SystemId::Os10, os10), (1, 0));
    let eos = "qos rewrite dscp\n";
    assert_eq!(count(SystemId::Eos, eos), (0, 1));
    assert_eq!(count(SystemId::Eos, "no qos rewrite dscp\n"), (0, 0));
}
