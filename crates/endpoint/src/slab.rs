//! Values by small numbers that are used again.

/// A table whose places are reused.
#[derive(Debug)]
pub(crate) struct Slab<T> {
    entries: Vec<Option<T>>,
    free: Vec<u32>,
    limit: usize,
}

impl<T> Slab<T> {
    /// An empty one for at most `limit` values.
    pub(crate) fn new(limit: usize) -> Self {
        Self { entries: Vec::new(), free: Vec::new(), limit: limit.min(u32::MAX as usize) }
    }

    /// Adds a value and says where. Gives nothing when it is full.
    pub(crate) fn insert(&mut self, value: T) -> Option<u64> {
        if let Some(index) = self.free.pop() {
            self.entries[index as usize] = Some(value);
            return Some(index.into());
        }
        if self.entries.len() >= self.limit {
            return None;
        }
        self.entries.push(Some(value));
        Some(self.entries.len() as u64 - 1)
    }

    /// The value at `index`.
    #[inline]
    pub(crate) fn get(&self, index: u64) -> Option<&T> {
        self.entries.get(usize::try_from(index).ok()?)?.as_ref()
    }

    /// Takes the value at `index` away.
    pub(crate) fn remove(&mut self, index: u64) -> Option<T> {
        let value = self.entries.get_mut(usize::try_from(index).ok()?)?.take()?;
        self.free.push(index as u32);
        Some(value)
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
