//! Exports the signatures of a folder to one file, so that questions need no other file of the
//! folder.
//!
//! The paper of Broder et al. 1997, section 3, says: "the sketch … suffices; the original documents
//! are not needed".
//!
//! ```text
//! {"sketches":1,"params":"shingle.…"}                                a line of JSON
//! {"path":"a/b","size":3,"kind":"text","digest":"…","sketch":"…"}    one for each file
//! ```
//!
//! The sketch is an encoded signature in base64. An empty file has no sketch. To answer a question,
//! the lines are loaded into an index in memory. There, the path of each file is below the path of
//! the export. The export is not a folder, so the kernel refuses to open such a path. The
//! signatures are put into the cache of that index, so each question is answered like one about a
//! folder.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Component, Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use resemble_core::digest::ChunkList;
use resemble_core::ids::unhex;
use resemble_core::sample::Signature;
use resemble_core::{ByteLen, ContentDigest, ContentId, ContentKind, Digest, Params};
use resemble_index::{Change, ContentRef, FileStat, FsId, Index, NewState, Timestamp};
use resemble_methods::MethodSignature;
use resemble_proto::message::WireKind;
use resemble_proto::path::PathText;
use serde::{Deserialize, Serialize};

use crate::error::ExportError;

use super::cache::{CachedSignatures, NewSignature, SignatureCache};

/// The start of the first line.
const HEAD: &[u8] = b"{\"sketches\":";

/// The version of the format.
const VERSION: u32 = 1;

/// The first line, which names the parameters.
#[derive(Serialize, Deserialize)]
struct ExportHead {
    sketches: u32,
    params: String,
}

/// A line about a file.
#[derive(Serialize, Deserialize)]
struct ExportedFile {
    path: PathText,
    size: u64,
    #[serde(with = "WireKind")]
    kind: ContentKind,
    digest: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sketch: Option<String>,
}

/// Returns the first line of an export.
pub(super) fn head(params: &str) -> String {
    line(&ExportHead {
        sketches: VERSION,
        params: params.to_owned(),
    })
}

/// Returns the line about a file.
pub(super) fn file(
    path: &Path,
    (size, kind, digest): (u64, ContentKind, ContentDigest),
    signature: Option<&MethodSignature>,
) -> String {
    line(&ExportedFile {
        path: PathText::from(path),
        size,
        kind,
        digest: digest.to_string(),
        sketch: signature.map(|signature| STANDARD.encode(signature.encode())),
    })
}

fn line(value: &impl Serialize) -> String {
    // These types are texts and numbers, which JSON can always write.
    let mut line = serde_json::to_string(value).unwrap_or_default();
    line.push('\n');
    line
}

/// Returns whether a file is an export. Only its first bytes are read.
pub fn is_export(path: &Path) -> bool {
    let mut head = Vec::new();
    let is_file = path.is_file();
    let file = is_file.then(|| File::open(path)).and_then(Result::ok);
    let read = file.map(|file| file.take(HEAD.len() as u64).read_to_end(&mut head));
    read.is_some_and(|read| read.is_ok()) && head == HEAD
}

/// The exports of a question, loaded into an index.
#[derive(Debug)]
pub struct Exported {
    index: Index,
    /// The paths of the exports, with the params ids of their sketches.
    params: Vec<(PathBuf, String)>,
}

impl Exported {
    /// Reads exports by their real paths.
    ///
    /// # Errors
    ///
    /// Fails if an export cannot be read or is damaged.
    pub fn read(paths: &[&Path]) -> Result<Self, ExportError> {
        let failed = |path: &Path, what: String| ExportError::Index {
            path: path.to_owned(),
            what,
        };
        let first = paths.first().copied().unwrap_or(Path::new(""));
        let index = Index::in_memory(&Params::default())
            .map_err(|error| failed(first, error.to_string()))?;
        let mut exported = Self {
            index,
            params: Vec::new(),
        };
        let mut number = 0;
        for path in paths {
            exported.load(path, &mut number)?;
        }
        Ok(exported)
    }

    /// Returns the index with the files of the exports.
    pub const fn index(&self) -> &Index {
        &self.index
    }

