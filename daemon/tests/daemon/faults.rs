//! Tests kills, lost events, damaged indexes, full disks, vanished roots, missing watches, and many
//! unfinished requests.

use std::fs::{self, File};
use std::io::Write;
use std::process::Command;
use std::time::{Duration, Instant};

use resemble_proto::message::{
    GroupsRequest, OnlyGroups, RootState, Scope, SoftErrorKind, StatusAnswer,
};
use resemble_testutil::{fill, skipped, tmpfs};
use rustix::fs::{Mode, OFlags, mkdirat, open, openat};
use rustix::process::Signal;

use crate::support::{Daemon, Place, status_when, text, wire};

/// If a file is read less than this time after its last change, it is read once more later. So a
/// test that takes longer, on a very slow machine, cannot check the number of files read.
const UNSETTLED: Duration = Duration::from_secs(30);

#[test]
fn after_a_kill_only_what_changed_is_read() {
    let place = Place::new();
    for n in 0..300 {
        place.write(&format!("d{}/{n}", n % 10), n);
    }
    let made = Instant::now();
    let daemon = place.start();
    daemon.sync();
    assert_eq!(daemon.status().index.files_read, 300);
    daemon.kill();
    assert!(
        place.path("socket").exists(),
        "nobody was there to remove it"
    );
    place.write("d3/3", 1003);
    fs::rename(place.in_tree("d5"), place.in_tree("d5-renamed")).unwrap();
    let daemon = place.start();
    daemon.assert_converged();
    let status = daemon.status();
    assert!(
        status.index.files_read <= 2 || made.elapsed() > UNSETTLED,
        "{status:?}"
    );
}

#[test]
fn kills_at_any_moment_leave_an_index_that_converges() {
    let place = Place::new();
    for n in 0..200 {
        place.write(&format!("{n}"), n);
    }
    for round in 0..10u32 {
        let daemon = place.start();
        let before = daemon.status().clock;
        for n in 0..20 {
            place.write(
                &format!("{}", (round * 20 + n) % 200),
                1000 + round * 20 + n,
            );
        }
        // The kill comes after the first event, after the first commit or after the last commit.
        status_when(&daemon, |status| match round % 3 {
            0 => status.clock > before || status.roots.iter().any(|root| root.pending > 0),
            1 => status.clock > before,
            _ => status.index.files_read >= 20,
        });
        daemon.kill();
    }
    place.start().assert_converged();
}

/// While the daemon is stopped, more events occur than the kernel's queue can hold (16,384).
#[test]
fn lost_events_are_made_good() {
    let place = Place::new();
    place.write("before", 1);
    let daemon = place.start();
    daemon.sync();
    daemon.signal(Signal::STOP);
    for n in 0..6000u32 {
        let dir = place.in_tree(&format!("new{}", n % 20));
        fs::create_dir_all(&dir).unwrap();
        fs::write(dir.join(format!("{n}")), format!("file {n}")).unwrap();
    }
    fs::remove_file(place.in_tree("before")).unwrap();
    fs::rename(place.in_tree("new3"), place.in_tree("new3-renamed")).unwrap();
    daemon.signal(Signal::CONT);
    daemon.assert_converged();
    // Six thousand files in twenty new directories cause few events, because those directories are
    // not watched yet. Writes in watched directories cause more events.
    daemon.signal(Signal::STOP);
    for round in 0..4 {
        for n in 0..6000u32 {
            let dir = place.in_tree(&format!("new{}", if n % 20 == 3 { 4 } else { n % 20 }));
            fs::write(
                dir.join(format!("{n}")),
                format!("file {n} in round {round}"),
            )
            .unwrap();
        }
    }
    fs::remove_dir_all(place.in_tree("new7")).unwrap();
    fs::rename(place.in_tree("new8"), place.in_tree("new9/new8")).unwrap();
    daemon.signal(Signal::CONT);
    daemon.assert_converged();
    let status = daemon.status();
    assert!(status.watch.overflows >= 1, "{status:?}");
    assert!(status.fresh);
    // All watches work again.
    place.write("new9/new8/late", 5);
    place.write("new3-renamed/late", 6);
    daemon.assert_converged();
}

