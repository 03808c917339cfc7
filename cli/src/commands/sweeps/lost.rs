//! `resemble lost`: finds where the content of a lost file is now.
//!
//! The idea is from Broder et al. 1997, section 6: "lost and found". The search collects the files
//! similar to the lost file, then the files similar to those, and so on.

use std::cmp::Reverse;
use std::collections::{HashMap, VecDeque};
use std::path::{Path, PathBuf};

use resemble_arguments::{Answering, Global, LostArgs};
use resemble_core::{Params, Relation};
use resemble_proto::documents::Document;
use resemble_proto::list_body;
use resemble_proto::message::{DepartedRow, Scope, Whole};
use resemble_proto::number::Fraction;
use resemble_proto::path::PathText;
use resemble_proto::places::Env;
use resemble_report::document::Extras;
use resemble_report::human::day;
use resemble_report::quote::quoted;
use resemble_report::rows::LostRow;

use super::{Search, Sweep, SweepParameters, catalogue_of, real_place};
use crate::backend::Backend;
use crate::error::CliResult;
use crate::lists::{self, NOTHING};
use crate::names;
use crate::question::{self, QuestionPaths, Verb};
use crate::ui::Ui;

/// The maximum number of versions for which similar files are searched. Each version costs a
/// question.
const MOST: usize = 200;

pub(in crate::commands) fn run(
    ui: &mut Ui,
    env: &Env,
    global: &Global,
    args: &LostArgs,
    path: &Path,
) -> CliResult {
    let (asked, sweeps) = super::sweeps(env, global, &args.sweeps, catalogue_of(path))?;
    let lost = LostSearch {
        args,
        path,
        sweeps,
        last: None,
        holds: false,
        is_cut: false,
    };
    question::run(ui, env, global, &asked.only_about(0), lost)
}

struct LostSearch<'a> {
    args: &'a LostArgs,
    path: &'a Path,
    sweeps: Vec<Sweep>,
    /// The last known path and its date; `None` if no sweep knows the file.
    last: Option<(PathText, Option<i64>)>,
    /// True if a file more recent than `last` was found.
    holds: bool,
    /// True if files may be missing, because [`MOST`] was reached.
    is_cut: bool,
}

list_body! {
    /// The places where the content is or was, the latest first.
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    #[derive(Debug, Default)]
    pub(in crate::commands) struct Places {
        places: Vec<LostRow>,
    } of "lost", SweepParameters
}

impl Verb for LostSearch<'_> {
    type Body = Places;

    fn answering(&self) -> Answering {
        self.args.sweeps.answering()
    }

    fn ask(
        &mut self,
        ui: &mut Ui,
        backend: &mut Backend,
        asked: &QuestionPaths,
    ) -> CliResult<Whole<Places>> {
        let _progress = ui.progress("looking for it");
        let options = &self.args.sweeps;
        let mut search = Search::new(backend, asked, &self.sweeps, options);
        let mut found = Cluster::default();
        let gone = self.gone(&mut search)?;
        if let Some(row) = &gone {
            self.last = Some((self.path.into(), Some(row.gone)));
        }
        if let Some(row) = gone.filter(|row| !row.places.is_empty()) {
            self.holds = true;
            found.collect_departed(&mut search, &row, options.min)?;
        } else if let Some(known) = search.follow(self.path)? {
            found.collect(&mut search, &known.real, options.min)?;
            let date = self.sweeps[known.sweep].date;
            let is_later =
                |row: &LostRow| date.is_some_and(|last| row.date.is_none_or(|date| date > last));
            self.holds = found.rows.first().is_some_and(is_later);
            let real = PathText::from(known.real.as_path());
            self.last = Some((asked.shown(&real), date));
        }
        self.is_cut = found.cut;
        let answer = search.answer(found.rows).cut(self.args.top);
        Ok(Whole::from(answer).map(|places| Places { places }))
    }

    /// Changes nothing, because the rows already have the names that are shown.
    fn show(&self, _: &mut Places, _: &QuestionPaths) {}

    fn parameters(&self, _: &QuestionPaths, _: &Params) -> SweepParameters {
        SweepParameters::of(self.path, &self.args.sweeps)
    }

    fn output(&self) -> Option<&Path> {
        self.args.output.output.as_deref()
    }

    fn print(&self, ui: &mut Ui, document: &Document<Places>, _: &Extras<'_>) -> CliResult<()> {
        let output = &self.args.output;
        lists::title_of_rows(ui, output, lists::LARGER_SHARE, document)?;
        lists::print_document(ui, output, document, false)?;
        match &self.last {
            None => ui.note(&format!("no sweep knows {}", quoted(self.path))),
            Some((shown, date)) => {
                let date = date.map_or_else(|| "now".to_owned(), day);
                let shown = quoted(shown.as_path());
                ui.note(&format!("last known as {shown} ({date})"));
                if document.header.total == 0 {
                    ui.note(NOTHING);
                }
            }
        }
        if self.is_cut {
            ui.note(&format!(
                "only the relatives of {MOST} versions were looked for"
            ));
        }
        Ok(())
    }

    fn top(&self) -> Option<u64> {
        self.args.top
    }

    fn holds(&self, _: &Document<Places>) -> bool {
        self.holds
    }
}

