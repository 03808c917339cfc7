//! Returns answers of the index as listings and as extended attributes.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;

use super::attr::{ATTRIBUTES, Refusal};
use super::namespace::{Namespace, Result};
use super::node::{At, Node, Subject};
use crate::names::{self, Answer, rank};
use crate::neighbours::Neighbour;

/// The maximum number of entries in one listing, as `docs/semantics.md` promises. If there are more
/// neighbours, the listing has the best of them.
const LISTED: usize = 100;
/// The maximum length of a link's target in bytes. The kernel cannot read a longer one.
const LONGEST_TARGET: usize = 4095;
/// The maximum number of answers that are kept for the look-ups after a listing. A kept answer is
/// used only while [`crate::Neighbours::generation`] is unchanged.
const KEPT_ANSWERS: usize = 64;
impl Namespace {
    /// Returns the value of an extended attribute of a node.
    pub fn attribute(&self, ino: u64, name: &OsStr) -> Result<Vec<u8>> {
        let node = self.node(ino)?;
        let (Node::File(at) | Node::Folder(at) | Node::Dir(at)) = node.as_ref() else {
            return Err(Refusal::NoAttribute);
        };
        let ours = ATTRIBUTES.iter().position(|known| name == *known);
        match (ours, node.as_ref()) {
            (Some(which), Node::File(_) | Node::Folder(_)) => self.attribute_of_ours(at, which),
            _ if name.as_bytes().starts_with(b"user.") => {
                self.tree.attribute(at, name).map_err(no_attribute)
            }
            _ => Err(Refusal::NoAttribute),
        }
    }

    fn attribute_of_ours(&self, at: &At, which: usize) -> Result<Vec<u8>> {
        self.tree.stat(at)?;
        let answer = self.answer(&Subject::File(at.clone()));
        if ATTRIBUTES[which] == "user.resemble.count" {
            return Ok(answer.total.to_string().into_bytes());
        }
        let Some(best) = answer.best() else {
            return Ok(Vec::new());
        };
        Ok(match ATTRIBUTES[which] {
            "user.resemble.best" => best.path().into_os_string().into_encoded_bytes(),
            "user.resemble.best_percent" => {
                best.a_in_b.percent(best.identical).to_string().into_bytes()
            }
            _ => best.relation.as_bytes().to_vec(),
        })
    }

    /// Returns the names of the extended attributes of a node. Our attributes are included even if
    /// the file has no neighbours. To leave them out, each `cp -a` and `ls -l` would have to ask
    /// the index about every file.
    pub fn attributes(&self, ino: u64) -> Result<Vec<OsString>> {
        let node = self.node(ino)?;
        let (Node::File(at) | Node::Folder(at) | Node::Dir(at)) = node.as_ref() else {
            return Ok(Vec::new());
        };
        let mut names = self.tree.attributes(at).unwrap_or_default();
        if !matches!(node.as_ref(), Node::Dir(_)) {
            names.retain(|name| !ATTRIBUTES.iter().any(|ours| name == ours));
            names.extend(ATTRIBUTES.iter().map(OsString::from));
        }
        Ok(names)
    }

    /// Returns the node of an entry in a listing, by the name of the entry.
    pub(super) fn similar_entry(&self, of: &Subject, name: &OsStr) -> Result<Node> {
        let answer = self.last_answer(of)?;
        if answer.more().is_some_and(|more| more == name) {
            return Ok(Node::More(of.clone()));
        }
        let found = names::find(&answer.named, name).ok_or(Refusal::NotFound)?;
        self.is_still_seen(&found.neighbour)?;
        Ok(entry(of, &found.neighbour))
    }

    /// Returns the neighbour of an entry in a listing, by the name of the entry.
    pub(super) fn neighbour(&self, of: &Subject, name: &OsStr) -> Result<Neighbour> {
        let answer = self.last_answer(of)?;
        let found = names::find(&answer.named, name).ok_or(Refusal::NotFound)?;
        self.is_still_seen(&found.neighbour)?;
        Ok(found.neighbour.clone())
    }

    /// Checks that the caller may still see a neighbour. A kept answer may name a file that the
    /// caller could see when the answer was made.
    fn is_still_seen(&self, neighbour: &Neighbour) -> Result<()> {
        if self.tree.sees(&neighbour.target)? {
            Ok(())
        } else {
            Err(Refusal::NotFound)
        }
    }

    pub(super) fn last_answer(&self, of: &Subject) -> Result<Arc<Answer>> {
        // A removed file has no neighbours, even if the index still has the file.
        self.tree.stat(of.at())?;
        Ok(match self.kept_answer(of) {
            Some(answer) => answer,
            None => self.answer(of),
        })
    }

    /// Returns the kept answer about a file or directory, if the answer cannot have changed.
    fn kept_answer(&self, of: &Subject) -> Option<Arc<Answer>> {
        let now = self.neighbours.generation()?;
        let answers = self.answers.lock();
        answers
            .get(of)
            .filter(|(then, _)| *then == now)
            .map(|(_, answer)| Arc::clone(answer))
    }

    /// Asks the index for the neighbours of a file or directory, and keeps the answer.
    pub(super) fn answer(&self, of: &Subject) -> Arc<Answer> {
        // The generation is read before the question. If the generation changes in between, the
        // answer is discarded too early, never too late.
        let generation = self.neighbours.generation();
        let path = self.tree.path(of.at());
        let mut listing = match of {
            Subject::File(_) => self.neighbours.similar(&path),
            Subject::Dir(_) => self.neighbours.similar_dirs(&path),
        };
        let mut left = listing.total.saturating_sub(listing.neighbours.len());
        listing
            .neighbours
            .retain(|neighbour| neighbour.target != path);
        let count = listing.neighbours.len();
        listing.neighbours.retain(|neighbour| {
            !neighbour.member.is_empty() || neighbour.target.as_os_str().len() <= LONGEST_TARGET
        });
        left += count - listing.neighbours.len();
        if listing.neighbours.len() > LISTED {
            listing.neighbours.sort_by(rank);
            left += listing.neighbours.len() - LISTED;
            listing.neighbours.truncate(LISTED);
        }
        let answer = Answer {
            named: names::name_all(listing.neighbours),
            total: listing.total,
            left,
        };
        let answer = Arc::new(answer);
        if let Some(generation) = generation {
            let mut answers = self.answers.lock();
            if answers.len() >= KEPT_ANSWERS {
                answers.clear();
            }
            answers.insert(of.clone(), (generation, Arc::clone(&answer)));
        }
        answer
    }
}

/// Returns the node of a neighbour: a link to a file or directory, or a file with the bytes of a
/// member.
pub(super) fn entry(of: &Subject, neighbour: &Neighbour) -> Node {
    match of {
        Subject::File(at) if !neighbour.member.is_empty() => Node::Member {
            of: at.clone(),
            path: neighbour.path(),
            size: neighbour.member_size,
        },
        _ => Node::Link {
            of: of.clone(),
            target: neighbour.target.clone(),
        },
    }
}

/// Converts the error of an attempt to read an attribute. The file may not have this attribute, or
/// its file system may have no attributes at all.
fn no_attribute(errno: rustix::io::Errno) -> Refusal {
    match errno {
        rustix::io::Errno::NODATA | rustix::io::Errno::OPNOTSUPP | rustix::io::Errno::PERM => {
            Refusal::NoAttribute
        }
        other => other.into(),
    }
}
