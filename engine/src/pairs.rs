//! `pairs`: every pair of files with something in common, however little.
//!
//! Made for scripts and for scoring: nothing is cut by a threshold unless one is given.
//!
//! 1. The signatures of the files in question are taken into memory: for each kind of evidence one
//!    sorted array of (key, content).
//! 2. Keys that more contents than the limit have are boilerplate, counted among these files alone.
//! 3. For each content, the lists of its keys are run through with a counter for every later content:
//!    time in proportion to the sum of the squares of the lists' lengths, memory to the number of
//!    contents (Forman, Eshghi & Chiocchetti 2005, section 2.4, on contents instead of files).
//! 4. Content pairs with enough in common are measured and become a row for each pair of files.

use std::collections::HashSet;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use resemble_core::similarity::{Boilerplate, Sketch};
use resemble_core::{
    ByteLen, ChunkList, ContentId, ContentKind, Fingerprint, Measures, Relation, Score, Signature,
    rank,
};
use resemble_index::{ReadError, Snapshot};
use resemble_proto::message::{Answer, PairRow, PairScore, Scope, SoftError};
use resemble_proto::number::Fraction;
use resemble_proto::path::PathText;

use crate::ask::{AskError, LARGEST_READ, bytes_of, exact_measures, soft_error};
use crate::evidence::{chunk_keys, fingerprint_keys};
use crate::find::{enough_shared, estimate, identical_measures};
use crate::members::{Member, Members};

/// Which pairs an answer has.
#[derive(Clone, Debug, Default)]
pub struct PairsOptions {
    /// The files; names at least one path.
    pub scope: Scope,
    /// What sorts, and what `min` bounds.
    pub score: PairScore,
    /// Only pairs whose score is at least this.
    pub min: Option<Score>,
    /// The least number of shared bytes, identical files aside.
    pub min_shared: Option<ByteLen>,
    /// Only the first so many rows.
    pub top: Option<u64>,
    /// Measure on the bytes of both files where they can be read.
    pub exact: bool,
}

/// What is kept of one content while pairs are looked for.
struct Kept {
    id: ContentId,
    size: ByteLen,
    kind: ContentKind,
    chunks: ChunkList,
    signature: Signature,
}

impl Kept {
    fn sketch(&self) -> Sketch<'_> {
        Sketch {
            size: self.size,
            chunks: &self.chunks,
            signature: &self.signature,
        }
    }
}

/// The pairs of the files in `options.scope`, best first.
pub fn pairs(snapshot: &Snapshot, options: &PairsOptions) -> Result<Answer<PairRow>, AskError> {
    let members = Members::of(snapshot, &options.scope)?;
    let kept = keep(snapshot, &members)?;
    let limit = snapshot.boilerplate_limit() as usize;
    let fingerprints = Lists::new(&kept, limit, fingerprint_keys);
    let chunks = Lists::new(&kept, limit, chunk_keys);
    let boilerplate = Counted {
        chunks: &chunks.boilerplate,
        fingerprints: &fingerprints.boilerplate,
    };

    let next = AtomicUsize::new(0);
    let threads = std::thread::available_parallelism()
        .map_or(1, usize::from)
        .min(8);
    let worker = || {
        let mut found = Found::default();
        let mut tally = Tally::new(kept.len());
        loop {
            let a = next.fetch_add(1, Ordering::Relaxed);
            if a >= kept.len() {
                return found;
            }
            same_content(&members, &kept[a], &mut found);
            tally.count(
                a,
                &fingerprints,
                &chunks,
                |b, shared_fingerprints, shared_chunks| {
                    if shared_fingerprints >= 2 || shared_chunks >= 1 {
                        found.pair(&members, (&kept[a], &kept[b]), options, &boilerplate);
                    }
                },
            );
        }
    };
    let found: Vec<Found> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(worker)).collect();
        workers
            .into_iter()
            .filter_map(|worker| worker.join().ok())
            .collect()
    });

    let mut errors = members.errors.clone();
    let mut rows = Vec::new();
    for part in found {
        rows.extend(part.rows);
        errors.extend(part.errors);
    }
    errors.sort_by(|a, b| a.path.as_bytes().cmp(b.path.as_bytes()));
    errors.dedup();
    rows.sort_by(Row::compare);
    Ok(Answer::fresh(rows.iter().map(Row::to_answer).collect(), errors).cut(options.top))
}

