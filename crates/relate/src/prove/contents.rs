//! Reads contents again from the files of a question.
//!
//! The bytes of a file are used only if they still have the digest that the index recorded.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use resemble_core::hash::content;
use resemble_core::{ByteLen, ContentDigest, ContentId, ContentKind};
use resemble_index::{ContentRow, Snapshot};
use resemble_proto::message::{SoftError, SoftErrorKind};
use resemble_proto::path::PathText;
use resemble_scan::parts::{HEAD, PartReader};
use resemble_scan::read::{open_regular, read_prefix};

use crate::ask::{AskError, soft_error};
use crate::prove::extracted::extract;
use crate::prove::read::{LARGEST_READ, OpenFolders, anchor_of, bytes_of, unreadable};
use crate::renditions::Rendition;
use crate::renditions::owners::RenditionOwners;
use crate::scope::ScopedFiles;

/// The maximum number of files with the same content from which reading it is tried.
pub const TRIED: usize = 4;

/// A content that is to be read.
#[derive(Clone, Copy, Debug)]
pub struct WantedContent {
    /// The id of the content in the index.
    pub id: ContentId,
    /// The digest that the bytes must have.
    pub digest: ContentDigest,
    /// The number of bytes of the content.
    pub size: ByteLen,
}

/// A content that is to be read, and its kind in the index.
pub type WantedOfKind = (WantedContent, ContentKind);

impl WantedContent {
    /// Describes a content that is in the index.
    pub const fn of(row: &ContentRow) -> Self {
        Self {
            id: row.id,
            digest: row.digest,
            size: row.size,
        }
    }
}

/// Reads the contents of a question from its files.
#[derive(Clone, Copy, Debug)]
pub struct ContentReader<'a> {
    /// The index that describes the contents and their files.
    pub snapshot: &'a Snapshot,
    /// The files that may be opened.
    pub scoped: &'a ScopedFiles,
    /// The renditions of these files.
    pub renditions: &'a RenditionOwners,
    /// The folders that the question has open.
    pub folders: &'a OpenFolders,
    /// The reader that extracts the parts of documents. Without it, documents are not read.
    pub part_reader: Option<&'a dyn PartReader>,
}

impl ContentReader<'_> {
    /// Returns the bytes of a content. If it cannot be read, returns the path and the reason.
    pub fn read(&self, wanted: &WantedContent) -> Result<Result<Vec<u8>, SoftError>, AskError> {
        self.snapshot.stop().go_on()?;
        let mut holders = self.scoped.holders(wanted.id).take(TRIED).peekable();
        if holders.peek().is_none() {
            return Ok(self.text_of_document(wanted));
        }
        let mut failure = None;
        for holder in holders {
            if wanted.size > LARGEST_READ {
                failure = Some(Self::unread(&holder.path, TOO_LARGE));
                break;
            }
            match self.folders.bytes_if(&holder.path, &wanted.digest) {
                Ok(Some(bytes)) => return Ok(Ok(bytes)),
                Ok(None) => failure = Some(Self::unread(&holder.path, CHANGED)),
                Err(AskError::Cancelled) => return Err(AskError::Cancelled),
                Err(error) => failure = Some(soft_error(&holder.path, &error)),
            }
        }
        let failure = failure.unwrap_or_else(|| Self::unread(Path::new(""), CHANGED));
        // The content was not read from a file of its own. But it may also be the text of a
        // document.
        Ok(self.text_of_document(wanted).map_err(|_| failure))
    }

    /// Returns whether a content begins like a plain text in another encoding than UTF-8.
    pub fn is_encoded(&self, wanted: &WantedContent) -> Result<bool, AskError> {
        self.snapshot.stop().go_on()?;
        let Some(holder) = self.scoped.holders(wanted.id).next() else {
            return Ok(false);
        };
        if self.snapshot.is_partial() {
            // The caller of a partial snapshot does not see every file, and must learn nothing
            // about a file until all its bytes are verified.
            return Ok(false);
        }
        Ok(is_encoded(&holder.path))
    }

    /// Converts these bytes of a content to UTF-8, if they are a text in another encoding.
    pub fn decoded(&self, wanted: &WantedContent, bytes: &[u8]) -> Option<String> {
        let holder = self.scoped.holders(wanted.id).next()?;
        let is_encoded = resemble_extract::is_encoded(name_of(&holder.path), bytes);
        is_encoded.then(|| resemble_extract::decoded(bytes))?
    }

    /// Extracts the wanted content, if it is the text of a document.
    fn text_of_document(&self, wanted: &WantedContent) -> Result<Vec<u8>, SoftError> {
        let owners = self.renditions.owners(wanted.id).iter();
        let owners = owners
            .filter(|(_, rendition)| matches!(rendition, Rendition::Text | Rendition::Unpacked));
        let holders = owners.flat_map(|&(owner, _)| self.scoped.holders(owner));
        let mut holders = holders.take(TRIED).peekable();
        let (Some(first), Some(part_reader)) = (holders.peek(), self.part_reader) else {
            // Either there is no reader, or no scoped file has this content as its text. For
            // example, all texts of an archive joined are not the text of any document.
            let path = holders.peek().map_or(Path::new(""), |first| &first.path);
            return Err(Self::unread(path, NOT_TAKEN_APART));
        };
        let mut failure = Self::unread(&first.path, CHANGED);
        for holder in holders {
            match text_in(&holder.path, wanted, part_reader) {
                Ok(Some(text)) => return Ok(text),
                Ok(None) => {}
                Err(error) => failure = soft_error(&holder.path, &error),
            }
        }
        Err(failure)
    }

    fn unread(path: &Path, (kind, message): (SoftErrorKind, &str)) -> SoftError {
        SoftError {
            path: PathText::from(path),
            kind,
            message: message.to_owned(),
        }
    }
}

