//! Hosts as trees of files.

use super::*;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use tempfile::TempDir;

/// All that mlx5 has, with values that differ.
const MLX5: [&str; 30] = [
    "duplicate_request",
    "implied_nak_seq_err",
    "lifespan",
    "local_ack_timeout_err",
    "np_cnp_sent",
    "np_ecn_marked_roce_packets",
    "out_of_buffer",
    "out_of_sequence",
    "packet_seq_err",
    "req_cqe_error",
    "req_cqe_flush_error",
    "req_remote_access_errors",
    "req_remote_invalid_request",
    "req_transport_retries_exceeded",
    "resp_cqe_error",
    "resp_cqe_flush_error",
    "resp_local_length_error",
    "resp_remote_access_errors",
    "rnr_nak_retry_err",
    "roce_adp_retrans",
    "roce_adp_retrans_to",
    "roce_slow_restart",
    "roce_slow_restart_cnps",
    "roce_slow_restart_trans",
    "rp_cnp_handled",
    "rp_cnp_ignored",
    "rx_atomic_requests",
    "rx_icrc_encapsulated",
    "rx_read_requests",
    "rx_write_requests",
];

const PORT: [&str; 7] = [
    "port_xmit_data",
    "port_rcv_data",
    "port_xmit_packets",
    "port_rcv_packets",
    "link_downed",
    "port_rcv_errors",
    "symbol_error",
];

struct Fixed(Vec<(String, u64)>);

impl Statistics for Fixed {
    fn of(&self, _: &str) -> io::Result<Vec<(String, u64)>> {
        Ok(self.0.clone())
    }
}

fn put(root: &Path, path: &str, text: impl AsRef<[u8]>) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// A NIC of the kind that most have, as sysfs shows it.
fn mlx5(root: &Path, number: u32) -> BTreeMap<String, u64> {
    let device = format!("class/infiniband/mlx5_{number}");
    let netdev = format!("ens{number}np0");
    let mut values = BTreeMap::new();
    for (at, name) in MLX5.iter().enumerate() {
        let value = 1_000 * u64::from(number + 1) + at as u64;
        put(root, &format!("{device}/ports/1/hw_counters/{name}"), format!("{value}\n"));
        values.insert((*name).to_owned(), value);
    }
    for (at, name) in PORT.iter().enumerate() {
        let value = u64::MAX - at as u64;
        put(root, &format!("{device}/ports/1/counters/{name}"), format!("{value}\n"));
        values.insert((*name).to_owned(), value);
    }
    put(root, &format!("{device}/ports/1/state"), "4: ACTIVE\n");
    put(root, &format!("{device}/ports/1/rate"), "400 Gb/sec (4X NDR)\n");
    put(root, &format!("{device}/device/net/{netdev}/dev_port"), "0\n");
    let net = format!("class/net/{netdev}");
    for (at, name) in ["tx_bytes", "rx_bytes", "rx_crc_errors", "rx_dropped"].iter().enumerate() {
        put(root, &format!("{net}/statistics/{name}"), format!("{}\n", 7 + at));
    }
    put(root, &format!("{net}/device/vendor"), "0x15b3\n");
    put(root, &format!("{net}/carrier"), "1\n");
    put(root, &format!("{net}/carrier_down_count"), "5\n");
    put(root, &format!("{net}/speed"), "400000\n");
    put(root, &format!("{net}/device/hwmon/hwmon3/temp1_input"), "65000\n");
    put(root, &format!("{net}/device/hwmon/hwmon3/temp1_label"), "asic\n");
    put(root, &format!("{net}/device/hwmon/hwmon3/temp2_input"), "51500\n");
    put(root, &format!("{net}/device/hwmon/hwmon3/temp2_label"), "Module0\n");
    values
}

fn host(root: &TempDir, statistics: Option<Vec<(&str, u64)>>) -> Host {
    let statistics = statistics.map(|list| {
        let list = list.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        Box::new(Fixed(list)) as Box<dyn Statistics>
    });
    let naming = Naming::host("pod", "gpu7");
    Host { sysfs: root.path().to_owned(), naming, statistics, detail: Detail::Port }
}

fn scrape(host: &mut Host) -> (String, u64) {
    let mut out = Exposition::default();
    host.read(&mut out).unwrap();
    (out.text(), out.errors())
}

