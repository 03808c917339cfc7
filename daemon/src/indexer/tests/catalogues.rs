//! Tests catalogues that are imported in place of others.

use resemble_catalogue::{self as catalogue, Details};
use resemble_core::hash::content::digest;
use resemble_proto::catalogued;

use super::*;

/// Returns a catalogue of a tree with these files.
fn catalogue(files: &[&str]) -> Vec<u8> {
    let dir = TempTree::new();
    let root = dir.root().to_owned();
    for name in files {
        text(&root.join(name), name);
    }
    let running = start(&root);
    running.sync();
    let details = Details {
        label: "disk".to_owned(),
        names: true,
        ..Details::default()
    };
    let mut bytes = Vec::new();
    let snapshot = running.shared.snapshot().unwrap();
    catalogue::write(&snapshot, &[root], &details, &mut |piece| {
        bytes.extend_from_slice(piece);
        ControlFlow::Continue(())
    })
    .unwrap();
    bytes
}

/// Returns the same catalogue with wrong totals at its end. Its checksum is right, but it cannot be
/// loaded.
fn forged(bytes: &[u8], folder: &Path) -> Vec<u8> {
    const CHECKSUM: usize = 32;
    let records = bytes.len() - CHECKSUM;
    let file = folder.join("candidate.cat");
    let candidates = (0..8).map(|back| {
        let mut bytes = bytes[..records].to_vec();
        bytes[records - 1 - back] ^= 1;
        let seal = digest(&bytes);
        [&bytes[..], &seal.0].concat()
    });
    let mut refused = candidates.filter(|bytes| {
        fs::write(&file, bytes).unwrap();
        let index = Index::in_memory(&Params::default()).unwrap();
        let root = catalogued::of_label("disk");
        catalogue::open(&file)
            .is_ok_and(|catalogue| catalogue::load(&index, &root, catalogue).is_err())
    });
    refused.next().unwrap()
}

/// Returns everything that the index has of the catalogue.
fn known(running: &Running) -> String {
    let root = RootOptions::new(catalogued::of_label("disk"));
    dump_of(&running.shared.snapshot().unwrap(), &[root])
}

/// A failed import must not destroy the old catalogue, neither in the index nor on disk.
#[test]
fn what_cannot_be_loaded_leaves_the_catalogue_before_it() {
    let (dir, root) = tree();
    let (good, folder) = (dir.path("good.cat"), dir.path("state"));
    let index = Arc::new(Index::in_memory(&Params::default()).unwrap());
    let start = |index| start_with(index, &[&root], usize::MAX, never(), Some(folder.clone()));
    let running = start(index);
    let import = |file: &Path| {
        running.order(|answer| Command::Import(file.to_owned(), "disk".to_owned(), answer))
    };
    let sound = catalogue(&["kept", "as well"]);
    fs::write(&good, &sound).unwrap();
    import(&good).unwrap();
    let before = known(&running);
    assert!(before.contains("as well"), "{before}");
    let bad = dir.path("bad.cat");
    fs::write(&bad, forged(&catalogue(&["other"]), dir.root())).unwrap();
    let error = import(&bad).unwrap_err();
    assert!(error.message.contains("bad.cat"), "{error:?}");
    assert_eq!(known(&running), before);
    assert_eq!(running.shared.catalogues(), [catalogued::of_label("disk")]);
    assert_eq!(running.shared.troubles(), []);
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
    drop(running);
    // After a restart with an empty index the old catalogue is loaded from disk.
    let index = Arc::new(Index::in_memory(&Params::default()).unwrap());
    let running = start(index);
    running.sync();
    assert_eq!(known(&running), before);
}
