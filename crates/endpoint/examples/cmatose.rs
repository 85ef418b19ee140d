//! `ucmatose`: messages over connections that rdma_cm makes, word for word the protocol of librdmacm's tool,
//! so that either side can be the stock one.
//!
//! The server sends all its messages first, the client then replies with as many, and the server
//! disconnects. A side posts all its receives before it connects: nothing may come unexpected.

mod shared;

use shared::{Arguments, Failure, PATIENCE};
use std::net::IpAddr;
use std::process::ExitCode;
use xoff_endpoint::{Access, Bytes, Completion, Connection, Endpoint, Pending, Region, Terms};

const USAGE: &str = "\
cmatose serve [-a OWN-ADDRESS] [-p PORT] [-C MESSAGES] [-S BYTES]
cmatose SERVER [-a OWN-ADDRESS] [-p PORT] [-C MESSAGES] [-S BYTES]

Serves one client. The stock tool at the other side: ucmatose -b ADDRESS, ucmatose -s ADDRESS, both with the
same -C and -S.";

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

/// One side of a connection, with its receives posted.
struct Side {
    connection: Connection,
    memory: Region,
    size: Bytes,
    receives: Vec<Pending<Completion>>,
}

impl Side {
    fn new(arguments: &Arguments, endpoint: &Endpoint) -> Result<Self, Failure> {
        let (count, size): (u64, u64) = (arguments.get("-C", 10)?, arguments.get("-S", 100)?);
        if !(1..=10_000).contains(&count) || !(1..=1 << 20).contains(&size) {
            return Err("-C is 1 to 10000, -S 1 to 1048576".into());
        }
        let connection = endpoint.connection().wait()?;
        // The stock tool sends and receives in one buffer, too.
        let memory = endpoint.register(vec![0; size as usize], Access::LOCAL_WRITE).wait()?;
        let receives = (0..count).map(|_| connection.receive(memory.all())).collect();
        Ok(Self { connection, memory, size: Bytes::new(size), receives })
    }

    fn hear(&mut self) -> Result<(), Failure> {
        for mut receive in self.receives.drain(..) {
            let came = receive.wait_for(PATIENCE)?;
            let length = came.arrival().ok_or_else(|| came.status.to_string())?.length;
            if length != self.size {
                return Err(format!("a message of {length}, not {}", self.size).into());
            }
        }
        Ok(())
    }

    fn say(&self, count: usize) -> Result<(), Failure> {
        let sent: Vec<_> = (0..count).map(|_| self.connection.send(self.memory.all())).collect();
        for work in sent {
            let done = work.wait()?;
            if !done.is_ok() {
                return Err(done.status.to_string().into());
            }
        }
        Ok(())
    }
}

fn call(arguments: &Arguments, server: IpAddr) -> Result<(), Failure> {
    let endpoint = shared::open(arguments.find("-a")?, Some(server))?;
    let mut side = Side::new(arguments, &endpoint)?;
    let count = side.receives.len();
    let port = arguments.get("-p", 7471)?;
    side.connection.request(server, port, Terms::default()).within(PATIENCE).wait()?;
    side.hear()?;
    side.say(count)?;
    // The server disconnects.
    side.connection.ended().within(PATIENCE).wait()?;
    shared::print(format!("{count} messages of {} received and sent", side.size))
}

fn serve(arguments: &Arguments) -> Result<(), Failure> {
    let endpoint = shared::open(arguments.find("-a")?, None)?;
    let listener = endpoint.listen(arguments.get("-p", 7471)?).wait()?;
    shared::print(format!("listening at {} port {}", endpoint.address().ip(), listener.port()))?;
    let request = listener.next().wait()?;
    let mut side = Side::new(arguments, &endpoint)?;
    let count = side.receives.len();
    request.accept_on(&side.connection, Terms::default()).within(PATIENCE).wait()?;
    side.say(count)?;
    side.hear()?;
    side.connection.disconnect(b"").within(PATIENCE).wait()?;
    shared::print(format!("{count} messages of {} sent and received", side.size))
}
