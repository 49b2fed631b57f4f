//! Takes errors out of the graph of unitigs: tips, bubbles, weak connections, round after round.

use cuesta_core::Result;
use cuesta_core::budget::Budget;
use serde::{Deserialize, Serialize};

use crate::kernel::glue::{self, End, NOWHERE};
use crate::kernel::kmer::{Base, Kmer};
use crate::kernel::links::Links;
use crate::kernel::sequences::{Paths, reverse_complement};

/// Most rounds.
pub(crate) const ROUNDS_MAX: usize = 12;

/// What is taken for an error. Lengths are in bases.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Rules {
    /// A dead end shorter than this goes where another path is stronger.
    pub tip: usize,
    /// A dead end shorter than this goes where another path is twice as strong; 0 for none.
    pub weak_tip: usize,
    /// A path without links shorter than this goes when it is [`Rules::times`] weaker than the
    /// mean; 0 for none.
    pub island: usize,
    /// Of two paths shorter than this between the same places the weaker one goes.
    pub bubble: usize,
    /// Most edits between them, as a part of the longer one.
    pub edits: f64,
    /// A side of at least this part of the mean coverage stays: the genome has both.
    pub deep: f64,
    /// Whether that is the mean of all paths, as where one genome was read evenly; otherwise it is
    /// the coverage of the other side.
    pub is_even: bool,
    /// A path shorter than this goes that is at both ends [`Rules::times`] weaker than another.
    pub connection: usize,
    /// See there.
    pub times: f64,
}

impl Rules {
    /// The rules for one genome that was read evenly.
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
        }
    }

    /// The rules for many genomes, each as deep as it happens to be: a path is held against those
    /// beside it alone, and what is thin may be a genome.
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
}

/// What a round took out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Removed {
    /// Dead ends.
    pub tips: u64,
    /// Weak paths without links.
    pub islands: u64,
    /// Weaker sides of bubbles.
    pub bubbles: u64,
    /// Weak connections.
    pub connections: u64,
}

/// What is known of a path when it is judged.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PathMeasures {
    /// Mean count of its k-mers.
    pub(crate) coverage: f64,
    /// Its bases.
    pub(crate) length: usize,
}

/// A graph of paths.
pub struct PathGraph<'a> {
    /// Size of its k-mers.
    pub k: usize,
    budget: &'a Budget,
    /// The paths.
    pub paths: Paths<'a>,
    /// Their links.
    pub links: Links<'a>,
    alive: Vec<bool>,
}

impl<'a> PathGraph<'a> {
    /// The graph of some paths.
    ///
    /// # Errors
    /// `Input` when it does not fit in the budget.
    pub fn new<K: Kmer>(paths: Paths<'a>, k: usize, budget: &'a Budget) -> Result<Self> {
        let links = Links::find::<K>(&paths, k, budget)?;
        let alive = vec![true; paths.len()];
        Ok(Self { k, budget, paths, links, alive })
    }

    /// Applies the rules until nothing changes; returns what each round took out. The longest path
    /// is the first one afterwards.
    ///
    /// # Errors
    /// `Input` when the new graph does not fit in the budget.
    pub fn simplify<K: Kmer>(&mut self, rules: &Rules) -> Result<Vec<Removed>> {
        let mut rounds = Vec::new();
        while rounds.len() < ROUNDS_MAX {
            let removed = Removed {
                tips: self.remove::<K>(|graph, path| graph.is_tip(path, rules))?,
                islands: {
                    let mean = self.mean_coverage();
                    self.remove::<K>(|graph, path| graph.is_island(path, mean, rules))?
                },
                bubbles: {
                    let mean = self.mean_coverage();
                    self.remove::<K>(|graph, path| graph.is_weaker_side(path, mean, rules))?
                },
                connections: self.remove::<K>(|graph, path| graph.is_weak(path, rules))?,
            };
            if removed == Removed::default() {
                break;
            }
            rounds.push(removed);
        }
        if !rounds.is_empty() {
            let none = self.paths.none_yet();
            self.paths = std::mem::replace(&mut self.paths, none).sorted(self.k, self.budget)?;
            self.links = Links::find::<K>(&self.paths, self.k, self.budget)?;
        }
        Ok(rounds)
    }

    /// Takes out the paths that `goes` names, all judged by the graph as it is before, and joins
    /// what has one continuation then.
    fn remove<K: Kmer>(&mut self, goes: impl Fn(&Self, usize) -> bool) -> Result<u64> {
        let gone: Vec<usize> = (0..self.paths.len()).filter(|&path| goes(self, path)).collect();
        if gone.is_empty() {
            return Ok(0);
        }
        for &path in &gone {
            self.alive[path] = false;
        }
        self.paths = self.merged()?;
        self.links = Links::find::<K>(&self.paths, self.k, self.budget)?;
        self.alive = vec![true; self.paths.len()];
        Ok(gone.len() as u64)
    }

