//! What parts cost: built-in estimates, overridden by a price file of the user.

use serde::{Deserialize, Serialize, Serializer};
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use toml::Spanned;
use xoff_fabric::catalogue::{Catalogue, Silicon};
use xoff_fabric::suggest;
use xoff_units::{Length, Rate};

/// An amount of money, in hundredths of a unit of the currency.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Money(pub u64);

impl Money {
    /// Whole units.
    pub const fn units(units: u64) -> Self {
        Self(units.saturating_mul(100))
    }

    /// The amount, multiplied.
    pub const fn times(self, count: u64) -> Self {
        Self(self.0.saturating_mul(count))
    }
}

impl std::ops::Add for Money {
    type Output = Money;
    fn add(self, other: Money) -> Money {
        Money(self.0.saturating_add(other.0))
    }
}

impl fmt::Display for Money {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{}.{:02}", self.0 / 100, self.0 % 100))
    }
}

impl Serialize for Money {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.0 as f64 / 100.0)
    }
}

/// A price, and whether it is only a guess.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Price {
    /// The amount.
    pub amount: Money,
    /// A built-in estimate is in it.
    pub estimate: bool,
}

impl Price {
    const fn guess(units: u64) -> Self {
        Self { amount: Money::units(units), estimate: true }
    }

    /// The price, multiplied.
    pub const fn times(self, count: u64) -> Self {
        Self { amount: self.amount.times(count), estimate: self.estimate && count > 0 }
    }
}

impl std::ops::Add for Price {
    type Output = Price;
    fn add(self, other: Price) -> Price {
        Price { amount: self.amount + other.amount, estimate: self.estimate || other.estimate }
    }
}

/// Price of a switch per Tb/s of its capacity, in USD; our estimate of what is paid for large
/// numbers.
const SWITCH_PER_TBPS: u64 = 850;
/// The same for InfiniBand.
const INFINIBAND_PER_TBPS: u64 = 1_300;
/// Price of a NIC per Gb/s, in USD; our estimate.
const NIC_PER_GBPS: u64 = 4;
/// What a NIC with processors of its own costs more, in USD; our estimate.
const DPU_EXTRA: u64 = 900;
/// A fibre with its connectors, and a metre of it, in hundredths of a USD; our estimates.
const FIBRE: (u64, u64) = (2_500, 150);

/// USD for a transceiver, or for a whole cable where the ends are attached. 400g-dr4 and 800g-dr8
/// are in the middle of street prices of generic parts; the rest are our estimates around them.
const MEDIA: [(&str, u64); 32] = [
    ("10g-sr", 25),
    ("10g-lr", 40),
    ("25g-sr", 50),
    ("25g-lr", 90),
    ("40g-sr4", 50),
    ("40g-lr4", 200),
    ("100g-sr4", 100),
    ("100g-dr", 250),
    ("100g-fr", 300),
    ("100g-lr4", 500),
    ("200g-sr4", 250),
    ("200g-dr4", 400),
    ("200g-fr4", 500),
    ("400g-sr4", 400),
    ("400g-sr8", 450),
    ("400g-dr4", 700),
    ("400g-fr4", 900),
    ("400g-lr4", 1_600),
    ("400g-er8", 3_000),
    ("100g-zr", 3_000),
    ("400g-zr", 4_000),
    ("400g-zr+", 5_000),
    ("800g-zr", 8_000),
    ("800g-sr8", 700),
    ("800g-2xsr4", 700),
    ("800g-2xdr4", 1_000),
    ("800g-dr4", 1_300),
    ("800g-fr4", 1_600),
    ("800g-dr8", 1_000),
    ("800g-2xfr4", 1_400),
    ("1.6t-dr8", 2_200),
    ("1.6t-2xfr4", 2_800),
];

