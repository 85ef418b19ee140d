//! The shared buffer of a switch: admission at ingress, when to pause and when to resume.
//!
//! Each port and class has a reserved part, a limit on its share of the common part, and headroom
//! beyond the limit. Bytes go into reserved buffer first, then shared up to the limit, then headroom;
//! they leave headroom first, then shared, then reserved. A packet is refused only when neither its
//! limit nor its headroom has room. The rules are those of the ns-3 RoCE line, with a fixed limit
//! and a headroom pool added; `docs/model.md` has the comparison.

use xoff_fabric::model::{Ecn, PortClass, Threshold};
use xoff_units::Ratio;

/// No limit is higher: what an ingress holds, headroom and all, is counted in 32 bits.
const HIGHEST: u64 = 1 << 31;

/// Fixed-point bits of alpha.
const ALPHA_BITS: u32 = 16;

/// A limit prepared for the hot path: `fixed + alpha x free`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Limit {
    fixed: u64,
    alpha: u64,
}

impl Limit {
    /// No limit but the highest.
    const NONE: Self = Self { fixed: HIGHEST, alpha: 0 };

    fn new(threshold: Threshold) -> Self {
        match threshold {
            Threshold::Static(bytes) => Self { fixed: bytes.get().min(u64::MAX >> 1), alpha: 0 },
            Threshold::Dynamic(alpha) => {
                let scaled = alpha.of(1 << ALPHA_BITS);
                Self { fixed: 0, alpha: scaled.min(1 << 32) }
            }
        }
    }

    #[inline(always)]
    pub(crate) fn given(self, free: u64) -> u64 {
        (self.fixed + (free.saturating_mul(self.alpha) >> ALPHA_BITS)).min(HIGHEST)
    }
}

/// Everything about one port and class that its switch looks up per packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Profile {
    /// PFC protects the class.
    pub(crate) lossless: bool,
    reserved: u32,
    limit: Limit,
    xon_offset: u64,
    headroom: u32,
    /// Limit of the egress queue.
    pub(crate) egress: Limit,
    /// Up to this queue length no packet gets an ECN mark.
    pub(crate) kmin: u32,
    /// Above this queue length every packet gets one.
    kmax: u32,
    /// Between the two the probability of a mark rises by this per byte, in units of 2^-96.
    slope: u128,
}

impl Profile {
    pub(crate) fn new(class: &PortClass, lossless: bool) -> Self {
        let small = |bytes: xoff_units::Bytes| bytes.get().min(u64::from(u32::MAX >> 1)) as u32;
        let (kmin, kmax, slope) = match class.ecn {
            Some(ecn) => ecn_ramp(ecn),
            None => (u32::MAX, u32::MAX, 0),
        };
        Self {
            lossless,
            reserved: small(class.reserved),
            limit: Limit::new(class.threshold),
            xon_offset: class.xon_offset.get(),
            headroom: if lossless { small(class.headroom) } else { 0 },
            egress: class.egress_limit.map_or(Limit::NONE, Limit::new),
            kmin,
            kmax,
            slope,
        }
    }

    /// Whether a packet that leaves a queue of `left` bytes, more than Kmin, gets a mark; `draw` is
    /// uniform over all values.
    #[inline(always)]
    pub(crate) fn marks(&self, left: u32, draw: impl FnOnce() -> u64) -> bool {
        left > self.kmax || u128::from(draw()) < self.mark_probability(left)
    }

    /// Between Kmin and Kmax, in units of 2^-64.
    #[inline(always)]
    fn mark_probability(&self, left: u32) -> u128 {
        (u128::from(left - self.kmin) * self.slope) >> 32
    }

    /// Buffer that this port and class takes from the common part, used or not.
    pub(crate) fn set_aside(&self) -> u64 {
        u64::from(self.reserved) + u64::from(self.headroom)
    }

    /// So much free that the limit is above [`LITTLE`] even when that much of it is taken;
    /// `u64::MAX` if the limit never is.
    pub(crate) fn calm(&self) -> u64 {
        let enough = |free: u64| self.limit.given(free) > u64::from(LITTLE);
        let little = u64::from(LITTLE);
        let mut free = little;
        while !enough(free) && free < 1 << 48 {
            free *= 2;
        }
        if enough(free) { free + little } else { u64::MAX }
    }

    /// Of that, its headroom.
    pub(crate) fn headroom(&self) -> u64 {
        u64::from(self.headroom)
    }
}

/// The marking ramp as thresholds and a slope in 2^-96 per byte: 32 bits more than a draw has, so that
/// no queue length below 4 GB can turn what the division leaves into another mark.
fn ecn_ramp(ecn: Ecn) -> (u32, u32, u128) {
    let kmin = ecn.kmin.get().min(u64::from(u32::MAX - 1)) as u32;
    let kmax = ecn.kmax.get().min(u64::from(u32::MAX - 1)).max(u64::from(kmin)) as u32;
    let pmax = if ecn.pmax < Ratio::ONE { ecn.pmax.as_threshold().into() } else { 1u128 << 64 };
    let slope = (pmax << 32).checked_div(u128::from(kmax - kmin)).unwrap_or(0);
    (kmin, kmax, slope)
}

