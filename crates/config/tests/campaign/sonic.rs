//! SONiC's `config_db.json` as a box has it, with all tables that are not about QoS.

use crate::case::Template;
use crate::plan::{Cabling, Plan, Port, Switch};
use crate::sonic_mistakes::mistakes;
use serde_json::{Map, Value, json};

pub(crate) const TEMPLATE: Template =
    Template { adjust, source, finish, mistakes, ending: ".json" };

/// The map that SONiC ships: best effort is class 1.
fn adjust(plan: &mut Plan) {
    plan.mtu = 9100;
    if plan.style == 1 {
        return;
    }
    for dscp in 0..64u8 {
        plan.classes[usize::from(dscp)] = match dscp {
            d if d == plan.data_dscp => plan.data,
            d if d == plan.cnp_dscp => plan.cnp,
            3 => 3,
            4 => plan.second.unwrap_or(1),
            8 => 0,
            5 => 2,
            46 => 5,
            _ => 1,
        };
    }
}

/// Name of the maps.
pub(crate) fn name(plan: &Plan) -> String {
    if plan.style == 1 { plan.policy.to_owned() } else { "AZURE".to_owned() }
}

/// A reference to an entry, as images write it now or wrote it until 2021.
pub(crate) fn reference(plan: &Plan, table: &str, name: &str) -> Value {
    if plan.style == 2 { json!(format!("[{table}|{name}]")) } else { json!(name) }
}

/// The profile of marking at a port.
pub(crate) fn marking(plan: &Plan, up: bool) -> String {
    match (plan.ecn[0] == plan.ecn[1], up) {
        (true, _) => "AZURE_LOSSLESS".into(),
        (false, false) => "AZURE_LOSSLESS".into(),
        (false, true) => "AZURE_LOSSLESS_UPLINK".into(),
    }
}

/// The profile of lossless buffers at a port.
pub(crate) fn lossless_profile(port: &Port) -> String {
    format!("pg_lossless_{}_{}m_profile", port.rate * 1000, port.length)
}

fn source(plan: &Plan, switch: &Switch) -> String {
    let mut root = Map::new();
    system(plan, switch, &mut root);
    ports(plan, switch, &mut root);
    maps(plan, switch, &mut root);
    queues(plan, switch, &mut root);
    buffers(plan, switch, &mut root);
    pretty(&Value::Object(root))
}

/// As SONiC prints it: four blanks.
pub(crate) fn pretty(value: &Value) -> String {
    let mut bytes = Vec::new();
    let form = serde_json::ser::PrettyFormatter::with_indent(b"    ");
    let mut writer = serde_json::Serializer::with_formatter(&mut bytes, form);
    serde::Serialize::serialize(value, &mut writer).expect("a value");
    String::from_utf8(bytes).expect("text") + "\n"
}

fn finish(plan: &Plan, switch: &Switch, source: &str) -> String {
    match plan.style {
        2 => {
            let prompt = format!("admin@{}:~$", switch.name);
            format!("{prompt} sudo sonic-cfggen -d --print-data\n{source}{prompt} exit\n")
        }
        _ => source.to_owned(),
    }
}

