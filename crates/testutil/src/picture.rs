//! Picture files that have metadata like those of cameras, but no image.

/// An Exif tag and its text.
pub type ExifText<'t> = (u16, &'t str);

/// The tags for the time of the file's last change and for the time zone of that time.
pub const MODIFIED: (u16, u16) = (0x0132, 0x9010);
/// The tags for the time when the picture was taken and for the time zone of that time.
pub const TAKEN: (u16, u16) = (0x9003, 0x9011);
/// The tags for the time of digitization and for the time zone of that time.
pub const DIGITIZED: (u16, u16) = (0x9004, 0x9012);

/// Returns a TIFF file that has only these texts. Its directories start `before` bytes after its
/// header. Tags of 0x9000 or more go into the Exif directory.
pub fn tiff(texts: &[ExifText<'_>], before: usize) -> Vec<u8> {
    let (of_exif, of_file): (Vec<_>, Vec<_>) = texts.iter().partition(|(tag, _)| *tag >= 0x9000);
    let at = 8 + before;
    let mut out = [&b"II*\0"[..], &(at as u32).to_le_bytes()].concat();
    out.resize(at, 0);
    let pointed = at + directory_len(&of_file) + 12;
    directory(&mut out, &of_file, Some(pointed as u32));
    directory(&mut out, &of_exif, None);
    out
}

fn directory_len(texts: &[ExifText<'_>]) -> usize {
    let values: usize = texts.iter().map(|(_, text)| text.len() + 1).sum();
    2 + 12 * texts.len() + 4 + values
}

/// Appends a directory and its values; `exif` is the offset of the Exif directory.
fn directory(out: &mut Vec<u8>, texts: &[ExifText<'_>], exif: Option<u32>) {
    let count = texts.len() + usize::from(exif.is_some());
    let mut values_at = out.len() + 2 + 12 * count + 4;
    let mut values = Vec::new();
    out.extend((count as u16).to_le_bytes());
    for (tag, text) in texts {
        let len = text.len() + 1;
        assert!(len > 4, "a short text is in the place of its offset");
        out.extend(tag.to_le_bytes());
        out.extend(2u16.to_le_bytes());
        out.extend((len as u32).to_le_bytes());
        out.extend((values_at as u32).to_le_bytes());
        values.extend_from_slice(text.as_bytes());
        values.push(0);
        values_at += len;
    }
    if let Some(exif) = exif {
        out.extend(0x8769u16.to_le_bytes());
        out.extend(4u16.to_le_bytes());
        out.extend(1u32.to_le_bytes());
        out.extend(exif.to_le_bytes());
    }
    out.extend(0u32.to_le_bytes());
    out.append(&mut values);
}

/// Returns a JPEG with this metadata and these bytes of a picture.
pub fn jpeg(exif: &[u8], picture: &[u8]) -> Vec<u8> {
    let len = (2 + 6 + exif.len()) as u16;
    [
        &b"\xff\xd8\xff\xe1"[..],
        &len.to_be_bytes(),
        b"Exif\0\0",
        exif,
        b"\xff\xda\0\x02",
        picture,
        b"\xff\xd9",
    ]
    .concat()
}

/// Returns a PNG with this metadata. Its checksums are wrong.
pub fn png(exif: &[u8]) -> Vec<u8> {
    let chunk = |kind: &[u8], data: &[u8]| {
        [&(data.len() as u32).to_be_bytes()[..], kind, data, &[0; 4]].concat()
    };
    [
        &b"\x89PNG\r\n\x1a\n"[..],
        &chunk(b"IHDR", &[0; 13]),
        &chunk(b"eXIf", exif),
        &chunk(b"IEND", b""),
    ]
    .concat()
}

/// Returns a HEIC whose metadata follows `before` bytes of a picture.
pub fn heic(exif: &[u8], before: usize) -> Vec<u8> {
    let of = |kind: &[u8], body: &[u8]| {
        [&(body.len() as u32 + 8).to_be_bytes()[..], kind, body].concat()
    };
    let item = of(b"infe", b"\x02\0\0\0\0\x01\0\0Exif\0");
    let items = of(b"iinf", &[&b"\0\0\0\0\0\x01"[..], &item].concat());
    let kind = of(b"ftyp", b"heic\0\0\0\0mif1heic");
    let meta = |at: u32| {
        let place = [
            &b"\0\0\0\0\x44\0\0\x01\0\x01\0\0\0\x01"[..],
            &at.to_be_bytes(),
            &(exif.len() as u32 + 4).to_be_bytes(),
        ];
        let places = of(b"iloc", &place.concat());
        of(b"meta", &[&b"\0\0\0\0"[..], &items, &places].concat())
    };
    let at = kind.len() + meta(0).len() + 8 + before;
    let data = [&vec![0; before][..], &[0; 4], exif].concat();
    [kind, meta(at as u32), of(b"mdat", &data)].concat()
}
