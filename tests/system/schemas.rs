//! Compares the output of `--format json` and `jsonl` with `docs/schemas`, field by field, with a
//! daemon and without.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use jsonschema::Validator;
use resemble_testutil::office::{dated_docx, docx};
use resemble_testutil::pack::{mail, zip};
use resemble_testutil::prose::{edited, prose};
use resemble_testutil::random::noise;
use resemble_testutil::{Ran, Sandbox};
use serde_json::{Map, Value, json};

fn folder() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/schemas"))
}

/// A schema that also refuses fields that it does not name.
pub(super) struct StrictSchema {
    document: Validator,
    head: Option<Validator>,
    line: Option<Validator>,
}

impl StrictSchema {
    pub(super) fn read(name: &str) -> Self {
        let text = fs::read_to_string(folder().join(format!("{name}.json"))).expect("a schema");
        let mut schema: Value = serde_json::from_str(&text).expect("JSON");
        jsonschema::meta::validate(&schema).expect("a schema of 2020-12");
        forbid_others(&mut schema);
        let validator = |schema: &Value| jsonschema::validator_for(schema).expect("a schema");
        let part = |name: &str| {
            schema["$defs"].get(name)?;
            let reference = format!("#/$defs/{name}");
            Some(validator(
                &json!({ "$ref": reference, "$defs": schema["$defs"] }),
            ))
        };
        Self {
            document: validator(&schema),
            head: part("head"),
            line: part("line"),
        }
    }

    #[track_caller]
    fn accepts(&self, what: &str, answer: &Value) {
        accepts(&self.document, what, answer);
    }

    /// Changes each field of an answer in turn. The schema must refuse a renamed field, another
    /// type, and the lack of a required field.
    #[track_caller]
    fn refuses_changes(&self, what: &str, answer: &Value) {
        let mut answer = answer.clone();
        keep_first(&mut answer);
        self.accepts(what, &answer);
        let mut fields = Vec::new();
        list_fields(&answer, "", &mut fields);
        for (object, name) in fields {
            let changed = |change: &dyn Fn(&mut Map<String, Value>)| {
                let mut changed = answer.clone();
                let fields = changed.pointer_mut(&object).expect("it is there");
                change(fields.as_object_mut().expect("an object"));
                changed
            };
            let renamed = changed(&|fields| {
                let value = fields.remove(&name).expect("it is there");
                fields.insert(format!("{name}s"), value);
            });
            let retyped = changed(&|fields| {
                let value = &mut fields[&name];
                *value = if value.is_array() {
                    json!(true)
                } else {
                    json!([[]])
                };
            });
            let missing = changed(&|fields| drop(fields.remove(&name)));
            let place = format!("{what} {object}/{name}");
            assert!(!self.document.is_valid(&renamed), "{place} was renamed");
            assert!(
                !self.document.is_valid(&retyped),
                "{place} has another type"
            );
            let is_refused = !self.document.is_valid(&missing);
            // A conflict without another file has no figures, and parameters may lack `relation`.
            // So the schema does not require these fields there.
            let may_lack = what.contains("--conflicts") || object == "/parameters";
            let is_owed = ALWAYS.contains(&&*name) && !may_lack;
            assert!(is_refused || !is_owed, "{place} is missing");
        }
    }

    /// Checks the lines of `jsonl`: the first is a head, the other lines are rows and errors.
    #[track_caller]
    fn accepts_lines(&self, what: &str, text: &str) {
        let (head, line) = (self.head.as_ref(), self.line.as_ref());
        for (number, text) in text.lines().enumerate() {
            let value: Value = serde_json::from_str(text).expect("JSON");
            let validator = if number == 0 { head } else { line };
            accepts(validator.expect("jsonl"), what, &value);
        }
    }

    /// A line of a stream.
    #[track_caller]
    pub(super) fn accepts_line(&self, line: &Value) {
        accepts(&self.document, "a stream", line);
    }
}

#[track_caller]
fn accepts(validator: &Validator, what: &str, value: &Value) {
    let errors = validator.iter_errors(value);
    let errors: Vec<String> = errors
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    assert!(errors.is_empty(), "{what}: {errors:#?}\n{value:#}");
}

/// Fields that are required in every object that may have them.
const ALWAYS: [&str; 23] = [
    "schema",
    "version",
    "command",
    "parameters",
    "errors",
    "digest",
    "fresh",
    "pending",
    "total",
    "shown",
    "file",
    "path",
    "relation",
    "a",
    "b",
    "a_in_b",
    "b_in_a",
    "resemblance",
    "shared_bytes",
    "message",
    "size",
    "mtime",
    "class",
];

/// Keeps only the first element of each list of objects.
fn keep_first(value: &mut Value) {
    match value {
        Value::Object(fields) => fields.values_mut().for_each(keep_first),
        Value::Array(values) if values.iter().all(Value::is_object) => {
            values.truncate(1);
            values.iter_mut().for_each(keep_first);
        }
        _ => {}
    }
}

