//! Which receive takes which send.

use crate::trace::{Message, Rank, Tag};

/// A send or a receive of the job. There may be millions: its size is looked up in the trace.
#[derive(Debug, Clone, Copy)]
pub(super) struct Post {
    /// The rank that makes it.
    pub(super) rank: u32,
    /// The other rank; none: any, of the same replica.
    pub(super) peer: Option<u32>,
    pub(super) tag: Option<Tag>,
    pub(super) node: u32,
}

impl Post {
    /// What a rank's message is in a replica whose first rank is `offset`.
    pub(super) fn new(rank: u32, offset: u32, message: &Message, node: u32) -> Self {
        let peer = message.peer.map(|Rank(peer)| peer + offset);
        Self { rank, peer, tag: message.tag, node }
    }
}

/// A send and its receive.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pair {
    pub(super) send: Post,
    pub(super) receive: Post,
}

/// Pairs, and what found none.
#[derive(Debug, Default)]
pub(super) struct Matched {
    pub(super) pairs: Vec<Pair>,
    pub(super) sends: Vec<Post>,
    pub(super) receives: Vec<Post>,
    /// Receives from any rank or with any tag, which took the first send that was left for them.
    pub(super) open: u64,
}

/// Matches sends and receives with the same ranks and tag, in their order; then receives from any rank
/// or with any tag take what is left, one of every sender in turn and in its order.
pub(super) fn matched(mut sends: Vec<Post>, receives: Vec<Post>) -> Matched {
    let (mut exact, open): (Vec<Post>, Vec<Post>) =
        receives.into_iter().partition(|post| post.peer.is_some());
    let send_key = |post: &Post| (post.rank, post.peer, post.tag, post.node);
    let receive_key = |post: &Post| (post.peer.unwrap_or(0), Some(post.rank), post.tag, post.node);
    sends.sort_unstable_by_key(send_key);
    exact.sort_unstable_by_key(receive_key);
    let mut found = Matched::default();
    let (mut left, mut late) = (Vec::new(), Vec::new());
    let mut sends = sends.into_iter().peekable();
    for receive in exact {
        let (from, to, tag, _) = receive_key(&receive);
        while let Some(send) = sends.next_if(|s| (s.rank, s.peer, s.tag) < (from, to, tag)) {
            left.push(send);
        }
        match sends.next_if(|s| (s.rank, s.peer, s.tag) == (from, to, tag)) {
            Some(send) => found.pairs.push(Pair { send, receive }),
            None => late.push(receive),
        }
    }
    left.extend(sends);
    found.take_open(left, late, open);
    found
}

impl Matched {
    /// What is left is little, or the trace is of a kind that says little: by receiver, then in order.
    ///
    /// Of the messages to a receiver the first of every sender come first, then the second of every sender: all of one sender
    /// before any of another would make ranks wait for each other that did not.
    fn take_open(&mut self, sends: Vec<Post>, late: Vec<Post>, open: Vec<Post>) {
        let sends = in_turns(sends);
        let mut taken = vec![false; sends.len()];
        let mut receives: Vec<Post> = late.into_iter().chain(open).collect();
        receives.sort_by_key(|post| (post.rank, post.node));
        for receive in receives {
            let first = sends.partition_point(|send| send.peer < Some(receive.rank));
            let own = sends[first..].iter().take_while(|send| send.peer == Some(receive.rank));
            let fits = |send: &Post| {
                receive.peer.is_none_or(|peer| peer == send.rank)
                    && (receive.tag.is_none() || send.tag.is_none() || receive.tag == send.tag)
            };
            let place = own.enumerate().find(|(at, send)| !taken[first + at] && fits(send));
            match place {
                Some((at, &send)) => {
                    taken[first + at] = true;
                    self.open += 1;
                    self.pairs.push(Pair { send, receive });
                }
                None => self.receives.push(receive),
            }
        }
        let left = sends.into_iter().zip(taken).filter(|(_, taken)| !taken);
        self.sends.extend(left.map(|(send, _)| send));
        self.pairs.sort_unstable_by_key(|pair| pair.send.node);
    }
}

/// Sorts messages by receiver, and those to one by their place among the messages of their sender, then by sender.
fn in_turns(mut sends: Vec<Post>) -> Vec<Post> {
    sends.sort_unstable_by_key(|post| (post.peer, post.rank, post.node));
    let (mut before, mut place) = (None, 0u32);
    let mut placed: Vec<(Option<u32>, u32, Post)> = Vec::with_capacity(sends.len());
    for post in sends {
        let way = Some((post.peer, post.rank));
        place = if before == way { place + 1 } else { 0 };
        before = way;
        placed.push((post.peer, place, post));
    }
    placed.sort_unstable_by_key(|(peer, place, post)| (*peer, *place, post.rank));
    placed.into_iter().map(|(_, _, post)| post).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn post(rank: u32, peer: Option<u32>, tag: Option<u32>, node: u32) -> Post {
        Post { rank, peer, tag: tag.map(Tag), node }
    }

    fn nodes(found: &Matched) -> Vec<(u32, u32)> {
        found.pairs.iter().map(|pair| (pair.send.node, pair.receive.node)).collect()
    }

    #[test]
    fn by_ranks_and_tag_in_order() {
        let sends = vec![
            post(0, Some(1), Some(7), 10),
            post(0, Some(1), Some(5), 11),
            post(0, Some(1), Some(5), 12),
            post(2, Some(1), Some(5), 13),
        ];
        let receives = vec![
            post(1, Some(0), Some(5), 20),
            post(1, Some(0), Some(5), 21),
            post(1, Some(0), Some(7), 22),
            post(1, Some(3), Some(5), 23),
        ];
        let found = matched(sends, receives);
        assert_eq!(nodes(&found), [(10, 22), (11, 20), (12, 21)]);
        assert_eq!((found.sends[0].node, found.receives[0].node, found.open), (13, 23, 0));
    }

    #[test]
    fn open_receives_take_what_is_left() {
        let sends = vec![post(2, Some(1), Some(9), 3), post(0, Some(1), Some(4), 5)];
        let receives = vec![post(1, None, None, 7), post(1, None, Some(9), 8)];
        let found = matched(sends, receives);
        // The first takes that of the lowest rank; the other wants a tag.
        assert_eq!(nodes(&found), [(3, 8), (5, 7)]);
        assert_eq!((found.sends.len(), found.receives.len(), found.open), (0, 0, 2));
    }

    #[test]
    fn open_receives_hear_all_senders_in_turn() {
        let sends =
            [(1, 3), (1, 4), (2, 5), (2, 6)].map(|(rank, node)| post(rank, Some(0), None, node));
        let receives = (7..11).map(|node| post(0, None, None, node)).collect();
        let found = matched(sends.to_vec(), receives);
        assert_eq!(nodes(&found), [(3, 7), (4, 9), (5, 8), (6, 10)]);
    }
}
