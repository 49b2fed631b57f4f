//! Selection of the rows of a verification: those that pass the filter of `spec/workloads`,
//! implemented here a second time, and of these the sampled ones.

use cuesta_core::digest::mix;
use cuesta_core::fingerprint::Key;
use cuesta_core::fixed::NAN;
use cuesta_core::job::{SAMPLE_GROUP_SIZE, VerificationLevel};
use cuesta_input::FilterParams;
use cuesta_input::limits::{CLUSTERS_MAX, GENES_MAX};
use cuesta_input::row::Row;

/// Selection of rows.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wanted {
    filter: Option<Passing>,
    /// Salt of the sample of gene pairs; `None` selects all pairs.
    salt: Option<u64>,
    /// Whether a line without a row is a fault, as in an answer.
    pub rows_only: bool,
}

/// Filter in the units of the text.
#[derive(Clone, Copy, Debug)]
struct Passing {
    /// Minimum and maximum |score|, in millionths.
    least: i64,
    most: i64,
    score_index: usize,
    min_cluster_samples: u32,
    max_missing: u32,
}

impl Wanted {
    /// Selects rows that pass the filter.
    pub fn passing(filter: &FilterParams) -> Self {
        let most = |score: f64| (score * 1e6 + 1e-6).floor() as i64;
        let passing = Passing {
            least: (filter.min_abs_score * 1e6 - 1e-6).ceil() as i64,
            most: filter.max_abs_score.map_or(i64::MAX, most),
            score_index: filter.score_index,
            min_cluster_samples: filter.min_cluster_samples,
            max_missing: filter.max_missing.unwrap_or(u32::MAX),
        };
        Self { filter: Some(passing), ..Self::default() }
    }

    /// Selects all rows of an answer, which has nothing but rows.
    pub fn answer() -> Self {
        Self { rows_only: true, ..Self::default() }
    }

    /// Adds the sample at the level `sample`: one pair of genes in [`SAMPLE_GROUP_SIZE`], selected
    /// by the key.
    #[must_use]
    pub fn at(self, level: VerificationLevel, key: &Key) -> Self {
        Self { salt: (level == VerificationLevel::Sample).then(|| key.salt()), ..self }
    }

    /// Whether only a sample of gene pairs is selected.
    #[inline(always)]
    pub fn samples(&self) -> bool {
        self.salt.is_some()
    }

    /// Whether a pair of genes is selected.
    #[inline(always)]
    pub fn sampled(&self, gene1: u32, gene2: u32) -> bool {
        self.salt.is_none_or(|salt| {
            let pair = u64::from(gene1) << 32 | u64::from(gene2);
            mix(mix(pair ^ salt).wrapping_add(salt)).is_multiple_of(SAMPLE_GROUP_SIZE)
        })
    }

    /// Whether a gene is selected, for work gene by gene.
    pub fn sampled_gene(&self, gene: u32) -> bool {
        self.sampled(gene, 0)
    }

    /// Whether a row passes the filter.
    #[inline(always)]
    pub fn passes(&self, row: &Row<'_>) -> bool {
        let Some(filter) = &self.filter else { return true };
        let Some(&score) = row.scores.get(filter.score_index) else { return false };
        let size = i64::from(score).abs();
        score != NAN
            && size >= filter.least
            && size <= filter.most
            && row.cluster_samples >= filter.min_cluster_samples
            && row.missing <= filter.max_missing
    }

    /// Returns the score that the filter tests.
    #[inline(always)]
    pub fn score(&self, row: &Row<'_>) -> i32 {
        let index = self.filter.map_or(0, |filter| filter.score_index);
        row.scores.get(index).copied().unwrap_or(NAN)
    }

    /// Whether the filter tests only genes, cluster and first score.
    pub fn needs_edges_only(&self) -> bool {
        self.filter.is_some_and(|filter| {
            filter.score_index == 0
                && filter.min_cluster_samples == 0
                && filter.max_missing == u32::MAX
        })
    }
}

/// Checks that a selected row is possible.
///
/// # Errors
/// A sentence continuing "line N of FILE ...".
#[inline(always)]
pub fn check_pair(row: &Row<'_>) -> Result<(), String> {
    let cluster = (1..=CLUSTERS_MAX).contains(&row.cluster);
    if row.gene2 >= 1 && row.gene1 > row.gene2 && row.gene1 <= GENES_MAX && cluster {
        return Ok(());
    }
    let (gene1, gene2, cluster) = (row.gene1, row.gene2, row.cluster);
    Err(format!("has gene pair {gene1} {gene2} cluster {cluster}, which cannot be"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reference::PlainRow;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_filter_is_that_of_the_reference(
            micro in prop_oneof![Just(NAN), -1_000_001i32..=1_000_001],
            least in prop_oneof![Just(0.0), Just(0.8), Just(0.300_000_000_5), 0.0..1.0f64],
            width in proptest::option::of(0.0..1.0f64),
            (cluster_samples, missing, score_index) in (0u32..4, 0u32..4, 0usize..3),
            (min_cluster_samples, max_missing) in (0u32..4, proptest::option::of(0u32..4)),
        ) {
            let numbers = [7, 3, 1, 1, cluster_samples, missing, 0, 0, 0];
            let plain = PlainRow { numbers, scores: vec![5, micro], mask: String::new() };
            let filter = FilterParams {
                min_abs_score: least,
                max_abs_score: width.map(|width| least + width),
                score_index,
                min_cluster_samples,
                max_missing,
            };
            let wanted = Wanted::passing(&filter);
            let expected = plain.passing_score(&filter);
            prop_assert_eq!(wanted.passes(&plain.row()), expected.is_some());
            if let Some(score) = expected {
                prop_assert_eq!(wanted.score(&plain.row()), score);
            }
        }
    }

    #[test]
    fn about_a_sixteenth_of_the_pairs_is_sampled_and_keys_select_different_pairs() {
        let chosen = |key: &Key| -> Vec<u32> {
            let wanted = Wanted::answer().at(VerificationLevel::Sample, key);
            (2..10_000).filter(|&gene1| wanted.sampled(gene1, 1)).collect()
        };
        let (first, second) = (chosen(&Key::of_seed(1)), chosen(&Key::of_seed(2)));
        assert!((500..750).contains(&first.len()), "{}", first.len());
        assert_ne!(first, second);
        assert!(!Wanted::answer().at(VerificationLevel::Full, &Key::of_seed(1)).samples());
    }
}
