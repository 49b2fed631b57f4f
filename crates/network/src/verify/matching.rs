//! Verifier of joins that leave rows out: it looks up which rows have a partner.
//!
//! Rows of the answer claim that a row is in version A, in version B, or in both. Claims and rows
//! are distributed over partitions by a keyed hash, and each partition is settled separately, in as
//! many passes as the memory requires: each claim matches exactly one row, and no two rows without
//! a claim have the same key. Nothing is left to chance.

use cuesta_core::Result;
use cuesta_core::digest::mix;
use cuesta_core::fixed::Micro;
use cuesta_core::job::Context;
use cuesta_runtime::parallel;

use super::store::{PartitionOptions, RecordStore, StoreWriter};

/// Special scores: no row may have this key, or its row was matched.
const NONE: Micro = Micro::MIN + 1;
const MET: Micro = Micro::MIN + 2;
/// Maximum and minimum number of partitions.
const PARTITIONS_MAX: u64 = 256;
const PARTITIONS_MIN: u64 = 16;
/// Approximate memory of a partition, in bytes.
const PARTITION_BYTES: u64 = 1 << 20;
/// Maximum number of table places for each record, and the number of spare places.
const PLACES_MAX: u64 = 4;
const SPARE_PLACES: u64 = 64;
/// Bytes of an entry.
const ENTRY_BYTES: u64 = size_of::<Entry>() as u64;

/// Claims of the answer, and rows of both versions.
pub struct Matching<'a> {
    claims: RecordStore<'a, 16>,
    versions: [RecordStore<'a, 12>; 2],
    salt: u64,
    /// Bytes of the table of a partition.
    table_bytes: u64,
    threads: usize,
}

/// Key with the expected score in each version: a score, [`NONE`] or [`MET`].
#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    /// Key, or 0 for an empty place: no key is 0.
    key: u64,
    scores: [Micro; 2],
}

impl<'a> Matching<'a> {
    /// Creates an empty matching, within the memory of the context. The salt is secret.
    pub fn new(context: &Context<'a>, salt: u64) -> Self {
        let threads = context.request.threads;
        let limit = context.budget.limit_bytes();
        let partitions = (limit / PARTITION_BYTES).clamp(PARTITIONS_MIN, PARTITIONS_MAX) as usize;
        let options = PartitionOptions {
            budget: context.budget,
            memory_bytes: limit / 8,
            scratch: &context.request.scratch,
            threads,
        };
        Self {
            claims: RecordStore::new(options, partitions),
            versions: [(); 2].map(|()| RecordStore::new(options, partitions)),
            salt,
            table_bytes: limit / 4 / threads as u64,
            threads,
        }
    }

    /// Creates a sink of claims.
    pub fn claim_sink(&self) -> StoreWriter<16> {
        self.claims.sink()
    }

    /// Creates a sink of rows.
    pub fn row_sink(&self) -> StoreWriter<12> {
        self.versions[0].sink()
    }

    /// Adds a claim: the scores of a key, `None` for a version without the row. A version that was
    /// verified by other means is false in `unproven`.
    ///
    /// # Errors
    /// `System`.
    #[inline(always)]
    pub fn claim(
        &self,
        sink: &mut StoreWriter<16>,
        key: u64,
        scores: [Option<Micro>; 2],
        unproven: [bool; 2],
    ) -> Result<()> {
        let mut record = [0; 16];
        record[..8].copy_from_slice(&key.to_le_bytes());
        for side in 0..2 {
            let score = if unproven[side] { scores[side].unwrap_or(NONE) } else { MET };
            record[8 + 4 * side..12 + 4 * side].copy_from_slice(&score.to_le_bytes());
        }
        self.claims.add(sink, self.partition(key), record)
    }

    /// Adds a row of version 0 or 1.
    ///
    /// # Errors
    /// `System`.
    #[inline(always)]
    pub fn row(
        &self,
        sink: &mut StoreWriter<12>,
        side: usize,
        key: u64,
        score: Micro,
    ) -> Result<()> {
        let mut record = [0; 12];
        record[..8].copy_from_slice(&key.to_le_bytes());
        record[8..].copy_from_slice(&score.to_le_bytes());
        self.versions[side].add(sink, self.partition(key), record)
    }

    /// Adds the remaining records of a sink of claims.
    ///
    /// # Errors
    /// `System`.
    pub fn finish_claims(&self, sink: &mut StoreWriter<16>) -> Result<()> {
        self.claims.finish(sink)
    }

    /// Adds the remaining records of a sink of rows of version 0 or 1.
    ///
    /// # Errors
    /// `System`.
    pub fn finish_rows(&self, sink: &mut StoreWriter<12>, side: usize) -> Result<()> {
        self.versions[side].finish(sink)
    }