/// After lost events the daemon opens a new inotify instance. Here only one instance is allowed, so
/// the old instance must be closed first.
#[test]
fn lost_events_are_made_good_at_the_limit_of_inotify_instances() {
    let place = Place::new();
    place.write("before", 1);
    let one = "echo 1 > /proc/sys/user/max_inotify_instances && exec \"$@\"";
    if !can_limit_instances(one) {
        return;
    }
    let daemon = place.start_in(&["unshare", "-Ur", "sh", "-c", one, "sh"], &["tree"]);
    daemon.sync();
    daemon.signal(Signal::STOP);
    for round in 0..4 {
        for n in 0..6000u32 {
            fs::write(place.in_tree(&n.to_string()), format!("{n} in {round}")).unwrap();
        }
    }
    daemon.signal(Signal::CONT);
    daemon.assert_converged();
    let status = daemon.status();
    assert!(
        status.watch.overflows >= 1 && status.degraded.is_empty(),
        "{status:?}"
    );
    place.write("late", 6);
    daemon.assert_converged();
    assert!(daemon.status().fresh, "it hears again");
}

fn can_limit_instances(script: &str) -> bool {
    let tried = Command::new("unshare")
        .args(["-Ur", "sh", "-c", script, "sh", "true"])
        .status();
    if tried.is_ok_and(|status| status.success()) {
        return true;
    }
    skipped("the limit of inotify instances needs user namespaces (unshare -Ur)");
    false
}

#[test]
fn a_root_that_goes_and_comes_back_is_not_read_again() {
    let place = Place::new();
    for n in 0..20 {
        place.write(&format!("{n}"), n);
    }
    let made = Instant::now();
    let daemon = place.start();
    daemon.sync();
    let (before, read) = (daemon.dump(), daemon.status().index.files_read);
    let away = place.path("away");
    fs::rename(&place.root, &away).unwrap();
    daemon.sync();
    let status = daemon.status();
    assert_eq!(status.roots[0].state, RootState::Unavailable);
    assert_eq!(daemon.dump(), before, "its last answers stay");
    fs::rename(&away, &place.root).unwrap();
    daemon.assert_converged();
    let status = daemon.status();
    assert_eq!(status.roots[0].state, RootState::Live);
    assert!(
        status.index.files_read == read || made.elapsed() > UNSETTLED,
        "{status:?}"
    );
    place.write("late", 99);
    daemon.assert_converged();
}

#[test]
fn a_damaged_index_is_set_aside_and_built_anew() {
    let place = Place::new();
    place.write("a", 1);
    drop(place.start());
    fs::write(place.path("state/index.redb"), "this is no index").unwrap();
    let daemon = place.start();
    daemon.assert_converged();
    assert!(place.log().contains("set aside"), "{}", place.log());
}

/// While the index is rebuilt, each answer reports that it may be incomplete. This remains so after
/// a restart during the rebuild.
#[test]
fn an_index_that_is_built_anew_says_so_in_every_answer() {
    let place = Place::new();
    for n in 0..4000 {
        place.write(&format!("{}/{n}", n % 40), n);
    }
    place.write("z/one", 9999);
    place.write("z/other", 9999);
    let daemon = place.start();
    daemon.sync();
    let request = GroupsRequest {
        scope: Scope {
            within: vec![wire(&place.in_tree("z"))],
            ..Scope::default()
        },
        only: OnlyGroups::Identical,
        ..GroupsRequest::default()
    };
    let asked = |daemon: &Daemon<'_>| {
        let client = daemon.client();
        let answer = client.ask(request.clone(), &mut |_| {}).unwrap();
        let kinds = answer.errors.iter().map(|error| error.kind);
        let is_said = kinds.eq([SoftErrorKind::Rebuilding]);
        assert!(is_said || answer.errors.is_empty(), "{:?}", answer.errors);
        (answer.body.identical.len(), is_said)
    };
    assert_eq!(asked(&daemon), (1, false));
    drop(daemon);
    fs::write(place.path("state/index.redb"), "this is no index").unwrap();
    let daemon = place.start();
    let (first, is_said) = asked(&daemon);
    assert!(is_said || first == 1);
    daemon.kill();
    let daemon = place.start();
    let mut said = u32::from(is_said);
    loop {
        let (sets, is_said) = asked(&daemon);
        if !is_said {
            assert_eq!(sets, 1, "nothing is missing without a word");
            break;
        }
        said += 1;
    }
    assert!(said > 0);
    daemon.assert_converged();
}

