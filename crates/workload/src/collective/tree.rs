//! Two binary trees over the servers: an inner node of one is a leaf of the other.
//!
//! P. Sanders, J. Speck, J. L. Träff, "Two-tree algorithms for full bandwidth broadcast, reduction
//! and scan" (Parallel Computing 35, 2009): each tree carries half of the data, so that every server
//! sends and receives everything once in each direction. NCCL builds its trees in the same way.

/// The neighbours of a server in a tree: parent and up to two children.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Branch {
    pub(crate) parent: Option<u32>,
    pub(crate) children: [Option<u32>; 2],
}

/// The parent of a label in the tree of `count` labels: label 0 is the root and has one child, odd
/// labels are leaves, and the children of a label lie on both sides of it.
fn parent(label: u32, count: u32) -> Option<u32> {
    if label == 0 {
        return None;
    }
    let low = label & label.wrapping_neg();
    // Up to the label between this one and its sibling; where that is past the end, to the label
    // on the left, which takes the place of the missing ones.
    let up = (label ^ low) | low << 1;
    Some(if up < count { up } else { label ^ low })
}

/// The label of a server in a tree, and back: both trees relabel by an involution or a rotation.
fn label(server: u32, count: u32, second: bool, rooted: bool) -> u32 {
    match (second, rooted, count.is_multiple_of(2)) {
        (false, _, _) => server,
        // Everybody's parity flips, the roots are different servers.
        (true, false, true) => count - 1 - server,
        (true, false, false) => (server + count - 1) % count,
        // Server 0 is the root of both, and the parity of the others flips (but for one).
        (true, true, _) if server == 0 => 0,
        (true, true, false) => count - server,
        (true, true, true) => server % (count - 1) + 1,
    }
}

/// One of the two trees over servers 0 to `count`; with `rooted`, server 0 is the root of both.
pub(crate) fn branches(count: u32, second: bool, rooted: bool) -> Vec<Branch> {
    let mut server_of = vec![0; count as usize];
    for server in 0..count {
        server_of[label(server, count, second, rooted) as usize] = server;
    }
    let mut branches = vec![Branch { parent: None, children: [None; 2] }; count as usize];
    for at in 1..count {
        let server = server_of[at as usize];
        let Some(up) = parent(at, count).map(|up| server_of[up as usize]) else { continue };
        branches[server as usize].parent = Some(up);
        let children = &mut branches[up as usize].children;
        let free = usize::from(children[0].is_some());
        debug_assert!(children[free].is_none(), "a third child");
        children[free] = Some(server);
    }
    branches
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The longest way from a leaf to the root.
    fn depth(branches: &[Branch]) -> u32 {
        let up = |server: &u32| branches[*server as usize].parent;
        let way = |server| std::iter::successors(Some(server), up).count() as u32 - 1;
        (0..branches.len() as u32).map(way).max().unwrap_or(0)
    }

    #[test]
    fn trees_span_all_and_are_shallow() {
        for count in 1..300u32 {
            for (second, rooted) in [(false, false), (true, false), (true, true)] {
                let tree = branches(count, second, rooted);
                let roots: Vec<_> =
                    (0..count).filter(|&s| tree[s as usize].parent.is_none()).collect();
                assert_eq!(roots.len(), 1, "{count}");
                assert!(!rooted || roots[0] == 0);
                assert!(tree[roots[0] as usize].children[1].is_none());
                // `depth` would not end on a cycle.
                assert!(depth(&tree) <= count.next_power_of_two().ilog2() + 1, "{count}");
            }
        }
    }

    #[test]
    fn who_is_inner_in_one_is_a_leaf_in_the_other() {
        for count in 2..200u32 {
            for rooted in [false, true] {
                let trees = [false, true].map(|second| branches(count, second, rooted));
                let children = |tree: &[Branch], server: u32| {
                    tree[server as usize].children.iter().flatten().count()
                };
                for server in 0..count {
                    let both: usize = trees.iter().map(|tree| children(tree, server)).sum();
                    assert!(both <= 3, "{count} {server}");
                }
                let two = |s: &u32| trees.iter().map(|tree| children(tree, *s)).sum::<usize>() == 3;
                assert!((0..count).filter(two).count() <= 2, "{count} {rooted}");
            }
        }
    }
}
