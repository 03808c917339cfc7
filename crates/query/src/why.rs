//! Compares two files: finds their common and their differing ranges.
//!
//! Files of at most [`LARGEST_READ`] bytes each are read and compared byte by byte. For larger
//! files the common chunks are shown. Their ranges end at cut points, not at the first differing
//! byte. The answer states which method was used.
//!
//! ```text
//! compare ─► Shared    ranges in the order of a, placed (in order, moved, again), what differs
//!              │
//!              ├► layout   the same as coloured stripes of both files that leave nothing out
//!              │    └► view     rows of two columns, folded and bounded, for a screen or a page
//!              └► explain  a few lines of text, for the overlay
//! ```
//!
//! * **The shared ranges are what the measures count**: runs of at least 64 bytes that the other
//!   file has, too. So the differing bytes of a are exactly what `a_in_b` lacks, and those of b
//!   what `b_in_a` lacks. A word that happens to occur in both texts is not shared.
//! * **In two tables, common rows are shared, too**, in addition to the runs (`tables`). The
//!   measures of tables count rows, in any order.
//! * **Documents are compared by their texts**, if these can be extracted, and a compressed file by
//!   its content. The answer shows lines of these texts.
//! * **Archives and mails are compared by their members**, one by one ([`MemberMatch`]).
//! * **Nothing comes from an index**, so the daemon and the command give the same answer. Content
//!   that was marked as a template does not count, but is still shown.
//! * **Every output has a bound** that does not grow with the files ([`ViewOptions`]).

mod cells;
mod columns;
mod decode;
mod explain;
mod layout;
mod lines;
mod members;
mod order;
mod rows;
mod shared;
mod tables;
mod view;

use std::collections::HashMap;
use std::ops::Range;
use std::path::Path;

use resemble_core::numbers::only_numbers;
use resemble_core::similarity::proof::{self, unit_of};
use resemble_core::similarity::runs::{self, CommonRun};
use resemble_core::similarity::{Templates, Unit};
use resemble_core::{
    ByteLen, ChunkHash, ChunkList, ContentKind, Measures, Params, Relation, Score, similarity,
};

use resemble_proto::message::Layer;
use resemble_scan::parts::PartReader;

use crate::find::read_now;
use resemble_relate::unread;

pub use explain::explain;
pub use layout::{Block, BlockKind, Run};
pub use order::Placing;
pub use shared::{MemberMatch, RangesOf, Shared, SharedRange, Stretch};
pub use view::{Fold, Folded, Line, Rest, Row, RowSide, Span, View, ViewOptions};

use lines::Lines;
use resemble_relate::AskError;
use resemble_relate::judge::estimate::estimated;
use resemble_relate::judge::matched::all_words;
use resemble_relate::parallel::both;
use resemble_relate::prove::exact::{Proven, judged, prove_once};
use resemble_relate::prove::extracted::{Extracted, extract, way};
use resemble_relate::prove::members::{HeldContent, held_by};
use resemble_relate::prove::read::{LARGEST_READ, bytes_of};
use tables::TableRows;

/// Documents are shown by sentences instead of lines if that increases the common share by at least
/// this much.
const WORTH_NEW_LINES: f64 = 0.02;

/// The maximum number of differing numbers that are named.
const MOST_NUMBERS: usize = 20;

/// Two files that were compared.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// The common and the differing ranges.
    pub shared: Shared,
    /// The bytes of both files, if they were read whole.
    bytes: Option<(Vec<u8>, Vec<u8>)>,
}

