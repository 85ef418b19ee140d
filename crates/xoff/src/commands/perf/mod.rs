//! `xoff perf`: perftest's tools without hardware. Either side can be the stock tool.

mod arguments;
mod table;

use crate::exit::{Exit, Failure};
use crate::interrupt::Interrupt;
use crate::output;
pub(crate) use arguments::Args;
use std::cell::RefCell;
use xoff_endpoint::perftest::{self, Agreed, Outcome, PerfError};

pub(crate) fn execute(args: &Args) -> Result<Exit, Failure> {
    let settings = args.settings().map_err(Failure::input)?;
    let interrupt = Interrupt::listen();
    let table = table::Table::new(&settings);
    let show = |text: String| if args.json { Ok(()) } else { output::stdout(&text) };
    show(table.waiting())?;
    let agreement = RefCell::new(None);
    // What cannot be printed ends the program after the test: the peer should not suffer.
    let printed = RefCell::new(Ok(()));
    let print = |text: String| {
        let result = show(text);
        let mut printed = printed.borrow_mut();
        if printed.is_ok() {
            *printed = result;
        }
    };
    let result = perftest::run(
        settings.clone(),
        &interrupt.flag(),
        |agreed| {
            print(table.header(agreed));
            *agreement.borrow_mut() = Some(agreed.clone());
        },
        |row| print(table.row(row)),
    );
    match result {
        Ok(outcome) => {
            printed.into_inner()?;
            finish(args, &table, agreement.into_inner(), &outcome)
        }
        Err(PerfError::Interrupted) => Ok(Exit::Interrupted),
        Err(error) => Err(failure(&error)),
    }
}

fn finish(
    args: &Args,
    table: &table::Table,
    agreed: Option<Agreed>,
    outcome: &Outcome,
) -> Result<Exit, Failure> {
    if args.json {
        output::stdout_json(&table.json(agreed.as_ref(), outcome))?;
    } else {
        output::stdout(&table.footer(outcome))?;
    }
    let fine = outcome.verified.is_none_or(|verified| verified.is_ok());
    Ok(if fine { Exit::Fine } else { Exit::BrokeARule })
}

/// Asking for what cannot be is bad usage; everything else is a test that failed.
fn failure(error: &PerfError) -> Failure {
    match error {
        PerfError::Settings(_) | PerfError::Address(_) => Failure::input(error.to_string()),
        _ => Failure::rule(error.to_string()),
    }
}
