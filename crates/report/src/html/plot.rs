//! Figures as HTML: a picture for wide and one for narrow pages, with what the script needs to read
//! values under the pointer and to zoom.

use super::block::download;
use super::text::{escape, prose};
use super::{Page, hash_link};
use crate::draw::{self, Key};
use crate::{Figure, csv};

impl Page {
    pub(super) fn figure(&mut self, out: &mut String, figure: &Figure) {
        let id = self.ids.take("f", &figure.id);
        let drawing = draw::draw(&figure.plot);
        let (data, note) = csv::figure(figure);
        let title = escape(&figure.title);
        let link = hash_link(&id, &figure.title);
        *out +=
            &format!("<figure class=\"plot\" id=\"{id}\">\n<h4 id=\"{id}-h\">{title}{link}</h4>\n");
        legend(out, &drawing.legend);
        for (kind, picture) in [("wide", &drawing.wide), ("narrow", &drawing.narrow)] {
            let frame = picture.frame.as_ref().map_or(String::new(), |frame| {
                format!(" tabindex=\"0\" data-plot=\"{}\"", escape(&frame.json()))
            });
            *out += &format!(
                "<svg class=\"{kind}\" viewBox=\"0 0 {} {}\" role=\"img\"{frame} \
                 aria-label=\"{title}\" aria-describedby=\"{id}-{kind}-d\">\n\
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
