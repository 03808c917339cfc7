//! `groups --links`: pairs that an engine has found. What engines make is tested in the folder
//! `scale`, with engines; here are answers without pairs, and all that is refused.

use crate::environment;
use resemble_core::Params;
use resemble_testutil::Environment;
use resemble_testutil::prose::paragraphs;

/// Links without a single pair, of contents that were digested with `params`.
fn links(env: &Environment, params: &str) {
    let run = format!("{{\"schema\": 1, \"params\": \"{params}\", \"salt\": 0, \"degree\": 1000}}");
    env.write("links/_run.json", run);
    for stage in ["link", "rest"] {
        env.write(format!("links/_stages/{stage}.json"), "{\"files\": []}");
        env.write(format!("links/{stage}/_SUCCESS"), "");
    }
}

fn usual() -> String {
    Params::default().to_string()
}

/// Two texts that have nothing in common, one of them twice; and an edited one.
fn texts() -> Environment {
    let env = environment();
    let text = paragraphs(1, 50);
    env.write("apart/one.txt", &text);
    env.write("apart/copy.txt", &text);
    env.write("apart/two.txt", paragraphs(2, 50));
    env.write("near/one.txt", &text);
    env.write("near/edited.txt", text.replacen("river", "brook", 2));
    env
}

#[test]
fn what_has_nothing_in_common_takes_no_pairs() {
    let env = texts();
    links(&env, &usual());
    let expected = env.run(["groups", "apart", "--format", "json"]);
    let found = env.run(["groups", "apart", "--format", "json", "--links", "links"]);
    found.is(0, &expected.text(), "");
    assert_eq!(found.json()["summary"]["sets"], 1);
}

#[test]
fn pairs_that_do_not_fit_are_refused_in_one_sentence() {
    let env = texts();
    let refused = |reason: &str| {
        let answer = env.run(["groups", "near", "--links", "links"]);
        assert_eq!((answer.code, answer.text().as_str()), (2, ""));
        assert!(answer.err.contains(reason), "{}", answer.err);
        assert_eq!(answer.err.lines().count(), 1, "{}", answer.err);
    };
    refused("links: no links are here");
    links(&env, "tttd-1-2-3-4");
    refused("digested with tttd-1-2-3-4");
    links(&env, &usual());
    refused("do not add up for the content");
    env.write(
        "links/_stages/link.json",
        "{\"files\": [{\"file\": \"x.parquet\", \"bytes\": 1}]}",
    );
    refused("the stage link is not complete");
    env.write("links/_run.json", "no JSON");
    refused("cannot read");
}

#[test]
fn links_go_with_questions_about_similar_files() {
    let env = texts();
    links(&env, &usual());
    let refused = |more: &[&str], reason: &str| {
        let all = [&["groups", "apart", "--links", "links"][..], more].concat();
        let answer = env.run(all);
        assert_eq!(answer.code, 2, "{more:?}");
        assert!(answer.err.contains(reason), "{more:?}: {}", answer.err);
    };
    refused(&["--only", "identical"], "leave out --links");
    refused(&["--format", "fdupes"], "leave out --links");
    refused(&["--order"], "cannot be used with");
    refused(&["--plan", "hardlink"], "cannot be used with");
    refused(&["--degree", "7"], "give --degree 1000");
    refused(&["--min", "20%"], "25% and more");
    refused(&["--socket", "s"], "leave out --socket");
}
