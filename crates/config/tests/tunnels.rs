//! RDMA data in tunnels: what the outer header has to keep.

use xoff_config::Files;
use xoff_config::audit::{self, Report};
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
