//! Scans the named paths, then answers from this process's index.
//!
//! 1. The subjects of a `find` are scanned together with the directories. So a hard link of an
//!    indexed file is recognized. A second question about a subject does not read it again.
//! 2. The answer names most unreadable files and directories, because only the question knows what
//!    `--exclude` leaves out. This module adds only the errors that the index cannot store.
//! 3. An unusable cache costs only time. One line on standard error gives the reason. If the cache
//!    turns out to be damaged during a question, it is replaced. Then the question is asked again
//!    (`Local::on_sound`).

use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use resemble_arguments::{Answering, Global};
use resemble_core::Params;
use resemble_core::similarity::Templates;
use resemble_proto::message::{
    Answer, CompareRequest, Comparison, Coverage, CoveredRequest, DumpForm, Groups, GroupsRequest,
    Header, Parts, Request, SoftError, Whole,
};
use resemble_proto::path::PathText;
use resemble_proto::places::{self, Env, PlaceError};
use resemble_proto::question::{AnyRow, Question};
use resemble_query::Snapshot;
use resemble_query::answer::{self, Context, Reply};
use resemble_query::asked::places_of;
use resemble_query::groups::{KnownPairs, groups_with_parts};
use resemble_query::local::{LocalIndex, LocalOptions};
use resemble_query::templates::Store;
use resemble_relate::AskError;
use resemble_relate::gaps;
use resemble_relate::given::ExternalPairs;
use resemble_relate::parallel::watched;
use resemble_scan::ingest::{Observer, Progress as Reading, Report, Unobserved};
use resemble_scan::parts::{PartReader, RecentParts};
use rustix::fs::{Access, access};

use super::formats;
use crate::error::{CliError, CliResult};
use crate::names::Named;
use crate::ui::{Progress, Ui};

/// Answers from the command's own cache.
#[derive(Debug)]
pub struct Local {
    index: LocalIndex,
    templates: Option<Store>,
    params: Params,
    part_reader: Option<Arc<dyn PartReader>>,
    /// Folder for data that does not fit into memory.
    scratch: PathBuf,
    /// The errors of the last scan: files that could not be read, and paths that could not be
    /// looked up.
    errors: Vec<SoftError>,
    /// Number of files that changed while they were read.
    moving: u64,
}

