//! Ids of what a run keeps in vectors, and vectors that take one kind of id only.
//!
//! [`PortId`], [`SwitchId`] and [`NicId`] are those of the fabric's model. The ones here belong to a run. Each
//! is a number of 32 bits and costs what a number costs; the types keep a port from being looked up as a switch.

use std::marker::PhantomData;
use std::ops::{Index, IndexMut};
use xoff_fabric::model::{ClassId, NicId, PortId, SwitchId};

/// What indexes a [`Table`].
pub(crate) trait Id: Copy {
    fn new(index: u32) -> Self;

    fn index(self) -> usize;
}

macro_rules! impl_id {
    ($($name:ident),+) => {
        $(impl Id for $name {
            #[inline(always)]
            fn new(index: u32) -> Self {
                Self(index)
            }

            #[inline(always)]
            fn index(self) -> usize {
                self.0 as usize
            }
        })+
    };
}

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub(crate) struct $name(pub(crate) u32);

        impl_id!($name);
    };
}

impl_id!(PortId, SwitchId, NicId, EndpointId, Slot);

id!(/** A port of a NIC as a sender: see [`crate::plane`]. */ PlaneId);
id!(/** A packet that is alive. */ PacketId);
id!(/** A flow of the scenario; beyond all flows, a connection that jobs share. */ FlowId);
id!(/** Two queue pairs that talk to each other. */ ConnectionId);
id!(/** A job. */ JobId);

impl PlaneId {
    /// No plane.
    pub(crate) const NONE: Self = Self(u32::MAX);

    /// The first plane of a NIC, which is its only one mostly.
    #[inline(always)]
    pub(crate) const fn first_of(nic: NicId) -> Self {
        Self(nic.0)
    }
}

impl PacketId {
    /// No packet.
    pub(crate) const NONE: Self = Self(u32::MAX);

    /// Any packet, as a hint for prefetching: there is memory at this place.
    pub(crate) const ANY: Self = Self(0);
}

impl FlowId {
    /// No flow.
    pub(crate) const NONE: Self = Self(u32::MAX);
}

impl ConnectionId {
    /// No connection.
    pub(crate) const NONE: Self = Self(u32::MAX);

    /// One of its ends: 0 opened it, 1 is at its destination.
    #[inline(always)]
    pub(crate) const fn end(self, end: usize) -> EndpointId {
        EndpointId(self.0 << 1 | end as u32)
    }
}

/// One end of a connection: connection and end in one number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct EndpointId(pub(crate) u32);

impl EndpointId {
    /// No endpoint.
    pub(crate) const NONE: Self = Self(u32::MAX);

    #[inline(always)]
    pub(crate) const fn connection(self) -> ConnectionId {
        ConnectionId(self.0 >> 1)
    }

    /// Which end it is, 0 or 1.
    #[inline(always)]
    pub(crate) const fn end(self) -> usize {
        (self.0 & 1) as usize
    }

    /// The other end.
    #[inline(always)]
    pub(crate) const fn peer(self) -> Self {
        Self(self.0 ^ 1)
    }
}

/// What a packet carries for switches to hash: the hash itself where all of them hash the same fields, else
/// which of the [rows](crate::switch::hashing) of hashes is its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Entropy(pub(crate) u32);

/// The hash that one switch or NIC makes of a packet's fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct FlowHash(pub(crate) u32);

/// The seed of a switch's hash, mixed and ready for use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct HashSeed(pub(crate) u32);

/// A port and a class in one number: what a packet's buffer is charged to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Slot(pub(crate) u32);

impl Slot {
    /// No port and class.
    pub(crate) const NONE: Self = Self(u32::MAX);

    #[inline(always)]
    pub(crate) const fn new(port: PortId, class: ClassId) -> Self {
        Self(port.0 << 3 | class.0 as u32 & 7)
    }

    #[inline(always)]
    pub(crate) const fn port(self) -> PortId {
        PortId(self.0 >> 3)
    }

    #[inline(always)]
    pub(crate) const fn class(self) -> ClassId {
        ClassId((self.0 & 7) as u8)
    }

