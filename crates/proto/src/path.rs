//! Writes names of any bytes in JSON, which has only Unicode.
//!
//! A Unix name is a sequence of bytes. A row has such a name as two fields. `path` is the text,
//! with U+FFFD in place of bytes that are not UTF-8. This text is enough for people and for nearly
//! all scripts. `path_b64` is base64 of the true bytes, and is present only if the text differs
//! from these bytes. The wire uses the same two fields as the documents, so nothing is converted in
//! between. Rows with other names for their paths (`a`, `b`, `file`) follow the same rule; see
//! [`fields`].
//!
//! Other paths, such as those in the list of directories of a request, are strings. If such a path
//! is not UTF-8, it is an object `{"b64": …}`.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::fmt;
use std::ops::Deref;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::de::{self, Deserializer};
use serde::ser::{SerializeMap, Serializer};
use serde::{Deserialize, Serialize};

/// A path or name as raw bytes. Paths are ordered by these bytes. A clone shares the bytes, so rows
/// with the same path share its bytes.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PathText(
    /// The bytes; `None` if the path is empty. An empty path is never stored in another way.
    Option<Arc<[u8]>>,
);

impl PathText {
    /// The empty path.
    pub const NOTHING: Self = Self(None);

    /// Returns a path that has these bytes.
    pub fn from_bytes(bytes: impl AsRef<[u8]>) -> Self {
        let bytes = bytes.as_ref();
        Self((!bytes.is_empty()).then(|| bytes.into()))
    }

    /// Returns the raw bytes.
    pub fn as_bytes(&self) -> &[u8] {
        self.0.as_deref().unwrap_or_default()
    }

    /// Returns the bytes as a path for system calls.
    pub fn as_path(&self) -> &Path {
        Path::new(OsStr::from_bytes(self.as_bytes()))
    }

    /// Returns the path as text. Returns `None` if its bytes are not UTF-8.
    pub fn as_utf8(&self) -> Option<&str> {
        std::str::from_utf8(self.as_bytes()).ok()
    }

    /// Returns the path as text, with U+FFFD in place of bytes that are not UTF-8.
    pub fn lossy(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(self.as_bytes())
    }

    fn b64(&self) -> String {
        BASE64.encode(self.as_bytes())
    }

    fn from_b64<E: de::Error>(text: &str) -> Result<Self, E> {
        let bytes = BASE64.decode(text);
        bytes
            .map(Self::from_bytes)
            .map_err(|_| E::custom("a path is not base64"))
    }
}

impl From<&Path> for PathText {
    fn from(path: &Path) -> Self {
        Self::from_bytes(path.as_os_str().as_bytes())
    }
}

impl From<PathBuf> for PathText {
    fn from(path: PathBuf) -> Self {
        path.as_path().into()
    }
}

impl From<&str> for PathText {
    fn from(path: &str) -> Self {
        Self::from_bytes(path)
    }
}

impl From<PathText> for PathBuf {
    fn from(path: PathText) -> Self {
        path.as_path().to_owned()
    }
}

/// Like a `PathBuf`, a [`PathText`] can be used where a `Path` is expected.
impl Deref for PathText {
    type Target = Path;

    fn deref(&self) -> &Path {
        self.as_path()
    }
}

impl AsRef<Path> for PathText {
    fn as_ref(&self) -> &Path {
        self.as_path()
    }
}

impl fmt::Debug for PathText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_path(), f)
    }
}

impl Serialize for PathText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if let Some(text) = self.as_utf8() {
            return serializer.serialize_str(text);
        }
        let mut map = serializer.serialize_map(Some(1))?;
        map.serialize_entry("b64", &self.b64())?;
        map.end()
    }
}

