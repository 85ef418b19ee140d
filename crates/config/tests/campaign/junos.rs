//! Juniper Junos on QFX: `show configuration` with braces and as `set` commands.
//!
//! The source has one path per line. `+` joins what braces print as one statement and `display set` as several; a list
//! in brackets is one statement with braces and one command for each value.

use crate::case::Template;
use crate::junos_mistakes::mistakes;
use crate::paths::Tree;
use crate::plan::{Ecn, Plan, Port, Switch};
use std::collections::BTreeSet;
use std::fmt::Write;
use xoff_config::SystemId;

pub(crate) const TEMPLATE: Template =
    Template { adjust, source, finish, mistakes, ending: ".conf" };

/// Thresholds are shares of what a queue may hold; both speeds have the same.
fn adjust(plan: &mut Plan) {
    let (low, high) = levels(plan);
    plan.ecn = [Ecn { kmin: low * 10_000, kmax: high * 10_000, pmax: 100 }; 2];
    plan.xoff = Some(1_000_000);
    // What boxes do when nothing is said.
    plan.watchdog.1 = 200;
}

/// Fill levels in percent between which marking grows.
pub(crate) fn levels(plan: &Plan) -> (u64, u64) {
    [(55, 90), (20, 60), (40, 80)][plan.seed as usize % 3]
}

/// Whether every port is named below `class-of-service interfaces`, instead of `et-*`.
pub(crate) fn per_port(plan: &Plan) -> bool {
    plan.style != 0
}

/// Forwarding classes of data and of notifications.
pub(crate) fn classes(plan: &Plan) -> [&'static str; 2] {
    match plan.style {
        0 => ["NO-LOSS", "CNP"],
        1 => ["rdma", "cnp"],
        _ => ["FC_ROCE", "FC_CNP"],
    }
}

/// The queue of data: not always the number of its priority.
pub(crate) fn queue(plan: &Plan) -> u8 {
    if plan.style == 0 { 4 } else { plan.data }
}

/// The share of data in percent; what is left over is for all.
pub(crate) fn rdma_share(plan: &Plan) -> u64 {
    if plan.style == 1 { plan.share - 5 } else { plan.share }
}

/// A DSCP or priority in bits.
pub(crate) fn bits(value: u8, width: usize) -> String {
    format!("{value:0width$b}")
}

fn source(plan: &Plan, switch: &Switch) -> String {
    let number = switch.number + 1;
    let name = &switch.name;
    let mut text = format!(
        "version 23.4X100-D20.7-EVO\nsystem|host-name {name}\nsystem|root-authentication|encrypted-password \
         \"$6$Qj3kLmNo$uJw0zT8yPq2vRx\"\nsystem|login|user netops|uid 2001\nsystem|login|user netops|class super-user\n\
         system|login|message \"Authorised users only\"\nsystem|services|ssh\nsystem|services|netconf|ssh\n\
         system|name-server|10.10.0.53\nsystem|syslog|host 10.10.0.20|any notice\nsystem|syslog|file \
         messages|any notice\nsystem|ntp|server 10.10.0.123\n"
    );
    let mut parents: Vec<&str> = Vec::new();
    for port in &switch.ports {
        interface(plan, switch, port, &mut parents, &mut text);
    }
    let _ = write!(
        text,
        "interfaces|et-0/0/60|description \"nas01 e3a\"\ninterfaces|et-0/0/60|speed 100g\ninterfaces|et-0/0/60|unit \
         0|family ethernet-switching|vlan|members storage\ninterfaces|et-0/0/61|disable\n\
         interfaces|lo0|unit 0|family inet|address 10.255.0.{number}/32\ninterfaces|re0:mgmt-0|unit 0|family \
         inet|address 10.10.1.{number}/24\nvlans|storage|vlan-id 20\nsnmp|community n0tpublic|authorization read-only\n"
    );
    if plan.dynamic {
        text += "forwarding-options|enhanced-hash-key|ecmp-dlb|flowlet|inactivity-interval 256\n\
                 forwarding-options|enhanced-hash-key|ecmp-dlb|ether-type|ipv4\n";
    }
    policies(plan, switch, &mut text);
    class_of_service(plan, switch, &mut text);
    text
}

