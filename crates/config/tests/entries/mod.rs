//! The entrances that configurations come through, with what must hold for any of them. The fuzz
//! targets and the tests both call them.

#![allow(dead_code, reason = "every target uses its own entrance")]

use xoff_config::place::FileId;
use xoff_config::system::{Input, SystemId};
use xoff_config::{Change, Files};

/// Largest number of ports that a text can make: a line names at most a box's worth.
fn most_ports(text: &str) -> usize {
    1024 * (1 + text.lines().count())
}

/// A text read as one system's: places lie in it, ports are in proportion, and what was read can be
/// audited, rendered and compared with itself.
pub(crate) fn configuration(system: SystemId, bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let input = Input { name: "x", file: FileId(0), text: &text };
    let device = system.system().parse(&input);
    let lines = text.lines().count() as u32;
    for remark in &device.remarks {
        assert!(remark.place.first <= remark.place.last && remark.place.last <= lines);
    }
    assert!(device.ports.len() <= most_ports(&text));
    let fitting = system.system().fit(&device, &mut Vec::new());
    let _ = system.system().render(&fitting);
    if let Some(change) = Change::between(&device, &fitting) {
        let _ = (change.forward.render(), change.back.render());
    }
    let _ = xoff_config::audit(std::slice::from_ref(&device), None);
}

/// Files of whatever systems, told apart by a line of dashes, as an audit gets them.
pub(crate) fn audit(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let mut files = Files::default();
    for (number, part) in text.split("\n----\n").take(16).enumerate() {
        files.add(format!("{number}.cfg"), part);
    }
    let found = xoff_config::audit::read(&files);
    let _ = xoff_config::audit::audit_with(&found.devices, &found.cables, None);
}
