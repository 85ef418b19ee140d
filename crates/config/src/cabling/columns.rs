//! Neighbour tables with a heading and columns: `show lldp neighbors`, `show lldp table`, `nv show interface lldp`.
//!
//! What a column is, is seen from its heading, so that one reader does for all systems. Cells are words where a row has as many as
//! there are columns, else what two spaces separate, else what stands under each heading.

use super::{Neighbour, Reader};

/// What a column says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    Local,
    Name,
    Chassis,
    Port,
    Description,
    Other,
}

/// Headings without spaces and signs, in lower case.
const HEADINGS: [(Role, &[&str]); 5] = [
    (
        Role::Local,
        &[
            "port",
            "localport",
            "localintf",
            "localinterface",
            "localint",
            "locportid",
            "interface",
            "localportid",
            "localif",
            "intf",
        ],
    ),
    (
        Role::Name,
        &[
            "neighbordeviceid",
            "neighbordevice",
            "neighborname",
            "neighborsystemname",
            "deviceid",
            "remotedevice",
            "systemname",
            "sysname",
            "remhostname",
            "remotehost",
            "remotesystem",
            "remotesystemname",
            "remotehostname",
            "neighbor",
            "neighbour",
        ],
    ),
    (Role::Chassis, &["chassisid", "remchassisid", "remotechassisid", "neighborchassisid"]),
    (
        Role::Port,
        &[
            "neighborportid",
            "neighborport",
            "neighborinterface",
            "portid",
            "remoteportid",
            "remoteport",
            "remoteinterface",
            "remportid",
            "portinfo",
        ],
    ),
    (
        Role::Description,
        &["remoteportdescr", "remoteportdescription", "portdescr", "portdesc", "portdescription"],
    ),
];

/// A heading and where it starts.
#[derive(Debug)]
struct Column {
    role: Role,
    start: usize,
}

/// Reads a table that starts at the first line; says how many lines it has.
pub(super) fn read(reader: &mut Reader, number: u32, lines: &[&str]) -> Option<usize> {
    let columns = heading(lines[0], lines.get(1).copied())?;
    let mut table = Rows { columns, pending: None, rows: 0 };
    let mut taken = 1;
    for line in &lines[1..] {
        let text = line.trim();
        let rule = !text.is_empty() && text.chars().all(|c| "-=+| …".contains(c));
        let ends = text.starts_with("Total ") || heading(line, None).is_some();
        if ends || (table.rows > 0 && (text.is_empty() || rule)) {
            break;
        }
        if !text.is_empty() && !rule {
            table.row(reader, number + taken as u32, line);
        }
        taken += 1;
    }
    reader.table(number, number + taken as u32 - 1);
    Some(taken)
}

fn heading(line: &str, below: Option<&str>) -> Option<Vec<Column>> {
    let likely = ["ort", "ntf", "nterface", "ORT", "NTERFACE"];
    if line.len() > 400 || !line.is_ascii() || !likely.iter().any(|part| line.contains(part)) {
        return None;
    }
    let starts = below.and_then(ruled).unwrap_or_else(|| spaced(line));
    let columns: Vec<Column> = (0..starts.len())
        .map(|at| {
            let end = starts.get(at + 1).copied().unwrap_or(line.len()).min(line.len());
            let text = line.get(starts[at].min(end)..end).unwrap_or_default();
            Column { role: role(text), start: starts[at] }
        })
        .collect();
    let count = |role| columns.iter().filter(|column| column.role == role).count();
    let named = count(Role::Name) == 1 || (count(Role::Name) == 0 && count(Role::Chassis) == 1);
    (count(Role::Local) == 1 && count(Role::Port) == 1 && named).then_some(columns)
}

fn role(heading: &str) -> Role {
    let plain: String = heading.chars().filter(char::is_ascii_alphanumeric).collect();
    let plain = plain.to_ascii_lowercase();
    let found = HEADINGS.iter().find(|(_, names)| names.contains(&plain.as_str()));
    found.map_or(Role::Other, |(role, _)| *role)
}

