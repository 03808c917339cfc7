//! The command as its own daemon: looks at the named paths, then answers from its index.
//!
//! 1. The subjects of a find are looked at together with the directories, so that a hard link of an
//!    indexed file is known to be that file, and a second question about a large file reads
//!    nothing.
//! 2. Files that cannot be read are named by the answers themselves, which know what `--exclude`
//!    leaves out; directories that cannot be listed are in no index and are added here.
//! 3. A cache that cannot be used costs time and nothing else; `-v` says why.

use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use resemble_core::{ByteLen, Params};
use resemble_proto::documents::{SimilarDirs, SimilarFiles, SimilarPairs};
use resemble_proto::message::{
    Answer, CompareRequest, Comparison, Coverage, CoveredRequest, DirsRequest, DumpForm,
    FindRequest, Groups, GroupsRequest, HolderRow, MarkRequest, OrderRow, PairsRequest, Scope,
    SoftError, TemplateRow, Whole,
};
use resemble_proto::path::PathText;
use resemble_proto::places::{self, Env, PlaceError};
use resemble_proto::question::{OrderRequest, Question};
use resemble_query::find::{self, Subject, holders};
use resemble_query::local::{LocalIndex, LocalOptions};
use resemble_query::pairs::{self, PairsOptions};
use resemble_query::templates::{self, Store};
use resemble_query::{AskError, Snapshot, answer, compare, covered, dirs, groups};
use resemble_scan::ingest::{Observer, Progress as Reading, Report};
use rustix::fs::{Access, access};

use super::{Sought, formats, read_now, subject_error};
use crate::args::{Answering, Global};
use crate::error::{CliError, CliResult};
use crate::names::Named;
use crate::ui::{Progress, Ui};

/// Answers from the command's own cache.
#[derive(Debug)]
pub struct Local {
    index: LocalIndex,
    templates: Option<Store>,
    params: Params,
    /// Where what does not fit into memory goes.
    scratch: PathBuf,
    /// What the last look could not look at.
    errors: Vec<SoftError>,
    /// Files that changed while they were read.
    moving: u64,
}

impl Local {
    /// Opens the index whose file is `cache`, or makes one in memory.
    pub fn open(
        ui: &mut Ui,
        env: &Env,
        global: &Global,
        answering: &Answering,
        params: &Params,
        named: &[Named],
        cache: Result<PathBuf, PlaceError>,
    ) -> CliResult<Self> {
        let cache = if answering.no_cache {
            None
        } else {
            cache.map_err(|error| ui.detail(&error.to_string())).ok()
        };
        let folder = cache.as_deref().and_then(Path::parent).map(Path::to_owned);
        let options = LocalOptions {
            cache,
            cache_bytes: answering.cache_size,
            params: *params,
            catalogues: places::state_dir(env, global.state.as_deref())
                .ok()
                .map(|state| places::catalogues_dir(&state)),
            own: own_folders(env, global, named),
            part_reader: formats(answering.text).map(|formats| Arc::new(formats) as _),
        };
        let index = LocalIndex::open(options)?;
        if let Some(note) = index.note() {
            ui.detail(note);
        }
        // Whoever opened the cache made its folder.
        let scratch = scratch_dir(folder.as_deref());
        // Without a state folder nobody can have marked anything.
        let templates = places::state_dir(env, global.state.as_deref())
            .ok()
            .map(|state| Store::new(&state, params));
        if let Some(store) = &templates {
            let (current, _) = store.current();
            if let Some(trouble) = &current.trouble {
                ui.note(trouble);
            }
            if current.ignored > 0 {
                ui.detail(&format!(
                    "{} templates were made with other parameters and have no effect",
                    current.ignored
                ));
            }
        }
        Ok(Self {
            index,
            templates,
            params: *params,
            scratch,
            errors: Vec::new(),
            moving: 0,
        })
    }

    /// Whether the cache had outgrown its limit and was begun anew.
    pub const fn is_outgrown(&self) -> bool {
        self.index.is_outgrown()
    }

    /// What contents are digested with.
    pub const fn params(&self) -> &Params {
        &self.params
    }

