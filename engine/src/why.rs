//! Where two files agree.
//!
//! Both are read (never more than [`LARGEST_READ`] each) and compared to the byte; of
//! larger files the common chunks are shown, whose ranges end at cut points rather than at the first
//! differing byte. Which of the two it was is said.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::ops::Range;
use std::path::Path;

use resemble_core::similarity::runs;
use resemble_core::{
    ByteLen, ChunkHash, ChunkList, ContentKind, Measures, Params, Relation, Score, similarity,
};
use resemble_index::Snapshot;

use crate::ask::{AskError, LARGEST_READ, bytes_of, exact_measures};
use crate::find::{estimate, identical_measures, read_now};

/// A stretch of a and the equal stretch of b.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedRange {
    /// Bytes of a.
    pub a: Range<u64>,
    /// Bytes of b, as many.
    pub b: Range<u64>,
    /// First and last line of a, from 1, if both files are text and were read.
    pub lines_a: Option<(u64, u64)>,
    /// First and last line of b.
    pub lines_b: Option<(u64, u64)>,
}

/// Where two files agree, and how much.
#[derive(Clone, Debug, PartialEq)]
pub struct Shared {
    /// In the order of a; no byte of a twice.
    pub ranges: Vec<SharedRange>,
    /// The ranges are exact to the byte; otherwise they are those of common chunks.
    pub exact: bool,
    /// Both files have the same bytes.
    pub identical: bool,
    /// Sizes of a and b.
    pub sizes: (ByteLen, ByteLen),
    /// The measures that belong to the ranges.
    pub measures: Measures,
}

/// The shared ranges of two files as they are now.
pub fn shared_ranges(a: &Path, b: &Path, params: &Params) -> Result<Shared, AskError> {
    let size = |path: &Path| -> Result<ByteLen, AskError> {
        std::fs::symlink_metadata(path)
            .map(|meta| ByteLen(meta.len()))
            .map_err(|source| AskError::Unreadable {
                path: path.to_owned(),
                source,
            })
    };
    if size(a)?.max(size(b)?) <= LARGEST_READ {
        return Ok(by_bytes(&bytes_of(a)?, &bytes_of(b)?));
    }
    let (a, b) = (read_now(a, params)?, read_now(b, params)?);
    let identical = a.content == b.content;
    let measures = if identical {
        identical_measures(a.size)
    } else {
        estimate(
            (&a.sketch(), a.kind),
            (&b.sketch(), b.kind),
            &similarity::NoBoilerplate,
        )
    };
    let ranges = by_chunks(&a.chunks, &b.chunks);
    Ok(Shared {
        ranges,
        exact: false,
        identical,
        sizes: (a.size, b.size),
        measures,
    })
}

fn by_bytes(a: &[u8], b: &[u8]) -> Shared {
    let identical = a == b;
    let sizes = (ByteLen(a.len() as u64), ByteLen(b.len() as u64));
    let text = (ContentKind::of(a), ContentKind::of(b)) == (ContentKind::Text, ContentKind::Text);
    let runs = if identical {
        let all = 0..a.len() as u64;
        vec![runs::CommonRun {
            a: all.clone(),
            b: all,
        }]
    } else {
        runs::common_runs(a, b)
    };
    let (lines_a, lines_b) = (text.then(|| Lines::of(a)), text.then(|| Lines::of(b)));
    let ranges = runs
        .into_iter()
        .filter(|run| !run.a.is_empty())
        .map(|run| SharedRange {
            lines_a: lines_a.as_ref().map(|lines| lines.holding(&run.a)),
            lines_b: lines_b.as_ref().map(|lines| lines.holding(&run.b)),
            a: run.a,
            b: run.b,
        })
        .collect();
    let measures = if identical {
        identical_measures(sizes.0)
    } else {
        exact_measures(a, b)
    };
    Shared {
        ranges,
        exact: true,
        identical,
        sizes,
        measures,
    }
}

/// Where the lines of a text begin.
struct Lines(Vec<u64>);

