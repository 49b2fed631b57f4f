//! Soft networks: the similarity of two genes raised to a power.

use cuesta_core::Result;

use crate::kernel::triangle::{StoredNumber, Triangle};
use crate::params::{NetworkType, check_power};

/// Returns `base` to the power of a whole number, by squaring: the same on each processor.
#[inline(always)]
pub fn integer_power(base: f64, power: u32) -> f64 {
    let (mut result, mut square, mut rest) = (1.0, base, power);
    while rest > 0 {
        if rest & 1 == 1 {
            result *= square;
        }
        square *= square;
        rest >>= 1;
    }
    result
}

/// Returns the similarity of a correlation; 0 for a missing one.
#[inline(always)]
pub fn similarity(network: NetworkType, correlation: f64) -> f64 {
    if correlation.is_nan() {
        return 0.0;
    }
    match network {
        NetworkType::Unsigned => correlation.abs(),
        NetworkType::Signed => (1.0 + correlation) / 2.0,
        NetworkType::SignedHybrid => correlation.max(0.0),
    }
}

/// Adjacency of a soft network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SoftNetwork {
    /// Similarity.
    pub network: NetworkType,
    /// Power, 1 to 30.
    pub power: u32,
    /// Whether adjacencies of an unsigned network have the sign of the correlation, as the signed
    /// overlap needs them.
    pub keeps_sign: bool,
}

impl SoftNetwork {
    /// Returns the adjacency of a correlation; 0 for a missing one.
    #[inline(always)]
    pub fn adjacency(self, correlation: f64) -> f64 {
        let size = integer_power(similarity(self.network, correlation), self.power);
        let is_negative =
            self.keeps_sign && self.network == NetworkType::Unsigned && correlation < 0.0;
        if is_negative { -size } else { size }
    }
}

/// Replaces correlations by adjacencies, on threads.
///
/// # Errors
/// `Input` when the power is out of range.
pub fn soften<T: StoredNumber>(
    correlations: &mut Triangle<'_, T>,
    network: SoftNetwork,
    threads: usize,
) -> Result<()> {
    check_power(network.power)?;
    correlations.map(threads, |correlation| network.adjacency(correlation))
}
