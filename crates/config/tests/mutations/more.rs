//! Mistakes for Junos in both forms, OS10, PicOS and NVUE's YAML.

use crate::mistakes::{MTU, Mistake};

const CLASS: &str = "class TC3 queue-num 3 no-loss pfc-priority 3";

/// What is written alike with braces and as commands.
fn junos_alike() -> Vec<Mistake> {
    let m = Mistake::new;
    vec![
        m("another priority", "leaf1", &["pfc-priority"])
            .all(CLASS, "class TC3 queue-num 3 no-loss pfc-priority 4"),
        m("no pause priority", "spine0", &["pfc-missing"]).all(CLASS, "class TC3 queue-num 3"),
        m("data in class 2", "leaf0", &["data-class"])
            .all("code-points [ 011010 ]", "code-points [ 111110 ]")
            .all("code-points [ 010000 ]", "code-points [ 010000 011010 ]"),
        m("PFC for another code point", "spine1", &["pfc-missing"])
            .all("code-point 011010", "code-point 011000"),
        m("pause stops another queue", "leaf0", &["pause-queue"])
            .all("flow-control-queue 3", "flow-control-queue 4"),
        m("no marking", "spine1", &["ecn-missing"]).without("drop-profile-map"),
        m("drops, not marks", "leaf0", &["ecn-off"]).without("explicit-congestion-notification"),
        m("marks late", "spine0", &["ecn-range"]).all("fill-level [ ", "fill-level [ 9"),
        m("CNPs with data", "leaf1", &["cnp-class"])
            .all("code-points [ 110000 ]", "code-points [ 111111 ]")
            .all("code-points [ 011010 ]", "code-points [ 011010 110000 ]"),
        m("CNPs weighted", "spine0", &["cnp-not-strict"])
            .all("priority strict-high", "transmit-rate percent 1")
            .all("transmit-rate percent 48", "transmit-rate percent 47"),
        m("CNPs as best effort", "leaf0", &["cnp-not-strict"])
            .all("code-points [ 110000 ]", "code-points [ 111110 ]")
            .all("code-points [ 000000 ", "code-points [ 110000 000000 "),
        m("a believed 5 m", "spine0", &["headroom-small"]).all("cable-length 40", "cable-length 5"),
        m("standard MTU", "leaf1", &["mtu-small"]).first("mtu 9216", "mtu 1500"),
        m("smaller MTU on an uplink", "spine0", MTU).first("mtu 9216", "mtu 6000"),
        m("best effort in the class", "leaf1", &["mixed-queue"])
            .all("code-points [ 000000 ", "code-points [ ")
            .all("code-points [ 011010 ]", "code-points [ 000000 011010 ]"),
        m("best effort in the queue", "leaf0", &["mixed-queue"])
            .all("class best-effort queue-num 0", "class best-effort queue-num 3"),
        m("weights of 110", "leaf0", &["weights-sum"])
            .all("transmit-rate percent 48", "transmit-rate percent 58"),
        m("other weights", "leaf1", &["weights-drift"])
            .all("transmit-rate percent 48", "transmit-rate percent 78")
            .all("transmit-rate percent 47", "transmit-rate percent 17"),
        m("no DLB", "leaf0", &["balancing-missing"]).without("inactivity-interval"),
        m("older software", "spine1", &["versions-differ"]).all("24.4R1.7-EVO", "22.2R3-EVO"),
    ]
}

