//! The parsed expressions of `--where`, and their evaluation for two files.

use super::facts::FileFacts;

/// A parsed rule.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Rule {
    Or(Vec<Rule>),
    And(Vec<Rule>),
    Not(Box<Rule>),
    Compare(RuleValue, RuleOperator, RuleValue),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RuleOperator {
    Equal,
    Unequal,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    Like,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum RuleValue {
    Number(f64),
    Text(Vec<u8>),
    RuleField(RuleSide, RuleField),
    Times(Box<RuleValue>, Box<RuleValue>),
    Over(Box<RuleValue>, Box<RuleValue>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RuleSide {
    A,
    B,
    Both,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RuleField {
    Size,
    Suffix,
    Name,
    Dir,
    Path,
    Kind,
}

/// The result of evaluating a value for two files.
#[derive(Clone, Debug, PartialEq)]
enum Worth<'a> {
    Number(f64),
    Text(&'a [u8]),
}

impl Rule {
    /// Returns whether the rule holds for these two files.
    pub(super) fn holds(&self, a: &FileFacts<'_>, b: &FileFacts<'_>) -> bool {
        match self {
            Self::Or(rules) => rules.iter().any(|rule| rule.holds(a, b)),
            Self::And(rules) => rules.iter().all(|rule| rule.holds(a, b)),
            Self::Not(rule) => !rule.holds(a, b),
            Self::Compare(left, op, right) => {
                // A field without `a.` or `b.` must satisfy the comparison for each of the two
                // files.
                let of = |one| compare(&left.of(a, b, one), *op, &right.of(a, b, one));
                if left.is_of_both() || right.is_of_both() {
                    of(a) && of(b)
                } else {
                    of(a)
                }
            }
        }
    }
}

fn compare(left: &Worth<'_>, op: RuleOperator, right: &Worth<'_>) -> bool {
    let order = match (left, right) {
        (Worth::Number(left), Worth::Number(right)) => left.total_cmp(right),
        (Worth::Text(left), Worth::Text(right)) if op == RuleOperator::Like => {
            return is_like(left, right);
        }
        (Worth::Text(left), Worth::Text(right)) => left.cmp(right),
        // The parser refuses a comparison of a number with a text, so this is not reached.
        _ => return false,
    };
    match op {
        RuleOperator::Equal => order.is_eq(),
        RuleOperator::Unequal => order.is_ne(),
        RuleOperator::Less => order.is_lt(),
        RuleOperator::LessEqual => order.is_le(),
        RuleOperator::Greater => order.is_gt(),
        RuleOperator::GreaterEqual => order.is_ge(),
        RuleOperator::Like => false,
    }
}

/// Returns whether a text matches a pattern with `*` and `?`. The time is proportional to the
/// product of the two lengths.
pub(super) fn is_like(text: &[u8], pattern: &[u8]) -> bool {
    let (mut t, mut p) = (0, 0);
    // The place of the last star in the pattern, and the place in the text where the match of this
    // star ends.
    let mut star: Option<(usize, usize)> = None;
    while t < text.len() {
        if pattern.get(p) == Some(&b'*') {
            star = Some((p, t));
            p += 1;
        } else if pattern.get(p).is_some_and(|&c| c == b'?' || c == text[t]) {
            t += 1;
            p += 1;
        } else if let Some((at, taken)) = star {
            star = Some((at, taken + 1));
            p = at + 1;
            t = taken + 1;
        } else {
            return false;
        }
    }
    pattern[p..].iter().all(|&c| c == b'*')
}

impl RuleValue {
    fn of<'v>(&'v self, a: &FileFacts<'v>, b: &FileFacts<'v>, both: &FileFacts<'v>) -> Worth<'v> {
        let number = |value: &Self| match value.of(a, b, both) {
            Worth::Number(number) => number,
            Worth::Text(_) => f64::NAN,
        };
        match self {
            Self::Number(number) => Worth::Number(*number),
            Self::Text(text) => Worth::Text(text),
            Self::Times(left, right) => Worth::Number(number(left) * number(right)),
            Self::Over(left, right) => Worth::Number(number(left) / number(right)),
            Self::RuleField(side, field) => {
                let facts = match side {
                    RuleSide::A => a,
                    RuleSide::B => b,
                    RuleSide::Both => both,
                };
                match field {
                    RuleField::Size => Worth::Number(facts.size as f64),
                    RuleField::Suffix => Worth::Text(facts.suffix()),
                    RuleField::Name => Worth::Text(facts.name()),
                    RuleField::Dir => Worth::Text(facts.dir()),
                    RuleField::Path => Worth::Text(facts.path),
                    RuleField::Kind => Worth::Text(facts.kind().as_bytes()),
                }
            }
        }
    }

    fn is_of_both(&self) -> bool {
        match self {
            Self::RuleField(side, _) => *side == RuleSide::Both,
            Self::Times(left, right) | Self::Over(left, right) => {
                left.is_of_both() || right.is_of_both()
            }
            Self::Number(_) | Self::Text(_) => false,
        }
    }

    pub(super) fn is_number(&self) -> bool {
        !matches!(self, Self::Text(_))
            && !matches!(self, Self::RuleField(_, field) if *field != RuleField::Size)
    }
}
