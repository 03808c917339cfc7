//! Tests that `docs/schemas` has the schemas of the types that are written as JSON.
//!
//! `UPDATE_SCHEMAS=1 cargo test -p resemble-cli --features schema --lib schemas` rewrites them.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use resemble_proto::documents::{Body, Document, SimilarDirs, SimilarFiles, SimilarPairs};
use resemble_proto::list_body;
use resemble_proto::message::{
    AckRow, AlertRow, Comparison, Coverage, Explanation, Groups, TemplateRow, WatchRow,
};
use resemble_report::near_copies::NearCopies;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::Serialize;
use serde_json::{Value, json};

use super::alerts::AlertsParameters;
use super::alerts::ack::AckParameters;
use super::conflicts::SyncConflicts;
use super::doctor::Findings;
use super::fold::Folded;
use super::holders::Holders;
use super::order::Ordered;
use super::status;
use super::sweeps::{history, links, lost};
use super::versions::FileVersions;

/// The parameters of verbs that have none.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
struct EmptyParameters {}

macro_rules! listed {
    ($($body:ident { $list:ident: $row:ty } of $verb:literal, $parameters:ty;)*) => {$(
        list_body! {
            /// The body of an answer that is printed with a head and without a [`Document`].
            #[derive(JsonSchema)]
            struct $body {
                /// The rows.
                $list: Vec<$row>,
            } of $verb, $parameters
        }
    )*};
}

listed! {
    Alerts { alerts: AlertRow } of "alerts", AlertsParameters<'static>;
    Acks { acks: AckRow } of "ack", AckParameters;
    Catalogues { catalogues: WatchRow } of "catalogue", EmptyParameters;
    Roots { roots: WatchRow } of "watch", EmptyParameters;
    Templates { templates: TemplateRow } of "templates", EmptyParameters;
}

/// The lists of a document. If there are several lists, each is paired with the word that its rows
/// have in `jsonl`.
type ListWords = [(&'static str, &'static str)];

/// Returns the schema of `T`, an object that has the fields `schema` and `command`.
fn object<T: JsonSchema>(command: &str) -> Value {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    let schema = settings.into_generator().into_root_schema_for::<T>();
    let mut schema = schema.to_value();
    plain(&mut schema);
    schema
        .as_object_mut()
        .expect("an object")
        .remove("description");
    schema["properties"]["schema"] = json!({ "const": resemble_proto::SCHEMA });
    schema["properties"]["command"] = json!({ "const": command });
    schema
}

/// Returns the schema of a document. It contains the schema of a line of `jsonl` as `#/$defs/line`.
fn document<B: Body + JsonSchema>(lists: &ListWords) -> Value
where
    B::Parameters: JsonSchema,
{
    let mut schema = object::<Document<B>>(B::COMMAND);
    let mut head = schema.clone();
    let mut lines = vec![json!({ "$ref": "#/$defs/head" })];
    for (list, word) in lists {
        let items = &schema["properties"][list]["items"];
        let name = items["$ref"]
            .as_str()
            .expect("rows are a type of their own");
        let name = name.trim_start_matches("#/$defs/");
        lines.push(if B::TAGGED {
            let mut row = schema["$defs"][name].clone();
            row["properties"]["row"] = json!({ "const": word });
            row["required"]
                .as_array_mut()
                .expect("a list")
                .push(json!("row"));
            row
        } else {
            items.clone()
        });
    }
    let error = &schema["properties"]["errors"]["items"];
    lines.push(json!({
        "description": "What could not be looked at; after the rows.",
        "type": "object",
        "properties": { "error": error },
        "required": ["error"],
    }));
    let is_of_head = |name: &str| name != "errors" && lists.iter().all(|(list, _)| *list != name);
    let fields = head["properties"].as_object_mut().expect("an object");
    fields.retain(|name, _| is_of_head(name));
    let required = head["required"].as_array_mut().expect("a list");
    required.retain(|name| name.as_str().is_some_and(is_of_head));
    let head = json!({
        "description": "The first line.",
        "type": "object",
        "properties": head["properties"],
        "required": head["required"],
    });
    schema["$defs"]["head"] = head;
    schema["$defs"]["line"] = json!({
        "description": "A line of `--format jsonl`.",
        "anyOf": lines,
    });
    schema["properties"]["digest"] = json!({
        "description": "The BLAKE3 digest of all before it.",
        "type": "string",
    });
    schema["required"]
        .as_array_mut()
        .expect("a list")
        .push(json!("digest"));
    schema
}

/// Returns the schema of a line of `alerts --follow --format jsonl`.
fn stream() -> Value {
    let mut schema = document::<Alerts>(&[("alerts", "")]);
    let defs = schema["$defs"].as_object_mut().expect("an object");
    defs.remove("line");
    defs.retain(|name, _| name != "SoftError" && name != "SoftErrorKind");
    json!({
        "$schema": schema["$schema"],
        "$defs": schema["$defs"],
        "anyOf": [{ "$ref": "#/$defs/head" }, { "$ref": "#/$defs/AlertRow" }],
    })
}

/// Removes details of Rust: links in descriptions, and formats of numbers. Removes the type `null`
/// from optional fields, because a field without a value is omitted.
fn plain(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            if fields.get("format").is_some_and(Value::is_string) {
                fields.remove("format");
            }
            if let Some(Value::String(text)) = fields.get_mut("description") {
                *text = text
                    .replace("[`", "`")
                    .replace("`]", "`")
                    .replace('\n', " ");
            }
            let required = fields.get("required").cloned().unwrap_or_default();
            let required = required.as_array().cloned().unwrap_or_default();
            if let Some(Value::Object(all)) = fields.get_mut("properties") {
                let optional = all.iter_mut();
                let optional = optional.filter(|(name, _)| !required.contains(&json!(name)));
                optional.for_each(|(_, field)| never_null(field));
            }
            fields.values_mut().for_each(plain);
        }
        Value::Array(values) => values.iter_mut().for_each(plain),
        _ => {}
    }
}

