//! A bounded cache of recently used values.
//!
//! The least recently used values are dropped first, approximately. There are two generations. A
//! requested value moves to the younger generation. The younger generation has at most half of the
//! allowed bytes. If a new value does not fit there, the older generation is dropped. The younger
//! generation then becomes the older one, and the new value begins a new younger generation. This
//! method needs no list of uses. It is exact enough for values that can be made again.

use std::collections::HashMap;
use std::hash::Hash;
use std::mem;

/// A bounded store of values that are cheap to clone, such as an `Arc`.
#[derive(Clone, Debug)]
pub struct Recent<K, V> {
    /// Each value with the number of bytes that it takes.
    young: HashMap<K, (V, usize)>,
    old: HashMap<K, (V, usize)>,
    /// Bytes of the younger generation.
    taken: usize,
    most: usize,
}

impl<K: Eq + Hash, V: Clone> Recent<K, V> {
    /// Makes an empty cache of `most` bytes. A value larger than half of `most` is kept until the
    /// next generation is full.
    pub fn new(most: usize) -> Self {
        Self {
            young: HashMap::new(),
            old: HashMap::new(),
            taken: 0,
            most,
        }
    }

    /// Returns a value, if it is in the cache.
    pub fn get(&mut self, key: &K) -> Option<V> {
        if let Some((known, _)) = self.young.get(key) {
            return Some(known.clone());
        }
        let (key, (known, bytes)) = self.old.remove_entry(key)?;
        self.put(key, known.clone(), bytes);
        Some(known)
    }

    /// Adds a value that takes `bytes` bytes.
    pub fn put(&mut self, key: K, value: V, bytes: usize) {
        self.taken += bytes;
        if self.taken > self.most / 2 {
            self.old = mem::take(&mut self.young);
            self.taken = bytes;
        }
        self.young.insert(key, (value, bytes));
    }

    /// Returns the bytes of all values.
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
        // A value that is too large stays until the next generation is full.
        recent.put(2000, 1, 1000);
        assert_eq!(recent.get(&2000), Some(1));
        recent.put(2001, 1, 60);
        recent.put(2002, 1, 60);
        assert_eq!(recent.get(&2000), None);
    }
}
