//! Rules by which paths of a graph count as errors.

use serde::{Deserialize, Serialize};

use crate::kernel::single_copy::GraphDepth;

/// Measures of a path by which it is judged.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PathMeasures {
    /// Mean count of its k-mers.
    pub(crate) coverage: f64,
    /// Length in bases.
    pub(crate) length: usize,
}

/// Rules by which paths count as errors. Lengths are in bases.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Rules {
    /// A dead end shorter than this is removed where another path is stronger.
    pub tip: usize,
    /// A dead end shorter than this is removed where another path is twice as strong; 0 for none.
    pub weak_tip: usize,
    /// A path without links shorter than this is removed when it is [`Rules::times`] weaker than
    /// the mean; 0 for none.
    pub island: usize,
    /// The weaker of two paths shorter than this between the same ends is removed.
    pub bubble: usize,
    /// Most edits between the sides of a bubble, as a part of the longer side.
    pub edits: f64,
    /// A side of at least this part of the mean coverage is retained: the genome has both.
    pub deep: f64,
    /// Whether the mean is that of all paths, as where one genome was read evenly; otherwise it is
    /// the coverage of the other side.
    pub is_even: bool,
    /// A path shorter than this is removed if it is [`Rules::times`] weaker than a rival at both
    /// ends.
    pub connection: usize,
    /// Ratio of coverages for islands and connections.
    pub times: f64,
    /// Part of the mean coverage from which on a path is real, if all is about equally deep, unless
    /// a rival is [`Rules::overwhelming`] times deeper: errors are not so frequent.
    pub real: f64,
    /// Sides of a bubble that are together at least this many times as deep as the mean are those
    /// of two copies of a repeat; sides of one place are as deep as the mean together.
    pub copies: f64,
    /// Ratio of coverages above which even a path of that depth may be an error.
    pub overwhelming: f64,
    /// Least length of a path that is real by its depth: the shortest contig where this graph is
    /// the last, since nothing would be written of a shorter variant; else 0.
    pub real_min: usize,
    /// Least length of a path that is certain by its depth: more k-mers than an error makes.
    pub certain_min: usize,
}

/// Ratio of coverages above which even a path that is real by its depth may be an error.
pub(crate) const OVERWHELMING: f64 = 25.0;

/// Part of the mean coverage from which on a path is real.
pub(crate) const REAL_PART: f64 = 0.4;

/// Least coverage of a path that is real by its depth: of a genome that was read thinly, errors are
/// as deep as a part of the mean.
const REAL_MIN: f64 = 3.0;

/// Least coverage of a path that is certain by its depth and its length: where a genome was read
/// thinly, so few reads have the longest k-mers of what it has once.
const CERTAIN_MIN: f64 = 1.5;

impl Rules {
    /// Returns the rules for a single genome that was read evenly.
    pub fn for_isolate(k: usize) -> Self {
        Self {
            tip: 3 * k,
            weak_tip: 10 * k,
            island: 3 * k,
            bubble: 3 * k + 100,
            edits: 0.1,
            connection: 9 * k,
            times: 4.0,
            deep: 0.75,
            is_even: true,
            real: REAL_PART,
            copies: 1.5,
            overwhelming: OVERWHELMING,
            real_min: 0,
            certain_min: 2 * k,
        }
    }

    /// Returns the rules for many genomes of unknown depths: a path is compared with its rivals
    /// alone, and a path of low coverage may be a genome.
    pub fn for_metagenome(k: usize) -> Self {
        Self {
            tip: 2 * k,
            weak_tip: 0,
            island: 0,
            times: 10.0,
            is_even: false,
            ..Self::for_isolate(k)
        }
    }

    /// Returns whether a path is too deep for an error, if the mean is that of all paths.
    fn is_real(&self, path: PathMeasures, mean: f64) -> bool {
        self.is_even
            && path.coverage >= REAL_MIN.max(self.real * mean)
            && path.length >= self.real_min
    }

    /// Returns whether a path is sequence of the genome for certain, if all is about equally deep:
    /// it has more k-mers than an error makes, and is as deep as what the genome has once. Beside a
    /// repeat it is far weaker than its rivals all the same.
    pub(crate) fn is_certain(&self, path: PathMeasures, depth: GraphDepth) -> bool {
        self.is_even
            && path.length >= self.certain_min
            && path.coverage >= CERTAIN_MIN.max(self.real * depth.single)
    }

    /// Returns how many times as deep as a path its rivals are if it is a weak connection.
    pub(crate) fn connection_times(&self, path: PathMeasures, mean: f64) -> f64 {
        if self.is_real(path, mean) { self.overwhelming } else { self.times }
    }

    /// Returns whether the genome has both sides of a bubble, by the weaker one, and the coverage
    /// of the stronger one.
    pub(crate) fn retains_side(&self, weaker: PathMeasures, stronger: f64, mean: f64) -> bool {
        let coverage = weaker.coverage;
        if !self.is_even {
            return coverage >= self.deep * stronger;
        }
        coverage >= self.deep * mean
            || self.is_real(weaker, mean)
                && coverage + stronger >= self.copies * mean
                && stronger < self.overwhelming * coverage
    }
}
