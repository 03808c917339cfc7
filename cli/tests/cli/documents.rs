//! Makes JSON documents like those that the command saves. Tests of pages and filters use these
//! reports, so they do not depend on what a search finds.

use std::io::Write;
use std::path::PathBuf;

use serde_json::{Value, json};

use resemble_proto::seal::{self, Sealing};
use resemble_testutil::Environment;

fn common() -> Value {
    let params = "tttd-460-2800-540-270.w64-l5-128-128.s5-l3-64-96.p3-1408-131072.v9";
    json!({"min": null, "min_shared": 256, "min_size": 0, "include": [], "exclude": [], "top": null,
        "exact": false, "params": params})
}

fn merged(mut a: Value, b: &Value) -> Value {
    for (key, value) in b.as_object().unwrap() {
        a[key] = value.clone();
    }
    a
}

/// Makes a document: the header of all documents, and the fields of `body`.
fn document(command: &str, parameters: &Value, rows: usize, body: &Value) -> Value {
    let head = json!({"schema": 1, "version": "0.0.7", "command": command, "parameters": parameters,
        "fresh": true, "pending": 0, "total": rows, "shown": rows,
        "looked": {"files": 1234, "bytes": 5_678_900, "unreadable": 1, "skipped": 0, "small": 3,
            "least_run": 64}});
    merged(head, body)
}

fn member(path: &str, size: u64, mtime: i64, share: f64) -> Value {
    json!({"path": path, "size": size, "mtime": mtime, "a_in_b": share, "b_in_a": share / 2.0,
        "copies": 1})
}

/// Makes a cluster of two files: its centre `/c/NAME` and `other`.
fn cluster(name: &str, kind: &str, average: f64, bytes: u64, other: &str) -> Value {
    let center = format!("/c/{name}");
    json!({"id": format!("id-{name}"), "kind": kind, "center": center, "average": average,
        "worst": average, "bytes": bytes, "component": "k1",
        "members": [
            member(&center, bytes / 2, 1_000_000_000, 1.0),
            member(other, bytes / 2, 1_100_000_000, average)],
        "links": [{"a": center, "b": other, "a_in_b": average / 2.0, "b_in_a": average,
            "shared_bytes": bytes / 4}]})
}

/// Makes a report of groups with four clusters, three sets and an error.
pub(crate) fn groups() -> Value {
    let mut versions = cluster("delta", "versions", 0.95, 4000, "/v/delta-2.txt");
    versions["members"][1]["newest"] = json!(true);
    let body = json!({
        "summary": {"files": 1234, "bytes": 5_678_900, "sets": 3, "set_files": 7, "overhead": 5000,
            "clusters": 4, "cluster_files": 8, "cluster_bytes": 10_000, "links": 4, "components": 4,
            "ignored": 0, "notes": []},
        "identical": [
            {"size": 2000, "paths": ["/i/a", "/i/b", "/i/c"], "mtimes": [1_000_000_000, 1, 2]},
            {"size": 900, "paths": ["/i/d", "/i/e"], "mtimes": [3, 4]},
            {"size": 100, "paths": ["/i/f", "/i/g"], "mtimes": [5, 6]}],
        "clusters": [
            versions,
            cluster("alpha", "pair", 0.4, 3000, "/v/alpha.txt"),
            cluster("charlie", "contains", 0.999_999, 2000, "/v/charlie.txt"),
            cluster("bravo", "pair", 0.29, 1000, "/v/bravo.txt")],
        "errors": [{"path": "/e/secret", "kind": "unreadable", "message": "Permission denied"}]});
    let parameters = merged(
        json!({"roots": ["/c", "/v", "/i"], "of": null, "family": false, "degree": "usual"}),
        &common(),
    );
    document("groups", &parameters, 7, &body)
}

/// Makes a report of `dirs` with three pairs among four directories. A page of `groups` may include
/// such a report.
pub(crate) fn dirs() -> Value {
    let pair = |a: &str, b: &str, a_in_b: f64, b_in_a: f64| {
        json!({"a": a, "b": b, "a_in_b": a_in_b, "b_in_a": b_in_a, "shared_bytes": 1000,
            "files_a": 3, "files_b": 4, "bytes_a": 2000, "bytes_b": 3000})
    };
    let pairs = json!([
        pair("/d/one", "/d/two", 0.5, 0.75),
        pair("/d/one", "/d/three", 0.25, 1.0),
        pair("/d/four", "/d/two", 0.99, 0.1)
    ]);
    let parameters = merged(json!({"roots": ["/d"], "of": null}), &common());
    document(
        "dirs",
        &parameters,
        3,
        &json!({"pairs": pairs, "errors": []}),
    )
}