/// Blocks of the index are damaged while the daemon is down. Whatever the damage, the answers are
/// right in the end, and no question fails for ever.
#[test]
fn an_index_with_rotten_blocks_is_set_aside_and_built_anew() {
    let place = Place::new();
    for n in 0..200 {
        place.write(&format!("d{}/{n}", n % 7), n);
    }
    let daemon = place.start();
    daemon.sync();
    let truth = daemon.dump();
    drop(daemon);
    let path = place.path("state/index.redb");
    let sound = fs::read(&path).unwrap();
    let blocks = sound.len() / 4096;
    let mut random = resemble_testutil::random::Random::new(5);
    for round in 0..8 {
        let mut rotten = sound.clone();
        for _ in 0..=round % 3 * 10 {
            let at = (3 + random.draw() as usize % (blocks - 3)) * 4096;
            rotten[at + random.draw() as usize % 4096] ^= 4;
        }
        if round % 4 == 3 {
            rotten.truncate(rotten.len() / 2 + 77);
        }
        fs::write(&path, rotten).unwrap();
        let daemon = place.start();
        daemon.sync();
        assert_eq!(daemon.dump(), truth, "{}", place.log());
        place.write("d1/late", 5000 + round);
        daemon.assert_converged();
        let status = daemon.status();
        assert!(status.fresh && status.degraded.is_empty(), "{status:?}");
        fs::remove_file(place.in_tree("d1/late")).unwrap();
        daemon.sync();
    }
}

/// The state folder is on a small disk that fills up. The index cannot grow, but old answers stay.
/// The daemon recovers as soon as there is space.
#[test]
fn a_full_disk_degrades_and_mends_itself() {
    let place = Place::new();
    let Some(disk) = tmpfs(place.path("state"), "4m") else {
        return;
    };
    for n in 0..10 {
        place.write(&format!("{n}"), n);
    }
    let daemon = place.start();
    daemon.assert_converged();
    let before = daemon.dump();
    // The disk is filled. Then files are written for which the index needs more space than is left.
    let filler = disk.path("filler");
    fill(&filler);
    for n in 0..2000 {
        place.write(&format!("more/{n}"), 5000 + n);
    }
    let status = status_when(&daemon, |status| !status.degraded.is_empty());
    let degraded = &status.degraded[0];
    assert!(
        degraded.reason.contains("space") || degraded.reason.contains("write"),
        "{degraded:?}"
    );
    assert!(
        daemon.dump().len() >= before.len(),
        "the old answers stay\n{}",
        place.log()
    );
    assert!(!daemon.status().fresh);
    fs::remove_file(filler).unwrap();
    disk.remount("size=64m");
    daemon.assert_converged();
    let status = daemon.status();
    assert!(status.degraded.is_empty(), "{status:?}");
}

/// The daemon must start even if other programs have used up the watches or the instances.
#[test]
fn without_watches_at_the_start_the_tree_is_polled_until_there_are_some() {
    // A user namespace has its own limits, so the test does not disturb other processes.
    let within = ["unshare", "--user", "--map-root-user"];
    let tried = Command::new(within[0])
        .args(&within[1..])
        .arg("true")
        .status();
    if !tried.is_ok_and(|status| status.success()) {
        return skipped("no user namespaces");
    }
    for limit in ["max_inotify_watches", "max_inotify_instances"] {
        let place = Place::new();
        place.write("before", 1);
        let script = format!("echo 0 > /proc/sys/user/{limit} && exec \"$0\" \"$@\"");
        let around = [&within[..], &["sh", "-c", &script]].concat();
        let daemon = place.start_in(&around, &["tree"]);
        daemon.assert_converged();
        let status = daemon.status();
        let of_events = &status.degraded[0];
        let remedy = of_events.remedy.as_deref().unwrap_or_default();
        let sysctl = limit
            .replace("inotify", "user")
            .replace("max_user", "fs.inotify.max_user");
        assert!(
            remedy.starts_with(&format!("sysctl {sysctl}=")),
            "{status:?}"
        );
        assert!(
            of_events.reason.contains("looked for now and then"),
            "{status:?}"
        );
        assert_eq!((status.watch.directories, status.fresh), (0, false));
        place.write("polled", 2);
        daemon.assert_converged();
        // The file was found by polling. Now the limit is raised, and the daemon gets watches.
        let pid = daemon.pid().as_raw_nonzero().to_string();
        let more = format!("echo 1000 > /proc/sys/user/{limit}");
        let raised = Command::new("nsenter")
            .args(["--user", "--preserve-credentials", "--target", &pid])
            .args(["sh", "-c", &more])
            .status();
        assert!(raised.unwrap().success());
        let status = status_when(&daemon, StatusAnswer::is_live);
        assert!(status.fresh && status.watch.directories >= 1, "{status:?}");
        place.write("watched", 3);
        daemon.assert_converged();
    }
}

