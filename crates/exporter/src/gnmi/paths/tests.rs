//! What devices send, as their sources and tests have it.

use super::*;
use crate::gnmi::proto::{
    ModelData, Notification, TypedValue, Update, typed_value::Value as Typed,
};

const NOW: Duration = Duration::from_secs(100);

/// A path from text, in which `SLASH` is the name of a port that has one.
fn path(text: &str) -> Path {
    let mut elem = elems(text);
    for key in elem.iter_mut().flat_map(|elem| elem.key.values_mut()) {
        *key = key.replace("SLASH", "Ethernet1/1");
    }
    Path { elem, ..Path::default() }
}

fn update(text: &str, value: Typed) -> Update {
    Update { path: Some(path(text)), val: Some(TypedValue { value: Some(value) }) }
}

fn json(text: &str, value: &str) -> Update {
    update(text, Typed::JsonIetf(value.into()))
}

fn page(dialect: Dialect, updates: Vec<Update>, queues: &Queues) -> (String, u64) {
    let mut store = Store::default();
    let message =
        Notification { prefix: dialect.prefix(), update: updates, ..Notification::default() };
    store.apply(&message, dialect, NOW);
    let mut out = Exposition::default();
    out.skipped(store.skipped());
    dialect.export(&store, &Naming::switch("pod", "leaf0"), queues, &mut out);
    (out.text(), out.errors())
}

fn line(family: &str, port: &str, more: &str, value: &str) -> String {
    format!("{family}{{device=\"leaf0\",fabric=\"pod\",port=\"{port}\"{more}}} {value}\n")
}

/// The answers of sonic-gnmi to the paths that are subscribed to, with aliases for ports.
fn sonic() -> Vec<Update> {
    vec![
        json(
            "PORT_TABLE",
            r#"{"Ethernet68":{"alias":"Ethernet68/1","oper_status":"up","speed":"400000","mtu":"9100"},
                "Ethernet0":{"alias":"Ethernet0/1","oper_status":"down"},"PortConfigDone":{"count":"2"}}"#,
        ),
        json(
            "COUNTERS/Ethernet*",
            r#"{"Ethernet0/1":{},"Ethernet68/1":{"SAI_PORT_STAT_PFC_3_RX_PKTS":"203",
                "SAI_PORT_STAT_PFC_3_RX_PAUSE_DURATION_US":"2500000","EST_PORT_STAT_PFC_3_RX_PAUSE_DURATION_US":"7",
                "SAI_PORT_STAT_IF_IN_OCTETS":"18446744073709551615","SAI_PORT_STAT_IF_IN_FEC_SYMBOL_ERRORS":"many",
                "SAI_PORT_STAT_IF_IN_ERRORS":"N/A","SAI_PORT_STAT_ETHER_IN_PKTS_64_OCTETS":"9"}}"#,
        ),
        json(
            "COUNTERS/Ethernet*/Queues",
            r#"{"Ethernet68/1:3":{"PFC_WD_ACTION":"drop","PFC_WD_STATUS":"stormed","PFC_WD_DETECTION_TIME":"200000",
                "PFC_WD_QUEUE_STATS_DEADLOCK_DETECTED":"1","SAI_QUEUE_STAT_BYTES":"1000","SAI_QUEUE_STAT_PACKETS":10,
                "SAI_QUEUE_STAT_DROPPED_PACKETS":"20","SAI_QUEUE_STAT_SHARED_WATERMARK_BYTES":"64"},
                "Ethernet68/1:3:periodic":{"SAI_QUEUE_STAT_SHARED_WATERMARK_BYTES":"192"},
                "Ethernet68/1:13":{"SAI_QUEUE_STAT_BYTES":"5","SAI_QUEUE_STAT_SHARED_WATERMARK_BYTES":"6"}}"#,
        ),
        json(
            "PERIODIC_WATERMARKS/Ethernet*/PriorityGroups",
            r#"{"Ethernet68/1:5":{"SAI_INGRESS_PRIORITY_GROUP_STAT_SHARED_WATERMARK_BYTES":"77",
                "SAI_INGRESS_PRIORITY_GROUP_STAT_XOFF_ROOM_WATERMARK_BYTES":"78"}}"#,
        ),
    ]
}

