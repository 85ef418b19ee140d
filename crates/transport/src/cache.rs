//! Prefetching.

use prefetch_index::prefetch_index;

/// Prefetches the cache line in which a value begins.
#[inline(always)]
pub(crate) fn prefetch<T>(value: &T) {
    prefetch_index(std::slice::from_ref(value), 0);
}
