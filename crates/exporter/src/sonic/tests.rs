//! Switches as hashes in memory, with the names of SONiC's own test database.

use super::*;

#[derive(Default)]
struct Memory(BTreeMap<(Db, String), Hash>);

impl Memory {
    fn put(&mut self, db: Db, key: &str, fields: &[(&str, &str)]) {
        let hash = fields.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned()));
        self.0.insert((db, key.to_owned()), hash.collect());
    }
}

impl Database for Memory {
    fn hashes(&mut self, db: Db, keys: &[String]) -> Result<Vec<Hash>, Unavailable> {
        let get = |key: &String| self.0.get(&(db, key.clone())).cloned().unwrap_or_default();
        Ok(keys.iter().map(get).collect())
    }
}

fn switch() -> Memory {
    let mut memory = Memory::default();
    let db = Db::Counters;
    memory.put(Db::Config, "DEVICE_METADATA|localhost", &[("hostname", "leaf0")]);
    memory.put(Db::Appl, "PORT_TABLE:Ethernet0", &[("oper_status", "up"), ("speed", "400000")]);
    memory.put(db, "COUNTERS_PORT_NAME_MAP", &[("Ethernet0", "oid:0x1000000000012")]);
    let queues = [
        ("Ethernet0:3", "oid:0x1500000000035a"),
        ("Ethernet0:13", "oid:0x15000000000364"),
        ("Ethernet0:4", "oid:0x15000000000365"),
    ];
    memory.put(db, "COUNTERS_QUEUE_NAME_MAP", &queues);
    let types = [
        ("oid:0x1500000000035a", "SAI_QUEUE_TYPE_UNICAST"),
        ("oid:0x15000000000365", "SAI_QUEUE_TYPE_MULTICAST"),
    ];
    memory.put(db, "COUNTERS_QUEUE_TYPE_MAP", &types);
    memory.put(db, "COUNTERS_PG_NAME_MAP", &[("Ethernet0:3", "oid:0x1a00000000034f")]);
    let pools = [("ingress_lossless_pool", "oid:0x18000000000b66")];
    memory.put(db, "COUNTERS_BUFFER_POOL_NAME_MAP", &pools);
    memory.put(
        db,
        "COUNTERS:oid:0x1000000000012",
        &[
            ("SAI_PORT_STAT_PFC_3_RX_PKTS", "203"),
            ("SAI_PORT_STAT_PFC_3_TX_PKTS", "213"),
            ("EST_PORT_STAT_PFC_3_RX_PAUSE_DURATION_US", "7"),
            ("SAI_PORT_STAT_PFC_3_RX_PAUSE_DURATION_US", "2500000"),
            ("SAI_PORT_STAT_IF_IN_OCTETS", "18446744073709551615"),
            ("SAI_PORT_STAT_IF_IN_ERRORS", "N/A"),
            ("SAI_PORT_STAT_IF_IN_FEC_SYMBOL_ERRORS", "many"),
            ("SAI_PORT_STAT_ETHER_STATS_JABBERS", "4"),
        ],
    );
    memory.put(
        db,
        "COUNTERS:oid:0x1500000000035a",
        &[
            ("SAI_QUEUE_STAT_BYTES", "1000"),
            ("SAI_QUEUE_STAT_DROPPED_PACKETS", "20"),
            ("SAI_QUEUE_STAT_SHARED_WATERMARK_BYTES", "10"),
            ("PFC_WD_STATUS", "stormed"),
            ("PFC_WD_ACTION", "drop"),
            ("PFC_WD_DETECTION_TIME", "600000"),
            ("PFC_WD_QUEUE_STATS_DEADLOCK_DETECTED", "1"),
            ("PFC_WD_QUEUE_STATS_DEADLOCK_RESTORED", "0"),
            ("PFC_WD_QUEUE_STATS_TX_DROPPED_PACKETS", "300"),
        ],
    );
    let watermark = "SAI_QUEUE_STAT_SHARED_WATERMARK_BYTES";
    memory.put(db, "PERIODIC_WATERMARKS:oid:0x1500000000035a", &[(watermark, "4096")]);
    memory.put(db, "USER_WATERMARKS:oid:0x1500000000035a", &[(watermark, "8192")]);
    memory.put(
        db,
        "COUNTERS:oid:0x15000000000365",
        &[(watermark, "5"), ("SAI_QUEUE_STAT_BYTES", "6")],
    );
    memory.put(
        db,
        "COUNTERS:oid:0x1a00000000034f",
        &[
            ("SAI_INGRESS_PRIORITY_GROUP_STAT_DROPPED_PACKETS", "800"),
            ("SAI_INGRESS_PRIORITY_GROUP_STAT_XOFF_ROOM_WATERMARK_BYTES", "77"),
        ],
    );
    let pool = [
        ("SAI_BUFFER_POOL_STAT_WATERMARK_BYTES", "3000"),
        ("SAI_BUFFER_POOL_STAT_XOFF_ROOM_WATERMARK_BYTES", "30"),
    ];
    memory.put(db, "COUNTERS:oid:0x18000000000b66", &pool);
    memory
}

