//! Values by small numbers that are used again, with a limit.

/// A table whose places are reused. Its keys are 64-bit, as the transport's names for work are, and
/// those that a peer's packet leads to may be anything.
#[derive(Debug)]
pub(crate) struct Slab<T> {
    entries: slab::Slab<T>,
    limit: usize,
}

impl<T> Slab<T> {
    /// An empty one for at most `limit` values.
    pub(crate) fn new(limit: usize) -> Self {
        Self { entries: slab::Slab::new(), limit }
    }

    /// Adds a value and returns its key; `None` when it is full.
    pub(crate) fn insert(&mut self, value: T) -> Option<u64> {
        (self.entries.len() < self.limit).then(|| self.entries.insert(value) as u64)
    }

    /// The value with this key.
    #[inline]
    pub(crate) fn get(&self, key: u64) -> Option<&T> {
        self.entries.get(usize::try_from(key).ok()?)
    }

    /// Takes the value with this key away.
    pub(crate) fn remove(&mut self, key: u64) -> Option<T> {
        self.entries.try_remove(usize::try_from(key).ok()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_used_again_and_bounded() {
        let mut slab = Slab::new(2);
        assert_eq!(
            (slab.insert('a'), slab.insert('b'), slab.insert('c')),
            (Some(0), Some(1), None)
        );
        assert_eq!(slab.remove(0), Some('a'));
        assert_eq!((slab.remove(0), slab.insert('d')), (None, Some(0)));
        assert_eq!(slab.get(0), Some(&'d'));
        assert_eq!(slab.get(u64::MAX), None);
        assert_eq!(slab.remove(9), None);
    }
}
