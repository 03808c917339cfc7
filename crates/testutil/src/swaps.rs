//! Swaps files, folders, pipes and devices with links that lead out of the tree, while programs
//! access the tree. No program may open the files outside, the pipes or the devices. So the kernel
//! reports to the test each time one of them is opened.

use std::fs;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Instant;

use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
use rustix::fs::{CWD, FileType, Mode, OFlags, RenameFlags};

use crate::PATIENCE;
use crate::prose::prose;
use crate::random::Random;

/// The number of folders in which names are swapped.
const PLACES: usize = 6;

/// The names in each of these folders. Each name is the kind of its first entry. Swaps mix the
/// entries later.
const NAMES: [&str; 7] = ["file", "folder", "link", "way-up", "way", "pipe", "device"];

/// The number of swaps between two checks of how often the programs ran.
const ROUND: usize = 2_000;

/// The minimum number of times that each program accesses the tree during the swaps.
const LOOKS: usize = 10;

/// A tree whose names are swapped with links that lead out of it.
#[derive(Debug)]
pub struct Swaps {
    /// Open descriptors of the folders `place-N`. They stay valid when the names of these folders
    /// are swapped.
    places: Vec<OwnedFd>,
    top: OwnedFd,
    /// The inotify instance that receives an event when a watched file is opened.
    watch: OwnedFd,
}

impl Swaps {
    /// The text of every file outside the tree. No file in the tree has this text.
    pub const SECRET: &'static str = "nobody may read what is outside of the tree";

