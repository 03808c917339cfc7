//! Computes the signature of a file.

use std::path::Path;

use resemble_core::hash::content::ContentHasher;
use resemble_core::{ByteLen, ContentDigest};
use resemble_methods::{MethodParams, MethodSignature, Signer};

use resemble_relate::{AskError, anchor_of, unreadable};
use resemble_scan::read::bytes::{Bytes, Next};

/// The signature of a file, and the identity of the bytes from which it was computed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignedFile {
    /// The signature.
    pub signature: MethodSignature,
    /// The digest of the bytes from which the signature was computed.
    pub content: ContentDigest,
    /// The number of these bytes.
    pub size: ByteLen,
}

/// Makes signatures of one content after another.
#[derive(Debug)]
pub struct Signing {
    signer: Signer,
    hasher: ContentHasher,
    size: u64,
    bytes: Bytes,
}

impl Signing {
    /// Begins the first content.
    pub fn new(params: &MethodParams) -> Self {
        Self {
            signer: Signer::new(params),
            hasher: ContentHasher::new(),
            size: 0,
            bytes: Bytes::new(),
        }
    }

    /// Adds the next bytes of a content.
    pub fn update(&mut self, bytes: &[u8]) {
        self.signer.update(bytes);
        self.hasher.update(bytes);
        self.size += bytes.len() as u64;
    }

    /// Ends the content and returns its signature. The next bytes belong to another content.
    pub fn finish(&mut self) -> SignedFile {
        SignedFile {
            signature: self.signer.finish(),
            content: std::mem::take(&mut self.hasher).finish(),
            size: ByteLen(std::mem::take(&mut self.size)),
        }
    }

    /// Computes the signature of a file. The file is read as carefully as by the indexer. It is
    /// read in pieces, so a larger file needs more memory only for its signature. A hole takes
    /// hardly any time, because its zeros are not read.
    pub fn file(&mut self, path: &Path) -> Result<SignedFile, AskError> {
        let anchor = anchor_of(path)?;
        let Self {
            signer,
            hasher,
            bytes,
            ..
        } = self;
        let read = bytes.of(&anchor, path, &mut |next| match next {
            Next::Bytes(bytes) => {
                signer.update(bytes);
                hasher.update(bytes);
            }
            Next::Zeros(count) => {
                signer.zeros(count);
                hasher.update_zeros(count);
            }
        });
        // The content is ended even after a failure, so that no bytes of this file are left for the
        // next file.
        self.size = *read.as_ref().unwrap_or(&0);
        let signed = self.finish();
        match read {
            Ok(_) => Ok(signed),
            Err(failure) => Err(unreadable(path, failure)),
        }
    }
}

/// Returns the signature of one file.
pub fn sign_file(path: &Path, params: &MethodParams) -> Result<SignedFile, AskError> {
    Signing::new(params).file(path)
}
