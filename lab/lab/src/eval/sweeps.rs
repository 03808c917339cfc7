//! Follows clusters over several sweeps of one collection. The clusters are those of Broder et al.
//! 1997. Cherkasova et al. 2009 leave the evolution of clusters to later work (section 7).
//!
//! A document is followed from one sweep to the next by its name. If its name is gone, the document
//! continues as the most similar document that has a new name. The two documents must be so similar
//! that they could be in one cluster. A cluster continues in each cluster that contains one of its
//! documents.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use resemble_core::cluster::UnionFind;
use resemble_methods::{Method, MethodParams, MethodSignature, Settings, Threshold, shingle::Seed};

use super::{Collection, Draws, Page, Section, Table, renamed, sign_all, windowed};
use crate::error::{LabError, MethodError};
use crate::method::RowThreshold;
use crate::method::all_pairs::{ScoredPair, all_pairs};
use crate::question::{MethodLimits, MethodScore};

/// The name of a sweep, and the documents that it found.
pub type Sweep = (String, Collection);

/// The names of the counts of a sweep, in the order of the columns.
const COUNTS: [&str; 10] = [
    "documents",
    "clusters",
    "documents in clusters",
    "born",
    "died",
    "as large",
    "grown",
    "shrunk",
    "merged",
    "split",
];

/// The clusterings. Each has the name of its table, a method, and a rate. With rate n, one feature
/// in n is kept.
const CLUSTERINGS: [(&str, Method, u32); 3] = [
    ("all-shingles", Method::Shingle, 1),
    ("shingle", Method::Shingle, 25),
    ("mod", Method::Mod, 100),
];

/// Makes the page of this experiment.
pub fn report(sweeps: &[Sweep], seeds: u64) -> Result<Page, LabError> {
    let sections = CLUSTERINGS.into_iter();
    let sections = sections.map(|(name, method, rate)| {
        // If all shingles are kept, no sample is drawn, so one seed is enough.
        let seeds = if rate == 1 { 1 } else { seeds };
        section(sweeps, name, method, rate, seeds)
    });
    let sections = sections.collect::<Result<_, _>>()?;
    Ok(Page {
        name: "sweeps".to_owned(),
        title: "Clusters from sweep to sweep".to_owned(),
        about: format!(
            "{} sweeps, compared in the order of their names, under {seeds} seeds. A \
             cluster has at least two documents; equal documents are one content. A document is \
             followed by its name, or else as the most similar document whose name is new. A \
             cluster is *born* if no document of it was in a cluster of the sweep before, and \
             has *died* if none is in a cluster of this sweep. It has *merged* if its documents \
             were in several clusters, and is *split* if they are in several now. Others continue \
             alone: *as large*, *grown* or *shrunk*.",
            sweeps.len(),
        ),
        sections,
        files: Vec::new(),
    })
}

/// Makes the section about the clusters of one method, at the threshold of its paper.
fn section(
    sweeps: &[Sweep],
    name: &str,
    method: Method,
    rate: u32,
    seeds: u64,
) -> Result<Section, LabError> {
    let mut all = vec![<[Draws; COUNTS.len()]>::default(); sweeps.len()];
    let papers = method.thresholds().groups;
    for seed in 0..seeds {
        let params = params(method, rate, seed)?;
        let mut before: Option<ClusteredSweep<'_>> = None;
        for ((_, collection), draws) in sweeps.iter().zip(&mut all) {
            let now = ClusteredSweep::new(collection, &params, papers, seed)?;
            let counts = now.counts(before.as_ref(), &params, papers)?;
            for (draws, count) in draws.iter_mut().zip(counts) {
                draws.push(count as f64);
            }
            before = Some(now);
        }
    }
    let columns: Vec<&str> = std::iter::once("sweep").chain(COUNTS).collect();
    let mut table = Table::new(name, &columns);
    for ((sweep, _), draws) in sweeps.iter().zip(&all) {
        let counts = draws.iter().map(|draws| {
            // The first sweep has no earlier sweep to be compared with.
            if *draws == Draws::default() {
                "–".to_owned()
            } else {
                draws.rounded(0)
            }
        });
        table.row(std::iter::once(sweep.clone()).chain(counts));
    }
    let share = match papers {
        Threshold::Score(share) => share * 100.0,
        Threshold::SharedBytes(_) => 0.0,
    };
    let text = format!(
        "Documents that are {share:.0} % alike by {method} --rate {rate}, and chains of them."
    );
    Ok(Section::new(&format!("Clusters by {name}"), text).table(table))
}

