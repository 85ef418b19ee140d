//! Mistakes in Junos configurations.

use crate::draw::Draw;
use crate::edit::{Mistake, swap, without};
use crate::junos::{bits, classes, levels, pauses, per_port, queue, rdma_share};
use crate::plan::{Plan, Port};

type Change = Box<dyn Fn(&str) -> String>;
type PortChange = Box<dyn Fn(&str, &Port) -> String>;
type Changes = Vec<(&'static str, &'static [&'static str], Change)>;

const COS: &str = "class-of-service";

pub(crate) fn mistakes(plan: &Plan) -> Vec<Mistake> {
    let mut all = ports(plan);
    let mut changes = classify(plan);
    changes.extend(queues(plan));
    changes.extend(switched_off(plan));
    let mut draw = Draw::new(plan.seed, "junos devices");
    for (title, rules, change) in changes {
        let switch = draw.pick(&plan.switches);
        all.push(Mistake::device(title, &switch.name, rules, change));
    }
    let switch = draw.pick(&plan.switches);
    all.push(Mistake::truncated(&switch.name));
    all
}

/// Changes all lines that begin like this.
fn lines(text: &str, start: &str, change: impl Fn(&str) -> String) -> String {
    let mut found = false;
    let done = text.lines().fold(String::new(), |all, line| {
        let own = line.starts_with(start);
        found |= own;
        all + &if own { change(line) } else { line.to_owned() } + "\n"
    });
    assert!(found, "no line begins with `{start}` in\n{text}");
    done
}

/// Switches off the last level of a path, with all below it.
fn inactive(text: &str, path: &str) -> String {
    let level = path.trim_end_matches('|');
    let (outer, last) = path.split_at(level.rfind('|').map_or(0, |at| at + 1));
    lines(text, path, |line| format!("{outer}inactive: {last}{}", &line[path.len()..]))
}

fn ports(plan: &Plan) -> Vec<Mistake> {
    let mtu: &[&'static str] = &["mtu-small", "mtu-mismatch", "mtu-drift", "fleet-drift"];
    let (own, small) = (plan.mtu, plan.host_mtu - 200);
    let mut changes: Vec<(&str, &[&'static str], PortChange)> = vec![
        ("mtu of a port missing", mtu, {
            Box::new(|t, p| without(t, &format!("interfaces|{}|mtu", p.name)))
        }),
        ("mtu of a port too small", mtu, {
            Box::new(move |t, p| {
                swap(
                    t,
                    &format!("interfaces|{}|mtu {own}\n", p.name),
                    &format!("interfaces|{}|mtu {small}\n", p.name),
                )
            })
        }),
    ];
    changes.push(("mtu of a port inactive", mtu, {
        Box::new(|t, p| inactive(t, &format!("interfaces|{}|mtu", p.name)))
    }));
    if per_port(plan) {
        changes.push(("pauses of a port inactive", &["pfc-missing", "qos-not-applied"], {
            Box::new(|t, p| {
                inactive(t, &format!("{COS}|interfaces|{}|congestion-notification-profile", p.name))
            })
        }));
        changes.push(("qos of a port inactive", &["qos-not-applied", "pfc-missing"], {
            Box::new(|t, p| inactive(t, &format!("{COS}|interfaces|{}|", p.name)))
        }));
        changes.push(("pauses missing on a port", &["pfc-missing", "qos-not-applied"], {
            Box::new(|t, p| without(t, &format!("{COS}|interfaces|{}|congestion", p.name)))
        }));
        changes.push((
            "scheduler map missing on a port",
            &["ecn-missing", "qos-not-applied", "cnp-not-strict"],
            { Box::new(|t, p| without(t, &format!("{COS}|interfaces|{}|scheduler-map", p.name))) },
        ));
        changes.push((
            "classifier missing on a port",
            &["trust", "data-class", "qos-not-applied"],
            { Box::new(|t, p| without(t, &format!("{COS}|interfaces|{}|unit", p.name))) },
        ));
        changes.push(("nothing of qos on a port", &["qos-not-applied", "pfc-missing"], {
            Box::new(|t, p| without(t, &format!("{COS}|interfaces|{}|", p.name)))
        }));
        let host = pauses(plan, false);
        let fabric = pauses(plan, true);
        changes.push((
            "short cable at an uplink",
            &["headroom-small", "fleet-drift", "cable-mismatch"],
            {
                Box::new(move |t, p| {
                    let line =
                        format!("{COS}|interfaces|{}|congestion-notification-profile ", p.name);
                    swap(t, &format!("{line}{fabric}"), &format!("{line}{host}"))
                })
            },
        ));
    }
    let mut draw = Draw::new(plan.seed, "junos ports");
    let mut all = Vec::new();
    for (title, rules, change) in changes {
        let leaves: Vec<_> = plan.leaves().cloned().collect();
        let uplink = title.ends_with("uplink");
        let switch = draw.pick(if uplink { &leaves } else { &plan.switches });
        let ports: Vec<_> = switch.ports.iter().filter(|p| p.up || !uplink).cloned().collect();
        let port = draw.pick(&ports);
        let at = port.clone();
        let edit = move |text: &str| change(text, &at);
        all.push(Mistake::port(title, (&switch.name, &port.name), rules, edit));
    }
    all
}

fn classify(plan: &Plan) -> Changes {
    let [data, cnp] = classes(plan);
    let name = plan.policy;
    let (priority, own_queue) = (plan.data, queue(plan));
    let code = bits(plan.data_dscp, 6);
    let cnp_code = bits(plan.cnp_dscp, 6);
    let at = format!("{COS}|classifiers|dscp {name}|forwarding-class");
    let data_line = format!("{at} {data}|loss-priority low|code-points {code}");
    let cnp_line = format!("{at} {cnp}|loss-priority low|code-points {cnp_code}");
    let cnp_to_data = format!("{at} {data}|loss-priority low|code-points {cnp_code}");
    let to_best = format!("{at} best-effort|loss-priority low|code-points {code}");
    let (line_1, line_2) = (data_line.clone(), data_line);
    let pfc = format!("{COS}|congestion-notification-profile ");
    let (pfc_2, pfc_3, pfc_4) = (pfc.clone(), pfc.clone(), pfc);
    let class = format!("{COS}|forwarding-classes|class {data}+");
    let class_2 = class.clone();
    let flow = format!("code-point {}|flow-control-queue {own_queue}", bits(priority, 3));
    let wrong_flow = format!("code-point {}|flow-control-queue 2", bits(priority, 3));
    let paused = format!("|input|dscp|code-point {code}|pfc");
    vec![
        (
            "data dscp in best effort",
            &["data-class"],
            Box::new(move |t| swap(t, &line_1, &to_best)),
        ),
        ("data dscp not classified", &["data-class"], Box::new(move |t| without(t, &line_2))),
        ("cnp dscp in the data class", &["cnp-class", "mixed-queue"], {
            Box::new(move |t| swap(t, &cnp_line, &cnp_to_data))
        }),
        ("no pause of the data dscp", &["pfc-missing", "qos-not-applied"], {
            Box::new(move |t| {
                let kept = t.lines().filter(|line| !line.ends_with(&paused));
                kept.fold(String::new(), |all, line| all + line + "\n")
            })
        }),
        ("pause of another dscp", &["pfc-missing", "pfc-priority", "pause-group"], {
            Box::new(move |t| {
                lines(t, &pfc_2, |line| {
                    line.replace(&format!("|code-point {code}|pfc"), "|code-point 001010|pfc")
                })
            })
        }),
        ("pauses stop another queue", &["pause-queue"], {
            Box::new(move |t| lines(t, &pfc_3, |line| line.replace(&flow, &wrong_flow)))
        }),
        ("watchdog missing", &["watchdog-missing"], {
            Box::new(move |t| {
                let kept =
                    t.lines().filter(|l| !(l.starts_with(&pfc_4) && l.ends_with("|pfc-watchdog")));
                kept.fold(String::new(), |all, line| all + line + "\n")
            })
        }),
        (
            "data class may lose",
            &["pfc-missing", "headroom-missing", "pause-group", "qos-not-applied"],
            { Box::new(move |t| lines(t, &class, |line| swap(line, "+no-loss", ""))) },
        ),
        (
            "pause of another priority",
            &["pfc-priority", "pfc-missing", "data-class", "pause-queue"],
            {
                Box::new(move |t| {
                    let old = format!("+pfc-priority {priority}");
                    lines(t, &class_2, |line| swap(line, &old, "+pfc-priority 5"))
                })
            },
        ),
    ]
}

/// What is there and does nothing.
fn switched_off(plan: &Plan) -> Changes {
    let name = plan.policy;
    let of = move |end: &str| format!("{COS}|schedulers|{name}-{end}");
    let [data, _] = classes(plan);
    vec![
        ("marking inactive", &["ecn-missing", "ecn-off"], {
            Box::new(move |t| inactive(t, &of("data|explicit-congestion-notification")))
        }),
        ("strict priority inactive", &["cnp-not-strict"], {
            Box::new(move |t| inactive(t, &of("cnp|priority")))
        }),
        ("watchdog inactive", &["watchdog-missing"], {
            Box::new(move |t| {
                let start = format!("{COS}|congestion-notification-profile ");
                lines(t, &start, |line| line.replace("|pfc-watchdog", "|inactive: pfc-watchdog"))
            })
        }),
        ("data class inactive in the classifier", &["data-class", "trust"], {
            Box::new(move |t| {
                inactive(t, &format!("{COS}|classifiers|dscp {name}|forwarding-class {data}"))
            })
        }),
        ("class of service inactive", &["qos-not-applied", "nothing-checked", "pfc-missing"], {
            Box::new(move |t| inactive(t, COS))
        }),
    ]
}

fn queues(plan: &Plan) -> Changes {
    let name = plan.policy;
    let (low, high) = levels(plan);
    let (share, own) = (plan.share, rdma_share(plan));
    let fill = format!("fill-level [ {low} {high} ]");
    let (fill_1, fill_2) = (fill.clone(), fill);
    let of = move |end: &str| format!("{COS}|schedulers|{name}-{end}");
    let [data, _] = classes(plan);
    let own_queue = queue(plan);
    let mut changes: Changes = vec![
        ("ecn missing", &["ecn-missing", "ecn-off"], {
            Box::new(move |t| without(t, &of("data|explicit-congestion-notification")))
        }),
        ("drop profile missing", &["ecn-missing"], {
            Box::new(move |t| without(t, &of("data|drop-profile-map")))
        }),
        ("kmax below kmin", &["ecn-range", "ecn-drift"], {
            Box::new(move |t| swap(t, &fill_1, &format!("fill-level [ {high} {low} ]")))
        }),
        ("marking near the end", &["ecn-drift", "fleet-drift", "ecn-above-xoff"], {
            Box::new(move |t| swap(t, &fill_2, "fill-level [ 97 99 ]"))
        }),
        ("probability 0", &["pmax-zero", "ecn-drift"], {
            Box::new(|t| swap(t, "drop-probability [ 0 100 ]", "drop-probability [ 0 0 ]"))
        }),
        ("cnp queue is not strict", &["cnp-not-strict"], {
            Box::new(move |t| without(t, &of("cnp|priority")))
        }),
        ("best effort is strict", &["strict-starves", "weights-sum"], {
            Box::new(move |t| format!("{t}{}|priority strict-high\n", of("be")))
        }),
        ("weights wrong", &["weights-drift", "weights-sum", "fleet-drift"], {
            Box::new(move |t| {
                let line = |end: &str, n: u64| format!("{}|transmit-rate percent {n}\n", of(end));
                let t = swap(t, &line("data", own), &line("data", 5));
                swap(&t, &line("be", 100 - share), &line("be", 90))
            })
        }),
        ("best effort in the lossless queue", &["mixed-queue"], {
            Box::new(move |t| {
                let start = format!("{COS}|forwarding-classes|class best-effort+queue-num");
                swap(t, &format!("{start} 0"), &format!("{start} {own_queue}"))
            })
        }),
        (
            "scheduler of data is that of best effort",
            &["ecn-missing", "weights-drift", "weights-sum"],
            {
                Box::new(move |t| {
                    let start =
                        format!("{COS}|scheduler-maps|{name}-sm|forwarding-class {data} scheduler");
                    swap(t, &format!("{start} {name}-data"), &format!("{start} {name}-be"))
                })
            },
        ),
        ("another software version", &["versions-differ"], {
            Box::new(|t| swap(t, "version 23.4X100-D20.7-EVO", "version 22.4R3.25-EVO"))
        }),
    ];
    if plan.dynamic {
        changes.push(("load balancing off", &["balancing-missing", "fleet-drift"], {
            Box::new(|t| without(t, "forwarding-options|enhanced-hash-key|ecmp-dlb"))
        }));
    }
    changes
}
