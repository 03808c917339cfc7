//! What a plan must know about the files as they are now.
//!
//! The plan itself, its rules and its script are made by [`resemble_report::plan`], which opens no
//! file.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use resemble_proto::documents::{CoveredDocument, GroupsDocument};
use resemble_proto::message::reason;
use resemble_report::plan::{FileState, Plan, Time};

use crate::args::PlanKind;

/// The plan for the identical sets of a collection.
pub fn of_groups(document: &GroupsDocument, kind: PlanKind) -> Plan {
    Plan::of_groups(document, kind.into(), &look)
}

/// The plan for the covered files of a directory.
pub fn of_covered(document: &CoveredDocument, kind: PlanKind) -> Plan {
    let dir = fs::canonicalize(document.parameters.dir.as_path()).ok();
    Plan::of_covered(document, kind.into(), dir.as_deref(), &look)
}

/// The state of a file now, or a sentence that says why it cannot take part in a plan.
fn look(path: &Path) -> Result<FileState, String> {
    let failed = |error: io::Error| reason(&error);
    let name = path.file_name().ok_or("it has no name")?;
    let parent = match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    };
    // The folder's path is resolved; the last name is never followed, even if it is a link.
    let path = fs::canonicalize(parent).map_err(failed)?.join(name);
    let meta = fs::symlink_metadata(&path).map_err(failed)?;
    if !meta.is_file() {
        return Err("it is no regular file".to_owned());
    }
    Ok(FileState {
        dev: meta.dev(),
        inode: meta.ino(),
        size: meta.size(),
        mtime: Time {
            seconds: meta.mtime(),
            nanos: meta.mtime_nsec(),
        },
        links: meta.nlink(),
        owner: (meta.uid(), meta.gid()),
        mode: meta.mode() & 0o7777,
        path,
    })
}

#[cfg(test)]
#[path = "plans/tests.rs"]
mod tests;
