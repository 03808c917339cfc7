//! Looks up the owners of the files of an answer.
//!
//! The command looks up owners itself, with the rights of its user. It does so only for files that
//! it shows. So owners reveal nothing about files that only a daemon may see.

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::MetadataExt;

use resemble_arguments::Global;
use resemble_proto::path::PathText;
use resemble_proto::remote::is_remote;
use resemble_relate::renditions::ways_into;

/// Returns whether rows show owners. They do so in JSON and with `-v`, unless the daemon of another
/// machine answers.
pub(crate) fn are_shown(global: &Global, is_json: bool) -> bool {
    let is_remote = global.socket.as_deref().is_some_and(is_remote);
    !is_remote && (is_json || global.verbose)
}

/// The owners of files, each looked up once.
#[derive(Debug, Default)]
pub(crate) struct FileOwners {
    /// The names of the users by their numbers. `None` until the first look-up.
    names: Option<HashMap<u32, String>>,
    known: HashMap<PathText, Option<String>>,
}

impl FileOwners {
    /// Returns the name of a file's owner, or the owner's number if that user has no name. The
    /// owner of a member is that of its file. Returns `None` if this machine has no file at the
    /// path.
    pub(crate) fn of(&mut self, path: &PathText) -> Option<String> {
        if let Some(known) = self.known.get(path) {
            return known.clone();
        }
        let names = self.names.get_or_insert_with(users);
        let file = path.as_path();
        let ways = ways_into(file).map(|(file, _)| file);
        let mut found = std::iter::once(file).chain(ways);
        let found = found.find_map(|file| fs::symlink_metadata(file).ok());
        let owner = found.map(|meta| {
            let name = names.get(&meta.uid()).cloned();
            name.unwrap_or_else(|| meta.uid().to_string())
        });
        self.known.insert(path.clone(), owner.clone());
        owner
    }
}

/// Returns the names of the users of this machine, from `/etc/passwd`.
fn users() -> HashMap<u32, String> {
    let list = fs::read_to_string("/etc/passwd").unwrap_or_default();
    let user = |line: &str| {
        let mut fields = line.split(':');
        let name = fields.next().filter(|name| !name.is_empty())?;
        Some((fields.nth(1)?.parse().ok()?, name.to_owned()))
    };
    let mut users = HashMap::new();
    for (uid, name) in list.lines().filter_map(user) {
        users.entry(uid).or_insert(name);
    }
    users
}
