//! The fabric file that matches a plan.

use crate::plan::Plan;
use std::fmt::Write;
use xoff_config::SystemId;

/// The fabric file of a plan.
pub(crate) fn text(plan: &Plan) -> String {
    let mut text = String::new();
    for server in &plan.servers {
        for nic in &server.nics {
            let _ = writeln!(
                text,
                "[[node]]\nname = '{0}-{1}'\nkind = 'nic'\nserver = '{0}'",
                server.name, nic.device
            );
        }
    }
    for switch in &plan.switches {
        let tier = if switch.spine { "spine" } else { "leaf" };
        let _ = writeln!(
            text,
            "[[node]]\nname = '{}'\nkind = 'switch'\ntier = '{tier}'\nsilicon = 'tomahawk-5'",
            switch.name
        );
    }
    for server in &plan.servers {
        for nic in &server.nics {
            let _ = writeln!(
                text,
                "[[link]]\nends = '{}-{} {}'\nrate = '{}Gbps'\nlength = '{}m'",
                server.name, nic.device, nic.leaf, plan.host_rate, plan.host_length
            );
        }
    }
    for leaf in plan.leaves() {
        for port in leaf.ports.iter().filter(|port| port.up) {
            let _ = writeln!(
                text,
                "[[link]]\nends = '{} {}'\nrate = '{}Gbps'\nlength = '{}m'",
                leaf.name, port.peer, plan.up_rate, plan.up_length
            );
        }
    }
    let [host, up] = plan.ecn;
    let _ = writeln!(
        text,
        "[cluster]\nnic = 'connectx-7'\n[fabric]\nkind = 'custom'\n[switch]\nmtu = '{}B'\n\
         [ecn]\nkmin = '{}B'\nkmax = '{}B'\npmax = '{}%'\nat = '{}Gbps'\nscale = {}\n\
         [traffic]\ndata = {}\ncnp = {}",
        plan.mtu,
        host.kmin,
        host.kmax,
        host.pmax,
        plan.host_rate,
        host != up,
        plan.data,
        plan.cnp
    );
    // PicOS has none.
    if plan.system != SystemId::PicOs {
        let (detect, restore) = plan.watchdog;
        let _ = writeln!(text, "[switch.watchdog]\ndetect = '{detect}ms'\nrestore = '{restore}ms'");
    }
    if let Some(bytes) = plan.xoff {
        let _ = writeln!(text, "[pfc]\nxoff = '{bytes}B'");
    }
    let best = plan.classes[0];
    for class in 0..8u8 {
        let of = |dscp: &u8| plan.classes[usize::from(*dscp)] == class;
        let mut dscps: Vec<u8> = (0..64).filter(of).collect();
        // NICs write the first.
        let first = [plan.data_dscp, plan.cnp_dscp, 0];
        dscps.sort_by_key(|dscp| !first.contains(dscp));
        let turn = match class {
            c if c == plan.cnp => "'strict'".to_owned(),
            c if c == plan.data || plan.second == Some(c) => plan.share.to_string(),
            c if c == best => (100 - plan.share).to_string(),
            // A queue that takes turns makes those below it take turns.
            c if plan.strict_rest && c > plan.data => "'strict'".to_owned(),
            _ => "1".to_owned(),
        };
        let lossless = class == plan.data || plan.second == Some(class);
        let _ = writeln!(
            text,
            "[[class]]\nid = {class}\ndscp = {dscps:?}\nlossless = {lossless}\nscheduling = {turn}"
        );
    }
    text
}
