//! Admission: whether a missed block may evict another one. An exchange costs more than a read from
//! the under level, so it has to pay.
//!
//! Each block has a score: its number of reads, which halves after as many reads as there are known
//! blocks (the frequency of Einziger, Friedman, Manes, "TinyLFU: a highly efficient cache admission
//! policy", ACM ToS 2017, with exact counts and smooth ageing). A missed block evicts the policy's
//! choice only if its score is much higher. In a cycle larger than the memory all scores are about
//! equal, and the blocks in memory remain; after a shift of the working set the scores of the old
//! set decrease, and the new set is loaded after about four passes.

use std::collections::HashMap;

use super::{BlockId, Policy};

/// A score has to be this many times that of the block to evict, ...
const RATIO: f64 = 2.0;
/// ... and higher by this: one more read is no reason.
const MARGIN: f64 = 1.5;
/// Upper limit of a score, so that the past is soon forgotten.
const SCORE_MAX: f64 = 4.0;
/// A block with a lower score is forgotten.
const SCORE_MIN: f64 = 0.1;
/// Lower limit of the number of known blocks in the half-life.
const KNOWN_MIN: usize = 64;
/// Most known blocks; beyond that, only blocks in memory are known.
const KNOWN_MAX: usize = 1 << 18;

/// Scores of blocks.
#[derive(Debug, Default)]
pub struct Admission {
    scores: HashMap<BlockId, BlockScore>,
    /// Number of reads so far.
    reads: u64,
    /// Number of known blocks at which blocks of low score are forgotten.
    sweep_at: usize,
}

#[derive(Clone, Copy, Debug)]
struct BlockScore {
    value: f64,
    /// Number of the read at which the value was computed.
    at: u64,
}

impl Admission {
    /// Counts a read of a block, in memory or not.
    pub fn read(&mut self, block: BlockId) {
        self.reads += 1;
        let value = (self.score(block) + 1.0).min(SCORE_MAX);
        self.scores.insert(block, BlockScore { value, at: self.reads });
        if self.scores.len() > self.sweep_at.max(KNOWN_MIN) {
            self.sweep();
        }
    }

    /// Returns whether a block that was read may evict another one; `ahead` where it is only about
    /// to be read.
    pub fn may_displace(&self, block: BlockId, other: BlockId, ahead: bool) -> bool {
        self.score(block) + f64::from(u8::from(ahead)) > RATIO * self.score(other) + MARGIN
    }

    fn score(&self, block: BlockId) -> f64 {
        let half_life = self.scores.len().max(KNOWN_MIN) as f64;
        self.scores.get(&block).map_or(0.0, |score| aged(score, self.reads, half_life))
    }

    /// Forgets blocks of low score, and beyond [`KNOWN_MAX`] those that were not read for longest.
    fn sweep(&mut self) {
        let (reads, half_life) = (self.reads, self.scores.len() as f64);
        self.scores.retain(|_, score| aged(score, reads, half_life) > SCORE_MIN);
        if self.scores.len() > KNOWN_MAX / 2 {
            let mut times: Vec<u64> = self.scores.values().map(|score| score.at).collect();
            let middle = times.len() - KNOWN_MAX / 2;
            let (_, &mut oldest, _) = times.select_nth_unstable(middle);
            self.scores.retain(|_, score| score.at >= oldest);
        }
        self.sweep_at = 2 * self.scores.len();
    }
}

fn aged(score: &BlockScore, reads: u64, half_life: f64) -> f64 {
    score.value * (-((reads - score.at) as f64) / half_life).exp2()
}

/// A policy with optional admission of missed blocks.
///
/// If the policy's choice is not evicted after all, it is inserted again as if it had been read, so
/// that the next choice is another block.
pub struct Gated {
    policy: Box<dyn Policy>,
    /// `None` where all missed blocks are admitted.
    admission: Option<Admission>,
    /// Blocks in memory and their bytes.
    sizes: HashMap<BlockId, u64>,
    /// Number of reads whose block was not admitted.
    declined: u64,
}

