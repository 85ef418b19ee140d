//! What a NIC writes into packets and answers to.

use super::cure::Aspect;
use super::finding::{Collector, Fault};
use super::rule;
use super::scene::Site;
use crate::number::{Priorities, Priority};

pub(super) fn check(site: &Site<'_>, found: &mut Collector<'_>) {
    marks(site, found);
    control(site, found);
}

fn marks(site: &Site<'_>, found: &mut Collector<'_>) {
    let nic = &site.port.nic;
    let agreement = site.agreement();
    let place = site.port.place;
    let meant = site.intended.map(|port| &port.nic);
    if let Some(wanted) = meant.and_then(|nic| nic.data_dscp.get()).or(agreement.data_dscp) {
        let unknown = nic.data_dscp.value().is_none() && !nic.shown;
        if nic.data_dscp.get() != Some(wanted) && !unknown {
            let message = match nic.data_dscp.get() {
                Some(dscp) => format!("RDMA data leaves with DSCP {dscp}; {wanted} is meant"),
                None => format!("RDMA data leaves with DSCP 0; {wanted} is meant"),
            };
            let fault = Fault::new(&rule::NIC_DSCP, message)
                .at(nic.data_dscp.place().or(place))
                .cured_by(Aspect::Nic);
            found.port(site, fault);
        } else if nic.cm_dscp.get().is_some_and(|dscp| dscp != wanted) {
            let message = "connections of rdma_cm leave with another DSCP than RDMA data";
            let fault = Fault::new(&rule::NIC_DSCP, message)
                .warning()
                .at(nic.cm_dscp.place())
                .cured_by(Aspect::Nic);
            found.port(site, fault);
        }
    }
    let wanted = meant.and_then(|nic| nic.cnp_dscp.get()).or(agreement.cnp_dscp);
    let Some(wanted) = wanted.filter(|_| agreement.marking) else { return };
    if nic.cnp_dscp.get().is_some_and(|dscp| dscp != wanted) {
        let message = match nic.cnp_dscp.get() {
            Some(dscp) => format!("CNPs leave with DSCP {dscp}; {wanted} is meant"),
            None => String::new(),
        };
        let fault =
            Fault::new(&rule::NIC_CNP, message).at(nic.cnp_dscp.place()).cured_by(Aspect::Nic);
        found.port(site, fault);
    }
}

fn control(site: &Site<'_>, found: &mut Collector<'_>) {
    let agreement = site.agreement();
    let data = agreement.data_class.and_then(|class| Priority::new(class.get()));
    let Some(priority) = data.filter(|_| agreement.marking) else { return };
    let nic = &site.port.nic;
    let lists = [("answer marks", nic.notifies), ("obey notifications", nic.reacts)];
    for (what, said) in lists {
        if said.value().is_none() && !nic.shown {
            continue;
        }
        let on = said.get().unwrap_or(Priorities::NONE);
        if !on.has(priority) {
            let message = format!("the NIC does not {what} in priority {priority}");
            let fault = Fault::new(&rule::NIC_CONTROL, message)
                .at(said.place().or(site.port.place))
                .cured_by(Aspect::Nic);
            found.port(site, fault);
        }
    }
}
