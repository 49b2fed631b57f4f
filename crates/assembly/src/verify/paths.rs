//! The rules by which errors are taken out of the graph, applied once more: to unitigs that are
//! known by number, whose bases are looked at only where the rules ask for them.

use std::cmp::Reverse;

use cuesta_core::Result;
use cuesta_core::budget::{Budget, Lease};

use super::error_lengths::ErrorLengths;
use super::links::{End, SequenceLinks, opposite, sequence};
use super::text::Text;
use crate::kernel::kmer::{Base, complement};
use crate::kernel::sequences::rotate;
use crate::kernel::simplify::Removed;

const NOWHERE: End = End::MAX;
const ROUNDS_MAX: usize = 12;
/// Of two sides of a bubble, the part of the longer one that may differ.
const EDITS: f64 = 0.1;
/// The part of the mean coverage, or of that of the other side, from which on a side of a bubble
/// stays.
const DEEP: f64 = 0.75;

/// Unitigs that were joined.
#[derive(Clone, Copy, Debug)]
pub struct JoinedPath {
    /// By which it is entered from the left and from the right.
    ends: [End; 2],
    /// The counts of its k-mers, added up.
    pub count_sum: u64,
    /// Twice the number of its k-mers, and 1 more for a circle: there may be as many paths as a
    /// genome has errors, and eight bytes of each count.
    kmers: u64,
}

impl JoinedPath {
    fn new(ends: [End; 2], (count_sum, kmers): (u64, u64), is_circle: bool) -> Self {
        Self { ends, count_sum, kmers: kmers << 1 | u64::from(is_circle) }
    }

    /// Its k-mers.
    pub fn kmers(&self) -> u64 {
        self.kmers >> 1
    }

    /// Whether its last k-mer is followed by its first.
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
    /// By end of a unitig, the end that it is joined to.
    joined: Vec<End>,
    /// By end of a unitig, the path that has it as an end; nowhere if that was taken out.
    path_of: Vec<u32>,
    _lease: Lease<'a>,
}

impl<'p, 'a> Paths<'p, 'a> {
    /// A path for each unitig, the counts of whose k-mers add up to `sums`.
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