impl Gated {
    /// Creates a policy, with admission or without.
    pub fn new(policy: Box<dyn Policy>, has_admission: bool) -> Self {
        let admission = has_admission.then(Admission::default);
        Self { policy, admission, sizes: HashMap::new(), declined: 0 }
    }

    /// Counts a read of a block, in memory or not, before any other call for it.
    pub fn read(&mut self, block: BlockId) {
        if let Some(admission) = &mut self.admission {
            admission.read(block);
        }
    }

    /// Returns the number of reads whose block was not admitted.
    pub fn declined(&self) -> u64 {
        self.declined
    }

    /// As [`Policy::hit`].
    pub fn hit(&mut self, block: BlockId) {
        self.policy.hit(block);
    }

    /// As [`Policy::missed`], for a block that will be inserted if it has room.
    pub fn missed(&mut self, block: BlockId) {
        self.policy.missed(block);
    }

    /// As [`Policy::insert`].
    pub fn insert(&mut self, block: BlockId, size_bytes: u64) {
        self.sizes.insert(block, size_bytes);
        self.policy.insert(block, size_bytes);
    }

    /// As [`Policy::remove`].
    pub fn remove(&mut self, block: BlockId) {
        self.sizes.remove(&block);
        self.policy.remove(block);
    }

    /// As [`Policy::evict`], without admission.
    pub fn evict(&mut self, may_evict: &dyn Fn(BlockId) -> bool) -> Option<BlockId> {
        let evicted = self.policy.evict(may_evict)?;
        self.sizes.remove(&evicted);
        Some(evicted)
    }

    /// Chooses the block to evict for a missed one, and forgets it; `None` where none may be
    /// evicted, or the missed block is not admitted.
    pub fn displace(
        &mut self,
        missed: BlockId,
        reason: LoadReason,
        may_evict: &dyn Fn(BlockId) -> bool,
    ) -> Option<BlockId> {
        let evicted = self.policy.evict(may_evict)?;
        if let Some(admission) = self.admission.as_ref().filter(|_| reason != LoadReason::Wanted)
            && !admission.may_displace(missed, evicted, reason == LoadReason::Ahead)
        {
            self.declined += u64::from(reason != LoadReason::Ahead);
            self.policy.missed(evicted);
            self.policy.insert(evicted, self.sizes[&evicted]);
            return None;
        }
        self.sizes.remove(&evicted);
        Some(evicted)
    }
}

