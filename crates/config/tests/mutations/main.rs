//! Single mistakes in a clean fabric: each is found, at its device, by its rule, and nothing else
//! is. `cargo test -p xoff-config --test mutations -- --nocapture` prints precision and recall.

mod boxes;
#[path = "../common/mod.rs"]
mod common;
mod fleet;
mod mistakes;
mod more;
mod pod;

use mistakes::Mistake;
use pod::{Pod, Texts};
use xoff_config::SystemId;

/// What came of one system.
#[derive(Default)]
struct Score {
    mistakes: usize,
    found: usize,
    right: usize,
    wrong: usize,
    problems: Vec<String>,
}

impl Score {
    fn line(&self, label: &str) -> String {
        let percent = |part: usize, whole: usize| 100.0 * part as f64 / whole.max(1) as f64;
        format!(
            "{label:<22} {:>3} mistakes  recall {:>5.1}%  precision {:>5.1}%",
            self.mistakes,
            percent(self.found, self.mistakes),
            percent(self.right, self.right + self.wrong)
        )
    }
}

fn judge(pod: &Pod, mistakes: &[Mistake], with_fabric: bool) -> Score {
    let mut score = Score::default();
    for mistake in mistakes {
        let mut texts: Texts = pod.clean.clone();
        mistake.make(&mut texts);
        let report = pod.audit(&texts, with_fabric);
        score.mistakes += 1;
        let hit = |f: &&xoff_config::audit::Finding| {
            f.device == mistake.device && mistake.rules.contains(&f.rule.id)
        };
        let right = report.findings.iter().filter(hit).count();
        score.right += right;
        score.wrong += report.findings.len() - right;
        if right > 0 {
            score.found += 1;
        }
        if right == 0 || right < report.findings.len() {
            let seen: Vec<String> = report
                .findings
                .iter()
                .map(|f| format!("{} {} {:?}: {}", f.device, f.rule.id, f.ports, f.message))
                .collect();
            score.problems.push(format!("{}: {seen:#?}", mistake.name));
        }
    }
    score
}

fn run(system: SystemId) {
    let pod = Pod::of(if system == SystemId::Host { SystemId::Sonic } else { system });
    for with_fabric in [true, false] {
        let clean = pod.audit(&pod.clean, with_fabric);
        assert!(clean.findings.is_empty(), "fabric {with_fabric}: {:#?}", clean.findings);
        assert_eq!((clean.unknown, clean.malformed), (0, 0));
        assert_eq!(clean.links, pod.setup.fabric.cables.len());
    }
    let mistakes = mistakes::of(system);
    assert!(mistakes.len() >= 15, "{} mistakes only", mistakes.len());
    let with = judge(&pod, &mistakes, true);
    println!("{}", with.line(&format!("{system}, with fabric")));
    let without = judge(&pod, &mistakes, false);
    println!("{}", without.line(&format!("{system}, without")));
    for problem in &without.problems {
        println!("  without fabric: {}", problem.lines().take(3).collect::<String>());
    }
    assert!(with.problems.is_empty(), "{}", with.problems.join("\n"));
}

/// Two tenants with a lossless class each; on one switch, one of them is put into the queue of the
/// other.
#[test]
fn tenants_in_one_queue() {
    let file = format!("{}{}", common::POD, common::TENANTS);
    for system in SystemId::ALL.into_iter().filter(|system| *system != SystemId::Host) {
        let pod = Pod::from(&file, system);
        let clean = pod.audit(&pod.clean, true);
        assert!(clean.findings.is_empty(), "{system}: {:#?}", clean.findings);
        let score = judge(&pod, &[mistakes::tenants(system)], true);
        println!("{}", score.line(&format!("{system}, tenants")));
        assert!(score.problems.is_empty(), "{system}: {}", score.problems.join("\n"));
    }
}

/// RoCE without pauses, and two classes with them: what is written is read as meant, with the fabric file and without,
/// and what does not belong to the mode is found.
#[test]
fn other_modes() {
    let lossy = format!("{}[pfc]\nenabled = false\n", common::POD);
    let two = format!("{}[[class]]\nid = 4\nlossless = true\ndscp = [28]\n", common::POD);
    for system in SystemId::ALL.into_iter().filter(|system| *system != SystemId::Host) {
        for file in [&lossy, &two] {
            let pod = Pod::from(file, system);
            for with_fabric in [true, false] {
                let clean = pod.audit(&pod.clean, with_fabric);
                assert!(clean.findings.is_empty(), "{system}: {:#?}", clean.findings);
            }
        }
    }
    let pod = Pod::from(&lossy, SystemId::Eos);
    let pfc = "   priority-flow-control on\n   priority-flow-control priority 3 no-drop\n   uc-tx-queue 3";
    for (rule, old, new) in [
        ("pfc-extra", "   uc-tx-queue 3", pfc),
        ("ecn-missing", "      random-detect ecn", "      ! marked "),
    ] {
        let mut texts = pod.clean.clone();
        let own = texts.iter_mut().find(|(name, _)| name.starts_with("leaf0.")).expect("a leaf");
        assert!(own.1.contains(old), "{old}");
        *own.1 = own.1.replace(old, new);
        for with_fabric in [true, false] {
            let report = pod.audit(&texts, with_fabric);
            let found = report.findings.iter().any(|f| f.device == "leaf0" && f.rule.id == rule);
            assert!(found, "{rule}, fabric {with_fabric}: {:#?}", report.findings);
        }
    }
}