    /// The same graph, in which what has one continuation is one path.
    ///
    /// # Errors
    /// `Input` when it does not fit in the budget.
    pub fn joined<K: Kmer>(&self) -> Result<Self> {
        Self::new::<K>(self.merged()?.sorted(self.k, self.budget)?, self.k, self.budget)
    }

    fn merged(&self) -> Result<Paths<'a>> {
        let ends = 0..2 * self.paths.len() as End;
        let partner: Vec<End> = ends.map(|end| self.only(end)).collect();
        glue::merge(&self.paths, &partner, &self.alive, (self.k, self.budget))
    }

    /// The end that `end` is joined to when nothing else is there, on either side.
    fn only(&self, end: End) -> End {
        if !self.alive[(end / 2) as usize] {
            return NOWHERE;
        }
        let mut after = self.after(end);
        let (Some(next), None) = (after.next(), after.next()) else { return NOWHERE };
        let mut before = self.after(next);
        let mutual = before.next() == Some(end) && before.next().is_none();
        if mutual && next != end { next } else { NOWHERE }
    }

    fn after(&self, end: End) -> impl Iterator<Item = End> {
        self.links.after(end).iter().copied().filter(|&next| self.alive[(next / 2) as usize])
    }

    /// The bases of a path as they follow when it is entered by `end`, at most the first `most`.
    pub fn first(&self, end: End, most: usize) -> Vec<Base> {
        let codes = self.paths.codes((end / 2) as usize);
        let count = most.min(codes.len());
        if end.is_multiple_of(2) {
            codes[..count].to_vec()
        } else {
            reverse_complement(&codes[codes.len() - count..]).collect()
        }
    }

    /// The bases of a path as they follow until it is left by `end`, at most the last `most`.
    pub fn last(&self, end: End, most: usize) -> Vec<Base> {
        reverse_complement(&self.first(end, most)).collect()
    }

    /// Number of k-mers of a path.
    pub fn kmers(&self, path: usize) -> usize {
        self.paths.codes(path).len() + 1 - self.k
    }

    /// Mean count of the k-mers of a path.
    pub fn coverage(&self, path: usize) -> f64 {
        self.paths.facts(path).count_sum as f64 / self.kmers(path) as f64
    }

    /// Mean count of the k-mers of all paths.
    pub fn mean_coverage(&self) -> f64 {
        let paths = 0..self.paths.len();
        let sum: u64 = paths.clone().map(|path| self.paths.facts(path).count_sum).sum();
        let kmers: usize = paths.map(|path| self.length(path) + 1 - self.k).sum();
        sum as f64 / kmers.max(1) as f64
    }

    fn length(&self, path: usize) -> usize {
        self.paths.codes(path).len()
    }

    /// Whether `other` is to be kept rather than `path`.
    fn stronger(&self, other: usize, path: usize) -> bool {
        let known = |path: usize| {
            let facts = PathMeasures { coverage: self.coverage(path), length: self.length(path) };
            (facts, self.paths.codes(path))
        };
        stronger(known(other), known(path))
    }

    /// The paths besides that of `end` by which one may go on from where `end` is met.
    fn rivals(&self, end: End) -> impl Iterator<Item = usize> {
        let path = (end / 2) as usize;
        self.after(end)
            .flat_map(|met| self.after(met))
            .map(|other| (other / 2) as usize)
            .filter(move |&other| other != path)
    }

    fn is_tip(&self, path: usize, rules: &Rules) -> bool {
        let length = self.length(path);
        if length >= rules.tip.max(rules.weak_tip) {
            return false;
        }
        let [left, right] = [2 * path as End, 2 * path as End + 1];
        let held = match (self.after(left).next(), self.after(right).next()) {
            (Some(_), None) => left,
            (None, Some(_)) => right,
            _ => return false,
        };
        let coverage = self.coverage(path);
        self.rivals(held).any(|rival| {
            length < rules.tip && self.stronger(rival, path)
                || length < rules.weak_tip && self.coverage(rival) > 2.0 * coverage
        })
    }

    fn is_island(&self, path: usize, mean: f64, rules: &Rules) -> bool {
        self.length(path) < rules.island
            && rules.times * self.coverage(path) < mean
            && [2 * path as End, 2 * path as End + 1]
                .into_iter()
                .all(|end| self.after(end).next().is_none())
    }

    fn is_weaker_side(&self, path: usize, mean: f64, rules: &Rules) -> bool {
        let length = self.length(path);
        let coverage = self.coverage(path);
        if length >= rules.bubble || rules.is_even && coverage >= rules.deep * mean {
            return false;
        }
        let [left, right] = [2 * path as End, 2 * path as End + 1];
        let Some(before) = self.after(left).next() else { return false };
        if self.after(right).next().is_none() {
            return false;
        }
        self.after(before).any(|entered| {
            let other = (entered / 2) as usize;
            other != path
                && self.length(other) < rules.bubble
                && self.stronger(other, path)
                && (rules.is_even || coverage < rules.deep * self.coverage(other))
                && self.same_neighbours(left, entered)
                && self.same_neighbours(right, entered ^ 1)
                && similar(
                    self.paths.codes(path),
                    (self.paths.codes(other), entered % 2 == 1),
                    rules.edits,
                )
        })
    }

    fn same_neighbours(&self, one: End, two: End) -> bool {
        self.after(one).eq(self.after(two))
    }

    fn is_weak(&self, path: usize, rules: &Rules) -> bool {
        if self.length(path) >= rules.connection {
            return false;
        }
        let enough = rules.times * self.coverage(path);
        [2 * path as End, 2 * path as End + 1]
            .into_iter()
            .all(|end| self.rivals(end).any(|rival| self.coverage(rival) >= enough))
    }
}

