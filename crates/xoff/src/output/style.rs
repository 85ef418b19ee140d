//! Colour, where a terminal shows it and the user has not switched it off.

use std::io::IsTerminal;

/// Whether to colour text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Style {
    colour: bool,
}

impl Style {
    /// No colour.
    #[cfg(test)]
    pub(crate) const PLAIN: Style = Style { colour: false };

    /// For standard output.
    pub(crate) fn stdout() -> Self {
        Self { colour: std::io::stdout().is_terminal() && wanted() }
    }

    /// For standard error.
    pub(crate) fn stderr() -> Self {
        Self { colour: std::io::stderr().is_terminal() && wanted() }
    }

    /// Whether there is colour.
    pub(crate) const fn is_coloured(self) -> bool {
        self.colour
    }

    fn paint(self, codes: &str, text: &str) -> String {
        if self.colour { format!("\u{1b}[{codes}m{text}\u{1b}[0m") } else { text.to_owned() }
    }

    pub(crate) fn bold(self, text: &str) -> String {
        self.paint("1", text)
    }

    pub(crate) fn dim(self, text: &str) -> String {
        self.paint("2", text)
    }

    pub(crate) fn red(self, text: &str) -> String {
        self.paint("1;31", text)
    }

    pub(crate) fn green(self, text: &str) -> String {
        self.paint("1;32", text)
    }

    pub(crate) fn yellow(self, text: &str) -> String {
        self.paint("1;33", text)
    }

    pub(crate) fn cyan(self, text: &str) -> String {
        self.paint("1;36", text)
    }
}

/// Whether the environment leaves colour to us.
fn wanted() -> bool {
    let set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    !set("NO_COLOR") && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_text_stays_plain() {
        assert_eq!(Style::PLAIN.red("no"), "no");
        assert_eq!(Style { colour: true }.bold("b"), "\u{1b}[1mb\u{1b}[0m");
    }
}
