//! A device on each line: plain lists, and CSV under headings.

use super::Found;
use super::fields::{Field, Raw, shown};

/// `leaf0 eos address=10.0.0.10 user=admin`, with comments behind `#`.
pub(super) fn read_list(text: &str) -> Found {
    let mut found = Found::default();
    for (line, number) in text.trim_start_matches('\u{feff}').lines().zip(1u32..) {
        let line = match line.find('#') {
            Some(at) if at == 0 || line[..at].ends_with(char::is_whitespace) => &line[..at],
            _ => line,
        };
        let mut words = line.split_whitespace();
        let Some(name) = words.next() else { continue };
        let mut raw = Raw::new(name, number);
        for (word, place) in words.zip(0..) {
            match word.split_once('=') {
                Some((key, value)) => match Field::of_key(key) {
                    Some(field) => raw.set(field, value, number),
                    None => {
                        let message = format!("`{}` is not known here", shown(key));
                        found.mistake(number, message, format!("keys are {}", Field::keys()));
                    }
                },
                None if place == 0 => raw.set(Field::System, word, number),
                None => {
                    let message = format!("`{}`: `{}` is too much", shown(name), shown(word));
                    let cure = "a line is a name, a system and maybe address=10.0.0.10 user=admin port=22 \
                                jump=bastion identity=~/.ssh/fabric";
                    found.mistake(number, message, cure);
                }
            }
        }
        found.device(raw);
    }
    found
}

/// What a column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Column {
    Name,
    Field(Field),
    Other,
}

/// The column under a heading, as people and their tools call it.
fn column(heading: &str) -> Column {
    let plain = heading.trim().to_ascii_lowercase().replace(['_', '-', ' ', '.'], "");
    match plain.as_str() {
        "name" | "host" | "hostname" | "device" | "devicename" | "inventoryhostname" => {
            Column::Name
        }
        "address" | "ip" | "ipaddress" | "managementip" | "mgmtip" | "managementaddress"
        | "mgmtaddress" | "oobip" | "primaryip" | "primaryip4" | "ansiblehost" | "fqdn" => {
            Column::Field(Field::Address)
        }
        "system" | "os" | "nos" | "platform" | "networkos" | "operatingsystem"
        | "ansiblenetworkos" | "devicetypeos" => Column::Field(Field::System),
        "user" | "username" | "login" | "ansibleuser" => Column::Field(Field::User),
        "port" | "sshport" | "ansibleport" => Column::Field(Field::Port),
        "jump" | "jumphost" | "proxyjump" | "bastion" => Column::Field(Field::Jump),
        "identity" | "identityfile" | "key" | "keyfile" | "privatekey" => {
            Column::Field(Field::Identity)
        }
        _ => Column::Other,
    }
}

pub(super) fn read_csv(text: &str) -> Found {
    let mut found = Found::default();
    let text = text.trim_start_matches('\u{feff}');
    let heading = text.lines().find(|line| !blank(line)).unwrap_or("");
    let mark = [',', ';', '\t']
        .into_iter()
        .max_by_key(|mark| (heading.matches(*mark).count(), *mark == ','));
    let mut rows = Rows { rest: text, line: 1, mark: mark.unwrap_or(',') };
    let Some((line, cells)) = rows.next() else { return found };
    let columns: Vec<Column> = cells.iter().map(|cell| column(cell)).collect();
    for wanted in columns.iter().filter(|wanted| **wanted != Column::Other) {
        if columns.iter().filter(|other| *other == wanted).count() > 1 {
            let message = "two columns say the same of a device";
            found.mistake(line, message, "leave one of them out, or rename its heading");
            return found;
        }
    }
    if !columns.contains(&Column::Name) {
        let message = "no column is called `name`";
        found.mistake(
            line,
            message,
            "begin with headings: name,address,system,user,port,jump,identity",
        );
        return found;
    }
    let unused = cells.iter().zip(&columns).filter(|(_, column)| **column == Column::Other);
    let unused: Vec<String> = unused.map(|(cell, _)| shown(cell.trim())).collect();
    if !unused.is_empty() {
        found.notes.push(format!("columns that are not used: {}", unused.join(", ")));
    }
    for (line, cells) in rows {
        row(&mut found, line, &cells, &columns);
    }
    found
}

fn blank(line: &str) -> bool {
    line.trim().is_empty() || line.starts_with('#')
}

fn row(found: &mut Found, line: u32, cells: &[String], columns: &[Column]) {
    let mut raw = Raw::new("", line);
    for (cell, column) in cells.iter().zip(columns) {
        match column {
            Column::Name => raw.name = cell.trim().to_owned(),
            Column::Field(field) => raw.set(*field, cell, line),
            Column::Other => {}
        }
    }
    let beyond = cells.get(columns.len()..).unwrap_or(&[]);
    if beyond.iter().any(|cell| !cell.trim().is_empty()) {
        let message = format!("{} cells under {} headings", cells.len(), columns.len());
        found.mistake(line, message, "put values that contain the separator into quotation marks");
    } else if raw.name.is_empty() {
        found.mistake(line, "a device has no name", "fill the column `name`");
    } else {
        found.device(raw);
    }
}

/// Rows with the line each begins on. A value in quotation marks may have separators and line ends.
struct Rows<'a> {
    rest: &'a str,
    line: u32,
    mark: char,
}

impl Iterator for Rows<'_> {
    type Item = (u32, Vec<String>);

    fn next(&mut self) -> Option<Self::Item> {
        // Empty lines and comments between rows.
        while let Some(line) = self.rest.split_inclusive('\n').next() {
            if !blank(line) {
                break;
            }
            self.rest = &self.rest[line.len()..];
            self.line += 1;
        }
        if self.rest.is_empty() {
            return None;
        }
        let first = self.line;
        let (mut cells, mut cell, mut quoted) = (Vec::new(), String::new(), false);
        let mut chars = self.rest.char_indices().peekable();
        let mut end = self.rest.len();
        while let Some((at, c)) = chars.next() {
            match c {
                '"' if quoted && chars.peek().is_some_and(|(_, next)| *next == '"') => {
                    chars.next();
                    cell.push('"');
                }
                '"' if quoted => quoted = false,
                '"' if cell.trim().is_empty() => quoted = true,
                '\n' if !quoted => {
                    end = at + 1;
                    self.line += 1;
                    break;
                }
                c if c == self.mark && !quoted => cells.push(std::mem::take(&mut cell)),
                '\r' => {}
                c => {
                    self.line += u32::from(c == '\n');
                    cell.push(c);
                }
            }
        }
        cells.push(cell);
        self.rest = &self.rest[end..];
        Some((first, cells))
    }
}
