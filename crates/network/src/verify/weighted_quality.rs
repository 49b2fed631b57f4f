//! Quality of communities of a weighted network, from their labels.

use super::levels::FlatNetwork;
use crate::params::{CommunitiesParams, CommunityQuality};

/// Factors of a quality: `edge` of the weights within communities, `pair` of products of masses.
#[derive(Clone, Copy, Debug)]
pub struct Factors {
    edge: i128,
    pair: i128,
    kind: CommunityQuality,
    unit: i128,
}

impl Factors {
    /// Returns the factors for a network whose degrees sum up to `total`.
    pub fn of(params: &CommunitiesParams, total: u64) -> Self {
        let (mut over, mut under) = ((params.resolution * 1e6).round() as i128, 1_000_000);
        for prime in [2, 5] {
            while over % prime == 0 && under % prime == 0 {
                (over, under) = (over / prime, under / prime);
            }
        }
        let unit = i128::from(params.weights.unit());
        let (edge, pair) = match params.quality {
            CommunityQuality::Modularity => (under * i128::from(total.max(1)), over),
            CommunityQuality::Cpm => (under, over * unit),
        };
        Self { edge, pair, kind: params.quality, unit }
    }

    /// Returns the gain of a union of two vertices or communities.
    pub fn of_union(&self, weight: u64, masses: (u64, u64)) -> i128 {
        let product = i128::from(masses.0) * i128::from(masses.1);
        i128::from(weight) * self.edge - product * self.pair
    }

    /// Returns what communities gain together, each pair of genes in both orders.
    pub fn twice_gained(&self, genes: FlatNetwork<'_>, labels: &[u32]) -> i128 {
        let cpm = self.kind == CommunityQuality::Cpm;
        let mut masses = vec![0u64; labels.len()];
        let mut within = 0u64;
        for (gene, &label) in labels.iter().enumerate() {
            masses[label as usize] += genes.masses[gene];
            let near = genes.edges(gene).filter(|edge| labels[edge.0 as usize] == label);
            within += near.map(|edge| edge.1).sum::<u64>();
        }
        let pairs = |&mass: &u64| i128::from(mass) * i128::from(mass - u64::from(cpm && mass > 0));
        let expected = masses.iter().map(pairs).sum::<i128>() * self.pair;
        i128::from(within) * self.edge - expected
    }
}

/// Returns the name of the quality as a count, and its value in millionths, 0 if it is negative.
pub fn quality(genes: FlatNetwork<'_>, factors: &Factors, labels: &[u32]) -> (&'static str, u64) {
    let gained = factors.twice_gained(genes, labels);
    let degrees: u64 =
        (0..labels.len()).flat_map(|gene| genes.edges(gene)).map(|edge| edge.1).sum();
    let (name, divisor) = match factors.kind {
        CommunityQuality::Cpm => ("cpm_millionths", 2 * factors.edge * factors.unit),
        CommunityQuality::Modularity => {
            ("modularity_millionths", factors.edge * i128::from(degrees.max(1)))
        }
    };
    (name, (gained * 1_000_000 + divisor / 2).div_euclid(divisor).max(0) as u64)
}
