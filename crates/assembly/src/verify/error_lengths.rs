//! Rules of a profile for errors, written down independently for the verification.

use crate::params::{Plan, Profile};

/// Part of the mean coverage, or of the coverage of the other side, from which on a side of a
/// bubble is retained.
const DEEP: f64 = 0.75;
/// Part of the mean coverage, and the least coverage, from which on a path of an even genome is no
/// error, if no rival is [`FAR_DEEPER`].
pub(super) const REAL_PART: f64 = 0.4;
/// Least coverage of a path with more k-mers than an error makes: half of them twice.
const TWICE_MIN: f64 = 1.5;
const REAL_MIN: f64 = 3.0;
/// Ratio of a rival's coverage by which it makes an error of a path of that coverage.
pub(super) const FAR_DEEPER: f64 = 25.0;
/// The thinnest paths with more k-mers than an error makes are as deep as what the genome has once:
/// the first of these paths by coverage that have at least one in so many of the k-mers.
const THIN_PART: u64 = 10;
/// Times the mean coverage that both sides of a bubble have together if they are two copies.
const TWO_COPIES: f64 = 1.5;

/// Bounds below which paths may be errors: lengths in bases, 0 for none.
#[derive(Clone, Copy, Debug)]
pub struct ErrorLengths {
    /// Length of dead ends with a stronger rival.
    pub(super) tip: u64,
    /// Length of dead ends with a rival of more than twice the coverage.
    pub(super) weak_tip: u64,
    /// Length of paths without links.
    pub(super) island: u64,
    /// Length of both sides of a bubble.
    pub(super) bubble: u64,
    /// Length of connections.
    pub(super) connection: u64,
    /// Ratio by which islands and connections are weaker.
    pub(super) times: f64,
    /// Whether sides of bubbles are compared with the mean of all paths, not with each other.
    pub(super) is_even: bool,
    /// Least length of a path that is too deep for an error.
    pub(super) deep_min: u64,
    /// Bases in a k-mer.
    k: u64,
}

impl ErrorLengths {
    /// Returns the bounds at a size of k-mers; `None` if nothing is removed by rules.
    pub fn of_plan(plan: &Plan, k: usize) -> Option<Self> {
        let bounds = Self::of(plan.options.profile, k)?;
        Some(if plan.is_last(k) { bounds.of_contigs(plan.options.min_contig) } else { bounds })
    }

    /// Returns the bounds of a profile; `None` if it removes nothing by rules.
    fn of(profile: Profile, k: usize) -> Option<Self> {
        let k = k as u64;
        match profile {
            Profile::Default => Some(Self {
                tip: 3 * k,
                weak_tip: 10 * k,
                island: 3 * k,
                bubble: 3 * k + 100,
                connection: 9 * k,
                times: 4.0,
                is_even: true,
                deep_min: 0,
                k,
            }),
            Profile::Metagenome => Some(Self {
                tip: 2 * k,
                weak_tip: 0,
                island: 0,
                bubble: 3 * k + 100,
                connection: 9 * k,
                times: 10.0,
                is_even: false,
                deep_min: 0,
                k,
            }),
            Profile::None => None,
        }
    }

    /// Returns the bounds of the graph that the contigs of at least so many bases are from.
    fn of_contigs(self, min_contig: u64) -> Self {
        Self { deep_min: min_contig, ..self }
    }

    /// Returns whether a path of this length and coverage is too deep for an error.
    pub(super) fn is_deep(&self, (length, coverage): (u64, f64), mean: f64) -> bool {
        self.is_even
            && length >= self.deep_min
            && coverage >= REAL_MIN
            && coverage >= REAL_PART * mean
    }

    /// Returns whether a path of this length and coverage has more k-mers than an error makes, and
    /// is as deep as a part of what the genome has once.
    pub(super) fn is_genome(&self, (length, coverage): (u64, f64), once: f64) -> bool {
        self.is_even
            && length > 2 * self.k - 1
            && coverage >= TWICE_MIN
            && coverage >= REAL_PART * once
    }

