//! Mistakes in `config_db.json`, as edits of its tables.

use crate::draw::Draw;
use crate::edit::Mistake;
use crate::plan::{Plan, Port};
use crate::sonic::{lossless_profile, marking, name, pretty, reference};
use serde_json::{Value, json};

type Change = Box<dyn Fn(&mut Value)>;
type PortChange = Box<dyn Fn(&mut Value, &Port)>;

fn edited(text: &str, change: &dyn Fn(&mut Value)) -> String {
    let mut root: Value = serde_json::from_str(text).expect("the template is JSON");
    change(&mut root);
    pretty(&root)
}

/// The entry of one port, taken out of the entry of many if it is in one.
fn own<'v>(root: &'v mut Value, table: &str, port: &str, suffix: &str) -> &'v mut Value {
    let entries = root[table].as_object_mut().expect("a table");
    let holds = |key: &&String| {
        let (names, rest) = key.split_once('|').map_or((key.as_str(), ""), |(n, r)| (n, r));
        rest == suffix.trim_start_matches('|') && names.split(',').any(|name| name == port)
    };
    let key = entries.keys().find(holds).expect("an entry for the port").clone();
    let alone = format!("{port}{suffix}");
    if key != alone {
        let entry = entries.remove(&key).expect("it was found");
        let names = key.split('|').next().unwrap_or_default().split(',');
        let rest: Vec<&str> = names.filter(|name| *name != port).collect();
        if !rest.is_empty() {
            entries.insert(format!("{}{suffix}", rest.join(",")), entry.clone());
        }
        entries.insert(alone.clone(), entry);
    }
    &mut entries[&alone]
}

fn remove(value: &mut Value, key: &str) {
    let gone = value.as_object_mut().expect("an object").remove(key);
    assert!(gone.is_some(), "no `{key}` to remove");
}

pub(crate) fn mistakes(plan: &Plan) -> Vec<Mistake> {
    let mut all = ports(plan);
    all.extend(devices(plan));
    let switch = Draw::new(plan.seed, "sonic truncated").pick(&plan.switches);
    all.push(Mistake::truncated(&switch.name));
    all
}

/// The key of the lossless groups of a port.
fn groups(plan: &Plan) -> String {
    match plan.second {
        Some(second) => format!("|{}-{second}", plan.data),
        None => format!("|{}", plan.data),
    }
}

