//! Chooses the process that answers: the daemon, or this process with its own cache.
//!
//! The daemon answers if it listens at the socket and watches every path that the question names.
//! Otherwise the command itself answers. Both processes return the same types (`proto`) with real
//! paths. So the rest of the program and its output do not depend on the choice.
//!
//! 1. With `--local` no daemon is asked. If `--socket`, `--state` or one of their environment
//!    variables names a daemon, no other daemon is asked. The daemon of `--socket` must answer.
//! 2. A question that names no place to look in is about the daemon's roots. Without a daemon, the
//!    question fails. A verb about a file (`find FILE`) asks about the current directory instead
//!    (`QuestionPaths::or_here`).
//! 3. A daemon with another protocol counts as absent, unless `--socket` names it. A daemon whose
//!    index has another chunk size than `--chunk-size` counts as absent, too. `-v` reports both.

mod daemon;
pub mod local;
mod subject;

use std::collections::HashMap;
use std::path::Path;

use resemble_arguments::{Answering, Global};
use resemble_core::Params;
use resemble_core::params::ChunkParams;
use resemble_proto::catalogued::{self, Source};
use resemble_proto::client::Client;
use resemble_proto::documents::SimilarFiles;
use resemble_proto::message::{
    CompareRequest, Comparison, Coverage, CoveredRequest, DepartedRequest, DepartedRow, DumpForm,
    FailureKind, FindOptions, FindRequest, FirstSeen, FirstSeenRequest, Groups, GroupsRequest,
    HolderRow, HoldersRequest, Scope, SoftError, StepProgress, Whole, WireDigest,
};
use resemble_proto::path::PathText;
use resemble_proto::places::{self, Env};
use resemble_proto::question::Question;
use resemble_query::find::holders;
use resemble_relate::unread;
use resemble_report::human::human_size;
use resemble_report::quote::quoted;

use crate::error::{CliError, CliResult};
use crate::names::Named;
use crate::ui::Ui;

use daemon::own_socket;
#[cfg(test)]
pub(crate) use daemon::with_labels;
pub use daemon::{
    daemon, is_busy, is_daemon_named, is_daemon_required, own_daemon, status, whose, whose_daemon,
};
use local::Local;
pub(crate) use local::templates;
use resemble_relate::AskError;
use resemble_relate::given::ExternalPairs;
use resemble_relate::parallel::{CurrentStep, relay, watched};
pub use subject::{FindSubject, digest_stdin, inode_of};
use subject::{content, read_now};
pub(crate) use subject::{formats, subject_error};

/// The process that answers: the daemon or this process.
#[derive(Debug)]
pub enum Backend {
    /// The daemon.
    Daemon {
        /// The connection to the daemon.
        client: Box<Client>,
        /// The parameters of the daemon's index.
        params: Params,
    },
    /// This process.
    Local(Box<Local>),
}

impl Backend {
    /// Chooses the process that answers a question about these paths. An empty list means the
    /// daemon's roots.
    pub fn choose(
        ui: &mut Ui,
        env: &Env,
        global: &Global,
        answering: &Answering,
        named: &[Named],
    ) -> CliResult<Self> {
        let asked = asked_params(answering)?;
        // A daemon knows the catalogues that it imported, but it does not read other catalogue
        // files. So this process answers questions about such files.
        let is_file = |one: &Named| {
            matches!(
                catalogued::source_of(&one.real),
                Some((Source::File(_), ..))
            )
        };
        let own = named.iter().find(|one| is_file(one));
        if let Some(own) = own.filter(|_| global.socket.is_some()) {
            return Err(CliError::Usage(format!(
                "the daemon answers about catalogues that it keeps; `resemble catalogue add {}`, \
                 or leave out --socket",
                quoted(Path::new(&own.shown))
            )));
        }
        if !global.local && own.is_none() {
            let client = if answering.whole {
                own_daemon(env, global)
            } else {
                daemon(env, global)
            };
            match client.and_then(|client| {
                let whole = answering.whole;
                Self::ask_daemon(ui, client, asked.as_ref(), (named, whole))
            }) {
                Ok(Some(backend)) => return Ok(backend),
                Ok(None) => {}
                // If the daemon is busy, this process does not answer in its place. Reading all
                // files here would slow the daemon even more.
                Err(error) if global.socket.is_some() || is_busy(&error) => return Err(error),
                Err(error) if named.is_empty() && is_daemon_named(env, global) => {
                    return Err(error);
                }
                Err(error) => ui.detail(&error.to_string()),
            }
        }
        if named.is_empty() {
            let socket = own_socket(env, global)?;
            return Err(CliError::NobodyAnswers(nothing_named(
                &socket, global, answering,
            )));
        }
        ui.detail("reading the named files");
        let params = asked.unwrap_or_default();
        let cache = places::cache_file(env, &params);
        let local = Local::open(ui, env, global, answering, &params, named, cache)?;
        if local.is_outgrown() {
            ui.note(&format!(
                "the cache had outgrown {}: everything is read again; a larger --cache-size, \
                 or a daemon, saves that",
                human_size(answering.cache_size),
            ));
        }
        Ok(Self::Local(Box::new(local)))
    }

