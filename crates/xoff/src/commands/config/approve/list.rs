//! `xoff config --approvals`: all records, and whether each of them holds.

use super::{Book, Options};
use crate::exit::{Exit, Failure, Level, say};
use crate::output::style::Style;
use crate::output::{self, printable};
use serde::Serialize;
use std::fmt::Write;
use std::fs;
use std::path::Path;
use xoff_config::approval::{Part, Standing};

/// Lists the approvals of a fabric file.
pub(in super::super) fn list(fabric: &Path, options: &Options) -> Result<Exit, Failure> {
    let text = fs::read_to_string(fabric)
        .map_err(|error| Failure::input(format!("cannot read `{}`: {error}", fabric.display())))?;
    let book = Book::open(fabric, options.approvers.as_deref())?;
    let same_file = book.in_force().is_some_and(|record| record.fabric == text);
    if options.json {
        output::stdout_json(&Answer::of(&book, same_file))?;
    } else {
        output::stdout(&page(&book, same_file, Style::stdout()))?;
    }
    let refusals = book.refusals();
    for refusal in &refusals {
        say(Level::Error, refusal);
    }
    let fine = same_file && book.judgement.left_out().next().is_none();
    Ok(match (refusals.is_empty(), fine) {
        (false, _) => Exit::BadInput,
        (true, false) => Exit::BrokeARule,
        (true, true) => Exit::Fine,
    })
}

/// What a record is worth: a word for machines, and a sentence.
fn standing(book: &Book, index: usize) -> (&'static str, String) {
    let Some(verdict) = book.judgement.verdicts.get(index) else {
        return ("unknown", String::new());
    };
    let in_force = book.judgement.in_force.as_ref().is_some_and(|now| now.index == index);
    match &verdict.standing {
        Standing::Broken(breaks) => {
            let why: Vec<String> = breaks.iter().map(ToString::to_string).collect();
            ("broken", format!("refused: {}", why.join("; ")))
        }
        Standing::Idle(reason) => ("left-out", format!("does not count: {reason}")),
        Standing::Pending { have, needed } => {
            ("pending", format!("counts: {have} of {needed} approvals that are needed"))
        }
        Standing::Enough if in_force => ("in-force", "in force".to_owned()),
        Standing::Enough => ("holds", "holds; replaced or confirmed by a later one".to_owned()),
    }
}

/// What a record changes, in words; `None` of a record that was not looked at that far.
fn changes(book: &Book, index: usize) -> Option<Vec<&'static str>> {
    let parts = book.judgement.verdicts.get(index)?.changed.as_ref()?;
    Some(match *parts == Part::all() {
        true => vec!["everything"],
        false => parts.iter().map(|part| part.name()).collect(),
    })
}

fn page(book: &Book, same_file: bool, style: Style) -> String {
    let mut text = String::new();
    for (index, record) in book.records.iter().enumerate() {
        let role = record.role.as_ref().map_or(String::new(), |role| format!(" as {role}"));
        let _ = writeln!(
            text,
            "{}  {}  {}{}  intent {} ({})  {}",
            index + 1,
            printable(&record.when),
            style.bold(&printable(&record.who)),
            printable(&role),
            printable(record.intent.get(..12).unwrap_or(&record.intent)),
            printable(&record.balancing),
            book.signed(index)
        );
        let changes = match changes(book, index) {
            None => String::new(),
            Some(parts) if parts.is_empty() => "changes no value; ".to_owned(),
            Some(parts) => format!("changes {}; ", parts.join(", ")),
        };
        let (word, sentence) = standing(book, index);
        let sentence = printable(&sentence);
        let sentence = match word {
            "broken" => style.red(&sentence),
            "left-out" | "pending" => style.yellow(&sentence),
            _ => style.green(&sentence),
        };
        let _ = writeln!(text, "   {changes}{sentence}");
    }
    let _ = writeln!(text, "{}", summary(book, same_file));
    text
}

fn summary(book: &Book, same_file: bool) -> String {
    let by = match &book.signers {
        Some(signers) => format!("by `{}`", printable(&signers.path.display().to_string())),
        None => "nothing says who may approve: signatures and names are not held against \
                 anything"
            .to_owned(),
    };
    let Some(in_force) = &book.judgement.in_force else {
        return format!("no approval is in force ({by})");
    };
    let file = match same_file {
        true => "the fabric file is the approved one",
        false => "the fabric file is not the approved one",
    };
    let who: Vec<String> = in_force.who.iter().map(|who| printable(who)).collect();
    let signed = book.signed(in_force.index);
    format!(
        "record {} is in force, of {} ({signed}; {by}); {file}",
        in_force.index + 1,
        who.join(", ")
    )
}

/// The list for machines.
#[derive(Debug, Serialize)]
struct Answer<'a> {
    tool: &'static str,
    version: &'static str,
    file: String,
    approvers: Option<String>,
    records: Vec<Entry<'a>>,
    /// The number of the record that is in force.
    in_force: Option<usize>,
    approved_by: &'a [String],
    same_file: bool,
    /// The hash of the last record: a file that ends earlier has another one.
    head: Option<String>,
}

#[derive(Debug, Serialize)]
struct Entry<'a> {
    number: usize,
    who: &'a str,
    role: Option<&'a str>,
    when: &'a str,
    intent: &'a str,
    balancing: &'a str,
    signature: &'static str,
    changes: Option<Vec<&'static str>>,
    standing: &'static str,
    message: String,
}

impl<'a> Answer<'a> {
    fn of(book: &'a Book, same_file: bool) -> Self {
        let entry = |(index, record): (usize, &'a xoff_config::Approval)| {
            let (word, message) = standing(book, index);
            Entry {
                number: index + 1,
                who: &record.who,
                role: record.role.as_deref(),
                when: &record.when,
                intent: &record.intent,
                balancing: &record.balancing,
                signature: book.signed(index),
                changes: changes(book, index),
                standing: word,
                message,
            }
        };
        let in_force = book.judgement.in_force.as_ref();
        Self {
            tool: "xoff",
            version: env!("CARGO_PKG_VERSION"),
            file: book.path.display().to_string(),
            approvers: book.signers.as_ref().map(|signers| signers.path.display().to_string()),
            records: book.records.iter().enumerate().map(entry).collect(),
            in_force: in_force.map(|in_force| in_force.index + 1),
            approved_by: in_force.map_or(&[], |in_force| &in_force.who),
            same_file,
            head: book.records.last().map(xoff_config::Approval::hash),
        }
    }
}
