//! `pairs`: finds and measures all pairs of texts that have enough in common, as `resemble pairs`
//! does.

use std::collections::{BTreeSet, HashMap};

use pyo3::prelude::*;
use resemble_core::similarity::Unit;
use resemble_core::similarity::proof::Provable;
use resemble_core::{ContentDigest, ContentId, ContentKind, Digest, Params, Score, StopFlag};
use resemble_index::Options;
use resemble_relate::AskError;
use resemble_relate::nominate::block::PostingBlock;
use resemble_relate::nominate::evidence::StoredSketch;
use resemble_relate::nominate::families::Families;
use resemble_relate::nominate::kinship::{Kinships, WindowCounts};
use resemble_relate::parallel::{ordered, threads};
use resemble_relate::prove::texts::Texts;

use crate::figures::{FigureRow, Figures, ScoreRule, order};
use crate::running::interruptibly;
use crate::texts::{HeldTexts, TextName};

/// The indexes of two texts, and their figures.
type PlacedRow = (u32, u32, FigureRow);

/// A pair of texts. `places` has their indexes.
struct MeasuredTexts {
    places: (u32, u32),
    score: Score,
    figures: Figures,
}

/// The pairs that one thread has found.
#[derive(Default)]
struct FoundTexts {
    measured: Vec<MeasuredTexts>,
    /// Pairs of contents, as indexes, that must still be measured by their bytes or their rows of a
    /// table.
    drafts: BTreeSet<(usize, usize)>,
}

/// Returns the pairs of texts, the best pair first. Texts that are equal have one content. The
/// first of these texts represents the content. A row pairs each of the others with the first text.
#[pyfunction]
pub(crate) fn pairs(
    py: Python<'_>,
    texts: &Bound<'_, PyAny>,
    min: f64,
    score: &str,
) -> PyResult<Vec<PlacedRow>> {
    let rule = ScoreRule::of(min, score)?;
    let held = HeldTexts::of(texts)?;
    interruptibly(py, |stop| pairs_of(&held.slices(), rule, stop))
}

fn pairs_of(texts: &[&[u8]], rule: ScoreRule, stop: &StopFlag) -> Result<Vec<PlacedRow>, AskError> {
    let names = ordered(
        texts.len(),
        || (),
        |at, ()| {
            stop.go_on()?;
            Ok::<_, AskError>(TextName::of(texts[at]))
        },
    )?;
    let mut found = Vec::new();
    let mut first: HashMap<ContentDigest, u32> = HashMap::new();
    let (mut places, mut contents) = (Vec::new(), Vec::new());
    for (place, name) in (0u32..).zip(&names) {
        if name.kind == ContentKind::Empty {
            continue;
        }
        let known = *first.entry(name.digest).or_insert(place);
        if known == place {
            places.push(place);
            contents.push((texts[place as usize], name.kind));
            continue;
        }
        let figures = Figures::identical(name.size, name.kind);
        let score = rule.passed(&figures);
        found.extend(score.map(|score| MeasuredTexts {
            places: (known, place),
            score,
            figures,
        }));
    }
    drop(first);
    let size = |at: usize| names[places[at] as usize].size;
    let measured = |(a, b): (usize, usize), figures: Figures| {
        let places = (places[a], places[b]);
        rule.passed(&figures).map(|score| MeasuredTexts {
            places,
            score,
            figures,
        })
    };
    let read = Texts::of(&contents, Options::default().boilerplate_limit, stop)?;
    let workers = read.pairs(stop, FoundTexts::default, |found, (a, b), proof, _| {
        let in_order = (a.min(b), a.max(b));
        if read.is_data(a) || read.is_data(b) || read.are_tables(a, b) {
            found.drafts.insert(in_order);
        } else {
            let figures = Figures::of_common(&proof.common, (size(a), size(b)));
            let figures = if a > b { figures.swapped() } else { figures };
            found.measured.extend(measured(in_order, figures));
        }
        Ok::<(), AskError>(())
    })?;
    let mut drafts: BTreeSet<(usize, usize)> = read.tables().map(|pair| (pair.a, pair.b)).collect();
    for mut worker in workers {
        found.append(&mut worker.measured);
        drafts.append(&mut worker.drafts);
    }
    drop(read);
    drafts.extend(met_by_windows(&contents, stop)?);
    let drafts: Vec<(usize, usize)> = drafts.into_iter().collect();
    let by_both = ordered(
        drafts.len(),
        || (),
        |at, ()| {
            stop.go_on()?;
            let (a, b) = drafts[at];
            let [one, other] =
                [a, b].map(|at| Provable::new(contents[at].1, contents[at].0.to_vec()));
            let proven = one.measure(&other, Unit::Words);
            Ok::<_, AskError>(measured(
                (a, b),
                Figures::judged(proven, (size(a), size(b))),
            ))
        },
    )?;
    found.extend(by_both.into_iter().flatten());
    found.sort_unstable_by(|a, b| {
        order(
            (a.score, &a.figures, a.places),
            (b.score, &b.figures, b.places),
        )
    });
    let rows = found.into_iter().map(|found| {
        let (a, b) = found.places;
        (a, b, found.figures.row(Some(found.score)))
    });
    Ok(rows.collect())
}

/// Returns the pairs of contents that have more windows or chunks in common than unrelated contents
/// have. Only contents that are not text are considered.
fn met_by_windows(
    contents: &[(&[u8], ContentKind)],
    stop: &StopFlag,
) -> Result<Vec<(usize, usize)>, AskError> {
    let others = (0..contents.len()).filter(|&at| contents[at].1 != ContentKind::Text);
    let others: Vec<usize> = others.collect();
    let params = Params::default();
    let kept = ordered(
        others.len(),
        || (),
        |at, ()| {
            stop.go_on()?;
            let digest = Digest::of(contents[others[at]].0, &params);
            Ok::<_, AskError>(StoredSketch {
                id: ContentId(at as u32),
                whole: digest.size,
                size: digest.size,
                kind: digest.kind,
                signature: digest.kept(&params),
                chunks: digest.chunks,
                words: None,
                of_leader: None,
            })
        },
    )?;
    let limit = Options::default().boilerplate_limit;
    let (block, _) = PostingBlock::counting(kept, &Families::default(), limit, stop);
    let kinships = Kinships::of(&block, limit);
    let found = block.nominees(threads(), Vec::new, |found, a, b, common| {
        let signatures = (&block.kept[a].signature, &block.kept[b].signature);
        let windows = WindowCounts::of(signatures.0, signatures.1);
        let is_at_most = |most| Ok::<_, AskError>(kinships.is_at_most((a, b), windows.level, most));
        if windows.are_kin(common, is_at_most)? {
            found.push((others[a], others[b]));
        }
        Ok::<(), AskError>(())
    })?;
    Ok(found.into_iter().flatten().collect())
}
