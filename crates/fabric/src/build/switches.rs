//! A kind of switch from its silicon and what a file says about it.

use super::aggregation;
use crate::catalogue::{Catalogue, Silicon};
use crate::diagnostic::code;
use crate::document::{Report, keys};
use crate::file::{
    BalancingName, BalancingSettings, DisciplineName, FabricFile, Forwarding, HashField, HashSeed,
    SwitchSettings, Unit, WatchdogActionName, WatchdogSettings,
};
use crate::model::{
    Aggregation, Balancing, CLASSES, Choice, ClassId, Discipline, HashFields, Tier, Trimming,
    Watchdog, WatchdogAction,
};
use crate::network::Network;
use crate::rules::packet;
use crate::suggest;
use xoff_transport::config::{QpConfig, Recovery};
use xoff_units::{Bytes, Span};

/// Switches that are all alike.
#[derive(Debug, Clone)]
pub(super) struct SwitchKind {
    pub(super) tier: Tier,
    /// What the wiring is planned with.
    pub(super) silicon: Silicon,
    /// What forwards: the same, unless a file says otherwise.
    pub(super) forwards: Silicon,
    pub(super) buffer: Bytes,
    pub(super) cell: Bytes,
    pub(super) latency: Span,
    pub(super) cut_through: bool,
    pub(super) mtu: Bytes,
    pub(super) fields: HashFields,
    /// `None`: one per switch.
    pub(super) seed: Option<u32>,
    pub(super) balancing: Balancing,
    pub(super) watchdog: Option<Watchdog>,
    pub(super) headroom_pool: Option<Bytes>,
    pub(super) discipline: Discipline,
    pub(super) trimming: Option<Trimming>,
    pub(super) aggregation: Option<Aggregation>,
    /// The entries of `[[device]]` that are about it, in their order.
    pub(super) devices: Vec<usize>,
}

/// The silicon a file names for a tier; `generic` after reporting a name that is unknown.
pub(super) fn silicon(
    name: &str,
    tier: Tier,
    catalogue: &Catalogue,
    report: &mut Report<'_>,
) -> Option<Silicon> {
    if let Some(found) = catalogue.silicon.get(name) {
        return Some(found.clone());
    }
    report.error(
        code::UNKNOWN_NAME,
        keys!["fabric", tier.name()],
        format!("there is no `{name}` in the catalogue of silicon"),
        suggest::help(name, catalogue.silicon.keys().map(String::as_str)),
    );
    catalogue.silicon.get("generic").cloned()
}

/// The kind of switch of one tier.
pub(super) fn kind(
    tier: Tier,
    silicon: Silicon,
    file: &FabricFile,
    catalogue: &Catalogue,
    report: &mut Report<'_>,
) -> SwitchKind {
    let section = &file.switch;
    let own = &section.tier(tier).own;
    let all = &section.all;
    let hash = |get: fn(&crate::file::HashSettings) -> Option<HashFields>| {
        own.hash.as_ref().and_then(get).or_else(|| all.hash.as_ref().and_then(get))
    };
    let fields = hash(|h| h.fields.as_deref().map(hash_fields));
    let seed = own.hash.as_ref().and_then(|h| h.seed);
    let seed = seed.or_else(|| all.hash.as_ref().and_then(|h| h.seed));
    let forwards = forwarding_silicon(tier, own, all, catalogue, report);
    let forwards = forwards.unwrap_or_else(|| silicon.clone());
    check_network(tier, &forwards, file, report);
    let forwarding = own.forwarding.or(all.forwarding).unwrap_or(Forwarding::CutThrough);
    let kind = SwitchKind {
        tier,
        buffer: own.buffer.or(all.buffer).unwrap_or(forwards.buffer),
        cell: own.cell.or(all.cell).unwrap_or(forwards.cell),
        latency: own.latency.or(all.latency).unwrap_or(forwards.latency),
        // With virtual output queues a packet is cut into cells when all of it is there.
        cut_through: forwarding == Forwarding::CutThrough && forwards.voq.is_none(),
        mtu: own.mtu.or(all.mtu).unwrap_or(Bytes::new(9216)),
        fields: fields.unwrap_or(HashFields { addresses: true, source_port: true, dest_qp: false }),
        seed: seed.and_then(fixed_seed),
        watchdog: own.watchdog.as_ref().or(all.watchdog.as_ref()).and_then(watchdog),
        balancing: balancing(own.balancing.as_ref().or(all.balancing.as_ref())),
        headroom_pool: own.headroom_pool.or(all.headroom_pool),
        discipline: discipline(own.discipline.or(all.discipline)),
        trimming: own.trimming.or(all.trimming).map(|trimming| Trimming {
            class: ClassId(trimming.class),
            size: trimming.size.unwrap_or(Bytes::new(64)),
        }),
        aggregation: aggregation::settle(tier, own, all, report),
        devices: Vec::new(),
        silicon,
        forwards,
    };
    check(&kind, own, report);
    check_order(&kind, own, &file.transport.qp, report);
    check_mtu(&kind, &file.transport.qp, report);
    kind
}

