//! The mistakes: a device, what is done to its text, and the rules that may say so.

use crate::more;
use crate::pod::Texts;
use xoff_config::SystemId;

/// A single mistake.
pub(crate) struct Mistake {
    pub(crate) name: &'static str,
    pub(crate) device: &'static str,
    pub(crate) rules: &'static [&'static str],
    edits: Vec<Edit>,
}

/// A change of a text.
enum Edit {
    /// Everywhere.
    All(String, String),
    /// The first time only.
    First(String, String),
    /// From the first time of this to the end of that.
    Cut(String, String),
    /// The lines with this in them go.
    Without(String),
}

impl Mistake {
    pub(crate) fn new(
        name: &'static str,
        device: &'static str,
        rules: &'static [&'static str],
    ) -> Self {
        Self { name, device, rules, edits: Vec::new() }
    }

    pub(crate) fn all(mut self, from: &str, to: &str) -> Self {
        self.edits.push(Edit::All(from.to_owned(), to.to_owned()));
        self
    }

    pub(crate) fn first(mut self, from: &str, to: &str) -> Self {
        self.edits.push(Edit::First(from.to_owned(), to.to_owned()));
        self
    }

    pub(crate) fn cut(mut self, from: &str, to: &str) -> Self {
        self.edits.push(Edit::Cut(from.to_owned(), to.to_owned()));
        self
    }

    pub(crate) fn without(mut self, mark: &str) -> Self {
        self.edits.push(Edit::Without(mark.to_owned()));
        self
    }

    /// Makes it. An edit that changes nothing is a mistake of the suite.
    pub(crate) fn make(&self, texts: &mut Texts) {
        let name = texts.keys().find(|name| name.starts_with(&format!("{}.", self.device)));
        let text = texts.get_mut(&name.expect("a device of the pod").clone()).unwrap();
        for edit in &self.edits {
            let new = match edit {
                Edit::All(from, to) => text.replace(from, to),
                Edit::First(from, to) => text.replacen(from, to, 1),
                Edit::Cut(from, to) => {
                    let start = text.find(from.as_str()).expect("where to cut");
                    let length = text[start..].find(to.as_str()).expect("where to end") + to.len();
                    format!("{}{}", &text[..start], &text[start + length..])
                }
                Edit::Without(mark) => {
                    let kept = text.lines().filter(|line| !line.contains(mark.as_str()));
                    kept.fold(String::new(), |all, line| all + line + "\n")
                }
            };
            assert_ne!(new, *text, "{}: an edit changes nothing", self.name);
            *text = new;
        }
    }
}

pub(crate) fn of(system: SystemId) -> Vec<Mistake> {
    match system {
        SystemId::Eos => eos(),
        SystemId::NxOs => nx_os(),
        SystemId::Sonic => sonic(),
        SystemId::Cumulus => cumulus(),
        SystemId::CumulusYaml => more::cumulus_yaml(),
        SystemId::Junos => more::junos(),
        SystemId::JunosSet => more::junos_set(),
        SystemId::Os10 => more::os10(),
        SystemId::PicOs => more::picos(),
        SystemId::Host => hosts(),
    }
}

/// The second tenant's data in the queue of the first.
pub(crate) fn tenants(system: SystemId) -> Mistake {
    let (from, to) = match system {
        SystemId::Eos => ("dscp 32 to traffic-class 4", "dscp 32 to traffic-class 3"),
        SystemId::NxOs => ("    set qos-group 4", "    set qos-group 3"),
        SystemId::Sonic => ("            \"32\": \"4\"", "            \"32\": \"3\""),
        SystemId::Cumulus => ("dscp 32 switch-priority 4", "dscp 32 switch-priority 3"),
        SystemId::CumulusYaml => (
            "            '32':\n              switch-priority: 4\n",
            "            '32':\n              switch-priority: 3\n",
        ),
        SystemId::Junos | SystemId::JunosSet => ("class TC4 queue-num 4", "class TC4 queue-num 3"),
        SystemId::Os10 => (" queue 4 qos-group 4", " queue 3 qos-group 4"),
        SystemId::PicOs => ("class TC4 code-point 32", "class TC3 code-point 32"),
        SystemId::Host => unreachable!("hosts have no queue in common"),
    };
    Mistake::new("tenants in one queue", "leaf0", &["tenants-shared"]).first(from, to)
}

