//! What git knows: the work tree, its files, and what is staged.
//!
//! Git's own output decides what a rename is. Nothing that a repository configures is run.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use resemble_report::quote::harmless;

use crate::error::{CliError, CliResult};

/// A work tree.
pub(super) struct WorkTree {
    /// Its folder, a real path.
    pub(super) root: PathBuf,
}

/// A regular file that is staged.
pub(super) struct StagedFile {
    /// Its path below the root.
    pub(super) path: PathBuf,
    /// Its path in HEAD, if it was renamed.
    pub(super) was: Option<PathBuf>,
    /// HEAD does not have it.
    pub(super) is_new: bool,
    /// The name of its content.
    blob: String,
}

/// What is staged.
#[derive(Default)]
pub(super) struct Staged {
    pub(super) files: Vec<StagedFile>,
    /// Paths that are removed.
    pub(super) removed: Vec<PathBuf>,
}

impl WorkTree {
    /// The work tree around the current directory.
    pub(super) fn here() -> CliResult<Self> {
        let out = git(Path::new("."), &["rev-parse", "--show-toplevel"])?;
        let path = out.strip_suffix(b"\n").unwrap_or(&out);
        let root = std::fs::canonicalize(path_of(path));
        let root = root.map_err(CliError::file("look at", &path_of(path)))?;
        Ok(Self { root })
    }

    /// The files of the work tree that git does not ignore, as real paths.
    pub(super) fn files(&self) -> CliResult<HashSet<PathBuf>> {
        let list = [
            "ls-files",
            "-z",
            "--cached",
            "--others",
            "--exclude-standard",
        ];
        let out = git(&self.root, &list)?;
        let names = out.split(|&byte| byte == 0).filter(|name| !name.is_empty());
        let paths = names.map(|name| self.root.join(path_of(name)));
        let is_file = |path: &PathBuf| path.symlink_metadata().is_ok_and(|meta| meta.is_file());
        Ok(paths.filter(is_file).collect())
    }

    /// What is staged. Files that HEAD has come first, so that of two that are alike the new one is
    /// the copy.
    pub(super) fn staged(&self) -> CliResult<Staged> {
        let out = git(
            &self.root,
            &[
                "diff",
                "--cached",
                "--raw",
                "-z",
                "-M",
                "--no-abbrev",
                "--no-relative",
                "--no-ext-diff",
                "--ignore-submodules=all",
            ],
        )?;
        let mut staged = Staged::default();
        let mut fields = out.split(|&byte| byte == 0);
        // `:MODE MODE BLOB BLOB STATUS`, a path, and of a rename or a copy another path.
        while let Some(entry) = fields.next().filter(|entry| !entry.is_empty()) {
            let entry = String::from_utf8_lossy(entry);
            let words: Vec<&str> = entry.split(' ').collect();
            let (&[_, mode, _, blob, status], Some(first)) = (&words[..], fields.next()) else {
                return Err(CliError::Usage(
                    "git listed what is staged otherwise".to_owned(),
                ));
            };
            let first = path_of(first);
            let (path, was) = match status.as_bytes().first() {
                Some(b'R') => (fields.next().map(path_of), Some(first)),
                Some(b'C') => (fields.next().map(path_of), None),
                _ => (Some(first), None),
            };
            let Some(path) = path else {
                continue;
            };
            match status.as_bytes().first() {
                Some(b'D') => staged.removed.push(path),
                // Links and submodules have no content to compare.
                Some(b'A' | b'C' | b'M' | b'R' | b'T') if mode.starts_with("100") => {
                    staged.files.push(StagedFile {
                        path,
                        was,
                        is_new: status.starts_with(['A', 'C']),
                        blob: blob.to_owned(),
                    });
                }
                _ => {}
            }
        }
        staged.files.sort_by_key(|file| file.is_new);
        Ok(staged)
    }

    /// Writes the content of a staged file.
    pub(super) fn write(&self, file: &StagedFile, to: File) -> CliResult<()> {
        let args = ["cat-file", "blob", &file.blob];
        run(command(&self.root, &args).stdout(to), &args).map(drop)
    }
}

fn path_of(name: &[u8]) -> PathBuf {
    PathBuf::from(OsStr::from_bytes(name))
}

fn command(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::new("git");
    command
        .arg("-C")
        .arg(folder)
        // A monitor of files would be a program that the repository names.
        .args(["-c", "core.fsmonitor=false"])
        .args(args)
        .env("GIT_OPTIONAL_LOCKS", "0")
        .stdin(Stdio::null())
        .stderr(Stdio::piped());
    command
}

fn git(folder: &Path, args: &[&str]) -> CliResult<Vec<u8>> {
    run(command(folder, args).stdout(Stdio::piped()), args)
}

fn run(command: &mut Command, args: &[&str]) -> CliResult<Vec<u8>> {
    let failed = |why: &str| CliError::Usage(format!("git {}: {}", args[0], harmless(why)));
    let child = command
        .spawn()
        .and_then(std::process::Child::wait_with_output);
    let done = child.map_err(|error| failed(&error.to_string()))?;
    if !done.status.success() {
        let said = String::from_utf8_lossy(&done.stderr);
        return Err(failed(said.lines().next().unwrap_or("it failed")));
    }
    Ok(done.stdout)
}
