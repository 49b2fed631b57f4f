//! Rules for the removal of errors from the graph, implemented a second time: on unitigs that are
//! handled by number, and whose bases are read only where the rules need them.

use std::cmp::Reverse;

use cuesta_core::Result;
use cuesta_core::budget::{Budget, Lease};

use super::edits::is_similar;
use super::error_lengths::{ErrorLengths, FAR_DEEPER, covered_once};
use super::links::{End, SequenceLinks, opposite, sequence};
use super::text::Text;
use crate::kernel::kmer::{Base, complement};
use crate::kernel::sequences::rotate;
use crate::kernel::simplify::Removed;

const NOWHERE: End = End::MAX;
const ROUNDS_MAX: usize = 12;

/// A path of joined unitigs.
#[derive(Clone, Copy, Debug)]
pub struct JoinedPath {
    /// Ends by which it is entered from the left and from the right.
    ends: [End; 2],
    /// Sum of the counts of its k-mers.
    pub count_sum: u64,
    /// Twice the number of its k-mers, plus 1 for a circle: there may be as many paths as a genome
    /// has errors, so every eight bytes count.
    kmers: u64,
}

impl JoinedPath {
    fn new(ends: [End; 2], (count_sum, kmers): (u64, u64), is_circle: bool) -> Self {
        Self { ends, count_sum, kmers: kmers << 1 | u64::from(is_circle) }
    }

    /// Returns the number of its k-mers.
    pub fn kmers(&self) -> u64 {
        self.kmers >> 1
    }

    /// Returns whether its last k-mer is followed by its first.
    pub fn is_circle(&self) -> bool {
        self.kmers & 1 == 1
    }

    fn coverage(&self) -> f64 {
        self.count_sum as f64 / self.kmers() as f64
    }
}

/// All paths of a graph.
pub struct Paths<'p, 'a> {
    text: &'p Text<'a>,
    links: &'p SequenceLinks<'a>,
    k: usize,
    /// The paths.
    pub all: Vec<JoinedPath>,
    /// For each end of a unitig, the end to which it is joined.
    joined: Vec<End>,
    /// For each end of a unitig, the path that it is an end of; [`NOWHERE`] if that was removed.
    path_of: Vec<u32>,
    _lease: Lease<'a>,
}

impl<'p, 'a> Paths<'p, 'a> {
    /// Creates a path for each unitig; `sums` are the sums of the counts of their k-mers.
    ///
    /// # Errors
    /// `Input` when they do not fit in the budget.
    pub fn new(
        (text, links): (&'p Text<'a>, &'p SequenceLinks<'a>),
        k: usize,
        sums: &[u64],
        budget: &'a Budget,
    ) -> Result<Self> {
        let count = text.len();
        let each = 2 * size_of::<JoinedPath>() + 4 * size_of::<End>();
        let _lease = budget.take((count * each) as u64, "the paths of the graph")?;
        let path = |unitig: usize| {
            let ends = [2 * unitig as End, 2 * unitig as End + 1];
            let counts = (sums[unitig], text.kmers(unitig, k) as u64);
            JoinedPath::new(ends, counts, text.claim(unitig).is_marked)
        };
        let all = (0..count).map(path).collect();
        let path_of = (0..2 * count as End).map(|end| end / 2).collect();
        Ok(Self { text, links, k, all, joined: vec![NOWHERE; 2 * count], path_of, _lease })
    }

    /// Removes errors; returns what each round removed. The longest path is the first one
    /// afterwards.
    pub fn simplify(&mut self, bounds: &ErrorLengths) -> Vec<Removed> {
        let mut rounds = Vec::new();
        while rounds.len() < ROUNDS_MAX {
            let once = self.covered_once();
            let tips = self.remove(|paths, path| paths.is_tip(path, once, bounds));
            let depths = (self.mean_coverage(), self.covered_once());
            let islands = self.remove(|paths, path| paths.is_island(path, depths, bounds));
            let mean = self.mean_coverage();
            let bubbles = self.remove(|paths, path| paths.is_side(path, mean, bounds));
            let depths = (self.mean_coverage(), self.covered_once());
            let connections = self.remove(|paths, path| paths.is_connection(path, depths, bounds));
            let removed = Removed { tips, islands, bubbles, connections };
            if removed == Removed::default() {
                break;
            }
            rounds.push(removed);
        }
        if !rounds.is_empty() {
            self.sort();
        }
        rounds
    }

