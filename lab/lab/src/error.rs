//! The errors of the laboratory: the reasons why it gives no answer.

use std::io;
use std::path::PathBuf;

use resemble_index::ReadError;
use resemble_methods::anchors::AnchorError;
use resemble_methods::vocabulary::LemmaError;
use resemble_methods::{ParamError, Refused};
use resemble_proto::message::reason;
use resemble_relate::AskError;

use crate::arrays::ArraysError;

/// The reason why a question has no answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LabError {
    /// A file or the index cannot be read. The other questions of `resemble` have this error, too.
    #[error(transparent)]
    Ask(#[from] AskError),
    /// The method cannot answer this question.
    #[error(transparent)]
    Method(#[from] MethodError),
    /// The clustering on disk cannot continue.
    #[error(transparent)]
    Phase(#[from] PhaseError),
    /// An export cannot be used.
    #[error(transparent)]
    Export(#[from] ExportError),
    /// The arrays of sorted5 cannot be made or read.
    #[error(transparent)]
    Arrays(#[from] ArraysError),
}

impl From<ReadError> for LabError {
    fn from(error: ReadError) -> Self {
        Self::Ask(error.into())
    }
}

/// The reason why an export cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExportError {
    /// The file cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The error of the kernel.
        source: io::Error,
    },
    /// A line does not have the form of a line of an export.
    #[error("line {line} of {} is not a line of an export: {what}", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// The number of the line, from 1 on.
        line: usize,
        /// The fault that was found in the line.
        what: String,
    },
    /// The file has the sketches of another method or of other parameters.
    #[error(
        "{} has sketches by {kept}, and {asked} is asked for; give the same method and \
         parameters, or export again",
        path.display()
    )]
    OtherParams {
        /// The file.
        path: PathBuf,
        /// The parameters of the signatures in the file.
        kept: String,
        /// The parameters of the question.
        asked: String,
    },
    /// The files cannot be put into an index.
    #[error("cannot use {}: {what}", path.display())]
    Index {
        /// The file.
        path: PathBuf,
        /// The reason.
        what: String,
    },
}

/// The reason why a method cannot answer a question.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MethodError {
    /// The method does not have these parameters.
    #[error(transparent)]
    Params(#[from] ParamError),
    /// The anchors cannot be used.
    #[error(transparent)]
    Anchors(#[from] AnchorError),
    /// The lemmas cannot be used.
    #[error(transparent)]
    Lemmas(#[from] LemmaError),
    /// The method does not have this measure.
    #[error(transparent)]
    Refused(#[from] Refused),
    /// A file is only in a catalogue, which does not have the bytes that a method needs.
    #[error(
        "a method reads the files themselves; only a catalogue has those of {}",
        catalogue.display()
    )]
    Catalogue {
        /// The path of the catalogue, in the form that people write.
        catalogue: PathBuf,
    },
    /// The question is invalid in another way. The commands of the program never ask such a
    /// question.
    #[error("{0}")]
    Question(&'static str),
}

/// The reason why the phases cannot continue.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PhaseError {
    /// The work folder cannot be written or read.
    #[error("cannot work in {}: {}; free some space there or name another folder \
        (--work)", path.display(), reason(source))]
    Folder {
        /// The file or the folder.
        path: PathBuf,
        /// The error of the kernel.
        source: io::Error,
    },
    /// A file of the work folder is damaged.
    #[error("{} is damaged ({what}); remove its folder and ask again", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The damage that was found.
        what: &'static str,
    },
    /// The work folder has results of other parameters.
    #[error(
        "{} keeps clusters of {kept}, and {asked} is asked for; give the same parameters or \
         another folder (--work)",
        path.display()
    )]
    OtherParams {
        /// The folder.
        path: PathBuf,
        /// The parameters of the results in the folder.
        kept: String,
        /// The parameters of the question.
        asked: String,
    },
    /// The work folder has results of another seed.
    #[error(
        "{} keeps shingles chosen by another seed, which have nothing in common with those of \
         this one; give the same --seed or another folder (--work)",
        path.display()
    )]
    OtherSeed {
        /// The folder.
        path: PathBuf,
    },
    /// There are more documents than 32-bit numbers.
    #[error(
        "more than 4,294,967,295 documents cannot be clustered at once; ask about a part of them"
    )]
    TooMany,
    /// The four phases need shingles, and the method has none.
    #[error("the four phases are for shingle and super-shingle")]
    NoShingles,
}
