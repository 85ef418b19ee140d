//! Arista's generator makes the same statements of our structured model as our renderer of the device.

use crate::{common, fabrics};
use std::collections::BTreeSet;
use std::env;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use xoff_config::delivery::avd;
use xoff_config::device::Balancing;
use xoff_config::intent::{Choices, Intent};
use xoff_config::system::SystemId;

/// What the generator says of each model: the configuration, or what is wrong. `None`, with a word why,
/// where it is not installed.
fn judged(models: &[String]) -> Option<Vec<Result<String, String>>> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/judges_delivery/avd.py");
    let python = env::var("XOFF_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let mut command = Command::new(&python);
    command.arg(script).stdin(Stdio::piped()).stdout(Stdio::piped());
    let Ok(mut judge) = command.spawn() else {
        println!("SKIPPED: `{python}` is not installed");
        return None;
    };
    // Without the generator the models are not read.
    let _ = judge.stdin.take().unwrap().write_all(&serde_json::to_vec(models).unwrap());
    let output = judge.wait_with_output().unwrap();
    if output.status.code() == Some(3) {
        println!("SKIPPED: pyavd is not installed for `{python}` (XOFF_PYTHON names another)");
        return None;
    }
    assert!(output.status.success(), "the generator failed");
    let answers: Vec<serde_json::Value> = serde_json::from_slice(&output.stdout).unwrap();
    let answer = |answer: &serde_json::Value| match answer["wrong"].as_array().unwrap().as_slice() {
        [] => Ok(answer["text"].as_str().unwrap().to_owned()),
        wrong => Err(format!("{wrong:?}")),
    };
    Some(answers.iter().map(answer).collect())
}

/// Statements with all that they stand below, and sizes in bytes.
fn statements(text: &str) -> BTreeSet<String> {
    let mut above: Vec<(usize, String)> = Vec::new();
    let mut found = BTreeSet::new();
    for line in text.lines() {
        let body = line.trim();
        if body.is_empty() || body.starts_with('!') || body.starts_with("hostname") {
            continue;
        }
        let indent = line.len() - line.trim_start().len();
        above.retain(|(at, _)| *at < indent);
        above.push((indent, in_bytes(body)));
        let path: Vec<&str> = above.iter().map(|(_, text)| text.as_str()).collect();
        found.insert(path.join(" / "));
    }
    found
}

/// `2 kbytes` as `2000 bytes`: the model has one unit for both thresholds of a queue.
fn in_bytes(statement: &str) -> String {
    let mut words: Vec<String> = statement.split_whitespace().map(str::to_owned).collect();
    for i in 1..words.len() {
        if words[i] == "kbytes" {
            words[i - 1] += "000";
            "bytes".clone_into(&mut words[i]);
        }
    }
    words.join(" ")
}

#[test]
fn arista_s_generator_makes_the_same_statements() {
    let mut models = Vec::new();
    let mut ours = Vec::new();
    for (file, balancing) in
        fabrics(8).iter().zip([Balancing::Flowlet, Balancing::Hash].into_iter().cycle())
    {
        let choices = Choices { balancing, ..Choices::all(SystemId::Eos) };
        let intent = Intent::with(&common::setup(file), choices);
        for name in ["leaf0", "spine1"] {
            let system = SystemId::Eos.system();
            let device = system.fit(intent.device(name).unwrap(), &mut Vec::new());
            models.push(avd::file(&device).text);
            ours.push(system.render(&device).remove(0).text);
        }
    }
    let whole = models.len();
    // A judge that accepts everything is none.
    models.push(models[0].replace("trust: dscp", "trust: everything"));
    models.push(models[0].replace("units: ", "units: kilo"));
    let Some(answers) = judged(&models) else { return };
    assert_eq!(answers.len(), models.len());
    let mut count = 0;
    for ((theirs, ours), model) in answers.iter().zip(&ours).zip(&models) {
        let theirs = theirs.as_ref().unwrap_or_else(|wrong| panic!("{wrong}\n{model}"));
        let (theirs, ours) = (statements(theirs), statements(ours));
        let only_ours: Vec<&String> = ours.difference(&theirs).collect();
        let only_theirs: Vec<&String> = theirs.difference(&ours).collect();
        assert!(only_ours.is_empty() && only_theirs.is_empty(), "{only_ours:#?}\n{only_theirs:#?}");
        count += ours.len();
    }
    assert!(answers[whole..].iter().all(Result::is_err), "a mistake was accepted");
    println!("{count} statements of {whole} devices are the generator's");
}
