//! Branches of a tree as its merges make them, from the lowest.

use super::Limits;
use crate::kernel::triangle::{StoredNumber, Triangle};

/// Branch of the tree, or none yet.
pub(super) type Branch = u32;

/// Branch of a gene that has none.
pub(super) const NONE: Branch = u32::MAX;

#[derive(Debug)]
enum Kind {
    /// A branch of genes, in the order of joining.
    Basic(Vec<u32>),
    /// A branch of basic branches.
    Composite(Vec<Branch>),
}

#[derive(Debug)]
struct Node {
    kind: Kind,
    size: usize,
    is_top: bool,
    /// Height at which another branch or the cut ends it.
    attach_height: Option<f64>,
    /// Whether it was absorbed for its size alone.
    is_only_small: bool,
}

/// All branches, numbered in the order of creation.
#[derive(Debug)]
pub(super) struct Branches {
    limits: Limits,
    respects_dendro: bool,
    nodes: Vec<Node>,
    /// Branch of each merge.
    of_merge: Vec<Branch>,
    /// Branch of each gene.
    of_gene: Vec<Branch>,
}

impl Branches {
    pub fn new(genes: usize, limits: Limits, respects_dendro: bool) -> Self {
        let of_gene = vec![NONE; genes];
        Self { limits, respects_dendro, nodes: Vec::new(), of_merge: Vec::new(), of_gene }
    }

    /// Number of branches.
    pub fn count(&self) -> usize {
        self.nodes.len()
    }

    /// Returns the branch of a gene, or [`NONE`].
    pub fn of_gene(&self, gene: usize) -> Branch {
        self.of_gene[gene]
    }

    /// Whether a branch was absorbed for its size alone.
    pub fn is_only_small(&self, branch: Branch) -> bool {
        self.nodes[branch as usize].is_only_small
    }

    /// Returns the genes of a basic branch in the order of joining; none of a composite.
    pub fn singletons(&self, branch: Branch) -> &[u32] {
        match &self.nodes[branch as usize].kind {
            Kind::Basic(singletons) => singletons,
            Kind::Composite(_) => &[],
        }
    }

    /// Returns the basic branches of a branch.
    pub fn basics(&self, branch: Branch) -> Vec<Branch> {
        match &self.nodes[branch as usize].kind {
            Kind::Basic(_) => vec![branch],
            Kind::Composite(basics) => basics.clone(),
        }
    }

    /// Follows the next merge of the tree.
    pub fn merge<T: StoredNumber>(
        &mut self,
        merge: [i32; 2],
        height: f64,
        distances: &Triangle<'_, T>,
    ) {
        let branch = match merge.map(usize::try_from) {
            [Err(_), Err(_)] => {
                let genes = merge.map(|leaf| leaf.unsigned_abs() - 1);
                let branch = self.create(Kind::Basic(Vec::new()), 0);
                genes.iter().for_each(|&gene| self.append(branch, gene));
                branch
            }
            [Ok(cluster), Err(_)] => self.join_gene(cluster, merge[1]),
            [Err(_), Ok(cluster)] => self.join_gene(cluster, merge[0]),
            [Ok(a), Ok(b)] => {
                let (a, b) = (self.of_merge[a - 1], self.of_merge[b - 1]);
                let first_is_large = self.size(a) > self.size(b);
                let (small, large) = if first_is_large { (b, a) } else { (a, b) };
                self.join(small, large, height, distances)
            }
        };
        self.of_merge.push(branch);
    }

    fn create(&mut self, kind: Kind, size: usize) -> Branch {
        let (is_top, attach_height, is_only_small) = (true, None, false);
        self.nodes.push(Node { kind, size, is_top, attach_height, is_only_small });
        self.nodes.len() as Branch - 1
    }

    fn size(&self, branch: Branch) -> usize {
        self.nodes[branch as usize].size
    }

    fn join_gene(&mut self, cluster: usize, leaf: i32) -> Branch {
        let branch = self.of_merge[cluster - 1];
        self.append(branch, leaf.unsigned_abs() - 1);
        branch
    }

