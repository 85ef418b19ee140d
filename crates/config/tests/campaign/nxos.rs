//! Cisco NX-OS on Nexus 9000 as `show running-config` prints it.

use crate::case::Template;
use crate::draw::Draw;
use crate::edit::{Mistake, block, swap, without, without_block};
use crate::plan::{Plan, Port, Switch};
use std::fmt::Write;

pub(crate) const TEMPLATE: Template = Template {
    adjust: |_| (),
    source,
    finish: |_, _, source| source.to_owned(),
    mistakes,
    ending: ".txt",
};

/// Names of the policies: classification, network-qos, queuing.
fn names(plan: &Plan) -> [String; 3] {
    let name = plan.policy;
    match plan.style {
        0 => [format!("{name}-CLASSIFY"), format!("{name}-NQ"), format!("{name}-OUT")],
        1 => ["QOS_MARKING".into(), "qos_network".into(), "QOS_EGRESS_PORT".into()],
        _ => [format!("pm-{name}-in"), format!("{name}_nq"), format!("pm-{name}-out")],
    }
}

/// Names of the class maps of data and of notifications.
fn maps(plan: &Plan) -> [&'static str; 2] {
    match plan.style {
        0 => ["ROCEv2", "CNP"],
        1 => ["RDMA", "CONTROL"],
        _ => ["cm-storage-rdma", "cm-cnp"],
    }
}

/// Whether queuing is applied at every port instead of once.
fn per_port(plan: &Plan) -> bool {
    plan.style == 1
}

fn policies(plan: &Plan) -> String {
    let [classify, network, queuing] = names(plan);
    let [rdma, cnp] = maps(plan);
    let (data, cnp_class) = (plan.data, plan.cnp);
    let ecn = plan.ecn[0];
    let mut text = format!(
        "class-map type qos match-any {rdma}\n  match dscp {}\nclass-map type qos match-any {cnp}\n  match dscp \
         {}\npolicy-map type qos {classify}\n  class {rdma}\n    set qos-group {data}\n  class {cnp}\n    set qos-group \
         {cnp_class}\n  class class-default\n    set qos-group 0\npolicy-map type network-qos {network}\n  class type \
         network-qos c-8q-nq{data}\n    mtu 9216\n    pause pfc-cos {data}\n  class type network-qos c-8q-nq-default\n    mtu \
         9216\npolicy-map type queuing {queuing}\n  class type queuing c-out-8q-q{cnp_class}\n    priority level 1\n",
        plan.data_dscp, plan.cnp_dscp
    );
    for queue in (1..=6u8).rev().filter(|q| *q != data && *q != cnp_class) {
        let _ = writeln!(
            text,
            "  class type queuing c-out-8q-q{queue}\n    bandwidth remaining percent 0"
        );
    }
    let _ = write!(
        text,
        "  class type queuing c-out-8q-q{data}\n    bandwidth remaining percent {}\n    random-detect minimum-threshold {} kbytes \
         maximum-threshold {} kbytes drop-probability {} weight 0 ecn\n  class type queuing c-out-8q-q-default\n    bandwidth \
         remaining percent {}\n",
        plan.share,
        ecn.kmin / 1000,
        ecn.kmax / 1000,
        ecn.pmax,
        100 - plan.share
    );
    text += "system qos\n";
    let _ = writeln!(text, "  service-policy type network-qos {network}");
    if !per_port(plan) {
        let _ = writeln!(text, "  service-policy type queuing output {queuing}");
    }
    text
}