impl LostSearch<'_> {
    /// Returns the recorded departure of the lost file from its path. Returns `None` if something
    /// is at that path now, or if the daemon recorded no departure.
    fn gone(&self, search: &mut Search<'_>) -> CliResult<Option<DepartedRow>> {
        if names::required(self.path).is_ok() {
            return Ok(None);
        }
        let real = real_place(self.path);
        let rows = search.departed(vec![real.as_path().into()])?;
        Ok(rows.into_iter().next())
    }
}

/// Returns the present place of a lost file of which a catalogue has the last version. Returns
/// `None` if no catalogue has the file, or if no present file resembles it.
pub(super) fn present_place(
    search: &mut Search<'_>,
    absolute: &Path,
    min: Fraction,
) -> CliResult<Option<LostRow>> {
    let Some((_, _, last)) = search.end_of(absolute)? else {
        return Ok(None);
    };
    let mut found = Cluster::default();
    found.collect(search, &last, min)?;
    let latest = found.rows.into_iter().next();
    Ok(latest.filter(|row| row.date.is_none()))
}

/// Files that are connected with the lost file by a chain of similar files.
#[derive(Default)]
struct Cluster {
    /// The latest first.
    rows: Vec<LostRow>,
    /// True if files may be missing, because [`MOST`] was reached.
    cut: bool,
}

impl Cluster {
    /// Adds the present place of a file whose departure the daemon recorded, and all files similar
    /// to that file.
    fn collect_departed(
        &mut self,
        search: &mut Search<'_>,
        gone: &DepartedRow,
        min: Fraction,
    ) -> CliResult<()> {
        let (renamed, equal) = if gone.renamed {
            (gone.places.first(), gone.copies.first())
        } else {
            (None, gone.places.first())
        };
        let Some(subject) = equal.or(renamed) else {
            return Ok(());
        };
        // A question is about a file, so nothing is searched for if the place is a directory.
        if !subject.as_path().is_dir() {
            self.collect(search, subject.as_path(), min)?;
        }
        if let Some(equal) = equal {
            let shown = search.asked.shown(equal);
            let identical = LostRow::now(shown, Some(Relation::Identical), Fraction::ONE);
            self.rows.insert(0, identical);
        } else {
            // These files resemble the edited file, not the lost content.
            let unknown = |row: LostRow| LostRow {
                date: row.date,
                ..LostRow::now(row.path, None, Fraction::NONE)
            };
            self.rows = std::mem::take(&mut self.rows)
                .into_iter()
                .map(unknown)
                .collect();
        }
        if let Some(renamed) = renamed {
            let shown = search.asked.shown(renamed);
            let known = self.rows.iter().position(|row| row.path == shown);
            let row = known.map(|at| self.rows.remove(at));
            let row = row.unwrap_or_else(|| LostRow::now(shown, None, Fraction::NONE));
            self.rows.insert(0, row);
        }
        Ok(())
    }

    /// Adds all files similar to the file at `real`, the files similar to those, and so on. Each
    /// step needs a resemblance of at least `min`. Stops after [`MOST`] searches.
    fn collect(&mut self, search: &mut Search<'_>, real: &Path, min: Fraction) -> CliResult<()> {
        let everywhere = Scope {
            within: search.asked.scope(),
            ..Scope::default()
        };
        let mut rows: HashMap<PathBuf, LostRow> = HashMap::new();
        let mut waiting = VecDeque::from([real.to_owned()]);
        let mut asked = 0;
        while let Some(subject) = waiting.pop_front() {
            if asked == MOST {
                self.cut = true;
                break;
            }
            let is_first = asked == 0;
            asked += 1;
            let similar = search.similar(&subject, everywhere.clone(), None)?;
            for row in similar.into_iter().flatten() {
                let place = row.path.as_path().to_owned();
                if row.resemblance < min || place == real || rows.contains_key(&place) {
                    continue;
                }
                let sweep = search.all.iter().find(|sweep| sweep.has(&place));
                let figure = |share| if is_first { share } else { Fraction::NONE };
                let new = LostRow {
                    date: sweep.and_then(|sweep| sweep.date),
                    path: search.asked.shown(&row.path),
                    relation: row.relation.filter(|_| is_first),
                    estimate: row.estimate && is_first,
                    a_in_b: figure(row.a_in_b),
                    b_in_a: figure(row.b_in_a),
                    resemblance: figure(row.resemblance),
                };
                // A file that is identical to its subject has the same similar files, so it is not
                // searched for again.
                if !row.is_identical() {
                    waiting.push_back(place.clone());
                }
                rows.insert(place, new);
            }
        }
        self.rows = rows.into_values().collect();
        // Among rows of the same date, those without a score are last, because `Fraction::NONE` is
        // less than every share.
        self.rows.sort_by(|a, b| {
            let key = |row: &LostRow| (row.date.is_none(), row.date, row.score());
            (Reverse(key(a)), &a.path).cmp(&(Reverse(key(b)), &b.path))
        });
        Ok(())
    }
}
