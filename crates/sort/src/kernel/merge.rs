//! Merge of sorted pieces of a slice.

use super::Entry;

/// Merges the sorted pieces of `entries` that end at `ends`, the last of which is the length of
/// `entries`; returns true if the result is in `spare`, which is as long, rather than in `entries`.
pub fn merge_pieces(entries: &mut [Entry], spare: &mut [Entry], ends: &mut Vec<usize>) -> bool {
    let (mut from, mut to) = (entries, spare);
    let mut moved = false;
    while ends.len() > 1 {
        let mut start = 0;
        let mut merged = Vec::with_capacity(ends.len().div_ceil(2));
        for pair in ends.chunks(2) {
            let (middle, end) = (pair[0], pair[pair.len() - 1]);
            merge(&from[start..middle], &from[middle..end], &mut to[start..end]);
            merged.push(end);
            start = end;
        }
        *ends = merged;
        std::mem::swap(&mut from, &mut to);
        moved = !moved;
    }
    moved
}

/// Merges two sorted slices without equal entries, from both ends at once: two chains of steps that
/// do not wait for each other, each without a branch on the data.
fn merge(left: &[Entry], right: &[Entry], out: &mut [Entry]) {
    if left.is_empty() || right.is_empty() {
        let (filled, rest) = out.split_at_mut(left.len());
        filled.copy_from_slice(left);
        rest.copy_from_slice(right);
        return;
    }
    // Neither end can exhaust a slice within as many steps as the shorter slice has entries.
    let steps = left.len().min(right.len()) / 2;
    let (mut i, mut j) = (0, 0);
    let (mut p, mut q) = (left.len(), right.len());
    let total = out.len();
    for step in 0..steps {
        let takes_left = left[i] < right[j];
        out[step] = if takes_left { left[i] } else { right[j] };
        i += usize::from(takes_left);
        j += usize::from(!takes_left);
        let takes_left = left[p - 1] > right[q - 1];
        out[total - 1 - step] = if takes_left { left[p - 1] } else { right[q - 1] };
        p -= usize::from(takes_left);
        q -= usize::from(!takes_left);
    }
    for place in &mut out[steps..total - steps] {
        let takes_left = j == q || (i < p && left[i] < right[j]);
        *place = if takes_left { left[i] } else { right[j] };
        i += usize::from(takes_left);
        j += usize::from(!takes_left);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cuesta_core::random::Stream;

    #[test]
    fn pieces_of_any_sizes_are_merged() {
        let stream = Stream::new(2, 0);
        for case in 0..300 {
            let pieces = stream.below(case, 9) + 1;
            let mut entries: Vec<Entry> = Vec::new();
            let mut ends = Vec::new();
            for piece in 0..pieces {
                let count = stream.below(1000 * case + piece, 40);
                let mut sorted: Vec<Entry> = (0..count)
                    .map(|i| {
                        u128::from(stream.below(case * 7919 + i, 50)) << 64
                            | u128::from(piece * 64 + i)
                    })
                    .collect();
                sorted.sort_unstable();
                entries.extend(sorted);
                ends.push(entries.len());
            }
            let mut expected = entries.clone();
            expected.sort_unstable();
            let mut spare = vec![0; entries.len()];
            let moved = merge_pieces(&mut entries, &mut spare, &mut ends);
            assert_eq!(if moved { spare } else { entries }, expected, "case {case}");
        }
    }
}
