//! `find --holders`: **every** file that holds a part of a given file, for users who must find all
//! such files.
//!
//! Other questions rank their rows, cut the list, and leave out common content. This question
//! serves a user who must purge a text from all files. The text may have been "copied into other
//! documents without linking metadata" (Forman, Eshghi and Chiocchetti, 2005, section 6). So
//! nothing is discounted, and nothing counts as boilerplate:
//!
//! 1. **Candidates** ([`candidates`]) are all contents with one chunk or one fingerprint of the
//!    file, however many. The file is sampled more densely than the contents of the index
//!    ([`fine`]). Suppose that a note quotes a paragraph of a long document. The index has only one
//!    in eight shingles of the note. So all shingles of the document must be looked up.
//! 2. **Every place of a content** is reported: files by all their paths, members of archives,
//!    documents by their text.
//! 3. **The proof** ([`prove`]) is made by the command. It reads the bytes and finds the runs of at
//!    least 64 bytes that both contents have. A content that cannot be read (in a catalogue, or too
//!    large) is proven by common chunks only, and the row says so.
//!
//! Candidates alone can miss a part that has no whole chunk. This happens if the file is so large
//! that the index has none of the part's samples. A run of twice the largest chunk is never missed.
//! So every file is a candidate (`all`) unless the user prefers speed.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::convert::Infallible;
use std::path::{Path, PathBuf};

use resemble_core::params::SamplingParams;
use resemble_core::similarity::runs::common_runs;
use resemble_core::{ByteLen, ChunkHash, ContentId, Digest, FileId, Params, Relation};
use resemble_index::{PartRole, ReadError, Snapshot};
use resemble_proto::catalogued;
use resemble_proto::message::{Answer, HolderRow, Layer, Proof, Scope, SoftError};
use resemble_proto::path::PathText;
use resemble_relate::nominate::evidence;
use resemble_relate::parallel::ordered;
use resemble_relate::prove::extracted::{Extracted, extract, extract_all};
use resemble_relate::prove::read::{LARGEST_READ, bytes_of};
use resemble_relate::renditions::{INTO, Place, names, occurrences, shown};
use resemble_relate::scope::ScopedFiles;
use resemble_relate::{AskError, soft_error};
use resemble_scan::parts::PartReader;

/// The maximum number of samples of the file that are looked up.
const SAMPLES: u32 = 1 << 14;

/// Returns the parameters for the digest of the searched file: it has chunks as in the index, and
/// as many samples as can be looked up.
pub const fn fine(params: &Params) -> Params {
    Params {
        chunk: params.chunk,
        sampling: SamplingParams::at(params.sampling.least_level, SAMPLES),
        shingles: SamplingParams::at(params.shingles.least_level, SAMPLES),
        posted: SamplingParams::at(params.posted.least_level, SAMPLES),
    }
}

/// The content to search for.
#[derive(Clone, Debug)]
pub struct SearchedContent {
    extracted: Extracted,
    /// True if all of the content was read.
    whole: bool,
    /// The digest of the bytes. If the file has a text or an unpacked content, also the digest of
    /// that.
    pub digests: Vec<Digest>,
}

impl SearchedContent {
    /// Reads a file, and its text if documents are taken apart.
    pub fn read(
        path: &Path,
        params: &Params,
        part_reader: Option<&dyn PartReader>,
    ) -> Result<Self, AskError> {
        let params = fine(params);
        let read = part_reader
            .map(|part_reader| extract(path, part_reader))
            .transpose()?
            .flatten();
        let (extracted, whole) = if let Some(extracted) = read {
            (extracted, true)
        } else {
            let own = bytes_of(path)?;
            let whole = (own.len() as u64) < LARGEST_READ.0;
            (Extracted::plain(own), whole)
        };
        let mut digests = vec![if whole {
            Digest::of(&extracted.own, &params)
        } else {
            super::read_now(path, &params)?
        }];
        if extracted.has_text() {
            digests.extend(extracted.stand_in().map(|text| Digest::of(text, &params)));
        }
        Ok(Self {
            extracted,
            whole,
            digests,
        })
    }
}

