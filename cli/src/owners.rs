//! Whose the files of an answer are.
//!
//! The command looks, with the rights of its user, and at the files that are shown alone: so an
//! answer of a daemon that sees more says nothing more.

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::MetadataExt;

use resemble_proto::path::PathText;
use resemble_proto::remote::is_remote;
use resemble_relate::renditions::ways_into;

use crate::args::Global;

/// Whether rows say whose the files are: in JSON, and with `-v`, unless another machine answers.
pub(crate) fn are_shown(global: &Global, is_json: bool) -> bool {
    let is_remote = global.socket.as_deref().is_some_and(is_remote);
    !is_remote && (is_json || global.verbose)
}

/// The owners of files, each looked up once.
#[derive(Debug, Default)]
pub(crate) struct FileOwners {
    /// The names of users by their numbers, once they are read.
    names: Option<HashMap<u32, String>>,
    known: HashMap<PathText, Option<String>>,
}

impl FileOwners {
    /// The name of a file's owner, or the owner's number if it has no name; of a member that of
    /// the file it lies in. `None`: no file of this machine is there.
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

/// The names of the users of this machine, as far as `/etc/passwd` lists them.
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
