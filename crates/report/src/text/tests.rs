//! Compares reports for people with the expected text, word for word.

use super::compare::View;
use crate::lines::{TextStyle, TextWriter};
use std::io;

use resemble_core::Params;
use resemble_proto::documents::{
    CompareDocument, CompareParameters, CoveredDocument, CoveredFilter, CoveredParameters,
    DirsDocument, DirsParameters, GroupsDocument, GroupsParameters, SimilarDirs,
};
use resemble_proto::message::{
    Cluster, ClusterKind, CompareClass, CompareRow, CompareSummary, Comparison, CoverPair,
    Coverage, Degree, DirRow, Discount, Groups, GroupsSummary, Header, IdenticalSet, Link, Member,
    MissingRow, NearRow, OnlyGroups, OtherRow, OtherSummary, PairFigures, Partner, TreeRow,
};
use resemble_proto::number::Fraction;
use resemble_proto::report::CommonParameters;

use super::*;

fn written(terminal: bool, print: impl FnOnce(&mut TextWriter<'_>) -> io::Result<()>) -> String {
    let mut bytes = Vec::new();
    let style = TextStyle {
        terminal,
        ..TextStyle::default()
    };
    print(&mut TextWriter::new(&mut bytes, style)).unwrap();
    String::from_utf8_lossy(&bytes).into_owned()
}

fn common() -> CommonParameters {
    CommonParameters::plain(&Params::default())
}

fn share(percent: u32) -> Fraction {
    Fraction::from_millionths(percent * 10_000)
}

fn estimate() -> PairFigures {
    PairFigures {
        estimate: true,
        ..PairFigures::default()
    }
}

fn row(class: CompareClass, a: &str, b: &str, size: u64) -> CompareRow {
    let name = |name: &str| (!name.is_empty()).then(|| name.into());
    CompareRow {
        class,
        a: name(a),
        b: name(b),
        a_in_b: share(90),
        b_in_a: share(80),
        shared_bytes: 1,
        told: PairFigures::default(),
        size_a: (!a.is_empty()).then_some(size),
        size_b: (!b.is_empty()).then_some(size),
        copy: false,
        others: Vec::new(),
        discount: Discount::default(),
    }
}

fn comparison(entries: Vec<CompareRow>, trees: Vec<TreeRow>) -> CompareDocument {
    let mut summary = CompareSummary {
        files_a: 1200,
        files_b: 1,
        bytes_a: 1000,
        bytes_b: 2048,
        bytes_a_in_b: 973,
        bytes_b_in_a: 2048,
        files_a_not_in_b: 4,
        ..CompareSummary::default()
    };
    for row in &entries {
        for (side, path) in [&row.a, &row.b].into_iter().enumerate() {
            if path.is_some() {
                summary.count(side, row.class);
            }
        }
    }
    let parameters = CompareParameters {
        a: "old".into(),
        b: "new".into(),
        size_ratio: Fraction::NONE,
        same_suffix: false,
        names: false,
        classes: Vec::new(),
        common: common(),
    };
    let body = Comparison {
        summary,
        trees,
        entries,
        others: Vec::new(),
    };
    CompareDocument::new(parameters, Header::default(), body, Vec::new())
}

fn compared(document: &CompareDocument, view: View) -> String {
    written(false, |out| compare::print(out, document, view))
}

const FOLDED: View = View {
    all: false,
    trees: true,
};
const ALL: View = View {
    all: true,
    trees: true,
};

#[test]
fn a_short_comparison_is_whole() {
    let mut split = row(CompareClass::MovedEdited, "s", "t/s1", 5000);
    split.others = vec![Partner {
        path: "t/s2".into(),
        a_in_b: share(33),
        b_in_a: share(99),
        shared_bytes: 2,
        told: estimate(),
    }];
    split.told = estimate();
    let mut copy = row(CompareClass::Moved, "m", "m2", 1);
    copy.copy = true;
    let mut document = comparison(
        vec![
            row(CompareClass::Edited, "e", "e", 20),
            copy,
            split,
            row(CompareClass::OnlyB, "", "x/new", 30),
            row(CompareClass::OnlyA, "gone", "", 10),
        ],
        Vec::new(),
    );
    document.body.others = vec![OtherRow {
        path: "link".into(),
        a: Some("link".into()),
        b: None,
    }];
    document.body.summary.other = OtherSummary {
        only_a: 1,
        ..OtherSummary::default()
    };
    let head = "\
A  old:  1,200 files, 1000 B; 97.3% of its bytes are in B; 4 files are not
B  new:  1 file, 2.0 KiB; 100% of its bytes are in A; no file is missing there
in  A  B
*   1  1  edited: same path, other bytes
>   1  1  moved: equal bytes, other path
>*  1  1  moved-edited: alike, other path
-   1  0  only-a: no partner in B
+   0  1  only-b: no partner in A
!   1  0  differ: links, special and unreadable files (1 only in A)
2 files without a partner: too small to judge, unless a copy is there

-     10 B  gone
+     30 B  x/new
*   90%  20 B  e
";
    let text = compared(&document, FOLDED);
    let tail = "\
>*  ~90%  4.9 KiB  s -> t/s1  (and 1 more)
>   100%  1 B  m -> m2  (another copy)
!       link  link, only in A
";
    assert_eq!(text, format!("{head}{tail}"));
    let tail = "\
>*  ~90%  4.9 KiB  s -> t/s1
    ~99%    also t/s2
>   100%  1 B  m -> m2  (another copy)
!       link  link, only in A
";
    assert_eq!(compared(&document, ALL), format!("{head}{tail}"));
    // The name of a catalogue is printed with a colon.
    document.parameters.a = "old.cat:".into();
    assert!(compared(&document, FOLDED).starts_with("A  old.cat:  1,200 files"));
    // Missing files may be in a folder that cannot be listed.
    document.errors.push(resemble_proto::message::SoftError {
        path: "closed".into(),
        kind: resemble_proto::message::SoftErrorKind::Unreadable,
        message: "Permission denied".to_owned(),
    });
    let text = compared(&document, FOLDED);
    assert!(!text.contains("no file is missing there"), "{text}");
    assert!(text.contains("no file that could be looked at is missing there"));
}

#[test]
fn what_moved_with_its_directory_is_one_line() {
    let tree = TreeRow {
        a: "src/net".into(),
        b: "net".into(),
        a_in_b: share(100),
        b_in_a: share(100),
        files_a: 2,
        files_b: 2,
        bytes_a: 9,
        bytes_b: 9,
    };
    let document = comparison(
        vec![
            row(CompareClass::Moved, "src/net/a/x", "net/a/x", 4),
            row(CompareClass::Moved, "src/net/y", "net/y", 5),
            row(CompareClass::Moved, "src/net/z", "net/elsewhere/z", 6),
        ],
        vec![tree],
    );
    let text = compared(&document, FOLDED);
    let rows = text.split_once("\n\n").unwrap().1;
    assert_eq!(
        rows,
        ">/  99%  9 B  2 files  src/net/ -> net/\n\n\
         >   100%  6 B  src/net/z -> net/elsewhere/z\n\
         2 files moved with their directories; --all shows everything\n"
    );
    assert_eq!(compared(&document, ALL).matches("src/net/y").count(), 1);
    let without = View {
        all: false,
        trees: false,
    };
    let text = compared(&document, without);
    assert!(!text.contains(">/"), "{text}");
    assert!(text.contains("src/net/y -> net/y"), "{text}");
}

/// A screenful of 100,000 rows is printed. The biggest come first, and all others are counted.
#[test]
fn a_long_comparison_is_folded() {
    let mut rows: Vec<CompareRow> = (0..100_000u64)
        .map(|i| {
            let name = format!("d{}/e{}/f{i}", i % 30, i % 7);
            row(CompareClass::Edited, &name, &name, 1 + i % 100)
        })
        .collect();
    rows.push(row(CompareClass::OnlyA, "deep/in/one/corner", "", 7));
    rows.push(row(CompareClass::OnlyB, "", "big", 1 << 30));
    let document = comparison(rows, Vec::new());
    let text = compared(&document, FOLDED);
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines.len() < SCREENFUL + 13, "{text}");
    assert!(lines.contains(&"-     7 B  deep/in/one/corner"), "{text}");
    assert!(lines.contains(&"+     1.0 GiB  big"), "{text}");
    let folders: u64 = lines
        .iter()
        .filter_map(|line| line.strip_suffix(" files"))
        .filter_map(|line| {
            line.rsplit(' ')
                .next()?
                .replace(',', "")
                .parse::<u64>()
                .ok()
        })
        .sum();
    assert_eq!(folders, 100_000, "{text}");
    assert!(text.ends_with("--all shows everything\n"), "{text}");
    assert_eq!(compared(&document, ALL).lines().count(), 100_002 + 8);
}

