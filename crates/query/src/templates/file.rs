//! The file of the templates.
//!
//! The file is JSON, so that a person can read and repair it. It has a version, so that the file of
//! a newer program is not taken for a damaged one. It is replaced by a rename: a reader sees the
//! old or the new file, and a full disk damages nothing. Its mode is 0600, as for all files of the
//! state. Writers hold a lock on another file in the same folder, because the daemon and several
//! commands may mark at the same time. A file that cannot be parsed is never overwritten.

use std::fmt::Write as _;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use resemble_core::similarity::Template;
use resemble_core::{ChunkHash, Fingerprint};
use resemble_index::ReadError;
use resemble_proto::message::{TemplateRow, reason};
use resemble_proto::number::Fraction;
use resemble_proto::places::{self, PlaceError};
use resemble_relate::AskError;
use serde::{Deserialize, Serialize};

/// The name of the file in the state folder.
pub const FILE_NAME: &str = "templates.json";
/// The version that is written. The first version, whose templates have no shingles, can also be
/// read.
const FORMAT: u32 = 2;
/// Larger files are refused, because no list of templates is that large.
const LARGEST: u64 = 256 << 20;

/// A failure to mark, unmark or list templates.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TemplateError {
    /// The file cannot be parsed.
    #[error(
        "the templates in {} cannot be understood ({reason}) and are not used; mend the file or \
         move it away",
        .path.display()
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The error in it.
        reason: String,
    },
    /// The file has a newer format.
    #[error(
        "the templates in {} were written by a newer version of resemble (format {found}) and are \
         not used",
        .path.display()
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// The format of the file.
        found: u64,
    },
    /// The file cannot be read or written.
    #[error("cannot {verb} the templates in {}: {}", .path.display(), reason(.source))]
    Io {
        /// `read` or `write`.
        verb: &'static str,
        /// The file.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// The state folder is not available.
    #[error(transparent)]
    Place(#[from] PlaceError),
    /// No folder was named, and there is no default.
    #[error("no place for templates: HOME is not set; name a folder with --state")]
    NoPlace,
    /// There is nothing to mark.
    #[error("the files ({files}) have nothing in common that is not a template already")]
    Nothing {
        /// The number of distinct contents.
        files: usize,
    },
    /// No file was named.
    #[error("name a cluster or at least one file")]
    NoFiles,
    /// There is no such cluster.
    #[error("no cluster has the id {0:?}; `resemble groups` lists them")]
    NoCluster(String),
    /// A file is not in the index.
    #[error(
        "{} is not in the index (yet): there is no such file, or it could not be read",
        .0.display()
    )]
    NotIndexed(PathBuf),
    /// The name is already in use.
    #[error("there is a template called {0:?} already")]
    NameTaken(String),
    /// There is no such template.
    #[error("no template is called {0:?}; `resemble templates list` lists them")]
    Unknown(String),
    /// The groups could not be computed, or the question was cancelled.
    #[error(transparent)]
    Ask(#[from] AskError),
    /// The index cannot be read.
    #[error(transparent)]
    Index(#[from] ReadError),
}

impl From<TemplateError> for AskError {
    fn from(error: TemplateError) -> Self {
        match error {
            TemplateError::Ask(error) => error,
            TemplateError::Index(error) => error.into(),
            other => Self::Refused(other.to_string()),
        }
    }
}

/// A template as stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TemplateRecord {
    pub(super) name: Option<String>,
    /// The id of the chunking and sampling parameters with which the pieces were made.
    pub(super) params: String,
    pub(super) files: u64,
    pub(super) share: Fraction,
    pub(super) taken: Fraction,
    pub(super) pieces: Template,
}

impl TemplateRecord {
    /// Returns the id. It depends only on the pieces and their parameters.
    pub(super) fn id(&self) -> String {
        let mut text = self.params.clone();
        for (hash, len) in &self.pieces.chunks {
            // Writing to a string does not fail.
            write!(text, " {hash}:{len}").unwrap_or_default();
        }
        for fingerprint in &self.pieces.fingerprints {
            write!(text, " {:08x}", fingerprint.0).unwrap_or_default();
        }
        for shingle in &self.pieces.shingles {
            write!(text, " {shingle:016x}").unwrap_or_default();
        }
        let digest = resemble_core::hash::content::digest(text.as_bytes());
        digest.to_string()[..12].to_owned()
    }

    /// Returns the row of the template; `params` are those of the index.
    pub(super) fn row(&self, params: &str) -> TemplateRow {
        TemplateRow {
            id: self.id(),
            name: self.name.clone(),
            files: self.files,
            share: self.share,
            template: self.taken,
            chunks: self.pieces.chunks.len() as u64,
            bytes: self.pieces.bytes().get(),
            fingerprints: self.pieces.fingerprints.len() as u64,
            shingles: self.pieces.shingles.len() as u64,
            ignored: self.params != params,
        }
    }
}

/// The part of the file that is read first: its format.
#[derive(Deserialize)]
struct Version {
    format: u64,
}

#[derive(Serialize, Deserialize)]
struct Document {
    format: u32,
    templates: Vec<WrittenTemplates>,
}

#[derive(Serialize, Deserialize)]
struct WrittenTemplates {
    /// The id is written for people and never read.
    #[serde(default)]
    id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    params: String,
    files: u64,
    share: Fraction,
    template: Fraction,
    /// Each chunk as `MD5:length`.
    chunks: Vec<String>,
    /// Each fingerprint as 32 bits in hexadecimal.
    fingerprints: Vec<String>,
    /// Each shingle as 64 bits in hexadecimal.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    shingles: Vec<String>,
}