pub(crate) const MTU: &[&str] = &["mtu-drift", "mtu-mismatch"];

fn eos() -> Vec<Mistake> {
    let m = Mistake::new;
    let no_drop = "   priority-flow-control priority 3 no-drop\n";
    let extra = |list: &[u8]| {
        list.iter().fold(no_drop.to_owned(), |all, p| {
            all + &format!("   priority-flow-control priority {p} no-drop\n")
        })
    };
    vec![
        m("trusts cos", "leaf0", &["trust"]).first("   qos trust dscp", "   qos trust cos"),
        m("two lossless priorities", "leaf1", &["pfc-extra"]).all(no_drop, &extra(&[4])),
        m("all lossless", "spine0", &["pfc-all-priorities"])
            .all(no_drop, &extra(&[0, 1, 2, 4, 5, 6, 7])),
        m("no priority", "spine0", &["pfc-missing"]).without("priority 3 no-drop"),
        m("PFC off", "leaf0", &["pfc-missing"]).first("   priority-flow-control on\n", ""),
        m("another priority", "leaf1", &["pfc-priority"])
            .all("priority 3 no-drop", "priority 4 no-drop"),
        m("data in class 2", "leaf0", &["data-class"])
            .all("qos map dscp 26 to traffic-class 3", "qos map dscp 26 to traffic-class 2"),
        m("no marking", "spine1", &["ecn-missing"]).without("random-detect"),
        m("drops, not marks", "leaf0", &["ecn-off"])
            .first("random-detect ecn", "random-detect drop"),
        m("marks late", "spine0", &["ecn-above-xoff", "ecn-drift"]).all(
            "minimum-threshold 800 kbytes maximum-threshold 3200 kbytes",
            "minimum-threshold 40 mbytes maximum-threshold 60 mbytes",
        ),
        m("thresholds of 400G at 800G", "leaf0", &["ecn-speed"]).all(
            "minimum-threshold 800 kbytes maximum-threshold 3200 kbytes",
            "minimum-threshold 400 kbytes maximum-threshold 1600 kbytes",
        ),
        m("other thresholds", "spine1", &["ecn-drift"])
            .all("maximum-threshold 3200 kbytes", "maximum-threshold 1000 kbytes"),
        m("CNPs with data", "leaf1", &["cnp-class"])
            .all("qos map dscp 48 to traffic-class 6", "qos map dscp 48 to traffic-class 3"),
        m("CNPs weighted", "spine0", &["cnp-not-strict"])
            .all("      priority strict", "      no priority\n      bandwidth percent 1")
            .all("bandwidth percent 49", "bandwidth percent 47"),
        m("CNPs as best effort", "leaf0", &["cnp-not-strict"])
            .all("qos map dscp 48 to traffic-class 6", "qos map dscp 48 to traffic-class 0"),
        m("small pool", "spine0", &["headroom-small"])
            .all("headroom-pool limit bytes ", "headroom-pool limit bytes 10000\n! "),
        m("no pool", "spine1", &["headroom-missing"]).without("headroom-pool limit"),
        m("no watchdog", "leaf0", &["watchdog-missing"]).without("pause watchdog"),
        m("standard MTU", "leaf1", &["mtu-small"]).first("   mtu 9214", "   mtu 1500"),
        m("smaller MTU on an uplink", "spine0", MTU).first("   mtu 9214", "   mtu 6000"),
        m("port without profile", "leaf0", &["qos-not-applied"])
            .first(
                "   mtu 9214\n   service-profile ROCE-2\n",
                "   mtu 9214\n   qos trust cos\n   no qos trust\n",
            )
            .without("qos trust cos")
            .without("no qos trust"),
        m("best effort in the queue", "leaf0", &["mixed-queue"])
            .all("qos map traffic-class 0 to tx-queue 0", "qos map traffic-class 0 to tx-queue 3"),
        m("best effort in the class", "leaf1", &["mixed-queue"])
            .all("qos map dscp 0 1 ", "qos map dscp 0 to traffic-class 3\nqos map dscp 1 "),
        m("strict best effort", "spine0", &["strict-starves"])
            .all(
                "   uc-tx-queue 0\n      no priority\n      bandwidth percent 49",
                "   uc-tx-queue 0\n      priority strict",
            )
            .all("bandwidth percent 47", "bandwidth percent 96"),
        m("weights of 110", "leaf0", &["weights-sum"])
            .all("bandwidth percent 49", "bandwidth percent 59"),
        m("other weights", "leaf1", &["weights-drift"])
            .all("bandwidth percent 49", "bandwidth percent 79")
            .all("bandwidth percent 47", "bandwidth percent 17"),
        m("no DLB", "leaf0", &["balancing-missing"]).without("distribution dynamic"),
        m("older software", "spine1", &["versions-differ"]).all("EOS-4.32.2F", "EOS-4.28.0F"),
    ]
}

