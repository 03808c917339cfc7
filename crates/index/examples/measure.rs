//! Measures an index as large as the index of the Linux source tree: `cargo run --release --example
//! measure -p resemble-index [CONTENTS [FOLDER]]`. If the argument is an index file instead of a
//! number, prints the sizes of that index's tables. The figures in `docs/index-format.md` are from
//! this program.
#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a measuring program for people"
)]

use std::ffi::OsStr;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::time::Instant;

use resemble_core::{
    ByteLen, ChunkHash, ChunkList, ChunkRun, ContentDigest, ContentKind, Digest, Fingerprint,
    Params, Signature, WordsDigest,
};
use resemble_index::{
    Change, ContentRef, FileStat, FsId, Index, NewState, Options, PostingKind, Timestamp,
};
use resemble_testutil::random::Random;

const CHUNKS: usize = 16;
const FINGERPRINTS: usize = 75;
const BATCHES: usize = 6;

fn bytes<const N: usize>(random: &mut Random) -> [u8; N] {
    std::array::from_fn(|_| random.draw() as u8)
}

fn file(random: &mut Random, number: usize) -> Change {
    let chunks: Vec<_> = (0..CHUNKS)
        .map(|_| ChunkRun {
            hash: ChunkHash(bytes(random)),
            len: 460 + (random.draw() % 1100) as u32,
            count: 1,
            constant: false,
        })
        .collect();
    let size: u64 = chunks.iter().map(|run| u64::from(run.len)).sum();
    // As in real trees, one fingerprint in a thousand occurs in many contents.
    let fingerprints = (0..FINGERPRINTS)
        .map(|_| {
            let value = random.draw() >> (64 - 38);
            Fingerprint(if random.draw().is_multiple_of(1000) {
                value % 50
            } else {
                value
            })
        })
        .collect();
    let digest = Digest {
        content: ContentDigest(bytes(random)),
        size: ByteLen(size),
        kind: ContentKind::Text,
        chunks: ChunkList(chunks),
        signature: Signature {
            level: 5,
            fingerprints,
            repeats: None,
        },
        besides: Vec::new(),
        words: Some(WordsDigest(bytes(random))),
    };
    let time = Timestamp {
        secs: 1_700_000_000 + i64::try_from(number).unwrap(),
        nanos: 123_456_789,
    };
    Change::File {
        path: PathBuf::from(format!(
            "/srv/linux/dir-{:04}/file-{number:05}.c",
            number / 20
        )),
        stat: FileStat {
            fs: FsId("5f6a-11".into()),
            ino: 1_000_000 + number as u64,
            size: ByteLen(size),
            mtime: time,
            ctime: time,
            nlink: 1,
        },
        state: NewState::Settled(ContentRef::New(Box::new(digest))),
    }
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let first = arguments.next();
    if let Some(index) = first
        .as_ref()
        .map(PathBuf::from)
        .filter(|path| path.is_file())
    {
        let (index, _) = Index::open(&index, &Params::default(), &Options::default()).unwrap();
        return tables(&index);
    }
    let contents: usize = first.map_or(80_000, |text| text.parse().unwrap());
    let folder = arguments
        .next()
        .map_or_else(std::env::temp_dir, PathBuf::from);
    let folder = tempfile::tempdir_in(folder).unwrap();
    let path = folder.path().join("index.redb");
    let options = Options {
        cache_bytes: 128 << 20,
        ..Options::default()
    };
    let params = Params::default();
    let (index, _) = Index::open(&path, &params, &options).unwrap();
    let mut random = Random::new(1);
    let mut bytes = 0;
    let mut applying = 0.0;
    for batch in 0..BATCHES {
        let range = contents * batch / BATCHES..contents * (batch + 1) / BATCHES;
        let time = std::iter::once(Change::Time(1_800_000_000));
        let changes = time.chain(range.map(|number| file(&mut random, number)));
        let changes: Vec<_> = changes.collect();
        for change in &changes {
            if let Change::File { stat, .. } = change {
                bytes += stat.size.get();
            }
        }
        let start = Instant::now();
        index.apply_in_bulk(changes).unwrap();
        let took = start.elapsed().as_secs_f64();
        applying += took;
        println!("batch {batch}: {took:.3} s");
    }
    let start = Instant::now();
    index.finish_bulk().unwrap();
    let finishing = start.elapsed().as_secs_f64();
    let postings = contents * (CHUNKS + FINGERPRINTS);
    println!("content          {:8.1} MB", bytes as f64 / 1e6);
    println!("apply            {applying:8.3} s");
    println!("finish_bulk      {finishing:8.3} s");
    println!(
        "postings         {:8.2} M/s",
        postings as f64 / (applying + finishing) / 1e6
    );
    let size = |path| std::fs::metadata(path).unwrap().blocks() as f64 * 512.0;
    println!("file before      {:8.1} MB", size(&path) / 1e6);

    lookups(&index, &mut random);
    small_batches(&index, &mut random, contents);

    let start = Instant::now();
    index.close().unwrap();
    println!("close            {:8.3} s", start.elapsed().as_secs_f64());
    let closed = size(&path);
    println!(
        "file after       {:8.1} MB, {:.2} % of content",
        closed / 1e6,
        closed / bytes as f64 * 100.0
    );
    let start = Instant::now();
    let (index, aside) = Index::open(&path, &params, &options).unwrap();
    println!(
        "open             {:8.3} ms",
        start.elapsed().as_secs_f64() * 1e3
    );
    assert!(aside.is_none());
    println!("{:?}", index.snapshot().unwrap().totals().unwrap());
    tables(&index);
}

