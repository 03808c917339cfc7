//! Tests plans that remove near copies: which file stays, which files are removed, and what the
//! plan checks before it removes them.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use resemble_testutil::office::dated_docx;
use resemble_testutil::prose::lines;
use resemble_testutil::{Environment, Ran, finish};

use super::environment;
use super::plans::{run, shell, snapshot};

/// Makes a plan of the near copies below `t`.
fn planned(env: &Environment, share: &str, more: &[&str]) -> Ran {
    let args = [
        "groups",
        "t",
        "--local",
        "--plan=trash",
        "-o",
        "plan.sh",
        "--superseded",
        share,
    ];
    let made = env.run(args.iter().chain(more));
    assert_eq!(made.code, 0, "{made:?}");
    made
}

fn script(env: &Environment) -> String {
    let text = fs::read_to_string(env.path("plan.sh")).unwrap();
    let at = text.find("# The steps.").unwrap();
    text[at..].to_owned()
}

/// Returns the names below `t`, sorted.
fn left(env: &Environment) -> Vec<String> {
    let paths = snapshot(&env.path("t")).into_keys();
    let names = paths.map(|path| path.file_name().unwrap().to_string_lossy().into_owned());
    names.collect()
}

/// Writes three versions, each of which contains the version before it, and a copy of the first
/// version.
fn chain(env: &Environment) {
    let text = lines(1, 100);
    let first = |count: usize| text.split_inclusive('\n').take(count).collect::<String>();
    env.write("t/v1", first(80));
    env.write("t/v1 again", first(80));
    env.write("t/v2", first(90));
    env.write("t/v3", first(100));
}

#[test]
fn of_a_chain_the_last_stays_and_proves_each_step() {
    let env = environment();
    chain(&env);
    let before = snapshot(&env.path("t"));
    let made = planned(&env, "100%", &[]);
    assert!(
        made.err.contains("a plan of 3 steps (3 of near copies)"),
        "{made:?}"
    );
    let steps = script(&env);
    let kept = steps.lines().filter(|line| line.starts_with("supersede '"));
    let of_last = kept.clone().filter(|line| line.contains("/t/v3' "));
    assert_eq!((kept.count(), of_last.count()), (3, 3), "{steps}");
    assert!(!steps.contains("\nstep "), "{steps}");

    let dry = run(&env, "dash", &[]);
    assert_eq!(dry.code, 0, "{dry:?}");
    assert!(
        dry.text()
            .contains("v3 stays; loses nothing: resemble why "),
        "{dry:?}"
    );
    assert_eq!(snapshot(&env.path("t")), before);
    let done = run(&env, "sh", &["--do-it"]);
    assert!(
        done.code == 0 && done.text().contains("3 of 3 steps done"),
        "{done:?}"
    );
    assert_eq!(left(&env), ["v3"]);
    let again = run(&env, "bash", &["--do-it"]);
    assert!(again.text().contains("all done"), "{again:?}");
    let undone = run(&env, "sh", &["--undo"]);
    assert!(undone.text().contains("all undone: 3"), "{undone:?}");
    assert_eq!(snapshot(&env.path("t")), before);
}

/// A plan from a saved report equals a plan from the files. Normally the file that contains the
/// others stays, but rules of `--keep` take precedence. Here the rule keeps `v1`, which contains no
/// other version, so only copies that equal it are removed.
#[test]
fn rules_choose_what_stays_of_a_cluster() {
    let env = environment();
    chain(&env);
    planned(&env, "50%", &[]);
    let at_once = script(&env);
    let args = [
        "groups",
        "t",
        "--local",
        "--format=json",
        "-o",
        "report.json",
    ];
    assert_eq!(env.run(args).code, 0);
    let args = [
        "groups",
        "--from=report.json",
        "--plan=trash",
        "--superseded=50%",
    ];
    let later = env.run(args);
    assert!(later.text().ends_with(&at_once), "{later:?}");
    planned(&env, "50%", &["--keep=name:v1"]);
    let steps = script(&env);
    assert!(!steps.contains("supersede '"), "{steps}");
    assert!(
        steps.contains("/t/v1' ") && steps.contains("/t/v1 again' "),
        "{steps}"
    );
    let why = "no dates of their own say which of the two is newer";
    assert_eq!(steps.matches(why).count(), 2, "{steps}");
}

