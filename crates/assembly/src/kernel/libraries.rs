//! Libraries of read pairs: the orientation of their reads, their insert sizes, and the contigs on
//! which both reads are.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::anchors::{Anchors, Located};
use super::glue::End;

/// Most bases that a pair may span; longer ones are not counted as pairs. The first limit is for
/// reads that point towards each other (paired ends), the second for reads that point away (mate
/// pairs).
const INWARD_MAX: i64 = 2000;
const OUTWARD_MAX: i64 = 20_000;
/// Pairs on one path that a file needs before its insert size and orientation count as known.
const KNOWN_PAIRS_MIN: u64 = 100;
/// Two files belong to one library if the median insert of one is less than this times the other's.
const ALIKE_TIMES: f64 = 1.25;

/// Two ends by which paths are left, the smaller one first.
pub type Ends = (End, End);

/// Relative orientation of the two reads of a pair on the genome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Orientation {
    /// They point towards each other, forward then reverse.
    #[default]
    #[serde(rename = "fr")]
    Inward,
    /// They point away from each other, reverse then forward.
    #[serde(rename = "rf")]
    Outward,
}

/// Position of a read on a path, with its length.
#[derive(Clone, Copy, Debug)]
pub struct PlacedRead {
    /// Position on the path.
    pub at: Located,
    /// Length of the read in bases.
    pub bases: i64,
}

impl PlacedRead {
    /// Returns the position of its reverse complement.
    fn turned(self, anchors: &Anchors<'_>) -> Self {
        let Located { end, left } = self.at;
        let left = anchors.length(end / 2) - left + self.bases;
        Self { at: Located { end: end ^ 1, left }, bases: self.bases }
    }
}

/// Positions of the pairs of a library.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Library {
    /// Relative orientation of the reads of a pair.
    pub orientation: Orientation,
    /// Histogram of insert sizes, in bases, of pairs with both reads on one path.
    pub inserts: Vec<u64>,
    /// For two ends of paths: the pairs across them, and the sum of the bases from reads to ends.
    /// The ends are on two paths, or are both ends of a long circular one.
    pub across: HashMap<Ends, (u64, i64)>,
}

/// Statistics of a library for the report.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LibraryFacts {
    /// Relative orientation of the reads of a pair.
    pub orientation: Orientation,
    /// Median insert size, in bases.
    pub insert: f64,
    /// Standard deviation of the insert size, from quantiles.
    pub deviation: f64,
    /// Pairs on one path.
    pub pairs: u64,
}

impl Library {
    /// Creates a library without pairs.
    pub fn new(orientation: Orientation) -> Self {
        Self { orientation, inserts: Vec::new(), across: HashMap::new() }
    }

    /// Returns the most bases that a pair may span.
    pub fn insert_max(&self) -> i64 {
        match self.orientation {
            Orientation::Inward => INWARD_MAX,
            Orientation::Outward => OUTWARD_MAX,
        }
    }

    /// Adds a pair by the positions of its reads.
    pub fn add(&mut self, anchors: &Anchors<'_>, first: PlacedRead, second: PlacedRead) {
        let [first, second] = match self.orientation {
            Orientation::Inward => [first.at, second.at],
            Orientation::Outward => [first, second].map(|read| read.turned(anchors).at),
        };
        let most = self.insert_max();
        let both = first.left + second.left;
        if first.end / 2 == second.end / 2 {
            let bases = anchors.length(first.end / 2);
            let insert = both - bases;
            // Across the ends of a path that is longer than any insert: the path is a circle.
            let is_around = insert < 1 && bases > most;
            if first.end == second.end || !is_around && insert < 1 || insert > most {
                return;
            }
            if !is_around {
                let insert = insert as usize;
                self.inserts.resize(self.inserts.len().max(insert + 1), 0);
                self.inserts[insert] += 1;
                return;
            }
        }
        if (0..=most).contains(&both) {
            let ends = (first.end.min(second.end), first.end.max(second.end));
            let entry = self.across.entry(ends).or_insert((0, 0));
            *entry = (entry.0 + 1, entry.1 + both);
        }
    }