fn system(plan: &Plan, switch: &Switch, root: &mut Map<String, Value>) {
    let number = switch.number + 1;
    let sku = if plan.style == 1 { "Mellanox-SN5600-O128" } else { "Arista-7060X6-64PE-O128S2" };
    let platform =
        if plan.style == 1 { "x86_64-nvidia_sn5600-r0" } else { "x86_64-arista_7060x6_64pe" };
    root.insert("AAA".into(), json!({"authentication": {"login": "tacacs+,local"}}));
    root.insert(
        "AUTO_TECHSUPPORT".into(),
        json!({"GLOBAL": {"state": "enabled", "rate_limit_interval": "180"}}),
    );
    root.insert("BGP_DEVICE_GLOBAL".into(), json!({"STATE": {"tsa_enabled": "false"}}));
    let neighbours: Map<String, Value> = switch
        .ports
        .iter()
        .filter(|port| port.up)
        .map(|port| {
            let address = format!("10.{}.{}.1", switch.number, port.number);
            let entry = json!({"asn": "65100", "holdtime": "10", "keepalive": "3", "name": port.peer,
                "local_addr": format!("10.{}.{}.0", switch.number, port.number), "nhopself": "0", "rrclient": "0"});
            (address, entry)
        })
        .collect();
    root.insert("BGP_NEIGHBOR".into(), Value::Object(neighbours));
    root.insert(
        "CRM".into(),
        json!({"Config": {"polling_interval": "300", "ipv4_route_threshold_type": "percentage"}}),
    );
    root.insert(
        "DEVICE_METADATA".into(),
        json!({"localhost": {"hostname": switch.name, "hwsku": sku, "platform": platform,
            "mac": format!("74:83:ef:00:01:{number:02x}"), "type": if switch.spine { "SpineRouter" } else { "LeafRouter" },
            "bgp_asn": (65000 + switch.number).to_string(), "default_bgp_status": "up", "buffer_model": "traditional",
            "docker_routing_config_mode": "split", "timezone": "UTC"}}),
    );
    root.insert("FEATURE".into(), json!({"bgp": {"state": "enabled", "auto_restart": "enabled"}, "lldp": {"state": "enabled"}}));
    root.insert("FLEX_COUNTER_TABLE".into(), json!({"PFCWD": {"FLEX_COUNTER_STATUS": "enable"}, "QUEUE": {"FLEX_COUNTER_STATUS": "enable"}}));
    root.insert(
        "LOOPBACK_INTERFACE".into(),
        json!({"Loopback0": {}, (format!("Loopback0|10.255.0.{number}/32")): {}}),
    );
    root.insert(
        "MGMT_INTERFACE".into(),
        json!({(format!("eth0|10.10.1.{number}/24")): {"gwaddr": "10.10.1.254"}}),
    );
    root.insert("MGMT_PORT".into(), json!({"eth0": {"admin_status": "up", "alias": "eth0"}}));
    root.insert("NTP_SERVER".into(), json!({"10.10.0.123": {}}));
    root.insert("SNMP_COMMUNITY".into(), json!({"n0tpublic": {"TYPE": "RO"}}));
    root.insert("SYSLOG_SERVER".into(), json!({"10.10.0.20": {}}));
    root.insert(
        "TACPLUS_SERVER".into(),
        json!({"10.10.0.49": {"priority": "1", "tcp_port": "49"}}),
    );
    root.insert("VERSIONS".into(), json!({"DATABASE": {"VERSION": "version_202411_01"}}));
    root.insert("VLAN".into(), json!({"Vlan20": {"vlanid": "20", "description": "storage"}}));
    root.insert("VLAN_MEMBER".into(), json!({"Vlan20|Ethernet480": {"tagging_mode": "untagged"}}));
    root.insert(
        "ACL_TABLE".into(),
        json!({"SNMP_ACL": {"policy_desc": "SNMP_ACL", "services": ["SNMP"], "stage": "ingress", "type": "CTRLPLANE"}}),
    );
}

fn ports(plan: &Plan, switch: &Switch, root: &mut Map<String, Value>) {
    let mut all = Map::new();
    let mut interfaces = Map::new();
    let mut neighbours = Map::new();
    for port in &switch.ports {
        let index: u64 = port.name.trim_start_matches("Ethernet").parse().expect("a number");
        let lanes: Vec<String> =
            (0..port.rate / 100).map(|lane| (index + lane + 1).to_string()).collect();
        let mut entry = json!({"admin_status": "up", "alias": format!("etp{}", index / 8 + 1), "fec": "rs",
            "index": (index / 8 + 1).to_string(), "lanes": lanes.join(","), "mtu": plan.mtu.to_string(),
            "speed": (port.rate * 1000).to_string(), "tpid": "0x8100", "pfc_asym": "off"});
        if let Some(description) = plan.description(port) {
            entry["description"] = json!(description);
        }
        all.insert(port.name.clone(), entry);
        interfaces.insert(port.name.clone(), json!({}));
        interfaces
            .insert(format!("{}|10.{}.{}.0/31", port.name, switch.number, port.number), json!({}));
        let peer = json!({"name": port.peer, "port": port.peer_port});
        neighbours.insert(port.name.clone(), peer);
    }
    all.insert(
        "Ethernet480".into(),
        json!({"admin_status": "up", "alias": "etp61", "description": "nas01 e3a", "index": "61", "lanes": "481",
            "mtu": "9100", "speed": "100000"}),
    );
    all.insert(
        "Ethernet488".into(),
        json!({"admin_status": "down", "alias": "etp62", "index": "62", "lanes": "489,490,491,492,493,494,495,496",
            "mtu": "9100", "speed": "800000"}),
    );
    all.insert(
        "Ethernet512".into(),
        json!({"admin_status": "down", "alias": "etp65", "index": "65", "lanes": "513",
        "mtu": "9100", "speed": "25000"}),
    );
    root.insert("PORT".into(), Value::Object(all));
    root.insert("INTERFACE".into(), Value::Object(interfaces));
    if matches!(plan.cabling, Cabling::Described(form) if form.is_multiple_of(2)) {
        root.insert("DEVICE_NEIGHBOR".into(), Value::Object(neighbours));
    }
}

