//! `interface` of systems whose text is indented: ports, ranges of ports and bundles, each with what it refers to.

use crate::device::{Device, Port, PortName, RemarkKind};
use crate::text::notes::Notes;
use crate::text::outline::{Form, Statement};
use crate::text::ports::Named;
use std::collections::BTreeMap;

/// What a port or a bundle of ports refers to.
pub(crate) trait Bindings: Default {
    /// Reads the statements of a port.
    fn read_port(&mut self, statement: &Statement<'_>, port: &mut Port, notes: &mut Notes);

    /// Reads one statement that ports and bundles have alike; false if it is another one.
    fn read(&mut self, statement: &Statement<'_>, notes: &mut Notes) -> bool;
}

/// The ports and bundles of a text.
#[derive(Debug)]
pub(crate) struct Interfaces<T> {
    pub(crate) ports: BTreeMap<String, T>,
    pub(crate) channels: BTreeMap<u32, T>,
}

impl<T> Default for Interfaces<T> {
    fn default() -> Self {
        Self { ports: BTreeMap::new(), channels: BTreeMap::new() }
    }
}

impl<T: Bindings> Interfaces<T> {
    /// Reads what is said of an interface. A port may be described in several places: each adds to the others.
    pub(crate) fn read(
        &mut self,
        (form, named): (Form, Named),
        statement: &Statement<'_>,
        device: &mut Device,
        notes: &mut Notes,
    ) {
        match (named, form) {
            (Named::Ports(names), Form::Plain) => {
                for (index, name) in names.into_iter().enumerate() {
                    // What a range says is remarked once.
                    let mut again = Notes::new(notes.file);
                    let notes = if index == 0 { &mut *notes } else { &mut again };
                    let port = device.port(&name);
                    port.place = Some(notes.whole(statement));
                    self.ports.entry(name).or_default().read_port(statement, port, notes);
                }
            }
            (Named::Ports(names), Form::No | Form::Default) => {
                for name in names {
                    self.ports.remove(&name);
                    device.ports.remove(&PortName::new(name));
                }
            }
            (Named::Channel(number), Form::Plain) => {
                let own = self.channels.entry(number).or_default();
                for child in &statement.children {
                    if !own.read(child, notes) {
                        notes.foreign(child);
                    }
                }
            }
            (Named::Channel(number), Form::No | Form::Default) => {
                self.channels.remove(&number);
            }
            (Named::Malformed, _) => notes.mark(statement.line, RemarkKind::Malformed),
            (Named::Other, _) => notes.foreign(statement),
        }
    }
}