/// The watchdog of a file, unless that turns it off.
pub(super) fn watchdog(given: &WatchdogSettings) -> Option<Watchdog> {
    let action = match given.action {
        WatchdogActionName::Drop => WatchdogAction::Drop,
        WatchdogActionName::Forward => WatchdogAction::Forward,
    };
    let watchdog = Watchdog { detect: given.detect, restore: given.restore, action };
    given.enabled.then_some(watchdog)
}

/// The seed of a file, if it is the same for every switch.
pub(super) fn fixed_seed(seed: HashSeed) -> Option<u32> {
    match seed {
        HashSeed::Fixed(seed) => Some(seed),
        HashSeed::Each(_) => None,
    }
}

/// Why a hash does not do, and what would.
pub(super) fn wrong_hash(kind: &SwitchKind) -> Option<(String, &'static str)> {
    let blind = kind.balancing == Balancing::Engineered && !kind.fields.source_port;
    let message = "a controller steers flows by their source port, and it is not hashed";
    blind.then(|| (message.to_owned(), "add `source-port` to `switch.hash.fields`"))
}

/// Why a watchdog does not do, and what would.
pub(super) fn wrong_watchdog(kind: &SwitchKind) -> Option<(String, &'static str)> {
    let hasty = kind.watchdog.is_some_and(|watchdog| watchdog.detect.is_zero());
    let message = "a watchdog that detects after no time sees nothing but stuck queues";
    hasty.then(|| (message.to_owned(), "200ms is usual"))
}

fn check_mtu(kind: &SwitchKind, qp: &QpConfig, report: &mut Report<'_>) {
    let largest = packet::largest(qp);
    if largest > kind.mtu {
        let tier = kind.tier.name();
        report.error(
            code::MTU,
            keys!["transport", "mtu"],
            format!("packets of {largest} do not pass {tier} ports with an MTU of {}", kind.mtu),
            "lower `transport.mtu` or raise `switch.mtu`",
        );
    }
}

/// The silicon that `[switch] silicon` names, for all tiers or this one.
fn forwarding_silicon(
    tier: Tier,
    own: &SwitchSettings,
    all: &SwitchSettings,
    catalogue: &Catalogue,
    report: &mut Report<'_>,
) -> Option<Silicon> {
    let name = own.silicon.as_deref().or(all.silicon.as_deref())?;
    let found = catalogue.silicon.get(name).cloned();
    if found.is_none() {
        let path: &[_] = match own.silicon {
            Some(_) => keys!["switch", tier.name(), "silicon"],
            None => keys!["switch", "silicon"],
        };
        report.error(
            code::UNKNOWN_NAME,
            path,
            format!("there is no `{name}` in the catalogue of silicon"),
            suggest::help(name, catalogue.silicon.keys().map(String::as_str)),
        );
    }
    found
}

