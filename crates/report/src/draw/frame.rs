//! [`Frame`]: where a picture's axes are and what they show, for the page's script, which reads the
//! value under the pointer from the figure's CSV and draws it again when it is zoomed.

use super::ruler::Ruler;
use crate::Axis;
use crate::html::{clean, escape};

/// The inside of a picture with axes.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Frame {
    /// `lines`, `steps`, `cdf`, `timeline` or `heat`.
    pub(super) kind: &'static str,
    /// Left, top, right and bottom of the drawing within the axes, in units of the picture.
    pub(super) area: [i32; 4],
    /// To the right.
    pub(super) x: Side,
    /// Up.
    pub(super) y: Side,
    /// What colours show.
    pub(super) colour: Option<Colour>,
    /// How far down in its row a lane begins, as a share: its name stands above it.
    pub(super) inset: f64,
}

/// What colours show.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Colour {
    pub(super) axis: Axis,
    /// Rows and columns of the data in a cell of the picture.
    pub(super) each: (usize, usize),
    /// Rows and columns of the data.
    pub(super) all: (usize, usize),
}

/// One axis.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Side {
    /// Values from one to another.
    Values { axis: Axis, from: f64, to: f64 },
    /// Names at equal distances.
    Names { label: String, names: Vec<String> },
}

impl Side {
    pub(super) fn values(axis: &Axis, ruler: &Ruler) -> Self {
        Side::Values { axis: axis.clone(), from: ruler.from(), to: ruler.to() }
    }

    fn json(&self) -> String {
        match self {
            Side::Values { axis, from, to } => format!(
                "{{{},\"from\":{from:e},\"to\":{to:e},\"log\":{}}}",
                heading(axis),
                axis.scale == crate::Scale::Log
            ),
            Side::Names { label, names } => {
                let names: Vec<String> = names.iter().map(|name| text(name)).collect();
                format!("{{\"label\":{},\"names\":[{}]}}", text(label), names.join(","))
            }
        }
    }
}

impl Frame {
    /// As JSON. Numbers are finite: rulers have no others.
    pub(crate) fn json(&self) -> String {
        let [left, top, right, bottom] = self.area;
        let mut out = format!(
            "{{\"kind\":\"{}\",\"area\":[{left},{top},{right},{bottom}],\"x\":{},\"y\":{}",
            self.kind,
            self.x.json(),
            self.y.json()
        );
        if self.inset > 0.0 {
            out += &format!(",\"inset\":{}", self.inset);
        }
        if let Some(Colour { axis, each, all }) = &self.colour {
            let fold = format!("[{},{},{},{}]", each.0, each.1, all.0, all.1);
            out += &format!(",\"value\":{{{}}},\"fold\":{fold}", heading(axis));
        }
        out + "}"
    }
}

fn heading(axis: &Axis) -> String {
    format!("\"label\":{},\"unit\":{}", text(&axis.label), text(&axis.unit.name()))
}

/// Text as JSON.
fn text(text: &str) -> String {
    let mut out = String::from("\"");
    for c in clean(text).chars() {
        match c {
            '"' => out += "\\\"",
            '\\' => out += "\\\\",
            '\n' | '\t' => out.push(' '),
            c => out.push(c),
        }
    }
    out + "\""
}

/// A place in a picture that says something: a box nobody sees, with its words. Browsers show them
/// without the script, too.
pub(super) fn spot(left: i32, top: i32, right: i32, bottom: i32, words: &str) -> String {
    format!(
        "<rect class=\"spot\" x=\"{left}\" y=\"{top}\" width=\"{}\" height=\"{}\"><title>{}</title></rect>\n",
        (right - left).max(1),
        (bottom - top).max(1),
        escape(words)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Unit;
    use proptest::prelude::*;

    fn frame(name: &str) -> Frame {
        let axis = Axis::new(name, Unit::Other("hops"));
        Frame {
            kind: "heat",
            area: [1, 2, 3, 4],
            x: Side::Values { axis: axis.clone(), from: 0.0, to: 1e-6 },
            y: Side::Names { label: name.to_owned(), names: vec![name.to_owned(); 2] },
            colour: Some(Colour { axis, each: (1, 2), all: (3, 4) }),
            inset: 0.5,
        }
    }

    proptest! {
        #[test]
        fn any_name_makes_json(name in any::<String>()) {
            let read: serde_json::Value = serde_json::from_str(&frame(&name).json()).unwrap();
            prop_assert_eq!(read["x"]["to"].as_f64(), Some(1e-6));
            prop_assert_eq!(&read["y"]["names"][1], &read["y"]["label"]);
            prop_assert_eq!(read["value"]["unit"].as_str(), Some(":hops"));
        }
    }

    #[test]
    fn units_are_known_to_the_page() {
        let prefixes: serde_json::Value = serde_json::from_str(&Unit::prefixes()).unwrap();
        assert_eq!(prefixes["seconds"][3], serde_json::json!([1e-3, "ms"]));
        for (unit, name) in Unit::NAMED {
            assert_eq!(unit.name(), name);
            assert!(prefixes[name].is_array(), "{name}");
        }
    }
}
