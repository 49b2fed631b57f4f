//! Keyed fingerprints that prove two multisets of rows equal in one pass over each, in any order,
//! without a table of rows.
//!
//! A row is a string of 64-bit words. It is hashed by NH (Black, Halevi, Krawczyk, Krovetz and
//! Rogaway, *UMAC*, CRYPTO 1999), which two different rows share with a probability of 2^-64, then
//! to two numbers modulo p = 2^61 - 1. A multiset is the product of `z - number` over its rows, for
//! a secret `z` (Blum and Kannan, *Designing programs that check their work*, 1995): two multisets
//! of n numbers that differ have the same product with a probability of at most n / p, and there
//! are two products. All secrets come from a [`Key`] that is drawn anew for every verification, so
//! no input can be built against it.
//!
//! Two different multisets of n rows of at most m blocks of 4 KiB pass for equal with a
//! probability of at most 2 n m / 2^61: one in 10^11 for ten million short rows.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;

/// Modulus of the products, a prime.
const P: u64 = (1 << 61) - 1;
/// Words of a row that are hashed at once; longer rows are hashed block by block.
const BLOCK_WORDS: usize = 512;
/// Secret numbers for each of the two products: five factors, the length's, and `z`.
const LANE_SECRETS: usize = 7;

/// The secrets of a verification. Fingerprints are comparable only if made with the same key.
pub struct Key {
    words: Box<[u64; BLOCK_WORDS]>,
    lanes: [[u64; LANE_SECRETS]; 2],
}

impl Key {
    /// A key drawn from the operating system's random numbers.
    pub fn random() -> Self {
        let source = RandomState::new();
        Self::from_words(|index| source.hash_one(index))
    }

    /// The key of a seed, for reproducible tests.
    pub fn of_seed(seed: u64) -> Self {
        let stream = crate::random::Stream::new(seed, 0);
        Self::from_words(|index| stream.bits(index))
    }

    fn from_words(word: impl Fn(u64) -> u64) -> Self {
        let mut words = Box::new([0; BLOCK_WORDS]);
        let mut index = 0;
        let mut next = || {
            index += 1;
            word(index)
        };
        words.fill_with(&mut next);
        let lanes = [(); 2].map(|()| [(); LANE_SECRETS].map(|()| next() % P));
        Self { words, lanes }
    }

    /// Random bits of this key that no row's hash reveals, for drawing samples.
    pub fn salt(&self) -> u64 {
        self.lanes[0][0] ^ self.words[0].rotate_left(32)
    }

    /// Hash of at most a block of words, an even number of them: NH with words of 64 bits.
    #[inline(always)]
    fn nh(&self, pairs: impl Iterator<Item = (u64, u64)>) -> u128 {
        let keys = self.words.chunks_exact(2);
        pairs.zip(keys).fold(0u128, |sum, ((a, b), key)| {
            let (a, b) = (a.wrapping_add(key[0]), b.wrapping_add(key[1]));
            sum.wrapping_add(u128::from(a) * u128::from(b))
        })
    }

    /// The two numbers of a row, from its hash and its length.
    #[inline(always)]
    fn numbers(&self, hash: u128, length: u64) -> [u64; 2] {
        let quarters = [0, 32, 64, 96].map(|shift| (hash >> shift) as u64 & 0xFFFF_FFFF);
        self.lanes.map(|secrets| {
            // Each product is below 2^93, so their sum fits.
            let sum: u128 = quarters
                .iter()
                .chain(&[length & 0xFFFF_FFFF])
                .zip(secrets)
                .map(|(&part, secret)| u128::from(part) * u128::from(secret))
                .sum();
            reduce(sum)
        })
    }

    #[inline(always)]
    fn words_of_bytes<'a>(bytes: &'a [u8]) -> impl Iterator<Item = (u64, u64)> + 'a {
        let blocks = bytes.chunks_exact(16);
        let rest = blocks.remainder();
        let mut last = [0; 16];
        last[..rest.len()].copy_from_slice(rest);
        let last = (!rest.is_empty()).then_some(pair(&last));
        blocks.map(pair).chain(last)
    }
}

#[inline(always)]
fn pair(bytes: &[u8]) -> (u64, u64) {
    let mut halves = bytes.chunks_exact(8).map(|half| {
        let mut word = [0; 8];
        word.copy_from_slice(half);
        u64::from_le_bytes(word)
    });
    (halves.next().unwrap_or(0), halves.next().unwrap_or(0))
}

#[inline(always)]
fn pairs_of(words: &[u64]) -> &[[u64; 2]] {
    words.as_chunks::<2>().0
}

/// Summand of two words in a hash.
#[inline(always)]
fn product(key: &[u64; 2], a: u64, b: u64) -> u128 {
    u128::from(a.wrapping_add(key[0])) * u128::from(b.wrapping_add(key[1]))
}

/// A number modulo p.
#[inline(always)]
fn reduce(value: u128) -> u64 {
    // 2^61 is 1 modulo p; twice, since the first sum may have 67 bits and more.
    let once = (value & u128::from(P)) + (value >> 61);
    let twice = (once as u64 & P) + (once >> 61) as u64;
    if twice >= P { twice - P } else { twice }
}

