//! Takes apart a file, its members, and the members within those.
//!
//! # Memory
//!
//! A member is passed on while it is decompressed. It is kept in memory only if it is itself taken
//! apart. All bytes that are kept fill at most a quarter of the worker's memory. The content of a
//! compressed file is not kept if its format can be read in one pass. It is decompressed a second
//! time instead. So a tar.gz of any size is not kept in memory.
//!
//! # Errors
//!
//! An error ends only the reading of the current member. The error is reported under the path of
//! that member, and the next member of the archive is read. The bytes of a member before the damage
//! are kept and taken apart. Reading of the whole file ends only if it exceeds a limit.

use std::collections::HashMap;
use std::io::{self, Read};
use std::panic::{AssertUnwindSafe, catch_unwind};

use resemble_core::date::DocumentDate;

use crate::format::{self, Kind};
use crate::protocol::LONGEST_NAME;
use crate::read::{self, Out, Source, Stop, Take};
use crate::{Bound, HEAD, Limits, Role, Skipped};

/// The position of a part in the tree of parts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    /// The number of the part, or `None` if this is the file itself.
    pub(crate) part: Option<u32>,
    /// The number of archives that contain the part.
    depth: u32,
    /// True if the part is the content of a compressed file.
    unpacked: bool,
}

impl Place {
    pub(crate) fn of_file() -> Self {
        Self {
            part: None,
            depth: 0,
            unpacked: false,
        }
    }
}

/// The name of a member that has none.
const UNNAMED: &[u8] = b"unnamed";

/// The readers and the members that this run leaves out.
#[derive(Debug, Default)]
pub(crate) struct LeftOut {
    /// The numbers of the readers that crashed in earlier runs.
    pub(crate) readers: Vec<u32>,
    /// The endings of the names of members that converters read. The parent runs the converters.
    pub(crate) endings: Vec<String>,
}

/// A reader of the content of a compressed file.
pub(crate) trait Unpacking: Read {
    /// Returns the error at the end of the file, if the content before it was read and is usable.
    fn fault(&self) -> Option<Skipped>;
}

#[derive(Debug)]
pub(crate) struct Walk {
    out: Out,
    pub(crate) limits: Limits,
    /// The number of bytes of members that are in memory now.
    held: u64,
    /// The number of readers that were called so far, which is also the number of the next reader.
    items: u32,
    left_out: LeftOut,
    /// The names of the current member and of everything that contains it, from the outside in,
    /// with `!` between them.
    path: Vec<u8>,
    /// The names of the members so far, each with its container. The value is the last number that
    /// was given to another member of the same name.
    names: HashMap<(Option<u32>, Vec<u8>), u32>,
}

impl Walk {
    pub(crate) fn new(out: Out, limits: Limits, left_out: LeftOut) -> Self {
        Self {
            out,
            limits,
            held: 0,
            items: 0,
            left_out,
            path: Vec::new(),
            names: HashMap::new(),
        }
    }

    /// Takes a whole file apart. If taking the file apart fails, the last frame before the end
    /// reports the error.
    pub(crate) fn take_file(mut self, source: Source<'_>, kind: Kind) -> Take<Out> {
        let place = Place::of_file();
        let result = catch_unwind(AssertUnwindSafe(|| self.take(source, kind, b"", place)));
        let why = match result {
            Ok(Ok(())) => None,
            Ok(Err(Stop::Gone)) => return Err(Stop::Gone),
            Ok(Err(Stop::This(why) | Stop::All(why))) => Some(why),
            Err(_) => Some(Skipped::Crashed),
        };
        if let Some(why) = why {
            self.out.drop_open()?;
            self.out.skip(b"", why)?;
        }
        self.out.done()?;
        Ok(self.out)
    }

    /// Takes apart `source`, which is at `place` and has the name `name`.
    pub(crate) fn take(
        &mut self,
        source: Source<'_>,
        kind: Kind,
        name: &[u8],
        place: Place,
    ) -> Take {
        self.guarded(|walk| read::whole(walk, source, kind, name, place))
    }

