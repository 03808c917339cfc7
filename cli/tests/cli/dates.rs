//! The dates of files without parts.

use resemble_testutil::picture::{MODIFIED, jpeg, tiff};
use resemble_testutil::prose::paragraphs;
use resemble_testutil::random::noise;

use crate::environment;

/// Pictures and web pages have no parts, but they do have a date. The date determines the newest
/// version: among files here, in a catalogue, and when the question comes through a pipe.
#[test]
fn pictures_and_pages_state_their_dates() {
    let env = environment();
    let bytes = noise(7, 90_000);
    for (name, day, edit) in [("a", 7, "once"), ("b", 5, "twice"), ("c", 6, "thrice")] {
        let exif = tiff(&[(MODIFIED.0, &format!("2020:01:0{day} 12:00:00"))], 0);
        let edited = [&bytes[..40_000], edit.as_bytes(), &bytes[40_000..]].concat();
        env.write(format!("docs/{name}.jpg"), jpeg(&exif, &edited));
        let page = format!(
            "<!doctype html><head><meta name=\"date\" content=\"2020-01-0{day}\"></head>\n\
             <p>{}{edit}",
            paragraphs(3, 40)
        );
        env.write(format!("docs/{name}.html"), page);
    }
    assert_eq!(env.run(["export", "docs", "-o", "docs.cat"]).code, 0);
    for scope in ["docs", "docs.cat"] {
        let json = env.run(["groups", scope, "--format", "json"]).json();
        let clusters = json["clusters"].as_array().expect("clusters");
        let mut newest: Vec<_> = clusters
            .iter()
            .flat_map(|cluster| cluster["members"].as_array().expect("members"))
            .filter(|member| member["newest"] == true)
            .map(|member| {
                let path = member["path"].as_str().expect("a path");
                let source = member["document_date"]["source"].as_str();
                (path.rsplit('/').next().unwrap_or_default(), source)
            })
            .collect();
        newest.sort_unstable();
        let expected = [("a.html", Some("date")), ("a.jpg", Some("DateTime"))];
        assert_eq!(newest, expected, "{scope}: {json}");
    }
    let picture = std::fs::read(env.path("docs/b.jpg")).unwrap();
    let found = env
        .feed(["find", "-", "--in", "docs", "-v"], &picture)
        .text();
    assert!(
        found.contains("a.jpg  DateTime 2020-01-07  newer by stated date"),
        "{found}"
    );
}
