//! Workloads and tenants as `xoff run` reports them.

use super::{code, example, folder_with, json, output, stderr, stdout};

#[test]
fn every_workload_has_its_row() {
    let folder = folder_with(
        "[[workload]]\nkind = \"checkpoint\"\nsize = \"100KB\"\nstorage = 1\n\
         [[workload]]\nkind = \"nvme-of\"\ntargets = 1\nblock = \"4KiB\"\nqueue-depth = 2\n\
         operations = 10\nstart = \"200us\"\nname = \"disks\"\n\
         [[workload]]\nkind = \"kv-cache\"\nprefill = 1\ndecode = 1\nbytes-per-token = \"1KiB\"\n\
         tokens = 100\nrequests-per-second = 1000\nrequests = 4\nobjective = \"1ms\"\n\
         start = \"400us\"\n\
         [[workload]]\nkind = \"halo\"\ngrid = [2, 2]\nsize = \"10KB\"\nrounds = 5\n\
         start = \"10ms\"\n",
    );
    let ran = output(folder.path(), &["run", "s.toml", "--json"]);
    assert_eq!(code(&ran), Some(0), "{}", stderr(&ran));
    let rows = json(&ran)["workloads"].clone();
    let counted = |row: usize| {
        let row = &rows[row];
        (row["unit"].clone(), row["begun"].clone(), row["finished"].clone(), row["bytes"].clone())
    };
    assert_eq!(counted(0), ("flows".into(), 3.into(), 3.into(), 300_000.into()));
    assert_eq!(counted(1), ("requests".into(), 30.into(), 30.into(), (30 * 4096).into()));
    assert_eq!(counted(2), ("requests".into(), 4.into(), 4.into(), 409_600.into()));
    assert_eq!(counted(3), ("rounds".into(), 5.into(), 5.into(), (5 * 16 * 10_000).into()));
    assert_eq!(rows[1]["name"], "disks");
    // Nothing else is there when the caches come: all are in time.
    assert_eq!(rows[2]["within_objective"], 1.0);
    let shown = output(folder.path(), &["run", "s.toml"]);
    for text in ["30 of 30", "objective", "within", "100 %", "rounds"] {
        assert!(stdout(&shown).contains(text), "no `{text}` in\n{}", stdout(&shown));
    }
}

#[test]
fn tenants_are_compared_with_being_alone() {
    let folder = tempfile::tempdir().unwrap();
    let slowdown = |name: &str| {
        let ran = output(folder.path(), &["run", &example(name), "--alone", "--json"]);
        assert_eq!(code(&ran), Some(0), "{}", stderr(&ran));
        let tenants = json(&ran)["tenants"].clone();
        assert_eq!((&tenants[0]["name"], &tenants[1]["name"]), (&"archive".into(), &"lab".into()));
        tenants[1]["slowdown"].as_f64().unwrap()
    };
    let (one, two) = (slowdown("tenants-one-class.toml"), slowdown("tenants-two-classes.toml"));
    assert!(one > 3.0 && two < 1.5, "{one} in one class, {two} in two");
}

#[test]
fn a_tenant_that_is_alone_anyhow_is_not_slowed() {
    let folder = folder_with(
        "[[workload]]\nkind = \"all-reduce\"\nsize = \"1MB\"\ntenant = \"one\"\nvxlan = true\n",
    );
    let ran = output(folder.path(), &["run", "s.toml", "--alone", "--json"]);
    assert_eq!(json(&ran)["tenants"][0]["slowdown"], 1.0);
}

#[test]
fn unfinished_services_fail_the_run() {
    let folder = folder_with(
        "duration = \"50us\"\n[[workload]]\nkind = \"nvme-of\"\ntargets = 1\nblock = \"1MB\"\n\
         queue-depth = 2\nfor = \"1ms\"\n",
    );
    let ran = output(folder.path(), &["run", "s.toml"]);
    assert_eq!(code(&ran), Some(1), "{}", stderr(&ran));
    assert!(stderr(&ran).contains("jobs did not finish (nvme-of)"), "{}", stderr(&ran));
}

#[test]
fn a_step_says_what_held_it_back() {
    let folder = folder_with(
        "[[workload]]\nkind = \"training-step\"\ntp = 1\nsequence = 128\n\
         model = { layers = 1, hidden = 256, heads = 4, ffn = 512, vocabulary = 1024 }\n",
    );
    let ran = output(folder.path(), &["run", "s.toml", "--json"]);
    assert_eq!(code(&ran), Some(0), "{}", stderr(&ran));
    let step = json(&ran)["steps"][0].clone();
    let path = &step["critical"];
    let waits = path["waits"].as_array().unwrap().iter().map(|w| w["wait_us"].as_f64().unwrap());
    let total = path["compute_us"].as_f64().unwrap() + waits.sum::<f64>();
    assert!((total - step["mean_us"].as_f64().unwrap()).abs() < 0.001, "{step}");
    assert_eq!(path["longest"]["dimension"], "data");
    assert!(path["longest"]["link"].as_str().unwrap().contains('→'));
    let shown = output(folder.path(), &["run", "s.toml"]);
    assert!(stdout(&shown).contains("Critical path"), "{}", stdout(&shown));
}
