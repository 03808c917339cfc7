use std::ffi::{OsStr, OsString};
use std::fs;

use rustix::fs::inotify;

use resemble_testutil::prose::{edited, prose};
use resemble_testutil::{Daemon, Sandbox, fuse_works, names};

/// Makes pages that begin with the same long preamble. A different text follows on each page.
/// `page-0b` is a version of `page-0`.
fn pages(sandbox: &Sandbox) {
    let preamble = prose(1, 9_000);
    for page in 0..6 {
        let text = [preamble.clone(), prose(100 + page, 6_000)].concat();
        sandbox.write(format!("page-{page}.html"), &text);
        if page == 0 {
            sandbox.write("page-0b.html", edited(&text, 5, 2));
        }
    }
}

fn asked(sandbox: &Sandbox, args: &[&OsStr], extra: &[&str]) -> String {
    let args = args.iter().copied().chain(extra.iter().map(OsStr::new));
    let answer = sandbox.resemble(args);
    assert!(answer.code < 2, "{}", answer.err);
    answer.text()
}

/// Returns the number of files and of bytes that the daemon has read since its start.
fn reads(daemon: &Daemon<'_>) -> (u64, u64) {
    let status = daemon.status();
    let number = |name| status["index"][name].as_u64().expect("a number");
    (number("files_read"), number("bytes_read"))
}

#[test]
fn a_template_takes_effect_everywhere_at_once_and_reads_nothing() {
    let sandbox = Sandbox::new();
    pages(&sandbox);
    let with_overlay = fuse_works();
    let daemon = if with_overlay {
        sandbox.mounted([""; 0])
    } else {
        sandbox.daemon([""; 0])
    };
    daemon.sync();
    let tree = sandbox.path("tree").into_os_string();
    let (one, zero) = (
        sandbox.tree("page-1.html").into_os_string(),
        sandbox.tree("page-0.html").into_os_string(),
    );
    let marked = [one.clone(), sandbox.tree("page-2.html").into_os_string()];
    let similar = |file: &str| names(sandbox.mount(file).join(".similar"));
    let questions: Vec<Vec<&OsStr>> = vec![
        vec!["find".as_ref(), &one, "--in".as_ref(), &tree],
        vec!["find".as_ref(), &zero, "--in".as_ref(), &tree],
        vec!["pairs".as_ref(), &tree],
        vec!["groups".as_ref(), &tree],
        vec![
            "find".as_ref(),
            &zero,
            "--in".as_ref(),
            &tree,
            "--exact".as_ref(),
        ],
    ];
    let both = |when: &str| -> Vec<String> {
        let answers = questions.iter().map(|question| {
            let daemon = asked(&sandbox, question, &["--format", "json"]);
            let local = asked(&sandbox, question, &["--format", "json", "--local"]);
            assert_eq!(daemon, local, "{when}: {question:?}");
            daemon
        });
        answers.collect()
    };
    let before = both("before");
    let rows = |text: &str, what: &str| {
        let value: serde_json::Value = serde_json::from_str(text).expect("JSON");
        value[what].as_array().expect("rows").len()
    };
    assert_eq!(rows(&before[0], "results"), 6);
    assert_eq!(rows(&before[2], "pairs"), 21);
    if with_overlay {
        assert_eq!(similar("page-1.html").len(), 6);
    }

    let read = reads(&daemon);
    let opens = Opens::of(&sandbox);
    sandbox
        .resemble(
            ["templates", "mark", "--name", "preamble"]
                .map(OsString::from)
                .into_iter()
                .chain(marked.clone()),
        )
        .success();
    assert!(asked(&sandbox, &questions[0], &[]).is_empty());
    if with_overlay {
        assert!(similar("page-1.html").is_empty());
        let left = similar("page-0.html");
        assert_eq!(left.len(), 1, "{left:?}");
    }
    assert_eq!(reads(&daemon), read);
    // Nothing is read again because of the template. Only these files were opened: those from which
    // the template was marked, the subjects of questions, and the files of a listed pair.
    let mut opened = opens.heard();
    let read = ["page-0.html", "page-0b.html", "page-1.html", "page-2.html"];
    opened.retain(|name| !read.contains(&&name[..]));
    assert!(opened.is_empty(), "opened: {opened:?}");
    drop(fs::File::open(&one));
    assert_eq!(
        opens.heard(),
        ["page-1.html"],
        "an open would have been heard"
    );
    // This question reads both files of the pair that it lists. So it is asked only after the check
    // above.
    assert_eq!(asked(&sandbox, &questions[2], &[]).lines().count(), 1);

    let after = both("with a template");
    assert_eq!(rows(&after[0], "results"), 0);
    assert_eq!(rows(&after[1], "results"), 1);
    assert_eq!(rows(&after[2], "pairs"), 1);
    assert_eq!(rows(&after[4], "results"), 1);
    let listed = |extra: &[&str]| {
        let args: Vec<&OsStr> = ["templates", "list", "--format", "tsv"]
            .map(OsStr::new)
            .into();
        asked(&sandbox, &args, extra)
    };
    assert!(listed(&[]).contains("\tpreamble\t2\t"), "{}", listed(&[]));
    assert_eq!(listed(&[]), listed(&["--local"]));

    // The template is still in effect after a restart. A new page with the preamble raises no
    // alert, but a file with the text of a page does.
    assert_eq!(daemon.stop(), 0);
    let daemon = sandbox.daemon([""; 0]);
    daemon.sync();
    sandbox.write("page-9.html", [prose(1, 9_000), prose(900, 1_200)].concat());
    daemon.sync();
    assert_eq!(alerts(&sandbox), 0);
    let payload = [prose(77, 4_000), prose(102, 6_000)].concat();
    sandbox.write("payload-of-2.txt", payload);
    daemon.sync();
    assert_eq!(alerts(&sandbox), 1, "{}", sandbox.log());
    fs::remove_file(sandbox.tree("page-9.html")).expect("gone");
    fs::remove_file(sandbox.tree("payload-of-2.txt")).expect("gone");
    daemon.sync();

    // The command removes the template without asking the daemon. The daemon notices the removal.
    sandbox
        .resemble(["templates", "unmark", "preamble", "--local"])
        .success();
    assert_eq!(both("taken back"), before);
}

