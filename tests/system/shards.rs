use std::path::{Path, PathBuf};

use resemble_methods::arrays::{Arrays, Parts};
use resemble_tests::Sandbox;
use resemble_tests::text::{edited, prose};

fn collection(sandbox: &Sandbox) {
    for family in 0..7u64 {
        let base = prose(family, 3_000 + 2_500 * family as usize);
        for version in 0..4u64 {
            let bytes = edited(&base, version, version as usize * 4);
            sandbox.write(format!("family {family}/v{version}.txt"), bytes);
        }
        sandbox.write(format!("parts/{family}"), &base[..base.len() / 3]);
    }
    sandbox.write("small", "four words and more");
    sandbox.write("empty", b"");
}

/// The parts of the only state below a folder.
fn parts(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "arrays") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// All lists of all values.
fn lists(files: &[PathBuf]) -> Vec<Vec<u32>> {
    let bytes: Vec<Vec<u8>> = files
        .iter()
        .map(|file| std::fs::read(file).expect("a part"))
        .collect();
    let arrays = bytes
        .iter()
        .map(|part| Arrays::of(part).expect("arrays"))
        .collect();
    let parts = Parts::of(arrays).expect("the whole");
    parts
        .parts()
        .iter()
        .for_each(|part| part.verify().expect("as written"));
    let list = |value| {
        parts
            .part_of(value)
            .list(value)
            .expect("a list")
            .iter()
            .collect()
    };
    (0..1 << 14).map(list).collect()
}

/// However many processes make the arrays and search them: the same lists, and the same bytes of answers.
#[test]
fn shards_have_the_same_bytes_as_one_process() {
    let sandbox = Sandbox::new();
    collection(&sandbox);
    let tree = sandbox.path("tree");
    let tree = tree.to_str().expect("UTF-8");
    let ask = |shards: &str, more: &[&str]| {
        let args = [
            "pairs", tree, "--method", "sorted5", "--bits", "14", "--shards", shards,
        ];
        sandbox.resemble(args.iter().chain(more)).success().out()
    };
    let cache = sandbox.path("cache");
    let mut first: Option<(Vec<Vec<u32>>, Vec<String>)> = None;
    for shards in ["1", "2", "3", "7"] {
        for state in parts(&cache) {
            std::fs::remove_dir_all(state.parent().expect("a folder")).ok();
        }
        let answers: Vec<String> = [
            &["--format", "json"][..],
            &["--format", "tsv", "--min", "0"],
            &["--min", "20%", "--exact", "--format", "tsv"],
        ]
        .into_iter()
        .map(|more| ask(shards, more))
        .collect();
        let files = parts(&cache);
        assert_eq!(files.len().to_string(), shards);
        let lists = lists(&files);
        match &first {
            None => {
                assert!(answers[1].lines().count() > 20, "{}", answers[1]);
                first = Some((lists, answers));
            }
            Some((one, said)) => {
                assert!(*one == lists, "{shards} processes make other lists");
                assert_eq!(*said, answers, "{shards} processes");
            }
        }
    }
    // A state of seven parts, more documents, other processes: merged as by one.
    sandbox.write("new", prose(3, 9_000));
    std::fs::remove_file(sandbox.tree("parts/2")).expect("removed");
    let merged = ask("2", &["--format", "json"]);
    let by_merging = lists(&parts(&cache));
    for state in parts(&cache) {
        std::fs::remove_dir_all(state.parent().expect("a folder")).ok();
    }
    assert_eq!(ask("1", &["--format", "json"]), merged);
    assert!(lists(&parts(&cache)).iter().flatten().count() == by_merging.iter().flatten().count());
    // A daemon starts processes of its own program.
    let daemon = sandbox.daemon([""; 0]);
    daemon.sync();
    assert_eq!(
        ask("1", &["--format", "tsv"]),
        ask("3", &["--format", "tsv", "--local", "--no-cache"])
    );
    std::fs::remove_dir_all(sandbox.path("state/resemble/arrays")).ok();
    assert_eq!(
        ask("3", &["--format", "tsv"]),
        ask("1", &["--format", "tsv", "--local"])
    );
    assert_eq!(parts(&sandbox.path("state")).len(), 3);
}
