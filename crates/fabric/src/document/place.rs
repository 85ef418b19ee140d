//! Finding the place of a key, and reporting what is wrong there.

use super::{Document, Node, Place, Value};
use crate::diagnostic::{Code, Diagnostic, Origin, Severity};
use std::ops::Range;

/// One step into a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Step<'a> {
    /// Into a table.
    Key(&'a str),
    /// Into a list.
    Index(usize),
}

impl<'a> From<&'a str> for Step<'a> {
    fn from(key: &'a str) -> Self {
        Step::Key(key)
    }
}

impl From<usize> for Step<'_> {
    fn from(index: usize) -> Self {
        Step::Index(index)
    }
}

/// A way into a document.
pub(crate) type Path<'a> = [Step<'a>];

/// `keys!["class", 3, "dscp"]`
macro_rules! keys {
    ($($step:expr),* $(,)?) => { &[$($crate::document::Step::from($step)),*] };
}
pub(crate) use keys;

impl Node {
    fn child(&self, step: Step<'_>) -> Option<&Node> {
        match (&self.value, step) {
            (Value::Table(table), Step::Key(key)) => table.get(key),
            (Value::Array(list), Step::Index(index)) => list.get(index),
            _ => None,
        }
    }
}

impl Document {
    /// The node at `path`.
    pub(crate) fn get(&self, path: &Path<'_>) -> Option<&Node> {
        path.iter().try_fold(&self.root, |node, step| node.child(*step))
    }

    /// Where `path` was written; if it was not, where the closest table around it was.
    fn locate(&self, path: &Path<'_>) -> (Origin, Range<usize>) {
        let mut node = &self.root;
        let mut found: Option<&Place> = None;
        for (depth, step) in path.iter().enumerate() {
            let Some(next) = node.child(*step) else { break };
            node = next;
            let is_leaf = depth + 1 == path.len() && !matches!(node.value, Value::Table(_));
            let place = if is_leaf { &node.place } else { &node.key };
            if place.origin.is_some() {
                found = Some(place);
            }
        }
        self.visible(found)
    }

    /// A place in a text the user can see. What a profile set is shown at the `profile` key.
    fn visible(&self, place: Option<&Place>) -> (Origin, Range<usize>) {
        let fallback = || self.root.child(Step::Key("profile")).map(|node| &node.place);
        match place.or_else(fallback) {
            Some(Place { origin: Some(origin), span }) => (*origin, span.clone()),
            _ => (Origin::Fabric, 0..0),
        }
    }
}

/// Collects what is wrong with a document.
pub(crate) struct Report<'a> {
    document: &'a Document,
    home: Origin,
    pub(crate) diagnostics: Vec<Diagnostic>,
}

impl<'a> Report<'a> {
    /// A report on `document`; findings without a place go to the top of `home`.
    pub(crate) fn new(document: &'a Document, home: Origin) -> Self {
        Self { document, home, diagnostics: Vec::new() }
    }

    pub(crate) fn document(&self) -> &'a Document {
        self.document
    }

    /// An error at `path`.
    pub(crate) fn error(
        &mut self,
        code: Code,
        path: &Path<'_>,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        self.push(Severity::Error, code, path, message.into(), help.into());
    }

    /// A warning at `path`.
    pub(crate) fn warn(
        &mut self,
        code: Code,
        path: &Path<'_>,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        self.push(Severity::Warning, code, path, message.into(), help.into());
    }

    fn push(
        &mut self,
        severity: Severity,
        code: Code,
        path: &Path<'_>,
        message: String,
        help: String,
    ) {
        let (origin, span) = self.document.locate(path);
        let origin = if span == (0..0) { self.home } else { origin };
        let help = if help.is_empty() { None } else { Some(help) };
        self.diagnostics.push(Diagnostic { severity, code, message, help, origin, span });
    }
}
