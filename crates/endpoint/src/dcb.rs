//! PFC of a network interface as `dcb pfc show` prints it: for which priorities it is on, and the frames of each.
//!
//! The kernel answers over netlink (RTM_GETDCB), and the answer is a tree of attributes, each with its length before it. Nothing
//! about these lengths is believed.

use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketType, recv, send, socket};
use std::io;
use std::time::Duration;

/// How long the kernel may take. It answers within the call that asks.
const PATIENCE: Duration = Duration::from_secs(1);

const NLMSG_ERROR: u16 = 2;
const NLM_F_REQUEST: u16 = 1;
const RTM_GETDCB: u16 = 78;
const DCB_CMD_IEEE_GET: u8 = 21;
const DCB_ATTR_IFNAME: u16 = 1;
const DCB_ATTR_IEEE: u16 = 13;
const DCB_ATTR_IEEE_PFC: u16 = 2;
/// Bytes of `struct nlmsghdr`, of `struct dcbmsg` and of `struct nlattr`.
const HEADER: usize = 16;
const FAMILY: usize = 4;
const ATTRIBUTE: usize = 4;
/// The bits of an attribute's type that are its number.
const NUMBER: u16 = 0x3fff;

/// PFC of an interface, by priority.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Pfc {
    /// Whether it is on.
    pub enabled: [bool; 8],
    /// Frames sent that pause the priority.
    pub sent: [u64; 8],
    /// Frames received that pause the priority.
    pub received: [u64; 8],
}

/// PFC of an interface. `Unsupported` where its driver knows no DCB.
pub fn pfc(interface: &str) -> io::Result<Pfc> {
    if interface.is_empty() || interface.len() >= libc::IFNAMSIZ || interface.contains('\0') {
        let text = format!("`{}` is no name of an interface", interface.escape_default());
        return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
    }
    let socket = socket(AddressFamily::NETLINK, SocketType::RAW, None)?;
    set_socket_timeout(&socket, Timeout::Recv, Some(PATIENCE))?;
    // Without an address it goes to the kernel.
    send(&socket, &question(interface), SendFlags::empty())?;
    let mut room = vec![0; 1 << 16];
    let (length, _) = recv(&socket, room.as_mut_slice(), RecvFlags::empty())?;
    answer(&room[..length])
}

/// The message that asks.
fn question(interface: &str) -> Vec<u8> {
    let name = [interface.as_bytes(), &[0]].concat();
    let length = (ATTRIBUTE + name.len()) as u16;
    let mut message = vec![0; HEADER];
    message.extend([libc::AF_UNSPEC as u8, DCB_CMD_IEEE_GET, 0, 0]);
    message.extend(length.to_ne_bytes());
    message.extend(DCB_ATTR_IFNAME.to_ne_bytes());
    message.extend(&name);
    message.resize(message.len().next_multiple_of(4), 0);
    let length = message.len() as u32;
    message[..4].copy_from_slice(&length.to_ne_bytes());
    message[4..6].copy_from_slice(&RTM_GETDCB.to_ne_bytes());
    message[6..8].copy_from_slice(&NLM_F_REQUEST.to_ne_bytes());
    message
}

/// What an answer says.
fn answer(message: &[u8]) -> io::Result<Pfc> {
    let odd = || io::Error::new(io::ErrorKind::InvalidData, "an odd answer of the kernel");
    let length = word(message, 0).ok_or_else(odd)? as usize;
    let message = message.get(..length).ok_or_else(odd)?;
    match half(message, 4).ok_or_else(odd)? {
        NLMSG_ERROR => {
            let code = word(message, HEADER).ok_or_else(odd)?.cast_signed();
            return Err(match code.checked_neg() {
                Some(libc::EOPNOTSUPP | libc::EINVAL) => io::ErrorKind::Unsupported.into(),
                Some(code @ 1..) => io::Error::from_raw_os_error(code),
                _ => odd(),
            });
        }
        RTM_GETDCB => {}
        _ => return Err(odd()),
    }
    let attributes = message.get(HEADER + FAMILY..).ok_or_else(odd)?;
    let ieee = find(attributes, DCB_ATTR_IEEE).ok_or(io::ErrorKind::Unsupported)?;
    let pfc = find(ieee, DCB_ATTR_IEEE_PFC).ok_or(io::ErrorKind::Unsupported)?;
    // struct ieee_pfc: u8 pfc_cap, pfc_en, mbc; u16 delay; u64 requests[8], indications[8].
    let enabled = *pfc.get(1).ok_or_else(odd)?;
    let counters = pfc.get(8..136).ok_or_else(odd)?;
    let mut counters = counters
        .chunks_exact(8)
        .map(|bytes| u64::from_ne_bytes(bytes.try_into().expect("eight bytes")));
    let mut eight = || std::array::from_fn(|_| counters.next().unwrap_or_default());
    let (sent, received) = (eight(), eight());
    Ok(Pfc {
        enabled: std::array::from_fn(|priority| enabled >> priority & 1 == 1),
        sent,
        received,
    })
}

