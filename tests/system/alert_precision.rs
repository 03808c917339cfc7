//! Measures how many alerts of a day of edits are right, and how many alerts are missing.
//!
//! The tree has versions of letters, documents of one program, source files with the same long
//! licence, and a work tree. The steps of a day change the tree while the daemon runs. For each
//! step, the test knows which file now resembles which other file, if any. `docs/accuracy.md` has
//! the figures.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use resemble_testutil::office::{docx, odt, pdf};
use resemble_testutil::pack::{mail, zip};
use resemble_testutil::prose::sentences;
use resemble_testutil::{Daemon, Sandbox, is_installed};

/// The counts of a day.
#[derive(Debug, Default)]
struct Day {
    /// The number of expected alerts that arrived.
    right: usize,
    /// The alerts that were not expected, as text.
    wrong: Vec<String>,
    /// The expected alerts that did not arrive.
    missed: Vec<String>,
}

/// Returns the two files of each alert up to now, as paths relative to the tree.
fn told(sandbox: &Sandbox) -> BTreeSet<(String, String)> {
    let answer = sandbox.resemble(["alerts", "--format", "json"]).json();
    let below = |path: &serde_json::Value| {
        let path = path.as_str().expect("a path").to_owned();
        let root = format!("{}/", sandbox.path("tree").display());
        path.replace(&root, "")
    };
    let alerts = answer["alerts"].as_array().expect("alerts").iter();
    alerts
        .map(|alert| (below(&alert["a"]), below(&alert["b"])))
        .collect()
}

impl Day {
    /// Runs one step and compares its alerts with the expected ones. If the changed file resembles
    /// several files equally, the common beginning of their names is given as the expected name.
    fn step(
        &mut self,
        sandbox: &Sandbox,
        daemon: &Daemon<'_>,
        expected: &[(&str, &str)],
        act: impl FnOnce(&dyn Fn(&str) -> std::path::PathBuf),
    ) {
        let before = told(sandbox);
        act(&|name| sandbox.tree(name));
        daemon.sync();
        let mut news: Vec<(String, String)> = told(sandbox).difference(&before).cloned().collect();
        for (file, other) in expected {
            let is_it = |(a, b): &(String, String)| a == file && b.starts_with(other);
            match news.iter().position(is_it) {
                Some(at) => {
                    news.remove(at);
                    self.right += 1;
                }
                None => self.missed.push(format!("{file} resembles {other}")),
            }
        }
        self.wrong
            .extend(news.iter().map(|(a, b)| format!("{a} resembles {b}")));
    }
}

fn letter(n: u64) -> String {
    sentences(n, 40)
}

/// Returns a source file that consists mostly of a licence.
fn source(n: u64) -> String {
    format!("/*\n{}*/\n{}", sentences(9999, 30), sentences(5000 + n, 14))
}

fn write(path: &Path, bytes: impl AsRef<[u8]>) {
    fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    fs::write(path, bytes).expect("written");
}

/// Returns a text with some words replaced. The revision determines which words are replaced.
fn revised(text: &str, revision: usize) -> String {
    let mut words: Vec<String> = text.split(' ').map(str::to_owned).collect();
    for at in (revision * 7 % 60..words.len()).step_by(97) {
        words[at] = format!("revised{revision}");
    }
    words.join(" ")
}

/// A function that returns the path of a file in the tree.
type Place<'a> = dyn Fn(&str) -> std::path::PathBuf + 'a;