fn scrape(memory: Memory, detail: Detail) -> (String, u64) {
    let naming = Naming::switch("pod", "leaf0");
    let mut switch = Switch { database: Box::new(memory), naming, detail };
    let mut out = Exposition::default();
    switch.read(&mut out).unwrap();
    (out.text(), out.errors())
}

#[test]
fn counters_have_the_names_of_the_schema() {
    let (text, errors) = scrape(switch(), Detail::Schema);
    assert_eq!(errors, 1, "`many` is no number");
    let port = "device=\"leaf0\",fabric=\"pod\",port=\"Ethernet0\"";
    for (family, labels, value) in [
        ("xoff_port_up", "", "1"),
        ("xoff_port_speed_bits_per_second", "", "400000000000"),
        ("xoff_pfc_received_frames_total", ",priority=\"3\"", "203"),
        ("xoff_pfc_sent_frames_total", ",priority=\"3\"", "213"),
        ("xoff_paused_seconds_total", ",priority=\"3\"", "2.5"),
        ("xoff_receive_bytes_total", "", "18446744073709551615"),
        ("xoff_transmit_bytes_total", ",priority=\"3\"", "1000"),
        ("xoff_buffer_dropped_packets_total", ",priority=\"3\"", "820"),
        ("xoff_queue_watermark_bytes", ",priority=\"3\"", "4096"),
        ("xoff_headroom_watermark_bytes", ",priority=\"3\"", "77"),
        ("xoff_sonic_user_queue_shared_watermark_bytes", ",priority=\"3\"", "8192"),
        ("xoff_sonic_queue_shared_watermark_bytes", ",queue=\"4\"", "5"),
        ("xoff_sonic_pfc_wd_stormed", ",priority=\"3\"", "1"),
        ("xoff_pfc_watchdog_events_total", ",priority=\"3\"", "1"),
        ("xoff_pfc_watchdog_dropped_packets_total", ",priority=\"3\"", "300"),
        ("xoff_sonic_pfc_wd_queue_stats_deadlock_restored_total", ",priority=\"3\"", "0"),
    ] {
        let line = format!("{family}{{{port}{labels}}} {value}\n");
        assert!(text.contains(&line), "{line}\n{text}");
    }
    let pool = "fabric=\"pod\",device=\"leaf0\",pool=\"ingress_lossless_pool\"";
    assert!(text.contains(&format!("xoff_sonic_buffer_pool_watermark_bytes{{{pool}}} 3000\n")));
    for absent in ["jabbers", "priority=\"4\"", "crc_errors", "detection_time"] {
        assert!(!text.contains(absent), "{absent}\n{text}");
    }
}

#[test]
fn everything_else_is_exported_when_asked_for() {
    let (text, _) = scrape(switch(), Detail::All);
    assert!(text.contains("xoff_sonic_port_ether_stats_jabbers_total{"), "{text}");
    assert!(text.contains("xoff_sonic_pfc_wd_detection_time{"), "{text}");
    assert!(text.contains("xoff_sonic_queue_bytes_total{device=\"leaf0\",fabric=\"pod\",port=\"Ethernet0\",queue=\"4\"} 6\n"));
    let schema = scrape(switch(), Detail::Schema).0;
    let lines = schema.lines().filter(|line| !line.starts_with('#'));
    lines.for_each(|line| assert!(text.contains(line), "{line}"));
}

#[test]
fn a_database_that_is_not_sonics_is_said() {
    let naming = Naming::switch("pod", "leaf0");
    let mut switch = Switch { database: Box::<Memory>::default(), naming, detail: Detail::All };
    let error = switch.read(&mut Exposition::default()).unwrap_err();
    assert!(error.0.contains("COUNTERS_PORT_NAME_MAP"), "{error}");
}

#[test]
fn names_that_are_none_do_no_harm() {
    let mut memory = switch();
    let odd =
        [("Ethernet0", "oid:1"), ("Ethernet0:x", "oid:2"), ("Ethernet9:1", "oid:3"), (":", ":")];
    memory.put(Db::Counters, "COUNTERS_QUEUE_NAME_MAP", &odd);
    let (_, errors) = scrape(memory, Detail::All);
    assert_eq!(errors, 2, "a name without a number, and `many`");
    let mut memory = switch();
    let odd = [("Eth\"\n", "oid:1")];
    memory.put(Db::Counters, "COUNTERS_PORT_NAME_MAP", &odd);
    memory.put(Db::Counters, "COUNTERS:oid:1", &[("SAI_PORT_STAT_IF_IN_OCTETS", "1")]);
    let (text, _) = scrape(memory, Detail::Schema);
    assert!(text.contains("port=\"Eth\\\"\\n\"} 1\n"), "{text}");
}

#[test]
fn a_switch_knows_its_name() {
    assert_eq!(hostname(&mut switch()).unwrap().as_deref(), Some("leaf0"));
    assert_eq!(hostname(&mut Memory::default()).unwrap(), None);
}
