//! Lays reads along the contigs of the size of k-mers before, and counts the k-mers that both have,
//! a stretch at a time. Of the others those go to buckets that may be in the reads more than once.
//!
//! Each k-mer of a read is counted in one of three ways, and it does not matter in which: with the
//! contig's, which has the same bases; by itself, where a shorter k-mer in it is in the reads once
//! and in no contig or bridge; or in its bucket. So a seed that is missed costs time alone.

use std::ops::Range;

use crate::kernel::contig_text::{ContigText, Diagonal};
use crate::kernel::repeated::RepeatedKmers;
use crate::kernel::scan::{self, ReadCounts, ReadCutter, Scanner, SuperKmer};
use crate::kernel::stretch_counts::StretchCounts;
use crate::kernel::words::pack;

/// Bases that are worked on together: their arrays stay in the first-level cache.
const CHUNK_BASES: usize = 4096;
/// Stretches that are shorter than a k-mer, one after the other, before a contig is given up.
const SHORT_MAX: usize = 4;
/// Bases before a seed that are compared: of a long read not all, after each seed.
const BEHIND_MAX: usize = 1024;

/// What reads are laid along.
#[derive(Clone, Copy)]
pub struct KnownKmers<'t, 'a> {
    /// Contigs.
    pub contigs: &'t ContigText<'a>,
    /// How often their k-mers were seen.
    pub counts: &'t StretchCounts<'a>,
    /// Shorter k-mers: all that are in the reads more than once or in contigs or bridges.
    pub repeated: Option<&'t RepeatedKmers<'a>>,
}

/// What lays reads, with its buffers.
pub struct ReadLayer<'t, 'a> {
    known: KnownKmers<'t, 'a>,
    k: usize,
    drop_ambiguous: bool,
    /// Cuts what is left of the reads.
    scanner: Scanner,
    codes: Vec<u8>,
    words: Vec<u64>,
    /// Stretches of bases, of the codes.
    stretches: Vec<(usize, usize)>,
    /// Those that are being laid along contigs.
    laid: Vec<Laid>,
    /// What is found in a chunk.
    found: Found,
}

/// How far a stretch is laid along contigs.
#[derive(Clone, Copy)]
struct Laid {
    /// The first k-mer that is not counted yet.
    next: usize,
    end: usize,
    /// The seed that is looked up next, and its hash.
    seed: Option<(usize, u64)>,
}

/// What is found about the k-mers of reads.
#[derive(Default)]
struct Found {
    /// K-mers of contigs.
    counted: Vec<Range<usize>>,
    /// Bases whose k-mers go to buckets.
    others: Vec<Range<usize>>,
    /// K-mers that are in the reads once.
    singles: u64,
}

impl<'t, 'a> ReadLayer<'t, 'a> {
    /// For k-mers of `k` bases and 2^`bucket_bits` buckets. Reads with ambiguous letters are cut
    /// there, or left out whole.
    pub fn new(
        known: KnownKmers<'t, 'a>,
        (k, bucket_bits): (usize, u32),
        drop_ambiguous: bool,
    ) -> Self {
        Self {
            known,
            k,
            drop_ambiguous,
            scanner: Scanner::new(k, bucket_bits, drop_ambiguous),
            codes: Vec::new(),
            words: Vec::new(),
            stretches: Vec::new(),
            laid: Vec::new(),
            found: Found::default(),
        }
    }

    /// What was counted in the reads so far.
    pub fn tally(&self) -> ReadCounts {
        self.scanner.tally
    }

