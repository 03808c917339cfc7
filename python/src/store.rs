//! `Index`: stores texts by key in the file of an index, with the samples by which they are found.
//!
//! In the index, a key is a file. Its text is a record that is named by the digest of its content.
//! So the text is available when a pair is measured, and all figures that are shown are proven.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use parking_lot::Mutex;
use pyo3::exceptions::{PyKeyError, PyValueError};
use pyo3::prelude::*;
use resemble_core::similarity::proof::Provable;
use resemble_core::{ContentDigest, Digest, Params, Score, StopFlag};
use resemble_index::{
    ApplyError, Change, ContentRef, ContentRow, FileStat, FsId, Index, NewState, OpenError,
    Options, ReadError, Snapshot, Timestamp,
};
use resemble_relate::AskError;
use resemble_relate::nominate::evidence::{FoundBy, NominationSettings, nominate};
use resemble_relate::parallel::ordered;

use crate::figures::{FigureRow, Figures, ScoreRule, order};
use crate::running::interruptibly;
use crate::texts::HeldText;
use crate::{Locked, error};

/// The total size, in bytes, at which added texts are written to the file.
const TOGETHER: usize = 16 << 20;

/// The folder whose files are the keys. It exists only in the index.
const FOLDER: &str = "/texts";

/// The beginning of the names of those records that are texts.
const RECORDS: &str = "text/";

/// A key, and the figures for its text and the text that is looked up.
type FoundRow = (String, FigureRow);

/// An index of texts in a file. The file has one writer or several readers at a time.
#[pyclass(module = "resemble", frozen, subclass)]
pub(crate) struct TextIndex {
    path: PathBuf,
    state: Mutex<State>,
}

enum State {
    Writing {
        index: Box<Index>,
        added: Vec<(String, Vec<u8>)>,
        bytes: usize,
    },
    Reading(Snapshot),
    Closed,
}

#[pymethods]
impl TextIndex {
    #[new]
    #[pyo3(signature = (path, *, readonly = false))]
    fn new(py: Python<'_>, path: PathBuf, readonly: bool) -> PyResult<Self> {
        let (params, options) = (Params::default(), Options::default());
        let state = py.detach(|| {
            // A file that is damaged, or that is not an index, may be somebody's only copy of some
            // texts. So it is not renamed and replaced by a new index.
            let is_there = std::fs::metadata(&path).is_ok_and(|meta| meta.len() > 0);
            if readonly || is_there {
                let snapshot = Index::last_commit(&path, &params, &options)?;
                if readonly {
                    return Ok(State::Reading(snapshot));
                }
            }
            let (index, _) = Index::open(&path, &params, &options)?;
            Ok(State::Writing {
                index: Box::new(index),
                added: Vec::new(),
                bytes: 0,
            })
        });
        let state = state.map_err(|failure| refusal(&failure))?;
        Ok(Self {
            path,
            state: Mutex::new(state),
        })
    }

    /// Adds a text under a key. If the key already has a text, that text is replaced.
    fn add(&self, py: Python<'_>, key: String, text: &Bound<'_, PyAny>) -> PyResult<()> {
        if key.is_empty() || key.len() > MAX_KEY {
            let sentence = format!("a key has 1 to {MAX_KEY} bytes, not {}", key.len());
            return Err(PyValueError::new_err(sentence));
        }
        let text = HeldText::of(text, || "the text".into())?;
        py.detach(|| {
            let mut state = self.state.lock();
            let State::Writing { added, bytes, .. } = &mut *state else {
                return Err(self.not_writing());
            };
            *bytes += text.bytes().len();
            added.push((key, text.bytes().to_vec()));
            if *bytes >= TOGETHER {
                state.flush().map_err(error)
            } else {
                Ok(())
            }
        })
    }

    /// Removes a key and its text.
    fn remove(&self, py: Python<'_>, key: &str) -> PyResult<()> {
        py.detach(|| {
            let mut state = self.state.lock();
            state.flush().map_err(error)?;
            let State::Writing { index, .. } = &*state else {
                return Err(self.not_writing());
            };
            let path = path_of(key);
            let snapshot = index.snapshot().map_err(error)?;
            let Some(old) = content_at(&snapshot, &path).map_err(error)? else {
                return Err(PyKeyError::new_err(key.to_owned()));
            };
            index.apply(vec![Change::Remove(path)]).map_err(error)?;
            forget_unused(index, [old.digest]).map_err(error)
        })
    }

