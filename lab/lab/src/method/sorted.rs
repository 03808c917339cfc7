//! The method sorted5: answers questions from two arrays ([`crate::arrays`]).
//!
//! The arrays have all contents that a question was about, if the index still has them. The figure
//! of a pair does not depend on other files, so a question skips contents outside its scope. A
//! question merges its new contents into the arrays. The same merge removes contents that the index
//! no longer has.
//!
//! 1. **A file that has just changed** has a content that the index does not know. This content is
//!    never put into the arrays. Its signature is compared separately.
//! 2. **Without the arrays the answer is the same.** If the arrays have no folder or are damaged,
//!    signatures are compared as for every other method. With `--no-cache` no file may remain.
//!    Arrays are then made in a temporary folder, and only in two cases: if several processes share
//!    the work, or if there are many documents. If several processes cannot use such arrays, the
//!    question fails.
//! 3. **Contents in the arrays need no signature.** The arrays have the chunks of each document,
//!    and the number of these chunks. So a question without new contents needs no signature of a
//!    content in its scope.
//! 4. **Arrays belong to one index**, which assigns the ids of contents. A record in the index
//!    holds the name of the index. Arrays that were made for another index are not used.

use std::collections::{HashMap, HashSet};

use resemble_core::ContentId;
use resemble_index::ContentRow;
use resemble_methods::arrays::Counter;
use resemble_methods::judged::Overlap;
use resemble_methods::sorted5::{overlap, overlap_of_sorted};
use resemble_methods::{Features, Method, MethodParams, MethodSignature, Scheme};
use resemble_proto::message::SoftError;
use resemble_relate::bytes_of;
use tempfile::TempDir;

use super::all_pairs::{FoundPairs, ScoredPair, equal};
use super::signed::{self, Signed};
use super::{MethodContext, PairScores, RowThreshold};
use crate::arrays::{
    ArraysError, ArraysFolder, ArraysUpdate, CommonChunks, MappedParts, pairs_in_shards,
};
use crate::error::LabError;

/// The least number of files for which arrays save time in a single comparison of all files with
/// each other.
const MANY: usize = 1000;

/// The maximum number of attempts to update the arrays. An attempt fails if another question
/// replaces the arrays meanwhile.
const TRIES: usize = 3;

/// The open arrays, and the documents in them.
struct OpenArrays {
    set: MappedParts,
    /// The number of each document in the arrays, and its number of chunks, by the document's key.
    numbers: HashMap<u32, (u32, u32)>,
}

impl OpenArrays {
    fn of(set: MappedParts) -> Result<Self, LabError> {
        let parts = set.parts()?;
        let documents = (0u32..).zip(parts.documents().iter());
        let numbers = documents
            .map(|(number, (key, chunks))| (key, (number, chunks)))
            .collect();
        drop(parts);
        Ok(Self { set, numbers })
    }
}

/// The folder of the arrays for a question.
struct ArraysPlace {
    folder: ArraysFolder,
    /// Removes the folder after the answer, if it is only for this answer.
    _temporary: Option<TempDir>,
    /// True if the question fails without the arrays, because the user asked for several processes.
    is_needed: bool,
}

impl ArraysPlace {
    /// Returns the error if the arrays are needed. Otherwise returns `Ok(None)`, so that the
    /// question is answered without the arrays.
    fn without<T>(&self, error: ArraysError) -> Result<Option<T>, LabError> {
        if self.is_needed {
            return Err(error.into());
        }
        tracing::warn!(%error, "sorted5 answers without its arrays");
        if error.is_damage() {
            self.folder.forget();
        }
        Ok(None)
    }
}

