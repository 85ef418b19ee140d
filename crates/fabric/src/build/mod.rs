//! From a fabric file to a [`Fabric`]: every builder says what is plugged into what, one assembler
//! gives ports their numbers and rules.

mod assemble;
mod buffers;
mod cables;
mod classes;
mod custom;
mod fat_tree;
mod fit;
mod leaf_spine;
mod rail;
mod routes;
mod single;
mod switches;
mod tenants;
mod terms;
mod three_tier;
mod wiring;

pub(crate) use assemble::receive;
pub(crate) use fit::{PortUse, ports_needed};

use crate::catalogue::Catalogue;
use crate::diagnostic::code;
use crate::document::{Report, keys};
use crate::file::{FabricFile, Homing, Kind};
use crate::model::Fabric;
use terms::Terms;
use wiring::{Stop, Wiring};

/// Builds the fabric that `file` describes. What is wrong goes into the report; `None` if that
/// leaves nothing to build.
pub(crate) fn build(
    file: &FabricFile,
    catalogue: &Catalogue,
    report: &mut Report<'_>,
) -> Option<Fabric> {
    check_homing(file, report);
    let terms = Terms::settle(file, catalogue, report)?;
    let wiring = match wire(&terms, report) {
        Ok(wiring) => wiring,
        Err(Stop::Reported) => return None,
        Err(Stop::TooLarge(what)) => {
            report.error(
                code::LIMIT,
                keys!["fabric", "kind"],
                format!("this fabric has more than {what}"),
                "build a smaller part of it, or fewer parallel links",
            );
            return None;
        }
    };
    fit::check(&wiring, report);
    let classes = classes::settle(file, report);
    let mut fabric = assemble::assemble(&terms, wiring, classes, report);
    routes::resolve(&mut fabric, file, report);
    routes::check_size(&fabric, report);
    Some(fabric)
}

/// Only where leaves are in rows of their own can a NIC be on two of them.
fn check_homing(file: &FabricFile, report: &mut Report<'_>) {
    let layout = &file.fabric;
    if layout.homing != Homing::Single && !matches!(layout.kind, Kind::LeafSpine | Kind::Rail) {
        let help = match layout.kind {
            Kind::Custom => "list two links for each NIC instead",
            _ => "use kind `leaf-spine` or `rail`, or list the links with kind `custom`",
        };
        report.error(
            code::TOPOLOGY,
            keys!["fabric", "homing"],
            "only kinds `leaf-spine` and `rail` have pairs of leaves",
            help,
        );
    }
}

fn wire(terms: &Terms<'_>, report: &mut Report<'_>) -> Result<Wiring, Stop> {
    match terms.file.fabric.kind {
        Kind::Single => single::wire(terms, report),
        Kind::LeafSpine => leaf_spine::wire(terms, report),
        Kind::Rail => rail::wire(terms, report),
        Kind::FatTree => fat_tree::wire(terms, report),
        Kind::ThreeTier => three_tier::wire(terms, report),
        Kind::Custom => custom::wire(terms, report),
    }
}

#[cfg(test)]
mod tests;
