//! Builds archives without archiving programs, because tests must not depend on the programs of a
//! machine.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// Returns an uncompressed zip of these files.
pub fn zip(files: &[(&str, &[u8])]) -> Vec<u8> {
    let (mut out, mut directory) = (Vec::new(), Vec::new());
    for (name, bytes) in files {
        let at = out.len() as u32;
        let sizes = [crc32(bytes), bytes.len() as u32, bytes.len() as u32];
        let mut common = Vec::new();
        // These bytes are the version, the flags, method 0 (stored), the time and the date.
        common.extend_from_slice(&[20, 0, 0, 0, 0, 0, 0, 0, 0x21, 0x5a]);
        for size in sizes {
            common.extend_from_slice(&size.to_le_bytes());
        }
        common.extend_from_slice(&(name.len() as u16).to_le_bytes());
        common.extend_from_slice(&[0, 0]);
        out.extend_from_slice(b"PK\x03\x04");
        out.extend_from_slice(&common);
        out.extend_from_slice(name.as_bytes());
        out.extend_from_slice(bytes);
        directory.extend_from_slice(b"PK\x01\x02\x14\x00");
        directory.extend_from_slice(&common);
        // These bytes are the length of the comment, the disk number and the attributes, all zero.
        directory.extend_from_slice(&[0; 10]);
        directory.extend_from_slice(&at.to_le_bytes());
        directory.extend_from_slice(name.as_bytes());
    }
    let at = out.len() as u32;
    out.extend_from_slice(&directory);
    out.extend_from_slice(b"PK\x05\x06\0\0\0\0");
    let count = (files.len() as u16).to_le_bytes();
    out.extend_from_slice(&[count, count].concat());
    out.extend_from_slice(&(directory.len() as u32).to_le_bytes());
    out.extend_from_slice(&at.to_le_bytes());
    out.extend_from_slice(&[0, 0]);
    out
}

/// Returns a mail with this text and these attachments.
pub fn mail(text: &str, attachments: &[(&str, &[u8])]) -> Vec<u8> {
    let mut mail = String::from(
        "From: a@example.org\nTo: b@example.org\nSubject: The report\n\
         Date: Thu, 01 Jan 2026 10:00:00 +0000\nMIME-Version: 1.0\n\
         Content-Type: multipart/mixed; boundary=\"====\"\n\n--====\n\
         Content-Type: text/plain; charset=\"utf-8\"\n\n",
    );
    mail.push_str(text);
    for (name, bytes) in attachments {
        mail.push_str("\n--====\nContent-Type: application/octet-stream\n");
        mail.push_str("Content-Transfer-Encoding: base64\n");
        mail.push_str("Content-Disposition: attachment; filename=\"");
        mail.push_str(name);
        mail.push_str("\"\n\n");
        for line in STANDARD.encode(bytes).as_bytes().chunks(76) {
            mail.push_str(&String::from_utf8_lossy(line));
            mail.push('\n');
        }
    }
    mail.push_str("\n--====--\n");
    mail.into_bytes()
}

fn crc32(bytes: &[u8]) -> u32 {
    let mut crc = !0u32;
    for &byte in bytes {
        crc ^= u32::from(byte);
        for _ in 0..8 {
            crc = crc >> 1 ^ (0xedb8_8320 & 0u32.wrapping_sub(crc & 1));
        }
    }
    !crc
}
