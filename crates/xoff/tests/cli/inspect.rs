//! `xoff inspect`.

use super::{code, json, output, repository, stderr, stdout, xoff};
use std::io::{BufRead, Read, Write};
use std::net::{Ipv4Addr, Ipv6Addr};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use xoff_wire::capture::{LinkType, Packet, PcapngWriter, Timestamp};
use xoff_wire::ethernet::MacAddr;
use xoff_wire::frame::{Builder, Route};
use xoff_wire::ip::TrafficClass;
use xoff_wire::pause::{Pause, Quanta};
use xoff_wire::{Aeth, Extension, Header, Opcode, Psn, Qpn, Reth, Rkey, Service, Syndrome};

const CAPTURES: [&str; 7] = [
    "rc_atomic_fadd_v4",
    "rc_read_bw_v6",
    "rc_send_bw_v6",
    "rc_send_lat_v4",
    "rc_write_bw_v4_mtu1024",
    "rc_write_bw_v4_tclass106",
    "ud_send_bw_v6",
];

fn captures() -> PathBuf {
    repository("crates/wire/tests/data/pcap")
}

/// Compares with a file of expectations, or writes it if `XOFF_UPDATE` is set.
fn expect(name: &str, found: &str) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli/expected");
    let path = folder.join(name);
    if std::env::var_os("XOFF_UPDATE").is_some() {
        std::fs::write(&path, found).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(found, expected, "{name}; XOFF_UPDATE=1 writes it anew");
}

#[test]
fn a_kernels_captures_as_people_see_them() {
    for name in CAPTURES {
        let file = format!("{name}.pcap");
        let output = xoff(&captures()).args(["inspect", &file]).env("COLUMNS", "180").output();
        let output = output.unwrap();
        assert_eq!(code(&output), Some(0), "{}", stderr(&output));
        assert_eq!(stderr(&output), "");
        expect(&format!("inspect-{name}.txt"), stdout(&output));
    }
}

#[test]
fn the_same_for_machines() {
    let output = output(&captures(), &["inspect", "rc_send_lat_v4.pcap", "--json"]);
    let version = format!("\"version\": \"{}\"", env!("CARGO_PKG_VERSION"));
    let text = stdout(&output).replace(&version, "\"version\": \"ours\"");
    expect("inspect-rc_send_lat_v4.json", &text);
    let found = json(&output);
    assert_eq!(found["totals"]["packets"], 40);
    assert_eq!(found["complete"], true);
    assert_eq!(found["connections"][0]["a"]["qpn"], 0x3c);
}

/// A write connection with every trouble there is, in a pcapng file.
fn troubled() -> Vec<u8> {
    trouble().file()
}

fn trouble() -> Tape {
    let mut tape = Tape::default();
    for psn in [0, 1, 2, 4, 5] {
        tape.write(psn, 2);
    }
    tape.answer(3, Syndrome::SequenceError);
    for psn in [3, 4, 5] {
        tape.write(psn, 2);
    }
    tape.write(6, 3);
    tape.answer(6, Syndrome::Ack { credits: 31 });
    tape.packet(true, Opcode::Cnp, 0, Extension::None, 0, 2);
    tape.write(7, 2);
    tape.answer(7, Syndrome::RnrNak { timer: 12 });
    tape.now += 1_000_000;
    tape.write(7, 2);
    tape.answer(7, Syndrome::RemoteAccessError);
    tape.write(8, 2);
    let last = tape.packets.last_mut().unwrap();
    let at = last.1.len() - 10;
    last.1[at] ^= 1;
    let mut pause = vec![0; 60];
    let quanta = Pause::Priorities { enabled: 8, quanta: [Quanta(0xffff); 8] };
    Builder::write_pause(MacAddr([2; 6]), &quanta, &mut pause).unwrap();
    tape.packets.push((tape.now, pause));
    tape
}

#[derive(Default)]
struct Tape {
    packets: Vec<(u64, Vec<u8>)>,
    now: u64,
}

