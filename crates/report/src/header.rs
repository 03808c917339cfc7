//! Makes the header of a report: its subject, its totals, and the limits that a reader must know.
//!
//! The page and the workbook show the same header, so this module makes it as plain text.

use std::path::Path;

use resemble_core::Relation;
use resemble_proto::documents::{
    CompareDocument, CoveredDocument, DirsDocument, FindDocument, GroupsDocument, GroupsParameters,
    PairsDocument,
};
use resemble_proto::message::{Header, LeftOut, Looked, OnlyGroups, SoftErrorKind};
use resemble_proto::path::PathText;
use serde_json::Value;

use crate::document::{Common, Extras, Report};
use crate::escaping::visible;
use crate::human::{
    counted, files_and_bytes, human_count, human_size, shared_blocks, tenths_of_percent, utc,
};
use crate::quote::{harmless, quoted};

/// The header of a report.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ReportHeader {
    /// The kind of the report.
    pub title: String,
    /// The directories and files that the report is about, as they were named.
    pub about: String,
    /// The answer in a sentence. The flag is true if the answer is positive.
    pub verdict: Option<(bool, String)>,
    /// The totals. Each is a figure, with the name of what it counts.
    pub figures: Vec<(String, String)>,
    /// Warnings about gaps and possible errors in the answer. Each is a sentence.
    pub warnings: Vec<String>,
    /// Facts about how the answer was made. Each entry is a sentence.
    pub notes: Vec<String>,
    /// The program, the time and the parameters with which the report was made, as keys and values.
    pub made: Vec<(String, String)>,
}

/// Returns the header of a report made at `now`, in seconds since 1970.
pub(crate) fn of(report: Report<'_>, extras: &Extras<'_>, now: u64) -> ReportHeader {
    let common = report.common();
    let mut header = match report {
        Report::Groups(document) => groups(document),
        Report::Compare(document) => compare(document),
        Report::Dirs(document) => dirs(document),
        Report::Covered(document) => covered(document),
        Report::Find(document) => find(document),
        Report::Pairs(document) => pairs(document),
    };
    header.warnings = limits(&common, extras);
    header.made = made(&common, extras.saved, now);
    header
}

fn named(path: &PathText) -> String {
    visible(path.as_bytes())
}

fn all_of(roots: &[PathText]) -> String {
    if roots.is_empty() {
        return "everything that the daemon watches".to_owned();
    }
    let names: Vec<String> = roots.iter().map(named).collect();
    names.join(", ")
}

fn figure(count: u64, label: impl Into<String>) -> (String, String) {
    (human_count(count), label.into())
}

fn plural(count: u64, one: &str, many: &str) -> String {
    format!(
        "{} {}",
        human_count(count),
        if count == 1 { one } else { many }
    )
}

/// Makes a sentence of a note by adding a capital letter and a full stop.
fn sentence(note: &str) -> String {
    let note = harmless(note);
    let mut chars = note.chars();
    let first = chars.next().into_iter().flat_map(char::to_uppercase);
    let mut sentence: String = first.chain(chars).collect();
    if !sentence.ends_with('.') {
        sentence.push('.');
    }
    sentence
}

/// Formats a share of bytes in percent, with one decimal, rounded down. The result is 100 % only if
/// `part` is all of `whole`.
fn part(part: u64, whole: u64) -> String {
    if whole == 0 || part >= whole {
        return "100 %".to_owned();
    }
    format!("{} %", tenths_of_percent(part, whole))
}

