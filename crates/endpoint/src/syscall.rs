//! The system calls on sockets that no safe crate offers as we need them; all other unsafe code is in [`crate::ethtool`].
//!
//! Each takes and gives plain slices. The structures with pointers live only for the time of a
//! call.

#![allow(
    unsafe_code,
    reason = "one of two modules with unsafe blocks, each of which says why it is sound"
)]

use crate::name::{Control, Name};
use std::io::{self, IoSlice};
use std::mem::zeroed;
use std::os::fd::{AsRawFd, BorrowedFd};

/// Most messages in one call, either way.
pub(crate) const MOST: usize = 16;

/// Sets an option whose value is an integer.
pub(crate) fn set_option(fd: BorrowedFd<'_>, level: i32, name: i32, value: i32) -> io::Result<()> {
    let size = size_of::<i32>() as libc::socklen_t;
    // SAFETY: the pointer is to an integer of our own that outlives the call, and the length is its
    // size. The kernel only reads it.
    let result =
        unsafe { libc::setsockopt(fd.as_raw_fd(), level, name, (&raw const value).cast(), size) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Words of a socket's memory information (`SK_MEMINFO_VARS`), and the place of its drops.
const MEMORY_WORDS: usize = 9;
const DROPS: usize = 8;

/// How many packets a socket has dropped, mostly because its receive buffer was full. `None` where
/// the kernel does not say (before Linux 4.12).
pub(crate) fn socket_drops(fd: BorrowedFd<'_>) -> Option<u32> {
    let mut words = [0u32; MEMORY_WORDS];
    let mut size = size_of_val(&words) as libc::socklen_t;
    // SAFETY: the pointers are to an array and a length of our own that outlive the call, and the
    // length is the array's size, beyond which the kernel does not write. Any bits are a valid
    // `u32`.
    let result = unsafe {
        libc::getsockopt(
            fd.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_MEMINFO,
            words.as_mut_ptr().cast(),
            &raw mut size,
        )
    };
    let whole = size as usize >= size_of_val(&words);
    (result == 0 && whole).then_some(words[DROPS])
}

/// Has a socket keep only the packets that a filter program accepts.
pub(crate) fn keep_only(fd: BorrowedFd<'_>, program: &[libc::sock_filter]) -> io::Result<()> {
    let length = u16::try_from(program.len()).map_err(io::Error::other)?;
    let program = libc::sock_fprog { len: length, filter: program.as_ptr().cast_mut() };
    let size = size_of::<libc::sock_fprog>() as libc::socklen_t;
    let (level, name) = (libc::SOL_SOCKET, libc::SO_ATTACH_FILTER);
    // SAFETY: the pointer is to a structure of our own and the length is its size; in it are a
    // pointer to the instructions, which are borrowed for the call, and their number. The kernel
    // checks and copies them, and writes nothing.
    let result =
        unsafe { libc::setsockopt(fd.as_raw_fd(), level, name, (&raw const program).cast(), size) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// A message to be sent.
#[derive(Clone, Copy)]
pub(crate) struct Outgoing<'a> {
    pub(crate) name: &'a Name,
    pub(crate) control: &'a Control,
    /// Its bytes, gathered from where they are: at most 1024 pieces.
    pub(crate) pieces: &'a [IoSlice<'a>],
}

/// Sends up to [`MOST`] messages and says how many went. An error means that the first did not.
pub(crate) fn send_many(fd: BorrowedFd<'_>, messages: &[Outgoing<'_>]) -> io::Result<usize> {
    let count = messages.len().min(MOST);
    // SAFETY: these C structures are valid with all bytes zero: null pointers and zero lengths.
    let mut headers = unsafe { zeroed::<[libc::mmsghdr; MOST]>() };
    for (message, header) in messages.iter().zip(&mut headers) {
        let (name, control) = (message.name.as_slice(), message.control.as_slice());
        let header = &mut header.msg_hdr;
        // The standard library guarantees that `IoSlice` has the layout of the system's `iovec`.
        header.msg_iov = message.pieces.as_ptr().cast_mut().cast();
        header.msg_iovlen = message.pieces.len() as _;
        header.msg_name = name.as_ptr().cast_mut().cast();
        header.msg_namelen = name.len() as libc::socklen_t;
        if !control.is_empty() {
            header.msg_control = control.as_ptr().cast_mut().cast();
            header.msg_controllen = control.len() as _;
        }
    }
    // SAFETY: `count` headers are filled in. Their pointers are to slices that `messages` borrows,
    // and to vectors of such; all outlive the call, and the lengths are theirs. Sending, the kernel
    // reads through them and writes only the `msg_len` fields, which are ours.
    let sent = unsafe {
        libc::sendmmsg(fd.as_raw_fd(), headers.as_mut_ptr(), count as u32, libc::MSG_DONTWAIT as _)
    };
    usize::try_from(sent).map_err(|_| io::Error::last_os_error())
}

/// Room for a message to arrive, and what arrived.
#[derive(Debug)]
pub(crate) struct Incoming {
    pub(crate) name: Name,
    pub(crate) control: Control,
    pub(crate) room: Box<[u8]>,
    /// Bytes that arrived.
    pub(crate) length: usize,
    /// There were more than fit.
    pub(crate) cut: bool,
}

impl Incoming {
    /// Room for `size` bytes.
    pub(crate) fn new(size: usize) -> Self {
        let room = vec![0; size].into_boxed_slice();
        Self { name: Name::EMPTY, control: Control::EMPTY, room, length: 0, cut: false }
    }

    /// What arrived.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.room[..self.length]
    }
}

