//! Formats sizes, counts and times for people.

use resemble_core::date::civil;

/// Formats a number of bytes for people: `999 B`, `1.2 KiB`, `34 MiB`.
pub fn human_size(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["KiB", "MiB", "GiB", "TiB", "PiB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let mut value = bytes as f64 / 1024.0;
    let mut unit = 0;
    while value >= 1000.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    if value < 10.0 {
        format!("{value:.1} {}", UNITS[unit])
    } else {
        format!("{value:.0} {}", UNITS[unit])
    }
}

/// Formats a count for people: `12,345`.
pub fn human_count(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Formats a counted noun: `1 file`, `12,345 files`.
pub fn counted(count: u64, what: &str) -> String {
    let s = if count == 1 { "" } else { "s" };
    format!("{} {what}{s}", human_count(count))
}

/// Formats a number of files and their bytes: `12 files, 3.4 MiB`.
pub(crate) fn files_and_bytes(files: u64, bytes: u64) -> String {
    format!("{}, {}", counted(files, "file"), human_size(bytes))
}

/// Describes how many duplicate bytes are in blocks that the files already share on disk. Removing
/// such bytes frees no space. Returns an empty text for 0 bytes.
pub(crate) fn shared_blocks(bytes: u64) -> String {
    if bytes == 0 {
        return String::new();
    }
    let size = human_size(bytes);
    format!(", {size} of it in blocks that are shared already: removing that frees nothing")
}

/// Formats a share in percent with one decimal, rounded down: `97.3`.
pub(crate) fn tenths_of_percent(part: u64, whole: u64) -> String {
    let tenths = u128::from(part) * 1000 / u128::from(whole);
    format!("{}.{}", tenths / 10, tenths % 10)
}

/// Formats the day of a time in seconds since 1970: `2026-09-01`, or `-` for a time before 1970.
pub fn day(seconds: i64) -> String {
    match u64::try_from(seconds) {
        Ok(seconds) => utc(seconds).split('T').next().unwrap_or("-").to_owned(),
        Err(_) => "-".to_owned(),
    }
}

/// Formats seconds since 1970 as `2026-09-01T12:34:56Z`.
pub fn utc(seconds: u64) -> String {
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    let (year, month, day) = civil(days.cast_signed());
    let (hour, minute, second) = (rest / 3600, rest / 60 % 60, rest % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn for_people() {
        assert_eq!(human_size(0), "0 B");
        assert_eq!(human_size(1023), "1023 B");
        assert_eq!(human_size(1234), "1.2 KiB");
        assert_eq!(human_size(35_651_584), "34 MiB");
        assert_eq!(human_size(u64::MAX), "16384 PiB");
        assert_eq!(human_count(0), "0");
        assert_eq!(human_count(999), "999");
        assert_eq!(human_count(1_234_567), "1,234,567");
    }

    #[test]
    fn dates() {
        let cases = [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_399, "2000-02-28T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (951_868_800, "2000-03-01T00:00:00Z"),
            (4_107_542_399, "2100-02-28T23:59:59Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
        ];
        for (seconds, date) in cases {
            assert_eq!(utc(seconds), date);
        }
    }
}
