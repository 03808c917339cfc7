//! Imports catalogues, which become trees of the index that nothing watches.
//!
//! The catalogue files in the state folder are authoritative; the index has a copy of their
//! contents. A record in the index lists the catalogues that the index has. So a starting daemon
//! reads only those catalogues that the record does not list. Catalogues are no roots: they take no
//! part in scans, events and checks of the file system.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use resemble_catalogue::{self as catalogue, Catalogue, CatalogueError};
use resemble_index::Index;
use resemble_proto::catalogued::{self, Source};
use resemble_proto::message::{Failure, FailureKind};

use super::Indexer;
use super::orders::closed;
use crate::state::Topic;

/// The name of the record that lists the catalogues in the index, by label, with their checksums.
const RECORD: &str = "daemon/catalogues";

type Known = BTreeMap<String, String>;

fn known(index: &Index) -> Known {
    let record = index
        .snapshot()
        .ok()
        .and_then(|snapshot| snapshot.record(RECORD).ok());
    let record = record.flatten().unwrap_or_default();
    serde_json::from_slice(&record).unwrap_or_default()
}

fn remember(index: &Index, known: &Known) -> Result<(), CatalogueError> {
    let text = serde_json::to_vec(known).unwrap_or_default();
    Ok(index.put_record(RECORD, &text)?)
}

impl Indexer {
    /// Changes the index so that it has exactly the catalogues of the state folder. If a catalogue
    /// cannot be used, the answer of `status` names it.
    pub(super) fn attach_catalogues(&mut self) {
        let (Some(folder), Some(index)) = (self.options.catalogues.clone(), self.shared.index())
        else {
            return;
        };
        self.shared.mended(Topic::Catalogues);
        let labels = catalogue::kept(&folder);
        let roots: Vec<PathBuf> = labels
            .iter()
            .map(|label| catalogued::of_label(label))
            .collect();
        let before = known(&index);
        let mut known = before.clone();
        known.retain(|label, _| labels.contains(label));
        let mut there = Vec::with_capacity(roots.len());
        let stray = catalogue::unload_stray(&index, &roots);
        if let Err(error) = stray {
            tracing::warn!(%error, "a catalogue that was forgotten is still in the index");
        }
        for (label, root) in labels.iter().zip(roots) {
            let file = catalogue::file_of_label(&folder, label);
            match attach_kept(&index, label, &root, &file, &mut known) {
                Ok(()) => there.push(root),
                Err(error) => {
                    known.remove(label);
                    let remedy = format!("resemble watch remove {label}:");
                    let reason = error.to_string();
                    self.shared
                        .trouble(Topic::Catalogues, &file, &reason, Some(&remedy));
                }
            }
        }
        // If the record is unchanged, nothing is written, because the disk may be full.
        if known != before
            && let Err(error) = remember(&index, &known)
        {
            tracing::warn!(%error, "catalogues are read again by the next start");
        }
        self.shared.set_catalogues(there);
        self.shared.tick();
    }

    pub(super) fn import(&mut self, file: &Path, label: &str) -> Result<(), Failure> {
        let refused = |error: CatalogueError| Failure::new(FailureKind::Refused, error.to_string());
        self.shared.index().ok_or_else(closed)?;
        if !catalogued::is_label(label) {
            return Err(Failure::new(
                FailureKind::BadRequest,
                "this cannot be the label of a catalogue",
            ));
        }
        if let Some(followed) = self.follows(label) {
            return Err(Failure::new(FailureKind::Refused, followed));
        }
        self.keep_catalogue(file, label).map_err(refused)
    }

    /// Stores a copy of a catalogue, and puts it into the index. If that fails, the previous
    /// catalogue of this label stays.
    pub(super) fn keep_catalogue(
        &mut self,
        file: &Path,
        label: &str,
    ) -> Result<(), CatalogueError> {
        let (Some(index), Some(folder)) = (self.shared.index(), self.options.catalogues.clone())
        else {
            return Err(CatalogueError::Keep {
                file: file.to_owned(),
                source: io::Error::other("the index is closed just now"),
            });
        };
        // The new catalogue is checked before it replaces the previous one.
        let (received, catalogue) = catalogue::receive(&folder, file, label)?;
        catalogue::fits(&catalogue, index.params()).map_err(|error| error.of(file))?;
        let mut known = known(&index);
        let root = catalogued::of_label(label);
        let attached = attach(&index, label, &root, catalogue, &mut known);
        if let Err(error) = attached.and_then(|()| received.keep()) {
            // If the previous catalogue is no longer in the index, it is loaded from its file
            // again.
            self.attach_catalogues();
            return Err(error.of(file));
        }
        let mut roots = self.shared.catalogues();
        roots.retain(|other| *other != root);
        roots.push(root);
        roots.sort();
        remember(&index, &known)?;
        self.shared.set_catalogues(roots);
        self.shared.tick();
        tracing::info!(label, "a catalogue is kept");
        Ok(())
    }

    pub(super) fn forget_catalogue(&mut self, root: &Path) -> Result<(), Failure> {
        let refused = |error: CatalogueError| Failure::new(FailureKind::Refused, error.to_string());
        let Some((Source::Label(label), root, _)) = catalogued::source_of(root) else {
            return Err(Failure::new(FailureKind::Refused, "no such catalogue"));
        };
        if let Some(followed) = self.follows(&label) {
            return Err(Failure::new(FailureKind::Refused, followed));
        }
        let folder = self.options.catalogues.clone().unwrap_or_default();
        if !catalogue::forget(&folder, &label).map_err(refused)? {
            let text =
                format!("no catalogue {label:?} is kept; `resemble catalogue list` names them");
            return Err(Failure::new(FailureKind::Refused, text));
        }
        self.attach_catalogues();
        tracing::info!(label, ?root, "a catalogue is forgotten");
        Ok(())
    }
}

/// Puts a catalogue of the state folder into the index, unless the index already has exactly this
/// catalogue.
fn attach_kept(
    index: &Index,
    label: &str,
    root: &Path,
    file: &Path,
    known: &mut Known,
) -> Result<(), CatalogueError> {
    let claimed = catalogue::claimed_checksum(file).map(|checksum| checksum.to_string());
    let is_there = index.snapshot()?.entry(root)?.is_some();
    if is_there && claimed.is_some() && known.get(label) == claimed.as_ref() {
        return Ok(());
    }
    attach(index, label, root, catalogue::open(file)?, known)
}

/// Puts a catalogue into the index, and records it as known.
fn attach(
    index: &Index,
    label: &str,
    root: &Path,
    catalogue: Catalogue,
    known: &mut Known,
) -> Result<(), CatalogueError> {
    let checksum = catalogue.checksum().to_string();
    // Before the catalogue is loaded, its label is removed from the record. So if the daemon
    // crashes during the load, the next start does not take half a catalogue for a whole one.
    known.remove(label);
    remember(index, known)?;
    catalogue::load(index, root, catalogue)?;
    known.insert(label.to_owned(), checksum);
    Ok(())
}
