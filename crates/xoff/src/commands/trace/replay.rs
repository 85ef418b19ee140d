//! `xoff trace --replay`: a trace on a fabric, without a scenario file.

use super::Args;
use crate::commands::run;
use crate::exit::{Exit, Failure};
use crate::input;
use std::fs;
use std::path::{Path, PathBuf};
use xoff_fabric::scenario::Fidelity;
use xoff_units::Ratio;

/// How a trace is replayed.
#[derive(Debug, clap::Args)]
pub(crate) struct ReplayArgs {
    /// Replay the trace on the fabric of this file
    #[arg(long, value_name = "FABRIC")]
    replay: Option<PathBuf>,
    /// Which GPUs take part: packed, fragmented, or a file with a GPU's number for every rank
    #[arg(long, value_name = "RULE", requires = "replay")]
    placement: Option<String>,
    /// How many times the ranks of the trace are there, side by side
    #[arg(long, value_name = "N", requires = "replay")]
    replicas: Option<u32>,
    /// A group of the trace that spans all replicas; may be given several times
    #[arg(long, value_name = "GROUP", requires = "replicas")]
    replica_group: Vec<String>,
    /// What computing times are multiplied by
    #[arg(long, value_name = "X", requires = "replay")]
    compute_scale: Option<Ratio>,
    /// Leave out what cannot be replayed, and say what
    #[arg(long, requires = "replay")]
    lenient: bool,
    /// Queue pairs of a connection, used in turn
    #[arg(long, value_name = "N", requires = "replay")]
    qps: Option<u32>,
    /// Seed of every random draw
    #[arg(long, value_name = "N", requires = "replay")]
    seed: Option<u64>,
    /// What is simulated of the traffic: every packet, or flows with fair shares of links
    /// (docs/fidelity.md)
    #[arg(long, value_name = "WHAT", value_parser = run::fidelity, requires = "replay")]
    fidelity: Option<Fidelity>,
}

impl ReplayArgs {
    /// Whether a replay is asked for.
    pub(super) fn is_wanted(&self) -> bool {
        self.replay.is_some()
    }
}

pub(super) fn execute(args: &Args) -> Result<Exit, Failure> {
    let Some(fabric) = &args.replay.replay else { return Ok(Exit::Fine) };
    if args.is_stdin() {
        let text = "a trace from standard input cannot be replayed; save it to a file first";
        return Err(Failure::input(text));
    }
    let text = fs::read_to_string(fabric).unwrap_or_default();
    input::refuse_scenario(fabric, &text, "trace --replay")?;
    let scene = input::unwritten("xoff trace --replay", scenario(args, fabric)?, false)?;
    let out = args.out.clone();
    let run = run::Args::made_by(command(args, fabric), args.path.clone(), out, args.json);
    run::simulate(&run, &scene)
}

/// The scenario that says the same.
fn scenario(args: &Args, fabric: &Path) -> Result<String, Failure> {
    let own = &args.replay;
    let mut workload = toml::Table::new();
    let mut set = |key: &str, value: toml::Value| workload.insert(key.to_owned(), value);
    set("kind", "trace".into());
    set("path", text(&args.path)?.into());
    if let Some(format) = args.format {
        set("format", format.to_string().into());
    }
    for (key, number) in [("replicas", own.replicas), ("qps", own.qps)] {
        if let Some(number) = number {
            set(key, i64::from(number).into());
        }
    }
    if !own.replica_group.is_empty() {
        set("replica-groups", own.replica_group.clone().into());
    }
    if let Some(scale) = own.compute_scale {
        set("compute-scale", scale.to_string().into());
    }
    if own.lenient {
        set("lenient", true.into());
    }
    match own.placement.as_deref() {
        None => {}
        Some(rule @ ("packed" | "fragmented")) => {
            set("placement", rule.into());
        }
        Some(file) => {
            set("placement", listed(Path::new(file))?.into());
        }
    }
    let mut table = toml::Table::new();
    table.insert("fabric".to_owned(), text(fabric)?.into());
    if let Some(seed) = own.seed {
        let seed = i64::try_from(seed).map_err(|_| Failure::input("a seed has 63 bits here"))?;
        table.insert("seed".to_owned(), seed.into());
    }
    if let Some(fidelity) = own.fidelity {
        table.insert("fidelity".to_owned(), fidelity.name().into());
    }
    table.insert("workload".to_owned(), vec![workload].into());
    toml::to_string(&table).map_err(|error| Failure::input(error.to_string()))
}

/// The GPUs that a file lists, by their numbers.
fn listed(path: &Path) -> Result<Vec<i64>, Failure> {
    let wrong = |why: String| Failure::input(format!("`{}`: {why}", path.display()));
    let text = fs::read_to_string(path)
        .map_err(|error| wrong(format!("{error}; a placement is packed, fragmented or a file")))?;
    let words = text.split(|c: char| c.is_whitespace() || c == ',').filter(|word| !word.is_empty());
    let number = |word: &str| word.parse::<u32>().map(i64::from);
    words
        .map(|word| number(word).map_err(|_| wrong(format!("`{word}` is no number of a GPU"))))
        .collect()
}

fn text(path: &Path) -> Result<String, Failure> {
    let text = path.to_str().map(str::to_owned);
    text.ok_or_else(|| Failure::input(format!("`{}` is no UTF-8 name", path.display())))
}

/// The command that reproduces the results.
fn command(args: &Args, fabric: &Path) -> String {
    let own = &args.replay;
    let mut words = vec!["xoff".to_owned(), "trace".to_owned()];
    words.push(run::quoted(&args.path.display().to_string()));
    let mut option = |name: &str, value: String| {
        words.extend([name.to_owned(), run::quoted(&value)]);
    };
    option("--replay", fabric.display().to_string());
    own.placement.iter().for_each(|value| option("--placement", value.clone()));
    own.replicas.iter().for_each(|value| option("--replicas", value.to_string()));
    own.replica_group.iter().for_each(|value| option("--replica-group", value.clone()));
    own.compute_scale.iter().for_each(|value| option("--compute-scale", value.to_string()));
    own.qps.iter().for_each(|value| option("--qps", value.to_string()));
    own.seed.iter().for_each(|value| option("--seed", value.to_string()));
    own.fidelity.iter().for_each(|value| option("--fidelity", value.name().to_owned()));
    args.format.iter().for_each(|value| option("--format", value.to_string()));
    words.extend(own.lenient.then(|| "--lenient".to_owned()));
    words.join(" ")
}