    /// Returns whether both sides of a bubble are retained, by the length and the coverage of the
    /// weaker side, and the coverage of the other one.
    pub(super) fn has_both(&self, side: (u64, f64), other: f64, mean: f64) -> bool {
        let (_, weaker) = side;
        let are_copies = self.is_deep(side, mean)
            && other < FAR_DEEPER * weaker
            && weaker + other >= TWO_COPIES * mean;
        are_copies || weaker >= DEEP * if self.is_even { mean } else { other }
    }
}

/// Returns the coverage of what a genome has once, by the numbers of k-mers of all paths and the
/// sums of their counts: the mean of the paths that are about as deep as the last one of the
/// thinnest tenth, those between the same two steps of 1, 1.5, 2, 3, 4, 6, 8 ... `None` without
/// paths of more than k k-mers.
pub(super) fn covered_once(k: u64, paths: impl Iterator<Item = (u64, u64)>) -> Option<f64> {
    let coverage = |&(kmers, count_sum): &(u64, u64)| count_sum as f64 / kmers as f64;
    let mut long: Vec<(u64, u64)> = paths.filter(|&(kmers, _)| kmers > k).collect();
    long.sort_by(|left, right| coverage(left).total_cmp(&coverage(right)));
    let all: u64 = long.iter().map(|&(kmers, _)| kmers).sum();
    let mut thin = 0;
    let last = long.iter().find(|&&(kmers, _)| {
        thin += kmers;
        THIN_PART * thin >= all
    })?;
    // The step below the largest count of a k-mer has no other one after it.
    let steps = (0..16).flat_map(|power| [1.5, 2.0].map(|step| step * f64::from(1 << power)));
    let steps: Vec<f64> = [0.0].into_iter().chain(steps).take(32).collect();
    let step = |path: &(u64, u64)| steps.partition_point(|&step| step <= coverage(path));
    let alike = long.iter().filter(|path| step(path) == step(last));
    let (kmers, count_sum) = alike.fold((0, 0), |sum, path| (sum.0 + path.0, sum.1 + path.1));
    Some(count_sum as f64 / kmers as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::simplify::{PathMeasures, Rules};
    use crate::kernel::single_copy::{CoverageClasses, GraphDepth};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn paths_are_judged_by_the_rules_of_the_kernel(
            (weaker, other, mean) in (0.0f64..200.0, 0.0f64..2000.0, 0.0f64..100.0),
            (length, real_min) in (31usize..300, 0usize..300),
            is_even in any::<bool>(),
        ) {
            let (profile, rules) = match is_even {
                true => (Profile::Default, Rules::for_isolate(31)),
                false => (Profile::Metagenome, Rules::for_metagenome(31)),
            };
            let rules = Rules { real_min, ..rules };
            let bounds = ErrorLengths::of(profile, 31).expect("a profile with rules");
            let bounds = bounds.of_contigs(real_min as u64);
            let other = weaker.max(other);
            let (side, path) =
                ((length as u64, weaker), PathMeasures { length, coverage: weaker });
            let retained = rules.retains_side(path, other, mean);
            prop_assert_eq!(bounds.has_both(side, other, mean), retained);
            let depth = GraphDepth { mean, single: mean };
            prop_assert_eq!(bounds.is_genome(side, mean), rules.is_certain(path, depth));
            let times = if bounds.is_deep(side, mean) { FAR_DEEPER } else { bounds.times };
            prop_assert_eq!(times, rules.connection_times(path, mean));
        }

        #[test]
        fn classes_and_sorting_give_the_same_depth_of_a_single_copy(
            paths in prop::collection::vec((1u64..400, 1u64..70_000), 0..30),
        ) {
            let paths: Vec<(u64, u64)> =
                paths.into_iter().map(|(kmers, more)| (kmers, kmers + kmers * more / 9)).collect();
            let mut classes = CoverageClasses::default();
            paths.iter().for_each(|&counts| classes.add(31, counts));
            prop_assert_eq!(covered_once(31, paths.into_iter()), classes.single_copy());
        }
    }
}