/// InfiniBand and Ethernet do not run on each other's silicon.
fn check_network(tier: Tier, silicon: &Silicon, file: &FabricFile, report: &mut Report<'_>) {
    let network = file.transport.kind;
    let name = &silicon.name;
    if silicon.infiniband && network != Network::Infiniband {
        report.error(
            code::TOPOLOGY,
            keys!["fabric", tier.name()],
            format!("`{name}` forwards InfiniBand, and no Ethernet for `{}`", network.name()),
            "set `kind = \"infiniband\"` under [transport], or name Ethernet silicon",
        );
    } else if !silicon.infiniband && network == Network::Infiniband && silicon.vendor != "none" {
        report.warn(
            code::TOPOLOGY,
            keys!["transport", "kind"],
            format!("`{name}` forwards Ethernet: InfiniBand has no switch with its buffer and latency"),
            "name InfiniBand silicon (`xoff catalogue silicon`): in [fabric], or as `silicon` under \
             [switch] to keep the wiring",
        );
    }
}

/// Paths of one fabric differ by a few packets even where nothing is congested: who allows fewer to
/// overtake takes the late ones for lost.
const LEAST_OVERTAKING: u32 = 16;

/// Packets of one flow on several paths overtake each other, and the transport has to allow that.
fn check_order(kind: &SwitchKind, own: &SwitchSettings, qp: &QpConfig, report: &mut Report<'_>) {
    let allowed = qp.overtaking_allowed();
    if !kind.balancing.reorders() || allowed >= LEAST_OVERTAKING {
        return;
    }
    let takes = match qp.recovery {
        Recovery::GoBackN => {
            "go-back-n takes every packet that arrives early for a loss".to_owned()
        }
        Recovery::SelectiveRepeat | Recovery::Rack => format!(
            "a packet that {} others overtake is taken for lost (`reorder-window = {allowed}`)",
            allowed + 1
        ),
    };
    let tier = kind.tier.name();
    let path: &[_] = match own.balancing {
        Some(_) => keys!["switch", tier, "balancing", "kind"],
        None => keys!["switch", "balancing", "kind"],
    };
    report.warn(
        code::REORDERING,
        path,
        format!(
            "packets of one flow take several paths, and {takes}: much will be sent again that was \
             not lost"
        ),
        "set `recovery = \"selective-repeat\"` and `reorder-window = 256` under [transport] where the \
         NICs place data out of order, or balance flows (`ecmp`, `flowlet`)",
    );
}

pub(super) fn hash_fields(fields: &[HashField]) -> HashFields {
    HashFields {
        addresses: fields.contains(&HashField::Addresses),
        source_port: fields.contains(&HashField::SourcePort),
        dest_qp: fields.contains(&HashField::DestQp),
    }
}

/// The pause that ends a flowlet: more than paths of one fabric differ by, with short queues.
const FLOWLET_GAP: Span = Span::from_us(10);
const FLOWLET_TABLE: u32 = 4096;

/// How often switches report the quality of their ports. No vendor publishes it: silicon measures its own
/// ports about every microsecond, and a report has to be made, sent and taken in by hardware.
const GLB_REFRESH: Span = Span::from_us(5);
const RAREST_REFRESH: Span = Span::from_ms(1000);

fn balancing(settings: Option<&BalancingSettings>) -> Balancing {
    let Some(settings) = settings else { return Balancing::Hash };
    let choice = match settings.kind {
        BalancingName::Ecmp => return Balancing::Hash,
        BalancingName::Recycle => return Balancing::Recycled,
        BalancingName::Paths => return Balancing::Paths,
        BalancingName::Pinned => return Balancing::Pinned,
        BalancingName::Engineered => return Balancing::Engineered,
        BalancingName::Flowlet | BalancingName::Spray => Choice::Random,
        BalancingName::Dlb => Choice::Local,
        BalancingName::Glb => Choice::Global { refresh: settings.refresh.unwrap_or(GLB_REFRESH) },
    };
    let packets = settings.kind == BalancingName::Spray || settings.per == Some(Unit::Packet);
    let gap = if packets { Span::ZERO } else { settings.gap.unwrap_or(FLOWLET_GAP) };
    Balancing::Adaptive { choice, gap, table: settings.table.unwrap_or(FLOWLET_TABLE) }
}