#[test]
fn shares_of_totals() {
    assert_eq!(share_of(0, 0), "100%");
    assert_eq!(share_of(999_999, 1_000_000), "99.9%");
    assert_eq!(share_of(0, 7), "0.0%");
    assert_eq!(share_of(u64::MAX - 1, u64::MAX), "99.9%");
}

fn coverage(body: Coverage, all: bool) -> String {
    let parameters = CoveredParameters {
        dir: "copy".into(),
        by: vec!["by".into()],
        params: String::new(),
        filter: CoveredFilter::default(),
    };
    let document = CoveredDocument::new(parameters, Header::default(), body, Vec::new());
    written(false, |out| covered::print(out, &document, all))
}

#[test]
fn what_is_not_covered() {
    let pair = |path: &str, by: &str| CoverPair {
        path: path.into(),
        by: by.into(),
        size: 3,
    };
    let missing = |path: &str, reason: &str| MissingRow {
        path: path.into(),
        size: 2000,
        reason: reason.into(),
    };
    let body = Coverage {
        covered: false,
        files: 5,
        bytes: 9000,
        missing: vec![
            missing("copy/m", "no equal file"),
            missing("copy/n", "no equal file"),
        ],
        near: vec![NearRow {
            path: "copy/n".into(),
            by: "by/n".into(),
            a_in_b: share(100),
            b_in_a: share(50),
            shared_bytes: 7,
            told: PairFigures::default(),
        }],
        linked: vec![pair("copy/l", "by/l")],
        copies: vec![pair("copy/c", "by/c")],
        recorded: Vec::new(),
    };
    let expected = "\
NOT covered:  copy  2 of 5 files (3.9 KiB of 8.8 KiB) would be lost
missing:
2.0 KiB  copy/m  no equal file
near copies, NOT safe (how much of each is in the other):
99%  copy/n is like by/n
covered by a hard link of the same file only:
3 B  copy/l is also by/l
";
    assert_eq!(coverage(body.clone(), false), expected);
    let all = coverage(body, true);
    assert_eq!(
        all,
        format!("{expected}covered:\n3 B  copy/c equals by/c\n")
    );
}