fn tables(index: &Index) {
    for (table, stats) in index.table_sizes().unwrap() {
        println!(
            "  {table:24} {:9} rows {:8.2} MB in pages, {:8.2} MB stored",
            stats.rows,
            stats.pages as f64 * 4096.0 / 1e6,
            stats.stored as f64 / 1e6
        );
    }
}

fn lookups(index: &Index, random: &mut Random) {
    let start = Instant::now();
    for _ in 0..1000 {
        index.snapshot().unwrap();
    }
    println!(
        "snapshot         {:8.2} us",
        start.elapsed().as_secs_f64() * 1e3
    );
    let snapshot = index.snapshot().unwrap();
    let mut found = 0;
    for round in ["cold", "warm"] {
        let mut keys: Vec<_> = (0..100_000).map(|_| random.draw() >> (64 - 38)).collect();
        let start = Instant::now();
        for key in &keys {
            snapshot
                .postings(PostingKind::Fingerprint, &[*key], &mut |_, list| {
                    found += list.len();
                })
                .unwrap();
        }
        let each = start.elapsed().as_secs_f64() * 1e6 / keys.len() as f64;
        println!("posting, {round}    {each:8.2} us");
        keys.sort_unstable();
        let start = Instant::now();
        snapshot
            .postings(PostingKind::Fingerprint, &keys, &mut |_, list| {
                found += list.len();
            })
            .unwrap();
        let each = start.elapsed().as_secs_f64() * 1e6 / keys.len() as f64;
        println!("sorted, {round}     {each:8.2} us");
    }
    let totals = snapshot.totals().unwrap();
    let start = Instant::now();
    for _ in 0..10_000 {
        let id = resemble_core::ContentId((random.draw() % totals.contents) as u32);
        found += snapshot.chunks(id).unwrap().0.len();
        found += snapshot.signature(id).unwrap().fingerprints.len();
    }
    println!(
        "chunks+signature {:8.2} us",
        start.elapsed().as_secs_f64() * 1e2
    );
    let start = Instant::now();
    let mut names = 0;
    snapshot
        .walk("/".as_ref(), &mut |path, _| {
            names += usize::from(path.extension() == Some(OsStr::new("c")));
            std::ops::ControlFlow::Continue(())
        })
        .unwrap();
    println!(
        "walk             {:8.2} ms for {names} files",
        start.elapsed().as_secs_f64() * 1e3
    );
    println!("(found {found})");
}

fn small_batches(index: &Index, random: &mut Random, contents: usize) {
    let mut took = Vec::new();
    let written = bytes_written();
    for number in 0..50 {
        let change = file(random, contents + number);
        let start = Instant::now();
        index.apply(vec![change]).unwrap();
        took.push(start.elapsed().as_secs_f64() * 1e3);
    }
    took.sort_by(f64::total_cmp);
    println!(
        "small batch      {:8.2} ms median, {:.2} ms worst, {:.0} KB written each",
        took[25],
        took[49],
        (bytes_written() - written) as f64 / 50e3
    );
}

/// Returns the number of bytes that this process has passed to write(2). The kernel counts these
/// bytes.
fn bytes_written() -> u64 {
    let text = std::fs::read_to_string("/proc/self/io").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("wchar: "));
    line.and_then(|number| number.parse().ok()).unwrap_or(0)
}