    /// Calls a reader, unless it crashed in an earlier run. Announces the reader to the parent
    /// first, and catches a panic of the reader.
    fn guarded(&mut self, reader: impl FnOnce(&mut Self) -> Take) -> Take {
        let item = self.items;
        self.items += 1;
        if self.left_out.readers.contains(&item) {
            return Ok(());
        }
        self.out.enter(item, &self.path)?;
        let path = self.path.len();
        let held = self.held;
        let result = catch_unwind(AssertUnwindSafe(|| reader(self)));
        self.path.truncate(path);
        self.held = held;
        let result = result.unwrap_or(Err(Stop::This(Skipped::Crashed)));
        if result.is_err() {
            self.out.drop_open()?;
        }
        self.out.leave()?;
        result
    }

    /// Passes on a member and takes it apart. A fault of the member is reported, and the next
    /// members are still read.
    pub(crate) fn member(&mut self, name: &[u8], from: &mut dyn Read, place: Place) -> Take {
        self.member_as(name, None, from, place)
    }

    /// Does the same as [`Self::member`] for a member whose kind is known.
    pub(crate) fn member_as(
        &mut self,
        name: &[u8],
        kind: Option<Kind>,
        from: &mut dyn Read,
        place: Place,
    ) -> Take {
        let name = self.unique(name, place);
        self.within(&name, |walk| {
            walk.part(Role::Member, &name, kind, from, place)
        })
    }

    /// Returns a name that no earlier member of the container has, so that a path identifies one
    /// member. Of several members with the same name, only the first keeps the name. Each later
    /// member gets a number before the ending of its name. The ending is kept, because it may
    /// decide how the member is read.
    fn unique(&mut self, name: &[u8], place: Place) -> Vec<u8> {
        let name = &named(name)[..named(name).len().min(LONGEST_NAME)];
        let file = memchr::memrchr(b'/', name).map_or(0, |at| at + 1);
        let dot = memchr::memrchr(b'.', &name[file..]).filter(|&dot| dot > 0);
        let (stem, ending) = name.split_at(dot.map_or(name.len(), |dot| file + dot));
        let key = (place.part, name.to_vec());
        let mut number = self.names.get(&key).copied().unwrap_or(1);
        let mut free = key.clone();
        while self.names.contains_key(&free) {
            number += 1;
            free.1 = [stem, format!("~{number}").as_bytes(), ending].concat();
        }
        // The search for a number for the next member of this name starts here. A search from the
        // start would take time in proportion to the square of the number of members.
        self.names.insert(key, number);
        self.names.entry(free.clone()).or_insert(1);
        free.1
    }

    /// Calls `then` with `name` appended to the path. Reports an error of `then` under this path,
    /// and continues.
    pub(crate) fn within(&mut self, name: &[u8], then: impl FnOnce(&mut Self) -> Take) -> Take {
        let path = self.path.len();
        if path > 0 {
            self.path.push(b'!');
        }
        self.path.extend_from_slice(named(name));
        let result = then(self);
        let result = match result {
            Err(Stop::This(why)) => self
                .out
                .drop_open()
                .and_then(|()| self.out.skip(&self.path, why)),
            other => other,
        };
        self.path.truncate(path);
        result
    }

    /// Reports the date that a document states, if the document is the file itself.
    pub(crate) fn date(&mut self, place: Place, date: Option<DocumentDate>) -> Take {
        match date.filter(|_| place.part.is_none()) {
            Some(date) => self.out.date(date),
            None => Ok(()),
        }
    }

    /// Reports that text at `place` of the current part could not be read. The text of the part
    /// must have been passed on.
    pub(crate) fn unread(&mut self, place: String, reason: String) -> Take {
        self.out.skip(&self.path, Skipped::Unread { place, reason })
    }