impl Lines {
    fn of(text: &[u8]) -> Self {
        let feeds = text.iter().enumerate().filter(|&(_, &byte)| byte == b'\n');
        Self(
            std::iter::once(0)
                .chain(feeds.map(|(at, _)| at as u64 + 1))
                .collect(),
        )
    }

    /// First and last line, from 1, of a range that is not empty.
    fn holding(&self, range: &Range<u64>) -> (u64, u64) {
        let line = |at: u64| self.0.partition_point(|&begin| begin <= at) as u64;
        (line(range.start), line(range.end - 1))
    }
}

/// Common chunks, neighbours joined. Each chunk of a is matched with the one that continues the
/// range before it, else with its first occurrence in b.
fn by_chunks(a: &ChunkList, b: &ChunkList) -> Vec<SharedRange> {
    let mut first: HashMap<(ChunkHash, u32), u64> = HashMap::new();
    let mut at_place: HashMap<u64, (ChunkHash, u32)> = HashMap::new();
    for (at, run) in b.positions() {
        first.entry((run.hash, run.len)).or_insert(at);
        at_place.insert(at, (run.hash, run.len));
    }
    let mut ranges: Vec<SharedRange> = Vec::new();
    for (at, run) in a.positions() {
        let chunk = (run.hash, run.len);
        if run.constant {
            continue;
        }
        let Some(&place) = first.get(&chunk) else {
            continue;
        };
        let len = u64::from(run.len) * run.count;
        match ranges.last_mut() {
            Some(last) if last.a.end == at && at_place.get(&last.b.end) == Some(&chunk) => {
                last.a.end += len;
                last.b.end += len;
            }
            _ => ranges.push(SharedRange {
                a: at..at + len,
                b: place..place + len,
                lines_a: None,
                lines_b: None,
            }),
        }
    }
    ranges
}

/// The ranges shown in one explanation; the rest is counted.
const SHOWN: usize = 200;

/// The text of `.similar/.why/NAME`: relation, scores, shared ranges.
///
/// `snapshot` gives the scores that the listing showed, if both files are indexed.
pub fn explain(
    snapshot: &Snapshot,
    a: &Path,
    b: &Path,
    params: &Params,
) -> Result<String, AskError> {
    let shared = shared_ranges(a, b, params)?;
    let relation = similarity::relation(
        shared.identical,
        shared.sizes.0,
        shared.sizes.1,
        &shared.measures,
        Relation::MIN_SHARED,
    );
    let percent = |score: Option<Score>| match score {
        Some(score) => format!("{}%", score.percent(shared.identical)),
        None => "too small to judge".to_owned(),
    };
    let mut text = String::new();
    let _ = writeln!(text, "a         {}", printable(a));
    let _ = writeln!(text, "b         {}", printable(b));
    let _ = writeln!(
        text,
        "relation  {}",
        relation.map_or("none", Relation::word)
    );
    let _ = writeln!(text, "a in b    {}", percent(shared.measures.a_in_b));
    let _ = writeln!(text, "b in a    {}", percent(shared.measures.b_in_a));
    let _ = writeln!(text, "alike     {}", percent(shared.measures.resemblance));
    let total: u64 = shared
        .ranges
        .iter()
        .map(|range| range.a.end - range.a.start)
        .sum();
    let how = if shared.exact {
        "compared to the byte"
    } else {
        "common chunks; the files are too large to read whole"
    };
    let _ = writeln!(
        text,
        "shared    {} of {} bytes of a in {} {} ({how})",
        grouped(total),
        grouped(shared.sizes.0.get()),
        shared.ranges.len(),
        if shared.ranges.len() == 1 {
            "range"
        } else {
            "ranges"
        },
    );
    if let Some(limit) = boilerplate_note(snapshot, a, b) {
        text.push_str(&limit);
    }
    text.push('\n');
    for range in shared.ranges.iter().take(SHOWN) {
        let _ = match (range.lines_a, range.lines_b) {
            (Some(lines_a), Some(lines_b)) => {
                writeln!(
                    text,
                    "a {}  b {}  ({} bytes)",
                    lines(lines_a),
                    lines(lines_b),
                    grouped(range.a.end - range.a.start)
                )
            }
            _ => writeln!(
                text,
                "a {}-{}  b {}-{}  ({} bytes)",
                range.a.start,
                range.a.end,
                range.b.start,
                range.b.end,
                grouped(range.a.end - range.a.start),
            ),
        };
    }
    if shared.ranges.len() > SHOWN {
        let _ = writeln!(text, "… and {} more ranges", shared.ranges.len() - SHOWN);
    }
    Ok(text)
}

