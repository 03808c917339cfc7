//! Tests pages in a real browser.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use resemble_proto::seal::{self, Sealing};
use serde_json::{Value, json};

use crate::browser::Browser;
use crate::documents::{compare, covered, dirs, groups, printed};
use crate::environment;
use resemble_testutil::Environment;
use resemble_testutil::prose::paragraphs;

mod marks;
mod times;
mod verbs;

/// File names that do harm if a page or a workbook interprets them as code.
pub(crate) const HOSTILE: [&str; 6] = [
    "/h/<img src=x onerror=\"document.title='harm'\">",
    "/h/</script><script>document.title='harm'</script>",
    "/h/--><!--<script>",
    "/h/a\u{202e}gnp.exe\n\u{2028}\u{1b}[2J",
    "/h/&lt;b&gt;\"' %41?x#y",
    "/h/=cmd|'/c calc'!A1",
];

/// A name that is not UTF-8.
const NOT_UTF8: &[u8] = b"/h/\xffname\xc3";

/// Makes a page of groups with similar directories and evidence, which JSON does not have.
fn page_with_extras(env: &Environment, evidence: &Value) -> PathBuf {
    let plain = std::fs::read_to_string(printed(env, &groups(), "html")).unwrap();
    let put = |page: &str, id: &str, json: &Value| {
        let open = format!("<script type=\"application/json\" id=\"{id}\">");
        let (before, after) = page.split_once(&open).unwrap();
        let (_, after) = after.split_once("</script>").unwrap();
        format!("{before}{open}{json}</script>{after}")
    };
    let page = put(&plain, "folders", &dirs());
    let page = put(
        &page,
        "extra",
        &json!({"base": "/base", "evidence": evidence}),
    );
    // The parts were replaced, so the digest at the end of the page is computed again.
    let (page, _) = page.rsplit_once("<!-- digest ").unwrap();
    let mut sealed = Vec::new();
    let mut sealing = Sealing::new(&mut sealed);
    sealing.write_all(page.as_bytes()).unwrap();
    sealing.seal(seal::PAGE).unwrap();
    // The command reads this page and writes it as another page, which the tests use.
    let with = env.write("with.html", sealed);
    let again = env.path("again.html");
    let args = [
        "groups",
        "--from",
        with.to_str().unwrap(),
        "--format",
        "html",
        "-o",
        again.to_str().unwrap(),
    ];
    let ran = env.run(args);
    assert!(again.exists(), "{ran:?}");
    again
}

/// Returns the text of one column in the rows of a section. Columns are counted from 0.
fn column(browser: &mut Browser, section: &str, number: usize) -> Vec<String> {
    let rows = browser.eval(&format!(
        "[...document.querySelectorAll('#{section} .rows > table > tbody > tr.top')]\
         .map((r) => r.cells[{number}].textContent)"
    ));
    let rows = rows.as_array().unwrap().iter();
    rows.map(|text| text.as_str().unwrap().to_owned()).collect()
}

fn state(browser: &mut Browser, section: &str) -> String {
    browser.text(&format!(
        "document.querySelector('#{section} .state').textContent"
    ))
}

fn header(section: &str, label: &str) -> String {
    format!(
        "[...document.querySelectorAll('#{section} > .rows > table > thead button')]\
         .find((b) => b.textContent === '{label}')"
    )
}

