//! Tests the units of system mode with a systemd that is booted for the test in a container. The
//! container has the programs of this machine (`/usr`), but its own `/etc`, `/var`, processes and
//! network.
//!
//! Only a boot shows whether a unit works. A valid unit may forbid a system call or a capability
//! that its program needs.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use resemble_testutil::prose::prose;
use resemble_testutil::{
    Ran, Sandbox, fuse_works, in_mounts_of_its_own, is_installed, names, start_ready,
};
use rustix::process::{Pid, Signal};

use super::trees::written;
use super::{USERS, User, VIEW};

/// A preset that keeps the services of this machine disabled in the container.
const NOTHING: &str = "disable *\n";
/// System calls that are allowed on real machines, but not by default in containers.
const ALLOWED: &str = "landlock_create_ruleset landlock_add_rule landlock_restrict_self";

/// A machine in a container. It is switched off when this value is dropped.
struct Machine {
    container: Child,
    /// The process id, on this machine, of the container's first process.
    first: Pid,
    _files: Sandbox,
}

impl Machine {
    /// Boots the machine. If no systemd can boot here, prints that and returns `None`.
    fn boot() -> Option<Self> {
        let files = Sandbox::new();
        install(&files);
        let preset = files.path("preset");
        fs::create_dir(&preset).expect("a folder");
        fs::write(preset.join("00-none.preset"), NOTHING).expect("a file");
        let log = fs::File::create(files.path("boot.log")).expect("a log");
        let mut command = files.foreign("systemd-nspawn");
        command
            .args(["--register=no", "--keep-unit", "--notify-ready=yes"])
            .args(["--directory=/", "--volatile=yes", "--private-network"])
            .arg(format!("--machine=resemble-{}", std::process::id()))
            .arg(format!(
                "--overlay-ro=/usr:{}:/usr",
                files.path("usr").display()
            ))
            .arg(format!(
                "--bind-ro={}:/etc/systemd/system-preset",
                preset.display()
            ))
            .args(["--bind=/dev/fuse", "--system-call-filter", ALLOWED])
            .args(["--console=pipe", "--boot", "systemd.unit=basic.target"])
            .arg("systemd.firstboot=no")
            .env("SYSTEMD_NSPAWN_UNIFIED_HIERARCHY", "1")
            .stdout(log.try_clone().expect("a log"))
            .stderr(log);
        match start_ready(&mut command, &files.path("notify")) {
            Ok(container) => Some(Self {
                first: child_of(container.id()),
                container,
                _files: files,
            }),
            Err(status) => {
                // If the boot fails, the cause is this machine and not the units under test.
                let said = fs::read_to_string(files.path("boot.log")).unwrap_or_default();
                eprintln!(
                    "\n*** SKIPPED, NOT TESTED: no systemd boots here ({status}): {said} ***"
                );
                None
            }
        }
    }

    /// Returns the path on this machine that leads to a path in the container.
    fn path(&self, inside: &str) -> PathBuf {
        PathBuf::from(format!("/proc/{}/root{inside}", self.first))
    }

    fn run(&self, command: &[&str]) -> Ran {
        let mut enter = Command::new("nsenter");
        enter
            .args(["--all", "--target", &self.first.to_string(), "--"])
            .args(["env", "-i", "PATH=/usr/sbin:/usr/bin", "HOME=/root"])
            .args(["LC_ALL=C.UTF-8"])
            .args(command)
            .stdin(Stdio::null());
        enter.output().expect("nsenter runs").into()
    }

    fn run_as(&self, user: User, command: &[&str]) -> Ran {
        let (uid, gid) = (user.uid.to_string(), user.gid.to_string());
        let become_user = [
            "setpriv",
            "--reuid",
            &uid,
            "--regid",
            &gid,
            "--clear-groups",
        ];
        self.run(&[&become_user[..], command].concat())
    }

    fn systemctl(&self, arguments: &[&str]) {
        let ran = self.run(&[&["systemctl"], arguments].concat());
        assert!(ran.code == 0, "{arguments:?}: {ran:?}\n{}", self.journal());
    }

    /// Returns the messages of the units.
    fn journal(&self) -> String {
        let ran = self.run(&["journalctl", "--boot", "--no-pager", "--unit=resemble*"]);
        ran.text()
    }

    fn has_view(&self) -> bool {
        let mounts = fs::read_to_string(self.path("/proc/1/mountinfo")).expect("mounts");
        mounts.contains(VIEW)
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        // When the first process of the container ends, the kernel ends all its other processes.
        let _off = rustix::process::kill_process(self.first, Signal::KILL);
        drop(self.container.wait());
    }
}

/// Installs the programs and units below `usr`, like the package.
fn install(files: &Sandbox) {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let usr = files.path("usr");
    let put = |from: &Path, folder: &str| {
        let folder = usr.join(folder);
        fs::create_dir_all(&folder).expect("folders");
        let to = folder.join(from.file_name().expect("a name"));
        fs::copy(from, to).expect("a copy");
    };
    for program in ["resemble", "resembled"] {
        put(Path::new(files.program(program).get_program()), "bin");
    }
    for unit in names(workspace.join("systemd")) {
        let name = unit.to_string_lossy();
        let of_system = [
            "resembled-system",
            "resemble-checker",
            "resemble-mount",
            "resemble-starter",
        ];
        let is_for_all = of_system.iter().any(|begin| name.starts_with(begin));
        if is_for_all {
            put(&workspace.join("systemd").join(&unit), "lib/systemd/system");
        }
    }
    put(
        &workspace.join("systemd/sysusers.d/resemble.conf"),
        "lib/sysusers.d",
    );
    put(
        &workspace.join("systemd/tmpfiles.d/resemble.conf"),
        "lib/tmpfiles.d",
    );
}

