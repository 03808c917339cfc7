//! Opens the index file at the start and after failures, and closes it at the end.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use resemble_core::Params;
use resemble_index::{Index, OpenError, Options as IndexOptions};

use crate::config::Config;
use crate::{LAST_ANSWERS, StartError, indexer};

/// The time for which a starting daemon waits for an index that is in use. An earlier daemon may
/// have been killed while it started a program for an alert. The forked child of that daemon holds
/// the lock until the child executes the program.
const LAST_USE: Duration = Duration::from_secs(1);

pub(crate) fn open_index(
    config: &Config,
    path: &Path,
    options: &IndexOptions,
) -> Result<Arc<Index>, StartError> {
    let began = Instant::now();
    loop {
        match open(path, &config.params, options) {
            Err(OpenError::InUse { .. }) if began.elapsed() < LAST_USE => {
                thread::sleep(Duration::from_millis(20));
            }
            Err(OpenError::InUse { .. }) => {
                let state = config.state.clone();
                return Err(StartError::InUse { state });
            }
            opened => return Ok(opened?),
        }
    }
}

fn open(path: &Path, params: &Params, options: &IndexOptions) -> Result<Arc<Index>, OpenError> {
    let (index, set_aside) = Index::open(path, params, options)?;
    if let Some(aside) = set_aside {
        tracing::warn!(
            reason = aside.reason,
            moved_to = ?aside.moved_to,
            "the index could not be used; it is set aside and rebuilt"
        );
    }
    Ok(Arc::new(index))
}

/// Makes a function that opens the index again after a failure.
pub(crate) fn opener(path: PathBuf, params: Params, options: IndexOptions) -> indexer::Opener {
    Box::new(move || {
        open(&path, &params, &options).map_err(|error| {
            let last = Index::last_commit(&path, &params, &options);
            let last = last.inspect_err(|error| tracing::debug!(%error, "no last commit"));
            (error, last.ok())
        })
    })
}

/// Waits until no question uses the index, and closes it. If the wait takes too long, the index is
/// left open.
pub(crate) fn close(mut index: Arc<Index>) {
    let patience = Instant::now() + LAST_ANSWERS;
    let index = loop {
        match Arc::try_unwrap(index) {
            Ok(index) => break index,
            Err(shared) if Instant::now() < patience => {
                index = shared;
                thread::sleep(Duration::from_millis(10));
            }
            // The index is not compacted, and its last small changes may not be durable. The scan
            // of the next start finds these changes again.
            Err(_) => {
                return tracing::warn!("a question still holds the index; it is not compacted");
            }
        }
    };
    if let Err(error) = index.close() {
        tracing::warn!(%error, "the index was not compacted");
    }
}