#[test]
fn a_page_sorts_filters_and_folds() {
    let Some(mut browser) = Browser::start() else {
        return;
    };
    let env = environment();
    browser.open(&printed(&env, &groups(), "html"));
    let centers = |browser: &mut Browser| column(browser, "families", 1);
    let sorted = |browser: &mut Browser, label: &str| {
        browser.text(&format!(
            "{}.closest('th').getAttribute('aria-sort')",
            header("families", label)
        ))
    };
    let names = |names: &[&str]| {
        names
            .iter()
            .map(|name| format!("/c/{name}"))
            .collect::<Vec<_>>()
    };

    assert_eq!(
        centers(&mut browser),
        names(&["delta", "alpha", "charlie", "bravo"]),
        "as in the report"
    );
    // A share of 99.9999 % is shown as 99 %, because only identical files have 100 %.
    assert_eq!(
        column(&mut browser, "families", 3),
        ["95 %", "40 %", "99 %", "29 %"]
    );
    browser.click(&header("families", "Centre"));
    assert_eq!(
        centers(&mut browser),
        names(&["alpha", "bravo", "charlie", "delta"])
    );
    assert_eq!(sorted(&mut browser, "Centre"), "ascending");
    browser.click(&header("families", "Centre"));
    assert_eq!(
        centers(&mut browser),
        names(&["delta", "charlie", "bravo", "alpha"])
    );
    assert_eq!(sorted(&mut browser, "Centre"), "descending");
    browser.click(&header("families", "Similar"));
    assert_eq!(
        centers(&mut browser),
        names(&["charlie", "delta", "alpha", "bravo"]),
        "best first"
    );
    assert_eq!(sorted(&mut browser, "Centre"), "none");

    // The filter also finds members of a folded cluster, whose names are not shown.
    browser.click("document.querySelector('#families input[type=search]')");
    browser.type_text("V/ALPHA");
    assert_eq!(centers(&mut browser), names(&["alpha"]));
    assert_eq!(state(&mut browser, "families"), "1 of 4 clusters");
    browser.eval("document.querySelector('#families input[type=search]').value = ''");
    browser.click("document.querySelector('#families input[type=number]')");
    browser.type_text("40");
    assert_eq!(
        centers(&mut browser),
        names(&["charlie", "delta", "alpha"]),
        "40 % is at least 40 %"
    );
    browser.click(
        "[...document.querySelectorAll('#families .kinds button')]\
         .find((b) => b.textContent.startsWith('pair'))",
    );
    assert_eq!(centers(&mut browser), names(&["charlie", "delta"]));

    let details = "document.querySelectorAll('#families tr.detail').length";
    assert_eq!(browser.eval(details), 0);
    browser.click("document.querySelector('#families-1 .fold button')");
    assert_eq!(browser.eval(details), 1);
    let opened = browser.text("document.querySelector('#families tr.detail').textContent");
    for part in [
        "/c/delta",
        "centre",
        "/v/delta-2.txt",
        "newest",
        "95 %",
        "2004-11-09 11:33",
        "1 link",
        "id-delta",
    ] {
        assert!(opened.contains(part), "{part} in {opened}");
    }
    browser.click("document.querySelector('#families .unfold')");
    assert_eq!(browser.eval(details), 2);
    browser.click("document.querySelector('#families .foldup')");
    assert_eq!(browser.eval(details), 0);

    let page = browser.text("document.body.textContent");
    for part in [
        "4",
        "clusters of similar files: 8 files, 9.8 KiB",
        "sets of identical files: 7 files, 4.9 KiB overhead",
        "0.0.7",
        "tttd-460-2800-540-270.w64-l5-128-128.s5-l3-64-96.p3-1408-131072.v9",
        "Permission denied",
        "1,234",
        "groups.json",
    ] {
        assert!(page.contains(part), "{part}");
    }
    assert_eq!(
        column(&mut browser, "identical", 3),
        ["3.9 KiB", "900 B", "100 B"],
        "overhead"
    );
    assert_eq!(browser.problems(), Vec::<Value>::new());
}

