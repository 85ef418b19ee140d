//! Named sets of DCQCN constants.
//!
//! Every set gives every constant, so that a set that is named replaces whatever was below it.

use super::fact::Fact;
use xoff_transport::config::DcqcnPreset;

/// A named set of DCQCN constants.
#[derive(Debug, Clone, Copy)]
pub struct DcqcnSet {
    /// Which one.
    pub preset: DcqcnPreset,
    /// Its name in files.
    pub name: &'static str,
    /// What it stands for, in a sentence.
    pub about: &'static str,
    facts: &'static [Fact],
    changes: &'static [Fact],
}

const DUMPS: &str = "public ConnectX configuration dumps agree";
const PAPER: &str = "Zhu et al., Congestion Control for Large-Scale RDMA Deployments, SIGCOMM 2015";
const NS3: &str = "the `dcqcn` setting published with the ns-3 models of the HPCC line";
const IONIC: &str = "AMD's ionic driver; the firmware of a NIC may differ";
const IRDMA: &str = "Intel's irdma driver";

/// ConnectX as it is shipped.
const CONNECTX: [Fact; 14] = [
    Fact::documented(
        "congestion.g",
        "'5/1024'",
        "DCE_TCP_G 1019: the weight of the old alpha, of 1024",
    ),
    Fact::documented("congestion.initial-alpha", "'1023/1024'", "INITIAL_ALPHA_VALUE 1023"),
    Fact::documented("congestion.alpha-interval", "'1us'", "DCE_TCP_RTT 1"),
    Fact::documented("congestion.decrease-interval", "'4us'", "RATE_REDUCE_MONITOR_PERIOD 4"),
    Fact::documented(
        "congestion.cut-at-once",
        "true",
        "RATE_TO_SET_ON_FIRST_CNP 0: the first CNP cuts by alpha",
    ),
    Fact::documented("congestion.largest-cut", "'1/2'", "RPG_GD 11 and RPG_MIN_DEC_FAC 50"),
    Fact::documented("congestion.increase-timer", "'300us'", "RPG_TIME_RESET 300"),
    Fact::reported(
        "congestion.byte-counter",
        "'2097088B'",
        "RPG_BYTE_RESET 32767, in units of 64 bytes as another model and a traffic generator read it; \
         the help text of the tool says bytes",
    ),
    Fact::documented("congestion.fast-recovery", "1", "RPG_THRESHOLD 1"),
    Fact::documented("congestion.additive-increase", "'5Mbps'", "RPG_AI_RATE 5, at any port rate"),
    Fact::documented("congestion.hyper-increase", "'50Mbps'", "RPG_HAI_RATE 50, at any port rate"),
    Fact::documented("congestion.increase-at", "0", "the increases do not scale with the port"),
    Fact::documented("congestion.min-rate", "'1Mbps'", "RPG_MIN_RATE 1"),
    Fact::documented(
        "congestion.clamp-target",
        "false",
        "CLAMP_TGT_RATE 0, CLAMP_TGT_RATE_AFTER_TIME_INC 1",
    ),
];

/// ConnectX without its byte counter.
const TIMER: [Fact; 1] = [Fact::reported(
    "congestion.byte-counter",
    "0",
    "models that leave the counter out; read as bytes it would fire with every eighth packet",
)];

const SCALED: [Fact; 1] = [Fact::estimated(
    "congestion.increase-at",
    "'25Gbps'",
    "the constants are of 25G NICs; scaled as the ns-3 models of the HPCC line scale them",
)];

