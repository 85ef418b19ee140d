//! [`Ranking`]: the first few of many.

/// Keeps the `most` items that come first by their key; among equals, those that came first.
#[derive(Debug, Clone)]
pub(crate) struct Ranking<K, T> {
    most: usize,
    items: Vec<(K, T)>,
}

impl<K: PartialOrd, T> Ranking<K, T> {
    pub(crate) fn new(most: usize) -> Self {
        Self { most, items: Vec::with_capacity(most + 1) }
    }

    /// Offers an item, which is only made when it has a place.
    pub(crate) fn offer(&mut self, key: K, make: impl FnOnce() -> T) {
        let place = self.items.partition_point(|(other, _)| *other <= key);
        if place < self.most {
            self.items.insert(place, (key, make()));
            self.items.truncate(self.most);
        }
    }

    /// The items, first to last.
    pub(crate) fn into_items(self) -> Vec<T> {
        self.items.into_iter().map(|(_, item)| item).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn is_the_front_of_a_stable_sort(keys in prop::collection::vec(0u8..10, 0..60), most in 0usize..12) {
            let mut ranking = Ranking::new(most);
            for (index, &key) in keys.iter().enumerate() {
                ranking.offer(key, || index);
            }
            let mut sorted: Vec<_> = (0..keys.len()).collect();
            sorted.sort_by_key(|&index| keys[index]);
            sorted.truncate(most);
            prop_assert_eq!(ranking.into_items(), sorted);
        }
    }
}
