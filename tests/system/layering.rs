use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

mod modules;

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Returns the folders of the crates, as in the manifest of the workspace: `cli`, `crates/core`,
/// `lab/mapped` …
fn members() -> Vec<String> {
    let manifest = fs::read_to_string(workspace().join("Cargo.toml")).expect("the manifest");
    let members = manifest.split_once("members = [").expect("members").1;
    let members = members.split(']').next().unwrap_or_default();
    members
        .split('"')
        .skip(1)
        .step_by(2)
        .map(str::to_owned)
        .collect()
}

/// Returns the folder of a crate. The folders of programs are at the top, those of libraries are in
/// `crates/`, and those of the laboratory are in `lab/`.
fn home(krate: &str) -> PathBuf {
    let ends = |member: &&String| member.rsplit('/').next() == Some(krate);
    let member = members().iter().find(ends).cloned();
    workspace().join(member.unwrap_or_else(|| panic!("no crate {krate}")))
}

/// Returns the names under `[dependencies]` in a crate's manifest.
fn dependencies(krate: &str) -> Vec<String> {
    let manifest = fs::read_to_string(home(krate).join("Cargo.toml")).expect(krate);
    let section = manifest.split("[dependencies]").nth(1).unwrap_or_default();
    let section = section.split("\n[").next().unwrap_or_default();
    let names = section
        .lines()
        .filter_map(|line| line.split(['.', ' ', '=']).next());
    names
        .filter(|name| !name.is_empty())
        .map(str::to_owned)
        .collect()
}

fn sources(krate: &str) -> Vec<(PathBuf, String)> {
    sources_in(&home(krate).join("src"))
}

/// Returns all sources in a folder.
fn sources_in(folder: &Path) -> Vec<(PathBuf, String)> {
    files_in(folder, &["rs"])
}

/// Returns the paths and texts of all files below a folder whose extension is one of `ends`. Build
/// results and hidden folders are left out.
pub(crate) fn files_in(folder: &Path, ends: &[&str]) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten() {
            let path = entry.expect("an entry").path();
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let end = path.extension().and_then(|end| end.to_str());
            if path.is_dir() {
                if name != "target" && !name.starts_with('.') {
                    folders.push(path);
                }
            } else if end.is_some_and(|end| ends.contains(&end)) {
                let text = fs::read_to_string(&path).expect("a text");
                found.push((path, text));
            }
        }
    }
    found.sort();
    found
}

/// Returns the sources of a crate without its tests. A file is a test if its name says so, or if
/// `#[cfg(test)] mod` declares it.
fn product(member: &str) -> Vec<(PathBuf, String)> {
    let src = workspace().join(member).join("src");
    let mut all = sources_in(&src);
    let mut tests = BTreeSet::new();
    for (path, text) in &all {
        let is_root = path.ends_with("mod.rs") || path.parent() == Some(&src);
        let here = match path.file_stem() {
            Some(stem) if !is_root => path.with_file_name(stem),
            _ => path.parent().unwrap_or(&src).to_path_buf(),
        };
        for rest in text.split("#[cfg(test)]\n").skip(1) {
            let name = rest.split_once("mod ").map_or("", |(_, name)| name);
            if let Some(name) = name.split_once(';').map(|(name, _)| name) {
                tests.insert(here.join(name));
            }
        }
    }
    let is_tests = |part: &std::ffi::OsStr| part == "tests";
    all.retain(|(path, _)| {
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        let below = path.strip_prefix(&src).unwrap_or(path);
        let is_test = name.ends_with("_tests") || below.with_extension("").iter().any(is_tests);
        !is_test
            && !path
                .ancestors()
                .any(|path| tests.contains(&path.with_extension("")))
    });
    all
}

/// Returns a source without comments, and without the module `tests` at its end.
fn code(text: &str) -> String {
    let is_tests = |rest: &str| {
        let head = rest.lines().next().unwrap_or_default();
        head.starts_with("mod tests {") || head.starts_with("pub(crate) mod tests {")
    };
    let start = text
        .match_indices("#[cfg(test)]\n")
        .find(|(at, attribute)| is_tests(&text[at + attribute.len()..]));
    let product = start.map_or(text, |(at, _)| &text[..at]);
    let lines = product
        .lines()
        .map(|line| line.split("//").next().unwrap_or_default());
    lines.flat_map(|line| [line, "\n"]).collect()
}