    /// Returns the keys whose texts resemble this text, the best key first.
    #[pyo3(signature = (text, min = 0.7, *, score = "containment"))]
    fn find(
        &self,
        py: Python<'_>,
        text: &Bound<'_, PyAny>,
        min: f64,
        score: &str,
    ) -> PyResult<Vec<FoundRow>> {
        let rule = ScoreRule::of(min, score)?;
        let text = HeldText::of(text, || "the text".into())?;
        let snapshot = py.detach(|| self.snapshot())?;
        interruptibly(py, |stop| found(&snapshot, text.bytes(), rule, stop))
    }

    /// Writes the added texts and closes the file, so that others can open it.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| {
            let mut state = self.state.lock();
            state.flush().map_err(error)?;
            match std::mem::replace(&mut *state, State::Closed) {
                State::Writing { index, .. } => {
                    // `compact` does something only if the file has grown by half since it was last
                    // compacted.
                    index.compact().map_err(error)?;
                    index.close().map_err(error)
                }
                State::Reading(_) | State::Closed => Ok(()),
            }
        })
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        let snapshot = py.detach(|| self.snapshot())?;
        Ok(snapshot.totals().map_err(error)?.files as usize)
    }

    fn __enter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    #[pyo3(signature = (*_error))]
    fn __exit__(&self, py: Python<'_>, _error: &Bound<'_, PyAny>) -> PyResult<()> {
        self.close(py)
    }
}

/// The maximum number of bytes of a key.
const MAX_KEY: usize = 1024;

impl TextIndex {
    /// Returns a snapshot that has all texts that were added.
    fn snapshot(&self) -> PyResult<Snapshot> {
        let mut state = self.state.lock();
        state.flush().map_err(error)?;
        match &*state {
            State::Writing { index, .. } => index.snapshot().map_err(error),
            State::Reading(snapshot) => Ok(snapshot.clone()),
            State::Closed => Err(self.closed()),
        }
    }

    fn closed(&self) -> PyErr {
        error(format!("the index {} is closed", self.path.display()))
    }

    fn not_writing(&self) -> PyErr {
        let path = self.path.display();
        error(format!("the index {path} is closed or open for reading"))
    }
}

impl Drop for TextIndex {
    fn drop(&mut self) {
        // An error cannot be reported when a value is dropped. `close` would report it.
        self.state.get_mut().flush().ok();
    }
}

impl State {
    /// Writes the texts that were added since the last flush. The texts are written before the keys
    /// that refer to them.
    fn flush(&mut self) -> Result<(), ApplyError> {
        let Self::Writing {
            index,
            added,
            bytes,
        } = self
        else {
            return Ok(());
        };
        if added.is_empty() {
            return Ok(());
        }
        *bytes = 0;
        // If several texts were added under one key, only the last one is written.
        let last: HashMap<String, Vec<u8>> = std::mem::take(added).into_iter().collect();
        let mut texts: Vec<(String, Vec<u8>)> = last.into_iter().collect();
        texts.sort_unstable();
        let params = *index.params();
        let digest = |at: usize, (): &mut ()| {
            Ok::<_, ApplyError>(Box::new(Digest::of(&texts[at].1, &params)))
        };
        let digests = ordered(texts.len(), || (), digest)?;
        let named = digests.iter().map(|digest| record_name(&digest.content));
        let named: Vec<String> = named.collect();
        let records = named.iter().zip(&texts);
        let records: Vec<_> = records
            .map(|(name, (_, text))| (&**name, Some(&**text)))
            .collect();
        index.put_records(&records)?;
        let snapshot = index.snapshot()?;
        let fs = FsId("texts".into());
        let free = snapshot.free_inode(&fs)?;
        let (mut changes, mut replaced) = (Vec::new(), Vec::new());
        for (ino, ((key, _), digest)) in (free.max(1)..).zip(texts.iter().zip(digests)) {
            let path = path_of(key);
            replaced.extend(content_at(&snapshot, &path)?.map(|row| row.digest));
            let stat = FileStat {
                fs: fs.clone(),
                ino,
                size: digest.size,
                mtime: Timestamp::default(),
                ctime: Timestamp::default(),
                nlink: 1,
            };
            let state = NewState::Settled(ContentRef::New(digest));
            changes.push(Change::File { path, stat, state });
        }
        index.apply(changes)?;
        forget_unused(index, replaced)
    }
}