/// Returns the folder of the arrays for a question, or `None` if no arrays are used. If no file may
/// remain, arrays are made only for several processes, or to compare many documents with each
/// other.
fn place(
    context: &MethodContext<'_>,
    each_with_each: bool,
) -> Result<Option<ArraysPlace>, LabError> {
    if context.params.method() != Method::Sorted5 {
        return Ok(None);
    }
    let (folder, stays) = context.cache.folder();
    let params = context.params.to_string();
    if !stays {
        let is_needed = context.shards > 1;
        let is_worth_it = each_with_each && context.scoped.files.len() >= MANY;
        if !is_needed && !is_worth_it {
            return Ok(None);
        }
        let made = tempfile::Builder::new()
            .prefix(".resemble-arrays-")
            .tempdir_in(&folder);
        let work = match made {
            Ok(work) => work,
            Err(error) if is_needed => return Err(ArraysError::io("make", &folder)(error).into()),
            Err(_) => return Ok(None),
        };
        return Ok(Some(ArraysPlace {
            folder: ArraysFolder::new(work.path(), &params, "temporary"),
            _temporary: Some(work),
            is_needed,
        }));
    }
    let name = context.cache.name_of_index(context.snapshot)?;
    Ok(Some(ArraysPlace {
        folder: ArraysFolder::new(&folder.join("arrays"), &params, &name),
        _temporary: None,
        is_needed: false,
    }))
}

/// Returns the contents that the arrays do not have yet. Their signatures are needed for
/// [`update_arrays`].
fn unknown(folder: &ArraysFolder, contents: &[ContentRow]) -> HashSet<ContentId> {
    let arrays = folder.open().and_then(|set| OpenArrays::of(set).ok());
    let is_new = |content: &ContentId| {
        arrays
            .as_ref()
            .is_none_or(|arrays| !arrays.numbers.contains_key(&content.0))
    };
    let ids = contents.iter().map(|row| row.id);
    ids.filter(is_new).collect()
}

/// Adds contents with their signatures to the arrays, and opens the arrays. Returns `None` if the
/// arrays cannot be used.
fn update_arrays(
    context: &MethodContext<'_>,
    place: &ArraysPlace,
    signed: &Signed,
) -> Result<Option<OpenArrays>, LabError> {
    let folder = &place.folder;
    let Scheme::Sorted5(own) = &context.params.scheme else {
        return Ok(None);
    };
    let settled = || {
        let all = signed.contents.iter().zip(&signed.signatures);
        all.filter(|(row, _)| !signed.unsettled.contains(&row.id))
    };
    for _ in 0..TRIES {
        let arrays = match folder.open() {
            Some(set) => Some(OpenArrays::of(set)?),
            None => None,
        };
        let is_new = |key: u32| {
            arrays
                .as_ref()
                .is_none_or(|arrays| !arrays.numbers.contains_key(&key))
        };
        let new: Vec<(u32, &MethodSignature)> = settled()
            .filter(|(row, _)| is_new(row.id.0))
            .map(|(row, signature)| (row.id.0, signature))
            .collect();
        let mut gone = HashSet::new();
        for &key in arrays.iter().flat_map(|arrays| arrays.numbers.keys()) {
            if context.snapshot.content(ContentId(key))?.is_none() {
                gone.insert(key);
            }
        }
        if new.is_empty()
            && gone.is_empty()
            && let Some(arrays) = arrays
        {
            return Ok(Some(arrays));
        }
        let update = ArraysUpdate {
            bits: own.bits as u8,
            new: &new,
            shards: context.shards,
        };
        let merged = folder.update(&update, &|key| !gone.contains(&key));
        let arrays = match merged {
            Ok(set) => OpenArrays::of(set)?,
            Err(error) => return place.without(error),
        };
        // Another question may have found the arrays damaged and replaced them. If the new arrays
        // lack documents of this question, this question tries again.
        if settled().all(|(row, _)| arrays.numbers.contains_key(&row.id.0)) {
            return Ok(Some(arrays));
        }
    }
    Ok(None)
}

/// The contents of a question, and the arrays that have them.
pub(super) struct Arranged {
    place: ArraysPlace,
    set: MappedParts,
    /// The contents of the question in the order of their ids.
    pub(super) documents: Vec<ArrangedDocument>,
    /// Files that could not be read.
    pub(super) errors: Vec<SoftError>,
}

/// A content of a question, and the place of its values.
pub(super) struct ArrangedDocument {
    pub(super) content: ContentRow,
    /// The number of chunks of the content.
    pub(super) chunks: u64,
    pub(super) values: Values,
}