/// Returns the places that share a chunk or a sample with the file, sorted by path. Each row has
/// the ranges of the common chunks. With `all`, returns every place in scope, even without common
/// pieces. If `scope` then names no folder, `roots` are the scope.
pub fn candidates(
    snapshot: &Snapshot,
    digests: &[Digest],
    own: Option<FileId>,
    scope: &Scope,
    roots: &[PathBuf],
    all: bool,
) -> Result<Answer<HolderRow>, AskError> {
    let everywhere = Scope {
        within: roots.iter().map(|root| root.as_path().into()).collect(),
        ..scope.clone()
    };
    let scope = if all && scope.within.is_empty() {
        &everywhere
    } else {
        scope
    };
    let mut scoped = if scope.within.is_empty() {
        None
    } else {
        Some(ScopedFiles::of(snapshot, scope)?)
    };
    let errors = scoped
        .as_mut()
        .map(|scoped| std::mem::take(&mut scoped.errors));
    let mut places: BTreeMap<Place, Vec<Held>> = BTreeMap::new();
    for (digest, layer) in digests.iter().zip([Layer::Bytes, Layer::Text]) {
        for content in evidence::sharing(snapshot, digest)? {
            let Some(row) = snapshot.content(content)? else {
                continue;
            };
            let held = Held {
                layer,
                ranges: common_chunks(digest, &snapshot.chunks(content)?.0),
            };
            for occurrence in occurrences(snapshot, &row, true)? {
                let content = occurrence.place.content;
                let is_here = scoped
                    .as_ref()
                    .is_none_or(|scoped| scoped.has_file_of(content));
                if !occurrence.rendition.is_whole() && is_here {
                    places
                        .entry(occurrence.place)
                        .or_default()
                        .push(held.clone());
                }
            }
        }
    }
    if let Some(scoped) = scoped.as_ref().filter(|_| all) {
        for content in scoped.contents() {
            places.entry(Place::file(content)).or_default();
            for (number, part) in (0..).zip(snapshot.parts(content)?) {
                if part.role == PartRole::Member && part.content.is_some() {
                    let member = Some(number);
                    places.entry(Place { content, member }).or_default();
                }
            }
        }
    }
    let within: Vec<&Path> = if scope.within.is_empty() {
        roots.iter().map(PathBuf::as_path).collect()
    } else {
        scope.within.iter().map(PathText::as_path).collect()
    };
    let mut rows = Vec::new();
    for (place, held) in places {
        let names = names(snapshot, place)?;
        let best = held
            .into_iter()
            .max_by_key(|held| (held.layer == Layer::Bytes, sum(&held.ranges)));
        let best = best.unwrap_or_default();
        for path in paths(snapshot, place.content, scoped.as_ref(), own)? {
            let root = within.iter().filter(|root| path.starts_with(root));
            let root = root.max_by_key(|root| root.as_os_str().len());
            rows.push(HolderRow {
                file: PathText::NOTHING,
                path: shown(&path, &names).into(),
                bytes: sum(&best.ranges),
                ranges: best.ranges.clone(),
                layer: best.layer,
                proof: Proof::Chunks,
                owner: None,
                root: root.map_or(PathText::NOTHING, |root| PathText::from(*root)),
                container: path.into(),
            });
        }
    }
    rows.sort_by(|a, b| a.path.as_bytes().cmp(b.path.as_bytes()));
    // An archive may have several members of one name. Only the member with the largest common part
    // is kept.
    rows.dedup_by(|next, kept| {
        let same = next.path == kept.path;
        if same && next.bytes > kept.bytes {
            std::mem::swap(next, kept);
        }
        same
    });
    Ok(Answer::fresh(rows, errors.unwrap_or_default()))
}

