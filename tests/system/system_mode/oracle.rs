//! Tests that an answer shows a user exactly the files that the user can open. To find these files,
//! the test opens all files as that user.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};

use resemble_testutil::{asked_for, pack};
use serde_json::json;

use super::trees::Tree;
use super::{Answer, ROOT, SHARES, Server, USERS, User, VIEW, as_user, ask, ask_here, disks_of};

/// Returns the minimum number of checks. A check is about one user and one pair of files.
fn checks_wanted() -> usize {
    asked_for("RESEMBLE_ORACLE_CHECKS").unwrap_or(8_000)
}

/// The number of checks, and the errors that they found. An error is a file that was shown or
/// hidden wrongly.
#[derive(Debug, Default)]
struct Verdict {
    checks: usize,
    leaks: Vec<String>,
    hidden: Vec<String>,
}

impl Verdict {
    /// Judges an answer about the file `of`. Its rows must be the expected files among the files
    /// that the user has `opened`.
    fn judge(&mut self, tree: &Tree, opened: &BTreeSet<PathBuf>, of: &Path, answer: &Answer) {
        self.checks += tree.families.len() - 1;
        if !opened.contains(of) {
            if answer.kind() != "not-indexed" {
                self.leaks.push(format!("{}: {answer:?}", of.display()));
            }
            return;
        }
        let expected = tree.expected(of, opened);
        let shown: BTreeSet<PathBuf> = answer.paths().into_iter().map(Path::to_owned).collect();
        let note = |path: &PathBuf| format!("{} of {}", path.display(), of.display());
        self.leaks.extend(shown.difference(&expected).map(note));
        self.hidden.extend(expected.difference(&shown).map(note));
    }
}

fn find(of: &Path) -> serde_json::Value {
    json!({"request": "find", "subject": {"file": of}})
}

/// Asks about each file as `asker`. Judges each answer by the files that `judge` can open.
fn judged(tree: &Tree, judge: User, asker: User, verdict: &mut Verdict) {
    let opened = tree.opened_by(judge);
    let answers: Vec<(PathBuf, Answer)> = as_user(asker, || {
        let paths = tree.families.keys();
        paths
            .map(|path| (path.clone(), ask_here(&find(path))))
            .collect()
    });
    for (path, answer) in answers {
        verdict.judge(tree, &opened, &path, &answer);
    }
}

#[test]
fn at_the_socket_everybody_sees_what_he_can_open_and_nothing_else() {
    const NAME: &str =
        "system_mode::oracle::at_the_socket_everybody_sees_what_he_can_open_and_nothing_else";
    let Some(disks) = disks_of(NAME) else {
        return;
    };
    // The number of files is chosen so that all users together ask about enough pairs.
    let files = (checks_wanted() as f64 / USERS.len() as f64).sqrt().ceil() as usize + 1;
    let tree = Tree::make(Path::new(SHARES), 11, files);
    let server = Server::start(disks, &["--no-mount"]);
    let mut verdict = Verdict::default();
    for user in USERS {
        judged(&tree, user, user, &mut verdict);
    }
    let Verdict {
        checks,
        leaks,
        hidden,
    } = &verdict;
    eprintln!(
        "{checks} checks at the socket: {} leaks, {} wrongly hidden",
        leaks.len(),
        hidden.len()
    );
    assert!(leaks.is_empty() && hidden.is_empty(), "{verdict:?}");
    // Root must be shown the files of all owners.
    let mut of_root = Verdict::default();
    judged(&tree, ROOT, ROOT, &mut of_root);
    assert!(
        of_root.leaks.is_empty() && of_root.hidden.is_empty(),
        "{of_root:?}"
    );
    // As a control, root's answers are judged by the rights of another user. The judge must find
    // many leaks.
    let mut canary = Verdict::default();
    judged(&tree, USERS[0], ROOT, &mut canary);
    assert!(
        canary.leaks.len() > 10,
        "the oracle sees no leak where there are many"
    );
    drop(server);
}

