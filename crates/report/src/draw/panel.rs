//! [`Panel`]: a chart's frame, its axes, and what is put into it.

use super::Picture;
use super::frame::Frame;
use super::ink::Ink;
use super::ruler::Ruler;
use crate::html::clean;
use plotters::chart::{ChartBuilder, ChartContext};
use plotters::coord::Shift;
use plotters::drawing::{DrawingArea, DrawingAreaErrorKind, IntoDrawingArea};
use plotters::element::{Circle, PathElement, Rectangle, Text};
use plotters::prelude::{Cartesian2d, SVGBackend};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{Color, IntoFont, RGBAColor, ShapeStyle, TextStyle};

/// Drawing into text does not fail, but the library has to be asked.
pub(super) type Drawn<T = ()> = Result<T, DrawingAreaErrorKind<std::io::Error>>;

/// Units of the picture in a pixel of the page: places are whole numbers, and whole pixels are too
/// coarse for a slope.
pub(super) const FINE: f64 = 2.0;

/// Height of text in pixels.
pub(super) const LETTER: f64 = 12.0;

/// Mean width of a character in pixels, in a wide font: the reader's font is not known.
pub(super) const ADVANCE: f64 = 7.3;

/// The library divides sizes of fonts by this.
const FONT: f64 = 1.24;

pub(super) fn units(pixels: f64) -> i32 {
    (pixels * FINE).round() as i32
}

/// A name that is shortened in its middle if it is wider than this many pixels: its beginning and its
/// end tell it apart from its neighbours.
pub(super) fn fit(text: &str, width: f64) -> String {
    let text = clean(text).replace(['\n', '\t'], " ");
    let most = ((width / ADVANCE) as usize).max(3);
    let characters: Vec<char> = text.chars().collect();
    if characters.len() <= most {
        return text;
    }
    let tail = (most - 1) / 2;
    let head = most - 1 - tail;
    let (front, back) = (&characters[..head], &characters[characters.len() - tail..]);
    front.iter().chain(&['…']).chain(back).collect()
}

/// What a picture has beside its shapes.
#[derive(Debug, Default)]
pub(super) struct Extras {
    pub(super) frame: Option<Frame>,
    /// Places that say something, on top of everything.
    pub(super) spots: String,
}