/// Removes the texts in this list to which no key refers any more.
fn forget_unused(
    index: &Index,
    digests: impl IntoIterator<Item = ContentDigest>,
) -> Result<(), ApplyError> {
    let snapshot = index.snapshot()?;
    let mut unused = Vec::new();
    for digest in digests {
        if snapshot.content_by_digest(&digest)?.is_none() {
            unused.push(record_name(&digest));
        }
    }
    let records: Vec<(&str, Option<&[u8]>)> = unused.iter().map(|name| (&**name, None)).collect();
    if records.is_empty() {
        Ok(())
    } else {
        index.put_records(&records)
    }
}

fn found(
    snapshot: &Snapshot,
    text: &[u8],
    rule: ScoreRule,
    stop: &StopFlag,
) -> Result<Vec<FoundRow>, AskError> {
    let digest = Digest::of(text, snapshot.params());
    let subject = FoundBy {
        sketch: digest.sketch(),
        besides: &digest.besides,
    };
    let few = digest.signature.fingerprints.len() < FEW;
    let nominees = nominate(snapshot, subject, None, NominationSettings::default())?.all;
    let candidates = nominees.into_iter().filter(|nominee| {
        nominee.common.is_candidate()
            || nominee.besides >= 2
            || few && nominee.common.fingerprints > 0
    });
    let mut contents: Vec<_> = candidates.map(|nominee| nominee.content).collect();
    contents.extend(snapshot.content_by_digest(&digest.content)?);
    contents.sort_unstable();
    contents.dedup();
    let own = Provable::new(digest.kind, text.to_vec());
    let measured = ordered(
        contents.len(),
        || (),
        |at, ()| {
            stop.go_on()?;
            let Some(row) = snapshot.content(contents[at])? else {
                return Ok(None);
            };
            let figures = if row.digest == digest.content {
                Figures::identical(row.size, row.kind)
            } else {
                let Some(other) = snapshot.record(&record_name(&row.digest))? else {
                    return Ok(None);
                };
                Figures::of(&own, &Provable::new(row.kind, other))
            };
            Ok::<_, AskError>(rule.passed(&figures).map(|score| (row, score, figures)))
        },
    )?;
    let mut rows: Vec<(String, Score, Figures)> = Vec::new();
    for (row, score, figures) in measured.into_iter().flatten() {
        for file in snapshot.files_of(row.id)? {
            let keys = snapshot.paths(file)?;
            rows.extend(
                keys.iter()
                    .map(|path| (key_of(path), score, figures.clone())),
            );
        }
    }
    rows.sort_unstable_by(|a, b| order((a.1, &a.2, &a.0), (b.1, &b.2, &b.0)));
    let rows = rows.into_iter();
    Ok(rows
        .map(|(key, score, figures)| (key, figures.row(Some(score))))
        .collect())
}

/// If a text has fewer samples than this, it is compared with all texts that have at least one of
/// these samples.
const FEW: usize = 8;

/// Returns the content of the file at a path.
fn content_at(snapshot: &Snapshot, path: &Path) -> Result<Option<ContentRow>, ReadError> {
    let content = snapshot.file_at(path)?.and_then(|row| row.state.content());
    content.map_or(Ok(None), |content| snapshot.content(content))
}

fn record_name(digest: &ContentDigest) -> String {
    format!("{RECORDS}{digest}")
}

/// Returns the path of a key in the index. The name begins with `k`. Characters that cannot be in a
/// name, and the escape sign `%`, are written in hexadecimal.
fn path_of(key: &str) -> PathBuf {
    let mut path = format!("{FOLDER}/k");
    for c in key.chars() {
        match c {
            '/' => path.push_str("%2f"),
            '%' => path.push_str("%25"),
            '\0' => path.push_str("%00"),
            c => path.push(c),
        }
    }
    path.into()
}

/// Returns the key of a path.
fn key_of(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let key = name.strip_prefix('k').unwrap_or(&name);
    key.replace("%2f", "/")
        .replace("%00", "\0")
        .replace("%25", "%")
}

/// Returns the error about an index that cannot be opened. The texts of the index may exist nowhere
/// else, so the file is not removed.
fn refusal(failure: &OpenError) -> PyErr {
    match failure {
        OpenError::InUse { path } => {
            let path = path.display();
            let sentence = format!("the index {path} is open elsewhere: close it there first");
            Locked::new_err(sentence)
        }
        OpenError::Damaged { path, reason } => {
            let path = path.display();
            error(format!(
                "{path} is no index of texts that can be used: {reason}"
            ))
        }
        other => error(other),
    }
}