impl Local {
    /// Opens the index in the file `cache`, or makes an index in memory.
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
        let part_reader: Option<Arc<dyn PartReader>> =
            formats(answering.text).map(|formats| Arc::new(formats) as _);
        let options = LocalOptions {
            cache,
            cache_bytes: answering.cache_size,
            params: *params,
            catalogues: places::state_dir(env, global.state.as_deref())
                .ok()
                .map(|state| places::catalogues_dir(&state)),
            own: own_folders(env, global, named),
            part_reader: Option::clone(&part_reader),
        };
        let mut index = LocalIndex::open(options)?;
        if let Some(note) = index.take_note() {
            ui.note(&note);
        }
        // Opening the cache has made its folder, so it exists now.
        let scratch = scratch_dir(folder.as_deref());
        let templates = templates(ui, env, global, params);
        Ok(Self {
            index,
            templates,
            params: *params,
            // A scan extracts the parts of each file once. A question may need the parts of a
            // subject again and again. So the parts that were extracted last are kept in memory.
            part_reader: part_reader.map(|reader| Arc::new(RecentParts::new(reader)) as _),
            scratch,
            errors: Vec::new(),
            moving: 0,
        })
    }

    /// Returns whether the cache exceeded its limit and was begun anew.
    pub const fn is_outgrown(&self) -> bool {
        self.index.is_outgrown()
    }

    /// Returns the parameters of content digests.
    pub const fn params(&self) -> &Params {
        &self.params
    }

    /// Scans every path again: see [`super::Backend::refresh`].
    pub fn refresh(&mut self, ui: &mut Ui, paths: &[PathText]) -> CliResult<()> {
        let paths: Vec<PathBuf> = paths.iter().map(|path| path.as_path().to_owned()).collect();
        let mut shown = Shown(ui.progress_through("looking at the files", paths.clone()));
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

    fn look(&mut self, paths: &[PathBuf], shown: &mut dyn Observer) -> CliResult<Report> {
        let report = self.index.refresh(paths, shown)?;
        self.note_report(&report)?;
        Ok(report)
    }

    fn note_report(&mut self, report: &Report) -> CliResult<()> {
        self.moving = report.moving.len() as u64;
        self.errors = errors_of(report);
        let snapshot = self.index.snapshot_without_lists();
        let snapshot = snapshot.map_err(AskError::from)?;
        for path in &report.vanished {
            if snapshot.entry(path).map_err(AskError::from)?.is_none() {
                self.errors.push(SoftError::vanished(path.as_path().into()));
            }
        }
        Ok(())
    }

    /// Calls `work`, which uses the index. If the index turns out to be damaged, the cache is
    /// replaced and `work` is called again. Neither an answer nor an error from a damaged index can
    /// be trusted.
    fn on_sound<T>(&mut self, mut work: impl FnMut(&mut Self) -> CliResult<T>) -> CliResult<T> {
        let done = work(self);
        if !self.index.is_damaged() {
            return done;
        }
        drop(done);
        let report = self.index.begin_anew(&mut Unobserved)?;
        self.note_report(&report)?;
        work(self)
    }

    /// Returns the answer to a question about scanned paths.
    pub(super) fn ask<Q: Question + Clone>(&mut self, question: &Q) -> CliResult<Whole<Q::Body>> {
        self.on_sound(|this| {
            let mut collected = Collected::<Q>(Whole::fresh());
            let request = question.clone().into_request();
            let context = this.context(reads_lists(&request))?;
            let places = places_of(&request, &context.roots);
            answer::answer(&context, request, &mut collected)?;
            let mut whole = collected.0;
            let mut own = Vec::new();
            this.add_own(
                &context.snapshot,
                (&mut whole.header, &mut own),
                gaps::is_kept,
            );
            places.drop_excluded(&mut own)?;
            whole.errors.append(&mut own);
            Ok(whole)
        })
    }

    /// Returns the groups of scanned files that the pairs in `given` form. An SQL engine has found
    /// these pairs.
    pub(super) fn groups_of_pairs(
        &mut self,
        request: &GroupsRequest,
        given: &dyn ExternalPairs,
    ) -> CliResult<Whole<Groups>> {
        self.on_sound(|this| {
            let context = this.context(true)?;
            let (snapshot, part_reader) = (&context.snapshot, context.part_reader.as_deref());
            let scratch = context.scratch;
            let mut whole = groups_with_parts(
                snapshot,
                request,
                part_reader,
                KnownPairs::Given(given),
                scratch,
            )?;
            this.add_own(snapshot, (&mut whole.header, &mut whole.errors), is_file);
            Ok(whole)
        })
    }

    /// Returns the answer to a question of `resemble-lab`. The question gets a folder for scratch
    /// files.
    pub fn answer<R, E>(
        &mut self,
        question: impl Fn(&Snapshot, &LocalIndex, &Path) -> Result<Answer<R>, E>,
    ) -> CliResult<Answer<R>>
    where
        CliError: From<E>,
    {
        self.on_sound(|this| {
            let snapshot = this.snapshot(true)?;
            let mut answer = question(&snapshot, &this.index, &this.scratch)?;
            let (header, errors) = (&mut answer.header, &mut answer.errors);
            this.add_own(&snapshot, (header, errors), is_file);
            Ok(answer)
        })
    }

    /// Compares two trees without the index. Returns `None` if the index is faster. In that case
    /// this function has scanned the trees, and the caller must ask the index.
    pub(super) fn compare(
        &mut self,
        ui: &Ui,
        request: &CompareRequest,
    ) -> CliResult<Option<Whole<Comparison>>> {
        let trees = [&request.a, &request.b].map(|tree| tree.as_path().to_owned());
        let mut shown = Shown(ui.progress_through("looking at the files", trees.to_vec()));
        if self.index.prefers_index(&trees) {
            self.look(&trees, &mut shown)?;
            return Ok(None);
        }
        let templates = self.current_templates();
        let steps = shown.0.steps();
        let compared = watched(&steps, || {
            self.on_sound(|this| Ok(this.index.compare(request, &templates, &mut shown)?))
        });
        Ok(Some(compared?))
    }

    /// Checks without the index whether a directory can be removed. Returns `None` if there are
    /// several roots, or if the index is faster. In that case this function has scanned the trees,
    /// and the caller must ask the index.
    pub(super) fn covered(
        &mut self,
        ui: &Ui,
        request: &CoveredRequest,
    ) -> CliResult<Option<Whole<Coverage>>> {
        let paths = std::iter::once(&request.dir).chain(&request.by);
        let paths: Vec<PathBuf> = paths.map(|path| path.as_path().to_owned()).collect();
        let mut shown = Shown(ui.progress_through("looking at the files", paths.clone()));
        let trees = <&[PathBuf; 2]>::try_from(&paths[..]);
        if trees.map_or(true, |trees| self.index.prefers_index(trees)) {
            self.look(&paths, &mut shown)?;
            return Ok(None);
        }
        let templates = self.current_templates();
        let steps = shown.0.steps();
        watched(&steps, || {
            self.on_sound(|this| Ok(this.index.covered(request, &templates, &mut shown)?))
        })
    }

    /// Returns the sets of identical files without using the index. Returns `None` if the index has
    /// the paths. In that case this function has scanned the paths, and the caller must ask the
    /// index.
    pub(super) fn identical(
        &mut self,
        ui: &Ui,
        request: &GroupsRequest,
    ) -> CliResult<Option<Whole<Groups>>> {
        let mut shown = Shown(ui.progress("looking at the files"));
        let paths = request.scope.within.iter().chain(&request.of);
        let paths: Vec<PathBuf> = paths.map(|path| path.as_path().to_owned()).collect();
        if self.index.knows(&paths) {
            self.look(&paths, &mut shown)?;
            return Ok(None);
        }
        Ok(Some(self.index.identical(request, &mut shown)?))
    }

    fn current_templates(&self) -> Arc<Templates> {
        let templates = self.templates.as_ref();
        let templates = templates.map(|store| store.current().0.templates);
        templates.unwrap_or_default()
    }

    fn context(&self, with_lists: bool) -> CliResult<Context<'_>> {
        Ok(Context {
            snapshot: self.snapshot(with_lists)?,
            roots: self.index.roots(),
            part_reader: self.part_reader.clone(),
            templates: self.templates.as_ref(),
            scratch: &self.scratch,
            findings: &self.index,
            drafts: None,
        })
    }

    /// Returns a snapshot of the index in which marked templates do not count as evidence.
    /// `with_lists` says whether the posting lists are needed.
    fn snapshot(&self, with_lists: bool) -> CliResult<Snapshot> {
        let snapshot = if with_lists {
            self.index.snapshot()?
        } else {
            let snapshot = self.index.snapshot_without_lists();
            snapshot.map_err(AskError::from)?
        };
        Ok(match &self.templates {
            Some(store) => snapshot.with_templates(store.current().0.templates),
            None => snapshot,
        })
    }

    /// Makes a dump of the roots, and sends each piece to `sink` immediately. The whole cache is
    /// verified first, because damage that is found later would leave an incomplete dump.
    pub(super) fn dump(
        &mut self,
        roots: Vec<PathText>,
        form: DumpForm,
        sink: &mut dyn FnMut(&[u8]) -> CliResult<()>,
    ) -> CliResult<Whole<()>> {
        self.on_sound(|this| Ok(this.index.verify().map_err(AskError::from)?))?;
        let mut pieces = Pieces {
            sink,
            dumped: Whole::fresh(),
            result: Ok(()),
        };
        let request = Request::DumpAs { roots, form };
        let context = self.context(true)?;
        let answered = answer::answer(&context, request, &mut pieces);
        pieces.result?;
        answered?;
        let mut dumped = pieces.dumped;
        let own = (&mut dumped.header, &mut dumped.errors);
        self.add_own(&context.snapshot, own, gaps::is_kept);
        Ok(dumped)
    }

    /// Maintains the cache, after the answer was printed. If the cache was replaced, a note reports
    /// it.
    pub fn close(mut self, ui: &mut Ui) {
        if let Some(note) = self.index.take_note() {
            ui.note(&note);
        }
        self.index.close();
    }

    /// Adds to an answer the number of files that changed while the last scan read them, and the
    /// errors of that scan. An error is left out if `is_named` is true for its path, because the
    /// answer already names it.
    fn add_own(
        &self,
        snapshot: &Snapshot,
        (header, errors): (&mut Header, &mut Vec<SoftError>),
        is_named: fn(&Snapshot, &Path) -> bool,
    ) {
        header.fresh = self.moving == 0;
        header.pending = self.moving;
        let own = self.errors.iter();
        let own = own.filter(|error| !is_named(snapshot, error.path.as_path()));
        errors.extend(own.cloned());
    }
}