    fn remove(&mut self, is_error: impl Fn(&Self, usize) -> bool) -> u64 {
        let candidates = (0..self.all.len()).filter(|&path| !self.all[path].is_circle());
        let errors: Vec<usize> = candidates.filter(|&path| is_error(self, path)).collect();
        for end in errors.iter().flat_map(|&path| self.all[path].ends) {
            self.path_of[end as usize] = NOWHERE;
        }
        if !errors.is_empty() {
            self.join();
        }
        errors.len() as u64
    }

    /// Joins paths with only one continuation, and drops removed paths.
    fn join(&mut self) {
        let remains = |&path: &usize| self.path_of[self.all[path].ends[0] as usize] != NOWHERE;
        let remaining: Vec<usize> = (0..self.all.len()).filter(remains).collect();
        for &path in remaining.iter().filter(|&&path| !self.all[path].is_circle()) {
            for end in self.all[path].ends {
                let next = self.only_after(end).filter(|&next| self.only_after(next) == Some(end));
                self.joined[end as usize] = next.filter(|&next| next != end).unwrap_or(NOWHERE);
            }
        }
        let mut is_done = vec![false; self.all.len()];
        let mut joined = Vec::new();
        for is_circle in [false, true] {
            for &path in &remaining {
                let start = self.all[path];
                let is_free = start.ends.map(|end| self.joined[end as usize] == NOWHERE);
                if is_done[path] || !is_circle && is_free == [false; 2] {
                    continue;
                }
                let side = usize::from(!is_circle && !is_free[0]);
                joined.push(self.walk(start.ends[side], is_circle, &mut is_done));
            }
        }
        self.all = joined;
        for (index, path) in (0..).zip(&self.all) {
            path.ends.iter().for_each(|&end| self.path_of[end as usize] = index);
        }
    }

    /// Returns the path that begins where `start` is entered, by following joined ends.
    fn walk(&self, start: End, is_circle: bool, is_done: &mut [bool]) -> JoinedPath {
        let (mut ends, mut counts, mut is_circle) = ([start; 2], (0, 0), is_circle);
        let mut entered = start;
        loop {
            let index = self.path_of[entered as usize] as usize;
            let path = &self.all[index];
            is_done[index] = true;
            counts = (counts.0 + path.count_sum, counts.1 + path.kmers());
            is_circle |= path.is_circle();
            let side = usize::from(path.ends[0] == entered);
            ends[1] = path.ends[side];
            entered = self.joined[ends[1] as usize];
            if entered == NOWHERE || entered == start {
                return JoinedPath::new(ends, counts, is_circle);
            }
        }
    }

    /// Iterates over the ends by which paths are entered after one is left by `end`.
    fn after(&self, end: End) -> impl Iterator<Item = End> {
        let remains = |next: &End| self.path_of[*next as usize] != NOWHERE;
        self.links.after(end).iter().copied().filter(remains)
    }

    fn only_after(&self, end: End) -> Option<End> {
        let mut after = self.after(end);
        after.next().filter(|_| after.next().is_none())
    }

    fn length(&self, path: &JoinedPath) -> u64 {
        path.kmers() + self.k as u64 - 1
    }

    /// Mean count of the k-mers of all paths.
    pub fn mean_coverage(&self) -> f64 {
        let sum = |of: fn(&JoinedPath) -> u64| self.all.iter().map(of).sum::<u64>();
        sum(|path| path.count_sum) as f64 / sum(JoinedPath::kmers).max(1) as f64
    }

