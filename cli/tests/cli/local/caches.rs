//! Tests the cache, and where the program keeps its files.

use super::*;

#[test]
fn a_second_look_gives_the_same_with_and_without_the_cache() {
    let env = collection();
    let ask = |options: &[&str]| {
        env.run(
            ["pairs", "docs", "--all", "--format", "json"]
                .iter()
                .chain(options),
        )
    };
    let first = ask(&[]);
    assert_eq!(first.code, 0);
    let cache = env.home().join(".cache/resemble/cache.redb");
    assert!(cache.exists());
    assert_eq!(
        std::fs::metadata(cache.parent().unwrap())
            .unwrap()
            .permissions()
            .mode()
            & 0o777,
        0o700
    );
    for options in [&[][..], &["--no-cache"], &["--local"]] {
        assert_eq!(ask(options).text(), first.text(), "{options:?}");
    }
    // The cache does not hide that a file has changed.
    env.write("docs/stranger.txt", paragraphs(1, 60));
    let changed = ask(&[]).json();
    assert_eq!(changed["total"], 10);
    assert_eq!(ask(&["--no-cache"]).json(), changed);
}

/// Damages a cache: changes, truncates or empties it, or puts something else in its place.
fn spoil(cache: &Path, whole: &[u8], random: &mut Random) {
    let mut bytes = whole.to_vec();
    match random.below(12) {
        0 => bytes.truncate(random.below(bytes.len())),
        1 => bytes.clear(),
        2 => bytes[..4096].fill(0),
        3 => bytes = letters(random.draw(), 20_000),
        4 => {
            std::fs::remove_file(cache).unwrap();
            std::fs::create_dir(cache).unwrap();
            return;
        }
        // A block that the disk lost reads as zeros.
        5 => {
            let at = random.below(bytes.len() / 4096) * 4096;
            bytes[at..at + 4096].fill(0);
        }
        _ => {
            for _ in 0..=random.below(8) {
                let at = random.below(bytes.len());
                bytes[at] ^= 1 << random.below(8);
            }
        }
    }
    std::fs::write(cache, bytes).unwrap();
}

/// If the cache is damaged, the answer is the same, and the next run has an undamaged cache.
/// `RESEMBLE_DAMAGES` sets how many damages are tried.
#[test]
fn a_damaged_cache_is_done_without_and_made_anew() {
    let env = collection();
    let verbs: [&[&str]; 6] = [
        &["pairs", "docs", "--all", "--format", "json"],
        &[
            "find",
            "docs/report.txt",
            "--in",
            "docs",
            "--format",
            "json",
        ],
        &["groups", "docs", "--all", "--format", "json"],
        &["compare", "docs", "docs", "--format", "json"],
        &["dump", "--canonical", "docs"],
        &["covered", "docs", "--by", "docs", "--format", "json"],
    ];
    let expected = verbs.map(|verb| {
        let ran = env.run(verb);
        (ran.code, ran.text())
    });
    let cache = env.home().join(".cache/resemble/cache.redb");
    let whole = std::fs::read(&cache).unwrap();
    let mut random = Random::new(7);
    let mut said = 0;
    for round in 0..asked_for("RESEMBLE_DAMAGES").unwrap_or(36) {
        let verb = round % verbs.len();
        spoil(&cache, &whole, &mut random);
        for is_first in [true, false] {
            let ran = env.run(verbs[verb]);
            let (code, text) = &expected[verb];
            assert_eq!(
                (ran.code, &ran.text()),
                (*code, text),
                "{round}: {}",
                ran.err
            );
            let says = ran.err.matches("the cache is made anew").count();
            assert!(says <= usize::from(is_first), "{round}: {}", ran.err);
            said += says;
        }
    }
    assert!(said > 10, "{said}");
    std::fs::write(&cache, b"not a database").unwrap();
    let quiet: Vec<&str> = verbs[0].iter().copied().chain(["-q"]).collect();
    assert_eq!(env.run(quiet).err, "");
}

#[test]
fn a_cache_that_has_outgrown_its_limit_is_begun_anew_and_says_so() {
    let env = collection();
    let ask = |size: &str| env.run(["pairs", "docs", "--cache-size", size]);
    let first = ask("1K");
    assert_eq!(first.err, "");
    let second = ask("1K");
    assert_eq!(second.out, first.out);
    assert!(
        second.err.contains("the cache had outgrown 1.0 KiB"),
        "{}",
        second.err
    );
    assert_eq!(ask("1G").err, "");
}

#[test]
fn without_a_place_for_a_cache_there_is_none() {
    let env = collection();
    let ran = finish(
        env.command(["pairs", "docs", "--min", "100"])
            .env_remove("HOME"),
        b"",
    );
    ran.is(0, "100%  docs/old/copy.txt  docs/report.txt\n", "");
}

