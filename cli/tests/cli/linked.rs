//! `groups --links` reads pairs that an SQL engine has found. The tests in the folder `scale` use
//! the output of real engines. The tests here use folders without pairs, and folders that must be
//! refused. They also run `measure`.

use std::path::Path;

use crate::environment;
use resemble_core::Params;
use resemble_core::hash::content::digest;
use resemble_testutil::prose::paragraphs;
use resemble_testutil::{Environment, finish};

/// Writes a folder of links without pairs, for contents that were digested with `params`.
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

/// Writes two unrelated texts, a copy of the first, and an edited version of it.
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
    refused("links: the folder has no links");
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

/// Returns the entry of a file in the list that `resemble measure` reads.
fn listed(path: &Path) -> Vec<u8> {
    let digest = digest(&std::fs::read(path).unwrap()).0;
    [&digest[..], path.as_os_str().as_encoded_bytes(), b"\0"].concat()
}

#[test]
fn listed_pairs_are_measured_in_their_order() {
    let env = texts();
    let [one, edited, two] =
        ["near/one.txt", "near/edited.txt", "apart/two.txt"].map(|name| env.path(name));
    let pairs = [(&one, &edited), (&one, &two), (&two, &edited)];
    let list: Vec<Vec<u8>> = pairs.map(|(a, b)| [listed(a), listed(b)].concat()).to_vec();
    // The list has the digest of the old bytes; now the file changes.
    env.write("apart/two.txt", paragraphs(3, 50));
    let ran = finish(&mut env.command(["measure"]), &list.concat());
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    let numbers = ran.out.as_chunks::<8>().0.iter();
    let numbers: Vec<i64> = numbers.map(|&bytes| i64::from_le_bytes(bytes)).collect();
    let [of_edited, of_two, other] = numbers.as_chunks::<6>().0 else {
        panic!("{numbers:?}");
    };
    let none = [-1, 0, 0, 0, 0, 0];
    assert_eq!((of_two, other), (&none, &none));
    let share = |bits: i64| f64::from_bits(bits.cast_unsigned());
    let [unit, flags, there, back, both, shared] = *of_edited;
    // The unit 0 means words. The flags say that all three shares are known and that the files have
    // a passage in common.
    assert_eq!((unit, flags), (0, 1 | 2 | 4 | 16));
    let found = env.run(["pairs", "near", "--format", "json"]).json();
    let pair = &found["pairs"][0];
    assert_eq!(pair["a"], "near/edited.txt");
    for (name, bits) in [("b_in_a", there), ("a_in_b", back), ("resemblance", both)] {
        let difference = pair[name].as_f64().unwrap() - share(bits);
        assert!(difference.abs() < 2e-6, "{name} {} {pair}", share(bits));
    }
    assert_eq!(pair["shared_bytes"], shared);
}

#[test]
fn what_is_no_list_is_refused_in_one_sentence() {
    let env = texts();
    let whole = [
        listed(&env.path("near/one.txt")),
        listed(&env.path("near/edited.txt")),
    ]
    .concat();
    let half = listed(&env.path("near/one.txt"));
    let relative = [&[7; 32][..], b"near/one.txt\0"].concat().repeat(2);
    let endless = [&[7; 32][..], b"/", &[b'a'; 5000]].concat();
    for list in [
        &half[..],
        &whole[..50],
        &whole[..whole.len() - 1],
        &relative,
        &endless,
    ] {
        let ran = finish(&mut env.command(["measure"]), list);
        assert_eq!((ran.code, ran.out.len()), (2, 0));
        assert!(ran.err.contains("not a list of pairs"), "{}", ran.err);
        assert_eq!(ran.err.lines().count(), 1, "{}", ran.err);
    }
    let nothing = finish(&mut env.command(["measure"]), b"");
    assert_eq!((nothing.code, nothing.out.len()), (0, 0));
}