/// A watch names its folder in one system call, which takes a path of less than 4,096 bytes.
#[test]
fn folders_whose_paths_are_too_long_for_a_watch_are_polled() {
    let place = Place::new();
    let flags = OFlags::PATH | OFlags::DIRECTORY;
    let name = "n".repeat(200);
    let mut folders = vec![open(&place.root, flags, Mode::empty()).unwrap()];
    for above in 0..25 {
        mkdirat(&folders[above], &name, Mode::RWXU).unwrap();
        folders.push(openat(&folders[above], &name, flags, Mode::empty()).unwrap());
    }
    let write = |seed: u32| {
        let flags = OFlags::CREATE | OFlags::TRUNC | OFlags::WRONLY;
        for (dir, seed) in folders.iter().zip(seed..) {
            let file = openat(dir, "file", flags, Mode::RUSR | Mode::WUSR).unwrap();
            File::from(file).write_all(text(seed).as_bytes()).unwrap();
        }
    };
    write(100);
    let daemon = place.start();
    daemon.assert_converged();
    let status = daemon.status();
    let polled = status.watch.polled as usize;
    assert_eq!(status.watch.directories as usize + polled, folders.len());
    assert!(polled > 0 && status.degraded.len() == 1, "{status:?}");
    write(200);
    daemon.assert_converged();
    for above in &folders {
        mkdirat(above, "made", Mode::RWXU).unwrap();
    }
    daemon.assert_converged();
}

/// 2,000 silent connections must not delay answers to others. 24 unfinished requests of 56 MiB must
/// not all be held in memory.
#[test]
fn unfinished_requests_take_neither_answers_nor_memory() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    use std::os::unix::net::UnixStream;
    let place = Place::new();
    place.write("a", 1);
    let daemon = place.start();
    daemon.sync();
    let descriptors = getrlimit(Resource::Nofile).maximum;
    let raised = Rlimit {
        current: descriptors,
        maximum: descriptors,
    };
    setrlimit(Resource::Nofile, raised).unwrap();
    let peak = || {
        let pid = daemon.pid().as_raw_nonzero();
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        let line = status
            .lines()
            .find(|line| line.starts_with("VmHWM:"))
            .unwrap();
        let kib: u64 = line.split_whitespace().nth(1).unwrap().parse().unwrap();
        kib >> 10
    };
    let connect = || UnixStream::connect(place.path("socket")).unwrap();
    let silent: Vec<UnixStream> = (0..2000).map(|_| connect()).collect();
    for _ in 0..10 {
        // The answer normally takes milliseconds, but the test requires only that the answer
        // arrives.
        assert!(place.connect().unwrap().status().unwrap().is_live());
    }
    let before = peak();
    let half = vec![b'x'; 8 << 20];
    let halves: Vec<UnixStream> = (0..24).map(|_| connect()).collect();
    for mut stream in &halves {
        let begun = stream.write_all(b"{\"request\":\"covers\",\"paths\":[\"");
        for _ in 0..7 {
            if begun.is_err() || stream.write_all(&half).is_err() {
                break;
            }
        }
        assert!(place.connect().unwrap().status().unwrap().is_live());
    }
    // The clients send 24 times 56 MiB. All requests together may take 128 MiB, and each buffer may
    // be twice as large as its content.
    let grown = peak() - before;
    assert!(grown < 400, "{grown} MiB");
    assert!(grown > 50, "{grown} MiB: nothing was sent");
    drop((silent, halves));
}
