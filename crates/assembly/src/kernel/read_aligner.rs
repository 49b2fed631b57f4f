//! Aligns reads to the contigs of the previous k-mer size, and counts the k-mers that both share, a
//! stretch at a time. K-mers that may occur more than once in the reads but in no contig go to
//! buckets.
//!
//! Each k-mer of a read is counted in one of three ways, all of which give the same counts: at its
//! position on a contig with the same bases; as a single, where it contains a shorter k-mer that
//! occurs once in the reads and in no contig or bridge; or in its bucket. So a missed seed costs
//! only time.

use std::ops::Range;

use crate::kernel::contig_text::{ContigText, Diagonal};
use crate::kernel::repeated::RepeatedKmers;
use crate::kernel::scan::{self, ReadCounts, ReadCutter, Scanner, SuperKmer};
use crate::kernel::stretch_counts::StretchCounts;
use crate::kernel::words::pack;

/// Bases that are processed together: their arrays fit in the first-level cache.
const CHUNK_BASES: usize = 4096;
/// Consecutive matching stretches shorter than a k-mer after which a diagonal is given up.
const SHORT_MAX: usize = 4;
/// Most bases before a seed that are compared, which bounds the cost per seed of a long read.
const BEHIND_MAX: usize = 1024;

/// Contigs to which reads are aligned, with the counts of their k-mers.
#[derive(Clone, Copy)]
pub struct ContigKmers<'t, 'a> {
    /// The contigs.
    pub contigs: &'t ContigText<'a>,
    /// Counts of their k-mers.
    pub counts: &'t StretchCounts<'a>,
    /// Shorter k-mers: all that occur more than once in the reads, or in contigs or bridges.
    pub repeated: Option<&'t RepeatedKmers<'a>>,
}

/// Aligner of reads, with its buffers.
pub struct ReadAligner<'t, 'a> {
    target: ContigKmers<'t, 'a>,
    k: usize,
    drop_ambiguous: bool,
    /// Cuts the unaligned parts of the reads.
    scanner: Scanner,
    codes: Vec<u8>,
    words: Vec<u64>,
    /// Stretches of bases without ambiguous letters, as ranges of `codes`.
    stretches: Vec<(usize, usize)>,
    /// Stretches that are being aligned to contigs.
    active: Vec<ActiveStretch>,
    /// Results of the current chunk.
    chunk: ChunkKmers,
}

/// State of a stretch that is being aligned.
#[derive(Clone, Copy)]
struct ActiveStretch {
    /// First k-mer that is not counted yet.
    next: usize,
    end: usize,
    /// Seed that is looked up next, and its hash.
    seed: Option<(usize, u64)>,
}

/// K-mers of a chunk by the way in which they are counted.
#[derive(Default)]
struct ChunkKmers {
    /// Ranges of positions in the contigs, of k-mers that match them.
    counted: Vec<Range<usize>>,
    /// Ranges of bases whose k-mers go to buckets.
    to_buckets: Vec<Range<usize>>,
    /// Number of k-mers that occur once in the reads.
    singles: u64,
}

impl<'t, 'a> ReadAligner<'t, 'a> {
    /// Creates an aligner for k-mers of `k` bases and 2^`bucket_bits` buckets. Reads are cut at
    /// ambiguous letters, or dropped if they have any.
    pub fn new(
        target: ContigKmers<'t, 'a>,
        (k, bucket_bits): (usize, u32),
        drop_ambiguous: bool,
    ) -> Self {
        Self {
            target,
            k,
            drop_ambiguous,
            scanner: Scanner::new(k, bucket_bits, drop_ambiguous),
            codes: Vec::new(),
            words: Vec::new(),
            stretches: Vec::new(),
            active: Vec::new(),
            chunk: ChunkKmers::default(),
        }
    }

    /// Returns the counts of the reads so far.
    pub fn tally(&self) -> ReadCounts {
        self.scanner.tally
    }

