//! The answer is the same in any order of the files and with any memory bound.

use resemble_proto::message::Parts;

use super::*;

/// Returns an index of files that were never on a disk. They are added in the given order.
fn index(files: &BTreeMap<String, Vec<u8>>, order: &[usize]) -> Snapshot {
    let index = Index::in_memory(&Params::default()).expect("an index in memory");
    let files: Vec<_> = files.iter().collect();
    let change = |&at: &usize| {
        let (path, bytes) = files[at];
        Change::File {
            path: PathBuf::from(path),
            stat: FileStat {
                fs: FsId("test".into()),
                ino: at as u64 + 1,
                size: ByteLen(bytes.len() as u64),
                mtime: Timestamp {
                    secs: (at as i64 * 7919) % 1000,
                    nanos: 0,
                },
                ctime: Timestamp::default(),
                nlink: 1,
            },
            state: NewState::Settled(ContentRef::New(Box::new(Digest::of(
                bytes,
                &Params::default(),
            )))),
        }
    };
    index
        .apply(order.iter().map(change).collect())
        .expect("a batch");
    index.snapshot().expect("a snapshot")
}

/// Returns families of versions, quotations between families, a shared header, copies and unrelated
/// files.
fn collection(seed: u64, files: usize) -> BTreeMap<String, Vec<u8>> {
    let mut random = Random::new(seed);
    let mut random = |below| random.below(below);
    let header = text(seed ^ 1, 900);
    let mut all: Vec<Vec<u8>> = Vec::new();
    for at in 0..files {
        let fresh = text(seed.wrapping_mul(31) + at as u64, 1500 + random(4000));
        let bytes = match random(10) {
            0 | 1 => fresh,
            2 => [header.clone(), fresh].concat(),
            3 if at > 0 => all[random(at)].clone(),
            4 if at > 0 => {
                let quoted = &all[random(at)];
                [fresh, quoted[..quoted.len() / 2].to_vec()].concat()
            }
            _ if at > 0 => {
                let from = &all[random(at)];
                edited(from, 300 + random(3000))
            }
            _ => fresh,
        };
        all.push(bytes);
    }
    (0..files)
        .map(|at| {
            (
                format!("/r/{}/{at}", random(7)),
                std::mem::take(&mut all[at]),
            )
        })
        .collect()
}

fn answer(snapshot: &Snapshot, request: &GroupsRequest) -> (String, Vec<String>) {
    let scratch = tempfile::tempdir().expect("a folder");
    let mut whole = groups(snapshot, request, scratch.path()).expect("an answer");
    assert_eq!(
        fs::read_dir(scratch.path()).expect("a folder").count(),
        0,
        "nothing is left"
    );
    // With a memory bound, the answer may have other notes, but the same results.
    let notes = std::mem::take(&mut whole.body.summary.notes);
    let header = serde_json::to_string(&whole.header).expect("JSON");
    let rows: Vec<String> = whole
        .body
        .into_parts()
        .map(|row| serde_json::to_string(&row).expect("JSON"))
        .collect();
    (header + &rows.join("\n"), notes)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(6))]

    #[test]
    fn memory_and_order_change_nothing(
        seed in any::<u64>(),
        min in prop_oneof![Just(None), Just(Some(0u32)), Just(Some(600_000))],
    ) {
        let files = collection(seed, 260);
        let forward: Vec<usize> = (0..files.len()).collect();
        let mut shuffled = forward.clone();
        shuffled.sort_by_key(|&at| (at as u64 + 1).wrapping_mul(seed | 1).rotate_left(23));
        let snapshot = index(&files, &forward);
        let request = GroupsRequest {
            min: min.map_or(Fraction::NONE, Fraction::from_millionths),
            ..everything(Path::new("/r"))
        };
        let (expected, _) = answer(&snapshot, &request);
        prop_assert_eq!(&answer(&index(&files, &shuffled), &request).0, &expected);
        for memory in [1, 1 << 20, 64 << 20] {
            let bounded = GroupsRequest { memory: Some(memory), ..request.clone() };
            prop_assert!(answer(&snapshot, &bounded).0 == expected, "{memory} bytes");
        }
    }
}

#[test]
fn a_component_larger_than_memory_is_solved_in_pieces_and_said_so() {
    // All files are edits of the same text, so they are always one component.
    let base = text(1, 6000);
    let files: BTreeMap<String, Vec<u8>> = (0..400)
        .map(|at| (format!("/r/{at:03}"), edited(&base, 400 + 13 * at)))
        .collect();
    let order: Vec<usize> = (0..files.len()).collect();
    let snapshot = index(&files, &order);
    let request = everything(Path::new("/r"));
    let (expected, notes) = answer(&snapshot, &request);
    assert!(
        notes.iter().all(|note| !note.contains("on disk")),
        "{notes:?}"
    );
    let bounded = GroupsRequest {
        memory: Some(1 << 20),
        ..request
    };
    let (pieced, notes) = answer(&snapshot, &bounded);
    assert!(pieced == expected, "the same answer");
    let said = notes.iter().find(|note| note.contains("on disk"));
    assert!(
        said.is_some_and(|note| note.contains("pieces")),
        "{notes:?}"
    );
}
