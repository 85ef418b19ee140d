//! `report.html`: a plan as a page. What is in the bill, where it stands, what competes with it.

use super::judged::Judged;
use super::page;
use crate::output::number::{count, counted};
use xoff_fabric::model::Tier;
use xoff_plan::{Brownfield, Design, Line, Network, Plan, Purpose, Recommendation};
use xoff_report::{
    Axis, BarSeries, Bars, Block, Cell, Column, Fact, Figure, Heat, Link, LinkState, Node, NodeRef,
    Number, Plot, Report, Section, Table, Tier as Row, Tile, Topology, Unit, Verdict,
};

/// The page of a plan; `command` gives it again.
pub(super) fn report(plan: &Plan, judged: &[Judged], command: &str) -> Report {
    let design = &plan.design;
    let gpus = counted(design.shape.gpus(), "GPU", "GPUs");
    let mut report = Report::new(format!("Plan for {gpus}"), headline(plan));
    report.facts = facts(plan, command);
    report.sections = vec![overview(plan), bill(plan), racks(plan), alternatives(plan, judged)];
    report.sections.extend(plan.recommendation.as_ref().map(networks));
    report.sections.extend(plan.brownfield.as_ref().map(|brown| existing(brown, plan)));
    report
}

fn headline(plan: &Plan) -> String {
    let design = &plan.design;
    let tiers = [Tier::Leaf, Tier::Spine, Tier::Core];
    let switches: u64 = tiers.iter().map(|tier| design.switches(*tier)).sum();
    format!(
        "{}: {}, {}, {}, {} {}",
        design.name(),
        counted(switches, "switch", "switches"),
        counted(design.all_cables(), "cable", "cables"),
        page::power(design),
        page::price(design.bill.price),
        plan.currency
    )
}

fn facts(plan: &Plan, command: &str) -> Vec<Fact> {
    let (source, date) = &plan.prices.estimates;
    let mut facts = vec![
        Fact::code("command", command),
        Fact::new("version", env!("CARGO_PKG_VERSION")),
        Fact::new("prices", format!("~ has an {source} of {date} in it")),
    ];
    if !plan.prices.file.1.is_empty() || plan.prices.file.0 != "file" {
        let (source, date) = &plan.prices.file;
        facts.push(Fact::new("price file", format!("{source} {date}")));
    }
    facts.push(Fact::new(
        "left out",
        "servers, racks, licences and work are not in the price; no traffic was run for the counts",
    ));
    facts
}

fn number(value: f64, unit: Unit) -> Number {
    Number { value, unit }
}

fn watts(milliwatts: u64) -> Number {
    number(milliwatts as f64 / 1e3, Unit::Watts)
}

fn money(cents: u64) -> Number {
    number(cents as f64 / 100.0, Unit::Large)
}

fn overview(plan: &Plan) -> Section {
    let design = &plan.design;
    let mut section = Section::new("design", "Design");
    let currency = &plan.currency;
    let tiles = vec![
        Tile::new("GPUs", Number::count(design.shape.gpus())),
        Tile::new("price", money(design.bill.price.amount.0))
            .note(format!("{currency}, estimated parts in it")),
        Tile::new("price per GPU", money(design.price_per_gpu.amount.0)).note(currency.clone()),
        Tile::new("power", watts(design.bill.milliwatts)).note("without servers"),
        Tile::new("bisection", number(design.bisection_share.as_f64(), Unit::Share)),
        Tile::new("grows to", Number::count(design.grows_to)).note("GPUs, same switches"),
    ];
    section.blocks.push(Block::Tiles(tiles));
    let mut table =
        Table::new("figures", "The design", [Column::text("what"), Column::text("how much")]);
    for (name, text) in page::figure_rows(plan) {
        table.push([name, text]);
    }
    section.blocks.push(table.into());
    section.blocks.push(topology(design).into());
    let mut table = Table::new(
        "failures",
        "When something dies",
        [Column::text("what"), Column::number("GPUs", Unit::Count), Column::text("they lose")],
    );
    for failure in &design.failures {
        table.push([
            Cell::from(page::part_name(failure.part)),
            Number::count(failure.gpus).into(),
            page::loss(failure).into(),
        ]);
    }
    section.blocks.push(table.into());
    section
}

