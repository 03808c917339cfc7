use std::fs;
use std::path::Path;

use resemble_testutil::office::{docx, odt, pdf};
use resemble_testutil::pack::{mail, zip};
use resemble_testutil::prose::{prose, sentences};
use resemble_testutil::{Daemon, Sandbox, fuse_works, names};

/// Returns a document that was made by another program.
fn sample(name: &str) -> Vec<u8> {
    let samples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/extract/tests/samples");
    fs::read(samples.join(name)).expect("a sample")
}

/// Returns, for each row of an answer, the path relative to the tree, the relation and the layer.
fn found(sandbox: &Sandbox, args: &[&str]) -> Vec<(String, String, String)> {
    let answer = sandbox
        .resemble([args, &["--format", "json"]].concat())
        .json();
    let tree = sandbox.path("tree");
    let tree = format!("{}/", tree.display());
    let rows = answer["results"].as_array().expect("rows");
    let text = |row: &serde_json::Value, field: &str| {
        row[field].as_str().unwrap_or("-").replace(&tree, "")
    };
    rows.iter()
        .map(|row| (text(row, "path"), text(row, "relation"), text(row, "layer")))
        .collect()
}

fn paths(rows: &[(String, String, String)]) -> Vec<&str> {
    let mut paths: Vec<&str> = rows.iter().map(|row| row.0.as_str()).collect();
    paths.sort_unstable();
    paths
}

fn listing(sandbox: &Sandbox, file: &str) -> Vec<String> {
    let listed = names(sandbox.mount(file).join(".similar"));
    let names = listed
        .into_iter()
        .map(|name| name.to_string_lossy().into_owned());
    names.filter(|name| !name.starts_with('.')).collect()
}

fn ask(sandbox: &Sandbox, file: &str) -> (String, Vec<(String, String, String)>) {
    let path = sandbox.tree(file).display().to_string();
    let rows = found(sandbox, &["find", &path]);
    (path, rows)
}

/// Writes seven documents with the same text, in six formats, and a document with another text.
fn minutes(sandbox: &Sandbox) {
    for name in [
        "minutes.docx",
        "minutes.odt",
        "minutes.rtf",
        "minutes-writer.pdf",
        "minutes-browser.pdf",
        "minutes.html",
        "minutes.txt",
    ] {
        sandbox.write(name, sample(name));
    }
    sandbox.write("talk.pptx", sample("talk.pptx"));
}

#[test]
fn a_document_is_found_in_every_format() {
    let sandbox = Sandbox::new();
    minutes(&sandbox);
    let daemon = sandbox.daemon([""; 0]);
    daemon.sync();
    for name in [
        "minutes.docx",
        "minutes.odt",
        "minutes-writer.pdf",
        "minutes.rtf",
    ] {
        let (_, rows) = ask(&sandbox, name);
        let others = paths(&rows);
        assert_eq!(others.len(), 6, "{name}: {rows:?}");
        assert!(!others.contains(&"talk.pptx") && !others.contains(&name));
        assert!(rows.iter().all(|row| row.2 == "text"), "{name}: {rows:?}");
    }
    assert!(ask(&sandbox, "talk.pptx").1.is_empty());
    // The subject is a file outside of the roots, and then a document from a pipe.
    let outside = sandbox.path("outside.docx");
    fs::write(&outside, sample("minutes.docx")).expect("a file");
    let rows = found(&sandbox, &["find", &outside.display().to_string()]);
    assert_eq!(rows.len(), 7, "{rows:?}");
    assert_eq!(
        (&rows[0].0[..], &rows[0].1[..]),
        ("minutes.docx", "identical")
    );
    let mut piped = sandbox.program("resemble");
    let piped = piped.args(["find", "-", "--format", "tsv"]);
    let piped = piped
        .stdin(fs::File::open(&outside).expect("a file"))
        .output();
    let piped = piped.expect("it runs").stdout;
    assert_eq!(String::from_utf8_lossy(&piped).lines().count(), 7);
    // With `--no-text`, the document is compared by its bytes.
    let rows = found(
        &sandbox,
        &["find", &outside.display().to_string(), "--no-text"],
    );
    assert_eq!(paths(&rows), ["minutes.docx"]);
}

