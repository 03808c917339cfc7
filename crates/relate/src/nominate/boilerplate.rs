//! Decides which pieces are boilerplate, in the whole index or among the files of a question.

use std::collections::HashMap;

use parking_lot::Mutex;
use resemble_core::Fingerprint;
use resemble_core::similarity::Boilerplate;
use resemble_index::{PostingKind, ReadError, Snapshot};

use crate::scope::ScopedFiles;

/// Answers whether a piece is boilerplate, either in the whole index or among the scoped files of a
/// question.
#[derive(Debug)]
pub struct KnownBoilerplate<'a> {
    snapshot: &'a Snapshot,
    scoped: Option<&'a ScopedFiles>,
    counted: Mutex<HashMap<(bool, u64), bool>>,
    failure: Mutex<Option<ReadError>>,
}

impl<'a> KnownBoilerplate<'a> {
    /// Returns an object that answers for the files in `scoped`. If `scoped` is `None`, it answers
    /// for the whole index.
    pub fn new(snapshot: &'a Snapshot, scoped: Option<&'a ScopedFiles>) -> Self {
        Self {
            snapshot,
            scoped,
            counted: Mutex::default(),
            failure: Mutex::default(),
        }
    }

    /// Returns the failure of an earlier look-up. The methods of [`Boilerplate`] themselves cannot
    /// return a failure.
    pub fn failure(&self) -> Result<(), ReadError> {
        self.failure.lock().take().map_or(Ok(()), Err)
    }

    fn is(&self, kind: PostingKind, key: u64) -> bool {
        self.look(kind, key).unwrap_or_else(|e| {
            *self.failure.lock() = Some(e);
            false
        })
    }

    fn look(&self, kind: PostingKind, key: u64) -> Result<bool, ReadError> {
        // If few contents of the index have a piece, few of the scoped files have it, too.
        if !self.snapshot.is_boilerplate(kind, key)? {
            return Ok(false);
        }
        let Some(scoped) = self.scoped else {
            return Ok(true);
        };
        let place = (kind == PostingKind::Chunk, key);
        if let Some(&known) = self.counted.lock().get(&place) {
            return Ok(known);
        }
        let mut count = 0;
        scoped.postings(self.snapshot, kind, &[key], &mut |_, contents| {
            count = contents.len();
        })?;
        let is = count > self.snapshot.boilerplate_limit() as usize;
        self.counted.lock().insert(place, is);
        Ok(is)
    }
}

impl Boilerplate for KnownBoilerplate<'_> {
    fn chunk(&self, key: u64) -> bool {
        self.is(PostingKind::Chunk, key)
    }

    fn fingerprint(&self, fingerprint: Fingerprint) -> bool {
        self.is(PostingKind::Fingerprint, fingerprint.0)
    }
}
