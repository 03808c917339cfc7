//! Follows files through sweeps: the common parts of `lost` and `history`.
//!
//! A sweep is the state of a tree at one time: a catalogue with its date. All named directories
//! together are one more sweep, with the present time. Every step asks a question of another
//! command, so the daemon and this process give the same answer.

pub(super) mod history;
pub(super) mod links;
pub(super) mod lost;
mod summary;

pub use summary::write_files;

use std::collections::HashSet;
use std::path::{Component, Path, PathBuf};

use resemble_arguments::{Global, InSweeps};
use resemble_catalogue as catalogue;
use resemble_proto::catalogued;
use resemble_proto::message::{
    Answer, DepartedRow, FindOptions, FindRow, Header, Scope, SoftError, WatchRow, Whole,
};
use resemble_proto::number::Fraction;
use resemble_proto::path::{PathText, fields};
use resemble_proto::places::Env;
use resemble_report::quote::quoted;
use serde::Serialize;

use crate::backend::{self, Backend, FindSubject};
use crate::error::{CliError, CliResult};
use crate::names::{self, Named};
use crate::question::QuestionPaths;

struct Sweep {
    /// The catalogue of the sweep, or the directories as they are now.
    roots: Vec<Named>,
    /// The time when the catalogue was made, in seconds since 1970; `None` for the directories.
    date: Option<i64>,
}

impl Sweep {
    fn scope(&self) -> Scope {
        Scope {
            within: names::real_paths(&self.roots),
            ..Scope::default()
        }
    }

    fn has(&self, real: &Path) -> bool {
        self.roots.iter().any(|root| real.starts_with(&root.real))
    }
}

/// Returns the paths of the question and the sweeps, the oldest sweep first. The paths are those of
/// the named sweeps and `also`. If directories are named, their present state is the last sweep.
fn sweeps(
    env: &Env,
    global: &Global,
    options: &InSweeps,
    also: Option<Named>,
) -> CliResult<(QuestionPaths, Vec<Sweep>)> {
    let (mut named, missing) = if options.within.is_empty() {
        let is_there = |one: &Named| one.is_catalogued() || one.real.exists();
        let (named, away): (Vec<_>, Vec<_>) =
            everywhere(env, global).into_iter().partition(is_there);
        let missing = away.iter();
        let missing = missing.map(|root| SoftError::unreachable(root.real.as_path().into()));
        (named, missing.collect())
    } else {
        names::resolve(&options.within)
    };
    named.extend(also);
    let mut seen = HashSet::new();
    named.retain(|one| seen.insert(one.real.clone()));
    if named.is_empty() {
        return Err(CliError::Usage(match missing.into_iter().next() {
            Some(error) => format!("{}: {}", error.path.lossy(), error.message),
            None => "no sweep is known: name catalogues and directories with --in".to_owned(),
        }));
    }
    let folder = super::catalogue::kept::folder(env, global).ok();
    let (mut all, mut now): (Vec<Sweep>, Vec<Named>) = (Vec::new(), Vec::new());
    for one in &named {
        if one.is_catalogued() {
            let file = catalogue::file_of(&one.real, folder.as_deref())?;
            let date = catalogue::open(&file)?.head().details.created;
            all.push(Sweep {
                roots: vec![one.clone()],
                date: Some(date),
            });
        } else {
            now.push(one.clone());
        }
    }
    all.sort_by(|a, b| (a.date, &a.roots[0].real).cmp(&(b.date, &b.roots[0].real)));
    if !now.is_empty() {
        all.push(Sweep {
            roots: now,
            date: None,
        });
    }
    let asked = QuestionPaths {
        missing,
        ..QuestionPaths::about(named)
    };
    Ok((asked, all))
}

/// Asks the questions that follow a file through sweeps.
struct Search<'a> {
    backend: &'a mut Backend,
    asked: &'a QuestionPaths,
    all: &'a [Sweep],
    text: bool,
    /// The totals of all answers together.
    header: Header,
    /// Files that could not be read.
    errors: Vec<SoftError>,
}

