//! Answers of several lists.
//!
//! `compare`, `covered` and `groups` answer with totals and more than one list. On the wire such an
//! answer is a stream of tagged rows ([`Parts::Part`]), so that no line grows with the collection;
//! in memory it is the struct itself, which is also what the JSON document shows.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::message::{Answer, Header, SoftError};

/// An answer that is sent in tagged rows.
pub trait Parts: Default {
    /// One row on the wire.
    type Part: Serialize + DeserializeOwned;

    /// Takes a row in; rows come in the order of [`Self::into_parts`].
    fn add(&mut self, part: Self::Part);

    /// The rows, in order; none grows with the size of the collection.
    fn into_parts(self) -> Vec<Self::Part>;
}

/// A list by itself has no totals: its items are the rows.
impl<R: Serialize + DeserializeOwned> Parts for Vec<R> {
    type Part = R;

    fn add(&mut self, row: R) {
        self.push(row);
    }

    fn into_parts(self) -> Self {
        self
    }
}

/// A whole answer of several lists in memory.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Whole<P> {
    /// What holds for everything.
    pub header: Header,
    /// Totals and lists.
    pub body: P,
    /// What could not be looked at, by path.
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
    /// The same answer with its lists in another form.
    pub fn map<Q>(self, form: impl FnOnce(P) -> Q) -> Whole<Q> {
        Whole {
            header: self.header,
            body: form(self.body),
            errors: self.errors,
        }
    }
}

impl<P: Default> Whole<P> {
    /// The answer to a question about nothing: complete, and empty.
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
    /// The answer as rows for the wire. The header still counts the rows of the question, not the
    /// parts.
    pub fn into_answer(self) -> Answer<P::Part> {
        Answer {
            header: self.header,
            rows: self.body.into_parts(),
            errors: self.errors,
        }
    }

    /// Puts the answer together again from the rows of the wire.
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
