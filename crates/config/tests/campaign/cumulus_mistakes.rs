//! Mistakes in NVUE configurations: paths that are set otherwise, missing or too many.

use crate::cumulus::{on, pauses, profile, roce_mode};
use crate::draw::Draw;
use crate::edit::{Mistake, swap, without};
use crate::paths::{add, set};
use crate::plan::{Plan, Port};
use xoff_config::SystemId;

type Change = Box<dyn Fn(&str) -> String>;
type PortChange = Box<dyn Fn(&str, &Port) -> String>;

pub(crate) fn mistakes(plan: &Plan) -> Vec<Mistake> {
    let mut all = ports(plan);
    all.extend(devices(plan));
    let switch = Draw::new(plan.seed, "cumulus truncated").pick(&plan.switches);
    all.push(Mistake::truncated(&switch.name));
    all
}

fn ports(plan: &Plan) -> Vec<Mistake> {
    let mtu: &[&'static str] = &["mtu-small", "mtu-mismatch", "mtu-drift", "fleet-drift"];
    let (small, data) = ((plan.host_mtu - 200).to_string(), plan.data);
    let mut changes: Vec<(&str, &[&'static str], PortChange)> = vec![
        ("mtu of a port is 1500", mtu, {
            Box::new(|t, p| set(t, &format!("interface|{}|link|mtu", p.name), "1500"))
        }),
        ("mtu of a port too small", mtu, {
            Box::new(move |t, p| set(t, &format!("interface|{}|link|mtu", p.name), &small))
        }),
        ("watchdog missing on a port", &["watchdog-missing"], {
            Box::new(|t, p| without(t, &format!("interface|{}|qos|pfc-watchdog", p.name)))
        }),
        ("trust of a port is l2", &["trust"], {
            Box::new(|t, p| {
                let t = add(t, &format!("interface|{}|qos|mapping|profile|host-l2", p.name));
                add(&t, "qos|mapping|host-l2|trust|l2")
            })
        }),
        ("pfc on the wrong priority", &["pfc-priority", "pfc-missing"], {
            Box::new(|t, p| pausing(t, p, &[5]))
        }),
        ("pfc on all priorities", &["pfc-all-priorities"], {
            Box::new(|t, p| pausing(t, p, &[0, 1, 2, 3, 4, 5, 6, 7]))
        }),
        ("cnp queue of a port has a weight", &["cnp-not-strict", "weights-sum"], {
            Box::new(move |t, p| {
                let t =
                    set(t, &format!("interface|{}|qos|egress-scheduler|profile", p.name), "old");
                let lines = [
                    "0|bw-percent|40".to_owned(),
                    "0|mode|dwrr".to_owned(),
                    format!("{data}|bw-percent|50"),
                    format!("{data}|mode|dwrr"),
                    "6|bw-percent|10".to_owned(),
                    "6|mode|dwrr".to_owned(),
                ];
                lines.iter().fold(t, |t, line| {
                    add(&t, &format!("qos|egress-scheduler|old|traffic-class|{line}"))
                })
            })
        }),
    ];
    if plan.style == 1 {
        changes.push(("pfc profile missing on a port", &["pfc-missing", "qos-not-applied"], {
            Box::new(|t, p| without(t, &format!("interface|{}|qos|pfc|", p.name)))
        }));
        changes.push(("marking missing on a port", &["ecn-missing"], {
            Box::new(|t, p| without(t, &format!("interface|{}|qos|congestion-control", p.name)))
        }));
        changes.push(("nothing of qos on a port", &["qos-not-applied", "pfc-missing"], {
            Box::new(|t, p| without(t, &format!("interface|{}|qos|", p.name)))
        }));
    }
    let mut draw = Draw::new(plan.seed, "cumulus ports");
    let mut all = Vec::new();
    for (title, rules, change) in changes {
        let switch = draw.pick(&plan.switches);
        let port = draw.pick(&switch.ports);
        let at = port.clone();
        let edit = move |text: &str| change(text, &at);
        all.push(Mistake::port(title, (&switch.name, &port.name), rules, edit));
    }
    all
}

/// Gives a port a profile that pauses these priorities.
fn pausing(text: &str, port: &Port, priorities: &[u8]) -> String {
    let mut text = set(text, &format!("interface|{}|qos|pfc|profile", port.name), "test-pfc");
    for line in ["cable-length|100", "rx|enable", "tx|enable"] {
        text = add(&text, &format!("qos|pfc|test-pfc|{line}"));
    }
    for priority in priorities {
        text = add(&text, &format!("qos|pfc|test-pfc|switch-priority|{priority}|{{}}"));
    }
    text
}

fn devices(plan: &Plan) -> Vec<Mistake> {
    let (data, cnp, name, ecn) = (plan.data, plan.cnp, profile(plan), plan.ecn[0]);
    let congestion = format!("qos|congestion-control|{name}|traffic-class|{data}");
    let turns = format!("qos|egress-scheduler|{name}|traffic-class");
    let map = "qos|mapping|default-global";
    let to = |path: String, value: &str| -> Change {
        let value = value.to_owned();
        Box::new(move |t| set(t, &path, &value))
    };
    let thresholds = |kmin: u64, kmax: u64| -> Change {
        let congestion = congestion.clone();
        Box::new(move |t| {
            let t = set(t, &format!("{congestion}|min-threshold"), &kmin.to_string());
            set(&t, &format!("{congestion}|max-threshold"), &kmax.to_string())
        })
    };
    let mut changes: Vec<(&str, &[&'static str], Change)> = vec![
        (
            "data dscp in the wrong class",
            &["data-class"],
            to(format!("{map}|dscp|{}|switch-priority", plan.data_dscp), "0"),
        ),
        (
            "cnp dscp in the data class",
            &["cnp-class", "mixed-queue"],
            to(format!("{map}|dscp|{}|switch-priority", plan.cnp_dscp), "3"),
        ),
        ("trust is l2", &["trust"], to(format!("{map}|trust"), "l2")),
        ("best effort in the lossless queue", &["mixed-queue"], {
            to(
                "qos|egress-queue-mapping|default-global|switch-priority|0|traffic-class".into(),
                "3",
            )
        }),
        ("ecn off", &["ecn-off", "ecn-missing"], to(format!("{congestion}|ecn"), "disable")),
        ("kmax below kmin", &["ecn-range", "ecn-drift"], thresholds(ecn.kmax, ecn.kmin)),
        (
            "thresholds ten times",
            &["ecn-drift", "ecn-above-xoff", "fleet-drift"],
            thresholds(ecn.kmin * 10, ecn.kmax * 10),
        ),
        (
            "probability 0",
            &["pmax-zero", "ecn-drift"],
            to(format!("{congestion}|probability"), "0"),
        ),
        ("cnp queue has a weight", &["cnp-not-strict", "weights-sum"], {
            let turns = turns.clone();
            Box::new(move |t| {
                let t = set(t, &format!("{turns}|{cnp}|mode"), "dwrr");
                set(&t, &format!("{turns}|{cnp}|bw-percent"), "10")
            })
        }),
        (
            "best effort is strict",
            &["strict-starves", "weights-sum"],
            to(format!("{turns}|0|mode"), "strict"),
        ),
        ("weights wrong", &["weights-drift", "weights-sum", "fleet-drift"], {
            Box::new(move |t| {
                let t = set(t, &format!("{turns}|{data}|bw-percent"), "5");
                set(&t, &format!("{turns}|0|bw-percent"), "95")
            })
        }),
        ("watchdog off on a switch", &["watchdog-missing"], {
            Box::new(|t| {
                let off = |line: &&str| !line.contains("|qos|pfc-watchdog|");
                t.lines().filter(off).fold(String::new(), |all, line| all + line + "\n")
            })
        }),
        ("watchdog of seconds", &["watchdog-slow", "fleet-drift"], {
            Box::new(|t| {
                let t = set(t, "qos|pfc-watchdog|polling-interval", "5000");
                set(&t, "qos|pfc-watchdog|robustness", "10")
            })
        }),
    ];
    changes.extend(pause_changes(plan));
    if plan.dynamic {
        let on = on(plan);
        changes.push(("load balancing off", &["balancing-missing", "fleet-drift"], {
            Box::new(move |t| without(t, &format!("router|adaptive-routing|{on}")))
        }));
    }
    let mut draw = Draw::new(plan.seed, "cumulus devices");
    let mut all = Vec::new();
    for (title, rules, change) in changes {
        let switch = draw.pick(&plan.switches);
        all.push(Mistake::device(title, &switch.name, rules, change));
    }
    if plan.system == SystemId::CumulusYaml {
        let switch = draw.pick(&plan.switches);
        let older = |text: &str| swap(text, "Cumulus Linux 5.1", "Cumulus Linux 5.0.1");
        let whole =
            Mistake::device("another software version", &switch.name, &["versions-differ"], older);
        all.push(Mistake { edit: crate::edit::Edit::Collected(Box::new(older)), ..whole });
    }
    all
}

fn pause_changes(plan: &Plan) -> Vec<(&'static str, &'static [&'static str], Change)> {
    let data = plan.data;
    if roce_mode(plan) {
        return vec![
            ("roce mode is lossy", &["pfc-missing", "qos-not-applied"], {
                Box::new(|t| set(t, "qos|roce|mode", "lossy"))
            }),
            (
                "roce mode is off",
                &["qos-not-applied", "pfc-missing"],
                Box::new(|t| without(t, "qos|roce")),
            ),
            ("cable length of 3 m", &["headroom-small", "fleet-drift", "cable-mismatch"], {
                Box::new(|t| set(t, "qos|roce|cable-length", "3"))
            }),
        ];
    }
    let long = pauses(plan, true);
    let (second, third, fourth) = (long.clone(), long.clone(), long.clone());
    vec![
        ("pfc off towards switches", &["pfc-missing", "qos-not-applied"], {
            Box::new(move |t| without(t, &format!("qos|pfc|{long}|switch-priority|{data}")))
        }),
        ("pfc on one priority more", &["pfc-extra"], {
            Box::new(move |t| add(t, &format!("qos|pfc|{second}|switch-priority|4|{{}}")))
        }),
        ("cable length of 3 m", &["headroom-small", "fleet-drift", "cable-mismatch"], {
            Box::new(move |t| set(t, &format!("qos|pfc|{third}|cable-length"), "3"))
        }),
        ("cable length missing", &["headroom-small", "fleet-drift", "cable-mismatch"], {
            Box::new(move |t| without(t, &format!("qos|pfc|{fourth}|cable-length")))
        }),
    ]
}
