//! Copies a file to another machine with RDMA writes, compares SHA-256 at the end and says how fast it
//! went.
//!
//! The pattern is the one of most RDMA programs that move bulk data:
//!
//! 1. The sender requests a connection; how long the file is goes along as private data. The receiver
//!    accepts, and says in *its* private data where its buffers are: a ring of a few, so that a file of
//!    any size fits.
//! 2. The sender fills the ring with *writes with immediate data*: the bytes go straight to their
//!    place, and the last packet tells the receiver's program that they are there.
//! 3. For every buffer that the receiver has saved it sends an empty message back, a *credit*: the
//!    buffer may be used again. So the sender is never more than the ring ahead.
//! 4. At the end the sender sends the digest of what it read; the receiver compares it with the digest
//!    of what it saved, and disconnects with its verdict as private data.

mod shared;

use sha2::{Digest, Sha256};
use shared::{Arguments, Failure, PATIENCE, Reader, Writer};
use std::collections::VecDeque;
use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::net::IpAddr;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};
use xoff_endpoint::{
    Access, Bytes, Completion, Connection, End, Immediate, Listener, Pending, Region, RemoteSlice,
    Rkey, Terms, Work,
};

const USAGE: &str = "\
file_copy receive FILE [-a OWN-ADDRESS] [-p PORT]
file_copy send FILE RECEIVER [-a OWN-ADDRESS] [-p PORT] [-m MTU]

The receiver takes one file, which must not exist yet, and ends. In two terminals:
  cargo run --release -p xoff-endpoint --example file_copy -- receive copy
  cargo run --release -p xoff-endpoint --example file_copy -- send FILE 127.0.0.1 -m 4096
Frames carry packets of 1024 bytes everywhere, of 4096 over loopback and with jumbo frames.";

/// Bytes of a buffer, and buffers of a ring.
const CHUNK: usize = 1 << 20;
const RING: usize = 8;
/// Bytes of a digest.
const DIGEST: usize = 32;
/// How requests and acceptances begin, so that nobody takes another service for this one.
const MAGIC: &[u8] = b"xoff-fc1";
/// What the receiver says at the end if all is well.
const SAVED: &[u8] = b"saved";

fn main() -> ExitCode {
    shared::run(USAGE, &["-a", "-p", "-m"], |arguments| {
        let words: Vec<&str> = arguments.rest.iter().map(String::as_str).collect();
        match &words[..] {
            ["receive", file] => receive(arguments, Path::new(file)),
            ["send", file, receiver] => {
                let to = receiver.parse().map_err(|_| format!("{receiver} is no IP address"))?;
                send(arguments, Path::new(file), to)
            }
            _ => Err("say `receive FILE` or `send FILE RECEIVER`; --help says more".into()),
        }
    })
}

/// Waits for work or a message; anything but success is an error.
fn done(work: Pending<Completion>) -> Result<Completion, Failure> {
    let completion = work.within(PATIENCE).wait()?;
    if completion.is_ok() { Ok(completion) } else { Err(completion.status.to_string().into()) }
}

fn report(what: &str, length: u64, time: Duration, digest: &[u8]) -> Result<(), Failure> {
    let seconds = time.as_secs_f64().max(1e-9);
    let digest: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    let rate = length as f64 * 8e-9 / seconds;
    shared::print(format!("{what} {length} bytes in {seconds:.3} s, {rate:.3} Gbit/s"))?;
    shared::print(format!("sha256 {digest}"))
}

fn send(arguments: &Arguments, path: &Path, to: IpAddr) -> Result<(), Failure> {
    let named = |error| format!("{}: {error}", path.display());
    let mut file = File::open(path).map_err(named)?;
    let meta = file.metadata().map_err(named)?;
    if !meta.is_file() {
        return Err(format!("{} is not a file", path.display()).into());
    }
    let length = meta.len();
    let endpoint = shared::open(arguments.find("-a")?, Some(to))?;
    let private_data = Writer::default().bytes(MAGIC).u64(length).0;
    let terms = Terms { private_data, mtu: arguments.get("-m", 1024)?, ..Terms::default() };
    let connection = endpoint.connect_with(to, arguments.get("-p", 7473)?, terms).wait()?;
    let (mut ended, start) = (connection.ended(), Instant::now());
    let sent = fill(&connection, &mut file, length);
    // If it failed because the receiver left, the receiver has said why.
    let patience = if sent.is_ok() { PATIENCE } else { Duration::from_millis(100) };
    match (ended.wait_for(patience), sent) {
        (Ok(End::Peer { private_data }), Ok(digest)) if private_data.starts_with(SAVED) => {
            report("sent", length, start.elapsed(), &digest)
        }
        (Ok(End::Peer { private_data }), _) => {
            let text = String::from_utf8_lossy(&private_data);
            Err(format!("the receiver did not save it: {}", text.trim_end_matches('\0')).into())
        }
        (_, Err(error)) => Err(format!("{}: {error}", path.display()).into()),
        (end, Ok(_)) => Err(format!("no word of the receiver at the end: {end:?}").into()),
    }
}

