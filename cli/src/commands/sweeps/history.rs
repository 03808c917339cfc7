//! `resemble history`: compares each version of a file with the version before it.

use std::path::{Path, PathBuf};

use resemble_arguments::{Answering, Global, HistoryArgs};
use resemble_core::Params;
use resemble_proto::documents::Document;
use resemble_proto::list_body;
use resemble_proto::message::{FindRow, FirstSeen, Whole};
use resemble_proto::number::Fraction;
use resemble_proto::path::PathText;
use resemble_proto::places::Env;
use resemble_report::document::Extras;
use resemble_report::quote::quoted;
use resemble_report::rows::{Became, VersionRow};

use super::{Followed, Search, Sweep, SweepParameters, catalogue_of, summary};
use crate::backend::Backend;
use crate::error::{CliError, CliResult};
use crate::lists;
use crate::names;
use crate::question::{self, QuestionPaths, Verb};
use crate::ui::Ui;

pub(in crate::commands) fn run(
    ui: &mut Ui,
    env: &Env,
    global: &Global,
    args: &HistoryArgs,
) -> CliResult {
    let Some(file) = &args.file else {
        return summary::run(ui, env, global, args);
    };
    let also = catalogue_of(file).or_else(|| names::required(file).ok());
    let (asked, sweeps) = super::sweeps(env, global, &args.sweeps, also)?;
    let following = Following { args, file, sweeps };
    question::run(ui, env, global, &asked.only_about(0), following)
}

struct Following<'a> {
    args: &'a HistoryArgs,
    file: &'a Path,
    sweeps: Vec<Sweep>,
}

list_body! {
    /// The versions of the file, the oldest first.
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    #[derive(Debug, Default)]
    pub(in crate::commands) struct Versions {
        versions: Vec<VersionRow>,
    } of "history", SweepParameters
}

impl Verb for Following<'_> {
    type Body = Versions;

    fn answering(&self) -> Answering {
        self.args.sweeps.answering()
    }

    fn ask(
        &mut self,
        ui: &mut Ui,
        backend: &mut Backend,
        asked: &QuestionPaths,
    ) -> CliResult<Whole<Versions>> {
        let _progress = ui.progress("following it");
        let options = &self.args.sweeps;
        let mut search = Search::new(backend, asked, &self.sweeps, options);
        let Some(known) = search.follow(self.file)? else {
            return Err(CliError::Usage(format!(
                "no sweep knows {}; name those that do with --in",
                quoted(self.file)
            )));
        };
        let places = places(&mut search, &known, options.min)?;
        let versions = versions(&mut search, &places)?;
        let answer = search.answer(versions);
        Ok(Whole::from(answer).map(|versions| Versions { versions }))
    }

    /// Changes nothing, because the rows already have the names that are shown.
    fn show(&self, _: &mut Versions, _: &QuestionPaths) {}

    fn parameters(&self, _: &QuestionPaths, _: &Params) -> SweepParameters {
        SweepParameters::of(self.file, &self.args.sweeps)
    }

    fn output(&self) -> Option<&Path> {
        self.args.output.output.as_deref()
    }

    fn print(&self, ui: &mut Ui, document: &Document<Versions>, _: &Extras<'_>) -> CliResult<()> {
        let output = &self.args.output;
        lists::title_of_rows(ui, output, lists::LARGER_SHARE, document)?;
        lists::print_document(ui, output, document, false)?;
        let is_change = |row: &VersionRow| !matches!(row.became, Became::First | Became::Same);
        match &document.body.versions[..] {
            [_] => ui.note("no other version is known; name catalogues of others with --in"),
            versions if !versions.iter().any(is_change) => ui.note("it did not change"),
            _ => {}
        }
        Ok(())
    }

    fn holds(&self, _: &Document<Versions>) -> bool {
        true
    }
}

