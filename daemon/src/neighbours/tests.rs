use std::fs;

use resemble_core::Params;
use resemble_index::Index;
use resemble_proto::message::MarkRequest;
use resemble_query::templates::{Store, mark_with_parts};
use resemble_scan::ingest::{Ingest, IngestOptions, RootOptions, Target, Unobserved};
use resemble_testutil::TempTree;
use resemble_testutil::prose::{edited, prose};

use super::*;

fn listing(entries: usize) -> Listing {
    let neighbour = Neighbour {
        target: "/b".into(),
        member: Vec::new(),
        member_size: 0,
        a_in_b: Score::ONE,
        identical: true,
        relation: "identical",
    };
    Listing {
        neighbours: vec![neighbour; entries],
        total: entries,
    }
}

fn kept(clock: u64, entries: usize, footprint: Option<Footprint>) -> KeptListing {
    KeptListing {
        listing: listing(entries),
        clock,
        templates: Arc::default(),
        footprint,
    }
}

#[test]
fn a_listing_without_a_footprint_stands_until_the_clock_moves() {
    let index = Index::in_memory(&Params::default()).unwrap();
    let snapshot = index.snapshot().unwrap();
    let mut all = KeptListings::default();
    let (a, b) = (Path::new("/a"), Path::new("/b"));
    all.put(a, kept(7, 2, None));
    assert_eq!(all.get(7, a), Some(listing(2)));
    assert_eq!((all.get(7, b), all.get(8, a)), (None, None));
    assert_eq!(all.get_in(&snapshot, 8, a), None);
    assert_eq!((all.get(7, a), all.bytes), (None, 0));
    all.put(a, kept(8, 2, snapshot.clone().noting().footprint()));
    assert_eq!(all.get_in(&snapshot, 9, a), Some(listing(2)));
    assert_eq!((all.get(8, a), all.get(9, a)), (None, Some(listing(2))));
}

#[test]
fn listings_are_bounded_by_their_bytes() {
    let index = Index::in_memory(&Params::default()).unwrap();
    let footprint = || index.snapshot().unwrap().noting().footprint();
    let mut all = KeptListings::default();
    for n in 0..4000 {
        let path = PathBuf::from(format!("/{n}"));
        all.put(&path, kept(1, 99, footprint()));
        all.put(&path, kept(1, 98, footprint()));
        assert_eq!(all.get(1, &path), Some(listing(98)));
        assert!(all.bytes <= KeptListings::MOST);
    }
    let bytes = all
        .of
        .iter()
        .map(|(path, kept)| kept.bytes() + path.as_os_str().len());
    assert_eq!(all.bytes, bytes.sum::<usize>());
}

/// A watched tree, with its index and the state of a daemon.
struct Watched {
    tree: TempTree,
    ingest: Ingest,
    shared: Arc<Shared>,
    neighbours: IndexNeighbours,
}

