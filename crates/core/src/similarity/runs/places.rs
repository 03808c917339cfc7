//! The places in b where a run of a may be.

use crate::similarity::runs::bits::Bits;
use crate::similarity::runs::blocks::{Blocks, STEP, WIDTH};
use crate::similarity::runs::mark::{Among, CROWD, marked};
use crate::similarity::runs::window::{Roll, WindowSet, windows};
use crate::similarity::runs::{LEAST_RUN, PLACES};

/// Finds the strings of a at which a run may start, and their places in b. All strings have one
/// width.
pub(super) trait Starts {
    /// The number of bytes in a string.
    const WIDTH: usize;

    /// Returns the first position in a, from `from` on, at which there is a string that b may have.
    fn next(&mut self, from: usize) -> Option<usize>;

    /// Adds the first [`PLACES`] positions in b of the string at position `at` of a, ascending.
    fn places(&mut self, at: usize, places: &mut Vec<usize>);
}

/// All windows of 64 bytes.
pub(super) struct AllWindows<'s> {
    a: &'s [u8],
    b: &'s [u8],
    of_b: Blocks<'s>,
    /// The windows of a that b has.
    shared: Bits,
    crowd: Option<Crowd<'s>>,
}

impl<'s> AllWindows<'s> {
    pub(super) fn new(a: &'s [u8], b: &'s [u8]) -> Self {
        let of_b = Blocks::new(b);
        let shared = marked(a, &of_b, Among::All);
        Self {
            a,
            b,
            of_b,
            shared,
            crowd: None,
        }
    }
}

impl Starts for AllWindows<'_> {
    const WIDTH: usize = LEAST_RUN;

    fn next(&mut self, from: usize) -> Option<usize> {
        self.shared.next(from)
    }

    fn places(&mut self, at: usize, places: &mut Vec<usize>) {
        let window = &self.a[at..at + LEAST_RUN];
        if let Some(crowd) = self.crowd.as_ref().filter(|crowd| crowd.is_all) {
            places.extend(crowd.places(window));
            return;
        }
        let mut roll = Roll::new(window, WIDTH);
        let mut crowded = !self.of_b.is_complete();
        let mut chain = Vec::with_capacity(CROWD + 1);
        for phase in 0..STEP {
            roll.seek(phase);
            if !self.of_b.may_have(roll.hash()) {
                continue;
            }
            let block = &window[phase..phase + WIDTH];
            chain.clear();
            chain.extend(self.of_b.places(roll.hash(), block).take(CROWD + 1));
            if chain.len() > CROWD {
                crowded = true;
                continue;
            }
            let starts = chain.iter().filter_map(|place| place.checked_sub(phase));
            places.extend(starts.filter(|&start| {
                let there = self.b.get(start..start + LEAST_RUN);
                there.is_some_and(|there| there == window)
            }));
        }
        if crowded {
            let crowd = &mut self.crowd;
            let crowd = crowd.get_or_insert_with(|| Crowd::new(self.a, &self.of_b));
            places.extend(crowd.places(window));
        }
        places.sort_unstable();
        places.dedup();
        places.truncate(PLACES);
    }
}

/// The windows of b that contain a crowded block and that a has.
struct Crowd<'s> {
    /// True if `set` has all windows of b that a has. If most of these windows are crowded, one
    /// look-up in the set is fastest.
    is_all: bool,
    set: WindowSet<'s>,
    places: Places,
}

impl<'s> Crowd<'s> {
    fn new(a: &[u8], of_b: &Blocks<'s>) -> Self {
        let b = of_b.data();
        // Windows that a lacks are removed. So the crowded windows have at most as many distinct
        // values as the smaller file has windows.
        let mut crowded = of_b.crowded_windows(CROWD);
        let shared = marked(b, &Blocks::new(a), Among::All);
        crowded.retain(&shared);
        let is_all = 2 * crowded.len() > shared.len();
        if is_all {
            crowded = shared;
        }
        let mut set = WindowSet::new(b);
        let mut roll = Roll::new(b, LEAST_RUN);
        for at in crowded.ranges().flatten() {
            roll.seek(at);
            set.insert(roll.hash(), at);
        }
        let mut places = Places::new(set.slots());
        for at in crowded.ranges().flatten() {
            roll.seek(at);
            if let Some(slot) = set.slot(roll.hash(), &b[at..at + LEAST_RUN]) {
                places.push(slot, at);
            }
        }
        Self {
            is_all,
            set,
            places,
        }
    }

