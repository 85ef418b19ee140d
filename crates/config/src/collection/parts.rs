//! Files with the configurations of several devices, one behind the other: logs of sessions, and what was put together
//! with `cat`.
//!
//! A text is taken apart only if it names several devices and something says where each begins: the prompt with its
//! command, the header of a configuration, the `end` of the one before. Where nothing does, the text cannot be told from
//! that of one device with the ports of all, and the names are returned instead.

use super::fanned::{Strays, fanned};
use crate::place::{File, Lines};
use crate::system_id::SystemId;
use serde::de::IgnoredAny;

/// The texts of devices in a file, and lines that are of none; or the names of devices where it is not known which lines are
/// of which.
pub fn parts<'a>(name: &str, text: &'a str) -> Result<(Vec<File>, Strays<'a>), Vec<&'a str>> {
    if let Some(found) = fanned(name, text) {
        return Ok(found);
    }
    let file = |(before, part): (u32, &str)| File {
        name: name.to_owned(),
        text: part.to_owned(),
        lines: Lines::Behind(before),
        owner: None,
    };
    behind(text).map(|all| (all.into_iter().map(file).collect(), Strays::new()))
}

/// Configurations one behind the other, each with the number of lines before it.
fn behind(text: &str) -> Result<Vec<(u32, &str)>, Vec<&str>> {
    let whole = || vec![(0, text)];
    if text.trim_start().starts_with('{') {
        return Ok(objects(text).unwrap_or_else(whole));
    }
    let lines: Vec<&str> = text.lines().collect();
    let mut named: Vec<(usize, &str)> = Vec::new();
    for (number, line) in lines.iter().enumerate() {
        if let Some(name) = name_in(line) {
            named.push((number, name));
        }
    }
    named.dedup_by_key(|(_, name)| *name);
    let several = named.windows(2).any(|pair| pair[0].1 != pair[1].1);
    if !several || SystemId::recognise(text).is_none_or(|system| system == SystemId::Host) {
        return Ok(whole());
    }
    let begin = |pair: &[(usize, &str)]| beginning(&lines, pair[0].0, pair[1].0);
    let starts: Option<Vec<usize>> = named.windows(2).map(begin).collect();
    let Some(starts) = starts else {
        return Err(named.into_iter().map(|(_, name)| name).collect());
    };
    Ok(cut(text, &starts))
}

/// The text before, between and behind lines.
fn cut<'a>(text: &'a str, starts: &[usize]) -> Vec<(u32, &'a str)> {
    let mut offsets = vec![0];
    offsets.extend(text.match_indices('\n').map(|(at, _)| at + 1));
    let at = |line: usize| offsets.get(line).copied().unwrap_or(text.len());
    let ends = starts.iter().skip(1).map(|line| at(*line)).chain([text.len()]);
    let first = starts.first().map_or(text.len(), |line| at(*line));
    let rest = starts.iter().zip(ends).map(|(line, end)| (*line as u32, &text[at(*line)..end]));
    [(0, &text[..first])].into_iter().chain(rest).collect()
}

/// JSON objects one behind the other, if several of them name a device.
fn objects(text: &str) -> Option<Vec<(u32, &str)>> {
    let mut stream = serde_json::Deserializer::from_str(text).into_iter::<IgnoredAny>();
    let mut found = Vec::new();
    let (mut from, mut line) = (0, 0);
    while let Some(value) = stream.next() {
        // What is cut off at the end is still one more of them.
        let to = if value.is_ok() { stream.byte_offset() } else { text.len() };
        let part = &text[from..to];
        found.push((line, part));
        line += part.matches('\n').count() as u32;
        from = to;
        if value.is_err() {
            break;
        }
    }
    let named = found.iter().filter(|(_, part)| part.contains("\"hostname\"")).count();
    (named > 1).then_some(found)
}

/// The name that a line gives a device.
fn name_in(line: &str) -> Option<&str> {
    let line = line.trim_end();
    let words: Vec<&str> = line.split_whitespace().collect();
    let name = match words[..] {
        ["hostname" | "switchname", name] if !line.starts_with(' ') => name,
        ["set", "system", "host-name" | "hostname", name] => name,
        ["nv", "set", "system", "hostname", name] => name,
        ["host-name", name] if line.starts_with("    host-name") => name.strip_suffix(';')?,
        [_, "RoCE", "configuration", "of", name, "for", ..] => name,
        _ => return None,
    };
    Some(name.trim_matches('"')).filter(|name| !name.is_empty())
}