/// Returns two texts that are nearly equal. Each has two lines that the other lacks.
fn diverged() -> [String; 2] {
    let text = lines(2, 100);
    [3, 4].map(|seed| format!("{text}{}", lines(seed, 2)))
}

#[test]
fn of_two_that_differ_the_newer_one_by_its_own_date_stays() {
    let env = environment();
    let [old, new] = diverged();
    env.write("t/old.txt", &old);
    env.write("t/new.txt", &new);
    planned(&env, "90%", &["--keep=newest"]);
    let steps = script(&env);
    assert!(
        !steps.contains("supersede '"),
        "the time of a file is not enough: {steps}"
    );
    assert!(steps.contains("no dates of their own"), "{steps}");

    let env = environment();
    // `old.docx` is written last, but it states an older date.
    env.write("t/new.docx", dated_docx(&new, "2024-03-05T10:22:33Z"));
    env.write("t/old.docx", dated_docx(&old, "2023-03-05T10:22:33Z"));
    planned(&env, "90%", &["--keep=newest"]);
    let steps = script(&env);
    assert!(
        steps.contains("by the dates that the documents state"),
        "{steps}"
    );
    let newer = "is newer: dcterms:modified 2024-03-05, dcterms:modified 2023-03-05";
    assert!(steps.contains(newer), "{steps}");
    let dry = run(&env, "sh", &[]);
    assert!(dry.text().contains("new.docx stays; loses "), "{dry:?}");
    let figures = env.run(["why", "t/old.docx", "t/new.docx", "--format=json"]);
    let figures = figures.json();
    let bytes = figures["differing_bytes_a"].as_u64().unwrap();
    assert!(bytes > 0);
    let said = format!("loses {bytes} bytes of its text in 1 place: resemble why ");
    assert!(dry.text().contains(&said), "{said}: {dry:?}");
    assert_eq!(run(&env, "sh", &["--do-it"]).code, 0);
    assert_eq!(left(&env), ["new.docx"]);
    // `--keep=oldest` keeps the older file. The newer one is not removed, either: a file must not
    // be removed in favour of one that is older by its own date.
    run(&env, "sh", &["--undo"]);
    planned(&env, "90%", &["--keep=oldest"]);
    let steps = script(&env);
    assert!(
        steps.contains("the file that stays is not newer by its own date"),
        "{steps}"
    );
    assert!(!steps.contains("supersede '"), "{steps}");
}

/// Documents with equal texts may differ in other parts, so neither is removed.
#[test]
fn the_text_of_a_document_does_not_prove_that_it_is_held_whole() {
    let env = environment();
    let text = lines(5, 60);
    env.write("t/a.docx", dated_docx(&text, "2024-03-05T10:22:33Z"));
    env.write(
        "t/b.docx",
        dated_docx(&text, "2024-03-05T10:22:33Z")
            .into_iter()
            .chain(*b"x")
            .collect::<Vec<u8>>(),
    );
    planned(&env, "90%", &[]);
    let steps = script(&env);
    assert!(!steps.contains("supersede '"), "{steps}");
}

