//! Tests files that are replaced or changed while the kernel still knows the old files. Doc
//! comments that are promises are repeated in `docs/semantics.md`.

use std::fs::{self, File};
use std::io::{Read, Seek, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use resemble_fs::View;

use crate::site::{Site, client, fuse_works, run};

/// A file of the tree, and its path in the view.
struct Watched {
    real: PathBuf,
    shown: PathBuf,
}

impl Watched {
    fn of(site: &Site, view: View, mount: &Path) -> Self {
        let file = match view {
            View::Folders => "changing/changing",
            View::Files => "changing",
        };
        Self {
            real: site.path("docs/changing"),
            shown: mount.join(file),
        }
    }

    /// Renames another file with these bytes over the file.
    fn rename(&self, bytes: &[u8]) {
        let new = self.real.with_file_name("new");
        fs::write(&new, bytes).unwrap();
        fs::rename(&new, &self.real).unwrap();
    }

    /// Removes the file and creates it again. The new file often has the inode number of the old
    /// file.
    fn make(&self, bytes: &[u8]) {
        drop(fs::remove_file(&self.real));
        fs::write(&self.real, bytes).unwrap();
    }

    /// Overwrites the file in place.
    fn write(&self, bytes: &[u8]) {
        let mut file = File::options().write(true).open(&self.real).unwrap();
        file.write_all(bytes).unwrap();
        file.set_len(bytes.len() as u64).unwrap();
    }
}

/// Returns contents that alternate between long and short. Each content repeats its own number.
fn contents(count: usize) -> impl Iterator<Item = Vec<u8>> {
    let sizes = [10, 300_000, 4096, 1, 131_073, 70_000];
    (0..count).map(move |n| {
        let line = format!("{n} ").repeat(sizes[n % sizes.len()] / 2 + 1);
        line.into_bytes()
    })
}

/// Copies a file by `sendfile` and returns the copied bytes. The size is not checked first.
fn sent(from: &Path, to: &Path) -> Vec<u8> {
    let (from, mut to) = (File::open(from).unwrap(), scratch(to));
    while rustix::fs::sendfile(&to, &from, None, 1 << 20).unwrap() > 0 {}
    let mut bytes = Vec::new();
    to.rewind().unwrap();
    to.read_to_end(&mut bytes).unwrap();
    bytes
}

fn scratch(path: &Path) -> File {
    let mut options = File::options();
    let options = options.read(true).write(true).create(true).truncate(true);
    options.open(path).unwrap()
}

/// Reads a file in several ways. Returns the name and the result of each way.
fn read_in_all_ways(shown: &Path, to: &Path) -> Vec<(&'static str, Vec<u8>)> {
    let by = |program: &str, arguments: &[&std::ffi::OsStr]| {
        let out = run(program, arguments);
        assert!(out.status.success(), "{program}: {out:?}");
        out.stdout
    };
    let (from, copy) = (shown.as_os_str(), to.as_os_str());
    let mut input = std::ffi::OsString::from("if=");
    input.push(from);
    vec![
        ("read", fs::read(shown).unwrap()),
        ("sendfile", sent(shown, to)),
        ("cat", by("cat", &[from])),
        (
            "dd",
            by("dd", &[&input, "bs=7001".as_ref(), "status=none".as_ref()]),
        ),
        ("cp", {
            by("cp", &[from, copy]);
            fs::read(to).unwrap()
        }),
    ]
}

/// Opening a path reads the file that the path names at that time, with this file's own size and
/// bytes, even if the kernel still knows an earlier file.
#[test]
fn a_replaced_file_is_read_whole() {
    if !fuse_works() {
        return;
    }
    let site = Site::new();
    let copy = site.path("copy");
    for view in [View::Folders, View::Files] {
        let overlay = site.mount(view);
        let file = Watched::of(&site, view, overlay.mount_point());
        file.make(b"first");
        for change in [Watched::rename, Watched::make, Watched::write] {
            let ways = read_in_all_ways(&file.shown, &copy).len();
            for bytes in contents(20) {
                for way in 0..ways {
                    change(&file, b"a file that only stat sees");
                    fs::metadata(&file.shown).unwrap();
                    change(&file, &bytes);
                    // The first open after the change must work. In the first two rounds this is
                    // the open by `read` or by `sendfile`. In the later rounds the file is read in
                    // all ways, and the result of one way is checked.
                    let (name, read) = match way {
                        0 => ("read", fs::read(&file.shown).unwrap()),
                        1 => ("sendfile", sent(&file.shown, &copy)),
                        _ => read_in_all_ways(&file.shown, &copy).swap_remove(way),
                    };
                    let length = (read.len(), bytes.len());
                    assert!(read == bytes, "{view:?} {name}: {length:?}");
                    let size = fs::metadata(&file.shown).unwrap().size();
                    assert_eq!(size, bytes.len() as u64, "{view:?} {name}");
                }
            }
        }
        overlay.unmount().unwrap();
    }
}

/// A program that is replaced is run as it is now, although the kernel maps what it runs.
#[test]
fn a_replaced_program_is_mapped_anew() {
    if !fuse_works() {
        return;
    }
    let site = Site::new();
    let overlay = site.mount(View::Files);
    let file = Watched::of(&site, View::Files, overlay.mount_point());
    for _ in 0..10 {
        for (program, ends_with) in [("/bin/sh", 3), ("/bin/true", 0), ("/bin/false", 1)] {
            let new = file.real.with_file_name("new");
            fs::copy(program, &new).unwrap();
            fs::rename(&new, &file.real).unwrap();
            let ended = client(file.shown.to_str().unwrap())
                .args(["-c", "exit 3"])
                .status();
            assert_eq!(ended.unwrap().code(), Some(ends_with), "{program}");
        }
    }
    overlay.unmount().unwrap();
}

/// An open file keeps its bytes and its size when another file is renamed over it. A change in
/// place shows at once.
#[test]
fn an_open_file_stays_what_it_is() {
    if !fuse_works() {
        return;
    }
    let site = Site::new();
    for view in [View::Folders, View::Files] {
        let overlay = site.mount(view);
        let file = Watched::of(&site, view, overlay.mount_point());
        let (old, new) = (b"old ".repeat(50_000), b"new one ".repeat(40_000));
        file.make(&old);
        let mut held = File::open(&file.shown).unwrap();
        held.read_exact(&mut [0; 10]).unwrap();
        file.rename(&new);
        // A path below `/proc/self/fd` is opened without a look-up of the name.
        let by_descriptor = |held: &File| fs::read(format!("/proc/self/fd/{}", held.as_raw_fd()));
        assert!(by_descriptor(&held).unwrap() == old);
        assert!(fs::read(&file.shown).unwrap() == new);
        for _ in 0..2 {
            let mut read = Vec::new();
            held.rewind().unwrap();
            held.read_to_end(&mut read).unwrap();
            assert!(read == old, "{view:?}: {}", read.len());
            assert_eq!(held.metadata().unwrap().len(), old.len() as u64);
            assert!(fs::read(&file.shown).unwrap() == new);
        }
        assert_ne!(
            held.metadata().unwrap().ino(),
            fs::metadata(&file.shown).unwrap().ino()
        );
        // Now the file is changed in place, not replaced.
        let mut held = File::open(&file.shown).unwrap();
        let mut read = Vec::new();
        held.read_to_end(&mut read).unwrap();
        let mut real = File::options().append(true).open(&file.real).unwrap();
        real.write_all(b"and more").unwrap();
        assert!(by_descriptor(&held).unwrap().ends_with(b"and more"));
        let mut more = String::new();
        held.read_to_string(&mut more).unwrap();
        assert_eq!(more, "and more", "{view:?}");
        file.write(b"short");
        assert_eq!(held.metadata().unwrap().len(), 5);
        held.rewind().unwrap();
        let mut short = String::new();
        held.read_to_string(&mut short).unwrap();
        assert_eq!(short, "short", "{view:?}");
        overlay.unmount().unwrap();
    }
}

/// However often a file is replaced meanwhile, neither `open` nor `stat` fails, and no read mixes
/// two files.
#[test]
fn a_file_that_is_replaced_all_the_time_is_read_whole() {
    if !fuse_works() {
        return;
    }
    let site = Site::new();
    let overlay = site.mount(View::Files);
    let file = Watched::of(&site, View::Files, overlay.mount_point());
    let contents: Vec<Vec<u8>> = contents(12).collect();
    file.make(&contents[0]);
    let is_over = AtomicBool::new(false);
    // On a busy machine, 20,000 reads meet all the races for which this test is made.
    let reads = std::env::var("RESEMBLE_READS").map_or(500, |reads| reads.parse().unwrap());
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                for bytes in &contents {
                    file.rename(bytes);
                }
            }
        });
        let readers: Vec<_> = (0..3)
            .map(|_| {
                scope.spawn(|| {
                    for _ in 0..reads {
                        let read = fs::read(&file.shown).unwrap();
                        assert!(contents.contains(&read), "{} bytes", read.len());
                        let size = fs::metadata(&file.shown).unwrap().size();
                        assert!(contents.iter().any(|bytes| bytes.len() as u64 == size));
                    }
                })
            })
            .collect();
        let ended: Vec<_> = readers
            .into_iter()
            .map(std::thread::ScopedJoinHandle::join)
            .collect();
        is_over.store(true, Ordering::Relaxed);
        assert!(ended.iter().all(Result::is_ok));
    });
    overlay.unmount().unwrap();
}
