//! What a whole fleet has alike and is wrong all the same.

use crate::common;
use crate::pod::{Pod, Texts};
use xoff_config::SystemId;
use xoff_config::audit::Report;

/// A pod with a text replaced wherever it stands, or with the lines that have it taken out.
fn everywhere(pod: &Pod, edits: &[(&str, Option<&str>)]) -> Report {
    let mut texts: Texts = pod.clean.clone();
    for (from, to) in edits {
        assert!(texts.values().any(|text| text.contains(from)), "{from}");
        for text in texts.values_mut() {
            *text = match to {
                Some(to) => text.replace(from, to),
                None => {
                    let kept = text.lines().filter(|line| !line.contains(from));
                    kept.fold(String::new(), |all, line| all + line + "\n")
                }
            };
        }
    }
    pod.audit(&texts, false)
}

/// The only rule that findings are of, with the devices.
fn only_rule(report: &Report) -> (&str, Vec<&str>) {
    let rule = report.findings.first().map_or("", |finding| finding.rule.id);
    assert!(report.findings.iter().all(|f| f.rule.id == rule), "{:#?}", report.findings);
    let mut devices: Vec<&str> = report.findings.iter().map(|f| f.device.as_str()).collect();
    devices.dedup();
    (rule, devices)
}

/// All hosts alike do what no switch serves: their majority is no reference.
#[test]
fn hosts_that_no_switch_serves() {
    let hosts = ["server0", "server1", "server2", "server3"];
    for system in [SystemId::Eos, SystemId::Sonic, SystemId::Junos] {
        let pod = Pod::of(system);
        let cnp = everywhere(&pod, &[("cnp_dscp:48", Some("cnp_dscp:4"))]);
        assert_eq!(only_rule(&cnp), ("nic-cnp-dscp", hosts.to_vec()), "{system}");
        let pfc =
            everywhere(&pod, &[("enabled     0   0   0   1", Some("enabled     0   0   0   0"))]);
        assert_eq!(only_rule(&pfc), ("pfc-missing", hosts.to_vec()), "{system}");
        // Jobs may say what NICs do not: it is a warning where nothing shows what they are told, and none where they do.
        let unmarked = [("Global tclass=106", Some("Global tclass=0")), ("cma_roce_tos", None)];
        let told = everywhere(&pod, &unmarked);
        assert_eq!(told.findings, [], "{system}");
        let mut texts = pod.clean.clone();
        for (name, text) in &mut texts {
            if name.starts_with("server") {
                let sysfs = text.lines().filter(|line| line.starts_with("/sys/"));
                *text = sysfs.fold(String::new(), |all, line| all + line + "\n");
                *text = text.replace("Global tclass=106", "Global tclass=0");
            }
        }
        let untold = pod.audit(&texts, false);
        assert_eq!(only_rule(&untold), ("nic-data-dscp", hosts.to_vec()), "{system}");
        assert!(!untold.has_errors());
    }
}

/// Switches that go by VLAN priority, and hosts that go by DSCP.
#[test]
fn switches_that_hosts_do_not_mean() {
    let pod = Pod::of(SystemId::Eos);
    let report = everywhere(&pod, &[("   qos trust dscp", Some("   qos trust cos"))]);
    assert_eq!(only_rule(&report), ("trust", vec!["leaf0", "leaf1", "spine0", "spine1"]));
    // Pauses without marks are a way to run a fabric.
    let report = everywhere(&pod, &[("random-detect ecn", None)]);
    assert_eq!(report.findings, []);
    assert!(report.notes.iter().any(|note| note.contains("no switch marks")), "{:?}", report.notes);
    assert!(pod.audit(&pod.clean, false).notes.is_empty());
}

/// Thresholds that no queue reaches, however many ports send into it, on every switch: there is no majority to be held
/// against, and it is found without a fabric file. SONiC says how large its buffer is; of the others it is no larger than any.
#[test]
fn marks_that_no_queue_reaches() {
    let far = [
        (
            SystemId::Eos,
            [
                ("minimum-threshold 800 kbytes", "minimum-threshold 4000 mbytes"),
                ("minimum-threshold 400 kbytes", "minimum-threshold 4000 mbytes"),
                ("maximum-threshold 3200 kbytes", "maximum-threshold 6000 mbytes"),
                ("maximum-threshold 1600 kbytes", "maximum-threshold 6000 mbytes"),
            ],
        ),
        (
            SystemId::Sonic,
            [
                ("min_threshold\": \"800000", "min_threshold\": \"400000000"),
                ("min_threshold\": \"400000\"", "min_threshold\": \"400000000\""),
                ("max_threshold\": \"3200000", "max_threshold\": \"600000000"),
                ("max_threshold\": \"1600000", "max_threshold\": \"600000000"),
            ],
        ),
        (
            SystemId::Cumulus,
            [
                ("min-threshold 800000", "min-threshold 400000000"),
                ("min-threshold 400000\n", "min-threshold 400000000\n"),
                ("max-threshold 3200000", "max-threshold 600000000"),
                ("max-threshold 1600000", "max-threshold 600000000"),
            ],
        ),
        (
            SystemId::CumulusYaml,
            [
                ("min-threshold: 800000", "min-threshold: 400000000"),
                ("min-threshold: 400000\n", "min-threshold: 400000000\n"),
                ("max-threshold: 3200000", "max-threshold: 600000000"),
                ("max-threshold: 1600000", "max-threshold: 600000000"),
            ],
        ),
    ];
    for (system, edits) in far {
        let pod = Pod::of(system);
        let mut texts = pod.clean.clone();
        for (from, to) in edits {
            assert!(texts.values().any(|text| text.contains(from)), "{system}: {from}");
            texts.values_mut().for_each(|text| *text = text.replace(from, to));
        }
        for with_fabric in [false, true] {
            let report = pod.audit(&texts, with_fabric);
            let found = |f: &&xoff_config::audit::Finding| f.rule.id == "ecn-above-xoff";
            let devices: Vec<&str> =
                report.findings.iter().filter(found).map(|f| f.device.as_str()).collect();
            let all = ["leaf0", "leaf1", "spine0", "spine1"];
            assert_eq!(devices, all, "{system}, {with_fabric}: {:#?}", report.findings);
            assert!(
                with_fabric || report.findings.iter().all(|f| found(&f)),
                "{:#?}",
                report.findings
            );
        }
    }
}

/// One leaf that pauses where nobody else does: it is the leaf that is wrong, not all that it has cables to.
#[test]
fn one_that_pauses_alone() {
    let file = common::POD.replace("leaves = 2", "leaves = 4").replace("gpus = 8", "gpus = 16");
    let pod = Pod::from(&format!("{file}[pfc]\nenabled = false\n"), SystemId::Cumulus);
    let mut texts = pod.clean.clone();
    let leaf = texts.get_mut("leaf1.cfg").expect("a leaf");
    let ports: Vec<&str> =
        leaf.lines().filter_map(|line| line.strip_suffix(" link mtu 9216")).collect();
    let pfc = ports.iter().map(|port| format!("{port} qos pfc profile P\n"));
    let own = format!("nv set qos pfc P switch-priority 3\n{}", pfc.collect::<String>());
    *leaf = leaf.replacen("nv set qos", &format!("{own}nv set qos"), 1);
    let report = pod.audit(&texts, false);
    let errors = report.findings.iter().filter(|f| f.device != "leaf1");
    assert_eq!(errors.count(), 0, "{:#?}", report.findings);
    assert!(report.findings.iter().any(|f| f.rule.id == "pfc-extra"), "{:#?}", report.findings);
}
