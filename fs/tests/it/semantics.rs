//! Checks that `docs/semantics.md` and the tests that it names say the same.
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// Returns the doc comment of each `#[test]` in a file as one line, by the name of the test.
fn promises_of(text: &str) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let (mut comment, mut is_test) = (Vec::new(), false);
    for line in text.lines().map(str::trim) {
        if let Some(words) = line.strip_prefix("///") {
            comment.push(words.trim());
        } else if line.starts_with("#[") {
            is_test |= line == "#[test]";
        } else {
            let name = line
                .strip_prefix("fn ")
                .and_then(|rest| rest.split('(').next());
            if let (Some(name), true) = (name, is_test) {
                found.insert(name.to_owned(), comment.join(" "));
            }
            (comment, is_test) = (Vec::new(), false);
        }
    }
    found
}

fn tests_below(dir: &Path, found: &mut BTreeMap<String, String>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            tests_below(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.append(&mut promises_of(&fs::read_to_string(&path).unwrap()));
        }
    }
}

/// Returns the items of the page's lists. Each item is a sentence, followed by the name of its
/// test.
fn promises_in(page: &str) -> Vec<(String, String)> {
    let page = page.split("## What is not promised").next().unwrap();
    let items = page
        .split("\n- ")
        .skip(1)
        .map(|item| item.split("\n\n").next().unwrap());
    items
        .map(|item| {
            let item = item.split_whitespace().collect::<Vec<_>>().join(" ");
            let (sentence, name) = item
                .rsplit_once(" (`")
                .unwrap_or_else(|| panic!("no test: {item}"));
            (sentence.to_owned(), name.trim_end_matches("`)").to_owned())
        })
        .collect()
}

#[test]
fn every_promise_names_a_test_that_repeats_it() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut tests = BTreeMap::new();
    tests_below(&here.join("src"), &mut tests);
    tests_below(&here.join("tests"), &mut tests);
    // Tests of the daemon are read, too: the daemon decides where the view is mounted and what it
    // answers.
    tests_below(&here.join("../tests/system"), &mut tests);
    tests_below(&here.join("../daemon/tests"), &mut tests);
    let page = fs::read_to_string(here.join("../docs/semantics.md")).unwrap();
    let promises = promises_in(&page);
    assert!(promises.len() > 40, "the page was read: {}", promises.len());
    for (sentence, name) in &promises {
        let comment = tests
            .get(name)
            .unwrap_or_else(|| panic!("no test is called {name}"));
        assert_eq!(comment, sentence, "{name}");
    }
}

#[test]
fn a_page_that_drifts_is_noticed() {
    let page =
        "x\n\n- One\n  promise. (`a`)\n- Another. (`b`)\n\n## What is not promised\n\n- Free.\n";
    let promises = promises_in(page);
    assert_eq!(
        promises,
        [("One promise.", "a"), ("Another.", "b")].map(|(s, n)| (s.into(), n.into()))
    );
    let tests =
        promises_of("/// One\n/// promise.\n#[test]\nfn a() {\n}\n/// Not one.\nfn b() {}\n");
    assert_eq!(
        tests,
        BTreeMap::from([("a".to_owned(), "One promise.".to_owned())])
    );
}