/// Entries for the ports of a switch: one each, or one for many.
pub(crate) fn keys(plan: &Plan, ports: &[&Port], suffix: &str) -> Vec<String> {
    let names: Vec<&str> = ports.iter().map(|port| port.name.as_str()).collect();
    match plan.style {
        2 => vec![format!("{}{suffix}", names.join(","))],
        _ => names.iter().map(|name| format!("{name}{suffix}")).collect(),
    }
}

fn maps(plan: &Plan, switch: &Switch, root: &mut Map<String, Value>) {
    let name = name(plan);
    let own = |entry: Value| json!({ (name.clone()): entry });
    let dscps: Map<String, Value> = (0..64)
        .map(|dscp: usize| (dscp.to_string(), json!(plan.classes[dscp].to_string())))
        .collect();
    root.insert("DSCP_TO_TC_MAP".into(), own(Value::Object(dscps)));
    let same: Map<String, Value> =
        (0..8u8).map(|n| (n.to_string(), json!(n.to_string()))).collect();
    root.insert("TC_TO_QUEUE_MAP".into(), own(Value::Object(same.clone())));
    let lossless = |n: u8| n == plan.data || plan.second == Some(n);
    let groups: Map<String, Value> = (0..8u8)
        .map(|n| {
            (n.to_string(), json!(if lossless(n) || n == 7 { n.to_string() } else { "0".into() }))
        })
        .collect();
    root.insert("TC_TO_PRIORITY_GROUP_MAP".into(), own(Value::Object(groups)));
    root.insert("MAP_PFC_PRIORITY_TO_QUEUE".into(), own(Value::Object(same)));
    let pauses: Map<String, Value> =
        (0..8u8).filter(|n| lossless(*n)).map(|n| (n.to_string(), json!(n.to_string()))).collect();
    root.insert("PFC_PRIORITY_TO_PRIORITY_GROUP_MAP".into(), own(Value::Object(pauses)));
    let on: Vec<String> = (0..8u8).filter(|n| lossless(*n)).map(|n| n.to_string()).collect();
    let entry = json!({
        "dscp_to_tc_map": reference(plan, "DSCP_TO_TC_MAP", &name),
        "tc_to_queue_map": reference(plan, "TC_TO_QUEUE_MAP", &name),
        "tc_to_pg_map": reference(plan, "TC_TO_PRIORITY_GROUP_MAP", &name),
        "pfc_to_queue_map": reference(plan, "MAP_PFC_PRIORITY_TO_QUEUE", &name),
        "pfc_to_pg_map": reference(plan, "PFC_PRIORITY_TO_PRIORITY_GROUP_MAP", &name),
        "pfc_enable": on.join(","),
        "pfcwd_sw_enable": on.join(","),
    });
    let ports: Vec<&Port> = switch.ports.iter().collect();
    let mut all: Map<String, Value> =
        keys(plan, &ports, "").into_iter().map(|key| (key, entry.clone())).collect();
    if plan.style == 0 {
        all.insert("global".into(), json!({"dscp_to_tc_map": name}));
    }
    root.insert("PORT_QOS_MAP".into(), Value::Object(all));
    let (detect, restore) = plan.watchdog;
    let mut watch = Map::from_iter([("GLOBAL".to_owned(), json!({"POLL_INTERVAL": "100"}))]);
    for port in &switch.ports {
        let entry = json!({"action": "drop", "detection_time": detect.to_string(), "restoration_time": restore.to_string()});
        watch.insert(port.name.clone(), entry);
    }
    root.insert("PFC_WD".into(), Value::Object(watch));
}

