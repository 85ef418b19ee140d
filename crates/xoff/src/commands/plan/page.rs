//! A plan as people read it.

use super::judged::Judged;
use crate::output::number::{count, counted, large, percent, rate, watts};
use crate::output::style::Style;
use crate::output::table::{Align, Table};
use crate::output::{printable, wrap};
use std::path::Path;
use xoff_fabric::model::Tier;
use xoff_plan::{Brownfield, Design, Failure, LevelCables, Line, Part, Plan, Price, Role};
use xoff_units::Ratio;

const LEFT: Align = Align::Left;
const RIGHT: Align = Align::Right;

pub(super) fn render(
    plan: &Plan,
    judged: &[Judged],
    folder: Option<&Path>,
    width: usize,
    style: Style,
) -> String {
    let design = &plan.design;
    let gpus = counted(design.shape.gpus(), "GPU", "GPUs");
    let mut text = format!("{}  {}\n", style.bold(&gpus), design.name());
    let mut section = |name: &str, table: Table| {
        text += &format!("\n{}\n{}", style.bold(name), table.render(width, style));
    };
    section("Design", figures(plan));
    section("When something dies", failures(design));
    section("Parts", parts(plan));
    if plan.sides.networks.len() + plan.sides.management.iter().len() > 0 {
        section("Other networks", sides(plan));
    }
    section("Alternatives", alternatives(plan, judged));
    if let Some(brown) = &plan.brownfield {
        section("What is there already", existing(brown));
    }
    text += &refusals(plan, style);
    text += &advice(plan, width, style);
    text += &notes(plan, folder, style);
    text
}

/// A sum, marked if there is an estimate in it.
fn marked(estimate: bool, text: String) -> String {
    if estimate { format!("~{text}") } else { text }
}

pub(super) fn price(price: Price) -> String {
    marked(price.estimate, large((price.amount.0 / 100) as f64))
}

pub(super) fn power(design: &Design) -> String {
    let estimate = design.bill.lines.iter().any(|line| line.power_estimate);
    marked(estimate, watts(design.bill.milliwatts))
}

/// `2:1`, or `1.33:1`.
fn ratio(ratio: Ratio) -> String {
    match ratio.denominator() {
        1 => format!("{}:1", ratio.numerator()),
        _ => format!("{:.2}:1", ratio.as_f64()),
    }
}

fn figures(plan: &Plan) -> Table {
    let mut table = Table::new(&[("", LEFT), ("", LEFT)]);
    figure_rows(plan).into_iter().for_each(|(name, text)| table.row([name, text]));
    table
}

/// What there is to know of a design, line by line.
pub(super) fn figure_rows(plan: &Plan) -> Vec<(String, String)> {
    let (design, shape) = (&plan.design, &plan.design.shape);
    let mut rows = Vec::new();
    let mut row = |name: &str, text: String| rows.push((name.to_owned(), text));
    row(
        "servers",
        format!(
            "{} with {} GPUs and {} x {}",
            count(shape.servers),
            shape.gpus_per_server,
            shape.nics_per_server,
            design.nic
        ),
    );
    row("switches", switches(design));
    if shape.tiers > 1 {
        row("pods", pods(design));
    }
    for cables in &design.cables {
        let name = format!("{} cables", cables.level.name());
        for (at, text) in cable_texts(cables).into_iter().enumerate() {
            row(if at == 0 { &name } else { "" }, text);
        }
    }
    let subscription = [shape.oversubscription(), shape.spine_oversubscription()];
    let subscription = subscription.into_iter().flatten().map(ratio).collect::<Vec<_>>();
    if !subscription.is_empty() {
        row("oversubscription", subscription.join(" at leaves, ") + tier_word(&subscription));
    }
    let share = design.bisection_share.as_f64();
    row("bisection", format!("{}, {} of the NICs", rate(design.bisection), percent(share)));
    row("hops", hops(design));
    row("grows to", format!("{} GPUs, with more of the same switches", count(design.grows_to)));
    let gpus = shape.gpus().max(1);
    row("power", format!("{}, {} per GPU", power(design), watts(design.bill.milliwatts / gpus)));
    row("racks", racks(plan));
    let (all, each) = (price(design.bill.price), price(design.price_per_gpu));
    let spares = counted(design.bill.spares(), "spare part", "spare parts");
    let currency = &plan.currency;
    row("price", format!("{all} {currency}, {each} per GPU, with {spares}"));
    rows
}

