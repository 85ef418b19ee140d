//! What to change in the fabric file, computed from the fabric.

use super::Evidence;
use crate::advice::{Advice, keys_named};
use std::collections::BTreeMap;
use xoff_fabric::FabricSetup;
use xoff_fabric::catalogue::OutOfOrder;
use xoff_fabric::derived::{Derived, TierRow};
use xoff_fabric::file::Kind;
use xoff_fabric::model::{Balancing, CLASSES, Nic, Scheduling};
use xoff_transport::config::Congestion;
use xoff_units::{Bytes, Rate};

/// Data in a class that is lossless already, where there is one.
pub(super) fn into_lossless_class(setup: &FabricSetup) -> Option<Advice> {
    let class = (0..CLASSES).find(|&id| setup.fabric.classes[id].lossless)?;
    let text = format!("put RDMA data into class {class}, which is lossless");
    Some(Advice::change(text, &format!("[traffic]\ndata = {class}")))
}

/// PFC is on.
pub(super) fn pfc_on() -> Advice {
    Advice::change("turn PFC on for the RDMA class", "[pfc]\nenabled = true")
}

/// The class of the data is the only lossless one. Classes are a list in the file, so all of it is
/// written again.
pub(super) fn one_lossless_class(setup: &FabricSetup) -> Advice {
    let data = setup.fabric.data_class.0;
    let mut entries = Vec::new();
    for id in 0..CLASSES as u8 {
        let class = &setup.fabric.classes[usize::from(id)];
        let known = setup.file.classes.iter().find(|entry| entry.id == id);
        let changes = class.lossless != (id == data);
        if known.is_none() && !changes {
            continue;
        }
        let mut table = match known.map(toml::Table::try_from) {
            Some(Ok(table)) => table,
            _ => toml::Table::from_iter([("id".to_owned(), toml::Value::Integer(id.into()))]),
        };
        table.insert("lossless".to_owned(), toml::Value::Boolean(id == data));
        entries.push(toml::Value::Table(table));
    }
    let change = toml::Table::from_iter([("class".to_owned(), toml::Value::Array(entries))]);
    let text = format!("make class {data} (the RDMA class) the only lossless one");
    Advice { change, ..Advice::words(text) }
}

/// Notifications get a class of their own with strict priority.
pub(super) fn cnp_class(setup: &FabricSetup) -> Advice {
    let fabric = &setup.fabric;
    let strict = |id: &usize| {
        let first = fabric.ports.first().map(|port| port.classes[*id].scheduling);
        first == Some(Scheduling::Strict) && *id != fabric.data_class.0 as usize
    };
    let class = (0..CLASSES).rev().find(strict).unwrap_or(6);
    let keys = format!("[traffic]\ncnp = {class}");
    Advice::change("give congestion notifications a strict class of their own", &keys)
}

/// Headroom as computed.
pub(super) fn headroom() -> Advice {
    Advice::change("let headroom follow from cable, rate and MTU", "[pfc]\nheadroom = \"auto\"")
}

/// A watchdog as switch systems ship it.
pub(super) fn watchdog() -> Advice {
    Advice::change("turn the PFC watchdog on", "[switch.watchdog]\nenabled = true")
}

/// A hash seed of its own for every switch.
pub(super) fn hash_seeds() -> Advice {
    Advice::change(
        "give every switch a hash seed of its own",
        "[switch.hash]\nseed = \"per-switch\"",
    )
}

/// As much bandwidth up as down.
pub(super) fn non_blocking(setup: &FabricSetup) -> Advice {
    let layout = &setup.file.fabric;
    let mut keys = String::from("[fabric]\noversubscription = \"1:1\"");
    if layout.spine_oversubscription.is_some() {
        keys.push_str("\nspine-oversubscription = \"1:1\"");
    }
    Advice::change("build the fabric without oversubscription", &keys)
}

/// Marking that begins before PFC pauses: Kmin at a fifth and Kmax at four fifths of the lowest
/// XOFF threshold, relative to the port's rate.
pub(super) fn ecn_below_xoff(setup: &FabricSetup) -> Option<Advice> {
    let at = setup.file.ecn.at.unwrap_or(Rate::from_gbps(400));
    let scaled = setup.file.ecn.scale.unwrap_or(true);
    let derived = Derived::of(setup);
    let limits = derived.thresholds.iter().map(|row| {
        let share = if scaled { at.bps() as f64 / row.rate.bps().max(1) as f64 } else { 1.0 };
        row.xoff.get() as f64 * share
    });
    let lowest = limits.min_by(f64::total_cmp)?;
    let kilobytes = |share: f64| ((lowest * share / 1000.0) as u64).max(1);
    let (kmin, kmax) = (kilobytes(0.2), kilobytes(0.8));
    let keys = format!("[ecn]\nkmin = \"{kmin}KB\"\nkmax = \"{kmax}KB\"");
    Some(Advice::change("let ECN mark before PFC pauses", &keys))
}