impl Tape {
    fn file(&self) -> Vec<u8> {
        let mut writer = PcapngWriter::new(Vec::new()).unwrap();
        for (ns, bytes) in &self.packets {
            let (timestamp, wire_len) = (Timestamp::from_ns(*ns), bytes.len() as u32);
            let link_type = LinkType::ETHERNET;
            writer.write(&Packet { timestamp, link_type, interface: 0, wire_len, bytes }).unwrap();
        }
        writer.finish().unwrap()
    }

    fn packet(
        &mut self,
        back: bool,
        opcode: Opcode,
        psn: u32,
        extension: Extension,
        payload: u32,
        class: u8,
    ) {
        self.now += 2_000;
        let hosts = [Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2)];
        let (source, destination) = (hosts[usize::from(back)], hosts[usize::from(!back)]);
        let identification = self.packets.len() as u16;
        let mut builder = Builder::new(Route::V4 { source, destination, identification });
        builder.class = TrafficClass(class);
        let header = Header {
            service: Service::Reliable,
            opcode,
            ack_request: payload > 0,
            becn: opcode == Opcode::Cnp,
            dest_qp: Qpn::new(if back { 0x11 } else { 0x22 }),
            psn: Psn::new(psn),
            extension,
            payload,
        };
        let mut bytes = vec![0; 2048];
        let data = vec![0x5a; payload as usize];
        let len = builder.write(&header, &data, &mut bytes).unwrap();
        bytes.truncate(len);
        self.packets.push((self.now, bytes));
    }

    fn write(&mut self, psn: u32, class: u8) {
        let reth = Reth { address: 0, rkey: Rkey(1), length: 1000 };
        self.packet(false, Opcode::WriteOnly, psn, Extension::Reth(reth), 1000, class);
    }

    fn answer(&mut self, psn: u32, syndrome: Syndrome) {
        let aeth = Extension::Aeth(Aeth { syndrome, msn: 0 });
        self.packet(true, Opcode::Acknowledge, psn, aeth, 0, 2);
    }
}

#[test]
fn every_trouble_has_its_line() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("troubled.pcapng"), troubled()).unwrap();
    let mut command = xoff(folder.path());
    let output = command.args(["inspect", "troubled.pcapng"]).env("COLUMNS", "180").output();
    let output = output.unwrap();
    assert_eq!(code(&output), Some(1));
    expect("inspect-troubled.txt", stdout(&output));
}

