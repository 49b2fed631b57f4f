//! Average linkage by chains of nearest neighbours, in place.
//!
//! Source: Müllner, "fastcluster", 2013. Ties go as in R: a chain starts at the smallest cluster,
//! searches upwards, and leaves the cluster before the tip only for a strictly smaller distance.

use cuesta_core::{Error, Result};

use crate::kernel::triangle::{StoredNumber, Triangle};

/// Tree of genes as R's `hclust` has it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tree {
    /// Both parts of each merge: `-i` for gene `i` from 1, `j` for the cluster of merge `j` from 1.
    pub merges: Vec<[i32; 2]>,
    /// Height of each merge, ascending.
    pub heights: Vec<f64>,
    /// Genes from 1 as a drawing of the tree has them, from left to right.
    pub order: Vec<u32>,
}

/// Merge of two clusters, each called by its largest gene.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Join {
    pub first: usize,
    pub second: usize,
    pub height: f64,
}

/// Computes the tree of average distances; `distances` holds intermediate results afterwards.
///
/// # Errors
/// `Input` when there is no gene, or a distance is missing.
pub fn average_linkage<T: StoredNumber>(distances: &mut Triangle<'_, T>) -> Result<Tree> {
    let count = distances.count();
    if count == 0 {
        return Err(Error::input("modules", "there is no gene to make a tree of"));
    }
    if distances.values().iter().any(|distance| !distance.load().is_finite()) {
        let text = "a distance is missing; leave genes out that do not vary";
        return Err(Error::input("modules", text));
    }
    let mut chain = Chain::new(count);
    let mut joins = Vec::with_capacity(count - 1);
    for _ in 1..count {
        joins.push(chain.join(distances));
    }
    Ok(tree(count, joins))
}

/// Clusters that are not merged yet, in ascending order, and the chain of nearest neighbours.
struct Chain {
    /// Number of genes of each cluster.
    sizes: Vec<usize>,
    /// Next active cluster.
    next: Vec<usize>,
    /// Previous active cluster.
    previous: Vec<usize>,
    first: usize,
    links: Vec<usize>,
}

impl Chain {
    fn new(count: usize) -> Self {
        Self {
            sizes: vec![1; count],
            next: (1..=count).collect(),
            previous: (0..count).map(|i| i.wrapping_sub(1)).collect(),
            first: 0,
            links: Vec::new(),
        }
    }

    /// Follows the chain to a pair of mutual nearest neighbours, and merges it.
    fn join<T: StoredNumber>(&mut self, distances: &mut Triangle<'_, T>) -> Join {
        let (mut tip, mut best) = self.begin(distances);
        loop {
            let before = *self.links.last().unwrap_or(&self.first);
            self.links.push(tip);
            let nearest = self.nearest(distances, tip, (before, &mut best));
            if nearest == before {
                break;
            }
            tip = nearest;
        }
        let last = self.links.len() - 1;
        let (a, b) = (self.links[last - 1], self.links[last]);
        self.links.truncate((last + 1).saturating_sub(2));
        let (small, large) = (a.min(b), a.max(b));
        self.merge(distances, small, large);
        Join { first: small, second: large, height: best }
    }

    /// Returns a tip that is not yet in the chain, and its distance from the last of the chain.
    fn begin<T: StoredNumber>(&mut self, distances: &Triangle<'_, T>) -> (usize, f64) {
        // The last two clusters were merged; one more is dropped, and found again from the one
        // before it.
        if self.links.len() >= 2 {
            let tip = self.links.pop().unwrap_or_default();
            let before = self.links[self.links.len() - 1];
            return (tip, distances.get(before, tip));
        }
        self.links.clear();
        self.links.push(self.first);
        let mut tip = self.next[self.first];
        let row = distances.row(self.first);
        let mut best = row[tip - self.first - 1].load();
        let mut cluster = self.next[tip];
        while cluster < self.sizes.len() {
            let distance = row[cluster - self.first - 1].load();
            if distance < best {
                (tip, best) = (cluster, distance);
            }
            cluster = self.next[cluster];
        }
        (tip, best)
    }

