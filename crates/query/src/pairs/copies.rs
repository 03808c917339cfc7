//! Which two of several identical files stand for all of them.

use std::cmp::Reverse;
use std::path::Component;

use crate::scope::ScopedFile;

/// The two of these files whose paths have the longest common ending: of the copies in two versions
/// of a tree a file and its other version.
pub(super) fn named_alike<'a>(
    files: &[&'a ScopedFile],
) -> Option<(&'a ScopedFile, &'a ScopedFile)> {
    let ending = |file: &&'a ScopedFile| {
        let names = file.path.components().rev();
        (names.collect::<Vec<Component<'a>>>(), *file)
    };
    let mut endings: Vec<_> = files.iter().map(ending).collect();
    // Those with the longest common ending become neighbours.
    endings.sort_by(|a, b| a.0.cmp(&b.0));
    let common = |a: &[Component<'_>], b: &[Component<'_>]| {
        let names = a.iter().zip(b);
        names.take_while(|(one, other)| one == other).count()
    };
    let pairs = endings.windows(2).map(|two| {
        let (one, other) = (two[0].1, two[1].1);
        let least = (&one.path).min(&other.path);
        ((Reverse(common(&two[0].0, &two[1].0)), least), (one, other))
    });
    Some(pairs.min_by(|a, b| a.0.cmp(&b.0))?.1)
}

#[cfg(test)]
mod tests {
    use resemble_core::{ByteLen, ContentId, FileId};

    use super::*;

    #[test]
    fn a_file_and_its_other_version_stand_for_all_copies() {
        let paths = [
            "a/x/note.png",
            "a/y/note.png",
            "b/x/other.png",
            "b/y/note.png",
        ];
        let files: Vec<ScopedFile> = (0u32..)
            .zip(paths)
            .map(|(number, path)| ScopedFile {
                file: FileId(number),
                path: path.into(),
                content: ContentId(7),
                size: ByteLen(300),
            })
            .collect();
        let files: Vec<&ScopedFile> = files.iter().collect();
        let named = named_alike(&files).map(|(a, b)| (a.path.clone(), b.path.clone()));
        assert_eq!(named, Some(("a/y/note.png".into(), "b/y/note.png".into())));
    }
}