/// Collects all fields of a document. A field is stored as a pair: the JSON pointer of the object
/// that has it, and its name.
fn list_fields(value: &Value, at: &str, fields: &mut Vec<(String, String)>) {
    match value {
        Value::Object(object) => {
            for (name, value) in object {
                fields.push((at.to_owned(), name.clone()));
                list_fields(value, &format!("{at}/{name}"), fields);
            }
        }
        Value::Array(values) => {
            for (number, value) in values.iter().enumerate() {
                list_fields(value, &format!("{at}/{number}"), fields);
            }
        }
        _ => {}
    }
}

fn forbid_others(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            if fields.get("properties").is_some_and(Value::is_object) {
                fields.insert("additionalProperties".to_owned(), json!(false));
            }
            fields.values_mut().for_each(forbid_others);
        }
        Value::Array(values) => values.iter_mut().for_each(forbid_others),
        _ => {}
    }
}

/// Makes versions, parts, copies, links, documents, archives, unreadable files, and files with
/// names of any bytes.
fn mixed_tree(sandbox: &Sandbox) {
    let text = prose(1, 20_000);
    for version in 0..4 {
        let name = format!("a/v{version}.txt");
        sandbox.write(name, edited(&text, version, version as usize * 3));
    }
    sandbox.write("a/part.txt", &text[..7_000]);
    sandbox.write("a/copy.txt", &text);
    sandbox.write("a/only.txt", prose(2, 9_000));
    sandbox.write("a/small", "few");
    sandbox.write("a/noise.bin", noise(3, 40_000));
    sandbox.write("a/numbers.csv", numbers(1));
    sandbox.write("b/numbers.csv", numbers(2));
    sandbox.write(OsStr::from_bytes(b"a/\xff\n.txt"), edited(&text, 9, 5));
    sandbox.write(OsStr::from_bytes(b"b/\xfe.txt"), &text);
    sandbox.write("b/v1.txt", edited(&text, 1, 3));
    sandbox.write("b/moved.bin", noise(3, 40_000));
    sandbox.write("b/new.txt", prose(4, 5_000));
    let words = String::from_utf8(prose(5, 8_000)).expect("text");
    let more = format!("{words} {}", String::from_utf8_lossy(&prose(6, 900)));
    sandbox.write("a/report.docx", dated_docx(&words, "2024-03-01T10:00:00Z"));
    sandbox.write("b/report-2.docx", dated_docx(&more, "2025-03-01T10:00:00Z"));
    sandbox.write("b/undated.docx", docx(&words));
    sandbox.write("a/damaged.docx", &docx(&more)[..900]);
    let members: [(&str, &[u8]); 2] = [("in/one.txt", &text), ("in/two.txt", &noise(7, 9_000))];
    sandbox.write("a/packed.zip", zip(&members));
    let members: [(&str, &[u8]); 2] = [("one.txt", &edited(&text, 2, 4)), ("x", &noise(7, 9_000))];
    sandbox.write("b/packed.zip", zip(&members));
    sandbox.write(
        "b/letter.eml",
        mail("With the report.", &[("v.txt", &text)]),
    );
    let link = |from: &str, to: &str| fs::hard_link(sandbox.tree(from), sandbox.tree(to));
    link("a/only.txt", "b/linked.txt").expect("a hard link");
    let conflict = "a/v1.sync-conflict-20240131-101112-ABCDEF7.txt";
    sandbox.write(conflict, edited(&text, 8, 3));
    // The file and its conflicting copy are too small to be judged.
    sandbox.write("a/s.txt", "one");
    sandbox.write("a/s.sync-conflict-20240131-101112-ABCDEF7.txt", "two");
    for (target, name) in [("nowhere", "a/link"), ("gone.txt", "a/gone")] {
        std::os::unix::fs::symlink(target, sandbox.tree(name)).expect("a link");
    }
}

fn numbers(seed: usize) -> String {
    let rows = (0..300).map(|row| format!("item number {row} costs {} euro\n", row * seed));
    rows.collect()
}

/// Schemas of answers that only a daemon gives, or that are the same with and without a daemon.
const BY_DAEMON: [&str; 7] = [
    "alerts",
    "alerts-ack",
    "catalogue-list",
    "doctor",
    "status",
    "templates-list",
    "watch-list",
];