fn ports(plan: &Plan) -> Vec<Mistake> {
    let queue = format!("|{}", plan.data);
    let groups = groups(plan);
    let mtu: &[&'static str] = &["mtu-small", "mtu-mismatch", "mtu-drift", "fleet-drift"];
    let small = (plan.host_mtu - 200).to_string();
    let (group, other, scaled) = (groups.clone(), groups.clone(), plan.ecn[0] != plan.ecn[1]);
    let (p1, p2, p3) = (plan.clone(), plan.clone(), plan.clone());
    let (queue_1, queue_2) = (queue.clone(), queue);
    let mut changes: Vec<(&str, &[&'static str], PortChange)> = vec![
        ("pfc off on a port", &["pfc-missing", "qos-not-applied"], {
            Box::new(|r, p| remove(own(r, "PORT_QOS_MAP", &p.name, ""), "pfc_enable"))
        }),
        ("pfc on the wrong priority", &["pfc-priority", "pfc-missing"], {
            Box::new(|r, p| own(r, "PORT_QOS_MAP", &p.name, "")["pfc_enable"] = json!("5"))
        }),
        ("pfc on all priorities", &["pfc-all-priorities"], {
            Box::new(|r, p| {
                own(r, "PORT_QOS_MAP", &p.name, "")["pfc_enable"] = json!("0,1,2,3,4,5,6,7")
            })
        }),
        ("no qos map on a port", &["qos-not-applied", "pfc-missing"], {
            Box::new(|r, p| {
                own(r, "PORT_QOS_MAP", &p.name, "");
                remove(&mut r["PORT_QOS_MAP"], &p.name);
            })
        }),
        ("ecn missing on a port", &["ecn-missing"], {
            Box::new(move |r, p| remove(own(r, "QUEUE", &p.name, &queue_1), "wred_profile"))
        }),
        ("mtu of a port is 1500", mtu, Box::new(|r, p| r["PORT"][&p.name]["mtu"] = json!("1500"))),
        ("mtu of a port too small", mtu, {
            Box::new(move |r, p| r["PORT"][&p.name]["mtu"] = json!(small))
        }),
        (
            "watchdog missing on a port",
            &["watchdog-missing"],
            Box::new(|r, p| remove(&mut r["PFC_WD"], &p.name)),
        ),
        ("watchdog of seconds", &["watchdog-slow", "fleet-drift"], {
            Box::new(|r, p| r["PFC_WD"][&p.name]["detection_time"] = json!("5000"))
        }),
        ("watchdog alerts only", &["watchdog-alert-only"], {
            Box::new(|r, p| r["PFC_WD"][&p.name]["action"] = json!("alert"))
        }),
        ("no lossless buffer", &["headroom-missing"], {
            Box::new(move |r, p| remove(&mut r["BUFFER_PG"], &format!("{}{group}", p.name)))
        }),
        ("lossy profile in the lossless group", &["headroom-missing", "headroom-small"], {
            Box::new(move |r, p| {
                let profile = reference(&p1, "BUFFER_PROFILE", "ingress_lossy_profile");
                r["BUFFER_PG"][format!("{}{other}", p.name)]["profile"] = profile;
            })
        }),
        ("headroom too small", &["headroom-small", "fleet-drift"], {
            Box::new(move |r, p| {
                let mut small = r["BUFFER_PROFILE"][lossless_profile(p)].clone();
                small["xoff"] = json!("8192");
                r["BUFFER_PROFILE"]["pg_lossless_small"] = small;
                let profile = reference(&p2, "BUFFER_PROFILE", "pg_lossless_small");
                r["BUFFER_PG"][format!("{}{groups}", p.name)]["profile"] = profile;
            })
        }),
    ];
    if scaled {
        changes.push((
            "thresholds of another speed",
            &["ecn-speed", "ecn-drift", "fleet-drift"],
            {
                Box::new(move |r, p| {
                    let profile = marking(&p3, !p.up);
                    let profile = reference(&p3, "WRED_PROFILE", &profile);
                    own(r, "QUEUE", &p.name, &queue_2)["wred_profile"] = profile;
                })
            },
        ));
    }
    let mut draw = Draw::new(plan.seed, "sonic ports");
    let mut all = Vec::new();
    for (title, rules, change) in changes {
        // Profiles of the other speed are there where both speeds are.
        let leaves: Vec<_> = plan.leaves().cloned().collect();
        let switch =
            draw.pick(if title.starts_with("thresholds") { &leaves } else { &plan.switches });
        let port = draw.pick(&switch.ports);
        let at = port.clone();
        let edit = move |text: &str| edited(text, &|root| change(root, &at));
        all.push(Mistake::port(title, (&switch.name, &port.name), rules, edit));
    }
    // Only uplinks are long.
    let switch = draw.pick(&plan.switches);
    let port = draw.pick(&switch.ports.iter().filter(|port| port.up).cloned().collect::<Vec<_>>());
    let at = port.name.clone();
    all.push(Mistake::port(
        "cable length of 3 m at an uplink",
        (&switch.name, &port.name),
        &["headroom-small", "fleet-drift", "cable-mismatch"],
        move |text| edited(text, &|root| root["CABLE_LENGTH"]["AZURE"][&at] = json!("3m")),
    ));
    all
}

/// The marking profiles of a switch, all changed.
fn profiles(root: &mut Value, change: impl Fn(&mut Value)) {
    root["WRED_PROFILE"].as_object_mut().expect("a table").values_mut().for_each(change);
}

fn each_colour(profile: &mut Value, key: &str, change: impl Fn(u64) -> u64) {
    for colour in ["green", "yellow", "red"] {
        let entry = &mut profile[format!("{colour}_{key}")];
        let old: u64 = entry.as_str().and_then(|text| text.parse().ok()).expect("a number");
        *entry = json!(change(old).to_string());
    }
}

fn devices(plan: &Plan) -> Vec<Mistake> {
    let (map, best) = (name(plan), plan.classes[0].to_string());
    let (data, data_dscp, cnp_dscp) =
        (plan.data.to_string(), plan.data_dscp.to_string(), plan.cnp_dscp.to_string());
    let set = |table: &'static str, key: String, value: String| -> Change {
        let map = map.clone();
        Box::new(move |r| r[table][&map][&key] = json!(value))
    };
    let on = match plan.second {
        Some(second) => format!("{data},{second}"),
        None => data.clone(),
    };
    let changes: Vec<(&str, &[&'static str], Change)> = vec![
        ("pfc on one priority more", &["pfc-extra"], {
            Box::new(move |r| {
                let entries = r["PORT_QOS_MAP"].as_object_mut().expect("a table");
                for entry in entries.values_mut().filter(|entry| entry["pfc_enable"].is_string()) {
                    entry["pfc_enable"] = json!(format!("{on},5"));
                }
            })
        }),
        ("pfc off on a switch", &["pfc-missing", "qos-not-applied"], {
            Box::new(|r| {
                let entries = r["PORT_QOS_MAP"].as_object_mut().expect("a table");
                for entry in entries.values_mut().filter(|entry| entry["pfc_enable"].is_string()) {
                    remove(entry, "pfc_enable");
                }
            })
        }),
        (
            "data dscp in the wrong class",
            &["data-class"],
            set("DSCP_TO_TC_MAP", data_dscp.clone(), best.clone()),
        ),
        ("data dscp not mapped", &["data-class"], {
            let map = map.clone();
            Box::new(move |r| remove(&mut r["DSCP_TO_TC_MAP"][&map], &data_dscp))
        }),
        (
            "cnp dscp in the data class",
            &["cnp-class", "mixed-queue"],
            set("DSCP_TO_TC_MAP", cnp_dscp, data.clone()),
        ),
        (
            "best effort in the lossless queue",
            &["mixed-queue"],
            set("TC_TO_QUEUE_MAP", best.clone(), data.clone()),
        ),
        (
            "data in a group without pause",
            &["pause-group"],
            set("TC_TO_PRIORITY_GROUP_MAP", data.clone(), "0".into()),
        ),
        (
            "pause stops another queue",
            &["pause-queue"],
            set("MAP_PFC_PRIORITY_TO_QUEUE", data.clone(), "2".into()),
        ),
        ("ecn off", &["ecn-off"], Box::new(|r| profiles(r, |p| p["ecn"] = json!("ecn_none")))),
        ("kmax below kmin", &["ecn-range", "ecn-drift"], {
            Box::new(|r| {
                profiles(r, |p| {
                    each_colour(p, "min_threshold", |n| n * 30);
                })
            })
        }),
        ("probability 0", &["pmax-zero", "ecn-drift"], {
            Box::new(|r| profiles(r, |p| each_colour(p, "drop_probability", |_| 0)))
        }),
        ("thresholds ten times", &["ecn-drift", "ecn-above-xoff", "fleet-drift"], {
            Box::new(|r| {
                profiles(r, |p| {
                    each_colour(p, "min_threshold", |n| n * 10);
                    each_colour(p, "max_threshold", |n| n * 10);
                })
            })
        }),
        ("cnp queue has a weight", &["cnp-not-strict"], {
            Box::new(|r| r["SCHEDULER"]["scheduler.2"] = json!({"type": "DWRR", "weight": "5"}))
        }),
        ("best effort is strict", &["strict-starves"], {
            Box::new(|r| r["SCHEDULER"]["scheduler.0"] = json!({"type": "STRICT"}))
        }),
        ("weights wrong", &["weights-drift", "fleet-drift"], {
            Box::new(|r| {
                r["SCHEDULER"]["scheduler.0"]["weight"] = json!("95");
                r["SCHEDULER"]["scheduler.1"]["weight"] = json!("5");
            })
        }),
        ("alpha far too small", &["ecn-above-xoff", "fleet-drift"], {
            Box::new(|r| {
                let all = r["BUFFER_PROFILE"].as_object_mut().expect("a table");
                let lossless = all.iter_mut().filter(|(name, _)| name.starts_with("pg_lossless"));
                lossless.for_each(|(_, profile)| profile["dynamic_th"] = json!("-8"));
            })
        }),
        ("another software version", &["versions-differ"], {
            Box::new(|r| r["VERSIONS"]["DATABASE"]["VERSION"] = json!("version_202311_03"))
        }),
    ];
    let mut draw = Draw::new(plan.seed, "sonic devices");
    let mut all = Vec::new();
    for (title, rules, change) in changes {
        let switch = draw.pick(&plan.switches);
        let edit = move |text: &str| edited(text, &*change);
        all.push(Mistake::device(title, &switch.name, rules, edit));
    }
    all
}
