//! Packs sets of contents into problems, and reads the contents of each problem.
//!
//! Small sets are packed together into problems of a suitable size. If memory is bounded, one pass
//! through the index writes the contents of all problems to one file on disk. Otherwise the
//! contents are read from the index.

use std::path::Path;

use resemble_core::cluster::first_fit_decreasing;
use resemble_index::Snapshot;
use resemble_relate::AskError;
use resemble_relate::nominate::evidence::StoredSketch;
use resemble_relate::parallel::ordered;

use super::partition::Partition;
use resemble_relate::join::Table;
use resemble_relate::sort::MemoryBudget;

/// The number of contents that a thread reads in one step.
const BATCH: usize = 256;

/// Sets of contents packed into problems.
#[derive(Debug)]
pub(super) struct Problems {
    /// The problem of each place. It is [`Self::NONE`] if the question is not about the content at
    /// the place, or if this content has nothing in common with others.
    bin_of: Vec<u32>,
    /// The approximate memory of each problem in bytes.
    pub(super) weights: Vec<u64>,
    /// The number of contents in each problem.
    pub(super) sizes: Vec<u32>,
}

impl Problems {
    const NONE: u32 = u32::MAX;

    pub(super) fn of(table: &Table, sets: &[u32], only: Option<u32>, capacity: u64) -> Self {
        let mut weights = vec![(0u32, 0u64); sets.len()];
        for (place, &set) in (0u32..).zip(sets) {
            let (contents, weight) = &mut weights[set as usize];
            *contents += 1;
            *weight += table.weight(place);
        }
        // Sets that consist of one content are left out. Most sets are of this kind, and need no
        // work.
        let wanted = |set: u32| only.is_none_or(|only| only == set);
        let several: Vec<u32> = (0..sets.len() as u32)
            .filter(|&set| weights[set as usize].0 > 1 && wanted(set))
            .collect();
        let item_weights: Vec<u64> = several.iter().map(|&set| weights[set as usize].1).collect();
        let packing = first_fit_decreasing(&item_weights, capacity);
        drop(item_weights);
        let mut problem_of_set = vec![Self::NONE; sets.len()];
        for (&set, &bin) in several.iter().zip(&packing.bin_of) {
            problem_of_set[set as usize] = bin;
        }
        let bin_of: Vec<u32> = sets
            .iter()
            .map(|&set| problem_of_set[set as usize])
            .collect();
        let mut sizes = vec![0; packing.weights.len()];
        for &bin in bin_of.iter().filter(|&&bin| bin != Self::NONE) {
            sizes[bin as usize] += 1;
        }
        Self {
            bin_of,
            weights: packing.weights,
            sizes,
        }
    }
}

/// The source of the problems' contents.
#[derive(Debug)]
pub(super) enum ContentSource {
    /// The places of each problem's contents, in the order of their ids.
    Index(Vec<Vec<u32>>),
    Disk(Partition),
}

impl ContentSource {
    /// Prepares the source of all problems' contents: the index, or a file if memory is bounded.
    pub(super) fn of(
        problems: &Problems,
        (snapshot, table): (&Snapshot, &Table),
        (room, dir): (MemoryBudget, &Path),
    ) -> Result<Self, AskError> {
        let bins = problems.weights.len();
        let of = |place: u32| {
            let bin = problems.bin_of[place as usize];
            (bin != Problems::NONE).then_some(bin as usize)
        };
        let Some(room) = room.part(3) else {
            let mut places = vec![Vec::new(); bins];
            for &place in &table.by_id {
                if let Some(bin) = of(place) {
                    places[bin].push(place);
                }
            }
            return Ok(Self::Index(places));
        };
        let mut partition = Partition::new(bins, room, dir)?;
        for &place in &table.by_id {
            if let Some(bin) = of(place)
                && let Some(row) = snapshot.content(table.id(place))?
            {
                partition.push(bin, place, &StoredSketch::of(snapshot, &row)?)?;
            }
        }
        partition.finish()?;
        Ok(Self::Disk(partition))
    }

    /// Reads the sketches of all contents of a problem. Returns the places of the contents in the
    /// table, and the sketches.
    pub(super) fn all(
        &self,
        problem: usize,
        (snapshot, table): (&Snapshot, &Table),
    ) -> Result<(Vec<u32>, Vec<StoredSketch>), AskError> {
        match self {
            Self::Index(places) => {
                let places = &places[problem];
                let parts = ordered(
                    places.len().div_ceil(BATCH),
                    || (),
                    |part, (): &mut ()| {
                        let rest = &places[part * BATCH..];
                        let mut all = Vec::new();
                        for &place in &rest[..rest.len().min(BATCH)] {
                            if let Some(row) = snapshot.content(table.id(place))? {
                                all.push((place, StoredSketch::of(snapshot, &row)?));
                            }
                        }
                        Ok::<_, AskError>(all)
                    },
                )?;
                Ok(parts.into_iter().flatten().unzip())
            }
            Self::Disk(partition) => {
                let mut contents = partition.contents(problem);
                let mut all = (Vec::new(), Vec::new());
                while let Some((place, kept)) = contents.next()? {
                    all.0.push(place);
                    all.1.push(kept);
                }
                Ok(all)
            }
        }
    }
}
