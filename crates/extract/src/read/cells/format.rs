//! Parses number formats of ISO 29500 (part 1, 18.8.30).

use super::date::{Epoch, Unit};
use super::general;

/// A token of a section.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum FormatToken {
    Literal(String),
    /// A placeholder for a digit: `0`, `#` or `?`.
    Digit(u8),
    Point,
    /// The mark of an exponent. The value is true if a plus sign is shown.
    Exponent(bool),
    Percent,
    /// The slash between numerator and denominator.
    Slash,
    General,
    Part(Unit, usize),
    Elapsed(Unit, usize),
    /// The decimals of the seconds. The value is the number of decimals.
    OfSecond(usize),
    /// The half of the day (AM or PM). The value is true if only one letter is shown.
    Half(bool),
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Condition {
    Below(f64),
    AtMost(f64),
    Above(f64),
    AtLeast(f64),
    Equal(f64),
    Unequal(f64),
}

impl Condition {
    fn holds(self, value: f64) -> bool {
        match self {
            Self::Below(than) => value < than,
            Self::AtMost(than) => value <= than,
            Self::Above(than) => value > than,
            Self::AtLeast(than) => value >= than,
            Self::Equal(than) => value.total_cmp(&than).is_eq(),
            Self::Unequal(than) => value.total_cmp(&than).is_ne(),
        }
    }

    fn parse(text: &str) -> Option<Self> {
        let number = |rest: &str| rest.trim().parse().ok();
        let made = [
            ("<=", Self::AtMost as fn(f64) -> Self),
            (">=", Self::AtLeast),
            ("<>", Self::Unequal),
            ("<", Self::Below),
            (">", Self::Above),
            ("=", Self::Equal),
        ];
        let (sign, of) = made.into_iter().find(|(sign, _)| text.starts_with(sign))?;
        number(&text[sign.len()..]).map(of)
    }
}

/// A section: the part of a format between two semicolons.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Section {
    condition: Option<Condition>,
    pub(super) tokens: Vec<FormatToken>,
    /// True if a separator between thousands is shown.
    pub(super) groups: bool,
    /// The number of times that a value is divided by a thousand before it is shown.
    pub(super) thousands: i32,
}

/// A number format with its sections.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in crate::read) struct NumberFormat {
    sections: Vec<Section>,
}

/// The maximum length of a format in bytes. No program accepts a longer one.
const LONGEST: usize = 1024;

impl NumberFormat {
    /// Returns the built-in format with this number. Number 0 is the general format.
    pub(in crate::read) fn built_in(number: u32) -> Self {
        Self::parse(match number {
            1 => "0",
            2 => "0.00",
            3 => "#,##0",
            4 => "#,##0.00",
            5 | 6 => "\"$\"#,##0;(\"$\"#,##0)",
            7 | 8 => "\"$\"#,##0.00;(\"$\"#,##0.00)",
            9 => "0%",
            10 => "0.00%",
            11 => "0.00E+00",
            12 => "# ?/?",
            13 => "# ??/??",
            // These numbers are the default date and its variants in East Asia.
            14 | 27..=31 | 36 | 50..=58 => "yyyy-mm-dd",
            15 => "d-mmm-yy",
            16 => "d-mmm",
            17 => "mmm-yy",
            18 => "h:mm AM/PM",
            19 => "h:mm:ss AM/PM",
            20 | 32 => "h:mm",
            21 | 33 => "h:mm:ss",
            22 => "yyyy-mm-dd h:mm",
            37 | 38 => "#,##0 ;(#,##0)",
            39 | 40 => "#,##0.00;(#,##0.00)",
            41 => "_(* #,##0_);_(* (#,##0);_(* \"-\"_);_(@_)",
            42 => "_(\"$\"* #,##0_);_(\"$\"* (#,##0);_(\"$\"* \"-\"_);_(@_)",
            43 => "_(* #,##0.00_);_(* (#,##0.00);_(* \"-\"??_);_(@_)",
            44 => "_(\"$\"* #,##0.00_);_(\"$\"* (#,##0.00);_(\"$\"* \"-\"??_);_(@_)",
            45 => "mm:ss",
            46 => "[h]:mm:ss",
            47 => "mm:ss.0",
            48 => "##0.0E+0",
            _ => "General",
        })
    }

    pub(in crate::read) fn parse(code: &str) -> Self {
        let mut characters = code.chars().peekable();
        let mut sections = Vec::new();
        if code.len() <= LONGEST {
            while characters.peek().is_some() || sections.is_empty() {
                sections.push(section(&mut characters));
            }
            // A format that ends in `;` has an empty last section.
            if code.ends_with(';') {
                sections.push(Section::default());
            }
        }
        Self { sections }
    }