    fn align(&mut self, emit: &mut impl FnMut(&SuperKmer<'_>)) {
        // No stretch contains an ambiguous letter, so any base may stand in for it.
        self.codes.iter_mut().for_each(|code| *code &= 3);
        pack(&self.codes, &mut self.words);
        let search = Search { target: &self.target, words: &self.words, k: self.k };
        search.all(&self.stretches, &mut self.active, &mut self.chunk);
        let ChunkKmers { counted, to_buckets, singles } = &mut self.chunk;
        self.target.counts.add(counted);
        counted.clear();
        for bases in to_buckets.drain(..) {
            self.scanner.take_codes(&self.codes[bases], emit);
        }
        self.scanner.tally.singles += std::mem::take(singles);
        self.codes.clear();
        self.stretches.clear();
    }
}

impl ReadCutter for ReadAligner<'_, '_> {
    fn take(&mut self, read: &[u8], emit: &mut impl FnMut(&SuperKmer<'_>)) -> Result<(), usize> {
        if self.codes.len() + read.len() > CHUNK_BASES {
            self.align(emit);
        }
        let Self { codes, stretches, k, .. } = self;
        let bases = scan::append_codes(read, self.drop_ambiguous, codes, |start, end| {
            if end - start >= *k {
                stretches.push((start, end));
            }
        })?;
        let tally = &mut self.scanner.tally;
        tally.bases += bases;
        tally.longest = tally.longest.max(read.len() as u64);
        Ok(())
    }

    fn flush(&mut self, emit: &mut impl FnMut(&SuperKmer<'_>)) {
        self.align(emit);
        self.scanner.flush(emit);
    }
}

/// Contigs and reads of an alignment.
struct Search<'s, 't, 'a> {
    target: &'s ContigKmers<'t, 'a>,
    /// The packed reads.
    words: &'s [u64],
    k: usize,
}

impl Search<'_, '_, '_> {
    /// Aligns stretches to contigs. All stretches advance by a seed at a time, so that their cache
    /// misses overlap.
    fn all(
        &self,
        stretches: &[(usize, usize)],
        active: &mut Vec<ActiveStretch>,
        chunk: &mut ChunkKmers,
    ) {
        let contigs = self.target.contigs;
        active.clear();
        active.extend(stretches.iter().map(|&(start, end)| {
            let seed = contigs.seed(self.words, (start, end));
            ActiveStretch { next: start, end, seed }
        }));
        while !active.is_empty() {
            for (_, hash) in active.iter().filter_map(|stretch| stretch.seed) {
                contigs.prefetch_slot(hash);
            }
            for (_, hash) in active.iter().filter_map(|stretch| stretch.seed) {
                contigs.prefetch_place(hash);
            }
            active.retain_mut(|stretch| {
                self.step(stretch, chunk);
                let is_done = stretch.seed.is_none();
                if is_done {
                    self.count_unaligned(
                        stretch.next..(stretch.end + 1 - self.k).max(stretch.next),
                        chunk,
                    );
                }
                !is_done
            });
        }
    }

    /// Aligns a stretch to the contigs that contain its seed, and finds its next seed.
    #[inline]
    fn step(&self, stretch: &mut ActiveStretch, chunk: &mut ChunkKmers) {
        let Some(at) = stretch.seed else { return };
        let contigs = self.target.contigs;
        let mut from = at.0 + 1;
        let bases = (stretch.next.max(at.0.saturating_sub(BEHIND_MAX)), stretch.end);
        contigs.find(self.words, (at, bases), |diagonal| {
            let reached = self.count(&diagonal, at.0, (&mut stretch.next, &mut *chunk));
            from = from.max(reached.unwrap_or(0));
            reached.is_some()
        });
        stretch.seed = contigs.seed(self.words, (from, stretch.end));
    }

