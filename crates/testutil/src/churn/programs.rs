//! Changes as editors, version control, package managers and copying programs make them.

use std::fs;
use std::io::{self, Seek, SeekFrom, Write};
use std::time::{Duration, SystemTime};

use super::Scene;

impl Scene<'_> {
    pub(super) fn editors(&mut self) -> io::Result<()> {
        let (folder, n) = (self.made()?, self.one_of(12));
        let (name, text) = (format!("f{n}"), self.text());
        let path = folder.join(&name);
        let beside = |form: &str| folder.join(form.replace('N', &name));
        match self.one_of(5) {
            0 => {
                fs::write(beside("N.tmp"), text)?;
                fs::rename(beside("N.tmp"), path)
            }
            1 => {
                fs::write(beside(".N.swp"), b"swap")?;
                fs::rename(&path, beside("N~"))?;
                fs::write(&path, text)?;
                fs::remove_file(beside("N~"))?;
                fs::remove_file(beside(".N.swp"))
            }
            2 => {
                // The backup is a hard link, and the file is written in place.
                fs::hard_link(&path, beside("N.bak"))?;
                fs::write(&path, text)?;
                fs::remove_file(beside("N.bak"))
            }
            3 => {
                let mut file = fs::OpenOptions::new().append(true).open(path)?;
                file.write_all(b"one line more\n")
            }
            _ => {
                let mut file = fs::OpenOptions::new().write(true).open(path)?;
                file.seek(SeekFrom::Start(self.one_of(400) as u64))?;
                file.write_all(b"in place")?;
                let len = self.one_of(3_000) as u64;
                file.set_len(len)
            }
        }
    }

    pub(super) fn git(&mut self) -> io::Result<()> {
        let (folder, text) = (self.made()?, self.text());
        let git = folder.join(".git");
        match self.one_of(4) {
            0 => {
                fs::create_dir_all(&git)?;
                fs::write(git.join("index.lock"), text)?;
                fs::rename(git.join("index.lock"), git.join("index"))
            }
            1 => {
                let objects = git.join("objects").join(format!("{:x}", self.one_of(8)));
                fs::create_dir_all(&objects)?;
                let object = objects.join(format!("o{}", self.one_of(20)));
                fs::write(objects.join("tmp_obj"), text)?;
                let linked = fs::hard_link(objects.join("tmp_obj"), object);
                fs::remove_file(objects.join("tmp_obj"))?;
                linked
            }
            2 => {
                // A checkout removes and recreates a file.
                for n in 0..4 {
                    let path = folder.join(format!("f{n}"));
                    let _none = fs::remove_file(&path);
                    fs::write(path, self.text())?;
                }
                Ok(())
            }
            _ => fs::remove_dir_all(git),
        }
    }

    pub(super) fn npm(&mut self) -> io::Result<()> {
        let (folder, n) = (self.made()?, self.one_of(3));
        let modules = folder.join("node_modules");
        match self.one_of(4) {
            0 => fs::remove_dir_all(modules),
            1 => fs::rename(modules.join(format!("p{n}")), modules.join(".old")),
            _ => {
                let staging = folder.join(format!(".staging-{n}"));
                for sub in ["lib", "lib/deep", "bin"] {
                    fs::create_dir_all(staging.join(sub))?;
                    fs::write(staging.join(sub).join("a.js"), self.text())?;
                }
                fs::create_dir_all(&modules)?;
                fs::rename(&staging, modules.join(format!("p{n}")))
                    .or_else(|_| fs::remove_dir_all(&staging))
            }
        }
    }

    pub(super) fn tar(&mut self) -> io::Result<()> {
        let top = self.made()?.join(format!("tar{}", self.one_of(3)));
        let long_ago = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
        for n in 0..3 {
            let folder = top.join(format!("s{}", self.one_of(3)));
            fs::create_dir_all(&folder)?;
            let path = folder.join(format!("t{n}"));
            let _none = fs::remove_file(&path);
            let mut file = fs::File::create_new(&path)?;
            file.write_all(&self.text())?;
            file.set_modified(long_ago)?;
            drop(file);
            if n == 2 {
                fs::hard_link(path, top.join(format!("linked{}", self.one_of(4))))?;
            }
        }
        Ok(())
    }

    pub(super) fn rsync(&mut self) -> io::Result<()> {
        let (folder, n) = (self.made()?, self.one_of(12));
        let part = folder.join(format!(".f{n}.Xy12"));
        let mut file = fs::File::create(&part)?;
        for _ in 0..=self.one_of(3) {
            file.write_all(&self.text())?;
        }
        let seconds = 1_500_000_000 + self.one_of(3) as u64;
        file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds))?;
        drop(file);
        fs::rename(part, folder.join(format!("f{n}")))
    }
}
