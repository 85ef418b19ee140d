//! Arrivals that wait for nothing: every NIC offers flows at exponential or equal intervals, to others at
//! random.

use crate::error::Place;
use crate::expand::{Open, Own, Plan, Shared};
use crate::logarithm::{self, exponential};
use crate::sizes::{MEAN_FRACTION_BITS, Sizes};
use crate::stream::Stream;
use xoff_fabric::model::{Fabric, NicId, PortId};
use xoff_fabric::names::Role;
use xoff_fabric::scenario::{Arrivals, Background, Poisson};
use xoff_units::{Ratio, Span};

/// Poisson arrivals at a share of every NIC's rate, counted in payload.
pub(crate) fn poisson(plan: &mut Plan<'_>, entry: &Poisson, open: Open<'_>) {
    let (shared, nics) = (plan.shared(&entry.common), plan.nics());
    let offer = Offer {
        load: entry.load,
        sizes: &entry.sizes,
        until: entry.duration,
        arrivals: Arrivals::Poisson,
    };
    let nics = nics.map(|count| (0..count).map(NicId).collect());
    arrive_all(plan, shared, nics, &offer, open);
}

/// Background load among the NICs of some servers, in a lossy class unless another is given.
pub(crate) fn background(plan: &mut Plan<'_>, entry: &Background, open: Open<'_>) {
    let mut common = entry.common.clone();
    if common.class.is_none() {
        let classes = plan.fabric.classes.iter().zip(0u8..);
        common.class = classes.filter(|(class, _)| !class.lossless).map(|(_, id)| id).next();
        if common.class.is_none() {
            plan.wrong(Place::Entry, "the fabric has no lossy class; give a `class`");
            return;
        }
    }
    let shared = plan.shared(&common);
    let role = Role { key: "servers", set: entry.servers.as_ref() };
    let nics = match plan.names.servers(role) {
        Ok(nics) if nics.len() > 1 => Some(nics),
        Ok(_) => {
            plan.wrong(Place::Entry, "background load needs two NICs");
            None
        }
        Err(message) => {
            plan.wrong(Place::Entry, message);
            None
        }
    };
    let Background { load, sizes, duration: until, arrivals, .. } = entry;
    let offer = Offer { load: *load, sizes, until: *until, arrivals: *arrivals };
    arrive_all(plan, shared, nics, &offer, open);
}

/// What is offered.
struct Offer<'e> {
    load: Ratio,
    sizes: &'e str,
    until: Span,
    arrivals: Arrivals,
}

fn arrive_all(
    plan: &mut Plan<'_>,
    shared: Option<Shared>,
    nics: Option<Vec<NicId>>,
    offer: &Offer<'_>,
    open: Open<'_>,
) {
    let sizes = match Sizes::read(offer.sizes, open) {
        Ok(sizes) => Some(sizes),
        Err(mistakes) => {
            mistakes.into_iter().for_each(|(place, message)| plan.wrong(place, message));
            None
        }
    };
    let load = load(plan, offer.load);
    if offer.until.is_zero() {
        plan.wrong(Place::Entry, "`for` is zero; say how long flows arrive, like `1ms`");
        return;
    }
    if (shared.map_or(xoff_units::Instant::ZERO, |s| s.start) + offer.until).is_never() {
        plan.wrong(Place::Entry, "`start` and `for` reach beyond simulated time (213 days)");
        return;
    }
    let (Some(shared), Some(nics), Some(sizes), Some(load)) = (shared, nics, sizes, load) else {
        return;
    };
    let gaps: Vec<Option<u128>> =
        nics.iter().map(|&nic| mean_gap(&sizes, plan.fabric, nic, load)).collect();
    let length = u128::from(offer.until.as_ps()) << GAP_FRACTION_BITS;
    let expected = gaps.iter().flatten().map(|gap| length / gap).sum();
    if !plan.has_room(expected) {
        return;
    }
    for (place, gap) in (0..).zip(gaps) {
        let Some(gap) = gap else { continue };
        let (until, arrivals) = (offer.until, offer.arrivals);
        let source = Source { place, nics: &nics, gap, until, arrivals };
        if !arrive(plan, shared, &sizes, source) {
            return;
        }
    }
}

fn load(plan: &mut Plan<'_>, load: Ratio) -> Option<Ratio> {
    if load.is_zero() || load > Ratio::new(1, 1) {
        let text =
            format!("`load` is {load}; it is a share of the NIC's rate, like `0.8` or `80%`");
        plan.wrong(Place::Entry, text);
        return None;
    }
    Some(load)
}

/// Fraction bits of a mean gap.
const GAP_FRACTION_BITS: u32 = MEAN_FRACTION_BITS;

/// The mean time between two flows of a NIC in units of 1/2^16 ps; `None` if its cables carry nothing.
///
/// gap [ps] = mean size [B] x 8 x 10^12 / (load x rate [b/s]).
fn mean_gap(sizes: &Sizes, fabric: &Fabric, nic: NicId, load: Ratio) -> Option<u128> {
    let ports = fabric.nics[nic.index()].ports.clone();
    let rate = ports.map(|port| fabric.cable(PortId(port)).rate.bps()).fold(0, u64::saturating_add);
    let offered = u128::from(load.of(rate));
    // Sizes are below 2^48, so this is below 2^(48 + 16 + 43).
    let gap = (sizes.mean() * 8 * u128::from(xoff_units::time::PS_PER_S)).checked_div(offered)?;
    Some(gap.max(1))
}

