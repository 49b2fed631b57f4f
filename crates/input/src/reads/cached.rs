//! Cache of reads that several passes read: the first pass stores them in memory, four bases a
//! byte, if they fit.

use std::ops::Range;
use std::path::PathBuf;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use cuesta_core::Result;
use cuesta_core::budget::{Budget, Lease};

use super::trim::TrimCounts;
use super::{Pairing, ReadBatch, Reads};

/// Divisor of the memory limit that bounds the cache.
const MEMORY_PART: u64 = 16;
/// Bytes of text per byte of cached reads, of FASTQ, which has qualities, and of FASTA.
const TEXT_PARTS: [u64; 2] = [6, 3];
const LETTERS: [u8; 4] = *b"ACGT";
/// Code of a letter that is not a base.
const OTHER: u8 = 4;
/// Codes of letters, in upper and lower case.
pub(super) const CODES: [u8; 256] = codes();
/// The letters of a byte.
const UNPACKED: [[u8; 4]; 256] = unpacked();

const fn codes() -> [u8; 256] {
    let mut codes = [OTHER; 256];
    let mut code = 0;
    while code < 4 {
        let letter = LETTERS[code as usize];
        codes[letter as usize] = code;
        codes[letter.to_ascii_lowercase() as usize] = code;
        code += 1;
    }
    codes[b'U' as usize] = codes[b'T' as usize];
    codes[b'u' as usize] = codes[b'T' as usize];
    codes
}

const fn unpacked() -> [[u8; 4]; 256] {
    let mut all = [[0; 4]; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut place = 0;
        while place < 4 {
            all[byte][place] = LETTERS[byte >> (6 - 2 * place) & 3];
            place += 1;
        }
        byte += 1;
    }
    all
}

/// Reader of the same files in several passes, each of which ends before the next begins.
pub struct CachedReads<'a> {
    shared: Option<Arc<ReadCache>>,
    _lease: Option<Lease<'a>>,
}

/// The cache that threads share.
pub(super) struct ReadCache {
    most_bytes: u64,
    state: RwLock<State>,
}

#[derive(Default)]
struct State {
    batches: Vec<PackedBatch>,
    bytes: u64,
    /// Whether the reads do not fit.
    is_refused: bool,
    /// Whether a pass has read all reads.
    is_complete: bool,
}

/// A packed batch: bases are upper case, and U is stored as T.
struct PackedBatch {
    packed: Vec<u8>,
    ends: Vec<u32>,
    /// Positions and letters that are not bases.
    other_letters: Vec<(u32, u8)>,
    text_bytes: u64,
    source: usize,
    first: u64,
}

impl<'a> CachedReads<'a> {
    /// An empty cache for reads of about `text_bytes` bytes of text; disabled if there is too
    /// little memory.
    pub fn new(text_bytes: u64, budget: &'a Budget) -> Self {
        let available_bytes = budget.limit_bytes() / MEMORY_PART;
        let [least, most] = TEXT_PARTS.map(|part| text_bytes / part);
        if least > available_bytes {
            return Self::none();
        }
        let most_bytes = most.min(available_bytes);
        let lease = budget.try_take(most_bytes);
        let shared = lease.is_some().then(|| Arc::new(ReadCache::new(most_bytes)));
        Self { shared, _lease: lease }
    }

    /// A disabled cache.
    pub fn none() -> Self {
        Self { shared: None, _lease: None }
    }

    /// Begins a pass: over the cache if it holds all reads, else over the files.
    ///
    /// # Errors
    /// As [`Reads::open`].
    pub fn open(&self, paths: &[PathBuf], pairing: Pairing) -> Result<Reads> {
        let mut reads = Reads::open(paths, pairing)?;
        if let Some(cache) = &self.shared {
            let mut state = cache.state_mut();
            if state.is_refused {
                return Ok(reads);
            }
            if state.is_complete {
                state.batches.sort_unstable_by_key(|batch| (batch.source, batch.first));
                reads.next_cached = Some(AtomicUsize::new(0));
            } else {
                *state = State::default();
            }
            reads.cache = Some(cache.clone());
        }
        Ok(reads)
    }
}

impl ReadCache {
    fn new(most_bytes: u64) -> Self {
        Self { most_bytes, state: RwLock::default() }
    }