fn source(plan: &Plan, switch: &Switch) -> String {
    let name = &switch.name;
    let mut text = format!(
        "{name}# show running-config\n\n!Command: show running-config\n!Running configuration last done at: Tue Nov  3 08:14:22 \
         2026\n!Time: Tue Nov 17 10:21:03 2026\n\nversion 10.5(2) Bios:version 01.11 \nhostname {name}\nvdc {name} id 1\n  \
         limit-resource vlan minimum 16 maximum 4094\n  limit-resource vrf minimum 2 maximum 4096\n  limit-resource port-channel \
         minimum 0 maximum 511\n\nfeature bgp\nfeature interface-vlan\nfeature lldp\nfeature bfd\nfeature telemetry\n\nno \
         password strength-check\nusername admin password 5 $5$KFCEOE$sY6Ecb9Bv1x3c8c2u0T8rXnVw7  role network-admin\n\
         username svc-backup password 5 !  role network-operator\nno ip domain-lookup\nip domain-name fabric.example.net\n"
    );
    if plan.dynamic {
        text += "hardware profile dlb\n";
        for port in switch.ports.iter().filter(|port| port.up) {
            let _ = writeln!(text, "  dlb-interface {}", port.name.replacen("Ethernet", "Eth", 1));
        }
        text += "  mode flowlet\n  flowlet-aging 500\n";
    }
    text += "ip access-list copp-system-extra\n  10 permit tcp any any eq bgp\n  20 permit udp any any eq 3784\n";
    text += &policies(plan);
    text += "priority-flow-control watch-dog-interval on\ncopp profile strict\nsnmp-server user admin network-admin auth \
             md5 0x5d41402abc4b2a76b9719d911017c592 priv 0x7d793037a0760186574b0282f2f435e7 localizedkey\nrmon event 1 log \
             trap public description FATAL(1) owner PMON@FATAL\nntp server 10.10.0.123 use-vrf management\nlogging server \
             10.10.0.20 5 use-vrf management\n\nip route 0.0.0.0/0 Null0 250\nip prefix-list PL-LO seq 5 permit \
             10.255.0.0/24 eq 32 \nroute-map RM-CONN permit 10\n  match ip address prefix-list PL-LO \nvlan 1,10,20\nvlan \
             10\n  name oob\nvlan 20\n  name storage\nvrf context management\n  ip route 0.0.0.0/0 10.10.1.254\n\n\ninterface \
             Vlan1\n\ninterface Vlan10\n  no shutdown\n  ip address 10.20.0.1/24\n\n";
    for port in &switch.ports {
        interface(plan, switch, port, &mut text);
    }
    tail(plan, switch, &mut text);
    text
}

fn interface(plan: &Plan, switch: &Switch, port: &Port, text: &mut String) {
    let _ = writeln!(text, "interface {}", port.name);
    if let Some(description) = plan.description(port) {
        let _ = writeln!(text, "  description {description}");
    }
    let [classify, _, queuing] = names(plan);
    *text += "  no switchport\n  priority-flow-control mode on\n  priority-flow-control watch-dog-interval on\n";
    let _ = writeln!(text, "  mtu {}\n  speed {}", plan.mtu, port.rate * 1000);
    let _ = writeln!(text, "  service-policy type qos input {classify} ");
    if per_port(plan) {
        let _ = writeln!(text, "  service-policy type queuing output {queuing} ");
    }
    let _ =
        writeln!(text, "  ip address 10.{}.{}.0/31\n  no shutdown\n", switch.number, port.number);
}

fn tail(plan: &Plan, switch: &Switch, text: &mut String) {
    let number = switch.number + 1;
    let _ = write!(
        text,
        "interface Ethernet1/61\n  description nas01 e3a\n  switchport access vlan 20\n  speed 100000\n\ninterface \
         Ethernet1/62\n  shutdown\n\ninterface Ethernet1/65\n  description oob-sw-01 Gi1/0/7\n  switchport access vlan \
         10\n\ninterface mgmt0\n  vrf member management\n  ip address 10.10.1.{number}/24\n\ninterface loopback0\n  ip \
         address 10.255.0.{number}/32\nline console\n  exec-timeout 30\nline vty\nboot nxos bootflash:/nxos64-cs.10.5.2.M.bin \n\
         router bgp {}\n  router-id 10.255.0.{number}\n  bestpath as-path multipath-relax\n  address-family ipv4 unicast\n    \
         redistribute direct route-map RM-CONN\n    maximum-paths 64\n",
        65000 + switch.number
    );
    if plan.evpn {
        *text += "  address-family l2vpn evpn\n    retain route-target all\n";
    }
    for port in switch.ports.iter().filter(|port| port.up) {
        let _ = writeln!(
            text,
            "  neighbor 10.{}.{}.1\n    remote-as external\n    address-family ipv4 unicast",
            switch.number, port.number
        );
    }
    *text += "\n\n";
    let _ = writeln!(text, "{}# ", switch.name);
}

type Change = Box<dyn Fn(&str) -> String>;

fn mistakes(plan: &Plan) -> Vec<Mistake> {
    let mut all = ports(plan);
    all.extend(classes(plan));
    all.extend(queues(plan));
    all
}

