//! PairRules of what may be in a group together: sizes, suffixes, types, and what a user says (Manber
//! 1994, section 4: "files that fall under some other rules specified by the user").
//!
//! `--where` takes an expression about a file `a`, with which others are compared, and one of
//! these, `b`:
//!
//! ```text
//! rule     and-rule { "or" and-rule }
//! and-rule part { "and" part }
//! part     "not" part | "(" rule ")" | value OP value
//! OP       = != < <= > >= ~ (the left matches the pattern on the right: * any bytes, ? one)
//! value    FIELD | NUMBER, with K M G for 1024 … | "text", with " and \ as \" and \\ | value * value | value / value
//! FIELD    a.size b.size a.suffix … a.name a.dir a.path a.type;  type: text binary compressed
//! ```
//!
//! `size` and the others without a file are of both: `suffix = "c"` holds if it does of `a` and of
//! `b`.
//!
//! Nothing here looks at a file: what a rule can ask is known of every file that was indexed.

use thiserror::Error;

/// What rules know of a file.
#[derive(Clone, Copy, Debug)]
pub struct FileFacts<'a> {
    /// Its path, any bytes.
    pub path: &'a [u8],
    /// Its size in bytes.
    pub size: u64,
    /// Whether it is text.
    pub text: bool,
}

impl<'a> FileFacts<'a> {
    /// The name without its directory.
    pub fn name(&self) -> &'a [u8] {
        let from = self.path.iter().rposition(|&byte| byte == b'/');
        &self.path[from.map_or(0, |at| at + 1)..]
    }

    /// The directory without a slash at the end.
    pub fn dir(&self) -> &'a [u8] {
        let end = self.path.iter().rposition(|&byte| byte == b'/');
        &self.path[..end.unwrap_or(0)]
    }

    /// What follows the last dot of the name; a name that begins with its only dot has none.
    pub fn suffix(&self) -> &'a [u8] {
        let name = self.name();
        match name.iter().rposition(|&byte| byte == b'.') {
            Some(at) if at > 0 => &name[at + 1..],
            _ => b"",
        }
    }

    /// `text`, `binary` or `compressed`: the three of the paper. Compressed is what is no text and
    /// has the suffix of something compressed.
    pub fn kind(&self) -> &'static str {
        const COMPRESSED: [&str; 28] = [
            "gz", "tgz", "bz2", "tbz2", "xz", "txz", "zst", "lz", "lz4", "lzma", "br", "z", "zip",
            "7z", "rar", "jar", "apk", "docx", "xlsx", "pptx", "odt", "ods", "odp", "epub", "jpg",
            "jpeg", "png", "mp4",
        ];
        if self.text {
            return "text";
        }
        let suffix = self.suffix().to_ascii_lowercase();
        if COMPRESSED.iter().any(|known| known.as_bytes() == suffix) {
            "compressed"
        } else {
            "binary"
        }
    }
}

/// Which two files may be in a group together.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PairRules {
    /// The smaller size over the larger is at least this.
    pub size_ratio: Option<f64>,
    /// The same suffix.
    pub same_suffix: bool,
    /// The same of text, binary and compressed.
    pub same_type: bool,
    /// What the user says.
    pub only: Option<WhereRule>,
}

impl PairRules {
    /// Whether there is any.
    pub fn is_any(&self) -> bool {
        *self != Self::default()
    }

    /// Whether `b` may be in a group because of `a`.
    pub fn accept(&self, a: &FileFacts<'_>, b: &FileFacts<'_>) -> bool {
        let ratio = || a.size.min(b.size) as f64 / a.size.max(b.size).max(1) as f64;
        self.size_ratio.is_none_or(|least| ratio() >= least)
            && (!self.same_suffix || a.suffix() == b.suffix())
            && (!self.same_type || a.kind() == b.kind())
            && self.only.as_ref().is_none_or(|rule| rule.holds(a, b))
    }
}