/// Returns the parameters with which the method draws another sample for each seed. `mod` has no
/// seed: its sample depends only on the bytes. So [`renamed`] changes the bytes instead.
fn params(method: Method, rate: u32, seed: u64) -> Result<MethodParams, LabError> {
    if method == Method::Mod {
        return windowed(method, 20, rate);
    }
    let settings = Settings {
        rate: Some(rate),
        seed: (seed > 0).then(|| Arc::new(Seed::new(&seed.to_string()))),
        ..Settings::default()
    };
    Ok(MethodParams::new(method, &settings).map_err(MethodError::from)?)
}

/// The documents of a sweep and their clusters.
struct ClusteredSweep<'a> {
    /// The number of each document's content. The key is the name of the document.
    documents: BTreeMap<&'a str, usize>,
    /// The signature of each content.
    signatures: Vec<MethodSignature>,
    /// The number of the cluster of each content, or `None` if the content is in no cluster.
    clusters: Vec<Option<u32>>,
}

/// Returns the pairs of signatures that reach the threshold.
fn pairs(
    params: &MethodParams,
    signatures: &[MethodSignature],
    papers: Threshold,
) -> Result<Vec<ScoredPair>, LabError> {
    let threshold = RowThreshold::new(papers, MethodScore::Paper, MethodLimits::default());
    all_pairs(params, signatures, &threshold)
}

impl<'a> ClusteredSweep<'a> {
    fn new(
        collection: &'a Collection,
        params: &MethodParams,
        papers: Threshold,
        seed: u64,
    ) -> Result<Self, LabError> {
        let texts = collection.texts.iter();
        let signatures = if params.method() == Method::Mod {
            let renamed = texts.map(|text| renamed(seed, &text.bytes));
            sign_all(params, &renamed.collect::<Vec<_>>())?
        } else {
            sign_all(params, &collection.texts)?
        };
        let mut documents: BTreeMap<&str, usize> = (0..)
            .zip(&collection.texts)
            .map(|(number, text)| (text.name.as_str(), number))
            .collect();
        let copies = collection.copies.iter();
        documents.extend(copies.map(|(name, number)| (name.as_str(), *number)));
        let mut sets = UnionFind::new(signatures.len() as u32);
        for pair in pairs(params, &signatures, papers)? {
            sets.union(pair.a as u32, pair.b as u32);
        }
        let least = sets.into_least();
        let mut sizes = vec![0; least.len()];
        for &number in documents.values() {
            sizes[least[number] as usize] += 1;
        }
        let named = least.into_iter();
        Ok(Self {
            documents,
            signatures,
            clusters: named
                .map(|least| (sizes[least as usize] > 1).then_some(least))
                .collect(),
        })
    }

    /// Returns the documents of each cluster.
    fn members(&self) -> BTreeMap<u32, Vec<&'a str>> {
        let mut members: BTreeMap<u32, Vec<&str>> = BTreeMap::new();
        for (&name, &number) in &self.documents {
            if let Some(cluster) = self.clusters[number] {
                members.entry(cluster).or_default().push(name);
            }
        }
        members
    }

    /// Finds the documents that were in the sweep `before`. Returns the name that each of them had
    /// in that sweep.
    fn followed<'b>(
        &self,
        before: &ClusteredSweep<'b>,
        params: &MethodParams,
        papers: Threshold,
    ) -> Result<HashMap<&'a str, &'b str>, LabError> {
        let mut followed = HashMap::new();
        let (mut gone, mut new) = (Vec::new(), Vec::new());
        for (&name, &number) in &before.documents {
            if !self.documents.contains_key(name) {
                gone.push((name, &before.signatures[number]));
            }
        }
        for (&name, &number) in &self.documents {
            match before.documents.get_key_value(name) {
                Some((&then, _)) => _ = followed.insert(name, then),
                None => new.push((name, &self.signatures[number])),
            }
        }
        let both = gone
            .iter()
            .map(|one| one.1)
            .chain(new.iter().map(|one| one.1));
        let both: Vec<MethodSignature> = both.cloned().collect();
        let mut moves = pairs(params, &both, papers)?;
        moves.retain(|pair| pair.a < gone.len() && pair.b >= gone.len());
        let figure = |pair: &ScoredPair| pair.scores.figure.value().unwrap_or(0.0);
        moves.sort_by(|a, b| figure(b).total_cmp(&figure(a)));
        let mut moved = BTreeSet::new();
        for pair in moves {
            let (then, name) = (gone[pair.a].0, new[pair.b - gone.len()].0);
            if !followed.contains_key(name) && moved.insert(then) {
                followed.insert(name, then);
            }
        }
        Ok(followed)
    }

    /// Returns the counts of this sweep. If there is no earlier sweep, only the first three are
    /// counted.
    fn counts(
        &self,
        before: Option<&ClusteredSweep<'_>>,
        params: &MethodParams,
        papers: Threshold,
    ) -> Result<Vec<usize>, LabError> {
        let members = self.members();
        let clustered = members.values().map(Vec::len).sum();
        let mut counts = vec![self.documents.len(), members.len(), clustered];
        let Some(before) = before else {
            return Ok(counts);
        };
        let followed = self.followed(before, params, papers)?;
        let earlier = before.members();
        let (mut heirs, mut sources) = (BTreeMap::new(), Vec::new());
        for (&cluster, names) in &members {
            let then = names.iter().filter_map(|name| followed.get(name));
            let of = |name: &&str| before.clusters[before.documents[*name]];
            let from: BTreeSet<u32> = then.filter_map(of).collect();
            for &source in &from {
                *heirs.entry(source).or_insert(0) += 1;
            }
            sources.push((cluster, from));
        }
        let died = earlier.len() - heirs.len();
        let split = heirs.values().filter(|&&heirs| heirs > 1).count();
        let (mut born, mut as_large, mut grown, mut shrunk, mut merged) = (0, 0, 0, 0, 0);
        for (cluster, from) in sources {
            let Some(source) = from.first() else {
                born += 1;
                continue;
            };
            if from.len() > 1 {
                merged += 1;
            } else if heirs[source] == 1 {
                match members[&cluster].len().cmp(&earlier[source].len()) {
                    Ordering::Equal => as_large += 1,
                    Ordering::Greater => grown += 1,
                    Ordering::Less => shrunk += 1,
                }
            }
        }
        counts.extend([born, died, as_large, grown, shrunk, merged, split]);
        Ok(counts)
    }
}

