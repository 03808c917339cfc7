//! Finds identical files in trees that no index has.
//!
//! An index reads and chunks every file. To find sets of identical files, only the few that may be
//! equal must be read:
//!
//! 1. **The trees are walked** (`walk`) by all cores. Only the path and the `stat` of each file are
//!    in memory until the answer.
//! 2. **A file with a unique size is not opened.** Its read permission is still checked, because
//!    every answer reports unreadable files.
//! 3. **Files of equal size are read** (`read`), with the same precautions as in
//!    [`resemble_scan::read`]. A long file is first read only at its beginning. It is read whole if
//!    it may still be equal to another file. Two files are identical if their content digests are
//!    equal, as everywhere.
//! 4. A file that changed between the walk and the end of reading is in no set. It counts as
//!    pending.
//!
//! The answer has the same bytes as that of a fresh index of the trees, and nothing is written. A
//! later question about similar files has to build the index.

mod read;
mod walk;

use std::path::PathBuf;

use resemble_core::similarity::too_small;
use resemble_core::{ByteLen, ContentDigest, Params};
use resemble_proto::message::{Groups, GroupsRequest, Looked, Scope, SoftError, Whole};
use resemble_proto::path::PathText;
use resemble_relate::AskError;
use resemble_relate::scope::least_run;
use resemble_scan::ingest::Observer;

use self::read::{Done, EqualSizes, How};
use self::walk::{Walked, file_at, walk};
use super::identical::{SameBytes, add, whole};
use super::not_among;

/// Returns the sets of identical files below the paths of a scope, which are absolute and exist.
pub(crate) fn identical(
    request: &GroupsRequest,
    (exclude, params): (&[PathBuf], &Params),
    observer: &mut dyn Observer,
) -> Result<Whole<Groups>, AskError> {
    let Walked {
        roots,
        files,
        mut errors,
        skipped,
        progress,
    } = walk(&request.scope, exclude, observer)?;
    let file = |place: u32| &files[place as usize];
    let of = request.of.as_ref().map(|path| {
        let stat = file_at(path.as_path()).map(|(_, stat)| stat);
        (path, stat.map(|stat| (stat.dev, stat.ino)))
    });
    let is_asked = |place: u32| of.is_none_or(|(_, inode)| inode == Some(file(place).inode));

    // A file with several names is read under the first name.
    let mut distinct: Vec<u32> = (0..files.len() as u32).collect();
    distinct.sort_unstable_by_key(|&place| (file(place).size, file(place).inode, place));
    distinct.dedup_by_key(|place| file(*place).inode);
    let mut tasks: Vec<(u32, How)> = Vec::with_capacity(distinct.len());
    for same_size in distinct.chunk_by(|&a, &b| file(a).size == file(b).size) {
        let size = file(same_size[0]).size;
        let may_be_equal =
            same_size.len() > 1 && size > 0 && same_size.iter().any(|&place| is_asked(place));
        let how = How::first(size, may_be_equal);
        tasks.extend(same_size.iter().map(|&place| (place, how)));
    }
    let reading = EqualSizes::new(&roots, &files, params, progress);
    let mut done = reading.work(tasks, observer);
    let rest = may_still_be_equal(&mut done, |place| file(place).size);
    done.add(reading.work(rest, observer));

    distinct.retain(|&place| !done.lost.contains(&place));
    errors.append(&mut done.errors);
    if let Some((path, inode)) = of
        && !distinct
            .iter()
            .any(|&place| inode == Some(file(place).inode))
    {
        errors.push(not_among(path));
    }
    errors.sort();
    let sizes = || distinct.iter().map(|&place| ByteLen(file(place).size));
    let looked = Looked {
        files: distinct.len() as u64,
        bytes: sizes().map(|size| size.0).sum(),
        unreadable: done.unreadable,
        skipped,
        small: sizes().filter(|&size| too_small(size)).count() as u64,
        least_run: least_run(params),
    };
    let mut sets = sets(done.contents, |place| file(place).size);
    sets.retain(|set| set.files.iter().any(|&place| is_asked(place)));
    whole((looked, errors), done.moving, |body| {
        add(sets, request.top, body, |place| {
            let file = file(place);
            (PathText::from_bytes(&*file.path), file.mtime)
        });
        Ok(())
    })
}

/// Returns the present paths of all files in a scope, sorted, and the errors of the walk.
pub fn names(
    scope: &Scope,
    observer: &mut dyn Observer,
) -> Result<(Vec<PathBuf>, Vec<SoftError>), AskError> {
    let walked = walk(scope, &[], observer)?;
    let names = walked.files.iter().map(|file| file.path().to_owned());
    Ok((names.collect(), walked.errors))
}

/// Returns the long files whose beginnings are equal, so that they must be read whole.
fn may_still_be_equal(done: &mut Done, size: impl Fn(u32) -> u64) -> Vec<(u32, How)> {
    let mut heads = std::mem::take(&mut done.heads);
    heads.sort_unstable_by_key(|&(head, place)| (size(place), head, place));
    let alike = heads.chunk_by(|a, b| size(a.1) == size(b.1) && a.0 == b.0);
    let several = alike.filter(|files| files.len() > 1).flatten();
    several.map(|&(_, place)| (place, How::Whole)).collect()
}

fn sets(mut contents: Vec<(ContentDigest, u32)>, size: impl Fn(u32) -> u64) -> Vec<SameBytes> {
    contents.sort_unstable();
    let equal = contents.chunk_by(|a, b| a.0 == b.0);
    let several = equal.filter(|files| files.len() > 1);
    several
        .map(|files| SameBytes {
            size: size(files[0].1),
            files: files.iter().map(|&(_, place)| place).collect(),
        })
        .collect()
}