#[test]
fn sonics_tables_are_understood() {
    let (text, errors) = page(Dialect::Sonic, sonic(), &Queues::new());
    assert_eq!(errors, 1, "`many` is no number");
    for (family, more, value) in [
        ("xoff_port_up", "", "1"),
        ("xoff_port_speed_bits_per_second", "", "400000000000"),
        ("xoff_pfc_received_frames_total", ",priority=\"3\"", "203"),
        ("xoff_paused_seconds_total", ",priority=\"3\"", "2.5"),
        ("xoff_receive_bytes_total", "", "18446744073709551615"),
        ("xoff_transmit_bytes_total", ",priority=\"3\"", "1000"),
        ("xoff_transmit_packets_total", ",priority=\"3\"", "10"),
        ("xoff_buffer_dropped_packets_total", ",priority=\"3\"", "20"),
        ("xoff_queue_watermark_bytes", ",priority=\"3\"", "192"),
        ("xoff_ingress_watermark_bytes", ",priority=\"5\"", "77"),
        ("xoff_headroom_watermark_bytes", ",priority=\"5\"", "78"),
        ("xoff_pfc_watchdog_events_total", ",priority=\"3\"", "1"),
        ("xoff_sonic_pfc_wd_stormed", ",priority=\"3\"", "1"),
        ("xoff_sonic_queue_shared_watermark_bytes", ",queue=\"13\"", "6"),
    ] {
        let line = line(family, "Ethernet68", more, value);
        assert!(text.contains(&line), "no {line} in\n{text}");
    }
    assert!(text.contains(&line("xoff_port_up", "Ethernet0", "", "0")), "{text}");
    for absent in ["Ethernet68/1", "64_octets", "detection_time", "crc_errors", "PortConfigDone"] {
        assert!(!text.contains(absent), "{absent} in\n{text}");
    }
}

#[test]
fn sonics_single_ports_and_fields_are_understood() {
    let updates = vec![
        json("COUNTERS/Ethernet8", r#"{"SAI_PORT_STAT_IF_IN_OCTETS":"5"}"#),
        update("COUNTERS/Ethernet8/SAI_PORT_STAT_PFC_3_RX_PKTS", Typed::String("6".into())),
        json("COUNTERS/Ethernet8/Queues", r#"{"Ethernet8:3":{"SAI_QUEUE_STAT_BYTES":"7"}}"#),
        json("COUNTERS/Ethernet8/Queues", r#"{"Ethernet8":{"SAI_QUEUE_STAT_BYTES":"8"}}"#),
    ];
    let (text, errors) = page(Dialect::Sonic, updates, &Queues::new());
    assert_eq!(errors, 0);
    // Without the table of ports a port has the name that the stream has for it.
    assert!(text.contains(&line("xoff_receive_bytes_total", "Ethernet8", "", "5")), "{text}");
    let priority = ",priority=\"3\"";
    assert!(text.contains(&line("xoff_pfc_received_frames_total", "Ethernet8", priority, "6")));
    assert!(text.contains(&line("xoff_transmit_bytes_total", "Ethernet8", priority, "7")));
    assert_eq!(text.matches("xoff_transmit_bytes_total{").count(), 1, "{text}");
}

/// A switch that sends one leaf at a time, typed, and one that sends containers as JSON.
fn openconfig(containers: bool) -> Vec<Update> {
    if containers {
        return vec![
            json(
                "interfaces",
                r#"{"openconfig-interfaces:interface":[
                    {"name":"Ethernet1/1","state":{"name":"Ethernet1/1","type":"iana-if-type:ethernetCsmacd","oper-status":"UP",
                      "counters":{"in-octets":"100","in-pkts":"10","in-unicast-pkts":"9","out-octets":"200","interface-transitions":"3"}},
                     "openconfig-if-ethernet:ethernet":{"state":{"port-speed":"openconfig-if-ethernet:SPEED_400GB",
                      "counters":{"in-crc-errors":"4","in-maxsize-exceeded":"5","fec-corrected-blocks":"60","fec-uncorrectable-blocks":"7"}}}},
                    {"name":"Loopback0","state":{"type":"iana-if-type:softwareLoopback","oper-status":"UP","counters":{"in-octets":"1"}}}]}"#,
            ),
            json(
                "qos/interfaces/interface[interface-id=SLASH]/output/queues",
                r#"{"queue":[{"name":"3","state":{"transmit-octets":"150","transmit-pkts":"15","dropped-pkts":"1","ecn-marked-pkts":"2",
                    "max-queue-len":"4096"}},{"name":"BE1","state":{"transmit-octets":"50","max-queue-len":"8"}}]}"#,
            ),
        ];
    }
    let uint = |path: &str, value| update(path, Typed::Uint(value));
    let leaf =
        |rest: &str, value| update(&format!("interfaces/interface[name=SLASH]/{rest}"), value);
    let mut list = vec![
        leaf("state/counters/in-octets", Typed::Uint(100)),
        leaf("state/counters/in-pkts", Typed::JsonIetf("\"10\"".into())),
        leaf("state/counters/in-unicast-pkts", Typed::Uint(9)),
        leaf("state/counters/out-octets", Typed::Uint(200)),
        leaf("state/counters/interface-transitions", Typed::Int(3)),
        leaf("state/type", Typed::String("iana-if-type:ethernetCsmacd".into())),
        leaf("state/oper-status", Typed::String("UP".into())),
        leaf("ethernet/state/port-speed", Typed::String("SPEED_400GB".into())),
        leaf("ethernet/state/counters/in-crc-errors", Typed::Json("4".into())),
        leaf("ethernet/state/counters/in-maxsize-exceeded", Typed::Uint(5)),
        leaf("ethernet/state/counters/fec-corrected-blocks", Typed::Uint(60)),
        leaf("ethernet/state/counters/fec-uncorrectable-blocks", Typed::Double(7.0)),
        uint("interfaces/interface[name=Loopback0]/state/counters/in-octets", 1),
        json(
            "interfaces/interface[name=Loopback0]/state/type",
            "\"iana-if-type:softwareLoopback\"",
        ),
    ];
    for (name, rest, value) in [
        ("3", "transmit-octets", 150),
        ("3", "transmit-pkts", 15),
        ("3", "dropped-pkts", 1),
        ("3", "ecn-marked-pkts", 2),
        ("3", "max-queue-len", 4096),
        ("BE1", "transmit-octets", 50),
        ("BE1", "max-queue-len", 8),
    ] {
        let queues = "qos/interfaces/interface[interface-id=SLASH]/output/queues";
        list.push(uint(&format!("{queues}/queue[name={name}]/state/{rest}"), value));
    }
    list
}

