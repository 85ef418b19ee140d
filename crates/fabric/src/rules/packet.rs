//! The largest and the smallest packet that queue pairs of a configuration put on the wire.

use xoff_transport::config::{Congestion, QpConfig};
use xoff_units::Bytes;

/// Extended headers a data packet may carry at most: RETH (16) and immediate data (4).
const EXTENSIONS: Bytes = Bytes::new(20);
/// In-band telemetry of up to five hops.
const TELEMETRY: Bytes = Bytes::new(64);
/// The shortest Ethernet frame.
const SHORTEST_FRAME: Bytes = Bytes::new(64);

/// Ethernet's header and check sequence, which the MTU of a host or a router does not count.
pub const ETHERNET: Bytes = Bytes::new(18);

/// What VXLAN puts around a packet: Ethernet, IPv4, UDP and its own header (14 + 20 + 8 + 8, RFC 7348
/// section 5). The inner frame travels without its check sequence, the outer one has one.
pub(crate) const VXLAN: Bytes = Bytes::new(50);

/// The same queue pair with its packets in VXLAN.
pub fn in_vxlan(qp: &QpConfig) -> QpConfig {
    let mut tunnelled = qp.clone();
    let framing = &mut tunnelled.framing;
    framing.header += VXLAN;
    for given in [&mut framing.ack, &mut framing.cnp] {
        // What is not given follows from the header.
        if !given.is_zero() {
            *given += VXLAN;
        }
    }
    tunnelled
}

/// Bytes of the largest packet, without the gap.
pub fn largest(qp: &QpConfig) -> Bytes {
    let telemetry =
        if matches!(qp.congestion, Congestion::Hpcc(_)) { TELEMETRY } else { Bytes::ZERO };
    let extensions = if qp.framing.extensions { EXTENSIONS } else { Bytes::ZERO };
    (qp.mtu + qp.framing.header + extensions + telemetry).max(qp.framing.ack).max(qp.framing.cnp)
}

/// Bytes of the largest packet as an IP MTU counts it: without Ethernet's own.
pub fn largest_ip(qp: &QpConfig) -> Bytes {
    largest(qp).saturating_sub(ETHERNET)
}

/// The same of queue pairs as they are by default, where no fabric says how they are.
pub fn default_largest_ip() -> Bytes {
    largest_ip(&QpConfig::default())
}

/// Bytes of the smallest packet, without the gap.
pub(crate) fn smallest(qp: &QpConfig) -> Bytes {
    let framing = &qp.framing;
    let or_shortest = |size: Bytes| if size.is_zero() { SHORTEST_FRAME } else { size };
    // The last packet of a message may carry a single byte.
    let data =
        if framing.pad_last { framing.header + qp.mtu } else { framing.header + Bytes::new(1) };
    data.min(or_shortest(framing.ack)).min(or_shortest(framing.cnp)).max(Bytes::new(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn default_packets() {
        let qp = QpConfig::default();
        assert_eq!(largest(&qp), Bytes::new(4096 + 62 + 20));
        assert_eq!(smallest(&qp), Bytes::new(63));
    }
}