impl Comparison {
    /// Compares two contents in memory. Texts are measured in `unit`.
    pub fn of_bytes(a: Vec<u8>, b: Vec<u8>, templates: &Templates, unit: Unit) -> Self {
        let mut shared = by_bytes(&a, &b);
        let kind = ContentKind::of_whole(&a);
        if shared.identical && unit_of(kind, kind, unit) == Unit::Words {
            shared.words = Some(shared.measures);
        }
        if shared.text && !shared.identical {
            shared.numbers = only_numbers(&a, &b, MOST_NUMBERS);
        }
        if (shared.text || !templates.is_empty()) && !shared.identical {
            let least = Relation::MIN_SHARED;
            let files = (a.clone(), b.clone());
            let found = prove_once(templates, files, unit, least);
            let told = match found.unit {
                Unit::Words => &mut shared.words,
                Unit::Bytes => &mut shared.payload,
            };
            *told = Some(found.measures);
            shared.relation = found.relation;
            shared.is_repetition = found.is_repetition;
        }
        Self {
            shared,
            bytes: Some((a, b)),
        }
    }

    /// Compares the texts of two files. If the texts are equal, the files may still differ.
    ///
    /// Line ends depend on the program that wrote the file or the one that extracted its text. If
    /// different line ends hide common content, both texts are broken into one line per sentence.
    fn of_texts(a: Vec<u8>, b: Vec<u8>, templates: &Templates) -> Self {
        let mut comparison = Self::of_bytes(a, b, templates, Unit::Words);
        let share = |comparison: &Self| comparison.shared.measures.containment();
        if !comparison.shared.identical
            && comparison.shared.ranges_of != RangesOf::Rows
            && comparison.shared.words.is_some()
            && let Some((a, b)) = comparison.bytes()
        {
            let anew = Self::of_bytes(by_sentences(a), by_sentences(b), templates, Unit::Words);
            let gain =
                share(&anew).map_or(0.0, Score::get) - share(&comparison).map_or(0.0, Score::get);
            if anew.shared.identical || gain >= WORTH_NEW_LINES {
                // The relation and the measures in words are always those of the original texts.
                let said = comparison.shared;
                comparison = anew;
                let shared = &mut comparison.shared;
                shared.identical = false;
                (shared.words, shared.relation) = (said.words, said.relation);
                shared.is_repetition = said.is_repetition;
            }
        }
        comparison
    }

    /// Marks the comparison as one of renditions: even if they are equal, the files may differ.
    /// `is_made` is true for extracted texts. Then equal texts of few words have neither a relation
    /// nor measures.
    fn of_stand_ins(mut self, is_made: bool) -> Self {
        let shared = &mut self.shared;
        shared.layer = Layer::Text;
        if std::mem::take(&mut shared.identical) {
            let is_said = !is_made || !similarity::too_small(shared.sizes.0);
            shared.relation = is_said.then_some(Relation::SameText);
            shared.measures = all_words(&shared.measures);
            if !is_said {
                shared.measures = Measures {
                    a_in_b: None,
                    b_in_a: None,
                    resemblance: None,
                    ..shared.measures
                };
            }
            shared.words = shared.words.map(|_| shared.measures);
        }
        self
    }

    /// Returns the bytes of a and b, if they were read whole.
    pub fn bytes(&self) -> Option<(&[u8], &[u8])> {
        self.bytes.as_ref().map(|(a, b)| (&a[..], &b[..]))
    }

    /// Returns the line numbers of both files, if both are texts that were read whole.
    fn lines(&self) -> Option<(Lines<'_>, Lines<'_>)> {
        let (a, b) = self.bytes().filter(|_| self.shared.text)?;
        Some((Lines::of(a), Lines::of(b)))
    }

    /// Returns the shared runs and the parts between them, in the order of display.
    pub fn blocks(&self) -> Vec<Block> {
        layout::Layout::of(&self.shared).blocks()
    }

    /// Returns both files in two columns.
    pub fn view(&self, options: &ViewOptions) -> View {
        columns::view(self, options)
    }

    /// Returns only the shared ranges, with their content. Each row has a line of a and the same
    /// line of b. Of a long range, only [`ViewOptions::context`] rows at each end are shown; its
    /// middle is folded.
    pub fn matches(&self, options: &ViewOptions) -> View {
        columns::matches(self, options)
    }
}

