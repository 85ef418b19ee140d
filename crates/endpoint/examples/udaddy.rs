//! `udaddy`: datagrams whose way rdma_cm finds, word for word the protocol of librdmacm's tool, so that either
//! side can be the stock one.
//!
//! Read it for the lower way in: a [`Device`] that its program drives itself, with a connection manager beside
//! it, and no thread and no lock anywhere. Datagrams have no connection: the client *looks up* which queue
//! pair takes those of a port, and with what key; the server learns from a datagram where its own go.

mod shared;

use shared::{Arguments, Failure, PATIENCE};
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::net::{IpAddr, SocketAddr};
use std::process::ExitCode;
use std::time::{Duration, Instant};
use xoff_endpoint::cm::{Agent, DatagramService, Event};
use xoff_endpoint::{
    Access, Completion, Completions, DatagramWork, Device, Immediate, Memory, PairId, PairSettings,
    Port, Qkey, Qpn, Service, Slice, WorkId,
};

const USAGE: &str = "\
udaddy serve [-a OWN-ADDRESS] [-p PORT] [-C MESSAGES] [-S BYTES]
udaddy SERVER [-a OWN-ADDRESS] [-p PORT] [-C MESSAGES] [-S BYTES]

Serves one client. The stock tool at the other side: udaddy -b ADDRESS, udaddy -s ADDRESS, both with the same -C
and -S. Nobody repeats a lost datagram.";

/// The key of all datagrams between programs that rdma_cm brings together.
const KEY: Qkey = Qkey(0x0123_4567);
/// The name of what is sent; receives are named zero.
const SENT: WorkId = WorkId(1);
/// Longest sleep.
const NAP: Duration = Duration::from_millis(10);

fn main() -> ExitCode {
    shared::run(USAGE, &["-a", "-p", "-C", "-S"], |arguments| match &arguments.rest[..] {
        [word] if word == "serve" => Side::new(arguments, None)?.serve(),
        [server] => {
            let server = server.parse().map_err(|_| format!("{server} is no IP address"))?;
            Side::new(arguments, Some(server))?.call(server)
        }
        _ => Err("say `serve`, or the address of a server; --help says more".into()),
    })
}

/// Where our datagrams go.
#[derive(Clone, Copy)]
struct Way {
    to: SocketAddr,
    qpn: Qpn,
    key: Qkey,
}

struct Side {
    device: Device,
    agent: Agent,
    pair: PairId,
    completions: Completions,
    memory: Memory,
    port: Port,
    count: u64,
    size: u64,
}

impl Side {
    fn new(arguments: &Arguments, server: Option<IpAddr>) -> Result<Self, Failure> {
        let (count, size): (u64, u64) = (arguments.get("-C", 10)?, arguments.get("-S", 100)?);
        if !(1..=500).contains(&count) || !(1..=1024).contains(&size) {
            return Err("-C is 1 to 500, -S 1 to 1024".into());
        }
        let mut device = shared::open_device(arguments.find("-a")?, server)?;
        let agent = Agent::open(&mut device, RandomState::new().hash_one(0))?;
        let domain = device.create_domain();
        let completions = device.create_completions(2 * count as usize)?;
        let room = vec![0; size as usize];
        let memory = device.register(domain, room, Access::LOCAL_WRITE, None)?;
        let settings = PairSettings::new(Service::Datagram, domain, completions);
        let pair = device.create_pair(PairSettings { qkey: KEY, ..settings })?;
        let port = Port(arguments.get("-p", 7174)?);
        let side = Self { device, agent, pair, completions, memory, port, count, size };
        side.with_receives()
    }

    /// All of them, before anything can come.
    fn with_receives(mut self) -> Result<Self, Failure> {
        for _ in 0..self.count {
            let slice = Slice::new(self.memory, 0, self.size);
            self.device.post_receive(self.pair, WorkId(0), slice)?;
        }
        Ok(self)
    }

