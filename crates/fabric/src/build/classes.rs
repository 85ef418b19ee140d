//! The eight traffic classes from the default ones and what a file changes.

use super::places::Layer;
use crate::diagnostic::code;
use crate::document::{Report, keys};
use crate::file::{ClassEntry, ClassRef, EcnSettings, FabricFile, SchedulingEntry};
use crate::model::{CLASSES, ClassId, Ecn, Scheduling};
use xoff_units::{Bytes, Rate, Ratio, Span};

/// All classes, and how traffic finds its own.
pub(super) struct Classes {
    pub(super) plans: [ClassPlan; CLASSES],
    pub(super) by_dscp: [ClassId; 64],
    pub(super) data: ClassId,
    pub(super) ack: Option<ClassId>,
    pub(super) cnp: Option<ClassId>,
}

/// One class.
#[derive(Debug, Clone)]
pub(super) struct ClassPlan {
    pub(super) name: String,
    pub(super) lossless: bool,
    pub(super) dscp: u8,
    pub(super) scheduling: Scheduling,
    pub(super) ecn: Option<EcnPlan>,
    pub(super) reserved: Bytes,
    /// When an ingress pauses, if the class is lossless.
    pub(super) pause: PauseAt,
    /// The share of the free buffer that an ingress may take, if the class is lossy.
    pub(super) alpha: Option<Ratio>,
    pub(super) egress_alpha: Ratio,
    pub(super) egress_delay: Option<Span>,
    /// Index of its `[[class]]`, for messages.
    pub(super) entry: Option<usize>,
}

/// When an ingress pauses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PauseAt {
    /// At this share of the free buffer.
    Share(Ratio),
    /// At this size.
    Size(Bytes),
}

/// ECN of one class, before it is scaled to a port.
#[derive(Debug, Clone, Copy)]
pub(super) struct EcnPlan {
    pub(super) ecn: Ecn,
    pub(super) at: Rate,
    pub(super) scale: bool,
}

const RDMA: usize = 3;
const CNP: usize = 6;

/// The classes of `file`.
pub(super) fn settle(file: &FabricFile, report: &mut Report<'_>) -> Classes {
    let mut entries: [Option<(usize, &ClassEntry)>; CLASSES] = [None; CLASSES];
    for (index, entry) in file.classes.iter().enumerate() {
        let Some(slot) = entries.get_mut(usize::from(entry.id)) else {
            report.error(
                code::IMPOSSIBLE,
                keys!["class", index, "id"],
                format!("there is no class {}", entry.id),
                "classes are priorities and go from 0 to 7",
            );
            continue;
        };
        if slot.is_some() {
            report.error(
                code::DUPLICATE,
                keys!["class", index, "id"],
                format!("class {} is described twice", entry.id),
                "merge the two tables",
            );
            continue;
        }
        *slot = Some((index, entry));
    }
    let (by_dscp, dscps) = dscp_map(&entries, report);
    let plans = std::array::from_fn(|id| plan(id, entries[id], dscps[id], file, &[]));
    let class = |id: u8, key: &str, report: &mut Report<'_>| {
        if usize::from(id) >= CLASSES {
            report.error(
                code::IMPOSSIBLE,
                keys!["traffic", key],
                format!("there is no class {id}"),
                "classes go from 0 to 7",
            );
        }
        ClassId(id.min(CLASSES as u8 - 1))
    };
    let data = class(file.traffic.data.unwrap_or(RDMA as u8), "data", report);
    let ack = file.traffic.ack.and_then(|ack| match ack {
        ClassRef::Id(id) => Some(class(id, "ack", report)),
        ClassRef::Word(_) => None,
    });
    let cnp = match file.traffic.cnp.unwrap_or(ClassRef::Id(CNP as u8)) {
        ClassRef::Id(id) => Some(class(id, "cnp", report)),
        ClassRef::Word(_) => None,
    };
    Classes { plans, by_dscp, data, ack, cnp }
}

