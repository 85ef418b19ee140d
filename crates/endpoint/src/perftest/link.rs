//! The way that the two sides' messages take: TCP, or sends over a control connection.

use super::error::PerfError;
use super::message::{BINARY_LEN, Keys, TEXT_LEN};
use super::stage::Stage;
use crate::{Completions, Memory, PairId, Slice, Work, WorkId};
use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::fd::AsFd;
use xoff_transport::ProtectionDomain;
use xoff_units::Span;

/// Receives posted on a control connection, and the room of each.
pub(super) const CONTROL_RECEIVES: u64 = 8;
/// Bytes of each of them; the place behind the last is for what is sent.
pub(super) const CONTROL_ROOM: u64 = 256;

/// The way that messages take. While one is waited for, the device goes on.
#[derive(Debug)]
pub(super) enum Link {
    /// A TCP connection.
    Tcp(TcpStream),
    /// A reliable connection made by rdma_cm.
    Control(Control),
}

/// The control connection.
#[derive(Debug)]
pub(super) struct Control {
    pub(super) pair: PairId,
    pub(super) memory: Memory,
    pub(super) sends: Completions,
    pub(super) receives: Completions,
    pub(super) domain: ProtectionDomain,
}

impl Link {
    pub(super) fn tcp(stream: TcpStream) -> io::Result<Self> {
        stream.set_nonblocking(true)?;
        stream.set_nodelay(true)?;
        Ok(Self::Tcp(stream))
    }

    /// Sends a message, in one piece: the peer reads each with one call.
    pub(super) fn send(&mut self, stage: &mut Stage, bytes: &[u8]) -> Result<(), PerfError> {
        match self {
            Self::Tcp(stream) => loop {
                match stream.write(bytes) {
                    Ok(count) if count == bytes.len() => return Ok(()),
                    Ok(_) => return Err(io::Error::from(ErrorKind::WriteZero).into()),
                    Err(error) if again(&error) => {
                        stage.turn()?;
                        stage.rest(None)?;
                    }
                    Err(error) if is_end(&error) => return Err(GONE),
                    Err(error) => return Err(error.into()),
                }
            },
            Self::Control(control) => control.send(stage, bytes),
        }
    }

    /// Waits for a message that is as long as `buffer`.
    pub(super) fn receive(
        &mut self,
        stage: &mut Stage,
        buffer: &mut [u8],
    ) -> Result<(), PerfError> {
        match self {
            Self::Tcp(stream) => {
                let mut filled = 0;
                while filled < buffer.len() {
                    match stream.read(&mut buffer[filled..]) {
                        Ok(0) => return Err(GONE),
                        Ok(count) => {
                            // Not for each piece: who sends byte by byte would be heard for ever.
                            if filled == 0 {
                                stage.heard();
                            }
                            filled += count;
                        }
                        Err(error) if again(&error) => stage.attend(stream.as_fd())?,
                        Err(error) if is_end(&error) => return Err(GONE),
                        Err(error) => return Err(error.into()),
                    }
                }
                stage.heard();
                Ok(())
            }
            Self::Control(control) => control.receive(stage, buffer),
        }
    }

    /// Whether the peer has said something that was not read.
    pub(super) fn is_pending(&self, stage: &Stage) -> bool {
        match self {
            Self::Tcp(stream) => stream.peek(&mut [0]).is_ok_and(|count| count > 0),
            Self::Control(control) => !stage.device.has_no_completions(control.receives),
        }
    }

    /// Sends keys, in the form that this way wants.
    pub(super) fn send_keys(&mut self, stage: &mut Stage, keys: &Keys) -> Result<(), PerfError> {
        match self {
            Self::Tcp(_) => self.send(stage, &keys.text()),
            Self::Control(_) => self.send(stage, &keys.binary()),
        }
    }