/// Where the text of a device begins that is named in one line, behind one that names another.
fn beginning(lines: &[&str], after: usize, named: usize) -> Option<usize> {
    let between = || (after + 1..=named).rev();
    if let Some(start) = between().find(|number| is_start(lines[*number])) {
        let before = |number: &usize| is_start(lines[*number]) || is_comment(lines[*number]);
        let above = (after + 1..start).rev().take_while(before);
        return Some(above.filter(|number| is_start(lines[*number])).last().unwrap_or(start));
    }
    let end = between().find(|number| matches!(lines[*number].trim_end(), "end" | "}"));
    end.map(|end| end + 1).filter(|next| *next <= named)
}

/// Whether a line stands at the beginning of a configuration: the prompt with a command, a header, the name of a file.
fn is_start(line: &str) -> bool {
    const HEADERS: [&str; 9] = [
        "! Command:",
        "!Command:",
        "! device:",
        "! Version ",
        "## Last c",
        "version ",
        "set version ",
        "- header:",
        "==> ",
    ];
    let line = line.trim_end();
    HEADERS.iter().any(|header| line.starts_with(header))
        || (is_comment(line) && name_in(line).is_some())
        || is_asked(line)
}

/// `leaf1# show running-config`, `admin@leaf1:~$ show runningconfiguration all`.
fn is_asked(line: &str) -> bool {
    let Some(at) = line.find(['#', '>', '$']).filter(|at| *at > 0) else { return false };
    let (prompt, command) = line.split_at(at);
    let word = command[1..].split_whitespace().next().unwrap_or_default();
    !prompt.contains(char::is_whitespace) && matches!(word, "show" | "sh" | "nv" | "cat" | "sudo")
}

fn is_comment(line: &str) -> bool {
    let line = line.trim();
    line.is_empty() || line.starts_with(['!', '#'])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn starts(text: &str) -> Result<Vec<(u32, String)>, Vec<&str>> {
        let first = |text: &str| text.lines().next().unwrap_or_default().to_owned();
        behind(text).map(|all| all.into_iter().map(|(line, text)| (line, first(text))).collect())
    }

    const PORT: &str = "interface Ethernet1/1\n   priority-flow-control on\n   priority-flow-control priority 3 no-drop\n";

    #[test]
    fn one_device_is_left_whole() {
        for text in ["", "hostname a\n", "{\"a\": 1}\n", "Priority trust state: dscp\n"] {
            assert_eq!(behind(text), Ok(vec![(0, text)]));
        }
        let twice =
            format!("a#show running-config\nhostname a\n{PORT}a#show run\nhostname a\n{PORT}");
        assert_eq!(behind(&twice), Ok(vec![(0, twice.as_str())]));
    }

    #[test]
    fn prompts_headers_and_ends_say_where_a_device_begins() {
        let two = |between: &str| format!("hostname a\n{PORT}{between}hostname b\n{PORT}");
        let found = |between: &str| starts(&two(between)).map(|all| all[1..].to_vec()).unwrap();
        assert_eq!(found("end\n"), [(5, "hostname b".to_owned())]);
        assert_eq!(found("end\n! Command: show running-config\n! device: b (DCS)\n!\n")[0].0, 5);
        assert_eq!(found("a# \nb# show running-config\n!\n!Version\n")[0].0, 5);
        assert_eq!(found("b#show lldp neighbors\nversion 10.2(3)\n")[0].0, 4);
        let text = two("end\n");
        let joined: String = behind(&text).unwrap().into_iter().map(|(_, part)| part).collect();
        assert_eq!(joined, text);
        // Nothing says which lines are whose.
        assert_eq!(behind(&two("")), Err(vec!["a", "b"]));
    }

    #[test]
    fn objects_are_parts() {
        let object = |name: &str| {
            format!(
                "{{\n \"DEVICE_METADATA\": {{\"localhost\": {{\"hostname\": \"{name}\"}}}}\n}}\n"
            )
        };
        let text = object("a") + &object("b");
        let lines: Vec<u32> = behind(&text).unwrap().iter().map(|(line, _)| *line).collect();
        assert_eq!(lines, [0, 2]);
        let cut = &text[..text.len() - 5];
        assert_eq!(behind(cut).unwrap().len(), 2);
        assert_eq!(behind("{}\n{}\n"), Ok(vec![(0, "{}\n{}\n")]));
    }
}
