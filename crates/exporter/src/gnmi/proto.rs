//! The messages of gNMI that are needed, with the field numbers of gnmi.proto 0.10.0. They are written by hand, because forty lines
//! of numbers need no compiler of protocols at every build; fields that are not here are skipped when they are read.

use prost::{Message, Oneof};
use std::collections::BTreeMap;

/// Where a server lists what it speaks.
pub const CAPABILITIES: &str = "/gnmi.gNMI/Capabilities";
/// Where values are asked for once.
pub const GET: &str = "/gnmi.gNMI/Get";
/// Where values are streamed from.
pub const SUBSCRIBE: &str = "/gnmi.gNMI/Subscribe";

/// How values are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, prost::Enumeration)]
#[repr(i32)]
pub enum Encoding {
    /// JSON.
    Json = 0,
    /// Bytes.
    Bytes = 1,
    /// The types of [`typed_value::Value`].
    Proto = 2,
    /// Text.
    Ascii = 3,
    /// JSON by RFC 7951: numbers of 64 bits are strings.
    JsonIetf = 4,
}

/// When values of a subscription are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, prost::Enumeration)]
#[repr(i32)]
pub enum SubscriptionMode {
    /// As the server likes.
    TargetDefined = 0,
    /// When they change.
    OnChange = 1,
    /// At intervals.
    Sample = 2,
}

/// How long a list of subscriptions lasts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, prost::Enumeration)]
#[repr(i32)]
pub enum Mode {
    /// Until one of both ends it.
    Stream = 0,
    /// For one answer.
    Once = 1,
    /// An answer for each request.
    Poll = 2,
}

/// One step of a path.
#[derive(Clone, PartialEq, Message)]
pub struct PathElem {
    /// Its name.
    #[prost(string, tag = "1")]
    pub name: String,
    /// The keys of an entry of a list.
    #[prost(btree_map = "string, string", tag = "2")]
    pub key: BTreeMap<String, String>,
}

/// A path.
#[derive(Clone, PartialEq, Message)]
pub struct Path {
    /// Steps as servers before version 0.4 sent them.
    #[prost(string, repeated, tag = "1")]
    pub element: Vec<String>,
    /// Whose names they are.
    #[prost(string, tag = "2")]
    pub origin: String,
    /// Steps.
    #[prost(message, repeated, tag = "3")]
    pub elem: Vec<PathElem>,
    /// The device or, at SONiC, the database.
    #[prost(string, tag = "4")]
    pub target: String,
}

/// Digits and how many of them are behind the point.
#[derive(Clone, PartialEq, Message)]
pub struct Decimal64 {
    /// All digits.
    #[prost(int64, tag = "1")]
    pub digits: i64,
    /// Digits behind the point.
    #[prost(uint32, tag = "2")]
    pub precision: u32,
}

/// A value of some type. Lists and messages of other protocols are left out: they are no numbers.
#[derive(Clone, PartialEq, Message)]
pub struct TypedValue {
    /// The value.
    #[prost(oneof = "typed_value::Value", tags = "1, 2, 3, 4, 6, 7, 10, 11, 12, 14")]
    pub value: Option<typed_value::Value>,
}

/// Types of values.
pub mod typed_value {
    use super::{Decimal64, Oneof};

    /// A value.
    #[derive(Clone, PartialEq, Oneof)]
    pub enum Value {
        /// Text.
        #[prost(string, tag = "1")]
        String(String),
        /// A whole number.
        #[prost(int64, tag = "2")]
        Int(i64),
        /// A whole number that is not negative.
        #[prost(uint64, tag = "3")]
        Uint(u64),
        /// Yes or no.
        #[prost(bool, tag = "4")]
        Bool(bool),
        /// A number; older servers.
        #[prost(float, tag = "6")]
        Float(f32),
        /// A number; older servers.
        #[prost(message, tag = "7")]
        Decimal(Decimal64),
        /// JSON.
        #[prost(bytes = "vec", tag = "10")]
        Json(Vec<u8>),
        /// JSON by RFC 7951.
        #[prost(bytes = "vec", tag = "11")]
        JsonIetf(Vec<u8>),
        /// Text.
        #[prost(string, tag = "12")]
        Ascii(String),
        /// A number.
        #[prost(double, tag = "14")]
        Double(f64),
    }
}

/// A path and its value.
#[derive(Clone, PartialEq, Message)]
pub struct Update {
    /// The path, below the prefix.
    #[prost(message, optional, tag = "1")]
    pub path: Option<Path>,
    /// The value.
    #[prost(message, optional, tag = "3")]
    pub val: Option<TypedValue>,
}

