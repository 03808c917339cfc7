//! Makes the names of the entries of a listing: `NNN%_NAME`.
//!
//! The names depend only on the neighbours. NNN is the share of the requested file that is in the
//! neighbour, in whole percents with leading zeros. So a plain `ls` sorts by share, and the best
//! entry is the last, next to the prompt. 100 is reserved for identical files. NAME is the last
//! component of the target's path, byte by byte, even if it is not valid UTF-8. For a member of an
//! archive, the name of the archive is followed by the names of the member:
//! `mail.eml!report.zip!docs!a.txt`. Such an entry is a file with the member's bytes, which are
//! extracted when it is opened.
//!
//! 1. **Length.** A name has at most 255 bytes. A longer name is cut *before the extension*,
//!    because programs and people depend on the extension. It is never cut inside a UTF-8
//!    character, because a shell would show such a name as broken.
//! 2. **Extensions.** The extension begins with the last dot. But if that dot is the first byte,
//!    there is no extension (`.bashrc`). If the extension is so long that nothing would be left
//!    before it, the name is cut at its end.
//! 3. **Equal names.** If two entries would have equal names, the entry whose path sorts first
//!    keeps the plain name. Every other entry gets `~` and 6 hex digits of its path's hash before
//!    the extension. Its name is cut again so that the digits fit. A name depends only on its
//!    listing. So a look-up finds the same entry even without an earlier `readdir`.
//! 4. **Equal digits.** Two hashes of 24 bits may be equal, and a real file may be named
//!    `a~1b2c3d.txt`. So all plain names are given out first. Then, in the order of paths, each
//!    other entry gets the first of its names with digits that is free. The digits come from hashes
//!    of the path and of a number that counts the attempts.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::str::FromStr;

use crate::ident::hash64;
use crate::neighbours::Neighbour;

/// The maximum length of the name of a directory entry, in bytes (`NAME_MAX`).
pub const MAX_NAME: usize = 255;

/// The name of the directory that lists similar files.
pub const SIMILAR: &str = ".similar";
/// The directory in `.similar` with the explanations of its entries.
pub const WHY: &str = ".why";
/// The report in `.similar`, a JSON file.
pub const REPORT: &str = ".report.json";
/// The directory in a directory's `.similar` that lists similar directories (only in the files
/// view).
pub const DIRS: &str = ".dirs";

/// The name under which listings show the directory `.similar`. It may differ from `.similar`,
/// because file managers hide names that begin with a dot. [`SIMILAR`] can be looked up in any
/// case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SimilarName(String);

impl SimilarName {
    /// Returns the name that listings show.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns whether a look-up of this name finds the directory `.similar`.
    pub fn stands_for(&self, name: &OsStr) -> bool {
        name == SIMILAR || name == self.0.as_str()
    }
}

impl Default for SimilarName {
    fn default() -> Self {
        Self(SIMILAR.to_owned())
    }
}

impl fmt::Display for SimilarName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The named entries of one listing.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) named: Vec<Named>,
    pub(crate) total: usize,
    /// The number of neighbours that the listing does not show.
    pub(crate) left: usize,
}

impl Answer {
    /// Returns the name of the entry that says how many neighbours the listing does not show.
    /// `None` if the listing shows all. A plain `ls` shows this entry last, next to the best
    /// neighbour.
    pub(crate) fn more(&self) -> Option<OsString> {
        (self.left > 0).then(|| format!("… {} more", self.left).into())
    }

    /// Returns the best neighbour, if there is any: an identical neighbour, or else the neighbour
    /// with the highest share. If several neighbours are equally good, [`rank`] decides.
    pub(crate) fn best(&self) -> Option<&Neighbour> {
        self.named
            .iter()
            .map(|entry| &entry.neighbour)
            .min_by(|a, b| rank(a, b))
    }
}

/// Compares two neighbours. The better neighbour sorts first. Among equally good neighbours, a file
/// precedes the members of archives.
pub(crate) fn rank(a: &Neighbour, b: &Neighbour) -> std::cmp::Ordering {
    let path = |n: &Neighbour| n.path().into_os_string().into_encoded_bytes();
    let key = |n: &Neighbour| (!n.member.is_empty(), path(n));
    (b.identical, b.a_in_b)
        .cmp(&(a.identical, a.a_in_b))
        .then_with(|| key(a).cmp(&key(b)))
}

