use resemble_core::{ByteLen, Score};

use super::*;

fn partner(path: &str) -> Partner {
    Partner {
        path: path.into(),
        relation: Relation::Identical,
        a_in_b: Some(Score::ONE),
        b_in_a: Some(Score::ONE),
        shared_bytes: ByteLen(5000),
    }
}

fn like(path: &str) -> Verdict {
    Verdict::Resembles {
        partners: vec![partner(path)],
        only_in_tree: false,
    }
}

fn read(batching: &mut Batching, path: &str, now: Instant) {
    batching.read(Path::new(path), Baseline::default(), now);
}

fn run(batching: &mut Batching, now: Instant, verdict: &dyn Fn(&Path) -> Verdict) -> Vec<Alert> {
    for due in batching.due(now, false, usize::MAX) {
        let verdict = verdict(&due.path);
        batching.assessed(due, verdict, now);
    }
    batching.alerts(now, false)
}

#[test]
fn one_alert_two_seconds_after_the_last_reading() {
    let start = Instant::now();
    let mut batching = Batching::default();
    read(&mut batching, "/r/a", start);
    read(&mut batching, "/r/a", start + Duration::from_secs(1));
    let due = start + Duration::from_secs(3);
    assert_eq!(batching.deadline(), Some(due));
    assert_eq!(
        run(&mut batching, start + Duration::from_millis(2999), &|_| {
            like("/r/b")
        }),
        []
    );
    assert_eq!(
        run(&mut batching, due, &|_| like("/r/b")),
        [Alert::File {
            path: "/r/a".into(),
            partner: partner("/r/b"),
            others: 0
        }]
    );
    assert!(batching.is_idle());
    assert_eq!(batching.deadline(), None);
}

#[test]
fn a_copied_tree_is_one_alert_however_long_it_takes() {
    let start = Instant::now();
    let mut batching = Batching::default();
    let mut told = Vec::new();
    let original = |path: &Path| {
        let rest = path.strip_prefix("/r/proj2").unwrap();
        like(Path::new("/r/proj").join(rest).to_str().unwrap())
    };
    for step in 0..312u64 {
        let now = start + Duration::from_millis(step * 100);
        read(
            &mut batching,
            &format!("/r/proj2/d{}/f{step}", step % 7),
            now,
        );
        told.extend(run(&mut batching, now, &original));
    }
    assert_eq!(told, [], "it still grows");
    told.extend(run(
        &mut batching,
        start + Duration::from_secs(60),
        &original,
    ));
    assert_eq!(
        told,
        [Alert::Tree {
            copy: "/r/proj2".into(),
            original: "/r/proj".into(),
            files: 312,
            identical: 312
        }]
    );
    // A file of the tree that arrives after the alert is counted, not reported.
    let late = start + Duration::from_secs(70);
    read(&mut batching, "/r/proj2/late", late);
    assert_eq!(run(&mut batching, late + SETTLE, &original), []);
    assert_eq!(
        run(&mut batching, late + SETTLE + RATE_TIME, &original),
        [summary(1, "/r/proj2")]
    );
}

fn summary(left_out: u64, above: &str) -> Alert {
    Alert::Summary {
        left_out,
        above: above.into(),
    }
}

#[test]
fn other_changes_nearby_hold_a_file_for_ten_seconds_and_no_longer() {
    let start = Instant::now();
    let mut batching = Batching::default();
    read(&mut batching, "/r/a", start);
    let mut told = None;
    for second in 0..40 {
        let now = start + Duration::from_secs(second);
        read(&mut batching, &format!("/r/log{second}"), now);
        let alerts = run(&mut batching, now, &|_| like("/s/b"));
        if !alerts.is_empty() {
            told.get_or_insert(second);
        }
    }
    assert_eq!(told, Some(12));
}

