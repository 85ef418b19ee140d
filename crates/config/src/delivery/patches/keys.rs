//! Keys of entries that belong to ports: `Ethernet0`, `Ethernet0|3-4`, `Ethernet0,Ethernet8|3`.

/// A key, taken apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Key<'a> {
    pub(super) ports: Vec<&'a str>,
    /// Numbers of queues or groups, first and last.
    pub(super) numbers: Option<(u8, u8)>,
}

impl<'a> Key<'a> {
    /// A key of a table, with numbers or without; `None` if it is no such key.
    pub(super) fn read(key: &'a str, numbered: bool) -> Option<Self> {
        let (ports, numbers) = match (key.split_once('|'), numbered) {
            (None, false) => (key, None),
            (Some((ports, numbers)), true) => {
                let (first, last) = numbers.split_once('-').unwrap_or((numbers, numbers));
                let (first, last) = (first.parse().ok()?, last.parse().ok()?);
                (ports, Some((first, last)).filter(|(first, last)| first <= last).map(Some)?)
            }
            _ => return None,
        };
        Some(Self { ports: ports.split(',').collect(), numbers })
    }
}

/// The keys of a port for what is left of a range when some of its numbers are taken out.
pub(super) fn rest(port: &str, range: (u8, u8), taken: impl Fn(u8) -> bool) -> Vec<String> {
    let mut keys = Vec::new();
    let mut start = None;
    let close = |start: u8, last: u8| match start == last {
        true => format!("{port}|{start}"),
        false => format!("{port}|{start}-{last}"),
    };
    for number in range.0..=range.1 {
        match (taken(number), start) {
            (false, None) => start = Some(number),
            (true, Some(first)) => {
                keys.push(close(first, number - 1));
                start = None;
            }
            _ => {}
        }
    }
    keys.extend(start.map(|first| close(first, range.1)));
    keys
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_and_what_is_left_of_them() {
        let key = Key::read("Ethernet0,Ethernet8|3-4", true).unwrap();
        assert_eq!(key, Key { ports: vec!["Ethernet0", "Ethernet8"], numbers: Some((3, 4)) });
        assert_eq!(Key::read("Ethernet0", false).unwrap().ports, ["Ethernet0"]);
        for (key, numbered) in [
            ("Ethernet0", true),
            ("Ethernet0|3", false),
            ("a|b|c|3", true),
            ("a|4-3", true),
            ("a|999", true),
        ] {
            assert_eq!(Key::read(key, numbered), None, "{key}");
        }
        assert_eq!(rest("e", (0, 15), |n| n == 3 || n == 15), ["e|0-2", "e|4-14"]);
        assert_eq!(rest("e", (3, 4), |n| n == 3), ["e|4"]);
        assert_eq!(rest("e", (250, 255), |_| false), ["e|250-255"]);
        assert!(rest("e", (3, 3), |_| true).is_empty());
    }
}