    /// Checks that the exports have sketches with the parameters of a question.
    ///
    /// # Errors
    ///
    /// Fails if an export has sketches with other parameters.
    pub fn check(&self, asked: &str) -> Result<(), ExportError> {
        let other = self.params.iter().find(|(_, kept)| kept != asked);
        other.map_or(Ok(()), |(path, kept)| {
            Err(ExportError::OtherParams {
                path: path.clone(),
                kept: kept.clone(),
                asked: asked.to_owned(),
            })
        })
    }

    fn load(&mut self, path: &Path, number: &mut u64) -> Result<(), ExportError> {
        let unread = |source| ExportError::Read {
            path: path.to_owned(),
            source,
        };
        let mut lines = BufReader::new(File::open(path).map_err(unread)?).lines();
        let fault = |line: usize, what: String| ExportError::Line {
            path: path.to_owned(),
            line,
            what,
        };
        let first = lines.next().transpose().map_err(unread)?;
        let head: ExportHead = serde_json::from_str(&first.unwrap_or_default())
            .map_err(|error| fault(1, error.to_string()))?;
        if head.sketches != VERSION {
            return Err(fault(1, format!("its version is {}", head.sketches)));
        }
        let (mut changes, mut sketches) = (vec![Change::Dir(path.to_owned())], Vec::new());
        for (at, text) in (2..).zip(lines) {
            let text = text.map_err(unread)?;
            let file: ExportedFile =
                serde_json::from_str(&text).map_err(|error| fault(at, error.to_string()))?;
            *number += 1;
            let (change, sketch) =
                loaded(path, file, *number).map_err(|what| fault(at, what.to_owned()))?;
            changes.push(change);
            sketches.push(sketch);
        }
        let failed = |what: String| ExportError::Index {
            path: path.to_owned(),
            what,
        };
        let applied = self.index.apply(changes);
        let applied = applied.map_err(|error| failed(error.to_string()))?;
        let snapshot = self.index.snapshot();
        let snapshot = snapshot.map_err(|error| failed(error.to_string()))?;
        let cache = SignatureCache::in_index(&self.index);
        let contents = applied.contents.iter().zip(sketches);
        let new = contents.filter_map(|(file, sketch)| {
            let content: ContentId = file.content?;
            Some(NewSignature {
                content,
                signature: sketch?,
            })
        });
        CachedSignatures::new(&snapshot, head.params.clone(), cache).store(new.collect());
        self.params.push((path.to_owned(), head.params));
        Ok(())
    }
}

/// Returns the change that adds a file to the index. Also returns the encoded signature of the
/// file, if the file has a signature.
fn loaded(
    root: &Path,
    file: ExportedFile,
    number: u64,
) -> Result<(Change, Option<Vec<u8>>), &'static str> {
    let below = file.path.as_path();
    let is_plain = |part: Component<'_>| matches!(part, Component::Normal(_));
    if below.as_os_str().is_empty() || !below.components().all(is_plain) {
        return Err("its path leads elsewhere");
    }
    let content = unhex(&file.digest).ok_or("its digest is no digest")?;
    let sketch = file.sketch.map(|text| {
        let bytes = STANDARD.decode(text).ok();
        bytes.filter(|bytes| MethodSignature::decode(bytes).is_ok())
    });
    if sketch.as_ref().is_some_and(Option::is_none) {
        return Err("its sketch is damaged");
    }
    let digest = Digest {
        content: ContentDigest(content),
        size: ByteLen(file.size),
        kind: file.kind,
        chunks: ChunkList::default(),
        signature: Signature {
            level: 0,
            fingerprints: Vec::new(),
            repeats: None,
        },
        besides: Vec::new(),
        words: None,
    };
    let change = Change::File {
        path: root.join(below),
        stat: FileStat {
            fs: FsId("export".into()),
            ino: number,
            size: ByteLen(file.size),
            mtime: Timestamp::default(),
            ctime: Timestamp::default(),
            nlink: 1,
        },
        state: NewState::Settled(ContentRef::New(Box::new(digest))),
    };
    Ok((change, sketch.flatten()))
}
