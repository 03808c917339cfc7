//! Reads and shows local time. No other module uses `chrono`.

use chrono::{Local, NaiveDate, NaiveDateTime, NaiveTime, Offset, TimeDelta, TimeZone};
use resemble_report::lines::Zone;

/// Returns the time zone of this process: the one in `TZ`, or else that of the machine.
pub fn zone() -> Zone {
    Zone {
        ahead: |seconds| {
            let local = Local.timestamp_opt(seconds, 0).earliest();
            local.map_or(0, |time| i64::from(time.offset().fix().local_minus_utc()))
        },
        name: "local time",
    }
}

/// Parses a day (`2026-11-23`) or a time (`2026-11-23T18:30:00`). It is local, or UTC if it ends
/// with `Z`. Returns seconds since 1970. A time that occurs twice, when clocks are set back, means
/// its first occurrence. A time that is skipped, when clocks are set forward, is taken as one hour
/// later.
pub fn seconds(text: &str) -> Option<u64> {
    let (day, clock) = text.split_once(['T', ' ']).unwrap_or((text, "00:00"));
    let (clock, is_utc) = match clock.strip_suffix('Z') {
        Some(clock) => (clock, true),
        None => (clock, false),
    };
    let day = NaiveDate::parse_from_str(day, "%Y-%m-%d").ok()?;
    let mut forms = ["%H:%M", "%H:%M:%S"].into_iter();
    let clock = forms.find_map(|form| NaiveTime::parse_from_str(clock, form).ok())?;
    let shown = day.and_time(clock);
    let at = |shown: NaiveDateTime| Local.from_local_datetime(&shown).earliest();
    let seconds = if is_utc {
        shown.and_utc().timestamp()
    } else {
        let hour = TimeDelta::hours(1);
        at(shown).or_else(|| at(shown + hour))?.timestamp()
    };
    u64::try_from(seconds).ok()
}
