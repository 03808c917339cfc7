//! Settings that differ in system mode, where a daemon serves all users.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::{Config, ConfigError, RootError};

/// Default state folder.
const STATE: &str = "/var/lib/resemble";
/// Default socket.
const SOCKET: &str = resemble_proto::places::SYSTEM_SOCKET;
/// The default mount point. Root mounts the view, so the mount point is outside the folders that
/// the daemon's user may write to.
const VIEW: &str = "/run/resemble-view";

/// The default user of the daemon, and the default group whose members give it orders.
const USER: &str = "resembled";
const CONTROL_GROUP: &str = "resemble";

/// The folders that the setting `ProtectHome=` of a systemd unit hides.
const HOMES: [&str; 3] = ["/home", "/root", "/run/user"];

/// Settings of system mode.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SystemConfig {
    /// User and group of the daemon.
    pub user: (u32, u32),
    /// Group whose members give orders; `None` if there is no such group.
    pub control_group: Option<u32>,
}

impl SystemConfig {
    /// Looks up the ids of the given names, or of the default names.
    pub(super) fn of(user: Option<&str>, group: Option<&str>) -> Result<Self, ConfigError> {
        let name = user.unwrap_or(USER);
        let user = numbers(name)
            .or_else(|| entry("/etc/passwd", name).and_then(|line| ids(&line)))
            .ok_or_else(|| ConfigError::NoUser(name.to_owned()))?;
        if user.0 == 0 {
            return Err(ConfigError::NoUser(name.to_owned()));
        }
        let name = group.unwrap_or(CONTROL_GROUP);
        let number = |line: String| line.split(':').nth(2)?.parse().ok();
        let control_group = name
            .parse()
            .ok()
            .or_else(|| entry("/etc/group", name).and_then(number));
        if control_group.is_none() && group.is_some() {
            return Err(ConfigError::NoUser(name.to_owned()));
        }
        Ok(Self {
            user,
            control_group,
        })
    }
}

/// Parses a text `UID:GID`.
pub(crate) fn numbers(text: &str) -> Option<(u32, u32)> {
    let (uid, gid) = text.split_once(':')?;
    Some((uid.parse().ok()?, gid.parse().ok()?))
}

/// Returns the line about a name in `/etc/passwd` or `/etc/group`, if there is one. These files
/// suffice for the user of a service: its package or `systemd-sysusers` has added the user there.
fn entry(file: &str, name: &str) -> Option<String> {
    let text = fs::read_to_string(file).ok()?;
    let is_it = |line: &&str| line.split(':').next() == Some(name);
    text.lines().find(is_it).map(str::to_owned)
}

fn ids(line: &str) -> Option<(u32, u32)> {
    let mut fields = line.split(':').skip(2);
    Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
}

/// Returns the default state folder, socket and mount point of system mode.
pub(super) fn places() -> [PathBuf; 3] {
    [STATE, SOCKET, VIEW].map(PathBuf::from)
}

impl Config {
    /// Turns the settings into those of system mode. Fails if the settings request something that
    /// system mode does not support. Also fails if another user could replace a root, or if a root
    /// has hidden files.
    pub(super) fn for_all(mut self, system: SystemConfig) -> Result<Self, ConfigError> {
        let asked = [
            ("--link", self.link.is_some()),
            ("[[notify]]", !self.sinks.is_empty()),
            ("[[converter]]", !self.converters.is_empty()),
            ("[[catalogue]]", !self.catalogues.is_empty()),
        ];
        if let Some((what, _)) = asked.into_iter().find(|(_, asked)| *asked) {
            return Err(ConfigError::NotForAll(what));
        }
        for root in &self.roots {
            held_fast(&root.path, system.user.0)?;
            all_shown(&root.path)?;
        }
        for (_, rules) in &mut self.alert_rules {
            rules.kinds = Some(Vec::new());
        }
        self.cache = None;
        self.system = Some(system);
        Ok(self)
    }
}

/// Refuses a root that another user could replace. Every folder above it must belong to root or the
/// daemon, and nobody else may write to it. (If an access control list lets somebody write, the
/// group bits of the mode show that.)
pub(crate) fn held_fast(root: &Path, daemon: u32) -> Result<(), RootError> {
    for above in root.ancestors().skip(1) {
        let meta = fs::symlink_metadata(above).map_err(|source| RootError::Missing {
            path: above.to_owned(),
            source,
        })?;
        let what = if ![0, daemon].contains(&meta.uid()) {
            "belongs to another user"
        } else if meta.mode() & 0o022 != 0 {
            "may be written by others"
        } else {
            continue;
        };
        return Err(RootError::Loose {
            path: root.to_owned(),
            above: above.to_owned(),
            what,
        });
    }
    Ok(())
}

/// If a root below a home is missing, replaces the error by the error that the root may be hidden.
pub(super) fn perhaps_hidden(error: RootError) -> RootError {
    match error {
        RootError::Missing { path, .. } if HOMES.iter().any(|home| path.starts_with(home)) => {
            RootError::Hidden { path }
        }
        other => other,
    }
}

/// Refuses a root that contains a hidden home, because the files of the home would be missing
/// silently. A hidden home looks like a folder without any permission.
fn all_shown(root: &Path) -> Result<(), RootError> {
    let is_hidden = |home: &&Path| {
        let rights = |meta: fs::Metadata| meta.mode() & 0o777;
        fs::symlink_metadata(home).is_ok_and(|meta| meta.is_dir() && rights(meta) == 0)
    };
    let mut within = HOMES.iter().map(Path::new);
    match within.find(|home| home.starts_with(root) && is_hidden(home)) {
        Some(home) => Err(RootError::Hidden { path: home.into() }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, chown};

    use super::*;

    #[test]
    fn users_are_named_or_numbered() {
        let of = |user, group| SystemConfig::of(Some(user), group);
        let both = of("4242:4243", Some("77")).unwrap();
        assert_eq!((both.user, both.control_group), ((4242, 4243), Some(77)));
        assert_eq!(of("daemon", None).unwrap().user.0, 1);
        assert!(of("root", None).is_err(), "root is no user for this");
        assert!(of("0:0", None).is_err());
        assert!(of("nobody has this name", None).is_err());
        assert!(of("daemon", Some("nobody has this name")).is_err());
    }

    #[test]
    fn a_root_that_others_could_move_is_refused() {
        // The folder has a random name. If the name were fixed, another user could have made the
        // folder before.
        let dir = tempfile::tempdir().unwrap();
        let dir = fs::canonicalize(dir.path()).unwrap();
        let loose = |root: &Path| match held_fast(root, 4242) {
            Err(RootError::Loose { above, .. }) => Some(above),
            Ok(()) => None,
            Err(other) => panic!("{other}"),
        };
        let above = dir.parent().unwrap();
        if fs::metadata(above).unwrap().mode() & 0o022 != 0 {
            assert_eq!(loose(&dir).as_deref(), Some(above));
        }
        assert_eq!(loose(Path::new("/")), None);
        assert_eq!(loose(Path::new("/usr")), None);
        let root = dir.join("a/root");
        fs::create_dir_all(&root).unwrap();
        // If several folders above the root are not safe, the nearest to the root is reported.
        for (mode, owner) in [(0o775, 0), (0o757, 0), (0o755, 77)] {
            if !rustix::process::geteuid().is_root() {
                break;
            }
            fs::set_permissions(dir.join("a"), fs::Permissions::from_mode(mode)).unwrap();
            chown(dir.join("a"), Some(owner), None).unwrap();
            assert_eq!(loose(&root), Some(dir.join("a")), "{mode:o} {owner}");
        }
    }
}
