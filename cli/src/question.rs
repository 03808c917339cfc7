//! Asks questions and prints their answers.
//!
//! A verb defines the paths, the requests and the output of its question ([`Verb`]). All other
//! steps are the same for every verb. This module has them:
//!
//! 1. A named path that does not exist is a soft error. If none of the named paths exists, the
//!    answer is empty. Without this rule, the question would be about all that the daemon watches.
//! 2. The named paths decide which process answers. If this process answers, it scans these paths
//!    again ([`Backend`]).
//! 3. Paths in rows and errors begin as the arguments do.
//! 4. The output is opened when the answer is complete. So a question that fails leaves no empty
//!    file.
//! 5. After the answer, standard error reports what the answer leaves out, and then lists the
//!    errors.
//!
//! A saved report is the answer to an earlier question, so only steps 4 and 5 are done for it.

use std::cell::OnceCell;
use std::path::{Path, PathBuf};

use resemble_arguments::{Answering, Global};
use resemble_core::Params;
use resemble_proto::documents::{Body, Document};
use resemble_proto::message::{Header, Looked, SoftError, SoftErrorKind, Whole};
use resemble_proto::path::PathText;
use resemble_proto::places::Env;
use resemble_report::document::Extras;
use resemble_report::human::human_count;
use resemble_report::quote::quoted;
use resemble_report::saved::Saved;

use crate::backend::{self, Backend};
use crate::error::{CliError, CliResult, Outcome};
use crate::lists::{self, NOTHING};
use crate::names::{self, Named, ShownNames};
use crate::ui::Ui;

/// The paths of a question.
#[derive(Debug, Default)]
pub struct QuestionPaths {
    /// The paths in which the question looks. Paths in rows begin as the user gave these paths.
    pub named: Vec<Named>,
    /// Other paths that the daemon must watch, too, such as the path of `--of`.
    pub also: Vec<Named>,
    /// Paths that are also scanned if this process answers. They do not influence which process
    /// answers.
    pub looked_at: Vec<PathText>,
    /// The number of named paths that the question is about. These come first in `named`. The other
    /// paths are only searched. Errors below them are reported, but do not make the answer
    /// incomplete.
    pub about: usize,
    /// True if the question is about none of the named paths, but only searches them. This also
    /// holds if no path is named and all that the daemon watches is searched.
    pub only_looks: bool,
    /// The errors of named paths that could not be resolved. Most of these paths do not exist.
    pub missing: Vec<SoftError>,
    /// True if the question has a place to look in: a named path, or all that the daemon watches.
    pub anything: bool,
    /// Translates real paths to paths for rows. It is made from `named` when the first row needs
    /// it.
    pub(crate) shown: OnceCell<ShownNames>,
}

impl QuestionPaths {
    /// Returns a question about these paths, all of which exist.
    pub fn about(named: Vec<Named>) -> Self {
        Self {
            about: named.len(),
            named,
            anything: true,
            ..Self::default()
        }
    }

    /// Returns a question about all files at or below these paths. Paths that do not exist are
    /// recorded as missing.
    pub fn among(paths: &[PathBuf]) -> Self {
        let (named, missing) = names::resolve(paths);
        Self {
            anything: !named.is_empty(),
            about: named.len(),
            named,
            missing,
            ..Self::default()
        }
    }

    /// Like [`Self::among`]. But if `paths` is empty, the question is about everything that the
    /// daemon watches.
    pub fn within(paths: &[PathBuf]) -> Self {
        let among = Self::among(paths);
        Self {
            anything: among.anything || paths.is_empty(),
            ..among
        }
    }

    /// Adds required paths that are missing. If there are any, the question is not asked.
    #[must_use]
    pub fn unless(mut self, missing: Option<Vec<SoftError>>) -> Self {
        let missing = missing.unwrap_or_default();
        self.anything &= missing.is_empty();
        self.missing.extend(missing);
        self
    }

