//! The JSON of the profiler: what of it is looked at, event by event.

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, de};
use std::fmt;

/// An event, as far as it is of interest.
#[derive(Debug, Default, Clone, PartialEq)]
pub(super) struct Event {
    pub(super) category: Scalar,
    pub(super) name: Scalar,
    pub(super) phase: Scalar,
    pub(super) start: Scalar,
    pub(super) duration: Scalar,
    pub(super) process: Scalar,
    pub(super) thread: Scalar,
    pub(super) arguments: Arguments,
}

/// The arguments of an event. The names are those that PyTorch writes.
#[derive(Debug, Default, Clone, PartialEq)]
pub(super) struct Arguments {
    pub(super) collective: Scalar,
    pub(super) element: Scalar,
    pub(super) elements_in: Scalar,
    pub(super) elements_out: Scalar,
    pub(super) group_size: Scalar,
    pub(super) group_name: Scalar,
    pub(super) group_ranks: Scalar,
    pub(super) first_rank: Scalar,
    pub(super) rank_stride: Scalar,
    pub(super) source: Scalar,
    pub(super) destination: Scalar,
    pub(super) external: Scalar,
    pub(super) stream: Scalar,
    pub(super) correlation: Scalar,
    /// Of older calls, which say no more.
    pub(super) shapes: Shapes,
    pub(super) types: Types,
}

/// Elements of the first input that has any: its shape, or those of a list of tensors.
#[derive(Debug, Default, Clone, Copy, PartialEq)]
pub(super) struct Shapes {
    pub(super) elements: Option<u64>,
    /// Of all parts together, which counts where this is a part itself.
    all: u64,
    /// Whether it is the shape of a tensor without elements, where one without a shape is no tensor.
    empty: bool,
    number: Option<u64>,
}

/// The type of the first input that has one.
#[derive(Debug, Default, Clone, PartialEq)]
pub(super) struct Types(pub(super) Option<String>);

/// The writer of the trace.
#[derive(Debug, Default, Clone, PartialEq)]
pub(super) struct Distributed {
    pub(super) rank: Scalar,
    pub(super) world: Scalar,
    pub(super) groups: GroupConfigs,
}

/// The process groups of the job.
#[derive(Debug, Default, Clone, PartialEq)]
pub(super) struct GroupConfigs(pub(super) Vec<GroupConfig>);

/// A process group, as the head of the file lists it.
#[derive(Debug, Default, Clone, PartialEq)]
pub(super) struct GroupConfig {
    pub(super) name: Scalar,
    /// A list, or a text that looks like one.
    pub(super) ranks: Scalar,
}

/// Most groups that the head of a file may list.
const MOST_GROUPS: usize = 1 << 20;

/// A value of any kind, as far as it is simple.
#[derive(Debug, Default, Clone, PartialEq)]
pub(super) enum Scalar {
    #[default]
    Nothing,
    Whole(i64),
    Fraction(f64),
    Text(String),
    Ranks(Vec<u64>),
}

impl Scalar {
    pub(super) fn text(&self) -> Option<&str> {
        match self {
            Scalar::Text(text) => Some(text),
            _ => None,
        }
    }

    /// A number, also one that was written as a text, if it is whole and not negative.
    pub(super) fn whole(&self) -> Option<u64> {
        match self {
            Scalar::Whole(number) => u64::try_from(*number).ok(),
            Scalar::Fraction(number)
                if *number >= 0.0 && *number < 9e15 && number.fract() == 0.0 =>
            {
                Some(*number as u64)
            }
            Scalar::Text(text) => text.trim().parse().ok(),
            _ => None,
        }
    }

    pub(super) fn number(&self) -> Option<f64> {
        let number = match self {
            Scalar::Whole(number) => *number as f64,
            Scalar::Fraction(number) => *number,
            Scalar::Text(text) => text.trim().parse().ok()?,
            _ => return None,
        };
        number.is_finite().then_some(number)
    }
}

