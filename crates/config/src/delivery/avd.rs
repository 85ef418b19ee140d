//! EOS devices in the structured model of Arista's `eos_cli_config_gen` (AVD): a YAML file per device,
//! from which that generator prints the statements that our renderer prints.

use super::{NOT_READ, yaml};
use crate::device::{Balancing, Device, Part};
use crate::eos::Profile;
use crate::number::Class;
use crate::place::Said;
use crate::qos::{Levels, Maps, QueueSettings, Reaction, WatchdogSettings, Wred};
use crate::system::Rendered;
use crate::text::fit;
use crate::text::notes::as_seconds;
use crate::text::ports::description;
use crate::text::profiles::{Names, joined, number_of, said_queues};
use serde_json::{Map, Value, json};
use xoff_fabric::model::{Scheduling, Threshold};

/// The folder of the files.
pub const FOLDER: &str = "avd";

/// The file of an EOS device, which has to be a fitting one.
pub fn file(device: &Device) -> Rendered {
    let text = format!(
        "---\n# {NOT_READ}\n# RoCE part of {}, for arista.avd.eos_cli_config_gen: merge it into the device's\n\
         # structured configuration\n{}",
        device.name,
        yaml::document(&structured(device))
    );
    Rendered { name: format!("{FOLDER}/structured_configs/{}.yml", device.name), text }
}

/// The structured model of a fitting EOS device.
pub fn structured(device: &Device) -> Value {
    let names = Names::of(Part::Whole, "-");
    let mut profiles = Vec::new();
    let mut interfaces = Vec::new();
    for (name, port) in &device.ports {
        let mut entry = Map::new();
        let profile = Profile::of(port);
        if !profile.says_anything() && !port.mtu.is_said() {
            continue;
        }
        entry.insert("name".into(), name.as_str().into());
        if let Some(text) = description(port) {
            entry.insert("description".into(), text.into());
        }
        if let Some(mtu) = port.mtu.said() {
            entry.insert("mtu".into(), mtu.get().into());
        }
        if profile.says_anything() {
            let number = number_of(&mut profiles, &profile);
            entry.insert("service_profile".into(), names.name(number).into());
        }
        interfaces.push(Value::Object(entry));
    }
    let profiles = profiles.iter().enumerate();
    let profiles: Vec<Value> =
        profiles.map(|(i, profile)| profile_value(profile, &names.name(i))).collect();
    let mut root = Map::new();
    let mut put = |key: &str, value: Value| {
        let empty = value.as_array().is_some_and(Vec::is_empty)
            || value.as_object().is_some_and(Map::is_empty);
        if !empty {
            root.insert(key.to_owned(), value);
        }
    };
    put("qos_profiles", profiles.into());
    put("ethernet_interfaces", interfaces.into());
    put("qos", maps(device));
    put("platform", platform(device));
    if device.balancing.said().is_some_and(|balancing| *balancing != Balancing::Hash) {
        let dynamic = json!({"dynamic": {"enabled": true}});
        put("ip_hardware", json!({"fib": {"load_balance_distribution": dynamic}}));
    }
    Value::Object(root)
}

/// A `qos profile` in the model.
fn profile_value(own: &Profile, name: &str) -> Value {
    let mut profile = Map::from_iter([("name".to_owned(), name.into())]);
    if let Some(trust) = own.trust {
        let word = if trust.reads_dscp() { "dscp" } else { "cos" };
        profile.insert("trust".into(), word.into());
    }
    let mut pauses = Map::new();
    if let Some(priorities) = own.pfc {
        let each = |priority: crate::number::Priority| json!({"priority": priority.get(), "no_drop": true});
        pauses.insert("enabled".into(), true.into());
        pauses.insert("priorities".into(), priorities.iter().map(each).collect());
    }
    if let Some(watchdog) = watchdog(&own.watchdog) {
        pauses.insert("watchdog".into(), watchdog);
    }
    if !pauses.is_empty() {
        profile.insert("priority_flow_control".into(), pauses.into());
    }
    let queues: Vec<Value> =
        said_queues(&own.queues).map(|(number, settings)| queue(number, settings)).collect();
    if !queues.is_empty() {
        profile.insert("uc_tx_queues".into(), queues.into());
    }
    Value::Object(profile)
}

