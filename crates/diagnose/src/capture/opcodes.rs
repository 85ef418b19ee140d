//! Packets by opcode.

use serde::Serialize;
use xoff_wire::Opcode;

/// Packets of one opcode.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OpcodeCount {
    /// The opcode's byte: service and operation.
    pub opcode: u8,
    /// What it means; nothing if it is not known.
    pub name: Option<String>,
    /// Packets, repeated ones included.
    pub packets: u64,
    /// Bytes of payload in them.
    pub payload_bytes: u64,
}

/// All opcodes.
#[derive(Debug)]
pub(super) struct Opcodes(Box<[(u64, u64); 256]>);

impl Opcodes {
    pub(super) fn new() -> Self {
        Self(Box::new([(0, 0); 256]))
    }

    pub(super) fn count(&mut self, opcode: u8, payload: u32) {
        let (packets, bytes) = &mut self.0[usize::from(opcode)];
        *packets += 1;
        *bytes += u64::from(payload);
    }

    /// Those that were seen, in order.
    pub(super) fn seen(&self) -> Vec<OpcodeCount> {
        let seen = (0..=u8::MAX).zip(self.0.iter()).filter(|(_, (packets, _))| *packets > 0);
        let count = |(opcode, (packets, payload_bytes)): (u8, &(u64, u64))| OpcodeCount {
            opcode,
            name: Opcode::from_raw(opcode).map(|(service, known)| known.name(service)),
            packets: *packets,
            payload_bytes: *payload_bytes,
        };
        seen.map(count).collect()
    }
}
