//! One intent, every device: the RoCE part of a device's configuration rendered from a fabric, read
//! back from whatever is really on the device, and checked end to end.
//!
//! [`Intent`] says what a fabric file wants of every device. [`Device`] is the model of one device,
//! of the same shape whatever its vendor; every value in it knows the lines that said it. A
//! [`System`](system::System) turns a device into the text of its operating system and back.
//! [`audit()`] checks devices, links and the way of a packet from NIC to NIC.
//!
//! Modules use each other one way. Values: [`number`], [`place`], [`qos`], [`device`]. Above them what
//! reads and writes text, and one module per operating system behind [`system`]. Above those
//! [`intent`], [`change`], [`collection`], [`audit`](mod@audit), [`approval`] and [`delivery`]. [`inventory`] says which devices configurations are
//! fetched from, and by which commands.
//!
//! What it is not: it configures nothing but RoCE (no addresses, no routing), it talks to no device,
//! and it never refuses a file: what is not understood is kept, counted and listed. Read [`device`]
//! first, then [`system`] and [`audit`](mod@audit).

pub mod approval;
pub mod audit;
pub mod cabling;
pub mod change;
pub mod collection;
pub mod delivery;
pub mod device;
mod facts;
pub mod intent;
pub mod inventory;
pub mod number;
pub mod place;
pub mod qos;
mod registry;
pub mod system;
mod system_id;
pub mod tunnel;

mod cumulus;
mod eos;
mod host;
mod junos;
mod nxos;
mod os10;
mod picos;
mod sonic;
mod text;

pub use approval::Approval;
pub use audit::audit;
pub use change::Change;
pub use device::Device;
pub use facts::{Difference, Facts};
pub use intent::Intent;
pub use place::{Files, Place, Said};
pub use system_id::SystemId;
