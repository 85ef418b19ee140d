//! `rping`: the hello world of RDMA, word for word the protocol of librdmacm's tool, so that either
//! side can be the stock one.
//!
//! Read it for the three kinds of work of a connection:
//!
//! 1. **Send and receive**: a message goes into a buffer that the *other* side has posted. Both sides
//!    take part. Here: 16 bytes that say where memory is, or "go on".
//! 2. **Read**: the server fetches the client's text. The client's program takes no part: it has given
//!    the address and the key, and its endpoint answers by itself.
//! 3. **Write**: the server puts the text into the client's other buffer, the same way.
//!
//! A round: the client sends where its text is; the server reads it and says go on; the client sends
//! where the echo goes; the server writes it and says go on.

mod shared;

use shared::{Arguments, Failure, PATIENCE, Reader, Writer};
use std::net::IpAddr;
use std::process::ExitCode;
use std::time::Instant;
use xoff_endpoint::{
    Access, Bytes, Completion, Connection, Endpoint, Error, Pending, Region, RemoteSlice, Rkey,
    Status,
};

const USAGE: &str = "\
rping serve [-a OWN-ADDRESS] [-p PORT]
rping SERVER [-a OWN-ADDRESS] [-p PORT] [-C ROUNDS] [-S BYTES]

The server stays until it is interrupted. In two terminals:
  cargo run -p xoff-endpoint --example rping -- serve
  cargo run -p xoff-endpoint --example rping -- 127.0.0.1 -C 3
The stock tool at either side: rping -s -a ADDRESS -S 64 -v, rping -c -a ADDRESS -C 3 -v";

/// What a client says whose server disconnects. The stock one does when the text is longer than its own.
const GONE: &str = "the server has gone (a stock one needs -S at least as large as ours)";

/// Bytes of a message: an address, a key, a length.
const CARD: u64 = 16;
/// The longest text.
const LONGEST: u64 = 64 << 10;

fn main() -> ExitCode {
    shared::run(USAGE, &["-a", "-p", "-C", "-S"], |arguments| match &arguments.rest[..] {
        [word] if word == "serve" => serve(arguments),
        [server] => {
            let server = server.parse().map_err(|_| format!("{server} is no IP address"))?;
            call(arguments, server)
        }
        _ => Err("say `serve`, or the address of a server; --help says more".into()),
    })
}

/// One side: its connection, the two buffers that are read and written, and one for messages.
struct Side {
    connection: Connection,
    text: Region,
    echo: Region,
    cards: Region,
    /// The receive that takes the peer's next message: posted before the peer can send it.
    next: Pending<Completion>,
}

impl Side {
    fn new(endpoint: &Endpoint, connection: Connection) -> Result<Self, Failure> {
        let memory = |size, access| endpoint.register(vec![0; size as usize], access);
        // Each buffer has the rights that it needs, and no more.
        let text = memory(LONGEST, Access::LOCAL_WRITE | Access::REMOTE_READ).wait()?;
        let echo = memory(LONGEST, Access::LOCAL_WRITE | Access::REMOTE_WRITE).wait()?;
        // The first half is sent, the second half takes what comes.
        let cards = memory(2 * CARD, Access::LOCAL_WRITE).wait()?;
        let next = connection.receive(cards.slice(Bytes::new(CARD), Bytes::new(CARD)));
        Ok(Self { connection, text, echo, cards, next })
    }

    /// Sends where a buffer is.
    fn say(&self, region: &Region, length: u64) -> Result<(), Failure> {
        let RemoteSlice { address, key } = region.remote(Bytes::ZERO);
        let card = Writer::default().u64(address).u32(key.0).u32(length as u32);
        self.cards.fill(Bytes::ZERO, card.0).wait()?;
        done(self.connection.send(self.cards.slice(Bytes::ZERO, Bytes::new(CARD))))
    }