/// The content of the attribute with a number, among several.
fn find(mut attributes: &[u8], number: u16) -> Option<&[u8]> {
    loop {
        let length = usize::from(half(attributes, 0)?);
        let content = attributes.get(ATTRIBUTE..length)?;
        if half(attributes, 2)? & NUMBER == number {
            return Some(content);
        }
        attributes = attributes.get(length.next_multiple_of(4)..)?;
    }
}

fn half(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn attribute(number: u16, content: &[u8]) -> Vec<u8> {
        let mut bytes = ((ATTRIBUTE + content.len()) as u16).to_ne_bytes().to_vec();
        bytes.extend(number.to_ne_bytes());
        bytes.extend(content);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes
    }

    fn message(kind: u16, content: &[u8]) -> Vec<u8> {
        let mut bytes = ((HEADER + content.len()) as u32).to_ne_bytes().to_vec();
        bytes.extend(kind.to_ne_bytes());
        bytes.resize(HEADER, 0);
        bytes.extend(content);
        bytes
    }

    fn told() -> Vec<u8> {
        let mut pfc = vec![8, 0b0000_1000, 0, 0, 0, 0, 0, 0];
        for count in 0..16_u64 {
            pfc.extend((100 + count).to_ne_bytes());
        }
        // Behind the name and a table of ETS, as the kernel has them; nested attributes carry a bit of their own.
        let ieee = [attribute(1, &[0; 64]), attribute(DCB_ATTR_IEEE_PFC, &pfc)].concat();
        let attributes =
            [attribute(DCB_ATTR_IFNAME, b"ens1np0\0"), attribute(0x8000 | DCB_ATTR_IEEE, &ieee)];
        message(RTM_GETDCB, &[vec![0, DCB_CMD_IEEE_GET, 0, 0], attributes.concat()].concat())
    }

    #[test]
    fn priorities_have_their_frames() {
        let pfc = answer(&told()).expect("an answer");
        assert_eq!(pfc.enabled, [false, false, false, true, false, false, false, false]);
        assert_eq!((pfc.sent[3], pfc.received[3]), (103, 111));
        assert_eq!((pfc.sent[0], pfc.received[7]), (100, 115));
    }

    #[test]
    fn a_driver_without_it_says_so() {
        let error = |code: i32| answer(&message(NLMSG_ERROR, &(-code).to_ne_bytes()));
        let kind = |code| error(code).expect_err("an error").kind();
        assert_eq!(kind(libc::EOPNOTSUPP), io::ErrorKind::Unsupported);
        assert_eq!(kind(0), io::ErrorKind::InvalidData);
        let none = error(libc::ENODEV).expect_err("an error");
        assert_eq!(none.raw_os_error(), Some(libc::ENODEV));
        let bare = message(RTM_GETDCB, &[0, DCB_CMD_IEEE_GET, 0, 0]);
        assert_eq!(answer(&bare).expect_err("nothing").kind(), io::ErrorKind::Unsupported);
    }

    /// Loopback knows no DCB; the kernel understands the question.
    #[test]
    fn the_kernel_answers() {
        let error = pfc("lo").expect_err("loopback has no PFC");
        let sandboxed = error.kind() == io::ErrorKind::PermissionDenied;
        assert!(error.kind() == io::ErrorKind::Unsupported || sandboxed, "{error:?}");
        let none = pfc("no-such-netdev").expect_err("none");
        assert!(none.raw_os_error() == Some(libc::ENODEV) || sandboxed, "{none:?}");
        assert_eq!(pfc("").expect_err("no name").kind(), io::ErrorKind::InvalidInput);
    }

    proptest! {
        #[test]
        fn no_answer_is_too_odd(cut in 0_usize..300, at in 0_usize..300, byte: u8) {
            let mut bytes = told();
            let end = bytes.len();
            bytes[at % end] = byte;
            bytes.truncate(cut);
            let _ = answer(&bytes);
        }
    }
}
