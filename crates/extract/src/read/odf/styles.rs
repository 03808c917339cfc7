//! Reads the styles of Open Document. Styles define whether text is hidden and how numbers are
//! shown.

use std::collections::{BTreeMap, BTreeSet};

use crate::read::Take;
use crate::read::xml::{Element, Node, Xml};

/// The properties that a style sets itself, without those of its ancestors.
#[derive(Debug, Default)]
struct Style {
    hides: Option<bool>,
    parent: Option<String>,
    /// The name of the style for numbers and dates.
    data: Option<String>,
}

/// The styles of a document.
#[derive(Debug, Default)]
pub(super) struct Styles {
    /// The styles by family and name.
    all: BTreeMap<String, BTreeMap<String, Style>>,
    /// The names of the number styles that change how a number is shown.
    shaping: BTreeSet<String>,
}

/// The maximum number of ancestors of a style that are searched.
const DEEPEST: usize = 16;

impl Styles {
    /// Reads styles until the body of the document begins, or the document ends.
    pub(super) fn read(&mut self, xml: &mut Xml<'_>) -> Take {
        let mut current = None::<(String, String)>;
        let mut number = None::<String>;
        loop {
            match xml.next()? {
                Node::Open(element) => match element.full_name() {
                    "office:body" => return Ok(()),
                    "style:style" => {
                        let of = |name| element.prefixed(name);
                        current = of("style:family").zip(of("style:name"));
                        if let Some((family, name)) = current.clone() {
                            let style = Style {
                                hides: None,
                                parent: of("style:parent-style-name"),
                                data: of("style:data-style-name"),
                            };
                            self.all.entry(family).or_default().insert(name, style);
                        }
                    }
                    "style:text-properties" => {
                        let style = current
                            .as_ref()
                            .and_then(|(family, name)| self.all.get_mut(family)?.get_mut(name));
                        if let Some(style) = style {
                            let display = element.prefixed("text:display");
                            style.hides = display.map(|display| display == "none");
                        }
                    }
                    "number:number-style" => number = element.prefixed("style:name"),
                    "number:number" if shows_all(&element) => {}
                    name if name.starts_with("number:") || name == "style:map" => {
                        let of = element.prefixed("style:name");
                        self.shaping.extend(of.or_else(|| number.take()));
                    }
                    _ => {}
                },
                Node::Close(element) => match element.name() {
                    "style" => current = None,
                    "number-style" => number = None,
                    _ => {}
                },
                Node::End => return Ok(()),
                _ => {}
            }
        }
    }

    /// Returns a property of a style. If the style does not set it, returns the property of the
    /// nearest ancestor that does.
    fn nearest<T>(
        &self,
        family: &str,
        name: Option<&str>,
        says: impl Fn(&Style) -> Option<T>,
    ) -> Option<T> {
        let styles = self.all.get(family)?;
        let mut next = name;
        for _ in 0..DEEPEST {
            let style = styles.get(next?)?;
            if let Some(said) = says(style) {
                return Some(said);
            }
            next = style.parent.as_deref();
        }
        None
    }

    /// Returns whether text in this style is hidden.
    pub(super) fn hides(&self, family: &str, name: Option<&str>) -> bool {
        self.nearest(family, name, |style| style.hides)
            .unwrap_or(false)
    }

    /// Returns whether a cell in this style shows a number unchanged.
    pub(super) fn is_plain(&self, name: Option<&str>) -> bool {
        let data = self.nearest("table-cell", name, |style| style.data.clone());
        data.is_none_or(|data| !self.shaping.contains(&data))
    }
}

/// Returns whether this number style shows exactly the digits that a number has.
fn shows_all(element: &Element<'_>) -> bool {
    let fixed = [
        "decimal-places",
        "min-decimal-places",
        "grouping",
        "display-factor",
    ];
    fixed.iter().all(|name| element.attribute(name).is_none())
}