const fn tier_word(ratios: &[String]) -> &'static str {
    if ratios.len() > 1 { " at spines" } else { " at leaves" }
}

fn switches(design: &Design) -> String {
    let words = [
        (Tier::Leaf, "leaf", "leaves"),
        (Tier::Spine, "spine", "spines"),
        (Tier::Core, "core", "cores"),
    ];
    let tiers = words.iter().zip(&design.silicon).map(|((tier, one, many), silicon)| {
        format!("{} ({silicon})", counted(design.switches(*tier), one, many))
    });
    tiers.collect::<Vec<_>>().join(", ")
}

fn pods(design: &Design) -> String {
    let shape = &design.shape;
    let groups = shape.leaves / shape.leaves_per_group();
    let leaves = match (shape.rails, shape.homing) {
        (1, 1) => "a leaf".to_owned(),
        (1, _) => "a pair of leaves".to_owned(),
        (rails, 1) => format!("{rails} leaves, one per rail"),
        (rails, _) => format!("{} leaves, a pair per rail", rails * shape.homing),
    };
    let mut text = format!(
        "{} of {} GPUs under {leaves}",
        count(groups),
        count(shape.servers_per_group().min(shape.servers) * shape.gpus_per_server)
    );
    if shape.tiers == 3 {
        text += &format!("; {} under each set of spines", count(groups.div_ceil(shape.pods())));
    }
    text
}

/// A line for the level, and one for each medium.
fn cable_texts(cables: &LevelCables) -> Vec<String> {
    let links = counted(cables.links, "link", "links");
    let mut lanes: Vec<String> =
        cables.media.iter().map(|used| used.medium.lanes.to_string()).collect();
    lanes.sort_unstable();
    lanes.dedup();
    let first = format!("{links} of {} on {}", rate(cables.rate), lanes.join(" or "));
    let media = cables.media.iter().map(|used| {
        let medium = &used.medium;
        let what = match &medium.patch {
            None => format!("{}, {}", medium.name, medium.forms()),
            Some(patch) => {
                let (lower, upper) = (&medium.lower.part, &medium.upper.part);
                match lower == upper {
                    true => format!("{lower} at both ends, {}", patch.ends),
                    false => format!("{lower} to {upper}, {}", patch.ends),
                }
            }
        };
        format!("{} x {what}, up to {}", count(used.cables), used.longest)
    });
    std::iter::once(first).chain(media).collect()
}

/// How many racks there are, and what the busiest draws of what it may.
fn racks(plan: &Plan) -> String {
    let racks = plan.racks();
    let most = racks.iter().map(|rack| rack.milliwatts).max().unwrap_or(0);
    let limit = plan.floor.rack_milliwatts;
    let over = racks.iter().filter(|rack| rack.milliwatts > limit).count() as u64;
    let mut text = format!(
        "{}, up to ~{} in one, servers included; {} allowed",
        count(racks.len() as u64),
        watts(most),
        watts(limit)
    );
    if over > 0 {
        let racks = counted(over, "rack draws", "racks draw");
        text += &format!("; {racks} more: --servers-per-rack or --rack-power");
    }
    text
}

fn hops(design: &Design) -> String {
    let near = count(design.one_hop_gpus);
    match design.most_hops {
        1 => format!("1 switch between all {near} GPUs"),
        most => format!("1 to {most} switches; 1 between {near} GPUs"),
    }
}

fn failures(design: &Design) -> Table {
    let mut table = Table::new(&[("what", LEFT), ("GPUs", RIGHT), ("lose", LEFT)]);
    for failure in &design.failures {
        table.row([part_name(failure.part).to_owned(), count(failure.gpus), loss(failure)]);
    }
    table
}

