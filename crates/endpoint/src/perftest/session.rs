//! A test from the first greeting to the last goodbye.

use super::area::{Area, CACHE_LINE, CYCLE, Layout, part_mut};
use super::error::PerfError;
use super::lane::Lane;
use super::link::Link;
use super::lookup::{CM_KEY, PLAIN_KEY, find, say};
use super::meeting::{Meeting, READS, accept, ask, await_request, random_psn, refuse, remote_of};
use super::message::{DONE, Greeting, Keys, Report, greeting, mtu_of, mtu_text};
use super::outcome::{Agreed, End, Ignored, Row};
use super::pattern::Body;
use super::plan::Plan;
use super::settings::{Role, Settings, Verb};
use super::stage::Stage;
use super::terms::{Tally, Terms};
use super::window::{Budget, window};
use crate::cm::{ConnectionId, DatagramService, Event, Offer};
use crate::{Completions, DatagramWork, PairSettings, Remote, WorkId};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use xoff_transport::config::QpConfig;
use xoff_transport::{Counters, Discard, ProtectionDomain};
use xoff_units::{Bytes, Span};
use xoff_wire::grh::Gid;
use xoff_wire::{Immediate, Psn, Qpn, Rkey, Service};

/// How long a side that is done stays for the other's sake.
const LINGER: Span = Span::from_ms(3000);
/// How long the ends of connections are waited for.
const PARTING: Span = Span::from_ms(4000);
/// How long a client waits for its server to end them.
const PATIENT: Span = Span::from_ms(1500);
/// How long nothing may come before what has not come is lost, and the longest that is waited for.
const SETTLING: Span = Span::from_ms(100);
const LONGEST_SETTLING: Span = Span::from_ms(1000);

/// How often a client requests a queue pair's connection while its server does not listen yet.
const ATTEMPTS: u32 = 30;

/// A test that runs.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) settings: Settings,
    pub(super) role: Role,
    pub(super) plan: Plan,
    pub(super) stage: Stage,
    pub(super) link: Link,
    pub(super) peer: Greeting,
    /// What each queue pair of the peer has in flight to us at most, if we know.
    pub(super) peer_window: Bytes,
    pub(super) mtu: u16,
    pub(super) sizes: Vec<u64>,
    pub(super) area: Area,
    pub(super) lanes: Vec<Lane>,
    pub(super) sends: Completions,
    pub(super) receives: Completions,
    control: Option<(ConnectionId, IpAddr)>,
    /// The server got our queue pair number in a datagram.
    pub(super) introduced: bool,
    /// How much of what arrives is kept for us.
    pub(super) kept: Bytes,
    /// The peer's figures are in Gbit/s.
    pub(super) peer_gigabits: bool,
    clamped: Option<u64>,
    ignored: Vec<Ignored>,
    /// What was measured of a size that was not finished.
    pub(super) partial: Option<Row>,
    /// The queue pair that posts next, and what all of them together may have in flight.
    pub(super) next_turn: usize,
    pub(super) budget: Budget,
    /// Messages that a queue pair posts so that all together use what they may have in flight.
    pub(super) enough: u64,
    /// What was sent and what arrived, of all sizes.
    pub(super) tally: Tally,
    /// Messages that had arrived before this size, of unreliable connections.
    pub(super) written_before: u64,
}

