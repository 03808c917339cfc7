//! Makes the text of `.similar/.why/NAME`. The command prints the same text if its output is not a
//! terminal.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use resemble_core::printable::is_printable;
use resemble_core::similarity::{Boilerplate, Unit};
use resemble_core::{ByteLen, Params, Relation, Score};
use resemble_index::{PostingKind, Snapshot};
use resemble_proto::message::{Layer, MeasureUnit};
use resemble_relate::AskError;
use resemble_relate::prove::read::bytes_if;
use resemble_relate::renditions::{Rendition, locate, names, occurrences, shown};
use resemble_scan::parts::PartReader;

use crate::find::holders;
use crate::why::layout::{Block, BlockKind};
use crate::why::view::grouped;
use crate::why::{Comparison, MemberMatch, Placing, RangesOf, Shared, compare_with_parts};
use resemble_relate::unread;

/// The maximum number of lines shown in one explanation; the other lines are counted.
const SHOWN: usize = 200;

/// The maximum number of other places with the same content that are named.
const COPIES_SHOWN: usize = 20;

/// Returns the text of `.similar/.why/NAME`: relation, scores, shared ranges, differences.
///
/// `snapshot` shows whether listed scores leave out boilerplate or templates; if they do, the text
/// says so. The templates and the copies in archives also come from `snapshot`.
pub fn explain(
    snapshot: &Snapshot,
    a: &Path,
    b: &Path,
    params: &Params,
    part_reader: Option<&dyn PartReader>,
) -> Result<String, AskError> {
    let terms = (params, &**snapshot.templates());
    let comparison = if snapshot.is_partial() {
        let (a, b) = (known_bytes(snapshot, a)?, known_bytes(snapshot, b)?);
        Comparison::of_bytes(a, b, terms.1, Unit::Words)
    } else {
        compare_with_parts(a, b, terms, part_reader)?
    };
    let mut text = String::new();
    for (name, value) in comparison.shared.summary() {
        // The summary has only the sizes of a and b, so their paths are put in front.
        let of = match name {
            "a" => format!("{}, {value}", printable(a)),
            "b" => format!("{}, {value}", printable(b)),
            _ => value,
        };
        let _ = writeln!(text, "{name:<9} {of}");
    }
    if let Some(limit) = boilerplate_note(snapshot, a, b) {
        text.push_str(&limit);
    }
    let copies = copies_in_archives(snapshot, b)?;
    for copy in copies.iter().take(COPIES_SHOWN) {
        let _ = writeln!(text, "also in   {}", printable(copy));
    }
    if let Some(left) = copies
        .len()
        .checked_sub(COPIES_SHOWN)
        .filter(|&left| left > 0)
    {
        let _ = writeln!(text, "also in   {} more", grouped(left as u64));
    }
    if let Some(part_reader) = part_reader {
        // Both files were just taken apart, and the parts of small files are cached. So this takes
        // little time.
        let unread = [a, b].map(|path| unread::of_path(path, path, part_reader));
        for unread in unread.into_iter().flatten() {
            let label = if unread.is_trouble() {
                "unread"
            } else {
                "left out"
            };
            let said = format!("{}: {}", unread.path.as_path().display(), unread.message);
            let _ = writeln!(text, "{label:<9} {}", printable(Path::new(&said)));
        }
    }
    text.push('\n');
    let (lines, left) = comparison.listed(SHOWN);
    for line in lines {
        text.push_str(&line);
        text.push('\n');
    }
    if left > 0 {
        let _ = writeln!(text, "… and {} more", grouped(left as u64));
    }
    Ok(text)
}

/// Returns the bytes of a visible file, if they are still its indexed content. Another file may be
/// at the path by now.
fn known_bytes(snapshot: &Snapshot, path: &Path) -> Result<Vec<u8>, AskError> {
    let row = snapshot.file_at(path)?;
    let content = row.and_then(|row| row.state.content());
    let row = content
        .map(|content| snapshot.content(content))
        .transpose()?
        .flatten();
    let bytes = row
        .map(|row| bytes_if(path, &row.digest))
        .transpose()?
        .flatten();
    bytes.ok_or_else(|| AskError::NotIndexed(path.to_owned()))
}

