//! Tests marks: files are marked in a page, and the command makes a plan from the marks.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::process::Command;
use std::time::{Duration, UNIX_EPOCH};

use super::*;
use resemble_proto::pattern::Patterns;
use resemble_testutil::Ran;

/// Names of copies, each with a special meaning in a shell, in JSON, in HTML or for a person.
const ODD: [&[u8]; 7] = [
    b"it's \"$(touch harm)\" `id`",
    b"line\nbreak\ttab",
    b"<b>&amp;<!--",
    "\u{202e}gnp.exe\u{2028}".as_bytes(),
    b"not\xffutf8\xc3",
    "{\"}\\u0041 \u{20ac}\u{1f980}".as_bytes(),
    b"MARKS",
];

/// Makes a page about `home`. Each file has a copy in `home/in` and one in `home/out`.
fn page_of_copies(env: &Environment) -> PathBuf {
    for (at, odd) in ODD.iter().enumerate() {
        let bytes = format!("the bytes of copy {at}\n").repeat(40);
        for folder in ["home/in", "home/out"] {
            env.write(Path::new(folder).join(OsStr::from_bytes(odd)), &bytes);
        }
    }
    let paragraphs = paragraphs(7, 80);
    env.write("home/draft.txt", &paragraphs);
    env.write("home/final.txt", paragraphs.replacen("river", "brook", 3));
    let args = ["groups", "home", "--format", "html", "-o", "page.html"];
    let ran = env.run(args);
    assert_eq!((ran.code, ran.text().as_str()), (0, ""), "{ran:?}");
    env.path("page.html")
}

/// Runs the command line that the page shows. The plan is written to `to` instead of `plan.sh`.
fn planned(env: &Environment, browser: &mut Browser, to: &str) -> Ran {
    let line = browser.text("document.querySelector('dialog pre').textContent.split('\\n')[0]");
    let line = line.replace("plan.sh", to);
    let words: Vec<&str> = line.split(' ').collect();
    assert_eq!(words[..4], ["resemble", "groups", "--from", "marks.json"]);
    env.run(&words[1..])
}

/// Returns the part of a plan from its kind on. The lines above it describe the question.
fn steps(env: &Environment, plan: &str) -> String {
    let plan = fs::read_to_string(env.path(plan)).unwrap();
    let at = plan.find("\nkind=").unwrap();
    plan[at..].to_owned()
}

fn bar(browser: &mut Browser) -> String {
    browser.text("document.querySelector('#bar').textContent")
}

#[test]
fn marks_of_a_page_become_the_plan_of_the_command() {
    let Some(mut browser) = Browser::start() else {
        return;
    };
    let env = environment();
    browser.open(&page_of_copies(&env));
    browser.save_into(&env.path(""));
    assert_eq!(browser.eval("document.querySelector('#bar').hidden"), true);

    // The rule `in` keeps the files below `home/in` and marks all others.
    browser.eval(
        "(() => { const select = document.querySelector('.rule select'); select.value = 'in'; \
         select.dispatchEvent(new Event('change')); \
         document.querySelector('.rule input').focus(); })()",
    );
    browser.type_text("home/in");
    browser.click("document.querySelector('#identical .by-rule')");
    let words = bar(&mut browser);
    assert!(words.starts_with("7 files of 7 sets to go"), "{words}");
    assert!(
        words.contains("frees up to 5.5 KiB; loses nothing"),
        "{words}"
    );
    browser.click("document.querySelector('#bar .main')");
    browser.click_to_save("document.querySelector('dialog .main')");
    let marks = fs::read(env.path("marks.json")).unwrap();
    assert!(
        marks
            .iter()
            .all(|byte| (b' '..=b'~').contains(byte) || *byte == b'\n')
    );

    // The plan of the page equals the one that the command makes by the same rule.
    for kind in ["trash", "hardlink"] {
        browser.eval(&format!(
            "(() => {{ const how = document.querySelector('dialog select'); how.value = '{kind}'; \
             how.dispatchEvent(new Event('change')); }})()"
        ));
        let ran = planned(&env, &mut browser, "page.sh");
        assert_eq!((ran.code, ran.text().as_str()), (0, ""), "{ran:?}");
        let rule = ["--keep", "in:home/in", "-o", "command.sh"];
        let ran = env.run([&["groups", "home", "--plan", kind][..], &rule].concat());
        assert_eq!(ran.code, 0, "{ran:?}");
        assert_eq!(steps(&env, "page.sh"), steps(&env, "command.sh"), "{kind}");
        assert_eq!(steps(&env, "page.sh").matches("\nstep ").count(), ODD.len());
    }

    // The plan is run and then undone.
    let target = env.path("gone");
    let how = format!("move={}", target.display());
    let args = [
        "groups",
        "--from",
        "marks.json",
        "--plan",
        &how,
        "-o",
        "move.sh",
    ];
    assert_eq!(env.run(args).code, 0);
    let run = |how: &str| {
        let ran = Command::new("sh")
            .arg(env.path("move.sh"))
            .arg(how)
            .output();
        let ran = ran.unwrap();
        assert!(ran.status.success(), "{ran:?}");
    };
    let names = |folder: &str| fs::read_dir(env.path(folder)).unwrap().count();
    run("--do-it");
    assert_eq!((names("home/in"), names("home/out")), (ODD.len(), 0));
    run("--undo");
    assert_eq!(
        (names("home/in"), names("home/out")),
        (ODD.len(), ODD.len())
    );
    assert!(!env.path("harm").exists());
    assert_eq!(browser.problems(), Vec::<Value>::new());
}