/// The fingerprint of a multiset of rows; independent of their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fingerprint {
    rows: u64,
    products: [u64; 2],
}

impl Default for Fingerprint {
    fn default() -> Self {
        Self { rows: 0, products: [1, 1] }
    }
}

impl Fingerprint {
    /// Adds a row of words. Rows of different lengths differ, whatever their words.
    #[inline]
    pub fn add_words(&mut self, key: &Key, row: &[u64]) {
        let mut hash = 0;
        for block in row.chunks(BLOCK_WORDS) {
            let two = block.chunks(2).map(|two| (two[0], two.get(1).copied().unwrap_or(0)));
            hash = chain(key, hash, key.nh(two));
        }
        self.add(key, hash, row.len() as u64);
    }

    /// Adds a row of bytes; differs from adding the same bytes as words.
    #[inline]
    pub fn add_bytes(&mut self, key: &Key, row: &[u8]) {
        let mut hash = 0;
        for block in row.chunks(8 * BLOCK_WORDS) {
            hash = chain(key, hash, key.nh(Key::words_of_bytes(block)));
        }
        self.add(key, hash, row.len() as u64);
    }

    /// Adds a row of words followed by bytes; differs from adding words or bytes alone. Rows are
    /// distinct from all other rows if the words give the number of bytes.
    #[inline(always)]
    pub fn add_parts(&mut self, key: &Key, words: &[u64], bytes: &[u8]) {
        let (blocks, rest) = bytes.as_chunks::<16>();
        let pairs = words.len().div_ceil(2);
        if 2 * (pairs + blocks.len() + 1) > BLOCK_WORDS {
            return self.add_long(key, words, bytes);
        }
        let keys = pairs_of(&*key.words);
        let (word_keys, byte_keys) = keys.split_at(pairs);
        let (word_pairs, unpaired) = words.as_chunks::<2>();
        let mut sum = word_pairs
            .iter()
            .zip(word_keys)
            .fold(0u128, |sum, (&[a, b], key)| sum.wrapping_add(product(key, a, b)));
        if let ([last], Some(key)) = (unpaired, word_keys.last()) {
            sum = sum.wrapping_add(product(key, *last, 0));
        }
        for (sixteen, key) in blocks.iter().zip(byte_keys) {
            let (a, b) = pair(sixteen);
            sum = sum.wrapping_add(product(key, a, b));
        }
        if !rest.is_empty() {
            let mut last = [0; 16];
            last[..rest.len()].copy_from_slice(rest);
            let (a, b) = pair(&last);
            sum = sum.wrapping_add(product(&byte_keys[blocks.len()], a, b));
        }
        self.add(key, sum, (8 * words.len() + bytes.len()) as u64);
    }

    #[inline(never)]
    fn add_long(&mut self, key: &Key, words: &[u64], bytes: &[u8]) {
        let mut all: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        all.extend_from_slice(bytes);
        self.add_bytes(key, &all);
    }

    /// Adds all rows of another fingerprint under the same key.
    pub fn merge(&mut self, other: &Self) {
        self.rows += other.rows;
        for (product, more) in self.products.iter_mut().zip(other.products) {
            *product = reduce(u128::from(*product) * u128::from(more));
        }
    }

    /// Rows that were added.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    #[inline(always)]
    fn add(&mut self, key: &Key, hash: u128, length: u64) {
        self.rows += 1;
        let numbers = key.numbers(hash, length);
        for (lane, product) in self.products.iter_mut().enumerate() {
            let z = key.lanes[lane][LANE_SECRETS - 1];
            let factor = z + P - numbers[lane];
            *product = reduce(u128::from(*product) * u128::from(factor));
        }
    }
}

