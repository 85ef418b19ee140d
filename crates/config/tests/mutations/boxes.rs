//! Settings of whole boxes, strict queues and what comes before a profile.

use crate::pod::{Pod, Texts};
use xoff_config::SystemId;
use xoff_config::audit::Report;

/// The texts of a pod with all switches, and then one device, changed.
fn changed(
    pod: &Pod,
    all: impl Fn(&str) -> String,
    name: &str,
    one: impl Fn(&str) -> String,
) -> Texts {
    let mut texts = pod.clean.clone();
    for (device, text) in &mut texts {
        if device.starts_with("leaf") || device.starts_with("spine") {
            *text = all(text);
        }
        if device.split('.').next() == Some(name) {
            let new = one(text);
            assert_ne!(new, *text, "{device}");
            *text = new;
        }
    }
    texts
}

fn as_it_is(text: &str) -> String {
    text.to_owned()
}

/// Rules with their devices, each once.
fn rules(report: &Report) -> Vec<String> {
    let mut all: Vec<String> =
        report.findings.iter().map(|f| format!("{} {}", f.rule.id, f.device)).collect();
    all.dedup();
    all
}

#[test]
fn shares_of_a_buffer_are_held_against_other_devices() {
    let pod = Pod::of(SystemId::JunosSet);
    let share = |percent: u32| {
        format!(
            "set class-of-service shared-buffer ingress buffer-partition lossless-headroom percent {percent}\n"
        )
    };
    let all = |text: &str| text.to_owned() + &share(24);
    let texts = changed(&pod, all, "leaf1", |text| text.replace(&share(24), &share(4)));
    assert_eq!(rules(&pod.audit(&texts, false)), ["fleet-drift leaf1"]);
    assert_eq!(rules(&pod.audit(&texts, true)), ["intent-drift leaf1"]);
    let texts = changed(&pod, all, "leaf1", |text| text.to_owned() + "\n");
    assert_eq!(rules(&pod.audit(&texts, true)), [""; 0]);
}

#[test]
fn easy_ecn_on_one_box() {
    let pod = Pod::of(SystemId::PicOs);
    let easy = "set class-of-service easy-ecn mode throughput-first\n";
    let texts = changed(&pod, as_it_is, "leaf1", |text| text.to_owned() + easy);
    assert_eq!(rules(&pod.audit(&texts, false)), ["fleet-drift leaf1"]);
    let texts =
        changed(&pod, |text| text.to_owned() + easy, "leaf1", |text| text.to_owned() + "\n");
    assert_eq!(rules(&pod.audit(&texts, false)), [""; 0]);
}

#[test]
fn pauses_without_a_lossless_pool() {
    let pod = Pod::of(SystemId::Cumulus);
    let without = |text: &str| {
        let kept = text.lines().filter(|line| !line.contains("traffic-pool"));
        kept.fold(String::new(), |all, line| all + line + "\n")
    };
    let texts = changed(&pod, as_it_is, "leaf1", without);
    let report = pod.audit_with_fixes(&texts, false);
    assert_eq!(rules(&report), ["headroom-missing leaf1"]);
    let fix = &report.findings[0].fix.apply;
    assert_eq!(fix, "nv set qos traffic-pool default-lossless memory-percent 50");
}

/// CNPs may have any strict queue for themselves, if devices agree.
#[test]
fn cnps_in_another_strict_queue() {
    let pod = Pod::of(SystemId::NxOs);
    let moved = |text: &str| {
        text.replace("set qos-group 7", "set qos-group @")
            .replace("set qos-group 6", "set qos-group 7")
            .replace("set qos-group @", "set qos-group 6")
            .replace("c-out-8q-q7\n    priority level 1", "c-out-8q-q@\n    priority level 1")
            .replace("c-out-8q-q6", "c-out-8q-q7")
            .replace("c-out-8q-q@", "c-out-8q-q6")
    };
    let texts = changed(&pod, moved, "leaf1", |text| text.to_owned() + "\n");
    assert_eq!(rules(&pod.audit(&texts, true)), [""; 0]);
    assert_eq!(rules(&pod.audit(&texts, false)), [""; 0]);
    let texts = changed(&pod, as_it_is, "leaf1", moved);
    assert_eq!(rules(&pod.audit(&texts, true)), ["intent-drift leaf1"]);
    assert_eq!(rules(&pod.audit(&texts, false)), ["fleet-drift leaf1"]);
}

