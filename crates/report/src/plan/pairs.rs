//! Makes plans for given pairs of equal files: the pairs that a user has marked, and conflicts.

use std::collections::{HashMap, HashSet};

use resemble_proto::path::PathText;

use super::{Means, Plan, path_for_printf};
use crate::quote::quoted;
use crate::rows::{ConflictRow, ConflictState};

impl Plan {
    /// Returns the plan for these pairs of equal files. The first file of each pair stays. `about`
    /// describes the pairs in the head of the script.
    pub fn of_pairs<'a>(
        about: String,
        pairs: impl Iterator<Item = (&'a PathText, &'a PathText)>,
        means: &Means<'_>,
    ) -> Self {
        let mut plan = Self::new(means, about);
        let mut found = Vec::new();
        for (keep, copy) in pairs {
            let look = |path: &PathText| (means.look)(path.as_path());
            let keep = look(keep).map_err(|why| format!("the file that stays: {why}"));
            match look(copy).and_then(|copy| Ok((keep?, copy))) {
                Ok(pair) => found.push(pair),
                Err(why) => plan.leave_out(copy.as_path(), &why),
            }
        }
        // Some files may have become hard links of one file after they were marked. A file that
        // stays in one pair is not treated in another.
        let kept: HashSet<_> = found.iter().map(|(keep, _)| keep.file()).collect();
        let mut treated = HashSet::new();
        for (keep, copy) in &found {
            if kept.contains(&copy.file()) {
                plan.leave_out(&copy.path, "it is a file that stays, by another name");
            } else if treated.insert(copy.file()) {
                plan.pool(keep, copy, (means.names)(copy), means, None);
            }
        }
        plan
    }

    /// Returns the plan for conflicts. It treats each conflict copy that is equal to the file with
    /// which it was compared. That file stays, unless it is an equal conflict copy itself. Then the
    /// file with which that copy was compared stays, and so on along the chain.
    pub fn of_conflicts(roots: &[PathText], rows: &[ConflictRow], means: &Means<'_>) -> Self {
        let mut equal = Vec::new();
        let mut left = Vec::new();
        for row in rows {
            match &row.other {
                Some(other) if row.state == ConflictState::Equal => {
                    equal.push((other.clone(), row.path.clone()));
                }
                other => left.push((row, other)),
            }
        }
        let roots: Vec<String> = roots.iter().map(path_for_printf).collect();
        let about = format!("groups --conflicts {}", roots.join(" "));
        let keeps: HashMap<_, _> = equal.iter().map(|(keep, copy)| (copy, keep)).collect();
        let pairs = equal.iter().map(|(keep, copy)| {
            // Each name is made from the name of its original, so the chain has an end.
            let chain = std::iter::successors(Some(keep), |keep| keeps.get(keep).copied());
            (chain.last().unwrap_or(keep), copy)
        });
        let mut plan = Self::of_pairs(about, pairs, means);
        for (row, other) in left {
            let why = match other {
                None => "there is nothing to compare it with".to_owned(),
                Some(other) => format!(
                    "{}: resemble why {} {}",
                    row.state.word(),
                    quoted(row.path.as_path()),
                    quoted(other.as_path())
                ),
            };
            plan.leave_out(row.path.as_path(), &why);
        }
        plan
    }
}
