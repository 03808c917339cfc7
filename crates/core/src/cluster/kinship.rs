//! The weight of a link: the containment, reduced if many other contents have the shared text, too.

/// The sizes of two contents, and how much of each is in the other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sharing {
    /// The size of each content in bytes.
    pub sizes: (u64, u64),
    /// The share of the first content that is in the second, and the share of the second that is in
    /// the first. Both are in 0..=1.
    pub shares: (f64, f64),
    /// The mean weight of the shared pieces ([`crate::similarity::discount::Rarity::weight`]): 1 if
    /// few other contents have any of them.
    pub weight: f64,
}

impl Sharing {
    /// Returns the weight of the pair as kinship, in millionths: the value of
    /// [`super::Tie::score`].
    ///
    /// The score of answers is the larger containment, S / (S + U). S is the number of shared bytes
    /// of the file with the larger share, and U the number of its other bytes. For single pairs
    /// this score is right, but for groups it has a flaw. Consider a file with a licence of twenty
    /// lines and two lines of its own. Nine tenths of this file are in each of 400 files with the
    /// same licence. So it would be the centre of one family of all these files. Discounting only S
    /// does not help, because U is almost nothing. So the formula also counts V, the bytes of the
    /// *other* file that are not shared. The more common the shared text is, the more of V counts:
    ///
    /// ```text
    /// ω·S / (ω·S + U + (1 - ω)·V)
    /// ```
    ///
    /// ω is [`Self::weight`]. With ω = 1 this is the containment. A hundred versions of one text
    /// stay together, because U and V are small. Files with a rare quotation stay together, too,
    /// because ω is 1.
    pub fn kinship(&self) -> u32 {
        let (a, b) = self.sides();
        if self.shares.0 >= self.shares.1 {
            self.worth(a, b.1)
        } else {
            self.worth(b, a.1)
        }
    }

    /// Returns the maximum that [`Self::kinship`] can have if the true shares are at most `shares`.
    pub fn most_kinship(&self) -> u32 {
        let (a, b) = self.sides();
        self.worth(a, b.1).max(self.worth(b, a.1))
    }

    /// Returns the number of shared bytes and of other bytes, for each of the two contents.
    fn sides(&self) -> ((f64, f64), (f64, f64)) {
        let side = |size: u64, share: f64| {
            let shared = share.clamp(0.0, 1.0) * size as f64;
            (shared, size as f64 - shared)
        };
        (
            side(self.sizes.0, self.shares.0),
            side(self.sizes.1, self.shares.1),
        )
    }

    /// Returns w·S / (w·S + U + (1 - w)·V) in millionths. w is the weight, S is `shared`, U is
    /// `missing`, and V is `rest`.
    fn worth(&self, (shared, missing): (f64, f64), rest: f64) -> u32 {
        let weight = self.weight.clamp(0.0, 1.0);
        let worth = weight * shared;
        let all = worth + missing + (1.0 - weight) * rest;
        if all <= 0.0 {
            return 0;
        }
        // The result is rounded down, as every printed share is. A small addition keeps 0.7 from
        // being 0.699999.
        ((worth / all) * 1e6 + 1e-3).floor().clamp(0.0, 1e6) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::Tie;

    fn sharing(sizes: (u64, u64), shares: (f64, f64), weight: f64) -> u32 {
        Sharing {
            sizes,
            shares,
            weight,
        }
        .kinship()
    }

    #[test]
    fn smaller_shares_are_never_worth_more_than_the_most() {
        let sizes = [(1000, 9000), (9000, 1000), (500, 500)];
        let steps = || (0..=10).map(|step| f64::from(step) / 10.0);
        for (sizes, weight) in sizes.into_iter().flat_map(|s| steps().map(move |w| (s, w))) {
            for (a, b) in steps().flat_map(|a| steps().map(move |b| (a, b))) {
                let most = Sharing {
                    sizes,
                    shares: (a, b),
                    weight,
                }
                .most_kinship();
                for (less_a, less_b) in [(0.5 * a, b), (a, 0.5 * b), (0.9 * a, 0.2 * b), (a, b)] {
                    assert!(sharing(sizes, (less_a, less_b), weight) <= most);
                }
            }
        }
    }

    #[test]
    fn nothing_common_is_the_containment() {
        assert_eq!(sharing((1000, 9000), (0.7, 0.077), 1.0), 700_000);
        assert_eq!(sharing((9000, 1000), (0.077, 0.7), 1.0), 700_000);
        assert_eq!(sharing((0, 0), (0.0, 0.0), 1.0), 0);
    }

    #[test]
    fn a_licence_is_no_kin_of_what_it_covers_but_versions_stay() {
        // A source file and a stub of 1,200 bytes share a licence of 1,100 bytes. Text that about
        // 200 files have weighs about 0.03.
        let stub_in_source = sharing((1_200, 12_000), (0.92, 0.092), 0.03);
        assert!(stub_in_source < 10_000, "{stub_in_source}");
        let hundred_versions = sharing((20_000, 20_100), (0.97, 0.965), 0.227);
        assert!(hundred_versions >= Tie::MOSTLY, "{hundred_versions}");
        let quoted_twice = sharing((1_000, 50_000), (1.0, 0.02), 1.0);
        assert_eq!(quoted_twice, 1_000_000);
    }

    #[test]
    fn it_falls_with_the_weight_and_with_the_rest() {
        let mut last = 1_000_000;
        for weight in [1.0, 0.9, 0.5, 0.2, 0.05, 0.0] {
            let now = sharing((1000, 3000), (1.0, 0.3333), weight);
            assert!(now <= last);
            last = now;
        }
        assert_eq!(last, 0);
        let rest =
            [1000, 2000, 5000, 50_000].map(|b| sharing((1000, b), (1.0, 1000.0 / b as f64), 0.5));
        assert!(rest.is_sorted_by(|a, b| a >= b));
    }
}
