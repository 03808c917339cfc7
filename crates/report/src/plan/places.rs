//! Computes to which paths a plan with `move=DIR` or `copy=DIR` moves or copies files.

use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::{Means, Plan};

impl Plan {
    /// Returns the path to which a file is moved or copied. Below the target folder, the file keeps
    /// its path relative to its root. Returns `None` if the plan moves and copies nothing. Fails if
    /// another file has the same target.
    pub(super) fn place(&mut self, path: &Path) -> Result<Option<PathBuf>, ()> {
        let Some(dir) = self.kind.target() else {
            return Ok(None);
        };
        let mut above = path.ancestors();
        let found = above.find_map(|root| Some((root, self.folders.get(root)?.as_path())));
        let (root, folder) = found.unwrap_or((Path::new("/"), dir));
        let below = path.strip_prefix(root).unwrap_or(path);
        let is_root = below.as_os_str().is_empty();
        let target = match path.file_name() {
            Some(name) if is_root && folder == dir => dir.join(name),
            // `join` would add a slash if `below` is empty.
            _ if is_root => folder.to_owned(),
            _ => folder.join(below),
        };
        if self.targets.insert(target.clone()) {
            Ok(Some(target))
        } else {
            Err(())
        }
    }
}

/// Returns the target folder of each root. If there are several roots, each has a folder with its
/// own name. A second root `docs` has the folder `docs~2`, as in a view of several roots.
pub(super) fn folders(means: &Means<'_>) -> HashMap<PathBuf, PathBuf> {
    let Some(dir) = means.kind.target() else {
        return HashMap::new();
    };
    let roots: HashSet<&PathBuf> = means.roots.iter().collect();
    if roots.len() < 2 {
        let only = means
            .roots
            .iter()
            .map(|root| (root.clone(), dir.to_owned()));
        return only.collect();
    }
    let (mut folders, mut taken) = (HashMap::new(), HashSet::new());
    for root in &means.roots {
        if folders.contains_key(root) {
            continue;
        }
        let name = root.file_name().unwrap_or(OsStr::new("root"));
        let mut folder = dir.join(name);
        for count in 2.. {
            if taken.insert(folder.clone()) {
                break;
            }
            let mut numbered = name.to_owned();
            numbered.push(format!("~{count}"));
            folder.set_file_name(numbered);
        }
        folders.insert(root.clone(), folder);
    }
    folders
}
