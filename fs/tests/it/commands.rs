//! Tests everyday commands on a real mount. Doc comments that are promises are repeated in
//! `docs/semantics.md`.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::site::{Site, client, fuse_works, near, output, run, shell};
use resemble_fs::{Overlay, OverlayConfig, View};

/// `ls`, `ls -l`, `cat`, `cp`, `grep`, `wc`, `find`, `less` and `getfattr` work in the folders
/// view.
#[test]
fn everyday_commands_in_the_folders_view() {
    if !fuse_works() {
        return;
    }
    let site = Site::new();
    let overlay = site.mount(View::Folders);
    let m = overlay.mount_point();
    assert_eq!(shell("ls $1", m), "copy.txt\nreport.txt\nsub\n");
    assert_eq!(shell("ls $1/report.txt", m), "report.txt\n");
    assert_eq!(shell("ls -A $1/report.txt", m), ".similar\nreport.txt\n");
    assert_eq!(
        shell("ls $1/report.txt/.similar", m),
        "062%_old.txt\n100%_copy.txt\n"
    );
    assert_eq!(shell("cat $1/report.txt/report.txt", m), "the report\n");
    assert_eq!(
        shell("cat $1/report.txt/.similar/062*", m),
        "the old report\n"
    );
    assert_eq!(
        shell("readlink $1/report.txt/.similar/100%_copy.txt", m).trim_end(),
        site.path("docs/copy.txt").to_str().unwrap()
    );
    let long = shell("ls -lA $1/report.txt/.similar $1/report.txt $1", m);
    assert!(
        long.contains("062%_old.txt -> /") && long.contains("report.txt"),
        "{long}"
    );
    // The length of these texts is not known before they are opened. However a command reads such a
    // text, it must get all of it.
    let why = shell("cat $1/report.txt/.similar/.why/062%_old.txt", m);
    assert!(
        why.contains("report.txt resembles ") && why.ends_with("old.txt\n"),
        "{why}"
    );
    for line in [
        "cp $1/report.txt/.similar/.why/062%_old.txt $1.copy; cat $1.copy",
        "grep resembles $1/report.txt/.similar/.why/062%_old.txt",
        "dd if=$1/report.txt/.similar/.why/062%_old.txt bs=7 status=none",
        "tail -n 5 $1/report.txt/.similar/.why/062%_old.txt",
        "less $1/report.txt/.similar/.why/062%_old.txt",
    ] {
        assert_eq!(shell(line, m), why, "{line}");
    }
    assert_eq!(
        shell("wc -c < $1/report.txt/.similar/.why/062%_old.txt", m).trim(),
        why.len().to_string()
    );
    assert_eq!(
        shell("cat $1/report.txt/.similar/.report.json", m),
        "{\"total\":2}\n"
    );
    let found = shell("cd $1; find . -type f | sort", m);
    assert_eq!(
        found,
        "./copy.txt/copy.txt\n./report.txt/report.txt\n./sub/old.txt/old.txt\n"
    );
    let found = shell("cd $1; find . -type l | sort", m);
    assert_eq!(
        found,
        "./report.txt/.similar/062%_old.txt\n./report.txt/.similar/100%_copy.txt\n"
    );
    for file in ["report.txt", "report.txt/report.txt"] {
        let attributes = shell(&format!("cd $1; getfattr -d {file}"), m);
        assert_eq!(
            attributes,
            format!(
                "# file: {file}\nuser.resemble.best=\"{}\"\nuser.resemble.best_percent=\"100\"\n\
                 user.resemble.count=\"2\"\nuser.resemble.relation=\"identical\"\n\n",
                site.path("docs/copy.txt").display()
            )
        );
    }
    assert_eq!(
        shell(
            "cd $1; getfattr --only-values -n user.resemble.count sub/old.txt",
            m
        ),
        "0"
    );
    overlay.unmount().unwrap();
}

