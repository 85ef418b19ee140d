//! What renderers have in common: profiles that ports refer to, and lists of numbers.

use crate::device::{Device, Part, Port};
use crate::place::Said;
use crate::qos::{GroupSettings, Maps, QueueSettings};
use crate::text::fit;
use std::fmt::Display;
use std::sync::Arc;
use xoff_fabric::model::Threshold;
use xoff_units::Ratio;

/// From one number to another: DSCP to class, class to queue.
pub(crate) type Pairs = Vec<(usize, usize)>;

/// The names of profiles: `ROCE`, `ROCE-2` and so on. A part of a device has others than the whole.
#[derive(Default)]
pub(crate) struct Names {
    stem: String,
    separator: &'static str,
}

impl Names {
    pub(crate) fn of(part: Part, separator: &'static str) -> Self {
        Self { stem: part.stem(separator), separator }
    }

    /// The name of the profile of this number, from 0.
    pub(crate) fn name(&self, number: usize) -> String {
        match number {
            0 => self.stem.clone(),
            _ => format!("{}{}{}", self.stem, self.separator, number + 1),
        }
    }
}

/// Numbers the different values of a list, in the order in which they first come.
pub(crate) fn number_of<T: PartialEq + Clone>(known: &mut Vec<T>, value: &T) -> usize {
    if let Some(index) = known.iter().position(|old| old == value) {
        return index;
    }
    known.push(value.clone());
    known.len() - 1
}

/// What a port leads to, for a comment: `spine0, 400Gbps`.
pub(crate) fn leads_to(port: &Port) -> Option<String> {
    let peer = &port.neighbour.value()?.device;
    Some(match port.rate.get() {
        Some(rate) => format!("{peer}, {rate}"),
        None => peer.clone(),
    })
}

/// The queues that something is said of, with their numbers.
pub(crate) fn said_queues(
    queues: &[QueueSettings; 8],
) -> impl DoubleEndedIterator<Item = (usize, &QueueSettings)> {
    queues.iter().enumerate().filter(|(_, queue)| queue.is_said())
}

/// The entries of a map that are said.
pub(crate) fn pairs<T>(map: &[Said<T>], number: impl Fn(&T) -> usize) -> Pairs {
    let said = map.iter().enumerate().filter_map(|(from, to)| Some((from, to.said()?)));
    said.map(|(from, to)| (from, number(to))).collect()
}

/// What leads to each of eight numbers, as `8,9,10`; numbers that nothing leads to are left out.
pub(crate) fn lists(pairs: &Pairs) -> impl Iterator<Item = (usize, String)> + '_ {
    let list = |to: usize| {
        joined(pairs.iter().filter(move |(_, own)| *own == to).map(|(from, _)| from), ",")
    };
    (0..8).map(move |to| (to, list(to))).filter(|(_, list)| !list.is_empty())
}

/// Values side by side.
pub(crate) fn joined<T: Display>(values: impl IntoIterator<Item = T>, separator: &str) -> String {
    let values: Vec<String> = values.into_iter().map(|value| value.to_string()).collect();
    values.join(separator)
}

/// The class that each queue belongs to: its own number, where none says otherwise.
pub(crate) fn owners(maps: &Maps) -> [usize; 8] {
    std::array::from_fn(|queue| {
        let owns =
            |class: &usize| maps.class_to_queue[*class].get().map(|q| q.index()) == Some(queue);
        (0..8).find(owns).unwrap_or(queue)
    })
}

/// Groups of a system whose box has one dynamic threshold for all that is lossless, a power of two
/// between `low` and `high`, and sizes everything else of a group itself. `limits` gets what had to
/// change.
pub(crate) fn one_alpha(device: &mut Device, (low, high): (i32, i32), limits: &mut Vec<String>) {
    let mut wanted: Vec<Threshold> = Vec::new();
    let mut sized = false;
    for (port, group) in
        device.ports.values().flat_map(|port| lossless(port).map(move |g| (port, g)))
    {
        let group: &GroupSettings = &port.groups[group];
        wanted.extend(group.threshold.get().filter(|threshold| !wanted.contains(threshold)));
        let others = [group.reserved, group.xon_offset, group.headroom];
        sized |= others.iter().any(Said::is_said);
    }
    let dynamic = |threshold: &Threshold| match threshold {
        Threshold::Dynamic(alpha) => Some(*alpha),
        Threshold::Static(_) => None,
    };
    let first = wanted.iter().find_map(dynamic);
    let alpha = first.map(|alpha| fit::power(fit::exponent(alpha, low, high)));
    for port in device.ports.values_mut() {
        let mut groups = [GroupSettings::default(); 8];
        for group in lossless(port) {
            groups[group].threshold =
                alpha.map_or(Said::Absent, |alpha| Said::meant(Threshold::Dynamic(alpha)));
        }
        port.groups = Arc::new(groups);
    }
    alpha_limits(&wanted, alpha, limits);
    if sized {
        let own = "headroom, reserved buffer and resume offset follow from the cable length";
        limits.push(own.to_owned());
    }
}

fn alpha_limits(wanted: &[Threshold], alpha: Option<Ratio>, limits: &mut Vec<String>) {
    if wanted.iter().any(|threshold| matches!(threshold, Threshold::Static(_))) {
        limits.push("a pause threshold is a share of the free buffer, not a size".to_owned());
    }
    let dynamic = wanted.iter().filter(|threshold| matches!(threshold, Threshold::Dynamic(_)));
    let other = |threshold: &&Threshold| Some(**threshold) != alpha.map(Threshold::Dynamic);
    if let (Some(Threshold::Dynamic(lost)), Some(alpha)) = (dynamic.clone().find(other), alpha) {
        limits.push(format!(
            "the box has one pause threshold, a power of two: {lost} becomes {alpha}"
        ));
    }
}

/// The groups that a port pauses for.
pub(crate) fn lossless(port: &Port) -> impl Iterator<Item = usize> + use<> {
    let groups = port.maps.pfc_to_group;
    let set = port.pfc.get().unwrap_or_default();
    set.iter().filter_map(move |priority| groups[priority.index()].get()).map(|g| g.index())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn profiles_are_numbered_from_the_second_on() {
        let names = Names::of(Part::Whole, "-");
        assert_eq!((names.name(0), names.name(1)), ("ROCE".to_owned(), "ROCE-2".to_owned()));
        assert_eq!(Names::of(Part::Change, "").name(1), "ROCEFIX2");
        let mut known = Vec::new();
        assert_eq!(["a", "b", "a"].map(|value| number_of(&mut known, &value)), [0, 1, 0]);
    }

    #[test]
    fn lists_are_by_target() {
        let pairs = vec![(8, 1), (9, 1), (26, 3)];
        let found: Vec<_> = lists(&pairs).collect();
        assert_eq!(found, [(1, "8,9".to_owned()), (3, "26".to_owned())]);
    }
}