    /// Mean count of the k-mers of what the genome has once.
    pub fn covered_once(&self) -> f64 {
        let counts = self.all.iter().map(|path| (path.kmers(), path.count_sum));
        covered_once(self.k as u64, counts).unwrap_or_else(|| self.mean_coverage())
    }

    /// Iterates over the paths that compete with the path of `end` for the continuations at `end`.
    fn rivals(&self, end: End) -> impl Iterator<Item = usize> {
        let path = self.path_of[end as usize];
        self.after(end)
            .flat_map(|entered| self.after(entered))
            .map(|rival| self.path_of[rival as usize])
            .filter(move |&rival| rival != path)
            .map(|rival| rival as usize)
    }

    /// Returns whether `path` is retained rather than `rival`. Bases decide between equals.
    fn is_stronger(&self, path: usize, rival: usize) -> bool {
        let (left, right) = (&self.all[path], &self.all[rival]);
        let by_coverage = left.coverage().total_cmp(&right.coverage());
        by_coverage
            .then(left.kmers().cmp(&right.kmers()))
            .then_with(|| self.spelled(rival).cmp(&self.spelled(path)))
            .is_gt()
    }

    fn is_tip(&self, path: usize, once: f64, bounds: &ErrorLengths) -> bool {
        let length = self.length(&self.all[path]);
        if length >= bounds.tip.max(bounds.weak_tip) {
            return false;
        }
        let [left, right] = self.all[path].ends;
        let linked = match (self.after(left).next(), self.after(right).next()) {
            (Some(_), None) => left,
            (None, Some(_)) => right,
            _ => return false,
        };
        if bounds.is_genome((length, self.all[path].coverage()), once) {
            return false;
        }
        let twice = 2.0 * self.all[path].coverage();
        self.rivals(linked).any(|rival| {
            length < bounds.tip && self.is_stronger(rival, path)
                || length < bounds.weak_tip && self.all[rival].coverage() > twice
        })
    }

    fn is_island(&self, path: usize, (mean, once): (f64, f64), bounds: &ErrorLengths) -> bool {
        let island = &self.all[path];
        self.length(island) < bounds.island
            && bounds.times * island.coverage() < mean
            && !bounds.is_genome((self.length(island), island.coverage()), once)
            && island.ends.iter().all(|&end| self.after(end).next().is_none())
    }

    fn is_side(&self, path: usize, mean: f64, bounds: &ErrorLengths) -> bool {
        let is_short = |path: usize| self.length(&self.all[path]) < bounds.bubble;
        let [left, right] = self.all[path].ends;
        let Some(before) = self.after(left).next() else { return false };
        let side = (self.length(&self.all[path]), self.all[path].coverage());
        is_short(path)
            && self.after(right).next().is_some()
            && self.after(before).any(|entered| {
                let other = self.path_of[entered as usize] as usize;
                let ends = self.all[other].ends;
                let left_by = ends[usize::from(ends[0] == entered)];
                other != path
                    && is_short(other)
                    && self.is_stronger(other, path)
                    && !bounds.has_both(side, self.all[other].coverage(), mean)
                    && self.after(left).eq(self.after(entered))
                    && self.after(right).eq(self.after(left_by))
                    && is_similar(&self.spelled_from(left), &self.spelled_from(entered))
            })
    }

    fn is_connection(&self, path: usize, (mean, once): (f64, f64), bounds: &ErrorLengths) -> bool {
        let connection = &self.all[path];
        let (length, coverage) = (self.length(connection), connection.coverage());
        let is_deep = bounds.is_deep((length, coverage), mean);
        let enough = coverage * if is_deep { FAR_DEEPER } else { bounds.times };
        let is_strong = |rival: usize| self.all[rival].coverage() >= enough;
        length < bounds.connection
            && !bounds.is_genome((length, coverage), once)
            && connection.ends.iter().all(|&end| self.rivals(end).any(is_strong))
    }

