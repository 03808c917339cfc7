//! Compares the output in every format with the expected bytes.

use super::*;
use crate::ui::tests::ui;
use resemble_core::Relation;
use resemble_proto::message::{
    AlertKind, AlertRow, AlertRules, AlertWord, DatedBy, Discount, FindRow, Looked, Newer,
    PairFigures, PairRow, PairSide, RootRules, WatchRow,
};
use resemble_proto::message::{Layer, MeasureUnit, SoftErrorKind, WatchOrigin};
use resemble_proto::number::Fraction;
use resemble_proto::path::PathText;
use resemble_proto::seal;
use resemble_report::lines::TextStyle;

fn find_rows() -> Vec<FindRow> {
    let row = |file: &str, path: &[u8], relation, a: u32, b: u32| FindRow {
        owner: None,
        first_seen: None,
        file: file.into(),
        path: PathText::from_bytes(path),
        relation,
        unit: MeasureUnit::Words,
        layer: Layer::Bytes,
        estimate: false,
        a_in_b: Fraction::from_millionths(a),
        b_in_a: Fraction::from_millionths(b),
        resemblance: Fraction::from_millionths(500_000),
        shared_bytes: 4096,
        interval: None,
        differs: None,
        numbers: None,
        document_date: None,
        age: Newer::default(),
        discount: Discount::default(),
    };
    vec![
        row(
            "a.txt",
            b"same.txt",
            Some(Relation::Identical),
            1_000_000,
            1_000_000,
        ),
        row(
            "a.txt",
            b"new\nline, \"x\"\xff",
            Some(Relation::Contained),
            1_000_000,
            90_000,
        ),
        FindRow {
            b_in_a: Fraction::NONE,
            ..row("#b", b"tab\there\\", None, 129_999, 0)
        },
    ]
}

fn pair() -> PairRow {
    PairRow {
        owner_a: None,
        owner_b: None,
        layer: Layer::Bytes,
        a: "x".into(),
        b: "y z".into(),
        score: Fraction::ONE,
        a_in_b: Fraction::ONE,
        b_in_a: Fraction::from_millionths(123_456),
        resemblance: Fraction::ZERO,
        shared_bytes: 7,
        told: PairFigures {
            relation: Some(Relation::Contains),
            ..PairFigures::default()
        },
        identical: false,
        copies: None,
        age: Newer::default(),
        discount: Discount::default(),
    }
}

/// Text shows the reason of a discount only if the discount is ten points or more.
#[test]
fn ten_points_of_discount_are_told() {
    let discounted = |left: u32| PairRow {
        score: Fraction::from_millionths(610_000),
        discount: Discount {
            discounted: Fraction::from_millionths(left),
            reason: Some("61 % raw, 9 % after text found in 400 files".into()),
        },
        ..pair()
    };
    let rows = [discounted(90_000), discounted(520_000)];
    let text = printed(&rows, RowFormat::Text, false, false, false);
    let expected = "61%  x  y z  (61 % raw, 9 % after text found in 400 files)\n61%  x  y z\n";
    assert_eq!(text, expected);
}

fn errors() -> Vec<SoftError> {
    vec![SoftError {
        path: "/x".into(),
        kind: SoftErrorKind::Unreadable,
        message: "Permission denied".into(),
    }]
}

fn printed<R: Row>(
    rows: &[R],
    format: RowFormat,
    null: bool,
    terminal: bool,
    grouped: bool,
) -> String {
    let (mut ui, out, _) = ui(terminal);
    let output = RowOutput {
        format,
        output: None,
        null,
    };
    let count = rows.len() as u64;
    let header = Header {
        fresh: true,
        pending: 0,
        total: count + 1,
        shown: count,
        ..Header::default()
    };
    let head = Head::new("find", serde_json::json!({"top": 3}), header);
    print(&mut ui, &output, &head, "results", rows, &errors(), grouped).unwrap();
    out.text()
}