/// A near copy is compared with the file that stays, not with the centre of their cluster.
#[test]
fn figures_are_against_the_file_that_stays() {
    let env = environment();
    let text = lines(6, 130);
    let part = |from: usize, to: usize| {
        let all = text.split_inclusive('\n');
        all.skip(from).take(to - from).collect::<String>()
    };
    env.write("t/first", part(0, 80));
    env.write("t/middle", part(0, 100));
    env.write("t/last", part(30, 130) + &lines(7, 20));
    let groups = env.run(["groups", "t", "--local", "--format=json"]);
    let groups = groups.json();
    let cluster = &groups["clusters"][0];
    assert_eq!(cluster["members"].as_array().unwrap().len(), 3, "{groups}");
    assert!(
        cluster["center"].as_str().unwrap().ends_with("middle"),
        "{groups}"
    );
    planned(&env, "90%", &["--keep=name:last"]);
    let steps = script(&env);
    assert!(!steps.contains("supersede '"), "{steps}");
    for (name, share) in [("first", "62%"), ("middle", "70%")] {
        let why = format!("/t/{name}: {share} of it lies in the file that stays");
        assert!(steps.contains(&why), "{why}: {steps}");
    }
}

/// Both texts have the same words. But their line ends differ, so no run of 64 bytes is in both.
#[test]
fn a_text_with_other_line_ends_is_said_to_be_the_same_text() {
    let env = environment();
    let rows = (0..90).map(|at| format!("row {at} of {}\n", at * at));
    let text = rows.collect::<Vec<_>>().concat();
    env.write("t/text.txt", &text);
    env.write("by/text.txt", text.replace('\n', "\r\n"));
    let compared = env.run(["compare", "t", "by", "--local"]);
    assert!(
        compared
            .text()
            .contains("text.txt  (the same text, other bytes)\n"),
        "{compared:?}"
    );
    let covered = env.run(["covered", "t", "--by", "by", "--local"]);
    let line = "99%  t/text.txt has the text, not the bytes, of by/text.txt\n";
    assert!(covered.text().contains(line), "{covered:?}");
    env.write("t/saved.txt", text.replace('\n', "\r\n"));
    planned(&env, "90%", &[]);
    let why = "it has the text of the file that stays, and other bytes: resemble why ";
    let steps = script(&env);
    assert!(steps.contains(why), "{steps}");
}

#[test]
fn what_changed_after_the_plan_is_skipped() {
    for changed in [
        &["t/v1"][..],
        &["t/v3"],
        &["t/v1", "t/v1 again", "t/v2", "t/v3"],
    ] {
        let env = environment();
        chain(&env);
        planned(&env, "90%", &[]);
        for name in changed {
            let path = env.path(name);
            let time = fs::metadata(&path).unwrap().modified().unwrap();
            let mut bytes = fs::read(&path).unwrap();
            bytes[7] ^= 1;
            fs::write(&path, bytes).unwrap();
            let file = fs::File::options().append(true).open(&path).unwrap();
            file.set_modified(time).unwrap();
        }
        let before = snapshot(&env.path("t"));
        let done = run(&env, "sh", &["--do-it"]);
        assert_eq!(done.code, 1, "{changed:?} {done:?}");
        let after = snapshot(&env.path("t"));
        for name in changed {
            let path = env.path(name);
            assert_eq!(before.get(&path), after.get(&path), "{changed:?} {done:?}");
        }
        if changed.contains(&"t/v3") {
            assert_eq!(before, after, "{changed:?} {done:?}");
        } else {
            assert_eq!(left(&env), ["v1", "v3"]);
        }
    }
}

/// A plan checks the digests of both files. If a file has other bytes, this is found, even if its
/// device, inode, size and time are those in the plan.
#[test]
fn digests_are_checked_of_both_files() {
    for digest in [0, 1] {
        let env = environment();
        chain(&env);
        planned(&env, "90%", &[]);
        let text = fs::read_to_string(env.path("plan.sh")).unwrap();
        let is_digest =
            |word: &&str| word.len() == 64 && word.bytes().all(|b| b.is_ascii_hexdigit());
        let of_steps = text.lines().filter_map(|line| {
            let words: Vec<&str> = line.split_whitespace().filter(is_digest).collect();
            words.get(digest).map(|word| (*word).to_owned())
        });
        let wrong = "0".repeat(64);
        let text = of_steps.fold(text.clone(), |text, word| text.replace(&word, &wrong));
        env.write("plan.sh", text);
        let before = snapshot(&env.path("t"));
        let done = run(&env, "sh", &["--do-it"]);
        assert_eq!(done.code, 1, "{done:?}");
        assert_eq!(done.err.matches("has other bytes").count(), 3, "{done:?}");
        assert_eq!(snapshot(&env.path("t")), before);
    }
}

