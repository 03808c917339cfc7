//! Tests system mode. Users are threads here. On Linux, each thread has its own user ids, so a
//! thread can become a user in microseconds. It then opens files, connects to sockets and reads the
//! view as that user.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::net::{UnixDatagram, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use resemble_testutil::prose::prose;
use resemble_testutil::{Mounted, PATIENCE, Ran, Sandbox, in_mounts_of_its_own};
use rustix::mount::MountFlags;
use rustix::process::{Gid, Pid, Signal, Uid};
use rustix::thread::{set_thread_groups, set_thread_res_gid, set_thread_res_uid};
use serde_json::{Value, json};

mod fences;
mod nothing_leaks;
mod oracle;
mod requests;
mod samba;
mod shares;
mod ssh;
mod swaps;
mod timing;
mod trees;
mod units;

/// The ids of a user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct User {
    uid: u32,
    gid: u32,
    groups: &'static [u32],
}

/// The group whose members are allowed to control the daemon.
const CONTROL_GROUP: u32 = 6900;

/// The user and the group of the daemon.
const DAEMON: (u32, u32) = (4242, 4243);

/// Four users. Some of them have groups in common.
const USERS: [User; 4] = [
    User {
        uid: 4001,
        gid: 5001,
        groups: &[],
    },
    User {
        uid: 4002,
        gid: 5002,
        groups: &[6001],
    },
    User {
        uid: 4003,
        gid: 5001,
        groups: &[6002],
    },
    User {
        uid: 4004,
        gid: 5004,
        groups: &[6001, 6002],
    },
];

const ROOT: User = User {
    uid: 0,
    gid: 0,
    groups: &[],
};

/// Runs `work` as a user.
fn as_user<T: Send>(user: User, work: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            let groups: Vec<Gid> = user.groups.iter().map(|&gid| Gid::from_raw(gid)).collect();
            let (uid, gid) = (Uid::from_raw(user.uid), Gid::from_raw(user.gid));
            set_thread_groups(&groups).expect("groups");
            set_thread_res_gid(gid, gid, gid).expect("a group");
            set_thread_res_uid(uid, uid, uid).expect("a user");
            work()
        });
        thread.join().expect("the user's work is done")
    })
}

/// Mounts a file system in memory that all users can enter.
fn open_disk(at: &str) -> Mounted {
    let options = c"mode=0755,size=512m";
    rustix::mount::mount("tmpfs", at, "tmpfs", MountFlags::empty(), options).expect("a disk");
    Mounted(at.into())
}

/// A running daemon of system mode for the tree `/srv/shares`, in a mount namespace of the test.
struct Server {
    child: Child,
    _disks: [Mounted; 2],
}

/// The watched tree.
const SHARES: &str = "/srv/shares";
const SOCKET: &str = "/run/resemble/socket";
const VIEW: &str = "/run/resemble-view";

/// Returns the empty disks of a file server.
fn disks() -> [Mounted; 2] {
    let disks = [open_disk("/srv"), open_disk("/run")];
    fs::create_dir(SHARES).expect("a folder");
    disks
}

/// Returns [`disks`] for the test `name`, in a mount namespace of its own. Returns `None` if the
/// test has already run there in another process, or cannot run.
fn disks_of(name: &str) -> Option<[Mounted; 2]> {
    (!in_mounts_of_its_own(name)).then(disks)
}

/// Adds the users `share-one` and `share-two` to the lists of users and groups. The new lists are
/// in `folder`. They are mounted over the old lists in this mount namespace only.
fn accounts(folder: &Path) {
    let [one, another] = [USERS[0], USERS[1]];
    let lists = [
        (
            "/etc/passwd",
            format!(
                "share-one:x:{}:{}::/:/bin/sh\nshare-two:x:{}:{}::/:/bin/sh\n",
                one.uid, one.gid, another.uid, another.gid
            ),
        ),
        (
            "/etc/group",
            format!(
                "one:x:{}:\ntwo:x:{}:\nteam:x:6001:share-two\n",
                one.gid, another.gid
            ),
        ),
    ];
    for (list, more) in lists {
        let copy = folder.join(Path::new(list).file_name().expect("a name"));
        let all = fs::read_to_string(list).expect("a list") + &more;
        fs::write(&copy, all).expect("a copy");
        rustix::mount::mount_bind(&copy, list).expect("a bind mount");
    }
}

/// Makes four equal files in the shared folder. One can be read by all users, two by one user each,
/// and one by a group of the second user. Returns their content.
fn shared_files() -> Vec<u8> {
    let text = prose(5, 9_000);
    let files = [
        ("all.txt", 0, 0, 0o644),
        ("one.txt", USERS[0].uid, 0, 0o600),
        ("two.txt", USERS[1].uid, 0, 0o600),
        ("team.txt", 0, 6001, 0o640),
    ];
    for (name, owner, group, mode) in files {
        let path = Path::new(SHARES).join(name);
        fs::write(&path, &text).expect("a file");
        chown(&path, Some(owner), Some(group)).expect("chown");
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("chmod");
    }
    text
}

/// A server of another program. It is killed when this value is dropped.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// Repeats a question to a server that was just started, until the server answers.
fn until_let_in(ask: impl Fn() -> Ran, log: &str) {
    let began = Instant::now();
    loop {
        let ran = ask();
        if ran.code == 0 {
            return;
        }
        assert!(
            began.elapsed() < PATIENCE,
            "nobody is let in: {ran:?}\n{}",
            fs::read_to_string(log).unwrap_or_default()
        );
    }
}

