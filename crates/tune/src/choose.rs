//! The knobs that mean something on a fabric with its workloads: what a user gets without naming any.

use crate::knob::Knob;
use toml::{Table, Value};
use xoff_fabric::FabricSetup;
use xoff_fabric::model::{Fabric, Port, Switch, Tier};
use xoff_fabric::scenario::{Fault, Scenario, Workload};
use xoff_sweep::{Axis, Key, Measure};
use xoff_transport::config::{Congestion, Recovery};
use xoff_units::{Bytes, Rate, Span};

/// Knobs, and what of the fabric none of them changes.
#[derive(Debug, Clone, PartialEq)]
pub struct Chosen {
    /// The knobs.
    pub knobs: Vec<Knob>,
    /// What a user may want to know about them.
    pub notes: Vec<String>,
}

/// The knobs of a fabric with the scenarios that it is tuned for.
pub fn knobs(setup: &FabricSetup, scenarios: &[&Scenario]) -> Chosen {
    let file = file(setup);
    let mut own = Chooser { setup, file: &file, chosen: Chosen { knobs: vec![], notes: vec![] } };
    own.ecn();
    own.pauses();
    own.congestion();
    own.paths(scenarios);
    own.watchdog(scenarios);
    own.chosen
}

/// The knobs of a controller that moves thresholds while traffic runs, with the static ones it starts from.
pub fn online(setup: &FabricSetup) -> Chosen {
    let file = file(setup);
    let mut own = Chooser { setup, file: &file, chosen: Chosen { knobs: vec![], notes: vec![] } };
    own.ecn();
    own.chosen.knobs.retain(|knob| knob.name() != "pmax");
    if !own.chosen.knobs.is_empty() {
        own.controller();
    }
    own.chosen
}

/// The fabric file with all that is in force, as a table.
pub fn file(setup: &FabricSetup) -> Table {
    Table::try_from(&setup.file).unwrap_or_default()
}

struct Chooser<'a> {
    setup: &'a FabricSetup,
    file: &'a Table,
    chosen: Chosen,
}

/// What the hops of a path take beside its cables, both ways.
const ROUND_TRIP: f64 = 8e-6;