#[test]
fn a_page_needs_no_mouse() {
    let Some(mut browser) = Browser::start() else {
        return;
    };
    let env = environment();
    browser.open(&page_with_extras(&env, &json!([])));
    let focus =
        "document.activeElement.textContent || document.activeElement.getAttribute('aria-label')";
    browser.key("Tab");
    assert_eq!(browser.text(focus), "Skip to the findings");
    let shown = browser.eval("document.activeElement.getBoundingClientRect().x >= 0");
    assert_eq!(shown, true, "what has the focus is seen");
    browser.key("Enter");
    assert_eq!(browser.text("document.activeElement.id"), "main");

    // Tab stops once in the map. Inside the map, arrow keys move from cell to cell.
    let in_map = "Boolean(document.activeElement.closest('[role=grid]') \
                  && document.activeElement.dataset.at)";
    let mut steps = 0;
    while browser.eval(in_map) != true {
        browser.key("Tab");
        steps += 1;
        assert!(steps < 12, "the map is not reached");
    }
    let cell = "document.activeElement.getAttribute('aria-label')";
    browser.key("Home");
    // Rows and columns are sorted by name: four, one, three, two.
    assert_eq!(browser.text("document.activeElement.dataset.at"), "0,0");
    browser.key("End");
    assert_eq!(browser.text(cell), "99 % of /d/four is in /d/two");
    browser.key("ArrowDown");
    assert_eq!(browser.text(cell), "50 % of /d/one is in /d/two");
    browser.key("ArrowLeft");
    browser.key("ArrowDown");
    assert_eq!(browser.text("document.activeElement.dataset.at"), "2,2");
    browser.key("ArrowLeft");
    assert_eq!(
        browser.text(cell),
        "99 % of /d/three is in /d/one",
        "not identical, so not 100"
    );
    browser.key("Enter");
    let row = browser.text("document.activeElement.closest('tr').textContent");
    assert!(row.contains("/d/one") && row.contains("/d/three"), "{row}");

    // Tab reaches every control. A control that has the focus is marked, and each has a name.
    let mut seen = std::collections::HashSet::new();
    let mut stops = String::new();
    for _ in 0..120 {
        browser.key("Tab");
        let stop = browser.text(
            "(() => { const e = document.activeElement, s = getComputedStyle(e); \
             return `${e.tagName}|\
             ${(e.textContent || e.getAttribute('aria-label') || '').trim()}|\
             ${s.outlineStyle}`; })()",
        );
        if stop.starts_with("BODY") {
            break;
        }
        writeln!(stops, "{stop}").unwrap();
        assert!(!stop.ends_with("|none"), "no visible focus: {stop}");
        assert!(!stop.contains("||"), "no name: {stop}");
        seen.insert(stop);
    }
    for part in [
        "BUTTON|Similar|",
        "BUTTON|Unfold all|",
        "BUTTON|versions 1|",
        "INPUT|Filter Identical files|",
        "BUTTON|Details of row 1|",
    ] {
        assert!(stops.contains(part), "{part} in\n{stops}");
    }

    // On a heading, Enter and the space bar sort the table. On the button of a cluster, they unfold
    // and fold it.
    browser.eval(&format!("{}.focus()", header("families", "Centre")));
    browser.key("Enter");
    assert_eq!(column(&mut browser, "families", 1)[0], "/c/alpha");
    browser.key(" ");
    assert_eq!(column(&mut browser, "families", 1)[0], "/c/delta");
    browser.eval("document.querySelector('#families .fold button').focus()");
    browser.key(" ");
    let open = "document.activeElement.getAttribute('aria-expanded')";
    assert_eq!(browser.text(open), "true");
    browser.key("Enter");
    assert_eq!(browser.text(open), "false");

    // No level of headings is skipped.
    let levels = browser
        .text("[...document.querySelectorAll('h1,h2,h3')].map((h) => h.tagName[1]).join('')");
    assert!(
        levels.starts_with("12") && !levels.contains("13"),
        "{levels}"
    );
    assert_eq!(browser.problems(), Vec::<Value>::new());
}

