//! Statistics of a network interface as `ethtool -S` prints them, the names a driver gave them and their values; and the memory of
//! its optical module as `ethtool -m raw on` does. No file has
//! them, and no safe crate: they are read with the ioctl `SIOCETHTOOL`.
//!
//! The ioctl takes a pointer to a header, behind which the kernel writes as many items *as the driver has at that moment*. It
//! does not look at how many the caller has room for. So a driver that adds a queue between the question how many there are and
//! the question for them would write behind the end of an exact buffer. Here the buffer is a `Mapping` whose end touches a page
//! that nobody may access: such a copy ends there and the call fails with `EFAULT`.

#![allow(
    unsafe_code,
    reason = "system calls that no safe crate offers; each block says why it is sound"
)]

use rustix::net::{AddressFamily, SocketType, socket};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

/// Most statistics of one interface. A NIC of 128 queues has some 5,000.
const MOST: usize = 32_768;
/// Bytes of a name (`ETH_GSTRING_LEN`).
const NAME: usize = 32;
/// Bytes before names and values alike: the command, and one or two numbers.
const HEADER: usize = 16;

const SIOCETHTOOL: libc::c_ulong = 0x8946;
const ETHTOOL_GSTRINGS: u32 = 0x1b;
const ETHTOOL_GSTATS: u32 = 0x1d;
const ETHTOOL_GSSET_INFO: u32 = 0x37;
const ETHTOOL_GMODULEINFO: u32 = 0x42;
const ETHTOOL_GMODULEEEPROM: u32 = 0x43;
/// The set of strings that names statistics.
const ETH_SS_STATS: u32 = 1;

/// The names and values of an interface's statistics, in the driver's order. `Unsupported` for a driver without any.
pub fn statistics(interface: &str) -> io::Result<Vec<(String, u64)>> {
    let interface = Interface::named(interface)?;
    let count = interface.count()?;
    if count == 0 {
        return Ok(Vec::new());
    }
    // struct ethtool_gstrings: u32 cmd, string_set, len; u8 data[len * 32].
    let room = interface.ask(&[ETHTOOL_GSTRINGS, ETH_SS_STATS, count as u32], count * NAME)?;
    let named = number(room.bytes(), 8) as usize;
    let names: Vec<String> = room.bytes()[12..].chunks_exact(NAME).take(count).map(text).collect();
    // struct ethtool_stats: u32 cmd, n_stats; u64 data[n_stats].
    let room = interface.ask(&[ETHTOOL_GSTATS, count as u32], count * size_of::<u64>())?;
    let valued = number(room.bytes(), 4) as usize;
    // Names of one moment beside values of another would be wrong numbers under right names.
    if (named, valued) != (count, count) {
        let text = "the driver's statistics changed while they were read; read them again";
        return Err(io::Error::new(io::ErrorKind::Interrupted, text));
    }
    let values = room.bytes()[8..].chunks_exact(8).take(count);
    let values = values.map(|value| u64::from_ne_bytes(value.try_into().expect("eight bytes")));
    Ok(names.into_iter().zip(values).collect())
}

/// Bytes of the memory of an interface's optical module or cable, from an offset on; fewer where it ends. `Unsupported` for a
/// driver that does not show it, or a port without a module.
pub fn module(interface: &str, offset: u32, length: u32) -> io::Result<Vec<u8>> {
    let interface = Interface::named(interface)?;
    let unsupported = |error: io::Error| match error.raw_os_error() {
        Some(libc::EOPNOTSUPP | libc::EINVAL | libc::EIO | libc::ENODEV) => {
            io::ErrorKind::Unsupported.into()
        }
        _ => error,
    };
    // struct ethtool_modinfo: u32 cmd, type, eeprom_len, reserved[8].
    let room = interface.ask(&[ETHTOOL_GMODULEINFO], 64).map_err(unsupported)?;
    let whole = number(room.bytes(), 8);
    let length = length.min(whole.saturating_sub(offset));
    if length == 0 {
        return Err(io::ErrorKind::Unsupported.into());
    }
    // struct ethtool_eeprom: u32 cmd, magic, offset, len; u8 data[len].
    let header = [ETHTOOL_GMODULEEEPROM, 0, offset, length];
    let room = interface.ask(&header, length as usize).map_err(unsupported)?;
    // The driver may have shortened it, and has no room for more.
    let read = number(room.bytes(), 12).min(length) as usize;
    Ok(room.bytes()[HEADER..HEADER + read].to_vec())
}

