//! What a group looks like.

use super::Tie;

/// The kinds of the "Type" column of Forman, Eshghi & Chiocchetti 2005, figure 5, made precise, and
/// two more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Shape {
    /// Two files that share, neither just a part of the other.
    Pair,
    /// Files of which one holds the others.
    Contains,
    /// At least three, all near the centre.
    Versions,
    /// The centre holds most of several others, and of most of the members, without being in them.
    Archive,
    /// Anything else.
    Family,
}

impl Shape {
    /// The shape of a group by the links of its centre to the other members, at least one.
    pub fn of(ties: &[Tie]) -> Self {
        let held = |tie: &Tie| tie.back >= Some(Tie::MOSTLY) && !tie.is_near();
        if let [tie] = ties {
            let one = tie.containment() >= Tie::MOSTLY && !tie.is_near();
            return if one { Self::Contains } else { Self::Pair };
        }
        if ties.iter().all(Tie::is_near) {
            return Self::Versions;
        }
        let held = ties.iter().filter(|tie| held(tie)).count();
        if held >= 2 && 2 * held > ties.len() {
            Self::Archive
        } else {
            Self::Family
        }
    }
}