pub(crate) fn junos() -> Vec<Mistake> {
    let m = Mistake::new;
    let point = "                    code-point 011010 {\n                        pfc;\n                    }\n";
    let second = format!("{point}{}", point.replace("011010", "100000"));
    let mut all = junos_alike();
    all.extend([
        m("no watchdog", "leaf0", &["watchdog-missing"])
            .all("pfc-watchdog {", "inactive: pfc-watchdog {"),
        m("two lossless priorities", "spine0", &["pfc-extra"])
            .all(point, &second)
            .all("class TC4 queue-num 4", "class TC4 queue-num 4 no-loss pfc-priority 4"),
        m("no PFC profile on a port", "leaf0", &["pfc-missing"])
            .first("            congestion-notification-profile ROCE;\n", ""),
        m("VLAN priorities", "leaf1", &["trust"])
            .first("                    dscp ROCE;\n", "                    ieee-802.1 ROCE;\n"),
        m("profile switched off", "leaf0", &["pfc-missing"]).first(
            "            congestion-notification-profile ROCE;\n",
            "            inactive: congestion-notification-profile ROCE;\n",
        ),
        m("thresholds of 400G at 800G", "leaf0", &["ecn-speed"])
            .first("            scheduler-map ROCE-2;", "            scheduler-map ROCE;"),
    ]);
    all
}

pub(crate) fn junos_set() -> Vec<Mistake> {
    let m = Mistake::new;
    let point = "set class-of-service congestion-notification-profile ROCE input dscp code-point 011010 pfc\n";
    let second = format!("{point}{}", point.replace("011010", "100000"));
    let mut all = junos_alike();
    all.extend([
        m("no watchdog", "leaf0", &["watchdog-missing"]).without("pfc-watchdog"),
        m("two lossless priorities", "spine0", &["pfc-extra"])
            .all(point, &second)
            .all("class TC4 queue-num 4", "class TC4 queue-num 4 no-loss pfc-priority 4"),
        m("no PFC profile on a port", "leaf0", &["pfc-missing"])
            .without("interfaces et-0/0/0:0 congestion-notification-profile"),
        m("VLAN priorities", "leaf1", &["trust"])
            .first("unit * classifiers dscp ROCE", "unit * classifiers ieee-802.1 ROCE"),
        m("nothing on a port", "spine1", &["qos-not-applied"])
            .without("class-of-service interfaces et-0/0/0 "),
        m("port deactivated", "leaf0", &["qos-not-applied"])
            .first("set version", "deactivate class-of-service interfaces et-0/0/0:0\nset version"),
        m("thresholds of 400G at 800G", "leaf0", &["ecn-speed"])
            .first("scheduler-map ROCE-2\n", "scheduler-map ROCE\n"),
    ]);
    all
}

pub(crate) fn os10() -> Vec<Mistake> {
    let m = Mistake::new;
    vec![
        m("trusts VLAN priorities", "leaf0", &["trust"])
            .first(" trust-map dscp ROCE\n", " trust-map dot1p ROCE\n"),
        m("no trust map on a port", "leaf1", &["trust", "qos-not-applied"])
            .first(" trust-map dscp ROCE\n", ""),
        m("two lossless priorities", "spine0", &["pfc-extra"])
            .all("policy-map type network-qos ROCE\n", "class-map type network-qos B\n match qos-group 4\n!\npolicy-map type network-qos ROCE\n class B\n  pause\n  pfc-cos 4\n"),
        m("PFC off on a port", "leaf0", &["pfc-missing"])
            .first("priority-flow-control mode on", "priority-flow-control mode off"),
        m("network-qos not applied", "spine1", &["pfc-missing"])
            .without("service-policy input type network-qos"),
        m("another cos", "leaf1", &["pfc-priority"]).all("pfc-cos 3", "pfc-cos 4"),
        m("pause in another group", "leaf0", &["pause-group"])
            .all("ROCE-PFC-3\n match qos-group 3", "ROCE-PFC-3\n match qos-group 4"),
        m("data in group 2", "leaf0", &["data-class"])
            .all(" qos-group 3 dscp 26", " qos-group 2 dscp 26"),
        m("no marking", "spine1", &["ecn-missing"]).without("  random-detect ROCE"),
        m("drops, not marks", "leaf0", &["ecn-off"]).without(" random-detect ecn"),
        m("marks late", "spine0", &["ecn-above-xoff", "ecn-drift"])
            .all("minimum-threshold 800 maximum-threshold 3200", "minimum-threshold 40000 maximum-threshold 60000"),
        m("thresholds of 400G at 800G", "leaf0", &["ecn-speed"])
            .all("minimum-threshold 800 maximum-threshold 3200", "minimum-threshold 400 maximum-threshold 1600"),
        m("CNPs with data", "leaf1", &["cnp-class"]).all(" qos-group 6 dscp 48", " qos-group 3 dscp 48"),
        m("CNPs weighted", "spine0", &["cnp-not-strict"])
            .all("  priority\n", "  bandwidth percent 1\n")
            .all("percent 48", "percent 47"),
        m("CNPs unmatched", "leaf0", &["cnp-not-strict"]).without(" qos-group 6 dscp 48"),
        m("standard MTU", "leaf1", &["mtu-small"]).first(" mtu 9216", " mtu 1500"),
        m("smaller MTU on an uplink", "spine0", MTU).first(" mtu 9216", " mtu 6000"),
        m("best effort in the queue", "leaf0", &["mixed-queue"])
            .all(" queue 0 qos-group 0", " queue 3 qos-group 0"),
        m("best effort in the class", "leaf1", &["mixed-queue"])
            .all(" qos-group 0 dscp 0,", " qos-group 0 dscp ")
            .all(" qos-group 3 dscp 26", " qos-group 3 dscp 0,26"),
        m("strict best effort", "spine0", &["strict-starves"])
            .all("  bandwidth percent 48", "  priority")
            .all("percent 47", "percent 95"),
        m("weights of 110", "leaf0", &["weights-sum"]).all("percent 48", "percent 58"),
        m("older software", "spine1", &["versions-differ"]).all("Version 10.5.6.3", "Version 10.5.2.0"),
    ]
}

