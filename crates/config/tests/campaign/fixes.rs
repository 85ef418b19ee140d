//! Fixes of findings, applied as an operator would: the finding must be gone and nothing new be there.

use crate::case::{Case, Subject, Texts};
use crate::edit::{Edit, Mistake};
use crate::paths::{add, set};
use serde_json::Value;
use std::collections::BTreeMap;
use xoff_config::SystemId;
use xoff_config::audit::{Finding, Report};

/// Fixes that were applied, and those that do not fix.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) tried: usize,
    pub(crate) failed: usize,
    /// Findings of a mistake that have no fix.
    pub(crate) without: usize,
    /// Why it does not fix, or there is none, with how often and an example.
    reasons: BTreeMap<String, (usize, String)>,
}

impl Tally {
    /// The reasons, most frequent first.
    pub(crate) fn details(&self) -> String {
        let mut sorted: Vec<_> = self.reasons.iter().collect();
        sorted.sort_by_key(|(_, (count, _))| std::cmp::Reverse(*count));
        let line = |(reason, (count, example)): &(&String, &(usize, String))| {
            format!("    {count:>4} x {reason}: {example}\n")
        };
        sorted.iter().map(line).collect()
    }

    fn pass(&mut self, reason: String, example: String) {
        self.without += 1;
        self.reasons.entry(reason).or_insert_with(|| (0, example)).0 += 1;
    }

    fn fail(&mut self, reason: String, example: String) {
        self.failed += 1;
        self.reasons.entry(reason).or_insert_with(|| (0, example)).0 += 1;
    }
}

/// Applies every fix of every mistake.
pub(crate) fn check(subject: Subject, seeds: &[u64]) -> Tally {
    let mut tally = Tally::default();
    for seed in seeds {
        let case = Case::new(subject, *seed);
        for with_fabric in [false, true] {
            let clean = case.audit(&case.texts(None), with_fabric);
            // What is cut off is collected again, not configured.
            let whole = |m: &&Mistake| !matches!(m.edit, Edit::Collected(_));
            let wanted = case.mistakes.iter().filter(|m| with_fabric || !m.planned_only);
            for mistake in wanted.filter(whole) {
                let report = case.audit_with_fixes(&case.texts(Some(mistake)), with_fabric);
                // What the clean fabric has as well is not about the mistake.
                for finding in report.findings.iter().filter(|f| !has(&clean, f)) {
                    let around = Around { clean: &clean, before: &report, with_fabric };
                    one(&case, mistake, finding, &around, &mut tally);
                }
            }
        }
    }
    tally
}

fn has(report: &Report, finding: &Finding) -> bool {
    let same = |f: &Finding| {
        f.device == finding.device && f.rule.id == finding.rule.id && f.message == finding.message
    };
    report.findings.iter().any(same)
}

/// What was found around a finding.
struct Around<'r> {
    clean: &'r Report,
    before: &'r Report,
    with_fabric: bool,
}

fn one(case: &Case, mistake: &Mistake, finding: &Finding, around: &Around<'_>, tally: &mut Tally) {
    let Around { clean, before, with_fabric } = *around;
    if std::env::var("XOFF_SHOW").is_ok_and(|level| level == "2") {
        let Finding { device, message, ports, fix, .. } = finding;
        println!("{} {device} {ports:?}: {message}\n{}{}", mistake.name, fix.apply, fix.reason);
    }
    if finding.fix.apply.is_empty() {
        let reason = match finding.fix.reason.as_str() {
            "" => "not configuration".to_owned(),
            reason => format!("none: {reason}"),
        };
        return tally.pass(reason, format!("`{}`: {}", mistake.name, finding.message));
    }
    let Some(texts) = applied(case, mistake, finding) else { return };
    tally.tried += 1;
    let after = case.audit(&texts, with_fabric);
    let how = if with_fabric { "with fabric" } else { "without" };
    let example = || {
        let first: Vec<&str> = finding.fix.apply.lines().take(3).collect();
        format!(
            "seed {} `{}` {} {:?}",
            case.plan.seed,
            mistake.name,
            finding.device,
            first.join(" / ")
        )
    };
    if has(&after, finding) {
        return tally.fail(format!("{how}: {} stays", finding.rule.id), example());
    }
    let known = |f: &&Finding| {
        let all = before.findings.iter().chain(&clean.findings);
        all.into_iter().any(|old| old.device == f.device && old.rule.id == f.rule.id)
    };
    if let Some(new) = after.findings.iter().find(|f| !known(f)) {
        let reason = format!("{how}: {} gone, {} new", finding.rule.id, new.rule.id);
        return tally.fail(reason, format!("{} -> {} {}", example(), new.device, new.message));
    }
    if after.malformed > before.malformed || after.unknown > before.unknown {
        tally.fail(format!("{how}: fix of {} not understood", finding.rule.id), example());
    }
}