/// Returns whether a question reads posting lists. Questions about directories and groups count the
/// common chunks and samples themselves, unless their memory is limited.
const fn reads_lists(request: &Request) -> bool {
    match request {
        Request::Dirs(dirs) => dirs.memory.is_some(),
        Request::Groups(groups) | Request::Order(groups) => groups.memory.is_some(),
        _ => true,
    }
}

/// Returns whether the index has a file at a path. If so, the answer already names the error of
/// that file.
fn is_file(snapshot: &Snapshot, path: &Path) -> bool {
    !matches!(snapshot.file_at(path), Ok(None))
}

/// Collects the rows of an answer.
struct Collected<Q: Question>(Whole<Q::Body>);

impl<Q: Question> Reply for Collected<Q> {
    fn header(&mut self, header: Header) -> ControlFlow<()> {
        self.0.header = header;
        ControlFlow::Continue(())
    }

    fn row(&mut self, row: AnyRow) -> ControlFlow<()> {
        if let Some(part) = Q::part(row) {
            self.0.body.add(part);
        }
        ControlFlow::Continue(())
    }

    fn error(&mut self, error: SoftError) -> ControlFlow<()> {
        self.0.errors.push(error);
        ControlFlow::Continue(())
    }
}

/// Sends a dump to the sink until the sink fails.
struct Pieces<'a> {
    sink: &'a mut dyn FnMut(&[u8]) -> CliResult<()>,
    /// Header of the dump.
    dumped: Whole<()>,
    result: CliResult<()>,
}