    /// Returns a number as the format shows it.
    pub(in crate::read) fn shown(&self, value: f64, epoch: Epoch) -> String {
        let Some((section, value)) = self.section(value) else {
            return general(value);
        };
        let is = |wanted: fn(&FormatToken) -> bool| section.tokens.iter().any(wanted);
        if is(|token| {
            matches!(
                token,
                FormatToken::Part(..) | FormatToken::Elapsed(..) | FormatToken::Half(_)
            )
        }) {
            return section.moment(value, epoch);
        }
        if is(|token| *token == FormatToken::Slash) {
            return section.fraction(value);
        }
        section.number(value)
    }

    /// Returns whether cells with this format show their texts. An empty fourth section hides
    /// texts.
    pub(in crate::read) fn shows_texts(&self) -> bool {
        let of_texts = self.sections.get(3);
        of_texts.is_none_or(|section| !section.tokens.is_empty())
    }

    /// Returns the section for a number, and the number as that section shows it. The section for
    /// negative numbers shows them without the sign.
    fn section(&self, value: f64) -> Option<(&Section, f64)> {
        if let Some(chosen) = self
            .sections
            .iter()
            .find(|section| section.condition.is_some_and(|of| of.holds(value)))
        {
            return Some((chosen, value));
        }
        let mut free = self.sections.iter().take(3);
        if self
            .sections
            .iter()
            .any(|section| section.condition.is_some())
        {
            return free
                .find(|section| section.condition.is_none())
                .map(|section| (section, value));
        }
        match (&self.sections[..], value) {
            ([_, below, ..], value) if value < 0.0 => Some((below, value.abs())),
            ([_, _, zero, ..], 0.0) => Some((zero, value)),
            ([first, ..], value) => Some((first, value)),
            ([], _) => None,
        }
    }
}

/// Parses a section and consumes the semicolon after it.
fn section(from: &mut std::iter::Peekable<std::str::Chars<'_>>) -> Section {
    let mut section = Section::default();
    let tokens = &mut section.tokens;
    while let Some(character) = from.next() {
        match character {
            ';' => break,
            '"' => tokens.push(FormatToken::Literal(
                from.by_ref().take_while(|&c| c != '"').collect(),
            )),
            '\\' | '!' => tokens.extend(from.next().map(|c| FormatToken::Literal(c.into()))),
            // `_` is a blank that is as wide as the next character.
            '_' => {
                from.next();
                tokens.push(FormatToken::Literal(" ".to_owned()));
            }
            // The character after `*` is repeated to fill the cell, so it is left out here.
            '*' => drop(from.next()),
            '[' => {
                let inner: String = from.by_ref().take_while(|&c| c != ']').collect();
                match bracket(&inner) {
                    Bracket::Condition(condition) => section.condition = Some(condition),
                    Bracket::Token(token) => tokens.push(token),
                    Bracket::Other => {}
                }
            }
            '0' | '#' | '?' => tokens.push(FormatToken::Digit(character as u8)),
            '.' => tokens.push(point(tokens, from)),
            '%' => tokens.push(FormatToken::Percent),
            ',' if matches!(tokens.last(), Some(FormatToken::Digit(_))) => {
                if from.peek().is_some_and(|c| "0#?".contains(*c)) {
                    section.groups = true;
                } else {
                    section.thousands += 1;
                    while from.next_if_eq(&',').is_some() {
                        section.thousands += 1;
                    }
                }
            }
            'E' | 'e' if matches!(from.peek(), Some('+' | '-')) => {
                tokens.push(FormatToken::Exponent(from.next() == Some('+')));
            }
            '/' if matches!(tokens.last(), Some(FormatToken::Digit(_))) => {
                tokens.push(FormatToken::Slash);
            }
            'G' | 'g' if word(from, "eneral") => tokens.push(FormatToken::General),
            'A' | 'a' if word(from, "m/pm") => tokens.push(FormatToken::Half(false)),
            'A' | 'a' if word(from, "/p") => tokens.push(FormatToken::Half(true)),
            'y' | 'Y' | 'm' | 'M' | 'd' | 'D' | 'h' | 'H' | 's' | 'S' => {
                let same = |c: &char| c.eq_ignore_ascii_case(&character);
                let mut width = 1;
                while from.next_if(same).is_some() {
                    width += 1;
                }
                tokens.push(FormatToken::Part(unit(character), width));
            }
            // `@` is the placeholder for the text of the cell.
            '@' => tokens.push(FormatToken::General),
            other => tokens.push(FormatToken::Literal(other.into())),
        }
    }
    minutes(tokens);
    default_date(tokens);
    section
}