#[cfg(test)]
mod tests {
    use resemble_testutil::prose::paragraphs;

    use super::super::Text;
    use super::*;

    fn document(name: &str, bytes: String) -> Text {
        Text {
            name: name.to_owned(),
            bytes: bytes.into_bytes(),
        }
    }

    /// Returns texts with these names, each a different version of one text.
    fn family(names: &[&str], text: u64) -> Vec<Text> {
        let versions = (0..).zip(names);
        versions
            .map(|(edits, name)| {
                document(name, paragraphs(text, 40).replacen("river", "RIVER", edits))
            })
            .collect()
    }

    /// Returns texts between two given ones. Five consist of the first text and a growing start of
    /// the second text. Four consist of a growing start of the first text and the whole second
    /// text.
    fn joining(texts: [u64; 2]) -> Vec<Text> {
        let [one, other] = texts.map(|text| paragraphs(text, 40));
        let fifths = |text: &str, fifths: usize| text[..text.len() * fifths / 5].to_owned();
        let more =
            (1..=5).map(|of| document(&format!("more{of}"), one.clone() + &fifths(&other, of)));
        let less = (1..5).map(|of| document(&format!("less{of}"), fifths(&one, of) + &other));
        more.chain(less).collect()
    }

    fn sweep(name: &str, texts: Vec<Text>) -> Sweep {
        let collection = Collection {
            texts,
            ..Collection::default()
        };
        (name.to_owned(), collection)
    }

    #[test]
    fn clusters_are_born_grow_merge_split_and_die() {
        let pair = |a, b| [family(&["a1", "a2"], a), family(&["b1", "b2"], b)].concat();
        let sweeps = [
            sweep("1", pair(1, 2)),
            // In the second sweep there is one more version of the first text. A document of the
            // second cluster has another name, and a third cluster is born.
            sweep(
                "2",
                [
                    family(&["a1", "a2", "a3"], 1),
                    family(&["moved/b1", "b2"], 2),
                    family(&["c1", "c2"], 3),
                ]
                .concat(),
            ),
            // In the third sweep a chain of texts joins the first and the second cluster.
            sweep("3", [pair(1, 2), joining([1, 2])].concat()),
            sweep("4", pair(1, 2)),
        ];
        let page = report(&sweeps, 2).expect("no failure");
        let expected = [
            "1 4 2 4 – – – – – – –",
            "2 7 3 7 1 0 1 1 0 0 0",
            "3 13 1 13 0 1 0 0 0 1 0",
            "4 4 2 4 0 0 0 0 0 0 1",
        ];
        for section in page.sections {
            let rows = section.tables[0].rows.iter();
            let rows: Vec<String> = rows.map(|row| row.join(" ")).collect();
            assert_eq!(rows, expected, "{}", section.heading);
        }
    }
}