    /// Looks at every path anew: see [`super::Backend::refresh`].
    pub fn refresh(&mut self, ui: &mut Ui, paths: &[PathText]) -> CliResult<()> {
        let paths: Vec<PathBuf> = paths.iter().map(|path| path.as_path().to_owned()).collect();
        let mut shown = Shown(ui.progress("looking at the files"));
        let report = self.look(&paths, &mut shown)?;
        let unnamed = report
            .error_count
            .saturating_sub(report.errors.len() as u64);
        if unnamed > 0 {
            ui.note(&format!(
                "{unnamed} further files or directories could not be read"
            ));
        }
        Ok(())
    }

    fn look(&mut self, paths: &[PathBuf], shown: &mut Shown) -> CliResult<Report> {
        let report = self.index.refresh(paths, shown)?;
        self.moving = report.moving.len() as u64;
        self.errors = errors_of(&report);
        Ok(report)
    }

    pub(super) fn find(
        &self,
        sought: &Sought,
        name: &PathText,
        request: FindRequest,
    ) -> CliResult<Result<Whole<SimilarFiles>, SoftError>> {
        let snapshot = self.snapshot()?;
        let subject = match sought {
            Sought::Stdin(read) => Subject::of_incoming((**read).clone()),
            Sought::File(file) if file.is_catalogued() => {
                match Subject::remembered(&snapshot, &file.real).map_err(AskError::from)? {
                    Some(subject) => subject,
                    None => return Ok(Err(no_file(file))),
                }
            }
            Sought::File(file) => match Subject::indexed(&snapshot, &file.real, &self.params) {
                Ok(Some(subject)) => subject,
                // On a file system that is never indexed.
                Ok(None) => match read_now(sought, &self.params, request.text) {
                    Ok(read) => Subject::of_incoming(read).at(file.real.clone()),
                    Err(error) => return Ok(Err(error)),
                },
                Err(error @ AskError::Unreadable { .. }) => {
                    return Ok(Err(subject_error(file, error)));
                }
                Err(error) => return Err(error.into()),
            },
            Sought::Member(member) => {
                match Subject::indexed(&snapshot, &member.real(), &self.params)? {
                    Some(subject) => subject,
                    None => match read_now(sought, &self.params, request.text) {
                        Ok(read) => Subject::of_incoming(read),
                        Err(error) => return Ok(Err(error)),
                    },
                }
            }
        };
        let options = find::FindOptions {
            scope: request.scope,
            min: request.min.score(),
            min_shared: request.min_shared.map(ByteLen),
            top: request.top,
            exact: request.exact,
            unit: request.unit.into(),
            text: request.text,
            part_reader: formats(request.text).map(|formats| Arc::new(formats) as _),
        };
        let answer = find::find(&snapshot, &subject, name, &options)?;
        Ok(Ok(self.with_own(&snapshot, Whole::from_answer(answer))))
    }

    pub(super) fn holders(
        &self,
        sought: &holders::Sought,
        real: &Path,
        scope: &Scope,
        all: bool,
    ) -> CliResult<Whole<Vec<HolderRow>>> {
        let snapshot = self.index.snapshot().map_err(AskError::from)?;
        let own = snapshot.file_at(real).map_err(AskError::from)?;
        let own = own.map(|row| row.id);
        let answer = holders::candidates(&snapshot, &sought.digests, own, scope, &[], all)?;
        Ok(self.with_own(&snapshot, Whole::from_answer(answer)))
    }

    /// What is known now, without what is template.
    fn snapshot(&self) -> CliResult<Snapshot> {
        let snapshot = self.index.snapshot().map_err(AskError::from)?;
        Ok(match &self.templates {
            Some(store) => snapshot.with_templates(store.current().0.templates),
            None => snapshot,
        })
    }

