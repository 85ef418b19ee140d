//! [`Ink`]: what things are drawn with.
//!
//! The drawing library writes colours into the picture. So that a picture follows light and dark,
//! each ink is drawn in a placeholder colour ([`Ink::drawn`]) that the style sheet replaces.

use plotters::style::RGBColor;

/// What something is drawn with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ink {
    /// The page.
    Paper,
    /// Boxes on the page.
    Card,
    /// Words.
    Text,
    /// Words of less weight: the numbers of an axis.
    Muted,
    /// Lines of the grid.
    Grid,
    /// The one colour of the page's own things.
    Accent,
    /// Verdicts.
    Pass,
    /// Worth a look.
    Warn,
    /// Not as it should be.
    Fail,
    /// A threshold.
    Mark,
    /// Something that is broken, in dashes.
    Down,
    /// A stretch of time that matters.
    Shade,
    /// One of [`Ink::SERIES`] series.
    Series(u8),
    /// One of [`Ink::HEAT`] steps from cold to hot.
    Heat(u8),
}

use Ink::{
    Accent, Card, Down, Fail, Grid, Heat, Mark, Muted, Paper, Pass, Series, Shade, Text, Warn,
};

const PLAIN: [Ink; 12] =
    [Paper, Card, Text, Muted, Grid, Accent, Pass, Warn, Fail, Mark, Down, Shade];

/// After Okabe and Ito, whose colours people with any kind of colour vision tell apart; darker on
/// white and lighter on black, so that each has a contrast of 3 and more.
const SERIES: [(&str, &str); Ink::SERIES as usize] = [
    ("#0069a8", "#5ab4f0"),
    ("#c94f00", "#f08c3a"),
    ("#00795a", "#2fc498"),
    ("#a34a82", "#e497c4"),
    ("#8a6a00", "#f0d84a"),
    ("#4a55b8", "#a3abff"),
    ("#6b6b6b", "#b8b8b8"),
    ("#7a2a2a", "#e0a090"),
];

/// From cold to hot: lightness runs one way, so it reads without colour, too.
const LIGHT_HEAT: [(u8, u8, u8); 6] =
    [(236, 240, 246), (250, 224, 150), (245, 166, 70), (220, 90, 50), (160, 30, 60), (80, 10, 60)];
const DARK_HEAT: [(u8, u8, u8); 6] =
    [(38, 44, 58), (74, 40, 100), (140, 42, 106), (212, 80, 70), (248, 158, 50), (252, 240, 160)];

impl Ink {
    /// Colours for series.
    pub(crate) const SERIES: u8 = 8;
    /// Steps from cold to hot.
    pub(crate) const HEAT: u8 = 20;

    /// The ink of a series by its place.
    pub(crate) fn series(at: usize) -> Ink {
        Series((at % usize::from(Self::SERIES)) as u8)
    }

    /// The ink of a share from 0, cold, to 1, hot.
    pub(crate) fn heat(share: f64) -> Ink {
        if share.is_nan() {
            return Heat(0);
        }
        let steps = f64::from(Self::HEAT);
        Heat((share.clamp(0.0, 1.0) * steps).min(steps - 1.0) as u8)
    }

    pub(crate) fn all() -> impl Iterator<Item = Ink> {
        let series = (0..Self::SERIES).map(Series);
        PLAIN.into_iter().chain(series).chain((0..Self::HEAT).map(Heat))
    }

    /// The colour that stands for it in a picture.
    pub(super) fn sentinel(self) -> RGBColor {
        match self {
            Series(at) => RGBColor(0x0A, 1, at),
            Heat(step) => RGBColor(0x0A, 2, step),
            plain => {
                let at = PLAIN.iter().position(|ink| *ink == plain).unwrap_or_default();
                RGBColor(0x0A, 0, at as u8)
            }
        }
    }

    /// That colour as the picture writes it.
    pub(crate) fn drawn(self) -> String {
        let RGBColor(r, g, b) = self.sentinel();
        format!("#{r:02X}{g:02X}{b:02X}")
    }

    /// Its name in the style sheet.
    pub(crate) fn name(self) -> String {
        match self {
            Paper => "paper".to_owned(),
            Card => "card".to_owned(),
            Text => "text".to_owned(),
            Muted => "muted".to_owned(),
            Grid => "grid".to_owned(),
            Accent => "accent".to_owned(),
            Pass => "pass".to_owned(),
            Warn => "warn".to_owned(),
            Fail => "fail".to_owned(),
            Mark => "mark".to_owned(),
            Down => "down".to_owned(),
            Shade => "shade".to_owned(),
            Series(at) => format!("s{at}"),
            Heat(step) => format!("h{step}"),
        }
    }

