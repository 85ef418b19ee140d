//! What an [`Aggregate`](super::Aggregate) consists of.

use super::super::STEPS;
use super::super::shape::{Shape, ragged};
use std::collections::VecDeque;
use xoff_fabric::model::NicId;
use xoff_units::{Bytes, Span};

/// How the share of a column is cut: into steps, which hosts handle, and those into pieces, which switches handle.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cut {
    pub(super) shape: Shape,
    /// Most bytes of a piece.
    pub(super) piece: u64,
    pub(super) steps: u32,
}

impl Cut {
    pub(super) fn bytes(&self) -> Bytes {
        Bytes::new(self.shape.bytes)
    }

    pub(super) fn step(&self, step: u32) -> Bytes {
        Bytes::new(self.shape.slice(step, 0, 0))
    }

    pub(super) fn pieces(&self, step: u32) -> u32 {
        self.shape.slice(step, 0, 0).div_ceil(self.piece) as u32
    }

    pub(super) fn piece(&self, step: u32, piece: u32) -> Bytes {
        Bytes::new(ragged(self.shape.slice(step, 0, 0), self.piece, piece))
    }
}

/// The next piece of a share.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Cursor {
    pub(super) step: u32,
    pub(super) piece: u32,
    /// Counted through all steps.
    pub(super) number: u32,
}

impl Cursor {
    /// Goes to the next piece; the size of the one it was at.
    pub(super) fn take(&mut self, cut: &Cut) -> Bytes {
        let bytes = cut.piece(self.step, self.piece);
        self.number += 1;
        self.piece += 1;
        if self.piece == cut.pieces(self.step) {
            (self.step, self.piece) = (self.step + 1, 0);
        }
        bytes
    }
}

/// Steps that are done in any order within a window, and how many are without gaps.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct InOrder {
    pub(super) next: u32,
    ahead: u64,
}

impl InOrder {
    pub(super) fn mark(&mut self, step: u32) {
        debug_assert!(step >= self.next && step - self.next < 64, "a step far ahead");
        self.ahead |= 1 << (step - self.next);
        let run = self.ahead.trailing_ones();
        self.next += run;
        self.ahead = self.ahead.checked_shr(run).unwrap_or(0);
    }
}

/// The number of a step by its low six bits; it is less than 64 after `least`.
pub(super) fn recover(slot: u8, least: u32) -> u32 {
    least + (u32::from(slot).wrapping_sub(least) & 63)
}

/// A rank as the one that adds up its server's share.
#[derive(Debug, Clone, Default)]
pub(super) struct Member {
    /// Its node of the tree; none where there is one server.
    pub(super) node: Option<u32>,
    pub(super) launched: bool,
    /// Steps whose parts are all there.
    pub(super) reduced: u32,
    /// Steps that are added up.
    pub(super) staged: InOrder,
    /// The next piece to send, and the next sum to come.
    pub(super) sends: Cursor,
    pub(super) results: Cursor,
    /// Steps that all ranks of the server have.
    pub(super) done: InOrder,
    /// By step modulo the buffer: how many ranks of the server have it.
    receipts: [u32; STEPS as usize],
}

impl Member {
    /// A rank of the server has a step; whether all have it now.
    pub(super) fn receive(&mut self, step: u32, all: u32) -> bool {
        let receipts = &mut self.receipts[(step % STEPS) as usize];
        *receipts += 1;
        if *receipts < all {
            return false;
        }
        *receipts = 0;
        self.done.mark(step);
        true
    }
}

/// What a rank does with a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Work {
    /// Adds up what the others of its server have sent.
    Reduce,
    /// Takes the sum of all servers from the network's buffer.
    Take,
    /// Takes the sum of the member's column from that rank of its server.
    Gather,
}

/// What a channel of a rank has to do, one thing after the other: what, of which member, with which step, and how long.
pub(super) type Lane = VecDeque<(Work, u32, u32, Span)>;

/// The queue pair between a node and its parent.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Edge {
    pub(super) child: u32,
    pub(super) parent: u32,
    /// Pieces that have landed at the parent, and at the child.
    pub(super) up: u32,
    pub(super) down: u32,
    /// Pieces that a rank at the upper and at the lower end has in its hands.
    pub(super) taken: [InOrder; 2],
}

/// A piece that a switch holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Slot {
    piece: u32,
    /// Children whose contribution is in it, and children that have the sum.
    added: u32,
    delivered: u32,
}

/// A switch of a tree, or a member below all of them.
#[derive(Debug, Clone)]
pub(super) struct Node {
    pub(super) nic: NicId,
    pub(super) column: u32,
    pub(super) member: Option<u32>,
    /// Whether it is a rank that adds what comes from below to its own.
    pub(super) own: bool,
    pub(super) up: Option<u32>,
    pub(super) children: Vec<u32>,
    slots: Vec<Slot>,
    /// The next sum to go up, and the next to go down.
    pub(super) raised: Cursor,
    pub(super) lowered: Cursor,
}

impl Node {
    pub(super) fn new(nic: NicId, column: u32, member: Option<u32>) -> Self {
        Self {
            nic,
            column,
            member,
            own: false,
            up: None,
            children: Vec::new(),
            slots: Vec::new(),
            raised: Cursor::default(),
            lowered: Cursor::default(),
        }
    }

    /// Those who add to a piece and get its sum.
    fn parties(&self) -> u32 {
        self.children.len() as u32 + u32::from(self.own)
    }

    /// Gives a node that adds up its slots.
    pub(super) fn open(&mut self, slots: u32) {
        if self.member.is_none() || self.own {
            self.slots = vec![Slot::default(); slots as usize];
        }
    }

    /// A child's contribution to a piece has come; whether it was the last one.
    pub(super) fn add(&mut self, piece: u32) -> bool {
        let (place, parties) = (piece as usize % self.slots.len(), self.parties());
        let slot = &mut self.slots[place];
        if *slot == Slot::default() {
            slot.piece = piece;
        }
        assert_eq!(slot.piece, piece, "a slot is given to a piece while it holds another");
        slot.added += 1;
        slot.added == parties
    }

    /// A child has got the sum of a piece; with the last of them its slot is free.
    pub(super) fn delivered(&mut self, piece: u32) {
        let (place, parties) = (piece as usize % self.slots.len(), self.parties());
        let slot = &mut self.slots[place];
        assert_eq!(slot.piece, piece, "a sum whose slot is given to another piece");
        slot.delivered += 1;
        assert!(slot.added == parties, "a sum that lacks a contribution");
        if slot.delivered == slot.added {
            *slot = Slot::default();
        }
    }

    /// Whether it holds nothing.
    pub(super) fn is_free(&self) -> bool {
        self.slots.iter().all(|slot| *slot == Slot::default())
    }
}
