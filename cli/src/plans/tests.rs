//! Runs scripts on names and files that are meant to break them. Hostile names are tried with every
//! installed POSIX shell.

use std::ffi::OsString;
use std::fs::{File, Permissions};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{FileTypeExt, PermissionsExt, symlink};
use std::path::PathBuf;
use std::process::{Command, Output};
use std::time::{Duration, SystemTime};

use super::*;
use resemble_core::Params;
use resemble_proto::documents::{CoveredFilter, CoveredParameters, GroupsParameters};
use resemble_proto::message::{
    CoverPair, Coverage, Degree, Groups, Header, IdenticalSet, OnlyGroups,
};
use resemble_proto::path::PathText;
use resemble_proto::report::CommonParameters;
use resemble_testutil::TempTree;

const TEXT: &[u8] = b"the same text in every copy\n";

/// A folder with files of the same bytes.
struct Scene {
    temp: TempTree,
    paths: Vec<PathBuf>,
}

impl Scene {
    fn new() -> Self {
        Self {
            temp: TempTree::new(),
            paths: Vec::new(),
        }
    }

    fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.temp.path(name)
    }

    /// Makes a copy that is newer than all copies made before it. So the first copy is the oldest,
    /// and the plan keeps it.
    fn copy(&mut self, name: impl AsRef<Path>) -> PathBuf {
        let path = self.path(name);
        self.temp.write(&path, TEXT);
        let age = Duration::new(1_000_000 - self.paths.len() as u64, 123_456_789);
        set_time(
            &path,
            SystemTime::UNIX_EPOCH + Duration::from_secs(2_000_000_000) - age,
        );
        self.paths.push(path.clone());
        path
    }

    fn document(&self) -> GroupsDocument {
        let common = CommonParameters::plain(&Params::default());
        let parameters = GroupsParameters {
            roots: vec![PathText::from(self.temp.root())],
            only: OnlyGroups::All,
            relation: Vec::new(),
            of: None,
            family: false,
            degree: Degree::Usual,
            common,
        };
        let set = IdenticalSet {
            size: TEXT.len() as u64,
            paths: self
                .paths
                .iter()
                .map(|p| PathText::from(p.as_path()))
                .collect(),
            mtimes: Vec::new(),
            ..IdenticalSet::default()
        };
        let body = Groups {
            identical: vec![set],
            ..Groups::default()
        };
        GroupsDocument::new(parameters, Header::default(), body, Vec::new())
    }

    fn script(&self, kind: &Treatment) -> PathBuf {
        self.written(&of_groups(&self.document(), kind, (&[], &Picked::default()), None).unwrap())
    }

    fn written(&self, plan: &Plan) -> PathBuf {
        let mut text = Vec::new();
        plan.write(&mut text).unwrap();
        let path = self.path("plan.sh");
        fs::write(&path, text).unwrap();
        path
    }

    /// Returns whether no temporary file of a script is left.
    fn is_tidy(&self) -> bool {
        let mut folders = vec![self.path("")];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let entry = entry.unwrap();
                if entry.file_type().unwrap().is_dir() {
                    folders.push(entry.path());
                }
                let name = entry.file_name().into_encoded_bytes();
                if name.starts_with(b".resemble-plan") {
                    return false;
                }
            }
        }
        true
    }
}

fn set_time(path: &Path, time: SystemTime) {
    let file = File::options().append(true).open(path).unwrap();
    file.set_modified(time).unwrap();
}

fn run(shell: &str, script: &Path, args: &[&str]) -> Output {
    Command::new(shell).arg(script).args(args).output().unwrap()
}

#[track_caller]
fn code(output: &Output, code: i32) -> String {
    let out = String::from_utf8_lossy(&output.stdout).into_owned();
    let err = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{out}{err}");
    out + &err
}

/// Returns the POSIX shells of this machine.
fn shells() -> Vec<&'static str> {
    let found: Vec<&str> = ["sh", "dash", "bash", "ksh", "mksh", "zsh"]
        .into_iter()
        .filter(|shell| {
            let there = Command::new(shell).args(["-c", "exit 7"]).status();
            there.is_ok_and(|status| status.code() == Some(7))
        })
        .collect();
    assert!(found.contains(&"sh"));
    found
}

