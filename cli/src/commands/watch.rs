//! `resemble watch`: adds, removes or lists the directories that the daemon watches.

use std::path::{Path, PathBuf};

use resemble_arguments::{Global, WatchAction, WatchArgs};
use resemble_proto::catalogued;
use resemble_proto::message::{Answer, RootRules};
use resemble_proto::path::PathText;
use resemble_proto::places::Env;
use resemble_proto::report::Head;

use super::catalogue::kept;
use crate::backend;
use crate::error::{CliError, CliResult, Outcome};
use crate::lists;
use crate::names::ShownNames;
use crate::new_file::folder_of;
use crate::ui::Ui;

pub(super) fn run(ui: &mut Ui, env: &Env, global: &Global, args: &WatchArgs) -> CliResult {
    match &args.action {
        WatchAction::Add {
            dir,
            ignore,
            one_file_system,
            layer,
            exclude,
            max_size,
            alerts,
        } => {
            let path = real(dir)?;
            let daemon = backend::daemon(env, global)?;
            let rules = RootRules {
                ignore: *ignore,
                one_file_system: *one_file_system,
                text: layer.is_on(),
                exclude: exclude.clone(),
                max_size: *max_size,
            };
            daemon.watch_add(path, rules, alerts.rules())?;
        }
        WatchAction::Remove { dir } => {
            // The path of a root that no longer exists cannot be resolved, so the name is used as
            // given. The name may also be the label of a catalogue.
            let path = real(dir);
            if let (Err(_), Some(label)) = (&path, label_of(dir)) {
                return kept::forget(env, global, label);
            }
            let daemon = backend::daemon(env, global)?;
            daemon.watch_remove(path.or_else(|_| absolute(dir))?)?;
        }
        WatchAction::List { output } => {
            let mut rows = kept::watched(env, global)?;
            for row in &mut rows {
                row.path = ShownNames::default().path(&row.path);
            }
            let roots = Answer::fresh(rows, Vec::new());
            ui.redirect(output.output.as_deref());
            let head = Head::new("watch", serde_json::json!({}), roots.header);
            lists::print(ui, output, &head, "roots", &roots.rows, &[], false)?;
            return Ok(Outcome::of(!roots.rows.is_empty()));
        }
    }
    Ok(Outcome::Holds)
}

/// Returns the label in a name such as `disk:`.
fn label_of(name: &Path) -> Option<&str> {
    let (label, below) = catalogued::split_shown(name)?;
    let label = label.to_str()?;
    (below.as_os_str().is_empty() && catalogued::is_label(label)).then_some(label)
}

fn real(dir: &Path) -> CliResult<PathText> {
    std::fs::canonicalize(dir)
        .map(PathText::from)
        .map_err(CliError::file("watch", dir))
}

/// Returns the absolute path of a file or folder. The file or folder itself need not exist.
pub(super) fn absolute(path: &Path) -> CliResult<PathText> {
    // The parent folder is likely to exist, so symbolic links in its path are followed.
    let folder = std::fs::canonicalize(folder_of(path));
    let full: PathBuf = match (folder, path.file_name()) {
        (Ok(parent), Some(name)) => parent.join(name),
        _ => std::path::absolute(path).map_err(CliError::file("find", path))?,
    };
    Ok(PathText::from(full))
}
