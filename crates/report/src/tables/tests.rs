//! Tests tables byte for byte.

use super::*;
use resemble_core::Params;
use resemble_proto::documents::{
    CompareDocument, CompareParameters, CoveredDocument, CoveredFilter, CoveredParameters,
    GroupsDocument, GroupsParameters,
};
use resemble_proto::message::{
    Cluster, ClusterKind, CompareClass, CompareRow, Comparison, Coverage, Degree, Discount, Groups,
    Header, IdenticalSet, Link, MissingRow, NearRow, OnlyGroups, PairFigures,
};
use resemble_proto::number::Fraction;
use resemble_proto::path::PathText;
use resemble_proto::report::CommonParameters;

fn table(style: Style, report: Report<'_>, end: u8) -> String {
    let mut out = Vec::new();
    write(&mut out, style, report, end).unwrap();
    String::from_utf8_lossy(&out).into_owned()
}

fn estimate() -> PairFigures {
    PairFigures {
        estimate: true,
        ..PairFigures::default()
    }
}

fn groups() -> GroupsDocument {
    let body = Groups {
        identical: vec![
            IdenticalSet {
                size: 5,
                paths: vec!["a,b".into(), PathText::from_bytes(*b"x\ty\xff")],
                mtimes: vec![-1, 1],
                ..IdenticalSet::default()
            },
            IdenticalSet {
                size: 4,
                paths: vec!["c".into(), "d".into()],
                mtimes: Vec::new(),
                ..IdenticalSet::default()
            },
        ],
        ..Groups::default()
    };
    let parameters = GroupsParameters {
        roots: Vec::new(),
        only: OnlyGroups::All,
        relation: Vec::new(),
        of: None,
        family: false,
        degree: Degree::Usual,
        common: CommonParameters::plain(&Params::default()),
    };
    GroupsDocument::new(parameters, Header::default(), body, Vec::new())
}

#[test]
fn groups_are_one_table() {
    let document = groups();
    let report = Report::Groups(&document);
    assert_eq!(
        table(Style::Csv, report, b'\n'),
        "row,id,kind,a,b,size,mtime,a_in_b,b_in_a,shared_bytes,discounted,reason,\
         estimate\n\
         identical,1,,\"a,b\",,5,-1,,,,,,\n\
         identical,1,,x\ty\u{fffd},,5,1,,,,,,\n\
         identical,2,,c,,4,,,,,,,\n\
         identical,2,,d,,4,,,,,,,\n"
    );
    let text = table(Style::Tsv, report, b'\0');
    assert!(
        text.starts_with("identical\t1\t\ta,b\t\t5\t-1\t\t\t\t\t\t\0"),
        "{text:?}"
    );
    assert!(text.contains("\tx\\ty\u{fffd}\t"), "{text:?}");
}

#[test]
fn fdupes_ends_each_set_with_an_empty_row() {
    let document = groups();
    for (end, expected) in [
        (b'\n', &b"a,b\nx\ty\xff\n\nc\nd\n\n"[..]),
        (b'\0', &b"a,b\0x\ty\xff\0\0c\0d\0\0"[..]),
    ] {
        let mut out = Vec::new();
        fdupes(&mut out, &document, end).unwrap();
        assert_eq!(out, expected);
    }
}

#[test]
fn nothing_stands_for_nothing() {
    let row = CompareRow {
        class: CompareClass::OnlyA,
        a: Some("x".into()),
        b: None,
        a_in_b: Fraction::NONE,
        b_in_a: Fraction::ZERO,
        shared_bytes: 0,
        told: estimate(),
        size_a: Some(7),
        size_b: None,
        copy: false,
        others: Vec::new(),
        discount: Discount::default(),
    };
    let parameters = CompareParameters {
        a: "a".into(),
        b: "b".into(),
        size_ratio: Fraction::NONE,
        same_suffix: false,
        names: false,
        classes: Vec::new(),
        common: CommonParameters::plain(&Params::default()),
    };
    let body = Comparison {
        entries: vec![row],
        ..Comparison::default()
    };
    let document = CompareDocument::new(parameters, Header::default(), body, Vec::new());
    assert_eq!(
        table(Style::Tsv, Report::Compare(&document), b'\n'),
        "only-a\tx\t\t\t0.000000\t0\t7\t\tfalse\t\t\ttrue\n"
    );
}

/// The tables have columns for both scores and the reason, even if no row has a discount.
#[test]
fn discounts_have_columns() {
    let discount = Discount {
        discounted: Fraction::from_millionths(90_000),
        reason: Some("61 % raw, 9 % after text found in 400 files".into()),
    };
    let link = |discount: &Discount| Link {
        estimate: discount.reason.is_none(),
        interval: None,
        layer: resemble_proto::message::Layer::Bytes,
        a: "p".into(),
        b: "q".into(),
        a_in_b: Fraction::from_millionths(610_000),
        b_in_a: Fraction::ZERO,
        shared_bytes: 300,
        same_text: false,
        discount: discount.clone(),
    };
    let mut document = groups();
    document.body.identical.clear();
    document.body.clusters.push(Cluster {
        estimate: false,
        id: "abc".into(),
        kind: ClusterKind::Pair,
        center: "p".into(),
        average: Fraction::ZERO,
        worst: Fraction::ZERO,
        bytes: 0,
        component: "abc".into(),
        container: None,
        members: Vec::new(),
        links: vec![link(&discount), link(&Discount::default())],
    });
    let rows = "link,abc,pair,p,q,,,0.610000,0.000000,300,\
                0.090000,\"61 % raw, 9 % after text found in 400 files\",false\n\
                link,abc,pair,p,q,,,0.610000,0.000000,300,,,true\n";
    let text = table(Style::Csv, Report::Groups(&document), b'\n');
    assert!(text.ends_with(rows), "{text}");
}

#[test]
fn reasons_are_escaped_and_estimates_are_marked() {
    let body = Coverage {
        missing: vec![MissingRow {
            path: "p".into(),
            size: 1,
            reason: "cannot be read:\n\"x\"".into(),
        }],
        near: vec![NearRow {
            path: "p".into(),
            by: "q".into(),
            a_in_b: Fraction::ONE,
            b_in_a: Fraction::ZERO,
            shared_bytes: 0,
            told: estimate(),
        }],
        ..Coverage::default()
    };
    let parameters = CoveredParameters {
        dir: "d".into(),
        by: Vec::new(),
        params: String::new(),
        filter: CoveredFilter::default(),
    };
    let document = CoveredDocument::new(parameters, Header::default(), body, Vec::new());
    assert_eq!(
        table(Style::Csv, Report::Covered(&document), b'\n'),
        "row,path,by,size,a_in_b,b_in_a,shared_bytes,reason,estimate\n\
         missing,p,,1,,,,\"cannot be read:\n\"\"x\"\"\",\n\
         near,p,q,,1.000000,0.000000,0,,true\n"
    );
}
