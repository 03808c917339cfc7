//! Tests the coalescer with invented times, by examples and against a simple model.

use proptest::prelude::*;

use super::*;

fn after(start: Instant, millis: u64) -> Instant {
    start + Duration::from_millis(millis)
}

fn at(now: Instant, marks: Marks) -> Hint {
    Hint {
        marks,
        first: now,
        last: now,
    }
}

fn subtrees(jobs: &Jobs) -> Vec<&str> {
    jobs.subtrees
        .iter()
        .filter_map(|path| path.to_str())
        .collect()
}

fn entries(jobs: &Jobs) -> Vec<&str> {
    jobs.entries
        .keys()
        .filter_map(|path| path.to_str())
        .collect()
}

#[test]
fn a_file_is_read_half_a_second_after_its_last_write() {
    let start = Instant::now();
    let mut state = Coalescer::new(Timing::default());
    state.hint(Path::new("/r/a"), at(start, Marks::APPEARED), Kind::File);
    state.hint(
        Path::new("/r/a"),
        at(after(start, 400), Marks::WRITTEN),
        Kind::File,
    );
    state.hint(
        Path::new("/r/a"),
        at(after(start, 450), Marks::CLOSED),
        Kind::File,
    );
    assert!(state.due(after(start, 949)).is_empty());
    assert_eq!(state.deadline(start), Some(after(start, 950)));
    assert_eq!(entries(&state.due(after(start, 950))), ["/r/a"]);
    assert_eq!(state.deadline(start), None);
}

#[test]
fn what_takes_long_to_read_waits_in_proportion() {
    let start = Instant::now();
    let mut state = Coalescer::new(Timing::default());
    let image = Path::new("/r/image");
    let write = |state: &mut Coalescer, millis| {
        let now = after(start, millis);
        state.hint(image, at(now, Marks::WRITTEN), Kind::File);
        state.set_cost(image, Duration::from_secs(10));
        state.hint(Path::new("/r/small"), at(now, Marks::WRITTEN), Kind::File);
    };
    write(&mut state, 0);
    // The small file does not wait for the large image.
    assert_eq!(entries(&state.due(after(start, 500))), ["/r/small"]);
    let waits = state.long_waits();
    assert_eq!(waits.len(), 1);
    assert_eq!(waits[0].path, image);
    assert_eq!(waits[0].due, after(start, 5000));
    assert!(state.due(after(start, 4999)).is_empty());
    assert_eq!(entries(&state.due(after(start, 5000))), ["/r/image"]);
    assert_eq!(state.long_waits(), []);
    // At most a twentieth of the time is spent on reading a file that is written all the time.
    let mut read = Vec::new();
    for millis in (10_000..500_000).step_by(1000) {
        write(&mut state, millis);
        if entries(&state.due(after(start, millis + 900))).contains(&"/r/image") {
            read.push(millis);
        }
    }
    assert_eq!(read, [210_000, 411_000]);
    // A barrier (`sync`) reads the waiting file `image` at once.
    write(&mut state, 500_000);
    assert_eq!(entries(&state.drain_all()), ["/r/image", "/r/small"]);
    // The image is cheap to read now, because only its end is new. So it waits no longer than other
    // files.
    write(&mut state, 600_000);
    state.set_cost(image, Duration::ZERO);
    let due = state.due(after(start, 600_500));
    assert_eq!(entries(&due), ["/r/image", "/r/small"]);
}

#[test]
fn a_file_that_never_rests_is_read_ten_seconds_after_its_first_write() {
    let start = Instant::now();
    let mut state = Coalescer::new(Timing::default());
    let mut read = None;
    for step in 0..200 {
        let now = after(start, step * 100);
        state.hint(Path::new("/r/log"), at(now, Marks::WRITTEN), Kind::File);
        if !state.due(now).is_empty() {
            read.get_or_insert(step * 100);
        }
    }
    assert_eq!(read, Some(10_000));
}

#[test]
fn a_new_directory_is_listed_at_once_and_covers_what_is_below() {
    let now = Instant::now();
    let mut state = Coalescer::new(Timing::default());
    for dir in ["/r/d/e", "/r/d", "/r/d-not-below"] {
        state.hint(Path::new(dir), at(now, Marks::APPEARED), Kind::Directory);
    }
    state.hint(Path::new("/r/d/x"), at(now, Marks::ATTRIBUTES), Kind::File);
    state.hint(Path::new("/r/d/gone"), at(now, Marks::GONE), Kind::Absent);
    assert_eq!(state.deadline(now), Some(now));
    let jobs = state.due(now);
    let subtrees: Vec<_> = jobs
        .subtrees
        .iter()
        .filter_map(|path| path.to_str())
        .collect();
    assert_eq!(subtrees, ["/r/d", "/r/d-not-below"]);
    assert!(jobs.entries.is_empty());
}