impl Session {
    /// Meets the peer and gets everything ready for the data.
    pub(super) fn new(settings: Settings, stop: &Arc<AtomicBool>) -> Result<Self, PerfError> {
        if let Some(mistake) = settings.mistake() {
            return Err(PerfError::Settings(mistake));
        }
        let mut settings = settings;
        let role = settings.role();
        let Meeting { mut stage, mut link, control, mtu: link_mtu, ignored } =
            Meeting::new(&settings, stop)?;
        let mut talk = Talk { stage: &mut stage, link: &mut link, role };
        let kept = talk.stage.device.arrivals_kept();
        let mut peer = Greeting::parse(&talk.exchange(greeting(kept, settings.extras))?)?;
        peer.extras &= settings.extras;
        talk.stage.set_patience(settings.silence_before_data());
        let agree = |theirs: [u8; 4], ours: u32| u64::from(u32::from_be_bytes(theirs).max(ours));
        let cycle = agree(talk.exchange(CYCLE.to_be_bytes())?, CYCLE);
        let line = agree(talk.exchange(CACHE_LINE.to_be_bytes())?, CACHE_LINE);
        let ours = settings.mtu.unwrap_or(4096).min(link_mtu);
        let mtu = mtu_of(talk.exchange(mtu_text(ours))?)?.min(ours);
        if cycle > 1 << 20 || !line.is_power_of_two() || line > cycle / 2 {
            return Err(super::message::Garbled.into());
        }
        // As the stock tools do: a datagram cannot be longer.
        let clamped = (settings.service == Service::Datagram && settings.size > mtu.into())
            .then_some(u64::from(mtu));
        settings.size = clamped.unwrap_or(settings.size);
        let mut peer_gigabits = settings.gigabits;
        if peer.extras {
            let ours = Terms::of(&settings);
            let theirs = Terms::parse(&talk.exchange(ours.bytes())?)?;
            ours.agree_with(&theirs)?;
            peer_gigabits = theirs.gigabits;
            if role == Role::Server && !ours.share_extent() {
                settings.extent = theirs.extent;
            }
        }
        let sizes = settings.sizes(mtu);
        let device = &mut stage.device;
        let domain = device.create_domain();
        // A peer that sends how much it keeps also reads what we send.
        let heeds = peer.kept > Bytes::ZERO;
        let peer_window = if heeds { window(kept, settings.pairs) } else { Bytes::ZERO };
        let ours = window(peer.kept, settings.pairs);
        let layout = Layout::new(&settings, (cycle, line), ours, peer_window);
        let area = Area::new(device, domain, layout, &settings, &sizes)?;
        let places = settings.pairs * 1024 + settings.pairs * settings.depth;
        let (sends, receives) =
            (device.create_completions(places)?, device.create_completions(places)?);
        let plan = Plan::of(&settings);
        let lanes = Vec::new();
        let mut session = Self {
            settings,
            role,
            plan,
            stage,
            link,
            peer,
            peer_window,
            mtu,
            sizes,
            area,
            lanes,
            sends,
            receives,
            control,
            introduced: false,
            kept,
            peer_gigabits,
            clamped,
            ignored,
            partial: None,
            next_turn: 0,
            budget: Budget::default(),
            enough: u64::MAX,
            tally: Tally::default(),
            written_before: 0,
        };
        session.make_lanes(domain)?;
        session.introduce()?;
        Ok(session)
    }

    /// Makes the queue pairs; with rdma_cm they are connected then.
    fn make_lanes(&mut self, domain: ProtectionDomain) -> Result<(), PerfError> {
        let config = QpConfig { mtu: Bytes::new(self.mtu.into()), ..self.settings.transport() };
        let window = window(self.peer.kept, self.settings.pairs);
        let config = Arc::new(QpConfig { max_reads: READS, window, ..config });
        let qkey = if self.control.is_some() { CM_KEY } else { PLAIN_KEY };
        let local_address = self.stage.device.address();
        let largest = self.sizes.iter().copied().max().unwrap_or(0).max(self.area.layout.cycle());
        for index in 0..self.settings.pairs {
            let pair = self.stage.device.create_pair(PairSettings {
                receive_completions: self.receives,
                qkey,
                config: config.clone(),
                ..PairSettings::new(self.settings.service, domain, self.sends)
            })?;
            let (rkey, address) = self.area.address(index);
            let local = Keys {
                lid: 0,
                reads: READS.into(),
                qpn: pair.qpn(),
                psn: random_psn(),
                rkey,
                address,
                gid: gid(local_address.ip()),
            };
            let nobody = Keys { qpn: Qpn::new(0), psn: Psn::new(0), rkey: Rkey(0), ..local };
            self.lanes.push(Lane {
                pair,
                ours: Body::new(local.psn.get(), largest as usize),
                theirs: Body::new(0, 0),
                local,
                remote: nobody,
                address: local_address,
                connection: None,
                qkey,
                found: None,
                posted: 0,
                done: 0,
                arrived: 0,
                awaited: 0,
                values: Vec::new(),
            });
        }
        if self.control.is_some() {
            self.connect_by_cm()?;
        }
        Ok(())
    }

