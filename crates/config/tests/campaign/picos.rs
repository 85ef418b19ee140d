//! FS PicOS as `show | display set` prints it. Watchdog and load balancing are left out: their statements are
//! not known well enough. Of marking, only random early detection as guides have it, in numbers without a unit.

use crate::case::Template;
use crate::draw::Draw;
use crate::edit::{Mistake, swap, without};
use crate::plan::{Cabling, Plan, Port, Switch};
use std::fmt::Write;

pub(crate) const TEMPLATE: Template =
    Template { adjust, source, finish: |_, _, source| source.to_owned(), mistakes, ending: ".txt" };

fn adjust(plan: &mut Plan) {
    plan.dynamic = false;
    // How its LLDP table looks is not known.
    if plan.cabling == Cabling::Lldp {
        plan.cabling = Cabling::Described(0);
    }
}

/// Names of the classes of best effort, data and notifications.
fn classes(plan: &Plan) -> [&'static str; 3] {
    match plan.style {
        0 => ["be", "roce", "cnp"],
        1 => ["TC-DEFAULT", "TC-LOSSLESS", "TC-CNP"],
        _ => ["fc0", "fc3", "fc6"],
    }
}

/// Whether ports have random early detection.
fn early(plan: &Plan) -> bool {
    plan.style != 1
}

/// Its thresholds, in whatever the box counts.
fn counts(plan: &Plan, port: &Port) -> (u64, u64) {
    (plan.ecn(port).kmin / 1000, plan.ecn(port).kmax / 1000)
}

const COS: &str = "set class-of-service";

fn source(plan: &Plan, switch: &Switch) -> String {
    let name = &switch.name;
    let number = switch.number + 1;
    let mut text = format!(
        "admin@{name}# show | display set \nset system hostname {name}\nset system aaa local disable false\nset system login \
         announcement \"Authorised users only\"\nset system ntp server-ip 10.10.0.123\nset system syslog server-ip \
         10.10.0.20\nset system services ssh protocol-version v2\nset system timezone \"Etc/UTC\"\nset ip routing enable \
         true\nset protocols lldp enable true\nset protocols snmp community n0tpublic authorization read-only\nset vlans \
         vlan-id 20 vlan-name storage\nset l3-interface loopback lo address 10.255.0.{number} prefix-length 32\n"
    );
    for port in &switch.ports {
        let at = format!("set interface gigabit-ethernet {}", port.name);
        if early(plan) {
            let (low, high) = counts(plan, port);
            let wred = format!("{at} wred queue {}", plan.data);
            let _ = write!(
                text,
                "{wred} drop_probability {}\n{wred} enable true\n{wred} max_thresh {high}\n{wred} min_thresh {low}\n",
                plan.ecn(port).pmax
            );
        }
        if let Some(description) = plan.description(port) {
            let _ = writeln!(text, "{at} description \"{description}\"");
        }
        let _ = write!(
            text,
            "{at} mtu {}\n{at} speed \"{}\"\nset l3-interface routed-interface rif-{} address 10.{}.{}.0 prefix-length 31\n",
            plan.mtu,
            port.rate * 1000,
            port.number,
            switch.number,
            port.number
        );
    }
    text += "set interface gigabit-ethernet xe-1/1/61 description \"nas01 e3a\"\nset interface gigabit-ethernet xe-1/1/61 \
             family ethernet-switching native-vlan-id 20\nset interface gigabit-ethernet xe-1/1/62 disable true\n";
    class_of_service(plan, switch, &mut text);
    let _ = write!(
        text,
        "set protocols bgp local-as \"{}\"\nset protocols bgp router-id 10.255.0.{number}\nset protocols bgp ebgp-requires-policy \
         false\n",
        65000 + switch.number
    );
    for port in switch.ports.iter().filter(|port| port.up) {
        let _ = writeln!(
            text,
            "set protocols bgp neighbor 10.{}.{}.1 remote-as \"external\"",
            switch.number, port.number
        );
    }
    let _ = writeln!(text, "\nadmin@{name}# ");
    text
}

