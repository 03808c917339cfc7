//! Portable catalogues: all that the index knows of a tree, in one file, without the tree.
//!
//! Such a tree may be on a disk in a drawer, on another machine, or in an archive that was shipped.
//! A catalogue answers questions about its contents without the tree. Forman, Eshghi and
//! Chiocchetti (2005, section 4) share "only the file-chunk metadata" between sites. A catalogue
//! has that metadata, and everything else that a question needs: names, digests, chunks, samples,
//! and members of archives.
//!
//! ```text
//! Snapshot ── write ──► FILE ── read ──► records ── load ──► index, under a path that no file has
//! ```
//!
//! 1. **A catalogue becomes a tree of the index** ([`load()`]), so every question treats it like
//!    any other root. The path of that tree ([`resemble_proto::catalogued`]) cannot exist in a file
//!    system, so its files cannot be opened. If a question has to open such a file, it reports
//!    `AskError::Elsewhere` (`resemble-relate`).
//! 2. **The format is a stream of records** (`format`), written in one pass. A content precedes the
//!    records that refer to it. At the end is a digest of everything before it. A file is read
//!    twice: the first pass verifies this digest, the second one reads the records.
//! 3. **A catalogue may be malformed**: anyone can compute the digest at its end. So lengths are
//!    checked before memory is allocated, names before they are joined, and numbers before they are
//!    added. Digests, chunks and samples have to be trusted: the bytes that would prove them are
//!    not available.
//! 4. **The index's own data take precedence**: if a file of the index has a content, the catalogue
//!    does not replace the data of that content. A catalogue that is loaded for one question is
//!    removed after the answer. The data of a kept catalogue also serve later files with the same
//!    contents.
//! 5. **Samples are thinned to limit the size** ([`Samples`]). A denser set can be thinned further,
//!    so two sets are compared at the level of the thinner one. Chunks, which prove shared bytes,
//!    are all written.
//! 6. **The same state of a tree gives the same bytes** on every machine. A catalogue has no ids,
//!    inodes, device numbers, host names or times of reading. The time of writing is set by the
//!    caller.

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
    /// True if names, modification times, directories and links are written. If false, only the
    /// files are written, in the order of their digests.
    pub names: bool,
    /// True if the texts of documents and the members of archives are written, too.
    pub text: bool,
    /// The density of the samples.
    pub samples: Samples,
}

/// Limits the number of samples in a catalogue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Samples {
    /// All samples of the index.
    #[default]
    All,
    /// At most this many fingerprints of a content.
    AtMost(u32),
    /// The largest number of samples with which the catalogue is within a fraction of its files'
    /// bytes, but at least 16 of each content. The written catalogue then states the number that
    /// was chosen ([`Self::AtMost`]), or [`Self::All`] if all samples fitted.
    Within {
        /// The fraction of the files' bytes.
        part: Fraction,
        /// A catalogue that has at most this many bytes with all samples keeps them all.
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
    /// Number of distinct contents, including those in archives.
    pub contents: u64,
    /// Number of files. Hard links to one file count as one.
    pub files: u64,
    /// Sum of the files' sizes in bytes.
    pub bytes: u64,
    /// Number of files that could not be read, or that the index left out. The catalogue has no
    /// content for them.
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
         {VERSION}: write it again, or use the program that wrote it",
        file.display()
    )]
    Version {
        /// The file.
        file: PathBuf,
        /// Its version.
        version: u64,
    },
    /// A delta was made from another catalogue than the given base.
    #[error(
        "{} does not continue {}: it was made of another catalogue, or of an older or newer one",
        delta.display(),
        base.display()
    )]
    OtherBase {
        /// The delta.
        delta: PathBuf,
        /// The catalogue that the delta was to be joined with.
        base: PathBuf,
    },
    /// The contents of the catalogue were digested with other parameters than those of the index.
    #[error(
        "{} was made with the parameters {theirs}, and this index has {ours}: pieces of other \
         sizes have nothing in common; write it again with the same --chunk-size, or ask with its \
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
    #[error("no catalogue {label:?} is kept; `resemble catalogue list` names them")]
    Unknown {
        /// The label.
        label: String,
    },
    /// The catalogue cannot be stored in the folder of imported catalogues, or removed from it.
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
    /// If the error is `Damaged`, `Version` or `Params`, returns it with the path of the original
    /// file in place of its copy's path. Returns other errors unchanged.
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

/// Returns the catalogue file that a path of a question refers to. `folder` has the imported
/// catalogues.
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