/// A missing file with two names is listed twice, but is counted once as lost.
#[test]
fn no_more_is_lost_than_there_is() {
    let missing = |path: &str| MissingRow {
        path: path.into(),
        size: 2048,
        reason: "no equal file".into(),
    };
    let body = Coverage {
        files: 2,
        bytes: 2048,
        missing: vec![missing("copy/a"), missing("copy/b")],
        ..Coverage::default()
    };
    let text = coverage(body, false);
    let head = "NOT covered:  copy  2 of 2 files (2.0 KiB of 2.0 KiB) would be lost\n";
    assert!(text.starts_with(head), "{text}");
}

#[test]
fn what_is_covered() {
    let body = Coverage {
        covered: true,
        files: 2,
        bytes: 10,
        ..Coverage::default()
    };
    assert_eq!(
        coverage(body, false),
        "covered:  copy  all of 2 files, 10 B, compared byte for byte now\n"
    );
    let empty = Coverage {
        covered: true,
        ..Coverage::default()
    };
    assert_eq!(
        coverage(empty, false),
        "covered:  copy  there is nothing in it\n"
    );
}

#[test]
fn similar_directories() {
    let pair = |a: &str, b: &str, identical: bool| DirRow {
        estimate: !identical,
        interval: None,
        a: a.into(),
        b: b.into(),
        a_in_b: share(100),
        b_in_a: share(if identical { 100 } else { 50 }),
        shared_bytes: 4096,
        files_a: 3,
        files_b: 1234,
        bytes_a: 4096,
        bytes_b: 8192,
        identical,
    };
    let pairs = vec![pair("x", "y z", false), pair("p", "q", true)];
    let header = Header {
        total: 2,
        shown: 2,
        ..Header::default()
    };
    let parameters = DirsParameters {
        roots: Vec::new(),
        of: None,
        common: common(),
    };
    let document = DirsDocument::new(parameters, header, SimilarDirs { pairs }, Vec::new());
    let out = written(true, |out| dirs::print(out, &document));
    assert_eq!(
        out,
        "2 pairs of similar directories, the biggest with 4.0 KiB in both\n\
         A in B  B in A  in both    files  A  B\n\
         \x20 ~99%    ~50%  4.0 KiB  3/1,234  x  'y z'\n\
         \x20 100%    100%  4.0 KiB  3/1,234  p  q\n"
    );
}

fn collection(body: Groups) -> GroupsDocument {
    let parameters = GroupsParameters {
        roots: Vec::new(),
        only: OnlyGroups::All,
        relation: Vec::new(),
        of: None,
        family: false,
        degree: Degree::Usual,
        common: common(),
    };
    GroupsDocument::new(parameters, Header::default(), body, Vec::new())
}