impl Chooser<'_> {
    fn fabric(&self) -> &Fabric {
        &self.setup.fabric
    }

    fn axis(&mut self, axis: Axis, name: &str, words: &'static str) {
        let knob = Knob::of(axis.named(name), self.file).words(words);
        self.chosen.knobs.push(knob);
    }

    /// A range in the unit of its values, widened to what is in force now and to twice and half of that.
    fn range(&mut self, key: &str, name: &str, ends: [Value; 2], log: bool, words: &'static str) {
        let Ok(key) = Key::parse(key) else { return };
        let measure = Measure::of(&ends);
        let present = Knob::of(Axis::one_of(key.clone(), vec![ends[0].clone()]), self.file).present;
        let [mut low, mut high] = ends.clone();
        let number = |value: &Value| measure.number(value);
        if let Some(own) = present.as_ref().and_then(number).filter(|own| *own > 0.0)
            && let (Some(least), Some(most)) = (number(&low), number(&high))
            && log
        {
            let wider = |number: f64| measure.value(xoff_sweep::numeric::digits(number, 2));
            if own / 2.0 < least {
                low = wider(own / 2.0);
            }
            // A share beyond one is none.
            if own * 2.0 > most && measure != Measure::Ratio {
                high = wider(own * 2.0);
            }
        }
        if let Ok(axis) = Axis::between(key, low, high, log) {
            self.axis(axis, name, words);
        }
    }

    /// A list of values, with what is in force now in its place.
    fn list(&mut self, key: &str, name: &str, mut values: Vec<Value>, words: &'static str) {
        let Ok(key) = Key::parse(key) else { return };
        let axis = Axis::one_of(key.clone(), values.clone());
        let knob = Knob::of(axis, self.file);
        if knob.present_place().is_none()
            && let Some(present) = knob.present
        {
            let measure = Measure::of(&values);
            let number = |value: &Value| measure.number(value).unwrap_or(f64::MAX);
            values.push(present);
            values.sort_by(|a, b| number(a).total_cmp(&number(b)));
        }
        self.axis(Axis::one_of(key, values), name, words);
    }

    fn congestion_control(&self) -> Option<&Congestion> {
        self.fabric().nics.first().map(|nic| &nic.qp.congestion)
    }

    /// What a path of the fabric holds at this rate.
    fn path(&self, rate: Rate) -> f64 {
        let longest = self.fabric().cables.iter().map(|cable| cable.delay).max();
        let cable = longest.unwrap_or(Span::ZERO).as_ps() as f64 * 1e-12;
        rate.bps() as f64 / 8.0 * (ROUND_TRIP + 4.0 * cable)
    }

    /// Marking, where senders act on marks.
    fn ecn(&mut self) {
        let listens = matches!(
            self.congestion_control(),
            Some(Congestion::Dcqcn(_) | Congestion::Dctcp(_) | Congestion::Nscc(_))
        );
        let marks = |port: &xoff_fabric::model::Port| port.classes.iter().any(|c| c.ecn.is_some());
        if !listens || !self.fabric().ports.iter().any(marks) {
            return;
        }
        let at = |table: Option<&Value>| {
            let rate = table.and_then(|ecn| ecn.get("at")).and_then(Value::as_str);
            rate.and_then(|rate| rate.parse().ok()).unwrap_or(Rate::from_gbps(400))
        };
        let all = self.file.get("ecn");
        self.thresholds("fabric.ecn", "", at(all));
        for tier in ["leaf", "spine", "core"] {
            let own = self.file.get("switch").and_then(|own| own.get(tier)?.get("ecn"));
            if own.is_some_and(|own| own.get("kmin").or(own.get("kmax")).is_some()) {
                let rate = at(own.filter(|own| own.get("at").is_some()).or(all));
                self.thresholds(&format!("fabric.switch.{tier}.ecn"), &format!("{tier} "), rate);
            }
        }
        let classes = self.file.get("class").and_then(Value::as_array);
        if classes.is_some_and(|all| all.iter().any(|class| class.get("ecn").is_some())) {
            let note = "a class has ECN thresholds of its own, which no default knob changes; name them: \
                        --knob 'fabric.class[0].ecn.kmin=20KB..400KB:log'";
            self.chosen.notes.push(note.to_owned());
        }
    }

    fn thresholds(&mut self, table: &str, of: &str, at: Rate) {
        let path = self.path(at);
        let size = |share: f64| {
            let bytes = xoff_sweep::numeric::digits((path * share).max(5000.0), 1);
            Value::from(Bytes::new(bytes as u64).to_string())
        };
        let name = |word: &str| format!("{of}{word}");
        let (low, high) = ([size(0.05), size(2.0)], [size(0.2), size(10.0)]);
        self.range(
            &format!("{table}.kmin"),
            &name("kmin"),
            low,
            true,
            "queue at which marking begins",
        );
        self.range(
            &format!("{table}.kmax"),
            &name("kmax"),
            high,
            true,
            "queue above which all is marked",
        );
        let ends = ["0.01".into(), "1".into()];
        self.range(&format!("{table}.pmax"), &name("pmax"), ends, true, "marks just below kmax");
    }

    /// The constants of `[ecn.adaptive]`.
    fn controller(&mut self) {
        let key = |name: &str| format!("fabric.ecn.adaptive.{name}");
        let numbers = |all: &[i64]| all.iter().copied().map(Value::from).collect::<Vec<_>>();
        let texts = |all: &[&str]| all.iter().copied().map(Value::from).collect::<Vec<_>>();
        let whether = vec![Value::from(true), Value::from(false)];
        self.list(&key("enabled"), "adaptive", whether, "whether thresholds move");
        let intervals = self.intervals();
        self.list(&key("interval"), "interval", intervals, "time between readings");
        let shares = ["0.7".into(), "0.99".into()];
        self.range(&key("utilisation"), "utilisation", shares, false, "share of the rate to keep");
        let marks = ["0.005".into(), "0.5".into()];
        self.range(&key("marks"), "marks", marks, true, "marks that tell of many senders");
        let lowest = texts(&["1/64", "1/32", "1/16", "1/8", "1/4", "1/2", "1"]);
        self.list(&key("lowest"), "lowest", lowest, "lowest share of the static thresholds");
        let highest = numbers(&[1, 2, 4, 8, 16]);
        self.list(&key("highest"), "highest", highest, "highest multiple of them");
        let steps = numbers(&[0, 1, 2, 3, 4]);
        self.list(&key("up"), "up", steps.clone(), "half octaves up where links are not full");
        self.list(&key("down"), "down", steps.clone(), "half octaves down where they are");
        self.list(&key("overload"), "overload", steps, "the same where queues stay long");
        let hold = numbers(&[1, 2, 4, 8, 16, 32]);
        self.list(&key("hold"), "hold", hold, "readings with marks before a step down");
        let quiet = numbers(&[1, 2, 4, 8, 255]);
        self.list(&key("quiet"), "quiet", quiet, "readings without marks before it returns");
    }

    /// Times between readings in which the agent of the largest switch is through with its ports, by the usual costs.
    fn intervals(&self) -> Vec<Value> {
        let fabric = self.fabric();
        let marking = |switch: &Switch| {
            let ports = &fabric.ports[switch.ports.start as usize..switch.ports.end as usize];
            let classes = ports.iter().flat_map(|port| &port.classes);
            classes.filter(|class| class.ecn.is_some()).count() as u64
        };
        let needs = 50 + fabric.switches.iter().map(marking).max().unwrap_or(0);
        let all = [100, 200, 500, 1000, 2000, 5000].into_iter().filter(|us| *us >= needs);
        all.map(|us| Value::from(Span::from_us(us).to_string())).collect()
    }

    /// Pause thresholds and headroom, where there are pauses.
    fn pauses(&mut self) {
        let fabric = self.fabric();
        if !fabric.pause.enabled || fabric.credits || fabric.switches.is_empty() {
            return;
        }
        let pfc = self.file.get("pfc");
        if pfc.is_some_and(|pfc| pfc.get("xoff").is_some()) {
            let ends = ["50KB".into(), "5MB".into()];
            self.range("fabric.pfc.xoff", "xoff", ends, true, "queue at which a port pauses");
        } else {
            let shares = ["1/64", "1/32", "1/16", "1/8", "1/4", "1/2", "1", "2"];
            let shares = shares.map(Value::from).to_vec();
            let words =
                "share of the free buffer before a port pauses; switches take powers of two";
            self.list("fabric.pfc.alpha", "alpha", shares, words);
        }
        if pfc.and_then(|pfc| pfc.get("headroom")).and_then(Value::as_str) == Some("auto") {
            self.headroom();
        }
    }

    /// Headroom of one size for all ports, from what the longest cable needs to twice that.
    fn headroom(&mut self) {
        let fabric = self.fabric();
        let ports = |own: &Switch| &fabric.ports[own.ports.start as usize..own.ports.end as usize];
        let classes = |port: &Port| port.classes.iter().filter(|own| own.lossless).count() as u64;
        let all = fabric.switches.iter().flat_map(ports);
        let all = all.flat_map(|port| port.classes.iter().map(|class| class.headroom.get()));
        let Some(needed) = all.max().filter(|needed| *needed > 0) else { return };
        // So much that two thirds of every buffer are left to share.
        let room = |switch: &Switch| {
            let count: u64 = ports(switch).iter().map(classes).sum();
            switch.buffer.get() / 3 / count.max(1)
        };
        let most = fabric.switches.iter().map(room).min().unwrap_or_default().min(2 * needed);
        if most < needed + needed / 10 {
            let note = "headroom stays as it is computed: one size for all ports, as the longest cable needs it, would \
                        take the buffers";
            self.chosen.notes.push(note.to_owned());
            return;
        }
        // Never less than what is computed: seeds that do not overflow it prove nothing.
        let ends = [needed, most].map(|size| Value::from(Bytes::new(size).to_string()));
        let words = "buffer behind the pause threshold, from what cables need to twice that";
        self.range("fabric.pfc.headroom", "headroom", ends, false, words);
    }

    /// The constants of the congestion control in use.
    fn congestion(&mut self) {
        let Some(control) = self.congestion_control().cloned() else { return };
        let line = self.fabric().cables.iter().map(|cable| cable.rate).max();
        let line = line.unwrap_or(Rate::from_gbps(400)).bps();
        let rate = |share: u64| Value::from(Rate::from_bps(line / share).to_string());
        let base = "fabric.transport.congestion";
        let key = |name: &str| format!("{base}.{name}");
        let texts = |ends: [&str; 2]| ends.map(Value::from);
        let increase = "rate that senders add in an increase";
        match control {
            Congestion::None | Congestion::Cubic(_) => {}
            Congestion::Dcqcn(_) => {
                let ends = [rate(40_000), rate(40)];
                self.range(&key("additive-increase"), "additive increase", ends, true, increase);
                let timer = texts(["10us", "1ms"]);
                self.range(
                    &key("increase-timer"),
                    "increase timer",
                    timer,
                    true,
                    "time between increases",
                );
                let g = texts(["0.0005", "0.1"]);
                self.range(&key("g"), "g", g, true, "weight of the newest notification");
                let cut = texts(["1us", "100us"]);
                self.range(
                    &key("decrease-interval"),
                    "decrease interval",
                    cut,
                    true,
                    "shortest time between cuts",
                );
                let cnp = texts(["1us", "100us"]);
                let words = "shortest time between notifications";
                self.range("fabric.transport.cnp-interval", "cnp interval", cnp, true, words);
            }
            Congestion::Hpcc(_) => {
                self.range(
                    &key("eta"),
                    "eta",
                    texts(["0.8", "0.99"]),
                    false,
                    "load that is aimed at",
                );
                let ends = [rate(40_000), rate(100)];
                self.range(&key("additive-increase"), "additive increase", ends, true, increase);
                let stages = (0..=5).map(Value::from).collect();
                self.list(
                    &key("max-stage"),
                    "max stage",
                    stages,
                    "additive steps before a multiplicative one",
                );
            }
            Congestion::Timely(_) => {
                self.range(
                    &key("t-low"),
                    "t-low",
                    texts(["5us", "200us"]),
                    true,
                    "round trip below which rates grow",
                );
                self.range(
                    &key("t-high"),
                    "t-high",
                    texts(["20us", "2ms"]),
                    true,
                    "round trip above which rates fall",
                );
                let ends = [rate(40_000), rate(100)];
                self.range(&key("additive-increase"), "additive increase", ends, true, increase);
                self.range(&key("beta"), "beta", texts(["0.1", "0.9"]), false, "strength of a cut");
            }
            Congestion::Swift(_) => {
                self.range(
                    &key("target"),
                    "target",
                    texts(["2us", "200us"]),
                    true,
                    "delay that is aimed at",
                );
                self.range(&key("beta"), "beta", texts(["0.1", "0.9"]), false, "strength of a cut");
                let ends = texts(["1KiB", "64KiB"]);
                self.range(
                    &key("additive-increase"),
                    "additive increase",
                    ends,
                    true,
                    "window added in a round trip",
                );
            }
            Congestion::Dctcp(_) => {
                self.range(
                    &key("g"),
                    "g",
                    texts(["0.005", "0.5"]),
                    true,
                    "weight of the newest share of marks",
                );
                let ends = texts(["1KiB", "64KiB"]);
                self.range(
                    &key("additive-increase"),
                    "additive increase",
                    ends,
                    true,
                    "window added in a round trip",
                );
            }
            Congestion::Nscc(_) => {
                self.range(&key("gamma"), "gamma", texts(["0.2", "1"]), false, "strength of a cut");
                self.range(
                    &key("largest-window"),
                    "largest window",
                    texts(["1", "3"]),
                    false,
                    "window over what the path holds",
                );
                let ends = texts(["0.02", "0.5"]);
                self.range(
                    &key("proportional-increase"),
                    "proportional increase",
                    ends,
                    true,
                    "growth without delay",
                );
            }
        }
    }

    /// Queue pairs and balancing, where there are several ways.
    fn paths(&mut self, scenarios: &[&Scenario]) {
        let fabric = self.fabric();
        let several = fabric.switches.iter().filter(|own| own.tier == Tier::Spine).count() > 1;
        if !several {
            return;
        }
        let workloads = || scenarios.iter().flat_map(|scenario| &scenario.workloads);
        if workloads().any(uses_queue_pairs) {
            let counts = [1, 2, 4, 8].map(Value::from).to_vec();
            let words = "queue pairs of a connection: more flows for the hash";
            self.list("fabric.transport.queue-pairs", "queue pairs", counts, words);
        }
        let reorders = self
            .fabric()
            .nics
            .first()
            .is_some_and(|nic| !matches!(nic.qp.recovery, Recovery::GoBackN));
        let mut kinds = vec!["ecmp", "flowlet", "dlb"];
        if reorders {
            kinds.push("spray");
        }
        let kinds = kinds.into_iter().map(Value::from).collect();
        let words = "how switches choose among equal ports";
        self.list("fabric.switch.balancing.kind", "balancing", kinds, words);
        let tiers = ["leaf", "spine", "core"];
        let own = |tier: &&str| {
            self.file.get("switch").and_then(|own| own.get(*tier)?.get("balancing")).is_some()
        };
        if tiers.iter().any(own) {
            let note = "a tier has a balancing of its own, which the default knob does not change";
            self.chosen.notes.push(note.to_owned());
        }
    }

    /// The watchdog, where runs are long enough for it, or storms are there for it to end.
    fn watchdog(&mut self, scenarios: &[&Scenario]) {
        let Some(watchdog) = self.fabric().switches.iter().find_map(|own| own.watchdog) else {
            return;
        };
        let meets = |scenario: &&Scenario| {
            let storm = |fault: &Fault| matches!(fault, Fault::PauseStorm { .. });
            scenario.faults.iter().any(storm)
                || scenario.duration.is_some_and(|own| own >= watchdog.detect)
        };
        if !scenarios.iter().any(meets) {
            return;
        }
        for (key, name, words) in [
            ("detect", "watchdog detect", "pause after which a queue is stuck"),
            ("restore", "watchdog restore", "time without pauses after which it is not"),
        ] {
            let ends = ["100us".into(), "200ms".into()];
            self.range(&format!("fabric.switch.watchdog.{key}"), name, ends, true, words);
        }
    }
}

/// Whether a workload has as many queue pairs per connection as the fabric says.
fn uses_queue_pairs(workload: &Workload) -> bool {
    !matches!(
        workload,
        Workload::Permutation(_)
            | Workload::Incast(_)
            | Workload::AllToAll(_)
            | Workload::Flows(_)
            | Workload::Poisson(_)
            | Workload::Checkpoint(_)
            | Workload::NvmeOf(_)
            | Workload::ParameterServer(_)
            | Workload::Halo(_)
            | Workload::Background(_)
    )
}
