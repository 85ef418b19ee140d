//! An example of Alertmanager's configuration: who is notified, what is grouped, and which alerts only follow from others.

/// What an alert makes needless: its name, the names it silences, and the labels that must agree.
const INHIBITIONS: [(&str, &str, &str); 7] = [
    // Its neighbours' ports, then its own.
    ("XoffSwitchDown", "XoffLinkDown|XoffLinkFlaps|XoffSeriesMissing", "fabric, peer"),
    ("XoffSwitchDown", "XoffLinkDown|XoffLinkFlaps|XoffSeriesMissing", "fabric, device"),
    // What is lost on the way times out at its ends.
    ("XoffSwitchDown|XoffBlackHole|XoffPauseStorm", "XoffTimeouts", "fabric"),
    ("XoffLinkFlaps", "XoffLinkDown", "fabric, device, port"),
    ("XoffWatchdog", "XoffPauseStorm", "fabric, device, port"),
    ("XoffPauseStorm", "XoffNicPauses", "fabric"),
    // What is not counted fires nothing that means anything.
    ("XoffNoData", "XoffSeriesMissing", "fabric"),
];

/// An `alertmanager.yml`: critical alerts page, warnings are tickets, one notification for all that a device has. The addresses
/// in it are to be replaced.
pub fn route() -> String {
    let mut text = String::from(
        "# An example for Alertmanager: replace the addresses of the receivers.\n\
         route:\n\
         \x20 receiver: tickets\n\
         \x20 group_by: [fabric, device]\n\
         \x20 group_wait: 30s\n\
         \x20 group_interval: 5m\n\
         \x20 repeat_interval: 12h\n\
         \x20 routes:\n\
         \x20 - receiver: pager\n\
         \x20   matchers: [severity = critical]\n\
         \x20   group_wait: 10s\n\
         \x20   repeat_interval: 1h\n\
         \x20   routes:\n\
         \x20   - receiver: pager-hosts\n\
         \x20     matchers: [owner = hosts]\n\
         \x20 - receiver: tickets-hosts\n\
         \x20   matchers: [owner = hosts]\n\
         inhibit_rules:\n",
    );
    for (source, target, equal) in INHIBITIONS {
        text.push_str(&format!(
            "- source_matchers: ['alertname =~ \"{source}\"']\n  target_matchers: ['alertname =~ \"{target}\"']\n  equal: \
             [{equal}]\n"
        ));
    }
    text.push_str("receivers:\n");
    for (name, path) in [
        ("pager", "page/network"),
        ("pager-hosts", "page/hosts"),
        ("tickets", "ticket/network"),
        ("tickets-hosts", "ticket/hosts"),
    ] {
        text.push_str(&format!(
            "- name: {name}\n  webhook_configs:\n  - url: http://127.0.0.1:9095/{path}\n    send_resolved: true\n"
        ));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::alerts::tests::fabric;

    /// Inhibitions name alerts that there are, and labels that both have.
    #[test]
    fn inhibitions_are_about_alerts_that_there_are() {
        let all = crate::alerts::alerts(&fabric(), "pod");
        for (source, target, equal) in INHIBITIONS {
            for name in source.split('|').chain(target.split('|')) {
                let alert = all.iter().find(|alert| alert.name == name);
                let labels = alert.unwrap_or_else(|| panic!("{name}")).scope.labels();
                for label in equal.split(", ") {
                    // A missing label is an empty one at both ends: a rule by `peer` leaves alerts without one alone.
                    let is_there = labels.contains(&label) || name == "XoffSeriesMissing";
                    assert!(is_there, "{name} has no label {label}");
                }
            }
        }
    }
}