    fn state(&self) -> RwLockReadGuard<'_, State> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn state_mut(&self) -> RwLockWriteGuard<'_, State> {
        self.state.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a batch, or discards all batches if it does not fit.
    pub(super) fn add(&self, batch: &ReadBatch) {
        if self.state().is_refused {
            return;
        }
        let packed = PackedBatch::of(batch);
        let mut state = self.state_mut();
        let fits = |packed: &PackedBatch| state.bytes + packed.bytes() <= self.most_bytes;
        match packed.filter(|packed| !state.is_refused && fits(packed)) {
            Some(packed) => {
                state.bytes += packed.bytes();
                state.batches.push(packed);
            }
            None => *state = State { is_refused: true, ..State::default() },
        }
    }

    /// Marks the cache as complete: a pass has returned all reads.
    pub(super) fn complete(&self) {
        self.state_mut().is_complete = true;
    }

    /// The indices of the batches of a source, in their order.
    pub(super) fn of_source(&self, source: usize) -> Range<usize> {
        let batches = &self.state().batches;
        batches.partition_point(|batch| batch.source < source)
            ..batches.partition_point(|batch| batch.source <= source)
    }

    /// Fills `batch` from the cached batch at `index`; `false` if there is none.
    pub(super) fn fill(&self, index: usize, batch: &mut ReadBatch) -> bool {
        self.state().batches.get(index).map(|packed| packed.unpack(batch)).is_some()
    }
}

impl PackedBatch {
    /// Packs a batch; `None` if it has 2^32 bases or more.
    fn of(batch: &ReadBatch) -> Option<Self> {
        u32::try_from(batch.bases.len()).ok()?;
        let mut other_letters = Vec::new();
        let mut packed = Vec::with_capacity(batch.bases.len().div_ceil(4));
        for (index, four) in batch.bases.chunks(4).enumerate() {
            let mut codes = [0; 4];
            for (code, &letter) in codes.iter_mut().zip(four) {
                *code = CODES[usize::from(letter)];
            }
            if codes.iter().fold(0, |all, code| all | code) & OTHER != 0 {
                let places = (4 * index as u32..).zip(four).zip(&codes);
                other_letters.extend(
                    places
                        .filter(|(_, code)| **code == OTHER)
                        .map(|((place, letter), _)| (place, *letter)),
                );
            }
            packed.push(codes.iter().fold(0, |byte, code| byte << 2 | code & 3));
        }
        Some(Self {
            packed,
            ends: batch.ends.iter().map(|&end| end as u32).collect(),
            other_letters,
            text_bytes: batch.text_bytes,
            source: batch.source,
            first: batch.first,
        })
    }

    fn bytes(&self) -> u64 {
        let other_letters = size_of::<(u32, u8)>() * self.other_letters.capacity();
        (size_of::<Self>() + self.packed.len() + size_of::<u32>() * self.ends.len() + other_letters)
            as u64
    }

