//! What the advised fabric changes on devices: from the configuration of today's fabric file to that of the advised one.

use crate::commands::config::usual_system;
use crate::output::number::counted;
use crate::output::printable;
use std::collections::BTreeMap;
use std::fmt::Write;
use xoff_config::device::Balancing;
use xoff_config::{Change, Intent};
use xoff_fabric::FabricSetup;
use xoff_sweep::{Setting, shown};
use xoff_tune::choose;

/// What differs, in words, with how many devices have it.
#[derive(Debug, Default)]
pub(super) struct Difference {
    /// Devices that change.
    pub(super) devices: u64,
    /// The statements of each, and what differs.
    pub(super) text: String,
}

/// Keys of NICs that no configuration of `xoff config` has, with what mlx5 (MLNX_OFED) and NCCL call them.
const AT_NICS: [(&str, &str); 6] = [
    ("fabric.transport.congestion.additive-increase", "roce_rp/rpg_ai_rate, Mb/s"),
    ("fabric.transport.congestion.increase-timer", "roce_rp/rpg_time_reset, us"),
    ("fabric.transport.congestion.g", "roce_rp/dce_tcp_g, of 1023"),
    ("fabric.transport.congestion.decrease-interval", "roce_rp/rate_reduce_monitor_period, us"),
    ("fabric.transport.cnp-interval", "roce_np/min_time_between_cnps, us"),
    ("fabric.transport.queue-pairs", "NCCL_IB_QPS_PER_CONNECTION"),
];

/// What has to be set at NICs and hosts by hand.
pub(super) fn by_hand(settings: &[Setting<'_>]) -> Vec<String> {
    let own = settings.iter().map(|own| (own.key.to_string(), &own.value));
    let own = own.filter(|(key, _)| key.starts_with("fabric.transport."));
    let words = own.map(|(key, value)| {
        let known = AT_NICS.iter().find(|(own, _)| *own == key);
        let there = known.map_or(String::new(), |(_, there)| format!(" ({there})"));
        format!("{} = {}{there}", key.trim_start_matches("fabric."), shown(value))
    });
    words.collect()
}

/// The way to spread flows of a fabric, as devices are configured.
fn balancing(setup: &FabricSetup) -> Balancing {
    let file = choose::file(setup);
    let kind = file.get("switch").and_then(|own| own.get("balancing")?.get("kind")?.as_str());
    match kind {
        Some("flowlet" | "dlb" | "glb") => Balancing::Flowlet,
        Some("spray" | "recycle" | "paths") => Balancing::Packet,
        _ => Balancing::Hash,
    }
}

/// The differences of a device, with the ports that have them.
fn same(change: &Change) -> BTreeMap<String, Vec<String>> {
    let mut alike: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for own in &change.differences {
        let value = |value: &Option<String>| value.clone().unwrap_or_else(|| "nothing".into());
        let (left, right) = (value(&own.left), value(&own.right));
        let (port, about) = match own.about.split_once(' ') {
            Some((port, about)) if port.chars().any(|c| c.is_ascii_digit()) => (Some(port), about),
            _ => (None, own.about.as_str()),
        };
        let ports = alike.entry(format!("{about}: {left} -> {right}")).or_default();
        ports.extend(port.map(str::to_owned));
    }
    alike
}

/// What devices of the usual systems change from one fabric to the other.
pub(super) fn between(today: &FabricSetup, advised: &FabricSetup) -> Difference {
    let intent =
        |setup: &FabricSetup| Intent::of(setup, balancing(setup), |own| usual_system(setup, own));
    let (today, advised) = (intent(today), intent(advised));
    // Devices with the same differences are named together.
    let mut alike: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for device in &today.devices {
        let running = device.system.system().fit(device, &mut Vec::new());
        let Some(meant) = advised.device(&device.name) else { continue };
        let Some(change) = Change::between(&running, meant) else { continue };
        let mut text = String::new();
        for (words, ports) in same(&change) {
            let _ = match &ports[..] {
                [] => writeln!(text, "  {words}"),
                [port] => writeln!(text, "  {port} {words}"),
                all => writeln!(text, "  {words} ({} ports: {})", all.len(), all.join(", ")),
            };
        }
        for file in change.forward.render() {
            for line in file.text.lines() {
                let _ = writeln!(text, "  + {line}");
            }
        }
        let name = format!("{} ({})", change.device, change.system);
        alike.entry(text).or_default().push(name);
    }
    let mut all = Difference::default();
    for (text, devices) in alike {
        all.devices += devices.len() as u64;
        let first = &devices[0];
        let more = match devices.len() as u64 - 1 {
            0 => String::new(),
            more => format!(
                " and {} alike: {}",
                counted(more, "device", "devices"),
                devices[1..].join(", ")
            ),
        };
        let _ =
            writeln!(all.text, "{}\n{}", printable(&format!("{first}{more}")), printable(&text));
    }
    all
}