/// The error if a text cannot be the name of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a name has 1 to {MAX_NAME} bytes, none of them / or NUL, and is neither . nor ..")]
pub struct BadName;

impl FromStr for SimilarName {
    type Err = BadName;

    fn from_str(name: &str) -> Result<Self, BadName> {
        let fits = (1..=MAX_NAME).contains(&name.len())
            && !name.contains(['/', '\0'])
            && name != "."
            && name != "..";
        fits.then(|| Self(name.to_owned())).ok_or(BadName)
    }
}

/// A neighbour with the name of its entry in a listing.
#[derive(Clone, Debug, PartialEq)]
pub struct Named {
    /// `NNN%_NAME`, unique in its listing.
    pub name: OsString,
    /// The neighbour that the entry leads to.
    pub neighbour: Neighbour,
}

/// Names the entries of one listing, and sorts them by the bytes of their names. If several
/// neighbours have the same path, only the best one is kept.
pub fn name_all(mut neighbours: Vec<Neighbour>) -> Vec<Named> {
    neighbours.sort_by(|a, b| {
        path_bytes(a)
            .cmp(&path_bytes(b))
            .then_with(|| (b.identical, b.a_in_b).cmp(&(a.identical, a.a_in_b)))
    });
    neighbours.dedup_by(|next, kept| path_bytes(next) == path_bytes(kept));

    let mut taken = HashSet::with_capacity(neighbours.len());
    // The neighbours are sorted by path. So of several neighbours with the same name, the one whose
    // path sorts first gets that name.
    let plain: Vec<Option<Vec<u8>>> = neighbours
        .iter()
        .map(|neighbour| {
            let name = spell(neighbour, None);
            taken.insert(name.clone()).then_some(name)
        })
        .collect();
    let mut named: Vec<Named> = neighbours
        .into_iter()
        .zip(plain)
        .map(|(neighbour, plain)| {
            let name = plain.unwrap_or_else(|| marked(&neighbour, &mut taken));
            Named {
                name: OsString::from_vec(name),
                neighbour,
            }
        })
        .collect();
    named.sort_by(|a, b| a.name.as_bytes().cmp(b.name.as_bytes()));
    named
}

/// Returns the entry of this name in a listing made by [`name_all`].
pub fn find<'a>(listing: &'a [Named], name: &OsStr) -> Option<&'a Named> {
    listing
        .binary_search_by(|entry| entry.name.as_bytes().cmp(name.as_bytes()))
        .ok()
        .and_then(|at| listing.get(at))
}

/// Returns the first free name with digits of the path's hash.
fn marked(neighbour: &Neighbour, taken: &mut HashSet<Vec<u8>>) -> Vec<u8> {
    let mut round = 0_u64;
    loop {
        let digits = hash64(round, &[&path_bytes(neighbour)]) >> 40;
        let name = spell(neighbour, Some(&format!("~{digits:06x}")));
        if taken.insert(name.clone()) {
            return name;
        }
        round += 1;
    }
}

fn path_bytes(neighbour: &Neighbour) -> Vec<u8> {
    neighbour.path().into_os_string().into_vec()
}

/// Returns `NNN%_`, then the name without its extension, `mark`, and the extension. The name is cut
/// so that the result has at most [`MAX_NAME`] bytes.
fn spell(neighbour: &Neighbour, mark: Option<&str>) -> Vec<u8> {
    let percent = neighbour.a_in_b.percent(neighbour.identical);
    let name = neighbour
        .target
        .file_name()
        .map_or(b"root".as_slice(), OsStr::as_bytes);
    let name = with_member(name, &neighbour.member);
    let name = name.as_slice();
    let mark = mark.unwrap_or_default().as_bytes();

    let mut spelt = format!("{percent:03}%_").into_bytes();
    let room = MAX_NAME - spelt.len() - mark.len();
    let (stem, extension) = split(name);
    let (stem, extension) = if name.len() <= room {
        (stem, extension)
    } else {
        let kept = cut(stem, room.saturating_sub(extension.len()));
        if kept.is_empty() {
            (cut(name, room), b"".as_slice())
        } else {
            (kept, extension)
        }
    };
    for part in [stem, mark, extension] {
        spelt.extend_from_slice(part);
    }
    spelt
}

