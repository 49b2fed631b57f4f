//! Lays reads along the sequences of the answer and counts the k-mers that both have, a stretch at
//! a time; what is left of a read is for others to count.

use std::hint::black_box;

use super::counts::Counts;
use super::index::{Index, is_sampled};
use super::packed::{Alignment, pack_letters};
use super::text::Text;

/// Reads that are looked for together, so that what memory is asked for comes at once.
pub const READS_AT_A_TIME: usize = 32;
/// Bases that do not agree, with less than a k-mer between them, before the place is given up.
const MISMATCHES_MAX: usize = 3;

/// Some reads, packed.
#[derive(Default)]
pub struct Group {
    words: Vec<u64>,
    /// Where the words of each begin, and its bases.
    reads: Vec<(usize, usize)>,
}

impl Group {
    /// Forgets all.
    pub fn clear(&mut self) {
        self.words.clear();
        self.reads.clear();
    }

    /// Adds a read of the letters A, C, G, T, U alone.
    pub fn push(&mut self, letters: &[u8]) {
        self.reads.push((self.words.len(), letters.len()));
        pack_letters(letters, &mut self.words);
    }

    /// How many reads there are.
    pub fn len(&self) -> usize {
        self.reads.len()
    }
}

/// What reads are laid along.
pub struct Follower<'f, 't, 'a> {
    /// The sequences.
    pub text: &'f Text<'a>,
    /// Where their k-mers are.
    pub index: &'f Index<'t, 'a>,
    /// How often these were seen.
    pub counts: &'f Counts<'a>,
    /// Size of k-mers.
    pub k: usize,
}

/// Where a k-mer of a read may be looked up, and the hash of its core.
type Probe = (usize, u64);

impl Follower<'_, '_, '_> {
    /// Counts the k-mers of reads that are found in the text; calls `beside` for each stretch of
    /// others, with the words of the read, its first k-mer and the k-mer after its last.
    pub fn follow(&self, group: &Group, mut beside: impl FnMut(&[u64], (usize, usize))) {
        let mut probes: [Option<Probe>; READS_AT_A_TIME] = [None; READS_AT_A_TIME];
        let mut places = [0; READS_AT_A_TIME];
        for reads in group.reads.chunks(READS_AT_A_TIME) {
            for (&(start, bases), probe) in reads.iter().zip(&mut probes) {
                let words = &group.words[start..];
                *probe = self.probe(words, (0, (bases + 1).saturating_sub(self.k)));
            }
            for ((&(start, _), probe), place) in reads.iter().zip(&probes).zip(&mut places) {
                *place = probe
                    .map_or(0, |(base, core)| self.index.touch(&group.words[start..], base, core));
            }
            let texts = self.text.words();
            let touched = places[..reads.len()]
                .iter()
                .map(|&place| texts[place / 32] ^ self.counts.touch(place) as u64);
            black_box(touched.fold(0, |all, one| all ^ one));
            for (&(start, bases), &probe) in reads.iter().zip(&probes) {
                self.read((&group.words[start..], bases), probe, &mut beside);
            }
        }
    }

    /// The first k-mer of these that is in the index wherever it is in the text.
    #[inline(always)]
    fn probe(&self, read: &[u64], (first, last): (usize, usize)) -> Option<Probe> {
        let mut found = None;
        if first < last {
            self.index.core().each(read, (first, last), |base, core| {
                found = is_sampled(core).then_some((base, core));
                found.is_none()
            });
        }
        found
    }

    #[inline]
    fn read(
        &self,
        (words, bases): (&[u64], usize),
        mut probe: Option<Probe>,
        beside: &mut impl FnMut(&[u64], (usize, usize)),
    ) {
        let kmers = (bases + 1).saturating_sub(self.k);
        // The first k-mer that is not counted yet.
        let mut next = 0;
        while let Some((base, core)) = probe {
            let Some(alignment) = self.index.find(words, base, core) else {
                probe = self.probe(words, (base + 1, kmers));
                continue;
            };
            let at = self.along((words, bases), (alignment, base), &mut next, beside);
            // Where a sequence ends another one may begin: its first k-mer is in the index.
            let following = (at < kmers).then(|| (at, self.index.core().hash(words, at)));
            probe = match following.filter(|_| at == next) {
                Some(following) => Some(following),
                None => self.probe(words, (at, kmers)),
            };
        }
        if next < kmers {
            beside(words, (next, kmers));
        }
    }

    /// Counts the k-mers of a read along one sequence of the text, from that at `base` on, and
    /// those before it that are not counted yet; returns the k-mer at which to look further.
    #[inline]
    fn along(
        &self,
        (words, bases): (&[u64], usize),
        (alignment, base): (Alignment, usize),
        next: &mut usize,
        beside: &mut impl FnMut(&[u64], (usize, usize)),
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
                    beside(words, (*next, start));
                }
                if start < stop {
                    self.count(alignment, start, stop);
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
                // Nothing more to count here; of a read that ends here, nowhere.
                return if end == bases { bases } else { from };
            }
            if mismatches > MISMATCHES_MAX {
                return from;
            }
        }
    }

    /// The bases before and after `base`, that included, that are both in the read and in the
    /// sequence of the text.
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
    fn count(&self, alignment: Alignment, first: usize, end: usize) {
        if alignment.is_turned {
            // The k-mer at base `i` of the read begins k - 1 places before that base's.
            let place = |base: usize| (alignment.place(base) + 1) as usize - self.k;
            self.counts.add(place(end - 1), place(first));
        } else {
            let place = |base: usize| alignment.place(base) as usize;
            self.counts.add(place(first), place(end - 1));
        }
    }
}
