//! Tests of reading. In some tests, the file changes while it is read. The change is made in
//! [`Contents::look_up`], which the reader calls after reading and before its second `stat`.

use std::cell::Cell;
use std::fs::{self, File};
use std::os::unix::fs::{FileExt, symlink};
use std::path::PathBuf;

use resemble_core::{ContentDigest, ContentId, Digest};
use resemble_testutil::random::noise;
use rustix::fs::Mode;

use super::at::PIECE;
use super::*;

fn here() -> (tempfile::TempDir, Anchor) {
    let dir = tempfile::tempdir().expect("a folder");
    let anchor = Anchor::open(dir.path()).expect("open");
    (dir, anchor)
}

fn reader() -> Reader {
    Reader::new(&Params::default(), StopFlag::default())
}

fn digest_of(read: &FileRead) -> &Digest {
    match &read.content {
        Content::New(digest) => digest,
        other => panic!("not digested: {other:?}"),
    }
}

/// A [`Contents`] that calls `act` at each look-up, to change the file.
struct Meddler<F: Fn(u32)> {
    asked: Cell<u32>,
    act: F,
}

impl<F: Fn(u32)> Meddler<F> {
    fn new(act: F) -> Self {
        Self {
            asked: Cell::new(0),
            act,
        }
    }
}

impl<F: Fn(u32)> Contents for Meddler<F> {
    fn look_up(&self, _digest: &ContentDigest) -> Lookup {
        self.asked.set(self.asked.get() + 1);
        (self.act)(self.asked.get());
        Lookup::New
    }
}

/// A [`Contents`] in which the index has every content.
struct AllKnown;

impl Contents for AllKnown {
    fn look_up(&self, _digest: &ContentDigest) -> Lookup {
        Lookup::Known(ContentId(7))
    }
}

#[test]
fn a_file_of_any_size_is_digested_as_its_bytes_are() {
    let (dir, anchor) = here();
    let mut reader = reader();
    let mib = 1 << 20;
    for size in [3 * mib + 5, 0, 1, 63, 2800, mib - 1, mib, mib + 1, 2 * mib] {
        let bytes = noise(size as u64, size);
        let path = dir.path().join("file");
        fs::write(&path, &bytes).expect("written");
        let read = reader.digest(&anchor, &path).expect("read");
        assert_eq!(
            *digest_of(&read),
            Digest::of(&bytes, &Params::default()),
            "{size}"
        );
        assert_eq!((read.bytes, read.moving), (size as u64, false));
        assert_eq!(read.stat.size, size as u64);
    }
}

#[test]
fn holes_are_zeros_that_are_not_read() {
    let (dir, anchor) = here();
    let path = dir.path().join("sparse");
    let file = File::create(&path).expect("a file");
    let size = 9 << 20;
    file.set_len(size).expect("holes");
    for at in [0, 3 << 20, (5 << 20) + 12_345] {
        file.write_all_at(&noise(at, 5000), at).expect("an island");
    }
    let read = reader().digest(&anchor, &path).expect("read");
    let bytes = fs::read(&path).expect("read");
    assert_eq!(*digest_of(&read), Digest::of(&bytes, &Params::default()));
    assert!(read.bytes < 1 << 20, "{} bytes read", read.bytes);
}

#[test]
fn what_is_no_regular_file_is_never_opened() {
    let (dir, anchor) = here();
    let at = |name: &str| dir.path().join(name);
    rustix::fs::mkfifoat(rustix::fs::CWD, at("fifo"), Mode::RWXU).expect("a pipe");
    fs::create_dir(at("dir")).expect("a folder");
    symlink("/etc/passwd", at("link")).expect("a link");
    symlink("/etc", at("way")).expect("a link");
    drop(std::os::unix::net::UnixListener::bind(at("socket")).expect("a socket"));
    // If the pipe were opened for reading, this call would wait for ever.
    for name in ["fifo", "dir", "link", "socket"] {
        let failure = reader().digest(&anchor, &at(name)).expect_err(name);
        assert_eq!(failure, ReadFailure::NotRegular, "{name}");
    }
    for name in ["none", "way/passwd", "dir/none"] {
        let failure = reader().digest(&anchor, &at(name)).expect_err(name);
        assert_eq!(failure, ReadFailure::Gone, "{name}");
    }
}