fn groups(document: &GroupsDocument) -> ReportHeader {
    let summary = &document.body.summary;
    let GroupsParameters {
        roots, of, only, ..
    } = &document.parameters;
    let mut figures = Vec::new();
    if *only != OnlyGroups::Identical {
        figures.push(figure(
            summary.clusters,
            format!(
                "clusters of similar files: {}",
                files_and_bytes(summary.cluster_files, summary.cluster_bytes)
            ),
        ));
    }
    if *only != OnlyGroups::Near {
        figures.push(figure(
            summary.sets,
            format!(
                "sets of identical files: {}, {} overhead{}",
                counted(summary.set_files, "file"),
                human_size(summary.overhead),
                shared_blocks(summary.shared_blocks)
            ),
        ));
    }
    figures.push(figure(
        summary.files,
        format!("files looked at, {}", human_size(summary.bytes)),
    ));
    let mut notes: Vec<String> = summary.notes.iter().map(|note| sentence(note)).collect();
    if summary.ignored > 0 {
        notes.push(format!(
            "{} ignored because too many files have them: licences, headers, templates.",
            plural(summary.ignored, "piece of text was", "pieces of text were")
        ));
    }
    ReportHeader {
        title: "Similar and identical files".to_owned(),
        about: match of {
            Some(file) => format!("{} among {}", named(file), all_of(roots)),
            None => all_of(roots),
        },
        figures,
        notes,
        ..ReportHeader::default()
    }
}

fn compare(document: &CompareDocument) -> ReportHeader {
    let summary = &document.body.summary;
    let (a, b) = (named(&document.parameters.a), named(&document.parameters.b));
    let left = |missing: u64, all: u64, of: &str, other: &str| {
        figure(
            missing,
            format!(
                "of the {of}'s {} have nothing in the {other}",
                counted(all, "file")
            ),
        )
    };
    let share = |found: u64, all: u64, of: &str, other: &str| {
        let label = format!("of the {of}'s {} are in the {other}", human_size(all));
        (part(found, all), label)
    };
    let same = summary.is_same();
    ReportHeader {
        title: "Two directories by content".to_owned(),
        about: format!("first: {a} · second: {b}"),
        verdict: Some((
            same,
            if same {
                "No differences: every file has the same bytes under the same path.".to_owned()
            } else {
                format!(
                    "{} the same under the same path; the rest differs, moved, or is on one side \
                     only.",
                    plural(summary.classes.same, "file is", "files are")
                )
            },
        )),
        figures: vec![
            share(summary.bytes_a_in_b, summary.bytes_a, "first", "second"),
            left(summary.files_a_not_in_b, summary.files_a, "first", "second"),
            share(summary.bytes_b_in_a, summary.bytes_b, "second", "first"),
            left(summary.files_b_not_in_a, summary.files_b, "second", "first"),
        ],
        ..ReportHeader::default()
    }
}

fn dirs(document: &DirsDocument) -> ReportHeader {
    let pairs = &document.body.pairs;
    let shared = pairs.iter().map(|pair| pair.shared_bytes).sum();
    let identical = pairs.iter().filter(|pair| pair.identical).count() as u64;
    ReportHeader {
        title: "Similar directories".to_owned(),
        about: match &document.parameters.of {
            Some(dir) => format!(
                "{} among {}",
                named(dir),
                all_of(&document.parameters.roots)
            ),
            None => all_of(&document.parameters.roots),
        },
        figures: vec![
            figure(document.header.total, "pairs"),
            figure(identical, "of those shown identical"),
            (
                human_size(shared),
                "shared by those shown, a pair at a time".to_owned(),
            ),
        ],
        ..ReportHeader::default()
    }
}