#[test]
fn beyond_the_rate_there_is_a_count() {
    let start = Instant::now();
    let mut batching = Batching::default();
    for file in 0..100 {
        read(&mut batching, &format!("/r/{file}"), start);
    }
    let now = start + SETTLE;
    let other = |path: &Path| like(&format!("/s/of-{}", path.file_name().unwrap().display()));
    assert_eq!(run(&mut batching, now, &other).len(), RATE as usize);
    assert_eq!(batching.deadline(), Some(now + RATE_TIME));
    assert_eq!(
        run(&mut batching, now + RATE_TIME, &other),
        [summary(100 - u64::from(RATE), "/r")]
    );
    assert_eq!(batching.deadline(), None);
}

#[test]
fn two_files_that_resemble_each_other_are_one_alert() {
    let start = Instant::now();
    let mut batching = Batching::default();
    read(&mut batching, "/r/a", start);
    read(&mut batching, "/r/b", start);
    let other = |path: &Path| like(if path.ends_with("a") { "/r/b" } else { "/r/a" });
    assert_eq!(run(&mut batching, start + SETTLE, &other).len(), 1);
}

#[test]
fn quiet_verdicts_say_nothing() {
    let start = Instant::now();
    let mut batching = Batching::default();
    read(&mut batching, "/r/a", start);
    read(&mut batching, "/r/b", start);
    let verdict = |path: &Path| {
        if path.ends_with("a") {
            Verdict::Quiet
        } else {
            Verdict::Nothing
        }
    };
    assert_eq!(run(&mut batching, start + SETTLE, &verdict), []);
    assert!(batching.is_idle());
}

/// The file is like a log, a database or a web page that a program writes again and again.
#[test]
fn a_file_that_is_rewritten_all_the_time_is_assessed_and_told() {
    let start = Instant::now();
    let mut batching = Batching::default();
    let (mut assessed, mut told) = (Vec::new(), Vec::new());
    for step in 0..80u64 {
        let now = start + Duration::from_millis(step * 500);
        let before = Baseline {
            depth: step as usize,
            ..Baseline::default()
        };
        batching.read(Path::new("/r/busy"), before.clone(), now);
        // The neighbour of the file is also written all the time. Neither of the two files may wait
        // for the other for ever.
        batching.read(
            Path::new("/r/other"),
            before,
            now + Duration::from_millis(1),
        );
        for due in batching.due(now + Duration::from_millis(2), false, usize::MAX) {
            assessed.push((step, due.before.depth));
            let verdict = if due.path.ends_with("busy") {
                like("/s/b")
            } else {
                Verdict::Nothing
            };
            batching.assessed(due, verdict, now);
        }
        told.extend((batching.alerts(now, false).into_iter()).map(|_| step / 2));
    }
    assert_eq!(
        assessed[0],
        (20, 0),
        "ten seconds after the first change, against the state then"
    );
    assert!(
        assessed.iter().filter(|(_, depth)| *depth == 0).count() < 8,
        "{assessed:?}"
    );
    assert!(told.first().is_some_and(|second| *second <= 12), "{told:?}");
    assert!(told.len() >= 2, "{told:?}");
}

#[test]
fn what_is_read_again_keeps_its_first_baseline() {
    let start = Instant::now();
    let mut batching = Batching::default();
    let before = |depth| Baseline {
        depth,
        ..Baseline::default()
    };
    batching.read(Path::new("/r/a"), before(1), start);
    batching.read(Path::new("/r/a"), before(2), start + Duration::from_secs(1));
    assert!(batching.read_again(Path::new("/r/a"), start + Duration::from_secs(2)));
    let due = batching.due(start + Duration::from_secs(4), false, 9);
    assert_eq!(due.len(), 1);
    assert_eq!(due[0].before, before(1));
    assert!(!batching.read_again(Path::new("/r/a"), start + Duration::from_secs(5)));
}

#[test]
fn beyond_the_limit_nothing_is_kept_and_all_is_counted() {
    let start = Instant::now();
    let mut batching = Batching::default();
    for file in 0..MOST_WAITING + 5 {
        read(&mut batching, &format!("/r/{file}"), start);
    }
    assert_eq!(
        (batching.waiting(), batching.order.len()),
        (MOST_WAITING, MOST_WAITING)
    );
    while !batching.due(start, true, 1000).is_empty() {}
    assert_eq!(
        batching.alerts(start + RATE_TIME, false),
        [summary(5, "/r")]
    );
}
