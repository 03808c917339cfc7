//! Limits the memory that all workers use together.
//!
//! Each worker is limited by [`super::Limits::memory`], but several can run at once. Together, they
//! may use half of the memory of the machine. If the limit of this process's control group is
//! lower, they may use half of that limit. The other half is left to the system, including the page
//! cache.

use std::path::{Path, PathBuf};

use parking_lot::{Condvar, Mutex};

use super::MOST_WORKERS;

/// If a worker's limit must be lower than the configured limit, it is rounded to a multiple of this
/// number. So the limit stays the same if the machine reports slightly more or less memory after a
/// restart.
const STEP: u64 = 128 << 20;

/// Returns the number of bytes that all workers may use together.
pub(super) fn for_workers() -> u64 {
    let system = rustix::system::sysinfo();
    let machine = (system.totalram as u64).saturating_mul(u64::from(system.mem_unit));
    let group = std::fs::read_to_string("/proc/self/cgroup").ok();
    let group = group.and_then(|groups| group_limit(&groups, Path::new("/sys/fs/cgroup")));
    half(group.map_or(machine, |group| group.min(machine)))
}

/// Returns the memory limit of one worker, which is at most `one`, and the number of workers that
/// may run at the same time. `all` is the memory for all workers.
pub(super) fn shared(all: u64, one: u64) -> (u64, usize) {
    let one = one.clamp(1, all.max(1));
    let most = usize::try_from(all / one).unwrap_or(usize::MAX);
    (one, most.clamp(1, MOST_WORKERS))
}

fn half(bytes: u64) -> u64 {
    (bytes / 2 / STEP * STEP).max(STEP)
}

/// Returns the lowest memory limit of a control group and its parents. `groups` is the text of
/// `/proc/self/cgroup`, which names the group.
fn group_limit(groups: &str, root: &Path) -> Option<u64> {
    let group = groups.lines().find_map(|line| line.strip_prefix("0::/"))?;
    let mut folder: PathBuf = root.join(group);
    let mut least: Option<u64> = None;
    while folder.starts_with(root) {
        let limit = std::fs::read_to_string(folder.join("memory.max")).ok();
        let limit = limit.and_then(|limit| limit.trim().parse().ok());
        least = least.into_iter().chain(limit).min();
        folder.pop();
    }
    least
}

/// Counts the running workers, and makes further workers wait. A worker runs only while it has one
/// of these places.
#[derive(Debug)]
pub(super) struct Places {
    free: Mutex<usize>,
    changed: Condvar,
}

/// A worker's place. The place is free again when this value is dropped.
pub(super) struct Held<'a>(&'a Places);

impl Places {
    pub(super) fn new(most: usize) -> Self {
        Self {
            free: Mutex::new(most),
            changed: Condvar::new(),
        }
    }

    /// Waits until a place is free, and takes it.
    pub(super) fn take(&self) -> Held<'_> {
        let mut free = self.free.lock();
        self.changed.wait_while(&mut free, |free| *free == 0);
        *free -= 1;
        Held(self)
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        *self.0.free.lock() += 1;
        self.0.changed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn the_least_limit_above_counts() {
        let root = tempfile::tempdir().unwrap();
        let unit = root.path().join("system.slice/a.service");
        fs::create_dir_all(&unit).unwrap();
        let limit = || group_limit("1:x:/\n0::/system.slice/a.service\n", root.path());
        assert_eq!(limit(), None);
        fs::write(unit.join("memory.max"), "max\n").unwrap();
        assert_eq!(limit(), None);
        fs::write(unit.join("memory.max"), "4294967296\n").unwrap();
        assert_eq!(limit(), Some(4 << 30));
        fs::write(root.path().join("system.slice/memory.max"), "1048576\n").unwrap();
        assert_eq!(limit(), Some(1 << 20));
        assert_eq!(group_limit("nothing", root.path()), None);
    }

    #[test]
    fn half_of_it_is_for_workers() {
        assert_eq!(half(8 << 30), 4 << 30);
        assert_eq!(half((8 << 30) - 5), (4 << 30) - STEP);
        assert_eq!(half(0), STEP);
        assert!(for_workers() >= STEP);
    }

    #[test]
    fn workers_share_what_there_is() {
        const GIB: u64 = 1 << 30;
        assert_eq!(shared(4 * GIB, GIB), (GIB, 4));
        assert_eq!(shared(GIB / 2, GIB), (GIB / 2, 1));
        assert_eq!(shared(1000 * GIB, GIB), (GIB, MOST_WORKERS));
        assert_eq!(shared(GIB, 0).1, MOST_WORKERS);
    }

    #[test]
    fn no_more_places_are_taken_than_there_are() {
        let places = Places::new(2);
        let (now, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..100 {
                        let _held = places.take();
                        let count = now.fetch_add(1, Ordering::SeqCst) + 1;
                        most.fetch_max(count, Ordering::SeqCst);
                        std::thread::yield_now();
                        now.fetch_sub(1, Ordering::SeqCst);
                    }
                });
            }
        });
        assert!((1..=2).contains(&most.load(Ordering::SeqCst)));
        assert_eq!(*places.free.lock(), 2);
    }
}