/// The crates that each crate is allowed to use. All other crates are forbidden.
const MAY_USE: [(&str, &[&str]); 24] = [
    ("kernels", &[]),
    ("core", &["kernels"]),
    ("mapped", &[]),
    ("mounts", &[]),
    ("testutil", &[]),
    ("methods", &["core"]),
    ("extract", &["core"]),
    ("proto", &["core"]),
    ("report", &["core", "proto"]),
    ("notify", &["core", "proto", "report"]),
    ("arguments", &["proto", "report"]),
    ("callers", &[]),
    ("index", &["callers", "core"]),
    ("fs", &["callers", "core", "mounts"]),
    ("scan", &["core", "extract", "index", "mounts"]),
    ("catalogue", &["core", "index", "proto"]),
    ("tables", &["catalogue", "core"]),
    ("relate", &["core", "extract", "index", "proto", "scan"]),
    (
        "trees",
        &["core", "index", "mounts", "proto", "relate", "scan"],
    ),
    (
        "query",
        &[
            "catalogue",
            "core",
            "index",
            "proto",
            "relate",
            "scan",
            "trees",
        ],
    ),
    ("screen", &["proto", "query", "report"]),
    (
        "daemon",
        &[
            "callers",
            "catalogue",
            "core",
            "fs",
            "index",
            "mounts",
            "notify",
            "proto",
            "query",
            "relate",
            "report",
            "scan",
        ],
    ),
    (
        "cli",
        &[
            "arguments",
            "catalogue",
            "core",
            "mounts",
            "notify",
            "proto",
            "query",
            "relate",
            "report",
            "scan",
            "screen",
            "tables",
        ],
    ),
    (
        "lab",
        &[
            "arguments",
            "cli",
            "core",
            "index",
            "mapped",
            "methods",
            "proto",
            "query",
            "relate",
            "report",
            "scan",
        ],
    ),
];

#[test]
fn dependencies_point_one_way() {
    for (krate, allowed) in MAY_USE {
        for dependency in dependencies(krate) {
            if let Some(ours) = dependency.strip_prefix("resemble-") {
                assert!(allowed.contains(&ours), "{krate} must not depend on {ours}");
            }
        }
    }
}

/// Only tests may depend on the crate `testutil`.
#[test]
fn no_program_links_what_tests_have_in_common() {
    for member in members() {
        let krate = member.rsplit('/').next().unwrap_or_default();
        let is_linked = dependencies(krate).contains(&"resemble-testutil".to_owned());
        assert!(!is_linked, "{member} links resemble-testutil");
    }
}

#[test]
fn foreign_crates_are_named_in_one_place_each() {
    for (foreign, home, file) in [
        ("redb", "index", None),
        ("fuser", "fs", None),
        ("notify", "daemon", Some("watch/notify.rs")),
        ("memmap2", "mapped", None),
        ("parquet", "tables", None),
        ("unicode-normalization", "core", None),
        ("chrono", "arguments", Some("local_time.rs")),
        ("ratatui", "screen", None),
    ] {
        for (krate, _) in MAY_USE {
            if krate != home {
                let named = dependencies(krate).iter().any(|d| d == foreign);
                assert!(!named, "{krate} must not depend on {foreign}");
            }
        }
        let Some(file) = file else { continue };
        for (path, text) in sources(home) {
            let inside = path.ends_with(file);
            let uses = text.contains(&format!("use {foreign}::"))
                || text.contains(&format!("({foreign}::"));
            assert!(inside || !uses, "{} names {foreign}", path.display());
        }
    }
}

#[test]
fn the_core_has_no_io_no_clock_no_environment_and_prints_nothing() {
    let is_tests = |path: &Path| path.to_string_lossy().ends_with("tests.rs");
    for (path, text) in [sources("kernels"), sources("core")].concat() {
        if is_tests(&path) {
            continue;
        }
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        for word in [
            "std::fs",
            "std::env",
            "std::net",
            "std::process",
            "SystemTime",
            "Instant::now",
            "println!",
        ] {
            assert!(!code.contains(word), "{} uses {word}", path.display());
        }
    }
}

