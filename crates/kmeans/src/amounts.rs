//! Amounts of progress of the steps of a run, in bytes of the input, so that the total is known
//! before the first step.

use std::ops::Range;

use cuesta_core::job::Request;
use cuesta_core::progress::Progress;
use cuesta_core::{Error, Result};
use cuesta_input::points;
use cuesta_input::storage;

use crate::params::{Init, KMeansParams};

/// Progress of a pass over all points, and the number of points.
#[derive(Clone, Copy, Debug, Default)]
pub struct Pass {
    /// Amount of the complete pass.
    pub amount: u64,
    /// Number of points.
    pub points: u64,
}

impl Pass {
    /// Returns the amount of a range of the points; the amounts of disjoint ranges add up to that
    /// of all.
    pub fn of(&self, range: Range<u64>) -> u64 {
        let to = |point: u64| u128::from(self.amount) * u128::from(point);
        let points = u128::from(self.points.max(1));
        (to(range.end) / points - to(range.start) / points) as u64
    }
}

/// Announces the steps of a run or of a verification, except the conversion of text; returns the
/// amount of a pass.
///
/// # Errors
/// `Input` if there is no file; `System`.
pub fn announce(request: &Request, params: &KMeansParams, progress: &Progress) -> Result<u64> {
    let mut pass = 0;
    for file in points::list(&request.inputs)? {
        let facts = storage::metadata(&file)
            .map_err(|cause| Error::system("input.points", "reading", &file, &cause))?;
        pass += facts.size_bytes;
    }
    let seed = if draws(params) { pass } else { 0 };
    // A pass for the largest coordinates before the iterations, and one after them.
    let passes = pass.saturating_mul(u64::from(params.iterations) + 2);
    progress.expect(passes.saturating_add(seed));
    Ok(pass)
}

/// Whether the first centres are drawn, which takes a pass.
pub fn draws(params: &KMeansParams) -> bool {
    params.centres.is_none() && params.init == Init::PlusPlus
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_add_up_to_the_total() {
        let pass = Pass { amount: 1003, points: 17 };
        let parts = [0..3, 3..4, 4..16, 16..17].map(|range| pass.of(range));
        assert_eq!(parts.iter().sum::<u64>(), 1003);
        assert_eq!(Pass::default().of(0..5), 0);
    }
}