/// The contents of the members that can be compared, by id. Empty files are counted, not grouped.
fn keep(snapshot: &Snapshot, members: &Members) -> Result<Vec<Kept>, ReadError> {
    let mut kept = Vec::new();
    for id in members.contents() {
        let Some(row) = snapshot.content(id)? else {
            continue;
        };
        if row.size > ByteLen::ZERO {
            let (chunks, signature) = (snapshot.chunks(id)?, snapshot.signature(id)?);
            kept.push(Kept {
                id,
                size: row.size,
                kind: row.kind,
                chunks,
                signature,
            });
        }
    }
    Ok(kept)
}

/// The posting lists of one kind of evidence over the kept contents, in memory.
struct Lists {
    /// The contents (by place) of all lists, one list after the other, each ascending.
    contents: Vec<u32>,
    /// Where in `contents` the lists of a content's keys begin and end: `of[starts[i]..starts[i+1]]`.
    of: Vec<(u32, u32)>,
    starts: Vec<usize>,
    boilerplate: HashSet<u64>,
}

impl Lists {
    fn new(kept: &[Kept], limit: usize, keys: impl Fn(&Sketch<'_>) -> Vec<u64>) -> Self {
        let mut postings: Vec<(u64, u32)> = Vec::new();
        for (place, content) in kept.iter().enumerate() {
            postings.extend(
                keys(&content.sketch())
                    .into_iter()
                    .map(|key| (key, place as u32)),
            );
        }
        postings.sort_unstable();
        let contents: Vec<u32> = postings.iter().map(|&(_, place)| place).collect();
        let mut boilerplate = HashSet::new();
        let mut by_content: Vec<(u32, u32, u32)> = Vec::new();
        let mut begin = 0;
        for list in postings.chunk_by(|a, b| a.0 == b.0) {
            let end = begin + list.len();
            if list.len() > limit {
                boilerplate.insert(list[0].0);
            } else if list.len() > 1 {
                // A content only looks at the contents after itself.
                let later = (begin + 1..end).zip(list);
                by_content
                    .extend(later.map(|(from, &(_, place))| (place, from as u32, end as u32)));
            }
            begin = end;
        }
        by_content.sort_unstable();
        let mut starts = vec![0; kept.len() + 1];
        for &(place, ..) in &by_content {
            starts[place as usize + 1] += 1;
        }
        for place in 0..kept.len() {
            starts[place + 1] += starts[place];
        }
        let of = by_content
            .into_iter()
            .map(|(_, from, to)| (from, to))
            .collect();
        Self {
            contents,
            of,
            starts,
            boilerplate,
        }
    }

    /// The later contents that share a key with this one, once for each key.
    fn later(&self, place: usize) -> impl Iterator<Item = u32> + '_ {
        let lists = &self.of[self.starts[place]..self.starts[place + 1]];
        lists
            .iter()
            .flat_map(|&(from, to)| &self.contents[from as usize..to as usize])
            .copied()
    }
}

/// Counters for one content against all later ones.
struct Tally {
    counts: Vec<(u32, u32)>,
    touched: Vec<u32>,
}

impl Tally {
    fn new(contents: usize) -> Self {
        Self {
            counts: vec![(0, 0); contents],
            touched: Vec::new(),
        }
    }

    fn count(
        &mut self,
        a: usize,
        fingerprints: &Lists,
        chunks: &Lists,
        mut found: impl FnMut(usize, u32, u32),
    ) {
        for b in fingerprints.later(a) {
            let count = &mut self.counts[b as usize];
            if *count == (0, 0) {
                self.touched.push(b);
            }
            count.0 += 1;
        }
        for b in chunks.later(a) {
            let count = &mut self.counts[b as usize];
            if *count == (0, 0) {
                self.touched.push(b);
            }
            count.1 += 1;
        }
        for b in self.touched.drain(..) {
            let (fingerprints, chunks) = std::mem::take(&mut self.counts[b as usize]);
            found(b as usize, fingerprints, chunks);
        }
    }
}

/// Boilerplate as counted among the files of this question.
struct Counted<'a> {
    chunks: &'a HashSet<u64>,
    fingerprints: &'a HashSet<u64>,
}

