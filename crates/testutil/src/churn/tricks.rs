//! Rare changes that are allowed but hard for a watcher to follow.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::{Duration, SystemTime};

use rustix::fs::{AtFlags, CWD, Mode, OFlags, RenameFlags, linkat, open, renameat_with};

use super::Scene;

/// Overwrites a file with the same number of bytes, and restores its modification time.
fn rewrite(path: &Path, scene: &mut Scene<'_>) -> io::Result<()> {
    let file = OpenOptions::new().write(true).open(path)?;
    let before = file.metadata()?;
    file.write_all_at(&scene.text_of(before.len()), 0)?;
    file.set_modified(before.modified()?)
}

fn exchange(a: &Path, b: &Path) -> io::Result<()> {
    Ok(renameat_with(CWD, a, CWD, b, RenameFlags::EXCHANGE)?)
}

impl Scene<'_> {
    pub(super) fn times(&mut self) -> io::Result<()> {
        let path = self.name();
        rewrite(&path, self)?;
        let folder = path.parent().unwrap_or(self.root);
        let other = self.folder();
        // The folder may be the root of the tree, which is never renamed.
        let how = self.one_of(6);
        match how {
            _ if folder == self.root => Ok(()),
            0 => fs::rename(folder, folder.with_extension("moved")),
            1 => fs::rename(folder.parent().unwrap_or(folder), other.join("up")),
            2 => exchange(folder, &other),
            3 => fs::rename(&path, other.join("renamed")),
            4 => {
                fs::rename(&path, folder.join("renamed"))?;
                fs::rename(folder, folder.with_extension("moved"))
            }
            _ => Ok(()),
        }
    }

    pub(super) fn parents(&mut self) -> io::Result<()> {
        let (folder, n) = (self.made()?, self.one_of(12));
        let path = folder.join(format!("f{n}"));
        let mut file = OpenOptions::new().create(true).append(true).open(path)?;
        file.write_all(&self.text())?;
        let to = self.folder().join(format!("d{}", self.one_of(4)));
        let moved = fs::rename(&folder, to);
        file.write_all(b"after the move")?;
        if self.one_of(2) == 0 {
            let _moved = fs::rename(folder.parent().unwrap_or(self.root), self.folder());
            file.write_all(b"and after the next")?;
        }
        moved
    }

    pub(super) fn exchanges(&mut self) -> io::Result<()> {
        let pair = if self.one_of(2) == 0 {
            [self.name(), self.name()]
        } else {
            [self.folder(), self.folder()]
        };
        let [a, b] = &pair;
        if self.one_of(2) == 0 {
            let inner = if a.is_dir() { a.join("f1") } else { a.clone() };
            let _none = rewrite(&inner, self);
        }
        exchange(a, b)?;
        if self.one_of(3) == 0 {
            exchange(b, a)?;
        }
        Ok(())
    }

    pub(super) fn links(&mut self) -> io::Result<()> {
        let (from, folder, n) = (self.name(), self.made()?, self.one_of(6));
        let append = |path: &Path, bytes: &[u8]| {
            OpenOptions::new().append(true).open(path)?.write_all(bytes)
        };
        match self.one_of(8) {
            0 => fs::hard_link(from, folder.join(format!("f{n}"))),
            1 => fs::hard_link(from, folder.join(format!("link{n}"))),
            2 => append(&folder.join(format!("link{n}")), &self.text()),
            3 => fs::remove_file(folder.join(format!("link{n}"))),
            4 => fs::rename(folder.join(format!("link{n}")), self.name()),
            5 => {
                // This hard link exists only for one write.
                let short = folder.join("short-lived");
                fs::hard_link(from, &short)?;
                let wrote = rewrite(&short, self);
                fs::remove_file(short)?;
                wrote
            }
            6 => {
                // The folder of this hard link exists only for one write.
                let short = folder.join("gone-soon");
                fs::create_dir(&short)?;
                let linked = fs::hard_link(from, short.join("l"));
                let _wrote = append(&short.join("l"), &self.text());
                fs::remove_dir_all(short)?;
                linked
            }
            _ => {
                let linked = folder.join(format!("link{n}"));
                fs::hard_link(from, &linked)?;
                append(&linked, &self.text())?;
                fs::rename(&folder, self.folder().join("with-link"))
            }
        }
    }

    pub(super) fn nameless(&mut self) -> io::Result<()> {
        let (folder, n) = (self.made()?, self.one_of(12));
        let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
        let file: OwnedFd = open(&folder, flags, Mode::RUSR | Mode::WUSR)?;
        let path = folder.join(format!("f{n}"));
        let file = File::from(file);
        file.write_all_at(&self.text(), 0)?;
        let _none = fs::remove_file(&path);
        let link = format!("/proc/self/fd/{}", file.as_raw_fd());
        linkat(CWD, link, CWD, &path, AtFlags::SYMLINK_FOLLOW)?;
        for _ in 0..self.one_of(3) {
            file.write_all_at(&self.text(), 0)?;
        }
        Ok(())
    }

    pub(super) fn crowd(&mut self) -> io::Result<()> {
        let folder = self.root.join("crowd");
        fs::create_dir_all(&folder)?;
        for _ in 0..10 {
            let path = folder.join(format!("n{}", self.one_of(800)));
            match self.one_of(4) {
                0 => drop(fs::remove_file(path)),
                1 => drop(fs::rename(
                    path,
                    folder.join(format!("n{}", self.one_of(800))),
                )),
                _ => fs::write(path, self.text_of(40))?,
            }
        }
        Ok(())
    }

    pub(super) fn cases(&mut self) -> io::Result<()> {
        let folder = self.made()?;
        let names = ["readme", "README", "Readme"].map(|name| folder.join(name));
        let (a, b) = (&names[self.one_of(3)], &names[self.one_of(3)]);
        match self.one_of(4) {
            0 => fs::write(a, self.text()),
            1 => fs::rename(a, b),
            2 => {
                fs::rename(a, folder.join("reAdme"))?;
                fs::rename(folder.join("reAdme"), b)
            }
            _ => {
                // The two folders have names that differ only in case.
                let names = ["d1", "D1"].map(|name| folder.join(name));
                let from = self.one_of(2);
                fs::rename(&names[from], &names[1 - from])
            }
        }
    }

    pub(super) fn clocks(&mut self) -> io::Result<()> {
        const YEAR: u64 = 365 * 24 * 3600;
        let years = |n: u64| Duration::from_secs(n * YEAR);
        let path = self.name();
        let file = OpenOptions::new().create(true).append(true).open(&path)?;
        let time = match self.one_of(5) {
            0 => SystemTime::UNIX_EPOCH - years(60),
            1 => SystemTime::UNIX_EPOCH,
            2 => SystemTime::now() + years(30),
            3 => SystemTime::UNIX_EPOCH + years(400),
            _ => SystemTime::now() + Duration::from_secs(2),
        };
        if self.one_of(2) == 0 {
            file.set_modified(time)?;
            return (&file).write_all(&self.text());
        }
        rewrite(&path, self)?;
        file.set_modified(time)?;
        if self.one_of(3) == 0 {
            File::open(path.parent().unwrap_or(self.root))?.set_modified(time)?;
            fs::rename(&path, self.name())?;
        }
        Ok(())
    }
}
