//! What `xoff validate` prints: the verdict first, then what to change.

use crate::output::style::Style;
use crate::output::table::{Align, Table};
use crate::output::{printable, wrap};
use std::fmt::Write;
use std::path::Path;
use xoff_report::Verdict;
use xoff_validate::Check;
use xoff_validate::page::sentence;
use xoff_validate::remedy::Advised;
use xoff_validate::suite::Curtailment;
use xoff_validate::validation::{Proposal, Validation};

/// The page, in at most `width` columns where that can be.
pub(super) fn render(
    validation: &Validation,
    advised: Option<&Advised>,
    folder: &Path,
    width: usize,
    style: Style,
) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = writeln!(
        text,
        "{}  {}  score {} of 100  seed {}{}\n{}\n",
        style.bold(&printable(&validation.fabric)),
        word(validation.verdict, style),
        validation.score,
        validation.seed,
        if validation.quick { "  quick" } else { "" },
        sentence(validation),
    );
    text += &answers(validation, width, style);
    text.push('\n');
    if let Some(said) = validation.curtailment.as_ref().and_then(Curtailment::sentence) {
        text += &wrapped("", &said, width);
        text.push('\n');
    }
    text += &phases(validation, width, style);
    for check in validation.checks.iter().filter(|check| check.verdict != Verdict::Pass) {
        text.push('\n');
        text += &finding(check, width, style);
    }
    if !validation.changes.is_empty() {
        let _ = writeln!(text, "\n{}", style.bold("What to change"));
        for (proposal, number) in validation.changes.iter().zip(1..) {
            text += &change(proposal, number, width, style);
        }
        text += &outcome(advised, folder, width);
    }
    let report = folder.join("report.html").display().to_string();
    let _ = writeln!(text, "\n{}  {}", style.dim("report"), printable(&report));
    text
}

/// The verdict in the word that the page's badge has.
fn word(verdict: Verdict, style: Style) -> String {
    let word = verdict.name().to_uppercase();
    match verdict {
        Verdict::Pass => style.green(&word),
        Verdict::Warn => style.yellow(&word),
        Verdict::Fail => style.red(&word),
    }
}

/// The three answers.
fn answers(validation: &Validation, width: usize, style: Style) -> String {
    let mut text = String::new();
    for result in &validation.aspects {
        let word = match result.verdict {
            Verdict::Pass => style.green("pass"),
            Verdict::Warn => style.yellow("warn"),
            Verdict::Fail => style.red("fail"),
        };
        let label = format!("{:<11}  {word}  ", result.aspect.name());
        let plain = 11 + 2 + 4 + 2;
        let lines = wrap(&printable(&result.answer), width.saturating_sub(plain + 2).max(20));
        for (index, line) in lines.iter().enumerate() {
            let before = if index == 0 { label.clone() } else { " ".repeat(plain) };
            text += &format!("  {before}{line}\n");
        }
    }
    text
}

/// What the fabric is with all that is advised.
fn outcome(advised: Option<&Advised>, folder: &Path, width: usize) -> String {
    let Some(advised) = advised else { return String::new() };
    let file = printable(&folder.join("advised.toml").display().to_string());
    let words = match (advised.verdict, advised.remaining.as_slice()) {
        (Verdict::Pass, _) if !advised.whole => format!(
            "with all of it ({file}) every check passes that was tried again, score {}",
            advised.score
        ),
        (Verdict::Pass, _) => {
            format!("with all of it ({file}) every check passes, score {}", advised.score)
        }
        (_, _) if advised.score == 0 => {
            format!("with all of it the file describes a fabric ({file}); validate that one next")
        }
        (_, remaining) if !advised.whole => format!(
            "with all of it ({file}), as far as it was tried, the score is {}; what remains: {}",
            advised.score,
            remaining.join(", ")
        ),
        (_, remaining) => format!(
            "with all of it ({file}) the score is {}; what remains: {}",
            advised.score,
            remaining.join(", ")
        ),
    };
    wrapped("", &words, width)
}

fn phases(validation: &Validation, width: usize, style: Style) -> String {
    let columns = [
        ("phase", Align::Left),
        ("verdict", Align::Left),
        ("score", Align::Right),
        ("pass", Align::Right),
        ("warn", Align::Right),
        ("fail", Align::Right),
    ];
    let mut table = Table::new(&columns);
    for result in &validation.phases {
        let [passed, warned, failed] = result.counts.map(|count| count.to_string());
        let title = result.phase.title().to_owned();
        let verdict = result.verdict.name().to_owned();
        table.row([title, verdict, result.score.to_string(), passed, warned, failed]);
    }
    table.render(width, style)
}

fn finding(check: &Check, width: usize, style: Style) -> String {
    let word = match check.verdict {
        Verdict::Fail => style.red("fail"),
        _ => style.yellow("warn"),
    };
    let mut text = format!("{word}  {}  {}\n", style.bold(&check.heading()), style.dim(&check.id));
    text += &wrapped("seen      ", &check.measured, width);
    text += &wrapped("expected  ", &check.expected, width);
    if let Some(advice) = &check.advice {
        text += &wrapped("advice    ", &advice.text, width);
    }
    text
}

fn change(proposal: &Proposal, number: usize, width: usize, style: Style) -> String {
    let mut text = wrapped(&format!("{number}. "), &proposal.advice.text, width);
    for line in proposal.advice.lines().lines().filter(|line| !line.is_empty()) {
        text += &format!("       {}\n", style.cyan(&printable(line)));
    }
    let Some(effect) = &proposal.effect else { return text };
    let mut said = format!("tried: score {} becomes {}", effect.before, effect.score);
    for turn in &effect.better {
        said += &format!("; {} from {} to {}", turn.check, turn.measured.0, turn.measured.1);
    }
    for turn in &effect.worse {
        said += &format!("; worse: {} from {} to {}", turn.check, turn.measured.0, turn.measured.1);
    }
    text += &wrapped("   ", &said, width);
    text
}

/// Text behind a label, in lines that fit.
fn wrapped(label: &str, text: &str, width: usize) -> String {
    let room = width.saturating_sub(label.chars().count() + 4).max(20);
    let lines = wrap(text, room);
    let blank = " ".repeat(label.chars().count());
    let row = |(index, line): (usize, &String)| {
        format!("    {}{line}\n", if index == 0 { label } else { &blank })
    };
    lines.iter().enumerate().map(row).collect()
}
