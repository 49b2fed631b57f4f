//! The order-free 128-bit digest of an answer, defined on 64-bit words so that every language
//! computes the same one (see `spec/workloads`).

use std::fmt;

use crate::cpu;

/// Records that [`Digest::add_columns`] adds at once: a vector register holds a word of each.
pub const COLUMNS: usize = 8;

const SEEDS: [u64; 2] = [0x243F_6A88_85A3_08D3, 0x1319_8A2E_0370_7344];
const STEP: u64 = 0x9E37_79B9_7F4A_7C15;

/// Subject of a record; separates equal words of different workloads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tag {
    /// A row of a pair file (`scan`, `correlate`, `load`).
    Pair,
    /// A row of a join.
    Join,
    /// The degree of a gene.
    Degree,
    /// The community of a gene.
    Community,
    /// The sums of a block, or of all blocks.
    Dataflow,
    /// A record at its place in sorted order.
    Sort,
    /// The cluster of a point.
    KMeans,
    /// The measurements of an image, or of all images.
    Images,
    /// A unitig or contig.
    Assembly,
    /// A record of a workload that has no number here: the first bytes of its name, then zeros.
    Named([u8; 8]),
}

impl Tag {
    #[inline]
    const fn word(self) -> u64 {
        match self {
            Self::Pair => 1,
            Self::Join => 2,
            Self::Degree => 3,
            Self::Community => 4,
            Self::Dataflow => 5,
            Self::Sort => 6,
            Self::KMeans => 7,
            Self::Images => 8,
            Self::Assembly => 9,
            Self::Named(name) => u64::from_le_bytes(name),
        }
    }
}

/// Sum over records of a 128-bit hash of each record; independent of the order of the records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Digest {
    lanes: [u64; 2],
}

impl Digest {
    /// Adds a record.
    pub fn add(&mut self, tag: Tag, words: &[u64]) {
        let mut record = Record::new(tag);
        for &word in words {
            record.push(word);
        }
        self.add_record(&record);
    }

    /// Adds a record that was built word by word.
    pub fn add_record(&mut self, record: &Record) {
        for (lane, hash) in self.lanes.iter_mut().zip(record.lanes) {
            *lane = lane.wrapping_add(hash);
        }
    }

    /// Adds [`COLUMNS`] records of equal length, passed word by word: much faster than one record
    /// at a time.
    #[inline]
    pub fn add_columns(&mut self, tag: Tag, words: &[[u64; COLUMNS]]) {
        let sums = cpu::fastest(
            #[inline(always)]
            || {
                let mut lanes = SEEDS.map(|seed| [seed ^ tag.word(); COLUMNS]);
                for column in words {
                    for hashes in &mut lanes {
                        for (hash, word) in hashes.iter_mut().zip(column) {
                            *hash = mix(*hash ^ word).wrapping_mul(STEP).wrapping_add(1);
                        }
                    }
                }
                lanes.map(|hashes| hashes.iter().fold(0, |sum: u64, &hash| sum.wrapping_add(hash)))
            },
        );
        for (lane, sum) in self.lanes.iter_mut().zip(sums) {
            *lane = lane.wrapping_add(sum);
        }
    }

    /// Adds all records of another digest.
    pub fn merge(&mut self, other: &Self) {
        for (lane, hash) in self.lanes.iter_mut().zip(other.lanes) {
            *lane = lane.wrapping_add(hash);
        }
    }
}

/// Records of a kind, buffered until a digest can add [`COLUMNS`] of equal length at once.
pub struct Batch {
    tag: Tag,
    /// By word; a column for each record.
    words: Vec<[u64; COLUMNS]>,
    records: usize,
    digest: Digest,
}

/// A record of a [`Batch`], to be filled.
pub struct Column<'a> {
    words: &'a mut [[u64; COLUMNS]],
    record: usize,
}

impl Batch {
    /// An empty batch.
    pub fn new(tag: Tag) -> Self {
        Self { tag, words: Vec::new(), records: 0, digest: Digest::default() }
    }

    /// A record of `length` words, all of which must be pushed.
    #[inline]
    pub fn record(&mut self, length: usize) -> Column<'_> {
        if self.records == COLUMNS {
            self.digest.add_columns(self.tag, &self.words);
            self.records = 0;
        }
        if self.words.len() != length {
            self.digest = self.digest();
            self.records = 0;
            self.words.resize(length, [0; COLUMNS]);
        }
        self.records += 1;
        Column { words: &mut self.words, record: self.records - 1 }
    }

    /// The digest of all records.
    pub fn digest(&self) -> Digest {
        let mut digest = self.digest;
        for record in 0..self.records {
            let mut alone = Record::new(self.tag);
            self.words.iter().for_each(|words| alone.push(words[record]));
            digest.add_record(&alone);
        }
        digest
    }
}

