//! What is wrong with a file, shown on its line: the one place where findings of the libraries
//! become miette diagnostics.

use super::style::Style;
use super::{printable, stderr, stderr_width};
use miette::{
    Diagnostic, GraphicalReportHandler, GraphicalTheme, LabeledSpan, NamedSource, SourceCode,
};
use serde::Serialize;
use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// A file as it was read.
#[derive(Debug, Clone)]
pub(crate) struct SourceFile {
    /// Where it was read.
    pub(crate) path: PathBuf,
    /// What is in it.
    pub(crate) text: String,
}

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Severity {
    /// Works, but probably not as meant.
    Warning,
    /// Cannot be used.
    Error,
}

/// Something about a place in a file.
#[derive(Debug, Clone)]
pub(crate) struct Finding {
    pub(crate) severity: Severity,
    /// The rule it belongs to.
    pub(crate) code: String,
    /// What is wrong.
    pub(crate) message: String,
    /// What would be right.
    pub(crate) help: Option<String>,
    /// Which of the files it is in.
    pub(crate) file: usize,
    /// Bytes of that file's text.
    pub(crate) span: Range<usize>,
}

impl From<xoff_sweep::Problem> for Finding {
    /// In the one file of a sweep or of a tuning.
    fn from(problem: xoff_sweep::Problem) -> Self {
        Self {
            severity: Severity::Error,
            code: problem.code.to_owned(),
            message: problem.message,
            help: problem.help,
            file: 0,
            span: problem.span,
        }
    }
}

/// Files and what was found in them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Findings {
    pub(crate) files: Vec<SourceFile>,
    pub(crate) list: Vec<Finding>,
}

/// A finding for machines.
#[derive(Debug, Serialize)]
pub(crate) struct Entry<'a> {
    severity: Severity,
    code: &'a str,
    message: &'a str,
    help: Option<&'a str>,
    file: &'a Path,
    line: usize,
    column: usize,
}

impl Findings {
    /// How many errors there are.
    pub(crate) fn errors(&self) -> usize {
        self.list.iter().filter(|finding| finding.severity == Severity::Error).count()
    }

    /// Shows all of them on standard error; `quiet` leaves warnings out.
    pub(crate) fn show(&self, quiet: bool) {
        let style = Style::stderr();
        let terminal = std::io::IsTerminal::is_terminal(&std::io::stderr());
        let sources: Vec<NamedSource<String>> = self.files.iter().map(named_source).collect();
        let shown = self.list.iter().filter(|f| !quiet || f.severity == Severity::Error);
        for finding in shown {
            let report = Report { finding, source: &sources[finding.file] };
            stderr(&render(&report, terminal, style));
        }
        let errors = self.errors();
        if errors > 1 {
            stderr(&format!("{}: {errors} errors\n", style.red("error")));
        }
    }

    /// All of them for machines.
    pub(crate) fn entries(&self) -> Vec<Entry<'_>> {
        self.list.iter().map(|finding| self.entry(finding)).collect()
    }

    fn entry<'a>(&'a self, finding: &'a Finding) -> Entry<'a> {
        let file = &self.files[finding.file];
        let (line, column) = line_and_column(&file.text, finding.span.start);
        Entry {
            severity: finding.severity,
            code: &finding.code,
            message: &finding.message,
            help: finding.help.as_deref(),
            file: &file.path,
            line,
            column,
        }
    }
}

fn render(report: &Report<'_>, terminal: bool, style: Style) -> String {
    let theme = match (terminal, style.is_coloured()) {
        (true, true) => GraphicalTheme::unicode(),
        (true, false) => GraphicalTheme::unicode_nocolor(),
        (false, _) => GraphicalTheme::none(),
    };
    let handler = GraphicalReportHandler::new_themed(theme)
        .with_width(stderr_width())
        .with_context_lines(1)
        .with_links(false);
    let mut text = String::new();
    match handler.render_report(&mut text, report) {
        Ok(()) => text,
        Err(_) => format!("{report}\n"),
    }
}

