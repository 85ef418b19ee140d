//! Who approved which intent, and how devices differ from it since.
//!
//! A record holds the fabric file's own text and the choices that made devices of it: the approved
//! intent can be worked out again whatever became of the file. Times come from the caller.

use crate::change::Change;
use crate::device::{Balancing, Device};
use crate::facts::Difference;
use crate::intent::Intent;
use crate::system_id::SystemId;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fmt::Write;
use xoff_fabric::load_fabric;

/// One approval of an intent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Approval {
    /// Who approved it.
    pub who: String,
    /// When, as the caller says it.
    pub when: String,
    /// The hash of the intent: see [`intent_hash`].
    pub intent: String,
    /// How flows are spread over equal paths, by its name.
    pub balancing: String,
    /// The text of the fabric file.
    pub fabric: String,
}

/// A device that differs from what was approved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Drift {
    /// The device.
    pub device: String,
    /// What changed, from approved (left) to running (right).
    pub changed: Vec<Difference>,
}

/// The hash of an intent: of the fabric file's bytes and of the way flows are spread.
pub fn intent_hash(fabric: &str, balancing: Balancing) -> String {
    let mut hasher = Sha256::new();
    hasher.update(balancing.name().as_bytes());
    hasher.update([0]);
    hasher.update(fabric.as_bytes());
    hasher.finalize().iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

impl Approval {
    /// A record of an approval.
    pub fn new(who: String, when: String, fabric: String, balancing: Balancing) -> Self {
        let intent = intent_hash(&fabric, balancing);
        Self { who, when, intent, balancing: balancing.name().to_owned(), fabric }
    }

    /// Whether the record says what its hash says.
    pub fn is_whole(&self) -> bool {
        self.spread().is_some_and(|spread| intent_hash(&self.fabric, spread) == self.intent)
    }

    fn spread(&self) -> Option<Balancing> {
        let all = [Balancing::Hash, Balancing::Flowlet, Balancing::Packet];
        all.into_iter().find(|balancing| balancing.name() == self.balancing)
    }

    /// The approved intent for devices that run the systems they run; `None` if the record was
    /// changed or its fabric cannot be read any more.
    pub fn approved(&self, devices: &[Device]) -> Option<Intent> {
        let spread = self.spread().filter(|_| self.is_whole())?;
        let setup = load_fabric(&self.fabric).into_result().ok()?;
        Some(Intent::running(&setup, spread, devices, |_| SystemId::Sonic))
    }
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
