//! A cable from what a file says about it.

use crate::catalogue::{Catalogue, Media};
use crate::diagnostic::code;
use crate::document::{Report, Step};
use crate::file::LinkSettings;
use crate::model::Cable;
use crate::suggest;
use xoff_units::{Length, Rate, Ratio, Span};

/// Slower than this, times no longer fit the clock; faster, a byte takes no whole picosecond.
const RATES: (Rate, Rate) = (Rate::from_bps(1_000_000), Rate::from_gbps(8_000));
const LONGEST_DELAY: Span = Span::from_ms(10_000);

/// Where a kind of cable is described: its own table, then the table for all.
pub(super) struct Given<'a> {
    pub(super) own: &'a LinkSettings,
    pub(super) own_path: &'a [Step<'a>],
    pub(super) all: &'a LinkSettings,
    pub(super) default_rate: Rate,
    pub(super) default_length: Length,
}

impl Given<'_> {
    /// Where `key` is written, or where it would be.
    fn path<'s>(&'s self, key: &'s str, in_own: bool) -> Vec<Step<'s>> {
        let all = [Step::Key("links")];
        let mut path = if in_own { self.own_path.to_vec() } else { all.to_vec() };
        path.push(Step::Key(key));
        path
    }
}

/// The cable that the settings describe.
pub(super) fn cable(given: &Given<'_>, catalogue: &Catalogue, report: &mut Report<'_>) -> Cable {
    let (own, all) = (given.own, given.all);
    let rate = own.rate.or(all.rate).unwrap_or(given.default_rate);
    if rate < RATES.0 || rate > RATES.1 {
        report.error(
            code::IMPOSSIBLE,
            &given.path("rate", own.rate.is_some()),
            format!("a link of {rate} cannot be modelled"),
            "rates go from 1Mbps to 8Tbps",
        );
    }
    // The first table that has a distance decides, so that a tier's length beats a delay
    // given for all.
    let own_speaks = own.length.is_some() || own.delay.is_some();
    let source = if own_speaks { own } else { all };
    let length = match (source.length, source.delay) {
        (Some(length), _) => length,
        (None, Some(_)) => Length::default(),
        (None, None) => given.default_length,
    };
    let media = media(given, source.delay.is_some(), rate, length, catalogue, report);
    let delay = source.delay.unwrap_or_else(|| length.propagation() + media.fec);
    if delay > LONGEST_DELAY {
        report.error(
            code::IMPOSSIBLE,
            &given.path(if source.delay.is_some() { "delay" } else { "length" }, own_speaks),
            format!("a one-way delay of {delay} is beyond any cable"),
            "the longest that is modelled is 10s",
        );
    }
    let bit_error_rate =
        share(given, "bit-error-rate", own.bit_error_rate, all.bit_error_rate, report);
    let loss = share(given, "loss", own.loss, all.loss, report);
    Cable { rate, length, delay, media: media.name, bit_error_rate, loss }
}

fn share(
    given: &Given<'_>,
    key: &str,
    own: Option<Ratio>,
    all: Option<Ratio>,
    report: &mut Report<'_>,
) -> Ratio {
    let value = own.or(all).unwrap_or(Ratio::ZERO);
    if value > Ratio::ONE {
        report.error(
            code::IMPOSSIBLE,
            &given.path(key, own.is_some()),
            format!("`{key}` of {value} is more than everything"),
            "a share lies between 0 and 1, like 1e-12",
        );
    }
    value
}

fn media(
    given: &Given<'_>,
    delay_given: bool,
    rate: Rate,
    length: Length,
    catalogue: &Catalogue,
    report: &mut Report<'_>,
) -> Media {
    let ideal = || catalogue.media.get("ideal").cloned().unwrap_or_else(|| fallback(length));
    let Some(name) = given.own.media.as_deref().or(given.all.media.as_deref()) else {
        // A delay has everything in it: there is nothing for optics to add.
        if delay_given {
            return ideal();
        }
        return match catalogue.media_for(rate, length) {
            Some(media) => media.clone(),
            None => {
                report.warn(
                    code::REACH,
                    &given.path("length", given.own.length.is_some()),
                    format!("no optics of the catalogue carry {rate} over {length}"),
                    "an ideal cable is used; name your own under [catalogue.media]",
                );
                ideal()
            }
        };
    };
    let path = given.path("media", given.own.media.is_some());
    let Some(media) = catalogue.media.get(name) else {
        report.error(
            code::UNKNOWN_NAME,
            &path,
            format!("there are no `{name}` in the catalogue of media"),
            suggest::help(name, catalogue.media.keys().map(String::as_str)),
        );
        return ideal();
    };
    if rate > media.rate {
        report.error(
            code::REACH,
            &path,
            format!("`{name}` carry {} at most, and the link runs at {rate}", media.rate),
            better(catalogue, rate, length),
        );
    }
    let reach = media.reach_at(rate);
    if length > reach {
        report.error(
            code::REACH,
            &path,
            format!("`{name}` reach {reach}, and the cable is {length} long"),
            better(catalogue, rate, length),
        );
    }
    media.clone()
}

fn better(catalogue: &Catalogue, rate: Rate, length: Length) -> String {
    match catalogue.media_for(rate, length) {
        Some(media) => format!("`{}` would do", media.name),
        None => "nothing in the catalogue would do".to_owned(),
    }
}

fn fallback(length: Length) -> Media {
    Media {
        name: "ideal".to_owned(),
        rate: RATES.1,
        reach: length,
        fec: Span::ZERO,
        power: crate::catalogue::Milliwatts(0),
        family: crate::catalogue::Family::Cable,
        make: crate::catalogue::Make::Unknown,
        automatic: false,
        ideal: true,
        source: crate::catalogue::Source::Invented,
    }
}