    fn unpack(&self, batch: &mut ReadBatch) {
        let ReadBatch { bases, ends, text_bytes, source, first, trimmed, .. } = batch;
        *trimmed = TrimCounts::default();
        bases.clear();
        bases.extend(self.packed.iter().flat_map(|&byte| UNPACKED[usize::from(byte)]));
        bases.truncate(self.ends.last().map_or(0, |&end| end as usize));
        for &(place, letter) in &self.other_letters {
            bases[place as usize] = letter;
        }
        ends.clear();
        ends.extend(self.ends.iter().map(|&end| end as usize));
        (*text_bytes, *source, *first) = (self.text_bytes, self.source, self.first);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cuesta_testkit::reads::reads_text;
    use proptest::prelude::*;
    use std::path::Path;

    /// All reads of a pass, sorted: source, record and letters of each.
    fn all_reads(reads: &Reads) -> Vec<(usize, u64, Vec<u8>)> {
        let (mut all, mut batch) = (Vec::new(), ReadBatch::default());
        let mut text_bytes = 0;
        while reads.next(&mut batch).unwrap() {
            text_bytes += batch.text_bytes();
            for (index, read) in batch.reads().enumerate() {
                all.push((batch.source(), reads.place(&batch, index).1, read.to_vec()));
            }
        }
        assert_eq!(reads.returned_reads(), all.len() as u64);
        all.push((usize::MAX, text_bytes, Vec::new()));
        all.sort();
        all
    }

    /// The reads of each source, in their order.
    fn firsts(reads: &Reads, pairing: Pairing) -> Vec<(usize, u64, Vec<u8>)> {
        let mut all = Vec::new();
        for source in 0..reads.sources() {
            let mut count = 0;
            let add = |batch: &ReadBatch| {
                for read in batch.reads() {
                    all.push((source, count, read.to_vec()));
                    count += 1;
                }
                true
            };
            reads.first(source, pairing, add).unwrap();
        }
        all
    }

    fn in_capitals(mut all: Vec<(usize, u64, Vec<u8>)>) -> Vec<(usize, u64, Vec<u8>)> {
        for letter in all.iter_mut().flat_map(|read| &mut read.2) {
            *letter = match *letter {
                b'u' | b'U' => b'T',
                b'a' | b'c' | b'g' | b't' => letter.to_ascii_uppercase(),
                other => other,
            };
        }
        all
    }

    fn written(folder: &Path, name: &str, text: &str) -> PathBuf {
        let path = folder.join(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    proptest! {
        #[test]
        fn a_later_pass_returns_the_same_reads(
            reads in prop::collection::vec(("[ACGTUNacgtunRy]{0,90}", "[@+>I]{90}"), 1..20),
            [fasta, windows, are_pairs, has_room] in any::<[bool; 4]>(),
        ) {
            let folder = tempfile::tempdir().unwrap();
            let text = reads_text(&reads, fasta, windows);
            let paths = ["one", "two"].map(|name| written(folder.path(), name, &text));
            let pairing = if are_pairs { Pairing::IN_TWO_FILES } else { Pairing::NONE };
            let budget = Budget::new(if has_room { 1 << 24 } else { 160 });
            let cached = CachedReads::new(1 << 18, &budget);
            prop_assert_eq!(cached.shared.is_some(), has_room);
            let plain = all_reads(&Reads::open(&paths, pairing).unwrap());
            let first = firsts(&Reads::open(&paths, pairing).unwrap(), pairing);
            prop_assert_eq!(first.len() + 1, plain.len());
            // A pass that is abandoned does not complete the cache.
            let begun = cached.open(&paths, pairing).unwrap();
            prop_assert!(begun.next(&mut ReadBatch::default()).unwrap());
            prop_assert_eq!(&all_reads(&cached.open(&paths, pairing).unwrap()), &plain);
            for _ in 0..2 {
                let again = cached.open(&paths, pairing).unwrap();
                prop_assert_eq!(again.next_cached.is_some(), has_room);
                let wanted = |all| if has_room { in_capitals(all) } else { all };
                prop_assert_eq!(firsts(&again, pairing), wanted(first.clone()));
                prop_assert_eq!(all_reads(&again), wanted(plain.clone()));
            }
        }
    }

    /// Files of several batches each.
    fn large(folder: &Path) -> [PathBuf; 2] {
        let bases = "ACGTN".repeat(2000);
        ["T", "G"].map(|letter| {
            let record = |count| format!(">a\n{}{bases}\n>b\nAC\n", letter.repeat(count));
            written(folder, letter, &(0..300).map(record).collect::<String>())
        })
    }

    #[test]
    fn the_first_reads_of_a_source_are_its_first() {
        let folder = tempfile::tempdir().unwrap();
        let paths = large(folder.path());
        let budget = Budget::new(1 << 30);
        let cached = CachedReads::new(1 << 26, &budget);
        let begun = cached.open(&paths, Pairing::NONE).unwrap();
        let wanted = firsts(&begun, Pairing::NONE);
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| while begun.next(&mut ReadBatch::default()).unwrap() {});
            }
        });
        let again = cached.open(&paths, Pairing::NONE).unwrap();
        assert!(again.next_cached.is_some());
        assert!(again.cache.as_ref().unwrap().of_source(1).len() > 1);
        assert_eq!(firsts(&again, Pairing::NONE), wanted);
        assert_eq!(wanted.len(), 1200);
    }

    #[test]
    fn reads_that_do_not_fit_are_read_from_the_files_again() {
        let folder = tempfile::tempdir().unwrap();
        let paths = large(folder.path());
        let budget = Budget::new(1 << 20);
        let cached = CachedReads::new(1 << 10, &budget);
        for _ in 0..3 {
            let reads = cached.open(&paths, Pairing::NONE).unwrap();
            assert!(reads.next_cached.is_none());
            assert_eq!(all_reads(&reads).len(), 1201);
        }
        assert!(cached.shared.unwrap().state().batches.is_empty());
    }
}
