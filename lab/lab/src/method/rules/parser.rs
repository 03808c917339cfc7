//! The parser for the expressions of `--where`. Their grammar is in [`super`].

use thiserror::Error;

use super::expression::{Rule, RuleField, RuleOperator, RuleSide, RuleValue};

/// The reason why a text is not a valid rule.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "--where: {what} at byte {at}; a rule is for instance: b.size < 2 * a.size and suffix = \"c\""
)]
pub struct RuleError {
    /// The description of the error.
    pub what: String,
    /// The number of the byte at which the error is, counted from 1.
    pub at: usize,
}

/// Reads a rule from its text.
pub(super) fn parse(text: &str) -> Result<Rule, RuleError> {
    let mut parser = Parser {
        text,
        at: 0,
        depth: 0,
    };
    let rule = parser.or()?;
    parser.blanks();
    if parser.at < text.len() {
        return Err(parser.wrong("there is more after the rule"));
    }
    Ok(rule)
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    /// The number of brackets and `not`s that are open at this place.
    depth: usize,
}

/// The maximum depth of nested brackets and `not`s. No rule that a person writes needs more.
const DEEPEST: usize = 64;

impl Parser<'_> {
    fn wrong(&self, what: impl Into<String>) -> RuleError {
        RuleError {
            what: what.into(),
            at: self.at + 1,
        }
    }

    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn blanks(&mut self) {
        self.at = self.text.len() - self.rest().trim_start().len();
    }

    /// Consumes this sign if it is next. Returns whether it was next.
    fn sign(&mut self, sign: &str) -> bool {
        self.blanks();
        let found = self.rest().starts_with(sign);
        if found {
            self.at += sign.len();
        }
        found
    }

    /// Returns the next word without consuming it.
    fn peek(&mut self) -> String {
        self.blanks();
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '.' || c == '_';
        self.rest().chars().take_while(|&c| is_part(c)).collect()
    }

    fn word(&mut self, word: &str) -> bool {
        let found = self.peek() == word;
        if found {
            self.at += word.len();
        }
        found
    }

    fn or(&mut self) -> Result<Rule, RuleError> {
        let mut rules = vec![self.and()?];
        while self.word("or") {
            rules.push(self.and()?);
        }
        Ok(Rule::Or(rules))
    }

    fn and(&mut self) -> Result<Rule, RuleError> {
        let mut rules = vec![self.part()?];
        while self.word("and") {
            rules.push(self.part()?);
        }
        Ok(Rule::And(rules))
    }

    fn part(&mut self) -> Result<Rule, RuleError> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(self.wrong("too many brackets"));
        }
        let rule = if self.word("not") {
            Rule::Not(Box::new(self.part()?))
        } else if self.sign("(") {
            let rule = self.or()?;
            if !self.sign(")") {
                return Err(self.wrong("a closing bracket is missing"));
            }
            rule
        } else {
            self.comparison()?
        };
        self.depth -= 1;
        Ok(rule)
    }

    fn comparison(&mut self) -> Result<Rule, RuleError> {
        let left = self.product()?;
        let ops = [
            ("!=", RuleOperator::Unequal),
            ("<=", RuleOperator::LessEqual),
            (">=", RuleOperator::GreaterEqual),
            ("==", RuleOperator::Equal),
            ("=", RuleOperator::Equal),
            ("<", RuleOperator::Less),
            (">", RuleOperator::Greater),
            ("~", RuleOperator::Like),
        ];
        let found = ops.into_iter().find(|(sign, _)| self.sign(sign));
        let Some((_, op)) = found else {
            return Err(self.wrong("one of = != < <= > >= ~ is expected"));
        };
        let right = self.product()?;
        if left.is_number() != right.is_number() || (op == RuleOperator::Like && left.is_number()) {
            return Err(self.wrong("a number and a text cannot be compared"));
        }
        Ok(Rule::Compare(left, op, right))
    }

    fn product(&mut self) -> Result<RuleValue, RuleError> {
        let mut left = self.value()?;
        loop {
            let is_times = self.sign("*");
            if !is_times && !self.sign("/") {
                return Ok(left);
            }
            let right = self.value()?;
            if !left.is_number() || !right.is_number() {
                return Err(self.wrong("only numbers can be multiplied or divided"));
            }
            let (one, other) = (Box::new(left), Box::new(right));
            left = if is_times {
                RuleValue::Times(one, other)
            } else {
                RuleValue::Over(one, other)
            };
        }
    }

    fn value(&mut self) -> Result<RuleValue, RuleError> {
        if self.sign("\"") {
            return self.quoted();
        }
        let word = self.peek();
        let value = if word.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
            number(&word).ok_or_else(|| self.wrong(format!("{word} is not a number")))?
        } else if word.is_empty() {
            return Err(self.wrong("a field, a number or a \"text\" is expected"));
        } else {
            field(&word).ok_or_else(|| {
                self.wrong(format!(
                    "there is no field {word} (fields: size, suffix, name, dir, path, type; of a \
                     file: a.size, b.size …)"
                ))
            })?
        };
        self.at += word.len();
        Ok(value)
    }

    /// Consumes a text up to its closing quotation mark.
    fn quoted(&mut self) -> Result<RuleValue, RuleError> {
        let (mut text, mut escaped) = (Vec::new(), false);
        for (at, byte) in self.rest().bytes().enumerate() {
            match (escaped, byte) {
                (false, b'\\') => escaped = true,
                (false, b'"') => {
                    self.at += at + 1;
                    return Ok(RuleValue::Text(text));
                }
                (_, byte) => {
                    text.push(byte);
                    escaped = false;
                }
            }
        }
        Err(self.wrong("a closing quotation mark is missing"))
    }
}

fn number(word: &str) -> Option<RuleValue> {
    let digits = word.trim_end_matches(['k', 'K', 'm', 'M', 'g', 'G']);
    let unit = match &word[digits.len()..] {
        "" => 1.0,
        "k" | "K" => 1024.0,
        "m" | "M" => 1024.0 * 1024.0,
        "g" | "G" => 1024.0 * 1024.0 * 1024.0,
        _ => return None,
    };
    Some(RuleValue::Number(digits.parse::<f64>().ok()? * unit))
}

fn field(word: &str) -> Option<RuleValue> {
    let (side, field) = match word.split_once('.') {
        Some(("a", field)) => (RuleSide::A, field),
        Some(("b", field)) => (RuleSide::B, field),
        Some(_) => return None,
        None => (RuleSide::Both, word),
    };
    let field = match field {
        "size" => RuleField::Size,
        "suffix" => RuleField::Suffix,
        "name" => RuleField::Name,
        "dir" => RuleField::Dir,
        "path" => RuleField::Path,
        "type" => RuleField::Kind,
        _ => return None,
    };
    Some(RuleValue::RuleField(side, field))
}
