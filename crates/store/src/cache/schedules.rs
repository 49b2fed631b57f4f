//! Threads around the cache, in orders that shuttle draws: readers, a writer that commits, and a
//! memory that shrinks. No file, no socket.
//!
//! `model.rs` covers long sequences of decisions by one thread. Here each sequence is short, and
//! what counts is where another thread comes in between: bytes are read, removed and written
//! without the lock.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use shuttle::scheduler::{PctScheduler, RandomScheduler, Scheduler};
use shuttle::{Config, FailurePersistence, Runner, sync, thread};

use super::policy::{BlockId, Policy, PolicyName};
use super::{Backing, BlockKey, LeaseStep, Residency, SealedBlock};
use super::{block, leases, policy, residency};
use crate::path::StorePath;
use crate::under::UnderVersion;
use policy::admission::{Gated, LoadReason};
use shared::Cache;

/// The cache as threads share it, over the locks of shuttle.
#[allow(clippy::duplicate_mod)]
#[path = "shared.rs"]
mod shared;

const SEED: u64 = 62;
/// Schedules of each kind that a test draws.
const SCHEDULES: usize = 500;
/// Most preemptions of a schedule of the second kind (Burckhardt, Kothari, Musuvathi, Nagarakatte,
/// "A randomized scheduler with probabilistic guarantees of finding bugs", ASPLOS 2010).
const PREEMPTIONS: usize = 3;
const STACK_BYTES: usize = 1 << 18;

const BLOCK: u64 = 10;
const MEMORY: u64 = 4 * BLOCK;
/// Memory while others need some of it.
const LITTLE_MEMORY: u64 = BLOCK;
const FILE_BLOCKS: u64 = 2;
const READS: usize = 4;
/// Version of the file on the under level at the start.
const OLDEST: i64 = 1;
/// Version that the writer commits last.
const NEWEST: i64 = 4;

/// Order of the steps that give a file its name.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Commit {
    /// In one step with the end of the file that it replaces.
    InOneStep,
    /// After the end of the file that it replaces.
    InTwoSteps,
}

/// A store around the cache: each block of a version has the number of that version as its bytes.
struct Node {
    cache: Cache,
    /// Bytes of the blocks in memory.
    memory: sync::Mutex<HashMap<SealedBlock, i64>>,
    /// Versions that are, or were, on the under level; the last one has the name.
    under: sync::Mutex<BTreeSet<i64>>,
    serials: sync::atomic::AtomicU64,
    /// Number of further fills that fail.
    failures: sync::atomic::AtomicU64,
    commit: Commit,
}

fn path() -> StorePath {
    "/a".parse().unwrap()
}

fn version(number: i64) -> UnderVersion {
    let (inode, size_bytes) = (number.cast_unsigned(), FILE_BLOCKS * BLOCK);
    UnderVersion { device: 1, inode, size_bytes, modified_ns: number, changed_ns: number }
}

/// Opens the file where it is only in memory.
fn open_alone(state: &mut Residency) -> Option<(u64, i64)> {
    let (number, version) = state.file_at(&path())?;
    if state.backing(number) == Backing::Under {
        return None;
    }
    state.open_again(number);
    Some((number, version.modified_ns))
}

impl Node {
    fn new(policy: Box<dyn Policy>, commit: Commit) -> Self {
        Self {
            cache: Cache::new(Residency::new(MEMORY, BLOCK, Gated::new(policy, false))),
            memory: sync::Mutex::default(),
            under: sync::Mutex::new(BTreeSet::from([OLDEST])),
            serials: sync::atomic::AtomicU64::new(0),
            failures: sync::atomic::AtomicU64::new(0),
            commit,
        }
    }

    fn seal(&self, key: BlockKey, bytes: i64) -> SealedBlock {
        let serial = self.serials.fetch_add(1, sync::atomic::Ordering::SeqCst);
        let block = SealedBlock { key, size_bytes: BLOCK, checksum: 0, serial };
        assert_eq!(self.memory.lock().unwrap().insert(block, bytes), None, "sealed twice");
        block
    }

    fn remove(&self, blocks: &[SealedBlock]) {
        for block in blocks {
            let removed = self.memory.lock().unwrap().remove(block);
            assert!(removed.is_some(), "{block:?} was removed twice");
        }
    }