/// The file that a search is about.
struct Followed {
    /// The index of its sweep in [`Search::all`].
    sweep: usize,
    /// The real path by which questions name the file.
    real: PathBuf,
    /// The path of the file below the root of a catalogue, if a catalogue has it. Other catalogues
    /// of the same tree have it at the same path.
    below: Option<PathBuf>,
}

impl<'a> Search<'a> {
    fn new(
        backend: &'a mut Backend,
        asked: &'a QuestionPaths,
        all: &'a [Sweep],
        options: &InSweeps,
    ) -> Self {
        Self {
            backend,
            asked,
            all,
            text: options.layer.is_on(),
            header: Whole::<()>::fresh().header,
            errors: Vec::new(),
        }
    }

    /// Makes an answer of these rows. Its header has the totals of all questions that were asked.
    fn answer<R>(self, rows: Vec<R>) -> Answer<R> {
        let answer = Answer::fresh(rows, self.errors);
        let header = Header {
            total: answer.header.total,
            shown: answer.header.shown,
            ..self.header
        };
        Answer { header, ..answer }
    }

    /// Returns the files of `scope` that are similar to the file at `real`. Returns `None` if that
    /// file does not exist or cannot be read.
    fn similar(
        &mut self,
        real: &Path,
        scope: Scope,
        top: Option<u64>,
    ) -> CliResult<Option<Vec<FindRow>>> {
        let shown = self.asked.shown(&PathText::from(real));
        let sought = FindSubject::File(Named {
            shown: shown.as_path().to_owned(),
            real: real.to_owned(),
        });
        let options = FindOptions {
            scope,
            min: Fraction::ZERO,
            all: true,
            top,
            text: self.text,
            ..FindOptions::default()
        };
        let (rows, errors) = match self.backend.find(&sought, &shown, &options)? {
            Ok(answer) => {
                let header = std::mem::take(&mut self.header);
                self.header = header.and(Header {
                    fresh: answer.header.fresh,
                    pending: answer.header.pending,
                    left_out: answer.header.left_out,
                    ..Header::default()
                });
                (Some(answer.body.results), answer.errors)
            }
            // Every file of a catalogue can be looked up, so an error means that the catalogue does
            // not have this file.
            Err(_) if catalogued::is_catalogued(real) => (None, Vec::new()),
            Err(error) => (None, vec![error]),
        };
        for error in errors {
            if !self.errors.contains(&error) {
                self.errors.push(error);
            }
        }
        Ok(rows)
    }

    /// Returns the present places of files that were at these paths. The daemon has recorded where
    /// they went. Places outside the directories of the question are left out.
    fn departed(&mut self, paths: Vec<PathText>) -> CliResult<Vec<DepartedRow>> {
        // Only a daemon sees files being moved.
        if !self.backend.is_daemon() {
            return Ok(Vec::new());
        }
        let mut rows = self.backend.departed(paths)?.body;
        let now = self.all.iter().filter(|sweep| sweep.date.is_none());
        for row in &mut rows {
            let is_asked = |place: &PathText| now.clone().any(|sweep| sweep.has(place.as_path()));
            row.places.retain(is_asked);
            row.copies.retain(is_asked);
        }
        Ok(rows)
    }

    /// Returns the file at the path `below` in a sweep, if the sweep is a catalogue and has that
    /// file.
    fn place(&mut self, sweep: usize, below: &Path) -> CliResult<Option<PathBuf>> {
        let one = &self.all[sweep];
        if one.date.is_none() {
            return Ok(None);
        }
        let real = one.roots[0].real.join(below);
        let scope = one.scope();
        Ok(self.similar(&real, scope, Some(0))?.map(|_| real))
    }

