//! The examples as their users run them: two processes, on loopback.
//!
//! `cargo test` builds them beside the tests; after `cargo test --test examples` alone they may be
//! missing or old: `cargo build -p xoff-endpoint --examples` makes them.

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use xoff_endpoint::Port;
use xoff_endpoint::perftest::{self, Extent, Settings};

/// Far more than anything here takes, for a loaded machine.
const LATE: Duration = Duration::from_secs(30);

fn program(name: &str) -> PathBuf {
    let own = std::env::current_exe().unwrap();
    let folder = own.parent().and_then(Path::parent).unwrap().join("examples");
    let path = folder.join(name);
    assert!(
        path.exists(),
        "{} is missing: cargo build -p xoff-endpoint --examples",
        path.display()
    );
    path
}

/// Addresses that no other test has.
fn loopback() -> String {
    static NEXT: AtomicU8 = AtomicU8::new(1);
    Ipv4Addr::new(127, 91, 23, NEXT.fetch_add(1, Ordering::Relaxed)).to_string()
}

/// Runs a program to its end.
fn run(name: &str, arguments: &[&str]) -> Output {
    let mut child = Command::new(program(name));
    let child = child.args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped());
    wait(child.spawn().unwrap())
}

fn wait(mut child: Child) -> Output {
    let start = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if start.elapsed() > LATE {
            child.kill().unwrap();
        }
        thread::sleep(Duration::from_millis(2));
    }
    let output = child.wait_with_output().unwrap();
    assert!(start.elapsed() < LATE, "{output:?}");
    output
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// What a program prints if it ends well.
fn good(name: &str, arguments: &[&str]) -> String {
    let output = run(name, arguments);
    assert!(output.status.success(), "{name} {arguments:?}: {output:?}");
    text(&output.stdout)
}

/// What a program says if it does not.
fn bad(name: &str, arguments: &[&str], code: i32) -> String {
    let output = run(name, arguments);
    assert_eq!(output.status.code(), Some(code), "{name} {arguments:?}: {output:?}");
    text(&output.stderr)
}

/// A server that is killed when the test ends.
struct Server {
    child: Child,
    lines: BufReader<ChildStdout>,
}

