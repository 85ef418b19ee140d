//! Dell SmartFabric OS10 as `show running-configuration` prints it.

use crate::case::Template;
use crate::draw::Draw;
use crate::edit::{Mistake, block, swap, without};
use crate::plan::{Plan, Port, Switch};
use std::fmt::Write;

pub(crate) const TEMPLATE: Template =
    Template { adjust, source, finish: |_, _, source| source.to_owned(), mistakes, ending: ".cfg" };

/// No statement for load balancing or the watchdog is known well enough to be written.
fn adjust(plan: &mut Plan) {
    plan.dynamic = false;
}

/// Whether trust and queue maps are set once for all ports.
fn system_wide(plan: &Plan) -> bool {
    plan.style == 1
}

/// Whether a policy classifies, instead of a trust map.
fn by_policy(plan: &Plan) -> bool {
    plan.style == 2
}

fn queuing(plan: &Plan, port: &Port) -> String {
    match (plan.ecn[0] == plan.ecn[1], port.up) {
        (true, _) => format!("{}-ets", plan.policy),
        (false, false) => format!("{}-ets-host", plan.policy),
        (false, true) => format!("{}-ets-fabric", plan.policy),
    }
}

fn classification(plan: &Plan) -> String {
    let (name, data, cnp) = (plan.policy, plan.data, plan.cnp);
    if by_policy(plan) {
        return format!(
            "class-map type qos match-any {name}-data\n match ip dscp {}\n!\nclass-map type qos match-any {name}-cnp\n match ip \
             dscp {}\n!\npolicy-map type qos {name}-in\n !\n class {name}-data\n  set qos-group {data}\n !\n class {name}-cnp\n  \
             set qos-group {cnp}\n!\n",
            plan.data_dscp, plan.cnp_dscp
        );
    }
    let rest: Vec<u8> = (0..64).filter(|d| *d != plan.data_dscp && *d != plan.cnp_dscp).collect();
    format!(
        "trust dscp-map {name}-dscp\n qos-group 0 dscp {}\n qos-group {data} dscp {}\n qos-group {cnp} dscp {}\n!\n",
        ranges(&rest),
        plan.data_dscp,
        plan.cnp_dscp
    )
}

fn ranges(numbers: &[u8]) -> String {
    let mut parts: Vec<(u8, u8)> = Vec::new();
    for number in numbers {
        match parts.last_mut() {
            Some((_, end)) if *end + 1 == *number => *end = *number,
            _ => parts.push((*number, *number)),
        }
    }
    let print = |(a, b): &(u8, u8)| if a == b { a.to_string() } else { format!("{a}-{b}") };
    parts.iter().map(print).collect::<Vec<_>>().join(",")
}

fn policies(plan: &Plan, switch: &Switch) -> String {
    let (name, data, cnp) = (plan.policy, plan.data, plan.cnp);
    let mut text = classification(plan);
    let _ = write!(
        text,
        "qos-map traffic-class {name}-q\n queue 0 qos-group 0-2,4-5,7\n queue {data} qos-group {data}\n queue {cnp} qos-group \
         {cnp}\n!\nclass-map type network-qos {name}-pfc\n match qos-group {data}\n!\npolicy-map type network-qos {name}-nq\n !\n \
         class {name}-pfc\n  pause\n  pfc-cos {data}\n!\n"
    );
    for queue in [0, data, cnp] {
        let _ = writeln!(text, "class-map type queuing {name}-q{queue}\n match queue {queue}\n!");
    }
    let mut known: Vec<String> = Vec::new();
    for port in &switch.ports {
        let policy = queuing(plan, port);
        if known.contains(&policy) {
            continue;
        }
        let ecn = plan.ecn(port);
        let _ = write!(
            text,
            "wred {policy}-wred\n random-detect ecn\n random-detect color green minimum-threshold {} maximum-threshold {} \
             drop-probability {}\n!\npolicy-map type queuing {policy}\n !\n class {name}-q0\n  bandwidth percent {}\n !\n class \
             {name}-q{data}\n  bandwidth percent {}\n  random-detect {policy}-wred\n !\n class {name}-q{cnp}\n  priority\n!\n",
            ecn.kmin / 1000,
            ecn.kmax / 1000,
            ecn.pmax,
            100 - plan.share,
            plan.share
        );
        known.push(policy);
    }
    text += "system qos\n";
    if system_wide(plan) {
        let _ = write!(
            text,
            " trust-map dscp {name}-dscp\n qos-map traffic-class {name}-q\n ets mode on\n"
        );
    }
    text + " buffer-statistics-tracking\n!\n"
}