#[test]
fn one_copy_always_stays() {
    let Some(mut browser) = Browser::start() else {
        return;
    };
    let env = environment();
    browser.open(&page_of_copies(&env));
    browser.click("document.querySelector('#identical-1 td.names')");
    let boxes = "[...document.querySelectorAll('#identical-detail-1 .fate')]";
    browser.click(&format!("{boxes}[0]"));
    browser.click(&format!("{boxes}[1]"));
    assert!(bar(&mut browser).contains("one copy always stays"));
    let fates = format!("{boxes}.map((f) => f.textContent + f.firstChild.checked)");
    assert_eq!(browser.eval(&fates), json!(["goestrue", "staysfalse"]));
    assert_eq!(
        browser.text("document.querySelector('#identical-1 .going').textContent"),
        "1 of 2 go"
    );

    // A near copy cannot be marked.
    browser.eval("document.getElementById('families-1').focus()");
    browser.key("x");
    assert!(bar(&mut browser).contains("Only identical files can be marked"));

    // The command refuses the saved marks with a message of one line if the options do not fit
    // them.
    env.write("marks.json", browser.text("marksText()"));
    for (args, why) in [
        (&[][..], "say with --plan what becomes of them"),
        (
            &["--plan", "trash", "--keep", "newest"],
            "leave out rules and filters",
        ),
        (
            &["--plan", "trash", "--exclude", "old/"],
            "leave out rules and filters",
        ),
        (&["--plan", "move=home/in"], "which is asked about"),
    ] {
        let ran = env.run([&["groups", "--from", "marks.json"], args].concat());
        assert_eq!(ran.code, 2, "{ran:?}");
        assert!(
            ran.err.contains(why) && ran.err.lines().count() == 1,
            "{ran:?}"
        );
    }
    browser.click("[...document.querySelectorAll('#bar button')].at(-1)");
    assert_eq!(browser.problems(), Vec::<Value>::new());
}

