//! Tests messages byte for byte. So these tests define the protocol.

use std::io;

use super::*;
use crate::message::{
    AlertRules, AlertWord, Asked, CatalogueForm, DumpForm, FailureKind, FindOptions, FindRequest,
    IndexStatus, MarkRequest, MeasureUnit, MountView, Newer, PairOrder, PairRelation, PairScore,
    PairsRequest, ProcessStatus, Request, RootRules, RootState, RootStatus, Scope, SoftErrorKind,
    StatusAnswer, Subject, TemplateRow, WatchStatus, reason,
};

fn json<T: Serialize>(value: &T) -> String {
    serde_json::to_string(value).unwrap()
}

fn request(text: &str) -> Request {
    serde_json::from_str(text).unwrap()
}

#[test]
fn rows_read_as_the_contract_says() {
    let find = FindRow {
        owner: None,
        first_seen: None,
        file: "report.txt".into(),
        path: PathText::from_bytes(*b"/srv/\xff"),
        relation: Some(Relation::SameText),
        unit: MeasureUnit::Words,
        layer: Layer::Text,
        estimate: true,
        a_in_b: Fraction::ONE,
        b_in_a: Fraction::from_millionths(970_001),
        resemblance: Fraction::ZERO,
        shared_bytes: 0,
        interval: Some(EstimateInterval {
            a_in_b: [Fraction::from_millionths(940_000), Fraction::ONE],
            b_in_a: [Fraction::ZERO, Fraction::from_millionths(980_000)],
            resemblance: [Fraction::NONE; 2],
        }),
        differs: None,
        numbers: None,
        document_date: None,
        age: Newer::default(),
        discount: Discount::default(),
    };
    let expected = "{\"row\":{\"file\":\"report.txt\",\"path\":\"/srv/\u{fffd}\",\
        \"path_b64\":\"L3Nydi//\",\"relation\":\"same-text\",\"unit\":\"words\",\
        \"layer\":\"text\",\"estimate\":true,\
        \"a_in_b\":1.000000,\"b_in_a\":0.970001,\"resemblance\":0.000000,\"shared_bytes\":0,\
        \"interval\":{\"a_in_b\":[0.940000,1.000000],\"b_in_a\":[0.000000,0.980000],\
        \"resemblance\":[null,null]}}}";
    assert_eq!(json(&Reply::Row(&find)), expected);
    assert_eq!(
        serde_json::from_str::<Reply<FindRow>>(expected).unwrap(),
        Reply::Row(find)
    );

    let pair = PairRow {
        owner_a: None,
        owner_b: None,
        layer: Layer::Bytes,
        a: "x".into(),
        b: "y".into(),
        score: Fraction::ONE,
        a_in_b: Fraction::ONE,
        b_in_a: Fraction::NONE,
        resemblance: Fraction::NONE,
        shared_bytes: 9,
        told: PairFigures {
            relation: Some(Relation::Contained),
            ..PairFigures::default()
        },
        identical: false,
        copies: None,
        age: Newer::default(),
        discount: Discount::default(),
    };
    let expected = concat!(
        r#"{"a":"x","b":"y","score":1.000000,"a_in_b":1.000000,"b_in_a":null,"#,
        r#""resemblance":null,"shared_bytes":9,"relation":"contained","unit":"words","#,
        r#""estimate":false}"#,
    );
    assert_eq!(json(&pair), expected);
    assert_eq!(serde_json::from_str::<PairRow>(expected).unwrap(), pair);

    let discounted = PairRow {
        discount: Discount {
            discounted: Fraction::from_millionths(90_000),
            reason: Some("61 % raw, 9 % after text found in 400 files".into()),
        },
        ..pair
    };
    let expected = concat!(
        r#"{"a":"x","b":"y","score":1.000000,"a_in_b":1.000000,"b_in_a":null,"#,
        r#""resemblance":null,"shared_bytes":9,"relation":"contained","unit":"words","#,
        r#""estimate":false,"discounted":0.090000,"#,
        r#""reason":"61 % raw, 9 % after text found in 400 files"}"#,
    );
    assert_eq!(json(&discounted), expected);
    assert_eq!(
        serde_json::from_str::<PairRow>(expected).unwrap(),
        discounted
    );
    let of_a_set = PairRow {
        copies: Some(4),
        discount: Discount::default(),
        ..discounted
    };
    let written = json(&of_a_set);
    assert!(written.contains(r#""copies":4"#), "{written}");
    assert_eq!(serde_json::from_str::<PairRow>(&written).unwrap(), of_a_set);
}

#[test]
fn templates_on_the_wire() {
    assert_eq!(
        request(r#"{"request":"templates-mark","files":["/a","/b"],"share":0.8,"name":"frame"}"#),
        Request::TemplatesMark(MarkRequest {
            files: vec!["/a".into(), "/b".into()],
            share: Fraction::from_millionths(800_000),
            name: Some("frame".into()),
            ..MarkRequest::default()
        })
    );
    assert_eq!(
        request(r#"{"request":"templates-mark","cluster":"5c1f","within":["/t"]}"#),
        Request::TemplatesMark(MarkRequest {
            cluster: Some("5c1f".into()),
            scope: Scope {
                within: vec!["/t".into()],
                ..Scope::default()
            },
            ..MarkRequest::default()
        })
    );
    let row = TemplateRow {
        id: "5c1f0e6b2a97".into(),
        name: None,
        files: 185,
        share: Fraction::ONE,
        template: Fraction::from_millionths(610_000),
        chunks: 17,
        bytes: 17_004,
        fingerprints: 64,
        shingles: 512,
        ignored: false,
    };
    let expected = concat!(
        r#"{"id":"5c1f0e6b2a97","files":185,"share":1.000000,"template":0.610000,"#,
        r#""chunks":17,"bytes":17004,"fingerprints":64,"shingles":512}"#,
    );
    assert_eq!(json(&row), expected);
    assert_eq!(serde_json::from_str::<TemplateRow>(expected).unwrap(), row);
}

const REST: &str = r#""resemblance":0.5,"shared_bytes":1"#;

#[test]
fn every_relation_survives() {
    let read = |word: &str| {
        serde_json::from_str::<FindRow>(&format!(
            r#"{{"file":"a","path":"b","relation":"{word}","a_in_b":0.5,"b_in_a":0.5,{REST}}}"#
        ))
    };
    for word in [
        "identical",
        "same-text",
        "near",
        "contains",
        "contained",
        "shares",
    ] {
        assert_eq!(read(word).unwrap().relation.unwrap().word(), word);
    }
    assert!(read("alike").is_err());
}

#[test]
fn requests_as_a_newcomer_would_type_them() {
    assert_eq!(request(r#"{"request":"status"}"#), Request::Status);
    assert_eq!(
        request(r#"{"request":"sync"}"#),
        Request::Sync { timeout_ms: None }
    );
    assert_eq!(
        request(r#"{"request":"watch-list","later":1}"#),
        Request::WatchList
    );
    assert_eq!(
        request(r#"{"request":"find","subject":{"file":"/a"}}"#),
        Request::Find(FindRequest {
            subject: Subject::File("/a".into()),
            options: FindOptions {
                text: true,
                ..FindOptions::default()
            },
        })
    );
    assert_eq!(
        request(
            r#"{"request":"pairs","within":["/a",{"b64":"/w=="}],"score":"resemblance","min":0.5}"#
        ),
        Request::Pairs(PairsRequest {
            unit: MeasureUnit::default(),
            text: true,
            archives: false,
            scope: Scope {
                within: vec!["/a".into(), PathText::from_bytes(*b"\xff")],
                ..Scope::default()
            },
            score: PairScore::Resemblance,
            min: Fraction::from_millionths(500_000),
            min_shared: None,
            top: None,
            exact: false,
            estimate: false,
            all: false,
            relation: Vec::new(),
            order: PairOrder::default(),
        })
    );
    for bad in [
        "{}",
        r#"{"request":"delete"}"#,
        r#"{"request":"find"}"#,
        r#"{"request":1}"#,
    ] {
        assert!(serde_json::from_str::<Request>(bad).is_err(), "{bad}");
    }
}

#[test]
fn a_request_survives_the_wire() {
    let all = [
        Request::Pairs(PairsRequest {
            unit: MeasureUnit::default(),
            text: true,
            archives: true,
            scope: Scope {
                within: vec!["/a".into()],
                include: vec!["*.c".into()],
                exclude: vec!["b".into()],
                min_size: 10,
            },
            score: PairScore::Containment,
            min: Fraction::ONE,
            min_shared: Some(1),
            top: Some(2),
            exact: true,
            estimate: true,
            all: true,
            relation: vec![PairRelation::Near],
            order: PairOrder::Worth,
        }),
        Request::Alerts {
            follow: true,
            after: 7,
        },
        Request::Ack {
            a: "/a".into(),
            b: Some("/b".into()),
            group: false,
        },
        Request::AckList,
        Request::AckUndo {
            a: "/a".into(),
            b: None,
        },
        Request::Mount {
            path: Some("/m".into()),
            view: Some(MountView::Files),
        },
        Request::Unmount { path: None },
        Request::Covers {
            paths: vec!["/a".into()],
            whole: true,
        },
        Request::WatchAdd {
            path: "/a".into(),
            rules: RootRules {
                ignore: true,
                exclude: vec!["target".to_owned()],
                max_size: Some(1 << 30),
                ..RootRules::default()
            },
            alerts: AlertRules {
                min: Some(Fraction::from_millionths(900_000)),
                kinds: Some(vec![AlertWord::SameText, AlertWord::Tree]),
                ..AlertRules::default()
            },
        },
        Request::Dump { roots: vec![] },
        Request::DumpAs {
            roots: vec!["/a".into()],
            form: DumpForm::Chunks,
        },
        Request::DumpAs {
            roots: vec![],
            form: DumpForm::Catalogue(CatalogueForm {
                label: "disk".into(),
                created: -1,
                names: true,
                text: false,
                within: Fraction::from_millionths(30_000),
                small: 1 << 20,
            }),
        },
    ];
    for request in all {
        let text = json(&request);
        assert!(
            text.starts_with(&format!("{{\"request\":\"{}\"", request.word())),
            "{text}"
        );
        assert_eq!(serde_json::from_str::<Request>(&text).unwrap(), request);
    }
}

#[test]
fn what_a_newer_daemon_says_is_not_an_error() {
    let failed: Reply<()> =
        serde_json::from_str(r#"{"failed":{"kind":"tired","message":"zzz"}}"#).unwrap();
    assert_eq!(
        failed,
        Reply::Failed(Failure::new(FailureKind::Other, "zzz"))
    );
    let error: Reply<()> =
        serde_json::from_str(r#"{"error":{"path":"x","kind":"odd","message":"m"}}"#).unwrap();
    assert!(matches!(
        error,
        Reply::Error(SoftError {
            kind: SoftErrorKind::Other,
            ..
        })
    ));
}

#[test]
fn a_request_for_progress_is_a_request() {
    let status = Request::Status;
    let find = request(r#"{"request":"find","subject":{"file":"/a"}}"#);
    for request in [&status, &find] {
        for progress in [false, true] {
            let line = json(&Asked { request, progress });
            assert_eq!(&self::request(&line), request, "an older daemon reads it");
            assert_eq!(Asked::wants_progress(line.as_bytes()), progress, "{line}");
        }
        let plain = Asked {
            request,
            progress: false,
        };
        assert_eq!(json(&plain), json(request), "nothing else is said");
    }
    assert!(!Asked::wants_progress(
        br#"{"request":"status","progress":"yes"}"#
    ));
}

#[test]
fn an_answer_is_these_lines() {
    let mut answer = Answer::fresh(vec![1, 2, 3], Vec::new()).cut(Some(2));
    answer.header.pending = 4;
    let lines: Vec<String> = answer.into_replies().map(|reply| json(&reply)).collect();
    assert_eq!(
        lines,
        [
            r#"{"header":{"fresh":true,"pending":4,"total":3,"shown":2}}"#,
            r#"{"row":1}"#,
            r#"{"row":2}"#,
            r#"{"end":{"rows":2,"errors":0}}"#,
        ]
    );
}

#[test]
fn live_means_all_roots_and_nothing_degraded() {
    let root = |state| RootStatus {
        unopened: 0,
        hidden_text: 0,
        path: "/r".into(),
        files: 1,
        bytes: 2,
        state,
        pending: 0,
        skipped: 0,
        unreadable: 0,
        hidden: 0,
        rules: RootRules::default(),
        alerts: AlertRules::default(),
    };
    let status = |state| StatusAnswer {
        lag_seconds: 0,
        process: ProcessStatus::default(),
        notify: Vec::new(),
        unopened: Vec::new(),
        roots: vec![root(RootState::Live), root(state)],
        index: IndexStatus::default(),
        clock: 1,
        fresh: true,
        degraded: Vec::new(),
        mounts: Vec::new(),
        watch: WatchStatus::default(),
        pid: 1,
        questions: 0,
        assumed: 0,
        waits: Vec::new(),
    };
    assert!(status(RootState::Live).is_live());
    for state in [
        RootState::Scanning,
        RootState::Degraded,
        RootState::Unavailable,
    ] {
        assert!(!status(state).is_live());
    }
}

#[test]
fn errors_of_the_system_are_words() {
    let error = SoftError::of_io("x".into(), &io::Error::from_raw_os_error(13));
    assert_eq!(
        (error.kind, &*error.message),
        (SoftErrorKind::Unreadable, "Permission denied")
    );
    assert_eq!(reason(&io::Error::other("odd (os error 7)")), "odd");
    assert_eq!(reason(&io::Error::other("plain")), "plain");
}

#[test]
fn a_header_says_what_roots_leave_out() {
    let header = Header {
        left_out: vec![LeftOut {
            root: PathText::from_bytes(b"/r\xff"),
            rule: LeftOutWord::MaxSize,
            entries: 3,
        }],
        ..Header::default()
    };
    let text = json(&header);
    for part in [
        r#""left_out":[{"root":"/r"#,
        r#""root_b64":"L3L/","rule":"max-size","entries":3}]"#,
    ] {
        assert!(text.contains(part), "{text}");
    }
    assert_eq!(serde_json::from_str::<Header>(&text).unwrap(), header);
    assert!(!json(&Header::default()).contains("left_out"));
    // Both headers are about the same places. So the names that are left out there are not counted
    // twice.
    let both = header.clone().and(header.clone());
    assert_eq!(both.left_out, header.left_out);
    let second = Header::default().and(header.clone());
    assert_eq!(second.left_out, header.left_out);
    let newer: Header = serde_json::from_str(&text.replace("max-size", "moon")).unwrap();
    assert_eq!(newer.left_out[0].rule, LeftOutWord::Other);
}