/// What a file says about itself while it is read.
pub(super) trait Listener {
    fn event(&mut self, index: u64, event: &Event) -> Result<(), super::TraceError>;
    fn distributed(&mut self, distributed: Distributed);
    /// A key of the file that is not looked at.
    fn other(&mut self, key: &str);
}

/// The file as a whole: an object with a list of events, or only the list.
pub(super) struct File<'l, L> {
    pub(super) listener: &'l mut L,
    /// Why the listener wants no more.
    pub(super) refused: &'l mut Option<super::TraceError>,
}

impl<'de, L: Listener> DeserializeSeed<'de> for File<'_, L> {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<bool, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de, L: Listener> Visitor<'de> for File<'_, L> {
    /// Whether there were events.
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with \"traceEvents\", or a list of events")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<bool, A::Error> {
        let mut found = false;
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "traceEvents" => {
                    found = true;
                    let events = Events { listener: self.listener, refused: self.refused };
                    map.next_value_seed(events)?;
                }
                "distributedInfo" => self.listener.distributed(map.next_value()?),
                other => {
                    self.listener.other(other);
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(found)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<bool, A::Error> {
        Events { listener: self.listener, refused: self.refused }.visit_seq(list)?;
        Ok(true)
    }
}

struct Events<'l, L> {
    listener: &'l mut L,
    refused: &'l mut Option<super::TraceError>,
}

impl<'de, L: Listener> DeserializeSeed<'de> for Events<'_, L> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de, L: Listener> Visitor<'de> for Events<'_, L> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of events")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        let mut index = 0;
        while let Some(event) = list.next_element::<Event>()? {
            if let Err(error) = self.listener.event(index, &event) {
                *self.refused = Some(error);
                return Err(de::Error::custom("refused"));
            }
            index += 1;
        }
        Ok(())
    }
}

/// An object of which some keys are taken; anything but an object is taken for an empty one, unless
/// it says how to read a list.
macro_rules! object {
    ($type:ident { $($key:literal => $field:ident),+ $(,)? }) => {
        object!($type { $($key => $field),+ } list |list| {
            while list.next_element::<IgnoredAny>()?.is_some() {}
            $type::default()
        });
    };
    ($type:ident { $($key:literal => $field:ident),* } list |$list:ident| $read:block) => {
        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Fields;
                impl<'de> Visitor<'de> for Fields {
                    type Value = $type;
                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        f.write_str("an object")
                    }
                    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<$type, A::Error> {
                        #[allow(unused_mut, reason = "an object may have no keys of interest")]
                        let mut value = $type::default();
                        while let Some(key) = map.next_key::<String>()? {
                            match key.as_str() {
                                $($key => value.$field = map.next_value()?,)*
                                _ => { map.next_value::<IgnoredAny>()?; }
                            }
                        }
                        Ok(value)
                    }
                    fn visit_seq<A: SeqAccess<'de>>(self, mut $list: A) -> Result<$type, A::Error> {
                        Ok($read)
                    }
                    fn visit_str<E>(self, _: &str) -> Result<$type, E> { Ok($type::default()) }
                    fn visit_u64<E>(self, _: u64) -> Result<$type, E> { Ok($type::default()) }
                    fn visit_i64<E>(self, _: i64) -> Result<$type, E> { Ok($type::default()) }
                    fn visit_f64<E>(self, _: f64) -> Result<$type, E> { Ok($type::default()) }
                    fn visit_bool<E>(self, _: bool) -> Result<$type, E> { Ok($type::default()) }
                    fn visit_unit<E>(self) -> Result<$type, E> { Ok($type::default()) }
                }
                deserializer.deserialize_any(Fields)
            }
        }
    };
}

object!(Event {
    "cat" => category,
    "name" => name,
    "ph" => phase,
    "ts" => start,
    "dur" => duration,
    "pid" => process,
    "tid" => thread,
    "args" => arguments,
});

