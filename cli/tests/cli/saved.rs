//! Saved reports, filtered again and printed again.

use serde_json::json;

use crate::documents::{compare, covered, dirs, groups, printed, saved};
use crate::environment;

#[test]
fn a_saved_report_is_filtered_and_printed_again() {
    let env = environment();
    let from = saved(&env, "report.json", &groups());
    let from = from.to_str().unwrap();
    // Without options it is the same report each time, byte for byte, and also when it is read from
    // a page.
    let first = env.run(["groups", "--from", from, "--format", "json"]);
    assert_eq!(
        first.code, 2,
        "the error of the report is still one: {first:?}"
    );
    assert_eq!(
        first.json()["version"],
        "0.0.7",
        "the version that made the report"
    );
    let again = env.write("again.json", &first.out);
    let second = env.run([
        "groups",
        "--from",
        again.to_str().unwrap(),
        "--format",
        "json",
    ]);
    assert_eq!(first.text(), second.text());
    let page = printed(&env, &groups(), "html");
    let third = env.run([
        "groups",
        "--from",
        page.to_str().unwrap(),
        "--format",
        "json",
    ]);
    assert_eq!(first.text(), third.text());

    let ran = env.run([
        "groups",
        "--from",
        from,
        "--format",
        "json",
        "--min",
        "40%",
        "--exclude",
        "/delta*",
        "--exclude",
        "a",
    ]);
    let report = ran.json();
    let centers: Vec<&str> = report["clusters"]
        .as_array()
        .unwrap()
        .iter()
        .map(|c| c["center"].as_str().unwrap())
        .collect();
    assert_eq!(centers, ["/c/alpha", "/c/charlie"]);
    assert_eq!(report["identical"][0]["paths"], json!(["/i/b", "/i/c"]));
    assert_eq!(report["summary"]["clusters"], 2);
    assert_eq!(report["parameters"]["exclude"], json!(["/delta*", "a"]));
    let ran = env.run(["groups", "--from", from, "--format", "json", "--top", "1"]);
    assert_eq!(ran.json()["identical"].as_array().unwrap().len(), 1);
    assert_eq!(
        ran.json()["summary"]["sets"],
        3,
        "a cut list does not change the totals"
    );

    let ran = env.run([
        "groups",
        "--from",
        from,
        "--format",
        "fdupes",
        "--include",
        "d",
        "--include",
        "e",
    ]);
    assert_eq!(ran.text(), "/i/d\n/i/e\n\n");

    let from = saved(&env, "compare.json", &compare());
    let ran = env.run([
        "compare",
        "--from",
        from.to_str().unwrap(),
        "--format",
        "json",
        "--class",
        "edited",
    ]);
    assert_eq!(
        ran.json()["entries"].as_array().unwrap().len(),
        1,
        "{ran:?}"
    );
    assert_eq!(ran.json()["summary"], compare()["summary"]);
    let from = saved(&env, "dirs.json", &dirs());
    let ran = env.run([
        "dirs",
        "--from",
        from.to_str().unwrap(),
        "--format",
        "json",
        "--min",
        "80%",
    ]);
    assert_eq!(ran.json()["pairs"].as_array().unwrap().len(), 2, "{ran:?}");
    let from = saved(&env, "covered.json", &covered());
    let ran = env.run([
        "covered",
        "--from",
        from.to_str().unwrap(),
        "--format",
        "json",
    ]);
    assert_eq!(ran.code, 1, "still not covered: {ran:?}");
    assert_eq!(ran.json()["missing"], covered()["missing"]);
}

#[test]
fn what_is_no_saved_report_is_refused() {
    let env = environment();
    let groups_file = saved(&env, "groups.json", &groups());
    let cut = serde_json::to_vec(&groups()).unwrap();
    let damaged = env.write("damaged.json", &cut[..cut.len() / 2]);
    let empty = env.write("empty.json", "");
    let letter = env.write("letter.txt", "Dear all,\nthis is no report.\n");
    let old = env.write("old.json", &cut);
    let mut bytes = std::fs::read(&groups_file).unwrap();
    let at = bytes.windows(4).position(|four| four == b"/i/b").unwrap();
    bytes[at + 3] = b'c';
    let changed = env.write("changed.json", bytes);
    let page = printed(&env, &groups(), "html");
    let mut bytes = std::fs::read(&page).unwrap();
    bytes[20] ^= 1;
    std::fs::write(&page, bytes).unwrap();
    let cases = [
        (
            &groups_file,
            "dirs",
            "is a report of `groups`, not of `dirs`",
        ),
        (&damaged, "groups", "is damaged"),
        (&empty, "groups", "is not a saved report of resemble"),
        (&letter, "covered", "is not a saved report of resemble"),
        (&old, "groups", "has no digest at its end"),
        (&changed, "groups", "was changed after it was written"),
        (&page, "groups", "was changed after it was written"),
        (&env.path("absent"), "groups", "No such file or directory"),
    ];
    for (path, verb, why) in cases {
        let ran = env.run([verb, "--from", path.to_str().unwrap()]);
        assert_eq!(ran.code, 2, "{ran:?}");
        assert_eq!(ran.text(), "");
        assert!(ran.err.contains(why), "{ran:?}");
        assert_eq!(ran.err.matches('\n').count(), 1, "one sentence: {ran:?}");
    }
}
