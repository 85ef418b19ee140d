//! One end of a byte stream: the protocol of rsockets, version 1.
//!
//! Each side has a buffer of two halves that the other writes bytes into, one after the other, and a list of two
//! places where the other notes which half may be written next. What a write has done is in its immediate data: the
//! upper three bits say what it is about, the others how much.
//!
//! - *Bytes* were written. A side may send as many such messages as the other has receives for: *credits*.
//! - *Credits*: up to which number messages may be sent. If a half was read to its end, the same write puts it into the
//!   list. Places of the list are used in turn.
//! - *Control*: the other side will send no more, or has ended.
//!
//! Both sides say in the private data of the connection where their list and the first half are, and how many
//! credits there are to begin with. Numbers there are big-endian, those in a list as its owner's processor has them.

use crate::shared::{Failure, PATIENCE, Reader, Writer};
use std::collections::VecDeque;
use std::net::IpAddr;
use xoff_endpoint::{
    Access, Bytes, Completion, Connection, Endpoint, Immediate, Pending, Region, RejectReason,
    RemoteSlice, Request, Rkey, Terms, Work,
};

const VERSION: u8 = 1;
/// Bytes of the private data.
const CARD: usize = 40;
/// The flag of a side whose processor is big-endian.
const BIG_ENDIAN: u8 = 1;
/// Places in a list, and bytes of one: address, key, length.
const PLACES: u32 = 2;
const PLACE: u64 = 16;
/// Half of what the other side may have written that was not read.
const HALF: u64 = 64 << 10;
/// Messages with bytes that the other side may have sent. Receives are posted for control messages, too.
const CREDITS: u16 = 128;
const FOR_CONTROL: u16 = 8;
/// Most bytes of one message, and how many of ours may be under way.
const MOST: u64 = 16 << 10;
const UNDER_WAY: usize = 8;

/// What messages are about.
const BYTES: u32 = 0;
const LIST: u32 = 4;
const OTHER_LIST: u32 = 6;
const CONTROL: u32 = 7;
/// Control messages.
const DISCONNECT: u32 = 0;
const SHUT_DOWN: u32 = 2;

/// Memory of one side that the other may write to.
#[derive(Clone, Copy)]
struct Target {
    at: RemoteSlice,
    length: u32,
}

/// What one side says of itself in private data.
struct Card {
    big_endian: bool,
    credits: u16,
    list: Target,
    half: Target,
}

impl Card {
    fn parse(bytes: &[u8]) -> Result<Self, Failure> {
        let mut reader = Reader(bytes);
        let &[version, flags, high, low, ..] = reader.bytes(8)? else {
            return Err("the peer's private data is too short".into());
        };
        if version != VERSION {
            return Err(format!("the peer speaks version {version} of rsockets, if any").into());
        }
        let mut target = || -> Result<Target, Failure> {
            let (address, key) = (reader.u64()?, Rkey(reader.u32()?));
            Ok(Target { at: RemoteSlice { address, key }, length: reader.u32()? })
        };
        let (list, half) = (target()?, target()?);
        if list.length == 0 {
            return Err("the peer has a list without places".into());
        }
        let credits = u16::from_be_bytes([high, low]);
        Ok(Self { big_endian: flags & BIG_ENDIAN != 0, credits, list, half })
    }
}

/// The memory of one end, and receives that wait.
struct Own {
    connection: Connection,
    inbox: Region,
    list: Region,
    outbox: Region,
    receives: VecDeque<Pending<Completion>>,
}

impl Own {
    fn new(endpoint: &Endpoint) -> Result<Self, Failure> {
        let connection = endpoint.connection().wait()?;
        let writable = Access::LOCAL_WRITE | Access::REMOTE_WRITE;
        let memory = |length: u64, access| endpoint.register(vec![0; length as usize], access);
        let mut own = Self {
            connection,
            inbox: memory(2 * HALF, writable).wait()?,
            list: memory(u64::from(PLACES) * PLACE, writable).wait()?,
            outbox: memory(UNDER_WAY as u64 * MOST, Access::LOCAL_WRITE).wait()?,
            receives: VecDeque::new(),
        };
        (0..CREDITS + FOR_CONTROL).for_each(|_| own.receive());
        Ok(own)
    }

    /// A receive of no bytes: messages bring their immediate data alone.
    fn receive(&mut self) {
        let nothing = self.inbox.slice(Bytes::ZERO, Bytes::ZERO);
        self.receives.push_back(self.connection.receive(nothing));
    }

    fn card(&self) -> Vec<u8> {
        let (list, half) = (self.list.remote(Bytes::ZERO), self.inbox.remote(Bytes::ZERO));
        let [high, low] = CREDITS.to_be_bytes();
        let card = Writer(vec![VERSION, 0, high, low, 0, 0, 0, 0]);
        let card = card.u64(list.address).u32(list.key.0).u32(PLACES);
        let card = card.u64(half.address).u32(half.key.0).u32(HALF as u32).0;
        debug_assert_eq!(card.len(), CARD);
        card
    }
}