    /// Takes the peer's next message: where its buffer is and how long. `None` if it has gone.
    fn hear(&mut self) -> Result<Option<(RemoteSlice, u64)>, Failure> {
        let place = self.cards.slice(Bytes::new(CARD), Bytes::new(CARD));
        let completion = match self.next.wait_for(PATIENCE) {
            // A peer that thinks is fine, one that is dead is not: it does not answer a probe.
            Err(Error::TimedOut { .. }) => {
                done(self.connection.probe())?;
                return self.hear();
            }
            other => other?,
        };
        if completion.status == Status::Flushed {
            return Ok(None);
        }
        let bytes = self.cards.bytes().wait()?;
        self.next = self.connection.receive(place);
        let mut card = Reader(&bytes[CARD as usize..]);
        let (address, key, length) = (card.u64()?, Rkey(card.u32()?), card.u32()?);
        Ok(Some((RemoteSlice { address, key }, length.into())))
    }
}

/// Waits for work; anything but success is an error.
fn done(work: Pending<Completion>) -> Result<(), Failure> {
    let completion = work.wait()?;
    if completion.is_ok() { Ok(()) } else { Err(completion.status.to_string().into()) }
}

fn call(arguments: &Arguments, server: IpAddr) -> Result<(), Failure> {
    let (rounds, size): (u64, u64) = (arguments.get("-C", 5)?, arguments.get("-S", 64)?);
    if !(32..LONGEST).contains(&size) {
        return Err(format!("-S {size}: the text has 32 to {} bytes", LONGEST - 1).into());
    }
    let endpoint = shared::open(arguments.find("-a")?, Some(server))?;
    let port = arguments.get("-p", 7174)?;
    let connection = endpoint.connect(server, port, b"").wait()?;
    let mut side = Side::new(&endpoint, connection)?;
    for round in 0..rounds {
        let mut text = format!("rdma-ping-{round}: ").into_bytes();
        let letters = (b'A'..=b'z').cycle().skip(round as usize % 58);
        text.extend(letters.take(size as usize - text.len() - 1).chain([0]));
        side.text.fill(Bytes::ZERO, text.clone()).wait()?;
        let start = Instant::now();
        side.say(&side.text, size)?;
        side.hear()?.ok_or(GONE)?;
        side.say(&side.echo, size)?;
        side.hear()?.ok_or(GONE)?;
        let (time, back) = (start.elapsed(), side.echo.copy(Bytes::ZERO, Bytes::new(size)).wait()?);
        if back != text {
            return Err(format!("round {round}: the echo is not the text").into());
        }
        let shown = String::from_utf8_lossy(&text[..text.len().min(48)]).into_owned();
        shared::print(format!(
            "{:7.1} us  {}",
            time.as_secs_f64() * 1e6,
            shown.trim_end_matches('\0')
        ))?;
    }
    side.connection.disconnect(b"").within(PATIENCE).wait()?;
    Ok(())
}

fn serve(arguments: &Arguments) -> Result<(), Failure> {
    let endpoint = shared::open(arguments.find("-a")?, None)?;
    let listener = endpoint.listen(arguments.get("-p", 7174)?).wait()?;
    shared::print(format!("listening at {} port {}", endpoint.address().ip(), listener.port()))?;
    loop {
        let request = listener.next().wait()?;
        let peer = request.peer();
        // The receive for the first message is posted before the peer can send it.
        let side = Side::new(&endpoint, endpoint.connection().wait()?)?;
        let accepted = request.accept_on(&side.connection, Default::default());
        let served = accepted.wait().map_err(Failure::from).and_then(|_| answer(side));
        match served {
            Ok(rounds) => shared::print(format!("{peer}: {rounds} rounds"))?,
            // A client that fails is its own problem.
            Err(error) => shared::print(format!("{peer}: {error}"))?,
        }
    }
}

/// Answers one client until it disconnects. How many rounds that were.
fn answer(mut side: Side) -> Result<u64, Failure> {
    let mut rounds = 0;
    while let Some((theirs, length)) = side.hear()? {
        if !(1..=LONGEST).contains(&length) {
            return Err(format!("it offers a text of {length} bytes").into());
        }
        let text = side.text.slice(Bytes::ZERO, Bytes::new(length));
        done(side.connection.read(text, theirs))?;
        side.say(&side.text, length)?;
        let Some((theirs, room)) = side.hear()? else { return Err("it left half-way".into()) };
        let back = side.text.slice(Bytes::ZERO, Bytes::new(length.min(room)));
        done(side.connection.write(back, theirs))?;
        side.say(&side.text, length)?;
        rounds += 1;
    }
    Ok(rounds)
}
