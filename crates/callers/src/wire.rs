//! What the daemon and the checker say to each other: frames of a length and so many bytes, numbers
//! in the order of this machine.

use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

use crate::{Caller, Listable, Seen, SeenPlace};

/// The largest frame. A question that is longer is asked in pieces.
pub(crate) const MOST: usize = 1 << 20;

/// The most paths of one question, so that the answer fits into a frame, too.
pub(crate) const MOST_PATHS: usize = 4096;

/// Bytes of one answer.
const SEEN: usize = 1 + 3 * 8 + 2 * (8 + 4);

pub(crate) fn broken(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what.to_owned())
}

/// Sends a frame.
pub(crate) fn send(to: &mut impl Write, frame: &[u8]) -> io::Result<()> {
    let mut all = Vec::with_capacity(4 + frame.len());
    all.extend_from_slice(&(frame.len() as u32).to_ne_bytes());
    all.extend_from_slice(frame);
    to.write_all(&all)
}

/// Takes a frame; `None`: the other end is closed.
pub(crate) fn receive(from: &mut impl Read) -> io::Result<Option<Vec<u8>>> {
    let mut length = [0; 4];
    match from.read_exact(&mut length) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        other => other?,
    }
    let length = u32::from_ne_bytes(length) as usize;
    if length > MOST {
        return Err(broken("a frame is too long"));
    }
    let mut frame = vec![0; length];
    from.read_exact(&mut frame)?;
    Ok(Some(frame))
}

fn put(frame: &mut Vec<u8>, number: usize) {
    frame.extend_from_slice(&(number as u32).to_ne_bytes());
}

/// The question what a caller may see at these paths.
pub(crate) fn question(caller: &Caller, paths: &[PathBuf]) -> Vec<u8> {
    let mut frame = Vec::new();
    put(&mut frame, caller.uid as usize);
    put(&mut frame, caller.gid as usize);
    put(&mut frame, caller.groups.len());
    for &group in &*caller.groups {
        put(&mut frame, group as usize);
    }
    put(&mut frame, paths.len());
    for path in paths {
        put(&mut frame, path.as_os_str().len());
        frame.extend_from_slice(path.as_os_str().as_bytes());
    }
    frame
}

/// The rest of a frame.
struct Rest<'f>(&'f [u8]);

impl Rest<'_> {
    fn bytes(&mut self, count: usize) -> io::Result<&[u8]> {
        let split = self.0.split_at_checked(count);
        let (bytes, rest) = split.ok_or_else(|| broken("a frame is too short"))?;
        self.0 = rest;
        Ok(bytes)
    }

    fn number(&mut self) -> io::Result<u32> {
        let mut number = [0; 4];
        number.copy_from_slice(self.bytes(4)?);
        Ok(u32::from_ne_bytes(number))
    }

    fn long(&mut self) -> io::Result<u64> {
        let mut number = [0; 8];
        number.copy_from_slice(self.bytes(8)?);
        Ok(u64::from_ne_bytes(number))
    }
}

/// Reads a question.
pub(crate) fn asked(frame: &[u8]) -> io::Result<(Caller, Vec<PathBuf>)> {
    let mut rest = Rest(frame);
    let (uid, gid) = (rest.number()?, rest.number()?);
    let groups = (0..rest.number()?).map(|_| rest.number());
    let groups = groups.collect::<io::Result<_>>()?;
    let count = rest.number()?;
    let mut paths = Vec::new();
    for _ in 0..count {
        let length = rest.number()? as usize;
        paths.push(OsString::from_vec(rest.bytes(length)?.to_vec()).into());
    }
    if paths.len() > MOST_PATHS || !rest.0.is_empty() {
        return Err(broken("a frame is too long"));
    }
    Ok((Caller { uid, gid, groups }, paths))
}

/// The answer.
pub(crate) fn answer(seen: &[Seen]) -> Vec<u8> {
    let mut frame = Vec::with_capacity(seen.len() * SEEN);
    for seen in seen {
        let (tag, place) = match seen {
            Seen::Nothing => (0, None),
            Seen::File(place) => (1, Some(place)),
            Seen::Folder(place, Listable(false)) => (2, Some(place)),
            Seen::Folder(place, Listable(true)) => (3, Some(place)),
        };
        frame.push(tag);
        let place = place.copied().unwrap_or_default();
        for number in [place.dev, place.ino, place.size] {
            frame.extend_from_slice(&number.to_ne_bytes());
        }
        for (seconds, nanoseconds) in [place.mtime, place.ctime] {
            frame.extend_from_slice(&seconds.to_ne_bytes());
            put(&mut frame, nanoseconds as usize);
        }
    }
    frame
}

/// Reads an answer about so many paths.
pub(crate) fn answered(frame: &[u8], paths: usize) -> io::Result<Vec<Seen>> {
    if frame.len() != paths * SEEN {
        return Err(broken("the checker has no answer"));
    }
    let one = |bytes: &[u8]| {
        let mut rest = Rest(&bytes[1..]);
        let place = SeenPlace {
            dev: rest.long()?,
            ino: rest.long()?,
            size: rest.long()?,
            mtime: (rest.long()? as i64, rest.number()?),
            ctime: (rest.long()? as i64, rest.number()?),
        };
        match bytes[0] {
            0 => Ok(Seen::Nothing),
            1 => Ok(Seen::File(place)),
            2 => Ok(Seen::Folder(place, Listable(false))),
            3 => Ok(Seen::Folder(place, Listable(true))),
            _ => Err(broken("the checker says what nobody knows")),
        }
    };
    frame.chunks_exact(SEEN).map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_and_answers_arrive_as_they_were_sent() {
        let caller = Caller {
            uid: 1000,
            gid: u32::MAX - 1,
            groups: [4, 24, 27].into(),
        };
        let paths: Vec<PathBuf> = vec!["/srv/a b".into(), OsString::from_vec(vec![47, 255]).into()];
        let frame = question(&caller, &paths);
        assert_eq!(asked(&frame).unwrap(), (caller, paths));
        for cut in 0..frame.len() {
            assert!(asked(&frame[..cut]).is_err(), "{cut}");
        }
        let place = SeenPlace {
            dev: 1 << 40,
            ino: u64::MAX,
            size: 3,
            mtime: (-5, 999_999_999),
            ctime: (1 << 40, 1),
        };
        let seen = [
            Seen::File(place),
            Seen::Nothing,
            Seen::Folder(place, Listable(true)),
            Seen::Folder(place, Listable(false)),
        ];
        assert_eq!(answered(&answer(&seen), 4).unwrap(), seen);
        assert!(answered(&answer(&seen), 3).is_err());
        let mut stream = Vec::new();
        send(&mut stream, &frame).unwrap();
        let mut stream = &stream[..];
        assert_eq!(receive(&mut stream).unwrap(), Some(frame));
        assert_eq!(receive(&mut stream).unwrap(), None);
        assert!(receive(&mut &u32::MAX.to_ne_bytes()[..]).is_err());
    }
}