impl Watched {
    fn new(with: impl FnOnce(&TempTree, Shared) -> Shared) -> Self {
        let tree = TempTree::new();
        let root = tree.folder("root");
        let index = Arc::new(Index::in_memory(&Params::default()).unwrap());
        let shared = Arc::new(with(&tree, Shared::new(Arc::clone(&index))));
        shared.open_first_scan();
        let options = IngestOptions {
            roots: vec![RootOptions::new(root)],
            ..IngestOptions::default()
        };
        Self {
            ingest: Ingest::new(index, options),
            neighbours: IndexNeighbours::new(Arc::clone(&shared)),
            shared,
            tree,
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.tree.path("root").join(name)
    }

    fn write(&mut self, name: &str, bytes: &[u8]) {
        self.tree.write(self.path(name), bytes);
        self.commit();
    }

    fn commit(&mut self) {
        let root = self.tree.path("root");
        let targets = [Target::subtree(&root)];
        self.ingest.reconcile(&targets, &mut Unobserved).unwrap();
        self.shared.tick();
    }

    /// Asks for the listing of a file. Returns whether that required a search, and the number of
    /// rows. A cached listing must equal the listing of a new search.
    fn ask(&self, name: &str) -> (bool, usize) {
        let path = self.path(name);
        let found = |snapshot: &Snapshot| similar_files(snapshot, &path, None);
        let mut searches = 0;
        let listing = self.neighbours.listing(&path, |snapshot| {
            searches += 1;
            found(snapshot)
        });
        let fresh = found(&self.shared.snapshot().unwrap()).unwrap();
        assert_eq!(listing, fresh);
        (searches == 1, listing.neighbours.len())
    }
}

/// A listing stays valid after a commit of unrelated files. A commit of related files is visible in
/// the next listing.
#[test]
fn a_listing_is_found_again_only_if_a_commit_touches_it() {
    let mut watched = Watched::new(|_, shared| shared);
    let text = prose(1, 20_000);
    watched.write("subject", &text);
    watched.write("d/version", &edited(&text, 1, 9));
    watched.write("e/other", &resemble_testutil::random::letters(5, 9_000));
    assert_eq!(watched.ask("subject"), (true, 1));
    assert_eq!(watched.ask("subject"), (false, 1));
    watched.write("e/another", &resemble_testutil::random::letters(6, 9_000));
    watched.write("e/other", &resemble_testutil::random::letters(7, 9_000));
    fs::rename(watched.path("e"), watched.path("f")).unwrap();
    watched.commit();
    fs::remove_file(watched.path("f/other")).unwrap();
    watched.commit();
    assert_eq!(watched.ask("subject"), (false, 1));
    assert_eq!(watched.ask("d/version"), (true, 1));
    watched.write("version2", &edited(&text, 2, 9));
    assert_eq!(watched.ask("subject"), (true, 2));
    assert_eq!(watched.ask("d/version"), (true, 2));
    fs::rename(watched.path("d"), watched.path("c")).unwrap();
    watched.commit();
    assert_eq!(watched.ask("subject"), (true, 2));
    fs::remove_file(watched.path("c/version")).unwrap();
    watched.commit();
    assert_eq!(watched.ask("subject"), (true, 1));
    assert_eq!(watched.ask("subject"), (false, 1));
}

/// An unreadable file may become readable without any commit to the index.
#[test]
fn a_listing_with_what_could_not_be_read_stands_for_one_clock() {
    let mut watched = Watched::new(|_, shared| shared);
    let text = prose(1, 20_000);
    watched.write("subject", &text);
    watched.write("version", &edited(&text, 1, 9));
    let away = watched.tree.path("away");
    fs::rename(watched.path("version"), &away).unwrap();
    assert_eq!(watched.ask("subject"), (true, 1));
    assert_eq!(watched.ask("subject"), (false, 1));
    fs::rename(&away, watched.path("version")).unwrap();
    watched.shared.tick();
    assert_eq!(watched.ask("subject"), (true, 1));
    watched.shared.tick();
    assert_eq!(watched.ask("subject"), (false, 1));
}

#[test]
fn a_listing_goes_with_the_templates() {
    let store = |tree: &TempTree| Store::new(&tree.folder("state"), &Params::default());
    let mut watched = Watched::new(|tree, shared| shared.with_templates(store(tree)));
    let text = prose(1, 20_000);
    watched.write("subject", &text);
    watched.write("version", &edited(&text, 1, 9));
    assert_eq!(watched.ask("subject"), (true, 1));
    watched.write("other", &prose(2, 9_000));
    assert_eq!(watched.ask("subject"), (false, 1));
    let request = MarkRequest {
        files: vec![watched.path("version").into()],
        ..MarkRequest::default()
    };
    let (store, scratch) = (store(&watched.tree), watched.tree.path("scratch"));
    let snapshot = watched.shared.snapshot().unwrap();
    mark_with_parts((&snapshot, None), &store, &request, &scratch).unwrap();
    drop(snapshot);
    assert_eq!(watched.ask("subject"), (true, 0));
    watched.write("another", &prose(3, 9_000));
    assert_eq!(watched.ask("subject"), (false, 0));
}

/// Access checks that give the same result for every path.
#[derive(Debug)]
struct Fixed(Seen);

impl AccessCheck for Fixed {
    fn look(&self, paths: &[PathBuf]) -> std::io::Result<Vec<Seen>> {
        Ok(vec![self.0; paths.len()])
    }
}

/// The file at a path may be replaced between the access check and the opening.
#[test]
fn what_was_opened_is_read_only_if_it_is_what_is_seen() {
    let file = tempfile::tempfile().unwrap();
    let opened = Stat::of(std::os::fd::AsFd::as_fd(&file)).unwrap();
    let place = SeenPlace {
        dev: opened.dev,
        ino: opened.ino,
        size: opened.size,
        mtime: (opened.mtime.secs, opened.mtime.nanos),
        ctime: (opened.ctime.secs, opened.ctime.nanos),
    };
    let may = |seen| opens(&Fixed(seen), Path::new("/a"), &opened);
    assert!(may(Seen::File(place)));
    let others = [
        SeenPlace {
            dev: place.dev + 1,
            ..place
        },
        SeenPlace {
            ino: place.ino + 1,
            ..place
        },
        SeenPlace {
            size: place.size + 1,
            ..place
        },
        SeenPlace {
            mtime: (place.mtime.0, place.mtime.1 ^ 1),
            ..place
        },
        SeenPlace {
            ctime: (place.ctime.0 - 1, place.ctime.1),
            ..place
        },
    ];
    for other in others {
        assert!(!may(Seen::File(other)), "{other:?}");
    }
    assert!(!may(Seen::Nothing));
}
