//! `resemble trash`: moves files to the trash of their file system, and prints their new paths.
//!
//! The scripts of plans run this command. Their steps are about regular files, so nothing else is
//! moved. freedesktop.org specifies the form of the trash. A file is not moved if it would have to
//! be copied to another file system. Paths are printed as in plans.

use std::collections::HashSet;
use std::env;
use std::ffi::OsStr;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirEntryExt, MetadataExt};
use std::path::{Path, PathBuf};

use resemble_arguments::TrashArgs;
use resemble_proto::message::reason;
use resemble_report::plan::spelled;
use resemble_report::quote::quoted;
use rustix::fs::{AtFlags, CWD, StatxAttributes, StatxFlags, statx};

use crate::error::{CliError, CliResult, Outcome};
use crate::ui::Ui;

pub(super) fn run(ui: &mut Ui, args: &TrashArgs) -> CliResult {
    if args.r#where.is_none() {
        // Nothing is moved if one of the names is refused.
        args.files
            .iter()
            .try_for_each(|file| regular(file).map(drop))?;
    }
    for file in &args.files {
        let place = match &args.r#where {
            Some(wanted) => found(file, wanted)?,
            None => moved(file)?,
        };
        ui.write(|out| writeln!(out, "{}", spelled(&place)))?;
    }
    Ok(Outcome::Holds)
}

/// Moves a file, and returns its new path.
fn moved(file: &Path) -> CliResult<PathBuf> {
    let file = absolute(file)?;
    let meta = regular(&file)?;
    let folder = trash_of(&file);
    let there = folder.ancestors().find_map(|path| fs::metadata(path).ok());
    if there.is_none_or(|there| there.dev() != meta.dev()) {
        return Err(CliError::Usage(format!(
            "cannot move {} to the trash: its file system has no trash folder",
            quoted(&file)
        )));
    }
    let (before, had) = (places(&folder, meta.ino()), entries(&folder));
    trash::delete(&file).map_err(|error| {
        tidy(&folder, file.file_name().unwrap_or_default(), &had);
        let why = match error {
            trash::Error::FileSystem { path, source } => {
                format!("{}: {}", quoted(&path), reason(&source))
            }
            other => other.to_string(),
        };
        CliError::Usage(format!("cannot move {} to the trash: {why}", quoted(&file)))
    })?;
    let mut after = places(&folder, meta.ino()).into_iter();
    after
        .find(|place| !before.contains(place))
        .ok_or_else(|| lost(&file))
}

/// Returns the metadata of a regular file, and refuses everything else. A link is not followed.
fn regular(file: &Path) -> CliResult<Metadata> {
    let meta = fs::symlink_metadata(file).map_err(CliError::file("look at", file))?;
    let what = match meta.file_type() {
        kind if kind.is_file() => return Ok(meta),
        kind if kind.is_dir() => "a directory",
        kind if kind.is_symlink() => "a symbolic link",
        _ => "a special file",
    };
    Err(CliError::Usage(format!(
        "cannot move {} to the trash: it is {what}, and `resemble trash` moves only files",
        quoted(file)
    )))
}

/// Finds a moved file in the trash. The first two numbers of `wanted` are its device and inode.
fn found(file: &Path, wanted: &str) -> CliResult<PathBuf> {
    let file = absolute(file)?;
    let mut numbers = wanted.split(' ').map_while(|word| word.parse::<u64>().ok());
    let (Some(device), Some(inode)) = (numbers.next(), numbers.next()) else {
        return Err(CliError::Usage(
            "--where takes a device and an inode".to_owned(),
        ));
    };
    let places = places(&trash_of(&file), inode).into_iter();
    let is_it = |place: &PathBuf| fs::symlink_metadata(place).is_ok_and(|it| it.dev() == device);
    places.filter(is_it).max().ok_or_else(|| lost(&file))
}

fn lost(file: &Path) -> CliError {
    CliError::Usage(format!(
        "{} is not in the trash of its file system",
        quoted(file)
    ))
}

/// Returns the absolute path of a file, with the symbolic links in its folder resolved.
fn absolute(file: &Path) -> CliResult<PathBuf> {
    let failed = |error| CliError::file("look at", file)(error);
    let path = std::path::absolute(file).map_err(failed)?;
    match (path.parent(), path.file_name()) {
        (Some(folder), Some(name)) => Ok(fs::canonicalize(folder).map_err(failed)?.join(name)),
        _ => Err(failed(io::ErrorKind::InvalidInput.into())),
    }
}

/// Returns the trash for a file: the trash in the user's home, or the trash at the top of the
/// file's mount.
fn trash_of(file: &Path) -> PathBuf {
    let path = |name| {
        env::var_os(name)
            .filter(|path| !path.is_empty())
            .map(|path| fs::canonicalize(&path).unwrap_or_else(|_| path.into()))
    };
    let home = path("HOME").unwrap_or_default();
    let (data, base) = match path("XDG_DATA_HOME") {
        Some(data) => (data.clone(), data),
        None => (home.join(".local/share"), home),
    };
    let top = mount_of(file);
    if mount_of(&base) == top {
        return data.join("Trash");
    }
    let user = rustix::process::getuid().as_raw();
    let shared = top.join(".Trash").join(user.to_string());
    if shared.is_dir() {
        shared
    } else {
        top.join(format!(".Trash-{user}"))
    }
}

/// Returns the mount that a path lies in.
fn mount_of(path: &Path) -> PathBuf {
    let is_mount = |path: &&Path| {
        let known = statx(CWD, *path, AtFlags::SYMLINK_NOFOLLOW, StatxFlags::empty());
        known.is_ok_and(|known| known.stx_attributes.contains(StatxAttributes::MOUNT_ROOT))
    };
    path.ancestors()
        .find(is_mount)
        .unwrap_or(Path::new("/"))
        .to_owned()
}

/// Returns everything in a trash: the files, and the records about them.
fn entries(trash: &Path) -> HashSet<PathBuf> {
    let listed = ["files", "info"].map(|part| fs::read_dir(trash.join(part)));
    let entries = listed.into_iter().flatten().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}

/// Removes the remains of a failed move of a file with this name. The remains are a record in
/// `info` without a file in `files`, or an empty file in `files` without a record.
fn tidy(trash: &Path, name: &OsStr, had: &HashSet<PathBuf>) {
    for left in entries(trash).difference(had) {
        let entry = left.file_name().unwrap_or_default();
        if !entry.as_bytes().starts_with(name.as_bytes()) {
            continue;
        }
        let is_info = left.starts_with(trash.join("info"));
        let partner = if is_info {
            trash
                .join("files")
                .join(left.file_stem().unwrap_or_default())
        } else {
            let mut info = entry.to_owned();
            info.push(".trashinfo");
            trash.join("info").join(info)
        };
        let is_placeholder = || fs::symlink_metadata(left).is_ok_and(|it| it.len() == 0);
        if fs::symlink_metadata(partner).is_err() && (is_info || is_placeholder()) {
            // If the removal fails, the remains do no harm, because they belong to no file in the
            // trash.
            fs::remove_file(left).ok();
        }
    }
}

/// Returns the paths of the files in a trash that have this inode.
fn places(trash: &Path, inode: u64) -> Vec<PathBuf> {
    let listed = fs::read_dir(trash.join(OsStr::new("files")));
    let entries = listed.into_iter().flatten().flatten();
    entries
        .filter(|entry| entry.ino() == inode)
        .map(|entry| entry.path())
        .collect()
}
