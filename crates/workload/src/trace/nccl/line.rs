//! Lines of an NCCL log.

use super::super::names::{self, Call};

/// A line of the log, in the parts that matter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Line<'a> {
    /// `host:pid`, as the line begins.
    pub(super) process: &'a str,
    /// The GPU as the process counts it.
    pub(super) device: u32,
    pub(super) message: Message<'a>,
    /// Whether another message stands before it: two processes wrote at once.
    pub(super) torn: bool,
}

/// What a line says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Message<'a> {
    Operation(Operation<'a>),
    Communicator(Communicator<'a>),
    Channel {
        from: u32,
        to: u32,
        via: &'a str,
    },
    Warning(&'a str),
    /// An operation without all that it needs.
    Cut,
    Other(&'a str),
}

/// A call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Operation<'a> {
    pub(super) call: Option<Call>,
    pub(super) name: &'a str,
    pub(super) count: u64,
    pub(super) datatype: u64,
    pub(super) root: u64,
    pub(super) communicator: &'a str,
    pub(super) ranks: u64,
    pub(super) stream: Option<&'a str>,
    /// The rank in the job, which RCCL adds.
    pub(super) global_rank: Option<u64>,
}

/// A communicator that is made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Communicator<'a> {
    pub(super) pointer: &'a str,
    pub(super) rank: u64,
    pub(super) ranks: u64,
    /// What its ranks have in common; older versions do not say.
    pub(super) id: Option<&'a str>,
}

/// Longest name of a process, communicator or carrier: it is kept.
const LONGEST: usize = 256;

/// Reads a line; none if it is not NCCL's.
pub(super) fn read(line: &str) -> Option<Line<'_>> {
    const INFO: &str = " NCCL INFO ";
    const WARN: &str = " NCCL WARN ";
    let (before, text, warning) = match (line.rsplit_once(INFO), line.rsplit_once(WARN)) {
        (Some((before, text)), _) => (before, text, false),
        (None, Some((before, text))) => (before, text, true),
        (None, None) => return None,
    };
    let torn = before.contains(INFO);
    let (process, device) = writer(before)?;
    if process.len() > LONGEST {
        return None;
    }
    let message = if warning { Message::Warning(text.trim()) } else { message(text.trim()) };
    Some(Line { process, device, message, torn })
}

/// `host:pid:tid [device]`. RCCL puts where in its source it is after that (`[1] src/init.cc:12`), at most so
/// many words.
fn writer(before: &str) -> Option<(&str, u32)> {
    const MOST_WORDS: usize = 3;
    let words: Vec<&str> = before.split_whitespace().rev().take(MOST_WORDS + 2).collect();
    let device = |word: &str| word.strip_prefix('[')?.strip_suffix(']')?.parse().ok();
    let place = words.iter().position(|word| device(word).is_some())?;
    let (process, _) = words.get(place + 1)?.rsplit_once(':')?;
    Some((without_tag(process), device(words[place])?))
}

/// Without what launchers put right before a line: `[1,0]<stdout>:` of mpirun, `[default0]:` of torchrun.
fn without_tag(process: &str) -> &str {
    let after = |tag: &str| process.split_once(tag).map(|(_, after)| after);
    let tagged = || process.strip_prefix('[')?.split_once("]:").map(|(_, after)| after);
    let untagged = after("<stdout>:").or_else(|| after("<stderr>:")).or_else(tagged);
    untagged.filter(|process| process.contains(':')).unwrap_or(process)
}

fn message(text: &str) -> Message<'_> {
    if let Some((name, rest)) = text.split_once(": opCount ") {
        return operation(name, rest).map_or(Message::Cut, Message::Operation);
    }
    if let Some(rest) = text.strip_prefix("Channel ") {
        return channel(rest).unwrap_or(Message::Other("Channel"));
    }
    let is_made = text.contains("Init START") || text.contains("Init COMPLETE");
    if is_made && let Some(made) = communicator(text) {
        return Message::Communicator(made);
    }
    Message::Other(text)
}

/// The word after another one, unless it is too long to be right.
fn after<'a>(text: &'a str, word: &str) -> Option<&'a str> {
    let mut words = text.split_whitespace();
    words.find(|found| *found == word)?;
    words.next().filter(|word| word.len() <= LONGEST)
}

fn number(text: &str, word: &str) -> Option<u64> {
    after(text, word)?.parse().ok()
}

fn operation<'a>(name: &'a str, rest: &'a str) -> Option<Operation<'a>> {
    let (_, ranks) = rest.split_once("[nranks=")?;
    let ranks = ranks.split([']', ',']).next()?.parse().ok()?;
    Some(Operation {
        call: names::call(name),
        name,
        count: number(rest, "count")?,
        datatype: number(rest, "datatype")?,
        // Some forks say `peer` where it is one.
        root: number(rest, "root").or_else(|| number(rest, "peer"))?,
        communicator: after(rest, "comm")?,
        ranks,
        stream: after(rest, "stream"),
        global_rank: number(rest, "globalrank"),
    })
}