    fn part(
        &mut self,
        role: Role,
        name: &[u8],
        kind: Option<Kind>,
        from: &mut dyn Read,
        place: Place,
    ) -> Take {
        let mut head = Vec::with_capacity(HEAD);
        let result = Read::take(&mut *from, HEAD as u64).read_to_end(&mut head);
        let mut fault = result.err().map(damage).transpose()?;
        if let Some(why) = fault.take_if(|_| head.is_empty()) {
            return Err(Stop::This(why));
        }
        let kind = kind.or_else(|| self.kind(name, &head));
        let number = self.out.begin(role, place.part, name)?;
        let mut held = kind.map(|_| Vec::new());
        self.pass(&head, &mut held)?;
        let mut buffer = vec![0; 64 << 10];
        while fault.is_none() {
            match from.read(&mut buffer) {
                Ok(0) => break,
                Ok(read) => self.pass(&buffer[..read], &mut held)?,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => fault = Some(damage(error)?),
            }
        }
        self.out.end()?;
        drop(buffer);
        self.report(fault)?;
        let Some(kind) = kind else { return Ok(()) };
        let inside = Place {
            part: Some(number),
            depth: place.depth,
            unpacked: role == Role::Unpacked,
        };
        let Some(held) = held else {
            return match kind {
                // The program is too large to be kept in memory. This is not reported, because most
                // programs contain no archive.
                Kind::SelfExtracting => Ok(()),
                _ => Err(Bound::Memory.into()),
            };
        };
        let before = self.held;
        self.held += held.len() as u64;
        let result = self.take(Source::Held(&held), kind, name, inside);
        self.held = before;
        result
    }

    /// Returns the kind of a member. Returns `None` if the member has no parts, or if a converter
    /// reads the member.
    fn kind(&self, name: &[u8], head: &[u8]) -> Option<Kind> {
        let dot = memchr::memrchr(b'.', name).map_or(name.len(), |dot| dot + 1);
        let mut not_these = self.left_out.endings.iter();
        if not_these.any(|ending| name[dot..].eq_ignore_ascii_case(ending.as_bytes())) {
            return None;
        }
        format::of(name, head)
    }

    /// Passes on bytes of the open part. Appends the bytes to `held`. If they do not fit in memory,
    /// sets `held` to `None`.
    fn pass(&mut self, bytes: &[u8], held: &mut Option<Vec<u8>>) -> Take {
        self.out.bytes(bytes)?;
        if let Some(all) = held {
            if self.fits((all.len() + bytes.len()) as u64) {
                all.extend_from_slice(bytes);
            } else {
                *held = None;
            }
        }
        Ok(())
    }

    /// Returns whether `more` further bytes may be kept in memory.
    pub(crate) fn fits(&self, more: u64) -> bool {
        self.held + more <= self.limits.memory / 4
    }