fn nx_os() -> Vec<Mistake> {
    let m = Mistake::new;
    vec![
        m("no classification on an uplink", "leaf0", &["trust", "qos-not-applied"])
            .first("  service-policy type qos input ROCE-CLASSIFY\n  service-policy type queuing output", "  service-policy type queuing output"),
        m("matches cos", "leaf1", &["trust"]).all("match dscp ", "match cos "),
        m("two lossless classes", "spine0", &["pfc-extra"])
            .all("  class type network-qos c-8q-nq3\n", "  class type network-qos c-8q-nq4\n    pause pfc-cos 4\n  class type network-qos c-8q-nq3\n"),
        m("PFC off on a port", "leaf0", &["pfc-missing"]).first("priority-flow-control mode on", "priority-flow-control mode off"),
        m("no pause", "spine1", &["pfc-missing"]).without("pause pfc-cos"),
        m("another cos", "leaf1", &["pfc-priority"]).all("pause pfc-cos 3", "pause pfc-cos 4"),
        m("pause in another class", "leaf0", &["pause-group"]).all("c-8q-nq3", "c-8q-nq4"),
        m("network-qos not applied", "spine0", &["pfc-missing"]).without("  service-policy type network-qos"),
        m("data in group 2", "leaf0", &["data-class"]).all("    set qos-group 3", "    set qos-group 2"),
        m("another DSCP", "spine0", &["data-class"]).all("match dscp 26", "match dscp 24"),
        m("no marking", "spine1", &["ecn-missing"]).without("random-detect"),
        m("drops, not marks", "leaf0", &["ecn-off"]).all(" weight 0 ecn", " weight 0"),
        m("marks late", "spine0", &["ecn-above-xoff", "ecn-drift"])
            .all("minimum-threshold 800 kbytes maximum-threshold 3200 kbytes", "minimum-threshold 40 mbytes maximum-threshold 60 mbytes"),
        m("thresholds of 400G at 800G", "leaf0", &["ecn-speed"])
            .all("minimum-threshold 800 kbytes maximum-threshold 3200 kbytes", "minimum-threshold 400 kbytes maximum-threshold 1600 kbytes"),
        m("queuing not applied", "spine0", &["ecn-missing", "cnp-not-strict"])
            .without("  service-policy type queuing output ROCE-QUEUING"),
        m("CNPs with data", "leaf1", &["cnp-class"]).all("    set qos-group 7", "    set qos-group 3"),
        m("CNPs weighted", "spine0", &["cnp-not-strict"])
            .all("    priority level 1", "    bandwidth remaining percent 1")
            .all("percent 48", "percent 47"),
        m("CNPs unmatched", "leaf0", &["cnp-not-strict"]).all("match dscp 48", "match dscp 47"),
        m("no watchdog", "leaf0", &["watchdog-missing"]).without("watch-dog-interval"),
        m("a small class", "spine1", &["mtu-small"])
            .all("pause pfc-cos 3\n    mtu 9216", "pause pfc-cos 3\n    mtu 1500"),
        m("standard MTU", "leaf1", &["mtu-small"]).first("priority-flow-control mode on", "priority-flow-control mode on\n  mtu 1500"),
        m("smaller MTU on an uplink", "spine0", MTU).first("priority-flow-control mode on", "priority-flow-control mode on\n  mtu 6000"),
        m("best effort in the class", "leaf1", &["mixed-queue"]).all("match dscp 26", "match dscp 0,26"),
        m("strict best effort", "spine0", &["strict-starves"])
            .all("q-default\n    bandwidth remaining percent 48", "q-default\n    priority level 2")
            .all("percent 47", "percent 95"),
        m("weights of 110", "leaf0", &["weights-sum"]).all("percent 48", "percent 58"),
        m("no DLB", "leaf0", &["balancing-missing"]).without("  mode flowlet"),
        m("a port without DLB", "leaf1", &["balancing-missing"]).without("dlb-interface Ethernet1/1/1"),
        m("older software", "spine1", &["versions-differ"]).all("version 10.5(1)", "version 10.3(2)"),
    ]
}