fn alerts(sandbox: &Sandbox) -> usize {
    let args: Vec<&OsStr> = ["alerts", "--format", "tsv"].map(OsStr::new).into();
    asked(sandbox, &args, &[]).lines().count()
}

/// An inotify queue with an event for each file of the tree that is opened.
struct Opens(std::os::fd::OwnedFd);

impl Opens {
    fn of(sandbox: &Sandbox) -> Self {
        let flags = inotify::CreateFlags::NONBLOCK | inotify::CreateFlags::CLOEXEC;
        let queue = inotify::init(flags).expect("an event queue");
        inotify::add_watch(&queue, sandbox.tree(""), inotify::WatchFlags::OPEN).expect("a watch");
        Self(queue)
    }

    /// Returns the names of the files that were opened since the last call.
    fn heard(&self) -> Vec<String> {
        let mut buffer = [std::mem::MaybeUninit::uninit(); 16 * 1024];
        let mut events = inotify::Reader::new(&self.0, &mut buffer);
        let mut names = Vec::new();
        while let Ok(event) = events.next() {
            names.extend(
                event
                    .file_name()
                    .map(|name| name.to_string_lossy().into_owned()),
            );
        }
        names
    }
}

#[test]
fn a_damaged_file_of_templates_costs_one_sentence() {
    let sandbox = Sandbox::new();
    pages(&sandbox);
    let daemon = sandbox.daemon([""; 0]);
    daemon.sync();
    let files = ["page-1.html", "page-2.html"].map(|name| sandbox.tree(name).into_os_string());
    let mark = || {
        let args = ["templates", "mark"].map(OsString::from).into_iter();
        sandbox.resemble(args.chain(files.clone()))
    };
    mark().success();
    let file = sandbox.path("state/resemble/templates.json");
    let whole = fs::read(&file).expect("the templates");
    fs::write(&file, &whole[..whole.len() / 2]).expect("spoilt");

    let tree = sandbox.path("tree").into_os_string();
    let find: Vec<&OsStr> = vec!["find".as_ref(), &files[0], "--in".as_ref(), &tree];
    let (by_daemon, local) = (
        asked(&sandbox, &find, &[]),
        sandbox.resemble(find.iter().copied().chain(["--local".as_ref()])),
    );
    assert_eq!(by_daemon.lines().count(), 6, "answers go on without it");
    assert_eq!(local.text(), by_daemon);
    let sentence = local.err;
    assert!(
        sentence.contains("templates.json") && sentence.lines().count() == 1,
        "{sentence}"
    );
    let status = daemon.status();
    let degraded = status["degraded"].as_array().expect("a list");
    assert!(
        degraded.iter().any(|row| row["path"]
            .as_str()
            .is_some_and(|path| path.ends_with("templates.json"))),
        "{status}"
    );
    for refused in [mark(), sandbox.resemble(["templates", "list"])] {
        let refused = refused.exits(2);
        assert_eq!(refused.err.lines().count(), 1, "{}", refused.err);
    }
    assert_eq!(fs::read(&file).expect("there"), &whole[..whole.len() / 2]);
    fs::write(&file, &whole).expect("mended");
    assert!(asked(&sandbox, &find, &[]).is_empty());
    assert!(
        daemon.status()["degraded"]
            .as_array()
            .expect("a list")
            .is_empty()
    );
}

#[test]
fn bad_orders_are_refused_in_one_sentence() {
    let sandbox = Sandbox::new();
    pages(&sandbox);
    let tree = sandbox.path("tree").into_os_string();
    let page = sandbox.tree("page-1.html").into_os_string();
    let word = |text: &str| OsString::from(text);
    let orders: Vec<Vec<OsString>> = vec![
        vec![word("mark"), word("no/such/file"), word("--local")],
        vec![word("mark"), tree.clone(), word("--local")],
        vec![word("mark"), word("abc"), word("def"), word("--local")],
        vec![word("mark"), word("abc"), page.clone(), word("--local")],
        vec![word("mark"), page, tree.clone(), word("--local")],
        vec![word("mark"), word("0123abcd"), tree, word("--local")],
        vec![word("mark"), word("0123abcd")],
        vec![word("unmark"), word("nothing")],
    ];
    for order in orders {
        let args = std::iter::once(word("templates")).chain(order.clone());
        let refused = sandbox.resemble(args).exits(2);
        assert!(!refused.err.is_empty(), "{order:?}");
        assert!(
            refused.err.lines().count() == 1,
            "{order:?}: {}",
            refused.err
        );
        assert!(refused.text().is_empty(), "{order:?}");
    }
    let list = sandbox.resemble(["templates", "list"]).exits(1);
    assert!(list.text().is_empty());
}
