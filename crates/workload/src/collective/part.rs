//! [`Part`]: what a worker does at each step, as a pure function of its place.
//!
//! These are the primitives of NCCL (send, receive-reduce-send, receive-copy-send, receive …) in one
//! form: an [`Op`] takes a piece from some inputs, makes something of it, and gives that to some
//! outputs. All of a collective's algorithm is here; [`super::machine`] only moves the pieces.

/// First input or output of a worker: the ring, or the parent.
pub(crate) const MAIN: u8 = 1;
/// Second input or output: the other worker of the same rank.
pub(crate) const LOCAL: u8 = 2;

/// What goes out, made of what came in. A machine moves bytes and does not care; the tests do, and
/// readers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effect {
    /// The rank's own data.
    Own,
    /// The rank's own data with all that came in.
    Combine,
    /// All that came in.
    Merge,
    /// What came in, as it is.
    Forward,
}

/// One step of a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Op {
    /// Inputs that it takes a piece from, one bit each.
    pub(crate) takes: u8,
    /// Outputs that it gives a piece to, one bit each.
    pub(crate) gives: u8,
    /// Which chunk of the lap.
    pub(crate) chunk: u32,
    /// What is made of it.
    pub(crate) effect: Effect,
    /// Whether the result belongs into the rank's output.
    pub(crate) keeps: bool,
}

/// A place in a ring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) at: u32,
    pub(crate) of: u32,
}

impl Place {
    /// The place so many before this one.
    const fn back(self, steps: u32) -> u32 {
        (self.at + self.of - steps % self.of) % self.of
    }
}

/// What a worker does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// Ring AllReduce: everybody's chunks come round once to be added up and once to be handed out.
    AllReduce(Place),
    /// Ring AllGather: chunk `i` is that of place `i`.
    AllGather(Place),
    /// Ring ReduceScatter: chunk `i` ends at place `i`.
    ReduceScatter(Place),
    /// In the server, ReduceScatter of every row of chunks, in the order the rail's ring wants them.
    Scatter { column: Place, row: Place },
    /// On the rail, AllReduce of the column that this GPU holds.
    Rail { column: Place, row: Place },
    /// In the server, AllGather of every row, in the order the rail's ring finishes them.
    Gather { column: Place, row: Place },
    /// The same step in every lap: trees and chains.
    Same(Op),
}

impl Part {
    /// Steps of one lap.
    pub(crate) const fn steps(&self) -> u32 {
        match self {
            Part::AllReduce(place) => 2 * place.of - 1,
            Part::AllGather(place) | Part::ReduceScatter(place) => place.of,
            Part::Scatter { column, row } | Part::Gather { column, row } => column.of * row.of,
            Part::Rail { row, .. } => 2 * row.of - 1,
            Part::Same(_) => 1,
        }
    }

    /// The same without its place: parts of one kind take and give alike at every step.
    pub(crate) fn kind(&self) -> (std::mem::Discriminant<Self>, u32, Option<Op>) {
        let of = match self {
            Part::AllReduce(place) | Part::AllGather(place) | Part::ReduceScatter(place) => {
                (place.of, None)
            }
            Part::Scatter { column, row }
            | Part::Rail { column, row }
            | Part::Gather { column, row } => (column.of << 16 ^ row.of, None),
            Part::Same(op) => (1, Some(*op)),
        };
        (std::mem::discriminant(self), of.0, of.1)
    }

    /// Pieces taken from an input in one lap.
    pub(crate) const fn taken(&self, input: u8) -> u32 {
        let main = input == MAIN;
        match self {
            Part::AllReduce(place) if main => 2 * (place.of - 1),
            Part::AllGather(place) | Part::ReduceScatter(place) if main => place.of - 1,
            Part::Scatter { column, row } | Part::Gather { column, row } if main => {
                row.of * (column.of - 1)
            }
            Part::Gather { row, .. } | Part::Rail { row, .. } if input == LOCAL => row.of,
            Part::Rail { row, .. } if main => 2 * (row.of - 1),
            Part::Same(op) => (op.takes & input != 0) as u32,
            _ => 0,
        }
    }