/// Finds the file in each sweep, at the path that it has in the catalogue. If a sweep has no file
/// there, its file that most resembles the nearest version is taken.
fn places(
    search: &mut Search<'_>,
    known: &Followed,
    min: Fraction,
) -> CliResult<Vec<Option<PathBuf>>> {
    let count = search.all.len();
    let mut places = vec![None; count];
    for (sweep, place) in places.iter_mut().enumerate() {
        *place = match &known.below {
            _ if sweep == known.sweep => Some(known.real.clone()),
            Some(below) => search.place(sweep, below)?,
            None => None,
        };
    }
    // This loop goes from the known sweep outwards. If a sweep has no file at the path, it takes
    // the file that most resembles the nearest version found so far.
    let forward = (known.sweep + 1..count).map(|sweep| (sweep, sweep - 1));
    let backward = (0..known.sweep).rev().map(|sweep| (sweep, sweep + 1));
    for (sweep, next_to) in forward.chain(backward) {
        if places[sweep].is_none()
            && let Some(version) = nearest(&places, next_to, sweep < known.sweep)
        {
            let scope = search.all[sweep].scope();
            let similar = search.similar(&version, scope, None)?;
            let best = similar.into_iter().flatten();
            let best = best
                .filter(|row| row.resemblance >= min)
                .max_by(|a, b| (a.resemblance, &b.path).cmp(&(b.resemblance, &a.path)));
            places[sweep] = best.map(|row| row.path.as_path().to_owned());
        }
    }
    Ok(places)
}

/// Returns the version in the sweep `at`, or else in the nearest sweep beyond it that has a
/// version. If `later` is true, later sweeps are tried, otherwise earlier sweeps.
fn nearest(places: &[Option<PathBuf>], at: usize, later: bool) -> Option<PathBuf> {
    if later {
        places[at..].iter().flatten().next().cloned()
    } else {
        places[..=at].iter().rev().flatten().next().cloned()
    }
}

/// Returns one row for each version, compared with the version before it. A later sweep without a
/// version has a row, too.
fn versions(search: &mut Search<'_>, places: &[Option<PathBuf>]) -> CliResult<Vec<VersionRow>> {
    let mut rows = Vec::new();
    let paths = places.iter().flatten().map(|path| path.as_path().into());
    let first_seen = search.backend.first_seen(paths.collect())?;
    let mut before: Option<(usize, PathBuf)> = None;
    for (sweep, place) in places.iter().enumerate() {
        let date = search.all[sweep].date;
        let Some(place) = place else {
            if before.is_some() {
                rows.push(VersionRow {
                    date,
                    became: Became::Gone,
                    path: None,
                    estimate: false,
                    a_in_b: Fraction::NONE,
                    b_in_a: Fraction::NONE,
                    resemblance: Fraction::NONE,
                    shared_bytes: 0,
                    first_seen: None,
                });
            }
            continue;
        };
        let row = match &before {
            None => None,
            Some((last, version)) => {
                let scope = search.all[*last].scope();
                let rows = search.similar(place, scope, None)?;
                let is_it = |row: &FindRow| row.path.as_path() == version;
                rows.into_iter().flatten().find(is_it)
            }
        };
        let identical = row.as_ref().is_some_and(FindRow::is_identical);
        let moved = before
            .as_ref()
            .is_some_and(|(_, version)| !same_name(version, place));
        let figure = |of: fn(&FindRow) -> Fraction| match (&before, &row) {
            (None, _) => Fraction::NONE,
            (Some(_), row) => row.as_ref().map_or(Fraction::ZERO, of),
        };
        rows.push(VersionRow {
            date,
            became: match (before.is_some(), identical, moved) {
                (false, ..) => Became::First,
                (_, true, false) => Became::Same,
                (_, true, true) => Became::Moved,
                (_, false, false) => Became::Edited,
                (_, false, true) => Became::MovedEdited,
            },
            path: Some(search.asked.shown(&PathText::from(place.as_path()))),
            estimate: row.as_ref().is_some_and(|row| row.estimate),
            a_in_b: figure(|row| row.a_in_b),
            b_in_a: figure(|row| row.b_in_a),
            resemblance: figure(|row| row.resemblance),
            shared_bytes: row.as_ref().map_or(0, |row| row.shared_bytes),
            first_seen: first_seen
                .get(&place.as_path().into())
                .map(|first| FirstSeen {
                    path: search.asked.shown(&first.path),
                    ..first.clone()
                }),
        });
        before = Some((sweep, place.clone()));
    }
    Ok(rows)
}

/// Returns whether two files of different sweeps have the same path. The path of a file in a
/// catalogue may also be the end of the absolute path of the other file.
fn same_name(a: &Path, b: &Path) -> bool {
    let below = |path: &Path| -> PathBuf {
        use resemble_proto::catalogued::source_of;
        source_of(path).map_or_else(|| path.to_owned(), |(_, _, below)| below.to_owned())
    };
    let (a, b) = (below(a), below(b));
    a == b || (a.is_absolute() && a.ends_with(&b)) || (b.is_absolute() && b.ends_with(&a))
}