#[test]
fn hostile_names_stay_names() {
    let Some(mut browser) = Browser::start() else {
        return;
    };
    let env = environment();
    let mut report = groups();
    let mut paths: Vec<Value> = HOSTILE.iter().map(|name| json!(name)).collect();
    paths.push(json!({"b64": "L2gv/25hbWXD"}));
    report["identical"][0]["paths"] = json!(paths);
    report["identical"][0]["mtimes"] = json!([]);
    for (at, name) in HOSTILE.iter().take(4).enumerate() {
        report["clusters"][at]["members"][1]["path"] = json!(name);
        report["clusters"][at]["links"][0]["b"] = json!(name);
        report["clusters"][at]["kind"] = json!("family");
    }
    report["parameters"]["roots"] = json!([HOSTILE[1], {"b64": "L2gv/25hbWXD"}]);
    report["errors"] = json!([{"path": HOSTILE[0], "kind": "unreadable",
        "message": "</script><script>document.title='harm'</script>\u{1b}[2J"}]);
    report["summary"]["notes"] = json!(["<script>document.title='harm'</script>"]);
    let page = printed(&env, &report, "html");
    browser.open(&page);
    let title = browser.text("document.title");
    browser.click("document.querySelector('#identical-1 .fold button')");
    browser.click("document.querySelector('#families .unfold')");
    assert_eq!(browser.text("document.title"), title);
    assert!(
        title.starts_with("Similar and identical files: /h/</script>"),
        "{title}"
    );
    assert_eq!(
        browser.eval("document.querySelectorAll('img, iframe, object, link').length"),
        0
    );
    assert_eq!(browser.eval("document.scripts.length"), 4);

    let shown = browser.eval(
        "[...document.querySelectorAll('#identical tr.detail tbody tr .name')]\
         .map((n) => n.textContent)",
    );
    assert_eq!(
        shown,
        json!([
            HOSTILE[0],
            HOSTILE[1],
            HOSTILE[2],
            r"/h/a\u{202e}gnp.exe\n\u{2028}\x1b[2J",
            HOSTILE[4],
            HOSTILE[5],
            r"/h/\xffname\xc3",
        ])
    );
    let links = browser.eval(
        "[...document.querySelectorAll('#identical tr.detail tbody tr a.name')]\
         .map((n) => n.getAttribute('href'))",
    );
    for (name, link) in HOSTILE
        .iter()
        .map(|name| name.as_bytes())
        .chain([NOT_UTF8])
        .zip(links.as_array().unwrap())
    {
        let mut url = String::from("file://");
        for &byte in name {
            if byte.is_ascii_alphanumeric() || b"/._~-".contains(&byte) {
                url.push(char::from(byte));
            } else {
                write!(url, "%{byte:02X}").unwrap();
            }
        }
        assert_eq!(link, &json!(url));
    }
    // The page has the exact bytes of names, and the command reads these bytes back.
    let ran = env.run([
        "groups",
        "--from",
        page.to_str().unwrap(),
        "--format",
        "json",
    ]);
    assert_eq!(
        ran.json()["identical"][0]["paths"],
        report["identical"][0]["paths"]
    );
    // The content security policy of the page allows only its own script, which it names by its
    // hash. So an injected script does not run.
    browser.eval(
        "(() => { const s = document.createElement('script'); \
         s.textContent = \"document.title = 'harm'\"; document.body.append(s); })()",
    );
    assert_eq!(browser.text("document.title"), title);
    let refused = browser.problems();
    assert!(
        refused.len() == 1 && refused[0].to_string().contains("Content Security Policy"),
        "{refused:?}"
    );
}

