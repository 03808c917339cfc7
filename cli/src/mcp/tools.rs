//! Defines the tools: their names, their arguments, and the question of the command line that each
//! tool asks.

use std::ffi::OsString;
use std::sync::Arc;

use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use serde::Deserialize;
use serde_json::{Value, json};

use super::asking::Invocation;
use super::places::{RootedPath, Roots};

/// The maximum length of a text that a question is about, in bytes.
const LONGEST_TEXT: usize = 1 << 20;

/// The default number of rows of each list. It is small enough that a client reads all rows.
const ROWS: usize = 20;
const MOST_ROWS: usize = 1000;

/// The default size of an answer in bytes.
const BYTES: usize = 32 << 10;
const LEAST_BYTES: usize = 1 << 10;
const MOST_BYTES: usize = 1 << 20;

/// A tool of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ToolKind {
    Find,
    Why,
    Compare,
    Covered,
    GroupsOf,
    AlertsSince,
    Status,
}

/// The limits of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bounds {
    pub(super) rows: usize,
    pub(super) bytes: usize,
}

/// A valid call of a tool.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Call {
    pub(super) kind: ToolKind,
    pub(super) invocation: Invocation,
    /// The paths that the call names. They are checked again before the answer is sent.
    pub(super) places: Vec<RootedPath>,
    pub(super) bounds: Bounds,
}

/// The arguments of all tools together.
#[derive(Debug, Default, Deserialize)]
struct Arguments {
    path: Option<String>,
    text: Option<String>,
    a: Option<String>,
    b: Option<String>,
    dir: Option<String>,
    by: Option<Vec<String>>,
    r#in: Option<Vec<String>>,
    min: Option<f64>,
    since: Option<String>,
    family: Option<bool>,
    max_rows: Option<usize>,
    max_bytes: Option<usize>,
}

impl ToolKind {
    const ALL: [Self; 7] = [
        Self::Find,
        Self::Why,
        Self::Compare,
        Self::Covered,
        Self::GroupsOf,
        Self::AlertsSince,
        Self::Status,
    ];

