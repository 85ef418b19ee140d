//! Who approved which intent, whether that holds, and how devices differ from it since.
//!
//! A record holds the fabric file's own text and the choices that made devices of it: the approved
//! intent can be worked out again whatever became of the file. What is signed is
//! [`Approval::signed_bytes`]; each record names the hash of the one before it, so that a record
//! that was removed, added or moved is seen. [`Approvers`] says who may approve which [`Part`] of a
//! fabric file, and [`judge`] which records count.
//!
//! Nothing here runs a program or asks a clock: signatures are checked by the caller, who gives what
//! came of it as a [`Check`], and times come from the caller as a [`Date`].

mod approvers;
mod date;
mod judgement;
mod key;
mod part;
mod record;

pub use approvers::{Approvers, Mistake, Principal, Role, named_by_key};
pub use date::Date;
pub use judgement::{Break, Check, InForce, Judgement, Policy, Reason, Standing, Verdict, judge};
pub use key::PublicKey;
pub use part::{Part, Rights, changed};
pub use record::{Approval, intent_hash};

use crate::change::Change;
use crate::device::Device;
use crate::facts::Difference;
use crate::intent::Intent;

/// What signatures of approvals are for: the namespace of `ssh-keygen -Y`.
pub const NAMESPACE: &str = "xoff-approval";

/// A device that differs from what was approved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Drift {
    /// The device.
    pub device: String,
    /// What changed, from approved (left) to running (right).
    pub changed: Vec<Difference>,
}

/// Devices that differ from the approved intent, in the order of `devices`.
pub fn drift(approved: &Intent, devices: &[Device]) -> Vec<Drift> {
    let of = |running: &Device| {
        let change = Change::between(running, approved.device(&running.name)?)?;
        let turned = change.differences.into_iter().map(|difference| Difference {
            about: difference.about,
            left: difference.right,
            right: difference.left,
        });
        Some(Drift { device: running.name.clone(), changed: turned.collect() })
    };
    devices.iter().filter_map(of).collect()
}
