//! How the two sides meet: the device, and the way for messages.

use super::error::PerfError;
use super::link::{CONTROL_RECEIVES, CONTROL_ROOM, Control, Link};
use super::outcome::Ignored;
use super::place::{
    bound_to, call, canonical, check_bind, link_mtu, open, resolve, scope_of, way_to,
};
use super::reception::{Greets, answer};
use super::settings::{Rendezvous, Role, Settings};
use super::stage::Stage;
use crate::cm::{Agent, ConnectionId, Event, Offer, Peer};
use crate::{PairSettings, Remote};
use std::hash::{BuildHasher, RandomState};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use xoff_transport::Access;
use xoff_units::{Bytes, Span};
use xoff_wire::cm::RejectReason;
use xoff_wire::{Psn, Service};

/// Most outstanding reads and atomics that we answer, and that we request.
pub(super) const READS: u8 = 16;

/// Time between two attempts to connect.
pub(super) const BETWEEN_ATTEMPTS: Span = Span::from_ms(100);

/// How long all attempts at a request of rdma_cm take.
pub(super) const ANSWERING: Duration = Duration::from_secs(8);

/// Both sides, met.
#[derive(Debug)]
pub(super) struct Meeting {
    pub(super) stage: Stage,
    pub(super) link: Link,
    /// The control connection and its peer, if rdma_cm made it.
    pub(super) control: Option<(ConnectionId, IpAddr)>,
    /// Most payload of a packet that the link to the peer carries.
    pub(super) mtu: u16,
    /// Who else called.
    pub(super) ignored: Vec<Ignored>,
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
        let (stream, ignored) = match &settings.server {
            Some(server) => (call(server, settings)?, Vec::new()),
            None => {
                check_bind(settings)?;
                answer(settings.port.0, Greets::Perftest, stop)?
            }
        };
        let (local, peer) = (canonical(stream.local_addr()?), canonical(stream.peer_addr()?));
        let address = bound_to(settings, scope_of(local))?.unwrap_or(local);
        let mut stage = open(settings, address, local.ip() == peer.ip(), stop)?;
        stage.watch_tcp(&stream);
        let mtu = link_mtu(stage.device.address(), peer);
        Ok(Self { stage, link: Link::tcp(stream)?, control: None, mtu, ignored })
    }

    fn by_cm(settings: &Settings, stop: &Arc<AtomicBool>) -> Result<Self, PerfError> {
        let server = match &settings.server {
            Some(server) => resolve(server, settings)?.first().copied(),
            None => None,
        };
        let bind = bound_to(settings, server.map_or(0, scope_of))?;
        let address = match (bind, server) {
            (Some(bind), _) => bind,
            (None, Some(server)) => way_to(server)?,
            (None, None) => {
                let why = "a server that listens with rdma_cm needs an address (--bind)";
                return Err(PerfError::Address(why.into()));
            }
        };
        let here = server.is_some_and(|server| server.ip() == address.ip());
        let mut stage = open(settings, address, here, stop)?;
        let mut agent = Agent::open(&mut stage.device, random())?;
        agent.manager().listen(settings.port);
        if settings.service == Service::Datagram {
            agent.manager().listen_for_lookups(settings.port);
        }
        stage.agent = Some(agent);
        let control = Self::control_link(&mut stage)?;
        let local = stage.device.address();
        let most = server.map_or(4096, |server| link_mtu(local, server));
        let offer = offer(&control, Service::Reliable, most);
        let (id, peer) = match server {
            Some(server) => ask(&mut stage, server.ip(), settings, offer, 1)?,
            None => await_request(&mut stage, None)?,
        };
        let mtu = link_mtu(local, SocketAddr::new(peer.address, 0));
        connect(&mut stage, &control, peer, offer.psn)?;
        if settings.role() == Role::Server {
            accept(&mut stage, id, offer);
        }
        stage.heard();
        stage.watch_connection(id);
        let (link, control) = (Link::Control(control), Some((id, peer.address)));
        Ok(Self { stage, link, control, mtu, ignored: Vec::new() })
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
        let control = Control { pair, memory, sends, receives, domain };
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
        while let Some(event) = stage.event() {
            match event {
                Event::Established { id: which, peer } if which == id => return Ok((id, peer)),
                Event::Rejected { id: which, reason } if which == id => {
                    return Err(PerfError::Rejected(reason));
                }
                Event::TimedOut { id: which } if which == id => {
                    return Err(PerfError::Silence(ANSWERING));
                }
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
        while let Some(event) = stage.event() {
            let Event::Requested { id, peer, .. } = event else { continue };
            // What carries the exchange has to be reliable; another caller is not our client's.
            let fits = match only {
                None => peer.service == Service::Reliable,
                Some(only) => only == peer.address,
            };
            if fits {
                return Ok((id, peer));
            }
            refuse(stage, id);
        }
        if only.is_none() {
            stage.heard();
        }
        if idle {
            stage.rest(None)?;
        }
    }
}

/// Rejects a requested connection.
pub(super) fn refuse(stage: &mut Stage, id: ConnectionId) {
    let now = stage.now();
    if let Some(agent) = &mut stage.agent {
        agent.manager().reject(now, id, RejectReason::CONSUMER);
        // Onto the wire: the caller may be about to end.
        let _ = agent.turn(&mut stage.device);
        stage.device.progress();
    }
}

/// Accepts the requested connection.
pub(super) fn accept(stage: &mut Stage, id: ConnectionId, offer: Offer) {
    let now = stage.now();
    if let Some(agent) = &mut stage.agent {
        agent.manager().accept(now, id, offer);
    }
}

/// Any number.
pub(super) fn random() -> u64 {
    RandomState::new().hash_one(0)
}

/// Any packet number.
pub(super) fn random_psn() -> Psn {
    Psn::new(random() as u32 & 0xff_ffff)
}