    pub(super) fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// Returns the name, the title and the description of the tool.
    const fn words(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::Find => (
                "find",
                "Files similar to a file or a text",
                "Lists the files that share content with a file, or with a text: near-duplicates, \
                 older and newer versions, what holds it and what lies in it. Ask before writing \
                 something new: it may be there already. a_in_b is how much of the file or text \
                 lies in the other file, b_in_a the reverse, both measured on the contents (0..1).",
            ),
            Self::Why => (
                "why",
                "What two files have in common",
                "Says which ranges two files share, with line numbers for texts, and how they \
                 relate. a and b may be members: archive.zip!name.",
            ),
            Self::Compare => (
                "compare",
                "Two directories by content",
                "Compares two directories by content, whatever the names: what was edited, moved, \
                 or is on one side only. Files that are the same at the same path are counted and \
                 not listed.",
            ),
            Self::Covered => (
                "covered",
                "Can a directory go?",
                "Says whether each file of a directory has a byte-for-byte equal file under one \
                 of the others (compared now), and lists what has none. Near copies are listed \
                 apart and are not safe.",
            ),
            Self::GroupsOf => (
                "groups_of",
                "Copies and versions of a file",
                "The set of identical files and the cluster of similar files that a file belongs \
                 to, with sizes and dates, the newest version marked; with family all earlier and \
                 later versions step by step.",
            ),
            Self::AlertsSince => (
                "alerts_since",
                "New near-duplicates",
                "What the daemon noticed since a time: changes that made a file resemble another.",
            ),
            Self::Status => (
                "status",
                "Is the daemon up to date?",
                "Says whether a daemon watches the roots of this server, and whether its answers \
                 are up to date. Without one the files are read when they are asked about.",
            ),
        }
    }

    /// Returns the arguments of the tool as a JSON schema, and the names of the required arguments.
    fn properties(self) -> (Value, &'static [&'static str]) {
        let (mut properties, required) = self.own_properties();
        if self != Self::Status {
            properties["max_rows"] = json!({"type": "integer", "minimum": 1, "maximum": MOST_ROWS,
                "description": format!("Most rows of each list [default: {ROWS}]")});
            properties["max_bytes"] = json!({"type": "integer", "minimum": LEAST_BYTES,
                "maximum": MOST_BYTES,
                "description": format!("Most bytes of the answer [default: {BYTES}]")});
        }
        (properties, required)
    }

    fn own_properties(self) -> (Value, &'static [&'static str]) {
        let path = |what: &str| json!({"type": "string", "description": what});
        let paths = |what: &str| {
            json!({"type": "array", "items": {"type": "string"}, "minItems": 1,
                "description": what})
        };
        match self {
            Self::Find => (
                json!({
                    "path": path("The file; or give a text"),
                    "text": {"type": "string", "maxLength": LONGEST_TEXT,
                        "description": "A text to look for, instead of a file"},
                    "in": paths("Look only in these files and directories [default: all roots]"),
                    "min": {"type": "number", "minimum": 0, "maximum": 1,
                        "description": "The least share, of the larger of a_in_b and b_in_a"}}),
                &[],
            ),
            Self::Why => (
                json!({"a": path("One file"), "b": path("The other")}),
                &["a", "b"],
            ),
            Self::Compare => (
                json!({"a": path("One directory or file"), "b": path("The other")}),
                &["a", "b"],
            ),
            Self::Covered => (
                json!({"dir": path("The directory that is to go"),
                    "by": paths("Where to look for equal files; dir itself does not count")}),
                &["dir", "by"],
            ),
            Self::GroupsOf => (
                json!({"path": path("The file"),
                    "family": {"type": "boolean",
                        "description": "Follow chains to all earlier and later versions"}}),
                &["path"],
            ),
            Self::AlertsSince => (
                json!({"since": {"type": "string",
                    "description": "2h, 1d, 2026-11-23, 2026-11-23T18:30:00Z, or the number of \
                                    the last alert that is known [default: 1d]"}}),
                &[],
            ),
            Self::Status => (json!({}), &[]),
        }
    }

    /// Describes the tool for clients.
    fn tool(self) -> Tool {
        let (name, title, description) = self.words();
        let (properties, required) = self.properties();
        let schema = json!({"type": "object", "properties": properties, "required": required,
            "additionalProperties": false});
        let schema: JsonObject = match schema {
            Value::Object(schema) => schema,
            _ => JsonObject::default(),
        };
        let hints = ToolAnnotations::with_title(title)
            .read_only(true)
            .idempotent(true)
            .open_world(false);
        Tool::new(name, description, Arc::new(schema))
            .with_title(title)
            .with_annotations(hints)
    }

    const fn name(self) -> &'static str {
        self.words().0
    }
}

pub(super) fn all() -> Vec<Tool> {
    ToolKind::ALL.into_iter().map(ToolKind::tool).collect()
}