    /// Checks that all claims match rows and no row is left out; returns a sentence on the first
    /// fault.
    ///
    /// # Errors
    /// `System`.
    pub fn settle(&self) -> Result<Option<String>> {
        let work = |(table, wrong): &mut (Vec<Entry>, Option<String>), partition: usize| {
            if wrong.is_none() {
                *wrong = self.settle_partition(partition, table)?;
            }
            Ok(())
        };
        let make = || (Vec::new(), None);
        let states = parallel::run(self.threads, self.claims.partitions(), make, work, |_| {})?;
        Ok(states.into_iter().find_map(|(_, wrong)| wrong))
    }

    fn settle_partition(&self, partition: usize, table: &mut Vec<Entry>) -> Result<Option<String>> {
        let records = self.claims.records(partition)
            + self.versions.iter().map(|rows| rows.records(partition)).sum::<u64>();
        let need = PLACES_MAX * ENTRY_BYTES * records;
        let passes = need.div_ceil(self.table_bytes.max(1)).max(1);
        // Places for twice the possible number of keys: the hash spreads them evenly.
        let places = (2 * records.div_ceil(passes) + SPARE_PLACES).next_power_of_two();
        for pass in 0..passes {
            let mut settled = Partition { table, mask: places - 1, salt: self.salt };
            let wrong = self.settle_pass(partition, (pass, passes), &mut settled)?;
            if wrong.is_some() {
                return Ok(wrong);
            }
        }
        Ok(None)
    }

    fn settle_pass(
        &self,
        partition: usize,
        (pass, passes): (u64, u64),
        table: &mut Partition<'_>,
    ) -> Result<Option<String>> {
        table.clear();
        let mut wrong = None;
        let (mut expected, mut met) = (0u64, 0u64);
        let is_in_pass = |key: u64| passes == 1 || (self.hash(key) & 0xFFFF_FFFF) % passes == pass;
        self.claims.each(partition, |record| {
            let (key, scores) = claim_of(record);
            if is_in_pass(key) {
                let is_claim = |score: &&Micro| **score != NONE && **score != MET;
                expected += scores.iter().filter(is_claim).count() as u64;
                if !table.insert(Entry { key, scores }) {
                    wrong = Some(fault_text(key, "stands there twice"));
                }
            }
        })?;
        for (side, rows) in self.versions.iter().enumerate() {
            rows.each(partition, |record| {
                let (key, score) = row_of(record);
                if is_in_pass(key) && wrong.is_none() {
                    match table.meet(side, key, score) {
                        Ok(claimed) => met += u64::from(claimed),
                        Err(fault) => wrong = Some(fault_text(key, fault)),
                    }
                }
            })?;
        }
        if wrong.is_none() && met != expected {
            wrong = Some("a row of the answer is in neither version".to_owned());
        }
        Ok(wrong)
    }

    #[inline(always)]
    fn hash(&self, key: u64) -> u64 {
        mix(mix(key ^ self.salt).wrapping_add(self.salt))
    }

    #[inline(always)]
    fn partition(&self, key: u64) -> usize {
        (((self.hash(key) >> 32) * self.claims.partitions() as u64) >> 32) as usize
    }
}

/// Table of a partition, or of a pass over it.
struct Partition<'a> {
    table: &'a mut Vec<Entry>,
    mask: u64,
    salt: u64,
}

impl Partition<'_> {
    fn clear(&mut self) {
        self.table.clear();
        self.table.resize(self.mask as usize + 1, Entry::default());
    }

    /// Returns the place of a key, or the free place where it belongs.
    #[inline(always)]
    fn place(&self, key: u64) -> usize {
        let mut place = mix(key.wrapping_add(self.salt)) & self.mask;
        loop {
            let stored_key = self.table[place as usize].key;
            if stored_key == key || stored_key == 0 {
                return place as usize;
            }
            place = (place + 1) & self.mask;
        }
    }

    /// Adds an entry; returns whether its key is new.
    #[inline(always)]
    fn insert(&mut self, entry: Entry) -> bool {
        let place = self.place(entry.key);
        let new = self.table[place].key == 0;
        if new {
            self.table[place] = entry;
        }
        new
    }

    /// Matches a row of a version; returns whether it was claimed.
    #[inline(always)]
    fn meet(
        &mut self,
        side: usize,
        key: u64,
        score: Micro,
    ) -> std::result::Result<bool, &'static str> {
        let place = self.place(key);
        let entry = &mut self.table[place];
        if entry.key == 0 {
            // Row without a claim: right unless the other version has the key too.
            *entry = Entry { key, scores: [MET, if side == 0 { NONE } else { MET }] };
            return Ok(false);
        }
        let expected = std::mem::replace(&mut entry.scores[side], MET);
        match expected {
            MET => Err("is in a version twice"),
            NONE => Err("has a partner and should stand in the answer with both scores"),
            expected if expected == score => Ok(true),
            _ => Err("has another score"),
        }
    }
}

fn claim_of(record: &[u8; 16]) -> (u64, [Micro; 2]) {
    let [key, scores] = [0, 8].map(|at| word(&record[at..at + 8]));
    (key, [scores as u32 as Micro, (scores >> 32) as u32 as Micro])
}

