//! [`PROFILE_ERRORS`]: how far each profile of the catalogue is from the series that were published of its system.
//!
//! `crates/workload/tests/published` computes these figures and fails where they are others. `docs/collectives.md` has the
//! same ones, with every size.

/// The mean absolute error of a profile over one published series, by sizes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ProfileError {
    /// The profile's name in files.
    pub profile: &'static str,
    /// What was measured, and where.
    pub series: &'static str,
    /// Below 1 MiB, as a factor: 1.08 is 8 % more or less than was measured. Nothing where no such size was published.
    pub small: Option<f64>,
    /// From 1 MiB to 64 MiB, as a share.
    pub middle: Option<f64>,
    /// Above 64 MiB, as a share.
    pub large: Option<f64>,
}

impl ProfileError {
    /// Those of one profile.
    pub fn of(profile: &str) -> impl Iterator<Item = &'static Self> {
        PROFILE_ERRORS.iter().filter(move |error| error.profile == profile)
    }
}

const fn error(
    profile: &'static str,
    series: &'static str,
    small: Option<f64>,
    middle: Option<f64>,
    large: Option<f64>,
) -> ProfileError {
    ProfileError { profile, series, small, middle, large }
}

/// Every published series, in the order of `docs/collectives.md`.
#[rustfmt::skip]
pub const PROFILE_ERRORS: [ProfileError; 13] = [
    error("h100-nvlink", "AllReduce on 8 H100, NVLink", Some(1.08), Some(0.051), Some(0.025)),
    error("a100-roce", "AllReduce on 16 A100, RoCE", Some(1.05), Some(0.101), Some(0.032)),
    error("a100-infiniband", "AllReduce on 16 A100, InfiniBand", Some(1.02), Some(0.064), None),
    error("h100", "AllReduce on 16 to 64 H100, InfiniBand", None, Some(0.185), None),
    error("h100-gcp-a3-mega", "AllReduce on 16 H100, GCP A3 Mega", Some(1.08), Some(0.082), None),
    error("h100-efa", "AllReduce on 16 H100, EFA", None, Some(0.032), Some(0.044)),
    error("h100-efa-early", "AllReduce on 16 H100, EFA, early", Some(1.02), None, None),
    error("h100-efa", "AllReduce on 16 to 256 H100, EFA", None, None, Some(0.058)),
    error("h100-efa", "AllGather on 16 to 256 H100, EFA", None, None, Some(0.075)),
    error("h100-efa", "AllToAll on 16 to 256 H100, EFA", None, None, Some(0.019)),
    error("b200-efa", "AllReduce on 32 B200, EFA", None, Some(0.009), Some(0.038)),
    error("h100", "AllReduce on 16 MI300X, RoCE", None, None, Some(0.014)),
    error("h100", "AllReduce on 64 H100, InfiniBand with SHARP", None, None, Some(0.090)),
];
