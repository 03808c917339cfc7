//! Tests that stored measures outlive the daemon.

use resemble_index::Options as IndexOptions;
use resemble_proto::message::{FindOptions, FindRow};
use resemble_proto::path::PathText;
use resemble_query::find::{Subject, find};

use super::*;

fn rows(shared: &Shared, path: &Path) -> Vec<FindRow> {
    let snapshot = shared.snapshot().unwrap();
    let subject = Subject::remembered(&snapshot, path).unwrap().unwrap();
    let options = FindOptions::default();
    let answer = find(&snapshot, &subject, &PathText::from(path), &options);
    answer.unwrap().rows
}

#[test]
fn a_daemon_that_was_killed_reads_nothing_for_a_question_that_was_asked_before() {
    let (dir, root) = tree();
    let text = resemble_testutil::prose::prose(1, 20_000);
    let subject = root.join("subject");
    fs::write(&subject, &text).unwrap();
    let other = resemble_testutil::prose::edited(&text, 1, 9);
    fs::write(root.join("other"), other).unwrap();
    let path = dir.path("index.redb");
    let open = crate::opener(path.clone(), Params::default(), IndexOptions::default());
    let shared = Arc::new(Shared::new(open().unwrap()));
    shared.set_roots(vec![Root {
        options: RootOptions::new(&root),
        origin: WatchOrigin::Start,
        state: RootState::Scanning,
    }]);
    let (source, _script) = script();
    let (_commands, orders) = crossbeam_channel::unbounded();
    let (alerts, _messages) = crossbeam_channel::unbounded();
    let mut indexer = Indexer::new(
        Arc::clone(&shared),
        Box::new(source),
        orders,
        alerts,
        never(),
        Options {
            part_reader: None,
            documents: DocumentTurns::LaterByFolder,
            catalogues: None,
            catalogue_folders: Vec::new(),
            timing: Timing::default(),
            reconcile: None,
            exclude: Vec::new(),
            stop: StopFlag::default(),
        },
    );
    indexer.begin();
    let before = rows(&shared, &subject);
    assert!(before.len() == 1 && !before[0].estimate, "{before:?}");
    let written = |shared: &Shared| {
        let index = shared.index().unwrap();
        let sizes = index.table_sizes().unwrap();
        sizes
            .iter()
            .find(|(name, _)| name == "measures")
            .unwrap()
            .1
            .rows
    };
    // Measures are not written while questions are answered, nor while other work waits.
    indexer.work();
    assert_eq!(written(&shared), 0);
    let clock = shared.clock();
    indexer.next_measures = Instant::now();
    indexer.work();
    assert_eq!(written(&shared), 1);
    assert_eq!(shared.clock(), clock, "no answer has changed");
    // The indexer is dropped without an orderly end.
    drop(indexer);
    drop(shared);
    fs::remove_dir_all(&root).unwrap();
    let shared = Shared::new(open().unwrap());
    assert_eq!(rows(&shared, &subject), before);
}