/// Writes a mail whose attachment is an archive with a text and a document. Also writes the text as
/// a file. Returns the letter that the mail contains.
fn archives(sandbox: &Sandbox) -> String {
    let text = prose(1, 9_000);
    let inner = zip(&[
        ("a.txt", &text),
        ("docs/minutes.docx", &sample("minutes.docx")),
    ]);
    let letter = String::from_utf8_lossy(&prose(2, 600)).into_owned();
    sandbox.write("mail.eml", mail(&letter, &[("report.zip", &inner)]));
    sandbox.write("a.txt", &text);
    letter
}

#[test]
fn a_file_in_an_archive_in_a_mail_is_found_with_its_path() {
    if !fuse_works() {
        return;
    }
    let sandbox = Sandbox::new();
    archives(&sandbox);
    sandbox.write("minutes.pdf", sample("minutes-writer.pdf"));
    let daemon = sandbox.mounted([""; 0]);
    daemon.sync();
    let (_, rows) = ask(&sandbox, "a.txt");
    assert_eq!(rows.len(), 1, "{rows:?}");
    assert_eq!(
        (&rows[0].0[..], &rows[0].1[..], &rows[0].2[..]),
        ("mail.eml!report.zip!a.txt", "identical", "bytes")
    );
    let listed = listing(&sandbox, "a.txt");
    assert_eq!(listed, ["100%_mail.eml!report.zip!a.txt"]);
    let member = sandbox.mount("a.txt/.similar").join(&listed[0]);
    let meta = fs::symlink_metadata(&member).expect("an entry");
    let text = prose(1, 9_000);
    assert!(
        meta.is_file() && meta.len() == text.len() as u64,
        "{meta:?}"
    );
    assert_eq!(fs::read(&member).expect("a member"), text);
    let why = sandbox.mount("a.txt/.similar/.why").join(&listed[0]);
    let why = fs::read_to_string(why).expect("an explanation");
    assert!(why.contains("identical"), "{why}");
    let best = listing(&sandbox, "minutes.pdf");
    assert!(
        best.len() == 1 && best[0].ends_with("%_mail.eml!report.zip!docs!minutes.docx"),
        "{best:?}"
    );
    // A member can be the subject of a question, with a daemon and without.
    let member = format!("{}!report.zip!a.txt", sandbox.tree("mail.eml").display());
    assert_eq!(paths(&found(&sandbox, &["find", &member])), ["a.txt"]);
    let tree = sandbox.path("tree").display().to_string();
    let local = found(&sandbox, &["find", &member, "--in", &tree, "--local"]);
    assert_eq!(paths(&local), ["a.txt"]);
    let text = sandbox.tree("a.txt").display().to_string();
    let why = sandbox.resemble(["why", &member, &text]).success().text();
    assert!(why.contains("identical"), "{why}");
    sandbox
        .resemble(["why", &format!("{member}!no"), &text])
        .exits(2);
    // When the mail is removed, its members are no longer found.
    fs::remove_file(sandbox.tree("mail.eml")).expect("it goes");
    daemon.sync();
    assert!(listing(&sandbox, "a.txt").is_empty());
    assert!(ask(&sandbox, "a.txt").1.is_empty());
}

/// Copies of one content in archives and mails are one entry, and its `.why` names the others.
#[test]
fn copies_of_an_attachment_are_one_entry() {
    if !fuse_works() {
        return;
    }
    let sandbox = Sandbox::new();
    let text = prose(1, 9_000);
    sandbox.write("a.txt", &text);
    sandbox.write("copy.txt", &text);
    for number in 0..30 {
        let letter = String::from_utf8_lossy(&prose(10 + number, 600)).into_owned();
        let name = format!("mail{number:02}.eml");
        sandbox.write(name, mail(&letter, &[("report.txt", &text)]));
    }
    let daemon = sandbox.mounted([""; 0]);
    daemon.sync();
    let listed = listing(&sandbox, "a.txt");
    assert_eq!(listed, ["100%_copy.txt", "100%_mail00.eml!report.txt"]);
    let why = sandbox.mount("a.txt/.similar/.why").join(&listed[1]);
    let why = fs::read_to_string(why).expect("an explanation");
    let also: Vec<&str> = why
        .lines()
        .filter(|line| line.starts_with("also in"))
        .collect();
    assert_eq!(also.len(), 21, "{why}");
    assert!(also[0].ends_with("/mail01.eml!report.txt"), "{why}");
    assert!(also[20].ends_with(" 9 more"), "{why}");
    let why = sandbox.mount("a.txt/.similar/.why").join(&listed[0]);
    let why = fs::read_to_string(why).expect("an explanation");
    assert!(!why.contains("also in"), "{why}");
    // `find` lists a row for each equal member.
    assert_eq!(ask(&sandbox, "a.txt").1.len(), 31);
}