/// The files with the fix in them; none where it cannot be entered.
fn applied(case: &Case, mistake: &Mistake, finding: &Finding) -> Option<Texts> {
    let switch = case.plan.switches.iter().any(|switch| switch.name == finding.device);
    if !switch {
        let mut texts = case.texts(Some(mistake));
        // Where a host has a folder, a script is one more file in it.
        let session = format!("hosts/{}.txt", finding.device);
        let script = format!("hosts/{}/xoff-fix.sh", finding.device);
        let name = if texts.contains_key(&session) { session } else { script };
        let text = texts.entry(name).or_default();
        *text = format!("{text}{}\n", finding.fix.apply);
        return Some(texts);
    }
    let own = |name: &str| name == finding.device;
    Some(match case.plan.system {
        SystemId::Sonic => case.patched(Some(mistake), |name, source| match own(name) {
            true => merge_json(&source, &finding.fix.apply),
            false => source,
        }),
        SystemId::CumulusYaml => case.patched(Some(mistake), |name, source| match own(name) {
            true => merge_yaml(&source, &finding.fix.apply),
            false => source,
        }),
        _ => {
            let mut texts = case.texts(Some(mistake));
            let text = texts.get_mut(&case.file_of(&finding.device))?;
            *text = format!("{text}\n{}\n", finding.fix.apply);
            texts
        }
    })
}

fn merge_json(source: &str, fix: &str) -> String {
    let mut root: Value = serde_json::from_str(source).expect("the template is JSON");
    let fix: Value = match serde_json::from_str(fix) {
        Ok(fix) => fix,
        Err(error) => panic!("a fix is not JSON: {error}\n{fix}"),
    };
    merge(&mut root, &fix);
    crate::sonic::pretty(&root)
}

fn merge(into: &mut Value, from: &Value) {
    match (into, from) {
        (Value::Object(into), Value::Object(from)) => {
            for (key, value) in from {
                merge(into.entry(key.clone()).or_insert(Value::Null), value);
            }
        }
        (into, from) => *into = from.clone(),
    }
}

/// Merges an outline into paths.
fn merge_yaml(source: &str, fix: &str) -> String {
    let mut stack: Vec<(usize, String)> = Vec::new();
    let mut text = source.to_owned();
    for line in fix.lines().filter(|line| !line.trim().is_empty()) {
        let line = line.replacen("- set:", "  set:", 1);
        let bare = line.trim_start();
        if bare.starts_with('#') || bare.starts_with("- ") {
            continue;
        }
        let depth = line.len() - bare.len();
        stack.retain(|(own, _)| *own < depth);
        let (key, value) = bare.split_once(':').unwrap_or((bare, ""));
        let key = key.trim_matches('\'').to_owned();
        if key != "set" {
            stack.push((depth, key));
        }
        let path: Vec<&str> = stack.iter().map(|(_, key)| key.as_str()).collect();
        match value.trim() {
            "" => {}
            "{}" => text = add(&text, &format!("{}|{{}}", path.join("|"))),
            value => text = set(&text, &path.join("|"), value),
        }
    }
    text
}