    /// Passes on the content of a compressed file, and takes it apart. Each call of `open` returns
    /// a reader that begins at the start of the content.
    pub(crate) fn unpacked<'a>(
        &mut self,
        name: &[u8],
        open: &dyn Fn(&Self) -> Box<dyn Unpacking + 'a>,
        place: Place,
    ) -> Take {
        let place = self.deeper(place, place.unpacked)?;
        let mut first = open(self);
        let mut head = Vec::with_capacity(HEAD);
        first.by_ref().take(HEAD as u64).read_to_end(&mut head)?;
        if let Some(why) = first.fault().filter(|_| head.is_empty()) {
            return Err(Stop::This(why));
        }
        let kind = self.kind(name, &head).filter(|kind| kind.streams());
        let Some(kind) = kind else {
            let mut all = head.as_slice().chain(first.by_ref());
            self.part(Role::Unpacked, name, None, &mut all, place)?;
            return self.report(first.fault());
        };
        let number = self.out.begin(Role::Unpacked, place.part, name)?;
        self.out.bytes(&head)?;
        let mut buffer = vec![0; 64 << 10];
        loop {
            match first.read(&mut buffer)? {
                0 => break,
                read => self.out.bytes(&buffer[..read])?,
            }
        }
        self.out.end()?;
        self.report(first.fault())?;
        drop((first, buffer));
        let inside = Place {
            part: Some(number),
            unpacked: true,
            ..place
        };
        self.guarded(|walk| {
            let mut second = open(walk);
            read::stream(walk, &mut second, kind, inside)
        })
    }

    /// Reports a fault after which reading goes on. No part may be open.
    pub(crate) fn report(&mut self, why: Option<Skipped>) -> Take {
        match why {
            Some(why) => self.out.skip(&self.path, why),
            None => Ok(()),
        }
    }

    /// Reports the damage after which a document could not be read. The text before the damage is
    /// kept. No part may be open.
    pub(crate) fn report_damage(&mut self, result: Take) -> Take {
        match result {
            Err(Stop::This(why @ Skipped::Damaged(_))) => self.report(Some(why)),
            other => other,
        }
    }

    /// Reports the number of pieces of hidden text that were left out.
    pub(crate) fn left_out(&mut self, count: u64) -> Take {
        let pieces = if count == 1 { "piece" } else { "pieces" };
        let why = format!("hidden text, {count} {pieces}");
        self.report((count > 0).then_some(Skipped::LeftOut(why)))
    }

    /// Returns the place for the members of an archive, which is one level deeper. Fails if this
    /// level is too deep. If `counts` is false, the level stays the same. A compressed file counts
    /// as a level only inside another compressed file, so a `tar.gz` is one level.
    pub(crate) fn deeper(&self, place: Place, counts: bool) -> Take<Place> {
        if !counts {
            return Ok(place);
        }
        if place.depth >= self.limits.depth {
            return Err(Bound::Depth.into());
        }
        Ok(Place {
            depth: place.depth + 1,
            unpacked: false,
            ..place
        })
    }

    /// Reads a whole source into memory. Fails if it does not fit.
    pub(crate) fn all(&self, source: &Source<'_>) -> Take<Vec<u8>> {
        if !self.fits(source.len()) {
            return Err(Bound::Memory.into());
        }
        let mut all = Vec::with_capacity(source.len() as usize);
        source.reader().read_to_end(&mut all)?;
        Ok(all)
    }

    /// Begins the text of the document at this place.
    pub(crate) fn text(&mut self, place: Place) -> Text<'_> {
        Text {
            walk: self,
            place,
            buffer: String::new(),
            begun: false,
        }
    }
}

/// Returns the reason if an error means that a member is damaged. The caller then keeps the bytes
/// before the damage.
fn damage(error: io::Error) -> Take<Skipped> {
    match Stop::from(error) {
        Stop::This(why @ Skipped::Damaged(_)) => Ok(why),
        stop => Err(stop),
    }
}

/// Returns the name of a member, or [`UNNAMED`] if it is empty. With an empty name, a member would
/// have the same path as its container.
fn named(name: &[u8]) -> &[u8] {
    if name.is_empty() { UNNAMED } else { name }
}

/// The text of a document, which is passed on in pieces. It becomes a part only if it contains more
/// than blanks.
#[derive(Debug)]
pub(crate) struct Text<'w> {
    walk: &'w mut Walk,
    place: Place,
    buffer: String,
    begun: bool,
}

/// The number of bytes of text that are passed on at once.
const PIECE: usize = 32 << 10;

impl Text<'_> {
    pub(crate) fn push(&mut self, text: &str) -> Take {
        self.buffer.push_str(text);
        if self.buffer.len() >= PIECE {
            self.flush()?;
        }
        Ok(())
    }

    pub(crate) fn push_char(&mut self, character: char) -> Take {
        self.buffer.push(character);
        if self.buffer.len() >= PIECE {
            self.flush()?;
        }
        Ok(())
    }

    fn flush(&mut self) -> Take {
        if !self.begun {
            if self.buffer.trim().is_empty() {
                self.buffer.clear();
                return Ok(());
            }
            self.walk.out.begin(Role::Text, self.place.part, b"")?;
            self.begun = true;
        }
        let mut bytes = std::mem::take(&mut self.buffer).into_bytes();
        // Texts must not contain NUL, so it becomes a blank.
        for byte in &mut bytes {
            if *byte == 0 {
                *byte = b' ';
            }
        }
        self.walk.out.bytes(&bytes)?;
        bytes.clear();
        self.buffer = String::from_utf8(bytes).unwrap_or_default();
        Ok(())
    }

    pub(crate) fn end(mut self) -> Take {
        self.flush()?;
        if self.begun {
            self.walk.out.end()?;
        }
        Ok(())
    }
}
