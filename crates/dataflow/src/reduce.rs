//! Global reduction: the sums of all blocks added into one.

use cuesta_core::Result;
use cuesta_runtime::parallel;

use crate::kernel::AXES;

/// Sums of coordinates, in units, of up to 2^24 blocks, each of which is below 2^53.
pub type Total = [i128; AXES];

/// Blocks of one task: some tens of microseconds.
const RANGE_BLOCKS: u64 = 1 << 14;

/// Returns the sum of `blocks` blocks: threads add ranges of blocks, and the partial sums are added
/// in pairs, in a tree.
///
/// # Errors
/// Only the errors of the threads.
pub fn total(
    blocks: u64,
    threads: usize,
    sums: impl Fn(u64) -> [i64; AXES] + Sync,
) -> Result<Total> {
    let add_range = |partial: &mut Total, task: usize| {
        let first = task as u64 * RANGE_BLOCKS;
        for block in first..blocks.min(first + RANGE_BLOCKS) {
            add(partial, sums(block).map(i128::from));
        }
        Ok(())
    };
    let tasks = blocks.div_ceil(RANGE_BLOCKS) as usize;
    let partials = parallel::run(threads, tasks, || [0; AXES], add_range, |_| {})?;
    Ok(tree(partials))
}

/// Adds neighbours, then sums of neighbours, until a single sum remains.
fn tree(mut partials: Vec<Total>) -> Total {
    let mut step = 1;
    while step < partials.len() {
        for left in (0..partials.len() - step).step_by(2 * step) {
            let right = partials[left + step];
            add(&mut partials[left], right);
        }
        step *= 2;
    }
    partials.first().copied().unwrap_or_default()
}

fn add(total: &mut Total, more: Total) {
    for (total, more) in total.iter_mut().zip(more) {
        *total += more;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_blocks_are_added_once_for_any_number_of_threads() {
        for blocks in [1, 2, RANGE_BLOCKS, 5 * RANGE_BLOCKS + 3] {
            let last = i128::from(blocks) - 1;
            let ramp = i128::from(blocks) * last / 2;
            for threads in [1, 2, 3, 8] {
                let sum = total(blocks, threads, |block| [block as i64, -1, 1 << 53]);
                let expected = [ramp, -i128::from(blocks), i128::from(blocks) << 53];
                assert_eq!(sum.unwrap(), expected, "{blocks} blocks, {threads} threads");
            }
        }
    }

    #[test]
    fn a_tree_adds_any_number_of_partial_sums_once() {
        for count in 0..20i128 {
            let partials = (0..count).map(|index| [1 << index, 1, -index]).collect();
            assert_eq!(tree(partials), [(1 << count) - 1, count, -(count * (count - 1) / 2)]);
        }
    }
}
