//! Assigns inode numbers to nodes, and keeps them while the kernel knows them.
//!
//! The number of a node is a hash of its identity ([`Node::hash`]), so it is the same after a
//! restart. The table has the nodes that the kernel knows. Each successful look-up increments the
//! count of a node, and a `forget` decrements it. When the count is zero, the node is removed from
//! the table, unless it is open. If two nodes have the same hash, the second node gets another
//! number. A node keeps its number while the kernel knows it, except if its file is replaced.
//!
//! The kernel keeps pages and a size for each number. It sets a new size under a lock, but cuts off
//! pages after it has released the lock. If two files were open under one number, the size of one
//! could cut off pages of the other. So **only one file is ever open under a number**. A file that
//! replaces another at its path gets a number of its own, as on a disk. Until the kernel looks the
//! name up again, it knows only the old number. Under the old number the kernel gets the attributes
//! of the new file, or of the old file if that is open. The kernel cannot open the new file under
//! the old number. A disk may use the inode number of a removed file again. Then both files count
//! as one.
//!
//! Numbers below 2^32 are never assigned. Some of them are reserved: 0 (no entry), 1 (the root) and
//! `0xffff_ffff` (unknown, for the kernel).

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
    /// The number of handles that have the node open.
    opens: u64,
    /// The real file that the kernel was shown under this number, if the node is a file of the
    /// tree.
    shown: Option<Shown>,
}

/// A real file, with the size that it had when the kernel was shown its attributes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shown {
    dev: u64,
    ino: u64,
    size: u64,
}

impl Shown {
    /// A value that equals no file. It is stored for a number if the kernel was shown another
    /// file's attributes under that number.
    const OTHERS: Self = Self {
        dev: 0,
        ino: 0,
        size: 0,
    };

    pub(crate) fn of(stat: &Stat) -> Self {
        Self {
            dev: stat.st_dev,
            ino: stat.st_ino,
            size: stat.st_size as u64,
        }
    }

    /// Returns whether both values are about the same file. Their sizes may differ.
    fn is_file(self, other: Self) -> bool {
        (self.dev, self.ino) == (other.dev, other.ino)
    }
}

impl Known {
    /// Returns whether the number may be used for this file.
    fn is(&self, now: Shown) -> bool {
        self.shown.is_none_or(|shown| shown.is_file(now))
    }
}

impl Inodes {
    pub(crate) fn new(root: Node) -> Self {
        Self {
            table: Mutex::default(),
            root: Arc::new(root),
        }
    }

    /// Returns the node of a number, if the kernel knows the number.
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

    /// Returns the number of a node that a look-up has found, and increments its count. If the node
    /// is a file of the tree, `shown` is the real file.
    pub(crate) fn acquire(&self, node: Node, hash: u64, shown: Option<Shown>) -> u64 {
        if node == *self.root {
            return ROOT;
        }
        self.table.lock().acquire(node, hash, shown)
    }

    /// Returns the number of a file that a look-up has found and opened. Counts the look-up and the
    /// open handle.
    pub(crate) fn acquire_open(&self, node: Node, hash: u64, shown: Shown) -> u64 {
        let mut tables = self.table.lock();
        let number = tables.acquire(node, hash, Some(shown));
        if let Some(known) = tables.by_number.get_mut(&number) {
            known.opens += 1;
        }
        number
    }

    /// Records that the kernel is shown the attributes of this file under a number. Returns
    /// `false`, and records nothing, if another file is open under the number.
    pub(crate) fn show(&self, number: u64, now: Shown) -> bool {
        let mut tables = self.table.lock();
        let Some(known) = tables.by_number.get_mut(&number) else {
            return true;
        };
        if known.is(now) {
            known.shown = Some(now);
        } else if known.opens == 0 {
            known.shown = Some(Shown::OTHERS);
        } else {
            return false;
        }
        true
    }

    /// Counts a handle that opens this file under a number. Returns `false`, and counts nothing, if
    /// the kernel was shown another file or size.
    pub(crate) fn open(&self, number: u64, now: Shown) -> bool {
        let mut tables = self.table.lock();
        let known = tables.by_number.get_mut(&number);
        let Some(known) = known.filter(|known| known.shown == Some(now)) else {
            return false;
        };
        known.opens += 1;
        true
    }

