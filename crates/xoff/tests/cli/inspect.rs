//! `xoff inspect`.

use super::{code, json, output, repository, stderr, stdout, xoff};
use std::io::Write;
use std::net::Ipv4Addr;
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
    let mut writer = PcapngWriter::new(Vec::new()).unwrap();
    for (ns, bytes) in &tape.packets {
        let (timestamp, wire_len) = (Timestamp::from_ns(*ns), bytes.len() as u32);
        let link_type = LinkType::ETHERNET;
        writer.write(&Packet { timestamp, link_type, wire_len, bytes }).unwrap();
    }
    writer.finish().unwrap()
}

#[derive(Default)]
struct Tape {
    packets: Vec<(u64, Vec<u8>)>,
    now: u64,
}

impl Tape {
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
        ("small.gz", &[0x1f, 0x8b, 8, 0], "gunzip"),
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
