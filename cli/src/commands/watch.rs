//! `resemble watch`: the directories that the daemon watches.

use std::path::{Path, PathBuf};

use resemble_proto::message::Answer;
use resemble_proto::path::PathText;
use resemble_proto::places::Env;
use resemble_proto::report::Head;

use crate::args::{Global, WatchAction, WatchArgs};
use crate::backend;
use crate::error::{CliError, CliResult, Outcome};
use crate::rows;
use crate::ui::Ui;

pub(super) fn run(ui: &mut Ui, env: &Env, global: &Global, args: &WatchArgs) -> CliResult {
    match &args.action {
        WatchAction::Add {
            dir,
            ignore,
            one_file_system,
            no_text,
        } => {
            let path = real(dir)?;
            let daemon = backend::daemon(env, global)?;
            daemon.watch_add(path, *ignore, *one_file_system, !no_text)?;
        }
        WatchAction::Remove { dir } => {
            let daemon = backend::daemon(env, global)?;
            // A root that is gone can be removed too: then the name is all there is.
            let path = real(dir).or_else(|_| absolute(dir))?;
            daemon.watch_remove(path)?;
        }
        WatchAction::List { output } => {
            let roots = Answer::fresh(backend::daemon(env, global)?.watch_list()?, Vec::new());
            ui.redirect(output.output.as_deref());
            let head = Head::new("watch", serde_json::json!({}), roots.header);
            rows::print(ui, output, &head, "roots", &roots.rows, &[], false)?;
            return Ok(Outcome::of(!roots.rows.is_empty()));
        }
    }
    Ok(Outcome::Holds)
}

fn real(dir: &Path) -> CliResult<PathText> {
    let failed = |source| CliError::File {
        verb: "watch",
        path: dir.to_owned(),
        source,
    };
    std::fs::canonicalize(dir)
        .map(PathText::from)
        .map_err(failed)
}

/// An absolute path of a name that may lead nowhere.
pub(super) fn absolute(path: &Path) -> CliResult<PathText> {
    let failed = |source| CliError::File {
        verb: "find",
        path: path.to_owned(),
        source,
    };
    // The folder above is likely to be there; links in it are followed as for any other path.
    let parent = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let full: PathBuf = match (std::fs::canonicalize(parent), path.file_name()) {
        (Ok(parent), Some(name)) => parent.join(name),
        _ => std::path::absolute(path).map_err(failed)?,
    };
    Ok(PathText::from(full))
}
