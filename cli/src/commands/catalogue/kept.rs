//! Imported catalogues: those of the daemon, or those in the state folder if no daemon answers.

use std::path::PathBuf;

use resemble_arguments::Global;
use resemble_catalogue::{self as catalogue, CatalogueError};
use resemble_proto::catalogued;
use resemble_proto::message::{AlertRules, RootRules, WatchOrigin, WatchRow};
use resemble_proto::places::{self, Env};

use crate::backend;
use crate::error::{CliResult, Outcome};

/// Returns what the daemon watches. Without a daemon it returns the catalogues in the state folder.
/// If there are none or a daemon is required, it returns the error about the daemon. With `--local`
/// no daemon is asked.
pub(in crate::commands) fn watched(env: &Env, global: &Global) -> CliResult<Vec<WatchRow>> {
    if global.local {
        return Ok(kept(env, global));
    }
    match backend::daemon(env, global) {
        Ok(daemon) => Ok(daemon.watch_list()?),
        Err(error) => match kept(env, global) {
            rows if rows.is_empty() || backend::is_daemon_required(env, global) => Err(error),
            rows => Ok(rows),
        },
    }
}

/// Forgets an imported catalogue: one of the daemon, or one in the state folder if no daemon
/// answers.
pub(in crate::commands) fn forget(env: &Env, global: &Global, label: &str) -> CliResult {
    if !global.local {
        match backend::daemon(env, global) {
            Ok(daemon) => {
                daemon.watch_remove(catalogued::of_label(label).into())?;
                return Ok(Outcome::Holds);
            }
            Err(error) if backend::is_daemon_required(env, global) => return Err(error),
            Err(_) => {}
        }
    }
    if !catalogue::forget(&folder(env, global)?, label)? {
        let label = label.to_owned();
        return Err(CatalogueError::Unknown { label }.into());
    }
    Ok(Outcome::Holds)
}

/// Returns the catalogues in the state folder, as the daemon would list them.
pub(in crate::commands) fn kept(env: &Env, global: &Global) -> Vec<WatchRow> {
    let folder = folder(env, global).unwrap_or_default();
    let row = |label: String| WatchRow {
        path: catalogued::of_label(&label).into(),
        origin: WatchOrigin::Catalogue,
        rules: RootRules::default(),
        alerts: AlertRules::default(),
    };
    catalogue::kept(&folder).into_iter().map(row).collect()
}

/// Returns the folder of imported catalogues.
pub(in crate::commands) fn folder(env: &Env, global: &Global) -> CliResult<PathBuf> {
    let state = places::state_dir(env, global.state.as_deref())?;
    Ok(places::catalogues_dir(&state))
}