#[test]
fn a_change_while_it_is_read_is_noticed_and_read() {
    let (dir, anchor) = here();
    let path = dir.path().join("file");
    let later = noise(2, 2000);
    for (size, name) in [(5000, "shorter, small"), (3 << 20, "shorter, large")] {
        fs::write(&path, noise(1, size)).expect("written");
        let meddler = Meddler::new(|time| {
            if time == 1 {
                fs::write(&path, &later).expect("written");
            }
        });
        let read = reader().read(&anchor, &path, None, &meddler).expect(name);
        assert!(!read.moving, "{name}");
        assert_eq!(
            *digest_of(&read),
            Digest::of(&later, &Params::default()),
            "{name}"
        );
        assert_eq!(read.stat.size, 2000);
    }
}

#[test]
fn a_file_that_never_stands_still_is_given_up_as_moving() {
    let (dir, anchor) = here();
    let path = dir.path().join("log");
    fs::write(&path, noise(1, 4000)).expect("written");
    let meddler = Meddler::new(|_| {
        let log = File::options().append(true).open(&path).expect("open");
        std::io::Write::write_all(&mut &log, &[b'x'; 500]).expect("appended");
    });
    let read = reader().read(&anchor, &path, None, &meddler).expect("read");
    assert!(read.moving);
    assert_eq!(meddler.asked.get(), ATTEMPTS);
    // The content is from the last attempt, so it lacks the change that followed.
    assert_eq!(read.stat.size, 4000 + 500 * u64::from(ATTEMPTS - 1));
    assert_eq!(digest_of(&read).size.0, read.stat.size);
}

#[test]
fn a_file_cut_to_nothing_each_time_ends() {
    let (dir, anchor) = here();
    let path = dir.path().join("file");
    fs::write(&path, noise(1, 2 << 20)).expect("written");
    let meddler = Meddler::new(|time| {
        let size = if time % 2 == 0 { 2 << 20 } else { 0 };
        File::options()
            .write(true)
            .open(&path)
            .and_then(|file| file.set_len(size))
            .expect("cut");
    });
    let read = reader().read(&anchor, &path, None, &meddler).expect("read");
    assert!(read.moving);
    assert_eq!(meddler.asked.get(), ATTEMPTS);
}

#[test]
fn no_more_is_read_than_the_file_said_it_had() {
    // The file has the size 0, but a read returns bytes. None of these bytes may be in the content.
    let process = PathBuf::from(format!("/proc/{}", std::process::id()));
    let anchor = Anchor::open(&process).expect("proc");
    let path = process.join("status");
    let read = reader().digest(&anchor, &path).expect("read");
    assert_eq!(digest_of(&read).size, ByteLen::ZERO);
    assert!(read.bytes <= u64::from(ATTEMPTS), "{} bytes", read.bytes);
}

#[test]
fn a_known_content_costs_one_pass_and_no_chunks() {
    let (dir, anchor) = here();
    for size in [1000_u64, 3 << 20] {
        let path = dir.path().join("file");
        fs::write(&path, noise(size, size as usize)).expect("written");
        let known = Some(ByteLen(size));
        let read = reader()
            .read(&anchor, &path, known, &AllKnown)
            .expect("read");
        assert_eq!(read.content, Content::Known(ContentId(7)));
        assert_eq!(read.bytes, size);
        // Without a known size, the file is digested. This also takes only one pass.
        let read = reader()
            .read(&anchor, &path, None, &NoContents)
            .expect("read");
        assert_eq!((digest_of(&read).size.0, read.bytes), (size, size));
    }
}

#[test]
fn a_content_in_flight_is_left_to_who_brings_it_unless_that_is_ourselves() {
    struct Flight(Cell<bool>, PathBuf);
    impl Contents for Flight {
        fn look_up(&self, _digest: &ContentDigest) -> Lookup {
            if self.0.replace(true) {
                return Lookup::InFlight;
            }
            // Only the times of the file change. So the second attempt finds the digest that the
            // first attempt has claimed.
            let file = File::options().write(true).open(&self.1).expect("open");
            file.set_modified(SystemTime::UNIX_EPOCH).expect("dated");
            Lookup::New
        }
    }
    let (dir, anchor) = here();
    let path = dir.path().join("file");
    fs::write(&path, noise(1, 3000)).expect("written");
    let flight = Flight(Cell::new(false), path.clone());
    let read = reader().read(&anchor, &path, None, &flight).expect("read");
    assert_eq!(digest_of(&read).size.0, 3000);
    let read = reader().read(&anchor, &path, None, &flight).expect("read");
    assert!(matches!(read.content, Content::InFlight(_)));
}

