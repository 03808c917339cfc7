//! Selects pairs of files whose texts a page shows side by side.
//!
//! The text that two files share is more convincing than a score. So the files of a report's best
//! pairs are read again and shown in two columns. The layout is the same as in `resemble why` and
//! in Forman et al. 2005, figure 4. The caller reads the files ([`Show`]). The files may have
//! changed since the answer. The page shows their present content. A pair that can no longer be
//! read has a note instead of its text.

use std::collections::HashSet;

use resemble_proto::documents::{CompareDocument, GroupsDocument};
use resemble_proto::message::CompareClass;
use resemble_proto::number::Fraction;
use resemble_proto::path::{PathText, fields};
use serde::{Deserialize, Serialize};

/// Two files side by side.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// The path of one file, as the report names it.
    #[serde(flatten, with = "fields::a")]
    pub a: PathText,
    /// The path of the other file, as the report names it.
    #[serde(flatten, with = "fields::b")]
    pub b: PathText,
    /// The share of `a` that is in `b`, according to the report.
    pub a_in_b: Fraction,
    /// The share of `b` that is in `a`, according to the report.
    pub b_in_a: Fraction,
    /// The number of bytes of the smaller file in common runs. For an estimate, the number of bytes
    /// in common chunks.
    pub shared_bytes: u64,
    /// True if these figures are estimates. JSON omits the field if it is false.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub estimate: bool,
    /// True if the rows are lines of text, and false if they are rows of bytes with their offsets.
    pub text: bool,
    /// The rows. Each row has a left and a right side. One side may be missing.
    pub rows: Vec<(Option<Half>, Option<Half>)>,
    /// A sentence about omitted content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// One side of a row.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Half {
    /// A line, or a row of bytes.
    Line {
        /// The number of the line, counted from 1, or the offset of the bytes.
        n: u64,
        /// The pieces of the line. Each has the number of its shared run (0 if only this side has
        /// the text), and its text.
        s: Vec<(u32, String)>,
    },
    /// An omitted stretch.
    Cut {
        /// A description of the omitted part.
        cut: String,
    },
}

/// The present content of two files, in the form of the fields of an [`Evidence`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SideBySide {
    /// See [`Evidence::text`].
    pub text: bool,
    /// See [`Evidence::rows`].
    pub rows: Vec<(Option<Half>, Option<Half>)>,
    /// See [`Evidence::note`].
    pub note: Option<String>,
}

/// A function that reads two files of a report and returns their content for the two columns.
pub type Show<'a> = &'a dyn Fn(&PathText, &PathText) -> SideBySide;

/// A pair of files in a report. The files are not read yet.
#[derive(Clone, Debug)]
struct Pair<'a> {
    a: &'a PathText,
    b: &'a PathText,
    a_in_b: Fraction,
    b_in_a: Fraction,
    shared_bytes: u64,
    estimate: bool,
}

/// Returns the best `count` links of a report of `groups`, but at most three of each cluster.
pub fn of_groups(document: &GroupsDocument, count: usize, show: Show<'_>) -> Vec<Evidence> {
    let links = document.body.clusters.iter().flat_map(|cluster| {
        // A large cluster has at most three links here. Three are enough to show what the cluster
        // shares.
        cluster.links.iter().take(3).map(|link| Pair {
            a: &link.a,
            b: &link.b,
            a_in_b: link.a_in_b,
            b_in_a: link.b_in_a,
            shared_bytes: link.shared_bytes,
            estimate: link.estimate,
        })
    });
    let pairs = best(links.collect(), count);
    side_by_side(&pairs, show)
}

/// Returns the best `count` rows of a comparison, among those with two files that differ.
pub fn of_compare(document: &CompareDocument, count: usize, show: Show<'_>) -> Vec<Evidence> {
    let rows = document.body.entries.iter().filter_map(|row| {
        if matches!(row.class, CompareClass::Same | CompareClass::Moved) {
            return None;
        }
        Some(Pair {
            a: row.a.as_ref()?,
            b: row.b.as_ref()?,
            a_in_b: row.a_in_b,
            b_in_a: row.b_in_a,
            shared_bytes: row.shared_bytes,
            estimate: row.told.estimate,
        })
    });
    let pairs = best(rows.collect(), count);
    side_by_side(&pairs, show)
}

/// Returns the `count` pairs that share the most bytes. A pair that occurs several times is
/// returned once.
fn best(mut pairs: Vec<Pair<'_>>, count: usize) -> Vec<Pair<'_>> {
    pairs.sort_by(|x, y| {
        let by = |p: &Pair<'_>| (p.shared_bytes, p.a_in_b.max(p.b_in_a));
        by(y).cmp(&by(x)).then_with(|| (x.a, x.b).cmp(&(y.a, y.b)))
    });
    let mut seen = HashSet::new();
    pairs.retain(|pair| seen.insert((pair.a, pair.b)));
    pairs.truncate(count);
    pairs
}

fn side_by_side(pairs: &[Pair<'_>], show: Show<'_>) -> Vec<Evidence> {
    let one = |pair: &Pair<'_>| {
        let SideBySide { text, rows, note } = show(pair.a, pair.b);
        Evidence {
            a: pair.a.clone(),
            b: pair.b.clone(),
            a_in_b: pair.a_in_b,
            b_in_a: pair.b_in_a,
            shared_bytes: pair.shared_bytes,
            estimate: pair.estimate,
            text,
            rows,
            note,
        }
    };
    pairs.iter().map(one).collect()
}