#[test]
fn without_the_program_nothing_is_done() {
    let env = environment();
    chain(&env);
    planned(&env, "90%", &[]);
    let before = snapshot(&env.path("t"));
    for program in ["/nowhere/resemble", "false"] {
        for args in [&[][..], &["--do-it"]] {
            let mut command = shell(&env, "sh");
            command.env("RESEMBLE", program).arg(env.path("plan.sh"));
            let ended = finish(command.args(args), b"");
            assert_eq!(ended.code, 2, "{program} {ended:?}");
            let why = "needs the program resemble";
            assert!(ended.err.contains(why), "{ended:?}");
            assert_eq!(snapshot(&env.path("t")), before);
        }
    }
    assert!(!env.path("plan.sh.log").exists());
}

/// If a file is still there after the program for the trash has reported success, the step fails.
#[test]
fn a_program_that_moves_nothing_is_believed_nothing() {
    let env = environment();
    for name in ["t/a", "t/b"] {
        env.write(name, lines(1, 100));
    }
    let made = env.run(["groups", "t", "--local", "--plan=trash", "-o", "plan.sh"]);
    assert_eq!(made.code, 0, "{made:?}");
    let before = snapshot(&env.path("t"));
    let run_by = |program: &Path| {
        let mut command = shell(&env, "sh");
        command.env("RESEMBLE", program).arg(env.path("plan.sh"));
        finish(command.arg("--do-it"), b"")
    };
    let ended = run_by(Path::new("true"));
    let why = "it could not be moved to the trash";
    assert!(ended.code == 1 && ended.err.contains(why), "{ended:?}");
    assert_eq!(snapshot(&env.path("t")), before);
    // This program removes the file, and prints a path at which there is no file.
    let liar = env.write("liar", "#!/bin/sh\nrm -- \"$3\"; echo /nowhere\n");
    fs::set_permissions(&liar, fs::Permissions::from_mode(0o755)).unwrap();
    let ended = run_by(&liar);
    let why = "not where the program says";
    assert!(ended.code == 1 && ended.err.contains(why), "{ended:?}");
    assert!(ended.text().ends_with("0 of 1 steps done\n"), "{ended:?}");
}

#[test]
fn names_may_be_anything() {
    let names: [&[u8]; 8] = [
        b"new\nline\n",
        b"$(touch owned)`touch owned`",
        b"';touch owned;'",
        b"\\0101\\c%s%n",
        b"-rf",
        b"\xff\xfe\x1b[2J",
        "gr\u{f6}\u{df}e \u{202e}txt".as_bytes(),
        b"a'b\"c!d",
    ];
    let env = environment();
    let text = lines(8, 80);
    for (number, name) in names.iter().enumerate() {
        let rows = text.split_inclusive('\n').take(60 + number);
        let name = OsString::from_vec(name.to_vec());
        env.write(Path::new("t").join(name), rows.collect::<String>());
    }
    planned(&env, "70%", &[]);
    let steps = script(&env);
    let is_harmless = |c: char| c == '\n' || !c.is_control() && c != '\u{202e}';
    assert!(steps.chars().all(is_harmless), "{steps}");
    let dry = run(&env, "dash", &[]);
    assert!(dry.text().chars().all(is_harmless), "{dry:?}");
    let done = run(&env, "dash", &["--do-it"]);
    assert_eq!(done.code, 0, "{done:?}");
    assert!(done.text().contains("7 of 7 steps done"), "{done:?}");
    assert!(!env.path("owned").exists() && !Path::new("owned").exists());
    let left: Vec<_> = snapshot(&env.path("t")).into_keys().collect();
    assert_eq!(left, [env.path("t").join("a'b\"c!d")]);
}