#[test]
fn openconfigs_models_are_understood_leaf_by_leaf_and_as_containers() {
    let (text, errors) = page(Dialect::OpenConfig, openconfig(true), &Queues::new());
    assert_eq!(errors, 0, "{text}");
    assert_eq!(page(Dialect::OpenConfig, openconfig(false), &Queues::new()), (text.clone(), 0));
    for (family, more, value) in [
        ("xoff_port_up", "", "1"),
        ("xoff_port_speed_bits_per_second", "", "400000000000"),
        ("xoff_receive_bytes_total", "", "100"),
        ("xoff_receive_packets_total", "", "10"),
        ("xoff_link_down_events_total", "", "1.5"),
        ("xoff_crc_errors_total", "", "4"),
        ("xoff_mtu_dropped_packets_total", "", "5"),
        ("xoff_fec_corrected_codewords_total", "", "60"),
        ("xoff_fec_uncorrected_codewords_total", "", "7"),
        ("xoff_transmit_bytes_total", ",priority=\"3\"", "150"),
        ("xoff_transmit_packets_total", ",priority=\"3\"", "15"),
        ("xoff_buffer_dropped_packets_total", ",priority=\"3\"", "1"),
        ("xoff_ecn_marked_packets_total", ",priority=\"3\"", "2"),
        ("xoff_queue_watermark_bytes", ",priority=\"3\"", "4096"),
        ("xoff_openconfig_queue_transmit_octets_total", ",queue=\"BE1\"", "50"),
        ("xoff_openconfig_queue_max_queue_len", ",queue=\"BE1\"", "8"),
    ] {
        let line = line(family, "Ethernet1/1", more, value);
        assert!(text.contains(&line), "no {line} in\n{text}");
    }
    // By priority, the port's sum would count twice.
    assert_eq!(text.matches("xoff_transmit_bytes_total{").count(), 1, "{text}");
    assert!(!text.contains("Loopback0"), "{text}");
    // A queue that is told what it is.
    let told = Queues::from([("BE1".to_owned(), 0)]);
    let (text, _) = page(Dialect::OpenConfig, openconfig(true), &told);
    let line = line("xoff_transmit_bytes_total", "Ethernet1/1", ",priority=\"0\"", "50");
    assert!(text.contains(&line) && !text.contains("xoff_openconfig_"), "{text}");
}

