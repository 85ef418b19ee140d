//! RDMA data in tunnels: on its way it has the class of the outer header, and the marks of the outer header.

use super::finding::{Collector, Fault};
use super::rule;
use super::scene::Site;
use crate::device::Port;
use crate::number::{Dscp, Priorities};

/// What becomes of RDMA data that a port takes in and a tunnel carries on.
pub(super) fn check(site: &Site<'_>, found: &mut Collector<'_>) {
    let tunnels = &site.device.tunnels;
    if tunnels.place.is_none() || site.port.tunnelled.get() != Some(true) {
        return;
    }
    let Some(data) = site.agreement().data_dscp else { return };
    let outer = tunnels.outer(data, site.class(data));
    if let Some(outer) = outer {
        on_the_way(site, data, outer, found);
    }
    if let Some(inner) = outer.and_then(|outer| tunnels.inner(data, outer, site.class(outer))) {
        behind(site, data, inner, found);
    }
    if site.marking() && tunnels.marks.get() == Some(false) {
        let message = "tunnels do not carry marks: those of switches on the way are lost";
        let fault = Fault::new(&rule::TUNNEL_MARKS, message);
        found.port(site, fault.at(tunnels.marks.place().or(tunnels.place)));
    }
}

/// The class of the outer header, at the ports that lead into the fabric.
fn on_the_way(site: &Site<'_>, data: Dscp, outer: Dscp, found: &mut Collector<'_>) {
    let all: Vec<Site<'_>> = site.scene.sites_of(site.index, site.device).collect();
    let within = |other: &&Site<'_>| other.port.tunnelled.get() != Some(true);
    let lost = all.iter().filter(within).find(|other| !is_protected(other.port, data, outer));
    let Some(other) = lost else { return };
    let class = other.class(outer).map_or("no class".to_owned(), |class| format!("class {class}"));
    let message = format!(
        "RDMA data goes into tunnels with outer DSCP {outer}, which {} has in {class}: DSCP {data} is protected, \
         the tunnel is not",
        other.name
    );
    let said = other.port.maps.dscp_to_class[outer.index()].place();
    let fault = Fault::new(&rule::TUNNEL_CLASS, message).at(site.device.tunnels.places());
    found.port(site, fault.at(said));
}

/// The class of what comes out of a tunnel, at the port that it leaves by.
fn behind(site: &Site<'_>, data: Dscp, inner: Dscp, found: &mut Collector<'_>) {
    if is_protected(site.port, data, inner) {
        return;
    }
    let message = format!("RDMA data leaves tunnels with DSCP {inner}, not with DSCP {data}");
    let fault = Fault::new(&rule::TUNNEL_CLASS, message).warning();
    found.port(site, fault.at(site.device.tunnels.places()));
}

/// Whether a DSCP is treated as that of RDMA data is: in its class, or in another one that pauses where that does.
fn is_protected(port: &Port, data: Dscp, other: Dscp) -> bool {
    let maps = &port.maps;
    let class = |dscp: Dscp| maps.dscp_to_class[dscp.index()].get();
    if class(data) == class(other) {
        return true;
    }
    let on = port.pfc.get().unwrap_or(Priorities::NONE);
    let pauses = |dscp: Dscp| {
        let group = maps.group_of(dscp);
        on.iter().any(|p| group.is_some() && maps.pfc_to_group[p.index()].get() == group)
    };
    pauses(data) && pauses(other)
}
