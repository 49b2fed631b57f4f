//! In- and out-degrees of genes from a stream of edges.

/// Degrees of a gene.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Degree {
    /// Edges that end at the gene (`gene2`).
    pub inward: u64,
    /// Edges that start at the gene (`gene1`).
    pub outward: u64,
}

impl Degree {
    /// Returns the number of edges at the gene.
    pub fn total(self) -> u64 {
        self.inward.saturating_add(self.outward)
    }
}

/// Degrees of all genes so far; gene g at index g - 1.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Degrees {
    /// Degrees of each gene.
    pub genes: Vec<Degree>,
}

impl Degrees {
    /// Counts an edge; genes from 1, `gene1` the larger.
    #[inline]
    pub fn add(&mut self, gene1: u32, gene2: u32) {
        let (from, to) = (gene1 as usize - 1, gene2 as usize - 1);
        if from.max(to) >= self.genes.len() {
            self.grow(from.max(to) + 1);
        }
        self.genes[from].outward += 1;
        self.genes[to].inward += 1;
    }

    /// Adds the counts of another part of the edges.
    pub fn merge(&mut self, other: &Self) {
        if other.genes.len() > self.genes.len() {
            self.grow(other.genes.len());
        }
        for (mine, theirs) in self.genes.iter_mut().zip(&other.genes) {
            mine.inward = mine.inward.saturating_add(theirs.inward);
            mine.outward = mine.outward.saturating_add(theirs.outward);
        }
    }

    #[cold]
    fn grow(&mut self, count: usize) {
        self.genes.resize(count, Degree::default());
    }

    /// Returns the number of genes with each degree: (degree, by inward, by outward, by total),
    /// ascending, without degrees that no gene has.
    pub fn distribution(&self) -> Vec<(u64, [u64; 3])> {
        let mut table = std::collections::BTreeMap::<u64, [u64; 3]>::new();
        for gene in &self.genes {
            for (index, degree) in [gene.inward, gene.outward, gene.total()].into_iter().enumerate()
            {
                table.entry(degree).or_default()[index] += 1;
            }
        }
        table.into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_edges_count_once_at_each_end() {
        let mut degrees = Degrees::default();
        for (gene1, gene2) in [(3, 1), (3, 2), (2, 1), (3, 1)] {
            degrees.add(gene1, gene2);
        }
        let plain: Vec<_> = degrees.genes.iter().map(|g| (g.inward, g.outward)).collect();
        assert_eq!(plain, [(3, 0), (1, 1), (0, 3)]);
        assert_eq!(degrees.distribution()[0], (0, [1, 1, 0]));
    }
}
