use crate::diagnostic::{Diagnostic, code};
use crate::load::load_fabric;

const SINGLE: &str =
    "[cluster]\nhosts = 8\nnic = 'connectx-7'\n[fabric]\nkind = 'single'\nleaf = 'tomahawk-5'\n";

/// What is warned of under a rule, and the text it points at.
fn warned(text: &str, code: crate::diagnostic::Code) -> Vec<(Diagnostic, String)> {
    let loaded = load_fabric(text);
    assert!(loaded.value.is_some(), "{text}: {:#?}", loaded.diagnostics);
    let found = loaded.diagnostics.into_iter().filter(|found| found.code == code);
    found.map(|found| (found.clone(), text[found.span].to_owned())).collect()
}

#[test]
fn marking_above_a_fixed_xoff_is_cured_by_xoff() {
    let text = format!("{SINGLE}[pfc]\nxoff = '100KB'\n");
    let found = warned(&text, code::ECN_ABOVE_XOFF);
    let help = found[0].0.help.clone().unwrap();
    assert!(!help.contains("larger `pfc.alpha`"), "refused beside xoff: {help}");
    assert!(help.contains("an `xoff` above"), "{help}");
    // What it says is taken: the smallest xoff above that has nothing to warn of.
    let size: String =
        help.split("`xoff` above ").nth(1).unwrap().chars().take_while(|c| *c != ' ').collect();
    let larger = size.parse::<xoff_units::Bytes>().unwrap() + xoff_units::Bytes::new(1);
    let cured = format!("{SINGLE}[pfc]\nxoff = '{larger}'\n[ecn]\nkmax = '400KB'\n");
    assert!(warned(&cured, code::ECN_ABOVE_XOFF).is_empty(), "{cured}");
    let shared = warned(&format!("{SINGLE}[pfc]\nalpha = '1/1024'\n"), code::ECN_ABOVE_XOFF);
    assert!(shared[0].0.help.as_ref().is_some_and(|help| help.contains("larger `pfc.alpha`")));
}

#[test]
fn a_resume_later_than_the_cable_is_warned_of_with_the_arithmetic() {
    let with = |length: &str, pfc: &str| {
        format!(
            "{SINGLE}[links.host]\nlength = '{length}'\n[ecn]\nkmin = '10KB'\nkmax = '20KB'\n[pfc]\n{pfc}"
        )
    };
    // 400 Gb/s over 1 km and back: 10 us, 500 KB; XON is 32 KB less 18 KiB, and what is reserved.
    let late = with("1km", "xoff = '32KB'\n");
    let found = warned(&late, code::UNUSUAL);
    let [(found, shown)] = &found[..] else { panic!("{found:#?}") };
    assert_eq!(shown, "'32KB'");
    assert!(
        found.message.contains("there and back") && found.message.contains("us after every pause")
    );
    assert!(found.help.as_ref().is_some_and(|help| help.contains("pause later")), "{found}");
    let offset = with("1km", "xoff = '2MB'\nxon-offset = '1900KB'\n");
    let found = warned(&offset, code::UNUSUAL);
    assert_eq!(found[0].1, "'1900KB'");
    assert!(found[0].0.help.as_ref().is_some_and(|help| help.contains("`xon-offset` of")));
    for quiet in [with("5m", "xoff = '320KB'\n"), with("1km", "xoff = '2MB'\n"), with("1km", "")] {
        assert!(warned(&quiet, code::UNUSUAL).is_empty(), "{quiet}");
    }
}

#[test]
fn ratios_read_as_people_write_them() {
    let with = |ratio: &str| {
        format!(
            "[cluster]\nhosts = 24\nnic = 'connectx-7'\n[fabric]\nkind = 'leaf-spine'\nleaf = 'tomahawk-4'\n\
             hosts-per-leaf = 12\nspines = 4\noversubscription = '{ratio}'\n\
             [links.leaf-spine]\nrate = '400Gbps'\n"
        )
    };
    let up = |ratio: &str| {
        let fabric = load_fabric(&with(ratio)).into_result().unwrap().fabric;
        fabric.switches[0].ports.len() - 12
    };
    assert_eq!(up("1.5:1"), up("3:2"));
    assert_eq!(up("1.5:1"), 8);
    // 7 hosts by 4 uplinks.
    let text = with("1:1")
        .replace("hosts-per-leaf = 12", "hosts-per-leaf = 7")
        .replace("hosts = 24", "hosts = 14")
        + "parallel = 1\n";
    let found = warned(&text, code::OVERSUBSCRIBED);
    assert!(found[0].0.message.contains("oversubscribed 1.8:1"), "{}", found[0].0);
    let help = found[0].0.help.as_ref().unwrap();
    assert!(help.contains("oversubscription = \"1.8:1\""), "{help}");
    let accepted = text.replace("'1:1'", "'1.8:1'");
    assert!(warned(&accepted, code::OVERSUBSCRIBED).is_empty());
}