#[test]
fn what_was_taken_away_is_gone_at_the_next_answer() {
    const NAME: &str = "system_mode::oracle::what_was_taken_away_is_gone_at_the_next_answer";
    let Some(disks) = disks_of(NAME) else {
        return;
    };
    let shares = Path::new(SHARES);
    let text = resemble_testutil::prose::prose(1, 8_000);
    fs::create_dir(shares.join("team")).expect("a folder");
    let (own, other) = (shares.join("own.txt"), shares.join("team/other.txt"));
    for path in [&own, &other] {
        fs::write(path, &text).expect("a file");
    }
    let _server = Server::start(disks, &["--no-mount"]);
    let user = USERS[1];
    let shown = || {
        let answer = ask(user, &find(&own));
        answer
            .paths()
            .into_iter()
            .map(Path::to_owned)
            .collect::<Vec<_>>()
    };
    let mode = |path: &Path, mode| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("chmod");
    };
    let (there, gone) = (vec![other.clone()], Vec::<PathBuf>::new());
    assert_eq!(shown(), there);
    // A new permission takes effect only when the daemon has processed the event about it. Until
    // then, another file might be at the path. A removed permission takes effect at once.
    for round in 0..20 {
        mode(&other, 0o600);
        assert_eq!(shown(), gone, "{round}: of the file");
        mode(&other, 0o644);
        Server::sync();
        assert_eq!(shown(), there, "{round}");
        mode(&shares.join("team"), 0o700);
        assert_eq!(shown(), gone, "{round}: of the folder");
        mode(&shares.join("team"), 0o755);
        chown(&other, None, Some(6001)).expect("chgrp");
        mode(&other, 0o640);
        Server::sync();
        assert_eq!(shown(), there, "{round}: by a group");
        chown(&other, None, Some(6002)).expect("chgrp");
        assert_eq!(shown(), gone, "{round}: of the group");
        mode(&other, 0o644);
    }
    // If a user cannot open the subject, they get no answer about it.
    mode(&own, 0o600);
    assert_eq!(ask(user, &find(&own)).kind(), "not-indexed");
    mode(&own, 0o644);
    mode(&other, 0o644);
    Server::sync();
    assert_eq!(shown(), there);
    // A file was overwritten before others were allowed to read it. Its former content must not be
    // revealed.
    mode(&other, 0o600);
    fs::write(&other, "for everybody").expect("a file");
    mode(&other, 0o644);
    assert_eq!(shown(), gone, "what it held was for nobody else");
    Server::sync();
    assert_eq!(shown(), gone);
}

/// The index knows a secret file under a name in a user's home. The user then puts a file of their
/// own under this name, and must still not learn about the secret.
#[test]
fn nobody_sees_another_file_in_the_place_of_his_own() {
    const NAME: &str = "system_mode::oracle::nobody_sees_another_file_in_the_place_of_his_own";
    let Some(disks) = disks_of(NAME) else {
        return;
    };
    let shares = Path::new(SHARES);
    let secret = resemble_testutil::prose::prose(1, 8_000);
    fs::write(shares.join("secret.txt"), &secret).expect("a file");
    fs::set_permissions(shares.join("secret.txt"), fs::Permissions::from_mode(0o600))
        .expect("chmod");
    fs::write(shares.join("guess.txt"), &secret).expect("a file");
    let user = USERS[0];
    let home = shares.join("home");
    fs::create_dir(&home).expect("a folder");
    chown(&home, Some(user.uid), None).expect("chown");
    // This link puts the secret file into the user's home. The user could do this if the kernel let
    // them link files of others.
    fs::hard_link(shares.join("secret.txt"), home.join("mine.txt")).expect("a link");
    let server = Server::start(disks, &["--no-mount"]);
    let paths = |answer: &Answer| answer.paths().len();
    let guess = shares.join("guess.txt");
    assert_eq!(paths(&ask(ROOT, &find(&guess))), 1, "root sees it");
    assert_eq!(paths(&ask(user, &find(&guess))), 0);
    // Now the user's own file is at that name, but the index may still have the secret there.
    as_user(user, || {
        fs::write(home.join("new"), "of my own").expect("a file");
        fs::rename(home.join("new"), home.join("mine.txt")).expect("a rename");
    });
    let answer = ask(user, &find(&guess));
    assert_eq!(paths(&answer), 0, "{answer:?}");
    // Even a user who knows the content of the secret cannot find out whether it is at a given
    // path.
    let named = json!({"request": "find", "subject": {"file": shares.join("secret.txt")}});
    assert_eq!(ask(user, &named).kind(), "not-indexed");
    drop(server);
}