    /// Returns the cluster nearest to `tip`: the one before it, of distance `best`, unless one is
    /// strictly nearer.
    fn nearest<T: StoredNumber>(
        &self,
        distances: &Triangle<'_, T>,
        tip: usize,
        (before, best): (usize, &mut f64),
    ) -> usize {
        let mut nearest = before;
        let mut cluster = self.first;
        let values = distances.values();
        while cluster < tip {
            let distance = values[distances.start(cluster) + tip - cluster - 1].load();
            if distance < *best {
                (nearest, *best) = (cluster, distance);
            }
            cluster = self.next[cluster];
        }
        let row = distances.row(tip);
        cluster = self.next[tip];
        while cluster < self.sizes.len() {
            let distance = row[cluster - tip - 1].load();
            if distance < *best {
                (nearest, *best) = (cluster, distance);
            }
            cluster = self.next[cluster];
        }
        nearest
    }

    /// Merges cluster `small` into `large`.
    fn merge<T: StoredNumber>(
        &mut self,
        distances: &mut Triangle<'_, T>,
        small: usize,
        large: usize,
    ) {
        let (small_size, large_size) = (self.sizes[small] as f64, self.sizes[large] as f64);
        let total = small_size + large_size;
        // In this form: the last digit of a height decides ties, and R has it so.
        let (small_part, large_part) = (small_size / total, large_size / total);
        self.sizes[large] += self.sizes[small];
        self.remove(small);
        let mut cluster = self.first;
        while cluster < self.sizes.len() {
            if cluster != large {
                let from_small = distances.get(small, cluster);
                let from_large = distances.get(large, cluster);
                let mean = small_part * from_small + large_part * from_large;
                distances.set(large, cluster, mean);
            }
            cluster = self.next[cluster];
        }
    }

    fn remove(&mut self, cluster: usize) {
        let (previous, next) = (self.previous[cluster], self.next[cluster]);
        if cluster == self.first {
            self.first = next;
        } else {
            self.next[previous] = next;
        }
        if next < self.sizes.len() {
            self.previous[next] = previous;
        }
    }
}

/// Sorts merges by height, numbers the clusters, and orders the leaves.
pub(crate) fn tree(count: usize, mut joins: Vec<Join>) -> Tree {
    joins.sort_by(|a, b| a.height.total_cmp(&b.height));
    let mut roots: Vec<usize> = (0..count).collect();
    let mut nodes: Vec<i32> = (1..=count as i32).map(|leaf| -leaf).collect();
    let mut merges = Vec::with_capacity(joins.len());
    for (number, join) in (1..).zip(&joins) {
        let (a, b) = (root(&mut roots, join.first), root(&mut roots, join.second));
        merges.push(ordered(nodes[a], nodes[b]));
        roots[a] = b;
        nodes[b] = number;
    }
    let order = leaves(&merges);
    Tree { merges, heights: joins.iter().map(|join| join.height).collect(), order }
}

/// Orders both parts of a merge: genes before clusters, each by number.
fn ordered(a: i32, b: i32) -> [i32; 2] {
    let key = |node: i32| (node > 0, node.unsigned_abs());
    if key(a) < key(b) { [a, b] } else { [b, a] }
}

fn root(roots: &mut [usize], mut cluster: usize) -> usize {
    while roots[cluster] != cluster {
        roots[cluster] = roots[roots[cluster]];
        cluster = roots[cluster];
    }
    cluster
}

fn leaves(merges: &[[i32; 2]]) -> Vec<u32> {
    let mut order = Vec::with_capacity(merges.len() + 1);
    let mut waiting = vec![if merges.is_empty() { -1 } else { merges.len() as i32 }];
    while let Some(node) = waiting.pop() {
        match usize::try_from(node) {
            Ok(merge) => waiting.extend(merges[merge - 1].iter().rev()),
            Err(_) => order.push(node.unsigned_abs()),
        }
    }
    order
}

impl Tree {
    /// Returns a group for each gene: the clusters of merges up to `height`, numbered in the order
    /// of their first gene.
    pub fn groups(&self, height: f64) -> Vec<usize> {
        let count = self.merges.len() + 1;
        let mut roots: Vec<usize> = (0..count).collect();
        let mut members = Vec::with_capacity(count);
        for (merge, merge_height) in self.merges.iter().zip(&self.heights) {
            let [a, b] = merge.map(|node| match usize::try_from(node) {
                Ok(merge) => members[merge - 1],
                Err(_) => node.unsigned_abs() as usize - 1,
            });
            members.push(a);
            if *merge_height <= height {
                let (a, b) = (root(&mut roots, a), root(&mut roots, b));
                roots[a.max(b)] = a.min(b);
            }
        }
        (0..count).map(|gene| root(&mut roots, gene)).collect()
    }
}
