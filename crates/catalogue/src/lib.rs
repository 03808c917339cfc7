//! Portable catalogues: the indexed data of a tree, in one file, without the tree.
//!
//! Examples of such trees are a disk in a drawer, another machine, and an archive that was shipped.
//! A catalogue answers questions about their contents without them. Forman, Eshghi and Chiocchetti
//! (2005, section 4) share "only the file-chunk metadata" between sites. A catalogue has that
//! metadata, and everything else that a question needs: names, digests, chunks, samples, and
//! members of archives.
//!
//! ```text
//! Snapshot ── write ──► FILE ── read ──► records ── load ──► index, under a path that no file has
//! ```
//!
//! 1. **A catalogue becomes a tree of the index** ([`load()`]), so every question treats it like
//!    any other root. The path of that tree ([`resemble_proto::catalogued`]) does not exist on a
//!    file system: the kernel refuses to open its files, which is reported (`AskError::Elsewhere`
//!    of `resemble-relate`).
//! 2. **The format is a stream of records** (`format`), written and read in one pass. Contents
//!    precede their references, and a digest of everything is at the end. It is verified before the
//!    first record is used.
//! 3. **It may be malformed**: a digest of all bytes is not a signature, because anyone can compute
//!    it. Lengths are checked before anything is allocated, names before they are joined, sums
//!    before they are added. Its data on contents are trusted as its author is: no bytes are
//!    available to check them.
//! 4. **Stored data take precedence**: the index keeps its own data of a content that live files
//!    have. A catalogue that is only asked about is removed after the answer. So no catalogue
//!    changes the data of live files.
//! 5. **Samples are thinned to fit** ([`Samples`]): a sparser sample is a part of a denser one, so
//!    it is valid. Chunks, which prove shared bytes, stay.
//! 6. **The same state of a tree gives the same bytes** for every author: no ids, inodes, device
//!    numbers, hosts or times of reading. The caller sets the only date in it.

pub mod delta;
mod format;
mod kept;
mod load;
mod read;
mod records;
#[cfg(test)]
mod tests;
mod thin;
mod write;

use std::io;
use std::path::{Path, PathBuf};

use resemble_index::{ApplyError, ReadError};
use resemble_proto::message::{CatalogueForm, reason};
use resemble_proto::number::Fraction;
use serde::{Deserialize, Serialize};

pub use format::{Apart, CatalogueRecord, EntryKind, PackedContent, Part};
pub use kept::{Received, claimed_checksum, file_of_label, forget, kept, receive};
pub use load::{Loaded, fits, load, unload, unload_stray};
pub use read::{Catalogue, is_catalogue, open};
pub use write::write;

/// The version of the format that is written, and the only one that is read.
pub const VERSION: u64 = 1;

/// The options of writing a catalogue.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Details {
    /// Its label: see [`resemble_proto::catalogued::is_label`].
    pub label: String,
    /// The time of writing, in seconds since 1970.
    pub created: i64,
    /// True if names, modification times, directories and links are written. Without them, files
    /// are numbered in the order of their digests.
    pub names: bool,
    /// True if the texts of documents and the members of archives are written.
    pub text: bool,
    /// The density of the samples.
    pub samples: Samples,
}

/// The density of the samples in a catalogue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Samples {
    /// All samples of the index.
    #[default]
    All,
    /// At most this many fingerprints of a content.
    AtMost(u32),
    /// The most that keep the catalogue within this part of its files' bytes, but at least 16 of a
    /// content. The written catalogue then states the number that was used: [`Self::AtMost`], or
    /// [`Self::All`] if all fitted.
    Within {
        /// The part of the files' bytes.
        part: Fraction,
        /// If the catalogue with all samples has at most this many bytes, it keeps them all.
        small: u64,
    },
}

impl From<&CatalogueForm> for Details {
    fn from(form: &CatalogueForm) -> Self {
        Self {
            label: form.label.clone(),
            created: form.created,
            names: form.names,
            text: form.text,
            samples: if form.within == Fraction::ONE {
                Samples::All
            } else {
                Samples::Within {
                    part: form.within,
                    small: form.small,
                }
            },
        }
    }
}

