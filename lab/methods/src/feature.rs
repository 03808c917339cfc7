//! What a method compares: numbers that stand for pieces of a content.

/// A piece of a content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Feature {
    /// Its name. Equal pieces have equal names; different ones have different names but for
    /// accidents of hashing.
    pub value: u64,
    /// What it weighs: the bytes of a chunk, and 1 for anything that is no chunk.
    pub len: u64,
    /// How many times in a row. Only [`crate::FeatureExtractor::zeros`] says more than 1.
    pub count: u64,
}

impl Feature {
    /// A chunk of so many bytes.
    pub const fn chunk(value: u64, len: u64) -> Self {
        Self {
            value,
            len,
            count: 1,
        }
    }

    /// One that is no chunk.
    pub const fn of(value: u64) -> Self {
        Self::chunk(value, 1)
    }
}

/// The features of a content in file order, with their repeats.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Features(pub Vec<Feature>);

impl Features {
    /// Features that are no chunks.
    pub fn of_values(values: impl IntoIterator<Item = u64>) -> Self {
        Self(values.into_iter().map(Feature::of).collect())
    }

    /// Their names, in file order.
    pub fn values(&self) -> impl Iterator<Item = u64> + '_ {
        self.0.iter().map(|feature| feature.value)
    }
}