/// USD for a cable with its ends at each of [`CABLE_RATES`], by what its widest end carries; one that
/// fans out costs the same. Our estimates.
const CABLES: [(&str, [u64; 7]); 4] = [
    ("dac", [20, 30, 40, 70, 120, 180, 300]),
    ("acc", [60, 80, 100, 140, 200, 280, 450]),
    ("aec", [80, 100, 150, 220, 350, 500, 900]),
    ("aoc", [60, 100, 150, 350, 600, 900, 1_800]),
];

/// Rates of cables, in Gb/s.
const CABLE_RATES: [u64; 7] = [10, 25, 100, 200, 400, 800, 1_600];

/// The name of a cable of a rate in a price file: `800g-dac`.
fn cable_name(name: &str, gbps: u64) -> String {
    if gbps == 1_600 { format!("1.6t-{name}") } else { format!("{gbps}g-{name}") }
}

fn cables() -> impl Iterator<Item = (String, Price)> {
    let rates = |(name, prices): &(&'static str, [u64; 7])| {
        let (name, prices) = (*name, *prices);
        CABLE_RATES
            .into_iter()
            .zip(prices)
            .map(move |(gbps, units)| (cable_name(name, gbps), Price::guess(units)))
    };
    CABLES.iter().flat_map(rates)
}

/// A day in a price file, as a date or as text.
fn day(value: &Spanned<toml::Value>) -> Result<String, PriceError> {
    let text = match value.get_ref() {
        toml::Value::Datetime(day) => day.to_string(),
        toml::Value::String(text) => text.clone(),
        _ => String::new(),
    };
    let digits = |range: Range<usize>| {
        text.get(range).is_some_and(|part| part.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let dashes = text.as_bytes().get(4) == Some(&b'-') && text.as_bytes().get(7) == Some(&b'-');
    match text.len() == 10 && dashes && digits(0..4) && digits(5..7) && digits(8..10) {
        true => Ok(text),
        false => Err(PriceError {
            message: "this is no day".to_owned(),
            help: Some("year, month and day, like 2026-11-02".to_owned()),
            span: value.span(),
        }),
    }
}

/// Prices of everything that is counted.
#[derive(Debug, Clone)]
pub struct Prices {
    /// What the amounts are counted in.
    pub currency: String,
    switches: BTreeMap<String, Price>,
    nics: BTreeMap<String, Price>,
    media: BTreeMap<String, Price>,
    fibre: Price,
    fibre_metre: Price,
    provenance: Provenance,
    /// What a USD is worth, in hundredths.
    usd: u64,
}

/// Where prices are from, and of when.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Provenance {
    /// Of the built-in estimates: source and date.
    pub estimates: (String, String),
    /// Of the price file: source and date.
    pub file: (String, String),
}

impl Provenance {
    /// Source and date of a price.
    pub fn of(&self, price: Price) -> (&str, &str) {
        let (source, date) = if price.estimate { &self.estimates } else { &self.file };
        (source, date)
    }
}

impl Default for Provenance {
    fn default() -> Self {
        let pair = |source: &str, date: &str| (source.to_owned(), date.to_owned());
        Self { estimates: pair("estimate", "2026-11"), file: pair("file", "") }
    }
}

/// A mistake in a price file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct PriceError {
    /// What is wrong.
    pub message: String,
    /// What would be right.
    pub help: Option<String>,
    /// Bytes of the file.
    pub span: Range<usize>,
}

type Table = BTreeMap<Spanned<String>, Spanned<toml::Value>>;

/// The file as it is written.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
struct PriceFile {
    source: Option<Spanned<String>>,
    date: Option<Spanned<toml::Value>>,
    currency: Option<Spanned<String>>,
    usd: Option<Spanned<toml::Value>>,
    switch: Table,
    nic: Table,
    media: Table,
    fibre: Table,
}

