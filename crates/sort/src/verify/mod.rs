//! Verifies an answer without sorting. It is right exactly if its keys never descend and it
//! contains the records of the input, where two records are equal only if their ranks among the
//! records with their key are equal too: this makes the order of equal keys part of the comparison.
//!
//! A pass over the answer checks the order and finds the repeated keys; a pass over the input
//! compares. Both take a keyed fingerprint of records with their ranks
//! ([`cuesta_core::fingerprint`]): with n records a wrong answer passes with a probability of at
//! most 2 n / 2^61. Only records with a repeated key are looked up in a table, and if this takes
//! more than the memory limit, the input is read once for each of several ranges of keys.

mod repeated;
mod side;

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use cuesta_core::Result;
use cuesta_core::digest::{Digest, mix};
use cuesta_core::fingerprint::{Fingerprint, Key};
use cuesta_core::job::{Request, SAMPLE_GROUP_SIZE, Verdict, VerificationLevel, parameters};
use cuesta_core::progress::Progress;
use cuesta_input::records::{RECORD_BYTES, RecordFiles};
use cuesta_runtime::ordered::Turns;
use cuesta_runtime::parallel;

use crate::disk::Disk;
use crate::kernel::key;
use crate::params::SortParams;
use crate::run::plan::Memory;
use crate::run::{SORTED_FILE, resident_bytes};
use repeated::{KEY_ROOM_BYTES, Repeated};
use side::{DatasetReader, TASK_RECORDS, add, add_places};

const METHOD: &str = "keyed fingerprints of all records with their ranks among equal keys, \
                      without sorting";
/// Minimum number of repeated keys held in memory, whatever the limit.
const KEYS_MIN: u64 = 2 * TASK_RECORDS;

/// Verifies the answer in `request.output`.
///
/// [`VerificationLevel::Sample`] checks the order of the complete answer, and compares the records
/// of one key in [`SAMPLE_GROUP_SIZE`] with those of the input.
///
/// # Errors
/// `Input` if the size of the answer is not a multiple of the record size; `System`; `Cancelled`.
pub fn verify(request: &Request, progress: &Progress) -> Result<Verdict> {
    verify_on(resident_bytes(), request, progress)
}

/// Verifies in a process that already has `resident_bytes`.
///
/// # Errors
/// As [`verify`].
pub fn verify_on(resident_bytes: u64, request: &Request, progress: &Progress) -> Result<Verdict> {
    let SortParams {} = parameters(&request.parameters)?;
    let input = RecordFiles::open(&request.inputs)?;
    let path: PathBuf = request.output.join(SORTED_FILE);
    let answer = RecordFiles::open(&[path])?;
    progress.expect((input.records() + answer.records()) * RECORD_BYTES as u64);
    let memory = Memory { limit_bytes: request.budget.limit_bytes(), resident_bytes };
    let job = Job {
        secret: Key::random(),
        sampled: request.verify == VerificationLevel::Sample,
        keys_max: (memory.usable_bytes() / 2 / KEY_ROOM_BYTES).max(KEYS_MIN),
        threads: request.threads,
        disk: Disk::default(),
        progress,
    };
    let scan = job.scan_answer(&answer)?;
    let mut verdict = Verdict::proven(
        scan.digest,
        scan.sorted,
        "a record has a smaller key than the one before it",
        METHOD,
    )
    .covers(&[SORTED_FILE]);
    let as_many = input.records() == answer.records();
    verdict.require(as_many, "it does not have as many records as the input");
    if verdict.verified {
        let is_same = job.compare((&input, &answer), &scan)?;
        verdict.require(
            is_same,
            "its records are not those of the input, or equal keys changed places",
        );
    }
    verdict.counts.insert("records", answer.records());
    verdict.counts.insert("repeated_keys", scan.repeated());
    Ok(verdict)
}

/// Context of a verification.
struct Job<'a> {
    secret: Key,
    sampled: bool,
    /// Maximum number of keys of a table.
    keys_max: u64,
    threads: usize,
    disk: Disk,
    progress: &'a Progress,
}

/// Results of a pass over the answer.
struct AnswerScan {
    /// Digest of the answer.
    digest: Digest,
    /// Fingerprint of the compared records, with their ranks.
    prints: Fingerprint,
    sorted: bool,
    /// For each task, the first key, and the number of keys whose second record is in the task.
    tasks: Vec<(u128, u64)>,
    /// Repeated keys that are compared, by thread; `None` if there are too many to hold.
    keys: Option<Vec<Vec<u128>>>,
}

