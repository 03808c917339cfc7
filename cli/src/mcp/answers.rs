//! Selects what an answer includes: the first rows of each list and all totals, but nothing outside
//! the roots.

use std::path::Path;

use serde_json::{Map, Value, json};

use super::places::Roots;
use super::tools::{Bounds, ToolKind};

/// The maximum number of errors that are listed. The number of all errors is included.
const MOST_ERRORS: usize = 10;

/// The keys of an answer that are included unchanged.
const KEPT: [&str; 12] = [
    "fresh",
    "pending",
    "summary",
    "covered",
    "files",
    "bytes",
    "relation",
    "unit",
    "a_in_b",
    "b_in_a",
    "resemblance",
    "shared_bytes",
];

/// Makes the answer to a call of a tool from the document that the command has printed.
pub(super) fn of_document(
    kind: ToolKind,
    document: &Value,
    roots: &Roots,
    bounds: Bounds,
) -> Value {
    if kind == ToolKind::Status {
        return status(document, roots);
    }
    let mut answer = Map::new();
    for key in KEPT {
        if let Some(value) = document.get(key).filter(|value| !value.is_array()) {
            answer.insert(key.to_owned(), value.clone());
        }
    }
    let mut lists = Vec::new();
    for (name, rows) in document.as_object().into_iter().flatten() {
        let Some(rows) = rows
            .as_array()
            .filter(|_| name != "errors" && name != "left_out")
        else {
            continue;
        };
        let rows: Vec<Value> = rows
            .iter()
            .filter(|row| is_wanted(kind, row) && is_within(row, roots))
            .map(|row| terse(kind, row))
            .collect();
        lists.push((name.clone(), rows));
    }
    answer.extend(errors(document, roots));
    fit(&answer, &lists, bounds)
}

/// Returns whether a row is informative. Equal files of a comparison are left out, because the
/// summary counts them.
fn is_wanted(kind: ToolKind, row: &Value) -> bool {
    kind != ToolKind::Compare || row["class"] != "same"
}

/// Returns whether a row names nothing outside the roots.
fn is_within(row: &Value, roots: &Roots) -> bool {
    let is_within = |path: &Value| {
        let path = path.as_str().map(Path::new);
        path.is_none_or(|path| !path.is_absolute() || roots.hold(path))
    };
    ["path", "a", "b", "by", "center"]
        .iter()
        .filter_map(|key| row.get(*key))
        .all(is_within)
        && row["paths"]
            .as_array()
            .is_none_or(|paths| paths.iter().all(is_within))
}

/// Removes from a row the fields that repeat the question, and the links between members of a
/// cluster.
fn terse(kind: ToolKind, row: &Value) -> Value {
    let mut row = row.clone();
    if let Value::Object(fields) = &mut row {
        match kind {
            ToolKind::Find => drop(fields.remove("file")),
            ToolKind::GroupsOf => drop(fields.remove("links")),
            _ => {}
        }
    }
    row
}

fn errors(document: &Value, roots: &Roots) -> Map<String, Value> {
    let errors = document["errors"].as_array().map_or(&[][..], Vec::as_slice);
    let errors: Vec<&Value> = errors
        .iter()
        .filter(|error| is_within(error, roots))
        .collect();
    let mut fields = Map::new();
    if !errors.is_empty() {
        fields.insert("errors_total".to_owned(), json!(errors.len()));
        let first = errors.into_iter().take(MOST_ERRORS).cloned().collect();
        fields.insert("errors".to_owned(), Value::Array(first));
    }
    fields
}

/// Returns the answer with the totals, and with the first rows of each list. `bounds` limits the
/// number of rows. The number is halved until the answer fits, but each list keeps at least one
/// row.
fn fit(answer: &Map<String, Value>, lists: &[(String, Vec<Value>)], bounds: Bounds) -> Value {
    let mut rows = bounds.rows;
    loop {
        let mut whole = answer.clone();
        let mut is_cut = false;
        for (name, list) in lists {
            let first = list.iter().take(rows.max(1));
            let first: Vec<Value> = first.map(|row| with_few(row, rows, &mut is_cut)).collect();
            is_cut |= first.len() < list.len();
            whole.insert(format!("{name}_total"), json!(list.len()));
            whole.insert(name.clone(), Value::Array(first));
        }
        if is_cut {
            whole.insert("cut".to_owned(), json!(true));
        }
        let whole = Value::Object(whole);
        if rows == 0 || whole.to_string().len() <= bounds.bytes {
            return whole;
        }
        rows /= 2;
    }
}

