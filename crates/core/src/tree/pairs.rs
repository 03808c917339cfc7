//! Pairs of directories with enough in common.

use super::forest::Node;
use super::holdings::{Entry, Holdings, Share, within};

/// Two directories. Neither is inside the other, and `a` comes first in the forest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Pair {
    /// One directory.
    pub a: Node,
    /// The other directory.
    pub b: Node,
    /// Bytes below a.
    pub bytes_a: u64,
    /// Bytes below b.
    pub bytes_b: u64,
    /// Bytes of a's files that are also in files of b.
    pub shared_a: u64,
    /// Bytes of b's files that are also in files of a.
    pub shared_b: u64,
}

impl Pair {
    /// Returns the share of a's bytes that is in b.
    pub fn a_in_b(&self) -> Share {
        Share::of(self.shared_a, self.bytes_a)
    }

    /// Returns the share of b's bytes that is in a.
    pub fn b_in_a(&self) -> Share {
        Share::of(self.shared_b, self.bytes_b)
    }

    /// Returns the larger of the two containments.
    pub fn containment(&self) -> Share {
        self.a_in_b().max(self.b_in_a())
    }

    /// Returns the number of bytes that both directories have: the lesser of `shared_a` and
    /// `shared_b`. Suppose that one directory has ten copies of a file and the other has one copy.
    /// Then all ten copies have an equal file in the other directory. So `shared_a` or `shared_b`
    /// alone can be more than the other directory has.
    pub fn shared(&self) -> u64 {
        self.shared_a.min(self.shared_b)
    }

    /// Returns the pair with a and b exchanged. The result is for output only: computations need
    /// the `a` that is first in the forest.
    #[must_use]
    pub const fn swapped(self) -> Self {
        Self {
            a: self.b,
            b: self.a,
            bytes_a: self.bytes_b,
            bytes_b: self.bytes_a,
            shared_a: self.shared_b,
            shared_b: self.shared_a,
        }
    }

    /// Returns whether the larger containment is at least `min`, and both directories have at least
    /// `min_shared` bytes in common.
    pub fn passes(&self, min: Share, min_shared: u64) -> bool {
        self.containment() >= min && self.shared() >= min_shared
    }
}

/// The bytes of the swept directory that are also below `node`.
#[derive(Clone, Copy, Debug)]
struct Sum {
    node: u32,
    /// Bytes shared by contents that few directories have. This number is exact.
    sure: i64,
    /// Bytes shared by other contents. They are counted only for nearby directories
    /// ([`super::Limits::window`]), so the number is approximate.
    windowed: i64,
}

/// The nodes that were visited for the current content.
struct Marks {
    round: u32,
    seen: Vec<u32>,
}

impl Marks {
    fn next(&mut self) {
        self.round = self.round.wrapping_add(1);
        if self.round == 0 {
            self.seen.fill(0);
            self.round = 1;
        }
    }

    /// Marks a node, and returns whether it is new in this round.
    fn meet(&mut self, node: u32) -> bool {
        let seen = &mut self.seen[node as usize];
        let new = *seen != self.round;
        *seen = self.round;
        new
    }
}

impl Holdings {
    /// Returns all pairs with a larger containment of at least `min` and at least `min_shared`
    /// bytes in common, sorted by node. [`super::Limits`] describes the pairs that are not
    /// examined.
    pub fn pairs(&self, min: Share, min_shared: u64) -> Vec<Pair> {
        let mut nominated: Vec<(Node, Node)> = Vec::new();
        self.sweep(&mut |a, sums| {
            for sum in sums {
                let b = Node(sum.node);
                if self.nominates(a, sum, min) {
                    nominated.push((a.min(b), a.max(b)));
                }
            }
        });
        nominated.sort_unstable();
        nominated.dedup();
        self.measured(&nominated)
            .into_iter()
            .filter(|pair| pair.passes(min, min_shared))
            .collect()
    }

    /// Returns the pairs of `node` with each directory that shares bytes with it, sorted by node.
    /// [`super::Limits`] describes the pairs that are not examined.
    pub fn pairs_of(&self, node: Node) -> Vec<Pair> {
        let mut nominated: Vec<(Node, Node)> = Vec::new();
        self.sweep(&mut |a, sums| {
            for sum in sums {
                let b = Node(sum.node);
                if a == node || b == node {
                    nominated.push((a.min(b), a.max(b)));
                }
            }
        });
        nominated.sort_unstable();
        nominated.dedup();
        self.measured(&nominated)
    }

    /// Returns whether a pair can pass according to the share of `a` alone. `sum` may lack contents
    /// that many directories have. So the bytes of these contents do not count as missing.
    fn nominates(&self, a: Node, sum: &Sum, min: Share) -> bool {
        let (sure, windowed) = (sum.sure.max(0) as u64, sum.windowed.max(0) as u64);
        let (bytes, frequent) = (self.bytes(a), self.frequent_bytes(a));
        Share::of(sure + windowed, bytes) >= min
            || sure > 0 && Share::of(sure, bytes.saturating_sub(frequent)) >= min
    }

