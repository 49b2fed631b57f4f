//! `correlate`: correlation of all pairs of genes of an expression matrix.
//!
//! For pairs of genes without missing values, a blocked matrix product in single precision
//! (`dense`) selects candidates; its error is bounded, so no pair is lost, and candidates are
//! computed again with the accuracy of double precision. For pairs with missing values, sums or
//! ranks are computed over the samples that both genes have (`masked`). Either way the score of a
//! pair is one fixed sequence of IEEE operations: the same on all processors, for any number of
//! threads and any division into bands.
//!
//! Cost for n genes and S samples: n(n-1)/2 x 2S floating-point operations at the rate of a matrix
//! product, and about 2S in double precision for each candidate.

mod aligned;
mod band;
mod complete;
mod dense;
mod forms;
mod gaps;
mod masked;
mod params;
mod prepare;
mod rank;
mod reference;
mod share;
mod simd;
mod sparse;
mod strongest;
mod vector;

pub use band::{Counts, Match, Scratch, band, bands};
pub use forms::PreparedGenes;
pub use params::{CorrelationMethod, Params, SAMPLES_MAX};
pub use prepare::Prepared;
pub use reference::{reference, score};
pub use simd::Isa;
pub use sparse::SparsePrepared;
pub use strongest::StrongestPairs;

/// Returns the correlation from sums of squares and products; at most 1 in absolute value.
fn coefficient(xx: f64, xy: f64, yy: f64) -> f64 {
    (xy / (xx * yy).sqrt()).clamp(-1.0, 1.0)
}

#[cfg(test)]
mod tests;
