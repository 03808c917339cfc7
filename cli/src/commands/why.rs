//! `resemble why`: shows where two files agree and differ.
//!
//! A comparison of two files needs no statistics and no index. So no daemon is asked: this process
//! reads both files. On a terminal, the answer is printed in two columns with colours
//! ([`resemble_screen::columns`]). In a pipe, it is a list of ranges. Formats for programs have
//! every range. Text for people has a bounded number of lines.

mod diff;

use resemble_arguments::{Global, RowFormat, WhyArgs};
use resemble_core::similarity::Unit;
use std::ffi::OsStr;
use std::ops::Range;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use resemble_core::{ByteLen, Params};
use resemble_proto::documents::Document;
use resemble_proto::message::{
    ChangedNumber, Differs, Explanation, Header, MeasureUnit, SoftError, WhyMember, WhyParameters,
    WhyRange, WhyStretch, WhyTotals,
};
use resemble_proto::number::Fraction;
use resemble_proto::path::PathText;
use resemble_proto::places::Env;
use resemble_query::why::{
    self, Comparison, MemberMatch, RangesOf, Shared, SharedRange, Stretch, ViewOptions,
};
use resemble_relate::AskError;
use resemble_relate::unread;
use resemble_report::human::human_count;
use resemble_report::quote::quoted;
use resemble_report::table::{Style, write_table};
use resemble_scan::parts::{PartReader, RecentParts};
use resemble_screen::columns;

use crate::backend::{self, formats};
use crate::error::{CliError, CliResult, Outcome};
use crate::names;
use crate::ui::{self, Cell, Tint, Ui};

/// The maximum number of lines of the list for people. Any further lines are only counted.
const LISTED: usize = 1000;

pub(super) fn run(ui: &mut Ui, env: &Env, global: &Global, args: &WhyArgs) -> CliResult {
    if args.format != RowFormat::Text && (args.side_by_side || args.diff) {
        let option = if args.diff {
            "--diff"
        } else {
            "--side-by-side"
        };
        return Err(CliError::Usage(format!(
            "{option} is for people; leave out --format"
        )));
    }
    let (a, b) = match [&args.a, &args.b].map(|file| subject(file, args.layer.is_on())) {
        [Ok(a), Ok(b)] => (a, b),
        failed => return unexplained(ui, args, failed.map(Result::err)),
    };
    let inode = |of: &Subject| of.inode;
    if inode(&a).is_some() && inode(&a) == inode(&b) {
        ui.note("both names lead to one file");
    }
    if args.diff && (inode(&a).is_none() || inode(&b).is_none()) {
        return Err(CliError::Usage(
            "--diff needs two files; a member of an archive is not one".to_owned(),
        ));
    }
    let progress = ui.progress("comparing");
    // The reader keeps the parts that it unpacked last. So a small file is unpacked only once, for
    // the comparison and for the list of unreadable parts.
    let formats = formats(args.layer.is_on()).map(|formats| RecentParts::new(Arc::new(formats)));
    let part_reader = formats.as_ref().map(|formats| formats as &dyn PartReader);
    let params = Params::default();
    let templates = backend::templates(ui, env, global, &params);
    let templates = templates.map(|store| store.current().0.templates);
    let templates = templates.unwrap_or_default();
    let terms = (&params, &*templates);
    let comparison = match part_reader {
        Some(_) => why::compare_with_parts(&a.real, &b.real, terms, part_reader),
        None => why::compare(&a.real, &b.real, terms, Unit::Bytes),
    };
    let comparison =
        comparison.map_err(|error| as_named(error, &[(&a.real, &args.a), (&b.real, &args.b)]));
    drop(progress);
    let comparison = match comparison {
        Ok(comparison) => comparison,
        Err(error) => return unexplained(ui, args, [Some(error), None]),
    };
    let errors = part_reader.map(|part_reader| {
        let sides = [(&a.real, &args.a), (&b.real, &args.b)].into_iter();
        let said = sides.filter_map(|(real, name)| unread::of_path(real, name, part_reader));
        said.collect::<Vec<SoftError>>()
    });
    let errors = errors.unwrap_or_default();
    let has_gaps = errors.iter().any(SoftError::is_trouble);
    let outcome = Outcome::of(comparison.shared.relation.is_some()).with_errors(has_gaps);
    ui.redirect(args.output.as_deref());
    if args.diff {
        diff::hand_over(ui, args)?;
        return Ok(outcome);
    }
    match args.format {
        RowFormat::Text => print_text(ui, args, &comparison)?,
        RowFormat::Json => {
            let document = document(args, &comparison, errors.clone());
            ui.write_data(|out| document.write_json(out))?;
        }
        RowFormat::Jsonl => {
            let document = document(args, &comparison, errors.clone());
            ui.write_data(|out| document.write_jsonl(out))?;
        }
        RowFormat::Csv => print_table(ui, args, &comparison, Style::Csv)?,
        RowFormat::Tsv => print_table(ui, args, &comparison, Style::Tsv)?,
    }
    ui.soft_errors(&errors);
    ui.flush()?;
    Ok(outcome)
}

