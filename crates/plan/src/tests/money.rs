//! Prices and where they come from.

use super::*;

fn prices(text: &str) -> Result<Prices, PriceError> {
    Prices::from_toml(text, &Catalogue::built_in())
}

fn with(prices: &Prices) -> Plan {
    plan(&Wish::gpus(1_024), Floor::default(), &Catalogue::built_in(), prices).unwrap()
}

#[test]
fn sums_of_estimates_are_estimates() {
    let plan = planned(&Wish::gpus(1_024));
    assert!(plan.design.bill.price.estimate && plan.design.price_per_gpu.estimate);
    assert!(plan.design.bill.lines.iter().all(|line| line.price.estimate));
    assert!(plan.bill_csv().lines().skip(1).all(|line| line.ends_with(",estimate,2026-11,USD")));
}

#[test]
fn a_file_that_knows_everything_leaves_no_estimate() {
    let text = "[switch]\ntomahawk-5 = 40000\n[nic]\nconnectx-7 = 1499.99\n[media]\naoc = 500\n\
                dac = 1\nacc = 2\n800g-aec = 300\n800g-dr8 = 900\n800g-sr8 = 600\n[fibre]\ncable = 20\nmetre = 0.5\n";
    let plan = with(&prices(text).unwrap());
    assert!(!plan.design.bill.price.estimate);
    let nics = plan.design.bill.lines.iter().find(|line| line.role == Role::Nic).unwrap();
    assert_eq!(nics.price, Price { amount: Money(149_999), estimate: false });
    // What only an alternative uses is still an estimate there.
    let faster = plan.alternatives.iter().find(|other| other.change == "800G NICs").unwrap();
    assert!(faster.design.as_ref().unwrap().bill.price.estimate);
}

#[test]
fn part_of_the_prices_leaves_the_rest_estimates() {
    let given = prices("[nic]\nconnectx-7 = 1\n").unwrap();
    let plan = with(&given);
    assert!(plan.design.bill.price.estimate);
    let csv = plan.bill_csv();
    assert!(
        csv.contains(
            "nic,connectx-7,400Gbps,QSFP112,4 x 100G,,,1024,21,1045,25.0,25600.0,estimate,\
             1.00,1045.00,file,,USD"
        ),
        "{csv}"
    );
}

#[test]
fn other_currencies_need_a_rate() {
    let error = prices("currency = \"EUR\"\n").unwrap_err();
    assert!(error.help.unwrap().contains("usd = 0.92"));
    assert_eq!(error.span, 11..16);
    let euros = with(&prices("currency = \"EUR\"\nusd = 0.5\n").unwrap());
    let dollars = planned(&Wish::gpus(1_024));
    assert_eq!(euros.currency, "EUR");
    assert_eq!(euros.design.bill.price.amount.0 * 2, dollars.design.bill.price.amount.0);
}

#[test]
fn mistakes_point_at_their_place() {
    let cases = [
        ("[switch]\ntomahawk5 = 1\n", "tomahawk5", "did you mean `tomahawk-5`?"),
        ("[nic]\nconnectx-7 = -1\n", "-1", "a number from 0"),
        ("[nic]\nconnectx-7 = \"cheap\"\n", "\"cheap\"", "a number from 0"),
        ("[nic]\nconnectx-7 = nan\n", "nan", "a number from 0"),
        ("[media]\naoc = 1e300\n", "1e300", "a number from 0"),
        ("[fibre]\nmeter = 1\n", "meter", "known here: `cable`, `metre`"),
        ("[cable]\n", "", "[switch]"),
        ("[nic\n", "", "[switch]"),
        ("currency = \"$€\"\n", "\"$€\"", "letters"),
        ("currency = \"EUR\"\nusd = 0\n", "0", "usd = 0.92"),
    ];
    for (text, place, help) in cases {
        let error = prices(text).unwrap_err();
        assert!(error.help.as_ref().is_some_and(|text| text.contains(help)), "{text}: {error:?}");
        assert!(place.is_empty() || &text[error.span.clone()] == place, "{text}: {error:?}");
    }
}
