//! What failures cost, in fabrics whose answer is known.

use super::Judged;
use xoff_fabric::load_fabric;
use xoff_report::Verdict;
use xoff_validate::judge::predicted_left;

const POD: &str = "[cluster]\ngpus = 64\nnic = 'connectx-7'\n[fabric]\nkind = 'leaf-spine'\n\
    leaves = 4\nspines = 2\nleaf = 'tomahawk-5'\n";
const DOG: &str = "[switch.watchdog]\nenabled = true\n";

/// Single-homed servers lose their leaf: the job dies of it in every such design, after the NIC's retries, and that is
/// a fact and no defect. Dual-homed ones go on.
#[test]
fn a_leaf_takes_single_homed_servers_with_it_and_no_dual_homed_ones() {
    let single = Judged::new(POD, &["failure-leaf", "failure-nic"]);
    for id in ["leaf", "nic"] {
        let cost = single.cost(id);
        let (after, why) = cost.died.clone().expect("the job dies");
        // Eight timeouts of 4.29 s.
        assert!((34.3..34.5).contains(&after), "{after}");
        assert!(why.starts_with("retry exceeded after 34.4 s: queue pair "), "{why}");
        assert_eq!(cost.verdict, Verdict::Pass, "{cost:?}");
        assert!(single.check(&format!("failures.{id}")).measured.contains("By design"));
    }
    let two = "[cluster]\ngpus = 64\nnic = 'connectx-7'\n[fabric]\nkind = 'rail'\nhoming = 'dual'\n\
               leaf = 'tomahawk-5'\n";
    let dual = Judged::new(two, &["failure-leaf", "failure-nic"]);
    for id in ["leaf", "nic"] {
        let cost = dual.cost(id);
        assert_eq!((cost.died, cost.verdict), (None, Verdict::Pass), "{id}");
        assert!(cost.interruption.is_some_and(|seconds| seconds < 5.0), "{id}");
    }
}

/// With one spine everything stops with it: that is said, and no share of nothing.
#[test]
fn one_spine_is_said_to_be_one() {
    let one = POD.replace("spines = 2", "spines = 1");
    let judged = Judged::new(&one, &["failure-spine", "all-spines", "dead-spine"]);
    assert_eq!(judged.cost("spine").verdict, Verdict::Warn);
    for id in ["failures.spine", "failures.bandwidth"] {
        let check = judged.check(id);
        assert!(check.measured.contains("the only switch above"), "{}", check.measured);
        assert!(!check.measured.contains("% of the bandwidth"), "{}", check.measured);
        assert_eq!(check.verdict, Verdict::Warn);
    }
}

/// A storm does not end by itself. Without a watchdog others stand still until their queue pairs give up; a watchdog
/// of 200 ms lets them go on; one that is slower than the retries is none.
#[test]
fn a_storm_needs_a_watchdog_that_is_faster_than_retries() {
    let without = Judged::new(POD, &["failure-storm"]);
    let cost = without.cost("storm");
    assert_eq!(cost.verdict, Verdict::Fail);
    assert!(cost.died.is_some());
    let advice = without.check("failures.storm").advice.expect("advice");
    assert!(advice.lines().contains("watchdog"), "{advice:?}");

    let with = Judged::new(&format!("{POD}{DOG}"), &["failure-storm"]);
    let cost = with.cost("storm");
    assert_eq!((cost.verdict, cost.died), (Verdict::Pass, None));
    let seconds = cost.interruption.expect("an interruption");
    assert!((0.1..2.0).contains(&seconds), "{seconds} s");

    let hasty = format!("{POD}{DOG}[transport]\ntimeout = '8ms'\nretry-limit = 7\n");
    let slow = Judged::new(&hasty, &["failure-storm"]);
    let cost = slow.cost("storm");
    assert_eq!(cost.verdict, Verdict::Fail, "{cost:?}");
    assert!(slow.check("failures.storm").advice.expect("advice").text.contains("detection time"));
}

/// Convergence that takes longer than the retries ends the job; with BFD it goes on. Worse settings never look better.
#[test]
fn convergence_is_held_against_the_retry_limit() {
    let silent = |profile: &str| {
        let text = format!(
            "{POD}[convergence]\nprofile = '{profile}'\n[transport]\ntimeout = '268ms'\nretry-limit = 7\n"
        );
        Judged::new(&text, &["failure-silent"]).cost("silent")
    };
    // Eight timeouts of 268 ms are over before a hold time of 9 s is.
    let (bgp, bfd, fast) = (silent("bgp"), silent("bgp-bfd"), silent("fast-reroute"));
    assert_eq!(bgp.verdict, Verdict::Fail);
    assert!(bgp.died.is_some());
    for cost in [&bfd, &fast] {
        assert_eq!((cost.verdict, &cost.died), (Verdict::Pass, &None), "{cost:?}");
    }
    let (bfd, fast) = (bfd.interruption.unwrap(), fast.interruption.unwrap());
    assert!(fast < bfd && bfd >= 0.9, "{fast} s and {bfd} s");
}

