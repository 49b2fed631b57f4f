//! The contract of distributed work. A [`Leader`] plans rounds, one after the other; an engine has
//! the tasks of each done by [`Worker`]s, wherever and in whatever order, and gives the leader what
//! they found. A workload writes both, once; an engine knows no workload.
//!
//! In a round with parts, tasks send blocks to parts; each part then is a task of its own, which
//! gets all that was sent to it. Whatever travels is bytes.

use std::collections::BTreeMap;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use cuesta_core::job::Response;
use cuesta_core::progress::Progress;
use cuesta_core::random::Stream;
use cuesta_core::{Error, Result};

/// Tasks for each slot, so that all slots end at about the same time.
pub const TASKS_PER_SLOT: u64 = 3;

/// What an engine offers to a run.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Resources {
    /// How many tasks run at once, at least 1.
    pub slots: usize,
    /// Nodes that they are on; 0 is one.
    #[serde(default)]
    pub nodes: usize,
    /// Memory of all that do tasks on a node; of what leads too until it is
    /// [`split off`](Self::split_off_leader).
    pub memory_bytes: u64,
    /// How many tasks there shall be, and how many parts, where that has been said.
    #[serde(default)]
    pub tasks: Option<usize>,
    /// Bytes of the input that a task reads, about, where that has been said.
    #[serde(default)]
    pub task_bytes: Option<u64>,
    /// Whether tasks and parts of one number are done by one worker in all rounds, so that they
    /// find what they kept.
    #[serde(default)]
    pub keeps: bool,
    /// Whether its shuffle takes pairs of text, see [`Round::is_text`].
    #[serde(default)]
    pub text: bool,
    /// Whether a task or part takes seconds to begin, so that few that are large do better.
    #[serde(default)]
    pub slow_to_begin: bool,
}

impl Resources {
    /// How many tasks there are, of things of which each is one at least.
    pub fn task_count(&self, things: u64) -> u64 {
        let most = TASKS_PER_SLOT * self.slots as u64;
        self.tasks.map_or(things.clamp(1, most), |tasks| tasks as u64)
    }

    /// Gives what leads one part in `part` of the memory: the means without it, and its bytes.
    pub fn split_off_leader(self, part: u64) -> (Self, u64) {
        let leader_bytes = self.memory_bytes / part;
        (Self { memory_bytes: self.memory_bytes - leader_bytes, ..self }, leader_bytes)
    }

    /// Memory of one that does tasks.
    pub fn worker_bytes(&self) -> u64 {
        self.all_bytes() / self.slots as u64
    }

    /// Memory of all that do tasks, on whatever nodes.
    pub fn all_bytes(&self) -> u64 {
        self.memory_bytes.saturating_mul(self.nodes.max(1) as u64)
    }

    /// Reads resources from JSON.
    ///
    /// # Errors
    /// `Defect`: it is an engine that writes them.
    pub fn from_json(text: &str) -> Result<Self> {
        let resources: Self =
            serde_json::from_str(text).map_err(|error| Error::defect("arguments", error))?;
        if resources.slots == 0 || resources.tasks == Some(0) || resources.task_bytes == Some(0) {
            return Err(Error::defect("arguments", "slots, tasks and their bytes are at least 1"));
        }
        Ok(resources)
    }
}

/// Divides numbers below `count` among tasks, as evenly as can be; some may get none.
pub fn shares(count: u64, tasks: u64) -> impl Iterator<Item = Range<u64>> {
    let first =
        move |task: u64| (u128::from(task) * u128::from(count) / u128::from(tasks.max(1))) as u64;
    (0..tasks).map(move |task| first(task)..first(task + 1))
}

/// Tasks that know nothing of each other.
#[derive(Clone, Debug, Default)]
pub struct Round {
    /// The phase that it is in the run record.
    pub phase: String,
    /// Bytes that it reads or writes, whichever bounds it.
    pub bytes: u64,
    /// Rows that it goes through.
    pub rows: u64,
    /// Floating-point operations, where they bound it; else 0.
    pub flops: u64,
    /// The measured ceiling that bounds it, by its name.
    pub ceiling: Option<&'static str>,
    /// Bytes that all tasks and parts get.
    pub shared: Vec<u8>,
    /// Bytes for each task.
    pub tasks: Vec<Vec<u8>>,
    /// Parts that tasks send blocks to; 0 where they send none.
    pub parts: usize,
    /// Whether blocks are pairs of text, which an engine that has [`Resources::text`] may sort by their
    /// keys: lines of a key, a tab and a value. A part then is given lines of a key and one or more
    /// of its values, a tab before each.
    pub is_text: bool,
    /// Whether [`Worker::combine`] makes one of what all found, in any order and grouping. Else the
    /// leader gets what each task found, in their order, or with parts what each part found.
    pub combines: bool,
}