pub(crate) fn compare() -> Value {
    let row = |class: &str, a: Value, b: Value, share: f64| {
        json!({"class": class, "a": a, "b": b, "a_in_b": share, "b_in_a": share,
            "shared_bytes": 300, "size_a": 700, "size_b": 800})
    };
    let mut split = row("contained", json!("lib/part.c"), json!("src/whole.c"), 0.8);
    split["others"] =
        json!([{"path": "src/rest.c", "a_in_b": 0.3, "b_in_a": 0.2, "shared_bytes": 256}]);
    let classes = |only_a: u64| {
        json!({"same": 1, "moved": 1, "edited": 1, "moved-edited": 0, "contained": 1,
            "contains": 0, "only-a": only_a, "only-b": 0})
    };
    let counts = json!({"classes_a": classes(1), "classes_b": classes(0),
            "files_a": 5, "files_b": 4, "bytes_a": 1000, "bytes_b": 900,
            "bytes_a_in_b": 973, "bytes_b_in_a": 900, "files_a_not_in_b": 1, "files_b_not_in_a": 0,
            "other": {"same": 0, "differ": 1, "only_a": 0, "only_b": 0}});
    let body = json!({
        "summary": merged(classes(1), &counts),
        "entries": [
            row("same", json!("a.txt"), json!("a.txt"), 1.0),
            row("edited", json!("b.txt"), json!("b.txt"), 0.5),
            split,
            row("moved", json!("old/m"), json!("new/m"), 1.0),
            row("only-a", json!("lost"), Value::Null, 0.0)],
        "trees": [{"a": "x", "b": "y", "a_in_b": 0.98, "b_in_a": 0.9, "files_a": 3, "files_b": 4,
            "bytes_a": 100, "bytes_b": 120}],
        "others": [{"path": "link", "a": "link", "b": "file"}],
        "errors": []});
    let parameters = merged(
        json!({"a": "/left", "b": "/right", "size_ratio": null, "same_suffix": false,
            "names": false, "classes": []}),
        &common(),
    );
    document("compare", &parameters, 5, &body)
}

pub(crate) fn covered() -> Value {
    let body = json!({"covered": false, "files": 4, "bytes": 4000,
        "missing": [
            {"path": "/x/new", "size": 10, "reason": "no equal file"},
            {"path": "/x/link", "size": 0, "reason": "symbolic link"}],
        "near": [{"path": "/x/new", "by": "/y/old", "a_in_b": 0.9, "b_in_a": 0.8,
            "shared_bytes": 1000}],
        "linked": [{"path": "/x/l", "by": "/y/l", "size": 5}],
        "copies": [{"path": "/x/c", "by": "/y/c", "size": 6}],
        "errors": []});
    let parameters = json!({"dir": "/x", "by": ["/y"], "params": "p"});
    document("covered", &parameters, 4, &body)
}

/// Writes a document and returns its path.
pub(crate) fn saved(env: &Environment, name: &str, document: &Value) -> PathBuf {
    let text = serde_json::to_vec(document).unwrap();
    let mut out = Vec::new();
    let mut sealing = Sealing::new(&mut out);
    sealing.write_all(text.strip_suffix(b"}").unwrap()).unwrap();
    sealing.seal(seal::JSON).unwrap();
    env.write(name, out)
}

/// Converts a saved report into another format and returns the path of the result.
pub(crate) fn printed(env: &Environment, document: &Value, format: &str) -> PathBuf {
    let verb = document["command"].as_str().unwrap();
    let from = saved(env, &format!("{verb}.json"), document);
    let to = env.path(format!("{verb}.{format}"));
    let ran = env.run([
        verb.as_ref(),
        "--from".as_ref(),
        from.as_os_str(),
        "--format".as_ref(),
        format.as_ref(),
        "-o".as_ref(),
        to.as_os_str(),
    ]);
    assert!(to.exists(), "{ran:?}");
    to
}
