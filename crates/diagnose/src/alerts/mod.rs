//! Alerts for a fabric: what Prometheus is to watch for, with thresholds from the fabric file, and all that belongs to it.
//!
//! An [`Alert`] is about a [`Cause`], the same that [`fabric::diagnose`](crate::fabric::diagnose) gives: an alert says that something
//! is wrong, the diagnosis what and where. From the same list come the [rule file](rules) of Prometheus with the
//! [recording rules](recorded) that alerts and dashboards share, the [page](runbook) of each alert, [tests](unit) for promtool,
//! the [route](route) of Alertmanager and the [dashboards](dashboard) of Grafana.
//!
//! What it is not: it runs nothing. Faults that fire the alerts are simulated elsewhere (`xoff_validate::drill`).

pub mod dashboard;
mod file;
mod record;
mod route;
mod rule;
mod runbook;
mod select;
pub mod unit;

pub use file::{Links, rules};
pub use record::{Record, recorded};
pub use route::route;
pub use runbook::runbook;

use crate::fabric::Cause;
use select::Select;
use xoff_fabric::model::Fabric;

/// Seconds from one scrape to the next that times of alerts are stated for, and from one evaluation of rules to the next.
pub const INTERVAL: u32 = 15;

/// How urgent an alert is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Severity {
    /// A job stops or fails: on-call is paged.
    Critical,
    /// Training is slower, or the next fault is not survived: this working day.
    Warning,
}

impl Severity {
    /// The value of the label.
    pub const fn word(self) -> &'static str {
        match self {
            Severity::Critical => "critical",
            Severity::Warning => "warning",
        }
    }
}

/// What an alert is about: which labels it has beside `severity` and `owner`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// A port.
    Port,
    /// All cables between two devices, as the sending one has them.
    Link,
    /// A device.
    Device,
    /// A device as its neighbours see it: `peer` and `device` both are its name.
    Neighbour,
    /// A job.
    Job,
    /// The whole fabric.
    Fabric,
}

impl Scope {
    /// The labels.
    pub const fn labels(self) -> &'static [&'static str] {
        match self {
            Scope::Port => &["fabric", "device", "port", "peer"],
            Scope::Link | Scope::Neighbour => &["fabric", "device", "peer"],
            Scope::Device => &["fabric", "device"],
            Scope::Job => &["fabric", "job_name"],
            Scope::Fabric => &["fabric"],
        }
    }
}

/// One alert.
#[derive(Debug, Clone)]
pub struct Alert {
    /// Its name in Prometheus.
    pub name: &'static str,
    /// What it is about.
    pub cause: Cause,
    /// Which labels it has.
    pub scope: Scope,
    /// How urgent it is.
    pub severity: Severity,
    /// Its expression holds no later than this many seconds after its fault began: how far back it looks, or less where the first
    /// event suffices.
    pub window: u32,
    /// How long it must hold, in seconds.
    pub hold: u32,
    /// When it fires, in PromQL.
    pub expression: String,
    /// Where its threshold comes from.
    pub threshold: String,
    /// One line about one place, with labels as `{{ $labels.port }}`.
    pub summary: &'static str,
    /// What it means.
    pub meaning: &'static str,
    /// What to look at.
    pub look: &'static str,
    /// What to do.
    pub cure: &'static str,
    /// Who mends it.
    pub owner: &'static str,
}

impl Alert {
    /// It fires no later than this many seconds after its fault began: the window, the time it must hold, a scrape and an evaluation.
    pub fn stated(&self) -> u32 {
        self.window + self.hold + 2 * INTERVAL
    }
}