#[test]
fn names_of_queues_stand_for_priorities() {
    for (queue, priority) in [
        ("0", Some(0)),
        ("7", Some(7)),
        ("8", None),
        ("UC3", Some(3)),
        ("MC3", None),
        ("TC_4", Some(4)),
        ("queue-5", Some(5)),
        ("Ethernet1-6", Some(6)),
        ("Ethernet1:6", Some(6)),
        ("Ethernet16", None),
        ("AF4", None),
        ("", None),
    ] {
        let name = format!(
            "qos/interfaces/interface[interface-id=Ethernet1]/output/queues/queue[name={queue}]"
        );
        let path = format!("{name}/state/transmit-pkts");
        let (text, _) =
            page(Dialect::OpenConfig, vec![update(&path, Typed::Uint(1))], &Queues::new());
        let found = (0..8).find(|p| text.contains(&format!("priority=\"{p}\"")));
        assert_eq!(found, priority, "{queue}: {text}");
    }
}

#[test]
fn words_that_are_no_values_are_counted() {
    let state = |leaf: &str, value: Typed| {
        let path = format!("interfaces/interface[name=Ethernet1]/{leaf}");
        page(Dialect::OpenConfig, vec![update(&path, value)], &Queues::new())
    };
    let word = |text: &str| Typed::String(text.into());
    assert_eq!(state("ethernet/state/port-speed", word("SPEED_UNKNOWN")).1, 0);
    assert_eq!(state("ethernet/state/port-speed", word("fast")).1, 1);
    assert_eq!(state("ethernet/state/port-speed", Typed::Uint(5)).1, 1);
    assert_eq!(state("state/counters/in-octets", word("many")).1, 1);
    assert_eq!(state("state/counters/in-octets", Typed::Int(-1)).1, 1);
    assert_eq!(state("state/counters/in-octets", Typed::Double(f64::NAN)).1, 1);
    assert_eq!(state("state/counters/in-octets", Typed::Json("{".into())).1, 1);
    assert!(state("state/oper-status", word("DOWN")).0.contains("xoff_port_up{"));
    // What is not subscribed to is nobody's mistake.
    assert_eq!(state("state/counters/in-broadcast-pkts", word("many")), (String::new(), 0));
}

#[test]
fn a_device_says_what_it_speaks() {
    let models = |names: &[(&str, &str)]| CapabilityResponse {
        supported_models: names
            .iter()
            .map(|(name, organization)| ModelData {
                name: (*name).into(),
                organization: (*organization).into(),
                ..ModelData::default()
            })
            .collect(),
        ..CapabilityResponse::default()
    };
    let openconfig = ("openconfig-interfaces", "OpenConfig working group");
    assert_eq!(Dialect::of(&models(&[openconfig])), Some(Dialect::OpenConfig));
    assert_eq!(Dialect::of(&models(&[openconfig, ("sonic-db", "SONiC")])), Some(Dialect::Sonic));
    assert_eq!(Dialect::of(&models(&[("Cisco-NX-OS-device", "Cisco")])), None);
    let encodings = |list: &[Encoding]| CapabilityResponse {
        supported_encodings: list.iter().map(|one| *one as i32).collect(),
        ..CapabilityResponse::default()
    };
    use Encoding::{Ascii, Json, JsonIetf, Proto};
    assert_eq!(Dialect::encoding(&encodings(&[Json, Ascii, JsonIetf])), JsonIetf);
    assert_eq!(Dialect::encoding(&encodings(&[Json, Proto])), Proto);
    assert_eq!(Dialect::encoding(&encodings(&[])), JsonIetf);
}

#[test]
fn subscriptions_are_samples_with_keys() {
    let all = Dialect::OpenConfig.subscriptions(Duration::from_secs(10), Extent::Whole);
    let least = Dialect::OpenConfig.subscriptions(Duration::from_secs(10), Extent::Least);
    assert_eq!((all.len(), least.len()), (5, 2));
    let first = &all[0];
    assert_eq!(first.sample_interval, 10_000_000_000);
    assert_eq!(first.mode, SubscriptionMode::Sample as i32);
    let path = first.path.as_ref().unwrap();
    assert_eq!(path.origin, "openconfig");
    assert_eq!(path.elem[1].name, "interface");
    assert_eq!(path.elem[1].key["name"], "*");
    let sonic = Dialect::Sonic.subscriptions(Duration::from_secs(10), Extent::Whole);
    let names = |path: &Path| path.elem.iter().map(|elem| elem.name.clone()).collect::<Vec<_>>();
    assert_eq!(names(sonic[1].path.as_ref().unwrap()), ["COUNTERS", "Ethernet*", "Queues"]);
}
