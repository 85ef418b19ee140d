//! What is there already, and which network is recommended.

use super::*;

fn rows(text: &str) -> Vec<Owned> {
    inventory(text, &Catalogue::built_in()).unwrap()
}

#[test]
fn what_fits_stays_and_the_rest_goes_with_a_reason() {
    let owned = rows(
        "part,quantity,length_m,rate\n# the old pod\ntomahawk-5,4,,\nconnectx-6,128,,\n\
         400g-sr8,10,,\nacc,100,5,800Gbps\nacc,50,3,800Gbps\naoc,600,15,800Gbps\n",
    );
    let plan = planned(&Wish { existing: Some(owned), ..Wish::gpus(1_024) });
    let brown = plan.brownfield.as_ref().unwrap();
    let fate = |at: usize| (brown.fates[at].stays, brown.fates[at].goes);
    assert_eq!(fate(0), (4, 0));
    assert_eq!(fate(1), (0, 128));
    assert!(brown.fates[1].reason.contains("200Gbps; the plan has connectx-7"), "{brown:?}");
    assert!(brown.fates[2].reason.contains("8 x 50G parallel"), "{brown:?}");
    assert_eq!((fate(3), fate(4)), ((100, 0), (0, 50)));
    assert!(brown.fates[4].reason.contains("no place of that length"), "{brown:?}");
    // 528 of 15 m and, as 15 m is not twice 10 m, 72 of the 132 that 10 m would do for.
    assert_eq!(fate(5), (600, 0));
    let bought = |role| brown.buy.iter().filter(|b| b.0 == role).map(|b| b.3).sum::<u64>();
    let switches = bought(Role::Leaf) + bought(Role::Spine);
    assert_eq!((switches, bought(Role::Nic)), (21, 1_045));
    assert_eq!(bought(Role::Cable), 98 + 198 + 60);
    assert_eq!(brown.saved, 100 * (4 * 43_520 + 100 * 280 + 600 * 900));
    assert!(
        brown.steps[0].contains("spines")
            && brown.steps.last().unwrap().contains("128 NICs, 60 cables and transceivers")
    );
}

/// A cable of 200G does not link ports of 800G, and one that nobody wrote the rate of may be such a cable.
#[test]
fn cables_stay_where_they_have_the_rate() {
    let owned = rows(
        "part,quantity,length_m,rate\naoc,50,15,200Gbps\naoc,50,15,\naoc,50,15,800Gbps\naoc,50,,\n",
    );
    let plan = planned(&Wish { existing: Some(owned), ..Wish::gpus(1_024) });
    let brown = plan.brownfield.as_ref().unwrap();
    let stays: Vec<u64> = brown.fates.iter().map(|fate| fate.stays).collect();
    assert_eq!(stays, [0, 0, 50, 0]);
    let reason = |at: usize| brown.fates[at].reason.as_str();
    assert_eq!(reason(0), "carries 200Gbps; the plan has such cables of 800Gbps");
    assert_eq!(reason(1), "rate is needed to place a cable");
    assert_eq!(reason(3), "length_m and rate are needed to place a cable");
}

#[test]
fn all_of_a_plan_leaves_nothing_to_buy() {
    let plan = planned(&Wish::gpus(1_024));
    let owned = plan.design.bill.lines.iter().map(|line| Owned {
        part: line.item.part.clone(),
        quantity: line.ordered(),
        length: line.item.length,
        rate: Some(line.item.rate),
    });
    let again = planned(&Wish { existing: Some(owned.collect()), ..Wish::gpus(1_024) });
    let brown = again.brownfield.unwrap();
    assert!(brown.buy.is_empty() && brown.fates.iter().all(|fate| fate.goes == 0), "{brown:?}");
    assert_eq!(brown.saved, plan.design.bill.price.amount.0);
    assert_eq!(brown.steps, ["Everything is there: nothing is bought or replaced."]);
}

#[test]
fn mistakes_in_an_inventory_point_at_their_line() {
    let cases = [
        ("", "empty", "part,quantity"),
        ("part\ndac\n", "missing", "part,quantity"),
        ("part,count\n", "`count`", "part,quantity"),
        ("part,quantity\ntomahawk5,1\n", "tomahawk5", "did you mean `tomahawk-5`?"),
        ("part,quantity\ndac,many\n", "not a quantity", "whole number"),
        ("part,quantity\ndac,-1\n", "not a quantity", "whole number"),
        ("part,quantity\ndac,1000000001\n", "not a quantity", "up to 1000000000"),
        ("part,quantity,length_m\ndac,1,999999\n", "not a length", "up to 100000"),
        ("part,quantity\ndac\n", "1 cells", "a cell for each column"),
        ("part,quantity,length_m\ndac,1,2.5\n", "not a length", "whole metres"),
        ("part,quantity,rate\ndac,1,fast\n", "not a rate", "like 800Gbps"),
    ];
    for (text, message, help) in cases {
        let error = inventory(text, &Catalogue::built_in()).unwrap_err();
        assert!(error.message.contains(message) && error.help.contains(help), "{text}: {error:?}");
        assert!(error.span.end <= text.len());
    }
    let error = inventory("part,quantity\ndac,x\n", &Catalogue::built_in()).unwrap_err();
    assert_eq!(error.span, 14..19);
}

#[test]
fn the_recommendation_follows_its_reasons() {
    let made = |skills| planned(&Wish { skills, ..Wish::gpus(1_024) }).recommendation.unwrap();
    let plain = made(None);
    assert_eq!(plain.network, Some(Network::Roce));
    assert!(plain.sentence().contains("price of parts"), "{}", plain.sentence());
    // Skills move it by two, and never the other way.
    let (ours, theirs) = (made(Some(Skills::Ethernet)), made(Some(Skills::Infiniband)));
    assert_eq!(ours.weights, (plain.weights.0 + 2, plain.weights.1));
    assert_eq!(theirs.weights, (plain.weights.0, plain.weights.1 + 2));
    assert_eq!(made(Some(Skills::Both)).weights, plain.weights);
    // A hall full of InfiniBand switches speaks for it.
    let owned = Some(rows("part,quantity\nquantum-2,48\n"));
    let there = planned(&Wish { existing: owned, ..Wish::gpus(1_024) }).recommendation.unwrap();
    assert_eq!(there.weights, (plain.weights.0, plain.weights.1 + 2));
}
