//! The k-mers that an answer claims, each at a place, and how often the reads have them.

use std::sync::atomic::{AtomicU32, Ordering};

use cuesta_core::{Error, Result};
use hashbrown::HashTable;

use crate::kmer::{Base, Kmer, complement};
use crate::reference::kmers;
use crate::table::COUNT_MAX;

/// A k-mer as a sequence reads it, and its other strand.
pub type Strands<K> = (K, K);

/// K-mers in the order of the sequences that have them.
pub struct Claims<K> {
    k: usize,
    kmers: Vec<K>,
    places: HashTable<u32>,
    counts: Vec<AtomicU32>,
    trusted: Vec<bool>,
    /// Whether a k-mer is there twice.
    pub is_doubled: bool,
}

/// Follows a sequence along the claims.
#[derive(Clone, Copy, Default)]
pub struct Follower {
    /// Where the sequence was last found, and on which strand.
    last: Option<(usize, bool)>,
    /// K-mers since then.
    ahead: usize,
    /// K-mers that are not looked for.
    wait: usize,
}

impl Follower {
    /// The place of the next k-mer of the sequence. After a k-mer that is not there, some that are
    /// may be passed over, the same for the same sequence: it goes on after a wrong base, and does
    /// not look for every k-mer that has it.
    #[inline]
    pub fn next<K: Kmer>(&mut self, claims: &Claims<K>, strands: Strands<K>) -> Option<usize> {
        self.ahead += 1;
        if let Some((at, is_turned)) = self.last {
            let (next, wanted) = if is_turned {
                (at.wrapping_sub(self.ahead), strands.1)
            } else {
                (at + self.ahead, strands.0)
            };
            if claims.kmers.get(next) == Some(&wanted) {
                self.last = Some((next, is_turned));
                self.ahead = 0;
                return Some(next);
            }
            if self.ahead <= claims.k {
                return None;
            }
        }
        self.search(claims, strands)
    }

    fn search<K: Kmer>(&mut self, claims: &Claims<K>, strands: Strands<K>) -> Option<usize> {
        if self.wait > 0 {
            self.wait -= 1;
            return None;
        }
        let Some(at) = claims.find(strands) else {
            self.wait = claims.k / 4;
            return None;
        };
        self.last = Some((at, claims.kmers[at] != strands.0));
        self.ahead = 0;
        Some(at)
    }
}