/// An empty picture, in pixels of the page, and what draws on it.
pub(super) fn picture(
    width: f64,
    height: f64,
    draw: impl FnOnce(&DrawingArea<SVGBackend<'_>, Shift>) -> Drawn<Extras>,
) -> Picture {
    let (width, height) = (units(width).max(1) as u32, units(height).max(1) as u32);
    let mut text = String::new();
    let drawn = {
        let root = SVGBackend::with_string(&mut text, (width, height)).into_drawing_area();
        draw(&root).and_then(|extras| root.present().map(|()| extras))
    };
    debug_assert!(drawn.is_ok(), "{drawn:?}");
    // The page writes the element itself, with its title and description.
    let inner = text.split_once(">\n").map_or("", |(_, inner)| inner);
    let mut shapes = inner.trim_end().trim_end_matches("</svg>").to_owned();
    let extras = drawn.unwrap_or_default();
    shapes += &extras.spots;
    Picture { width, height, shapes, frame: extras.frame }
}

/// How a chart is laid out, in pixels.
pub(super) struct Layout {
    /// Words at the top left: what the vertical axis shows.
    pub(super) top: String,
    /// Words below the horizontal axis.
    pub(super) bottom: String,
    /// Whether lines lead up from the horizontal axis.
    pub(super) upright: bool,
    /// Whether lines lead along from the vertical axis.
    pub(super) level: bool,
    /// Room at the right.
    pub(super) right: f64,
}

type Chart<'a, 'b> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<Ruler, Ruler>>;

/// A chart with its axes drawn.
pub(super) struct Panel<'a, 'b> {
    chart: Chart<'a, 'b>,
    pub(super) x: Ruler,
    pub(super) y: Ruler,
}

impl<'a, 'b> Panel<'a, 'b> {
    pub(super) fn new(
        root: &'a DrawingArea<SVGBackend<'b>, Shift>,
        layout: &Layout,
        x: Ruler,
        y: Ruler,
    ) -> Drawn<Self> {
        let left = y.longest() as f64 * ADVANCE + 18.0;
        let below = if layout.bottom.is_empty() { 24.0 } else { 42.0 };
        let above = if layout.top.is_empty() { 8.0 } else { 26.0 };
        let mut chart = ChartBuilder::on(root)
            .margin_top(units(above))
            .margin_right(units(layout.right))
            .x_label_area_size(units(below))
            .y_label_area_size(units(left))
            .build_cartesian_2d(x.clone(), y.clone())?;
        let mut mesh = chart.configure_mesh();
        mesh.bold_line_style(line(Ink::Grid, 1.0))
            .axis_style(line(Ink::Grid, 1.0))
            .label_style(words(Ink::Muted, HPos::Center, VPos::Center))
            .x_desc(layout.bottom.clone())
            .axis_desc_style(words(Ink::Text, HPos::Center, VPos::Center))
            .set_all_tick_mark_size(units(3.0));
        if !layout.upright {
            mesh.disable_x_mesh();
        }
        if !layout.level {
            mesh.disable_y_mesh();
        }
        mesh.draw()?;
        let title = words(Ink::Text, HPos::Left, VPos::Top);
        let title = Text::new(layout.top.clone(), (0, units(4.0)), title);
        root.draw(&title)?;
        Ok(Self { chart, x, y })
    }

    /// The pixels of the picture where a value is, in its units.
    pub(super) fn place(&self, x: f64, y: f64) -> (i32, i32) {
        self.chart.backend_coord(&(x, y))
    }

    /// Left, top, right and bottom within the axes.
    pub(super) fn inside(&self) -> [i32; 4] {
        let (across, down) = self.chart.plotting_area().get_pixel_range();
        [across.start, down.start, across.end, down.end]
    }

    /// A line through values.
    pub(super) fn path(&mut self, points: Vec<(f64, f64)>, ink: Ink, width: f64) -> Drawn {
        self.draw([PathElement::new(points, line(ink, width))])
    }

    /// A box between values.
    pub(super) fn area(&mut self, from: (f64, f64), to: (f64, f64), ink: Ink, alpha: f64) -> Drawn {
        let style = ShapeStyle { filled: true, ..see_through(ink, alpha) };
        let clamp = |(x, y): (f64, f64)| (self.x.clamp(x), self.y.clamp(y));
        self.draw([Rectangle::new([clamp(from), clamp(to)], style)])
    }

    /// A dot at a value.
    pub(super) fn dot(&mut self, at: (f64, f64), radius: f64, ink: Ink) -> Drawn {
        self.draw([Circle::new(at, units(radius), ink.sentinel().filled())])
    }

    fn draw<E>(&mut self, elements: impl IntoIterator<Item = E>) -> Drawn
    where
        for<'e> &'e E: plotters::element::PointCollection<'e, (f64, f64)>,
        E: plotters::element::Drawable<SVGBackend<'b>>,
    {
        self.chart.draw_series(elements).map(|_| ())
    }
}

/// A line of this many pixels.
pub(super) fn line(ink: Ink, width: f64) -> ShapeStyle {
    ink.sentinel().stroke_width(units(width).max(1) as u32)
}

/// Something one can see through.
pub(super) fn see_through(ink: Ink, alpha: f64) -> ShapeStyle {
    let colour: RGBAColor = ink.sentinel().mix(alpha);
    colour.into()
}

/// Letters, and where they stand of their place.
pub(super) fn words(ink: Ink, h: HPos, v: VPos) -> TextStyle<'static> {
    let font = ("sans-serif", LETTER * FINE * FONT).into_font();
    font.color(&ink.sentinel()).pos(Pos::new(h, v))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_keep_their_beginning_and_end() {
        assert_eq!(fit("leaf0", 100.0), "leaf0");
        assert_eq!(fit("leaf0-to-a-very-far-spine17", 8.0 * ADVANCE), "leaf…e17");
        assert_eq!(fit("a\u{202e}b\nc", 100.0), "a\u{fffd}b c");
        assert_eq!(fit("abcdef", 0.0).chars().count(), 3);
    }

    #[test]
    fn a_picture_holds_shapes_only() {
        let drawn = picture(10.0, 10.0, |root| {
            root.draw(&Text::new("<b>&", (1, 1), words(Ink::Text, HPos::Left, VPos::Top)))?;
            Ok(Extras::default())
        });
        assert!(drawn.shapes.starts_with("<text") && drawn.shapes.ends_with("</text>\n"));
        assert!(drawn.shapes.contains("&lt;b&gt;&amp;"));
        assert_eq!((drawn.width, drawn.height), (20, 20));
    }
}
