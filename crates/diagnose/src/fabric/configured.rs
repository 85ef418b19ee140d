//! Configurations beside counters: what an audit of the devices says about what the counters show.
//!
//! A mistake that fits a finding makes it certain, and is its explanation. A mistake that no counter shows may still be
//! the cause, or become one: it is a finding of its own, after all others. And where counters say that a setting is
//! wrong and the configuration says that it is right, what is in force may not be what was collected.

use super::finding::{Confidence, Finding, order};
use super::{Cause, Diagnosis};
use std::collections::{BTreeMap, BTreeSet};
use xoff_fabric::model::{Fabric, NodeId};

/// Mistakes that are told of one cause.
const TOLD: usize = 3;

/// Something that is configured wrongly.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mistake {
    /// The device, by its name in the fabric file: a switch or a server.
    pub device: String,
    /// What it can bring about, the likeliest first.
    pub causes: Vec<Cause>,
    /// Whether it does harm by itself, as opposed to being unusual.
    pub harmful: bool,
    /// What is wrong, and in which line.
    pub words: String,
}

/// What is known of the devices' configurations.
#[derive(Debug, Clone, Default)]
pub struct Configured {
    /// The devices whose configurations were read.
    pub devices: BTreeSet<String>,
    /// What is wrong with them.
    pub mistakes: Vec<Mistake>,
}

/// Holds the configurations against what was found.
pub fn compare(diagnosis: &mut Diagnosis, fabric: &Fabric, configured: &Configured) {
    let mut shown = vec![false; configured.mistakes.len()];
    for finding in &mut diagnosis.findings {
        let devices: BTreeSet<&str> =
            finding.nodes.iter().map(|node| device(fabric, *node)).collect();
        let fits = |mistake: &Mistake| {
            devices.contains(mistake.device.as_str()) && mistake.causes.contains(&finding.cause)
        };
        let mut explained = false;
        for (mistake, shown) in configured.mistakes.iter().zip(&mut shown) {
            if fits(mistake) {
                finding.evidence.push(words(mistake));
                (*shown, explained) = (true, true);
            }
        }
        let known: Vec<&str> =
            devices.into_iter().filter(|name| configured.devices.contains(*name)).collect();
        if explained && finding.cause.is_a_setting() {
            finding.confidence = Confidence::Certain;
        } else if finding.cause.is_a_setting() && !known.is_empty() {
            finding.evidence.push(format!(
                "the configuration of {} says otherwise: what is in force may not be what was collected",
                known.join(" and ")
            ));
        }
    }
    let silent = configured.mistakes.iter().zip(shown).filter(|(_, shown)| !shown);
    diagnosis.findings.extend(unseen(fabric, silent.map(|(mistake, _)| mistake)));
    order(&mut diagnosis.findings);
    let found: BTreeSet<Cause> = diagnosis.findings.iter().map(|finding| finding.cause).collect();
    diagnosis.ruled_out.retain(|cause| !found.contains(cause));
}

/// Mistakes that do harm and that no counter shows: those with the same cause are one finding, however many devices have them.
fn unseen<'a>(fabric: &Fabric, mistakes: impl Iterator<Item = &'a Mistake>) -> Vec<Finding> {
    let mut by_cause: BTreeMap<Cause, Vec<&Mistake>> = BTreeMap::new();
    for mistake in mistakes.filter(|mistake| mistake.harmful) {
        if let Some(cause) = mistake.causes.iter().find(|cause| cause.is_a_setting()) {
            by_cause.entry(*cause).or_default().push(mistake);
        }
    }
    let finding = |(cause, mistakes): (Cause, Vec<&Mistake>)| {
        let devices: BTreeSet<&str> = mistakes.iter().map(|one| one.device.as_str()).collect();
        let first = devices.first().copied().unwrap_or_default();
        let place = match devices.len() {
            1 => first.to_owned(),
            many => format!("{first} and {} more devices", many - 1),
        };
        let nodes = devices.iter().flat_map(|device| nodes(fabric, device)).collect();
        let finding = Finding::new(cause, place, nodes).sure(Confidence::Possible);
        let told = mistakes.iter().take(TOLD);
        let finding = told.fold(finding, |finding, one| finding.because(words(one)));
        let more = mistakes.len().saturating_sub(TOLD);
        let finding = if more > 0 { finding.because(format!("and {more} more")) } else { finding };
        finding.because("no counter of this time shows it")
    };
    by_cause.into_iter().map(finding).collect()
}

fn words(mistake: &Mistake) -> String {
    format!("{} is configured so: {}", mistake.device, mistake.words)
}