    /// Returns the exact figures of sorted pairs.
    fn measured(&self, pairs: &[(Node, Node)]) -> Vec<Pair> {
        let mut measured: Vec<Pair> = pairs
            .iter()
            .map(|&(a, b)| Pair {
                a,
                b,
                bytes_a: self.bytes(a),
                bytes_b: self.bytes(b),
                shared_a: self.frequent_shared(a, b),
                shared_b: self.frequent_shared(b, a),
            })
            .collect();
        // The numbers of the pairs, ordered by the second directory. `pairs` itself is ordered by
        // the first.
        let mut as_second: Vec<(Node, u32)> = pairs
            .iter()
            .enumerate()
            .map(|(at, &(_, b))| (b, at as u32))
            .collect();
        as_second.sort_unstable();
        let mut sure = vec![0_i64; self.forest.len()];
        self.sweep(&mut |node, sums| {
            for sum in sums {
                sure[sum.node as usize] = sum.sure;
            }
            let first = pairs.partition_point(|pair| pair.0 < node);
            for pair in measured[first..].iter_mut().take_while(|p| p.a == node) {
                pair.shared_a += sure[pair.b.index()].max(0) as u64;
            }
            let first = as_second.partition_point(|pair| pair.0 < node);
            for &(_, at) in as_second[first..].iter().take_while(|p| p.0 == node) {
                let pair = &mut measured[at as usize];
                pair.shared_b += sure[pair.a.index()].max(0) as u64;
            }
            for sum in sums {
                sure[sum.node as usize] = 0;
            }
        });
        measured
    }

    /// Counts the bytes below a that are also below b. Considers only contents that many
    /// directories have.
    fn frequent_shared(&self, a: Node, b: Node) -> u64 {
        let bytes = within(&self.frequent, self.forest.span(a))
            .iter()
            .filter(|entry| self.has(b, entry.content))
            .map(|entry| entry.files * self.sizes[entry.content as usize] as i64)
            .sum::<i64>();
        bytes.max(0) as u64
    }

    /// Calls `visit` with each directory and its sums, children before parents. There is one
    /// [`Sum`] for each directory that shares bytes with the visited one, in no particular order.
    /// The directories above the visited one and those below it have no sum.
    fn sweep(&self, visit: &mut dyn FnMut(Node, &[Sum])) {
        let forest = &self.forest;
        let mut below: Vec<Vec<Sum>> = Vec::new();
        // The number of lists in `below` that belong to a directory's children.
        let mut children = vec![0_usize; forest.len()];
        let mut marks = Marks {
            round: 0,
            seen: vec![0; forest.len()],
        };
        let mut sums = vec![(0_i64, 0_i64); forest.len()];
        let mut touched: Vec<u32> = Vec::new();
        let mut in_list = vec![false; forest.len()];
        let mut own = self.entries.len();
        for at in (0..forest.len() as u32).rev() {
            let node = Node(at);
            let mut add = |to: u32, sure: i64, windowed: i64| {
                if !std::mem::replace(&mut in_list[to as usize], true) {
                    touched.push(to);
                }
                let sum = &mut sums[to as usize];
                sum.0 += sure;
                sum.1 += windowed;
            };
            let lists = below.len() - children[node.index()];
            for list in below.drain(lists..) {
                for sum in list {
                    if !forest.nested(node, Node(sum.node)) {
                        add(sum.node, sum.sure, sum.windowed);
                    }
                }
            }
            let from = self.entries[..own].partition_point(|entry| entry.node < at);
            for entry in &self.entries[from..own] {
                self.spread(entry, &mut marks, &mut add);
            }
            own = from;
            let list: Vec<Sum> = touched
                .drain(..)
                .filter_map(|to| {
                    in_list[to as usize] = false;
                    let (sure, windowed) = std::mem::take(&mut sums[to as usize]);
                    (sure != 0 || windowed != 0).then_some(Sum {
                        node: to,
                        sure,
                        windowed,
                    })
                })
                .collect();
            visit(node, &list);
            if let Some(parent) = forest.parent(node) {
                children[parent.index()] += 1;
                below.push(list);
            }
        }
    }

    /// Adds the bytes of an entry's files to the directories that have these files or parts of
    /// these files.
    fn spread(&self, entry: &Entry, marks: &mut Marks, add: &mut dyn FnMut(u32, i64, i64)) {
        let size = self.sizes[entry.content as usize];
        let holders = self.holders(entry.content);
        let at = Node(entry.node);
        marks.next();
        if self.is_frequent(entry.content) {
            // A directory where hard links of one file meet has a negative entry. That entry has
            // other neighbours than the entries of the links, so it cannot correct their sums. It
            // may be left out, because these sums only nominate pairs.
            if holders.len() <= self.limits.most && entry.files > 0 {
                let place = holders.partition_point(|&holder| holder < entry.node);
                let from = place.saturating_sub(self.limits.window);
                let to = (place + self.limits.window + 1).min(holders.len());
                let bytes = entry.files * size as i64;
                for &holder in &holders[from..to] {
                    self.climb(at, holder, marks, &mut |to| add(to, 0, bytes));
                }
            }
            return;
        }
        for &holder in holders {
            let bytes = entry.files * size as i64;
            self.climb(at, holder, marks, &mut |to| add(to, bytes, 0));
        }
        // The best link is first. So a directory that is marked already has at least as large a
        // share of the content.
        for &(share, content) in self.links(entry.content) {
            let bytes = entry.files * share.bytes(size) as i64;
            for &holder in self.holders(content) {
                self.climb(at, holder, marks, &mut |to| add(to, bytes, 0));
            }
        }
    }

    /// Finds the directories from `holder` upwards that are not marked and not above `at`. Finds
    /// none if `holder` is `at` or below it.
    fn climb(&self, at: Node, holder: u32, marks: &mut Marks, found: &mut dyn FnMut(u32)) {
        let holder = Node(holder);
        if self.forest.holds(at, holder) {
            return;
        }
        for above in self.forest.upwards(holder) {
            if self.forest.holds(above, at) || !marks.meet(above.0) {
                return;
            }
            found(above.0);
        }
    }
}
