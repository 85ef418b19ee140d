//! Blocks as HTML.

use super::text::{data_address, escape, prose, slug};
use super::{Page, badge, hash_link};
use crate::{Block, Check, Fold, Verdict};

/// Evidence within evidence, and folds within folds, are shown to this depth.
const DEPTH: usize = 4;

impl Page {
    /// Writes a block that lies in this many checks and folds.
    pub(super) fn block(&mut self, out: &mut String, block: &Block, depth: usize) {
        match block {
            Block::Text(text) => paragraphs(out, text),
            Block::List(points) => list(out, points),
            Block::Tiles(tiles) => self.strip(out, tiles),
            Block::Table(table) => self.table(out, table),
            Block::Figure(figure) => self.figure(out, figure),
            Block::Check(check) => self.check(out, check, depth),
            Block::Code(code) => code_block(out, code),
            Block::Fold(fold) => self.fold(out, fold, depth),
        }
    }

    fn fold(&mut self, out: &mut String, fold: &Fold, depth: usize) {
        if fold.blocks.is_empty() || depth >= DEPTH {
            return;
        }
        let open = if fold.open { " open" } else { "" };
        *out +=
            &format!("<details class=\"fold\"{open}>\n<summary>{}</summary>\n", prose(&fold.title));
        for block in &fold.blocks {
            self.block(out, block, depth + 1);
        }
        *out += "</details>\n";
    }

    fn check(&mut self, out: &mut String, check: &Check, depth: usize) {
        let verdict = check.verdict;
        let anchor = match self.due.remove(&check.id) {
            Some(anchor) => anchor,
            None => self.ids.take("c", &check.name),
        };
        *out += &format!("<article class=\"check {}\" id=\"{anchor}\">\n<h3>", verdict.name());
        let link = hash_link(&anchor, &check.name);
        *out += &format!("{} {}{link}</h3>\n<dl>\n", badge(verdict), escape(&check.name));
        let lines =
            [("Done", &check.done), ("Measured", &check.measured), ("Expected", &check.expected)];
        for (name, text) in lines.into_iter().filter(|(_, text)| !text.is_empty()) {
            *out += &format!("<div><dt>{name}</dt><dd>{}</dd></div>\n", prose(text));
        }
        *out += "</dl>\n";
        if let Some(advice) = &check.advice {
            let text = prose(advice);
            *out += &format!("<p class=\"advice\"><strong>What to do.</strong> {text}</p>\n");
        }
        if let Some(lines) = check.lines.as_ref().filter(|lines| !lines.is_empty()) {
            code_block(out, lines);
        }
        if !check.evidence.is_empty() && depth < DEPTH {
            let open = if verdict == Verdict::Pass { "" } else { " open" };
            *out += &format!("<details{open}>\n<summary>Evidence</summary>\n");
            for block in &check.evidence {
                self.block(out, block, depth + 1);
            }
            *out += "</details>\n";
        }
        *out += "</article>\n";
    }
}

/// Lines to be copied: the script puts a button beside them.
fn code_block(out: &mut String, code: &str) {
    let code = escape(code.trim_end_matches('\n'));
    *out += &format!("<div class=\"code\"><pre tabindex=\"0\"><code>{code}</code></pre></div>\n");
}

/// A link that needs no script.
pub(super) fn download(out: &mut String, name: &str, data: &str) {
    let file = slug(name);
    let address = data_address("text/csv", data);
    *out += &format!(
        " <a class=\"csv\" download=\"{file}.csv\" href=\"{address}\" \
         aria-label=\"Download {file}.csv\">CSV</a>"
    );
}

fn paragraphs(out: &mut String, text: &str) {
    for part in text.split("\n\n").filter(|part| !part.trim().is_empty()) {
        *out += &format!("<p>{}</p>\n", prose(part.trim()));
    }
}

fn list(out: &mut String, points: &[String]) {
    *out += "<ul>\n";
    for point in points {
        *out += &format!("<li>{}</li>\n", prose(point));
    }
    *out += "</ul>\n";
}