impl Shared {
    /// Returns the statements about both files as a whole. Each is a pair of a name and a sentence.
    /// The statements `a` and `b` have the sizes of the files.
    pub fn summary(&self) -> Vec<(&'static str, String)> {
        let (measures, unit) = self.told();
        let unit = MeasureUnit::from(unit).word();
        // If the files are too large to read, the figures are estimates.
        let is_estimate = self.ranges_of == RangesOf::Chunks && !self.identical;
        let about = if is_estimate { "~" } else { "" };
        let percent = |score: Option<Score>, of: &str| match score {
            Some(score) => format!("{about}{}%{of}", score.percent(self.identical)),
            None => "too small to judge".to_owned(),
        };
        let (only_a, only_b) = self.differing_bytes();
        let many = |count: usize, unit: &str| {
            let s = if count == 1 { "" } else { "s" };
            format!("{} {unit}{s}", grouped(count as u64))
        };
        let moved = self
            .ranges
            .iter()
            .filter(|range| range.placing == Placing::Moved)
            .count();
        let shared = if self.members.is_empty() {
            self.shared_ranges(moved, &many(self.ranges.len(), "range"))
        } else {
            self.shared_members(&many)
        };
        let mut pairs = vec![
            ("a", format!("{} bytes", grouped(self.sizes.0.get()))),
            ("b", format!("{} bytes", grouped(self.sizes.1.get()))),
            (
                "relation",
                self.relation.map_or("none", Relation::word).to_owned()
                    + match self.layer {
                        _ if self.is_repetition => {
                            ": most of what both share is a short piece, repeated"
                        }
                        Layer::Bytes if self.relation == Some(Relation::SameText) => {
                            ": the words are the same, the bytes are not"
                        }
                        Layer::Bytes => "",
                        Layer::Text if !self.members.is_empty() => ", by all that both hold",
                        Layer::Text => ", by text: what follows is of the texts",
                    },
            ),
            (
                "a in b",
                percent(measures.a_in_b, &format!(" of its {unit}")),
            ),
            (
                "b in a",
                percent(measures.b_in_a, &format!(" of its {unit}")),
            ),
            ("alike", percent(measures.resemblance, "")),
            ("shared", shared),
        ];
        if let Some(numbers) = &self.numbers {
            let named: Vec<String> = numbers
                .first
                .iter()
                .map(|(a, b)| format!("{a} → {b}"))
                .collect();
            let more = numbers.count - named.len() as u64;
            let more = match more {
                0 => String::new(),
                more => format!(" and {} more", grouped(more)),
            };
            pairs.push((
                "numbers",
                format!("they differ only in numbers: {}{more}", named.join(", ")),
            ));
        }
        if !self.identical && self.members.is_empty() {
            pairs.push((
                "differs",
                format!(
                    "{} bytes of a in {}, {} bytes of b in {}",
                    grouped(only_a),
                    many(self.differs_a.len(), "place"),
                    grouped(only_b),
                    many(self.differs_b.len(), "place"),
                ),
            ));
        }
        pairs
    }
}

impl Shared {
    /// Describes the number of shared bytes and of shared ranges.
    fn shared_ranges(&self, moved: usize, ranges: &str) -> String {
        let mut shared = format!(
            "{} of {} bytes of a in {ranges}",
            grouped(self.range_bytes()),
            grouped(self.sizes.0.get()),
        );
        if moved > 0 {
            let _ = write!(shared, ", {} moved", grouped(moved as u64));
        }
        shared.push_str(match self.ranges_of {
            RangesOf::Runs => " (compared to the byte)",
            RangesOf::Rows => " (compared row by row)",
            RangesOf::Chunks => " (common chunks; the files are too large to compare to the byte)",
        });
        shared
    }

    /// Describes the number of common members.
    fn shared_members(&self, many: &dyn Fn(usize, &str) -> String) -> String {
        let count = |is: &dyn Fn(&MemberMatch) -> bool| {
            self.members.iter().filter(|member| is(member)).count()
        };
        let of_a = count(&|member| member.a.is_some() && !member.again.0);
        let of_b = count(&|member| member.b.is_some() && !member.again.1);
        let equal = count(&|member| member.relation == Some(Relation::Identical));
        let like = count(&|member| {
            member.relation.is_some() && member.relation != Some(Relation::Identical)
        });
        format!(
            "{} equal and {} similar, of {} of a and {} of b",
            many(equal, "member"),
            grouped(like as u64),
            grouped(of_a as u64),
            grouped(of_b as u64),
        )
    }
}

impl MemberMatch {
    fn line(&self) -> String {
        let side = |side: &Option<(Vec<u8>, ByteLen)>| match side {
            Some((names, _)) if names.is_empty() => "(its text)".to_owned(),
            Some((names, _)) => printable(Path::new(OsStr::from_bytes(names))),
            None => String::new(),
        };
        let bytes = |side: &Option<(Vec<u8>, ByteLen)>| {
            let size = side.as_ref().map_or(0, |(_, size)| size.get());
            format!("{} byte{}", grouped(size), if size == 1 { "" } else { "s" })
        };
        let (a, b) = (side(&self.a), side(&self.b));
        match (&self.a, &self.b, &self.measures) {
            (Some(_), Some(_), Some((measures, unit))) => {
                let is_equal = self.relation == Some(Relation::Identical);
                let share = |score: Option<Score>| score.map_or(0, |score| score.percent(is_equal));
                let names = if a == b {
                    format!("a b {a}")
                } else {
                    format!("a {a}  b {b}")
                };
                let how = match self.relation {
                    Some(Relation::Identical) => format!("identical, {}", bytes(&self.a)),
                    relation => format!(
                        "{}, {}% of a's and {}% of b's {}",
                        relation.map_or("different", Relation::word),
                        share(measures.a_in_b),
                        share(measures.b_in_a),
                        MeasureUnit::from(*unit).word(),
                    ),
                };
                let sign = if self.relation.is_some() { '=' } else { '~' };
                format!("{sign} {names}  ({how})")
            }
            (Some(_), ..) => format!("- a {a}  ({})", bytes(&self.a)),
            _ => format!("+ b {b}  ({})", bytes(&self.b)),
        }
    }
}

