use std::ffi::OsString;
use std::fs;

use resemble_testutil::prose::{edited, prose};
use resemble_testutil::{Sandbox, fuse_works, names};

fn listing(sandbox: &Sandbox, file: &str) -> Vec<OsString> {
    names(sandbox.mount(file).join(".similar"))
        .into_iter()
        .filter(|n| !n.to_string_lossy().starts_with('.'))
        .collect()
}

/// Makes a report, another version of the report, a copy of the report, and an unrelated file, as
/// in the README.
fn reports(sandbox: &Sandbox) {
    let report = prose(1, 12_000);
    sandbox.write("report.txt", &report);
    sandbox.write("archive/report-v2.txt", edited(&report, 7, 3));
    sandbox.write("archive/copy of report.txt", &report);
    sandbox.write("minutes.txt", prose(2, 9_000));
}

#[test]
fn ls_similar_names_the_near_duplicates_best_last() {
    if !fuse_works() {
        return;
    }
    let sandbox = Sandbox::new();
    reports(&sandbox);
    let daemon = sandbox.mounted([""; 0]);
    daemon.sync();
    let shown = listing(&sandbox, "report.txt");
    assert_eq!(shown.len(), 2, "{shown:?}");
    assert!(
        shown[0].to_string_lossy().ends_with("%_report-v2.txt"),
        "{shown:?}"
    );
    let percent: u32 = shown[0].to_string_lossy()[..3]
        .parse()
        .expect("three digits");
    assert!((90..100).contains(&percent), "{shown:?}");
    assert_eq!(shown[1], "100%_copy of report.txt");
    let link = fs::read_link(sandbox.mount("report.txt/.similar").join(&shown[0])).expect("a link");
    assert_eq!(link, sandbox.tree("archive/report-v2.txt"));
    assert!(listing(&sandbox, "minutes.txt").is_empty());
    // In the folders view, the folder of a file contains the file itself, with the same bytes.
    let through = fs::read(sandbox.mount("report.txt/report.txt")).expect("the file");
    assert_eq!(
        through,
        fs::read(sandbox.tree("report.txt")).expect("the file")
    );
    assert_eq!(daemon.stop(), 0);
    assert!(
        !sandbox.mount("").exists(),
        "the mount point that was made is removed"
    );
}

#[test]
fn the_listing_is_right_after_editing_copying_renaming_and_deleting() {
    if !fuse_works() {
        return;
    }
    let sandbox = Sandbox::new();
    reports(&sandbox);
    let daemon = sandbox.mounted([""; 0]);
    daemon.sync();

    // The report is edited, so the copy is no longer identical to it.
    let text = fs::read(sandbox.tree("report.txt")).expect("the report");
    sandbox.write("archive/copy of report.txt", edited(&text, 3, 5));
    daemon.sync();
    let shown = listing(&sandbox, "report.txt");
    assert!(
        shown
            .iter()
            .all(|n| !n.to_string_lossy().starts_with("100%")),
        "{shown:?}"
    );
    assert_eq!(shown.len(), 2);

    // The report is copied.
    fs::copy(sandbox.tree("report.txt"), sandbox.tree("copied.txt")).expect("a copy");
    daemon.sync();
    assert!(listing(&sandbox, "report.txt").contains(&"100%_copied.txt".into()));

    // The copy is renamed.
    fs::rename(sandbox.tree("copied.txt"), sandbox.tree("renamed.txt")).expect("a rename");
    daemon.sync();
    let shown = listing(&sandbox, "report.txt");
    assert!(shown.contains(&"100%_renamed.txt".into()), "{shown:?}");
    assert!(!shown.contains(&"100%_copied.txt".into()), "{shown:?}");

    // The copy is removed.
    fs::remove_file(sandbox.tree("renamed.txt")).expect("gone");
    daemon.sync();
    assert!(!listing(&sandbox, "report.txt").contains(&"100%_renamed.txt".into()));
    daemon.assert_true();
}

#[test]
fn the_files_view_answers_in_each_directory() {
    if !fuse_works() {
        return;
    }
    let sandbox = Sandbox::new();
    reports(&sandbox);
    let daemon = sandbox.mounted(["--view", "files"]);
    daemon.sync();
    let shown = names(sandbox.mount(".similar/report.txt"));
    assert!(
        shown.iter().any(|n| n == "100%_copy of report.txt"),
        "{shown:?}"
    );
    assert!(
        !names(sandbox.mount("")).contains(&".similar".into()),
        "hidden from readdir"
    );
    let tree = sandbox.path("tree");
    let point = sandbox.mount("");
    let diff = sandbox
        .foreign("diff")
        .args(["-r"])
        .args([&tree, &point])
        .output()
        .expect("diff");
    assert!(diff.status.success(), "{diff:?}");
}

#[test]
fn why_report_and_attributes_agree_with_find() {
    if !fuse_works() {
        return;
    }
    let sandbox = Sandbox::new();
    reports(&sandbox);
    let daemon = sandbox.mounted([""; 0]);
    daemon.sync();
    let file = sandbox.tree("report.txt");
    let found = sandbox.resemble([
        "find".as_ref(),
        file.as_os_str(),
        "--format".as_ref(),
        "json".as_ref(),
    ]);
    let mut found = found.success().json();
    for row in found["results"].as_array_mut().expect("rows") {
        // `find` states the owner of each file, but the report in the view does not.
        assert!(
            row.as_object_mut()
                .expect("a row")
                .remove("owner")
                .is_some()
        );
    }
    let report = fs::read(sandbox.mount("report.txt/.similar/.report.json")).expect("a report");
    let report: serde_json::Value = serde_json::from_slice(&report).expect("JSON");
    assert_eq!(found["results"], report["results"]);
    assert_eq!(report["total"], 2);
    assert_eq!(report["shown"], 2);
    let shown = listing(&sandbox, "report.txt");
    let why = sandbox.mount("report.txt/.similar/.why").join(&shown[0]);
    let why = String::from_utf8(fs::read(why).expect("a text")).expect("UTF-8");
    assert!(why.contains("near") && why.contains("line"), "{why}");
    let mut value = [0; 64];
    for (attribute, expected) in [
        ("count", "2"),
        ("best_percent", "100"),
        ("relation", "identical"),
    ] {
        let name = format!("user.resemble.{attribute}");
        let path = sandbox.mount("report.txt");
        let n = rustix::fs::getxattr(&path, name.as_str(), &mut value).expect("an attribute");
        assert_eq!(
            String::from_utf8_lossy(&value[..n]),
            expected,
            "{attribute}"
        );
    }
}