/// Returns the targets of the links in a listing of the view.
fn listed(at: &Path) -> std::io::Result<BTreeSet<PathBuf>> {
    let mut targets = BTreeSet::new();
    for entry in fs::read_dir(at)? {
        let entry = entry?;
        // Each name is looked up again, as `ls -l` does.
        assert!(
            fs::symlink_metadata(entry.path())?.is_symlink(),
            "{entry:?}"
        );
        targets.insert(fs::read_link(entry.path())?);
    }
    Ok(targets)
}

/// Collects the paths of all files that the thread's user finds in the view by listing folders, as
/// the command `find` does.
fn walked(at: &Path, rel: &Path, found: &mut BTreeSet<PathBuf>) {
    let Ok(entries) = fs::read_dir(at.join(rel)) else {
        return;
    };
    for entry in entries {
        let entry = entry.expect("an entry");
        let below = rel.join(entry.file_name());
        let name = entry.file_name();
        // In the folders view, a file is shown as a folder that contains the file itself.
        if fs::symlink_metadata(entry.path().join(&name)).is_ok_and(|meta| meta.is_file()) {
            found.insert(below);
        } else {
            walked(at, &below, found);
        }
    }
}

#[test]
fn in_the_view_everybody_sees_what_he_can_open_and_nothing_else() {
    const NAME: &str =
        "system_mode::oracle::in_the_view_everybody_sees_what_he_can_open_and_nothing_else";
    let Some(disks) = disks_of(NAME) else {
        return;
    };
    if !resemble_testutil::fuse_works() {
        return;
    }
    let files = (checks_wanted() as f64 / USERS.len() as f64).sqrt().ceil() as usize + 1;
    let shares = Path::new(SHARES);
    let tree = Tree::make(shares, 12, files);
    let server = Server::start(disks, &[]);
    let checks = std::cell::Cell::new(0);
    let mut wrong = Vec::new();
    let judge = |user: User, seen: &BTreeSet<PathBuf>| {
        let shown: Vec<(PathBuf, std::io::Result<BTreeSet<PathBuf>>)> = as_user(user, || {
            let paths = tree.families.keys();
            let at = |path: &Path| Path::new(VIEW).join(path.strip_prefix(shares).expect("below"));
            paths
                .map(|path| (path.clone(), listed(&at(path).join(".similar"))))
                .collect()
        });
        let mut wrong_here = Vec::new();
        for (path, shown) in shown {
            checks.set(checks.get() + tree.families.len() - 1);
            let expected = seen.contains(&path).then(|| tree.expected(&path, seen));
            if shown.as_ref().ok() != expected.as_ref() {
                wrong_here.push(format!(
                    "{user:?} {}: {shown:?}, not {expected:?}",
                    path.display()
                ));
            }
        }
        wrong_here
    };
    for user in USERS {
        let opened = tree.opened_by(user);
        wrong.extend(judge(user, &opened));
        // The view mirrors exactly the files that the user finds in the tree by listing folders,
        // and can open. The bytes of some of them are compared.
        let (real, mirrored) = as_user(user, || {
            let (mut real, mut mirrored) = (BTreeSet::new(), BTreeSet::new());
            listable(shares, Path::new(""), &mut real);
            walked(Path::new(VIEW), Path::new(""), &mut mirrored);
            for path in mirrored.iter().take(20) {
                let name = path.file_name().expect("a name");
                let bytes = fs::read(Path::new(VIEW).join(path).join(name));
                assert_eq!(
                    bytes.ok(),
                    fs::read(shares.join(path)).ok(),
                    "{}",
                    path.display()
                );
            }
            (real, mirrored)
        });
        assert_eq!(mirrored, real, "{user:?}");
        assert!(!mirrored.is_empty());
    }
    eprintln!("{} checks in the view: {} wrong", checks.get(), wrong.len());
    assert!(wrong.is_empty(), "{wrong:#?}");
    // As a control, the listings of one user are judged by the rights of another user. Differences
    // must be found.
    let others = tree.opened_by(USERS[0]);
    let canary = judge(USERS[3], &others);
    assert!(
        canary.len() > 3,
        "the oracle sees no difference: {canary:?}"
    );
    drop(server);
}

