//! Finds sub-trees of A that are elsewhere in B.
//!
//! If a directory was renamed, each of its files has a row, but a person wants one line. Every row
//! of two different paths votes for pairs of directories. It votes for each pair of a directory
//! above its file of A and a directory above its file of B. The weight of a vote is the number of
//! shared bytes of the row. A directory of A has moved if 70 % of its bytes lie below one directory
//! of B elsewhere.
//!
//! If nested directories hold (nearly) the same bytes, the deepest is named, both in A and in B. A
//! named directory of A is not listed if it is below another named directory. So the answer is that
//! `src/net` has moved to `code/net`, and not that all of A has moved.
//!
//! Files at their old path have no vote. So a sub-tree that is still in its place and has a further
//! copy has not moved.

use std::collections::{BTreeMap, HashMap};
use std::ops::Bound::{Excluded, Unbounded};

use resemble_core::Score;
use resemble_proto::message::TreeRow;
use resemble_proto::number::Fraction;

use super::sides::{Side, Sides, path_text};

/// A directory has moved if this share of its bytes lies in one directory elsewhere.
const MOVED: f64 = 0.7;

/// A deeper directory is named instead of its ancestor if it has this share of the ancestor's moved
/// bytes.
const NEARLY: f64 = 0.9;

/// The minimum number of files of a directory that is listed as moved.
const LEAST_FILES: u64 = 2;

/// The files and bytes below each directory of a side.
struct DirTotals<'a>(HashMap<&'a [u8], (u64, u64)>);

impl<'a> DirTotals<'a> {
    fn of(side: &'a Side, sides: &Sides) -> Self {
        let mut totals: HashMap<&[u8], (u64, u64)> = HashMap::new();
        for entry in &side.entries {
            let Some(content) = sides.content_of(entry) else {
                continue;
            };
            for dir in dirs_above(&entry.path) {
                let total = totals.entry(dir).or_default();
                total.0 += 1;
                total.1 += content.size.0;
            }
        }
        Self(totals)
    }

    fn at(&self, dir: &[u8]) -> (u64, u64) {
        self.0.get(dir).copied().unwrap_or_default()
    }
}

/// The vote of a row with two paths: its two entries, and the number of bytes of each entry that
/// lie in the other.
pub(super) struct Vote {
    pub(super) a: u32,
    pub(super) b: u32,
    pub(super) bytes_a: u64,
    pub(super) bytes_b: u64,
}

/// Returns the directories above a path, the nearest first. The root is the last, as an empty path.
fn dirs_above(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = Some(path);
    std::iter::from_fn(move || {
        let path = rest?;
        let slash = path.iter().rposition(|&byte| byte == b'/');
        let dir = slash.map_or(&path[..0], |slash| &path[..slash]);
        rest = (!path.is_empty() && !dir.is_empty()).then_some(dir);
        Some(dir)
    })
}

/// Returns the moved sub-trees, most bytes first.
pub(super) fn moved(sides: &Sides, votes: &[Vote]) -> Vec<TreeRow> {
    if votes.is_empty() || sides.a.single || sides.b.single {
        return Vec::new();
    }
    // The bytes of each directory of A that lie in each directory of B, and the reverse.
    let mut found: BTreeMap<&[u8], BytesByDir<'_>> = BTreeMap::new();
    for vote in votes {
        let a = &sides.a.entries[vote.a as usize].path;
        let b = &sides.b.entries[vote.b as usize].path;
        for above_a in dirs_above(a) {
            let into = found.entry(above_a).or_default();
            for above_b in dirs_above(b) {
                let bytes = into.entry(above_b).or_default();
                bytes.0 += vote.bytes_a;
                bytes.1 += vote.bytes_b;
            }
        }
    }
    let (totals_a, totals_b) = (
        DirTotals::of(&sides.a, sides),
        DirTotals::of(&sides.b, sides),
    );
    let mut named: Vec<&[u8]> = Vec::new();
    let mut rows = Vec::new();
    // The order is ascending, so a directory is before the directories below it.
    for (dir, into) in &found {
        let below_named = named.iter().any(|above| is_below(dir, above));
        let (files, bytes) = totals_a.at(dir);
        if below_named || files < LEAST_FILES || bytes == 0 {
            continue;
        }
        let most = into.values().map(|&(bytes, _)| bytes).max().unwrap_or(0);
        if (most as f64) < MOVED * bytes as f64 {
            continue;
        }
        let least = NEARLY.mul_add(most as f64, -0.5).max(MOVED * bytes as f64);
        let deepest = into
            .iter()
            .filter(|&(_, &(bytes, _))| bytes as f64 >= least)
            .max_by(|x, y| {
                let key = |dir: &[u8], bytes: u64| (depth(dir), bytes);
                key(x.0, x.1.0)
                    .cmp(&key(y.0, y.1.0))
                    .then_with(|| y.0.cmp(x.0))
            });
        let Some((&to, &(a_in_b, b_in_a))) = deepest else {
            continue;
        };
        if to == *dir {
            continue;
        }
        // If a directory below has nearly all of the moved bytes, it is named instead.
        let nearly = NEARLY * a_in_b as f64;
        let below = (Excluded(*dir), Unbounded);
        let is_deeper = found
            .range::<[u8], _>(below)
            .take_while(|(deeper, _)| deeper.starts_with(dir))
            .filter(|(deeper, _)| is_below(deeper, dir))
            .any(|(_, into)| {
                into.get(to)
                    .is_some_and(|&(bytes, _)| bytes as f64 >= nearly)
            });
        if is_deeper {
            continue;
        }
        named.push(dir);
        let (files_b, bytes_b) = totals_b.at(to);
        let share = |part: u64, whole: u64| {
            Fraction::from(Score::new(part.min(whole) as f64 / whole.max(1) as f64))
        };
        rows.push(TreeRow {
            a: path_text(dir),
            b: path_text(to),
            a_in_b: share(a_in_b, bytes),
            b_in_a: share(b_in_a, bytes_b),
            files_a: files,
            files_b,
            bytes_a: bytes,
            bytes_b,
        });
    }
    rows.sort_by(|x, y| {
        y.bytes_a
            .cmp(&x.bytes_a)
            .then_with(|| x.a.as_bytes().cmp(y.a.as_bytes()))
    });
    rows
}

/// The bytes of one directory of A that lie in each directory of B, and the reverse.
type BytesByDir<'a> = HashMap<&'a [u8], (u64, u64)>;

/// Returns the number of components of a relative path.
fn depth(dir: &[u8]) -> usize {
    if dir.is_empty() {
        0
    } else {
        dir.split(|&byte| byte == b'/').count()
    }
}

fn is_below(path: &[u8], above: &[u8]) -> bool {
    above.is_empty() || (path.starts_with(above) && path.get(above.len()) == Some(&b'/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_above_end_with_the_root() {
        let above = |path: &'static [u8]| dirs_above(path).collect::<Vec<_>>();
        assert_eq!(above(b"f"), [b""]);
        assert_eq!(above(b"a/f"), [&b"a"[..], b""]);
        assert_eq!(above(b"a/b/f"), [&b"a/b"[..], b"a", b""]);
    }
}
