//! NVIDIA's list of NVUE commands judges every rendered command.
//!
//! `XOFF_NVUE_COMMANDS` names a file with a command per line, as `nv list-commands` prints them on a
//! switch and NVIDIA's command reference heads its sections: `nv set qos pfc <profile-id> cable-length`.
//! A word in angle brackets stands for any, `(a|b)` for one of several; a value may follow the last word.

use crate::common::{self, fabric_files};
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;
use std::{env, fs};
use xoff_config::device::Balancing;
use xoff_config::intent::{Choices, Intent};
use xoff_config::system::SystemId;

/// Whether a word of a command is what the list has there.
fn stands_for(pattern: &str, word: &str) -> bool {
    let options = pattern.strip_prefix('(').and_then(|rest| rest.strip_suffix(')'));
    pattern.starts_with('<')
        || pattern == word
        || options.is_some_and(|options| options.split('|').any(|option| option == word))
}

/// Whether a line of the list is this command, with at most a value behind it. What has a state is
/// switched on by its name alone.
fn is(pattern: &[&str], words: &[&str]) -> bool {
    if let Some((&"state", switched)) = pattern.split_last()
        && switched.len() == words.len()
    {
        return is(switched, words);
    }
    let long = words.len() == pattern.len() || words.len() == pattern.len() + 1;
    long && pattern.iter().zip(words).all(|(pattern, word)| stands_for(pattern, word))
}

fn unknown<'t>(text: &'t str, commands: &[Vec<&str>]) -> Option<&'t str> {
    text.lines().filter(|line| line.starts_with("nv ")).find(|line| {
        // A description is one value, whatever is in it.
        let plain = line.split('\'').next().unwrap_or(line);
        let words: Vec<&str> = plain.split_whitespace().collect();
        !commands.iter().any(|command| is(command, &words))
    })
}

#[test]
fn nvidia_s_commands_have_each() {
    let Some(file) = env::var_os("XOFF_NVUE_COMMANDS") else {
        println!("SKIPPED: XOFF_NVUE_COMMANDS names no file with the commands of NVUE");
        return;
    };
    let list = fs::read_to_string(file).unwrap();
    let commands: Vec<Vec<&str>> = (list.lines())
        .filter(|line| line.starts_with("nv set "))
        .map(|line| line.split_whitespace().collect())
        .collect();
    assert!(commands.len() > 50, "{} commands are no list of NVUE's", commands.len());
    let mut runner = TestRunner::deterministic();
    let drawn = (0..12).map(|_| fabric_files().new_tree(&mut runner).unwrap().current());
    let files: Vec<String> = [common::POD.to_owned()].into_iter().chain(drawn).collect();
    let choices = Choices { balancing: Balancing::Packet, ..Choices::all(SystemId::Cumulus) };
    let mut seen = 0;
    for file in &files {
        let intent = Intent::with(&common::setup(file), choices);
        for device in intent.devices.iter().filter(|device| !device.is_host()) {
            let text = &intent.files(device, &mut Vec::new())[0].text;
            assert_eq!(unknown(text, &commands), None, "not a command of NVUE");
            seen += text.lines().filter(|line| line.starts_with("nv ")).count();
        }
    }
    println!("{seen} commands of {} fabrics are NVUE's", files.len());
    // A judge that accepts everything is none.
    for wrong in [
        "nv set interface swp1 qos egress-queue-mapping profile ROCE",
        "nv set qos pfc ROCE watchdog on",
        "nv set qos traffic-pool default-lossless memory 50",
    ] {
        assert_eq!(unknown(wrong, &commands), Some(wrong));
    }
}
