//! Adds near copies to a plan. One file of each cluster stays. The near copies are files that this
//! file supersedes.
//!
//! 1. One file of a cluster stays, and no step treats it. The common content of this file and every
//!    other file is measured again, on their present state. The figures of the answer may be those
//!    of another pair of files.
//! 2. A file is removed if enough of it lies in the file that stays. In addition, the file that
//!    stays must contain the removed file whole, or be newer by the dates that both documents
//!    state. The times of the files prove nothing.
//! 3. Extracted texts never prove that a document is contained whole, because a document is more
//!    than its text.
//! 4. Equal files are removed or kept together. If they are removed, each counts as a near copy of
//!    the file that stays. If they were treated as a set of equal files, one of them would wrongly
//!    stay.

use std::collections::{HashMap, HashSet};

use resemble_proto::documents::GroupsDocument;
use resemble_proto::message::{Cluster, StatedDate};
use resemble_proto::number::Fraction;

use super::{Entry, FileState, Means, Plan, keep, spelled, under_each_name};
use crate::human::{counted, day};
use crate::quote::quoted;
use crate::rows::percent_text;

/// The inputs for a plan that treats near copies.
#[allow(missing_debug_implementations)] // it is made of a function
pub struct Superseding<'a> {
    /// The least share of a near copy that must lie in the file that stays.
    pub share: Fraction,
    /// Compares a near copy with the file that stays. Returns what its removal loses, or why the
    /// loss cannot be measured.
    pub compare: &'a dyn Fn(&FileState, &FileState) -> Result<Loss, String>,
}

impl Superseding<'_> {
    /// Returns the option in the form that the command line has.
    pub(super) fn option(&self) -> String {
        let share = percent_text(self.share, self.share == Fraction::ONE);
        format!(" --superseded {share}")
    }
}

/// The content that is lost if a near copy is removed. It is measured on both files in their
/// present state.
#[derive(Clone, Debug)]
pub struct Loss {
    /// The share of the near copy that lies in the file that stays.
    pub held: Fraction,
    /// The number of bytes of the near copy that are nowhere in the file that stays.
    pub bytes: u64,
    /// The number of places in the near copy where these bytes are.
    pub places: u64,
    /// True if the file that stays has all bytes of the near copy in their order.
    pub is_whole: bool,
    /// True if the figures are those of the texts that were extracted from both files.
    pub is_of_text: bool,
    /// True if both files have the same text.
    pub is_same_text: bool,
    /// The digests of the file that stays and of the copy.
    pub digests: [String; 2],
}

impl Loss {
    /// Describes the loss: `114 bytes in 4 places`.
    fn amount(&self) -> String {
        let of = if self.is_of_text { " of its text" } else { "" };
        match self.bytes {
            0 if self.is_whole => "nothing".to_owned(),
            0 if self.is_of_text => {
                "nothing of its text; what is no text was not compared".to_owned()
            }
            0 => "the order of its bytes, or how often they stand there".to_owned(),
            bytes => format!(
                "{}{of} in {}",
                counted(bytes, "byte"),
                counted(self.places, "place")
            ),
        }
    }
}

/// The proof of a step that removes a near copy.
#[derive(Clone, Debug)]
pub(super) struct NearProof {
    /// The digests of the file that stays and of the copy.
    pub(super) digests: [String; 2],
    /// The loss in words, and the command that shows it.
    pub(super) loss: String,
}

/// A near copy and all files that are equal to it. All of them are removed.
struct Superseded {
    files: Vec<FileState>,
    loss: Loss,
    /// The reason why these files may be removed.
    reason: String,
}

/// A content of a cluster. Either all files with this content stay, or all of them are removed.
struct Candidate {
    /// The index of the set of identical files with this content, if there is one.
    set: Option<usize>,
    files: Vec<FileState>,
    stated: Option<StatedDate>,
}

impl Candidate {
    /// Returns the file that represents the content. In its set, it is the file that would stay.
    fn first(&self) -> &FileState {
        &self.files[0]
    }
}

/// Returns the command that shows both files side by side.
fn side_by_side(copy: &FileState, keep: &FileState) -> String {
    format!("resemble why {} {}", quoted(&copy.path), quoted(&keep.path))
}

