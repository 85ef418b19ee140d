//! What NICs can do: `[nic]`, and `[[host]]` where some differ. How they reach the memory of their servers, what they
//! take in, how many packets they handle, and which DSCPs they write.

mod marks;

use super::assemble::receive;
use crate::diagnostic::code;
use crate::document::{Report, Step, keys};
use crate::file::{FabricFile, HostEntry, IommuSetting, NicDscp, PcieSettings, ReceiveSettings};
use crate::model::{HostPath, Model, NicId, PortId, ReceiveLimit};
use crate::names::Names;
use crate::rules::pcie::{Bottleneck, Path, Reached, Slot};
use std::collections::BTreeMap;
use xoff_units::{Bytes, PacketRate, Rate, Span};

/// Gives every NIC its path into memory, its limits and its marks.
pub(super) fn settle(fabric: &mut Model, file: &FabricFile, report: &mut Report<'_>) {
    let entries = entries(fabric, file, report);
    memory(fabric, file, &entries, report);
    for (nic, entries) in entries.iter().enumerate() {
        let last = || entries.iter().rev().map(|&index| &file.hosts[index]);
        if let Some(own) = last().find_map(|entry| entry.receive.as_ref()) {
            limit(fabric, nic, receive(own));
        }
        let packets = last().find_map(|entry| entry.packet_rate).or(file.nic.packet_rate);
        if let Some(packets) = packets.filter(|rate| rate.pps() > 0) {
            handle(fabric, nic, packets);
        }
    }
    marks::settle(fabric, file, &entries, report);
}

/// The entries of `[[host]]` that are about each NIC, in their order.
fn entries(fabric: &Model, file: &FabricFile, report: &mut Report<'_>) -> Vec<Vec<usize>> {
    let mut entries: Vec<Vec<usize>> = vec![Vec::new(); fabric.nics.len()];
    for index in 0..file.hosts.len() {
        for nic in named(fabric, file, index, report) {
            let own = &mut entries[nic.index()];
            // A NIC that is named twice in one entry is meant once.
            if own.last() != Some(&index) {
                own.push(index);
            }
        }
    }
    entries
}

/// Paths into memory, and limits where they are slower than ports.
fn memory(fabric: &mut Model, file: &FabricFile, entries: &[Vec<usize>], report: &mut Report<'_>) {
    let all = &file.nic.pcie;
    let usual = PcieSettings::default();
    if *all == usual && file.hosts.iter().all(|entry| entry.pcie == usual) {
        return;
    }
    check(all, &[Step::Key("nic"), Step::Key("pcie")], report);
    for (index, entry) in file.hosts.iter().enumerate() {
        check(&entry.pcie, &[Step::Key("host"), Step::Index(index), Step::Key("pcie")], report);
    }
    // NICs that the same entries are about share one computation, and one complaint.
    let mut paths: BTreeMap<&[usize], (Path, bool)> = BTreeMap::new();
    for (nic, own) in entries.iter().enumerate() {
        let (path, reported) = paths.entry(own).or_insert_with(|| {
            let layers = own.iter().rev().map(|&index| &file.hosts[index].pcie);
            (path(&layers.chain([all]).collect::<Vec<_>>()), false)
        });
        let slow = apply(fabric, nic, path, file.nic.receive.as_ref());
        if slow && !std::mem::replace(reported, true) {
            complain(fabric, nic, own.last().copied(), report);
        }
    }
}

/// A receive side that a file gives; one that memory makes slower stays as slow.
fn limit(fabric: &mut Model, nic: usize, own: ReceiveLimit) {
    let state = &mut fabric.nics[nic];
    let memory = state.host.filter(|host| host.receive.by != Bottleneck::None);
    let part = memory.map(|host| host.receive.rate.bps() / state.ports.len().max(1) as u64);
    let rate = part.map_or(own.rate, |part| own.rate.min(Rate::from_bps(part)));
    state.receive = Some(ReceiveLimit { rate, ..own });
}

/// A NIC that handles so many packets in a second: its ports share them.
fn handle(fabric: &mut Model, nic: usize, packets: PacketRate) {
    let ports = fabric.nics[nic].ports.clone();
    let each = PortId(ports.start);
    let wire =
        ReceiveSettings { rate: fabric.cable(each).rate, buffer: None, xoff: None, xon: None };
    let state = &mut fabric.nics[nic];
    state.packet_rate = Some(packets);
    let limit = state.receive.get_or_insert_with(|| receive(&wire));
    limit.packet = packets.packet_time() * ports.len().max(1) as u64;
}

