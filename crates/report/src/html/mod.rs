//! The page: head, verdict, contents, sections, facts.

mod block;
mod plot;
mod style;
mod table;
mod text;

pub(super) use text::{clean, escape};

use super::{Block, Fact, Report, Section, Tile, Unit, Value, Verdict};
use std::collections::BTreeMap;
use text::{Ids, prose};

/// The only script, in one scope: how numbers are shown, light and dark, folds and links, copying,
/// tables, plots. The page can be read without it.
const SCRIPT: &str = concat!(
    "\"use strict\";\n{\n",
    include_str!("script/number.js"),
    include_str!("script/page.js"),
    include_str!("script/table.js"),
    include_str!("script/scale.js"),
    include_str!("script/plot.js"),
    include_str!("script/zoom.js"),
    "}\n"
);

/// What the browser may do with the page: nothing but its own styles and its one script, by hash.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; \
form-action 'none'; script-src 'sha256-SCRIPT_HASH'";

/// SHA-256 of [`SCRIPT`], as the policy names it.
const SCRIPT_HASH: &str = "NcvJ8tRQDZX57rFC358C8I28Pd9ErBv3azCu6e8ho2U=";

/// Where the facts are.
const FACTS: &str = "facts";

/// What is known about the page while it is written.
#[derive(Default)]
struct Page {
    ids: Ids,
    /// Anchors of sections and checks by their id.
    anchors: BTreeMap<String, String>,
    /// Anchors of checks that are not written yet.
    due: BTreeMap<String, String>,
}

pub(super) fn page(report: &Report) -> String {
    let mut page = Page::default();
    for own in ["main", "theme"] {
        page.ids.exactly(own);
    }
    let facts = page.ids.take("s", FACTS);
    let anchor = |section: &Section| {
        let anchor = page.ids.take("s", &section.id);
        page.anchors.entry(section.id.clone()).or_insert_with(|| anchor.clone());
        anchor
    };
    let anchors: Vec<String> = report.sections.iter().map(anchor).collect();
    for section in &report.sections {
        page.find_checks(&section.blocks);
    }
    let mut out = head(&report.title);
    out += &page.header(report);
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
         <title>{}</title>\n<style>{}</style>\n</head>\n<body data-units=\"{}\">\n\
         <a class=\"skip\" href=\"#main\">Skip to the results</a>\n",
        POLICY.replace("SCRIPT_HASH", SCRIPT_HASH),
        env!("CARGO_PKG_VERSION"),
        escape(title),
        style::sheet(),
        escape(&Unit::prefixes()),
    )
}

/// The verdict first, the figures that matter most, and how to repeat it.
impl Page {
    fn header(&self, report: &Report) -> String {
        let tone = report.verdict.map_or("plain", Verdict::name);
        let mut out = format!("<header class=\"top {tone}\">\n<div class=\"inner\">\n");
        out += "<p class=\"brand\"><span>xoff</span>\
            <button type=\"button\" id=\"theme\" hidden>Light or dark</button></p>\n";
        out += &format!("<h1>{}</h1>\n<p class=\"headline\">", escape(&report.title));
        if let Some(verdict) = report.verdict {
            out += &badge(verdict);
            out.push(' ');
        }
        out += &format!("<span>{}</span></p>\n", prose(&report.headline));
        if !report.points.is_empty() {
            out += "<ul class=\"points\">\n";
            for point in &report.points {
                out += &format!("<li>{}</li>\n", prose(point));
            }
            out += "</ul>\n";
        }
        self.strip(&mut out, &report.tiles);
        if let Some(command) = report.facts.iter().find(|fact| fact.code) {
            out += &format!(
                "<p class=\"command\"><span>{}</span> <code>{}</code></p>\n",
                escape(&command.name),
                escape(&command.value)
            );
        }
        out + "</div>\n</header>\n"
    }

    /// Gives every check that something may lead to its anchor, in the order of the page.
    fn find_checks(&mut self, blocks: &[Block]) {
        for block in blocks {
            match block {
                Block::Check(check) if !check.id.is_empty() => {
                    if self.due.contains_key(&check.id) {
                        continue;
                    }
                    let anchor = self.ids.exactly(&check.id);
                    self.due.insert(check.id.clone(), anchor.clone());
                    self.anchors.entry(check.id.clone()).or_insert(anchor);
                }
                Block::Fold(fold) => self.find_checks(&fold.blocks),
                _ => {}
            }
        }
    }

    /// Tiles; none are nothing.
    fn strip(&self, out: &mut String, tiles: &[Tile]) {
        if tiles.is_empty() {
            return;
        }
        *out += "<dl class=\"tiles\">\n";
        for tile in tiles {
            let tone = tile.verdict.map_or("plain", Verdict::name);
            let value = match &tile.value {
                Value::Number(number) => escape(&number.to_string()),
                Value::Words(words) => escape(words),
            };
            let value = match tile.link.as_ref().and_then(|id| self.anchors.get(id)) {
                Some(anchor) => format!("<a href=\"#{anchor}\">{value}</a>"),
                None => value,
            };
            let word = tile.verdict.map_or(String::new(), dot);
            let name = escape(&tile.name);
            *out += &format!("<div class=\"{tone}\"><dt>{name}{word}</dt><dd>{value}");
            if let Some(note) = &tile.note {
                *out += &format!("<small>{}</small>", prose(note));
            }
            *out += "</dd></div>\n";
        }
        *out += "</dl>\n";
    }
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
        let name = escape(&fact.name);
        let value = match fact.code {
            true => format!("<code>{}</code>", escape(&fact.value)),
            false => prose(&fact.value),
        };
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
        out += &hash_link(anchor, &section.title);
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

/// The symbol from which the address of a part of the page is copied.
fn hash_link(anchor: &str, name: &str) -> String {
    format!(" <a class=\"anchor\" href=\"#{anchor}\" aria-label=\"Link to {}\">#</a>", escape(name))
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
