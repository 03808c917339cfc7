//! Features: numbers that stand for pieces of a content, which methods compare.

/// A piece of a content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Feature {
    /// Its name. Equal pieces have equal names, and different ones have different names, unless
    /// their hashes collide.
    pub value: u64,
    /// Its weight: the number of bytes of a chunk, and 1 for all other pieces.
    pub len: u64,
    /// The number of occurrences in a row. Only [`crate::FeatureExtractor::zeros`] gives more than
    /// 1.
    pub count: u64,
}

impl Feature {
    /// A chunk of `len` bytes.
    pub const fn chunk(value: u64, len: u64) -> Self {
        Self {
            value,
            len,
            count: 1,
        }
    }

    /// A piece that is not a chunk.
    pub const fn of(value: u64) -> Self {
        Self::chunk(value, 1)
    }
}

/// The features of a content in file order, with their repeats.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Features(pub Vec<Feature>);

impl Features {
    /// Features of pieces that are not chunks.
    pub fn of_values(values: impl IntoIterator<Item = u64>) -> Self {
        Self(values.into_iter().map(Feature::of).collect())
    }

    /// The names of the features, in file order.
    pub fn values(&self) -> impl Iterator<Item = u64> + '_ {
        self.0.iter().map(|feature| feature.value)
    }
}
