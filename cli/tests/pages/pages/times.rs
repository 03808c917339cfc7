//! Tests the chart that shows families of versions over time.

use super::*;

const DAY: i64 = 86_400;

/// Makes the member `/f/NAME` of a family, with a file time and the date that the document states.
fn version(name: &str, mtime: i64, stated: Option<i64>) -> Value {
    let mut member = json!({"path": format!("/f/{name}"), "size": 1000, "mtime": mtime,
        "a_in_b": 0.9, "b_in_a": 0.8, "copies": 1});
    if let Some(time) = stated {
        member["document_date"] = json!({"time": time, "source": "docx"});
    }
    member
}

/// Marks a member as the newest, as answers of the command do.
fn newest(mut member: Value) -> Value {
    member["newest"] = json!(true);
    member
}

/// Makes a report of these families. The first member of each family is its centre.
fn families(families: &[Vec<Value>]) -> Value {
    let mut report = groups();
    let cluster = report["clusters"][0].clone();
    let clusters = families.iter().enumerate().map(|(at, members)| {
        let mut cluster = cluster.clone();
        cluster["id"] = json!(format!("id{at}"));
        cluster["center"] = members[0]["path"].clone();
        cluster["members"] = json!(members);
        cluster["links"] = json!([]);
        cluster
    });
    report["clusters"] = clusters.collect();
    report
}

/// Returns, for each family in the chart, its name and period, followed by the titles of its
/// points.
fn drawn(browser: &mut Browser) -> Vec<Vec<String>> {
    let rows = browser.eval(
        "[...document.querySelectorAll('.times [role=group] .family')].map((row) => \
         [[...row.firstChild.children].map((part) => part.textContent).join('|'), \
          ...[...row.querySelectorAll('.point')].map((point) => \
            `${point.textContent}${point.matches('.newest') ? '!' : ''} \
             ${point.style.getPropertyValue('--at')} ${point.title}`)])",
    );
    serde_json::from_value(rows).unwrap()
}

#[test]
fn families_are_shown_at_their_dates() {
    let Some(mut browser) = Browser::start() else {
        return;
    };
    let env = environment();
    let day = |number: i64| number * DAY;
    let report = families(&[
        vec![
            version("a1", day(1), None),
            newest(version("a3", day(101), None)),
            version("a2", day(41), None),
        ],
        // All members state a date, so these dates count and not the times of the files.
        vec![
            version("b1", day(9), Some(day(61))),
            newest(version("b2", day(8), Some(day(81)))),
        ],
        // One member states no date, so the times of the files count. They are equal, so no member
        // is the newest.
        vec![
            version("c1", day(11), Some(day(99))),
            version("c2", day(11), None),
        ],
        vec![version("d1", 0, None), newest(version("d2", day(21), None))],
        vec![version("e1", 0, None), version("e2", i64::MAX, None)],
    ]);
    browser.open(&printed(&env, &report, "html"));
    let expected = [
        &[
            "/f/a1|3 files, 1970-01-02 to 1970-04-12",
            " 0 /f/a1, changed 1970-01-02 00:00, centre",
            " 0.4 /f/a2, changed 1970-02-11 00:00, 90 % of it in the centre",
            "! 1 /f/a3, changed 1970-04-12 00:00, 90 % of it in the centre, newest",
        ][..],
        &[
            "/f/b1|2 files, 1970-03-03 to 1970-03-23, as they state",
            " 0.6 /f/b1, states 1970-03-03 00:00, centre",
            "! 0.8 /f/b2, states 1970-03-23 00:00, 90 % of it in the centre, newest",
        ],
        &[
            "/f/c1|2 files, 1970-01-12, all at one time",
            "2 0.1 /f/c2, changed 1970-01-12 00:00, 90 % of it in the centre\n\
             /f/c1, changed 1970-01-12 00:00, centre",
        ],
        &[
            "/f/d1|2 files, 1970-01-22, 1 without a date",
            "! 0.2 /f/d2, changed 1970-01-22 00:00, 90 % of it in the centre, newest",
        ],
        &["/f/e1|2 files, 2 without a date"],
    ];
    assert_eq!(drawn(&mut browser), expected);
    let ticks = "[...document.querySelectorAll('.ticks .axis span')].map((t) => t.textContent)";
    assert_eq!(
        browser.eval(ticks),
        json!([
            "1970-01-02",
            "1970-01-27",
            "1970-02-21",
            "1970-03-18",
            "1970-04-12"
        ])
    );

    // Tab stops once in the chart. The arrow keys move to the newest member of the second family.
    browser.eval("document.querySelector('.times input').focus()");
    browser.key("Tab");
    for key in ["ArrowDown", "ArrowRight", "ArrowRight"] {
        browser.key(key);
    }
    let focus = "document.activeElement.title || document.activeElement.textContent";
    assert!(browser.text(focus).starts_with("/f/b2, states"));
    browser.key("Enter");
    assert!(
        browser.text(focus).starts_with("/f/b2"),
        "its row in the list"
    );
    let open = "[...document.querySelectorAll('#families tr.detail')].map((d) => d.id)";
    assert_eq!(browser.eval(open), json!(["families-detail-2"]));
    browser.click("document.querySelector('.times [role=group] .family button')");
    let opened = json!(["families-detail-1", "families-detail-2"]);
    assert_eq!(browser.eval(open), opened);

    // With a separate time scale for each family, the points of a family use the whole width.
    browser.click("document.querySelector('.times input')");
    let second = &drawn(&mut browser)[1];
    assert!(second[1].starts_with(" 0 /f/b1") && second[2].starts_with("! 1 /f/b2"));
    assert_eq!(browser.problems(), Vec::<Value>::new());
}

#[test]
fn the_first_families_of_the_list_are_drawn() {
    let Some(mut browser) = Browser::start() else {
        return;
    };
    let env = environment();
    let family = |number: i64| -> Vec<Value> {
        let member = |at: i64| version(&format!("{number}-{at}"), (number + at) * DAY, None);
        (0..3000).map(member).collect()
    };
    let all: Vec<Vec<Value>> = (1..=25).map(family).collect();
    browser.open(&printed(&env, &families(&all), "html"));
    let more = "document.querySelector('.times > .more')";
    assert_eq!(drawn(&mut browser).len(), 10);
    assert_eq!(
        browser.text(&format!("{more}.textContent")),
        "15 more over time"
    );
    let points = browser.eval("document.querySelectorAll('.times .point').length");
    assert!(points.as_u64().unwrap() < 700, "of 30,000 files: {points}");
    browser.click(more);
    assert_eq!(drawn(&mut browser).len(), 20);

    // The filter and the order of the list apply to the chart, too.
    browser.click("document.querySelector('#families input[type=search]')");
    browser.type_text("/f/7-2999");
    let rows = drawn(&mut browser);
    assert!(rows.len() == 1 && rows[0][0].starts_with("/f/7-0|3,000 files"));
    assert_eq!(browser.eval(&format!("{more}.hidden")), true);
    assert_eq!(browser.problems(), Vec::<Value>::new());
}
