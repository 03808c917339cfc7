//! Local time. The only place that names `chrono`.

use chrono::{Local, NaiveDateTime, Offset, TimeZone};
use resemble_report::lines::Zone;

/// The time zone of this process: that of `TZ`, else that of the machine.
pub fn zone() -> Zone {
    Zone {
        ahead: |seconds| {
            let local = Local.timestamp_opt(seconds, 0).earliest();
            local.map_or(0, |time| i64::from(time.offset().fix().local_minus_utc()))
        },
        name: "local time",
    }
}

/// The seconds since 1970 of a local time that a clock shows as `seconds` would be in UTC. Of an
/// hour that comes twice it is the first, and of one that is left out the hour after it.
pub fn of_clock(seconds: u64) -> Option<u64> {
    let clock = chrono::DateTime::from_timestamp(i64::try_from(seconds).ok()?, 0)?.naive_utc();
    let at = |clock: NaiveDateTime| Local.from_local_datetime(&clock).earliest();
    let hour = chrono::TimeDelta::hours(1);
    let time = at(clock).or_else(|| at(clock + hour))?;
    u64::try_from(time.timestamp()).ok()
}