fn source(plan: &Plan, switch: &Switch) -> String {
    let name = &switch.name;
    let number = switch.number + 1;
    let breakouts = breakouts(switch);
    let mut text = format!(
        "{name}# show running-configuration\n! Version 10.5.6.3\n! Last configuration change at Nov  15 09:12:44 2026\n!\nip vrf \
         default\n!\nip vrf management\n interface management\n!\n{breakouts}iscsi enable\niscsi target port 860\nsystem-user linuxadmin \
         password $6$5DdOHYg5$JCE1vMSmkQOrbh31U74PIPv7lyOgRmba1\nusername admin password \
         $6$q9QBeYjZ$jfxzVqGhkxX3smxJSH9DDz7/3OJc6m5wjF8 role sysadmin priv-lvl 15\naaa authentication login default \
         local\naaa authorization exec default local\nhostname {name}\nlogging server 10.10.0.20\nntp server \
         10.10.0.123\nsnmp-server community n0tpublic ro\nno multicast snooping flood-restrict\n!\ndcbx enable\n!\n"
    );
    text += &policies(plan, switch);
    let _ = write!(
        text,
        "interface vlan1\n no shutdown\n!\ninterface vlan20\n description storage\n no shutdown\n!\ninterface mgmt1/1/1\n no \
         shutdown\n no ip address dhcp\n ip address 10.10.1.{number}/24\n ipv6 address autoconfig\n!\ninterface loopback0\n no \
         shutdown\n ip address 10.255.0.{number}/32\n!\n"
    );
    for port in &switch.ports {
        interface(plan, switch, port, &mut text);
    }
    text += "interface ethernet1/1/61\n description \"nas01 e3a\"\n no shutdown\n switchport access vlan 20\n flowcontrol receive \
             on\n!\ninterface ethernet1/1/62\n shutdown\n switchport access vlan 1\n flowcontrol receive on\n!\nip prefix-list \
             PL-LO seq 10 permit 10.255.0.0/24 ge 32\n!\nroute-map RM-CONN permit 10\n match ip address prefix-list PL-LO\n!\n";
    let _ = write!(
        text,
        "router bgp {}\n router-id 10.255.0.{number}\n bestpath as-path multipath-relax\n !\n address-family ipv4 unicast\n  \
         redistribute connected route-map RM-CONN\n",
        65000 + switch.number
    );
    for port in switch.ports.iter().filter(|port| port.up) {
        let _ = write!(
            text,
            " !\n neighbor 10.{}.{}.1\n  remote-as {}\n  no shutdown\n",
            switch.number,
            port.number,
            65100 + port.number
        );
    }
    let _ = write!(text, "!\ntelemetry\n{name}# \n");
    text
}

/// What cages are split into: the only place where speeds are.
fn breakouts(switch: &Switch) -> String {
    let mut lines: Vec<String> = Vec::new();
    for port in &switch.ports {
        let cage = port.name.trim_start_matches("ethernet").split(':').next().unwrap_or_default();
        lines.push(format!("interface breakout {cage} map {}g-{}x\n", port.rate, 800 / port.rate));
    }
    lines.dedup();
    lines.concat()
}

fn interface(plan: &Plan, switch: &Switch, port: &Port, text: &mut String) {
    let name = plan.policy;
    let _ = writeln!(text, "interface {}", port.name);
    if let Some(description) = plan.description(port) {
        let _ = writeln!(text, " description \"{description}\"");
    }
    let _ = write!(
        text,
        " no shutdown\n no switchport\n mtu {}\n ip address 10.{}.{}.0/31\n flowcontrol receive off\n flowcontrol transmit off\n \
         priority-flow-control mode on\n service-policy input type network-qos {name}-nq\n",
        plan.mtu, switch.number, port.number
    );
    if by_policy(plan) {
        let _ = writeln!(text, " service-policy input type qos {name}-in");
    }
    let _ = writeln!(text, " service-policy output type queuing {}", queuing(plan, port));
    if !system_wide(plan) {
        let _ = writeln!(text, " ets mode on\n qos-map traffic-class {name}-q");
        if !by_policy(plan) {
            let _ = writeln!(text, " trust-map dscp {name}-dscp");
        }
    }
    *text += "!\n";
}

