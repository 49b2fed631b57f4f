//! Comparison of the sides of a bubble, by a table of edits.

use crate::kernel::kmer::Base;

/// Most edits between the sides of a bubble, as a part of the longer side.
const EDITS: f64 = 0.1;

/// Returns whether two sequences differ by few insertions, deletions and substitutions.
pub fn is_similar(first: &[Base], second: &[Base]) -> bool {
    let most = (EDITS * first.len().max(second.len()) as f64) as usize;
    if first.len().abs_diff(second.len()) > most {
        return false;
    }
    // The table of edits, row by row, near its diagonal; all other entries exceed the limit.
    let far = most + 1;
    let mut row: Vec<usize> = (0..=second.len()).map(|column| column.min(far)).collect();
    for (index, &base) in first.iter().enumerate() {
        let (start, last) = ((index + 1).saturating_sub(most), second.len().min(index + 1 + most));
        let mut diagonal = row[start.max(1) - 1];
        row[start.max(1) - 1] = if start <= 1 { (index + 1).min(far) } else { far };
        for column in start.max(1)..=last {
            let substituted = diagonal + usize::from(second[column - 1] != base);
            diagonal = row[column];
            row[column] = substituted.min(diagonal + 1).min(row[column - 1] + 1).min(far);
        }
    }
    row[second.len()] <= most
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn similar_sequences_are_those_with_few_edits(
            first in prop::collection::vec(0u8..3, 0..60),
            edits in prop::collection::vec((0usize..60, 0u8..4, 0u8..3), 0..9),
        ) {
            let mut second = first.clone();
            for (place, base, kind) in edits {
                match (kind, place.min(second.len())) {
                    (0, place) => second.insert(place, base),
                    (1, place) if place < second.len() => _ = second.remove(place),
                    (_, place) if place < second.len() => second[place] = base,
                    _ => {}
                }
            }
            let expected = crate::kernel::simplify::similar(&first, (&second, false), EDITS);
            prop_assert_eq!(is_similar(&first, &second), expected);
        }
    }
}
