//! Arista EOS as `show running-config` prints it: what is the default is not there.

use crate::case::Template;
use crate::draw::Draw;
use crate::edit::{Mistake, block, swap, without, without_block};
use crate::plan::{Plan, Port, Switch};
use std::fmt::Write;

pub(crate) const TEMPLATE: Template =
    Template { adjust, source, finish: |_, _, source| source.to_owned(), mistakes, ending: ".cfg" };

/// The pool that headroom of all ports comes from, where it is set.
const POOL: &str = "platform trident mmu headroom-pool limit bytes";
const POOL_BYTES: u64 = 25_165_824;

/// DSCP 0 to 7 is in class 1, 8 to 15 in class 0, of the rest the upper bits count.
fn adjust(plan: &mut Plan) {
    plan.mtu = 9214;
    plan.strict_rest = true;
    for dscp in 0..64u8 {
        plan.classes[usize::from(dscp)] = match dscp >> 3 {
            0 => 1,
            1 => 0,
            class => class,
        };
    }
    if plan.style == 2 {
        for dscp in (24..32).filter(|dscp| *dscp != plan.data_dscp) {
            plan.classes[usize::from(dscp)] = 1;
        }
    }
}

/// Whether ports have their own settings instead of a profile.
fn direct(plan: &Plan) -> bool {
    plan.style == 1
}

fn profile(plan: &Plan, port: &Port) -> String {
    let scaled = plan.ecn[0] != plan.ecn[1];
    match (scaled, port.up) {
        (false, _) => plan.policy.to_owned(),
        (true, true) => format!("{}-UPLINK", plan.policy),
        (true, false) => format!("{}-HOST", plan.policy),
    }
}

/// The QoS statements of a profile or a port.
fn qos(plan: &Plan, port: &Port) -> String {
    let ecn = plan.ecn(port);
    let trust = if direct(plan) { "" } else { "   qos trust dscp\n" };
    format!(
        "{trust}   priority-flow-control on\n   priority-flow-control priority {} no-drop\n   \
         priority-flow-control pause watchdog\n   !\n   uc-tx-queue 1\n      no priority\n      bandwidth \
         percent {}\n   !\n   uc-tx-queue {}\n      no priority\n      bandwidth percent {}\n      random-detect ecn \
         minimum-threshold {} kbytes maximum-threshold {} kbytes max-mark-probability {} weight 0\n",
        plan.data,
        100 - plan.share,
        plan.data,
        plan.share,
        ecn.kmin / 1000,
        ecn.kmax / 1000,
        ecn.pmax
    )
}

fn source(plan: &Plan, switch: &Switch) -> String {
    let name = &switch.name;
    let mut text = format!(
        "{name}#show running-config\n! Command: show running-config\n! device: {name} (DCS-7060X6-64PE, \
         EOS-4.32.2F)\n!\n! boot system flash:/EOS64-4.32.2F.swi\n!\nno aaa root\n!\nusername admin privilege 15 role \
         network-admin secret sha512 $6$Zk1mVvGq$J0q6uXlW3bVg7r9o1dNfQ2sT4yH8kLpR5wE6zC\nusername netops privilege \
         15 secret sha512 $6$aB3dEfGh$9m8n7b6v5c4x3z2a1s0dPfOgIhUjYk\n!\ntransceiver qsfp default-mode 4x10G\n!\n\
         service routing protocols model multi-agent\n!\nhostname {name}\nip name-server vrf MGMT 10.10.0.53\ndns \
         domain fabric.example.net\n!\nlogging buffered 10000\nlogging vrf MGMT host 10.10.0.20\n!\nlldp timer 10\n!\n\
         ntp server vrf MGMT 10.10.0.123 prefer\n!\nsnmp-server community n0tpublic ro\nsnmp-server host 10.10.0.21 \
         vrf MGMT version 2c n0tpublic\n!\nhardware counter feature ecn out\n!\n"
    );
    if plan.dynamic && plan.style != 2 {
        text += "ip hardware fib load-balance distribution dynamic\n!\n";
    }
    if !direct(plan) {
        let mut known: Vec<String> = Vec::new();
        for port in &switch.ports {
            let profile = profile(plan, port);
            if !known.contains(&profile) {
                let _ = write!(text, "qos profile {profile}\n{}!\n", qos(plan, port));
                known.push(profile);
            }
        }
    }
    if plan.style == 2 {
        let rest: Vec<String> =
            (24..32).filter(|d| *d != plan.data_dscp).map(|d: u8| d.to_string()).collect();
        let _ = writeln!(text, "qos map dscp {} to traffic-class 1\n!", rest.join(" "));
    }
    text += "spanning-tree mode none\n!\naaa authorization exec default local\n!\nvlan 10\n   name oob\n!\nvlan 20\n   \
             name storage\n!\nvrf instance MGMT\n!\n";
    if plan.style == 2 {
        let _ = writeln!(text, "{POOL} {POOL_BYTES}\n!");
    }
    let (detect, restore) = plan.watchdog;
    let _ = writeln!(
        text,
        "priority-flow-control pause watchdog default timeout {}\npriority-flow-control pause watchdog default \
         recovery-time {}\npriority-flow-control pause watchdog default polling-interval {}\npriority-flow-control \
         pause watchdog action drop\n!",
        seconds(detect),
        seconds(restore),
        seconds(detect / 2)
    );
    for port in &switch.ports {
        interface(plan, switch, port, &mut text);
    }
    others(switch, &mut text);
    routing(plan, switch, &mut text);
    text
}

