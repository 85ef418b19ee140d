//! Other programs as judges of the ways configurations are delivered. Where they cannot be had the tests
//! say so and are skipped.
//!
//! - AVD: `pyavd` in the interpreter that `XOFF_PYTHON` names, otherwise in `python3`.
//! - Ansible: `ansible-playbook` and `ansible-lint` in the folder that `XOFF_ANSIBLE` names, otherwise on
//!   the path; vendors' collections where `ANSIBLE_COLLECTIONS_PATH` says. Collections that are not
//!   there are stood in for, which is printed.
//! - gNMI: `yanglint` and a folder with OpenConfig's models in `XOFF_OPENCONFIG`, a copy of
//!   `openconfig/public` on GitHub.

mod ansible;
mod avd;
#[path = "../common/mod.rs"]
mod common;
mod openconfig;

use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;
use std::path::PathBuf;

/// The fabric of the tests, and others drawn at random.
fn fabrics(drawn: usize) -> Vec<String> {
    let mut runner = TestRunner::deterministic();
    let mut draw = || common::fabric_files().new_tree(&mut runner).unwrap().current();
    let drawn: Vec<String> = (0..drawn).map(|_| draw()).collect();
    std::iter::once(common::POD.to_owned()).chain(drawn).collect()
}

/// A folder that is removed again.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("xoff-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What is left of a failed clean-up is small.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
