//! The messages between the daemon and the checker. A message is a frame: a length in native byte
//! order, followed by a value in the `postcard` format. Both ends are in one program, so they use
//! the same byte order and format.

use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::{Caller, Seen};

/// The maximum size of a frame. The daemon splits a question that would be larger.
pub(crate) const MOST: usize = 1 << 20;

/// The maximum number of paths of one question. The answer about them fits into a frame, too.
pub(crate) const MOST_PATHS: usize = 4096;

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

/// Receives a frame; `None` if the other end is closed.
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

fn encoded(value: &(impl Serialize + ?Sized)) -> io::Result<Vec<u8>> {
    postcard::to_stdvec(value).map_err(io::Error::other)
}

/// Decodes a value. Fails if the frame has more bytes than the value.
fn decoded<'f, T: Deserialize<'f>>(frame: &'f [u8]) -> io::Result<T> {
    match postcard::take_from_bytes(frame) {
        Ok((value, [])) => Ok(value),
        _ => Err(broken("a frame is malformed")),
    }
}

/// Encodes a question: which of these paths may the caller see?
pub(crate) fn question(caller: &Caller, paths: &[PathBuf]) -> io::Result<Vec<u8>> {
    let paths: Vec<&[u8]> = paths
        .iter()
        .map(|path| path.as_os_str().as_bytes())
        .collect();
    encoded(&(caller.uid, caller.gid, &*caller.groups, paths))
}

/// Decodes a question.
pub(crate) fn asked(frame: &[u8]) -> io::Result<(Caller, Vec<PathBuf>)> {
    let (uid, gid, groups, paths): (u32, u32, Vec<u32>, Vec<&[u8]>) = decoded(frame)?;
    if paths.len() > MOST_PATHS {
        return Err(broken("a frame is too long"));
    }
    let caller = Caller {
        uid,
        gid,
        groups: groups.into(),
    };
    let path = |bytes: &[u8]| OsString::from_vec(bytes.to_vec()).into();
    Ok((caller, paths.into_iter().map(path).collect()))
}

/// Encodes the answer: what the caller may see at each path of the question.
pub(crate) fn answer(seen: &[Seen]) -> io::Result<Vec<u8>> {
    encoded(seen)
}

/// Decodes the answer to a question with this number of paths.
pub(crate) fn answered(frame: &[u8], paths: usize) -> io::Result<Vec<Seen>> {
    let seen: Vec<Seen> = decoded(frame)?;
    if seen.len() != paths {
        return Err(broken("the checker has no answer"));
    }
    Ok(seen)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Listable, SeenPlace};

    #[test]
    fn questions_and_answers_arrive_as_they_were_sent() {
        let caller = Caller {
            uid: 1000,
            gid: u32::MAX - 1,
            groups: [4, 24, 27].into(),
        };
        let paths: Vec<PathBuf> = vec!["/srv/a b".into(), OsString::from_vec(vec![47, 255]).into()];
        let frame = question(&caller, &paths).unwrap();
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
        assert_eq!(answered(&answer(&seen).unwrap(), 4).unwrap(), seen);
        assert!(answered(&answer(&seen).unwrap(), 3).is_err());
        let mut stream = Vec::new();
        send(&mut stream, &frame).unwrap();
        let mut stream = &stream[..];
        assert_eq!(receive(&mut stream).unwrap(), Some(frame));
        assert_eq!(receive(&mut stream).unwrap(), None);
        assert!(receive(&mut &u32::MAX.to_ne_bytes()[..]).is_err());
    }
}
