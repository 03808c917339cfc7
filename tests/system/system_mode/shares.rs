//! Tests that each user can hold only a limited number of files open through the view, so that
//! other users can also open files.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use resemble_testutil::{pack, prose, random};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::json;

use super::{ROOT, SHARES, Server, USERS, User, VIEW, as_user, ask, disks_of};

/// A process of the first user that runs with one of the user's subordinate ids.
const SUBORDINATE: User = User {
    uid: 123_456,
    gid: 123_456,
    groups: &[],
};

/// Gives the first user a range of subordinate ids, in this mount namespace only.
fn subordinate_ids() {
    let copied = std::process::Command::new("cp")
        .args(["-a", "/etc", "/srv/etc"])
        .status();
    assert!(copied.expect("cp runs").success());
    let list = format!("{}:100000:65536\n", USERS[0].uid);
    fs::write("/srv/etc/subuid", list).expect("a list");
    rustix::mount::mount_bind("/srv/etc", "/etc").expect("a bind mount");
}

/// Opens a file again and again, at most `most` times, until the open fails. Returns the open
/// files, and the error if an open failed.
fn opened(user: User, path: &Path, most: usize) -> (Vec<File>, Option<i32>) {
    as_user(user, || {
        let mut all = Vec::new();
        while all.len() < most {
            match File::open(path) {
                Ok(file) => all.push(file),
                Err(error) => return (all, error.raw_os_error()),
            }
        }
        (all, None)
    })
}

const REFUSED: Option<i32> = Some(rustix::io::Errno::MFILE.raw_os_error());

#[test]
fn who_opens_until_it_is_refused_takes_no_opens_from_others() {
    const NAME: &str =
        "system_mode::shares::who_opens_until_it_is_refused_takes_no_opens_from_others";
    let Some(disks) = disks_of(NAME) else {
        return;
    };
    if !resemble_testutil::fuse_works() {
        return;
    }
    fs::write(Path::new(SHARES).join("a.txt"), "a file of all").expect("a file");
    subordinate_ids();
    // The daemon can have at most 256 descriptors. The limit of this process is raised again
    // afterwards.
    let limit = getrlimit(Resource::Nofile);
    let soft = |current| Rlimit { current, ..limit };
    setrlimit(Resource::Nofile, soft(Some(256))).expect("a limit");
    let server = Server::start(disks, &[]);
    setrlimit(Resource::Nofile, soft(limit.maximum)).expect("no limit");

    let file = Path::new(VIEW).join("a.txt/a.txt");
    let (held, refusal) = opened(USERS[0], &file, 1000);
    assert_eq!((held.len(), refusal), (32, REFUSED), "a quarter of half");
    let (none, refusal) = opened(SUBORDINATE, &file, 1000);
    assert_eq!(
        (none.len(), refusal),
        (0, REFUSED),
        "it is the same account"
    );
    assert_eq!(
        opened(USERS[0], Path::new(VIEW), 1000).1,
        REFUSED,
        "a folder"
    );
    let mut others = Vec::new();
    for user in &USERS[1..] {
        let (held, _) = opened(*user, &file, 10);
        assert_eq!(held.len(), 10, "{user:?}");
        others.extend(held);
    }
    for user in [USERS[0], USERS[1], ROOT] {
        let find = json!({"request": "find", "subject": {"file": "/srv/shares/a.txt"}});
        let answer = ask(user, &find);
        assert!(answer.failed.is_none(), "{user:?}: {answer:?}");
    }
    drop(held);
    assert_eq!(opened(SUBORDINATE, &file, 20).0.len(), 20);
    drop((others, server));
}

/// Returns the peak and the current size of the daemon's memory in bytes.
fn memory(server: &Server) -> [u64; 2] {
    let status = format!("/proc/{}/status", server.child.id());
    let status = fs::read_to_string(status).expect("a status");
    ["VmHWM:", "VmRSS:"].map(|field| {
        let line = status.lines().find_map(|line| line.strip_prefix(field));
        let number = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
        number.expect("a number") << 10
    })
}

#[test]
fn a_thousand_opens_of_one_member_are_one_in_memory() {
    const NAME: &str = "system_mode::shares::a_thousand_opens_of_one_member_are_one_in_memory";
    const SIZE: usize = 12 << 20;
    let Some(disks) = disks_of(NAME) else {
        return;
    };
    if !resemble_testutil::fuse_works() {
        return;
    }
    let limit = getrlimit(Resource::Nofile);
    let current = limit.maximum;
    setrlimit(Resource::Nofile, Rlimit { current, ..limit }).expect("no limit");
    let shares = Path::new(SHARES);
    let bytes = random::noise(11, SIZE);
    fs::write(shares.join("own.bin"), &bytes).expect("a file");
    fs::write(shares.join("packed.zip"), pack::zip(&[("own.bin", &bytes)])).expect("a file");
    let many = shares.join("many");
    fs::create_dir(&many).expect("a folder");
    // The listing of this folder is so large that the daemon keeps it in a file, and not in memory.
    for n in 0..2000 {
        let name = format!("a file with a name of usual length, number {n}");
        fs::write(many.join(name), prose::prose(n, 10)).expect("a file");
    }
    let server = Server::start(disks, &[]);
    let listing = Path::new(VIEW).join("own.bin/.similar");
    let member: Vec<PathBuf> = as_user(USERS[1], || {
        let entries = fs::read_dir(&listing).expect("a listing");
        entries
            .map(|entry| entry.expect("an entry").path())
            .collect()
    });
    let [member] = &member[..] else {
        panic!("the member: {member:?}");
    };
    // The member is extracted when it is opened for the first time.
    drop(opened(USERS[1], member, 1));
    let [before, _] = memory(&server);
    let mut held = Vec::new();
    for user in [USERS[0], USERS[1]] {
        let (files, refusal) = opened(user, member, 500);
        assert_eq!((files.len(), refusal), (500, None));
        held.extend(files);
    }
    let mut end = vec![0; 9000];
    held[999]
        .read_exact_at(&mut end, SIZE as u64 - 9000)
        .expect("its end");
    assert_eq!(end, bytes[SIZE - 9000..]);
    for user in [USERS[0], USERS[1]] {
        let (folders, refusal) = opened(user, &Path::new(VIEW).join("many"), 500);
        assert_eq!((folders.len(), refusal), (500, None));
        held.extend(folders);
    }
    let [peak, now] = memory(&server);
    let few = 4 * SIZE as u64;
    assert!(peak < before + few, "{before} {peak}");
    // A large member or listing is in a file without a name. Only the daemon has this file open.
    let fds = format!("/proc/{}/fd", server.child.id());
    let fds = fs::read_dir(fds).expect("descriptors");
    let targets = fds.filter_map(|fd| fs::read_link(fd.ok()?.path()).ok());
    let spilled = targets.filter(|to| to.starts_with("/srv/state") && is_deleted(to));
    assert_eq!(spilled.count(), 2, "the member and the listing; {now}");
    drop((held, server));
}

fn is_deleted(path: &Path) -> bool {
    path.to_string_lossy().ends_with("(deleted)")
}
