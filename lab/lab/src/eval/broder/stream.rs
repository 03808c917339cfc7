//! Reads a folder with any number of texts. At most a few thousand sketches are in memory at a
//! time, unless a single folder has more files.

use std::fs;
use std::path::{Path, PathBuf};

use resemble_core::ContentKind;
use resemble_core::hash::content::digest;
use resemble_methods::Feature;
use resemble_methods::shingle::{ShingleParams, Shingling};
use resemble_methods::{MethodParams, Scheme, Selector};
use resemble_relate::parallel::{in_parallel, ordered};
use resemble_relate::{AskError, bytes_of};

use super::super::Meters;
use super::super::made::MadeTexts;
use super::{Stage, TakeDocument, timed};
use crate::error::LabError;
use crate::error::PhaseError;
use crate::phases::SketchedDocument;

/// The approximate number of files that are listed before they are read.
const BLOCK: usize = 1 << 12;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct FolderTotals {
    /// The number of texts.
    pub(super) documents: u64,
    /// The size of the texts in bytes.
    pub(super) bytes: u64,
    /// The size in bytes of the names of the texts, relative to the folder.
    pub(super) names: u64,
    /// The number of files that are empty, are not text, or cannot be read.
    pub(super) others: u64,
}

/// Sketches the texts below a folder, and passes each path with its sketch to `take`. The files of
/// a folder are passed in the order of their names, before the files of its subfolders.
pub(super) fn documents(
    folder: &Path,
    params: &MethodParams,
    take: TakeDocument<'_>,
) -> Result<FolderTotals, LabError> {
    let Scheme::Shingle(shingles) = &params.scheme else {
        return Err(PhaseError::NoShingles.into());
    };
    let mut totals = FolderTotals::default();
    let mut waiting = vec![folder.to_owned()];
    let mut files = Vec::new();
    let mut is_first = true;
    while let Some(dir) = waiting.pop() {
        let entries = match fs::read_dir(&dir) {
            Err(source) if is_first => {
                return Err(AskError::Unreadable { path: dir, source }.into());
            }
            Err(_) => continue,
            Ok(entries) => entries,
        };
        is_first = false;
        let (mut dirs, mut here) = (Vec::new(), Vec::new());
        for entry in entries.flatten() {
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => dirs.push(entry.path()),
                Ok(kind) if kind.is_file() => here.push(entry.path()),
                _ => {}
            }
        }
        here.sort_unstable();
        files.append(&mut here);
        // The folders are sorted in reverse order, because the next folder is taken from the end of
        // the list.
        dirs.sort_unstable_by(|a, b| b.cmp(a));
        waiting.append(&mut dirs);
        if files.len() >= BLOCK {
            block(folder, params, shingles, &files, &mut totals, take)?;
            files.clear();
        }
    }
    block(folder, params, shingles, &files, &mut totals, take)?;
    Ok(totals)
}

/// Sketches synthetic texts. The time that making the texts takes is added to `making`.
pub(super) fn made(
    texts: &MadeTexts,
    documents: u32,
    params: &MethodParams,
    (meters, making): (&Meters<'_>, &mut Stage),
    take: TakeDocument<'_>,
) -> Result<FolderTotals, LabError> {
    let Scheme::Shingle(shingles) = &params.scheme else {
        return Err(PhaseError::NoShingles.into());
    };
    let mut totals = FolderTotals::default();
    for from in (0..documents).step_by(BLOCK) {
        let count = (documents - from).min(BLOCK as u32) as usize;
        let pages = timed(meters, making, || {
            let page = |at: usize, (): &mut ()| Ok(texts.page(from + at as u32));
            ordered::<_, _, LabError>(count, || (), page)
        })?;
        let sketch = |at: usize, sketcher: &mut Sketcher| Ok(sketcher.document(&pages[at]));
        let sketched = ordered::<_, _, LabError>(count, || Sketcher::new(params, shingles), sketch);
        for document in sketched? {
            totals.documents += 1;
            totals.bytes += document.size;
            take(Path::new(""), &document)?;
        }
    }
    Ok(totals)
}

/// Computes the sketches of texts, one text after the other.
struct Sketcher {
    shingling: Shingling,
    selector: Selector,
}

impl Sketcher {
    fn new(params: &MethodParams, shingles: &ShingleParams) -> Self {
        Self {
            shingling: Shingling::new(shingles),
            selector: Selector::new(params),
        }
    }

    fn document(&mut self, bytes: &[u8]) -> SketchedDocument {
        let Self {
            shingling,
            selector,
        } = self;
        shingling.update(bytes, |shingle| selector.push(Feature::of(shingle)));
        let words = shingling.finish(|shingle| selector.push(Feature::of(shingle)));
        SketchedDocument {
            content: digest(bytes),
            words,
            size: bytes.len() as u64,
            sketch: selector.take(),
        }
    }
}

fn block(
    folder: &Path,
    params: &MethodParams,
    shingles: &ShingleParams,
    files: &[PathBuf],
    totals: &mut FolderTotals,
    take: TakeDocument<'_>,
) -> Result<(), LabError> {
    let made = in_parallel(
        files.len(),
        || (Sketcher::new(params, shingles), Vec::new()),
        |at, (sketcher, made)| {
            let Ok(bytes) = bytes_of(&files[at]) else {
                return Ok(());
            };
            if ContentKind::of(&bytes) == ContentKind::Text {
                made.push((at, sketcher.document(&bytes)));
            }
            Ok::<_, LabError>(())
        },
    )?;
    let mut documents: Vec<(usize, SketchedDocument)> =
        made.into_iter().flat_map(|(_, made)| made).collect();
    documents.sort_unstable_by_key(|&(at, _)| at);
    totals.others += (files.len() - documents.len()) as u64;
    for (at, document) in documents {
        totals.documents += 1;
        totals.bytes += document.size;
        let name = files[at].strip_prefix(folder).unwrap_or(&files[at]);
        totals.names += name.as_os_str().len() as u64;
        take(&files[at], &document)?;
    }
    Ok(())
}
