//! Converts counts of days since 1900 or 1904 to dates and times of day.

/// The day from which days are counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::read) enum Epoch {
    /// Day 1 is 1 January 1900. Day 60 is 29 February 1900, although the year 1900 had no such day.
    #[default]
    Of1900,
    /// Day 0 is 1 January 1904.
    Of1904,
}

/// A part of a date or of a time of day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    Year,
    Month,
    Day,
    Hour,
    Minute,
    Second,
}

/// The date and time that a number represents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Moment {
    year: i64,
    month: i64,
    day: i64,
    /// The day of the week; 0 is Sunday.
    weekday: i64,
    /// The number of ticks since the start of the day. A second has [`Self::rate`] ticks.
    of_day: i64,
    /// The number of ticks since day 0.
    ticks: i64,
    /// The number of ticks in a second.
    rate: i64,
}

/// The first day that programs do not support: 1 January 10,000.
const LAST_DAY: f64 = 2_958_466.0;

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

const DAYS: [&str; 7] = [
    "Sunday",
    "Monday",
    "Tuesday",
    "Wednesday",
    "Thursday",
    "Friday",
    "Saturday",
];

impl Moment {
    /// Converts a count of days, and rounds the time to this many decimals of a second.
    pub(super) fn of(value: f64, epoch: Epoch, decimals: usize) -> Option<Self> {
        if !(0.0..LAST_DAY).contains(&value) {
            return None;
        }
        let rate = 10i64.pow(decimals.min(3) as u32);
        let ticks = (value * 86_400.0 * rate as f64).round() as i64;
        let in_day = 86_400 * rate;
        let (count, of_day) = (ticks / in_day, ticks % in_day);
        let (year, month, day) = match (epoch, count) {
            (Epoch::Of1904, count) => civil(count + 1462),
            (Epoch::Of1900, 60) => (1900, 2, 29),
            (Epoch::Of1900, 0) => (1900, 1, 0),
            (Epoch::Of1900, 1..60) => civil(count + 1),
            (Epoch::Of1900, count) => civil(count),
        };
        let shift = if epoch == Epoch::Of1904 { 1462 } else { 0 };
        Some(Self {
            year,
            month,
            day,
            weekday: (count + shift + 6).rem_euclid(7),
            of_day,
            ticks,
            rate,
        })
    }

    /// Formats a unit for which the number format has `width` letters. If `twelve` is true, hours
    /// are on a clock of twelve hours.
    pub(super) fn part(&self, unit: Unit, width: usize, twelve: bool) -> String {
        let seconds = self.of_day / self.rate;
        let name =
            |names: &[&'static str], at: i64| names.get(at as usize).copied().unwrap_or_default();
        let number = match (unit, width) {
            (Unit::Year, 0..=2) => return format!("{:02}", self.year % 100),
            (Unit::Year, _) => return format!("{:04}", self.year),
            (Unit::Month, 3) => return name(&MONTHS, self.month - 1)[..3].to_owned(),
            (Unit::Month, 5) => return name(&MONTHS, self.month - 1)[..1].to_owned(),
            (Unit::Month, 4..) => return name(&MONTHS, self.month - 1).to_owned(),
            (Unit::Day, 3) => return name(&DAYS, self.weekday)[..3].to_owned(),
            (Unit::Day, 4..) => return name(&DAYS, self.weekday).to_owned(),
            (Unit::Month, _) => self.month,
            (Unit::Day, _) => self.day,
            (Unit::Hour, _) if twelve => (seconds / 3600 + 11) % 12 + 1,
            (Unit::Hour, _) => seconds / 3600,
            (Unit::Minute, _) => seconds / 60 % 60,
            (Unit::Second, _) => seconds % 60,
        };
        format!("{number:0width$}", width = width.min(2))
    }

    /// Returns the total number of hours, minutes or seconds since day 0.
    pub(super) fn elapsed(&self, unit: Unit, width: usize) -> String {
        let seconds = self.ticks / self.rate;
        let number = match unit {
            Unit::Hour => seconds / 3600,
            Unit::Minute => seconds / 60,
            _ => seconds,
        };
        format!("{number:0width$}", width = width.min(10))
    }

    /// Returns the first `digits` decimals of the seconds.
    pub(super) fn of_second(&self, digits: usize) -> String {
        let all = format!("{:03}", self.of_day % self.rate * (1000 / self.rate));
        all[..digits.min(3)].to_owned()
    }

    pub(super) fn is_afternoon(&self) -> bool {
        self.of_day / self.rate >= 12 * 3600
    }
}

/// Returns the year, month and day for a number of days since 30 December 1899.
fn civil(count: i64) -> (i64, i64, i64) {
    resemble_core::date::civil(count - 25_569)
}

/// Returns whether `text` is `date` in the American default form: month, day and year in digits.
/// `date` has the year first: `2024-01-31`.
pub(in crate::read) fn is_default_date(text: &str, date: &str) -> bool {
    let numbers = |text: &str, sign: char| -> Option<[i64; 3]> {
        let all = text
            .split(sign)
            .map(str::parse)
            .collect::<Result<Vec<_>, _>>();
        all.ok()?.try_into().ok()
    };
    let Some([year, month, day]) = numbers(date, '-') else {
        return false;
    };
    ['/', '-'].iter().any(|&sign| {
        numbers(text, sign).is_some_and(|[first, second, third]| {
            (first, second) == (month, day) && (third == year || third == year % 100)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_dates() {
        let date = |value, epoch| {
            let moment = Moment::of(value, epoch, 0).unwrap();
            (moment.year, moment.month, moment.day, moment.weekday)
        };
        for (value, expected) in [
            (0.0, (1900, 1, 0, 6)),
            (1.0, (1900, 1, 1, 0)),
            (59.0, (1900, 2, 28, 2)),
            (60.0, (1900, 2, 29, 3)),
            (61.0, (1900, 3, 1, 4)),
            (36_526.0, (2000, 1, 1, 6)),
            (36_585.0, (2000, 2, 29, 2)),
            (45_306.0, (2024, 1, 15, 1)),
            (2_958_465.0, (9999, 12, 31, 5)),
        ] {
            assert_eq!(date(value, Epoch::Of1900), expected, "{value}");
        }
        assert_eq!(date(0.0, Epoch::Of1904), (1904, 1, 1, 5));
        assert_eq!(date(43_844.0, Epoch::Of1904), (2024, 1, 15, 1));
        for value in [-1.0, f64::NAN, 2_958_466.0, 1e300] {
            assert_eq!(Moment::of(value, Epoch::Of1900, 0), None);
        }
    }

    #[test]
    fn every_day_follows_the_one_before() {
        let (mut year, mut month, mut day) = civil(61);
        for count in 62..60_000 {
            let (next_year, next_month, next_day) = civil(count);
            let follows = (next_year, next_month, next_day) == (year, month, day + 1)
                || next_day == 1 && (next_year, next_month) == (year, month + 1) && day >= 28
                || (next_year, next_month, next_day) == (year + 1, 1, 1)
                    && (month, day) == (12, 31);
            assert!(follows, "{count}");
            (year, month, day) = (next_year, next_month, next_day);
        }
    }

    #[test]
    fn default_dates_are_known() {
        assert!(is_default_date("1/31/2024", "2024-01-31"));
        assert!(is_default_date("01-31-24", "2024-01-31"));
        assert!(!is_default_date("31/1/2024", "2024-01-31"));
        assert!(!is_default_date("2024-01-31", "2024-01-31"));
        assert!(!is_default_date("1/31", "2024-01-31"));
        assert!(!is_default_date("Jan 31", ""));
    }
}
