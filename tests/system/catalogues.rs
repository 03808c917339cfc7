use std::ffi::OsString;
use std::fs;
use std::path::Path;

use resemble_testutil::prose::{edited, prose};
use resemble_testutil::{Ran, Sandbox, fuse_works, names, pack};

fn args(words: &[&str]) -> Vec<OsString> {
    words.iter().map(OsString::from).collect()
}

/// Makes a disk, which tests remove later, and documents that stay. The first document is a copy of
/// a file on the disk, and the second is an edited version. The third is a member of an archive on
/// the disk. The fourth document is new.
fn disk_and_documents(sandbox: &Sandbox) {
    let at = |name: &str, bytes: &[u8]| {
        let path = sandbox.path(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
        fs::write(path, bytes).expect("a file");
    };
    let (report, letter, minutes) = (prose(1, 20_000), prose(2, 9_000), prose(3, 14_000));
    at("disk/2019/report.txt", &report);
    at("disk/2019/letter.txt", &letter);
    at("disk/only here.txt", &prose(4, 8_000));
    at(
        "disk/archive.zip",
        &pack::zip(&[("in/minutes.txt", &minutes)]),
    );
    std::os::unix::fs::symlink("2019", sandbox.path("disk/latest")).expect("a link");
    sandbox.write("work/report.txt", &report);
    sandbox.write("work/letter-2.txt", edited(&letter, 5, 3));
    sandbox.write("work/minutes.txt", &minutes);
    sandbox.write("work/new.txt", prose(6, 5_000));
}

fn export(sandbox: &Sandbox, words: &[&str]) -> Ran {
    sandbox
        .resemble(args(&[&["catalogue", "write"], words].concat()))
        .success()
}

/// Removes the fields that may differ between answers about a disk and about its catalogue. They
/// are owners, and figures that are only estimated for a catalogue.
fn without_figures(value: &mut serde_json::Value) {
    const FIGURES: [&str; 19] = [
        "a_in_b",
        "average",
        "b_in_a",
        "bytes_a_in_b",
        "bytes_b_in_a",
        "digest",
        "discounted",
        "estimate",
        "interval",
        "layer",
        "owner",
        "owner_a",
        "owner_b",
        "owners",
        "reason",
        "resemblance",
        "score",
        "shared_bytes",
        "worst",
    ];
    match value {
        serde_json::Value::Object(fields) => {
            fields.retain(|name, _| !FIGURES.contains(&&name[..]));
            fields.values_mut().for_each(without_figures);
        }
        serde_json::Value::Array(values) => values.iter_mut().for_each(without_figures),
        _ => {}
    }
}

#[test]
fn a_disk_that_is_gone_is_asked_about() {
    let sandbox = Sandbox::new();
    disk_and_documents(&sandbox);
    let questions = |disk: &str| -> Vec<Vec<OsString>> {
        let under = format!(
            "{}2019",
            if disk == "disk" {
                "disk/"
            } else {
                "disk.cat:/"
            }
        );
        vec![
            args(&["find", "tree/work/report.txt", "--in", disk]),
            args(&["find", "tree/work/letter-2.txt", "--in", disk]),
            args(&["find", "tree/work/minutes.txt", "--in", disk]),
            args(&["find", "tree/work/report.txt", "--in", &under]),
            args(&["compare", disk, "tree/work"]),
            args(&["compare", "tree/work", disk]),
            args(&["compare", &under, "tree/work"]),
            args(&["dirs", disk, "tree/work"]),
            args(&["groups", disk, "tree/work"]),
            args(&["pairs", disk, "tree/work/minutes.txt", "--text"]),
        ]
    };
    let ask = |disk: &str| -> Vec<(String, i32)> {
        questions(disk)
            .into_iter()
            .map(|mut question| {
                question.extend(args(&["--format", "json", "--local"]));
                let answer = sandbox.resemble(&question);
                assert_eq!(answer.err, "", "{question:?}");
                // In the answer about the catalogue, the name of the catalogue is replaced by the
                // name of the disk.
                let text = answer
                    .text()
                    .replace("disk.cat:", "disk")
                    .replace("disk.cat", "disk");
                let mut document = serde_json::from_str(&text).expect("JSON");
                without_figures(&mut document);
                (document.to_string(), answer.code)
            })
            .collect()
    };
    let live = ask("disk");
    export(&sandbox, &["disk", "-o", "disk.cat", "--local"]);
    fs::rename(sandbox.path("disk"), sandbox.path("drawer")).expect("moved");
    let recorded = ask("disk.cat");
    for (question, (live, recorded)) in questions("disk").iter().zip(live.iter().zip(&recorded)) {
        assert_eq!(live, recorded, "{question:?}");
    }
    assert!(
        recorded[2].0.contains("disk/archive.zip!in/minutes.txt"),
        "{}",
        recorded[2].0
    );
    // The cache has the catalogue, but a question about other folders ignores it.
    let alone = sandbox.resemble(["groups", "tree/work", "--local"]);
    let fresh = sandbox.resemble(["groups", "tree/work", "--local", "--no-cache"]);
    assert_eq!(alone.text(), fresh.text());
}

#[test]
fn both_ways_write_the_same_bytes() {
    let sandbox = Sandbox::new();
    disk_and_documents(&sandbox);
    let daemon = sandbox.daemon([""; 0]);
    daemon.sync();
    for options in [&[][..], &["--no-names"], &["--no-text"]] {
        let write = |to: &str, local: &[&str]| {
            let fixed = ["tree", "-o", to, "--label", "x", "--created", "7"];
            export(&sandbox, &[&fixed, options, local].concat());
            fs::read(sandbox.path(to)).expect("a catalogue")
        };
        let (by_daemon, local) = (write("a.cat", &[]), write("b.cat", &["--local"]));
        assert!(by_daemon == local, "{options:?}");
        let (again, fresh) = (
            write("c.cat", &["--local"]),
            write("d.cat", &["--local", "--no-cache"]),
        );
        assert!(again == local && fresh == local, "{options:?}");
        let has = |name: &[u8]| local.windows(name.len()).any(|window| window == name);
        assert_eq!(has(b"minutes"), options != ["--no-names"], "{options:?}");
    }
}

/// A catalogue that is added is kept, even across restarts of the daemon. Without a daemon, the
/// command keeps it. Daemon and command give the same answers, until the catalogue is removed.
#[test]
fn a_kept_catalogue_takes_part_until_it_is_forgotten() {
    let sandbox = Sandbox::new();
    disk_and_documents(&sandbox);
    export(&sandbox, &["disk", "-o", "disk.cat", "--local"]);
    fs::remove_dir_all(sandbox.path("disk")).expect("gone");
    let daemon = sandbox.daemon([""; 0]);
    daemon.sync();
    let before = (
        daemon.dump(),
        sandbox.resemble(["find", "tree/work/report.txt"]).text(),
    );
    sandbox.resemble(["catalogue", "add", "disk.cat"]).success();
    fs::remove_file(sandbox.path("disk.cat")).expect("gone");
    let ask = || {
        let both_ways = |words: &[&str]| {
            let daemon = sandbox.resemble(args(words));
            let local = sandbox.resemble(args(&[words, &["--local"]].concat()));
            assert_eq!(
                (daemon.text(), daemon.code),
                (local.text(), local.code),
                "{words:?}"
            );
            daemon.text()
        };
        for format in ["text", "json", "csv", "tsv"] {
            both_ways(&["compare", "disk:", "tree/work", "--format", format]);
            both_ways(&["dirs", "disk:", "tree/work", "--format", format]);
            both_ways(&["groups", "disk:", "tree/work", "--format", format]);
            both_ways(&["covered", "tree/work", "--by", "disk:", "--format", format]);
        }
        both_ways(&[
            "find",
            "tree/work/new.txt",
            "--in",
            "disk:/2019",
            "--holders",
        ]);
        both_ways(&[
            "find",
            "disk:/2019/letter.txt",
            "--in",
            "tree/work",
            "--format",
            "json",
        ]);
        both_ways(&["dump", "--canonical", "disk:"]);
        let within = ["--in", "disk:", "--in", "tree/work", "--format", "json"];
        both_ways(&[&["lost", "disk:/2019/letter.txt"], &within[..]].concat());
        both_ways(&[&["lost", "tree/gone/2019/letter.txt"], &within[..]].concat());
        let csv = ["--format", "csv"];
        both_ways(&[&["history", "disk:/2019/letter.txt"], &within[..4], &csv].concat());
        let everywhere = sandbox.resemble(["find", "tree/work/report.txt"]).text();
        assert!(
            everywhere.contains("100%  identical  disk:/2019/report.txt"),
            "{everywhere}"
        );
        // Without `--in`, patterns and minimum sizes apply to the roots and to the catalogues.
        let filtered = |words: &[&str]| {
            let words = [&["find", "tree/work/report.txt"], words].concat();
            let found = sandbox.resemble(args(&words));
            (found.code, found.text())
        };
        let all = filtered(&["--include", "*.txt"]);
        assert_eq!(all, (0, everywhere.clone()));
        for words in [
            ["--include", "*.none"],
            ["--exclude", "*.txt"],
            ["--min-size", "1G"],
        ] {
            assert_eq!(filtered(&words), (1, String::new()), "{words:?}");
        }
        let status = sandbox.resemble(["status"]).success().text();
        assert!(status.contains("disk:  catalogue"), "{status}");
    };
    ask();
    assert_eq!(daemon.stop(), 0);
    let daemon = sandbox.daemon([""; 0]);
    daemon.sync();
    ask();
    // The dump of the daemon's roots does not have the files of the catalogue.
    assert_eq!(daemon.dump(), before.0);
    sandbox.resemble(["watch", "remove", "disk:"]).success();
    assert_eq!(
        sandbox.resemble(["find", "tree/work/report.txt"]).text(),
        before.1
    );
    sandbox.resemble(["watch", "remove", "disk:"]).exits(2);
    let gone = sandbox
        .resemble(["compare", "disk:", "tree/work", "--local"])
        .exits(2);
    assert!(
        gone.err.contains("no catalogue \"disk\" is kept"),
        "{}",
        gone.err
    );
}

/// The subject is a file of a catalogue that the daemon does not have. So the command sends the
/// daemon the samples of that file.
#[test]
fn the_daemon_is_asked_about_a_file_of_a_catalogue_that_it_has_not() {
    let sandbox = Sandbox::new();
    disk_and_documents(&sandbox);
    export(&sandbox, &["disk", "-o", "disk.cat", "--local"]);
    fs::remove_dir_all(sandbox.path("disk")).expect("gone");
    let daemon = sandbox.daemon([""; 0]);
    daemon.sync();
    for (file, expected) in [
        ("2019/report.txt", "100%  identical  tree/work/report.txt"),
        ("2019/letter.txt", "tree/work/letter-2.txt"),
        ("archive.zip", "tree/work/minutes.txt"),
        (
            "archive.zip!in/minutes.txt",
            "100%  identical  tree/work/minutes.txt",
        ),
    ] {
        let file = format!("disk.cat:/{file}");
        let found = sandbox
            .resemble(["find", &file, "--in", "tree/work"])
            .success();
        assert_eq!(
            (found.text().lines().count(), &*found.err),
            (1, ""),
            "{}",
            found.text()
        );
        assert!(found.text().contains(expected), "{}", found.text());
        let everywhere = sandbox.resemble(["find", &file]).success().text();
        assert!(everywhere.contains("/work/"), "{everywhere}");
        let local = sandbox.resemble(["find", &file, "--in", "tree/work", "--local"]);
        assert_eq!((local.text(), local.code), (found.text(), 0), "{file}");
    }
    let missing = sandbox.resemble(["find", "disk.cat:/2019/none", "--in", "tree/work"]);
    assert!(missing.exits(2).err.contains("is no file of the catalogue"));
}

/// The overlay and the alerts ignore catalogues, because catalogued files cannot be opened and do
/// not change. So a new file that resembles only a file in a catalogue has an empty listing and
/// raises no alert.
#[test]
fn the_overlay_and_alerts_leave_catalogues_out() {
    if !fuse_works() {
        return;
    }
    let sandbox = Sandbox::new();
    disk_and_documents(&sandbox);
    export(&sandbox, &["disk", "-o", "disk.cat", "--local"]);
    fs::remove_dir_all(sandbox.path("disk")).expect("gone");
    let daemon = sandbox.mounted([""; 0]);
    daemon.sync();
    let similar = |file: &str| names(sandbox.mount(file).join(".similar"));
    let before = similar("work/letter-2.txt");
    sandbox.resemble(["catalogue", "add", "disk.cat"]).success();
    // The only file that resembles this file is in the catalogue. A question finds that file.
    sandbox.write("work/here.txt", edited(&prose(4, 8_000), 3, 2));
    daemon.sync();
    let found = sandbox
        .resemble(["find", "tree/work/here.txt"])
        .success()
        .text();
    assert!(found.contains("disk:/only here.txt"), "{found}");
    assert_eq!(similar("work/letter-2.txt"), before);
    assert_eq!(similar("work/here.txt"), Vec::<OsString>::new());
    let alerts = sandbox.resemble(["alerts", "--format", "json"]).json();
    assert_eq!(alerts["alerts"], serde_json::json!([]), "{alerts}");
}

/// A verb that needs the bytes of a catalogued file reports that they are not available. An equal
/// digest is not a proof, unless an option accepts it as proof.
#[test]
fn what_is_not_here_is_said() {
    let sandbox = Sandbox::new();
    disk_and_documents(&sandbox);
    export(&sandbox, &["disk", "-o", "disk.cat", "--local"]);
    let ask = |words: &[&str], code| sandbox.resemble(args(words)).exits(code);
    let not_here = |words: &[&str]| {
        let answer = ask(words, 2);
        assert!(answer.err.contains("only a catalogue"), "{}", answer.err);
        answer
    };
    not_here(&["why", "disk.cat:/2019/report.txt", "tree/work/report.txt"]);
    let found = not_here(&[
        "find",
        "tree/work/letter-2.txt",
        "--in",
        "disk.cat",
        "--exact",
    ]);
    assert!(
        found.text().contains("disk.cat:/2019/letter.txt"),
        "{}",
        found.text()
    );
    let plan = ask(&["groups", "disk.cat", "tree", "--plan", "hardlink"], 0);
    // The file on the disk cannot be replaced by a hard link to a file in the tree.
    assert!(plan.err.contains("a plan of 0 steps"), "{}", plan.err);
    ask(&["covered", "disk.cat", "--by", "tree"], 2);

    sandbox.write("two/report.txt", prose(1, 20_000));
    sandbox.write("two/letter.txt", prose(2, 9_000));
    let document = |options: &[&str], code| {
        let question = [
            "covered", "tree/two", "--by", "disk.cat", "--format", "json",
        ];
        ask(&[&question, options].concat(), code).json()
    };
    let unproven = document(&[], 1);
    assert_eq!(unproven["covered"], false);
    assert_eq!(unproven["missing"].as_array().map(Vec::len), Some(2));
    assert_eq!(
        unproven["missing"][0]["reason"],
        "only a catalogue has its equal"
    );
    assert_eq!(unproven["recorded"][1]["by"], "disk.cat:/2019/report.txt");
    let believed = document(&["--by-digest"], 0);
    assert_eq!(believed["covered"], true);
    sandbox.write("two/else.txt", prose(8, 3_000));
    assert_eq!(
        document(&["--by-digest"], 1)["missing"][0]["path"],
        "tree/two/else.txt"
    );
}

/// Each unusable catalogue is refused with one sentence and exit code 2. Earlier files stay
/// unchanged.
#[test]
fn bad_catalogues_are_refused() {
    let sandbox = Sandbox::new();
    disk_and_documents(&sandbox);
    export(&sandbox, &["disk", "-o", "disk.cat", "--local"]);
    let sound = fs::read(sandbox.path("disk.cat")).expect("a catalogue");
    let refused = |bytes: &[u8], why: &str| {
        fs::write(sandbox.path("bad.cat"), bytes).expect("a file");
        for words in [
            &["find", "tree/work/new.txt", "--in", "bad.cat", "--local"][..],
            &["compare", "bad.cat", "tree", "--local"],
            &["catalogue", "add", "bad.cat", "--local"],
        ] {
            let answer = sandbox.resemble(args(words)).exits(2);
            assert_eq!(answer.err.lines().count(), 1, "{}", answer.err);
            assert!(answer.err.contains(why), "{}", answer.err);
        }
    };
    refused(&sound[..sound.len() / 2], "damaged");
    let mut flipped = sound.clone();
    flipped[sound.len() / 3] ^= 4;
    refused(&flipped, "damaged");
    export(
        &sandbox,
        &["disk", "-o", "other.cat", "--chunk-size", "4096", "--local"],
    );
    let other = ["compare", "other.cat", "tree", "--local"];
    let answer = sandbox.resemble(args(&other)).exits(2);
    assert!(answer.err.contains("--chunk-size"), "{}", answer.err);
    let same = [&other[..], &["--chunk-size", "4096"]].concat();
    sandbox.resemble(args(&same)).exits(1);

    // If a catalogue cannot be written, the old one stays, and no other file is left behind.
    let before = names_in(&sandbox.path(""));
    sandbox
        .resemble(["catalogue", "write", "no such", "-o", "disk.cat", "--local"])
        .exits(2);
    sandbox
        .resemble(["catalogue", "write", "disk", "-o", "tree", "--local"])
        .exits(2);
    let label = [
        "catalogue",
        "write",
        "disk",
        "-o",
        "disk.cat",
        "--label",
        "a b",
        "--local",
    ];
    sandbox.resemble(label).exits(2);
    assert_eq!(names_in(&sandbox.path("")), before);
    assert!(fs::read(sandbox.path("disk.cat")).expect("a catalogue") == sound);
}

fn names_in(folder: &Path) -> Vec<OsString> {
    names(folder)
}

/// Passages of a document are in three files, one of which has two names, and in a member of a zip.
/// `find --holders` must list exactly these files.
#[test]
fn every_holder_of_a_part_is_found() {
    let sandbox = Sandbox::new();
    let secret = prose(1, 12_000);
    sandbox.write("secret.txt", &secret);
    let around =
        |seed: u64, part: &[u8]| [&prose(seed, 3_000)[..], part, &prose(seed + 1, 2_000)].concat();
    sandbox.write("a/minutes.txt", around(10, &secret[2_000..2_900]));
    sandbox.write("b/deep/er/mail.txt", around(20, &secret[7_000..9_500]));
    sandbox.write("note.txt", &secret[11_000..11_700]);
    let held = around(30, &secret[5_000..6_000]);
    sandbox.write(
        "old.zip",
        pack::zip(&[("x/y.txt", &held), ("z.txt", &prose(40, 4_000))]),
    );
    for seed in 50..60 {
        sandbox.write(format!("other/{seed}.txt"), prose(seed, 6_000));
    }
    // This passage is shorter than the default minimum of the question.
    sandbox.write("crumb.txt", around(70, &secret[100..250]));
    fs::hard_link(sandbox.tree("note.txt"), sandbox.tree("note too.txt")).expect("a link");
    let daemon = sandbox.daemon([""; 0]);
    daemon.sync();
    let ask = |options: &[&str]| {
        let question = ["find", "tree/secret.txt", "--holders", "--in", "tree"];
        sandbox
            .resemble(args(&[&question[..], options].concat()))
            .success()
    };
    for format in ["text", "json", "jsonl", "csv", "tsv"] {
        let (daemon, local) = (
            ask(&["--format", format]),
            ask(&["--format", format, "--local"]),
        );
        assert_eq!(daemon.text(), local.text());
    }
    let answer = ask(&["--format", "json"]).json();
    let holders = answer["holders"].as_array().expect("rows");
    let paths: Vec<&str> = holders
        .iter()
        .filter_map(|row| row["path"].as_str())
        .collect();
    let expected = [
        "tree/b/deep/er/mail.txt",
        "tree/old.zip!x/y.txt",
        "tree/a/minutes.txt",
        "tree/note too.txt",
        "tree/note.txt",
    ];
    assert_eq!(paths, expected);
    let parts = [
        7_000..9_500,
        5_000..6_000,
        2_000..2_900,
        11_000..11_700,
        11_000..11_700,
    ];
    for (row, part) in holders.iter().zip(parts) {
        assert_eq!(row["proof"], "bytes");
        assert_eq!(row["root"], "tree");
        assert!(row["owner"].is_string(), "{row}");
        // A few bytes before or after the passage may be equal by chance.
        let (from, to) = (row["ranges"][0][0].as_u64(), row["ranges"][0][1].as_u64());
        let (from, to) = (from.expect("a number"), to.expect("a number"));
        assert!(from <= part.start && from + 20 > part.start, "{row}");
        assert!(to >= part.end && to < part.end + 20, "{row}");
    }
    assert_eq!(answer["total"], 5);
    let quick = ask(&["--quick", "--format", "tsv"]).text();
    assert_eq!(quick, ask(&["--format", "tsv"]).text());
    assert_eq!(
        quick,
        ask(&["--quick", "--format", "tsv", "--local"]).text()
    );
    // A passage in a large file is found both by samples (`--quick`) and by reading all files.
    let large = [
        &prose(80, 400_000)[..],
        &secret[3_000..3_300],
        &prose(81, 100),
    ]
    .concat();
    sandbox.write("large.txt", large);
    daemon.sync();
    let read = ask(&["--format", "tsv"]).text();
    assert_eq!(read, ask(&["--format", "tsv", "--local"]).text());
    assert!(read.contains("tree/large.txt\t3"), "{read}");
    assert_eq!(ask(&["--quick", "--format", "tsv"]).text(), read);
    fs::remove_file(sandbox.tree("large.txt")).expect("gone");
    daemon.sync();
    // With a smaller minimum, `crumb.txt` is also listed. `--top` limits the number of rows.
    let more = ask(&["--min-shared", "100", "--format", "tsv"]).text();
    assert!(more.contains("tree/crumb.txt"), "{more}");
    assert_eq!(
        ask(&["--top", "2", "--format", "tsv"])
            .text()
            .lines()
            .count(),
        2
    );
    let everywhere = sandbox
        .resemble(["find", "tree/secret.txt", "--holders"])
        .success();
    assert_eq!(everywhere.text().lines().count(), 5);
    let none = sandbox.resemble(["find", "tree/other/50.txt", "--holders", "--in", "tree/a"]);
    none.exits(1);
}

/// Checks the lines of `dump --chunks`, which are made to be sorted, and the meaning of their
/// numbers.
#[test]
fn chunks_are_lines_for_sort() {
    let sandbox = Sandbox::new();
    let text = prose(1, 20_000);
    sandbox.write("a.txt", &text);
    sandbox.write("b/copy.txt", &text);
    sandbox.write("c.txt", prose(2, 5_000));
    fs::hard_link(sandbox.tree("c.txt"), sandbox.tree("d.txt")).expect("a link");
    let daemon = sandbox.daemon([""; 0]);
    daemon.sync();
    let dump = |form: &str, local: &[&str]| {
        sandbox
            .resemble(args(&[&["dump", form, "tree"], local].concat()))
            .success()
            .text()
    };
    let chunks = dump("--chunks", &[]);
    assert_eq!(chunks, dump("--chunks", &["--local"]));
    let files = dump("--files", &[]);
    assert_eq!(files, dump("--files", &["--local"]));
    let tree = fs::canonicalize(sandbox.path("tree")).expect("a folder");
    let tree = tree.display();
    assert_eq!(
        files,
        format!("1\t{tree}/a.txt\n2\t{tree}/b/copy.txt\n3\t{tree}/c.txt\n3\t{tree}/d.txt\n")
    );
    let mut bytes = [0; 3];
    let mut sums: Vec<Vec<&str>> = vec![Vec::new(); 3];
    for line in chunks.lines() {
        let fields: Vec<&str> = line.split(' ').collect();
        let [length, md5, file] = fields[..] else {
            panic!("{line}");
        };
        assert!(
            md5.len() == 32 && md5.bytes().all(|byte| byte.is_ascii_hexdigit()),
            "{line}"
        );
        let file = file.parse::<usize>().expect("a number") - 1;
        bytes[file] += length.parse::<usize>().expect("a number");
        sums[file].push(md5);
    }
    assert_eq!(bytes[..2], [text.len(); 2]);
    assert_eq!(sums[0], sums[1], "a chunk of both stands in two lines");
    sandbox.resemble(["dump", "tree"]).exits(2);
    sandbox
        .resemble(["dump", "--chunks", "--canonical", "tree"])
        .exits(2);
}