/// Collects the files of the tree that the thread's user finds by listing folders, and can open.
fn listable(top: &Path, rel: &Path, found: &mut BTreeSet<PathBuf>) {
    let Ok(entries) = fs::read_dir(top.join(rel)) else {
        return;
    };
    for entry in entries {
        let entry = entry.expect("an entry");
        let below = rel.join(entry.file_name());
        if entry.file_type().expect("a type").is_dir() {
            listable(top, &below, found);
        } else if super::opens(&entry.path()) {
            found.insert(below);
        }
    }
}

#[test]
fn in_the_view_nobody_walks_where_another_did() {
    const NAME: &str = "system_mode::oracle::in_the_view_nobody_walks_where_another_did";
    let Some(disks) = disks_of(NAME) else {
        return;
    };
    if !resemble_testutil::fuse_works() {
        return;
    }
    let shares = Path::new(SHARES);
    let text = resemble_testutil::prose::prose(1, 8_000);
    fs::create_dir(shares.join("team")).expect("a folder");
    for name in ["own.txt", "other.txt", "team/third.txt"] {
        fs::write(shares.join(name), &text).expect("a file");
    }
    let server = Server::start(disks, &[]);
    let (one, another) = (USERS[0], USERS[1]);
    let mode = |name: &str, mode| {
        let path = shares.join(name);
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("chmod");
    };
    let similar = Path::new(VIEW).join("own.txt/.similar");
    let count = |user| as_user(user, || listed(&similar).map(|found| found.len()).ok());
    assert_eq!((count(one), count(another)), (Some(2), Some(2)));
    mode("other.txt", 0o640);
    chown(shares.join("other.txt"), None, Some(6001)).expect("chgrp");
    Server::sync();
    assert_eq!((count(one), count(another)), (Some(1), Some(2)));
    mode("team", 0o700);
    chown(shares.join("team"), Some(one.uid), None).expect("chown");
    assert_eq!((count(one), count(another)), (Some(1), Some(1)));
    // `one` walks through the folder `team`, so the kernel has the folder in its cache. The kernel
    // must still ask the daemon when `another` opens a file in it.
    let third = Path::new(VIEW).join("team/third.txt/third.txt");
    let read = |user| as_user(user, || fs::read(&third).is_ok());
    for _ in 0..50 {
        assert_eq!((read(one), read(another)), (true, false));
    }
    mode("own.txt", 0o600);
    assert_eq!((count(one), count(another)), (None, None));
    let own = Path::new(VIEW).join("own.txt");
    assert!(as_user(one, || fs::metadata(&own).is_err()));
    drop(server);
}

/// The users who can read a mail can also read a member of the mail.
#[test]
fn in_the_view_a_member_is_for_those_who_may_read_what_it_lies_in() {
    const NAME: &str =
        "system_mode::oracle::in_the_view_a_member_is_for_those_who_may_read_what_it_lies_in";
    let Some(disks) = disks_of(NAME) else {
        return;
    };
    if !resemble_testutil::fuse_works() {
        return;
    }
    let shares = Path::new(SHARES);
    let text = resemble_testutil::prose::prose(3, 8_000);
    fs::write(shares.join("all.txt"), &text).expect("a file");
    let mail = shares.join("mail.eml");
    fs::write(&mail, pack::mail("This is it.", &[("all.txt", &text)])).expect("a file");
    chown(&mail, Some(USERS[0].uid), None).expect("chown");
    fs::set_permissions(&mail, fs::Permissions::from_mode(0o600)).expect("chmod");
    let server = Server::start(disks, &[]);
    let listing = Path::new(VIEW).join("all.txt/.similar");
    let members = |user: User| {
        as_user(user, || {
            let entries = fs::read_dir(&listing).expect("a listing");
            let entries = entries.map(|entry| entry.expect("an entry").path());
            entries.collect::<Vec<PathBuf>>()
        })
    };
    let mine = members(USERS[0]);
    let [member] = &mine[..] else {
        panic!("the member: {mine:?}");
    };
    assert_eq!(members(USERS[1]), Vec::<PathBuf>::new());
    let read = |user: User| as_user(user, || fs::read(member));
    assert_eq!(read(USERS[0]).expect("his own"), text);
    assert!(read(USERS[1]).is_err(), "read by another");
    // The user can no longer read the mail. So the user can no longer read the member, either.
    fs::set_permissions(&mail, fs::Permissions::from_mode(0o000)).expect("chmod");
    assert!(read(USERS[0]).is_err(), "read without a right to it");
    drop(server);
}