#[test]
fn a_folder_is_found_however_it_is_packed() {
    let sandbox = Sandbox::new();
    let files: Vec<(String, Vec<u8>)> = (0..6)
        .map(|n| (format!("folder/{n}.txt"), prose(n, 6_000)))
        .collect();
    let entries: Vec<(&str, &[u8])> = files
        .iter()
        .map(|(name, bytes)| (&name[..], &bytes[..]))
        .collect();
    for (name, bytes) in &entries {
        let path = sandbox.path(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, bytes).expect("a file");
    }
    sandbox.write("folder.zip", zip(&entries));
    for (flag, name) in [
        ("-z", "folder.tar.gz"),
        ("-j", "folder.tar.bz2"),
        ("-J", "folder.tar.xz"),
    ] {
        let mut tar = sandbox.foreign("tar");
        tar.current_dir(sandbox.path(""));
        tar.args(["-c", flag, "-f"])
            .arg(sandbox.tree(name))
            .arg("folder");
        assert!(tar.status().expect("tar").success(), "{name}");
    }
    let daemon = sandbox.daemon([""; 0]);
    daemon.sync();
    for name in ["folder.zip", "folder.tar.gz", "folder.tar.xz"] {
        let (_, rows) = ask(&sandbox, name);
        assert_eq!(rows.len(), 3, "{name}: {rows:?}");
        assert!(
            rows.iter()
                .all(|row| row.1 == "same-text" && row.2 == "text"),
            "{rows:?}"
        );
    }
}

#[test]
fn what_says_nothing_groups_nobody_and_is_counted() {
    let sandbox = Sandbox::new();
    for name in [
        "encrypted.docx",
        "encrypted.odt",
        "encrypted.pdf",
        "encrypted.zip",
    ] {
        sandbox.write(name, sample(name));
    }
    sandbox.write("broken.zip", &zip(&[("a", b"a")])[..20]);
    let daemon = sandbox.daemon([""; 0]);
    daemon.sync();
    let status = daemon.status();
    let root = &status["roots"][0];
    assert_eq!(
        (&root["text"], &root["unreadable"]),
        (&true.into(), &0.into())
    );
    assert!(root["unopened"].as_u64().expect("a number") >= 4, "{root}");
    let named = status["unopened"].as_array().expect("a list");
    let pdf = named.iter().find(|one| {
        one["path"]
            .as_str()
            .is_some_and(|path| path.ends_with("encrypted.pdf"))
    });
    assert_eq!(pdf.expect("the pdf")["reason"], "encrypted");
    for name in [
        "encrypted.docx",
        "encrypted.odt",
        "encrypted.pdf",
        "encrypted.zip",
    ] {
        assert!(ask(&sandbox, name).1.is_empty(), "{name}");
    }
}