impl<'a> Column<'a> {
    /// Appends one word.
    #[inline(always)]
    pub fn push(&mut self, word: u64) {
        if let Some((first, rest)) = std::mem::take(&mut self.words).split_first_mut() {
            first[self.record] = word;
            self.words = rest;
        }
    }

    /// Appends bytes as [`Record::push_bytes`] does.
    #[inline(always)]
    pub fn push_bytes(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        let (filled, remaining) = std::mem::take(&mut self.words).split_at_mut(words.len());
        for (column_words, bytes) in filled.iter_mut().zip(words) {
            column_words[self.record] = u64::from_le_bytes(*bytes);
        }
        self.words = remaining;
        if !rest.is_empty() {
            let mut last = [0; 8];
            last[..rest.len()].copy_from_slice(rest);
            self.push(u64::from_le_bytes(last));
        }
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}{:016x}", self.lanes[0], self.lanes[1])
    }
}

/// A record under construction.
#[derive(Clone, Copy, Debug)]
pub struct Record {
    lanes: [u64; 2],
}

impl Record {
    /// Starts a record.
    pub fn new(tag: Tag) -> Self {
        Self { lanes: SEEDS.map(|seed| seed ^ tag.word()) }
    }

    /// Appends one word.
    pub fn push(&mut self, word: u64) {
        for lane in &mut self.lanes {
            *lane = mix(*lane ^ word).wrapping_mul(STEP).wrapping_add(1);
        }
    }

    /// Appends bytes, eight to a word, little-endian, the last word padded with zeros.
    pub fn push_bytes(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0u8; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.push(u64::from_le_bytes(word));
        }
    }
}

/// The finaliser of splitmix64: a bijection of 64-bit words.
#[inline(always)]
pub fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_does_not_matter_and_content_does() {
        let (mut a, mut b, mut c) = (Digest::default(), Digest::default(), Digest::default());
        a.add(Tag::Pair, &[1, 2]);
        a.add(Tag::Pair, &[3, 4]);
        b.add(Tag::Pair, &[3, 4]);
        b.add(Tag::Pair, &[1, 2]);
        c.add(Tag::Pair, &[1, 4]);
        c.add(Tag::Pair, &[3, 2]);
        assert_eq!(a, b);
        assert_ne!(a, c);
    }

    #[test]
    fn a_record_added_twice_is_not_lost() {
        let (mut once, mut twice) = (Digest::default(), Digest::default());
        once.add(Tag::Degree, &[1]);
        twice.add(Tag::Degree, &[1]);
        twice.add(Tag::Degree, &[1]);
        assert_ne!(once, twice);
    }

    #[test]
    fn records_in_columns_are_the_same_records() {
        for length in [0, 1, 2, 14] {
            let word = |record: usize, place: usize| mix((100 * record + place) as u64);
            let columns: Vec<[u64; COLUMNS]> = (0..length)
                .map(|place| std::array::from_fn(|record| word(record, place)))
                .collect();
            let (mut one_by_one, mut together) = (Digest::default(), Digest::default());
            for record in 0..COLUMNS {
                let words: Vec<u64> = (0..length).map(|place| word(record, place)).collect();
                one_by_one.add(Tag::Sort, &words);
            }
            together.add_columns(Tag::Sort, &columns);
            assert_eq!(together, one_by_one, "{length}");
        }
    }

    #[test]
    fn a_batch_of_records_of_any_lengths_is_these_records() {
        let mut alone = Digest::default();
        let mut batch = Batch::new(Tag::Pair);
        for index in 0..60u64 {
            let bytes: Vec<u8> = (0..index / 20 * 5).map(|place| (place * index) as u8).collect();
            let mut record = Record::new(Tag::Pair);
            record.push(index);
            record.push_bytes(&bytes);
            alone.add_record(&record);
            let mut column = batch.record(1 + bytes.len().div_ceil(8));
            column.push(index);
            column.push_bytes(&bytes);
            assert_eq!(batch.digest(), alone, "{index}");
        }
    }

    #[test]
    fn the_golden_value_stands() {
        let mut digest = Digest::default();
        digest.add(Tag::Pair, &[7, 3, 1]);
        assert_eq!(digest.to_string(), "f620a91a6f312dda43b692a053627fde");
    }
}
