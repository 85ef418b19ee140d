//! `xoff alerts`: its rules fire for the faults that they are about, in promtool and in a real Prometheus.

use super::store::{Prometheus, amtool, promtool};
use super::{code, example, output, stderr, stdout};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

/// A small fabric with rails.
const RAILS: &str = "[cluster]\ngpus = 32\ngpus-per-server = 4\nnic = 'generic-100g'\n[fabric]\nkind = 'rail'\n\
                     leaf = 'trident-4'\nspines = 4\n[links.leaf-spine]\nrate = '200Gbps'\n";
/// One with leaves and spines, and one with a single switch.
const LEAVES: &str = "[cluster]\nhosts = 24\nnic = 'generic-100g'\n[fabric]\nkind = 'leaf-spine'\nleaf = 'trident-4'\n\
                      leaves = 3\nspines = 4\n[links.leaf-spine]\nrate = '200Gbps'\n";
const SINGLE: &str = "[cluster]\nhosts = 8\nnic = 'generic-100g'\n[fabric]\nkind = 'single'\n";

/// The faults, and the alert that each fires.
const DRILLS: [(&str, &str); 23] = [
    ("switch-down", "XoffSwitchDown"),
    ("link-down", "XoffLinkDown"),
    ("link-flaps", "XoffLinkFlaps"),
    ("bad-optic", "XoffDamagedPackets"),
    ("black-hole", "XoffBlackHole"),
    ("slow-link", "XoffSlowLink"),
    ("pause-storm", "XoffPauseStorm"),
    ("watchdog", "XoffWatchdog"),
    ("slow-receiver", "XoffNicPauses"),
    ("pfc-off", "XoffLosslessDrops"),
    ("headroom-too-small", "XoffLosslessDrops"),
    ("ecn-off", "XoffMarksMissing"),
    ("ecn-too-early", "XoffMarksEarly"),
    ("congestion-control-off", "XoffNotificationsIgnored"),
    ("notification-off", "XoffNotificationsMissing"),
    ("wrong-class", "XoffWrongClass"),
    ("incast", "XoffIncast"),
    ("routes", "XoffUnevenLinks"),
    ("timeouts", "XoffTimeouts"),
    ("queue-pair-errors", "XoffQueuePairErrors"),
    ("straggler", "XoffTrainingDegraded"),
    ("device-silent", "XoffSeriesMissing"),
    ("all-silent", "XoffNoData"),
];

fn names(rules: &str) -> BTreeSet<&str> {
    rules.lines().filter_map(|line| line.strip_prefix("  - alert: ")).collect()
}

#[test]
fn rules_are_what_promtool_takes() {
    let folder = tempfile::tempdir().unwrap();
    let plan = example("pod-256.toml");
    let out = output(folder.path(), &["alerts", &plan, "--out", "a", "--runbooks", "https://w/x"]);
    assert_eq!(code(&out), Some(0), "{}", stderr(&out));
    let pages = std::fs::read_dir(folder.path().join("a/runbooks")).unwrap().count();
    let text = std::fs::read_to_string(folder.path().join("a/rules.yml")).unwrap();
    assert_eq!(text.matches("- alert: ").count(), pages);
    assert!(text.contains("https://w/x/XoffPauseStorm.md"));
    // The same again changes nothing; other rules are not overwritten.
    let again =
        output(folder.path(), &["alerts", &plan, "--out", "a", "--runbooks", "https://w/x"]);
    assert_eq!(code(&again), Some(0), "{}", stderr(&again));
    let other = output(folder.path(), &["alerts", &plan, "--out", "a"]);
    assert_eq!(code(&other), Some(3), "{}", stderr(&other));
    let links = ["alerts", &plan, "--dashboards", "https://g"];
    let linked = output(folder.path(), &links);
    assert!(stdout(&linked).contains("dashboard_url: \"https://g/d/xoff-port?var-fabric="));
    let file = folder.path().join("a/rules.yml");
    let checked = promtool(&["check", "rules", "--lint=all", "--lint-fatal"], &file);
    assert!(checked.is_none_or(|checked| checked.status.success()));
}

