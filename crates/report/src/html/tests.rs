use super::*;
use resemble_proto::documents::{
    CoveredDocument, CoveredFilter, CoveredParameters, DirsDocument, DirsParameters, SimilarDirs,
};
use resemble_proto::message::{CoverPair, Coverage, DirRow, Header};
use resemble_proto::number::Fraction;
use resemble_proto::report::CommonParameters;

fn shielded(pieces: &[&[u8]]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut writer = Shielded::new(&mut out);
    for piece in pieces {
        writer.write_all(piece).unwrap();
    }
    out
}

#[test]
fn nothing_ends_a_data_block_and_json_stays_the_same() {
    let names = [
        "</script><script>alert(1)</script>",
        "<!--<script>",
        "a\u{2028}b\u{2029}c\u{202e}d\u{2066}e",
        "€ ‰ ∀ ⟨ \u{2000}\u{207f}\u{2080}\u{1fff}",
        "&amp;",
        "\u{0}\u{1b}",
    ];
    let json = serde_json::to_vec(&names).unwrap();
    let whole = shielded(&[&json]);
    let text = String::from_utf8(whole.clone()).unwrap();
    assert!(!text.contains([
        '<', '>', '&', '\u{2028}', '\u{2029}', '\u{202e}', '\u{2066}'
    ]));
    assert_eq!(serde_json::from_str::<Vec<String>>(&text).unwrap(), names);
    // The output does not depend on where the writes are split.
    for cut in 0..=json.len() {
        let (before, after) = json.split_at(cut);
        assert_eq!(shielded(&[before, after]), whole, "cut at {cut}");
        let single: Vec<&[u8]> = before.chunks(1).chain([after]).collect();
        assert_eq!(shielded(&single), whole);
    }
}

fn dirs(count: u64) -> DirsDocument {
    let row = |n: u64| DirRow {
        estimate: false,
        interval: None,
        a: format!("/a/{n}").as_str().into(),
        b: format!("/b/{n}").as_str().into(),
        a_in_b: Fraction::from_millionths(500_000),
        b_in_a: Fraction::ONE,
        shared_bytes: 1,
        files_a: 1,
        files_b: 1,
        bytes_a: 2,
        bytes_b: 1,
        identical: false,
    };
    let parameters = DirsParameters {
        roots: vec!["/<b>".into()],
        of: None,
        common: CommonParameters::plain(&resemble_core::Params::default()),
    };
    let pairs = (0..count).map(row).collect();
    let header = Header {
        fresh: true,
        total: count,
        shown: count,
        ..Header::default()
    };
    DirsDocument::new(parameters, header, SimilarDirs { pairs }, Vec::new())
}

fn page(document: &DirsDocument, limit: usize) -> String {
    let extras = Extras::default();
    let mut out = Vec::new();
    match cut(Report::Dirs(document), limit) {
        Some((shorter, note)) => {
            write_page(&mut out, shorter.as_report(), &extras, 0, Some(note)).unwrap();
        }
        None => write_page(&mut out, Report::Dirs(document), &extras, 0, None).unwrap(),
    }
    String::from_utf8(out).unwrap()
}

#[test]
fn a_page_asks_for_nothing_and_lets_nothing_in() {
    let page = page(&dirs(3), 10);
    assert!(page.starts_with("<!doctype html>"));
    assert!(page.contains("default-src 'none'; style-src 'sha256-"));
    assert!(!page.contains("{{"), "a mark was left");
    for way_out in ["http:", "https:", "src=", "@import", "url(", "<link"] {
        assert!(!page.contains(way_out), "{way_out}");
    }
    assert!(page.contains("/&lt;b&gt;"), "the title is escaped");
    assert_eq!(
        page.matches("<script").count(),
        4,
        "three data blocks, one program"
    );
    assert_eq!(
        page.matches("1970-01-01T00:00:00Z").count(),
        1,
        "when it was made"
    );
}

/// A catalogue proves nothing, because it has no bytes that could be compared. The page must not
/// claim that its files are proven to be equal.
#[test]
fn a_page_says_what_only_a_catalogue_covers() {
    let pair = CoverPair {
        path: "/d/a".into(),
        by: "/\0disk/a".into(),
        size: 3,
    };
    let body = Coverage {
        covered: true,
        files: 1,
        bytes: 3,
        recorded: vec![pair],
        ..Coverage::default()
    };
    let parameters = CoveredParameters {
        dir: "/d".into(),
        by: vec!["/\0disk".into()],
        params: String::new(),
        filter: CoveredFilter::default(),
    };
    let mut document = CoveredDocument::new(parameters, Header::default(), body, Vec::new());
    let page = |document: &CoveredDocument| {
        let mut out = Vec::new();
        write(&mut out, Report::Covered(document), &Extras::default(), 0).unwrap();
        String::from_utf8(out).unwrap()
    };
    let recorded = page(&document);
    assert!(recorded.contains("1 of them only by the digest in a catalogue."));
    assert!(!recorded.contains("compared byte by byte."));
    document.body.copies = std::mem::take(&mut document.body.recorded);
    assert!(page(&document).contains("elsewhere, compared byte by byte."));
}

#[test]
fn the_hash_of_a_policy() {
    // This is the example of the CSP specification, section 6.7.3.2. Its hash was also computed
    // with `sha256sum` and `base64`.
    assert_eq!(
        source_hash("alert('Hello, world.');"),
        "sha256-qznLcsROx4GACP2dm0UCKCzCG+HiZ1guq6ZZDob/Tng="
    );
}

#[test]
fn a_page_has_a_bound_and_says_so() {
    let whole = page(&dirs(5), 5);
    assert!(!whole.contains("not in this page"));
    let part = page(&dirs(8), 5);
    assert!(part.contains("3 rows are not in this page, which holds 5 of a list"));
    assert!(part.contains("/a/4") && !part.contains("/a/5\""));
    assert_eq!(fit([3, 3, 3].into_iter(), 7), 2);
    assert_eq!(fit([9, 1].into_iter(), 7), 1, "the first in any case");
    assert_eq!(fit([].into_iter(), 7), 0);
}

#[test]
fn plain_tables_are_short() {
    let page = page(&dirs(PLAIN_ROWS + 5), 10_000);
    let plain = page.split("<noscript>").nth(1).unwrap();
    let plain = plain.split("</noscript>").next().unwrap();
    assert_eq!(plain.matches("<tr class").count() as u64, PLAIN_ROWS);
    assert!(plain.contains("The first 200 of 205 rows"));
}
