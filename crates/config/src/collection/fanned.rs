//! Output of many devices in one file, each part with the name of its device: `pdsh` (a name before each line), what
//! `dshbak` and `clush -b` make of it, Ansible's ad hoc commands, `pssh -i`.

use crate::host::label::is_name;
use crate::place::{File, Lines};
use crate::system_id::SystemId;
use crate::text::notes::is_address;
use std::collections::BTreeMap;

/// Lines that are of no device, with their numbers.
pub type Strays<'a> = Vec<(u32, &'a str)>;

/// Devices that one header may stand for, and bytes that all parts may have: a header can name more than there are.
const MOST_NAMES: usize = 4096;
const MOST_BYTES: usize = 256 << 20;

/// The parts of a text that says itself whose they are.
pub(super) fn fanned<'a>(name: &str, text: &'a str) -> Option<(Vec<File>, Strays<'a>)> {
    let found = headed(name, text).or_else(|| prefixed(name, text))?;
    // A text that makes sense as it is must make sense in parts, too.
    let known = |text: &str| SystemId::recognise(text).is_some();
    let sense = found.0.iter().filter(|part| known(&part.text)).count();
    (2 * sense >= found.0.len() || (sense == 0 && !known(text))).then_some(found)
}

/// A name before each line: `hgx1: Priority trust state: dscp`.
fn prefixed<'a>(name: &str, text: &'a str) -> Option<(Vec<File>, Strays<'a>)> {
    let mut owners: Vec<File> = Vec::new();
    let mut places: BTreeMap<&str, usize> = BTreeMap::new();
    let mut strays = Strays::new();
    let (mut all, mut complaints) = (0, 0);
    for (line, number) in text.lines().zip(1u32..) {
        if line.trim().is_empty() {
            continue;
        }
        all += 1;
        let Some((owner, rest)) = prefix(line) else {
            complaints += usize::from(line.starts_with("pdsh@") || line.starts_with("clush:"));
            strays.push((number, line));
            // Most texts end here.
            if strays.len() > complaints + 1 + all / 20 {
                return None;
            }
            continue;
        };
        let place = *places.entry(owner).or_insert_with(|| {
            owners.push(part(name, owner, Lines::Among(Vec::new())));
            owners.len() - 1
        });
        let own = &mut owners[place];
        own.text.push_str(rest);
        own.text.push('\n');
        if let Lines::Among(numbers) = &mut own.lines {
            numbers.push(number);
        }
    }
    (all > 1 && !owners.is_empty()).then_some((owners, strays))
}

fn prefix(line: &str) -> Option<(&str, &str)> {
    let (owner, rest) = line.split_once(':')?;
    let rest = match rest.strip_prefix(' ') {
        Some(rest) => rest,
        None if rest.trim().is_empty() => "",
        None => return None,
    };
    is_owner(owner).then_some((owner, rest))
}

fn is_owner(name: &str) -> bool {
    is_name(name) && (is_address(name) || name.contains(|c: char| c.is_ascii_alphabetic()))
}

/// A header before the output of each device, or of several that gave the same.
fn headed<'a>(name: &str, text: &'a str) -> Option<(Vec<File>, Strays<'a>)> {
    let lines: Vec<&str> = text.lines().collect();
    let first = lines.iter().position(|line| !line.trim().is_empty())?;
    // Rules with a word between them stand in banners, too.
    let framed = frame(&lines, first).is_some();
    let mut found: Vec<File> = Vec::new();
    let mut strays = Strays::new();
    // The parts that lines go to, and the number of lines before them.
    let mut open = (0..0, 0);
    let (mut at, mut bytes) = (0, 0);
    while at < lines.len() {
        let header = match framed {
            true => frame(&lines, at).map(|names| (names, 3)),
            false => announced(lines[at]).map(|owner| (vec![owner.to_owned()], 1)),
        };
        if let Some((names, length)) = header {
            at += length;
            let from = found.len();
            let lines = Lines::Behind(u32::try_from(at).ok()?);
            found.extend(names.iter().map(|owner| part(name, owner, lines.clone())));
            open = (from..found.len(), at);
            continue;
        }
        if open.0.is_empty() && !lines[at].trim().is_empty() {
            strays.push((u32::try_from(at + 1).ok()?, lines[at]));
            if strays.len() > 20 {
                return None;
            }
        }
        bytes += open.0.len() * (lines[at].len() + 1);
        if bytes > MOST_BYTES {
            return None;
        }
        for part in &mut found[open.0.clone()] {
            part.text.push_str(lines[at]);
            part.text.push('\n');
        }
        at += 1;
    }
    (!found.is_empty()).then_some((found, strays))
}

/// `----`, `hgx[1-3]`, `----`.
fn frame(lines: &[&str], at: usize) -> Option<Vec<String>> {
    let [above, names, below, ..] = lines.get(at..)? else { return None };
    let rule = |line: &str| {
        let line = line.trim_end();
        line.len() > 3 && line.bytes().all(|byte| byte == b'-')
    };
    if !rule(above) || !rule(below) {
        return None;
    }
    // `clush -b` says how many there are.
    let names = names.trim();
    let names = names.split_once(" (").map_or(names, |(names, _)| names);
    let names = names_of(names)?;
    names.iter().all(|name| is_owner(name)).then_some(names)
}