/// Daemon and command report the same documents that cannot be read completely, with the same exit
/// code.
#[test]
fn what_could_not_be_read_is_in_every_answer_both_ways() {
    let sandbox = Sandbox::new();
    let text = sentences(1, 3_000);
    for folder in ["a", "b"] {
        sandbox.write(format!("{folder}/text.txt"), &text);
        sandbox.write(format!("{folder}/text.docx"), docx(&text));
    }
    sandbox.write("b/encrypted.pdf", sample("encrypted.pdf"));
    sandbox.write("b/copy of it.pdf", sample("encrypted.pdf"));
    sandbox.write("b/broken.docx", &docx(&text)[..700]);
    let daemon = sandbox.mounted([""; 0]);
    daemon.sync();
    let path = |name: &str| sandbox.tree(name).display().to_string();
    let (a, b, pdf) = (path("a"), path("b"), path("b/encrypted.pdf"));
    let about_b: [&[&str]; 5] = [
        &["groups", &b],
        &["pairs", &b],
        &["dirs", &a, &b],
        &["compare", &a, &b],
        &["find", &pdf, "--in", &a],
    ];
    let asked = |question: &[&str], further: &[&str]| {
        let ran = sandbox.resemble([question, &["--format", "json"], further].concat());
        let answer: serde_json::Value = serde_json::from_str(&ran.text()).expect("json");
        let errors = answer["errors"].as_array().expect("errors").iter();
        let errors: Vec<String> = errors
            .map(|error| format!("{} {}", error["kind"], error["path"]))
            .collect();
        (ran.code, ran.text(), errors)
    };
    let ways: [&[&str]; 4] = [&[], &["--local"], &["--local"], &["--local", "--no-cache"]];
    for question in about_b {
        let (_, expected, _) = asked(question, ways[0]);
        for further in ways {
            let (code, text, errors) = asked(question, further);
            assert_eq!(text, expected, "{question:?} {further:?}");
            assert_eq!(code, 2, "{question:?} {errors:?}");
            let count = if question[0] == "find" { 1 } else { 3 };
            assert_eq!(errors.len(), count, "{question:?} {errors:?}");
            assert!(errors.iter().all(|error| error.starts_with("\"unread\"")));
        }
    }
    // Here, the documents that cannot be read are only among the searched files, not the subject.
    // They are reported, but the exit code is 0.
    let text = path("a/text.txt");
    for further in [&["--in", &b][..], &["--in", &b, "--local"], &[]] {
        let (code, _, errors) = asked(&["find", &text], further);
        assert_eq!((code, errors.len()), (0, 3), "{errors:?}");
    }
    // These questions compare bytes. The bytes of all files can be read.
    for question in [
        &["groups", &b, "--only", "identical"][..],
        &["compare", &a, &b, "--no-text"],
        &["covered", &b, "--by", &a],
    ] {
        for further in [&[][..], &["--local"]] {
            let (_, _, errors) = asked(question, further);
            assert_eq!(errors, [""; 0], "{question:?} {further:?}");
        }
    }
    let why = sandbox.resemble(["why", &pdf, &path("b/copy of it.pdf")]);
    assert!(why.exits(2).err.contains("encrypted.pdf: encrypted"));
    let text = "b/text.txt/.similar/.why/100%_text.txt";
    let texts = fs::read_to_string(sandbox.mount(text)).expect("a text");
    assert!(!texts.contains("unread"), "{texts}");
    let copies = "b/encrypted.pdf/.similar/.why/100%_copy of it.pdf";
    let copies = fs::read_to_string(sandbox.mount(copies)).expect("a text");
    let unread = copies.lines().filter(|line| line.starts_with("unread    "));
    let unread: Vec<&str> = unread.collect();
    assert_eq!(unread.len(), 2, "{copies}");
    assert!(unread[0].contains("b/encrypted.pdf: encrypted"), "{copies}");
    assert!(
        unread[1].contains("b/copy of it.pdf: encrypted"),
        "{copies}"
    );
    let status = daemon.status();
    assert_eq!(status["roots"][0]["unopened"], 3);
    assert_eq!(status["roots"][0]["hidden_text"], 0);
}

#[test]
fn the_layer_is_switched_per_root_and_later() {
    let sandbox = Sandbox::new();
    minutes(&sandbox);
    let off = |daemon: &Daemon<'_>| {
        daemon.sync();
        assert_eq!(daemon.status()["roots"][0]["text"], false);
        let (_, rows) = ask(&sandbox, "minutes.docx");
        assert!(rows.is_empty(), "{rows:?}");
    };
    let daemon = sandbox.daemon(["--text", "off"]);
    off(&daemon);
    assert_eq!(daemon.stop(), 0);
    let daemon = sandbox.daemon([""; 0]);
    daemon.sync();
    assert_eq!(ask(&sandbox, "minutes.docx").1.len(), 6);
}

