//! Messages as devices should not send them.

use super::super::proto::{PathElem, TypedValue, Update};
use super::*;
use proptest::prelude::*;

const SECOND: Duration = Duration::from_secs(1);

fn path(steps: &[&str]) -> Path {
    let elem = steps.iter().map(|name| PathElem { name: (*name).into(), ..PathElem::default() });
    Path { elem: elem.collect(), ..Path::default() }
}

fn update(steps: &[&str], value: typed_value::Value) -> Update {
    Update { path: Some(path(steps)), val: Some(TypedValue { value: Some(value) }) }
}

fn port(number: usize, value: u64) -> Update {
    let text = format!("{{\"Ethernet{number}\":{{\"SAI_PORT_STAT_IF_IN_OCTETS\":\"{value}\"}}}}");
    update(&["COUNTERS", "Ethernet*"], typed_value::Value::JsonIetf(text.into()))
}

fn notification(update: Vec<Update>) -> Notification {
    Notification { update, ..Notification::default() }
}

fn count(store: &Store) -> usize {
    store.leaves().count()
}

#[test]
fn a_value_holds_until_it_is_old() {
    let mut store = Store::default();
    store.apply(&notification(vec![port(0, 1), port(4, 2)]), Dialect::Sonic, SECOND);
    store.apply(&notification(vec![port(4, 3)]), Dialect::Sonic, SECOND * 10);
    assert_eq!(count(&store), 2);
    store.expire(SECOND * 31, SECOND * 30);
    assert_eq!(count(&store), 2);
    store.expire(SECOND * 32, SECOND * 30);
    let left: Vec<_> = store.leaves().collect();
    let steps = vec!["COUNTERS", "Ethernet*", "Ethernet4", "SAI_PORT_STAT_IF_IN_OCTETS"];
    assert_eq!(left, [(steps, &Scalar::Whole(3))]);
}

#[test]
fn what_is_deleted_is_gone() {
    let delete =
        |steps: &[&str]| Notification { delete: vec![path(steps)], ..Notification::default() };
    let filled = || {
        let mut store = Store::default();
        let leaf = |port: &str| {
            let steps = ["interfaces", "interface", port, "state", "counters", "in-octets"];
            update(&steps, typed_value::Value::Uint(1))
        };
        let all = notification(vec![leaf("Ethernet1"), leaf("Ethernet10"), leaf("Management1")]);
        store.apply(&all, Dialect::OpenConfig, SECOND);
        assert_eq!(count(&store), 3);
        store
    };
    for (steps, left) in [
        (&["interfaces", "interface", "Ethernet1"][..], 2),
        (&["interfaces", "interface", "Ethernet*"], 1),
        (&["interfaces", "interface", "*", "state", "oper-status"], 3),
        (&["interfaces"], 0),
        (&[], 0),
        // It cannot be read, so it may have meant everything.
        (&["interfaces", "a\nb"], 0),
    ] {
        let mut store = filled();
        store.apply(&delete(steps), Dialect::OpenConfig, SECOND);
        assert_eq!(count(&store), left, "{steps:?}");
    }
    let mut store = filled();
    let all =
        Notification { atomic: true, prefix: Some(path(&["interfaces"])), ..notification(vec![]) };
    store.apply(&all, Dialect::OpenConfig, SECOND);
    assert_eq!(count(&store), 0);
}

#[test]
fn more_than_fits_is_counted() {
    let mut store = Store::default();
    for start in (0..MOST + 1_000).step_by(1_000) {
        let updates = (start..start + 1_000).map(|number| port(number, 1));
        store.apply(&notification(updates.collect()), Dialect::Sonic, SECOND);
    }
    assert_eq!(count(&store), MOST);
    assert_eq!(store.skipped(), (MOST as u64).next_multiple_of(1_000) + 1_000 - MOST as u64);
    assert_eq!(store.skipped(), 0);
    // What is known is still updated.
    store.apply(&notification(vec![port(0, 7)]), Dialect::Sonic, SECOND);
    assert!(store.leaves().any(|(_, value)| *value == Scalar::Whole(7)));
}

