//! `ibv_rc_pingpong`, `ibv_uc_pingpong` and `ibv_ud_pingpong` of libibverbs: both sides say over TCP
//! where their queue pair is, and then send one message back and forth.
//!
//! All tools of the family use one buffer for what they send and what they receive, so the bytes
//! that the client began with go round. That is what is verified.

use super::error::PerfError;
use super::link::{Link, failed};
use super::lookup::PLAIN_KEY;
use super::meeting::random_psn;
use super::message::Garbled;
use super::outcome::{Latency, Rounds};
use super::place::{bound_to, call, canonical, link_mtu, open, scope_of};
use super::reception::{Greets, answer};
use super::settings::{Extent, Role, Settings};
use super::stage::Stage;
use crate::{Completions, DatagramWork, Memory, PairId, PairSettings, Remote, Slice, Work, WorkId};
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use xoff_transport::Access;
use xoff_transport::config::QpConfig;
use xoff_units::{Bytes, Instant, Span};
use xoff_wire::{Psn, Qpn, Service};

/// Bytes of what each side says: local identifier, queue pair, packet number and GID in
/// hexadecimal, with colons between them and a NUL behind.
pub(super) const LINE: usize = 4 + 1 + 6 + 1 + 6 + 1 + 32 + 1;
/// What the client says when it has heard the server.
const DONE: [u8; 5] = *b"done\0";
/// What the client's buffer is filled with.
const CLIENT_FILL: u8 = 0x7b;
/// The server's, which nobody sees unless a message goes wrong.
const SERVER_FILL: u8 = 0x7c;
/// Receives posted at a time.
const RECEIVES: u64 = 64;
/// The name of a send; receives are named by their number.
const SENT: WorkId = WorkId(u64::MAX);

/// Where a side's queue pair is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    qpn: Qpn,
    psn: Psn,
    gid: Ipv6Addr,
}

impl Place {
    fn line(&self) -> [u8; LINE] {
        let mut text = format!("0000:{:06x}:{:06x}:", self.qpn.get(), self.psn.get());
        for byte in self.gid.octets() {
            text.push_str(&format!("{byte:02x}"));
        }
        let mut out = [0; LINE];
        out[..text.len()].copy_from_slice(text.as_bytes());
        out
    }

    /// Reads a line.
    pub(super) fn parse(line: &[u8; LINE]) -> Result<Self, Garbled> {
        let text = line.strip_suffix(&[0]).ok_or(Garbled)?;
        let text = std::str::from_utf8(text).map_err(|_| Garbled)?;
        let words: Vec<&str> = text.split(':').collect();
        let [lid, qpn, psn, gid] = words[..] else { return Err(Garbled) };
        let number = |word: &str, width: usize| {
            let fits = word.len() == width && word.bytes().all(|byte| byte.is_ascii_hexdigit());
            if fits { u128::from_str_radix(word, 16).map_err(|_| Garbled) } else { Err(Garbled) }
        };
        number(lid, 4)?;
        Ok(Self {
            qpn: Qpn::new(number(qpn, 6)? as u32),
            psn: Psn::new(number(psn, 6)? as u32),
            gid: Ipv6Addr::from(number(gid, 32)?),
        })
    }

    fn ip(&self) -> IpAddr {
        self.gid.to_canonical()
    }
}

/// Runs the protocol of `ibv_rc_pingpong` or of its siblings to its end, by [`Settings::service`].
/// `met` is called when both sides know each other, with the peer's address.
pub fn pingpong(
    settings: &Settings,
    stop: &Arc<AtomicBool>,
    met: impl FnOnce(IpAddr),
) -> Result<Rounds, PerfError> {
    if settings.size == 0 || settings.size > 1 << 30 {
        return Err(PerfError::Settings("the message size must be 1 byte to 1 GiB"));
    }
    let Extent::Iterations(count @ 1..) = settings.extent else {
        return Err(PerfError::Settings("messages are counted: give -n, at least 1, not -D"));
    };
    let stream = match &settings.server {
        Some(server) => call(server, settings)?,
        None => answer(settings.port.0, Greets::Pingpong, stop)?.0,
    };
    let (local, peer) = (canonical(stream.local_addr()?), canonical(stream.peer_addr()?));
    let address = bound_to(settings, scope_of(local))?.unwrap_or(local);
    let stage = open(settings, address, local.ip() == peer.ip(), stop)?;
    let carried = link_mtu(stage.device.address(), peer);
    // Connections have the MTU of the stock tools, which nobody exchanges.
    let usual = if settings.service == Service::Datagram { carried } else { DEFAULT_MTU };
    let mtu = settings.mtu.unwrap_or(usual).min(carried);
    let mut side = Side::new(stage, settings, mtu)?;
    // The connection ends with the exchange, so its end says nothing of the peer.
    side.meet(&mut Link::tcp(stream)?)?;
    met(side.theirs.ip());
    let played = side.play(count);
    played.map_err(|error| side.stage.blame(std::iter::once(side.pair), error))?;
    side.linger()?;
    Ok(side.rounds(settings))
}

