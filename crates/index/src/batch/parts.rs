//! Parts: the files that were found inside a content.
//!
//! **Only the content of a file has parts.** That content is called the container of its parts. The
//! list of a container has the parts at all depths. So no question goes from container to
//! container, and an archive that contains itself makes no cycle. When a content loses its last
//! file, its parts are released. If the content is still a part of another content, it is searched
//! again when a new file has it.
//!
//! The rows of parts are written while the changes are applied. The numbers of references to
//! contents are stored at the end of the batch.

use std::path::PathBuf;

use resemble_core::date::DocumentDate;
use resemble_core::{ContentDigest, ContentId};

use super::contents::{Contents, Seen};
use super::{Batch, Refusal};
use crate::change::{ContentRef, NewLook, NewPart};
use crate::codec::rows::{StoredContent, decode_part, encode_part, encode_skipped};
use crate::fault::Fault;
use crate::rows::{Look, PartRow, SkippedPart};
use crate::store::ReadableTable;

impl Batch<'_, '_> {
    /// Records the result of searching a content for parts.
    pub(super) fn look(
        &mut self,
        path: PathBuf,
        digest: &ContentDigest,
        look: NewLook,
    ) -> Result<(), Refusal> {
        let Some(container) = self.contents.find(digest)? else {
            return Ok(());
        };
        let (parts, skipped, date, look) = match look {
            // The content was taken apart for a file whose name has another ending. The parts
            // stay.
            NewLook::Plain if self.contents.seen(container)?.look == Look::Apart => return Ok(()),
            NewLook::Plain => (Vec::new(), Vec::new(), None, Look::Plain),
            NewLook::Unseen => (Vec::new(), Vec::new(), None, Look::Unseen),
            NewLook::Apart {
                parts,
                skipped,
                date,
                again,
            } => {
                let look = if again { Look::Unseen } else { Look::Apart };
                (parts, skipped, date, look)
            }
        };
        if let Some(parts) = self.resolved(parts)? {
            // The origin of a part is the name of its container.
            if let Some((dir, name)) = self.spot(&path)? {
                for part in &parts {
                    self.note_origin(part.content, dir, &name);
                }
            }
            self.contents
                .set_parts(container, (look, date), &parts, &skipped)?;
        } else {
            self.applied.gone.push(path);
        }
        Ok(())
    }

    /// Returns the parts with the ids of their contents. Returns `None` if a part names a content
    /// that the index no longer has.
    fn resolved(&mut self, parts: Vec<NewPart>) -> Result<Option<Vec<PartRow>>, Refusal> {
        let mut rows = Vec::with_capacity(parts.len());
        for part in parts {
            let content = match part.content {
                None => None,
                Some(ContentRef::New(digest)) => {
                    Some(self.contents.of_digest(digest, self.writing)?)
                }
                Some(ContentRef::Known(content)) if self.contents.exists(content)? => Some(content),
                Some(ContentRef::Known(_)) => return Ok(None),
                Some(ContentRef::Edited(edited)) => {
                    match self.contents.of_edited(*edited, self.writing)? {
                        Some(content) => Some(content),
                        None => return Ok(None),
                    }
                }
            };
            rows.push(PartRow {
                role: part.role,
                parent: part.parent,
                name: part.name,
                content,
            });
        }
        Ok(Some(rows))
    }
}

impl Contents<'_> {
    /// Replaces the parts of a content.
    fn set_parts(
        &mut self,
        container: ContentId,
        (look, date): (Look, Option<DocumentDate>),
        parts: &[PartRow],
        skipped: &[SkippedPart],
    ) -> Result<(), Fault> {
        self.drop_parts(container)?;
        let mut row = Vec::new();
        for (number, part) in (0..).zip(parts) {
            encode_part(part, &mut row);
            self.parts.insert((container.0, number), &row[..])?;
            if let Some(content) = part.content {
                self.part_of.insert((content.0, container.0, number), ())?;
                self.count_use(content, 1);
            }
        }
        if !skipped.is_empty() {
            encode_skipped(skipped, &mut row);
            self.skipped_parts.insert(container.0, &row[..])?;
        }
        let seen = Seen {
            look,
            parts: parts.len() as u32,
            skipped: !skipped.is_empty(),
            date,
        };
        self.set_seen(container, seen);
        Ok(())
    }

    /// Removes the parts of a content, and marks it as not yet searched for parts.
    pub(super) fn drop_parts(&mut self, container: ContentId) -> Result<(), Fault> {
        let seen = self.seen(container)?;
        for number in 0..seen.parts {
            let row = self.parts.remove((container.0, number))?;
            let row = row.map(|row| decode_part(row.value())).transpose()?;
            let part = row.ok_or_else(|| Fault::damaged("a content misses one of its parts"))?;
            if let Some(content) = part.content {
                self.part_of.remove((content.0, container.0, number))?;
                self.count_use(content, -1);
            }
        }
        if seen.skipped {
            self.skipped_parts.remove(container.0)?;
        }
        if seen != Seen::default() {
            self.set_seen(container, Seen::default());
        }
        Ok(())
    }

    /// Marks every content as not yet searched for parts, because the extractor changed. The parts
    /// stay until their container is searched again.
    pub(super) fn forget_looks(&mut self) -> Result<(), Fault> {
        let mut seen = Vec::new();
        for row in self.rows.range::<u32>(..)? {
            let (id, row) = row?;
            let row = StoredContent::decode(row.value())?;
            if row.look != Look::Unseen {
                let look = Look::Unseen;
                let unseen = Seen {
                    look,
                    parts: row.parts,
                    skipped: row.skipped,
                    date: row.date,
                };
                seen.push((ContentId(id.value()), unseen));
            }
        }
        for (content, seen) in seen {
            self.set_seen(content, seen);
        }
        Ok(())
    }
}
