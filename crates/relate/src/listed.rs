//! Pairs that are listed with their files: what the workers of an engine measure (docs/scale.md).
//!
//! There is no index here and nothing else to ask: a pair is two digests and two files. What is
//! read of a file counts only if it has that digest, so the measures are those of the two contents,
//! whoever made them and wherever, and the question takes them for its own.

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

/// Bytes of memory that contents which are ready to be measured take.
const ROOM: usize = 64 << 20;

/// Bytes of memory for each byte of a content: a text is cut into words.
const FOR_A_BYTE: usize = 6;

/// So many first contents of pairs are measured against the second ones at a time.
const BLOCK: u32 = 64;

/// A content and a file that has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedFile {
    /// What the content is.
    pub digest: ContentDigest,
    /// Where it stands.
    pub path: PathBuf,
}

/// Measures listed pairs. Files that follow each other in pairs are read once.
#[derive(Debug)]
pub struct ListedProver {
    ready: Mutex<Recent<ContentDigest, Option<Arc<Provable>>>>,
    /// Held by who reads a content of more than [`LARGE`] bytes.
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
    /// What the contents of each pair have in common, on all processors: in words if both are
    /// texts, else in bytes. `None`: one of the files cannot be read, has another content by now,
    /// or more bytes than [`crate::LARGEST_READ`].
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

/// The places of pairs in an order in which few contents are read twice: some first ones at a time,
/// which stay in memory, and what is paired with any of them once.
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
