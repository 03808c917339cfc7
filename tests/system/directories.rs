use std::fs;

use resemble_testutil::prose::prose;
use resemble_testutil::{Sandbox, fuse_works, names};

const NAMES: [&str; 5] = ["readme", "src/main", "src/part", "doc/one", "doc/two"];

/// Makes a project, a copy of it with other names and another layout, and unrelated files.
fn projects(sandbox: &Sandbox) {
    for (n, name) in (1..).zip(NAMES) {
        let text = prose(n, 4_000);
        sandbox.write(format!("work/project/{name}"), &text);
        sandbox.write(format!("old/backup/all/{n}.txt"), &text);
        sandbox.write(format!("old/other/{n}.txt"), prose(100 + n, 4_000));
    }
}

/// Returns the links of a `.similar` folder: their names, and their targets relative to the tree.
fn links(sandbox: &Sandbox, similar: &str) -> Vec<(String, String)> {
    let folder = sandbox.mount(similar);
    let mut links: Vec<(String, String)> = names(&folder)
        .into_iter()
        .filter_map(|name| {
            let target = fs::read_link(folder.join(&name)).ok()?;
            let target = target.strip_prefix(sandbox.tree("")).ok()?;
            Some((name.into_string().ok()?, target.to_str()?.to_owned()))
        })
        .collect();
    links.sort();
    links
}

fn one(name: &str, target: &str) -> Vec<(String, String)> {
    vec![(name.to_owned(), target.to_owned())]
}

#[test]
fn ls_similar_of_a_directory_names_its_copies_and_follows_changes() {
    if !fuse_works() {
        return;
    }
    let sandbox = Sandbox::new();
    projects(&sandbox);
    let daemon = sandbox.mounted([""; 0]);
    daemon.sync();
    let similar = "work/project/.similar";
    assert_eq!(
        links(&sandbox, similar),
        one("100%_backup", "old/backup"),
        "the topmost of what is the same"
    );
    assert_eq!(
        links(&sandbox, "old/backup/.similar"),
        one("100%_work", "work")
    );
    let src = links(&sandbox, "work/project/src/.similar");
    assert_eq!(
        src,
        one("099%_backup", "old/backup"),
        "no copy of it, and it has all"
    );
    assert!(links(&sandbox, "old/other/.similar").is_empty());

    // One of the five files of the copy gets a different content.
    sandbox.write("old/backup/all/1.txt", prose(77, 4_000));
    daemon.sync();
    let shown = links(&sandbox, similar);
    assert_eq!(shown.len(), 1, "{shown:?}");
    let percent: u32 = shown[0].0[..3].parse().expect("three digits");
    assert!((75..85).contains(&percent), "{shown:?}");

    fs::rename(sandbox.tree("old/backup"), sandbox.tree("old/kept")).expect("a rename");
    daemon.sync();
    let shown = links(&sandbox, similar);
    assert_eq!(shown[0].1, "old/kept", "{shown:?}");
    assert!(shown[0].0.ends_with("%_kept"), "{shown:?}");

    // A second copy is made. Then both copies are removed.
    for (n, name) in (1..).zip(NAMES) {
        sandbox.write(format!("new/{name}.bak"), prose(n, 4_000));
    }
    daemon.sync();
    let shown = links(&sandbox, similar);
    assert_eq!(shown.len(), 2, "{shown:?}");
    assert_eq!(shown[1], ("100%_new".to_owned(), "new".to_owned()));
    fs::remove_dir_all(sandbox.tree("new")).expect("gone");
    fs::remove_dir_all(sandbox.tree("old")).expect("gone");
    daemon.sync();
    assert!(links(&sandbox, similar).is_empty());
    daemon.assert_true();
}

#[test]
fn the_files_view_has_them_in_a_folder_of_their_own() {
    if !fuse_works() {
        return;
    }
    let sandbox = Sandbox::new();
    projects(&sandbox);
    let daemon = sandbox.mounted(["--view", "files"]);
    daemon.sync();
    let shown = links(&sandbox, "work/project/.similar/.dirs");
    assert_eq!(shown, one("100%_backup", "old/backup"));
    assert_eq!(daemon.stop(), 0);
}