#[test]
fn unsafe_code_is_only_in_kernels_two_system_calls_the_heap_and_maps_of_our_own_files() {
    for (krate, _) in MAY_USE {
        for (path, text) in sources(krate) {
            let path = path.to_string_lossy();
            let kernel = path.contains("kernels/src/")
                || path.ends_with("scan/src/heap.rs")
                || path.ends_with("callers/src/syscalls.rs")
                || path.ends_with("mapped/src/lib.rs");
            let blocks = text
                .lines()
                .filter(|line| !line.trim_start().starts_with("//"));
            let uses = blocks
                .filter(|line| line.contains("unsafe {") || line.contains("unsafe fn"))
                .count();
            assert!(kernel || uses == 0, "{path} has unsafe code");
        }
    }
}

#[test]
fn watched_files_are_never_mapped() {
    for (krate, _) in MAY_USE {
        for dependency in dependencies(krate) {
            assert!(
                !dependency.contains("mmap") || krate == "mapped",
                "{krate} depends on {dependency}"
            );
        }
        for (path, text) in sources(krate) {
            // The laboratory is allowed to map arrays into memory, because the files of the arrays
            // are in its own folder.
            let may_map = krate == "mapped" || path.ends_with("lab/lab/src/arrays/mapped.rs");
            assert!(
                may_map || !text.contains("Mapped::open"),
                "{} maps files",
                path.display()
            );
            let code = text
                .lines()
                .filter(|line| !line.trim_start().starts_with("//"));
            // The generator of churn is allowed to map files into memory, because it imitates other
            // programs.
            let is_storm = path.ends_with("testutil/src/churn/maps.rs");
            for line in code.filter(|_| !is_storm) {
                assert!(!line.contains("mmap("), "{} maps: {line}", path.display());
            }
        }
    }
}

/// The Python wheel is a workspace of its own. This test checks which crates the wheel uses and
/// where it has unsafe code.
#[test]
fn the_wheel_is_a_thin_door() {
    let manifest = fs::read_to_string(workspace().join("python/Cargo.toml")).expect("a manifest");
    let allowed = ["core", "index", "proto", "query", "relate"];
    for line in manifest.lines() {
        let ours = line.strip_prefix("resemble-");
        let name = ours.and_then(|rest| rest.split([' ', '.', '=']).next());
        let is_allowed = name.is_none_or(|name| allowed.contains(&name));
        assert!(is_allowed, "the wheel must not depend on {line}");
    }
    let sources = sources_in(&workspace().join("python/src"));
    assert!(!sources.is_empty());
    for (path, text) in sources {
        let is_arrow = path.ends_with("arrow.rs");
        // Only one file is allowed to name the crate `query`, and only one file is allowed to name
        // the crate `proto`.
        let is_door = path.ends_with("why.rs") || !text.contains("resemble_query");
        let is_share = path.ends_with("figures.rs") || !text.contains("resemble_proto");
        let path = path.display();
        assert!(
            is_arrow || !text.contains("unsafe"),
            "{path} has unsafe code"
        );
        assert!(is_door && is_share, "{path} names another crate");
        let long = text.lines().find(|line| line.chars().count() > 100);
        assert!(long.is_none(), "{path}: {long:?} is too long");
    }
}