#[test]
fn the_route_is_what_alertmanager_takes() {
    let folder = tempfile::tempdir().unwrap();
    let out = output(folder.path(), &["alerts", &example("pod-256.toml"), "--out", "a"]);
    assert_eq!(code(&out), Some(0), "{}", stderr(&out));
    let file = folder.path().join("a/alertmanager.yml");
    let Some(checked) = amtool(&["check-config"], &file) else { return };
    assert!(checked.status.success(), "{}", stderr(&checked));
    for (labels, receiver) in [
        (["severity=critical", "owner=network"], "pager"),
        (["severity=critical", "owner=hosts"], "pager-hosts"),
        (["severity=warning", "owner=network"], "tickets"),
        (["severity=warning", "owner=hosts"], "tickets-hosts"),
    ] {
        let config = format!("--config.file={}", file.display());
        let routed =
            amtool(&["config", "routes", "test", &config, labels[0]], Path::new(labels[1]));
        assert_eq!(stdout(&routed.unwrap()).trim(), receiver, "{labels:?}");
    }
}

/// Tests of every rule that the fabric has, from faults on that fabric, pass; and fail if a rule is another one.
#[test]
fn tests_of_the_rules_pass_on_every_kind_of_fabric() {
    for (name, text) in [("leaves", LEAVES), ("single", SINGLE)] {
        let folder = tempfile::tempdir().unwrap();
        let plan = format!("{name}.toml");
        std::fs::write(folder.path().join(&plan), text).unwrap();
        let arguments = ["alerts", &plan, "--out", "a", "--tests", "--dashboards", "https://g/"];
        let out = output(folder.path(), &arguments);
        assert_eq!(code(&out), Some(0), "{}", stderr(&out));
        assert!(!stderr(&out).contains("is not tested"), "{}", stderr(&out));
        let rules = std::fs::read_to_string(folder.path().join("a/rules.yml")).unwrap();
        let path = folder.path().join("a/rules_test.yml");
        let tests = std::fs::read_to_string(&path).unwrap();
        for alert in names(&rules) {
            let fires = format!("    alertname: {alert}\n    exp_alerts:\n");
            assert!(tests.contains(&fires), "{name}: no test fires {alert}");
        }
        let Some(ran) = promtool(&["test", "rules"], &path) else { continue };
        assert!(ran.status.success(), "{name}: {}{}", stdout(&ran), stderr(&ran));
        if name == "leaves" {
            check_times(&times(folder.path(), &tests));
        }
        for (here, other) in [("> 0.8", "> 1.8"), ("== 0", "== 7"), (" < 100000000000", " < 1")] {
            let changed = rules.replace(here, other);
            assert_ne!(changed, rules, "{here}");
            std::fs::write(folder.path().join("a/rules.yml"), changed).unwrap();
            let ran = promtool(&["test", "rules"], &path).unwrap();
            assert!(!ran.status.success(), "{name}: tests pass with {other} for {here}");
        }
    }
}

/// Sites that are further apart than a drill's timeouts last.
#[test]
fn tests_of_the_rules_pass_between_sites() {
    let folder = tempfile::tempdir().unwrap();
    let plan = example("two-sites.toml");
    let out = output(folder.path(), &["alerts", &plan, "--out", "a", "--tests"]);
    assert_eq!(code(&out), Some(0), "{}", stderr(&out));
    let Some(ran) = promtool(&["test", "rules"], &folder.path().join("a/rules_test.yml")) else {
        return;
    };
    assert!(ran.status.success(), "{}{}", stdout(&ran), stderr(&ran));
}

/// How many seconds after the beginning of each fault its alert fired first, as promtool sees it: in the order of [`DRILLS`].
fn times(folder: &Path, tests: &str) -> Vec<u32> {
    let mut blocks = tests.split("\n- name: ");
    let mut text = blocks.next().unwrap().to_owned();
    for block in blocks {
        text.push_str(&format!("\n- name: {}\n", block.trim_end()));
        let drill = block.trim_start_matches('"').split(':').next().unwrap();
        let Some((_, alert)) = DRILLS.iter().find(|(name, _)| *name == drill) else { continue };
        let fired = format!("ALERTS{{alertname=\"{alert}\",alertstate=\"firing\"}}");
        // No sample is expected, so that promtool says what it got.
        text.push_str(&format!(
            "  promql_expr_test:\n  - expr: 'min(min_over_time(timestamp({fired})[1h:15s]))'\n    eval_time: 930s\n    \
             exp_samples: []\n"
        ));
    }
    let path = folder.join("a/times.yml");
    std::fs::write(&path, text).unwrap();
    let ran = promtool(&["test", "rules"], &path).unwrap();
    let all = [stdout(&ran), stderr(&ran)].concat();
    let got = all.lines().filter_map(|line| line.trim().strip_prefix("got: {} "));
    // Faults begin after six minutes.
    let times: Vec<u32> = got.map(|text| text.parse::<f64>().unwrap() as u32 - 360).collect();
    assert_eq!(times.len(), DRILLS.len(), "{all}");
    times
}

