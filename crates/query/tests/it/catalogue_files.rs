//! Tests catalogue files. A written file can be read, and a damaged file is refused. A newly stored
//! catalogue replaces all of the old one.

use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use resemble_catalogue::{
    Catalogue, CatalogueError, Details, Loaded, Samples, Totals, claimed_checksum, file_of_label,
    forget, is_catalogue, kept, load, open, receive, unload_stray, write,
};
use resemble_core::hash::content::digest;
use resemble_core::{ByteLen, Digest, Params};
use resemble_index::{Change, ContentRef, FileStat, FsId, Index, NewState, SpecialKind, Timestamp};
use resemble_proto::catalogued;

use crate::scene::dump_of;

/// The number of bytes of the digest at the end of a catalogue.
const CHECKSUM: usize = 32;

fn details() -> Details {
    Details {
        label: "disk".to_owned(),
        created: 1_700_000_000,
        names: true,
        text: true,
        samples: Samples::AtMost(24),
    }
}

fn sealed(mut bytes: Vec<u8>) -> Vec<u8> {
    let checksum = digest(&bytes);
    bytes.extend_from_slice(&checksum.0);
    bytes
}

/// Loads a catalogue file with these bytes. Checks that the index is consistent, and that it is
/// empty if the file is refused.
fn loaded(bytes: &[u8]) -> Result<Loaded, CatalogueError> {
    let temp = tempfile::tempdir().expect("a folder");
    let file = temp.path().join("a.cat");
    fs::write(&file, bytes).expect("a file");
    let index = Index::in_memory(&Params::default()).expect("an index");
    let root = catalogued::of_label("disk");
    let result = open(&file).and_then(|catalogue| load(&index, &root, catalogue));
    let snapshot = index.snapshot().expect("a snapshot");
    assert_eq!(snapshot.check().expect("readable"), Vec::<String>::new());
    if result.is_err() {
        let left = snapshot.totals().expect("totals");
        assert_eq!((left.files, left.contents), (0, 0), "{result:?}");
    }
    result
}

fn content(bytes: &[u8]) -> Digest {
    Digest::of(bytes, &Params::default())
}

#[test]
fn nothing_but_regular_files_is_opened() {
    let temp = tempfile::tempdir().expect("a folder");
    let pipe = temp.path().join("pipe");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &pipe,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
        0,
    )
    .expect("a pipe");
    assert!(!is_catalogue(&pipe));
    assert!(open(&pipe).is_err());
    assert!(!is_catalogue(temp.path()));
}

/// Returns the index and the root of a small tree with entries of every kind.
fn tree() -> (Index, PathBuf) {
    let index = Index::in_memory(&Params::default()).expect("an index");
    let root = PathBuf::from("/srv/docs");
    let stat = |ino, size: usize| FileStat {
        fs: FsId("fs".into()),
        ino,
        size: ByteLen(size as u64),
        mtime: Timestamp {
            secs: ino as i64 * 1000,
            nanos: 7,
        },
        ctime: Timestamp::default(),
        nlink: 1,
    };
    let text: Vec<u8> = (0..20_000u32)
        .flat_map(|n| format!("{} ", n * n).into_bytes())
        .collect();
    let file = |path: &str, ino, bytes: &[u8]| Change::File {
        path: root.join(path),
        stat: stat(ino, bytes.len()),
        state: NewState::Settled(ContentRef::New(Box::new(content(bytes)))),
    };
    let changes = vec![
        Change::Dir(root.join("empty")),
        file("a", 1, &text),
        file("b/copy", 2, &text),
        file("b/hard", 1, &text),
        file("b/part", 3, &text[..9000]),
        file("nothing", 4, b""),
        file("zeros", 5, &vec![0; 3_000_000]),
        Change::File {
            path: root.join("locked"),
            stat: stat(6, 10),
            state: NewState::Unreadable(13),
        },
        Change::File {
            path: root.join("left"),
            stat: stat(7, 11),
            state: NewState::Skipped("size".to_owned()),
        },
        Change::Symlink {
            path: root.join("link"),
            target: b"../x\xff".to_vec(),
        },
        Change::Special {
            path: root.join("pipe"),
            kind: SpecialKind::Fifo,
        },
    ];
    index.apply(changes).expect("applied");
    (index, root)
}

fn written(index: &Index, roots: &[&Path], details: &Details) -> (Vec<u8>, Totals) {
    let roots: Vec<PathBuf> = roots.iter().map(|root| root.to_path_buf()).collect();
    let mut bytes = Vec::new();
    let totals = write(
        &index.snapshot().expect("a snapshot"),
        &roots,
        details,
        &mut |piece| {
            bytes.extend_from_slice(piece);
            ControlFlow::Continue(())
        },
    );
    (bytes, totals.expect("written"))
}