fn queues(plan: &Plan, switch: &Switch, root: &mut Map<String, Value>) {
    root.insert(
        "SCHEDULER".into(),
        json!({
            "scheduler.0": {"type": "DWRR", "weight": (100 - plan.share).to_string()},
            "scheduler.1": {"type": "DWRR", "weight": plan.share.to_string()},
            "scheduler.2": {"type": "STRICT"},
            "scheduler.3": {"type": "DWRR", "weight": "1"},
        }),
    );
    let mut profiles = Map::new();
    for up in [false, true] {
        let ecn = plan.ecn[usize::from(up)];
        let mut entry = Map::from_iter([("ecn".to_owned(), json!("ecn_all"))]);
        for colour in ["green", "yellow", "red"] {
            entry.insert(format!("wred_{colour}_enable"), json!("true"));
            entry.insert(format!("{colour}_min_threshold"), json!(ecn.kmin.to_string()));
            entry.insert(format!("{colour}_max_threshold"), json!(ecn.kmax.to_string()));
            entry.insert(format!("{colour}_drop_probability"), json!(ecn.pmax.to_string()));
        }
        profiles.insert(marking(plan, up), Value::Object(entry));
    }
    root.insert("WRED_PROFILE".into(), Value::Object(profiles));
    let best = plan.classes[0];
    let mut all = Map::new();
    for up in [false, true] {
        let ports: Vec<&Port> = switch.ports.iter().filter(|port| port.up == up).collect();
        if ports.is_empty() {
            continue;
        }
        for queue in 0..8u8 {
            let lossless = queue == plan.data || plan.second == Some(queue);
            let scheduler = match queue {
                _ if lossless => "scheduler.1",
                q if q == plan.cnp => "scheduler.2",
                q if q == best => "scheduler.0",
                _ => "scheduler.3",
            };
            let mut entry = json!({"scheduler": reference(plan, "SCHEDULER", scheduler)});
            if lossless {
                entry["wred_profile"] = reference(plan, "WRED_PROFILE", &marking(plan, up));
            }
            for key in keys(plan, &ports, &format!("|{queue}")) {
                all.insert(key, entry.clone());
            }
        }
    }
    root.insert("QUEUE".into(), Value::Object(all));
}

fn buffers(plan: &Plan, switch: &Switch, root: &mut Map<String, Value>) {
    root.insert(
        "BUFFER_POOL".into(),
        json!({
            "ingress_lossless_pool": {"mode": "dynamic", "size": "164075364", "type": "ingress", "xoff": "20181824"},
            "egress_lossless_pool": {"mode": "static", "size": "164075364", "type": "egress"},
            "egress_lossy_pool": {"mode": "dynamic", "size": "164075364", "type": "egress"},
        }),
    );
    let pool = |name: &str| reference(plan, "BUFFER_POOL", name);
    let mut profiles = json!({
        "ingress_lossy_profile": {"dynamic_th": "3", "pool": pool("ingress_lossless_pool"), "size": "0"},
        "egress_lossless_profile": {"pool": pool("egress_lossless_pool"), "size": "0", "static_th": "165364160"},
        "egress_lossy_profile": {"dynamic_th": "3", "pool": pool("egress_lossy_pool"), "size": "1792"},
    });
    let mut groups = Map::new();
    let mut queues = Map::new();
    let mut lengths = Map::new();
    let lossless: Vec<u8> = (0..8).filter(|n| *n == plan.data || plan.second == Some(*n)).collect();
    let range = |numbers: &[u8]| match numbers {
        [one] => one.to_string(),
        [first, .., last] => format!("{first}-{last}"),
        [] => String::new(),
    };
    let range = range(&lossless);
    for port in &switch.ports {
        let profile = lossless_profile(port);
        let headroom = plan.headroom(port);
        let size = if plan.style == 1 { 18432 + headroom } else { 18432 };
        profiles[&profile] = json!({"dynamic_th": "0", "pool": pool("ingress_lossless_pool"), "size": size.to_string(),
            "xon": "18432", "xon_offset": "3584", "xoff": headroom.to_string()});
        let of = |name: &str| json!({"profile": reference(plan, "BUFFER_PROFILE", name)});
        groups.insert(format!("{}|{range}", port.name), of(&profile));
        groups.insert(format!("{}|0", port.name), of("ingress_lossy_profile"));
        queues.insert(format!("{}|0-2", port.name), of("egress_lossy_profile"));
        queues.insert(format!("{}|{range}", port.name), of("egress_lossless_profile"));
        queues.insert(format!("{}|5-7", port.name), of("egress_lossy_profile"));
        lengths.insert(port.name.clone(), json!(format!("{}m", port.length)));
    }
    lengths.insert("Ethernet480".into(), json!("5m"));
    root.insert("BUFFER_PROFILE".into(), profiles);
    root.insert("BUFFER_PG".into(), Value::Object(groups));
    root.insert("BUFFER_QUEUE".into(), Value::Object(queues));
    root.insert("CABLE_LENGTH".into(), json!({"AZURE": lengths}));
}
