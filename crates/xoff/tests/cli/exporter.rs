//! `xoff exporter`: trees of files as hosts, Redis as a switch, HTTP. Needs Debian's `redis-server` for the switch and
//! Prometheus' `promtool` for the format, which `./test` fetches; without them those parts are skipped by name.

use super::{code, example, is_release_build, output, peak, stderr, stdout, xoff};
use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A hash of Redis: its database, its key, its fields.
type Hash = (u8, String, Vec<(String, String)>);

fn put(root: &Path, path: &str, text: impl AsRef<[u8]>) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// A host with two NICs.
fn host(root: &Path) {
    for nic in 0..2 {
        let port = format!("class/infiniband/mlx5_{nic}/ports/1");
        for (name, value) in [("np_cnp_sent", 17 + nic), ("req_cqe_error", 3), ("lifespan", 12)] {
            put(root, &format!("{port}/hw_counters/{name}"), format!("{value}\n"));
        }
        put(root, &format!("{port}/counters/port_xmit_data"), "1000\n");
        put(root, &format!("{port}/state"), "4: ACTIVE\n");
        put(root, &format!("{port}/rate"), "400 Gb/sec (4X NDR)\n");
        put(root, &format!("class/infiniband/mlx5_{nic}/device/net/ens{nic}/dev_port"), "0\n");
        put(root, &format!("class/net/ens{nic}/device/vendor"), "0x15b3\n");
        put(root, &format!("class/net/ens{nic}/statistics/rx_bytes"), "5\n");
        put(root, &format!("class/net/ens{nic}/carrier"), "1\n");
    }
}

/// What promtool has to say of a name of the schema: rates of links are in bits per second, as everybody gives them.
const BITS: &str = "xoff_port_speed_bits_per_second use base unit \"bytes\" instead of \"bits\"";

/// Has promtool look at a page. It ends with 3 where it does not like a name, and with 1 where it cannot read the page.
pub(crate) fn promtool(page: &str) {
    let beside = std::env::var("XOFF_PROMETHEUS");
    let beside = beside.map(|path| PathBuf::from(path).with_file_name("promtool"));
    let program = beside.unwrap_or_else(|_| "promtool".into());
    let mut command = Command::new(&program);
    command.args(["check", "metrics"]).stdin(Stdio::piped()).stderr(Stdio::piped());
    let Ok(mut child) = command.stdout(Stdio::piped()).spawn() else {
        eprintln!("SKIPPED the format by `{}`: it is not installed", program.display());
        return;
    };
    child.stdin.take().unwrap().write_all(page.as_bytes()).unwrap();
    let out = child.wait_with_output().unwrap();
    let said = format!("{}{}", stdout(&out), stderr(&out));
    let else_said: Vec<&str> =
        said.lines().filter(|line| *line != BITS && !line.is_empty()).collect();
    assert!(else_said.is_empty(), "{else_said:#?}\n{page}");
    let expected = if said.contains(BITS) { 3 } else { 0 };
    assert_eq!(code(&out), Some(expected), "{page}");
}

#[test]
fn a_host_is_printed_once() {
    let folder = tempfile::tempdir().unwrap();
    host(folder.path());
    let out =
        output(folder.path(), &["exporter", "host", "--sysfs", ".", "--host", "gpu7", "--once"]);
    assert_eq!(code(&out), Some(0), "{}", stderr(&out));
    let page = stdout(&out);
    for line in [
        "# TYPE xoff_cnp_sent_packets_total counter",
        "xoff_cnp_sent_packets_total{device=\"gpu7-mlx5_1\",fabric=\"fabric\",host=\"gpu7\"} 18",
        "xoff_hw_req_cqe_error_total{device=\"gpu7-mlx5_0\",fabric=\"fabric\",host=\"gpu7\"} 3",
        "xoff_transmit_bytes_total{device=\"gpu7-mlx5_0\",fabric=\"fabric\",host=\"gpu7\"} 4000",
        "xoff_exporter_read_errors_total 0",
        "xoff_exporter_source_up 1",
    ] {
        assert!(page.lines().any(|found| found == line), "no `{line}` in\n{page}");
    }
    assert!(stderr(&out).is_empty(), "{}", stderr(&out));
    promtool(page);
}