    /// The answer to a question about what is known now; it may work in the folder that it is
    /// given.
    pub fn answer<R, E>(
        &self,
        question: impl FnOnce(&Snapshot, &LocalIndex, &Path) -> Result<Answer<R>, E>,
    ) -> CliResult<Answer<R>>
    where
        CliError: From<E>,
    {
        let snapshot = self.snapshot()?;
        let answer = question(&snapshot, &self.index, &self.scratch)?;
        let whole = Whole {
            header: answer.header,
            body: answer.rows,
            errors: answer.errors,
        };
        let whole = self.with_own(&snapshot, whole);
        Ok(Answer {
            header: whole.header,
            rows: whole.body,
            errors: whole.errors,
        })
    }

    /// The answer of a question, with what this look at the files adds to it.
    fn whole<P>(
        &self,
        ui: &Ui,
        doing: &str,
        question: impl FnOnce(&Snapshot) -> Result<Whole<P>, AskError>,
    ) -> CliResult<Whole<P>> {
        let _progress = ui.progress(doing);
        let snapshot = self.snapshot()?;
        let answer = question(&snapshot)?;
        Ok(self.with_own(&snapshot, answer))
    }

    pub(super) fn dump(
        &self,
        roots: &[PathText],
        form: &DumpForm,
        sink: &mut dyn FnMut(&[u8]) -> CliResult<()>,
    ) -> CliResult<Vec<SoftError>> {
        let snapshot = self.snapshot()?;
        let roots: Vec<PathBuf> = roots.iter().map(|root| root.as_path().to_owned()).collect();
        let mut result = Ok(());
        let dumped = answer::dump(&snapshot, &roots, form, &mut |piece| {
            result = sink(piece);
            if result.is_ok() {
                ControlFlow::Continue(())
            } else {
                ControlFlow::Break(())
            }
        });
        result?;
        dumped.map_err(AskError::from)?;
        Ok(self.errors.clone())
    }

    /// Puts the cache in order, after the answer was printed.
    pub fn close(self) {
        self.index.close();
    }

    /// The answer with what this look at the files adds to it: directories that could not be
    /// listed.
    fn with_own<P>(&self, snapshot: &Snapshot, mut answer: Whole<P>) -> Whole<P> {
        let is_dir = |error: &SoftError| matches!(snapshot.file_at(error.path.as_path()), Ok(None));
        answer.header.fresh = self.moving == 0;
        answer.header.pending = self.moving;
        let own = self.errors.iter().filter(|error| is_dir(error));
        answer.errors.extend(own.cloned());
        answer
    }
}

/// A question that this process answers, too: the same one, from its own index.
pub trait Answered: Question + Sized {
    /// What a person is told meanwhile.
    const DOING: &'static str = "comparing";

    /// The answer.
    fn answer(self, local: &mut Local, ui: &Ui) -> CliResult<Whole<Self::Body>>;
}

impl Answered for PairsRequest {
    fn answer(self, local: &mut Local, ui: &Ui) -> CliResult<Whole<SimilarPairs>> {
        let options = PairsOptions {
            scope: self.scope,
            score: self.score,
            min: self.min.score(),
            min_shared: self.min_shared.map(ByteLen),
            top: self.top,
            exact: self.exact,
            unit: self.unit.into(),
            text: self.text,
        };
        local.whole(ui, Self::DOING, |snapshot| {
            pairs::pairs(snapshot, &options).map(Whole::from_answer)
        })
    }
}

impl Answered for CompareRequest {
    /// Looks at both trees itself: nobody needs to refresh before.
    fn answer(self, local: &mut Local, ui: &Ui) -> CliResult<Whole<Comparison>> {
        let mut shown = Shown(ui.progress("looking at the files"));
        let trees = [&self.a, &self.b].map(|tree| tree.as_path().to_owned());
        if local.index.prefers_index(&trees) {
            local.look(&trees, &mut shown)?;
            let (cache, snapshot) = (local.index.findings_cache(), local.snapshot()?);
            let answer = compare::compare(&snapshot, &local.params, &self, &cache)?;
            return Ok(local.with_own(&snapshot, answer));
        }
        let templates = local
            .templates
            .as_ref()
            .map(|store| store.current().0.templates)
            .unwrap_or_default();
        Ok(local.index.compare(&self, &templates, &mut shown)?)
    }
}

