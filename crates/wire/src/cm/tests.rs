//! Messages to bytes and back.

use super::*;
use crate::bth::Pkey;
use crate::grh::Gid;
use crate::ip::TrafficClass;
use crate::udp::Port;
use crate::{Psn, Qpn};
use proptest::prelude::*;
use std::net::Ipv6Addr;

const LOCAL: CommId = CommId(0x1122_3344);
const REMOTE: CommId = CommId(0x5566_7788);
const TID: TransactionId = TransactionId(0x0102_0304_0506_0708);

fn path() -> Path {
    Path {
        local_lid: 0xffff,
        remote_lid: 0xfffe,
        local_gid: Gid(Ipv6Addr::from([0xaa; 16])),
        remote_gid: Gid(Ipv6Addr::from([0xbb; 16])),
        flow_label: 0xabcde,
        packet_rate: 0x2a,
        class: TrafficClass(0x6a),
        hop_limit: 64,
        service_level: 3,
        subnet_local: true,
        ack_timeout: 0x13,
    }
}

fn request() -> Request {
    Request {
        local_id: LOCAL,
        service: ServiceId::tcp(Port(18515)),
        ca_guid: 0x0123_4567_89ab_cdef,
        qkey: 0x1bad_cafe,
        qpn: Qpn::new(0x01_0203),
        responder_resources: 16,
        initiator_depth: 8,
        local_eecn: 0,
        remote_eecn: 0,
        remote_response_timeout: 20,
        transport: 0,
        flow_control: true,
        starting_psn: Psn::new(0x0a_0b0c),
        local_response_timeout: 21,
        retry_count: 7,
        pkey: Pkey::DEFAULT,
        path_mtu: PathMtu(5),
        rdc_exists: false,
        rnr_retry_count: 6,
        max_cm_retries: 15,
        srq: true,
        extended_transport: 0,
        primary: path(),
        alternate: Path::NONE,
        private_data: PrivateData::new(b"private").unwrap(),
    }
}

/// Offsets worked out from the tables of the standard, by hand.
#[test]
fn a_request_looks_as_on_the_wire() {
    let bytes = Message::Request(request()).emit(TID);
    assert_eq!(bytes[..4], [1, 7, 2, 3]);
    assert_eq!(bytes[8..16], [1, 2, 3, 4, 5, 6, 7, 8]);
    assert_eq!(bytes[16..18], [0, 0x10]);
    let data = &bytes[24..];
    assert_eq!(data[..4], [0x11, 0x22, 0x33, 0x44]);
    assert_eq!(data[8..16], [0, 0, 0, 0, 1, 6, 0x48, 0x53]);
    assert_eq!(data[16..24], [0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef]);
    assert_eq!(data[28..32], [0x1b, 0xad, 0xca, 0xfe]);
    assert_eq!(data[32..36], [1, 2, 3, 16]);
    assert_eq!(data[36..40], [0, 0, 0, 8]);
    assert_eq!(data[40..44], [0, 0, 0, 20 << 3 | 1]);
    assert_eq!(data[44..48], [0x0a, 0x0b, 0x0c, 21 << 3 | 7]);
    assert_eq!(data[48..52], [0xff, 0xff, 0x56, 0xf8]);
    assert_eq!(data[52..56], [0xff, 0xff, 0xff, 0xfe]);
    assert_eq!(data[56..72], [0xaa; 16]);
    assert_eq!(data[72..88], [0xbb; 16]);
    assert_eq!(data[88..96], [0xab, 0xcd, 0xe0, 0x2a, 0x6a, 64, 0x38, 0x98]);
    assert_eq!(data[96..140], [0; 44]);
    assert_eq!(&data[140..148], b"private\0");
}

