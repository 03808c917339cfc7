//! Writes numbers and times into the placeholders of a section.

use super::date::{Epoch, Moment};
use super::format::{FormatToken, Section};
use super::{Decimal, general};

impl Section {
    pub(super) fn moment(&self, value: f64, epoch: Epoch) -> String {
        let decimals = self.tokens.iter().find_map(|token| match token {
            FormatToken::OfSecond(digits) => Some(*digits),
            _ => None,
        });
        let Some(moment) = Moment::of(value, epoch, decimals.unwrap_or(0)) else {
            return general(value);
        };
        let twelve = self
            .tokens
            .iter()
            .any(|token| matches!(token, FormatToken::Half(_)));
        let mut shown = String::new();
        for token in &self.tokens {
            match token {
                FormatToken::Literal(text) => shown.push_str(text),
                FormatToken::Part(unit, width) => {
                    shown.push_str(&moment.part(*unit, *width, twelve));
                }
                FormatToken::Elapsed(unit, width) => shown.push_str(&moment.elapsed(*unit, *width)),
                FormatToken::OfSecond(digits) => {
                    shown.push('.');
                    shown.push_str(&moment.of_second(*digits));
                }
                FormatToken::Half(is_short) => {
                    let half = if moment.is_afternoon() { "PM" } else { "AM" };
                    shown.push_str(if *is_short { &half[..1] } else { half });
                }
                FormatToken::Point => shown.push('.'),
                FormatToken::Slash => shown.push('/'),
                FormatToken::Digit(_)
                | FormatToken::Exponent(_)
                | FormatToken::Percent
                | FormatToken::General => {}
            }
        }
        shown
    }

    /// Formats a number as a fraction. The section has either the denominator or the number of
    /// digits of the denominator.
    pub(super) fn fraction(&self, value: f64) -> String {
        let slash = self
            .tokens
            .iter()
            .position(|token| *token == FormatToken::Slash);
        let (before, after) = self.tokens.split_at(slash.unwrap_or(0));
        let is_digit = |token: &&FormatToken| matches!(token, FormatToken::Digit(_));
        let places = after[1..].iter().take_while(is_digit).count();
        let given: String = after[1..]
            .iter()
            .map_while(|token| match token {
                FormatToken::Literal(digit) => Some(digit.as_str()),
                FormatToken::Digit(b'0') => Some("0"),
                _ => None,
            })
            .collect();
        // The placeholders directly before the slash are the numerator. Earlier placeholders are
        // the integer part.
        let numerator = before.iter().rev().take_while(is_digit).count();
        let has_whole = before.iter().filter(is_digit).count() > numerator;
        let size = value.abs();
        let whole = if has_whole { size.trunc() } else { 0.0 };
        let rest = size - whole;
        let numerator_of = |denominator: f64| (rest * denominator).round();
        let distance = |denominator: f64| (rest - numerator_of(denominator) / denominator).abs();
        let denominator = match given.trim().parse::<u16>() {
            Ok(given) if given > 0 => f64::from(given),
            _ => {
                let most = 10u32.pow(places.clamp(1, 3) as u32);
                let all = (1..most).map(f64::from);
                all.min_by(|a, b| distance(*a).total_cmp(&distance(*b)))
                    .unwrap_or(1.0)
            }
        };
        let mut above = numerator_of(denominator);
        let mut whole = whole;
        if has_whole && above >= denominator {
            (whole, above) = (whole + 1.0, 0.0);
        }
        let sign = if value < 0.0 { "-" } else { "" };
        match (has_whole, above == 0.0) {
            (true, true) => format!("{sign}{}", general(whole)),
            (true, false) if whole > 0.0 => {
                format!("{sign}{} {above}/{denominator}", general(whole))
            }
            _ => format!("{sign}{above}/{denominator}"),
        }
    }

