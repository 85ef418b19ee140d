//! One switch, every NIC on it.

use super::terms::Terms;
use super::wiring::{End, Stop, Wiring};
use crate::document::Report;

pub(super) fn wire(terms: &Terms<'_>, _: &mut Report<'_>) -> Result<Wiring, Stop> {
    let mut wiring = Wiring::with_servers(terms)?;
    let switch = wiring.add_tier(&terms.leaf, 1)?.start;
    let cable = wiring.add_cable(&terms.host_cable);
    for nic in 0..wiring.nics.len() as u32 {
        wiring.connect(End::Nic(nic), End::Switch(switch), cable, 1)?;
    }
    Ok(wiring)
}