/// What changed.
#[derive(Clone, PartialEq, Message)]
pub struct Notification {
    /// When, by the device's clock, in nanoseconds since 1970.
    #[prost(int64, tag = "1")]
    pub timestamp: i64,
    /// What all paths begin with.
    #[prost(message, optional, tag = "2")]
    pub prefix: Option<Path>,
    /// Values.
    #[prost(message, repeated, tag = "4")]
    pub update: Vec<Update>,
    /// What is no longer there.
    #[prost(message, repeated, tag = "5")]
    pub delete: Vec<Path>,
    /// Whether all that is below the prefix is in this message.
    #[prost(bool, tag = "6")]
    pub atomic: bool,
}

/// A path to watch.
#[derive(Clone, PartialEq, Message)]
pub struct Subscription {
    /// The path, below the prefix.
    #[prost(message, optional, tag = "1")]
    pub path: Option<Path>,
    /// When values are sent.
    #[prost(enumeration = "SubscriptionMode", tag = "2")]
    pub mode: i32,
    /// Nanoseconds between samples.
    #[prost(uint64, tag = "3")]
    pub sample_interval: u64,
}

/// Paths to watch.
#[derive(Clone, PartialEq, Message)]
pub struct SubscriptionList {
    /// What all paths begin with.
    #[prost(message, optional, tag = "1")]
    pub prefix: Option<Path>,
    /// The paths.
    #[prost(message, repeated, tag = "2")]
    pub subscription: Vec<Subscription>,
    /// For how long.
    #[prost(enumeration = "Mode", tag = "5")]
    pub mode: i32,
    /// How values shall be written.
    #[prost(enumeration = "Encoding", tag = "8")]
    pub encoding: i32,
}

/// What a client sends on a stream. Polls are left out.
#[derive(Clone, PartialEq, Message)]
pub struct SubscribeRequest {
    /// Paths to watch.
    #[prost(message, optional, tag = "1")]
    pub subscribe: Option<SubscriptionList>,
}

/// What a server sends on a stream.
#[derive(Clone, PartialEq, Message)]
pub struct SubscribeResponse {
    /// Either of both.
    #[prost(oneof = "subscribe_response::Response", tags = "1, 3")]
    pub response: Option<subscribe_response::Response>,
}

/// What a stream consists of.
pub mod subscribe_response {
    use super::{Notification, Oneof};

    /// A message.
    #[derive(Clone, PartialEq, Oneof)]
    pub enum Response {
        /// Values.
        #[prost(message, tag = "1")]
        Update(Notification),
        /// Every value has been sent once.
        #[prost(bool, tag = "3")]
        SyncResponse(bool),
    }
}

/// Values to send once.
#[derive(Clone, PartialEq, Message)]
pub struct GetRequest {
    /// What all paths begin with.
    #[prost(message, optional, tag = "1")]
    pub prefix: Option<Path>,
    /// The paths.
    #[prost(message, repeated, tag = "2")]
    pub path: Vec<Path>,
    /// How values shall be written.
    #[prost(enumeration = "Encoding", tag = "5")]
    pub encoding: i32,
}

/// Values, once.
#[derive(Clone, PartialEq, Message)]
pub struct GetResponse {
    /// The values.
    #[prost(message, repeated, tag = "1")]
    pub notification: Vec<Notification>,
}

/// Asks what a server speaks.
#[derive(Clone, PartialEq, Message)]
pub struct CapabilityRequest {}

/// A model of data.
#[derive(Clone, PartialEq, Message)]
pub struct ModelData {
    /// Its name, like `openconfig-interfaces`.
    #[prost(string, tag = "1")]
    pub name: String,
    /// Whose it is.
    #[prost(string, tag = "2")]
    pub organization: String,
    /// Its version.
    #[prost(string, tag = "3")]
    pub version: String,
}

/// What a server speaks.
#[derive(Clone, PartialEq, Message)]
pub struct CapabilityResponse {
    /// Models.
    #[prost(message, repeated, tag = "1")]
    pub supported_models: Vec<ModelData>,
    /// Encodings.
    #[prost(enumeration = "Encoding", repeated, tag = "2")]
    pub supported_encodings: Vec<i32>,
    /// The version of gNMI.
    #[prost(string, tag = "3")]
    pub gnmi_version: String,
}

#[cfg(test)]
mod tests {
    use super::typed_value::Value;
    use super::*;

