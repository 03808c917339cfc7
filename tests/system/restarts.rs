use std::fs;

use resemble_testutil::prose::{edited, prose};
use resemble_testutil::storm::Storm;
use resemble_testutil::{Sandbox, fuse_works, names};

#[test]
fn a_restart_reads_only_what_changed() {
    let sandbox = Sandbox::new();
    for n in 0..300 {
        sandbox.write(format!("{}/{n}.txt", n % 7), prose(n, 3_000));
    }
    let daemon = sandbox.daemon([""; 0]);
    daemon.sync();
    assert_eq!(daemon.status()["index"]["files_read"], 300);
    assert_eq!(daemon.stop(), 0);
    sandbox.write("3/3.txt", prose(1_000, 3_000));
    sandbox.write("new.txt", prose(1_001, 3_000));
    fs::remove_file(sandbox.tree("4/4.txt")).expect("gone");
    fs::rename(sandbox.tree("5"), sandbox.tree("five")).expect("a directory is renamed");
    let daemon = sandbox.daemon([""; 0]);
    daemon.sync();
    assert_eq!(
        daemon.status()["index"]["files_read"],
        2,
        "only the changed ones"
    );
    daemon.assert_true();
}

#[test]
fn a_killed_daemon_comes_back_with_the_right_index() {
    let sandbox = Sandbox::new();
    let mut storm = Storm::new(&sandbox.path("tree"), 5);
    storm.blow(1_000);
    for _ in 0..6 {
        let daemon = sandbox.daemon([""; 0]);
        storm.blow(700);
        daemon.kill();
        storm.blow(100);
    }
    sandbox.daemon([""; 0]).assert_true();
    assert!(
        !sandbox.log().contains("set aside"),
        "a kill must not damage the index"
    );
}

#[test]
fn a_killed_mount_is_repaired_by_the_next_start() {
    if !fuse_works() {
        return;
    }
    let sandbox = Sandbox::new();
    sandbox.write("a.txt", prose(1, 5_000));
    sandbox.write("b.txt", edited(&prose(1, 5_000), 1, 1));
    let daemon = sandbox.mounted([""; 0]);
    daemon.sync();
    assert!(!names(sandbox.mount("a.txt/.similar")).is_empty());
    daemon.crash();
    let daemon = sandbox.mounted([""; 0]);
    daemon.sync();
    assert!(!names(sandbox.mount("a.txt/.similar")).is_empty());
    assert_eq!(daemon.stop(), 0);
}

#[test]
fn a_damaged_index_is_set_aside_rebuilt_and_told() {
    let sandbox = Sandbox::new();
    sandbox.write("a.txt", prose(1, 5_000));
    sandbox.write("b.txt", edited(&prose(1, 5_000), 1, 1));
    let daemon = sandbox.daemon([""; 0]);
    daemon.sync();
    assert_eq!(daemon.stop(), 0);
    let state = sandbox.path("state/resemble");
    let index = fs::read_dir(&state)
        .expect("the state")
        .map(|e| e.expect("an entry").path());
    let index = index
        .filter(|p| p.extension().is_some_and(|e| e == "redb"))
        .collect::<Vec<_>>();
    assert_eq!(index.len(), 1, "{index:?}");
    fs::write(&index[0], b"this is no index").expect("damage");
    let daemon = sandbox.daemon([""; 0]);
    daemon.assert_true();
    assert!(sandbox.log().contains("set aside"), "{}", sandbox.log());
}

#[test]
fn other_parameters_rebuild_the_index_and_say_so() {
    let sandbox = Sandbox::new();
    sandbox.write("a.txt", prose(1, 50_000));
    let daemon = sandbox.daemon([""; 0]);
    daemon.sync();
    assert_eq!(daemon.stop(), 0);
    let daemon = sandbox.daemon(["--chunk-size", "4096"]);
    daemon.sync();
    assert_eq!(daemon.status()["index"]["files_read"], 1, "read again");
    assert!(sandbox.log().contains("set aside"), "{}", sandbox.log());
}

#[test]
fn a_second_daemon_on_the_same_state_is_refused() {
    let sandbox = Sandbox::new();
    sandbox.write("a.txt", b"a");
    let daemon = sandbox.daemon([""; 0]);
    daemon.sync();
    let tree = sandbox.path("tree");
    let second = sandbox
        .program("resembled")
        .arg(&tree)
        .output()
        .expect("it runs");
    assert_eq!(second.status.code(), Some(2), "{second:?}");
    let said = String::from_utf8_lossy(&second.stderr).into_owned();
    assert!(said.contains("another resembled uses"), "{said}");
    daemon.assert_true();
}