    /// Connects the queue pairs by rdma_cm, one after the other, between two barriers.
    fn connect_by_cm(&mut self) -> Result<(), PerfError> {
        let Some((_, server)) = self.control else { return Ok(()) };
        self.barrier()?;
        if self.settings.service == Service::Datagram {
            self.look_up_by_cm(server)?;
            return self.barrier();
        }
        for index in 0..self.lanes.len() {
            let lane = &self.lanes[index];
            let offer = Offer {
                qpn: lane.pair.qpn(),
                psn: lane.local.psn,
                service: self.settings.service,
                mtu: Bytes::new(self.mtu.into()),
                responder_resources: READS,
                initiator_depth: READS,
            };
            let pair = lane.pair;
            let (id, peer) = match self.role {
                Role::Client => ask(&mut self.stage, server, &self.settings, offer, ATTEMPTS)?,
                Role::Server => await_request(&mut self.stage, Some(server))?,
            };
            if peer.service != self.settings.service {
                if self.role == Role::Server {
                    refuse(&mut self.stage, id);
                }
                let (theirs, ours) = (name(peer.service), name(self.settings.service));
                return Err(PerfError::Mismatch { theirs, ours });
            }
            let remote = remote_of(&self.stage, peer, offer.psn);
            self.stage.device.connect(pair, remote)?;
            if self.role == Role::Server {
                accept(&mut self.stage, id, offer);
            }
            let lane = &mut self.lanes[index];
            (lane.connection, lane.address) = (Some(id), remote.address);
        }
        self.barrier()
    }

    /// Learns, or says, where the datagrams of each queue pair go.
    fn look_up_by_cm(&mut self, peer: IpAddr) -> Result<(), PerfError> {
        let port = self.stage.device.address().port();
        for lane in &mut self.lanes {
            lane.address = SocketAddr::new(peer, port);
            match self.role {
                Role::Client => {
                    let service = find(&mut self.stage, peer, &self.settings, ATTEMPTS)?;
                    (lane.found, lane.qkey) = (Some(service.qpn), service.qkey);
                }
                Role::Server => {
                    let service = DatagramService { qpn: lane.pair.qpn(), qkey: CM_KEY };
                    say(&mut self.stage, peer, service)?;
                }
            }
        }
        // The stock server learns from a datagram where its own go, and waits for it.
        if self.role == Role::Client && (self.is_latency() || self.settings.duplex) {
            self.introduce_queue_pair()?;
        }
        Ok(())
    }

    /// Sends the server the number of our first queue pair, in immediate data.
    fn introduce_queue_pair(&mut self) -> Result<(), PerfError> {
        let Some(lane) = self.lanes.first() else { return Ok(()) };
        let (pair, qpn) = (lane.pair, lane.pair.qpn().get());
        let local = self.area.out(0, 0, size_of_val(&qpn) as u64);
        part_mut(&mut self.stage.device, local)?.copy_from_slice(&qpn.to_ne_bytes());
        let work = DatagramWork {
            id: WorkId(0),
            local,
            to: lane.address,
            qpn: lane.found.unwrap_or_default(),
            qkey: lane.qkey,
            immediate: Some(Immediate(qpn.to_be_bytes())),
            signaled: true,
        };
        self.stage.device.post_datagram(pair, work)?;
        self.introduced = true;
        while self.stage.device.poll(self.sends).is_none() {
            if self.stage.turn()? {
                self.stage.rest(None)?;
            }
        }
        Ok(())
    }

    /// Learns the peer's keys and connects, then barriers until both sides are ready.
    fn introduce(&mut self) -> Result<(), PerfError> {
        for _ in 0..self.plan.first {
            self.barrier()?;
        }
        for index in 0..self.lanes.len() {
            let remote = self.exchange_keys(index)?;
            self.connect_lane(index, remote)?;
        }
        for index in 0..self.plan.connected {
            self.exchange_keys(index % self.lanes.len())?;
        }
        Ok(())
    }