    /// Fills the empty folder `tree`, and creates the folder `outside` with the files that the
    /// links lead to. Device nodes are created only if this process is allowed to create them.
    pub fn new(tree: &Path, outside: &Path) -> Self {
        let watch = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC).expect("inotify");
        let watched = |path: &Path| {
            inotify::add_watch(&watch, path, WatchFlags::OPEN).expect("a watch");
        };
        let secret = format!("{} ", Self::SECRET).repeat(60);
        let open = |path: &Path| {
            let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
            rustix::fs::open(path, flags, Mode::empty()).expect("a folder")
        };
        // The outside folder has the same structure as the folders `place-N`. So a path in the tree
        // also leads to a file when a link to `outside` replaces one of its folders.
        for folder in ["", "place", "place/folder"] {
            fs::create_dir_all(outside.join(folder)).expect("a folder");
        }
        for file in ["place/file", "place/folder/inner"] {
            fs::write(outside.join(file), &secret).expect("a file");
        }
        let beside = outside.file_name().expect("a name");
        let mut places = Vec::new();
        for number in 0..PLACES {
            let place = tree.join(format!("place-{number}"));
            fs::create_dir_all(place.join("folder")).expect("a folder");
            let seed = number as u64;
            fs::write(place.join("file"), prose(seed, 3_000)).expect("a file");
            fs::write(place.join("folder/inner"), prose(seed / 2, 3_000)).expect("a file");
            let up = Path::new("../..").join(beside).join("place/file");
            for (to, name) in [
                (outside.join("place/file"), "link"),
                (up, "way-up"),
                (outside.join("place/folder"), "way"),
            ] {
                symlink(to, place.join(name)).expect("a link");
            }
            let node = |name: &str, kind| {
                let zero = rustix::fs::makedev(1, 5);
                let path = place.join(name);
                rustix::fs::mknodat(CWD, &path, kind, Mode::from_raw_mode(0o666), zero)
                    .map(|()| watched(&path))
            };
            node("pipe", FileType::Fifo).expect("a pipe");
            // Without the permission to create a device, the name `device` is missing.
            let _device = node("device", FileType::CharacterDevice);
            places.push(open(&place));
        }
        symlink(outside.join("place"), tree.join("elsewhere")).expect("a link");
        // The watches start only here, because creating the files outside also opens them.
        for folder in ["", "place", "place/folder"] {
            watched(&outside.join(folder));
        }
        Self {
            places,
            top: open(tree),
            watch,
        }
    }

    /// Swaps random names until `times` swaps have succeeded.
    fn blow(&self, seed: u64, times: usize) {
        let mut random = Random::new(seed);
        let mut done = 0;
        while done < times {
            let swapped = if random.below(8) == 0 {
                let place = format!("place-{}", random.below(PLACES));
                let other = random.below(PLACES + 1);
                let other = match other {
                    PLACES => "elsewhere".to_owned(),
                    other => format!("place-{other}"),
                };
                exchange(&self.top, &place, &other)
            } else {
                let [one, other] = [(); 2].map(|()| NAMES[random.below(NAMES.len())]);
                exchange(&self.places[random.below(PLACES)], one, other)
            };
            done += usize::from(swapped);
        }
    }

    /// Swaps at least `times` names. At the same time, a thread for each function of `looks` runs
    /// this function repeatedly. Returns the number of swaps, and how often each function of
    /// `looks` ran.
    pub fn blow_while(&self, times: usize, looks: &[&(dyn Fn() + Sync)]) -> (usize, Vec<usize>) {
        let done: Vec<_> = looks.iter().map(|_| AtomicUsize::new(0)).collect();
        let over = AtomicBool::new(false);
        let began = Instant::now();
        let mut swapped = 0;
        std::thread::scope(|scope| {
            for (look, done) in looks.iter().zip(&done) {
                let over = &over;
                scope.spawn(move || {
                    while !over.load(Ordering::Relaxed) {
                        look();
                        done.fetch_add(1, Ordering::Relaxed);
                    }
                });
            }
            let few = |done: &AtomicUsize| done.load(Ordering::Relaxed) < LOOKS;
            // The time is limited, because a function of `looks` that has panicked never reaches
            // its minimum.
            while swapped < times || (done.iter().any(few) && began.elapsed() < PATIENCE) {
                self.blow(swapped as u64, ROUND);
                swapped += ROUND;
            }
            over.store(true, Ordering::Relaxed);
        });
        (
            swapped,
            done.into_iter().map(AtomicUsize::into_inner).collect(),
        )
    }

    /// Returns all paths in the tree that sometimes lead to a file, including those that do not
    /// lead to a file now.
    pub fn paths(&self) -> Vec<PathBuf> {
        let places = (0..PLACES).map(|number| format!("place-{number}"));
        let places = places.chain(["elsewhere".to_owned()]);
        let below = |place: String| {
            NAMES.iter().flat_map(move |name| {
                let path = Path::new(&place).join(name);
                [path.join("inner"), path]
            })
        };
        places.flat_map(below).collect()
    }

    /// Reads every path of the tree through an overlay, and lists the similar files of each path.
    #[track_caller]
    pub fn look_through(&self, overlay: &Path) {
        for path in self.paths() {
            let path = overlay.join(path);
            let bytes = fs::read(&path).unwrap_or_default();
            let text = String::from_utf8_lossy(&bytes);
            assert!(!text.contains(Self::SECRET), "{}", path.display());
            drop(fs::read_dir(path.join(".similar")).map(Iterator::count));
        }
    }

    /// Returns which watched files were opened since the last call. The list must be empty, because
    /// no program may open these files. An event for a watched file itself has no file name.
    pub fn opened(&self) -> Vec<String> {
        let mut buffer = [MaybeUninit::uninit(); 1 << 14];
        let mut events = inotify::Reader::new(&self.watch, &mut buffer);
        let mut opened = Vec::new();
        loop {
            match events.next() {
                Ok(event) if event.events().contains(ReadFlags::IGNORED) => {}
                Ok(event) => opened.push(format!("{:?} {:?}", event.events(), event.file_name())),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return opened,
                Err(error) => panic!("the watch is lost: {error}"),
            }
        }
    }
}

/// Swaps two names and returns whether they were swapped. Returns false if the names are equal or
/// one of them does not exist.
fn exchange(folder: &OwnedFd, one: &str, other: &str) -> bool {
    one != other
        && rustix::fs::renameat_with(folder, one, folder, other, RenameFlags::EXCHANGE).is_ok()
}
