//! An independent campaign: whole running configurations and raw outputs of hosts, written by templates
//! that share nothing with the renderers and rules, each with one mistake made by editing text.
//!
//! `cargo test -p xoff-config --test campaign -- --nocapture` prints a short table and holds it against bounds,
//! `whole_table -- --ignored --nocapture` prints that of all seeds; `goal` names the tests that assert what is aimed at. Some seeds are for
//! tuning, others are held out. Switches of the environment: `XOFF_SYSTEM=eos` and `XOFF_SEED=3` look at one case,
//! `XOFF_SHOW=1` lists misses and false findings (2: fixes, too), `XOFF_WRITE=dir` writes the files of the case.

mod case;
mod cumulus;
mod cumulus_mistakes;
mod draw;
mod edit;
mod eos;
mod fabric_file;
mod fixes;
mod host_mistakes;
mod hosts;
mod junos;
mod junos_mistakes;
mod lldp;
mod nxos;
mod os10;
mod other_hosts;
mod paths;
mod picos;
mod plan;
mod score;
mod sonic;
mod sonic_mistakes;
mod systems;

use case::{Case, Subject};
use score::{Score, judge};
use std::fs;
use std::path::Path;

/// Seeds that rules may be tuned on.
const TUNED: [u64; 3] = [0, 2, 4];
/// Seeds that were held out. Misses of 1, 3 and 5 were looked at and mended since; on 7, 10 and 12 nothing was tuned. Every fourth seed has
/// hosts of the same form, so there are even ones, too.
const HELD_OUT: [u64; 6] = [1, 3, 5, 7, 10, 12];

fn subjects() -> Vec<Subject> {
    let wanted = std::env::var("XOFF_SYSTEM").ok();
    let chosen: Vec<Subject> =
        Subject::all().filter(|s| wanted.as_deref().is_none_or(|name| name == s.name())).collect();
    assert!(!chosen.is_empty(), "XOFF_SYSTEM names no system: {wanted:?}");
    chosen
}

fn seeds(usual: &[u64]) -> Vec<u64> {
    match std::env::var("XOFF_SEED") {
        Ok(seed) => vec![seed.parse().expect("XOFF_SEED is a number")],
        Err(_) => usual.to_vec(),
    }
}

fn shown() -> bool {
    std::env::var("XOFF_SHOW").is_ok()
}

/// Scores of all systems on some seeds; prints them.
fn scores(label: &str, usual: &[u64], with_fabric: bool) -> Vec<(Subject, Score)> {
    scores_of(&subjects(), label, usual, with_fabric)
}

fn scores_of(
    subjects: &[Subject],
    label: &str,
    usual: &[u64],
    with_fabric: bool,
) -> Vec<(Subject, Score)> {
    let seeds = seeds(usual);
    let how = if with_fabric { "with fabric" } else { "without" };
    let mut all = Vec::new();
    for subject in subjects.iter().copied() {
        let score = judge(subject, &seeds, with_fabric);
        let row = score.row(&format!("{} {how}, {label}", subject.name()));
        let details = if shown() { score.details() } else { String::new() };
        print!("{row}\n{details}");
        all.push((subject, score));
    }
    all
}

fn assert_goal(scores: &[(Subject, Score)], recall: f64, precision: f64) {
    let failed: Vec<String> = scores
        .iter()
        .filter(|(_, s)| s.recall() < recall || s.precision() < precision || s.clean_errors > 0)
        .map(|(subject, score)| score.row(subject.name()))
        .collect();
    assert!(
        failed.is_empty(),
        "goal: recall {recall}%, precision {precision}%, no errors on clean fabrics\n{}\n{}",
        Score::header(),
        failed.join("\n")
    );
}

/// Every mistake of many seeds changes the text it is about, there are enough of them, and seeds differ.
#[test]
fn mistakes_are_made() {
    for subject in subjects() {
        let least = if subject == Subject::Hosts { 8 } else { 15 };
        let mut seen: Vec<case::Texts> = Vec::new();
        for seed in 0..6 {
            let case = Case::new(subject, seed);
            let clean = case.texts(None);
            assert!(case.mistakes.len() >= least, "{} seed {seed}", subject.name());
            for mistake in &case.mistakes {
                let changed = case.texts(Some(mistake));
                let files = clean.iter().filter(|(name, text)| changed[*name] != **text).count();
                assert_eq!(files, 1, "{} seed {seed}: {}", subject.name(), mistake.name);
            }
            assert!(!seen.contains(&clean), "{} seed {seed} is another seed again", subject.name());
            seen.push(clean);
        }
    }
}