fn class_of_service(plan: &Plan, switch: &Switch, text: &mut String) {
    let [best, data, cnp] = classes(plan);
    let name = plan.policy;
    for (class, priority) in [(best, 0), (data, plan.data), (cnp, plan.cnp)] {
        let _ = writeln!(text, "{COS} forwarding-class {class} local-priority {priority}");
    }
    let _ = write!(
        text,
        "{COS} classifier {name}-cl trust-mode \"dscp\"\n{COS} classifier {name}-cl forwarding-class {data} code-point {}\n\
         {COS} classifier {name}-cl forwarding-class {cnp} code-point {}\n",
        plan.data_dscp, plan.cnp_dscp
    );
    for dscp in (0..64u8).filter(|d| *d != plan.data_dscp && *d != plan.cnp_dscp) {
        let _ =
            writeln!(text, "{COS} classifier {name}-cl forwarding-class {best} code-point {dscp}");
    }
    let _ = write!(
        text,
        "{COS} scheduler {name}-s-be mode \"WFQ\"\n{COS} scheduler {name}-s-be weight {}\n{COS} scheduler {name}-s-data mode \
         \"WFQ\"\n{COS} scheduler {name}-s-data weight {}\n{COS} scheduler {name}-s-cnp mode \"SP\"\n\
         {COS} scheduler-profile {name}-sp forwarding-class {best} scheduler \"{name}-s-be\"\n\
         {COS} scheduler-profile {name}-sp forwarding-class {data} scheduler \"{name}-s-data\"\n\
         {COS} scheduler-profile {name}-sp forwarding-class {cnp} scheduler \"{name}-s-cnp\"\n\
         {COS} pfc-profile {name}-pfc code-point {} drop false\n",
        100 - plan.share,
        plan.share,
        plan.data
    );
    for port in &switch.ports {
        let at = format!("{COS} interface {}", port.name);
        let _ = write!(
            text,
            "{at} classifier \"{name}-cl\"\n{at} scheduler-profile \"{name}-sp\"\n{at} pfc-profile \"{name}-pfc\"\n"
        );
    }
}

type Change = Box<dyn Fn(&str) -> String>;
type PortChange = Box<dyn Fn(&str, &Port) -> String>;

fn mistakes(plan: &Plan) -> Vec<Mistake> {
    let mut draw = Draw::new(plan.seed, "picos");
    let mut all = Vec::new();
    let early = if early(plan) { early_mistakes(plan) } else { Vec::new() };
    for (title, rules, change) in ports(plan).into_iter().chain(early) {
        let switch = draw.pick(&plan.switches);
        let port = draw.pick(&switch.ports);
        let at = port.clone();
        let edit = move |text: &str| change(text, &at);
        all.push(Mistake::port(title, (&switch.name, &port.name), rules, edit));
    }
    for (title, rules, change) in devices(plan) {
        let switch = draw.pick(&plan.switches);
        all.push(Mistake::device(title, &switch.name, rules, change));
    }
    let switch = draw.pick(&plan.switches);
    all.push(Mistake::truncated(&switch.name));
    all
}