pub(super) const fn part_name(part: Part) -> &'static str {
    match part {
        Part::Nic => "a NIC or its cable",
        Part::Leaf => "a leaf",
        Part::LeafUplink => "a cable to a spine",
        Part::Spine => "a spine",
        Part::Core => "a core",
    }
}

pub(super) fn loss(failure: &Failure) -> String {
    if failure.cuts_off() {
        return "the network".to_owned();
    }
    let share = percent(failure.lost.as_f64());
    match failure.part {
        Part::Nic | Part::Leaf => format!("{share} of their NICs"),
        Part::LeafUplink => format!("{share} of a leaf's way up"),
        Part::Spine => format!("{share} of the way up from leaves"),
        Part::Core => format!("{share} of the way between pods"),
    }
}

fn parts(plan: &Plan) -> Table {
    let mut table = Table::new(&[
        ("role", LEFT),
        ("part", LEFT),
        ("form factor", LEFT),
        ("length", RIGHT),
        ("number", RIGHT),
        ("spares", RIGHT),
        ("power", RIGHT),
        ("price each", RIGHT),
        ("price", RIGHT),
    ]);
    for line in &plan.design.bill.lines {
        table.row(part_row(line));
    }
    table
}

/// The networks beside the one between GPUs, and the sum of all.
fn sides(plan: &Plan) -> Table {
    let mut table = Table::new(&[
        ("network", LEFT),
        ("switches", LEFT),
        ("NICs", RIGHT),
        ("cables", RIGHT),
        ("power", RIGHT),
        ("price", RIGHT),
    ]);
    for side in &plan.sides.networks {
        let tiers = [(Tier::Leaf, "leaves"), (Tier::Spine, "spines"), (Tier::Core, "cores")];
        let tiers = tiers.iter().zip(&side.silicon);
        let switches = tiers.map(|((tier, word), silicon)| {
            format!("{} {word} ({silicon})", count(side.shape.switches(*tier)))
        });
        table.row([
            side.purpose.name().to_owned(),
            switches.collect::<Vec<_>>().join(", "),
            count(side.shape.nics()),
            count(side.cables.iter().map(|level| level.cables).sum()),
            marked(true, watts(side.bill.milliwatts)),
            price(side.bill.price),
        ]);
    }
    if let Some(management) = &plan.sides.management {
        let (small, large) = (count(management.switches), count(management.aggregation));
        table.row([
            "management".to_owned(),
            format!("{small} (48 x 1G), {large} (48 x 25G)"),
            String::new(),
            count(management.bill.quantity(Role::Cable) + management.bill.quantity(Role::Fibre)),
            marked(true, watts(management.bill.milliwatts)),
            price(management.bill.price),
        ]);
    }
    table.row([
        "all, with compute".to_owned(),
        String::new(),
        String::new(),
        String::new(),
        marked(true, watts(plan.milliwatts())),
        price(plan.price()),
    ]);
    table
}

fn part_row(line: &Line) -> [String; 9] {
    let power = u64::from(line.power.0).saturating_mul(line.quantity);
    let power = match power {
        0 => String::new(),
        power => marked(line.power_estimate, watts(power)),
    };
    let item = &line.item;
    [
        line.role.name().to_owned(),
        item.part.clone(),
        item.form.clone(),
        item.length.map_or(String::new(), |length| length.to_string()),
        count(line.quantity),
        count(line.spares),
        power,
        price(line.price),
        price(line.price.times(line.ordered())),
    ]
}

/// A column for each design, so that figures stand side by side.
fn alternatives(plan: &Plan, judged: &[Judged]) -> Table {
    let others = plan.alternatives.iter();
    let others = others.filter_map(|other| Some((other.change.as_str(), other.design.as_ref()?)));
    let designs: Vec<(&str, &Design)> =
        [("planned", &plan.design)].into_iter().chain(others).collect();
    let columns = designs.iter().map(|(name, _)| (*name, RIGHT));
    let columns: Vec<(&str, Align)> = [("", LEFT)].into_iter().chain(columns).collect();
    let mut table = Table::new(&columns);
    for (name, figure) in FIGURES {
        let cells = designs.iter().map(|(_, design)| figure(design));
        table.row([name.to_owned()].into_iter().chain(cells));
    }
    let of = |wanted: &str| judged.iter().find(|judged| judged.name == wanted);
    for (name, figure) in Judged::FIGURES.into_iter().filter(|_| !judged.is_empty()) {
        let cells = designs.iter().map(|(name, _)| of(name).map_or("-".to_owned(), figure));
        table.row([name.to_owned()].into_iter().chain(cells));
    }
    table
}