    /// Refuses a question that names at most `most` paths, if all these paths are files. There
    /// would be too little to compare. A single archive or mail is enough for a question about its
    /// members.
    pub fn not_files_alone(&self, verb: &str, most: usize) -> CliResult<()> {
        match self.named.first() {
            Some(file)
                if self.missing.is_empty()
                    && self.named.len() <= most
                    && !self.named.iter().any(Named::is_dir)
                    && !(most == 1 && file.may_hold_files()) =>
            {
                let file = quoted(&file.shown);
                Err(CliError::Usage(format!(
                    "{file} is not a directory; `{verb}` compares files in directories; \
                     `resemble find {file}` names what is similar to a file"
                )))
            }
            _ => Ok(()),
        }
    }

    /// Completes a question that names no path. If a daemon answers, the question stays about
    /// everything that the daemon watches. If not, it is about the current directory.
    #[must_use]
    pub fn or_here(self, ui: &mut Ui, env: &Env, global: &Global) -> Self {
        let is_there = || match backend::daemon(env, global) {
            Ok(_) => true,
            Err(error) => backend::is_busy(&error),
        };
        let asks_daemon = || !global.local && is_there();
        let is_required = !global.local && backend::is_daemon_required(env, global);
        if !self.anything || !self.named.is_empty() || is_required || asks_daemon() {
            return self;
        }
        ui.note("no daemon is asked: these are the files below the current directory");
        Self {
            looked_at: self.looked_at,
            missing: self.missing,
            ..Self::among(&[PathBuf::from(".")])
        }
    }

    /// Limits the question to the first `first` named paths. The other paths are only searched.
    #[must_use]
    pub fn only_about(self, first: usize) -> Self {
        Self {
            about: first,
            only_looks: first == 0,
            ..self
        }
    }

    /// Returns whether the answer lacks something because of an error. If so, the exit code is 2.
    fn is_gap(&self, error: &SoftError) -> bool {
        let path = error.path.as_path();
        let (about, looked_in) = self.named.split_at(self.about);
        // A question that names no place looks in all that the daemon watches.
        let looks_anywhere = self.only_looks && self.named.is_empty();
        let is_only_looked_in = match error.kind {
            SoftErrorKind::LeftOut => return false,
            // The daemon also reports documents elsewhere below its roots that could not be read in
            // full. These documents do not matter for this answer.
            SoftErrorKind::Unread => self.only_looks,
            SoftErrorKind::NotFound | SoftErrorKind::Unreadable | SoftErrorKind::Changing => {
                looks_anywhere
            }
            SoftErrorKind::Rebuilding | SoftErrorKind::Other => false,
        };
        if is_only_looked_in && path.is_absolute() {
            return self.looked_at.iter().any(|file| path == file.as_path());
        }
        about.iter().any(|tree| path.starts_with(&tree.real))
            || self.named.iter().any(|named| path == named.real)
            || self.looked_at.iter().any(|file| path == file.as_path())
            || !looked_in.iter().any(|tree| {
                // In a catalogue, an error means that the answer lacks content.
                !tree.is_catalogued() && path.starts_with(&tree.real)
            })
    }

    /// Returns the real paths in which the question looks.
    pub fn scope(&self) -> Vec<PathText> {
        names::real_paths(&self.named)
    }

    /// Returns a path of the answer in a form that begins as the arguments do.
    pub fn shown(&self, real: &PathText) -> PathText {
        let shown = self.shown.get_or_init(|| ShownNames::of(&self.named));
        shown.path(real)
    }

    /// Returns all errors of an answer, sorted, with paths that begin as the arguments do.
    pub fn errors(&self, mut found: Vec<SoftError>) -> Vec<SoftError> {
        found.extend(self.missing.iter().cloned());
        names::tidy(found, &ShownNames::of(self.named.iter().chain(&self.also)))
    }

    /// Chooses the process that answers.
    pub fn choose(
        &self,
        ui: &mut Ui,
        env: &Env,
        global: &Global,
        answering: &Answering,
    ) -> CliResult<Backend> {
        Backend::choose(ui, env, global, answering, &self.all())
    }