    fn lay(&mut self, emit: &mut impl FnMut(&SuperKmer<'_>)) {
        // An ambiguous letter belongs to no stretch; any base may stand in for it.
        self.codes.iter_mut().for_each(|code| *code &= 3);
        pack(&self.codes, &mut self.words);
        let search = Search { known: &self.known, words: &self.words, k: self.k };
        search.all(&self.stretches, &mut self.laid, &mut self.found);
        let Found { counted, others, singles } = &mut self.found;
        self.known.counts.add(counted);
        counted.clear();
        for bases in others.drain(..) {
            self.scanner.take_codes(&self.codes[bases], emit);
        }
        self.scanner.tally.singles += std::mem::take(singles);
        self.codes.clear();
        self.stretches.clear();
    }
}

impl ReadCutter for ReadLayer<'_, '_> {
    fn take(&mut self, read: &[u8], emit: &mut impl FnMut(&SuperKmer<'_>)) -> Result<(), usize> {
        if self.codes.len() + read.len() > CHUNK_BASES {
            self.lay(emit);
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
        self.lay(emit);
        self.scanner.flush(emit);
    }
}

/// What a stretch of bases is laid along.
struct Search<'s, 't, 'a> {
    known: &'s KnownKmers<'t, 'a>,
    /// The reads.
    words: &'s [u64],
    k: usize,
}

impl Search<'_, '_, '_> {
    /// Lays stretches along contigs, a seed of each at a time, so that what is needed of memory
    /// comes at once and not one after the other.
    fn all(&self, stretches: &[(usize, usize)], laid: &mut Vec<Laid>, found: &mut Found) {
        let contigs = self.known.contigs;
        laid.clear();
        laid.extend(stretches.iter().map(|&(start, end)| {
            let seed = contigs.seed(self.words, (start, end));
            Laid { next: start, end, seed }
        }));
        while !laid.is_empty() {
            for (_, hash) in laid.iter().filter_map(|one| one.seed) {
                contigs.prefetch_slot(hash);
            }
            for (_, hash) in laid.iter().filter_map(|one| one.seed) {
                contigs.prefetch_place(hash);
            }
            laid.retain_mut(|one| {
                self.step(one, found);
                let is_done = one.seed.is_none();
                if is_done {
                    self.beside(one.next..(one.end + 1 - self.k).max(one.next), found);
                }
                !is_done
            });
        }
    }

    /// Lays a stretch along the contigs that have its seed, and finds the next one.
    #[inline]
    fn step(&self, one: &mut Laid, found: &mut Found) {
        let Some(at) = one.seed else { return };
        let contigs = self.known.contigs;
        let mut from = at.0 + 1;
        let bases = (one.next.max(at.0.saturating_sub(BEHIND_MAX)), one.end);
        contigs.find(self.words, (at, bases), |diagonal| {
            let reached = self.count(&diagonal, at.0, (&mut one.next, &mut *found));
            from = from.max(reached.unwrap_or(0));
            reached.is_some()
        });
        one.seed = contigs.seed(self.words, (from, one.end));
    }

    /// Counts the k-mers of a read from `next` on that are those of a contig; where to look for the
    /// next seed, if there were some.
    #[inline]
    fn count(
        &self,
        diagonal: &Diagonal,
        seed: usize,
        (next, found): (&mut usize, &mut Found),
    ) -> Option<usize> {
        let (k, (start, end)) = (self.k, diagonal.bases);
        let (mut first, mut short, mut has_some) = (start, 0, false);
        let mut take = |first: usize, end: usize| {
            let kmers = first.max(*next)..(end + 1).saturating_sub(k);
            if kmers.is_empty() {
                return false;
            }
            self.beside(*next..kmers.start, found);
            *next = kmers.end;
            let place = |base: usize| diagonal.kmer_place(base, k);
            found.counted.push(if diagonal.is_turned {
                place(kmers.end - 1)..place(kmers.start) + 1
            } else {
                place(kmers.start)..place(kmers.end)
            });
            true
        };
        let mut given_up = None;
        self.known.contigs.each_mismatch(self.words, diagonal, |mismatch| {
            let is_counted = take(first, mismatch);
            has_some |= is_counted;
            first = mismatch + 1;
            short = if is_counted || mismatch < seed { 0 } else { short + 1 };
            if short > SHORT_MAX {
                given_up = Some(first);
            }
            given_up.is_none()
        });
        has_some |= given_up.is_none() && take(first, end);
        // Where the contig ends another one may begin, with a seed that is not whole in this one.
        let seed_bases = self.known.contigs.seed_bases();
        has_some.then(|| given_up.unwrap_or((end + 1).saturating_sub(seed_bases)))
    }

