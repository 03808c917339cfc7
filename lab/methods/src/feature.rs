//! Features: numbers that represent pieces of a content. Methods compare features.

/// A feature of a content: a number that represents a piece of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Feature {
    /// The name of the piece. Equal pieces have equal names. Different pieces have different names
    /// unless their hashes collide.
    pub value: u64,
    /// The weight of the piece: the number of bytes of a chunk, or 1 for any other piece.
    pub len: u64,
    /// The number of times that the piece is repeated here. Only features from
    /// [`crate::FeatureExtractor::zeros`] have a count above 1.
    pub count: u64,
}

impl Feature {
    /// Creates the feature of a chunk with `len` bytes.
    pub const fn chunk(value: u64, len: u64) -> Self {
        Self {
            value,
            len,
            count: 1,
        }
    }

    /// Creates the feature of a piece that is not a chunk.
    pub const fn of(value: u64) -> Self {
        Self::chunk(value, 1)
    }
}

/// The features of a content in the order of the content. Repeated features are included.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Features(pub Vec<Feature>);

impl Features {
    /// Makes features of pieces that are not chunks.
    pub fn of_values(values: impl IntoIterator<Item = u64>) -> Self {
        Self(values.into_iter().map(Feature::of).collect())
    }

    /// Returns the names of the features in the order of the content.
    pub fn values(&self) -> impl Iterator<Item = u64> + '_ {
        self.0.iter().map(|feature| feature.value)
    }
}
