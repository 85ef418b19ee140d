//! Pools of buffer. All memory is in the pool of lossy traffic at first: PFC protects nothing before a
//! lossless pool has some (NVIDIA's Cumulus Linux guide, Flow Control Buffers).

use crate::device::RemarkKind;
use crate::place::Said;
use crate::text::fit;
use crate::text::notes::Notes;
use std::collections::BTreeMap;
use xoff_fabric::model::Threshold;
use xoff_units::Ratio;

/// Exponents of the shares that have names, `alpha_1_128` to `alpha_64`.
pub(super) const ALPHA: (i32, i32) = (-7, 6);

/// What is said of buffers.
#[derive(Debug, Default)]
pub(super) struct Buffers {
    /// Percent of the memory in a lossless pool.
    lossless: Said<u64>,
    /// Shares of the memory, by pool.
    pub(super) shares: BTreeMap<String, Said<String>>,
    /// Whether pools are laid out by hand.
    by_hand: bool,
    /// When a lossless class pauses.
    pub(super) threshold: Said<Threshold>,
}

impl Buffers {
    /// Whether what is lossless has memory.
    pub(super) fn has_lossless(&self) -> bool {
        self.by_hand || self.lossless.get().is_some_and(|percent| percent > 0)
    }

    /// `qos traffic-pool …`.
    pub(super) fn pool(&mut self, line: u32, path: &[&str], notes: &mut Notes) {
        match path {
            [pool, "memory-percent", percent] => {
                let percent = percent.parse().ok().filter(|percent| *percent <= 100);
                let said = notes.said(line, percent);
                if pool.contains("lossless") {
                    self.lossless = said;
                }
                self.shares
                    .insert(format!("traffic pool {pool}"), said.map(|share| format!("{share}%")));
            }
            [_] | [_, "switch-priority", _] => {}
            _ => notes.mark(line, RemarkKind::Unknown),
        }
    }

    /// `qos advance-buffer-config PROFILE …`.
    pub(super) fn advanced(&mut self, line: u32, path: &[&str], notes: &mut Notes) {
        const REGIONS: [&str; 10] = [
            "egress-lossless-buffer",
            "egress-lossy-buffer",
            "egress-mgmt-buffer",
            "egress-pool",
            "egress-service-pool",
            "ingress-lossy-buffer",
            "ingress-mgmt-buffer",
            "ingress-pool",
            "ingress-service-pool",
            "shared-headroom",
        ];
        match path {
            ["ingress-lossless-buffer", "shared-alpha", alpha] => {
                self.threshold = notes.said(line, share(alpha).map(Threshold::Dynamic));
            }
            ["ingress-lossless-buffer", "shared-bytes", size] => {
                let size = size.parse().ok().map(xoff_units::Bytes::new);
                self.threshold = notes.said(line, size.map(Threshold::Static));
            }
            ["ingress-lossless-buffer", "service-pool", _] => self.by_hand = true,
            ["ingress-lossless-buffer"] => {}
            [region, ..] if REGIONS.contains(region) => notes.mark(line, RemarkKind::Foreign),
            _ => notes.mark(line, RemarkKind::Unknown),
        }
    }
}

/// The name of a share, `alpha_1_8`.
pub(super) fn name(alpha: Ratio) -> String {
    let exponent = fit::exponent(alpha, ALPHA.0, ALPHA.1);
    let size = 1u32 << exponent.unsigned_abs().min(31);
    if exponent < 0 { format!("alpha_1_{size}") } else { format!("alpha_{size}") }
}

/// The share of a name; of what has none, `alpha_0` and `alpha_infinity`, nothing can be said.
fn share(name: &str) -> Option<Ratio> {
    let exponents = ALPHA.0..=ALPHA.1;
    exponents.map(fit::power).find(|alpha| self::name(*alpha) == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_have_names() {
        for (text, alpha) in [
            ("alpha_1_128", Ratio::new(1, 128)),
            ("alpha_1_4", Ratio::new(1, 4)),
            ("alpha_1", Ratio::ONE),
            ("alpha_8", Ratio::new(8, 1)),
            ("alpha_64", Ratio::new(64, 1)),
        ] {
            assert_eq!((share(text), name(alpha).as_str()), (Some(alpha), text));
        }
        assert_eq!((share("alpha_infinity"), share("alpha_3"), share("8")), (None, None, None));
    }
}