fn inode(path: &Path) -> u64 {
    fs::symlink_metadata(path).unwrap().ino()
}

#[test]
fn a_plan_does_nothing_until_told() {
    for shell in shells() {
        let mut scene = Scene::new();
        let (keep, copy) = (scene.copy("keep"), scene.copy("copy"));
        let before = inode(&copy);
        let script = scene.script(&Treatment::Hardlink);
        let said = code(&run(shell, &script, &[]), 0);
        assert!(said.contains("would replace"), "{said}");
        assert!(
            said.contains("1 of 1 steps can be done; nothing was changed"),
            "{said}"
        );
        assert_eq!(inode(&copy), before);
        code(&run(shell, &script, &["--doit"]), 2);
        code(&run(shell, &script, &["--do-it", "x"]), 2);
        assert_eq!(inode(&copy), before);
        let said = code(&run(shell, &script, &["--do-it"]), 0);
        assert!(said.contains("1 of 1 steps done"), "{said}");
        assert_eq!(inode(&copy), inode(&keep));
        assert!(scene.is_tidy());
        let said = code(&run(shell, &script, &["--do-it"]), 0);
        assert!(said.contains("all done"), "{said}");
        assert_eq!(fs::read(&keep).unwrap(), TEXT);
    }
}

/// The names contain every byte that is possible in a name, or have a meaning for shells and
/// programs.
#[test]
fn hostile_names() {
    let mut names: Vec<Vec<u8>> = vec![
        b"$(touch owned)".to_vec(),
        b"`touch owned`".to_vec(),
        b"';touch owned;'".to_vec(),
        b"-rf".to_vec(),
        b"--do-it".to_vec(),
        b"new\nline\n".to_vec(),
        b"\n".to_vec(),
        b"tail\\".to_vec(),
        b"\\0101".to_vec(),
        b"\\c%s%n".to_vec(),
        b"*".to_vec(),
        b"~".to_vec(),
        b"a'b\"c$d!e".to_vec(),
        b"\x1b[2J\x1b]0;x\x07".to_vec(),
        "größe \u{202e}txt".as_bytes().to_vec(),
        b"-\n-/inner\n/x".to_vec(),
    ];
    let all: Vec<u8> = (1..=255).filter(|b| *b != b'/').collect();
    names.extend(all.chunks(60).map(<[u8]>::to_vec));
    for kind in [Treatment::Symlink, Treatment::Hardlink] {
        for shell in shells() {
            let mut scene = Scene::new();
            let keep = scene.copy("the 'one' that\nstays$");
            for name in &names {
                scene.copy(OsString::from_vec(name.clone()));
            }
            let script = scene.script(&kind);
            let text = fs::read(&script).unwrap();
            let text = String::from_utf8(text).unwrap();
            assert!(
                text.chars()
                    .all(|c| c == '\n' || !c.is_control() && c != '\u{202e}'),
                "{text}"
            );
            let output = run(shell, &script, &["--do-it"]);
            let said = code(&output, 0);
            assert!(
                said.contains(&format!("{0} of {0} steps done", names.len())),
                "{shell} {said}"
            );
            for byte in output.stdout {
                assert!(byte == b'\n' || byte >= b' ', "{shell} {said}");
            }
            for name in &names {
                let path = scene.path(OsString::from_vec(name.clone()));
                match kind {
                    Treatment::Symlink => {
                        assert_eq!(fs::read_link(&path).unwrap(), keep, "{shell} {path:?}");
                    }
                    _ => assert_eq!(inode(&path), inode(&keep), "{shell} {path:?}"),
                }
            }
            assert!(!scene.path("owned").exists());
            assert!(!Path::new("owned").exists());
            assert!(scene.is_tidy());
        }
    }
}

