//! What a question looks at, for answers that are kept.

use std::sync::Arc;

use parking_lot::Mutex;
use resemble_core::ContentId;

use super::{PostingKind, Snapshot};
use crate::footprint::{Footprint, Noted};
use crate::rows::FileState;

impl Snapshot {
    /// The same view for one question whose answer is to be kept: it takes note of what the
    /// question looks at.
    #[must_use]
    pub fn noting(self) -> Self {
        Self {
            noted: Some(Arc::default()),
            ..self
        }
    }

    /// What the question has looked at; `None`: no note was taken, or it was too much.
    ///
    /// It knows of a file which content it has and what it is called, and not its
    /// [`crate::FileStat`].
    pub fn footprint(&self) -> Option<Footprint> {
        let noted = self.noted.as_ref()?.lock();
        noted.footprint(&self.inner.commits, self.generation())
    }

    /// Whether all that an answer depends on is in this view as it was then.
    pub fn is_untouched(&self, footprint: &mut Footprint) -> bool {
        footprint.stands(&self.inner.commits, self.generation())
    }

    /// The question depends on something that the index does not know, such as whether a file can
    /// be read just now: its answer has no footprint.
    pub fn note_outside(&self) {
        self.note(Noted::anything);
    }

    pub(super) fn note_content(&self, content: ContentId) {
        self.note(|noted| noted.content(content));
    }

    /// A file that was looked up, and its state: while it has the content, that is touched with it.
    pub(super) fn note_file(&self, state: Option<&FileState>) {
        match state.and_then(FileState::content) {
            Some(content) => self.note_content(content),
            None => self.note_outside(),
        }
    }

    pub(super) fn note_list(&self, kind: PostingKind, key: u64, contents: &[ContentId]) {
        self.note(|noted| noted.list(kind, key, contents));
    }

    fn note(&self, note: impl FnOnce(&mut Noted)) {
        if let Some(noted) = &self.noted {
            note(&mut noted.lock());
        }
    }
}

/// Shared by the threads of a question.
pub(super) type Notes = Arc<Mutex<Noted>>;
