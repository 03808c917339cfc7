//! Builds graphs of the imports in a crate. There is a graph for the top modules, and one for the
//! children of each module. Each graph states which siblings import each other.
//!
//! A module imports every name in its `use` declarations, and every path that begins with
//! `crate::`, `self::` or `super::`. If a module re-exports a name, the name is attributed to the
//! module that defines it. Tests are left out.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// The names of the modules from the root to a module or an item.
type Names = Vec<String>;

/// The siblings that each module imports, and the files with these imports.
type Graph = BTreeMap<String, BTreeMap<String, BTreeSet<PathBuf>>>;

/// The maximum number of re-exports that are followed for a name.
const MAX_IMPORTS: usize = 8;

/// Returns a cycle for each module whose children import each other in a circle. The keys are paths
/// of modules (`""` for the root). The values name the imports and their files.
pub(super) fn cycles(src: &Path, sources: &[(PathBuf, String)]) -> BTreeMap<String, String> {
    let graphs = graphs(src, sources).into_iter();
    let cycles = graphs.filter_map(|(parent, graph)| Some((parent.join("/"), cycle(&graph)?)));
    cycles.collect()
}

/// Returns a cycle among siblings as text, if there is a cycle. The text names the files with the
/// imports.
fn cycle(graph: &Graph) -> Option<String> {
    let mut among: BTreeSet<&String> = graph.keys().collect();
    let next = |module: &String, among: &BTreeSet<&String>| {
        let imported = graph[module].keys();
        imported.filter(|other| among.contains(other)).min()
    };
    // A module that imports none of the remaining modules is not in a cycle, so it is removed.
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
    let mut report = String::new();
    for step in way[start..].windows(2) {
        let files = &graph[step[0]][step[1]];
        writeln!(report, "  {} imports {} in {files:?}", step[0], step[1]).ok()?;
    }
    Some(report)
}

/// Returns, for each module, the graph of its children.
fn graphs(src: &Path, sources: &[(PathBuf, String)]) -> BTreeMap<Names, Graph> {
    let files = sources
        .iter()
        .filter(|(path, _)| !path.starts_with(src.join("bin")));
    let files: Vec<(Names, &Path, String)> = files
        .map(|(path, text)| {
            let file = path.strip_prefix(src).expect("a file of the crate");
            (module(file), file, super::code(text))
        })
        .collect();
    let modules: BTreeSet<&[String]> = files.iter().map(|(module, ..)| &module[..]).collect();
    let mut imported = BTreeMap::new();
    for (module, _, code) in &files {
        for path in used(code) {
            let path = absolute(module, &path);
            let name = path.last().cloned();
            imported.insert([&module[..], name.as_slice()].concat(), path);
        }
    }
    let mut graphs: BTreeMap<Names, Graph> = BTreeMap::new();
    for (module, file, code) in &files {
        for path in used(code).chain(rooted(code)) {
            let home = home(absolute(module, &path), &modules, &imported);
            let depth = (module.iter().zip(&home))
                .take_while(|(a, b)| a == b)
                .count();
            let (Some(from), Some(to)) = (module.get(depth), home.get(depth)) else {
                continue;
            };
            let graph = graphs.entry(module[..depth].to_vec()).or_default();
            let imports = graph.entry(from.clone()).or_default();
            let importers = imports.entry(to.clone()).or_default();
            importers.insert(file.to_path_buf());
        }
    }
    graphs
}

fn module(file: &Path) -> Names {
    let names = file.with_extension("");
    let mut names: Names = names
        .iter()
        .map(|name| name.to_string_lossy().into_owned())
        .collect();
    let is_root = names == ["lib"] || names == ["main"];
    names.pop_if(|last| is_root || last == "mod");
    names
}

/// Returns the paths in all `use` declarations.
fn used(code: &str) -> impl Iterator<Item = String> + '_ {
    let lines = code.match_indices("use ").filter(|(at, _)| {
        let line = code[..*at].rsplit('\n').next().unwrap_or_default().trim();
        line.is_empty() || line == "pub" || line.starts_with("pub(") && line.ends_with(')')
    });
    lines.flat_map(|(at, word)| paths(&code[at + word.len()..]))
}

