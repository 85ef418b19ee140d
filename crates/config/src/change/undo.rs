//! Statements that take away what was entered at ports that had nothing of the kind before.

use crate::device::PortName;
use crate::system::SystemId;
use crate::text::outline::outline;
use std::fmt::Write;

/// What takes away the part of `entered` that stands at these ports. Profiles stay: nothing refers
/// to them any more. What a box has once, such as buffers, stays, too.
pub(super) fn statements(system: SystemId, entered: &str, ports: &[&PortName]) -> String {
    match system {
        SystemId::Eos | SystemId::NxOs | SystemId::Os10 => negated(entered, ports),
        SystemId::Cumulus => each(ports, |port| {
            format!(
                "nv unset interface {port} qos\nnv unset interface {port} router adaptive-routing\n"
            )
        }),
        SystemId::CumulusYaml => {
            let keys = each(ports, |port| format!("      {port}:\n        qos: {{}}\n"));
            format!("- unset:\n    interface:\n{keys}")
        }
        SystemId::JunosSet => {
            each(ports, |port| format!("delete class-of-service interfaces {port}\n"))
        }
        SystemId::Junos => {
            let deleted = each(ports, |port| format!("        delete: {port};\n"));
            format!("class-of-service {{\n    interfaces {{\n{deleted}    }}\n}}\n")
        }
        SystemId::PicOs => {
            each(ports, |port| format!("delete class-of-service interface {port}\n"))
        }
        // JSON can only add; what was not there has to be removed from the database by hand. NICs go
        // back to their own settings when the driver is loaded again.
        SystemId::Sonic | SystemId::Host => String::new(),
    }
}

/// What turns dynamic load balancing off: the hash is what systems use by default.
pub(super) const fn balancing(system: SystemId) -> &'static str {
    match system {
        SystemId::Eos => "no ip hardware fib load-balance distribution dynamic\n",
        SystemId::NxOs => "no hardware profile dlb\n",
        SystemId::Cumulus => "nv unset router adaptive-routing\n",
        SystemId::CumulusYaml => "- unset:\n    router:\n      adaptive-routing: {}\n",
        SystemId::JunosSet => "delete forwarding-options enhanced-hash-key ecmp-dlb\n",
        SystemId::Junos => {
            "forwarding-options {\n    enhanced-hash-key {\n        delete: ecmp-dlb;\n    }\n}\n"
        }
        // Not rendered for these, so there is nothing to take back.
        SystemId::Os10 | SystemId::PicOs | SystemId::Sonic | SystemId::Host => "",
    }
}

/// What turns off the watchdog of all ports, where it was turned on.
pub(super) fn watchdog(system: SystemId, entered: &str) -> &'static str {
    let on = |line: &str| line == "priority-flow-control watch-dog-interval on";
    match system {
        SystemId::NxOs if entered.lines().any(on) => {
            "no priority-flow-control watch-dog-interval on\n"
        }
        _ => "",
    }
}

fn each(ports: &[&PortName], line: impl Fn(&PortName) -> String) -> String {
    ports.iter().map(|port| line(port)).collect()
}

/// Every statement at a port with `no` before it.
fn negated(entered: &str, ports: &[&PortName]) -> String {
    let mut text = String::new();
    for statement in outline(entered).statements {
        let Some(name) = statement.text.strip_prefix("interface ") else { continue };
        if !ports.iter().any(|port| port.as_str() == name) {
            continue;
        }
        let _ = writeln!(text, "{}", statement.text);
        for child in statement.children.iter().filter(|child| !child.text.starts_with("mtu ")) {
            let _ = writeln!(text, "   no {}", child.text);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_entered_is_taken_away_at_the_named_ports_only() {
        let entered = "qos profile ROCE-FIX\n   qos trust dscp\ninterface Ethernet1\n   mtu 9214\n   \
                       service-profile ROCE-FIX\ninterface Ethernet2\n   service-profile ROCE-FIX\n";
        let port = PortName::new("Ethernet1");
        let away = statements(SystemId::Eos, entered, &[&port]);
        assert_eq!(away, "interface Ethernet1\n   no service-profile ROCE-FIX\n");
        let away = statements(SystemId::JunosSet, "", &[&PortName::new("et-0/0/1")]);
        assert_eq!(away, "delete class-of-service interfaces et-0/0/1\n");
    }
}
