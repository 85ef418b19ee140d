//! `[[route]]`: static routes by name.

use crate::diagnostic::code;
use crate::document::{Report, keys};
use crate::file::FabricFile;
use crate::model::{Fabric, Model, PortId, StaticRoute};
use crate::names::Names;
use crate::route::Routes;

/// Routes take four bytes per entry: this many are 400 MB.
const MOST_ENTRIES: u64 = 100_000_000;

/// Reports a fabric whose routes would take more memory than there is.
pub(super) fn check_size(fabric: &Fabric, report: &mut Report<'_>) {
    let entries = Routes::table_size(fabric);
    if entries > MOST_ENTRIES {
        report.error(
            code::LIMIT,
            keys!["fabric", "kind"],
            format!("the routes of this fabric would take {entries} entries"),
            "put NICs on fewer switches, or build a part of the fabric",
        );
    }
}

/// Resolves the static routes of `file` into `fabric`.
pub(super) fn resolve(fabric: &mut Model, file: &FabricFile, report: &mut Report<'_>) {
    if file.routes.is_empty() {
        return;
    }
    let names = Names::of(fabric);
    let mut routes = Vec::new();
    for (index, entry) in file.routes.iter().enumerate() {
        let at = names.switch(&entry.at);
        let to = names.nic(&entry.to);
        let via = names.node(&entry.via);
        for (key, error) in
            [("at", at.as_ref().err()), ("to", to.as_ref().err()), ("via", via.as_ref().err())]
        {
            if let Some(error) = error {
                let (message, help) = (error.message.clone(), error.help.clone());
                report.error(code::UNKNOWN_NAME, keys!["route", index, key], message, help);
            }
        }
        let (Ok(at), Ok(to), Ok(via)) = (at, to, via) else { continue };
        let ports = fabric.switches[at.index()].ports.clone();
        let port = ports.map(PortId).find(|port| {
            let peer = fabric.ports[port.index()].peer;
            fabric.ports[peer.index()].node == via
        });
        match port {
            Some(port) => routes.push(StaticRoute { at, to, via: port }),
            None => report.error(
                code::UNKNOWN_NAME,
                keys!["route", index, "via"],
                format!("`{}` has no link to `{}`", entry.at, entry.via),
                "`via` is a neighbour of `at`",
            ),
        }
    }
    fabric.static_routes = routes;
}