#[test]
fn the_other_messages_look_as_on_the_wire() {
    let reply = Reply {
        local_id: LOCAL,
        remote_id: REMOTE,
        qkey: 9,
        qpn: Qpn::new(0x01_0203),
        local_eecn: 0,
        starting_psn: Psn::new(0x0a_0b0c),
        responder_resources: 3,
        initiator_depth: 4,
        target_ack_delay: 15,
        failover: 1,
        flow_control: true,
        rnr_retry_count: 5,
        srq: true,
        ca_guid: 0xff,
        private_data: PrivateData::new(b"yes").unwrap(),
    };
    let bytes = Message::Reply(reply).emit(TID);
    let data = &bytes[24..];
    assert_eq!(bytes[16..18], [0, 0x13]);
    assert_eq!(data[..8], [0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88]);
    assert_eq!(data[8..16], [0, 0, 0, 9, 1, 2, 3, 0]);
    assert_eq!(data[20..28], [0x0a, 0x0b, 0x0c, 0, 3, 4, 15 << 3 | 3, 0xb0]);
    assert_eq!(data[28..39], [0, 0, 0, 0, 0, 0, 0, 0xff, b'y', b'e', b's']);

    let reject = Reject {
        local_id: LOCAL,
        remote_id: REMOTE,
        about: Rejected::Reply,
        reason: RejectReason::INVALID_SERVICE_ID,
        info_len: 2,
        info: [0xcc; 72],
        private_data: PrivateData::new(b"no").unwrap(),
    };
    let bytes = Message::Reject(reject).emit(TID);
    assert_eq!(bytes[16..18], [0, 0x12]);
    assert_eq!(bytes[32..38], [0x40, 4, 0, 8, 0xcc, 0xcc]);
    assert_eq!(bytes[24 + 83..24 + 86], [0xcc, b'n', b'o']);

    let (local_id, remote_id, private_data) = (LOCAL, REMOTE, PrivateData::NONE);
    let remote_qpn = Qpn::new(0x04_0506);
    let disconnect = Disconnect { local_id, remote_id, remote_qpn, private_data };
    let bytes = Message::Disconnect(disconnect).emit(TID);
    assert_eq!((&bytes[16..18], &bytes[32..36]), (&[0, 0x15][..], &[4, 5, 6, 0][..]));
}

/// As recorded between two kernels, down to the last byte that is not zero.
#[test]
fn a_lookup_looks_as_on_the_wire() {
    let addressing = Addressing {
        source: [10, 99, 0, 3].into(),
        destination: [10, 99, 0, 2].into(),
        source_port: Port(0x97e0),
    };
    let local_id = CommId(0xfd9e_cd8a);
    let lookup = Lookup {
        local_id,
        pkey: Pkey::DEFAULT,
        service: ServiceId::udp(Port(0x4856)),
        private_data: PrivateData::new(&addressing.emit().unwrap()).unwrap(),
    };
    let bytes = Message::Lookup(lookup).emit(TID);
    assert_eq!(bytes[16..18], [0, 0x17]);
    let data = &bytes[24..];
    assert_eq!(data[..8], [0xfd, 0x9e, 0xcd, 0x8a, 0xff, 0xff, 0, 0]);
    assert_eq!(data[8..20], [0, 0, 0, 0, 1, 0x11, 0x48, 0x56, 0, 0x40, 0x97, 0xe0]);
    assert_eq!((&data[32..36], &data[48..52]), (&[10, 99, 0, 3][..], &[10, 99, 0, 2][..]));
    assert_eq!(data[52..], [0; 180]);

    let found = LookedUp {
        remote_id: local_id,
        status: LookupStatus::FOUND,
        info_len: 0,
        qpn: Qpn::new(0x16),
        service: lookup.service,
        qkey: 0x0123_4567,
        info: [0; 72],
        private_data: PrivateData::NONE,
    };
    let bytes = Message::LookedUp(found).emit(TID);
    assert_eq!(bytes[16..18], [0, 0x18]);
    let data = &bytes[24..];
    assert_eq!(data[..12], [0xfd, 0x9e, 0xcd, 0x8a, 0, 0, 0, 0, 0, 0, 0x16, 0]);
    assert_eq!(data[12..24], [0, 0, 0, 0, 1, 0x11, 0x48, 0x56, 1, 0x23, 0x45, 0x67]);
    assert_eq!(data[24..], [0; 208]);
    let message = Message::LookedUp(found);
    assert_eq!((message.local_id(), message.remote_id()), (CommId(0), Some(local_id)));
}

