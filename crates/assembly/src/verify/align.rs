//! Alignment of reads to the sequences of the answer, and counting of shared k-mers a stretch at a
//! time. Unaligned k-mers of a read are passed to the caller.

use super::counts::{Counts, Tally};
use super::index::{Index, is_sampled};
use super::packed::{Alignment, pack_letters};
use super::text::Text;

/// Reads that are aligned at the same time, so that their cache misses overlap; a new read replaces
/// each finished one, as some take many steps.
const READS_AT_A_TIME: usize = 128;
/// Most reads and words of a group, which fits in a second-level cache.
const GROUP_READS: usize = 512;
const GROUP_WORDS: usize = 1 << 13;
/// Consecutive mismatches with less than a k-mer in between after which an alignment is given up.
const MISMATCHES_MAX: usize = 3;

/// A group of packed reads.
#[derive(Default)]
pub struct Group {
    words: Vec<u64>,
    /// First word of each read, and its number of bases.
    reads: Vec<(usize, usize)>,
}

impl Group {
    /// Removes all reads.
    pub fn clear(&mut self) {
        self.words.clear();
        self.reads.clear();
    }

    /// Adds a read, whose letters are only A, C, G, T and U.
    pub fn push(&mut self, letters: &[u8]) {
        self.reads.push((self.words.len(), letters.len()));
        pack_letters(letters, &mut self.words);
    }

    /// Returns the bytes that it takes once shrunk.
    pub fn bytes(&self) -> u64 {
        (size_of_val(&self.words[..]) + size_of_val(&self.reads[..])) as u64
    }

    /// Returns the bases of all reads.
    pub fn bases(&self) -> u64 {
        self.reads.iter().map(|&(_, bases)| bases as u64).sum()
    }

    /// Releases unused capacity.
    pub fn shrink(&mut self) {
        self.words.shrink_to_fit();
        self.reads.shrink_to_fit();
    }

    /// Returns whether the group is as large as those that are aligned together.
    pub fn is_full(&self) -> bool {
        self.reads.len() >= GROUP_READS || self.words.len() >= GROUP_WORDS
    }
}

/// Aligner of reads to the sequences of a text.
pub struct TextAligner<'f, 't, 'a> {
    /// The sequences.
    pub text: &'f Text<'a>,
    /// Index of their k-mers.
    pub index: &'f Index<'t, 'a>,
    /// Counts of their k-mers.
    pub counts: &'f Counts<'a>,
    /// Bases in a k-mer.
    pub k: usize,
}

/// Next step of a read. The data that it needs was prefetched by the step before, while other reads
/// take their steps.
#[derive(Clone, Copy)]
enum Turn {
    /// Prefetch the candidate positions of a k-mer: its base, and its hash.
    Prefetch { base: usize, name: u64 },
    /// Find the k-mer at one of these positions.
    Find { base: usize, name: u64 },
    /// Count along the text from this position on.
    Count { base: usize, alignment: Alignment },
}

/// State of a read that is being aligned.
#[derive(Clone, Copy)]
struct Search {
    /// Number of the read in the group.
    read: usize,
    /// First k-mer that is not counted yet.
    next: usize,
    turn: Turn,
}

/// Destination of the k-mers of reads: counts of the text, and a function for unaligned k-mers.
struct KmerSink<'c, 'a, F> {
    tally: Tally<'c, 'a>,
    unaligned: F,
}