/// The common chunks of a place.
#[derive(Clone, Default)]
struct Held {
    layer: Layer,
    ranges: Vec<[u64; 2]>,
}

/// Returns the ranges of the digest's chunks that `theirs` has, too.
fn common_chunks(digest: &Digest, theirs: &[resemble_core::ChunkRun]) -> Vec<[u64; 2]> {
    let theirs: HashSet<(ChunkHash, u32)> = theirs
        .iter()
        .filter(|run| run.is_evidence())
        .map(|run| (run.hash, run.len))
        .collect();
    let mut ranges: Vec<[u64; 2]> = Vec::new();
    for (from, run) in digest.chunks.positions() {
        if theirs.contains(&(run.hash, run.len)) {
            push(&mut ranges, from, from + u64::from(run.len) * run.count);
        }
    }
    ranges
}

/// Appends a range. If it touches the last range, the two are joined.
fn push(ranges: &mut Vec<[u64; 2]>, from: u64, to: u64) {
    match ranges.last_mut() {
        Some(last) if last[1] >= from => last[1] = last[1].max(to),
        _ => ranges.push([from, to]),
    }
}

fn sum(ranges: &[[u64; 2]]) -> u64 {
    ranges.iter().map(|[from, to]| to - from).sum()
}

/// Returns every path of the files with this content, except `own`.
fn paths(
    snapshot: &Snapshot,
    content: ContentId,
    scoped: Option<&ScopedFiles>,
    own: Option<FileId>,
) -> Result<Vec<PathBuf>, ReadError> {
    if let Some(scoped) = scoped {
        let others = scoped
            .holders(content)
            .filter(|member| Some(member.file) != own);
        let paths = others.flat_map(|member| scoped.paths(member));
        return Ok(paths.map(Path::to_owned).collect());
    }
    let mut paths = Vec::new();
    for file in snapshot.files_of(content)? {
        if Some(file) != own {
            paths.extend(snapshot.paths(file)?);
        }
    }
    Ok(paths)
}

/// The maximum number of members of one archive that are read together.
const TOGETHER: usize = 64;

/// Returns the candidates that hold at least `least` bytes of the content. Candidates that hold the
/// most come first. A candidate is proven by its bytes if they can be read. `looked_at` is called
/// with the number of candidates that were just read.
pub fn prove(
    sought: &SearchedContent,
    mut candidates: Vec<HolderRow>,
    least: Option<u64>,
    part_reader: Option<&dyn PartReader>,
    looked_at: &(dyn Fn(usize) + Sync),
) -> (Vec<HolderRow>, Vec<SoftError>) {
    let size = ByteLen(sought.extracted.own.len() as u64);
    // If the content is smaller than the usual minimum, its size is the minimum.
    let least = least.unwrap_or_else(|| Relation::MIN_SHARED.min(size).0);
    let key = |row: &HolderRow| (row.container.clone(), row.path.clone());
    candidates.sort_by_cached_key(key);
    let mut files: Vec<Vec<HolderRow>> = Vec::new();
    for row in candidates {
        match files.last_mut() {
            Some(file) if file.len() < TOGETHER && file[0].container == row.container => {
                file.push(row);
            }
            _ => files.push(vec![row]),
        }
    }
    let prove_file = |at: usize, (): &mut ()| {
        let file = &files[at];
        let mut errors = Vec::new();
        let is_here = !catalogued::is_catalogued(file[0].container.as_path());
        let extracted = if sought.whole && is_here {
            theirs(file, part_reader).unwrap_or_else(|error| {
                errors.push(soft_error(file[0].container.as_path(), &error));
                vec![None; file.len()]
            })
        } else {
            vec![None; file.len()]
        };
        let rows = file.iter().zip(extracted).filter_map(|(row, extracted)| {
            let mut row = row.clone();
            if let Some(extracted) = extracted {
                let (layer, ranges) = in_common(&sought.extracted, &extracted, least);
                row.bytes = sum(&ranges);
                (row.layer, row.ranges, row.proof) = (layer, ranges, Proof::Bytes);
            }
            (row.bytes >= least.max(1)).then_some(row)
        });
        let rows: Vec<HolderRow> = rows.collect();
        looked_at(file.len());
        Ok::<_, Infallible>((rows, errors))
    };
    let proven = ordered(files.len(), || (), prove_file);
    let (rows, errors): (Vec<_>, Vec<_>) = proven.into_iter().flatten().unzip();
    let (mut rows, mut errors) = (rows.concat(), errors.concat());
    let_members_speak(&mut rows);
    rows.sort_by(|a, b| {
        let bytes = b.bytes.cmp(&a.bytes);
        bytes.then_with(|| a.path.as_bytes().cmp(b.path.as_bytes()))
    });
    errors.sort();
    errors.dedup();
    (rows, errors)
}

