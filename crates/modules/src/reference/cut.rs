//! Dynamic hybrid cut on a square of distances, in the words of its definition.

use super::Square;
use crate::kernel::linkage::Tree;
use crate::params::CutParams;

/// Branch of the tree: basic, of genes, or composite, of basic branches.
#[derive(Clone, Default)]
struct Branch {
    is_basic: bool,
    genes: Vec<usize>,
    parts: Vec<usize>,
    size: usize,
    end: Option<f64>,
    is_absorbed: bool,
    is_only_small: bool,
}

struct Cut<'a> {
    distances: &'a Square,
    min_size: usize,
    cut: f64,
    scatter: f64,
    gap: f64,
    split: f64,
    branches: Vec<Branch>,
}

/// Returns the module of each gene from 1, or 0. `params` must name scatter and gap, must respect
/// the tree, and must leave out a largest distance for the assignment and all absolute heights.
pub fn cut_tree(tree: &Tree, distances: &Square, params: &CutParams) -> Vec<u32> {
    let heights = &tree.heights;
    let number = ((0.05 * heights.len() as f64).round_ties_even() as usize).max(1);
    let (low, high) = (heights[number - 1], heights[heights.len() - 1]);
    let most = params.cut_height.unwrap_or(low + 0.99 * (high - low)).min(high);
    let (scatter, gap) = (params.max_core_scatter.unwrap_or(0.0), params.min_gap.unwrap_or(0.0));
    let mut cut = Cut {
        distances,
        min_size: params.min_cluster_size,
        cut: most,
        scatter: low + scatter * (most - low),
        gap: gap * (most - low),
        split: low + params.min_split_height * (most - low),
        branches: Vec::new(),
    };
    let mut on = vec![None; distances.len()];
    let mut of_merge = Vec::new();
    for (merge, &height) in tree.merges.iter().zip(heights).filter(|(_, h)| **h <= most) {
        let branch = cut.merge(*merge, height, &mut on, &of_merge);
        of_merge.push(branch);
    }
    let clusters: Vec<usize> = (0..cut.branches.len()).filter(|&b| cut.is_cluster(b)).collect();
    if of_merge.len() < params.min_cluster_size || clusters.is_empty() {
        return vec![0; distances.len()];
    }
    let mut labels = vec![0; distances.len()];
    for (label, &branch) in (1..).zip(&clusters) {
        cut.branches[branch].genes.iter().for_each(|&gene| labels[gene] = label);
    }
    if params.pam_stage {
        labels = cut.assign(&labels, &clusters, &on, params.respect_small_clusters);
    }
    super::by_size(&labels)
}

