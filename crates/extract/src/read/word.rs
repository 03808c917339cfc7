//! Extracts the text of word processor documents and slides. The text consists of paragraphs, and a
//! paragraph consists of runs.
//!
//! If the run itself has the property that hides text, this property decides whether the run is
//! hidden. Otherwise the run is hidden if exactly one of two styles hides text: the style of its
//! paragraph or its character style. If both styles hide text, the run is shown (ISO 29500, part 1,
//! 17.7.3).

use std::collections::BTreeMap;

use super::package::Relation;
use super::xml::{Element, Node, Xml};
use super::zip::Archive;
use crate::read::{Take, Text};

/// The styles that hide text, and the number of hidden pieces of text.
#[derive(Debug, Default)]
pub(super) struct Hiding {
    /// For each style by name: whether it hides text, and the name of the style that it is based
    /// on.
    styles: BTreeMap<String, (Option<bool>, Option<String>)>,
    /// The number of pieces of text that were left out.
    pub(super) count: u64,
}

/// The maximum number of ancestors of a style that are searched.
const DEEPEST: usize = 16;

impl Hiding {
    /// Reads the styles of a document that hide text.
    pub(super) fn of_styles(zip: &Archive<'_>, relations: &[Relation]) -> Take<Self> {
        let mut hiding = Self::default();
        let part = relations.iter().find(|part| part.kind == "styles");
        let Some(entry) = part.and_then(|part| zip.find(&part.target)) else {
            return Ok(hiding);
        };
        let mut xml = Xml::new(zip.reader(entry)?)?;
        let (mut current, mut of_text) = (None::<String>, false);
        loop {
            match xml.next()? {
                Node::Open(element) => match element.name() {
                    "style" => {
                        current = element.attribute("styleId");
                        if let Some(id) = &current {
                            hiding.styles.insert(id.clone(), (None, None));
                        }
                    }
                    "rPr" => of_text = true,
                    "basedOn" => {
                        if let Some(style) = hiding.style(current.as_deref()) {
                            style.1 = element.attribute("val");
                        }
                    }
                    "vanish" if of_text => {
                        if let Some(style) = hiding.style(current.as_deref()) {
                            style.0 = Some(is_on(&element));
                        }
                    }
                    // These are properties of table rows and columns, and properties before a
                    // tracked change. They are skipped.
                    "tblStylePr" | "rPrChange" | "pPrChange" => xml.skip()?,
                    _ => {}
                },
                Node::Close(element) => match element.name() {
                    "style" => current = None,
                    "rPr" => of_text = false,
                    _ => {}
                },
                Node::End => break,
                _ => {}
            }
        }
        // Most documents have hundreds of styles, and none of them hides text. Then no style needs
        // to be kept.
        if hiding.styles.values().all(|(hides, _)| hides.is_none()) {
            hiding.styles.clear();
        }
        Ok(hiding)
    }

    fn style(&mut self, id: Option<&str>) -> Option<&mut (Option<bool>, Option<String>)> {
        self.styles.get_mut(id?)
    }

    fn is_hidden_by(&self, style: Option<&String>) -> bool {
        let mut next = style;
        for _ in 0..DEEPEST {
            match next.and_then(|id| self.styles.get(id)) {
                Some((Some(hides), _)) => return *hides,
                Some((None, based_on)) => next = based_on.as_ref(),
                None => return false,
            }
        }
        false
    }
}

/// Returns whether a property is on. A property without a value is on.
fn is_on(element: &Element<'_>) -> bool {
    let value = element.attribute("val");
    value.is_none_or(|value| !matches!(value.as_str(), "0" | "false" | "off"))
}

/// A run that has begun and not ended.
#[derive(Debug, Default)]
struct WordRun {
    style: Option<String>,
    vanish: Option<bool>,
    /// True if some text of the run was left out.
    hid: bool,
}

/// Passes on the text of a part that has paragraphs, such as a body, notes or a slide.
pub(super) fn paragraphs(
    zip: &Archive<'_>,
    name: &[u8],
    hiding: &mut Hiding,
    to: &mut Text<'_>,
) -> Take {
    let Some(entry) = zip.find(name) else {
        return Ok(());
    };
    let mut xml = Xml::new(zip.reader(entry)?)?;
    let mut in_text = false;
    // The text boxes within a run have paragraphs with runs of their own, so these are stacks.
    let (mut runs, mut styles) = (Vec::<WordRun>::new(), Vec::<Option<String>>::new());
    let mut of_paragraph = false;
    loop {
        let is_hidden = |runs: &[WordRun], styles: &[Option<String>], hiding: &Hiding| {
            let by_paragraph = hiding.is_hidden_by(styles.last().and_then(Option::as_ref));
            runs.iter().any(|run| {
                let by_style = by_paragraph != hiding.is_hidden_by(run.style.as_ref());
                run.vanish.unwrap_or(by_style)
            })
        };
        match xml.next()? {
            Node::Open(element) => match element.name() {
                "t" => in_text = true,
                "p" => styles.push(None),
                "pPr" => of_paragraph = true,
                "pStyle" => {
                    if let Some(style) = styles.last_mut() {
                        *style = element.attribute("val");
                    }
                }
                "r" => runs.push(WordRun::default()),
                "rStyle" if !of_paragraph => {
                    if let Some(run) = runs.last_mut() {
                        run.style = element.attribute("val");
                    }
                }
                // This property of a paragraph hides only the mark at its end.
                "vanish" if !of_paragraph => {
                    if let Some(run) = runs.last_mut() {
                        run.vanish = Some(is_on(&element));
                    }
                }
                "tab" | "br" | "cr" if !of_paragraph => to.push_char(' ')?,
                "noBreakHyphen" => to.push_char('\u{2011}')?,
                "softHyphen" => to.push_char('\u{ad}')?,
                // These elements are deleted text, properties before a change, and copies for older
                // programs. They are skipped.
                "del" | "moveFrom" | "Fallback" | "rPrChange" | "pPrChange" => xml.skip()?,
                _ => {}
            },
            Node::Close(element) => match element.name() {
                "t" => in_text = false,
                "p" => {
                    styles.pop();
                    to.push_char('\n')?;
                }
                "pPr" => of_paragraph = false,
                "r" => {
                    let run = runs.pop();
                    hiding.count += u64::from(run.is_some_and(|run| run.hid));
                }
                _ => {}
            },
            Node::Text(text) if in_text => {
                if is_hidden(&runs, &styles, hiding) {
                    if let Some(run) = runs.last_mut() {
                        run.hid |= !text.trim().is_empty();
                    }
                } else {
                    to.push(&text)?;
                }
            }
            Node::End => return Ok(()),
            _ => {}
        }
    }
}
