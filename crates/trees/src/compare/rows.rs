//! Builds the answer from classes and links.

use resemble_core::similarity::proof::unit_of;
use resemble_core::{ByteLen, Measures, Params, Relation, Score};
use resemble_proto::message::{
    CompareClass, CompareRow, CompareSummary, Comparison, Header, Looked, OtherRow, PairFigures,
    Partner, Whole,
};
use resemble_proto::number::Fraction;
use resemble_relate::AskError;
use resemble_relate::parallel::ordered;
use resemble_relate::scope::least_run;

use super::classes::{ClassRow, Joined, Known};
use super::discounts::Discounts;
use super::partners::{PartnerQuestion, Partners, is_settled};
use super::sides::{Side, Sides, What, path_text};
use super::trees::{self, Vote};

/// The maximum number of further partners of a row. The overlay also lists at most this number for
/// a file.
const OTHERS: usize = resemble_relate::judge::listing::LISTED;

pub(super) fn answer(
    question: &PartnerQuestion<'_>,
    params: &Params,
    joined: &Joined,
    mut rows: Vec<ClassRow>,
    known: &Known<'_>,
    partners: &Partners,
    discounts: &Discounts,
) -> Result<Whole<Comparison>, AskError> {
    let sides = question.sides;
    let mut summary = CompareSummary::default();
    count(sides, &rows, &mut summary);
    bytes(question, known, partners, &mut summary);
    not_found(question, &rows, known, partners, &mut summary);
    let others = others(sides, joined, &mut summary);
    let trees = trees::moved(sides, &votes(sides, &rows));

    let options = question.options;
    if !options.classes.is_empty() {
        rows.retain(|row| options.classes.contains(&row.class));
    }
    rows.sort_by(|x, y| place(sides, x).cmp(&place(sides, y)));
    let total = rows.len() as u64;
    if let Some(top) = options.top {
        rows.truncate(usize::try_from(top).unwrap_or(usize::MAX));
    }
    let entries = ordered(
        rows.len(),
        || (),
        |at, ()| {
            question.pieces.go_on()?;
            Ok::<_, AskError>(row(question, &rows[at], known, discounts))
        },
    )?;

    let (files, file_bytes, small) = sides.distinct_files();
    let header = Header {
        fresh: sides.moving == 0,
        pending: sides.moving,
        total,
        shown: entries.len() as u64,
        looked: Some(Looked {
            files,
            bytes: file_bytes.0,
            unreadable: sides.unread(),
            skipped: sides.skipped,
            small,
            least_run: least_run(params),
        }),
        ..Header::default()
    };
    let mut errors = sides.errors.clone();
    errors.extend(partners.errors.iter().cloned());
    // If both sides have the same contents, their documents were not taken apart. Then no unread
    // document is reported.
    let [a, b] = question.holders;
    if (0..sides.contents.len() as u32).any(|content| a.has(content) != b.has(content)) {
        errors.extend(sides.unread_documents());
    }
    errors.sort();
    errors.dedup();
    Ok(Whole {
        header,
        body: Comparison {
            summary,
            trees,
            entries,
            others,
        },
        errors,
    })
}

/// Counts each file once, by the class of its own row. A container may have only the rows of the
/// files that it contains, and no row of its own. Then it gets the class of the first of those
/// rows.
fn count(sides: &Sides, rows: &[ClassRow], summary: &mut CompareSummary) {
    let mut counted = [&sides.a, &sides.b].map(|side| vec![false; side.entries.len()]);
    let own = rows.iter().map(|row| (row, true));
    for (row, own) in own.chain(rows.iter().map(|row| (row, false))) {
        for (side, at) in [row.a, row.b].into_iter().enumerate() {
            let Some(at) = at.filter(|_| row.is_about(side) || !own) else {
                continue;
            };
            if !std::mem::replace(&mut counted[side][at as usize], true) {
                summary.count(side, row.class);
            }
        }
    }
}

/// Returns the sort key of a row. Rows with a file of A are sorted by the path in A, then by the
/// path in B. Rows without a file of A follow.
fn place<'a>(sides: &'a Sides, row: &ClassRow) -> (bool, Option<&'a [u8]>, Option<&'a [u8]>) {
    let path = |side: &'a Side, at: Option<u32>| at.map(|at| &*side.entries[at as usize].path);
    let a = path(&sides.a, row.a);
    (a.is_none(), a, path(&sides.b, row.b))
}

