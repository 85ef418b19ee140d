//! Settings to look at: evenly over everything, and near what is good.

use crate::knob::Place;
use crate::plan::Plan;
use xoff_sweep::sobol;
use xoff_workload::stream::Stream;

/// Draws that a setting gets before it is given up: thresholds in the wrong order, or there already.
const DRAWS: u64 = 64;

/// A number from 0 to 1.
fn share(stream: &mut Stream) -> f64 {
    (stream.next_u64() >> 11) as f64 / (1u64 << 53) as f64
}

/// A setting of Sobol's sequence, shifted by the seed of the search; knobs beyond the sequence's dimensions are drawn.
pub(crate) fn evenly(plan: &Plan, number: u64) -> Option<Vec<Place>> {
    let seed = plan.options.search_seed;
    for draw in 0..DRAWS {
        // Consecutive points fill space; those far behind stand in for settings in the wrong order.
        let point = number + (draw << 24);
        let place = |axis: usize| {
            if axis >= sobol::MOST_DIMENSIONS {
                return Some(share(&mut Stream::new(seed, point << 8 | axis as u64, "tune start")));
            }
            let shift = Stream::new(seed, axis as u64, "tune shift").next_u64() >> 32;
            let coordinate = sobol::coordinate(point, axis) ^ shift as u32;
            Some(f64::from(coordinate) / (1u64 << 32) as f64)
        };
        let mut places: Vec<Place> = (0..plan.knobs.len()).map(place).collect();
        plan.round(&mut places);
        if plan.in_order(&places) {
            return Some(places);
        }
    }
    None
}

/// A setting near a good one: some of its knobs moved a little, or back to where the files have them.
pub(crate) fn near(plan: &Plan, good: &[Place], stream: &mut Stream) -> Option<Vec<Place>> {
    let count = plan.knobs.len();
    let moves = 1 + stream.below(count.min(4) as u64);
    let far = [0.05, 0.15, 0.4][stream.below(3) as usize];
    let mut places = good.to_vec();
    for _ in 0..moves {
        let at = stream.below(count as u64) as usize;
        let knob = &plan.knobs[at];
        let own = places[at].or(knob.present_place());
        places[at] = match (own, knob.is_ordered()) {
            _ if stream.below(8) == 0 => None,
            (Some(own), true) => {
                // The sum of two draws: mostly near, sometimes not.
                let step = (share(stream) + share(stream) - 1.0) * far;
                let least = knob.axis.levels().map_or(0.0, |levels| 1.0 / levels as f64);
                let step = if step.abs() < least { least.copysign(step) } else { step };
                Some((own + step).clamp(0.0, 1.0))
            }
            _ => Some(share(stream)),
        };
    }
    plan.round(&mut places);
    (places != good && plan.in_order(&places)).then_some(places)
}

/// A setting of draws that do not depend on each other.
pub(crate) fn anywhere(plan: &Plan, stream: &mut Stream) -> Option<Vec<Place>> {
    let mut places: Vec<Place> = plan.knobs.iter().map(|_| Some(share(stream))).collect();
    plan.round(&mut places);
    plan.in_order(&places).then_some(places)
}