/// The common part of a switch's buffer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shared {
    /// Bytes not in use.
    pub(crate) free: u64,
    /// Headroom not in use, where ports share it; plenty where they do not.
    pub(crate) headroom_free: u64,
    /// With this much free, every port may hold [`LITTLE`] without anything happening.
    pub(crate) calm: u64,
}

/// A few dozen packets' worth of buffer.
const LITTLE: u32 = 256 << 10;

impl Shared {
    /// The common part of a switch whose ports have these rules.
    pub(crate) fn new<'a>(
        free: u64,
        headroom_free: u64,
        rules: impl Iterator<Item = &'a Profile>,
    ) -> Self {
        let calm = rules.map(Profile::calm).max().unwrap_or(0);
        Self { free, headroom_free, calm }
    }
}

/// Whether a packet was taken in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Admission {
    /// Yes.
    Taken,
    /// Yes, and the port must pause its peer now.
    TakenAndPause,
    /// No.
    Refused,
}

/// What a switch port has taken in of one class and not yet passed on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ingress {
    /// Buffer of its own.
    reserved: u32,
    /// Bytes in reserved and shared buffer.
    pub(crate) bytes: u32,
    /// Bytes in headroom.
    pub(crate) headroom: u32,
    /// Most bytes of headroom ever in use.
    pub(crate) deepest_headroom: u32,
}

impl Ingress {
    /// Nothing taken in yet.
    pub(crate) fn new(profile: &Profile) -> Self {
        Self { reserved: profile.reserved, bytes: 0, headroom: 0, deepest_headroom: 0 }
    }

    /// The most headroom in use is that of now.
    pub(crate) fn restart_watermark(&mut self) {
        self.deepest_headroom = self.headroom;
    }

    /// Whether a packet could come and go in one instant without being refused or causing a pause.
    /// Sure if it says so; if not, ask [`Ingress::admit`].
    #[inline(always)]
    pub(crate) fn passes(&self, size: u32, shared: &Shared) -> bool {
        self.bytes + size < LITTLE && self.headroom == 0 && shared.free >= shared.calm
    }

    /// Takes in a packet that [passes](Ingress::passes).
    #[inline(always)]
    pub(crate) fn take_in(&mut self, size: u32, shared: &mut Shared) {
        self.bytes += size;
        shared.free -= u64::from(self.beyond().min(size));
    }

    /// Bytes in shared buffer.
    #[inline(always)]
    fn beyond(&self) -> u32 {
        self.bytes.saturating_sub(self.reserved)
    }

    /// Takes in a packet of `size` bytes, if there is room.
    #[inline(never)]
    pub(crate) fn admit(&mut self, size: u32, profile: &Profile, shared: &mut Shared) -> Admission {
        let limit = profile.limit.given(shared.free);
        let beyond = (self.bytes + size).saturating_sub(self.reserved);
        if u64::from(beyond) <= limit && u64::from(beyond.min(size)) <= shared.free {
            self.take_in(size, shared);
        } else {
            let fits =
                size + self.headroom <= profile.headroom && u64::from(size) <= shared.headroom_free;
            if !fits {
                return Admission::Refused;
            }
            self.headroom += size;
            shared.headroom_free -= u64::from(size);
            self.deepest_headroom = self.deepest_headroom.max(self.headroom);
        }
        if profile.lossless && self.over(profile, shared) {
            return Admission::TakenAndPause;
        }
        Admission::Taken
    }

    /// Whether the peer should be paused.
    #[inline(always)]
    fn over(&self, profile: &Profile, shared: &Shared) -> bool {
        let used = u64::from(self.beyond());
        self.headroom > 0 || used >= profile.limit.given(shared.free)
    }

    /// Lets a packet of `size` bytes go.
    #[inline(always)]
    pub(crate) fn release(&mut self, size: u32, shared: &mut Shared) {
        let mut rest = size;
        if self.headroom > 0 {
            let from_headroom = self.headroom.min(size);
            self.headroom -= from_headroom;
            shared.headroom_free += u64::from(from_headroom);
            rest -= from_headroom;
        }
        debug_assert!(self.bytes >= rest, "more left the buffer than came in");
        shared.free += u64::from(self.beyond().min(rest));
        self.bytes -= rest;
    }

    /// Whether a paused peer may go on.
    #[inline(always)]
    pub(crate) fn may_resume(&self, profile: &Profile, shared: &Shared) -> bool {
        let used = u64::from(self.beyond());
        self.headroom == 0
            && (used == 0 || used + profile.xon_offset <= profile.limit.given(shared.free))
    }