/// Fabrics without a mistake, of some seeds.
#[test]
fn nothing_is_found_where_nothing_is_wrong() {
    for subject in subjects() {
        for seed in seeds(&HELD_OUT[2..4]) {
            let case = Case::new(subject, seed);
            for with_fabric in [false, true] {
                let found = case.audit(&case.texts(None), with_fabric).findings;
                let name = subject.name();
                assert!(found.is_empty(), "{name} {seed}, fabric {with_fabric}: {found:#?}");
            }
        }
    }
}

/// Of the goals, as much as takes half a minute: one seed of every second system without the fabric file. A seed has
/// some 25 mistakes, of which two may be missed.
#[test]
fn without_fabric() {
    let all = subjects().into_iter().step_by(2).collect::<Vec<_>>();
    assert_goal(&scores_of(&all, "tuned", &TUNED[..1], false), 90.0, 90.0);
}

/// And of the others with it.
#[test]
fn with_fabric() {
    let all = subjects().into_iter().skip(1).step_by(2).collect::<Vec<_>>();
    assert_goal(&scores_of(&all, "held out", &HELD_OUT[..1], true), 96.0, 96.0);
}

/// The table of all seeds.
#[test]
#[ignore = "takes minutes; a short table is held against bounds always"]
fn whole_table() {
    print_table(&TUNED, &HELD_OUT);
}

fn print_table(tuned: &[u64], held_out: &[u64]) {
    println!("{}   (*on clean fabrics)", Score::header());
    for with_fabric in [false, true] {
        for (label, seeds) in [("tuned", tuned), ("held out", held_out)] {
            scores(label, seeds, with_fabric);
        }
    }
}

#[test]
#[ignore = "the goal over all seeds; takes minutes"]
fn goal_without_fabric() {
    assert_goal(&scores("tuned", &TUNED, false), 95.0, 90.0);
}

#[test]
#[ignore = "the goal over all seeds; takes minutes"]
fn goal_without_fabric_held_out() {
    assert_goal(&scores("held out", &HELD_OUT, false), 95.0, 90.0);
}

#[test]
#[ignore = "the goal over all seeds; takes minutes"]
fn goal_with_fabric() {
    assert_goal(&scores("tuned", &TUNED, true), 100.0, 98.0);
}

#[test]
#[ignore = "the goal over all seeds; takes minutes"]
fn goal_with_fabric_held_out() {
    assert_goal(&scores("held out", &HELD_OUT, true), 100.0, 98.0);
}

#[test]
#[ignore = "the goal over all mistakes of two seeds; takes minutes"]
fn goal_fixes() {
    let mut failed = 0;
    for subject in subjects() {
        let tally = fixes::check(subject, &seeds(&[0, 1]));
        let (tried, wrong, without) = (tally.tried, tally.failed, tally.without);
        println!(
            "{:<14} {tried:>4} fixes, {wrong:>4} do not fix, {without:>4} findings without",
            subject.name()
        );
        if shown() {
            print!("{}", tally.details());
        }
        failed += wrong;
        // Most mistakes of a seed have a finding with a fix; of hosts, those in one file.
        let least = if subject == Subject::Hosts { 5 } else { 20 };
        assert!(
            tried >= least * seeds(&[0, 1]).len(),
            "{}: {tried} fixes were tried",
            subject.name()
        );
    }
    assert_eq!(failed, 0, "fixes that do not fix");
}

/// Writes the files of one case, clean and with each mistake, to `XOFF_WRITE`.
#[test]
fn written() {
    let Ok(dir) = std::env::var("XOFF_WRITE") else { return };
    for subject in subjects() {
        for seed in seeds(&[0]) {
            let case = Case::new(subject, seed);
            let root = Path::new(&dir).join(format!("{}-{seed}", subject.name()));
            write(&root.join("clean"), &case.texts(None));
            fs::write(root.join("fabric.toml"), fabric_file::text(&case.plan)).expect("a folder");
            for mistake in &case.mistakes {
                write(&root.join(mistake.name.replace(' ', "-")), &case.texts(Some(mistake)));
            }
        }
    }
}

fn write(dir: &Path, texts: &case::Texts) {
    for (name, text) in texts {
        let path = dir.join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder that can be made");
        fs::write(path, text).expect("a file that can be written");
    }
}
