use std::fs;
use std::io::Write;

use resemble_testutil::prose::{edited, prose};
use resemble_testutil::{Daemon, Sandbox, fuse_works, names};

/// A watched and mounted tree with a text and an edited version of it.
struct Scene {
    sandbox: Sandbox,
    text: Vec<u8>,
}

impl Scene {
    fn new() -> Option<Self> {
        if !fuse_works() {
            return None;
        }
        let (sandbox, text) = (Sandbox::new(), prose(5, 10_000));
        sandbox.write("a.txt", &text);
        sandbox.write("sub/b.txt", edited(&text, 1, 2));
        sandbox.write("other.txt", prose(6, 8_000));
        Some(Self { sandbox, text })
    }

    fn start(&self) -> Daemon<'_> {
        let daemon = self.sandbox.mounted([""; 0]);
        daemon.sync();
        daemon
    }

    /// Returns the names of the similar files in `FILE/.similar`, without the percentages.
    fn similar(&self, file: &str) -> Vec<String> {
        let folder = self.sandbox.mount(file).join(".similar");
        let shown = names(folder)
            .into_iter()
            .map(|n| n.to_string_lossy().into_owned());
        shown
            .filter_map(|n| n.split_once("%_").map(|(_, name)| name.to_owned()))
            .collect()
    }
}

#[test]
fn a_save_by_temp_file_and_rename() {
    let Some(scene) = Scene::new() else { return };
    let daemon = scene.start();
    let tree = |name| scene.sandbox.tree(name);
    // Saves as vim does with a backup: renames the old file, writes the new file under the old
    // name, and removes the old file.
    fs::write(tree(".a.txt.swp"), b"swap").expect("swap file");
    fs::rename(tree("a.txt"), tree("a.txt~")).expect("backup");
    fs::write(tree("a.txt"), prose(77, 9_000)).expect("new text");
    fs::remove_file(tree("a.txt~")).expect("backup goes");
    fs::remove_file(tree(".a.txt.swp")).expect("swap goes");
    daemon.sync();
    assert!(scene.similar("a.txt").is_empty(), "another text now");
    // Saves as most editors do: writes a temporary file, then renames it over the old file.
    fs::write(tree("a.txt.tmp"), edited(&scene.text, 9, 4)).expect("new text");
    fs::rename(tree("a.txt.tmp"), tree("a.txt")).expect("over");
    daemon.sync();
    assert_eq!(scene.similar("a.txt"), ["b.txt"]);
    daemon.assert_true();
}

#[test]
fn append_and_truncate() {
    let Some(scene) = Scene::new() else { return };
    let daemon = scene.start();
    let path = scene.sandbox.tree("a.txt");
    let mut file = fs::OpenOptions::new()
        .append(true)
        .open(&path)
        .expect("open");
    file.write_all(&prose(8, 500_000)).expect("append");
    daemon.sync();
    // Now `a.txt` has 510 kB, and 10 kB of it are the text of `b.txt`. So the share of `a.txt` that
    // is in `b.txt` is small.
    let shown = names(scene.sandbox.mount("a.txt/.similar"));
    let entry = shown
        .iter()
        .find(|n| n.to_string_lossy().ends_with("_b.txt"))
        .expect("b");
    assert!(
        entry.to_string_lossy()[..3].parse::<u32>().expect("digits") < 10,
        "{shown:?}"
    );
    fs::OpenOptions::new()
        .write(true)
        .open(&path)
        .expect("open")
        .set_len(10_000)
        .expect("cut");
    daemon.sync();
    let shown = names(scene.sandbox.mount("a.txt/.similar"));
    let entry = shown
        .iter()
        .find(|n| n.to_string_lossy().ends_with("_b.txt"))
        .expect("b");
    assert!(
        entry.to_string_lossy()[..3].parse::<u32>().expect("digits") > 90,
        "{shown:?}"
    );
    daemon.assert_true();
}

