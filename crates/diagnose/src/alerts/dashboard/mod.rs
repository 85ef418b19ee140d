//! Dashboards of Grafana, in its classic model: fleet, fabric, rail, port, host, job.
//!
//! They use the series of `docs/metrics.md` and those that the [rule file](super::rules) records. Every query takes its data
//! source and its places from variables, so that the same dashboards serve every fabric and every store.

mod pages;
mod panel;

use super::{Alert, Scope};
use panel::{Panel, Variable};
use serde_json::{Value, json};

/// A dashboard.
#[derive(Debug, Clone)]
pub struct Dashboard {
    /// Its file and the end of its uid.
    pub name: &'static str,
    title: &'static str,
    description: &'static str,
    variables: Vec<Variable>,
    panels: Vec<Panel>,
}

/// All dashboards.
pub fn dashboards() -> Vec<Dashboard> {
    pages::all()
}

/// Where the dashboard of an alert's place is, with labels as `{{ $labels.port | urlquery }}`.
pub(super) fn link(base: &str, alert: &Alert) -> String {
    let (name, labels): (&str, &[&str]) = match alert.scope {
        Scope::Port => ("port", &["device", "port"]),
        Scope::Link | Scope::Device | Scope::Neighbour => ("port", &["device"]),
        Scope::Job => ("job", &["job_name"]),
        Scope::Fabric => ("fabric", &[]),
    };
    let base = base.trim_end_matches('/');
    let mut url = format!("{base}/d/{}?var-fabric={{{{ $labels.fabric | urlquery }}}}", uid(name));
    for label in labels {
        url.push_str(&format!("&var-{label}={{{{ $labels.{label} | urlquery }}}}"));
    }
    url
}

fn uid(name: &str) -> String {
    format!("xoff-{name}")
}

impl Dashboard {
    /// As Grafana imports it.
    pub fn json(&self) -> Value {
        let mut list = vec![json!({
            "type": "datasource", "name": "datasource", "label": "Data source", "query": "prometheus",
            "hide": 0, "includeAll": false, "multi": false, "refresh": 1,
        })];
        list.extend(self.variables.iter().map(Variable::json));
        let panels: Vec<Value> =
            self.panels.iter().zip(0..).map(|(panel, at)| panel.json(at)).collect();
        json!({
            "uid": uid(self.name),
            "title": format!("xoff / {}", self.title),
            "description": self.description,
            "tags": ["xoff", "roce"],
            "schemaVersion": 36,
            "version": 1,
            "editable": false,
            "graphTooltip": 1,
            "refresh": "1m",
            "timezone": "browser",
            "time": { "from": "now-1h", "to": "now" },
            "templating": { "list": list },
            "annotations": { "list": [] },
            "links": [{
                "type": "dashboards", "tags": ["xoff"], "title": "xoff", "asDropdown": true,
                "includeVars": true, "keepTime": true,
            }],
            "panels": panels,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// What Grafana's own linter asks for, as far as it can be seen without Grafana.
    #[test]
    fn dashboards_keep_the_rules() {
        let all = dashboards();
        let uids: BTreeSet<String> = all.iter().map(|board| uid(board.name)).collect();
        let expected =
            ["xoff-fabric", "xoff-fleet", "xoff-host", "xoff-job", "xoff-port", "xoff-rail"];
        assert!(uids.iter().eq(expected), "{uids:?}");
        for board in &all {
            let value = board.json();
            assert_eq!(value["editable"], false);
            assert_eq!(value["templating"]["list"][0]["type"], "datasource");
            let panels = value["panels"].as_array().expect("panels");
            let ids: BTreeSet<u64> =
                panels.iter().filter_map(|panel| panel["id"].as_u64()).collect();
            assert_eq!(ids.len(), panels.len(), "{}: ids", board.name);
            let mut cells = BTreeSet::new();
            for panel in panels {
                let title = panel["title"].as_str().expect("a title");
                assert!(
                    !title.is_empty() && !panel["description"].as_str().unwrap_or("").is_empty()
                );
                assert_eq!(panel["datasource"]["uid"], "${datasource}", "{title}");
                let unit = panel["fieldConfig"]["defaults"]["unit"].as_str();
                assert!(unit.is_some_and(|unit| !unit.is_empty()), "{title}");
                let side = |name: &str| panel["gridPos"][name].as_u64().expect("a place");
                assert!(side("x") + side("w") <= 24, "{title} is beyond the right edge");
                for x in side("x")..side("x") + side("w") {
                    for y in side("y")..side("y") + side("h") {
                        assert!(cells.insert((x, y)), "{}: {title} overlaps", board.name);
                    }
                }
                let targets = panel["targets"].as_array().expect("queries");
                assert!(!targets.is_empty(), "{title}");
                for target in targets {
                    let query = target["expr"].as_str().expect("a query");
                    assert_eq!(target["datasource"]["uid"], "${datasource}", "{title}");
                    assert!(query.contains("$fabric") || board.name == "fleet", "{query}");
                    let is_rate = query.contains("rate(") || query.contains("increase(");
                    assert_eq!(is_rate, query.contains("$__rate_interval"), "{query}");
                }
            }
        }
    }

    /// Every variable of a query is one of its dashboard.
    #[test]
    fn queries_use_variables_that_there_are() {
        for board in dashboards() {
            let names: Vec<&str> = board.variables.iter().map(|variable| variable.name).collect();
            for query in board.panels.iter().flat_map(|panel| &panel.queries) {
                for part in query.expression.split('$').skip(1) {
                    let is_plain = |c: char| c.is_ascii_lowercase() || c == '_';
                    let name = part.split(|c: char| !is_plain(c)).next().unwrap_or_default();
                    let is_known = names.contains(&name) || name == "__rate_interval";
                    assert!(is_known, "{}: {name} in {}", board.name, query.expression);
                }
            }
        }
    }
}