    /// Returns the daemon if it watches these paths and digests files with these parameters;
    /// otherwise `None`.
    fn ask_daemon(
        ui: &mut Ui,
        client: Client,
        asked: Option<&Params>,
        (named, whole): (&[Named], bool),
    ) -> CliResult<Option<Self>> {
        let params = client.params()?;
        if asked.is_some_and(|asked| *asked != params) {
            ui.detail(&format!(
                "the daemon's index has other parameters: {params}"
            ));
            return Ok(None);
        }
        if client.is_remote() && !named.is_empty() {
            ui.detail("the daemon is another machine's, where these paths mean something else");
            return Ok(None);
        }
        let paths: Vec<PathText> = named
            .iter()
            .map(|one| PathText::from(one.real.as_path()))
            .collect();
        if !paths.is_empty() && !client.covers_all(paths, whole)? {
            ui.detail("the daemon does not watch all of these paths, or leaves something out");
            return Ok(None);
        }
        ui.detail(&format!(
            "the daemon answers (process {})",
            client.hello().pid
        ));
        let client = Box::new(client);
        Ok(Some(Self::Daemon { client, params }))
    }

    /// Returns the parameters of content digests.
    pub fn params(&self) -> &Params {
        match self {
            Self::Daemon { params, .. } => params,
            Self::Local(local) => local.params(),
        }
    }

    /// Scans every path of the question again, if this process answers. A daemon watches its paths
    /// all the time, so it needs no scan.
    ///
    /// Later answers and [`Self::dump`] report what could not be read.
    pub fn refresh(&mut self, ui: &mut Ui, paths: &[PathText]) -> CliResult<()> {
        match self {
            Self::Daemon { .. } => Ok(()),
            Self::Local(local) => local.refresh(ui, paths),
        }
    }

    /// Asks a question about paths that were refreshed. The progress display shows the current
    /// step.
    pub fn ask<Q: Question + Clone>(
        &mut self,
        ui: &Ui,
        doing: &'static str,
        question: Q,
    ) -> CliResult<Whole<Q::Body>> {
        let progress = ui.progress(doing);
        watched(&progress.steps(), || self.put(question))
    }

    /// Asks a question without a progress display, for callers that have one of their own.
    fn put<Q: Question + Clone>(&mut self, question: Q) -> CliResult<Whole<Q::Body>> {
        match self {
            Self::Daemon { client, .. } => Ok(client.ask(question, &mut relayed)?),
            Self::Local(local) => local.ask(&question),
        }
    }

    /// Compares the present state of two trees. The caller need not call [`Self::refresh`] before.
    pub fn compare(&mut self, ui: &Ui, request: CompareRequest) -> CliResult<Whole<Comparison>> {
        if let Self::Local(local) = self
            && let Some(answer) = local.compare(ui, &request)?
        {
            return Ok(answer);
        }
        self.ask(ui, "comparing", request)
    }