#[test]
#[allow(clippy::too_many_lines)]
fn a_day_of_edits_raises_the_alerts_that_it_should() {
    let sandbox = Sandbox::new();
    for n in 0..30 {
        sandbox.write(format!("letters/{n}.txt"), letter(n));
    }
    for n in 0..200 {
        sandbox.write(format!("sources/{n}.c"), source(n));
    }
    for n in 0..6 {
        sandbox.write(format!("documents/{n}.odt"), odt(&letter(100 + n)));
    }
    for n in 0..40 {
        sandbox.write(format!("project/src/{n}.txt"), sentences(200 + n, 30));
    }
    let git = |args: &[&str]| {
        let mut git = sandbox.foreign("git");
        git.arg("-C").arg(sandbox.tree("project"));
        git.args(["-c", "user.name=a", "-c", "user.email=a@example.org"]);
        assert!(
            git.args(args).output().expect("git").status.success(),
            "{args:?}"
        );
    };
    let has_git = is_installed("git");
    if has_git {
        git(&["init", "-q", "-b", "main"]);
        git(&["add", "."]);
        git(&["commit", "-q", "-m", "one"]);
    }
    let daemon = sandbox.daemon([""; 0]);
    daemon.sync();
    let mut day = Day::default();
    let mut step = |expected: &[(&str, &str)], act: &dyn Fn(&Place<'_>)| {
        day.step(&sandbox, &daemon, expected, act);
    };

    // Three letters are saved. Each is saved in a different way: by overwriting, by a rename, and
    // with a backup.
    for revision in 1..=5 {
        for n in 0..3 {
            let text = revised(&letter(n), revision);
            let name = format!("letters/{n}.txt");
            step(&[], &|at| match n {
                0 => write(&at(&name), &text),
                1 => {
                    write(&at("letters/.save"), &text);
                    fs::rename(at("letters/.save"), at(&name)).expect("renamed");
                }
                _ => {
                    fs::rename(at(&name), at(&format!("{name}~"))).expect("renamed");
                    write(&at(&name), &text);
                }
            });
        }
    }
    // A document is saved repeatedly, and a log grows.
    for revision in 1..=4 {
        step(&[], &|at| {
            let text = revised(&letter(100), revision);
            write(&at("documents/0.odt"), odt(&text));
            let log = sentences(400, 30 * revision);
            write(&at("log.txt"), log);
        });
    }
    // Files are renamed and moved.
    step(&[], &|at| {
        fs::rename(at("letters/20.txt"), at("letters/renamed.txt")).expect("renamed");
    });
    step(&[], &|at| {
        fs::create_dir(at("old")).expect("a folder");
        fs::rename(at("letters/21.txt"), at("old/21.txt")).expect("moved");
    });
    // Files are copied, and copies are edited.
    for n in 5..10 {
        let (copy, original) = (format!("copies/{n}.txt"), format!("letters/{n}.txt"));
        step(&[(&copy, &original)], &|at| write(&at(&copy), letter(n)));
    }
    for n in 10..15 {
        let (copy, original) = (format!("drafts/{n}.txt"), format!("letters/{n}.txt"));
        step(&[(&copy, &original)], &|at| {
            write(&at(&copy), revised(&letter(n), 3) + &sentences(600 + n, 4));
        });
    }
    // The text of a document is saved again in another format.
    for n in 1..4 {
        let (copy, original) = (format!("export/{n}.docx"), format!("documents/{n}.odt"));
        step(&[(&copy, &original)], &|at| {
            write(&at(&copy), docx(&letter(100 + n)));
        });
    }
    step(&[("export/4.pdf", "documents/4.odt")], &|at| {
        write(&at("export/4.pdf"), pdf(&letter(104)));
    });
    // There are new documents of the same program, new source files with the same licence, and new
    // letters with a quotation.
    for n in 0..6u64 {
        step(&[], &|at| {
            write(
                &at(&format!("documents/new {n}.odt")),
                odt(&letter(700 + n)),
            );
            write(&at(&format!("export/new {n}.docx")), docx(&letter(720 + n)));
        });
    }
    for n in 0..6 {
        step(&[], &|at| {
            write(&at(&format!("sources/new {n}.c")), source(300 + n));
        });
    }
    for n in 15..18 {
        let text = sentences(740 + n, 60) + &letter(n)[..letter(n).len() / 3];
        step(&[], &|at| write(&at(&format!("quoting/{n}.txt")), &text));
    }
    // There are mails whose attachments exist as files, and mails with new attachments.
    for n in 18..20 {
        let (saved, original) = (format!("mail/{n}.eml"), format!("letters/{n}.txt"));
        step(&[(&saved, &original)], &|at| {
            write(
                &at(&saved),
                mail(
                    &sentences(800 + n, 6),
                    &[("letter.txt", letter(n).as_bytes())],
                ),
            );
        });
    }
    step(&[], &|at| {
        write(
            &at("mail/other.eml"),
            mail(
                &sentences(850, 6),
                &[("x.txt", sentences(851, 30).as_bytes())],
            ),
        );
    });
    // An archive of unrelated files is written and then unpacked. Neither step may raise an alert.
    let members: Vec<(String, String)> = (0..8)
        .map(|n| (format!("{n}.txt"), sentences(900 + n, 30)))
        .collect();
    let entries: Vec<(&str, &[u8])> = members
        .iter()
        .map(|(name, text)| (&name[..], text.as_bytes()))
        .collect();
    step(&[], &|at| write(&at("bundle.zip"), zip(&entries)));
    step(&[], &|at| {
        for (name, text) in &members {
            write(&at("unpacked").join(name), text);
        }
    });
    // The same archive is written again in another folder.
    step(&[("downloads/bundle.zip", "bundle.zip")], &|at| {
        write(&at("downloads/bundle.zip"), zip(&entries));
    });
    // A folder is copied, which raises one alert for the folder.
    step(&[("backup", "letters")], &|at| {
        for n in 0..30u64 {
            let name = format!("letters/{n}.txt");
            if let Ok(text) = fs::read(at(&name)) {
                write(&at(&format!("backup/{n}.txt")), text);
            }
        }
    });
    // Another branch with other versions is checked out, then the first branch, then the other
    // branch again.
    if has_git {
        git(&["checkout", "-q", "-b", "other"]);
        step(&[], &|at| {
            for n in 0..10 {
                let text = revised(&sentences(200 + n, 30), 2);
                write(&at(&format!("project/src/{n}.txt")), text);
            }
        });
        git(&["commit", "-q", "-a", "-m", "two"]);
        step(&[], &|_| git(&["checkout", "-q", "main"]));
        step(&[], &|_| git(&["checkout", "-q", "other"]));
    }

    let alerts = day.right + day.wrong.len();
    let due = day.right + day.missed.len();
    eprintln!(
        "{alerts} alerts, {} of them right; {due} were due",
        day.right
    );
    eprintln!("wrong: {:#?}\nmissed: {:#?}", day.wrong, day.missed);
    assert!(day.wrong.is_empty() && day.missed.is_empty(), "{day:#?}");
}