    /// Orients each path to its canonical strand, and sorts by length, the longest first, then by
    /// bases.
    fn sort(&mut self) {
        let mut all = std::mem::take(&mut self.all);
        for path in all.iter_mut().filter(|path| !path.is_circle()) {
            let codes = self.spelled_from(path.ends[0]);
            if turned(&codes).lt(codes.iter().copied()) {
                path.ends.reverse();
            }
        }
        let bases = |path: &JoinedPath| match path.is_circle() {
            true => path.kmers(),
            false => self.length(path),
        };
        all.sort_by_key(|path| Reverse(bases(path)));
        for same in all.chunk_by_mut(|left, right| bases(left) == bases(right)) {
            if same.len() > 1 {
                same.sort_by_cached_key(|path| self.form(path));
            }
        }
        self.all = all;
        for (index, path) in (0..).zip(&self.all) {
            path.ends.iter().for_each(|&end| self.path_of[end as usize] = index);
        }
    }

    /// Calls `take` for each link of the oriented paths once, with the end that is left and the end
    /// that is entered.
    pub fn each_link(&self, mut take: impl FnMut(End, End) -> Result<()>) -> Result<()> {
        let mut entered: Vec<End> = Vec::new();
        for path in 0..self.all.len() {
            for (side, end) in [0, 1].into_iter().zip(self.all[path].ends) {
                let left = 2 * path as End + side;
                entered.clear();
                if self.all[path].is_circle() {
                    entered.push(opposite(left));
                } else {
                    entered.extend(self.after(end).map(|next| {
                        let following = self.path_of[next as usize];
                        2 * following + End::from(self.all[following as usize].ends[1] == next)
                    }));
                }
                entered.sort_unstable();
                entered
                    .iter()
                    .filter(|&&next| left <= next)
                    .try_for_each(|&next| take(left, next))?;
            }
        }
        Ok(())
    }

    /// Returns the bases of a path in canonical form, which does not depend on the strand.
    pub fn spelled(&self, path: usize) -> Vec<Base> {
        self.form(&self.all[path])
    }

    fn form(&self, path: &JoinedPath) -> Vec<Base> {
        let mut codes = self.spelled_from(path.ends[0]);
        if path.is_circle() {
            let bases = path.kmers() as usize;
            codes.truncate(bases);
            rotate(&mut codes);
            (0..self.k - 1).for_each(|place| codes.push(codes[place % bases]));
        } else if turned(&codes).lt(codes.iter().copied()) {
            codes = turned(&codes).collect();
        }
        codes
    }

    /// Returns the first bases, at most `most`, of an oriented path that is entered by an end.
    pub fn entered(&self, end: End, most: usize) -> Vec<Base> {
        let mut codes = self.first_from(self.all[sequence(end)].ends[(end % 2) as usize], most);
        codes.truncate(most);
        codes
    }

    /// Returns the bases of a path from the end `start` on, by which it is entered.
    fn spelled_from(&self, start: End) -> Vec<Base> {
        self.first_from(start, usize::MAX)
    }

    /// Returns at least `least` bases of a path from the end `start` on, or all that it has.
    fn first_from(&self, start: End, least: usize) -> Vec<Base> {
        let mut codes = Vec::new();
        let mut entered = start;
        loop {
            let overlap = if codes.is_empty() { 0 } else { self.k - 1 };
            let mut more = Vec::new();
            self.text.unpack(sequence(entered), &mut more);
            if entered % 2 == 1 {
                more = turned(&more).collect();
            }
            codes.extend_from_slice(&more[overlap..]);
            entered = self.joined[opposite(entered) as usize];
            if entered == NOWHERE || entered == start || codes.len() >= least {
                return codes;
            }
        }
    }
}

/// Iterates over the bases of the reverse complement.
pub fn turned(codes: &[Base]) -> impl Iterator<Item = Base> {
    codes.iter().rev().map(|&code| complement(code))
}