/// Writes the file into the receiver's ring. The digest of what was read.
fn fill(connection: &Connection, file: &mut File, length: u64) -> Result<Vec<u8>, Failure> {
    let endpoint = connection.endpoint();
    let agreed = connection.negotiated().ok_or("not connected")?;
    let mut card = Reader(&agreed.private_data);
    if card.bytes(MAGIC.len())? != MAGIC {
        return Err("what answers there does not receive files".into());
    }
    let ring = RemoteSlice { address: card.u64()?, key: Rkey(card.u32()?) };
    let local = endpoint.register(vec![0; RING * CHUNK], Access::LOCAL_READ).wait()?;
    // A receive for every credit that can be on its way: they carry nothing.
    let credit = || connection.receive(local.slice(Bytes::ZERO, Bytes::ZERO));
    let mut credits: VecDeque<_> = (0..RING).map(|_| credit()).collect();
    let (mut digest, mut writes) = (Sha256::new(), VecDeque::new());
    for index in 0..length.div_ceil(CHUNK as u64) {
        if index >= RING as u64 {
            // Our own buffer is free when the write has ended, the receiver's when it says so.
            writes.pop_front().map_or(Ok(()), |write| done(write).map(drop))?;
            done(credits.pop_front().ok_or("no credit to wait for")?)?;
            credits.push_back(credit());
        }
        let size = (length - index * CHUNK as u64).min(CHUNK as u64);
        let mut bytes = vec![0; size as usize];
        file.read_exact(&mut bytes)?;
        digest.update(&bytes);
        let at = Bytes::new(index % RING as u64 * CHUNK as u64);
        local.fill(at, bytes).wait()?;
        let remote = RemoteSlice { address: ring.address.wrapping_add(at.get()), ..ring };
        let tag = Immediate((size as u32).to_be_bytes());
        let work = Work::write_immediate(local.slice(at, Bytes::new(size)), remote, tag);
        writes.push_back(connection.post(work));
    }
    writes.into_iter().try_for_each(|write| done(write).map(drop))?;
    let digest = digest.finalize().to_vec();
    let last = endpoint.register(digest.clone(), Access::LOCAL_READ).wait()?;
    done(connection.send(last.all()))?;
    Ok(digest)
}

fn receive(arguments: &Arguments, path: &Path) -> Result<(), Failure> {
    let endpoint = shared::open(arguments.find("-a")?, None)?;
    let named = |error| format!("{}: {error}", path.display());
    let mut file = OpenOptions::new().write(true).create_new(true).open(path).map_err(named)?;
    let listener = endpoint.listen(arguments.get("-p", 7473)?).wait()?;
    shared::print(format!("listening at {} port {}", endpoint.address().ip(), listener.port()))?;
    let saved = take(&listener, &mut file, path);
    if saved.is_err() {
        // Half a file must not look like a whole one.
        let _ = fs::remove_file(path);
    }
    saved
}

/// Takes the file of the first sender.
fn take(listener: &Listener, file: &mut File, path: &Path) -> Result<(), Failure> {
    let (request, length) = loop {
        let request = listener.next().wait()?;
        let mut data = Reader(request.private_data());
        if data.bytes(MAGIC.len())? == MAGIC {
            let length = data.u64()?;
            break (request, length);
        }
        shared::print(format!("{}: not a sender of files", request.peer()))?;
    };
    let endpoint = listener.endpoint().clone();
    let rights = Access::LOCAL_WRITE | Access::REMOTE_WRITE;
    let ring = endpoint.register(vec![0; RING * CHUNK], rights).wait()?;
    let room = endpoint.register(vec![0; DIGEST], Access::LOCAL_WRITE).wait()?;
    // Receives are posted before the sender can write: one for each buffer, one for the digest.
    let connection = endpoint.connection().wait()?;
    let next = || connection.receive(room.all());
    let mut messages: VecDeque<_> = (0..=RING).map(|_| next()).collect();
    let RemoteSlice { address, key } = ring.remote(Bytes::ZERO);
    let card = Writer::default().bytes(MAGIC).u64(address).u32(key.0).0;
    request.accept_on(&connection, Terms::with_data(&card)).wait()?;
    let start = Instant::now();
    let result = save(&connection, &ring, &room, length, file, &mut messages);
    // The verdict goes to the sender; whether it hears it is its own affair.
    let text = result.as_ref().map_or_else(ToString::to_string, |_| String::new());
    let verdict = if result.is_ok() { SAVED } else { &text.as_bytes()[..text.len().min(200)] };
    let patience = if result.is_ok() { PATIENCE } else { Duration::from_secs(1) };
    let parted = connection.disconnect(verdict).within(patience).wait();
    let digest = result.map_err(|error| format!("{}: {error}", path.display()))?;
    report("received", length, start.elapsed(), &digest)?;
    Ok(parted?)
}

/// Saves buffer after buffer, and gives each back. The digest of what was saved.
fn save(
    connection: &Connection,
    ring: &Region,
    room: &Region,
    length: u64,
    file: &mut File,
    messages: &mut VecDeque<Pending<Completion>>,
) -> Result<Vec<u8>, Failure> {
    let mut digest = Sha256::new();
    for index in 0..length.div_ceil(CHUNK as u64) {
        let completion = done(messages.pop_front().ok_or("no message to wait for")?)?;
        let size = (length - index * CHUNK as u64).min(CHUNK as u64);
        let said = completion.arrival().and_then(|arrival| arrival.immediate);
        if said != Some(Immediate((size as u32).to_be_bytes())) {
            return Err(format!("buffer {index} is not what was to come").into());
        }
        let at = Bytes::new(index % RING as u64 * CHUNK as u64);
        let bytes = ring.copy(at, Bytes::new(size)).wait()?;
        digest.update(&bytes);
        file.write_all(&bytes)?;
        // First a receive for the write that follows, then the credit that allows it.
        messages.push_back(connection.receive(room.all()));
        done(connection.send(room.slice(Bytes::ZERO, Bytes::ZERO)))?;
    }
    done(messages.pop_front().ok_or("no message to wait for")?)?;
    file.sync_all()?;
    let digest = digest.finalize().to_vec();
    if room.bytes().wait()? != digest {
        return Err("the digest is another than the sender's".into());
    }
    Ok(digest)
}
