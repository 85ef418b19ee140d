//! The rule file of Prometheus.

use super::select::quoted;
use super::{Alert, Record};
use crate::alerts::dashboard;
use std::collections::BTreeMap;
use std::fmt::Write;

/// Where the pages of alerts and the dashboards are found.
#[derive(Debug, Clone)]
pub struct Links {
    /// The address under which the pages of alerts are.
    pub runbooks: String,
    /// The address of Grafana, if alerts are to link to its dashboards.
    pub dashboards: Option<String>,
}

impl Links {
    /// The annotations of an alert, with labels as `{{ $labels.port }}`.
    pub(super) fn annotations(&self, alert: &Alert) -> BTreeMap<&'static str, String> {
        let page = format!("{}/{}.md", self.runbooks.trim_end_matches('/'), alert.name);
        let mut all = BTreeMap::from([
            ("summary", alert.summary.to_owned()),
            ("description", alert.meaning.to_owned()),
            ("runbook_url", page),
        ]);
        if let Some(base) = &self.dashboards {
            all.insert("dashboard_url", dashboard::link(base, alert));
        }
        all
    }
}

/// A rule file of Prometheus: one group, in which what is recorded comes before the alerts that use it.
pub fn rules(alerts: &[Alert], records: &[Record], links: &Links) -> String {
    // Writing to a string cannot fail.
    let mut text = String::from("groups:\n- name: xoff\n  rules:\n");
    for record in records {
        let _ = writeln!(text, "  # {}", record.meaning);
        let expression = quoted(&record.expression);
        let _ = writeln!(text, "  - record: {}\n    expr: {expression}", record.name);
    }
    for alert in alerts {
        let _ =
            writeln!(text, "  - alert: {}\n    expr: {}", alert.name, quoted(&alert.expression));
        if alert.hold > 0 {
            let _ = writeln!(text, "    for: {}s", alert.hold);
        }
        let (severity, owner) = (alert.severity.word(), alert.owner);
        let _ = writeln!(text, "    labels:\n      severity: {severity}\n      owner: {owner}");
        text.push_str("    annotations:\n");
        for (name, value) in links.annotations(alert) {
            let _ = writeln!(text, "      {name}: {}", quoted(&value));
        }
    }
    text
}
