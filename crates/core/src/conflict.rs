//! The names that sync programs give to conflicting files.
//!
//! If a file was changed on two sides, a sync program keeps both versions, and marks one of them by
//! its name. Only the documented forms are recognised: in English, with the date or the hash that
//! the program writes. `report (1).txt` is an ordinary copy.
//!
//! | program | name |
//! |---|---|
//! | Syncthing | `NAME.sync-conflict-20240131-101112-ABCDEFG.EXT` |
//! | git-annex | `NAME.variant-1a2b.EXT` |
//! | Dropbox | `NAME (HOST's conflicted copy 2024-01-31).EXT` |
//! | Nextcloud, ownCloud | `NAME (conflicted copy 2024-01-31 101112).EXT`, with a user or without |
//! | ownCloud | `NAME_conflict-20240131-101112.EXT` |
//! | `OneDrive` | `NAME-DESKTOP-1A2B3C4.EXT` |
//!
//! `OneDrive` appends only the name of the computer. That name is recognised only in the form of
//! Windows' default names (`DESKTOP-`, `LAPTOP-`), and only if the original exists
//! ([`SyncProgram::needs_original`]).

/// A program that renames conflicting files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum SyncProgram {
    Syncthing,
    GitAnnex,
    Dropbox,
    Nextcloud,
    OwnCloud,
    OneDrive,
}

impl SyncProgram {
    /// Returns the name of the program.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Syncthing => "Syncthing",
            Self::GitAnnex => "git-annex",
            Self::Dropbox => "Dropbox",
            Self::Nextcloud => "Nextcloud",
            Self::OwnCloud => "ownCloud",
            Self::OneDrive => "OneDrive",
        }
    }

    /// Returns whether the name alone is ambiguous, so that the original must exist next to the
    /// file.
    pub const fn needs_original(self) -> bool {
        matches!(self, Self::OneDrive)
    }
}

/// A parsed name of a conflicting file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConflictName {
    /// The name of the original file.
    pub original: Vec<u8>,
    /// The program that gave the name.
    pub program: SyncProgram,
}

impl ConflictName {
    /// Parses a file name without its folder; `None` if no program uses such a name.
    pub fn of(name: &[u8]) -> Option<Self> {
        let (stem, extension) = split(name);
        let found = syncthing(stem)
            .or_else(|| git_annex(stem))
            .or_else(|| own_cloud(stem))
            .or_else(|| conflicted_copy(stem))
            .or_else(|| one_drive(stem));
        let (before, program) = found?;
        let original = [before, extension].concat();
        (!original.is_empty()).then_some(Self { original, program })
    }
}

/// Splits a name before its last point. The programs insert their suffix there.
fn split(name: &[u8]) -> (&[u8], &[u8]) {
    // The suffixes of Syncthing and git-annex begin with a point. If the name of the original has
    // no point, the last point belongs to the suffix.
    let point = name.iter().rposition(|byte| *byte == b'.');
    match point.map(|at| name.split_at(at)) {
        Some((_, extension)) if is_added(&extension[1..]) => (name, b""),
        Some(parts) => parts,
        None => (name, b""),
    }
}

fn is_added(extension: &[u8]) -> bool {
    extension.starts_with(b"sync-conflict-") || extension.starts_with(b"variant-")
}

/// Returns the parts before and after the last `marker`, if there is one.
fn around<'n>(stem: &'n [u8], marker: &[u8]) -> Option<(&'n [u8], &'n [u8])> {
    let at = stem
        .windows(marker.len())
        .rposition(|part| part == marker)?;
    Some((&stem[..at], &stem[at + marker.len()..]))
}

fn syncthing(stem: &[u8]) -> Option<(&[u8], SyncProgram)> {
    let (before, rest) = around(stem, b".sync-conflict-")?;
    let is_device = |byte: &u8| byte.is_ascii_uppercase() || (b'2'..=b'7').contains(byte);
    let fits = match rest.get(DATE_TIME.len()..)? {
        [] => true,
        [b'-', device @ ..] => device.len() == 7 && device.iter().all(is_device),
        _ => false,
    };
    (fits && looks_like(&rest[..DATE_TIME.len()], DATE_TIME))
        .then_some((before, SyncProgram::Syncthing))
}

fn git_annex(stem: &[u8]) -> Option<(&[u8], SyncProgram)> {
    let (before, rest) = around(stem, b".variant-")?;
    let is_hex = |byte: &u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(byte);
    (rest.len() == 4 && rest.iter().all(is_hex)).then_some((before, SyncProgram::GitAnnex))
}

fn own_cloud(stem: &[u8]) -> Option<(&[u8], SyncProgram)> {
    let (before, rest) = around(stem, b"_conflict-")?;
    (!before.is_empty() && looks_like(rest, DATE_TIME)).then_some((before, SyncProgram::OwnCloud))
}