/// One end of a stream.
pub(crate) struct Stream {
    own: Own,
    /// Messages of ours that are under way, in order; each has its part of the outbox.
    under_way: VecDeque<Pending<Completion>>,
    posted: usize,
    /// Messages with bytes sent, up to which number there are credits, and where the next bytes go.
    sent: u16,
    credits: u16,
    target: Target,
    /// The place of our list that the peer fills next.
    next_place: u64,
    /// The peer's list, which of its places we fill next, and how it reads numbers.
    list: Target,
    their_place: u32,
    big_endian: bool,
    /// Bytes that have arrived and were not read, message by message, and where they begin.
    arrived: VecDeque<u64>,
    read_at: u64,
    /// Messages read to their end, and the number when credits were given last.
    read: u16,
    given: u16,
    /// Bytes of halves that were read and not given back, and where they begin.
    free: u64,
    free_at: u64,
    ended: bool,
}

impl Stream {
    /// Calls a server.
    pub(crate) fn connect(endpoint: &Endpoint, server: IpAddr, port: u16) -> Result<Self, Failure> {
        let own = Own::new(endpoint)?;
        let terms = Terms::with_data(&own.card());
        own.connection.request(server, port, terms).within(PATIENCE).wait()?;
        let agreed = own.connection.negotiated().ok_or("it is not connected")?;
        let card = Card::parse(&agreed.private_data)?;
        Self::new(own, &card)
    }

    /// Takes a client.
    pub(crate) fn accept(endpoint: &Endpoint, request: Request) -> Result<Self, Failure> {
        let card = match Card::parse(request.private_data()) {
            Ok(card) => card,
            Err(error) => {
                let _ = request.reject(RejectReason::CONSUMER, b"").within(PATIENCE).wait();
                return Err(error);
            }
        };
        let own = Own::new(endpoint)?;
        let terms = Terms::with_data(&own.card());
        request.accept_on(&own.connection, terms).within(PATIENCE).wait()?;
        Self::new(own, &card)
    }

    fn new(own: Own, card: &Card) -> Result<Self, Failure> {
        let mut stream = Self {
            own,
            under_way: VecDeque::new(),
            posted: 0,
            sent: 0,
            credits: card.credits,
            target: card.half,
            // The first place stands for the half that was in the private data.
            next_place: 1,
            list: card.list,
            their_place: 1 % card.list.length,
            big_endian: card.big_endian,
            arrived: VecDeque::new(),
            read_at: 0,
            read: 0,
            given: 0,
            free: HALF,
            free_at: HALF,
            ended: false,
        };
        stream.give()?;
        Ok(stream)
    }

    /// Sends bytes. They are in the peer's buffer when all that was posted is done, not before.
    pub(crate) fn write(&mut self, mut bytes: &[u8]) -> Result<(), Failure> {
        while !bytes.is_empty() {
            while self.sent == self.credits || !self.has_target()? {
                if self.ended {
                    return Err("the peer has ended the stream".into());
                }
                self.hear()?;
            }
            let length = (bytes.len() as u64).min(self.target.length.into()).min(MOST);
            let (now, later) = bytes.split_at(length as usize);
            self.post(now.to_vec(), self.target.at, message(BYTES, length as u32))?;
            self.target.at.address = self.target.at.address.wrapping_add(length);
            self.target.length -= length as u32;
            self.sent = self.sent.wrapping_add(1);
            bytes = later;
        }
        Ok(())
    }

    /// Takes exactly so many bytes.
    pub(crate) fn read(&mut self, length: usize) -> Result<Vec<u8>, Failure> {
        let mut bytes = Vec::new();
        while bytes.len() < length {
            let Some(message) = self.arrived.front_mut() else {
                if self.ended {
                    return Err(format!("the stream ended after {} bytes", bytes.len()).into());
                }
                self.hear()?;
                continue;
            };
            let taken = (*message).min((length - bytes.len()) as u64).min(2 * HALF - self.read_at);
            *message -= taken;
            if *message == 0 {
                self.arrived.pop_front();
                self.read = self.read.wrapping_add(1);
            }
            let at = Bytes::new(self.read_at);
            bytes.extend(self.own.inbox.copy(at, Bytes::new(taken)).wait()?);
            self.read_at = (self.read_at + taken) % (2 * HALF);
            self.free += taken;
            self.give()?;
        }
        Ok(bytes)
    }

    /// Says that no more comes, and ends the connection.
    pub(crate) fn close(mut self) -> Result<(), Failure> {
        let told = self.post(Vec::new(), RemoteSlice::default(), message(CONTROL, DISCONNECT));
        let done = told.and_then(|()| self.finish(0));
        // A peer that has ended the stream may have gone by now. If so, its word is among what has come.
        while done.is_err() && !self.ended {
            let came = self.own.receives.pop_front().and_then(|mut receive| receive.try_take());
            match came {
                Some(Ok(came)) if came.is_ok() => self.take(&came)?,
                _ => return done,
            }
        }
        let _ = self.own.connection.disconnect(b"").within(PATIENCE).wait();
        Ok(())
    }