    /// Bytes held in all parts.
    pub(crate) fn held(&self) -> u64 {
        u64::from(self.bytes) + u64::from(self.headroom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use xoff_fabric::model::Scheduling;
    use xoff_units::Bytes;

    fn profile(reserved: u64, alpha: Ratio, headroom: u64) -> Profile {
        let class = PortClass {
            lossless: true,
            reserved: Bytes::new(reserved),
            threshold: Threshold::Dynamic(alpha),
            xon_offset: Bytes::new(3072),
            headroom: Bytes::new(headroom),
            egress_limit: None,
            ecn: None,
            scheduling: Scheduling::Strict,
        };
        Profile::new(&class, true)
    }

    #[test]
    fn pauses_at_the_dynamic_threshold_and_uses_headroom_after() {
        let profile = profile(4096, Ratio::new(1, 8), 10_000);
        let mut shared = Shared { free: 90_000, headroom_free: u64::MAX >> 1, calm: 0 };
        let mut ingress = Ingress::new(&profile);
        // The fifteenth packet would make 10,904 B of shared buffer where (90,000 - 9,904) / 8 are
        // allowed: it goes into headroom and pauses the peer.
        for n in 1..15 {
            assert_eq!(ingress.admit(1000, &profile, &mut shared), Admission::Taken, "{n}");
        }
        assert_eq!(ingress.admit(1000, &profile, &mut shared), Admission::TakenAndPause);
        for _ in 0..9 {
            assert_eq!(ingress.admit(1000, &profile, &mut shared), Admission::TakenAndPause);
        }
        assert_eq!(ingress.headroom, 10_000);
        assert_eq!(ingress.admit(1000, &profile, &mut shared), Admission::Refused);
        assert!(!ingress.may_resume(&profile, &shared));
    }

    /// Thresholds that mark between so many bytes, at most with this probability.
    fn marking(kmin: u64, kmax: u64, pmax: Ratio) -> Profile {
        let plain = profile(0, Ratio::ONE, 0);
        let (kmin, kmax, slope) =
            ecn_ramp(Ecn { kmin: Bytes::new(kmin), kmax: Bytes::new(kmax), pmax });
        Profile { kmin, kmax, slope, ..plain }
    }

    /// The share of packets that queues of evenly distributed lengths between Kmin and Kmax mark is half of
    /// Pmax, at 400G as at 1.6T, and for a Pmax of 0.1 %.
    #[test]
    fn the_ramp_marks_the_share_that_its_formula_gives() {
        let shares = [Ratio::new(1, 5), Ratio::new(1, 100), Ratio::new(1, 1000), Ratio::ONE];
        for (kmin, kmax) in [(100_000, 400_000), (1_600_000, 6_400_000), (6_400_000, 25_600_000)] {
            for pmax in shares {
                let rules = marking(kmin, kmax, pmax);
                let mut stream = xoff_workload::stream::Stream::new(1, kmin, "test");
                let (packets, mut marked) = (1_000_000u32, 0u32);
                for n in 0..u64::from(packets) {
                    let left = kmin + (kmax - kmin) * n / u64::from(packets) + 1;
                    marked += u32::from(rules.marks(left as u32, || stream.next_u64()));
                }
                let expected = f64::from(packets) * pmax.as_f64() / 2.0;
                let off = (f64::from(marked) - expected).abs();
                assert!(off < 5.0 * expected.sqrt(), "{marked} of {expected} at {kmax} and {pmax}");
            }
        }
    }

    proptest! {
        /// The probability is the exact fraction, to the resolution of a draw.
        #[test]
        fn the_ramp_is_exact(
            kmin in 0u64..100_000_000,
            width in 1u64..100_000_000,
            at in 0.0..1.0f64,
            numerator in 0u64..10_000,
        ) {
            let rules = marking(kmin, kmin + width, Ratio::new(numerator, 10_000));
            let above = ((width as f64 * at) as u64).max(1);
            let exact = ((u128::from(above) * u128::from(numerator)) << 64)
                / (u128::from(width) * 10_000);
            prop_assert!(rules.mark_probability((kmin + above) as u32).abs_diff(exact) <= 2);
        }

        /// Whatever comes and goes, no byte of buffer is lost or made.
        #[test]
        fn buffer_is_conserved(
            sizes in proptest::collection::vec(64u32..9216, 1..300),
            reserved in 0u64..20_000,
            alpha in 1u64..64,
            headroom in 0u64..100_000,
            free in 0u64..500_000,
        ) {
            let profile = profile(reserved, Ratio::new(alpha, 8), headroom);
            let pool = 1u64 << 40;
            let mut shared = Shared { free, headroom_free: pool, calm: 0 };
            let mut ingress = Ingress::new(&profile);
            let mut held = std::collections::VecDeque::new();
            for (i, &size) in sizes.iter().enumerate() {
                if ingress.admit(size, &profile, &mut shared) != Admission::Refused {
                    held.push_back(size);
                }
                if i % 3 == 0 && let Some(size) = held.pop_front() {
                    ingress.release(size, &mut shared);
                }
                prop_assert_eq!(ingress.held(), held.iter().map(|&s| u64::from(s)).sum::<u64>());
                prop_assert_eq!(pool - shared.headroom_free, u64::from(ingress.headroom));
            }
            while let Some(size) = held.pop_front() {
                ingress.release(size, &mut shared);
            }
            prop_assert_eq!(ingress.held(), 0);
            prop_assert_eq!((shared.free, shared.headroom_free), (free, pool));
            prop_assert!(ingress.may_resume(&profile, &shared));
        }
    }
}
