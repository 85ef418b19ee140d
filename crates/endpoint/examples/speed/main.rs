//! How fast `xoff perf` is, beside bare UDP sockets and TCP that move the same bytes the same way.
//!
//! `speed [SECONDS] [ROUNDS]`: makes two network namespaces with a veth pair between them if it may,
//! and otherwise goes over loopback. Every round measures everything once, because on a machine that
//! others use, only what was measured together can be compared.

mod latency;
mod net;
mod passes;
mod stream;
mod table;

use net::Net;
use std::time::Duration;
use table::{Row, Table};
use xoff_endpoint::Waiting;
use xoff_endpoint::perftest::Verb;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize, default: f64| match args.get(at) {
        Some(text) => text.parse().unwrap_or_else(|_| usage()),
        None => default,
    };
    let (seconds, rounds) = (number(0, 1.0), number(1, 5.0));
    if !(0.1..=60.0).contains(&seconds) || !(1.0..=100.0).contains(&rounds) {
        usage();
    }
    let (time, net) = (Duration::from_secs_f64(seconds), Net::make());
    println!("{}, {rounds} rounds of {seconds} s", net.kind());
    let mut table = Table::default();
    for round in 1..=rounds as usize {
        table.push(measure(&net, time));
        println!("round {round}: {}", table.last_line());
    }
    drop(net);
    print!("\n{table}");
}

fn usage() -> ! {
    eprintln!("speed [SECONDS, 0.1 to 60] [ROUNDS, 1 to 100]");
    std::process::exit(2)
}

fn measure(net: &Net, time: Duration) -> Row {
    let large = |verb| stream::roce(net, time, verb, 1 << 16);
    Row {
        udp: stream::udp(net, time),
        write: large(Verb::Write),
        send: large(Verb::Send),
        read: large(Verb::Read),
        tcp: stream::tcp(net, time),
        short: stream::roce(net, time, Verb::Write, 64),
        passes: passes::measure(),
        udp_asleep: latency::udp(net, Waiting::Sleep),
        write_asleep: latency::write(net, Waiting::Sleep),
        write_default: latency::write(net, latency::by_default()),
        udp_awake: latency::udp(net, Waiting::Spin),
        write_awake: latency::write(net, Waiting::Spin),
    }
}
