//! Tests Debian's Samba with a share of the view. Each of two users sees only the files that they
//! can open.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use resemble_testutil::{Ran, finish};

use super::{
    Ended, Server, VIEW, accounts, disks, in_mounts_of_its_own, shared_files, until_let_in,
};

/// The configuration of docs/file-servers.md, with other folders and another port. The kernel does
/// not give this port to clients. Otherwise, a client might get the port and connect to itself, and
/// the server could not listen.
const CONFIGURATION: &str = "
[global]
server role = standalone server
map to guest = never
passdb backend = tdbsam:/srv/smb/passdb.tdb
private dir = /srv/smb
lock directory = /srv/smb
state directory = /srv/smb
cache directory = /srv/smb
pid directory = /srv/smb
ncalrpc dir = /srv/smb/ncalrpc
smb ports = 4450
interfaces = lo
bind interfaces only = yes
load printers = no
disable spoolss = yes
log file = /srv/smb/log
unix extensions = no
[similar]
path = /run/resemble-view
read only = yes
guest ok = no
wide links = yes
hide dot files = no
";

/// Returns whether Samba is installed. Samba is large. So the test is skipped if Samba is missing,
/// unless `RESEMBLE_REQUIRE_SAMBA` is set.
fn is_here() -> bool {
    let is_there = |path: &str| Path::new(path).exists();
    let here = is_there("/usr/sbin/smbd")
        && is_there("/usr/bin/smbclient")
        && is_there("/usr/lib/x86_64-linux-gnu/samba/vfs/widelinks.so");
    if !here {
        let wanted = std::env::var_os("RESEMBLE_REQUIRE_SAMBA").is_some();
        assert!(
            !wanted,
            "samba, smbclient and samba-vfs-modules are not installed"
        );
        eprintln!("\n*** SKIPPED, NOT TESTED: no samba, smbclient, samba-vfs-modules ***\n");
    }
    here
}

/// Adds the users to Samba.
fn users() {
    accounts(Path::new("/srv/smb"));
    for name in ["share-one", "share-two"] {
        let mut add = Command::new("smbpasswd");
        add.args(["-c", "/srv/smb/smb.conf", "-s", "-a", name]);
        finish(&mut add, b"secret\nsecret\n").success();
    }
}

/// Runs `smbclient` as a user.
fn client(user: &str, command: &str) -> Ran {
    let mut client = Command::new("smbclient");
    client.args([
        "-s",
        "/srv/smb/smb.conf",
        "-p",
        "4450",
        "-U",
        &format!("{user}%secret"),
    ]);
    client.args(["//127.0.0.1/similar", "-c", command]);
    client.stdin(Stdio::null());
    client.output().expect("smbclient runs").into()
}

/// Returns the names in a folder of the share.
fn listed(user: &str, folder: &str) -> Vec<String> {
    let ran = client(user, &format!("ls \"{folder}/*\""));
    let text = ran.text();
    let lines = text.lines().filter(|line| line.starts_with("  "));
    let names = lines.filter_map(|line| line.split_whitespace().next());
    let mut names: Vec<String> = names
        .filter(|name| ![".", ".."].contains(name) && !name.chars().all(|c| c.is_ascii_digit()))
        .map(str::to_owned)
        .collect();
    names.sort();
    names
}

#[test]
fn two_users_of_a_share_see_each_his_own() {
    const NAME: &str = "system_mode::samba::two_users_of_a_share_see_each_his_own";
    if in_mounts_of_its_own(NAME) || !is_here() || !resemble_testutil::fuse_works() {
        return;
    }
    let disks = disks();
    fs::create_dir_all("/srv/smb/ncalrpc").expect("a folder");
    fs::write("/srv/smb/smb.conf", CONFIGURATION).expect("a configuration");
    let text = shared_files();
    let server = Server::start(disks, &[]);
    users();
    let mut smbd = Command::new("smbd");
    smbd.args(["-F", "--no-process-group", "-s", "/srv/smb/smb.conf"]);
    let smbd = smbd
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let samba = Ended(smbd.spawn().expect("smbd starts"));
    until_let_in(|| client("share-one", "ls"), "/srv/smb/log");
    assert_eq!(listed("share-one", ""), ["all.txt", "one.txt"]);
    assert_eq!(listed("share-two", ""), ["all.txt", "team.txt", "two.txt"]);
    assert_eq!(listed("share-one", "all.txt/.similar"), ["100%_one.txt"]);
    let of_two = ["100%_team.txt", "100%_two.txt"];
    assert_eq!(listed("share-two", "all.txt/.similar"), of_two);
    assert_eq!(listed("share-one", "two.txt/.similar"), [""; 0]);
    // A link to a similar file can be followed by users who may read that file.
    let get = |user, file: &str| client(user, &format!("get \"{file}\" /srv/smb/got"));
    get("share-two", "all.txt/.similar/100%_team.txt").success();
    assert_eq!(fs::read("/srv/smb/got").expect("it came"), text);
    for hidden in [
        "all.txt/.similar/100%_team.txt",
        "team.txt/team.txt",
        "two.txt/two.txt",
    ] {
        assert_ne!(get("share-one", hidden).code, 0, "{hidden}");
    }
    assert_ne!(client("share-one", "put /etc/hostname new.txt").code, 0);
    assert!(!Path::new(VIEW).join("new.txt").exists());
    drop(samba);
    drop(server);
}