/// `docs/alerts.md` has these times; written there where tables are to be written.
fn check_times(times: &[u32]) {
    let mut table = String::from("| fault | alert | fired after |\n| --- | --- | --- |\n");
    for ((drill, alert), time) in DRILLS.iter().zip(times) {
        table.push_str(&format!("| `{drill}` | `{alert}` | {time} s |\n"));
    }
    let path = super::repository("docs/alerts.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let (from, to) = ("<!-- times -->\n", "<!-- end of times -->");
    let (begin, end) = (page.find(from).unwrap() + from.len(), page.find(to).unwrap());
    if std::env::var_os("XOFF_WRITE_TABLES").is_some() {
        let page = format!("{}{table}{}", &page[..begin], &page[end..]);
        return std::fs::write(&path, page).unwrap();
    }
    assert!(
        page[begin..end] == table,
        "docs/alerts.md has other times; XOFF_WRITE_TABLES=1 writes them anew:\n{table}"
    );
}

/// Alerts that fire now: by fabric, their names.
fn firing(prometheus: &Prometheus) -> BTreeMap<String, BTreeSet<String>> {
    let mut all: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for alert in prometheus.api("/api/v1/alerts")["alerts"].as_array().unwrap() {
        let label = |name: &str| alert["labels"][name].as_str().unwrap_or_default().to_owned();
        if alert["state"] == "firing" {
            all.entry(label("fabric")).or_default().insert(label("alertname"));
        }
    }
    all
}

/// What else may fire beside an alert: what its fault brings about, and nothing that names another cause.
fn follows(drill: &str) -> &'static [&'static str] {
    match drill {
        "switch-down" => &["XoffLinkDown"],
        "all-silent" => &["XoffSeriesMissing"],
        "pause-storm" | "watchdog" => &["XoffNicPauses"],
        // A host that takes so little pauses its port nearly all the time.
        "slow-receiver" => &["XoffPauseStorm"],
        // These happen in an incast.
        "congestion-control-off" | "notification-off" => &["XoffIncast"],
        // These have no congestion control, so that queues overflow.
        "pfc-off" | "headroom-too-small" => &["XoffNotificationsIgnored"],
        // These are what a black hole brings about.
        "queue-pair-errors" | "timeouts" => {
            &["XoffBlackHole", "XoffTimeouts", "XoffQueuePairErrors", "XoffIncast"]
        }
        _ => &[],
    }
}

