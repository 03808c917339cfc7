//! Reads tar and `ar`, the archives that are read from start to end.

use std::io::{self, Read};

use crate::Skipped;
use crate::charset::MemberNames;
use crate::read::{Place, Stop, Take, Walk, cut};

/// Reads the regular files in a tar. Links and devices have no content.
pub(super) fn read(walk: &mut Walk, from: &mut dyn Read, place: Place) -> Take {
    let mut archive = tar::Archive::new(from);
    let mut names = MemberNames::default();
    for entry in archive.entries()? {
        let mut entry = entry?;
        let kind = entry.header().entry_type();
        if !(kind.is_file() || kind.is_contiguous() || kind.is_gnu_sparse()) {
            continue;
        }
        let name = entry.path_bytes().into_owned();
        // The oldest tars mark a folder only by the `/` at the end of its name.
        if name.ends_with(b"/") {
            continue;
        }
        names.see(&name);
        let name = names.decode(&name);
        let left = entry.size();
        let mut whole = Whole::new(&mut entry, left);
        walk.member(&name, &mut whole, place)?;
        if whole.is_cut {
            break;
        }
    }
    Ok(())
}

/// Reads exactly `left` bytes, and fails if there are fewer.
struct Whole<R> {
    inner: R,
    left: u64,
    is_cut: bool,
}

impl<R> Whole<R> {
    fn new(inner: R, left: u64) -> Self {
        Self {
            inner,
            left,
            is_cut: false,
        }
    }
}

impl<R: Read> Read for Whole<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buf)?;
        if read == 0 && self.left > 0 && !buf.is_empty() {
            self.is_cut = true;
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.left = self.left.saturating_sub(read as u64);
        Ok(read)
    }
}

/// The size in bytes of the header of a member.
const AR_HEADER: usize = 60;

/// Reads the members of an `ar` archive. Long names may be stored as by GNU or as by BSD.
pub(super) fn ar(walk: &mut Walk, from: &mut dyn Read, place: Place) -> Take {
    let mut magic = [0; 8];
    from.read_exact(&mut magic)?;
    let mut long_names = Vec::new();
    loop {
        let mut header = Vec::with_capacity(AR_HEADER);
        from.take(AR_HEADER as u64).read_to_end(&mut header)?;
        if header.is_empty() {
            return Ok(());
        }
        let Some(member) = ArMember::parse(&header) else {
            return Err(Stop::This(Skipped::Damaged("no header of ar".to_owned())));
        };
        let mut body = from.take(member.size);
        let name = match member.name {
            b"/" | b"/SYM64/" | b"__.SYMDEF" => None,
            b"//" => {
                body.by_ref().take(1 << 20).read_to_end(&mut long_names)?;
                None
            }
            [b'/', offset @ ..] => number(offset).and_then(|at| long_name(&long_names, at)),
            [b'#', b'1', b'/', length @ ..] => {
                let length = number(length).unwrap_or(0).min(1 << 12);
                let mut name = Vec::new();
                body.by_ref().take(length).read_to_end(&mut name)?;
                name.truncate(
                    name.iter()
                        .position(|&byte| byte == 0)
                        .unwrap_or(name.len()),
                );
                Some(name)
            }
            name => Some(name.strip_suffix(b"/").unwrap_or(name).to_vec()),
        };
        if let Some(name) = name {
            let left = body.limit();
            let mut whole = Whole::new(&mut body, left);
            walk.member(&name, &mut whole, place)?;
            if whole.is_cut {
                return Ok(());
            }
        }
        io::copy(&mut body, &mut io::sink())?;
        if body.limit() > 0 {
            return Err(Stop::This(cut()));
        }
        if member.size % 2 == 1 {
            io::copy(&mut from.take(1), &mut io::sink())?;
        }
    }
}

struct ArMember<'a> {
    name: &'a [u8],
    size: u64,
}

impl<'a> ArMember<'a> {
    fn parse(header: &'a [u8]) -> Option<Self> {
        let mark = header.get(58..AR_HEADER)?;
        Some(Self {
            name: header.get(..16)?.trim_ascii_end(),
            size: number(header.get(48..58)?).filter(|_| mark == b"`\n")?,
        })
    }
}

fn number(digits: &[u8]) -> Option<u64> {
    std::str::from_utf8(digits).ok()?.trim().parse().ok()
}

fn long_name(names: &[u8], at: u64) -> Option<Vec<u8>> {
    let name = names.get(usize::try_from(at).ok()?..)?;
    let end = name
        .iter()
        .position(|&byte| byte == b'\n')
        .unwrap_or(name.len());
    let name = &name[..end];
    Some(name.strip_suffix(b"/").unwrap_or(name).to_vec())
}