/// The MTU of the stock tools; both sides have to know it.
const DEFAULT_MTU: u16 = 1024;
/// How long a side that is done stays for the other's sake.
const LINGER: Span = Span::from_ms(300);

/// One side.
struct Side {
    stage: Stage,
    role: Role,
    service: Service,
    mtu: u16,
    size: u64,
    pair: PairId,
    sends: Completions,
    receives: Completions,
    /// What is sent, and where messages arrive.
    out: Memory,
    inbox: Memory,
    ours: Place,
    theirs: Place,
    to: SocketAddr,
    arrived: u64,
    times: Vec<Duration>,
    wrong: u64,
}

impl Side {
    fn new(mut stage: Stage, settings: &Settings, mtu: u16) -> Result<Self, PerfError> {
        let service = settings.service;
        let longest = if service == Service::Datagram { mtu.into() } else { u64::MAX };
        let (role, size) = (settings.role(), settings.size.min(longest));
        let device = &mut stage.device;
        let domain = device.create_domain();
        let sends = device.create_completions(16)?;
        let receives = device.create_completions(RECEIVES as usize)?;
        let fill = if role == Role::Client { CLIENT_FILL } else { SERVER_FILL };
        let room = |bytes: u64| vec![fill; bytes as usize];
        let out = device.register(domain, room(size), Access::LOCAL_WRITE, None)?;
        // Only one message is ever on its way to us, so all receives may share their room.
        let inbox = device.register(domain, room(size), Access::LOCAL_WRITE, None)?;
        let config = QpConfig { mtu: Bytes::new(mtu.into()), ..settings.transport() };
        let pair = device.create_pair(PairSettings {
            receive_completions: receives,
            qkey: PLAIN_KEY,
            config: Arc::new(config),
            ..PairSettings::new(service, domain, sends)
        })?;
        let gid = match device.address().ip() {
            IpAddr::V4(v4) => v4.to_ipv6_mapped(),
            IpAddr::V6(v6) => v6,
        };
        let ours = Place { qpn: pair.qpn(), psn: random_psn(), gid };
        let to = device.address();
        let mut side = Self {
            stage,
            role,
            service,
            mtu,
            size,
            pair,
            sends,
            receives,
            out,
            inbox,
            ours,
            theirs: ours,
            to,
            arrived: 0,
            times: Vec::new(),
            wrong: 0,
        };
        (0..RECEIVES).try_for_each(|_| side.post_receive())?;
        Ok(side)
    }

    fn post_receive(&mut self) -> Result<(), PerfError> {
        let slice = Slice::new(self.inbox, 0, self.size);
        Ok(self.stage.device.post_receive(self.pair, WorkId(0), slice)?)
    }

    /// Both say where they are. The server is connected before it answers, because the client
    /// begins.
    fn meet(&mut self, link: &mut Link) -> Result<(), PerfError> {
        let mut line = [0; LINE];
        if self.role == Role::Client {
            link.send(&mut self.stage, &self.ours.line())?;
            link.receive(&mut self.stage, &mut line)?;
            self.connect(Place::parse(&line)?)?;
            return link.send(&mut self.stage, &DONE);
        }
        link.receive(&mut self.stage, &mut line)?;
        self.connect(Place::parse(&line)?)?;
        link.send(&mut self.stage, &self.ours.line())?;
        match link.receive(&mut self.stage, &mut [0; DONE.len()]) {
            // Whether the client says that it is done differs between versions.
            Err(PerfError::Gone(_)) => Ok(()),
            result => result,
        }
    }

    fn connect(&mut self, theirs: Place) -> Result<(), PerfError> {
        let own = self.stage.device.address();
        let address = SocketAddr::new(theirs.ip(), own.port());
        if address.is_ipv4() != own.is_ipv4() {
            let (theirs, ours) = if own.is_ipv4() {
                ("an IPv6 address", "an IPv4 address")
            } else {
                ("an IPv4 address", "an IPv6 address")
            };
            return Err(PerfError::Mismatch { theirs, ours });
        }
        (self.theirs, self.to) = (theirs, address);
        if self.service == Service::Datagram {
            return Ok(());
        }
        let (qpn, send_psn, receive_psn) = (theirs.qpn, self.ours.psn, theirs.psn);
        let remote = Remote { address, qpn, send_psn, receive_psn, mtu: self.mtu };
        Ok(self.stage.device.connect(self.pair, remote)?)
    }

