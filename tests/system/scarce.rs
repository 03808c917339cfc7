//! Tests transient failures, such as a lack of descriptors, while the daemon reads its tree. During
//! such a failure, the daemon must report it. Afterwards, the index must be right.

use std::fs::{self, File};
use std::io::Write;
use std::process::Command;
use std::time::Instant;

use resemble_testutil::office::docx;
use resemble_testutil::prose::{prose, sentences};
use resemble_testutil::{Daemon, Mounted, PATIENCE, Sandbox, is_installed, skipped};

/// Asks for the status until the status is as wanted. If the question fails, asks again.
fn status_when(sandbox: &Sandbox, is_wanted: impl Fn(&serde_json::Value) -> bool) {
    let began = Instant::now();
    let mut last = String::new();
    while began.elapsed() < PATIENCE {
        let asked = sandbox.resemble(["status", "--format", "json"]);
        if let Ok(status) = serde_json::from_slice::<serde_json::Value>(&asked.out) {
            if is_wanted(&status) {
                return;
            }
            last = status.to_string();
        }
    }
    panic!("the status stays {last}");
}

fn is_degraded_by(status: &serde_json::Value, reason: &str) -> bool {
    status["fresh"] == false && status["degraded"].to_string().contains(reason)
}

fn is_well(status: &serde_json::Value) -> bool {
    status["fresh"] == true && status["degraded"].as_array().is_some_and(Vec::is_empty)
}

/// Checks that a barrier succeeds only if the index is right.
fn never_wrong(sandbox: &Sandbox, daemon: &Daemon<'_>) {
    if sandbox.resemble(["sync", "--timeout", "5"]).code == 0 {
        daemon.difference().expect("sync told that all is known");
    }
}

/// Returns the number of descriptors that the daemon has open while it answers no question. The
/// function counts several times and takes the minimum, because a connection may be closed a moment
/// late.
fn descriptors_at_rest(daemon: &Daemon<'_>) -> u64 {
    let looks = (0..5).map(|_| {
        daemon.status();
        daemon.descriptors()
    });
    looks.min().expect("it was looked at")
}

#[test]
fn without_descriptors_nothing_is_called_fresh_and_nothing_is_lost() {
    let sandbox = Sandbox::new();
    for n in 0..50 {
        sandbox.write(format!("d{}/{n}", n % 5), prose(n, 900));
    }
    let daemon = sandbox.daemon([""; 0]);
    daemon.assert_true();
    // With one more descriptor the daemon can answer a question, but it cannot open a file.
    daemon.limit_descriptors(Some(daemon.descriptors() + 1));
    for n in 0..20 {
        sandbox.write(format!("d{}/{n}", n % 5), prose(100 + n, 900));
        sandbox.write(format!("new{}/{n}", n % 3), prose(200 + n, 900));
    }
    fs::rename(sandbox.tree("d1"), sandbox.tree("moved")).expect("it moves");
    status_when(&sandbox, |status| is_degraded_by(status, "open files"));
    never_wrong(&sandbox, &daemon);
    daemon.limit_descriptors(None);
    daemon.assert_true();
    status_when(&sandbox, is_well);
}

/// If no process can be started for a document, the document is read later. It must not be stored
/// as unreadable.
#[test]
fn a_document_that_no_process_could_be_started_for_is_read_when_there_is_room() {
    let sandbox = Sandbox::new();
    sandbox.write("first.txt", prose(1, 900));
    let daemon = sandbox.daemon([""; 0]);
    daemon.assert_true();
    let unopened = |status: &serde_json::Value| status["roots"][0]["unopened"].as_u64();
    // With four more descriptors the daemon can read a file, but it cannot start a process, which
    // needs pipes.
    daemon.limit_descriptors(Some(descriptors_at_rest(&daemon) + 4));
    for n in 0..4 {
        sandbox.write(format!("minutes{n}.docx"), docx(&sentences(n, 60)));
    }
    status_when(&sandbox, |status| is_degraded_by(status, "open files"));
    daemon.limit_descriptors(None);
    daemon.assert_true();
    status_when(&sandbox, |status| {
        is_well(status) && unopened(status) == Some(0)
    });
    sandbox.write("minutes.txt", sentences(2, 60));
    daemon.sync();
    let path = sandbox.tree("minutes.txt").display().to_string();
    let found = sandbox.resemble(["find", &path, "--format", "json"]).json();
    let results = found["results"].to_string();
    assert!(results.contains("minutes2.docx"), "{results}");
}

#[test]
fn a_disk_that_cannot_be_read_for_a_while_is_read_in_the_end() {
    if !is_installed("mkfs.ext4") {
        return;
    }
    let sandbox = Sandbox::new();
    let (image, disk) = (sandbox.path("image"), sandbox.tree("disk"));
    fs::create_dir(&disk).expect("a folder");
    let run = |command: &mut Command| command.output().is_ok_and(|done| done.status.success());
    let mount = |options: &str| {
        run(Command::new("mount")
            .args(["-o", options])
            .arg(&image)
            .arg(&disk))
        .then(|| Mounted(disk.clone()))
    };
    File::create(&image)
        .and_then(|file| file.set_len(16 << 20))
        .expect("an image");
    assert!(
        run(Command::new("mkfs.ext4").arg("-q").arg(&image)),
        "mkfs.ext4"
    );
    let Some(mounted) = mount("loop") else {
        skipped("no loop device can be mounted");
        return;
    };
    for n in 0..60 {
        fs::write(mounted.path(format!("f{n}")), prose(n, 100_000)).expect("written");
    }
    drop(mounted);
    let whole = fs::read(&image).expect("the image");
    let mounted = mount("loop,ro").expect("it was mounted before");
    sandbox.write("beside.txt", prose(7, 900));
    let cut = File::options().write(true).open(&image).expect("the image");
    cut.set_len(3 << 20).expect("it is cut");
    let unreadable = (0..60).any(|n| fs::read(mounted.path(format!("f{n}"))).is_err());
    assert!(unreadable, "the disk should be broken");
    let daemon = sandbox.daemon([""; 0]);
    status_when(&sandbox, |status| {
        is_degraded_by(status, "nput/output error")
    });
    never_wrong(&sandbox, &daemon);
    (&cut).write_all(&whole).expect("the disk is whole again");
    daemon.assert_true();
    status_when(&sandbox, is_well);
}
