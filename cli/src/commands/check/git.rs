//! Asks git for the work tree, its files, and the staged changes.
//!
//! Git itself decides which files were renamed. Programs that the configuration of a repository
//! names are never run.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use resemble_report::quote::harmless;

use crate::error::{CliError, CliResult};

/// A work tree of git, as the real path of its root folder.
pub(super) struct WorkTree(pub(super) PathBuf);

pub(super) struct StagedChange {
    /// The path below the root.
    pub(super) path: PathBuf,
    /// The path that the file has in HEAD, if it was renamed since.
    pub(super) was: Option<PathBuf>,
    /// True if HEAD does not have the file.
    pub(super) is_new: bool,
    /// The name that git gives to the staged content. `None` if the staged entry is not a regular
    /// file, or has a merge conflict.
    pub(super) blob: Option<String>,
}

impl WorkTree {
    /// Returns the work tree that contains the current directory.
    pub(super) fn here() -> CliResult<Self> {
        let out = git(Path::new("."), "rev-parse --show-toplevel", Stdio::piped())?;
        let path = path_of(out.strip_suffix(b"\n").unwrap_or(&out));
        let root = std::fs::canonicalize(&path);
        Ok(Self(root.map_err(CliError::file("look at", &path))?))
    }

    /// Returns the files of the work tree that git does not ignore, as real paths. If `only` is not
    /// empty, returns only the files at its paths.
    pub(super) fn files(&self, only: &[&Path]) -> CliResult<HashSet<PathBuf>> {
        let list = "ls-files -z --cached --others --exclude-standard";
        let out = git_of(&self.0, list, only, Stdio::piped())?;
        let paths = out.split(|&byte| byte == 0);
        let paths = paths.map(|name| self.0.join(path_of(name)));
        let is_file = |path: &PathBuf| path.symlink_metadata().is_ok_and(|meta| meta.is_file());
        Ok(paths.filter(is_file).collect())
    }

    /// Returns the staged changes. Files that HEAD has are first. So of two similar files, the new
    /// one is the copy.
    pub(super) fn staged(&self) -> CliResult<Vec<StagedChange>> {
        let list = "diff --cached --raw -z -M --no-abbrev --no-relative --no-ext-diff \
                    --ignore-submodules=all";
        let out = git(&self.0, list, Stdio::piped())?;
        let mut fields = out.split(|&byte| byte == 0);
        let mut staged = Vec::new();
        // An entry is `:MODE MODE BLOB BLOB STATUS` and a path. A rename or a copy has a second
        // path.
        while let Some(entry) = fields.next().filter(|entry| !entry.is_empty()) {
            let entry = String::from_utf8_lossy(entry);
            let words: Vec<&str> = entry.split(' ').collect();
            let (&[_, mode, _, blob, status], Some(first)) = (&words[..], fields.next()) else {
                let why = "git lists what is staged in a form that is not known".to_owned();
                return Err(CliError::Usage(why));
            };
            let second = fields
                .clone()
                .next()
                .filter(|_| status.starts_with(['R', 'C']));
            if second.is_some() {
                fields.next();
            }
            // Symbolic links, submodules and unmerged files have no content to compare.
            let is_file = mode.starts_with("100") && !status.starts_with('U');
            staged.push(StagedChange {
                path: path_of(second.unwrap_or(first)),
                was: status.starts_with('R').then(|| path_of(first)),
                is_new: status.starts_with(['A', 'C']),
                blob: is_file.then(|| blob.to_owned()),
            });
        }
        staged.sort_by_key(|change| change.is_new);
        Ok(staged)
    }

    /// Writes the content of a blob into a file.
    pub(super) fn write(&self, blob: &str, to: File) -> CliResult<()> {
        git(&self.0, &format!("cat-file blob {blob}"), to.into()).map(drop)
    }
}

fn path_of(name: &[u8]) -> PathBuf {
    PathBuf::from(OsStr::from_bytes(name))
}

/// Runs git with these arguments. Returns its output, unless `output` redirects it.
fn git(folder: &Path, words: &str, output: Stdio) -> CliResult<Vec<u8>> {
    git_of(folder, words, &[], output)
}

/// Does the same as [`git`] for these paths.
fn git_of(folder: &Path, words: &str, paths: &[&Path], output: Stdio) -> CliResult<Vec<u8>> {
    let verb = words.split(' ').find(|word| !word.starts_with('-'));
    let verb = verb.unwrap_or_default();
    let failed = |why: &str| CliError::Usage(format!("git {verb}: {}", harmless(why)));
    let mut command = Command::new("git");
    command.arg("-C").arg(folder);
    // A repository may configure a program as its file monitor. This option keeps git from running
    // that program.
    command
        .args(["-c", "core.fsmonitor=false", "--literal-pathspecs"])
        .args(words.split_whitespace());
    if !paths.is_empty() {
        command.arg("--").args(paths);
    }
    command.env("GIT_OPTIONAL_LOCKS", "0").stdin(Stdio::null());
    let child = command.stdout(output).stderr(Stdio::piped()).spawn();
    let done = child
        .and_then(Child::wait_with_output)
        .map_err(|error| failed(&error.to_string()))?;
    if done.status.success() {
        return Ok(done.stdout);
    }
    let said = String::from_utf8_lossy(&done.stderr);
    Err(failed(said.lines().next().unwrap_or("it failed")))
}