/// Marking is on.
pub(super) fn ecn_on() -> Advice {
    Advice::change("turn ECN marking on for the queues of the RDMA class", "[ecn]\nenabled = true")
}

/// Ports that pass the packets of the NICs.
pub(super) fn mtu(setup: &FabricSetup) -> Advice {
    let usual = Bytes::new(9216);
    let section = &setup.file.switch;
    let tiers = [("leaf", &section.leaf), ("spine", &section.spine), ("core", &section.core)];
    let mut keys = format!("[switch]\nmtu = \"{usual}\"");
    for (tier, _) in tiers.iter().filter(|(_, settings)| settings.mtu.is_some()) {
        keys.push_str(&format!("\n[switch.{tier}]\nmtu = \"{usual}\""));
    }
    Advice::change(format!("let every port pass frames of {usual}"), &keys)
}

/// Keys of the file that decide something, with what the defaults are. Taken out, the defaults hold.
struct Choice {
    /// What is decided, after "the default".
    what: &'static str,
    /// Names of the keys, or their paths.
    keys: &'static [&'static str],
}

const MARKING: Choice = Choice {
    what: "ECN thresholds (Kmin 400 KB, Kmax 1.6 MB, Pmax 20 % at 400 Gb/s, in proportion to the rate)",
    keys: &["ecn"],
};
const PAUSE: Choice = Choice {
    what: "pause thresholds (alpha 1/8 of the free buffer, headroom by rate and cable)",
    keys: &[
        "pfc.alpha",
        "pfc.xoff",
        "pfc.xon-offset",
        "pfc.headroom",
        "pfc",
        "alpha",
        "headroom-pool",
    ],
};
const CONGESTION: Choice = Choice {
    what: "congestion control of the NIC",
    keys: &[
        "congestion",
        "notification",
        "cnp-scope",
        "cnp-interval",
        "cnp-delay",
        "reaction-delay",
    ],
};
const RECOVERY: Choice = Choice {
    what: "timeouts and retries of the NIC",
    keys: &[
        "timeout",
        "retry-limit",
        "adaptive-retransmission",
        "rnr-retry-limit",
        "rnr-delay",
        "nak-interval",
        "ack-every",
        "window",
    ],
};
const HASHING: Choice = Choice {
    what: "hash (addresses and UDP source port, a seed of its own for every switch)",
    keys: &["hash"],
};
const SCHEDULING: Choice = Choice {
    what: "schedule of the classes (notifications strict, the others by equal weights)",
    keys: &["scheduling", "discipline"],
};

impl Choice {
    /// The defaults instead of what the file says, if it says anything.
    fn back(&self, evidence: &Evidence<'_>) -> Option<Advice> {
        let keys = keys_named(&evidence.text.parse().ok()?, self.keys);
        // A key inside of one that goes has gone already.
        let inside = |key: &String| keys.iter().any(|outer| key.starts_with(&format!("{outer}.")));
        let keys: Vec<String> = keys.iter().filter(|key| !inside(key)).cloned().collect();
        let text = format!("go back to the default {}", self.what);
        (!keys.is_empty()).then(|| Advice::words(text).without(keys))
    }
}

/// The default thresholds, where the file has others.
pub(super) fn thresholds(evidence: &Evidence<'_>) -> Option<Advice> {
    MARKING.back(evidence)
}

/// The default congestion control, where the file has another.
pub(super) fn usual_congestion_control(evidence: &Evidence<'_>) -> Option<Advice> {
    CONGESTION.back(evidence)
}

/// The default pause thresholds, where the file has others.
pub(super) fn usual_pause(evidence: &Evidence<'_>) -> Option<Advice> {
    PAUSE.back(evidence)
}

/// The default timeouts, where the file has others.
pub(super) fn usual_recovery(evidence: &Evidence<'_>) -> Option<Advice> {
    RECOVERY.back(evidence)
}

