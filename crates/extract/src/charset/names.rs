//! Decodes the member names of an archive that does not state the encoding of its names.

use super::{Charset, legacy};

/// The names of one archive that were seen so far. The encoding is detected from all these names,
/// because one name alone is weak evidence.
#[derive(Debug, Default)]
pub(crate) struct MemberNames {
    seen: Vec<u8>,
    charset: Option<Charset>,
    /// The length of `seen` when `charset` was last detected.
    judged: usize,
}

/// The length of `seen` in bytes at which no further names are added.
const SEEN: usize = 16 << 10;

impl MemberNames {
    /// Adds a name to those from which the encoding is detected.
    pub(crate) fn see(&mut self, name: &[u8]) {
        if self.seen.len() < SEEN && std::str::from_utf8(name).is_err() {
            self.seen.extend_from_slice(name);
            self.seen.push(b'\n');
        }
    }

    /// Decodes a name to UTF-8 if its encoding is detected; otherwise returns it unchanged.
    pub(crate) fn decode(&mut self, name: &[u8]) -> Vec<u8> {
        if std::str::from_utf8(name).is_ok() {
            return name.to_vec();
        }
        // Detects the encoding again each time the length of `seen` has doubled.
        if self.judged == 0 || self.seen.len() >= 2 * self.judged {
            self.judged = self.seen.len().max(1);
            self.charset = legacy(&self.seen);
        }
        match self.charset {
            Some(charset) => charset.decode(name).into_bytes(),
            None => name.to_vec(),
        }
    }
}

#[cfg(test)]
mod tests {
    use encoding_rs::{Encoding, GBK, IBM866, SHIFT_JIS, WINDOWS_1252};

    use super::*;

    fn decoded(names: &[Vec<u8>]) -> Vec<String> {
        let mut all = MemberNames::default();
        for name in names {
            all.see(name);
        }
        let decoded = names.iter().map(|name| all.decode(name));
        decoded
            .map(|name| String::from_utf8_lossy(&name).into_owned())
            .collect()
    }

    #[test]
    fn names_are_read_together() {
        let cases: [(&'static Encoding, &[&str]); 4] = [
            (
                WINDOWS_1252,
                &["Bücher/Größe.txt", "Äpfel.txt", "plain.txt"],
            ),
            (IBM866, &["Документы/Отчёт за год.txt", "Письмо.doc"]),
            (SHIFT_JIS, &["資料/会議の記録.txt", "写真.jpg"]),
            (GBK, &["文件/会议记录.txt", "照片和说明.jpg"]),
        ];
        for (encoding, names) in cases {
            let bytes: Vec<Vec<u8>> = names
                .iter()
                .map(|name| encoding.encode(name).0.into_owned())
                .collect();
            assert_eq!(decoded(&bytes), names, "{}", encoding.name());
        }
        // Info-ZIP writes names in code page 850, PKZIP in 437. The letters of these names have the
        // same bytes in both code pages.
        let names = [
            b"Gr\x81\xe1e an alle.txt".to_vec(),
            b"B\x84ume/\x99l.txt".to_vec(),
        ];
        assert_eq!(decoded(&names), ["Grüße an alle.txt", "Bäume/Öl.txt"]);
        // A name in UTF-8 stays unchanged. A name that is not text stays unchanged, too.
        let mut all = MemberNames::default();
        let odd = b"\xff\xfe/../x";
        all.see(odd);
        assert_eq!(all.decode(odd), odd);
        assert_eq!(all.decode("ü".as_bytes()), "ü".as_bytes());
    }
}
