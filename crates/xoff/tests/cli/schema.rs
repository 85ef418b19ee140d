//! The shipped schemas are those of this version. Run with `XOFF_WRITE_SCHEMAS=1` to write them.

use super::{code, output, repository, stdout};
use std::path::Path;

#[test]
fn the_shipped_schemas_are_current() {
    for file in ["fabric", "scenario"] {
        let path = repository("schema").join(format!("{file}.schema.json"));
        let output = output(Path::new("."), &["schema", file]);
        assert_eq!(code(&output), Some(0));
        let current = stdout(&output);
        if std::env::var_os("XOFF_WRITE_SCHEMAS").is_some() {
            std::fs::create_dir_all(repository("schema")).unwrap();
            std::fs::write(&path, current).unwrap();
        }
        let shipped = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(
            shipped == current,
            "{} is out of date; run this test with XOFF_WRITE_SCHEMAS=1",
            path.display()
        );
    }
}

#[test]
fn schemas_know_the_keys_that_examples_use() {
    let schema = super::json(&output(Path::new("."), &["schema", "fabric"]));
    for key in ["cluster", "fabric", "links", "switch", "pfc", "ecn", "transport", "class"] {
        assert!(schema["properties"].get(key).is_some(), "{key}");
    }
}
