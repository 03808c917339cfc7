//! Performs steps 1 to 3 of making arrays. Postings are put into buckets, buckets are sorted into
//! lists, and lists are merged into parts.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use resemble_methods::MethodSignature;
use resemble_methods::arrays::layout::{id_width, offset_width};
use resemble_methods::arrays::sort::{Posting, radix_sort};
use resemble_methods::arrays::{Header, Merging, Parts};
use serde::{Deserialize, Serialize};

use super::{ArraysError, MappedParts};

/// The approximate number of postings in a bucket. They take 32 MiB, and sorting them takes another
/// 32 MiB.
const BUCKET: u64 = 1 << 22;

/// The maximum number of bucket files that are open at a time.
const MOST_BUCKETS: u64 = 256;

/// The values `from..to`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Range {
    pub(super) from: u64,
    pub(super) to: u64,
}

/// A part of the arrays that is to be made.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct PartJob {
    pub(super) range: Range,
    /// The buckets of the part in ascending order of their values, each with the name of its file.
    buckets: Vec<(Range, String)>,
    /// The name of the part's file.
    pub(super) name: String,
}

/// Everything that a process needs to know to make a part.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct BuildJob {
    params: String,
    bits: u8,
    /// The key of each document, and its number of chunks.
    documents: Vec<(u32, u32)>,
    /// The number that each document of the old state has in the new state.
    renumbered: Vec<u32>,
    /// The paths of the parts of the old state.
    old: Vec<PathBuf>,
    pub(super) parts: Vec<PartJob>,
}

/// A change of the arrays.
#[derive(Debug)]
pub struct ArraysUpdate<'a> {
    /// The number n of the method: the number of upper bits of a hash that are kept.
    pub bits: u8,
    /// The documents to add, each with its key. A document replaces a stored document that has the
    /// same key.
    pub new: &'a [(u32, &'a MethodSignature)],
    /// The number of processes that share the work. The new state has the same number of parts.
    pub shards: u32,
}

/// Cuts `from..to` into `count` ranges of about the same length.
pub(super) fn cut(from: u64, to: u64, count: u64) -> Vec<Range> {
    let count = count.clamp(1, (to - from).max(1));
    let at = |k: u64| from + (u128::from(to - from) * u128::from(k) / u128::from(count)) as u64;
    (0..count)
        .map(|k| Range {
            from: at(k),
            to: at(k + 1),
        })
        .collect()
}

/// Performs step 1: writes the postings of the new documents into buckets, each of which has a
/// range of values. The postings in a bucket are in the order of the documents. The names of the
/// new parts begin with `names`.
pub(super) fn prepare(
    work: &Path,
    params: &str,
    merging: &Merging,
    update: &ArraysUpdate<'_>,
    old: Vec<PathBuf>,
    names: &str,
) -> Result<BuildJob, ArraysError> {
    let ArraysUpdate { bits, new, shards } = *update;
    let postings: u64 = new
        .iter()
        .map(|(_, signature)| signature.occurrences())
        .sum();
    let ranges = cut(0, 1 << bits, u64::from(shards));
    let each = postings.div_ceil(BUCKET * ranges.len() as u64);
    let each = each.clamp(1, (MOST_BUCKETS / ranges.len() as u64).max(1));
    let mut jobs = Vec::new();
    for (number, range) in (0u32..).zip(ranges) {
        let cuts = cut(range.from, range.to, each).into_iter();
        let buckets = cuts
            .zip(0u32..)
            .map(|(cut, at)| (cut, format!("bucket-{number:03}-{at:03}")));
        jobs.push(PartJob {
            buckets: buckets.collect(),
            name: format!("{names}-{number:03}.arrays"),
            range,
        });
    }
    let buckets: Vec<(&Range, PathBuf)> = jobs
        .iter()
        .flat_map(|job| &job.buckets)
        .map(|(range, name)| (range, work.join(name)))
        .collect();
    let mut files = Vec::new();
    for (_, path) in &buckets {
        let file = File::create(path).map_err(ArraysError::io("make", path))?;
        files.push(BufWriter::with_capacity(1 << 16, file));
    }
    for ((_, signature), number) in new.iter().zip(&merging.new) {
        let mut at = 0;
        for entry in signature.entries() {
            // The values of a document ascend, so the search for the next bucket never goes back.
            while entry.value >= buckets[at].0.to && at + 1 < buckets.len() {
                at += 1;
            }
            let posting = u64::from(*number) << 32 | entry.value;
            for _ in 0..entry.count {
                let written = files[at].write_all(&posting.to_le_bytes());
                written.map_err(ArraysError::io("write", &buckets[at].1))?;
            }
        }
    }
    for (file, (_, path)) in files.into_iter().zip(&buckets) {
        let closed = file
            .into_inner()
            .map_err(std::io::IntoInnerError::into_error);
        drop(closed.map_err(ArraysError::io("write", path))?);
    }
    Ok(BuildJob {
        params: params.to_owned(),
        bits,
        documents: merging.documents.clone(),
        renumbered: merging.old.clone(),
        old,
        parts: jobs,
    })
}

