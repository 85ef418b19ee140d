//! Recall, precision and clean fabrics.

use crate::case::{Case, Subject};
use crate::edit::Mistake;
use std::collections::BTreeMap;
use xoff_config::audit::{Finding, Report};
use xoff_fabric::Severity;

/// Rules about both ends of a cable: the other end may be the one that is named.
const LINK_RULES: [&str; 3] = ["mtu-mismatch", "pause-link", "cable-mismatch"];

/// What came of some seeds of one subject.
#[derive(Debug, Default)]
pub(crate) struct Score {
    pub(crate) mistakes: usize,
    pub(crate) found: usize,
    pub(crate) right: usize,
    pub(crate) wrong: usize,
    pub(crate) clean_errors: usize,
    pub(crate) clean_warnings: usize,
    /// Mistakes that were not found.
    pub(crate) misses: Vec<String>,
    /// Findings that are wrong, by rule and kind of device, with an example.
    pub(crate) false_findings: BTreeMap<String, (usize, String)>,
    /// Findings on clean fabrics.
    pub(crate) clean: BTreeMap<String, (usize, String)>,
}

impl Score {
    /// Share of mistakes that were found, in percent.
    pub(crate) fn recall(&self) -> f64 {
        percent(self.found, self.mistakes)
    }

    /// Share of findings that are right, in percent.
    pub(crate) fn precision(&self) -> f64 {
        percent(self.right, self.right + self.wrong)
    }

    /// A row of the table.
    pub(crate) fn row(&self, label: &str) -> String {
        format!(
            "{label:<34} {:>4} {:>7.1}% {:>9.1}% {:>7} {:>9}",
            self.mistakes,
            self.recall(),
            self.precision(),
            self.clean_errors,
            self.clean_warnings
        )
    }

    /// The header of the table.
    pub(crate) fn header() -> String {
        format!(
            "{:<34} {:>4} {:>8} {:>10} {:>7} {:>9}",
            "system", "n", "recall", "precision", "errors*", "warnings*"
        )
    }

    /// What is wrong, in few lines.
    pub(crate) fn details(&self) -> String {
        let mut text = String::new();
        for miss in &self.misses {
            text += &format!("    missed: {miss}\n");
        }
        for (title, list) in [("clean", &self.clean), ("false", &self.false_findings)] {
            let mut sorted: Vec<_> = list.iter().collect();
            sorted.sort_by_key(|(_, (count, _))| std::cmp::Reverse(*count));
            for (rule, (count, example)) in sorted {
                text += &format!("    {title} {count:>4} x {rule}: {example}\n");
            }
        }
        text
    }
}

fn percent(part: usize, whole: usize) -> f64 {
    if whole == 0 { 100.0 } else { 100.0 * part as f64 / whole as f64 }
}

/// Scores of a subject over seeds.
pub(crate) fn judge(subject: Subject, seeds: &[u64], with_fabric: bool) -> Score {
    let mut score = Score::default();
    for seed in seeds {
        let case = Case::new(subject, *seed);
        let clean = case.audit(&case.texts(None), with_fabric);
        score.clean(&case, &clean);
        for mistake in case.mistakes.iter().filter(|m| with_fabric || !m.planned_only) {
            let report = case.audit(&case.texts(Some(mistake)), with_fabric);
            score.mistake(&case, mistake, &report);
        }
    }
    score
}

impl Score {
    fn clean(&mut self, case: &Case, report: &Report) {
        for finding in &report.findings {
            match finding.severity {
                Severity::Error => self.clean_errors += 1,
                Severity::Warning => self.clean_warnings += 1,
            }
            note(&mut self.clean, case, finding, "nothing");
        }
    }

    fn mistake(&mut self, case: &Case, mistake: &Mistake, report: &Report) {
        self.mistakes += 1;
        let (right, wrong): (Vec<&Finding>, Vec<&Finding>) =
            report.findings.iter().partition(|finding| is_right(case, mistake, finding));
        self.right += right.len();
        self.wrong += wrong.len();
        if right.iter().any(|finding| finding.device == mistake.device) {
            self.found += 1;
        } else {
            let at: Vec<&Finding> =
                report.findings.iter().filter(|f| f.device == mistake.device).collect();
            let said: Vec<&str> = at.iter().map(|f| f.rule.id).collect();
            self.misses.push(format!(
                "seed {} {} at {} {:?}: wanted {:?}, said {said:?}",
                case.plan.seed, mistake.name, mistake.device, mistake.ports, mistake.rules
            ));
        }
        for finding in wrong {
            note(&mut self.false_findings, case, finding, &mistake.name);
        }
    }
}

fn note(
    list: &mut BTreeMap<String, (usize, String)>,
    case: &Case,
    finding: &Finding,
    mistake: &str,
) {
    let host = case.plan.servers.iter().any(|server| server.name == finding.device);
    let switch = case.plan.switches.iter().any(|switch| switch.name == finding.device);
    let kind = match (host, switch) {
        (true, _) => format!("host {:?}", case.plan.form),
        (_, true) => "switch".to_owned(),
        _ => "unknown device".to_owned(),
    };
    let entry = list.entry(format!("{} at {kind}", finding.rule.id)).or_insert_with(|| {
        let ports: Vec<&str> = finding.ports.iter().take(3).map(|port| port.as_str()).collect();
        let (seed, device, message) = (case.plan.seed, &finding.device, &finding.message);
        (0, format!("seed {seed}, at {mistake}: {device} {ports:?} {message}"))
    });
    entry.0 += 1;
}

/// At the faulty device and port with an acceptable rule, or at the other end of its cable with a rule
/// about cables.
pub(crate) fn is_right(case: &Case, mistake: &Mistake, finding: &Finding) -> bool {
    // What differs from other devices without a fabric file differs from the file with it.
    let rule = match finding.rule.id {
        "intent-drift" => "fleet-drift",
        rule => rule,
    };
    let acceptable = mistake.rules.contains(&rule);
    if finding.device == mistake.device {
        let names = |port: &str| finding.ports.iter().any(|own| own.as_str() == port);
        let about = mistake.ports.is_empty() || finding.ports.is_empty();
        return acceptable && (about || mistake.ports.iter().any(|port| names(port)));
    }
    LINK_RULES.contains(&finding.rule.id) && peers(case, mistake).contains(&finding.device)
}

/// Devices at the other ends of the cables that a mistake is about.
fn peers(case: &Case, mistake: &Mistake) -> Vec<String> {
    let about = |name: &str| mistake.ports.is_empty() || mistake.ports.iter().any(|p| p == name);
    let switches = case.plan.switches.iter().filter(|switch| switch.name == mistake.device);
    let ports = switches.flat_map(|switch| &switch.ports).filter(|port| about(&port.name));
    let servers = case.plan.servers.iter().filter(|server| server.name == mistake.device);
    let nics = servers.flat_map(|server| &server.nics).filter(|nic| about(&nic.device));
    ports.map(|port| port.peer.clone()).chain(nics.map(|nic| nic.leaf.clone())).collect()
}
