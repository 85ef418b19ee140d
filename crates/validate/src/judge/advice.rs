//! What to change in the fabric file, computed from the fabric.

use crate::check::Advice;
use xoff_fabric::FabricSetup;
use xoff_fabric::derived::Derived;
use xoff_fabric::file::{CustomLink, Kind};
use xoff_fabric::model::{CLASSES, Scheduling};
use xoff_units::{Bytes, Rate};

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
    Advice { text: format!("make class {data} (the RDMA class) the only lossless one"), change }
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

/// The default thresholds.
pub(super) fn ecn_defaults() -> Advice {
    let keys =
        "[ecn]\nenabled = true\nkmin = \"400KB\"\nkmax = \"1.6MB\"\npmax = 0.2\nat = \"400Gbps\"";
    Advice::change(
        "mark later: below about a bandwidth-delay product senders slow down needlessly",
        keys,
    )
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

/// Packets take the least loaded path, receivers reorder them.
pub(super) fn balance() -> Advice {
    Advice::change(
        "let switches choose the least loaded link packet by packet, with receivers that reorder",
        "[switch.balancing]\nkind = \"dlb\"\nper = \"packet\"\n\
         [transport]\nrecovery = \"selective-repeat\"\nreorder-window = 256",
    )
}

/// Faster recovery: the timers of the DCQCN paper (Zhu et al., 2015, section 5), and
/// increases in the same proportion to the rate (40 Mb/s at 40 Gb/s).
pub(super) fn faster_recovery(setup: &FabricSetup) -> Advice {
    let rate = setup.fabric.cables.first().map_or(Rate::from_gbps(400), |cable| cable.rate);
    let additive = Rate::from_bps(rate.bps() / 1000);
    let hyper = Rate::from_bps(rate.bps() / 200);
    let keys = format!(
        "[transport.congestion]\nkind = \"dcqcn\"\nincrease-timer = \"55us\"\n\
         additive-increase = \"{additive}\"\nhyper-increase = \"{hyper}\""
    );
    Advice::change("let DCQCN recover faster after a rate cut", &keys)
}

/// Cables as fast as their neighbours, and without loss. Single cables are a list in the file, so
/// all of it is written again.
pub(super) fn clean_cables(setup: &FabricSetup, slow: bool) -> Advice {
    const WORDS: &str =
        "replace or clean the optics of these cables, and bring them to the rate of the others";
    let mut change = toml::Table::new();
    if setup.file.fabric.kind == Kind::Custom {
        let link = |link: &CustomLink| {
            let link = CustomLink {
                rate: link.rate.filter(|_| !slow),
                bit_error_rate: None,
                loss: None,
                ..link.clone()
            };
            toml::Table::try_from(link).map(toml::Value::Table).ok()
        };
        let links: Option<Vec<toml::Value>> = setup.file.custom_links.iter().map(link).collect();
        change.extend(links.map(|links| ("link".to_owned(), toml::Value::Array(links))));
        return Advice { text: WORDS.to_owned(), change };
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
    Advice::change(WORDS, &keys)
}
