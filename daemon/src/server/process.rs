//! Reports the resources that the daemon uses, as the kernel counts them.

use std::fs;
use std::time::Duration;

use resemble_proto::VERSION;
use resemble_proto::message::ProcessStatus;
use rustix::process::{Resource, getrlimit};

/// Returns the figures of this process. Figures that the kernel does not report are 0.
pub(super) fn status(uptime: Duration) -> ProcessStatus {
    let told = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let kibibytes = |field: &str| {
        let line = told.lines().find_map(|line| line.strip_prefix(field));
        let number = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
        number.map_or(0, |kib: u64| kib << 10)
    };
    ProcessStatus {
        version: VERSION.to_owned(),
        uptime_seconds: uptime.as_secs(),
        resident_bytes: kibibytes("VmRSS:"),
        peak_bytes: kibibytes("VmHWM:"),
        // This function reads the folder through a descriptor of its own, which is not counted.
        descriptors: fs::read_dir("/proc/self/fd").map_or(0, |all| all.count() as u64 - 1),
        most_descriptors: getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_figures_are_those_of_this_process() {
        let before = status(Duration::from_secs(7));
        assert_eq!(before.uptime_seconds, 7);
        assert!(before.resident_bytes > 1 << 20 && before.peak_bytes >= before.resident_bytes);
        assert!(before.descriptors < before.most_descriptors);
        let held = vec![1u8; 64 << 20];
        assert!(status(Duration::ZERO).peak_bytes >= held.len() as u64);
    }
}