    /// The class as a bit of a mask.
    #[inline(always)]
    pub(crate) const fn bit(self) -> u8 {
        1 << (self.0 & 7)
    }
}

/// A vector that one kind of id indexes.
#[derive(Debug, Clone)]
pub(crate) struct Table<I, T> {
    rows: Vec<T>,
    ids: PhantomData<fn(I)>,
}

impl<I: Id, T> Table<I, T> {
    pub(crate) const fn new() -> Self {
        Self { rows: Vec::new(), ids: PhantomData }
    }

    pub(crate) fn push(&mut self, row: T) {
        self.rows.push(row);
    }

    #[inline(always)]
    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    #[inline(always)]
    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The id that the next row gets.
    pub(crate) fn next_id(&self) -> I {
        I::new(u32::try_from(self.rows.len()).expect("ids have 32 bits"))
    }

    #[inline(always)]
    pub(crate) fn get(&self, id: I) -> Option<&T> {
        self.rows.get(id.index())
    }

    #[inline(always)]
    pub(crate) fn get_mut(&mut self, id: I) -> Option<&mut T> {
        self.rows.get_mut(id.index())
    }

    /// The rows of ids that follow each other, if these do and are there.
    #[inline(always)]
    pub(crate) fn in_row(&self, ids: &[I]) -> Option<&[T]> {
        let start = ids.first()?.index();
        // All are looked at, so that several are at a time.
        let strays =
            ids.iter().enumerate().fold(0, |all, (at, id)| all | (id.index() ^ (start + at)));
        if strays != 0 {
            return None;
        }
        self.rows.get(start..start + ids.len())
    }

    /// Two rows at once, if they are two.
    #[inline(always)]
    pub(crate) fn get_two_mut(&mut self, first: I, second: I) -> Option<[&mut T; 2]> {
        self.rows.get_disjoint_mut([first.index(), second.index()]).ok()
    }

    /// Prefetches a row, if there is such a row.
    #[inline(always)]
    pub(crate) fn prefetch(&self, id: I) {
        prefetch_index::prefetch_index(&self.rows, id.index());
    }

    pub(crate) fn ids(&self) -> impl DoubleEndedIterator<Item = I> + ExactSizeIterator + use<I, T> {
        (0..self.next_id().index() as u32).map(I::new)
    }

    pub(crate) fn iter(&self) -> std::slice::Iter<'_, T> {
        self.rows.iter()
    }

    pub(crate) fn iter_mut(&mut self) -> std::slice::IterMut<'_, T> {
        self.rows.iter_mut()
    }

    /// Rows with their ids.
    pub(crate) fn enumerate(&self) -> impl DoubleEndedIterator<Item = (I, &T)> {
        self.ids().zip(&self.rows)
    }

    /// Removes all rows and keeps the memory.
    pub(crate) fn clear(&mut self) {
        self.rows.clear();
    }

    pub(crate) fn resize(&mut self, len: usize, row: T)
    where
        T: Clone,
    {
        self.rows.resize(len, row);
    }
}

impl<I, T> Default for Table<I, T> {
    fn default() -> Self {
        Self { rows: Vec::new(), ids: PhantomData }
    }
}

impl<I, T> From<Vec<T>> for Table<I, T> {
    fn from(rows: Vec<T>) -> Self {
        Self { rows, ids: PhantomData }
    }
}

impl<I, T> FromIterator<T> for Table<I, T> {
    fn from_iter<R: IntoIterator<Item = T>>(rows: R) -> Self {
        Self { rows: rows.into_iter().collect(), ids: PhantomData }
    }
}

impl<I: Id, T> Index<I> for Table<I, T> {
    type Output = T;

    #[inline(always)]
    fn index(&self, id: I) -> &T {
        &self.rows[id.index()]
    }
}

impl<I: Id, T> IndexMut<I> for Table<I, T> {
    #[inline(always)]
    fn index_mut(&mut self, id: I) -> &mut T {
        &mut self.rows[id.index()]
    }
}

impl<'a, I, T> IntoIterator for &'a Table<I, T> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.rows.iter()
    }
}
