//! Tests a damaged index, and one that cannot be written because its file system became read-only.

use resemble_index::Options as IndexOptions;
use resemble_testutil::prose::prose;
use resemble_testutil::{Mounted, fill, tmpfs};

use super::*;

/// Options for an index without a cache, so every answer reads the file.
const OPTIONS: IndexOptions = IndexOptions {
    cache_bytes: 0,
    boilerplate_limit: 1000,
};

/// A question that meets damage in the index signals the indexer thread, which rebuilds the index.
#[test]
fn damage_that_a_question_meets_leads_to_a_new_index() {
    let (dir, root) = tree();
    let path = dir.path("index.redb");
    let opener = crate::opener(path.clone(), Params::default(), OPTIONS);
    let running = start_with(opener().unwrap(), &[&root], usize::MAX, opener, None);
    running.assert_converged();
    let (before, generation) = (running.dump(), running.shared.snapshot().unwrap());
    let file = fs::File::options().write(true).open(&path).unwrap();
    let len = file.metadata().unwrap().len();
    std::os::unix::fs::FileExt::write_all_at(&file, &vec![0; len as usize - 12288], 12288).unwrap();
    let asked = generation.list(&root);
    assert!(asked.is_err(), "{asked:?}");
    // The barrier is answered only when the new index is complete.
    running.sync();
    assert_eq!(running.dump(), before);
    assert!(running.shared.fresh());
    assert_eq!(running.shared.troubles(), []);
    assert!(dir.path("index.redb.set-aside").exists());
    assert!(running.shared.index().unwrap().damage().is_none());
    running.assert_converged();
}

/// While the index is closed, answers read its last commit from the file. A snapshot from before
/// the closing cannot be read any more.
#[test]
fn the_last_commit_answers_while_the_index_cannot_be_opened_for_writing() {
    let (dir, root) = tree();
    let Some(disk) = tmpfs(dir.path("disk"), "8m") else {
        return;
    };
    let path = disk.path("index.redb");
    let opener = crate::opener(path.clone(), Params::default(), OPTIONS);
    let running = start_with(opener().unwrap(), &[&root], usize::MAX, opener, None);
    running.assert_converged();
    let before = running.dump();
    fill(&disk.path("filler"));
    // The folder is mounted over itself, and the upper mount is read-only. Files that are already
    // open stay writable, but files that are opened from now on are on the upper mount.
    rustix::mount::mount_bind(&disk.0, &disk.0).unwrap();
    let upper = Mounted(disk.0.clone());
    upper.remount("bind,ro");
    // The chunks and samples of these texts need more than the free space in the index file.
    for n in 0..1000 {
        let path = root.join(format!("d/{n}"));
        fs::write(&path, prose(n, 4000)).unwrap();
        running.script.tell(&path, Marks::APPEARED);
    }
    // Small changes are written to disk after a minute, together. The barrier makes that happen
    // now.
    let (answer, _waits) = oneshot::channel();
    running.commands.send(Command::Sync(answer)).unwrap();
    let began = Instant::now();
    while running.shared.index().is_some() {
        assert!(began.elapsed() < PATIENCE);
        std::thread::yield_now();
    }
    assert_eq!(running.dump(), before);
    let trouble = &running.shared.troubles()[0];
    assert!(
        trouble.reason.contains("answers come from the last commit"),
        "{trouble:?}"
    );
    assert!(!running.shared.fresh());
    // The index catches up as soon as it can be written again.
    drop(upper);
    fs::remove_file(disk.path("filler")).unwrap();
    while !running.shared.fresh() {
        assert!(began.elapsed() < PATIENCE);
        std::thread::yield_now();
    }
    running.assert_converged();
    assert_eq!(running.shared.troubles(), []);
}