/// What becomes of an inventory.
fn existing(brown: &Brownfield) -> Table {
    let mut table = Table::new(&[
        ("part", LEFT),
        ("length", RIGHT),
        ("rate", RIGHT),
        ("stay", RIGHT),
        ("go", RIGHT),
        ("why", LEFT),
    ]);
    for fate in &brown.fates {
        table.row([
            fate.owned.part.clone(),
            fate.owned.length.map_or(String::new(), |length| length.to_string()),
            fate.owned.rate.map_or(String::new(), |rate| rate.to_string()),
            count(fate.stays),
            count(fate.goes),
            fate.reason.clone(),
        ]);
    }
    table
}

/// The steps of work where something is there already, and which network is recommended.
fn advice(plan: &Plan, width: usize, style: Style) -> String {
    let lines = |text: &str| wrap(text, width.saturating_sub(5).max(20)).join("\n     ");
    let mut text = String::new();
    if let Some(brown) = &plan.brownfield {
        for (at, step) in brown.steps.iter().enumerate() {
            text += &format!("  {}. {}\n", at + 1, lines(step));
        }
    }
    if let Some(recommendation) = &plan.recommendation {
        let sentence = lines(&recommendation.sentence());
        text += &format!("\n{}\n     {sentence}\n", style.bold("RoCE or InfiniBand"));
    }
    text
}

/// A figure of a design, by its name.
type Figure = (&'static str, fn(&Design) -> String);

/// What designs are compared by.
pub(super) const FIGURES: [Figure; 14] = [
    ("leaves", |design| some(design.switches(Tier::Leaf))),
    ("spines", |design| some(design.switches(Tier::Spine))),
    ("cores", |design| some(design.switches(Tier::Core))),
    ("cables", |design| some(design.all_cables())),
    ("transceivers", |design| some(design.bill.quantity(Role::Transceiver))),
    ("power", power),
    ("price", |design| price(design.bill.price)),
    ("price per GPU", |design| price(design.price_per_gpu)),
    ("bisection", |design| percent(design.bisection_share.as_f64())),
    ("most hops", |design| some(design.most_hops)),
    ("one hop apart", |design| some(design.one_hop_gpus)),
    ("a dead leaf hits", |design| leaf_failure(design, |failure| some(failure.gpus))),
    ("and takes", |design| leaf_failure(design, |failure| percent(failure.lost.as_f64()))),
    ("grows to", |design| some(design.grows_to)),
];

/// A count, or nothing.
fn some(number: u64) -> String {
    if number == 0 { "-".to_owned() } else { count(number) }
}

fn leaf_failure(design: &Design, text: impl Fn(&Failure) -> String) -> String {
    let leaf = design.failures.iter().find(|failure| failure.part == Part::Leaf);
    leaf.map_or(String::new(), text)
}

fn refusals(plan: &Plan, style: Style) -> String {
    let mut text = String::new();
    for other in &plan.alternatives {
        if let Some(refusal) = &other.refusal {
            let change = style.dim(&format!("{}:", other.change));
            text += &format!("  {change} not possible, {}\n", printable(&refusal.message));
        }
    }
    text
}

fn notes(plan: &Plan, folder: Option<&Path>, style: Style) -> String {
    let mut text = String::from("\n");
    if plan.design.bill.price.estimate {
        let note = "~ has built-in estimates in it; --prices FILE replaces those of prices";
        text += &format!("{}\n", style.dim(note));
    }
    match folder {
        Some(folder) => {
            let folder = printable(&folder.display().to_string());
            text +=
                &format!("{}  fabric.toml and what it takes to build it\n", style.bold(&folder));
        }
        None => text += &format!("{}\n", style.dim("nothing is written without --out DIR")),
    }
    text
}
