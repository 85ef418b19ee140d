//! Neighbours and cables as JSON: `lldpctl -f json` and `json0`, EOS, NX-OS, Junos and NVUE, and cables of NetBox.

use super::{Cable, End, Neighbour, Reader, Source};
use crate::place::Place;
use crate::text::json::{self, Node, Value};

/// Words that stand in the JSON that is read here.
const MARKS: [&str; 8] = [
    "\"lldpNeighbors\"",
    "\"TABLE_nbor",
    "\"lldp\"",
    "\"lldp-neighbor-information\"",
    "\"a_terminations\"",
    "\"termination_a\"",
    "\"neighbor\"",
    "\"ROW_nbor",
];

/// Reads a text that is JSON; false if there is nothing in it about cables.
pub(super) fn read(reader: &mut Reader, first: u32, text: &str) -> bool {
    if !MARKS.iter().any(|mark| text.contains(mark)) {
        return false;
    }
    // What is before the value is a command or a banner.
    let Some(start) = lines_from(text).find(|(_, line)| line.trim_start().starts_with(['{', '[']))
    else {
        return false;
    };
    let (at, _) = start;
    let skipped = text[..at].matches('\n').count() as u32;
    let body = text[at..].trim_start();
    let gap = text[at..].len() - body.len();
    let skipped = skipped + text[at..at + gap].matches('\n').count() as u32;
    let wrapped;
    // The reader takes objects.
    let body = if body.starts_with('[') {
        wrapped = format!("{{\"results\":{body}}}");
        &wrapped
    } else {
        body
    };
    let read = json::read(body);
    let Some(root) = read.root else { return false };
    let base = first + skipped - 1;
    let mut walk = Walk { reader, base, cables: 0, neighbours: false };
    walk.root(&root);
    let (cables, neighbours) = (walk.cables, walk.neighbours);
    if cables == 0 && !neighbours {
        return false;
    }
    if let Some(broken) = read.broken {
        reader.unknown(base + broken);
    }
    let (from, to) = (base + root.first, base + root.last);
    if neighbours {
        reader.table(from, to);
    } else {
        reader.taken.push((from, to));
    }
    true
}

fn lines_from(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut at = 0;
    text.split_inclusive('\n').map(move |line| {
        at += line.len();
        (at - line.len(), line)
    })
}

struct Walk<'r> {
    reader: &'r mut Reader,
    /// The line before the first of the JSON.
    base: u32,
    cables: usize,
    /// Whether it is a neighbour table, even an empty one.
    neighbours: bool,
}

/// One or many: the items of a list, or the thing itself.
fn each(node: &Node) -> &[Node] {
    match &node.value {
        Value::List(items) => items,
        _ => std::slice::from_ref(node),
    }
}

/// Text, wherever `json0` and Junos wrap it: `[{"value": "x"}]`, `[{"data": "x"}]`.
fn text(node: Option<&Node>) -> String {
    let Some(node) = node.and_then(|node| each(node).first()) else { return String::new() };
    let inner = node.text().or_else(|| node.get("value").or(node.get("data"))?.text());
    let inner = inner.unwrap_or_default().trim().trim_matches('"');
    if inner == "null" { String::new() } else { inner.to_owned() }
}

/// The first of some keys that says something.
fn first(node: &Node, keys: &[&str]) -> String {
    let said = keys.iter().map(|key| text(node.get(key)));
    said.into_iter().find(|text| !text.is_empty()).unwrap_or_default()
}

