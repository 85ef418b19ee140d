//! Asking for memory before it is needed.

use prefetch_index::prefetch_index;

/// Asks the processor to fetch the cache line in which a value begins, and goes on.
#[inline(always)]
pub(crate) fn fetch<T>(value: &T) {
    prefetch_index(std::slice::from_ref(value), 0);
}
