//! `qperf`: four of its tests over connections of rdma_cm, so that either side can be the stock tool.
//!
//! What test it is, and what came of it, is said over TCP ([`control`]). The server names a port of rdma_cm there; the
//! client calls it and moves messages for so many seconds.

mod control;
#[path = "../shared/mod.rs"]
mod shared;

use control::{AFTER, BEFORE, Control, Counts, Node, Request, Results, Test};
use shared::{Arguments, Failure, PATIENCE};
use std::collections::VecDeque;
use std::net::{IpAddr, TcpListener, TcpStream};
use std::process::ExitCode;
use std::time::{Duration, Instant};
use xoff_endpoint::{
    Access, Bytes, Completion, Connection, Endpoint, Error, Immediate, Pending, Region,
    RejectReason, RemoteSlice, Rkey, Work,
};

const USAGE: &str = "\
qperf serve [-a OWN-ADDRESS] [-lp PORT]
qperf SERVER TEST [-a OWN-ADDRESS] [-lp PORT] [-m BYTES] [-t SECONDS]

Tests: rc_bw, rc_lat, rc_rdma_read_bw, rc_rdma_write_bw. Serves one client. The stock tool at the other side: qperf, or
qperf SERVER -cm1 TEST (over IPv4, because it knows no other for rdma_cm).";

/// The port of the tool.
const PORT: u16 = 19765;
/// Messages under way, and receives posted.
const DEPTH: usize = 32;
const RECEIVES: usize = 1024;

fn main() -> ExitCode {
    shared::run(USAGE, &["-a", "-lp", "-m", "-t"], |arguments| match &arguments.rest[..] {
        [word] if word == "serve" => serve(arguments),
        [server, test] => {
            let server = server.parse().map_err(|_| format!("{server} is no IP address"))?;
            call(arguments, server, Test::by_name(test)?)
        }
        _ => Err("say `serve`, or the address of a server and a test; --help says more".into()),
    })
}

/// One side, connected.
struct Side {
    connection: Connection,
    memory: Region,
    remote: RemoteSlice,
    request: Request,
    receives: VecDeque<Pending<Completion>>,
    work: VecDeque<Pending<Completion>>,
    found: Results,
}

impl Side {
    fn new(
        endpoint: &Endpoint,
        connection: Connection,
        control: &mut Control,
        request: Request,
    ) -> Result<Self, Failure> {
        let memory = endpoint.register(vec![0; request.size as usize], Access::ALL).wait()?;
        let own = memory.remote(Bytes::ZERO);
        let theirs = control.exchange(Node { address: own.address, key: own.key.0 })?;
        let remote = RemoteSlice { address: theirs.address, key: Rkey(theirs.key) };
        let (receives, work, found) = (VecDeque::new(), VecDeque::new(), Results::default());
        Ok(Self { connection, memory, remote, request, receives, work, found })
    }

    fn count(&self) -> Counts {
        Counts { bytes: self.request.size.into(), messages: 1 }
    }

    fn post_receive(&mut self) {
        self.receives.push_back(self.connection.receive(self.memory.all()));
    }

    fn post(&mut self) {
        let (local, remote) = (self.memory.all(), self.remote);
        let work = match self.request.test {
            Test::SendBandwidth | Test::SendLatency => Work::send(local),
            Test::ReadBandwidth => Work::read(local, remote),
            Test::WriteBandwidth => Work::write_immediate(local, remote, Immediate([0; 4])),
        };
        self.work.push_back(self.connection.post(work));
    }

    /// Waits for the oldest work of ours, and counts it.
    fn finish_one(&mut self) -> Result<(), Failure> {
        let Some(mut first) = self.work.pop_front() else { return Ok(()) };
        let done = first.wait_for(PATIENCE)?;
        if !done.is_ok() {
            return Err(done.status.to_string().into());
        }
        let count = self.count();
        let counts = match self.request.test {
            Test::ReadBandwidth => &mut self.found.received,
            _ => &mut self.found.sent,
        };
        add(counts, count);
        Ok(())
    }

    /// Waits for a message until then, and counts it. Says whether one came.
    fn hear_until(&mut self, end: Instant) -> Result<bool, Failure> {
        let Some(mut first) = self.receives.pop_front() else { return Ok(false) };
        let came = match first.wait_until(end) {
            Err(Error::TimedOut { .. }) => {
                self.receives.push_front(first);
                return Ok(false);
            }
            came => came?,
        };
        if !came.is_ok() {
            return Err(came.status.to_string().into());
        }
        self.post_receive();
        let count = self.count();
        add(&mut self.found.received, count);
        Ok(true)
    }

    /// Work of ours, so much at a time, until then.
    fn pour(&mut self, end: Instant) -> Result<(), Failure> {
        while Instant::now() < end {
            while self.work.len() < DEPTH {
                self.post();
            }
            self.finish_one()?;
        }
        while !self.work.is_empty() {
            self.finish_one()?;
        }
        Ok(())
    }