impl Comparison {
    /// Returns one line for each shared range and each difference, in the order of display. Returns
    /// at most `most` lines, and the number of further ones.
    ///
    /// A line begins with `=` if its range is shared in order, and with `~` if it is shared with
    /// another place (moved, or repeated). It begins with `-` if the range is only in a, and with
    /// `+` if it is only in b. For archives, the lines are about members.
    pub fn listed(&self, most: usize) -> (Vec<String>, usize) {
        let members = &self.shared.members;
        if !members.is_empty() {
            let shown = members.iter().take(most).map(MemberMatch::line).collect();
            return (shown, members.len().saturating_sub(most));
        }
        let layout = super::layout::Layout::of(&self.shared);
        let blocks = layout.blocks();
        let lines = self.lines();
        let place = |side: usize, range: &Range<u64>| -> String {
            match &lines {
                Some(lines) => {
                    let (first, last) = [&lines.0, &lines.1][side].holding(range);
                    if first == last {
                        format!("line {first}")
                    } else {
                        format!("lines {first}-{last}")
                    }
                }
                None => format!("{}-{}", range.start, range.end),
            }
        };
        let line = |block: &Block| -> String {
            let bytes = |range: &Range<u64>| {
                let len = range.end - range.start;
                format!("{} byte{}", grouped(len), if len == 1 { "" } else { "s" })
            };
            let elsewhere = |run: u32, here: usize, range: &Range<u64>| {
                let how = match layout.runs[run as usize - 1].range.placing {
                    Placing::Moved => "moved",
                    Placing::InOrder | Placing::Again => "again",
                };
                let other = ["b", "a"][here];
                let at = block.elsewhere.as_ref().map(|at| place(1 - here, at));
                let at = at.unwrap_or_default();
                format!("({}; {how}: {other} {at})", bytes(range))
            };
            match (block.kind, &block.a, &block.b) {
                (BlockKind::Shared(_), Some(a), Some(b)) => {
                    format!(
                        "= a {:<18} b {:<18} ({})",
                        place(0, a),
                        place(1, b),
                        bytes(a)
                    )
                }
                (BlockKind::Shared(run), Some(a), None) => {
                    format!("~ a {:<39} {}", place(0, a), elsewhere(run, 0, a))
                }
                (BlockKind::Shared(run), None, Some(b)) => {
                    format!(
                        "~ {:<20} b {:<18} {}",
                        "",
                        place(1, b),
                        elsewhere(run, 1, b)
                    )
                }
                (_, Some(a), _) => format!("- a {:<39} ({})", place(0, a), bytes(a)),
                (_, None, Some(b)) => format!("+ {:<20} b {:<18} ({})", "", place(1, b), bytes(b)),
                (_, None, None) => String::new(),
            }
        };
        let shown = blocks.iter().take(most).map(line).collect();
        (shown, blocks.len().saturating_sub(most))
    }
}

/// Returns a note if the listed score of a pair leaves out boilerplate or a template.
fn boilerplate_note(snapshot: &Snapshot, a: &Path, b: &Path) -> Option<String> {
    let limit = snapshot.boilerplate_limit();
    let signature = |path: &Path| {
        let content = snapshot.file_at(path).ok()??.state.content()?;
        snapshot.signature(content).ok()
    };
    let (a, b) = (signature(a)?, signature(b)?);
    let templates = snapshot.templates();
    let mut all = a.fingerprints.iter().chain(&b.fingerprints);
    if all.any(|&f| templates.fingerprint(f)) {
        return Some("note      text marked as template is left out of all scores\n".to_owned());
    }
    let is = |f: &resemble_core::Fingerprint| {
        snapshot
            .is_boilerplate(PostingKind::Fingerprint, f.0)
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

/// Returns the other places in archives and mails that have the content of a member. All these
/// places have one entry in a listing. The result is empty for a file.
fn copies_in_archives(snapshot: &Snapshot, path: &Path) -> Result<Vec<PathBuf>, AskError> {
    let member = locate(snapshot, path)?.and_then(|located| located.member);
    let row = member
        .map(|(_, content)| snapshot.content(content))
        .transpose()?;
    let mut copies = Vec::new();
    for occurrence in row
        .flatten()
        .map_or(Ok(Vec::new()), |row| occurrences(snapshot, &row, true))?
    {
        let place = occurrence.place;
        if occurrence.rendition != Rendition::Own || place.member.is_none() {
            continue;
        }
        let names = names(snapshot, place)?;
        let files = holders(snapshot, place.content, None, None)?;
        copies.extend(files.iter().map(|(file, _)| shown(file, &names)));
    }
    copies.retain(|copy| copy != path);
    copies.sort_unstable();
    Ok(copies)
}

/// Returns a path on one line, even if it has newlines or invalid characters.
fn printable(path: &Path) -> String {
    path.to_string_lossy()
        .chars()
        .map(|c| if is_printable(c) { c } else { '\u{fffd}' })
        .collect()
}