    /// Waits for keys.
    pub(super) fn receive_keys(&mut self, stage: &mut Stage) -> Result<Keys, PerfError> {
        match self {
            Self::Tcp(_) => {
                let mut text = [0; TEXT_LEN];
                self.receive(stage, &mut text)?;
                Ok(Keys::from_text(&text)?)
            }
            Self::Control(_) => {
                let mut bytes = [0; BINARY_LEN];
                self.receive(stage, &mut bytes)?;
                Ok(Keys::from_binary(&bytes)?)
            }
        }
    }

    /// We are done. Waits a while for the peer to be done, too, and acknowledges what it repeats.
    pub(super) fn linger(&mut self, stage: &mut Stage, most: Span) -> Result<(), PerfError> {
        let Self::Tcp(stream) = self else { return Ok(()) };
        // A peer that has gone already is fine, too.
        let _ = stream.shutdown(std::net::Shutdown::Write);
        let mut rest = [0; 64];
        let end = stage.now() + most;
        while stage.now() < end {
            match stream.read(&mut rest) {
                Ok(0) => return Ok(()),
                Ok(_) => {}
                Err(error) if again(&error) => stage.attend(stream.as_fd())?,
                Err(_) => return Ok(()),
            }
        }
        Ok(())
    }
}

impl Control {
    /// Posts a receive in its place.
    pub(super) fn post(&self, stage: &mut Stage, place: u64) -> Result<(), PerfError> {
        let slice = Slice::new(self.memory, place * CONTROL_ROOM, CONTROL_ROOM);
        Ok(stage.device.post_receive(self.pair, WorkId(place), slice)?)
    }

    pub(super) fn send(&mut self, stage: &mut Stage, bytes: &[u8]) -> Result<(), PerfError> {
        let at = CONTROL_RECEIVES * CONTROL_ROOM;
        let room = stage.device.bytes_mut(self.memory)?;
        room[at as usize..at as usize + bytes.len()].copy_from_slice(bytes);
        let slice = Slice::new(self.memory, at, bytes.len() as u64);
        stage.device.post(self.pair, Work::send(slice))?;
        loop {
            let idle = stage.turn()?;
            if let Some(completion) = stage.device.poll(self.sends) {
                return if completion.is_ok() {
                    Ok(())
                } else {
                    Err(failed(self.pair, 0, completion.status))
                };
            }
            if idle {
                stage.rest(None)?;
            }
        }
    }

    pub(super) fn receive(
        &mut self,
        stage: &mut Stage,
        buffer: &mut [u8],
    ) -> Result<(), PerfError> {
        loop {
            let idle = stage.turn()?;
            if let Some(completion) = stage.device.poll(self.receives) {
                let Some(arrival) = completion.arrival() else {
                    return Err(failed(self.pair, 0, completion.status));
                };
                if arrival.length.get() != buffer.len() as u64 {
                    return Err(super::message::Garbled.into());
                }
                let place = completion.id.0;
                let at = (place * CONTROL_ROOM) as usize;
                let bytes = stage.device.bytes(self.memory)?;
                buffer.copy_from_slice(&bytes[at..at + buffer.len()]);
                return self.post(stage, place);
            }
            if idle {
                stage.rest(None)?;
            }
        }
    }
}

fn again(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}

/// The peer has hung up where it had something to say.
const GONE: PerfError = PerfError::Gone("it closed the control connection");

fn is_end(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::ConnectionReset | ErrorKind::BrokenPipe)
}

/// Whether the peer has closed a connection, and has said nothing before that is not read yet.
pub(super) fn has_hung_up(stream: &TcpStream) -> bool {
    match stream.peek(&mut [0]) {
        Ok(count) => count == 0,
        Err(error) => !again(&error),
    }
}

/// Work that ended badly.
pub(super) fn failed(pair: PairId, number: u64, status: xoff_transport::Status) -> PerfError {
    PerfError::Failed { number, qpn: pair.qpn().get(), status }
}