fn sonic() -> Vec<Mistake> {
    let m = Mistake::new;
    let pfc = "\"pfc_enable\": \"3\"";
    vec![
        m("no DSCP map on a port", "leaf0", &["trust"]).first("            \"dscp_to_tc_map\": \"ROCE\",\n", ""),
        m("VLAN priorities", "leaf1", &["trust"]).all("\"dscp_to_tc_map\": \"ROCE\"", "\"dot1p_to_tc_map\": \"ROCE\""),
        m("two lossless priorities", "spine0", &["pfc-extra"]).all(pfc, "\"pfc_enable\": \"3,4\""),
        m("a watchdog that looks elsewhere", "leaf0", &["watchdog-missing"])
            .all("\"pfcwd_sw_enable\": \"3\"", "\"pfcwd_sw_enable\": \"4\""),
        m("all lossless", "leaf0", &["pfc-all-priorities"]).all(pfc, "\"pfc_enable\": \"0,1,2,3,4,5,6,7\""),
        m("PFC off on a port", "leaf1", &["pfc-missing"]).first("            \"pfc_enable\": \"3\",\n", ""),
        m("another priority", "spine1", &["pfc-priority"]).all(pfc, "\"pfc_enable\": \"4\""),
        m("data in class 0", "leaf0", &["data-class"]).first("            \"26\": \"3\"", "            \"26\": \"0\""),
        m("pause of another group", "leaf1", &["pause-group"])
            .first("\"PFC_PRIORITY_TO_PRIORITY_GROUP_MAP\": {\n        \"ROCE\": {\n            \"0\": \"0\",\n            \"1\": \"1\",\n            \"2\": \"2\",\n            \"3\": \"3\"", "\"PFC_PRIORITY_TO_PRIORITY_GROUP_MAP\": {\n        \"ROCE\": {\n            \"0\": \"0\",\n            \"1\": \"1\",\n            \"2\": \"2\",\n            \"3\": \"4\""),
        m("pause of another queue", "spine0", &["pause-queue"])
            .first("\"MAP_PFC_PRIORITY_TO_QUEUE\": {\n        \"ROCE\": {\n            \"0\": \"0\",\n            \"1\": \"1\",\n            \"2\": \"2\",\n            \"3\": \"3\"", "\"MAP_PFC_PRIORITY_TO_QUEUE\": {\n        \"ROCE\": {\n            \"0\": \"0\",\n            \"1\": \"1\",\n            \"2\": \"2\",\n            \"3\": \"4\""),
        m("data in another group", "leaf0", &["pause-group"])
            .first("\"TC_TO_PRIORITY_GROUP_MAP\": {\n        \"ROCE\": {\n            \"0\": \"0\",\n            \"1\": \"0\",\n            \"2\": \"0\",\n            \"3\": \"3\"", "\"TC_TO_PRIORITY_GROUP_MAP\": {\n        \"ROCE\": {\n            \"0\": \"0\",\n            \"1\": \"0\",\n            \"2\": \"0\",\n            \"3\": \"0\""),
        m("no marking", "spine1", &["ecn-missing"]).without("\"wred_profile\""),
        m("ECN not enabled", "leaf0", &["ecn-off"]).first("\"ecn_all\"", "\"ecn_none\""),
        m("marks late", "spine0", &["ecn-above-xoff", "ecn-drift"])
            .all("_min_threshold\": \"800000\"", "_min_threshold\": \"40000000\"")
            .all("_max_threshold\": \"3200000\"", "_max_threshold\": \"60000000\""),
        m("thresholds of 400G at 800G", "leaf0", &["ecn-speed"]).all("\"wred_profile\": \"ROCE_2\"", "\"wred_profile\": \"ROCE\""),
        m("CNPs with data", "leaf1", &["cnp-class"]).first("            \"48\": \"6\"", "            \"48\": \"3\""),
        m("CNPs weighted", "spine0", &["cnp-not-strict"]).all("\"type\": \"STRICT\"", "\"type\": \"DWRR\", \"weight\": \"1\""),
        m("no headroom on a port", "leaf0", &["headroom-missing"]).first("        \"Ethernet0|3\": {\n            \"profile\": \"roce_lossless_400000_5m\"\n        },\n", ""),
        m("headroom of a short cable", "spine0", &["headroom-small"]).first("\"xoff\": \"", "\"xoff\": \"1000\", \"was\": \""),
        m("a believed 5 m", "leaf0", &["headroom-small"]).all("\"40m\"", "\"5m\""),
        m("no watchdog", "leaf0", &["watchdog-missing"]).first("\"PFC_WD\"", "\"PFC_WD_OLD\""),
        m("watchdog alerts", "spine1", &["watchdog-alert-only"]).all("\"action\": \"drop\"", "\"action\": \"alert\""),
        m("standard MTU", "leaf1", &["mtu-small"]).first("\"mtu\": \"9216\"", "\"mtu\": \"1500\""),
        m("smaller MTU on an uplink", "spine0", MTU).first("\"mtu\": \"9216\"", "\"mtu\": \"6000\""),
        m("best effort in the queue", "leaf0", &["mixed-queue"])
            .first("\"TC_TO_QUEUE_MAP\": {\n        \"ROCE\": {\n            \"0\": \"0\"", "\"TC_TO_QUEUE_MAP\": {\n        \"ROCE\": {\n            \"0\": \"3\""),
        m("best effort in the class", "leaf1", &["mixed-queue"])
            .first("\"DSCP_TO_TC_MAP\": {\n        \"ROCE\": {\n            \"0\": \"0\"", "\"DSCP_TO_TC_MAP\": {\n        \"ROCE\": {\n            \"0\": \"3\""),
        m("other weights", "spine0", &["weights-drift"]).all("\"weight\": \"47\"", "\"weight\": \"10\""),
        m("port without QoS", "leaf1", &["qos-not-applied"]).cut("        \"Ethernet0\": {\n            \"dscp_to_tc_map\"", "        },\n"),
        m("older software", "spine1", &["versions-differ"]).all("202411", "202205"),
    ]
}

