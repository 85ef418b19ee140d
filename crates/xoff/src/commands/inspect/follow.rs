//! `xoff inspect --follow`: what passes an interface, until somebody or `--for` says that it is enough.

use super::{Outcome, Stopped};
use crate::clock::{Stopwatch, now};
use crate::exit::{Failure, Level, say};
use crate::interrupt::Interrupt;
use crate::output::reading::Bar;
use std::io::{ErrorKind, IsTerminal};
use std::time::Duration;
use xoff_diagnose::capture::{Analysis, Compression, Options};
use xoff_endpoint::sniffer::Sniffer;
use xoff_wire::capture::{Packet, Timestamp};

/// How long a silent interface is waited for at a time.
const STEP: Duration = Duration::from_millis(100);

/// Listens, and says what was heard.
pub(super) fn follow(
    interface: &str,
    limit: Option<Duration>,
    options: Options,
    quiet: bool,
    interrupt: &Interrupt,
) -> Result<Outcome, Failure> {
    let mut sniffer = Sniffer::open(interface).map_err(|error| refused(interface, &error))?;
    // Scripts wait for this line, too: what passes after it is seen.
    say(Level::Note, &format!("listening on {interface}; Ctrl-C ends it and shows the summary"));
    let mut bar = (!quiet && std::io::stderr().is_terminal()).then(|| Bar::new(None));
    let mut analysis = Analysis::new(options);
    let clock = Stopwatch::start();
    let mut bytes = 0;
    let heard = loop {
        let mut take = |packet: &Packet<'_>| {
            bytes += packet.bytes.len() as u64;
            analysis.packet(packet);
        };
        let enough = limit.is_some_and(|limit| clock.elapsed() >= limit);
        if interrupt.requested() || enough {
            let now = Timestamp::from_ns(u64::try_from(now().0).unwrap_or(u64::MAX));
            break sniffer.finish(now, &mut take);
        }
        if let Err(error) = sniffer.receive(STEP, &mut take) {
            break Err(error);
        }
        if let Some(bar) = &mut bar {
            bar.update(bytes, Some((analysis.packets(), "packets")));
        }
    };
    if let Some(bar) = bar {
        bar.clear();
    }
    let dropped = sniffer.dropped();
    if dropped > 0 {
        let text = format!("{dropped} packets came faster than they could be read and are missing");
        say(Level::Warning, &text);
    }
    Ok(Outcome {
        report: analysis.finish(),
        format: "live",
        compression: Compression::None,
        bytes,
        skipped_blocks: 0,
        dropped,
        stopped: heard.err().map(|error| Stopped::Broken(error.into())),
    })
}

/// Why an interface cannot be listened to, and what would help.
fn refused(interface: &str, error: &std::io::Error) -> Failure {
    let cure = match error.kind() {
        ErrorKind::PermissionDenied => {
            "; packet sockets need CAP_NET_RAW: run it as root, or give the program the capability \
             (sudo setcap cap_net_raw+ep $(command -v xoff)), or read what tcpdump captures \
             (tcpdump -w - | xoff inspect -)"
        }
        _ if error.raw_os_error() == Some(19) => "; `ip link` lists the interfaces",
        _ => "",
    };
    Failure::input(format!("cannot listen on {interface}: {error}{cure}"))
}