/// The file for miette. Control characters must not reach the terminal; what stands in for them
/// takes as many bytes, so that spans stay right.
fn named_source(file: &SourceFile) -> NamedSource<String> {
    let clean = |c: char| match (c, c.len_utf8()) {
        ('\n' | '\t', _) => c,
        (c, 1) if c.is_control() => '?',
        (c, _) if c.is_control() => '¿',
        _ => c,
    };
    let text: String = file.text.replace("\r\n", " \n").chars().map(clean).collect();
    NamedSource::new(printable(&file.path.display().to_string()), text)
}

/// Line and column of a byte, counted from 1.
fn line_and_column(text: &str, at: usize) -> (usize, usize) {
    let before = &text[..floor_boundary(text, at)];
    let line = before.bytes().filter(|&byte| byte == b'\n').count() + 1;
    let start = before.rfind('\n').map_or(0, |newline| newline + 1);
    (line, before[start..].chars().count() + 1)
}

/// The nearest place at or before `at` where a character begins.
fn floor_boundary(text: &str, at: usize) -> usize {
    let at = at.min(text.len());
    (0..=at).rev().find(|&place| text.is_char_boundary(place)).unwrap_or(0)
}

/// The part of a span that is on its first line: a whole table would only bury the message.
fn first_line(text: &str, span: &Range<usize>) -> Range<usize> {
    let start = floor_boundary(text, span.start);
    let end = floor_boundary(text, span.end).max(start);
    let length = text[start..end].find('\n').unwrap_or(end - start);
    start..start + length
}

#[derive(Debug)]
struct Report<'a> {
    finding: &'a Finding,
    source: &'a NamedSource<String>,
}

impl fmt::Display for Report<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&printable(&self.finding.message))
    }
}

impl std::error::Error for Report<'_> {}

impl Diagnostic for Report<'_> {
    fn code<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        Some(Box::new(&self.finding.code))
    }

    fn severity(&self) -> Option<miette::Severity> {
        Some(match self.finding.severity {
            Severity::Warning => miette::Severity::Warning,
            Severity::Error => miette::Severity::Error,
        })
    }

    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.finding.help.as_ref().map(|help| Box::new(printable(help)) as Box<dyn fmt::Display>)
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        Some(self.source)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let span = first_line(self.source.inner(), &self.finding.span);
        let label = LabeledSpan::new(None, span.start, span.len());
        Some(Box::new(std::iter::once(label)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn shown(text: &str, span: Range<usize>) -> String {
        let file = SourceFile { path: "pod.toml".into(), text: text.to_owned() };
        let finding = Finding {
            severity: Severity::Error,
            code: "xoff::unknown-key".into(),
            message: "unknown key `gpuss`".into(),
            help: Some("did you mean `gpus`?".into()),
            file: 0,
            span,
        };
        let source = named_source(&file);
        render(&Report { finding: &finding, source: &source }, false, Style::PLAIN)
    }

    #[test]
    fn a_mistake_is_shown_on_its_line() {
        let text = shown("[cluster]\ngpuss = 256\nnic = \"x\"\n", 10..15);
        for part in ["pod.toml:2:1", "gpuss = 256", "unknown key `gpuss`", "did you mean `gpus`?"] {
            assert!(text.contains(part), "no `{part}` in\n{text}");
        }
        assert!(!text.contains('\u{1b}'), "{text:?}");
    }

    #[test]
    fn files_cannot_control_the_terminal() {
        let text = shown("a = \"\u{1b}[31m\u{9b}2J\"\r\nb = 1\r\n", 0..1);
        assert!(!text.contains(['\u{1b}', '\u{9b}', '\r']), "{text:?}");
    }

    proptest! {
        #[test]
        fn any_span_of_any_text_can_be_shown(
            text in "\\PC*[\\PC\n\r\t]*", a in 0usize..80, b in 0usize..80,
        ) {
            shown(&text, a..b);
            line_and_column(&text, a);
        }
    }
}
