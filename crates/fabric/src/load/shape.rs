//! What is wrong with the shape of a document, and which other mistakes only follow from that.

use crate::diagnostic::{Code, Diagnostic, Origin, code};
use crate::document::{Node, Place, Value};
use crate::structure;

/// The mistakes in a document's shape, which have been taken out of it.
pub(super) struct Shape {
    pub(super) found: Vec<Diagnostic>,
    /// The document before that.
    before: Node,
}

impl Shape {
    /// Takes what does not fit the schema out of a document.
    pub(super) fn take(root: &mut Node, schema: &serde_json::Value, home: Origin) -> Self {
        let before = root.clone();
        Self { found: structure::prune(root, schema, home), before }
    }

    /// Whether a mistake may only follow from one of these. What was taken out has its default, so
    /// nothing that depends on several keys can be judged: not the fabric as a whole, nor the rest of the
    /// same table or list entry, nor a name that was defined there.
    pub(super) fn explains(&self, found: &Diagnostic) -> bool {
        // What seems to be missing may be the key that is misspelt there.
        let misspelt = |own: &Diagnostic| {
            own.code == code::UNKNOWN_KEY && self.section(own) == self.section(found)
        };
        if found.code == code::MISSING_KEY && self.found.iter().any(misspelt) {
            return true;
        }
        let mut wrong = self.found.iter().filter(|own| loses(own)).peekable();
        if wrong.peek().is_none() {
            return false;
        }
        let place = self.section(found);
        place.is_none()
            || OF_THE_WHOLE.contains(&found.code)
            || wrong.any(|own| {
                let section = self.section(own);
                let node = section.and_then(|section| self.node(section));
                section == place || node.is_some_and(|node| names(node, &found.message))
            })
    }

    fn node(&self, (key, index): (&str, usize)) -> Option<&Node> {
        let node = self.before.table()?.get(key)?;
        match &node.value {
            Value::Array(entries) => entries.get(index),
            _ => Some(node),
        }
    }

    /// The top-level key, and of a list the entry, into which a diagnostic points.
    fn section(&self, found: &Diagnostic) -> Option<(&str, usize)> {
        let table = self.before.table()?;
        table.iter().find_map(|(key, node)| match &node.value {
            Value::Array(entries) => {
                let index = entries.iter().position(|entry| holds(entry, found))?;
                Some((key.as_str(), index))
            }
            _ => holds(node, found).then_some((key.as_str(), 0)),
        })
    }
}

/// What is found wrong with a fabric as a whole, and not with one value.
const OF_THE_WHOLE: [Code; 10] = [
    code::PORTS,
    code::TOPOLOGY,
    code::OVERSUBSCRIBED,
    code::HOST,
    code::ECN_ABOVE_XOFF,
    code::HEADROOM,
    code::MTU,
    code::REORDERING,
    code::DISCONNECTED,
    code::TIMEOUT,
];

/// Whether a mistake costs the file a value that it meant to give.
pub(super) fn loses(found: &Diagnostic) -> bool {
    [code::WRONG_VALUE, code::MISSING_KEY, code::SYNTAX].contains(&found.code)
}

/// Whether a message quotes the name that a table gives to something.
fn names(node: &Node, message: &str) -> bool {
    let name = node.table().and_then(|table| table.get("name")?.value.as_text());
    name.is_some_and(|name| message.contains(&format!("`{name}`")))
}

/// Whether a diagnostic points at a node or into it.
fn holds(node: &Node, found: &Diagnostic) -> bool {
    let here = |place: &Place| place.origin == Some(found.origin) && place.span == found.span;
    here(&node.place)
        || here(&node.key)
        || match &node.value {
            Value::Table(table) => table.values().any(|node| holds(node, found)),
            Value::Array(list) => list.iter().any(|node| holds(node, found)),
            _ => false,
        }
}