fn discipline(name: Option<DisciplineName>) -> Discipline {
    match name {
        Some(DisciplineName::Wrr) => Discipline::Wrr,
        Some(DisciplineName::Wfq) => Discipline::Wfq,
        Some(DisciplineName::Dwrr) | None => Discipline::Dwrr,
    }
}

/// Memory beyond this is no switch's; the sums of the checks stay far from overflowing.
const MOST_BUFFER: Bytes = Bytes::new(1 << 44);
const LONGEST_LATENCY: Span = Span::from_ms(1000);

fn check(kind: &SwitchKind, own: &SwitchSettings, report: &mut Report<'_>) {
    let tier = kind.tier.name();
    let mut wrong = |key: &str, in_own: bool, message: String, help: &str| {
        let path: &[_] = if in_own { keys!["switch", tier, key] } else { keys!["switch", key] };
        report.error(code::IMPOSSIBLE, path, message, help);
    };
    if kind.buffer.is_zero() || kind.buffer > MOST_BUFFER {
        let message = format!("a buffer of {} holds no traffic or all of it", kind.buffer);
        wrong("buffer", own.buffer.is_some(), message, "real ones have 16MB to 16GB");
    }
    if kind.cell > Bytes::new(65_536) {
        let message = format!("a cell of {} is larger than any packet", kind.cell);
        wrong("cell", own.cell.is_some(), message, "real ones have 80 to 300 bytes");
    }
    if kind.latency > LONGEST_LATENCY {
        let message = format!("a switch that takes {} forwards nothing in time", kind.latency);
        wrong("latency", own.latency.is_some(), message, "real ones take 300ns to 5us");
    }
    if kind.mtu < Bytes::new(64) || kind.mtu > Bytes::new(65_536) {
        let message = format!("ports cannot have an MTU of {}", kind.mtu);
        wrong("mtu", own.mtu.is_some(), message, "9216B is usual");
    }
    if let Balancing::Adaptive { choice: Choice::Global { refresh }, .. } = kind.balancing
        && refresh > RAREST_REFRESH
    {
        let message = format!("reports every {refresh} come too late for any queue");
        wrong("balancing", own.balancing.is_some(), message, "real ones come every few us");
    }
    if let Balancing::Adaptive { table, .. } = kind.balancing
        && !(1..=1 << 20).contains(&table)
    {
        let message = format!("a table of flowlets cannot have {table} places");
        wrong("balancing", own.balancing.is_some(), message, "real ones have 256 to 65536");
    }
    if let Some(Trimming { class, size }) = kind.trimming {
        if usize::from(class.0) >= CLASSES {
            let message = format!("there is no class {} for what is trimmed", class.0);
            wrong("trimming", own.trimming.is_some(), message, "classes go from 0 to 7");
        }
        if size < Bytes::new(64) || size > Bytes::new(1024) {
            let message = format!("{size} is not what a trimmed packet keeps");
            wrong("trimming", own.trimming.is_some(), message, "it keeps its headers, 64B or more");
        }
    }
    if let Some((message, help)) = wrong_hash(kind) {
        wrong("balancing", own.balancing.is_some(), message, help);
    }
    if let Some((message, help)) = wrong_watchdog(kind) {
        wrong("watchdog", own.watchdog.is_some(), message, help);
    }
}

#[cfg(test)]
mod tests {
    use crate::diagnostic::{Diagnostic, code};
    use crate::load::{load_fabric, load_scenario};