const PAPERS: [Fact; 14] = [
    Fact::documented("congestion.g", "'1/256'", PAPER),
    Fact::documented("congestion.initial-alpha", "1", PAPER),
    Fact::documented("congestion.alpha-interval", "'55us'", PAPER),
    Fact::documented("congestion.decrease-interval", "'50us'", PAPER),
    Fact::documented("congestion.cut-at-once", "true", PAPER),
    Fact::documented("congestion.largest-cut", "'1/2'", PAPER),
    Fact::documented("congestion.increase-timer", "'55us'", PAPER),
    Fact::documented("congestion.byte-counter", "'10MB'", PAPER),
    Fact::documented("congestion.fast-recovery", "5", PAPER),
    Fact::documented("congestion.additive-increase", "'40Mbps'", PAPER),
    Fact::estimated("congestion.hyper-increase", "'400Mbps'", "ten times the additive increase"),
    Fact::documented("congestion.increase-at", "0", PAPER),
    Fact::estimated("congestion.min-rate", "'10Mbps'", "not given in the paper"),
    Fact::documented("congestion.clamp-target", "true", PAPER),
];

const HPCC: [Fact; 14] = [
    Fact::documented("congestion.g", "'1/256'", NS3),
    Fact::documented("congestion.initial-alpha", "1", NS3),
    Fact::documented("congestion.alpha-interval", "'1us'", NS3),
    Fact::documented("congestion.decrease-interval", "'4us'", NS3),
    Fact::documented("congestion.cut-at-once", "false", NS3),
    Fact::documented("congestion.largest-cut", "'1/2'", NS3),
    Fact::documented("congestion.increase-timer", "'300us'", NS3),
    Fact::documented("congestion.byte-counter", "0", NS3),
    Fact::documented("congestion.fast-recovery", "1", NS3),
    Fact::documented("congestion.additive-increase", "'5Mbps'", NS3),
    Fact::documented("congestion.hyper-increase", "'50Mbps'", NS3),
    Fact::documented("congestion.increase-at", "'25Gbps'", NS3),
    Fact::documented("congestion.min-rate", "'1Gbps'", NS3),
    Fact::documented("congestion.clamp-target", "false", NS3),
];

const AMD: [Fact; 14] = [
    Fact::estimated("congestion.g", "'1/128'", "field of 512 in the driver, taken as 512/65536"),
    Fact::estimated(
        "congestion.initial-alpha",
        "'1/16'",
        "field of 64 in the driver, taken as 64/1024",
    ),
    Fact::documented("congestion.alpha-interval", "'1us'", IONIC),
    Fact::documented("congestion.decrease-interval", "'1us'", IONIC),
    Fact::estimated("congestion.cut-at-once", "true", "as the paper"),
    Fact::estimated("congestion.largest-cut", "'1/2'", "as the paper"),
    Fact::documented("congestion.increase-timer", "'1us'", "one alpha tick"),
    Fact::documented("congestion.byte-counter", "'431068B'", IONIC),
    Fact::documented("congestion.fast-recovery", "1", IONIC),
    Fact::documented("congestion.additive-increase", "'160Mbps'", IONIC),
    Fact::documented("congestion.hyper-increase", "'300Mbps'", IONIC),
    Fact::documented("congestion.increase-at", "0", IONIC),
    Fact::estimated("congestion.min-rate", "'1Mbps'", "as ConnectX"),
    Fact::estimated("congestion.clamp-target", "false", "as ConnectX"),
];

const INTEL: [Fact; 14] = [
    Fact::estimated("congestion.g", "'1/256'", "as the paper"),
    Fact::estimated("congestion.initial-alpha", "1", "as the paper"),
    Fact::estimated("congestion.alpha-interval", "'55us'", "as the paper"),
    Fact::documented("congestion.decrease-interval", "'50us'", IRDMA),
    Fact::estimated("congestion.cut-at-once", "true", "as the paper"),
    Fact::estimated("congestion.largest-cut", "'1/2'", "as the paper"),
    Fact::documented("congestion.increase-timer", "'55us'", IRDMA),
    Fact::documented("congestion.byte-counter", "'150000B'", IRDMA),
    Fact::documented("congestion.fast-recovery", "5", IRDMA),
    Fact::estimated(
        "congestion.additive-increase",
        "'3Gbps'",
        "1 segment of 4 KiB per round trip of about 10 us: the driver moves a window, not a rate",
    ),
    Fact::estimated("congestion.hyper-increase", "'16Gbps'", "5 segments, likewise"),
    Fact::estimated("congestion.increase-at", "0", "not published"),
    Fact::estimated("congestion.min-rate", "'10Mbps'", "not published"),
    Fact::estimated("congestion.clamp-target", "true", "as the paper"),
];

