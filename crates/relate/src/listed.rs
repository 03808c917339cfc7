//! Measures pairs of files from a list, for the workers of an external engine (docs/scale.md).
//!
//! A worker has no index: a pair consists of two digests and two files. A file is used only if its
//! bytes have the digest. So the measures depend only on the two contents, and any question can use
//! them.

use std::collections::HashMap;
use std::convert::Infallible;
use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::Mutex;
use resemble_core::recent::Recent;
use resemble_core::similarity::Unit;
use resemble_core::similarity::proof::{Provable, Proven};
use resemble_core::{ByteLen, ContentDigest, ContentKind};

use crate::parallel::ordered;
use crate::prove::many::LARGE;
use crate::prove::read::{LARGEST_READ, bytes_if};

/// The number of bytes of memory for contents that are prepared for measuring.
const ROOM: usize = 64 << 20;

/// The number of bytes of memory for each byte of a prepared content. It is so much because a text
/// is cut into words.
const FOR_A_BYTE: usize = 6;

/// The number of contents that stay in memory while their partners are read.
const BLOCK: u32 = 64;

/// A content, and a file that is expected to have this content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedFile {
    /// The digest of the content.
    pub digest: ContentDigest,
    /// The path of the file.
    pub path: PathBuf,
}

/// Measures the pairs of a list. Prepared contents stay in memory, so few files are read twice.
#[derive(Debug)]
pub struct ListedProver {
    ready: Mutex<Recent<ContentDigest, Option<Arc<Provable>>>>,
    /// This lock is held while a content of more than [`LARGE`] bytes is read. So only one such
    /// content is read at a time.
    large: Mutex<()>,
}

impl Default for ListedProver {
    fn default() -> Self {
        Self {
            ready: Mutex::new(Recent::new(ROOM)),
            large: Mutex::new(()),
        }
    }
}

impl ListedProver {
    /// Measures the pairs on all processors. Two texts are measured in words, and other pairs in
    /// bytes. The result of a pair is `None` if one of its files cannot be read, has changed, or
    /// has more than [`crate::LARGEST_READ`] bytes.
    pub fn measure(&self, pairs: &[[ListedFile; 2]]) -> Vec<Option<Proven>> {
        let order = few_readings(pairs);
        let measure = |at: usize, (): &mut ()| {
            let [a, b] = &pairs[order[at]];
            let found = self.ready(a).zip(self.ready(b));
            Ok::<_, Infallible>(found.map(|(a, b)| a.measure(&b, Unit::Words)))
        };
        let found = match ordered(order.len(), || (), measure) {
            Ok(found) => found,
            Err(never) => match never {},
        };
        let mut measured = vec![None; pairs.len()];
        for (at, found) in order.into_iter().zip(found) {
            measured[at] = found;
        }
        measured
    }

    fn ready(&self, file: &ListedFile) -> Option<Arc<Provable>> {
        if let Some(known) = self.ready.lock().get(&file.digest) {
            return known;
        }
        let size = ByteLen(std::fs::symlink_metadata(&file.path).map_or(0, |stat| stat.len()));
        let _one_at_a_time = (size > LARGE).then(|| self.large.lock());
        let read = if size > LARGEST_READ {
            None
        } else {
            bytes_if(&file.path, &file.digest).ok().flatten()
        };
        let bytes = read.as_ref().map_or(0, Vec::len);
        let ready = read.map(|bytes| {
            let kind = ContentKind::of_whole(&bytes);
            Arc::new(Provable::new(kind, bytes))
        });
        let room = bytes * FOR_A_BYTE + 64;
        self.ready.lock().put(file.digest, ready.clone(), room);
        ready
    }
}

/// Returns the indices of the pairs in an order in which few contents are read twice. The first
/// contents of a block of pairs stay in memory. Each of their partners is read once for the whole
/// block.
fn few_readings(pairs: &[[ListedFile; 2]]) -> Vec<usize> {
    let mut numbers = [HashMap::new(), HashMap::new()];
    let mut number = |side: usize, file: &ListedFile| {
        let next = numbers[side].len() as u32;
        *numbers[side].entry(file.digest).or_insert(next)
    };
    let numbered = pairs.iter().map(|[a, b]| (number(0, a), number(1, b)));
    let keys: Vec<_> = numbered.map(|(a, b)| (a / BLOCK, b, a)).collect();
    let mut order: Vec<usize> = (0..pairs.len()).collect();
    order.sort_unstable_by_key(|&at| keys[at]);
    order
}
