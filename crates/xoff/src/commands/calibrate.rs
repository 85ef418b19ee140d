//! `xoff calibrate`: the costs with which simulated collectives take the times that nccl-tests measured.

use super::import::collective;
use crate::exit::{CODES, Exit, Failure, Level, say};
use crate::input;
use crate::interrupt::Interrupt;
use crate::output::number::{counted, microseconds, percent};
use crate::output::style::Style;
use crate::output::table::{Align, Table};
use crate::output::{stdout, stdout_json, stdout_width};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde_json::json;
use std::path::PathBuf;
use xoff_fabric::model::Fabric;
use xoff_units::Bytes;
use xoff_workload::calibrate::{self, Fit, FitError, Fitted, Task};
use xoff_workload::collective::{Collective, Cost};
use xoff_workload::measured::{self, Kind, Series};

const EXAMPLES: &str = "Examples:
  xoff calibrate examples/pod-256.toml --from all_reduce.log
  xoff calibrate pod.toml --from result.json --collective all-gather --json
  xoff calibrate pod.toml --from all_reduce.log --holdout

Reads what nccl-tests, rccl-tests or PARAM printed (`xoff import nccl-tests`
shows it), runs the same sizes on the fabric at rest, and searches for the
costs of GPUs and hosts with which simulated times are those measured. Prints
both for every size, and the costs as `[collectives]` of a fabric file.
Sizes above 1 GiB are predicted, not fitted: there the network decides.";

/// Larger sizes take long to simulate and say nothing new of costs.
const LARGEST: Bytes = Bytes::new(1 << 30);

/// Arguments of `xoff calibrate`.
#[derive(Debug, clap::Args)]
#[command(after_help = format!("{EXAMPLES}\n\n{CODES}"))]
pub(crate) struct Args {
    /// The fabric on which it was measured
    fabric: PathBuf,
    /// What the benchmark printed; `-` for standard input
    #[arg(long, value_name = "FILE")]
    from: PathBuf,
    /// The collective, where the file does not say it
    #[arg(long, value_parser = collective)]
    collective: Option<Kind>,
    /// How many GPUs took part, where the file does not say it
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..))]
    gpus: Option<u32>,
    /// Fit to half of the sizes only, the largest, the smallest and every other between, and predict the rest
    #[arg(long)]
    holdout: bool,
    /// Print everything as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn execute(args: &Args) -> Result<Exit, Failure> {
    let setup = input::fabric(&args.fabric)?;
    let file = input::read_or_stdin(&args.from)?;
    let name = file.path.display();
    let measured =
        measured::read(&file.text).map_err(|error| Failure::input(format!("`{name}`: {error}")))?;
    for note in &measured.notes {
        say(Level::Warning, &format!("`{name}`: {note}"));
    }
    let interrupt = Interrupt::listen();
    let mut answers = Vec::new();
    for series in &measured.series {
        let what = What::of(args, series, &name.to_string())?;
        let answer = what.calibrated(&setup.fabric, args.holdout, &interrupt)?;
        match args.json {
            true => answers.push(answer.json()),
            false => stdout(&answer.page())?,
        }
    }
    if args.json {
        stdout_json(&json!({"series": answers}))?;
    }
    Ok(Exit::Fine)
}

/// A series that can be simulated.
struct What {
    kind: Kind,
    collective: Collective,
    gpus: u32,
    hosts: Option<u32>,
    times: Vec<(Bytes, f64)>,
}

impl What {
    fn of(args: &Args, series: &Series, name: &str) -> Result<Self, Failure> {
        let missing = |what: &str, cure: &str| {
            Failure::input(format!("`{name}` does not say {what}: give `{cure}`"))
        };
        let kind = args.collective.or(series.collective);
        let kind =
            kind.ok_or_else(|| missing("which collective ran", "--collective all-reduce"))?;
        let gpus = args.gpus.or(series.ranks);
        let gpus = gpus.ok_or_else(|| missing("how many GPUs took part", "--gpus N"))?;
        let collective = kind.collective();
        let times = series.medians().into_iter().map(|(size, time, _)| (size, time)).collect();
        Ok(Self { kind, collective, gpus, hosts: series.hosts, times })
    }

    fn calibrated(
        &self,
        fabric: &Fabric,
        holdout: bool,
        interrupt: &Interrupt,
    ) -> Result<Answer, Failure> {
        let small = self.times.iter().filter(|(size, _)| *size <= LARGEST);
        let count = small.clone().count();
        let seen = |at: usize| !holdout || calibrate::is_of_the_half(at, count);
        let known: Vec<(Bytes, f64)> =
            small.enumerate().filter(|(at, _)| seen(*at)).map(|(_, row)| *row).collect();
        let task = Task {
            fabric,
            collective: self.collective,
            ranks: self.gpus,
            hosts: self.hosts,
            times: &known,
        };
        let bar = bar();
        let fit = calibrate::fit(&task, &mut |share| {
            bar.set_position((share * 100.0) as u64);
            !interrupt.requested()
        });
        bar.finish_and_clear();
        let fit = fit.map_err(refused)?;
        let mut rows = Vec::new();
        for &(size, measured) in &self.times {
            let time = |cost, channels| calibrate::time(&task, size, cost, channels);
            let (usual, algorithm) = time(Cost::MEASURED, None).map_err(refused)?;
            let (fitted, _) = time(fit.cost, fit.channels).map_err(refused)?;
            rows.push(Fitted { size, algorithm, measured, usual, fitted });
        }
        let known = known.into_iter().map(|(size, _)| size).collect();
        Ok(Answer { kind: self.kind, gpus: self.gpus, fit: Fit { rows, ..fit }, known })
    }
}