impl Boilerplate for Counted<'_> {
    fn chunk(&self, key: u64) -> bool {
        self.chunks.contains(&key)
    }

    fn fingerprint(&self, fingerprint: Fingerprint) -> bool {
        self.fingerprints.contains(&fingerprint.0)
    }
}

/// A pair of files before it is an answer; `a` has the lesser path.
struct Row<'a> {
    a: &'a Path,
    b: &'a Path,
    identical: bool,
    score: Score,
    measures: Measures,
}

impl Row<'_> {
    fn compare(&self, other: &Self) -> std::cmp::Ordering {
        rank::compare(
            (
                self.score,
                &self.measures,
                self.a.as_os_str().as_encoded_bytes(),
            ),
            (
                other.score,
                &other.measures,
                other.a.as_os_str().as_encoded_bytes(),
            ),
        )
        .then_with(|| {
            self.b
                .as_os_str()
                .as_encoded_bytes()
                .cmp(other.b.as_os_str().as_encoded_bytes())
        })
    }

    fn to_answer(&self) -> PairRow {
        PairRow {
            a: PathText::from(self.a),
            b: PathText::from(self.b),
            identical: self.identical,
            score: Fraction::from(self.score),
            a_in_b: Fraction::from(self.measures.a_in_b),
            b_in_a: Fraction::from(self.measures.b_in_a),
            resemblance: Fraction::from(self.measures.resemblance),
            shared_bytes: self.measures.shared_bytes.0,
        }
    }
}

/// What one worker found.
#[derive(Default)]
struct Found<'a> {
    rows: Vec<Row<'a>>,
    errors: Vec<SoftError>,
}

impl<'a> Found<'a> {
    /// Measures a pair of contents and keeps its rows if it passes.
    fn pair(
        &mut self,
        members: &'a Members,
        (a, b): (&Kept, &Kept),
        options: &PairsOptions,
        boilerplate: &Counted<'_>,
    ) {
        let mut measures = estimate((&a.sketch(), a.kind), (&b.sketch(), b.kind), boilerplate);
        if options.exact && a.size <= LARGEST_READ && b.size <= LARGEST_READ {
            match self.read_both(members, a, b) {
                Some(exact) => measures = exact,
                None => return,
            }
        }
        let score = match options.score {
            PairScore::Containment => measures.containment(),
            PairScore::Resemblance => measures.resemblance,
        };
        let Some(score) = score else { return };
        let min_shared = options.min_shared.unwrap_or(Relation::MIN_SHARED);
        if options.min.is_some_and(|min| score < min)
            || !enough_shared((a.size, b.size), &measures, min_shared)
        {
            return;
        }
        for one in members.holders(a.id) {
            for other in members.holders(b.id) {
                self.rows.push(row((one, other), false, score, measures));
            }
        }
    }

    /// The exact measures, by one file of each content; `None` (and an error row) if one cannot
    /// be read.
    fn read_both(&mut self, members: &Members, a: &Kept, b: &Kept) -> Option<Measures> {
        let mut read = |content: &Kept| {
            let path = &members.holders(content.id).next()?.path;
            bytes_of(path)
                .map_err(|error| self.errors.push(soft_error(path, &error)))
                .ok()
        };
        let (a, b) = (read(a)?, read(b)?);
        Some(exact_measures(&a, &b))
    }
}

/// The pairs of files that hold one and the same content.
fn same_content<'a>(members: &'a Members, content: &Kept, found: &mut Found<'a>) {
    let measures = identical_measures(content.size);
    let holders: Vec<&Member> = members.holders(content.id).collect();
    for (at, &one) in holders.iter().enumerate() {
        for &other in &holders[at + 1..] {
            found
                .rows
                .push(row((one, other), true, Score::ONE, measures));
        }
    }
}

/// The row of two files; the measures are those of (one, other).
fn row<'a>(
    (one, other): (&'a Member, &'a Member),
    identical: bool,
    score: Score,
    measures: Measures,
) -> Row<'a> {
    let raw = |member: &'a Member| member.path.as_os_str().as_encoded_bytes();
    if raw(one) <= raw(other) {
        Row {
            a: &one.path,
            b: &other.path,
            identical,
            score,
            measures,
        }
    } else {
        Row {
            a: &other.path,
            b: &one.path,
            identical,
            score,
            measures: measures.swapped(),
        }
    }
}