#[test]
fn text_on_a_terminal() {
    assert_eq!(
        printed(&find_rows(), RowFormat::Text, false, true, false),
        "100%  identical  same.txt\n \
          99%  contained  'new'$'\\n''line, \"x\"'$'\\377'\n \
          12%  -          'tab'$'\\t''here\\'\n"
    );
    assert_eq!(
        printed(&[pair()], RowFormat::Text, false, true, false),
        "99%  x  'y z'\n"
    );
    let identical = PairRow {
        identical: true,
        ..pair()
    };
    let of_a_set = PairRow {
        copies: Some(3),
        ..identical.clone()
    };
    assert_eq!(
        printed(&[identical, of_a_set], RowFormat::Text, false, false, false),
        "100%  x  y z\n100%  x  y z  (3 identical files)\n"
    );
    let estimated = PairRow {
        told: PairFigures {
            estimate: true,
            ..pair().told
        },
        ..pair()
    };
    assert_eq!(
        printed(&[estimated], RowFormat::Text, false, false, false),
        "~99%  x  y z\n"
    );
}

/// The shared bytes of an estimate are only the proven bytes.
#[test]
fn only_estimates_share_at_least_a_number_of_bytes() {
    let style = TextStyle {
        verbose: true,
        ..TextStyle::default()
    };
    let has = |row: &dyn Fn(bool) -> Vec<Cell>, is_estimate, text: &str| {
        let cells = row(is_estimate);
        assert!(
            cells.iter().any(|cell| cell.bytes() == text.as_bytes()),
            "{text}: {cells:?}"
        );
    };
    let find = |estimate| {
        let row = find_rows().remove(0);
        FindRow { estimate, ..row }.cells(style)
    };
    let pairs = |estimate| {
        let mut row = pair();
        row.told.estimate = estimate;
        row.cells(style)
    };
    has(&find, false, "4096 bytes");
    has(&find, true, "at least 4096 bytes");
    has(&pairs, false, "7 bytes");
    has(&pairs, true, "at least 7 bytes");
}

#[test]
fn text_in_a_pipe() {
    assert_eq!(
        printed(&find_rows(), RowFormat::Text, false, false, true),
        "a.txt:\n100%  identical  same.txt\n99%  contained  new\nline, \"x\"\u{fffd}\n\
         #b:\n12%  -  tab\there\\\n"
    );
    assert_eq!(
        printed(&find_rows()[..1], RowFormat::Text, true, false, false),
        "100%  identical  same.txt\0"
    );
}

#[test]
fn tsv() {
    assert_eq!(
        printed(&find_rows(), RowFormat::Tsv, false, false, false),
        "a.txt\tsame.txt\tidentical\twords\tbytes\tfalse\t1.000000\t1.000000\t0.500000\t4096\n\
         a.txt\tnew\\nline, \"x\"\u{fffd}\tcontained\twords\tbytes\tfalse\t1.000000\t0.090000\t\
         0.500000\t4096\n\
         ./#b\ttab\\there\\\\\t\twords\tbytes\tfalse\t0.129999\t\t0.500000\t4096\n"
    );
    assert_eq!(
        printed(&[pair()], RowFormat::Tsv, true, false, false),
        "x\ty z\t1.000000\t1.000000\t0.123456\t0.000000\t7\0"
    );
}

#[test]
fn csv() {
    assert_eq!(
        printed(&find_rows(), RowFormat::Csv, false, false, false),
        "file,path,relation,unit,layer,estimate,a_in_b,b_in_a,resemblance,shared_bytes,\
         discounted,reason,document_date,newer,newer_by\n\
         a.txt,same.txt,identical,words,bytes,false,1.000000,1.000000,0.500000,4096,,,,,\n\
         a.txt,\"new\nline, \"\"x\"\"\u{fffd}\",contained,words,bytes,false,1.000000,0.090000,\
         0.500000,4096,,,,,\n\
         #b,tab\there\\,,words,bytes,false,0.129999,,0.500000,4096,,,,,\n"
    );
    assert_eq!(
        printed::<PairRow>(&[], RowFormat::Csv, false, false, false),
        "a,b,score,a_in_b,b_in_a,resemblance,shared_bytes,discounted,reason,relation,unit,\
         estimate,copies,newer,newer_by\n"
    );
    let discounted = PairRow {
        discount: Discount {
            discounted: Fraction::from_millionths(90_000),
            reason: Some("common, by far".into()),
        },
        age: Newer {
            newer: Some(PairSide::B),
            newer_by: Some(DatedBy::File),
        },
        ..pair()
    };
    assert!(
        printed(&[discounted], RowFormat::Csv, false, false, false).ends_with(
            "\nx,y z,1.000000,1.000000,0.123456,0.000000,7,0.090000,\"common, by far\",\
             contains,words,false,,b,file\n"
        )
    );
}