#[test]
fn standard_input_will_do() {
    let bytes = std::fs::read(captures().join("rc_send_lat_v4.pcap")).unwrap();
    let mut child = xoff(Path::new("."))
        .args(["inspect", "-", "--json"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(&bytes).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(json(&output)["totals"]["packets"], 40);
    let nothing = xoff(Path::new(".")).args(["inspect", "-"]).stdin(Stdio::null()).output();
    let nothing = nothing.unwrap();
    assert_eq!(code(&nothing), Some(2));
    assert!(stderr(&nothing).contains("standard input: the file is empty"), "{nothing:?}");
}

#[test]
fn a_file_that_breaks_off_is_shown_and_code_2() {
    let folder = tempfile::tempdir().unwrap();
    let bytes = std::fs::read(captures().join("rc_send_lat_v4.pcap")).unwrap();
    std::fs::write(folder.path().join("cut.pcap"), &bytes[..bytes.len() - 30]).unwrap();
    let cut = output(folder.path(), &["inspect", "cut.pcap"]);
    assert_eq!(code(&cut), Some(2));
    assert!(stdout(&cut).contains("39 packets"), "{}", stdout(&cut));
    assert!(stderr(&cut).contains("not read past packet 39"), "{}", stderr(&cut));
    let cut = output(folder.path(), &["inspect", "cut.pcap", "--json"]);
    assert_eq!(json(&cut)["complete"], false);
}

#[test]
fn damaged_packets_are_code_1() {
    let folder = tempfile::tempdir().unwrap();
    let mut bytes = std::fs::read(captures().join("rc_send_lat_v4.pcap")).unwrap();
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    std::fs::write(folder.path().join("bad.pcap"), &bytes).unwrap();
    let bad = output(folder.path(), &["inspect", "bad.pcap"]);
    assert_eq!(code(&bad), Some(1), "{}", stdout(&bad));
    assert!(stdout(&bad).contains("1 packet with a wrong ICRC"), "{}", stdout(&bad));
    assert!(stdout(&bad).contains("(packet 40)"), "{}", stdout(&bad));
    let trusting = output(folder.path(), &["inspect", "bad.pcap", "--no-icrc"]);
    assert_eq!(code(&trusting), Some(0));
}

#[test]
fn what_is_no_capture_is_code_2_with_a_cure() {
    let folder = tempfile::tempdir().unwrap();
    let mut other_link = std::fs::read(captures().join("rc_send_lat_v4.pcap")).unwrap();
    other_link[20] = 147;
    let mut absurd = other_link.clone();
    absurd[20] = 1;
    absurd[32..36].fill(0xff);
    for (name, bytes, words) in [
        ("text", &b"hello world"[..], "tcpdump"),
        ("empty", b"", "the file is empty"),
        ("small.gz", &[0x1f, 0x8b, 8, 0], "cannot read small.gz"),
        ("small.zst", &[0x28, 0xb5, 0x2f, 0xfd, 0], "cannot read small.zst"),
        ("text.gz", &gzip(b"hello world"), "neither pcap nor pcapng"),
        ("text.bz2", b"BZh9....", "bunzip2"),
        ("usb.pcap", &other_link, "link type 147"),
        ("absurd.pcap", &absurd, "damaged at byte 24"),
    ] {
        std::fs::write(folder.path().join(name), bytes).unwrap();
        let output = output(folder.path(), &["inspect", name]);
        assert_eq!(code(&output), Some(2), "{name}");
        assert!(stderr(&output).contains(words), "{name}: {}", stderr(&output));
    }
    let missing = output(folder.path(), &["inspect", "nowhere.pcap"]);
    assert_eq!(code(&missing), Some(2));
    assert!(stderr(&missing).contains("cannot read nowhere.pcap"), "{}", stderr(&missing));
    let folder_itself = output(folder.path(), &["inspect", "."]);
    assert_eq!(code(&folder_itself), Some(2), "{}", stderr(&folder_itself));
}

/// The file, compressed.
fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn compressed_captures_are_read_as_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let bytes = std::fs::read(captures().join("rc_read_bw_v6.pcap")).unwrap();
    let level = ruzstd::encoding::CompressionLevel::Fastest;
    let zstd = ruzstd::encoding::compress_to_vec(&bytes[..], level);
    std::fs::write(folder.path().join("plain.pcap"), &bytes).unwrap();
    std::fs::write(folder.path().join("packed.pcap.gz"), gzip(&bytes)).unwrap();
    std::fs::write(folder.path().join("packed.pcap.zst"), &zstd).unwrap();
    let plain = json(&output(folder.path(), &["inspect", "plain.pcap", "--json"]));
    assert_eq!(plain["compression"], serde_json::Value::Null);
    for (name, kind) in [("packed.pcap.gz", "gzip"), ("packed.pcap.zst", "zstd")] {
        let mut packed = json(&output(folder.path(), &["inspect", name, "--json"]));
        assert_eq!(packed["compression"], kind);
        packed["compression"] = serde_json::Value::Null;
        packed["file"] = plain["file"].clone();
        assert_eq!(packed, plain, "{name}");
        let text = output(folder.path(), &["inspect", name]);
        assert!(stdout(&text).starts_with(&format!("{name}  pcap, {kind}  40 packets")));
    }
    // Cut off: what is there is shown.
    let cut = &gzip(&bytes)[..20_000];
    std::fs::write(folder.path().join("cut.gz"), cut).unwrap();
    let cut = output(folder.path(), &["inspect", "cut.gz"]);
    assert_eq!(code(&cut), Some(2), "{}", stderr(&cut));
    assert!(stderr(&cut).contains("not read past packet"), "{}", stderr(&cut));
}

#[test]
fn a_file_that_expands_without_end_takes_little_memory() {
    let folder = tempfile::tempdir().unwrap();
    // A block of 256 MiB that no reader knows, between two packets.
    let mut file = troubled();
    let len: u32 = 256 << 20;
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(&file).unwrap();
    encoder.write_all(&[&0x0bad_u32.to_le_bytes()[..], &len.to_le_bytes()].concat()).unwrap();
    let zeros = vec![0; 1 << 20];
    let mut left = len as usize - 12;
    while left > 0 {
        let step = left.min(zeros.len());
        encoder.write_all(&zeros[..step]).unwrap();
        left -= step;
    }
    encoder.write_all(&len.to_le_bytes()).unwrap();
    file = encoder.finish().unwrap();
    assert!(file.len() < 4 << 20);
    std::fs::write(folder.path().join("bomb.gz"), &file).unwrap();
    let child = xoff(folder.path())
        .args(["inspect", "bomb.gz", "--json"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let id = child.id();
    let (stop, stopped) = std::sync::mpsc::channel::<()>();
    let watch = std::thread::spawn(move || {
        let mut most = 0;
        while stopped.recv_timeout(std::time::Duration::from_millis(5))
            == Err(std::sync::mpsc::RecvTimeoutError::Timeout)
        {
            most = most.max(super::peak(id).unwrap_or(0));
        }
        most
    });
    let output = child.wait_with_output().unwrap();
    drop(stop);
    assert!(watch.join().unwrap() < 64 << 20);
    let found = json(&output);
    assert_eq!((&found["totals"]["packets"], &found["skipped_blocks"]), (&18.into(), &1.into()));
    assert!(found["file_bytes"].as_u64().unwrap() > u64::from(len));
}

#[test]
fn names_are_whole_in_a_pipe() {
    let output = output(&captures(), &["inspect", "rc_read_bw_v6.pcap"]);
    assert!(!stdout(&output).contains('…'), "{}", stdout(&output));
    assert!(stdout(&output).contains("fd47:91::3 0x38  fd47:91::2 0x38"), "{}", stdout(&output));
    // Long addresses, where a terminal of 100 columns would shorten them.
    let folder = tempfile::tempdir().unwrap();
    let mut writer = PcapngWriter::new(Vec::new()).unwrap();
    let host =
        |last: u16| Ipv6Addr::new(0x2001, 0xdb8, 0xaaaa, 0xbbbb, 0xcccc, 0xdddd, 0xeeee, last);
    let route = Route::V6 { source: host(0x1111), destination: host(0x2222) };
    let mut bytes = vec![0; 2048];
    let header = Header {
        service: Service::Reliable,
        opcode: Opcode::SendOnly,
        ack_request: true,
        becn: false,
        dest_qp: Qpn::new(0x12_3456),
        psn: Psn::new(1),
        extension: Extension::None,
        payload: 64,
    };
    let len = Builder::new(route).write(&header, &[0; 64], &mut bytes).unwrap();
    let (timestamp, link_type) = (Timestamp::from_ns(1), LinkType::ETHERNET);
    let (wire_len, bytes) = (len as u32, &bytes[..len]);
    writer.write(&Packet { timestamp, link_type, interface: 0, wire_len, bytes }).unwrap();
    std::fs::write(folder.path().join("long.pcapng"), writer.finish().unwrap()).unwrap();
    let output = super::output(folder.path(), &["inspect", "long.pcapng"]);
    let whole = format!("{} 0x123456", host(0x2222));
    assert!(stdout(&output).contains(&whole), "{}", stdout(&output));
    assert!(stdout(&output).contains("Packets by opcode\n  RC send only 1\n"));
}

#[test]
fn a_page_shows_what_happened_when() {
    let folder = tempfile::tempdir().unwrap();
    // The pause lasts until another packet comes.
    let mut tape = trouble();
    tape.now += 100_000;
    tape.write(9, 2);
    std::fs::write(folder.path().join("troubled.pcapng"), tape.file()).unwrap();
    let arguments = ["inspect", "troubled.pcapng", "--html", "page.html"];
    let first = output(folder.path(), &arguments);
    assert_eq!(code(&first), Some(1), "{}", stderr(&first));
    let page = std::fs::read_to_string(folder.path().join("page.html")).unwrap();
    for words in [
        "Rate of each sender",
        "Congestion notifications to each sender",
        "Packets sent again",
        "Packets before which others are missing",
        "Time paused, by the station that paused",
        "02:02:02:02:02:02 priority 3",
        "#1 10.0.0.1 0x11 → 10.0.0.2 0x22",
        "RC write only",
    ] {
        assert!(page.contains(words), "no {words:?} in the page");
    }
    // The same again is written over it; anything else is not.
    assert_eq!(code(&output(folder.path(), &arguments)), Some(1));
    assert_eq!(std::fs::read_to_string(folder.path().join("page.html")).unwrap(), page);
    std::fs::write(folder.path().join("page.html"), "mine").unwrap();
    let refused = output(folder.path(), &arguments);
    assert_eq!(code(&refused), Some(3), "{}", stderr(&refused));
    assert_eq!(std::fs::read_to_string(folder.path().join("page.html")).unwrap(), "mine");
}

#[test]
fn a_silent_pipe_ends_with_a_signal() {
    let bytes = std::fs::read(captures().join("rc_send_lat_v4.pcap")).unwrap();
    let mut child = xoff(Path::new("."))
        .args(["inspect", "-", "--json"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut pipe = child.stdin.take().unwrap();
    pipe.write_all(&bytes).unwrap();
    std::thread::sleep(std::time::Duration::from_millis(500));
    let id = child.id().to_string();
    assert!(std::process::Command::new("kill").args(["-INT", &id]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    drop(pipe);
    assert_eq!(code(&output), Some(130), "{}", stderr(&output));
    assert_eq!(json(&output)["totals"]["packets"], 40);
    assert!(stderr(&output).contains("interrupted after packet 40"), "{}", stderr(&output));
}

/// Whether this process may open packet sockets; otherwise a word that it may not.
fn may_listen() -> bool {
    let tried = output(Path::new("."), &["inspect", "--follow", "lo", "--for", "1ms"]);
    let may = code(&tried) != Some(2);
    if !may {
        assert!(stderr(&tried).contains("CAP_NET_RAW"), "{}", stderr(&tried));
        let _ = writeln!(std::io::stderr(), "SKIPPED listening: no CAP_NET_RAW");
    }
    may
}

/// Follows the loopback until [`Follower::end`].
struct Follower {
    child: std::process::Child,
    notes: std::io::BufReader<std::process::ChildStderr>,
}

impl Follower {
    /// Comes back when it listens.
    fn start() -> Self {
        let mut child = xoff(Path::new("."))
            .args(["inspect", "--follow", "lo", "--json"])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut notes = std::io::BufReader::new(child.stderr.take().unwrap());
        let mut first = String::new();
        notes.read_line(&mut first).unwrap();
        assert!(first.contains("listening on lo"), "{first}");
        Self { child, notes }
    }

    /// Ends it with a signal: what it found, and whether it got every packet.
    fn end(mut self) -> (serde_json::Value, bool) {
        let id = self.child.id().to_string();
        let sent = std::process::Command::new("kill").args(["-INT", &id]).status();
        assert!(sent.unwrap().success());
        let output = self.child.wait_with_output().unwrap();
        let mut notes = String::new();
        self.notes.read_to_string(&mut notes).unwrap();
        let found = json(&output);
        let whole = found["dropped_packets"].as_u64() == Some(0);
        assert_eq!(notes.contains("are missing"), !whole, "{notes}");
        (found, whole)
    }
}

#[test]
fn an_interface_is_followed_until_a_signal() {
    if !may_listen() {
        return;
    }
    let follower = Follower::start();
    // RoCE that nobody listens to: from and to addresses of this test alone.
    let socket = std::net::UdpSocket::bind("127.77.3.1:0").unwrap();
    let mut tape = Tape::default();
    for psn in 0..5 {
        tape.write(psn, 2);
    }
    for (_, bytes) in &tape.packets {
        socket.send_to(&bytes[42..], "127.77.3.2:4791").unwrap_or_default();
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    let (found, _) = follower.end();
    assert_eq!((&found["format"], &found["interface"]), (&"live".into(), &"lo".into()));
    assert_eq!(found["complete"], true);
    // The sockets' own identification makes the ICRC a wrong one: that is seen, each packet once. Other
    // tests may talk over the same loopback.
    let wrong = found["totals"]["icrc_wrong"]["count"].as_u64().unwrap();
    assert!(wrong >= 5, "{found}");
}

/// One side of `xoff perf` on an address of its own.
fn perf(arguments: &[&str]) -> std::process::Child {
    let mut command = xoff(Path::new("."));
    command.arg("perf").args(arguments).args(["-p", "29517"]);
    command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

#[test]
fn a_sender_that_is_followed_shows_every_packet_whole() {
    if !may_listen() {
        return;
    }
    let [server, client] = ["127.66.4.1", "127.66.4.2"];
    for (test, kind) in [("write-bw", "write"), ("read-bw", "read"), ("send-bw", "send")] {
        let follower = Follower::start();
        let options = ["-n", "50", "-s", "65536", "-m", "4096"];
        let mut serving = perf(&[&[test, "--bind", server], &options[..]].concat());
        // A client that is too early finds nobody.
        let early = || perf(&[&[test, server, "--bind", client], &options[..]].concat());
        let mut tries = 0;
        while !early().wait().unwrap().success() {
            tries += 1;
            assert!(tries < 100, "{test}");
            std::thread::sleep(std::time::Duration::from_millis(100));
        }
        assert!(serving.wait().unwrap().success());
        let (found, whole) = follower.end();
        if !whole {
            let _ = writeln!(std::io::stderr(), "SKIPPED {test}: this machine drops packets");
            continue;
        }
        let ours = |end: &serde_json::Value, address: &str| end["address"] == address;
        let connections = found["connections"].as_array().unwrap();
        let mut between = connections
            .iter()
            .filter(|connection| ours(&connection["a"], client) && ours(&connection["b"], server));
        // A client that was too early opened none.
        let own = &between.next().expect("a connection")["a_to_b"];
        assert!(between.next().is_none(), "{test}");
        // What offloads glued together is apart, what loopback shows twice is there once, and no ICRC is
        // wrong, because packets with a wrong one are left out.
        assert_eq!(own["operations"][kind], 50, "{own}");
        let bytes = own[if kind == "read" { "read_bytes" } else { "payload_bytes" }].as_u64();
        assert_eq!(bytes, Some(50 * 65_536), "{own}");
        let again = own["retransmissions"]["count"].as_u64().unwrap();
        let packets = own["request_packets"].as_u64().unwrap();
        assert_eq!(packets - again, if kind == "read" { 50 } else { 800 }, "{own}");
        let gaps = ["missing_packets", "not_captured_packets", "read_missing_packets"];
        assert!(gaps.iter().all(|gap| own[*gap] == 0), "{own}");
    }
}

#[test]
fn what_cannot_be_followed_says_why() {
    let nowhere = output(Path::new("."), &["inspect", "--follow", "no-such-if0"]);
    assert_eq!(code(&nowhere), Some(2));
    let text = stderr(&nowhere);
    assert!(
        text.contains("no-such-if0") && (text.contains("ip link") || text.contains("CAP_NET_RAW"))
    );
    let neither = output(Path::new("."), &["inspect"]);
    assert_eq!(code(&neither), Some(2), "{}", stderr(&neither));
    let both = output(Path::new("."), &["inspect", "x.pcap", "--follow", "lo"]);
    assert_eq!(code(&both), Some(2), "{}", stderr(&both));
}

#[test]
fn fits_a_narrow_terminal() {
    for columns in ["40", "60", "100"] {
        let mut command = xoff(&captures());
        command.args(["inspect", "rc_send_lat_v4.pcap"]).env("COLUMNS", columns);
        let output = command.output().unwrap();
        // The table fits; a finding is one line, however long.
        let table = stdout(&output).split("\nFindings").next().unwrap();
        let limit: usize = columns.parse().unwrap();
        for line in table.lines().skip(2) {
            assert!(line.chars().count() <= limit, "{line:?}");
        }
    }
}