    /// Finds the sweep that has a file, and the path of the file in that sweep. The path may name a
    /// file of a catalogue, a file that exists now, or one that is gone. [`Self::end_of`] searches
    /// the catalogues for a file that is gone.
    fn follow(&mut self, path: &Path) -> CliResult<Option<Followed>> {
        if let Ok(named) = names::required(path) {
            if named.real.is_dir() {
                return Err(CliError::Usage(format!(
                    "{} is a directory; this is about one file",
                    quoted(path)
                )));
            }
            let of_root = |sweep: &Sweep| sweep.has(&named.real);
            if let Some((_, _, below)) = catalogued::source_of(&named.real) {
                let below = below.to_owned();
                let Some(sweep) = self.all.iter().position(of_root) else {
                    return Ok(None);
                };
                let real = self.place(sweep, &below)?;
                return Ok(real.map(|real| Followed {
                    sweep,
                    real,
                    below: Some(below),
                }));
            }
            if let Some(sweep) = self.all.iter().position(|sweep| sweep.date.is_none())
                && self.all[sweep].has(&named.real)
            {
                let below = self.end_of(&named.real)?.map(|(_, below, _)| below);
                return Ok(Some(Followed {
                    sweep,
                    real: named.real,
                    below,
                }));
            }
        }
        let known = self.end_of(&real_place(path))?;
        Ok(known.map(|(sweep, below, real)| Followed {
            sweep,
            real,
            below: Some(below),
        }))
    }

    /// Finds a file of a catalogue whose path below the root is an end of this absolute path. Takes
    /// the longest end that a catalogue has, and the latest of the catalogues that have it. Returns
    /// the index of the catalogue, the end, and the real path.
    fn end_of(&mut self, absolute: &Path) -> CliResult<Option<(usize, PathBuf, PathBuf)>> {
        let names: Vec<_> = absolute
            .components()
            .filter(|part| matches!(part, Component::Normal(_)))
            .collect();
        for skipped in 0..names.len() {
            let below: PathBuf = names[skipped..].iter().collect();
            for sweep in (0..self.all.len()).rev() {
                if let Some(real) = self.place(sweep, &below)? {
                    return Ok(Some((sweep, below, real)));
                }
            }
        }
        Ok(None)
    }
}

/// Resolves links in the folders of a path. The file itself need not exist.
fn real_place(path: &Path) -> PathBuf {
    let full = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let mut above = full.ancestors().skip(1);
    let real = above.find_map(|above| {
        let below = full.strip_prefix(above).ok()?;
        Some(std::fs::canonicalize(above).ok()?.join(below))
    });
    real.unwrap_or(full)
}

/// Returns the imported catalogues, and the roots of the daemon if one answers.
fn everywhere(env: &Env, global: &Global) -> Vec<Named> {
    let watched = || {
        backend::daemon(env, global)?
            .watch_list()
            .map_err(CliError::from)
    };
    let watched = if global.local { None } else { watched().ok() };
    let rows: Vec<WatchRow> = watched.unwrap_or_else(|| super::catalogue::kept::kept(env, global));
    let named = |row: &WatchRow| {
        let real = row.path.as_path().to_owned();
        let shown = catalogued::shown(&real).unwrap_or_else(|| real.clone());
        Named { shown, real }
    };
    rows.iter().map(named).collect()
}

/// Returns the catalogue in which a path lies, if it lies in one.
fn catalogue_of(path: &Path) -> Option<Named> {
    let (name, _) = catalogued::split_shown(path)?;
    let named = names::required(&names::with_colon(name)).ok()?;
    named.is_catalogued().then_some(named)
}

/// The parameters of the question, for documents.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct SweepParameters {
    #[serde(flatten, with = "fields::path")]
    path: PathText,
    #[serde(rename = "in")]
    within: Vec<PathText>,
    min: Fraction,
}

impl SweepParameters {
    fn of(path: &Path, asked: &InSweeps) -> Self {
        Self {
            path: path.into(),
            within: names::as_given(&asked.within),
            min: asked.min,
        }
    }
}