/// The device that a node is configured with: a switch, or the server of a NIC.
fn device(fabric: &Fabric, node: NodeId) -> &str {
    match fabric.node_switch(node) {
        Some(switch) => &fabric.switches[switch.index()].name,
        None => &fabric.servers[fabric.nics[node.index()].server.index()].name,
    }
}

/// The nodes of a device.
fn nodes(fabric: &Fabric, name: &str) -> Vec<NodeId> {
    let all = (0..fabric.nics.len() + fabric.switches.len()).map(|node| NodeId(node as u32));
    all.filter(|node| device(fabric, *node) == name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fabric() -> Fabric {
        Fabric::from_toml("[cluster]\ngpus = 32\n[fabric]\nkind = 'rail'\n").unwrap()
    }

    fn mistake(device: &str, cause: Cause) -> Mistake {
        let words = "class 3 has no PFC (leaf.cfg:12)".to_owned();
        Mistake { device: device.to_owned(), causes: vec![cause], harmful: true, words }
    }

    fn found(fabric: &Fabric, cause: Cause, device: &str) -> Diagnosis {
        let finding = Finding::new(cause, device, nodes(fabric, device));
        let ruled_out = vec![Cause::EcnOff];
        Diagnosis { findings: vec![finding], ruled_out, ..Diagnosis::default() }
    }

    fn of(mistakes: Vec<Mistake>, read: &[&str]) -> Configured {
        Configured { devices: read.iter().map(|name| (*name).to_owned()).collect(), mistakes }
    }

    #[test]
    fn a_mistake_that_fits_makes_it_certain() {
        let fabric = fabric();
        let mut diagnosis = found(&fabric, Cause::PfcOff, "leaf1");
        compare(&mut diagnosis, &fabric, &of(vec![mistake("leaf1", Cause::PfcOff)], &["leaf1"]));
        let [finding] = &diagnosis.findings[..] else { panic!("{diagnosis:?}") };
        assert_eq!(finding.confidence, Confidence::Certain);
        assert!(finding.evidence[0].ends_with("class 3 has no PFC (leaf.cfg:12)"), "{finding:?}");
    }

    #[test]
    fn a_mistake_elsewhere_is_a_finding_of_its_own_and_last() {
        let fabric = fabric();
        let mut diagnosis = found(&fabric, Cause::PfcOff, "leaf1");
        compare(&mut diagnosis, &fabric, &of(vec![mistake("server2", Cause::EcnOff)], &[]));
        let [first, last] = &diagnosis.findings[..] else { panic!("{diagnosis:?}") };
        assert_eq!((first.cause, first.confidence), (Cause::PfcOff, Confidence::Likely));
        assert_eq!((last.cause, last.confidence), (Cause::EcnOff, Confidence::Possible));
        assert_eq!(last.place, "server2");
        assert!(!last.nodes.is_empty());
        assert_eq!(diagnosis.ruled_out, []);
    }

    #[test]
    fn the_same_mistake_on_many_devices_is_one_finding() {
        let fabric = fabric();
        let mut diagnosis = Diagnosis::default();
        let all = (0..5).map(|leaf| mistake(&format!("leaf{leaf}"), Cause::PfcOff)).collect();
        compare(&mut diagnosis, &fabric, &of(all, &[]));
        let [finding] = &diagnosis.findings[..] else { panic!("{diagnosis:?}") };
        assert_eq!(finding.place, "leaf0 and 4 more devices");
        assert_eq!((finding.nodes.len(), finding.evidence.len()), (5, 5));
        assert_eq!(finding.evidence[3], "and 2 more");
    }

    #[test]
    fn a_configuration_that_is_right_contradicts_the_counters() {
        let fabric = fabric();
        let mut diagnosis = found(&fabric, Cause::PfcOff, "leaf1");
        compare(&mut diagnosis, &fabric, &of(Vec::new(), &["leaf1", "leaf2"]));
        let finding = &diagnosis.findings[0];
        assert_eq!(finding.confidence, Confidence::Likely);
        assert!(finding.evidence[0].contains("leaf1 says otherwise"), "{finding:?}");
        // What is no setting is in no configuration.
        let mut diagnosis = found(&fabric, Cause::BadOptic, "leaf1");
        compare(&mut diagnosis, &fabric, &of(Vec::new(), &["leaf1"]));
        assert_eq!(diagnosis.findings[0].evidence, [""; 0]);
    }

    #[test]
    fn a_mistake_that_does_no_harm_by_itself_is_no_finding() {
        let fabric = fabric();
        let mut diagnosis = Diagnosis::default();
        let unusual = Mistake { harmful: false, ..mistake("leaf0", Cause::EcnOff) };
        compare(&mut diagnosis, &fabric, &of(vec![unusual], &["leaf0"]));
        assert!(diagnosis.findings.is_empty());
    }
}
