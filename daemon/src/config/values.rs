//! The types of the values in the configuration file.

use resemble_fs::{BadName, SimilarName};
use resemble_proto::message::AlertWord;
use resemble_proto::number::{Fraction, share, size};
use resemble_proto::pattern::{self, BadPattern};
use serde::{Deserialize, Deserializer, de};

pub(super) fn words(list: &[Word]) -> Vec<AlertWord> {
    list.iter().map(|word| word.0).collect()
}

/// A kind of alert, as `alert-kinds` names it.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(try_from = "String")]
pub(super) struct Word(AlertWord);

impl TryFrom<String> for Word {
    type Error = String;

    fn try_from(word: String) -> Result<Self, String> {
        let known = word.parse().map(Self);
        known.map_err(|_| format!("`{word}` is not one of {}", AlertWord::WORDS))
    }
}

/// A number, or text with a unit.
#[derive(Deserialize)]
#[serde(
    untagged,
    expecting = "expected a number from 0 on, or text such as \"10K\" or \"80%\""
)]
pub(super) enum NumberOrWords<N> {
    Number(N),
    Words(String),
}

/// A share: text such as `"80%"`, or a number from 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Share(pub(super) Fraction);

impl<'de> Deserialize<'de> for Share {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let words = match NumberOrWords::<f64>::deserialize(from)? {
            NumberOrWords::Number(number) => number.to_string(),
            NumberOrWords::Words(words) => words,
        };
        share(&words).map(Self).map_err(de::Error::custom)
    }
}

/// A pattern of `exclude`, as in ignore files.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(try_from = "String")]
pub(super) struct Pattern(pub(super) String);

impl TryFrom<String> for Pattern {
    type Error = BadPattern;

    fn try_from(pattern: String) -> Result<Self, BadPattern> {
        pattern::check(&pattern).map(|()| Self(pattern))
    }
}

/// The name of `similar-name`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(try_from = "String")]
pub(super) struct Name(pub(super) SimilarName);

impl TryFrom<String> for Name {
    type Error = BadName;

    fn try_from(name: String) -> Result<Self, BadName> {
        name.parse().map(Self)
    }
}

/// A size: text such as `"1.5G"`, or a number of bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Size(pub(super) u64);

impl<'de> Deserialize<'de> for Size {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        match NumberOrWords::deserialize(from)? {
            NumberOrWords::Number(bytes) => Ok(Self(bytes)),
            NumberOrWords::Words(words) => size(&words).map(Self).map_err(de::Error::custom),
        }
    }
}