    /// Adds the pairs of `other`.
    pub fn merge(&mut self, other: Self) {
        self.inserts.resize(self.inserts.len().max(other.inserts.len()), 0);
        self.inserts.iter_mut().zip(other.inserts).for_each(|(sum, more)| *sum += more);
        for (ends, (pairs, bases)) in other.across {
            let entry = self.across.entry(ends).or_insert((0, 0));
            *entry = (entry.0 + pairs, entry.1 + bases);
        }
    }

    /// Returns the number of pairs with both reads on one path.
    pub fn pairs(&self) -> u64 {
        self.inserts.iter().sum()
    }

    /// Returns the quantile `part`, from 0 to 1, of the insert size in bases.
    pub fn quantile(&self, part: f64) -> f64 {
        let all = self.pairs();
        let mut below = 0;
        for (insert, pairs) in self.inserts.iter().enumerate() {
            below += pairs;
            if below as f64 >= part * all as f64 {
                return insert as f64;
            }
        }
        0.0
    }

    /// Returns the standard deviation of the insert size, from quantiles.
    pub fn deviation(&self) -> f64 {
        (self.quantile(0.841) - self.quantile(0.159)) / 2.0
    }

    /// Returns the statistics of the library.
    pub fn facts(&self) -> LibraryFacts {
        LibraryFacts {
            orientation: self.orientation,
            insert: self.quantile(0.5),
            deviation: self.deviation(),
            pairs: self.pairs(),
        }
    }
}

/// Counts of the orientations of the pairs of one source, until enough have been counted.
#[derive(Clone, Copy, Debug, Default)]
pub struct OrientationCounts {
    inward: u64,
    outward: u64,
}

impl OrientationCounts {
    /// Counts a pair if its reads are on one path, on different strands.
    pub fn add(&mut self, anchors: &Anchors<'_>, first: PlacedRead, second: PlacedRead) {
        if first.at.end ^ 1 != second.at.end {
            return;
        }
        let insert = |first: Located, second: Located| {
            first.left + second.left - anchors.length(first.end / 2)
        };
        let outward = insert(first.turned(anchors).at, second.turned(anchors).at);
        if (1..=INWARD_MAX).contains(&insert(first.at, second.at)) {
            self.inward += 1;
        } else if (1..=OUTWARD_MAX).contains(&outward) {
            self.outward += 1;
        }
    }

    /// Returns the number of counted pairs.
    pub fn pairs(&self) -> u64 {
        self.inward + self.outward
    }

    /// Returns the orientation of most pairs; [`Orientation::Inward`] if too few have been counted.
    pub fn most(&self) -> Orientation {
        if self.pairs() >= KNOWN_PAIRS_MIN && self.outward > self.inward {
            Orientation::Outward
        } else {
            Orientation::Inward
        }
    }
}

