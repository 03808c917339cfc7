//! Tests mounting and unmounting. Doc comments that are promises are repeated in
//! `docs/semantics.md`.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::symlink;
use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::site::{Site, client, fuse_works, mounts, output, run, shell};
use resemble_fs::{MountError, Overlay, OverlayConfig, View, is_inside_resemble_mount};

/// The mount is of type `fuse.resemble`, read-only, nosuid, nodev, without `allow_other`.
#[test]
fn the_mount_has_its_type_and_options() {
    if !fuse_works() {
        return;
    }
    let site = Site::new();
    let overlay = site.mount(View::Files);
    let text = fs::read_to_string("/proc/self/mountinfo").unwrap();
    let line = text
        .lines()
        .find(|line| line.contains(&format!(" {} ", overlay.mount_point().display())));
    let line = line.unwrap();
    for part in [
        " ro,nosuid,nodev",
        "- fuse.resemble resemble ",
        "default_permissions",
    ] {
        assert!(line.contains(part), "{part}: {line}");
    }
    assert!(!line.contains("allow_other"));
    assert!(overlay.is_alive());
    assert!(is_inside_resemble_mount(overlay.mount_point()));
    assert!(is_inside_resemble_mount(
        &overlay.mount_point().join("sub/../x")
    ));
    assert!(!is_inside_resemble_mount(&site.path("docs")));
    assert!(!is_inside_resemble_mount(&site.path("M.not")));
    overlay.unmount().unwrap();
    assert!(!is_inside_resemble_mount(&site.path("M")));
}

/// A missing mount point is created with its parents; at the end, all that was created is removed.
/// A mount point that was there stays.
#[test]
fn a_created_mount_point_is_removed() {
    if !fuse_works() {
        return;
    }
    let site = Site::new();
    let overlay = site.mount(View::Files);
    assert!(site.path("M").is_dir());
    overlay.unmount().unwrap();
    assert!(!overlay.is_alive());
    assert!(!site.path("M").exists());
    overlay.unmount().unwrap();

    let deep = OverlayConfig {
        mount_point: site.path("a/b,c/M x"),
        ..site.config(View::Files)
    };
    let overlay = Overlay::mount(deep, Arc::clone(&site.map) as _).unwrap();
    assert_eq!(
        shell("ls \"$1\"", overlay.mount_point()),
        "copy.txt\nlink\nreport.txt\nsub\n"
    );
    drop(overlay);
    assert!(!site.path("a").exists());

    fs::create_dir(site.path("M")).unwrap();
    drop(site.mount(View::Files));
    assert!(site.path("M").is_dir());
}

/// These are refused: a mount point that is not an empty directory, is a live overlay or lies
/// inside an overlay; roots inside each other; a root inside an overlay or the mount point.
#[test]
fn unfit_mount_points_and_roots_are_refused() {
    if !fuse_works() {
        return;
    }
    let site = Site::new();
    let try_at = |point: &str, roots: &[&str]| {
        let config = OverlayConfig {
            mount_point: site.path(point),
            roots: roots.iter().map(|root| site.path(root)).collect(),
            ..site.config(View::Files)
        };
        Overlay::mount(config, Arc::clone(&site.map) as _).unwrap_err()
    };
    assert!(matches!(
        try_at("docs", &["docs/sub"]),
        MountError::RootInMountPoint { .. }
    ));
    fs::create_dir(site.path("other")).unwrap();
    assert!(matches!(
        try_at("docs", &["other"]),
        MountError::NotEmpty { .. }
    ));
    assert!(matches!(
        try_at("docs/report.txt", &["other"]),
        MountError::NotADirectory { .. }
    ));
    assert!(matches!(
        try_at("M", &["docs", "docs/sub"]),
        MountError::NestedRoots { .. }
    ));
    assert!(matches!(try_at("M", &[]), MountError::NoRoots));
    assert!(!site.path("M").exists(), "a refusal leaves nothing behind");
    let overlay = site.mount(View::Files);
    assert!(matches!(
        try_at("M", &["docs"]),
        MountError::AlreadyMounted { .. }
    ));
    assert!(matches!(
        try_at("M/sub/N", &["docs"]),
        MountError::InsideOverlay { .. }
    ));
    assert!(matches!(
        try_at("N", &["M/sub"]),
        MountError::InsideOverlay { .. }
    ));
    assert!(matches!(
        try_at("N", &["M"]),
        MountError::InsideOverlay { .. }
    ));
    symlink(site.path("M/sub"), site.path("to-sub")).unwrap();
    assert!(matches!(
        try_at("to-sub/N", &["docs"]),
        MountError::InsideOverlay { .. }
    ));
    assert!(overlay.is_alive());
}