/// A rule in a page keeps the same file of each set as `--keep` does. This also holds for files
/// with several names, or with dates in the future.
#[test]
fn rules_of_a_page_are_those_of_keep() {
    let Some(mut browser) = Browser::start() else {
        return;
    };
    let env = environment();
    let set = |bytes: &str, files: &[(&[u8], u64, usize)]| {
        for &(name, seconds, links) in files {
            let path = Path::new("home").join(OsStr::from_bytes(name));
            let time = UNIX_EPOCH + Duration::from_secs(seconds);
            let path = env.write(path, bytes.repeat(40));
            let file = fs::File::options().write(true).open(&path).unwrap();
            file.set_modified(time).unwrap();
            for other in 1..links {
                let mut name = path.clone().into_os_string();
                name.push(format!(".link{other}"));
                fs::hard_link(&path, name).unwrap();
            }
        }
    };
    set("one", &[(b"a", 9, 1), (b"aa", 9, 2), (b"aaa", 9, 3)]);
    set(
        "two",
        &[(b"b", 7, 1), (b"not\xffutf8", 8, 2), (b"bb", 9, 2)],
    );
    set("six", &[(b"c", 5, 1), (b"cc", 9, 1), (b"ccc", 1 << 33, 1)]);
    let groups = |args: &[&str]| {
        let ran = env.run([&["groups"], args].concat());
        assert_eq!(ran.code, 0, "{ran:?}");
    };
    groups(&["home", "--format", "html", "-o", "first.html"]);
    // Pages have the number of links of each file, and so does a page that is made from a page.
    let again = ["--format", "html", "-o", "page.html"];
    groups(&[&["--from", "first.html"][..], &again].concat());
    browser.open(&env.path("page.html"));
    let acts = |plan: &str| -> Vec<String> {
        let plan = steps(&env, plan);
        let (_, plan) = plan.split_once("\n# The steps.\n").unwrap();
        let lines = plan.lines().filter(|line| !line.starts_with('#'));
        lines.map(str::to_owned).collect()
    };
    for rule in ["most-links", "oldest", "newest"] {
        browser.eval(&format!(
            "(() => {{ const select = document.querySelector('.rule select'); \
             select.value = '{rule}'; select.dispatchEvent(new Event('change')); }})()"
        ));
        browser.click("document.querySelector('#identical .by-rule')");
        env.write("marks.json", browser.text("marksText()"));
        groups(&["--from", "marks.json", "--plan", "trash", "-o", "page.sh"]);
        let keep = ["--plan", "trash", "--keep", rule, "-o", "command.sh"];
        groups(&[&["home"][..], &keep].concat());
        assert_eq!(acts("page.sh"), acts("command.sh"), "{rule}");
        assert!(acts("page.sh").len() > 12, "{rule}");
    }
    browser.eval("marks.clear()");

    // JSON has no numbers of links, so a page made from it does not offer the rule `most-links`.
    groups(&["home", "--format", "json", "-o", "saved.json"]);
    groups(&[&["--from", "saved.json"][..], &again].concat());
    browser.open(&env.path("page.html"));
    let offered = "[...document.querySelector('.rule select').options].map((o) => o.value).join()";
    assert_eq!(
        browser.text(offered),
        "newest,oldest,shortest,longest,in,not-in,name,not-name"
    );
    assert_eq!(browser.problems(), Vec::<Value>::new());
}

/// A pattern for names matches the same names in the page as on the command line.
#[test]
fn patterns_are_those_of_keep() {
    let Some(mut browser) = Browser::start() else {
        return;
    };
    let env = environment();
    browser.open(&page_of_copies(&env));
    let globs = [
        "* (?)*",
        "*.{bak,old}",
        "[!a-c]x",
        r"a\*",
        "IMG_[0-9]*",
        "a.b",
        "?",
        "[]x]",
        "*a*b",
        "+(",
    ];
    let names = [
        "a (1).jpg",
        "a.jpg",
        "x.old",
        "x.bak.txt",
        "dx",
        "ax",
        "a*",
        "ab",
        "IMG_7.jpg",
        "a.b",
        "\u{1f980}",
        "x",
        "]",
        "+(",
        ".ab",
    ];
    for glob in globs {
        let patterns = Patterns::new(&[glob.to_owned()], &[]).unwrap();
        let expected = names.map(|name| patterns.admit(Path::new(name)));
        let question = format!(
            "{}.map((text) => globOf({}).test(binary({{text}})))",
            json!(names),
            json!(glob)
        );
        assert_eq!(browser.eval(&question), json!(expected), "{glob}");
    }
    assert_eq!(
        browser.eval("[globOf('a/b'), globOf('[z-a]')]"),
        json!([null, null])
    );
}

