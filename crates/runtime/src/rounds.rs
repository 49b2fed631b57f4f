//! The contract of distributed work. A [`Leader`] plans rounds, one at a time; an engine has
//! [`Worker`]s do the tasks of each round, on any node and in any order, and passes their results
//! to the leader. A workload implements both, once; an engine knows no workload.
//!
//! In a round with parts, tasks send blocks to parts (a shuffle); each part then is a task of its
//! own, which receives all blocks that were sent to it. All messages are bytes, which
//! [`operation`](crate::operation) makes from values.

use std::collections::BTreeMap;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use cuesta_core::job::Response;
use cuesta_core::progress::Progress;
use cuesta_core::random::Stream;
use cuesta_core::{Error, Result};

use crate::blocks::{Blocks, Bytes};

/// Tasks per slot: more than one, so that all slots end at about the same time.
pub const TASKS_PER_SLOT: u64 = 3;

/// Resources of the workers of a run, and abilities of its engine.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Resources {
    /// Number of tasks that run at once, at least 1.
    pub slots: usize,
    /// Number of nodes that the slots are on; 0 stands for 1.
    #[serde(default)]
    pub nodes: usize,
    /// Memory of all workers on a node, in bytes.
    pub memory_bytes: u64,
    /// Requested number of tasks and of parts, if any.
    #[serde(default)]
    pub tasks: Option<usize>,
    /// Requested size of the input of a task, about, in bytes, if any.
    #[serde(default)]
    pub task_bytes: Option<u64>,
    /// Whether the same worker does the tasks and parts of a number in all rounds, so that it finds
    /// the state that it saved.
    #[serde(default)]
    pub keeps: bool,
    /// Whether the shuffle of the engine accepts pairs of text, see [`Round::is_text`].
    #[serde(default)]
    pub text: bool,
    /// Whether a task or part takes seconds to start, so that few large ones are faster.
    #[serde(default)]
    pub slow_to_begin: bool,
}

impl Resources {
    /// Number of tasks for `items` indivisible items.
    pub fn task_count(&self, items: u64) -> u64 {
        let most = TASKS_PER_SLOT * self.slots as u64;
        self.tasks.map_or(items.clamp(1, most), |tasks| tasks as u64)
    }

    /// Memory of a worker, in bytes.
    pub fn worker_bytes(&self) -> u64 {
        self.all_bytes() / self.slots as u64
    }

    /// Memory of all workers on all nodes, in bytes.
    pub fn all_bytes(&self) -> u64 {
        self.memory_bytes.saturating_mul(self.nodes.max(1) as u64)
    }
}

/// Resources that an engine offers to a run: the memory of a node is that of its workers and of the
/// leader.
#[derive(Clone, Copy, Debug)]
pub struct OfferedResources(Resources);

/// Division of the offered memory among the processes of a run.
#[derive(Clone, Copy, Debug)]
pub struct MemoryPlan {
    /// Memory of the leader.
    pub leader_bytes: u64,
    /// Memory of a worker.
    pub worker_bytes: u64,
    /// Resources of all workers, without the memory of the leader.
    pub workers: Resources,
}

impl OfferedResources {
    /// Divides the memory: one part in `leader_part` is the leader's, the workers share the rest.
    pub fn divided(self, leader_part: u64) -> MemoryPlan {
        let Self(offered) = self;
        let leader_bytes = offered.memory_bytes / leader_part;
        let memory_bytes = offered.memory_bytes - leader_bytes;
        let workers = Resources { memory_bytes, ..offered };
        MemoryPlan { leader_bytes, worker_bytes: workers.worker_bytes(), workers }
    }

    /// Reads the resources from JSON.
    ///
    /// # Errors
    /// `Defect` for invalid resources: only engines write them.
    pub fn from_json(text: &str) -> Result<Self> {
        let resources: Resources =
            serde_json::from_str(text).map_err(|error| Error::defect("arguments", error))?;
        if resources.slots == 0 || resources.tasks == Some(0) || resources.task_bytes == Some(0) {
            return Err(Error::defect("arguments", "slots, tasks and their bytes are at least 1"));
        }
        Ok(Self(resources))
    }
}

