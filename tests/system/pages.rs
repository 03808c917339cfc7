use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn page(name: &str) -> String {
    fs::read_to_string(workspace().join(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
}

/// Returns the paths of the README, of some other pages outside `docs/`, and of all pages in
/// `docs/` and `docs/decisions/`.
fn pages() -> Vec<PathBuf> {
    let mut pages: Vec<PathBuf> = [
        "README.md",
        "CONTRIBUTING.md",
        "CODE_OF_CONDUCT.md",
        "SECURITY.md",
        "systemd/README.md",
    ]
    .map(PathBuf::from)
    .into();
    for folder in ["docs", "docs/decisions"] {
        for entry in fs::read_dir(workspace().join(folder)).expect(folder) {
            let name = entry.expect("an entry").file_name();
            if Path::new(&name).extension().is_some_and(|e| e == "md") {
                pages.push(Path::new(folder).join(name));
            }
        }
    }
    pages
}

fn links(text: &str) -> impl Iterator<Item = &str> {
    let links = text.split("](").skip(1);
    let links = links.filter_map(|rest| rest.split(')').next());
    links.filter(|link| !link.contains("://"))
}

/// Returns the anchors of a page's headings, as GitHub and mdBook generate them.
fn anchors(text: &str) -> Vec<String> {
    let headings = text.lines().filter(|line| line.starts_with('#'));
    let anchor = |line: &str| {
        let heading = line.trim_start_matches('#').trim().to_lowercase();
        let kept = heading
            .chars()
            .filter(|c| c.is_alphanumeric() || " -_".contains(*c));
        kept.map(|c| if c == ' ' { '-' } else { c }).collect()
    };
    headings.map(anchor).collect()
}

/// Every relative link leads to an existing file and to an existing heading in this file.
#[test]
fn links_between_pages_lead_somewhere() {
    for name in pages() {
        let text = page(&name.to_string_lossy());
        for link in links(&text) {
            let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
            let folder = name.parent().map(|folder| workspace().join(folder));
            let target = match path {
                "" => workspace().join(&name),
                path => folder.unwrap_or_default().join(path),
            };
            assert!(target.exists(), "{} links to {link}", name.display());
            if !anchor.is_empty() && target.is_file() {
                let there = fs::read_to_string(&target).expect("a page");
                let has = anchors(&there).iter().any(|other| other == anchor);
                assert!(has, "{} links to {link}", name.display());
            }
        }
    }
}

/// The site is made from `SUMMARY.md`, which must list each page in `docs/` once.
#[test]
fn the_summary_has_every_page() {
    let summary = page("docs/SUMMARY.md");
    let mut named: Vec<PathBuf> = links(&summary)
        .map(|link| Path::new("docs").join(link))
        .collect();
    let mut pages = pages();
    pages.retain(|page| page.starts_with("docs") && !page.ends_with("SUMMARY.md"));
    named.sort();
    pages.sort();
    assert_eq!(named, pages);
}

/// systemd accepts the unit files.
#[test]
fn units_pass_systemd_analyze() {
    let read = |name| fs::read_to_string(workspace().join("systemd").join(name)).expect(name);
    for unit in [
        "resemble-notify.service",
        "resemble-export@.service",
        "resemble-export@.timer",
    ] {
        is_understood(unit, &read(unit));
    }
    let text = read("resembled.service");
    // These directives must not be set. Comments in the unit explain what they would break.
    for directive in [
        "ProtectSystem=",
        "PrivateTmp=",
        "PrivateMounts=",
        "NoNewPrivileges=",
    ] {
        let set = text.lines().any(|line| line.starts_with(directive));
        assert!(
            !set,
            "{directive} would hide the mount or break fusermount3"
        );
    }
    is_understood("resembled.service", &text);
    let units = [
        "resembled-system.service",
        "resemble-checker.service",
        "resemble-checker.socket",
        "resemble-mount@.service",
        "resemble-mount.socket",
        "resemble-starter.service",
        "resemble-starter.socket",
    ];
    for unit in units {
        let text = read(unit);
        // The unit is verified without the units that it names, so lines that name other units are
        // left out.
        let alone = text.lines().filter(|line| {
            !["Requires=", "After="]
                .iter()
                .any(|key| line.starts_with(key))
        });
        let alone: Vec<&str> = alone.collect();
        if unit.ends_with(".service") {
            is_understood_of("--system", unit, &alone.join("\n"));
        }
    }
}

/// systemd rates the exposure of the indexer of system mode from 0 to 10. The exposure must be at
/// most 1.0.
#[test]
fn the_indexer_of_system_mode_is_hardly_exposed() {
    let unit = workspace().join("systemd/resembled-system.service");
    let judged = Command::new("systemd-analyze")
        .args(["security", "--offline=true", "--threshold=10", "--no-pager"])
        .arg(unit)
        .output();
    match judged {
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stdout).into_owned();
            let last = said.lines().last().unwrap_or_default();
            eprintln!("{last}");
            assert!(output.status.success(), "{last} {output:?}");
            assert!(last.contains("Overall exposure level"), "{last}");
        }
        Err(e) => resemble_testutil::skipped(format_args!("systemd-analyze: {e}")),
    }
}

fn is_understood(name: &str, text: &str) {
    is_understood_of("--user", name, text);
}

fn is_understood_of(manager: &str, name: &str, text: &str) {
    let folder = tempfile::tempdir().expect("a folder");
    // The programs that the unit names are not installed here, so an existing program replaces
    // them.
    let copy = folder.path().join(name);
    let here = text.lines().map(|line| match line.split_once('=') {
        Some((key, value)) if key.starts_with("Exec") => {
            let args = value
                .split_once(' ')
                .map(|(_, args)| args)
                .unwrap_or_default();
            format!("{key}=/bin/true {args}\n")
        }
        _ => format!("{line}\n"),
    });
    fs::write(&copy, here.collect::<String>()).expect("a copy");
    let verify = Command::new("systemd-analyze")
        .args([manager, "--man=no", "verify"])
        .arg(&copy)
        .env("XDG_RUNTIME_DIR", folder.path())
        .output();
    match verify {
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(output.status.success() && said.trim().is_empty(), "{said}");
        }
        Err(e) => resemble_testutil::skipped(format_args!("systemd-analyze: {e}")),
    }
}