/// The NICs that an entry of `[[host]]` is about.
fn named(fabric: &Model, file: &FabricFile, index: usize, report: &mut Report<'_>) -> Vec<NicId> {
    let entry = &file.hosts[index];
    let names = Names::of(fabric);
    let mut nics = Vec::new();
    let mut wrong = |key: &str, position: usize, error: crate::names::NameError| {
        let path = keys!["host", index, key, position];
        report.error(code::UNKNOWN_NAME, path, error.message, error.help);
    };
    for (position, server) in entry.servers.iter().enumerate() {
        match names.server_ref(server) {
            Ok(server) => nics.extend(fabric.servers[server.index()].nics.clone().map(NicId)),
            Err(error) => wrong("servers", position, error),
        }
    }
    for (position, nic) in entry.nics.iter().enumerate() {
        match names.nic_ref(nic) {
            Ok(nic) => nics.push(nic),
            Err(error) => wrong("nics", position, error),
        }
    }
    let HostEntry { pcie, receive, packet_rate, dscp, .. } = entry;
    if !nics.is_empty()
        && *pcie == PcieSettings::default()
        && receive.is_none()
        && packet_rate.is_none()
        && *dscp == NicDscp::default()
    {
        report.error(
            code::MISSING_KEY,
            keys!["host", index],
            "it does not say what differs",
            "give `pcie`, `receive`, `packet-rate` or `dscp`",
        );
    }
    if entry.servers.is_empty() && entry.nics.is_empty() {
        report.error(
            code::MISSING_KEY,
            keys!["host", index],
            "it does not say which servers differ",
            "give `servers = [\"server3\"]` or `nics = [\"server3-nic0\"]`",
        );
    }
    nics
}

/// The path that settings describe; the first that has a key decides it.
fn path(layers: &[&PcieSettings]) -> Path {
    fn first<T>(layers: &[&PcieSettings], get: impl Fn(&PcieSettings) -> Option<T>) -> Option<T> {
        layers.iter().find_map(|layer| get(layer))
    }
    let usual = Path::default();
    let iommu = first(layers, |pcie| pcie.iommu);
    let translates = matches!(iommu, Some(IommuSetting::Translates(true)));
    let page = first(layers, |pcie| pcie.iommu_page).unwrap_or(Bytes::new(4096));
    let or = |given: Option<Bytes>, usual: Bytes| given.unwrap_or(usual);
    Path {
        slot: first(layers, |pcie| pcie.slot).map(|slot| slot.0),
        max_payload: or(first(layers, |pcie| pcie.max_payload), usual.max_payload),
        max_read_request: or(first(layers, |pcie| pcie.max_read_request), usual.max_read_request),
        relaxed_ordering: first(layers, |pcie| pcie.relaxed_ordering).unwrap_or(true),
        translated: translates.then_some(page),
        read_latency: first(layers, |pcie| pcie.read_latency).unwrap_or(usual.read_latency),
        write_latency: first(layers, |pcie| pcie.write_latency).unwrap_or(usual.write_latency),
        page_walk: first(layers, |pcie| pcie.page_walk).unwrap_or(usual.page_walk),
    }
}

/// The rate of all ports of a NIC together.
fn ports_rate(fabric: &Model, nic: usize) -> Rate {
    let ports = fabric.nics[nic].ports.clone();
    Rate::from_bps(ports.map(|port| fabric.cable(PortId(port)).rate.bps()).sum())
}

/// Gives a NIC its path. Whether that is slower than its ports.
fn apply(fabric: &mut Model, nic: usize, path: &Path, given: Option<&ReceiveSettings>) -> bool {
    let rate = ports_rate(fabric, nic);
    let within = |reached: Reached| match reached.rate < rate {
        true => reached,
        false => Reached { rate, by: Bottleneck::None },
    };
    let (send, into) = (within(path.send()), within(path.receive()));
    let state = &mut fabric.nics[nic];
    state.host = Some(HostPath { slot: path.slot, send, receive: into });
    if into.by != Bottleneck::None {
        // Ports share the slot: each has its part of it.
        let part = Rate::from_bps(into.rate.bps() / state.ports.len().max(1) as u64);
        let usual = ReceiveSettings { rate: part, buffer: None, xoff: None, xon: None };
        let mut limit = receive(given.unwrap_or(&usual));
        limit.rate = limit.rate.min(part);
        state.receive = Some(limit);
    }
    send.by != Bottleneck::None || into.by != Bottleneck::None
}

