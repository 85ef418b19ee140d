//! Fewer points that look the same.

/// At most about `most` points of a series in order of x, what is not finite left out: of each
/// stretch of x the first, the least, the greatest and the last.
pub(crate) fn extremes(points: &[(f64, f64)], most: usize) -> Vec<(f64, f64)> {
    let finite = points.iter().copied().filter(|(x, y)| x.is_finite() && y.is_finite());
    let mut points: Vec<(f64, f64)> = finite.collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (Some(first), Some(last)) = (points.first(), points.last()) else { return points };
    if points.len() <= most {
        return points;
    }
    let columns = (most / 4).max(1);
    let (from, width) = (first.0, last.0 - first.0);
    // Half the width is finite even where the width is not.
    let column = |x: f64| match (x / 2.0 - from / 2.0) / (width.min(f64::MAX) / 2.0) {
        share if share.is_finite() => ((share * columns as f64) as usize).min(columns - 1),
        _ => 0,
    };
    let mut kept = Vec::with_capacity(columns * 4);
    let mut rest = points.as_slice();
    while let Some(head) = rest.first() {
        let own = column(head.0);
        let length = rest.partition_point(|(x, _)| column(*x) <= own).max(1);
        let (stretch, later) = rest.split_at(length);
        keep(stretch, &mut kept);
        rest = later;
    }
    kept
}

fn keep(stretch: &[(f64, f64)], kept: &mut Vec<(f64, f64)>) {
    let (mut least, mut greatest) = (0, 0);
    for (at, (_, y)) in stretch.iter().enumerate() {
        if *y < stretch[least].1 {
            least = at;
        }
        if *y > stretch[greatest].1 {
            greatest = at;
        }
    }
    let mut places = [0, least, greatest, stretch.len() - 1];
    places.sort_unstable();
    for (at, place) in places.iter().enumerate() {
        if at == 0 || places[at - 1] != *place {
            kept.push(stretch[*place]);
        }
    }
}

/// The share of values up to each value, equal values as one.
pub(crate) fn cumulative(values: &[f64]) -> Vec<(f64, f64)> {
    let mut sorted: Vec<f64> = values.iter().copied().filter(|v| v.is_finite()).collect();
    sorted.sort_by(f64::total_cmp);
    let count = sorted.len() as f64;
    let mut points: Vec<(f64, f64)> = Vec::new();
    for (at, value) in sorted.iter().enumerate() {
        let share = (at + 1) as f64 / count;
        match points.last_mut() {
            Some(last) if last.0 == *value => last.1 = share,
            _ => points.push((*value, share)),
        }
    }
    points
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn bounds(values: impl Iterator<Item = f64>) -> (f64, f64) {
        values.fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), v| (a.min(v), b.max(v)))
    }

    proptest! {
        #[test]
        fn extremes_keep_the_outline(
            points in prop::collection::vec((any::<f64>(), any::<f64>()), 0..400),
            most in 4usize..80,
        ) {
            let kept = extremes(&points, most);
            prop_assert!(kept.len() <= most.max(4));
            let finite: Vec<_> =
                points.iter().filter(|(x, y)| x.is_finite() && y.is_finite()).collect();
            prop_assert_eq!(bounds(kept.iter().map(|p| p.0)), bounds(finite.iter().map(|p| p.0)));
            prop_assert_eq!(bounds(kept.iter().map(|p| p.1)), bounds(finite.iter().map(|p| p.1)));
            prop_assert!(kept.is_sorted_by(|a, b| a.0 <= b.0));
        }

        #[test]
        fn shares_grow_to_one(values in prop::collection::vec(-5i8..5, 1..60)) {
            let values: Vec<f64> = values.into_iter().map(f64::from).collect();
            let curve = cumulative(&values);
            prop_assert!(curve.is_sorted_by(|a, b| a.0 < b.0 && a.1 < b.1));
            prop_assert_eq!(curve.last().map(|p| p.1), Some(1.0));
            for (value, share) in curve {
                let below = values.iter().filter(|v| **v <= value).count();
                prop_assert_eq!(share, below as f64 / values.len() as f64);
            }
        }
    }
}
