//! Pairs that an answer of `correlate` must have: those of a threshold, or the strongest ones.

use std::path::PathBuf;

use cuesta_core::Result;
use cuesta_core::fixed::{Micro, lower_bound};
use cuesta_core::job::Context;
use cuesta_input::pair_matrix::{Need, rank_of};

use super::rows::RowScan;
use super::wanted::Wanted;
use crate::params::CorrelateParams;

/// Distance of a score from the true value, in millionths, up to which the answer's rounding is
/// accepted: the order of a sum may decide how a score near half a millionth is rounded.
const ROUNDING: f64 = 0.5 + 1e-3;

/// Smallest absolute score of a pair that the answer must have.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WeakestPair {
    /// In millionths.
    least: Micro,
    /// Rank of the last pair of this score; pairs behind it must have a larger one.
    last: Option<u64>,
}

impl WeakestPair {
    /// Returns the cut of an answer with `count` rows. Where it has all pairs that `--top` allows,
    /// that is the place of its weakest pair: no other one may be stronger.
    ///
    /// # Errors
    /// Errors of reading the answer.
    pub fn of(
        context: &Context<'_>,
        params: &CorrelateParams,
        (answer, count): (&[PathBuf; 1], u64),
    ) -> Result<Self> {
        let threshold = Self { least: lower_bound(params.min_abs_score), last: None };
        if params.top != Some(count) {
            return Ok(threshold);
        }
        let rows = RowScan {
            paths: answer,
            wanted: Wanted::answer(),
            need: Need::Edge,
            threads: context.request.threads,
            progress: context.progress,
        };
        let weaker = |left: (Micro, u64), right: (Micro, u64)| match left.0.cmp(&right.0) {
            std::cmp::Ordering::Less => left,
            std::cmp::Ordering::Greater => right,
            std::cmp::Ordering::Equal => left.max(right),
        };
        let none = (Micro::MAX, 0);
        let parts = rows.each(
            || none,
            |weakest, written| {
                let row = &written.row;
                let size = row.scores.first().map_or(0, |score| score.saturating_abs());
                *weakest = weaker(*weakest, (size, rank_of(row.gene1, row.gene2)));
                Ok(())
            },
        )?;
        let (least, last) = parts.into_iter().fold(none, weaker);
        Ok(if least < threshold.least { threshold } else { Self { least, last: Some(last) } })
    }

    /// Returns the smallest absolute score of an answer with all pairs that `--top` allows, in
    /// millionths.
    pub fn of_weakest(&self) -> Option<u64> {
        self.last.map(|_| self.least.unsigned_abs().into())
    }

    /// Returns the score that the answer must have for the pair of a rank, in millionths, if any;
    /// if rounding may go either way, the score of the answer is accepted.
    #[inline(always)]
    pub fn expected(&self, rank: u64, exact: f64, answer_score: Option<Micro>) -> Option<Micro> {
        let least = self.least + Micro::from(self.last.is_some_and(|last| rank > last));
        match answer_score {
            Some(micro) if (f64::from(micro) - exact).abs() <= ROUNDING => {
                (micro.abs() >= least).then_some(micro)
            }
            None if exact.abs() - f64::from(least) < -0.5 + 1e-3 => None,
            _ => Some(exact.round_ties_even() as Micro).filter(|micro| micro.abs() >= least),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_behind_the_cut_must_be_stronger() {
        let cut = WeakestPair { least: 500, last: Some(7) };
        for (rank, exact, answer, expected) in [
            (7, 500.2, Some(500), Some(500)),
            (7, 500.2, None, Some(500)),
            (8, 500.2, None, None),
            (8, -500.7, None, Some(-501)),
            (3, 499.8, None, Some(500)),
            // Rounding may go either way.
            (3, 499.5005, None, None),
            (8, 500.5005, None, None),
            (3, 499.0, Some(500), None),
        ] {
            assert_eq!(cut.expected(rank, exact, answer), expected, "{rank} {exact} {answer:?}");
        }
    }
}
