//! [`Screen`]: what the user has chosen to see.

use crate::model::{LinkOrder, NicOrder};

/// A part of the screen that can be scrolled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Panel {
    /// What is wrong.
    Findings,
    /// The hottest links.
    Links,
    /// How pauses spread.
    Pauses,
    /// NICs that trouble others.
    Nics,
}

impl Panel {
    /// All of them, in the order of the tab key.
    pub const ALL: [Panel; 4] = [Panel::Findings, Panel::Links, Panel::Pauses, Panel::Nics];

    const fn index(self) -> usize {
        self as usize
    }
}

/// What covers the whole screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Overlay {
    /// The keys.
    Help,
    /// The whole diagnosis with its evidence.
    Diagnosis,
}

/// A key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Key {
    /// A character.
    Char(char),
    /// An arrow.
    Up,
    /// An arrow.
    Down,
    /// An arrow.
    Left,
    /// An arrow.
    Right,
    /// A page up.
    PageUp,
    /// A page down.
    PageDown,
    /// To the beginning.
    Home,
    /// To the end.
    End,
    /// The next panel.
    Tab,
    /// The panel before.
    BackTab,
    /// Escape.
    Esc,
    /// Ctrl-C.
    Interrupt,
}

/// What a key asks of the source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Nothing.
    Nothing,
    /// To end.
    Quit,
    /// To ask the store now.
    Refresh,
    /// To play or to stand still.
    Toggle,
    /// To go so many steps on or back.
    Step(isize),
    /// To go to the first step.
    First,
    /// To go to the last step.
    Last,
    /// To play twice or half as fast.
    Faster(bool),
}

/// What the user has chosen to see.
#[derive(Debug, Clone)]
pub struct Screen {
    /// The panel that keys move.
    pub focus: Panel,
    /// What covers the screen.
    pub overlay: Option<Overlay>,
    /// The order of the links.
    pub links: LinkOrder,
    /// The order of the NICs.
    pub nics: NicOrder,
    /// Whether there is colour.
    pub colour: bool,
    /// Lines above what is shown, by panel; drawing keeps them within what there is.
    pub(crate) scroll: [usize; Panel::ALL.len()],
    /// The same of what covers the screen.
    pub(crate) overlay_scroll: usize,
    /// Lines that a page has, as last drawn.
    pub(crate) page: usize,
}

impl Screen {
    /// As it begins.
    pub fn new(colour: bool) -> Self {
        Self {
            focus: Panel::Links,
            overlay: None,
            links: LinkOrder::default(),
            nics: NicOrder::default(),
            colour,
            scroll: [0; Panel::ALL.len()],
            overlay_scroll: 0,
            page: 1,
        }
    }

    /// Takes a key.
    pub fn key(&mut self, key: Key) -> Action {
        let page = self.page.max(1) as isize;
        match key {
            Key::Interrupt | Key::Char('q' | 'Q') => return Action::Quit,
            Key::Esc if self.overlay.is_none() => return Action::Quit,
            Key::Esc => self.overlay = None,
            Key::Char('?' | 'h') => self.cover(Overlay::Help),
            Key::Char('d') => self.cover(Overlay::Diagnosis),
            Key::Up | Key::Char('k') => self.move_by(-1),
            Key::Down | Key::Char('j') => self.move_by(1),
            Key::PageUp => self.move_by(-page),
            Key::PageDown => self.move_by(page),
            Key::Tab => self.turn(1),
            Key::BackTab => self.turn(Panel::ALL.len() - 1),
            Key::Char('s') => self.reorder(),
            Key::Char('r') => return Action::Refresh,
            Key::Char(' ') => return Action::Toggle,
            Key::Left => return Action::Step(-1),
            Key::Right => return Action::Step(1),
            Key::Home | Key::Char('g') => return Action::First,
            Key::End | Key::Char('G') => return Action::Last,
            Key::Char('+' | '=') => return Action::Faster(true),
            Key::Char('-') => return Action::Faster(false),
            Key::Char(_) => {}
        }
        Action::Nothing
    }

    /// Covers the screen, or shows it again.
    fn cover(&mut self, overlay: Overlay) {
        self.overlay = (self.overlay != Some(overlay)).then_some(overlay);
        self.overlay_scroll = 0;
    }

    fn move_by(&mut self, lines: isize) {
        let scroll = match self.overlay {
            Some(_) => &mut self.overlay_scroll,
            None => &mut self.scroll[self.focus.index()],
        };
        *scroll = scroll.saturating_add_signed(lines);
    }

    fn turn(&mut self, by: usize) {
        self.focus = Panel::ALL[(self.focus.index() + by) % Panel::ALL.len()];
    }

    /// The next order of the table that keys move; of the links if that has none.
    fn reorder(&mut self) {
        if self.focus == Panel::Nics {
            self.nics = after(&NicOrder::ALL, self.nics);
        } else {
            self.links = after(&LinkOrder::ALL, self.links);
        }
    }

    /// Lines above what is shown of a panel with so many lines, of which so many fit.
    pub(crate) fn top(&mut self, panel: Panel, lines: usize, room: usize) -> usize {
        let scroll = &mut self.scroll[panel.index()];
        *scroll = (*scroll).min(lines.saturating_sub(room));
        if panel == self.focus && self.overlay.is_none() {
            self.page = room;
        }
        *scroll
    }

    /// The same of what covers the screen.
    pub(crate) fn overlay_top(&mut self, lines: usize, room: usize) -> usize {
        self.overlay_scroll = self.overlay_scroll.min(lines.saturating_sub(room));
        self.page = room;
        self.overlay_scroll
    }
}

fn after<T: Copy + PartialEq>(all: &[T], now: T) -> T {
    let at = all.iter().position(|one| *one == now).unwrap_or(0);
    all[(at + 1) % all.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escape_uncovers_first_and_quits_then() {
        let mut screen = Screen::new(false);
        assert_eq!(screen.key(Key::Char('d')), Action::Nothing);
        assert_eq!(screen.overlay, Some(Overlay::Diagnosis));
        screen.key(Key::Char('?'));
        assert_eq!(screen.overlay, Some(Overlay::Help));
        assert_eq!(screen.key(Key::Esc), Action::Nothing);
        assert_eq!(screen.overlay, None);
        assert_eq!(screen.key(Key::Esc), Action::Quit);
        assert_eq!(screen.key(Key::Interrupt), Action::Quit);
    }

    #[test]
    fn tab_goes_round_both_ways_and_s_orders_the_table_in_focus() {
        let mut screen = Screen::new(false);
        for _ in 0..Panel::ALL.len() {
            screen.key(Key::Tab);
        }
        assert_eq!(screen.focus, Panel::Links);
        screen.key(Key::Char('s'));
        assert_eq!((screen.links, screen.nics), (LinkOrder::Utilisation, NicOrder::Worst));
        screen.key(Key::BackTab);
        screen.key(Key::BackTab);
        assert_eq!(screen.focus, Panel::Nics);
        screen.key(Key::Char('s'));
        assert_eq!(screen.nics, NicOrder::Retransmitted);
    }

    #[test]
    fn scrolling_ends_where_the_lines_do() {
        let mut screen = Screen::new(false);
        for _ in 0..100 {
            screen.key(Key::Down);
        }
        assert_eq!(screen.top(Panel::Links, 30, 10), 20);
        screen.key(Key::PageUp);
        assert_eq!(screen.top(Panel::Links, 30, 10), 10);
        assert_eq!(screen.top(Panel::Links, 3, 10), 0);
    }
}