/// The place at which the values of a document are found.
pub(super) enum Values {
    /// The arrays, in which the document has this number.
    Arrays(u32),
    /// This signature. The file has just changed, so its content is not in the arrays.
    Here(MethodSignature),
}

/// Updates the arrays for the contents of a question. Signatures are needed only of new contents.
/// `each_with_each` is true if all contents are compared with each other. Returns `None` if no
/// arrays are used.
pub(super) fn arranged(
    context: &MethodContext<'_>,
    each_with_each: bool,
) -> Result<Option<Arranged>, LabError> {
    let Some(place) = place(context, each_with_each)? else {
        return Ok(None);
    };
    let rows = signed::rows(context, &context.scoped.contents())?;
    let unknown = unknown(&place.folder, &rows);
    let (new, mut contents): (Vec<_>, Vec<_>) =
        rows.into_iter().partition(|row| unknown.contains(&row.id));
    let signed = Signed::of_rows(context, &mut context.cached(), new)?;
    let Some(OpenArrays { set, numbers }) = update_arrays(context, &place, &signed)? else {
        return Ok(None);
    };
    let mut documents = Vec::with_capacity(contents.len() + signed.contents.len());
    for (content, signature) in signed.contents.into_iter().zip(signed.signatures) {
        if signed.unsettled.contains(&content.id) {
            documents.push(ArrangedDocument {
                content,
                chunks: signature.occurrences(),
                values: Values::Here(signature),
            });
        } else {
            contents.push(content);
        }
    }
    for content in contents {
        // Another question has replaced the arrays. The new ones lack this document, so they are
        // not used.
        let Some(&(number, chunks)) = numbers.get(&content.id.0) else {
            return Ok(None);
        };
        documents.push(ArrangedDocument {
            content,
            chunks: chunks.into(),
            values: Values::Arrays(number),
        });
    }
    documents.sort_unstable_by_key(|document| document.content.id);
    Ok(Some(Arranged {
        place,
        set,
        documents,
        errors: signed.errors,
    }))
}

/// Pairs of documents, each with its number of common chunks. Documents are indices of
/// [`Arranged::documents`], and the lesser index is first.
type Placed = Vec<(usize, usize, u64)>;

impl Arranged {
    /// Counts the chunks that each document in the arrays has in common with this signature. The
    /// keys of the result are the documents' numbers. Documents without common chunks are left out.
    /// Returns `None` if the arrays are damaged.
    pub(super) fn common(
        &self,
        signature: &MethodSignature,
    ) -> Result<Option<HashMap<u32, u64>>, LabError> {
        let parts = self.set.parts()?;
        let values = signature.entries().into_iter();
        let values = values.map(|entry| (entry.value, entry.count));
        let counted = Counter::new(parts.documents().len()).count(&parts, values);
        let Ok(counted) = counted else {
            self.place.folder.forget();
            return Ok(None);
        };
        let counted = counted.into_iter().map(|one| (one.document, one.common));
        Ok(Some(counted.collect()))
    }

    /// Returns the pairs of documents in the arrays whose figure is at least `least`. If the arrays
    /// are damaged or a process failed, returns what [`ArraysPlace::without`] returns.
    fn pairs(&self, least: f64, shards: u32) -> Result<Option<Placed>, LabError> {
        let (mut numbers, mut places) = (Vec::new(), Vec::new());
        for (place, document) in self.documents.iter().enumerate() {
            if let Values::Arrays(number) = document.values {
                numbers.push(number);
                places.push(place);
            }
        }
        let folder = &self.place.folder;
        let found = match pairs_in_shards(folder, &self.set, &numbers, least, shards) {
            Ok(found) => found,
            Err(error) => return self.place.without(error),
        };
        let place = |number: u32| {
            let at = numbers.binary_search(&number).ok()?;
            places.get(at).copied()
        };
        let placed = found
            .into_iter()
            .map(|CommonChunks { a, b, common }| Some((place(a)?, place(b)?, common.into())));
        Ok(placed.collect())
    }
}

