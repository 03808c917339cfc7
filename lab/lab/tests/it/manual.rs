//! Tests of the help, the man pages, the completions, and the reference page in `docs/`.

use resemble_testutil::page_is_up_to_date;

use crate::environment;

#[test]
fn help_and_version_are_answers() {
    let env = environment();
    let version = format!("resemble-lab {}\n", env!("CARGO_PKG_VERSION"));
    env.run(["--version"]).is(0, &version, "");
    let help = env.run(["--help"]);
    assert_eq!((help.code, help.err.as_str()), (0, ""));
    assert!(help.text().contains("Exit codes:"), "{}", help.text());
    assert!(
        help.text().contains("Usage: resemble lab"),
        "{}",
        help.text()
    );
}

#[test]
fn completions_and_manual_pages() {
    let env = environment();
    for (shell, expected) in [
        ("bash", "complete -F"),
        ("zsh", "#compdef resemble-lab"),
        ("fish", "complete -c resemble-lab"),
    ] {
        let ran = env.run(["completions", shell]);
        assert_eq!(ran.code, 0);
        assert!(ran.text().contains(expected), "{shell}");
    }
    let page = env.run(["man"]);
    assert!(page.text().contains(".TH resemble-lab 1"), "{page:?}");
    env.run(["man", "pages"]).is(0, "", "");
    let mut names: Vec<_> = std::fs::read_dir(env.path("pages"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(
        names,
        [
            "resemble-lab-completions.1",
            "resemble-lab-dump.1",
            "resemble-lab-eval.1",
            "resemble-lab-export.1",
            "resemble-lab-find.1",
            "resemble-lab-groups.1",
            "resemble-lab-man.1",
            "resemble-lab-pairs.1",
            "resemble-lab.1",
        ]
    );
    let find = std::fs::read_to_string(env.path("pages/resemble-lab-find.1")).unwrap();
    assert!(find.contains("\\fBresemble lab find\\fR"), "{find}");
    for verb in ["find", "pairs", "groups", "dump", "export", "eval"] {
        let page = env.path(format!("pages/resemble-lab-{verb}.1"));
        let page = std::fs::read_to_string(page).unwrap();
        let shown = format!(".SH EXAMPLES\n.PP\n\\fBresemble lab {verb} ");
        assert!(page.contains(&shown), "{verb}: {page}");
        assert!(page.contains("\n\\fB2\\fR\ntrouble: "), "{verb}: {page}");
    }
}

/// `docs/lab-reference.md` is the help of every command.
#[test]
fn the_reference_is_up_to_date() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/lab-reference.md");
    page_is_up_to_date(path, &resemble_lab::command::reference_page());
}
