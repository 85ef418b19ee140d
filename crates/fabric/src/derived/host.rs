//! How NICs reach the memory of their servers.

use super::group::Grouped;
use crate::model::{Fabric, HostPath, Nic, PortId};
use serde::Serialize;
use xoff_units::Rate;

/// NICs that reach memory in the same way.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct HostRow {
    /// `server0-nic0 … server3-nic7`.
    pub names: String,
    /// How many.
    pub count: u64,
    /// The slot, where the file gives it.
    pub slot: Option<String>,
    /// Rate of their ports together.
    pub rate: Rate,
    /// Rate out of memory.
    pub send: Rate,
    /// What sets it.
    pub send_limit: &'static str,
    /// Rate into memory.
    pub receive: Rate,
    /// What sets it.
    pub receive_limit: &'static str,
}

pub(super) fn rows(fabric: &Fabric) -> Vec<HostRow> {
    let mut rows = Grouped::default();
    for nic in &fabric.nics {
        if let Some(host) = nic.host {
            rows.add(row(fabric, nic, host), &nic.name);
        }
    }
    rows.into_rows(|mut row, members| {
        row.names = members.span();
        row.count = members.count;
        row
    })
}

fn row(fabric: &Fabric, nic: &Nic, host: HostPath) -> HostRow {
    let ports = nic.ports.clone().map(|port| fabric.cable(PortId(port)).rate.bps());
    HostRow {
        names: String::new(),
        count: 0,
        slot: host.slot.map(|slot| slot.to_string()),
        rate: Rate::from_bps(ports.sum()),
        send: host.send.rate,
        send_limit: host.send.by.name(),
        receive: host.receive.rate,
        receive_limit: host.receive.by.name(),
    }
}
