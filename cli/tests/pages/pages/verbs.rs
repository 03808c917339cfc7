//! Tests a page of each verb, and pages of empty reports.

use super::*;

#[test]
fn pages_of_the_other_verbs() {
    let Some(mut browser) = Browser::start() else {
        return;
    };
    let env = environment();
    browser.open(&printed(&env, &compare(), "html"));
    let page = browser.text("document.body.textContent");
    for part in [
        "97.3 %",
        "of the first's 1000 B are in the second",
        "1",
        "of the first's 5 files have nothing in the second",
        "100 %",
    ] {
        assert!(page.contains(part), "{part}");
    }
    // Rows of the class `same` are hidden until the user clicks on the button of that class.
    assert_eq!(
        column(&mut browser, "entries", 2),
        ["edited", "contained", "moved", "only-a"]
    );
    browser.click(
        "[...document.querySelectorAll('#entries .kinds button')]\
         .find((b) => b.textContent.startsWith('same'))",
    );
    assert_eq!(
        column(&mut browser, "entries", 3),
        ["100 %", "50 %", "80 %", "100 %", "0 %"]
    );
    browser.click("document.querySelector('#entries .fold button')");
    assert!(
        browser
            .text("document.querySelector('#entries tr.detail').textContent")
            .contains("src/rest.c")
    );
    let link = browser.text("document.querySelector('#entries-3 a').getAttribute('href')");
    assert_eq!(link, "file:///left/lib/part.c");

    browser.open(&printed(&env, &covered(), "html"));
    assert_eq!(
        browser.text("document.querySelector('.verdict').textContent"),
        "/x cannot go: 2 entries have no equal elsewhere."
    );
    let ids = browser.eval("[...document.querySelectorAll('main > section')].map((s) => s.id)");
    assert_eq!(ids, json!(["missing", "near", "linked", "copies"]));

    browser.open(&printed(&env, &dirs(), "html"));
    assert_eq!(column(&mut browser, "folders", 1), ["50 %", "25 %", "99 %"]);
    assert_eq!(browser.problems(), Vec::<Value>::new());
}

/// The lists of `find` and `pairs` can be printed as pages.
#[test]
fn pages_of_lists() {
    let Some(mut browser) = Browser::start() else {
        return;
    };
    let env = environment();
    let text = paragraphs(1, 60);
    env.write("docs/<b>&.txt", &text);
    env.write("docs/copy.txt", &text);
    env.write("docs/edited.txt", text.replacen("river", "brook", 2));
    let find = ["find", "docs/copy.txt", "--in", "docs"];
    let pairs = ["pairs", "docs"];
    for (args, section) in [(&find[..], "results"), (&pairs, "pairs")] {
        let page = env.path("page.html");
        let output = ["--format", "html", "-o", "page.html"];
        let ran = env.run([args, &output].concat());
        assert_eq!((ran.code, ran.text().as_str()), (0, ""), "{ran:?}");
        browser.open(&page);
        let json = env.run([args, &["--format", "json"]].concat()).json();
        let rows = json[section].as_array().unwrap().len();
        let shares = column(&mut browser, section, 2);
        assert_eq!(shares.len(), rows);
        assert_eq!((shares[0].as_str(), shares[1].as_str()), ("100 %", "99 %"));
        let names = column(&mut browser, section, 0);
        assert!(names[0].contains("docs/<b>&.txt"), "{names:?}");
        // The page contains the same document as the JSON output. Its rows are not compared,
        // because JavaScript reads 1.000000 as 1.
        assert_eq!(browser.eval("doc.parameters"), json["parameters"]);
        assert_eq!(browser.eval("doc.looked"), json["looked"]);
        assert_eq!(browser.problems(), Vec::<Value>::new());
    }
    assert_eq!(browser.problems(), Vec::<Value>::new());
}

#[test]
fn empty_reports_are_pages_too() {
    let Some(mut browser) = Browser::start() else {
        return;
    };
    let env = environment();
    for (mut report, lists) in [
        (groups(), &["identical", "clusters"][..]),
        (dirs(), &["pairs"]),
        (compare(), &["entries", "trees", "others"]),
        (covered(), &["missing", "near", "linked", "copies"]),
    ] {
        for list in lists {
            report[*list] = json!([]);
        }
        report["errors"] = json!([]);
        browser.open(&printed(&env, &report, "html"));
        assert_eq!(
            browser.problems(),
            Vec::<Value>::new(),
            "{}",
            report["command"]
        );
        assert_eq!(browser.eval("document.querySelector('nav').hidden"), false);
    }
}