/// The alerts of a fabric whose series call it `name`.
pub fn alerts(fabric: &Fabric, name: &str) -> Vec<Alert> {
    let select = Select::new(fabric, name);
    let mut all = rule::links::alerts(fabric, &select);
    all.extend(rule::pauses::alerts(&select));
    all.extend(rule::congestion::alerts(fabric, &select));
    all.extend(rule::hosts::alerts(fabric, &select));
    all.extend(rule::jobs::alerts(&select));
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    pub(crate) fn fabric() -> Fabric {
        let text = "[cluster]\ngpus = 64\nnic = 'connectx-7'\n[fabric]\nkind = 'rail'\nleaf = 'tomahawk-5'\n";
        xoff_fabric::load_fabric(text).into_result().expect("a fabric").fabric
    }

    #[test]
    fn every_alert_has_a_name_of_its_own_and_a_whole_page() {
        let all = alerts(&fabric(), "pod");
        let names: BTreeSet<&str> = all.iter().map(|alert| alert.name).collect();
        assert_eq!(names.len(), all.len());
        assert!(all.len() >= 20, "{}", all.len());
        for alert in &all {
            let texts = [alert.summary, alert.meaning, alert.look, alert.cure, alert.owner];
            for part in texts.into_iter().chain([alert.threshold.as_str()]) {
                assert!(!part.is_empty(), "{}", alert.name);
            }
            assert!(alert.expression.contains("fabric=\"pod\""), "{}", alert.expression);
            let page = runbook(alert);
            assert!(page.contains(&alert.expression) && page.contains(alert.cure));
        }
    }

    /// Summaries name labels that the alert has.
    #[test]
    fn summaries_use_the_labels_of_their_alert() {
        for alert in alerts(&fabric(), "pod") {
            let parts: Vec<&str> = alert.summary.split("$labels.").skip(1).collect();
            let is_plain = |c: char| c.is_ascii_lowercase() || c == '_';
            for part in &parts {
                let label = part.split(|c: char| !is_plain(c)).next().unwrap_or_default();
                assert!(alert.scope.labels().contains(&label), "{}: {label}", alert.name);
            }
            assert!(!parts.is_empty(), "{} names no place", alert.name);
        }
    }

    /// Thresholds are those of the file.
    #[test]
    fn thresholds_come_from_the_fabric() {
        let slow = |fabric: &Fabric| {
            let all = alerts(fabric, "pod");
            let alert = all.into_iter().find(|alert| alert.name == "XoffSlowLink");
            alert.expect("an alert").expression
        };
        assert!(slow(&fabric()).contains("tier=\"nic\"} < 400000000000"), "{}", slow(&fabric()));
        let slower = "[cluster]\nhosts = 8\nnic = 'generic-100g'\n[fabric]\nkind = 'single'\n";
        let slower = xoff_fabric::load_fabric(slower).into_result().expect("a fabric").fabric;
        assert!(slow(&slower).contains("tier=\"nic\"} < 100000000000"), "{}", slow(&slower));
        assert!(!slow(&slower).contains("spine"), "a tier that is not there");
        let uneven = |alert: &Alert| alert.name == "XoffUnevenLinks";
        assert!(!alerts(&slower, "pod").iter().any(uneven), "one switch has no links up");
    }

    /// A fabric without congestion notifications is not alerted to their absence.
    #[test]
    fn what_a_fabric_does_without_is_not_missed() {
        let text = "[cluster]\nhosts = 8\nnic = 'generic-100g'\n[fabric]\nkind = 'single'\n[ecn]\nenabled = false\n\
                    [transport]\ncongestion = { kind = 'none' }\n";
        let bare = xoff_fabric::load_fabric(text).into_result().expect("a fabric").fabric;
        let names: Vec<&str> = alerts(&bare, "pod").iter().map(|alert| alert.name).collect();
        for absent in ["XoffMarksMissing", "XoffMarksEarly", "XoffNotificationsIgnored"] {
            assert!(!names.contains(&absent), "{names:?}");
        }
    }

    #[test]
    fn a_name_cannot_leave_its_quotes() {
        let all = alerts(&fabric(), "a\"} or up{x=\"");
        assert!(
            all.iter().all(|alert| alert.expression.contains("fabric=\"a\\\"} or up{x=\\\"\""))
        );
        let links = Links { runbooks: "https://example.org/".into(), dashboards: None };
        let text = rules(&all, &recorded(&fabric(), "pod"), &links);
        assert!(text.contains("runbook_url: \"https://example.org/XoffLinkDown.md\""), "{text}");
    }
}
