//! Proves an answer without sorting. It is the right one exactly when its keys never descend and
//! it holds the records of the input, where a record counts as the same only if as many with its
//! key come before it in both: that makes the order of equal keys part of the comparison. Keys that
//! occur twice are counted in a hash table, a range of keys at a time where memory is short.

use std::collections::HashMap;
use std::path::PathBuf;

use cuesta_core::Result;
use cuesta_core::budget::Budget;
use cuesta_core::digest::{Digest, Record as Words, Tag};
use cuesta_core::job::{Context, Request, Verdict};
use cuesta_core::progress::Progress;
use cuesta_input::ordered::Turns;
use cuesta_input::parallel;
use cuesta_input::records::{RECORD_BYTES, Record, RecordFiles};

use crate::disk::Disk;
use crate::kernel::key;
use crate::params::SortParams;
use crate::run::SORTED_FILE;

const METHOD: &str = "counting every record of the input and of the answer, without sorting";
const OPERATION: &str = "verify";
/// Records of one task.
const TASK_RECORDS: u64 = 1 << 14;
/// Bytes of a repeated key in a hash table that grows.
const KEY_ROOM_BYTES: u64 = 120;

/// Verifies the answer in `request.output`.
///
/// # Errors
/// `Input` when the answer is not a whole number of records; `System`; `Cancelled`.
pub fn verify(request: &Request, progress: &Progress) -> Result<Verdict> {
    let budget = Budget::new(request.memory_bytes);
    let context = Context { request, budget: &budget, progress };
    let SortParams {} = context.parameters()?;
    let input = Side { files: RecordFiles::open(&request.inputs)?, context: &context };
    let path: PathBuf = request.output.join(SORTED_FILE);
    let answer = Side { files: RecordFiles::open(&[path])?, context: &context };
    progress.expect((input.files.records() + answer.files.records()) * RECORD_BYTES as u64);
    let found = answer.look()?;
    let counted = count(&input, &answer, &found)?;
    let mut verdict = Verdict::new(found.digest, found.digest, METHOD);
    let same = counted == found.records;
    if !same || !found.sorted {
        verdict.expected = counted.to_string();
    }
    verdict.require(same, "its records are not those of the input, or equal keys changed places");
    verdict.require(found.sorted, "a record has a smaller key than the one before it");
    verdict.counts.insert("records", answer.files.records());
    verdict.counts.insert("repeated_keys", found.repeated());
    Ok(verdict)
}

/// Records that are read task by task on all threads.
struct Side<'a> {
    files: RecordFiles,
    context: &'a Context<'a>,
}

/// What one pass over the answer finds.
struct Found {
    /// Of every record at its place: the digest of the answer.
    digest: Digest,
    /// Of every record with how many of its key come before it.
    records: Digest,
    sorted: bool,
    /// By task: the first key, and how many keys have their second record there.
    tasks: Vec<(u128, u64)>,
}

impl Found {
    fn repeated(&self) -> u64 {
        self.tasks.iter().map(|(_, repeated)| repeated).sum()
    }

    /// Ranges of keys whose repeated keys are at most `most`, or those of one task.
    fn ranges(&self, most: u64) -> Vec<(u128, u128)> {
        let (mut starts, mut held) = (vec![0], 0);
        for &(first, repeated) in &self.tasks {
            if held > 0 && held + repeated > most {
                starts.push(first);
                held = 0;
            }
            held += repeated;
        }
        starts.dedup();
        let ends = starts[1..].iter().copied().chain([u128::MAX]).collect::<Vec<_>>();
        starts.into_iter().zip(ends).collect()
    }
}

fn words(record: &Record) -> Words {
    let mut words = Words::new(Tag::Sort);
    words.push_bytes(record);
    words
}