fn cumulus() -> Vec<Mistake> {
    let m = Mistake::new;
    vec![
        m("trusts l2", "leaf0", &["trust"]).all("trust l3", "trust l2"),
        m("two lossless priorities", "spine0", &["pfc-extra"])
            .all("qos pfc ROCE switch-priority 3", "qos pfc ROCE switch-priority 3,4"),
        m("all lossless", "leaf1", &["pfc-all-priorities"])
            .all("qos pfc ROCE switch-priority 3", "qos pfc ROCE switch-priority 0-7"),
        m("no PFC profile on a port", "leaf0", &["pfc-missing"]).without("swp1s0 qos pfc profile"),
        m("PFC not sent", "spine1", &["pfc-missing"]).all("tx enable", "tx disable"),
        m("another priority", "leaf1", &["pfc-priority"])
            .all("qos pfc ROCE switch-priority 3", "qos pfc ROCE switch-priority 4"),
        m("data in priority 2", "leaf0", &["data-class"])
            .all("dscp 26 switch-priority 3", "dscp 26 switch-priority 2"),
        m("no marking", "spine1", &["ecn-missing"]).without("congestion-control profile"),
        m("ECN off", "leaf0", &["ecn-off"]).all("ecn enable", "ecn disable"),
        m("marks late", "spine0", &["ecn-above-xoff", "ecn-drift"])
            .all("min-threshold 800000", "min-threshold 40000000")
            .all("max-threshold 3200000", "max-threshold 60000000"),
        m("thresholds of 400G at 800G", "leaf0", &["ecn-speed"])
            .all("congestion-control profile ROCE2", "congestion-control profile ROCE"),
        m("CNPs with data", "leaf1", &["cnp-class"])
            .all("dscp 48 switch-priority 6", "dscp 48 switch-priority 3"),
        m("CNPs weighted", "spine0", &["cnp-not-strict"])
            .all("traffic-class 6 mode strict", "traffic-class 6 bw-percent 1")
            .all("bw-percent 48", "bw-percent 47"),
        m("cable of 10 m by default", "leaf0", &["headroom-small"]).without("cable-length 40"),
        m("a believed 5 m", "spine0", &["headroom-small"]).all("cable-length 40", "cable-length 5"),
        m("no watchdog", "leaf0", &["watchdog-missing"]).without("qos pfc-watchdog"),
        m("no watchdog on a port", "spine1", &["watchdog-missing"])
            .without("swp1 qos pfc-watchdog"),
        m("standard MTU", "leaf1", &["mtu-small"]).first("link mtu 9216", "link mtu 1500"),
        m("smaller MTU on an uplink", "spine0", MTU).first("link mtu 9216", "link mtu 6000"),
        m("best effort in the queue", "leaf0", &["mixed-queue"])
            .all("switch-priority 0 traffic-class 0", "switch-priority 0 traffic-class 3"),
        m("best effort in the class", "leaf1", &["mixed-queue"])
            .all("dscp 26 switch-priority 3", "dscp 0,26 switch-priority 3"),
        m("strict best effort", "spine0", &["strict-starves"])
            .all("traffic-class 0 mode dwrr", "traffic-class 0 mode strict")
            .all("bw-percent 47", "bw-percent 95"),
        m("weights of 110", "leaf0", &["weights-sum"]).all("bw-percent 48", "bw-percent 58"),
        m("no adaptive routing", "leaf0", &["balancing-missing"])
            .without("set router adaptive-routing"),
        m("a port without adaptive routing", "spine1", &["balancing-missing"])
            .without("swp1 router adaptive-routing"),
        m("no profiles on a port", "leaf1", &["qos-not-applied", "trust"]).without("swp1s0 qos"),
    ]
}