    fn connect_lane(&mut self, index: usize, keys: Keys) -> Result<(), PerfError> {
        let ours = self.stage.device.address();
        let address = SocketAddr::new(address(keys.gid), ours.port());
        let lane = &mut self.lanes[index];
        let largest = self.sizes.iter().copied().max().unwrap_or(0).max(self.area.layout.cycle());
        lane.remote = keys;
        if self.peer.ours {
            lane.theirs = Body::new(keys.psn.get(), largest as usize);
        }
        if let Some(qpn) = lane.found {
            lane.remote.qpn = qpn;
        }
        if self.control.is_some() {
            return Ok(());
        }
        lane.address = address;
        if address.is_ipv4() != ours.is_ipv4() {
            let family = |v4| if v4 { "an IPv4 address" } else { "an IPv6 address" };
            let (theirs, ours) = (family(address.is_ipv4()), family(ours.is_ipv4()));
            return Err(PerfError::Mismatch { theirs, ours });
        }
        if self.settings.service == Service::Datagram {
            return Ok(());
        }
        let remote = Remote {
            address,
            qpn: keys.qpn,
            send_psn: lane.local.psn,
            receive_psn: keys.psn,
            mtu: self.mtu,
        };
        Ok(self.stage.device.connect(lane.pair, remote)?)
    }

    /// Both sides say the keys of one queue pair.
    fn exchange_keys(&mut self, index: usize) -> Result<Keys, PerfError> {
        let ours = self.lanes[index].local;
        let (stage, link) = (&mut self.stage, &mut self.link);
        if self.role == Role::Client {
            link.send_keys(stage, &ours)?;
            return link.receive_keys(stage);
        }
        let theirs = link.receive_keys(stage)?;
        link.send_keys(stage, &ours)?;
        Ok(theirs)
    }

    /// Neither side goes on before the other is here.
    pub(super) fn barrier(&mut self) -> Result<(), PerfError> {
        self.exchange_keys(0).map(drop)
    }

    pub(super) fn barriers(&mut self, count: usize) -> Result<(), PerfError> {
        (0..count).try_for_each(|_| self.barrier())
    }

    /// Both sides say what they measured.
    pub(super) fn exchange_report(&mut self, ours: Report) -> Result<Report, PerfError> {
        let (stage, link) = (&mut self.stage, &mut self.link);
        let mut talk = Talk { stage, link, role: self.role };
        let mut theirs = [[0; 8]; 5];
        for (value, place) in ours.values().into_iter().zip(&mut theirs) {
            *place = talk.exchange(value)?;
        }
        Ok(Report::from_values(theirs))
    }

    /// Both sides, if both are xoff, say what they sent and what arrived.
    pub(super) fn exchange_tallies(&mut self) -> Result<Option<Tally>, PerfError> {
        if !self.peer.extras || self.is_latency() {
            return Ok(None);
        }
        // The exchange may be faster than the last packets.
        let (mut theirs, lossy) = ([0; 32], self.settings.service != Service::Reliable);
        if self.role == Role::Server {
            self.link.receive(&mut self.stage, &mut theirs)?;
        }
        if lossy {
            self.settle()?;
        }
        let ours = self.count_up();
        self.link.send(&mut self.stage, &ours.bytes())?;
        if self.role == Role::Client {
            self.link.receive(&mut self.stage, &mut theirs)?;
        }
        Ok(Some(Tally::parse(&theirs)))
    }

    /// What was sent, arrived and overflowed so far.
    pub(super) fn count_up(&self) -> Tally {
        let mut tally = self.tally;
        if self.settings.verb == Verb::Write {
            tally.arrived = self.written();
        }
        tally.overflowed = self.stage.device.overflows();
        let unready = |counters: Counters| counters.discards.get(Discard::NoReceive);
        if self.settings.service != Service::Reliable {
            let of = |lane: &Lane| self.stage.device.counters(lane.pair).ok();
            tally.unready = self.lanes.iter().filter_map(of).map(unready).sum();
        }
        tally
    }

    /// Messages that have arrived whole at unreliable connections.
    pub(super) fn written(&self) -> u64 {
        let of = |lane: &Lane| self.stage.device.messages(lane.pair).ok().flatten();
        self.lanes.iter().filter_map(of).sum()
    }

    /// Takes what is still on its way: until nothing comes for a while.
    pub(super) fn settle(&mut self) -> Result<(), PerfError> {
        let end = self.stage.now() + LONGEST_SETTLING;
        let mut quiet = self.stage.now();
        while self.stage.now().since(quiet) < SETTLING && self.stage.now() < end {
            let before = self.stage.now();
            if self.stage.turn()? {
                self.stage.rest(None)?;
            } else {
                quiet = before;
            }
        }
        Ok(())
    }