#[test]
fn sibling_modules_import_each_other_in_one_direction() {
    let mut wrong = String::new();
    for member in members() {
        let src = workspace().join(&member).join("src");
        for (parent, cycle) in modules::cycles(&src, &product(&member)) {
            writeln!(wrong, "a circle in {member} {parent}:\n{cycle}").expect("a string");
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// Returns whether the workspace has a crate. The rules for a crate that does not exist yet are
/// skipped.
fn is_there(krate: &str) -> bool {
    members()
        .iter()
        .any(|member| member.ends_with(&format!("/{krate}")))
}

#[test]
fn nothing_outside_the_laboratory_names_a_crate_of_it() {
    let manifest = |member: &str| {
        fs::read_to_string(workspace().join(member).join("Cargo.toml")).expect("a manifest")
    };
    let members = members();
    let (lab, others): (Vec<_>, Vec<_>) = members.iter().partition(|m| m.starts_with("lab/"));
    for inside in lab {
        let manifest_of_lab = manifest(inside);
        let name = manifest_of_lab.split('"').nth(1).expect("a name");
        for outside in &others {
            let named = manifest(outside).contains(name);
            assert!(!named, "{outside} names {name}");
        }
    }
}

#[test]
fn rooms_know_no_more_than_they_must() {
    for (krate, forbidden) in [
        (
            "arguments",
            &["std::fs", "std::env", "std::net", "std::process", "File::"][..],
        ),
        (
            "scan",
            &["resemble_query", "resemble_relate", "resemble_proto"],
        ),
        (
            "screen",
            &["std::fs", "std::env", "std::net", "std::process", "File::"],
        ),
        (
            "trees",
            &["redb::", "std::os::unix::net", "UnixStream", "tokio"],
        ),
        // `relate` is allowed to use the values of the protocol, but no verb, no request and no
        // printer.
        (
            "relate",
            &[
                "Request,",
                "Request;",
                "Request}",
                "&Request",
                "Options",
                "Answer<",
                "Report",
                "Reply",
                "redb::",
                "UnixStream",
                "println!",
                "tokio",
            ],
        ),
        (
            "query",
            &[
                "redb::",
                "std::os::unix::net",
                "UnixStream",
                "UnixListener",
                "tokio",
            ],
        ),
        (
            "report",
            &[
                "std::fs",
                "std::env",
                "std::net",
                "std::os::unix::net",
                "std::process",
                "std::time",
                "File::",
                "OpenOptions",
                "IsTerminal",
                "clap",
                // These are methods of `Path` that read the disk.
                ".canonicalize()",
                ".metadata()",
                ".symlink_metadata()",
                ".read_dir()",
                ".read_link()",
                ".exists()",
                ".try_exists()",
                ".is_dir()",
                ".is_file()",
                ".is_symlink()",
            ],
        ),
    ] {
        if !is_there(krate) {
            continue;
        }
        for (path, text) in product(&format!("crates/{krate}")) {
            let code = code(&text);
            for word in forbidden {
                assert!(!code.contains(word), "{} knows {word}", path.display());
            }
        }
    }
}

#[test]
fn the_name_of_a_type_is_unique_in_its_crate() {
    let mut ambiguous = String::new();
    for member in members() {
        let mut types: BTreeMap<String, Vec<PathBuf>> = BTreeMap::new();
        for (path, text) in product(&member) {
            for name in code(&text).lines().filter_map(type_defined) {
                types.entry(name).or_default().push(path.clone());
            }
        }
        for (name, files) in types.into_iter().filter(|(_, files)| files.len() > 1) {
            writeln!(ambiguous, "{member} has several types {name}: {files:#?}").expect("a string");
        }
    }
    assert!(ambiguous.is_empty(), "{ambiguous}");
}

/// Returns the name of the type that a line defines. An indented `type` is ignored, because it
/// belongs to a trait or an implementation.
fn type_defined(line: &str) -> Option<String> {
    let mut words = line
        .split_whitespace()
        .skip_while(|word| word.starts_with("pub"));
    let is_type = match words.next()? {
        "struct" | "enum" | "trait" | "union" => true,
        "type" => !line.starts_with(' '),
        _ => false,
    };
    let name: String = words
        .next()?
        .chars()
        .take_while(|c| c.is_alphanumeric() || *c == '_')
        .collect();
    (is_type && !name.is_empty()).then_some(name)
}

#[test]
fn no_line_is_longer_than_a_hundred_columns() {
    let mut long = Vec::new();
    for member in members() {
        for (path, text) in sources_in(&workspace().join(member)) {
            for (number, line) in (1..).zip(text.lines()) {
                if line.chars().count() > 100 {
                    long.push(format!("{}:{number}", path.display()));
                }
            }
        }
    }
    assert!(long.is_empty(), "{long:#?}");
}
