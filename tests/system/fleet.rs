//! Tests a folder with catalogues of many machines (a fleet). They can be queried like roots.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use resemble_testutil::prose::{edited, prose};
use resemble_testutil::{Daemon, PATIENCE, Ran, Sandbox};

/// Makes a sandbox whose daemon loads the catalogues `fleet/*.cat` and watches the tree.
fn scene() -> Sandbox {
    let sandbox = Sandbox::new();
    fs::create_dir(sandbox.path("fleet")).expect("a folder");
    let text = format!(
        "[[catalogue]]\npath = {:?}\n",
        sandbox.path("fleet/*.cat").to_str().expect("a path")
    );
    fs::write(sandbox.path("fleet.toml"), text).expect("a configuration");
    sandbox.write("here.txt", prose(1, 6_000));
    sandbox
}

fn start(sandbox: &Sandbox) -> Daemon<'_> {
    let config = sandbox.path("fleet.toml");
    sandbox.daemon(["--config".as_ref(), config.as_os_str()])
}

/// Makes a catalogue of a machine with these files. The catalogue is not yet in the folder of
/// catalogues.
fn catalogue(sandbox: &Sandbox, label: &str, files: &[(&str, Vec<u8>)]) -> PathBuf {
    let machine = sandbox.path("machine");
    if machine.exists() {
        fs::remove_dir_all(&machine).expect("the last machine goes");
    }
    for (name, bytes) in files {
        let path = machine.join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
        fs::write(path, bytes).expect("a file");
    }
    let out = sandbox.path(format!("{label}.new"));
    let (machine, path) = (machine.as_os_str(), out.as_os_str());
    let words = [
        "catalogue",
        "write",
        "--local",
        "--label",
        label,
        "--created",
        "0",
        "-o",
    ];
    let words = words.into_iter().map(AsRef::as_ref);
    sandbox.resemble(words.chain([path, machine])).success();
    out
}

/// Moves a new catalogue into the folder of catalogues, by a rename.
fn put(sandbox: &Sandbox, label: &str, files: &[(&str, Vec<u8>)]) {
    let new = catalogue(sandbox, label, files);
    fs::rename(new, sandbox.path(format!("fleet/{label}.cat"))).expect("it is put there");
}

fn found(sandbox: &Sandbox) -> String {
    let ran = sandbox.resemble(["find", "tree/here.txt"]);
    assert!(ran.code == 0 || ran.code == 1, "{ran:?}");
    ran.text()
}

/// Repeats the question until the answer is as wanted. No barrier is requested.
fn until(sandbox: &Sandbox, is_wanted: impl Fn(&str) -> bool) {
    let began = Instant::now();
    loop {
        let rows = found(sandbox);
        if is_wanted(&rows) {
            return;
        }
        assert!(began.elapsed() < PATIENCE, "{rows}");
    }
}

/// Sets a file's modification time to ten minutes ago, as if it had been left alone since then.
fn leave_alone(path: &Path) {
    let file = fs::File::options().write(true).open(path);
    let long_ago = SystemTime::now() - Duration::from_secs(600);
    file.expect("it opens")
        .set_modified(long_ago)
        .expect("a time");
}

fn status(daemon: &Daemon<'_>) -> String {
    daemon.status()["degraded"].to_string()
}

fn remove(sandbox: &Sandbox, label: &str) -> Ran {
    sandbox.resemble(["watch", "remove", label])
}

#[test]
fn what_comes_changes_and_goes_is_followed() {
    let sandbox = scene();
    let here = prose(1, 6_000);
    put(&sandbox, "anna", &[("letters/a.txt", here.clone())]);
    let daemon = start(&sandbox);
    daemon.sync();
    assert_eq!(found(&sandbox), "100%  identical  anna:/letters/a.txt\n");
    put(
        &sandbox,
        "ben",
        &[("b.txt", here.clone()), ("c", prose(9, 900))],
    );
    daemon.sync();
    assert!(
        found(&sandbox).contains("ben:/b.txt"),
        "{}",
        found(&sandbox)
    );
    // A newer catalogue of the machine lacks a file. Then answers do not have this file any more.
    put(
        &sandbox,
        "anna",
        &[("letters/moved.txt", edited(&here, 3, 2))],
    );
    daemon.sync();
    let rows = found(&sandbox);
    assert!(
        rows.contains("anna:/letters/moved.txt") && !rows.contains("a.txt"),
        "{rows}"
    );
    // No barrier is requested here, because the event about the removed file is enough.
    fs::remove_file(sandbox.path("fleet/ben.cat")).expect("it goes");
    until(&sandbox, |rows| !rows.contains("ben:"));
    assert_eq!(status(&daemon), "[]");
}

#[test]
fn a_start_reads_what_differs_and_nothing_else() {
    let sandbox = scene();
    let here = prose(1, 6_000);
    put(&sandbox, "anna", &[("a.txt", here.clone())]);
    put(&sandbox, "ben", &[("b.txt", here.clone())]);
    put(&sandbox, "cleo", &[("c.txt", here.clone())]);
    let daemon = start(&sandbox);
    daemon.sync();
    let before = found(&sandbox);
    assert_eq!(before.lines().count(), 3, "{before}");
    assert_eq!(daemon.stop(), 0);
    put(&sandbox, "ben", &[("new.txt", here)]);
    fs::remove_file(sandbox.path("fleet/cleo.cat")).expect("it goes");
    let taken = || sandbox.log().matches("was taken from its folder").count();
    let first = taken();
    let daemon = start(&sandbox);
    daemon.sync();
    let rows = found(&sandbox);
    assert!(
        rows.contains("anna:/a.txt") && rows.contains("ben:/new.txt"),
        "{rows}"
    );
    assert_eq!(rows.lines().count(), 2, "{rows}");
    assert_eq!((first, taken()), (3, 4));
}

