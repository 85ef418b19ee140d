//! JSON schemas of the two files, generated from the types that read them.

use crate::file::FabricFile;
use crate::scenario::Scenario;
use schemars::generate::SchemaSettings;
use serde_json::{Value, json};

/// The schema of a fabric file.
pub fn fabric() -> Value {
    titled(generate::<FabricFile>(), "xoff fabric file")
}

/// The schema of a scenario file. Its `override` table takes what a fabric file takes.
pub fn scenario() -> Value {
    let mut schema = titled(generate::<Scenario>(), "xoff scenario file");
    let mut fabric = fabric();
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
    schema
}

/// The schema that a scenario document is walked with: overrides are walked after merging.
pub(crate) fn bare_scenario() -> Value {
    generate::<Scenario>()
}

fn generate<T: schemars::JsonSchema>() -> Value {
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
        let scenario = scenario();
        assert!(scenario.pointer("/properties/workload").is_some());
        assert!(scenario.pointer("/$defs/FabricFile/properties/cluster").is_some());
    }
}