fn covered(document: &CoveredDocument) -> ReportHeader {
    let body = &document.body;
    let dir = named(&document.parameters.dir);
    let missing = body.missing.len() as u64;
    let is_whole = document.parameters.filter.is_none();
    let recorded = body.recorded.len() as u64;
    let verdict = if body.covered && recorded > 0 {
        format!(
            "{dir} can go: every entry has an equal elsewhere, {} of them only by the digest in a \
             catalogue.",
            human_count(recorded)
        )
    } else if body.covered {
        format!("{dir} can go: every entry has an equal elsewhere, compared byte by byte.")
    } else {
        let listed = if is_whole { "" } else { "of those listed, " };
        let entries = plural(missing, "entry has", "entries have");
        format!("{dir} cannot go: {listed}{entries} no equal elsewhere.")
    };
    ReportHeader {
        title: "Can the directory go?".to_owned(),
        about: format!("{dir} by {}", all_of(&document.parameters.by)),
        verdict: Some((body.covered, verdict)),
        figures: vec![
            figure(body.files, "entries"),
            (human_size(body.bytes), "their size".to_owned()),
            figure(
                missing,
                if is_whole {
                    "not covered"
                } else {
                    "of those listed not covered"
                },
            ),
            figure(body.near.len() as u64, "of these near copies"),
            figure(body.linked.len() as u64, "covered by a hard link"),
            figure(body.copies.len() as u64, "covered by a copy"),
        ],
        ..ReportHeader::default()
    }
}

fn find(document: &FindDocument) -> ReportHeader {
    let parameters = &document.parameters;
    let rows = &document.body.results;
    let identical = rows
        .iter()
        .filter(|row| row.relation == Some(Relation::Identical));
    ReportHeader {
        title: "Similar files".to_owned(),
        about: format!(
            "{} among {}",
            all_of(&parameters.files),
            all_of(&parameters.within)
        ),
        figures: list_figures(&document.header, identical.count() as u64, "files"),
        ..ReportHeader::default()
    }
}

fn pairs(document: &PairsDocument) -> ReportHeader {
    let identical = document.body.pairs.iter().filter(|row| row.identical);
    ReportHeader {
        title: "Pairs of similar files".to_owned(),
        about: all_of(&document.parameters.dirs),
        figures: list_figures(&document.header, identical.count() as u64, "pairs"),
        ..ReportHeader::default()
    }
}

/// Returns the figures of a report whose document has one list.
fn list_figures(header: &Header, identical: u64, what: &str) -> Vec<(String, String)> {
    let mut figures = vec![
        figure(header.total, what),
        figure(identical, "of those shown identical"),
    ];
    figures.extend(header.looked.map(|Looked { files, bytes, .. }| {
        figure(files, format!("files looked at, {}", human_size(bytes)))
    }));
    figures
}

/// Describes in one line what the rules of the daemon's roots leave out. Returns `None` if nothing
/// is left out.
pub fn left_out_in_words(left_out: &[LeftOut]) -> Option<String> {
    if left_out.is_empty() {
        return None;
    }
    let one = |left: &LeftOut| {
        let names = counted(left.entries, "name");
        format!("{names} ({})", left.rule.word())
    };
    let of_root = |rows: &[LeftOut]| {
        let names: Vec<String> = rows.iter().map(one).collect();
        let root = quoted(rows[0].root.as_path());
        format!("{} by the rules of {root}", names.join(", "))
    };
    let all: Vec<String> = left_out
        .chunk_by(|a, b| a.root == b.root)
        .map(of_root)
        .collect();
    Some(format!(
        "left out: {}; --local looks at everything",
        all.join("; ")
    ))
}