/// The files view is the tree: `diff -r`, `cp -r`, `find` and `tar` see the same names, bytes and
/// links, and meet no `.similar`.
#[test]
fn files_view_equals_the_tree_for_commands() {
    if !fuse_works() {
        return;
    }
    let site = Site::new();
    fs::write(site.path("docs/big"), vec![7; 3 << 20]).unwrap();
    fs::write(site.path("docs/sub/empty"), "").unwrap();
    fs::File::create(site.path("docs/sparse"))
        .unwrap()
        .set_len(16 << 20)
        .unwrap();
    symlink("nowhere", site.path("docs/dangling")).unwrap();
    for i in 0..500 {
        fs::write(site.path(&format!("docs/sub/{i:0100}")), i.to_string()).unwrap();
    }
    let overlay = site.mount(View::Files);
    let m = overlay.mount_point();
    let docs = site.path("docs");
    output(
        "diff",
        [
            "-r".as_ref(),
            "--no-dereference".as_ref(),
            docs.as_os_str(),
            m.as_os_str(),
        ],
    );
    shell("cp -r $1 $1.copy", m);
    let copy = site.path("M.copy");
    output(
        "diff",
        [
            "-r".as_ref(),
            "--no-dereference".as_ref(),
            docs.as_os_str(),
            copy.as_os_str(),
        ],
    );
    let listing = "find . -printf '%P %y %s %m %T@ %l\\n' | grep -v ' d ' | sort | md5sum";
    let there = shell(&format!("cd $1; {listing}"), m);
    assert_eq!(there, shell(&format!("cd $1; {listing}"), &docs));
    let tar =
        "cd $1; tar c --sort=name --hard-dereference --no-recursion -h report.txt big sub | md5sum";
    assert_eq!(shell(tar, m), shell(tar, &docs));
    // A directory has `.similar`, too.
    assert_eq!(shell("ls -A $1/.similar", m), "report.txt\n");
    assert_eq!(
        shell("ls $1/.similar/report.txt", m),
        "062%_old.txt\n100%_copy.txt\n"
    );
    assert_eq!(
        shell("ls -A $1/.similar/copy.txt $1/sub/.similar/old.txt", m)
            .matches('%')
            .count(),
        0
    );
    let out = run("ls", [m.join("report.txt/.similar")]);
    assert!(String::from_utf8_lossy(&out.stderr).contains("Not a directory"));
    overlay.unmount().unwrap();
}

/// Mapping a file into memory works, as loaders and editors do it.
#[test]
fn files_can_be_mapped() {
    if !fuse_works() {
        return;
    }
    let site = Site::new();
    fs::copy("/bin/true", site.path("docs/program")).unwrap();
    let overlay = site.mount(View::Files);
    // The kernel maps a program into memory in order to run it.
    output(
        overlay.mount_point().join("program").to_str().unwrap(),
        [""; 0],
    );
}

/// Every change is refused with EROFS, and nothing of the tree changes.
#[test]
fn every_change_is_refused() {
    if !fuse_works() {
        return;
    }
    let site = Site::new();
    for view in [View::Folders, View::Files] {
        let overlay = site.mount(view);
        let m = overlay.mount_point();
        let file = if view == View::Folders {
            "report.txt/report.txt"
        } else {
            "report.txt"
        };
        let before = snapshot(&site.path("docs"));
        for line in [
            "touch $1/new",
            "mkdir $1/sub/new",
            "echo x > $1/FILE",
            "echo x >> $1/FILE",
            "truncate -s 0 $1/FILE",
            "rm -f $1/FILE",
            "rmdir $1/sub",
            "mv $1/FILE $1/renamed",
            "ln $1/FILE $1/linked",
            "ln -s x $1/linked",
            "mkfifo $1/fifo",
            "chmod 777 $1/FILE",
            "chown 1 $1/FILE",
            "touch $1/FILE",
            "setfattr -n user.x -v y $1/FILE",
            "setfattr -x user.resemble.count $1/FILE",
            "touch $1/sub/.similar/new",
            "fallocate -l 10 $1/FILE",
        ] {
            let line = line.replace("FILE", file);
            let out = client("sh")
                .args(["-c", &line, "sh"])
                .arg(m)
                .output()
                .unwrap();
            let said = String::from_utf8_lossy(&out.stderr).into_owned();
            assert!(
                !out.status.success() && said.contains("Read-only file system"),
                "{line}: {said}"
            );
        }
        assert_eq!(snapshot(&site.path("docs")), before);
    }
}

/// Returns path, mode, size and times of everything below a folder.
fn snapshot(dir: &Path) -> String {
    shell("cd $1; find . -printf '%p %m %s %T@ %C@\\n' | sort", dir)
}

