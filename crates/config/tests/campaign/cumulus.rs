//! NVIDIA Cumulus: `nv config show` as commands and as YAML.

use crate::case::Template;
use crate::cumulus_mistakes::mistakes;
use crate::paths::{Tree, joined};
use crate::plan::{Ecn, Plan, Switch};
use std::fmt::Write;
use xoff_config::SystemId;

pub(crate) const TEMPLATE: Template = Template { adjust, source, finish, mistakes, ending: ".txt" };

/// The upper bits of the DSCP are the class. The RoCE mode has values of its own.
fn adjust(plan: &mut Plan) {
    for dscp in 0..64u8 {
        plan.classes[usize::from(dscp)] = dscp >> 3;
    }
    if roce_mode(plan) {
        plan.share = 50;
        plan.ecn = [Ecn { kmin: 150_000, kmax: 1_500_000, pmax: 100 }; 2];
    }
    // Three polls of 100 ms each.
    plan.watchdog = (300, 300);
}

/// Whether `qos roce` does all of it.
pub(crate) fn roce_mode(plan: &Plan) -> bool {
    plan.style == 0
}

/// The name of profiles.
pub(crate) fn profile(plan: &Plan) -> &'static str {
    if plan.style == 1 { plan.policy } else { "default-global" }
}

fn source(plan: &Plan, switch: &Switch) -> String {
    let mut text = String::new();
    let number = switch.number + 1;
    let name = &switch.name;
    let _ = write!(
        text,
        "system|hostname|{name}\nsystem|timezone|Etc/UTC\nsystem|aaa|user|cumulus|full-name|cumulus,,,\n\
         system|aaa|user|cumulus|hashed-password|'*'\nsystem|aaa|user|netops|role|system-admin\n\
         system|message|pre-login|'Authorised users only'\nservice|ntp|mgmt|server|10.10.0.123|{{}}\n\
         service|syslog|mgmt|server|10.10.0.20|port|514\nservice|dns|mgmt|server|10.10.0.53|{{}}\n\
         bridge|domain|br_default|vlan|20|{{}}\n"
    );
    for port in &switch.ports {
        let at = format!("interface|{}", port.name);
        if let Some(description) = plan.description(port) {
            let _ = writeln!(text, "{at}|description|'{description}'");
        }
        let _ = write!(text, "{at}|link|mtu|{}\n{at}|link|speed|{}G\n", plan.mtu, port.rate);
        if plan.style == 1 {
            let _ = writeln!(text, "{at}|link|state|up|{{}}");
        }
        let _ = writeln!(text, "{at}|type|swp");
        ports_qos(plan, port.up, &at, &mut text);
        if plan.dynamic {
            let _ = writeln!(text, "{at}|router|adaptive-routing|{}", on(plan));
        }
    }
    let _ = write!(
        text,
        "interface|eth0|ip|address|10.10.1.{number}/24|{{}}\ninterface|eth0|ip|vrf|mgmt\ninterface|eth0|type|eth\n\
         interface|lo|ip|address|10.255.0.{number}/32|{{}}\ninterface|lo|type|loopback\n\
         interface|swp61|description|'nas01 e3a'\ninterface|swp61|bridge|domain|br_default|access|20\n\
         interface|swp61|link|speed|100G\ninterface|swp61|type|swp\ninterface|swp62|link|state|down|{{}}\n\
         interface|swp62|type|swp\n"
    );
    if plan.style != 1 {
        // The mode and global profiles are on everywhere, also where no GPU is.
        text += "interface|swp61|qos|pfc-watchdog|state|enable\n";
    }
    qos(plan, &mut text);
    routing(plan, switch, &mut text);
    text
}

/// How a feature is turned on: releases differ.
pub(crate) fn on(plan: &Plan) -> &'static str {
    if plan.style == 2 { "state|enabled" } else { "enable|on" }
}

/// The profile of pauses of a port: uplinks are longer.
pub(crate) fn pauses(plan: &Plan, up: bool) -> String {
    match (plan.style, up) {
        (1, false) => plan.policy.to_owned(),
        (_, false) => "default-global".to_owned(),
        (_, true) => format!("{}-long", plan.policy),
    }
}

fn ports_qos(plan: &Plan, up: bool, at: &str, text: &mut String) {
    let _ = writeln!(text, "{at}|qos|pfc-watchdog|state|enable");
    if roce_mode(plan) {
        return;
    }
    if plan.style == 1 || up {
        let _ = writeln!(text, "{at}|qos|pfc|profile|{}", pauses(plan, up));
    }
    if plan.style == 1 {
        let name = profile(plan);
        let _ = write!(
            text,
            "{at}|qos|congestion-control|profile|{name}\n{at}|qos|egress-scheduler|profile|{name}\n"
        );
    }
}