fn postings(path: &Path) -> Result<Vec<Posting>, ArraysError> {
    let bytes = fs::read(path).map_err(ArraysError::io("read", path))?;
    let (postings, _) = bytes.as_chunks::<8>();
    Ok(postings
        .iter()
        .map(|bytes| u64::from_le_bytes(*bytes))
        .map(|posting| Posting {
            value: posting as u32,
            document: (posting >> 32) as u32,
        })
        .collect())
}

/// Performs steps 2 and 3 for one part: sorts its buckets one at a time and merges them with the
/// old lists.
pub(super) fn part(
    work: &Path,
    folder: &Path,
    job: &BuildJob,
    at: usize,
) -> Result<(), ArraysError> {
    let own = job.parts.get(at);
    let own = own.ok_or_else(|| ArraysError::Worker("there is no such part".to_owned()))?;
    let has_old = !job.old.is_empty();
    let old = has_old.then(|| MappedParts::open(&job.old)).transpose()?;
    let parts = old.as_ref().map(MappedParts::parts).transpose()?;
    for (part, path) in parts.iter().flat_map(Parts::parts).zip(&job.old) {
        let header = part.header();
        if header.from < own.range.to && own.range.from < header.to {
            part.verify().map_err(ArraysError::array(path))?;
        }
    }
    let entries: u64 = job
        .documents
        .iter()
        .map(|&(_, chunks)| u64::from(chunks))
        .sum();
    let header = Header {
        params: job.params.clone(),
        bits: job.bits,
        id_width: id_width(job.documents.len() as u64),
        // Offsets are wide enough for the entries of all parts together, so that parts can be
        // joined.
        offset_width: offset_width(entries),
        from: own.range.from,
        to: own.range.to,
        documents: job.documents.len() as u64,
        entries: 0,
        digests: [[0; 32]; 3],
    };
    let path = folder.join(&own.name);
    let mut writer = super::write::PartWriter::create(&path, header, &job.documents)?;
    let (mut list, mut coming) = (Vec::new(), Vec::new());
    for (range, name) in &own.buckets {
        let bucket = work.join(name);
        let mut sorted = postings(&bucket)?;
        radix_sort(&mut sorted);
        let mut rest = &sorted[..];
        for value in range.from..range.to {
            let here = rest
                .iter()
                .take_while(|posting| u64::from(posting.value) == value);
            coming.clear();
            coming.extend(here.map(|posting| posting.document));
            rest = &rest[coming.len()..];
            let Some(parts) = &parts else {
                writer.list(&coming)?;
                continue;
            };
            let ids = parts.part_of(value).list(value);
            let merged =
                ids.and_then(|ids| Merging::list(&job.renumbered, ids.iter(), &coming, &mut list));
            merged.map_err(ArraysError::array(folder))?;
            writer.list(&list)?;
        }
        drop(fs::remove_file(&bucket));
    }
    writer.finish()
}
