//! What was used a short while ago, in a bounded room.
//!
//! The least used goes first, roughly: there are two generations, whatever is asked for moves to
//! the younger one, and when that has taken half of the room the older one is forgotten. That costs
//! no list of uses, and is exact enough where what is forgotten can be made again.

use std::collections::HashMap;
use std::hash::Hash;
use std::mem;

/// A bounded store of values that are cheap to clone, such as an `Arc`.
#[derive(Clone, Debug)]
pub struct Recent<K, V> {
    /// Each with the bytes that it takes.
    young: HashMap<K, (V, usize)>,
    old: HashMap<K, (V, usize)>,
    /// Bytes of the younger generation.
    taken: usize,
    most: usize,
}

impl<K: Eq + Hash, V: Clone> Recent<K, V> {
    /// An empty one for so many bytes; a value of more than half of them is kept all the same,
    /// until the next one comes.
    pub fn new(most: usize) -> Self {
        Self {
            young: HashMap::new(),
            old: HashMap::new(),
            taken: 0,
            most,
        }
    }

    /// A value, if it is there.
    pub fn get(&mut self, key: &K) -> Option<V> {
        if let Some((known, _)) = self.young.get(key) {
            return Some(known.clone());
        }
        let (key, (known, bytes)) = self.old.remove_entry(key)?;
        self.put(key, known.clone(), bytes);
        Some(known)
    }

    /// Keeps a value that takes so many bytes.
    pub fn put(&mut self, key: K, value: V, bytes: usize) {
        self.taken += bytes;
        if self.taken > self.most / 2 {
            self.old = mem::take(&mut self.young);
            self.taken = bytes;
        }
        self.young.insert(key, (value, bytes));
    }

    /// Bytes that all values take.
    pub fn bytes(&self) -> usize {
        let all = self.young.values().chain(self.old.values());
        all.map(|(_, bytes)| bytes).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_used_stays_and_the_room_is_bounded() {
        let mut recent = Recent::new(100);
        for key in 0..1000 {
            recent.put(key, key, 10);
            assert_eq!(recent.get(&0), Some(0), "{key}");
            assert_eq!(recent.get(&key), Some(key));
            assert!(recent.bytes() <= 100, "{}", recent.bytes());
        }
        assert_eq!(recent.get(&900), None);
        // What is too large stays until something else comes.
        recent.put(2000, 1, 1000);
        assert_eq!(recent.get(&2000), Some(1));
        recent.put(2001, 1, 60);
        recent.put(2002, 1, 60);
        assert_eq!(recent.get(&2000), None);
    }
}
