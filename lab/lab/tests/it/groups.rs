//! Tests of methods in `groups`.

use crate::asked::collection;

#[test]
fn groups_are_printed_as_in_figure_3() {
    let env = collection();
    let text = env.run(["groups", "docs", "--method", "sif"]).text();
    let mut lines = text.lines();
    assert_eq!(
        lines.next(),
        Some("The following groups of files are similar. Minimum similarity = 25%")
    );
    assert_eq!(lines.next(), Some(""));
    let size = std::fs::metadata(env.path("docs/copy.txt")).unwrap().len();
    assert_eq!(
        lines.next(),
        Some(format!("R100 docs/copy.txt {size}").as_str())
    );
    assert!(lines.next().unwrap().starts_with(" 100 docs/"), "{text}");
    assert!(!text.contains("stranger"), "{text}");
}

#[test]
fn rules_part_groups_without_another_look() {
    let env = collection();
    let groups = |rules: &[&str]| {
        let mut args = vec![
            "groups", "docs", "--method", "sif", "--min", "20%", "--format", "json",
        ];
        args.extend(rules);
        env.run(args).json()["groups"].clone()
    };
    let all = groups(&[]).to_string();
    assert!(all.contains("part.txt") && all.contains("twice.txt"));
    for rules in [
        &["--size-ratio", "90%"][..],
        &["--where", "b.size < 1.1 * a.size and a.size < 1.1 * b.size"],
        &[
            "--where",
            "not (path ~ \"*part*\" or path ~ \"*twice*\") and a.name != \"part.txt\" and b.name \
             != \"part.txt\" and a.name != \"twice.txt\" and b.name != \"twice.txt\"",
        ],
        &["--filter-cmd", "grep -v -e part -e twice"],
    ] {
        let some = groups(rules).to_string();
        assert!(
            !some.contains("part.txt") && !some.contains("twice.txt"),
            "{rules:?} {some}"
        );
        assert!(
            some.contains("copy.txt") && some.contains("edited.txt"),
            "{rules:?} {some}"
        );
    }
    let none = env.run([
        "groups",
        "docs",
        "--method",
        "sif",
        "--filter-cmd",
        "cat > /dev/null",
    ]);
    assert_eq!((none.code, none.text()), (1, String::new()));
    let bad = env.run([
        "groups",
        "docs",
        "--method",
        "sif",
        "--filter-cmd",
        "exit 3",
    ]);
    assert_eq!(bad.code, 2);
    let liar = env.run([
        "groups",
        "docs",
        "--method",
        "sif",
        "--filter-cmd",
        "echo nonsense",
    ]);
    assert!(
        liar.code == 2 && liar.err.contains("nonsense"),
        "{}",
        liar.err
    );
}

#[test]
fn interesting_sets_and_clusters() {
    let env = collection();
    let sets = env
        .run([
            "groups",
            "docs",
            "--method",
            "sif",
            "--interesting",
            "5",
            "--format",
            "json",
        ])
        .json();
    let sets = sets["groups"].as_array().unwrap().clone();
    assert!(!sets.is_empty() && sets.iter().all(|set| set["common"].as_u64() >= Some(5)));
    for method in ["min", "tttd", "sketch", "mod", "shingle", "super-shingle"] {
        let clusters = env
            .run(["groups", "docs", "--method", method, "--format", "json"])
            .json();
        let clusters = clusters["groups"].as_array().unwrap().clone();
        assert!(
            clusters[0].to_string().contains("edited.txt"),
            "{method} {clusters:?}"
        );
        assert!(
            !clusters[0].to_string().contains("stranger.txt"),
            "{method} {clusters:?}"
        );
    }
}