fn interface<'p>(
    plan: &Plan,
    switch: &Switch,
    port: &'p Port,
    parents: &mut Vec<&'p str>,
    text: &mut String,
) {
    let at = format!("interfaces|{}", port.name);
    match port.name.split_once(':') {
        Some((parent, _)) if !parents.contains(&parent) => {
            parents.push(parent);
            let links = 800 / port.rate;
            let _ = write!(
                text,
                "interfaces|{parent}|number-of-sub-ports {links}\ninterfaces|{parent}|speed {}g\n",
                port.rate
            );
        }
        Some(_) => {}
        None => {
            let _ = writeln!(text, "{at}|speed {}g", port.rate);
        }
    }
    if let Some(description) = plan.description(port) {
        let _ = writeln!(text, "{at}|description \"{}\"", description.replace('|', "/"));
    }
    let _ = write!(
        text,
        "{at}|mtu {}\n{at}|unit 0|family inet|address 10.{}.{}.0/31\n",
        plan.mtu, switch.number, port.number
    );
}

fn policies(plan: &Plan, switch: &Switch, text: &mut String) {
    let number = switch.number + 1;
    let _ = write!(
        text,
        "policy-options|prefix-list PL-LO|10.255.0.0/24\npolicy-options|policy-statement ECMP|then|load-balance per-packet\n\
         policy-options|policy-statement ECMP|then|accept\nfirewall|family inet|filter PROTECT-RE|term bgp|from|protocol \
         tcp\nfirewall|family inet|filter PROTECT-RE|term bgp|from|destination-port bgp\nfirewall|family inet|filter \
         PROTECT-RE|term bgp|then|accept\nfirewall|family inet|filter PROTECT-RE|term rest|then|discard\n\
         routing-options|router-id 10.255.0.{number}\nrouting-options|autonomous-system {}\n\
         routing-options|forwarding-table|export ECMP\nprotocols|lldp|interface all\n\
         protocols|bgp|group underlay|type external\nprotocols|bgp|group underlay|multipath|multiple-as\n",
        65000 + switch.number
    );
    for port in switch.ports.iter().filter(|port| port.up) {
        let _ = writeln!(
            text,
            "protocols|bgp|group underlay|neighbor 10.{}.{}.1|peer-as {}",
            switch.number,
            port.number,
            65100 + port.number
        );
    }
    if plan.evpn {
        *text += "protocols|bgp|group overlay|family evpn|signaling\nprotocols|bgp|group overlay|type internal\n";
    }
}

fn class_of_service(plan: &Plan, switch: &Switch, text: &mut String) {
    let [data, cnp] = classes(plan);
    let name = plan.policy;
    let (low, high) = levels(plan);
    let code = |dscp: u8| bits(dscp, 6);
    let cos = "class-of-service";
    let _ = write!(
        text,
        "{cos}|classifiers|dscp {name}|forwarding-class {cnp}|loss-priority low|code-points {}\n\
         {cos}|classifiers|dscp {name}|forwarding-class {data}|loss-priority low|code-points {}\n\
         {cos}|drop-profiles|{name}-dp|interpolate|fill-level [ {low} {high} ]\n\
         {cos}|drop-profiles|{name}-dp|interpolate|drop-probability [ 0 100 ]\n\
         {cos}|shared-buffer|ingress|buffer-partition lossless|percent 66\n\
         {cos}|shared-buffer|ingress|buffer-partition lossless-headroom|percent 24\n\
         {cos}|shared-buffer|ingress|buffer-partition lossy|percent 10\n\
         {cos}|shared-buffer|egress|buffer-partition lossless|percent 66\n\
         {cos}|shared-buffer|egress|buffer-partition lossy|percent 10\n\
         {cos}|forwarding-classes|class {cnp}+queue-num {}\n\
         {cos}|forwarding-classes|class {data}+queue-num {}+no-loss+pfc-priority {}\n\
         {cos}|forwarding-classes|class best-effort+queue-num 0\n",
        code(plan.cnp_dscp),
        code(plan.data_dscp),
        plan.cnp,
        queue(plan),
        plan.data
    );
    for up in [false, true] {
        let profile = pauses(plan, up);
        let at = format!("{cos}|congestion-notification-profile {profile}");
        let metres = if up { plan.up_length } else { plan.host_length };
        if plan.style != 0 {
            let _ = writeln!(text, "{at}|input|cable-length {metres}");
        }
        let _ = write!(
            text,
            "{at}|input|dscp|code-point {}|pfc\n{at}|output|ieee-802.1|code-point {}|flow-control-queue {}\n{at}|pfc-watchdog\n",
            code(plan.data_dscp),
            bits(plan.data, 3),
            queue(plan)
        );
        if plan.style == 0 {
            break;
        }
    }
    let _ = write!(
        text,
        "{cos}|scheduler-maps|{name}-sm|forwarding-class {cnp} scheduler {name}-cnp\n\
         {cos}|scheduler-maps|{name}-sm|forwarding-class {data} scheduler {name}-data\n\
         {cos}|scheduler-maps|{name}-sm|forwarding-class best-effort scheduler {name}-be\n\
         {cos}|schedulers|{name}-cnp|priority strict-high\n\
         {cos}|schedulers|{name}-data|transmit-rate percent {}\n\
         {cos}|schedulers|{name}-data|drop-profile-map loss-priority any protocol any drop-profile {name}-dp\n\
         {cos}|schedulers|{name}-data|explicit-congestion-notification\n\
         {cos}|schedulers|{name}-be|transmit-rate percent {}\n",
        rdma_share(plan),
        100 - plan.share
    );
    if !per_port(plan) {
        bind(plan, "et-*", "*", false, text);
        return;
    }
    for port in &switch.ports {
        bind(plan, &port.name, if plan.style == 1 { "0" } else { "*" }, port.up, text);
    }
}

