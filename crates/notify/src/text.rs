//! Describes alerts in words. A file name may contain any byte, so it is quoted unless it is one
//! plain word.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use resemble_core::Relation;
use resemble_proto::message::{AlertKind, AlertRow};
use resemble_report::human::{counted, human_count, human_size};
use resemble_report::lines::TextStyle;
use resemble_report::quote::quoted;

/// Describes an alert in one sentence without line breaks.
pub fn sentence(row: &AlertRow) -> String {
    let (a, b) = (quoted(row.a.as_path()), quoted(row.b.as_path()));
    match row.kind {
        AlertKind::Tree => format!("{a} is a copy of {b} ({})", counted(row.files, "file")),
        AlertKind::Summary => {
            let what = counted(row.files, "more alert");
            match row.since {
                Some(since) => {
                    format!("{what} below {a}: `resemble alerts --since {since}` lists them")
                }
                None => format!("{what} below {a}, which were not reported one by one"),
            }
        }
        AlertKind::File => {
            let percent = row.a_in_b.max(row.b_in_a).percent(false);
            let share = percent.map_or(String::new(), |percent| format!(" ({percent}%)"));
            match row.relation {
                Some(Relation::Identical) => format!("{a} is identical to {b}"),
                Some(Relation::SameText) => format!("{a} has the same text as {b}"),
                Some(Relation::Contains) => format!("{a} contains {b}{share}"),
                Some(Relation::Contained) => format!("{a} is contained in {b}{share}"),
                Some(Relation::Near) | None => format!("{a} is nearly {b}{share}"),
                Some(Relation::Shares) => format!("{a} shares text or data with {b}{share}"),
            }
        }
    }
}

/// The maximum number of folders, and of the largest alerts, on the digest page of a day.
const FOLDERS: usize = 5;
const LARGEST: usize = 10;

/// Returns one page for each day, oldest first. A page has the number of alerts, their folders, and
/// the largest alerts. `style` formats the times.
pub fn digest(rows: &[AlertRow], style: TextStyle) -> String {
    let mut days: BTreeMap<String, Vec<&AlertRow>> = BTreeMap::new();
    for row in rows {
        let day = style.time(row.time)[..10].to_owned();
        days.entry(day).or_default().push(row);
    }
    let mut text = String::new();
    for (day, rows) in days {
        if !text.is_empty() {
            text.push('\n');
        }
        page(&mut text, &day, &rows, style);
    }
    text
}

/// Returns the number of alerts that a row represents.
fn alerts(row: &AlertRow) -> u64 {
    if row.kind == AlertKind::Summary {
        row.files
    } else {
        1
    }
}