#[test]
fn cnps_that_wait_with_best_effort_everywhere_are_a_note() {
    let pod = Pod::of(SystemId::NxOs);
    let waits = |text: &str| text.replace("set qos-group 7", "set qos-group 0");
    let texts = changed(&pod, waits, "leaf1", |text| text.to_owned() + "\n");
    let report = pod.audit(&texts, false);
    assert_eq!(rules(&report), [""; 0]);
    assert!(report.notes.iter().any(|note| note.contains("CNPs (DSCP 48)")), "{:?}", report.notes);
}

#[test]
fn a_port_that_overrules_its_profile() {
    let pod = Pod::of(SystemId::Eos);
    let texts = changed(&pod, as_it_is, "leaf1", |text| {
        text.replacen("   service-profile", "   no priority-flow-control\n   service-profile", 1)
    });
    let report = pod.audit_with_fixes(&texts, false);
    assert_eq!(rules(&report), ["pfc-missing leaf1"]);
    let fix = &report.findings[0].fix;
    assert!(fix.apply.ends_with("\n   default priority-flow-control"), "{}", fix.apply);
    assert!(fix.undo.ends_with("\n   no priority-flow-control"), "{}", fix.undo);
}

#[test]
fn a_paused_class_with_a_small_mtu() {
    let pod = Pod::of(SystemId::NxOs);
    let small = |text: &str| {
        text.replace("    pause pfc-cos 3\n    mtu 9216", "    pause pfc-cos 3\n    mtu 1500")
    };
    let texts = changed(&pod, as_it_is, "leaf1", small);
    let report = pod.audit_with_fixes(&texts, false);
    assert_eq!(rules(&report), ["mtu-small leaf1"]);
    let fix = &report.findings[0].fix.apply;
    assert!(fix.starts_with("policy-map type network-qos") && fix.lines().count() == 3, "{fix}");
}

#[test]
fn descriptions_that_the_fabric_file_contradicts() {
    let pod = Pod::of(SystemId::Eos);
    let swapped = |text: &str| {
        text.replace("description spine0 ", "description @ ")
            .replace("description spine1 ", "description spine0 ")
            .replace("description @ ", "description spine1 ")
    };
    let texts = changed(&pod, as_it_is, "leaf1", swapped);
    assert_eq!(rules(&pod.audit(&texts, true)), ["description-stale leaf1"]);
}

/// Pauses in all priorities are wrong even where all switches have them.
#[test]
fn all_switches_pause_everything() {
    let pod = Pod::of(SystemId::Sonic);
    let all =
        |text: &str| text.replace("\"pfc_enable\": \"3\"", "\"pfc_enable\": \"0,1,2,3,4,5,6,7\"");
    let texts = changed(&pod, all, "leaf1", |text| text.to_owned() + "\n");
    let report = pod.audit(&texts, false);
    let wanted =
        ["leaf0", "leaf1", "spine0", "spine1"].map(|name| format!("pfc-all-priorities {name}"));
    assert_eq!(rules(&report), wanted);
}

/// A switch in maintenance: what is off was not checked, and the audit says why.
#[test]
fn a_switch_whose_ports_are_all_off_says_so() {
    let pod = Pod::of(SystemId::Eos);
    let off = |text: &str| {
        let lines = text.lines().map(|line| match line.starts_with("interface Ethernet") {
            true => format!("{line}\n   shutdown\n"),
            false => format!("{line}\n"),
        });
        lines.collect()
    };
    let texts = changed(&pod, as_it_is, "leaf1", off);
    for with_fabric in [false, true] {
        let report = pod.audit(&texts, with_fabric);
        let said = |words: &str| {
            report.findings.iter().any(|f| f.device == "leaf1" && f.message.contains(words))
        };
        assert!(said("all ports with RoCE settings are switched off"), "{:?}", rules(&report));
        assert!(!said("no RoCE settings were recognised"));
    }
}
