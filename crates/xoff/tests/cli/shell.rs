//! What shells and `man` make of the program: completion scripts and manual pages.

use super::{code, output, stderr, stdout};
use std::path::Path;
use std::process::Command;

/// The commands, as the program lists them.
fn commands() -> Vec<String> {
    let help = output(Path::new("."), &["--help"]);
    let lines = stdout(&help).lines();
    let listed = lines.skip_while(|line| *line != "Commands:").skip(1);
    let listed = listed.take_while(|line| !line.is_empty());
    let names = listed.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    let names = names.filter_map(|line| line.split_whitespace().next()).map(str::to_owned);
    let names: Vec<String> = names.filter(|name| name != "help").collect();
    assert!(names.len() > 10, "{names:?}");
    names
}

fn script(shell: &str) -> String {
    let output = output(Path::new("."), &["completions", shell]);
    assert_eq!(code(&output), Some(0), "{}", stderr(&output));
    stdout(&output).to_owned()
}

/// Whether a program is on this machine; says so when it is not.
fn is_there(program: &str, test: &str) -> bool {
    let there = Command::new(program).arg("--version").output().is_ok();
    if !there {
        eprintln!("SKIPPED {test}: {program} is not installed");
    }
    there
}

#[test]
fn completions_know_every_command() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = script(shell);
        for command in commands() {
            assert!(script.contains(&command), "no `{command}` for {shell}");
        }
        assert!(script.contains("oversubscription"), "no options of `plan` for {shell}");
    }
}

#[test]
fn shells_accept_their_completions() {
    let folder = tempfile::tempdir().unwrap();
    for shell in ["bash", "zsh", "fish"] {
        if !is_there(shell, &format!("the completions of {shell}")) {
            continue;
        }
        let file = folder.path().join(shell);
        std::fs::write(&file, script(shell)).unwrap();
        let read = Command::new(shell).arg("-n").arg(&file).output().unwrap();
        let said = String::from_utf8_lossy(&read.stderr);
        assert!(read.status.success() && said.is_empty(), "{shell}: {said}");
    }
}

#[test]
fn bash_completes_commands_and_options() {
    if !is_there("bash", "bash_completes_commands_and_options") {
        return;
    }
    let complete = |words: &str, index: usize| {
        let ask = format!(
            "{}\nCOMP_WORDS=({words}); COMP_CWORD={index}; _xoff xoff \"${{COMP_WORDS[{index}]}}\" \
             \"${{COMP_WORDS[{index}-1]}}\"; echo \"${{COMPREPLY[@]}}\"",
            script("bash")
        );
        let answer = Command::new("bash").args(["--norc", "-c", &ask]).output().unwrap();
        String::from_utf8_lossy(&answer.stdout).trim().to_owned()
    };
    assert_eq!(complete("xoff va", 1), "validate");
    assert_eq!(complete("xoff plan --spine-", 2), "--spine-oversubscription");
    assert_eq!(complete("xoff schema s", 2), "scenario");
}

#[test]
fn there_is_a_manual_page_for_every_command() {
    let folder = tempfile::tempdir().unwrap();
    let written = output(folder.path(), &["man", "--out", "man1"]);
    assert_eq!(code(&written), Some(0), "{}", stderr(&written));
    for command in commands() {
        let path = folder.path().join(format!("man1/xoff-{command}.1"));
        let page = std::fs::read_to_string(&path).expect("a page");
        for part in [".TH ", ".SH NAME", ".SH SYNOPSIS", ".SH OPTIONS", "Examples:"] {
            assert!(page.contains(part), "no `{part}` for {command}");
        }
        for line in page.lines().filter(|line| line.starts_with(['.', '\''])) {
            let request = line[1..].split_whitespace().next().unwrap_or_default();
            let known =
                ["TH", "SH", "SS", "TP", "br", "RS", "RE", "nf", "fi", "ie", "el", "PP", "IP"];
            assert!(known.contains(&request), "{command}: {line}");
        }
    }
    let printed = output(folder.path(), &["man"]);
    let kept = std::fs::read_to_string(folder.path().join("man1/xoff.1")).unwrap();
    assert_eq!(stdout(&printed), kept);
}

#[test]
fn man_shows_the_pages() {
    if !is_there("man", "man_shows_the_pages") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(code(&output(folder.path(), &["man", "--out", "."])), Some(0));
    let mut man = Command::new("man");
    man.current_dir(folder.path()).env("MANWIDTH", "80").env("MANPAGER", "cat").env("LC_ALL", "C");
    let shown = man.args(["-l", "xoff-plan.1"]).output().unwrap();
    let text = String::from_utf8_lossy(&shown.stdout);
    if !shown.status.success() || text.is_empty() {
        // Images without documentation have a `man` that only says so.
        eprintln!("SKIPPED man_shows_the_pages: {}", String::from_utf8_lossy(&shown.stderr));
        return;
    }
    for part in ["SYNOPSIS", "xoff plan 1024 --out pod", "currency = \"EUR\""] {
        assert!(text.lines().any(|line| line.contains(part)), "no `{part}` in\n{text}");
    }
}
