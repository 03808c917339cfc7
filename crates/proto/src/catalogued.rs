//! Makes and parses the paths of files that are only in a catalogue.
//!
//! The files of a catalogue take part in questions like the files of a tree, but under paths of
//! their own. Such a path must never lead to a real file, even if a program opens it by mistake. So
//! it begins with `/` and a NUL. No file name can contain a NUL, and the kernel refuses the path
//! before it accesses any directory.
//!
//! ```text
//! "/\0disk"                    an imported catalogue, by its label
//! "/\0\0home\0me\0disk.cat"    one that is not imported: its own path with NUL for each slash
//! ```
//!
//! People see and write these paths as `disk:/letters/a.txt` and `disk.cat:/letters/a.txt`.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The prefix of the paths of all catalogues.
const PREFIX: &[u8] = b"/\0";

/// The maximum length of a label in bytes.
pub const LABEL: usize = 64;

/// Returns whether a path has the form of paths in catalogues. No other path has this form.
pub fn is_catalogued(path: &Path) -> bool {
    path.as_os_str().as_bytes().starts_with(PREFIX)
}

/// Returns whether a text can be the label of a catalogue. A label has 1 to [`LABEL`] bytes of
/// letters and digits of any script, `.`, `_` and `-`. It begins neither with a dot nor with a
/// dash.
pub fn is_label(label: &str) -> bool {
    let allowed = |c: char| c.is_alphanumeric() || matches!(c, '.' | '_' | '-');
    !label.is_empty()
        && label.len() <= LABEL
        && !label.starts_with(['.', '-'])
        && label.chars().all(allowed)
}

/// Returns the path that contains the files of the imported catalogue with this label.
pub fn of_label(label: &str) -> PathBuf {
    path_of(&[PREFIX, label.as_bytes()].concat())
}

/// Returns the path that contains the files of a catalogue that was not imported. `file` is the
/// absolute path of the catalogue's file.
pub fn of_file(file: &Path) -> PathBuf {
    let mut bytes = PREFIX.to_vec();
    let slash = |byte: &u8| if *byte == b'/' { 0 } else { *byte };
    bytes.extend(file.as_os_str().as_bytes().iter().map(slash));
    path_of(&bytes)
}

/// Returns the path at which a catalogue is loaded before it replaces the old tree at `root`. This
/// path differs from the paths of all labels and files.
pub fn beside(root: &Path) -> PathBuf {
    path_of(&[root.as_os_str().as_bytes(), b"\0"].concat())
}

/// The catalogue that a path belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// An imported catalogue, by its label.
    Label(String),
    /// A catalogue that was not imported, by the path of its file.
    File(PathBuf),
}

/// Splits a path into its catalogue, the path of the tree of that catalogue, and the path of the
/// file in the tree. Returns `None` if the path is not in a catalogue.
pub fn source_of(path: &Path) -> Option<(Source, PathBuf, &Path)> {
    let bytes = path.as_os_str().as_bytes();
    let name = bytes.strip_prefix(PREFIX)?;
    let name = name.split(|byte| *byte == b'/').next()?;
    let root = path_of(&bytes[..PREFIX.len() + name.len()]);
    let source = if name.first() == Some(&0) {
        let back = |byte: &u8| if *byte == 0 { b'/' } else { *byte };
        Source::File(path_of(&name.iter().map(back).collect::<Vec<u8>>()))
    } else {
        Source::Label(std::str::from_utf8(name).ok()?.to_owned())
    };
    let below = path.strip_prefix(&root).unwrap_or(Path::new(""));
    Some((source, root, below))
}

/// Returns a path as people write it, such as `disk:/letters/a.txt`. Returns `None` if the path is
/// not in a catalogue.
pub fn shown(path: &Path) -> Option<PathBuf> {
    let (source, _, below) = source_of(path)?;
    let mut shown = match source {
        Source::Label(label) => PathBuf::from(label),
        Source::File(file) => file,
    }
    .into_os_string();
    shown.push(":");
    let shown = PathBuf::from(shown);
    Some(if below.as_os_str().is_empty() {
        shown
    } else {
        shown.join(below)
    })
}