/// Reports files that could not be read. A JSON document lists them as errors, and has no figures.
/// For other formats, the first error is returned.
fn unexplained(ui: &mut Ui, args: &WhyArgs, failed: [Option<CliError>; 2]) -> CliResult {
    let mut errors = args.format.errors();
    for failed in failed.into_iter().flatten() {
        match (failed, &mut errors) {
            (CliError::File { path, source, .. }, Some(errors)) => {
                errors.push(SoftError::of_io(path.as_path().into(), &source));
            }
            (other, _) => return Err(other),
        }
    }
    let errors = errors.unwrap_or_default();
    let totals = WhyTotals {
        a_in_b: Fraction::NONE,
        b_in_a: Fraction::NONE,
        resemblance: Fraction::NONE,
        ..WhyTotals::default()
    };
    let body = Explanation {
        totals,
        ..Explanation::default()
    };
    let header = Header {
        fresh: true,
        ..Header::default()
    };
    let document = Document::new(parameters(args), header, body, errors.clone());
    ui.redirect(args.output.as_deref());
    ui.write_data(|out| match args.format {
        RowFormat::Jsonl => document.write_jsonl(out),
        _ => document.write_json(out),
    })?;
    ui.soft_errors(&errors);
    ui.flush()?;
    Ok(Outcome::Incomplete)
}

/// A file, or a member of an archive.
pub(super) struct Subject {
    pub(super) real: PathBuf,
    /// Device and inode of a file; `None` for a member.
    inode: Option<(u64, u64)>,
}

/// Finds the file that a name means, or a member of an archive. A member is named by the archive's
/// name, `!` and its own name.
pub(super) fn subject(shown: &Path, into_members: bool) -> CliResult<Subject> {
    match file(shown) {
        Ok((real, metadata)) => Ok(Subject {
            real,
            inode: Some((metadata.dev(), metadata.ino())),
        }),
        Err(error) => match names::member_of(shown).filter(|_| into_members) {
            Some(member) => Ok(Subject {
                real: member.real(),
                inode: None,
            }),
            // A catalogue does not have enough of a file for a comparison.
            None => match names::required(shown) {
                Ok(named) if named.is_catalogued() => {
                    Err(AskError::Elsewhere { path: named.shown }.into())
                }
                _ => Err(error),
            },
        },
    }
}

/// Returns the real path of a file, and its metadata. For a directory, the error names the command
/// to use instead.
fn file(shown: &Path) -> CliResult<(PathBuf, std::fs::Metadata)> {
    let failed = CliError::file("read", shown);
    let real = std::fs::canonicalize(shown).map_err(&failed)?;
    let metadata = std::fs::symlink_metadata(&real).map_err(failed)?;
    if metadata.is_dir() {
        return Err(CliError::Usage(format!(
            "{} is a directory; `resemble compare A B` compares directories",
            quoted(shown)
        )));
    }
    Ok((real, metadata))
}

/// Converts an error to a [`CliError`] in which each file has the name that the user gave.
pub(super) fn as_named(error: AskError, names: &[(&PathBuf, &PathBuf)]) -> CliError {
    match error {
        AskError::Unreadable { path, source } => {
            let shown = names.iter().find(|(real, _)| **real == path);
            CliError::file("read", shown.map_or(&path, |(_, shown)| shown))(source)
        }
        other => CliError::Ask(other),
    }
}