/// The mirrored tree is at most one second behind the real one; answers are never behind the index.
#[test]
fn changes_show_within_a_second() {
    if !fuse_works() {
        return;
    }
    let site = Site::new();
    let overlay = site.mount(View::Files);
    let m = overlay.mount_point();
    assert_eq!(
        fs::read_to_string(m.join("report.txt")).unwrap(),
        "the report\n"
    );
    fs::write(
        site.path("docs/report.txt"),
        "changed, and longer than it was\n",
    )
    .unwrap();
    fs::rename(site.path("docs/copy.txt"), site.path("docs/moved.txt")).unwrap();
    let changed = Instant::now();
    // Content is read again at each open; names and attributes may lag a second.
    while fs::metadata(m.join("copy.txt")).is_ok()
        || fs::metadata(m.join("report.txt")).unwrap().len() != 32
    {
        assert!(changed.elapsed() < Duration::from_secs(20));
        std::thread::yield_now();
    }
    assert!(
        changed.elapsed() < Duration::from_millis(2500),
        "{:?}",
        changed.elapsed()
    );
    assert_eq!(
        fs::read_to_string(m.join("report.txt")).unwrap(),
        "changed, and longer than it was\n"
    );
    assert_eq!(
        fs::read_to_string(m.join("moved.txt")).unwrap(),
        "the report\n"
    );

    let similar = m.join(".similar/report.txt");
    for i in 0..50 {
        site.map.set(
            site.path("docs/report.txt"),
            vec![near(Path::new(&format!("/x/{i}")), 0.5)],
        );
        let names: Vec<_> = fs::read_dir(&similar)
            .unwrap()
            .map(|e| e.unwrap().file_name())
            .collect();
        assert_eq!(names, [format!("050%_{i}").as_str()]);
        assert_eq!(
            fs::read_link(similar.join(&names[0])).unwrap(),
            Path::new(&format!("/x/{i}"))
        );
        if i > 0 {
            assert!(fs::symlink_metadata(similar.join(format!("050%_{}", i - 1))).is_err());
        }
    }
}

/// `stat` through the mount shows the inode number that `readdir` shows, and shows the same number
/// after a restart.
#[test]
fn inode_numbers_survive_a_remount() {
    if !fuse_works() {
        return;
    }
    let site = Site::new();
    let numbers = || {
        let overlay = site.mount(View::Folders);
        let m = overlay.mount_point();
        let listed = shell("cd $1; ls -iAR . | sort", m);
        let stated = shell("cd $1; find . ! -name . -printf '%i %f\\n' | sort", m);
        for line in stated.lines() {
            assert!(
                listed.lines().any(|other| other.trim().starts_with(line)),
                "{line}\n{listed}"
            );
        }
        stated
    };
    assert_eq!(numbers(), numbers());
}

/// `df` shows the file system of the watched tree.
#[test]
fn df_shows_the_watched_file_system() {
    if !fuse_works() {
        return;
    }
    let site = Site::new();
    let overlay = site.mount(View::Files);
    let of = |path: &Path| shell("stat -f -c '%b %S %c' $1", path);
    assert_eq!(of(overlay.mount_point()), of(&site.path("docs")));
}

/// `.similar` and its second name are one folder, even if both names are looked up at the same
/// time.
#[test]
fn both_names_are_one_folder() {
    if !fuse_works() {
        return;
    }
    let site = Site::new();
    let config = OverlayConfig {
        similar_name: "Similar files".parse().unwrap(),
        ..site.config(View::Folders)
    };
    let overlay = Overlay::mount(config, std::sync::Arc::clone(&site.map) as _).unwrap();
    let m = overlay.mount_point();
    assert_eq!(
        shell("ls -A $1/report.txt", m),
        "Similar files\nreport.txt\n"
    );
    // The folder is used under both names at the same time, while another process stays in it.
    let loops = "
        come() { i=0; while [ $i -lt 200 ]; do
            ls -l \"$1/report.txt/$2\" >/dev/null && cat \"$1/report.txt/$2/.why/062%_old.txt\" \
                >/dev/null && cat \"$1/report.txt/$2/062%_old.txt\"; i=$((i+1)); done; }
        come $1 .similar >$1.a & a=$!
        come $1 'Similar files' >$1.b & b=$!
        cd $1/report.txt/.similar
        for turn in 1 2 3 4 5 6 7 8 9; do ls; done | sort | uniq -c | wc -l
        wait $a; wait $b; wc -l <$1.a; wc -l <$1.b; rm $1.a $1.b";
    assert_eq!(shell(loops, m), "2\n200\n200\n");
    drop(overlay);
}
