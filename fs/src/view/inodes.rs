//! Inode numbers and their lifetime.
//!
//! The number of a node is a hash of its identity ([`Node::hash`]), so it is the same after a
//! restart. The table holds the nodes that the kernel knows. Each successful look-up increments the
//! count of a node, and a `forget` decrements it. At zero the node leaves the table. Two nodes with
//! one hash get distinct numbers by probing. A node keeps its number while the kernel knows it.
//!
//! The kernel keeps pages and a size by number. So a file that replaces another at its path gets
//! its own number while the other is open. A reader of the old file continues with it. An open of
//! the path reads the new one. Each has its own size.
//!
//! Numbers below 2^32 are never given out. Some of them are reserved: 0 (no entry), 1 (the root)
//! and `0xffff_ffff` (the kernel's "unknown").

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use rustix::fs::Stat;

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
    /// The real file, for a file of the tree.
    shown: Option<Shown>,
    /// The number of times it is open.
    opens: u64,
}

/// The real file and the size that the kernel was shown under a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shown {
    dev: u64,
    ino: u64,
    size: u64,
}

impl Shown {
    pub(crate) fn of(stat: &Stat) -> Self {
        Self {
            dev: stat.st_dev,
            ino: stat.st_ino,
            size: stat.st_size as u64,
        }
    }

    /// Returns whether both states are of one file, whatever its size.
    fn is_file(self, other: Self) -> bool {
        (self.dev, self.ino) == (other.dev, other.ino)
    }
}

/// The result of opening a file under a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Opening {
    /// The opened file is the one that the kernel was shown.
    Shown,
    /// The kernel has another file, or another size.
    Outdated,
    /// Another file is open under this number.
    Beside,
}

impl Known {
    /// Returns whether the number can represent this file from now on: it does already, or no file
    /// is open under it.
    fn can_be(&self, now: Shown) -> bool {
        self.opens == 0 || self.shown.is_none_or(|shown| shown.is_file(now))
    }
}

impl Inodes {
    pub(crate) fn new(root: Node) -> Self {
        Self {
            table: Mutex::default(),
            root: Arc::new(root),
        }
    }

    /// Returns the node of a number that the kernel knows.
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

    /// Returns the number of a node that a look-up found, and increments its count. `shown` is the
    /// real file, for a file of the tree.
    pub(crate) fn acquire(&self, node: Node, hash: u64, shown: Option<Shown>) -> u64 {
        if node == *self.root {
            return ROOT;
        }
        let mut tables = self.table.lock();
        let number = tables.number(&node, hash, shown);
        if let Some(known) = tables.by_number.get_mut(&number) {
            known.lookups += 1;
            known.shown = shown;
        } else {
            let node = Arc::new(node);
            tables.by_node.insert(Arc::clone(&node), number);
            let known = Known {
                node,
                lookups: 1,
                shown,
                opens: 0,
            };
            tables.by_number.insert(number, known);
        }
        number
    }

    /// Records that the kernel is shown this file under a number; `false`: another one is open
    /// under it.
    pub(crate) fn show(&self, number: u64, now: Shown) -> bool {
        let mut tables = self.table.lock();
        let Some(known) = tables.by_number.get_mut(&number) else {
            return true;
        };
        let can_be = known.can_be(now);
        if can_be {
            known.shown = Some(now);
        }
        can_be
    }

    /// Counts an open of this file under a number. It is refused if the number is outdated and the
    /// kernel has not just looked it up again.
    pub(crate) fn open(&self, number: u64, now: Shown, has_looked: bool) -> Opening {
        let mut tables = self.table.lock();
        let Some(known) = tables.by_number.get_mut(&number) else {
            return Opening::Outdated;
        };
        if known.shown != Some(now) && !has_looked {
            return Opening::Outdated;
        }
        let can_be = known.can_be(now);
        known.opens += 1;
        if can_be {
            known.shown = Some(now);
            Opening::Shown
        } else {
            Opening::Beside
        }
    }

    /// Counts a close.
    pub(crate) fn close(&self, number: u64) {
        if let Some(known) = self.table.lock().by_number.get_mut(&number) {
            known.opens = known.opens.saturating_sub(1);
        }
    }

