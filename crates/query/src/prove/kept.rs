//! Measures kept by the pair of contents.
//!
//! What two contents have in common never changes, so a measure can be kept for as long as there is
//! room: the second `ls .similar` of a file reads nothing. Kept are those of this process, up to
//! [`MOST`] pairs; the least used go first, roughly: there are two generations, whatever is asked
//! for moves to the younger one, and when that is full the older one is forgotten.

use std::collections::HashMap;
use std::mem;

use parking_lot::Mutex;
use resemble_core::ContentDigest;
use resemble_core::similarity::Unit;
use resemble_core::similarity::proof::Proven;

/// Pairs that are kept at most: some 40 MB.
const MOST: usize = 1 << 18;

/// Two contents, the lesser digest first, and whether bytes were asked for.
type Key = ([u8; 32], [u8; 32], bool);

/// The measures of pairs.
#[derive(Debug)]
pub(crate) struct KeptMeasures {
    generations: Mutex<Generations>,
    most: usize,
}

#[derive(Debug)]
struct Generations {
    young: HashMap<Key, Proven>,
    old: HashMap<Key, Proven>,
}

/// The measures of this process.
pub(crate) fn kept_measures() -> &'static KeptMeasures {
    static KEPT: std::sync::OnceLock<KeptMeasures> = std::sync::OnceLock::new();
    KEPT.get_or_init(|| KeptMeasures::new(MOST))
}

impl KeptMeasures {
    fn new(most: usize) -> Self {
        Self {
            generations: Mutex::new(Generations {
                young: HashMap::new(),
                old: HashMap::new(),
            }),
            most,
        }
    }

    /// The measures of a and b, if they are kept.
    pub(crate) fn get(&self, a: &ContentDigest, b: &ContentDigest, asked: Unit) -> Option<Proven> {
        let (key, is_swapped) = key(a, b, asked);
        let mut generations = self.generations.lock();
        let found = if let Some(found) = generations.young.get(&key) {
            *found
        } else {
            let found = generations.old.remove(&key)?;
            self.insert(&mut generations, key, found);
            found
        };
        drop(generations);
        Some(turned(found, is_swapped))
    }

    /// Keeps the measures of a and b.
    pub(crate) fn put(&self, a: &ContentDigest, b: &ContentDigest, asked: Unit, found: &Proven) {
        let (key, is_swapped) = key(a, b, asked);
        let mut generations = self.generations.lock();
        self.insert(&mut generations, key, turned(*found, is_swapped));
    }

    fn insert(&self, generations: &mut Generations, key: Key, found: Proven) {
        if generations.young.len() >= self.most / 2 {
            generations.old = mem::take(&mut generations.young);
        }
        generations.young.insert(key, found);
    }
}

fn key(a: &ContentDigest, b: &ContentDigest, asked: Unit) -> (Key, bool) {
    let bytes = asked == Unit::Bytes;
    if b < a {
        ((b.0, a.0, bytes), true)
    } else {
        ((a.0, b.0, bytes), false)
    }
}

fn turned(found: Proven, is_swapped: bool) -> Proven {
    if is_swapped {
        Proven {
            measures: found.measures.swapped(),
            ..found
        }
    } else {
        found
    }
}

#[cfg(test)]
mod tests {
    use resemble_core::{ByteLen, Measures, Score};

    use super::*;

    fn digest(n: u8) -> ContentDigest {
        ContentDigest([n; 32])
    }

    fn proven(a_in_b: f64, b_in_a: f64) -> Proven {
        Proven {
            measures: Measures {
                a_in_b: Some(Score::new(a_in_b)),
                b_in_a: Some(Score::new(b_in_a)),
                resemblance: None,
                shared_bytes: ByteLen(1),
            },
            unit: Unit::Words,
            is_same_text: false,
        }
    }

    #[test]
    fn sides_are_exchanged_with_the_contents_and_units_are_apart() {
        let kept = KeptMeasures::new(100);
        kept.put(&digest(2), &digest(1), Unit::Words, &proven(0.2, 0.1));
        let get = |a, b, unit| kept.get(&digest(a), &digest(b), unit);
        assert_eq!(get(2, 1, Unit::Words), Some(proven(0.2, 0.1)));
        assert_eq!(get(1, 2, Unit::Words), Some(proven(0.1, 0.2)));
        assert_eq!(get(1, 2, Unit::Bytes), None);
        assert_eq!(get(1, 3, Unit::Words), None);
    }

    #[test]
    fn what_is_asked_for_stays_and_the_number_is_bounded() {
        let kept = KeptMeasures::new(10);
        let put = |n| kept.put(&digest(0), &digest(n), Unit::Words, &proven(0.5, 0.5));
        let get = |n| kept.get(&digest(0), &digest(n), Unit::Words);
        for n in 1..200 {
            put(n);
            assert!(get(1).is_some(), "it is asked for all the time: {n}");
        }
        assert!(get(199).is_some());
        assert_eq!(get(100), None);
        let generations = kept.generations.lock();
        assert!(generations.young.len() + generations.old.len() <= 10);
    }
}
