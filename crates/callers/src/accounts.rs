//! Groups user ids into accounts, for limits per user.
//!
//! A user may own 65,536 or more subordinate ids (`/etc/subuid`) and run a process with each of
//! them. So an id in such a range counts as the account that owns the range. All ids whose owner is
//! not known count as one account. In that case, several users can share one limit. A user whose
//! name is in `/etc/subuid` but not in `/etc/passwd` has two limits: one for their own id, and one
//! for their subordinate ids.

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::io;
use std::ops::Range;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;

/// The list of subordinate ids.
const SUBORDINATE: &str = "/etc/subuid";
/// The list of users. It has the ids of the user names in [`SUBORDINATE`].
const USERS: &str = "/etc/passwd";
/// The least id that may be subordinate. If `/etc/subuid` could not be read completely, ids from
/// this one on may have an unknown owner. Users and services have smaller ids, within 16 bits.
const MAY_BE_SUBORDINATE: u32 = 1 << 16;

/// A user, or several users who share every limit, because their ids cannot be distinguished.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Account(u32);

impl Account {
    /// The common account of all ids with an unknown owner.
    pub const UNKNOWN: Self = Self(u32::MAX);

    /// Returns the account of a user who owns only this id.
    pub const fn of_id(uid: u32) -> Self {
        Self(uid)
    }

    /// Returns the unique number of the account.
    pub const fn number(self) -> u32 {
        self.0
    }
}

/// The accounts of all user ids of a machine.
#[derive(Debug)]
pub struct Accounts {
    list: PathBuf,
    state: Mutex<(Version, Arc<Table>)>,
}

/// The device, inode, size and change time of the list that was read; `None` if there was no list.
type Version = Option<(u64, u64, u64, i64, i64)>;

impl Accounts {
    /// Reads the present accounts of this machine.
    pub fn of_machine() -> Self {
        Self::of(Path::new(SUBORDINATE), Path::new(USERS))
    }

    fn of(list: &Path, users: &Path) -> Self {
        let version = version(list);
        let table = match fs::read_to_string(list) {
            Ok(text) => Table::parse(&text, &fs::read_to_string(users).unwrap_or_default()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Table::default(),
            Err(error) => {
                tracing::warn!(%error, list = %list.display(), "no subordinate ids are known");
                Table::unknown()
            }
        };
        if table.is_doubtful {
            tracing::warn!(list = %list.display(), "not all of it is understood: {SHARED}");
        }
        Self {
            list: list.to_owned(),
            state: Mutex::new((version, Arc::new(table))),
        }
    }

    /// Returns the account of this user id.
    pub fn account(&self, uid: u32) -> Account {
        self.table().account(uid)
    }

    /// Returns the table. If `/etc/subuid` has changed, it cannot be read again, because the
    /// daemon's sandbox forbids it. Ids from [`MAY_BE_SUBORDINATE`] on that are in no known range
    /// then share one account until the next start.
    fn table(&self) -> Arc<Table> {
        let now = version(&self.list);
        let mut state = self.state.lock();
        if state.0 != now {
            tracing::warn!(list = %self.list.display(), "it has changed: {SHARED}");
            let ranges = state.1.ranges.clone();
            let table = Table {
                ranges,
                is_doubtful: true,
            };
            *state = (now, Arc::new(table));
        }
        Arc::clone(&state.1)
    }
}

/// The words in the log for the effect of an unreadable, faulty or changed list.
const SHARED: &str = "users with ids from 65536 on share the bounds of one until the next start";

fn version(list: &Path) -> Version {
    let meta = fs::metadata(list).ok()?;
    let times = (meta.ctime(), meta.ctime_nsec());
    Some((meta.dev(), meta.ino(), meta.size(), times.0, times.1))
}

/// Ranges of subordinate ids, and their owners.
#[derive(Debug, Default, PartialEq, Eq)]
struct Table {
    ranges: Vec<(Range<u64>, Account)>,
    /// True if the list may have ranges that are not in `ranges`.
    is_doubtful: bool,
}

impl Table {
    fn unknown() -> Self {
        Self {
            is_doubtful: true,
            ..Self::default()
        }
    }

    /// Parses the lines of the list, `NAME:FIRST:COUNT`. `NAME` may also be a user id. A name that
    /// is not in the list of users may be from a network directory. It gets an account of its own.
    /// The number of this account is the first id of the first range.
    fn parse(list: &str, users: &str) -> Self {
        let mut table = Self::default();
        let mut owners: HashMap<&str, Account> = HashMap::new();
        for line in users.lines() {
            let mut fields = line.split(':');
            let (name, uid) = (fields.next(), fields.nth(1).and_then(number));
            if let (Some(name), Some(uid)) = (name, uid) {
                owners.entry(name).or_insert(Account(uid));
            }
        }
        for line in list.lines().map(str::trim) {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let Some((name, range)) = entry(line) else {
                table.is_doubtful = true;
                continue;
            };
            let by_number = number(name).map(Account);
            let first = u32::try_from(range.start).map_or(Account::UNKNOWN, Account);
            let owner = owners.get(name).copied().or(by_number);
            let owner = owner.unwrap_or_else(|| *owners.entry(name).or_insert(first));
            table.ranges.push((range, owner));
        }
        table
    }

