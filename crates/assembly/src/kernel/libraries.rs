//! Libraries of read pairs: how the two reads of a pair lie to each other, how long what they span
//! is, and which contigs they lie on.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::anchors::{Anchors, Located};
use super::placements::Ends;

/// Pairs that span more are not taken for pairs: of reads that point to each other, as those of
/// paired ends do, and of those that point away from each other, as mate pairs do.
const INWARD_MAX: i64 = 2000;
const OUTWARD_MAX: i64 = 20_000;
/// With fewer pairs on one path, the insert and the orientation of a file are not known.
const KNOWN_PAIRS_MIN: u64 = 100;
/// Files are of one library if the median of one is less than so many times that of another.
const ALIKE_TIMES: f64 = 1.25;

/// How the two reads of a pair lie to each other on the genome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Orientation {
    /// They point to each other, forward then reverse.
    #[default]
    #[serde(rename = "fr")]
    Inward,
    /// They point away from each other, reverse then forward.
    #[serde(rename = "rf")]
    Outward,
}

/// Where a read lies, and how many bases it has.
#[derive(Clone, Copy, Debug)]
pub struct PlacedRead {
    /// Where.
    pub at: Located,
    /// Its bases.
    pub bases: i64,
}

impl PlacedRead {
    /// Where its reverse complement lies.
    fn turned(self, anchors: &Anchors<'_>) -> Self {
        let Located { end, left } = self.at;
        let left = anchors.length(end / 2) - left + self.bases;
        Self { at: Located { end: end ^ 1, left }, bases: self.bases }
    }
}

/// Where the pairs of a library lie.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Library {
    /// How the reads of a pair lie to each other.
    pub orientation: Orientation,
    /// By length of what a pair on one path spans, as far as there are any.
    pub inserts: Vec<u64>,
    /// Pairs on two paths, or at both ends of a long one, and the bases from reads to ends added
    /// up.
    pub across: HashMap<Ends, (u64, i64)>,
}

/// What is told of a library.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LibraryFacts {
    /// How the reads of a pair lie to each other.
    pub orientation: Orientation,
    /// Median length of what a pair spans, in bases.
    pub insert: f64,
    /// Its standard deviation, from the quantiles.
    pub deviation: f64,
    /// Pairs on one path.
    pub pairs: u64,
}

impl Library {
    /// Without a pair so far.
    pub fn new(orientation: Orientation) -> Self {
        Self { orientation, inserts: Vec::new(), across: HashMap::new() }
    }

    /// Most bases that a pair may span.
    pub fn insert_max(&self) -> i64 {
        match self.orientation {
            Orientation::Inward => INWARD_MAX,
            Orientation::Outward => OUTWARD_MAX,
        }
    }

    /// Adds a pair by where its reads lie.
    pub fn add(&mut self, anchors: &Anchors<'_>, one: PlacedRead, two: PlacedRead) {
        let [one, two] = match self.orientation {
            Orientation::Inward => [one.at, two.at],
            Orientation::Outward => [one, two].map(|read| read.turned(anchors).at),
        };
        let most = self.insert_max();
        let both = one.left + two.left;
        if one.end / 2 == two.end / 2 {
            let bases = anchors.length(one.end / 2);
            let insert = both - bases;
            // Across the ends of a path that is longer than any pair spans, where it is a circle.
            let is_around = insert < 1 && bases > most;
            if one.end == two.end || !is_around && insert < 1 || insert > most {
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
            let ends = (one.end.min(two.end), one.end.max(two.end));
            let entry = self.across.entry(ends).or_insert((0, 0));
            *entry = (entry.0 + 1, entry.1 + both);
        }
    }

    /// Adds what was placed elsewhere.
    pub fn merge(&mut self, other: Self) {
        self.inserts.resize(self.inserts.len().max(other.inserts.len()), 0);
        self.inserts.iter_mut().zip(other.inserts).for_each(|(sum, more)| *sum += more);
        for (ends, (pairs, bases)) in other.across {
            let entry = self.across.entry(ends).or_insert((0, 0));
            *entry = (entry.0 + pairs, entry.1 + bases);
        }
    }

    /// Pairs on one path.
    pub fn pairs(&self) -> u64 {
        self.inserts.iter().sum()
    }

    /// The length below which this part of the pairs on one path spans.
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

    /// The standard deviation of what pairs span, from the quantiles.
    pub fn deviation(&self) -> f64 {
        (self.quantile(0.841) - self.quantile(0.159)) / 2.0
    }

    /// What is told of it.
    pub fn facts(&self) -> LibraryFacts {
        LibraryFacts {
            orientation: self.orientation,
            insert: self.quantile(0.5),
            deviation: self.deviation(),
            pairs: self.pairs(),
        }
    }
}

/// How pairs of one source lie, counted until enough are known.
#[derive(Clone, Copy, Debug, Default)]
pub struct OrientationCounts {
    inward: u64,
    outward: u64,
}

impl OrientationCounts {
    /// Adds a pair by where its reads lie, if they lie on one path, on different strands of it.
    pub fn add(&mut self, anchors: &Anchors<'_>, one: PlacedRead, two: PlacedRead) {
        if one.at.end ^ 1 != two.at.end {
            return;
        }
        let insert = |one: Located, two: Located| one.left + two.left - anchors.length(one.end / 2);
        let outward = insert(one.turned(anchors).at, two.turned(anchors).at);
        if (1..=INWARD_MAX).contains(&insert(one.at, two.at)) {
            self.inward += 1;
        } else if (1..=OUTWARD_MAX).contains(&outward) {
            self.outward += 1;
        }
    }