#[test]
fn a_tree_comes_back_whole() {
    let temp = tempfile::tempdir().expect("a folder");
    let (index, root) = tree();
    let before = dump_of(&index, Path::new("/"));
    let (bytes, totals) = written(&index, &[&root], &details());
    assert_eq!(
        bytes,
        written(&index, &[&root], &details()).0,
        "the same bytes"
    );
    assert_eq!((totals.files, totals.contents, totals.unread), (7, 4, 2));
    let file = temp.path().join("disk.cat");
    fs::write(&file, &bytes).expect("a file");
    assert_eq!(
        open(&file).and_then(Catalogue::totals).expect("sound"),
        totals
    );

    // The catalogue is loaded into an empty index, and into the index that it was made from.
    let other = Index::in_memory(&Params::default()).expect("an index");
    let at = catalogued::of_label("disk");
    for index in [&other, &index] {
        load(index, &at, open(&file).expect("sound")).expect("loaded");
        let expected = dump_of(&tree().0, &root).replace("/srv/docs", "disk:");
        assert_eq!(dump_of(index, &at), expected);
        let (again, _) = written(index, &[&at], &details());
        assert!(again == bytes, "a catalogue of a catalogue is the same");
        let snapshot = index.snapshot().expect("a snapshot");
        assert_eq!(snapshot.check().expect("readable"), Vec::<String>::new());
        drop(snapshot);
        // The catalogue is loaded again, which replaces the first load.
        load(index, &at, open(&file).expect("sound")).expect("loaded");
        unload_stray(index, &[]).expect("gone");
    }
    assert_eq!(
        dump_of(&index, Path::new("/")),
        before,
        "nothing is left of it"
    );
    assert_eq!(
        other
            .snapshot()
            .expect("a snapshot")
            .totals()
            .expect("totals")
            .contents,
        0
    );
}

#[test]
fn without_names_there_are_none() {
    let (index, root) = tree();
    let details = Details {
        names: false,
        ..details()
    };
    let (bytes, totals) = written(&index, &[&root], &details);
    assert_eq!((totals.files, totals.unread), (5, 2));
    for name in ["copy", "part", "zeros", "locked", "docs", "link"] {
        let found = bytes
            .windows(name.len())
            .any(|window| window == name.as_bytes());
        assert!(!found, "{name}");
    }
    // A catalogue without names does not depend on the paths of the files.
    index
        .apply(vec![Change::Rename {
            from: root.join("a"),
            to: root.join("b/z"),
        }])
        .expect("applied");
    assert!(written(&index, &[&root], &details).0 == bytes);
}

#[test]
fn several_roots_are_folders_of_their_last_names() {
    let (index, root) = tree();
    let content = NewState::Settled(ContentRef::New(Box::new(content(b"else"))));
    let stat = FileStat {
        fs: FsId("fs".into()),
        ino: 99,
        size: ByteLen(4),
        mtime: Timestamp::default(),
        ctime: Timestamp::default(),
        nlink: 1,
    };
    let path = PathBuf::from("/home/docs/x");
    index
        .apply(vec![Change::File {
            path,
            stat,
            state: content,
        }])
        .expect("applied");
    let temp = tempfile::tempdir().expect("a folder");
    let file = temp.path().join("both.cat");
    let roots = [&root, Path::new("/home/docs"), &root];
    fs::write(&file, written(&index, &roots, &details()).0).expect("a file");
    let at = catalogued::of_label("both");
    load(&index, &at, open(&file).expect("sound")).expect("loaded");
    let dump = dump_of(&index, &at);
    assert!(
        dump.contains("both:/docs/b/copy\tf") && dump.contains("both:/docs~2/x\tf"),
        "{dump}"
    );
}

#[test]
fn a_kept_one_is_replaced_whole_or_not_at_all() {
    let temp = tempfile::tempdir().expect("a folder");
    let folder = temp.path().join("state/catalogues");
    let file = temp.path().join("a.cat");
    let (index, root) = tree();
    let (bytes, _) = written(&index, &[&root], &details());
    fs::write(&file, &bytes).expect("a file");
    assert_eq!(kept(&folder), Vec::<String>::new());
    let keep = |file: &Path| receive(&folder, file, "disk").and_then(|(it, _)| it.keep());
    keep(&file).expect("kept");
    assert_eq!(kept(&folder), ["disk"]);
    let stored = file_of_label(&folder, "disk");
    let checksum = *open(&stored).expect("sound").checksum();
    assert_eq!(claimed_checksum(&stored), Some(checksum));
    fs::write(&file, &bytes[..bytes.len() - 1]).expect("a file");
    assert!(keep(&file).is_err());
    assert_eq!(
        claimed_checksum(&stored),
        Some(checksum),
        "the old one stays"
    );
    assert_eq!(
        fs::read_dir(&folder).expect("a folder").count(),
        1,
        "and nothing else"
    );
    drop(receive(&folder, &stored, "disk").expect("received"));
    assert_eq!(kept(&folder), ["disk"]);
    assert_eq!(fs::read_dir(&folder).expect("a folder").count(), 1);
    assert!(forget(&folder, "disk").expect("forgotten"));
    assert!(!forget(&folder, "disk").expect("there is none"));
}

proptest! {
    /// A flipped bit or a missing end is detected at every place. If the digest is computed again
    /// after the damage, the file may be accepted. But the index stays consistent.
    #[test]
    fn damage_is_found(at: prop::sample::Index, bit in 0..8u32, cut: prop::sample::Index) {
        let (index, root) = tree();
        let (bytes, _) = written(&index, &[&root], &details());
        let mut flipped = bytes.clone();
        flipped[at.index(bytes.len())] ^= 1 << bit;
        prop_assert!(loaded(&flipped).is_err());
        prop_assert!(loaded(&bytes[..cut.index(bytes.len())]).is_err());
        let records = bytes.len() - CHECKSUM;
        let mut forged = bytes[..records].to_vec();
        forged[at.index(records)] ^= 1 << bit;
        // The forged catalogue may be valid, for example if only a digest or a name has changed. In
        // any case `loaded` checks the index.
        let _result = loaded(&sealed(forged));
    }
}
