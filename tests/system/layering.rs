use std::fs;
use std::path::{Path, PathBuf};

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The folder of a crate: programs stand at the top, libraries in `crates/`, the laboratory in `lab/`.
fn home(krate: &str) -> PathBuf {
    let places = ["", "crates", "lab"];
    let places = places.map(|place| workspace().join(place).join(krate));
    let found = places
        .into_iter()
        .find(|home| home.join("Cargo.toml").exists());
    found.unwrap_or_else(|| panic!("no crate {krate}"))
}

/// The crates that a crate's manifest names under `[dependencies]`.
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
    let mut found = Vec::new();
    let mut folders = vec![home(krate).join("src")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder of sources") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "rs") {
                let text = fs::read_to_string(&path).expect("a source");
                found.push((path, text));
            }
        }
    }
    found
}

/// What each crate may know of the others. Everything else is forbidden.
const MAY_USE: [(&str, &[&str]); 9] = [
    ("core", &[]),
    ("mapped", &[]),
    ("extract", &[]),
    ("proto", &["core"]),
    ("index", &["core"]),
    ("fs", &["core"]),
    ("engine", &["core", "extract", "index", "mapped", "proto"]),
    ("daemon", &["core", "engine", "fs", "index", "proto"]),
    ("cli", &["core", "engine", "proto"]),
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

#[test]
fn foreign_crates_are_named_in_one_place_each() {
    for (foreign, home, file) in [
        ("redb", "index", None),
        ("fuser", "fs", None),
        ("notify", "daemon", Some("watch/notify.rs")),
        ("memmap2", "mapped", None),
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
    for (path, text) in sources("core") {
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
fn unsafe_code_is_only_in_hashing_kernels_and_where_our_own_files_are_mapped() {
    for (krate, _) in MAY_USE {
        for (path, text) in sources(krate) {
            let path = path.to_string_lossy();
            let kernel = path.contains("core/src/hash/") || path.ends_with("mapped/src/lib.rs");
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
            // Arrays are made by ourselves, in a folder of our own.
            let may_map = krate == "mapped" || path.ends_with("engine/src/arrays/folder.rs");
            assert!(
                may_map || !text.contains("Mapped::open"),
                "{} maps files",
                path.display()
            );
            let code = text
                .lines()
                .filter(|line| !line.trim_start().starts_with("//"));
            for line in code {
                assert!(!line.contains("mmap("), "{} maps: {line}", path.display());
            }
        }
    }
}
