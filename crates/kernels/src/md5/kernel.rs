//! The part that the kernels share: the 64 steps of RFC 1321, section 3.4, and their state.

/// Defines `compress` for one kind of vector. `compress` advances all lanes by a number of blocks.
///
/// The module that uses this macro must define: `WIDTH`, the number of lanes of a vector;
/// `is_available`; the functions `F`, `G`, `H` and `I` in the form that `step` takes; `step`
/// itself; and `columns`, which reads `WIDTH` words of a block from each lane.
macro_rules! kernel {
    (
        $feature:literal,
        $vector:ty,
        zero = $zero:ident,
        add = $add:ident,
        load = $load:ident,
        store = $store:ident
    ) => {
        /// A word of the state, or of a block, in all lanes.
        type Word<const VECTORS: usize> = [$vector; VECTORS];

        /// Advances all lanes by `blocks` blocks.
        fn compress<const VECTORS: usize, const LANES: usize>(
            state: &mut LaneState<LANES>,
            inputs: &[&[u8]; LANES],
            blocks: usize,
        ) {
            assert!(is_available(), "the kernel's instructions");
            // SAFETY: the processor has the features that the function enables.
            unsafe { compress_vectors::<VECTORS, LANES>(state, inputs, blocks) }
        }

        #[target_feature(enable = $feature)]
        fn compress_vectors<const VECTORS: usize, const LANES: usize>(
            state: &mut LaneState<LANES>,
            inputs: &[&[u8]; LANES],
            blocks: usize,
        ) {
            /// The number of pieces in which a block is read.
            const PIECES: usize = 16 / WIDTH;
            const { assert!(LANES == VECTORS * WIDTH) };
            assert!(
                inputs.iter().all(|input| input.len() / BLOCK >= blocks),
                "enough blocks"
            );
            let [mut a, mut b, mut c, mut d] =
                [0, 1, 2, 3].map(|i| load_word::<VECTORS>(&state[i]));
            for block in 0..blocks {
                let mut m = [[$zero(); VECTORS]; 16];
                for (v, inputs) in inputs
                    .as_chunks::<WIDTH>()
                    .0
                    .iter()
                    .enumerate()
                    .take(VECTORS)
                {
                    for piece in 0..PIECES {
                        // SAFETY: each input has more than `block` blocks.
                        let columns = unsafe { columns(inputs, PIECES * block + piece) };
                        for (word, column) in m[WIDTH * piece..].iter_mut().zip(columns) {
                            word[v] = column;
                        }
                    }
                }
                let before = (a, b, c, d);
                for i in (0..16).step_by(4) {
                    step::<VECTORS, F, 7, 25>(&mut a, b, c, d, &m, i);
                    step::<VECTORS, F, 12, 20>(&mut d, a, b, c, &m, i + 1);
                    step::<VECTORS, F, 17, 15>(&mut c, d, a, b, &m, i + 2);
                    step::<VECTORS, F, 22, 10>(&mut b, c, d, a, &m, i + 3);
                }
                for i in (16..32).step_by(4) {
                    step::<VECTORS, G, 5, 27>(&mut a, b, c, d, &m, i);
                    step::<VECTORS, G, 9, 23>(&mut d, a, b, c, &m, i + 1);
                    step::<VECTORS, G, 14, 18>(&mut c, d, a, b, &m, i + 2);
                    step::<VECTORS, G, 20, 12>(&mut b, c, d, a, &m, i + 3);
                }
                for i in (32..48).step_by(4) {
                    step::<VECTORS, H, 4, 28>(&mut a, b, c, d, &m, i);
                    step::<VECTORS, H, 11, 21>(&mut d, a, b, c, &m, i + 1);
                    step::<VECTORS, H, 16, 16>(&mut c, d, a, b, &m, i + 2);
                    step::<VECTORS, H, 23, 9>(&mut b, c, d, a, &m, i + 3);
                }
                for i in (48..64).step_by(4) {
                    step::<VECTORS, I, 6, 26>(&mut a, b, c, d, &m, i);
                    step::<VECTORS, I, 10, 22>(&mut d, a, b, c, &m, i + 1);
                    step::<VECTORS, I, 15, 17>(&mut c, d, a, b, &m, i + 2);
                    step::<VECTORS, I, 21, 11>(&mut b, c, d, a, &m, i + 3);
                }
                add(&mut a, before.0);
                add(&mut b, before.1);
                add(&mut c, before.2);
                add(&mut d, before.3);
            }
            for (of_lanes, word) in state.iter_mut().zip([a, b, c, d]) {
                for (lanes, vector) in of_lanes.as_chunks_mut::<WIDTH>().0.iter_mut().zip(word) {
                    // SAFETY: the array has the size of a vector; the store needs no alignment.
                    unsafe { $store(lanes.as_mut_ptr().cast(), vector) };
                }
            }
        }

        #[inline]
        #[target_feature(enable = $feature)]
        fn add<const VECTORS: usize>(a: &mut Word<VECTORS>, b: Word<VECTORS>) {
            for v in 0..VECTORS {
                a[v] = $add(a[v], b[v]);
            }
        }

        #[inline]
        #[target_feature(enable = $feature)]
        fn load_word<const VECTORS: usize>(lanes: &[u32]) -> Word<VECTORS> {
            let mut word = [$zero(); VECTORS];
            for (vector, lanes) in word.iter_mut().zip(lanes.as_chunks::<WIDTH>().0) {
                // SAFETY: the array has the size of a vector; the load needs no alignment.
                *vector = unsafe { $load(lanes.as_ptr().cast()) };
            }
            word
        }
    };
}

pub(super) use kernel;