/// The number at an offset of an answer.
fn number(bytes: &[u8], at: usize) -> u32 {
    u32::from_ne_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

/// A name, which ends with its first zero or with its room.
fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).trim().to_owned()
}

/// An interface, and a socket to ask about it.
struct Interface {
    socket: OwnedFd,
    name: [libc::c_char; libc::IFNAMSIZ],
}

impl Interface {
    fn named(name: &str) -> io::Result<Self> {
        // One byte stays zero: the kernel reads the name up to it.
        if name.is_empty() || name.len() >= libc::IFNAMSIZ || name.contains('\0') {
            let text = format!("`{}` is no name of an interface", name.escape_default());
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        let socket = socket(AddressFamily::INET, SocketType::DGRAM, None)?;
        let mut bytes = [0; libc::IFNAMSIZ];
        bytes.iter_mut().zip(name.bytes()).for_each(|(to, from)| *to = from as libc::c_char);
        Ok(Self { socket, name: bytes })
    }

    /// How many statistics it has.
    fn count(&self) -> io::Result<usize> {
        // struct ethtool_sset_info: u32 cmd, reserved; u64 sset_mask; u32 data[], one for each bit that is left in the mask.
        let mask = 1_u64 << ETH_SS_STATS;
        let [low, high] = [mask.to_ne_bytes()[..4].to_vec(), mask.to_ne_bytes()[4..].to_vec()];
        let half = |bytes: Vec<u8>| u32::from_ne_bytes(bytes.try_into().expect("four bytes"));
        let header = [ETHTOOL_GSSET_INFO, 0, half(low), half(high)];
        let room = self.ask(&header, size_of::<u32>())?;
        if number(room.bytes(), 8) == 0 && number(room.bytes(), 12) == 0 {
            return Err(io::ErrorKind::Unsupported.into());
        }
        match number(room.bytes(), 16) as usize {
            count @ 0..=MOST => Ok(count),
            count => Err(io::Error::other(format!("{count} statistics, of which {MOST} are read"))),
        }
    }

    /// Sends a header, and returns it with what the kernel wrote: `answer` bytes behind it at least can be read.
    fn ask(&self, header: &[u32], answer: usize) -> io::Result<Mapping> {
        let mut room = Mapping::new(HEADER + answer)?;
        for (to, word) in room.bytes_mut().chunks_exact_mut(4).zip(header) {
            to.copy_from_slice(&word.to_ne_bytes());
        }
        // SAFETY: this C structure is valid with all bytes zero.
        let mut request = unsafe { std::mem::zeroed::<libc::ifreq>() };
        request.ifr_name = self.name;
        request.ifr_ifru.ifru_data = room.start.cast();
        // SAFETY: `request` outlives the call, and its name ends with a zero. The kernel reads a header at its pointer, which the
        // mapping has, and writes from there upwards in one piece; whatever length it chooses, it reaches no other memory of ours
        // than the mapping, behind which is a page without access. `room` is not borrowed during the call.
        let result =
            unsafe { libc::ioctl(self.socket.as_raw_fd(), SIOCETHTOOL as _, &raw mut request) };
        if result < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(room)
    }
}

/// Memory of its own, with a page behind it that can neither be read nor written.
struct Mapping {
    start: *mut u8,
    /// Bytes that can be used: whole pages.
    length: usize,
    page: usize,
}

impl Mapping {
    /// At least `length` bytes, all zero.
    fn new(length: usize) -> io::Result<Self> {
        let page = rustix::param::page_size();
        let length = length.next_multiple_of(page);
        let none = std::ptr::null_mut();
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: a new mapping at a place that the kernel chooses touches no memory that is in use.
        let start = unsafe { libc::mmap(none, length + page, libc::PROT_NONE, flags, -1, 0) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let mapping = Self { start: start.cast(), length, page };
        // SAFETY: the range is the beginning of the mapping made above, in whole pages, and nothing refers to it yet.
        let opened = unsafe { libc::mprotect(start, length, libc::PROT_READ | libc::PROT_WRITE) };
        if opened == 0 { Ok(mapping) } else { Err(io::Error::last_os_error()) }
    }

    fn bytes(&self) -> &[u8] {
        // SAFETY: these bytes are mapped, readable and initialised (anonymous memory is zero) for as long as `self` lives, and
        // change only through `&mut self` or by the kernel within a call that has the mapping to itself.
        unsafe { std::slice::from_raw_parts(self.start, self.length) }
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, and `&mut self` is the only reference.
        unsafe { std::slice::from_raw_parts_mut(self.start, self.length) }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the whole mapping that `new` made, once, and no slice of it outlives `self`.
        let unmapped = unsafe { libc::munmap(self.start.cast(), self.length + self.page) };
        debug_assert_eq!(unmapped, 0, "our own mapping");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_ends_at_its_first_zero() {
        assert_eq!(text(b"rx_prio3_pause\0\0\0garbage"), "rx_prio3_pause");
        assert_eq!(text(&[b'a'; 32]), "a".repeat(32));
        assert_eq!(text(b""), "");
    }

    #[test]
    fn names_that_are_none_are_refused() {
        for name in ["", "a-name-of-16-byte", "0123456789abcdef", "eth\x000"] {
            let error = statistics(name).expect_err(name);
            assert_eq!(error.kind(), io::ErrorKind::InvalidInput, "{name}: {error}");
        }
        assert_eq!(
            statistics("no-such-netdev").expect_err("none").raw_os_error(),
            Some(libc::ENODEV)
        );
    }

    /// Loopback has none; whatever else is here either has some, with names, or says that it has none.
    #[test]
    fn every_interface_here_answers_or_says_why_not() {
        assert!(statistics("lo").is_err());
        let Ok(list) = std::fs::read_dir("/sys/class/net") else { return };
        for entry in list.flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            match statistics(&name) {
                Ok(all) => assert!(all.iter().all(|(name, _)| !name.is_empty()), "{name}: {all:?}"),
                Err(error) => assert!(
                    error.raw_os_error().is_some()
                        || matches!(
                            error.kind(),
                            io::ErrorKind::Unsupported
                                | io::ErrorKind::Interrupted
                                | io::ErrorKind::InvalidInput
                        ),
                    "{name}: {error:?}"
                ),
            }
        }
    }

    #[test]
    fn a_port_without_a_module_says_so() {
        let error = module("lo", 0, 128).expect_err("loopback has no module");
        assert_eq!(error.kind(), io::ErrorKind::Unsupported, "{error:?}");
        assert!(module("", 0, 1).is_err());
    }

    /// The page behind a mapping is there: a read into it beyond the end fails instead of going on.
    #[test]
    fn the_kernel_cannot_write_behind_a_mapping() {
        let room = Mapping::new(100).expect("a mapping");
        assert_eq!(room.bytes().len(), room.page);
        assert!(room.bytes().iter().all(|byte| *byte == 0));
        let (reader, writer) = std::io::pipe().expect("a pipe");
        let long = vec![7_u8; room.page + 100];
        std::io::Write::write_all(&mut &writer, &long).expect("it fits into a pipe");
        // SAFETY: the kernel writes from the last byte of the mapping on, and stops at the page behind it.
        let read = unsafe {
            let last = room.start.add(room.length - 1);
            libc::read(reader.as_raw_fd(), last.cast(), 100)
        };
        assert!(read <= 1, "{read}");
    }
}