/// Servers, leaves, spines and cores; the page folds what is too much to draw.
fn topology(design: &Design) -> Figure {
    let shape = &design.shape;
    let node =
        |name: String, rail: Option<u64>| Node { name, rail: rail.map(|r| r as u32), down: false };
    let servers = (0..shape.servers).map(|at| node(format!("server{at}"), None)).collect();
    let rail = |leaf: u64| (shape.rails > 1).then(|| leaf / shape.homing % shape.rails);
    let leaves = (0..shape.leaves).map(|at| node(format!("leaf{at}"), rail(at))).collect();
    let plain = |name: &str, count: u64| -> Vec<Node> {
        (0..count).map(|at| node(format!("{name}{at}"), None)).collect()
    };
    let mut tiers = vec![
        Row { name: "servers".to_owned(), nodes: servers },
        Row { name: "leaves".to_owned(), nodes: leaves },
    ];
    let above = [("spines", "spine", Tier::Spine), ("cores", "core", Tier::Core)];
    for (many, one, tier) in above.iter().take(shape.tiers.saturating_sub(1) as usize) {
        tiers.push(Row { name: (*many).to_owned(), nodes: plain(one, shape.switches(*tier)) });
    }
    let mut links: Vec<Link> = Vec::new();
    let mut add = |tier: usize, from: u64, to: u64| {
        links.push(Link {
            from: NodeRef { tier, node: from as usize },
            to: NodeRef { tier: tier + 1, node: to as usize },
            load: 0.0,
            state: LinkState::Unmeasured,
        });
    };
    for nic in 0..shape.nics() {
        for side in 0..shape.homing {
            add(0, nic / shape.nics_per_server, shape.leaf_of(nic) + side);
        }
    }
    if shape.tiers > 1 {
        for leaf in 0..shape.leaves {
            shape.spines_of(leaf).for_each(|spine| add(1, leaf, spine));
        }
    }
    if shape.tiers > 2 {
        for spine in 0..shape.switches(Tier::Spine) {
            let first = spine % shape.spines_per_pod * shape.cores_per_plane;
            (first..first + shape.cores_per_plane).for_each(|core| add(2, spine, core));
        }
    }
    Figure::new("topology", "Topology", Plot::Topology(Topology { tiers, links }))
        .caption("Parallel cables between the same two switches are one line.")
}

fn bill(plan: &Plan) -> Section {
    let mut section = Section::new("bill", "Bill of materials");
    section.lead = Some(format!(
        "bom.csv has the same rows, and where each price is from. Spares are in the price, not in \
         the power; prices in {}.",
        plan.currency
    ));
    let columns = [
        Column::text("role"),
        Column::text("part"),
        Column::text("form factor, lanes, connectors"),
        Column::text("length"),
        Column::number("installed", Unit::Count),
        Column::number("spares", Unit::Count),
        Column::number("power", Unit::Watts),
        Column::number("each", Unit::Large),
        Column::number("price", Unit::Large),
    ];
    let mut table = Table::new("bom", "Parts", columns);
    for line in plan.lines() {
        table.push(bill_row(line));
    }
    section.blocks.push(table.into());
    let mut rules: Vec<String> = plan
        .sides
        .networks
        .iter()
        .map(|side| format!("{}: {}", side.purpose.name(), side.rule))
        .collect();
    rules.extend(plan.sides.management.iter().map(|m| format!("management: {}", m.rule)));
    if !rules.is_empty() {
        section.blocks.push(Block::List(rules));
        let all = format!(
            "All networks together: {} {}, {}.",
            page::price(plan.price()),
            plan.currency,
            watts(plan.milliwatts())
        );
        section.blocks.push(Block::Text(all));
    }
    section
}

fn bill_row(line: &Line) -> [Cell; 9] {
    let power = u64::from(line.power.0).saturating_mul(line.quantity);
    let item = &line.item;
    let words = [item.form.as_str(), item.detail.as_str()];
    let words: Vec<&str> = words.into_iter().filter(|text| !text.is_empty()).collect();
    [
        match line.purpose {
            Purpose::Compute => line.role.name().to_owned(),
            purpose => format!("{} {}", purpose.name(), line.role.name()),
        }
        .into(),
        item.part.clone().into(),
        words.join(", ").into(),
        line.item.length.map(|length| length.to_string()).into(),
        Number::count(line.quantity).into(),
        Number::count(line.spares).into(),
        watts(power).into(),
        money(line.price.amount.0).into(),
        money(line.price.times(line.ordered()).amount.0).into(),
    ]
}

fn racks(plan: &Plan) -> Section {
    let racks = plan.racks();
    let limit = plan.floor.rack_milliwatts;
    let over = plan.overloaded();
    let mut section = Section::new("racks", "Racks");
    section.verdict = Some(if over.is_empty() { Verdict::Pass } else { Verdict::Warn });
    section.lead = Some(match over.len() as u64 {
        0 => format!("{} racks, none above {}.", count(racks.len() as u64), watts(limit)),
        over => format!(
            "{} of {} racks draw more than {}: fewer servers in a rack, or another --rack-power.",
            count(over),
            count(racks.len() as u64),
            watts(limit)
        ),
    });
    let rows = racks.iter().map(|rack| rack.row).max().unwrap_or(0);
    let places = racks.iter().map(|rack| rack.place).max().unwrap_or(0);
    let mut values = vec![vec![None; places as usize]; rows as usize];
    for rack in &racks {
        let cell = &mut values[rack.row as usize - 1][rack.place as usize - 1];
        *cell = Some(rack.milliwatts as f64 / 1e3);
    }
    let heat = Heat {
        row_label: "row".to_owned(),
        column_label: "rack".to_owned(),
        rows: (1..=rows).map(|row| row.to_string()).collect(),
        columns: (1..=places).map(|place| place.to_string()).collect(),
        values,
        value_label: "power".to_owned(),
        unit: Unit::Watts,
        range: Some((0.0, limit as f64 / 1e3)),
    };
    let figure = Figure::new("rack-power", "What racks draw", Plot::Heat(heat))
        .caption("Servers at load by the estimate for each GPU, switches, and what is plugged in.");
    section.blocks.push(figure.into());
    section
}

