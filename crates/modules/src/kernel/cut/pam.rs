//! Assignment of the genes that the branches leave out to the nearest cluster.

use super::branches::{Branch, Branches, NONE};
use crate::kernel::triangle::{StoredNumber, Triangle};
use crate::params::CutParams;

/// Clusters as they are before the assignment.
struct Targets<'a, 'b, T> {
    distances: &'a Triangle<'b, T>,
    /// Genes of each cluster, ascending.
    members: Vec<Vec<u32>>,
    /// Largest mean distance of a member to the others.
    diameters: Vec<f64>,
    /// Distance at which a gene is assigned at any rate.
    most: f64,
}

/// Assigns genes without a label; `clusters` are the branches of the labels from 1.
pub(super) fn assign<T: StoredNumber>(
    branches: &Branches,
    clusters: &[Branch],
    distances: &Triangle<'_, T>,
    (params, most): (&CutParams, f64),
    labels: &mut [u32],
) {
    let targets = Targets::new(labels, clusters.len(), distances, most);
    let mut candidates = Candidates::new(branches, clusters, params.pam_respects_dendro);
    let mut is_barred = vec![false; labels.len()];
    if params.respect_small_clusters {
        for group in small_groups(branches, labels) {
            let labels_near = candidates.of_gene(group[0] as usize);
            if labels_near.is_empty() {
                continue;
            }
            let label = targets.nearest(&group, labels_near);
            for &gene in &group {
                labels[gene as usize] = label.unwrap_or(0);
                is_barred[gene as usize] = label.is_none();
            }
        }
    }
    for gene in 0..labels.len() {
        if labels[gene] == 0 && !is_barred[gene] {
            let labels_near = candidates.of_gene(gene);
            labels[gene] = targets.nearest(&[gene as u32], labels_near).unwrap_or(0);
        }
    }
}

/// Returns the genes of each branch that was absorbed for its size alone, without those of
/// clusters and of later branches, ascending.
fn small_groups(branches: &Branches, labels: &[u32]) -> Vec<Vec<u32>> {
    let mut group_of = vec![NONE; labels.len()];
    for branch in 0..branches.count() as Branch {
        if branches.is_only_small(branch) {
            for &gene in branches.singletons(branch) {
                group_of[gene as usize] = branch;
            }
        }
    }
    let mut groups = vec![Vec::new(); branches.count()];
    for (gene, &group) in group_of.iter().enumerate() {
        if group != NONE && labels[gene] == 0 {
            groups[group as usize].push(gene as u32);
        }
    }
    groups.retain(|group| !group.is_empty());
    groups
}

/// Labels to which a gene may be assigned, by its branch.
struct Candidates<'a> {
    branches: &'a Branches,
    clusters: &'a [Branch],
    respects_dendro: bool,
    last: Option<(Branch, Vec<u32>)>,
}

impl<'a> Candidates<'a> {
    fn new(branches: &'a Branches, clusters: &'a [Branch], respects_dendro: bool) -> Self {
        Self { branches, clusters, respects_dendro, last: None }
    }

    /// Returns labels, ascending.
    fn of_gene(&mut self, gene: usize) -> &[u32] {
        let branch = self.branches.of_gene(gene);
        let is_same = self.last.as_ref().is_some_and(|(last, _)| *last == branch);
        if !is_same {
            self.last = Some((branch, self.of_branch(branch)));
        }
        self.last.as_ref().map_or(&[], |(_, labels)| labels)
    }

    fn of_branch(&self, branch: Branch) -> Vec<u32> {
        if !self.respects_dendro {
            return (1..=self.clusters.len() as u32).collect();
        }
        if branch == NONE {
            return Vec::new();
        }
        let label = |basic: &Branch| self.clusters.binary_search(basic).ok().map(|i| i as u32 + 1);
        let mut labels: Vec<u32> = self.branches.basics(branch).iter().filter_map(label).collect();
        labels.sort_unstable();
        labels
    }
}

impl<'a, 'b, T: StoredNumber> Targets<'a, 'b, T> {
    fn new(labels: &[u32], count: usize, distances: &'a Triangle<'b, T>, most: f64) -> Self {
        let mut members = vec![Vec::new(); count];
        for (gene, &label) in labels.iter().enumerate() {
            if label > 0 {
                members[label as usize - 1].push(gene as u32);
            }
        }
        let diameters = members.iter().map(|members| diameter(members, distances)).collect();
        Self { distances, members, diameters, most }
    }

    /// Returns the nearest of some clusters, if genes are near enough on average.
    fn nearest(&self, genes: &[u32], labels: &[u32]) -> Option<u32> {
        let mut best: Option<(u32, f64)> = None;
        for &label in labels {
            let mean = self.mean(genes, &self.members[label as usize - 1]);
            if best.is_none_or(|(_, least)| mean < least) {
                best = Some((label, mean));
            }
        }
        let (label, mean) = best?;
        let is_near = mean < self.diameters[label as usize - 1] || mean < self.most;
        is_near.then_some(label)
    }

    fn mean(&self, genes: &[u32], members: &[u32]) -> f64 {
        let mut sum = 0.0;
        for &gene in genes {
            for &member in members {
                sum += self.distances.get(gene as usize, member as usize);
            }
        }
        sum / (genes.len() * members.len()) as f64
    }
}

fn diameter<T: StoredNumber>(members: &[u32], distances: &Triangle<'_, T>) -> f64 {
    let mut sums = vec![0.0; members.len()];
    for (place, &gene) in members.iter().enumerate() {
        for (other, &partner) in members[..place].iter().enumerate() {
            let distance = distances.get(gene as usize, partner as usize);
            sums[place] += distance;
            sums[other] += distance;
        }
    }
    let partners = members.len().saturating_sub(1).max(1) as f64;
    sums.iter().fold(0.0_f64, |most, sum| most.max(sum / partners))
}
