//! Inode numbers and how long they live.
//!
//! The number of a node is a hash of what it stands for ([`Node::hash`]), so it is the same after a
//! restart. The table holds the nodes that the kernel knows: each successful look-up adds one to
//! the count of a node, a `forget` takes some away, and at zero the node leaves the table. Two
//! nodes with one hash are told apart by probing; as long as the kernel knows a node its number
//! stays, whatever comes and goes beside it.
//!
//! Numbers below 2^32 are never given out. Among them are those with a meaning of their own: 0 (no
//! entry), 1 (the root) and `0xffff_ffff` (the kernel's "unknown").

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;

use super::node::Node;
use crate::ident::mix;

/// The inode number of the root of the mount.
pub const ROOT: u64 = 1;

#[derive(Debug)]
pub(crate) struct Inodes {
    table: Mutex<Tables>,
    root: Arc<Node>,
}

#[derive(Debug, Default)]
struct Tables {
    by_number: HashMap<u64, Known>,
    by_node: HashMap<Arc<Node>, u64>,
}

#[derive(Debug)]
struct Known {
    node: Arc<Node>,
    lookups: u64,
}

impl Inodes {
    pub(crate) fn new(root: Node) -> Self {
        Self {
            table: Mutex::default(),
            root: Arc::new(root),
        }
    }

    /// The node of a number the kernel knows.
    pub(crate) fn node(&self, number: u64) -> Option<Arc<Node>> {
        if number == ROOT {
            return Some(Arc::clone(&self.root));
        }
        self.table
            .lock()
            .by_number
            .get(&number)
            .map(|known| Arc::clone(&known.node))
    }

    /// The number of a node that a look-up found; the kernel now knows it once more.
    pub(crate) fn acquire(&self, node: Node, hash: u64) -> u64 {
        if node == *self.root {
            return ROOT;
        }
        let mut tables = self.table.lock();
        let number = tables.number(&node, hash);
        if let Some(known) = tables.by_number.get_mut(&number) {
            known.lookups += 1;
        } else {
            let node = Arc::new(node);
            tables.by_node.insert(Arc::clone(&node), number);
            tables.by_number.insert(number, Known { node, lookups: 1 });
        }
        number
    }

    /// The number that a look-up of this node would give now, for a directory listing.
    pub(crate) fn peek(&self, node: &Node, hash: u64) -> u64 {
        if *node == *self.root {
            ROOT
        } else {
            self.table.lock().number(node, hash)
        }
    }

    /// The kernel forgets `times` look-ups of a number.
    pub(crate) fn forget(&self, number: u64, times: u64) {
        let mut tables = self.table.lock();
        let Some(known) = tables.by_number.get_mut(&number) else {
            return;
        };
        known.lookups = known.lookups.saturating_sub(times);
        if known.lookups == 0 {
            let node = Arc::clone(&known.node);
            tables.by_number.remove(&number);
            tables.by_node.remove(&node);
        }
    }

    /// How many nodes the kernel knows (without the root).
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.table.lock().by_number.len()
    }
}

impl Tables {
    fn number(&self, node: &Node, hash: u64) -> u64 {
        if let Some(&number) = self.by_node.get(node) {
            return number;
        }
        let mut number = hash;
        while u32::try_from(number).is_ok() || self.by_number.contains_key(&number) {
            number = mix(number.wrapping_add(0x9e37_79b9_7f4a_7c15));
        }
        number
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::node::At;

    fn file(name: &str) -> Node {
        Node::File(At {
            root: 0,
            rel: name.into(),
        })
    }

    #[test]
    fn a_collision_gets_another_number_and_keeps_it() {
        let inodes = Inodes::new(Node::Top);
        let hash = 1 << 40;
        let a = inodes.acquire(file("a"), hash);
        let b = inodes.acquire(file("b"), hash);
        assert_eq!(a, hash);
        assert_ne!(a, b);
        assert_eq!(inodes.peek(&file("b"), hash), b);
        inodes.forget(a, 1);
        assert_eq!(
            inodes.acquire(file("b"), hash),
            b,
            "b keeps its number when a is gone"
        );
        assert_eq!(*inodes.node(b).unwrap(), file("b"));
    }

    #[test]
    fn forget_counts() {
        let inodes = Inodes::new(Node::Top);
        let a = inodes.acquire(file("a"), 1 << 40);
        assert_eq!(inodes.acquire(file("a"), 1 << 40), a);
        inodes.forget(a, 1);
        assert!(inodes.node(a).is_some());
        inodes.forget(a, 1);
        assert!(inodes.node(a).is_none());
        assert_eq!(inodes.len(), 0);
        inodes.forget(a, 7);
        inodes.forget(ROOT, 1);
        assert_eq!(*inodes.node(ROOT).unwrap(), Node::Top);
    }

    #[test]
    fn reserved_numbers_are_never_given_out() {
        let inodes = Inodes::new(Node::Top);
        for (i, hash) in [0, 1, 0xffff_ffff].into_iter().enumerate() {
            assert!(inodes.acquire(file(&i.to_string()), hash) > u64::from(u32::MAX));
        }
    }
}