#[test]
fn a_fabric_file_names_the_nics() {
    let folder = tempfile::tempdir().unwrap();
    host(folder.path());
    let plan = example("pod-256.toml");
    let run = |more: &[&str]| {
        let start = ["exporter", "host", "--sysfs", ".", "--once", "--fabric", &plan];
        output(folder.path(), &[&start[..], more].concat())
    };
    let few = run(&["--host", "server3"]);
    assert_eq!(code(&few), Some(2));
    assert!(stderr(&few).contains("has 2 RDMA ports (mlx5_0, mlx5_1)"), "{}", stderr(&few));
    assert!(stderr(&few).contains("--device mlx5_0=server3-nic0"), "{}", stderr(&few));
    let none = run(&["--host", "gpu7"]);
    assert!(stderr(&none).contains("no server `gpu7`"), "{}", stderr(&none));
    let named = run(&["--host", "server3", "--device", "mlx5_1=server3-nic5"]);
    assert_eq!(code(&named), Some(0), "{}", stderr(&named));
    let page = stdout(&named);
    let line = page.lines().find(|line| line.ends_with(" 18")).expect("the second NIC's CNPs");
    for label in ["device=\"server3-nic5\"", "fabric=\"pod-256\"", "peer=\"leaf5\"", "rail=\"5\""] {
        assert!(line.contains(label), "{line}");
    }
    assert!(page.contains("device=\"server3-mlx5_0\""), "{page}");
    promtool(page);
}

#[test]
fn this_machine_is_read() {
    let out = output(Path::new("."), &["exporter", "host", "--once"]);
    assert_eq!(code(&out), Some(0), "{}", stderr(&out));
    assert!(stdout(&out).contains("xoff_exporter_source_up 1\n"));
    promtool(stdout(&out));
}

#[test]
fn what_cannot_be_read_or_served_is_said_with_its_cure() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("short"), "abc\n").unwrap();
    for (arguments, message) in [
        (&["host", "--sysfs", "nowhere", "--once"][..], "--sysfs"),
        (&["host", "--listen", "0.0.0.0:0"], "--tls-cert, --tls-key and --token-file"),
        (&["host", "--listen", "0.0.0.0:0", "--token-file", "short"], "openssl rand -hex 32"),
        (&["host", "--listen", "127.0.0.1:0", "--token-file", "none"], "cannot read `none`"),
        (&["host", "--tls-cert", "c.pem"], "--tls-key"),
        (&["host", "--once", "--listen", "127.0.0.1:0"], "cannot be used with"),
        (&["host", "--device", "mlx5_0"], "mlx5_0=server0-nic0"),
        (&["sonic", "--redis", "unix:none.sock", "--once"], "cannot read Redis at unix:none.sock"),
        (&["sonic", "--redis", "localhost"], "neither HOST:PORT"),
        (&["gnmi", "leaf0"], "not HOST:PORT, like leaf0:8080"),
        (&["gnmi", "leaf0:8080"], "--ca"),
        (&["gnmi", "leaf0:8080", "--ca", "none.pem"], "cannot read `none.pem`"),
        (&["gnmi", "leaf0:8080", "--ca", "short"], "`short` has no certificate in PEM"),
        (&["gnmi", "leaf0:8080", "--insecure", "--ca", "short"], "cannot be used with"),
        (&["gnmi", "leaf0:8080", "--insecure", "--username", "admin"], "XOFF_GNMI_PASSWORD"),
        (&["gnmi", "leaf0:8080", "--insecure", "--sample", "10ms"], "between 1s and 600s"),
        (&["gnmi", "leaf0:8080", "--insecure", "--queue", "BE1=8"], "form BE1=0"),
        (&["gnmi", "127.0.0.1:1", "--insecure", "--once"], "cannot reach gNMI at 127.0.0.1:1"),
    ] {
        let out = output(folder.path(), &[&["exporter"], arguments].concat());
        assert_eq!(code(&out), Some(2), "{arguments:?}: {}", stderr(&out));
        assert!(stderr(&out).contains(message), "{arguments:?}: {}", stderr(&out));
    }
}

