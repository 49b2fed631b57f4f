//! Average linkage by tables of nearest neighbours: whether each merge of a tree is that of the two
//! nearest clusters, at their mean distance.

use cuesta_core::Result;
use cuesta_core::budget::Budget;

use crate::kernel::linkage::Tree;
use crate::kernel::triangle::Triangle;

/// Largest difference of two heights that are the same.
const TOLERANCE: f64 = 1e-9;

/// Clusters by their first gene, and the nearest cluster after each.
struct Clusters<'b> {
    distances: Triangle<'b, f64>,
    sizes: Vec<f64>,
    /// Clusters that are not merged into another, ascending.
    active: Vec<usize>,
    /// The nearest active cluster after each.
    nearest: Vec<Option<(usize, f64)>>,
}

/// Returns the fault of a tree, if it has one.
///
/// # Errors
/// `Input` when the budget has too little left.
pub fn fault(
    tree: &Tree,
    distances: &Triangle<'_, f64>,
    budget: &Budget,
) -> Result<Option<String>> {
    let count = distances.count();
    let mut copy = Triangle::zeros(count, budget, "the distances of the proof")?;
    copy.values_mut().copy_from_slice(distances.values());
    let mut clusters = Clusters {
        distances: copy,
        sizes: vec![1.0; count],
        active: (0..count).collect(),
        nearest: vec![None; count],
    };
    for cluster in 0..count {
        clusters.update(cluster);
    }
    let mut made: Vec<usize> = Vec::with_capacity(tree.merges.len());
    let mut is_merged = vec![false; count];
    let mut below = f64::NEG_INFINITY;
    for (number, (merge, &height)) in (1..).zip(tree.merges.iter().zip(&tree.heights)) {
        let wrong = |why: &str| Ok(Some(format!("merge {number} of the tree {why}")));
        let cluster = |node: i32| match usize::try_from(node) {
            Ok(merge) => made.get(merge - 1).copied(),
            Err(_) => Some(node.unsigned_abs() as usize - 1).filter(|gene| *gene < count),
        };
        let [Some(a), Some(b)] = merge.map(cluster) else { return wrong("is of no cluster") };
        let (low, high) = (a.min(b), a.max(b));
        if low == high || is_merged[low] || is_merged[high] {
            return wrong("is of a cluster that is merged already");
        }
        if height < below {
            return wrong("is below the one before it");
        }
        below = height;
        if (clusters.distances.get(low, high) - height).abs() > TOLERANCE {
            return wrong("is not at the mean distance of its clusters");
        }
        if clusters.least() < height - TOLERANCE {
            return wrong("is not that of the nearest clusters");
        }
        clusters.merge(low, high);
        is_merged[high] = true;
        made.push(low);
    }
    Ok((made.len() + 1 != count).then(|| "the tree has not all genes".to_owned()))
}

impl Clusters<'_> {
    /// Searches the nearest of the active clusters after one.
    fn update(&mut self, cluster: usize) {
        let after = self.active.partition_point(|&it| it <= cluster);
        let mut best: Option<(usize, f64)> = None;
        for &other in &self.active[after..] {
            let distance = self.distances.get(cluster, other);
            if best.is_none_or(|(_, least)| distance < least) {
                best = Some((other, distance));
            }
        }
        self.nearest[cluster] = best;
    }

    /// Smallest distance of two active clusters.
    fn least(&self) -> f64 {
        let of_cluster = |&cluster: &usize| self.nearest[cluster].map(|(_, distance)| distance);
        self.active.iter().filter_map(of_cluster).fold(f64::INFINITY, f64::min)
    }

    /// Merges cluster `high` into `low`.
    fn merge(&mut self, low: usize, high: usize) {
        let total = self.sizes[low] + self.sizes[high];
        self.active.retain(|&cluster| cluster != high);
        let mut stale = vec![low];
        for place in 0..self.active.len() {
            let cluster = self.active[place];
            if cluster == low {
                continue;
            }
            let (from_low, from_high) =
                (self.distances.get(cluster, low), self.distances.get(cluster, high));
            let mean = (self.sizes[low] * from_low + self.sizes[high] * from_high) / total;
            self.distances.set(cluster, low, mean);
            match self.nearest[cluster] {
                Some((other, _)) if other == low || other == high => stale.push(cluster),
                Some((_, least)) if cluster < low && mean < least => {
                    self.nearest[cluster] = Some((low, mean));
                }
                None if cluster < low => self.nearest[cluster] = Some((low, mean)),
                _ => {}
            }
        }
        self.sizes[low] = total;
        stale.into_iter().for_each(|cluster| self.update(cluster));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::linkage::average_linkage;
    use cuesta_core::random::Stream;

    #[test]
    fn trees_of_the_chain_pass_and_changed_ones_do_not() {
        let budget = Budget::new(1 << 24);
        for seed in 0..20 {
            let stream = Stream::new(seed, 0);
            let count = 2 + stream.below(0, 30) as usize;
            // Few different distances, so that there are ties.
            let pairs = (0..(count * (count - 1) / 2) as u64)
                .map(|place| (1.0 + stream.below(1 + place, 9) as f64) / 10.0);
            let distances: Triangle<'_, f64> = Triangle::from_pairs(count, pairs, &budget).unwrap();
            let mut work: Triangle<'_, f64> =
                Triangle::from_pairs(count, distances.values().iter().copied(), &budget).unwrap();
            let tree = average_linkage(&mut work).unwrap();
            assert_eq!(fault(&tree, &distances, &budget).unwrap(), None);
            let mut higher = tree.clone();
            let last = higher.heights.len() - 1;
            higher.heights[last] += 1e-6;
            assert!(fault(&higher, &distances, &budget).unwrap().is_some());
            let mut shorter = tree.clone();
            shorter.merges.pop();
            shorter.heights.pop();
            assert!(fault(&shorter, &distances, &budget).unwrap().is_some());
            let mut repeated = tree.clone();
            repeated.merges[last] = repeated.merges[0];
            assert!(last == 0 || fault(&repeated, &distances, &budget).unwrap().is_some());
        }
    }
}
