//! Stores the findings of a question, so that a repeated question need not compute them again.

use std::collections::VecDeque;
use std::fmt::Debug;
use std::sync::Arc;

use parking_lot::Mutex;

/// A store of findings: the cache of a command, or the memory of the daemon.
pub trait FindingsCache: Debug + Sync {
    /// Returns the findings stored under this name.
    fn get(&self, name: &str) -> Option<Arc<[u8]>>;

    /// Stores findings, if there is room for them.
    fn put(&self, name: &str, findings: &[u8]);
}

/// The findings of the last comparisons, in memory.
#[derive(Debug, Default)]
pub struct MemoryCache(Mutex<VecDeque<(String, Arc<[u8]>)>>);

impl MemoryCache {
    /// The maximum number of comparisons whose findings are kept.
    const MOST: usize = 8;

    /// The maximum number of bytes of all findings together. This is enough for the pairs that
    /// `groups` nominates among a million texts in families of eight (1.7 pairs per text).
    pub const MOST_BYTES: usize = 64 << 20;
}

impl FindingsCache for MemoryCache {
    fn get(&self, name: &str) -> Option<Arc<[u8]>> {
        let kept = self.0.lock();
        let found = kept.iter().find(|(of, _)| of == name);
        found.map(|(_, findings)| Arc::clone(findings))
    }

    fn put(&self, name: &str, findings: &[u8]) {
        if findings.len() > Self::MOST_BYTES {
            return;
        }
        let mut kept = self.0.lock();
        kept.retain(|(of, _)| of != name);
        kept.push_back((name.to_owned(), findings.into()));
        let bytes = |kept: &VecDeque<(String, Arc<[u8]>)>| -> usize {
            kept.iter().map(|(_, findings)| findings.len()).sum()
        };
        while kept.len() > Self::MOST || bytes(&kept) > Self::MOST_BYTES {
            kept.pop_front();
        }
    }
}