#[test]
fn json() {
    let expected = concat!(
        r#"{"schema":1,"version":"VERSION","command":"find","parameters":{"top":3},"fresh":true,"#,
        r#""pending":0,"total":2,"shown":1,"results":["#,
        "\n",
        r#"{"a":"x","b":"y z","score":1.000000,"a_in_b":1.000000,"b_in_a":0.123456,"#,
        r#""resemblance":0.000000,"shared_bytes":7,"relation":"contains","unit":"words","#,
        r#""estimate":false}"#,
        "\n",
        r#"],"errors":[{"path":"/x","kind":"unreadable","message":"Permission denied"}]"#,
    );
    let text = printed(&[pair()], RowFormat::Json, false, false, false);
    let (document, _) = text.rsplit_once(",\"digest\":").unwrap();
    assert_eq!(
        document,
        expected.replace("VERSION", resemble_proto::VERSION)
    );
    assert_eq!(seal::JSON.check(text.as_bytes()), Ok(()));
}

#[test]
fn jsonl() {
    let expected = concat!(
        r#"{"schema":1,"version":"VERSION","command":"find","parameters":{"top":3},"fresh":true,"#,
        r#""pending":0,"total":4,"shown":3}"#,
        "\n",
        r#"{"file":"a.txt","path":"same.txt","relation":"identical","unit":"words","#,
        r#""layer":"bytes","estimate":false,"#,
        r#""a_in_b":1.000000,"b_in_a":1.000000,"resemblance":0.500000,"shared_bytes":4096}"#,
        "\n",
        "{\"file\":\"a.txt\",\"path\":\"new\\nline, \\\"x\\\"\u{fffd}\",",
        r#""path_b64":"bmV3CmxpbmUsICJ4Iv8=","relation":"contained","unit":"words","#,
        r#""layer":"bytes","estimate":false,"#,
        r#""a_in_b":1.000000,"b_in_a":0.090000,"resemblance":0.500000,"shared_bytes":4096}"#,
        "\n",
        r##"{"file":"#b","path":"tab\there\\","relation":null,"unit":"words","##,
        r#""layer":"bytes","estimate":false,"#,
        r#""a_in_b":0.129999,"b_in_a":null,"resemblance":0.500000,"shared_bytes":4096}"#,
        "\n",
        r#"{"error":{"path":"/x","kind":"unreadable","message":"Permission denied"}}"#,
        "\n",
    );
    assert_eq!(
        printed(&find_rows(), RowFormat::Jsonl, false, false, false),
        expected.replace("VERSION", resemble_proto::VERSION)
    );
}