    /// Takes the next message of the peer.
    fn hear(&mut self) -> Result<(), Failure> {
        let mut receive = self.own.receives.pop_front().ok_or("there is always a receive")?;
        let came = receive.wait_for(PATIENCE)?;
        self.own.receive();
        self.take(&came)
    }

    fn take(&mut self, came: &Completion) -> Result<(), Failure> {
        let arrival = came.arrival().ok_or_else(|| came.status.to_string())?;
        let immediate = arrival.immediate.ok_or("a message without immediate data")?;
        let word = u32::from_be_bytes(immediate.0);
        let (about, value) = (word >> 29, word & 0x1fff_ffff);
        match (about, value) {
            (BYTES, length) => {
                let waiting: u64 = self.arrived.iter().sum();
                if waiting + u64::from(length) > 2 * HALF {
                    return Err("the peer has sent more than there is room for".into());
                }
                self.arrived.push_back(length.into());
            }
            (LIST, number) => self.credits = number as u16,
            (CONTROL, DISCONNECT | SHUT_DOWN) => self.ended = true,
            // Keeping alive, and lists that only its own extensions use.
            (CONTROL | OTHER_LIST, _) => {}
            _ => return Err(format!("the peer has sent a message of kind {about}").into()),
        }
        Ok(())
    }

    /// Whether there is room at the peer, in the half under way or the next that it has put into our list.
    fn has_target(&mut self) -> Result<bool, Failure> {
        if self.target.length > 0 {
            return Ok(true);
        }
        let at = Bytes::new(self.next_place * PLACE);
        let place = self.own.list.copy(at, Bytes::new(PLACE)).wait()?;
        let mut reader = Reader(&place);
        // We have said that our processor is little-endian, whatever it is.
        let (address, key) = (reader.u64()?.swap_bytes(), Rkey(reader.u32()?.swap_bytes()));
        let length = reader.u32()?.swap_bytes();
        if length > 0 {
            self.target = Target { at: RemoteSlice { address, key }, length };
            self.own.list.fill(at, vec![0; PLACE as usize]).wait()?;
            self.next_place = (self.next_place + 1) % u64::from(PLACES);
        }
        Ok(length > 0)
    }

    /// Gives back a half that was read, and credits, if that is worth a message.
    fn give(&mut self) -> Result<(), Failure> {
        let (half, few) = (self.free >= HALF, self.read.wrapping_sub(self.given) >= CREDITS / 2);
        if self.ended || !(half || few) {
            return Ok(());
        }
        self.given = self.read;
        let word = message(LIST, self.read.wrapping_add(CREDITS).into());
        if !half {
            return self.post(Vec::new(), RemoteSlice::default(), word);
        }
        let free = self.own.inbox.remote(Bytes::new(self.free_at));
        let (address, key, length) = (free.address, free.key.0, HALF as u32);
        let place = match self.big_endian {
            true => Writer::default().u64(address).u32(key).u32(length),
            false => {
                let place = Writer::default().u64(address.swap_bytes());
                place.u32(key.swap_bytes()).u32(length.swap_bytes())
            }
        };
        let mut at = self.list.at;
        at.address = at.address.wrapping_add(u64::from(self.their_place) * PLACE);
        self.their_place = (self.their_place + 1) % self.list.length;
        self.free -= HALF;
        self.free_at = (self.free_at + HALF) % (2 * HALF);
        self.post(place.0, at, word)
    }

    /// Writes bytes, at most [`MOST`], with immediate data.
    fn post(&mut self, bytes: Vec<u8>, to: RemoteSlice, word: u32) -> Result<(), Failure> {
        self.finish(UNDER_WAY - 1)?;
        let at = Bytes::new((self.posted % UNDER_WAY) as u64 * MOST);
        let local = self.own.outbox.slice(at, Bytes::new(bytes.len() as u64));
        self.posted += 1;
        if !bytes.is_empty() {
            self.own.outbox.fill(at, bytes).wait()?;
        }
        let work = Work::write_immediate(local, to, Immediate(word.to_be_bytes()));
        self.under_way.push_back(self.own.connection.post(work));
        Ok(())
    }

    /// Waits until no more than `left` messages of ours are under way.
    fn finish(&mut self, left: usize) -> Result<(), Failure> {
        while self.under_way.len() > left
            && let Some(mut first) = self.under_way.pop_front()
        {
            let done = first.wait_for(PATIENCE)?;
            if !done.is_ok() {
                return Err(done.status.to_string().into());
            }
        }
        Ok(())
    }
}

/// The immediate data of a message.
const fn message(about: u32, value: u32) -> u32 {
    about << 29 | value
}
