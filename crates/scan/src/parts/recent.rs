//! Caches the parts that were extracted from files a short while ago.
//!
//! To extract the text of a book in PDF takes half a second. Each question about a page that was
//! made from the book needs the text of the book. So extracted parts are kept for the next
//! question, unless they are too large. They are valid for one state of the file, which is
//! identified by the file's `stat`. If a file has just changed, it can change again within the same
//! timestamp. So its parts are not kept.

use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use parking_lot::Mutex;
use resemble_core::date::DocumentDate;
use resemble_core::recent::Recent;
use resemble_extract::{Part, Sink, Skipped};

use super::PartReader;

/// The number of bytes of memory for the parts of all files together.
const ROOM: usize = 32 << 20;

/// The maximum number of bytes of memory for the parts of one file.
const MOST_OF_ONE: usize = 8 << 20;

/// The longest interval between two timestamps of a file system.
const TICK: Duration = Duration::from_millis(20);

/// A reader that keeps the parts that it extracted a short while ago.
#[derive(Debug)]
pub struct RecentParts {
    reader: Arc<dyn PartReader>,
    kept: Mutex<Recent<FileState, Arc<RecordedParts>>>,
}

impl RecentParts {
    /// Makes a reader that takes parts from its cache. If they are not in the cache, it takes them
    /// from `reader`.
    pub fn new(reader: Arc<dyn PartReader>) -> Self {
        Self {
            reader,
            kept: Mutex::new(Recent::new(ROOM)),
        }
    }
}

impl PartReader for RecentParts {
    fn applies(&self, name: &[u8], head: &[u8], file: Option<BorrowedFd<'_>>) -> bool {
        self.reader.applies(name, head, file)
    }

    fn may_state_date(&self, head: &[u8]) -> bool {
        self.reader.may_state_date(head)
    }

    fn read_parts(
        &self,
        name: &[u8],
        head: &[u8],
        file: BorrowedFd<'_>,
        sink: &mut dyn Sink,
    ) -> Result<Vec<(Vec<u8>, Skipped)>, Skipped> {
        let Some(state) = FileState::of(file, name) else {
            return self.reader.read_parts(name, head, file, sink);
        };
        let known = self.kept.lock().get(&state);
        if let Some(told) = known {
            told.tell(sink);
            return Ok(told.skipped.clone());
        }
        let mut recorder = Recorder {
            sink,
            told: Some(RecordedParts::default()),
        };
        let skipped = self.reader.read_parts(name, head, file, &mut recorder)?;
        // If a failure is perhaps only temporary, it is not kept.
        let is_final = !skipped.iter().any(|(_, why)| why.is_of_the_moment());
        if let Some(mut told) = recorder.told.filter(|_| is_final) {
            told.skipped.clone_from(&skipped);
            let bytes = told.memory();
            self.kept.lock().put(state, Arc::new(told), bytes);
        }
        Ok(skipped)
    }

    fn id(&self) -> String {
        self.reader.id()
    }

    fn is_at_once(&self, name: &[u8], head: &[u8], size: u64) -> bool {
        self.reader.is_at_once(name, head, size)
    }

    fn most_at_once(&self) -> usize {
        self.reader.most_at_once()
    }
}

/// The state of a file, identified by its `stat`. The state also has the name of the file, because
/// the format depends on the name.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct FileState {
    inode: (u64, u64),
    size: i64,
    changed: (i64, i64),
    name: Vec<u8>,
}

impl FileState {
    /// Returns the state of a file. Returns `None` if the file could still change within the same
    /// timestamp.
    fn of(file: BorrowedFd<'_>, name: &[u8]) -> Option<Self> {
        let stat = rustix::fs::fstat(file.as_fd()).ok()?;
        let changed = (stat.st_ctime, stat.st_ctime_nsec as i64);
        let now = SystemTime::now().duration_since(UNIX_EPOCH).ok()?;
        is_settled(changed, now).then(|| Self {
            inode: (stat.st_dev, stat.st_ino),
            size: stat.st_size,
            changed,
            name: name.to_owned(),
        })
    }
}