    /// Checks whether a directory can be removed now. The caller need not call [`Self::refresh`]
    /// before.
    pub fn covered(&mut self, ui: &Ui, request: CoveredRequest) -> CliResult<Whole<Coverage>> {
        if let Self::Local(local) = self
            && let Some(answer) = local.covered(ui, &request)?
        {
            return Ok(answer);
        }
        self.ask(ui, "comparing", request)
    }

    /// Returns the present sets of identical files. The caller need not call [`Self::refresh`]
    /// before.
    pub fn identical(&mut self, ui: &Ui, request: GroupsRequest) -> CliResult<Whole<Groups>> {
        if let Self::Local(local) = self
            && let Some(answer) = local.identical(ui, &request)?
        {
            return Ok(answer);
        }
        self.ask(ui, "grouping", request)
    }

    /// Returns the groups that the pairs in `given` form. An SQL engine has found these pairs. A
    /// daemon cannot answer this question.
    pub fn groups_of_pairs(
        &mut self,
        ui: &Ui,
        request: &GroupsRequest,
        given: &dyn ExternalPairs,
    ) -> CliResult<Whole<Groups>> {
        let Self::Local(local) = self else {
            let text = "a daemon takes no links: add --local".to_owned();
            return Err(CliError::Usage(text));
        };
        let progress = ui.progress("grouping");
        watched(&progress.steps(), || local.groups_of_pairs(request, given))
    }

    /// Returns the files similar to `sought`. In the rows, `sought` has the name `name`.
    ///
    /// # Errors
    ///
    /// The inner error means that this subject cannot be read. Other subjects may still be
    /// readable.
    pub fn find(
        &mut self,
        sought: &FindSubject,
        name: &PathText,
        options: &FindOptions,
    ) -> CliResult<Result<Whole<SimilarFiles>, SoftError>> {
        let about = |subject| FindRequest {
            subject,
            options: options.clone(),
        };
        let is_elsewhere = self.is_elsewhere();
        let known = if is_elsewhere {
            None
        } else {
            match self.put(about(sought.subject(name))) {
                Err(error) if sought.file().is_some() && is_of_subject(&error) => None,
                other => Some(other?),
            }
        };
        let mut unread = match sought {
            FindSubject::Stdin(read) => unread::error(name.as_path(), read.skipped.clone()),
            FindSubject::File(_) | FindSubject::Member(_) => None,
        };
        let mut answer = match known {
            Some(answer) => answer,
            None => match read_now(sought, self.params(), options.text) {
                Ok(mut read) => {
                    let skipped = std::mem::take(&mut read.skipped);
                    let path = sought.file().unwrap_or_else(|| name.clone());
                    unread = unread::error(path.as_path(), skipped);
                    if is_elsewhere {
                        // Another machine gets only the digests: no bytes, no name and no dates.
                        (read.bytes, read.date) = (None, None);
                        self.put(about(content(None, &read, &Path::new("-").into())))?
                    } else {
                        self.put(about(content(sought.on_disk(), &read, name)))?
                    }
                }
                Err(error) => return Ok(Err(error)),
            },
        };
        for row in &mut answer.body.results {
            row.file = name.clone();
        }
        answer.errors.extend(unread);
        Ok(Ok(answer))
    }

    /// Returns the files that may hold a part of the file at `real`.
    pub fn holders(
        &mut self,
        sought: &holders::SearchedContent,
        real: &Path,
        scope: &Scope,
        all: bool,
    ) -> CliResult<Whole<Vec<HolderRow>>> {
        self.put(HoldersRequest {
            digests: sought.digests.iter().map(WireDigest::from).collect(),
            scope: scope.clone(),
            inode: inode_of(real),
            all,
        })
    }

    /// Returns the present places of files that were at these paths. The daemon has recorded where
    /// they went.
    pub fn departed(&mut self, paths: Vec<PathText>) -> CliResult<Whole<Vec<DepartedRow>>> {
        self.put(DepartedRequest { paths })
    }

