//! A host whose memory its NIC reads more slowly than the wire takes: PCIe, see
//! [`xoff_fabric::rules::pcie`].
//!
//! A packet with payload holds its port until its bytes are out of memory, so that a NIC never sends
//! faster than its host gives. Acknowledgements and pause frames come from the NIC itself: they wait for
//! the packet before them and hold nothing up. A NIC that handles so many packets in a second holds its port for that
//! time after every packet. The other direction is [`crate::receiver`].
//!
//! Nothing of this is on the way of packets elsewhere: ports of such NICs have
//! [`port_flag::SLOW_HOST`](crate::switch::port::port_flag::SLOW_HOST), which is asked for together with lossy
//! links.

use xoff_fabric::model::{Fabric, Nic, PortId};
use xoff_units::{ByteTime, PacketRate, Rate, Span};

/// The time of a byte out of the host's memory, if that is longer than at the port's `rate`. Ports of a
/// NIC share its slot: each has its part of it.
pub(crate) fn fetch_time(nic: &Nic, rate: Rate) -> Option<ByteTime> {
    let all = nic.host?.send.rate;
    let part = Rate::from_bps(all.bps() / nic.ports.len().max(1) as u64);
    (part < rate).then(|| ByteTime::of(part))
}

/// The time that a packet takes at least at one port of a NIC that handles so many in a second: its ports share them.
pub(crate) fn packet_time(nic: &Nic) -> Span {
    let time = nic.packet_rate.map_or(Span::ZERO, PacketRate::packet_time);
    time * nic.ports.len().max(1) as u64
}

/// Whether a port belongs to a NIC whose host, or which itself, can be slower than it.
pub(crate) fn is_slow(fabric: &Fabric, port: PortId) -> bool {
    let node = fabric.ports[port.index()].node;
    let nic = fabric.nics.get(node.index());
    nic.is_some_and(|nic| {
        nic.packet_rate.is_some() || fetch_time(nic, fabric.cable(port).rate).is_some()
    })
}