    /// A message back and forth until then; the client begins.
    fn volley(&mut self, end: Instant, calls: bool) -> Result<(), Failure> {
        let mut ours = calls;
        while Instant::now() < end {
            if ours {
                self.post();
                self.finish_one()?;
            }
            ours = self.hear_until(end)?;
        }
        Ok(())
    }

    /// The test, from when both are ready.
    fn run(&mut self, control: &mut Control, calls: bool) -> Result<Instant, Failure> {
        let test = self.request.test;
        let receives = match (test, calls) {
            (Test::SendLatency, _) => 1,
            (Test::SendBandwidth | Test::WriteBandwidth, false) => RECEIVES,
            _ => 0,
        };
        (0..receives).for_each(|_| self.post_receive());
        control.say(BEFORE)?;
        control.hear(BEFORE)?;
        let start = Instant::now();
        let end = start + Duration::from_secs(self.request.seconds.into());
        match (test, calls) {
            (Test::SendLatency, _) => self.volley(end, calls)?,
            (_, true) => self.pour(end)?,
            (Test::ReadBandwidth, false) => std::thread::sleep(end - start),
            (_, false) => while self.hear_until(end)? {},
        }
        Ok(start)
    }
}

fn add(counts: &mut Counts, more: Counts) {
    counts.bytes += more.bytes;
    counts.messages += more.messages;
}

fn report(request: Request, ours: Results, start: Instant) -> Result<(), Failure> {
    let name = request.test.name();
    let (sent, received, seconds) = (ours.sent, ours.received, start.elapsed().as_secs_f64());
    let bits = 8e-9 * (sent.bytes + received.bytes) as f64 / seconds;
    let (size, messages) = (request.size, sent.messages + received.messages);
    if messages == 0 {
        return Err(format!("{name}: no message in {seconds:.1} s").into());
    }
    let each = seconds * 1e6 / messages as f64;
    shared::print(format!(
        "{name}: {} messages of {size} bytes sent, {} received, {bits:.3} Gbit/s, {each:.1} us for each",
        sent.messages, received.messages
    ))
}

fn call(arguments: &Arguments, server: IpAddr, test: Test) -> Result<(), Failure> {
    let usual = if test == Test::SendLatency { 1 } else { 1 << 16 };
    let (size, seconds) = (arguments.get("-m", usual)?, arguments.get("-t", 2)?);
    if !(1..=1 << 24).contains(&size) || !(1..=3600).contains(&seconds) {
        return Err("-m is 1 to 16777216, -t 1 to 3600".into());
    }
    let endpoint = shared::open(arguments.find("-a")?, Some(server))?;
    let address = (server, arguments.get("-lp", PORT)?).into();
    let stream = TcpStream::connect_timeout(&address, PATIENCE);
    let stream = stream.map_err(|error| format!("no qperf at {server}: {error}"))?;
    let mut control = Control::new(stream)?;
    let request = Request { test, size, seconds };
    control.send_request(request)?;
    let port = control.port()?;
    let connection = connect(&endpoint, server, port)?;
    let mut side = Side::new(&endpoint, connection, &mut control, request)?;
    let start = side.run(&mut control, true)?;
    let mut found = side.found;
    let theirs = control.results()?;
    control.say(AFTER)?;
    let _ = side.connection.disconnect(b"").within(PATIENCE).wait();
    // What a server has received counts, not what was on its way at the end.
    if test != Test::SendLatency && theirs.received.messages > 0 {
        found.sent = theirs.received;
    }
    report(request, found, start)
}

/// The stock server names its port a moment before it listens there.
fn connect(endpoint: &Endpoint, server: IpAddr, port: u16) -> Result<Connection, Failure> {
    let end = Instant::now() + PATIENCE;
    loop {
        match endpoint.connect(server, port, b"").within(PATIENCE).wait() {
            Err(Error::Rejected(no))
                if no.reason == RejectReason::INVALID_SERVICE_ID && Instant::now() < end =>
            {
                std::thread::sleep(Duration::from_millis(20));
            }
            connection => return Ok(connection?),
        }
    }
}

fn serve(arguments: &Arguments) -> Result<(), Failure> {
    let endpoint = shared::open(arguments.find("-a")?, None)?;
    let (address, port) = (endpoint.address().ip(), arguments.get("-lp", PORT)?);
    let listening = TcpListener::bind((address, port))?;
    shared::print(format!("listening at {address} port {port}"))?;
    let (stream, _) = listening.accept()?;
    let mut control = Control::new(stream)?;
    let request = control.request()?;
    // Ports of rdma_cm are others than those of TCP.
    let listener = endpoint.listen(port).wait()?;
    control.send_port(listener.port())?;
    let caller = listener.next().within(PATIENCE).wait()?;
    let connection = caller.accept(b"").within(PATIENCE).wait()?;
    let mut side = Side::new(&endpoint, connection, &mut control, request)?;
    let start = side.run(&mut control, false)?;
    let found = side.found;
    control.send_results(found, start)?;
    control.hear(AFTER)?;
    // The client disconnects.
    let _ = side.connection.ended().within(PATIENCE).wait();
    match request.test {
        Test::ReadBandwidth => shared::print("rc_rdma_read_bw: the client has read"),
        _ => report(request, found, start),
    }
}