/// Joins the hash of the blocks so far with that of the next one.
#[inline(always)]
fn chain(key: &Key, before: u128, block: u128) -> u128 {
    if before == 0 {
        return block;
    }
    // A polynomial in a secret point, in each half modulo p.
    let point = key.lanes[0][LANE_SECRETS - 2];
    let halves = [before as u64, (before >> 64) as u64].map(|half| half % P);
    let [low, high] = halves.map(|half| reduce(u128::from(half) * u128::from(point)));
    block.wrapping_add(u128::from(low) | (u128::from(high) << 64))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(key: &Key, rows: &[&[u64]]) -> Fingerprint {
        let mut fingerprint = Fingerprint::default();
        rows.iter().for_each(|row| fingerprint.add_words(key, row));
        fingerprint
    }

    #[test]
    fn order_does_not_matter_and_parts_may_be_merged() {
        let key = Key::random();
        let rows: [&[u64]; 4] = [&[1, 2, 3], &[4], &[], &[1, 2, 3]];
        let mut merged = of(&key, &rows[2..]);
        merged.merge(&of(&key, &rows[..2]));
        assert_eq!(merged, of(&key, &[rows[3], rows[2], rows[1], rows[0]]));
    }

    #[test]
    fn a_changed_word_a_swap_a_loss_and_a_repetition_are_detected() {
        let key = Key::random();
        let original = of(&key, &[&[1, 2], &[3, 4]]);
        let changes: [&[&[u64]]; 7] = [
            &[&[1, 2]],
            &[&[1, 2], &[3, 4], &[3, 4]],
            &[&[1, 4], &[3, 2]],
            &[&[2, 1], &[3, 4]],
            &[&[1, 2], &[3, 5]],
            &[&[1, 2, 0], &[3, 4]],
            &[&[1, 2], &[1, 2]],
        ];
        for changed in changes {
            assert_ne!(of(&key, changed), original, "{changed:?}");
        }
    }

    #[test]
    fn each_bit_of_long_and_short_strings_counts() {
        let key = Key::random();
        for length in [1, 7, 8, 9, 15, 16, 17, 100, 4095, 4096, 4097, 9000] {
            let mut bytes: Vec<u8> = (0..length).map(|place| (place * 7) as u8).collect();
            let mut right = Fingerprint::default();
            right.add_bytes(&key, &bytes);
            for place in [0, length / 2, length - 1] {
                for bit in 0..8 {
                    bytes[place] ^= 1 << bit;
                    let mut wrong = Fingerprint::default();
                    wrong.add_bytes(&key, &bytes);
                    assert_ne!(wrong, right, "length {length}, byte {place}, bit {bit}");
                    bytes[place] ^= 1 << bit;
                }
            }
        }
    }

    #[test]
    fn each_bit_of_words_and_bytes_counts_and_so_does_their_boundary() {
        let key = Key::random();
        let of = |words: &[u64], bytes: &[u8]| {
            let mut fingerprint = Fingerprint::default();
            fingerprint.add_parts(&key, words, bytes);
            fingerprint
        };
        for (count, length) in [(0, 0), (1, 0), (2, 15), (5, 16), (6, 17), (6, 475), (7, 9000)] {
            let mut words: Vec<u64> = (0..count).map(|index| index * 77).collect();
            let mut bytes: Vec<u8> = (0..length).map(|place| (place * 7) as u8).collect();
            let right = of(&words, &bytes);
            assert_eq!(right, of(&words, &bytes));
            for index in 0..words.len() {
                for bit in [0, 31, 32, 63] {
                    words[index] ^= 1 << bit;
                    assert_ne!(of(&words, &bytes), right, "{count} {length}: word {index}");
                    words[index] ^= 1 << bit;
                }
            }
            for place in (0..bytes.len()).step_by(7).chain(bytes.len().checked_sub(1)) {
                bytes[place] ^= 1;
                assert_ne!(of(&words, &bytes), right, "{count} {length}: byte {place}");
                bytes[place] ^= 1;
            }
            bytes.push(0);
            assert_ne!(of(&words, &bytes), right, "{count} {length}");
        }
    }

    #[test]
    fn two_keys_are_not_the_same() {
        assert_ne!(of(&Key::random(), &[&[1]]), of(&Key::random(), &[&[1]]));
        assert_eq!(of(&Key::of_seed(3), &[&[1]]), of(&Key::of_seed(3), &[&[1]]));
    }

    #[test]
    fn numbers_are_reduced_modulo_p() {
        assert_eq!(reduce(u128::from(P)), 0);
        assert_eq!(reduce(u128::from(P) + 5), 5);
        assert_eq!(reduce(u128::from(P) * u128::from(P)), 0);
        assert_eq!(reduce((u128::from(P) - 1) * (u128::from(P) - 1)), 1);
    }

    /// Fingerprints of ranks and versions are compared: these are the numbers of this definition.
    #[test]
    fn fingerprints_of_a_key_never_change() {
        let key = Key::of_seed(3);
        let long: Vec<u8> = (0..9000).map(|place| (place * 7) as u8).collect();
        let long_words: Vec<u64> = (0..1200).map(|place| place * 0x1234_5678_9ABC).collect();
        let mut fingerprints = [Fingerprint::default(); 3];
        fingerprints[0].add_words(&key, &[1, 2, 3]);
        fingerprints[0].add_words(&key, &long_words);
        fingerprints[1].add_bytes(&key, &long);
        fingerprints[1].add_bytes(&key, b"row");
        fingerprints[2].add_parts(&key, &[1, 2, 3], b"some bytes behind three words");
        let mut all = Fingerprint::default();
        fingerprints.iter().for_each(|fingerprint| all.merge(fingerprint));
        assert_eq!(all.rows(), 5);
        assert_eq!(
            fingerprints.map(|fingerprint| fingerprint.products),
            [
                [19_292_356_842_690_862, 881_872_661_090_862_760],
                [169_402_587_208_913_771, 1_665_980_524_982_618_787],
                [1_802_221_230_583_846_741, 1_824_770_219_300_099_817]
            ]
        );
        assert_eq!(
            (key.salt(), all.products),
            (865_245_923_047_006_803, [772_970_869_830_149_743, 2_041_418_454_890_228_051])
        );
    }
}