/// The first record of a catalogue.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Head {
    /// The parameters with which its contents were digested, as [`resemble_core::Params`] prints
    /// them.
    pub params: String,
    /// The options with which it was written.
    pub details: Details,
}

/// The totals of a catalogue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Totals {
    /// Distinct contents, including those in archives.
    pub contents: u64,
    /// Files; hard links are one.
    pub files: u64,
    /// Bytes of the files.
    pub bytes: u64,
    /// Files that could not be read, or that the index left out: the catalogue has only their
    /// names.
    pub unread: u64,
}

/// The reason why a catalogue cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CatalogueError {
    /// The catalogue cannot be read.
    #[error("cannot read the catalogue {}: {}", file.display(), reason(source))]
    Read {
        /// The file.
        file: PathBuf,
        /// The kernel's error.
        source: io::Error,
    },
    /// The file is not a catalogue, or it has changed since it was written.
    #[error("{} cannot be used as a catalogue: {what}", file.display())]
    Damaged {
        /// The file.
        file: PathBuf,
        /// The fault, and the remedy.
        what: &'static str,
    },
    /// The catalogue was written by another version.
    #[error(
        "{} was written in version {version} of its format, and this program reads version \
         {VERSION}: export it again, or use the program that wrote it",
        file.display()
    )]
    Version {
        /// The file.
        file: PathBuf,
        /// Its version.
        version: u64,
    },
    /// A delta was made from another catalogue.
    #[error(
        "{} does not continue {}: it was made of another catalogue, or of an older or newer one",
        delta.display(),
        base.display()
    )]
    OtherBase {
        /// The delta.
        delta: PathBuf,
        /// The catalogue that it was to be joined with.
        base: PathBuf,
    },
    /// The contents of the catalogue were digested with other parameters.
    #[error(
        "{} was made with the parameters {theirs}, and this index has {ours}: pieces of other \
         sizes have nothing in common; export it again with the same --chunk-size, or ask with its \
         own",
        file.display()
    )]
    Params {
        /// The file.
        file: PathBuf,
        /// The parameters of the catalogue.
        theirs: String,
        /// The parameters of the index.
        ours: String,
    },
    /// No catalogue has this label.
    #[error("no catalogue {label:?} was imported; `resemble watch list` names them")]
    Unknown {
        /// The label.
        label: String,
    },
    /// The catalogue cannot be stored, or removed.
    #[error("cannot keep {}: {}", file.display(), reason(source))]
    Keep {
        /// The file that could not be written or removed.
        file: PathBuf,
        /// The kernel's error.
        source: io::Error,
    },
    /// The index cannot be written.
    #[error(transparent)]
    Apply(#[from] ApplyError),
    /// The index cannot be read.
    #[error(transparent)]
    Index(#[from] ReadError),
}

impl CatalogueError {
    /// Returns the error with the path of the original file.
    #[must_use]
    pub fn of(self, original: &Path) -> Self {
        let file = original.to_owned();
        match self {
            Self::Damaged { what, .. } => Self::Damaged { file, what },
            Self::Version { version, .. } => Self::Version { file, version },
            Self::Params { theirs, ours, .. } => Self::Params { file, theirs, ours },
            other => other,
        }
    }
}

/// Returns the file of the catalogue that a path of a question names. Imported ones are in
/// `folder`.
pub fn file_of(root: &Path, folder: Option<&Path>) -> Result<PathBuf, CatalogueError> {
    use resemble_proto::catalogued::{Source, source_of};
    match source_of(root) {
        Some((Source::File(file), ..)) => Ok(file),
        Some((Source::Label(label), ..)) => {
            let file = folder.map(|folder| file_of_label(folder, &label));
            file.filter(|file| file.is_file())
                .ok_or(CatalogueError::Unknown { label })
        }
        None => Err(CatalogueError::Unknown {
            label: root.display().to_string(),
        }),
    }
}
