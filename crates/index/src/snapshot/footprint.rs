//! Records which parts of the index a question reads, so that its answer can be cached.

use std::sync::Arc;

use parking_lot::Mutex;
use resemble_core::ContentId;

use super::{PostingKind, Snapshot};
use crate::footprint::{Footprint, ReadSet};
use crate::rows::FileState;

impl Snapshot {
    /// Makes a snapshot that records what one question reads, so that its answer can be cached.
    #[must_use]
    pub fn noting(self) -> Self {
        Self {
            noted: Some(Arc::default()),
            ..self
        }
    }

    /// Returns the footprint of the question. Returns `None` if the reads of the question were not
    /// recorded, or if the footprint would be too large.
    ///
    /// If the question reads a file, the footprint has the content and the names of the file, but
    /// not its [`crate::FileStat`].
    pub fn footprint(&self) -> Option<Footprint> {
        let noted = self.noted.as_ref()?.lock();
        noted.footprint(&self.inner.commits, self.generation())
    }

    /// Returns true only if the answer with this footprint is still valid in this snapshot's
    /// commit.
    pub fn is_untouched(&self, footprint: &mut Footprint) -> bool {
        footprint.stands(&self.inner.commits, self.generation())
    }

    /// Records that the answer depends on something outside the index, for example on whether a
    /// file can be read now. Such an answer has no footprint.
    pub fn note_outside(&self) {
        self.note(ReadSet::anything);
    }

    pub(super) fn note_content(&self, content: ContentId) {
        self.note(|noted| noted.content(content));
    }

    /// Records that a file was looked up. A change of the file touches its content, so it is enough
    /// to record the content. If the file has no content, the question has no footprint.
    pub(super) fn note_file(&self, state: Option<&FileState>) {
        match state.and_then(FileState::content) {
            Some(content) => self.note_content(content),
            None => self.note_outside(),
        }
    }

    pub(super) fn note_list(&self, kind: PostingKind, key: u64, contents: &[ContentId]) {
        self.note(|noted| noted.list(kind, key, contents));
    }

    fn note(&self, note: impl FnOnce(&mut ReadSet)) {
        if let Some(noted) = &self.noted {
            note(&mut noted.lock());
        }
    }
}

/// The reads of a question. All threads of the question share them.
pub(super) type Notes = Arc<Mutex<ReadSet>>;