/// Drops the row of an archive if its own bytes hold no more of the content than its members do. An
/// archive without compression has the bytes of its members.
fn let_members_speak(rows: &mut Vec<HolderRow>) {
    let is_member = |row: &HolderRow| row.path != row.container;
    let mut members: HashMap<PathText, Vec<[u64; 2]>> = HashMap::new();
    for row in rows.iter().filter(|row| is_member(row)) {
        let all = members.entry(row.container.clone()).or_default();
        all.extend_from_slice(&row.ranges);
    }
    rows.retain(|row| {
        let Some(all) = members.get(&row.container).filter(|_| !is_member(row)) else {
            return true;
        };
        let mut sorted = all.clone();
        sorted.sort_unstable();
        let mut union = Vec::new();
        for [from, to] in sorted {
            push(&mut union, from, to);
        }
        // A short equal part outside the members may be equal by chance.
        row.bytes > sum(&union) + Relation::MIN_SHARED.0
    });
}

/// Reads the candidates in one file. The result of a candidate is `None` if the candidate cannot be
/// read whole.
fn theirs(
    rows: &[HolderRow],
    part_reader: Option<&dyn PartReader>,
) -> Result<Vec<Option<Extracted>>, AskError> {
    let file = rows[0].container.as_path();
    if let Some(part_reader) = part_reader {
        let wanted = rows.iter().map(|row| {
            let below = row.path.as_bytes().strip_prefix(row.container.as_bytes());
            below.and_then(|below| below.strip_prefix(&[INTO]))
        });
        return extract_all(file, &wanted.collect::<Vec<_>>(), part_reader);
    }
    let own = bytes_of(file)?;
    let whole = (own.len() as u64) < LARGEST_READ.0;
    let extracted = |row: &HolderRow| {
        let itself = whole && row.path == row.container;
        itself.then(|| Extracted::plain(own.clone()))
    };
    Ok(rows.iter().map(extracted).collect())
}

/// Returns the common part of both files, as ranges of the bytes of `ours`. If this part has fewer
/// than `least` bytes, and `ours` has a text, returns ranges of the text instead.
fn in_common(ours: &Extracted, theirs: &Extracted, least: u64) -> (Layer, Vec<[u64; 2]>) {
    let of = |ours: &[u8]| {
        let texts = std::iter::once(&theirs.own).chain(theirs.stand_in());
        let found = texts.map(|theirs| {
            let mut ranges = Vec::new();
            for run in common_runs(ours, theirs) {
                push(&mut ranges, run.a.start, run.a.end);
            }
            ranges
        });
        found.max_by_key(|ranges| sum(ranges)).unwrap_or_default()
    };
    let own = of(&ours.own);
    if sum(&own) >= least {
        return (Layer::Bytes, own);
    }
    match ours.stand_in().filter(|_| ours.has_text()) {
        Some(text) => (Layer::Text, of(text)),
        None => (Layer::Bytes, own),
    }
}