/// Returns the words of a text, separated by one blank, with a line end after each sentence.
fn by_sentences(text: &[u8]) -> Vec<u8> {
    let mut lines = Vec::with_capacity(text.len());
    let mut words = text
        .split(u8::is_ascii_whitespace)
        .filter(|word| !word.is_empty())
        .peekable();
    while let Some(word) = words.next() {
        lines.extend_from_slice(word);
        let ends = word.ends_with(b".") || word.ends_with(b"!") || word.ends_with(b"?");
        lines.push(if ends || words.peek().is_none() {
            b'\n'
        } else {
            b' '
        });
    }
    lines
}

/// Does the same as [`compare`], but compares documents by their texts. A path may lead into an
/// archive.
pub fn compare_with_parts(
    a: &Path,
    b: &Path,
    (params, templates): (&Params, &Templates),
    part_reader: Option<&dyn PartReader>,
) -> Result<Comparison, AskError> {
    let Some(part_reader) = part_reader else {
        return compare(a, b, (params, templates), Unit::Words);
    };
    let of_bytes = |a, b| Comparison::of_bytes(a, b, templates, Unit::Words);
    let into = [a, b].map(|path| way(path).1.is_some());
    let (of_a, of_b) = (extract(a, part_reader)?, extract(b, part_reader)?);
    let missing = |path| unread::no_member(path, part_reader);
    let is_identical = matches!((&of_a, &of_b), (Some(a), Some(b)) if a.own == b.own);
    if let (Some(one), Some(other), false) = (&of_a, &of_b, is_identical) {
        let held = (held_by(a, part_reader)?, held_by(b, part_reader)?);
        if held.0.is_some() || held.1.is_some() {
            let a = held.0.unwrap_or_else(|| single(one));
            let b = held.1.unwrap_or_else(|| single(other));
            return Ok(Comparison::of_members(a, b, templates));
        }
    }
    match (of_a, of_b) {
        (None, _) if into[0] => Err(missing(a)),
        (_, None) if into[1] => Err(missing(b)),
        (Some(a), Some(b))
            if !is_identical && (a.stand_in().is_some() || b.stand_in().is_some()) =>
        {
            match (a.text(), b.text()) {
                (Some(one), Some(other)) => {
                    let is_made = a.text.is_some() || b.text.is_some();
                    let texts = (one.to_vec(), other.to_vec());
                    let comparison = Comparison::of_texts(texts.0, texts.1, templates);
                    Ok(comparison.of_stand_ins(is_made))
                }
                _ if a.packed.is_some() || b.packed.is_some() => {
                    let bytes = (a.bytes().to_vec(), b.bytes().to_vec());
                    Ok(of_bytes(bytes.0, bytes.1).of_stand_ins(false))
                }
                _ => Ok(of_bytes(a.own, b.own)),
            }
        }
        (Some(a), Some(b)) => Ok(of_bytes(a.own, b.own)),
        // If one path is a member and the other file is too large, only the first part of that file
        // is read.
        (Some(a), None) if into[0] => Ok(of_bytes(a.own, bytes_of(b)?)),
        (None, Some(b)) if into[1] => Ok(of_bytes(bytes_of(a)?, b.own)),
        _ => compare(a, b, (params, templates), Unit::Words),
    }
}

/// Returns a file without members as a list of one content, its text or its bytes. So it can be
/// compared with a file that has members.
fn single(extracted: &Extracted) -> Vec<HeldContent> {
    let bytes = extracted
        .text()
        .unwrap_or_else(|| extracted.bytes())
        .to_vec();
    vec![HeldContent {
        names: Vec::new(),
        kind: ContentKind::of_whole(&bytes),
        bytes,
    }]
}