#[test]
fn a_page_of_50_000_rows_stays_quick() {
    const ROWS: usize = 50_000;
    let Some(mut browser) = Browser::start() else {
        return;
    };
    let env = environment();
    let mut report = groups();
    let set = |n: usize| {
        json!({"size": (n * 7919) % 100_003,
            "paths": [format!("/srv/documents/folder-{}/file-{n}.txt", n % 997),
                format!("/srv/archive/folder-{}/file-{n}.txt", n % 991)],
            "mtimes": [n, n + 1]})
    };
    report["identical"] = (0..ROWS).map(set).collect();
    browser.open(&printed(&env, &report, "html"));
    assert_eq!(state(&mut browser, "identical"), "50,000 sets, 100 shown");

    // All times are compared with the time in which the browser parses the report, so they do not
    // depend on the machine.
    let figures = browser.eval(
        "(async () => {
           const frame = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
           const time = async (work) => {
             let best = Infinity;
             for (let i = 0; i < 3; i++) {
               await frame();
               const begin = performance.now();
               work();
               document.body.getBoundingClientRect();
               best = Math.min(best, performance.now() - begin);
             }
             return best;
           };
           const text = document.getElementById('document').textContent;
           const box = document.querySelector('#identical input[type=search]');
           const type = (value) => {
             box.value = value;
             box.dispatchEvent(new Event('input'));
             sections.find((s) => s.id === 'identical').update();
           };
           const unit = await time(() => JSON.parse(text));
           type('warm');
           const filter = await time(() => type('folder-77'));
           const found = document.querySelectorAll('#identical tr.top').length;
           type('');
           const sort = await time(() => [...document.querySelectorAll('#identical thead button')]
             .find((b) => b.textContent === 'Size of one').click());
           return { unit, filter, sort, found, nodes: document.querySelectorAll('*').length };
         })()",
    );
    let of = |name: &str| figures[name].as_f64().unwrap();
    // If filtering or sorting took quadratic time, the ratio would be in the thousands.
    assert!(of("filter") < 100.0 * of("unit"), "{figures}");
    assert!(of("sort") < 100.0 * of("unit"), "{figures}");
    assert!(of("found") > 0.0 && of("found") <= 100.0, "{figures}");
    assert!(
        of("nodes") < 6_000.0,
        "only what is seen is in the page: {figures}"
    );

    // A button shows more rows.
    browser.click("[...document.querySelectorAll('#identical > .more')][0]");
    assert_eq!(state(&mut browser, "identical"), "50,000 sets, 200 shown");
    assert_eq!(browser.problems(), Vec::<Value>::new());
}

#[test]
fn a_page_prints() {
    let Some(mut browser) = Browser::start() else {
        return;
    };
    let env = environment();
    browser.open(&page_with_extras(&env, &json!([])));
    let details = "document.querySelectorAll('tr.detail').length";
    assert_eq!(browser.eval(details), 0);
    browser.eval(
        "addEventListener('beforeprint', () => { \
         window.printed = document.querySelectorAll('tr.detail').length; })",
    );
    let pdf = browser.call("Page.printToPDF", &json!({}));
    let pdf = pdf["data"].as_str().unwrap();
    assert!(pdf.starts_with("JVBER"), "a PDF");
    assert!(pdf.len() > 40_000, "{}", pdf.len());
    assert_eq!(
        browser.eval("window.printed"),
        7,
        "four clusters and three sets are unfolded"
    );
    assert_eq!(browser.eval(details), 0, "and folded again");

    browser.call("Emulation.setEmulatedMedia", &json!({"media": "print"}));
    let hidden = browser.eval(
        "['nav', '.tools', '.more', '.skip']\
         .map((s) => getComputedStyle(document.querySelector(s)).display)",
    );
    assert_eq!(hidden, json!(["none", "none", "none", "none"]));
    assert_eq!(browser.problems(), Vec::<Value>::new());
}

