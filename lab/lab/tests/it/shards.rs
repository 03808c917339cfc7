//! Tests that one process and several processes make the same arrays of sorted5.

use std::path::{Path, PathBuf};

use resemble_methods::arrays::{Arrays, Parts};

use crate::environment;
use resemble_testutil::Environment;
use resemble_testutil::prose::paragraphs;

fn collection(env: &Environment) {
    for family in 0..7u64 {
        let base = paragraphs(family, 10 + 8 * family as usize);
        for version in 0..4 {
            let text = base.replacen("river", "brook", version * 4);
            env.write(format!("docs/family {family}/v{version}.txt"), text);
        }
        env.write(format!("docs/parts/{family}"), &base[..base.len() / 3]);
    }
    env.write("docs/small", "four words and more");
    env.write("docs/empty", b"");
}

/// Returns the files of all arrays below a folder. The folder has only one state of the arrays.
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

/// Returns the lists of all values.
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

/// The number of processes that make and search the arrays changes neither the lists nor the bytes
/// of the answers.
#[test]
fn shards_have_the_same_bytes_as_one_process() {
    let env = environment();
    collection(&env);
    let ask = |shards: &str, more: &[&str]| {
        let args = [
            "pairs", "docs", "--method", "sorted5", "--bits", "14", "--shards", shards,
        ];
        let ran = env.run(args.iter().chain(more));
        assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{shards} {more:?}");
        ran.text()
    };
    let cache = env.home().join(".cache");
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
            Some((one, expected)) => {
                assert!(*one == lists, "{shards} processes make other lists");
                assert_eq!(*expected, answers, "{shards} processes");
            }
        }
    }
    // The arrays have seven parts now. A document is added and another one removed. Two processes
    // merge this change into the arrays. The answer must be the same as that of newly made arrays.
    env.write("docs/new", paragraphs(3, 30));
    std::fs::remove_file(env.path("docs/parts/2")).expect("removed");
    let merged = ask("2", &["--format", "json"]);
    let by_merging = lists(&parts(&cache));
    for state in parts(&cache) {
        std::fs::remove_dir_all(state.parent().expect("a folder")).ok();
    }
    assert_eq!(ask("1", &["--format", "json"]), merged);
    assert!(lists(&parts(&cache)).iter().flatten().count() == by_merging.iter().flatten().count());
    assert_eq!(
        ask("1", &["--format", "tsv"]),
        ask("3", &["--format", "tsv", "--no-cache"])
    );
}