/// An exporter that serves, and ends with this value.
pub(crate) struct Serving {
    process: Child,
    address: String,
}

impl Serving {
    pub(crate) fn start(folder: &Path, arguments: &[&str]) -> Self {
        let mut process = xoff(folder)
            .arg("exporter")
            .args(arguments)
            .args(["--listen", "127.0.0.1:0"])
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut said = BufReader::new(process.stderr.take().unwrap());
        let mut address = None;
        let mut all = String::new();
        let mut line = String::new();
        while address.is_none() && said.read_line(&mut line).unwrap_or(0) > 0 {
            let url = line.split_once("http://").and_then(|(_, rest)| rest.split_once("/metrics"));
            address = url.map(|(address, _)| address.to_owned());
            all += &std::mem::take(&mut line);
        }
        // What else it says is not kept, but it must not wait for a reader.
        std::thread::spawn(move || std::io::copy(&mut said, &mut std::io::sink()));
        Self { process, address: address.unwrap_or_else(|| panic!("it does not serve: {all}")) }
    }

    pub(crate) fn get(&self) -> String {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").expect("a head and a body");
        assert!(head.starts_with("HTTP/1.1 200 OK"), "{head}");
        body.to_owned()
    }

    /// Resident memory, in bytes; most of it ever.
    pub(crate) fn peak(&self) -> u64 {
        peak(self.process.id()).expect("it is up")
    }

