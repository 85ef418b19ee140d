//! How the two sides meet: addresses, the device, and the way for messages.

use super::error::PerfError;
use super::link::{CONTROL_RECEIVES, CONTROL_ROOM, Control, Link};
use super::settings::{Measure, Rendezvous, Role, Settings};
use super::stage::Stage;
use crate::cm::{Agent, ConnectionId, Event, Offer, Peer};
use crate::{Device, DeviceSettings, PairSettings, Remote};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::sockopt::{ip_mtu, ipv6_mtu};
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::net::{
    IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream, ToSocketAddrs, UdpSocket,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use xoff_transport::Access;
use xoff_units::{Bytes, Span};
use xoff_wire::cm::RejectReason;
use xoff_wire::{Psn, Service};

/// Most outstanding reads and atomics that we answer, and that we request.
pub(super) const READS: u8 = 16;

/// Bytes of a packet that are not payload: IPv6, UDP, BTH, RETH and ICRC.
const OVERHEAD: u32 = 80;

/// Time between two attempts to connect.
pub(super) const BETWEEN_ATTEMPTS: Span = Span::from_ms(100);

/// Both sides, met.
#[derive(Debug)]
pub(super) struct Meeting {
    pub(super) stage: Stage,
    pub(super) link: Link,
    /// The control connection and its peer, if rdma_cm made it.
    pub(super) control: Option<(ConnectionId, IpAddr)>,
    /// Most payload of a packet that the link to the peer carries.
    pub(super) mtu: u16,
}

impl Meeting {
    /// Meets the peer.
    pub(super) fn new(settings: &Settings, stop: &Arc<AtomicBool>) -> Result<Self, PerfError> {
        match settings.rendezvous {
            Rendezvous::Tcp => Self::by_tcp(settings, stop),
            Rendezvous::Cm => Self::by_cm(settings, stop),
        }
    }

    fn by_tcp(settings: &Settings, stop: &Arc<AtomicBool>) -> Result<Self, PerfError> {
        let stream = match &settings.server {
            Some(server) => call(server, settings.port.0)?,
            None => answer(settings.port.0, stop)?,
        };
        let address = settings.bind.unwrap_or(stream.local_addr()?.ip().to_canonical());
        let stage = open(settings, address, stop)?;
        let mtu = link_mtu(address, stream.peer_addr()?.ip().to_canonical());
        Ok(Self { stage, link: Link::tcp(stream)?, control: None, mtu })
    }

    fn by_cm(settings: &Settings, stop: &Arc<AtomicBool>) -> Result<Self, PerfError> {
        let server = match &settings.server {
            Some(server) => Some(resolve(server, settings.port.0, settings.bind)?),
            None => None,
        };
        let address = match (settings.bind, server) {
            (Some(bind), _) => bind,
            (None, Some(server)) => way_to(server)?,
            (None, None) => {
                let why = "a server that listens with rdma_cm needs an address (--bind)";
                return Err(PerfError::Address(why.into()));
            }
        };
        let mut stage = open(settings, address, stop)?;
        let mut agent = Agent::open(&mut stage.device, random())?;
        agent.manager().listen(settings.port);
        if settings.service == Service::Datagram {
            agent.manager().listen_for_lookups(settings.port);
        }
        stage.agent = Some(agent);
        let control = Self::control_link(&mut stage)?;
        let most = server.map_or(4096, |server| link_mtu(address, server));
        let offer = offer(&control, Service::Reliable, most);
        let (id, peer) = match server {
            Some(server) => ask(&mut stage, server, settings, offer, 1)?,
            None => await_request(&mut stage, None)?,
        };
        let mtu = link_mtu(address, peer.address);
        connect(&mut stage, &control, peer, offer.psn)?;
        if settings.role() == Role::Server {
            accept(&mut stage, id, offer);
        }
        stage.heard();
        Ok(Self { stage, link: Link::Control(control), control: Some((id, peer.address)), mtu })
    }

    /// A queue pair for messages, with receives posted.
    fn control_link(stage: &mut Stage) -> Result<Control, PerfError> {
        let device = &mut stage.device;
        let domain = device.create_domain();
        let (sends, receives) =
            (device.create_completions(16)?, device.create_completions(CONTROL_RECEIVES as usize)?);
        let room = vec![0; ((CONTROL_RECEIVES + 1) * CONTROL_ROOM) as usize];
        let memory = device.register(domain, room, Access::LOCAL_WRITE, None)?;
        let pair = device.create_pair(PairSettings {
            receive_completions: receives,
            ..PairSettings::new(Service::Reliable, domain, sends)
        })?;
        let control = Control { pair, memory, sends, receives };
        for place in 0..CONTROL_RECEIVES {
            control.post(stage, place)?;
        }
        Ok(control)
    }
}

/// What a queue pair of ours brings to a connection.
fn offer(control: &Control, service: Service, mtu: u16) -> Offer {
    Offer {
        qpn: control.pair.qpn(),
        psn: random_psn(),
        service,
        mtu: Bytes::new(mtu.into()),
        responder_resources: READS,
        initiator_depth: READS,
    }
}

fn connect(stage: &mut Stage, control: &Control, peer: Peer, psn: Psn) -> Result<(), PerfError> {
    let remote = remote_of(stage, peer, psn);
    Ok(stage.device.connect(control.pair, remote)?)
}

/// The other end of a connection that rdma_cm made, in which we requested packets from `psn` on.
pub(super) fn remote_of(stage: &Stage, peer: Peer, psn: Psn) -> Remote {
    Remote {
        address: SocketAddr::new(peer.address, stage.device.address().port()),
        qpn: peer.qpn,
        send_psn: peer.psn,
        receive_psn: psn,
        mtu: peer.mtu.get() as u16,
    }
}

/// Requests a connection and waits for it. A server that is about to listen gets a moment to do so.
pub(super) fn ask(
    stage: &mut Stage,
    server: IpAddr,
    settings: &Settings,
    offer: Offer,
    attempts: u32,
) -> Result<(ConnectionId, Peer), PerfError> {
    for _ in 1..attempts {
        match ask_once(stage, server, settings, offer) {
            Err(PerfError::Rejected(RejectReason::INVALID_SERVICE_ID)) => {}
            result => return result,
        }
        let end = stage.now() + BETWEEN_ATTEMPTS;
        while stage.now() < end {
            if stage.turn()? {
                stage.rest(None)?;
            }
        }
    }
    ask_once(stage, server, settings, offer)
}

fn ask_once(
    stage: &mut Stage,
    server: IpAddr,
    settings: &Settings,
    offer: Offer,
) -> Result<(ConnectionId, Peer), PerfError> {
    let now = stage.now();
    let id = stage
        .agent
        .as_mut()
        .and_then(|agent| agent.manager().connect(now, server, settings.port, offer))
        .ok_or(PerfError::Mismatch { theirs: "another IP version", ours: "ours" })?;
    loop {
        let idle = stage.turn()?;
        while let Some(event) = stage.agent.as_mut().and_then(|agent| agent.manager().poll_event())
        {
            match event {
                Event::Established { id: which, peer } if which == id => return Ok((id, peer)),
                Event::Rejected { id: which, reason } if which == id => {
                    return Err(PerfError::Rejected(reason));
                }
                Event::TimedOut { id: which } if which == id => return Err(PerfError::Silence(8)),
                _ => {}
            }
        }
        if idle {
            stage.rest(None)?;
        }
    }
}

/// Waits for a connection request: of any peer, without a time limit, or of the peer we have.
pub(super) fn await_request(
    stage: &mut Stage,
    only: Option<IpAddr>,
) -> Result<(ConnectionId, Peer), PerfError> {
    loop {
        let idle = stage.turn()?;
        let now = stage.now();
        let Some(agent) = &mut stage.agent else { continue };
        while let Some(event) = agent.manager().poll_event() {
            let Event::Requested { id, peer, .. } = event else { continue };
            if only.is_none_or(|only| only == peer.address) {
                return Ok((id, peer));
            }
            agent.manager().reject(now, id, RejectReason::CONSUMER);
        }
        if only.is_none() {
            stage.heard();
        }
        if idle {
            stage.rest(None)?;
        }
    }
}

/// Accepts the requested connection.
pub(super) fn accept(stage: &mut Stage, id: ConnectionId, offer: Offer) {
    let now = stage.now();
    if let Some(agent) = &mut stage.agent {
        agent.manager().accept(now, id, offer);
    }
}

/// The device at `address`.
fn open(settings: &Settings, address: IpAddr, stop: &Arc<AtomicBool>) -> Result<Stage, PerfError> {
    if settings.v6.is_some_and(|v6| v6 != address.is_ipv6()) {
        let why = format!("-x asks for another IP version than {address} has; see --bind");
        return Err(PerfError::Address(why));
    }
    let device = Device::open(DeviceSettings {
        port: settings.device_port,
        waiting: settings.waiting,
        // A message that answers one acknowledges it in the same piece.
        hold_answers: settings.measure == Measure::Latency,
        ..DeviceSettings::new(address)
    })?;
    Ok(Stage::new(device, settings.patience, stop.clone()))
}

fn call(server: &str, port: u16) -> Result<TcpStream, PerfError> {
    let name = server.to_owned();
    TcpStream::connect((server, port)).map_err(|error| PerfError::Connect { server: name, error })
}

/// Waits for one client at all our addresses.
fn answer(port: u16, stop: &Arc<AtomicBool>) -> Result<TcpStream, PerfError> {
    let any = [
        SocketAddr::new(IpAddr::V6(Ipv6Addr::UNSPECIFIED), port),
        SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), port),
    ];
    // The first takes both families where there are both.
    let listener =
        TcpListener::bind(&any[..]).map_err(|error| PerfError::Listen { port, error })?;
    listener.set_nonblocking(true)?;
    loop {
        match listener.accept() {
            Ok((stream, _)) => return Ok(stream),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(PerfError::Listen { port, error }),
        }
        if stop.load(Ordering::Relaxed) {
            return Err(PerfError::Interrupted);
        }
        let nap = Timespec { tv_sec: 0, tv_nsec: 200_000_000 };
        let mut wanted = [PollFd::new(&listener, PollFlags::IN)];
        let _ = poll(&mut wanted, Some(&nap));
    }
}

