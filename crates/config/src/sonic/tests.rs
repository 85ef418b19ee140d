use super::*;
use crate::device::{PortName, RemarkKind};
use crate::number::{Class, Dscp};
use crate::place::FileId;

fn read(text: &str) -> Device {
    Sonic.parse(&Input { name: "leaf0", file: FileId(0), text })
}

fn port<'d>(device: &'d Device, name: &str) -> &'d Port {
    &device.ports[&PortName::new(name)]
}

const MAPS: &str = "\"DSCP_TO_TC_MAP\": {\"AZURE\": {\"26\": \"3\", \"48\": \"6\"}},\n";

#[test]
fn a_text_that_is_cut_off_is_told_from_a_broken_one() {
    let whole = format!("{{{MAPS}\"PORT\": {{\"Ethernet0\": {{\"mtu\": \"9100\"}}}}}}\n");
    assert_eq!(read(&whole).remarks, []);
    for end in 1..whole.trim_end().len() {
        let device = read(&whole[..end]);
        assert_eq!(device.count(RemarkKind::Truncated), 1, "{}", &whole[..end]);
        assert_eq!(device.count(RemarkKind::Malformed), 0, "{}", &whole[..end]);
    }
    let broken = whole.replace("\"mtu\":", "\"mtu\"");
    let device = read(&broken);
    assert_eq!((device.count(RemarkKind::Truncated), device.count(RemarkKind::Malformed)), (0, 1));
}

#[test]
fn classes_out_of_range_are_remarked() {
    let text = "{\"DSCP_TO_TC_MAP\": {\"A\": {\"26\": \"3\",\n\"33\": \"8\"}},\n\
                \"TC_TO_QUEUE_MAP\": {\"A\": {\"3\": \"3\",\n\"8\": \"1\",\n\"4\": \"9\"}},\n\
                \"PORT_QOS_MAP\": {\"Ethernet0\": {\"dscp_to_tc_map\": \"A\", \"tc_to_queue_map\": \"A\"}}}";
    let device = read(text);
    let lines: Vec<u32> = device.remarks.iter().map(|remark| remark.place.first).collect();
    // The ninth is one that a box may have, and that is not in the model.
    assert_eq!((lines, device.count(RemarkKind::Malformed)), (vec![2, 4, 5], 1));
    assert_eq!(device.count(RemarkKind::Unknown), 2);
}

#[test]
fn a_map_for_the_whole_switch_holds_at_ports_without_one() {
    let text = format!(
        "{{{MAPS}\"PORT_QOS_MAP\": {{\"global\": {{\"dscp_to_tc_map\": \"AZURE\"}}, \
         \"Ethernet0,Ethernet4\": {{\"pfc_enable\": \"3,4\"}}}}}}"
    );
    let device = read(&text);
    for name in ["Ethernet0", "Ethernet4"] {
        let port = port(&device, name);
        assert_eq!(port.trust.get(), Some(Trust::Dscp));
        assert_eq!(port.maps.dscp_to_class[26].get(), Class::new(3));
        assert_eq!(port.pfc.get().unwrap().to_string(), "3,4");
    }
    assert_eq!((device.ports.len(), device.remarks.len()), (2, 0));
}

#[test]
fn lists_and_ranges_in_keys() {
    let text = "{\"SCHEDULER\": {\"s\": {\"type\": \"STRICT\"}},\n\
                \"QUEUE\": {\"Ethernet0,Ethernet4|3-4\": {\"scheduler\": \"s\"},\n\
                \"Ethernet0|10\": {\"scheduler\": \"s\"}},\n\
                \"PFC_WD\": {\"Ethernet0,Ethernet4\": {\"action\": \"drop\", \"detection_time\": \"200\"}}}";
    let device = read(text);
    for name in ["Ethernet0", "Ethernet4"] {
        assert!(port(&device, name).queues[4].scheduling.is_said());
        assert_eq!(port(&device, name).watchdog.on.get(), Some(true));
    }
    // A queue for multicast is counted, not dropped.
    assert_eq!((device.count(RemarkKind::Foreign), device.remarks.len()), (1, 1));
}

