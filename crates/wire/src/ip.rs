//! What both versions of IP share: the traffic class and the number of what follows.

/// The traffic class (IPv6) or type of service (IPv4): DSCP in the high six bits, ECN in the low
/// two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct TrafficClass(pub u8);

impl TrafficClass {
    /// The class with these parts; of `dscp` the low six bits.
    pub const fn new(dscp: u8, ecn: Ecn) -> Self {
        Self(dscp << 2 | ecn as u8)
    }

    /// The differentiated services code point.
    pub const fn dscp(self) -> u8 {
        self.0 >> 2
    }

    /// The congestion bits.
    pub const fn ecn(self) -> Ecn {
        match self.0 & 3 {
            0 => Ecn::NotCapable,
            1 => Ecn::Capable1,
            2 => Ecn::Capable0,
            _ => Ecn::Congested,
        }
    }
}

/// Explicit congestion notification (RFC 3168, section 5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Ecn {
    /// Not-ECT: a congested switch drops it.
    NotCapable = 0,
    /// ECT(1).
    Capable1 = 1,
    /// ECT(0), what RoCE senders use.
    Capable0 = 2,
    /// CE: a switch on the way was congested.
    Congested = 3,
}

/// The protocol or next-header number of IP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Protocol(pub u8);

impl Protocol {
    /// UDP.
    pub const UDP: Self = Self(17);
    /// TCP.
    pub const TCP: Self = Self(6);
    /// Generic routing encapsulation (RFC 2784).
    pub const GRE: Self = Self(47);
    /// InfiniBand's base transport header, the next header of a GRH (IBTA 8.3).
    pub const IBA: Self = Self(0x1b);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_class_is_its_parts() {
        for raw in 0..=255 {
            let class = TrafficClass(raw);
            assert_eq!(TrafficClass::new(class.dscp(), class.ecn()), class);
        }
        assert_eq!(TrafficClass(106).dscp(), 26);
        assert_eq!(TrafficClass(106).ecn(), Ecn::Capable0);
    }
}
