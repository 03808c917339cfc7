//! Tests disks that are mounted over folders, and disks that are removed.

use resemble_testutil::tmpfs;

use super::*;

/// A disk is removed and another one is mounted in its place. The kernel reuses the device and
/// inode numbers. But the folders are new, so the old watches do not work for them.
#[test]
fn a_disk_in_the_place_of_another_is_watched() {
    let tree = TempTree::new();
    let place = tree.path("disk");
    let disk = || {
        let mounted = tmpfs(&place, "1m")?;
        fs::create_dir(place.join("folder")).unwrap();
        Some(mounted)
    };
    let Some(first) = disk() else { return };
    let running = start(&tree.path(""));
    running.sync();
    let watched = running.script.watched();
    assert!(watched.contains(&place.join("folder")));
    drop(first);
    running.script.lose(&place);
    let second = disk().unwrap();
    running.sync();
    assert_eq!(running.script.watched(), watched);
    drop(second);
    running.script.lose(&place.join("folder"));
    running.sync();
    assert!(running.script.watched().contains(&place));
    assert!(!running.script.watched().contains(&place.join("folder")));
}

/// During a full comparison a disk hides a folder for a moment. No event reports the mount, nor the
/// file that had appeared in the folder before.
#[test]
fn what_a_mount_hid_while_all_was_looked_at_is_found() {
    let tree = TempTree::new();
    let (hidden, after) = (tree.path("b"), tree.path("c/after"));
    for dir in [&tree.path("a"), &hidden, &after] {
        fs::create_dir_all(dir).unwrap();
        text(&dir.join("file"), "a file that is there from the beginning");
    }
    if tmpfs(&hidden, "1m").is_none() {
        return;
    }
    let running = start(&tree.path(""));
    running.sync();
    text(&hidden.join("new"), "a file that nobody told of");
    let mounted = Arc::new(Mutex::new(None));
    let (over, slot) = (hidden.clone(), Arc::clone(&mounted));
    running.script.when_watched(&tree.path("a"), move || {
        *slot.lock() = tmpfs(&over, "1m");
    });
    let slot = Arc::clone(&mounted);
    running.script.when_watched(&after, move || {
        drop(slot.lock().take());
    });
    running.script.overflow();
    running.assert_converged();
    assert!(mounted.lock().is_none(), "it was taken away");
    let snapshot = running.shared.snapshot().unwrap();
    assert!(snapshot.entry(&hidden.join("new")).unwrap().is_some());
}
