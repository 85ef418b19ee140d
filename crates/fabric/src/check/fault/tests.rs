use crate::load_scenario;
use proptest::prelude::*;

const POD: &str = "[cluster]\nhosts = 8\n[fabric]\nkind = 'leaf-spine'\nleaves = 2\nspines = 2\n\
                   hosts-per-leaf = 4\n[links.leaf-spine]\nparallel = 2\n";

/// What is found in a scenario with one fault, each with its line; the fault's `kind` is on line 3.
fn found(fault: &str) -> Vec<String> {
    let text = format!("fabric = 'a.toml'\n[[fault]]\n{fault}");
    let loaded = load_scenario(&text, POD);
    let line = |found: &crate::Diagnostic| format!("{}: {found}", found.line(&text));
    let found: Vec<String> =
        loaded.diagnostics.iter().filter(|found| found.is_error()).map(line).collect();
    assert_eq!(loaded.value.is_none(), !found.is_empty(), "{found:#?}");
    found
}

#[test]
fn faults_that_are_right() {
    for fault in [
        "kind = 'link-down'\nlink = 'leaf1 spine1'\nat = '2ms'\nrestore-after = '5ms'",
        "kind = 'link-down'\nlink = 'spine1 leaf1'\nindex = 1\nconverge = '1ms'\nlate = '1s'",
        "kind = 'link-down'\ncount = 8",
        "kind = 'link-down'\ncount = 16\namong = 'all'",
        "kind = 'link-flap'\ncount = 1\namong = 'hosts'\nperiod = '1ms'\ntimes = 3\nduty = '10%'",
        "kind = 'link-degraded'\nlink = 'server0 leaf0'\nrate = '100Gbps'",
        "kind = 'link-degraded'\ncount = 1\nbit-error-rate = 1e-9\nloss = 0.5\nfor = '1ms'",
        "kind = 'switch-down'\nswitch = 'spine0'\nrestore-after = '1s'",
        "kind = 'switch-down'\ncount = 2\ntier = 'leaf'",
        "kind = 'switch-down'\nswitch = 'spine0'\nat = '3s'\ndrain = '2s'\nrestore-after = '120s'",
        "kind = 'link-down'\nlink = 'leaf1 spine1'\nsilent = true\nconverge = '9s'",
        "kind = 'server-down'\nserver = 'server3'",
        "kind = 'server-down'\ncount = 8\nat = '1us'",
        "kind = 'route-change'\nswitch = 'leaf0'\nvia = 'spine1'\nfor = '1ms'",
        "kind = 'route-change'\nswitch = 'leaf0'\nvia = 'spine1'\nto = 'server7-nic0'",
        "kind = 'setting'\nswitch = 'leaf0'\npfc = false\nclass = 3",
        "kind = 'setting'\nport = 'leaf0 spine1'\nindex = 1\nkmin = '1KB'\nkmax = '1KB'\npmax = 1",
        "kind = 'setting'\nport = 'leaf0 server0'\nalpha = '1/8'",
        "kind = 'miscabling'\nlinks = ['server0 leaf0', 'server7 leaf1']",
    ] {
        assert_eq!(found(fault), [""; 0], "{fault}");
    }
}

