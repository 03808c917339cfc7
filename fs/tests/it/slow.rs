//! Tests slow answers and panics behind a real mount. Doc comments that are promises are repeated
//! in `docs/semantics.md`.

use std::fs;
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::site::{Site, client, fuse_works, near, shell};
use resemble_fs::{Listing, Neighbours, Overlay, View};

/// Neighbours that block in `why`, and for files called `slow` also in `similar`, until the test
/// releases them.
struct Blocking {
    entered: Mutex<Sender<()>>,
    release: Mutex<Receiver<()>>,
}

impl Blocking {
    fn block(&self) {
        // The send may fail: the test receives only the first messages, and may have stopped
        // receiving.
        let _uncounted = self.entered.lock().unwrap().send(());
        // The receive ends when the test drops the other end of the channel.
        let _released = self.release.lock().unwrap().recv();
    }
}

impl Neighbours for Blocking {
    fn similar(&self, file: &Path) -> Listing {
        match file.file_name().and_then(|name| name.to_str()) {
            Some("slow") => self.block(),
            Some("panic") => panic!("a test's panic in an answer"),
            _ => {}
        }
        Listing {
            neighbours: vec![near(Path::new("/x/other"), 0.5)],
            total: 1,
        }
    }
    fn similar_dirs(&self, _: &Path) -> Listing {
        Listing::default()
    }
    fn why(&self, _: &Path, _: &Path) -> Vec<u8> {
        self.block();
        b"because\n".to_vec()
    }
    fn report(&self, _: &Path) -> Vec<u8> {
        panic!("a test's panic in a report")
    }
}

/// A slow answer or text never blocks requests of another kind. Of each of these two kinds, four
/// requests run at the same time and a fifth waits.
#[test]
fn readers_never_block_each_other() {
    if !fuse_works() {
        return;
    }
    let site = Site::new();
    fs::write(site.path("docs/slow"), "").unwrap();
    let (entered, seen) = channel();
    let (release, blocked) = channel();
    let blocking = Blocking {
        entered: Mutex::new(entered),
        release: Mutex::new(blocked),
    };
    let overlay = Overlay::mount(site.config(View::Folders), Arc::new(blocking)).unwrap();
    let m = overlay.mount_point().to_owned();

    let mut waiting: Vec<Child> = Vec::new();
    let mut start = |line: &str| {
        let child = client("sh")
            .args(["-ec", line, "sh"])
            .arg(&m)
            .stdout(Stdio::piped())
            .spawn();
        waiting.push(child.unwrap());
    };
    // Two requests are blocked inside the index: one in each of the two pools.
    start("ls $1/slow/.similar");
    start("cat $1/report.txt/.similar/.why/050%_other");
    for _ in 0..2 {
        seen.recv_timeout(Duration::from_secs(20))
            .expect("both are inside");
    }
    // Here more requests for texts are blocked than there are threads. Four threads serve the
    // mount, and each pool has four threads.
    for _ in 0..8 {
        start("cat $1/report.txt/.similar/.why/050%_other");
    }
    for _ in 0..3 {
        seen.recv_timeout(Duration::from_secs(20))
            .expect("four texts are inside");
    }
    assert_eq!(shell("ls $1/report.txt", &m), "report.txt\n");
    assert_eq!(shell("cat $1/report.txt/report.txt", &m), "the report\n");
    assert_eq!(shell("ls $1/report.txt/.similar", &m), "050%_other\n");
    assert_eq!(
        shell("ls -l $1/slow | wc -l", &m),
        "2\n",
        "beside the one who waits"
    );
    drop(release);
    drop(seen);
    for mut child in waiting {
        assert!(child.wait().unwrap().success());
    }
    overlay.unmount().unwrap();
}

/// If a handler panics, only its request fails, with EIO. The mount goes on.
#[test]
fn a_panic_is_one_error() {
    if !fuse_works() {
        return;
    }
    let site = Site::new();
    fs::write(site.path("docs/panic"), "").unwrap();
    let (entered, _seen) = channel();
    let (_release, blocked) = channel();
    let blocking = Blocking {
        entered: Mutex::new(entered),
        release: Mutex::new(blocked),
    };
    let overlay = Overlay::mount(site.config(View::Folders), Arc::new(blocking)).unwrap();
    let m = overlay.mount_point();
    for _ in 0..6 {
        for line in [
            "ls $1/panic/.similar",
            "cat $1/report.txt/.similar/.report.json",
        ] {
            let out = client("sh")
                .args(["-c", line, "sh"])
                .arg(m)
                .output()
                .unwrap();
            let said = String::from_utf8_lossy(&out.stderr).into_owned();
            assert!(said.contains("Input/output error"), "{line}: {said}");
        }
    }
    assert_eq!(shell("ls $1/report.txt/.similar", m), "050%_other\n");
    assert!(overlay.is_alive());
    overlay.unmount().unwrap();
}
