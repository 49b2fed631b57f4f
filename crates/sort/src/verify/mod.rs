//! Proves an answer without sorting. It is the right one exactly when its keys never descend and
//! it holds the records of the input, where a record counts as the same only if as many with its
//! key come before it in both: that makes the order of equal keys part of the comparison.
//!
//! One pass over the answer looks at the order and finds the keys that occur more than once; one
//! pass over the input compares. Both take a keyed fingerprint of records with their ranks
//! ([`cuesta_core::fingerprint`]): with n records a wrong answer passes with a probability of at
//! most 2 n / 2^61. Only records whose key is repeated are looked up in a table, and where that
//! takes more than the memory limit, the input is read once for each of several ranges of keys.

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
/// Repeated keys that are held at least, whatever the limit.
const KEYS_MIN: u64 = 2 * TASK_RECORDS;

/// Verifies the answer in `request.output`.
///
/// [`VerificationLevel::Sample`] looks at the whole answer, and compares the records of one key in
/// [`SAMPLE_GROUP_SIZE`] with those of the input.
///
/// # Errors
/// `Input` when the answer is not a whole number of records; `System`; `Cancelled`.
pub fn verify(request: &Request, progress: &Progress) -> Result<Verdict> {
    verify_on(resident_bytes(), request, progress)
}

/// Verifies in a process that has `resident_bytes` already.
///
/// # Errors
/// As [`verify`].
pub fn verify_on(resident_bytes: u64, request: &Request, progress: &Progress) -> Result<Verdict> {
    let SortParams {} = parameters(&request.parameters)?;
    let input = RecordFiles::open(&request.inputs)?;
    let path: PathBuf = request.output.join(SORTED_FILE);
    let answer = RecordFiles::open(&[path])?;
    progress.expect((input.records() + answer.records()) * RECORD_BYTES as u64);
    let memory = Memory { limit_bytes: request.memory_bytes, resident_bytes };
    let job = Job {
        secret: Key::random(),
        sampled: request.verify == VerificationLevel::Sample,
        keys_max: (memory.usable_bytes() / 2 / KEY_ROOM_BYTES).max(KEYS_MIN),
        threads: request.threads,
        disk: Disk::default(),
        progress,
    };
    let found = job.look(&answer)?;
    let mut verdict = Verdict::proven(
        found.digest,
        found.sorted,
        "a record has a smaller key than the one before it",
        METHOD,
    )
    .covers(&[SORTED_FILE]);
    let as_many = input.records() == answer.records();
    verdict.require(as_many, "it does not have as many records as the input");
    if verdict.verified {
        let same = job.compare((&input, &answer), &found)?;
        verdict
            .require(same, "its records are not those of the input, or equal keys changed places");
    }
    verdict.counts.insert("records", answer.records());
    verdict.counts.insert("repeated_keys", found.repeated());
    Ok(verdict)
}

/// A verification.
struct Job<'a> {
    secret: Key,
    sampled: bool,
    /// Most keys of a table.
    keys_max: u64,
    threads: usize,
    disk: Disk,
    progress: &'a Progress,
}

/// What one pass over the answer finds.
struct Found {
    /// The digest of the answer.
    digest: Digest,
    /// Of the records that are compared, with their ranks.
    prints: Fingerprint,
    sorted: bool,
    /// By task: the first key, and how many keys have their second record there.
    tasks: Vec<(u128, u64)>,
    /// The repeated keys that are compared, by thread, unless there are too many to be held.
    keys: Option<Vec<Vec<u128>>>,
}

impl Found {
    fn repeated(&self) -> u64 {
        self.tasks.iter().map(|(_, repeated)| repeated).sum()
    }

    /// Ranges of keys, the last one without an end, that begin where a task does, each of at most
    /// `most` repeated keys or of one task.
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

/// What a thread finds in the answer.
struct Looker<'a> {
    side: DatasetReader<'a>,
    digest: Digest,
    prints: Fingerprint,
    sorted: bool,
    tasks: Vec<(usize, u128, u64)>,
    keys: Vec<u128>,
}

/// What a thread finds in the input.
struct Counter<'a> {
    side: DatasetReader<'a>,
    prints: Fingerprint,
    /// Places of records with a repeated key and of that key in the table, then their ranks.
    repeated: Vec<(usize, u64)>,
}

