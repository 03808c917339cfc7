//! Templates, and the files without them.

use proptest::prelude::*;

use resemble_testutil::random::letters as noise;

use super::*;
use crate::Digest;
use crate::similarity::{Measures, NoBoilerplate, estimate, runs};

fn digest(bytes: &[u8]) -> Digest {
    Digest::of(bytes, &Params::default())
}

/// Makes files. Each file has the frame, followed by `payload` bytes of its own.
fn framed(count: u64, frame: &[u8], payload: usize) -> Vec<Vec<u8>> {
    (0..count)
        .map(|file| [frame, &noise(100 + file, payload)].concat())
        .collect()
}

fn common(files: &[Vec<u8>], share: f64) -> Template {
    let digests: Vec<Digest> = files.iter().map(|file| digest(file)).collect();
    let sketches: Vec<Sketch<'_>> = digests.iter().map(Digest::sketch).collect();
    Template::common(&sketches, share)
}

fn templates(template: &Template) -> Templates {
    let mut templates = Templates::new(&Params::default());
    templates.add(template);
    templates
}

fn measured(a: &[u8], b: &[u8], templates: &Templates) -> (Measures, ByteLen) {
    let (mut a, mut b) = (digest(a), digest(b));
    a.size = templates.strip(a.size, &mut a.chunks, &mut a.signature);
    b.size = templates.strip(b.size, &mut b.chunks, &mut b.signature);
    (estimate(&a.sketch(), &b.sketch(), &NoBoilerplate), a.size)
}

#[test]
fn a_frame_is_taken_out_of_both() {
    let files = framed(5, &noise(1, 9_000), 6_000);
    let nothing = Templates::default();
    let (before, size) = measured(&files[0], &files[1], &nothing);
    assert!(before.a_in_b.expect("judged").get() > 0.5);
    assert_eq!(size, ByteLen(15_000));
    let (after, size) = measured(&files[0], &files[1], &templates(&common(&files, 1.0)));
    assert!(after.a_in_b.expect("judged").get() < 0.05, "{after:?}");
    assert_eq!(after.shared_bytes, ByteLen::ZERO);
    assert!((5_000..7_500).contains(&size.get()), "{size}");
}

/// Chunks alone may not find a frame that is shorter than a chunk.
#[test]
fn a_frame_of_less_than_a_chunk_is_seen_by_its_samples() {
    let files = framed(6, &noise(2, 900), 3_000);
    let template = common(&files, 1.0);
    assert!(!template.fingerprints.is_empty());
    let (_, size) = measured(&files[2], &files[3], &templates(&template));
    assert!((2_500..3_500).contains(&size.get()), "{size}");
}

#[test]
fn a_share_of_the_files_is_enough() {
    let mut files = framed(9, &noise(1, 9_000), 6_000);
    files.push(noise(7, 15_000));
    assert!(common(&files, 1.0).is_empty());
    let template = common(&files, 0.9);
    assert!(!template.is_empty());
    let (after, _) = measured(&files[0], &files[1], &templates(&template));
    assert!(after.a_in_b.expect("judged").get() < 0.05);
}

/// A single file is all template. The samples of the template are as dense as possible.
#[test]
fn one_file_is_all_template() {
    let frame = noise(1, 9_000);
    let template = common(std::slice::from_ref(&frame), 1.0);
    let (mut chunks, mut signature) = (digest(&frame).chunks, digest(&frame).signature);
    let left = templates(&template).strip(ByteLen(9_000), &mut chunks, &mut signature);
    assert_eq!(left, ByteLen::ZERO);
    assert!(signature.fingerprints.is_empty());
    let all_chunks: u64 = chunks.0.iter().map(|run| u64::from(run.len)).sum();
    assert!(
        all_chunks < 64,
        "only what is no evidence is left: {all_chunks}"
    );
}

/// Dense samples that only a few members can show are not common.
#[test]
fn few_small_members_do_not_decide_for_the_many() {
    // Two small files that share everything, and four large files that share a frame with them.
    let small = noise(1, 3_000);
    let mut files = vec![small.clone(), [small.clone(), noise(50, 100)].concat()];
    for file in 0..4 {
        files.push([small.clone(), noise(100 + file, 60_000)].concat());
    }
    let template = common(&files, 1.0);
    // The levels of the large files differ by chance.
    let levels = files[2..].iter().map(|file| digest(file).signature.level);
    let large = levels.min().unwrap();
    assert!(large > digest(&small).signature.level);
    assert!(template.fingerprints.iter().all(|f| f.level() >= large));
}

#[test]
fn nothing_is_taken_out_by_no_template() {
    let file = noise(3, 20_000);
    let (whole, mut same) = (digest(&file), digest(&file));
    let size = Templates::default().strip(same.size, &mut same.chunks, &mut same.signature);
    assert_eq!((size, &same), (whole.size, &whole));
    assert_eq!(Templates::default().payload(&file), file);
}

#[test]
fn bytes_lose_the_frame_too() {
    let files = framed(5, &noise(1, 9_000), 6_000);
    let templates = templates(&common(&files, 1.0));
    let (a, b) = (templates.payload(&files[0]), templates.payload(&files[1]));
    assert!((5_900..7_200).contains(&a.len()), "{}", a.len());
    let exact = runs::exact(&a, &b);
    let whole = runs::exact(&files[0], &files[1]);
    assert!(whole.a_in_b.expect("judged").get() > 0.59);
    assert!(exact.a_in_b.expect("judged").get() < 0.15, "{exact:?}");
}

#[test]
fn as_boilerplate_it_is_what_it_takes_out() {
    let files = framed(3, &noise(1, 9_000), 6_000);
    let template = common(&files, 1.0);
    let templates = templates(&template);
    assert!(!templates.is_empty());
    assert_eq!(templates.fingerprints(), template.fingerprints.len());
    assert!(
        template
            .chunks
            .iter()
            .all(|(hash, _)| templates.chunk(hash.posting_key()))
    );
    assert!(
        template
            .fingerprints
            .iter()
            .all(|&f| templates.fingerprint(f))
    );
    assert!(!templates.fingerprint(Fingerprint(12_345)));
}

proptest! {
    /// The rest is never larger than the file and has nothing of the template. If the template is
    /// removed again, nothing changes.
    #[test]
    fn stripping_ends(frame in 0usize..6_000, payload in 0usize..6_000, files in 2u64..5) {
        let files = framed(files, &noise(1, frame), payload);
        let template = common(&files, 1.0);
        let templates = templates(&template);
        for file in &files {
            let mut one = digest(file);
            let left = templates.strip(one.size, &mut one.chunks, &mut one.signature);
            prop_assert!(left <= one.size);
            let has = |run: &ChunkRun| template.chunks.contains(&(run.hash, run.len));
            prop_assert!(!one.chunks.0.iter().any(has));
            let samples = &one.signature.fingerprints;
            prop_assert!(!samples.iter().any(|f| template.fingerprints.contains(f)));
            let again = one.clone();
            prop_assert_eq!(templates.strip(left, &mut one.chunks, &mut one.signature), left);
            prop_assert_eq!(one, again);
            prop_assert!(templates.payload(file).len() <= file.len());
        }
    }
}