/// A link and a spine that come back leave the job as fast as before, a planned upgrade does not even stop it.
#[test]
fn what_comes_back_is_used_again() {
    let ids = ["failure-link", "failure-reset", "failure-upgrade", "failure-step"];
    let judged = Judged::new(POD, &ids);
    for id in ["link", "reset", "upgrade", "step"] {
        let cost = judged.cost(id);
        assert_eq!((cost.verdict, &cost.died), (Verdict::Pass, &None), "{id}");
        if id != "step" {
            let seen = judged.check(&format!("failures.{id}")).measured;
            assert!(seen.contains("as fast as before"), "{id}: {seen}");
        }
    }
    assert!(judged.cost("reset").interruption.is_some_and(|seconds| seconds > 0.1));
    assert_eq!(judged.cost("upgrade").interruption, None);
}

/// A leaf of a leaf-spine fabric: hosts, links to each spine, spines, and their rates.
fn share(hosts: u32, rate: u32, spines: u32, parallel: u32, up: u32) -> Option<f64> {
    let text = format!(
        "[cluster]\nhosts = {}\nnic = 'generic-{rate}g'\n[fabric]\nkind = 'leaf-spine'\nleaf = 'ideal'\n\
         leaves = 2\nspines = {spines}\n[links.leaf-spine]\nrate = '{up}Gbps'\nparallel = {parallel}",
        hosts * 2
    );
    predicted_left(&load_fabric(&text).into_result().unwrap_or_else(|e| panic!("{e:#?}")).fabric)
}

/// What is left is worked out from hosts and links alone, oversubscribed or not.
#[test]
fn what_a_dead_spine_leaves_is_worked_out() {
    let mut checked = 0;
    for hosts in [2, 4, 8] {
        for rate in [100, 200, 400] {
            for (spines, parallel, up) in
                [(1, 2, 400), (2, 1, 400), (3, 2, 400), (4, 4, 100), (8, 1, 800)]
            {
                let down = f64::from(hosts * rate);
                let whole = f64::from(spines * parallel * up);
                let rest = f64::from((spines - 1) * parallel * up);
                let expected = (rest / down).min(1.0) / (whole / down).min(1.0);
                let left = share(hosts, rate, spines, parallel, up).expect("a spine");
                assert!(
                    (left - expected).abs() < 1e-9,
                    "{hosts} x {rate}G, {spines} x {parallel} x {up}G: {left}, not {expected}"
                );
                checked += 1;
            }
        }
    }
    assert_eq!(checked, 45);
}

/// Dual-homed NICs send with both ports: each leaf has half of their rate below it, and loses no more than
/// its spine's share.
#[test]
fn dual_homed_nics_are_judged_at_their_whole_rate() {
    let text = "[cluster]\ngpus = 64\nnic = 'connectx-7'\n[fabric]\nkind = 'rail'\nhoming = 'dual'\n\
                leaf = 'tomahawk-5'\n";
    let judged = Judged::new(text, &["all-spines", "dead-spine"]);
    assert!(predicted_left(&judged.setup.fabric).is_some(), "something is left");
    let check = judged.check("failures.bandwidth");
    assert_eq!(check.verdict, Verdict::Pass, "{check:?}");
}

/// Every counter has its own source, and what a cable damages is no lossless drop.
#[test]
fn counters_are_not_each_other() {
    let judged = Judged::new(POD, &["failure-optic", "failure-link", "failure-silent"]);
    let sum = |id: &str, of: fn(&xoff_validate::blind::PortCounters) -> u64| {
        judged.measured[id].counters.iter().map(of).sum::<u64>()
    };
    let optic = &judged.measured["failure-optic"];
    assert!(optic.totals.wire_drops > 0);
    assert_eq!((optic.totals.lossless_drops, &optic.first_lossless_drop), (0, &None));
    assert_eq!(sum("failure-optic", |port| port.crc_errors), optic.totals.wire_drops);
    for id in ["failure-optic", "failure-silent", "failure-none"] {
        assert_eq!(sum(id, |port| port.link_downs), 0, "{id}");
        assert_eq!(sum(id, |port| port.discards), 0, "{id}");
    }
    assert_eq!(sum("failure-link", |port| port.link_downs), 2);
    assert_eq!(sum("failure-link", |port| port.crc_errors), 0);
    let (sent, got) =
        (|id: &str| sum(id, |port| port.tx_packets), |id: &str| sum(id, |port| port.rx_packets));
    assert_eq!(sent("failure-none"), got("failure-none"));
    assert!(sent("failure-silent") > got("failure-silent"));
}

/// `[goals]` decide what must be survived and how long a job may stand still.
#[test]
fn goals_of_the_file_decide() {
    let with = |goals: &str, failure: &str| {
        let text = format!("{POD}[goals]\n{goals}\n");
        Judged::new(&text, &[format!("failure-{failure}").as_str()]).cost(failure)
    };
    assert_eq!(with("survive = ['link', 'leaf']", "leaf").verdict, Verdict::Fail);
    // A link costs 268 ms: the first timeout of these NICs.
    assert_eq!(with("failure = '300ms'", "link").verdict, Verdict::Pass);
    assert_eq!(with("failure = { pass = '100ms', fail = '1s' }", "link").verdict, Verdict::Warn);
    assert_eq!(with("failure = { pass = '50ms', fail = '100ms' }", "link").verdict, Verdict::Fail);
    let one = format!("{}[goals]\nsurvive = ['link']\n", POD.replace("spines = 2", "spines = 1"));
    let spine = Judged::new(&one, &["failure-spine"]).cost("spine");
    assert_eq!(spine.verdict, Verdict::Pass, "nobody asks for it: {spine:?}");
}
