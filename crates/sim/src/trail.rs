//! Trails: the ports by which the packets of a flow left the switches on their way.
//!
//! Where switches hash and no route changes, all packets from one end of a flow take the same way. The
//! first to come to a switch looks it up in the [routes](crate::routing) and leaves its port here for those
//! that follow: one place per endpoint, where a table of routes has one per destination and switch.
//! Packets may outlive their flow, so each bears its trail's stamp, and follows no other.

use crate::packet::NIL;

/// Switches on the longest way that is kept.
const LONGEST: usize = 7;

/// The way of the packets to one endpoint. Half a cache line.
#[derive(Debug, Clone, Copy)]
#[repr(align(32))]
struct Trail {
    stamp: u32,
    /// The port by which the nth switch was left; [`NIL`] if no packet has been there.
    ports: [u32; LONGEST],
}

/// No packet has this trail.
const NO_STAMP: u32 = 0;

/// The trails of all endpoints.
#[derive(Debug)]
pub(crate) struct Trails {
    /// By the endpoint that packets are for.
    trails: Vec<Trail>,
    /// The last stamp given away.
    stamp: u32,
    /// All packets of a flow go the same way.
    kept: bool,
}

impl Trails {
    /// No trails yet; nor later, if ways may change.
    pub(crate) const fn new(kept: bool) -> Self {
        Self { trails: Vec::new(), stamp: NO_STAMP, kept }
    }

    /// Begins the trail of packets to an endpoint; the stamp they bear.
    pub(crate) fn begin(&mut self, to: u32) -> u32 {
        if !self.kept || self.stamp == u32::MAX {
            return NO_STAMP;
        }
        self.stamp += 1;
        if self.trails.len() <= to as usize {
            let none = Trail { stamp: NO_STAMP, ports: [NIL; LONGEST] };
            self.trails.resize(to as usize + 1, none);
        }
        self.trails[to as usize] = Trail { stamp: self.stamp, ports: [NIL; LONGEST] };
        self.stamp
    }

    /// The port by which a packet to this endpoint leaves a switch after having passed so many, if another
    /// has been there before.
    #[inline(always)]
    pub(crate) fn next(&self, to: u32, stamp: u32, passed: u8) -> Option<u32> {
        let trail = self.trails.get(to as usize)?;
        let port = *trail.ports.get(usize::from(passed))?;
        (trail.stamp == stamp && port != NIL).then_some(port)
    }

    /// A packet has found its way.
    pub(crate) fn leave(&mut self, to: u32, stamp: u32, passed: u8, port: u32) {
        if let Some(trail) = self.trails.get_mut(to as usize)
            && trail.stamp == stamp
            && let Some(place) = trail.ports.get_mut(usize::from(passed))
        {
            *place = port;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trail_is_followed_by_its_own_packets_only() {
        let mut trails = Trails::new(true);
        let old = trails.begin(6);
        assert_eq!(trails.next(6, old, 0), None);
        trails.leave(6, old, 0, 40);
        trails.leave(6, old, LONGEST as u8, 41);
        assert_eq!(trails.next(6, old, 0), Some(40));
        assert_eq!(trails.next(6, old, 1), None);
        assert_eq!(trails.next(6, old, LONGEST as u8), None, "longer than what is kept");
        assert_eq!(trails.next(7, old, 0), None, "no such endpoint");
        // The endpoint serves another flow, and late packets of the first neither follow nor lay its trail.
        let new = trails.begin(6);
        assert_eq!(trails.next(6, new, 0), None);
        trails.leave(6, old, 0, 40);
        assert_eq!((trails.next(6, new, 0), trails.next(6, old, 0)), (None, None));
    }

    #[test]
    fn nothing_is_kept_where_ways_may_change() {
        let mut trails = Trails::new(false);
        let stamp = trails.begin(0);
        trails.leave(0, stamp, 0, 1);
        assert_eq!(trails.next(0, stamp, 0), None);
    }
}