fn lines((first, last): (u64, u64)) -> String {
    if first == last {
        format!("line {first}")
    } else {
        format!("lines {first}-{last}")
    }
}

/// A sentence for a pair whose listed score leaves boilerplate aside.
fn boilerplate_note(snapshot: &Snapshot, a: &Path, b: &Path) -> Option<String> {
    let limit = snapshot.boilerplate_limit();
    let signature = |path: &Path| {
        let content = snapshot.file_at(path).ok()??.state.content()?;
        snapshot.signature(content).ok()
    };
    let (a, b) = (signature(a)?, signature(b)?);
    let is = |f: &resemble_core::Fingerprint| {
        snapshot
            .is_boilerplate(resemble_index::PostingKind::Fingerprint, f.0)
            .unwrap_or(false)
    };
    let common = a
        .fingerprints
        .iter()
        .chain(&b.fingerprints)
        .filter(|f| is(f))
        .count();
    (common > 0).then(|| {
        format!(
            "note      text that more than {limit} contents have is left out of listed scores\n"
        )
    })
}

/// A number with its thousands apart: `12,345`.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A path on one line, whatever its bytes.
fn printable(path: &Path) -> String {
    path.to_string_lossy()
        .chars()
        .map(|c| if c.is_control() { '\u{fffd}' } else { c })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped_by_thousands() {
        for (number, text) in [
            (0, "0"),
            (999, "999"),
            (1000, "1,000"),
            (1_234_567, "1,234,567"),
        ] {
            assert_eq!(grouped(number), text);
        }
    }

    #[test]
    fn lines_of_ranges() {
        let lines = Lines::of(b"one\ntwo\nthree");
        assert_eq!(lines.holding(&(0..3)), (1, 1));
        assert_eq!(lines.holding(&(0..4)), (1, 1));
        assert_eq!(lines.holding(&(3..5)), (1, 2));
        assert_eq!(lines.holding(&(8..13)), (3, 3));
    }

    #[test]
    fn identical_bytes_are_one_range() {
        let text = b"a line that is here\n".repeat(40);
        let shared = by_bytes(&text, &text);
        assert!(shared.identical && shared.exact);
        assert_eq!(shared.ranges.len(), 1);
        assert_eq!(shared.ranges[0].lines_a, Some((1, 40)));
    }

    #[test]
    fn chunk_ranges_join_and_name_equal_bytes() {
        let params = Params::default();
        let mut noise = 1u64;
        let mut byte = || {
            noise = noise
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (noise >> 56) as u8
        };
        let a: Vec<u8> = (0..100_000).map(|_| byte()).collect();
        let mut b = a.clone();
        b.splice(50_000..50_010, *b"0123456789ab");
        let digest = |bytes: &[u8]| resemble_core::Digest::of(bytes, &params);
        let ranges = by_chunks(&digest(&a).chunks, &digest(&b).chunks);
        assert_eq!(ranges.len(), 2, "{ranges:?}");
        for range in &ranges {
            let (from, to) = (range.a.start as usize, range.a.end as usize);
            assert_eq!(a[from..to], b[range.b.start as usize..range.b.end as usize]);
        }
        assert!(ranges.iter().map(|r| r.a.end - r.a.start).sum::<u64>() > 90_000);
    }
}
