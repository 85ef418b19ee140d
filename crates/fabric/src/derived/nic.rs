//! NICs whose limits or DSCPs a file gives.

use super::group::Grouped;
use crate::model::{Fabric, Nic};
use serde::Serialize;
use xoff_units::{PacketRate, Rate};

/// NICs with the same limits and DSCPs.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct NicRow {
    /// `server0-nic0 … server3-nic7`.
    pub names: String,
    /// How many.
    pub count: u64,
    /// Rate at which a port's receive side drains, if that is limited.
    pub receive: Option<Rate>,
    /// Packets that they handle in a second, each way, if that is limited.
    pub packet_rate: Option<PacketRate>,
    /// DSCP that they write into RDMA data.
    pub data_dscp: u8,
    /// DSCP that they write into notifications.
    pub cnp_dscp: u8,
}

pub(super) fn rows(fabric: &Fabric) -> Vec<NicRow> {
    let usual = fabric.classes.each_ref().map(|class| class.dscp);
    let limited = |nic: &Nic| nic.receive.is_some() || nic.packet_rate.is_some();
    let mut rows = Grouped::default();
    for nic in fabric.nics.iter().filter(|nic| limited(nic) || nic.dscp != usual) {
        let (data, cnp) = (fabric.data_class, fabric.cnp_class.unwrap_or(fabric.data_class));
        let row = NicRow {
            names: String::new(),
            count: 0,
            receive: nic.receive.map(|limit| limit.rate),
            packet_rate: nic.packet_rate,
            data_dscp: nic.dscp[usize::from(data.0)],
            cnp_dscp: nic.dscp[usize::from(cnp.0)],
        };
        rows.add(row, &nic.name);
    }
    rows.into_rows(|mut row, members| {
        row.names = members.span();
        row.count = members.count;
        row
    })
}
