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
fn requests_are_judged_by_their_objective() {
    let workload = |objective: &str, rest: &str| {
        folder_with(&format!(
            "[[workload]]\nkind = \"inference\"\nmodel = \"llama-3-8b\"\nprefill = 1\ndecode = 2\n\
             requests-per-second = 1000\nrequests = 5\ninput = 40\noutput = [3, 4]\n\
             objective = {{ {objective} }}\n{rest}"
        ))
    };
    let kept = workload("ttft = \"1s\", tpot = \"1s\"", "");
    let ran = output(kept.path(), &["run", "s.toml", "--json"]);
    assert_eq!(code(&ran), Some(0), "{}", stderr(&ran));
    let row = json(&ran)["workloads"][0].clone();
    assert_eq!((&row["unit"], &row["finished"]), (&"requests".into(), &5.into()));
    // 128 KiB a token.
    assert_eq!(row["bytes"], 5 * 40 * 128 * 1024);
    let serving = &row["serving"];
    assert_eq!((&serving["within"], &serving["wanted"]), (&1.0.into(), &0.99.into()));
    let figure = |of: &str, at: &str| serving[of][at].as_f64().unwrap();
    for of in ["ttft_us", "tpot_us"] {
        let all = ["p50", "p90", "p99"].map(|at| figure(of, at));
        assert!(all.is_sorted() && all[0] > 1_000.0, "{of}: {all:?}");
    }
    let shown = output(kept.path(), &["run", "s.toml"]);
    for text in ["Serving", "time to first token (TTFT)", "TPOT", "p90", "within both"] {
        assert!(stdout(&shown).contains(text), "no `{text}` in\n{}", stdout(&shown));
    }
    let missed = output(workload("tpot = \"1ms\"", "").path(), &["run", "s.toml"]);
    assert_eq!(code(&missed), Some(1), "{}", stdout(&missed));
    let said = "objective missed: 0 of 5 requests of inference within TPOT 1ms; 99 % must be";
    assert!(stderr(&missed).contains(said), "{}", stderr(&missed));
    let allowed = workload("tpot = \"1ms\"", "[allow]\nobjective = true\n");
    assert_eq!(code(&output(allowed.path(), &["run", "s.toml"])), Some(0));
}

#[test]
fn models_that_are_no_transformers_count_samples() {
    let folder = folder_with(
        "[[workload]]\nkind = \"training-step\"\nmodel = \"dlrm-dcnv2\"\nmicro-batch = 8\n\
         [[workload]]\nkind = \"training-step\"\nmodel = \"resnet-50\"\nmicro-batch = 8\n\
         start = \"20ms\"\n",
    );
    let ran = output(folder.path(), &["run", "s.toml", "--json"]);
    assert_eq!(code(&ran), Some(0), "{}", stderr(&ran));
    let steps = json(&ran)["steps"].clone();
    assert_eq!((&steps[0]["samples"], &steps[1]["samples"]), (&true.into(), &true.into()));
    let waits = steps[0]["critical"]["waits"].to_string();
    assert!(waits.contains("tables") || waits.contains("data"), "{waits}");
    let shown = output(folder.path(), &["run", "s.toml"]);
    assert!(stdout(&shown).contains(" samples"), "{}", stdout(&shown));
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