#[test]
fn what_a_port_does_by_itself_and_what_it_leads_to() {
    let text = "{\"PORT\": {\"Ethernet0\": {\"description\": \"facing_spine1:Ethernet8\"},\n\
                \"Ethernet4\": {\"mtu\": \"9216\"}},\n\
                \"DEVICE_NEIGHBOR\": {\"Ethernet4\": {\"name\": \"spine2\", \"port\": \"Ethernet16\"}},\n\
                \"PORT_QOS_MAP\": {\"Ethernet8\": {\"pfc_enable\": \"3\"}}}";
    let device = read(text);
    assert_eq!(port(&device, "Ethernet0").mtu, Said::Default(Bytes::new(9100)));
    assert_eq!(port(&device, "Ethernet4").mtu.said(), Some(&Bytes::new(9216)));
    // A part of a configuration says nothing of ports that it only binds.
    assert_eq!(port(&device, "Ethernet8").mtu, Said::Absent);
    let peer = |name: &str| {
        let found = port(&device, name).neighbour.value().unwrap();
        (found.device.clone(), found.port.clone().unwrap())
    };
    assert_eq!(peer("Ethernet0"), ("spine1".to_owned(), "Ethernet8".to_owned()));
    assert_eq!(peer("Ethernet4"), ("spine2".to_owned(), "Ethernet16".to_owned()));
}

#[test]
fn the_lossless_pool_is_the_one_that_profiles_name() {
    let text = "{\"BUFFER_POOL\": {\"ingress_pool\": {\"type\": \"ingress\", \"mode\": \"dynamic\", \
                \"size\": \"1000\", \"xoff\": \"50\", \"colour\": \"x\"}},\n\
                \"BUFFER_PROFILE\": {\"p\": {\"pool\": \"[BUFFER_POOL|ingress_pool]\", \"xoff\": \"10\", \
                \"size\": \"20\", \"dynamic_th\": \"0\"}}}";
    let device = read(text);
    assert_eq!(device.shared_buffer.get(), Some(Bytes::new(1000)));
    assert_eq!(device.headroom_pool.get(), Some(Bytes::new(50)));
    assert_eq!((device.count(RemarkKind::Unknown), device.remarks.len()), (1, 1));
}

#[test]
fn what_cannot_be_said_is_a_limit() {
    use crate::qos::GroupSettings;
    use std::sync::Arc;
    let mut device = Device::new("leaf0", SystemId::Sonic);
    let mut limits = Vec::new();
    let third = Threshold::Dynamic(xoff_units::Ratio::new(1, 3));
    let port = device.port("Ethernet0");
    let group = GroupSettings { threshold: Said::meant(third), ..GroupSettings::default() };
    port.groups = Arc::new([group; 8]);
    port.watchdog.on = Said::meant(true);
    port.watchdog.detect = Said::meant(Span::from_ms(50));
    let fitted = Sonic.fit(&device, &mut limits);
    assert_eq!(limits.len(), 2, "{limits:?}");
    limits.clear();
    Sonic.fit(&fitted, &mut limits);
    assert_eq!(limits, [""; 0]);
}

#[test]
fn tunnels_of_switches_that_share_servers() {
    let text = "{\"PORT\": {\"Ethernet0\": {}, \"Ethernet4\": {}},\n\
                \"MUX_CABLE\": {\"Ethernet0\": {\"state\": \"auto\"}, \"Ethernet99\": {}},\n\
                \"TC_TO_DSCP_MAP\": {\"AZURE_TUNNEL\": {\"3\": \"2\"}},\n\
                \"TUNNEL\": {\"MuxTunnel0\": {\"dscp_mode\": \"uniform\", \"tunnel_type\": \"IPINIP\"}}}";
    let (data, class) = (Dscp::new(26).unwrap(), Class::new(3));
    let device = read(text);
    assert_eq!(port(&device, "Ethernet0").tunnelled.get(), Some(true));
    assert_eq!(port(&device, "Ethernet4").tunnelled.get(), Some(false));
    assert_eq!(device.ports.len(), 2);
    assert_eq!(device.tunnels.outer(data, class), Some(data));
    let pipe = read(&text.replace("uniform", "pipe"));
    assert_eq!(pipe.tunnels.outer(data, class), Dscp::new(0));
    assert_eq!(pipe.tunnels.inner(data, Dscp::new(0).unwrap(), class), Some(data));
    let mapped =
        read(&text.replace("\"uniform\"", "\"pipe\", \"encap_tc_to_dscp_map\": \"AZURE_TUNNEL\""));
    assert_eq!(mapped.tunnels.outer(data, class), Dscp::new(2));
    let wrong = read(&text.replace("uniform", "tube"));
    assert_eq!(wrong.count(RemarkKind::Malformed), 2);
}

