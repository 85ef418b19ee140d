//! Splitting `12.5Gbps` into an exact decimal and its unit.

use std::fmt;

/// Why a quantity could not be read. The text says what would be right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseError {
    message: String,
}

impl ParseError {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into() }
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ParseError {}

/// A non-negative decimal number held exactly: `digits / 10^scale`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Decimal {
    pub(crate) digits: u64,
    pub(crate) scale: u32,
}

impl Decimal {
    /// Reads a decimal with optional fraction, exponent and `_` separators.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (mantissa, exponent) = match text.find(['e', 'E']) {
            Some(at) => (&text[..at], text[at + 1..].parse::<i32>().ok()?),
            None => (text, 0),
        };
        let (mut digits, mut scale, mut seen_dot, mut seen_digit) = (0u64, 0i32, false, false);
        for c in mantissa.chars() {
            match c {
                '0'..='9' => {
                    seen_digit = true;
                    let digit = u64::from(c as u32 - '0' as u32);
                    digits = digits.checked_mul(10)?.checked_add(digit)?;
                    scale += i32::from(seen_dot);
                }
                '.' if !seen_dot => seen_dot = true,
                '_' => {}
                _ => return None,
            }
        }
        if !seen_digit {
            return None;
        }
        scale = scale.checked_sub(exponent)?;
        if digits == 0 {
            return Some(Self { digits: 0, scale: 0 });
        }
        while scale < 0 {
            digits = digits.checked_mul(10)?;
            scale += 1;
        }
        while scale > 0 && digits.is_multiple_of(10) {
            digits /= 10;
            scale -= 1;
        }
        (scale <= 19).then_some(Self { digits, scale: scale as u32 })
    }

    /// `self x multiplier`, if that is a whole number that fits.
    pub(crate) fn times(self, multiplier: u64) -> Option<u64> {
        let product = u128::from(self.digits) * u128::from(multiplier);
        let divisor = 10u128.pow(self.scale);
        if product % divisor != 0 {
            return None;
        }
        u64::try_from(product / divisor).ok()
    }
}

/// One unit a quantity may be written in, with its size in the base unit.
pub(crate) struct Unit {
    pub(crate) name: &'static str,
    pub(crate) size: u64,
}

/// Reads `<number><unit>`; `what` and `example` shape the error.
pub(crate) fn quantity(
    text: &str,
    what: &str,
    example: &str,
    units: &[Unit],
) -> Result<u64, ParseError> {
    let text = text.trim();
    let split = text
        .char_indices()
        .find(|&(i, c)| {
            // An `e` belongs to the number only when an exponent follows it.
            let exponent = matches!(c, 'e' | 'E')
                && i > 0
                && text[i + 1..].starts_with(|d: char| d.is_ascii_digit() || d == '-' || d == '+');
            let sign = matches!(c, '-' | '+') && i > 0 && text[..i].ends_with(['e', 'E']);
            !(c.is_ascii_digit() || c == '.' || c == '_' || exponent || sign)
        })
        .map_or(text.len(), |(i, _)| i);
    let (number, unit) = (text[..split].trim(), text[split..].trim());
    let known = || units.iter().map(|u| u.name).collect::<Vec<_>>().join(", ");
    if number.is_empty() {
        return Err(ParseError::new(format!("`{text}` is not {what}; write it like `{example}`")));
    }
    let Some(decimal) = Decimal::parse(number) else {
        return Err(ParseError::new(format!(
            "`{number}` is not a number that fits; write {what} like `{example}`"
        )));
    };
    if unit.is_empty() {
        if decimal.digits == 0 {
            return Ok(0);
        }
        return Err(ParseError::new(format!(
            "`{text}` has no unit; write {what} like `{example}` (units: {})",
            known()
        )));
    }
    let Some(found) = units.iter().find(|u| u.name == unit) else {
        return Err(ParseError::new(format!(
            "`{unit}` is not a unit of {what}; write it like `{example}` (units: {})",
            known()
        )));
    };
    decimal.times(found.size).ok_or_else(|| {
        ParseError::new(format!("`{text}` is too large or too fine for {what}; try `{example}`"))
    })
}

/// Writes `value` in the largest unit that needs at most three decimals, exactly or not at all.
pub(crate) fn display(
    f: &mut fmt::Formatter<'_>,
    value: u64,
    units_large_to_small: &[Unit],
) -> fmt::Result {
    for unit in units_large_to_small {
        if value < unit.size {
            continue;
        }
        let thousandths = u128::from(value) * 1000;
        let size = u128::from(unit.size);
        if thousandths % size != 0 {
            continue;
        }
        let thousandths = thousandths / size;
        let (whole, fraction) = (thousandths / 1000, thousandths % 1000);
        let text = if fraction == 0 {
            format!("{whole}{}", unit.name)
        } else {
            format!("{whole}.{}{}", format!("{fraction:03}").trim_end_matches('0'), unit.name)
        };
        return f.pad(&text);
    }
    let smallest = units_large_to_small.last().map_or("", |u| u.name);
    f.pad(&format!("{value}{smallest}"))
}
