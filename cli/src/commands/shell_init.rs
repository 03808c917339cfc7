//! `resemble shell-init`: prints shell functions by which `ls FILE/.similar` works on real paths.
//!
//! The kernel refuses a path that goes through a regular file. So the real tree cannot answer
//! `FILE/.similar`; only a mounted view can. The functions of this verb check the arguments of
//! `ls`, `cat`, `cd`, `head`, `tail`, `less`, `cp`, `diff` and `xdg-open`. An argument that has a
//! component `.similar` and does not exist is replaced by its path in the view. All other arguments
//! are passed on unchanged, and no process is started for them.
//!
//! The shell functions do not compute the path in the view themselves. They run this program with
//! `--view`. The daemon reports where its view shows each watched directory.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use resemble_arguments::{Global, Shell, ShellInitArgs};
use resemble_proto::message::{MountStatus, MountView};
use resemble_proto::places::Env;

use crate::backend;
use crate::error::{CliError, CliResult, Outcome};
use crate::ui::Ui;

/// The overlay's name for the folder of similar files.
const SIMILAR: &str = ".similar";

pub(super) fn run(ui: &mut Ui, env: &Env, global: &Global, args: &ShellInitArgs) -> CliResult {
    if let Some(path) = &args.view {
        let Some(view) = in_view(env, global, path)? else {
            return Ok(Outcome::DoesNot);
        };
        ui.write(|out| {
            out.write_all(view.as_os_str().as_bytes())?;
            out.write_all(b"\n")
        })?;
        return Ok(Outcome::Holds);
    }
    let script = match args.shell {
        Some(Shell::Bash) => include_str!("shell_init/init.bash"),
        Some(Shell::Zsh) => include_str!("shell_init/init.zsh"),
        Some(Shell::Fish) => include_str!("shell_init/init.fish"),
        None => "",
    };
    ui.write(|out| out.write_all(script.as_bytes()))?;
    Ok(Outcome::Holds)
}

/// Returns the path in the view; `None` if `path` has no `.similar`, or no view shows it.
fn in_view(env: &Env, global: &Global, path: &Path) -> CliResult<Option<PathBuf>> {
    let Some((subject, rest)) = split(path) else {
        return Ok(None);
    };
    let real = fs::canonicalize(&subject).map_err(CliError::file("look at", &subject))?;
    let is_dir = real.is_dir();
    let mounts = backend::daemon(env, global)?.status()?.mounts;
    let mut places = mounts.iter().filter_map(|mount| {
        let place = place(mount, &real, is_dir)?;
        Some(rest.iter().fold(place, |path, name| path.join(name)))
    });
    Ok(places.next())
}

/// Splits a path at its first `.similar`. Returns `None` if the path has no `.similar`.
fn split(path: &Path) -> Option<(PathBuf, Vec<&OsStr>)> {
    let mut parts = path.iter();
    let mut subject = PathBuf::new();
    loop {
        let part = parts.next()?;
        if part == SIMILAR {
            break;
        }
        subject.push(part);
    }
    if subject.as_os_str().is_empty() {
        subject.push(".");
    }
    Some((subject, parts.collect()))
}

/// Returns the folder of files similar to `real`, if this view shows `real`.
fn place(mount: &MountStatus, real: &Path, is_dir: bool) -> Option<PathBuf> {
    let of_root = mount.roots.iter().find_map(|root| {
        let below = real.strip_prefix(root.path.as_path()).ok()?;
        Some(root.view.as_path().join(below))
    })?;
    if is_dir || mount.view == MountView::Folders {
        return Some(of_root.join(SIMILAR));
    }
    Some(of_root.parent()?.join(SIMILAR).join(real.file_name()?))
}

#[cfg(test)]
mod tests {
    use resemble_proto::message::SeenRoot;

    use super::*;

    fn mount(view: MountView) -> MountStatus {
        let root = |path: &str, view: &str| SeenRoot {
            path: path.into(),
            view: view.into(),
        };
        MountStatus {
            path: "/run/view".into(),
            view,
            link: None,
            roots: vec![
                root("/home/me", "/run/view"),
                root("/srv/me", "/run/view/me"),
            ],
        }
    }

    #[test]
    fn a_path_is_split_at_its_first_similar() {
        let names = |path: &'static str| {
            let (subject, rest) = split(Path::new(path))?;
            let rest: Vec<_> = rest.iter().map(|name| name.to_str().unwrap()).collect();
            Some((subject.to_str().unwrap().to_owned(), rest.join(" ")))
        };
        let found = |subject: &str, rest: &str| Some((subject.to_owned(), rest.to_owned()));
        assert_eq!(names("a/b.txt/.similar"), found("a/b.txt", ""));
        assert_eq!(names("/a/.similar/.why/x"), found("/a", ".why x"));
        assert_eq!(names(".similar/"), found(".", ""));
        assert_eq!(names("a/.similar.txt"), None);
        assert_eq!(names(""), None);
    }

    #[test]
    fn both_views_and_every_root() {
        let shown = |view, real: &str, is_dir| {
            let place = place(&mount(view), Path::new(real), is_dir)?;
            Some(place.to_str().unwrap().to_owned())
        };
        let (folders, files) = (MountView::Folders, MountView::Files);
        let found = |path: &str| Some(path.to_owned());
        let file = "/home/me/a/x.txt";
        assert_eq!(
            shown(folders, file, false),
            found("/run/view/a/x.txt/.similar")
        );
        assert_eq!(
            shown(files, file, false),
            found("/run/view/a/.similar/x.txt")
        );
        let dir = "/srv/me/a";
        assert_eq!(shown(folders, dir, true), found("/run/view/me/a/.similar"));
        assert_eq!(shown(files, dir, true), found("/run/view/me/a/.similar"));
        assert_eq!(
            shown(files, "/srv/me", true),
            found("/run/view/me/.similar")
        );
        assert_eq!(shown(folders, "/home/mean/x", false), None);
    }
}
