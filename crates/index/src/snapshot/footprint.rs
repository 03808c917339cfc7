//! The footprint of a question: the parts of the index that it reads, for cached answers.

use std::sync::Arc;

use parking_lot::Mutex;
use resemble_core::ContentId;

use super::{PostingKind, Snapshot};
use crate::footprint::{Footprint, ReadSet};
use crate::rows::FileState;

impl Snapshot {
    /// Makes a view that records the reads of one question, so that its answer can be cached.
    #[must_use]
    pub fn noting(self) -> Self {
        Self {
            noted: Some(Arc::default()),
            ..self
        }
    }

    /// Returns the footprint of the question; `None` if it was not recorded or is too large.
    ///
    /// The footprint of a file covers its content and names, but not its [`crate::FileStat`].
    pub fn footprint(&self) -> Option<Footprint> {
        let noted = self.noted.as_ref()?.lock();
        noted.footprint(&self.inner.commits, self.generation())
    }

    /// Returns whether everything that an answer depends on is unchanged in this view.
    pub fn is_untouched(&self, footprint: &mut Footprint) -> bool {
        footprint.stands(&self.inner.commits, self.generation())
    }

    /// Records that the question depends on something outside the index, for example whether a file
    /// can be read now. Its answer then has no footprint.
    pub fn note_outside(&self) {
        self.note(ReadSet::anything);
    }

    pub(super) fn note_content(&self, content: ContentId) {
        self.note(|noted| noted.content(content));
    }

    /// Records the look-up of a file. A change of the file touches its content, so the content is
    /// recorded.
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

/// Reads of a question, shared by its threads.
pub(super) type Notes = Arc<Mutex<ReadSet>>;