/// Takes what has arrived, up to [`MOST`] messages, and says how many.
pub(crate) fn receive_many(fd: BorrowedFd<'_>, buffers: &mut [Incoming]) -> io::Result<usize> {
    let count = buffers.len().min(MOST);
    // SAFETY: these C structures are valid with all bytes zero: null pointers and zero lengths.
    let (mut headers, mut vectors) =
        unsafe { (zeroed::<[libc::mmsghdr; MOST]>(), zeroed::<[libc::iovec; MOST]>()) };
    for ((buffer, header), vector) in buffers.iter_mut().zip(&mut headers).zip(&mut vectors) {
        vector.iov_base = buffer.room.as_mut_ptr().cast();
        vector.iov_len = buffer.room.len();
        let (name, control) = (buffer.name.room(), buffer.control.room());
        let header = &mut header.msg_hdr;
        header.msg_iov = vector;
        header.msg_iovlen = 1;
        header.msg_name = name.as_mut_ptr().cast();
        header.msg_namelen = name.len() as libc::socklen_t;
        header.msg_control = control.as_mut_ptr().cast();
        header.msg_controllen = control.len() as _;
    }
    // SAFETY: `count` headers are filled in. Their pointers are to parts of `buffers`, which is
    // borrowed for the call and not touched during it, each part to one header only, and to
    // `vectors`; the lengths are theirs, so the kernel writes nothing but those bytes, and any byte
    // is a valid `u8`. No timeout is given.
    let received = unsafe {
        libc::recvmmsg(
            fd.as_raw_fd(),
            headers.as_mut_ptr(),
            count as u32,
            libc::MSG_DONTWAIT as _,
            std::ptr::null_mut(),
        )
    };
    let received = usize::try_from(received).map_err(|_| io::Error::last_os_error())?;
    for (buffer, header) in buffers.iter_mut().zip(&headers).take(received) {
        buffer.length = (header.msg_len as usize).min(buffer.room.len());
        buffer.cut = header.msg_hdr.msg_flags & libc::MSG_TRUNC != 0;
        buffer.name.set_length(header.msg_hdr.msg_namelen);
        buffer.control.set_length(header.msg_hdr.msg_controllen);
    }
    Ok(received)
}