    fn send(&mut self) -> Result<(), PerfError> {
        let local = Slice::new(self.out, 0, self.size);
        let device = &mut self.stage.device;
        if self.service == Service::Datagram {
            let (to, qpn, qkey) = (self.to, self.theirs.qpn, PLAIN_KEY);
            let (immediate, signaled) = (None, true);
            let work = DatagramWork { id: SENT, local, to, qpn, qkey, immediate, signaled };
            return Ok(device.post_datagram(self.pair, work)?);
        }
        Ok(device.post(self.pair, Work::send(local).named(SENT))?)
    }

    /// Messages back and forth, the client's first.
    fn play(&mut self, count: u64) -> Result<(), PerfError> {
        let behind = u64::from(self.role == Role::Server);
        let (mut sent, mut done) = (0, 0);
        let mut start = self.stage.now();
        while self.arrived < count || done < count {
            if sent < count && done == sent && self.arrived == sent + behind {
                self.send()?;
                sent += 1;
            }
            let idle = self.stage.turn()?;
            let mut any = false;
            while let Some(completion) = self.stage.device.poll(self.sends) {
                if !completion.is_ok() {
                    return Err(failed(self.pair, done, completion.status));
                }
                (done, any) = (done + 1, true);
            }
            while let Some(completion) = self.stage.device.poll(self.receives) {
                let Some(arrival) = completion.arrival() else {
                    return Err(failed(self.pair, self.arrived, completion.status));
                };
                let whole = arrival.length == Bytes::new(self.size);
                self.received(whole)?;
                self.note(&mut start);
                any = true;
            }
            if idle && !any {
                self.stage.rest(None)?;
            }
        }
        Ok(())
    }

    /// A message came: it goes back as it is.
    fn received(&mut self, whole: bool) -> Result<(), PerfError> {
        self.arrived += 1;
        let device = &mut self.stage.device;
        let bytes = device.bytes(self.inbox)?.to_vec();
        self.wrong += u64::from(!whole || bytes.iter().any(|&byte| byte != CLIENT_FILL));
        device.bytes_mut(self.out)?.copy_from_slice(&bytes);
        // So that a message which writes nothing shows.
        device.bytes_mut(self.inbox)?.fill(SERVER_FILL);
        self.post_receive()
    }

    /// The peer may have to repeat its last message until that is acknowledged.
    fn linger(&mut self) -> Result<(), PerfError> {
        let end = self.stage.now() + LINGER;
        while self.stage.now() < end {
            if self.stage.turn()? {
                self.stage.rest(None)?;
            }
        }
        Ok(())
    }

    fn note(&mut self, start: &mut Instant) {
        let now = self.stage.now();
        self.times.push(Duration::from_nanos(now.since(*start).as_ps() / 1000));
        *start = now;
    }

    fn rounds(&mut self, settings: &Settings) -> Rounds {
        let counters = self.stage.device.counters(self.pair).unwrap_or_default();
        Rounds {
            size: self.size,
            count: self.times.len() as u64,
            elapsed: self.times.iter().sum(),
            each: Latency::of(&mut self.times),
            wrong: self.wrong,
            clamped: self.size < settings.size,
            retransmitted: counters.retransmitted,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// As `ibv_rc_pingpong` of Debian's ibverbs-utils writes it for 10.99.0.2.
    const STOCK: &[u8; LINE] = b"0000:000011:f004ae:00000000000000000000ffff0a630002\0";

    #[test]
    fn lines_as_the_stock_tool_says_them() {
        let place = Place::parse(STOCK).unwrap();
        assert_eq!((place.qpn.get(), place.psn.get()), (0x11, 0xf004ae));
        assert_eq!(place.ip(), IpAddr::from([10, 99, 0, 2]));
        assert_eq!(place.line(), *STOCK);
        let mut wrong = *STOCK;
        wrong[4] = b';';
        assert_eq!(Place::parse(&wrong), Err(Garbled));
        wrong = *STOCK;
        wrong[20] = b'+';
        assert_eq!(Place::parse(&wrong), Err(Garbled));
        assert_eq!(Place::parse(&[0xff; LINE]), Err(Garbled));
    }

    proptest! {
        #[test]
        fn no_line_panics(at in 0usize..LINE, byte: u8, more: [u8; 20]) {
            let mut line = *STOCK;
            line[at] = byte;
            let _ = Place::parse(&line);
            line[20..40].copy_from_slice(&more);
            let _ = Place::parse(&line);
        }
    }
}
