//! Decides by rules which files may be in one group. The rules are about size, suffix and type, or
//! are an expression of the user (Manber 1994, section 4: "files that fall under some other rules
//! specified by the user").
//!
//! The option `--where` takes an expression about two files. Other files are compared with `a`, and
//! `b` is one of these other files:
//!
//! ```text
//! rule     and-rule { "or" and-rule }
//! and-rule part { "and" part }
//! part     "not" part | "(" rule ")" | value OP value
//! OP       = != < <= > >= ~ (the left matches the pattern on the right: * any bytes, ? one)
//! value    FIELD | NUMBER, with K M G for 1024 … | "text", with " and \ as \" and \\
//!          | value * value | value / value
//! FIELD    a.size b.size a.suffix … a.name a.dir a.path a.type;  type: text binary compressed
//! ```
//!
//! Fields without `a.` or `b.`, such as `suffix`, are about both files: `suffix = "c"` is true if
//! it is true of `a` and of `b`.

mod expression;
mod facts;
mod parser;

use expression::Rule;
pub use facts::FileFacts;
pub use parser::RuleError;

/// Rules that two files must satisfy to be in one group.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PairRules {
    /// The least size of the smaller file, as a share of the larger file's size.
    pub size_ratio: Option<f64>,
    /// True if both files must have the same suffix.
    pub same_suffix: bool,
    /// True if both files must have the same type: text, binary or compressed.
    pub same_type: bool,
    /// The rule of the user, from `--where`.
    pub only: Option<WhereRule>,
}

impl PairRules {
    /// Returns whether there is any rule.
    pub fn is_any(&self) -> bool {
        *self != Self::default()
    }

    /// Returns whether `b` may be in a group whose reference is `a`.
    pub fn accept(&self, a: &FileFacts<'_>, b: &FileFacts<'_>) -> bool {
        let ratio = || a.size.min(b.size) as f64 / a.size.max(b.size).max(1) as f64;
        self.size_ratio.is_none_or(|least| ratio() >= least)
            && (!self.same_suffix || a.suffix() == b.suffix())
            && (!self.same_type || a.kind() == b.kind())
            && self.only.as_ref().is_none_or(|rule| rule.holds(a, b))
    }
}

/// A rule that was read from `--where`.
#[derive(Clone, Debug, PartialEq)]
pub struct WhereRule(Rule);

impl WhereRule {
    /// Reads a rule from its text.
    pub fn parse(text: &str) -> Result<Self, RuleError> {
        parser::parse(text).map(Self)
    }

    /// Returns whether the rule holds for these two files.
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

#[cfg(test)]
mod tests {
    use super::expression::is_like;
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
    fn rules_hold_or_do_not() {
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
        // A condition that names neither `a` nor `b` must hold for both files.
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