/// Divides the numbers below `count` among tasks, as evenly as possible; some may receive none.
pub fn shares(count: u64, tasks: u64) -> impl Iterator<Item = Range<u64>> {
    let first =
        move |task: u64| (u128::from(task) * u128::from(count) / u128::from(tasks.max(1))) as u64;
    (0..tasks).map(move |task| first(task)..first(task + 1))
}

/// A round of independent tasks.
#[derive(Clone, Debug, Default)]
pub struct Round {
    /// Name of its phase in the run record.
    pub phase: String,
    /// Bytes that it reads or writes, whichever bounds it.
    pub bytes: u64,
    /// Rows that it processes.
    pub rows: u64,
    /// Floating-point operations, where they bound it; else 0.
    pub flops: u64,
    /// Name of the measured ceiling that bounds it.
    pub ceiling: Option<&'static str>,
    /// Bytes that all tasks and parts receive.
    pub shared: Vec<u8>,
    /// Bytes for each task.
    pub tasks: Vec<Vec<u8>>,
    /// Number of parts that tasks send blocks to; 0 for a round without parts.
    pub parts: usize,
    /// Whether blocks are pairs of text, which an engine with [`Resources::text`] may sort by key:
    /// lines of a key, a tab and a value. A part then receives lines of a key and one or more of
    /// its values, each preceded by a tab.
    pub is_text: bool,
    /// Whether [`Worker::combine`] reduces all results to one, in any order and grouping. Else the
    /// leader receives the result of each task, in their order, or with parts that of each part.
    pub combines: bool,
}

/// The planner of the rounds of a run; it holds no data.
pub trait Leader: Send {
    /// The next round, planned from the `results` of the last one; `None` when the answer is
    /// written. Adds its own work to the phases of `response`, and at the end the counts.
    ///
    /// # Errors
    /// `Input`, `System`, `Cancelled`.
    fn next(
        &mut self,
        results: Vec<Vec<u8>>,
        response: &mut Response,
        progress: &Progress,
    ) -> Result<Option<Round>>;
}

/// Input of a task or a part.
#[derive(Clone, Copy, Debug)]
pub struct Task<'a> {
    /// Its number in the round.
    pub number: usize,
    /// Bytes that all tasks of the round receive.
    pub shared: &'a [u8],
    /// Bytes of this task alone; empty for a part.
    pub input: &'a [u8],
}

