//! A judge of files against the shipped JSON schemas: the keywords that the schemas use, as
//! JSON schema 2020-12 defines them. A keyword that it does not know fails the test, so that none is
//! passed over in silence.

use regex::Regex;
use serde_json::Value;

/// What is wrong with `value`, each with its path.
pub(crate) fn violations(root: &Value, value: &Value) -> Vec<String> {
    let mut judge = Judge { root, found: Vec::new() };
    judge.check(root, value, "");
    judge.found
}

struct Judge<'s> {
    root: &'s Value,
    found: Vec<String>,
}

impl Judge<'_> {
    fn check(&mut self, schema: &Value, value: &Value, path: &str) {
        let Some(keywords) = schema.as_object() else {
            assert!(schema.as_bool().is_some(), "neither a schema nor true or false: {schema}");
            if schema == false {
                self.found.push(format!("{path}: nothing is allowed here"));
            }
            return;
        };
        for (keyword, rule) in keywords {
            match keyword.as_str() {
                "$ref" => self.check(self.definition(rule), value, path),
                "properties" | "additionalProperties" | "required" => {
                    self.keys(keyword, schema, value, path);
                }
                "items" => {
                    for (at, item) in value.as_array().into_iter().flatten().enumerate() {
                        self.check(rule, item, &format!("{path}[{at}]"));
                    }
                }
                "allOf" => {
                    for part in rule.as_array().into_iter().flatten() {
                        self.check(part, value, path);
                    }
                }
                "oneOf" | "anyOf" => self.choice(keyword, rule, value, path),
                _ => self.single(keyword, rule, value, path),
            }
        }
    }

    fn definition(&self, reference: &Value) -> &'static Value {
        let name = reference.as_str().and_then(|text| text.strip_prefix("#")).expect("a reference");
        let definition = self.root.pointer(name).expect("a definition");
        // Schemas are few and live as long as the test.
        Box::leak(Box::new(definition.clone()))
    }

    fn keys(&mut self, keyword: &str, schema: &Value, value: &Value, path: &str) {
        let Some(table) = value.as_object() else { return };
        let known = |key: &str| schema["properties"].get(key);
        if keyword == "required" {
            let keys =
                schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
            let missing = keys.filter(|key| !table.contains_key(*key));
            self.found.extend(missing.map(|key| format!("{path}: `{key}` is missing")));
            return;
        }
        for (key, value) in table {
            let rule = match keyword {
                "properties" => known(key),
                _ => known(key).is_none().then(|| &schema["additionalProperties"]),
            };
            if let Some(rule) = rule {
                self.check(rule, value, &format!("{path}.{key}"));
            }
        }
    }

    fn choice(&mut self, keyword: &str, choices: &Value, value: &Value, path: &str) {
        let choices = choices.as_array().expect("a list of schemas");
        let fits = |schema: &&Value| {
            let mut judge = Judge { root: self.root, found: Vec::new() };
            judge.check(schema, value, path);
            judge.found.is_empty()
        };
        let fitting = choices.iter().filter(fits).count();
        if fitting == 0 || (keyword == "oneOf" && fitting > 1) {
            self.found.push(format!("{path}: {fitting} of {} fit {value}", choices.len()));
        }
    }

    fn single(&mut self, keyword: &str, rule: &Value, value: &Value, path: &str) {
        let number = |limit: fn(f64, f64) -> bool| match (value.as_f64(), rule.as_f64()) {
            (Some(value), Some(rule)) => limit(value, rule),
            _ => true,
        };
        let count = |limit: fn(usize, u64) -> bool| match (value.as_array(), rule.as_u64()) {
            (Some(list), Some(rule)) => limit(list.len(), rule),
            _ => true,
        };
        let right = match keyword {
            "$schema" | "$defs" | "title" | "description" | "default" | "examples" | "format" => {
                true
            }
            "type" => match rule {
                Value::Array(kinds) => kinds.iter().any(|kind| is(kind, value)),
                kind => is(kind, value),
            },
            "const" => value == rule,
            "minimum" => number(|value, rule| value >= rule),
            "maximum" => number(|value, rule| value <= rule),
            "minItems" => count(|length, rule| length as u64 >= rule),
            "maxItems" => count(|length, rule| length as u64 <= rule),
            "minLength" => {
                value.as_str().is_none_or(|s| s.chars().count() as u64 >= rule.as_u64().unwrap())
            }
            "pattern" => value.as_str().is_none_or(|text| {
                Regex::new(rule.as_str().expect("a pattern")).expect("a pattern").is_match(text)
            }),
            other => panic!("the judge does not know the keyword `{other}`"),
        };
        if !right {
            self.found.push(format!("{path}: {value} against {keyword} {rule}"));
        }
    }
}

fn is(kind: &Value, value: &Value) -> bool {
    match kind.as_str().expect("the name of a type") {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("there is no type `{other}`"),
    }
}