    /// Moves everything on until `look` finds something.
    fn until<T>(
        &mut self,
        patience: Option<Duration>,
        mut look: impl FnMut(&mut Self) -> Result<Option<T>, Failure>,
    ) -> Result<T, Failure> {
        let start = Instant::now();
        loop {
            let idle = self.device.progress().is_idle();
            self.agent.turn(&mut self.device)?;
            if let Some(found) = look(self)? {
                return Ok(found);
            }
            if patience.is_some_and(|patience| start.elapsed() > patience) {
                return Err("nothing from the peer: lost, or is it there?".into());
            }
            if idle {
                self.device.wait(NAP);
            }
        }
    }

    /// The next completion of a datagram that was sent, or of one that came.
    fn next(&mut self) -> Result<Completion, Failure> {
        self.until(Some(PATIENCE), |side| {
            let Some(done) = side.device.poll(side.completions) else { return Ok(None) };
            if done.is_ok() { Ok(Some(done)) } else { Err(done.status.to_string().into()) }
        })
    }

    fn say(&mut self, way: Way) -> Result<(), Failure> {
        let own = self.pair.qpn().get();
        for _ in 0..self.count {
            let work = DatagramWork {
                id: SENT,
                local: Slice::new(self.memory, 0, self.size),
                to: way.to,
                qpn: way.qpn,
                qkey: way.key,
                // So the server learns where to answer.
                immediate: Some(Immediate(own.to_be_bytes())),
                signaled: true,
            };
            self.device.post_datagram(self.pair, work)?;
        }
        Ok(())
    }

    /// Waits for `sent` sent datagrams and for all that come. Where the last one came from.
    fn finish(&mut self, mut sent: u64, mut come: u64) -> Result<Option<Way>, Failure> {
        let mut way = None;
        while sent + come > 0 {
            let done = self.next()?;
            if done.id == SENT {
                sent = sent.saturating_sub(1);
                continue;
            }
            let arrival = done.arrival().ok_or("a receive without a message")?;
            if arrival.length.get() != self.size {
                return Err(format!("a message of {}, not {}", arrival.length, self.size).into());
            }
            come = come.saturating_sub(1);
            if let (Some((from, _)), Some(Immediate(qpn))) = (arrival.from, arrival.immediate) {
                let to = SocketAddr::new(from.ip(), self.device.address().port());
                way = Some(Way { to, qpn: Qpn::new(u32::from_be_bytes(qpn)), key: KEY });
            }
        }
        Ok(way)
    }

    fn call(mut self, server: IpAddr) -> Result<(), Failure> {
        let (now, port) = (self.device.now(), self.port);
        let asked = self.agent.manager().look_up(now, server, port);
        asked.ok_or("the server's address is of another IP version than ours")?;
        let service =
            self.until(Some(PATIENCE), |side| match side.agent.manager().poll_event() {
                Some(Event::Found { service, .. }) => Ok(Some(service)),
                Some(Event::NotFound { status, .. }) => Err(format!("declined: {status}").into()),
                Some(Event::TimedOut { .. }) => Err("nobody answers the lookup".into()),
                _ => Ok(None),
            })?;
        let to = SocketAddr::new(server, self.device.address().port());
        self.say(Way { to, qpn: service.qpn, key: service.qkey })?;
        self.finish(self.count, self.count)?;
        shared::print(format!("{} datagrams of {} B sent and received", self.count, self.size))
    }

    fn serve(mut self) -> Result<(), Failure> {
        let port = self.port;
        self.agent.manager().listen_for_lookups(port);
        let address = self.device.address().ip();
        shared::print(format!("listening at {address} port {}", port.0))?;
        let service = DatagramService { qpn: self.pair.qpn(), qkey: KEY };
        self.until(None, |side| {
            let now = side.device.now();
            match side.agent.manager().poll_event() {
                Some(Event::LookedUp { id, .. }) => {
                    Ok(side.agent.manager().serve(now, id, service).then_some(()))
                }
                _ => Ok(None),
            }
        })?;
        let way = self.finish(0, self.count)?.ok_or("the client did not say where it is")?;
        self.say(way)?;
        self.finish(self.count, 0)?;
        shared::print(format!("{} datagrams of {} B received and sent", self.count, self.size))
    }
}