/// Uses the arrays to find the pairs that the threshold accepts. Returns `None` if no arrays are
/// used.
pub(super) fn pairs(
    context: &MethodContext<'_>,
    threshold: &RowThreshold,
) -> Result<Option<FoundPairs>, LabError> {
    let Some(arranged) = arranged(context, true)? else {
        return Ok(None);
    };
    let Some(mut common) = arranged.pairs(threshold.least_figure(), context.shards)? else {
        return Ok(None);
    };
    let documents = &arranged.documents;
    for (place, document) in documents.iter().enumerate() {
        let Values::Here(signature) = &document.values else {
            continue;
        };
        let Some(of_arrays) = arranged.common(signature)? else {
            return Ok(None);
        };
        for (other, document) in documents.iter().enumerate() {
            let common_of = match &document.values {
                Values::Arrays(number) => of_arrays.get(number).copied().unwrap_or(0),
                Values::Here(other) => common_of(signature, other),
            };
            // In these loops, two documents outside the arrays form a pair twice, and each forms a
            // pair with itself. Such a pair is counted only if `other` is less than `place`.
            let is_second = matches!(document.values, Values::Here(_)) && other >= place;
            if common_of > 0 && !is_second {
                common.push((place.min(other), place.max(other), common_of));
            }
        }
    }
    let scores = |a: usize, b: usize, common: u64| {
        PairScores::of_overlap_both_ways(Overlap {
            common,
            a: documents[a].chunks,
            b: documents[b].chunks,
        })
    };
    let all = common.into_iter().map(|(a, b, common)| ScoredPair {
        a,
        b,
        scores: scores(a, b, common),
    });
    let mut found: Vec<ScoredPair> = all.filter(|pair| threshold.accepts(&pair.scores)).collect();
    found.sort_unstable_by_key(|pair| (pair.a, pair.b));
    let contents: Vec<ContentRow> = documents.iter().map(|document| document.content).collect();
    Ok(Some(FoundPairs {
        equal: equal(context, &contents, |at| {
            scores(at, at, documents[at].chunks)
        }),
        contents,
        found,
        errors: arranged.errors,
    }))
}

/// Counts the chunks that two documents have in common.
fn common_of(a: &MethodSignature, b: &MethodSignature) -> u64 {
    let values = |signature: &MethodSignature| -> Vec<(u64, u64)> {
        let entries = signature.entries().into_iter();
        entries.map(|entry| (entry.value, entry.count)).collect()
    };
    overlap(&values(a), &values(b)).common
}

/// Computes the scores of pairs again, from the texts themselves: "compute the exact similarities
/// only for document pairs which are preselected" (section 4.2). Returns the pairs that the
/// threshold still accepts. A pair keeps its estimate if a file is too large for memory or cannot
/// be read now.
pub(super) fn exactly(
    context: &MethodContext<'_>,
    contents: &[ContentRow],
    found: Vec<ScoredPair>,
    threshold: &RowThreshold,
) -> Vec<ScoredPair> {
    let chunks = |place: usize| {
        let mut holders = context.scoped.holders(contents[place].id);
        holders.find_map(|file| {
            let small = file.size <= resemble_relate::LARGEST_READ;
            let bytes = small.then(|| bytes_of(&file.path).ok())??;
            Some(real_chunks(context.params, &bytes))
        })
    };
    let mut of_a: Option<(usize, Option<Vec<u64>>)> = None;
    let mut exact = Vec::new();
    for pair in found {
        let of_a = match &mut of_a {
            Some((place, chunks)) if *place == pair.a => &*chunks,
            _ => &of_a.insert((pair.a, chunks(pair.a))).1,
        };
        let scores = match (of_a, chunks(pair.b)) {
            (Some(a), Some(b)) => PairScores::of_overlap_both_ways(overlap_of_sorted(a, &b)),
            _ => pair.scores,
        };
        if threshold.accepts(&scores) {
            exact.push(ScoredPair { scores, ..pair });
        }
    }
    exact
}

/// Returns the distinct chunks of a text in ascending order. A chunk is the first 64 bits of its
/// hash.
pub(crate) fn real_chunks(params: &MethodParams, bytes: &[u8]) -> Vec<u64> {
    let mut chunks: Vec<u64> = Features::of(params, bytes).values().collect();
    chunks.sort_unstable();
    chunks.dedup();
    chunks
}
