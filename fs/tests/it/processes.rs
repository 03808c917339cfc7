//! Tests mounts that other processes or users make, and mounts with many readers at once. Doc
//! comments that are promises are repeated in `docs/semantics.md`.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use crate::site::{Site, client, fuse_works, mounts, near, shell};
use resemble_fs::{Overlay, OverlayConfig, View, is_inside_resemble_mount};

/// Other tests start this test as a child process, which then mounts an overlay as its environment
/// says. Run as a test of its own, it does nothing.
#[test]
fn child_process() {
    let Some(docs) = std::env::var_os("RESEMBLE_TEST_DOCS") else {
        return;
    };
    let docs = PathBuf::from(docs);
    let m = PathBuf::from(std::env::var_os("RESEMBLE_TEST_MOUNT").unwrap());
    let map = resemble_fs::neighbours::MapNeighbours::new();
    map.set(
        docs.join("report.txt"),
        vec![near(&docs.join("copy.txt"), 0.5)],
    );
    let config = OverlayConfig {
        mount_point: m.clone(),
        view: View::Folders,
        show: resemble_fs::Show::Default,
        similar_name: resemble_fs::SimilarName::default(),
        roots: vec![docs],
        exclude: Vec::new(),
        folder: None,
    };
    let overlay = match Overlay::mount(config, Arc::new(map)) {
        Ok(overlay) => overlay,
        Err(error) => {
            println!("REFUSED {error}");
            return;
        }
    };
    println!("MOUNTED");
    std::io::stdout().flush().unwrap();
    if std::env::var_os("RESEMBLE_TEST_SELF").is_some() {
        // The mount exists only in this process's mount namespace, so this process lists it.
        println!("LS {}", shell("ls $1/report.txt/.similar", &m).trim_end());
        println!(
            "CAT {}",
            shell("cat $1/report.txt/report.txt", &m).trim_end()
        );
        let mut inside = client("sh")
            .args(["-c", "cd $1/sub; echo in; read line", "sh"])
            .arg(&m)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut said = String::new();
        BufReader::new(inside.stdout.take().unwrap())
            .read_line(&mut said)
            .unwrap();
        let alive = overlay.is_alive();
        let unmounted = overlay.unmount();
        println!(
            "ALIVE {alive} UNMOUNT {unmounted:?} LEFT {} {}",
            mounts().contains(&m),
            m.exists()
        );
        drop(inside.stdin.take());
        inside.wait().unwrap();
    } else {
        let mut line = String::new();
        std::io::stdin().read_line(&mut line).unwrap();
    }
}

fn child_command() -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["processes::child_process", "--exact", "--nocapture"]);
    command
}

/// A daemon that was killed leaves a dead mount; the next start repairs the mount point, also after
/// several kills.
#[test]
fn a_killed_daemon_leaves_nothing_that_stays() {
    if !fuse_works() {
        return;
    }
    let site = Site::new();
    let m = site.path("M");
    let start = || {
        let mut child = child_command()
            .env("RESEMBLE_TEST_DOCS", site.path("docs"))
            .env("RESEMBLE_TEST_MOUNT", &m)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mounted = lines.find_map(|line| {
            line.ok()
                .filter(|l| l.contains("MOUNTED") || l.contains("REFUSED"))
        });
        assert!(
            mounted
                .as_deref()
                .is_some_and(|line| line.ends_with("MOUNTED")),
            "{mounted:?}"
        );
        child
    };
    for _ in 0..2 {
        let mut child = start();
        assert_eq!(shell("ls $1/report.txt/.similar", &m), "050%_copy.txt\n");
        child.kill().unwrap();
        child.wait().unwrap();
        let dead = fs::metadata(&m).unwrap_err();
        assert_eq!(dead.raw_os_error(), Some(libc::ENOTCONN));
        assert!(is_inside_resemble_mount(&m));
    }
    let overlay = site.mount(View::Files);
    assert_eq!(shell("cat $1/report.txt", &m), "the report\n");
    overlay.unmount().unwrap();
    assert!(!mounts().contains(&m));
    assert!(m.is_dir(), "the killed one made it, nobody else removes it");
}

/// Without privileges, the view is mounted by fusermount3, for its user alone, and is unmounted
/// even when busy.
#[test]
fn an_unprivileged_user_can_mount() {
    if !fuse_works() {
        return;
    }
    let site = Site::new();
    let dir = site.path("");
    fs::copy(std::env::current_exe().unwrap(), site.path("test")).unwrap();
    // fusermount3 requires a user with a passwd entry, so the user is `daemon`. The mounts are in a
    // namespace of their own. With fusectl, a busy connection is ended at once; without it, the
    // connection ends with its last client.
    for fusectl in ["mount -t fusectl none /sys/fs/fuse/connections", "true"] {
        let script = format!(
            "rm -f fuse; mknod fuse c 10 229; chmod 666 fuse; mount --bind fuse /dev/fuse; {fusectl}
            chmod 755 . test; chown -R daemon docs .
            exec setpriv --reuid daemon --regid daemon --clear-groups \
                timeout -s KILL 60 ./test processes::child_process --exact --nocapture"
        );
        let out = client("unshare")
            .args(["-m", "sh", "-ec", &script])
            .current_dir(&dir)
            .env("RESEMBLE_TEST_DOCS", site.path("docs"))
            .env("RESEMBLE_TEST_MOUNT", site.path("M"))
            .env("RESEMBLE_TEST_SELF", "1")
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&out.stdout);
        let complained = String::from_utf8_lossy(&out.stderr);
        for line in [
            "MOUNTED",
            "LS 050%_copy.txt",
            "CAT the report",
            "ALIVE true UNMOUNT Ok(()) LEFT false false",
        ] {
            assert!(said.contains(line), "{line}:\n{said}\n{complained}");
        }
    }
}

/// Many readers at once over both views see the tree and never an error.
#[test]
fn many_readers_at_once() {
    if !fuse_works() {
        return;
    }
    let site = Site::new();
    for i in 0..200 {
        fs::write(site.path(&format!("docs/sub/{i}")), vec![b'x'; i * 100]).unwrap();
    }
    let overlay = site.mount(View::Files);
    let m = overlay.mount_point();
    let sum = shell(
        "cd $1; find . -type f | sort | xargs cat | md5sum",
        &site.path("docs"),
    );
    let children: Vec<Child> = (0..8)
        .map(|_| {
            client("sh")
                .args([
                    "-ec",
                    "cd $1; find . -type f | sort | xargs cat | md5sum; ls -lR .similar >/dev/null",
                    "sh",
                ])
                .arg(m)
                .stdout(Stdio::piped())
                .spawn()
                .unwrap()
        })
        .collect();
    for child in children {
        let out = child.wait_with_output().unwrap();
        assert!(out.status.success());
        assert_eq!(String::from_utf8_lossy(&out.stdout), sum);
    }
    assert_eq!(fs::metadata(m).unwrap().nlink(), 1);
}