    /// Sends Ctrl-C, which ends it.
    pub(crate) fn interrupt(&mut self) {
        let id = self.process.id().to_string();
        assert!(Command::new("kill").args(["-INT", &id]).status().unwrap().success());
        for _ in 0..100 {
            if let Some(status) = self.process.try_wait().unwrap() {
                assert_eq!(status.code(), Some(130));
                return;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        panic!("it does not end");
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        // It may have ended by itself; then there is nothing to do.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
fn pages_are_served_until_a_signal_comes() {
    let folder = tempfile::tempdir().unwrap();
    host(folder.path());
    let mut serving = Serving::start(folder.path(), &["host", "--sysfs", ".", "--host", "gpu7"]);
    let line = |value| {
        format!(
            "xoff_cnp_sent_packets_total{{device=\"gpu7-mlx5_0\",fabric=\"fabric\",host=\"gpu7\"}} {value}\n"
        )
    };
    assert!(serving.get().contains(&line(17)));
    put(folder.path(), "class/infiniband/mlx5_0/ports/1/hw_counters/np_cnp_sent", "99\n");
    put(folder.path(), "class/infiniband/mlx5_0/ports/1/hw_counters/broken", "x\n");
    let page = serving.get();
    assert!(page.contains(&line(99)), "{page}");
    assert!(page.contains("xoff_exporter_read_errors_total 1\n"), "{page}");
    serving.interrupt();
}

/// A Redis on loopback that ends with this value.
struct Redis {
    process: Child,
    port: u16,
}

impl Redis {
    /// Starts one; `None`, said on standard error, where there is none.
    fn start(folder: &Path) -> Option<Self> {
        let program = std::env::var("XOFF_REDIS").unwrap_or_else(|_| "redis-server".into());
        let port = TcpListener::bind("127.0.0.1:0").ok()?.local_addr().ok()?.port();
        let process = Command::new(&program)
            .args(["--bind", "127.0.0.1", "--save", "", "--appendonly", "no"])
            .args(["--port", &port.to_string()])
            .current_dir(folder)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let Ok(process) = process else {
            eprintln!("SKIPPED: `{program}` is not installed");
            return None;
        };
        let started = Self { process, port };
        for _ in 0..200 {
            if TcpStream::connect(("127.0.0.1", port)).is_ok() {
                return Some(started);
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        panic!("Redis was not ready after ten seconds");
    }

    /// Writes hashes, by database, as a client of Redis would send them.
    fn fill(&self, hashes: &[Hash]) {
        let mut request = String::new();
        for (db, key, fields) in hashes {
            let _ = write!(request, "*2\r\n$6\r\nSELECT\r\n$1\r\n{db}\r\n");
            let _ = write!(request, "*{}\r\n$4\r\nHSET\r\n", 2 + 2 * fields.len());
            let words = fields.iter().flat_map(|(field, value)| [field, value]);
            for word in std::iter::once(key).chain(words) {
                let _ = write!(request, "${}\r\n{word}\r\n", word.len());
            }
        }
        request += "*1\r\n$4\r\nQUIT\r\n";
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        let mut answers = stream.try_clone().unwrap();
        let reader = std::thread::spawn(move || {
            let mut text = String::new();
            answers.read_to_string(&mut text).map(|_| text)
        });
        stream.write_all(request.as_bytes()).unwrap();
        let text = reader.join().unwrap().unwrap();
        assert!(!text.contains("-ERR") && !text.contains("-WRONG"), "{text}");
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn pairs(list: &[(&str, &str)]) -> Vec<(String, String)> {
    list.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect()
}

/// A switch of so many ports with eight queues and eight priority groups each. The value of every counter is a function of its
/// place.
fn switch(ports: u32) -> Vec<Hash> {
    let (mut list, mut names, mut queues, mut groups) = (Vec::new(), vec![], vec![], vec![]);
    for port in 0..ports {
        let name = format!("Ethernet{}", port * 8);
        names.push((name.clone(), format!("oid:0x1{port:012x}")));
        let state = pairs(&[("oper_status", "up"), ("speed", "400000")]);
        list.push((0, format!("PORT_TABLE:{name}"), state));
        let mut fields = pairs(&[("SAI_PORT_STAT_IF_IN_OCTETS", "123")]);
        for p in 0..8 {
            fields.push((format!("SAI_PORT_STAT_PFC_{p}_RX_PKTS"), (port * 10 + p).to_string()));
            fields.push((format!("SAI_PORT_STAT_PFC_{p}_TX_PKTS"), "2".into()));
            fields.push((format!("SAI_PORT_STAT_PFC_{p}_RX_PAUSE_DURATION_US"), "1500".into()));
            // Half of what a switch has is of no interest by default.
            fields.push((format!("SAI_PORT_STAT_ETHER_OUT_PKTS_{p}"), "9".into()));
            let (queue, group) =
                (format!("oid:0x15{port:010x}{p}"), format!("oid:0x1a{port:010x}{p}"));
            queues.push((format!("{name}:{p}"), queue.clone()));
            groups.push((format!("{name}:{p}"), group.clone()));
            let of_queue = [
                ("SAI_QUEUE_STAT_BYTES", "1000"),
                ("SAI_QUEUE_STAT_PACKETS", "10"),
                ("SAI_QUEUE_STAT_DROPPED_PACKETS", "1"),
                ("SAI_QUEUE_STAT_WRED_ECN_MARKED_PACKETS", "4"),
                ("PFC_WD_STATUS", "operational"),
            ];
            list.push((2, format!("COUNTERS:{queue}"), pairs(&of_queue)));
            let peak = [("SAI_QUEUE_STAT_SHARED_WATERMARK_BYTES", "4096")];
            list.push((2, format!("PERIODIC_WATERMARKS:{queue}"), pairs(&peak)));
            list.push((2, format!("USER_WATERMARKS:{queue}"), pairs(&peak)));
            let of_group = [
                ("SAI_INGRESS_PRIORITY_GROUP_STAT_DROPPED_PACKETS", "2"),
                ("SAI_INGRESS_PRIORITY_GROUP_STAT_SHARED_WATERMARK_BYTES", "7"),
                ("SAI_INGRESS_PRIORITY_GROUP_STAT_XOFF_ROOM_WATERMARK_BYTES", "8"),
            ];
            list.push((2, format!("COUNTERS:{group}"), pairs(&of_group)));
        }
        list.push((2, format!("COUNTERS:oid:0x1{port:012x}"), fields));
    }
    list.push((2, "COUNTERS_PORT_NAME_MAP".into(), names));
    list.push((2, "COUNTERS_QUEUE_NAME_MAP".into(), queues));
    list.push((2, "COUNTERS_PG_NAME_MAP".into(), groups));
    let pool = pairs(&[("ingress_lossless_pool", "oid:0x18000000000b66")]);
    list.push((2, "COUNTERS_BUFFER_POOL_NAME_MAP".into(), pool));
    let pool = pairs(&[("SAI_BUFFER_POOL_STAT_WATERMARK_BYTES", "3000")]);
    list.push((2, "COUNTERS:oid:0x18000000000b66".into(), pool));
    list.push((4, "DEVICE_METADATA|localhost".into(), pairs(&[("hostname", "leaf0")])));
    list
}

#[test]
fn a_switch_in_redis_is_exported() {
    let folder = tempfile::tempdir().unwrap();
    let Some(redis) = Redis::start(folder.path()) else { return };
    let address = format!("127.0.0.1:{}", redis.port);
    let run = |more: &[&str]| {
        let start = ["exporter", "sonic", "--redis", &address, "--once"];
        output(folder.path(), &[&start[..], more].concat())
    };
    let empty = run(&["--device", "leaf0"]);
    assert_eq!(code(&empty), Some(2));
    assert!(stderr(&empty).contains("COUNTERS_PORT_NAME_MAP"), "{}", stderr(&empty));
    assert!(stderr(&run(&[])).contains("name it with --device"));
    redis.fill(&switch(4));
    let out = run(&[]);
    assert_eq!(code(&out), Some(0), "{}", stderr(&out));
    let page = stdout(&out);
    for port in 0..4 {
        let labels = format!("device=\"leaf0\",fabric=\"fabric\",port=\"Ethernet{}\"", port * 8);
        assert!(page.contains(&format!("xoff_port_up{{{labels}}} 1\n")), "{page}");
        for p in 0..8 {
            for (family, value) in [
                ("xoff_pfc_received_frames_total", (port * 10 + p).to_string()),
                ("xoff_paused_seconds_total", "0.0015".into()),
                ("xoff_buffer_dropped_packets_total", "3".into()),
                ("xoff_queue_watermark_bytes", "4096".into()),
                ("xoff_sonic_pfc_wd_stormed", "0".into()),
            ] {
                let line = format!("{family}{{{labels},priority=\"{p}\"}} {value}\n");
                assert!(page.contains(&line), "no {line} in\n{page}");
            }
        }
    }
    promtool(page);
    let all = run(&["--all"]);
    assert!(stdout(&all).contains("xoff_sonic_port_ether_out_pkts_3_total{"));
    promtool(stdout(&all));
    // Names of the fabric file, by the configuration that xoff writes for SONiC.
    let named = run(&["--fabric", &example("pod-256.toml")]);
    assert_eq!(code(&named), Some(0), "{}", stderr(&named));
    assert!(stdout(&named).contains("port=\"leaf0→"), "{}", stdout(&named));
    // A Redis that goes away is no reason to end; it is said, and it comes back by itself.
    let serving = Serving::start(folder.path(), &["sonic", "--redis", &address]);
    assert!(serving.get().contains("xoff_exporter_source_up 1\n"));
    drop(redis);
    assert!(serving.get().contains("xoff_exporter_source_up 0\n"));
}

#[test]
#[allow(clippy::disallowed_methods, reason = "how long a scrape takes is the point")]
fn ten_thousand_series_take_little_time_and_memory() {
    let folder = tempfile::tempdir().unwrap();
    let Some(redis) = Redis::start(folder.path()) else { return };
    redis.fill(&switch(112));
    let address = format!("127.0.0.1:{}", redis.port);
    let serving = Serving::start(folder.path(), &["sonic", "--redis", &address]);
    let mut best = Duration::MAX;
    let mut series = 0;
    for _ in 0..5 {
        let start = Instant::now();
        let page = serving.get();
        best = best.min(start.elapsed());
        series = page.lines().filter(|line| !line.starts_with('#')).count();
    }
    let peak = serving.peak();
    eprintln!("{series} series in {best:?} (best of 5), {} MB resident", peak / 1_000_000);
    assert!(series >= 10_000, "{series}");
    // Built for release it is to take less than 200 ms; tests are not, and share the machine.
    let limit = if is_release_build() { 200 } else { 2_000 };
    assert!(best < Duration::from_millis(limit), "{best:?}");
    assert!(peak < 50_000_000, "{peak} bytes");
}