#[test]
fn many_deletions_take_no_time() {
    let mut store = Store::default();
    let updates = (0..20_000).map(|number| port(number, 1));
    store.apply(&notification(updates.collect()), Dialect::Sonic, SECOND);
    let delete = vec![path(&["COUNTERS", "PortChannel*"]); 200_000];
    let message = Notification { delete, ..Notification::default() };
    store.apply(&message, Dialect::Sonic, SECOND);
    assert_eq!(count(&store), 0);
}

fn step() -> impl Strategy<Value = String> {
    const KNOWN: &[&str] = &[
        "COUNTERS",
        "Ethernet*",
        "Ethernet0",
        "Queues",
        "Ethernet0:3",
        "SAI_PORT_STAT_IF_IN_OCTETS",
        "interfaces",
        "interface",
        "state",
        "counters",
        "in-octets",
        "qos",
        "output",
        "queues",
        "queue",
        "oper-status",
        "type",
        "ethernet",
        "port-speed",
        "PORT_TABLE",
        "alias",
        "*",
        "",
        ":",
        "a:b:",
    ];
    prop_oneof![4 => prop::sample::select(KNOWN).prop_map(str::to_owned), 1 => any::<String>()]
}

fn any_path() -> impl Strategy<Value = Path> {
    let key = prop::collection::btree_map(step(), step(), 0..3);
    let elem = (step(), key).prop_map(|(name, key)| PathElem { name, key });
    let elem = prop::collection::vec(elem, 0..9);
    let element = prop::collection::vec(step(), 0..4);
    (elem, element).prop_map(|(elem, element)| Path { elem, element, ..Path::default() })
}

fn any_json() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        any::<u64>().prop_map(Json::from),
        any::<f64>().prop_map(Json::from),
        step().prop_map(Json::from),
        Just(Json::Null),
        any::<bool>().prop_map(Json::from),
    ];
    leaf.prop_recursive(5, 40, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Json::from),
            prop::collection::btree_map(step(), inner, 0..5)
                .prop_map(|map| Json::Object(map.into_iter().collect())),
        ]
    })
}

fn any_value() -> impl Strategy<Value = typed_value::Value> {
    use super::super::proto::Decimal64;
    use typed_value::Value;
    prop_oneof![
        any_json().prop_map(|json| Value::JsonIetf(json.to_string().into())),
        any_json().prop_map(|json| Value::Json(json.to_string().into())),
        any::<Vec<u8>>().prop_map(Value::Json),
        any::<u64>().prop_map(Value::Uint),
        any::<i64>().prop_map(Value::Int),
        any::<f64>().prop_map(Value::Double),
        any::<f32>().prop_map(Value::Float),
        (any::<i64>(), any::<u32>())
            .prop_map(|(digits, precision)| Value::Decimal(Decimal64 { digits, precision })),
        step().prop_map(Value::String),
        any::<bool>().prop_map(Value::Bool),
    ]
}

prop_compose! {
    fn any_notification()(
        prefix in prop::option::of(any_path()),
        update in prop::collection::vec((prop::option::of(any_path()), prop::option::of(any_value())), 0..6),
        delete in prop::collection::vec(any_path(), 0..2),
        atomic in prop::bool::weighted(0.1),
    ) -> Notification {
        let update = update.into_iter().map(|(path, value)| {
            Update { path, val: value.map(|value| TypedValue { value: Some(value) }) }
        });
        Notification { timestamp: 0, prefix, update: update.collect(), delete, atomic }
    }
}

proptest! {
    #[test]
    fn no_message_panics(messages in prop::collection::vec(any_notification(), 1..8)) {
        use crate::exposition::Exposition;
        use crate::naming::Naming;
        for dialect in [Dialect::Sonic, Dialect::OpenConfig] {
            let mut store = Store::default();
            for (second, message) in messages.iter().enumerate() {
                store.apply(message, dialect, SECOND * second as u32);
                let mut out = Exposition::default();
                dialect.export(&store, &Naming::switch("pod", "leaf0"), &BTreeMap::new(), &mut out);
                // One line for each sample, whatever is in names.
                let lines = out.text().lines().filter(|line| !line.starts_with('#')).count();
                prop_assert_eq!(lines, out.series());
                prop_assert!(out.series() <= store.leaves().count());
            }
            store.expire(SECOND * 100, SECOND);
        }
    }
}
