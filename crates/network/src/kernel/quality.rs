//! Qualities of a partition of a weighted network, in integers.

use serde::{Deserialize, Serialize};

use super::weighted_graph::WeightedGraph;

/// Quality that `leiden` optimises.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CommunityQuality {
    /// Modularity: weight within communities beyond that expected from the degrees.
    #[default]
    Modularity,
    /// Constant Potts model: weight within communities beyond the resolution for each pair.
    Cpm,
}

/// Millionths of 1.
const MILLION: u64 = 1_000_000;

/// Maximum number of pairs of genes, each counted in both orders.
const PAIRS_MAX: i128 = 1 << 48;

/// Quality at a resolution: `edge` times the weight within communities, less `pair` times the
/// products of the masses of two vertices in a community. A mass is a degree for modularity, and a
/// number of genes for the constant Potts model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quality {
    kind: CommunityQuality,
    /// Factor of a weight.
    edge: i128,
    /// Factor of a product of masses.
    pair: i128,
    /// Value of the quality whose size is 1.
    divisor: i128,
}

impl Quality {
    /// Makes a quality for a network whose degrees sum up to `total`, and in which `unit` is the
    /// weight 1. The resolution is taken in millionths. `None` if numbers would exceed 128 bits.
    pub fn new(kind: CommunityQuality, resolution: f64, (total, unit): (u64, u64)) -> Option<Self> {
        let millionths = (resolution * MILLION as f64).round() as u64;
        let common = greatest_common_divisor(millionths, MILLION);
        let (over, under) = (i128::from(millionths / common), i128::from(MILLION / common));
        let (total, unit) = (i128::from(total.max(1)), i128::from(unit));
        // No sum of a computation exceeds this one, in millionths.
        let most = match kind {
            CommunityQuality::Modularity => {
                total.checked_mul(total)?.checked_mul(over.max(under))?
            }
            CommunityQuality::Cpm => under * total + over * unit * PAIRS_MAX,
        };
        most.checked_mul(4 * i128::from(MILLION))?;
        Some(match kind {
            CommunityQuality::Modularity => {
                Self { kind, edge: under * total, pair: over, divisor: under * total * total }
            }
            CommunityQuality::Cpm => {
                Self { kind, edge: under, pair: over * unit, divisor: 2 * under * unit }
            }
        })
    }

    /// Returns the gain of a union of two vertices or communities.
    #[inline]
    pub fn gain(&self, weight: u64, mass1: u64, mass2: u64) -> i128 {
        self.edge * i128::from(weight) - self.pair * (i128::from(mass1) * i128::from(mass2))
    }

    /// Returns the quality of a partition of genes in millionths; 0 if it is negative.
    pub fn millionths(&self, genes: &WeightedGraph, labels: &[u32]) -> u64 {
        let twice = 2 * i128::from(MILLION) * self.value(genes, labels);
        ((twice + self.divisor) / (2 * self.divisor)).max(0) as u64
    }

    /// Returns the quality of a partition of genes, by which partitions of a network compare.
    pub fn value(&self, genes: &WeightedGraph, labels: &[u32]) -> i128 {
        let mut inside = vec![0u64; labels.len()];
        let mut masses = vec![0u64; labels.len()];
        // Products of a gene with itself, which only modularity counts.
        let mut self_pairs = 0;
        for (gene, &label) in labels.iter().enumerate() {
            let mass = genes.masses()[gene];
            let within = |edge: &(u32, u64)| labels[edge.0 as usize] == label;
            inside[label as usize] +=
                genes.edges(gene).filter(within).map(|edge| edge.1).sum::<u64>();
            masses[label as usize] += mass;
            if self.kind == CommunityQuality::Cpm {
                self_pairs += self.pair * i128::from(mass) * i128::from(mass);
            }
        }
        let each = |(&inside, &mass): (&u64, &u64)| self.gain(inside, mass, mass);
        inside.iter().zip(&masses).map(each).sum::<i128>() + self_pairs
    }
}

fn greatest_common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}