impl Reply for Pieces<'_> {
    fn header(&mut self, header: Header) -> ControlFlow<()> {
        self.dumped.header = header;
        ControlFlow::Continue(())
    }

    fn row(&mut self, _: AnyRow) -> ControlFlow<()> {
        ControlFlow::Break(())
    }

    fn error(&mut self, error: SoftError) -> ControlFlow<()> {
        self.dumped.errors.push(error);
        ControlFlow::Continue(())
    }

    fn piece(&mut self, piece: &[u8]) -> ControlFlow<()> {
        self.result = (self.sink)(piece);
        if self.result.is_ok() {
            ControlFlow::Continue(())
        } else {
            ControlFlow::Break(())
        }
    }
}

/// Returns the folder for scratch files: the folder of the cache if that is writable, otherwise the
/// system's temporary folder. The system's folder is often held in memory, but scratch files exist
/// to save memory.
fn scratch_dir(cache: Option<&Path>) -> PathBuf {
    let is_writable = |folder: &&Path| {
        folder.is_dir() && access(*folder, Access::WRITE_OK | Access::EXEC_OK).is_ok()
    };
    cache
        .filter(is_writable)
        .map_or_else(std::env::temp_dir, Path::to_owned)
}

/// Returns the state folder and the cache folder. A scan leaves them out, even if they are not in
/// use. A folder is not returned if the user names it or something in it.
fn own_folders(env: &Env, global: &Global, named: &[Named]) -> Vec<PathBuf> {
    let state = places::state_dir(env, global.state.as_deref()).ok();
    let own = state.into_iter().chain(places::cache_dir(env).ok());
    own.filter(|folder| {
        let folder = std::fs::canonicalize(folder);
        folder.is_ok_and(|folder| !named.iter().any(|one| one.real.starts_with(&folder)))
    })
    .collect()
}

