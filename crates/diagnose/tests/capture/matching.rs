//! Which two directions are one connection.

use crate::harness::{QP, Tape, only};
use xoff_diagnose::capture::{Kind, Matched};
use xoff_wire::bth::Pkey;
use xoff_wire::cm::{
    CommId, Message, Path, PathMtu, PrivateData, Reject, RejectReason, Rejected, Reply, Request,
    ServiceId,
};
use xoff_wire::mad::{self, TransactionId};
use xoff_wire::udp::Port;
use xoff_wire::{Deth, Extension, Opcode, Psn, Qpn, Service};

fn message(tape: &mut Tape, from: usize, message: &Message) {
    let bytes = message.emit(TransactionId(1));
    let mut header = tape.header(from, Opcode::SendOnly, 0);
    header.service = Service::Datagram;
    header.dest_qp = mad::QPN;
    header.extension = Extension::Deth(mad::DETH);
    header.payload = bytes.len() as u32;
    let number = tape.send(from, header);
    // The harness fills payloads; put the message where it belongs and make the ICRC right.
    tape.rewrite(number, &bytes);
}

fn request(qpn: u32) -> Message {
    Message::Request(Request {
        local_id: CommId(77),
        service: ServiceId::tcp(Port(18515)),
        ca_guid: 0,
        qkey: 0,
        qpn: Qpn::new(qpn),
        responder_resources: 1,
        initiator_depth: 1,
        local_eecn: 0,
        remote_eecn: 0,
        remote_response_timeout: 20,
        transport: 0,
        flow_control: true,
        starting_psn: Psn::new(0),
        local_response_timeout: 20,
        retry_count: 7,
        pkey: Pkey::DEFAULT,
        path_mtu: PathMtu(3),
        rdc_exists: false,
        rnr_retry_count: 7,
        max_cm_retries: 15,
        srq: false,
        extended_transport: 0,
        primary: Path::NONE,
        alternate: Path::NONE,
        private_data: PrivateData::NONE,
    })
}

fn reply(qpn: u32) -> Message {
    Message::Reply(Reply {
        local_id: CommId(88),
        remote_id: CommId(77),
        qkey: 0,
        qpn: Qpn::new(qpn),
        local_eecn: 0,
        starting_psn: Psn::new(0),
        responder_resources: 1,
        initiator_depth: 1,
        target_ack_delay: 0,
        failover: 0,
        flow_control: true,
        rnr_retry_count: 7,
        srq: false,
        ca_guid: 0,
        private_data: PrivateData::NONE,
    })
}

#[test]
fn the_connection_manager_knows() {
    let mut tape = Tape::new();
    message(&mut tape, 0, &request(QP[0]));
    message(&mut tape, 1, &reply(QP[1]));
    // No answer that could give it away.
    tape.writes(0, [1, 2]);
    tape.writes(1, [900]);
    let report = tape.report();
    let connection = only(&report);
    assert_eq!(connection.matched, Matched::ConnectionManager);
    assert_eq!((connection.a.qpn, connection.b.qpn), (Some(QP[0]), Some(QP[1])));
    assert_eq!(connection.b_to_a.operations.write, 1);
    assert_eq!(report.management.requests + report.management.replies, 2);
    assert_eq!(report.totals.icrc_right, 5, "the messages' too");
}

#[test]
fn queue_pairs_that_are_used_again_begin_anew() {
    let mut tape = Tape::new();
    for start in [1000, 500] {
        message(&mut tape, 0, &request(QP[0]));
        message(&mut tape, 1, &reply(QP[1]));
        tape.writes(0, [start, start + 1]);
        tape.ack(1, start + 1);
    }
    let report = tape.report();
    assert_eq!(report.findings, []);
    assert_eq!(only(&report).a_to_b.operations.write, 4);
}