object!(Arguments {
    "Collective name" => collective,
    "dtype" => element,
    "In msg nelems" => elements_in,
    "Out msg nelems" => elements_out,
    "Group size" => group_size,
    "Process Group Name" => group_name,
    "Process Group Ranks" => group_ranks,
    "Global rank start" => first_rank,
    "Global rank stride" => rank_stride,
    "Src Rank" => source,
    "Dst Rank" => destination,
    "External id" => external,
    "external id" => external,
    "stream" => stream,
    "correlation" => correlation,
    "Input Dims" => shapes,
    "Input type" => types,
});
object!(Types {} list |list| {
    let mut first = None;
    while let Some(value) = list.next_element::<Scalar>()? {
        first = first.or_else(|| value.text().filter(|text| !text.is_empty()).map(str::to_owned));
    }
    Types(first)
});

impl<'de> Deserialize<'de> for Shapes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ShapesVisitor)
    }
}

struct ShapesVisitor;

impl<'de> Visitor<'de> for ShapesVisitor {
    type Value = Shapes;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("shapes of tensors")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Shapes, A::Error> {
        let (mut first, mut all, mut empty) = (None, 0u64, false);
        let mut product: Option<u64> = None;
        while let Some(part) = list.next_element::<Shapes>()? {
            match part.number {
                Some(number) => product = Some(product.unwrap_or(1).saturating_mul(number)),
                None => {
                    first = first.or(Some(part.all).filter(|elements| *elements > 0));
                    all = all.saturating_add(part.all);
                    empty |= part.empty;
                }
            }
        }
        let all = product.unwrap_or(all);
        let elements = first.or(product).or(empty.then_some(0));
        Ok(Shapes { elements, all, empty: elements == Some(0), number: None })
    }

    fn visit_u64<E>(self, number: u64) -> Result<Shapes, E> {
        Ok(Shapes { number: Some(number), ..Shapes::default() })
    }

    fn visit_i64<E>(self, _: i64) -> Result<Shapes, E> {
        Ok(Shapes::default())
    }

    fn visit_f64<E>(self, _: f64) -> Result<Shapes, E> {
        Ok(Shapes::default())
    }

    fn visit_bool<E>(self, _: bool) -> Result<Shapes, E> {
        Ok(Shapes::default())
    }

    fn visit_str<E>(self, _: &str) -> Result<Shapes, E> {
        Ok(Shapes::default())
    }

    fn visit_unit<E>(self) -> Result<Shapes, E> {
        Ok(Shapes::default())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Shapes, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Shapes::default())
    }
}

object!(Distributed { "rank" => rank, "world_size" => world, "pg_config" => groups });
object!(GroupConfigs {} list |list| {
    let mut groups = Vec::new();
    while let Some(group) = list.next_element::<GroupConfig>()? {
        if groups.len() < MOST_GROUPS {
            groups.push(group);
        }
    }
    GroupConfigs(groups)
});
object!(GroupConfig { "pg_name" => name, "ranks" => ranks });

impl<'de> Deserialize<'de> for Scalar {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ScalarVisitor)
    }
}

struct ScalarVisitor;

impl<'de> Visitor<'de> for ScalarVisitor {
    type Value = Scalar;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_str<E>(self, text: &str) -> Result<Scalar, E> {
        Ok(Scalar::Text(text.to_owned()))
    }

    fn visit_string<E>(self, text: String) -> Result<Scalar, E> {
        Ok(Scalar::Text(text))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Scalar, E> {
        Ok(Scalar::Whole(number))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Scalar, E> {
        Ok(i64::try_from(number).map_or(Scalar::Fraction(number as f64), Scalar::Whole))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Scalar, E> {
        Ok(Scalar::Fraction(number))
    }

    fn visit_bool<E>(self, _: bool) -> Result<Scalar, E> {
        Ok(Scalar::Nothing)
    }

    fn visit_unit<E>(self) -> Result<Scalar, E> {
        Ok(Scalar::Nothing)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Scalar, A::Error> {
        let mut ranks = Vec::new();
        while let Some(value) = list.next_element::<Scalar>()? {
            if ranks.len() < MOST_GROUPS {
                ranks.extend(value.whole());
            }
        }
        Ok(Scalar::Ranks(ranks))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Scalar, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Scalar::Nothing)
    }
}