#[derive(Clone, Copy)]
struct Source<'n> {
    /// Its place among those that take part.
    place: usize,
    nics: &'n [NicId],
    gap: u128,
    until: Span,
    arrivals: Arrivals,
}

/// The flows of one NIC, from streams of its own. False when there is no room for more.
fn arrive(plan: &mut Plan<'_>, shared: Shared, sizes: &Sizes, source: Source<'_>) -> bool {
    let nic = source.nics[source.place];
    let entity = u64::from(plan.workload) << 32 | u64::from(nic.0);
    let stream = |purpose| Stream::new(plan.seed, entity, purpose);
    let mut gaps = stream("arrival-gap");
    let mut lengths = stream("arrival-size");
    let mut targets = stream("arrival-target");
    let end = u128::from(source.until.as_ps()) << GAP_FRACTION_BITS;
    // Below 2^(107 + 38): the cut keeps the product inside 128 bits, far beyond any end.
    let mean = source.gap.min(u128::MAX >> 40);
    let mut at = 0u128;
    for number in 0u64.. {
        at += match source.arrivals {
            Arrivals::Poisson => {
                (mean * u128::from(exponential(gaps.next_u64()))) >> logarithm::FRACTION_BITS
            }
            // The first somewhere in the first interval, so that NICs are not in step.
            Arrivals::Constant if number == 0 => (mean * u128::from(gaps.below(1 << 32))) >> 32,
            Arrivals::Constant => mean,
        };
        if at >= end {
            break;
        }
        if !plan.has_room(1) {
            return false;
        }
        let others = source.nics.len() as u64 - 1;
        let step = targets.below(others) + 1;
        let target = (source.place as u64 + step) % (others + 1);
        let own = Own {
            order: u64::from(nic.0) << 32 | number,
            after: Span::from_ps((at >> GAP_FRACTION_BITS) as u64),
            source: nic,
            destination: source.nics[target as usize],
            bytes: sizes.draw(&mut lengths),
            path: None,
        };
        plan.push(shared, own);
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{expand_text, refuse_text, star};

    fn poisson_text(sizes: &str, load: &str, duration: &str) -> String {
        format!("kind='poisson'\nload={load}\nsizes='{sizes}'\nfor='{duration}'\nstart='5us'")
    }

    #[test]
    fn offers_the_load_that_was_asked_for() {
        // 16 NICs of 100G for 20 ms at 60 %: 2.4 GB.
        let fabric = star(16);
        for (sizes, tolerance) in [("64KB", 2), ("storage", 4), ("hadoop", 12), ("websearch", 12)] {
            let flows = expand_text(&fabric, &poisson_text(sizes, "0.6", "20ms"), 1);
            let bytes: u64 = flows.iter().map(|flow| flow.bytes.get()).sum();
            let off = bytes.abs_diff(2_400_000_000) * 100 / 2_400_000_000;
            assert!(off < tolerance, "{sizes}: {bytes}");
            assert!(flows.iter().all(|flow| flow.source != flow.destination));
            let last = flows.last().unwrap().start.as_ps();
            assert!((19_000_000_000..20_005_000_000).contains(&last), "{last}");
            assert!(flows[0].start.as_ps() > 5_000_000);
        }
    }

    #[test]
    fn gaps_are_exponential_and_targets_even() {
        let flows = expand_text(&star(5), &poisson_text("10KB", "'50%'", "40ms"), 9);
        let own: Vec<_> = flows.iter().filter(|flow| flow.source == NicId(2)).collect();
        // 10 KB at 50 Gb/s: every 1.6 us.
        let gaps: Vec<f64> =
            own.windows(2).map(|pair| (pair[1].start - pair[0].start).as_us_f64() / 1.6).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let above = gaps.iter().filter(|&&gap| gap > 1.0).count() as f64 / gaps.len() as f64;
        assert!((mean - 1.0).abs() < 0.03, "{mean}");
        assert!((above - 0.367_879).abs() < 0.02, "{above}");
        for target in [0, 1, 3, 4].map(NicId) {
            let share =
                own.iter().filter(|flow| flow.destination == target).count() * 100 / own.len();
            assert!((23..=27).contains(&share), "{share}");
        }
    }

    #[test]
    fn another_nic_moves_no_other_draw() {
        let starts = |nics| -> Vec<_> {
            let flows = expand_text(&star(nics), &poisson_text("websearch", "0.5", "2ms"), 1);
            let own = flows.iter().filter(|flow| flow.source == NicId(0));
            own.map(|flow| (flow.start, flow.bytes, flow.source_port)).collect()
        };
        assert_eq!(starts(4), starts(5));
    }

    #[test]
    fn mistakes_are_named() {
        let fabric = star(4);
        let said = refuse_text(&fabric, &poisson_text("tiny", "80", "0"));
        for text in ["a share of the NIC's rate", "`websearch`", "`for` is zero"] {
            assert!(said.contains(text), "{text} in {said}");
        }
        assert!(
            refuse_text(&fabric, &poisson_text("1B", "1", "1000s")).contains("at most 50000000")
        );
        assert!(
            refuse_text(&fabric, &poisson_text("1B", "1", "18446744073709us")).contains("beyond")
        );
        assert!(refuse_text(&fabric, &poisson_text("1MB", "0", "1ms")).contains("`load` is 0"));
    }

    #[test]
    fn a_tiny_load_of_huge_flows_is_nothing_and_no_overflow() {
        let text = poisson_text("281474976710656B", "1e-11", "1000s");
        assert!(expand_text(&star(4), &text, 1).is_empty());
    }
}