/// Compares two files as they are now. Texts are measured in `unit`. The paths must not contain
/// symbolic links.
pub fn compare(
    a: &Path,
    b: &Path,
    (params, templates): (&Params, &Templates),
    unit: Unit,
) -> Result<Comparison, AskError> {
    let size = |path: &Path| -> Result<ByteLen, AskError> {
        std::fs::symlink_metadata(path)
            .map(|meta| ByteLen(meta.len()))
            .map_err(|source| AskError::Unreadable {
                path: path.to_owned(),
                source,
            })
    };
    if size(a)?.max(size(b)?) <= LARGEST_READ {
        let (a, b) = (bytes_of(a)?, bytes_of(b)?);
        return Ok(Comparison::of_bytes(a, b, templates, unit));
    }
    let (a, b) = (read_now(a, params)?, read_now(b, params)?);
    let identical = a.content == b.content;
    let sizes = (a.size, b.size);
    let (relation, measures) = if identical {
        (Some(Relation::Identical), Measures::identical(a.size))
    } else {
        let (one, other) = (a.sketch(), b.sketch());
        let pair = ((&one, a.kind, a.words), (&other, b.kind, b.words));
        let found = estimated(unit, pair, Layer::Bytes, Relation::MIN_SHARED);
        (found.relation, found.measures)
    };
    let (of_a, of_b) = if identical {
        (whole(sizes.0), Vec::new())
    } else {
        (
            by_chunks(&a.chunks, &b.chunks),
            by_chunks(&b.chunks, &a.chunks),
        )
    };
    let shared = FoundRuns {
        of_a,
        of_b,
        ranges_of: RangesOf::Chunks,
        identical,
        text: a.kind.has_lines() && b.kind.has_lines(),
        sizes,
        measures,
        relation,
        is_repetition: false,
    };
    let mut shared = shared.placed(None);
    shared.words = (unit_of(a.kind, b.kind, unit) == Unit::Words).then_some(measures);
    Ok(Comparison {
        shared,
        bytes: None,
    })
}

fn by_bytes(a: &[u8], b: &[u8]) -> Shared {
    let identical = a == b;
    let sizes = (ByteLen(a.len() as u64), ByteLen(b.len() as u64));
    let (mut of_a, mut of_b, found) = if identical {
        let found = Proven {
            relation: Some(Relation::Identical),
            measures: Measures::identical(sizes.0),
            unit: Unit::Bytes,
            sizes,
            has_passage: false,
            is_repetition: false,
        };
        (whole(sizes.0), Vec::new(), found)
    } else {
        // The passes over both files are independent, so they run at the same time.
        let (of_a, (of_b, found)) = both(
            || runs::common_runs(a, b),
            || both(|| runs::common_runs(b, a), || proof::Proven::of_bytes(a, b)),
        );
        (of_a, of_b, judged(found, sizes, Relation::MIN_SHARED))
    };
    let tables = (!identical).then(|| tables_of(a, b)).flatten();
    if let Some((a, b)) = &tables {
        of_a = a.add_rows(of_a, b);
        of_b = b.add_rows(of_b, a);
    }
    FoundRuns {
        of_a,
        of_b,
        ranges_of: if tables.is_some() {
            RangesOf::Rows
        } else {
            RangesOf::Runs
        },
        identical,
        text: ContentKind::of(a).has_lines() && ContentKind::of(b).has_lines(),
        sizes,
        measures: found.measures,
        relation: found.relation,
        is_repetition: found.is_repetition,
    }
    .placed(Some((a, b)))
}

/// Returns the rows of two texts, if both are tables.
fn tables_of<'t>(a: &'t [u8], b: &'t [u8]) -> Option<(TableRows<'t>, TableRows<'t>)> {
    let is_text = |bytes: &[u8]| ContentKind::of_whole(bytes) == ContentKind::Text;
    if !(is_text(a) && is_text(b)) {
        return None;
    }
    TableRows::of(a).zip(TableRows::of(b))
}

/// Returns the only common run of two equal files: the whole file. Empty files have no common run.
fn whole(size: ByteLen) -> Vec<CommonRun> {
    let all = 0..size.0;
    let run = CommonRun {
        a: all.clone(),
        b: all,
    };
    (size.0 > 0).then_some(run).into_iter().collect()
}

/// The common runs of both files before they are placed.
struct FoundRuns {
    of_a: Vec<CommonRun>,
    /// The runs of b that occur in a. In each of them the field `a` is a range of b.
    of_b: Vec<CommonRun>,
    ranges_of: RangesOf,
    identical: bool,
    text: bool,
    sizes: (ByteLen, ByteLen),
    measures: Measures,
    relation: Option<Relation>,
    is_repetition: bool,
}

