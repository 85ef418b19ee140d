//! A key-value store whose reads cost the server's program nothing: clients look into its memory with
//! one-sided RDMA reads.
//!
//! The server keeps a table of slots in memory that peers may read. A client that connects learns where
//! it is, by *private data*: a few bytes that go along with the acceptance of a connection. From then
//! on:
//!
//! - **get** hashes the key, reads the slots where it can be with *one* RDMA read and looks for it
//!   there. The server's program does not hear of it.
//! - **put** is a message, because only the server changes the table: one writer, no locks.
//!
//! A slot may be read while it changes. So each carries a checksum of its own contents, and a client
//! that sees a wrong one reads again. That is the price of one-sided reads, and it is always the reader
//! who pays.

mod shared;

use shared::{Arguments, Failure, PATIENCE, Reader, Writer};
use std::net::IpAddr;
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};
use xoff_endpoint::{
    Access, Bytes, Completion, Connection, End, Endpoint, Error, Pending, Region, RemoteSlice,
    Rkey, Status,
};

const USAGE: &str = "\
key_value serve [-a OWN-ADDRESS] [-p PORT] [KEY=VALUE]...
key_value put SERVER KEY VALUE [-a OWN-ADDRESS] [-p PORT]
key_value get SERVER KEY [-n TIMES] [-a OWN-ADDRESS] [-p PORT]

The server stays until it is interrupted. In two terminals:
  cargo run -p xoff-endpoint --example key_value -- serve capital=Rome
  cargo run -p xoff-endpoint --example key_value -- get 127.0.0.1 capital";

/// Bytes of a slot: a checksum, two lengths, key and value.
const SLOT: usize = 256;
/// What is left for key and value.
const ROOM: usize = SLOT - 8 - 2;
/// Slots that a key can be in: that of its hash and the next ones. One read has them all.
const REACH: u64 = 4;
/// Slots of a server.
const SLOTS: u64 = 4096;
/// How the acceptance begins, so that nobody takes another service for this one.
const MAGIC: &[u8] = b"xoff-kv1";

/// The answer to a put that is done; otherwise it is why not.
const DONE: &str = "done";

fn main() -> ExitCode {
    shared::run(USAGE, &["-a", "-p", "-n"], |arguments| {
        let words: Vec<&str> = arguments.rest.iter().map(String::as_str).collect();
        match &words[..] {
            ["serve", pairs @ ..] => serve(arguments, pairs),
            ["put", server, key, value] => Client::connect(arguments, server)?.put(key, value),
            ["get", server, key] => {
                let times = arguments.get("-n", 1u32)?.max(1);
                Client::connect(arguments, server)?.show(key, times)
            }
            _ => Err("say `serve`, `put` or `get`; --help says more".into()),
        }
    })
}

/// FNV-1a: short, and good enough for slots and checksums.
fn hash(bytes: &[u8]) -> u64 {
    let mix = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, mix)
}

/// The bytes of a slot.
fn slot(key: &[u8], value: &[u8]) -> Result<Vec<u8>, Failure> {
    if key.is_empty() || key.len() + value.len() > ROOM || key.len().max(value.len()) > 255 {
        return Err(
            format!("a key has 1 byte at least, key and value together {ROOM} at most").into()
        );
    }
    let mut body = vec![key.len() as u8, value.len() as u8];
    body.extend([key, value].concat());
    body.resize(SLOT - 8, 0);
    Ok(Writer::default().u64(hash(&body)).bytes(&body).0)
}

/// Key and value.
type Entry<'a> = (&'a [u8], &'a [u8]);

/// Key and value of a slot: `None` if it is empty, an error if it was read while it changed.
fn parse(slot: &[u8]) -> Result<Option<Entry<'_>>, Failure> {
    let mut reader = Reader(slot);
    let sum = reader.u64()?;
    let body = reader.0;
    let lengths = reader.bytes(2)?;
    if lengths[0] == 0 && sum == 0 {
        return Ok(None);
    }
    if sum != hash(body) {
        return Err("a slot has the wrong checksum".into());
    }
    Ok(Some((reader.bytes(lengths[0].into())?, reader.bytes(lengths[1].into())?)))
}

/// Waits for work; anything but success is an error.
fn done(work: Pending<Completion>) -> Result<Completion, Failure> {
    let completion = work.wait()?;
    if completion.is_ok() { Ok(completion) } else { Err(completion.status.to_string().into()) }
}

/// The server's table.
struct Store {
    table: Region,
    /// One change at a time.
    changes: Mutex<()>,
}

impl Store {
    fn put(&self, key: &[u8], value: &[u8]) -> Result<(), Failure> {
        let _change = self.changes.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes = slot(key, value)?;
        let first = hash(key) % SLOTS;
        for index in first..first + REACH {
            let at = Bytes::new(index * SLOT as u64);
            let there = self.table.copy(at, Bytes::new(SLOT as u64)).wait()?;
            if parse(&there)?.is_none_or(|(other, _)| other == key) {
                return Ok(self.table.fill(at, bytes).wait()?);
            }
        }
        Err("there is no room near this key".into())
    }
}

