//! Tests that no answer reveals hidden files. Each answer must have the same bytes whether these
//! files exist or not.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;

use resemble_testutil::asked_for;
use resemble_testutil::prose::{edited, prose};
use resemble_testutil::random::Random;
use serde_json::{Value, json};

use super::trees::written;
use super::{Answer, ROOT, SHARES, Server, USERS, as_user, ask_here, disks, in_mounts_of_its_own};

/// The user who asks the questions.
const ASKER: super::User = USERS[0];

/// Makes files that [`ASKER`] may see. The files have content in common and are in accessible
/// folders.
fn seen(seed: u64) {
    let shares = Path::new(SHARES);
    for folder in ["open", "open/a", "open/b", "closed"] {
        fs::create_dir_all(shares.join(folder)).expect("a folder");
    }
    for number in 0..12u64 {
        let text = prose((seed << 8) | (number / 4), 5_000);
        let text = edited(&text, number, 3);
        let folder = if number % 2 == 0 { "open/a" } else { "open/b" };
        let name = format!("{number}.{}", SEEN_AS[number as usize % 3]);
        let text = written(&text, SEEN_AS[number as usize % 3]);
        fs::write(shares.join(folder).join(name), text).expect("a file");
    }
}

/// The extensions of the visible files. They are used in turn.
const SEEN_AS: [&str; 3] = ["txt", "docx", "eml"];

/// Makes files that [`ASKER`] may not see: copies and versions of the visible files. Several hidden
/// files have a passage in common. If the hidden files were counted, the passage would be
/// boilerplate.
fn hidden(seed: u64) {
    let shares = Path::new(SHARES);
    let mut random = Random::new(seed);
    let common = prose(seed << 8, 5_000);
    for number in 0..60u64 {
        let (folder, mode) = match random.below(3) {
            0 => ("open/a", 0o600),
            1 => ("open", 0o640),
            _ => ("closed", 0o644),
        };
        let text = match random.below(3) {
            0 => prose((seed << 8) | (number % 3), 5_000),
            1 => edited(&prose((seed << 8) | (number % 3), 5_000), number, 5),
            // The file begins like some visible files. A text of its own follows.
            _ => [&common[..2_000], &prose(number << 40, 3_000)].concat(),
        };
        let ending = ["txt", "txt", "docx", "eml"][random.below(4)];
        let path = shares
            .join(folder)
            .join(format!("hidden-{number}.{ending}"));
        fs::write(&path, written(&text, ending)).expect("a file");
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("chmod");
        chown(&path, Some(0), Some(6001)).expect("chown");
    }
}

/// Returns the questions that are asked, about many files and with many options.
fn questions() -> Vec<Value> {
    let shares = Path::new(SHARES);
    let mut questions = vec![
        json!({"request": "status"}),
        json!({"request": "watch-list"}),
        json!({"request": "pairs", "within": [SHARES]}),
        json!({"request": "pairs", "within": [SHARES], "exact": true, "all": true}),
        json!({"request": "groups"}),
        json!({"request": "groups", "within": [shares.join("open")], "degree": "half"}),
        json!({"request": "order"}),
        json!({"request": "dirs", "min": 0.0}),
        json!({"request": "dirs", "of": shares.join("open/a"), "min": 0.0}),
        json!({"request": "covers", "paths": [SHARES, shares.join("closed"), "/etc"]}),
    ];
    for number in 0..12_usize {
        let folder = if number % 2 == 0 { "open/a" } else { "open/b" };
        let name = format!("{number}.{}", SEEN_AS[number % 3]);
        let file = shares.join(folder).join(name);
        questions.extend([
            json!({"request": "find", "subject": {"file": file}}),
            json!({
                "request": "find", "subject": {"file": file}, "within": [SHARES], "exact": true,
            }),
            json!({"request": "find", "subject": {"file": file}, "top": 1, "min": 0.0}),
            json!({"request": "find", "subject": {"file": file}, "min_size": 1_000_000}),
            json!({"request": "first-seen", "paths": [file]}),
        ]);
    }
    for name in [
        "open/a/hidden-0.txt",
        "open/a/1.txt!no",
        "closed/hidden-1.txt",
        "closed",
        "nothing",
    ] {
        let file = shares.join(name);
        questions.push(json!({"request": "find", "subject": {"file": file}}));
    }
    // Some of these members exist.
    for number in 0..10 {
        for folder in ["open/a", "closed"] {
            let member = format!("{folder}/hidden-{number}.eml!minutes.docx");
            let member = shares.join(member);
            questions.push(json!({"request": "find", "subject": {"file": member}}));
        }
    }
    questions
}

/// Starts a daemon on a tree with or without hidden files. Returns all answers of the daemon to
/// [`ASKER`] and to root. The times of the files are the same in every tree.
fn told(seed: u64, with_hidden: bool) -> [Vec<(Value, Answer)>; 2] {
    let disks = disks();
    seen(seed);
    if with_hidden {
        hidden(seed);
    }
    fs::set_permissions(
        Path::new(SHARES).join("closed"),
        fs::Permissions::from_mode(0o700),
    )
    .expect("chmod");
    for file in super::files(Path::new(SHARES)) {
        let time =
            std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_700_000_000);
        let file = fs::File::options().append(true).open(file).expect("a file");
        file.set_modified(time).expect("a time");
    }
    let server = Server::start(disks, &["--no-mount", "--boilerplate", "20"]);
    let answers = [ASKER, ROOT].map(|user| {
        as_user(user, || {
            let asked = questions().into_iter();
            asked
                .map(|question| (question.clone(), ask_here(&question)))
                .collect()
        })
    });
    drop(server);
    answers
}

#[test]
fn answers_are_the_same_with_and_without_what_is_hidden() {
    const NAME: &str =
        "system_mode::nothing_leaks::answers_are_the_same_with_and_without_what_is_hidden";
    if in_mounts_of_its_own(NAME) {
        return;
    }
    let runs: u64 = asked_for("RESEMBLE_LEAK_RUNS").unwrap_or(1);
    let (mut compared, mut bytes) = (0, 0);
    for seed in 1..=runs {
        let ([without, all_without], [with, all_with]) = (told(seed, false), told(seed, true));
        let mut rows = 0;
        for ((question, without), (_, with)) in without.iter().zip(&with) {
            assert_eq!(with.lines, without.lines, "{question}");
            rows += with.rows.len();
            compared += 1;
            bytes += with.lines.iter().map(String::len).sum::<usize>();
        }
        assert!(rows > 100, "there is something to tell: {rows}");
        // As a control, root's answers must differ, because root sees the hidden files.
        let both = all_without.iter().zip(&all_with);
        let other = both.filter(|(without, with)| without.1.lines != with.1.lines);
        let other = other.count();
        assert!(other > 30, "nothing was hidden: {other}");
    }
    eprintln!("{compared} answers of {bytes} bytes in pairs of runs: 0 differing bytes");
}
