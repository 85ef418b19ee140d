//! What a NIC writes into packets and answers to.

use super::cure::Aspect;
use super::finding::{Collector, Fault};
use super::rule;
use super::scene::Site;
use crate::device::{Device, Gid, Maker};
use crate::number::{Dscp, Priorities, Priority};

/// Parameters of DCQCN on NVIDIA's NICs, with the least and the most that makes sense and what is beyond. Ranges of
/// `rpg_gd` and the meaning of 100 are in NVIDIA's description of the parameters; `rpg_byte_reset` has 15 bits,
/// shares of 1024 have ten.
const RANGES: [(&str, u32, u32, &str); 9] = [
    ("dce_tcp_g", 1, 1023, "it is the weight of the old estimate, in 1024ths"),
    ("initial_alpha_value", 1, 1023, "it is a share of 1024"),
    ("rpg_gd", 10, 11, "a cut is the rate times alpha, shifted by it"),
    (
        "rpg_min_dec_fac",
        1,
        99,
        "it is the percentage that a cut leaves at least, and 100 forbids cuts",
    ),
    ("rpg_threshold", 1, 31, "it counts the steps of each stage of recovery"),
    ("rpg_ai_rate", 1, 100_000, "it is the step of recovery in Mb/s"),
    ("rpg_hai_rate", 1, 100_000, "it is the step of fast recovery in Mb/s"),
    ("rpg_byte_reset", 1, 32_767, "it counts what is sent between two steps"),
    ("rate_reduce_monitor_period", 1, 10_000, "it is the time between two cuts in us"),
];

/// The last index of a NIC's address table that is not RoCEv2 over IPv4 on most machines with NICs of NVIDIA.
const LAST_EARLY_INDEX: u8 = 2;

pub(super) fn check(site: &Site<'_>, found: &mut Collector<'_>) {
    marks(site, found);
    notifications(site, found);
    control(site, found);
    ranges(site, found);
}

fn ranges(site: &Site<'_>, found: &mut Collector<'_>) {
    let of = |name: &str| site.port.congestion.get(name);
    for (name, least, most, what) in RANGES {
        let Some(said) = of(name) else { continue };
        let Some(value) = said.get().filter(|value| !(least..=most).contains(value)) else {
            continue;
        };
        let message = format!("{name} is {value}; {least} to {most} is its range: {what}");
        found.port(site, Fault::new(&rule::NIC_RANGE, message).at(said.place()));
    }
    let (Some(slow), Some(fast)) = (of("rpg_ai_rate"), of("rpg_hai_rate")) else { return };
    if slow.get() > fast.get() {
        let (slow_rate, fast_rate) = (slow.get().unwrap_or(0), fast.get().unwrap_or(0));
        let message = format!(
            "rpg_ai_rate {slow_rate} is above rpg_hai_rate {fast_rate}: recovery slows down as it goes on"
        );
        let places = [slow.place(), fast.place()].into_iter().flatten();
        found.port(site, Fault::new(&rule::NIC_RANGE, message).at(places));
    }
}

/// The address that NCCL uses on each NIC.
pub(super) fn gid(index: usize, device: &Device, found: &mut Collector<'_>) {
    let said = &device.nccl.gid_index;
    let Some(number) = said.get() else { return };
    let used = || device.ports.iter().filter(|(name, _)| device.nccl.may_use(name.as_str()));
    let (mut wrong, mut of_link): (Vec<String>, Vec<String>) = (Vec::new(), Vec::new());
    for (name, port) in used().filter(|(_, port)| !port.gids.is_empty()) {
        let routed = port.gids.iter().find(|(_, gid)| **gid == Gid::V2);
        match port.gids.get(&number) {
            Some(Gid::V2) => {}
            Some(Gid::V2Link) => of_link.extend(routed.map(|(routed, _)| {
                format!(
                    "{name} has an address of the link there, and one that is routed at {routed}"
                )
            })),
            Some(Gid::V1) => wrong.push(format!("{name} has RoCEv1 there")),
            None => wrong.push(format!("{name} has no such entry")),
        }
    }
    let shown = used().any(|(_, port)| !port.gids.is_empty());
    let nvidia = |name: &str, port: &crate::device::Port| {
        port.nic.maker.or(Maker::of_device(name)) == Some(Maker::Nvidia)
    };
    let early =
        number <= LAST_EARLY_INDEX && used().any(|(name, port)| nvidia(name.as_str(), port));
    let listed = |mut all: Vec<String>| {
        let more = all.len().saturating_sub(2);
        let more = if more > 0 { format!(", and {more} more") } else { String::new() };
        all.truncate(2);
        let message = format!("NCCL_IB_GID_INDEX={number}: {}{more}", all.join(", "));
        Fault::new(&rule::NCCL_GID, message)
    };
    let fault = if !wrong.is_empty() {
        listed(wrong)
    } else if !of_link.is_empty() {
        listed(of_link).warning()
    } else if early && !shown {
        let message = format!(
            "NCCL_IB_GID_INDEX={number} is usually RoCEv1 or a link-local address; RoCEv2 over IPv4 is usually 3"
        );
        Fault::new(&rule::NCCL_GID, message).warning()
    } else {
        return;
    };
    found.device(index, fault.at(said.place()).cured_by(Aspect::Nccl));
}

fn marks(site: &Site<'_>, found: &mut Collector<'_>) {
    let nic = &site.port.nic;
    let agreement = site.agreement();
    let place = site.port.place;
    let meant = site.intended.map(|port| &port.nic);
    if let Some(wanted) = meant.and_then(|nic| nic.data_dscp.get()).or(agreement.data_dscp) {
        let unknown = nic.data_dscp.value().is_none() && !nic.shown;
        if nic.data_dscp.get() != Some(wanted) && !unknown {
            let own = nic.data_dscp.get().map_or(0, Dscp::get);
            let unmarked = site.scene.nics_unmarked;
            let message = match unmarked {
                true => format!(
                    "RDMA data leaves with DSCP {own} unless jobs say otherwise, which no file shows; switches protect {wanted}"
                ),
                false => format!("RDMA data leaves with DSCP {own}; {wanted} is meant"),
            };
            let fault = Fault::new(&rule::NIC_DSCP, message)
                .at(nic.data_dscp.place().or(place))
                .cured_by(Aspect::Nic);
            found.port(site, if unmarked { fault.warning() } else { fault });
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

/// Notifications in the class of RDMA data, on a NIC that is meant to have them apart.
fn notifications(site: &Site<'_>, found: &mut Collector<'_>) {
    let agreement = site.agreement();
    let (Some(cnp), Some(data)) = (agreement.cnp_dscp, agreement.data_dscp) else { return };
    let own = site.class(cnp).filter(|own| Some(*own) == site.class(data));
    let (Some(own), true) = (own, agreement.cnp_apart) else { return };
    let said = &site.port.maps.dscp_to_class[cnp.index()];
    let meant = site.meant.and_then(|meant| meant.maps.dscp_to_class[cnp.index()].get());
    if meant.is_some_and(|meant| meant != own) {
        let message = format!("CNPs (DSCP {cnp}) are in class {own} with RDMA data");
        let fault = Fault::new(&rule::CNP_CLASS, message).at(said.place()).cured_by(Aspect::Maps);
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