/// The value of a family, of a device.
fn value<'a>(text: &'a str, family: &str, device: &str) -> Option<&'a str> {
    let start = format!("{family}{{device=\"{device}\",");
    let line = text.lines().find(|line| line.starts_with(&start))?;
    line.rsplit_once(' ').map(|(_, value)| value)
}

#[test]
fn every_counter_of_a_nic_is_exported_with_the_value_of_its_file() {
    let root = tempfile::tempdir().unwrap();
    let values: Vec<_> = (0..2).map(|number| mlx5(root.path(), number)).collect();
    let (text, errors) = scrape(&mut host(&root, None));
    assert_eq!(errors, 0);
    for (number, values) in values.iter().enumerate() {
        let device = format!("gpu7-mlx5_{number}");
        for name in MLX5.iter().filter(|name| **name != "lifespan") {
            let found = meaning(Source::HwCounters, name);
            let family =
                found.map_or(format!("xoff_hw_{name}_total"), |found| found.metric.name().into());
            let expected = values[*name].to_string();
            assert_eq!(value(&text, &family, &device), Some(expected.as_str()), "{family}");
        }
        let words = u128::from(values["port_xmit_data"]) * 4;
        let found = value(&text, "xoff_transmit_bytes_total", &device);
        assert_eq!(found, Some(words.to_string().as_str()));
        for (family, expected) in [
            ("xoff_port_up", "1"),
            ("xoff_port_speed_bits_per_second", "400000000000"),
            ("xoff_link_down_events_total", "18446744073709551611"),
            ("xoff_netdev_carrier_down_count_total", "5"),
            ("xoff_netdev_tx_bytes_total", "7"),
            ("xoff_module_temperature_celsius", "51.5"),
            ("xoff_sensor_temperature_celsius", "65"),
            ("xoff_hw_lifespan_seconds", if number == 0 { "1.002" } else { "2.002" }),
        ] {
            assert_eq!(value(&text, family, &device), Some(expected), "{family}\n{text}");
        }
    }
    assert!(text.contains("rdma_device=\"mlx5_1\",rdma_port=\"1\",netdev=\"ens1np0\"} 1\n"));
    assert_eq!(text.matches("device=\"gpu7-ens").count(), 0, "an interface twice");
}

#[test]
fn priorities_of_ethtool_stand_before_the_sums_of_ports() {
    let root = tempfile::tempdir().unwrap();
    mlx5(root.path(), 0);
    let list = vec![
        ("tx_prio3_bytes", 100),
        ("tx_prio0_bytes", 50),
        ("rx_prio3_pause", 9),
        ("rx_prio3_pause_duration", 1_500_000),
        ("rx_discards_phy", 4),
        ("outbound_pci_stalled_wr", 25),
        ("rx_err_lane_0_phy", 6),
        ("rx0_packets", 1),
        ("tx12_bytes", 1),
        ("ch3_events", 1),
        ("rx_queue_0_drops", 1),
    ];
    let mut host = host(&root, Some(list));
    let (text, errors) = scrape(&mut host);
    assert_eq!(errors, 0);
    let line = |family: &str, labels: &str, value: &str| {
        let start = format!(
            "{family}{{device=\"gpu7-mlx5_0\",fabric=\"pod\",host=\"gpu7\"{labels}}} {value}\n"
        );
        assert!(text.contains(&start), "{start}\n{text}");
    };
    line("xoff_transmit_bytes_total", ",priority=\"3\"", "100");
    line("xoff_transmit_bytes_total", ",priority=\"0\"", "50");
    assert_eq!(text.matches("\nxoff_transmit_bytes_total{").count(), 2, "the sum, too");
    line("xoff_ib_port_xmit_data_total", "", "18446744073709551615");
    line("xoff_pfc_received_frames_total", ",priority=\"3\"", "9");
    line("xoff_paused_seconds_total", ",priority=\"3\"", "1.5");
    line("xoff_pcie_stalled_ratio", "", "0.25");
    // The NIC's own counter is named first in the schema.
    line("xoff_out_of_buffer_packets_total", "", "1006");
    line("xoff_ethtool_rx_discards_phy", "", "4");
    line("xoff_ethtool_rx_err_lane_0_phy", "", "6");
    for queue in ["rx0_packets", "tx12_bytes", "ch3_events", "rx_queue_0_drops"] {
        assert!(!text.contains(queue), "{queue}");
    }
    host.detail = Detail::Queues;
    assert!(scrape(&mut host).0.contains("xoff_ethtool_rx_queue_0_drops{"));
}