fn print_text(ui: &mut Ui, args: &WhyArgs, comparison: &Comparison) -> CliResult<()> {
    let shared = &comparison.shared;
    let in_columns = args.side_by_side || (ui.is_terminal() && !args.matches_only);
    ui.page();
    if !shared.members.is_empty() {
        if !args.matches_only {
            print_summary(ui, args, comparison)?;
            ui.write(|out| writeln!(out))?;
        }
        return print_list(ui, comparison, args.matches_only);
    }
    if args.matches_only {
        let default = if shared.text { 50 } else { 2 };
        let options = ViewOptions {
            context: args.context.unwrap_or(default),
            ..ViewOptions::default()
        };
        if comparison.bytes().is_some() {
            let view = comparison.matches(&options);
            let color = ui.has_color();
            return ui.write(|out| columns::print_matches(out, &view, color));
        }
        ui.note(
            "the files are too large to show their text; these are the ranges of common chunks",
        );
        return print_list(ui, comparison, true);
    }
    print_summary(ui, args, comparison)?;
    if shared.ranges.is_empty() {
        let nothing = match shared.ranges_of {
            RangesOf::Runs => "no run of 64 bytes or more is in both",
            RangesOf::Rows => "no row is in both",
            RangesOf::Chunks => "no chunk is in both, padding aside",
        };
        ui.write(|out| writeln!(out, "\n{nothing}"))
    } else if in_columns && comparison.bytes().is_some() {
        let width = ui::width();
        let options = ViewOptions {
            context: args.context.unwrap_or(ViewOptions::default().context),
            hex: columns::hex_bytes(width),
            ..ViewOptions::default()
        };
        ui.write(|out| writeln!(out))?;
        let view = comparison.view(&options);
        let color = ui.has_color();
        ui.write(|out| columns::print(out, &view, width, color))
    } else {
        ui.write(|out| writeln!(out))?;
        print_list(ui, comparison, false)
    }
}

fn print_summary(ui: &mut Ui, args: &WhyArgs, comparison: &Comparison) -> CliResult<()> {
    let lines: Vec<Vec<Cell>> = comparison
        .shared
        .summary()
        .into_iter()
        .map(|(name, value)| {
            let label = Cell::left(format!("{name:<9}"), Tint::Faint);
            let cell = match name {
                "a" => ui.name(&PathText::from(args.a.as_path()), Tint::Heading),
                "b" => ui.name(&PathText::from(args.b.as_path()), Tint::Heading),
                "relation" if comparison.shared.identical => Cell::left(value.clone(), Tint::Good),
                _ => Cell::left(value.clone(), Tint::Plain),
            };
            match name {
                "a" | "b" => vec![label, cell.followed_by(&format!("  ({value})"))],
                _ => vec![label, cell],
            }
        })
        .collect();
    // The labels are already padded to the same width, so the lines need no table.
    for line in lines {
        ui.lines(&[line], b'\n')?;
    }
    Ok(())
}

fn print_list(ui: &mut Ui, comparison: &Comparison, matches_only: bool) -> CliResult<()> {
    let (lines, left) = comparison.listed(LISTED);
    ui.write(|out| {
        lines
            .iter()
            .filter(|line| !(matches_only && line.starts_with(['-', '+'])))
            .try_for_each(|line| writeln!(out, "{line}"))
    })?;
    if left > 0 {
        let left = human_count(left as u64);
        ui.write(|out| writeln!(out, "… and {left} more; --format json has all"))?;
    }
    Ok(())
}

fn document(
    args: &WhyArgs,
    comparison: &Comparison,
    errors: Vec<SoftError>,
) -> Document<Explanation> {
    let shared = &comparison.shared;
    let pair = |(first, last): (u64, u64)| [first, last];
    let range = |range: &SharedRange| WhyRange {
        a: [range.a.start, range.a.end],
        b: [range.b.start, range.b.end],
        lines_a: range.lines_a.map(pair),
        lines_b: range.lines_b.map(pair),
        placing: range.placing.word().to_owned(),
    };
    let stretches = |stretches: &[Stretch]| -> Vec<WhyStretch> {
        let shown = if args.matches_only { &[] } else { stretches };
        shown
            .iter()
            .map(|stretch| WhyStretch {
                range: [stretch.range.start, stretch.range.end],
                lines: stretch.lines.map(pair),
            })
            .collect()
    };
    let numbers = shared.numbers.iter().flat_map(|numbers| &numbers.first);
    let changed = numbers.map(|(a, b)| ChangedNumber {
        a: a.clone(),
        b: b.clone(),
    });
    let body = Explanation {
        totals: totals(shared),
        members: shared.members.iter().map(member).collect(),
        ranges: shared.ranges.iter().map(range).collect(),
        repeats: shared.repeats.iter().map(range).collect(),
        differs_a: stretches(&shared.differs_a),
        differs_b: stretches(&shared.differs_b),
        changed: changed.collect(),
    };
    let rows = body.members.len().max(body.ranges.len()) as u64;
    let header = Header {
        fresh: true,
        total: rows,
        shown: rows,
        ..Header::default()
    };
    Document::new(parameters(args), header, body, errors)
}