fn row(
    question: &PartnerQuestion<'_>,
    row: &ClassRow,
    known: &Known<'_>,
    discounts: &Discounts,
) -> CompareRow {
    let sides = question.sides;
    let entry = |side: usize, at: Option<u32>| {
        at.map(|at| &[&sides.a, &sides.b][side].entries[at as usize])
    };
    let (a, b) = (entry(0, row.a), entry(1, row.b));
    let size = |entry| sides.content_of(entry).map(|content| content.size);
    let (size_a, size_b) = (a.and_then(size), b.and_then(size));
    let unequal = !matches!(row.class, CompareClass::Same | CompareClass::Moved);
    let measures = match row.measures {
        Some(measures) => measures,
        None if unequal => Measures {
            a_in_b: None,
            b_in_a: None,
            resemblance: None,
            shared_bytes: ByteLen::ZERO,
        },
        None => Measures::identical(size_a.unwrap_or_default()),
    };
    let equal_to = |entry| {
        let content = sides.content_of(entry)?;
        let relation = (content.size > ByteLen::ZERO).then_some(Relation::Identical);
        let unit = unit_of(content.kind, content.kind, question.unit()).into();
        Some(PairFigures {
            relation,
            unit,
            ..PairFigures::default()
        })
    };
    let told = if unequal {
        row.told
    } else {
        a.and_then(equal_to).unwrap_or_default()
    };
    let others = if unequal {
        let (side, own, partner) = if row.about_b {
            (1, row.b, row.a)
        } else {
            (0, row.a, row.b)
        };
        // A file that is settled at its own path was not searched for further partners.
        let is_settled = row.class == CompareClass::Edited && is_settled(measures.a_in_b);
        let own = own.filter(|_| question.options.all || !is_settled);
        let further = own.map_or_else(Vec::new, |own| known.further(side, own, partner, OTHERS));
        let further = further.into_iter().filter_map(|(at, figures)| {
            let entry = entry(1 - side, Some(at))?;
            let equal = || {
                let measures = Measures::identical(size(entry).unwrap_or_default());
                (measures, equal_to(entry).unwrap_or_default())
            };
            let (measures, told) = figures.unwrap_or_else(equal);
            Some(Partner {
                path: path_text(&entry.path),
                a_in_b: Fraction::from(measures.a_in_b),
                b_in_a: Fraction::from(measures.b_in_a),
                shared_bytes: measures.shared_bytes.0,
                told,
            })
        });
        further.collect()
    } else {
        Vec::new()
    };
    CompareRow {
        class: row.class,
        a: a.map(|entry| path_text(&entry.path)),
        b: b.map(|entry| path_text(&entry.path)),
        a_in_b: Fraction::from(measures.a_in_b),
        b_in_a: Fraction::from(measures.b_in_a),
        shared_bytes: measures.shared_bytes.0,
        told,
        size_a: size_a.map(ByteLen::get),
        size_b: size_b.map(ByteLen::get),
        copy: row.copy,
        others,
        discount: discounts.of_row(sides, row),
    }
}

/// Sums the bytes of each side that lie in any file of the other side.
fn bytes(
    question: &PartnerQuestion<'_>,
    known: &Known<'_>,
    partners: &Partners,
    summary: &mut CompareSummary,
) {
    let sides = question.sides;
    // Two related files at the same path are included even if no common piece nominated them.
    let mut twins: [Vec<(u32, Score)>; 2] = Default::default();
    let related = partners.twins.iter();
    for twin in related.filter(|twin| twin.told.relation.is_some()) {
        for (side, twins) in twins.iter_mut().enumerate() {
            let twin = twin.seen(side);
            twins.push((twin.a, twin.measures.a_in_b.unwrap_or(Score::ZERO)));
        }
    }
    let mut totals = [(0, 0, 0); 2];
    for (side, of) in [&sides.a, &sides.b].into_iter().enumerate() {
        twins[side].sort_unstable();
        let (mut files, mut all, mut found) = (0, 0u64, 0u64);
        for entry in &of.entries {
            let (Some(number), Some(content)) = (entry.what.content(), sides.content_of(entry))
            else {
                continue;
            };
            files += 1;
            all += content.size.0;
            if question.holders[1 - side].has(number) {
                found += content.size.0;
                continue;
            }
            let after = twins[side].partition_point(|&(content, _)| content <= number);
            let twin = after.checked_sub(1).map(|at| twins[side][at]);
            let twin = twin.filter(|&(content, _)| content == number);
            let covered = partners.covered.get(&number).copied();
            let twin = twin.map(|(_, score)| score);
            let share = known
                .most_inside(side, number)
                .max(twin.max(covered).unwrap_or(Score::ZERO));
            found += (share.get() * content.size.0 as f64) as u64;
        }
        totals[side] = (files, all, found);
    }
    let [of_a, of_b] = totals;
    (summary.files_a, summary.bytes_a, summary.bytes_a_in_b) = of_a;
    (summary.files_b, summary.bytes_b, summary.bytes_b_in_a) = of_b;
}