/// Returns warnings about what a reader could wrongly assume about the answer.
fn limits(common: &Common<'_>, extras: &Extras<'_>) -> Vec<String> {
    let mut notes = Vec::new();
    let Header {
        fresh,
        pending,
        total,
        shown,
        ..
    } = *common.header;
    if !fresh {
        notes.push(format!(
            "Not up to date: {} still to be read when this was asked.",
            plural(pending, "file was", "files were")
        ));
    }
    if shown < total {
        notes.push(format!(
            "Cut: the first {} of {}.",
            human_count(shown),
            counted(total, "row")
        ));
    }
    let count = |is: fn(SoftErrorKind) -> bool| {
        let errors = common.errors.iter();
        errors.filter(|error| is(error.kind)).count() as u64
    };
    let errors = count(|kind| !matches!(kind, SoftErrorKind::Unread | SoftErrorKind::LeftOut));
    if errors > 0 {
        notes.push(format!(
            "{} could not be looked at; named at the end.",
            plural(errors, "file or directory", "files or directories")
        ));
    }
    let unread = count(|kind| kind == SoftErrorKind::Unread);
    if unread > 0 {
        notes.push(format!(
            "{} could not be read in full; named at the end.",
            counted(unread, "document")
        ));
    }
    let left_out = count(|kind| kind == SoftErrorKind::LeftOut);
    if left_out > 0 {
        notes.push(format!(
            "Of {} something is left out on purpose; named at the end.",
            counted(left_out, "document")
        ));
    }
    notes.extend(left_out_in_words(&common.header.left_out).map(|text| sentence(&text)));
    if let Some(saved) = extras.saved {
        notes.push(format!(
            "Made from the saved report {}; no file was looked at again.",
            visible(saved.as_os_str().as_encoded_bytes())
        ));
    }
    notes
}

fn made(common: &Common<'_>, saved: Option<&Path>, now: u64) -> Vec<(String, String)> {
    let mut rows = vec![
        (
            "Report made".to_owned(),
            format!("{} by resemble {}", utc(now), resemble_proto::VERSION),
        ),
        (
            "Answer by".to_owned(),
            format!("resemble {}", harmless(common.version)),
        ),
        (
            "Up to date".to_owned(),
            if common.header.fresh { "yes" } else { "no" }.to_owned(),
        ),
    ];
    if let Some(saved) = saved {
        let name = visible(saved.as_os_str().as_encoded_bytes());
        rows.push(("Saved report".to_owned(), name));
    }
    if let Some(looked) = common.header.looked {
        let counts = [
            ("Files looked at", looked.files),
            ("Their bytes", looked.bytes),
            ("Unreadable", looked.unreadable),
            ("Left out by rule", looked.skipped),
            ("Too small to be judged unless identical", looked.small),
            (
                "Shortest common run seen for certain, bytes",
                looked.least_run,
            ),
        ];
        rows.extend(counts.map(|(key, count)| (key.to_owned(), human_count(count))));
    }
    if let Value::Object(parameters) = &common.parameters {
        for (key, value) in parameters {
            rows.push((format!("Parameter {key}"), shown(value)));
        }
    }
    rows
}

/// Formats the value of a parameter for people.
fn shown(value: &Value) -> String {
    match value {
        Value::Null => "–".to_owned(),
        Value::Bool(yes) => if *yes { "yes" } else { "no" }.to_owned(),
        Value::String(text) => visible(text.as_bytes()),
        Value::Number(number) => number.to_string(),
        Value::Array(values) if values.is_empty() => "–".to_owned(),
        Value::Array(values) => values.iter().map(shown).collect::<Vec<_>>().join(", "),
        Value::Object(_) => match serde_json::from_value::<PathText>(value.clone()) {
            Ok(path) => named(&path),
            Err(_) => visible(value.to_string().as_bytes()),
        },
    }
}

#[cfg(test)]
mod tests {
    use resemble_proto::message::LeftOutWord;

    use super::*;

    #[test]
    fn what_roots_leave_out_is_one_line() {
        let left = |root: &str, rule, entries| LeftOut {
            root: root.into(),
            rule,
            entries,
        };
        assert_eq!(left_out_in_words(&[]), None);
        let rows = [
            left("/a b", LeftOutWord::Exclude, 1_200),
            left("/a b", LeftOutWord::MaxSize, 1),
            left("/c", LeftOutWord::Ignore, 2),
        ];
        let line = left_out_in_words(&rows).unwrap_or_default();
        assert_eq!(
            line,
            "left out: 1,200 names (exclude), 1 name (max-size) by the rules of '/a b'; 2 names \
             (ignore) by the rules of /c; --local looks at everything"
        );
    }
}