/// What plans the rounds of a run: it decides, and has no data.
pub trait Leader: Send {
    /// The next round, from what was `found` in the last one; `None` when the answer is written.
    /// What it does itself it adds to the phases of `response`, and at the end the counts.
    ///
    /// # Errors
    /// `Input`, `System`, `Cancelled`.
    fn next(
        &mut self,
        found: Vec<Vec<u8>>,
        response: &mut Response,
        progress: &Progress,
    ) -> Result<Option<Round>>;
}

/// What a task or a part is given.
#[derive(Clone, Copy, Debug)]
pub struct Task<'a> {
    /// Its number in the round.
    pub number: usize,
    /// Bytes that all of the round get.
    pub shared: &'a [u8],
    /// Its own bytes; a part has none.
    pub input: &'a [u8],
}

/// Blocks for parts: that of part 0, that of part 1, and so on.
#[derive(Clone, Debug, Default)]
pub struct Blocks {
    /// All of them, without a gap.
    pub bytes: Vec<u8>,
    /// Where each ends; empty where nothing is sent.
    pub ends: Vec<u64>,
}

impl Blocks {
    /// The block of a part.
    pub fn of_part(&self, part: usize) -> &[u8] {
        let end = |part: usize| self.ends.get(part).copied().unwrap_or_default() as usize;
        let start = part.checked_sub(1).map_or(0, end);
        &self.bytes[start..end(part).max(start)]
    }
}

/// Bytes of a block, wherever they lie.
pub type Bytes = Box<dyn AsRef<[u8]> + Send + Sync>;

/// What does tasks: the same whenever and wherever a task is done again. What it keeps from one
/// round to the next may save work, and changes no answer.
pub trait Worker: Send {
    /// Does a task; returns what it found, and what it sends.
    ///
    /// # Errors
    /// `Input`, `System`, `Cancelled`.
    fn task(&mut self, task: Task<'_>, progress: &Progress) -> Result<(Vec<u8>, Blocks)>;

    /// Takes a block for a part: that of task number `from`, or those of several tasks from there
    /// on, in their order. Blocks come in any order.
    ///
    /// # Errors
    /// As for a task.
    fn take(&mut self, part: Task<'_>, from: usize, block: Bytes) -> Result<()> {
        let _ = (part, from, block);
        Err(no_such_round())
    }

    /// Does a part, all of whose blocks it has; returns what it found.
    ///
    /// # Errors
    /// As for a task.
    fn part(&mut self, part: Task<'_>, progress: &Progress) -> Result<Vec<u8>> {
        let _ = (part, progress);
        Err(no_such_round())
    }

    /// What two tasks found, or parts, as if one had found all of it.
    ///
    /// # Errors
    /// `Defect` for what none can have found.
    fn combine(&self, shared: &[u8], one: Vec<u8>, other: &[u8]) -> Result<Vec<u8>> {
        let _ = (shared, one, other);
        Err(no_such_round())
    }
}

fn no_such_round() -> Error {
    Error::defect("rounds", "this workload has no such round")
}

/// An engine for tests, in one thread: does tasks in random order, some of them twice, some by
/// workers that end in the middle of a round, and combines at random.
pub struct RandomEngine<'a> {
    /// Makes a worker.
    pub worker: &'a dyn Fn() -> Result<Box<dyn Worker>>,
    /// What is drawn.
    pub chance: Stream,
}

