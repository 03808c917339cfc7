//! Tests that a document that is read back equals the written document.

use super::*;
use crate::message::{
    ClassCounts, Cluster, ClusterKind, CompareRow, CompareSummary, CoverPair, Discount,
    GroupsSummary, IdenticalSet, LeftOut, LeftOutWord, Link, Looked, Member, MissingRow, NearRow,
    OtherRow, Partner, SoftErrorKind, TreeRow,
};
use resemble_core::Params;

fn common() -> CommonParameters {
    CommonParameters {
        min: Fraction::from_millionths(700_000),
        include: vec!["*.c".to_owned()],
        ..CommonParameters::plain(&Params::default())
    }
}

fn header() -> Header {
    Header {
        fresh: true,
        pending: 0,
        total: 3,
        shown: 2,
        looked: Some(Looked {
            files: 7,
            bytes: 9,
            ..Looked::default()
        }),
        near_copies: None,
        unopened: None,
        left_out: vec![LeftOut {
            root: "/r".into(),
            rule: LeftOutWord::Exclude,
            entries: 2,
        }],
    }
}

fn errors() -> Vec<SoftError> {
    vec![SoftError {
        path: PathText::from_bytes(*b"x\xff"),
        kind: SoftErrorKind::Unreadable,
        message: "Permission denied".into(),
    }]
}

fn half() -> Fraction {
    Fraction::from_millionths(500_000)
}

fn comparison() -> CompareDocument {
    let row = CompareRow {
        class: CompareClass::MovedEdited,
        a: Some("a\n\"b\"".into()),
        b: Some(PathText::from_bytes(*b"\xfe/b")),
        a_in_b: half(),
        b_in_a: Fraction::NONE,
        shared_bytes: 12,
        told: crate::message::PairFigures::default(),
        size_a: Some(24),
        size_b: Some(30),
        copy: false,
        others: vec![Partner {
            path: "p".into(),
            a_in_b: half(),
            b_in_a: half(),
            shared_bytes: 3,
            told: crate::message::PairFigures::default(),
        }],
        discount: Discount {
            discounted: half(),
            reason: Some("common text".into()),
        },
    };
    let only = CompareRow {
        class: CompareClass::OnlyB,
        a: None,
        size_a: None,
        copy: true,
        others: Vec::new(),
        discount: Discount::default(),
        ..row.clone()
    };
    let body = Comparison {
        summary: CompareSummary {
            classes: ClassCounts {
                moved_edited: 1,
                ..ClassCounts::default()
            },
            bytes_a_in_b: 5,
            ..CompareSummary::default()
        },
        trees: vec![TreeRow {
            a: "".into(),
            b: "sub".into(),
            a_in_b: half(),
            b_in_a: half(),
            files_a: 1,
            files_b: 2,
            bytes_a: 3,
            bytes_b: 4,
        }],
        entries: vec![row, only],
        others: vec![OtherRow {
            path: "link".into(),
            a: Some("link".into()),
            b: None,
        }],
    };
    let parameters = CompareParameters {
        a: "old".into(),
        b: PathText::from_bytes(*b"\xff"),
        size_ratio: half(),
        same_suffix: true,
        names: false,
        classes: vec![CompareClass::OnlyB],
        common: common(),
    };
    Document::new(parameters, header(), body, errors())
}

fn coverage() -> CoveredDocument {
    let pair = CoverPair {
        path: "d/a".into(),
        by: "o/a".into(),
        size: 4,
    };
    let body = Coverage {
        covered: false,
        files: 4,
        bytes: 44,
        missing: vec![MissingRow {
            path: "d/m".into(),
            size: 3,
            reason: "no equal file".into(),
        }],
        near: vec![NearRow {
            path: "d/m".into(),
            by: "o/m".into(),
            a_in_b: half(),
            b_in_a: half(),
            shared_bytes: 2,
            told: crate::message::PairFigures::default(),
        }],
        linked: vec![pair.clone()],
        copies: vec![pair],
        recorded: Vec::new(),
    };
    let parameters = CoveredParameters {
        dir: "d".into(),
        by: vec!["o".into()],
        params: Params::default().to_string(),
        filter: CoveredFilter::default(),
    };
    Document::new(parameters, header(), body, errors())
}

fn dirs() -> DirsDocument {
    let body = SimilarDirs {
        pairs: vec![DirRow {
            estimate: false,
            interval: None,
            a: "x".into(),
            b: "y".into(),
            a_in_b: half(),
            b_in_a: Fraction::ONE,
            shared_bytes: 1,
            files_a: 2,
            files_b: 3,
            bytes_a: 4,
            bytes_b: 5,
            identical: true,
        }],
    };
    let parameters = DirsParameters {
        roots: vec!["r".into()],
        of: None,
        common: common(),
    };
    Document::new(parameters, header(), body, Vec::new())
}