/// `hgx1 | CHANGED | rc=0 >>`, `[1] 15:04:05 [SUCCESS] hgx1`.
fn announced(line: &str) -> Option<&str> {
    let words: Vec<&str> = line.split_whitespace().take(6).collect();
    let owner = match words[..] {
        [owner, "|", state, ..]
            if ["SUCCESS", "CHANGED", "FAILED", "UNREACHABLE"]
                .contains(&state.trim_end_matches('!')) =>
        {
            owner
        }
        [number, _, "[SUCCESS]" | "[FAILURE]", owner, ..] if number.starts_with('[') => {
            owner.rsplit_once('@').map_or(owner, |(_, owner)| owner)
        }
        _ => return None,
    };
    is_owner(owner).then_some(owner)
}

/// The names that a list stands for: `hgx[1-3,07],admin`.
fn names_of(list: &str) -> Option<Vec<String>> {
    let (mut depth, mut from, mut all) = (0u32, 0, Vec::new());
    for (at, c) in list.char_indices().chain([(list.len(), ',')]) {
        match c {
            '[' => depth += 1,
            ']' => depth = depth.checked_sub(1)?,
            ',' if depth == 0 => {
                all.extend(expanded(&list[from..at])?);
                from = at + 1;
            }
            _ => {}
        }
        if all.len() > MOST_NAMES {
            return None;
        }
    }
    (depth == 0).then_some(all)
}

/// One name with ranges in brackets.
fn expanded(name: &str) -> Option<Vec<String>> {
    let Some((before, rest)) = name.split_once('[') else { return Some(vec![name.to_owned()]) };
    let (ranges, after) = rest.split_once(']')?;
    let behind = expanded(after)?;
    let mut all = Vec::new();
    for range in ranges.split(',') {
        let (low, high) = range.split_once('-').unwrap_or((range, range));
        let (first, last): (u32, u32) = (low.parse().ok()?, high.parse().ok()?);
        let wide = low.len();
        if (last.checked_sub(first)? as usize + 1) * behind.len() > MOST_NAMES - all.len() {
            return None;
        }
        for number in first..=last {
            all.extend(behind.iter().map(|end| format!("{before}{number:0wide$}{end}")));
        }
    }
    Some(all)
}

fn part(name: &str, owner: &str, lines: Lines) -> File {
    let owner = Some(owner.to_owned());
    File { name: name.to_owned(), text: String::new(), lines, owner }
}

#[cfg(test)]
mod tests {
    use super::*;

    const QOS: &str = "Priority trust state: dscp\n\tprio:3 dscp:26,\n";

    fn split(text: &str) -> Vec<(String, String)> {
        let found = fanned("all.txt", text).map_or(Vec::new(), |(parts, _)| parts);
        found.into_iter().map(|part| (part.owner.unwrap_or_default(), part.text)).collect()
    }

    fn both() -> Vec<(String, String)> {
        ["hgx1", "hgx2"].map(|name| (name.to_owned(), QOS.to_owned())).to_vec()
    }

    #[test]
    fn a_name_before_each_line() {
        let text = "hgx1: Priority trust state: dscp\nhgx2: Priority trust state: dscp\n\
                    hgx2: \tprio:3 dscp:26,\npdsh@adm: hgx3: ssh exited with exit code 255\nhgx1: \tprio:3 dscp:26,\n";
        assert_eq!(split(text), both());
        let (parts, strays) = fanned("all.txt", text).unwrap();
        assert_eq!(parts[0].lines, Lines::Among(vec![1, 5]));
        assert_eq!(strays, [(4, "pdsh@adm: hgx3: ssh exited with exit code 255")]);
        // A value alone is of no system: the name of the file says what it is.
        assert_eq!(split("hgx1: 106\nhgx2: 106\n").len(), 2);
    }

    #[test]
    fn headers() {
        for text in [
            format!("-----\nhgx[1-2]\n-----\n{QOS}"),
            format!("-----\nhgx1\n-----\n{QOS}-----\nhgx2\n-----\n{QOS}"),
            format!("---------------\nhgx[1-2] (2)\n---------------\n{QOS}"),
            format!("hgx1 | CHANGED | rc=0 >>\n{QOS}hgx2 | SUCCESS | rc=0 >>\n{QOS}"),
            format!("[1] 15:04:05 [SUCCESS] hgx1\n{QOS}[2] 15:04:06 [SUCCESS] root@hgx2\n{QOS}"),
        ] {
            assert_eq!(split(&text), both(), "{text}");
        }
    }

    #[test]
    fn ranges() {
        let of = |list| names_of(list).unwrap_or_default();
        assert_eq!(of("a"), ["a"]);
        assert_eq!(of("a[09-11,3]b,c"), ["a09b", "a10b", "a11b", "a3b", "c"]);
        assert_eq!(of("r[1-2]n[1-2]"), ["r1n1", "r1n2", "r2n1", "r2n2"]);
        for bad in ["a[1-", "a]", "a[2-1]", "a[x]", "a[0-4294967295]", "a[1-99]b[1-99]"] {
            assert_eq!(of(bad), [""; 0], "{bad}");
        }
    }

    /// Keys and values of one device, banners, and texts of any other kind.
    #[test]
    fn other_texts_are_left_whole() {
        let eth = "driver: mlx5_core\nversion: 5.15\nfirmware-version: 28.39.1002\n";
        let banner = "hostname a\nbanner motd ^\n----\nleaf1\n----\n^\nqos profile P\n";
        for text in
            ["", "\n", "a\n", "a: b\n", eth, &eth.repeat(3), banner, "{\n\"a\": 1\n}\n", QOS]
        {
            assert_eq!(split(text), [], "{text}");
        }
    }
}
