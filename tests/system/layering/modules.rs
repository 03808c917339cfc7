//! The graph of a crate's top modules: who imports whom, by what the sources name.
//!
//! An edge is a path that begins with `crate::` (or with as many `super::` as lead to the root). A
//! name that the root re-exports counts as its module's. Tests are left out.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Each module with those it imports, and the files that do.
type Graph = BTreeMap<String, BTreeMap<String, BTreeSet<PathBuf>>>;

/// A cycle among the top modules of a crate, told with the files that import; `None`: there is
/// none.
pub(super) fn cycle(src: &Path, sources: &[(PathBuf, String)]) -> Option<String> {
    let graph = graph(src, sources);
    let mut among: BTreeSet<&String> = graph.keys().collect();
    let next = |module: &String, among: &BTreeSet<&String>| {
        let imported = graph[module].keys();
        imported.filter(|other| among.contains(other)).min()
    };
    // What imports nothing of the rest is in no cycle.
    while let Some(leaf) = among.iter().find(|module| next(module, &among).is_none()) {
        let leaf = *leaf;
        among.remove(leaf);
    }
    let mut way: Vec<&String> = vec![among.first()?];
    let start = loop {
        let last = way[way.len() - 1];
        let following = next(last, &among)?;
        if let Some(at) = way.iter().position(|module| *module == following) {
            way.push(following);
            break at;
        }
        way.push(following);
    };
    let mut told = String::new();
    for step in way[start..].windows(2) {
        let files = &graph[step[0]][step[1]];
        writeln!(told, "  {} imports {} in {files:?}", step[0], step[1]).ok()?;
    }
    Some(told)
}

fn graph(src: &Path, sources: &[(PathBuf, String)]) -> Graph {
    let place = |path: &Path| -> Vec<String> {
        let path = path.strip_prefix(src).expect("a file of the crate");
        let names = path.with_extension("");
        let mut names: Vec<String> = names
            .iter()
            .map(|name| name.to_string_lossy().into_owned())
            .collect();
        names.pop_if(|last| last == "mod");
        names
    };
    let is_root = |path: &Path| path == src.join("lib.rs") || path == src.join("main.rs");
    let of_files =
        |path: &&(PathBuf, String)| !is_root(&path.0) && !path.0.starts_with(src.join("bin"));
    let mut graph: Graph = sources
        .iter()
        .filter(of_files)
        .map(|(path, _)| (place(path).swap_remove(0), BTreeMap::new()))
        .collect();
    let mut exported: BTreeMap<String, String> = BTreeMap::new();
    for (_, text) in sources.iter().filter(|(path, _)| is_root(path)) {
        for part in super::code(text).split("pub use ").skip(1) {
            for path in paths(part.split(';').next().unwrap_or_default()) {
                let path = path.strip_prefix("crate::").unwrap_or(&path).to_owned();
                let (module, name) = path.split_once("::").unwrap_or((&path, &path));
                let name = name.rsplit([' ', ':']).next().unwrap_or(name);
                exported.insert(name.to_owned(), module.to_owned());
            }
        }
    }
    for (path, text) in sources.iter().filter(of_files) {
        let place = place(path);
        let code = super::code(text);
        let root = "super::".repeat(place.len());
        let from = code
            .match_indices("crate::")
            .map(|(at, root)| (at, root.len()));
        let by_super = code.match_indices(&root).map(|(at, root)| (at, root.len()));
        for (at, length) in from.chain(by_super) {
            for named in paths(&code[at + length..]) {
                let first = named.split("::").next().unwrap_or_default();
                let module = exported.get(first).map_or(first, String::as_str);
                if module != place[0] && graph.contains_key(module) {
                    let imports = graph.get_mut(&place[0]).expect("its module");
                    let files = imports.entry(module.to_owned()).or_default();
                    files.insert(path.strip_prefix(src).expect("a file of the crate").into());
                }
            }
        }
    }
    graph
}

/// The paths of a tree such as `a::{B, c::{D, E}}` at the beginning of a text.
fn paths(tree: &str) -> Vec<String> {
    let is_name = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
    let end = tree.find(|c| !is_name(c)).unwrap_or(tree.len());
    let (stem, rest) = tree.split_at(end);
    let Some(rest) = rest.strip_prefix('{') else {
        return vec![stem.to_owned()];
    };
    let mut found = Vec::new();
    let (mut depth, mut from) = (0, 0);
    for (at, c) in rest.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth > 0 => depth -= 1,
            ',' | '}' if depth == 0 => {
                let inner = paths(rest[from..at].trim());
                found.extend(inner.into_iter().map(|inner| format!("{stem}{inner}")));
                from = at + 1;
                if c == '}' {
                    break;
                }
            }
            _ => {}
        }
    }
    found
}

#[test]
fn a_cycle_is_found_and_told() {
    let src = Path::new("/src");
    let file = |name: &str, text: &str| (src.join(name), text.to_owned());
    let sources = [
        file(
            "lib.rs",
            "mod a;\nmod b;\nmod c;\npub use c::{Thing, deep::Other as Else};",
        ),
        file("a.rs", "// crate::c\nuse crate::b::{X, inner::Y};"),
        file("b/mod.rs", "mod inner;"),
        file(
            "b/inner.rs",
            "fn f(_: &crate::Thing) {}\nuse super::super::d;",
        ),
        file(
            "c.rs",
            "use crate::{Params, d};\n#[cfg(test)]\nmod tests {\n    use crate::a;\n}",
        ),
        file("d.rs", "use super::e::E;"),
        file("e.rs", "struct E;"),
    ];
    assert_eq!(cycle(src, &sources), None);
    let closed = file("d/more.rs", "use crate::{\n    e, a::Z,\n};");
    let told = cycle(src, &[&sources[..], &[closed]].concat()).expect("a cycle");
    assert_eq!(
        told,
        "  a imports b in {\"a.rs\"}\n  b imports c in {\"b/inner.rs\"}\n  \
         c imports d in {\"c.rs\"}\n  d imports a in {\"d/more.rs\"}\n"
    );
    assert_eq!(
        paths("a::{B, c::{D, E}}; x"),
        ["a::B", "a::c::D", "a::c::E"]
    );
}
