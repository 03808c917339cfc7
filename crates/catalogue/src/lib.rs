//! Portable catalogues: what is known of a tree, in one file, without the tree.
//!
//! A disk in a drawer, another machine, an archive that was shipped: what they hold can be asked
//! about without them. Forman, Eshghi and Chiocchetti (2005, section 4) share "only the file-chunk
//! metadata" between sites; a catalogue is that, and everything else that a question needs: names,
//! digests, chunks, samples, and what archives held.
//!
//! ```text
//! Snapshot ── write ──► FILE ── read ──► records ── load ──► index, under a path that no file has
//! ```
//!
//! 1. **A catalogue becomes a tree of the index** ([`load()`]), so every question takes it like any
//!    other root and none knows of catalogues. The path of that tree
//!    ([`resemble_proto::catalogued`]) leads nowhere on a file system: what wants bytes is refused
//!    by the kernel, and says so (`AskError::Elsewhere` of `resemble-relate`).
//! 2. **The format is a stream of records** (`format`): written and read in one pass, contents
//!    before what refers to them, and a digest of everything at the end. It is checked whole before
//!    the first record is believed.
//! 3. **Nothing in it is trusted to be well-formed**: a digest of all bytes is no signature,
//!    anybody can make one. Lengths are checked before anything is allocated, names before they are
//!    joined, sums before they are added. What it says of contents is believed, as one believes
//!    whoever made it: no bytes are here to check it.
//! 4. **What the index has already stays**: a content that live files have is theirs, and a
//!    catalogue that is only asked about is taken out again after the answer. So no catalogue
//!    changes what is known of live files.
//! 5. **Samples are thinned to fit** ([`Samples`]): they nest, so a coarser one is a good one, and
//!    chunks, which prove, stay.
//! 6. **The same state of a tree gives the same bytes**, whoever writes them: no ids, inodes,
//!    device numbers, hosts or times of reading. The one date in it is told by the caller.

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

/// What is to be written of a catalogue besides the tree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Details {
    /// What people call it: see [`resemble_proto::catalogued::is_label`].
    pub label: String,
    /// When it was made, in seconds since 1970.
    pub created: i64,
    /// Names, times of change, directories and links are in it. Without them, files are numbered in
    /// the order of their digests.
    pub names: bool,
    /// What documents say and archives hold is in it.
    pub text: bool,
    /// How much of the samples is in it.
    pub samples: Samples,
}

/// How much of the samples a catalogue has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Samples {
    /// All that the index has.
    #[default]
    All,
    /// At most so many fingerprints of a content.
    AtMost(u32),
    /// As many as keep the catalogue within this part of the bytes of its files, but at least 16 of
    /// a content. What is written says how many these were: [`Self::AtMost`], or [`Self::All`] if
    /// all fitted.
    Within {
        /// That part.
        part: Fraction,
        /// A catalogue of at most so many bytes has all samples.
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

/// What the first record of a catalogue says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Head {
    /// What its contents were digested with, as [`resemble_core::Params`] print it.
    pub params: String,
    /// See [`Details`].
    pub details: Details,
}

/// What is in a catalogue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Totals {
    /// Distinct contents, those in archives among them.
    pub contents: u64,
    /// Files; hard links are one.
    pub files: u64,
    /// Bytes of the files.
    pub bytes: u64,
    /// Files that could not be read, or were left out by the index: their names are in it.
    pub unread: u64,
}

/// Why a catalogue cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CatalogueError {
    /// It cannot be read.
    #[error("cannot read the catalogue {}: {}", file.display(), reason(source))]
    Read {
        /// The file.
        file: PathBuf,
        /// What the kernel said.
        source: io::Error,
    },
    /// It is another file, or no longer what was written.
    #[error("{} cannot be used as a catalogue: {what}", file.display())]
    Damaged {
        /// The file.
        file: PathBuf,
        /// What is wrong, and what to do.
        what: &'static str,
    },
    /// It was written by another version.
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
    /// A delta was made of another catalogue.
    #[error(
        "{} does not continue {}: it was made of another catalogue, or of an older or newer one",
        delta.display(),
        base.display()
    )]
    OtherBase {
        /// The delta.
        delta: PathBuf,
        /// What it was to be joined with.
        base: PathBuf,
    },
    /// Its contents were digested with other parameters.
    #[error(
        "{} was made with the parameters {theirs}, and this index has {ours}: pieces of other \
         sizes have nothing in common; export it again with the same --chunk-size, or ask with its \
         own",
        file.display()
    )]
    Params {
        /// The file.
        file: PathBuf,
        /// Of the catalogue.
        theirs: String,
        /// Of the index.
        ours: String,
    },
    /// There is none of this label.
    #[error("no catalogue {label:?} was imported; `resemble watch list` names them")]
    Unknown {
        /// The label.
        label: String,
    },
    /// It cannot be kept, or forgotten.
    #[error("cannot keep {}: {}", file.display(), reason(source))]
    Keep {
        /// What could not be written or removed.
        file: PathBuf,
        /// What the kernel said.
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
    /// The same of a file that this one is a copy of.
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

/// The file of the catalogue that a path of a question names. Imported ones lie in `folder`.
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