/// Returns whether a change after `now` would give the file another timestamp than `changed`.
fn is_settled(changed: (i64, i64), now: Duration) -> bool {
    let (Ok(seconds), Ok(nanos)) = (u64::try_from(changed.0), u32::try_from(changed.1)) else {
        return false;
    };
    Duration::new(seconds, nanos) + TICK <= now
}

/// The parts that were extracted from a file, recorded as a sequence of calls to a [`Sink`].
#[derive(Debug, Default)]
struct RecordedParts {
    events: Vec<PartEvent>,
    /// The bytes of all parts, one after another.
    bytes: Vec<u8>,
    skipped: Vec<(Vec<u8>, Skipped)>,
}

#[derive(Debug)]
enum PartEvent {
    Begin(Part),
    /// The number of bytes that follow next in `bytes`.
    Bytes(usize),
    End,
    Drop,
    Date(DocumentDate),
}

impl RecordedParts {
    /// Repeats the recorded calls.
    fn tell(&self, sink: &mut dyn Sink) {
        let mut rest = &self.bytes[..];
        for event in &self.events {
            match event {
                PartEvent::Begin(part) => sink.begin(part.clone()),
                PartEvent::Bytes(count) => {
                    let (bytes, more) = rest.split_at(*count);
                    sink.bytes(bytes);
                    rest = more;
                }
                PartEvent::End => sink.end(),
                PartEvent::Drop => sink.drop_part(),
                PartEvent::Date(date) => sink.date(*date),
            }
        }
    }

    /// Returns the approximate number of bytes of memory that the record takes.
    fn memory(&self) -> usize {
        /// The approximate memory of an event, or of a skipped part, with its name.
        const EVENT: usize = 96;
        self.bytes.len() + (1 + self.events.len() + self.skipped.len()) * EVENT
    }
}

/// Passes all calls on to another sink, and records them. If the record becomes too large, it is
/// dropped.
struct Recorder<'s> {
    sink: &'s mut dyn Sink,
    told: Option<RecordedParts>,
}

impl Recorder<'_> {
    fn note(&mut self, event: PartEvent, bytes: &[u8]) {
        if let Some(told) = &mut self.told {
            told.events.push(event);
            told.bytes.extend_from_slice(bytes);
            if told.memory() > MOST_OF_ONE {
                self.told = None;
            }
        }
    }
}

