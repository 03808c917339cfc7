//! Connects a reconcile with [`Documents`]. Queues contents that must be taken apart, and writes
//! the results.

use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::path::Path;
use std::time::Duration;

use resemble_core::ContentId;
use resemble_index::{Change, Look, NewLook};

use super::documents::{Outcome, Owner, TakenApart};
use super::report::IngestError;
use super::run::{PATIENCE, PROGRESS_INTERVAL, Run};
use crate::ingest::target::{DocumentTurns, RootOptions};
use crate::read::{Contents, FileRead};

/// A result that took this long is made durable at once, so that a power cut does not lose it.
const DEAR: Duration = Duration::from_secs(1);

/// The maximum number of files that are checked again if a document changes while it is taken
/// apart. All these files have the document's content. This is also the maximum number of names for
/// each file.
const FEW: usize = 16;

/// The number of [`Owner`]s for folders. If there are more folders, some share an owner.
const FOLDERS: u64 = 256;

impl Run<'_> {
    /// Remembers a file whose content must be taken apart. The content is queued when the file is
    /// in the index.
    pub(super) fn note_due(&mut self, path: &Path, root: &RootOptions, read: &FileRead) {
        if read.due {
            let owner = self.owner_of(path, root, read.stat.uid);
            self.apart.due.push((path.to_owned(), owner));
        }
    }

    /// Returns the owner of a document. The readers of documents are shared fairly among owners. If
    /// many users are served, the owner is a user. Otherwise, the owner is a folder: the topmost
    /// folder of the path below the root.
    fn owner_of(&self, path: &Path, root: &RootOptions, uid: u32) -> Owner {
        if self.options.documents == DocumentTurns::LaterByUser {
            return Owner(uid);
        }
        let below = path.strip_prefix(&root.path).unwrap_or(path);
        let folder = below.parent().and_then(|folder| folder.iter().next());
        let hasher = BuildHasherDefault::<DefaultHasher>::new();
        let hash = hasher.hash_one((&root.path, folder)) % FOLDERS;
        Owner(u32::try_from(hash).unwrap_or_default())
    }

    /// Called after a commit. Marks the documents whose results are now in the index as finished,
    /// and queues the documents of new files.
    pub(super) fn queue_documents(&mut self) -> Result<(), IngestError> {
        if !self.apart.looked.is_empty() {
            for content in self.apart.looked.drain(..) {
                self.documents.settle(content);
            }
            self.apart.is_dear = false;
            self.observer.taken_apart();
        }
        for (path, owner) in std::mem::take(&mut self.apart.due) {
            let Some(file) = self.snapshot.file_at(&path)? else {
                continue;
            };
            let Some(content) = file.state.content() else {
                continue;
            };
            let row = self.snapshot.content(content)?;
            if row.is_some_and(|row| row.look != Look::Apart) {
                let added = self.documents.add(content, file.id, owner);
                added.map_err(IngestError::Threads)?;
            }
        }
        Ok(())
    }

    /// Returns whether a file with this content is in a root whose documents are taken apart. A
    /// file in no root belongs to a catalogue, and gets its parts from the catalogue.
    pub(super) fn is_with_text(&self, content: ContentId) -> Result<bool, IngestError> {
        for file in self.snapshot.files_of(content)? {
            let paths = self.snapshot.paths(file)?;
            let mut roots = paths.iter().map(|path| self.area.root_of(path));
            if roots.any(|root| root.is_none_or(|root| root.text)) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Adds the results of finished documents to the batch.
    pub(super) fn take_documents(&mut self) -> Result<(), IngestError> {
        while let Some(taken) = self.documents.take_ready() {
            self.taken_apart(taken)?;
        }
        Ok(())
    }

    /// Returns whether a reconcile must wait until all documents are taken apart.
    pub(super) fn waits_for_documents(&self) -> bool {
        self.options.documents == DocumentTurns::BeforeTheEnd
    }

    /// Writes the results of documents. Waits until all documents are taken apart, if the options
    /// require that.
    pub(super) fn finish_documents(&mut self) -> Result<(), IngestError> {
        self.take_documents()?;
        self.commit()?;
        while self.waits_for_documents() && self.documents.len() > 0 {
            if self.should_stop() {
                self.documents.clear();
                return self.commit();
            }
            if self.documents.len() > self.apart.looked.len()
                && let Some(taken) = self.documents.take(PROGRESS_INTERVAL)
            {
                self.taken_apart(taken)?;
            }
            let is_last = self.documents.len() == self.apart.looked.len();
            if is_last || self.batch.is_full() || self.last_commit.elapsed() >= PATIENCE {
                self.commit()?;
            }
            self.report_progress();
        }
        Ok(())
    }

    fn taken_apart(&mut self, taken: TakenApart) -> Result<(), IngestError> {
        let TakenApart {
            content,
            digest,
            path,
            outcome,
            took,
        } = taken;
        let look = match outcome {
            Outcome::Over => {
                self.documents.settle(content);
                return Ok(());
            }
            Outcome::Changed => {
                // The path may belong to another file now. That file will be read, and its content
                // will be queued.
                self.documents.settle(content);
                self.look_again(path);
                for file in self.snapshot.files_of(content)?.into_iter().take(FEW) {
                    for path in self.snapshot.paths(file)?.into_iter().take(FEW) {
                        self.look_again(path);
                    }
                }
                return Ok(());
            }
            Outcome::Apart(_) if !self.is_with_text(content)? => {
                // No file with this content is in a root with the option `text` any more. The
                // option was switched off, or the files were moved or removed, while the content
                // waited.
                self.documents.settle(content);
                return Ok(());
            }
            Outcome::Plain => NewLook::Plain,
            Outcome::Apart(parts) => {
                if let Some(errno) = parts.scarce {
                    // The reader could not be run. This failure is reported, but not stored as a
                    // result for the content.
                    self.report.error(&path, errno);
                }
                let known = self.pool.known();
                parts.into_look(|digest| known.part(&digest.content))
            }
        };
        self.apart.looked.push(content);
        self.apart.is_dear |= took >= DEAR;
        let change = Change::Look {
            path,
            content: digest,
            look,
        };
        self.batch.extend(self.pool.given(), Some(change));
        Ok(())
    }
}