    pub(super) fn number(&self, value: f64) -> String {
        let places = Places::of(&self.tokens);
        let percents = self
            .tokens
            .iter()
            .filter(|token| **token == FormatToken::Percent)
            .count();
        let shift = 2 * percents as i32 - 3 * self.thousands;
        let mut decimal = Decimal::of(value);
        if !decimal.is_zero() {
            decimal.exponent += shift;
        }
        let mut power = 0;
        if places.has_exponent && !decimal.is_zero() {
            // In engineering notation, several placeholders are before the point. The exponent is
            // then a multiple of the number of these placeholders.
            let step = places.whole.max(1) as i32;
            power = (decimal.exponent - 1).div_euclid(step) * step;
            decimal.exponent -= power;
            let most = decimal.exponent.max(1);
            decimal = decimal.rounded(places.behind as i32);
            if decimal.exponent > most && decimal.exponent > step {
                decimal.exponent -= step;
                power += step;
            }
        } else {
            decimal = decimal.rounded(places.behind as i32);
        }
        let is_general = self.tokens.contains(&FormatToken::General);
        let mut shown = String::new();
        if value < 0.0 && (!decimal.is_zero() || is_general) {
            shown.push('-');
        }
        let mut digits = Digits {
            whole: decimal.whole(),
            fraction: decimal.fraction(),
            power,
            places,
            groups: self.groups,
            seen: 0,
        };
        // The zero before the point is shown only if a placeholder there requires it.
        if decimal.is_zero() && !places.insists {
            digits.whole.clear();
        }
        let mut phase = Phase::Whole;
        for token in &self.tokens {
            match token {
                FormatToken::Literal(text) => shown.push_str(text),
                FormatToken::General => shown.push_str(&general(value.abs())),
                FormatToken::Percent => shown.push('%'),
                FormatToken::Point => {
                    shown.push('.');
                    (phase, digits.seen) = (Phase::Behind, 0);
                }
                FormatToken::Exponent(plus) => {
                    shown.push('E');
                    match (power < 0, plus) {
                        (true, _) => shown.push('-'),
                        (false, true) => shown.push('+'),
                        (false, false) => {}
                    }
                    (phase, digits.seen) = (Phase::Exponent, 0);
                }
                FormatToken::Digit(place) => digits.push(phase, *place, &mut shown),
                _ => {}
            }
        }
        shown
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Whole,
    Behind,
    Exponent,
}

/// Counts the placeholders for digits in a section.
#[derive(Clone, Copy, Debug, Default)]
struct Places {
    whole: usize,
    behind: usize,
    exponent: usize,
    has_exponent: bool,
    /// True if a `0` is among the placeholders before the point.
    insists: bool,
    /// The number of placeholders after the point, up to the last `0`.
    fixed: usize,
}

impl Places {
    fn of(tokens: &[FormatToken]) -> Self {
        let (mut places, mut phase) = (Self::default(), Phase::Whole);
        for token in tokens {
            match (token, phase) {
                (FormatToken::Point, Phase::Whole) => phase = Phase::Behind,
                (FormatToken::Exponent(_), _) => {
                    phase = Phase::Exponent;
                    places.has_exponent = true;
                }
                (FormatToken::Digit(place), Phase::Whole) => {
                    places.whole += 1;
                    places.insists |= *place == b'0';
                }
                (FormatToken::Digit(place), Phase::Behind) => {
                    places.behind += 1;
                    if *place == b'0' {
                        places.fixed = places.behind;
                    }
                }
                (FormatToken::Digit(_), Phase::Exponent) => places.exponent += 1,
                _ => {}
            }
        }
        places
    }
}

/// The digits of a number while they are written into the placeholders.
struct Digits {
    whole: String,
    fraction: String,
    power: i32,
    places: Places,
    groups: bool,
    /// The number of placeholders that were filled in the current [`Phase`].
    seen: usize,
}

impl Digits {
    fn push(&mut self, phase: Phase, place: u8, to: &mut String) {
        let at = self.seen;
        self.seen += 1;
        match phase {
            Phase::Whole => {
                // `from_point` is the distance of a digit from the point. The first placeholder
                // also takes all digits on its left.
                let last = self.places.whole - 1 - at;
                let first = if at == 0 {
                    self.whole.len().max(last + 1)
                } else {
                    last + 1
                };
                for from_point in (last..first).rev() {
                    let digit = self.whole.len().checked_sub(from_point + 1);
                    match (digit, place) {
                        (Some(digit), _) => to.push_str(&self.whole[digit..=digit]),
                        (None, b'0') => to.push('0'),
                        _ => continue,
                    }
                    if self.groups && from_point > 0 && from_point % 3 == 0 {
                        to.push(',');
                    }
                }
            }
            Phase::Behind => match self.fraction.get(at..=at) {
                Some(digit) => to.push_str(digit),
                None if at < self.places.fixed => to.push('0'),
                None => {}
            },
            Phase::Exponent if at == 0 => {
                let width = self.places.exponent;
                let power = format!("{:0width$}", self.power.abs());
                to.push_str(&power);
            }
            Phase::Exponent => {}
        }
    }
}