impl Sink for Recorder<'_> {
    fn begin(&mut self, part: Part) {
        self.note(PartEvent::Begin(part.clone()), b"");
        self.sink.begin(part);
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.note(PartEvent::Bytes(bytes.len()), bytes);
        self.sink.bytes(bytes);
    }

    fn end(&mut self) {
        self.note(PartEvent::End, b"");
        self.sink.end();
    }

    fn drop_part(&mut self) {
        self.note(PartEvent::Drop, b"");
        self.sink.drop_part();
    }

    fn date(&mut self, date: DocumentDate) {
        self.note(PartEvent::Date(date), b"");
        self.sink.date(date);
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::path::Path;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use resemble_extract::{Bound, Role};

    use super::*;

    /// A reader that reports the bytes of a file as three parts. The second part is incomplete. The
    /// reader counts its calls.
    #[derive(Debug, Default)]
    struct Twice(AtomicUsize);

    impl PartReader for Twice {
        fn applies(&self, _: &[u8], _: &[u8], _: Option<BorrowedFd<'_>>) -> bool {
            true
        }

        fn read_parts(
            &self,
            _: &[u8],
            _: &[u8],
            file: BorrowedFd<'_>,
            sink: &mut dyn Sink,
        ) -> Result<Vec<(Vec<u8>, Skipped)>, Skipped> {
            self.0.fetch_add(1, Ordering::Relaxed);
            let mut bytes = vec![0; 64 << 20];
            let count = rustix::io::pread(file, &mut bytes, 0).expect("bytes");
            for part in 0..3 {
                sink.begin(Part {
                    role: Role::Member,
                    parent: None,
                    name: vec![part],
                });
                bytes[..count]
                    .chunks(1000)
                    .for_each(|piece| sink.bytes(piece));
                if part == 1 {
                    sink.drop_part();
                } else {
                    sink.end();
                }
            }
            Ok(vec![(b"x".to_vec(), Skipped::TooMuch(Bound::Depth))])
        }

        fn id(&self) -> String {
            String::new()
        }
    }

    #[derive(Debug, Default, PartialEq, Eq)]
    struct Heard(Vec<(&'static str, Vec<u8>)>);

    impl Sink for Heard {
        fn begin(&mut self, part: Part) {
            self.0.push(("begin", part.name));
        }

        fn bytes(&mut self, bytes: &[u8]) {
            self.0.push(("bytes", bytes.to_owned()));
        }

        fn end(&mut self) {
            self.0.push(("end", Vec::new()));
        }

        fn drop_part(&mut self) {
            self.0.push(("drop", Vec::new()));
        }
    }

    fn heard(reader: &dyn PartReader, path: &Path) -> Heard {
        let file = File::open(path).expect("a file");
        let mut heard = Heard::default();
        let skipped = reader.read_parts(b"name", b"", file.as_fd(), &mut heard);
        assert_eq!(skipped.expect("parts").len(), 1);
        heard
    }

    /// Waits until the last change of the file is older than one tick.
    fn settled(path: &Path) {
        let file = File::open(path).expect("a file");
        while FileState::of(file.as_fd(), b"").is_none() {
            std::thread::yield_now();
        }
    }

    fn asked(recent: &RecentParts, inner: &Twice, path: &Path) -> (Heard, usize) {
        let before = inner.0.load(Ordering::Relaxed);
        let heard = heard(recent, path);
        (heard, inner.0.load(Ordering::Relaxed) - before)
    }

    #[test]
    fn a_file_is_taken_apart_once_until_it_changes() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a");
        std::fs::write(&path, vec![7; 12_345]).expect("a file");
        settled(&path);
        let inner = Arc::new(Twice::default());
        let recent = RecentParts::new(Arc::clone(&inner) as _);
        let expected = heard(&*inner, &path);
        for times in [1, 0, 0] {
            let (told, asked) = asked(&recent, &inner, &path);
            assert_eq!(asked, times);
            assert_eq!(told, expected);
        }
        std::fs::write(&path, vec![8; 12_345]).expect("a file");
        let (told, asked_again) = asked(&recent, &inner, &path);
        assert_eq!(asked_again, 1);
        assert_ne!(told, expected);
    }

    #[test]
    fn what_is_kept_has_bounds() {
        let folder = tempfile::tempdir().expect("a folder");
        let inner = Arc::new(Twice::default());
        let recent = RecentParts::new(Arc::clone(&inner) as _);
        let write = |name: &str, size: usize| {
            let path = folder.path().join(name);
            std::fs::write(&path, vec![7; size]).expect("a file");
            settled(&path);
            path
        };
        // Three parts of 3 MiB exceed the limit for one file, so they are not kept.
        let large = write("large", 3 << 20);
        for _ in 0..2 {
            assert_eq!(asked(&recent, &inner, &large).1, 1);
        }
        let paths: Vec<_> = (0..12).map(|at| write(&at.to_string(), 2 << 20)).collect();
        for path in &paths {
            assert_eq!(asked(&recent, &inner, path).1, 1);
        }
        assert!(recent.kept.lock().bytes() <= ROOM);
        // The parts of the last file are still kept, but not the parts of the first file.
        assert_eq!(asked(&recent, &inner, &paths[11]).1, 0);
        assert_eq!(asked(&recent, &inner, &paths[0]).1, 1);
    }

    #[test]
    fn a_file_that_changed_just_now_may_change_again() {
        let now = Duration::new(100, 30_000_000);
        for (changed, expected) in [
            ((100, 10_000_000), true),
            ((100, 10_000_001), false),
            ((101, 0), false),
            ((99, 999_999_999), true),
            ((-1, 0), false),
        ] {
            assert_eq!(is_settled(changed, now), expected, "{changed:?}");
        }
    }
}