impl<K: Kmer> Claims<K> {
    /// The k-mers of some sequences; those that are there already are left out.
    ///
    /// # Errors
    /// `Input` when there are more than can be numbered.
    pub fn new<'s>(sequences: impl Iterator<Item = &'s [Base]> + Clone, k: usize) -> Result<Self> {
        let most: usize = sequences.clone().map(|codes| (codes.len() + 1).saturating_sub(k)).sum();
        if u32::try_from(most).is_err() {
            return Err(Error::input("verify", format!("{most} k-mers are too many to number")));
        }
        let mut claims = Self {
            k,
            kmers: Vec::with_capacity(most),
            places: HashTable::with_capacity(most),
            counts: Vec::new(),
            trusted: Vec::new(),
            is_doubled: false,
        };
        for kmer in sequences.flat_map(|codes| kmers::<K>(codes, k)) {
            let strands = (kmer, kmer.reverse_complement(k));
            if claims.find(strands).is_some() {
                claims.is_doubled = true;
                continue;
            }
            let place = claims.kmers.len() as u32;
            claims.kmers.push(kmer);
            let all = &claims.kmers;
            let hash = |&place: &u32| all[place as usize].canonical(k).mixed();
            claims.places.insert_unique(strands.0.min(strands.1).mixed(), place, hash);
        }
        claims.counts.resize_with(claims.kmers.len(), AtomicU32::default);
        claims.trusted.resize(claims.kmers.len(), false);
        Ok(claims)
    }

    /// Bytes of all of them.
    pub fn size_bytes(&self) -> u64 {
        let each = size_of::<K>() + size_of::<AtomicU32>() + size_of::<bool>();
        (self.len() * each + self.places.allocation_size()) as u64
    }

    /// How many k-mers there are.
    pub fn len(&self) -> usize {
        self.kmers.len()
    }

    /// The place of a k-mer.
    #[inline]
    pub fn find(&self, (forward, backward): Strands<K>) -> Option<usize> {
        let same = |&place: &u32| {
            let kmer = self.kmers[place as usize];
            kmer == forward || kmer == backward
        };
        self.places.find(forward.min(backward).mixed(), same).map(|&place| place as usize)
    }

    /// Counts the k-mer at a place so many times more.
    #[inline]
    pub fn add(&self, place: usize, more: u32) {
        let count = &self.counts[place];
        if count.fetch_add(more, Ordering::Relaxed) >= COUNT_MAX - more.min(COUNT_MAX) {
            count.store(COUNT_MAX, Ordering::Relaxed);
        }
    }

    /// The places of k-mers by a number below `parts` that `part` gives.
    pub fn by_part(&self, parts: usize, part: impl Fn(K) -> usize) -> Vec<Vec<u32>> {
        let mut found = vec![Vec::new(); parts];
        for (place, kmer) in (0..).zip(&self.kmers) {
            found[part(kmer.canonical(self.k))].push(place);
        }
        found
    }

    /// The canonical k-mer at a place.
    pub fn kmer(&self, place: u32) -> K {
        self.kmers[place as usize].canonical(self.k)
    }

    /// Trusts a k-mer, whatever its count, which is at least `weight` then; whether it is claimed.
    pub fn trust(&mut self, strands: Strands<K>, weight: u64) -> bool {
        let Some(place) = self.find(strands) else { return false };
        let weight = u32::try_from(weight).unwrap_or(COUNT_MAX).min(COUNT_MAX);
        let count = self.counts[place].get_mut();
        *count = weight.max(*count);
        self.trusted[place] = true;
        true
    }

    /// How often a k-mer is there.
    pub fn count(&self, place: usize) -> u32 {
        self.counts[place].load(Ordering::Relaxed)
    }

    /// Whether all k-mers are trusted or there `min_count` times.
    pub fn are_solid(&self, min_count: u32) -> bool {
        (0..self.len()).all(|place| self.trusted[place] || self.count(place) >= min_count)
    }
}

/// The k-mers of some bases on both strands.
pub fn strands<K: Kmer>(codes: &[Base], k: usize) -> impl Iterator<Item = Strands<K>> {
    let (mut forward, mut backward) = (K::ZERO, K::ZERO);
    codes.iter().enumerate().filter_map(move |(place, &base)| {
        forward = forward.append(base, k);
        backward = backward.prepend(complement(base), k);
        (place + 1 >= k).then_some((forward, backward))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kmers_are_followed_on_either_strand_and_beyond_a_wrong_base() {
        let chance = cuesta_core::random::Stream::new(1, 2);
        let codes: Vec<Base> = (0..400).map(|place| (chance.bits(place) & 3) as Base).collect();
        let k = 15;
        let claims = Claims::<u64>::new([&codes[..200], &codes[200..]].into_iter(), k).unwrap();
        assert!(!claims.is_doubled);
        let mut other: Vec<Base> =
            codes[150..].iter().rev().map(|&code| complement(code)).collect();
        other[100] ^= 1;
        let mut follower = Follower::default();
        let places: Vec<_> =
            strands::<u64>(&other, k).map(|both| follower.next(&claims, both)).collect();
        let found: Vec<_> = strands::<u64>(&other, k).map(|both| claims.find(both)).collect();
        let beyond = places.iter().zip(&found).filter(|(place, found)| place != found).count();
        // Where the two sequences meet it waits once.
        assert!(beyond <= k, "{beyond}");
        assert_eq!(places.iter().flatten().count(), found.iter().flatten().count() - beyond);
        assert_eq!(found.iter().flatten().count(), 250 - (k - 1) - k - (k - 1));
    }

    #[test]
    fn counts_stop_where_those_of_the_tables_do() {
        let claims = Claims::<u64>::new([&[0u8; 15][..]].into_iter(), 15).unwrap();
        claims.counts[0].store(COUNT_MAX - 1, Ordering::Relaxed);
        (0..3).for_each(|_| claims.add(0, 1));
        assert_eq!(claims.count(0), COUNT_MAX);
        claims.add(0, COUNT_MAX);
        assert_eq!(claims.count(0), COUNT_MAX);
    }
}