#[test]
fn software_roce_uses_the_counters_of_its_interface() {
    let root = tempfile::tempdir().unwrap();
    let names =
        ["sent_pkts", "rcvd_pkts", "duplicate_request", "out_of_seq_request", "link_downed"];
    for (at, name) in names.iter().enumerate() {
        let path = format!("class/infiniband/rxe0/ports/1/hw_counters/{name}");
        put(root.path(), &path, format!("{at}\n"));
    }
    put(root.path(), "class/infiniband/rxe0/parent", "eth0\n");
    put(root.path(), "class/infiniband/rxe0/ports/1/state", "4: ACTIVE\n");
    put(root.path(), "class/infiniband/rxe0/ports/1/rate", "10 Gb/sec (4X SDR)\n");
    put(root.path(), "class/net/eth0/statistics/tx_bytes", "12345\n");
    put(root.path(), "class/net/eth0/speed", "-1\n");
    put(root.path(), "class/net/eth0/carrier", "0\n");
    put(root.path(), "class/net/lo/statistics/tx_bytes", "1\n");
    let (text, errors) = scrape(&mut host(&root, None));
    assert_eq!(errors, 0);
    let of = |family| value(&text, family, "gpu7-rxe0");
    assert_eq!(of("xoff_transmit_bytes_total"), Some("12345"));
    assert_eq!(of("xoff_hw_sent_pkts_total"), Some("0"));
    assert_eq!(of("xoff_out_of_sequence_packets_total"), Some("3"));
    assert_eq!(of("xoff_duplicate_requests_total"), Some("2"));
    assert_eq!(of("xoff_link_down_events_total"), Some("4"));
    assert_eq!(of("xoff_port_up"), Some("0"));
    assert_eq!(of("xoff_port_speed_bits_per_second"), None, "nobody knows it");
    assert!(!text.contains("-lo"), "loopback is no NIC");
}

#[test]
fn hostile_files_are_counted_and_skipped() {
    let root = tempfile::tempdir().unwrap();
    mlx5(root.path(), 0);
    let (before, _) = scrape(&mut host(&root, None));
    let folder = root.path().join("class/infiniband/mlx5_0/ports/1/hw_counters");
    let bad: [(&str, &[u8]); 8] = [
        ("huge", &[b'1'; 100_000]),
        ("binary", b"\x00\xff\xfe\n"),
        ("negative", b"-1\n"),
        ("plus", b"+1\n"),
        ("words", b"twelve\n"),
        ("empty", b""),
        ("real", b"1.5\n"),
        ("too_large", b"18446744073709551616\n"),
    ];
    for (name, bytes) in bad {
        fs::write(folder.join(name), bytes).unwrap();
    }
    fs::create_dir(folder.join("folder")).unwrap();
    symlink("loop_b", folder.join("loop_a")).unwrap();
    symlink("loop_a", folder.join("loop_b")).unwrap();
    symlink("nowhere", folder.join("dangling")).unwrap();
    symlink(".", root.path().join("class/infiniband/round")).unwrap();
    let pipe = std::process::Command::new("mkfifo").arg(folder.join("pipe")).status();
    let pipes = u64::from(pipe.is_ok_and(|status| status.success()));
    let (text, errors) = scrape(&mut host(&root, None));
    assert_eq!(errors, 8 + 1 + 2 + 1 + pipes);
    assert_eq!(text, before, "nothing of it is exported, and all else is");
}

#[test]
fn names_are_escaped() {
    let root = tempfile::tempdir().unwrap();
    let odd = "mlx5\"\n\\0";
    put(root.path(), &format!("class/infiniband/{odd}/ports/1/hw_counters/a b-c"), "1\n");
    put(root.path(), &format!("class/infiniband/{odd}/ports/1/hw_counters/a_b_c"), "2\n");
    put(root.path(), &format!("class/infiniband/{odd}/parent"), "../../../etc\n");
    let (text, errors) = scrape(&mut host(&root, None));
    // Two names that are the same to Prometheus: one of them is counted as not read.
    assert_eq!(errors, 1);
    assert!(
        text.contains("xoff_hw_a_b_c_total{device=\"gpu7-mlx5\\\"\\n\\\\0\",fabric="),
        "{text}"
    );
    assert!(!text.contains("netdev=\""), "a name that leads elsewhere");
}

#[test]
fn a_host_without_nics_or_without_sysfs() {
    let root = tempfile::tempdir().unwrap();
    assert_eq!(scrape(&mut host(&root, None)), (String::new(), 0));
    let mut gone = host(&root, None);
    gone.sysfs = root.path().join("nowhere");
    let error = gone.read(&mut Exposition::default()).unwrap_err();
    assert!(error.0.contains("--sysfs"), "{error}");
}