impl Prices {
    /// Estimates in USD for everything in the catalogue.
    pub fn estimates(catalogue: &Catalogue) -> Self {
        let per = |silicon: &Silicon, each: u64| {
            let units = silicon.capacity.bps() / 1_000_000_000 * each / 1_000;
            (silicon.name.clone(), Price::guess(units))
        };
        let switch = |silicon: &Silicon| {
            per(silicon, if silicon.infiniband { INFINIBAND_PER_TBPS } else { SWITCH_PER_TBPS })
        };
        let nic = |name: &String, gbps: u64| {
            let extra = if name.starts_with("bluefield") { DPU_EXTRA } else { 0 };
            (name.clone(), Price::guess(gbps * NIC_PER_GBPS + extra))
        };
        let media = |name: &String| {
            let known = MEDIA.iter().find(|(known, _)| known == name);
            (name.clone(), Price::guess(known.map_or(1_000, |(_, units)| *units)))
        };
        let guess = |cents| Price { amount: Money(cents), estimate: true };
        Self {
            currency: "USD".to_owned(),
            switches: catalogue.silicon.values().map(switch).collect(),
            nics: catalogue
                .nics
                .iter()
                .map(|(name, model)| nic(name, model.rate.bps() / 1_000_000_000))
                .collect(),
            media: catalogue.media.keys().map(media).chain(cables()).collect(),
            fibre: guess(FIBRE.0),
            fibre_metre: guess(FIBRE.1),
            provenance: Provenance::default(),
            usd: 100,
        }
    }

    /// The estimates with what a price file says instead. A file in another currency than USD says
    /// what a USD is worth in it, because the estimates are in USD.
    pub fn from_toml(text: &str, catalogue: &Catalogue) -> Result<Self, PriceError> {
        let file: PriceFile = toml::from_str(text).map_err(|error| PriceError {
            message: error.message().to_owned(),
            help: Some("tables are [switch], [nic], [media] and [fibre]; see `--help`".to_owned()),
            span: error.span().unwrap_or(0..0),
        })?;
        let mut prices = Self::estimates(catalogue);
        if let Some(currency) = &file.currency {
            prices.count_in(currency, file.usd.as_ref())?;
        }
        if let Some(source) = &file.source {
            prices.provenance.file.0.clone_from(source.get_ref());
        }
        if let Some(date) = &file.date {
            prices.provenance.file.1 = day(date)?;
        }
        fill(&mut prices.switches, file.switch, "silicon")?;
        fill(&mut prices.nics, file.nic, "NICs")?;
        prices.fill_media(file.media)?;
        let mut fibre = BTreeMap::from([
            ("cable".to_owned(), prices.fibre),
            ("metre".to_owned(), prices.fibre_metre),
        ]);
        fill(&mut fibre, file.fibre, "prices of fibre")?;
        prices.fibre = fibre.get("cable").copied().unwrap_or_default();
        prices.fibre_metre = fibre.get("metre").copied().unwrap_or_default();
        Ok(prices)
    }

    /// Counts in another currency.
    fn count_in(
        &mut self,
        currency: &Spanned<String>,
        usd: Option<&Spanned<toml::Value>>,
    ) -> Result<(), PriceError> {
        let wrong = |message: &str, help: &str, span| {
            Err(PriceError { message: message.to_owned(), help: Some(help.to_owned()), span })
        };
        let name = currency.get_ref();
        if name.is_empty() || name.len() > 8 || !name.chars().all(|c| c.is_ascii_alphabetic()) {
            return wrong("not a currency", "letters, like \"EUR\"", currency.span());
        }
        if name == "USD" {
            return Ok(());
        }
        let help = "say what a USD is worth, like `usd = 0.92`: the built-in estimates are in USD";
        let Some(usd) = usd else {
            return wrong("there are no estimates in this currency", help, currency.span());
        };
        let Some(worth) = amount(usd.get_ref()).filter(|worth| worth.0 > 0) else {
            return wrong("not an exchange rate", help, usd.span());
        };
        self.currency.clone_from(name);
        self.usd = worth.0;
        let tables = [&mut self.switches, &mut self.nics, &mut self.media];
        let all = tables.into_iter().flat_map(BTreeMap::values_mut);
        for price in all.chain([&mut self.fibre, &mut self.fibre_metre]) {
            let cents = u128::from(price.amount.0) * u128::from(worth.0) / 100;
            price.amount = Money(u64::try_from(cents).unwrap_or(u64::MAX));
        }
        Ok(())
    }

