//! `resemble templates`: marks text that does not count as evidence.
//!
//! `mark` asks the daemon or this process which text some files share. `list` and `unmark` need
//! only the file with the templates. This file belongs to the daemon if a daemon answers; otherwise
//! it is in the state folder.

use std::path::{Path, PathBuf};

use resemble_arguments::{Global, MarkArgs, RowOutput, TemplatesAction, TemplatesArgs};
use resemble_core::Params;
use resemble_proto::client::Client;
use resemble_proto::message::{Answer, MarkRequest, Scope, TemplateRow};
use resemble_proto::places::{self, Env};
use resemble_proto::report::Head;
use resemble_query::groups::is_cluster_id;
use resemble_query::templates::Store;

use crate::backend;
use crate::error::{CliError, CliResult, Outcome};
use crate::lists;
use crate::names::{self, Named};
use crate::question::QuestionPaths;
use crate::ui::Ui;

pub(super) fn run(ui: &mut Ui, env: &Env, global: &Global, args: &TemplatesArgs) -> CliResult {
    match &args.action {
        TemplatesAction::Mark(args) => mark(ui, env, global, args),
        TemplatesAction::List { output } => {
            let rows = match daemon(ui, env, global)? {
                Some(client) => client.templates_list()?,
                None => store(env, global)?.list()?,
            };
            print(ui, output, &rows)?;
            Ok(Outcome::of(!rows.is_empty()))
        }
        TemplatesAction::Unmark { which } => {
            match daemon(ui, env, global)? {
                Some(client) => drop(client.templates_unmark(which.clone())?),
                None => drop(store(env, global)?.unmark(which)?),
            }
            Ok(Outcome::Holds)
        }
    }
}

fn mark(ui: &mut Ui, env: &Env, global: &Global, args: &MarkArgs) -> CliResult {
    let MarkArguments {
        files,
        roots,
        cluster,
    } = MarkArguments::of(&args.what)?;
    let asked = QuestionPaths::about(files.iter().chain(&roots).cloned().collect());
    let mut backend = asked.open(ui, env, global, &args.answering)?;
    let request = MarkRequest {
        files: names::real_paths(&files),
        cluster,
        scope: Scope {
            within: names::real_paths(&roots),
            ..Scope::default()
        },
        share: args.share.unwrap_or_default(),
        name: args.name.clone(),
    };
    let marked = backend.ask(ui, "comparing", request)?.body;
    print(ui, &args.output, &marked)?;
    backend.close(ui);
    Ok(Outcome::Holds)
}

/// The parsed arguments of `mark`.
struct MarkArguments {
    files: Vec<Named>,
    roots: Vec<Named>,
    cluster: Option<String>,
}

impl MarkArguments {
    /// Parses the arguments. A name that exists is a file or a directory. One argument may be the
    /// id of a cluster instead.
    fn of(what: &[PathBuf]) -> CliResult<Self> {
        let mut meant = Self {
            files: Vec::new(),
            roots: Vec::new(),
            cluster: None,
        };
        for path in what {
            if let Some(id) = cluster_id(path).filter(|_| path.symlink_metadata().is_err()) {
                if meant.cluster.replace(id).is_some() {
                    let text = "one cluster at a time: name one id, or files";
                    return Err(CliError::Usage(text.to_owned()));
                }
                continue;
            }
            let named = names::required_here(path)?;
            if named.real.is_dir() {
                meant.roots.push(named);
            } else {
                meant.files.push(named);
            }
        }
        match (&meant.cluster, meant.files.is_empty()) {
            (None, true) => Err(CliError::Usage(
                "nothing to mark: name the id of a cluster, or files".to_owned(),
            )),
            (None, false) if !meant.roots.is_empty() => Err(CliError::Usage(
                "a directory is where a cluster is looked for; name its id, or files only"
                    .to_owned(),
            )),
            (Some(_), false) => Err(CliError::Usage(
                "either a cluster or files, not both".to_owned(),
            )),
            _ => Ok(meant),
        }
    }
}

/// Returns the argument if it looks like the id of a cluster. The caller takes every other argument
/// for a path, and reports a missing path before any question is asked.
fn cluster_id(path: &Path) -> Option<String> {
    let text = path.to_str()?;
    is_cluster_id(text).then(|| text.to_owned())
}

/// Returns the daemon if one answers. Returns `None` if the templates are in the state folder.
fn daemon(ui: &mut Ui, env: &Env, global: &Global) -> CliResult<Option<Client>> {
    if global.local {
        return Ok(None);
    }
    match backend::daemon(env, global) {
        Ok(client) => Ok(Some(client)),
        Err(error) if backend::is_daemon_required(env, global) => Err(error),
        Err(error) => {
            ui.detail(&error.to_string());
            Ok(None)
        }
    }
}

fn store(env: &Env, global: &Global) -> CliResult<Store> {
    let state = places::state_dir(env, global.state.as_deref())?;
    Ok(Store::new(&state, &Params::default()))
}

pub(super) fn print(ui: &mut Ui, output: &RowOutput, rows: &[TemplateRow]) -> CliResult<()> {
    ui.redirect(output.output.as_deref());
    let header = Answer::fresh(rows.to_vec(), Vec::new()).header;
    let head = Head::new("templates", serde_json::json!({}), header);
    lists::print(ui, output, &head, "templates", rows, &[], false)?;
    ui.flush()
}
