//! The arguments of `xoff perf`: perftest's letters where they make sense.

use clap::ValueEnum;
use std::net::IpAddr;
use std::time::Duration;
use xoff_endpoint::Waiting;
use xoff_endpoint::perftest::{AtomicKind, Extent, Measure, Rendezvous, Settings, Verb};
use xoff_wire::Service;
use xoff_wire::udp::Port;

const EXAMPLES: &str = "Examples:
  xoff perf write-bw                           a server; the client may be ib_write_bw
  xoff perf write-bw 10.0.0.2                  a client; the server may be ib_write_bw
  xoff perf send-bw 10.0.0.2 -c UD -s 2048 -n 5000
  xoff perf read-lat 10.0.0.2 -s 8 --json
  xoff perf write-bw --bind 10.0.0.1 -R        a server that is called by rdma_cm

Both sides need the same test, -s, -n (or -D), -q, -b, -a, -c and -R, as with
the stock tools. Data goes by UDP port 4791, the exchange by TCP (see -p).

Exit codes:
  0    every message arrived, and what was looked at was right
  1    the test failed, or data was wrong
  2    bad usage
  130  interrupted";

/// Arguments of `xoff perf`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// What to measure
    test: Test,
    /// The server; without it this is the server
    host: Option<String>,
    /// Bytes of a message
    #[arg(short, long)]
    size: Option<u64>,
    /// Messages of each queue pair
    #[arg(short = 'n', long, value_name = "COUNT")]
    iters: Option<u64>,
    /// Run for this many seconds instead of -n
    #[arg(short = 'D', long, value_name = "SECONDS", conflicts_with = "iters")]
    duration: Option<u64>,
    /// Queue pairs
    #[arg(short, long, default_value_t = 1, value_name = "COUNT")]
    qp: usize,
    /// Most payload of a packet: 256, 512, 1024, 2048 or 4096 [default: what the link carries]
    #[arg(short, long, value_parser = mtu)]
    mtu: Option<u16>,
    /// 1 for data over IPv4, 2 over IPv6 [default: as --bind or the exchange]
    #[arg(short = 'x', long, value_name = "INDEX")]
    #[arg(value_parser = clap::value_parser!(u8).range(1..=2))]
    gid_index: Option<u8>,
    /// Both ways at once
    #[arg(short, long)]
    bidirectional: bool,
    /// All sizes from 2 bytes to 8 MiB
    #[arg(short, long)]
    all: bool,
    /// Meet by rdma_cm instead of TCP
    #[arg(short = 'R', long = "rdma_cm", alias = "rdma-cm")]
    rdma_cm: bool,
    /// Print Gbit/s instead of MiB/s
    #[arg(long = "report_gbits", alias = "report-gbits")]
    report_gbits: bool,
    /// The service
    #[arg(short, long, default_value = "RC", ignore_case = true)]
    connection: Connection,
    /// Port of the exchange
    #[arg(short, long, default_value_t = 18515)]
    port: u16,
    /// Which atomic operation
    #[arg(short = 'A', long = "atomic_type", alias = "atomic-type")]
    #[arg(default_value = "FETCH_AND_ADD", ignore_case = true, value_name = "TYPE")]
    atomic_type: AtomicType,
    /// Our address for the data [default: where the way to the peer begins]
    #[arg(long, value_name = "ADDRESS")]
    bind: Option<IpAddr>,
    /// Messages in flight on each queue pair
    #[arg(short, long = "tx-depth", value_name = "COUNT")]
    tx_depth: Option<usize>,
    /// ACK timeout of the queue pairs, 4.096 us x 2^N: 14 is 67 ms, 0 is for ever
    #[arg(short = 'u', long = "qp-timeout", value_name = "N", default_value_t = 14)]
    #[arg(value_parser = clap::value_parser!(u8).range(0..=31))]
    qp_timeout: u8,
    /// Never sleep: shorter latency for a whole core
    #[arg(long)]
    spin: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Taken and ignored, because scripts for the stock tools have it
    #[arg(short = 'F', hide = true)]
    _frequency: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Test {
    /// Writes: how much
    WriteBw,
    /// Writes: how fast
    WriteLat,
    /// Reads: how much
    ReadBw,
    /// Reads: how fast
    ReadLat,
    /// Sends: how much
    SendBw,
    /// Sends: how fast
    SendLat,
    /// Atomics: how many
    AtomicBw,
    /// Atomics: how fast
    AtomicLat,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Connection {
    /// Reliable connection
    #[value(name = "RC")]
    Reliable,
    /// Unreliable connection
    #[value(name = "UC")]
    Unreliable,
    /// Datagrams
    #[value(name = "UD")]
    Datagram,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum AtomicType {
    /// Swaps if it finds what it expects
    #[value(name = "CMP_AND_SWAP")]
    CompareSwap,
    /// Adds
    #[value(name = "FETCH_AND_ADD")]
    FetchAdd,
}

fn mtu(text: &str) -> Result<u16, String> {
    match text.parse() {
        Ok(mtu @ (256 | 512 | 1024 | 2048 | 4096)) => Ok(mtu),
        _ => Err("the MTU is 256, 512, 1024, 2048 or 4096".into()),
    }
}

impl Args {
    /// What they ask for, or what is wrong with them.
    pub(crate) fn settings(&self) -> Result<Settings, String> {
        let kind = match self.atomic_type {
            AtomicType::CompareSwap => AtomicKind::CompareSwap,
            AtomicType::FetchAdd => AtomicKind::FetchAdd,
        };
        let (verb, measure) = match self.test {
            Test::WriteBw => (Verb::Write, Measure::Bandwidth),
            Test::WriteLat => (Verb::Write, Measure::Latency),
            Test::ReadBw => (Verb::Read, Measure::Bandwidth),
            Test::ReadLat => (Verb::Read, Measure::Latency),
            Test::SendBw => (Verb::Send, Measure::Bandwidth),
            Test::SendLat => (Verb::Send, Measure::Latency),
            Test::AtomicBw => (Verb::Atomic(kind), Measure::Bandwidth),
            Test::AtomicLat => (Verb::Atomic(kind), Measure::Latency),
        };
        let mut settings = Settings::new(verb, measure);
        if !matches!(verb, Verb::Atomic(_)) {
            settings.size = self.size.unwrap_or(settings.size);
        } else if self.size.is_some_and(|size| size != 8) {
            return Err("atomics have 8 bytes".into());
        }
        settings.extent = match (self.iters, self.duration) {
            (Some(count), _) => Extent::Iterations(count),
            (None, Some(seconds)) => Extent::For(Duration::from_secs(seconds)),
            (None, None) => settings.extent,
        };
        settings.server = self.host.clone();
        settings.port = Port(self.port);
        settings.bind = self.bind;
        settings.all_sizes = self.all;
        settings.pairs = self.qp;
        settings.mtu = self.mtu;
        settings.duplex = self.bidirectional;
        settings.service = match self.connection {
            Connection::Reliable => Service::Reliable,
            Connection::Unreliable => Service::Unreliable,
            Connection::Datagram => Service::Datagram,
        };
        settings.rendezvous = if self.rdma_cm { Rendezvous::Cm } else { Rendezvous::Tcp };
        settings.depth = self.tx_depth.unwrap_or(settings.depth);
        settings.ack_timeout = self.qp_timeout;
        settings.gigabits = self.report_gbits;
        if self.spin {
            settings.waiting = Waiting::Spin;
        }
        settings.v6 = self.gid_index.map(|index| index == 2);
        match settings.mistake() {
            Some(mistake) => Err(mistake.into()),
            None => Ok(settings),
        }
    }
}
