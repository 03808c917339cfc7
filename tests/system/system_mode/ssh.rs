//! Tests Debian's ssh. Two users of a server ask questions from another machine. Each user sees
//! only the files that they can open.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use resemble_testutil::prose::edited;
use resemble_testutil::{Ran, Sandbox};

use super::{
    Ended, SHARES, Server, accounts, disks, in_mounts_of_its_own, shared_files, until_let_in,
};

/// The configuration of the server. The kernel takes the ports of outgoing connections from a
/// higher range, so no connection can occupy port 4422.
const SERVER: &str = "
Port 4422
ListenAddress 127.0.0.1
HostKey /srv/ssh/host
AuthorizedKeysFile /srv/ssh/keys/%u
PidFile none
UsePAM no
StrictModes no
PasswordAuthentication no
SetEnv PATH=/srv:/usr/bin:/bin
";

/// The ssh configuration that an administrator makes for all users of the other machine.
const CLIENT: &str = "
Host one two
HostName 127.0.0.1
Port 4422
IdentityFile /srv/ssh/%n
IdentitiesOnly yes
BatchMode yes
StrictHostKeyChecking accept-new
UserKnownHostsFile /srv/ssh/known
LogLevel ERROR
Host one
User share-one
Host two
User share-two
";

fn is_here() -> bool {
    let programs = ["/usr/sbin/sshd", "/usr/bin/ssh", "/usr/bin/ssh-keygen"];
    let here = programs.iter().all(|program| Path::new(program).exists());
    if !here {
        let wanted = std::env::var_os("RESEMBLE_REQUIRE_SSH").is_some();
        assert!(
            !wanted,
            "openssh-server and openssh-client are not installed"
        );
        eprintln!("\n*** SKIPPED, NOT TESTED: no openssh-server ***\n");
    }
    here
}

fn command(program: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(program);
    command
        .args(arguments)
        .env_clear()
        .env("PATH", "/srv:/usr/bin:/bin")
        .env("HOME", "/srv")
        .current_dir("/")
        .stdin(Stdio::null());
    command
}

fn run(program: &str, arguments: &[&str]) -> Ran {
    let output = command(program, arguments).output();
    output.expect("it runs").into()
}

/// Writes keys, configurations and accounts. The key of the user `one` allows only
/// `resemble relay`.
fn prepared() {
    fs::create_dir_all("/srv/ssh/keys").expect("folders");
    fs::create_dir_all("/run/sshd").expect("a folder");
    for key in ["host", "one", "two"] {
        let file = format!("/srv/ssh/{key}");
        run(
            "ssh-keygen",
            &["-q", "-t", "ed25519", "-N", "", "-f", &file],
        )
        .success();
    }
    let public = |user: &str| fs::read_to_string(format!("/srv/ssh/{user}.pub")).expect("a key");
    let only = format!("restrict,command=\"resemble relay\" {}", public("one"));
    fs::write("/srv/ssh/keys/share-one", only).expect("a file");
    fs::write("/srv/ssh/keys/share-two", public("two")).expect("a file");
    fs::write("/srv/ssh/sshd_config", SERVER).expect("a file");
    fs::write("/srv/ssh/ssh_config", CLIENT).expect("a file");
    rustix::mount::mount_bind("/srv/ssh/ssh_config", "/etc/ssh/ssh_config").expect("a bind mount");
    accounts(Path::new("/srv/ssh"));
}

/// Returns the names of the files in an answer of `find --format tsv`. The first column may also be
/// a path, so the last path of each line is taken.
fn found(ran: &Ran) -> Vec<String> {
    let text = ran.text();
    let paths = text.lines().filter_map(|line| {
        let path = line.split('\t').rfind(|field| field.starts_with(SHARES))?;
        path.strip_prefix(SHARES)?
            .strip_prefix('/')
            .map(str::to_owned)
    });
    let mut names: Vec<String> = paths.collect();
    names.sort();
    names
}

#[test]
fn two_users_of_ssh_see_each_his_own() {
    const NAME: &str = "system_mode::ssh::two_users_of_ssh_see_each_his_own";
    if in_mounts_of_its_own(NAME) || !is_here() {
        return;
    }
    let disks = disks();
    let text = shared_files();
    let program = Sandbox::new().program("resemble");
    fs::copy(program.get_program(), "/srv/resemble").expect("a copy");
    fs::write("/srv/mine.txt", edited(&text, 3, 2)).expect("a file");
    let server = Server::start(disks, &["--no-mount"]);
    prepared();
    let log = fs::File::create("/srv/ssh/log").expect("a log");
    let mut sshd = Command::new("/usr/sbin/sshd");
    sshd.args(["-D", "-e", "-f", "/srv/ssh/sshd_config"]);
    let sshd = sshd.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
    let sshd = Ended(sshd.spawn().expect("sshd starts"));
    until_let_in(|| run("ssh", &["two", "true"]), "/srv/ssh/log");
    let ask = |host: &str, file: &str| {
        let words = ["find", file, "--socket", host, "--format", "tsv"];
        run("/srv/resemble", &words)
    };
    // The subject is a file of this machine, so only a digest of it is sent to the server.
    let of_one = ask("ssh://one", "/srv/mine.txt").success();
    assert_eq!(found(&of_one), ["all.txt", "one.txt"], "{of_one:?}");
    let of_two = ask("ssh://two", "/srv/mine.txt").success();
    assert_eq!(found(&of_two), ["all.txt", "team.txt", "two.txt"]);
    // The subject is a file of the server, and the command runs on the server. In this way, clients
    // of a network file system can ask about files of the server.
    let words = ["two", "resemble find /srv/shares/all.txt --format tsv"];
    let there = run("ssh", &words).success();
    let names = found(&there);
    assert!(names.contains(&"team.txt".to_owned()) && names.contains(&"two.txt".to_owned()));
    assert!(!names.contains(&"one.txt".to_owned()), "{there:?}");
    // The key of `one` allows only questions. So another command prints only the greeting of the
    // daemon. The connection stays open until its input ends.
    let mut other = command("ssh", &["one", "cat /etc/passwd"]);
    other.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut other = other.spawn().expect("ssh runs");
    let asking = other.stdin.take();
    let mut lines = BufReader::new(other.stdout.take().expect("an output")).lines();
    let greeting = lines.next().expect("a greeting").expect("a line");
    assert!(greeting.contains("\"resemble\":1"), "{greeting}");
    drop(asking);
    let rest: Vec<String> = lines.map_while(Result::ok).collect();
    assert!(!rest.iter().any(|line| line.contains("root:")), "{rest:?}");
    other.wait().expect("it ends");
    drop(sshd);
    drop(server);
}
