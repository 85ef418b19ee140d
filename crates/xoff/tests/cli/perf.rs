//! `xoff perf` as people run it: both sides on one machine, and one of them killed or stopped.

#![allow(clippy::disallowed_methods, reason = "how soon an end is noticed is wall time")]

use super::{stderr, xoff};
use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// A port of the exchange that no other test has.
fn port() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let own = 20_000 + std::process::id() % 500 * 20;
    (own + NEXT.fetch_add(1, Ordering::Relaxed) % 20).to_string()
}

/// One side, with everything by default but the port. It ends with this.
struct Side(Child);

impl Drop for Side {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn start(port: &str, arguments: &[&str]) -> Side {
    let child = xoff(Path::new("."))
        .arg("perf")
        .args(arguments)
        .args(["-p", port])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    Side(child)
}

/// Both sides: a server, and once it listens a client.
fn both(test: &str, options: &[&str]) -> [Side; 2] {
    let port = port();
    let server = start(&port, &[&[test], options].concat());
    let end = Instant::now() + Duration::from_secs(20);
    let udp = test == "ping";
    while !udp && !is_listening(&port) {
        assert!(Instant::now() < end, "no server at port {port}");
        sleep(Duration::from_millis(20));
    }
    if udp {
        sleep(Duration::from_millis(500));
    }
    [server, start(&port, &[&[test, "localhost"], options].concat())]
}

/// Whether something listens there, without a connection that it would have to take for a client.
fn is_listening(port: &str) -> bool {
    let wanted = format!(":{:04X} ", port.parse::<u16>().unwrap());
    ["/proc/net/tcp", "/proc/net/tcp6"].iter().any(|file| {
        let table = std::fs::read_to_string(file).unwrap_or_default();
        table.lines().any(|line| line.contains(&wanted) && line.contains(" 0A "))
    })
}

/// Waits for the end of a side, but not for ever.
fn finish(side: &mut Side) -> Output {
    let end = Instant::now() + Duration::from_secs(30);
    let status = loop {
        if let Some(status) = side.0.try_wait().unwrap() {
            break status;
        }
        assert!(Instant::now() < end, "it does not end");
        sleep(Duration::from_millis(20));
    };
    let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
    side.0.stdout.take().unwrap().read_to_end(&mut stdout).unwrap();
    side.0.stderr.take().unwrap().read_to_end(&mut stderr).unwrap();
    Output { status, stdout, stderr }
}

fn signal(side: &Side, name: &str) {
    let sent = Command::new("kill").args([name, &side.0.id().to_string()]).status().unwrap();
    assert!(sent.success());
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn both_sides_on_one_machine() {
    for (test, options) in [
        ("write-bw", &["-n", "50", "-s", "4096"][..]),
        ("pingpong", &["-n", "50"]),
        ("pingpong", &["-n", "50", "-c", "UD"]),
    ] {
        for mut side in both(test, options) {
            let output = finish(&mut side);
            assert_eq!(output.status.code(), Some(0), "{test}: {}", stderr(&output));
        }
    }
}

#[test]
fn a_killed_peer_is_noticed_and_what_was_measured_is_printed() {
    for (goes, rows) in [(0, true), (1, false)] {
        let mut sides = both("write-bw", &["-D", "60", "-s", "4096"]);
        sleep(Duration::from_millis(1500));
        signal(&sides[goes], "-KILL");
        let went = Instant::now();
        let output = finish(&mut sides[1 - goes]);
        assert!(went.elapsed() < Duration::from_secs(5), "{:?}", went.elapsed());
        assert_eq!(output.status.code(), Some(1));
        assert!(stderr(&output).contains("the peer has gone"), "{}", stderr(&output));
        assert_eq!(stdout(&output).contains("broke off"), rows, "{}", stdout(&output));
    }
}

/// A test with its options, the side that is frozen, what the other says, and whether it has a row.
type Frozen<'a> = (&'a str, &'a [&'a str], usize, &'a str, bool);

/// Freezes one side in the middle of a test, and says what the other does about it.
fn freeze(test: &str, options: &[&str], frozen: usize) -> (Duration, Output) {
    let endless = match test {
        "ping" | "pingpong" | "write-lat" | "send-lat" => ["-n", "100000000"],
        _ => ["-D", "60"],
    };
    let mut sides = both(test, &[&endless[..], options].concat());
    sleep(Duration::from_millis(1500));
    signal(&sides[frozen], "-STOP");
    let went = Instant::now();
    let output = finish(&mut sides[1 - frozen]);
    (went.elapsed(), output)
}

#[test]
fn a_frozen_peer_is_given_up_in_the_time_of_the_settings() {
    let given = Duration::from_secs(2);
    let exceeded = "retry exceeded";
    let silent = "nothing from the peer";
    // What is frozen, what the other side then does, and whether that has measured anything.
    let table: [Frozen; 16] = [
        ("write-bw", &[], 0, exceeded, true),
        ("write-bw", &[], 1, silent, false),
        ("write-bw", &["-q", "8"], 0, exceeded, true),
        ("write-bw", &["-b"], 1, exceeded, true),
        ("write-bw", &["-c", "UC"], 1, silent, false),
        ("read-bw", &[], 0, exceeded, true),
        ("read-bw", &[], 1, "", false),
        ("send-bw", &[], 0, exceeded, true),
        ("send-bw", &[], 1, silent, true),
        ("send-bw", &["-c", "UD"], 1, silent, true),
        ("atomic-bw", &[], 0, exceeded, true),
        ("write-lat", &[], 1, "", true),
        ("send-lat", &[], 0, "", true),
        ("read-lat", &[], 0, exceeded, true),
        ("pingpong", &[], 1, "", false),
        ("pingpong", &["-c", "UD"], 0, silent, false),
    ];
    let check = |case: &Frozen| {
        let (test, options, frozen, says, measures) = *case;
        let size = ["-s", if test == "atomic-bw" { "8" } else { "1024" }, "--patience", "2"];
        let (took, output) = freeze(test, &[options, &size].concat(), frozen);
        let case = format!("{test} {options:?}, {frozen} frozen");
        let (error, printed) = (stderr(&output), stdout(&output));
        assert_eq!(output.status.code(), Some(1), "{case}: {error}");
        assert!(error.contains(says), "{case}: {error}");
        assert!([exceeded, silent].iter().any(|why| error.contains(why)), "{case}: {error}");
        assert!(took > given - Duration::from_millis(100), "{case}: {took:?}");
        // A side that only waits does so a quarter longer; the rest is a busy machine's.
        assert!(took < given * 5 / 4 + Duration::from_millis(2000), "{case}: {took:?}");
        assert_eq!(printed.contains("broke off"), measures, "{case}: {printed}");
    };
    std::thread::scope(|scope| {
        let run = |some: &[Frozen]| some.iter().for_each(check);
        table.chunks(4).for_each(|some| drop(scope.spawn(move || run(some))));
    });
}

#[test]
fn a_shorter_timeout_ends_sooner() {
    // 8 ms, as often as can be counted: 2 s.
    let (took, output) = freeze("write-bw", &["-s", "4096", "-u", "11"], 0);
    assert!(took > Duration::from_secs(1) && took < Duration::from_secs(5), "{took:?}");
    assert!(stderr(&output).contains("retry exceeded"), "{}", stderr(&output));
}

#[test]
fn what_a_test_does_not_have_is_refused() {
    for (arguments, word) in [
        (&["ping", "-q", "4"][..], "-q"),
        (&["pingpong", "-R"], "-R"),
        (&["ping", "-c", "UD"], "-c"),
        (&["write-bw", "--bind", "fe80::1%nowhere9"], "nowhere9"),
        (&["write-bw", "--bind", "hello"], "no IP address"),
    ] {
        let output = xoff(Path::new(".")).arg("perf").args(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(stderr(&output).contains(word), "{arguments:?}: {}", stderr(&output));
    }
}
