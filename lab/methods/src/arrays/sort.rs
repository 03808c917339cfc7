//! Sorts pairs of a value and a document into lists by value, with a radix sort.
//!
//! Section 4.5 of the paper uses "a variant of a radix sort", "further speeded up by pre-sorting
//! the data into a given number of buckets in the step 1". A bucket is a range of values that fits
//! into memory. Within a bucket, the sort begins with the least significant bytes. It is stable, so
//! the documents of a list keep their order. Bytes that are the same in all values of the bucket
//! are skipped. For values of 24 bits in 256 buckets, two bytes remain.

/// The value of a chunk, and a document that has the chunk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Posting {
    /// The upper bits of the chunk's hash.
    pub value: u32,
    /// The number of the document.
    pub document: u32,
}

/// Sorts postings by value. Postings of equal values keep their order.
pub fn radix_sort(postings: &mut Vec<Posting>) {
    let Some(&Posting { value: first, .. }) = postings.first() else {
        return;
    };
    let differs = postings
        .iter()
        .fold(0, |bits, posting| bits | (posting.value ^ first));
    let mut other = vec![Posting::default(); postings.len()];
    for shift in [0, 8, 16, 24] {
        if (differs >> shift) as u8 == 0 {
            continue;
        }
        let mut places = [0usize; 256];
        for posting in &*postings {
            places[(posting.value >> shift & 0xff) as usize] += 1;
        }
        let mut sum = 0;
        for place in &mut places {
            sum += std::mem::replace(place, sum);
        }
        for posting in &*postings {
            let place = &mut places[(posting.value >> shift & 0xff) as usize];
            other[*place] = *posting;
            *place += 1;
        }
        std::mem::swap(postings, &mut other);
    }
}