    /// Chooses the process that answers. If this process answers, it scans the paths again.
    pub fn open(
        &self,
        ui: &mut Ui,
        env: &Env,
        global: &Global,
        answering: &Answering,
    ) -> CliResult<Backend> {
        let mut backend = self.choose(ui, env, global, answering)?;
        let mut paths = names::real_paths(&self.all());
        paths.extend(self.looked_at.iter().cloned());
        backend.refresh(ui, &paths)?;
        Ok(backend)
    }

    fn all(&self) -> Vec<Named> {
        self.named.iter().chain(&self.also).cloned().collect()
    }
}

/// A verb that asks a question.
pub trait Verb {
    /// The body of the document with the answer.
    type Body: Body + Default;

    /// Returns the options that decide which process answers.
    fn answering(&self) -> Answering;

    /// Returns whether the paths are scanned before the question is asked. If not, the daemon or
    /// the cache scans them while it answers.
    fn is_refreshed(&self) -> bool {
        true
    }

    /// Sends the requests of the question, and combines their answers.
    fn ask(
        &mut self,
        ui: &mut Ui,
        backend: &mut Backend,
        asked: &QuestionPaths,
    ) -> CliResult<Whole<Self::Body>>;

    /// Replaces the real paths of the answer by paths that begin as the arguments do.
    fn show(&self, body: &mut Self::Body, asked: &QuestionPaths);

    /// Returns the parameters of the question, for the document.
    fn parameters(
        &self,
        asked: &QuestionPaths,
        params: &Params,
    ) -> <Self::Body as Body>::Parameters;

    /// Adds to a report the data that only a page or a workbook shows.
    fn adorn(
        &self,
        ui: &mut Ui,
        backend: &mut Backend,
        asked: &QuestionPaths,
        report: &mut Saved<Self::Body>,
    ) -> CliResult<()> {
        let _ = (ui, backend, asked, report);
        Ok(())
    }

    /// Returns the file to write into instead of standard output.
    fn output(&self) -> Option<&Path>;

    /// Returns the path of a saved report, if one is printed again instead of a new answer.
    fn from(&self) -> Option<&Path> {
        None
    }

    /// Prints the answer.
    fn print(
        &self,
        ui: &mut Ui,
        document: &Document<Self::Body>,
        extras: &Extras<'_>,
    ) -> CliResult<()>;

    /// Returns the value of `--top`.
    fn top(&self) -> Option<u64> {
        None
    }

    /// Returns the note on standard error about an answer without rows.
    fn nothing(&self, body: &Self::Body) -> &'static str {
        let _ = body;
        NOTHING
    }

    /// Returns whether the document says how many files were compared. The note on standard error
    /// always has this number.
    fn tells_looked(&self, backend: &Backend) -> bool {
        let _ = backend;
        true
    }

    /// Returns whether the expected state holds. If so, the exit code is 0, otherwise 1.
    fn holds(&self, document: &Document<Self::Body>) -> bool {
        document.header.total > 0
    }
}

/// An answer before it is printed.
#[derive(Debug)]
pub struct Answered<B: Body> {
    /// The answer.
    pub report: Saved<B>,
    /// Numbers of compared files.
    looked: Option<Looked>,
    /// The process that answered; `None` if no question was asked.
    backend: Option<Backend>,
    /// True if the answer lacks something, so that the exit code is 2.
    has_gaps: bool,
}

impl<B: Body> Answered<B> {
    /// Maintains the cache, if this process answered.
    pub fn close(self, ui: &mut Ui) {
        if let Some(backend) = self.backend {
            backend.close(ui);
        }
    }
}

/// Asks a question and prints its answer, the notes about it and the errors.
pub fn run<V: Verb>(
    ui: &mut Ui,
    env: &Env,
    global: &Global,
    asked: &QuestionPaths,
    mut verb: V,
) -> CliResult {
    let answered = answer(ui, env, global, asked, &mut verb)?;
    finish(ui, &verb, answered)
}

