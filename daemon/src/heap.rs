//! Bounds of what the C library's allocator keeps of memory that was freed.
//!
//! By itself it opens an arena for each thread, and serves blocks of up to 32 MiB from it after the
//! first such block was freed. What reading threads make and the writer frees is then spread over
//! all arenas, with holes between what stays. Four arenas instead, and blocks of four mebibytes and
//! up in mappings of their own, take a tenth off the peak of a first scan at the same speed. With
//! three, reading threads wait for the arena that the writer frees in; one costs `groups` a third
//! of its speed (docs/decisions/0012-tried-for-speed.md).

/// Threads that allocate at the same time without waiting for each other, mostly: the first one,
/// the writer, and those that read, which are two to four.
const ARENAS: i32 = 4;

/// Larger blocks go back to the system as soon as they are freed.
const MAPPED_FROM: i32 = 4 << 20;

/// So much may be free at the end of the heap. (Setting one bound stops the allocator from moving
/// any; its own first choice, 128 KiB, has it ask the system all the time.)
const KEPT_FREE: i32 = 32 << 20;

/// Sets the bounds: before the first thread is there. Whoever set other ones in the environment
/// (`MALLOC_ARENA_MAX`) is overruled.
pub(crate) fn bound() {
    for (option, value) in [
        (libc::M_ARENA_MAX, ARENAS),
        (libc::M_MMAP_THRESHOLD, MAPPED_FROM),
        (libc::M_TRIM_THRESHOLD, KEPT_FREE),
    ] {
        #[expect(unsafe_code, reason = "the allocator has no other interface")]
        // SAFETY: mallopt takes two numbers, refuses those it does not know, and may be called at
        // any time; all three options are documented (mallopt(3)).
        let is_set = unsafe { libc::mallopt(option, value) } == 1;
        if !is_set {
            tracing::debug!(option, value, "the allocator refuses a bound");
        }
    }
}