    /// Counts the k-mers of a stretch from `next` on that match a contig. If there are any, returns
    /// the base from which to search for the next seed.
    #[inline]
    fn count(
        &self,
        diagonal: &Diagonal,
        seed: usize,
        (next, chunk): (&mut usize, &mut ChunkKmers),
    ) -> Option<usize> {
        let (k, (start, end)) = (self.k, diagonal.bases);
        let (mut first, mut short, mut has_some) = (start, 0, false);
        let mut take = |first: usize, end: usize| {
            let kmers = first.max(*next)..(end + 1).saturating_sub(k);
            if kmers.is_empty() {
                return false;
            }
            self.count_unaligned(*next..kmers.start, chunk);
            *next = kmers.end;
            let place = |base: usize| diagonal.kmer_place(base, k);
            chunk.counted.push(if diagonal.is_turned {
                place(kmers.end - 1)..place(kmers.start) + 1
            } else {
                place(kmers.start)..place(kmers.end)
            });
            true
        };
        let mut stopped_at = None;
        self.target.contigs.each_mismatch(self.words, diagonal, |mismatch| {
            let is_counted = take(first, mismatch);
            has_some |= is_counted;
            first = mismatch + 1;
            short = if is_counted || mismatch < seed { 0 } else { short + 1 };
            if short > SHORT_MAX {
                stopped_at = Some(first);
            }
            stopped_at.is_none()
        });
        has_some |= stopped_at.is_none() && take(first, end);
        // Another contig may begin where this one ends, with a seed that is partly outside this
        // one.
        let seed_bases = self.target.contigs.seed_bases();
        has_some.then(|| stopped_at.unwrap_or((end + 1).saturating_sub(seed_bases)))
    }

    /// Counts k-mers that match no contig: as singles, or in their buckets.
    #[inline]
    fn count_unaligned(&self, kmers: Range<usize>, chunk: &mut ChunkKmers) {
        let Some(repeated) = self.target.repeated else {
            return self.to_buckets(kmers, chunk);
        };
        let within = self.k + 1 - repeated.k();
        // First k-mer that is neither counted nor sent to a bucket yet.
        let mut pending = kmers.start;
        let mut first = kmers.start;
        while first < kmers.end {
            // All k-mers from `first` to `end` contain the shorter k-mers at the positions
            // `shared`.
            let end = (first + within).min(kmers.end);
            let shared = end - 1..first + within;
            if self.has_single(repeated, shared) {
                self.to_buckets(pending..first, chunk);
                chunk.singles += (end - first) as u64;
                pending = end;
            }
            first = end;
        }
        self.to_buckets(pending..kmers.end, chunk);
    }

    /// Returns whether the first or the last shorter k-mer in a range of positions occurs once in
    /// the reads. A wrong base in the k-mers around is in one of these two.
    #[inline(always)]
    fn has_single(&self, repeated: &RepeatedKmers<'_>, places: Range<usize>) -> bool {
        !repeated.may_have(self.words, places.start)
            || places.len() > 1 && !repeated.may_have(self.words, places.end - 1)
    }

