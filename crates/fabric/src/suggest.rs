//! "Did you mean …?"

/// The known name that a mistyped one most probably stands for.
pub(crate) fn closest<'a>(
    wrong: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    // Names in files are short, and the distance takes time in proportion to both lengths.
    if wrong.len() > 64 {
        return None;
    }
    let plain = plain(wrong);
    let mut best: Option<(usize, &str)> = None;
    for name in known {
        let distance = strsim::levenshtein(&plain, &self::plain(name));
        let allowed = (name.len().max(wrong.len()) / 3).max(1);
        if distance <= allowed && best.is_none_or(|(d, _)| distance < d) {
            best = Some((distance, name));
        }
    }
    best.map(|(_, name)| name)
}

/// `did you mean ...?`, or the list of what is known where it is short.
pub fn help<'a>(wrong: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let known: Vec<&str> = known.into_iter().collect();
    if let Some(name) = closest(wrong, known.iter().copied()) {
        return format!("did you mean `{name}`?");
    }
    const SHOWN: usize = 24;
    let listed: Vec<String> = known.iter().take(SHOWN).map(|k| format!("`{k}`")).collect();
    let more = if known.len() > SHOWN { ", …" } else { "" };
    format!("known here: {}{more}", listed.join(", "))
}

fn plain(name: &str) -> String {
    name.to_ascii_lowercase().replace('_', "-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typing_mistakes_are_recognised() {
        let known = ["leaf", "spine", "gpus-per-server", "kmin", "kmax"];
        assert_eq!(closest("laef", known), None);
        assert_eq!(closest("leef", known), Some("leaf"));
        assert_eq!(closest("gpus_per_server", known), Some("gpus-per-server"));
        assert_eq!(closest("Kmin", known), Some("kmin"));
        assert_eq!(closest("banana", known), None);
        assert_eq!(closest("", known), None);
        assert!(help("banana", known).contains("known here: `leaf`"));
    }
}