/// The default schedule, where the file has another.
pub(super) fn usual_schedule(evidence: &Evidence<'_>) -> Option<Advice> {
    SCHEDULING.back(evidence)
}

/// The default hash, where the file has another.
pub(super) fn usual_hash(evidence: &Evidence<'_>) -> Option<Advice> {
    HASHING.back(evidence)
}

/// Tiers and single switches without settings of their own of these kinds: what holds for the others holds for them.
pub(super) fn as_the_others(evidence: &Evidence<'_>, kinds: &[&str]) -> Option<Advice> {
    let file: toml::Table = evidence.text.parse().ok()?;
    let mut keys = in_entries(&file, "device", kinds);
    let tier = |tier: &str| Some((tier.to_owned(), file.get("switch")?.get(tier)?.as_table()?));
    for (tier, settings) in ["leaf", "spine", "core"].into_iter().filter_map(tier) {
        let kinds = kinds.iter().filter(|kind| settings.contains_key(**kind));
        keys.extend(kinds.map(|kind| format!("switch.{tier}.{kind}")));
    }
    let text = "give these switches the settings of the others";
    (!keys.is_empty()).then(|| Advice::words(text).without(keys))
}

/// NICs that write the DSCPs that switches expect.
pub(super) fn dscp_of_switches(evidence: &Evidence<'_>) -> Option<Advice> {
    let file: toml::Table = evidence.text.parse().ok()?;
    let mut keys = in_entries(&file, "host", &["dscp"]);
    keys.extend(keys_named(&file, &["nic.dscp"]));
    let text = "let NICs write the DSCPs of the switches' classes";
    (!keys.is_empty()).then(|| Advice::words(text).without(keys))
}

/// What entries of a list of exceptions say of these kinds. Entries that say nothing else go whole; the last ones come
/// first, so that each leaves those before it in their place.
fn in_entries(file: &toml::Table, list: &str, kinds: &[&str]) -> Vec<String> {
    let whom = |key: &str| matches!(key, "name" | "names" | "servers" | "nics");
    let entries = file.get(list).and_then(toml::Value::as_array).into_iter().flatten();
    let entries: Vec<&toml::Table> = entries.filter_map(toml::Value::as_table).collect();
    let mut keys = Vec::new();
    for (index, entry) in entries.iter().enumerate().rev() {
        let own: Vec<&&str> = kinds.iter().filter(|kind| entry.contains_key(**kind)).collect();
        if own.is_empty() {
            continue;
        }
        match entry.keys().filter(|key| !whom(key)).count() == own.len() {
            true => keys.push(format!("{list}[{index}]")),
            false => keys.extend(own.iter().map(|kind| format!("{list}[{index}].{kind}"))),
        }
    }
    keys
}

/// Packets as large as NICs can have them.
pub(super) fn large_packets() -> Advice {
    Advice::change("let NICs send packets of 4 KiB", "[transport]\nmtu = \"4KiB\"")
}

/// Whether every NIC can place packets that overtake each other.
fn places_out_of_order(setup: &FabricSetup) -> bool {
    let can = |nic: &Nic| match setup.catalogue.nics.get(&nic.model) {
        Some(model) => model.placement != OutOfOrder::Unable,
        None => false,
    };
    setup.fabric.nics.iter().all(can)
}

/// What spreads flows that meet on one link while others idle: a better hash, switches that choose the least loaded
/// link packet by packet where NICs can take that, more queue pairs.
pub(super) fn spread_load(evidence: &Evidence<'_>) -> Vec<Advice> {
    let setup = evidence.setup;
    let hashed = setup.fabric.switches.iter().any(|switch| switch.balancing == Balancing::Hash);
    let mut all: Vec<Advice> = usual_hash(evidence).into_iter().collect();
    if hashed && places_out_of_order(setup) {
        all.push(Advice::change(
            "let switches choose the least loaded link packet by packet, with receivers that reorder",
            "[switch.balancing]\nkind = \"dlb\"\nper = \"packet\"\n\
             [transport]\nrecovery = \"selective-repeat\"\nreorder-window = 256",
        ));
    }
    all
}

