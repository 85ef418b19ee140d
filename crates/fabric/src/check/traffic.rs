//! Storage, serving, rounds and background load against their fabric: numbers that cannot be, and
//! servers that are not there.

use super::collective::{MOST_QPS, gpus};
use crate::diagnostic::code;
use crate::document::{Report, Step};
use crate::model::Fabric;
use crate::names::{Names, Role};
use crate::rules::packet;
use crate::scenario::{
    Background, Checkpoint, Common, Halo, Inference, KvCache, NvmeOf, Operation, ParameterServer,
    PlacementSetting, Workload,
};
use xoff_units::{Bytes, Ratio, Span};

/// Most operations that a NIC keeps under way against remote disks: entries of an NVMe queue.
const DEEPEST_QUEUE: u32 = 65_535;

/// Checks what is particular to these kinds.
pub(super) fn check(
    index: usize,
    workload: &Workload,
    fabric: &Fabric,
    names: &Names<'_>,
    report: &mut Report<'_>,
) {
    let mut check = Check { index, fabric, names, report };
    match workload {
        Workload::Checkpoint(entry) => check.checkpoint(entry),
        Workload::NvmeOf(entry) => check.nvme_of(entry),
        Workload::KvCache(entry) => check.kv_cache(entry),
        Workload::Inference(entry) => check.inference(entry),
        Workload::ParameterServer(entry) => check.parameter_server(entry),
        Workload::Halo(entry) => check.halo(entry),
        Workload::Background(entry) => check.background(entry),
        _ => {}
    }
}

/// Checks what a workload says of its tenant.
pub(super) fn tenant(index: usize, common: &Common, fabric: &Fabric, report: &mut Report<'_>) {
    let mut wrong = |key: &'static str, message: String, help: &str| {
        let path = [Step::Key("workload"), Step::Index(index), Step::Key(key)];
        report.error(code::IMPOSSIBLE, &path, message, help);
    };
    if common.tenant.as_ref().is_some_and(|name| name.trim().is_empty()) {
        wrong("tenant", "a tenant without a name".into(), "leave it out, or name the tenant");
    }
    if !common.vxlan {
        return;
    }
    let largest = fabric.nics.iter().map(|nic| packet::largest(&nic.qp)).max();
    let largest = largest.unwrap_or(Bytes::ZERO) + packet::VXLAN;
    if let Some(switch) = fabric.switches.iter().find(|switch| switch.mtu < largest) {
        let (name, mtu) = (&switch.name, switch.mtu);
        let help = "lower `transport.mtu` or raise `switch.mtu` in the fabric";
        let message =
            format!("packets of {largest} with VXLAN do not pass `{name}` with an MTU of {mtu}");
        wrong("vxlan", message, help);
    }
}

struct Check<'a, 'r, 'd> {
    index: usize,
    fabric: &'a Fabric,
    names: &'a Names<'a>,
    report: &'r mut Report<'d>,
}

