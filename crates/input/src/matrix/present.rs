//! Number of present values that is enough where the user gives none.

/// Fewest present values of a gene, or of a sample, that are enough.
const PRESENT_MIN: usize = 4;

/// Returns the fewest present values of `count` that are enough by default: more than half of
/// them, and at least four. Larger than `count` where that is below four.
pub fn enough_values(count: usize) -> usize {
    (count / 2 + 1).max(PRESENT_MIN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn enough_is_more_than_half_and_at_least_four() {
        for (count, enough) in [(0, 4), (3, 4), (6, 4), (7, 4), (8, 5), (12, 7), (29, 15)] {
            assert_eq!(enough_values(count), enough, "{count}");
        }
    }
}