impl Cut<'_> {
    fn merge(
        &mut self,
        merge: [i32; 2],
        height: f64,
        on: &mut [Option<usize>],
        of_merge: &[usize],
    ) -> usize {
        let branch_of = |node: i32| (node > 0).then(|| of_merge[node as usize - 1]);
        let genes = merge.iter().filter(|node| **node < 0).map(|node| (-node) as usize - 1);
        match (branch_of(merge[0]), branch_of(merge[1])) {
            (Some(a), Some(b)) => {
                let is_first_large = self.branches[a].size > self.branches[b].size;
                let pair = if is_first_large { (b, a) } else { (a, b) };
                self.meet(pair, height, on)
            }
            (None, None) => {
                self.branches.push(Branch { is_basic: true, ..Branch::default() });
                let branch = self.branches.len() - 1;
                genes.for_each(|gene| self.add(branch, gene, on));
                branch
            }
            (a, b) => {
                let branch = a.or(b).unwrap_or_default();
                genes.for_each(|gene| self.add(branch, gene, on));
                branch
            }
        }
    }

    fn add(&mut self, branch: usize, gene: usize, on: &mut [Option<usize>]) {
        on[gene] = Some(branch);
        self.branches[branch].size += 1;
        if self.branches[branch].is_basic {
            self.branches[branch].genes.push(gene);
        }
    }

    /// Joins two branches; with as many composites as joins, as where assignment respects the tree.
    fn meet(
        &mut self,
        (small, large): (usize, usize),
        height: f64,
        on: &mut [Option<usize>],
    ) -> usize {
        self.branches[small].end = Some(height);
        self.branches[large].end = Some(height);
        for (guest, host) in [(small, large), (large, small)] {
            let branch = &self.branches[guest];
            let scatter = self.core_scatter(&branch.genes);
            let is_loose = scatter > self.scatter || height - scatter < self.gap;
            let is_early = height < self.split;
            if branch.is_basic && (is_loose || is_early || branch.size < self.min_size) {
                let genes = branch.genes.clone();
                self.branches[guest].is_absorbed = true;
                self.branches[guest].is_only_small = !is_loose;
                genes.into_iter().for_each(|gene| self.add(host, gene, on));
                self.branches[host].end = None;
                return host;
            }
        }
        let parts = [large, small].iter().flat_map(|&b| self.basics(b)).collect();
        let size = self.branches[small].size + self.branches[large].size;
        self.branches.push(Branch { parts, size, ..Branch::default() });
        self.branches.len() - 1
    }

    fn basics(&self, branch: usize) -> Vec<usize> {
        let Branch { is_basic, parts, .. } = &self.branches[branch];
        if *is_basic { vec![branch] } else { parts.clone() }
    }

    fn mean<'p>(&self, pairs: impl Iterator<Item = (&'p usize, &'p usize)>) -> f64 {
        let distances: Vec<f64> =
            pairs.filter(|(a, b)| a != b).map(|(a, b)| self.distances[*a][*b]).collect();
        distances.iter().sum::<f64>() / distances.len().max(1) as f64
    }

    fn core_scatter(&self, genes: &[usize]) -> f64 {
        let (size, base) = (genes.len() as f64, self.min_size as f64 / 2.0 + 1.0);
        let count = if base < size { (base + (size - base).sqrt()).floor() } else { size };
        let core = &genes[..count as usize];
        self.mean(core.iter().flat_map(|a| core.iter().map(move |b| (a, b))))
    }

    fn is_cluster(&self, branch: usize) -> bool {
        let branch = &self.branches[branch];
        let scatter = self.core_scatter(&branch.genes);
        branch.is_basic
            && !branch.is_absorbed
            && branch.size >= self.min_size
            && scatter < self.scatter
            && branch.end.unwrap_or(self.cut) - scatter > self.gap
    }

    fn assign(
        &self,
        labels: &[u32],
        clusters: &[usize],
        on: &[Option<usize>],
        groups_first: bool,
    ) -> Vec<u32> {
        let members = |label: u32| -> Vec<usize> {
            (0..labels.len()).filter(|&gene| labels[gene] == label).collect()
        };
        let nearest = |genes: &[usize]| -> Option<Option<u32>> {
            let below = self.basics(on[genes[0]]?);
            let distance = |label: u32| {
                let members = members(label);
                self.mean(genes.iter().flat_map(|a| members.iter().map(move |b| (a, b))))
            };
            let candidates = (1..).zip(clusters).filter(|(_, cluster)| below.contains(cluster));
            let best = candidates
                .map(|(label, _)| (distance(label), label))
                .min_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)))?;
            let members = members(best.1);
            let reach = members.iter().map(|a| self.mean(members.iter().map(|b| (a, b))));
            let is_near = best.0 < reach.fold(0.0, f64::max) || best.0 < self.cut;
            Some(is_near.then_some(best.1))
        };
        let mut assigned: Vec<Option<u32>> =
            labels.iter().map(|&label| (label > 0).then_some(label)).collect();
        if groups_first {
            let group = |gene: usize| {
                let small = |b: &usize| {
                    self.branches[*b].is_only_small && self.branches[*b].genes.contains(&gene)
                };
                (0..self.branches.len()).rev().find(small).filter(|_| labels[gene] == 0)
            };
            for number in 0..self.branches.len() {
                let genes: Vec<usize> =
                    (0..labels.len()).filter(|&gene| group(gene) == Some(number)).collect();
                if let Some(label) = genes.first().and_then(|_| nearest(&genes)) {
                    genes.iter().for_each(|&gene| assigned[gene] = Some(label.unwrap_or(0)));
                }
            }
        }
        let alone = |gene: usize| nearest(&[gene]).flatten().unwrap_or(0);
        (0..labels.len()).map(|gene| assigned[gene].unwrap_or_else(|| alone(gene))).collect()
    }
}
