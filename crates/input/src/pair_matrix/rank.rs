//! The triangular rank of a gene pair: x(x-1)/2 + y for 0-based genes x > y.

/// Pairs of `genes` genes.
pub fn pairs_of(genes: u32) -> u64 {
    u64::from(genes) * u64::from(genes.saturating_sub(1)) / 2
}

/// Rank of the pair of 1-based genes `gene1 > gene2`.
#[inline]
pub fn rank_of(gene1: u32, gene2: u32) -> u64 {
    pairs_of(gene1 - 1) + u64::from(gene2 - 1)
}

/// Turns ascending ranks into genes without a square root for each.
#[derive(Clone, Copy, Debug)]
pub struct Walker {
    /// The 1-based larger gene, and the ranks of its pairs.
    gene1: u32,
    first: u64,
    end: u64,
}

impl Default for Walker {
    /// A walker that starts anywhere.
    fn default() -> Self {
        Self { gene1: 1, first: 0, end: 0 }
    }
}

impl Walker {
    /// The 1-based genes of a rank; cheap when the rank before it was a little smaller.
    #[inline]
    pub fn genes_of(&mut self, rank: u64) -> (u32, u32) {
        if rank < self.first || rank >= self.end {
            self.seek(rank);
        }
        (self.gene1, (rank - self.first) as u32 + 1)
    }

    #[inline(never)]
    fn seek(&mut self, rank: u64) {
        // The square root is off by at most one for ranks below 2^47, the largest there are.
        let mut x = ((1.0 + (1.0 + 8.0 * rank as f64).sqrt()) / 2.0) as u64;
        while x * (x - 1) / 2 > rank {
            x -= 1;
        }
        while x * (x + 1) / 2 <= rank {
            x += 1;
        }
        *self = Self { gene1: x as u32 + 1, first: x * (x - 1) / 2, end: x * (x + 1) / 2 };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_walker_inverts_the_rank() {
        let mut walker = Walker::default();
        let mut rank = 0;
        for gene1 in 2..200 {
            for gene2 in 1..gene1 {
                assert_eq!(rank_of(gene1, gene2), rank);
                assert_eq!(walker.genes_of(rank), (gene1, gene2));
                rank += 1;
            }
        }
        assert_eq!(pairs_of(199), rank);
        assert_eq!(walker.genes_of(0), (2, 1));
    }

    #[test]
    fn the_largest_genes_are_exact() {
        let top = crate::limits::GENES_MAX;
        let mut walker = Walker::default();
        for (gene1, gene2) in [(top, 1), (top, top - 1), (top - 1, top - 2)] {
            assert_eq!(walker.genes_of(rank_of(gene1, gene2)), (gene1, gene2));
        }
    }
}
