//! Tests the output of `resemble status`.

use super::*;
use crate::ui::tests::ui;
use resemble_proto::message::{
    AlertRules, Degraded, IndexStatus, MountStatus, MountView, ProcessStatus, RootRules,
    RootStatus, Unopened, WaitStatus, WatchStatus,
};

fn status() -> StatusAnswer {
    let root = |path: &str, state| RootStatus {
        unopened: 0,
        hidden_text: 0,
        path: path.into(),
        files: 12_345,
        bytes: 1 << 30,
        state,
        pending: 3,
        skipped: 0,
        unreadable: 1,
        hidden: 0,
        rules: RootRules::default(),
        alerts: AlertRules::default(),
    };
    StatusAnswer {
        lag_seconds: 0,
        process: ProcessStatus::default(),
        unopened: Vec::new(),
        notify: Vec::new(),
        roots: vec![
            root("/srv/docs", RootState::Live),
            root("/a b", RootState::Degraded),
        ],
        index: IndexStatus {
            bytes: 5 << 20,
            contents: 11_000,
            chunks: 1_000_000,
            files_read: 12_000,
            bytes_read: 1 << 30,
        },
        watch: WatchStatus {
            directories: 800,
            polled: 5,
            overflows: 0,
        },
        clock: 17,
        fresh: false,
        degraded: vec![Degraded {
            path: "/a b".into(),
            reason: "no inotify watches are left: polled every minute".into(),
            remedy: Some("sudo sysctl fs.inotify.max_user_watches=1048576".into()),
        }],
        mounts: vec![MountStatus {
            path: "/home/me/Similar".into(),
            view: MountView::Folders,
            link: None,
            roots: Vec::new(),
        }],
        pid: 42,
        questions: 0,
        assumed: 0,
        waits: Vec::new(),
    }
}

#[test]
fn text() {
    let (mut ui, out, _) = ui(true);
    print(&mut ui, &status()).unwrap();
    assert_eq!(
        out.text(),
        "/srv/docs  live      12,345 files  1.0 GiB  3 to be read  1 unreadable\n\
         '/a b'     degraded  12,345 files  1.0 GiB  3 to be read  1 unreadable\n\
         index: 11,000 contents, 1,000,000 chunks, 5.0 MiB\n\
         overlay:  /home/me/Similar\n\
         degraded:  '/a b'  no inotify watches are left: polled every minute\n  \
           to mend it:  sudo sysctl fs.inotify.max_user_watches=1048576\n"
    );
}

#[test]
fn what_a_root_leaves_out_and_what_is_assumed() {
    let (mut ui, out, _) = ui(true);
    let mut status = status();
    status.roots.truncate(1);
    status.roots[0].rules = RootRules {
        exclude: ["a", "b", "c", "d", "e"].map(str::to_owned).to_vec(),
        max_size: Some(1 << 20),
        ..RootRules::default()
    };
    status.assumed = 1;
    status.waits = vec![WaitStatus {
        path: "/srv/docs/disk.img".into(),
        seconds: 21,
        reading_seconds: 43,
    }];
    print(&mut ui, &status).unwrap();
    let text = out.text();
    assert!(
        text.contains("  without a, b, c and 2 more  files up to 1.0 MiB\n"),
        "{text}"
    );
    assert!(text.contains("1 file has grown: "), "{text}");
    let wait = "/srv/docs/disk.img  waits to be read for 21 s more: its last reading took 43 s\n";
    assert!(text.contains(wait), "{text}");
}

#[test]
fn json() {
    let text = serde_json::to_string(&Document::of(&status())).unwrap();
    let expected = concat!(
        r#"{"schema":1,"version":"VERSION","command":"status","parameters":{},"pending":6,"#,
        r#""roots":[{"path":"/srv/docs","files":12345,"bytes":1073741824,"state":"live","#,
        r#""pending":3,"skipped":0,"unreadable":1,"hidden":0,"ignore":false,"#,
        r#""one_file_system":false,"text":true,"unopened":0,"hidden_text":0},"#,
        r#"{"path":"/a b","files":12345,"bytes":1073741824,"state":"degraded","#,
        r#""pending":3,"skipped":0,"unreadable":1,"hidden":0,"ignore":false,"#,
        r#""one_file_system":false,"text":true,"unopened":0,"hidden_text":0}],"#,
        r#""index":{"bytes":5242880,"contents":11000,"chunks":1000000,"files_read":12000,"#,
        r#""bytes_read":1073741824},"clock":17,"fresh":false,"#,
        r#""degraded":[{"path":"/a b","#,
        r#""reason":"no inotify watches are left: polled every minute","#,
        r#""remedy":"sudo sysctl fs.inotify.max_user_watches=1048576"}],"#,
        r#""mounts":[{"path":"/home/me/Similar","view":"folders"}],"#,
        r#""watch":{"directories":800,"polled":5,"overflows":0},"pid":42,"#,
        r#""lag_seconds":0,"process":{"version":"","uptime_seconds":0,"resident_bytes":0,"#,
        r#""peak_bytes":0,"descriptors":0,"most_descriptors":0},"errors":[]}"#,
    );
    assert_eq!(text, expected.replace("VERSION", resemble_proto::VERSION));
}

#[test]
fn catalogues_have_their_labels() {
    let mut status = status();
    let path = resemble_proto::catalogued::of_label("disk");
    status.roots[0].path = path.as_path().into();
    status.unopened = vec![Unopened {
        path: path.join("a.zip").into(),
        reason: "it is encrypted".to_owned(),
    }];
    let status = backend::with_labels(status);
    let json = serde_json::to_value(Document::of(&status)).unwrap();
    assert_eq!(json["roots"][0]["path"], "disk:");
    assert_eq!(json["unopened"][0]["path"], "disk:/a.zip");
    assert!(metrics::of(&status).contains("resemble_root_files{root=\"disk:\"} 12345\n"));
}

/// The figure of a root is on one line, with the name quoted, whatever the name is. All metrics
/// have types that the textfile collector knows.
#[test]
fn metrics_are_lines_that_a_collector_reads() {
    let mut status = status();
    status.roots[0].path = "/a\n\"b\\\u{1b}c".into();
    let text = metrics::of(&status);
    let sample = "resemble_root_files{root=\"/a\\n\\\"b\\\\\u{fffd}c\"} 12345\n";
    assert!(text.contains(sample), "{text}");
    let mut families = std::collections::HashSet::new();
    for line in text.lines() {
        let words: Vec<&str> = line.splitn(4, ' ').collect();
        match words[..] {
            ["#", "EOF"] | ["#", "HELP", ..] => {}
            ["#", "TYPE", name, kind] => {
                assert!(families.insert(name.to_owned()), "{name} twice");
                assert!(["gauge", "counter"].contains(&kind), "{line}");
            }
            _ => {
                let (name, value) = line.rsplit_once(' ').unwrap();
                let name = name.split('{').next().unwrap().trim_end_matches("_total");
                assert!(families.contains(name), "{line}");
                assert!(value.parse::<u64>().is_ok(), "{line}");
            }
        }
    }
    assert!(text.contains("# TYPE resemble_files_read counter\nresemble_files_read_total 12000\n"));
    assert!(text.ends_with("# EOF\n"));
}
