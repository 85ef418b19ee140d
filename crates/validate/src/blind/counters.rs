//! The counters of a port.

use serde::{Deserialize, Serialize};

/// What an operator scrapes of one port in an interval. Each counter has its own source: none is another one
/// under a second name.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PortCounters {
    /// Like `leaf0→spine1#2`: the device, its neighbour, and which of several cables.
    pub port: String,
    /// The device.
    pub device: String,
    /// The device at the other end, as LLDP says.
    pub neighbour: String,
    /// Whether it is the port of a NIC.
    pub nic: bool,
    /// Whether its neighbour is a NIC.
    pub to_nic: bool,
    /// Link-down events.
    pub link_downs: u64,
    /// Packets received damaged (CRC, FEC uncorrectable).
    pub crc_errors: u64,
    /// Packets out.
    pub tx_packets: u64,
    /// Packets in, damaged ones included.
    pub rx_packets: u64,
    /// Discards for want of buffer.
    pub discards: u64,
    /// Discards for want of a route.
    pub no_route: u64,
    /// Discards by the watchdog.
    pub watchdog_drops: u64,
    /// Queues that the watchdog declared stuck.
    pub watchdog: u64,
    /// PFC frames received that stop a class.
    pub pfc_rx: u64,
    /// PFC frames sent that stop a class.
    pub pfc_tx: u64,
    /// Time for which it could not send because of them, in microseconds.
    pub paused_us: f64,
    /// Packets marked with ECN.
    pub ecn_marked: u64,
    /// At NICs: timeouts of queue pairs.
    pub timeouts: u64,
    /// At NICs: packets sent again.
    pub retransmitted: u64,
    /// At NICs: packets that arrived with others missing before them.
    pub out_of_sequence: u64,
    /// At NICs: queue pairs that gave up.
    pub failures: u64,
}

impl PortCounters {
    /// Whether nothing happened.
    pub fn is_idle(&self) -> bool {
        let counts = [
            self.link_downs,
            self.crc_errors,
            self.tx_packets,
            self.rx_packets,
            self.discards,
            self.no_route,
            self.watchdog_drops,
            self.watchdog,
            self.pfc_rx,
            self.pfc_tx,
            self.timeouts,
        ];
        counts.iter().all(|&count| count == 0) && self.paused_us == 0.0
    }
}