#[test]
fn alerts_and_roots() {
    let alert = AlertRow {
        seq: 1,
        time: 1_788_266_096,
        kind: AlertKind::File,
        a: "/a".into(),
        b: "/b".into(),
        relation: Some(Relation::Near),
        a_in_b: Fraction::from_millionths(920_000),
        b_in_a: Fraction::from_millionths(900_000),
        shared_bytes: 5000,
        files: 1,
        since: None,
        owner_a: None,
        owner_b: None,
    };
    let tree = AlertRow {
        kind: AlertKind::Tree,
        files: 312,
        ..alert.clone()
    };
    let summary = AlertRow {
        kind: AlertKind::Summary,
        files: 4321,
        ..alert.clone()
    };
    let rows = [alert, tree, summary];
    assert_eq!(
        printed(&rows, RowFormat::Text, false, false, false),
        "2026-09-01 12:34:56  92%  near  /a  /b\n\
         2026-09-01 12:34:56  /a  312 files, a copy of  /b\n\
         2026-09-01 12:34:56  /a  4,321 more alerts, not reported one by one\n"
    );
    assert_eq!(
        printed(&rows[..1], RowFormat::Tsv, false, false, false),
        "1\t1788266096\tfile\t/a\t/b\tnear\t0.920000\t0.900000\t5000\t1\n"
    );
    let root = WatchRow {
        path: "/srv".into(),
        origin: WatchOrigin::Kept,
        rules: RootRules {
            ignore: true,
            ..RootRules::default()
        },
        alerts: AlertRules {
            min: Some(Fraction::from_millionths(905_000)),
            kinds: Some(vec![AlertWord::Near, AlertWord::Tree]),
            ..AlertRules::default()
        },
    };
    assert_eq!(
        printed(
            std::slice::from_ref(&root),
            RowFormat::Text,
            false,
            false,
            false
        ),
        "/srv  without ignored files  alerts from 90.5% if near, tree\n"
    );
    assert_eq!(
        printed(&[root], RowFormat::Csv, false, false, false),
        "path,origin,ignore,one_file_system,text\n/srv,kept,true,false,true\n"
    );
}

#[test]
fn limits_are_said_aloud() {
    let (mut ui, _, err) = ui(false);
    let whole = Header {
        fresh: true,
        pending: 0,
        total: 3,
        shown: 3,
        ..Header::default()
    };
    note_limits(&mut ui, &whole, Some(3), true);
    assert_eq!(err.text(), "");
    note_limits(
        &mut ui,
        &Header {
            shown: 2,
            ..whole.clone()
        },
        Some(2),
        true,
    );
    note_limits(
        &mut ui,
        &Header {
            fresh: false,
            pending: 4,
            ..whole.clone()
        },
        None,
        true,
    );
    note_limits(
        &mut ui,
        &Header {
            fresh: false,
            pending: 1,
            ..whole.clone()
        },
        None,
        false,
    );
    let near_copies = Some(5000);
    let many = Header {
        near_copies,
        ..whole.clone()
    };
    note_limits(&mut ui, &many, None, false);
    let closed = Header {
        unopened: Some(1),
        ..whole.clone()
    };
    note_limits(&mut ui, &closed, None, false);
    note_limits(
        &mut ui,
        &Header {
            shown: 2,
            ..whole.clone()
        },
        None,
        false,
    );
    assert_eq!(
        err.text(),
        "resemble: 2 of 3 rows shown (--top 2)\n\
         resemble: the daemon has not seen everything yet (4 files to be read); `resemble sync` \
         waits for it\n\
         resemble: 1 file changed while being read: the answer may be out of date\n\
         resemble: 5,000 files are in families of more than 1,000 near-copies: each has rows with \
         the first one of its family and with its neighbours by path alone; `resemble groups` \
         names all\n\
         resemble: 1 file not looked into (archives, mails, compressed files); `--text` does\n\
         resemble: 2 of 3 rows shown (the others are near-copies as well, and `resemble groups` \
         names all)\n"
    );
}

/// During the daemon's first scan, "compared 0 files" would look like an answer, so it must not be
/// printed.
#[test]
fn nothing_is_not_certain_while_files_are_still_to_be_read() {
    let (mut ui, _, err) = ui(false);
    let looked = Looked {
        files: 3,
        bytes: 9,
        unreadable: 0,
        skipped: 0,
        small: 0,
        least_run: 5_600,
    };
    let whole = Header {
        fresh: true,
        looked: Some(looked),
        ..Header::default()
    };
    let early = Header {
        fresh: false,
        ..whole.clone()
    };
    note_nothing(&mut ui, &whole, NOTHING);
    note_nothing(&mut ui, &early, NOTHING);
    note_limits(&mut ui, &early, None, true);
    note_nothing(
        &mut ui,
        &Header {
            total: 1,
            ..whole.clone()
        },
        NOTHING,
    );
    assert_eq!(
        err.text(),
        "resemble: nothing found: compared 3 files of 9 B\n\
         resemble: nothing found so far: compared 3 files of 9 B\n\
         resemble: the daemon has not seen everything yet; `resemble sync` waits for it\n"
    );
}