/// Counts the files without an equal or similar file on the other side.
fn not_found(
    question: &PartnerQuestion<'_>,
    rows: &[ClassRow],
    known: &Known<'_>,
    partners: &Partners,
    summary: &mut CompareSummary,
) {
    let classes = summary.classes;
    (summary.files_a_not_in_b, summary.files_b_not_in_a) = (classes.only_a, classes.only_b);
    let sides = question.sides;
    for row in rows.iter().filter(|row| row.class == CompareClass::Edited) {
        let (Some(a), Some(b)) = (row.a, row.b) else {
            continue;
        };
        let content = |side: &Side, at: u32| side.entries[at as usize].what.content();
        let (Some(a), Some(b)) = (content(&sides.a, a), content(&sides.b, b)) else {
            continue;
        };
        let twin = partners
            .twins
            .binary_search_by_key(&(a, b), |twin| (twin.a, twin.b));
        if twin.is_ok_and(|at| partners.twins[at].told.relation.is_some()) {
            continue;
        }
        let lost = |side: usize, content: u32| {
            !question.holders[1 - side].has(content) && !known.has_links(side, content)
        };
        summary.files_a_not_in_b += u64::from(lost(0, a));
        summary.files_b_not_in_a += u64::from(lost(1, b));
    }
}

/// Returns a row for each path whose two entries differ, if one of the entries is not a readable
/// regular file. Counts these paths, and also paths where both entries are equal. Leaves out a path
/// if both entries are directories, or if one is a directory and the other is missing.
fn others(sides: &Sides, joined: &Joined, summary: &mut CompareSummary) -> Vec<OtherRow> {
    let mut rows = Vec::new();
    for &(a, b) in &joined.others {
        let a = a.map(|at| &sides.a.entries[at as usize]);
        let b = b.map(|at| &sides.b.entries[at as usize]);
        let is_dir = |what: &What| *what == What::Dir;
        let counter = match (a.map(|a| &a.what), b.map(|b| &b.what)) {
            (Some(a), Some(b)) if is_dir(a) && is_dir(b) => continue,
            // A directory of only one side is not listed, because its files are listed. An empty
            // directory holds nothing that could be elsewhere.
            (Some(one), None) | (None, Some(one)) if is_dir(one) => continue,
            (Some(What::Unread), Some(What::Unread)) => &mut summary.other.differ,
            (Some(a), Some(b)) if a == b => {
                summary.other.same += 1;
                continue;
            }
            (Some(_), Some(_)) => &mut summary.other.differ,
            (Some(_), None) => &mut summary.other.only_a,
            (None, _) => &mut summary.other.only_b,
        };
        *counter += 1;
        let path = a.or(b).map(|entry| path_text(&entry.path));
        rows.extend(path.map(|path| OtherRow {
            path,
            a: a.map(|entry| entry.what.word().to_owned()),
            b: b.map(|entry| entry.what.word().to_owned()),
        }));
    }
    rows
}

/// Returns the votes for pairs of directories. Each row with two different paths has one vote.
fn votes(sides: &Sides, rows: &[ClassRow]) -> Vec<Vote> {
    let leads_away = rows
        .iter()
        .filter(|row| !matches!(row.class, CompareClass::Same | CompareClass::Edited));
    let vote = |row: &ClassRow| {
        let (a, b) = (row.a?, row.b?);
        let size = |side: &Side, at: u32| sides.content_of(&side.entries[at as usize]);
        let (size_a, size_b) = (size(&sides.a, a)?.size.0, size(&sides.b, b)?.size.0);
        let part =
            |score: Option<Score>, size: u64| (score.map_or(0.0, Score::get) * size as f64) as u64;
        let (bytes_a, bytes_b) = match row.measures {
            Some(measures) => (part(measures.a_in_b, size_a), part(measures.b_in_a, size_b)),
            None => (size_a, size_b),
        };
        // In a row about a file of B, the file of A has not moved. In the row of a copy, only the
        // copy has moved.
        Some(Vote {
            a,
            b,
            bytes_a: if row.about_b { 0 } else { bytes_a },
            bytes_b: if row.copy && !row.about_b { 0 } else { bytes_b },
        })
    };
    leads_away.filter_map(vote).collect()
}