/// Files that changed after the plan was made are not touched, and the exit code reports that.
#[test]
fn changed_files_are_skipped() {
    type Change = fn(&Path, &Path);
    let changes: [(&str, Change); 9] = [
        ("the copy has other bytes", |_, copy| {
            let time = fs::metadata(copy).unwrap().modified().unwrap();
            let mut bytes = TEXT.to_vec();
            bytes[5] ^= 1;
            fs::write(copy, bytes).unwrap();
            // The time of the file is set back, so that only its bytes differ.
            set_time(copy, time);
        }),
        ("the one that stays has other bytes", |keep, _| {
            let time = fs::metadata(keep).unwrap().modified().unwrap();
            fs::write(keep, TEXT.to_ascii_uppercase()).unwrap();
            set_time(keep, time);
        }),
        ("the copy is larger", |_, copy| {
            fs::write(copy, [TEXT, b"more"].concat()).unwrap();
        }),
        ("the copy was touched a nanosecond later", |_, copy| {
            let time = fs::metadata(copy).unwrap().modified().unwrap();
            set_time(copy, time + Duration::from_nanos(1));
        }),
        ("the copy is another file", |_, copy| {
            let time = fs::metadata(copy).unwrap().modified().unwrap();
            let other = copy.with_file_name("other");
            fs::write(&other, TEXT).unwrap();
            set_time(&other, time);
            fs::rename(other, copy).unwrap();
        }),
        ("the copy is a link to the one that stays", |keep, copy| {
            fs::remove_file(copy).unwrap();
            symlink(keep, copy).unwrap();
        }),
        (
            "the one that stays is a link to a file with its bytes",
            |keep, _| {
                let aside = keep.with_file_name("aside");
                fs::rename(keep, &aside).unwrap();
                symlink(aside, keep).unwrap();
            },
        ),
        ("the one that stays is gone", |keep, _| {
            fs::remove_file(keep).unwrap();
        }),
        ("the copy is a folder", |_, copy| {
            fs::remove_file(copy).unwrap();
            fs::create_dir(copy).unwrap();
        }),
    ];
    for (what, change) in changes {
        for kind in [Treatment::Symlink, Treatment::Hardlink, Treatment::Reflink] {
            let mut scene = Scene::new();
            let (keep, copy) = (scene.copy("keep"), scene.copy("copy"));
            let script = scene.script(&kind);
            change(&keep, &copy);
            let before = fs::symlink_metadata(&copy).unwrap();
            for args in [&[][..], &["--do-it"]] {
                let said = code(&run("sh", &script, args), 1);
                assert!(said.contains("0 of 1 steps"), "{what}: {said}");
                assert!(said.contains("1 skipped"), "{what}: {said}");
            }
            let after = fs::symlink_metadata(&copy).unwrap();
            assert_eq!(
                (before.ino(), before.ctime_nsec()),
                (after.ino(), after.ctime_nsec()),
                "{what}"
            );
            assert!(scene.is_tidy(), "{what}");
        }
    }
}

/// If one step of a script fails, the other steps are still carried out.
#[test]
fn the_rest_is_done() {
    let mut scene = Scene::new();
    let (keep, gone, copy) = (scene.copy("keep"), scene.copy("gone"), scene.copy("copy"));
    let script = scene.script(&Treatment::Hardlink);
    fs::remove_file(gone).unwrap();
    let said = code(&run("dash", &script, &["--do-it"]), 1);
    assert!(said.contains("1 of 2 steps done"), "{said}");
    assert_eq!(inode(&copy), inode(&keep));
}

#[test]
fn times_before_1970_are_printed_as_stat_does() {
    let scene = Scene::new();
    let path = scene.path("old");
    let offsets = [
        Duration::ZERO,
        Duration::new(0, 1),
        Duration::new(1, 0),
        Duration::new(1, 500_000_000),
        Duration::new(86_400, 999_999_999),
    ];
    let (epoch, mut tested) = (SystemTime::UNIX_EPOCH, 0);
    let times = offsets
        .iter()
        .flat_map(|offset| [epoch - *offset, epoch + *offset]);
    for time in times {
        fs::write(&path, TEXT).unwrap();
        set_time(&path, time);
        let mut stat = Command::new("stat");
        stat.args(["-c", "%.9Y"]).arg(&path);
        let mut stat = stat_of(&mut stat);
        let known = look(&path).unwrap();
        assert_eq!(stat.pop(), Some('\n'));
        assert_eq!(known.mtime.to_string(), stat, "{time:?}");
        tested += 1;
    }
    assert_eq!(tested, 10);
}

