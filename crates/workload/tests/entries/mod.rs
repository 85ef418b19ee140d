//! The entrances that traces come through, with what must hold for any of them. The fuzz targets and the
//! tests both call them.

use xoff_workload::trace::{Format, OperationId, Options, Place, Who, Work, read_stream};

/// What holds of every trace that was read, however damaged its file. Without a format it is told by
/// content.
pub(crate) fn trace(format: Option<Format>, bytes: &[u8]) {
    let trace = match read_stream("x.0.et", bytes, Options { format, ..Options::default() }) {
        Ok(trace) => trace,
        Err(error) => {
            assert!(!error.message.is_empty() && !error.interrupted, "{error}");
            return;
        }
    };
    let count = trace.operations.len() as u32;
    for (at, operation) in trace.operations.iter().enumerate() {
        let id = OperationId(at as u32);
        for need in trace.needs(id) {
            assert!(need.on.0 < count && need.on != id);
            assert_eq!(trace.operations[need.on.0 as usize].who, operation.who);
        }
        if let Who::One(rank) = operation.who {
            assert!(rank.0 < trace.ranks);
        }
        match operation.work {
            Work::Send(message) | Work::Receive(message) => {
                assert!(message.peer.is_none_or(|peer| peer.0 < trace.ranks));
            }
            Work::Collective(one) => {
                trace.group(one.group);
            }
            _ => {}
        }
    }
    let summary = trace.summary();
    let counted: u64 = summary.kinds.iter().map(|line| line.tally.count).sum();
    let by_rank: u64 =
        summary.ranks.iter().map(|line| line.communication.count + line.other.count).sum();
    assert_eq!([counted, by_rank], [u64::from(count); 2]);
    assert!(trace.notes.iter().all(|note| note.count > 0 && note.place != Place::Byte(u64::MAX)));
}

/// A workload of AICB, whatever its ranks and rows: the line that it is known by comes first.
#[allow(dead_code, reason = "each fuzz target calls one entrance")]
pub(crate) fn aicb(bytes: &[u8]) {
    let columns =
        b"comm_type,comm_group,comm_group_size,msg_size,stage,dst,src,additional,_elapsed_time\n";
    trace(Some(Format::SimAi), &[&columns[..], bytes].concat());
    trace(Some(Format::SimAi), &[&b"[rank0 ~ rank7]\n"[..], &columns[..], bytes].concat());
}

/// A GOAL schedule as LogGOPSim's binary: after its cookie.
#[allow(dead_code, reason = "each fuzz target calls one entrance")]
pub(crate) fn goal_binary(bytes: &[u8]) {
    trace(Some(Format::Goal), &[&4223u64.to_le_bytes()[..], bytes].concat());
}