/// Returns all figures of two compared files.
pub(super) fn totals(shared: &Shared) -> WhyTotals {
    let (differing_bytes_a, differing_bytes_b) = shared.differing_bytes();
    let (measures, unit) = shared.told();
    WhyTotals {
        relation: shared.relation,
        unit: unit.into(),
        a_in_b: Fraction::from(measures.a_in_b),
        b_in_a: Fraction::from(measures.b_in_a),
        resemblance: Fraction::from(measures.resemblance),
        shared_bytes: measures.shared_bytes.get(),
        size_a: shared.sizes.0.get(),
        size_b: shared.sizes.1.get(),
        exact: shared.ranges_of != RangesOf::Chunks,
        text: shared.text,
        layer: shared.layer,
        differs: shared.numbers.as_ref().map(|_| Differs::OnlyInNumbers),
        numbers: shared.numbers.as_ref().map(|numbers| numbers.count),
        differing_bytes_a,
        differing_bytes_b,
    }
}

fn parameters(args: &WhyArgs) -> WhyParameters {
    WhyParameters {
        a: PathText::from(args.a.as_path()),
        b: PathText::from(args.b.as_path()),
        matches_only: args.matches_only,
        params: Params::default().to_string(),
    }
}

fn member(member: &MemberMatch) -> WhyMember {
    let named = |side: &Option<(Vec<u8>, ByteLen)>| {
        let names = side.as_ref().map(|(names, _)| OsStr::from_bytes(names));
        names.map(|names| PathText::from(Path::new(names)))
    };
    let size = |side: &Option<(Vec<u8>, ByteLen)>| side.as_ref().map(|(_, size)| size.get());
    let (shares, unit) = match &member.measures {
        Some((measures, unit)) => ([measures.a_in_b, measures.b_in_a], MeasureUnit::from(*unit)),
        None => ([None; 2], MeasureUnit::Bytes),
    };
    WhyMember {
        a: named(&member.a),
        b: named(&member.b),
        relation: member.relation,
        unit,
        a_in_b: Fraction::from(shares[0]),
        b_in_a: Fraction::from(shares[1]),
        size_a: size(&member.a),
        size_b: size(&member.b),
    }
}

/// A row of the table. A range may be in one of the files, or in both.
struct TableRow {
    kind: &'static str,
    a: Option<Stretch>,
    b: Option<Stretch>,
}

resemble_report::columns! { TableRow: row =>
    "kind" text(row.kind);
    "a_from" count(row.a.as_ref().map(|a| a.range.start));
    "a_to" count(row.a.as_ref().map(|a| a.range.end));
    "b_from" count(row.b.as_ref().map(|b| b.range.start));
    "b_to" count(row.b.as_ref().map(|b| b.range.end));
    "a_first_line" count(row.a.as_ref().and_then(|a| a.lines).map(|(first, _)| first));
    "a_last_line" count(row.a.as_ref().and_then(|a| a.lines).map(|(_, last)| last));
    "b_first_line" count(row.b.as_ref().and_then(|b| b.lines).map(|(first, _)| first));
    "b_last_line" count(row.b.as_ref().and_then(|b| b.lines).map(|(_, last)| last));
    "bytes" count(row.a.as_ref().or(row.b.as_ref()).map(|one| one.range.end - one.range.start));
}

fn print_table(
    ui: &mut Ui,
    args: &WhyArgs,
    comparison: &Comparison,
    style: Style,
) -> CliResult<()> {
    let shared = &comparison.shared;
    if !shared.members.is_empty() {
        let mut rows: Vec<WhyMember> = shared.members.iter().map(member).collect();
        rows.retain(|row| !args.matches_only || row.a.is_some() && row.b.is_some());
        return ui.write_data(|out| write_table(out, style, &rows, b'\n'));
    }
    let side = |range: &Range<u64>, lines| {
        let range = range.clone();
        Some(Stretch { range, lines })
    };
    let ranges = shared.ranges.iter().chain(&shared.repeats);
    let of_range = |one: &SharedRange| TableRow {
        kind: one.placing.word(),
        a: side(&one.a, one.lines_a),
        b: side(&one.b, one.lines_b),
    };
    let mut rows: Vec<TableRow> = ranges.map(of_range).collect();
    if !args.matches_only {
        rows.extend(shared.differs_a.iter().map(|one| TableRow {
            kind: "only-a",
            a: Some(one.clone()),
            b: None,
        }));
        rows.extend(shared.differs_b.iter().map(|one| TableRow {
            kind: "only-b",
            a: None,
            b: Some(one.clone()),
        }));
    }
    ui.write_data(|out| write_table(out, style, &rows, b'\n'))
}
