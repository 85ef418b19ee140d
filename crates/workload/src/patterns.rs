//! Traffic patterns: incast, all-to-all.

use crate::error::Place;
use crate::expand::{Own, Plan};
use xoff_fabric::model::NicId;
use xoff_fabric::scenario::{AllToAll, Incast};
use xoff_units::Span;

/// Many send to one. The senders are spread evenly over all NICs but the target.
pub(crate) fn incast(plan: &mut Plan<'_>, entry: &Incast) {
    let (shared, bytes, nics) = (plan.shared(&entry.common), plan.size(entry.size), plan.nics());
    let target = entry.target.as_ref().map_or(Ok(NicId(0)), |target| plan.names.nic(target));
    let target = target.map_err(|message| plan.wrong(Place::Entry, message)).ok();
    let (Some(shared), Some(bytes), Some(nics), Some(target)) = (shared, bytes, nics, target)
    else {
        return;
    };
    let others = nics - 1;
    let senders = entry.senders.unwrap_or(others);
    if senders == 0 || senders > others {
        let text = format!("`senders` is {senders}; besides the target there are 1 to {others}");
        plan.wrong(Place::Entry, text);
        return;
    }
    if !plan.has_room(u128::from(senders)) {
        return;
    }
    for order in 0..u64::from(senders) {
        // Counted from the NIC after the target, around to the one before it.
        let step = order * u64::from(others) / u64::from(senders) + 1;
        let source = NicId(((u64::from(target.0) + step) % u64::from(nics)) as u32);
        let own = Own { order, after: Span::ZERO, source, destination: target, bytes, path: None };
        plan.push(shared, own);
    }
}

/// Every NIC sends to every other, each beginning with the one after itself, so that not all send
/// to the same one first.
pub(crate) fn all_to_all(plan: &mut Plan<'_>, entry: &AllToAll) {
    let (Some(shared), Some(bytes), Some(nics)) =
        (plan.shared(&entry.common), plan.size(entry.size), plan.nics())
    else {
        return;
    };
    if !plan.has_room(u128::from(nics) * u128::from(nics - 1)) {
        return;
    }
    for source in 0..nics {
        for step in 1..nics {
            let order = u64::from(source) << 32 | u64::from(step);
            let destination = ((u64::from(source) + u64::from(step)) % u64::from(nics)) as u32;
            let (source, destination) = (NicId(source), NicId(destination));
            let own = Own { order, after: Span::ZERO, source, destination, bytes, path: None };
            plan.push(shared, own);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{expand_text, refuse_text, star};
    use std::collections::BTreeSet;

    #[test]
    fn an_incast_has_its_target_and_even_senders() {
        let fabric = star(9);
        let sources = |text: &str| -> Vec<u32> {
            let flows = expand_text(&fabric, &format!("kind='incast'\nsize='1MB'\n{text}"), 1);
            assert!(flows.iter().all(|flow| flow.destination != flow.source));
            flows.iter().map(|flow| flow.source.0).collect()
        };
        assert_eq!(sources(""), [1, 2, 3, 4, 5, 6, 7, 8]);
        assert_eq!(sources("senders=4"), [1, 3, 5, 7]);
        assert_eq!(sources("senders=1\ntarget='n3'"), [4]);
        assert_eq!(sources("target=8\nsenders=8"), [0, 1, 2, 3, 4, 5, 6, 7]);
    }

    #[test]
    fn all_to_all_is_rotated() {
        let flows = expand_text(&star(4), "kind='all-to-all'\nsize='1KB'", 1);
        let pairs: Vec<_> = flows.iter().map(|f| (f.source.0, f.destination.0)).collect();
        let expected = [
            [(0, 1), (0, 2), (0, 3)],
            [(1, 2), (1, 3), (1, 0)],
            [(2, 3), (2, 0), (2, 1)],
            [(3, 0), (3, 1), (3, 2)],
        ];
        assert_eq!(pairs, expected.as_flattened());
        let ports: BTreeSet<_> = flows.iter().map(|flow| flow.source_port).collect();
        assert!(ports.len() > 8 && ports.iter().all(|&port| port >= 0xC000));
    }

    #[test]
    fn mistakes_are_all_said() {
        let said = refuse_text(
            &star(4),
            "kind='incast'\nsize='0B'\ntarget=4\nclass=8\n\
             [[workload]]\nkind='incast'\nsize='1KB'\nsenders=4\n\
             [[workload]]\nkind='permutation'\nsize='0B'",
        );
        for text in ["zero", "no NIC 4", "no class 8", "workload 1: `senders` is 4", "workload 2"] {
            assert!(said.contains(text), "{text} in {said}");
        }
        assert!(refuse_text(&star(1), "kind='permutation'\nsize='1KB'").contains("two NICs"));
        assert!(refuse_text(&star(0), "kind='all-to-all'\nsize='1KB'").contains("two NICs"));
    }

    #[test]
    fn a_hundred_million_flows_are_refused_before_they_are_made() {
        let said = refuse_text(&star(10_001), "kind='all-to-all'\nsize='1KB'");
        assert!(said.contains("100010000 flows") && said.contains("50000000"), "{said}");
    }
}