/// The server's address, of the family that we are bound to.
fn resolve(server: &str, port: u16, bind: Option<IpAddr>) -> Result<IpAddr, PerfError> {
    let failed = |error| PerfError::Connect { server: server.to_owned(), error };
    let fits = |address: &IpAddr| bind.is_none_or(|bind| bind.is_ipv4() == address.is_ipv4());
    let all = (server, port).to_socket_addrs().map_err(failed)?;
    let found = all.map(|address| address.ip()).find(fits);
    found.ok_or_else(|| failed(io::Error::from(io::ErrorKind::AddrNotAvailable)))
}

/// The address of ours that packets to a peer leave from.
fn way_to(peer: IpAddr) -> Result<IpAddr, PerfError> {
    let any: SocketAddr = match peer {
        IpAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
        IpAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
    };
    let socket = UdpSocket::bind(any)?;
    // Nothing is sent: this only looks up the route.
    socket.connect((peer, 9))?;
    Ok(socket.local_addr()?.ip())
}

/// Most payload of a packet that the link from us to a peer carries, in RoCE's steps. Where the
/// system does not say, the largest: the peer knows its end.
fn link_mtu(local: IpAddr, peer: IpAddr) -> u16 {
    let ask = || {
        let socket = UdpSocket::bind((local, 0)).ok()?;
        socket.connect((peer, 9)).ok()?;
        if local.is_ipv4() { ip_mtu(&socket).ok() } else { ipv6_mtu(&socket).ok() }
    };
    let link = ask().unwrap_or(u32::MAX);
    let fits = |mtu: &u16| u32::from(*mtu) + OVERHEAD <= link;
    [4096, 2048, 1024, 512].into_iter().find(fits).unwrap_or(256)
}

/// Any number.
pub(super) fn random() -> u64 {
    RandomState::new().hash_one(0)
}

/// Any packet number.
pub(super) fn random_psn() -> Psn {
    Psn::new(random() as u32 & 0xff_ffff)
}