/// Shortens the list of members or paths in a row to the first `most` items and the newest item.
/// Adds the number of all items.
fn with_few(row: &Value, most: usize, is_cut: &mut bool) -> Value {
    let mut row = row.clone();
    for list in ["members", "paths"] {
        let Some(all) = row.get_mut(list).and_then(Value::as_array_mut) else {
            continue;
        };
        let count = all.len();
        if count <= most {
            continue;
        }
        let mut at = 0;
        all.retain(|one| {
            at += 1;
            at <= most || one["newest"] == true
        });
        *is_cut = true;
        row[format!("{list}_total")] = json!(count);
    }
    row
}

/// Returns the state of each root of this server. Directories that the daemon watches elsewhere are
/// not mentioned.
fn status(document: &Value, roots: &Roots) -> Value {
    let watched = document["roots"].as_array().map_or(&[][..], Vec::as_slice);
    let state = |root: &Path| {
        let around = watched.iter().find(|watched| {
            let path = watched["path"].as_str();
            path.is_some_and(|path| root.starts_with(path))
        });
        around.map_or(json!("not watched"), |watched| watched["state"].clone())
    };
    let of_roots = roots
        .paths()
        .map(|root| json!({"path": root.to_string_lossy(), "state": state(root)}));
    json!({
        "daemon": true,
        "fresh": document["fresh"],
        "degraded": document["degraded"].as_array().is_some_and(|all| !all.is_empty()),
        "roots": of_roots.collect::<Vec<Value>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn roots() -> (tempfile::TempDir, Roots) {
        let dir = tempfile::tempdir().unwrap();
        let roots = Roots::open(&[dir.path().to_owned()]).unwrap();
        (dir, roots)
    }

    const BOUNDS: Bounds = Bounds {
        rows: 3,
        bytes: 1 << 10,
    };

    #[test]
    fn rows_are_cut_and_counted_and_none_names_what_lies_outside() {
        let (dir, roots) = roots();
        let row = |at: usize| json!({"file": "x", "path": dir.path().join(at.to_string())});
        let mut rows: Vec<Value> = (0..5).map(row).collect();
        rows.push(json!({"file": "x", "path": "/elsewhere/secret"}));
        let document = json!({"fresh": true, "results": rows, "left_out": [{"root": "/elsewhere"}],
            "errors": [{"path": "/elsewhere/e", "message": "m"}]});
        let answer = of_document(ToolKind::Find, &document, &roots, BOUNDS);
        assert_eq!(answer["results_total"], 5);
        assert_eq!(answer["results"].as_array().unwrap().len(), 3);
        assert_eq!(answer["cut"], true);
        assert!(!answer.to_string().contains("elsewhere"), "{answer}");
    }

    #[test]
    fn a_large_cluster_is_cut_to_its_first_members_and_the_newest() {
        let (dir, roots) = roots();
        let member =
            |at: usize| json!({"path": dir.path().join(at.to_string()), "newest": at == 399});
        let members: Vec<Value> = (0..400).map(member).collect();
        let document = json!({"clusters": [{"kind": "versions", "members": members}]});
        let bounds = Bounds {
            rows: 20,
            bytes: 4096,
        };
        let answer = of_document(ToolKind::GroupsOf, &document, &roots, bounds);
        assert!(answer.to_string().len() <= 4096, "{answer}");
        let cluster = &answer["clusters"][0];
        assert_eq!(cluster["members_total"], 400);
        let members = cluster["members"].as_array().unwrap();
        assert!(members.len() > 5 && members.last().unwrap()["newest"] == true);
        assert_eq!(
            (&answer["clusters_total"], &answer["cut"]),
            (&json!(1), &json!(true))
        );
    }

    #[test]
    fn an_answer_fits_into_its_bytes() {
        let (dir, roots) = roots();
        let name = "n".repeat(150);
        let row = |at: usize| json!({"path": dir.path().join(format!("{name}{at}"))});
        let document = json!({"results": (0..900).map(row).collect::<Vec<_>>()});
        let bounds = Bounds {
            rows: 1000,
            bytes: 4096,
        };
        let answer = of_document(ToolKind::Find, &document, &roots, bounds);
        assert!(answer.to_string().len() <= 4096);
        let shown = answer["results"].as_array().unwrap().len();
        assert!((5..30).contains(&shown), "{shown}");
        assert_eq!(answer["results_total"], 900);
    }
}