impl Check<'_, '_, '_> {
    fn wrong(&mut self, key: &'static str, message: impl Into<String>, help: &str) {
        let path = [Step::Key("workload"), Step::Index(self.index), Step::Key(key)];
        self.report.error(code::IMPOSSIBLE, &path, message, help);
    }

    fn roles(&mut self, front: Role<'_>, back: Role<'_>) {
        if let Err(wrong) = self.names.roles(front, back) {
            let path = [Step::Key("workload"), Step::Index(self.index), Step::Key(wrong.key)];
            self.report.error(code::UNKNOWN_NAME, &path, wrong.error.message, wrong.error.help);
        }
    }

    fn size(&mut self, key: &'static str, size: Bytes) {
        if size.is_zero() {
            self.wrong(key, "nothing is sent", "give a size like \"1MB\"");
        }
    }

    /// Numbers that are at least 1 where they are given.
    fn counts(&mut self, counts: &[(&'static str, Option<u32>, u32)]) {
        for &(key, value, most) in counts {
            if let Some(value) = value.filter(|&value| value == 0 || value > most) {
                let help = format!("give 1 or more, at most {most}");
                self.wrong(key, format!("`{key}` is {value}"), &help);
            }
        }
    }

    fn only_writes(&mut self, common: &Common, help: &str) {
        if common.operation != Operation::Write {
            self.wrong("operation", "`operation` says nothing here", help);
        }
    }

    fn checkpoint(&mut self, entry: &Checkpoint) {
        self.size("size", entry.size);
        self.counts(&[("stripes", entry.stripes, u32::MAX)]);
        self.roles(
            Role { key: "servers", set: entry.servers.as_ref() },
            Role { key: "storage", set: Some(&entry.storage) },
        );
    }

    fn nvme_of(&mut self, entry: &NvmeOf) {
        self.size("block", entry.block);
        self.counts(&[
            ("queue-depth", Some(entry.queue_depth), DEEPEST_QUEUE),
            ("operations", entry.operations, u32::MAX),
        ]);
        match (entry.operations, entry.duration) {
            (None, None) => {
                let help = "give `for` or `operations`";
                self.wrong("queue-depth", "nothing says when it ends", help);
            }
            (Some(_), Some(_)) => {
                let message = "`for` and `operations` both say when it ends";
                self.wrong("operations", message, "keep one of them");
            }
            (None, Some(Span::ZERO)) => self.wrong("for", "no time", "give a time like \"1ms\""),
            _ => {}
        }
        if let Some(reads) = entry.reads.filter(|&reads| reads > Ratio::ONE) {
            let help = "it is a share of all operations, from 0 to 1";
            self.wrong("reads", format!("{reads} of the operations read"), help);
        }
        self.only_writes(&entry.common, "`reads` says how many operations read");
        self.roles(
            Role { key: "initiators", set: entry.initiators.as_ref() },
            Role { key: "targets", set: Some(&entry.targets) },
        );
    }

    fn kv_cache(&mut self, entry: &KvCache) {
        self.counts(&[
            ("requests-per-second", Some(entry.requests_per_second), 1_000_000_000),
            ("requests", Some(entry.requests), 1_000_000),
            ("element-bytes", entry.element_bytes, 16),
            ("qps", entry.qps, MOST_QPS),
        ]);
        match (&entry.model, entry.bytes_per_token) {
            (None, None) => {
                let help = "give `model` or `bytes-per-token`";
                self.wrong("tokens", "nothing says how large a token is", help);
            }
            (Some(_), Some(_)) => {
                let message = "`model` and `bytes-per-token` both say how large a token is";
                self.wrong("bytes-per-token", message, "keep one of them");
            }
            (None, Some(size)) => self.size("bytes-per-token", size),
            (Some(_), None) => {}
        }
        let (least, most) = entry.tokens.bounds();
        if least == 0 || most < least {
            let help = "give a number above 0, or two of which the second is not smaller";
            self.wrong("tokens", format!("prompts of {least} to {most} tokens"), help);
        }
        if entry.objective.is_some_and(Span::is_zero) {
            self.wrong("objective", "nothing takes no time", "give a time like \"5ms\"");
        }
        self.only_writes(&entry.common, "prefill servers write; leave it out");
        self.roles(
            Role { key: "prefill", set: Some(&entry.prefill) },
            Role { key: "decode", set: Some(&entry.decode) },
        );
    }

    fn inference(&mut self, entry: &Inference) {
        self.counts(&[
            ("requests-per-second", entry.requests_per_second, 1_000_000_000),
            ("requests", entry.requests, 1_000_000),
            ("element-bytes", entry.element_bytes, 16),
            ("weight-bytes", entry.weight_bytes, 16),
            ("peak-tflops", entry.peak_tflops, u32::MAX),
            ("max-batch", entry.max_batch, 1 << 20),
            ("qps", entry.qps, MOST_QPS),
        ]);
        let shares =
            [("efficiency", entry.efficiency), ("memory-efficiency", entry.memory_efficiency)];
        for (key, share) in shares {
            if let Some(share) = share.filter(|&share| share.is_zero() || share > Ratio::ONE) {
                let help = "it is a share of what the GPU has, above 0 and at most 1";
                self.wrong(key, format!("an efficiency of {share}"), help);
            }
        }
        let drawn = [
            ("requests-per-second", entry.requests_per_second.is_some()),
            ("input", entry.input.is_some()),
            ("output", entry.output.is_some()),
        ];
        match &entry.trace {
            Some(_) => {
                for (key, _) in drawn.into_iter().filter(|(_, given)| *given) {
                    self.wrong(key, format!("the trace says `{key}`"), "leave it out");
                }
            }
            None if entry.requests.is_none() || drawn.iter().any(|(_, given)| !given) => {
                let help =
                    "give `trace`, or `requests-per-second`, `requests`, `input` and `output`";
                self.wrong("model", "nothing says which requests come", help);
            }
            None => {}
        }
        for (key, tokens) in [("input", entry.input), ("output", entry.output)] {
            let bounds = tokens.map(|tokens| tokens.bounds());
            if let Some((least, most)) = bounds.filter(|&(least, most)| least == 0 || most < least)
            {
                let help = "give a number above 0, or two of which the second is not smaller";
                self.wrong(key, format!("{least} to {most} tokens"), help);
            }
        }
        self.serving_objective(entry);
        self.only_writes(&entry.common, "prefill servers write; leave it out");
        self.roles(
            Role { key: "prefill", set: Some(&entry.prefill) },
            Role { key: "decode", set: Some(&entry.decode) },
        );
    }

    fn serving_objective(&mut self, entry: &Inference) {
        let Some(objective) = entry.objective else { return };
        let times = [objective.ttft, objective.tpot];
        if times.iter().flatten().any(|span| span.is_zero()) {
            self.wrong("objective", "nothing takes no time", "give times like \"2s\"");
        }
        if times == [None, None] {
            self.wrong("objective", "nothing is asked for", "give `ttft`, `tpot` or both");
        }
        if let Some(share) = objective.share.filter(|&s| s.is_zero() || s > Ratio::ONE) {
            let help = "it is a share of all requests, above 0 and at most 1";
            self.wrong("objective", format!("a share of {share}"), help);
        }
    }

    fn parameter_server(&mut self, entry: &ParameterServer) {
        self.size("size", entry.size);
        self.counts(&[("rounds", entry.rounds, 1_000_000)]);
        self.only_writes(&entry.common, "everybody writes; leave it out");
        self.roles(
            Role { key: "workers", set: entry.workers.as_ref() },
            Role { key: "servers", set: Some(&entry.servers) },
        );
    }

    fn halo(&mut self, entry: &Halo) {
        self.size("size", entry.size);
        self.counts(&[("rounds", entry.rounds, 1_000_000)]);
        self.only_writes(&entry.common, "everybody writes; leave it out");
        let sides = entry.grid.len();
        if !(2..=3).contains(&sides) || entry.grid.contains(&0) {
            let help = "give two or three numbers above 0, like [4, 4]";
            return self.wrong("grid", format!("a grid of {:?}", entry.grid), help);
        }
        let ranks = entry.grid.iter().fold(1u64, |all, &side| all.saturating_mul(side.into()));
        let there = match &entry.placement {
            PlacementSetting::Gpus(list) => list.len() as u64,
            PlacementSetting::Rule(_) => gpus(self.fabric),
        };
        if ranks < 2 || ranks > there {
            let help = "the product of its sides is the number of ranks: 2 or more";
            self.wrong("grid", format!("{ranks} ranks on {there} GPUs"), help);
        }
    }

    fn background(&mut self, entry: &Background) {
        if entry.load.is_zero() || entry.load > Ratio::ONE {
            let help = "a load of 1 is the NICs' full rate";
            self.wrong("load", format!("a load of {}", entry.load), help);
        }
        if entry.duration.is_zero() {
            self.wrong("for", "no time", "give a time like \"1ms\"");
        }
        let lossy = self.fabric.classes.iter().any(|class| !class.lossless);
        if entry.common.class.is_none() && !lossy {
            self.wrong("load", "the fabric has no lossy class", "give a `class`");
        }
        if let Some(set) = &entry.servers
            && let Err(wrong) = self.names.servers(Role { key: "servers", set: Some(set) })
        {
            let path = [Step::Key("workload"), Step::Index(self.index), Step::Key(wrong.key)];
            self.report.error(code::UNKNOWN_NAME, &path, wrong.error.message, wrong.error.help);
        }
    }
}