    /// K-mers that are not laid along a contig.
    #[inline]
    fn beside(&self, kmers: Range<usize>, found: &mut Found) {
        let Some(repeated) = self.known.repeated else {
            return self.to_buckets(kmers, found);
        };
        let within = self.k + 1 - repeated.k();
        // From here on k-mers are to go to buckets.
        let mut others = kmers.start;
        let mut first = kmers.start;
        while first < kmers.end {
            // All these k-mers have the shorter ones from the last of them on.
            let end = (first + within).min(kmers.end);
            let shared = end - 1..first + within;
            if self.has_single(repeated, shared) {
                self.to_buckets(others..first, found);
                found.singles += (end - first) as u64;
                others = end;
            }
            first = end;
        }
        self.to_buckets(others..kmers.end, found);
    }

    /// Whether of the shorter k-mers at some places the first or the last is in the reads once: a
    /// wrong base is in one of these, where the k-mers around it are all that have it.
    #[inline(always)]
    fn has_single(&self, repeated: &RepeatedKmers<'_>, places: Range<usize>) -> bool {
        !repeated.may_have(self.words, places.start)
            || places.len() > 1 && !repeated.may_have(self.words, places.end - 1)
    }

    #[inline]
    fn to_buckets(&self, kmers: Range<usize>, found: &mut Found) {
        if !kmers.is_empty() {
            found.others.push(kmers.start..kmers.end + self.k - 1);
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

    /// How often each k-mer is in some reads.
    fn counted(reads: &[Vec<Base>], k: usize) -> KmerMap<u128, u32> {
        let mut counts = KmerMap::default();
        for kmer in reads.iter().flat_map(|read| kmers::<u128>(read, k)) {
            *counts.entry(kmer.canonical(k)).or_insert(0) += 1;
        }
        counts
    }

    /// K-mers that a super-k-mer counts, each in the bucket of its left end.
    fn add(part: &SuperKmer<'_>, k: usize, counts: &mut KmerMap<u128, u32>) {
        let mut bytes = [0; 200];
        part.pack(k, &mut bytes);
        let (kmers, flags) = (part.kmers, part.flags);
        let record = PackedSuperKmer { kmers, flags, weight: 0, counts: &[], bytes: &bytes };
        let mut is_repeated = flags & REPEATED != 0;
        record.each(k, |one: u128, two, inside| {
            if inside & LEFT_INSIDE != 0 && !std::mem::take(&mut is_repeated) {
                *counts.entry(one.min(two)).or_insert(0) += 1;
            }
        });
    }

    /// Reads of either strand of sequences, each base of which may be wrong.
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
        fn every_kmer_of_the_reads_is_counted_once(
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
            let known = KnownKmers { contigs: &text, counts: &counts, repeated };
            let mut layer = ReadLayer::new(known, (k, 4), false);
            let mut found = KmerMap::default();
            let mut emit = |part: &SuperKmer<'_>| add(part, k, &mut found);
            for read in &reads {
                let letters: Vec<u8> =
                    read.iter().map(|&base| b"ACGT"[usize::from(base)]).collect();
                layer.take(&letters, &mut emit).unwrap();
            }
            layer.flush(&mut emit);
            let mut of_contig = Vec::new();
            for (index, _) in contigs.iter().enumerate().filter(|(_, codes)| codes.len() >= k) {
                let (start, end) = text.range(index);
                counts.of(start..end + 1 - k, &mut of_contig);
                for (kmer, count) in kmers::<u128>(long(index), k).zip(&of_contig) {
                    *found.entry(kmer.canonical(k)).or_insert(0) += count;
                }
            }
            let solid = counted(&contigs, k);
            let mut singles = 0;
            for (kmer, count) in counted(&reads, k) {
                let there = found.remove(&kmer).unwrap_or(0);
                if there != count {
                    prop_assert_eq!((there, count, solid.get(&kmer)), (0, 1, None));
                    singles += 1;
                }
            }
            prop_assert_eq!(layer.tally().singles, singles);
            prop_assert!(has_filter || singles == 0);
            prop_assert!(found.values().all(|&count| count == 0));
            let bases: usize = reads.iter().map(Vec::len).sum();
            prop_assert_eq!(layer.tally().bases, bases as u64);
        }
    }

    /// Reads of a contig without errors are counted along it alone.
    #[test]
    fn what_is_on_a_contig_goes_to_no_bucket() {
        let stream = cuesta_core::random::Stream::new(1, 0);
        let contig: Vec<Base> = (0..5000).map(|place| (stream.bits(place) & 3) as Base).collect();
        let budget = Budget::new(1 << 20);
        let text = ContigText::new(1, |_| &contig[..], (43, &budget)).unwrap();
        let counts = StretchCounts::new(text.end(), &budget).unwrap();
        let known = KnownKmers { contigs: &text, counts: &counts, repeated: None };
        let mut layer = ReadLayer::new(known, (43, 4), false);
        let letters: Vec<u8> = contig.iter().map(|&base| b"ACGT"[usize::from(base)]).collect();
        let mut others = 0;
        let mut emit = |part: &SuperKmer<'_>| others += part.kmers;
        for start in 0..4900 {
            layer.take(&letters[start..start + 100], &mut emit).unwrap();
        }
        layer.flush(&mut emit);
        // A read has no seed now and then.
        assert!(others < 4900 * 58 / 100, "{others}");
    }

    /// A wrong base that no other read has leaves nothing for buckets, wherever it is in its read.
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
            let known = KnownKmers { contigs: &text, counts: &counts, repeated: Some(&filter) };
            let mut layer = ReadLayer::new(known, (k, 4), false);
            let mut others = 0;
            let mut emit = |part: &SuperKmer<'_>| others += part.kmers;
            let mut wrong = 0;
            for start in 0..1800 {
                let mut read = contig[start..start + 100].to_vec();
                let place = start % 100;
                read[place] ^= 2;
                wrong += (place + 1).min(101 - k) - (place + 1).saturating_sub(k);
                let letters: Vec<u8> =
                    read.iter().map(|&base| b"ACGT"[usize::from(base)]).collect();
                layer.take(&letters, &mut emit).unwrap();
            }
            layer.flush(&mut emit);
            let singles = layer.tally().singles as usize;
            assert!(singles <= wrong && singles > wrong / 100 * 98, "{k} {singles} {wrong}");
        }
    }

    #[test]
    fn what_is_no_base_is_refused_and_ambiguous_letters_cut() {
        let budget = Budget::new(1 << 20);
        let text = ContigText::new(0, |_| &[], (15, &budget)).unwrap();
        let counts = StretchCounts::new(text.end(), &budget).unwrap();
        let known = KnownKmers { contigs: &text, counts: &counts, repeated: None };
        for (drop_ambiguous, kmers) in [(false, 3), (true, 1)] {
            let mut layer = ReadLayer::new(known, (15, 4), drop_ambiguous);
            let mut found = KmerMap::default();
            let mut emit = |part: &SuperKmer<'_>| add(part, 15, &mut found);
            layer.take(b"ACGTTACGTTAGGCA", &mut emit).unwrap();
            assert_eq!(layer.take(b"ACGTELVIS", &mut emit), Err(4));
            layer.take(b"ACGTTACGTTAGGCANacguuacguuaggcg", &mut emit).unwrap();
            layer.flush(&mut emit);
            assert_eq!(found.values().sum::<u32>(), kmers);
            assert_eq!(layer.tally().bases, if drop_ambiguous { 15 } else { 45 });
        }
    }
}
