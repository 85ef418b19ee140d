//! [`Approval`]: one record, the bytes that are signed of it, and its hash.

use crate::device::{Balancing, Device};
use crate::intent::Intent;
use crate::system_id::SystemId;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fmt::Write;
use xoff_fabric::load_fabric;

/// One approval of an intent.
///
/// Records of the first form have no `role`, `previous` and `signature`; they are read as unsigned.
/// A key that is not known is refused, because no signature would cover it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Approval {
    /// Who approved it.
    pub who: String,
    /// When: a [`Date`](super::Date) as text.
    pub when: String,
    /// As what, where roles say who may approve what.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// The hash of the intent: see [`intent_hash`].
    pub intent: String,
    /// How flows are spread over equal paths, by its name.
    pub balancing: String,
    /// The text of the fabric file.
    pub fabric: String,
    /// The hash of the record before it: see [`Approval::hash`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous: Option<String>,
    /// The signature of [`Approval::signed_bytes`], as `ssh-keygen -Y sign` prints it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<String>,
}

/// The hash of an intent: of the fabric file's bytes and of the way flows are spread.
pub fn intent_hash(fabric: &str, balancing: Balancing) -> String {
    let mut hasher = Sha256::new();
    hasher.update(balancing.name().as_bytes());
    hasher.update([0]);
    hasher.update(fabric.as_bytes());
    hex(&hasher.finalize())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Adds a field with its length, so that the end of a field is never taken for the start of the next.
fn put(bytes: &mut Vec<u8>, field: Option<&[u8]>) {
    bytes.push(u8::from(field.is_some()));
    if let Some(field) = field {
        bytes.extend((field.len() as u64).to_be_bytes());
        bytes.extend(field);
    }
}

impl Approval {
    /// A record of an approval, unsigned and the first of its file.
    pub fn new(who: String, when: String, fabric: String, balancing: Balancing) -> Self {
        let intent = intent_hash(&fabric, balancing);
        let balancing = balancing.name().to_owned();
        Self { who, when, role: None, intent, balancing, fabric, previous: None, signature: None }
    }

    /// The record as one that follows another.
    pub fn after(mut self, previous: Option<&Approval>) -> Self {
        self.previous = previous.map(Approval::hash);
        self
    }

    /// The record as one of a role.
    pub fn acting_as(mut self, role: Option<String>) -> Self {
        self.role = role;
        self
    }

    /// What is signed: everything but the signature. Two records with the same bytes are the same
    /// but for it, since every field stands with its length and a missing one differs from an empty
    /// one.
    pub fn signed_bytes(&self) -> Vec<u8> {
        let mut bytes = b"xoff-approval 1\n".to_vec();
        let fields = [
            Some(&self.who),
            Some(&self.when),
            self.role.as_ref(),
            Some(&self.intent),
            Some(&self.balancing),
            Some(&self.fabric),
            self.previous.as_ref(),
        ];
        for field in fields {
            put(&mut bytes, field.map(|field| field.as_bytes()));
        }
        bytes
    }

    /// The hash of the record with its signature, which the next record names.
    pub fn hash(&self) -> String {
        let mut bytes = b"xoff-approval-record 1\n".to_vec();
        put(&mut bytes, Some(&self.signed_bytes()));
        put(&mut bytes, self.signature.as_ref().map(|text| text.as_bytes()));
        hex(&Sha256::digest(&bytes))
    }

    /// Whether it is of a form whose records say which one they follow.
    pub(super) fn is_linked(&self) -> bool {
        self.previous.is_some() || self.signature.is_some()
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Records of few letters, so that fields that could be taken for each other occur.
    fn records() -> impl Strategy<Value = Approval> {
        let text = || "[ab\\x00\\x01]{0,3}";
        let optional = || proptest::option::of(text());
        let fields = (text(), text(), optional(), text(), text(), text(), optional(), optional());
        fields.prop_map(|(who, when, role, intent, balancing, fabric, previous, signature)| {
            Approval { who, when, role, intent, balancing, fabric, previous, signature }
        })
    }

    /// Reads the bytes back: what can be read back in one way only is of one record only.
    fn read_back(bytes: &[u8]) -> Option<Approval> {
        let mut rest = bytes.strip_prefix(b"xoff-approval 1\n")?;
        let mut fields = Vec::new();
        while let Some((present, tail)) = rest.split_first() {
            if *present == 0 {
                fields.push(None);
                rest = tail;
                continue;
            }
            let (length, tail) = tail.split_at_checked(8)?;
            let length = u64::from_be_bytes(length.try_into().ok()?);
            let (field, tail) = tail.split_at_checked(usize::try_from(length).ok()?)?;
            fields.push(Some(String::from_utf8(field.to_vec()).ok()?));
            rest = tail;
        }
        let [who, when, role, intent, balancing, fabric, previous] = fields.try_into().ok()?;
        Some(Approval {
            who: who?,
            when: when?,
            role,
            intent: intent?,
            balancing: balancing?,
            fabric: fabric?,
            previous,
            signature: None,
        })
    }

    proptest! {
        #[test]
        fn signed_bytes_say_the_whole_record(record in records()) {
            let unsigned = Approval { signature: None, ..record.clone() };
            prop_assert_eq!(read_back(&record.signed_bytes()), Some(unsigned));
        }

        #[test]
        fn different_records_have_different_bytes(left in records(), right in records()) {
            let unsigned = |record: &Approval| Approval { signature: None, ..record.clone() };
            let same = unsigned(&left) == unsigned(&right);
            prop_assert_eq!(left.signed_bytes() == right.signed_bytes(), same);
            prop_assert_eq!(left.hash() == right.hash(), left == right);
        }

        #[test]
        fn records_are_read_as_written(record in records()) {
            let text = serde_json::to_string(&record).unwrap();
            prop_assert_eq!(serde_json::from_str::<Approval>(&text).unwrap(), record);
        }
    }

    /// Text that moves from a field to the next is another record, though the letters in a row are
    /// the same.
    #[test]
    fn fields_do_not_run_into_each_other() {
        let record = |who: &str, when: &str| {
            Approval::new(who.into(), when.into(), "f".into(), Balancing::Hash)
        };
        assert_ne!(record("ab", "c").signed_bytes(), record("a", "bc").signed_bytes());
        let (none, empty) = (record("a", "b"), record("a", "b").acting_as(Some(String::new())));
        assert_ne!(none.signed_bytes(), empty.signed_bytes());
    }

    #[test]
    fn the_first_form_is_read_and_strange_keys_are_not() {
        let old = r#"{"who":"Ada","when":"2026-11-15T12:00:00Z","intent":"00","balancing":"hash","fabric":""}"#;
        let record: Approval = serde_json::from_str(old).unwrap();
        assert_eq!((record.role, record.previous, record.signature), (None, None, None));
        let strange = old.replacen('{', r#"{"by":"x","#, 1);
        assert!(serde_json::from_str::<Approval>(&strange).is_err());
    }
}