fn ports(plan: &Plan) -> Vec<(&'static str, &'static [&'static str], PortChange)> {
    let mtu: &[&'static str] = &["mtu-small", "mtu-mismatch", "mtu-drift", "fleet-drift"];
    let (own, small, name) = (plan.mtu, plan.host_mtu - 200, plan.policy);
    let at = |port: &Port, what: &str| format!("{COS} interface {} {what}", port.name);
    let pauses = move |text: &str, port: &Port, priorities: &[u8]| {
        let text = swap(
            text,
            &at(port, &format!("pfc-profile \"{name}-pfc\"")),
            &at(port, "pfc-profile \"test\""),
        );
        let line = |p: &u8| format!("{COS} pfc-profile test code-point {p} drop false\n");
        let new: String = priorities.iter().map(line).collect();
        let first = format!("{COS} pfc-profile {name}-pfc");
        swap(&text, &first, &format!("{new}{first}"))
    };
    vec![
        ("pfc missing on a port", &["pfc-missing", "qos-not-applied"], {
            Box::new(move |t, p| without(t, &at(p, "pfc-profile")))
        }),
        (
            "pfc on the wrong priority",
            &["pfc-priority", "pfc-missing"],
            Box::new(move |t, p| pauses(t, p, &[5])),
        ),
        ("pfc on all priorities", &["pfc-all-priorities"], {
            Box::new(move |t, p| pauses(t, p, &[0, 1, 2, 3, 4, 5, 6, 7]))
        }),
        ("classifier missing on a port", &["trust", "data-class", "qos-not-applied"], {
            Box::new(move |t, p| without(t, &at(p, "classifier")))
        }),
        (
            "scheduler profile missing on a port",
            &["cnp-not-strict", "qos-not-applied", "weights-drift"],
            { Box::new(move |t, p| without(t, &at(p, "scheduler-profile"))) },
        ),
        ("nothing of qos on a port", &["qos-not-applied", "pfc-missing"], {
            Box::new(move |t, p| without(t, &at(p, "")))
        }),
        ("mtu of a port missing", mtu, {
            Box::new(|t, p| without(t, &format!("set interface gigabit-ethernet {} mtu", p.name)))
        }),
        ("mtu of a port too small", mtu, {
            Box::new(move |t, p| {
                let line = |n: u64| format!("set interface gigabit-ethernet {} mtu {n}\n", p.name);
                swap(t, &line(own), &line(small))
            })
        }),
    ]
}

fn early_mistakes(plan: &Plan) -> Vec<(&'static str, &'static [&'static str], PortChange)> {
    let at = |port: &Port, data: u8| {
        format!("set interface gigabit-ethernet {} wred queue {data}", port.name)
    };
    let thresholds = |plan: &Plan, change: fn((u64, u64)) -> (u64, u64)| -> PortChange {
        let plan = plan.clone();
        Box::new(move |text, port| {
            let at = at(port, plan.data);
            let line = |(low, high)| format!("{at} max_thresh {high}\n{at} min_thresh {low}\n");
            let own = counts(&plan, port);
            swap(text, &line(own), &line(change(own)))
        })
    };
    let (data, pmax) = (plan.data, plan.ecn[0].pmax);
    vec![
        ("early detection missing on a port", &["ecn-missing"], {
            Box::new(move |t, p| without(t, &at(p, data)))
        }),
        ("early detection not enabled", &["ecn-missing"], {
            Box::new(move |t, p| {
                swap(
                    t,
                    &format!("{} enable true", at(p, data)),
                    &format!("{} enable false", at(p, data)),
                )
            })
        }),
        ("kmax below kmin", &["ecn-range"], thresholds(plan, |(low, high)| (high, low))),
        (
            "thresholds ten times",
            &["ecn-drift", "fleet-drift"],
            thresholds(plan, |(low, high)| (10 * low, 10 * high)),
        ),
        ("probability 0", &["pmax-zero"], {
            Box::new(move |t, p| {
                let line = |n: u64| format!("{} drop_probability {n}\n", at(p, data));
                swap(t, &line(pmax), &line(0))
            })
        }),
    ]
}

fn devices(plan: &Plan) -> Vec<(&'static str, &'static [&'static str], Change)> {
    let [best, data, cnp] = classes(plan);
    let (name, share) = (plan.policy, plan.share);
    let (data_dscp, cnp_dscp, priority) = (plan.data_dscp, plan.cnp_dscp, plan.data);
    let map = move |class: &str, dscp: u8| {
        format!("{COS} classifier {name}-cl forwarding-class {class} code-point {dscp}\n")
    };
    let turn = move |end: &str, rest: &str| format!("{COS} scheduler {name}-s-{end} {rest}\n");
    let pfc = move |p: u8| format!("{COS} pfc-profile {name}-pfc code-point {p} drop false\n");
    vec![
        ("data dscp in best effort", &["data-class"], {
            Box::new(move |t| swap(t, &map(data, data_dscp), &map(best, data_dscp)))
        }),
        ("cnp dscp in the data class", &["cnp-class", "mixed-queue"], {
            Box::new(move |t| swap(t, &map(cnp, cnp_dscp), &map(data, cnp_dscp)))
        }),
        ("best effort in the data class", &["mixed-queue"], {
            Box::new(move |t| swap(t, &map(best, 0), &map(data, 0)))
        }),
        ("trust is dot1p", &["trust"], {
            Box::new(|t| swap(t, "trust-mode \"dscp\"", "trust-mode \"ieee-802.1\""))
        }),
        (
            "data of another priority",
            &["data-class", "pause-group", "pause-queue", "pfc-priority"],
            {
                Box::new(move |t| {
                    let line = |n: u8| format!("forwarding-class {data} local-priority {n}\n");
                    swap(t, &line(priority), &line(2))
                })
            },
        ),
        ("pfc on one priority more", &["pfc-extra"], {
            Box::new(move |t| swap(t, &pfc(priority), &(pfc(priority) + &pfc(4))))
        }),
        ("pfc off on a switch", &["pfc-missing", "qos-not-applied"], {
            Box::new(move |t| swap(t, &pfc(priority), &pfc(priority).replace("false", "true")))
        }),
        ("cnp queue has a weight", &["cnp-not-strict"], {
            Box::new(move |t| {
                swap(
                    t,
                    &turn("cnp", "mode \"SP\""),
                    &(turn("cnp", "mode \"WFQ\"") + &turn("cnp", "weight 5")),
                )
            })
        }),
        ("best effort is strict", &["strict-starves"], {
            Box::new(move |t| {
                let t = swap(t, &turn("be", "mode \"WFQ\""), &turn("be", "mode \"SP\""));
                without(&t, turn("be", "weight").trim_end())
            })
        }),
        ("weights wrong", &["weights-drift", "fleet-drift"], {
            Box::new(move |t| {
                let t =
                    swap(t, &turn("data", &format!("weight {share}")), &turn("data", "weight 5"));
                swap(&t, &turn("be", &format!("weight {}", 100 - share)), &turn("be", "weight 95"))
            })
        }),
    ]
}