impl From<&TemplateRecord> for WrittenTemplates {
    fn from(record: &TemplateRecord) -> Self {
        let pieces = &record.pieces;
        Self {
            id: record.id(),
            name: record.name.clone(),
            params: record.params.clone(),
            files: record.files,
            share: record.share,
            template: record.taken,
            chunks: pieces
                .chunks
                .iter()
                .map(|(hash, len)| format!("{hash}:{len}"))
                .collect(),
            fingerprints: pieces
                .fingerprints
                .iter()
                .map(|f| format!("{:08x}", f.0))
                .collect(),
            shingles: pieces
                .shingles
                .iter()
                .map(|s| format!("{s:016x}"))
                .collect(),
        }
    }
}

impl TryFrom<WrittenTemplates> for TemplateRecord {
    type Error = String;

    fn try_from(written: WrittenTemplates) -> Result<Self, String> {
        let mut chunks = Vec::with_capacity(written.chunks.len());
        for text in &written.chunks {
            chunks.push(chunk(text).ok_or_else(|| format!("{text:?} is no chunk"))?);
        }
        let mut fingerprints = Vec::with_capacity(written.fingerprints.len());
        for text in &written.fingerprints {
            let value = u64::from_str_radix(text, 16).ok();
            let value = value.filter(|value| value >> 32 == 0);
            fingerprints.push(Fingerprint(
                value.ok_or_else(|| format!("{text:?} is no fingerprint"))?,
            ));
        }
        chunks.sort_unstable();
        chunks.dedup();
        fingerprints.sort_unstable();
        fingerprints.dedup();
        let mut shingles = Vec::with_capacity(written.shingles.len());
        for text in &written.shingles {
            let value = u64::from_str_radix(text, 16).ok();
            shingles.push(value.ok_or_else(|| format!("{text:?} is no run of words"))?);
        }
        shingles.sort_unstable();
        shingles.dedup();
        Ok(Self {
            name: written.name,
            params: written.params,
            files: written.files,
            share: written.share,
            taken: written.template,
            pieces: Template {
                chunks,
                fingerprints,
                shingles,
            },
        })
    }
}

fn chunk(text: &str) -> Option<(ChunkHash, u32)> {
    let (hash, len) = text.split_once(':')?;
    if hash.len() != 32 || !hash.is_ascii() {
        return None;
    }
    let mut bytes = [0; 16];
    for (at, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&hash[2 * at..2 * at + 2], 16).ok()?;
    }
    Some((ChunkHash(bytes), len.parse().ok()?))
}

/// Reads the templates in the file. A missing file has no templates.
pub(super) fn read(path: &Path) -> Result<Vec<TemplateRecord>, TemplateError> {
    let io = |source| TemplateError::Io {
        verb: "read",
        path: path.to_owned(),
        source,
    };
    // A FIFO in place of the file must not block the reader.
    let opened = OpenOptions::new()
        .read(true)
        .custom_flags(rustix::fs::OFlags::NONBLOCK.bits() as i32)
        .open(path);
    let file = match opened {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(io(error)),
    };
    let damaged = |reason: String| TemplateError::Damaged {
        path: path.to_owned(),
        reason,
    };
    let meta = file.metadata().map_err(io)?;
    if !meta.is_file() || meta.len() > LARGEST {
        return Err(damaged("it is no file of ours".to_owned()));
    }
    let mut bytes = Vec::new();
    file.take(LARGEST).read_to_end(&mut bytes).map_err(io)?;
    let version: Version = serde_json::from_slice(&bytes).map_err(|e| damaged(e.to_string()))?;
    if version.format > u64::from(FORMAT) {
        return Err(TemplateError::Newer {
            path: path.to_owned(),
            found: version.format,
        });
    }
    let document: Document = serde_json::from_slice(&bytes).map_err(|e| damaged(e.to_string()))?;
    document
        .templates
        .into_iter()
        .map(|written| TemplateRecord::try_from(written).map_err(damaged))
        .collect()
}

/// Changes the templates in the file. Creates the file and its folder if they do not exist.
pub(super) fn change<T>(
    path: &Path,
    work: impl FnOnce(&mut Vec<TemplateRecord>) -> Result<T, TemplateError>,
) -> Result<T, TemplateError> {
    let io = |source| TemplateError::Io {
        verb: "write",
        path: path.to_owned(),
        source,
    };
    let folder = path.parent().unwrap_or(Path::new("."));
    places::private_dir(folder, rustix::process::geteuid().as_raw())?;
    let lock = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(path.with_extension("lock"))
        .map_err(io)?;
    lock.lock().map_err(io)?;
    let mut records = read(path)?;
    let done = work(&mut records)?;
    write(path, &records).map_err(io)?;
    drop(lock);
    Ok(done)
}

fn write(path: &Path, records: &[TemplateRecord]) -> io::Result<()> {
    let document = Document {
        format: FORMAT,
        templates: records.iter().map(WrittenTemplates::from).collect(),
    };
    let new = path.with_extension("json.new");
    // A killed writer may have left this file. The lock ensures that no other process has it open.
    match fs::remove_file(&new) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&new)?;
    let mut bytes = serde_json::to_vec_pretty(&document)?;
    bytes.push(b'\n');
    if bytes.len() as u64 > LARGEST {
        return Err(io::Error::other("they are too many"));
    }
    file.write_all(&bytes)?;
    file.sync_all()?;
    drop(file);
    fs::rename(&new, path)?;
    // The rename is durable only after the folder is written to the disk.
    File::open(path.parent().unwrap_or(Path::new(".")))?.sync_all()
}