#[test]
fn near_copies_only_go_where_they_come_back_from() {
    let env = environment();
    chain(&env);
    for kind in ["remove", "symlink", "hardlink", "reflink"] {
        let refused = env.run(["groups", "t", "--local", "--superseded=95%", "--plan", kind]);
        assert_eq!(refused.code, 2, "{refused:?}");
        assert_eq!(refused.err.lines().count(), 1, "{refused:?}");
    }
    let args = [
        "groups",
        "t",
        "--plan=trash",
        "--superseded=95%",
        "--only=identical",
    ];
    assert_eq!(env.run(args).code, 2);
    assert_eq!(env.run(["groups", "t", "--superseded=95%"]).code, 2);
}

/// A version that contains another version counts as the newer one. If the dates that the documents
/// state contradict that, a remark says so.
#[test]
fn dates_that_contradict_what_versions_hold_are_said() {
    let env = environment();
    let text = lines(9, 80);
    let rows: Vec<&str> = text.split_inclusive('\n').collect();
    let dated = |name: &str, rows: &[&str], day: &str| {
        env.write(
            name,
            dated_docx(&rows.concat(), &format!("{day}T10:00:00Z")),
        );
    };
    dated("t/1.docx", &rows[..60], "2024-01-01");
    dated("t/2.docx", &rows[..70], "2024-02-02");
    dated("t/3.docx", &rows, "2023-03-03");
    let remark = "older by its date than a version that it holds whole";
    for verb in [
        &["groups", "t", "--local"][..],
        &["versions", "t/1.docx", "--in=t", "--local"],
    ] {
        let said = env.run(verb).text();
        let marked: Vec<&str> = said.lines().filter(|line| line.contains(remark)).collect();
        assert!(marked.len() == 1 && marked[0].contains("3.docx"), "{said}");
        let json = env.run(verb.iter().chain(&["--format=json"])).text();
        assert_eq!(
            json.matches("\"older_than_held\":true").count(),
            1,
            "{json}"
        );
    }
    dated("t/3.docx", &rows, "2024-03-03");
    let said = env.run(["groups", "t", "--local"]).text();
    assert!(!said.contains(remark), "{said}");
}

/// A file is not removed if the file that stays has the same lines in another order, or fewer
/// times. A conflict copy with the same lines in another order counts as diverged.
#[test]
fn bytes_in_another_order_are_not_held_whole() {
    let env = environment();
    let text = lines(5, 100);
    let mut shuffled: Vec<&str> = text.split_inclusive('\n').collect();
    shuffled.sort_by_key(|line| line.chars().rev().collect::<String>());
    env.write("t/shuffled", shuffled.concat());
    env.write("t/whole", format!("{text}one more line of it\n"));
    env.write("u/twice", [&text[..], &text].concat());
    env.write("u/once", &text);
    for (folder, more) in [("t", &[][..]), ("u", &["--keep=name:once"])] {
        let args = [
            "groups",
            folder,
            "--local",
            "--plan=trash",
            "--superseded=50%",
        ];
        let made = env.run(args.iter().chain(more));
        assert!(!made.text().contains("\nsupersede '"), "{}", made.text());
    }
    env.write("c/a.txt", &text);
    env.write(
        "c/a.sync-conflict-20240131-101112-ABCDEF7.txt",
        shuffled.concat(),
    );
    let found = env
        .run(["groups", "--conflicts", "c", "--format", "json"])
        .json();
    assert_eq!(found["conflicts"][0]["state"], "diverged", "{found}");
}
