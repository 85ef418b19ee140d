//! Plans held against closed forms and against the fabrics they describe.

mod by_hand;
mod closed;
mod existing;
mod figures;
mod links;
mod money;
mod properties;
mod refusals;
mod side;

use super::*;
use xoff_units::Ratio;

fn made(wish: &Wish) -> Result<Plan, Refusal> {
    let catalogue = Catalogue::built_in();
    plan(wish, Floor::default(), &catalogue, &Prices::estimates(&catalogue))
}

/// The plan for a wish that can be fulfilled.
fn planned(wish: &Wish) -> Plan {
    made(wish).unwrap_or_else(|refusal| panic!("{wish:?}: {refusal}"))
}

/// The refusal of a wish that cannot.
fn refused(wish: &Wish) -> Refusal {
    match made(wish) {
        Ok(plan) => panic!("{wish:?}: {:?}", plan.design.shape),
        Err(refusal) => refusal,
    }
}
