//! Variables and panels of a dashboard.

use serde_json::{Value, json};

/// Panels are this many columns of Grafana's 24 wide, and this high.
const WIDE: usize = 12;
const HIGH: usize = 8;

/// A variable whose values come from the labels of a series.
#[derive(Debug, Clone)]
pub(super) struct Variable {
    /// The label, and its own name.
    pub(super) name: &'static str,
    pub(super) title: &'static str,
    /// The series.
    pub(super) series: &'static str,
    /// Whether several values may be chosen; all are then, at first.
    pub(super) several: bool,
}

impl Variable {
    pub(super) fn json(&self) -> Value {
        let query = format!("label_values({}, {})", self.series, self.name);
        let mut value = json!({
            "type": "query", "name": self.name, "label": self.title,
            "datasource": { "type": "prometheus", "uid": "${datasource}" },
            "query": { "query": query, "refId": self.name }, "definition": query,
            "refresh": 2, "sort": 1, "hide": 0,
            "includeAll": self.several, "multi": self.several,
        });
        if self.several {
            value["allValue"] = json!(".*");
            value["current"] = json!({ "selected": true, "text": ["All"], "value": ["$__all"] });
        }
        value
    }
}

/// What a panel shows.
#[derive(Debug, Clone)]
pub(super) struct Query {
    pub(super) expression: String,
    /// What each line is called, like `{{port}}`.
    pub(super) legend: &'static str,
}

/// A panel.
#[derive(Debug, Clone)]
pub(super) struct Panel {
    pub(super) title: &'static str,
    pub(super) description: &'static str,
    /// A unit of Grafana, like `percentunit`.
    pub(super) unit: &'static str,
    pub(super) queries: Vec<Query>,
}

impl Panel {
    /// With its number in its dashboard, which is where it stands, too.
    pub(super) fn json(&self, at: usize) -> Value {
        let source = json!({ "type": "prometheus", "uid": "${datasource}" });
        let letters = ["A", "B", "C", "D"];
        let target = |(query, letter): (&Query, &str)| {
            json!({
                "refId": letter, "expr": query.expression, "legendFormat": query.legend,
                "datasource": source, "editorMode": "code", "range": true,
            })
        };
        let targets: Vec<Value> = self.queries.iter().zip(letters).map(target).collect();
        json!({
            "id": at + 1,
            "type": "timeseries",
            "title": self.title,
            "description": self.description,
            "datasource": source,
            "gridPos": { "x": at % 2 * WIDE, "y": at / 2 * HIGH, "w": WIDE, "h": HIGH },
            "targets": targets,
            "fieldConfig": {
                "defaults": { "unit": self.unit, "min": 0, "custom": { "drawStyle": "line", "fillOpacity": 5 } },
                "overrides": [],
            },
            "options": {
                "legend": { "displayMode": "table", "placement": "bottom", "calcs": ["lastNotNull", "max"] },
                "tooltip": { "mode": "multi", "sort": "desc" },
            },
        })
    }
}
