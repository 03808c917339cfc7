//! Checks the kernel's limits, the restrictions of document readers, the overlay and the unit.

use std::fs;
use std::path::Path;

use resemble_proto::message::StatusAnswer;
use resemble_report::human::{counted, human_count};
use resemble_report::quote::quoted;
use resemble_scan::parts::{Formats, Limits};

use super::Check;
use crate::commands::setup::service;

/// The smallest limit of watches that a remedy proposes. A watch that is not used costs nothing, so
/// the limit may be high.
const WATCHES: u64 = 1_048_576;
/// The least acceptable limit of inotify instances. Other programs, such as editors and desktops,
/// need some instances, too.
const INSTANCES: u64 = 128;
/// The least acceptable length of the event queue. A shorter queue often loses events, and each
/// loss causes a scan.
const QUEUE: u64 = 16_384;
/// The least acceptable limit of open files. The index, the socket and the document readers need
/// some hundreds.
const FILES: u64 = 1024;

/// Checks the limits of inotify and of open files. `sys` is `/proc/sys`.
pub(super) fn limits(sys: &Path, status: Option<&StatusAnswer>) -> Vec<Check> {
    let read = |name: &str| -> Option<u64> {
        let text = fs::read_to_string(sys.join("fs/inotify").join(name)).ok()?;
        text.trim().parse().ok()
    };
    let mut checks = Vec::new();
    let needed = status.map_or(0, |status| status.watch.directories + status.watch.polled);
    let Some(most) = read("max_user_watches") else {
        return vec![Check::wrong(
            "inotify",
            "the kernel's inotify limits cannot be read",
        )];
    };
    let text = format!(
        "{} need a watch each, and {} are allowed to this user",
        match needed {
            1 => "1 directory".to_owned(),
            many => format!("{} directories", human_count(many)),
        },
        human_count(most)
    );
    checks.push(if needed > most / 10 * 9 {
        let more = WATCHES.max((2 * needed).next_power_of_two());
        Check::wrong("watches", text).mended_by(sysctl("max_user_watches", more))
    } else {
        Check::ok("watches", text)
    });
    for (check, name, least, what) in [
        (
            "instances",
            "max_user_instances",
            INSTANCES,
            "inotify instances for this user",
        ),
        ("queue", "max_queued_events", QUEUE, "events in a queue"),
    ] {
        let Some(most) = read(name) else { continue };
        let text = format!("{} {what}", human_count(most));
        checks.push(if most < least {
            Check::wrong(check, format!("{text} are few")).mended_by(sysctl(name, least))
        } else {
            Check::ok(check, text)
        });
    }
    if let Some(status) = status {
        if status.watch.overflows > 0 {
            let times = counted(status.watch.overflows, "time");
            let text = format!("events were lost {times}, and everything was looked at again");
            let more = (read("max_queued_events").unwrap_or(QUEUE) * 4).next_power_of_two();
            checks.push(Check::note("queue", text).mended_by(sysctl("max_queued_events", more)));
        }
        let (open, most) = (status.process.descriptors, status.process.most_descriptors);
        let text = format!(
            "{} of {} files are open",
            human_count(open),
            human_count(most)
        );
        checks.push(if most < FILES || open > most / 10 * 9 {
            Check::wrong("files", text)
                .mended_by("systemctl --user edit resembled   # [Service] LimitNOFILE=8192")
        } else {
            Check::ok("files", text)
        });
    }
    checks
}

/// Returns the command that raises a limit now and at every start of the machine.
fn sysctl(name: &str, value: u64) -> String {
    format!(
        "echo fs.inotify.{name}={value} | sudo tee -a /etc/sysctl.d/60-resemble.conf && sudo \
         sysctl --system"
    )
}

/// Checks the restrictions of the processes that read documents.
pub(super) fn fences() -> Check {
    match Formats::new(Limits::default(), Vec::new()).fences() {
        Ok(fences) => match fences.landlock {
            Some(version) => Check::ok(
                "sandbox",
                format!(
                    "documents are read behind a filter of system calls and Landlock {version}"
                ),
            ),
            None => Check::note(
                "sandbox",
                "documents are read behind a filter of system calls alone: this kernel has no \
                 Landlock, or was started without it (CONFIG_SECURITY_LANDLOCK, lsm=landlock,…)",
            ),
        },
        Err(why) => Check::wrong("sandbox", format!("no document can be read: {why}")),
    }
}

/// Checks the mounted view. Without one, checks whether a view can be mounted.
pub(super) fn overlay(status: Option<&StatusAnswer>) -> Check {
    let mounts = status.map_or(&[][..], |status| &status.mounts);
    if let Some(mount) = mounts.first() {
        let point = mount.path.as_path();
        return match fs::read_dir(point) {
            Ok(_) => Check::ok("overlay", format!("mounted at {}", quoted(point))),
            Err(error) => {
                let text = format!("the view at {} does not answer: {error}", quoted(point));
                Check::wrong("overlay", text).mended_by("systemctl --user restart resembled")
            }
        };
    }
    match service::no_view() {
        Some(missing) => {
            let text = format!("no view can be mounted: {}", missing.why);
            Check::wrong("overlay", text).mended_by(missing.mend)
        }
        None => Check::ok("overlay", "a view can be mounted, and none is"),
    }
}

/// Checks the unit of the user's systemd.
pub(super) fn unit() -> Vec<Check> {
    const NAME: &str = service::DAEMON.name;
    if !service::is_there() {
        let text = "no systemd of the user answers: the daemon is started by hand";
        return vec![Check::note("unit", text)];
    }
    if !service::works(&["cat", NAME]) {
        let text = format!("{NAME} is not installed: the daemon is started by hand");
        return vec![Check::note("unit", text).mended_by("resemble setup")];
    }
    if service::works(&["is-failed", NAME]) {
        let text = format!("{NAME} has failed");
        let remedy = "journalctl --user -u resembled -e";
        return vec![Check::wrong("unit", text).mended_by(remedy)];
    }
    let is_enabled = service::works(&["is-enabled", NAME]);
    vec![if is_enabled {
        Check::ok("unit", format!("{NAME} starts at login"))
    } else {
        Check::note("unit", format!("{NAME} does not start at login"))
            .mended_by("systemctl --user enable --now resembled")
    }]
}
