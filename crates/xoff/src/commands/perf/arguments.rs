//! The arguments of `xoff perf`: perftest's letters where they make sense.

use clap::ValueEnum;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
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
  xoff perf write-bw & xoff perf write-bw localhost        both on one machine
  xoff perf ping 10.0.0.2                      a client of rping -s
  xoff perf pingpong -c UD                     a server of ibv_ud_pingpong -g 1

Both sides need the same test, -s, -n (or -D), -q, -b, -a, -c and -R, as with
the stock tools; two xoff compare them before they begin. Data goes by UDP port
4791, the exchange by TCP (see -p).

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
    /// Port of the exchange [default: 18515; of ping 7174]
    #[arg(short, long)]
    port: Option<u16>,
    /// Which atomic operation
    #[arg(short = 'A', long = "atomic_type", alias = "atomic-type")]
    #[arg(default_value = "FETCH_AND_ADD", ignore_case = true, value_name = "TYPE")]
    atomic_type: AtomicType,
    /// Our address for the data, a link-local one with its interface (fe80::1%eth0) [default: where
    /// the way to the peer begins]
    #[arg(long, value_name = "ADDRESS", value_parser = bind)]
    bind: Option<Bind>,
    /// Messages in flight on each queue pair
    #[arg(short, long = "tx-depth", value_name = "COUNT")]
    tx_depth: Option<usize>,
    /// ACK timeout of the queue pairs, 4.096 us x 2^N: 14 is 67 ms, 0 is for ever
    #[arg(short = 'u', long = "qp-timeout", value_name = "N", default_value_t = 14)]
    #[arg(value_parser = clap::value_parser!(u8).range(0..=31))]
    qp_timeout: u8,
    /// Give up a peer that is silent for this long; a side that only waits adds a quarter
    #[arg(long, value_name = "SECONDS", default_value_t = 5.0)]
    patience: f64,
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
    /// rping: the server reads a text of the client and writes it back
    Ping,
    /// ibv_rc_pingpong, with -c UC or UD its siblings: one message back and forth
    Pingpong,
}

/// Which protocol a test speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// perftest's.
    Perftest,
    /// rping's.
    Ping,
    /// That of ibv_rc_pingpong and its siblings.
    Pingpong,
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

/// An address of ours, with the interface of a link-local one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Bind {
    address: IpAddr,
    scope: u32,
}

fn bind(text: &str) -> Result<Bind, String> {
    if let Ok(address) = text.parse() {
        return Ok(Bind { address, scope: 0 });
    }
    // The system knows the indices of interfaces.
    let (host, interface) = text.split_once('%').ok_or("it is no IP address")?;
    let address = host.parse().map_err(|_| format!("{host} is no IP address"))?;
    let found = (text, 0).to_socket_addrs().ok().and_then(|mut all| all.next());
    match found {
        Some(SocketAddr::V6(v6)) if v6.scope_id() > 0 => Ok(Bind { address, scope: v6.scope_id() }),
        _ => Err(format!("{host} is not link-local, or there is no interface {interface}")),
    }
}

impl Args {
    /// Which protocol is spoken.
    pub(crate) fn kind(&self) -> Kind {
        match self.test {
            Test::Ping => Kind::Ping,
            Test::Pingpong => Kind::Pingpong,
            _ => Kind::Perftest,
        }
    }

    /// Nothing is taken in silence: options that a test does not have.
    fn refuse_what_means_nothing(&self) -> Result<(), String> {
        let kind = self.kind();
        if kind == Kind::Perftest {
            return Ok(());
        }
        let reliable = matches!(self.connection, Connection::Reliable);
        let wrong = [
            ("-D", self.duration.is_some()),
            ("-q", self.qp != 1),
            ("-b", self.bidirectional),
            ("-a", self.all),
            ("-t", self.tx_depth.is_some()),
            ("--report_gbits", self.report_gbits),
            ("-R", self.rdma_cm && kind == Kind::Pingpong),
            ("-c", !reliable && kind == Kind::Ping),
            ("-m", self.mtu.is_some() && kind == Kind::Ping),
        ];
        match wrong.iter().find(|(_, given)| *given) {
            Some((option, _)) => Err(format!("ping and pingpong do not have {option} here")),
            None => Ok(()),
        }
    }

    /// What they ask for, or what is wrong with them.
    pub(crate) fn settings(&self) -> Result<Settings, String> {
        let kind = match self.atomic_type {
            AtomicType::CompareSwap => AtomicKind::CompareSwap,
            AtomicType::FetchAdd => AtomicKind::FetchAdd,
        };
        let service = match self.connection {
            Connection::Reliable => Service::Reliable,
            Connection::Unreliable => Service::Unreliable,
            Connection::Datagram => Service::Datagram,
        };
        let (verb, measure) = match self.test {
            Test::Ping | Test::Pingpong => (Verb::Send, Measure::Latency),
            Test::WriteBw => (Verb::Write, Measure::Bandwidth),
            Test::WriteLat => (Verb::Write, Measure::Latency),
            Test::ReadBw => (Verb::Read, Measure::Bandwidth),
            Test::ReadLat => (Verb::Read, Measure::Latency),
            Test::SendBw => (Verb::Send, Measure::Bandwidth),
            Test::SendLat => (Verb::Send, Measure::Latency),
            Test::AtomicBw => (Verb::Atomic(kind), Measure::Bandwidth),
            Test::AtomicLat => (Verb::Atomic(kind), Measure::Latency),
        };
        let mut settings = match self.kind() {
            Kind::Perftest => Settings::new(verb, measure),
            Kind::Ping => Settings::ping(),
            Kind::Pingpong => Settings::pingpong(service),
        };
        self.refuse_what_means_nothing()?;
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
        settings.port = self.port.map_or(settings.port, Port);
        settings.bind = self.bind.map(|bind| bind.address);
        settings.scope = self.bind.map_or(0, |bind| bind.scope);
        settings.all_sizes = self.all;
        settings.pairs = self.qp;
        settings.mtu = self.mtu;
        settings.duplex = self.bidirectional;
        settings.service = service;
        if self.rdma_cm {
            settings.rendezvous = Rendezvous::Cm;
        }
        settings.depth = self.tx_depth.unwrap_or(settings.depth);
        settings.ack_timeout = self.qp_timeout;
        settings.patience = Duration::try_from_secs_f64(self.patience)
            .map_err(|_| "--patience is a number of seconds")?;
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