/// The score of each version is its score with the earlier version that it resembles most. That
/// version is named unless it is on the previous line.
#[test]
fn the_steps_of_a_family() {
    let member = |path: &str, time: i64, newest| Member {
        estimate: false,
        interval: None,
        path: path.into(),
        size: 2048,
        mtime: 1_700_000_000 + time * 86_400,
        document_date: None,
        // No version has much in common with the file in question, but each has much in common with
        // the version before it.
        a_in_b: share(3),
        b_in_a: share(2),
        newest,
        older_than_held: false,
        copies: 1,
        id: String::new(),
        holds_others: false,
        owner: None,
    };
    let link = |a: &str, b: &str, score| Link {
        estimate: false,
        interval: None,
        layer: resemble_proto::message::Layer::Bytes,
        a: a.into(),
        b: b.into(),
        a_in_b: share(score),
        b_in_a: share(score - 1),
        shared_bytes: 1024,
        same_text: false,
        discount: Discount::default(),
    };
    let family = Cluster {
        estimate: false,
        id: "abc".into(),
        kind: ClusterKind::Family,
        center: "v2".into(),
        average: share(80),
        worst: share(3),
        bytes: 8192,
        component: "abc".into(),
        container: None,
        members: vec![
            member("v1", 0, false),
            member("v2", 1, false),
            member("branch", 2, false),
            member("v3", 3, true),
        ],
        links: vec![
            link("v1", "v2", 90),
            link("v2", "branch", 70),
            link("v2", "v3", 80),
        ],
    };
    let mut document = collection(Groups {
        clusters: vec![family],
        ..Groups::default()
    });
    document.parameters.family = true;
    let out = written(false, |out| groups::print(out, &document));
    assert_eq!(
        out,
        "
family  4 files, 8.0 KiB, average 80%, worst 3%
-  2.0 KiB  2023-11-14  v1
90%  2.0 KiB  2023-11-15  v2
70%  2.0 KiB  2023-11-16  branch
80%  2.0 KiB  2023-11-17  v3  newest  like v2
"
    );
}

#[test]
fn sets_and_clusters() {
    let member = |path: &str, newest| Member {
        estimate: path == "v2",
        interval: None,
        path: path.into(),
        size: 2048,
        mtime: 1_700_000_000,
        document_date: None,
        a_in_b: share(91),
        b_in_a: share(88),
        newest,
        older_than_held: false,
        copies: if newest { 3 } else { 1 },
        id: String::new(),
        holds_others: false,
        owner: None,
    };
    let cluster = Cluster {
        estimate: true,
        id: "abc".into(),
        kind: ClusterKind::Versions,
        center: "v1".into(),
        average: share(91),
        worst: share(85),
        bytes: 4096,
        component: "abc".into(),
        container: None,
        members: vec![member("v1", false), member("v2", true)],
        links: vec![Link {
            estimate: false,
            interval: None,
            layer: resemble_proto::message::Layer::Bytes,
            a: "v1".into(),
            b: "v2".into(),
            a_in_b: share(91),
            b_in_a: share(88),
            shared_bytes: 1024,
            same_text: false,
            discount: Discount::default(),
        }],
    };
    let body = Groups {
        summary: GroupsSummary {
            sets: 1,
            set_files: 2,
            overhead: 5,
            clusters: 1,
            cluster_files: 2,
            cluster_bytes: 4096,
            links: 1,
            ignored: 1,
            notes: vec!["a component was split at 95%".into()],
            ..GroupsSummary::default()
        },
        identical: vec![IdenticalSet {
            size: 5,
            paths: vec!["a".into(), "b".into()],
            mtimes: vec![0, -1],
            ..IdenticalSet::default()
        }],
        clusters: vec![cluster],
    };
    let document = collection(body);
    let out = written(false, |out| groups::print(out, &document));
    assert_eq!(
        out,
        "\
1 set of identical files, 2 files, 5 B overhead
1 cluster of similar files, 2 files, 4.0 KiB, 1 link
1 chunk ignored: too many files have them
a component was split at 95%

identical  2 files of 5 B, 5 B overhead
 100%  1970-01-01  a
 100%  -  b

versions  abc  2 files, 4.0 KiB, average ~91%, worst ~85%
center  2.0 KiB  2023-11-14  v1
~91%  2.0 KiB  2023-11-14  v2  (3 copies)  newest
"
    );
}