    /// The step `step` of a lap.
    pub(crate) const fn op(&self, step: u32) -> Op {
        match *self {
            Part::AllReduce(place) => all_reduce(place, step),
            Part::AllGather(place) => all_gather(place, step, MAIN, Effect::Own),
            Part::ReduceScatter(place) => reduce_scatter(place, step),
            Part::Scatter { column, row } => {
                let op = reduce_scatter(column, step % column.of);
                let gives = if op.keeps { LOCAL } else { op.gives };
                let chunk = row.back(1 + step / column.of) * column.of + op.chunk;
                Op { gives, chunk, keeps: false, ..op }
            }
            Part::Rail { column, row } => rail(column, row, step),
            Part::Gather { column, row } => {
                let mut op = all_gather(column, step % column.of, MAIN, Effect::Forward);
                if step.is_multiple_of(column.of) {
                    op.takes = LOCAL;
                }
                op.chunk += row.back(step / column.of) * column.of;
                op
            }
            Part::Same(op) => op,
        }
    }
}

/// Starts with the chunk before its own and ends, after everybody added to it, with its own.
const fn reduce_scatter(place: Place, step: u32) -> Op {
    let chunk = place.back(1 + step);
    let last = step == place.of - 1;
    Op {
        takes: if step == 0 { 0 } else { MAIN },
        gives: if last { 0 } else { MAIN },
        chunk,
        effect: if step == 0 { Effect::Own } else { Effect::Combine },
        keeps: last,
    }
}

/// Starts with its own chunk and passes on what the ones before it had.
const fn all_gather(place: Place, step: u32, gives: u8, first: Effect) -> Op {
    Op {
        takes: if step == 0 { 0 } else { MAIN },
        gives: if step == place.of - 1 { 0 } else { gives },
        chunk: place.back(step),
        effect: if step == 0 { first } else { Effect::Forward },
        keeps: true,
    }
}

/// ReduceScatter and AllGather, where the last step of the one is the first of the other.
const fn all_reduce(place: Place, step: u32) -> Op {
    let turn = place.of - 1;
    if step < turn {
        return reduce_scatter(place, step);
    }
    let op = all_gather(place, step - turn, MAIN, Effect::Combine);
    Op { takes: MAIN, ..op }
}

/// AllReduce along the rail. A GPU's own share comes from its scattering worker, and what is
/// finished goes to its gathering worker.
const fn rail(column: Place, row: Place, step: u32) -> Op {
    let op = all_reduce(row, step);
    let adds = step < row.of;
    let alone = row.of == 1;
    Op {
        takes: if alone { LOCAL } else { op.takes | if adds { LOCAL } else { 0 } },
        gives: op.gives | if op.keeps { LOCAL } else { 0 },
        chunk: op.chunk * column.of + column.at,
        effect: if adds { Effect::Merge } else { Effect::Forward },
        keeps: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_taken_is_what_the_steps_take() {
        for columns in 1..6 {
            for rows in 1..6 {
                let column = Place { at: columns / 2, of: columns };
                let row = Place { at: rows - 1, of: rows };
                let parts = [
                    Part::AllReduce(column),
                    Part::AllGather(column),
                    Part::ReduceScatter(column),
                    Part::Scatter { column, row },
                    Part::Rail { column, row },
                    Part::Gather { column, row },
                ];
                for part in parts {
                    // A ring of one has no step that takes: it is never built but for columns.
                    if columns == 1 && matches!(part, Part::AllReduce(_)) {
                        continue;
                    }
                    for input in [MAIN, LOCAL, 4] {
                        let takes = |step: &u32| part.op(*step).takes & input != 0;
                        let count = (0..part.steps()).filter(takes).count();
                        assert_eq!(count as u32, part.taken(input), "{part:?} {input}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_ring_of_three() {
        let ops: Vec<_> = (0..5)
            .map(|step| Part::AllReduce(Place { at: 0, of: 3 }).op(step))
            .map(|op| (op.takes, op.gives, op.chunk, op.keeps))
            .collect();
        let expected =
            [(0, 1, 2, false), (1, 1, 1, false), (1, 1, 0, true), (1, 1, 2, true), (1, 0, 1, true)];
        assert_eq!(ops, expected);
    }
}
