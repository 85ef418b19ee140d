//! Tables as HTML, with what the script needs to sort and filter them.

use super::block::download;
use super::text::escape;
use super::{Page, badge, hash_link};
use crate::{Cell, Column, Number, Table};

impl Page {
    pub(super) fn table(&mut self, out: &mut String, table: &Table) {
        let id = self.ids.take("t", &table.id);
        let caption = escape(&table.caption);
        let all = table.rows.len();
        *out += &format!("<figure class=\"table\" id=\"{id}\" data-rows=\"{all}\">\n");
        *out += &format!("<figcaption>{caption}");
        if all > Table::SHOWN {
            let (all, kept) = (Number::count(all as u64), all.min(Table::KEPT) as u64);
            let kept = Number::count(kept);
            *out += &format!(
                " <em>The first {} of {all} rows; the CSV holds {kept}.</em>",
                Table::SHOWN
            );
        }
        *out += &hash_link(&id, &table.caption);
        download(out, &table.id, &table.csv());
        *out += "</figcaption>\n";
        *out += &format!(
            "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-labelledby=\"{id}-h\">\n\
             <table>\n<caption id=\"{id}-h\" class=\"unseen\">{caption}</caption>\n<thead><tr>"
        );
        for column in &table.columns {
            let unit = match column.unit {
                Some(unit) => format!(" class=\"number\" data-unit=\"{}\"", escape(&unit.name())),
                None => String::new(),
            };
            *out += &format!("<th scope=\"col\"{unit}>{}</th>", escape(&column.name));
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
            Cell::Link { text, section } => match self.anchors.get(section) {
                Some(anchor) => format!("<a href=\"#{anchor}\">{}</a>", escape(text)),
                None => escape(text),
            },
        };
        // What rows are sorted by, where the words say it in another order.
        let value = match cell {
            Cell::Number(number) if number.value.is_finite() => {
                format!(" data-v=\"{}\"", number.value)
            }
            Cell::Verdict(verdict) => format!(" data-v=\"{}\"", *verdict as u8),
            _ => String::new(),
        };
        let side = if column.unit.is_some() { " class=\"number\"" } else { "" };
        *out += &format!("<td{side}{value}>{inner}</td>");
    }
}