#[test]
fn a_device_with_two_ports_has_two_names() {
    let root = tempfile::tempdir().unwrap();
    for port in 1..=2 {
        let path = format!("class/infiniband/mlx4_0/ports/{port}/hw_counters/x");
        put(root.path(), &path, format!("{port}\n"));
    }
    let (text, _) = scrape(&mut host(&root, None));
    assert_eq!(value(&text, "xoff_hw_x_total", "gpu7-mlx4_0/1"), Some("1"));
    assert_eq!(value(&text, "xoff_hw_x_total", "gpu7-mlx4_0/2"), Some("2"));
}

#[test]
fn rates_and_queues_are_recognised() {
    assert_eq!(gigabits("400 Gb/sec (4X NDR)"), Some(400.0));
    assert_eq!(gigabits("2.5 Gb/sec (1X SDR)"), Some(2.5));
    for bad in ["", "inf Gb/sec", "-1 Gb/sec", "x Gb/sec", "400"] {
        assert_eq!(gigabits(bad), None, "{bad}");
    }
    for queue in ["rx0_bytes", "tx_queue_0_bytes", "ch12_poll", "queue_3_tx_cnt", "tx-7.packets"] {
        assert!(of_a_queue(queue), "{queue}");
    }
    for port in ["rx_prio3_bytes", "rx_err_lane_3_phy", "rx_bytes", "tx_pause_storm_error_events"] {
        assert!(!of_a_queue(port), "{port}");
    }
}

/// A NIC whose module and whose PFC the kernel shows.
struct Shown;

impl Statistics for Shown {
    fn of(&self, _: &str) -> io::Result<Vec<(String, u64)>> {
        Ok(vec![("rx_prio3_pause".into(), 7)])
    }

    fn module(&self, _: &str, extent: Extent) -> io::Result<Vec<u8>> {
        let mut memory = vec![0; 256];
        memory[0] = 0x11;
        memory[22] = 43;
        memory[34..42].copy_from_slice(&[0x27, 0x10, 0x27, 0x10, 0x27, 0x10, 0x13, 0x88]);
        let begin = extent.offset as usize;
        Ok(memory[begin..begin + extent.length as usize].to_vec())
    }

    fn pfc(&self, _: &str) -> io::Result<Pfc> {
        let mut pfc = Pfc::default();
        (pfc.enabled[3], pfc.sent[3], pfc.received[3]) = (true, 5, 7);
        Ok(pfc)
    }
}

#[test]
fn modules_and_dcb_are_exported_where_the_driver_has_not_said_it() {
    let root = tempfile::tempdir().unwrap();
    mlx5(root.path(), 0);
    let mut host = host(&root, None);
    host.statistics = Some(Box::new(Shown));
    let (text, errors) = scrape(&mut host);
    assert_eq!(errors, 0);
    let of = |family: &str| value(&text, family, "gpu7-mlx5_0");
    assert_eq!(of("xoff_module_temperature_celsius"), Some("51.5"), "the driver's");
    let power: f64 = of("xoff_module_receive_power_dbm").expect("a power").parse().unwrap();
    assert!((power + 3.01).abs() < 0.01, "{power}");
    let of_priority = |family: &str, priority: u8| {
        let end = format!("priority=\"{priority}\"}} ");
        let lines = text.lines().filter(|line| line.starts_with(family));
        let values = lines.filter_map(|line| Some(line.split_once(&end)?.1));
        values.collect::<Vec<_>>()
    };
    assert_eq!(of_priority("xoff_dcb_pfc_enabled", 3), ["1"]);
    assert_eq!(of_priority("xoff_dcb_pfc_enabled", 4), ["0"]);
    assert_eq!(of_priority("xoff_pfc_sent_frames_total", 3), ["5"]);
    assert_eq!(of_priority("xoff_pfc_received_frames_total", 3), ["7"], "once");
    assert!(of_priority("xoff_pfc_sent_frames_total", 4).is_empty());
    // Without a temperature of the driver's, the module's.
    fs::remove_dir_all(root.path().join("class/net/ens0np0/device/hwmon")).unwrap();
    let (text, _) = scrape(&mut host);
    assert_eq!(value(&text, "xoff_module_temperature_celsius", "gpu7-mlx5_0"), Some("43"));
}