impl<'de> Deserialize<'de> for PathText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> de::Visitor<'de> for Visitor {
            type Value = PathText;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a path: a string or {\"b64\": string}")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<PathText, E> {
                Ok(PathText::from(text))
            }

            fn visit_map<A: de::MapAccess<'de>>(self, mut map: A) -> Result<PathText, A::Error> {
                let mut path = None;
                while let Some(key) = map.next_key::<Cow<'de, str>>()? {
                    if key == "b64" {
                        path = Some(PathText::from_b64(&map.next_value::<Cow<'de, str>>()?)?);
                    } else {
                        map.next_value::<de::IgnoredAny>()?;
                    }
                }
                path.ok_or_else(|| de::Error::missing_field("b64"))
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

/// Types that read and write a path as the two fields `NAME` and `NAME_b64`. They are used by
/// `#[serde(flatten, with = "fields::NAME")]`.
///
/// These types differ only in the names of the fields. They are types and not modules because
/// `schemars` also uses the attribute. It expects a type of this name that has the schema of the
/// two fields.
#[allow(non_camel_case_types)] // named like the fields
pub mod fields {
    use super::{Deserialize, Deserializer, PathText, SerializeMap, Serializer, de};

    macro_rules! path_fields {
        ($module:ident, $text:literal, $b64:literal) => {
            #[doc = concat!("A path as `", $text, "` and, when it is not UTF-8, `", $b64, "`.")]
            #[derive(Debug, Deserialize)]
            #[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
            pub struct $module {
                /// The path, with U+FFFD where its bytes are not UTF-8.
                #[serde(rename = $text)]
                text: String,
                /// The bytes of the path in base64, if they are not UTF-8; otherwise absent.
                #[serde(rename = $b64, default, skip_serializing_if = "Option::is_none")]
                b64: Option<String>,
            }

            impl $module {
                /// Writes the two fields.
                pub fn serialize<S: Serializer>(
                    path: &PathText,
                    serializer: S,
                ) -> Result<S::Ok, S::Error> {
                    path_entries(path, $text, $b64, serializer)
                }

                /// Reads the two fields. If they differ, the base64 field is used.
                pub fn deserialize<'de, D: Deserializer<'de>>(
                    deserializer: D,
                ) -> Result<PathText, D::Error> {
                    let fields = <Self as Deserialize>::deserialize(deserializer)?;
                    match fields.b64 {
                        Some(b64) => {
                            PathText::from_b64::<de::value::Error>(&b64).map_err(de::Error::custom)
                        }
                        None => Ok(PathText::from_bytes(fields.text)),
                    }
                }
            }
        };
    }

    macro_rules! optional_path_fields {
        ($module:ident, $text:literal, $b64:literal) => {
            #[doc = concat!("A path or nothing: `", $text, "`, `null` without a path, and")]
            #[doc = concat!("`", $b64, "` when the path is not UTF-8.")]
            #[derive(Debug, Deserialize)]
            #[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
            pub struct $module {
                /// The path, with U+FFFD where its bytes are not UTF-8; `null` if it is absent.
                #[serde(rename = $text)]
                text: Option<String>,
                /// The bytes of the path in base64, if they are not UTF-8; otherwise absent.
                #[serde(rename = $b64, default, skip_serializing_if = "Option::is_none")]
                b64: Option<String>,
            }

            impl $module {
                /// Writes the two fields.
                #[allow(clippy::ref_option)] // the signature that serde's `with` asks for
                pub fn serialize<S: Serializer>(
                    path: &Option<PathText>,
                    serializer: S,
                ) -> Result<S::Ok, S::Error> {
                    let Some(path) = path else {
                        let mut map = serializer.serialize_map(Some(1))?;
                        map.serialize_entry($text, &None::<&str>)?;
                        return map.end();
                    };
                    path_entries(path, $text, $b64, serializer)
                }

                /// Reads the two fields. If they differ, the base64 field is used.
                pub fn deserialize<'de, D: Deserializer<'de>>(
                    deserializer: D,
                ) -> Result<Option<PathText>, D::Error> {
                    let fields = <Self as Deserialize>::deserialize(deserializer)?;
                    match (fields.b64, fields.text) {
                        (Some(b64), _) => PathText::from_b64::<de::value::Error>(&b64)
                            .map(Some)
                            .map_err(de::Error::custom),
                        (None, text) => Ok(text.map(PathText::from_bytes)),
                    }
                }
            }
        };
    }

    fn path_entries<S: Serializer>(
        path: &PathText,
        text: &'static str,
        b64: &'static str,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let faithful = path.as_utf8().is_some();
        let mut map = serializer.serialize_map(Some(2 - usize::from(faithful)))?;
        map.serialize_entry(text, &path.lossy())?;
        if !faithful {
            map.serialize_entry(b64, &path.b64())?;
        }
        map.end()
    }

    optional_path_fields!(opt_a, "a", "a_b64");
    optional_path_fields!(opt_b, "b", "b_b64");
    optional_path_fields!(opt_path, "path", "path_b64");
    path_fields!(path, "path", "path_b64");
    path_fields!(file, "file", "file_b64");
    path_fields!(root, "root", "root_b64");
    path_fields!(a, "a", "a_b64");
    path_fields!(b, "b", "b_b64");
    path_fields!(center, "center", "center_b64");
    path_fields!(by, "by", "by_b64");
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[derive(Debug, PartialEq, serde::Serialize, serde::Deserialize)]
    struct Row {
        #[serde(flatten, with = "fields::a")]
        a: PathText,
        #[serde(flatten, with = "fields::path")]
        path: PathText,
        n: u64,
    }

    fn json<T: Serialize>(value: &T) -> String {
        serde_json::to_string(value).unwrap()
    }

    #[test]
    fn utf8_is_one_field() {
        let row = Row {
            a: "ä\n".into(),
            path: "/x".into(),
            n: 1,
        };
        assert_eq!(json(&row), r#"{"a":"ä\n","path":"/x","n":1}"#);
    }

    #[test]
    fn other_bytes_are_two() {
        let row = Row {
            a: "x".into(),
            path: PathText::from_bytes(*b"/a\xff"),
            n: 1,
        };
        let text = json(&row);
        assert_eq!(
            text,
            "{\"a\":\"x\",\"path\":\"/a\u{fffd}\",\"path_b64\":\"L2H/\",\"n\":1}"
        );
        assert_eq!(serde_json::from_str::<Row>(&text).unwrap(), row);
    }

    #[test]
    fn alone_it_is_a_string_or_an_object() {
        assert_eq!(json(&PathText::from("/x")), "\"/x\"");
        assert_eq!(json(&PathText::from_bytes(*b"\xff")), r#"{"b64":"/w=="}"#);
    }

    #[test]
    fn bad_base64_is_an_error() {
        assert!(serde_json::from_str::<PathText>(r#"{"b64":"?"}"#).is_err());
        assert!(serde_json::from_str::<PathText>(r"{}").is_err());
        assert!(serde_json::from_str::<Row>(r#"{"a":"","path":"","path_b64":"?","n":1}"#).is_err());
    }

    proptest! {
        #[test]
        fn any_bytes_survive(a: Vec<u8>, path: Vec<u8>) {
            let row = Row { a: PathText::from_bytes(&a), path: PathText::from_bytes(path), n: 7 };
            prop_assert_eq!(&serde_json::from_str::<Row>(&json(&row)).unwrap(), &row);
            let alone = PathText::from_bytes(a);
            prop_assert_eq!(&serde_json::from_str::<PathText>(&json(&alone)).unwrap(), &alone);
        }
    }
}
