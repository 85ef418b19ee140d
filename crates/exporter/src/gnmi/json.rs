//! JSON from a device: so many values, so deep, and no more.

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};
use std::fmt;

/// Most values in one text. A switch of 512 ports has 120,000.
const MOST: usize = 262_144;
/// Most levels.
const DEEPEST: usize = 24;

/// Reads a text; `None` if it is none, too deep, or has too much in it.
pub(super) fn read(text: &[u8]) -> Option<Value> {
    let mut left = MOST;
    let mut source = serde_json::Deserializer::from_slice(text);
    let value = Bounded { left: &mut left, deep: 0 }.deserialize(&mut source).ok()?;
    source.end().ok()?;
    Some(value)
}

struct Bounded<'a> {
    left: &'a mut usize,
    deep: usize,
}

impl Bounded<'_> {
    fn inner(&mut self) -> Bounded<'_> {
        Bounded { left: self.left, deep: self.deep + 1 }
    }
}

impl<'de> DeserializeSeed<'de> for Bounded<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, source: D) -> Result<Value, D::Error> {
        let left = self.left.checked_sub(1).filter(|_| self.deep < DEEPEST);
        *self.left = left.ok_or_else(|| D::Error::custom("too much"))?;
        source.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Bounded<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut source: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(value) = source.next_element_seed(self.inner())? {
            list.push(value);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut source: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some(name) = source.next_key::<String>()? {
            map.insert(name, source.next_value_seed(self.inner())?);
        }
        Ok(Value::Object(map))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_deep_or_too_much_is_refused() {
        let plain = br#"{"a":[1,-2,3.5,"x",null,true]}"#;
        assert_eq!(read(plain), serde_json::from_slice(plain).ok());
        let deep = |levels: usize| "[".repeat(levels) + &"]".repeat(levels);
        assert!(read(deep(DEEPEST).as_bytes()).is_some());
        assert_eq!(read(deep(DEEPEST + 1).as_bytes()), None);
        assert_eq!(read(deep(100_000).as_bytes()), None);
        let wide = |values: usize| format!("[{}0]", "0,".repeat(values - 1));
        assert!(read(wide(MOST - 1).as_bytes()).is_some());
        assert_eq!(read(wide(MOST).as_bytes()), None);
        for bad in ["", "{", "1 2", "{\"a\"}", "\u{fffd}"] {
            assert_eq!(read(bad.as_bytes()), None, "{bad}");
        }
    }
}