    fn account(&self, uid: u32) -> Account {
        let owners = self.ranges.iter();
        let owners = owners.filter(|(range, _)| range.contains(&u64::from(uid)));
        let owners: BTreeSet<Account> = owners.map(|(_, owner)| *owner).collect();
        match owners.first() {
            Some(&owner) if owners.len() == 1 => owner,
            // Several owners claim the id, so its present owner is unknown.
            Some(_) => Account::UNKNOWN,
            None if self.is_doubtful && uid >= MAY_BE_SUBORDINATE => Account::UNKNOWN,
            None => Account(uid),
        }
    }
}

/// Parses a line. Returns `None` if the line does not have exactly three fields that make a range
/// of ids.
fn entry(line: &str) -> Option<(&str, Range<u64>)> {
    let mut fields = line.split(':');
    let (name, first, count) = (fields.next()?, fields.next()?, fields.next()?);
    let (first, count) = (u64::from(number(first)?), u64::from(number(count)?));
    let range = first..first + count;
    let is_one = fields.next().is_none() && !name.is_empty() && count > 0;
    (is_one && range.end <= 1 << 32).then_some((name, range))
}

/// Parses a decimal number without a sign.
fn number(text: &str) -> Option<u32> {
    let is_decimal = text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| is_decimal)
}

#[cfg(test)]
mod tests {
    use super::*;

    const USERS: &str = "root:x:0:0::/:/bin/sh\nanna:x:1000:1000::/:/bin/sh\n\
                         bert:x:1001:1001::/:/bin/sh\n";

    fn table(list: &str) -> Table {
        Table::parse(list, USERS)
    }

    #[test]
    fn subordinate_ids_count_as_their_owner() {
        let table = table("anna:100000:65536\nbert:165536:65536\n1001:300000:10\n\n# a word\n");
        assert!(!table.is_doubtful);
        let account = |uid| table.account(uid).number();
        for uid in [1000, 100_000, 123_456, 165_535] {
            assert_eq!(account(uid), 1000, "{uid}");
        }
        for uid in [1001, 165_536, 231_071, 300_000, 300_009] {
            assert_eq!(account(uid), 1001, "{uid}");
        }
        for uid in [0, 99_999, 231_072, 300_010, u32::MAX - 1] {
            assert_eq!(account(uid), uid, "it is nobody's but its own");
        }
    }

    #[test]
    fn a_name_that_is_not_here_is_one_account() {
        let table = table("away:500000:1000\naway:700000:1000\nother:900000:1\n");
        let accounts = [500_000, 500_999, 700_500, 900_000].map(|uid| table.account(uid).number());
        assert_eq!(accounts, [500_000, 500_000, 500_000, 900_000]);
    }

    #[test]
    fn what_is_not_understood_makes_one_of_all_that_it_may_be_about() {
        for wrong in [
            "anna:100000",
            "anna:100000:65536:1",
            "anna:100000:-1",
            "anna:100000:0",
            "anna:+100000:5",
            "anna: 100000:5",
            "anna:99999999999:5",
            "anna:4294967295:2",
            ":100000:5",
            "anna;100000;5",
        ] {
            let table = table(&format!("bert:200000:10\n{wrong}\n"));
            assert!(table.is_doubtful, "{wrong}");
            assert_eq!(table.account(100_000), Account::UNKNOWN, "{wrong}");
            assert_eq!(table.account(777_777), Account::UNKNOWN, "{wrong}");
            assert_eq!(table.account(200_003), Account::of_id(1001), "{wrong}");
            assert_eq!(table.account(1000), Account::of_id(1000), "{wrong}");
            assert_eq!(table.account(65_535), Account::of_id(65_535), "{wrong}");
        }
        // The last possible id is valid, too.
        assert!(!table("anna:4294967295:1").is_doubtful);
        let of_two = table("anna:100000:10\nbert:100005:10\n");
        assert_eq!(of_two.account(100_007), Account::UNKNOWN);
        assert_eq!(of_two.account(100_004), Account::of_id(1000));
    }

    #[test]
    fn a_list_that_changes_is_noticed() {
        let folder = resemble_testutil::TempTree::new();
        let (list, users) = (folder.path("subuid"), folder.path("passwd"));
        fs::write(&users, USERS).unwrap();
        let none = Accounts::of(&list, &users);
        assert_eq!(none.account(100_000), Account::of_id(100_000));
        fs::write(&list, "anna:100000:65536\n").unwrap();
        assert_eq!(none.account(100_000), Account::UNKNOWN, "it is there now");
        let accounts = Accounts::of(&list, &users);
        assert_eq!(accounts.account(100_001), Account::of_id(1000));
        assert_eq!(accounts.account(200_001), Account::of_id(200_001));
        fs::write(&list, "anna:100000:65536\nbert:200000:65536\n").unwrap();
        assert_eq!(accounts.account(200_001), Account::UNKNOWN);
        assert_eq!(accounts.account(100_001), Account::of_id(1000));
        assert_eq!(accounts.account(1001), Account::of_id(1001));
    }
}
