//! A kind of switch from its silicon and what a file says about it.

use crate::catalogue::{Catalogue, Silicon};
use crate::diagnostic::code;
use crate::document::{Report, keys};
use crate::file::{
    BalancingName, BalancingSettings, DisciplineName, FabricFile, Forwarding, HashField, HashSeed,
    SwitchSettings, Unit, WatchdogActionName,
};
use crate::model::{
    Balancing, CLASSES, Choice, ClassId, Discipline, HashFields, Tier, Trimming, Watchdog,
    WatchdogAction,
};
use crate::rules::packet;
use crate::suggest;
use xoff_units::{Bytes, Span};

/// Switches that are all alike.
#[derive(Debug, Clone)]
pub(super) struct SwitchKind {
    pub(super) tier: Tier,
    pub(super) silicon: Silicon,
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
    report: &mut Report<'_>,
) -> SwitchKind {
    let section = &file.switch;
    let own = match tier {
        Tier::Leaf => &section.leaf,
        Tier::Spine => &section.spine,
        Tier::Core => &section.core,
    };
    let all = &section.all;
    let hash = |get: fn(&crate::file::HashSettings) -> Option<HashFields>| {
        own.hash.as_ref().and_then(get).or_else(|| all.hash.as_ref().and_then(get))
    };
    let fields = hash(|h| h.fields.as_deref().map(hash_fields));
    let seed = own.hash.as_ref().and_then(|h| h.seed);
    let seed = seed.or_else(|| all.hash.as_ref().and_then(|h| h.seed));
    // A packet is cut into cells for the fabric when all of it is there.
    let usual = match silicon.voq {
        Some(_) => Forwarding::StoreAndForward,
        None => Forwarding::CutThrough,
    };
    let forwarding = own.forwarding.or(all.forwarding).filter(|_| silicon.voq.is_none());
    let forwarding = forwarding.unwrap_or(usual);
    let watchdog = own.watchdog.as_ref().or(all.watchdog.as_ref()).filter(|w| w.enabled);
    let kind = SwitchKind {
        tier,
        buffer: own.buffer.or(all.buffer).unwrap_or(silicon.buffer),
        cell: own.cell.or(all.cell).unwrap_or(silicon.cell),
        latency: own.latency.or(all.latency).unwrap_or(silicon.latency),
        cut_through: forwarding == Forwarding::CutThrough,
        mtu: own.mtu.or(all.mtu).unwrap_or(Bytes::new(9216)),
        fields: fields.unwrap_or(HashFields { addresses: true, source_port: true, dest_qp: false }),
        seed: match seed {
            Some(HashSeed::Fixed(seed)) => Some(seed),
            Some(HashSeed::Each(_)) | None => None,
        },
        watchdog: watchdog.map(|w| Watchdog {
            detect: w.detect,
            restore: w.restore,
            action: match w.action {
                WatchdogActionName::Drop => WatchdogAction::Drop,
                WatchdogActionName::Forward => WatchdogAction::Forward,
            },
        }),
        balancing: balancing(own.balancing.as_ref().or(all.balancing.as_ref())),
        headroom_pool: own.headroom_pool.or(all.headroom_pool),
        discipline: discipline(own.discipline.or(all.discipline)),
        trimming: own.trimming.or(all.trimming).map(|trimming| Trimming {
            class: ClassId(trimming.class),
            size: trimming.size.unwrap_or(Bytes::new(64)),
        }),
        silicon,
    };
    check(&kind, own, report);
    let largest = packet::largest(&file.transport.qp);
    if largest > kind.mtu {
        let tier = kind.tier.name();
        report.error(
            code::MTU,
            keys!["transport", "mtu"],
            format!("packets of {largest} do not pass {tier} ports with an MTU of {}", kind.mtu),
            "lower `transport.mtu` or raise `switch.mtu`",
        );
    }
    kind
}

fn hash_fields(fields: &[HashField]) -> HashFields {
    HashFields {
        addresses: fields.contains(&HashField::Addresses),
        source_port: fields.contains(&HashField::SourcePort),
        dest_qp: fields.contains(&HashField::DestQp),
    }
}

/// The pause that ends a flowlet: more than paths of one fabric differ by, with short queues.
const FLOWLET_GAP: Span = Span::from_us(10);
const FLOWLET_TABLE: u32 = 4096;

fn balancing(settings: Option<&BalancingSettings>) -> Balancing {
    let Some(settings) = settings else { return Balancing::Hash };
    let choice = match settings.kind {
        BalancingName::Ecmp => return Balancing::Hash,
        BalancingName::Recycle => return Balancing::Recycled,
        BalancingName::Pinned => return Balancing::Pinned,
        BalancingName::Engineered => return Balancing::Engineered,
        BalancingName::Flowlet | BalancingName::Spray => Choice::Random,
        BalancingName::Dlb => Choice::Local,
        BalancingName::Glb => Choice::Global,
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
    if kind.balancing == Balancing::Engineered && !kind.fields.source_port {
        let message =
            "a controller steers flows by their source port, and it is not hashed".to_owned();
        let help = "add `source-port` to `switch.hash.fields`";
        wrong("balancing", own.balancing.is_some(), message, help);
    }
    if kind.watchdog.is_some_and(|w| w.detect.is_zero()) {
        let message = "a watchdog that detects after no time sees nothing but stuck queues";
        wrong("watchdog", own.watchdog.is_some(), message.to_owned(), "200ms is usual");
    }
}