#[test]
fn a_directory_is_renamed_moved_in_and_moved_out() {
    let Some(scene) = Scene::new() else { return };
    let daemon = scene.start();
    let tree = |name| scene.sandbox.tree(name);
    fs::rename(tree("sub"), tree("renamed")).expect("rename");
    daemon.sync();
    let shown = names(scene.sandbox.mount("a.txt/.similar"));
    let link = scene
        .sandbox
        .mount("a.txt/.similar")
        .join(shown.last().expect("one"));
    assert_eq!(fs::read_link(link).expect("a link"), tree("renamed/b.txt"));
    // Changes in the renamed directory are noticed.
    fs::write(tree("renamed/b.txt"), prose(99, 5_000)).expect("write");
    daemon.sync();
    assert!(scene.similar("a.txt").is_empty());
    // A directory with entries is moved into the tree. This causes one event, but all entries must
    // be found.
    let outside = scene.sandbox.path("outside");
    fs::create_dir_all(outside.join("deep/er")).expect("folders");
    fs::write(outside.join("deep/er/c.txt"), edited(&scene.text, 4, 3)).expect("write");
    fs::rename(&outside, tree("moved-in")).expect("move in");
    daemon.sync();
    assert_eq!(scene.similar("a.txt"), ["c.txt"]);
    fs::rename(tree("moved-in"), &outside).expect("move out");
    daemon.sync();
    assert!(scene.similar("a.txt").is_empty());
    daemon.assert_true();
}

#[test]
fn git_checkout_between_branches() {
    let Some(scene) = Scene::new() else { return };
    let git = |args: &[&str]| {
        let mut command = scene.sandbox.foreign("git");
        command.arg("-C").arg(scene.sandbox.path("tree"));
        command
            .args(["-c", "user.name=t", "-c", "user.email=t@example.org"])
            .args(args);
        match command.output() {
            Ok(output) => assert!(output.status.success(), "git {args:?}: {output:?}"),
            Err(e) => panic!("git is needed for this test: {e}"),
        }
    };
    git(&["init", "-q", "-b", "main"]);
    git(&["add", "-A"]);
    git(&["commit", "-qm", "one"]);
    git(&["checkout", "-qb", "two"]);
    scene.sandbox.write("a.txt", prose(50, 10_000));
    fs::remove_file(scene.sandbox.tree("other.txt")).expect("gone");
    scene
        .sandbox
        .write("new/n.txt", edited(&prose(50, 10_000), 2, 2));
    git(&["add", "-A"]);
    git(&["commit", "-qm", "two"]);
    let daemon = scene.start();
    assert_eq!(scene.similar("a.txt"), ["n.txt"]);
    git(&["checkout", "-q", "main"]);
    daemon.sync();
    assert_eq!(scene.similar("a.txt"), ["b.txt"]);
    git(&["checkout", "-q", "two"]);
    daemon.sync();
    assert_eq!(scene.similar("a.txt"), ["n.txt"]);
    daemon.assert_true();
}

#[test]
fn rename_copy_touch_and_chmod_add_nothing_to_the_index() {
    let (sandbox, text) = (Sandbox::new(), prose(5, 200_000));
    sandbox.write("a.txt", &text);
    let daemon = sandbox.daemon([""; 0]);
    daemon.sync();
    let before = daemon.status();
    let tree = |name: &str| sandbox.tree(name);
    fs::create_dir(tree("dir")).expect("mkdir");
    fs::rename(tree("a.txt"), tree("b.txt")).expect("rename");
    daemon.sync();
    fs::rename(tree("b.txt"), tree("dir/c.txt")).expect("rename");
    daemon.sync();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o640);
    fs::set_permissions(tree("dir/c.txt"), mode).expect("chmod");
    daemon.sync();
    let renamed = daemon.status();
    let read =
        |status: &serde_json::Value| status["index"]["bytes_read"].as_u64().expect("a number");
    // The three changes do not require reading. But the daemon may look at the file after a change
    // and before the event arrives. Then the change time is new without a known reason, so the
    // daemon reads the file. The test allows this once.
    assert!(
        read(&renamed) - read(&before) <= text.len() as u64,
        "{renamed}"
    );
    assert_eq!(renamed["index"]["chunks"], before["index"]["chunks"]);
    // A touched or copied file must be read, but nothing is added to the index for it.
    fs::copy(tree("dir/c.txt"), tree("copy.txt")).expect("copy");
    let touched = fs::File::options()
        .append(true)
        .open(tree("dir/c.txt"))
        .expect("open");
    touched
        .set_modified(std::time::SystemTime::UNIX_EPOCH)
        .expect("touch");
    drop(touched);
    daemon.sync();
    let after = daemon.status();
    assert_eq!(after["index"]["contents"], before["index"]["contents"]);
    assert_eq!(after["index"]["chunks"], before["index"]["chunks"]);
    daemon.assert_true();
}