/// Every fault fires its alert in a Prometheus that evaluates the rules, and what is healthy fires none. With all this in the
/// store, every query of every dashboard has an answer.
#[test]
fn every_alert_fires_in_prometheus_and_every_panel_has_data() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("f.toml"), RAILS).unwrap();
    std::fs::create_dir(folder.path().join("rules")).unwrap();
    let rules = |plan: &str, name: &str| {
        let out = output(folder.path(), &["alerts", plan, "--name", name]);
        assert_eq!(code(&out), Some(0), "{}", stderr(&out));
        std::fs::write(folder.path().join(format!("rules/{name}.yml")), stdout(&out)).unwrap();
    };
    let healthy = [
        ("all-reduce.toml", "pod-256", "100us"),
        ("permutation.toml", "leaf-spine-64", "50us"),
        ("mixed-tcp.toml", "non-blocking-64", "50us"),
    ];
    rules("f.toml", "f-healthy");
    DRILLS.iter().for_each(|(drill, _)| rules("f.toml", &format!("f-{drill}")));
    healthy.iter().for_each(|(_, fabric, _)| rules(&example(&format!("{fabric}.toml")), fabric));
    let Some(prometheus) = Prometheus::start(folder.path()) else { return };
    let write = prometheus.url("/api/v1/write");
    for (scenario, fabric, period) in healthy {
        let scenario = example(scenario);
        let arguments = ["run", &scenario, "--counters", period, "--remote-write", &write];
        let run =
            output(folder.path(), &[&arguments[..], &["--no-report", "--out", fabric]].concat());
        assert!(stderr(&run).contains(&format!("fabric `{fabric}`")), "{}", stderr(&run));
    }
    let out = output(folder.path(), &["alerts", "f.toml", "--remote-write", &write]);
    assert_eq!(code(&out), Some(0), "{}", stderr(&out));
    let mut seen: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    // Alerts hold for two minutes at most, and rules are evaluated every five seconds.
    for _ in 0..32 {
        std::thread::sleep(Duration::from_secs(5));
        for (fabric, alerts) in firing(&prometheus) {
            seen.entry(fabric).or_default().extend(alerts);
        }
        let is_seen = |(drill, alert): &(&str, &str)| {
            seen.get(&format!("f-{drill}")).is_some_and(|fired| fired.contains(*alert))
        };
        if DRILLS.iter().all(is_seen) {
            break;
        }
    }
    for (fabric, alerts) in &seen {
        println!("{fabric}: {alerts:?}");
    }
    for (drill, alert) in DRILLS {
        let fired = seen.get(&format!("f-{drill}")).cloned().unwrap_or_default();
        assert!(fired.contains(alert), "{drill} did not fire {alert}: {fired:?}");
        for other in fired.iter().filter(|other| *other != alert) {
            assert!(follows(drill).contains(&other.as_str()), "{drill} fired {other}, too");
        }
    }
    let quiet = healthy.iter().map(|(_, fabric, _)| *fabric).chain(["f-healthy"]);
    quiet.for_each(|fabric| assert_eq!(seen.get(fabric), None, "{fabric}"));
    panels(folder.path(), &prometheus);
}

/// Every query of every panel, with its variables filled in, returns series.
fn panels(folder: &Path, prometheus: &Prometheus) {
    let out = output(folder, &["alerts", "f.toml", "--out", "d"]);
    assert_eq!(code(&out), Some(0), "{}", stderr(&out));
    let mut queries = 0;
    for file in std::fs::read_dir(folder.join("d/dashboards")).unwrap() {
        let path = file.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        let board: serde_json::Value = serde_json::from_str(&text).unwrap();
        for panel in board["panels"].as_array().unwrap() {
            for target in panel["targets"].as_array().unwrap() {
                let mut query = target["expr"].as_str().unwrap().to_owned();
                for (variable, value) in [("$fabric", "f-healthy"), ("$__rate_interval", "5m")] {
                    query = query.replace(variable, value);
                }
                for variable in ["$device", "$port", "$rail", "$host", "$job_name"] {
                    query = query.replace(variable, ".*");
                }
                assert!(!query.contains('$'), "{query}");
                let found = prometheus.now(&query);
                assert!(!found.is_empty(), "{}: {}: {query}", path.display(), panel["title"]);
                queries += 1;
            }
        }
    }
    println!("{queries} queries");
    assert!(queries > 30, "{queries}");
}

#[test]
fn what_cannot_be_drilled_is_said() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("s.toml"), SINGLE).unwrap();
    let none =
        output(folder.path(), &["alerts", "s.toml", "--drill", "flood", "--tests", "--out", "a"]);
    assert_eq!(code(&none), Some(2));
    assert!(stderr(&none).contains("there are healthy, switch-down"), "{}", stderr(&none));
    // One switch has no links up.
    let up =
        output(folder.path(), &["alerts", "s.toml", "--drill", "routes", "--tests", "--out", "a"]);
    assert_eq!(code(&up), Some(2), "{}", stderr(&up));
    assert!(stderr(&up).contains("no place for the drill `routes`"), "{}", stderr(&up));
    let idle = output(folder.path(), &["alerts", "s.toml", "--drill", "incast"]);
    assert_eq!(code(&idle), Some(2));
    assert!(stderr(&idle).contains("--drill needs --tests or --remote-write"), "{}", stderr(&idle));
}
