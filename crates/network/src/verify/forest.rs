//! Concurrent union-find forest that counts the components of a graph.

use std::sync::atomic::{AtomicU32, Ordering};

/// Forest over genes counted from 0. The root of a tree is its smallest member.
pub struct Forest {
    above: Vec<AtomicU32>,
}

impl Forest {
    /// Creates a forest of single genes; 4 bytes for each.
    pub fn new(genes: usize) -> Self {
        Self { above: (0..genes as u32).map(AtomicU32::new).collect() }
    }

    /// Joins the trees of two genes; returns whether they were different trees. Over all threads,
    /// the number of calls that return true is the decrease of the number of trees.
    #[inline(always)]
    pub fn join(&self, a: u32, b: u32) -> bool {
        let (mut a, mut b) = (self.root(a), self.root(b));
        while a != b {
            let (low, high) = (a.min(b), a.max(b));
            let place = &self.above[high as usize];
            match place.compare_exchange(high, low, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return true,
                // Another thread was faster: `high` is no root any more.
                Err(_) => (a, b) = (self.root(high), self.root(low)),
            }
        }
        false
    }

    #[inline(always)]
    fn root(&self, mut gene: u32) -> u32 {
        loop {
            let above = self.above[gene as usize].load(Ordering::Relaxed);
            if above == gene {
                return gene;
            }
            let next = self.above[above as usize].load(Ordering::Relaxed);
            // Path halving; a thread that changes the entry at the same time halves the path too.
            self.above[gene as usize].store(next, Ordering::Relaxed);
            gene = next;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reference::components;
    use cuesta_core::random::Stream;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn joins_that_count_are_genes_less_components(
            edges in proptest::collection::vec((0u32..40, 0u32..40), 0..80),
        ) {
            let edges: Vec<_> = edges.into_iter().filter(|(a, b)| a != b).collect();
            let forest = Forest::new(40);
            let joined = edges.iter().filter(|&&(a, b)| forest.join(a, b)).count();
            let labels = components(edges.iter().copied());
            let parts = labels.iter().filter(|(gene, label)| gene == label).count();
            prop_assert_eq!(joined, labels.len() - parts);
        }
    }

    #[test]
    fn threads_that_share_a_forest_count_each_join_once() {
        let stream = Stream::new(3, 0);
        let genes = 5000;
        let edge = |index: u64| {
            (stream.below(2 * index, genes) as u32, stream.below(2 * index + 1, genes) as u32)
        };
        for round in 0..20 {
            let forest = Forest::new(genes as usize);
            let count = |part: u64| {
                let edges = (0..4000).map(|index| edge(round * 10_000 + 4000 * part + index));
                edges.filter(|&(a, b)| forest.join(a, b)).count()
            };
            let joined: usize = std::thread::scope(|scope| {
                let threads: Vec<_> = [0, 1].map(|part| scope.spawn(move || count(part))).into();
                threads.into_iter().map(|thread| thread.join().unwrap()).sum()
            });
            let sequential_forest = Forest::new(genes as usize);
            let edges = (0..8000).map(|index| edge(round * 10_000 + index));
            assert_eq!(joined, edges.filter(|&(a, b)| sequential_forest.join(a, b)).count());
        }
    }
}