fn stat_of(command: &mut Command) -> String {
    String::from_utf8(command.env("LC_ALL", "C").output().unwrap().stdout).unwrap()
}

/// The file with the most hard links in a set stays. If there are several, the oldest of them
/// stays. Other files are left out with a reason if they cannot be replaced, or if their
/// replacement would free nothing.
#[test]
fn who_stays_and_what_is_left_out() {
    let mut scene = Scene::new();
    scene.copy("oldest");
    let linked = scene.copy("linked");
    fs::hard_link(&linked, scene.path("linked too")).unwrap();
    let (half, outside) = (scene.copy("half"), TempTree::new());
    fs::hard_link(&half, outside.path("other half")).unwrap();
    let three = scene.copy("three");
    for name in ["three b", "three c"] {
        fs::hard_link(&three, scene.path(name)).unwrap();
    }
    let gone = scene.copy("gone");
    fs::remove_file(gone).unwrap();
    let grown = scene.copy("grown");
    fs::write(grown, b"grown").unwrap();
    let foreign = scene.copy("other mode");
    fs::set_permissions(&foreign, Permissions::from_mode(0o600)).unwrap();
    let fifo = scene.copy("fifo");
    fs::remove_file(&fifo).unwrap();
    let made = Command::new("mkfifo").arg(&fifo).status().unwrap();
    assert!(made.success() && fs::symlink_metadata(&fifo).unwrap().file_type().is_fifo());

    let text = fs::read_to_string(scene.script(&Treatment::Hardlink)).unwrap();
    let steps: Vec<&str> = text.lines().filter(|l| l.starts_with("step ")).collect();
    assert_eq!(steps.len(), 3, "{text}");
    assert!(steps.iter().all(|step| step.contains("/three' ")), "{text}");
    let left: Vec<&str> = text
        .lines()
        .filter_map(|line| line.strip_prefix("# left out: "))
        .collect();
    let says = |name: &str, why: &str| {
        assert!(
            left.iter()
                .any(|l| l.contains(&format!("/{name}: ")) && l.contains(why)),
            "{name}: {left:?}"
        );
    };
    says("half", "further hard links");
    says("gone", "No such file");
    says("grown", "size has changed");
    says("other mode", "owner, group or mode");
    says("fifo", "no regular file");
    says("three b", "by another name");
    says("three c", "by another name");
    assert_eq!(left.len(), 7);
    let text = fs::read_to_string(scene.script(&Treatment::Symlink)).unwrap();
    let steps = text.lines().filter(|l| l.starts_with("step ")).count();
    assert_eq!(steps, 4, "mode is nothing to a symbolic link: {text}");
}

#[test]
fn the_first_copy_is_never_replaced() {
    let mut scene = Scene::new();
    for name in ["a", "b", "c", "d"] {
        scene.copy(name);
    }
    let script = scene.script(&Treatment::Symlink);
    code(&run("sh", &script, &["--do-it"]), 0);
    let whole = scene
        .paths
        .iter()
        .filter(|path| fs::symlink_metadata(path).unwrap().is_file())
        .count();
    assert_eq!(whole, 1);
    for path in &scene.paths {
        assert_eq!(fs::read(path).unwrap(), TEXT);
    }
}