    /// Opens the file as the store does: the under level is read without the lock, so that a commit
    /// may come in between.
    fn open(&self) -> (u64, i64) {
        if let Some(opened) = open_alone(&mut self.cache.lock()) {
            return opened;
        }
        let modified_ns = *self.under.lock().unwrap().last().unwrap();
        let mut state = self.cache.lock();
        if let Some(opened) = open_alone(&mut state) {
            return opened;
        }
        let (number, to_remove) = state.open(&path(), version(modified_ns));
        drop(state);
        self.remove(&to_remove);
        (number, modified_ns)
    }

    /// Reads a block of an open file, from memory where there is room.
    fn read(&self, key: BlockKey, modified_ns: i64) {
        let mut state = self.cache.lock();
        state.read(key);
        match self.cache.lease(state, key, LoadReason::Read) {
            LeaseStep::Grant(block) => self.use_and_release(block, modified_ns),
            LeaseStep::Fill { to_remove, .. } => {
                self.remove(&to_remove);
                if let Some(block) = self.fill(key, modified_ns) {
                    self.use_and_release(block, modified_ns);
                }
            }
            LeaseStep::Bypass { to_remove } => self.remove(&to_remove),
            LeaseStep::Lost => panic!("the only copy was evicted"),
            LeaseStep::Check(_) | LeaseStep::Wait => panic!("no such step"),
        }
    }

    /// Fills a block from the under level, where that has or had its version.
    fn fill(&self, key: BlockKey, modified_ns: i64) -> Option<SealedBlock> {
        let (relaxed, less) = (sync::atomic::Ordering::SeqCst, |count: u64| count.checked_sub(1));
        let fails = self.failures.fetch_update(relaxed, relaxed, less).is_ok();
        if fails || !self.under.lock().unwrap().contains(&modified_ns) {
            self.cache.settle(|state| state.failed(key));
            return None;
        }
        let block = self.seal(key, modified_ns);
        self.cache.settle(|state| state.filled(block, false));
        Some(block)
    }

    /// Reads the bytes of a leased block twice, and ends the lease.
    fn use_and_release(&self, block: SealedBlock, modified_ns: i64) {
        for _ in 0..2 {
            let bytes = self.memory.lock().unwrap().get(&block).copied();
            assert_eq!(bytes, Some(modified_ns), "a leased block was removed");
            thread::yield_now();
        }
        let removed = self.cache.lock().release(block.key);
        self.remove(removed.as_slice());
    }

    /// Reads the file some times; no version is older than the one before.
    fn read_all(&self) {
        let mut newest = OLDEST;
        for _ in 0..READS {
            let (number, modified_ns) = self.open();
            assert!(modified_ns >= newest, "version {modified_ns} was read after {newest}");
            newest = modified_ns;
            for index in 0..FILE_BLOCKS {
                self.read(BlockKey { file: number, index }, modified_ns);
            }
            self.cache.lock().close(number);
        }
    }

    /// Writes a version of the file, and commits it; returns its number. `None` without room.
    fn write(&self, modified_ns: i64, before: Option<u64>) -> Option<u64> {
        let number = self.cache.lock().begin_file(&path());
        for index in 0..FILE_BLOCKS {
            let key = BlockKey { file: number, index };
            let (to_remove, has_room) = self.cache.lock().place(key);
            self.remove(&to_remove);
            if !has_room {
                let to_remove = self.cache.lock().end_file(number);
                self.remove(&to_remove);
                return None;
            }
            let block = self.seal(key, modified_ns);
            self.cache.lock().sealed(block);
        }
        let ends_first = self.commit == Commit::InTwoSteps;
        if let Some(before) = before.filter(|_| ends_first) {
            let to_remove = self.cache.lock().end_file(before);
            self.remove(&to_remove);
        }
        let mut state = self.cache.lock();
        let mut to_remove = state.name_file(number, version(modified_ns), Backing::Dirty);
        if let Some(before) = before.filter(|_| !ends_first) {
            to_remove.extend(state.end_file(before));
        }
        drop(state);
        self.remove(&to_remove);
        Some(number)
    }

    /// Brings a dirty version to the under level: its blocks may be evicted from then on.
    fn write_back(&self, number: u64, modified_ns: i64) {
        self.under.lock().unwrap().insert(modified_ns);
        let named = version(modified_ns);
        let to_remove = self.cache.lock().name_file(number, named, Backing::Under);
        self.remove(&to_remove);
        self.cache.lock().close(number);
    }

    /// Writes some versions, each of which replaces the one before, and writes the last one back.
    fn replace(&self) {
        let mut last: Option<(u64, i64)> = None;
        for modified_ns in OLDEST + 1..=NEWEST {
            let before = last.map(|(number, _)| number);
            let written = self.write(modified_ns, before);
            last = written.map(|number| (number, modified_ns)).or(last);
        }
        if let Some((number, modified_ns)) = last {
            self.write_back(number, modified_ns);
        }
    }