#[test]
fn a_removal_does_not_wait_and_ends_the_waiting_below() {
    let now = Instant::now();
    let mut state = Coalescer::new(Timing::default());
    state.hint(Path::new("/r/d/x"), at(now, Marks::WRITTEN), Kind::File);
    state.hint(Path::new("/r/d"), at(now, Marks::GONE), Kind::Absent);
    assert_eq!(subtrees(&state.due(now)), ["/r/d"], "it may be back");
    assert_eq!(state.waiting(), 0);
}

#[test]
fn the_save_dance_is_one_rename_and_one_read() {
    let now = Instant::now();
    let mut state = Coalescer::new(Timing::default());
    let temporary = Marks::APPEARED.and(Marks::WRITTEN).and(Marks::CLOSED);
    state.hint(Path::new("/r/tmp"), at(now, temporary), Kind::File);
    let rename = Rename {
        from: "/r/tmp".into(),
        to: "/r/report".into(),
    };
    state.rename(rename.clone());
    state.hint(Path::new("/r/tmp"), at(now, Marks::GONE), Kind::Absent);
    state.hint(Path::new("/r/report"), at(now, Marks::APPEARED), Kind::File);
    let jobs = state.due(now);
    assert_eq!(jobs.renames, [(rename, true)]);
    assert_eq!(jobs.len(), 1);
    assert_eq!(state.waiting(), 0);
}

#[test]
fn the_whole_dance_in_one_batch_is_one_read_too() {
    // The temporary file was made and renamed before its events were read. The hint about the write
    // names the old path, where no file is left.
    let now = Instant::now();
    let mut state = Coalescer::new(Timing::default());
    let rename = Rename {
        from: "/r/tmp".into(),
        to: "/r/report".into(),
    };
    state.rename(rename.clone());
    let temporary = Marks::APPEARED
        .and(Marks::WRITTEN)
        .and(Marks::CLOSED)
        .and(Marks::GONE);
    state.hint(Path::new("/r/report"), at(now, Marks::APPEARED), Kind::File);
    state.hint(Path::new("/r/tmp"), at(now, temporary), Kind::Absent);
    let jobs = state.due(now);
    assert_eq!(jobs.renames, [(rename, true)]);
    assert_eq!(jobs.len(), 1);
}

#[test]
fn a_move_in_two_steps_is_one_move() {
    let now = Instant::now();
    let mut state = Coalescer::new(Timing::default());
    state.rename(Rename {
        from: "/r/a".into(),
        to: "/r/b".into(),
    });
    state.rename(Rename {
        from: "/r/b".into(),
        to: "/r/c".into(),
    });
    let jobs = state.due(now);
    assert_eq!(
        jobs.renames,
        [(
            Rename {
                from: "/r/a".into(),
                to: "/r/c".into()
            },
            false
        )]
    );
    assert_eq!(subtrees(&jobs), ["/r/b"]);
}

#[test]
fn renames_that_touch_each_other_are_looked_at_instead() {
    let now = Instant::now();
    let rename = |from: &str, to: &str| Rename {
        from: from.into(),
        to: to.into(),
    };
    let jobs = |renames: &[(&str, &str)], subtree: Option<&str>| {
        let mut state = Coalescer::new(Timing::default());
        for (from, to) in renames {
            state.rename(rename(from, to));
        }
        if let Some(dir) = subtree {
            state.hint(Path::new(dir), at(now, Marks::UNKNOWN), Kind::Directory);
        }
        let jobs = state.due(now);
        let looked: Vec<_> = jobs
            .subtrees
            .iter()
            .map(|path| path.to_str().unwrap().to_owned())
            .collect();
        (jobs.renames.len(), looked.join(" "))
    };
    assert_eq!(
        jobs(&[("/r/a", "/r/b"), ("/r/ab", "/r/c")], None),
        (2, String::new())
    );
    // An editor makes a backup and then saves. The name of the file is the old name of one rename
    // and the new name of the other.
    assert_eq!(
        jobs(&[("/r/f", "/r/f~"), ("/r/t", "/r/f")], None),
        (0, "/r/f /r/f~ /r/t".into())
    );
    assert_eq!(
        jobs(&[("/r/d/x", "/r/y"), ("/r/d", "/r/e")], None),
        (0, "/r/d /r/e /r/y".into())
    );
    assert_eq!(
        jobs(&[("/r/d/x", "/r/y")], Some("/r/d")),
        (0, "/r/d /r/y".into())
    );
    assert_eq!(
        jobs(&[("/r/d", "/r/e")], Some("/r/e/f")),
        (0, "/r/d /r/e".into())
    );
}

#[test]
fn there_and_back_is_no_move_and_is_looked_at() {
    let now = Instant::now();
    for batches in [1, 2] {
        let mut state = Coalescer::new(Timing::default());
        state.rename(Rename {
            from: "/r/a".into(),
            to: "/r/b".into(),
        });
        if batches == 2 {
            state.hint(Path::new("/r/a"), at(now, Marks::GONE), Kind::Absent);
            state.hint(Path::new("/r/b"), at(now, Marks::APPEARED), Kind::Directory);
        }
        state.rename(Rename {
            from: "/r/b".into(),
            to: "/r/a".into(),
        });
        let both = Marks::APPEARED.and(Marks::GONE);
        let marks = if batches == 2 { Marks::APPEARED } else { both };
        state.hint(Path::new("/r/a"), at(now, marks), Kind::Directory);
        state.hint(Path::new("/r/b"), at(now, Marks::GONE), Kind::Absent);
        let jobs = state.due(now);
        assert_eq!(jobs.renames, []);
        assert_eq!(subtrees(&jobs), ["/r/a", "/r/b"], "{batches}");
    }
}