/// The profile of pauses of a port.
pub(crate) fn pauses(plan: &Plan, up: bool) -> String {
    match (per_port(plan), up) {
        (false, _) => format!("{}-cnp-profile", plan.policy),
        (true, false) => format!("{}-host", plan.policy),
        (true, true) => format!("{}-fabric", plan.policy),
    }
}

fn bind(plan: &Plan, port: &str, unit: &str, up: bool, text: &mut String) {
    let at = format!("class-of-service|interfaces|{port}");
    let _ = write!(
        text,
        "{at}|congestion-notification-profile {}\n{at}|scheduler-map {}-sm\n{at}|unit {unit}|classifiers|dscp {}\n",
        pauses(plan, up),
        plan.policy,
        plan.policy
    );
}

fn finish(plan: &Plan, switch: &Switch, source: &str) -> String {
    let mut text = String::new();
    if plan.system == SystemId::JunosSet {
        let _ =
            writeln!(text, "admin@{}> show configuration | display set | no-more ", switch.name);
        for line in source.lines() {
            commands(&line.replace(INACTIVE, ""), &mut text);
        }
        let off: BTreeSet<String> = source.lines().filter_map(deactivated).collect();
        text.extend(off);
        let _ = write!(text, "\n{{master:0}}\nadmin@{}> \n", switch.name);
        return text;
    }
    let _ = writeln!(
        text,
        "admin@{}> show configuration | no-more \n## Last commit: 2026-11-15 09:12:44 UTC by netops",
        switch.name
    );
    braces(&Tree::of(source.lines()), 0, &mut text);
    let _ = write!(text, "\n{{master:0}}\nadmin@{}> \n", switch.name);
    text
}

/// What braces print before a level that is switched off.
const INACTIVE: &str = "inactive: ";

/// The command that switches off a level; a single value is switched off by its name.
fn deactivated(line: &str) -> Option<String> {
    let (outer, inner) = line.split_once(INACTIVE)?;
    let level = match inner.split_once('|') {
        Some((level, _)) => level,
        None => inner.split(' ').next().unwrap_or(inner),
    };
    Some(format!("deactivate {}{level}\n", outer.replace('|', " ")))
}

fn commands(line: &str, text: &mut String) {
    let (path, last) = line.rsplit_once('|').map_or(("", line), |(path, last)| (path, last));
    let path = path.replace('|', " ");
    let start = if path.is_empty() { "set".to_owned() } else { format!("set {path}") };
    if let Some((key, list)) = last.split_once(" [ ") {
        for value in list.trim_end_matches(" ]").split(' ') {
            let _ = writeln!(text, "{start} {key} {value}");
        }
        return;
    }
    match last.split_once('+') {
        Some((head, options)) => {
            for option in options.split('+') {
                let _ = writeln!(text, "{start} {head} {option}");
            }
        }
        None => {
            let _ = writeln!(text, "{start} {last}");
        }
    }
}

fn braces(tree: &Tree, depth: usize, text: &mut String) {
    let blanks = "    ".repeat(depth);
    for (word, below) in &tree.children {
        let word = word.replace('+', " ");
        if below.children.is_empty() {
            let secret = if word.contains("encrypted-password") { " ## SECRET-DATA" } else { "" };
            let _ = writeln!(text, "{blanks}{word};{secret}");
        } else {
            let _ = writeln!(text, "{blanks}{word} {{");
            braces(below, depth + 1, text);
            let _ = writeln!(text, "{blanks}}}");
        }
    }
}
