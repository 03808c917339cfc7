//! The subjects of `find`: files, members and standard input. This process reads them if no index
//! has them.

use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use resemble_core::{Digest, Params};
use resemble_proto::message::{
    FileDates, Inode, SoftError, Subject, WireBytes, WireDigest, WireRendition,
};
use resemble_proto::path::PathText;
use resemble_query::find::{self, ReadSubject, Stream};
use resemble_query::local::read_catalogued;
use resemble_relate::AskError;
use resemble_relate::renditions::{self, Rendition};
use resemble_scan::parts::{Formats, Limits, PartReader};
use rustix::io::Errno;

use crate::error::{CliError, CliResult};
use crate::names::{Named, NamedMember};

/// The subject of `find`.
#[derive(Clone, Debug)]
pub enum FindSubject {
    /// A file.
    File(Named),
    /// A member of an archive or a mail.
    Member(NamedMember),
    /// The bytes of standard input.
    Stdin(Box<ReadSubject>),
}

impl FindSubject {
    /// Converts the subject to its form in a request. `name` is used for a content that has no
    /// path.
    pub fn subject(&self, name: &PathText) -> Subject {
        match self {
            Self::File(file) => Subject::File(PathText::from(file.real.as_path())),
            Self::Member(member) => Subject::File(PathText::from(member.real())),
            Self::Stdin(read) => content(None, read, name),
        }
    }

    /// Returns the path where the subject can be read again, if it is a file on this machine.
    pub(super) fn on_disk(&self) -> Option<&Path> {
        match self {
            Self::File(file) => Some(&*file.real).filter(|_| !file.is_catalogued()),
            Self::Member(_) | Self::Stdin(_) => None,
        }
    }

    /// Returns the real path of the file, or of the file that the member is in.
    pub fn file(&self) -> Option<PathText> {
        match self {
            Self::File(file) => Some(PathText::from(file.real.as_path())),
            Self::Member(member) => Some(PathText::from(member.file.real.as_path())),
            Self::Stdin(_) => None,
        }
    }
}

/// Returns a subject whose content this process has read. `file` is the path where that content can
/// be read again, if there is one.
pub(super) fn content(file: Option<&Path>, read: &ReadSubject, name: &PathText) -> Subject {
    Subject::Content {
        digest: Box::new(WireDigest::from(&read.digest)),
        name: name.clone(),
        inode: file.and_then(inode_of),
        others: read.others.iter().filter_map(rendition_of).collect(),
        held: read
            .held
            .iter()
            .flat_map(|held| held.members.iter().map(WireDigest::from))
            .collect(),
        path: file.map(PathText::from),
        bytes: read.bytes.clone().map(|bytes| Box::new(WireBytes(bytes))),
        dates: FileDates {
            changed: file
                .and_then(|file| Some(std::fs::metadata(file).ok()?.mtime()))
                .or(read.recorded.changed),
            stated: read.date.map(|date| date.seconds).or(read.recorded.stated),
        },
    }
}

/// Converts a rendition to the form of the protocol. Returns `None` for a kind of rendition that
/// requests do not have.
fn rendition_of((rendition, digest): &(Rendition, Digest)) -> Option<WireRendition> {
    Some(WireRendition {
        stands: rendition.stands_as()?,
        digest: WireDigest::from(digest),
    })
}

/// Returns a reader that takes documents and archives apart in this process, if `text` is set.
pub(crate) fn formats(text: bool) -> Option<Formats> {
    text.then(|| Formats::new(Limits::default(), Vec::new()))
}

/// Reads a subject that is not in the index.
pub(super) fn read_now(
    sought: &FindSubject,
    params: &Params,
    text: bool,
) -> Result<ReadSubject, SoftError> {
    let formats = formats(text);
    let part_reader = formats.as_ref().map(|formats| formats as &dyn PartReader);
    let (file, read) = match (sought, part_reader) {
        (FindSubject::Stdin(read), _) => return Ok((**read).clone()),
        (FindSubject::File(file), _) if file.is_catalogued() => {
            let error = match read_catalogued(&file.real, params) {
                Ok(Some(read)) => return Ok(read),
                Ok(None) => io::Error::other("is no file of the catalogue"),
                Err(error) => io::Error::other(error),
            };
            return Err(SoftError::of_io(file.shown.as_path().into(), &error));
        }
        (FindSubject::File(file), part_reader) => {
            let read = find::read_with_parts(&file.real, params, part_reader);
            (file.clone(), read)
        }
        (FindSubject::Member(member), part_reader) => {
            let NamedMember { file, names } = member;
            let read = match part_reader {
                Some(part_reader) => find::read_member(&file.real, names, params, part_reader),
                None => Err(AskError::Unreadable {
                    path: member.real(),
                    source: Errno::NOENT.into(),
                }),
            };
            let (shown, real) = (renditions::shown(&file.shown, names), member.real());
            (Named { shown, real }, read)
        }
    };
    read.map_err(|error| subject_error(&file, error))
}

/// Returns the soft error about an unreadable subject. The error has the name that the user gave.
pub(crate) fn subject_error(file: &Named, error: AskError) -> SoftError {
    let error = match error {
        AskError::Unreadable { source, .. } => source,
        other => io::Error::other(other),
    };
    SoftError::of_io(PathText::from(file.shown.as_path()), &error)
}

/// Returns the inode that a path leads to.
pub fn inode_of(path: &Path) -> Option<Inode> {
    let meta = std::fs::metadata(path).ok()?;
    Some(Inode {
        dev: meta.dev(),
        ino: meta.ino(),
    })
}

/// Reads standard input to its end and digests it.
pub fn digest_stdin(params: &Params, text: bool) -> CliResult<ReadSubject> {
    let failed = |source| CliError::File {
        verb: "read",
        path: PathBuf::from("-"),
        source,
    };
    let formats = formats(text);
    let part_reader = formats.as_ref().map(|formats| formats as &dyn PartReader);
    let mut stream = Stream::new(params, part_reader);
    let mut stdin = io::stdin().lock();
    let mut piece = vec![0; 1 << 18];
    loop {
        match stdin.read(&mut piece) {
            Ok(0) => return Ok(stream.finish()),
            Ok(count) => stream.update(&piece[..count]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(failed(error)),
        }
    }
}
