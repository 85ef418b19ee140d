//! Whose output a text is: prompts, names of files, and what a host calls its NICs.

use super::{Interface, Reader, is_address};

/// The part of a text between two prompts.
pub(super) struct Section<'a> {
    /// The device of the prompt before it.
    pub(super) device: Option<&'a str>,
    /// Its first line, from 1.
    pub(super) first: u32,
    pub(super) text: &'a str,
}

/// A text cut at its prompts.
pub(super) fn sections(text: &str) -> Vec<Section<'_>> {
    let mut sections = Vec::new();
    let (mut device, mut first, mut start, mut at) = (None, 1u32, 0, 0);
    for (line, number) in text.split_inclusive('\n').zip(1u32..) {
        if let Some(name) = prompt(line) {
            sections.push(Section { device, first, text: &text[start..at] });
            (device, first, start) = (Some(name), number + 1, at + line.len());
        }
        at += line.len();
    }
    sections.push(Section { device, first, text: &text[start..] });
    sections.retain(|section| !section.text.trim().is_empty());
    sections
}

/// The device of a prompt: `leaf1#show lldp neighbors`, `admin@leaf1:~$ lldpctl`, `[root@gpu1 ~]# ip link`, `admin@qfx1> show`.
fn prompt(line: &str) -> Option<&str> {
    let line = line.trim();
    let end = line.find(['#', '>', '$'])?;
    let (name, command) = (&line[..end], line[end + 1..].trim());
    let (name, boxed) = match name.strip_prefix('[') {
        Some(inner) => (inner.strip_suffix(']')?, true),
        None => (name, false),
    };
    let (name, user) = match name.split_once('@') {
        Some((user, host)) if !user.contains(char::is_whitespace) => (host, true),
        Some(_) => return None,
        None => (name, false),
    };
    // The folder, or the mode, stands behind the name.
    let name = match (boxed, user) {
        (true, _) => name.split_whitespace().next()?,
        (false, true) => name.split(':').next()?,
        (false, false) => name,
    };
    let name = name.trim_end();
    let name = name.split_once('(').map_or(name, |(name, _)| name);
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let named = name.starts_with(|c: char| c.is_ascii_alphanumeric()) && name.chars().all(plain);
    let said = command.is_empty() || command.starts_with(|c: char| c.is_ascii_lowercase());
    (named && said && !name.is_empty()).then_some(name)
}

/// Words of file names that name no device.
const WORDS: [&str; 22] = [
    "lldp",
    "lldpctl",
    "lldpcli",
    "neighbors",
    "neighbor",
    "neighbours",
    "neighbour",
    "show",
    "sh",
    "detail",
    "details",
    "table",
    "json",
    "json0",
    "keyvalue",
    "interface",
    "interfaces",
    "output",
    "nv",
    "net",
    "txt",
    "cables",
];

pub(super) fn device_of_file(path: &str) -> String {
    for part in path.rsplit(['/', '\\']).filter(|part| !part.is_empty()) {
        let stem = match part.rsplit_once('.') {
            Some((stem, ending)) if !stem.is_empty() && ending.len() <= 5 => stem,
            _ => part,
        };
        let separator = |c: char| "-_. ".contains(c);
        let idle = |word: &str| word.is_empty() || WORDS.contains(&&*word.to_ascii_lowercase());
        let (mut start, mut end) = (0, stem.len());
        while let Some(at) = stem[start..end].find(separator) {
            if !idle(&stem[start..start + at]) {
                break;
            }
            start += at + 1;
        }
        while let Some(at) = stem[start..end].rfind(separator) {
            let word = &stem[start + at + 1..end];
            // `net` is a command only where it comes first; elsewhere it is a domain.
            if !idle(word) || ["nv", "net"].contains(&word) {
                break;
            }
            end = start + at;
        }
        if !idle(&stem[start..end]) {
            return stem[start..end].to_owned();
        }
    }
    String::new()
}

/// What a host calls its NICs: lines of the check script, of `ibdev2netdev` and of `rdma link`.
pub(super) fn interface(reader: &mut Reader, line: &str) {
    if !["nic ", "==>", "netdev"].iter().any(|mark| line.contains(mark)) {
        return;
    }
    let words: Vec<&str> = line.split_whitespace().take(16).collect();
    let named =
        |nic: &str| nic.contains('_') && nic.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let (nic, name) = match words[..] {
        ["nic", nic, name] => (nic, name),
        [nic, "port", _, "==>", name, ..] => (nic, name),
        ["link", nic, ref rest @ ..] => {
            let Some(at) = rest.iter().position(|word| *word == "netdev") else { return };
            let Some(name) = rest.get(at + 1) else { return };
            (nic.split('/').next().unwrap_or(nic), *name)
        }
        _ => return,
    };
    if named(nic) && !is_address(nic) {
        let device = reader.device.clone();
        let (nic, name) = (nic.to_owned(), name.to_owned());
        reader.found.interfaces.push(Interface { device, nic, name });
    }
}