fn serve(arguments: &Arguments, pairs: &[&str]) -> Result<(), Failure> {
    let endpoint = shared::open(arguments.find("-a")?, None)?;
    let bytes = vec![0; (SLOTS + REACH) as usize * SLOT];
    // Peers may read it, and nothing else.
    let table = endpoint.register(bytes, Access::LOCAL_WRITE | Access::REMOTE_READ).wait()?;
    let store = Arc::new(Store { table, changes: Mutex::new(()) });
    for pair in pairs {
        let (key, value) = pair.split_once('=').ok_or(format!("{pair}: not KEY=VALUE"))?;
        store.put(key.as_bytes(), value.as_bytes())?;
    }
    let RemoteSlice { address, key } = store.table.remote(Bytes::ZERO);
    let card = Writer::default().bytes(MAGIC).u64(address).u32(key.0).u64(SLOTS).0;
    let listener = endpoint.listen(arguments.get("-p", 7472)?).wait()?;
    shared::print(format!("listening at {} port {}", endpoint.address().ip(), listener.port()))?;
    loop {
        let request = listener.next().wait()?;
        let (peer, accepted) = (request.peer(), request.accept(&card));
        let (endpoint, store) = (endpoint.clone(), store.clone());
        thread::spawn(move || {
            if let Err(error) = attend(&endpoint, accepted, &store) {
                eprintln!("{peer}: {error}");
            }
        });
    }
}

/// Serves one client until it disconnects, which is the usual end, or dies.
fn attend(
    endpoint: &Endpoint,
    accepted: Pending<Connection>,
    store: &Store,
) -> Result<(), Failure> {
    let client = accepted.wait()?;
    let result = take_puts(endpoint, &client, store);
    match client.ended().wait_for(Duration::from_millis(100)) {
        Ok(End::Peer { .. }) => Ok(()),
        _ => result,
    }
}

/// Carries out what one client sends, until the connection ends.
fn take_puts(endpoint: &Endpoint, client: &Connection, store: &Store) -> Result<(), Failure> {
    let room = endpoint.register(vec![0; SLOT], Access::LOCAL_WRITE).wait()?;
    loop {
        let mut message = client.receive(room.all());
        let completion = loop {
            match message.wait_for(PATIENCE) {
                // Clients that only read say nothing; but they answer.
                Err(Error::TimedOut { .. }) => done(client.probe())?,
                other => break other?,
            };
        };
        if completion.status == Status::Flushed {
            return Ok(());
        }
        let bytes = room.bytes().wait()?;
        let result = match parse(&bytes)? {
            Some((key, value)) => store.put(key, value),
            None => Err("there is nothing to put".into()),
        };
        let text = result.err().map_or(DONE.to_owned(), |error| error.to_string());
        let answer = endpoint.register(text.into_bytes(), Access::LOCAL_READ).wait()?;
        done(client.send(answer.all()))?;
    }
}

/// A client, and what it knows of the server's table.
struct Client {
    endpoint: Endpoint,
    connection: Connection,
    table: RemoteSlice,
    slots: u64,
    /// Where slots are read to.
    room: Region,
}

impl Client {
    fn connect(arguments: &Arguments, server: &str) -> Result<Self, Failure> {
        let server: IpAddr = server.parse().map_err(|_| format!("{server} is no IP address"))?;
        let endpoint = shared::open(arguments.find("-a")?, Some(server))?;
        let connection = endpoint.connect(server, arguments.get("-p", 7472)?, b"").wait()?;
        let agreed = connection.negotiated().ok_or("not connected")?;
        let mut card = Reader(&agreed.private_data);
        if card.bytes(MAGIC.len())? != MAGIC {
            return Err("what answers there is no key-value store".into());
        }
        let table = RemoteSlice { address: card.u64()?, key: Rkey(card.u32()?) };
        let slots = card.u64()?.max(1);
        let room = vec![0; REACH as usize * SLOT];
        let room = endpoint.register(room, Access::LOCAL_WRITE).wait()?;
        Ok(Self { endpoint, connection, table, slots, room })
    }

    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, Failure> {
        let first = hash(key) % self.slots;
        let address = self.table.address.wrapping_add(first * SLOT as u64);
        for _ in 0..10 {
            done(self.connection.read(self.room.all(), RemoteSlice { address, ..self.table }))?;
            let bytes = self.room.bytes().wait()?;
            let slots: Result<Vec<_>, Failure> = bytes.chunks(SLOT).map(parse).collect();
            // Read while it changed: again.
            let Ok(slots) = slots else { continue };
            let found = slots.into_iter().flatten().find(|(other, _)| *other == key);
            return Ok(found.map(|(_, value)| value.to_vec()));
        }
        Err("the slot changes too often to be read".into())
    }

    fn show(&self, key: &str, times: u32) -> Result<(), Failure> {
        let start = Instant::now();
        for _ in 1..times {
            self.get(key.as_bytes())?;
        }
        let value = self.get(key.as_bytes())?.ok_or(format!("there is no key {key}"))?;
        shared::print(String::from_utf8_lossy(&value))?;
        if times > 1 {
            let each = start.elapsed().as_secs_f64() * 1e6 / f64::from(times);
            shared::print(format!("{times} reads, {each:.1} us each"))?;
        }
        Ok(())
    }

    fn put(&self, key: &str, value: &str) -> Result<(), Failure> {
        let bytes = slot(key.as_bytes(), value.as_bytes())?;
        let message = self.endpoint.register(bytes, Access::LOCAL_READ).wait()?;
        // The receive for the answer is posted before the question is sent.
        let answer = self.connection.receive(self.room.all()).within(PATIENCE);
        done(self.connection.send(message.all()))?;
        let arrived = done(answer)?.arrival().map_or(Bytes::ZERO, |arrival| arrival.length);
        let text = self.room.copy(Bytes::ZERO, arrived).wait()?;
        if text == DONE.as_bytes() { Ok(()) } else { Err(String::from_utf8_lossy(&text).into()) }
    }
}
