//! What RoCE does with every byte beyond what UDP does: two checksums and a copy.

use std::hint::black_box;
use std::time::{Duration, Instant};
use xoff_endpoint::Bytes;
use xoff_endpoint::bare::checksums;

/// Payload of a packet, and how many are in what the kernel hands over at a time.
const PAYLOAD: usize = 4096;
const PACKETS: usize = 14;
/// How much is written to before it begins anew: the target of a test.
const TARGET: usize = 16 * PAYLOAD;

/// CPU seconds for a Gbit: of an ICRC at either end, and of the copy from where packets arrive to where they belong.
/// Best of many, of bytes that are in the caches.
#[derive(Clone, Copy)]
pub(crate) struct Passes {
    pub(crate) icrc: f64,
    pub(crate) copy: f64,
}

/// Measures both.
pub(crate) fn measure() -> Passes {
    let arrived = vec![1_u8; PACKETS * (PAYLOAD + 16)];
    let mut target = vec![0_u8; TARGET];
    let icrc = best(|| {
        black_box(checksums(black_box(&arrived), Bytes::new(PAYLOAD as u64 + 16)));
    });
    let copy = best(|| {
        for (packet, place) in arrived.chunks(PAYLOAD + 16).zip(target.chunks_mut(PAYLOAD)) {
            place.copy_from_slice(black_box(&packet[12..12 + PAYLOAD]));
        }
        black_box(&mut target);
    });
    Passes { icrc: 2.0 * icrc, copy }
}

/// Seconds for a Gbit of a pass over what arrived.
fn best(mut pass: impl FnMut()) -> f64 {
    let mut shortest = Duration::MAX;
    for _ in 0..2000 {
        let start = Instant::now();
        pass();
        shortest = shortest.min(start.elapsed());
    }
    shortest.as_secs_f64() / ((PACKETS * PAYLOAD) as f64 * 8e-9)
}