/// Extracts the wanted content from a document. Returns `None` if the document does not have it.
fn text_in(
    path: &Path,
    wanted: &WantedContent,
    part_reader: &dyn PartReader,
) -> Result<Option<Vec<u8>>, AskError> {
    if let Some(text) = decoded_text(path, wanted) {
        return Ok(Some(text));
    }
    let extracted = extract(path, part_reader)?;
    let texts = extracted.map(|extracted| [extracted.text, extracted.packed]);
    let mut texts = texts.into_iter().flatten().flatten();
    Ok(texts.find(|text| content::digest(text) == wanted.digest))
}

/// Returns whether a file begins like a plain text in another encoding than UTF-8.
fn is_encoded(path: &Path) -> bool {
    let head = head_of(path);
    head.is_ok_and(|head| resemble_extract::is_encoded(name_of(path), &head))
}

/// Decodes a plain text in another encoding. Returns `None` if the result is not the wanted
/// content. No reader process is needed for this.
fn decoded_text(path: &Path, wanted: &WantedContent) -> Option<Vec<u8>> {
    if !is_encoded(path) {
        return None;
    }
    let text = resemble_extract::decoded(&bytes_of(path).ok()?)?;
    let text = text.into_bytes();
    (content::digest(&text) == wanted.digest).then_some(text)
}

fn head_of(path: &Path) -> Result<Vec<u8>, AskError> {
    let anchor = anchor_of(path)?;
    let (fd, _) = open_regular(&anchor, path).map_err(|failure| unreadable(path, failure))?;
    read_prefix(&fd, HEAD).map_err(|errno| AskError::Unreadable {
        path: path.to_owned(),
        source: errno.into(),
    })
}

fn name_of(path: &Path) -> &[u8] {
    path.file_name().unwrap_or_default().as_bytes()
}

const TOO_LARGE: (SoftErrorKind, &str) = (
    SoftErrorKind::Other,
    "it is larger than 64 MiB, so its figures are estimates",
);
const CHANGED: (SoftErrorKind, &str) = (
    SoftErrorKind::Changing,
    "it has changed since it was indexed, so its figures are estimates",
);
const NOT_TAKEN_APART: (SoftErrorKind, &str) = (
    SoftErrorKind::Other,
    "its parts cannot be extracted now, so its figures are estimates",
);