fn conflicted_copy(stem: &[u8]) -> Option<(&[u8], SyncProgram)> {
    let (before, rest) = around(stem.strip_suffix(b")")?, b"conflicted copy ")?;
    let (before, owner) = around(before, b" (")?;
    let is_owner =
        |owner: &[u8]| owner.ends_with(b"'s ") || owner.ends_with("\u{2019}s ".as_bytes());
    let program = match owner {
        [] => SyncProgram::Nextcloud,
        owner if is_owner(owner) => SyncProgram::Dropbox,
        _ => return None,
    };
    let words = rest.split(|byte| *byte == b' ');
    let is_dated = words.clone().any(|word| looks_like(word, b"0000-00-00"));
    (is_dated && !before.is_empty()).then_some((before, program))
}

fn one_drive(stem: &[u8]) -> Option<(&[u8], SyncProgram)> {
    let host = |marker| around(stem, marker);
    let (before, rest) = host(b"-DESKTOP-").or_else(|| host(b"-LAPTOP-"))?;
    let is_host = |byte: &u8| byte.is_ascii_uppercase() || byte.is_ascii_digit();
    let fits = rest.len() == 7 && rest.iter().all(is_host) && !before.is_empty();
    fits.then_some((before, SyncProgram::OneDrive))
}

const DATE_TIME: &[u8] = b"00000000-000000";

/// Returns whether a text matches `form`: a digit for each zero of `form`, and the same byte
/// elsewhere.
fn looks_like(text: &[u8], form: &[u8]) -> bool {
    let fits = |(byte, form): (&u8, &u8)| match form {
        b'0' => byte.is_ascii_digit(),
        form => byte == form,
    };
    text.len() == form.len() && text.iter().zip(form).all(fits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_conflicts_lead_to_their_originals() {
        use SyncProgram::*;
        let names = [
            (
                "a.sync-conflict-20240131-101112-ABCDEF7.txt",
                "a.txt",
                Syncthing,
            ),
            ("a.sync-conflict-20240131-101112.txt", "a.txt", Syncthing),
            (
                "a.tar.sync-conflict-20240131-101112-ABCDEFG.gz",
                "a.tar.gz",
                Syncthing,
            ),
            (
                "Makefile.sync-conflict-20240131-101112-ABCDEFG",
                "Makefile",
                Syncthing,
            ),
            (
                ".sync-conflict-20240131-101112-ABCDEFG.bashrc",
                ".bashrc",
                Syncthing,
            ),
            ("a.variant-1a2b.txt", "a.txt", GitAnnex),
            ("a.variant-1a2b", "a", GitAnnex),
            ("a (Ann's conflicted copy 2024-01-31).txt", "a.txt", Dropbox),
            (
                "a (Ann\u{2019}s PC's conflicted copy 2024-01-31 (1)).txt",
                "a.txt",
                Dropbox,
            ),
            ("a (b) (Ann's conflicted copy 2024-01-31)", "a (b)", Dropbox),
            (
                "a (conflicted copy 2024-01-31 101112).txt",
                "a.txt",
                Nextcloud,
            ),
            (
                "a (conflicted copy ann 2024-01-31 101112).txt",
                "a.txt",
                Nextcloud,
            ),
            ("a_conflict-20240131-101112.txt", "a.txt", OwnCloud),
            ("a-DESKTOP-1A2B3C4.txt", "a.txt", OneDrive),
            ("a-LAPTOP-1A2B3C4", "a", OneDrive),
        ];
        for (name, original, program) in names {
            let found = ConflictName::of(name.as_bytes());
            let original = original.as_bytes().to_vec();
            assert_eq!(found, Some(ConflictName { original, program }), "{name}");
        }
    }

    #[test]
    fn names_that_only_look_like_it_are_none() {
        let names = [
            "report (1).txt",
            "a.variant.txt",
            "a.variant-final.txt",
            "a.variant-1A2B.txt",
            "conflicted.txt",
            "conflicted copy 2024-01-31.txt",
            " (conflicted copy 2024-01-31).txt",
            "a (conflicted copy).txt",
            "a (Ann's conflicted copy).txt",
            "a (not a conflicted copy 2024-01-31).txt",
            "a.sync-conflict-today.txt",
            "a.sync-conflict-20240131-101112-abcdefg.txt",
            "a.sync-conflict-20240131-101112-ABCDEFGH.txt",
            ".sync-conflict-20240131-101112-ABCDEFG",
            "a_conflict-20240131.txt",
            "_conflict-20240131-101112.txt",
            "a-DESKTOP.txt",
            "a-MYHOST.txt",
            "a-DESKTOP-short.txt",
            "a.txt",
            "a",
            "",
            ".",
        ];
        for name in names {
            assert_eq!(ConflictName::of(name.as_bytes()), None, "{name}");
        }
    }
}