#[test]
fn covered_files_are_marked_and_their_equals_stay() {
    let Some(mut browser) = Browser::start() else {
        return;
    };
    let env = environment();
    for (at, odd) in ODD.iter().enumerate() {
        for folder in ["disk", "docs/kept"] {
            env.write(
                Path::new(folder).join(OsStr::from_bytes(odd)),
                at.to_string(),
            );
        }
    }
    let covered = ["covered", "disk", "--by", "docs"];
    let ran = env.run([&covered[..], &["--format", "html", "-o", "page.html"]].concat());
    assert_eq!(ran.code, 0, "{ran:?}");
    browser.open(&env.path("page.html"));
    browser.click("document.querySelector('#copies .by-rule')");
    let words = bar(&mut browser);
    assert!(words.starts_with("7 files of 7 sets to go"), "{words}");
    env.write("marks.json", browser.text("marksText()"));
    let plan = [
        "groups",
        "--from",
        "marks.json",
        "--plan",
        "trash",
        "-o",
        "page.sh",
    ];
    assert_eq!(env.run(plan).code, 0);
    let ran = env.run([&covered[..], &["--plan", "trash", "-o", "command.sh"]].concat());
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(steps(&env, "page.sh"), steps(&env, "command.sh"));
    assert_eq!(steps(&env, "page.sh").matches("\nstep ").count(), ODD.len());
    browser.eval("marks.clear()");
    assert_eq!(browser.problems(), Vec::<Value>::new());
}

#[test]
fn keys_go_through_a_page() {
    let Some(mut browser) = Browser::start() else {
        return;
    };
    let env = environment();
    browser.open(&page_of_copies(&env));
    let focus = "document.activeElement.id";
    browser.key("/");
    browser.key("Escape");
    browser.eval("document.getElementById('identical').scrollIntoView()");
    browser.eval("document.getElementById('identical-1').focus()");
    browser.key("j");
    assert_eq!(browser.text(focus), "identical-2");
    browser.key("x");
    assert!(bar(&mut browser).starts_with("1 file of 1 set to go"));
    browser.key("Enter");
    browser.key("ArrowDown");
    let row = "document.activeElement.closest('tr.detail').id";
    assert_eq!(browser.text(row), "identical-detail-2");
    browser.key("/");
    browser.type_text("MARKS");
    assert_eq!(state(&mut browser, "identical"), "1 of 7 sets");
    browser.key("Escape");
    assert_eq!(browser.text("document.activeElement.tagName"), "BODY");
    browser.key("?");
    let keys = browser.text("document.querySelector('dialog[open]').textContent");
    assert!(keys.contains("next, previous row"), "{keys}");
    browser.key("Escape");
    assert_eq!(
        browser.eval("document.querySelectorAll('dialog').length"),
        0
    );

    // A walk through a cluster compares each file with the newest one.
    browser.eval("document.getElementById('families-1').focus()");
    browser.key("n");
    let walk = browser.text("document.querySelector('#families .walk').textContent");
    assert!(
        walk.contains("the newest") && walk.contains("of file 1 is in"),
        "{walk}"
    );
    browser.eval("marks.clear()");
    assert_eq!(browser.problems(), Vec::<Value>::new());
}

#[test]
fn a_page_fits_a_telephone() {
    let Some(mut browser) = Browser::start() else {
        return;
    };
    let env = environment();
    for report in [groups(), compare(), covered(), dirs()] {
        browser.open(&printed(&env, &report, "html"));
        browser.resize(390);
        browser.eval("sections.forEach((section) => section.foldAll(true))");
        browser.eval("document.querySelector('.by-rule')?.click()");
        browser.settle();
        let wide = browser.eval(
            "[document.documentElement, ...document.querySelectorAll('main *, #bar')]\
             .filter((e) => e.getBoundingClientRect().right > 390 && !e.closest('.hidden'))\
             .map((e) => e.outerHTML.slice(0, 200))",
        );
        assert_eq!(wide, json!([]), "{}", report["command"]);
        browser.eval("marks.clear()");
    }
    assert_eq!(browser.problems(), Vec::<Value>::new());
}