/// Where columns start by the dashes under their headings.
fn ruled(below: &str) -> Option<Vec<usize>> {
    let dashes = |c: char| "-=…".contains(c);
    let rule = below.contains("--") && below.chars().all(|c| dashes(c) || c == ' ');
    let starts: Vec<usize> = (below.char_indices().zip(std::iter::once(' ').chain(below.chars())))
        .filter(|((_, c), before)| dashes(*c) && *before == ' ')
        .map(|((at, _), _)| at)
        .collect();
    (rule && starts.len() > 2).then_some(starts)
}

/// Where columns start by the gaps between headings: two spaces or a tab.
fn spaced(line: &str) -> Vec<usize> {
    let mut starts = Vec::new();
    let mut gap = 2;
    for (at, byte) in line.bytes().enumerate() {
        match byte {
            b'\t' => gap = 2,
            b' ' => gap += 1,
            _ => {
                if gap > 1 {
                    starts.push(at);
                }
                gap = 0;
            }
        }
    }
    starts
}

struct Rows {
    columns: Vec<Column>,
    /// A name that was too long for its column: the rest of its row is on the next line.
    pending: Option<String>,
    rows: usize,
}

impl Rows {
    fn row(&mut self, reader: &mut Reader, number: u32, line: &str) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let first = self.columns.first().map(|column| column.role);
        if words.len() == 1 && first == Some(Role::Name) && !line.starts_with(char::is_whitespace) {
            self.pending = Some(words[0].to_owned());
            return;
        }
        let mut found = Neighbour::default();
        let Some(cells) = self.cells(line, &words) else {
            self.pending = None;
            return reader.unknown(number);
        };
        for (column, cell) in self.columns.iter().zip(cells) {
            let cell = if ["-", "N/A", "n/a", "--"].contains(&cell) { "" } else { cell };
            let field = match column.role {
                Role::Local => &mut found.local,
                Role::Name => &mut found.name,
                Role::Chassis => &mut found.chassis,
                Role::Port => &mut found.port,
                Role::Description => &mut found.description,
                Role::Other => continue,
            };
            cell.trim_matches('"').clone_into(field);
        }
        if let Some(name) = self.pending.take().filter(|_| found.name.is_empty()) {
            found.name = name;
        }
        let silent = found.name.is_empty() && found.chassis.is_empty() && found.port.is_empty();
        self.rows += 1;
        if silent {
            return;
        }
        if !is_port(&found.local) || !reader.neighbour(number, number, &found) {
            reader.unknown(number);
        }
    }

    fn cells<'l>(&self, line: &'l str, words: &[&'l str]) -> Option<Vec<&'l str>> {
        if words.len() == self.columns.len() && self.pending.is_none() {
            return Some(words.to_vec());
        }
        let starts = spaced(line);
        if starts.len() == self.columns.len() && self.pending.is_none() {
            let ends = starts.iter().skip(1).copied().chain([line.len()]);
            return starts
                .iter()
                .zip(ends)
                .map(|(start, end)| Some(line.get(*start..end)?.trim()))
                .collect();
        }
        let mut cells = Vec::with_capacity(self.columns.len());
        for (at, column) in self.columns.iter().enumerate() {
            let end =
                self.columns.get(at + 1).map_or(line.len(), |next| next.start).min(line.len());
            let cell = line.get(column.start.min(end)..end)?;
            // A cell that runs into the next one was cut, and says so; otherwise headings say nothing about this row.
            let runs_over = end < line.len()
                && !cell.ends_with([' ', '\t'])
                && !line[end..].starts_with([' ', '\t'])
                && !cell.ends_with("...");
            if runs_over {
                return None;
            }
            cells.push(cell.trim());
        }
        Some(cells)
    }
}

fn is_port(text: &str) -> bool {
    let starts = text.starts_with(|c: char| c.is_ascii_alphabetic()) || text.contains('/');
    let plain = |c: char| c.is_ascii_alphanumeric() || "/:-_. ".contains(c);
    starts && text.contains(|c: char| c.is_ascii_digit()) && text.chars().all(plain)
}
