use super::*;
use std::io;

const FILE: &str = r#"
sources = ["node-exporter", "sonic-exporter", "nccl-inspector"]
select = 'cluster="a1"'
cabling = "cabling.csv"

[devices]
"gpu-*/mlx5_*" = "server{1-1}-nic{2}"
"leaf-*" = "leaf{1-1}"

[ports]
"leaf*/Ethernet*" = "1/{2}"

[[series]]
metric = "xoff_paused_seconds_total"
name = "site_pause_us_prio{p}"
scale = 1e-6
device = "{node}/{nic}"
"#;

const CABLING: &str = "cable,from_device,from_port,to_device,to_port\n\
    H1,server0-nic0,1,leaf0,1/1\nH2,leaf0,1/2,spine0,1/1\nH3,leaf0,1/3,spine0,1/2\n";

fn open(path: &str) -> io::Result<String> {
    match path {
        "cabling.csv" => Ok(CABLING.to_owned()),
        _ => Err(io::Error::other("not there")),
    }
}

fn read(text: &str) -> Result<Names, NamesError> {
    Names::read(text, &mut open)
}

fn labels(pairs: &[(&str, &str)]) -> Labels {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

/// The place of a series by its name at the site.
fn found(names: &Names, name: &str, pairs: &[(&str, &str)]) -> Option<(Metric, Place, Option<u8>)> {
    let mut all = labels(pairs);
    all.insert("__name__".into(), name.into());
    let digit = |c: char| if c.is_ascii_digit() { 'N' } else { c };
    let same = |entry: &&Entry| {
        let plain: String = name.chars().map(digit).collect();
        entry.name == name || entry.name.replace("{p}", "N") == plain
    };
    let entry = names.entries().iter().find(same)?;
    let (place, priority) = names.place(entry, &all)?;
    Some((entry.metric, place, priority))
}

fn port(device: &str, port: &str) -> Place {
    Place::Port { device: device.into(), port: port.into() }
}

#[test]
fn series_of_other_exporters_find_their_place() {
    let names = read(FILE).expect("names");
    let host = [("instance", "gpu-002:9100"), ("device", "mlx5_3")];
    assert_eq!(
        found(&names, "node_ethtool_received_prio3_pause", &host),
        Some((Metric::PfcReceived, port("server1-nic3", ""), Some(3)))
    );
    assert_eq!(
        found(&names, "node_infiniband_link_downed_total", &host),
        Some((Metric::LinkDowns, port("server1-nic3", ""), None))
    );
    let switch = [("instance", "leaf-1:9101"), ("device", "Ethernet3"), ("queue", "4")];
    assert_eq!(
        found(&names, "sonic_queue_dropped_packets_total", &switch),
        Some((Metric::BufferDrops, port("leaf0", "leaf0→spine0#2"), Some(4)))
    );
    let own = [("node", "gpu-001"), ("nic", "mlx5_0")];
    assert_eq!(
        found(&names, "site_pause_us_prio5", &own),
        Some((Metric::PausedTime, port("server0-nic0", ""), Some(5)))
    );
    let job = [("slurm_job_id", "77"), ("rank", "12")];
    assert_eq!(
        found(&names, "nccl_collective_exec_time_microseconds", &job),
        Some((Metric::CollectiveTime, Place::Rank { job: "77".into(), rank: 12 }, None))
    );
    // A series without the labels that say where it belongs belongs nowhere.
    assert_eq!(found(&names, "node_ethtool_received_prio3_pause", &[("device", "eth0")]), None);
    let odd = [("instance", "leaf-1:9101"), ("device", "Ethernet3"), ("queue", "UC12")];
    assert_eq!(found(&names, "sonic_queue_dropped_packets_total", &odd), None);
}

#[test]
fn queries_ask_for_all_priorities_at_once() {
    let names = read(FILE).expect("names");
    let of = |name: &str| {
        let entry = names.entries().iter().find(|entry| entry.name == name).expect("an entry");
        names.query(entry, Some("a\"b"))
    };
    assert_eq!(
        of("site_pause_us_prio{p}"),
        "{__name__=~\"site_pause_us_prio[0-7]\",cluster=\"a1\"}"
    );
    assert_eq!(of("xoff_port_up"), "xoff_port_up{fabric=\"a\\\"b\",cluster=\"a1\"}");
    let own = Names::own();
    assert_eq!(own.query(&own.entries()[0], None), "xoff_transmit_bytes_total");
}

#[test]
fn mistakes_are_named() {
    let of = |text: &str| read(text).expect_err("a mistake").to_string();
    assert!(of("sources = ['node_exporter']").contains("did you mean `node-exporter`?"));
    let series = |more: &str| {
        of(&format!("[[series]]\nmetric = 'xoff_port_up'\nname = 'up'\ndevice = '{{a}}'\n{more}"))
    };
    assert!(series("scale = 0").contains("not a number above zero"));
    assert!(series("job = '{b}'").contains("beside `device`"));
    assert!(of("[[series]]\nmetric = 'xoff_port_upp'\nname = 'a'").contains("`xoff_port_up`"));
    assert!(
        of("[[series]]\nmetric = 'xoff_port_up'\nname = 'a}b'").contains("no name of a series")
    );
    assert!(of("[devices]\n'gpu-*' = 'server{2}'").contains("wants part 2"));
    assert!(of("cabling = 'other.csv'").contains("other.csv"));
    assert!(of("[devcies]\n").contains("line 1"));
    assert!(of("devices = 3").contains("line 1"));
}

const DCGM: &str = r#"
sources = ["dcgm"]
[devices]
"gpu-*" = "server{1-1}"
"gpu-*/mlx5_*" = "server{1-1}-nic{2}"
[[series]]
metric = "xoff_gpu_busy_ratio"
name = "site_gpu_active"
host = "{node}"
"#;

fn gpu(host: &str, gpu: u32) -> Place {
    Place::Gpu { host: host.into(), gpu }
}

/// Labels and names of dcgm-exporter, as 4.8.2 writes them and as 4.9.0 does.
#[test]
fn gpus_of_dcgm_find_their_server() {
    let names = read(DCGM).expect("names");
    let old = [
        ("gpu", "5"),
        ("UUID", "GPU-a6158b59-2c1e-1e63-0068-9178c4298abd"),
        ("device", "nvidia5"),
        ("modelName", "NVIDIA H100 80GB HBM3"),
        ("Hostname", "gpu-012"),
        ("instance", "10.0.0.7:9400"),
    ];
    let new = old.map(|(name, value)| (if name == "Hostname" { "hostname" } else { name }, value));
    let busy = Some((Metric::GpuBusyShare, gpu("server11", 5), None));
    assert_eq!(found(&names, "DCGM_FI_DEV_GPU_UTIL", &old), busy);
    assert_eq!(found(&names, "DCGM_FI_DEV_GPU_UTIL_RATIO", &new), busy);
    for (name, labels) in
        [("DCGM_FI_DEV_PCIE_REPLAY_COUNTER", &old), ("DCGM_FI_DEV_PCIE_REPLAY_TOTAL", &new)]
    {
        let replays = Some((Metric::GpuPcieReplays, gpu("server11", 5), None));
        assert_eq!(found(&names, name, labels), replays);
    }
    // Without a name of its own a host is what was scraped.
    let bare = [("gpu", "0"), ("instance", "gpu-001:9400")];
    let replays = Some((Metric::GpuNvlinkReplays, gpu("server0", 0), None));
    assert_eq!(found(&names, "DCGM_FI_DEV_NVLINK_REPLAY_TOTAL", &bare), replays);
    let own = [("node", "gpu-003"), ("gpu", "1")];
    assert_eq!(
        found(&names, "site_gpu_active", &own),
        Some((Metric::GpuBusyShare, gpu("server2", 1), None))
    );
    assert_eq!(found(&names, "DCGM_FI_DEV_GPU_UTIL", &[("Hostname", "gpu-012")]), None);
}

#[test]
fn percent_and_shares_are_the_same_and_blanks_are_none() {
    let names = read(DCGM).expect("names");
    let of = |name: &str| names.entries().iter().find(|entry| entry.name == name).expect("one");
    assert_eq!(of("DCGM_FI_DEV_GPU_UTIL").scale * 97.0, 0.97);
    assert_eq!(of("DCGM_FI_DEV_GPU_UTIL_RATIO").scale, 1.0);
    let replays = of("DCGM_FI_DEV_PCIE_REPLAY_COUNTER");
    for blank in ["9223372036854775794", "9.223372036854775792e+18", "140737488355330"] {
        assert!(replays.is_blank(blank.parse().expect("a number")), "{blank}");
    }
    for value in [0.0, 97.0, 1e12, f64::NAN, f64::INFINITY] {
        assert!(!replays.is_blank(value), "{value}");
    }
    assert!(!of("xoff_transmit_bytes_total").is_blank(1e19));
}

#[test]
fn mistakes_of_gpus_are_named() {
    let of = |text: &str| read(text).expect_err("a mistake").to_string();
    let busy = "[[series]]\nmetric = 'xoff_gpu_busy_ratio'\nname = 'a'\n";
    assert!(of(&format!("{busy}device = '{{b}}'")).contains("`host` and `gpu` name"));
    let up = "[[series]]\nmetric = 'xoff_port_up'\nname = 'a'\ngpu = '{b}'";
    assert!(of(up).contains("not of GPUs"));
}
