//! Trails: the ports by which the packets of a flow left the switches on their way.
//!
//! Where switches hash, all packets from one end of a flow take the same way until a route changes. The
//! first to come to a switch looks it up in the [routes](crate::switch::routing) and leaves its port here for those
//! that follow: one place per endpoint, where a table of routes has one per destination and switch.
//! Packets may outlive their flow or its way, so each bears its trail's stamp, and follows no other. When routes
//! change, all flows begin new trails.

use crate::id::{EndpointId, Id, Table};
use xoff_fabric::model::PortId;

/// Switches on the longest way that is kept.
const LONGEST: usize = 7;

/// The way of the packets to one endpoint. Half a cache line.
#[derive(Debug, Clone, Copy)]
#[repr(align(32))]
struct Trail {
    stamp: Stamp,
    /// The port by which the nth switch was left; [`UNKNOWN`] if no packet has been there.
    ports: [PortId; LONGEST],
}

/// No packet has left this switch.
const UNKNOWN: PortId = PortId(u32::MAX);

/// Which trail a packet follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Stamp(u32);

impl Stamp {
    /// No trail has this stamp.
    pub(crate) const NONE: Self = Self(0);
}

/// The trails of all endpoints.
#[derive(Debug)]
pub(crate) struct Trails {
    /// By the endpoint that packets are for.
    trails: Table<EndpointId, Trail>,
    /// The last stamp given away.
    stamp: Stamp,
    /// Packets with this stamp or an earlier one leave no trail: they were sent before routes changed, and some of them may have
    /// gone another way than others.
    outdated: Stamp,
    /// All packets of a flow go the same way.
    kept: bool,
}

impl Trails {
    /// No trails yet; nor later, if ways may change.
    pub(crate) const fn new(kept: bool) -> Self {
        Self { trails: Table::new(), stamp: Stamp::NONE, outdated: Stamp::NONE, kept }
    }

    /// Whether ways are kept at all.
    pub(crate) fn are_kept(&self) -> bool {
        self.kept
    }

    /// Begins the trail of packets to an endpoint; the stamp they bear.
    pub(crate) fn begin(&mut self, to: EndpointId) -> Stamp {
        // Out of stamps, flows go without trails, which only costs time.
        if !self.kept || self.stamp == Stamp(u32::MAX) {
            return Stamp::NONE;
        }
        self.stamp.0 += 1;
        self.lay(to, self.stamp);
        self.stamp
    }

    /// The port by which a packet to this endpoint leaves a switch after having passed so many, if another
    /// has been there before.
    #[inline(always)]
    pub(crate) fn next(&self, to: EndpointId, stamp: Stamp, passed: u8) -> Option<PortId> {
        let trail = self.trails.get(to)?;
        let port = *trail.ports.get(usize::from(passed))?;
        (trail.stamp == stamp && port != UNKNOWN).then_some(port)
    }

    /// Prefetches the trail of packets to an endpoint.
    #[inline(always)]
    pub(crate) fn prefetch(&self, to: EndpointId) {
        self.trails.prefetch(to);
    }

    /// A packet has found its way.
    pub(crate) fn leave(&mut self, to: EndpointId, stamp: Stamp, passed: u8, port: PortId) {
        if stamp <= self.outdated {
            return;
        }
        // On the threads of a run that do not open connections, a trail begins with its first packet.
        if self.trails.get(to).is_none_or(|trail| trail.stamp < stamp) {
            self.lay(to, stamp);
        }
        let trail = &mut self.trails[to];
        if trail.stamp == stamp
            && let Some(place) = trail.ports.get_mut(usize::from(passed))
        {
            *place = port;
        }
    }

    /// Routes have changed: nobody follows what has been left so far, and what is under way leaves nothing more.
    pub(crate) fn forget(&mut self) {
        self.trails = Table::new();
        self.outdated = self.stamp;
    }

    /// The same on a thread that gives no stamps away, as on the one that does.
    pub(crate) fn forget_like(&mut self, other: &Self) {
        self.trails = Table::new();
        self.outdated = other.outdated;
    }

    /// Begins a trail with this stamp.
    fn lay(&mut self, to: EndpointId, stamp: Stamp) {
        let unknown = |stamp| Trail { stamp, ports: [UNKNOWN; LONGEST] };
        if self.trails.get(to).is_none() {
            self.trails.resize(to.index() + 1, unknown(Stamp::NONE));
        }
        self.trails[to] = unknown(stamp);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trail_is_followed_by_its_own_packets_only() {
        let mut trails = Trails::new(true);
        let old = trails.begin(EndpointId(6));
        assert_eq!(trails.next(EndpointId(6), old, 0), None);
        trails.leave(EndpointId(6), old, 0, PortId(40));
        trails.leave(EndpointId(6), old, LONGEST as u8, PortId(41));
        assert_eq!(trails.next(EndpointId(6), old, 0), Some(PortId(40)));
        assert_eq!(trails.next(EndpointId(6), old, 1), None);
        assert_eq!(
            trails.next(EndpointId(6), old, LONGEST as u8),
            None,
            "longer than what is kept"
        );
        assert_eq!(trails.next(EndpointId(7), old, 0), None, "no such endpoint");
        // The endpoint serves another flow, and late packets of the first neither follow nor lay its trail.
        let new = trails.begin(EndpointId(6));
        assert_eq!(trails.next(EndpointId(6), new, 0), None);
        trails.leave(EndpointId(6), old, 0, PortId(40));
        assert_eq!(
            (trails.next(EndpointId(6), new, 0), trails.next(EndpointId(6), old, 0)),
            (None, None)
        );
    }

    #[test]
    fn what_is_under_way_when_routes_change_leaves_no_trail() {
        let (mut trails, mut elsewhere) = (Trails::new(true), Trails::new(true));
        let to = EndpointId(6);
        let old = trails.begin(to);
        trails.leave(to, old, 0, PortId(40));
        trails.forget();
        elsewhere.forget_like(&trails);
        for trails in [&mut trails, &mut elsewhere] {
            assert_eq!(trails.next(to, old, 0), None);
            trails.leave(to, old, 0, PortId(41));
            assert_eq!(trails.next(to, old, 0), None, "another packet may be in another place");
        }
        let new = trails.begin(to);
        for trails in [&mut trails, &mut elsewhere] {
            trails.leave(to, new, 0, PortId(42));
            assert_eq!(trails.next(to, new, 0), Some(PortId(42)));
        }
    }

    #[test]
    fn nothing_is_kept_where_ways_may_change() {
        let mut trails = Trails::new(false);
        let stamp = trails.begin(EndpointId(0));
        trails.leave(EndpointId(0), stamp, 0, PortId(1));
        assert_eq!(trails.next(EndpointId(0), stamp, 0), None);
    }
}
