use std::fs;

use resemble_testutil::prose::prose;
use resemble_testutil::storm::Storm;
use resemble_testutil::{Sandbox, asked_for};
use rustix::process::Signal;

#[test]
fn twenty_thousand_changes_leave_the_index_of_a_fresh_scan() {
    // `RESEMBLE_STORMS=20` runs twenty storms instead of one.
    let storms = asked_for("RESEMBLE_STORMS").unwrap_or(1);
    for seed in 1..=storms {
        let sandbox = Sandbox::new();
        let daemon = sandbox.daemon([""; 0]);
        let mut storm = Storm::new(&sandbox.path("tree"), seed);
        for _ in 0..4 {
            storm.blow(5_000);
            daemon.assert_true();
        }
    }
}

#[test]
fn a_storm_during_the_first_scan() {
    let sandbox = Sandbox::new();
    let mut storm = Storm::new(&sandbox.path("tree"), 2);
    storm.blow(3_000);
    let daemon = sandbox.daemon([""; 0]);
    storm.blow(3_000);
    daemon.assert_true();
}

#[test]
fn an_overflow_of_the_event_queue_ends_in_the_right_index() {
    let sandbox = Sandbox::new();
    for n in 0..200 {
        sandbox.write(format!("old/{n}.txt"), prose(n, 700));
    }
    let daemon = sandbox.daemon([""; 0]);
    daemon.sync();
    let limit = fs::read_to_string("/proc/sys/fs/inotify/max_queued_events").expect("a limit");
    let limit: u64 = limit.trim().parse().expect("a number");
    assert!(
        limit <= 100_000,
        "the queue is too long to overflow here: {limit}"
    );
    // While the daemon is stopped, the kernel's event queue overflows, so events are lost.
    daemon.signal(Signal::STOP);
    for n in 0..=limit / 2 {
        sandbox.write(format!("old/new-{n}"), n.to_le_bytes());
    }
    fs::rename(sandbox.tree("old"), sandbox.tree("renamed")).expect("the old folder moves");
    fs::remove_file(sandbox.tree("renamed/7.txt")).expect("a file goes");
    sandbox.write("after.txt", prose(1, 4_000));
    daemon.signal(Signal::CONT);
    daemon.assert_true();
    let overflows = daemon.status()["watch"]["overflows"].as_u64();
    assert!(
        overflows.is_some_and(|n| n >= 1),
        "no overflow was seen: {}",
        daemon.status()
    );
}

#[test]
fn a_deep_tree_made_at_once_is_seen_whole() {
    let sandbox = Sandbox::new();
    let daemon = sandbox.daemon([""; 0]);
    for round in 0..3 {
        for a in 0..4 {
            for b in 0..4 {
                for c in 0..4 {
                    for d in 0..4 {
                        let folder = format!("r{round}/{a}/{b}/{c}/{d}");
                        sandbox.write(format!("{folder}/one.txt"), prose(a * 64 + b, 300));
                        sandbox.write(format!("{folder}/two.txt"), prose(c * 64 + d, 300));
                    }
                }
            }
        }
        daemon.assert_true();
    }
}