    /// Takes errors out; tells what each round took out. The longest path is the first afterwards.
    pub fn simplify(&mut self, bounds: &ErrorLengths) -> Vec<Removed> {
        let mut rounds = Vec::new();
        while rounds.len() < ROUNDS_MAX {
            let tips = self.take_out(|paths, path| paths.is_tip(path, bounds));
            let mean = self.mean_coverage();
            let islands = self.take_out(|paths, path| paths.is_island(path, mean, bounds));
            let mean = self.mean_coverage();
            let bubbles = self.take_out(|paths, path| paths.is_side(path, mean, bounds));
            let connections = self.take_out(|paths, path| paths.is_connection(path, bounds));
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

    fn take_out(&mut self, is_error: impl Fn(&Self, usize) -> bool) -> u64 {
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

    /// Joins paths that have one continuation, and forgets those taken out.
    fn join(&mut self) {
        let is_left = |&path: &usize| self.path_of[self.all[path].ends[0] as usize] != NOWHERE;
        let left: Vec<usize> = (0..self.all.len()).filter(is_left).collect();
        for &path in left.iter().filter(|&&path| !self.all[path].is_circle()) {
            for end in self.all[path].ends {
                let next = self.only_after(end).filter(|&next| self.only_after(next) == Some(end));
                self.joined[end as usize] = next.filter(|&next| next != end).unwrap_or(NOWHERE);
            }
        }
        let mut is_done = vec![false; self.all.len()];
        let mut found = Vec::new();
        for is_circle in [false, true] {
            for &path in &left {
                let start = self.all[path];
                let is_free = start.ends.map(|end| self.joined[end as usize] == NOWHERE);
                if is_done[path] || !is_circle && is_free == [false; 2] {
                    continue;
                }
                let side = usize::from(!is_circle && !is_free[0]);
                found.push(self.walk(start.ends[side], is_circle, &mut is_done));
            }
        }
        self.all = found;
        for (index, path) in (0..).zip(&self.all) {
            path.ends.iter().for_each(|&end| self.path_of[end as usize] = index);
        }
    }

    /// The path that begins where `start` is entered, by the joints that there are.
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

    /// The ends of paths by which one may go on.
    fn after(&self, end: End) -> impl Iterator<Item = End> {
        let is_left = |next: &End| self.path_of[*next as usize] != NOWHERE;
        self.links.after(end).iter().copied().filter(is_left)
    }

    fn only_after(&self, end: End) -> Option<End> {
        let mut after = self.after(end);
        after.next().filter(|_| after.next().is_none())
    }

    fn length(&self, path: &JoinedPath) -> u64 {
        path.kmers() + self.k as u64 - 1
    }

    fn mean_coverage(&self) -> f64 {
        let sum: u64 = self.all.iter().map(|path| path.count_sum).sum();
        let kmers: u64 = self.all.iter().map(|path| path.kmers()).sum();
        sum as f64 / kmers.max(1) as f64
    }

    /// The paths besides that of `end` by which one may come to where `end` is.
    fn rivals(&self, end: End) -> impl Iterator<Item = usize> {
        let own = self.path_of[end as usize];
        self.after(end)
            .flat_map(|met| self.after(met))
            .map(|other| self.path_of[other as usize])
            .filter(move |&other| other != own)
            .map(|other| other as usize)
    }

    /// Whether `one` is to be kept rather than `two`.
    fn is_stronger(&self, one: usize, two: usize) -> bool {
        let (left, right) = (&self.all[one], &self.all[two]);
        let known = left.coverage().total_cmp(&right.coverage());
        known
            .then(left.kmers().cmp(&right.kmers()))
            .then_with(|| self.spelled(two).cmp(&self.spelled(one)))
            .is_gt()
    }

    fn is_tip(&self, path: usize, bounds: &ErrorLengths) -> bool {
        let length = self.length(&self.all[path]);
        if length >= bounds.tip.max(bounds.weak_tip) {
            return false;
        }
        let [left, right] = self.all[path].ends;
        let held = match (self.after(left).next(), self.after(right).next()) {
            (Some(_), None) => left,
            (None, Some(_)) => right,
            _ => return false,
        };
        let twice = 2.0 * self.all[path].coverage();
        self.rivals(held).any(|rival| {
            length < bounds.tip && self.is_stronger(rival, path)
                || length < bounds.weak_tip && self.all[rival].coverage() > twice
        })
    }

    fn is_island(&self, path: usize, mean: f64, bounds: &ErrorLengths) -> bool {
        let one = &self.all[path];
        self.length(one) < bounds.island
            && bounds.times * one.coverage() < mean
            && one.ends.iter().all(|&end| self.after(end).next().is_none())
    }

    fn is_side(&self, path: usize, mean: f64, bounds: &ErrorLengths) -> bool {
        let is_short = |path: usize| self.length(&self.all[path]) < bounds.bubble;
        let [left, right] = self.all[path].ends;
        let Some(before) = self.after(left).next() else { return false };
        let coverage = self.all[path].coverage();
        is_short(path)
            && (!bounds.is_even || coverage < DEEP * mean)
            && self.after(right).next().is_some()
            && self.after(before).any(|entered| {
                let other = self.path_of[entered as usize] as usize;
                let ends = self.all[other].ends;
                let left_by = ends[usize::from(ends[0] == entered)];
                other != path
                    && is_short(other)
                    && self.is_stronger(other, path)
                    && (bounds.is_even || coverage < DEEP * self.all[other].coverage())
                    && self.after(left).eq(self.after(entered))
                    && self.after(right).eq(self.after(left_by))
                    && is_similar(&self.spelled_from(left), &self.spelled_from(entered))
            })
    }

    fn is_connection(&self, path: usize, bounds: &ErrorLengths) -> bool {
        let one = &self.all[path];
        let enough = bounds.times * one.coverage();
        let is_strong = |rival: usize| self.all[rival].coverage() >= enough;
        self.length(one) < bounds.connection
            && one.ends.iter().all(|&end| self.rivals(end).any(is_strong))
    }

    /// Turns each path to the strand of its one form; the longest first, those of one length in
    /// the order of their bases.
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
        for same in all.chunk_by_mut(|one, two| bases(one) == bases(two)) {
            if same.len() > 1 {
                same.sort_by_cached_key(|path| self.form(path));
            }
        }
        self.all = all;
        for (index, path) in (0..).zip(&self.all) {
            path.ends.iter().for_each(|&end| self.path_of[end as usize] = index);
        }
    }

    /// Calls `take` with the links of all paths in their one form, each once: the end that is left,
    /// and the end that is entered.
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
                        let other = self.path_of[next as usize];
                        2 * other + End::from(self.all[other as usize].ends[1] == next)
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

    /// The bases of a path, in the one form that either strand gives.
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

    /// The bases of a path from where it is entered by `start` on.
    fn spelled_from(&self, start: End) -> Vec<Base> {
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
            if entered == NOWHERE || entered == start {
                return codes;
            }
        }
    }
}

/// The other strand.
fn turned(codes: &[Base]) -> impl Iterator<Item = Base> {
    codes.iter().rev().map(|&code| complement(code))
}

/// Whether two sequences differ by few insertions, deletions and other bases.
fn is_similar(one: &[Base], two: &[Base]) -> bool {
    let most = (EDITS * one.len().max(two.len()) as f64) as usize;
    if one.len().abs_diff(two.len()) > most {
        return false;
    }
    // The table of edits, row by row, near its diagonal; others are more than enough.
    let far = most + 1;
    let mut row: Vec<usize> = (0..=two.len()).map(|column| column.min(far)).collect();
    for (index, &base) in one.iter().enumerate() {
        let (first, last) = ((index + 1).saturating_sub(most), two.len().min(index + 1 + most));
        let mut diagonal = row[first.max(1) - 1];
        row[first.max(1) - 1] = if first <= 1 { (index + 1).min(far) } else { far };
        for column in first.max(1)..=last {
            let other = diagonal + usize::from(two[column - 1] != base);
            diagonal = row[column];
            row[column] = other.min(diagonal + 1).min(row[column - 1] + 1).min(far);
        }
    }
    row[two.len()] <= most
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn similar_are_those_with_few_edits(
            one in prop::collection::vec(0u8..3, 0..60),
            edits in prop::collection::vec((0usize..60, 0u8..4, 0u8..3), 0..9),
        ) {
            let mut two = one.clone();
            for (place, base, kind) in edits {
                match (kind, place.min(two.len())) {
                    (0, place) => two.insert(place, base),
                    (1, place) if place < two.len() => _ = two.remove(place),
                    (_, place) if place < two.len() => two[place] = base,
                    _ => {}
                }
            }
            let expected = crate::kernel::simplify::similar(&one, (&two, false), EDITS);
            prop_assert_eq!(is_similar(&one, &two), expected);
        }
    }
}
