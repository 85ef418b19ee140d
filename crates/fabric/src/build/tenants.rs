//! The tenants of a file.

use crate::diagnostic::code;
use crate::document::{Report, keys};
use crate::file::FabricFile;
use crate::model::{CLASSES, ClassId, Tenant};
use std::collections::BTreeSet;

/// The tenants of `file`; those that name no class are in `data`.
pub(super) fn settle(file: &FabricFile, data: ClassId, report: &mut Report<'_>) -> Vec<Tenant> {
    let mut names = BTreeSet::new();
    let mut tenants = Vec::new();
    for (index, entry) in file.tenants.iter().enumerate() {
        if entry.name.trim().is_empty() {
            report.error(
                code::IMPOSSIBLE,
                keys!["tenant", index, "name"],
                "a tenant needs a name",
                "findings call it by that",
            );
        } else if !names.insert(entry.name.as_str()) {
            report.error(
                code::DUPLICATE,
                keys!["tenant", index, "name"],
                format!("there are two tenants `{}`", entry.name),
                "a tenant has one class; give the other one another name",
            );
        }
        let class = entry.class.unwrap_or(data.0);
        if usize::from(class) >= CLASSES {
            report.error(
                code::IMPOSSIBLE,
                keys!["tenant", index, "class"],
                format!("there is no class {class}"),
                "classes go from 0 to 7",
            );
            continue;
        }
        tenants.push(Tenant { name: entry.name.clone(), class: ClassId(class) });
    }
    tenants
}