impl Plan {
    /// Adds the steps for the near copies of all clusters. If all files of a set of identical files
    /// are removed, the set in `sets` is emptied.
    pub(super) fn near_copies(
        &mut self,
        document: &GroupsDocument,
        sets: &mut [Vec<FileState>],
        means: &Means<'_>,
        asked: &Superseding<'_>,
    ) {
        let all = sets.iter().enumerate();
        let set_of: HashMap<(u64, u64), usize> = all
            .flat_map(|(at, files)| files.iter().map(move |file| (file.file(), at)))
            .collect();
        let mut seen = HashSet::new();
        for cluster in &document.body.clusters {
            let mut candidates = self.candidates(cluster, &set_of, sets, means);
            candidates.retain(|one| seen.insert(one.first().file()));
            let by_stated = candidates.iter().all(|one| one.stated.is_some());
            for one in &mut candidates {
                let stated = one.stated.as_ref().filter(|_| by_stated);
                one.files[0].stated = stated.map(|date| date.time);
            }
            candidates.sort_by(|a, b| keep::compare_near(a.first(), b.first(), means));
            let mut candidates = candidates.into_iter();
            let Some(stays) = candidates.next() else {
                continue;
            };
            let mut found = Vec::new();
            for one in candidates {
                match superseded(&one, &stays, asked) {
                    Ok((loss, reason)) => {
                        if let Some(set) = one.set {
                            sets[set].clear();
                        }
                        let files = one.files;
                        found.push(Superseded {
                            files,
                            loss,
                            reason,
                        });
                    }
                    Err(why) => self.leave_out(&one.first().path, &why),
                }
            }
            if found.is_empty() {
                continue;
            }
            let by = if by_stated {
                "the dates that the documents state"
            } else {
                "the times of the files"
            };
            self.entries.push(Entry::Remark(format!(
                "stays of its cluster: {}; newest and oldest go by {by}",
                spelled(&stays.first().path)
            )));
            for one in found {
                self.entries.push(Entry::Remark(one.reason));
                for copy in &in_order(one.files) {
                    let proof = NearProof {
                        digests: one.loss.digests.clone(),
                        loss: format!(
                            "loses {}: {}",
                            one.loss.amount(),
                            side_by_side(copy, stays.first())
                        ),
                    };
                    let names = (means.names)(copy);
                    self.pool(stays.first(), copy, names, means, Some(&proof));
                }
            }
        }
    }

    /// Returns the contents of a cluster whose files are present and unchanged.
    fn candidates(
        &mut self,
        cluster: &Cluster,
        set_of: &HashMap<(u64, u64), usize>,
        sets: &[Vec<FileState>],
        means: &Means<'_>,
    ) -> Vec<Candidate> {
        let mut found = Vec::with_capacity(cluster.members.len());
        for member in &cluster.members {
            let known = (member.size, Some(member.mtime));
            let Some(file) = self.found(&member.path, known, 0, means) else {
                continue;
            };
            let set = set_of.get(&file.file()).copied();
            let files = if let Some(set) = set {
                sets[set].clone()
            } else {
                let mut names = under_each_name(&file, means);
                keep::sort(&mut names, means);
                names
            };
            if file.is_away || files.iter().any(|file| file.is_away) {
                self.leave_out(&file.path, "only a catalogue knows it or an equal of it");
            } else if !files.is_empty() {
                let (stated, future) = match member.document_date.clone() {
                    Some(date) if date.time > means.latest => (None, true),
                    stated => (stated, false),
                };
                if future {
                    self.remark_future("stated date", &file.path);
                }
                found.push(Candidate { set, files, stated });
            }
        }
        found
    }
}

/// Returns equal files in the order of their steps. The file that represents them is last. Each
/// file occurs once, under one of its names.
fn in_order(mut files: Vec<FileState>) -> Vec<FileState> {
    let mut seen = HashSet::new();
    files.retain(|file| seen.insert(file.file()));
    files.rotate_left(1);
    files
}

/// Compares a content with the content that stays. Returns the loss and the reason to remove the
/// content. The error is the reason to keep it.
fn superseded(
    one: &Candidate,
    stays: &Candidate,
    asked: &Superseding<'_>,
) -> Result<(Loss, String), String> {
    let (copy, keep) = (one.first(), stays.first());
    let loss = (asked.compare)(copy, keep)?;
    if loss.is_whole {
        let reason = "the next lies whole in the file that stays".to_owned();
        return Ok((loss, reason));
    }
    let held = percent_text(loss.held, false);
    if loss.held.is_none() {
        return Err("it is too small to judge what lies in the file that stays".to_owned());
    }
    if loss.held < asked.share {
        let line = side_by_side(copy, keep);
        return Err(if loss.is_same_text {
            format!("it has the text of the file that stays, and other bytes: {line}")
        } else {
            format!("{held} of it lies in the file that stays: {line}")
        });
    }
    let lost = |and: &str| {
        let line = side_by_side(copy, keep);
        format!("it would lose {}, and {and}: {line}", loss.amount())
    };
    match (&one.stated, &stays.stated) {
        (Some(old), Some(new)) if old.time < new.time => {
            let reason = format!(
                "{held} of the next lies in the file that stays, which is newer: {} {}, {} {}",
                new.source,
                day(new.time),
                old.source,
                day(old.time)
            );
            Ok((loss, reason))
        }
        (Some(_), Some(_)) => Err(lost("the file that stays is not newer by its own date")),
        _ => Err(lost("no dates of their own say which of the two is newer")),
    }
}