#[test]
fn the_stop_flag_ends_a_large_read() {
    let (dir, anchor) = here();
    let path = dir.path().join("file");
    fs::write(&path, noise(1, 3 << 20)).expect("written");
    let stop = StopFlag::default();
    stop.set();
    let mut reader = Reader::new(&Params::default(), stop.clone());
    assert_eq!(
        reader.digest(&anchor, &path).err(),
        Some(ReadFailure::Stopped)
    );
    stop.clear();
    assert!(reader.digest(&anchor, &path).is_ok());
}

#[test]
fn looking_leaves_no_trace_in_the_access_time() {
    let (dir, anchor) = here();
    let path = dir.path().join("file");
    fs::write(&path, b"x").expect("written");
    // The access time is older than the modification time, so an ordinary read would update it.
    let old = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000);
    let times = fs::FileTimes::new().set_accessed(old);
    let file = File::options().write(true).open(&path).expect("open");
    file.set_times(times).expect("dated");
    reader().digest(&anchor, &path).expect("read");
    assert_eq!(
        fs::metadata(&path).expect("stat").accessed().expect("time"),
        old
    );
}

#[test]
fn ages_are_exact_and_may_be_negative() {
    let time = |secs, nanos| Timestamp { secs, nanos };
    let now = SystemTime::UNIX_EPOCH + Duration::new(100, 5);
    assert_eq!(age(time(99, 1_000), now), 999_999_005);
    assert_eq!(age(time(100, 6), now), -1);
    assert_eq!(age(time(-1, 0), now), 101_000_000_005);
    let early = SystemTime::UNIX_EPOCH - Duration::from_secs(1);
    assert_eq!(age(time(0, 0), early), -1_000_000_000);
}

/// A thread replaces the file in rapid turns by a pipe, a link to a secret, a directory, and a file
/// again. The reader must neither block nor read the secret.
#[test]
fn swaps_between_looking_and_opening_lead_nowhere() {
    const SWAPS: u32 = 4000;
    let (dir, anchor) = here();
    let secret = tempfile::NamedTempFile::new().expect("a secret");
    fs::write(secret.path(), b"the secret").expect("written");
    let secret_digest = resemble_core::hash::content::digest(b"the secret");
    let (name, spare) = (dir.path().join("name"), dir.path().join("spare"));
    let swapper = std::thread::spawn({
        let (secret, name) = (secret.path().to_owned(), name.clone());
        move || {
            for turn in 0..SWAPS {
                match turn % 4 {
                    0 => fs::write(&spare, b"harmless").expect("a file"),
                    1 => rustix::fs::mkfifoat(rustix::fs::CWD, &spare, Mode::RWXU).expect("a pipe"),
                    2 => symlink(&secret, &spare).expect("a link"),
                    _ => fs::create_dir(&spare).expect("a folder"),
                }
                if fs::rename(&spare, &name).is_err() {
                    // A directory cannot replace a file, and a file cannot replace a directory.
                    fs::remove_file(&name)
                        .or_else(|_| fs::remove_dir(&name))
                        .ok();
                    fs::rename(&spare, &name).expect("renamed");
                }
            }
            fs::remove_dir(&name).expect("the last one is a folder");
            fs::write(&name, b"harmless").expect("a file");
        }
    });
    let mut reader = reader();
    let mut read = 0;
    loop {
        let last = swapper.is_finished();
        match reader.digest(&anchor, &name) {
            Ok(file) => {
                assert_ne!(digest_of(&file).content, secret_digest);
                read += 1;
            }
            Err(ReadFailure::Gone | ReadFailure::NotRegular) => {}
            Err(other) => panic!("{other}"),
        }
        if last {
            break;
        }
    }
    swapper.join().expect("the swapper ends");
    assert!(read > 0);
}

/// Reads a file in turns of one piece each. Calls `between` between two turns. Returns the number
/// of turns, and the result of the last turn.
fn in_turns(
    anchor: &Anchor,
    path: &Path,
    known_size: Option<ByteLen>,
    mut between: impl FnMut(usize),
) -> (usize, FileRead) {
    let paused = Arc::<PausedReadings>::default();
    for turn in 1.. {
        // Each turn uses another reader, because a paused reading can be continued by any reader.
        let mut reader = reader().with_paused(Arc::clone(&paused));
        reader.pause_at(Some(Instant::now()));
        match reader.read(anchor, path, known_size, &NoContents) {
            Ok(read) => return (turn, read),
            Err(failure) => assert_eq!(failure, ReadFailure::Paused),
        }
        between(turn);
    }
    unreachable!("turns end")
}

