//! The hinge of xoff: fabric and scenario files, the catalogue of switch silicon, NICs and optics,
//! topology builders, routes, and the PFC, ECN, buffer and headroom rules as data and pure functions.
//!
//! The threshold the auditor checks, the renderer prints and the switch model obeys is the same
//! value of the same type: a field of [`model::Fabric`].
//!
//! What it is not: nothing here moves a packet, asks a clock or draws a random number, and no file
//! makes it panic. Read [`model`] first, then [`file`](mod@file) and [`load`](mod@load).

mod aggregation;
mod build;
pub mod catalogue;
mod check;
pub mod derived;
pub mod diagnostic;
mod document;
pub mod file;
pub mod goals;
mod guest;
pub mod limit;
pub mod load;
mod miscabling;
pub mod model;
pub mod names;
mod network;
pub mod route;
pub mod rules;
pub mod scenario;
pub mod schema;
mod setup;
mod structure;
pub mod suggest;

pub use build::infiniband_silicon;
pub use diagnostic::{Diagnostic, Origin, Severity};
pub use load::{Loaded, load, load_fabric, load_planned, load_scenario};
pub use network::Network;
pub use setup::{FabricSetup, NicDefault, ScenarioSetup};
