//! `[convergence]`: how soon a fabric does without what broke.

use crate::model::Convergence;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_units::Span;

/// How soon switches do without what broke: in every experiment of a validation, and for faults of a
/// scenario that have no times of their own.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) struct ConvergenceSettings {
    /// What routes are made by (default `bgp`); the other keys change single times of it.
    pub profile: ConvergenceProfile,
    /// From the loss of carrier to the ends of a link doing without it.
    pub carrier: Option<Span>,
    /// From a failure that leaves the carrier up to the ends noticing it: the hold time of the routing
    /// protocol, or BFD's interval times its multiplier.
    pub silent: Option<Span>,
    /// From there until all other switches use other ways.
    pub withdraw: Option<Span>,
}

/// What routes are made by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ConvergenceProfile {
    /// BGP with a hold time of 9 s and fast external failover: carrier 10ms, silent 9s, withdraw 200ms.
    #[default]
    Bgp,
    /// BGP with BFD, 3 times 300 ms: carrier 10ms, silent 900ms, withdraw 200ms.
    BgpBfd,
    /// Local repair in hardware, with BFD 3 times 50 ms: carrier 500us, silent 150ms, withdraw 200ms.
    FastReroute,
}

impl ConvergenceSettings {
    /// The times in force.
    pub(crate) fn times(&self) -> Convergence {
        // FRR's datacenter profile has a hold time of 9 s, its BFD 3 times 300 ms. Carrier loss through
        // software and the withdrawal of routes are estimates: 10 to 100 ms and some 100 ms.
        let (carrier, silent) = match self.profile {
            ConvergenceProfile::Bgp => (Span::from_ms(10), Span::from_ms(9_000)),
            ConvergenceProfile::BgpBfd => (Span::from_ms(10), Span::from_ms(900)),
            ConvergenceProfile::FastReroute => (Span::from_us(500), Span::from_ms(150)),
        };
        Convergence {
            carrier: self.carrier.unwrap_or(carrier),
            silent: self.silent.unwrap_or(silent),
            withdraw: self.withdraw.unwrap_or(Span::from_ms(200)),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::model::Fabric;
    use xoff_units::Span;

    fn silent(section: &str) -> Span {
        let text = format!("[cluster]\ngpus = 16\n[fabric]\nkind = 'rail'\n{section}");
        Fabric::from_toml(&text).unwrap().convergence.silent
    }

    #[test]
    fn a_profile_sets_what_no_key_does() {
        assert_eq!(silent(""), Span::from_ms(9_000));
        assert_eq!(silent("[convergence]\nprofile = 'bgp-bfd'"), Span::from_ms(900));
        let own = "[convergence]\nprofile = 'fast-reroute'\nsilent = '60ms'";
        assert_eq!(silent(own), Span::from_ms(60));
        let wrong =
            "[cluster]\ngpus = 16\n[fabric]\nkind = 'rail'\n[convergence]\nprofile = 'ospf'";
        assert!(crate::load_fabric(wrong).into_result().is_err());
    }
}