#[test]
fn a_file_that_is_read_in_turns_is_read_once() {
    let (dir, anchor) = here();
    let path = dir.path().join("large");
    let bytes = noise(1, (5 << 20) + 77);
    fs::write(&path, &bytes).expect("written");
    let whole = Digest::of(&bytes, &Params::default());
    let size = bytes.len() as u64;
    let pieces = bytes.len().div_ceil(PIECE);
    let (turns, read) = in_turns(&anchor, &path, None, |_| ());
    assert_eq!(*digest_of(&read), whole);
    assert_eq!((turns, read.bytes, read.moving), (pieces, size, false));
    // The size is equal to the size in the index, so the first pass computes only the digest.
    let (turns, read) = in_turns(&anchor, &path, Some(ByteLen(size)), |_| ());
    assert_eq!(*digest_of(&read), whole);
    assert_eq!(
        (turns, read.bytes, read.moving),
        (2 * pieces - 1, 2 * size, false)
    );
}

#[test]
fn what_changes_between_two_turns_is_moving_or_begun_anew() {
    let (dir, anchor) = here();
    let path = dir.path().join("large");
    let bytes = noise(1, 5 << 20);
    // The file grows between the turns. The result has the size that the file had at the beginning.
    fs::write(&path, &bytes).expect("written");
    let (turns, read) = in_turns(&anchor, &path, None, |turn| {
        let mut file = File::options().append(true).open(&path).expect("a file");
        std::io::Write::write_all(&mut file, &[turn as u8]).expect("appended");
    });
    assert_eq!(*digest_of(&read), Digest::of(&bytes, &Params::default()));
    let pieces = bytes.len().div_ceil(PIECE);
    assert_eq!(
        (turns, read.moving, read.stat.size),
        (pieces, true, 5 << 20)
    );
    // The file gets another content, or becomes shorter than the part that was read.
    let other = noise(2, 5 << 20);
    for new in [&other[..], &other[..2 << 20]] {
        fs::write(&path, &bytes).expect("written");
        let (_, read) = in_turns(&anchor, &path, None, |turn| {
            if turn == 3 {
                fs::write(&path, new).expect("written");
            }
        });
        assert_eq!(*digest_of(&read), Digest::of(new, &Params::default()));
        assert!(!read.moving);
    }
}

/// Returns how many bytes of a file are in the page cache. Returns `None` if `fincore` is not
/// installed.
fn cached(path: &Path) -> Option<u64> {
    let fincore = std::process::Command::new("fincore")
        .args(["--bytes", "--noheadings", "--output", "RES"])
        .arg(path)
        .output()
        .ok()?;
    let bytes = String::from_utf8_lossy(&fincore.stdout);
    bytes.trim().parse().ok()
}

/// This test is skipped if the file system cannot read past the page cache.
#[test]
fn a_scan_of_very_much_leaves_the_page_cache_as_it_was() {
    const SIZE: usize = 3 << 20;
    let (dir, anchor) = here();
    let path = dir.path().join("file");
    fs::write(&path, noise(1, SIZE)).unwrap();
    let file: OwnedFd = File::open(&path).unwrap().into();
    rustix::fs::fsync(&file).unwrap();
    rustix::fs::fadvise(&file, 0, None, Advice::DontNeed).unwrap();
    let mut page = [0; 4096];
    let mut probe = [std::io::IoSliceMut::new(&mut page)];
    let dont_cache = rustix::io::ReadWriteFlags::from_bits_retain(0x80);
    let has_it = rustix::io::preadv2(&file, &mut probe, 0, dont_cache).is_ok();
    let Some(kept) = cached(&path) else {
        return resemble_testutil::skipped("there is no fincore");
    };
    if !has_it || kept > 0 {
        // This kernel or file system cannot read past the page cache.
        eprintln!("*** SKIPPED, NOT TESTED: no RWF_DONTCACHE here, or all is kept ***");
        return;
    }
    let mut reader = reader();
    let read = |reader: &mut Reader| {
        let read = reader.read(&anchor, &path, None, &NoContents).unwrap();
        assert_eq!(
            *digest_of(&read),
            Digest::of(&noise(1, SIZE), &Params::default())
        );
        assert_eq!(read.bytes, SIZE as u64);
    };
    reader.spare_cache(true);
    read(&mut reader);
    assert_eq!(cached(&path), Some(0));
    // Pages that were in the page cache before must stay there.
    reader.spare_cache(false);
    read(&mut reader);
    assert_eq!(cached(&path), Some(SIZE as u64));
    reader.spare_cache(true);
    read(&mut reader);
    assert_eq!(cached(&path), Some(SIZE as u64));
}