/// The mount point may lie in a watched root. Listings and look-ups skip it by its path, and they
/// skip every other overlay, too.
#[test]
fn a_mount_point_inside_a_watched_root_is_skipped() {
    if !fuse_works() {
        return;
    }
    let site = Site::new();
    let inside = |name: &str, view| OverlayConfig {
        mount_point: site.path("docs").join(name),
        ..site.config(view)
    };
    let first = Overlay::mount(inside("M", View::Files), Arc::clone(&site.map) as _).unwrap();
    let second =
        Overlay::mount(inside("sub/N", View::Folders), Arc::clone(&site.map) as _).unwrap();
    // The first overlay is also visible at the path of a bind mount. Nothing in that path shows
    // that an overlay is there.
    fs::create_dir(site.path("docs/bound")).unwrap();
    rustix::mount::mount_bind(first.mount_point(), site.path("docs/bound")).unwrap();
    for overlay in [&first, &second] {
        let m = overlay.mount_point();
        let all = shell("cd $1; find . -name .similar -prune -o -print | sort", m);
        let names: BTreeSet<&str> = all
            .lines()
            .map(|line| line.rsplit('/').next().unwrap())
            .collect();
        for name in ["M", "N", "bound"] {
            assert!(!names.contains(name), "{name}: {all}");
        }
        assert!(names.contains("old.txt"));
        for path in ["M", "M/sub", "sub/N", "sub/N/sub", "bound", "bound/sub"] {
            let out = run("stat", [m.join(path)]);
            assert!(
                String::from_utf8_lossy(&out.stderr).contains("No such file"),
                "{path}"
            );
        }
    }
    rustix::mount::unmount(site.path("docs/bound"), rustix::mount::UnmountFlags::DETACH).unwrap();
    second.unmount().unwrap();
    first.unmount().unwrap();
    assert!(!site.path("docs/M").exists() && !site.path("docs/sub/N").exists());
}

#[test]
fn an_overlay_is_known_by_its_id_when_its_path_changed() {
    if !fuse_works() {
        return;
    }
    let site = Site::new();
    fs::create_dir(site.path("p")).unwrap();
    fs::rename(site.path("docs"), site.path("p/docs")).unwrap();
    fs::create_dir(site.path("other")).unwrap();
    fs::write(site.path("other/x"), "").unwrap();
    let config = |point: &str, root: &str| OverlayConfig {
        mount_point: site.path(point),
        roots: vec![site.path(root)],
        ..site.config(View::Files)
    };
    let outer = Overlay::mount(config("M", "p/docs"), Arc::clone(&site.map) as _).unwrap();
    let inner = Overlay::mount(config("p/docs/N", "other"), Arc::clone(&site.map) as _).unwrap();
    // The paths of the root and of the inner mount change. For up to a second the root is still
    // used by its handle. In that time, only the mount id shows that `N` is an overlay. After that
    // time, the root counts as vanished.
    fs::rename(site.path("p"), site.path("q")).unwrap();
    let out = run("stat", [outer.mount_point().join("N")]);
    assert!(
        String::from_utf8_lossy(&out.stderr).contains("No such file"),
        "{out:?}"
    );
    inner.unmount().unwrap();
    outer.unmount().unwrap();
}

/// Unmounting works while somebody is inside, ends all threads and may be repeated; dropping
/// unmounts.
#[test]
fn a_busy_mount_is_unmounted() {
    if !fuse_works() {
        return;
    }
    let site = Site::new();
    let overlay = site.mount(View::Folders);
    let m = overlay.mount_point().to_owned();
    let mut inside = client("sh")
        .args([
            "-c",
            "cd $1/sub; exec 3<../report.txt/report.txt; echo in; read line",
            "sh",
        ])
        .arg(&m)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = String::new();
    BufReader::new(inside.stdout.take().unwrap())
        .read_line(&mut said)
        .unwrap();
    assert_eq!(said, "in\n");
    let started = Instant::now();
    overlay.unmount().unwrap();
    assert!(
        started.elapsed() < Duration::from_secs(4),
        "{:?}",
        started.elapsed()
    );
    assert!(!mounts().contains(&m) && !m.exists());
    assert!(!overlay.is_alive());
    overlay.unmount().unwrap();
    // The path can be used for a new mount at once, although the client is still in the old mount.
    let again = site.mount(View::Folders);
    assert_eq!(shell("cat $1/report.txt/report.txt", &m), "the report\n");
    drop(again);
    assert!(!mounts().contains(&m));
    drop(inside.stdin.take());
    inside.wait().unwrap();
}

/// When somebody else unmounts it, `is_alive` says so, and unmounting then touches nothing that was
/// mounted there since.
#[test]
fn an_unmount_by_others_is_noticed() {
    if !fuse_works() {
        return;
    }
    let site = Site::new();
    fs::create_dir(site.path("M")).unwrap();
    let overlay = site.mount(View::Files);
    let m = overlay.mount_point().to_owned();
    assert!(overlay.is_alive());
    output("umount", [&m]);
    assert!(!overlay.is_alive());
    let flags = rustix::mount::MountFlags::empty();
    rustix::mount::mount("none", &m, "tmpfs", flags, None::<&std::ffi::CStr>).unwrap();
    fs::write(m.join("mine"), "").unwrap();
    overlay.unmount().unwrap();
    assert!(m.join("mine").exists(), "the other's mount stays");
    rustix::mount::unmount(&m, rustix::mount::UnmountFlags::DETACH).unwrap();

    // Another mount covers the overlay. So unmounting is refused, and the overlay stays. When the
    // other mount is gone, unmounting works.
    let overlay = site.mount(View::Files);
    rustix::mount::mount("none", &m, "tmpfs", flags, None::<&std::ffi::CStr>).unwrap();
    assert!(matches!(overlay.unmount(), Err(MountError::Covered { .. })));
    rustix::mount::unmount(&m, rustix::mount::UnmountFlags::DETACH).unwrap();
    assert!(overlay.is_alive());
    assert_eq!(shell("cat $1/report.txt", &m), "the report\n");
    overlay.unmount().unwrap();
}