/// Whether of two paths the first one is to be kept. Bases decide between equals.
pub(crate) fn stronger(
    (one, codes): (PathMeasures, &[Base]),
    (two, others): (PathMeasures, &[Base]),
) -> bool {
    one.coverage
        .total_cmp(&two.coverage)
        .then(one.length.cmp(&two.length))
        .then_with(|| others.cmp(codes))
        .is_gt()
}

/// Whether two sequences differ by few edits; the second may be turned.
pub(crate) fn similar(one: &[Base], (two, turned): (&[Base], bool), part: f64) -> bool {
    let longer = one.len().max(two.len());
    let most = (part * longer as f64) as usize;
    if one.len().abs_diff(two.len()) > most {
        return false;
    }
    let other: Vec<Base> = if turned { reverse_complement(two).collect() } else { two.to_vec() };
    let bound = rapidfuzz::distance::levenshtein::Args::default().score_cutoff(most);
    rapidfuzz::distance::levenshtein::distance_with_args(
        one.iter().copied(),
        other.iter().copied(),
        &bound,
    )
    .is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::sequences::PathSummary;
    use cuesta_core::random::Stream;

    const K: usize = 15;

    /// How many paths are left of a bubble between paths that were seen 100 times, with sides that
    /// were seen so often.
    fn left_of_bubble(rules: &Rules, sides: [u64; 2]) -> usize {
        let stream = Stream::new(11, 0);
        let drawn = |first: u64| -> Vec<Base> {
            (first..first + 60).map(|place| (stream.bits(place) & 3) as Base).collect()
        };
        let (before, after) = (drawn(0), drawn(100));
        let budget = Budget::new(1 << 20);
        let mut paths = Paths::new(&budget, "a test");
        let mut push = |codes: &[Base], times: u64| {
            let count_sum = times * (codes.len() + 1 - K) as u64;
            let facts = PathSummary { count_sum, ..PathSummary::default() };
            paths.push(facts, |all| all.extend_from_slice(codes)).unwrap();
        };
        push(&before, 100);
        push(&after, 100);
        for (base, times) in (0..).zip(sides) {
            let side = [&before[before.len() + 1 - K..], &[base], &after[..K - 1]].concat();
            push(&side, times);
        }
        let mut graph = PathGraph::new::<u64>(paths, K, &budget).unwrap();
        graph.simplify::<u64>(rules).unwrap();
        graph.paths.len()
    }

    #[test]
    fn sides_of_a_bubble_are_held_against_the_mean_or_against_each_other() {
        let isolate = Rules::for_isolate(K);
        for (sides, left) in [([50, 50], 1), ([60, 40], 1), ([90, 80], 4)] {
            assert_eq!(left_of_bubble(&isolate, sides), left, "{sides:?}");
        }
        let metagenome = Rules::for_metagenome(K);
        for (sides, left) in [([50, 50], 4), ([60, 40], 1), ([90, 80], 4), ([9, 6], 1)] {
            assert_eq!(left_of_bubble(&metagenome, sides), left, "{sides:?}");
        }
    }
}
