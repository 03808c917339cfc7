//! Limits how much freed memory the C library's allocator keeps, in the daemon and in the command.
//!
//! By default the allocator opens an arena for each thread. A large block has a mapping of its own.
//! But after a block of up to 32 MiB was freed, later blocks of that size are in the arenas, too.
//! Readers allocate memory, and the writer frees it. So this memory is spread over all arenas, with
//! holes in between. With four arenas, and mappings for blocks of at least 4 MiB, the peak memory
//! of a first scan is a tenth lower. The speed is the same. With three arenas, readers wait for the
//! arena in which the writer frees memory. With one arena, `groups` loses a third of its speed
//! (docs/decisions/0012-tried-for-speed.md).

/// The maximum number of arenas. With this number, the first thread, the writer, and two to four
/// readers seldom wait for each other when they allocate.
const ARENAS: i32 = 4;

/// The least size of blocks with a mapping of their own. Such blocks return to the system as soon
/// as they are freed.
const MAPPED_FROM: i32 = 4 << 20;

/// The maximum number of free bytes that stay at the end of the heap. It must be set, because
/// setting any limit stops the allocator from adapting the other limits. The initial value, 128
/// KiB, would cause constant system calls.
const KEPT_FREE: i32 = 32 << 20;

/// Sets the limits. These limits override the limits of the environment (`MALLOC_ARENA_MAX`). Must
/// be called before the first thread starts.
pub fn bound() {
    for (option, value) in [
        (libc::M_ARENA_MAX, ARENAS),
        (libc::M_MMAP_THRESHOLD, MAPPED_FROM),
        (libc::M_TRIM_THRESHOLD, KEPT_FREE),
    ] {
        #[expect(unsafe_code, reason = "the allocator has no other interface")]
        // SAFETY: mallopt takes two numbers, refuses unknown ones, and may be called at any time.
        // All three options are documented in mallopt(3).
        let is_set = unsafe { libc::mallopt(option, value) } == 1;
        if !is_set {
            tracing::debug!(option, value, "the allocator refuses a bound");
        }
    }
}
