//! Names with parts that differ: `gpu-*/mlx5_*` and `server{1-1}-nic{2}`, `{instance}/{device}`.

use crate::labels::Labels;

/// A name in which `*` stands for any text that holds no `/`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pattern(Vec<String>);

impl Pattern {
    pub(super) fn new(text: &str) -> Self {
        Self(text.split('*').map(str::to_owned).collect())
    }

    /// How many parts differ.
    pub(super) fn stars(&self) -> usize {
        self.0.len() - 1
    }

    /// What stands for each `*` of a name that fits.
    pub(super) fn parts<'a>(&self, name: &'a str) -> Option<Vec<&'a str>> {
        let (first, rest) = self.0.split_first()?;
        let mut left = name.strip_prefix(first.as_str())?;
        let mut parts = Vec::with_capacity(rest.len());
        for (at, literal) in rest.iter().enumerate() {
            let end = match at + 1 == rest.len() {
                // The last one reaches to the end.
                true => left.len().checked_sub(literal.len())?,
                false => left.find(literal.as_str())?,
            };
            let (part, after) = left.split_at_checked(end)?;
            left = after.strip_prefix(literal.as_str())?;
            if part.contains('/') {
                return None;
            }
            parts.push(part);
        }
        left.is_empty().then_some(parts)
    }
}

/// A name made of others: text, and what stands in braces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Template(Vec<Piece>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Text(String),
    /// A label, or the number of a part, and what is added to it.
    Name(String, i64),
}

impl Template {
    /// Braces without an end are text.
    pub(super) fn new(text: &str) -> Self {
        let mut pieces = Vec::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('{') {
            let Some((name, after)) = after.split_once('}') else { break };
            pieces.push(Piece::Text(before.to_owned()));
            pieces.push(piece(name));
            rest = after;
        }
        pieces.push(Piece::Text(rest.to_owned()));
        Self(pieces)
    }

    /// The greatest number of a part that it wants.
    pub(super) fn greatest(&self) -> usize {
        let numbers = self.0.iter().filter_map(|piece| match piece {
            Piece::Name(name, _) => name.parse().ok(),
            Piece::Text(_) => None,
        });
        numbers.max().unwrap_or(0)
    }

    /// With parts of a pattern by their numbers, from 1 on. Numbers lose zeros in front where something is added.
    pub(super) fn of_parts(&self, parts: &[&str]) -> String {
        let part = |name: &str| parts.get(name.parse::<usize>().ok()?.checked_sub(1)?).copied();
        let all = self.0.iter().map(|piece| match piece {
            Piece::Text(text) => text.clone(),
            Piece::Name(name, plus) => {
                let part = part(name).unwrap_or_default();
                match part.parse::<i64>().ok().and_then(|number| number.checked_add(*plus)) {
                    Some(number) if *plus != 0 || part.starts_with('0') => number.to_string(),
                    _ => part.to_owned(),
                }
            }
        });
        all.collect()
    }

    /// With the values of labels; nothing if one is missing. Of `{a|b}` the first that is there.
    pub(super) fn of_labels(&self, labels: &Labels) -> Option<String> {
        let value = |name: &str| match name {
            "instance" => labels.get(name).map(|value| host(value).to_owned()),
            _ => labels.get(name).cloned(),
        };
        let all = self.0.iter().map(|piece| match piece {
            Piece::Text(text) => Some(text.clone()),
            Piece::Name(names, _) => names.split('|').find_map(value),
        });
        all.collect()
    }
}

fn piece(name: &str) -> Piece {
    let at = name.rfind(['+', '-']);
    let added = at.and_then(|at| {
        let (name, plus) = name.split_at_checked(at)?;
        Some(Piece::Name(name.trim().to_owned(), plus.trim().parse().ok()?))
    });
    added.unwrap_or_else(|| Piece::Name(name.to_owned(), 0))
}

/// The host of `host:9100`.
fn host(instance: &str) -> &str {
    match instance.rsplit_once(':') {
        Some((host, port)) if !port.is_empty() && port.bytes().all(|c| c.is_ascii_digit()) => host,
        _ => instance,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn patterns_give_their_parts() {
        let of = |pattern: &str, name: &str| {
            Pattern::new(pattern).parts(name).map(|parts| parts.join("|"))
        };
        assert_eq!(of("gpu-*/mlx5_*", "gpu-012/mlx5_3"), Some("012|3".into()));
        assert_eq!(of("gpu-*/mlx5_*", "gpu-012/eth3"), None);
        assert_eq!(of("leaf0/Ethernet0", "leaf0/Ethernet0"), Some(String::new()));
        assert_eq!(of("leaf0", "leaf01"), None);
        assert_eq!(of("*", "a/b"), None);
        assert_eq!(of("*/*", "a/b"), Some("a|b".into()));
        assert_eq!(of("a*a", "a"), None);
    }

    #[test]
    fn templates_count_from_elsewhere() {
        let of = |template: &str, parts: &[&str]| Template::new(template).of_parts(parts);
        assert_eq!(of("server{1-1}-nic{2}", &["012", "3"]), "server11-nic3");
        assert_eq!(of("server{1}", &["007"]), "server7");
        assert_eq!(of("server{1+8}", &["x"]), "serverx");
        assert_eq!(of("{9}", &["a"]), "");
        assert_eq!(Template::new("a{1}{3-1}").greatest(), 3);
    }

    #[test]
    fn labels_that_are_missing_give_no_name() {
        let labels: Labels = [("instance", "gpu1:9100"), ("device", "mlx5_0")]
            .map(|(a, b)| (a.into(), b.into()))
            .into();
        let of = |text: &str| Template::new(text).of_labels(&labels);
        assert_eq!(of("{instance}/{device}"), Some("gpu1/mlx5_0".into()));
        assert_eq!(of("{instance}/{port}"), None);
        assert_eq!(of("{port|device|instance}"), Some("mlx5_0".into()));
        assert_eq!(of("{port|}"), None);
        assert_eq!(of("a{"), Some("a{".into()));
        assert_eq!((host("[::1]:9100"), host("a:b"), host("a")), ("[::1]", "a:b", "a"));
    }

    proptest! {
        #[test]
        fn nothing_panics(pattern in ".{0,20}", template in ".{0,20}", name in ".{0,20}") {
            let parts = Pattern::new(&pattern).parts(&name);
            let _ = Template::new(&template).of_parts(&parts.unwrap_or_default());
        }

        /// What fits is the pattern with its parts put in.
        #[test]
        fn parts_put_in_give_the_name(pattern in "[ab*/]{0,8}", name in "[ab/]{0,8}") {
            if let Some(parts) = Pattern::new(&pattern).parts(&name) {
                let mut parts = parts.into_iter();
                let made: String = pattern
                    .chars()
                    .map(|c| if c == '*' { parts.next().unwrap_or("?").to_owned() } else { c.to_string() })
                    .collect();
                prop_assert_eq!(made, name);
            }
        }
    }
}