/// Returns the paths that begin with `crate::`, `self::` or `super::`, in a `use` or anywhere else.
fn rooted(code: &str) -> impl Iterator<Item = String> + '_ {
    let begins = ["crate::", "self::", "super::"].into_iter();
    let begins = begins.flat_map(|begin| code.match_indices(begin));
    let is_inner = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
    begins
        .filter(move |(at, _)| !code[..*at].ends_with(is_inner))
        .flat_map(|(at, _)| paths(&code[at..]))
}

/// Resolves a path that is used in a module. Returns its names from the root on.
fn absolute(module: &[String], path: &str) -> Names {
    let mut names = module.to_vec();
    for name in path.split("::") {
        match name {
            "crate" => names.clear(),
            "super" => drop(names.pop()),
            "self" | "" => {}
            name => names.push(name.to_owned()),
        }
    }
    names
}

/// Returns the module that defines the item at a path. Re-exports are followed.
fn home(
    mut path: Names,
    modules: &BTreeSet<&[String]>,
    imported: &BTreeMap<Names, Names>,
) -> Names {
    for _ in 0..MAX_IMPORTS {
        let is_module = |&depth: &usize| modules.contains(&path[..depth]);
        let depth = (1..=path.len()).rev().find(is_module).unwrap_or(0);
        let Some(from) = path.get(..=depth).and_then(|name| imported.get(name)) else {
            path.truncate(depth);
            return path;
        };
        path = [&from[..], &path[depth + 1..]].concat();
    }
    Vec::new()
}

/// Returns the paths in a tree such as `a::{B, c::{D, E}}`. The tree is at the beginning of the
/// text.
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
fn a_cycle_is_found_and_reported() {
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
    assert_eq!(cycles(src, &sources), BTreeMap::new());
    let closed = file("d/more.rs", "use crate::{\n    e, a::Z,\n};");
    let found = cycles(src, &[&sources[..], &[closed]].concat());
    assert_eq!(
        found[""],
        "  a imports b in {\"a.rs\"}\n  b imports c in {\"b/inner.rs\"}\n  \
         c imports d in {\"c.rs\"}\n  d imports a in {\"d/more.rs\"}\n"
    );
    assert_eq!(
        paths("a::{B, c::{D, E}}; x"),
        ["a::B", "a::c::D", "a::c::E"]
    );
}

#[test]
fn a_cycle_below_a_module_is_found_by_any_path() {
    let src = Path::new("/src");
    let file = |name: &str, text: &str| (src.join(name), text.to_owned());
    let sources = [
        file("lib.rs", "mod a;"),
        file(
            "a/mod.rs",
            "mod b;\nmod c;\nmod d;\npub(super) use self::c::C;\nuse d::{self, D, e::E};",
        ),
        // The parent re-exports `C` from a child, so an import of `C` is attributed to that child.
        file("a/b.rs", "use super::{C, other};"),
        file("a/c.rs", "fn f(_: crate::a::D) {}"),
        file("a/d/mod.rs", "mod e;\nmod f;\nuse e::X;"),
        file("a/d/e.rs", "use super::f;"),
        file("a/d/f.rs", "use std::a::e;"),
    ];
    assert_eq!(cycles(src, &sources), BTreeMap::new());
    let closed = [
        file("a/d/g.rs", "type B = super::super::b::B;"),
        file("a/d/f/inner.rs", "use crate::a::E;"),
    ];
    let found = cycles(src, &[&sources[..], &closed].concat());
    let in_a = "  b imports c in {\"a/b.rs\"}\n  c imports d in {\"a/c.rs\"}\n  \
                d imports b in {\"a/d/g.rs\"}\n";
    let in_d = "  e imports f in {\"a/d/e.rs\"}\n  f imports e in {\"a/d/f/inner.rs\"}\n";
    assert_eq!(
        found.into_iter().collect::<Vec<_>>(),
        [
            ("a".to_owned(), in_a.to_owned()),
            ("a/d".to_owned(), in_d.to_owned())
        ]
    );
}
