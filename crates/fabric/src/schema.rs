//! JSON schemas of the two files, generated from the types that read them.

use crate::file::FabricFile;
use crate::scenario::Scenario;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Value, json};

/// The schema of a fabric file as it is written: the defaults of its NIC are laid below it, so that
/// `[transport.congestion]` may change a constant and leave the `kind` to the NIC.
pub fn fabric() -> Value {
    let mut schema = titled(merged_fabric(), "xoff fabric file");
    if let Some(Value::Object(congestion)) = schema.pointer_mut("/$defs/Congestion")
        && let Some(mut alternatives) = congestion.remove("oneOf")
    {
        // Without a kind several alternatives may fit.
        alternatives.as_array_mut().into_iter().flatten().for_each(require_nothing);
        congestion.insert("anyOf".to_owned(), alternatives);
    }
    separate(&mut schema);
    schema
}

/// Puts references with keywords beside them into an `allOf`. Editors that read schemas by draft 7
/// pass over what stands beside a reference: the tag, by which alternatives differ.
fn separate(schema: &mut Value) {
    match schema {
        Value::Object(keywords) => {
            if keywords.contains_key("properties")
                && let Some(reference) = keywords.remove("$ref")
            {
                keywords.insert("allOf".to_owned(), json!([{ "$ref": reference }]));
            }
            keywords.values_mut().for_each(separate);
        }
        Value::Array(list) => list.iter_mut().for_each(separate),
        _ => {}
    }
}

/// The schema of a fabric file once everything is laid over each other.
pub(crate) fn merged_fabric() -> Value {
    generate::<FabricFile>()
}

/// The schema of a scenario file. Its `override` table takes what a fabric file takes.
pub fn scenario() -> Value {
    let mut schema = titled(generate::<Scenario>(), "xoff scenario file");
    let mut fabric = fabric();
    loosen(&mut fabric);
    let definitions = fabric.as_object_mut().and_then(|object| object.remove("$defs"));
    if let Some(object) = fabric.as_object_mut() {
        object.remove("$schema");
        object.remove("title");
    }
    if let (Some(own), Some(Value::Object(more))) =
        (schema.get_mut("$defs").and_then(Value::as_object_mut), definitions)
    {
        for (name, definition) in more {
            own.entry(name).or_insert(definition);
        }
        own.insert("FabricFile".to_owned(), fabric);
    }
    if let Some(slot) = schema.pointer_mut("/properties/override") {
        *slot = json!({
            "$ref": "#/$defs/FabricFile",
            "description": "Settings of the fabric file that this scenario changes."
        });
    }
    separate(&mut schema);
    for name in ["Workload", "Fault"] {
        close(&mut schema, name);
    }
    schema
}

/// Lets no key into the alternatives of a tagged definition that none of their parts knows. `additionalProperties` sees
/// the keys beside it only, so those of the parts are listed there, with anything as their value: what they may be, the
/// parts say. (Draft 7 has no other way, and editors that know it only pass over `unevaluatedProperties`.)
fn close(schema: &mut Value, name: &str) {
    let Some(alternatives) = schema.pointer(&format!("/$defs/{name}/oneOf")) else { return };
    let Value::Array(mut alternatives) = alternatives.clone() else { return };
    for alternative in &mut alternatives {
        let mut keys = Vec::new();
        known_keys(schema, alternative, &mut keys);
        for key in keys {
            let known = alternative["properties"].get(&key).is_some();
            if !known {
                alternative["properties"][&key] = json!(true);
            }
        }
        alternative["additionalProperties"] = json!(false);
    }
    schema["$defs"][name]["oneOf"] = Value::Array(alternatives);
}

/// The keys of a table and of all its parts.
fn known_keys(root: &Value, schema: &Value, keys: &mut Vec<String>) {
    let own = schema.get("properties").and_then(Value::as_object);
    keys.extend(own.into_iter().flat_map(|own| own.keys().cloned()));
    let reference = schema.get("$ref").and_then(Value::as_str);
    let target = reference.and_then(|name| root.pointer(name.strip_prefix('#')?));
    let parts = schema.get("allOf").and_then(Value::as_array).into_iter().flatten();
    target.into_iter().chain(parts).for_each(|part| known_keys(root, part, keys));
}

/// Overrides are laid over a fabric file that has the rest: tables need none of their keys, and
/// entries of lists only what they are merged by.
fn loosen(fabric: &mut Value) {
    let Some(Value::Object(properties)) = fabric.get("properties") else { return };
    let item = |list: &Value| {
        let name = list.get("items")?.get("$ref")?.as_str()?;
        name.strip_prefix("#/$defs/").map(str::to_owned)
    };
    let entries: Vec<String> = properties.values().filter_map(item).collect();
    let Some(Value::Object(definitions)) = fabric.get_mut("$defs") else { return };
    for (name, definition) in definitions {
        let key =
            ["id", "name"].into_iter().find(|key| definition["properties"].get(key).is_some());
        let required = |key: &str| {
            let listed = definition.get("required").and_then(Value::as_array);
            listed.is_some_and(|listed| listed.iter().any(|name| name == key))
        };
        match (entries.contains(name), key) {
            (false, _) => require_nothing(definition),
            (true, Some(key)) if required(key) => definition["required"] = json!([key]),
            // A list without names is replaced as a whole.
            (true, _) => {}
        }
    }
}

fn require_nothing(schema: &mut Value) {
    if let Some(object) = schema.as_object_mut() {
        object.remove("required");
    }
}

/// The schema that a scenario document is walked with: overrides are walked after merging.
pub(crate) fn bare_scenario() -> Value {
    generate::<Scenario>()
}

/// The pattern of a quantity without its anchors, for settings that are more than one quantity.
pub(crate) fn pattern<T: JsonSchema>() -> String {
    let schema = T::json_schema(&mut SchemaGenerator::default());
    let pattern = schema.get("pattern").and_then(Value::as_str).unwrap_or_default();
    let inner = pattern.strip_prefix('^').and_then(|rest| rest.strip_suffix('$'));
    inner.expect("a quantity has an anchored pattern").to_owned()
}

fn generate<T: JsonSchema>() -> Value {
    SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<T>().to_value()
}

fn titled(mut schema: Value, title: &str) -> Value {
    if let Some(object) = schema.as_object_mut() {
        object.insert("title".to_owned(), json!(title));
    }
    schema
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schemas_know_the_keys() {
        let fabric = fabric();
        assert!(fabric.pointer("/properties/cluster").is_some());
        assert!(fabric.pointer("/$defs/Cluster/properties/gpus-per-server").is_some());
        assert!(fabric.pointer("/$defs/Links/properties/leaf-spine").is_some());
        assert!(fabric.pointer("/$defs/Links/properties/rate").is_some(), "flattened");
        assert!(fabric.pointer("/$defs/BalancingSettings/required").is_some());
        let scenario = scenario();
        assert!(scenario.pointer("/$defs/BalancingSettings/required").is_none(), "laid over");
        assert_eq!(scenario.pointer("/$defs/ClassEntry/required"), Some(&json!(["id"])));
        assert!(scenario.pointer("/$defs/RouteEntry/required/2").is_some(), "replaced");
        assert!(scenario.pointer("/properties/workload").is_some());
        let workload = scenario.pointer("/$defs/Workload/oneOf/0").unwrap();
        assert_eq!(workload["additionalProperties"], json!(false));
        assert_eq!(workload["properties"]["size"], json!(true), "a key of one of its parts");
        assert!(scenario.pointer("/$defs/FabricFile/properties/cluster").is_some());
    }
}
