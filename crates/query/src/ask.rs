//! What every question has in common: how it can fail, and how it reads a file.

use std::io;
use std::path::{Path, PathBuf};

use resemble_core::similarity::{self, Templates, Unit};
use resemble_core::{ByteLen, ContentKind, Measures, Stopped};
use resemble_index::ReadError;
use resemble_proto::catalogued;
use resemble_proto::message::{SoftError, SoftErrorKind, reason};
use resemble_proto::path::PathText;
use resemble_proto::pattern::BadPattern;
use resemble_scan::read::{ReadFailure, open_regular};
use resemble_scan::walk::Anchor;
use rustix::io::Errno;

/// Why a question has no answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AskError {
    /// The index cannot be read.
    #[error(transparent)]
    Index(ReadError),
    /// Whoever asked does not want to know any more: the stop flag of the snapshot was set.
    #[error("the question was cancelled")]
    Cancelled,
    /// The file that was asked about cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the kernel said.
        source: io::Error,
    },
    /// Only a catalogue has it: see [`resemble_proto::catalogued`].
    #[error("the bytes of {} are not here: only a catalogue has it", path.display())]
    Elsewhere {
        /// As people write it.
        path: PathBuf,
    },
    /// What does not fit into the memory that was given cannot be put on a disk either.
    #[error(
        "cannot put what does not fit into memory into {}: {}; free some space there, name another \
         folder (TMPDIR), or give more memory (--memory)",
        dir.display(),
        reason(source)
    )]
    Scratch {
        /// The directory for scratch files.
        dir: PathBuf,
        /// What the kernel said.
        source: io::Error,
    },
    /// A pattern of `--include` or `--exclude` is none.
    #[error(transparent)]
    Pattern(#[from] BadPattern),
}

impl From<ReadError> for AskError {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::Stopped => Self::Cancelled,
            other => Self::Index(other),
        }
    }
}

impl From<Stopped> for AskError {
    fn from(_: Stopped) -> Self {
        Self::Cancelled
    }
}

/// Why a file of a catalogue cannot be read, where its name stands in front.
pub(crate) const NOT_HERE: &str = "its bytes are not here: only a catalogue has it";

/// Files larger than this are compared by their chunks where their bytes would be read otherwise:
/// both files of a pair are in memory at once.
pub const LARGEST_READ: ByteLen = ByteLen(64 << 20);

/// The bytes of a regular file of at most [`LARGEST_READ`], read as carefully as an indexed one.
///
/// The file may end while it is read; what was there is returned.
pub fn bytes_of(path: &Path) -> Result<Vec<u8>, AskError> {
    let fail = |errno: Errno| AskError::Unreadable {
        path: path.to_owned(),
        source: errno.into(),
    };
    let anchor = anchor_of(path)?;
    let (fd, stat) = open_regular(&anchor, path).map_err(|failure| unreadable(path, failure))?;
    let size = stat.size.min(LARGEST_READ.0) as usize;
    let mut bytes = vec![0; size];
    let mut filled = 0;
    while filled < size {
        match rustix::io::read(&fd, &mut bytes[filled..]) {
            Ok(0) => break,
            Ok(n) => filled += n,
            Err(Errno::INTR) => {}
            Err(errno) => return Err(fail(errno)),
        }
    }
    bytes.truncate(filled);
    Ok(bytes)
}

/// The folder of a file, opened.
pub fn anchor_of(path: &Path) -> Result<Anchor, AskError> {
    if let Some(path) = catalogued::shown(path) {
        return Err(AskError::Elsewhere { path });
    }
    Anchor::open(path.parent().unwrap_or(Path::new("/"))).map_err(|errno| AskError::Unreadable {
        path: path.to_owned(),
        source: errno.into(),
    })
}

/// The failure to read a file as the answer to a question.
pub fn unreadable(path: &Path, failure: ReadFailure) -> AskError {
    let source = match failure {
        ReadFailure::Gone => Errno::NOENT.into(),
        ReadFailure::Errno(errno) => io::Error::from_raw_os_error(errno),
        ReadFailure::Stopped => return AskError::Cancelled,
        ReadFailure::NotRegular => io::Error::other(failure.to_string()),
    };
    AskError::Unreadable {
        path: path.to_owned(),
        source,
    }
}

/// The measures of two files by the bytes of their payloads, and the sizes of these.
pub(crate) fn exact_payload(
    templates: &Templates,
    a: &[u8],
    b: &[u8],
    unit: Unit,
) -> (Measures, (ByteLen, ByteLen)) {
    let (left, right) = (templates.payload(a), templates.payload(b));
    // Of the whole: a payload may begin anywhere.
    let kinds = (ContentKind::of(a), ContentKind::of(b));
    let measures = match unit {
        Unit::Bytes => similarity::runs::exact(&left, &right, kinds),
        Unit::Words => similarity::runs::exact_words(&left, &right),
    };
    let size = |bytes: &[u8]| ByteLen(bytes.len() as u64);
    (measures, (size(&left), size(&right)))
}

/// The measures of two files by their bytes, both of at most [`LARGEST_READ`].
pub(crate) fn exact_measures(a: &[u8], b: &[u8]) -> Measures {
    similarity::runs::exact(a, b, (ContentKind::of(a), ContentKind::of(b)))
}

/// The error row of a file that could not be looked at.
pub fn soft_error(path: &Path, error: &AskError) -> SoftError {
    let kind = match error {
        AskError::Unreadable { source, .. } if source.kind() == io::ErrorKind::NotFound => {
            SoftErrorKind::NotFound
        }
        AskError::Unreadable { .. } | AskError::Elsewhere { .. } => SoftErrorKind::Unreadable,
        _ => SoftErrorKind::Other,
    };
    let message = match error {
        AskError::Unreadable { source, .. } => reason(source),
        AskError::Elsewhere { .. } => NOT_HERE.to_owned(),
        other => other.to_string(),
    };
    SoftError {
        path: PathText::from(path),
        kind,
        message,
    }
}
