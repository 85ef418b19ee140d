//! The engine alone: closed forms, faults, jobs, and bugs that were found.

mod aggregation;
mod closed_forms;
#[path = "../common/mod.rs"]
mod common;
mod dual_homed;
mod faults;
mod found_bugs;
mod jobs;
mod marking;
mod published;
mod steps;
