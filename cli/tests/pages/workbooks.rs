//! Opens workbooks in a real spreadsheet program.

use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::json;

use crate::browser::installed;
use crate::documents::{compare, groups, printed};
use crate::environment;
use crate::pages::HOSTILE;
use resemble_testutil::Environment;
use resemble_testutil::prose::paragraphs;

/// Converts a workbook to flat XML with `LibreOffice`, and returns the XML.
fn opened_by_office(env: &Environment, workbook: &Path) -> String {
    let profile = env.path("office-profile");
    let mut command = Command::new("soffice");
    command
        .arg(format!(
            "-env:UserInstallation=file://{}",
            profile.display()
        ))
        .args(["--headless", "--convert-to", "fods", "--outdir"])
        .arg(env.path(""))
        .arg(workbook)
        .env("HOME", env.home())
        .stdin(Stdio::null());
    let output = command.output().unwrap();
    let name = workbook.with_extension("fods");
    std::fs::read_to_string(&name).unwrap_or_else(|error| panic!("{error}: {output:?}"))
}

/// Returns the XML of one sheet of a workbook.
fn sheet<'a>(book: &'a str, name: &str) -> &'a str {
    let open = format!("<table:table table:name=\"{name}\"");
    let (_, rest) = book
        .split_once(&open)
        .unwrap_or_else(|| panic!("no sheet {name}"));
    rest.split("</table:table>").next().unwrap()
}

#[test]
fn a_spreadsheet_opens_the_workbook() {
    if !installed("soffice") {
        return;
    }
    let env = environment();
    let mut report = groups();
    report["identical"][1]["paths"] = json!([HOSTILE[5], HOSTILE[3]]);
    report["identical"][2]["paths"][0] = json!({"b64": "L2gv/25hbWXD"});
    let book = opened_by_office(&env, &printed(&env, &report, "xlsx"));

    let names: Vec<&str> = book
        .split("<table:table table:name=\"")
        .skip(1)
        .filter_map(|rest| rest.split('"').next())
        .collect();
    assert_eq!(
        names,
        ["Clusters", "Identical files", "Links", "Errors", "About"]
    );
    // Each cluster or set is a row, and its members are folded rows below it. Figures 5 and 6 of
    // Forman et al. (2005) show such tables.
    for (name, groups, below) in [("Clusters", 4, 8), ("Identical files", 3, 4)] {
        let table = sheet(&book, name);
        assert_eq!(
            table
                .matches("<table:table-row-group table:display=\"false\"")
                .count(),
            groups,
            "{name}"
        );
        let inside: usize = table
            .split("<table:table-row-group")
            .skip(1)
            .map(|group| {
                group
                    .split("</table:table-row-group>")
                    .next()
                    .unwrap()
                    .matches("<table:table-row ")
                    .count()
            })
            .sum();
        assert_eq!(inside, below, "{name}");
    }
    assert!(sheet(&book, "Identical files").contains("table:visibility=\"collapse\""));
    let identical = sheet(&book, "Identical files");
    // Cells with numbers or times have the matching type. Every name is a text cell.
    assert!(
        identical.contains("office:value-type=\"float\" office:value=\"4000\""),
        "overhead"
    );
    assert!(
        identical.contains("office:date-value=\"2001-09-09T01:46:40\""),
        "{identical}"
    );
    assert!(!book.contains("table:formula"), "no cell is a formula");
    assert!(
        identical.contains("<text:p>/h/=cmd|&apos;/c calc&apos;!A1</text:p>")
            || identical.contains("<text:p>/h/=cmd|'/c calc'!A1</text:p>")
    );
    assert!(identical.contains(r"/h/a\u{202e}gnp.exe\n\u{2028}\x1b[2J"));
    assert!(identical.contains(r"/h/\xffname\xc3"));
    let clusters = sheet(&book, "Clusters");
    assert!(
        clusters.contains("office:value-type=\"percentage\" office:value=\"0.95\""),
        "{clusters}"
    );
    assert!(
        clusters.contains("office:value-type=\"percentage\" office:value=\"0.999\""),
        "not identical: not 100 %"
    );
    // A sheet without folded rows has filters.
    assert!(
        book.contains("table:target-range-address=\"Links.A2:Links.I6\""),
        "{}",
        &book[book.len() - 2000..]
    );
    let about = sheet(&book, "About");
    for part in [
        "0.0.7",
        "tttd-460-2800-540-270.w64-l5-128-128.s5-l3-64-96.p3-1408-131072.v9",
        "sets of identical files: 7 files, 4.9 KiB overhead",
        "1 file or directory could not be looked at",
    ] {
        assert!(about.contains(part), "{part}");
    }
    assert!(sheet(&book, "Errors").contains("Permission denied"));

    // The sheet of a comparison has rows for classes, with folders below each class and files below
    // each folder.
    let book = opened_by_office(&env, &printed(&env, &compare(), "xlsx"));
    let table = sheet(&book, "Compare");
    // There are five classes with one folder each. Only the files of the folders are folded.
    let groups = table.matches("<table:table-row-group").count();
    let folded = table
        .matches("<table:table-row-group table:display=\"false\"")
        .count();
    assert_eq!((groups, folded), (10, 5), "{table}");
    assert!(table.contains("further partner"));
}

/// A spreadsheet program opens the lists of `find` and `pairs`.
#[test]
fn a_spreadsheet_opens_lists() {
    if !installed("soffice") {
        return;
    }
    let env = environment();
    let text = paragraphs(1, 60);
    env.write("docs/=cmd.txt", &text);
    env.write("docs/copy.txt", &text);
    let find = ["find", "docs/copy.txt", "--in", "docs"];
    for (args, name) in [(&find[..], "Similar files"), (&["pairs", "docs"], "Pairs")] {
        let ran = env.run([args, &["--format", "xlsx", "-o", "list.xlsx"]].concat());
        assert_eq!(ran.code, 0, "{ran:?}");
        let book = opened_by_office(&env, &env.path("list.xlsx"));
        let table = sheet(&book, name);
        assert!(table.contains("<text:p>docs/=cmd.txt</text:p>"), "{table}");
        let whole = "office:value-type=\"percentage\" office:value=\"1\"";
        assert!(table.contains(whole), "{table}");
        assert!(sheet(&book, "About").contains("Files looked at"));
    }
}
