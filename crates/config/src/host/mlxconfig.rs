//! `mlxconfig -d … q`: what the firmware of a NIC starts with.

use super::parse::{Mode, Parser, integer, mask};
use super::sysfs;
use crate::number::Dscp;

/// Reads a line of output; whether it was one.
pub(super) fn line(parser: &mut Parser, number: u32, line: &str) -> bool {
    let words: Vec<&str> = line.split_whitespace().collect();
    match words[..] {
        ["Device:", name] => {
            parser.mode = Mode::Plain;
            parser.current = Some(name.to_owned());
            return true;
        }
        ["Device", number] if number.starts_with('#') => return true,
        ["Device", "type:" | "#1:", ..] | ["Name:", ..] | ["Description:", ..] => return true,
        _ => {}
    }
    // `CNP_DSCP_P1                         48`, or with default, current and next value.
    let (Some(name), Some(value)) = (words.first(), words.last()) else { return false };
    let inside = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    if words.len() < 2 || !name.contains('_') || !name.chars().all(inside) {
        return false;
    }
    let Some(name) = name.strip_suffix("_P1") else { return false };
    let Some(nic) = parser.current.clone() else { return false };
    // `True(1)`, `0xff`, `48`.
    let value = value.split(['(', ')']).rfind(|part| !part.is_empty()).unwrap_or(value);
    let number_said = integer(value);
    match name {
        "CNP_DSCP" => {
            let dscp = number_said.and_then(|dscp| Dscp::new(u8::try_from(dscp).ok()?));
            let said = parser.notes.said(number, dscp);
            let port = parser.at(number, &nic);
            // What is in force was shown elsewhere; this is what the next start takes.
            if !port.nic.cnp_dscp.is_said() {
                port.nic.cnp_dscp = said;
            }
        }
        "ROCE_CC_PRIO_MASK" => {
            let said = parser.notes.said(number, number_said.map(mask));
            let nic = &mut parser.at(number, &nic).nic;
            for slot in [&mut nic.notifies, &mut nic.reacts] {
                if !slot.is_said() {
                    *slot = said;
                }
            }
        }
        _ => {
            let name = name.to_ascii_lowercase();
            if sysfs::PARAMETERS.contains(&name.as_str()) {
                sysfs::parameter(parser, number, &nic, &name, value);
            }
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use crate::device::PortName;
    use crate::host::tests::read;

    #[test]
    fn firmware_settings() {
        let text = "root@hgx1:~# mlxconfig -d mlx5_0 q\nDevice #1:\n----------\n\nDevice type:    ConnectX7\n\
            Name:           MCX75310AAS-NEA_Ax\nDevice:         mlx5_0\n\n\
            Configurations:                              Next Boot\n\
            \x20        ROCE_CC_PRIO_MASK_P1                 255\n         CNP_DSCP_P1                          48\n\
            \x20        CNP_802P_PRIO_P1                     6\n         CLAMP_TGT_RATE_P1                    False(0)\n\
            \x20        RPG_AI_RATE_P1                       5\n         DCE_TCP_G_P1                         1019\n";
        let device = read(&[("s.log", text)]);
        let port = &device.ports[&PortName::new("mlx5_0")];
        assert_eq!(port.nic.cnp_dscp.get().unwrap().get(), 48);
        assert_eq!(port.nic.reacts.get().unwrap().count(), 8);
        assert_eq!(port.congestion["dce_tcp_g"].get(), Some(1019));
        assert_eq!(device.count(crate::device::RemarkKind::Malformed), 0);
    }
}