#[test]
fn a_rejection_says_why() {
    let mut tape = Tape::new();
    message(&mut tape, 0, &request(QP[0]));
    let reject = Reject {
        local_id: CommId(0),
        remote_id: CommId(77),
        about: Rejected::Request,
        reason: RejectReason::INVALID_SERVICE_ID,
        info_len: 0,
        info: [0; 72],
        private_data: PrivateData::NONE,
    };
    message(&mut tape, 1, &Message::Reject(reject));
    let report = tape.report();
    assert_eq!(report.findings.len(), 1);
    assert_eq!(report.findings[0].kind, Kind::Rejected);
    assert_eq!(report.findings[0].evidence.packets, [2]);
    assert_eq!(report.findings[0].text, "1 connection rejected: nobody listens");
}

#[test]
fn sequence_numbers_match_many_connections_at_once() {
    let mut tape = Tape::new();
    let start = |qp: u32| qp * 50_021 % (1 << 24);
    for qp in 0..100 {
        tape.qp = [0x1000 + qp, 0x2000 + (qp * 37) % 100];
        tape.writes(0, [start(qp), start(qp) + 1]);
    }
    for qp in 0..100 {
        tape.qp = [0x1000 + qp, 0x2000 + (qp * 37) % 100];
        tape.ack(1, start(qp) + 1);
    }
    let report = tape.report();
    assert_eq!(report.connections.len(), 100);
    for connection in &report.connections {
        assert_eq!(connection.matched, Matched::SequenceNumbers);
        let (a, b) = (connection.a.qpn.unwrap(), connection.b.qpn.unwrap());
        assert_eq!(b - 0x2000, ((a - 0x1000) * 37) % 100);
        assert_eq!(connection.a_to_b.acks, 1);
    }
}

#[test]
fn equal_numbers_are_told_apart_by_port_or_not_at_all() {
    let make = |ports: bool| {
        let mut tape = Tape::new();
        for qp in 0..2 {
            tape.qp = [0x10 + qp, 0x20 + qp];
            tape.port = 0xc000 + if ports { qp as u16 } else { 0 };
            tape.writes(0, [0, 1]);
        }
        for qp in 0..2 {
            tape.qp = [0x10 + qp, 0x20 + qp];
            tape.port = 0xc000 + if ports { qp as u16 } else { 0 };
            tape.ack(1, 1);
        }
        tape.report()
    };
    let told = make(true);
    assert_eq!(told.connections.len(), 2);
    assert!(told.connections.iter().all(|c| c.a.qpn.unwrap() + 0x10 == c.b.qpn.unwrap()));
    let unclear = make(false);
    assert_eq!(unclear.connections.len(), 4, "nothing is guessed");
    assert_eq!(unclear.findings.len(), 4);
    assert!(unclear.findings.iter().all(|finding| finding.kind == Kind::Unmatched));
}

#[test]
fn both_ends_may_ask() {
    let mut tape = Tape::new();
    tape.writes(0, [100]);
    tape.wait(2).ack(1, 100);
    tape.writes(1, [200]);
    tape.wait(2).ack(0, 200);
    let report = tape.report();
    let connection = only(&report);
    assert_eq!(report.findings, []);
    assert_eq!((connection.a_to_b.acks, connection.b_to_a.acks), (1, 1));
    assert_eq!(connection.b_to_a.round_trip.samples, 1);
}

#[test]
fn datagrams_name_both_ends() {
    let mut tape = Tape::new();
    tape.service = Service::Datagram;
    for source in [5, 6] {
        for psn in 0..3 {
            let mut header = tape.header(0, Opcode::SendOnly, psn * 7);
            header.payload = 100;
            header.extension = Extension::Deth(Deth { qkey: 1, source: Qpn::new(source) });
            tape.send(0, header);
        }
    }
    let report = tape.report();
    assert_eq!(report.connections.len(), 2);
    for (connection, source) in report.connections.iter().zip([5, 6]) {
        assert_eq!((connection.service, connection.a.qpn), (Some("UD"), Some(source)));
        assert_eq!(connection.matched, Matched::Datagram);
        assert_eq!(connection.a_to_b.operations.send, 3);
    }
    assert_eq!(report.findings, []);
}