fn seconds(ms: u64) -> String {
    format!("{}.{}", ms / 1000, format!("{:03}", ms % 1000).trim_end_matches('0'))
        .trim_end_matches('.')
        .to_owned()
}

fn interface(plan: &Plan, switch: &Switch, port: &Port, text: &mut String) {
    let _ = writeln!(text, "interface {}", port.name);
    if let Some(description) = plan.description(port) {
        let _ = writeln!(text, "   description {description}");
    }
    let lanes = port.rate / 100;
    let _ = writeln!(
        text,
        "   mtu {}\n   speed {}g-{lanes}\n   no switchport\n   ip address 10.{}.{}.0/31",
        plan.mtu, port.rate, switch.number, port.number
    );
    if direct(plan) {
        *text += &qos(plan, port);
        *text += "!\n";
    } else {
        let _ = writeln!(text, "   service-profile {}\n!", profile(plan, port));
    }
}

fn others(switch: &Switch, text: &mut String) {
    let _ = write!(
        text,
        "interface Ethernet61/1\n   description storage-nas01 e3a\n   speed 100g-1\n   switchport access vlan \
         20\n!\ninterface Ethernet62/1\n   shutdown\n!\ninterface Ethernet63/1\n   shutdown\n   no switchport\n!\n\
         interface Ethernet65\n   description oob-switch port 7\n   switchport access vlan 10\n!\ninterface \
         Loopback0\n   ip address 10.255.0.{0}/32\n!\ninterface Management1\n   description mgmt\n   vrf MGMT\n   ip \
         address 10.10.1.{0}/24\n!\ninterface Vlan10\n   ip address 10.20.{0}.1/24\n!\nip access-list COPP-EXTRA\n   \
         10 permit tcp any any eq bgp\n   20 permit udp any any eq bfd\n!\nip routing\nno ip routing vrf MGMT\n!\nip \
         prefix-list PL-LOOPBACKS\n   seq 10 permit 10.255.0.0/24 eq 32\n!\nip route vrf MGMT 0.0.0.0/0 \
         10.10.1.254\n!\n",
        switch.number + 1
    );
}

