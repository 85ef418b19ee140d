//! `xoff tune` against a random search of ten times its runs, on six pairs of workload and fabric (docs/tune.md).

use super::{code, json, output, stderr};
use std::fs;

/// Hosts with a NIC of 100G each on leaves with as much bandwidth up as `over` says.
fn leaf_spine(hosts: u32, spines: u32, over: &str, more: &str) -> String {
    format!(
        "[cluster]\nhosts = {hosts}\nnic = \"connectx-6\"\nnic-rate = \"100Gbps\"\n[fabric]\nkind = \"leaf-spine\"\n\
         leaf = \"trident-3\"\nhosts-per-leaf = 8\nspines = {spines}\noversubscription = \"{over}\"\n{more}"
    )
}

/// Servers with two GPUs and NICs each, for collectives.
fn servers(gpus: u32, spines: u32, more: &str) -> String {
    format!(
        "[cluster]\ngpus = {gpus}\ngpus-per-server = 2\nnic = \"connectx-6\"\nnic-rate = \"100Gbps\"\n[fabric]\n\
         kind = \"leaf-spine\"\nleaf = \"trident-3\"\nhosts-per-leaf = 8\nspines = {spines}\n{more}"
    )
}

/// Name, fabric, scenario.
fn pairs() -> [(&'static str, String, &'static str); 6] {
    [
        (
            "ring",
            servers(16, 2, ""),
            "[[workload]]\nkind = \"all-reduce\"\nalgorithm = \"ring\"\nsize = \"4MB\"\n",
        ),
        (
            "all-to-all MoE",
            servers(16, 2, ""),
            "[[workload]]\nkind = \"all-to-all-collective\"\nalgorithm = \"direct\"\nsize = \"4MB\"\nskew = 2.0\n",
        ),
        (
            "incast storage",
            leaf_spine(24, 2, "1:1", ""),
            "[[workload]]\nkind = \"checkpoint\"\nsize = \"2MB\"\nstorage = 2\n",
        ),
        (
            "mixed tenants",
            servers(16, 2, ""),
            "[[workload]]\nkind = \"all-reduce\"\nname = \"training\"\nsize = \"2MB\"\n\
             [[workload]]\nkind = \"incast\"\nname = \"backup\"\nsenders = 6\nsize = \"2MB\"\ntarget = \"server7-nic1\"\n",
        ),
        (
            "long cables",
            leaf_spine(16, 2, "1:1", "[links.leaf-spine]\nlength = \"2km\"\n"),
            "[[workload]]\nkind = \"permutation\"\nsize = \"4MB\"\n",
        ),
        (
            "oversubscribed",
            leaf_spine(16, 2, "4:1", ""),
            "[[workload]]\nkind = \"permutation\"\nsize = \"4MB\"\n",
        ),
    ]
}

/// Takes some minutes: `cargo test -p xoff --test cli tune_pairs -- --ignored --nocapture`. `TUNE_RANDOM=200` draws
/// fewer settings.
#[test]
#[ignore = "a campaign of 24,000 runs"]
fn tune_finds_in_a_tenth_of_the_runs_what_a_random_search_does() {
    let drawn: u64 = std::env::var("TUNE_RANDOM").map_or(2000, |text| text.parse().unwrap());
    let only = std::env::var("TUNE_ONLY").unwrap_or_default();
    let seeds = 2;
    // A tenth of the runs of the random search, the check on unseen seeds included.
    let budget = (drawn * seeds / 10).to_string();
    let (drawn, seeds) = (drawn.to_string(), seeds.to_string());
    let mut failed = Vec::new();
    println!(
        "| pair | random, best of {drawn} | tune, {budget} runs | on unseen seeds | verdict | turned |"
    );
    println!("| --- | --- | --- | --- | --- | --- |");
    for (name, fabric, scenario) in pairs() {
        if !name.contains(&only) {
            continue;
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path();
        fs::write(path.join("fabric.toml"), fabric).unwrap();
        fs::write(path.join("s.toml"), format!("fabric = \"fabric.toml\"\n{scenario}")).unwrap();
        let run = |more: &[&str]| {
            let arguments = [&["tune", "s.toml", "--json", "--seeds", &seeds], more].concat();
            let ran = output(path, &arguments);
            assert_eq!(code(&ran), Some(0), "{name}: {}", stderr(&ran));
            json(&ran)["answer"].clone()
        };
        let tuned = run(&["--budget", &budget, "--out", "tuned"]);
        let random = run(&["--random", &drawn, "--out", "random"]);
        let mean = |answer: &serde_json::Value, key: &str| {
            answer[key]["mean"].as_f64().map_or(0.0, |mean| mean * 100.0)
        };
        let turned: Vec<String> = tuned["values"]
            .as_array()
            .unwrap()
            .iter()
            .filter_map(|own| {
                Some(format!("{} {}", own["knob"].as_str()?, own["advised"].as_str()?))
            })
            .collect();
        let change = &tuned["change"];
        println!(
            "| {name} | {:+.1} % ({:+.1} % unseen) | {:+.1} % | {:+.1} % ({:+.1} to {:+.1}) | {} | {} |",
            mean(&random, "change_on_search_seeds"),
            mean(&random, "change"),
            mean(&tuned, "change_on_search_seeds"),
            mean(&tuned, "change"),
            change["low"].as_f64().unwrap_or_default() * 100.0,
            change["high"].as_f64().unwrap_or_default() * 100.0,
            tuned["verdict"].as_str().unwrap_or_default(),
            turned.join(", ")
        );
        // On the seeds of the search: within 2 % of the random search's best, or better by 10 % than the default.
        let (own, best) =
            (mean(&tuned, "change_on_search_seeds"), mean(&random, "change_on_search_seeds"));
        let near = (100.0 + own) / (100.0 + best) <= 1.02;
        let holds = match tuned["verdict"].as_str() {
            Some("better") => change["high"].as_f64().is_some_and(|high| high < 0.0),
            Some("as-good") => best > -2.0 || mean(&random, "change") > -2.0,
            _ => false,
        };
        if !(near || own <= -10.0) || !holds {
            failed.push(name);
        }
    }
    assert!(failed.is_empty(), "{failed:?}");
}