/// Returns the name of an archive, followed by `!` and the names of a member in it.
fn with_member(name: &[u8], member: &[u8]) -> Vec<u8> {
    let mut name = name.to_vec();
    if !member.is_empty() {
        name.push(b'!');
        // Two bytes cannot be in the name of an entry: the slash between folders, and NUL, which
        // archives allow in names.
        name.extend(member.iter().map(|&byte| match byte {
            b'/' => b'!',
            0 => b'_',
            byte => byte,
        }));
    }
    name
}

/// Splits a name into the part before its extension, and the extension with its dot.
fn split(name: &[u8]) -> (&[u8], &[u8]) {
    match name.iter().rposition(|&byte| byte == b'.') {
        None | Some(0) => (name, b""),
        Some(dot) => name.split_at(dot),
    }
}

/// Returns at most the first `limit` bytes. Returns a few bytes fewer if the cut would be inside a
/// UTF-8 character.
fn cut(bytes: &[u8], limit: usize) -> &[u8] {
    if bytes.len() <= limit {
        return bytes;
    }
    for start in (limit.saturating_sub(3)..limit).rev() {
        let width = match bytes[start] {
            0xc2..=0xdf => 2,
            0xe0..=0xef => 3,
            0xf0..=0xf4 => 4,
            0x80..=0xbf => continue, // a byte inside a character, or not UTF-8: look further back
            _ => break,
        };
        let whole = bytes
            .get(start..start + width)
            .is_some_and(|c| str::from_utf8(c).is_ok());
        if whole && start + width > limit {
            return &bytes[..start];
        }
        break;
    }
    &bytes[..limit]
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use proptest::prelude::*;
    use resemble_core::Score;

    use super::*;

    fn neighbour(path: &[u8], score: f64) -> Neighbour {
        Neighbour {
            target: PathBuf::from(OsString::from_vec(path.to_vec())),
            member: Vec::new(),
            member_size: 0,
            a_in_b: Score::new(score),
            identical: false,
            relation: "near",
        }
    }

    fn identical(path: &[u8]) -> Neighbour {
        Neighbour {
            identical: true,
            relation: "identical",
            ..neighbour(path, 1.0)
        }
    }

    #[test]
    fn a_file_is_better_than_an_equal_member() {
        let file = neighbour(b"/b/report.txt", 0.9);
        let member = Neighbour {
            member: b"report.txt".to_vec(),
            ..neighbour(b"/a/backup.zip", 0.9)
        };
        assert!(rank(&file, &member).is_lt());
        let better = Neighbour {
            a_in_b: Score::new(0.95),
            ..member
        };
        assert!(rank(&better, &file).is_lt());
    }

    fn names(neighbours: Vec<Neighbour>) -> Vec<Vec<u8>> {
        name_all(neighbours)
            .into_iter()
            .map(|n| n.name.into_vec())
            .collect()
    }

    #[test]
    fn a_folder_has_a_name_that_a_file_can_have() {
        let named = |name: &str| name.parse::<SimilarName>().map(|name| name.to_string());
        let longest = "x".repeat(MAX_NAME);
        for good in ["Similar files", ".similar", " ", "…", "\n", &longest] {
            assert_eq!(named(good).as_deref(), Ok(good));
        }
        let too_long = "x".repeat(MAX_NAME + 1);
        for bad in ["", ".", "..", "a/b", "/", "a\0b", &too_long] {
            assert_eq!(named(bad), Err(BadName), "{bad:?}");
        }
    }

    /// Returns the 6 hex digits for a path, computed independently of the code above.
    fn digits(path: &[u8]) -> String {
        format!("~{:06x}", hash64(0, &[path]) >> 40)
    }

    /// An entry is called `NNN%_NAME`. Only identical files have 100 %; other percentages are
    /// rounded down.
    #[test]
    fn an_entry_is_percent_and_name() {
        assert_eq!(
            names(vec![neighbour(b"/a/report-v2.txt", 0.979)]),
            [b"097%_report-v2.txt"]
        );
        assert_eq!(names(vec![neighbour(b"/a/x", 1.0)]), [b"099%_x"]);
        assert_eq!(names(vec![identical(b"/a/x")]), [b"100%_x"]);
        assert_eq!(names(vec![neighbour(b"/a/x", 0.05)]), [b"005%_x"]);
        assert_eq!(names(vec![neighbour(b"/", 0.5)]), [b"050%_root"]);
    }

    /// A member of an archive is called `NNN%_ARCHIVE!NAMES`, with `!` for each `/` in them.
    #[test]
    fn a_member_has_the_name_of_its_archive_before_its_own() {
        let member = |names: &[u8], score| Neighbour {
            member: names.to_vec(),
            ..neighbour(b"/a/mail.eml", score)
        };
        let all = vec![
            member(b"report.zip!docs/a.txt", 0.5),
            member(b"report.zip!docs!a.txt", 0.5),
            member(b"report.zip!docs/a.txt", 0.4),
            neighbour(b"/a/mail.eml", 0.3),
        ];
        let named = name_all(all);
        let got: Vec<&[u8]> = named.iter().map(|one| one.name.as_bytes()).collect();
        let other = digits(b"/a/mail.eml!report.zip!docs/a.txt");
        let mut want = vec![
            b"030%_mail.eml".to_vec(),
            b"050%_mail.eml!report.zip!docs!a.txt".to_vec(),
            format!("050%_mail.eml!report.zip!docs!a{other}.txt").into_bytes(),
        ];
        want.sort();
        assert_eq!(got, want);
        assert!(
            named
                .iter()
                .all(|one| one.neighbour.target == Path::new("/a/mail.eml"))
        );
        let long = member(&[b'x'; 400], 0.5);
        assert_eq!(name_all(vec![long])[0].name.len(), MAX_NAME);
    }

    /// If entries of a listing would have the same name, each but the one whose path sorts first
    /// gets `~` and 6 hex digits of its path's hash before the extension.
    #[test]
    fn equal_names_are_told_apart_by_digits() {
        let (a, b, c) = (
            b"/a/x.txt".as_slice(),
            b"/b/x.txt".as_slice(),
            b"/c/x.txt".as_slice(),
        );
        let got = names(vec![
            neighbour(c, 0.5),
            neighbour(a, 0.5),
            neighbour(b, 0.5),
        ]);
        let mut want = vec![
            b"050%_x.txt".to_vec(),
            format!("050%_x{}.txt", digits(b)).into_bytes(),
            format!("050%_x{}.txt", digits(c)).into_bytes(),
        ];
        want.sort();
        assert_eq!(got, want);
        // If the percentages differ, so do the names, and no digits are needed.
        let got = names(vec![neighbour(a, 0.5), neighbour(b, 0.6)]);
        assert_eq!(got, [b"050%_x.txt", b"060%_x.txt"]);
        // A dot file has no extension.
        let got = names(vec![neighbour(b"/a/.rc", 0.5), neighbour(b"/b/.rc", 0.5)]);
        assert!(
            got.contains(&format!("050%_.rc{}", digits(b"/b/.rc")).into_bytes()),
            "{got:?}"
        );
    }

    #[test]
    fn a_file_that_is_called_like_a_marked_name_keeps_its_own() {
        let b = b"/b/x.txt".as_slice();
        let rival = format!("/z/x{}.txt", digits(b)).into_bytes();
        let got = name_all(vec![
            neighbour(b"/a/x.txt", 0.5),
            neighbour(b, 0.5),
            neighbour(&rival, 0.5),
        ]);
        let of = |path: &[u8]| {
            let found = got
                .iter()
                .find(|n| n.neighbour.target.as_os_str().as_bytes() == path);
            found.unwrap().name.as_bytes().to_vec()
        };
        assert_eq!(of(&rival), format!("050%_x{}.txt", digits(b)).into_bytes());
        assert_ne!(of(b), of(&rival));
    }

    /// A name that would exceed 255 bytes is cut before its extension, never inside a UTF-8
    /// character.
    #[test]
    fn long_names_are_cut_before_the_extension() {
        let long = [b"/d/".as_slice(), &[b'n'; 251], b".txt"].concat();
        let got = &names(vec![neighbour(&long, 0.5)])[0];
        assert_eq!(got.len(), MAX_NAME);
        assert!(got.starts_with(b"050%_nnn") && got.ends_with(b"nnn.txt"));
        // The letter 'ä' has two bytes. There is room for 246 bytes before `.txt`, which is 123
        // letters. There is room for 245 bytes before `.text`, which is 122 letters, so one byte
        // stays unused.
        for (extension, want) in [(".txt", 255), (".text", 254)] {
            let long = format!("/d/{}{extension}", "ä".repeat(125)).into_bytes();
            let got = &names(vec![neighbour(&long, 0.5)])[0];
            assert_eq!(got.len(), want, "{extension}");
            assert!(str::from_utf8(got).is_ok());
        }
        // The extension leaves no room for anything before it, so the name is cut at its end.
        let long = [b"/d/a.".as_slice(), &[b'e'; 253]].concat();
        let got = &names(vec![neighbour(&long, 0.5)])[0];
        assert!(got.len() == MAX_NAME && got.starts_with(b"050%_a.eee"));
        // Both names are equal after the cut. So one name gets digits, and is cut again to make
        // room for the digits.
        let a = [b"/a/".as_slice(), &[b'n'; 250], b"a.txt"].concat();
        let b = [b"/b/".as_slice(), &[b'n'; 250], b"b.txt"].concat();
        let got = names(vec![neighbour(&a, 0.5), neighbour(&b, 0.5)]);
        assert!(
            got.iter()
                .all(|name| name.len() == MAX_NAME && name.ends_with(b".txt")),
            "{got:?}"
        );
        assert!(
            got.iter()
                .any(|name| name.ends_with(format!("{}.txt", digits(&b)).as_bytes()))
        );
    }

    #[test]
    fn one_target_is_one_entry() {
        let got = names(vec![
            neighbour(b"/a/x", 0.5),
            identical(b"/a/x"),
            neighbour(b"/a/x", 0.7),
        ]);
        assert_eq!(got, [b"100%_x"]);
    }

    fn hostile_name() -> impl Strategy<Value = Vec<u8>> {
        let byte = prop_oneof![
            Just(b'.'),
            Just(b'~'),
            Just(b'\n'),
            Just(0xc3_u8),
            Just(0xa4_u8),
            Just(0xff_u8),
            (1_u8..=255).prop_filter("a component has no slash", |b| *b != b'/')
        ];
        let short = prop::collection::vec(byte.clone(), 1..6);
        let long = prop::collection::vec(byte, 230..=255);
        prop_oneof![short, long].prop_filter("not a component", |n| n != b"." && n != b"..")
    }

    proptest! {
        #[test]
        fn names_are_unique_short_and_found_again(
            files in prop::collection::vec((0_u8..4, hostile_name(), 0_u32..4), 1..24)
        ) {
            let neighbours: Vec<Neighbour> = files
                .iter()
                .map(|(dir, name, quarter)| {
                    let path = [format!("/{dir}/").as_bytes(), name].concat();
                    neighbour(&path, f64::from(*quarter) / 4.0)
                })
                .collect();
            let mut targets: Vec<_> = neighbours.iter().map(|n| n.target.clone()).collect();
            targets.sort();
            targets.dedup();

            let named = name_all(neighbours.clone());
            prop_assert_eq!(named.len(), targets.len());
            for entry in &named {
                let name = entry.name.as_bytes();
                prop_assert!(name.len() <= MAX_NAME && !name.contains(&b'/') && !name.contains(&0));
                prop_assert_eq!(find(&named, &entry.name), Some(entry));
                let real = entry.neighbour.target.file_name().unwrap().as_bytes();
                if real.len() <= MAX_NAME - 5 - 7 {
                    // The name was not cut, so the whole name is in the entry.
                    let (stem, extension) = split(real);
                    prop_assert!(name[5..].starts_with(stem) && name.ends_with(extension));
                }
                if str::from_utf8(real).is_ok() {
                    prop_assert!(str::from_utf8(name).is_ok());
                }
            }
            prop_assert!(named.windows(2).all(|w| w[0].name.as_bytes() < w[1].name.as_bytes()));

            // The order of the neighbours does not matter.
            let mut shuffled = neighbours;
            shuffled.reverse();
            prop_assert_eq!(name_all(shuffled), named);
        }
    }
}