    /// What it looks like on white.
    pub(crate) fn light(self) -> String {
        self.colour(|series| series.0, &LIGHT_HEAT, |light, _| light)
    }

    /// What it looks like on black.
    pub(crate) fn dark(self) -> String {
        self.colour(|series| series.1, &DARK_HEAT, |_, dark| dark)
    }

    fn colour(
        self,
        series: impl Fn((&'static str, &'static str)) -> &'static str,
        heat: &[(u8, u8, u8)],
        either: impl Fn(&'static str, &'static str) -> &'static str,
    ) -> String {
        let colour = match self {
            Paper => either("#f7f8fa", "#0f131a"),
            Card => either("#ffffff", "#171c25"),
            Text => either("#16202e", "#e8ecf2"),
            Muted => either("#566273", "#9aa7b8"),
            Grid => either("#dfe3e9", "#2c3441"),
            Accent => either("#0069a8", "#6bbcf5"),
            Pass => either("#0b7a4b", "#3fcf8e"),
            Warn => either("#8f5b00", "#f2b53c"),
            Fail => either("#b3261e", "#ff7b72"),
            Down => either("#b3261e", "#ff7b72"),
            Mark => either("#b3261e", "#ff8f85"),
            Shade => either("#d08a00", "#f2b53c"),
            Series(at) => series(SERIES[usize::from(at % Self::SERIES)]),
            Heat(step) => return between(heat, f64::from(step) / f64::from(Self::HEAT - 1)),
        };
        colour.to_owned()
    }
}

/// The colour at a share of the way along the stops.
fn between(stops: &[(u8, u8, u8)], share: f64) -> String {
    let place = share.clamp(0.0, 1.0) * (stops.len() - 1) as f64;
    let at = (place as usize).min(stops.len() - 2);
    let (from, to, part) = (stops[at], stops[at + 1], place - at as f64);
    let mix = |a: u8, b: u8| (f64::from(a) + (f64::from(b) - f64::from(a)) * part).round() as u8;
    format!("#{:02x}{:02x}{:02x}", mix(from.0, to.0), mix(from.1, to.1), mix(from.2, to.2))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Relative luminance, WCAG 2 section on contrast.
    fn luminance(colour: &str) -> f64 {
        let part = |at: usize| {
            let v = f64::from(u8::from_str_radix(&colour[at..at + 2], 16).unwrap()) / 255.0;
            if v <= 0.04045 { v / 12.92 } else { ((v + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * part(1) + 0.7152 * part(3) + 0.0722 * part(5)
    }

    fn contrast(a: &str, b: &str) -> f64 {
        let (a, b) = (luminance(a) + 0.05, luminance(b) + 0.05);
        a.max(b) / a.min(b)
    }

    #[test]
    fn everything_can_be_read_in_light_and_dark() {
        let looks: [fn(Ink) -> String; 2] = [Ink::light, Ink::dark];
        for look in looks {
            for paper in [Paper, Card].map(look) {
                for words in [Text, Muted, Accent, Pass, Warn, Fail, Mark] {
                    let seen = contrast(&look(words), &paper);
                    assert!(seen >= 4.5, "{words:?} on {paper}: {seen:.2}");
                }
                for at in 0..Ink::SERIES {
                    let seen = contrast(&look(Series(at)), &paper);
                    assert!(seen >= 3.0, "series {at} on {paper}: {seen:.2}");
                }
            }
        }
    }

    #[test]
    fn heat_gets_darker_on_white_and_brighter_on_black() {
        let steps = |look: fn(Ink) -> String| {
            (0..Ink::HEAT).map(|step| luminance(&look(Heat(step)))).collect::<Vec<_>>()
        };
        assert!(steps(Ink::light).is_sorted_by(|a, b| a > b));
        assert!(steps(Ink::dark).is_sorted_by(|a, b| a < b));
        assert_eq!(
            (Ink::heat(f64::NAN), Ink::heat(-1.0), Ink::heat(9.0)),
            (Heat(0), Heat(0), Heat(19))
        );
    }

    #[test]
    fn inks_can_be_distinguished() {
        let mut drawn: Vec<String> = Ink::all().map(Ink::drawn).collect();
        drawn.sort();
        drawn.dedup();
        assert_eq!(drawn.len(), Ink::all().count());
    }
}
