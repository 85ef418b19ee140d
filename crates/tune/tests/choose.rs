//! The default knobs: what they take loads, and what they say is in force now is.

use std::path::Path;
use xoff_sweep::{Base, Setting};
use xoff_tune::choose;

const SCENARIO: &str = "fabric = 'f.toml'\n[[workload]]\nkind = 'all-reduce'\nsize = '1MB'\n";

const FABRICS: [&str; 8] = [
    "[cluster]\ngpus = 16\n[fabric]\nkind = 'rail'\n",
    "[cluster]\nhosts = 8\nnic = 'generic-100g'\n[fabric]\nkind = 'single'\n",
    "[cluster]\nhosts = 16\nnic = 'connectx-7'\n[fabric]\nhosts-per-leaf = 4\nspines = 2\n\
     [pfc]\nalpha = 0.2\n[ecn]\nkmin = '7KB'\nkmax = '500KB'\npmax = '30%'\n[switch.spine.ecn]\nkmin = '90KB'\n\
     [transport]\nqueue-pairs = 3\n",
    "[cluster]\nhosts = 16\n[fabric]\nhosts-per-leaf = 4\nspines = 2\n[links.leaf-spine]\nlength = '2km'\n\
     [pfc]\nxoff = '500KB'\n[switch.balancing]\nkind = 'spray'\n[transport]\nrecovery = 'selective-repeat'\n",
    "[cluster]\nhosts = 16\n[fabric]\nhosts-per-leaf = 4\nspines = 2\n[transport.congestion]\nkind = 'hpcc'\n",
    "[cluster]\nhosts = 16\n[fabric]\nhosts-per-leaf = 4\nspines = 2\n[transport.congestion]\nkind = 'timely'\n",
    "[cluster]\nhosts = 16\n[fabric]\nhosts-per-leaf = 4\nspines = 2\n[transport.congestion]\nkind = 'swift'\n",
    "[cluster]\nhosts = 16\n[fabric]\nhosts-per-leaf = 4\nspines = 2\n[transport]\nkind = 'uet'\n",
];

fn base(fabric: &str) -> Base {
    Base::new(SCENARIO, [("f.toml".to_owned(), fabric.to_owned())], Path::new(".")).unwrap()
}

fn loaded(base: &Base, settings: &[Setting<'_>]) -> Result<xoff_sweep::base::Loaded, String> {
    let texts = base.change(settings, 1)?;
    base.load(&texts, 1).map_err(|why| why.message)
}

#[test]
fn every_end_loads_and_present_values_are_those_in_force() {
    for text in FABRICS {
        let base = base(text);
        let now = loaded(&base, &[]).unwrap_or_else(|why| panic!("{text}: {why}"));
        let chosen = choose::knobs(&now.setup, &[&now.scenario]);
        assert!(!chosen.knobs.is_empty(), "{text}");
        let model = format!("{:?}", now.setup.fabric);
        // With both thresholds where they fit: low ones for the lower end, high ones for the upper.
        for end in [0.0, 1.0] {
            let own = |own: &&xoff_tune::Knob| !own.name().contains("balancing");
            let all: Vec<Setting<'_>> =
                chosen.knobs.iter().filter(own).flat_map(|knob| knob.axis.at(end)).collect();
            loaded(&base, &all).unwrap_or_else(|why| panic!("{text} at {end}: {why}"));
        }
        for knob in &chosen.knobs {
            let key = &knob.axis.keys[0];
            let Some(present) = knob.present.clone() else { panic!("{text}: {key}") };
            assert!(!knob.words.is_empty() && !knob.value(None).is_empty(), "{key}");
            if present.as_str() == Some("auto") {
                continue;
            }
            assert!(knob.present_place().is_some(), "{text}: {key} = {present} is not on its axis");
            let same = loaded(&base, &[Setting { key, value: present.clone() }]).unwrap();
            let same = format!("{:?}", same.setup.fabric);
            assert!(same == model, "{text}: `{key} = {present}` is not what is in force");
        }
    }
}

/// Of a controller, wherever senders act on marks; without one in the file its thresholds stay.
#[test]
fn every_end_of_a_controller_loads() {
    for text in FABRICS {
        let base = base(text);
        let now = loaded(&base, &[]).unwrap_or_else(|why| panic!("{text}: {why}"));
        let chosen = choose::online(&now.setup);
        let listens = !["hpcc", "timely", "swift"].iter().any(|kind| text.contains(kind));
        assert_eq!(chosen.knobs.is_empty(), !listens, "{text}");
        for end in [0.0, 0.5, 1.0] {
            let all: Vec<Setting<'_>> =
                chosen.knobs.iter().flat_map(|knob| knob.axis.at(end)).collect();
            let moved = loaded(&base, &all).unwrap_or_else(|why| panic!("{text} at {end}: {why}"));
            // The first of the two values of `enabled` is true.
            assert_eq!(moved.setup.fabric.adaptive.is_some(), listens && end == 0.0, "{text}");
        }
    }
}

#[test]
fn knobs_suit_the_fabric() {
    let names = |text: &str| {
        let now = loaded(&base(text), &[]).unwrap();
        let chosen = choose::knobs(&now.setup, &[&now.scenario]);
        chosen.knobs.iter().map(|knob| knob.name().to_owned()).collect::<Vec<_>>()
    };
    let has = |text: &str, name: &str| names(text).iter().any(|own| own == name);
    assert!(!has(FABRICS[1], "balancing") && has(FABRICS[2], "balancing"));
    assert!(has(FABRICS[2], "spine kmin") && !has(FABRICS[0], "spine kmin"));
    assert!(has(FABRICS[3], "xoff") && !has(FABRICS[3], "alpha"));
    assert!(has(FABRICS[4], "eta") && !has(FABRICS[4], "kmin"), "HPCC sees no marks");
    assert!(has(FABRICS[5], "t-low") && has(FABRICS[6], "target"));
}
