//! Answers that consist of several lists.
//!
//! `compare`, `covered` and `groups` answer with totals and more than one list. On the wire, such
//! an answer is a stream of rows that name their list ([`Parts::Part`]). So no line gets longer if
//! the collection is larger. In memory, the answer is a struct, which becomes the JSON document,
//! too.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::message::{Answer, Header, SoftError};

/// An answer that is sent as rows that name their list.
pub trait Parts: Default {
    /// A row as it is sent.
    type Part: Serialize + DeserializeOwned;

    /// Adds a row. Rows arrive in the order of [`Self::into_parts`].
    fn add(&mut self, part: Self::Part);

    /// Returns the rows in order. The size of a row does not depend on the size of the collection.
    /// The rows that were taken no longer take memory in the answer.
    fn into_parts(self) -> impl Iterator<Item = Self::Part>;
}

/// An answer that is a single list has no totals, and its items are the rows.
impl<R: Serialize + DeserializeOwned> Parts for Vec<R> {
    type Part = R;

    fn add(&mut self, row: R) {
        self.push(row);
    }

    fn into_parts(self) -> impl Iterator<Item = R> {
        self.into_iter()
    }
}

/// An entire answer in memory: the body, with the header and the errors.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Whole<P> {
    /// The header, which applies to the entire answer.
    pub header: Header,
    /// The totals and the lists.
    pub body: P,
    /// The paths that could not be read, sorted.
    pub errors: Vec<SoftError>,
}

impl<R> From<Answer<R>> for Whole<Vec<R>> {
    fn from(answer: Answer<R>) -> Self {
        Self {
            header: answer.header,
            body: answer.rows,
            errors: answer.errors,
        }
    }
}

impl<P> Whole<P> {
    /// Returns the answer with its body converted by `form`.
    pub fn map<Q>(self, form: impl FnOnce(P) -> Q) -> Whole<Q> {
        Whole {
            header: self.header,
            body: form(self.body),
            errors: self.errors,
        }
    }
}

impl<P: Default> Whole<P> {
    /// Returns an empty answer that is fresh.
    pub fn fresh() -> Self {
        Self {
            header: Header {
                fresh: true,
                ..Header::default()
            },
            body: P::default(),
            errors: Vec::new(),
        }
    }
}

impl<P: Parts> Whole<P> {
    /// Assembles an answer from the rows that were sent.
    pub fn from_answer(answer: Answer<P::Part>) -> Self {
        let mut body = P::default();
        for part in answer.rows {
            body.add(part);
        }
        Self {
            header: answer.header,
            body,
            errors: answer.errors,
        }
    }
}
