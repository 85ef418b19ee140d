//! What a storage target offers: the discovery log of NVMe over RDMA, fetched by the endpoint as a kernel's
//! initiator fetches it. A protocol of strangers: the target is Linux's `nvmet`, or anybody's.
//!
//! Read it for what an application protocol does with a connection:
//!
//! 1. **Private data**: the request to connect says how deep the queues are, the acceptance answers.
//! 2. **Commands** of 64 bytes are sent, and answered by completions of 16 bytes.
//! 3. **Data** moves by the target's hand: a command says where our memory is, and the target reads
//!    from it (who we are) or writes to it (the log). Each buffer has that one right.
//!
//! Layouts are those of the NVMe over Fabrics and the NVMe RDMA transport specifications; numbers are
//! little-endian.

mod shared;

use shared::{Arguments, Failure, PATIENCE};
use std::net::IpAddr;
use std::process::ExitCode;
use xoff_endpoint::{
    Access, Bytes, Completion, Connection, Endpoint, Pending, Region, RemoteSlice, Rkey, Terms,
};

const USAGE: &str = "\
nvme_discover TARGET [-a OWN-ADDRESS] [-p PORT]

Prints what the discovery controller of an NVMe/RDMA target lists:
  cargo run -p xoff-endpoint --example nvme_discover -- 10.0.0.2";

/// Commands in flight at most, in both directions.
const DEPTH: u16 = 32;
const COMMAND: u64 = 64;
const COMPLETION: u64 = 16;
/// What says who we are, and one entry of the log.
const BLOCK: u64 = 1024;
/// The log is asked for up to this many entries.
const MOST_ENTRIES: u64 = 15;

const DISCOVERY: &str = "nqn.2014-08.org.nvmexpress.discovery";
const HOST: &str = "nqn.2014-08.org.nvmexpress:uuid:7c1d7b40-2f0e-4b1c-9a50-8a0f3e1f6d11";

// Opcodes, and the types of fabrics commands.
const GET_LOG_PAGE: u8 = 0x02;
const FABRICS: u8 = 0x7f;
const PROPERTY_SET: u8 = 0x00;
const CONNECT: u8 = 0x01;
const PROPERTY_GET: u8 = 0x04;
/// The log page of discovery.
const DISCOVERY_LOG: u8 = 0x70;
// Properties of a controller: what it can, what it shall do, how it is.
const CAPABILITIES: u32 = 0x00;
const CONFIGURATION: u32 = 0x14;
const STATUS: u32 = 0x1c;
/// Enabled, with entries of 64 and 16 bytes.
const ENABLED: u64 = 0x0046_0001;
const READY: u64 = 1;
/// How often it is asked whether it is ready.
const LOOKS: usize = 100;

fn main() -> ExitCode {
    shared::run(USAGE, &["-a", "-p"], |arguments| match &arguments.rest[..] {
        [target] => {
            let target = target.parse().map_err(|_| format!("{target} is no IP address"))?;
            discover(arguments, target)
        }
        _ => Err("say the address of a target; --help says more".into()),
    })
}

/// A command: bytes at their places.
struct Command([u8; COMMAND as usize]);

impl Command {
    /// With data at `data`, or without.
    fn new(opcode: u8, data: Option<(RemoteSlice, u64)>) -> Self {
        let mut command = Self([0; COMMAND as usize]);
        // Data is described by a keyed entry of 16 bytes.
        (command.0[0], command.0[1], command.0[39]) = (opcode, 0x40, 0x40);
        if let Some((RemoteSlice { address, key: Rkey(key) }, length)) = data {
            command.put(24, &address.to_le_bytes());
            command.put(32, &length.to_le_bytes()[..3]);
            command.put(35, &key.to_le_bytes());
        }
        command
    }

    fn fabrics(kind: u8, data: Option<(RemoteSlice, u64)>) -> Self {
        let mut command = Self::new(FABRICS, data);
        command.0[4] = kind;
        command
    }

    fn put(&mut self, at: usize, bytes: &[u8]) -> &mut Self {
        self.0[at..at + bytes.len()].copy_from_slice(bytes);
        self
    }
}

/// An admin queue.
struct Queue {
    connection: Connection,
    commands: Region,
    completions: Region,
    next: Pending<Completion>,
    count: u16,
}

impl Queue {
    fn open(endpoint: &Endpoint, target: IpAddr, port: u16) -> Result<Self, Failure> {
        // Format, queue, and how deep it is for completions and for commands, less one.
        let mut request = [0; 32];
        request[4..6].copy_from_slice(&DEPTH.to_le_bytes());
        request[6..8].copy_from_slice(&(DEPTH - 1).to_le_bytes());
        let commands = endpoint.register(vec![0; COMMAND as usize], Access::LOCAL_WRITE).wait()?;
        let room = vec![0; COMPLETION as usize];
        let completions = endpoint.register(room, Access::LOCAL_WRITE).wait()?;
        let terms = Terms::with_data(&request);
        let connection = endpoint.connect_with(target, port, terms).within(PATIENCE).wait()?;
        let next = connection.receive(completions.all());
        Ok(Self { connection, commands, completions, next, count: 0 })
    }