fn unit(letter: char) -> Unit {
    match letter.to_ascii_lowercase() {
        'y' => Unit::Year,
        'd' => Unit::Day,
        'h' => Unit::Hour,
        's' => Unit::Second,
        _ => Unit::Month,
    }
}

/// If the input continues with the rest of a word, consumes the rest and returns true.
fn word(from: &mut std::iter::Peekable<std::str::Chars<'_>>, rest: &str) -> bool {
    let mut ahead = from.clone();
    let is_there = rest.chars().all(|wanted| {
        ahead
            .next()
            .is_some_and(|c| c.eq_ignore_ascii_case(&wanted))
    });
    if is_there {
        *from = ahead;
    }
    is_there
}

/// Parses a decimal point. Zeros after the point that follows the seconds are placeholders for
/// decimals of the seconds.
fn point(
    tokens: &[FormatToken],
    from: &mut std::iter::Peekable<std::str::Chars<'_>>,
) -> FormatToken {
    let is_of_second = matches!(
        tokens.last(),
        Some(FormatToken::Part(Unit::Second, _) | FormatToken::Elapsed(Unit::Second, _))
    );
    if !is_of_second {
        return FormatToken::Point;
    }
    let mut digits = 0;
    while from.next_if_eq(&'0').is_some() {
        digits += 1;
    }
    FormatToken::OfSecond(digits)
}

enum Bracket {
    Condition(Condition),
    Token(FormatToken),
    /// A colour or a language. It is ignored.
    Other,
}

fn bracket(inner: &str) -> Bracket {
    if let Some(condition) = Condition::parse(inner) {
        return Bracket::Condition(condition);
    }
    if let Some(currency) = inner.strip_prefix('$') {
        let sign = currency.split('-').next().unwrap_or_default();
        return Bracket::Token(FormatToken::Literal(sign.to_owned()));
    }
    let Some(first) = inner.chars().next() else {
        return Bracket::Other;
    };
    let is_elapsed = "hms".contains(first.to_ascii_lowercase())
        && inner.chars().all(|c| c.eq_ignore_ascii_case(&first));
    if !is_elapsed {
        return Bracket::Other;
    }
    let unit = match unit(first) {
        Unit::Month => Unit::Minute,
        unit => unit,
    };
    Bracket::Token(FormatToken::Elapsed(unit, inner.len()))
}

/// Turns a month that follows hours or precedes seconds into minutes. The letter `m` can mean
/// months or minutes.
fn minutes(tokens: &mut [FormatToken]) {
    let is_clock = |token: Option<&FormatToken>, unit: Unit| {
        token.is_some_and(|token| match token {
            FormatToken::Part(of, _) | FormatToken::Elapsed(of, _) => *of == unit,
            _ => false,
        })
    };
    let is_part =
        |token: &&FormatToken| matches!(token, FormatToken::Part(..) | FormatToken::Elapsed(..));
    for at in 0..tokens.len() {
        if let FormatToken::Part(Unit::Month, width @ ..=2) = tokens[at]
            && (is_clock(tokens[..at].iter().rfind(is_part), Unit::Hour)
                || is_clock(tokens[at + 1..].iter().find(is_part), Unit::Second))
        {
            tokens[at] = FormatToken::Part(Unit::Minute, width);
        }
    }
}

/// Reorders the default date, which is month, day and year in digits, to year, month and day.
fn default_date(tokens: &mut [FormatToken]) {
    let sign = |token: &FormatToken| match token {
        FormatToken::Literal(sign) => sign == "/" || sign == "-",
        _ => false,
    };
    for at in 0..tokens.len().saturating_sub(4) {
        if let [
            FormatToken::Part(Unit::Month, ..=2),
            first,
            FormatToken::Part(Unit::Day, ..=2),
            second,
            FormatToken::Part(Unit::Year, _),
        ] = &tokens[at..at + 5]
            && sign(first)
            && sign(second)
        {
            let dash = || FormatToken::Literal("-".to_owned());
            tokens[at] = FormatToken::Part(Unit::Year, 4);
            tokens[at + 1] = dash();
            tokens[at + 2] = FormatToken::Part(Unit::Month, 2);
            tokens[at + 3] = dash();
            tokens[at + 4] = FormatToken::Part(Unit::Day, 2);
        }
    }
}

#[cfg(test)]
mod tests;