fn groups() -> GroupsDocument {
    let member = Member {
        estimate: false,
        interval: None,
        path: "v1".into(),
        size: 3,
        mtime: -5,
        document_date: None,
        a_in_b: half(),
        b_in_a: half(),
        newest: true,
        older_than_held: false,
        copies: 2,
        id: String::new(),
        holds_others: false,
        owner: None,
    };
    let body = Groups {
        summary: GroupsSummary {
            sets: 1,
            notes: vec!["split".into()],
            ..GroupsSummary::default()
        },
        identical: vec![IdenticalSet {
            size: 3,
            paths: vec!["a".into(), PathText::from_bytes(*b"\xff")],
            mtimes: vec![1, 2],
            ..IdenticalSet::default()
        }],
        clusters: vec![Cluster {
            estimate: false,
            id: "c1".into(),
            kind: ClusterKind::Versions,
            center: "v1".into(),
            average: half(),
            worst: half(),
            bytes: 6,
            component: "k".into(),
            container: None,
            members: vec![member],
            links: vec![Link {
                estimate: false,
                interval: None,
                layer: crate::message::Layer::Bytes,
                a: "v1".into(),
                b: "v2".into(),
                a_in_b: half(),
                b_in_a: half(),
                shared_bytes: 4,
                same_text: false,
                discount: Discount::default(),
            }],
        }],
    };
    let parameters = GroupsParameters {
        roots: Vec::new(),
        only: OnlyGroups::All,
        relation: Vec::new(),
        of: Some("v1".into()),
        family: true,
        degree: Degree::Over(7),
        common: common(),
    };
    Document::new(parameters, header(), body, errors())
}

fn json<B: Body>(document: &Document<B>) -> String {
    let mut out = Vec::new();
    document.write_json(&mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn jsonl<B: Body>(document: &Document<B>) -> Vec<serde_json::Value> {
    let mut out = Vec::new();
    document.write_jsonl(&mut out).unwrap();
    let text = String::from_utf8(out).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// Checks that reading and writing a document again gives the same bytes. Returns its JSON.
#[track_caller]
fn survives<B>(document: &Document<B>) -> serde_json::Value
where
    B: SavedBody,
{
    let text = json(document);
    let read: Document<B> = serde_json::from_str(&text).unwrap();
    assert_eq!(json(&read), text);
    assert!(read == *document, "{text}");
    serde_json::from_str(&text).unwrap()
}

#[test]
fn documents_are_read_back() {
    let value = survives(&comparison());
    assert_eq!(value["command"], "compare");
    assert_eq!(value["summary"]["moved-edited"], 1);
    assert_eq!(value["entries"][1]["a"], serde_json::Value::Null);
    assert_eq!(value["parameters"]["classes"][0], "only-b");
    assert_eq!(survives(&coverage())["missing"][0]["path"], "d/m");
    assert_eq!(survives(&dirs())["pairs"][0]["identical"], true);
    let value = survives(&groups());
    assert_eq!(value["parameters"]["degree"]["over"], 7);
    assert_eq!(value["clusters"][0]["members"][0]["mtime"], -5);
}

#[test]
fn empty_documents_are_whole() {
    let parameters = comparison().parameters;
    let empty = CompareDocument::new(
        parameters,
        Header::default(),
        Comparison::default(),
        Vec::new(),
    );
    let value = survives(&empty);
    for list in ["entries", "trees", "others", "errors"] {
        assert_eq!(value[list], serde_json::json!([]), "{list}");
    }
}

/// Checks that the fields are in the order that the page about JSON promises, and that each row has
/// its own line.
#[test]
fn the_order_of_a_comparison() {
    let text = json(&comparison());
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].starts_with(r#"{"schema":1,"version":""#), "{text}");
    assert!(lines[0].ends_with(r#","entries":["#), "{text}");
    assert!(lines[0].contains(r#""shown":2,"looked":{"#), "{text}");
    assert!(
        lines[0].contains(r#"}],"summary":{"same":0,"moved":0,"#),
        "{text}"
    );
    assert!(
        lines[1].starts_with(r#"{"class":"moved-edited","a":"a\n\"b\"","b":""#),
        "{text}"
    );
    assert!(
        lines.last().unwrap().starts_with(r#"],"errors":[{"path":"#),
        "{text}"
    );
}

#[test]
fn lines_name_their_list_where_there_are_several() {
    let lines = jsonl(&coverage());
    let words: Vec<_> = lines[1..5].iter().map(|line| &line["row"]).collect();
    assert_eq!(words, ["missing", "near", "linked", "copy"]);
    assert_eq!(lines[0]["covered"], false);
    assert_eq!(lines[5]["error"]["kind"], "unreadable");
    assert_eq!(lines.len(), 6);
    let lines = jsonl(&dirs());
    assert_eq!(lines[1].get("row"), None);
    assert_eq!(lines[1]["a"], "x");
    let lines = jsonl(&comparison());
    assert_eq!(lines[0]["summary"]["bytes_a_in_b"], 5);
    assert_eq!(lines[1]["row"], "entry");
    assert_eq!(lines[1]["class"], "moved-edited");
}

/// Checks that unknown fields are ignored, so that an older program can read a newer report.
#[test]
fn unknown_fields_are_passed_over() {
    let text = json(&coverage()).replace(r#""covered":false"#, r#""new":[1],"covered":false"#);
    let read: CoveredDocument = serde_json::from_str(&text).unwrap();
    assert!(read == coverage());
}