/// Splits `disk:/letters` into the text before the colon and the path below the slash. The split is
/// at the first colon that is before a slash or at the end, but not at the beginning. Returns
/// `None` if there is no such colon.
pub fn split_shown(shown: &Path) -> Option<(&Path, &Path)> {
    let bytes = shown.as_os_str().as_bytes();
    let ends_name =
        |&at: &usize| bytes[at] == b':' && matches!(bytes.get(at + 1), None | Some(b'/'));
    let at = (1..bytes.len()).find(ends_name)?;
    let below = bytes[at + 1..].iter().position(|byte| *byte != b'/');
    let below = below.map_or(&[][..], |skip| &bytes[at + 1 + skip..]);
    Some((
        Path::new(OsStr::from_bytes(&bytes[..at])),
        Path::new(OsStr::from_bytes(below)),
    ))
}

fn path_of(bytes: &[u8]) -> PathBuf {
    PathBuf::from(OsStr::from_bytes(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn no_file_system_has_such_a_path() {
        let error = std::fs::metadata(of_label("disk")).unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::InvalidInput);
        assert!(!is_catalogued(Path::new("/disk:/a")));
    }

    #[test]
    fn what_is_beside_a_catalogue_is_no_other_one() {
        for root in [of_label("disk"), of_file(Path::new("/home/me/disk.cat"))] {
            let beside = beside(&root);
            assert!(is_catalogued(&beside) && !beside.starts_with(&root));
            let Some((source, at, _)) = source_of(&beside) else {
                panic!("{beside:?}");
            };
            assert_eq!(at, beside);
            let is_of_its_own = match source {
                Source::Label(label) => !is_label(&label),
                Source::File(file) => file.as_os_str().as_bytes().ends_with(b"/"),
            };
            assert!(is_of_its_own, "{beside:?}");
        }
    }

    #[test]
    fn people_see_the_label_or_the_file() {
        let path = of_label("disk").join("letters/a.txt");
        assert_eq!(shown(&path), Some("disk:/letters/a.txt".into()));
        assert_eq!(shown(&of_label("disk")), Some("disk:".into()));
        let path = of_file(Path::new("/home/me/disk.cat")).join("a");
        assert_eq!(shown(&path), Some("/home/me/disk.cat:/a".into()));
        assert_eq!(shown(Path::new("/disk/a")), None);
    }

    #[test]
    fn what_people_write_is_taken_apart() {
        let split = |text: &'static str| split_shown(Path::new(text));
        let some = |a: &'static str, b: &'static str| Some((Path::new(a), Path::new(b)));
        assert_eq!(split("disk:"), some("disk", ""));
        assert_eq!(split("disk:/"), some("disk", ""));
        assert_eq!(split("disk://a/b"), some("disk", "a/b"));
        assert_eq!(split("x:y/disk.cat:/a:/b"), some("x:y/disk.cat", "a:/b"));
        assert_eq!(split("12:30.txt"), None);
        assert_eq!(split(":/a"), None);
    }

    #[test]
    fn labels() {
        for label in ["disk", "disk-2.old_1", "Fotos-\u{e4}lter"] {
            assert!(is_label(label), "{label}");
        }
        for label in [
            "",
            ".",
            "..",
            "-x",
            "a/b",
            "a:b",
            "a b",
            "a\0",
            &"x".repeat(65),
        ] {
            assert!(!is_label(label), "{label:?}");
        }
    }

    proptest! {
        #[test]
        fn any_file_comes_back(
            names in prop::collection::vec("[^/\0]{1,8}", 1..5),
            below in "[^/\0.]{1,8}",
        ) {
            let file = PathBuf::from(format!("/{}", names.join("/")));
            let root = of_file(&file);
            let path = root.join(&below);
            let (source, at, rest) = source_of(&path).unwrap();
            prop_assert_eq!(source, Source::File(file));
            prop_assert_eq!(at, root);
            prop_assert_eq!(rest, Path::new(&below));
        }
    }
}
