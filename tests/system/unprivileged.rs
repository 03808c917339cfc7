use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use resemble_testutil::prose::{edited, prose};
use resemble_testutil::{Ran, Sandbox, fuse_works, skipped};

/// An ordinary user mounts the view through fusermount3. The test runs in its own mount namespace.
/// There, all users can open `/dev/fuse`, as on a desktop.
#[test]
fn an_ordinary_user_mounts_through_fusermount3() {
    if !fuse_works() {
        return;
    }
    if !rustix::process::geteuid().is_root()
        || Command::new("fusermount3").arg("-V").output().is_err()
    {
        skipped("it takes root (to become another user) and fusermount3");
        return;
    }
    let sandbox = Sandbox::new();
    let text = prose(1, 8_000);
    sandbox.write("a.txt", &text);
    sandbox.write("b.txt", edited(&text, 1, 2));
    let bin = sandbox.path("bin");
    fs::create_dir(&bin).expect("a folder");
    for name in ["resemble", "resembled"] {
        fs::copy(sandbox.program(name).get_program(), bin.join(name))
            .expect("a copy of the program");
    }
    let all = sandbox.path("");
    let chown = Command::new("chown")
        .args(["-R", "daemon:daemon"])
        .arg(&all)
        .status();
    assert!(chown.expect("chown").success());
    fs::set_permissions(&all, fs::Permissions::from_mode(0o755)).expect("chmod");
    let script = r#"
        set -eu
        dir=$1
        mknod "$dir/fuse" c 10 229
        chmod 666 "$dir/fuse"
        mount --bind "$dir/fuse" /dev/fuse
        user() { setpriv --reuid daemon --regid daemon --clear-groups "$@"; }
        setpriv --reuid daemon --regid daemon --clear-groups \
          "$dir/bin/resembled" --mount "$dir/Similar" "$dir/tree" >/dev/null 2>"$dir/daemon.log" &
        daemon=$!
        trap 'kill $daemon 2>/dev/null || true' EXIT
        tries=0
        until user "$dir/bin/resemble" sync --timeout 60 2>/dev/null; do
          kill -0 $daemon
          tries=$((tries + 1))
          [ $tries -lt 5000 ]
        done
        user "$dir/bin/resemble" status --format json
        findmnt -n -o FSTYPE,OPTIONS "$dir/Similar"
        user ls "$dir/Similar/a.txt/.similar"
        kill -TERM $daemon
        wait $daemon
        trap - EXIT
        [ ! -e "$dir/Similar" ]
        echo ended
    "#;
    let mut command = sandbox.foreign("unshare");
    command
        .args(["-m", "sh", "-c", script, "sh"])
        .arg(sandbox.path(""));
    let answer = Ran::from(command.output().expect("unshare runs"));
    let log = sandbox.log();
    assert_eq!(answer.code, 0, "{}\n{}\n{log}", answer.text(), answer.err);
    let out = answer.text();
    assert!(out.contains("%_b.txt"), "{out}\n{log}");
    assert!(
        out.contains("fuse.resemble") && out.contains("ro,"),
        "{out}"
    );
    assert!(
        out.trim_end().ends_with("ended"),
        "the mount is gone after SIGTERM: {out}"
    );
}