#[test]
fn other_chunks_have_a_cache_of_their_own() {
    let env = collection();
    assert_eq!(env.run(["pairs", "docs", "--chunk-size", "256"]).code, 0);
    let caches: Vec<String> = std::fs::read_dir(env.home().join(".cache/resemble"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.starts_with("cache"))
        .collect();
    assert_eq!(caches.len(), 1);
    assert!(caches[0].starts_with("cache-tttd-"), "{caches:?}");
    let json = env
        .run(["pairs", "docs", "--chunk-size", "256", "--format", "json"])
        .json();
    let params = json["parameters"]["params"].as_str().unwrap();
    assert_eq!(caches[0], format!("cache-{params}.redb"));
}

#[test]
fn dump_of_two_looks_is_the_same() {
    let env = collection();
    std::os::unix::fs::symlink("report.txt", env.path("docs/link")).unwrap();
    let dump = env.run(["dump", "--canonical", "docs"]);
    assert_eq!((dump.code, dump.err.as_str()), (0, ""));
    let text = dump.text();
    assert_eq!(text.lines().count(), 9, "{text}");
    assert!(text.lines().is_sorted(), "{text}");
    let root = env.path("docs");
    assert!(
        text.lines()
            .all(|line| line.starts_with(root.to_str().unwrap())),
        "{text}"
    );
    env.run(["dump", "--canonical", "docs", "--no-cache"])
        .is(0, &text, "");
    env.run(["dump", "--canonical", "docs", "-o", "../dump"])
        .is(0, "", "");
    assert_eq!(std::fs::read_to_string(env.path("../dump")).unwrap(), text);
    env.write("docs/new", "x");
    let changed = env.run(["dump", "--canonical", "docs"]).text();
    assert_eq!(changed.lines().count(), 10, "{changed}");
}

/// Scratch files are written to the folder of the cache, because the system's temporary folder may
/// be in memory.
#[test]
fn scratch_files_lie_beside_the_cache() {
    let env = collection();
    let ask = |set: &dyn Fn(&mut std::process::Command), args: &[&str]| {
        let mut command = env.command([&["groups", "docs", "--memory", "1M"], args].concat());
        set(&mut command);
        finish(&mut command, b"")
    };
    let usual = ask(&|_| (), &[]);
    assert_eq!(usual.code, 0, "{usual:?}");
    let without = |command: &mut std::process::Command| {
        command.env("TMPDIR", "/nonexistent");
    };
    let ran = ask(&without, &[]);
    assert_eq!((ran.code, ran.text()), (0, usual.text()), "{ran:?}");
    let order = ask(&without, &["--order"]);
    assert_eq!((order.code, order.err.as_str()), (0, ""));
    // With `--no-cache`, scratch files are written to the system's temporary folder.
    let ran = ask(&without, &["--no-cache"]);
    assert_eq!((ran.code, ran.text().as_str()), (2, ""));
    assert!(ran.err.contains("/nonexistent"), "{ran:?}");
    let nowhere = |command: &mut std::process::Command| {
        command.env("XDG_CACHE_HOME", "/dev/null");
    };
    let ran = ask(&nowhere, &[]);
    assert_eq!((ran.code, ran.text()), (0, usual.text()), "{ran:?}");
    let left: Vec<_> = std::fs::read_dir(env.home().join(".cache/resemble"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(left, ["cache.redb"]);
}

/// Files in the state folder and in the cache are not compared, wherever these folders are and by
/// whatever name they are reached. The exception is a folder that the user names.
#[test]
fn our_own_folders_are_not_looked_at() {
    let env = collection();
    let text = paragraphs(1, 60);
    let home = env.home().canonicalize().unwrap();
    for folder in ["docs", ".local/state/resemble", ".cache/resemble", "st"] {
        let folder = home.join(folder);
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("copy.txt"), &text).unwrap();
    }
    let home = home.to_str().unwrap();
    let files = |args: &[&str], state: Option<&str>| {
        let mut command = env.command([&["--local"], args, &["--format", "json"]].concat());
        if let Some(state) = state {
            command.env("RESEMBLE_STATE", state);
        }
        let ran = finish(command.current_dir(home), b"");
        assert!(ran.code < 2, "{ran:?}");
        ran.json()["looked"]["files"].as_u64().unwrap()
    };
    // Of the four folders with a copy, only those in `docs` and `st` are compared. The cache and
    // the default state folder are left out.
    assert_eq!(files(&["pairs", "."], None), 2);
    assert_eq!(files(&["pairs", ".", "--no-cache"], None), 2);
    assert_eq!(files(&["groups", home], None), 2);
    assert_eq!(
        files(&["dirs", ".."], None),
        2 + 6,
        "and the six files of the working directory"
    );
    // A relative path of the state folder starts from the working directory. Only the state folder
    // that is in use is left out.
    assert_eq!(files(&["pairs", ".", "--state", "st"], None), 2);
    assert_eq!(files(&["pairs", "."], Some("st")), 2);
    assert_eq!(files(&["pairs", ".", "--state", "no/such"], None), 3);
    std::os::unix::fs::symlink("st", format!("{home}/link")).unwrap();
    assert_eq!(files(&["pairs", ".", "--state", "link"], None), 2);
    // If the user names the state folder itself or a folder in it, its files are compared.
    assert_eq!(files(&["pairs", "st", "--state", "st"], None), 1);
    assert_eq!(files(&["pairs", ".", "--state", "."], None), 3);
}