fn watchdog(watchdog: &WatchdogSettings) -> Option<Value> {
    watchdog.on.said().filter(|on| **on)?;
    let mut value = Map::from_iter([("enabled".to_owned(), true.into())]);
    let (low, high) = crate::eos::WATCHDOG_MS;
    let ms = |span| fit::millis(span, low, high);
    if let (Some(detect), Some(restore)) = (watchdog.detect.get(), watchdog.restore.get()) {
        let detect = ms(detect);
        let timer = json!({
            "timeout": as_seconds(detect),
            "polling_interval": as_seconds((detect / 2).max(5)),
            "recovery_time": as_seconds(ms(restore)),
            "forced": true
        });
        value.insert("timer".into(), timer);
    }
    if let Some(reaction) = watchdog.reaction.get() {
        let word = if reaction == Reaction::Alert { "notify-only" } else { "drop" };
        value.insert("action".into(), word.into());
    }
    Some(Value::Object(value))
}

fn queue(number: usize, settings: &QueueSettings) -> Value {
    let mut queue = Map::from_iter([("id".to_owned(), number.into())]);
    match settings.scheduling.said() {
        Some(Scheduling::Strict) => {
            queue.insert("priority".into(), "priority strict".into());
        }
        Some(Scheduling::Weighted(share)) => {
            queue.insert("priority".into(), "no priority".into());
            queue.insert("bandwidth_percent".into(), (*share).into());
        }
        None => {}
    }
    if let Some(detect) = settings.wred.said().and_then(random_detect) {
        queue.insert("random_detect".into(), detect);
    }
    Value::Object(queue)
}

/// Both thresholds have one unit.
fn random_detect(wred: &Wred) -> Option<Value> {
    let Levels::Sizes(ecn) = wred.levels else { return None };
    let (min, max) = (ecn.kmin.get(), ecn.kmax.get());
    let whole = min > 0 && min.is_multiple_of(1_000) && max.is_multiple_of(1_000);
    let (units, divisor) = if whole { ("kbytes", 1_000) } else { ("bytes", 1) };
    let mut threshold = json!({
        "units": units, "min": min / divisor, "max": max / divisor, "weight": 0
    });
    let (verb, probability) =
        if wred.marks { ("ecn", "max_probability") } else { ("drop", "drop_probability") };
    threshold[probability] = fit::percent(ecn.pmax).into();
    Some(json!({verb: {"threshold": threshold}}))
}

/// The maps are the box's: those of the first port that has any.
fn maps(device: &Device) -> Value {
    let said = |maps: &Maps| {
        maps.dscp_to_class.iter().any(Said::is_said)
            || maps.class_to_queue.iter().any(Said::is_said)
    };
    let Some(maps) = device.ports.values().map(|port| &port.maps).find(|maps| said(maps)) else {
        return json!({});
    };
    let dscps = Class::all().filter_map(|class| {
        let dscps = joined(maps.dscps_of(class), " ");
        (!dscps.is_empty()).then(|| Value::from(format!("{dscps} to traffic-class {class}")))
    });
    let queues = Class::all().zip(&maps.class_to_queue).filter_map(|(class, queue)| {
        Some(Value::from(format!("{class} to tx-queue {}", queue.said()?)))
    });
    let (dscps, queues) = (dscps.collect::<Value>(), queues.collect::<Value>());
    json!({"map": {"dscp": dscps, "traffic_class": queues}})
}

/// Buffers of the box.
fn platform(device: &Device) -> Value {
    let mut mmu = Map::new();
    if let Some(pool) = device.headroom_pool.said() {
        mmu.insert("headroom_pool".into(), json!({"unit": "bytes", "limit": pool.get()}));
    }
    let groups = device.ports.values().next().map(|port| &port.groups);
    let mut list = Vec::new();
    for (number, group) in groups.into_iter().flat_map(|groups| groups.iter().enumerate()) {
        let mut entry = Map::new();
        if let Some(reserved) = group.reserved.said() {
            entry.insert("reserved".into(), json!({"unit": "bytes", "memory": reserved.get()}));
        }
        if let Some(Threshold::Dynamic(alpha)) = group.threshold.said() {
            let share = match alpha.denominator() {
                1 => alpha.numerator().to_string(),
                below => format!("{}/{below}", alpha.numerator()),
            };
            entry.insert("threshold".into(), share.into());
        }
        if !entry.is_empty() {
            entry.insert("id".into(), number.into());
            list.push(Value::Object(entry));
        }
    }
    if !list.is_empty() {
        mmu.insert("active_profile".into(), "ROCE".into());
        let ingress = json!({"priority_groups": list});
        mmu.insert("queue_profiles".into(), json!([{"name": "ROCE", "ingress": ingress}]));
    }
    if mmu.is_empty() { json!({}) } else { json!({"trident": {"mmu": mmu}}) }
}