    fn append(&mut self, branch: Branch, gene: u32) {
        let node = &mut self.nodes[branch as usize];
        node.size += 1;
        if let Kind::Basic(singletons) = &mut node.kind {
            singletons.push(gene);
        }
        self.of_gene[gene as usize] = branch;
    }

    fn join<T: StoredNumber>(
        &mut self,
        small: Branch,
        large: Branch,
        height: f64,
        distances: &Triangle<'_, T>,
    ) -> Branch {
        for (guest, host) in [(small, large), (large, small)] {
            if let Some(is_only_small) = self.failure(guest, height, distances) {
                self.absorb(guest, host, height);
                self.nodes[guest as usize].is_only_small = is_only_small;
                return host;
            }
        }
        for branch in [small, large] {
            self.nodes[branch as usize].attach_height = Some(height);
        }
        let mut basics = self.basics(large);
        basics.extend(self.basics(small));
        let size = self.size(small) + self.size(large);
        let host = [large, small]
            .into_iter()
            .find(|&branch| matches!(self.nodes[branch as usize].kind, Kind::Composite(_)));
        match host {
            Some(host) if !self.respects_dendro => {
                let node = &mut self.nodes[host as usize];
                (node.kind, node.size) = (Kind::Composite(basics), size);
                host
            }
            _ => self.create(Kind::Composite(basics), size),
        }
    }

    /// Whether a basic branch is no cluster where it meets another at a height; if so, whether its
    /// size alone is the reason.
    fn failure<T: StoredNumber>(
        &self,
        branch: Branch,
        height: f64,
        distances: &Triangle<'_, T>,
    ) -> Option<bool> {
        let Kind::Basic(singletons) = &self.nodes[branch as usize].kind else { return None };
        let scatter = self.scatter(singletons, distances);
        let loose = scatter > self.limits.scatter || height - scatter < self.limits.gap;
        let fails = loose || singletons.len() < self.limits.size || height < self.limits.split;
        fails.then_some(!loose)
    }

    /// Moves the genes of a basic branch to another branch.
    fn absorb(&mut self, guest: Branch, host: Branch, height: f64) {
        let guest_node = &mut self.nodes[guest as usize];
        guest_node.attach_height = Some(height);
        guest_node.is_top = false;
        let genes = self.singletons(guest).to_vec();
        genes.iter().for_each(|&gene| self.append(host, gene));
    }

    /// Returns the mean distance within the core of a branch: of its first genes.
    fn scatter<T: StoredNumber>(&self, singletons: &[u32], distances: &Triangle<'_, T>) -> f64 {
        let core = &singletons[..core_size(singletons.len(), self.limits.size)];
        let (mut sum, mut pairs) = (0.0, 0.0_f64);
        for (place, &gene) in core.iter().enumerate() {
            for &other in &core[..place] {
                sum += distances.get(gene as usize, other as usize);
                pairs += 1.0;
            }
        }
        sum / pairs.max(1.0)
    }

    /// Returns the basic branches that are clusters, in the order of creation.
    pub fn clusters<T: StoredNumber>(&self, distances: &Triangle<'_, T>) -> Vec<Branch> {
        let is_cluster = |branch: &Branch| {
            let node = &self.nodes[*branch as usize];
            let Kind::Basic(singletons) = &node.kind else { return false };
            if !node.is_top || singletons.len() < self.limits.size {
                return false;
            }
            let scatter = self.scatter(singletons, distances);
            let height = node.attach_height.unwrap_or(self.limits.cut);
            scatter < self.limits.scatter && height - scatter > self.limits.gap
        };
        (0..self.nodes.len() as Branch).filter(is_cluster).collect()
    }
}

/// Returns the number of genes of the core of a branch of `size` genes.
pub(crate) fn core_size(size: usize, min_cluster_size: usize) -> usize {
    let base = min_cluster_size as f64 / 2.0 + 1.0;
    if base < size as f64 { (base + (size as f64 - base).sqrt()) as usize } else { size }
}