#[test]
fn a_plan_for_what_is_covered() {
    let mut scene = Scene::new();
    let (copy, equal) = (scene.copy("dir/copy"), scene.copy("elsewhere/equal"));
    let inside = scene.copy("dir/equal");
    let linked = scene.path("dir/linked");
    fs::hard_link(&equal, &linked).unwrap();
    let pair = |path: &Path, by: &Path| CoverPair {
        path: PathText::from(path),
        by: PathText::from(by),
        size: TEXT.len() as u64,
    };
    let body = Coverage {
        covered: true,
        files: 3,
        bytes: 0,
        linked: vec![pair(&linked, &equal)],
        // The last pair is wrong on purpose: an equal file inside the directory does not cover it.
        copies: vec![pair(&copy, &equal), pair(&inside, &copy)],
        ..Coverage::default()
    };
    let parameters = CoveredParameters {
        dir: PathText::from(scene.path("dir")),
        by: vec![PathText::from(scene.path("elsewhere"))],
        params: String::new(),
        filter: CoveredFilter::default(),
    };
    let document = CoveredDocument::new(parameters, Header::default(), body, Vec::new());
    let plan = of_covered(&document, &Treatment::Symlink).unwrap();
    assert_eq!(plan.gain(), (1, TEXT.len() as u64));
    let script = scene.written(&plan);
    code(&run("sh", &script, &["--do-it"]), 0);
    assert_eq!(fs::read_link(&copy).unwrap(), equal);
    assert!(fs::symlink_metadata(&inside).unwrap().is_file());
    assert_eq!(inode(&linked), inode(&equal));
}

/// If the file system of the temporary folder has clones, a copy becomes a clone. Elsewhere every
/// step is skipped and nothing is changed.
#[test]
fn clones_keep_what_is_theirs() {
    let mut scene = Scene::new();
    let (keep, copy) = (scene.copy("keep"), scene.copy("copy"));
    fs::set_permissions(&copy, Permissions::from_mode(0o640)).unwrap();
    let before = fs::metadata(&copy).unwrap();
    let script = scene.script(&Treatment::Reflink);
    let probe = scene.path("probe");
    let can = Command::new("cp")
        .args(["--reflink=always", "--"])
        .args([&keep, &probe])
        .output()
        .unwrap();
    let output = run("sh", &script, &["--do-it"]);
    let after = fs::metadata(&copy).unwrap();
    let kept = |meta: &fs::Metadata| (meta.mode(), meta.uid(), meta.mtime(), meta.mtime_nsec());
    assert_eq!(kept(&before), kept(&after));
    assert_eq!(fs::read(&copy).unwrap(), TEXT);
    if can.status.success() {
        code(&output, 0);
        assert_ne!(before.ino(), after.ino());
    } else {
        let said = code(&output, 1);
        assert!(said.contains("could not be made"), "{said}");
        assert_eq!(before.ino(), after.ino());
    }
    assert!(scene.is_tidy());
}

/// The report of a page may be old. Meanwhile, several of its files may have become hard links of
/// one file.
#[test]
fn marks_of_what_has_become_one_file() {
    let mut scene = Scene::new();
    let names = ["a", "b", "c", "d", "e"];
    let paths = names.map(|name| scene.copy(name));
    for (name, other) in [("d", "a"), ("e", "b")] {
        fs::remove_file(scene.path(name)).unwrap();
        fs::hard_link(scene.path(other), scene.path(name)).unwrap();
    }
    let path = |name: &str| serde_json::to_value(scene.path(name)).unwrap();
    let marks = serde_json::json!({
        "schema": resemble_proto::SCHEMA, "command": "marks", "roots": [path("")],
        "marks": [
            {"keep": path("a"), "copies": [path("b")]},
            {"keep": path("c"), "copies": [path("d"), path("e")]}]
    });
    let marks = marks.to_string();
    let marks = SavedMarks::parse(marks.as_bytes()).unwrap();
    let script = scene.written(&of_page(&marks, &Treatment::Remove).unwrap());
    let text = fs::read_to_string(&script).unwrap();
    assert!(
        text.contains("/d: it is a file that stays, by another name"),
        "{text}"
    );
    assert_eq!(
        text.matches("\nstep ").count(),
        2,
        "b and e are one file: {text}"
    );
    code(&run("sh", &script, &["--do-it"]), 0);
    let there: Vec<bool> = paths.iter().map(|path| path.exists()).collect();
    assert_eq!(there, [true, false, true, true, false]);
}
