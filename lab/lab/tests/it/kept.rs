//! Tests that an answer has the same bytes the first time, the second time, and without a cache.

use crate::environment;
use resemble_methods::Method;
use resemble_testutil::Environment;
use resemble_testutil::prose::paragraphs;

/// Creates a small collection of versions, parts, copies, hard links, boilerplate, and a name with
/// a tab.
fn collection() -> Environment {
    let env = environment();
    let header = paragraphs(100, 4);
    for family in 0..6 {
        let base = header.clone() + &paragraphs(family, 8 + 3 * family as usize);
        for version in 0..5 {
            let text = base.replacen("river", "brook", version * 3);
            env.write(format!("tree/family {family}/v{version}.txt"), text);
        }
        env.write(format!("tree/parts/{family}.part"), &base[..base.len() / 3]);
        env.write(format!("tree/copies/{family}.copy"), &base);
    }
    env.write("tree/odd/tab\tname.txt", paragraphs(3, 17));
    let [from, to] = ["tree/copies/1.copy", "tree/copies/1.link"].map(|name| env.path(name));
    std::fs::hard_link(from, to).unwrap();
    env.write("tree/empty", b"");
    env
}

/// Answers from cached signatures, answers from new signatures, and answers without a cache must
/// have the same bytes.
#[test]
fn methods_have_the_same_bytes_whoever_kept_what() {
    let env = collection();
    let file = "tree/family 2/v1.txt";
    let mut questions: Vec<Vec<&str>> = Vec::new();
    for method in Method::ALL.map(Method::name) {
        questions.push(vec!["find", file, "--method", method, "--in", "tree"]);
        questions.push(vec!["pairs", "tree", "--method", method, "--min", "10%"]);
    }
    same_bytes(&env, &questions, &["text", "json", "tsv"]);
    let dumps = ["tttd", "bsw-min", "sif"].map(|method| vec!["dump", "tree", "--method", method]);
    same_bytes(&env, &dumps, &[""]);
    let rest: [&[&str]; 14] = [
        &["groups", "--method", "sif"],
        &["groups", "--method", "sif", "--same-suffix"],
        &["groups", "--method", "sif", "--where", "b.size < a.size"],
        &["groups", "--method", "sif", "--interesting", "4"],
        &["groups", "--method", "mod", "--n", "20"],
        &["groups", "--method", "shingle"],
        &["groups", "--method", "shingle", "--seed", "a secret"],
        &["groups", "--method", "shingle", "--contained", "80%"],
        &[
            "groups",
            "--method",
            "shingle",
            "--same-suffix",
            "--common",
            "9",
        ],
        &["groups", "--method", "super-shingle"],
        &["groups", "--method", "super-shingle", "--min", "70%"],
        &["groups", "--method", "sorted5", "--min", "30%"],
        &[
            "pairs", "--method", "sorted5", "--bits", "12", "--exact", "--shards", "2",
        ],
        &[
            "pairs", "--method", "sorted5", "--stem", "english", "--hash", "xxh3",
        ],
    ];
    let rest = rest.map(|words| [words, &["tree"]].concat());
    same_bytes(&env, &rest, &["text", "json", "jsonl"]);
}

/// Runs each question twice, and once without the cache, and checks that bytes and exit codes are
/// equal.
fn same_bytes(env: &Environment, questions: &[Vec<&str>], formats: &[&str]) {
    for question in questions {
        for format in formats {
            let mut args = question.clone();
            if !format.is_empty() {
                args.extend(["--format", format]);
            }
            let first = env.run(&args);
            let again = env.run(&args);
            args.push("--no-cache");
            let without = env.run(&args);
            assert!(!first.out.is_empty(), "{args:?}: {first:?}");
            assert_eq!((first.code, first.text()), (again.code, again.text()));
            assert!(first.text() == without.text(), "{args:?} without the cache");
            assert_eq!(first.code, without.code, "{args:?}: {without:?}");
        }
    }
}

/// The laboratory writes only its own cache. It writes neither the cache of `resemble` nor the
/// state of the daemon.
#[test]
fn the_laboratory_has_a_cache_of_its_own() {
    let env = collection();
    assert_eq!(env.run(["pairs", "tree", "--method", "sif"]).code, 0);
    let cache = env.home().join(".cache/resemble");
    assert!(cache.join("lab.redb").is_file());
    assert!(!cache.join("cache.redb").exists());
    assert!(!env.home().join(".local/state/resemble").exists());
}
