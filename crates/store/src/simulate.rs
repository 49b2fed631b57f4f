//! Simulation of the hits of a policy on recorded reads.

use std::collections::HashMap;

use serde::Serialize;

use crate::cache::policy::admission::{Gated, LoadReason};
use crate::cache::policy::{BlockId, PolicyName};
use crate::trace::{BlockRead, Trace};

/// Reads that the memory would have served.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Hits {
    /// Number of reads.
    pub reads: u64,
    /// Bytes of their blocks.
    pub bytes: u64,
    /// Bytes of the blocks loaded into memory.
    pub filled_bytes: u64,
}

/// Returns the hits of a policy with a memory of `memory_bytes`. Cost: O(reads), a few words a
/// block.
pub fn hits(policy: PolicyName, memory_bytes: u64, trace: &Trace) -> Hits {
    hits_gated(policy, false, memory_bytes, trace)
}

/// As [`hits`], with optional admission of missed blocks.
pub fn hits_gated(
    policy: PolicyName,
    has_admission: bool,
    memory_bytes: u64,
    trace: &Trace,
) -> Hits {
    let mut memory = Memory {
        policy: Gated::new(policy.make(memory_bytes), has_admission),
        resident: HashMap::new(),
        free_bytes: memory_bytes,
    };
    let mut hits = Hits::default();
    for read in &trace.reads {
        if memory.read(read) {
            hits.reads += 1;
            hits.bytes += read.size_bytes;
        } else if memory.resident.contains_key(&read.block) {
            hits.filled_bytes += read.size_bytes;
        }
    }
    hits
}

struct Memory {
    policy: Gated,
    resident: HashMap<BlockId, u64>,
    free_bytes: u64,
}

impl Memory {
    /// Reads a block; returns whether it was in memory, and loads it otherwise, if it fits.
    fn read(&mut self, read: &BlockRead) -> bool {
        let &BlockRead { block, size_bytes } = read;
        self.policy.read(block);
        match self.resident.get(&block) {
            Some(&size) if size == size_bytes => {
                self.policy.hit(block);
                return true;
            }
            // The file has changed since.
            Some(&size) => {
                self.resident.remove(&block);
                self.policy.remove(block);
                self.free_bytes += size;
            }
            None => (),
        }
        self.policy.missed(block);
        while self.free_bytes < size_bytes {
            let Some(evicted) = self.policy.displace(block, LoadReason::Read, &|_| true) else {
                return false;
            };
            self.free_bytes += self.resident.remove(&evicted).unwrap_or(0);
        }
        self.policy.insert(block, size_bytes);
        self.resident.insert(block, size_bytes);
        self.free_bytes -= size_bytes;
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn trace(blocks: &[u64]) -> Trace {
        let reads = blocks.iter().map(|&block| BlockRead { block, size_bytes: 10 }).collect();
        Trace { reads, blocks: 0, blocks_bytes: 0 }
    }

    #[test]
    fn of_a_cycle_larger_than_memory_only_s3_fifo_retains_some() {
        let cycle: Vec<u64> = (0..20).cycle().take(2000).collect();
        let of = |policy| hits(policy, 100, &trace(&cycle)).reads;
        assert_eq!((of(PolicyName::Lru), of(PolicyName::Sieve)), (0, 0));
        // It retains 9 of 20 blocks in its main queue.
        assert_eq!(of(PolicyName::S3Fifo), 9 * 99);
    }

    #[test]
    fn a_block_larger_than_memory_is_never_loaded() {
        for policy in PolicyName::ALL {
            assert_eq!(hits(policy, 9, &trace(&[1, 1, 1])), Hits::default(), "{policy}");
            let expected = Hits { reads: 2, bytes: 20, filled_bytes: 20 };
            assert_eq!(hits(policy, 10, &trace(&[1, 1, 2, 2])), expected);
        }
    }

    /// Belady's policy: evicts the block whose next read is the furthest away.
    fn most(blocks: &[u64], count: usize) -> u64 {
        let mut resident: Vec<u64> = Vec::new();
        let mut hits = 0;
        for (now, &block) in blocks.iter().enumerate() {
            if resident.contains(&block) {
                hits += 1;
                continue;
            }
            resident.push(block);
            if resident.len() > count {
                let next = |block| blocks[now + 1..].iter().position(|&other| other == block);
                let last = (0..resident.len())
                    .max_by_key(|&place| next(resident[place]).unwrap_or(usize::MAX));
                resident.swap_remove(last.unwrap());
            }
        }
        hits
    }

    proptest! {
        #[test]
        fn no_policy_beats_the_optimum_and_all_hit_a_set_that_fits(
            blocks in prop::collection::vec(0u64..12, 1..200),
            count in 1usize..14,
        ) {
            let distinct = blocks.iter().collect::<std::collections::HashSet<_>>().len();
            for policy in PolicyName::ALL {
                let hit_count = hits(policy, 10 * count as u64, &trace(&blocks)).reads;
                prop_assert!(hit_count <= most(&blocks, count), "{}", policy);
                if distinct <= count {
                    prop_assert_eq!(hit_count, (blocks.len() - distinct) as u64, "{}", policy);
                }
            }
        }

        /// Blocks that may not be evicted remain; removed blocks are forgotten.
        #[test]
        fn a_policy_forgets_evicted_blocks_and_nothing_else(
            steps in prop::collection::vec((0u64..20, 0u8..4, any::<u32>()), 1..300),
        ) {
            for name in PolicyName::ALL {
                let mut policy = name.make(100);
                let mut resident = std::collections::BTreeSet::new();
                for &(block, action, pinned) in &steps {
                    let may_evict = |block: BlockId| pinned >> block & 1 == 0;
                    match action {
                        0 if resident.remove(&block) => policy.remove(block),
                        1 => {
                            let evicted = policy.evict(&may_evict);
                            let any = resident.iter().any(|&block| may_evict(block));
                            prop_assert_eq!(evicted.is_some(), any, "{}", name);
                            if let Some(evicted) = evicted {
                                prop_assert!(resident.remove(&evicted) && may_evict(evicted));
                            }
                        }
                        _ if resident.contains(&block) => policy.hit(block),
                        _ => {
                            policy.missed(block);
                            policy.insert(block, 10);
                            resident.insert(block);
                        }
                    }
                }
            }
        }
    }
}
