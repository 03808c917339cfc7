//! Packs weighted items into few bins of limited capacity.

/// The result of packing items into bins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packing {
    /// The bin of each item.
    pub bin_of: Vec<u32>,
    /// The weight in each bin.
    pub weights: Vec<u64>,
}

/// Packs items into bins of at most `capacity`: first fit, heaviest first. This is the "standard
/// bin-packing algorithm" of Forman, Eshghi & Chiocchetti 2005, section 2.5, step 5. An item
/// heavier than the capacity gets its own bin. At most 11/9 of the minimum number of bins are used,
/// plus one.
///
/// Equal weights keep the order of the items. A tree of free capacities finds the first bin that
/// fits, so n items take O(n log n) steps.
pub fn first_fit_decreasing(weights: &[u64], capacity: u64) -> Packing {
    let mut order: Vec<u32> = (0..weights.len() as u32).collect();
    order.sort_by_key(|&item| std::cmp::Reverse(weights[item as usize]));
    let leaves = weights.len().next_power_of_two();
    // Unused bins have their full capacity. Items heavier than the capacity never search the tree.
    let mut free = vec![capacity; 2 * leaves];
    let mut packing = Packing {
        bin_of: vec![0; weights.len()],
        weights: Vec::new(),
    };
    for item in order {
        let weight = weights[item as usize];
        let mut at = 1;
        if weight > capacity {
            at = leaves + packing.weights.len();
        }
        while at < leaves {
            at = 2 * at + usize::from(free[2 * at] < weight);
        }
        let bin = at - leaves;
        if bin >= packing.weights.len() {
            packing.weights.push(0);
        }
        packing.bin_of[item as usize] = bin as u32;
        packing.weights[bin] += weight;
        free[at] = free[at].saturating_sub(weight);
        while at > 1 {
            at /= 2;
            free[at] = free[2 * at].max(free[2 * at + 1]);
        }
    }
    packing
}