impl Server {
    /// Starts the daemon as root and waits until it is ready and all files are indexed.
    fn start(disks: [Mounted; 2], arguments: &[&str]) -> Self {
        let address = Path::new("/run/notify");
        drop(fs::remove_file(address));
        let notify = UnixDatagram::bind(address).expect("a notification socket");
        fs::set_permissions(address, fs::Permissions::from_mode(0o777)).expect("for all");
        notify
            .set_read_timeout(Some(Duration::from_millis(50)))
            .expect("a timeout");
        let mut command = Self::command(arguments);
        let mut child = command
            .env("NOTIFY_SOCKET", address)
            .spawn()
            .expect("it starts");
        let began = Instant::now();
        let mut message = [0; 4096];
        loop {
            let heard = notify.recv(&mut message).map(|length| &message[..length]);
            if heard.is_ok_and(|heard| {
                heard
                    .split(|byte| *byte == b'\n')
                    .any(|it| it == b"READY=1")
            }) {
                break;
            }
            let ended = child.try_wait().expect("a child");
            assert!(ended.is_none(), "resembled ended: {ended:?}");
            assert!(
                began.elapsed() < PATIENCE,
                "resembled does not become ready"
            );
        }
        let server = Self {
            child,
            _disks: disks,
        };
        Self::sync();
        server
    }

    /// Returns a command for `resembled --system` with the state folder of the test.
    fn command(arguments: &[&str]) -> Command {
        let mut command = Sandbox::new().program("resembled");
        let user = format!("{}:{}", DAEMON.0, DAEMON.1);
        command
            .env_clear()
            .args(["--system", "--state", "/srv/state", "--user", &user])
            .args(["--control-group", &CONTROL_GROUP.to_string()])
            .args(arguments)
            .arg(SHARES)
            .current_dir("/")
            .stdin(Stdio::null());
        command
    }

    fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    /// Waits until all changes are in the index.
    fn sync() {
        let answer = ask(ROOT, &json!({"request": "sync", "timeout_ms": 100_000}));
        assert!(answer.failed.is_none(), "{answer:?}");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ended = rustix::process::kill_process(self.pid(), Signal::TERM);
        let ended = self.child.wait();
        if !std::thread::panicking() {
            assert!(ended.expect("it ends").success(), "resembled ends well");
        }
    }
}

/// An answer of the daemon: its unchanged lines, and the rows and the failure that were parsed from
/// them.
#[derive(Debug, Default, PartialEq)]
struct Answer {
    lines: Vec<String>,
    rows: Vec<Value>,
    failed: Option<Value>,
}

impl Answer {
    fn of(lines: Vec<String>) -> Self {
        let mut answer = Self::default();
        for line in &lines {
            let mut line: Value = serde_json::from_str(line).expect("JSON");
            if let Some(row) = line.get_mut("row") {
                answer.rows.push(row.take());
            } else if let Some(failed) = line.get_mut("failed") {
                answer.failed = Some(failed.take());
            }
        }
        answer.lines = lines;
        answer
    }

    /// Returns the kind of the failure.
    fn kind(&self) -> &str {
        let failed = self.failed.as_ref();
        failed.map_or("", |failed| failed["kind"].as_str().unwrap_or("?"))
    }

    /// Returns the paths of the rows.
    fn paths(&self) -> Vec<&Path> {
        let rows = self.rows.iter();
        rows.map(|row| Path::new(row["path"].as_str().expect("a row with a path")))
            .collect()
    }
}

/// Sends a request as the user of this thread, and returns the daemon's answer.
fn ask_here(request: &Value) -> Answer {
    let stream = UnixStream::connect(SOCKET).expect("the daemon answers everybody");
    stream
        .set_read_timeout(Some(PATIENCE))
        .expect("a time limit");
    let mut lines = BufReader::new(&stream).lines();
    let hello = lines.next().expect("a greeting").expect("a line");
    assert!(hello.contains("\"resemble\":"), "{hello}");
    (&stream)
        .write_all(format!("{request}\n").as_bytes())
        .expect("it listens");
    Answer::of(lines.map(|line| line.expect("a line")).collect())
}

/// Sends a request as a given user, and returns the daemon's answer.
fn ask(user: User, request: &Value) -> Answer {
    as_user(user, || ask_here(request))
}

/// Returns whether the user of this thread can open a file.
fn opens(path: &Path) -> bool {
    fs::File::open(path).is_ok()
}

/// Returns all files of a tree, as root sees them.
fn files(tree: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![tree.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder") {
            let entry = entry.expect("an entry");
            if entry.file_type().expect("a type").is_dir() {
                folders.push(entry.path());
            } else {
                found.push(entry.path());
            }
        }
    }
    found.sort();
    found
}

/// Runs `resemble` as a user.
fn resemble(user: User, arguments: &[&str]) -> Ran {
    resemble_at_home(user, Path::new("/srv/nobody's home"), arguments)
}

/// Runs `resemble` as a user with a home folder.
fn resemble_at_home(user: User, home: &Path, arguments: &[&str]) -> Ran {
    let mut command = Command::new("setpriv");
    let groups = user
        .groups
        .iter()
        .map(u32::to_string)
        .collect::<Vec<_>>()
        .join(",");
    let (uid, gid) = (user.uid.to_string(), user.gid.to_string());
    command.args(["--reuid", &uid, "--regid", &gid]);
    if groups.is_empty() {
        command.arg("--clear-groups");
    } else {
        command.args(["--groups", &groups]);
    }
    // The program is copied to a place where every user may run it.
    let program = Path::new("/srv/resemble");
    if !program.exists() {
        fs::copy(Sandbox::new().program("resemble").get_program(), program).expect("a copy");
    }
    command.arg(program).args(arguments);
    let output = command
        .env_clear()
        .env("HOME", home)
        .current_dir("/")
        .stdin(Stdio::null())
        .output();
    output.expect("setpriv runs").into()
}