fn routing(plan: &Plan, switch: &Switch, text: &mut String) {
    let own = 65000 + switch.number;
    let _ = writeln!(
        text,
        "route-map RM-CONN permit 10\n   match ip address prefix-list PL-LOOPBACKS\n!\nrouter bgp {own}\n   router-id \
         10.255.0.{}\n   maximum-paths 16 ecmp 16\n   neighbor UNDERLAY peer group",
        switch.number + 1
    );
    for port in switch.ports.iter().filter(|port| port.up) {
        let _ = writeln!(
            text,
            "   neighbor 10.{}.{}.1 peer group UNDERLAY",
            switch.number, port.number
        );
    }
    text.push_str("   redistribute connected route-map RM-CONN\n   !\n");
    if plan.evpn {
        text.push_str("   address-family evpn\n      neighbor UNDERLAY activate\n   !\n");
    }
    text.push_str("   address-family ipv4\n      neighbor UNDERLAY activate\n!\n");
    if plan.dynamic && plan.style == 2 {
        text.push_str("ip hardware fib load-balance distribution dynamic\n!\n");
    }
    let _ = writeln!(
        text,
        "management ssh\n   vrf MGMT\n      no shutdown\n!\nbanner motd\nAuthorised users only\n\
         All sessions are recorded\nEOF\n!\nend\n{}#",
        switch.name
    );
}

/// Changes the QoS of one port: its own, or a copy of its profile.
fn on_port(plan: &Plan, port: &Port, text: &str, change: impl Fn(&str) -> String) -> String {
    let head = format!("interface {}", port.name);
    if direct(plan) {
        return block(text, &head, change);
    }
    let name = profile(plan, port);
    let mut copy = String::new();
    let body = std::cell::RefCell::new(String::new());
    block(text, &format!("qos profile {name}"), |own| {
        body.borrow_mut().push_str(own);
        own.to_owned()
    });
    let _ = write!(copy, "qos profile {name}-2\n{}!\n", change(&body.borrow()));
    let text = block(text, &head, |own| {
        swap(own, &format!("service-profile {name}"), &format!("service-profile {name}-2"))
    });
    let at = text.find("qos profile ").expect("a profile");
    format!("{}{copy}{}", &text[..at], &text[at..])
}

/// Changes the QoS of all ports.
fn on_device(plan: &Plan, switch: &Switch, text: &str, change: impl Fn(&str) -> String) -> String {
    let mut heads: Vec<String> = match direct(plan) {
        true => switch.ports.iter().map(|port| format!("interface {}", port.name)).collect(),
        false => switch.ports.iter().map(|p| format!("qos profile {}", profile(plan, p))).collect(),
    };
    heads.dedup();
    heads.sort();
    heads.dedup();
    heads.iter().fold(text.to_owned(), |text, head| block(&text, head, &change))
}

fn mistakes(plan: &Plan) -> Vec<Mistake> {
    let mut all = port_mistakes(plan);
    all.extend(device_mistakes(plan));
    all
}

type Change = Box<dyn Fn(&str) -> String>;

