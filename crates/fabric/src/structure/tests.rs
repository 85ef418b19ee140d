use crate::diagnostic::Origin;
use crate::document::Document;

/// What the walk says about a fabric file, one line each.
fn complaints(text: &str) -> Vec<String> {
    let (mut document, errors) = Document::parse(text, Some(Origin::Fabric));
    assert!(errors.is_empty(), "{errors:?}");
    let found = super::prune(&mut document.root, &crate::schema::merged_fabric(), Origin::Fabric);
    found.iter().map(|d| format!("{}: {d}", d.line(text))).collect()
}

fn scenario_complaints(text: &str) -> Vec<String> {
    let (mut document, errors) = Document::parse(text, Some(Origin::Scenario));
    assert!(errors.is_empty(), "{errors:?}");
    let schema = crate::schema::bare_scenario();
    let found = super::prune(&mut document.root, &schema, Origin::Scenario);
    found.iter().map(|d| format!("{}: {d}", d.line(text))).collect()
}

#[test]
fn every_mistake_is_found_at_its_line() {
    let found = complaints(
        "[cluster]\ngpu = 8\nnic = 5\nnic-rate = '400Gbs'\n[fabric]\nkind = 'rial'\nspines = -1\n\
         [ecn]\nkmin = 5\npmax = 'high'\n[links.host]\nlenght = '3m'\n[transport.congestion]\n\
         kind = 'dcqcn'\nmax-stage = 4\n",
    );
    let expected = [
        "2: error[xoff::unknown-key]: there is no key `gpu` here; did you mean `gpus`?",
        "3: error[xoff::wrong-value]: this is a whole number, and text is expected",
        "4: error[xoff::wrong-value]: `Gbs` is not a unit of a rate",
        "9: error[xoff::wrong-value]: 5 has no unit; write it as text, like \"150KB\"",
        "10: error[xoff::wrong-value]: `high` is not a ratio",
        "6: error[xoff::wrong-value]: `rial` is not known here",
        "7: error[xoff::wrong-value]: -1 is out of range: it lies between 0 and 4294967295",
        "12: error[xoff::unknown-key]: there is no key `lenght` here; did you mean `length`?",
        "15: error[xoff::unknown-key]: there is no key `max-stage` here",
    ];
    assert_eq!(found.len(), expected.len(), "{found:#?}");
    for expected in expected {
        assert!(found.iter().any(|f| f.starts_with(expected)), "{expected}\n{found:#?}");
    }
}

#[test]
fn what_is_right_is_left_alone() {
    let found = complaints(
        "profile = 'ns3-hpcc'\n[pfc]\nquanta = 'until-resume'\nheadroom = '3 delays'\n\
         response = '2us'\nalpha = 0.125\n[switch]\nbuffer = '32MiB'\ncell = 0\n[switch.leaf.hash]\n\
         seed = 7\nfields = ['addresses']\n[[class]]\nid = 3\nscheduling = 'strict'\ndscp = [26]\n\
         [[class]]\nid = 0\nscheduling = 4\n[traffic]\nack = 'data'\ncnp = 6\n\
         [catalogue.silicon.mine]\nlike = 'generic'\nports = 12\n[transport]\nrecovery = \
         'selective-repeat'\n[transport.congestion]\nkind = 'hpcc'\nmax-stage = 4\n",
    );
    assert_eq!(found, Vec::<String>::new());
}

#[test]
fn alternatives_are_explained() {
    let found = complaints("[pfc]\nquanta = 'for-ever'\n[traffic]\nack = 'dta'\ncnp = 300\n");
    assert!(found[0].contains("a whole number or `until-resume`"), "{found:#?}");
    assert!(found[1].contains("did you mean `data`?"), "{found:#?}");
    assert!(found[2].contains("out of range"), "{found:#?}");
    let found = complaints("[transport.congestion]\nkind = 'dcqn'\n");
    assert!(found[0].contains("did you mean `dcqcn`?"), "{found:#?}");
    let found = complaints("[transport.congestion]\ng = 1\n");
    assert!(found[0].contains("`kind` is missing"), "{found:#?}");
    let found = complaints("cluster = 5\n[[fabric]]\nkind = 'rail'\n");
    assert_eq!(found.len(), 2, "{found:#?}");
}

#[test]
fn workloads_are_walked_by_their_kind() {
    let found = scenario_complaints(
        "fabric = 'a.toml'\n[[workload]]\nkind = 'incast'\nsize = '1MB'\nsender = 3\n\
         [[workload]]\nkind = 'incst'\n[[workload]]\nkind = 'permutation'\nstart = '1us'\n\
         [[workload]]\nkind = 'flows'\n[[workload.list]]\nsource = 0\ndestination = 'x'\nsize = 4\n\
         [[fault]]\nkind = 'pause-storm'\nnic = 0\nfor = '1us'\nat = 5\n[override.anything]\nx = 1\n",
    );
    let expected = [
        "5: error[xoff::unknown-key]: there is no key `sender` here; did you mean `senders`?",
        "7: error[xoff::wrong-value]: there is no kind `incst`; did you mean `incast`?",
        "8: error[xoff::missing-key]: `size` is missing here",
        "16: error[xoff::wrong-value]: 4 has no unit",
        "21: error[xoff::wrong-value]: 5 has no unit",
    ];
    assert_eq!(found.len(), expected.len(), "{found:#?}");
    for expected in expected {
        assert!(found.iter().any(|f| f.starts_with(expected)), "{expected}\n{found:#?}");
    }
}