    fn places(&self, window: &[u8]) -> impl Iterator<Item = usize> + '_ {
        let slot = self.set.slot(Roll::new(window, LEAST_RUN).hash(), window);
        slot.into_iter().flat_map(|slot| self.places.of(slot))
    }
}

/// Blocks of b at every [`STEP`]th position.
pub(super) struct BlocksOfB<'s> {
    a: &'s [u8],
    roll: Roll<'s>,
    of_b: Blocks<'s>,
}

impl<'s> BlocksOfB<'s> {
    pub(super) fn new(a: &'s [u8], b: &'s [u8]) -> Self {
        Self {
            a,
            roll: Roll::new(a, WIDTH),
            of_b: Blocks::new(b),
        }
    }
}

impl Starts for BlocksOfB<'_> {
    const WIDTH: usize = WIDTH;

    fn next(&mut self, from: usize) -> Option<usize> {
        let end = windows(self.a, WIDTH);
        self.roll.search(from, end, |hash| self.of_b.may_have(hash))
    }

    fn places(&mut self, at: usize, places: &mut Vec<usize>) {
        self.roll.seek(at);
        let block = &self.a[at..at + WIDTH];
        let chain = self.of_b.places(self.roll.hash(), block);
        places.extend(chain.take(PLACES));
    }
}

/// Blocks of a at every [`STEP`]th position; runs may start at any position in a.
pub(super) struct BlocksOfA<'s> {
    a: &'s [u8],
    roll: Roll<'s>,
    of_a: Blocks<'s>,
    /// The places in b of each block of a, by the number of the first equal block of a.
    places: Places,
}

impl<'s> BlocksOfA<'s> {
    pub(super) fn new(a: &'s [u8], b: &'s [u8]) -> Self {
        let of_a = Blocks::new(a);
        let mut places = Places::new(windows(a, WIDTH).div_ceil(STEP));
        let mut roll = Roll::new(b, WIDTH);
        let (mut from, end) = (0, windows(b, WIDTH));
        while let Some(at) = roll.search(from, end, |hash| of_a.may_have(hash)) {
            from = at + 1;
            if let Some(first) = of_a.places(roll.hash(), &b[at..at + WIDTH]).next() {
                places.push(first / STEP, at);
            }
        }
        Self {
            a,
            roll: Roll::new(a, WIDTH),
            of_a,
            places,
        }
    }
}

impl Starts for BlocksOfA<'_> {
    const WIDTH: usize = WIDTH;

    fn next(&mut self, from: usize) -> Option<usize> {
        let end = windows(self.a, WIDTH);
        self.roll.search(from, end, |hash| self.of_a.may_have(hash))
    }

    fn places(&mut self, at: usize, places: &mut Vec<usize>) {
        self.roll.seek(at);
        let block = &self.a[at..at + WIDTH];
        if let Some(first) = self.of_a.places(self.roll.hash(), block).next() {
            places.extend(self.places.of(first / STEP));
        }
    }
}

/// For each of some strings, its first [`PLACES`] positions in b, ascending.
struct Places {
    /// For each string, by its number, the index of its first node plus 1; 0 if it has no node.
    first: Vec<u32>,
    /// A position, and the index of the next node of the same string plus 1. The last node has 0
    /// instead.
    nodes: Vec<(u64, u32)>,
}

impl Places {
    fn new(count: usize) -> Self {
        Self {
            first: vec![0; count],
            nodes: Vec::new(),
        }
    }

    fn push(&mut self, string: usize, place: usize) {
        let new = self.nodes.len() as u32 + 1;
        let mut node = self.first[string];
        if node == 0 {
            self.first[string] = new;
        } else {
            for length in 1.. {
                if length == PLACES {
                    return;
                }
                let next = self.nodes[node as usize - 1].1;
                if next == 0 {
                    break;
                }
                node = next;
            }
            self.nodes[node as usize - 1].1 = new;
        }
        self.nodes.push((place as u64, 0));
    }

    fn of(&self, string: usize) -> impl Iterator<Item = usize> + '_ {
        let mut node = self.first[string];
        std::iter::from_fn(move || {
            let (place, next) = *self.nodes.get((node as usize).checked_sub(1)?)?;
            node = next;
            Some(place as usize)
        })
    }
}