impl RandomEngine<'_> {
    /// Goes through all rounds; the response of the leader.
    ///
    /// # Errors
    /// Those of the leader and of the workers.
    pub fn run(&self, leader: &mut dyn Leader, progress: &Progress) -> Result<Response> {
        let mut response = Response::default();
        let (mut found, mut number) = (Vec::new(), 0);
        while let Some(round) = leader.next(found, &mut response, progress)? {
            let chance = Stream::new(self.chance.bits(number), 0);
            found = self.round(&round, chance, progress)?;
            number += 1;
        }
        Ok(response)
    }

    fn round(&self, round: &Round, chance: Stream, progress: &Progress) -> Result<Vec<Vec<u8>>> {
        let of = |number: usize, input| Task { number, shared: &round.shared, input };
        let (mut found, mut sent) = (BTreeMap::new(), BTreeMap::new());
        for number in order(round.tasks.len(), chance) {
            // Somebody who dies: what was done is done again elsewhere.
            let times = 1 + chance.below(1 << 20 | number as u64, 3) / 2;
            for _ in 0..times {
                let task = of(number, &round.tasks[number]);
                let (one, blocks) = (self.worker)()?.task(task, progress)?;
                found.insert(number, one);
                sent.insert(number, blocks);
            }
        }
        if round.parts > 0 {
            found = BTreeMap::new();
            for part in order(round.parts, chance) {
                let times = 1 + chance.below(2 << 20 | part as u64, 3) / 2;
                for _ in 0..times {
                    let mut worker = (self.worker)()?;
                    for number in order(round.tasks.len(), Stream::new(chance.bits(1), times)) {
                        let block = sent[&number].of_part(part).to_vec();
                        worker.take(of(part, &[]), number, Box::new(block))?;
                    }
                    found.insert(part, worker.part(of(part, &[]), progress)?);
                }
            }
        }
        let mut found: Vec<Vec<u8>> = found.into_values().collect();
        while round.combines && found.len() > 1 {
            let one = found.swap_remove(chance.below(3, found.len() as u64) as usize);
            let other = found.swap_remove(chance.below(4, found.len() as u64) as usize);
            found.push((self.worker)()?.combine(&round.shared, one, &other)?);
        }
        Ok(found)
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
            assert!(all.windows(2).all(|two| two[0].end == two[1].start));
            assert_eq!((all[0].start, all[all.len() - 1].end), (0, count));
            let sizes = || all.iter().map(|share| share.end - share.start);
            assert!(sizes().max() <= sizes().min().map(|least| least + 1));
        }
    }

    #[test]
    fn tasks_are_three_a_slot_at_most_unless_said() {
        let resources = Resources { slots: 3, ..Resources::default() };
        assert_eq!(
            (resources.task_count(0), resources.task_count(5), resources.task_count(1000)),
            (1, 5, 9)
        );
        assert_eq!(Resources { tasks: Some(7), ..resources }.task_count(1000), 7);
    }

    #[test]
    fn means_are_read_and_none_of_nothing_are_taken() {
        let read = |text: &str| Resources::from_json(text);
        let resources =
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

    /// Sends its number to every part, and finds it; a part finds the sum of what it was sent.
    struct Adder {
        taken: u64,
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
            self.taken += from as u64;
            Ok(())
        }

        fn part(&mut self, part: Task<'_>, _: &Progress) -> Result<Vec<u8>> {
            Ok((self.taken + part.number as u64).to_le_bytes().to_vec())
        }

        fn combine(&self, _: &[u8], one: Vec<u8>, other: &[u8]) -> Result<Vec<u8>> {
            Ok((number(&one) + number(other)).to_le_bytes().to_vec())
        }
    }

    #[test]
    fn the_random_engine_does_every_task_and_some_again() {
        for (parts, combines) in [(0, false), (0, true), (5, false), (5, true)] {
            let done = Arc::new(AtomicU64::new(0));
            let worker = || Ok(Box::new(Adder { taken: 0, done: done.clone() }) as Box<dyn Worker>);
            let chance = Stream::new(8, 0);
            let engine = RandomEngine { worker: &worker, chance };
            let tasks = (0..40u64).map(|number| number.to_le_bytes().to_vec()).collect();
            let round =
                Round { shared: b"all".to_vec(), tasks, parts, combines, ..Round::default() };
            let found = engine.round(&round, chance, &Progress::default()).unwrap();
            let found: Vec<u64> = found.iter().map(|one| number(one)).collect();
            let expected: Vec<u64> =
                if parts == 0 { (0..40).collect() } else { (780..785).collect() };
            let sum = vec![expected.iter().sum::<u64>()];
            assert_eq!(found, if combines { sum } else { expected });
            assert!((41..80).contains(&done.load(Ordering::Relaxed)));
        }
    }

    #[test]
    fn a_worker_has_the_rounds_alone_that_it_says() {
        struct Nothing;
        impl Worker for Nothing {
            fn task(&mut self, _: Task<'_>, _: &Progress) -> Result<(Vec<u8>, Blocks)> {
                Ok(Default::default())
            }
        }
        let part = Task { number: 0, shared: &[], input: &[] };
        assert!(Nothing.take(part, 0, Box::new(vec![])).is_err());
        assert!(Nothing.part(part, &Progress::default()).is_err());
        assert!(Nothing.combine(&[], vec![], &[]).is_err());
    }

    #[test]
    fn memory_is_divided_without_a_rest_that_nobody_counts() {
        let resources = Resources { slots: 3, memory_bytes: 1000, ..Resources::default() };
        let (left, leader_bytes) = resources.split_off_leader(16);
        assert_eq!((left.memory_bytes, leader_bytes), (938, 62));
        assert_eq!(left.worker_bytes(), 312);
        assert!(leader_bytes + 3 * left.worker_bytes() <= resources.memory_bytes);
        let nodes = Resources { slots: 6, nodes: 2, ..left };
        assert_eq!((nodes.worker_bytes(), nodes.all_bytes()), (312, 2 * 938));
    }

    #[test]
    fn blocks_are_told_apart() {
        let blocks = Blocks { bytes: b"aabccc".to_vec(), ends: vec![2, 2, 3, 6] };
        let all: Vec<&[u8]> = (0..5).map(|part| blocks.of_part(part)).collect();
        assert_eq!(all, [&b"aa"[..], b"", b"b", b"ccc", b""]);
    }
}