impl Side<'_> {
    fn tasks(&self) -> usize {
        self.files.records().div_ceil(TASK_RECORDS) as usize
    }

    /// Reads the records of a task, and the one before them if there is one and it is asked for.
    fn read(&self, task: usize, before: bool, buffer: &mut Vec<Record>) -> Result<usize> {
        let start = task as u64 * TASK_RECORDS;
        let extra = u64::from(before && task > 0);
        let count = TASK_RECORDS.min(self.files.records() - start) + extra;
        buffer.resize(count as usize, [0; RECORD_BYTES]);
        self.fill(start - extra, buffer)?;
        Ok(extra as usize)
    }

    fn fill(&self, first: u64, buffer: &mut [Record]) -> Result<()> {
        Disk::default().read_records(OPERATION, &self.files, first, buffer)
    }

    /// How many records at the beginning have a key below `wanted`, if keys ascend.
    fn below(&self, wanted: u128) -> Result<u64> {
        let (mut low, mut high) = (0, self.files.records());
        while low < high {
            let middle = (low + high) / 2;
            let mut record = [[0; RECORD_BYTES]];
            self.fill(middle, &mut record)?;
            if key(&record[0]) < wanted { low = middle + 1 } else { high = middle }
        }
        Ok(low)
    }

    /// Looks at an answer.
    fn look(&self) -> Result<Found> {
        struct Worker {
            buffer: Vec<Record>,
            digests: [Digest; 2],
            sorted: bool,
            tasks: Vec<(usize, u128, u64)>,
        }
        let work = |worker: &mut Worker, task: usize| {
            let before = self.read(task, true, &mut worker.buffer)?;
            let records = &worker.buffer[before..];
            let first = task as u64 * TASK_RECORDS;
            let mut last = worker.buffer.first().filter(|_| before > 0).map(key);
            let mut earlier = match last {
                Some(last) if last == key(&records[0]) => first - self.below(last)? - 1,
                _ => 0,
            };
            let mut repeated = 0;
            for (record, place) in records.iter().zip(first..) {
                let key = key(record);
                worker.sorted &= last.is_none_or(|last| last <= key);
                earlier = if last == Some(key) { earlier + 1 } else { 0 };
                repeated += u64::from(earlier == 1);
                last = Some(key);
                add(&mut worker.digests, record, place, earlier);
            }
            worker.tasks.push((task, key(&records[0]), repeated));
            self.context.progress.advance(records.as_flattened().len() as u64)
        };
        let make = || Worker {
            buffer: Vec::new(),
            digests: Default::default(),
            sorted: true,
            tasks: Vec::new(),
        };
        let workers =
            parallel::run(self.context.request.threads, self.tasks(), make, work, |_| {})?;
        let mut tasks: Vec<_> = workers.iter().flat_map(|worker| &worker.tasks).collect();
        tasks.sort_unstable();
        let mut found = Found {
            digest: Digest::default(),
            records: Digest::default(),
            sorted: workers.iter().all(|worker| worker.sorted),
            tasks: tasks.into_iter().map(|&(_, first, repeated)| (first, repeated)).collect(),
        };
        for worker in &workers {
            found.digest.merge(&worker.digests[0]);
            found.records.merge(&worker.digests[1]);
        }
        Ok(found)
    }

    /// The keys in `range` that occur more than once in an answer, each with its own number.
    fn repeated_keys(&self, range: (u128, u128)) -> Result<HashMap<u128, usize>> {
        let (first, end) = (self.below(range.0)?, self.below(range.1)?);
        let work = |(buffer, keys): &mut (Vec<Record>, Vec<u128>), task: usize| {
            let start = first + task as u64 * TASK_RECORDS;
            // One more than its own, so that each neighbour is seen with its next one.
            let count = (TASK_RECORDS + 1).min(end - start);
            buffer.resize(count as usize, [0; RECORD_BYTES]);
            self.fill(start, buffer)?;
            let twice = buffer.windows(2).filter(|pair| key(&pair[0]) == key(&pair[1]));
            for found in twice.map(|pair| key(&pair[0])) {
                if keys.last() != Some(&found) {
                    keys.push(found);
                }
            }
            self.context.progress.advance(0)
        };
        let tasks = end.saturating_sub(first).div_ceil(TASK_RECORDS) as usize;
        let threads = self.context.request.threads;
        let make = || (Vec::new(), Vec::new());
        let workers = parallel::run(threads, tasks, make, work, |_| {})?;
        let mut numbers = HashMap::new();
        for key in workers.into_iter().flat_map(|(_, keys)| keys) {
            let next = numbers.len();
            numbers.entry(key).or_insert(next);
        }
        Ok(numbers)
    }

    /// The digest of the records with keys in `range`, each with how many of its key come before
    /// it; `numbers` has the keys that occur more than once.
    fn digest_of(
        &self,
        (low, high): (u128, u128),
        numbers: &HashMap<u128, usize>,
    ) -> Result<Digest> {
        struct Worker {
            buffer: Vec<Record>,
            repeated: Vec<(usize, Words)>,
            digest: Digest,
        }
        let counts = std::sync::Mutex::new(vec![0u64; numbers.len()]);
        let turns = Turns::default();
        let work = |worker: &mut Worker, task: usize| {
            self.read(task, false, &mut worker.buffer)?;
            for record in &worker.buffer {
                let key = key(record);
                if !(low..high).contains(&key) {
                    continue;
                }
                let mut words = words(record);
                match numbers.get(&key) {
                    Some(&number) => worker.repeated.push((number, words)),
                    None => {
                        words.push(0);
                        worker.digest.add_record(&words);
                    }
                }
            }
            // Only what depends on the records before this task waits for them.
            turns.take(task, || {
                let mut counts = parallel::lock(&counts);
                for (number, words) in &mut worker.repeated {
                    words.push(counts[*number]);
                    counts[*number] += 1;
                    worker.digest.add_record(words);
                }
                worker.repeated.clear();
                Ok(())
            })?;
            let size_bytes = worker.buffer.as_flattened().len() as u64;
            self.context.progress.advance(if low == 0 { size_bytes } else { 0 })
        };
        let make =
            || Worker { buffer: Vec::new(), repeated: Vec::new(), digest: Digest::default() };
        let threads = self.context.request.threads;
        let workers = parallel::run(threads, self.tasks(), make, work, |task| turns.fail(task))?;
        let mut digest = Digest::default();
        workers.iter().for_each(|worker| digest.merge(&worker.digest));
        Ok(digest)
    }
}

/// Adds a record to the digest of the answer and to that of its records.
fn add(digests: &mut [Digest; 2], record: &Record, place: u64, earlier: u64) {
    let mut at_place = Words::new(Tag::Sort);
    at_place.push(place);
    at_place.push_bytes(record);
    digests[0].add_record(&at_place);
    let mut counted = words(record);
    counted.push(earlier);
    digests[1].add_record(&counted);
}

/// The digest of the input's records, each with how many of its key come before it.
fn count(input: &Side<'_>, answer: &Side<'_>, found: &Found) -> Result<Digest> {
    if !found.sorted {
        // Nothing can be looked up in it, and it is wrong already.
        return input.digest_of((0, u128::MAX), &HashMap::new());
    }
    let request = input.context.request;
    let most = (request.memory_bytes / 2 / KEY_ROOM_BYTES).max(1);
    let mut digest = Digest::default();
    for range in found.ranges(most) {
        let numbers = answer.repeated_keys(range)?;
        digest.merge(&input.digest_of(range, &numbers)?);
    }
    Ok(digest)
}