impl Call {
    /// Parses a call of a tool, or returns a sentence about an error in its arguments.
    pub(super) fn of(
        kind: ToolKind,
        arguments: Option<JsonObject>,
        roots: &Roots,
    ) -> Result<Self, String> {
        let given = arguments.unwrap_or_default();
        let (properties, required) = kind.properties();
        let is_known = |name: &String| properties.get(name).is_some();
        if let Some(unknown) = given.keys().find(|name| !is_known(name)) {
            return Err(format!("{} takes no argument {unknown:?}", kind.name()));
        }
        let arguments: Arguments =
            serde_json::from_value(Value::Object(given)).map_err(|error| error.to_string())?;
        let mut asking = Asking {
            roots,
            places: Vec::new(),
            arguments: Vec::new(),
        };
        let needed = |value: Option<String>| {
            value.ok_or_else(|| format!("{} needs {}", kind.name(), required.join(" and ")))
        };
        let mut input = None;
        match kind {
            ToolKind::Find => {
                asking.word("find");
                match (arguments.path, arguments.text) {
                    (Some(path), None) => asking.place(&path)?,
                    (None, Some(text)) if text.len() <= LONGEST_TEXT => {
                        asking.word("-");
                        input = Some(text);
                    }
                    (None, Some(_)) => {
                        return Err(format!("a text has at most {LONGEST_TEXT} bytes"));
                    }
                    _ => return Err("find needs either path or text".to_owned()),
                }
                asking.scope("--in", arguments.r#in)?;
                if let Some(min) = arguments.min {
                    if !(0.0..=1.0).contains(&min) {
                        return Err("min is a share from 0 to 1".to_owned());
                    }
                    asking.word(&format!("--min={min}"));
                }
            }
            ToolKind::Why | ToolKind::Compare => {
                asking.word(kind.name());
                asking.place(&needed(arguments.a)?)?;
                asking.place(&needed(arguments.b)?)?;
            }
            ToolKind::Covered => {
                asking.word("covered");
                asking.place(&needed(arguments.dir)?)?;
                let by = arguments.by.filter(|by| !by.is_empty());
                let by = by.ok_or_else(|| "covered needs dir and by".to_owned())?;
                asking.scope("--by", Some(by))?;
            }
            ToolKind::GroupsOf => {
                asking.word("groups");
                asking.word("--of");
                asking.place(&needed(arguments.path)?)?;
                if arguments.family == Some(true) {
                    asking.word("--family");
                }
                for root in roots.paths() {
                    asking.arguments.push(root.into());
                }
            }
            ToolKind::AlertsSince => {
                let since = arguments.since.unwrap_or_else(|| "1d".to_owned());
                asking.word("alerts");
                asking.word(&format!("--since={since}"));
            }
            ToolKind::Status => asking.word("status"),
        }
        asking.word("--format=json");
        let bounds = Bounds {
            rows: bound(arguments.max_rows, ROWS, 1, MOST_ROWS, "max_rows")?,
            bytes: bound(
                arguments.max_bytes,
                BYTES,
                LEAST_BYTES,
                MOST_BYTES,
                "max_bytes",
            )?,
        };
        Ok(Self {
            kind,
            invocation: Invocation {
                arguments: asking.arguments,
                input,
            },
            places: asking.places,
            bounds,
        })
    }
}

fn bound(
    given: Option<usize>,
    usual: usize,
    least: usize,
    most: usize,
    name: &str,
) -> Result<usize, String> {
    let given = given.unwrap_or(usual);
    if (least..=most).contains(&given) {
        Ok(given)
    } else {
        Err(format!("{name} is from {least} to {most}"))
    }
}

/// Collects the arguments of a process one by one.
struct Asking<'a> {
    roots: &'a Roots,
    places: Vec<RootedPath>,
    arguments: Vec<OsString>,
}

impl Asking<'_> {
    fn word(&mut self, word: &str) {
        self.arguments.push(word.into());
    }

    /// Adds a file or directory beneath a root to the arguments. Its path is absolute, so it cannot
    /// be taken for an option.
    fn place(&mut self, name: &str) -> Result<(), String> {
        let place = self.roots.place(name).map_err(|error| error.to_string())?;
        self.arguments.push(place.path.clone().into());
        self.places.push(place);
        Ok(())
    }

    /// Adds the directories that are searched: those of `within`, or all roots.
    fn scope(&mut self, option: &str, within: Option<Vec<String>>) -> Result<(), String> {
        let Some(within) = within.filter(|within| !within.is_empty()) else {
            for root in self.roots.paths() {
                self.arguments.extend([option.into(), root.into()]);
            }
            return Ok(());
        };
        for name in within {
            self.arguments.push(option.into());
            self.place(&name)?;
        }
        Ok(())
    }
}