fn ports(plan: &Plan) -> Vec<Mistake> {
    let mut draw = Draw::new(plan.seed, "nx-os ports");
    let mtu = format!("mtu {}", plan.mtu);
    let small = format!("mtu {}", plan.host_mtu - 200);
    let mtu_rules: &[&'static str] = &["mtu-small", "mtu-mismatch", "mtu-drift", "fleet-drift"];
    let mut changes: Vec<(&str, &[&'static str], Change)> = vec![
        ("pfc mode off on a port", &["pfc-missing", "qos-not-applied"], {
            Box::new(|t| swap(t, "priority-flow-control mode on", "priority-flow-control mode off"))
        }),
        ("pfc mode missing on a port", &["pfc-missing", "qos-not-applied"], {
            Box::new(|t| without(t, "priority-flow-control mode"))
        }),
        ("watchdog missing on a port", &["watchdog-missing"], {
            Box::new(|t| without(t, "priority-flow-control watch-dog"))
        }),
        ("classification missing on a port", &["trust", "data-class", "qos-not-applied"], {
            Box::new(|t| without(t, "service-policy type qos"))
        }),
        ("mtu of a port missing", mtu_rules, Box::new(|t| without(t, "mtu "))),
        ("mtu of a port too small", mtu_rules, Box::new(move |t| swap(t, &mtu, &small))),
        ("nothing of qos on a port", &["qos-not-applied", "pfc-missing", "trust"], {
            Box::new(|t| without(&without(t, "priority-flow-control"), "service-policy"))
        }),
    ];
    if per_port(plan) {
        changes.push((
            "queuing missing on a port",
            &["ecn-missing", "qos-not-applied", "cnp-not-strict"],
            { Box::new(|t| without(t, "service-policy type queuing")) },
        ));
    }
    let mut all = Vec::new();
    for (name, rules, change) in changes {
        let switch = draw.pick(&plan.switches);
        let port = draw.pick(&switch.ports);
        let head = format!("interface {}", port.name);
        let edit = move |text: &str| block(text, &head, &change);
        all.push(Mistake::port(name, (&switch.name, &port.name), rules, edit));
    }
    all
}

/// A change below one heading of the policies.
fn below(head: String, change: impl Fn(&str) -> String + 'static) -> Change {
    Box::new(move |text: &str| block(text, &head, &change))
}

fn draws(
    plan: &Plan,
    purpose: &str,
    changes: Vec<(&str, &[&'static str], Change)>,
) -> Vec<Mistake> {
    let mut draw = Draw::new(plan.seed, purpose);
    let mut all = Vec::new();
    for (name, rules, change) in changes {
        let switch = draw.pick(&plan.switches);
        all.push(Mistake::device(name, &switch.name, rules, change));
    }
    all
}

fn classes(plan: &Plan) -> Vec<Mistake> {
    let [_, network, _] = names(plan);
    let [rdma, cnp] = maps(plan);
    let (data, data_dscp, cnp_dscp) = (plan.data, plan.data_dscp, plan.cnp_dscp);
    let nq = format!("class type network-qos c-8q-nq{data}");
    let system = format!("service-policy type network-qos {network}");
    let extra = "  class type network-qos c-8q-nq4\n    mtu 9216\n    pause pfc-cos 4\n";
    let every: String = (0..8u8)
        .filter(|p| *p != data)
        .map(|p| match p {
            0 => "  class type network-qos c-8q-nq-default\n    mtu 9216\n    pause pfc-cos 0\n"
                .to_owned(),
            p => format!(
                "  class type network-qos c-8q-nq{p}\n    mtu 9216\n    pause pfc-cos {p}\n"
            ),
        })
        .collect();
    let policy = format!("policy-map type network-qos {network}");
    let mut changes: Vec<(&str, &[&'static str], Change)> = vec![
        ("network-qos not applied", &["pfc-missing", "qos-not-applied"], {
            Box::new(move |t| without(t, &system))
        }),
        (
            "no pause in network-qos",
            &["pfc-missing"],
            below(nq.clone(), |t| without(t, "pause pfc-cos")),
        ),
        (
            "pause of the wrong priority",
            &["pfc-priority", "pfc-missing", "pause-group", "pause-queue"],
            { below(nq, move |t| swap(t, &format!("pfc-cos {data}"), "pfc-cos 5")) },
        ),
        (
            "pause of one priority more",
            &["pfc-extra"],
            below(policy.clone(), move |t| format!("{t}{extra}")),
        ),
        ("pause of all priorities", &["pfc-all-priorities"], {
            below(policy, move |t| {
                let rest = without_block(t, "class type network-qos c-8q-nq-default");
                format!("{rest}{every}")
            })
        }),
        ("data dscp not matched", &["data-class"], {
            below(format!("class-map type qos match-any {rdma}"), move |t| {
                swap(t, &format!("match dscp {data_dscp}"), "match dscp 18")
            })
        }),
        ("cnp dscp in the data class", &["cnp-class", "mixed-queue"], {
            let map = format!("class-map type qos match-any {cnp}");
            let data_map = format!("class-map type qos match-any {rdma}");
            Box::new(move |t| {
                let t = block(t, &data_map, |t| {
                    swap(t, &format!("dscp {data_dscp}"), &format!("dscp {data_dscp},{cnp_dscp}"))
                });
                block(&t, &map, |t| swap(t, &format!("dscp {cnp_dscp}"), "dscp 56"))
            })
        }),
        ("data in another group", &["data-class", "mixed-queue"], {
            below(format!("class {rdma}"), move |t| {
                swap(t, &format!("qos-group {data}"), "qos-group 2")
            })
        }),
        ("best effort in the lossless class", &["mixed-queue"], {
            below("class class-default".into(), move |t| {
                swap(t, "qos-group 0", &format!("qos-group {data}"))
            })
        }),
        (
            "another software version",
            &["versions-differ"],
            Box::new(|t| swap(t, "version 10.5(2) ", "version 10.3(4a) ")),
        ),
        (
            "watchdog off on a switch",
            &["watchdog-missing"],
            Box::new(|t| without(t, "priority-flow-control watch-dog")),
        ),
    ];
    if plan.dynamic {
        changes.push(("load balancing off", &["balancing-missing", "fleet-drift"], {
            Box::new(|t| without_block(t, "hardware profile dlb"))
        }));
    }
    let mut all = draws(plan, "nx-os classes", changes);
    let switch = Draw::new(plan.seed, "nx-os truncated").pick(&plan.switches);
    all.push(Mistake::truncated(&switch.name));
    all
}

fn queues(plan: &Plan) -> Vec<Mistake> {
    let [_, _, queuing] = names(plan);
    let (data, cnp, share, ecn) = (plan.data, plan.cnp, plan.share, plan.ecn[0]);
    let own = format!("class type queuing c-out-8q-q{data}");
    let thresholds = |a: u64, b: u64| {
        format!("minimum-threshold {} kbytes maximum-threshold {} kbytes", a / 1000, b / 1000)
    };
    let set = |new: String| {
        let old = thresholds(ecn.kmin, ecn.kmax);
        below(own.clone(), move |t| swap(t, &old, &new))
    };
    let probability = format!("drop-probability {} ", ecn.pmax);
    let mut changes: Vec<(&str, &[&'static str], Change)> = vec![
        ("ecn missing", &["ecn-missing"], below(own.clone(), |t| without(t, "random-detect"))),
        ("ecn drops", &["ecn-off"], below(own.clone(), |t| swap(t, " weight 0 ecn", " weight 0"))),
        ("kmax below kmin", &["ecn-range", "ecn-drift"], set(thresholds(ecn.kmax, ecn.kmin))),
        ("thresholds ten times", &["ecn-drift", "ecn-above-xoff", "fleet-drift"], {
            set(thresholds(ecn.kmin * 10, ecn.kmax * 10))
        }),
        ("probability 0", &["pmax-zero", "ecn-drift"], {
            below(own.clone(), move |t| swap(t, &probability, "drop-probability 0 "))
        }),
        ("cnp queue has a weight", &["cnp-not-strict", "weights-sum"], {
            below(format!("class type queuing c-out-8q-q{cnp}"), |t| {
                swap(t, "priority level 1", "bandwidth remaining percent 5")
            })
        }),
        ("best effort is strict", &["strict-starves", "weights-sum"], {
            below("class type queuing c-out-8q-q-default".into(), move |t| {
                swap(t, &format!("bandwidth remaining percent {}", 100 - share), "priority level 2")
            })
        }),
        ("weights wrong", &["weights-drift", "weights-sum", "fleet-drift"], {
            let default = "class type queuing c-out-8q-q-default";
            let line = |n: u64| format!("bandwidth remaining percent {n}\n");
            Box::new(move |t| {
                let t = block(t, &own, |t| swap(t, &line(share), &line(10)));
                block(&t, default, |t| swap(t, &line(100 - share), &line(90)))
            })
        }),
    ];
    if !per_port(plan) {
        let line = format!("service-policy type queuing output {queuing}");
        changes.push((
            "queuing not applied",
            &["ecn-missing", "qos-not-applied", "cnp-not-strict"],
            { Box::new(move |t| without(t, &line)) },
        ));
    }
    draws(plan, "nx-os queues", changes)
}