#[test]
fn waiting_files_move_along_with_their_directory() {
    let now = Instant::now();
    let mut state = Coalescer::new(Timing::default());
    state.hint(Path::new("/r/old/x/y"), at(now, Marks::WRITTEN), Kind::File);
    state.hint(
        Path::new("/r/old-but-not-it"),
        at(now, Marks::WRITTEN),
        Kind::File,
    );
    state.rename(Rename {
        from: "/r/old".into(),
        to: "/r/new".into(),
    });
    state.due(now);
    assert_eq!(
        entries(&state.due(after(now, 500))),
        ["/r/new/x/y", "/r/old-but-not-it"]
    );
}

#[test]
fn attributes_alone_are_known_as_such() {
    let now = Instant::now();
    let mut state = Coalescer::new(Timing::default());
    state.hint(Path::new("/r/a"), at(now, Marks::ATTRIBUTES), Kind::File);
    state.hint(
        Path::new("/r/d"),
        at(now, Marks::ATTRIBUTES),
        Kind::Directory,
    );
    state.hint(
        Path::new("/r/b"),
        at(now, Marks::ATTRIBUTES.and(Marks::WRITTEN)),
        Kind::File,
    );
    state.hint(Path::new("/r/b"), at(now, Marks::ATTRIBUTES), Kind::File);
    let jobs = state.due(now);
    assert_eq!(jobs.entries.len(), 2, "the written one waits");
    assert!(
        jobs.entries
            .values()
            .all(|cause| *cause == Cause::AttributesOnly)
    );
}

#[test]
fn a_barrier_reads_what_waits() {
    let now = Instant::now();
    let mut state = Coalescer::new(Timing::default());
    state.hint(Path::new("/r/a"), at(now, Marks::WRITTEN), Kind::File);
    assert!(state.due(now).is_empty());
    assert_eq!(entries(&state.drain_all()), ["/r/a"]);
    assert!(state.drain_all().is_empty());
}

#[test]
fn after_an_overflow_only_the_rescan_is_left() {
    let now = Instant::now();
    let mut state = Coalescer::new(Timing::default());
    state.hint(Path::new("/r/a"), at(now, Marks::WRITTEN), Kind::File);
    state.hint(Path::new("/r/d"), at(now, Marks::APPEARED), Kind::Directory);
    state.overflow();
    assert_eq!(
        state.due(now),
        Jobs {
            rescan: true,
            ..Jobs::default()
        }
    );
    assert!(state.drain_all().is_empty());
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Write(u8),
    Remove(u8),
    Wait(u64),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0..4u8).prop_map(Step::Write),
        1 => (0..4u8).prop_map(Step::Remove),
        4 => (1..700u64).prop_map(Step::Wait),
    ]
}

proptest! {
    /// Each written file is read half a second after its last write or ten seconds after its first
    /// write, whichever is earlier. It is never read before that time, and never later than the
    /// next wake-up after it.
    #[test]
    fn every_change_is_read_once_and_in_time(steps in prop::collection::vec(step(), 1..200)) {
        let start = Instant::now();
        let mut now = start;
        let mut state = Coalescer::new(Timing::default());
        // The model has, for each file, the times of the first and the last write since its last
        // reading.
        let mut model: BTreeMap<u8, (Instant, Instant)> = BTreeMap::new();
        let name = |file: u8| PathBuf::from(format!("/r/{file}"));
        for step in steps {
            match step {
                Step::Write(file) => {
                    state.hint(&name(file), at(now, Marks::WRITTEN), Kind::File);
                    let entry = model.entry(file).or_insert((now, now));
                    entry.1 = now;
                }
                Step::Remove(file) => {
                    state.hint(&name(file), at(now, Marks::GONE), Kind::Absent);
                    model.remove(&file);
                    prop_assert!(state.due(now).subtrees.contains(&name(file)));
                }
                Step::Wait(millis) => {
                    let until = now + Duration::from_millis(millis);
                    while let Some(deadline) = state.deadline(now).filter(|at| *at <= until) {
                        now = now.max(deadline);
                        for path in state.due(now).entries.into_keys() {
                            let name = path.file_name().unwrap().to_str().unwrap();
                            let file: u8 = name.parse().unwrap();
                            let (first, last) = model.remove(&file).expect("read without a change");
                            let due = (last + Duration::from_millis(500))
                                .min(first + Duration::from_secs(10));
                            prop_assert_eq!(due, now);
                        }
                    }
                    now = until;
                }
            }
            prop_assert_eq!(state.waiting(), model.len());
        }
        prop_assert_eq!(state.drain_all().entries.len(), model.len());
    }
}
