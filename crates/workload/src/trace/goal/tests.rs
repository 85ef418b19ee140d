//! Schedules, right and wrong.

use super::super::{Format, Options, Trace, TraceError, read_stream};
use super::*;
use crate::trace::{NoteKind, OperationId};

fn parse(text: &str) -> Result<Trace, TraceError> {
    let options = Options { format: Some(Format::Goal), ..Options::default() };
    read_stream("f.goal", text.as_bytes(), options)
}

fn wrong(text: &str) -> String {
    parse(text).unwrap_err().to_string()
}

#[test]
fn everything_the_grammar_has() {
    let text = "// a comment\nnum_ranks 3\n\nrank 0 {\nl1: calc 100 cpu 1\nl2: send 10b to 1 tag 5 cpu 0 nic 2\n\
        l2 requires l1\nl3: recv 20b from -1 tag -1\nl3 irequires l2\n}\n/* over\n lines */ rank 1 {\n\
        recv 10b from 0 tag 5\n\tsend 20 b to 0 }\n";
    let trace = parse(text).unwrap();
    assert_eq!((trace.ranks, trace.operations.len(), trace.dependencies()), (3, 5, 2));
    let by = |who| trace.operations.iter().filter(|one| one.who == Who::One(Rank(who))).count();
    assert_eq!([by(0), by(1), by(2)], [3, 2, 0]);
    let first = trace.operations[0];
    let Work::Compute(effort) = first.work else { panic!("{first:?}") };
    assert_eq!((effort.span, first.stream), (Span::from_ns(100), Some(Stream(1))));
    let bytes = |count| Some(Bytes::new(count));
    let send = Message { peer: Some(Rank(1)), bytes: bytes(10), tag: Some(Tag(5)) };
    assert_eq!(trace.operations[1].work, Work::Send(send));
    let any = Message { peer: None, bytes: bytes(20), tag: None };
    assert_eq!(trace.operations[2].work, Work::Receive(any));
    let plain = Message { peer: Some(Rank(0)), bytes: bytes(20), tag: Some(Tag(0)) };
    assert_eq!(trace.operations[4].work, Work::Send(plain));
    let needs = |id| trace.needs(OperationId(id)).to_vec();
    assert_eq!(needs(1)[0].edge, Edge::Control);
    assert_eq!((needs(2)[0].on, needs(2)[0].edge), (OperationId(1), Edge::Start));
    assert!(needs(0).is_empty() && needs(3).is_empty() && needs(99).is_empty());
    let notes: Vec<_> = trace.notes.iter().map(|note| (note.kind, note.count)).collect();
    // Rank 2 is silent, and a NIC was chosen.
    assert_eq!(notes, [(NoteKind::Assumed, 1), (NoteKind::Skipped, 1)]);
}

#[test]
fn a_label_may_come_later() {
    let trace = parse("num_ranks 1\nrank 0 {\na requires b\na: calc 1\nb: calc 2\n}\n").unwrap();
    assert_eq!(trace.needs(OperationId(0))[0].on, OperationId(1));
}

#[test]
fn labels_belong_to_their_rank() {
    let text = "num_ranks 2\nrank 0 {\nl1: calc 1\n}\nrank 1 {\nl1: calc 2\nl2: calc 3\nl2 requires l1\n}\n";
    let trace = parse(text).unwrap();
    assert_eq!(trace.needs(OperationId(2))[0].on, OperationId(1));
}

#[test]
fn mistakes_are_named_with_their_line() {
    for (text, place, words) in [
        ("num_ranks 1000000000000\n", "line 1", "at most 1048576"),
        ("num_ranks 99999999999999999999999\n", "line 1", "more than 64 bits"),
        ("num_ranks 0\n", "line 1", "no rank at all"),
        ("num_ranks 2\nnum_ranks 2\n", "line 2", "twice"),
        ("rank 0 {\n}\n", "line 1", "must come before"),
        ("num_ranks 2\nrank 2 {\n}\n", "line 2", "rank 2 of 2"),
        ("num_ranks 2\nrank 0 {\nsend 1b to 2\n}\n", "line 3", "rank 2 of 2"),
        ("num_ranks 2\nrank 0 {\nsend 1b from 1\n}\n", "line 3", "expected `send N b to R`"),
        ("num_ranks 2\nrank 0 {\nsend 1b to -1\n}\n", "line 3", "expected"),
        ("num_ranks 2\nrank 0 {\nl1: calc 1\nl1: calc 1\n}\n", "line 4", "twice"),
        ("num_ranks 2\nrank 0 {\nl1: calc 1\nl1 requires l9\n}\n", "line 4", "`l9` is not defined"),
        ("num_ranks 2\nrank 0 {\ncalc 1\n}\nrank 0 {\n}\n", "line 5", "twice"),
        ("num_ranks 2\nrank 0 {\ncalc 1\n", "line 2", "`}` is missing"),
        ("num_ranks 2\ncalc 1\n", "line 2", "outside of a rank"),
        ("num_ranks 2\nrank 0 {\ncalc 1 tag 5\n}\n", "line 3", "`tag` `5`"),
        ("num_ranks 2\nrank 0 {\ncalc 1 cpu\n}\n", "line 3", "`cpu` is not understood"),
        ("num_ranks 2\nrank 0 {\ncalc \u{e9}\n}\n", "line 3", "\\xc3"),
        ("// only a comment\n", "f.goal", "no `num_ranks`"),
        (
            "num_ranks 1\nrank 0 {\na: calc 1\nb: calc 1\na requires b\nb requires a\n}\n",
            "line 2",
            "`a` waits for `b` waits for `a`",
        ),
        ("num_ranks 1\nrank 0 {\na: calc 1\na requires a\n}\n", "line 2", "`a` waits for `a`"),
    ] {
        let message = wrong(text);
        assert!(message.contains(place) && message.contains(words), "{text:?}: {message}");
    }
}

#[test]
fn an_endless_line_is_refused() {
    let text = format!("num_ranks 1\nrank 0 {{\n{}\n}}\n", "x".repeat(3 << 20));
    assert!(wrong(&text).contains("more than 1 MiB"));
}