    /// Returns when, and under which name, the content at each path was first seen. Only the daemon
    /// of this machine is asked. Without that daemon there are no entries.
    pub fn first_seen(&mut self, paths: Vec<PathText>) -> CliResult<HashMap<PathText, FirstSeen>> {
        if paths.is_empty() || !self.is_daemon() || self.is_elsewhere() {
            return Ok(HashMap::new());
        }
        let rows = self.put(FirstSeenRequest { paths })?.body.into_iter();
        Ok(rows.map(|row| (row.path, row.first_seen)).collect())
    }

    /// Returns whether the daemon of another machine answers.
    pub fn is_elsewhere(&self) -> bool {
        matches!(self, Self::Daemon { client, .. } if client.is_remote())
    }

    /// Returns whether a daemon answers.
    pub const fn is_daemon(&self) -> bool {
        matches!(self, Self::Daemon { .. })
    }

    /// Maintains the cache, which may be compacted. This is called after the answer was printed.
    pub fn close(self, ui: &mut Ui) {
        if let Self::Local(local) = self {
            local.close(ui);
        }
    }

    /// Sends a dump of these roots to `sink`, piece by piece. An empty list means all roots of the
    /// daemon.
    pub fn dump(
        &mut self,
        roots: Vec<PathText>,
        form: DumpForm,
        sink: &mut dyn FnMut(&[u8]) -> CliResult<()>,
    ) -> CliResult<Whole<()>> {
        match self {
            Self::Daemon { client, .. } => {
                let is_text = !matches!(form, DumpForm::Catalogue(_));
                let mut rows = client.dump_as(roots, form)?;
                for row in rows.by_ref() {
                    let row = row?;
                    if is_text {
                        sink(row.text.as_bytes())?;
                    } else {
                        let broken = || CliError::Usage("the daemon sent no base64".to_owned());
                        sink(&row.bytes().ok_or_else(broken)?)?;
                    }
                }
                Ok(Whole {
                    header: rows.header(),
                    body: (),
                    errors: rows.errors().to_vec(),
                })
            }
            Self::Local(local) => local.dump(roots, form, sink),
        }
    }
}

/// Shows the daemon's progress.
fn relayed(progress: StepProgress) {
    relay(CurrentStep {
        number: progress.step,
        doing: progress.doing.into(),
        done: progress.done,
        all: progress.all.unwrap_or_default(),
    });
}

/// Returns the error message for a question about the daemon's roots when no daemon answers.
fn nothing_named(socket: &Path, global: &Global, answering: &Answering) -> String {
    if global.local {
        return "nothing to look in: with --local, name directories (find: --in DIR)".to_owned();
    }
    if answering.chunk_size.is_some() {
        return "nothing to look in: no daemon has an index with this chunk size; name \
                directories (find: --in DIR)"
            .to_owned();
    }
    format!(
        "nothing to look in: no daemon answers at {}; start one with `resembled DIR`, or for \
         good with `resemble setup`, or name directories (find: --in DIR)",
        quoted(socket)
    )
}

fn asked_params(answering: &Answering) -> CliResult<Option<Params>> {
    let Some(size) = answering.chunk_size else {
        return Ok(None);
    };
    let chunk = u32::try_from(size).ok().and_then(ChunkParams::scaled);
    match chunk {
        Some(chunk) => Ok(Some(Params {
            chunk,
            ..Params::default()
        })),
        None => Err(CliError::Usage(format!(
            "--chunk-size {size}: must be between {} and {}",
            ChunkParams::LEAST_AVERAGE,
            ChunkParams::GREATEST_AVERAGE
        ))),
    }
}

/// Returns whether a question failed because of its subject: the daemon or the cache does not have
/// the subject, or cannot read it. This process can then read the subject itself, or report the
/// failure more exactly.
fn is_of_subject(error: &CliError) -> bool {
    match error {
        CliError::Daemon(error) => matches!(
            error.failure(),
            Some(FailureKind::NotIndexed | FailureKind::NotWatched | FailureKind::Internal)
        ),
        CliError::Ask(error) => {
            matches!(error, AskError::NotIndexed(_) | AskError::Unreadable { .. })
        }
        _ => false,
    }
}
