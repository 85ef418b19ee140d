//! Pacing and congestion control of the services without acknowledgements.
//!
//! Only congestion notifications slow these down: schemes that need acknowledgements stay at line
//! rate.

use crate::config::QpConfig;
use crate::congestion::{CongestionState, Controller};
use crate::counters::Counters;
use crate::delay::DelayLine;
use crate::framing::WireTime;
use crate::pacing::{Pacer, Slack};
use crate::signals::PathInfo;
use std::sync::Arc;
use xoff_units::{Instant, Rate};
use xoff_wire::{Extension, Header, Opcode, Psn, Qpn, Service};

/// Says when packets may leave.
#[derive(Debug, Clone)]
pub(crate) struct Regulator {
    pacer: Pacer,
    wire: WireTime,
    controller: Controller,
    /// Notifications received and not yet acted on.
    reactions: DelayLine,
    pub(crate) config: Arc<QpConfig>,
}

impl Regulator {
    pub(crate) fn new(config: Arc<QpConfig>, path: PathInfo) -> Self {
        let controller = Controller::new(&config, path);
        let pacer = Pacer::new(controller.rate());
        let wire = WireTime::of(&config.framing, config.mtu);
        Self { pacer, wire, controller, reactions: DelayLine::default(), config }
    }

    /// When the next packet may leave.
    pub(crate) fn next(&self) -> Instant {
        self.pacer.next()
    }

    /// The instant at which a packet given to the wire at `now` counts as sent, if one may be.
    pub(crate) fn start(&self, now: Instant, slack: Slack) -> Option<Instant> {
        self.pacer.start(now, slack)
    }

    /// A packet was given to the wire at `now`, and counts as sent at `start`.
    pub(crate) fn sent(
        &mut self,
        now: Instant,
        start: Instant,
        header: &Header,
        counters: &mut Counters,
    ) {
        let len = self.wire.of_packet(header);
        self.pacer.sent(start, len);
        if self.controller.sent(now, len, &self.config, counters) {
            self.follow();
        }
    }

    /// A receiver reports congestion.
    pub(crate) fn notified(&mut self, now: Instant, counters: &mut Counters) {
        counters.cnps_handled += 1;
        self.react(now, counters);
        if self.config.reaction_delay.is_zero() {
            self.controller.notified(now, &self.config, counters);
        } else {
            self.reactions.push(now + self.config.reaction_delay);
        }
        self.follow();
    }

    fn react(&mut self, now: Instant, counters: &mut Counters) {
        while let Some(at) = self.reactions.pop(now) {
            self.controller.notified(at, &self.config, counters);
        }
    }

    fn follow(&mut self) {
        let moves = self.controller.moves_next_send(&self.config);
        self.pacer.set_rate(self.controller.rate(), moves);
    }

    pub(crate) fn deadline(&self) -> Instant {
        self.controller.deadline().min(self.reactions.due())
    }

    pub(crate) fn handle_deadline(&mut self, now: Instant, counters: &mut Counters) {
        self.react(now, counters);
        self.controller.handle_deadline(now, &self.config, counters);
        self.follow();
    }

    pub(crate) fn rate(&self) -> Rate {
        self.controller.rate()
    }

    pub(crate) fn state(&self, now: Instant) -> CongestionState {
        self.controller.state(now, &self.config)
    }
}

/// A congestion notification packet (annex A17) for `peer`.
pub(crate) fn notification(peer: Qpn) -> Header {
    Header {
        service: Service::Reliable,
        opcode: Opcode::Cnp,
        ack_request: false,
        becn: true,
        dest_qp: peer,
        psn: Psn::new(0),
        extension: Extension::None,
        payload: 0,
    }
}
