//! What the examples share and what has nothing to do with RDMA: arguments, errors, addresses.

#![allow(dead_code, reason = "every example uses a part of it")]

use std::io::Write;
use std::net::{IpAddr, Ipv4Addr, UdpSocket};
use std::process::ExitCode;
use std::str::FromStr;
use std::time::Duration;
use xoff_endpoint::{Device, DeviceSettings, Endpoint, OpenError};

/// Any error, with a text for people.
pub(crate) type Failure = Box<dyn std::error::Error + Send + Sync>;

/// How long a peer may take to say anything before it counts as gone.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

/// Options with a value, and everything else in order.
pub(crate) struct Arguments {
    options: Vec<(String, String)>,
    pub(crate) rest: Vec<String>,
}

impl Arguments {
    /// The value of an option, or what it is without.
    pub(crate) fn get<T: FromStr>(&self, name: &str, otherwise: T) -> Result<T, Failure> {
        match self.options.iter().rev().find(|(option, _)| option == name) {
            Some((_, value)) => {
                value.parse().map_err(|_| format!("{name} {value}: not valid").into())
            }
            None => Ok(otherwise),
        }
    }

    /// The value of an option, if it is given.
    pub(crate) fn find<T: FromStr>(&self, name: &str) -> Result<Option<T>, Failure> {
        let given = self.options.iter().any(|(option, _)| option == name);
        if !given {
            return Ok(None);
        }
        let text: String = self.get(name, String::new())?;
        text.parse().map(Some).map_err(|_| format!("{name} {text}: not valid").into())
    }
}

/// Reads the arguments, runs the program, and reports its error.
pub(crate) fn run(
    usage: &str,
    options: &[&str],
    program: impl FnOnce(&Arguments) -> Result<(), Failure>,
) -> ExitCode {
    let mut arguments = Arguments { options: Vec::new(), rest: Vec::new() };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        if word == "--help" || word == "-h" {
            return print(usage).map_or(ExitCode::FAILURE, |()| ExitCode::SUCCESS);
        }
        match words_of(&word, options, &mut words) {
            Ok(Some(option)) => arguments.options.push(option),
            Ok(None) => arguments.rest.push(word),
            Err(text) => {
                eprintln!("{text}\n\n{usage}");
                return ExitCode::from(2);
            }
        }
    }
    match program(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn words_of(
    word: &str,
    options: &[&str],
    words: &mut impl Iterator<Item = String>,
) -> Result<Option<(String, String)>, String> {
    if options.contains(&word) {
        let value = words.next().ok_or_else(|| format!("{word} needs a value"))?;
        return Ok(Some((word.to_owned(), value)));
    }
    if word.starts_with('-') && word.len() > 1 {
        return Err(format!("there is no option {word}"));
    }
    Ok(None)
}

/// Prints a line. A reader that has gone, as in `| head`, is an error, not a panic.
pub(crate) fn print(line: impl std::fmt::Display) -> Result<(), Failure> {
    Ok(writeln!(std::io::stdout(), "{line}")?)
}

/// Opens an endpoint at the address given, or at one from which `peer` can be reached.
pub(crate) fn open(address: Option<IpAddr>, peer: Option<IpAddr>) -> Result<Endpoint, Failure> {
    Ok(Endpoint::start(open_device(address, peer)?)?)
}

/// The device of such an endpoint alone.
pub(crate) fn open_device(
    address: Option<IpAddr>,
    peer: Option<IpAddr>,
) -> Result<Device, Failure> {
    let server = Ipv4Addr::LOCALHOST.into();
    let address = match (address, peer) {
        (Some(address), _) => address,
        (None, None) => server,
        // Two endpoints cannot share an address; but all of 127.0.0.0/8 is this machine.
        (None, Some(IpAddr::V4(peer))) if peer.is_loopback() => return open_local(peer),
        (None, Some(peer)) => towards(peer)?,
    };
    Ok(Device::open(DeviceSettings::new(address))?)
}

/// Takes the first loopback address that nobody has.
fn open_local(peer: Ipv4Addr) -> Result<Device, Failure> {
    let free = (2..=254).map(|last| Ipv4Addr::new(127, 0, 0, last)).filter(|own| *own != peer);
    for own in free {
        match Device::open(DeviceSettings::new(own)) {
            Err(OpenError::InUse(_)) => {}
            opened => return Ok(opened?),
        }
    }
    Err("every loopback address is in use: give one with -a".into())
}

/// The address of this machine from which packets to `peer` leave.
fn towards(peer: IpAddr) -> Result<IpAddr, Failure> {
    let any: IpAddr = if peer.is_ipv4() { [0; 4].into() } else { [0u16; 8].into() };
    let socket = UdpSocket::bind((any, 0))?;
    socket.connect((peer, 4791)).map_err(|error| format!("no way to {peer}: {error}"))?;
    Ok(socket.local_addr()?.ip())
}

/// Numbers and bytes one after another, as they go over the wire.
#[derive(Default)]
pub(crate) struct Writer(pub(crate) Vec<u8>);

impl Writer {
    pub(crate) fn u64(mut self, value: u64) -> Self {
        self.0.extend(value.to_be_bytes());
        self
    }

    pub(crate) fn u32(mut self, value: u32) -> Self {
        self.0.extend(value.to_be_bytes());
        self
    }

    pub(crate) fn bytes(mut self, bytes: &[u8]) -> Self {
        self.0.extend(bytes);
        self
    }
}

/// Takes apart what a [`Writer`] has put together. What a peer sends may be anything, so every step
/// can fail.
pub(crate) struct Reader<'a>(pub(crate) &'a [u8]);

impl<'a> Reader<'a> {
    pub(crate) fn bytes(&mut self, count: usize) -> Result<&'a [u8], Failure> {
        let (head, tail) =
            self.0.split_at_checked(count).ok_or("the peer's message is too short")?;
        self.0 = tail;
        Ok(head)
    }

    pub(crate) fn u64(&mut self) -> Result<u64, Failure> {
        Ok(u64::from_be_bytes(self.bytes(8)?.try_into()?))
    }

    pub(crate) fn u32(&mut self) -> Result<u32, Failure> {
        Ok(u32::from_be_bytes(self.bytes(4)?.try_into()?))
    }
}