/// Reason to load a block into memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoadReason {
    /// It is read.
    Read,
    /// More of it is read, just after a part of it was: both count as one read.
    ReadOn,
    /// It is about to be read.
    Ahead,
    /// The user wants it in memory, however often it is read.
    Wanted,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cache::policy::PolicyName;
    use crate::simulate::{Hits, hits_gated};
    use crate::trace::{BlockRead, Trace};
    use cuesta_core::random::Stream;
    use proptest::prelude::*;

    const MEMORY_BLOCKS: u64 = 40;

    fn run(policy: PolicyName, blocks: impl Iterator<Item = BlockId>) -> Hits {
        let reads = blocks.map(|block| BlockRead { block, size_bytes: 1 }).collect();
        let trace = Trace { reads, blocks: 0, blocks_bytes: 0 };
        hits_gated(policy, true, MEMORY_BLOCKS, &trace)
    }

    #[test]
    fn a_cycle_larger_than_memory_retains_the_first_blocks() {
        for policy in PolicyName::ALL {
            for times in [2, 4, 10] {
                let cycle = times * MEMORY_BLOCKS;
                let hits = run(policy, (0..cycle).cycle().take(30 * cycle as usize));
                let expected = Hits {
                    reads: 29 * MEMORY_BLOCKS,
                    bytes: 29 * MEMORY_BLOCKS,
                    filled_bytes: MEMORY_BLOCKS,
                };
                assert_eq!(hits, expected, "{policy}, {times} times the memory");
            }
        }
    }

    #[test]
    fn uniform_reads_hit_their_share_and_exchange_little() {
        let chance = Stream::new(7, 0);
        for policy in PolicyName::ALL {
            for times in [2, 4, 10] {
                let count = times * MEMORY_BLOCKS;
                let reads = 100 * count;
                let hits = run(policy, (0..reads).map(|read| chance.below(read, count)));
                let share = hits.reads as f64 * times as f64 / reads as f64;
                assert!((0.9..1.2).contains(&share), "{policy}, {times}: {share}");
                let filled = hits.filled_bytes as f64 / reads as f64;
                assert!(filled < 0.09, "{policy}, {times}: {filled}");
            }
        }
    }

    #[test]
    fn another_working_set_is_loaded_after_a_few_passes() {
        for policy in PolicyName::ALL {
            let old = (0..MEMORY_BLOCKS).cycle().take(50 * MEMORY_BLOCKS as usize);
            let new = |passes| (1000..1000 + MEMORY_BLOCKS).cycle().take(passes);
            let of = |passes: u64| {
                run(policy, old.clone().chain(new((passes * MEMORY_BLOCKS) as usize)))
            };
            let last = of(8).reads - of(7).reads;
            assert!(last >= MEMORY_BLOCKS * 4 / 5, "{policy}: {last}");
        }
    }

    #[test]
    fn a_hot_set_evicts_a_scan_and_a_scan_evicts_nothing() {
        for policy in PolicyName::ALL {
            let hot = (0..20).cycle().take(200);
            let before = (1000..2000).chain(hot.clone());
            let hits = run(policy, before.clone());
            assert!(hits.reads >= 120, "{policy}: {}", hits.reads);
            let after = run(policy, before.chain(2000..3000).chain(hot));
            assert_eq!(after.reads, hits.reads + 200, "{policy}");
        }
    }

    #[test]
    fn the_number_of_known_blocks_is_bounded() {
        let mut admission = Admission::default();
        for block in 0..3 * KNOWN_MAX as u64 {
            admission.read(block);
        }
        assert!(admission.scores.len() <= KNOWN_MAX);
        assert!(admission.score(3 * KNOWN_MAX as u64 - 1) > 0.9);
        assert_eq!(admission.score(0), 0.0);
    }

    proptest! {
        /// After any reads, pins, removals and forced loads, the blocks in memory are those that
        /// were inserted and neither evicted nor removed, and no block is evicted that may not be.
        #[test]
        fn no_block_is_lost_or_evicted_twice(
            steps in prop::collection::vec((0u64..30, 0u8..6, any::<u32>()), 1..400),
        ) {
            for name in PolicyName::ALL {
                let mut gated = Gated::new(name.make(10), true);
                let mut resident = std::collections::BTreeSet::new();
                for &(block, action, pinned) in &steps {
                    let may_evict = |block: BlockId| pinned >> block & 1 == 0;
                    gated.read(block);
                    if action == 0 && resident.remove(&block) {
                        gated.remove(block);
                    } else if resident.contains(&block) {
                        gated.hit(block);
                    } else {
                        gated.missed(block);
                        let reasons = [LoadReason::Wanted, LoadReason::Ahead, LoadReason::Read];
                        let reason = reasons[action as usize % 3];
                        if resident.len() == 10 {
                            let any = resident.iter().any(|&block| may_evict(block));
                            let Some(victim) = gated.displace(block, reason, &may_evict) else {
                                prop_assert!(reason != LoadReason::Wanted || !any, "{}", name);
                                continue;
                            };
                            prop_assert!(resident.remove(&victim) && may_evict(victim), "{}", name);
                        }
                        gated.insert(block, 1);
                        resident.insert(block);
                    }
                }
                let mut remaining = std::collections::BTreeSet::new();
                while let Some(block) = gated.evict(&|_| true) {
                    prop_assert!(remaining.insert(block), "{}", name);
                }
                prop_assert_eq!(&remaining, &resident, "{}", name);
            }
        }
    }
}