fn qos(plan: &Plan, text: &mut String) {
    if roce_mode(plan) {
        let _ = write!(
            text,
            "qos|roce|enable|on\nqos|roce|mode|lossless\nqos|roce|cable-length|{}\n\
             qos|traffic-pool|default-lossy|memory-percent|50\nqos|traffic-pool|roce-lossless|memory-percent|50\n",
            plan.up_length
        );
    } else {
        let (data, name, ecn) = (plan.data, profile(plan), plan.ecn[0]);
        let _ = write!(
            text,
            "qos|mapping|default-global|trust|l3\nqos|mapping|default-global|dscp|{}|switch-priority|{data}\n\
             qos|mapping|default-global|dscp|{}|switch-priority|{}\n\
             qos|egress-queue-mapping|default-global|switch-priority|{data}|traffic-class|{data}\n\
             qos|egress-queue-mapping|default-global|switch-priority|{}|traffic-class|{}\n\
             qos|traffic-pool|default-lossy|memory-percent|50\nqos|traffic-pool|roce-lossless|memory-percent|50\n\
             qos|traffic-pool|roce-lossless|switch-priority|{data}|{{}}\n",
            plan.data_dscp, plan.cnp_dscp, plan.cnp, plan.cnp, plan.cnp
        );
        for up in [false, true] {
            let at = format!("qos|pfc|{}", pauses(plan, up));
            let metres = if up { plan.up_length } else { plan.host_length };
            let _ = write!(
                text,
                "{at}|cable-length|{metres}\n{at}|rx|enable\n{at}|switch-priority|{data}|{{}}\n{at}|tx|enable\n"
            );
        }
        let _ = write!(
            text,
            "qos|congestion-control|{name}|traffic-class|{data}|ecn|enable\n\
             qos|congestion-control|{name}|traffic-class|{data}|max-threshold|{}\n\
             qos|congestion-control|{name}|traffic-class|{data}|min-threshold|{}\n\
             qos|congestion-control|{name}|traffic-class|{data}|probability|{}\n\
             qos|egress-scheduler|{name}|traffic-class|0|bw-percent|{}\nqos|egress-scheduler|{name}|traffic-class|0|mode|dwrr\n\
             qos|egress-scheduler|{name}|traffic-class|{data}|bw-percent|{}\n\
             qos|egress-scheduler|{name}|traffic-class|{data}|mode|dwrr\n\
             qos|egress-scheduler|{name}|traffic-class|{}|mode|strict\n",
            ecn.kmax,
            ecn.kmin,
            ecn.pmax,
            100 - plan.share,
            plan.share,
            plan.cnp
        );
    }
    *text += "qos|pfc-watchdog|polling-interval|100\nqos|pfc-watchdog|robustness|3\n";
}

fn routing(plan: &Plan, switch: &Switch, text: &mut String) {
    let on = on(plan);
    if plan.dynamic {
        let _ = writeln!(text, "router|adaptive-routing|{on}");
    }
    let _ = write!(
        text,
        "router|bgp|autonomous-system|{}\nrouter|bgp|{on}\nrouter|bgp|router-id|10.255.0.{}\n\
         router|policy|prefix-list|PL-LO|rule|10|match|10.255.0.0/24|max-prefix-len|32\n\
         router|policy|prefix-list|PL-LO|rule|10|action|permit\n\
         vrf|default|router|bgp|address-family|ipv4-unicast|redistribute|connected|{on}\n\
         vrf|default|router|bgp|path-selection|multipath|aspath-ignore|on\n",
        65000 + switch.number,
        switch.number + 1
    );
    if plan.evpn {
        let _ = write!(text, "evpn|{on}\nvrf|default|router|bgp|address-family|l2vpn-evpn|{on}\n");
    }
    for port in switch.ports.iter().filter(|port| port.up) {
        let at = format!("vrf|default|router|bgp|neighbor|{}", port.name);
        let _ = write!(text, "{at}|remote-as|external\n{at}|type|unnumbered\n");
    }
}

fn finish(plan: &Plan, switch: &Switch, source: &str) -> String {
    let lines = joined(source);
    let prompt = format!("cumulus@{}:mgmt:~$", switch.name);
    if plan.system == SystemId::Cumulus {
        let mut text = format!("{prompt} nv config show -o commands\n");
        for line in lines {
            let words = line.strip_suffix("|{}").unwrap_or(&line).replace('|', " ");
            let _ = writeln!(text, "nv set {words}");
        }
        return text + &prompt + "\n";
    }
    let version = if plan.style == 2 { "5.12.0" } else { "5.11.1" };
    let mut text = format!(
        "- header:\n    model: SN5600\n    nvue-api-version: nvue_v1\n    rev-id: 1.0\n    version: Cumulus Linux {version}\n- \
         set:\n"
    );
    if plan.style == 1 {
        text = format!("{prompt} nv config show\n{text}");
    }
    let mut sorted = lines;
    sorted.sort();
    yaml(&Tree::of(sorted.iter().map(String::as_str)), 4, &mut text);
    if plan.style == 1 {
        let _ = writeln!(text, "{prompt}");
    }
    text
}

fn yaml(tree: &Tree, depth: usize, text: &mut String) {
    // An empty entry is not empty where something else is in it.
    let empty = |word: &str| word == "{}" && tree.children.len() > 1;
    for (word, below) in tree.children.iter().filter(|(word, _)| !empty(word)) {
        let number = word.chars().all(|c| c.is_ascii_digit());
        let key = if number { format!("'{word}'") } else { word.clone() };
        let blanks = " ".repeat(depth);
        match below.children.as_slice() {
            [(value, end)] if end.children.is_empty() => {
                let _ = writeln!(text, "{blanks}{key}: {value}");
            }
            _ => {
                let _ = writeln!(text, "{blanks}{key}:");
                yaml(below, depth + 2, text);
            }
        }
    }
}