    /// Bytes that Google's protobuf for Python wrote, with the messages that `pygnmi` has of gnmi.proto.
    const REQUEST: &str = "0a4f0a0d220b434f554e544552535f4442123c0a32120a6f70656e636f6e6669671a0c0a0a696e746572\
        66616365731a160a09696e7465726661636512090a046e616d6512012a10021880c8afa0254004";
    const UPDATE: &str = "0aba02089582a6efc79e849111120c0a036f6c6422056c6561663022170a0e1a0c0a0a737472696e675f76\
        616c1a030a01612003221c0a0b1a090a07696e745f76616c1a0b10fbffffffffffffffff012003221d0a0c1a0a0a0875696e745f76616c1a0b\
        18ffffffffffffffffff01200322140a0c1a0a0a08626f6f6c5f76616c1a022001200322180a0d1a0b0a09666c6f61745f76616c1a05350000\
        c03f200322150a0c1a0a0a086a736f6e5f76616c1a035201312003221c0a111a0f0a0d6a736f6e5f696574665f76616c1a055a032232222003\
        22160a0d1a0b0a0961736369695f76616c1a036201622003221d0a0e1a0c0a0a646f75626c655f76616c1a09710000000000000440200322111a\
        0f3a0d08f1ffffffffffffffff01100122081a0642040a02180122051a032a01782a081a060a04676f6e653001";
    const GET_REQUEST: &str = "0a0922074150504c5f4442120e1a0c0a0a504f52545f5441424c452804";
    const CAPABILITY: &str =
        "0a180a08736f6e69632d64621205534f4e69431a05302e312e3012030002041a05302e382e30";

    fn bytes(hex: &str) -> Vec<u8> {
        let digits: Vec<u32> = hex.chars().map(|digit| digit.to_digit(16).unwrap()).collect();
        digits.chunks(2).map(|pair| (pair[0] * 16 + pair[1]) as u8).collect()
    }

    fn steps(names: &[&str]) -> Vec<PathElem> {
        names.iter().map(|name| PathElem { name: (*name).into(), ..PathElem::default() }).collect()
    }

    #[test]
    fn requests_are_written_as_others_write_them() {
        let mut elem = steps(&["interfaces", "interface"]);
        elem[1].key.insert("name".into(), "*".into());
        let path = Path { origin: "openconfig".into(), elem, ..Path::default() };
        let mode = SubscriptionMode::Sample.into();
        let sample_interval = 10_000_000_000;
        let list = SubscriptionList {
            prefix: Some(Path { target: "COUNTERS_DB".into(), ..Path::default() }),
            subscription: vec![Subscription { path: Some(path), mode, sample_interval }],
            mode: Mode::Stream.into(),
            encoding: Encoding::JsonIetf.into(),
        };
        let request = SubscribeRequest { subscribe: Some(list) };
        assert_eq!(request.encode_to_vec(), bytes(REQUEST));
        let get = GetRequest {
            prefix: Some(Path { target: "APPL_DB".into(), ..Path::default() }),
            path: vec![Path { elem: steps(&["PORT_TABLE"]), ..Path::default() }],
            encoding: Encoding::JsonIetf.into(),
        };
        assert_eq!(get.encode_to_vec(), bytes(GET_REQUEST));
    }

    #[test]
    fn answers_of_others_are_read() {
        let read = |hex| SubscribeResponse::decode(bytes(hex).as_slice()).unwrap().response;
        assert_eq!(read("1801"), Some(subscribe_response::Response::SyncResponse(true)));
        let Some(subscribe_response::Response::Update(update)) = read(UPDATE) else { panic!() };
        assert_eq!(update.timestamp, 1_234_567_890_123_456_789);
        let prefix = update.prefix.unwrap();
        assert_eq!((prefix.target.as_str(), prefix.element), ("leaf0", vec!["old".to_owned()]));
        assert!(update.atomic);
        assert_eq!(update.delete[0].elem, steps(&["gone"]));
        assert_eq!(update.update[0].path.as_ref().unwrap().elem, steps(&["string_val"]));
        let values: Vec<_> = update.update.into_iter().map(|one| one.val.unwrap().value).collect();
        let expected = [
            Some(Value::String("a".into())),
            Some(Value::Int(-5)),
            Some(Value::Uint(u64::MAX)),
            Some(Value::Bool(true)),
            Some(Value::Float(1.5)),
            Some(Value::Json(b"1".into())),
            Some(Value::JsonIetf(b"\"2\"".into())),
            Some(Value::Ascii("b".into())),
            Some(Value::Double(2.5)),
            Some(Value::Decimal(Decimal64 { digits: -15, precision: 1 })),
            // A list, and bytes.
            None,
            None,
        ];
        assert_eq!(values, expected);
        let found = CapabilityResponse::decode(bytes(CAPABILITY).as_slice()).unwrap();
        let model = &found.supported_models[0];
        let words = (model.name.as_str(), model.organization.as_str(), model.version.as_str());
        assert_eq!(words, ("sonic-db", "SONiC", "0.1.0"));
        assert_eq!(
            (found.supported_encodings, found.gnmi_version),
            (vec![0, 2, 4], "0.8.0".into())
        );
    }
}