/// Long, because it is one file with every mistake, and its lines are counted.
#[test]
fn faults_that_are_wrong_are_shown_on_their_line() {
    for (fault, expected) in [
        (
            "kind = 'link-dwon'",
            "3: error[xoff::wrong-value]: there is no kind `link-dwon`; did you",
        ),
        (
            "kind = 'link-down'\nlink = 'leaf1 spien1'",
            "4: error[xoff::unknown-name]: there is no node",
        ),
        (
            "kind = 'link-down'\nlink = 'leaf0 leaf1'",
            "4: error[xoff::unknown-name]: there is no cable",
        ),
        (
            "kind = 'link-down'\nlink = 'leaf0 spine0'\nindex = 2",
            "5: error[xoff::unknown-name]: there is",
        ),
        (
            "kind = 'link-down'\nlink = 'leaf0'",
            "4: error[xoff::unknown-name]: `leaf0` does not name",
        ),
        (
            "kind = 'link-down'\nat = '1ms'",
            "2: error[xoff::impossible-value]: it does not say which",
        ),
        (
            "kind = 'link-down'\nlink = 'leaf0 spine0'\ncount = 1",
            "5: error[xoff::impossible-value]: `link`",
        ),
        ("kind = 'link-down'\ncount = 0", "4: error[xoff::impossible-value]: links to draw"),
        ("kind = 'link-down'\ncount = 9", "4: error[xoff::impossible-value]: links to draw"),
        ("kind = 'link-down'\ncount = 1\nrestore_after = '1s'", "5: error[xoff::unknown-key]"),
        (
            "kind = 'link-down'\ncount = 1\nconverge = 5",
            "5: error[xoff::wrong-value]: 5 has no unit",
        ),
        (
            "kind = 'link-flap'\ncount = 1\nperiod = '1ns'\ntimes = 1",
            "5: error[xoff::impossible-value]",
        ),
        (
            "kind = 'link-flap'\ncount = 1\nperiod = '1us'\ntimes = 0",
            "6: error[xoff::impossible-value]",
        ),
        (
            "kind = 'link-flap'\ncount = 1\nperiod = '1us'\ntimes = 1\nduty = 1",
            "7: error[xoff::imp",
        ),
        (
            "kind = 'link-flap'\ncount = 1\ntimes = 1",
            "error[xoff::missing-key]: `period` is missing",
        ),
        (
            "kind = 'link-degraded'\ncount = 1",
            "2: error[xoff::impossible-value]: it does not say what",
        ),
        ("kind = 'link-degraded'\ncount = 1\nrate = '9Tbps'", "5: error[xoff::impossible-value]"),
        ("kind = 'link-degraded'\ncount = 1\nrate = 0", "5: error"),
        ("kind = 'link-degraded'\ncount = 1\nloss = 2", "5: error[xoff::impossible-value]"),
        (
            "kind = 'switch-down'\nswitch = 'server0'",
            "4: error[xoff::unknown-name]: `server0` is a NIC",
        ),
        ("kind = 'switch-down'\ncount = 1\ntier = 'core'", "4: error[xoff::impossible-value]"),
        (
            "kind = 'switch-down'\ncount = 1\nat = '1s'\ndrain = '2s'",
            "6: error[xoff::impossible-value]: a drain of 2s would begin before",
        ),
        (
            "kind = 'server-down'\nserver = 'sever0'",
            "4: error[xoff::unknown-name]: there is no server",
        ),
        ("kind = 'route-change'\nswitch = 'leaf0'\nvia = 'leaf1'", "5: error[xoff::unknown-name]"),
        ("kind = 'route-change'\nswitch = 'leaf9'\nvia = 'leaf1'", "4: error[xoff::unknown-name]"),
        (
            "kind = 'route-change'\nswitch = 'leaf0'\nvia = 'spine1'\nto = 99",
            "6: error[xoff::unknown-",
        ),
        ("kind = 'setting'\nswitch = 'leaf0'", "2: error[xoff::impossible-value]: it sets nothing"),
        ("kind = 'setting'\npfc = false", "2: error[xoff::impossible-value]: either a switch"),
        ("kind = 'setting'\nport = 'server0 leaf0'\npfc = false", "4: error[xoff::unknown-name]"),
        ("kind = 'setting'\nswitch = 'leaf0'\nalpha = 0", "5: error[xoff::impossible-value]"),
        (
            "kind = 'setting'\nswitch = 'leaf0'\npfc = true\nclass = 8",
            "6: error[xoff::impossible-value]",
        ),
        ("kind = 'setting'\nswitch = 'leaf0'\nkmin = '1GB'", "5: error[xoff::impossible-value]"),
        (
            "kind = 'setting'\nswitch = 'leaf0'\nkmax = '1B'\npmax = 3",
            "6: error[xoff::impossible-value]",
        ),
        (
            "kind = 'miscabling'\nlinks = ['server0 leaf0', 'leaf1 spine9']",
            "4: error[xoff::unknown-name]",
        ),
    ] {
        let found = found(fault);
        assert!(found.iter().any(|f| f.contains(expected)), "{fault}\n{expected}\n{found:#?}");
    }
}

#[test]
fn mistakes_come_with_a_cure() {
    for (fault, cure) in [
        ("kind = 'link-down'\nlink = 'leaf0 spinne0'", "did you mean `spine0`?"),
        ("kind = 'link-down'\nlink = 'leaf0 leaf1'", "`leaf0` has cables to"),
        ("kind = 'link-down'\nlink = 'leaf0 spine0'\nindex = 7", "joined by 2, counted from 0"),
        ("kind = 'link-down'\ncount = 100", "there are 8 to draw from"),
        ("kind = 'server-down'\nserver = 'sever1'", "did you mean `server1`?"),
    ] {
        let found = found(fault);
        assert!(found.iter().any(|f| f.contains(cure)), "{fault}\n{cure}\n{found:#?}");
    }
}

proptest! {
    /// Whatever a fault says, it is taken or refused.
    #[test]
    fn no_fault_panics(
        kind in prop::sample::select(vec![
            "link-down", "link-flap", "link-degraded", "switch-down", "server-down",
            "route-change", "setting", "miscabling",
        ]),
        keys in prop::collection::vec((prop::sample::select(vec![
            "link", "index", "count", "among", "at", "for", "restore-after", "converge", "late",
            "period", "duty", "times", "rate", "loss", "switch", "server", "tier", "to", "via",
            "port", "class", "pfc", "alpha", "kmin", "kmax", "pmax", "links",
        ]), prop::sample::select(vec![
            "0", "1", "-1", "3000000000", "''", "'leaf0 spine0'", "'leaf0'", "'1ms'", "'99999999s'",
            "'0B'", "'1e30'", "true", "['a b', 'c d']", "['leaf0 spine0', 'leaf1 spine1']",
            "['leaf0 spine0']", "'all'", "'server0'", "'400Gbps'", "0.5", "1e-300", "nan",
        ])), 0..7),
    ) {
        let mut seen = std::collections::BTreeSet::new();
        let lines = keys.iter().filter(|(key, _)| seen.insert(*key));
        let lines: Vec<String> = lines.map(|(key, value)| format!("{key} = {value}")).collect();
        found(&format!("kind = '{kind}'\n{}", lines.join("\n")));
    }
}