/// What ends retransmissions of packets that were only overtaken.
pub(super) fn keep_order(evidence: &Evidence<'_>) -> Vec<Advice> {
    let setup = evidence.setup;
    let reorders = setup.fabric.switches.iter().any(|switch| !switch.balancing.keeps_paths());
    if !reorders {
        return usual_recovery(evidence).into_iter().collect();
    }
    let mut all = Vec::new();
    if places_out_of_order(setup) {
        all.push(Advice::change(
            "let receivers put packets in order that overtook each other",
            "[transport]\nrecovery = \"selective-repeat\"\nreorder-window = 256",
        ));
    }
    let keys = evidence.text.parse().map(|table| keys_named(&table, &["balancing"]));
    all.push(
        Advice::words("keep each flow on one path: these NICs take reordering for loss")
            .without(keys.unwrap_or_default()),
    );
    all
}

/// Hosts that are slower than their NIC.
pub(super) fn limits(evidence: &Evidence<'_>) -> Option<Advice> {
    let slow = |nic: &&Nic| {
        let line = evidence.setup.fabric.nic_rate(nic);
        nic.receive.is_some_and(|limit| limit.rate < line)
    };
    let names: Vec<String> =
        evidence.setup.fabric.nics.iter().filter(slow).map(|nic| nic.name.clone()).collect();
    let text = format!(
        "give these NICs slots, or receive sides, as fast as their ports: {}",
        super::words::some(&names)
    );
    (!names.is_empty()).then(|| Advice::words(text))
}

/// Faster recovery: the timers of the DCQCN paper (Zhu et al., 2015, section 5), and
/// increases in the same proportion to the rate (40 Mb/s at 40 Gb/s).
pub(super) fn faster_recovery(setup: &FabricSetup) -> Option<Advice> {
    let dcqcn = |nic: &Nic| matches!(nic.qp.congestion, Congestion::Dcqcn(_));
    // Bandwidth that is not there does not come from recovering faster.
    let beyond = |row: &TierRow| {
        let ratio = row.oversubscription.map_or(1.0, |ratio| ratio.as_f64());
        ratio > setup.goals.oversubscription.as_f64() * 1.001
    };
    if !setup.fabric.nics.iter().all(dcqcn) || Derived::of(setup).tiers.iter().any(beyond) {
        return None;
    }
    let rate = setup.fabric.cables.first().map_or(Rate::from_gbps(400), |cable| cable.rate);
    let additive = Rate::from_bps(rate.bps() / 1000);
    let hyper = Rate::from_bps(rate.bps() / 200);
    let keys = format!(
        "[transport.congestion]\nkind = \"dcqcn\"\nincrease-timer = \"55us\"\n\
         additive-increase = \"{additive}\"\nhyper-increase = \"{hyper}\""
    );
    Some(Advice::change("let DCQCN recover faster after a rate cut", &keys))
}

/// Cables as fast as their neighbours, and without loss. `slow` are those that are slower, by the names of their ends in
/// order, with the rate that others have.
pub(super) fn clean_cables(
    setup: &FabricSetup,
    slow: &BTreeMap<(String, String), Rate>,
    lossy: bool,
) -> Advice {
    let words = match (slow.is_empty(), lossy) {
        (false, false) => "bring these cables to the rate of the others",
        (false, true) => {
            "replace or clean the optics of these cables, and bring them to the rate of the others"
        }
        _ => "replace or clean the optics of these cables",
    };
    if setup.file.fabric.kind == Kind::Custom {
        let mut advice = Advice::words(words);
        for (index, link) in setup.file.custom_links.iter().enumerate() {
            let mut ends: Vec<String> = link.ends.split_whitespace().map(str::to_owned).collect();
            ends.sort_unstable();
            let rate = match <[String; 2]>::try_from(ends) {
                Ok([first, second]) => slow.get(&(first, second)),
                Err(_) => None,
            };
            if let Some(rate) = rate {
                let key = format!("link[{index}].rate");
                advice.entries.insert(key, toml::Value::String(rate.to_string()));
            }
            let set =
                [("loss", link.loss.is_some()), ("bit-error-rate", link.bit_error_rate.is_some())];
            let keys = set.into_iter().filter(|(_, set)| *set);
            advice.remove.extend(keys.map(|(key, _)| format!("link[{index}].{key}")));
        }
        return advice;
    }
    let links = &setup.file.links;
    let tiers = [
        ("links", &links.all),
        ("links.host", &links.host),
        ("links.leaf-spine", &links.leaf_spine),
        ("links.spine-core", &links.spine_core),
    ];
    let dirty =
        tiers.iter().filter(|(_, link)| link.loss.is_some() || link.bit_error_rate.is_some());
    let keys: String =
        dirty.map(|(table, _)| format!("[{table}]\nloss = 0\nbit-error-rate = 0\n")).collect();
    Advice::change(words, &keys)
}