fn child_of(process: u32) -> Pid {
    let children = fs::read_to_string(format!("/proc/{process}/task/{process}/children"));
    let children = children.expect("a list of processes");
    let first = children.split_whitespace().next().expect("a child");
    Pid::from_raw(first.parse().expect("a number")).expect("a process")
}

/// Follows docs/system-mode.md, "Installing".
#[test]
fn the_units_serve_all_users_of_a_machine() {
    const NAME: &str = "system_mode::units::the_units_serve_all_users_of_a_machine";
    if in_mounts_of_its_own(NAME) || !is_installed("systemd-nspawn") || !fuse_works() {
        return;
    }
    let Some(machine) = Machine::boot() else {
        return;
    };
    let (one, another) = (USERS[0], USERS[1]);
    let team = machine.path("/srv/team");
    fs::create_dir(&team).expect("a folder");
    fs::set_permissions(&team, Permissions::from_mode(0o755)).expect("for all");
    for (name, owner, mode) in [
        ("all.txt", 0, 0o644),
        ("copy.txt", 0, 0o644),
        ("minutes.docx", 0, 0o644),
        ("own.txt", one.uid, 0o600),
    ] {
        let path = team.join(name);
        let ending = name.rsplit('.').next().expect("an ending");
        fs::write(&path, written(&prose(7, 9_000), ending)).expect("a file");
        chown(&path, Some(owner), None).expect("chown");
        fs::set_permissions(&path, Permissions::from_mode(mode)).expect("chmod");
    }
    machine.run(&["systemd-sysusers"]).success();
    let folders = ["systemd-tmpfiles", "--create", "resemble.conf"];
    machine.run(&folders).success();
    let config = "[[root]]\npath = \"/srv/team\"\n";
    fs::write(machine.path("/etc/resemble/system.toml"), config).expect("a file");
    let units = [
        "resemble-checker.socket",
        "resemble-mount.socket",
        "resemble-starter.socket",
        "resembled-system",
    ];
    machine.systemctl(&[&["enable", "--now"], &units[..]].concat());

    let answers = || {
        machine.run(&["resemble", "sync"]).success();
        let view = format!("{VIEW}/all.txt/.similar");
        for (user, own) in [(one, true), (another, false)] {
            let found = machine.run_as(user, &["resemble", "find", "/srv/team/all.txt"]);
            let listed = machine.run_as(user, &["ls", &view]);
            for said in [found.success().text(), listed.success().text()] {
                for name in ["copy.txt", "minutes.docx"] {
                    assert!(
                        said.contains(name),
                        "{user:?}: {said}\n{}",
                        machine.journal()
                    );
                }
                assert_eq!(said.contains("own.txt"), own, "{user:?}: {said}");
            }
        }
    };
    answers();

    // The main process has one capability, which lets it read every file.
    let main = [
        "systemctl",
        "show",
        "--property=MainPID",
        "--value",
        "resembled-system",
    ];
    let main = machine.run(&main).success().text();
    let status = machine.path(&format!("/proc/{}/status", main.trim()));
    let status = fs::read_to_string(status).expect("a process");
    for line in [
        "CapPrm:\t0000000000000004",
        "CapBnd:\t0000000000000004",
        "CapAmb:\t0000000000000000",
        "NoNewPrivs:\t1",
        "Seccomp:\t2",
    ] {
        assert!(status.contains(line), "{line}: {status}");
    }

    // However the daemon ends, the view is unmounted. The next daemon mounts the view again.
    for kill in [false, true] {
        assert!(machine.has_view());
        if kill {
            machine.systemctl(&[
                "kill",
                "--kill-who=main",
                "--signal=KILL",
                "resembled-system",
            ]);
        }
        machine.systemctl(&["stop", "resembled-system"]);
        assert!(!machine.has_view(), "{}", machine.journal());
        machine.systemctl(&["start", "resembled-system"]);
        answers();
    }
    // By default, the unit hides home folders, so a root in a home folder is refused with a reason.
    // An override of the unit makes home folders visible.
    fs::create_dir(machine.path("/home/shared")).expect("a folder");
    for root in ["/home/shared", "/"] {
        let config = format!("[[root]]\npath = \"{root}\"\n");
        fs::write(machine.path("/etc/resemble/system.toml"), config).expect("a file");
        let refused = machine.run(&["systemctl", "restart", "resembled-system"]);
        assert_ne!(refused.code, 0, "{root} is watched");
        let journal = machine.journal();
        let last = journal.lines().rfind(|line| line.contains("cannot watch"));
        let last = last.expect("a reason");
        assert!(last.contains("ProtectHome=read-only"), "{root}: {last}");
    }
    let config = "[[root]]\npath = \"/home/shared\"\n";
    fs::write(machine.path("/etc/resemble/system.toml"), config).expect("a file");
    let edited = machine.path("/etc/systemd/system/resembled-system.service.d");
    fs::create_dir_all(&edited).expect("a folder");
    let shows = "[Service]\nProtectHome=read-only\n";
    fs::write(edited.join("override.conf"), shows).expect("a file");
    machine.systemctl(&["daemon-reload"]);
    machine.systemctl(&["reset-failed", "resembled-system"]);
    machine.systemctl(&["start", "resembled-system"]);
    machine.run(&["resemble", "sync"]).success();
    let status = machine
        .run_as(one, &["resemble", "status"])
        .success()
        .text();
    assert!(status.contains("/home/shared"), "{status}");
}