fn refused(error: FitError) -> Failure {
    let mut failure = Failure::input(error.to_string());
    if error == FitError::Stopped {
        failure.exit = Exit::Interrupted;
    }
    failure
}

fn bar() -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(100), ProgressDrawTarget::stderr());
    // The template is ours and valid; without it the bar only looks plainer.
    if let Ok(style) = ProgressStyle::with_template("{bar:20} {percent:>3}%  {eta} left") {
        bar.set_style(style.progress_chars("━━─"));
    }
    bar
}

/// What was found, for every size of the file.
struct Answer {
    kind: Kind,
    gpus: u32,
    fit: Fit,
    /// Sizes that the costs were fitted to.
    known: Vec<Bytes>,
}

impl Answer {
    /// The mean error of sizes that were fitted to, or of the others.
    fn error(&self, known: bool) -> Option<f64> {
        let rows = self.fit.rows.iter().filter(|row| self.known.contains(&row.size) == known);
        let errors: Vec<f64> = rows.map(|row| (row.fitted / row.measured - 1.0).abs()).collect();
        (!errors.is_empty()).then(|| errors.iter().sum::<f64>() / errors.len() as f64)
    }

    fn page(&self) -> String {
        let style = Style::stdout();
        let columns = ["size", "by", "measured", "usual costs", "fitted", "error", ""];
        let mut table = Table::new(&columns.map(|name| {
            (name, if matches!(name, "by" | "") { Align::Left } else { Align::Right })
        }));
        for row in &self.fit.rows {
            let known = self.known.contains(&row.size);
            table.row([
                row.size.to_string(),
                row.algorithm.name().to_owned(),
                microseconds(row.measured),
                microseconds(row.usual),
                microseconds(row.fitted),
                format!("{:+.1} %", (row.fitted / row.measured - 1.0) * 100.0),
                if known { String::new() } else { "predicted".to_owned() },
            ]);
        }
        let mut text = format!(
            "{} on {}\n{}\n",
            style.bold(self.kind.name()),
            counted(self.gpus.into(), "GPU", "GPUs"),
            table.render(stdout_width(), style)
        );
        let (usual, _) = self.fit.error();
        text += &format!("Mean error: {} with the usual costs", percent(usual));
        for (known, what) in [(true, "with these"), (false, "predicted")] {
            if let Some(error) = self.error(known) {
                text += &format!(", {} {what}", percent(error));
            }
        }
        text + &format!(
            " ({} simulated).\n\nFor the fabric file (without the first line, for `[[workload]]` of a scenario):\n\n{}\n",
            counted(self.fit.simulated, "collective", "collectives"),
            self.lines()
        )
    }

    /// The costs as a table of a fabric file, whose keys a workload has as well.
    fn lines(&self) -> String {
        let cost = &self.fit.cost;
        let mut keys = vec![
            format!("launch = \"{}\"", cost.launch),
            format!("nvls-launch = \"{}\"", cost.nvls_launch),
            format!("slice = \"{}\"", cost.slice),
            format!("proxy = \"{}\"", cost.proxy),
        ];
        keys.extend(cost.copy_rate.map(|rate| format!("copy-rate = \"{rate}\"")));
        keys.extend(cost.pair_rate.map(|rate| format!("pair-rate = \"{rate}\"")));
        if let Some(flags) = &cost.flags {
            keys.push(format!("flag-slice = \"{}\"", flags.slice));
            keys.push(format!("flag-proxy = \"{}\"", flags.proxy));
            keys.push(format!("flag-rate = \"{}\"", flags.rate));
        }
        if let Some(lines) = &cost.lines {
            keys.push(format!("ll128-slice = \"{}\"", lines.slice));
            keys.push(format!("ll128-proxy = \"{}\"", lines.proxy));
            keys.push(format!("ll128-rate = \"{}\"", lines.rate));
        }
        let channels = self.fit.channels.map_or(String::new(), |n| format!("channels = {n}\n"));
        format!("[collectives]\n{channels}cost = {{ {} }}", keys.join(", "))
    }

    fn json(&self) -> serde_json::Value {
        let rows = self.fit.rows.iter().map(|row| {
            json!({
                "bytes": row.size.get(),
                "algorithm": row.algorithm.name(),
                "measured_us": row.measured,
                "usual_us": row.usual,
                "fitted_us": row.fitted,
                "fitted_to": self.known.contains(&row.size),
            })
        });
        json!({
            "collective": self.kind.name(),
            "gpus": self.gpus,
            "rows": rows.collect::<Vec<_>>(),
            "error_usual": self.fit.error().0,
            "error_fitted": self.error(true),
            "error_predicted": self.error(false),
            "simulated": self.fit.simulated,
            "keys": self.lines(),
        })
    }
}
