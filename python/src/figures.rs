//! Computes the figures of two texts with the same functions as the verbs of the programs.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use resemble_core::similarity::Unit;
use resemble_core::similarity::proof::{CommonText, Provable, Proven};
use resemble_core::{ByteLen, ContentKind, Measures, Relation, Score, rank};
use resemble_proto::number::Fraction;
use resemble_relate::judge::matched::CommonPart;
use resemble_relate::prove::exact::judged;

/// The figures of a row: score, `a_in_b`, `b_in_a`, resemblance, shared bytes, relation, unit.
pub(crate) type FigureRow = (
    Option<f64>,
    Option<f64>,
    Option<f64>,
    Option<f64>,
    u64,
    Option<&'static str>,
    &'static str,
);

/// The measure that is the score of a pair, and the minimum score of a row.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ScoreRule {
    is_resemblance: bool,
    least: Score,
}

impl ScoreRule {
    /// Makes the rule from the arguments `min` and `score`.
    pub(crate) fn of(min: f64, score: &str) -> PyResult<Self> {
        if !(0.0..=1.0).contains(&min) {
            let sentence = format!("min is a share between 0 and 1, not {min}");
            return Err(PyValueError::new_err(sentence));
        }
        let is_resemblance = match score {
            "containment" => false,
            "resemblance" => true,
            other => {
                let sentence = format!("score is containment or resemblance, not {other}");
                return Err(PyValueError::new_err(sentence));
            }
        };
        Ok(Self {
            is_resemblance,
            least: Score::new(min),
        })
    }

    /// Returns the minimum score.
    pub(crate) const fn least(self) -> Score {
        self.least
    }

    /// Returns the score of a pair. Returns `None` if the score is below the minimum, or if a text
    /// is too small to be judged.
    pub(crate) fn passed(self, figures: &Figures) -> Option<Score> {
        if figures.is_repetition {
            return None;
        }
        let measures = &figures.measures;
        let score = if self.is_resemblance {
            measures.resemblance
        } else {
            measures.containment()
        };
        let is_proof = matches!(
            figures.relation,
            Some(Relation::Identical | Relation::SameText)
        ) || figures.read.is_some()
            || measures.shared_bytes >= Relation::MIN_SHARED;
        score.filter(|&score| is_proof && score >= self.least)
    }
}

/// The figures of two contents, `a` and `b`.
#[derive(Clone, Debug)]
pub(crate) struct Figures {
    pub(crate) measures: Measures,
    pub(crate) relation: Option<Relation>,
    pub(crate) unit: Unit,
    sizes: (ByteLen, ByteLen),
    /// True if most of the common part consists of a few runs that are repeated.
    is_repetition: bool,
    /// Both containments, if the texts were read. They are set even if the texts are too small to
    /// be judged.
    read: Option<[Score; 2]>,
}

impl Figures {
    /// Makes the figures of two equal contents.
    pub(crate) fn identical(size: ByteLen, kind: ContentKind) -> Self {
        let unit = match kind {
            ContentKind::Text => Unit::Words,
            _ => Unit::Bytes,
        };
        Self {
            measures: Measures::identical(size),
            relation: Some(Relation::Identical),
            unit,
            sizes: (size, size),
            is_repetition: false,
            read: None,
        }
    }

    /// Makes the figures of two contents that differ.
    pub(crate) fn of(a: &Provable, b: &Provable) -> Self {
        let sizes = (a.size(), b.size());
        let common = a.words().zip(b.words());
        let common = common.map(|(a, b)| CommonText::of(a, b));
        Self {
            read: common.as_ref().map(shares),
            ..Self::judged(a.measure(b, Unit::Words), sizes)
        }
    }

    /// Makes the figures of two texts from the words that they have in common.
    pub(crate) fn of_common(common: &CommonText, sizes: (ByteLen, ByteLen)) -> Self {
        Self {
            read: Some(shares(common)),
            ..Self::judged(Proven::of_common(common, sizes), sizes)
        }
    }

    /// Makes the figures of two contents from their proven measures, without common text.
    pub(crate) fn judged(proven: Proven, sizes: (ByteLen, ByteLen)) -> Self {
        let found = judged(proven, sizes, Relation::MIN_SHARED);
        Self {
            measures: found.measures,
            relation: found.relation,
            unit: found.unit,
            sizes,
            is_repetition: found.common() == CommonPart::Repetition,
            read: None,
        }
    }

    /// Returns the figures of the same pair with `a` and `b` exchanged.
    pub(crate) fn swapped(self) -> Self {
        Self {
            measures: self.measures.swapped(),
            relation: self.relation.map(Relation::swapped),
            sizes: (self.sizes.1, self.sizes.0),
            read: self.read.map(|[a_in_b, b_in_a]| [b_in_a, a_in_b]),
            ..self
        }
    }

    /// Returns the share of `a` that is in `b`, even if the contents are too small to be judged.
    pub(crate) fn a_in_b(&self) -> Option<Score> {
        let read = self.read.map(|[a_in_b, _]| a_in_b);
        self.measures.a_in_b.or(read)
    }

    /// Returns the columns of a row.
    pub(crate) fn row(&self, score: Option<Score>) -> FigureRow {
        let measures = &self.measures;
        (
            fraction(score),
            fraction(measures.a_in_b),
            fraction(measures.b_in_a),
            fraction(measures.resemblance),
            measures.shared_bytes.0,
            self.relation.map(Relation::word),
            unit_word(self.unit),
        )
    }
}

/// Returns the word for a unit.
pub(crate) const fn unit_word(unit: Unit) -> &'static str {
    match unit {
        Unit::Words => "words",
        Unit::Bytes => "bytes",
    }
}

/// Returns a share as the programs write it: rounded down to six decimals.
pub(crate) fn fraction(share: Option<Score>) -> Option<f64> {
    let millionths = Fraction::from(share).millionths()?;
    Some(f64::from(millionths) / 1e6)
}

/// Returns both containments of two texts.
fn shares(common: &CommonText) -> [Score; 2] {
    let share = |part: u64, of: u64| {
        Score::new(part as f64 / of.max(1) as f64).min(Score::ALL_BUT_IDENTICAL)
    };
    let (covered, words) = (common.covered, common.words);
    [share(covered.0, words.0), share(covered.1, words.1)]
}

/// Compares two rows by the order in which the programs print rows.
pub(crate) fn order<N: Ord>(
    a: (Score, &Figures, N),
    b: (Score, &Figures, N),
) -> std::cmp::Ordering {
    let by_figures = rank::compare((a.0, &a.1.measures, ()), (b.0, &b.1.measures, ()));
    by_figures.then_with(|| a.2.cmp(&b.2))
}