/// Asks a question and returns its answer.
pub fn answer<V: Verb>(
    ui: &mut Ui,
    env: &Env,
    global: &Global,
    asked: &QuestionPaths,
    verb: &mut V,
) -> CliResult<Answered<V::Body>> {
    let mut answer = Whole::<V::Body>::fresh();
    let mut backend = None;
    if asked.anything {
        let answering = verb.answering();
        let chosen = backend.insert(if verb.is_refreshed() {
            asked.open(ui, env, global, &answering)?
        } else {
            asked.choose(ui, env, global, &answering)?
        });
        answer = verb.ask(ui, chosen, asked)?;
        if chosen.is_daemon() && !chosen.is_elsewhere() {
            answer.errors.extend(names::denied(&asked.all()));
        }
    }
    let looked = answer.header.looked;
    if backend
        .as_ref()
        .is_some_and(|backend| !verb.tells_looked(backend))
    {
        answer.header.looked = None;
    }
    verb.show(&mut answer.body, asked);
    let params = backend
        .as_ref()
        .map_or_else(Params::default, |b: &Backend| *b.params());
    let has_gaps =
        !asked.missing.is_empty() || answer.errors.iter().any(|error| asked.is_gap(error));
    let errors = asked.errors(answer.errors);
    let parameters = verb.parameters(asked, &params);
    let mut report = Saved {
        document: Document::new(parameters, answer.header, answer.body, errors),
        folders: None,
        evidence: Vec::new(),
        links: None,
        base: base(),
    };
    if let Some(backend) = &mut backend {
        verb.adorn(ui, backend, asked, &mut report)?;
    }
    Ok(Answered {
        report,
        looked,
        backend,
        has_gaps,
    })
}

/// Prints a saved report.
pub fn print_again<V: Verb>(ui: &mut Ui, verb: &V, report: Saved<V::Body>) -> CliResult {
    let looked = report.document.header.looked;
    let has_gaps = report.document.errors.iter().any(SoftError::is_trouble);
    let answered = Answered {
        report,
        looked,
        backend: None,
        has_gaps,
    };
    finish(ui, verb, answered)
}

/// Prints an answer, the notes about it and the errors.
pub fn finish<V: Verb>(ui: &mut Ui, verb: &V, answered: Answered<V::Body>) -> CliResult {
    let Answered {
        report,
        looked,
        backend,
        has_gaps,
    } = answered;
    let document = &report.document;
    let extras = Extras {
        folders: report.folders.as_ref(),
        evidence: report.evidence,
        links: report.links,
        base: report.base,
        saved: verb.from(),
    };
    ui.redirect(verb.output());
    verb.print(ui, document, &extras)?;
    let header = &document.header;
    let asked = Header {
        looked,
        ..header.clone()
    };
    lists::note_nothing(ui, &asked, verb.nothing(&document.body));
    let by_daemon = backend.as_ref().is_some_and(Backend::is_daemon);
    let mut limited = header.clone();
    // A new answer may lack rows because of near-copies or because of `--top`. A saved report lacks
    // rows only if it was made with `--top`.
    if verb.from().is_some() && verb.top().is_none() && header.shown < header.total {
        let (shown, total) = (human_count(header.shown), human_count(header.total));
        ui.note(&format!(
            "{shown} of {total} rows are in the report: it was made with --top"
        ));
        limited.total = limited.shown;
    }
    lists::note_limits(ui, &limited, verb.top(), by_daemon);
    ui.soft_errors(&document.errors);
    ui.flush()?;
    if let Some(backend) = backend {
        backend.close(ui);
    }
    Ok(Outcome::of(verb.holds(document)).with_errors(has_gaps))
}

/// Returns the current directory, from which relative names in a report start.
pub fn base() -> Option<PathText> {
    std::env::current_dir().ok().map(PathText::from)
}
