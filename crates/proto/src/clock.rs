//! Returns the present time, and decides by dates which file is the newest.

use std::time::{SystemTime, UNIX_EPOCH};

/// Returns the number of seconds since 1970, or 0 if the clock shows an earlier time.
pub fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}

/// Returns the latest date that counts as past, in seconds since 1970. It is one day from now,
/// because clocks and time zones differ by up to a day. A later date is in the future, so it is
/// treated as unknown.
pub fn latest_date() -> i64 {
    i64::try_from(now()).map_or(i64::MAX, |now| now.saturating_add(24 * 60 * 60))
}

/// Returns whether a date counts as past: whether it is at most [`latest_date`].
pub fn is_past(date: &i64) -> bool {
    *date <= latest_date()
}

/// Returns the index of the newest time, if there are several times and only one is the newest.
/// Times in the future are ignored.
pub fn newest_of(times: &[i64]) -> Option<usize> {
    let past = || times.iter().filter(|time| is_past(time));
    let newest = past().max()?;
    let is_alone = times.len() > 1 && past().filter(|time| *time == newest).count() == 1;
    times.iter().position(|time| is_alone && time == newest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_date_of_the_future_is_the_newest() {
        let future = latest_date() + 9;
        for (times, newest) in [
            (&[1, 3, 2][..], Some(1)),
            (&[1, future, 2], Some(2)),
            (&[1, future], Some(0)),
            (&[2, future, 2], None),
            (&[future, future + 1], None),
            (&[1], None),
        ] {
            assert_eq!(newest_of(times), newest, "{times:?}");
        }
    }
}
