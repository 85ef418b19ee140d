//! What becomes of DSCP and marks when a switch puts packets into tunnels (VXLAN, IP in IP) and takes them out again.
//!
//! Switches between the two ends see the outer header only: RDMA data is lossless on its way if the outer DSCP is in a class that pauses, and
//! is slowed down if marks of the outer header reach the inner one.

use crate::number::{Class, Dscp};
use crate::place::{Place, Said};

/// What a switch does with packets in tunnels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tunnels {
    /// Where tunnels are configured, if there are any.
    pub place: Option<Place>,
    /// The DSCP of the outer header.
    pub outer: Said<Outer>,
    /// The DSCP of a packet that comes out of a tunnel.
    pub inner: Said<Inner>,
    /// Whether marks are copied to the outer header and back.
    pub marks: Said<bool>,
    /// The DSCP that a class is written as, where headers follow classes.
    pub rewrite: [Said<Dscp>; Class::COUNT],
}

/// Where the DSCP of an outer header comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outer {
    /// From the packet itself.
    Copied,
    /// The same for all packets.
    Fixed(Dscp),
    /// From the class of the packet.
    OfClass,
}

/// Where the DSCP of a packet that leaves a tunnel comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Inner {
    /// It is what it was before.
    Kept,
    /// From the outer header.
    OfOuter,
    /// From the class of the packet.
    OfClass,
}

impl Tunnels {
    /// The DSCP of the outer header of a packet, if it is known.
    pub fn outer(&self, dscp: Dscp, class: Option<Class>) -> Option<Dscp> {
        match self.outer.get()? {
            Outer::Copied => Some(dscp),
            Outer::Fixed(fixed) => Some(fixed),
            Outer::OfClass => self.written(class?),
        }
    }

    /// The DSCP of a packet that leaves a tunnel, by what it was before, its outer header and its class.
    pub fn inner(&self, dscp: Dscp, outer: Dscp, class: Option<Class>) -> Option<Dscp> {
        match self.inner.get()? {
            Inner::Kept => Some(dscp),
            Inner::OfOuter => Some(outer),
            Inner::OfClass => self.written(class?),
        }
    }

    /// What a class is written as: what is said, else the class selector of its number.
    fn written(&self, class: Class) -> Option<Dscp> {
        self.rewrite[class.index()].get().or_else(|| Dscp::new(class.get() << 3))
    }

    /// The lines that say what becomes of the DSCP.
    pub fn places(&self) -> impl Iterator<Item = Place> {
        let rewrites = self.rewrite.iter().filter_map(Said::place);
        [self.place, self.outer.place(), self.inner.place()].into_iter().flatten().chain(rewrites)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_outer_header_follows_packet_class_or_nothing() {
        let dscp = |number| Dscp::new(number).unwrap();
        let class = Class::new(3);
        let mut tunnels = Tunnels::default();
        assert_eq!(tunnels.outer(dscp(26), class), None);
        tunnels.outer = Said::Default(Outer::Copied);
        assert_eq!(tunnels.outer(dscp(26), None), Some(dscp(26)));
        tunnels.outer = Said::Default(Outer::OfClass);
        assert_eq!(tunnels.outer(dscp(26), class), Some(dscp(24)));
        tunnels.rewrite[3] = Said::meant(dscp(2));
        assert_eq!(tunnels.outer(dscp(26), class), Some(dscp(2)));
        tunnels.inner = Said::Default(Inner::OfOuter);
        assert_eq!(tunnels.inner(dscp(26), dscp(2), class), Some(dscp(2)));
        tunnels.outer = Said::meant(Outer::Fixed(dscp(0)));
        assert_eq!(tunnels.outer(dscp(26), class), Some(dscp(0)));
    }
}