/// Returns the errors of reading and of looking up paths, sorted by path.
fn errors_of(report: &Report) -> Vec<SoftError> {
    let unread = report.errors.iter().map(|error| {
        let source = io::Error::from_raw_os_error(error.errno);
        SoftError::of_io(PathText::from(error.path.as_path()), &source)
    });
    let away = report.unavailable.iter();
    let away = away.map(|path| SoftError::unreachable(path.as_path().into()));
    let mut errors: Vec<SoftError> = unread.chain(away).collect();
    errors.sort();
    errors
}

/// Sends the progress of reading to the display.
struct Shown(Progress);

impl Observer for Shown {
    fn progress(&mut self, reading: &Reading) {
        self.0.update(reading.done, reading.all);
    }
}

/// Returns the store of marked templates. Without a state folder there is no store.
pub(crate) fn templates(ui: &mut Ui, env: &Env, global: &Global, params: &Params) -> Option<Store> {
    let state = places::state_dir(env, global.state.as_deref()).ok()?;
    let store = Store::new(&state, params);
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
    Some(store)
}

#[cfg(test)]
mod tests {
    use resemble_proto::message::Scope;

    use super::*;

    /// A file that vanished or failed during the scan is no error if `--exclude` matches it.
    #[test]
    fn what_is_excluded_is_not_missed() {
        let temp = tempfile::tempdir().expect("a folder");
        let tree = temp.path().canonicalize().expect("a folder").join("tree");
        std::fs::create_dir_all(tree.join("kept")).expect("a folder");
        let index = LocalIndex::open(LocalOptions {
            cache: None,
            cache_bytes: 0,
            params: Params::default(),
            catalogues: None,
            own: Vec::new(),
            part_reader: None,
        });
        let gone = ["a.tmp", "kept/b", "left/c", "left"].map(|name| tree.join(name));
        let mut local = Local {
            index: index.expect("an index"),
            templates: None,
            params: Params::default(),
            part_reader: None,
            scratch: temp.path().to_owned(),
            errors: gone.map(|path| SoftError::vanished(path.into())).to_vec(),
            moving: 0,
        };
        let looked = local
            .index
            .refresh(std::slice::from_ref(&tree), &mut Unobserved);
        looked.expect("looked at");
        let scope = |exclude: &[&str]| Scope {
            within: vec![tree.as_path().into()],
            exclude: exclude.iter().map(|&glob| glob.to_owned()).collect(),
            ..Scope::default()
        };
        for (exclude, missed) in [
            (&[][..], &["a.tmp", "kept/b", "left/c", "left"][..]),
            (&["*.tmp"], &["kept/b", "left/c", "left"]),
            (&["left/", "*.tmp"], &["kept/b"]),
        ] {
            let request = GroupsRequest {
                scope: scope(exclude),
                ..GroupsRequest::default()
            };
            let whole = local.ask(&request).expect("answered");
            let errors = whole.errors.iter().map(|error| error.path.as_path());
            let below = errors.map(|path| path.strip_prefix(&tree).expect("within the tree"));
            assert_eq!(
                below.collect::<Vec<_>>(),
                missed.iter().map(Path::new).collect::<Vec<_>>()
            );
        }
    }
}
