//! Formats the values of cells as programs show them.
//!
//! Spreadsheet programs store 17 digits of a number, or the fewest digits that identify it. They
//! store a date as a count of days. But all programs show 15 significant digits of a number, and
//! show a date as a date. This module does the same. So a sheet has the same text, no matter which
//! program saved it:
//!
//! * A number without a format has up to 15 significant digits. Below 0.0001, and at or above 10¹⁵,
//!   it has an exponent.
//! * A number with a format has the digits, groups, signs and units of the format.
//! * A date has the form of its format. Each program shows the default format as is usual in its
//!   country. Here it is written as year, month, day: `2024-01-31`. American programs store the
//!   default format as month, day and year in digits. That format is also written as year, month,
//!   day.

mod date;
mod format;
mod render;

pub(super) use date::{Epoch, is_default_date};
pub(super) use format::NumberFormat;

/// A number as decimal digits: `0.DIGITS` times ten to the power of `exponent`.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Decimal {
    /// The digits, without zeros at the start and at the end. For the number zero, there are no
    /// digits.
    digits: Vec<u8>,
    exponent: i32,
}

/// The number of significant digits that are shown.
const SIGNIFICANT: usize = 15;

impl Decimal {
    /// Returns the absolute value of a number, rounded to 15 significant digits.
    fn of(value: f64) -> Self {
        let written = format!("{:.*e}", SIGNIFICANT - 1, value.abs());
        let (mantissa, exponent) = written.split_once('e').unwrap_or(("0", "0"));
        let digits = mantissa.bytes().filter(u8::is_ascii_digit).collect();
        let mut decimal = Self {
            digits,
            exponent: exponent.parse::<i32>().unwrap_or(0) + 1,
        };
        decimal.trim();
        decimal
    }

    fn trim(&mut self) {
        while self.digits.last() == Some(&b'0') {
            self.digits.pop();
        }
        if self.digits.is_empty() {
            self.exponent = 0;
        }
    }

    /// Rounds half away from zero to this many digits after the point.
    fn rounded(mut self, decimals: i32) -> Self {
        let kept = self.exponent + decimals;
        if kept >= self.digits.len() as i32 {
            return self;
        }
        let rounds_up = kept >= 0 && self.digits[kept as usize] >= b'5';
        self.digits.truncate(kept.max(0) as usize);
        if rounds_up {
            // Each nine at the end becomes zero, and the digit before the nines rises by one.
            while self.digits.last() == Some(&b'9') {
                self.digits.pop();
            }
            if let Some(digit) = self.digits.last_mut() {
                *digit += 1;
            } else {
                self.digits.push(b'1');
                self.exponent += 1;
            }
        }
        self.trim();
        self
    }

    fn is_zero(&self) -> bool {
        self.digits.is_empty()
    }

    /// Returns the digits before the decimal point; there is at least one.
    fn whole(&self) -> String {
        let length = self.exponent.max(0) as usize;
        let digits = self.digits.iter().map(|&digit| char::from(digit));
        let all: String = digits.chain(std::iter::repeat('0')).take(length).collect();
        if all.is_empty() { "0".to_owned() } else { all }
    }

    /// Returns all digits after the decimal point.
    fn fraction(&self) -> String {
        let zeros = (-self.exponent).max(0) as usize;
        let behind = self.digits.iter().skip(self.exponent.max(0) as usize);
        let zeros = std::iter::repeat_n('0', if self.is_zero() { 0 } else { zeros });
        zeros
            .chain(behind.map(|&digit| char::from(digit)))
            .collect()
    }
}

/// Formats a number that has no number format.
pub(super) fn general(value: f64) -> String {
    if !value.is_finite() {
        return String::new();
    }
    let decimal = Decimal::of(value);
    let sign = if value < 0.0 && !decimal.is_zero() {
        "-"
    } else {
        ""
    };
    let power = decimal.exponent - 1;
    if decimal.is_zero() || (-4..SIGNIFICANT as i32).contains(&power) {
        let point = if decimal.fraction().is_empty() {
            ""
        } else {
            "."
        };
        return format!("{sign}{}{point}{}", decimal.whole(), decimal.fraction());
    }
    let mantissa = Decimal {
        exponent: 1,
        ..decimal
    };
    let point = if mantissa.digits.len() > 1 { "." } else { "" };
    format!(
        "{sign}{}{point}{}E{}{:02}",
        mantissa.whole(),
        mantissa.fraction(),
        if power < 0 { '-' } else { '+' },
        power.abs()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_without_a_format_have_15_digits() {
        for (value, shown) in [
            (0.0, "0"),
            (-0.0, "0"),
            (5.0, "5"),
            (-0.1, "-0.1"),
            (0.1 + 0.2, "0.3"),
            (1.0 / 3.0, "0.333333333333333"),
            (12_345.678_901_234_567, "12345.6789012346"),
            (0.7 * 3.0, "2.1"),
            (123_456_789_012.0, "123456789012"),
            (999_999_999_999_999.0, "999999999999999"),
            (1e15, "1E+15"),
            (1e21, "1E+21"),
            (-1.234_567_890_123_456_7e18, "-1.23456789012346E+18"),
            (0.000_1, "0.0001"),
            (0.000_012_34, "1.234E-05"),
            (1.5e-107, "1.5E-107"),
            (0.999_999_999_999_999_9, "1"),
            (f64::NAN, ""),
            (f64::INFINITY, ""),
        ] {
            assert_eq!(general(value), shown, "{value}");
        }
    }

    #[test]
    fn rounding_is_that_of_the_digits_that_are_shown() {
        let rounded = |value: f64, decimals| {
            let decimal = Decimal::of(value).rounded(decimals);
            format!("{}.{}", decimal.whole(), decimal.fraction())
        };
        assert_eq!(rounded(2.675, 2), "2.68");
        assert_eq!(rounded(2.674_9, 2), "2.67");
        assert_eq!(rounded(9.999, 2), "10.");
        assert_eq!(rounded(0.5, 0), "1.");
        assert_eq!(rounded(0.49, 0), "0.");
        assert_eq!(rounded(0.05, 1), "0.1");
        assert_eq!(rounded(0.004, 2), "0.");
        assert_eq!(rounded(0.000_4, 2), "0.");
        assert_eq!(rounded(1234.0, -2), "1200.");
        assert_eq!(rounded(1.05, 5), "1.05");
    }
}