fn communicator(text: &str) -> Option<Communicator<'_>> {
    Some(Communicator {
        pointer: after(text, "comm")?,
        rank: number(text, "rank")?,
        ranks: number(text, "nranks")?,
        id: after(text, "commId"),
    })
}

/// `00/0 : 3[3] -> 4[0] [send] via NET/IB/0/GDRDMA`
fn channel(rest: &str) -> Option<Message<'_>> {
    let (_, ends) = rest.split_once(" : ")?;
    let (from, to) = ends.split_once(" -> ")?;
    let (_, via) = to.split_once(" via ")?;
    let rank = |text: &str| text.trim().split('[').next()?.parse().ok();
    let via = via.split_whitespace().next().filter(|via| via.len() <= LONGEST)?;
    Some(Message::Channel { from: rank(from)?, to: rank(to)?, via })
}

#[cfg(test)]
mod tests {
    use super::super::super::model::CollectiveKind;
    use super::*;

    #[test]
    fn a_call_with_anything_before_it() {
        let line = "(worker pid=7) [2026-01-02 03:04:05] gpu-1:615:18953 [2] NCCL INFO AllGather: \
             opCount 139d sendbuff 0x78d0 recvbuff 0x78d1 count 7382228 datatype 9 op 0 root 0 comm \
             0x78cf [nranks=128] stream 0x78d2";
        let found = read(line).unwrap();
        assert_eq!((found.process, found.device, found.torn), ("gpu-1:615", 2, false));
        let Message::Operation(operation) = found.message else { panic!("{found:?}") };
        assert_eq!(operation.call, Some(Call::Collective(CollectiveKind::AllGather)));
        assert_eq!((operation.count, operation.datatype, operation.ranks), (7_382_228, 9, 128));
        assert_eq!((operation.communicator, operation.stream), ("0x78cf", Some("0x78d2")));
        assert_eq!(operation.global_rank, None);
    }

    #[test]
    fn rccl_says_where_in_its_source_it_is() {
        let line = "node7:88:91 [1] /src/rccl/src/enqueue.cc:14 NCCL INFO Launch mode Parallel";
        let found = read(line).unwrap();
        assert_eq!((found.process, found.device, found.torn), ("node7:88", 1, false));
        // The place alone does not make a line of it.
        assert_eq!(read("[1] a b c d e NCCL INFO x"), None);
    }

    #[test]
    fn communicators_of_three_versions() {
        for (text, id) in [
            ("comm 0x7f rank 15 nranks 16 cudaDev 7 busId e7000 - Init COMPLETE", None),
            (
                "ncclCommInitRank comm 0x7f rank 15 nranks 16 cudaDev 0 nvmlDev 0 busId 42000 commId \
              0x996e - Init START",
                Some("0x996e"),
            ),
            (
                "ncclCommSplit comm 0x7f rank 15 nranks 16 cudaDev 0 commId 0x1 - Init COMPLETE",
                Some("0x1"),
            ),
        ] {
            let expected = Communicator { pointer: "0x7f", rank: 15, ranks: 16, id };
            assert_eq!(message(text), Message::Communicator(expected), "{text}");
        }
    }

    #[test]
    fn channels_and_their_carriers() {
        let found = |text| message(text);
        let net = found("Channel 00/0 : 3[3] -> 4[0] [send] via NET/IB/0/GDRDMA");
        assert_eq!(net, Message::Channel { from: 3, to: 4, via: "NET/IB/0/GDRDMA" });
        let old = found("Channel 02 : 7[1c0] -> 0[170] via P2P/IPC");
        assert_eq!(old, Message::Channel { from: 7, to: 0, via: "P2P/IPC" });
        assert_eq!(found("Channel 00/02 :    0   1   2   3"), Message::Other("Channel"));
    }

    #[test]
    fn lines_that_are_cut_torn_or_of_others() {
        assert_eq!(read("epoch 1 loss 0.5"), None);
        assert_eq!(read("gpu:1:1 NCCL INFO x"), None);
        let cut = read("g:1:1 [0] NCCL INFO AllReduce: opCount 1 sendbuff 0x1 count 5").unwrap();
        assert_eq!(cut.message, Message::Cut);
        let torn = read("a:1:2 [2] NCCL INFO b:3:4 [7] NCCL INFO Launch mode Parallel").unwrap();
        assert_eq!((torn.process, torn.torn), ("b:3", true));
        let warning = read("a:1:2 [2] NCCL WARN it broke ").unwrap();
        assert_eq!(warning.message, Message::Warning("it broke"));
    }
}
