//! `rstream`: a byte stream over writes with immediate data, in the protocol of librdmacm's rsockets, so that either side
//! can be the stock tool.
//!
//! First 16 bytes go each way. Then the client sends so many transfers and the server as many back, so many times. Bytes
//! are numbered through, as those of the stock tool are with `-T v`.

#[path = "../shared/mod.rs"]
mod shared;
mod stream;

use shared::{Arguments, Failure};
use std::net::IpAddr;
use std::process::ExitCode;
use std::time::Instant;
use stream::Stream;

const USAGE: &str = "\
rstream serve [-a OWN-ADDRESS] [-p PORT] [-S BYTES] [-C TRANSFERS] [-I ITERATIONS] [--verify yes]
rstream SERVER [-a OWN-ADDRESS] [-p PORT] [-S BYTES] [-C TRANSFERS] [-I ITERATIONS] [--verify yes]

Serves one client. The stock tool at the other side: rstream -b ADDRESS, rstream -s ADDRESS, with the same -S, -C and
-I; it has to have one of them, because without it runs tests of its own. --verify compares bytes: not without -T v there.";

/// What both sides send first.
const GREETING: usize = 16;

fn main() -> ExitCode {
    let options = ["-a", "-p", "-S", "-C", "-I", "--verify"];
    shared::run(USAGE, &options, |arguments| match &arguments.rest[..] {
        [word] if word == "serve" => serve(arguments),
        [server] => {
            let server = server.parse().map_err(|_| format!("{server} is no IP address"))?;
            call(arguments, server)
        }
        _ => Err("say `serve`, or the address of a server; --help says more".into()),
    })
}

/// The test, on one side.
struct Test {
    size: usize,
    transfers: usize,
    iterations: usize,
    /// Bytes sent and received so far: the number of the next.
    sent: usize,
    received: usize,
    verify: bool,
}

impl Test {
    fn new(arguments: &Arguments) -> Result<Self, Failure> {
        let (size, transfers) = (arguments.get("-S", 1000)?, arguments.get("-C", 1000)?);
        let iterations = arguments.get("-I", 1)?;
        let verify = match &arguments.get("--verify", String::from("no"))?[..] {
            "yes" => true,
            "no" => false,
            other => return Err(format!("--verify {other}: yes or no").into()),
        };
        if !(1..=1 << 24).contains(&size) || transfers == 0 || iterations == 0 {
            return Err("-S is 1 to 16777216, -C and -I at least 1".into());
        }
        Ok(Self { size, transfers, iterations, sent: 0, received: 0, verify })
    }

    fn say(&mut self, stream: &mut Stream, length: usize) -> Result<(), Failure> {
        let bytes: Vec<u8> = (self.sent..self.sent + length).map(|number| number as u8).collect();
        self.sent += length;
        stream.write(&bytes)
    }

    fn hear(&mut self, stream: &mut Stream, length: usize) -> Result<(), Failure> {
        let bytes = stream.read(length)?;
        for byte in bytes {
            if self.verify && byte != self.received as u8 {
                let (number, wanted) = (self.received, self.received as u8);
                return Err(format!("byte {number} is {byte}, and not {wanted}").into());
            }
            self.received += 1;
        }
        Ok(())
    }

    /// Runs it; who has called speaks first.
    fn run(&mut self, stream: &mut Stream, calls: bool) -> Result<(), Failure> {
        self.turn(stream, calls, GREETING, 1)?;
        let start = Instant::now();
        for _ in 0..self.iterations {
            self.turn(stream, calls, self.size, self.transfers)?;
        }
        let seconds = start.elapsed().as_secs_f64().max(1e-9);
        let transfers = 2.0 * (self.iterations * self.transfers) as f64;
        let gbit = transfers * self.size as f64 * 8e-9;
        shared::print(format!(
            "{} transfers of {} bytes each way in {seconds:.2} s: {:.2} Gbit/s, {:.2} us for each",
            self.iterations * self.transfers,
            self.size,
            gbit / seconds,
            seconds * 1e6 / transfers,
        ))
    }

    fn turn(
        &mut self,
        stream: &mut Stream,
        calls: bool,
        size: usize,
        count: usize,
    ) -> Result<(), Failure> {
        for speaks in [calls, !calls] {
            for _ in 0..count {
                if speaks { self.say(stream, size)? } else { self.hear(stream, size)? }
            }
        }
        Ok(())
    }
}

fn call(arguments: &Arguments, server: IpAddr) -> Result<(), Failure> {
    let mut test = Test::new(arguments)?;
    let endpoint = shared::open(arguments.find("-a")?, Some(server))?;
    let mut stream = Stream::connect(&endpoint, server, arguments.get("-p", 7471)?)?;
    test.run(&mut stream, true)?;
    stream.close()
}

fn serve(arguments: &Arguments) -> Result<(), Failure> {
    let mut test = Test::new(arguments)?;
    let endpoint = shared::open(arguments.find("-a")?, None)?;
    let listener = endpoint.listen(arguments.get("-p", 7471)?).wait()?;
    shared::print(format!("listening at {} port {}", endpoint.address().ip(), listener.port()))?;
    let mut stream = Stream::accept(&endpoint, listener.next().wait()?)?;
    test.run(&mut stream, false)?;
    stream.close()
}
