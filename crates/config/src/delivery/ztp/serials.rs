//! Which box is which device: a file of serial numbers or MAC addresses.

use crate::delivery::is_plain;
use std::collections::BTreeMap;

/// What a box says of itself.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Identity {
    /// Its serial number.
    pub serial: Option<String>,
    /// The MAC address of its management port, as `00:1c:73:00:00:01`.
    pub mac: Option<String>,
}

/// Reads lines like `leaf0,JPE12345`, `leaf0,JPE12345,00:1c:73:00:00:01` or `leaf0 = "JPE12345"`. Every switch
/// must be there once, and every number once. Errors have the line.
pub fn read(text: &str, switches: &[&str]) -> Result<BTreeMap<String, Identity>, Vec<String>> {
    let mut found: BTreeMap<String, (usize, Identity)> = BTreeMap::new();
    let mut numbers: BTreeMap<String, (usize, String)> = BTreeMap::new();
    let mut wrong = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.split('#').next().unwrap_or("").trim();
        let first = line.split([',', '=']).next().unwrap_or("").trim();
        if line.is_empty() || first.eq_ignore_ascii_case("device") {
            continue;
        }
        match entry(line) {
            Err(why) => wrong.push(format!("line {number}: {why}")),
            Ok((device, _)) if !switches.contains(&device.as_str()) => {
                wrong.push(format!("line {number}: the fabric has no switch `{device}`"));
            }
            Ok((device, identity)) => {
                for own in [&identity.serial, &identity.mac].into_iter().flatten() {
                    if let Some((at, other)) = numbers.get(own) {
                        wrong.push(format!(
                            "line {number}: `{own}` is already that of `{other}`, in line {at}"
                        ));
                    }
                    numbers.insert(own.clone(), (number, device.clone()));
                }
                if let Some((at, _)) = found.get(&device) {
                    wrong.push(format!("line {number}: `{device}` is already in line {at}"));
                }
                found.insert(device, (number, identity));
            }
        }
    }
    let missing: Vec<&str> =
        switches.iter().filter(|name| !found.contains_key(**name)).copied().collect();
    if !missing.is_empty() {
        wrong.push(format!("no line says the serial number of {}", missing.join(", ")));
    }
    if wrong.is_empty() {
        Ok(found.into_iter().map(|(device, (_, identity))| (device, identity)).collect())
    } else {
        Err(wrong)
    }
}

fn entry(line: &str) -> Result<(String, Identity), String> {
    let unquoted = |text: &str| text.trim().trim_matches(['"', '\'']).trim().to_owned();
    let mut parts = line.splitn(2, [',', '=']);
    let device = parts.next().map(unquoted).unwrap_or_default();
    let rest = parts.next().ok_or("it is DEVICE,SERIAL or DEVICE,MAC")?;
    let mut identity = Identity::default();
    for value in rest.split(',').map(unquoted).filter(|value| !value.is_empty()) {
        let slot = match mac(&value) {
            Some(mac) => (&mut identity.mac, mac),
            None if is_plain(&value) => (&mut identity.serial, value),
            None => return Err(format!("`{value}` is neither a serial number nor a MAC address")),
        };
        if slot.0.replace(slot.1).is_some() {
            return Err("it has one serial number and one MAC address at most".to_owned());
        }
    }
    if identity == Identity::default() {
        return Err(format!("`{device}` has neither a serial number nor a MAC address"));
    }
    Ok((device, identity))
}

/// A MAC address in any of the usual forms.
fn mac(text: &str) -> Option<String> {
    let parts: Vec<&str> = text.split([':', '-', '.']).collect();
    let whole = matches!(parts.len(), 3 | 6)
        && parts.iter().all(|part| part.len() * parts.len() == 12)
        && parts.iter().all(|part| part.chars().all(|c| c.is_ascii_hexdigit()));
    let digits: Vec<char> = parts.concat().to_ascii_lowercase().chars().collect();
    let pairs = digits.chunks(2).map(|pair| pair.iter().collect::<String>());
    whole.then(|| pairs.collect::<Vec<_>>().join(":"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_are_read() {
        let text = "device,serial,mac\nleaf0,JPE1,001c.7300.0001 # rack 1\n\nleaf1 = \"JPE2\"\nspine0,00-1C-73-00-00-02\n";
        let found = read(text, &["leaf0", "leaf1", "spine0"]).unwrap();
        assert_eq!(found["leaf0"].serial.as_deref(), Some("JPE1"));
        assert_eq!(found["leaf0"].mac.as_deref(), Some("00:1c:73:00:00:01"));
        assert_eq!(found["leaf1"].serial.as_deref(), Some("JPE2"));
        assert_eq!(found["spine0"].mac.as_deref(), Some("00:1c:73:00:00:02"));
        assert_eq!(found["spine0"].serial, None);
    }

    #[test]
    fn mistakes_have_their_lines() {
        let text =
            "leaf0,A1\nleaf1,A1\nleaf9,A3\nleaf0,A4\nspine0\nspine0,../x\nspine0,\nspine0,A5,A6\n";
        let wrong = read(text, &["leaf0", "leaf1", "leaf2"]).unwrap_err();
        let starts = |line: &str, word: &str| {
            wrong.iter().any(|said| said.starts_with(line) && said.contains(word))
        };
        assert!(starts("line 2:", "already that of `leaf0`, in line 1"), "{wrong:?}");
        assert!(starts("line 3:", "no switch `leaf9`"), "{wrong:?}");
        assert!(starts("line 4:", "already in line 1"), "{wrong:?}");
        assert!(starts("line 5:", "DEVICE,SERIAL"), "{wrong:?}");
        assert!(starts("line 6:", "neither"), "{wrong:?}");
        assert!(starts("line 7:", "neither"), "{wrong:?}");
        assert!(starts("line 8:", "at most"), "{wrong:?}");
        assert!(starts("no line", "leaf2"), "{wrong:?}");
        assert!(read("\0\u{fffd}{{", &[]).is_err());
    }
}