#[test]
fn two_ways_have_the_same_bytes_for_documents_too() {
    let sandbox = Sandbox::new();
    minutes(&sandbox);
    archives(&sandbox);
    sandbox.write("copies/again.docx", sample("minutes.docx"));
    sandbox.write("copies/again.odt", sample("minutes.odt"));
    sandbox.write("others/again.pdf", sample("minutes-writer.pdf"));
    sandbox.write("others/talk.pptx", sample("talk.pptx"));
    let daemon = sandbox.daemon([""; 0]);
    daemon.sync();
    let tree = sandbox.path("tree").display().to_string();
    let mail = sandbox.tree("mail.eml").display().to_string();
    let odt = sandbox.tree("minutes.odt").display().to_string();
    let member = format!("{mail}!report.zip!docs/minutes.docx");
    for question in [
        vec!["find", &odt, &mail, &member, "--in", &tree],
        vec!["pairs", &tree],
        vec!["pairs", &tree, "--text"],
        vec!["groups", &tree],
        vec!["groups", &tree, "--memory", "1M"],
    ] {
        for format in ["text", "json"] {
            let with = [&question[..], &["--format", format]].concat();
            let asked = sandbox.resemble(&with).success().text();
            for further in [vec!["--local"], vec!["--local", "--no-cache"]] {
                let alone = sandbox
                    .resemble([&with[..], &further].concat())
                    .success()
                    .text();
                if question.contains(&"--memory") && format == "json" {
                    continue;
                }
                assert_eq!(asked, alone, "{question:?} {further:?}");
            }
        }
    }
    // The daemon has stored the members. The command extracts them while it reads both folders.
    let folders = ["copies", "others"].map(|name| sandbox.tree(name).display().to_string());
    let compare = ["compare", &folders[0], &folders[1], "--format", "json"];
    let asked = sandbox.resemble(compare).exits(1).text();
    for further in [&["--local"][..], &["--local"], &["--local", "--no-cache"]] {
        let alone = sandbox.resemble([&compare[..], further].concat());
        assert_eq!(asked, alone.exits(1).text(), "{further:?}");
    }
    let answer: serde_json::Value = serde_json::from_str(&asked).expect("json");
    let rows = answer["entries"].as_array().expect("rows").iter();
    let rows: Vec<String> = rows
        .map(|row| {
            format!(
                "{} {} {} {}",
                row["a"], row["b"], row["relation"], row["unit"]
            )
        })
        .collect();
    assert_eq!(
        rows,
        [
            r#""again.docx" "again.pdf" "same-text" "words""#,
            r#""again.odt" "again.pdf" "same-text" "words""#,
            r#"null "talk.pptx" null "words""#,
        ]
    );
    drop(daemon);
}

#[test]
fn an_attachment_that_is_here_already_is_an_alert() {
    let sandbox = Sandbox::new();
    minutes(&sandbox);
    sandbox.write("other.txt", prose(9, 9_000));
    let daemon = sandbox.daemon([""; 0]);
    daemon.sync();
    let letter = String::from_utf8_lossy(&prose(2, 600)).into_owned();
    sandbox.write(
        "inbox/saved.eml",
        mail(&letter, &[("m.docx", &sample("minutes.docx"))]),
    );
    daemon.sync();
    let alerts = sandbox.resemble(["alerts", "--format", "json"]).json();
    let alerts = alerts["alerts"].as_array().expect("alerts");
    assert_eq!(alerts.len(), 1, "{alerts:#?}");
    let ends = |field: &str, end: &str| {
        alerts[0][field]
            .as_str()
            .is_some_and(|path| path.ends_with(end))
    };
    assert!(
        ends("a", "inbox/saved.eml") && ends("b", "minutes.docx"),
        "{alerts:#?}"
    );
    assert_eq!(alerts[0]["relation"], "contains");
}

#[test]
fn two_invoices_are_said_to_differ_only_in_numbers() {
    let sandbox = Sandbox::new();
    let text = |n: u32, amount: &str| {
        format!(
            "Invoice No. {n}\n\
             For the services that we rendered in the month before this one we ask you kindly for \
             the amount of {amount} EUR, to be paid within thirty days to the account that is \
             named below, with the number of this invoice.\n\
             With thanks for your trust we remain with our best regards,\n\
             The Company of Friends\n"
        )
    };
    sandbox.write("17.eml", mail(&text(17, "1,234.50"), &[]));
    sandbox.write("18.eml", mail(&text(18, "990.00"), &[]));
    let (a, b) = (sandbox.tree("17.eml"), sandbox.tree("18.eml"));
    let answer = sandbox
        .resemble([Path::new("why"), &a, &b])
        .success()
        .text();
    assert!(
        answer.contains("they differ only in numbers: 17 → 18, 1,234.50 → 990.00"),
        "{answer}"
    );
    let json = [
        Path::new("why"),
        &a,
        &b,
        Path::new("--format"),
        Path::new("json"),
    ];
    let json = sandbox.resemble(json).json();
    assert_eq!(
        (&json["differs"], &json["numbers"]),
        (&"only in numbers".into(), &2.into())
    );
    assert_eq!(json["changed"][1]["b"], "990.00");
    assert_eq!(json["layer"], "text");
}