pub(crate) fn picos() -> Vec<Mistake> {
    let m = Mistake::new;
    vec![
        m("trusts VLAN priorities", "leaf0", &["trust"])
            .all("trust-mode \"dscp\"", "trust-mode \"ieee-802.1\""),
        m("no trust mode", "spine0", &["trust"]).without("trust-mode"),
        m("no classifier on a port", "leaf1", &["trust"])
            .without("class-of-service interface xe-1/1/1.1 classifier"),
        m("nothing on a port", "leaf0", &["qos-not-applied"])
            .without("class-of-service interface xe-1/1/1.1 "),
        m("two lossless priorities", "spine0", &["pfc-extra"])
            .all("code-point 4 drop true", "code-point 4 drop false"),
        m("all lossless", "leaf0", &["pfc-all-priorities"]).all("drop true", "drop false"),
        m("no PFC profile on a port", "leaf1", &["pfc-missing"])
            .without("class-of-service interface xe-1/1/1.1 pfc-profile"),
        m("nothing lossless", "spine1", &["pfc-missing"]).all("drop false", "drop true"),
        m("another priority", "leaf1", &["pfc-priority"])
            .all("code-point 3 drop false", "code-point 3 drop true")
            .all("code-point 4 drop true", "code-point 4 drop false"),
        m("data in class 2", "leaf0", &["data-class"])
            .all("forwarding-class TC3 code-point 26", "forwarding-class TC2 code-point 26"),
        m("data as best effort", "spine0", &["data-class"])
            .without("forwarding-class TC3 code-point 26"),
        m("data in another queue", "leaf1", &["pause-group", "pause-queue"])
            .all("forwarding-class TC3 local-priority 3", "forwarding-class TC3 local-priority 4")
            .all("forwarding-class TC4 local-priority 4", "forwarding-class TC4 local-priority 3"),
        m("CNPs with data", "leaf1", &["cnp-class"])
            .all("forwarding-class TC6 code-point 48", "forwarding-class TC3 code-point 48"),
        m("CNPs weighted", "spine0", &["cnp-not-strict"])
            .all("mode \"SP\"", "mode \"WFQ\"\nset class-of-service scheduler ROCE-Q6 weight 1"),
        m("CNPs unmatched", "leaf0", &["cnp-not-strict"])
            .without("forwarding-class TC6 code-point 48"),
        m("no schedulers on a port", "spine1", &["cnp-not-strict"])
            .without("class-of-service interface xe-1/1/1 scheduler-profile"),
        m("standard MTU", "leaf1", &["mtu-small"]).first("mtu 9216", "mtu 1500"),
        m("smaller MTU on an uplink", "spine0", MTU).first("mtu 9216", "mtu 6000"),
        m("best effort in the class", "leaf1", &["mixed-queue"])
            .all("forwarding-class TC0 code-point 0\n", "forwarding-class TC3 code-point 0\n"),
        m("best effort in the queue", "leaf0", &["mixed-queue"])
            .all("forwarding-class TC0 local-priority 0", "forwarding-class TC0 local-priority 3"),
        m("strict best effort", "spine0", &["strict-starves"])
            .first("scheduler ROCE-Q0 mode \"WFQ\"", "scheduler ROCE-Q0 mode \"SP\""),
        m("other weights", "leaf1", &["weights-drift"]).all("weight 47", "weight 10"),
        m("older software", "spine1", &["versions-differ"]).all("version 4.5.1", "version 4.3.0"),
    ]
}