    /// Has less memory for a while, as a node whose other programs need it.
    fn squeeze(&self) {
        for limit_bytes in [LITTLE_MEMORY, MEMORY] {
            let evicted = self.cache.lock().set_limit(limit_bytes);
            self.remove(&evicted);
            thread::yield_now();
        }
    }

    /// Compares the cache with the memory, when all threads have ended.
    fn check_end(&self) {
        let state = self.cache.lock();
        let memory = self.memory.lock().unwrap();
        let in_memory: u64 = memory.keys().map(|block| block.size_bytes).sum();
        assert_eq!((state.used_bytes(), state.counts().leases), (in_memory, 0));
        assert!(state.used_bytes() <= MEMORY, "memory beyond its limit");
    }
}

/// Runs each of these in a thread of its own, until all have ended.
fn run_all(node: &Arc<Node>, threads: &[fn(&Node)]) {
    let spawn = |work: &fn(&Node)| {
        let (node, work) = (Arc::clone(node), *work);
        thread::spawn(move || work(&node))
    };
    let threads: Vec<_> = threads.iter().map(spawn).collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    node.check_end();
}

/// Two readers and a shrinking memory, while a writer replaces the file.
fn readers_writer_and_pressure(policy: PolicyName) {
    let node = Arc::new(Node::new(policy.make(MEMORY), Commit::InOneStep));
    run_all(&node, &[Node::read_all, Node::read_all, Node::replace, Node::squeeze]);
}

/// Two readers and a shrinking memory.
fn readers_and_pressure(policy: Box<dyn Policy>) {
    let node = Arc::new(Node::new(policy, Commit::InOneStep));
    run_all(&node, &[Node::read_all, Node::read_all, Node::squeeze]);
}

/// A reader, while a writer replaces the file.
fn reader_and_writer(commit: Commit) {
    let node = Arc::new(Node::new(PolicyName::Lru.make(MEMORY), commit));
    run_all(&node, &[Node::read_all, Node::replace]);
}

/// Draws schedules of two kinds, the same ones in each run of a test.
fn explore(scenario: impl Fn() + Copy + Send + Sync + 'static) {
    let run = |scheduler: Box<dyn Scheduler + Send>| {
        let mut config = Config::new();
        config.failure_persistence = FailurePersistence::None;
        config.stack_size = STACK_BYTES;
        Runner::new(scheduler, config).run(scenario);
    };
    run(Box::new(RandomScheduler::new_from_seed(SEED, SCHEDULES)));
    run(Box::new(PctScheduler::new_from_seed(SEED, PREEMPTIONS, SCHEDULES)));
}

/// A policy that evicts any block, in use or not.
struct Careless(Box<dyn Policy>);

impl Policy for Careless {
    fn hit(&mut self, block: BlockId) {
        self.0.hit(block);
    }

    fn insert(&mut self, block: BlockId, size_bytes: u64) {
        self.0.insert(block, size_bytes);
    }

    fn evict(&mut self, _: &dyn Fn(BlockId) -> bool) -> Option<BlockId> {
        self.0.evict(&|_| true)
    }

    fn remove(&mut self, block: BlockId) {
        self.0.remove(block);
    }
}

#[test]
fn each_read_has_the_bytes_of_its_version_while_files_are_committed_and_evicted() {
    for policy in PolicyName::ALL {
        explore(move || readers_writer_and_pressure(policy));
    }
}

#[test]
fn a_reader_never_returns_to_an_older_version() {
    explore(|| reader_and_writer(Commit::InOneStep));
}

#[test]
fn a_fill_that_ends_wakes_all_threads_that_wait_for_the_block() {
    explore(|| {
        let node = Arc::new(Node::new(PolicyName::Lru.make(MEMORY), Commit::InOneStep));
        node.failures.store(1, sync::atomic::Ordering::SeqCst);
        let read: fn(&Node) = Node::read_all;
        run_all(&node, &[read; 3]);
    });
}

#[test]
#[should_panic(expected = "a leased block was removed")]
fn a_policy_that_evicts_leased_blocks_is_detected() {
    explore(|| readers_and_pressure(Box::new(Careless(PolicyName::Lru.make(MEMORY)))));
}

#[test]
#[should_panic(expected = "version 1 was read after")]
fn a_commit_in_two_steps_is_detected() {
    explore(|| reader_and_writer(Commit::InTwoSteps));
}