fn page(text: &mut String, day: &str, rows: &[&AlertRow], style: TextStyle) {
    let count: u64 = rows.iter().map(|row| alerts(row)).sum();
    let mut folders: BTreeMap<&Path, u64> = BTreeMap::new();
    for row in rows {
        let folder = match row.kind {
            AlertKind::File => row.a.as_path().parent().unwrap_or(row.a.as_path()),
            AlertKind::Tree | AlertKind::Summary => row.a.as_path(),
        };
        *folders.entry(folder).or_default() += alerts(row);
    }
    let mut folders: Vec<(&Path, u64)> = folders.into_iter().collect();
    folders.sort_by_key(|(folder, count)| (u64::MAX - count, *folder));
    let mut largest: Vec<&AlertRow> = rows.to_vec();
    largest.sort_by_key(|row| {
        let is_summary = row.kind == AlertKind::Summary;
        (
            is_summary,
            u64::MAX - row.files,
            u64::MAX - row.shared_bytes,
            row.seq,
        )
    });
    // Writing to a string cannot fail.
    writeln!(
        text,
        "{day}: {} (days are in {})\n",
        counted(count, "alert"),
        style.zone.name
    )
    .ok();
    for (folder, count) in folders.iter().take(FOLDERS) {
        writeln!(text, "{:>6}  in {}", human_count(*count), quoted(folder)).ok();
    }
    if let Some(more) = folders.len().checked_sub(FOLDERS).filter(|more| *more > 0) {
        writeln!(
            text,
            "        and in {}",
            counted(more as u64, "more folder")
        )
        .ok();
    }
    text.push('\n');
    for row in largest.iter().take(LARGEST) {
        let clock = style.time(row.time);
        let size = match row.shared_bytes {
            0 => String::new(),
            shared => format!(", {} shared", human_size(shared)),
        };
        writeln!(text, "  {}  {}{size}", &clock[11..16], sentence(row)).ok();
    }
    if let Some(more) = rows.len().checked_sub(LARGEST).filter(|more| *more > 0) {
        let since = rows
            .iter()
            .map(|row| row.seq)
            .min()
            .unwrap_or(1)
            .saturating_sub(1);
        let more = counted(more as u64, "smaller one");
        writeln!(text, "  and {more}: `resemble alerts --since {since}`").ok();
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use resemble_proto::number::Fraction;

    use super::*;

    pub(crate) fn row(a: &str, b: &str) -> AlertRow {
        AlertRow {
            seq: 1,
            time: 1_788_266_096,
            kind: AlertKind::File,
            a: a.into(),
            b: b.into(),
            relation: Some(Relation::Near),
            a_in_b: Fraction::from_millionths(920_000),
            b_in_a: Fraction::from_millionths(900_000),
            shared_bytes: 5000,
            files: 1,
            since: None,
            owner_a: None,
            owner_b: None,
        }
    }

    pub(crate) fn tree(a: &str, b: &str, files: u64) -> AlertRow {
        AlertRow {
            kind: AlertKind::Tree,
            a_in_b: Fraction::NONE,
            b_in_a: Fraction::NONE,
            shared_bytes: 0,
            files,
            ..row(a, b)
        }
    }

    #[test]
    fn a_sentence_is_one_line_whatever_the_name_is() {
        assert_eq!(sentence(&row("/r/a", "/r/b")), "/r/a is nearly /r/b (92%)");
        assert_eq!(
            sentence(&tree("/r/a b", "/r/c", 312)),
            "'/r/a b' is a copy of /r/c (312 files)"
        );
        let hostile = row("/r/a\nTo: all\r\x1b[2J\u{202e}", "/r/b");
        let line = sentence(&hostile);
        assert!(!line.contains(['\n', '\r', '\x1b', '\u{202e}']), "{line:?}");
    }

    #[test]
    fn a_digest_says_how_many_where_and_the_largest() {
        let mut rows: Vec<AlertRow> = (0..12)
            .map(|n| AlertRow {
                seq: n + 1,
                shared_bytes: 1000 + n,
                ..row(&format!("/r/new/{n}"), "/r/b")
            })
            .collect();
        rows.push(AlertRow {
            seq: 13,
            ..tree("/s/copy", "/s/tree", 312)
        });
        rows.push(AlertRow {
            seq: 14,
            time: 1_788_266_096 + 86_400,
            ..row("/r/late", "/r/b")
        });
        let page = digest(&rows, TextStyle::default());
        let lines: Vec<&str> = page.lines().collect();
        assert_eq!(lines[0], "2026-09-01: 13 alerts (days are in UTC)");
        assert_eq!(lines[2], "    12  in /r/new");
        assert_eq!(lines[3], "     1  in /s/copy");
        assert_eq!(
            lines[5],
            "  12:34  /s/copy is a copy of /s/tree (312 files)"
        );
        assert_eq!(
            lines[6],
            "  12:34  /r/new/11 is nearly /r/b (92%), 1011 B shared"
        );
        assert!(
            page.contains("and 3 smaller ones: `resemble alerts --since 0`"),
            "{page}"
        );
        assert!(page.contains("\n2026-09-02: 1 alert "), "{page}");
        assert_eq!(digest(&[], TextStyle::default()), "");
    }
}