fn row_of(record: &[u8; 12]) -> (u64, Micro) {
    (word(&record[..8]), word(&record[4..]).wrapping_shr(32) as u32 as Micro)
}

#[inline(always)]
fn word(bytes: &[u8]) -> u64 {
    let mut word = [0; 8];
    word.copy_from_slice(bytes);
    u64::from_le_bytes(word)
}

/// Returns the gene numbers and the cluster of a key.
pub fn genes_of(key: u64) -> (u32, u32, u32) {
    ((key >> 40) as u32, (key >> 16) as u32 & 0x00FF_FFFF, (key as u32 & 0xFFFF) + 1)
}

fn fault_text(key: u64, fault: &str) -> String {
    let (gene1, gene2, cluster) = genes_of(key);
    format!("gene pair {gene1} {gene2} cluster {cluster} {fault}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use cuesta_core::budget::Budget;
    use cuesta_core::job::{Request, request};
    use cuesta_core::progress::Progress;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    type Rows = BTreeMap<u64, Micro>;
    type Claims = Vec<(u64, [Option<Micro>; 2])>;

    fn settled(claims: &Claims, versions: &[Vec<(u64, Micro)>; 2], memory_bytes: u64) -> bool {
        let folder = tempfile::tempdir().unwrap();
        let text = serde_json::json!({ "inputs": ["a"], "output": "o", "threads": 2,
            "memory_bytes": memory_bytes, "scratch": folder.path() });
        let request: Request = request(&text.to_string()).unwrap();
        let (budget, progress) = (Budget::new(memory_bytes), Progress::default());
        let context = Context { request: &request, budget: &budget, progress: &progress };
        let matching = Matching::new(&context, 77);
        let mut sink = matching.claim_sink();
        for &(key, scores) in claims {
            matching.claim(&mut sink, key, scores, [true; 2]).unwrap();
        }
        matching.finish_claims(&mut sink).unwrap();
        for (side, rows) in versions.iter().enumerate() {
            let mut sink = matching.row_sink();
            for &(key, score) in rows {
                matching.row(&mut sink, side, key, score).unwrap();
            }
            matching.finish_rows(&mut sink, side).unwrap();
        }
        matching.settle().unwrap().is_none()
    }

    fn inner(a: &Rows, b: &Rows) -> Claims {
        let both = |(&key, &left): (&u64, &Micro)| Some((key, [Some(left), Some(*b.get(&key)?)]));
        a.iter().filter_map(both).collect()
    }

    fn lists(versions: [&Rows; 2]) -> [Vec<(u64, Micro)>; 2] {
        versions.map(|rows| rows.iter().map(|(&key, &score)| (key, score)).collect())
    }

    fn rows() -> impl Strategy<Value = Rows> {
        proptest::collection::btree_map(1u64..40, -5i32..5, 0..30)
    }

    proptest! {
        #[test]
        fn an_inner_join_is_accepted_and_any_other_answer_is_refused(
            a in rows(), b in rows(), memory in prop_oneof![Just(4u64 << 10), Just(64 << 20)],
            place in any::<proptest::sample::Index>(), change in 0usize..4, key in 1u64..40,
        ) {
            let claims = inner(&a, &b);
            prop_assert!(settled(&claims, &lists([&a, &b]), memory));
            let mut wrong = claims.clone();
            if claims.is_empty() || change == 3 {
                prop_assume!(!(a.contains_key(&key) && b.contains_key(&key)));
                wrong.push((key, [Some(1), Some(2)]));
            } else {
                let place = place.index(claims.len());
                match change {
                    0 => { wrong.remove(place); }
                    1 => wrong.push(claims[place]),
                    _ => wrong[place].1[1] = wrong[place].1[1].map(|score| score + 1),
                }
            }
            prop_assert!(!settled(&wrong, &lists([&a, &b]), memory), "{wrong:?}");
        }
    }

    #[test]
    fn a_key_that_is_in_a_version_twice_is_noticed() {
        let versions = [vec![(7, 1), (7, 2)], vec![(9, 3)]];
        assert!(!settled(&Vec::new(), &versions, 1 << 20));
        assert!(settled(&Vec::new(), &[vec![(7, 1)], vec![(9, 3)]], 1 << 20));
    }

    #[test]
    fn many_rows_are_settled_in_passes_and_from_disk() {
        let a: Rows = (1..40_000).map(|key| (key << 20, key as i32)).collect();
        let b: Rows = (1..40_000).filter(|key| key % 3 > 0).map(|key| (key << 20, -5)).collect();
        let claims = inner(&a, &b);
        for memory_bytes in [64 << 10, 256 << 20] {
            assert!(settled(&claims, &lists([&a, &b]), memory_bytes));
            assert!(!settled(&claims[1..].to_vec(), &lists([&a, &b]), memory_bytes));
        }
    }
}
