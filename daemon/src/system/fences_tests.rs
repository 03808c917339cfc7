//! Tests that each forbidden attempt succeeds before the restrictions are installed, and fails
//! afterwards.

use std::fs::{self, File};
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::process::Command;

use resemble_testutil::{TempTree, in_a_process_of_its_own, skipped};
use rustix::fs::{CWD, FileType, Mode, XattrFlags};
use rustix::mount::UnmountFlags;
use rustix::process::Uid;

use super::*;

/// Makes each attempt that the indexer must not make, and returns whether it succeeds.
fn attempts(tree: &TempTree) -> Vec<(&'static str, bool)> {
    let (root, outside) = (tree.path("root"), tree.path("outside"));
    let (file, spare) = (root.join("file"), tree.path("state/spare"));
    let gone = |made: PathBuf| fs::remove_file(made).is_ok();
    let opened = File::open(&file).expect("a root can be read");
    let root_user = Uid::ROOT;
    vec![
        ("read elsewhere", File::open(outside.join("file")).is_ok()),
        ("list elsewhere", fs::read_dir(&outside).is_ok()),
        ("append", File::options().append(true).open(&file).is_ok()),
        (
            "make",
            File::create_new(root.join("a")).is_ok() && gone(root.join("a")),
        ),
        (
            "make elsewhere",
            File::create_new(outside.join("a")).is_ok() && gone(outside.join("a")),
        ),
        (
            "link",
            symlink("x", root.join("l")).is_ok() && gone(root.join("l")),
        ),
        (
            "rename",
            fs::rename(&file, root.join("b")).is_ok() && fs::rename(root.join("b"), &file).is_ok(),
        ),
        (
            "chmod",
            opened
                .set_permissions(fs::Permissions::from_mode(0o644))
                .is_ok(),
        ),
        (
            "set an attribute",
            rustix::fs::fsetxattr(&opened, "user.x", b"x", XattrFlags::empty()).is_ok(),
        ),
        (
            "make a device",
            rustix::fs::mknodat(
                CWD,
                tree.path("state/device"),
                FileType::CharacterDevice,
                Mode::RUSR,
                rustix::fs::makedev(1, 3),
            )
            .is_ok()
                && gone(tree.path("state/device")),
        ),
        (
            "start a program",
            Command::new("/bin/true").status().is_ok(),
        ),
        (
            "reach the network",
            TcpListener::bind(("127.0.0.1", 0)).is_ok(),
        ),
        (
            "mount",
            rustix::mount::mount_bind(&root, &spare).is_ok()
                && rustix::mount::unmount(&spare, UnmountFlags::DETACH).is_ok(),
        ),
        ("change the root", rustix::process::chroot("/").is_ok()),
        (
            "become somebody",
            rustix::thread::set_thread_res_uid(root_user, root_user, root_user).is_ok(),
        ),
    ]
}

/// Returns the names of the attempts that succeed.
fn able(tree: &TempTree) -> Vec<&'static str> {
    let attempts = attempts(tree).into_iter();
    attempts
        .filter(|(_, is_able)| *is_able)
        .map(|(what, _)| what)
        .collect()
}

#[test]
fn the_indexer_reads_its_roots_writes_its_state_and_does_nothing_else() {
    const NAME: &str =
        "system::fences::tests::the_indexer_reads_its_roots_writes_its_state_and_does_nothing_else";
    if !rustix::process::geteuid().is_root() {
        skipped("it takes root to see what root could do without the fences");
        return;
    }
    if in_a_process_of_its_own(NAME, false) {
        return;
    }
    let tree = TempTree::with_folders(&["root", "outside", "state/spare"]);
    for file in ["root/file", "outside/file"] {
        tree.write(file, "bytes");
    }
    let all = attempts(&tree).len();
    assert_eq!(able(&tree).len(), all, "the canary: {:?}", able(&tree));
    rustix::thread::set_no_new_privs(true).expect("no new privileges");
    put_up(&[tree.path("root")], &[&tree.path("state")]).expect("fences");
    assert_eq!(able(&tree), Vec::<&str>::new());
    // The process can still read its roots.
    assert_eq!(
        fs::read(tree.path("root/file")).expect("its root"),
        b"bytes"
    );
    assert!(fs::read_dir(tree.path("root")).is_ok());
    assert!(fs::read_to_string("/proc/self/status").is_ok());
    fs::write(tree.path("state/index"), "rows").expect("its state");
    fs::rename(tree.path("state/index"), tree.path("state/other")).expect("its state");
    UnixListener::bind(tree.path("state/socket")).expect("a socket of this machine");
    // The restrictions apply to new threads, too.
    let threads = std::thread::spawn(move || able(&tree));
    assert_eq!(threads.join().expect("a thread"), Vec::<&str>::new());
    // The restrictions also prevent the removal of the temporary tree. So the process ends here,
    // before the tree is dropped.
}