fn never_null(field: &mut Value) {
    let Value::Object(field) = field else {
        return;
    };
    if let Some(Value::Array(types)) = field.get_mut("type") {
        types.retain(|word| word != "null");
        if let [one] = &types[..] {
            field["type"] = one.clone();
        }
    }
    if let Some(Value::Array(kinds)) = field.get_mut("anyOf") {
        kinds.retain(|kind| kind["type"] != "null");
        if let [Value::Object(one)] = &mut kinds[..] {
            let one = std::mem::take(one);
            field.remove("anyOf");
            field.extend(one);
        }
    }
}

/// Returns the schema in each file, with the command that prints documents of that schema.
fn all() -> BTreeMap<&'static str, (&'static str, Value)> {
    let compare = [("entries", "entry"), ("trees", "tree"), ("others", "other")];
    let covered = [
        ("missing", "missing"),
        ("near", "near"),
        ("linked", "linked"),
        ("copies", "copy"),
        ("recorded", "recorded"),
    ];
    let why = [
        ("members", "member"),
        ("ranges", "range"),
        ("repeats", "repeat"),
        ("differs_a", "differs-a"),
        ("differs_b", "differs-b"),
        ("changed", "changed"),
    ];
    let groups = [("identical", "identical"), ("clusters", "cluster")];
    let status = object::<status::Document<'_>>("status");
    let doctor = object::<Findings<'_>>("doctor");
    let ack = document::<Acks>(&[("acks", "")]);
    let alerts = document::<Alerts>(&[("alerts", "")]);
    let catalogues = document::<Catalogues>(&[("catalogues", "")]);
    let check = document::<NearCopies>(&[("results", "")]);
    let dirs = document::<SimilarDirs>(&[("pairs", "")]);
    let find = document::<SimilarFiles>(&[("results", "")]);
    let holders = document::<Holders>(&[("holders", "")]);
    let folded = document::<Folded>(&[("folded", "")]);
    let order = document::<Ordered>(&[("order", "")]);
    let history = document::<history::Versions>(&[("versions", "")]);
    let explanation = document::<Explanation>(&why);
    let mut conflicts = document::<SyncConflicts>(&[("conflicts", "")]);
    // The fields of a conflict are those of `why`, where they may be `null`. Here they may also be
    // absent.
    let fields = conflicts["$defs"]["ConflictRow"]["properties"].as_object_mut();
    for (name, field) in fields.expect("an object") {
        if let Some(same) = explanation["properties"].get(name) {
            field.clone_from(same);
        }
    }
    let links = document::<links::DeadLinks>(&[("links", "")]);
    let lost = document::<lost::Places>(&[("places", "")]);
    let pairs = document::<SimilarPairs>(&[("pairs", "")]);
    let templates = document::<Templates>(&[("templates", "")]);
    let versions = document::<FileVersions>(&[("versions", "")]);
    let roots = document::<Roots>(&[("roots", "")]);
    BTreeMap::from([
        ("alerts", ("alerts", alerts)),
        ("alerts-ack", ("alerts ack", ack)),
        ("alerts-follow", ("a line of alerts --follow", stream())),
        ("catalogue-list", ("catalogue list", catalogues)),
        ("check", ("check", check)),
        ("compare", ("compare", document::<Comparison>(&compare))),
        ("covered", ("covered", document::<Coverage>(&covered))),
        ("dirs", ("dirs", dirs)),
        ("doctor", ("doctor", doctor)),
        ("find", ("find, and the overlay's .report.json", find)),
        ("find-holders", ("find --holders", holders)),
        ("groups", ("groups", document::<Groups>(&groups))),
        ("groups-conflicts", ("groups --conflicts", conflicts)),
        ("groups-files-from", ("groups --files-from", folded)),
        ("groups-order", ("groups --order", order)),
        ("history", ("history", history)),
        ("lost", ("lost", lost)),
        ("lost-links", ("lost --links", links)),
        ("pairs", ("pairs", pairs)),
        ("status", ("status", status)),
        ("templates-list", ("templates list", templates)),
        ("versions", ("versions", versions)),
        ("watch-list", ("watch list", roots)),
        ("why", ("why", explanation)),
    ])
}

#[test]
fn the_schemas_are_those_of_the_types() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/schemas");
    let written: BTreeMap<String, String> = all()
        .into_iter()
        .map(|(name, (prints, mut schema))| {
            schema["title"] = json!(format!("resemble {prints}"));
            (format!("{name}.json"), format!("{schema:#}\n"))
        })
        .collect();
    if std::env::var_os("UPDATE_SCHEMAS").is_some() {
        for (name, text) in &written {
            fs::write(folder.join(name), text).expect("it is written");
        }
    }
    let there = fs::read_dir(&folder).expect("docs/schemas").map(|entry| {
        let path = entry.expect("an entry").path();
        let name = path.file_name().expect("a name").to_string_lossy();
        (name.into_owned(), fs::read_to_string(&path).expect("text"))
    });
    let there: BTreeMap<String, String> = there.collect();
    let names = |files: &BTreeMap<String, String>| files.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&there), names(&written));
    for (name, text) in &written {
        let is_current = there[name] == *text;
        assert!(is_current, "{name} is old: UPDATE_SCHEMAS=1 rewrites it");
    }
}