    /// Subtracts a closed handle from the count of handles.
    pub(crate) fn close(&self, number: u64) {
        let mut tables = self.table.lock();
        if let Some(known) = tables.by_number.get_mut(&number) {
            known.opens = known.opens.saturating_sub(1);
            tables.remove_unused(number);
        }
    }

    /// Returns the number that a look-up of this node would return now. A directory listing shows
    /// that number.
    pub(crate) fn peek(&self, node: &Node, hash: u64) -> u64 {
        if *node == *self.root {
            ROOT
        } else {
            self.table.lock().number(node, hash, None)
        }
    }

    /// Reduces the count of a number by `times`, because the kernel has forgotten this many
    /// look-ups.
    pub(crate) fn forget(&self, number: u64, times: u64) {
        let mut tables = self.table.lock();
        let Some(known) = tables.by_number.get_mut(&number) else {
            return;
        };
        known.lookups = known.lookups.saturating_sub(times);
        tables.remove_unused(number);
    }

    /// Returns the number of nodes in the table, without the root.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.table.lock().by_number.len()
    }
}

impl Tables {
    fn acquire(&mut self, node: Node, hash: u64, shown: Option<Shown>) -> u64 {
        let number = self.number(&node, hash, shown);
        if let Some(known) = self.by_number.get_mut(&number) {
            known.lookups += 1;
            known.shown = shown;
        } else {
            let node = Arc::new(node);
            self.by_node.insert(Arc::clone(&node), number);
            let known = Known {
                node,
                lookups: 1,
                opens: 0,
                shown,
            };
            self.by_number.insert(number, known);
        }
        number
    }

    /// Removes a node if the kernel does not know it and it is not open. Both conditions are
    /// checked, because the kernel may forget a number before it closes the last handle.
    fn remove_unused(&mut self, number: u64) {
        let known = self.by_number.get(&number);
        let Some(known) = known.filter(|known| known.lookups == 0 && known.opens == 0) else {
            return;
        };
        let node = Arc::clone(&known.node);
        self.by_number.remove(&number);
        // If another file has replaced the file of this number, the node now has the number of the
        // other file. That number must stay.
        if self.by_node.get(&node) == Some(&number) {
            self.by_node.remove(&node);
        }
    }

    fn number(&self, node: &Node, hash: u64, shown: Option<Shown>) -> u64 {
        let is_it = |known: &Known| shown.is_none_or(|now| known.is(now));
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
    fn a_file_that_replaces_another_has_a_number_of_its_own() {
        let inodes = Inodes::new(Node::Top);
        let shown = |ino, size| Shown { dev: 1, ino, size };
        let hash = 1 << 40;
        let look_up = |now| inodes.acquire(file("a"), hash, Some(now));
        let old = look_up(shown(6, 100));
        assert!(inodes.open(old, shown(6, 100)));
        assert!(!inodes.open(old, shown(6, 200)), "it has grown");
        assert!(inodes.show(old, shown(6, 200)));
        assert!(inodes.open(old, shown(6, 200)));
        assert_eq!(look_up(shown(6, 300)), old);
        assert!(!inodes.show(old, shown(8, 10)));
        assert!(!inodes.open(old, shown(8, 10)));
        let new = look_up(shown(8, 10));
        assert_ne!(new, old);
        assert_eq!(inodes.peek(&file("a"), hash), new, "that is what is there");
        let newest = look_up(shown(6, 10));
        assert!(newest != old && newest != new, "the disk uses 6 again");
        inodes.forget(newest, 1);
        // No file is open under this number. So the kernel may be shown the attributes of another
        // file under this number. But then no file can be opened under the number any more.
        assert!(inodes.show(new, shown(9, 10)));
        assert!(!inodes.open(new, shown(9, 10)) && !inodes.open(new, shown(8, 10)));
        inodes.forget(old, 2);
        inodes.close(old);
        assert!(inodes.node(old).is_some(), "it is open once more");
        inodes.close(old);
        assert!(inodes.node(old).is_none());
        inodes.forget(new, 1);
        assert_eq!(inodes.len(), 0);
        assert_eq!(look_up(shown(8, 10)), hash);
    }

    #[test]
    fn reserved_numbers_are_never_given_out() {
        let inodes = Inodes::new(Node::Top);
        for (i, hash) in [0, 1, 0xffff_ffff].into_iter().enumerate() {
            assert!(inodes.acquire(file(&i.to_string()), hash, None) > u64::from(u32::MAX));
        }
    }
}