impl Classes {
    /// The `[[class]]` of a class, with its place in the file.
    pub(super) fn entry<'a>(
        &self,
        file: &'a FabricFile,
        id: usize,
    ) -> Option<(usize, &'a ClassEntry)> {
        self.plans[id].entry.map(|index| (index, &file.classes[index]))
    }
}

/// What holds for a class where these layers lie over what holds everywhere.
pub(super) fn plan(
    id: usize,
    entry: Option<(usize, &ClassEntry)>,
    dscp: u8,
    file: &FabricFile,
    layers: &[Layer<'_>],
) -> ClassPlan {
    let given = entry.map(|(_, entry)| entry);
    let classes = || layers.iter().rev().filter_map(|layer| layer.class(id));
    let usually_lossless = id == RDMA;
    let meant_lossless = classes()
        .find_map(|class| class.lossless)
        .or_else(|| given.and_then(|e| e.lossless))
        .unwrap_or(usually_lossless);
    let mut pauses = layers.iter().rev().filter_map(|layer| layer.rules.pfc.as_ref()?.enabled);
    // Without PFC nothing protects the class, whatever the file calls it; credits protect them all.
    let pauses = pauses.next().unwrap_or(file.pfc.enabled);
    let lossless = meant_lossless && pauses || file.credits.enabled;
    let name = match id {
        0 => "best-effort".to_owned(),
        RDMA => "rdma".to_owned(),
        CNP => "cnp".to_owned(),
        _ => format!("class{id}"),
    };
    let scheduling = classes().find_map(|class| class.scheduling);
    let scheduling = match scheduling.or_else(|| given.and_then(|e| e.scheduling)) {
        Some(SchedulingEntry::Weight(weight)) => Scheduling::Weighted(weight),
        Some(SchedulingEntry::Word(_)) => Scheduling::Strict,
        None if id == CNP => Scheduling::Strict,
        // Wherever data goes, it has its share; a class that nobody uses takes none.
        None if id == 0 || id == RDMA || file.traffic.data == Some(id as u8) => {
            Scheduling::Weighted(50)
        }
        None => Scheduling::Weighted(1),
    };
    let reserved = if lossless { Bytes::new(10 * 1024) } else { Bytes::ZERO };
    let own_reserved =
        classes().find_map(|class| class.reserved).or_else(|| given.and_then(|e| e.reserved));
    let own_alpha = || given.and_then(|e| e.alpha);
    let egress_alpha = classes().find_map(|class| class.egress_alpha);
    let egress_delay = classes().find_map(|class| class.egress_delay);
    ClassPlan {
        name: given.and_then(|e| e.name.clone()).unwrap_or(name),
        lossless,
        dscp,
        scheduling,
        ecn: ecn(id, given.and_then(|e| e.ecn.as_ref()), &file.ecn, meant_lossless, layers),
        reserved: own_reserved.unwrap_or(reserved),
        pause: pause(id, given, file, layers),
        alpha: classes().find_map(|class| class.alpha).or_else(own_alpha),
        egress_alpha: egress_alpha
            .or_else(|| given.and_then(|e| e.egress_alpha))
            .unwrap_or(Ratio::ONE),
        egress_delay: egress_delay.or_else(|| given.and_then(|e| e.egress_delay)),
        entry: entry.map(|(index, _)| index),
    }
}

/// When an ingress of a class pauses: what the most specific layer says, of a class before the whole.
fn pause(
    id: usize,
    given: Option<&ClassEntry>,
    file: &FabricFile,
    layers: &[Layer<'_>],
) -> PauseAt {
    let local = layers.iter().rev().find_map(|layer| {
        let own = layer.class(id).and_then(|class| class.alpha).map(PauseAt::Share);
        let pfc = || {
            let pfc = layer.rules.pfc.as_ref()?;
            pfc.xoff.map(PauseAt::Size).or(pfc.alpha.map(PauseAt::Share))
        };
        own.or_else(pfc)
    });
    let fabric = || {
        let own = given.and_then(|entry| entry.alpha).map(PauseAt::Share);
        own.or(file.pfc.xoff.map(PauseAt::Size)).or(file.pfc.alpha.map(PauseAt::Share))
    };
    local.or_else(fabric).unwrap_or(PauseAt::Share(Ratio::new(1, 8)))
}

/// A class marks if it says so, or if it is lossless and marking is not turned off. A layer that turns marking off
/// does so for all classes, one that turns it on for the lossless ones.
fn ecn(
    id: usize,
    own: Option<&EcnSettings>,
    all: &EcnSettings,
    lossless: bool,
    layers: &[Layer<'_>],
) -> Option<EcnPlan> {
    let mut marks = lossless && all.enabled.unwrap_or(true);
    if let Some(own) = own {
        marks = own.enabled.unwrap_or(true);
    }
    let mut settings: Vec<&EcnSettings> = std::iter::once(all).chain(own).collect();
    for layer in layers {
        if let Some(here) = &layer.rules.ecn {
            marks = match here.enabled {
                Some(true) => marks || lossless,
                Some(false) => false,
                None => marks,
            };
            settings.push(here);
        }
        if let Some(here) = layer.class(id).and_then(|class| class.ecn.as_ref()) {
            marks = here.enabled.unwrap_or(true);
            settings.push(here);
        }
    }
    fn last<T>(settings: &[&EcnSettings], get: impl Fn(&EcnSettings) -> Option<T>) -> Option<T> {
        settings.iter().rev().find_map(|settings| get(settings))
    }
    marks.then(|| EcnPlan {
        ecn: Ecn {
            kmin: last(&settings, |e| e.kmin).unwrap_or(Bytes::new(400_000)),
            kmax: last(&settings, |e| e.kmax).unwrap_or(Bytes::new(1_600_000)),
            pmax: last(&settings, |e| e.pmax).unwrap_or(Ratio::new(1, 5)),
        },
        at: last(&settings, |e| e.at).unwrap_or(Rate::from_gbps(400)),
        scale: last(&settings, |e| e.scale).unwrap_or(true),
    })
}

/// The class of each DSCP, and the DSCP that NICs write for each class.
///
/// What a file maps comes first. The default DSCPs (26 for RDMA, 48 for notifications, the class
/// selectors for the rest) step aside for it; what no class maps is best effort.
fn dscp_map(
    entries: &[Option<(usize, &ClassEntry)>; CLASSES],
    report: &mut Report<'_>,
) -> ([ClassId; 64], [u8; CLASSES]) {
    let mut owner: [Option<u8>; 64] = [None; 64];
    let mut written: [Option<u8>; CLASSES] = [None; CLASSES];
    for (id, entry) in entries.iter().enumerate() {
        let Some((index, list)) = entry.and_then(|(i, e)| Some((i, e.dscp.as_ref()?))) else {
            continue;
        };
        for (position, &dscp) in list.iter().enumerate() {
            let path = keys!["class", index, "dscp", position];
            match owner.get_mut(usize::from(dscp)) {
                None => report.error(
                    code::IMPOSSIBLE,
                    path,
                    format!("there is no DSCP {dscp}"),
                    "a DSCP has six bits: 0 to 63",
                ),
                Some(Some(other)) => report.error(
                    code::DUPLICATE,
                    path,
                    format!("DSCP {dscp} is already mapped to class {other}"),
                    "a packet can only be in one class",
                ),
                Some(free) => {
                    *free = Some(id as u8);
                    written[id] = written[id].or(Some(dscp));
                }
            }
        }
    }
    for (id, own) in written.iter_mut().enumerate().filter(|(_, own)| own.is_none()) {
        let usual = match id {
            RDMA => 26,
            CNP => 48,
            _ => id * 8,
        };
        let mut free = std::iter::once(usual).chain(id * 8..id * 8 + 8).chain(0..64);
        // 64 code points for 8 classes; only a file that claims them all leaves none.
        let dscp = free.find(|&d| owner[d].is_none()).unwrap_or(usual);
        owner[dscp] = owner[dscp].or(Some(id as u8));
        *own = Some(dscp as u8);
    }
    (owner.map(|o| ClassId(o.unwrap_or(0))), written.map(|d| d.unwrap_or(0)))
}
