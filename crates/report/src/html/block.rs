//! Blocks as HTML.

use super::text::{data_address, escape, prose, slug};
use super::{Page, badge};
use crate::draw::{self, Key};
use crate::{Block, Cell, Check, Column, Figure, Table, Tile, Verdict, csv};

/// Evidence within evidence is shown to this depth.
const DEPTH: usize = 3;

impl Page {
    /// Writes a block that lies in this many checks.
    pub(super) fn block(&mut self, out: &mut String, block: &Block, depth: usize) {
        match block {
            Block::Text(text) => paragraphs(out, text),
            Block::List(points) => list(out, points),
            Block::Tiles(tiles) => strip(out, tiles),
            Block::Table(table) => self.table(out, table),
            Block::Figure(figure) => self.figure(out, figure),
            Block::Check(check) => self.check(out, check, depth),
            Block::Code(code) => {
                *out += &format!("<pre tabindex=\"0\"><code>{}</code></pre>\n", escape(code));
            }
        }
    }

    fn check(&mut self, out: &mut String, check: &Check, depth: usize) {
        let verdict = check.verdict;
        *out += &format!("<article class=\"check {}\">\n<h3>", verdict.name());
        *out += &format!("{} {}</h3>\n<dl>\n", badge(verdict), escape(&check.name));
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

    fn table(&mut self, out: &mut String, table: &Table) {
        let id = self.ids.take("t", &table.id);
        let caption = escape(&table.caption);
        *out += &format!("<figure class=\"table\" id=\"{id}\">\n<figcaption>{caption}");
        let all = table.rows.len();
        if all > Table::SHOWN {
            let kept = all.min(Table::KEPT);
            *out += &format!(
                " <em>The first {} of {all} rows; the CSV holds {kept}.</em>",
                Table::SHOWN
            );
        }
        download(out, &table.id, &table.csv());
        *out += "</figcaption>\n";
        *out += &format!(
            "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-labelledby=\"{id}-h\">\n\
             <table>\n<caption id=\"{id}-h\" class=\"unseen\">{caption}</caption>\n<thead><tr>"
        );
        for column in &table.columns {
            let class = side(column);
            *out += &format!("<th scope=\"col\"{class}>{}</th>", escape(&column.name));
        }
        *out += "</tr></thead>\n<tbody>\n";
        for row in table.rows.iter().take(Table::SHOWN) {
            *out += "<tr>";
            for (at, column) in table.columns.iter().enumerate() {
                self.cell(out, row.get(at).unwrap_or(&Cell::Empty), column);
            }
            *out += "</tr>\n";
        }
        *out += "</tbody>\n</table>\n</div>\n</figure>\n";
    }

    fn cell(&self, out: &mut String, cell: &Cell, column: &Column) {
        let inner = match cell {
            Cell::Empty => String::new(),
            Cell::Text(text) => escape(text),
            Cell::Number(number) => escape(&number.to_string()),
            Cell::Verdict(verdict) => badge(*verdict),
            Cell::Link { text, section } => match self.sections.get(section) {
                Some(anchor) => format!("<a href=\"#{anchor}\">{}</a>", escape(text)),
                None => escape(text),
            },
        };
        let tag = format!("<td{}>", side(column));
        *out += &format!("{tag}{inner}</td>");
    }

    fn figure(&mut self, out: &mut String, figure: &Figure) {
        let id = self.ids.take("f", &figure.id);
        let drawing = draw::draw(&figure.plot);
        let (data, note) = csv::figure(figure);
        let title = escape(&figure.title);
        *out += &format!("<figure class=\"plot\" id=\"{id}\">\n<h4 id=\"{id}-h\">{title}</h4>\n");
        legend(out, &drawing.legend);
        for (kind, picture) in [("wide", &drawing.wide), ("narrow", &drawing.narrow)] {
            *out += &format!(
                "<svg class=\"{kind}\" viewBox=\"0 0 {} {}\" role=\"img\" \
                 aria-labelledby=\"{id}-{kind}-t {id}-{kind}-d\">\n\
                 <title id=\"{id}-{kind}-t\">{title}</title>\n\
                 <desc id=\"{id}-{kind}-d\">{}</desc>\n{}</svg>\n",
                picture.width,
                picture.height,
                escape(&drawing.description),
                picture.shapes,
            );
        }
        *out += &format!("<figcaption>{}", prose(&figure.caption));
        for note in drawing.notes.iter().chain(&note) {
            *out += &format!(" <em>{}</em>", prose(note));
        }
        download(out, &figure.id, &data);
        *out += "</figcaption>\n</figure>\n";
    }
}

fn side(column: &Column) -> &'static str {
    if column.unit.is_some() { " class=\"number\"" } else { "" }
}

/// A link that needs no script.
fn download(out: &mut String, name: &str, data: &str) {
    let file = slug(name);
    let address = data_address("text/csv", data);
    *out += &format!(
        " <a class=\"csv\" download=\"{file}.csv\" href=\"{address}\" \
         aria-label=\"Download {file}.csv\">CSV</a>"
    );
}

fn legend(out: &mut String, keys: &[Key]) {
    if keys.is_empty() {
        return;
    }
    *out += "<ul class=\"legend\">";
    for key in keys {
        *out += &format!("<li><i class=\"{}\"></i>{}</li>", key.class(), escape(&key.name));
    }
    *out += "</ul>\n";
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

fn strip(out: &mut String, tiles: &[Tile]) {
    *out += "<dl class=\"tiles\">\n";
    for tile in tiles {
        let tone = tile.verdict.map_or("plain", Verdict::name);
        let (name, value) = (escape(&tile.name), escape(&tile.value.to_string()));
        *out += &format!("<div class=\"{tone}\"><dt>{name}</dt><dd>{value}");
        if let Some(note) = &tile.note {
            *out += &format!("<small>{}</small>", escape(note));
        }
        *out += "</dd></div>\n";
    }
    *out += "</dl>\n";
}