impl FoundRuns {
    fn placed(mut self, bytes: Option<(&[u8], &[u8])>) -> Shared {
        if !self.identical {
            self.measures = self.measures.below_identical();
        }
        let placed = order::place(self.of_a, bytes);
        let repeats = order::repeats(&placed, &self.of_b);
        drop(self.of_b);
        let counted = bytes.filter(|_| self.text);
        let (lines_a, lines_b) = (
            counted.map(|(a, _)| Lines::of(a)),
            counted.map(|(_, b)| Lines::of(b)),
        );
        let holding = |lines: &Option<Lines<'_>>, range: &Range<u64>| {
            lines.as_ref().map(|lines| lines.holding(range))
        };
        let stretches = |taken: Vec<Range<u64>>, size: ByteLen, lines: &Option<Lines<'_>>| {
            order::without(&(0..size.0), &order::union(taken))
                .into_iter()
                .map(|range| Stretch {
                    lines: holding(lines, &range),
                    range,
                })
                .collect()
        };
        let in_b = placed.iter().map(|(run, _)| run.b.clone());
        let in_b = in_b
            .chain(repeats.iter().map(|run| run.b.clone()))
            .collect();
        let in_a = placed.iter().map(|(run, _)| run.a.clone()).collect();
        let differs_a = stretches(in_a, self.sizes.0, &lines_a);
        let differs_b = stretches(in_b, self.sizes.1, &lines_b);
        let range = |(run, placing): (CommonRun, Placing)| SharedRange {
            lines_a: holding(&lines_a, &run.a),
            lines_b: holding(&lines_b, &run.b),
            a: run.a,
            b: run.b,
            placing,
        };
        Shared {
            ranges: placed.into_iter().map(range).collect(),
            repeats: repeats
                .into_iter()
                .map(|run| range((run, Placing::Again)))
                .collect(),
            differs_a,
            differs_b,
            ranges_of: self.ranges_of,
            identical: self.identical,
            text: self.text,
            members: Vec::new(),
            layer: Layer::Bytes,
            numbers: None,
            words: None,
            payload: None,
            relation: self.relation,
            is_repetition: self.is_repetition,
            sizes: self.sizes,
            measures: self.measures,
        }
    }
}

/// Returns the common chunks, with neighbours joined. If the chunk of b after the previous range is
/// equal to a chunk of a, the two are matched. Otherwise the chunk of a is matched with its first
/// occurrence in b. If a chunk repeats itself more often in a than in b, the surplus is dropped.
/// Padding (all bytes equal) is not evidence and is never returned.
fn by_chunks(a: &ChunkList, b: &ChunkList) -> Vec<CommonRun> {
    /// A chunk, and the number of its repetitions.
    type Repeated = ((ChunkHash, u32), u64);
    let mut first: HashMap<(ChunkHash, u32), (u64, u64)> = HashMap::new();
    let mut at_place: HashMap<u64, Repeated> = HashMap::new();
    for (at, run) in b.positions() {
        let chunk = (run.hash, run.len);
        first.entry(chunk).or_insert((at, run.count));
        at_place.insert(at, (chunk, run.count));
    }
    let mut ranges: Vec<CommonRun> = Vec::new();
    for (at, run) in a.positions() {
        let chunk = (run.hash, run.len);
        if run.constant {
            continue;
        }
        let len = |count: u64| u64::from(run.len) * count.min(run.count);
        if let Some(last) = ranges.last_mut()
            && last.a.end == at
            && let Some(&(next, count)) = at_place.get(&last.b.end)
            && next == chunk
        {
            last.a.end += len(count);
            last.b.end += len(count);
        } else if let Some(&(place, count)) = first.get(&chunk) {
            ranges.push(CommonRun {
                a: at..at + len(count),
                b: place..place + len(count),
            });
        }
    }
    ranges
}

#[cfg(test)]
mod tests;
