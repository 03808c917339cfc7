//! Answers with several lists.
//!
//! `compare`, `covered` and `groups` answer with totals and more than one list. On the wire such an
//! answer is a stream of tagged rows ([`Parts::Part`]), so no line grows with the collection. In
//! memory it is the struct itself, which the JSON document shows, too.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::message::{Answer, Header, SoftError};

/// An answer that is sent in tagged rows.
pub trait Parts: Default {
    /// One row on the wire.
    type Part: Serialize + DeserializeOwned;

    /// Adds a row; rows arrive in the order of [`Self::into_parts`].
    fn add(&mut self, part: Self::Part);

    /// Returns the rows, in order; none grows with the size of the collection.
    fn into_parts(self) -> Vec<Self::Part>;
}

/// An answer that is only a list has no totals: its items are the rows.
impl<R: Serialize + DeserializeOwned> Parts for Vec<R> {
    type Part = R;

    fn add(&mut self, row: R) {
        self.push(row);
    }

    fn into_parts(self) -> Self {
        self
    }
}

/// An entire answer of several lists in memory.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Whole<P> {
    /// The facts that apply to the entire answer.
    pub header: Header,
    /// Totals and lists.
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
    /// Returns the same answer with its body converted by `form`.
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
    /// Returns the answer as rows for the wire. The header still counts the rows of the question,
    /// not the parts.
    pub fn into_answer(self) -> Answer<P::Part> {
        Answer {
            header: self.header,
            rows: self.body.into_parts(),
            errors: self.errors,
        }
    }

    /// Joins the rows of the wire to an answer.
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
