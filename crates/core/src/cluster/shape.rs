//! The shape of a group.

use super::Tie;

/// The kinds in the "Type" column of Forman, Eshghi & Chiocchetti 2005, figure 5, defined exactly,
/// and two more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Shape {
    /// Two files that share content. Either each contains the other, or neither does.
    Pair,
    /// Two files, only one of which contains the other.
    Contains,
    /// At least three files. The centre and each other member contain each other.
    Versions,
    /// The centre contains at least two other members that do not contain it. These members are
    /// more than half of all other members.
    Archive,
    /// Anything else.
    Family,
}

impl Shape {
    /// Returns the shape of a group. `ties` are the links of its centre to the other members, at
    /// least one.
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