    /// Returns the number that a look-up of this node would give now, for a directory listing.
    pub(crate) fn peek(&self, node: &Node, hash: u64) -> u64 {
        if *node == *self.root {
            ROOT
        } else {
            self.table.lock().number(node, hash, None)
        }
    }

    /// Decrements the count of a number by `times` look-ups.
    pub(crate) fn forget(&self, number: u64, times: u64) {
        let mut tables = self.table.lock();
        let Some(known) = tables.by_number.get_mut(&number) else {
            return;
        };
        known.lookups = known.lookups.saturating_sub(times);
        if known.lookups == 0 {
            let node = Arc::clone(&known.node);
            tables.by_number.remove(&number);
            // A file that replaced this one has a number of its own, which stays.
            if tables.by_node.get(&node) == Some(&number) {
                tables.by_node.remove(&node);
            }
        }
    }

    /// Returns the number of nodes that the kernel knows (without the root).
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.table.lock().by_number.len()
    }
}

impl Tables {
    fn number(&self, node: &Node, hash: u64, shown: Option<Shown>) -> u64 {
        let is_it = |known: &Known| shown.is_none_or(|now| known.can_be(now));
        if let Some(&number) = self.by_node.get(node)
            && self.by_number.get(&number).is_some_and(is_it)
        {
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
        let a = inodes.acquire(file("a"), hash, None);
        let b = inodes.acquire(file("b"), hash, None);
        assert_eq!(a, hash);
        assert_ne!(a, b);
        assert_eq!(inodes.peek(&file("b"), hash), b);
        inodes.forget(a, 1);
        assert_eq!(
            inodes.acquire(file("b"), hash, None),
            b,
            "b keeps its number when a is gone"
        );
        assert_eq!(*inodes.node(b).unwrap(), file("b"));
    }

    #[test]
    fn forget_counts() {
        let inodes = Inodes::new(Node::Top);
        let a = inodes.acquire(file("a"), 1 << 40, None);
        assert_eq!(inodes.acquire(file("a"), 1 << 40, None), a);
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
    fn a_file_that_replaces_an_open_one_has_a_number_of_its_own() {
        let inodes = Inodes::new(Node::Top);
        let shown = |ino, size| Shown { dev: 1, ino, size };
        let hash = 1 << 40;
        let old = inodes.acquire(file("a"), hash, Some(shown(6, 100)));
        let open = |number, now, has_looked| inodes.open(number, now, has_looked);
        assert_eq!(open(old, shown(7, 100), false), Opening::Outdated);
        assert_eq!(inodes.acquire(file("a"), hash, Some(shown(7, 100))), old);
        assert_eq!(open(old, shown(7, 100), false), Opening::Shown);
        assert_eq!(
            open(old, shown(7, 200), false),
            Opening::Outdated,
            "it has grown"
        );
        assert!(inodes.show(old, shown(7, 200)));
        assert_eq!(open(old, shown(7, 200), false), Opening::Shown);
        assert!(!inodes.show(old, shown(8, 10)));
        assert_eq!(open(old, shown(8, 10), true), Opening::Beside);
        let new = inodes.acquire(file("a"), hash, Some(shown(8, 10)));
        assert_ne!(new, old);
        assert_eq!(inodes.peek(&file("a"), hash), new, "that is what is there");
        (0..3).for_each(|_| inodes.close(old));
        assert!(inodes.show(old, shown(8, 10)), "nobody reads the old one");
        inodes.forget(old, 2);
        assert!(inodes.node(old).is_none());
        assert_eq!(inodes.peek(&file("a"), hash), new, "it keeps its number");
        inodes.forget(new, 1);
        assert_eq!(inodes.len(), 0);
        assert_eq!(inodes.acquire(file("a"), hash, Some(shown(8, 10))), hash);
    }

    #[test]
    fn reserved_numbers_are_never_given_out() {
        let inodes = Inodes::new(Node::Top);
        for (i, hash) in [0, 1, 0xffff_ffff].into_iter().enumerate() {
            assert!(inodes.acquire(file(&i.to_string()), hash, None) > u64::from(u32::MAX));
        }
    }
}