#[test]
fn ports_of_the_overlay() {
    let text = "{\"PORT\": {\"Ethernet0\": {}, \"Ethernet4\": {}, \"Ethernet8\": {}},\n\
                \"VLAN_MEMBER\": {\"Vlan10|Ethernet0\": {}, \"Vlan11|Ethernet4\": {}},\n\
                \"INTERFACE\": {\"Ethernet8\": {\"vrf_name\": \"VrfRed\"}},\n\
                \"VRF\": {\"VrfRed\": {\"vni\": \"5000\"}},\n\
                \"VXLAN_TUNNEL\": {\"vtep\": {\"src_ip\": \"10.1.1.1\"}},\n\
                \"VXLAN_TUNNEL_MAP\": {\"vtep|map_10_Vlan10\": {\"vlan\": \"Vlan10\", \"vni\": \"10\"}}}";
    let device = read(text);
    let tunnelled = |name: &str| port(&device, name).tunnelled.get().unwrap();
    assert_eq!(["Ethernet0", "Ethernet4", "Ethernet8"].map(tunnelled), [true, false, true]);
}

#[test]
fn a_port_that_does_not_say_so_is_down() {
    let text = "{\"PORT\": {\"Ethernet0\": {\"admin_status\": \"up\"}, \"Ethernet4\": {}}}";
    let device = read(text);
    assert_eq!(port(&device, "Ethernet4").enabled.get(), Some(false));
    let device = read(&text.replace("\"admin_status\": \"up\"", ""));
    assert_eq!(port(&device, "Ethernet4").enabled.get(), None);
}

#[test]
fn a_colour_that_is_switched_off_marks_nothing() {
    let text = |on: &str| {
        format!(
            "{{\"PORT\": {{\"Ethernet0\": {{\"mtu\": \"9100\"}}}}, \"QUEUE\": {{\"Ethernet0|3\": {{\"wred_profile\": \"W\"}}}},\
             \"WRED_PROFILE\": {{\"W\": {{\"ecn\": \"ecn_all\", {on}\"green_min_threshold\": \"100000\", \
             \"green_max_threshold\": \"400000\", \"green_drop_probability\": \"20\"}}}}}}"
        )
    };
    let marks = |on: &str| port(&read(&text(on)), "Ethernet0").queues[3].wred.is_said();
    assert!(marks("") && marks("\"wred_green_enable\": \"true\", "));
    assert!(!marks("\"wred_green_enable\": \"false\", "));
}

/// A watchdog that looks at no priority that pauses does not run, but on releases that knew no other.
#[test]
fn the_watchdog_looks_at_priorities() {
    let on = |field: &str, version: &str| {
        let text = format!(
            "{{\"VERSIONS\": {{\"DATABASE\": {{\"VERSION\": \"{version}\"}}}}, \"PORT\": {{\"Ethernet0\": {{\"mtu\": \"9100\"}}}},\
             \"PORT_QOS_MAP\": {{\"Ethernet0\": {{{field}\"pfc_enable\": \"3\"}}}},\
             \"PFC_WD\": {{\"Ethernet0\": {{\"action\": \"drop\", \"detection_time\": \"200\"}}}}}}"
        );
        port(&read(&text), "Ethernet0").watchdog.on.get()
    };
    for version in ["version_4_0_3", "version_202411_01", "version_3_0_5", ""] {
        assert_eq!(on("", version), Some(false), "{version}");
        assert_eq!(on("\"pfcwd_sw_enable\": \"4\", ", version), Some(false), "{version}");
        assert_eq!(on("\"pfcwd_sw_enable\": \"3,4\", ", version), Some(true), "{version}");
    }
    for version in ["version_1_0_1", "version_2_0_0", "version_3_0_4"] {
        assert_eq!(on("", version), Some(true), "{version}");
    }
}

#[test]
fn a_ninth_class_is_no_mistake() {
    let text = "{\"PORT\": {\"Ethernet0\": {\"mtu\": \"9100\"}}, \"DSCP_TO_TC_MAP\": {\"A\": {\"26\": \"3\", \"33\": \"8\"}},\n\
                \"TC_TO_QUEUE_MAP\": {\"A\": {\"3\": \"3\", \"8\": \"0\"}}, \"TC_TO_PRIORITY_GROUP_MAP\": {\"A\": {\"8\": \"0\"}},\n\
                \"PORT_QOS_MAP\": {\"Ethernet0\": {\"dscp_to_tc_map\": \"A\", \"tc_to_queue_map\": \"A\", \"tc_to_pg_map\": \"A\"}}}";
    let device = read(text);
    assert_eq!(device.count(RemarkKind::Malformed), 0, "{:?}", device.remarks);
    let maps = &port(&device, "Ethernet0").maps;
    assert_eq!(maps.dscp_to_class[26].get().map(|class| class.get()), Some(3));
    assert_eq!(maps.dscp_to_class[33].get(), None);
    for wrong in [
        text.replace("\"33\": \"8\"", "\"33\": \"9\""),
        text.replace("{\"8\": \"0\"}", "{\"9\": \"0\"}"),
    ] {
        assert_eq!(read(&wrong).count(RemarkKind::Malformed), 1);
    }
}