impl AnswerScan {
    fn repeated(&self) -> u64 {
        self.tasks.iter().map(|(_, repeated)| repeated).sum()
    }

    /// Returns ranges of keys that begin where a task does, the last one unbounded, each with at
    /// most `most` repeated keys or of a single task.
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

/// Results of a thread for the answer.
struct AnswerWorker<'a> {
    side: DatasetReader<'a>,
    digest: Digest,
    prints: Fingerprint,
    sorted: bool,
    tasks: Vec<(usize, u128, u64)>,
    keys: Vec<u128>,
}

/// Results of a thread for the input.
struct Counter<'a> {
    side: DatasetReader<'a>,
    prints: Fingerprint,
    /// Index of each record with a repeated key, and the place of its key in the table, later its
    /// rank.
    repeated: Vec<(usize, u64)>,
}

impl Job<'_> {
    /// Whether the records of a key are compared.
    #[inline(always)]
    fn compares(&self, key: u128) -> bool {
        let chance = || mix((key >> 16) as u64 ^ mix(key as u64 ^ self.secret.salt()));
        !self.sampled || chance().is_multiple_of(SAMPLE_GROUP_SIZE)
    }

    /// Reads an answer and checks the order of its keys.
    fn scan_answer(&self, answer: &RecordFiles) -> Result<AnswerScan> {
        let held = AtomicU64::new(0);
        let work = |worker: &mut AnswerWorker<'_>, task: usize| {
            self.scan_task(answer, worker, task, &held)
        };
        let make = || AnswerWorker {
            side: DatasetReader::new(answer, &self.disk),
            digest: Digest::default(),
            prints: Fingerprint::default(),
            sorted: true,
            tasks: Vec::new(),
            keys: Vec::new(),
        };
        let workers = parallel::run(self.threads, tasks(answer), make, work, |_| {})?;
        let mut tasks: Vec<_> = workers.iter().flat_map(|worker| &worker.tasks).collect();
        tasks.sort_unstable();
        let mut scan = AnswerScan {
            digest: Digest::default(),
            prints: Fingerprint::default(),
            sorted: workers.iter().all(|worker| worker.sorted),
            tasks: tasks.into_iter().map(|&(_, first, repeated)| (first, repeated)).collect(),
            keys: None,
        };
        for worker in &workers {
            scan.digest.merge(&worker.digest);
            scan.prints.merge(&worker.prints);
        }
        if held.into_inner() <= self.keys_max {
            scan.keys = Some(workers.into_iter().map(|worker| worker.keys).collect());
        }
        Ok(scan)
    }

    /// Checks the records of a task; `held` counts the repeated keys of all threads.
    fn scan_task(
        &self,
        answer: &RecordFiles,
        worker: &mut AnswerWorker<'_>,
        task: usize,
        held: &AtomicU64,
    ) -> Result<()> {
        let AnswerWorker { side, digest, prints, sorted, tasks, keys } = worker;
        let first = task as u64 * TASK_RECORDS;
        let (before, records) = side.read(task, true)?;
        add_places(digest, records, first);
        let mut last = before.as_ref().map(key);
        // For a run of equal keys that began in an earlier task, only the end is in this one.
        let start = records.first().map(key).filter(|&start| last == Some(start));
        let run_start =
            start.map(|start| DatasetReader::new(answer, &self.disk).below(start, first));
        let mut earlier = run_start.transpose()?.map_or(0, |run_start| first - 1 - run_start);
        let mut repeated = 0;
        for record in records {
            let key = key(record);
            *sorted &= last.is_none_or(|last| last <= key);
            earlier = if last == Some(key) { earlier + 1 } else { 0 };
            last = Some(key);
            if earlier == 1 {
                repeated += 1;
                let hold = self.compares(key) && held.load(Ordering::Relaxed) <= self.keys_max;
                if hold {
                    keys.push(key);
                    held.fetch_add(1, Ordering::Relaxed);
                }
            }
            if self.compares(key) {
                add(prints, &self.secret, record, earlier);
            }
        }
        tasks.push((task, records.first().map_or(0, key), repeated));
        self.progress.advance(records.as_flattened().len() as u64)
    }

    /// Whether the input has the records of a sorted answer, with equal keys in the same order.
    fn compare(
        &self,
        (input, answer): (&RecordFiles, &RecordFiles),
        scan: &AnswerScan,
    ) -> Result<bool> {
        let mut prints = Fingerprint::default();
        let salt = self.secret.salt();
        if let Some(keys) = &scan.keys {
            let table = Repeated::new(keys.iter().flatten().copied(), salt);
            prints = self.count(input, (0, u128::MAX), (&table, 1))?;
        } else {
            let ranges = scan.ranges(self.keys_max);
            for &range in &ranges {
                let keys = self.repeated_keys(answer, scan, range)?;
                let table = Repeated::new(keys.iter().flatten().copied(), salt);
                drop(keys);
                prints.merge(&self.count(input, range, (&table, ranges.len() as u64))?);
            }
        }
        Ok(prints == scan.prints)
    }

    /// Returns the keys of an answer from `low` to below `high` that are repeated and compared.
    fn repeated_keys(
        &self,
        answer: &RecordFiles,
        scan: &AnswerScan,
        (low, high): (u128, u128),
    ) -> Result<Vec<Vec<u128>>> {
        // Ranges begin where tasks do; the previous task may end with the first key of the range.
        let starts = |wanted: u128| scan.tasks.partition_point(|&(first, _)| first < wanted);
        let (begin, end) = (starts(low).saturating_sub(1), starts(high));
        let has_some = |&task: &usize| scan.tasks[task].1 > 0;
        let tasks: Vec<usize> = (begin..end).filter(has_some).collect();
        let work = |(side, keys): &mut (DatasetReader<'_>, Vec<u128>), task: usize| {
            let (before, records) = side.read(tasks[task], true)?;
            let mut last = before.as_ref().map(key);
            let mut held = None;
            for key in records.iter().map(key) {
                let is_wanted = (low..high).contains(&key) && self.compares(key);
                if last == Some(key) && held != last && is_wanted {
                    keys.push(key);
                    held = last;
                }
                last = Some(key);
            }
            self.progress.advance(0)
        };
        let make = || (DatasetReader::new(answer, &self.disk), Vec::new());
        let workers = parallel::run(self.threads, tasks.len(), make, work, |_| {})?;
        Ok(workers.into_iter().map(|(_, keys)| keys).collect())
    }

    /// Returns the fingerprint of the compared records whose keys are in a range, with their ranks;
    /// `table` has the repeated keys among them. The input is read in `passes` such passes.
    fn count(
        &self,
        input: &RecordFiles,
        (low, high): (u128, u128),
        (table, passes): (&Repeated, u64),
    ) -> Result<Fingerprint> {
        let turns = Turns::default();
        let work = |counter: &mut Counter<'_>, task: usize| {
            let Counter { side, prints, repeated } = counter;
            let (_, records) = side.read(task, false)?;
            repeated.clear();
            for (index, record) in records.iter().enumerate() {
                let key = key(record);
                if !(low..high).contains(&key) || !self.compares(key) {
                    continue;
                }
                match table.find(key) {
                    Some(place) => repeated.push((index, place as u64)),
                    None => add(prints, &self.secret, record, 0),
                }
            }
            // Only work that depends on the records of earlier tasks waits for them.
            turns.take(task, || {
                repeated.iter_mut().for_each(|(_, place)| *place = table.count(*place as usize));
                Ok(())
            })?;
            for &(index, earlier) in repeated.iter() {
                add(prints, &self.secret, &records[index], earlier);
            }
            self.progress.advance(records.as_flattened().len() as u64 / passes)
        };
        let make = || Counter {
            side: DatasetReader::new(input, &self.disk),
            prints: Fingerprint::default(),
            repeated: Vec::new(),
        };
        let fail = |task| turns.fail(task);
        let counters = parallel::run(self.threads, tasks(input), make, work, fail)?;
        let mut prints = Fingerprint::default();
        counters.iter().for_each(|counter| prints.merge(&counter.prints));
        Ok(prints)
    }
}

/// Returns the number of tasks for the records of a dataset.
fn tasks(files: &RecordFiles) -> usize {
    files.records().div_ceil(TASK_RECORDS) as usize
}