    /// Prices of media. A cable's name without a rate holds for those of all rates that the file
    /// does not price by themselves.
    fn fill_media(&mut self, given: Table) -> Result<(), PriceError> {
        let (cables, others): (Table, Table) =
            given.into_iter().partition(|(name, _)| CABLES.iter().any(|c| c.0 == name.get_ref()));
        let mut general = self.media.clone();
        fill(&mut general, cables, "media")?;
        for (name, _) in CABLES {
            let Some(price) = general.get(name).filter(|price| !price.estimate) else { continue };
            for gbps in CABLE_RATES {
                self.media.insert(cable_name(name, gbps), *price);
            }
            self.media.insert(name.to_owned(), *price);
        }
        fill(&mut self.media, others, "media")
    }

    /// A price in USD in the currency that is counted in.
    pub(super) fn converted(&self, price: Price) -> Price {
        let cents = u128::from(price.amount.0) * u128::from(self.usd) / 100;
        Price { amount: Money(u64::try_from(cents).unwrap_or(u64::MAX)), ..price }
    }

    /// Where the prices are from.
    pub(super) fn provenance(&self) -> Provenance {
        self.provenance.clone()
    }

    /// A cable with its ends, by what it carries in all.
    pub(super) fn cable(&self, name: &str, rate: Rate) -> Price {
        let gbps = rate.bps() / 1_000_000_000;
        let known = CABLE_RATES.into_iter().find(|known| *known >= gbps);
        let by_rate = known.and_then(|gbps| self.media.get(&cable_name(name, gbps)));
        by_rate.copied().unwrap_or_else(|| self.media(name))
    }

    pub(super) fn switch(&self, name: &str) -> Price {
        self.switches.get(name).copied().unwrap_or_default()
    }

    pub(super) fn nic(&self, name: &str) -> Price {
        self.nics.get(name).copied().unwrap_or_default()
    }

    pub(super) fn media(&self, name: &str) -> Price {
        self.media.get(name).copied().unwrap_or_default()
    }

    pub(super) fn fibre(&self, length: Length) -> Price {
        self.fibre + self.fibre_metre.times(length.as_mm().div_ceil(1_000))
    }
}

fn fill(known: &mut BTreeMap<String, Price>, given: Table, what: &str) -> Result<(), PriceError> {
    for (name, value) in given {
        if !known.contains_key(name.get_ref()) {
            return Err(PriceError {
                message: format!("`{}` is not among the {what} xoff knows", name.get_ref()),
                help: Some(suggest::help(name.get_ref(), known.keys().map(String::as_str))),
                span: name.span(),
            });
        }
        let span = value.span();
        let amount = amount(value.get_ref()).ok_or_else(|| PriceError {
            message: "this is no price".to_owned(),
            help: Some("a number from 0 to 1e9, like 1450 or 37.50".to_owned()),
            span,
        })?;
        known.insert(name.into_inner(), Price { amount, estimate: false });
    }
    Ok(())
}

/// Larger prices are typing errors; up to it, sums cannot overflow.
const DEAREST: u64 = 1_000_000_000;

fn amount(value: &toml::Value) -> Option<Money> {
    match value {
        toml::Value::Integer(units) => {
            let units = u64::try_from(*units).ok()?;
            (units <= DEAREST).then(|| Money::units(units))
        }
        toml::Value::Float(units) if (0.0..=DEAREST as f64).contains(units) => {
            Some(Money((units * 100.0).round() as u64))
        }
        _ => None,
    }
}
