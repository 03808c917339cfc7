//! `resemble groups --conflicts`: lists the files of which sync programs kept two versions.
//!
//! The names identify these files, and a comparison of two files needs no index. So no daemon is
//! asked: this process lists the names and compares the files. `why` prints the same figures.

use std::collections::{BTreeMap, HashSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use resemble_arguments::{Global, GroupsArgs};
use resemble_core::Params;
use resemble_core::conflict::{ConflictName, SyncProgram};
use resemble_proto::documents::{Document, GroupsParameters};
use resemble_proto::list_body;
use resemble_proto::message::{Header, SoftError};
use resemble_proto::path::PathText;
use resemble_proto::places::Env;
use resemble_query::groups::names;
use resemble_query::why::{self, RangesOf, Shared};
use resemble_relate::AskError;
use resemble_report::quote::quoted;
use resemble_report::rows::{ConflictRow, ConflictState};
use resemble_scan::ingest::Unobserved;
use resemble_scan::parts::PartReader;

use super::groups::parameters;
use super::why::totals;
use crate::backend::{formats, templates};
use crate::commands::print_plan;
use crate::error::{CliError, CliResult, Outcome};
use crate::lists;
use crate::plans;
use crate::question::QuestionPaths;
use crate::ui::Ui;

list_body! {
    /// The conflicts, sorted by path.
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    #[derive(Debug, Default)]
    pub(super) struct SyncConflicts {
        conflicts: Vec<ConflictRow>,
    } of "groups", GroupsParameters
}

pub(super) fn run(ui: &mut Ui, env: &Env, global: &Global, args: &GroupsArgs) -> CliResult {
    let output = args.output.as_rows("--conflicts")?;
    let asked = QuestionPaths::among(&args.roots);
    if let Some(one) = asked.named.iter().find(|one| one.is_catalogued()) {
        return Err(CliError::Usage(format!(
            "--conflicts compares files that are here; only a catalogue has those of {}",
            quoted(&one.shown)
        )));
    }
    asked.not_files_alone("groups", 1)?;
    let params = Params::default();
    let marked = templates(ui, env, global, &params);
    let marked = marked.map(|store| store.current().0.templates);
    let marked = marked.unwrap_or_default();
    let progress = ui.progress("comparing conflicts");
    let scope = args.selection.scope(asked.scope());
    let (names, mut errors) = names(&scope, &mut Unobserved)?;
    let formats = formats(args.layer.is_on());
    let part_reader = formats.as_ref().map(|formats| formats as &dyn PartReader);
    let compare = |a: &Path, b: &Path| {
        let terms = (&params, &*marked);
        why::compare_with_parts(a, b, terms, part_reader).map(|compared| compared.shared)
    };
    let mut rows = Vec::new();
    for (original, copies) in conflicts(&names) {
        add(&original, &copies, &compare, &mut rows, &mut errors)?;
    }
    rows.sort_by(|a, b| a.path.cmp(&b.path));
    drop(progress);
    let parameters = parameters(args, &params);
    let planned = args.plan.as_ref().map(|kind| {
        // A plan may be run from any folder, so it has real paths.
        plans::of_conflicts(&parameters.roots, &rows, kind)
    });
    let plan = planned.transpose()?;
    for row in &mut rows {
        for path in [&mut row.path, &mut row.original]
            .into_iter()
            .chain(&mut row.other)
        {
            *path = asked.shown(path);
        }
    }
    let errors = asked.errors(errors);
    let has_gaps = errors.iter().any(SoftError::is_trouble);
    let total = rows.len() as u64;
    let header = Header {
        fresh: true,
        total,
        shown: total,
        ..Header::default()
    };
    let body = SyncConflicts { conflicts: rows };
    let document = Document::new(parameters, header, body, errors);
    ui.redirect(output.output.as_deref());
    if let Some(plan) = &plan {
        print_plan(ui, plan)?;
    } else {
        let title = "the share of the conflict that is in the other file, and the other way round:";
        lists::title_of_rows(ui, &output, title, &document)?;
        lists::print_document(ui, &output, &document, false)?;
    }
    if total == 0 {
        ui.note("no file is named after a conflict");
    }
    ui.soft_errors(&document.errors);
    ui.flush()?;
    Ok(Outcome::of(total > 0).with_errors(has_gaps))
}

/// Returns the conflicting copies among these files, grouped by the path of the original file.
fn conflicts(names: &[PathBuf]) -> BTreeMap<PathBuf, Vec<(&Path, SyncProgram)>> {
    let all: HashSet<&Path> = names.iter().map(PathBuf::as_path).collect();
    let mut found = BTreeMap::<PathBuf, Vec<_>>::new();
    for path in names {
        let name = path.file_name().map(OsStr::as_bytes).unwrap_or_default();
        let Some(ConflictName { original, program }) = ConflictName::of(name) else {
            continue;
        };
        let original = path.with_file_name(OsStr::from_bytes(&original));
        if all.contains(&*original) || !program.needs_original() {
            found
                .entry(original)
                .or_default()
                .push((path.as_path(), program));
        }
    }
    found
}

/// Adds a row for each conflicting copy of a file. If the original file is gone, the first copy
/// takes its place, and the other copies are compared with it.
fn add(
    original: &Path,
    copies: &[(&Path, SyncProgram)],
    compare: &dyn Fn(&Path, &Path) -> Result<Shared, AskError>,
    rows: &mut Vec<ConflictRow>,
    errors: &mut Vec<SoftError>,
) -> CliResult<()> {
    let there = std::fs::symlink_metadata(original);
    let gone = !there.is_ok_and(|meta| meta.is_file());
    let other = match copies {
        [(first, _), ..] if gone => first,
        _ => original,
    };
    for (path, program) in copies {
        let shared = if *path == other {
            None
        } else {
            match compare(path, other) {
                Ok(shared) => Some(shared),
                Err(AskError::Unreadable { path, source }) => {
                    errors.push(SoftError::of_io(PathText::from(path), &source));
                    None
                }
                Err(error) => return Err(error.into()),
            }
        };
        rows.push(ConflictRow {
            path: PathText::from(*path),
            program: program.name(),
            original: PathText::from(original),
            gone,
            other: shared.as_ref().map(|_| PathText::from(other)),
            state: shared.as_ref().map_or(ConflictState::Alone, state),
            estimate: shared
                .as_ref()
                .is_some_and(|it| !it.identical && it.ranges_of == RangesOf::Chunks),
            figures: shared.as_ref().map(totals),
        });
    }
    Ok(())
}

fn state(shared: &Shared) -> ConflictState {
    match shared.whole_in_order() {
        _ if shared.identical => ConflictState::Equal,
        (true, _) => ConflictState::Held,
        (_, true) => ConflictState::Holds,
        _ => ConflictState::Diverged,
    }
}