pub(crate) fn cumulus_yaml() -> Vec<Mistake> {
    let m = Mistake::new;
    let priority = |number: u8| format!("            '{number}': {{}}\n");
    vec![
        m("trusts l2", "leaf0", &["trust"]).all("trust: l3", "trust: l2"),
        m("two lossless priorities", "spine0", &["pfc-extra"])
            .all(&priority(3), &(priority(3) + &priority(4))),
        m("PFC not sent", "spine1", &["pfc-missing"]).all("tx: enable", "tx: disable"),
        m("another priority", "leaf1", &["pfc-priority"]).all(&priority(3), &priority(4)),
        m("data in priority 2", "leaf0", &["data-class"]).all(
            "            '26':\n              switch-priority: 3\n",
            "            '26':\n              switch-priority: 2\n",
        ),
        m("ECN off", "leaf0", &["ecn-off"]).all("ecn: enable", "ecn: disable"),
        m("marks late", "spine0", &["ecn-above-xoff", "ecn-drift"])
            .all("min-threshold: 800000", "min-threshold: 40000000")
            .all("max-threshold: 3200000", "max-threshold: 60000000"),
        m("thresholds of 400G at 800G", "leaf0", &["ecn-speed"])
            .all("min-threshold: 800000", "min-threshold: 400000")
            .all("max-threshold: 3200000", "max-threshold: 1600000"),
        m("CNPs with data", "leaf1", &["cnp-class"]).all(
            "            '48':\n              switch-priority: 6\n",
            "            '48':\n              switch-priority: 3\n",
        ),
        m("CNPs weighted", "spine0", &["cnp-not-strict"])
            .all("mode: strict", "bw-percent: 1")
            .all("bw-percent: 48", "bw-percent: 47"),
        m("cable of 10 m by default", "leaf0", &["headroom-small"]).without("cable-length: 40"),
        m("a believed 5 m", "spine0", &["headroom-small"])
            .all("cable-length: 40", "cable-length: 5"),
        m("no watchdog", "leaf0", &["watchdog-missing"]).without("pfc-watchdog: {}"),
        m("standard MTU", "leaf1", &["mtu-small"]).first("mtu: 9216", "mtu: 1500"),
        m("smaller MTU on an uplink", "spine0", MTU).first("mtu: 9216", "mtu: 6000"),
        m("best effort in the queue", "leaf0", &["mixed-queue"]).first(
            "            '0':\n              traffic-class: 0\n",
            "            '0':\n              traffic-class: 3\n",
        ),
        m("weights of 110", "leaf0", &["weights-sum"]).all("bw-percent: 48", "bw-percent: 58"),
        m("no adaptive routing", "leaf0", &["balancing-missing"])
            .all("    router:\n      adaptive-routing:\n        state: enabled\n", ""),
        m("older software", "spine1", &["versions-differ"]).all("Linux 5.11.0", "Linux 5.5.1"),
    ]
}
