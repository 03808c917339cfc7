use std::path::Path;

use crate::layering::files_in;

/// Words and phrases that are too vague for comments and pages.
const NOT_USED: [&[&str]; 8] = [
    &["told"],
    &["come", "to"],
    &["comes", "to"],
    &["so", "many"],
    &["whoever"],
    &["besides"],
    &["is", "none"],
    &["all", "the", "same"],
];

/// Returns the prose of a line without quoted parts. In code, this is the comment. On a page, it is
/// the whole line.
fn prose(line: &str, is_code: bool) -> String {
    let said = if is_code {
        line.split_once("//").map_or("", |(_, comment)| comment)
    } else {
        line
    };
    said.split('`').step_by(2).collect::<Vec<_>>().join(" ")
}

fn words(text: &str) -> Vec<String> {
    let words = text.split(|c: char| !c.is_alphanumeric() && c != '_');
    let words = words.filter(|word| !word.is_empty());
    words.map(str::to_lowercase).collect()
}

/// No comment and no page uses one of these words.
#[test]
fn the_words_that_are_not_used_are_not_used() {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut all = files_in(&workspace, &["rs", "md"]);
    assert!(all.len() > 500, "the sources were found");
    all.retain(|(path, _)| !path.ends_with("docs/cli-reference.md"));
    let mut found = Vec::new();
    for (path, text) in all {
        let is_code = path.extension().is_some_and(|end| end == "rs");
        let mut is_quoted = false;
        for (number, line) in (1..).zip(text.lines()) {
            if !is_code && line.trim_start().starts_with("```") {
                is_quoted = !is_quoted;
            }
            let words = words(&prose(line, is_code));
            let has = |not_used: &&[&str]| {
                words
                    .windows(not_used.len())
                    .any(|of| of.iter().eq(not_used.iter()))
            };
            for not_used in NOT_USED
                .iter()
                .filter(|_| !is_quoted)
                .filter(|&words| has(words))
            {
                found.push(format!("{}:{number}: {not_used:?}", path.display()));
            }
        }
    }
    assert!(found.is_empty(), "{}\n{}", found.len(), found.join("\n"));
}