/// A schema, and a question whose answer must be valid by the schema.
const QUESTIONS: [(&str, &str); 41] = [
    ("find", "find tree/a/v1.txt --in tree"),
    (
        "find",
        "find tree/a/v1.txt --all --in tree --in tree/absent",
    ),
    (
        "find",
        "find tree/a/report.docx tree/a/damaged.docx --in tree",
    ),
    ("find", "find tree/a/packed.zip --in tree --top 1"),
    ("find", "find tree/a/numbers.csv --in tree/b"),
    ("find", "find tree/a/v2.txt --in disk.cat:"),
    ("find-holders", "find --holders tree/a/part.txt --in tree"),
    ("pairs", "pairs tree"),
    ("pairs", "pairs tree --all --top 9 --relation near,contains"),
    ("pairs", "pairs tree/a disk.cat: --text all"),
    ("why", "why tree/a/v1.txt tree/a/v3.txt"),
    ("why", "why tree/a/numbers.csv tree/b/numbers.csv"),
    ("why", "why tree/a/packed.zip tree/b/packed.zip"),
    ("why", "why tree/a/noise.bin tree/b/moved.bin"),
    ("compare", "compare tree/a tree/b"),
    ("compare", "compare tree/a disk.cat: --all"),
    ("covered", "covered tree/b --by tree/a"),
    ("covered", "covered tree/a --by disk.cat:"),
    ("groups", "groups tree"),
    ("groups", "groups tree disk.cat: --top 1"),
    ("groups", "groups tree --relation near,identical"),
    ("find", "find tree/a/v1.txt --in tree --relation near"),
    ("groups-order", "groups --order tree"),
    ("groups-conflicts", "groups --conflicts tree"),
    ("groups-files-from", "groups --files-from list"),
    ("dirs", "dirs tree"),
    ("versions", "versions tree/a/v1.txt --in tree"),
    ("versions", "versions tree/a/report.docx --in tree"),
    ("history", "history tree/a/v1.txt --in tree --in disk.cat"),
    ("lost", "lost tree/a/gone.txt --in tree --in disk.cat"),
    ("lost", "lost tree/b/found.txt"),
    ("lost-links", "lost --links tree"),
    ("check", "check tree/b/v1.txt tree/b/absent --in tree/a"),
    (
        "check",
        "check tree/b/v1.txt --in tree/a --baseline accepted",
    ),
    ("status", "status"),
    ("doctor", "doctor"),
    ("alerts", "alerts"),
    ("alerts-ack", "alerts ack --list"),
    ("catalogue-list", "catalogue list"),
    ("watch-list", "watch list"),
    ("templates-list", "templates list"),
];

/// Starts a daemon and prepares everything that a document can contain.
fn asked_daemon(sandbox: &Sandbox) -> resemble_testutil::Daemon<'_> {
    mixed_tree(sandbox);
    sandbox.write("a/gone.txt", prose(8, 6_000));
    let written = ["catalogue", "write", "tree", "-o", "disk.cat"];
    sandbox.resemble(written).exits(2);
    fs::remove_file(sandbox.tree("a/gone.txt")).expect("it was there");
    sandbox.write("b/found.txt", edited(&prose(8, 6_000), 1, 2));
    let list = b"tree/a/v0.txt\ntree/a/v1.txt\ntree/a/only.txt\ntree/a/\xff\n";
    fs::write(sandbox.path("list"), list).expect("a list");
    fs::write(sandbox.path("accepted"), "").expect("a baseline");
    let daemon = sandbox.mounted(["--exclude", "*.log"]);
    daemon.sync();
    sandbox.resemble(["catalogue", "add", "disk.cat"]).success();
    let marked = ["templates", "mark", "--name", "a frame", "tree/a/part.txt"];
    sandbox.resemble(marked).success();
    sandbox.write("b/alerted.txt", edited(&prose(2, 9_000), 4, 2));
    sandbox.write(
        OsStr::from_bytes(b"b/\xfd.txt"),
        edited(&prose(2, 9_000), 5, 2),
    );
    fs::rename(sandbox.tree("b/found.txt"), sandbox.tree("b/renamed.txt")).expect("a rename");
    daemon.sync();
    let seen = ["alerts", "ack", "tree/b/alerted.txt"];
    sandbox.resemble(seen).success();
    daemon
}

fn ask(sandbox: &Sandbox, question: &str, more: &[&str]) -> Ran {
    sandbox.resemble(question.split(' ').chain(more.iter().copied()))
}

#[test]
fn every_answer_is_as_its_schema_says_and_no_other_is() {
    let sandbox = Sandbox::new();
    let _daemon = asked_daemon(&sandbox);
    let mut asked = BTreeSet::from(["alerts-follow.json".to_owned()]);
    for (name, question) in QUESTIONS {
        let schema = StrictSchema::read(name);
        let answer = ask(&sandbox, question, &["--format", "json"]).json();
        schema.accepts(question, &answer);
        schema.refuses_changes(question, &answer);
        if schema.line.is_some() {
            let lines = ask(&sandbox, question, &["--format", "jsonl"]);
            schema.accepts_lines(question, &lines.text());
        }
        asked.insert(format!("{name}.json"));
        if !BY_DAEMON.contains(&name) {
            let alone = ask(&sandbox, question, &["--local", "--format", "json"]);
            schema.accepts(question, &alone.json());
        }
    }
    let schemas = fs::read_dir(folder()).expect("docs/schemas");
    let schemas = schemas.map(|entry| entry.expect("an entry").file_name());
    let schemas: BTreeSet<_> = schemas
        .map(|name| name.to_string_lossy().into_owned())
        .collect();
    assert_eq!(schemas, asked, "each schema has a question");
}