fn complain(fabric: &Model, nic: usize, entry: Option<usize>, report: &mut Report<'_>) {
    let rate = ports_rate(fabric, nic);
    let name = &fabric.nics[nic].name;
    let Some(HostPath { slot, send, receive }) = fabric.nics[nic].host else { return };
    let (worst, way) = match receive.rate <= send.rate {
        true => (receive, "into memory: it pauses the fabric when it receives more"),
        false => (send, "out of memory: it cannot send more"),
    };
    let cause = match (worst.by, slot) {
        (Bottleneck::Slot, Some(slot)) => {
            format!("its slot, {slot}, carries {} and of these", readable(slot.raw()))
        }
        (by, _) => format!("{} lets it move", by.name()),
    };
    let cure = match worst.by {
        Bottleneck::Slot => match Slot::enough_for(rate) {
            Some(slot) => format!("{slot} would carry {rate}"),
            None => format!("no slot carries {rate}: use two, or a slower NIC"),
        },
        Bottleneck::Reads => "raise `max-read-request`".to_owned(),
        Bottleneck::Ordering => "turn `relaxed-ordering` on".to_owned(),
        Bottleneck::Iommu => "use `iommu = \"passthrough\"`, or larger pages".to_owned(),
        Bottleneck::None => String::new(),
    };
    let key = match worst.by {
        Bottleneck::Reads => "max-read-request",
        Bottleneck::Ordering => "relaxed-ordering",
        Bottleneck::Iommu => "iommu",
        Bottleneck::Slot | Bottleneck::None => "slot",
    };
    let own: Vec<Step<'_>> = match entry {
        Some(index) => keys!["host", index, "pcie", key].to_vec(),
        None => keys!["nic", "pcie", key].to_vec(),
    };
    let candidates: [&[Step<'_>]; 3] = [&own, keys!["nic", "pcie", key], &own[..own.len() - 1]];
    let path = super::buffers::first_written(&candidates, report).to_vec();
    report.warn(
        code::HOST,
        &path,
        format!("`{name}` runs at {rate}, and {cause} {} {way}", readable(worst.rate)),
        cure,
    );
}

/// A rate with as many digits as people read.
fn readable(rate: Rate) -> String {
    format!("{:.1}Gbps", rate.bps() as f64 / 1e9)
}

/// Sizes and times that no slot has.
fn check(pcie: &PcieSettings, path: &[Step<'_>], report: &mut Report<'_>) {
    let mut wrong = |key: &str, message: String, help: &str| {
        let path = [path, &[Step::Key(key)]].concat();
        report.error(code::IMPOSSIBLE, &path, message, help);
    };
    let sizes = [("max-payload", pcie.max_payload), ("max-read-request", pcie.max_read_request)];
    for (key, size) in sizes {
        let Some(size) = size.map(Bytes::get) else { continue };
        if !size.is_power_of_two() || !(128..=4096).contains(&size) {
            wrong(key, format!("`{key}` cannot be {}", Bytes::new(size)), "128B, 256B … 4096B");
        }
    }
    if let Some(page) = pcie.iommu_page.map(Bytes::get)
        && (!page.is_power_of_two() || !(4096..=1 << 30).contains(&page))
    {
        let message = format!("there are no pages of {}", Bytes::new(page));
        wrong("iommu-page", message, "4KiB, 2MiB and 1GiB are usual");
    }
    let times = [
        ("read-latency", pcie.read_latency, "300ns to 1500ns are usual"),
        ("write-latency", pcie.write_latency, "100ns to 500ns are usual"),
        ("page-walk", pcie.page_walk, "100ns to 1000ns are usual"),
    ];
    for (key, time, help) in times {
        if let Some(time) = time.filter(|time| time.is_zero() || *time > Span::from_ms(1)) {
            wrong(key, format!("`{key}` cannot be {time}"), help);
        }
    }
}

#[cfg(test)]
mod tests;