/// All named sets.
pub const DCQCN_SETS: [DcqcnSet; 7] = [
    set(DcqcnPreset::Connectx, "connectx", "ConnectX as shipped", &CONNECTX, &[]),
    set(
        DcqcnPreset::ConnectxTimer,
        "connectx-timer",
        "ConnectX with the byte counter left out: rates recover by the 300 us timer alone",
        &CONNECTX,
        &TIMER,
    ),
    set(
        DcqcnPreset::ConnectxScaled,
        "connectx-scaled",
        "ConnectX with increases that scale with the line rate",
        &CONNECTX,
        &SCALED,
    ),
    set(DcqcnPreset::Paper, "paper", "the DCQCN paper, for 40G", &PAPERS, &[]),
    set(
        DcqcnPreset::Hpcc,
        "hpcc",
        "the ns-3 models of the HPCC line, scaled with the line rate",
        &HPCC,
        &[],
    ),
    set(DcqcnPreset::Ionic, "ionic", "AMD's ionic driver", &AMD, &[]),
    set(
        DcqcnPreset::Irdma,
        "irdma",
        "Intel's irdma driver, its windows written as rates",
        &INTEL,
        &[],
    ),
];

const fn set(
    preset: DcqcnPreset,
    name: &'static str,
    about: &'static str,
    facts: &'static [Fact],
    changes: &'static [Fact],
) -> DcqcnSet {
    DcqcnSet { preset, name, about, facts, changes }
}

impl DcqcnSet {
    /// The set of that name.
    pub fn named(name: &str) -> Option<&'static DcqcnSet> {
        DCQCN_SETS.iter().find(|set| set.name == name)
    }

    /// Its constants.
    pub fn facts(&self) -> impl Iterator<Item = &'static Fact> + use<> {
        let (facts, changes) = (self.facts, self.changes);
        let changed = |fact: &&Fact| !changes.iter().any(|change| change.key == fact.key);
        facts.iter().filter(changed).chain(changes)
    }

    /// Where the constants are from, for those that name nothing more exact.
    pub fn source(&self) -> &'static str {
        match self.preset {
            DcqcnPreset::Connectx | DcqcnPreset::ConnectxTimer | DcqcnPreset::ConnectxScaled => {
                DUMPS
            }
            DcqcnPreset::Paper => PAPER,
            DcqcnPreset::Hpcc => NS3,
            DcqcnPreset::Ionic => IONIC,
            DcqcnPreset::Irdma => IRDMA,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::fact;
    use xoff_transport::config::Dcqcn;

    fn constants(set: &DcqcnSet) -> Dcqcn {
        let text = fact::text(set.facts());
        let table: toml::Table = text.parse().unwrap();
        table["transport"]["congestion"].clone().try_into().unwrap()
    }

    #[test]
    fn every_set_gives_every_constant() {
        for set in &DCQCN_SETS {
            let mut keys: Vec<&str> = set.facts().map(|fact| fact.key).collect();
            keys.sort_unstable();
            keys.dedup();
            // All fields of `Dcqcn` but the name of the set.
            assert_eq!(keys.len(), 14, "{}", set.name);
            assert!(constants(set).min_rate.bps() > 0);
            let named = serde_json::to_value(set.preset).unwrap();
            assert_eq!(named, set.name);
        }
    }

    #[test]
    fn what_is_shipped_is_the_default() {
        let set = DcqcnSet::named("connectx").unwrap();
        assert_eq!(constants(set), Dcqcn::default());
    }
}