/// Why a text is no rule.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "--where: {what} at byte {at}; a rule is for instance: b.size < 2 * a.size and suffix = \"c\""
)]
pub struct RuleError {
    /// What is wrong.
    pub what: String,
    /// WhereRule, counted from 1.
    pub at: usize,
}

/// A rule of the user's.
#[derive(Clone, Debug, PartialEq)]
pub struct WhereRule(Rule);

#[derive(Clone, Debug, PartialEq)]
enum Rule {
    Or(Vec<Rule>),
    And(Vec<Rule>),
    Not(Box<Rule>),
    Compare(RuleValue, RuleOperator, RuleValue),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RuleOperator {
    Equal,
    Unequal,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    Like,
}

#[derive(Clone, Debug, PartialEq)]
enum RuleValue {
    Number(f64),
    Text(Vec<u8>),
    RuleField(RuleSide, RuleField),
    Times(Box<RuleValue>, Box<RuleValue>),
    Over(Box<RuleValue>, Box<RuleValue>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RuleSide {
    A,
    B,
    Both,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RuleField {
    Size,
    Suffix,
    Name,
    Dir,
    Path,
    Kind,
}

/// What a value comes to for two files.
#[derive(Clone, Debug, PartialEq)]
enum Worth<'a> {
    Number(f64),
    Text(&'a [u8]),
}

impl WhereRule {
    /// Reads a rule.
    pub fn parse(text: &str) -> Result<Self, RuleError> {
        let mut parser = Parser {
            text,
            at: 0,
            depth: 0,
        };
        let rule = parser.or()?;
        parser.blanks();
        if parser.at < text.len() {
            return Err(parser.wrong("something behind the rule"));
        }
        Ok(Self(rule))
    }

    /// Whether it holds of two files.
    pub fn holds(&self, a: &FileFacts<'_>, b: &FileFacts<'_>) -> bool {
        self.0.holds(a, b)
    }
}

impl std::str::FromStr for WhereRule {
    type Err = RuleError;

    fn from_str(text: &str) -> Result<Self, RuleError> {
        Self::parse(text)
    }
}

impl Rule {
    fn holds(&self, a: &FileFacts<'_>, b: &FileFacts<'_>) -> bool {
        match self {
            Self::Or(rules) => rules.iter().any(|rule| rule.holds(a, b)),
            Self::And(rules) => rules.iter().all(|rule| rule.holds(a, b)),
            Self::Not(rule) => !rule.holds(a, b),
            Self::Compare(left, op, right) => {
                // What is said of both holds if it does of either, taken for both.
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
        // Refused when the rule was read.
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

/// Whether a text matches a pattern of `*` and `?`. Time: the product of both lengths.
fn is_like(text: &[u8], pattern: &[u8]) -> bool {
    let (mut t, mut p) = (0, 0);
    // WhereRule the last star is, and what it has taken so far.
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

    fn is_number(&self) -> bool {
        !matches!(self, Self::Text(_))
            && !matches!(self, Self::RuleField(_, field) if *field != RuleField::Size)
    }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    /// Brackets and nots that are open.
    depth: usize,
}

/// More brackets within brackets are not for people.
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

    /// Takes a sign if it comes next.
    fn sign(&mut self, sign: &str) -> bool {
        self.blanks();
        let found = self.rest().starts_with(sign);
        if found {
            self.at += sign.len();
        }
        found
    }

    /// The word that comes next.
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
                return Err(self.wrong("no closing bracket"));
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
            return Err(self.wrong("none of = != < <= > >= ~"));
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
                return Err(self.wrong("only numbers have products"));
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
            number(&word).ok_or_else(|| self.wrong(format!("{word} is no number")))?
        } else if word.is_empty() {
            return Err(self.wrong("no field, number or \"text\""));
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

    /// What is behind a quotation mark.
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
        Err(self.wrong("no closing quotation mark"))
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

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(path: &str, size: u64) -> FileFacts<'_> {
        FileFacts {
            path: path.as_bytes(),
            size,
            text: !["gz", "o"]
                .iter()
                .any(|end| path.rsplit('.').next() == Some(end)),
        }
    }

    fn holds(rule: &str, a: &FileFacts<'_>, b: &FileFacts<'_>) -> bool {
        WhereRule::parse(rule).expect(rule).holds(a, b)
    }

    #[test]
    fn rules_say_what_they_say() {
        let (a, b) = (facts("/x/one.c", 1000), facts("/y/two.c", 2048));
        for rule in [
            "a.size < b.size",
            "b.size = 2K",
            "b.size <= 2.5 * a.size and b.size / a.size > 2",
            "suffix = \"c\"",
            "a.dir != b.dir",
            "not (a.name = b.name) and type = \"text\"",
            "path ~ \"/*/???.c\"",
            "a.size > 5000 or b.name ~ \"t*\"",
            "a.name=\"one.c\"and b.size>=2048",
        ] {
            assert!(holds(rule, &a, &b), "{rule}");
            assert!(!holds(&format!("not ({rule})"), &a, &b), "{rule}");
        }
        // Of both: one is not enough.
        assert!(!holds("size > 1500", &a, &b));
        // `and` binds more tightly than `or`.
        assert!(holds("a.size = 1000 or a.size = 1 and b.size = 1", &a, &b));
    }

    #[test]
    fn what_is_no_rule_is_refused_with_its_place() {
        for (rule, at) in [
            ("", 1),
            ("a.size", 7),
            ("a.size < ", 10),
            ("a.size < \"x\"", 13),
            ("a.size ~ 5", 11),
            ("colour = \"red\"", 1),
            ("(a.size < 5", 12),
            ("a.size < 5 b.size", 12),
            ("a.name = \"x", 11),
            ("a.size < 5X", 10),
            ("c.size < 5", 1),
        ] {
            let error = WhereRule::parse(rule).expect_err(rule);
            assert_eq!(error.at, at, "{rule}: {error}");
        }
        assert!(WhereRule::parse(&"(".repeat(100_000)).is_err());
        assert!(WhereRule::parse(&"not ".repeat(100_000)).is_err());
    }

    #[test]
    fn patterns() {
        for (text, pattern, is) in [
            ("", "", true),
            ("", "*", true),
            ("abc", "a*c", true),
            ("abcbc", "a*bc", true),
            ("abc", "a?c", true),
            ("abc", "a?", false),
            ("abc", "*b", false),
            ("aaaa", "*a*a*a*a*", true),
            ("aaa", "*a*a*a*a*", false),
        ] {
            assert_eq!(
                is_like(text.as_bytes(), pattern.as_bytes()),
                is,
                "{text} {pattern}"
            );
        }
    }

    #[test]
    fn sizes_suffixes_and_types() {
        let (a, b) = (facts("d/a.c", 100), facts("d/b.h", 50));
        let rules = |change: fn(&mut PairRules)| {
            let mut rules = PairRules::default();
            change(&mut rules);
            rules
        };
        assert!(rules(|rules| rules.size_ratio = Some(0.5)).accept(&a, &b));
        assert!(!rules(|rules| rules.size_ratio = Some(0.51)).accept(&b, &a));
        assert!(!rules(|rules| rules.same_suffix = true).accept(&a, &b));
        let kinds = ["a.c", "a.gz", "a.o", "gz", ".gz"].map(|path| facts(path, 1).kind());
        assert_eq!(kinds, ["text", "compressed", "binary", "binary", "binary"]);
        assert!(!rules(|rules| rules.same_type = true).accept(&a, &facts("x.gz", 1)));
        assert_eq!(facts("plain", 1).dir(), b"");
        assert_eq!(
            (facts("/a/b.c", 1).dir(), facts(".c", 1).suffix()),
            (&b"/a"[..], &b""[..])
        );
    }
}
