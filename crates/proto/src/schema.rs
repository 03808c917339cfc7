//! Defines the schemas of types with handwritten serialization: shares, bare paths, relations.

use std::borrow::Cow;

use resemble_core::Relation;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use crate::message::relation_word;
use crate::number::Fraction;
use crate::path::PathText;

macro_rules! schema_of {
    ($type:ty, $schema:expr) => {
        impl JsonSchema for $type {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> Cow<'static, str> {
                stringify!($type).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                $schema
            }
        }
    };
}

schema_of!(
    Fraction,
    json_schema!({ "type": ["number", "null"], "minimum": 0, "maximum": 1 })
);

// A path that is a single value, and not two fields of a row: see [`crate::path`].
schema_of!(
    PathText,
    json_schema!({
        "anyOf": [
            { "type": "string" },
            {
                "type": "object",
                "properties": { "b64": { "type": "string" } },
                "required": ["b64"],
            },
        ],
    })
);

schema_of!(relation_word, {
    let words = Relation::ALL
        .into_iter()
        .map(|relation| Some(relation.word()));
    let words: Vec<_> = words.chain([None]).collect();
    json_schema!({ "type": ["string", "null"], "enum": words })
});