    const BASE: &str =
        "[cluster]\nhosts = 8\n[fabric]\nkind = 'leaf-spine'\nleaves = 2\nspines = 2\n";

    /// What is found of order, and the text it points at.
    fn reordering(text: &str) -> Vec<String> {
        let text = format!("{BASE}{text}");
        let loaded = load_fabric(&text);
        assert!(loaded.value.is_some(), "a warning: {:?}", loaded.diagnostics);
        let found = loaded.diagnostics.iter().filter(|found| found.code == code::REORDERING);
        found.map(|found| text[found.span.clone()].to_owned()).collect()
    }

    #[test]
    fn balancing_that_reorders_needs_a_transport_that_allows_it() {
        for kind in ["kind = 'spray'", "kind = 'recycle'", "kind = 'dlb'\nper = 'packet'"] {
            let balancing = format!("[switch.balancing]\n{kind}\n");
            let value = kind.split_whitespace().nth(2).unwrap();
            assert_eq!(reordering(&balancing), [value], "go-back-n");
            let impatient = "[transport]\nrecovery = 'selective-repeat'\nreorder-window = 2\n";
            assert_eq!(reordering(&format!("{balancing}{impatient}")), [value]);
            let patient = "[transport]\nrecovery = 'selective-repeat'\nreorder-window = 256\n";
            assert!(reordering(&format!("{balancing}{patient}")).is_empty());
        }
        assert_eq!(
            reordering("[switch.leaf.balancing]\nkind = 'glb'\nper = 'packet'\n"),
            ["'glb'"]
        );
        for kind in ["ecmp", "flowlet", "dlb", "glb", "pinned", "engineered"] {
            assert!(reordering(&format!("[switch.balancing]\nkind = '{kind}'\n")).is_empty());
        }
    }

    #[test]
    fn overrides_that_reorder_are_warned_about_on_their_line() {
        let scenario = "fabric = 'f.toml'\n[override.switch.balancing]\nkind = 'spray'\n";
        let found = load_scenario(scenario, BASE).diagnostics;
        let of_order = |found: &&Diagnostic| found.code == code::REORDERING;
        let found: Vec<&Diagnostic> = found.iter().filter(of_order).collect();
        assert_eq!(found.len(), 1, "one for all tiers: {found:?}");
        assert_eq!(found[0].line(scenario), 3);
        assert!(found[0].help.as_ref().is_some_and(|help| help.contains("selective-repeat")));
    }

    #[test]
    fn infiniband_wants_its_own_silicon_and_keeps_the_wiring() {
        let with = |text: &str| load_fabric(&format!("{BASE}leaf = 'tomahawk-5'\n{text}"));
        let ethernet = with("[transport]\nkind = 'infiniband'\n");
        assert!(
            ethernet.diagnostics.iter().any(|found| found.message.contains("forwards Ethernet"))
        );
        let ethernet = ethernet.value.expect("a warning");
        let replaced =
            with("[transport]\nkind = 'infiniband'\n[switch]\nsilicon = 'quantum-x800'\n");
        assert!(replaced.diagnostics.is_empty(), "{:?}", replaced.diagnostics);
        let replaced = replaced.value.unwrap();
        assert_eq!(replaced.fabric.cables.len(), ethernet.fabric.cables.len());
        let switch = &replaced.fabric.switches[0];
        assert_eq!(switch.silicon, "quantum-x800");
        assert_eq!(switch.latency, xoff_units::Span::from_ns(150));
        assert_eq!(switch.buffer, xoff_units::Bytes::new(144_000_000));
        // 800G uplinks do not fit ports of 400G.
        let slow = with("[transport]\nkind = 'infiniband'\n[switch]\nsilicon = 'quantum-2'\n");
        assert!(slow.value.is_none() && slow.diagnostics[0].code == code::PORTS);
        let roce = with("[switch]\nsilicon = 'quantum-x800'\n");
        assert!(roce.value.is_none() && roce.diagnostics[0].message.contains("no Ethernet"));
    }
}