#[test]
fn a_page_is_read_without_scripts() {
    let Some(mut browser) = Browser::start() else {
        return;
    };
    let env = environment();
    browser.call(
        "Emulation.setScriptExecutionDisabled",
        &json!({"value": true}),
    );
    browser.open(&printed(&env, &groups(), "html"));
    let root = browser.call("DOM.getDocument", &json!({}))["root"]["nodeId"].clone();
    let mut count = |selector: &str| {
        let found = browser.call(
            "DOM.querySelectorAll",
            &json!({"nodeId": root, "selector": selector}),
        );
        found["nodeIds"].as_array().unwrap().len()
    };
    // The page has sections for clusters with their members, identical files, links and errors.
    assert_eq!(count("noscript section"), 4);
    assert_eq!(count("noscript section:nth-of-type(1) tr"), 1 + 4 + 8);
    assert_eq!(count("noscript section:nth-of-type(2) tr"), 1 + 7);
    assert_eq!(
        count("header h1, #about th"),
        1 + 4 + 6 + 13,
        "the head and how it was made"
    );
}

#[test]
fn colours_can_be_read_by_day_and_by_night() {
    let Some(mut browser) = Browser::start() else {
        return;
    };
    let env = environment();
    browser.open(&page_with_extras(&env, &json!([])));
    let mut grounds = Vec::new();
    for scheme in ["light", "dark"] {
        let features = json!([{"name": "prefers-color-scheme", "value": scheme}]);
        browser.call("Emulation.setEmulatedMedia", &json!({"features": features}));
        browser.settle();
        grounds.push(browser.text("getComputedStyle(document.body).backgroundColor"));
        // WCAG 2.1, section 1.4.3: a contrast of at least 4.5 between text and its background.
        let worst = browser.eval(include_str!("pages/contrast.js"));
        assert!(worst[0].as_f64().unwrap() >= 4.5, "{scheme}: {worst}");
    }
    assert_ne!(grounds[0], grounds[1]);
}

#[test]
fn evidence_stands_side_by_side() {
    let Some(mut browser) = Browser::start() else {
        return;
    };
    let env = environment();
    let line = |n: u64, spans: Value| json!({"n": n, "s": spans});
    let rows = json!([
        [line(1, json!([[1, "both have this"]])), line(1, json!([[1, "both have this"]]))],
        [line(2, json!([[0, "<b>only the first"]])), null],
        [{"cut": "… 12 lines equal …"}, {"cut": "… 12 lines equal …"}],
        [null, line(15, json!([[2, "moved"], [0, " here"]]))]]);
    let evidence = json!([{"a": "/c/delta", "b": "/v/delta-2.txt", "a_in_b": 0.475, "b_in_a": 0.95,
        "shared_bytes": 1000, "text": true, "rows": rows, "note": "Not shown: the end."},
        {"a": "/c/delta", "b": "/v/other", "a_in_b": 0.4, "b_in_a": 0.4,
        "shared_bytes": 7, "estimate": true, "text": true, "rows": []}]);
    browser.open(&page_with_extras(&env, &evidence));
    let shared = browser.eval(
        "[...document.querySelectorAll('#evidence td')].map((c) => c.textContent)\
         .filter((text) => text.endsWith(' B'))",
    );
    assert_eq!(shared, json!(["1000 B", "at least 7 B"]));
    // A link in the row of the cluster leads to the evidence.
    browser.click("document.querySelector('#families-1 .fold button')");
    browser.click("document.querySelector('#families tr.detail a.tag')");
    let cells = browser.eval(
        "[...document.querySelectorAll('.sides tbody tr')]\
         .map((r) => [...r.cells].map((c) => c.textContent).join('|'))",
    );
    assert_eq!(
        cells,
        json!([
            "1|1both have this|1|1both have this",
            "2|<b>only the first||",
            "|… 12 lines equal …||… 12 lines equal …",
            "||15|2moved here"
        ])
    );
    let marks = browser.eval(
        "[...document.querySelectorAll('.sides mark')]\
         .map((m) => m.dataset.run + getComputedStyle(m).backgroundColor)",
    );
    assert_eq!(marks[0], marks[1], "the same part, the same colour");
    assert_ne!(marks[0], marks[2]);
    assert!(
        browser
            .text("document.querySelector('#evidence').textContent")
            .contains("Not shown: the end.")
    );
    assert_eq!(browser.problems(), Vec::<Value>::new());
}