fn hosts() -> Vec<Mistake> {
    let m = Mistake::new;
    let enabled = "enabled     0   0   0   1   0   0   0   0";
    vec![
        m("trusts VLAN priorities", "server0", &["trust"])
            .first("trust state: dscp", "trust state: pcp"),
        m("PFC off", "server1", &["pfc-missing"])
            .first(enabled, "enabled     0   0   0   0   0   0   0   0"),
        m("PFC on all", "server2", &["pfc-all-priorities"])
            .all(enabled, "enabled     1   1   1   1   1   1   1   1"),
        m("PFC on another", "server3", &["pfc-priority"])
            .first(enabled, "enabled     0   0   0   0   1   0   0   0"),
        m("PFC on two", "server0", &["pfc-extra"])
            .all(enabled, "enabled     0   0   0   1   1   0   0   0"),
        m("ToS 0", "server1", &["nic-data-dscp"]).all("Global tclass=106", "Global tclass=0"),
        m("no traffic class", "server2", &["nic-data-dscp"]).without("traffic_class"),
        m("rdma_cm without ToS", "server3", &["nic-data-dscp"])
            .all("cma_roce_tos mlx5_0 106", "cma_roce_tos mlx5_0 0"),
        m("operator's CNP DSCP", "server0", &["nic-cnp-dscp"]).all("cnp_dscp:48", "cnp_dscp:4"),
        m("marks unanswered", "server1", &["nic-congestion-control"])
            .all("roce_np/enable/3:1", "roce_np/enable/3:0"),
        m("notifications ignored", "server2", &["nic-congestion-control"])
            .first("roce_rp/enable/3:1", "roce_rp/enable/3:0"),
        m("NCCL with another class", "server3", &["nccl-traffic-class"])
            .all("NCCL_IB_TC=106", "NCCL_IB_TC=0"),
        m("NCCL unset", "server0", &["nccl-unset"]).without("NCCL_IB_TC"),
        m("standard MTU", "server1", &["mtu-small"]).first("/mtu:9000", "/mtu:1500"),
        m("MTU above the switch's", "server2", MTU).first("/mtu:9000", "/mtu:9500"),
        m("data in another priority", "server3", &["data-class"])
            .first("\tprio:2 dscp:", "\tprio:2 dscp:26,")
            .first(",26,27", ",27"),
        m("CNPs with data", "server2", &["cnp-class"])
            .first("\tprio:3 dscp:24,25,26,", "\tprio:3 dscp:24,25,26,48,")
            .first("\tprio:6 dscp:48,", "\tprio:6 dscp:"),
        m("weights of 110", "server0", &["weights-sum"]).first("bw: 48%", "bw: 58%"),
        m("other weights", "server1", &["weights-drift"])
            .first("bw: 48%", "bw: 78%")
            .first("bw: 47%", "bw: 17%"),
    ]
}
