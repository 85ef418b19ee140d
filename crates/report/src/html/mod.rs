//! The page: head, verdict, contents, sections, facts.

mod block;
mod style;
mod text;

pub(super) use text::clean;

use super::{Fact, Report, Section, Verdict};
use std::collections::BTreeMap;
use text::{Ids, escape, prose};

/// The only script: it turns light to dark and back.
const SCRIPT: &str = include_str!("script.js");

/// What the browser may do with the page: nothing but its own styles and its one script, by hash.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; \
form-action 'none'; script-src 'sha256-SCRIPT_HASH'";

/// SHA-256 of [`SCRIPT`], as the policy names it.
const SCRIPT_HASH: &str = "FeBCbWDIZUVQ+CRBPLHRQH5YN344ce/qWiA9RqzFoJ0=";

/// Where the facts are.
const FACTS: &str = "facts";

/// What is known about the page while it is written.
struct Page {
    ids: Ids,
    /// Anchors of sections by their id.
    sections: BTreeMap<String, String>,
}

pub(super) fn page(report: &Report) -> String {
    let mut page = Page { ids: Ids::default(), sections: BTreeMap::new() };
    let facts = page.ids.take("s", FACTS);
    let anchor = |section: &Section| {
        let anchor = page.ids.take("s", &section.id);
        page.sections.entry(section.id.clone()).or_insert_with(|| anchor.clone());
        anchor
    };
    let anchors: Vec<String> = report.sections.iter().map(anchor).collect();
    let mut out = head(&report.title);
    out += &header(report);
    out += "<div class=\"frame\">\n";
    out += &contents(report, &anchors, &facts);
    out += "<main id=\"main\">\n";
    for (section, anchor) in report.sections.iter().zip(&anchors) {
        out += &page.section(section, anchor);
    }
    out += &facts_section(&report.facts, &facts);
    out += "</main>\n</div>\n";
    out += &format!("<script>{SCRIPT}</script>\n</body>\n</html>\n");
    out
}

fn head(title: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <meta name=\"generator\" content=\"xoff {}\">\n\
         <title>{}</title>\n<style>{}</style>\n</head>\n<body>\n\
         <a class=\"skip\" href=\"#main\">Skip to the results</a>\n",
        POLICY.replace("SCRIPT_HASH", SCRIPT_HASH),
        env!("CARGO_PKG_VERSION"),
        escape(title),
        style::sheet(),
    )
}

/// The verdict first, and how to repeat it.
fn header(report: &Report) -> String {
    let tone = report.verdict.map_or("plain", Verdict::name);
    let mut out = format!("<header class=\"top {tone}\">\n<div class=\"inner\">\n");
    out += "<p class=\"brand\"><span>xoff</span>\
            <button type=\"button\" id=\"theme\" hidden>Light or dark</button></p>\n";
    out += &format!("<h1>{}</h1>\n<p class=\"headline\">", escape(&report.title));
    if let Some(verdict) = report.verdict {
        out += &badge(verdict);
        out.push(' ');
    }
    out += &format!("<span>{}</span></p>\n", escape(&report.headline));
    if let Some(command) = report.facts.iter().find(|fact| fact.code) {
        out += &format!(
            "<p class=\"command\"><span>{}</span> <code>{}</code></p>\n",
            escape(&command.name),
            escape(&command.value)
        );
    }
    out + "</div>\n</header>\n"
}

fn contents(report: &Report, anchors: &[String], facts: &str) -> String {
    let mut out = "<nav aria-label=\"Contents\">\n<ol>\n".to_owned();
    for (section, anchor) in report.sections.iter().zip(anchors) {
        let dot = section.verdict.map_or(String::new(), dot);
        let title = escape(&section.title);
        out += &format!("<li><a href=\"#{anchor}\"><span>{title}</span>{dot}</a></li>\n");
    }
    if !report.facts.is_empty() {
        out += &format!("<li><a href=\"#{facts}\"><span>{FACTS_TITLE}</span></a></li>\n");
    }
    out + "</ol>\n</nav>\n"
}

const FACTS_TITLE: &str = "How to repeat this";

fn facts_section(facts: &[Fact], anchor: &str) -> String {
    if facts.is_empty() {
        return String::new();
    }
    let mut out =
        format!("<section id=\"{anchor}\" class=\"facts\">\n<h2>{FACTS_TITLE}</h2>\n<dl>\n");
    for fact in facts {
        let (name, value) = (escape(&fact.name), escape(&fact.value));
        let value = if fact.code { format!("<code>{value}</code>") } else { value };
        out += &format!("<div><dt>{name}</dt><dd>{value}</dd></div>\n");
    }
    out + "</dl>\n</section>\n"
}

impl Page {
    fn section(&mut self, section: &Section, anchor: &str) -> String {
        let mut out = format!("<section id=\"{anchor}\">\n<h2>{}", escape(&section.title));
        if let Some(verdict) = section.verdict {
            out += &format!(" {}", badge(verdict));
        }
        out += "</h2>\n";
        if let Some(lead) = &section.lead {
            out += &format!("<p class=\"lead\">{}</p>\n", prose(lead));
        }
        for block in &section.blocks {
            self.block(&mut out, block, 0);
        }
        out + "</section>\n"
    }
}

const fn symbol(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Pass => "✓",
        Verdict::Warn => "!",
        Verdict::Fail => "✗",
    }
}

/// A verdict that does not rely on its colour.
fn badge(verdict: Verdict) -> String {
    let name = verdict.name();
    format!(
        "<span class=\"badge {name}\"><span aria-hidden=\"true\">{}</span> {name}</span>",
        symbol(verdict)
    )
}

/// A verdict in the contents list.
fn dot(verdict: Verdict) -> String {
    let name = verdict.name();
    format!(
        "<span class=\"dot {name}\" role=\"img\" aria-label=\"{name}\">{}</span>",
        symbol(verdict)
    )
}