/// Ports of two speeds that say neither: their thresholds differ, and nobody may call that a mistake.
#[test]
fn unknown_speeds_are_not_compared() {
    let pod = Pod::of(SystemId::Eos);
    let without_speeds = |text: &String| {
        let lines = text.lines().filter(|line| !line.trim().starts_with("speed "));
        lines.fold(String::new(), |all, line| all + line + "\n")
    };
    let texts: Texts =
        pod.clean.iter().map(|(name, t)| (name.clone(), without_speeds(t))).collect();
    assert_ne!(texts, pod.clean);
    let report = pod.audit(&texts, false);
    assert!(report.findings.is_empty(), "{:#?}", report.findings);
}

/// What a finding says would fix it does, when it is entered into the device, and a finding without a fix says why.
/// `XOFF_SYSTEM=eos` looks at one system, `XOFF_SHOW=1` prints the longer ones.
/// Of four mistakes one is audited with the fabric file and one without; all with both by `all_fixes_fix`.
#[test]
fn fixes_fix() {
    try_fixes(|number, with_fabric| number % 4 == if with_fabric { 0 } else { 2 });
}

#[test]
#[ignore = "takes minutes"]
fn all_fixes_fix() {
    try_fixes(|_, _| true);
}

fn try_fixes(wanted: fn(usize, bool) -> bool) {
    for system in SystemId::ALL.into_iter().filter(|system| *system != SystemId::Host) {
        if std::env::var("XOFF_SYSTEM").is_ok_and(|only| only != system.name()) {
            continue;
        }
        let pod = Pod::of(system);
        let (mut fixed, mut unfixed, mut lines, mut undone) = (0, Vec::new(), Vec::new(), 0);
        let all = mistakes::of(system);
        let pairs = all.iter().enumerate().flat_map(|(n, m)| [(n, m, true), (n, m, false)]);
        for (_, mistake, with_fabric) in pairs.filter(|(n, _, with)| wanted(*n, *with)) {
            let mut texts = pod.clean.clone();
            mistake.make(&mut texts);
            let report = pod.audit_with_fixes(&texts, with_fabric);
            for finding in &report.findings {
                let about = format!("{} ({with_fabric}): {}", mistake.name, finding.message);
                if finding.fix.apply.is_empty() {
                    unfixed.push(format!("{about}: {}", finding.fix.reason));
                    continue;
                }
                fixed += 1;
                undone += usize::from(!finding.fix.undo.is_empty());
                lines.push(finding.fix.apply.lines().count());
                if lines.last() > Some(&12) && std::env::var_os("XOFF_SHOW").is_some() {
                    println!("{about}\n{}\n", finding.fix.apply);
                }
                let after = pod.audit(&entered(&texts, finding, system), with_fabric);
                let left: Vec<&str> = after
                    .findings
                    .iter()
                    .filter(|f| !report.findings.iter().any(|old| old.message == f.message))
                    .map(|f| f.message.as_str())
                    .collect();
                assert!(left.is_empty(), "{system}, {about}: {left:?}\n{}", finding.fix.apply);
                let same = |f: &&xoff_config::audit::Finding| f.message == finding.message;
                assert!(after.findings.iter().all(|f| !same(&f)), "{system}, {about}");
                let strange =
                    |report: &xoff_config::audit::Report| report.unknown + report.malformed;
                assert!(strange(&after) <= strange(&report), "{about}");
            }
        }
        lines.sort_unstable();
        println!(
            "{system}: {fixed} fixes of {} to {} lines, {} in the median, {undone} with the way back",
            lines.first().unwrap(),
            lines.last().unwrap(),
            lines[lines.len() / 2]
        );
        for one in &unfixed {
            println!("  no fix: {one}");
        }
        assert!(unfixed.iter().all(|one| !one.is_empty()));
    }
}

/// The texts after the fix of a finding was entered.
fn entered(texts: &Texts, finding: &xoff_config::audit::Finding, system: SystemId) -> Texts {
    let mut texts = texts.clone();
    let own = format!("{}.", finding.device);
    let name = texts.keys().find(|name| name.starts_with(&own)).expect("its file").clone();
    let text = texts.get_mut(&name).expect("its text");
    let fix = &finding.fix.apply;
    if system == SystemId::Sonic && name.ends_with(".json") {
        let (start, end) = (text.find('{').unwrap(), text.rfind('}').unwrap() + 1);
        let mut all: serde_json::Value = serde_json::from_str(&text[start..end]).unwrap();
        merge(&mut all, serde_json::from_str(fix).unwrap());
        let whole = serde_json::to_string_pretty(&all).unwrap();
        *text = format!("{}{whole}{}", &text[..start], &text[end..]);
    } else {
        *text += &format!("\n{fix}\n");
    }
    texts
}

fn merge(into: &mut serde_json::Value, from: serde_json::Value) {
    match (into, from) {
        (serde_json::Value::Object(into), serde_json::Value::Object(from)) => {
            for (key, value) in from {
                merge(into.entry(key).or_insert(serde_json::Value::Null), value);
            }
        }
        (into, from) => *into = from,
    }
}

#[test]
fn eos() {
    run(SystemId::Eos);
}

#[test]
fn nx_os() {
    run(SystemId::NxOs);
}

#[test]
fn sonic() {
    run(SystemId::Sonic);
}

#[test]
fn cumulus() {
    run(SystemId::Cumulus);
}

#[test]
fn cumulus_yaml() {
    run(SystemId::CumulusYaml);
}

#[test]
fn junos() {
    run(SystemId::Junos);
}

#[test]
fn junos_set() {
    run(SystemId::JunosSet);
}

#[test]
fn os10() {
    run(SystemId::Os10);
}

#[test]
fn picos() {
    run(SystemId::PicOs);
}

#[test]
fn hosts() {
    run(SystemId::Host);
}