/// Groups files with alike pairs into libraries, sorted by insert size. The result does not depend
/// on the order of the files.
pub fn grouped(files: Vec<Library>) -> Vec<Library> {
    let (mut measured, unmeasured): (Vec<_>, Vec<_>) =
        files.into_iter().partition(|file| file.pairs() >= KNOWN_PAIRS_MIN);
    measured.sort_by(|first, second| {
        let medians = first.quantile(0.5).total_cmp(&second.quantile(0.5));
        first.orientation.cmp(&second.orientation).then(medians)
    });
    let mut groups: Vec<(f64, Library)> = Vec::new();
    for file in measured {
        let median = file.quantile(0.5);
        match groups.last_mut() {
            Some((least, group))
                if group.orientation == file.orientation && median < ALIKE_TIMES * *least =>
            {
                group.merge(file);
            }
            _ => groups.push((median, file)),
        }
    }
    let mut libraries: Vec<Library> = groups.into_iter().map(|(_, group)| group).collect();
    let mut largest = [Orientation::Inward, Orientation::Outward].map(|orientation| {
        let alike =
            (0..libraries.len()).filter(|&index| libraries[index].orientation == orientation);
        alike.max_by_key(|&index| libraries[index].pairs())
    });
    for file in unmeasured {
        match &mut largest[file.orientation as usize] {
            Some(index) => libraries[*index].merge(file),
            none => {
                *none = Some(libraries.len());
                libraries.push(file);
            }
        }
    }
    libraries.sort_by(|first, second| first.quantile(0.5).total_cmp(&second.quantile(0.5)));
    libraries
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::sequences::{PathSummary, Paths};
    use cuesta_core::budget::Budget;

    const BASES: usize = 30_000;
    const READ: i64 = 100;

    /// Returns a library with these insert sizes and their numbers of pairs.
    fn of(orientation: Orientation, inserts: &[(usize, u64)]) -> Library {
        let mut library = Library::new(orientation);
        for &(insert, pairs) in inserts {
            library.inserts.resize(library.inserts.len().max(insert + 1), 0);
            library.inserts[insert] += pairs;
        }
        library
    }

    /// Returns a read that begins at `place` of the only path, on either strand.
    fn read(place: i64, is_turned: bool) -> PlacedRead {
        let at = if is_turned {
            Located { end: 0, left: place }
        } else {
            Located { end: 1, left: BASES as i64 - place }
        };
        PlacedRead { at, bases: READ }
    }

    #[test]
    fn orientations_and_inserts_follow_from_positions_of_pairs() {
        let budget = Budget::new(1 << 20);
        let mut paths = Paths::new(&budget, "a test");
        paths.push(PathSummary::default(), |all| all.resize(BASES, 0)).unwrap();
        let anchors = Anchors::new(&paths, &budget).unwrap();
        let mut counts = [OrientationCounts::default(); 2];
        let mut libraries = [Orientation::Inward, Orientation::Outward].map(Library::new);
        for place in 5000..5200 {
            // 400 bases, towards each other; 3,000 bases from end to end, away from each other.
            let inward = [read(place, false), read(place + 400, true)];
            let outward = [read(place + READ, true), read(place + 3000 - READ, false)];
            for (index, [first, second]) in [inward, outward].into_iter().enumerate() {
                counts[index].add(&anchors, second, first);
                libraries[index].add(&anchors, first, second);
                // Pairs of the other orientation do not count.
                libraries[1 - index].add(&anchors, first, second);
            }
        }
        assert_eq!(counts.map(|counts| counts.most()), [Orientation::Inward, Orientation::Outward]);
        assert_eq!(OrientationCounts::default().most(), Orientation::Inward);
        let facts = libraries
            .each_ref()
            .map(|library| (library.quantile(0.5), library.inserts[400..].len()));
        assert_eq!(facts, [(400.0, 1), (3000.0, 2601)]);
        assert!(libraries.iter().all(|library| library.pairs() == 200), "{counts:?}");
    }

    #[test]
    fn pairs_around_a_circle_join_its_ends() {
        let budget = Budget::new(1 << 20);
        let mut paths = Paths::new(&budget, "a test");
        paths.push(PathSummary::default(), |all| all.resize(BASES, 0)).unwrap();
        let anchors = Anchors::new(&paths, &budget).unwrap();
        let mut library = Library::new(Orientation::Inward);
        library.add(&anchors, read(BASES as i64 - 150, false), read(250, true));
        assert_eq!((library.pairs(), library.across.get(&(0, 1))), (0, Some(&(1, 400))));
    }

    #[test]
    fn files_group_into_the_same_libraries_in_any_order() {
        let all = [
            of(Orientation::Inward, &[(300, 500)]),
            of(Orientation::Inward, &[(310, 900)]),
            of(Orientation::Inward, &[(600, 700)]),
            of(Orientation::Outward, &[(3000, 200)]),
            of(Orientation::Inward, &[(20, 99)]),
        ];
        for turn in 0..all.len() {
            let mut files = all.to_vec();
            files.rotate_left(turn);
            let libraries: Vec<(f64, u64)> = grouped(files)
                .iter()
                .map(|library| (library.quantile(0.5), library.pairs()))
                .collect();
            assert_eq!(libraries, [(310.0, 1499), (600.0, 700), (3000.0, 200)], "{turn}");
        }
        assert_eq!(grouped(vec![of(Orientation::Inward, &[(300, 7)])]).len(), 1);
    }
}