    /// The test has failed. The peer is told, where that is possible; and if it left because we
    /// refused something, that is the reason.
    pub(super) fn fail(&mut self, error: PerfError) -> PerfError {
        let connections = self.lanes.iter().filter_map(|lane| lane.connection);
        let control = self.control.map(|(id, _)| id);
        self.stage.hang_up(connections.chain(control));
        self.stage.blame(self.lanes.iter().map(|lane| lane.pair), error)
    }

    /// The last words. Then the peer gets a while to hear that everything has arrived.
    pub(super) fn close(&mut self) -> Result<(), PerfError> {
        if self.plan.close {
            self.barrier()?;
        }
        self.stage.release_peer();
        if self.control.is_some() {
            return self.part();
        }
        if self.plan.close {
            self.link.send(&mut self.stage, &DONE)?;
            // Newer tools say nothing here and hang up.
            let _ = self.link.receive(&mut self.stage, &mut [0; DONE.len()]);
        }
        self.link.linger(&mut self.stage, LINGER)
    }

    /// Ends the connections that rdma_cm made: the server disconnects, the client waits for it.
    fn part(&mut self) -> Result<(), PerfError> {
        let mut left: Vec<ConnectionId> =
            self.lanes.iter().filter_map(|lane| lane.connection).collect();
        left.extend(self.control.map(|(id, _)| id));
        left.retain(|id| !self.stage.has_ended(*id));
        let end = self.stage.now() + PARTING;
        let asks = self.stage.now() + if self.role == Role::Server { Span::ZERO } else { PATIENT };
        let mut asked = false;
        while !left.is_empty() && self.stage.now() < end {
            let now = self.stage.now();
            let Some(agent) = &mut self.stage.agent else { break };
            if !asked && now >= asks {
                asked = true;
                for id in &left {
                    agent.manager().disconnect(now, *id);
                }
            }
            while let Some(event) = self.stage.event() {
                if let Event::Disconnected { id } | Event::TimedOut { id } = event {
                    left.retain(|other| *other != id);
                }
            }
            if self.stage.turn()? {
                self.stage.heard();
                self.stage.rest(None)?;
            }
        }
        Ok(())
    }

    /// What was agreed on.
    pub(super) fn agreed(&self) -> Agreed {
        let end = |keys: &Keys| End {
            qpn: keys.qpn.get(),
            psn: keys.psn.get(),
            rkey: keys.rkey.0,
            address: keys.address,
            gid: keys.gid.0,
        };
        let ends = self.lanes.iter().map(|lane| (end(&lane.local), end(&lane.remote))).collect();
        Agreed {
            version: self.peer.version.clone(),
            ours: self.peer.ours,
            mtu: self.mtu,
            clamped: self.clamped,
            ignored: self.ignored.clone(),
            ends,
        }
    }

    /// Packets that were sent again.
    pub(super) fn retransmitted(&self) -> u64 {
        let of = |lane: &Lane| self.stage.device.counters(lane.pair).ok();
        self.lanes.iter().filter_map(of).map(|counters| counters.retransmitted).sum()
    }
}

/// Two sides that speak in turn, the client first.
struct Talk<'a> {
    stage: &'a mut Stage,
    link: &'a mut Link,
    role: Role,
}

impl Talk<'_> {
    fn exchange<const N: usize>(&mut self, ours: [u8; N]) -> Result<[u8; N], PerfError> {
        let mut theirs = [0; N];
        if self.role == Role::Client {
            self.link.send(self.stage, &ours)?;
            self.link.receive(self.stage, &mut theirs)?;
        } else {
            self.link.receive(self.stage, &mut theirs)?;
            self.link.send(self.stage, &ours)?;
        }
        Ok(theirs)
    }
}

fn gid(address: IpAddr) -> Gid {
    Gid(match address {
        IpAddr::V4(v4) => v4.to_ipv6_mapped(),
        IpAddr::V6(v6) => v6,
    })
}

fn address(gid: Gid) -> IpAddr {
    gid.0.to_ipv4_mapped().map_or(IpAddr::V6(gid.0), IpAddr::V4)
}

fn name(service: Service) -> &'static str {
    match service {
        Service::Reliable => "reliable connections",
        Service::Unreliable => "unreliable connections",
        Service::Datagram => "datagrams",
    }
}
