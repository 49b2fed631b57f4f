//! Depth of a path: the mean number of reads that cover each of its bases.

use crate::kernel::sequences::Paths;

/// Converts the mean count of the k-mers of a path to its depth.
///
/// A read has fewer k-mers than bases, and a wrong base spoils up to k of them, so k-mer counts are
/// smaller than the depth. The bases of all reads are therefore distributed over the k-mers of all
/// paths in proportion to their counts, which corrects for both.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Depth {
    bases_per_count: f64,
}

impl Depth {
    /// Creates the conversion for paths whose k-mers were counted in reads of `read_bases` bases.
    pub fn of_reads(read_bases: u64, paths: &Paths<'_>) -> Self {
        let counts: u64 = (0..paths.len()).map(|path| paths.facts(path).count_sum).sum();
        Self::shared_out(read_bases, counts)
    }

    /// Creates the conversion for paths whose k-mer counts sum to `counts`.
    pub fn shared_out(read_bases: u64, counts: u64) -> Self {
        Self { bases_per_count: read_bases as f64 / counts.max(1) as f64 }
    }

    /// Creates the conversion for k-mer counts that are depths already.
    pub fn counted() -> Self {
        Self { bases_per_count: 1.0 }
    }

    /// Returns the depth of `kmers` k-mers whose counts sum to `count_sum`.
    pub fn of(&self, count_sum: u64, kmers: usize) -> f64 {
        count_sum as f64 / kmers as f64 * self.bases_per_count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bases_of_the_reads_are_shared_out_by_counts() {
        // Two paths of 60 and 40 k-mers, counted 10 and 20 times; reads of 2800 bases.
        let depth = Depth::shared_out(2800, 1400);
        assert_eq!((depth.of(600, 60), depth.of(800, 40)), (20.0, 40.0));
        assert_eq!(Depth::counted().of(600, 60), 10.0);
        assert_eq!(Depth::shared_out(0, 0).of(0, 1), 0.0);
    }
}
