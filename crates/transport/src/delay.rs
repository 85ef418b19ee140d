//! Things that take effect a fixed time after they happen.

use std::collections::VecDeque;
use xoff_units::Instant;

/// Notifications on their way at one time; more than these join the last.
const MOST: usize = 256;

/// The instants at which delayed things are due, in order.
#[derive(Debug, Clone, Default)]
pub(crate) struct DelayLine {
    /// Boxed, because most queue pairs delay nothing and the line should cost them a word.
    due: Option<Box<Line>>,
}

#[derive(Debug, Clone, Default)]
struct Line(VecDeque<Instant>);

impl DelayLine {
    /// Something happens at `at`, which is not before anything else in the line.
    pub(crate) fn push(&mut self, at: Instant) {
        let line = &mut self.due.get_or_insert_default().0;
        debug_assert!(line.back().is_none_or(|&last| last <= at), "{at:?} is before the last");
        if line.len() < MOST {
            line.push_back(at);
        }
    }

    /// When the first thing is due.
    #[inline]
    pub(crate) fn due(&self) -> Instant {
        match &self.due {
            None => Instant::MAX,
            Some(line) => line.0.front().copied().unwrap_or(Instant::MAX),
        }
    }

    /// Takes the first thing if it is due.
    pub(crate) fn pop(&mut self, now: Instant) -> Option<Instant> {
        let line = &mut self.due.as_mut()?.0;
        if *line.front()? <= now { line.pop_front() } else { None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comes_out_when_due_and_in_order() {
        let mut line = DelayLine::default();
        assert_eq!(line.due(), Instant::MAX);
        line.push(Instant::from_ps(5));
        line.push(Instant::from_ps(9));
        assert_eq!(line.pop(Instant::from_ps(4)), None);
        assert_eq!(line.pop(Instant::from_ps(20)), Some(Instant::from_ps(5)));
        assert_eq!(line.due(), Instant::from_ps(9));
    }

    #[test]
    fn is_bounded() {
        let mut line = DelayLine::default();
        for ps in 0..10_000 {
            line.push(Instant::from_ps(ps));
        }
        let left = std::iter::from_fn(|| line.pop(Instant::MAX)).count();
        assert_eq!(left, MOST);
    }
}