/// A function that makes a document with a given text.
type Maker = fn(&str) -> Vec<u8>;

/// A program puts the same template into each of its documents. The template must not count as
/// evidence in any verb: two documents are similar only by their texts.
#[test]
fn documents_of_one_program_are_no_kin_by_their_template() {
    let sandbox = Sandbox::new();
    let makers: [(&str, Maker); 3] = [("docx", docx), ("odt", odt), ("pdf", pdf)];
    let (one, other) = (sentences(1, 40), sentences(2, 40));
    let edited = one.replacen("end.", "fin.", 4);
    for (ending, make) in makers {
        sandbox.write(format!("{ending}/one.{ending}"), make(&one));
        sandbox.write(format!("{ending}/other.{ending}"), make(&other));
        sandbox.write(format!("{ending}/few.{ending}"), make("Page one"));
        sandbox.write(format!("{ending}/few more.{ending}"), make("Page two"));
        sandbox.write(format!("edited/edited.{ending}"), make(&edited));
    }
    let daemon = sandbox.daemon([""; 0]);
    daemon.sync();
    for (ending, _) in makers {
        let folder = sandbox.tree(ending).display().to_string();
        let name = |name: &str| format!("{folder}/{name}.{ending}");
        for file in ["one", "other", "few", "few more"] {
            let rows = found(&sandbox, &["find", &name(file), "--in", &folder]);
            assert_eq!(rows, [], "{file}.{ending}");
        }
        for (a, b) in [("one", "other"), ("few", "few more"), ("one", "few")] {
            let why = sandbox.resemble(["why", &name(a), &name(b), "--format", "json"]);
            let why = why.exits(1).json();
            assert!(why["relation"].is_null(), "{a} {b} {ending}: {why:#}");
        }
        sandbox.resemble(["pairs", "--text", &folder]).exits(1);
        sandbox.resemble(["groups", &folder]).exits(1);
        // The edited documents are related by their texts, whatever their formats are.
        let edited = sandbox.tree("edited").display().to_string();
        let rows = found(&sandbox, &["find", &name("one"), "--in", &edited]);
        assert_eq!(rows.len(), 3, "{ending}: {rows:?}");
        assert!(
            rows.iter().all(|row| row.1 == "near" && row.2 == "text"),
            "{rows:?}"
        );
    }
}

/// An alert about documents has the figures that `find` shows. They are measured on the texts of
/// the documents.
#[test]
fn an_alert_of_documents_has_the_figures_of_find() {
    let sandbox = Sandbox::new();
    let text = sentences(1, 60);
    sandbox.write("report.odt", odt(&text));
    sandbox.write("other.docx", docx(&sentences(2, 60)));
    let daemon = sandbox.daemon([""; 0]);
    daemon.sync();
    let edited = text.replacen("end.", "fin.", 5) + &sentences(3, 9);
    sandbox.write("new/report.docx", docx(&edited));
    daemon.sync();
    let alerts = sandbox.resemble(["alerts", "--format", "json"]).json();
    let alerts = alerts["alerts"].as_array().expect("alerts");
    assert_eq!(alerts.len(), 1, "{alerts:#?}");
    let path = sandbox.tree("new/report.docx").display().to_string();
    let found = sandbox.resemble(["find", &path, "--format", "json"]).json();
    let row = &found["results"][0];
    assert_eq!(row["estimate"], false, "{row:#}");
    for field in ["relation", "a_in_b", "b_in_a", "shared_bytes"] {
        assert_eq!(alerts[0][field], row[field], "{field}: {alerts:#?} {row:#}");
    }
}
