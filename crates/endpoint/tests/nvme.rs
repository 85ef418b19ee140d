//! The example `nvme_discover` against a target that plays by the book, and one that does not. (Against the
//! kernel's target it runs in `interop`.)

use std::net::Ipv4Addr;
use std::path::Path;
use std::process::{Command, Output};
use std::thread;
use std::time::Duration;
use xoff_endpoint::{
    Access, Bytes, DeviceSettings, Endpoint, Region, RemoteSlice, Request, Rkey, Status, Terms,
};

const PATIENCE: Duration = Duration::from_secs(10);

/// How the target differs from a good one.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Target {
    Good,
    /// It refuses to connect.
    Refuses,
    /// It answers another command.
    Confused,
    /// It says that there are more entries than anybody has.
    Boasts,
    /// It never becomes ready.
    Lazy,
}

fn le(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte))
}

fn log(target: Target, service: &str) -> Vec<u8> {
    let mut log = vec![0; 3072];
    (log[0], log[8]) = (7, if target == Target::Boasts { 255 } else { 2 });
    for (at, kind, name) in
        [(1024, 3, "nqn.2014-08.org.nvmexpress.discovery"), (2048, 2, "nqn.a\x1b[2J:b")]
    {
        (log[at], log[at + 1], log[at + 2]) = (1, 1, kind);
        log[at + 32..at + 32 + service.len()].copy_from_slice(service.as_bytes());
        log[at + 256..at + 256 + name.len()].copy_from_slice(name.as_bytes());
        log[at + 512..at + 521].copy_from_slice(b"127.0.0.1");
    }
    log
}

/// Serves one host until it disconnects.
fn serve(endpoint: &Endpoint, request: Request, target: Target) {
    let asked = request.private_data()[..8].to_vec();
    assert_eq!((le(&asked[..2]), le(&asked[2..4]), le(&asked[4..6])), (0, 0, 32), "depth");
    let mut reply = [0; 32];
    reply[2] = 32;
    let connection = endpoint.connection().wait().unwrap();
    let memory =
        |size: usize| endpoint.register(vec![0; size], Access::LOCAL_WRITE).wait().unwrap();
    let (commands, who, out) = (memory(64), memory(1024), memory(4096));
    let mut next = connection.receive(commands.all());
    request.accept_on(&connection, Terms::with_data(&reply)).wait().unwrap();
    let part = |region: &Region, length: u64| region.slice(Bytes::ZERO, Bytes::new(length));
    loop {
        let came = next.wait_for(PATIENCE).unwrap();
        if came.status == Status::Flushed {
            return;
        }
        let command = commands.bytes().wait().unwrap();
        next = connection.receive(commands.all());
        let address = le(&command[24..32]);
        let remote = RemoteSlice { address, key: Rkey(le(&command[35..39]) as u32) };
        let length = le(&command[32..35]);
        assert_eq!((command[1], command[39]), (0x40, 0x40), "how data is described");
        let (mut result, mut status) = (0u64, 0u16);
        match (command[0], command[4]) {
            (0x7f, 1) => {
                assert_eq!(length, 1024);
                assert!(connection.read(who.all(), remote).wait().unwrap().is_ok());
                let who = who.bytes().wait().unwrap();
                assert!(who[256..].starts_with(b"nqn.2014-08.org.nvmexpress.discovery\0"));
                (result, status) = (5, if target == Target::Refuses { 0x4182 << 1 } else { 0 });
            }
            (0x7f, 0) => assert_eq!((le(&command[44..48]), command[48] & 1), (0x14, 1)),
            (0x7f, 4) if command[44] == 0x1c => result = u64::from(target != Target::Lazy),
            (0x7f, 4) => result = 0x1234,
            (2, _) => {
                assert_eq!((command[40], le(&command[42..44])), (0x70, length / 4 - 1));
                let service = if target == Target::Good { "4420" } else { "1" };
                out.fill(Bytes::ZERO, log(target, service)).wait().unwrap();
                let done = connection.write(part(&out, 3072), remote).wait().unwrap();
                assert!(done.is_ok());
            }
            other => panic!("{other:?}"),
        }
        let number = le(&command[2..4]) as u16 + u16::from(target == Target::Confused);
        let completion =
            [&result.to_le_bytes()[..], &[0; 4], &number.to_le_bytes(), &status.to_le_bytes()];
        out.fill(Bytes::ZERO, completion.concat()).wait().unwrap();
        if !connection.send(part(&out, 16)).wait().unwrap().is_ok() {
            return;
        }
    }
}

fn discover(host: u8, target: Target) -> Output {
    let [own, other] = [1, 2].map(|last| Ipv4Addr::new(127, 92, host, last));
    let endpoint = Endpoint::open(DeviceSettings::new(own)).unwrap();
    let listener = endpoint.listen(4420).wait().unwrap();
    let serving = thread::spawn(move || serve(&endpoint, listener.next().wait().unwrap(), target));
    let program = std::env::current_exe().unwrap();
    let folder = program.parent().and_then(Path::parent).unwrap().join("examples");
    let mut command = Command::new(folder.join("nvme_discover"));
    let output = command.args([own.to_string(), "-a".into(), other.to_string()]).output();
    let output = output.expect("cargo build -p xoff-endpoint --examples");
    serving.join().expect("the target is content");
    output
}

#[test]
fn what_a_target_lists_is_printed() {
    let output = discover(1, Target::Good);
    assert!(output.status.success(), "{output:?}");
    let lines = [
        "queue depth 32",
        "controller 5, capabilities 0x1234, ready",
        "generation 7, 2 entries",
        "this discovery: nqn.2014-08.org.nvmexpress.discovery at 127.0.0.1 port 4420, rdma",
        // No control characters of a stranger reach the terminal.
        "subsystem: nqn.a\\u{1b}[2J:b at 127.0.0.1 port 4420, rdma",
        "",
    ];
    assert_eq!(String::from_utf8_lossy(&output.stdout), lines.join("\n"));
}

#[test]
fn targets_that_behave_otherwise_are_reported() {
    for (host, target, says) in [
        (2, Target::Refuses, "connect: the target refuses, status 0x4182"),
        (3, Target::Confused, "the completion is of command 2"),
        (4, Target::Lazy, "does not become ready"),
    ] {
        let output = discover(host, target);
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && error.contains(says), "{target:?}: {error}");
    }
    let output = discover(5, Target::Boasts);
    assert!(output.status.success(), "{output:?}");
    assert_eq!(String::from_utf8_lossy(&output.stdout).lines().count(), 3 + 15);
}
