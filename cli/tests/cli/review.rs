//! `groups --review`: templates that the user marks in one run are also used in the next.

use resemble_testutil::Environment;
use resemble_testutil::prose::{edited, prose};

use crate::environment;

/// Makes pages with a long common preamble, a version of one page, and two versions of a letter.
pub(crate) fn pages() -> Environment {
    let env = environment();
    let preamble = prose(1, 9_000);
    for page in 0..6 {
        let text = [preamble.clone(), prose(100 + page, 6_000)].concat();
        env.write(format!("docs/page-{page}.txt"), &text);
        if page == 0 {
            env.write("docs/page-0b.txt", edited(&text, 5, 2));
        }
    }
    env.write("docs/letter.txt", prose(200, 9_000));
    env.write("docs/letter-2.txt", edited(&prose(200, 9_000), 1, 2));
    env
}

/// Returns the number of members of each cluster that `groups` lists.
pub(crate) fn clusters(env: &Environment) -> Vec<usize> {
    let groups = env.run(["groups", "docs", "--format", "json"]).json();
    let clusters = groups["clusters"].as_array().expect("clusters").iter();
    let sizes = clusters.map(|cluster| cluster["members"].as_array().expect("members").len());
    sizes.collect()
}

#[test]
fn a_cluster_that_is_a_template_is_not_shown_again() {
    let env = pages();
    assert_eq!(clusters(&env), [7, 2]);
    let review = |answers: &str| {
        let ran = env.feed(["groups", "docs", "--review"], answers.as_bytes());
        assert_eq!(ran.code, 0, "{ran:?}");
        (ran.text(), ran.err)
    };
    // An invalid answer, an empty line and `q` mark no template.
    let (shown, _) = review("what\n\nq\n");
    assert_eq!(shown.matches("t template, Enter next, q quit? ").count(), 3);
    assert!(shown.contains("docs/page-1.txt") && shown.contains("docs/letter.txt"));
    assert_eq!(clusters(&env), [7, 2]);
    assert_eq!(env.run(["templates", "list"]).code, 1);
    // The user marks the preamble as a template, so the following clusters are computed without it.
    let (shown, said) = review("t\n");
    let (before, after) = shown.split_once("q quit? ").expect("a question");
    assert!(before.contains("docs/page-1.txt"), "{before}");
    assert!(!after.contains("docs/page-1.txt"), "{after}");
    for name in ["docs/page-0.txt", "docs/page-0b.txt"] {
        assert!(after.contains(name) || before.contains(name), "{shown}");
    }
    assert!(said.contains("resemble templates unmark"), "{said}");
    // The next run computes its clusters without the template, too.
    assert_eq!(clusters(&env), [2, 2]);
    assert_eq!(review("").0.matches("q quit? ").count(), 1);
    assert_eq!(review("\n\n").0.matches("q quit? ").count(), 2);
    let listed = env.run(["templates", "list"]).text();
    assert_eq!(listed.lines().count(), 1, "{listed}");
    let id = listed.split_whitespace().next().expect("an id");
    assert_eq!(env.run(["templates", "unmark", id]).code, 0);
    assert_eq!(clusters(&env), [7, 2]);
}

/// If there are no clusters, the command asks nothing.
#[test]
fn nothing_to_review_is_an_answer() {
    let env = environment();
    env.write("docs/a.txt", prose(1, 9_000));
    let ran = env.feed(["groups", "docs", "--review"], b"t\n");
    assert_eq!((ran.code, ran.text().as_str()), (1, ""), "{ran:?}");
    assert!(ran.err.contains("nothing found"), "{ran:?}");
    let both = env.run(["groups", "docs", "--review", "--format", "json"]);
    assert_eq!(both.code, 2, "{both:?}");
    let missing = env.feed(["groups", "absent", "--review"], b"");
    assert_eq!(missing.code, 2, "{missing:?}");
}
