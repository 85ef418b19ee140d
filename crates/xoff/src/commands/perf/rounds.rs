//! `xoff perf ping` and `xoff perf pingpong`: what `rping` and `ibv_*_pingpong` do, and what is
//! printed of it.

use super::arguments::{Args, Kind};
use super::table::{service, us, values};
use crate::exit::{Exit, Failure};
use crate::interrupt::Interrupt;
use crate::output;
use crate::output::number::counted;
use serde_json::{Value, json};
use std::cell::Cell;
use std::net::IpAddr;
use xoff_endpoint::perftest::{self, PerfError, Role, Rounds, Settings};

/// Runs one of the two to its end.
pub(super) fn execute(args: &Args, settings: &Settings) -> Result<Exit, Failure> {
    let interrupt = Interrupt::listen();
    let stop = interrupt.flag();
    let peer = Cell::new(None);
    let met = |address| peer.set(Some(address));
    let result = match args.kind() {
        Kind::Ping => perftest::ping(settings, &stop, met),
        Kind::Pingpong | Kind::Perftest => perftest::pingpong(settings, &stop, met),
    };
    let rounds = match result {
        Ok(rounds) => rounds,
        Err(PerfError::Interrupted) => return Ok(Exit::Interrupted),
        Err(error) => return Err(super::failure(&error)),
    };
    if args.json {
        output::stdout_json(&machine(args.kind(), settings, peer.get(), &rounds))?;
    } else {
        output::stdout(&human(args.kind(), peer.get(), &rounds))?;
    }
    Ok(if rounds.wrong == 0 { Exit::Fine } else { Exit::BrokeARule })
}

fn name(kind: Kind) -> &'static str {
    match kind {
        Kind::Ping => "ping",
        Kind::Pingpong | Kind::Perftest => "pingpong",
    }
}

/// For people: the two lines of `ibv_rc_pingpong`, and what it does not say.
fn human(kind: Kind, peer: Option<IpAddr>, rounds: &Rounds) -> String {
    let seconds = rounds.elapsed.as_secs_f64().max(1e-9);
    let bytes = 2 * rounds.size * rounds.count;
    let each = seconds * 1e6 / rounds.count.max(1) as f64;
    let mut text = String::new();
    if let Some(peer) = peer {
        text.push_str(&format!("{} with {peer}, {} bytes\n", name(kind), rounds.size));
    }
    if rounds.clamped {
        text.push_str("the size is the MTU: a datagram cannot be longer\n");
    }
    let rate = bytes as f64 * 8.0 / seconds / 1e6;
    text.push_str(&format!("{bytes} bytes in {seconds:.2} seconds = {rate:.2} Mbit/sec\n"));
    let count = rounds.count;
    text.push_str(&format!("{count} iters in {seconds:.2} seconds = {each:.2} usec/iter\n"));
    let [shortest, longest, typical, _, _, p99, _] = values(&rounds.each).map(|(_, time)| us(time));
    text.push_str(&format!(
        "usec of a round: {shortest:.2} at least, {typical:.2} typically, {p99:.2} at the 99th \
         percentile, {longest:.2} at most\n"
    ));
    text.push_str(&match rounds.wrong {
        0 => format!("data verified: {}\n", counted(count, "round", "rounds")),
        wrong => format!("data WRONG: {wrong} of {}\n", counted(count, "round", "rounds")),
    });
    if rounds.retransmitted > 0 {
        text.push_str(&format!("packets sent again: {}\n", rounds.retransmitted));
    }
    text
}

fn machine(kind: Kind, settings: &Settings, peer: Option<IpAddr>, rounds: &Rounds) -> Value {
    let mut value = json!({
        "test": name(kind),
        "role": if settings.role() == Role::Server { "server" } else { "client" },
        "service": service(settings.service),
        "peer": peer.map(|peer| peer.to_string()),
        "bytes": rounds.size,
        "rounds": rounds.count,
        "duration_s": rounds.elapsed.as_secs_f64(),
        "wrong": rounds.wrong,
        "retransmitted_packets": rounds.retransmitted,
    });
    for (name, time) in values(&rounds.each) {
        value[name] = json!(us(time));
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;
    use xoff_endpoint::perftest::Latency;

    #[test]
    fn rounds_read_like_those_of_the_stock_tool() {
        let rounds = Rounds {
            size: 4096,
            count: 1000,
            elapsed: Duration::from_millis(20),
            each: Latency::default(),
            wrong: 0,
            clamped: false,
            retransmitted: 0,
        };
        let text = human(Kind::Pingpong, None, &rounds);
        assert!(text.starts_with("8192000 bytes in 0.02 seconds = 3276.80 Mbit/sec\n"), "{text}");
        assert!(text.contains("1000 iters in 0.02 seconds = 20.00 usec/iter\n"), "{text}");
        assert!(
            text.contains("data verified: 1,000 rounds")
                || text.contains("data verified: 1000 rounds")
        );
        let wrong = human(Kind::Ping, None, &Rounds { wrong: 2, ..rounds });
        assert!(wrong.contains("data WRONG: 2 of"), "{wrong}");
    }
}