/// Executor of tasks. A task that is repeated, on any worker, has the same result. State that a
/// worker saves from one round for the next may save work, but changes no answer.
pub trait Worker: Send {
    /// Does a task; returns its result and the blocks that it sends.
    ///
    /// # Errors
    /// `Input`, `System`, `Cancelled`.
    fn task(&mut self, task: Task<'_>, progress: &Progress) -> Result<(Vec<u8>, Blocks)>;

    /// Receives a block for a part: that of task number `from`, or those of several consecutive
    /// tasks beginning with it, in their order. Blocks arrive in any order.
    ///
    /// # Errors
    /// As for a task.
    fn take(&mut self, part: Task<'_>, from: usize, block: Bytes) -> Result<()>;

    /// Does a part, all of whose blocks it has received; returns its result.
    ///
    /// # Errors
    /// As for a task.
    fn part(&mut self, part: Task<'_>, progress: &Progress) -> Result<Vec<u8>>;

    /// Combines the results of two tasks, or of two parts, into one.
    ///
    /// # Errors
    /// `Defect` for a result that is invalid.
    fn combine(&self, shared: &[u8], left: Vec<u8>, right: &[u8]) -> Result<Vec<u8>>;
}

/// An engine for tests, in one thread: does tasks in random order, some of them twice, some by
/// workers that stop in the middle of a round, and combines results in random order.
pub struct RandomEngine<'a> {
    /// Makes a worker.
    pub worker: &'a dyn Fn() -> Result<Box<dyn Worker>>,
    /// Source of all random choices.
    pub chance: Stream,
}

impl RandomEngine<'_> {
    /// Runs all rounds; returns the response of the leader.
    ///
    /// # Errors
    /// Errors of the leader and of the workers.
    pub fn run(&self, leader: &mut dyn Leader, progress: &Progress) -> Result<Response> {
        let mut response = Response::default();
        let (mut results, mut number) = (Vec::new(), 0);
        while let Some(round) = leader.next(results, &mut response, progress)? {
            let chance = Stream::new(self.chance.bits(number), 0);
            results = self.round(&round, chance, progress)?;
            number += 1;
        }
        Ok(response)
    }

    fn round(&self, round: &Round, chance: Stream, progress: &Progress) -> Result<Vec<Vec<u8>>> {
        let task_of = |number: usize, input| Task { number, shared: &round.shared, input };
        let (mut results, mut sent) = (BTreeMap::new(), BTreeMap::new());
        for number in order(round.tasks.len(), chance) {
            // A worker that fails: its task is repeated by another.
            let times = 1 + chance.below(1 << 20 | number as u64, 3) / 2;
            for _ in 0..times {
                let task = task_of(number, &round.tasks[number]);
                let (result, blocks) = (self.worker)()?.task(task, progress)?;
                results.insert(number, result);
                sent.insert(number, blocks);
            }
        }
        if round.parts > 0 {
            results = BTreeMap::new();
            for part in order(round.parts, chance) {
                let times = 1 + chance.below(2 << 20 | part as u64, 3) / 2;
                for _ in 0..times {
                    let mut worker = (self.worker)()?;
                    for number in order(round.tasks.len(), Stream::new(chance.bits(1), times)) {
                        let block = sent[&number].of_part(part).to_vec();
                        worker.take(task_of(part, &[]), number, Box::new(block))?;
                    }
                    results.insert(part, worker.part(task_of(part, &[]), progress)?);
                }
            }
        }
        let mut results: Vec<Vec<u8>> = results.into_values().collect();
        while round.combines && results.len() > 1 {
            let left = results.swap_remove(chance.below(3, results.len() as u64) as usize);
            let right = results.swap_remove(chance.below(4, results.len() as u64) as usize);
            results.push((self.worker)()?.combine(&round.shared, left, &right)?);
        }
        Ok(results)
    }
}

/// The numbers below `count` in random order.
fn order(count: usize, chance: Stream) -> Vec<usize> {
    let mut numbers: Vec<usize> = (0..count).collect();
    numbers.sort_by_key(|&number| chance.bits(number as u64));
    numbers
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    #[test]
    fn shares_are_even_and_leave_nothing_out() {
        for (count, tasks) in [(7, 3), (2, 5), (1_000_000_000_000, 7), (0, 2)] {
            let all: Vec<Range<u64>> = shares(count, tasks).collect();
            assert_eq!(all.len() as u64, tasks);
            assert!(all.windows(2).all(|pair| pair[0].end == pair[1].start));
            assert_eq!((all[0].start, all[all.len() - 1].end), (0, count));
            let sizes = || all.iter().map(|share| share.end - share.start);
            assert!(sizes().max() <= sizes().min().map(|least| least + 1));
        }
    }

    #[test]
    fn tasks_are_at_most_three_per_slot_unless_requested() {
        let resources = Resources { slots: 3, ..Resources::default() };
        assert_eq!(
            (resources.task_count(0), resources.task_count(5), resources.task_count(1000)),
            (1, 5, 9)
        );
        assert_eq!(Resources { tasks: Some(7), ..resources }.task_count(1000), 7);
    }

    #[test]
    fn resources_are_read_and_zeros_are_refused() {
        let read = |text: &str| OfferedResources::from_json(text);
        let OfferedResources(resources) =
            read(r#"{"slots": 2, "memory_bytes": 5, "tasks": 3, "keeps": true}"#).unwrap();
        assert_eq!(
            (resources.slots, resources.memory_bytes, resources.tasks, resources.keeps),
            (2, 5, Some(3), true)
        );
        for more in [r#""slots": 0"#, r#""slots": 1, "tasks": 0"#, r#""slots": 1, "task_bytes": 0"#]
        {
            assert!(read(&format!(r#"{{"memory_bytes": 5, {more}}}"#)).is_err(), "{more}");
        }
        assert!(read(r#"{"slots": 1, "memory_bytes": 5, "task": 1}"#).is_err());
    }

    /// A task returns its number and sends it to all parts; a part returns the sum of its blocks.
    struct Adder {
        sum: u64,
        done: Arc<AtomicU64>,
    }

    fn number(bytes: &[u8]) -> u64 {
        u64::from_le_bytes(bytes.try_into().unwrap())
    }

    impl Worker for Adder {
        fn task(&mut self, task: Task<'_>, _: &Progress) -> Result<(Vec<u8>, Blocks)> {
            self.done.fetch_add(1, Ordering::Relaxed);
            assert_eq!((task.shared, number(task.input)), (&b"all"[..], task.number as u64));
            let blocks = Blocks { bytes: task.input.repeat(5), ends: vec![8, 16, 24, 32, 40] };
            Ok((task.input.to_vec(), blocks))
        }

        fn take(&mut self, _: Task<'_>, from: usize, block: Bytes) -> Result<()> {
            assert_eq!(number((*block).as_ref()), from as u64);
            self.sum += from as u64;
            Ok(())
        }

        fn part(&mut self, part: Task<'_>, _: &Progress) -> Result<Vec<u8>> {
            Ok((self.sum + part.number as u64).to_le_bytes().to_vec())
        }

        fn combine(&self, _: &[u8], left: Vec<u8>, right: &[u8]) -> Result<Vec<u8>> {
            Ok((number(&left) + number(right)).to_le_bytes().to_vec())
        }
    }

    #[test]
    fn the_random_engine_does_all_tasks_and_some_twice() {
        for (parts, combines) in [(0, false), (0, true), (5, false), (5, true)] {
            let done = Arc::new(AtomicU64::new(0));
            let worker = || Ok(Box::new(Adder { sum: 0, done: done.clone() }) as Box<dyn Worker>);
            let chance = Stream::new(8, 0);
            let engine = RandomEngine { worker: &worker, chance };
            let tasks = (0..40u64).map(|number| number.to_le_bytes().to_vec()).collect();
            let round =
                Round { shared: b"all".to_vec(), tasks, parts, combines, ..Round::default() };
            let results = engine.round(&round, chance, &Progress::default()).unwrap();
            let results: Vec<u64> = results.iter().map(|bytes| number(bytes)).collect();
            let expected: Vec<u64> =
                if parts == 0 { (0..40).collect() } else { (780..785).collect() };
            let sum = vec![expected.iter().sum::<u64>()];
            assert_eq!(results, if combines { sum } else { expected });
            assert!((41..80).contains(&done.load(Ordering::Relaxed)));
        }
    }

    #[test]
    fn memory_is_divided_without_an_uncounted_rest() {
        let offered = OfferedResources::from_json(r#"{"slots": 3, "memory_bytes": 1000}"#).unwrap();
        let MemoryPlan { leader_bytes, worker_bytes, workers } = offered.divided(16);
        assert_eq!((workers.memory_bytes, leader_bytes), (938, 62));
        assert_eq!((worker_bytes, workers.worker_bytes()), (312, 312));
        assert!(leader_bytes + 3 * worker_bytes <= 1000);
        let nodes = Resources { slots: 6, nodes: 2, ..workers };
        assert_eq!((nodes.worker_bytes(), nodes.all_bytes()), (312, 2 * 938));
    }
}