    /// Pairs that were counted.
    pub fn pairs(&self) -> u64 {
        self.inward + self.outward
    }

    /// How most pairs lie; without enough of them, as paired ends do.
    pub fn most(&self) -> Orientation {
        if self.pairs() >= KNOWN_PAIRS_MIN && self.outward > self.inward {
            Orientation::Outward
        } else {
            Orientation::Inward
        }
    }
}

/// Files whose pairs are alike, as one library each; the one that spans least is the first. It does
/// not matter in which order the files are.
pub fn grouped(files: Vec<Library>) -> Vec<Library> {
    let (mut known, unknown): (Vec<_>, Vec<_>) =
        files.into_iter().partition(|file| file.pairs() >= KNOWN_PAIRS_MIN);
    known.sort_by(|one, two| {
        let medians = one.quantile(0.5).total_cmp(&two.quantile(0.5));
        one.orientation.cmp(&two.orientation).then(medians)
    });
    let mut groups: Vec<(f64, Library)> = Vec::new();
    for file in known {
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
    let mut found: Vec<Library> = groups.into_iter().map(|(_, group)| group).collect();
    let mut largest = [Orientation::Inward, Orientation::Outward].map(|orientation| {
        let alike = (0..found.len()).filter(|&index| found[index].orientation == orientation);
        alike.max_by_key(|&index| found[index].pairs())
    });
    for file in unknown {
        match &mut largest[file.orientation as usize] {
            Some(index) => found[*index].merge(file),
            none => {
                *none = Some(found.len());
                found.push(file);
            }
        }
    }
    found.sort_by(|one, two| one.quantile(0.5).total_cmp(&two.quantile(0.5)));
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::sequences::{PathSummary, Paths};
    use cuesta_core::budget::Budget;

    const BASES: usize = 30_000;
    const READ: i64 = 100;

    /// Inserts of a library, each so often.
    fn of(orientation: Orientation, inserts: &[(usize, u64)]) -> Library {
        let mut library = Library::new(orientation);
        for &(insert, pairs) in inserts {
            library.inserts.resize(library.inserts.len().max(insert + 1), 0);
            library.inserts[insert] += pairs;
        }
        library
    }

    /// A read that begins at a place of the only path, on either strand.
    fn read(place: i64, is_turned: bool) -> PlacedRead {
        let at = if is_turned {
            Located { end: 0, left: place }
        } else {
            Located { end: 1, left: BASES as i64 - place }
        };
        PlacedRead { at, bases: READ }
    }

    #[test]
    fn pairs_tell_how_their_reads_lie() {
        let budget = Budget::new(1 << 20);
        let mut paths = Paths::new(&budget, "a test");
        paths.push(PathSummary::default(), |all| all.resize(BASES, 0)).unwrap();
        let anchors = Anchors::new(&paths, &budget).unwrap();
        let mut counts = [OrientationCounts::default(); 2];
        let mut libraries = [Orientation::Inward, Orientation::Outward].map(Library::new);
        for place in 5000..5200 {
            // To each other over 400 bases; away from each other, 3,000 bases from end to end.
            let inward = [read(place, false), read(place + 400, true)];
            let outward = [read(place + READ, true), read(place + 3000 - READ, false)];
            for (index, [one, two]) in [inward, outward].into_iter().enumerate() {
                counts[index].add(&anchors, two, one);
                libraries[index].add(&anchors, one, two);
                // Pairs that lie otherwise are none.
                libraries[1 - index].add(&anchors, one, two);
            }
        }
        assert_eq!(counts.map(|one| one.most()), [Orientation::Inward, Orientation::Outward]);
        assert_eq!(OrientationCounts::default().most(), Orientation::Inward);
        let facts = libraries.each_ref().map(|one| (one.quantile(0.5), one.inserts[400..].len()));
        assert_eq!(facts, [(400.0, 1), (3000.0, 2601)]);
        assert!(libraries.iter().all(|one| one.pairs() == 200), "{counts:?}");
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
    fn files_of_one_library_are_one_whatever_their_order() {
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
            let found: Vec<(f64, u64)> =
                grouped(files).iter().map(|one| (one.quantile(0.5), one.pairs())).collect();
            assert_eq!(found, [(310.0, 1499), (600.0, 700), (3000.0, 200)], "{turn}");
        }
        assert_eq!(grouped(vec![of(Orientation::Inward, &[(300, 7)])]).len(), 1);
    }
}