    #[inline]
    fn to_buckets(&self, kmers: Range<usize>, chunk: &mut ChunkKmers) {
        if !kmers.is_empty() {
            chunk.to_buckets.push(kmers.start..kmers.end + self.k - 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::kmer::{Base, Kmer, KmerMap, kmers};
    use crate::kernel::packed::{LEFT_INSIDE, PackedSuperKmer};
    use crate::kernel::scan::REPEATED;
    use cuesta_core::budget::Budget;
    use proptest::prelude::*;

    /// Counts each k-mer of the reads.
    fn counted(reads: &[Vec<Base>], k: usize) -> KmerMap<u128, u32> {
        let mut counts = KmerMap::default();
        for kmer in reads.iter().flat_map(|read| kmers::<u128>(read, k)) {
            *counts.entry(kmer.canonical(k)).or_insert(0) += 1;
        }
        counts
    }

    /// Adds the k-mers that a super-k-mer counts, each in the bucket of its left end.
    fn add(part: &SuperKmer<'_>, k: usize, counts: &mut KmerMap<u128, u32>) {
        let mut bytes = [0; 200];
        part.pack(k, &mut bytes);
        let (kmers, flags) = (part.kmers, part.flags);
        let record = PackedSuperKmer { kmers, flags, weight: 0, counts: &[], bytes: &bytes };
        let mut is_repeated = flags & REPEATED != 0;
        record.each(k, |forward: u128, backward, inside| {
            if inside & LEFT_INSIDE != 0 && !std::mem::take(&mut is_repeated) {
                *counts.entry(forward.min(backward)).or_insert(0) += 1;
            }
        });
    }

    /// Draws sequences and reads of either strand, with or without a wrong base.
    fn reads() -> impl Strategy<Value = (Vec<Vec<Base>>, Vec<Vec<Base>>)> {
        let sequence = prop_oneof![
            3 => prop::collection::vec(0u8..4, 60..500),
            1 => prop::collection::vec(0u8..2, 60..200),
        ];
        let cut = (any::<u16>(), 20usize..150, any::<bool>(), prop::option::of(any::<u16>()));
        let cuts = prop::collection::vec((any::<u8>(), cut), 1..60);
        (prop::collection::vec(sequence, 1..4), cuts).prop_map(|(sequences, cuts)| {
            let read = |(which, cut): (u8, (u16, usize, bool, Option<u16>))| {
                let (start, length, is_turned, error) = cut;
                let sequence: &Vec<Base> = &sequences[usize::from(which) % sequences.len()];
                let start = usize::from(start) % sequence.len();
                let mut read: Vec<Base> =
                    sequence.iter().copied().cycle().skip(start).take(length).collect();
                if is_turned {
                    read = read.iter().rev().map(|&base| 3 - base).collect();
                }
                if let Some(error) = error {
                    let place = usize::from(error) % length;
                    read[place] = (read[place] + 1) & 3;
                }
                read
            };
            let reads = cuts.into_iter().map(read).collect();
            (sequences, reads)
        })
    }

    proptest! {
        #[test]
        fn all_kmers_of_the_reads_are_counted_once(
            (contigs, reads) in reads(),
            (k, shorter) in prop::sample::select(vec![(21, 15), (33, 15), (43, 31), (63, 31)]),
            has_filter in any::<bool>(),
        ) {
            let budget = Budget::new(1 << 20);
            let long = |index: usize| match &contigs[index] {
                codes if codes.len() >= k => &codes[..],
                _ => &[],
            };
            let text = ContigText::new(contigs.len(), long, (k, &budget)).unwrap();
            let counts = StretchCounts::new(text.end(), &budget).unwrap();
            let filter = RepeatedKmers::new(shorter, 4000, &budget).unwrap();
            let hash = |kmer: u64| kmer.canonical(shorter).mixed();
            let short = counted(&reads, shorter).into_iter().filter(|&(_, count)| count > 1);
            filter.add(short.map(|(kmer, _)| hash(kmer as u64)));
            filter.add(contigs.iter().flat_map(|codes| kmers::<u64>(codes, shorter)).map(hash));
            let repeated = has_filter.then_some(&filter);
            let target = ContigKmers { contigs: &text, counts: &counts, repeated };
            let mut aligner = ReadAligner::new(target, (k, 4), false);
            let mut kmer_counts = KmerMap::default();
            let mut emit = |part: &SuperKmer<'_>| add(part, k, &mut kmer_counts);
            for read in &reads {
                let letters: Vec<u8> =
                    read.iter().map(|&base| b"ACGT"[usize::from(base)]).collect();
                aligner.take(&letters, &mut emit).unwrap();
            }
            aligner.flush(&mut emit);
            let mut of_contig = Vec::new();
            for (index, _) in contigs.iter().enumerate().filter(|(_, codes)| codes.len() >= k) {
                let (start, end) = text.range(index);
                counts.of(start..end + 1 - k, &mut of_contig);
                for (kmer, count) in kmers::<u128>(long(index), k).zip(&of_contig) {
                    *kmer_counts.entry(kmer.canonical(k)).or_insert(0) += count;
                }
            }
            let solid = counted(&contigs, k);
            let mut singles = 0;
            for (kmer, count) in counted(&reads, k) {
                let observed = kmer_counts.remove(&kmer).unwrap_or(0);
                if observed != count {
                    prop_assert_eq!((observed, count, solid.get(&kmer)), (0, 1, None));
                    singles += 1;
                }
            }
            prop_assert_eq!(aligner.tally().singles, singles);
            prop_assert!(has_filter || singles == 0);
            prop_assert!(kmer_counts.values().all(|&count| count == 0));
            let bases: usize = reads.iter().map(Vec::len).sum();
            prop_assert_eq!(aligner.tally().bases, bases as u64);
        }
    }

    /// Reads of a contig without errors are counted at their positions on it alone.
    #[test]
    fn kmers_on_a_contig_are_sent_to_no_bucket() {
        let stream = cuesta_core::random::Stream::new(1, 0);
        let contig: Vec<Base> = (0..5000).map(|place| (stream.bits(place) & 3) as Base).collect();
        let budget = Budget::new(1 << 20);
        let text = ContigText::new(1, |_| &contig[..], (43, &budget)).unwrap();
        let counts = StretchCounts::new(text.end(), &budget).unwrap();
        let target = ContigKmers { contigs: &text, counts: &counts, repeated: None };
        let mut aligner = ReadAligner::new(target, (43, 4), false);
        let letters: Vec<u8> = contig.iter().map(|&base| b"ACGT"[usize::from(base)]).collect();
        let mut bucketed = 0;
        let mut emit = |part: &SuperKmer<'_>| bucketed += part.kmers;
        for start in 0..4900 {
            aligner.take(&letters[start..start + 100], &mut emit).unwrap();
        }
        aligner.flush(&mut emit);
        // Some reads have no seed.
        assert!(bucketed < 4900 * 58 / 100, "{bucketed}");
    }

    /// A wrong base that no other read has sends nothing to buckets, wherever it is in its read.
    #[test]
    fn kmers_with_a_wrong_base_are_counted_by_number_alone() {
        let stream = cuesta_core::random::Stream::new(2, 0);
        let contig: Vec<Base> = (0..2000).map(|place| (stream.bits(place) & 3) as Base).collect();
        let budget = Budget::new(1 << 20);
        for k in [43, 55, 79] {
            let text = ContigText::new(1, |_| &contig[..], (k, &budget)).unwrap();
            let counts = StretchCounts::new(text.end(), &budget).unwrap();
            let filter = RepeatedKmers::new(31, 50_000, &budget).unwrap();
            filter.add(kmers::<u64>(&contig, 31).map(|kmer| kmer.canonical(31).mixed()));
            let target = ContigKmers { contigs: &text, counts: &counts, repeated: Some(&filter) };
            let mut aligner = ReadAligner::new(target, (k, 4), false);
            let mut bucketed = 0;
            let mut emit = |part: &SuperKmer<'_>| bucketed += part.kmers;
            let mut wrong = 0;
            for start in 0..1800 {
                let mut read = contig[start..start + 100].to_vec();
                let place = start % 100;
                read[place] ^= 2;
                wrong += (place + 1).min(101 - k) - (place + 1).saturating_sub(k);
                let letters: Vec<u8> =
                    read.iter().map(|&base| b"ACGT"[usize::from(base)]).collect();
                aligner.take(&letters, &mut emit).unwrap();
            }
            aligner.flush(&mut emit);
            let singles = aligner.tally().singles as usize;
            assert!(singles <= wrong && singles > wrong / 100 * 98, "{k} {singles} {wrong}");
        }
    }

    #[test]
    fn letters_of_no_base_are_refused_and_ambiguous_letters_cut() {
        let budget = Budget::new(1 << 20);
        let text = ContigText::new(0, |_| &[], (15, &budget)).unwrap();
        let counts = StretchCounts::new(text.end(), &budget).unwrap();
        let target = ContigKmers { contigs: &text, counts: &counts, repeated: None };
        for (drop_ambiguous, kmers) in [(false, 3), (true, 1)] {
            let mut aligner = ReadAligner::new(target, (15, 4), drop_ambiguous);
            let mut kmer_counts = KmerMap::default();
            let mut emit = |part: &SuperKmer<'_>| add(part, 15, &mut kmer_counts);
            aligner.take(b"ACGTTACGTTAGGCA", &mut emit).unwrap();
            assert_eq!(aligner.take(b"ACGTELVIS", &mut emit), Err(4));
            aligner.take(b"ACGTTACGTTAGGCANacguuacguuaggcg", &mut emit).unwrap();
            aligner.flush(&mut emit);
            assert_eq!(kmer_counts.values().sum::<u32>(), kmers);
            assert_eq!(aligner.tally().bases, if drop_ambiguous { 15 } else { 45 });
        }
    }
}
