//! Answers questions in this process, from the laboratory's own cache next to that of `resemble`.

use std::path::Path;

use crate::question::{MethodRequest, MethodRow};
use resemble_cli::backend::local::Local;
use resemble_cli::error::{CliError, CliResult, Outcome};
use resemble_cli::lists::{self, NOTHING};
use resemble_cli::names::Named;
use resemble_cli::ui::Ui;
use resemble_core::Params;
use resemble_proto::message::{Answer, Header, SoftError};
use resemble_proto::path::PathText;
use resemble_proto::places::{self, Env};
use resemble_report::human::human_size;
use resemble_report::quote::quoted;

use super::args::CacheArgs;
use crate::error::{LabError, MethodError};
use crate::method::exported::{Exported, is_export};
use crate::method::{self, SignatureCache};

/// The file name of the cache.
const CACHE: &str = "lab.redb";

/// The source from which questions are answered.
pub(super) enum Backend {
    /// The cache, and the files that it is about.
    Local(Box<Local>),
    /// Exports, which need neither files nor a cache.
    Exported(Box<Exported>, Params),
}

impl Backend {
    /// Opens the cache for a question about these paths, or the exports if the paths name exports.
    pub(super) fn open(
        ui: &mut Ui,
        env: &Env,
        global: &resemble_arguments::Global,
        cache: CacheArgs,
        named: &[Named],
    ) -> CliResult<Self> {
        if let Some(one) = named.iter().find(|one| one.is_catalogued()) {
            return Err(CliError::Usage(format!(
                "a method reads the files themselves; only a catalogue has those of {}",
                quoted(&one.shown)
            )));
        }
        let exports = named.iter().map(|one| &*one.real);
        let exports: Vec<&Path> = exports.filter(|path| is_export(path)).collect();
        if !exports.is_empty() {
            if let Some(other) = named.iter().find(|one| !exports.contains(&&*one.real)) {
                return Err(CliError::Usage(format!(
                    "exports are asked without files, and {} is no export",
                    quoted(&other.shown)
                )));
            }
            let exported = Exported::read(&exports).map_err(LabError::from)?;
            return Ok(Self::Exported(Box::new(exported), Params::default()));
        }
        let file = places::cache_dir(env).map(|folder| folder.join(CACHE));
        let answering = cache.answering();
        let params = Params::default();
        let local = Local::open(ui, env, global, &answering, &params, named, file)?;
        if local.is_outgrown() {
            ui.note(&format!(
                "the cache had outgrown {}: everything is read again; a larger --cache-size \
                 saves that",
                human_size(answering.cache_size),
            ));
        }
        Ok(Self::Local(Box::new(local)))
    }

    /// The parameters with which contents are digested.
    pub(super) fn params(&self) -> &Params {
        match self {
            Self::Local(local) => local.params(),
            Self::Exported(_, params) => params,
        }
    }

    /// Updates the cache for every path of the question.
    pub(super) fn refresh(&mut self, ui: &mut Ui, paths: &[PathText]) -> CliResult<()> {
        match self {
            Self::Local(local) => local.refresh(ui, paths),
            Self::Exported(..) => Ok(()),
        }
    }

    /// Asks a method a question. `subject` is the real path of the file that `find` is about.
    pub(super) fn ask(
        &mut self,
        ui: &Ui,
        request: &MethodRequest,
        subject: Option<&Path>,
    ) -> CliResult<Answer<MethodRow>> {
        let _progress = ui.progress("comparing");
        let local = match self {
            Self::Local(local) => local,
            Self::Exported(exported, _) => {
                let checked = exported.check(&request.params.to_string());
                checked.map_err(LabError::from)?;
                let index = exported.index();
                let snapshot = index.snapshot().map_err(LabError::from)?;
                let cache = SignatureCache::in_index(index);
                return Ok(method::answer(&snapshot, request, None, cache)?);
            }
        };
        local.answer(|snapshot, index, folder| {
            let subject = match subject {
                Some(path) => snapshot.file_at(path)?,
                None => None,
            };
            let cache =
                SignatureCache::in_index(index.index()).with_folder(folder, index.is_cached());
            method::answer(snapshot, request, subject.map(|row| row.id), cache)
        })
    }

    /// Maintains the cache. This is called after the answer is printed.
    pub(super) fn close(self, ui: &mut Ui) {
        if let Self::Local(local) = self {
            local.close(ui);
        }
    }
}

impl From<LabError> for CliError {
    fn from(error: LabError) -> Self {
        match error {
            LabError::Ask(error) => error.into(),
            error => Self::Other(Box::new(error)),
        }
    }
}

/// Returns the error of a question that the method refuses.
pub(super) fn refused(error: impl Into<MethodError>) -> CliError {
    CliError::Other(Box::new(error.into()))
}

/// Prints the notes and the errors that follow the rows, and maintains the cache.
pub(super) fn end(
    ui: &mut Ui,
    backend: Option<Backend>,
    header: &Header,
    errors: &[SoftError],
    top: Option<u64>,
) -> CliResult {
    lists::note_nothing(ui, header, NOTHING);
    lists::note_limits(ui, header, top, false);
    ui.soft_errors(errors);
    ui.flush()?;
    if let Some(backend) = backend {
        backend.close(ui);
    }
    Ok(Outcome::of(header.total > 0).with_errors(!errors.is_empty()))
}
