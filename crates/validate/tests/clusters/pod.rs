//! The example pod passes, and a dead spine costs what it must.

use super::{example, failed, validate};
use xoff_fabric::load_fabric;
use xoff_report::Verdict;
use xoff_validate::judge::predicted_left;
use xoff_validate::{Choice, Phase};

#[test]
fn the_example_pod_passes() {
    let choice = Choice { quick: true, ..Choice::default() };
    let (validation, _) = validate(&example("pod-256"), &choice);
    assert_eq!(failed(&validation), [""; 0], "{validation:#?}");
    let phases: Vec<Phase> = validation.phases.iter().map(|result| result.phase).collect();
    assert_eq!(phases, Phase::ALL);
    let check = |id: &str| validation.checks.iter().find(|check| check.id == id).unwrap();
    // One of two spines is half the uplinks.
    assert_eq!(check("failures.bandwidth").verdict, Verdict::Pass);
    for failure in [
        "link",
        "silent",
        "flap",
        "optic",
        "optic-worse",
        "spine",
        "step",
        "reset",
        "upgrade",
        "route",
        "leaf",
        "nic",
        "server",
        "receiver",
        "storm",
    ] {
        assert_eq!(check(&format!("failures.{failure}")).verdict, Verdict::Pass, "{failure}");
        assert_eq!(check(&format!("operations.{failure}")).verdict, Verdict::Pass, "{failure}");
    }
}

#[test]
fn what_a_dead_spine_leaves_is_worked_out() {
    let left = |text: &str| predicted_left(&load_fabric(text).into_result().unwrap().fabric);
    let pod = left(&example("pod-256")).unwrap();
    assert!((pod - 0.5).abs() < 1e-9, "{pod}");
    // One switch has no spine to lose.
    assert_eq!(left("[cluster]\nhosts = 4\n[fabric]\nkind = \"single\""), None);
    // Four uplinks of 400G above eight hosts of 100G: three of them carry all that leaves.
    let four = left(
        "[cluster]\nhosts = 16\nnic = \"generic-100g\"\n[fabric]\nkind = \"leaf-spine\"\n\
         leaves = 2\nspines = 4\n[links.leaf-spine]\nrate = \"400Gbps\"\nparallel = 1",
    );
    assert_eq!(four, Some(1.0));
}