#[test]
fn what_is_no_message_is_refused() {
    let bytes = Message::Request(request()).emit(TID);
    assert_eq!(Message::parse(&bytes), Ok((TID, Message::Request(request()))));
    assert_eq!(Message::parse(&bytes[..255]), Err(CmError::Short));
    for (at, error) in [
        (0, CmError::NotCm),
        (1, CmError::NotCm),
        (2, CmError::NotCm),
        (3, CmError::NotCm),
        (17, CmError::Attribute(0xee)),
    ] {
        let mut wrong = bytes;
        wrong[at] = 0xee;
        assert_eq!(Message::parse(&wrong), Err(error), "byte {at}");
    }
}

#[test]
fn sizes_are_coded() {
    for (code, bytes) in [(1, 256), (3, 1024), (5, 4096)] {
        assert_eq!(PathMtu::from_bytes(bytes), Some(PathMtu(code)));
        assert_eq!(PathMtu(code).bytes(), Some(bytes));
    }
    assert_eq!((PathMtu(0).bytes(), PathMtu(6).bytes()), (None, None));
    assert_eq!(PathMtu::from_bytes(1500), None);
}

/// Which bits of a message mean something, by kind: what is not reserved.
fn meaningful(attribute: u16) -> [u8; mad::LEN] {
    let mut mask = [0xff; mad::LEN];
    mask[4..8].fill(0);
    mask[18..24].fill(0);
    let data = &mut mask[24..];
    match attribute {
        REQUEST => {
            data[4..8].fill(0);
            data[24..28].fill(0);
            for path in [52, 96] {
                data[path + 38] = 0xf0;
                data[path + 39] = 0x3f;
                data[path + 42] = 0xf8;
                data[path + 43] = 0xf8;
            }
        }
        DELAY => {
            data[8] = 0xc0;
            data[9] = 0xf8;
        }
        REJECT => {
            data[8] = 0xc0;
            data[9] = 0xfe;
        }
        REPLY => {
            for at in [15, 19, 23] {
                data[at] = 0;
            }
            data[27] = 0xf0;
        }
        DISCONNECT => data[11] = 0,
        LOOKUP => data[6..8].fill(0),
        LOOKED_UP => {
            data[6..8].fill(0);
            data[11] = 0;
        }
        _ => {}
    }
    mask
}

proptest! {
    /// Every bit that means something comes back; that no message loses or moves a field.
    #[test]
    fn what_parses_is_emitted_again(
        attribute in REQUEST..=LOOKED_UP,
        random in proptest::collection::vec(any::<u8>(), mad::LEN),
    ) {
        let mut bytes = [0; mad::LEN];
        bytes.copy_from_slice(&random);
        bytes[..4].copy_from_slice(&[1, CLASS, CLASS_VERSION, SEND]);
        bytes[16..18].copy_from_slice(&attribute.to_be_bytes());
        let (transaction, message) = Message::parse(&bytes).unwrap();
        let again = message.emit(transaction);
        for (byte, mask) in bytes.iter_mut().zip(meaningful(attribute)) {
            *byte &= mask;
        }
        prop_assert_eq!(again, bytes);
        prop_assert_eq!(Message::parse(&again), Ok((transaction, message)));
        let id = u32::from_be_bytes(field::<24, 4, { mad::LEN }>(&bytes));
        let first = if attribute == LOOKED_UP { message.remote_id() } else { Some(message.local_id()) };
        prop_assert_eq!(first, Some(CommId(id)));
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let _ = Message::parse(&bytes);
        let _ = Addressing::parse(&bytes);
    }
}