impl TextAligner<'_, '_, '_> {
    /// Counts the k-mers of reads that are found in the text; calls `unaligned` for each stretch of
    /// other k-mers, with the words of the read, its first k-mer and the k-mer after its last.
    pub fn align(&self, group: &Group, unaligned: impl FnMut(&[u64], (usize, usize))) {
        let mut sink = KmerSink { tally: self.counts.tally(), unaligned };
        let read = |read: usize| (&group.words[group.reads[read].0..], group.reads[read].1);
        let mut searches = [Search { read: 0, next: 0, turn: Turn::Prefetch { base: 0, name: 0 } };
            READS_AT_A_TIME];
        // Active searches are in front.
        let (mut active, mut begun) = (0, 0);
        loop {
            while active < READS_AT_A_TIME && begun < group.reads.len() {
                let (words, bases) = read(begun);
                let kmers = (bases + 1).saturating_sub(self.k);
                if let Some(turn) = self.first_turn(words, (0, kmers)) {
                    searches[active] = Search { read: begun, next: 0, turn };
                    active += 1;
                } else if kmers > 0 {
                    (sink.unaligned)(words, (0, kmers));
                }
                begun += 1;
            }
            if active == 0 {
                break;
            }
            let mut remaining = 0;
            for index in 0..active {
                let mut search = searches[index];
                if self.step(read(search.read), &mut search, &mut sink) {
                    searches[remaining] = search;
                    remaining += 1;
                }
            }
            active = remaining;
        }
        sink.tally.settle();
    }

    /// Returns the first step for the first of these k-mers that is in the index if it is in the
    /// text.
    #[inline(always)]
    fn first_turn(&self, read: &[u64], (first, last): (usize, usize)) -> Option<Turn> {
        let mut sampled = None;
        if first < last {
            self.index.core().each(read, (first, last), |base, core| {
                sampled = is_sampled(core).then_some((base, core));
                sampled.is_none()
            });
        }
        sampled.map(|(base, core)| self.turn_at(read, base, core))
    }

    #[inline(always)]
    fn turn_at(&self, read: &[u64], base: usize, core: u64) -> Turn {
        Turn::Prefetch { base, name: self.index.prefetch(read, base, core) }
    }

    /// Takes a step of a read; returns whether it has another one. When it has none, its uncounted
    /// k-mers go to `unaligned`.
    #[inline(always)]
    fn step(
        &self,
        (words, bases): (&[u64], usize),
        search: &mut Search,
        sink: &mut KmerSink<'_, '_, impl FnMut(&[u64], (usize, usize))>,
    ) -> bool {
        let kmers = (bases + 1).saturating_sub(self.k);
        let turn = match search.turn {
            Turn::Prefetch { base, name } => {
                self.index.places(name).take(1).for_each(|place| self.text.prefetch(place));
                Some(Turn::Find { base, name })
            }
            Turn::Find { base, name } => match self.index.find(words, base, name) {
                Some(alignment) => {
                    for end in [0, bases - 1] {
                        let place = alignment.place(end) as usize;
                        self.text.prefetch(place);
                        self.counts.prefetch(place);
                    }
                    Some(Turn::Count { base, alignment })
                }
                None => self.first_turn(words, (base + 1, kmers)),
            },
            Turn::Count { base, alignment } => {
                let next = &mut search.next;
                let at = self.along((words, bases), (alignment, base), next, sink);
                // Another sequence may begin where one ends: its first k-mer is in the index.
                if at < kmers && at == *next {
                    Some(self.turn_at(words, at, self.index.core().hash(words, at)))
                } else {
                    self.first_turn(words, (at, kmers))
                }
            }
        };
        match turn {
            Some(turn) => search.turn = turn,
            None if search.next < kmers => (sink.unaligned)(words, (search.next, kmers)),
            None => {}
        }
        turn.is_some()
    }

    /// Counts the k-mers of a read along one sequence of the text, from the k-mer at `base` on, and
    /// uncounted k-mers before it; returns the k-mer from which to search further.
    #[inline]
    fn along(
        &self,
        (words, bases): (&[u64], usize),
        (alignment, base): (Alignment, usize),
        next: &mut usize,
        sink: &mut KmerSink<'_, '_, impl FnMut(&[u64], (usize, usize))>,
    ) -> usize {
        let (k, texts) = (self.k, self.text.words());
        let (before, after) = self.room((alignment, base), bases);
        let mut first = base - alignment.same_behind(words, texts, base, before);
        let end = base + after;
        let mut from = base + k;
        let mut mismatches = 0;
        loop {
            let last = from + alignment.same_ahead(words, texts, from, end - from);
            let is_long = last - first >= k;
            if is_long {
                let (start, stop) = (first.max(*next), last + 1 - k);
                if *next < start {
                    (sink.unaligned)(words, (*next, start));
                }
                if start < stop {
                    self.count(alignment, (start, stop), &mut sink.tally);
                    *next = stop;
                }
                mismatches = 0;
            }
            if last == end && end < bases {
                return if is_long { *next } else { first };
            }
            mismatches += 1;
            (first, from) = (last + 1, last + 1);
            if end < from + k {
                // No more k-mers fit in this sequence; if the read ends here, the search ends too.
                return if end == bases { bases } else { from };
            }
            if mismatches > MISMATCHES_MAX {
                return from;
            }
        }
    }

    /// Returns the numbers of bases before `base` and from `base` on that are both in the read and
    /// in the sequence of the text.
    #[inline]
    fn room(&self, (alignment, base): (Alignment, usize), bases: usize) -> (usize, usize) {
        let place = alignment.place(base) as usize;
        if alignment.is_turned {
            let end = self.text.end_after(place, place + 1 + base);
            let start = self.text.start_before(place, (place + 1).saturating_sub(bases - base));
            (end - 1 - place, place + 1 - start)
        } else {
            let start = self.text.start_before(place, place.saturating_sub(base));
            let end = self.text.end_after(place, place + bases - base);
            (place - start, end - place)
        }
    }

    #[inline(always)]
    fn count(&self, alignment: Alignment, (first, end): (usize, usize), tally: &mut Tally<'_, '_>) {
        if alignment.is_turned {
            // The k-mer at base `i` of the read begins k - 1 positions before that of the base.
            let place = |base: usize| (alignment.place(base) + 1) as usize - self.k;
            tally.add(place(end - 1), place(first));
        } else {
            let place = |base: usize| alignment.place(base) as usize;
            tally.add(place(first), place(end - 1));
        }
    }
}