impl Answered for CoveredRequest {
    fn answer(self, local: &mut Local, ui: &Ui) -> CliResult<Whole<Coverage>> {
        local.whole(ui, Self::DOING, |snapshot| {
            covered::covered(snapshot, &self)
        })
    }
}

impl Answered for DirsRequest {
    fn answer(self, local: &mut Local, ui: &Ui) -> CliResult<Whole<SimilarDirs>> {
        local.whole(ui, Self::DOING, |snapshot| {
            dirs::dirs(snapshot, &self).map(Whole::from_answer)
        })
    }
}

impl Answered for GroupsRequest {
    const DOING: &'static str = "grouping";

    fn answer(self, local: &mut Local, ui: &Ui) -> CliResult<Whole<Groups>> {
        local.whole(ui, Self::DOING, |snapshot| {
            groups::groups(snapshot, &self, &local.scratch)
        })
    }
}

impl Answered for OrderRequest {
    const DOING: &'static str = "ordering";

    fn answer(self, local: &mut Local, ui: &Ui) -> CliResult<Whole<Vec<OrderRow>>> {
        local.whole(ui, Self::DOING, |snapshot| {
            groups::order(snapshot, &self.0, &local.scratch).map(Whole::from_answer)
        })
    }
}

impl Answered for MarkRequest {
    fn answer(self, local: &mut Local, ui: &Ui) -> CliResult<Whole<Vec<TemplateRow>>> {
        let nowhere = || {
            CliError::Usage(
                "no place for templates: HOME is not set; name a folder with --state".to_owned(),
            )
        };
        let _progress = ui.progress(Self::DOING);
        let store = local.templates.as_ref().ok_or_else(nowhere)?;
        let row = templates::mark(&local.snapshot()?, store, &self, &local.scratch)?;
        Ok(Whole::from_answer(Answer::fresh(vec![row], Vec::new())))
    }
}

/// The soft error of a place in a catalogue that is no file.
fn no_file(file: &Named) -> SoftError {
    let source = io::Error::other("is no file of the catalogue");
    SoftError::of_io(PathText::from(file.shown.as_path()), &source)
}

/// Where scratch files go: beside the cache, for the folder of temporary files often is memory,
/// which is just what they are to save. Without a cache that can be written to, it must do.
fn scratch_dir(cache: Option<&Path>) -> PathBuf {
    let is_writable = |folder: &&Path| {
        folder.is_dir() && access(*folder, Access::WRITE_OK | Access::EXEC_OK).is_ok()
    };
    cache
        .filter(is_writable)
        .map_or_else(std::env::temp_dir, Path::to_owned)
}

/// The state folder and that of the cache, used or not: what a daemon leaves out is left out here
/// too. Who names one of them, or something in it, asks about it.
fn own_folders(env: &Env, global: &Global, named: &[Named]) -> Vec<PathBuf> {
    let state = places::state_dir(env, global.state.as_deref()).ok();
    let own = state.into_iter().chain(places::cache_dir(env).ok());
    own.filter(|folder| {
        let folder = std::fs::canonicalize(folder);
        folder.is_ok_and(|folder| !named.iter().any(|one| one.real.starts_with(&folder)))
    })
    .collect()
}

/// What could not be read or reached, by path.
fn errors_of(report: &Report) -> Vec<SoftError> {
    let unread = report.errors.iter().map(|error| {
        let source = io::Error::from_raw_os_error(error.errno);
        SoftError::of_io(PathText::from(error.path.as_path()), &source)
    });
    let away = report.unavailable.iter().map(|path| {
        let source = io::Error::other("cannot be reached; what is known of it may be old");
        SoftError::of_io(PathText::from(path.as_path()), &source)
    });
    let mut errors: Vec<SoftError> = unread.chain(away).collect();
    errors.sort();
    errors
}

/// Hands the progress of the reading to the display.
struct Shown(Progress);

impl Observer for Shown {
    fn progress(&mut self, reading: &Reading) {
        self.0
            .update(reading.files, reading.files_read, reading.bytes_read);
    }
}