    /// Sends a command and waits for its completion. What it says besides success.
    fn run(&mut self, what: &str, mut command: Command) -> Result<u64, Failure> {
        self.count += 1;
        command.put(2, &self.count.to_le_bytes());
        self.commands.fill(Bytes::ZERO, command.0.to_vec()).wait()?;
        let sent = self.connection.send(self.commands.all()).wait()?;
        if !sent.is_ok() {
            return Err(format!("{what}: {}", sent.status).into());
        }
        let came = self.next.wait_for(PATIENCE)?;
        if !came.is_ok() {
            return Err(format!("{what}: no completion: {}", came.status).into());
        }
        let bytes = self.completions.bytes().wait()?;
        self.next = self.connection.receive(self.completions.all());
        let number = u16_at(&bytes, 12)?;
        // The lowest bit is of no meaning here.
        let status = u16_at(&bytes, 14)? >> 1;
        if number != self.count {
            return Err(format!("{what}: the completion is of command {number}").into());
        }
        if status != 0 {
            return Err(format!("{what}: the target refuses, status {status:#x}").into());
        }
        u64_at(&bytes, 0)
    }

    fn get(&mut self, what: &str, property: u32, wide: bool) -> Result<u64, Failure> {
        let mut command = Command::fabrics(PROPERTY_GET, None);
        command.put(40, &[wide.into()]).put(44, &property.to_le_bytes());
        self.run(what, command)
    }
}

fn discover(arguments: &Arguments, target: IpAddr) -> Result<(), Failure> {
    let endpoint = shared::open(arguments.find("-a")?, Some(target))?;
    let mut queue = Queue::open(&endpoint, target, arguments.get("-p", 4420)?)?;
    let agreed = queue.connection.negotiated().ok_or("nothing was agreed on")?;
    let depth = agreed.private_data.get(2..4).ok_or("the target says no depth of its queue")?;
    shared::print(format!("queue depth {}", u16::from_le_bytes([depth[0], depth[1]])))?;
    // The memory with who we are is given back when `_who` goes.
    let (command, _who) = connect(&endpoint)?;
    let controller = queue.run("connect", command)? & 0xffff;
    let capabilities = queue.get("capabilities", CAPABILITIES, true)?;
    let mut enable = Command::fabrics(PROPERTY_SET, None);
    enable.put(44, &CONFIGURATION.to_le_bytes()).put(48, &ENABLED.to_le_bytes());
    queue.run("enable", enable)?;
    let mut looks = 0;
    while queue.get("status", STATUS, false)? & READY == 0 {
        looks += 1;
        if looks == LOOKS {
            return Err("the controller does not become ready".into());
        }
        std::thread::sleep(PATIENCE / 1000);
    }
    shared::print(format!("controller {controller}, capabilities {capabilities:#x}, ready"))?;
    let log = read_log(&endpoint, &mut queue)?;
    let count = u64_at(&log, 8)?;
    shared::print(format!("generation {}, {count} entries", u64_at(&log, 0)?))?;
    for entry in log.chunks_exact(BLOCK as usize).skip(1).take(count.min(MOST_ENTRIES) as usize) {
        shared::print(describe(entry)?)?;
    }
    queue.connection.disconnect(b"").within(PATIENCE).wait()?;
    Ok(())
}

/// The command that says who we are: the target reads that from our memory.
fn connect(endpoint: &Endpoint) -> Result<(Command, Region), Failure> {
    let mut who = vec![0; BLOCK as usize];
    who[..16].copy_from_slice(b"\x7c\x1d\x7b\x40\x2f\x0e\x4b\x1c\x9a\x50\x8a\x0f\x3e\x1f\x6d\x11");
    // Any controller.
    who[16..18].fill(0xff);
    who[256..256 + DISCOVERY.len()].copy_from_slice(DISCOVERY.as_bytes());
    who[512..512 + HOST.len()].copy_from_slice(HOST.as_bytes());
    let readable = Access::LOCAL_WRITE | Access::REMOTE_READ;
    let region = endpoint.register(who, readable).wait()?;
    let mut command = Command::fabrics(CONNECT, Some((region.remote(Bytes::ZERO), BLOCK)));
    command.put(44, &(DEPTH - 1).to_le_bytes());
    Ok((command, region))
}

/// The log: the target writes it to our memory.
fn read_log(endpoint: &Endpoint, queue: &mut Queue) -> Result<Vec<u8>, Failure> {
    let size = BLOCK * (1 + MOST_ENTRIES);
    let writable = Access::LOCAL_WRITE | Access::REMOTE_WRITE;
    let region = endpoint.register(vec![0; size as usize], writable).wait()?;
    let mut command = Command::new(GET_LOG_PAGE, Some((region.remote(Bytes::ZERO), size)));
    command.put(40, &[DISCOVERY_LOG]).put(42, &((size / 4 - 1) as u16).to_le_bytes());
    queue.run("log", command)?;
    Ok(region.bytes().wait()?)
}

/// One entry in words.
fn describe(entry: &[u8]) -> Result<String, Failure> {
    let transport = match entry[0] {
        1 => "rdma",
        2 => "fc",
        3 => "tcp",
        254 => "loop",
        _ => "another transport",
    };
    let kind = match entry[2] {
        1 => "discovery",
        2 => "subsystem",
        3 => "this discovery",
        _ => "another kind",
    };
    let (service, name, address) =
        (text(&entry[32..64]), text(&entry[256..512]), text(&entry[512..768]));
    Ok(format!("{kind}: {name} at {address} port {service}, {transport}"))
}

/// Text of a fixed length, whatever the peer put there.
fn text(bytes: &[u8]) -> String {
    let bytes = bytes.split(|&byte| byte == 0).next().unwrap_or_default();
    String::from_utf8_lossy(bytes).trim().escape_default().to_string()
}

fn u16_at(bytes: &[u8], at: usize) -> Result<u16, Failure> {
    Ok(u16::from_le_bytes(bytes.get(at..at + 2).ok_or("too short")?.try_into()?))
}

fn u64_at(bytes: &[u8], at: usize) -> Result<u64, Failure> {
    Ok(u64::from_le_bytes(bytes.get(at..at + 8).ok_or("too short")?.try_into()?))
}
