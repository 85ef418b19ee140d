//! The terminal: keys in, frames out, and everything as it was when it ends.

use super::source::Source;
use super::worker::{News, Order, Worker};
use crate::clock::{self, Stopwatch};
use crate::exit::{Exit, Failure};
use crate::interrupt::Interrupt;
use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use std::io;
use std::sync::mpsc::TryRecvError;
use std::time::Duration;
use xoff_watch::draw;
use xoff_watch::header::{Feed, Header};
use xoff_watch::model::View;
use xoff_watch::screen::{Action, Key, Screen};

/// The longest wait for a key: ages move on, and news are looked for.
const WAIT: Duration = Duration::from_millis(100);
/// How long after a signal it ends by itself, where it can.
const GRACE: Duration = Duration::from_secs(1);

/// Shows a source until the user has seen enough.
pub(crate) fn run(source: Source, colour: bool) -> Result<Exit, Failure> {
    let header = match &source {
        Source::Recorded(recorded) => recorded.header.clone(),
        Source::Stored(stored) => stored.header.clone(),
    };
    let interrupt = Interrupt::listen();
    end_without_terminal(interrupt.clone());
    let worker = Worker::start(source);
    let mut watch = Watch { header, worker, screen: Screen::new(colour), view: None, shown: None };
    // It restores the terminal when anything panics, too.
    let mut terminal = ratatui::try_init()
        .map_err(|error| Failure::input(format!("this terminal cannot be used: {error}")))?;
    let outcome = watch.until_quit(&mut terminal, &interrupt);
    ratatui::restore();
    outcome
}

/// Ends the process if a signal did not: the wait for a key never returns once the terminal has gone away, which is when a
/// signal says so.
fn end_without_terminal(interrupt: Interrupt) {
    std::thread::spawn(move || {
        while !interrupt.requested() {
            std::thread::sleep(WAIT);
        }
        std::thread::sleep(GRACE);
        // There may be no terminal left to restore.
        let _ = ratatui::try_restore();
        std::process::exit(i32::from(Exit::Interrupted.code()));
    });
}

/// All that a frame is made of.
struct Watch {
    header: Header,
    worker: Worker,
    screen: Screen,
    view: Option<Box<View>>,
    /// The step of a recording that was asked for last.
    shown: Option<usize>,
}

impl Watch {
    fn until_quit(
        &mut self,
        terminal: &mut DefaultTerminal,
        interrupt: &Interrupt,
    ) -> Result<Exit, Failure> {
        let broken = |error: io::Error| Failure::write(format!("the terminal failed: {error}"));
        let mut passed = Stopwatch::start();
        while !interrupt.requested() {
            let time = passed.elapsed();
            passed = Stopwatch::start();
            self.advance(time)?;
            terminal.draw(|frame| self.draw(frame)).map_err(broken)?;
            let mut wait = WAIT;
            // All keys that are there, then one frame.
            while event::poll(wait).map_err(broken)? {
                wait = Duration::ZERO;
                let read = event::read().map_err(broken)?;
                if let Some(key) = key(&read)
                    && self.key(key)
                {
                    return Ok(Exit::Fine);
                }
            }
        }
        Ok(Exit::Interrupted)
    }

    fn draw(&mut self, frame: &mut ratatui::Frame<'_>) {
        let area = frame.area();
        let view = self.view.as_deref();
        draw::screen(frame.buffer_mut(), area, &self.header, view, &mut self.screen);
    }

    /// Time passes, and news arrive.
    fn advance(&mut self, time: Duration) -> Result<(), Failure> {
        loop {
            match (self.worker.news.try_recv(), &mut self.header.feed) {
                (Ok(News::View(view, newest)), feed) => {
                    self.view = Some(view);
                    if let Feed::Store(state) = feed {
                        (state.newest, state.trouble) = (newest, None);
                    }
                }
                (Ok(News::Trouble(trouble)), Feed::Store(state)) => state.trouble = Some(trouble),
                (Ok(News::Trouble(_)), Feed::Recording(_)) => {}
                (Err(TryRecvError::Empty), _) => break,
                (Err(TryRecvError::Disconnected), _) => {
                    return Err(Failure::input(
                        "the counters could not be evaluated; this is a defect",
                    ));
                }
            }
        }
        match &mut self.header.feed {
            Feed::Store(state) => state.now = clock::now(),
            Feed::Recording(player) => {
                player.tick(time);
                let at = player.at();
                if self.shown != Some(at) {
                    self.shown = Some(at);
                    self.order(Order::Show(at));
                }
            }
        }
        Ok(())
    }

    /// Takes a key; true ends it.
    fn key(&mut self, key: Key) -> bool {
        let action = self.screen.key(key);
        match (action, &mut self.header.feed) {
            (Action::Quit, _) => return true,
            (Action::Refresh, Feed::Store(_)) => self.order(Order::Refresh),
            (Action::Toggle, Feed::Recording(player)) => player.toggle(),
            (Action::Step(steps), Feed::Recording(player)) => player.step(steps),
            (Action::First, Feed::Recording(player)) => player.go_to(1),
            (Action::Last, Feed::Recording(player)) => player.go_to(usize::MAX),
            (Action::Faster(faster), Feed::Recording(player)) => player.faster(faster),
            _ => {}
        }
        false
    }

    fn order(&self, order: Order) {
        // A thread that has ended is noticed where its news are read.
        let _ = self.worker.orders.send(order);
    }
}

/// A key that was pressed, if it means anything here.
fn key(event: &Event) -> Option<Key> {
    let Event::Key(KeyEvent { code, modifiers, kind, .. }) = event else { return None };
    if *kind == KeyEventKind::Release {
        return None;
    }
    let control = modifiers.contains(KeyModifiers::CONTROL);
    Some(match code {
        KeyCode::Char('c') if control => Key::Interrupt,
        KeyCode::Char(_) if control => return None,
        KeyCode::Char(c) => Key::Char(*c),
        KeyCode::Up => Key::Up,
        KeyCode::Down => Key::Down,
        KeyCode::Left => Key::Left,
        KeyCode::Right => Key::Right,
        KeyCode::PageUp => Key::PageUp,
        KeyCode::PageDown => Key::PageDown,
        KeyCode::Home => Key::Home,
        KeyCode::End => Key::End,
        KeyCode::Tab => Key::Tab,
        KeyCode::BackTab => Key::BackTab,
        KeyCode::Esc => Key::Esc,
        _ => return None,
    })
}
