//! Lays reads along the sequences of the answer and counts the k-mers that both have, a stretch at
//! a time; what is left of a read is for others to count.

use super::counts::{Counts, Tally};
use super::index::{Index, is_sampled};
use super::packed::{Alignment, pack_letters};
use super::text::Text;

/// Reads that are looked for together, so that what memory is asked for comes at once: some take
/// many steps, so others take the place of those that are done.
const READS_AT_A_TIME: usize = 128;
/// Reads of a group, and words, of which a second-level cache has room for as many.
const GROUP_READS: usize = 512;
const GROUP_WORDS: usize = 1 << 13;
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

    /// Bytes that it takes, when what it grew by is given back.
    pub fn bytes(&self) -> u64 {
        (size_of_val(&self.words[..]) + size_of_val(&self.reads[..])) as u64
    }

    /// Bases of all reads.
    pub fn bases(&self) -> u64 {
        self.reads.iter().map(|&(_, bases)| bases as u64).sum()
    }

    /// Gives back what it grew by.
    pub fn shrink(&mut self) {
        self.words.shrink_to_fit();
        self.reads.shrink_to_fit();
    }

    /// Whether there are as many as are laid along the text together.
    pub fn is_full(&self) -> bool {
        self.reads.len() >= GROUP_READS || self.words.len() >= GROUP_WORDS
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

/// What is done when a read has its turn. Memory was asked for what that needs, which comes while
/// other reads have theirs.
#[derive(Clone, Copy)]
enum Turn {
    /// To ask for the places that the index has for a k-mer: its base, and its hash.
    Ask { base: usize, name: u64 },
    /// To find it at one of them.
    Find { base: usize, name: u64 },
    /// To count along the text from there on.
    Count { base: usize, alignment: Alignment },
}

/// How far a read is laid along the text.
#[derive(Clone, Copy)]
struct Search {
    /// Its number in the group.
    read: usize,
    /// The first k-mer that is not counted yet.
    next: usize,
    turn: Turn,
}

/// Where k-mers of reads go: those of the text, and others.
struct Found<'c, 'a, F> {
    tally: Tally<'c, 'a>,
    beside: F,
}

impl Follower<'_, '_, '_> {
    /// Counts the k-mers of reads that are found in the text; calls `beside` for each stretch of
    /// others, with the words of the read, its first k-mer and the k-mer after its last.
    pub fn follow(&self, group: &Group, beside: impl FnMut(&[u64], (usize, usize))) {
        let mut found = Found { tally: self.counts.tally(), beside };
        let read = |read: usize| (&group.words[group.reads[read].0..], group.reads[read].1);
        let mut searches =
            [Search { read: 0, next: 0, turn: Turn::Ask { base: 0, name: 0 } }; READS_AT_A_TIME];
        // Those that go on are in front.
        let (mut active, mut begun) = (0, 0);
        loop {
            while active < READS_AT_A_TIME && begun < group.reads.len() {
                let (words, bases) = read(begun);
                let kmers = (bases + 1).saturating_sub(self.k);
                if let Some(turn) = self.first_turn(words, (0, kmers)) {
                    searches[active] = Search { read: begun, next: 0, turn };
                    active += 1;
                } else if kmers > 0 {
                    (found.beside)(words, (0, kmers));
                }
                begun += 1;
            }
            if active == 0 {
                break;
            }
            let mut left = 0;
            for index in 0..active {
                let mut search = searches[index];
                if self.step(read(search.read), &mut search, &mut found) {
                    searches[left] = search;
                    left += 1;
                }
            }
            active = left;
        }
        found.tally.settle();
    }

    /// The first turn for the first k-mer of these that is in the index wherever it is in the text.
    #[inline(always)]
    fn first_turn(&self, read: &[u64], (first, last): (usize, usize)) -> Option<Turn> {
        let mut found = None;
        if first < last {
            self.index.core().each(read, (first, last), |base, core| {
                found = is_sampled(core).then_some((base, core));
                found.is_none()
            });
        }
        found.map(|(base, core)| self.turn_at(read, base, core))
    }

    #[inline(always)]
    fn turn_at(&self, read: &[u64], base: usize, core: u64) -> Turn {
        Turn::Ask { base, name: self.index.prefetch(read, base, core) }
    }

    /// Does a turn of a read; whether it has another one. When it has none, the k-mers that are not
    /// counted are given to `beside`.
    #[inline(always)]
    fn step(
        &self,
        (words, bases): (&[u64], usize),
        search: &mut Search,
        found: &mut Found<'_, '_, impl FnMut(&[u64], (usize, usize))>,
    ) -> bool {
        let kmers = (bases + 1).saturating_sub(self.k);
        let turn = match search.turn {
            Turn::Ask { base, name } => {
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
                let at = self.along((words, bases), (alignment, base), next, found);
                // Where a sequence ends another one may begin: its first k-mer is in the index.
                if at < kmers && at == *next {
                    Some(self.turn_at(words, at, self.index.core().hash(words, at)))
                } else {
                    self.first_turn(words, (at, kmers))
                }
            }
        };
        match turn {
            Some(turn) => search.turn = turn,
            None if search.next < kmers => (found.beside)(words, (search.next, kmers)),
            None => {}
        }
        turn.is_some()
    }

    /// Counts the k-mers of a read along one sequence of the text, from that at `base` on, and
    /// those before it that are not counted yet; returns the k-mer at which to look further.
    #[inline]
    fn along(
        &self,
        (words, bases): (&[u64], usize),
        (alignment, base): (Alignment, usize),
        next: &mut usize,
        found: &mut Found<'_, '_, impl FnMut(&[u64], (usize, usize))>,
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
                    (found.beside)(words, (*next, start));
                }
                if start < stop {
                    self.count(alignment, (start, stop), &mut found.tally);
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
    fn count(&self, alignment: Alignment, (first, end): (usize, usize), tally: &mut Tally<'_, '_>) {
        if alignment.is_turned {
            // The k-mer at base `i` of the read begins k - 1 places before that base's.
            let place = |base: usize| (alignment.place(base) + 1) as usize - self.k;
            tally.add(place(end - 1), place(first));
        } else {
            let place = |base: usize| alignment.place(base) as usize;
            tally.add(place(first), place(end - 1));
        }
    }
}
