//! `xoff perf`: perftest's tools without hardware. Either side can be the stock tool.

mod arguments;
mod rounds;
mod table;

use crate::exit::{Exit, Failure};
use crate::interrupt::Interrupt;
use crate::output;
pub(crate) use arguments::Args;
use arguments::Kind;
use std::cell::RefCell;
use xoff_endpoint::perftest::{self, Agreed, Outcome, PerfError};

pub(crate) fn execute(args: &Args) -> Result<Exit, Failure> {
    let settings = args.settings().map_err(Failure::input)?;
    if args.kind() != Kind::Perftest {
        return rounds::execute(args, &settings);
    }
    let interrupt = Interrupt::listen();
    let table = table::Table::new(&settings);
    let show = |text: String| if args.json { Ok(()) } else { output::stdout(&text) };
    show(table.waiting())?;
    let agreement = RefCell::new(None);
    let rows = RefCell::new(Vec::new());
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
        |row| {
            print(table.row(row));
            rows.borrow_mut().push(*row);
        },
    );
    let (agreed, rows) = (agreement.into_inner(), rows.into_inner());
    match result {
        Ok(outcome) => {
            printed.into_inner()?;
            finish(args, &table, agreed, &outcome)
        }
        Err(error) => {
            // What was measured until then is not lost.
            if args.json && agreed.is_some() {
                output::stdout_json(&table.broken(agreed.as_ref(), &rows, &error.to_string()))?;
            }
            match error {
                PerfError::Interrupted => Ok(Exit::Interrupted),
                error => Err(failure(&error)),
            }
        }
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
        PerfError::Settings(_) | PerfError::Address(_) | PerfError::InUse(_) => {
            Failure::input(error.to_string())
        }
        _ => Failure::rule(error.to_string()),
    }
}