impl Job<'_> {
    /// Whether the records of a key are compared.
    #[inline(always)]
    fn compares(&self, key: u128) -> bool {
        let chance = || mix((key >> 16) as u64 ^ mix(key as u64 ^ self.secret.salt()));
        !self.sampled || chance().is_multiple_of(SAMPLE_GROUP_SIZE)
    }

    /// Looks at an answer.
    fn look(&self, answer: &RecordFiles) -> Result<Found> {
        let held = AtomicU64::new(0);
        let work = |looker: &mut Looker<'_>, task: usize| self.look_at(answer, looker, task, &held);
        let make = || Looker {
            side: DatasetReader::new(answer, &self.disk),
            digest: Digest::default(),
            prints: Fingerprint::default(),
            sorted: true,
            tasks: Vec::new(),
            keys: Vec::new(),
        };
        let lookers = parallel::run(self.threads, tasks(answer), make, work, |_| {})?;
        let mut tasks: Vec<_> = lookers.iter().flat_map(|looker| &looker.tasks).collect();
        tasks.sort_unstable();
        let mut found = Found {
            digest: Digest::default(),
            prints: Fingerprint::default(),
            sorted: lookers.iter().all(|looker| looker.sorted),
            tasks: tasks.into_iter().map(|&(_, first, repeated)| (first, repeated)).collect(),
            keys: None,
        };
        for looker in &lookers {
            found.digest.merge(&looker.digest);
            found.prints.merge(&looker.prints);
        }
        if held.into_inner() <= self.keys_max {
            found.keys = Some(lookers.into_iter().map(|looker| looker.keys).collect());
        }
        Ok(found)
    }

    /// Looks at the records of a task; `held` counts the repeated keys of all threads.
    fn look_at(
        &self,
        answer: &RecordFiles,
        looker: &mut Looker<'_>,
        task: usize,
        held: &AtomicU64,
    ) -> Result<()> {
        let Looker { side, digest, prints, sorted, tasks, keys } = looker;
        let first = task as u64 * TASK_RECORDS;
        let (before, records) = side.read(task, true)?;
        add_places(digest, records, first);
        let mut last = before.as_ref().map(key);
        // Of a run of equal keys that began in a task before, only the end is here.
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

    /// Whether the input has the records of a sorted answer, equal keys in the same order.
    fn compare(
        &self,
        (input, answer): (&RecordFiles, &RecordFiles),
        found: &Found,
    ) -> Result<bool> {
        let mut prints = Fingerprint::default();
        let salt = self.secret.salt();
        if let Some(keys) = &found.keys {
            let table = Repeated::new(keys.iter().flatten().copied(), salt);
            prints = self.count(input, (0, u128::MAX), (&table, 1))?;
        } else {
            let ranges = found.ranges(self.keys_max);
            for &range in &ranges {
                let keys = self.repeated_keys(answer, found, range)?;
                let table = Repeated::new(keys.iter().flatten().copied(), salt);
                drop(keys);
                prints.merge(&self.count(input, range, (&table, ranges.len() as u64))?);
            }
        }
        Ok(prints == found.prints)
    }

    /// The keys of an answer from `low` to below `high` that are repeated and compared.
    fn repeated_keys(
        &self,
        answer: &RecordFiles,
        found: &Found,
        (low, high): (u128, u128),
    ) -> Result<Vec<Vec<u128>>> {
        // Ranges begin where tasks do; the one before may end with the first key of the range.
        let starts = |wanted: u128| found.tasks.partition_point(|&(first, _)| first < wanted);
        let (begin, end) = (starts(low).saturating_sub(1), starts(high));
        let has_some = |&task: &usize| found.tasks[task].1 > 0;
        let which: Vec<usize> = (begin..end).filter(has_some).collect();
        let work = |(side, keys): &mut (DatasetReader<'_>, Vec<u128>), task: usize| {
            let (before, records) = side.read(which[task], true)?;
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
        let workers = parallel::run(self.threads, which.len(), make, work, |_| {})?;
        Ok(workers.into_iter().map(|(_, keys)| keys).collect())
    }

    /// The fingerprint of the records whose keys are in a range and compared, with their ranks;
    /// `table` has those keys that are repeated. There are `passes` of these.
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
            // Only what depends on the records before this task waits for them.
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

/// Pieces of the records of a dataset.
fn tasks(files: &RecordFiles) -> usize {
    files.records().div_ceil(TASK_RECORDS) as usize
}