impl Server {
    fn start(name: &str, arguments: &[&str]) -> Self {
        let mut command = Command::new(program(name));
        let mut child = command.args(arguments).stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        let mut server = Self { child, lines };
        assert!(server.line().starts_with("listening at "));
        server
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.lines.read_line(&mut line).unwrap();
        line
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn rping_with_itself_and_with_the_stock_protocol() {
    let (server, client, other) = (loopback(), loopback(), loopback());
    let mut serving = Server::start("rping", &["serve", "-a", &server]);
    let shown = good("rping", &[&server, "-a", &client, "-C", "3", "-S", "1000"]);
    assert_eq!(shown.lines().count(), 3);
    assert!(shown.lines().last().unwrap().contains("rdma-ping-2: CDEF"), "{shown}");
    assert_eq!(serving.line(), format!("{client}: 3 rounds\n"));
    // `xoff perf ping`, which stock tools were tried against, as the client and as the server.
    let stop = Arc::new(AtomicBool::new(false));
    let settings = Settings {
        server: Some(server.clone()),
        bind: Some(other.parse().unwrap()),
        port: Port(7174),
        size: 64,
        extent: Extent::Iterations(4),
        rendezvous: perftest::Rendezvous::Cm,
        ..Settings::new(perftest::Verb::Send, perftest::Measure::Latency)
    };
    let rounds = perftest::ping(&settings, &stop, |_| {}).unwrap();
    assert_eq!((rounds.count, rounds.wrong), (4, 0));
    assert_eq!(serving.line(), format!("{other}: 4 rounds\n"));
    // Another address: a program that another test starts may still hold a copy of the socket, until it has begun.
    let other = loopback();
    let settings = Settings { server: None, bind: Some(other.parse().unwrap()), ..settings };
    let answering = thread::spawn(move || perftest::ping(&settings, &stop, |_| {}).unwrap());
    good("rping", &[&other, "-a", &client, "-C", "5"]);
    let rounds = answering.join().unwrap();
    assert_eq!((rounds.count, rounds.wrong), (5, 0));
}

#[test]
fn cmatose_with_itself() {
    for (count, size) in [("10", "100"), ("1", "1"), ("300", "5000")] {
        let (server, client) = (loopback(), loopback());
        let same = ["-C", count, "-S", size];
        let mut serving =
            Server::start("cmatose", &[&["serve", "-a", &server], &same[..]].concat());
        let shown = good("cmatose", &[&[&server[..], "-a", &client], &same[..]].concat());
        assert!(shown.starts_with(&format!("{count} messages of ")), "{shown}");
        assert!(serving.line().ends_with("sent and received\n"));
    }
}

#[test]
fn udaddy_with_itself() {
    for (count, size) in [("10", "100"), ("1", "1"), ("200", "1024")] {
        let (server, client) = (loopback(), loopback());
        let same = ["-C", count, "-S", size];
        let mut serving = Server::start("udaddy", &[&["serve", "-a", &server], &same[..]].concat());
        let shown = good("udaddy", &[&[&server[..], "-a", &client], &same[..]].concat());
        assert!(shown.starts_with(&format!("{count} datagrams of {size} B sent")), "{shown}");
        assert!(serving.line().ends_with("received and sent\n"));
    }
}

#[test]
fn rstream_with_itself() {
    // Transfers within a half of the buffer, beyond a half, and beyond both.
    for same in [
        &["-S", "1", "-C", "3"][..],
        &["-S", "1000", "-C", "500", "-I", "2"],
        &["-S", "70000", "-C", "10"],
        &["-S", "1000000", "-C", "2"],
    ] {
        let (server, client) = (loopback(), loopback());
        let same = [same, &["--verify", "yes"]].concat();
        let mut listening =
            Server::start("rstream", &[&["serve", "-a", &server], &same[..]].concat());
        let shown = good("rstream", &[&[&server[..], "-a", &client], &same[..]].concat());
        assert!(shown.contains("bytes each way in "), "{shown}");
        assert!(listening.line().contains("bytes each way in "));
        assert!(listening.child.wait().unwrap().success());
    }
    let server = loopback();
    let mut listening = Server::start("rstream", &["serve", "-a", &server]);
    // Who does not speak the protocol is turned away.
    let failed = bad("cmatose", &[&server[..], "-a", &loopback()], 1);
    assert!(failed.contains("reject") || failed.contains("refuse"), "{failed}");
    assert_eq!(listening.child.wait().unwrap().code(), Some(1));
}

#[test]
fn qperf_with_itself() {
    for test in ["rc_bw", "rc_lat", "rc_rdma_read_bw", "rc_rdma_write_bw"] {
        let (server, client) = (loopback(), loopback());
        let mut listening = Server::start("qperf", &["serve", "-a", &server]);
        let arguments = [&server, test, "-a", &client, "-t", "1", "-m", "3000"];
        let shown = good("qperf", &arguments);
        assert!(shown.starts_with(test) && shown.contains(" messages of 3000 bytes "), "{shown}");
        assert!(listening.line().starts_with(test));
        assert!(listening.child.wait().unwrap().success());
    }
    let server = loopback();
    assert!(bad("qperf", &[&server, "ud_lat"], 1).contains("ud_lat is none of rc_bw, rc_lat"));
    assert!(bad("qperf", &[&server, "rc_bw"], 1).contains("no qperf at 127.91.23."));
}

#[test]
fn a_store_is_read_and_changed() {
    let (server, client) = (loopback(), loopback());
    let _serving = Server::start("key_value", &["serve", "-a", &server, "capital=Rome", "x=1"]);
    let get = |key: &str| good("key_value", &["get", &server, key, "-a", &client]);
    assert_eq!(get("capital"), "Rome\n");
    good("key_value", &["put", &server, "capital", "Roma", "-a", &client]);
    good("key_value", &["put", &server, "new", &"v".repeat(243), "-a", &client]);
    assert_eq!(get("capital"), "Roma\n");
    assert_eq!(get("new").len(), 244);
    let many = good("key_value", &["get", &server, "x", "-n", "200", "-a", &client]);
    assert!(many.starts_with("1\n200 reads, "), "{many}");
    let none = bad("key_value", &["get", &server, "nothing", "-a", &client], 1);
    assert_eq!(none, "error: there is no key nothing\n");
    let long = bad("key_value", &["put", &server, "k", &"v".repeat(246), "-a", &client], 1);
    assert!(long.contains("246 at most"), "{long}");
    // Nobody listens at that port; what listens at this one is no store.
    let wrong = bad("key_value", &["get", &server, "x", "-a", &client, "-p", "1"], 1);
    assert!(wrong.contains("nobody listens"), "{wrong}");
    let pings = loopback();
    let _pinging = Server::start("rping", &["serve", "-a", &pings]);
    let wrong = bad("key_value", &["get", &pings, "x", "-a", &client, "-p", "7174"], 1);
    assert!(wrong.contains("no key-value store"), "{wrong}");
}

#[test]
fn files_are_copied_whole() {
    let (server, client) = (loopback(), loopback());
    let folder = std::env::temp_dir().join(format!("xoff-copy-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    // More than the ring of buffers, about as much, less than one, and nothing.
    for size in [11_000_003u32, 8 << 20, 1000, 0] {
        let (from, to) = (folder.join("from"), folder.join("to"));
        let step = |n: u32| (n.wrapping_mul(2_654_435_761) >> 24) as u8;
        fs::write(&from, (0..size).map(step).collect::<Vec<u8>>()).unwrap();
        let to_text = to.to_str().unwrap();
        let mut receiving = Server::start("file_copy", &["receive", to_text, "-a", &server]);
        let from_text = from.to_str().unwrap();
        let sent = good("file_copy", &["send", from_text, &server, "-a", &client, "-m", "4096"]);
        assert!(sent.starts_with(&format!("sent {size} bytes in ")), "{sent}");
        assert!(receiving.line().starts_with(&format!("received {size} bytes in ")));
        assert_eq!(Some(receiving.line().trim()), sent.lines().last(), "the digests");
        assert!(receiving.child.wait().unwrap().success());
        assert!(fs::read(&from).unwrap() == fs::read(&to).unwrap());
        let again = bad("file_copy", &["receive", to_text, "-a", &server], 1);
        assert!(again.contains("exists"), "{again}");
        fs::remove_file(to).unwrap();
    }
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn half_a_file_is_no_file() {
    let (server, client) = (loopback(), loopback());
    let folder = std::env::temp_dir().join(format!("xoff-half-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let to = folder.join("to");
    let receiving = Server::start("file_copy", &["receive", to.to_str().unwrap(), "-a", &server]);
    // A sender that promises a file, writes nothing and leaves.
    let settings = xoff_endpoint::DeviceSettings::new(client.parse::<Ipv4Addr>().unwrap());
    let endpoint = xoff_endpoint::Endpoint::open(settings).unwrap();
    let data = [b"xoff-fc1".as_slice(), &1000u64.to_be_bytes()].concat();
    let peer: Ipv4Addr = server.parse().unwrap();
    let connection = endpoint.connect(peer, 7473, &data).within(LATE).wait().unwrap();
    connection.disconnect(b"").within(LATE).wait().unwrap();
    let Server { child, .. } = &mut { receiving };
    let start = Instant::now();
    while child.try_wait().unwrap().is_none() {
        assert!(start.elapsed() < LATE);
        thread::sleep(Duration::from_millis(2));
    }
    assert_eq!(child.wait().unwrap().code(), Some(1));
    assert!(!to.exists());
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn mistakes_are_explained() {
    for name in [
        "rping",
        "cmatose",
        "udaddy",
        "rstream",
        "qperf",
        "key_value",
        "file_copy",
        "nvme_discover",
    ] {
        assert!(good(name, &["--help"]).starts_with(name));
        assert!(bad(name, &[], 1).contains("--help says more"));
        assert!(bad(name, &["--nonsense"], 2).contains("there is no option --nonsense"));
        assert!(bad(name, &["-a"], 2).contains("-a needs a value"));
    }
    assert!(bad("rping", &["example.com"], 1).contains("no IP address"));
    assert!(bad("rping", &["serve", "-a", "300.1.1.1"], 1).contains("-a 300.1.1.1: not valid"));
    assert!(bad("rping", &["127.0.0.1", "-S", "5"], 1).contains("32 to 65535 bytes"));
    assert!(bad("file_copy", &["send", "/nonexistent", "127.0.0.1"], 1).contains("/nonexistent:"));
    assert!(bad("file_copy", &["send", "/", "127.0.0.1"], 1).contains("is not a file"));
    let server = loopback();
    let _serving = Server::start("rping", &["serve", "-a", &server]);
    let taken = bad("rping", &["serve", "-a", &server], 1);
    assert!(taken.contains("is in use on this machine"), "{taken}");
    let pairs = bad("key_value", &["serve", "-a", &loopback(), "nopair"], 1);
    assert!(pairs.contains("nopair: not KEY=VALUE"), "{pairs}");
}