type Change = Box<dyn Fn(&str) -> String>;
type Changes = Vec<(&'static str, &'static [&'static str], Change)>;

fn mistakes(plan: &Plan) -> Vec<Mistake> {
    let mut draw = Draw::new(plan.seed, "os10");
    let mut all = Vec::new();
    for (name, rules, change) in ports(plan) {
        let switch = draw.pick(&plan.switches);
        let port = draw.pick(&switch.ports);
        let head = format!("interface {}", port.name);
        let edit = move |text: &str| block(text, &head, &change);
        all.push(Mistake::port(name, (&switch.name, &port.name), rules, edit));
    }
    if plan.ecn[0] != plan.ecn[1] {
        let leaves: Vec<_> = plan.leaves().cloned().collect();
        let switch = draw.pick(&leaves);
        let port = draw.pick(&switch.ports);
        let other = Port { up: !port.up, ..port.clone() };
        let head = format!("interface {}", port.name);
        let (own, wrong) = (queuing(plan, &port), queuing(plan, &other));
        let edit = move |text: &str| block(text, &head, |body| swap(body, &own, &wrong));
        let rules = ["ecn-speed", "ecn-drift", "fleet-drift"];
        all.push(Mistake::port(
            "thresholds of another speed",
            (&switch.name, &port.name),
            &rules,
            edit,
        ));
    }
    for (name, rules, change) in classes(plan).into_iter().chain(queues(plan)) {
        let switch = draw.pick(&plan.switches);
        all.push(Mistake::device(name, &switch.name, rules, change));
    }
    let switch = draw.pick(&plan.switches);
    all.push(Mistake::truncated(&switch.name));
    all
}

fn ports(plan: &Plan) -> Changes {
    let (own, small) = (format!("mtu {}", plan.mtu), format!("mtu {}", plan.host_mtu - 200));
    let mtu: &[&'static str] = &["mtu-small", "mtu-mismatch", "mtu-drift", "fleet-drift"];
    let mut all: Changes = vec![
        ("pfc mode missing on a port", &["pfc-missing", "qos-not-applied"], {
            Box::new(|t| without(t, "priority-flow-control"))
        }),
        ("network-qos missing on a port", &["pfc-missing", "qos-not-applied"], {
            Box::new(|t| without(t, "service-policy input type network-qos"))
        }),
        ("queuing missing on a port", &["ecn-missing", "qos-not-applied", "cnp-not-strict"], {
            Box::new(|t| without(t, "service-policy output"))
        }),
        ("mtu of a port missing", mtu, Box::new(|t| without(t, "mtu "))),
        ("mtu of a port too small", mtu, Box::new(move |t| swap(t, &own, &small))),
        (
            "nothing of qos on a port",
            &["qos-not-applied", "pfc-missing", "ecn-missing", "cnp-not-strict"],
            {
                Box::new(|t| {
                    let qos =
                        ["priority-flow-control", "service-policy", "ets ", "qos-map", "trust-map"];
                    let kept =
                        t.lines().filter(|l| !qos.iter().any(|word| l.trim().starts_with(word)));
                    kept.fold(String::new(), |all, line| all + line + "\n")
                })
            },
        ),
    ];
    if by_policy(plan) {
        all.push((
            "classification missing on a port",
            &["trust", "data-class", "qos-not-applied"],
            { Box::new(|t| without(t, "service-policy input type qos")) },
        ));
    } else if !system_wide(plan) {
        all.push(("trust missing on a port", &["trust", "data-class", "qos-not-applied"], {
            Box::new(|t| without(t, "trust-map"))
        }));
        all.push(("trust of a port is dot1p", &["trust"], {
            Box::new(|t| {
                let line = t.lines().find(|l| l.trim().starts_with("trust-map")).expect("a map");
                swap(t, line, " trust-map dot1p default")
            })
        }));
    }
    all
}

fn below(head: String, change: impl Fn(&str) -> String + 'static) -> Change {
    Box::new(move |text: &str| block(text, &head, &change))
}

fn classes(plan: &Plan) -> Changes {
    let (name, data, cnp) = (plan.policy, plan.data, plan.cnp);
    let (data_dscp, cnp_dscp) = (plan.data_dscp, plan.cnp_dscp);
    let network = format!("policy-map type network-qos {name}-nq");
    let mut all: Changes = vec![
        (
            "no pause in network-qos",
            &["pfc-missing"],
            below(format!("class {name}-pfc"), |t| without(t, "pause")),
        ),
        (
            "pause of the wrong priority",
            &["pfc-priority", "pfc-missing", "pause-group", "pause-queue"],
            {
                below(format!("class {name}-pfc"), move |t| {
                    swap(t, &format!("pfc-cos {data}"), "pfc-cos 5")
                })
            },
        ),
        ("pause of one priority more", &["pfc-extra"], {
            Box::new(move |t| {
                let map = "class-map type network-qos extra-pfc\n match qos-group 4\n!\n";
                let t = block(t, &network, |t| {
                    format!("{t} !\n class extra-pfc\n  pause\n  pfc-cos 4\n")
                });
                swap(&t, &format!("{network}\n"), &format!("{map}{network}\n"))
            })
        }),
        ("best effort in the lossless queue", &["mixed-queue"], {
            below(format!("qos-map traffic-class {name}-q"), move |t| {
                let t = swap(t, "queue 0 qos-group 0-2,4-5,7", "queue 0 qos-group 1-2,4-5,7");
                swap(
                    &t,
                    &format!("queue {data} qos-group {data}"),
                    &format!("queue {data} qos-group 0,{data}"),
                )
            })
        }),
        (
            "another software version",
            &["versions-differ"],
            Box::new(|t| swap(t, "Version 10.5.6.3", "Version 10.5.4.1")),
        ),
    ];
    if by_policy(plan) {
        all.push(("data dscp not matched", &["data-class"], {
            below(format!("class-map type qos match-any {name}-data"), move |t| {
                swap(t, &format!("dscp {data_dscp}"), "dscp 18")
            })
        }));
        all.push(("cnp dscp in the data class", &["cnp-class", "mixed-queue"], {
            below(format!("class {name}-cnp"), move |t| {
                swap(t, &format!("qos-group {cnp}"), &format!("qos-group {data}"))
            })
        }));
        return all;
    }
    let map = format!("trust dscp-map {name}-dscp");
    all.push(("data dscp in best effort", &["data-class"], {
        below(map.clone(), move |t| {
            swap(
                t,
                &format!("qos-group {data} dscp {data_dscp}"),
                &format!("qos-group 1 dscp {data_dscp}"),
            )
        })
    }));
    all.push(("cnp dscp in the data class", &["cnp-class", "mixed-queue"], {
        below(map, move |t| {
            let t = without(t, &format!("qos-group {cnp} dscp"));
            swap(
                &t,
                &format!("qos-group {data} dscp {data_dscp}"),
                &format!("qos-group {data} dscp {data_dscp},{cnp_dscp}"),
            )
        })
    }));
    all
}

fn queues(plan: &Plan) -> Changes {
    let (name, data, cnp, share) = (plan.policy, plan.data, plan.cnp, plan.share);
    let own = format!("class {name}-q{data}");
    let best = format!("class {name}-q0");
    let levels = |change: fn(u64, u64) -> (u64, u64)| -> Change {
        let all: Vec<(u64, u64)> =
            plan.ecn.iter().map(|e| (e.kmin / 1000, e.kmax / 1000)).collect();
        let print = |(a, b): (u64, u64)| format!("minimum-threshold {a} maximum-threshold {b} ");
        Box::new(move |t| {
            // Both profiles at once, so that a new value is not changed again.
            let mut t = t.to_owned();
            for (index, old) in all.iter().enumerate() {
                t = t.replace(&print(*old), &format!("\u{1}{index} "));
            }
            for (index, old) in all.iter().enumerate() {
                t = t.replace(&format!("\u{1}{index} "), &print(change(old.0, old.1)));
            }
            t
        })
    };
    let probability = format!("drop-probability {}\n", plan.ecn[0].pmax);
    let (best_1, best_2, own_1) = (best.clone(), best, own.clone());
    vec![
        ("ecn missing", &["ecn-missing"], below(own.clone(), |t| without(t, "random-detect"))),
        ("ecn drops", &["ecn-off"], { Box::new(|t| without(t, "random-detect ecn")) }),
        ("kmax below kmin", &["ecn-range", "ecn-drift"], levels(|a, b| (b, a))),
        (
            "thresholds ten times",
            &["ecn-drift", "ecn-above-xoff", "fleet-drift"],
            levels(|a, b| (a * 10, b * 10)),
        ),
        ("probability 0", &["pmax-zero", "ecn-drift"], {
            Box::new(move |t| swap(t, &probability, "drop-probability 0\n"))
        }),
        ("cnp queue has a weight", &["cnp-not-strict", "weights-sum"], {
            below(format!("class {name}-q{cnp}"), |t| swap(t, "priority", "bandwidth percent 5"))
        }),
        ("best effort is strict", &["strict-starves", "weights-sum"], {
            below(best_1, move |t| {
                swap(t, &format!("bandwidth percent {}", 100 - share), "priority")
            })
        }),
        ("weights wrong", &["weights-drift", "weights-sum", "fleet-drift"], {
            Box::new(move |t| {
                let line = |n: u64| format!("bandwidth percent {n}\n");
                let t = block(t, &own_1, |t| swap(t, &line(share), &line(5)));
                block(&t, &best_2, |t| swap(t, &line(100 - share), &line(95)))
            })
        }),
    ]
}