impl Walk<'_> {
    fn root(&mut self, root: &Node) {
        if let Some(lldp) = root.get("lldp") {
            each(lldp).iter().filter_map(|lldp| lldp.get("interface")).for_each(|interfaces| {
                self.neighbours = true;
                self.lldpctl(interfaces);
            });
        }
        if let Some(all) = root.get("lldpNeighbors") {
            self.neighbours = true;
            self.eos(all);
        }
        for (table, row) in [("TABLE_nbor", "ROW_nbor"), ("TABLE_nbor_detail", "ROW_nbor_detail")] {
            let Some(rows) = root.get(table).and_then(|table| each(table).first()?.get(row)) else {
                continue;
            };
            self.neighbours = true;
            each(rows).iter().for_each(|row| self.nxos(row));
        }
        if let Some(all) = root.get("lldp-neighbors-information") {
            self.neighbours = true;
            let rows = each(all).iter().filter_map(|all| all.get("lldp-neighbor-information"));
            rows.flat_map(each).for_each(|row| self.junos(row));
        }
        self.nvue(root);
        let results = root.get("results").map_or(std::slice::from_ref(root), each);
        results.iter().for_each(|cable| self.netbox(cable));
    }

    fn neighbour(&mut self, node: &Node, found: &Neighbour) {
        let (first, last) = (self.base + node.first, self.base + node.last);
        match self.reader.neighbour(first, last, found) {
            true => self.cables += 1,
            false => self.reader.unknown(first),
        }
    }

    /// `interface` is a list of tables by name, one such table, or a list with names in it.
    fn lldpctl(&mut self, interfaces: &Node) {
        for item in each(interfaces) {
            let name = text(item.get("name"));
            if !name.is_empty() {
                self.lldpctl_port(&name, item);
                continue;
            }
            for (key, port) in item.entries() {
                each(port).iter().for_each(|port| self.lldpctl_port(&key.text, port));
            }
        }
    }

    fn lldpctl_port(&mut self, local: &str, node: &Node) {
        let mut found = Neighbour { local: local.to_owned(), ..Neighbour::default() };
        if let Some(chassis) = node.get("chassis").and_then(|chassis| each(chassis).first()) {
            // Named in the key, in a field, or not at all.
            let inner = match chassis.get("id") {
                Some(_) => chassis,
                None => match chassis.entries() {
                    [(key, inner)] => {
                        found.name.clone_from(&key.text);
                        inner
                    }
                    _ => chassis,
                },
            };
            if found.name.is_empty() {
                found.name = text(inner.get("name"));
            }
            found.chassis = text(inner.get("id"));
        }
        if let Some(port) = node.get("port").and_then(|port| each(port).first()) {
            found.port = text(port.get("id"));
            found.description = text(port.get("descr"));
        }
        self.neighbour(node, &found);
    }

    /// A list of neighbours, or of `detail` a table of ports with a list each.
    fn eos(&mut self, all: &Node) {
        if let Value::List(rows) = &all.value {
            for row in rows {
                let found = Neighbour {
                    local: text(row.get("port")),
                    name: text(row.get("neighborDevice")),
                    port: text(row.get("neighborPort")),
                    ..Neighbour::default()
                };
                self.neighbour(row, &found);
            }
        }
        for (port, node) in all.entries() {
            let rows = node.get("lldpNeighborInfo").map_or(&[][..], each);
            for row in rows {
                let far = row.get("neighborInterfaceInfo");
                let of = |keys: &[&str]| far.map(|far| first(far, keys)).unwrap_or_default();
                let found = Neighbour {
                    local: port.text.clone(),
                    name: text(row.get("systemName")),
                    chassis: text(row.get("chassisId")),
                    port: of(&["interfaceId_v2", "interfaceId"]),
                    description: of(&["interfaceDescription"]),
                };
                self.neighbour(row, &found);
            }
        }
    }

    fn nxos(&mut self, row: &Node) {
        // Without detail, the name of the device is called its chassis.
        let found = Neighbour {
            local: first(row, &["l_port_id", "local_port_id"]),
            name: first(row, &["sys_name", "device_id"]),
            chassis: text(row.get("chassis_id")),
            port: text(row.get("port_id")),
            description: text(row.get("port_desc")),
        };
        self.neighbour(row, &found);
    }

    fn junos(&mut self, row: &Node) {
        let found = Neighbour {
            local: first(row, &["lldp-local-port-id", "lldp-local-interface"]),
            name: text(row.get("lldp-remote-system-name")),
            chassis: text(row.get("lldp-remote-chassis-id")),
            port: text(row.get("lldp-remote-port-id")),
            description: text(row.get("lldp-remote-port-description")),
        };
        self.neighbour(row, &found);
    }

    /// `nv show interface --view=lldp -o json`: ports with neighbours by name.
    fn nvue(&mut self, root: &Node) {
        for (port, node) in root.entries() {
            let Some(all) = node.get("lldp").and_then(|lldp| lldp.get("neighbor")) else {
                continue;
            };
            self.neighbours = true;
            for (name, far) in all.entries() {
                let inner = far.get("port");
                let found = Neighbour {
                    local: port.text.clone(),
                    name: name.text.clone(),
                    chassis: String::new(),
                    port: inner.map(|p| first(p, &["name", "id"])).unwrap_or_default(),
                    description: inner.map(|p| first(p, &["description"])).unwrap_or_default(),
                };
                self.neighbour(far, &found);
            }
        }
    }

    /// A cable of NetBox: before 3.3 with one termination at each end, since then with a list.
    fn netbox(&mut self, cable: &Node) {
        let ends = [("a_terminations", "termination_a"), ("b_terminations", "termination_b")];
        let [a, b] = ends.map(|(new, old)| cable.get(new).or_else(|| cable.get(old)));
        let (Some(a), Some(b)) = (a, b) else { return };
        let (first, last) = (self.base + cable.first, self.base + cable.last);
        let place = Place { file: self.reader.file, first, last };
        let end = |node: &Node| {
            let object = node.get("object").unwrap_or(node);
            let device =
                object.get("device").map(|device| self::first(device, &["name", "display"]));
            let port = text(object.get("name"));
            let device = device.filter(|device| !device.is_empty() && !port.is_empty())?;
            Some(End { device, ports: vec![port] })
        };
        // Several terminations are breakouts: one link each, if both ends have as many.
        let (near, far) = (each(a), each(b));
        let longest = near.len().max(far.len());
        let fits = near.len() == far.len() || near.len() == 1 || far.len() == 1;
        let all: Option<Vec<[End; 2]>> = (0..longest)
            .map(|at| {
                let near = near.get(at).or(near.first())?;
                let far = far.get(at).or(far.first())?;
                Some([end(near)?, end(far)?])
            })
            .collect();
        match all.filter(|all| fits && !all.is_empty()) {
            Some(all) => {
                self.cables += all.len();
                let cables = all.into_iter();
                let source = Source::Document;
                self.reader.found.cables.extend(cables.map(|ends| Cable { ends, source, place }));
            }
            // Cables of power and of patch panels have no device and port at both ends.
            None => {
                self.cables += 1;
                self.reader.unknown(first);
            }
        }
    }
}
