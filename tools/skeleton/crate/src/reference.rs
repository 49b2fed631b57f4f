//! The shortest version of the kernel, which is held against it.

use crate::kernel::Total;

/// The total of those numbers that are at least `least`.
pub fn total(numbers: &[u64], least: u64) -> Total {
    let taken = || numbers.iter().filter(|&&number| number >= least);
    Total { count: taken().count() as u64, sum: taken().map(|&number| u128::from(number)).sum() }
}
