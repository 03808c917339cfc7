//! Takes documents and archives apart after a scan. An index chooses renditions by the same rule
//! (`renditions::owners`).

use std::collections::HashSet;
use std::os::fd::AsFd;

use resemble_core::Digest;
use resemble_core::similarity::too_small;
use resemble_relate::renditions::owners::further_members;
use resemble_relate::renditions::{MOST_MEMBERS, Rendition, held_among, renditions_among};
use resemble_scan::parts::{DigestedParts, HEAD};
use resemble_scan::read::{open_regular, read_prefix};
use resemble_scan::walk::Stat;

use super::ScannedDocument;
use super::worker::{Worker, name_of};

impl Worker<'_, '_> {
    /// Takes a document apart.
    pub(super) fn take_apart(&mut self, document: &ScannedDocument) {
        let Some(part_reader) = self.shared.part_reader else {
            return;
        };
        let root = &self.shared.roots[document.side];
        let path = if root.single {
            root.path.clone()
        } else {
            self.shared.path(document.side, &document.path)
        };
        let opened = open_regular(&root.anchor, &path).ok();
        let parts = opened.and_then(|(file, _)| {
            let (digester, params) = (&mut self.digester, self.params);
            let (name, fd) = (name_of(&document.path), file.as_fd());
            let head = read_prefix(&file, HEAD).ok()?;
            let parts = DigestedParts::of(part_reader, name, &head, fd, digester, &params);
            // If the file has changed since the scan read it, the parts belong to another content.
            let now = Stat::of(fd).ok()?;
            now.unchanged_since(&document.stat).then_some(parts)
        });
        let Some(mut parts) = parts else {
            self.notes.again = true;
            return;
        };
        self.notes.again |= parts.again;
        let (stand_ins, held) = stand_ins(&parts);
        let stand_ins = stand_ins
            .into_iter()
            .map(|(rendition, digest)| (rendition, self.keep(digest)))
            .collect();
        parts.skipped.extend(further_members(held));
        let mut table = self.shared.table.lock();
        table.apart.insert(document.number, stand_ins);
        if !parts.skipped.is_empty() {
            table.skipped.insert(document.number, parts.skipped);
        }
    }
}

/// Returns the contents by which a file is compared in addition to its bytes. Each has its kind,
/// for example the text or a member of an archive. Also returns the number of contents in an
/// archive.
fn stand_ins(parts: &DigestedParts) -> (Vec<(Rendition, &Digest)>, usize) {
    let roles = parts.pieces.iter().map(|piece| (piece.role, piece.parent));
    let digest = |at: usize| parts.pieces[at].digest.as_deref();
    let mut stand_ins = renditions_among(roles.clone(), None, digest);
    let mut seen = HashSet::new();
    if stand_ins.iter().any(|(rendition, _)| rendition.is_whole()) {
        let mut held: Vec<&Digest> = held_among(roles, None)
            .into_iter()
            .filter_map(digest)
            .collect();
        held.retain(|digest| seen.insert(digest.content));
        let members = held.into_iter().take(MOST_MEMBERS);
        let members = members.filter(|digest| !too_small(digest.size));
        stand_ins.extend(members.map(|digest| (Rendition::Member, digest)));
    }
    (stand_ins, seen.len())
}