fn port_mistakes(plan: &Plan) -> Vec<Mistake> {
    let data = plan.data;
    let ecn = "random-detect ecn minimum-threshold";
    let base = plan.ecn;
    let up_to_host = move |port: &Port| base[usize::from(!port.up)];
    let changes: Vec<(&str, &[&'static str], Change)> = vec![
        ("pfc off on a port", &["pfc-missing", "qos-not-applied"], {
            Box::new(|t: &str| {
                without(&without(t, "priority-flow-control on"), "priority-flow-control priority")
            })
        }),
        ("pfc on the wrong priority", &["pfc-priority", "pfc-missing"], {
            Box::new(move |t: &str| {
                swap(t, &format!("priority {data} no-drop"), "priority 5 no-drop")
            })
        }),
        ("pfc on all priorities", &["pfc-all-priorities"], {
            Box::new(move |t: &str| {
                let line = |p: u8| format!("   priority-flow-control priority {p} no-drop\n");
                let all: String = (0..8).map(line).collect();
                swap(t, &line(data), &all)
            })
        }),
        ("ecn missing", &["ecn-missing"], Box::new(move |t: &str| without(t, ecn))),
        ("ecn drops", &["ecn-off", "ecn-missing"], {
            Box::new(|t: &str| {
                let t = swap(t, "random-detect ecn minimum", "random-detect drop minimum");
                swap(&t, "max-mark-probability", "drop-probability")
            })
        }),
        ("watchdog off on a port", &["watchdog-missing"], {
            Box::new(|t: &str| {
                let line = "   priority-flow-control pause watchdog\n";
                swap(t, line, "   no priority-flow-control pause watchdog\n")
            })
        }),
        ("cnp queue has a weight", &["cnp-not-strict", "weights-sum"], {
            Box::new(move |t: &str| {
                format!("{t}   !\n   uc-tx-queue 6\n      no priority\n      bandwidth percent 5\n")
            })
        }),
        (
            "best effort has no share",
            &["weights-drift", "weights-sum", "fleet-drift"],
            Box::new(|t: &str| without_block(t, "uc-tx-queue 1")),
        ),
        ("trust of a port is cos", &["trust"], {
            Box::new(|t: &str| match t.contains("qos trust dscp") {
                true => swap(t, "qos trust dscp", "qos trust cos"),
                false => format!("   qos trust cos\n{t}"),
            })
        }),
    ];
    let mut draw = Draw::new(plan.seed, "eos ports");
    let mut all: Vec<Mistake> = Vec::new();
    for (name, rules, change) in changes {
        let switch = draw.pick(&plan.switches);
        let port = draw.pick(&switch.ports);
        let (plan, at) = (plan.clone(), port.clone());
        let edit = move |text: &str| on_port(&plan, &at, text, &change);
        all.push(Mistake::port(name, (&switch.name, &port.name), rules, edit));
    }
    let tuned = [("thresholds ten times", 10, 10), ("kmax below kmin", 3, 1)];
    for (name, kmin, kmax) in tuned {
        let switch = draw.pick(&plan.switches);
        let port = draw.pick(&switch.ports);
        let (plan, at) = (plan.clone(), port.clone());
        let rules: &[&'static str] = match name {
            "kmax below kmin" => &["ecn-range", "ecn-drift"],
            _ => &["ecn-drift", "ecn-speed", "ecn-above-xoff", "fleet-drift"],
        };
        all.push(Mistake::port(name, (&switch.name, &port.name), rules, move |text: &str| {
            let own = plan.ecn(&at);
            let kmin = if kmin > kmax { own.kmax + 100_000 } else { own.kmin * kmin };
            let thresholds = |a: u64, b: u64| {
                format!(
                    "minimum-threshold {} kbytes maximum-threshold {} kbytes",
                    a / 1000,
                    b / 1000
                )
            };
            on_port(&plan, &at, text, |t| {
                swap(t, &thresholds(own.kmin, own.kmax), &thresholds(kmin, own.kmax * kmax))
            })
        }));
    }
    let switch = draw.pick(&plan.switches.iter().filter(|s| !s.spine).cloned().collect::<Vec<_>>());
    let port = draw.pick(&switch.ports);
    if base[0] != base[1] {
        let (plan, at) = (plan.clone(), port.clone());
        let rules = ["ecn-speed", "ecn-drift", "fleet-drift"];
        let name = "thresholds of another speed";
        all.push(Mistake::port(name, (&switch.name, &port.name), &rules, move |text: &str| {
            let (own, other) = (plan.ecn(&at), up_to_host(&at));
            let thresholds = |e: crate::plan::Ecn| {
                format!(
                    "minimum-threshold {} kbytes maximum-threshold {} kbytes",
                    e.kmin / 1000,
                    e.kmax / 1000
                )
            };
            on_port(&plan, &at, text, |t| swap(t, &thresholds(own), &thresholds(other)))
        }));
    }
    all.extend(plain_port_mistakes(plan, &mut draw));
    all
}

fn plain_port_mistakes(plan: &Plan, draw: &mut Draw) -> Vec<Mistake> {
    let mut all = Vec::new();
    let mut any = || {
        let switch = draw.pick(&plan.switches);
        let port = draw.pick(&switch.ports);
        (switch.name, port)
    };
    let (switch, port) = any();
    let head = format!("interface {}", port.name);
    all.push(Mistake::port(
        "mtu of a port missing",
        (&switch, &port.name),
        &["mtu-small", "mtu-mismatch", "mtu-drift", "fleet-drift"],
        move |text: &str| block(text, &head, |body| without(body, "mtu ")),
    ));
    let (switch, port) = any();
    let (head, mtu) = (format!("interface {}", port.name), format!("mtu {}", plan.mtu));
    let small = format!("mtu {}", plan.host_mtu - 200);
    all.push(Mistake::port(
        "mtu of a port too small",
        (&switch, &port.name),
        &["mtu-small", "mtu-mismatch", "mtu-drift", "fleet-drift"],
        move |text: &str| block(text, &head, |body| swap(body, &mtu, &small)),
    ));
    if !direct(plan) {
        let (switch, port) = any();
        let head = format!("interface {}", port.name);
        all.push(Mistake::port(
            "profile not applied on a port",
            (&switch, &port.name),
            &["qos-not-applied", "pfc-missing"],
            move |text: &str| block(text, &head, |body| without(body, "service-profile")),
        ));
    }
    all
}

fn device_mistakes(plan: &Plan) -> Vec<Mistake> {
    let mut draw = Draw::new(plan.seed, "eos devices");
    let (data, cnp_dscp, data_dscp) = (plan.data, plan.cnp_dscp, plan.data_dscp);
    let share = plan.share;
    let qos: Vec<(&str, &[&'static str], Change)> = vec![
        ("pfc off on a switch", &["pfc-missing", "qos-not-applied"], {
            Box::new(|t: &str| {
                without(&without(t, "priority-flow-control on"), "priority-flow-control priority")
            })
        }),
        ("pfc on one priority more", &["pfc-extra"], {
            Box::new(move |t: &str| {
                let line = |p: u8| format!("   priority-flow-control priority {p} no-drop\n");
                swap(t, &line(data), &(line(data) + &line(5)))
            })
        }),
        ("weights exchanged", &["weights-drift", "weights-sum", "fleet-drift"], {
            Box::new(move |t: &str| {
                let line = |n: u64| {
                    format!("uc-tx-queue {data}\n      no priority\n      bandwidth percent {n}\n")
                };
                swap(t, &line(share), &line(if share == 50 { 10 } else { 100 - share }))
            })
        }),
    ];
    let mut all = Vec::new();
    for (name, rules, change) in qos {
        let switch = draw.pick(&plan.switches);
        let (plan, at) = (plan.clone(), switch.clone());
        let edit = move |text: &str| on_device(&plan, &at, text, &change);
        all.push(Mistake::device(name, &switch.name, rules, edit));
    }
    let add = |line: String| {
        move |text: &str| {
            swap(
                text,
                "spanning-tree mode none\n",
                &format!("{line}\n!\nspanning-tree mode none\n"),
            )
        }
    };
    let mut plain = |name: &str, rules: &[&'static str], edit: Change| {
        let switch = draw.pick(&plan.switches);
        all.push(Mistake::device(name, &switch.name, rules, edit));
    };
    plain("data dscp in the wrong class", &["data-class"], {
        Box::new(add(format!("qos map dscp {data_dscp} to traffic-class 1")))
    });
    plain("cnp dscp in the data class", &["cnp-class", "mixed-queue"], {
        Box::new(add(format!("qos map dscp {cnp_dscp} to traffic-class {data}")))
    });
    plain("best effort in the lossless queue", &["mixed-queue"], {
        Box::new(add(format!("qos map traffic-class 1 to tx-queue {data}")))
    });
    plain("watchdog of seconds", &["watchdog-slow", "fleet-drift"], {
        let own = format!("watchdog default timeout {}", seconds(plan.watchdog.0));
        Box::new(move |t: &str| swap(t, &own, "watchdog default timeout 30"))
    });
    plain(
        "another software version",
        &["versions-differ"],
        Box::new(|t: &str| swap(t, "4.32.2F", "4.30.1F")),
    );
    if plan.style == 2 {
        plain("headroom pool too small", &["headroom-small", "fleet-drift"], {
            let own = format!("{POOL} {POOL_BYTES}");
            Box::new(move |t: &str| swap(t, &own, &format!("{POOL} 65536")))
        });
    }
    if plan.dynamic {
        plain("load balancing off", &["balancing-missing", "fleet-drift"], {
            Box::new(|t: &str| without(t, "ip hardware fib load-balance"))
        });
    }
    let switch = draw.pick(&plan.switches);
    all.push(Mistake::truncated(&switch.name));
    all
}