fn alternatives(plan: &Plan, judged: &[Judged]) -> Section {
    let mut section = Section::new("alternatives", "Alternatives");
    let others = plan.alternatives.iter();
    let others = others.filter_map(|other| Some((other.change.as_str(), other.design.as_ref()?)));
    let designs: Vec<(&str, &Design)> =
        [("planned", &plan.design)].into_iter().chain(others).collect();
    let columns = designs.iter().map(|(name, _)| Column::text(*name));
    let columns: Vec<Column> = [Column::text("")].into_iter().chain(columns).collect();
    let mut table = Table::new("alternatives", "One thing changed in each", columns);
    for (name, figure) in page::FIGURES {
        let cells = designs.iter().map(|(_, design)| figure(design));
        table.push([name.to_owned()].into_iter().chain(cells));
    }
    for (name, figure) in Judged::FIGURES {
        if !judged.is_empty() {
            let of = |wanted: &str| judged.iter().find(|judged| judged.name == wanted);
            let cells = designs.iter().map(|(name, _)| of(name).map_or("-".to_owned(), figure));
            table.push([name.to_owned()].into_iter().chain(cells));
        }
    }
    section.blocks.push(table.into());
    let each = |design: &Design| Some(design.price_per_gpu.amount.0 as f64 / 100.0);
    let bars = Bars {
        y: Axis::new(format!("price per GPU [{}]", plan.currency), Unit::Large),
        groups: designs.iter().map(|(name, _)| (*name).to_owned()).collect(),
        series: vec![BarSeries {
            name: "price per GPU".to_owned(),
            values: designs.iter().map(|(_, design)| each(design)).collect(),
        }],
        reference: None,
    };
    section.blocks.push(Figure::new("price", "Price per GPU", Plot::Bars(bars)).into());
    let refused = plan.alternatives.iter().filter_map(|other| {
        let refusal = other.refusal.as_ref()?;
        Some(format!("{}: not possible, {}", other.change, refusal.message))
    });
    let refused: Vec<String> = refused.collect();
    if !refused.is_empty() {
        section.blocks.push(Block::List(refused));
    }
    section
}

fn networks(recommendation: &Recommendation) -> Section {
    let mut section = Section::new("networks", "RoCE or InfiniBand");
    section.lead = Some(format!("{}.", recommendation.sentence()));
    let columns = [
        Column::text("argument"),
        Column::text("RoCE"),
        Column::text("InfiniBand"),
        Column::text("speaks for"),
        Column::number("weight", Unit::Count),
    ];
    let mut table = Table::new("networks", "What speaks for which", columns);
    for reason in &recommendation.reasons {
        table.push([
            Cell::from(reason.about.clone()),
            reason.roce.clone().into(),
            reason.infiniband.clone().into(),
            reason.favours.map_or("neither", Network::name).into(),
            Number::count(reason.weight).into(),
        ]);
    }
    section.blocks.push(table.into());
    section.blocks.push(Block::Text(
        "Speed is not weighed: `xoff compare --transports roce,infiniband` measures it.".to_owned(),
    ));
    section
}

fn existing(brown: &Brownfield, plan: &Plan) -> Section {
    let mut section = Section::new("existing", "What is there already");
    section.lead =
        Some(format!("What stays is worth {} {} of the bill.", money(brown.saved), plan.currency));
    let columns = [
        Column::text("part"),
        Column::text("length"),
        Column::text("rate"),
        Column::number("stay", Unit::Count),
        Column::number("go", Unit::Count),
        Column::text("why"),
    ];
    let mut table = Table::new("inventory", "What becomes of it", columns);
    for fate in &brown.fates {
        table.push([
            Cell::from(fate.owned.part.clone()),
            fate.owned.length.map(|length| length.to_string()).into(),
            fate.owned.rate.map(|rate| rate.to_string()).into(),
            Number::count(fate.stays).into(),
            Number::count(fate.goes).into(),
            fate.reason.clone().into(),
        ]);
    }
    section.blocks.push(table.into());
    let columns = [
        Column::text("role"),
        Column::text("part"),
        Column::text("length"),
        Column::number("buy", Unit::Count),
    ];
    let mut table = Table::new("buy", "What must be bought", columns);
    for (role, part, length, number) in &brown.buy {
        table.push([
            Cell::from(role.name()),
            part.clone().into(),
            length.map(|length| length.to_string()).into(),
            Number::count(*number).into(),
        ]);
    }
    section.blocks.push(table.into());
    section.blocks.push(Block::List(brown.steps.clone()));
    section
}