#[test]
fn a_daemon_may_have_nothing_but_catalogues() {
    let sandbox = scene();
    put(&sandbox, "anna", &[("a.txt", prose(1, 6_000))]);
    let mut command = sandbox.program("resembled");
    command.arg("--config").arg(sandbox.path("fleet.toml"));
    let daemon = sandbox.start(&mut command).expect("it starts");
    daemon.sync();
    assert_eq!(found(&sandbox), "100%  identical  anna:/a.txt\n");
    assert_eq!(daemon.stop(), 0);
}

#[test]
fn what_cannot_be_used_is_told_and_leaves_the_one_before() {
    let sandbox = scene();
    let here = prose(1, 6_000);
    put(&sandbox, "anna", &[("a.txt", here.clone())]);
    let daemon = start(&sandbox);
    daemon.sync();
    let whole = fs::read(catalogue(&sandbox, "anna", &[("z.txt", here.clone())])).expect("bytes");
    let place = sandbox.path("fleet/anna.cat");
    // While a catalogue is copied slowly, the folder has an incomplete file. This is not reported.
    fs::write(&place, &whole[..whole.len() / 2]).expect("half of it");
    daemon.sync();
    assert_eq!(found(&sandbox), "100%  identical  anna:/a.txt\n");
    assert_eq!(status(&daemon), "[]");
    // After an aborted copy, an incomplete file stays for a long time. This is reported.
    leave_alone(&place);
    fs::write(sandbox.path("fleet/no label!.cat"), b"x").expect("a file");
    fs::write(sandbox.path("fleet/.hidden.cat"), b"x").expect("a file");
    daemon.sync();
    let told = status(&daemon);
    assert!(
        told.contains("anna.cat") && told.contains("no label!.cat"),
        "{told}"
    );
    assert!(!told.contains("hidden"), "{told}");
    assert_eq!(found(&sandbox), "100%  identical  anna:/a.txt\n");
    fs::write(&place, &whole).expect("all of it");
    fs::remove_file(sandbox.path("fleet/no label!.cat")).expect("it goes");
    daemon.sync();
    assert_eq!(found(&sandbox), "100%  identical  anna:/z.txt\n");
    assert_eq!(status(&daemon), "[]");
}

#[test]
fn a_folder_that_cannot_be_reached_takes_nothing_away() {
    let sandbox = scene();
    put(&sandbox, "anna", &[("a.txt", prose(1, 6_000))]);
    let daemon = start(&sandbox);
    daemon.sync();
    fs::rename(sandbox.path("fleet"), sandbox.path("elsewhere")).expect("it moves");
    daemon.sync();
    assert!(
        status(&daemon).contains("cannot be listed"),
        "{}",
        status(&daemon)
    );
    assert_eq!(found(&sandbox), "100%  identical  anna:/a.txt\n");
    assert_eq!(daemon.stop(), 0);
    let daemon = start(&sandbox);
    daemon.sync();
    assert_eq!(found(&sandbox), "100%  identical  anna:/a.txt\n");
    fs::rename(sandbox.path("elsewhere"), sandbox.path("fleet")).expect("it is back");
    daemon.sync();
    assert_eq!(status(&daemon), "[]");
}

#[test]
fn by_hand_or_by_a_folder() {
    let sandbox = scene();
    let here = prose(1, 6_000);
    put(&sandbox, "anna", &[("a.txt", here.clone())]);
    let daemon = start(&sandbox);
    daemon.sync();
    let mine = catalogue(&sandbox, "anna", &[("mine.txt", here.clone())]);
    let refused = sandbox.resemble(["catalogue".as_ref(), "add".as_ref(), mine.as_os_str()]);
    assert_eq!(refused.code, 2, "{refused:?}");
    assert!(refused.err.contains("fleet/anna.cat"), "{refused:?}");
    let refused = remove(&sandbox, "anna:");
    assert!(
        refused.code == 2 && refused.err.contains("fleet/anna.cat"),
        "{refused:?}"
    );
    // First, the catalogue is added by hand. Later, a catalogue with the same label is put into the
    // folder.
    let by_hand = catalogue(&sandbox, "ben", &[("mine.txt", here.clone())]);
    sandbox
        .resemble(["catalogue".as_ref(), "add".as_ref(), by_hand.as_os_str()])
        .success();
    put(&sandbox, "ben", &[("theirs.txt", here)]);
    leave_alone(&sandbox.path("fleet/ben.cat"));
    daemon.sync();
    assert!(
        status(&daemon).contains("resemble watch remove ben:"),
        "{}",
        status(&daemon)
    );
    assert!(found(&sandbox).contains("ben:/mine.txt"));
    remove(&sandbox, "ben:").success();
    daemon.sync();
    assert!(found(&sandbox).contains("ben:/theirs.txt"));
    // The folder is no longer in the configuration, so the catalogues in it are forgotten.
    fs::write(sandbox.path("fleet.toml"), "").expect("a configuration");
    daemon.signal(rustix::process::Signal::HUP);
    until(&sandbox, str::is_empty);
}
